//! `cerebro tui`: the screens.

use jiff::tz::TimeZone;

use super::prelude::*;
use crate::home::user_home;
use crate::{project_dir, tui};
use cerebro_core::domain::{Project, Timestamp};

/// Browse the memory in the terminal: search, read, edit, watch
///
/// The last line of the screen shows the keys; `?` shows all of them. The colours are those of the terminal, and
/// NO_COLOR turns them off.
#[derive(Debug, Args)]
pub struct TuiArgs {
    /// Begin with this project [default: that of the working folder]
    #[arg(long, value_name = "NAME", conflicts_with = "all_projects")]
    project: Option<String>,
    /// Begin with all projects, as in a folder without a project
    #[arg(long)]
    all_projects: bool,
}

pub async fn run(context: &CommandContext, args: TuiArgs) -> Result<()> {
    if context.output.is_json() {
        return Err(
            Error::usage("screens cannot be shown as JSON").hint("`cerebro stats --json` and others can")
        );
    }
    if let Some(obstacle) = tui::obstacle() {
        return Err(Error::user(format!("the screens need a terminal: {obstacle}"))
            .hint("`cerebro list`, `cerebro search` and `cerebro stats` write plain lines"));
    }
    let project = match args.project {
        Some(name) => match Project::parse(&name) {
            Some(project) => Some(project),
            None => return Err(Error::usage(format!("`{name}` is not a project name"))),
        },
        None if args.all_projects => None,
        None => working_project().await,
    };
    let options = tui::Options {
        colour: std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
        zone: TimeZone::system(),
        starts_daemon: true,
        project: project.map(|project| project.as_str().to_owned()),
        clock: Timestamp::now,
    };
    let shown = tui::run(context.home()?, options).await;
    shown.map_err(|error| Error::stream("the terminal", &error))?;
    Ok(())
}

/// The project of the working folder, as for other commands; `None` if the folder has no project.
async fn working_project() -> Option<Project> {
    let folder = std::env::current_dir().ok()?;
    let project = project_dir::look_or_guess(folder, user_home(), project_dir::LOOK_MAX).await;
    (project != Project::general()).then_some(project)
}
