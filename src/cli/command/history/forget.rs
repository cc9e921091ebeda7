//! `cerebro history forget`: purges past sessions, so that no import brings them back.

use clap::{ArgGroup, Args};

use super::super::{CommandContext, Outcome};
use crate::answer::of;
use crate::cli::daemon_client::{Daemon, Request};
use crate::cli::error::Result;
use crate::cli::table::shown;

/// Destroy past sessions, or parts of them, for good
///
/// No import brings them back, and a text alone comes back in no later session. `cerebro compact` then removes their last bytes from the database's files.
#[derive(Debug, Args)]
#[command(group(
    ArgGroup::new("what").args(["session", "project", "before", "text"]).required(true).multiple(true)
))]
pub struct ForgetArgs {
    /// Forget this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Forget all sessions of this project
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// Forget everything before this day or moment
    #[arg(long, value_name = "WHEN")]
    before: Option<String>,
    /// Forget exchanges that contain this text
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,
    /// Do not ask first; needed without a terminal
    #[arg(long)]
    yes: bool,
}

pub async fn run(context: &CommandContext, args: ForgetArgs) -> Result<Outcome> {
    let question = "Destroy this part of the history? It cannot be undone, and no import brings it back.";
    if !args.yes && !context.output.confirm(question)? {
        context.output.note("nothing was destroyed");
        return Ok(Outcome::Short);
    }
    let daemon = Daemon::reach_patiently(&context.home()?).await?;
    let request = Request::new(of::HistoryForget)
        .with("session", args.session)
        .with("project", args.project)
        .with("before", args.before)
        .with("text", args.text);
    let answer = daemon.read(request).await?;
    daemon.close().await;
    if !context.output.json(answer.raw())? {
        let facts = [("sessions", shown(&answer.sessions)), ("exchanges", shown(&answer.exchanges))];
        context.output.facts(&facts)?;
    }
    Ok(Outcome::Done)
}
