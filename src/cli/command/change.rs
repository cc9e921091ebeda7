//! Changing how a memory stands: `delete`, `restore`, `pin` and `unpin`.

use std::path::PathBuf;

use clap::Args;
use serde_json::Value;

use super::remains::Remains;
use super::{CommandContext, Outcome, backup};
use crate::cli::daemon_client::{Daemon, Request};
use crate::cli::error::Result;
use crate::cli::table::shown;
use crate::edits;
use crate::home::Home;
use cerebro_core::operation::Operation;

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
    /// Put a backup in the place of the memory that is here, which is kept beside it
    #[arg(long)]
    replace: bool,
}

impl RestoreArgs {
    /// The backup, if one is meant.
    pub fn backup(&self) -> Option<backup::RestoreFileArgs> {
        let is_meant = self.replace || backup::is_file(&self.what);
        is_meant.then(|| backup::RestoreFileArgs { file: PathBuf::from(&self.what), replace: self.replace })
    }

    /// The memory that is meant otherwise.
    pub fn one(self) -> OneArgs {
        OneArgs { id: self.what }
    }
}

/// Delete a memory: restorable, or for good
///
/// For good, its text leaves the database, the index and the files of edits that were not saved. Files that
/// may still hold it, such as backups, are named.
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
pub async fn run(context: &CommandContext, args: OneArgs, operation: Operation) -> Result<Outcome> {
    let daemon = Daemon::reach(&context.home()?).await?;
    let id = daemon.memory_id(&args.id).await?;
    let changed = daemon.ask(Request::new(operation).with("id", id)).await?;
    daemon.close().await;
    tell(context, &changed)
}

pub async fn delete(context: &CommandContext, args: DeleteArgs) -> Result<Outcome> {
    let home = context.home()?;
    let daemon = Daemon::reach(&home).await?;
    let id = daemon.memory_id(&args.id).await?;
    if args.hard && !args.yes {
        let question = format!("Remove memory {id} and all its revisions for good?");
        if !context.output.confirm(&question)? {
            context.output.note("nothing was removed");
            return Ok(Outcome::Short);
        }
    }
    let edits = if args.hard { edits_of(&home, &id) } else { Vec::new() };
    let request = Request::new(Operation::Delete).with("id", id.as_str()).with("hard", args.hard);
    let mut deleted = daemon.ask(request).await?;
    daemon.close().await;
    if !args.hard {
        return tell(context, &deleted);
    }
    let (left, removed): (Vec<PathBuf>, Vec<PathBuf>) = edits.into_iter().partition(|path| path.exists());
    let remains = Remains { edits: left, ..Remains::of(&home) };
    deleted["removed"] = removed.iter().map(|path| path.display().to_string()).collect();
    deleted["remains"] = remains.json();
    tell(context, &deleted)?;
    for path in removed {
        context.output.note(&format!("removed {}, the text of an edit that was not saved", path.display()));
    }
    remains.tell(context);
    Ok(Outcome::Done)
}

/// The files of edits of a memory; a folder that cannot be read has none to tell of.
fn edits_of(home: &Home, id: &str) -> Vec<PathBuf> {
    let files = edits::all(home.root()).unwrap_or_default().into_iter();
    files.filter(|edit| edit.memory.as_str() == id).map(|edit| edit.path).collect()
}

fn tell(context: &CommandContext, changed: &Value) -> Result<Outcome> {
    if !context.output.json(changed)? {
        let title = shown(&changed["title"]);
        let detail = if title.is_empty() { title } else { format!(" {title}") };
        context.output.outcome(&shown(&changed["id"]), &shown(&changed["outcome"]), &detail)?;
    }
    Ok(Outcome::Done)
}
