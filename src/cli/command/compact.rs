//! `cerebro compact`: rewrites the database's files without deleted and replaced data.

use std::time::Duration;

use super::prelude::*;
use super::remains::Remains;

/// Remove the last bytes of purged memories from the disk
///
/// `cerebro delete --hard` removes a text from the database and the index at once, but the database's files keep its
/// bytes until they are rewritten. This command rewrites them now and frees the space. Agents can go on working. It
/// does not change backups, exports, trials, unsaved edits and databases that a restore put aside; it names those of
/// this home.
#[derive(Debug, Args)]
pub struct CompactArgs {}

pub async fn run(context: &CommandContext, _: CompactArgs) -> Result<()> {
    let home = context.home()?;
    let daemon = Daemon::reach(&home).await?;
    let bar = context.output.progress(None, "{spinner} rewriting the database's files, {elapsed}");
    bar.enable_steady_tick(Duration::from_millis(100));
    let answer = daemon.read(Request::new(of::Compact)).await;
    bar.finish_and_clear();
    let mut answer = answer?.raw().clone();
    let remains = Remains::of(&home);
    answer["remains"] = remains.json();
    context.output.json(&answer)?;
    context.output.note("the database's files now hold nothing but what is in the database");
    remains.print(context);
    Ok(())
}
