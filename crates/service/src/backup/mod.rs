//! Backups: everything of one moment in one file, while agents continue to write; and restoring.
//!
//! A backup is the database's own script (see [`cerebro_store::Dump`]): memories, revisions, sessions, prompts, edges,
//! events, jobs, vectors, the schema and the list of its migrations. The JSON Lines export leaves out what is valid in one
//! store only. A backup is that one store, so its numbers continue after a restore.

mod file;
mod kept;
mod schedule;
mod tally;

use crate::base::Base;
use std::{
    fs, io,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use rustix::{
    fs::{CWD, RenameFlags, renameat_with},
    io::Errno,
};

pub use file::{End, FileError, Head};
pub use kept::{Kept, kept, unfinished};

use file::LogPosition;
pub(crate) use file::io_fault;
use kept::Owner;

use super::{Clock, ServiceError, lock, looks};
use cerebro_core::domain::Timestamp;
use cerebro_durable as durable;
use cerebro_store::{self, Dump, EngineError, RowCounts, Store, StoreError};

/// How long a look at the backups of a folder may take: a share may be slow.
const LOOK_MAX: Duration = Duration::from_secs(30);
/// How many pieces of a script wait for the disk.
const PIECES_WAITING: usize = 16;
/// How long nobody must have written to a draft before a backup removes it.
const DRAFT_STALE: Duration = Duration::from_secs(24 * 3600);
/// Where a restored database is made before it takes its place.
pub const MAKING: &str = "store.restoring";
/// The beginning of the names of databases that a restore has put aside.
pub const REPLACED: &str = "store.replaced-";
/// The folder of a restore's temporary files: a database to compare with, and indexes.
pub const SCRATCH: &str = "store.compared";

/// A request for a backup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackupRequest {
    /// The home that is backed up, for the file's first line.
    pub home: PathBuf,
    /// Where the file goes.
    pub target: Target,
    /// Whether it is read again and compared.
    pub verify: bool,
    /// How many backups of this home the folder may hold afterwards; without it all of them.
    pub keep: Option<NonZeroUsize>,
}

/// Where a backup goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// Into a folder, named by its moment.
    Folder(PathBuf),
    /// To a file, as plain SurrealQL.
    Script(PathBuf),
}

/// A backup that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackedUp {
    pub path: PathBuf,
    pub at: Timestamp,
    /// The rows of each table.
    pub rows: RowCounts,
    /// The size of the file.
    pub bytes: u64,
    pub verified: bool,
    /// Older backups that were removed for it.
    pub removed: Vec<PathBuf>,
}

/// How the last attempt went, and how far the one under way is.
#[derive(Debug, Default)]
pub(super) struct BackupState {
    under_way: AtomicBool,
    rows: AtomicU64,
    total: AtomicU64,
    outcome: Mutex<Outcome>,
}

/// Marks the one backup under way, as long as this lives.
struct UnderWay<'state>(&'state AtomicBool);

impl<'state> UnderWay<'state> {
    fn begin(flag: &'state AtomicBool) -> Option<Self> {
        (!flag.swap(true, Ordering::SeqCst)).then(|| Self(flag))
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

/// The outcome of the last backups.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The last one that was made since the daemon started.
    pub made: Option<(Timestamp, PathBuf)>,
    /// Why the last attempt failed, if it did.
    pub failure: Option<(Timestamp, String)>,
}

/// Why there is no backup.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// One at a time.
    #[error("a backup is under way already; wait for it to end")]
    UnderWay,
    /// A file or folder cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file could not be restored.
    #[error("{path} was not restored: {reason}")]
    NotRestored { path: PathBuf, reason: StoreError },
    /// The home holds something.
    #[error("{0} holds memories already")]
    NotEmpty(PathBuf),
    /// The folder may be on a mount whose server is gone.
    #[error("{0} does not answer")]
    Silent(PathBuf),
    /// What was forgotten after the backup could not be removed from the restored memory.
    #[error("what was forgotten after the backup could not be removed from the restored memory: {0}")]
    NotForgotten(String),
    /// A part of the work ended without an answer.
    #[error("the backup broke off: {0}")]
    Broken(String),
}

/// The use cases of backups of an open store. [`restore`](crate::restore()) needs none.
#[derive(Clone)]
pub struct Backups {
    base: Base,
    state: Arc<BackupState>,
}

impl Backups {
    pub(crate) fn new(base: &Base) -> Self {
        Self { base: base.clone(), state: Arc::default() }
    }

