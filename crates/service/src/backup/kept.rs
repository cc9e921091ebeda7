//! The backups in a folder: their names, their order, and which of them are removed for newer ones.

use std::{
    fs, io,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    time::Duration,
};

use super::file::{self, FileError, Head, io_fault};
use cerebro_core::domain::Timestamp;
use cerebro_durable as durable;

const PREFIX: &str = "cerebro-";
/// What the names of backups end with.
const SUFFIX: &str = ".surql.zst";
/// What the drafts of version 0.1.0 ended with after a backup's name and a dot before it.
const PART_OF_0_1: &str = ".surql.zst.part";

/// The name of a backup that is made at a moment; names sort as moments do.
pub fn name(at: Timestamp) -> String {
    format!("{PREFIX}{}{SUFFIX}", moment(at))
}

/// A moment, in the form of names.
pub fn moment(at: Timestamp) -> String {
    format!("{at:.3}").chars().filter(|letter| letter.is_ascii_alphanumeric() || *letter == '.').collect()
}

/// A finished backup.
#[derive(Debug, Clone)]
pub struct Kept {
    pub path: PathBuf,
    pub head: Head,
    pub bytes: u64,
}

/// The owner of backups.
#[derive(Debug, Clone, Copy)]
pub struct Owner<'a> {
    /// The home's folder. Another machine's may have the same path.
    pub home: &'a Path,
    pub store: &'a str,
}

impl Owner<'_> {
    /// Whether a backup is of this store in this home: another machine's home may have the same path, and a copy of the
    /// home the same store. Older programs did not write which store it is.
    fn owns(&self, head: &Head) -> bool {
        head.home == self.home.display().to_string()
            && head.store.as_ref().is_none_or(|store| store == self.store)
    }
}

/// The backups of a home, by its path, in a folder, newest first: those of stores that it had before too.
pub fn kept(dir: &Path, home: &Path) -> Result<Vec<Kept>, FileError> {
    let home = home.display().to_string();
    chosen(dir, |head| head.home == home)
}

/// The backups of a store in a folder, newest first.
///
/// # Errors
/// [`FileError::Io`] when the folder cannot be read; one that is not there holds nothing.
pub fn of(dir: &Path, owner: Owner<'_>) -> Result<Vec<Kept>, FileError> {
    chosen(dir, |head| owner.owns(head))
}

/// Files of other kinds are not looked at.
fn chosen(dir: &Path, is_meant: impl Fn(&Head) -> bool) -> Result<Vec<Kept>, FileError> {
    let fault = io_fault("read", dir);
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(fault(error)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(&fault)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let Ok(metadata) = entry.metadata() else { continue };
        if !(metadata.is_file() && name.starts_with(PREFIX) && name.ends_with(SUFFIX)) {
            continue;
        }
        let Ok(head) = file::head(&entry.path()) else { continue };
        if is_meant(&head) {
            found.push(Kept { path: entry.path(), head, bytes: metadata.len() });
        }
    }
    found.sort_by(|a, b| (b.head.at, &b.path).cmp(&(a.head.at, &a.path)));
    Ok(found)
}

/// Removes all but the newest `keep` backups of a store, if it is given. Gives those that it removed.
///
/// # Errors
/// [`FileError::Io`] for the first that cannot be removed.
pub fn rotate(dir: &Path, owner: Owner<'_>, keep: Option<NonZeroUsize>) -> Result<Vec<PathBuf>, FileError> {
    let Some(keep) = keep else { return Ok(Vec::new()) };
    let mut removed = Vec::new();
    for old in of(dir, owner)?.into_iter().skip(keep.get()) {
        fs::remove_file(&old.path).map_err(io_fault("remove", &old.path))?;
        removed.push(old.path);
    }
    Ok(removed)
}

/// Drafts of backups that killed processes left in a folder, untouched for `age`. Only names that this program gives are
/// considered, because other programs may use the folder too.
pub fn unfinished(dir: &Path, age: Duration) -> Vec<PathBuf> {
    let mut left = durable::left_in(dir, age);
    let is_of_0_1 = |name: &str| name.starts_with(&format!(".{PREFIX}")) && name.ends_with(PART_OF_0_1);
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let named = entries.filter(|entry| is_of_0_1(&entry.file_name().to_string_lossy()));
    left.extend(named.map(|entry| entry.path()).filter(|path| durable::is_older(path, age)));
    left
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backup::file::{Draft, LogPosition};

    /// A backup of a store; of none, as older programs wrote it.
    fn put(dir: &Path, home: &str, store: Option<&str>, second: i64) -> PathBuf {
        let at = Timestamp::from_second(second).unwrap();
        let path = dir.join(name(at));
        let place = LogPosition { store: store.unwrap_or_default().to_owned(), seq: 0, at };
        let mut head = Head::now(Path::new(home), at, &place);
        head.store = store.map(str::to_owned);
        Draft::begin(&path, &head, true).unwrap().finish().unwrap();
        path
    }

    #[test]
    fn names_sort_as_moments_do() {
        let at = |micros| name(Timestamp::from_microsecond(micros).unwrap());
        assert_eq!(at(1_763_776_000_123_456), "cerebro-20251122T014640.123Z.surql.zst");
        assert!(at(1_000_000) < at(1_001_000) && at(1_001_000) < at(61_000_000));
    }

    #[test]
    fn only_drafts_with_names_of_ours_are_unfinished_backups() {
        let temp = tempfile::tempdir().unwrap();
        let ours = [".cerebro-draft-a1b2c3", ".cerebro-20251122T014640.123Z.surql.zst.part"];
        for name in ours.iter().chain(&[".movie.mkv.part", ".cerebro-notes.part", "x.surql.zst.part"]) {
            fs::write(temp.path().join(name), "half").unwrap();
        }
        assert_eq!(unfinished(temp.path(), Duration::ZERO), ours.map(|name| temp.path().join(name)));
        assert!(unfinished(temp.path(), Duration::from_secs(3600)).is_empty());
    }

    #[test]
    fn only_the_oldest_of_our_own_make_room() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path();
        // The first was written by an older program.
        let ours = [
            put(path, "/ours", None, 1),
            put(path, "/ours", Some("s"), 2),
            put(path, "/ours", Some("s"), 3),
            put(path, "/ours", Some("s"), 4),
        ];
        let other = put(path, "/other", None, 5);
        // Of another machine, or of the store that was here before a restore.
        let twin = put(path, "/ours", Some("t"), 6);
        let copy = put(path, "/copy", Some("s"), 7);
        let foreign = temp.path().join("cerebro-0.surql.zst");
        fs::write(&foreign, "not a backup").unwrap();
        let owner = Owner { home: Path::new("/ours"), store: "s" };
        assert!(rotate(path, owner, None).unwrap().is_empty());
        let removed = rotate(path, owner, NonZeroUsize::new(2)).unwrap();
        assert_eq!(removed, [ours[1].clone(), ours[0].clone()]);
        for (path, there) in [
            (&ours[0], false),
            (&ours[1], false),
            (&ours[2], true),
            (&ours[3], true),
            (&other, true),
            (&twin, true),
            (&copy, true),
            (&foreign, true),
        ] {
            assert_eq!(path.exists(), there, "{path:?}");
        }
        assert_eq!(kept(path, Path::new("/ours")).unwrap().len(), 3, "by its path, the twin too");
        assert!(kept(&path.join("none"), Path::new("/ours")).unwrap().is_empty());
    }
}
