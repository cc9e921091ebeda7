//! `cerebro compact`: rewrites the database's files without deleted and replaced data.

use std::time::Duration;

use super::prelude::*;
use super::remains::Remains;

pub async fn run(context: &CommandContext) -> Result<()> {
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
