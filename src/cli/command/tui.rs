//! `cerebro tui`: the screens.

use clap::Args;
use jiff::tz::TimeZone;

use super::{CommandContext, Outcome};
use crate::cli::error::{Error, Result};
use crate::tui;
use cerebro_core::domain::{Project, Timestamp};

/// Browse the memory on screens: lists, search, sessions, live calls
///
/// Keys are shown at the bottom, `?` shows all of them. Colours are the terminal's own; NO_COLOR
/// turns them off.
#[derive(Debug, Args)]
pub struct TuiArgs {
    /// Look at this project first [default: all]
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
}

pub async fn run(context: &CommandContext, args: TuiArgs) -> Result<Outcome> {
    if context.output.is_json() {
        return Err(
            Error::usage("screens cannot be shown as JSON").hint("`cerebro stats --json` and others can")
        );
    }
    if let Some(obstacle) = tui::obstacle() {
        return Err(Error::user(format!("the screens need a terminal: {obstacle}"))
            .hint("`cerebro list`, `cerebro search` and `cerebro stats` write plain lines"));
    }
    let project = args.project.map(|name| {
        let parsed = Project::parse(&name);
        parsed
            .map(|project| project.as_str().to_owned())
            .ok_or_else(|| Error::usage(format!("`{name}` is no project name")))
    });
    let options = tui::Options {
        colour: std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
        zone: TimeZone::system(),
        starts_daemon: true,
        project: project.transpose()?,
        clock: Timestamp::now,
    };
    let shown = tui::run(context.home()?, options).await;
    shown.map_err(|error| Error::stream("the terminal", &error))?;
    Ok(Outcome::Done)
}