    /// Writes the present content to a file that appears whole or not at all.
    ///
    /// # Errors
    /// [`BackupError`]; nothing is left of a failed one.
    pub async fn back_up(&self, request: BackupRequest) -> Result<BackedUp, BackupError> {
        let state = &self.state;
        let _one_at_a_time = UnderWay::begin(&state.under_way).ok_or(BackupError::UnderWay)?;
        let done = self.write_backup(&request).await;
        let mut outcome = lock(&state.outcome);
        match &done {
            Ok(made) => *outcome = Outcome { made: Some((made.at, made.path.clone())), failure: None },
            Err(error) => outcome.failure = Some((self.base.store.now(), error.to_string())),
        }
        drop(outcome);
        done
    }

    async fn write_backup(&self, request: &BackupRequest) -> Result<BackedUp, BackupError> {
        let state = &self.state;
        state.rows.store(0, Ordering::Relaxed);
        state.total.store(self.base.store.row_counts().await?.values().sum(), Ordering::Relaxed);
        let at = self.base.store.now();
        // Read first: the script may hold later events, never fewer.
        let head = Head::now(&request.home, at, &self.place().await?);
        let dump = self.base.store.dump().await?;
        let (path, folder) = match &request.target {
            Target::Folder(dir) => (dir.join(kept::name(at)), Some(dir.clone())),
            Target::Script(path) => (path.clone(), None),
        };
        let (target, packed) = (path.clone(), folder.is_some());
        let draft = blocking(move || {
            if let Some(dir) = folder {
                make_folder(&dir)?;
                sweep(&dir);
            }
            Ok(file::Draft::begin(&target, &head, packed)?)
        });
        let (end, bytes) = self.copy(dump, draft.await?).await?;
        let (backups, target, home) = (self.clone(), request.target.clone(), request.home.clone());
        let (verify, keep) = (request.verify, request.keep);
        let written = path.clone();
        let removed = blocking(move || -> Result<_, BackupError> {
            let Target::Folder(dir) = target else { return Ok(Vec::new()) };
            if verify && let Err(error) = file::read(&written, |_| true) {
                // It must not pass for a good one later.
                fs::remove_file(&written).or_else(|error| match error.kind() {
                    io::ErrorKind::NotFound => Ok(()),
                    _ => Err(io_fault("remove", &written)(error)),
                })?;
                return Err(error.into());
            }
            Ok(kept::rotate(&dir, backups.owner(&home), keep)?)
        })
        .await?;
        Ok(BackedUp { path, at, rows: end.rows, bytes, verified: verify && packed, removed })
    }

    /// The position of the store in its log.
    async fn place(&self) -> Result<LogPosition, StoreError> {
        let (seq, at) = self.base.store.events().last().await?;
        Ok(LogPosition { store: self.base.store.id().to_owned(), seq, at })
    }

    /// The owner of this store's backups.
    fn owner<'a>(&'a self, home: &'a Path) -> Owner<'a> {
        Owner { home, store: self.base.store.id() }
    }

    /// The backups of a home's store in a folder, newest first.
    async fn kept_in(&self, dir: &Path, home: &Path) -> Result<Vec<Kept>, BackupError> {
        let (backups, own, home) = (self.clone(), dir.to_path_buf(), home.to_path_buf());
        let look = move || kept::of(&own, backups.owner(&home));
        let looked = looks::within(dir, LOOK_MAX, look).await;
        Ok(looked.ok_or_else(|| BackupError::Silent(dir.to_path_buf()))??)
    }

    /// Copies the script from the database to the file.
    async fn copy(&self, mut dump: Dump, draft: file::Draft) -> Result<(End, u64), BackupError> {
        let (pieces, mut waiting) = tokio::sync::mpsc::channel::<Vec<u8>>(PIECES_WAITING);
        let backups = self.clone();
        let writing = tokio::task::spawn_blocking(move || -> Result<file::Draft, FileError> {
            let mut draft = draft;
            while let Some(piece) = waiting.blocking_recv() {
                draft.add(&piece)?;
                backups.state.rows.store(draft.rows(), Ordering::Relaxed);
            }
            Ok(draft)
        });
        let mut read = Ok(());
        loop {
            match dump.piece().await {
                Ok(None) => break,
                Ok(Some(piece)) => {
                    if pieces.send(piece).await.is_err() {
                        // The writer has stopped and says why.
                        break;
                    }
                }
                Err(error) => {
                    read = Err(StoreError::from(error));
                    break;
                }
            }
        }
        drop(pieces);
        let draft = writing.await.map_err(broke_off)??;
        // Half a script must not become a file: the error drops the draft.
        read?;
        blocking(move || Ok(draft.finish()?)).await
    }

