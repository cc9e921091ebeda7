//! Restoring: the database of a backup takes the place of the home's. What was forgotten since the backup is forgotten in it,
//! too, and texts that were corrected since are known there.

mod carry;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use crate::{
    Clock, Forgotten,
    backup::{self, BackupError, End, Head, RestoreRequest, SCRATCH},
};
use cerebro_core::domain::MemoryId;

use carry::CarriedOver;

/// The result of a restore.
#[derive(Debug)]
pub struct Restored {
    pub head: Head,
    pub end: End,
    /// The database that was there, if it was to be replaced and held anything.
    pub kept: Option<PathBuf>,
    /// The memories that are live again although their text was corrected, superseded or deleted since the backup.
    pub said_again: Vec<MemoryId>,
    /// What was forgotten after the backup, and is now forgotten again.
    pub forgotten: Forgotten,
    /// Whether the replaced database could not be read: what was corrected or forgotten there is then unknown.
    pub is_unread: bool,
}

/// Makes the database of a home from a backup: of an empty one or, with `replace`, of any, whose database is
/// then kept beside the new one. The caller owns the home: no other process may have its database open. The
/// index is removed, and built by the next daemon.
///
/// # Errors
/// [`BackupError::NotEmpty`] for a home with anything in it that is not to be replaced; after any error the
/// home's database is as it was.
pub async fn restore(
    request: RestoreRequest<'_>,
    clock: Clock,
    progress: impl Fn(u64) + Send + 'static,
) -> Result<Restored, BackupError> {
    let made = backup::make(request, clock, progress).await?;
    let scratch = request.home.join(SCRATCH);
    let carried = match &made.kept {
        Some(_) => carry::over(request, &made.dir, &scratch, clock).await,
        None => Ok(CarriedOver::default()),
    };
    backup::remove(&scratch)?;
    let CarriedOver { said_again, forgotten, is_unread } = match carried {
        Ok(carried) => carried,
        Err(error) => {
            backup::remove(&made.dir)?;
            return Err(error);
        }
    };
    made.take_place(request)?;
    let backup::MadeStore { head, end, kept, .. } = made;
    Ok(Restored { head, end, kept, said_again, forgotten, is_unread })
}
