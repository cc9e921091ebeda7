//! `cerebro compact`: rewrites the database's files without deleted and replaced data.

use std::time::Duration;

use clap::Args;

use super::remains::Remains;
use super::{CommandContext, Outcome};
use crate::cli::daemon_client::{Daemon, Request};
use crate::cli::error::Result;
use cerebro_core::operation::Operation;

/// Rewrite the database's files, so that no text of purged memories is left in them
///
/// `cerebro delete --hard` takes a memory's text out of the database and out of the index at once; the
/// database's files keep the bytes until they happen to be rewritten. This rewrites them now, and gives the
/// room back. Agents may go on working meanwhile. Backups, exports, trials, texts of edits that were not saved
/// and databases that a restore has put aside are not touched; those of this home are named.
#[derive(Debug, Args)]
pub struct CompactArgs {}

pub async fn run(context: &CommandContext, _: CompactArgs) -> Result<Outcome> {
    let home = context.home()?;
    let daemon = Daemon::reach(&home).await?;
    let bar = context.output.progress(None, "{spinner} rewriting the database's files, {elapsed}");
    bar.enable_steady_tick(Duration::from_millis(100));
    let answer = daemon.ask(Request::new(Operation::Compact)).await;
    bar.finish_and_clear();
    let mut answer = answer?;
    daemon.close().await;
    let remains = Remains::of(&home);
    answer["remains"] = remains.json();
    if !context.output.json(&answer)? {
        context.output.note("the database's files hold nothing any more that is not in the database");
        remains.tell(context);
    }
    Ok(Outcome::Done)
}