    /// How many rows of the backup under way are written, and of about how many; `None` when none is.
    pub fn progress(&self) -> Option<(u64, u64)> {
        let state = &self.state;
        let both = || (state.rows.load(Ordering::Relaxed), state.total.load(Ordering::Relaxed));
        state.under_way.load(Ordering::SeqCst).then(both)
    }

    /// How the last attempt went.
    pub fn outcome(&self) -> Outcome {
        lock(&self.state.outcome).clone()
    }
}

/// Reads a whole backup and compares it with its own counts and checksum. `progress` gets the bytes of the script so far.
///
/// # Errors
/// [`FileError`] says what is wrong with it.
pub fn verify(path: &Path, mut progress: impl FnMut(u64)) -> Result<(Head, End), FileError> {
    let mut bytes = 0;
    file::read(path, |piece| {
        bytes += piece.len() as u64;
        progress(bytes);
        true
    })
}

/// What is restored, and where.
#[derive(Debug, Clone, Copy)]
pub struct RestoreRequest<'a> {
    /// The backup.
    pub file: &'a Path,
    pub home: &'a Path,
    /// The home's database and index.
    pub store_dir: &'a Path,
    pub index_dir: &'a Path,
    /// Whether a database that holds anything is replaced, and kept beside the new one.
    pub replace: bool,
}

/// A database that was made from a backup, beside its final place.
#[derive(Debug)]
pub(crate) struct MadeStore {
    pub head: Head,
    pub end: End,
    /// Where it is.
    pub dir: PathBuf,
    /// Where the database that it replaces will be kept, if there is one that holds anything.
    pub kept: Option<PathBuf>,
}

/// Makes the database of a home from a backup: of an empty one or, with `replace`, of any. The home's own database stays in its
/// place. The caller owns the home: no other process may have its database open.
///
/// # Errors
/// [`BackupError::NotEmpty`] for a home with anything in it that is not to be replaced; after any error the
/// home's database is as it was, and nothing is beside it.
pub(crate) async fn make(
    RestoreRequest { file: path, home, store_dir, replace, .. }: RestoreRequest<'_>,
    clock: Clock,
    progress: impl Fn(u64) + Send + 'static,
) -> Result<MadeStore, BackupError> {
    let kept = match check_empty(store_dir, clock).await {
        Ok(()) => None,
        Err(error @ BackupError::Store(StoreError::Engine(EngineError::Locked(_)))) => return Err(error),
        // A database that cannot be opened is a reason to restore, and is kept too.
        Err(_) if replace => Some(home.join(format!("{REPLACED}{}", kept::moment(clock())))),
        Err(error) => return Err(error),
    };
    let (dir, scratch) = (home.join(MAKING), home.join(SCRATCH));
    remove(&dir)?;
    remove(&scratch)?;
    // The file is read once to its end before anything is written.
    let checked = path.to_path_buf();
    let (head, end) = blocking(move || Ok(file::read(&checked, |_| true)?)).await?;
    let filled = fill(path, &dir, &scratch, &end.rows, progress).await;
    remove(&scratch)?;
    if let Err(error) = filled {
        remove(&dir)?;
        return Err(error);
    }
    Ok(MadeStore { head, end, dir, kept })
}

impl MadeStore {
    /// Moves it to its final place. The index is removed, and built by the next daemon.
    ///
    /// # Errors
    /// [`BackupError::File`]; the home's database is then as it was.
    pub(crate) fn take_place(&self, request: RestoreRequest<'_>) -> Result<(), BackupError> {
        let RestoreRequest { home, store_dir, index_dir, .. } = request;
        remove(index_dir)?;
        let placed = place(&self.dir, store_dir, self.kept.as_deref());
        placed.map_err(io_fault("move the restored database to", store_dir))?;
        if let Err(error) = durable::sync_folder(home) {
            tracing::warn!(%error, "the restored home may not survive a power loss within the next seconds");
        }
        Ok(())
    }
}

/// Moves a new database into place. It changes places with the one to be kept in one step, so that there is one at every
/// moment.
fn place(made: &Path, store_dir: &Path, kept: Option<&Path>) -> io::Result<()> {
    let Some(kept) = kept else {
        durable::remove_folder(store_dir)?;
        return fs::rename(made, store_dir);
    };
    fs::rename(made, kept)?;
    match renameat_with(CWD, kept, CWD, store_dir, RenameFlags::EXCHANGE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => exchange_in_steps(kept, store_dir, made),
        Err(error) => {
            // The exchange failed, so the new database is removed; its backup stays.
            let _ = durable::remove_folder(kept);
            Err(error.into())
        }
        Ok(()) => Ok(()),
    }
}

