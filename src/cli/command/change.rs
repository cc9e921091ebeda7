//! Changing how a memory stands: `delete`, `restore`, `pin` and `unpin`.

use std::path::PathBuf;

use clap::Args;
use serde_json::Value;

use super::{Desk, Outcome, backup};
use crate::cli::error::Result;
use crate::cli::request::{Daemon, Request};
use crate::cli::table::shown;

#[derive(Debug, Args)]
pub struct OneArgs {
    /// The memory's id, or a beginning that no other has
    id: String,
}

#[derive(Debug, Args)]
pub struct RestoreArgs {
    /// The memory's id, or a beginning that no other has; or the file of a backup
    #[arg(value_name = "ID|FILE")]
    what: String,
}

impl RestoreArgs {
    /// The backup, if one is meant.
    pub fn file(&self) -> Option<PathBuf> {
        backup::is_file(&self.what).then(|| PathBuf::from(&self.what))
    }

    /// The memory that is meant otherwise.
    pub fn one(self) -> OneArgs {
        OneArgs { id: self.what }
    }
}

/// Delete a memory, so that it can be restored, or for good
#[derive(Debug, Args)]
pub struct DeleteArgs {
    /// The memory's id, or a beginning that no other has
    id: String,
    /// Remove its text and all its revisions for good
    #[arg(long)]
    hard: bool,
    /// Do not ask before removing for good; needed where no terminal is
    #[arg(long)]
    yes: bool,
}

/// Does to the memory what the operation is named for.
pub async fn run(desk: &Desk, args: OneArgs, operation: &'static str) -> Result<Outcome> {
    let daemon = Daemon::reach(&desk.home()?).await?;
    let id = daemon.memory_id(&args.id).await?;
    let changed = daemon.ask(Request::new(operation).with("id", id)).await?;
    daemon.close().await;
    tell(desk, &changed)
}

pub async fn delete(desk: &Desk, args: DeleteArgs) -> Result<Outcome> {
    let daemon = Daemon::reach(&desk.home()?).await?;
    let id = daemon.memory_id(&args.id).await?;
    if args.hard && !args.yes {
        let question = format!("Remove memory {id} and all its revisions for good?");
        if !desk.output.confirm(&question)? {
            desk.output.note("nothing was removed");
            return Ok(Outcome::Short);
        }
    }
    let deleted = daemon.ask(Request::new("mem_delete").with("id", id).with("hard", args.hard)).await?;
    daemon.close().await;
    tell(desk, &deleted)
}

fn tell(desk: &Desk, changed: &Value) -> Result<Outcome> {
    if !desk.output.json(changed)? {
        let title = shown(&changed["title"]);
        let detail = if title.is_empty() { title } else { format!(" {title}") };
        desk.output.outcome(&shown(&changed["id"]), &shown(&changed["outcome"]), &detail)?;
    }
    Ok(Outcome::Done)
}