/// The same for file systems that cannot exchange. `free` is an unused name. Nothing is removed.
fn exchange_in_steps(new: &Path, store_dir: &Path, free: &Path) -> io::Result<()> {
    fs::rename(new, free)?;
    fs::rename(store_dir, new)?;
    fs::rename(free, store_dir).inspect_err(|_| drop(fs::rename(new, store_dir)))
}

async fn fill(
    path: &Path,
    dir: &Path,
    scratch: &Path,
    rows: &RowCounts,
    progress: impl Fn(u64) + Send + 'static,
) -> Result<(), BackupError> {
    let (pieces, script) = cerebro_store::script();
    let source = path.to_path_buf();
    let reading = tokio::task::spawn_blocking(move || {
        let mut bytes = 0;
        let read = file::read(&source, |piece| {
            bytes += piece.len() as u64;
            progress(bytes);
            pieces.send(piece.to_vec())
        });
        if let Err(error) = &read {
            pieces.fail(error.to_string());
        }
    });
    let restored = Store::restore(dir, scratch, script, rows).await;
    reading.await.map_err(broke_off)?;
    restored.map_err(|reason| BackupError::NotRestored { path: path.to_path_buf(), reason })
}

/// The tables with what somebody saved. A daemon makes all other rows by itself.
const REMEMBERED: [&str; 5] = ["session", "memory", "revision", "prompt", "event"];

/// A home counts as empty if its database, if there is one, has nothing that anybody saved: a daemon that was started in
/// the home has made a database.
async fn check_empty(store_dir: &Path, clock: Clock) -> Result<(), BackupError> {
    if !fs::read_dir(store_dir).is_ok_and(|mut entries| entries.next().is_some()) {
        return Ok(());
    }
    let store = Store::open(store_dir, clock, Box::new(|_| {})).await?;
    let counted = store.row_counts().await;
    store.close().await?;
    let remembered = |table: &str| REMEMBERED.contains(&table);
    let rows: u64 = counted?.iter().filter(|(table, _)| remembered(table)).map(|(_, rows)| rows).sum();
    if rows > 0 {
        return Err(BackupError::NotEmpty(store_dir.to_path_buf()));
    }
    Ok(())
}

pub(crate) fn remove(dir: &Path) -> Result<(), BackupError> {
    Ok(durable::remove_folder(dir).map_err(io_fault("remove", dir))?)
}

fn make_folder(dir: &Path) -> Result<(), BackupError> {
    use std::os::unix::fs::DirBuilderExt;
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(dir);
    Ok(made.map_err(io_fault("make", dir))?)
}

/// Removes drafts that killed processes left. A home writes one backup at a time; young drafts of other homes in the same
/// folder are left alone.
fn sweep(dir: &Path) {
    for left in kept::unfinished(dir, DRAFT_STALE) {
        // This only frees room on the disk, so it is no fault if another process was quicker.
        let _ = fs::remove_file(left);
    }
}

/// The error for a panic. It leaves out the panic's message, which may quote what was copied.
fn broke_off(_: tokio::task::JoinError) -> BackupError {
    BackupError::Broken("an internal error; the daemon's log has more".to_owned())
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, BackupError> + Send + 'static,
) -> Result<T, BackupError> {
    tokio::task::spawn_blocking(work).await.map_err(broke_off)?
}

impl From<BackupError> for ServiceError {
    fn from(error: BackupError) -> Self {
        match error {
            BackupError::Store(error) => error.into(),
            other => Self::Backup(other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_takes_its_place_and_the_one_before_is_kept() {
        let temp = tempfile::tempdir().unwrap();
        let folder = |name: &str| temp.path().join(name);
        let fill = |name: &str, text: &str| {
            fs::create_dir(folder(name)).unwrap();
            fs::write(folder(name).join("CURRENT"), text).unwrap();
        };
        let held = |name: &str| fs::read_to_string(folder(name).join("CURRENT")).ok();
        fill("made", "new");
        place(&folder("made"), &folder("store"), None).unwrap();
        assert_eq!(held("store").as_deref(), Some("new"));
        fill("made", "newer");
        place(&folder("made"), &folder("store"), Some(folder("kept").as_path())).unwrap();
        assert_eq!((held("store"), held("kept")), (Some("newer".to_owned()), Some("new".to_owned())));
        fill("made", "newest");
        exchange_in_steps(&folder("made"), &folder("store"), &folder("free")).unwrap();
        assert_eq!((held("store"), held("made")), (Some("newest".to_owned()), Some("newer".to_owned())));
        assert!(!folder("free").exists());
        // What is kept is never put over another.
        fill("again", "again");
        assert!(place(&folder("again"), &folder("store"), Some(folder("kept").as_path())).is_err());
        assert_eq!((held("store"), held("kept")), (Some("newest".to_owned()), Some("new".to_owned())));
    }
}
