//! Files that appear whole or not at all.
//!
//! Text is written to a draft beside its target, and the draft is renamed over the target. A draft has a random
//! name and mode 0600, is created exclusively (an existing file or link of that name is never opened), and is
//! removed when it is dropped unfinished.

use std::{
    fs::{self, File, Permissions},
    io::{self, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    time::Duration,
};

use tempfile::{Builder, NamedTempFile};

/// The prefix of drafts' names. Cleaning up removes only files with this prefix.
pub const PREFIX: &str = ".cerebro-draft-";

/// What kind of file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// This program's own: mode 0600, synced; a link in its place is replaced, never followed.
    Own,
    /// This program's own and derived from other data: like [`Self::Own`] but not synced. A power loss may empty
    /// it, the end of the process may not.
    Derived,
    /// A person's, such as a configuration: synced; keeps its mode. If it is a link, the target is replaced and the
    /// link stays.
    Persons,
}

/// A file that is being written under a temporary name; removed unless it is finished.
#[derive(Debug)]
pub struct Draft {
    file: NamedTempFile,
    target: PathBuf,
    kind: Kind,
    mode: Option<Permissions>,
}

impl Draft {
    /// Begins a draft for `target`, in the same folder.
    ///
    /// # Errors
    /// Any error of the file system; `target` is a folder, or a person's link that leads nowhere.
    pub fn begin(target: &Path, kind: Kind) -> io::Result<Self> {
        let is_followed = kind == Kind::Persons && target.is_symlink();
        let target = if is_followed { target.canonicalize()? } else { target.to_owned() };
        if target.file_name().is_none() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it names no file"));
        }
        if target.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let present = fs::symlink_metadata(&target).ok().filter(|_| kind == Kind::Persons);
        let mode = present.map(|found| found.permissions());
        let file = Builder::new().prefix(PREFIX).tempfile_in(folder_of(&target))?;
        Ok(Self { file, target, kind, mode })
    }

    /// Gives the file the present mode of `path`, if that exists.
    #[must_use]
    pub fn with_mode_of(mut self, path: &Path) -> Self {
        self.mode = fs::metadata(path).ok().map(|found| found.permissions()).or(self.mode);
        self
    }

    /// The size so far, in bytes.
    pub fn size(&self) -> io::Result<u64> {
        Ok(self.file.as_file().metadata()?.len())
    }

    /// Puts the draft in the target's place.
    ///
    /// # Errors
    /// Any error of the file system; the target is unchanged, unless only syncing its folder failed.
    pub fn finish(self) -> io::Result<()> {
        self.put(|file, target| file.persist(target))
    }

    /// Puts the draft in the target's place if nothing is there.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] when something is; else as [`Self::finish`].
    pub fn finish_new(self) -> io::Result<()> {
        self.put(|file, target| file.persist_noclobber(target))
    }

    fn put(
        self,
        persist: impl FnOnce(NamedTempFile, &Path) -> Result<File, tempfile::PersistError>,
    ) -> io::Result<()> {
        let Self { file, target, kind, mode } = self;
        if let Some(mode) = mode {
            file.as_file().set_permissions(Permissions::from_mode(mode.mode() & 0o777))?;
        }
        if kind == Kind::Derived {
            persist(file, &target).map_err(|error| error.error)?;
            return Ok(());
        }
        file.as_file().sync_all()?;
        persist(file, &target).map_err(|error| error.error)?;
        sync_folder(folder_of(&target))
    }
}

impl Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.as_file_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_file_mut().flush()
    }
}

/// Replaces or creates `target` with `bytes`.
///
/// # Errors
/// As [`Draft::begin`] and [`Draft::finish`].
pub fn write(target: &Path, kind: Kind, bytes: &[u8]) -> io::Result<()> {
    let mut draft = Draft::begin(target, kind)?;
    draft.write_all(bytes)?;
    draft.finish()
}

/// Creates `target` with `bytes`, and replaces nothing.
///
/// # Errors
/// [`io::ErrorKind::AlreadyExists`] when something is there; else as [`write`].
pub fn create(target: &Path, kind: Kind, bytes: &[u8]) -> io::Result<()> {
    let mut draft = Draft::begin(target, kind)?;
    draft.write_all(bytes)?;
    draft.finish_new()
}

/// The drafts in a folder that were not written to for `age`, which killed processes left behind.
pub fn left_in(folder: &Path, age: Duration) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_left = |entry: &fs::DirEntry| {
        entry.file_name().to_string_lossy().starts_with(PREFIX)
            && entry.file_type().is_ok_and(|kind| kind.is_file())
            && is_older(&entry.path(), age)
    };
    entries.filter(is_left).map(|entry| entry.path()).collect()
}

/// Whether a file was last changed longer ago than `age`; `false` if that is unknown.
pub fn is_older(path: &Path, age: Duration) -> bool {
    let changed = fs::symlink_metadata(path).and_then(|found| found.modified()).ok();
    changed.and_then(|at| at.elapsed().ok()).is_some_and(|found| found >= age)
}

/// Removes a folder with all that is in it. One that is not there is no error.
///
/// # Errors
/// Any other error of the file system.
pub fn remove_folder(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Syncs the names in a folder to disk.
///
/// # Errors
/// Any error of the file system, except that it cannot sync folders.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    match File::open(folder)?.sync_all() {
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => {
            Ok(())
        }
        synced => synced,
    }
}

fn folder_of(target: &Path) -> &Path {
    let parent = target.parent().filter(|folder| !folder.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
    }

    fn put(path: &Path, text: &str, mode: u32) {
        fs::write(path, text).unwrap();
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    fn names(folder: &Path) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn own_files_are_closed_to_others_and_a_persons_keep_their_mode() {
        let temp = tempfile::tempdir().unwrap();
        for (kind, want) in [(Kind::Own, 0o600), (Kind::Derived, 0o600), (Kind::Persons, 0o644)] {
            let (present, new) = (temp.path().join("present"), temp.path().join(format!("{kind:?}")));
            put(&present, "old", 0o644);
            write(&present, kind, b"new").unwrap();
            write(&new, kind, b"new").unwrap();
            assert_eq!((mode(&present), mode(&new)), (want, 0o600), "{kind:?}");
            assert_eq!(fs::read_to_string(&present).unwrap(), "new");
        }
        assert_eq!(names(temp.path()), 4, "a draft was left");
    }

    #[test]
    fn a_persons_link_stays_a_link_and_an_own_one_is_never_followed() {
        let temp = tempfile::tempdir().unwrap();
        let (real, link) = (temp.path().join("real"), temp.path().join("link"));
        put(&real, "old", 0o640);
        symlink(&real, &link).unwrap();
        write(&link, Kind::Persons, b"new").unwrap();
        assert!(link.is_symlink());
        assert_eq!((fs::read_to_string(&real).unwrap().as_str(), mode(&real)), ("new", 0o640));
        write(&link, Kind::Own, b"ours").unwrap();
        assert!(!link.is_symlink());
        assert_eq!(fs::read_to_string(&real).unwrap(), "new");
        symlink(temp.path().join("nowhere"), temp.path().join("broken")).unwrap();
        assert!(write(&temp.path().join("broken"), Kind::Persons, b"x").is_err());
    }

    #[test]
    fn an_existing_file_is_not_replaced_by_a_new_one() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("f");
        create(&path, Kind::Own, b"first").unwrap();
        let error = create(&path, Kind::Own, b"second").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&path).unwrap(), "first");
        assert_eq!(names(temp.path()), 1, "a draft was left");
    }

    #[test]
    fn an_unfinished_draft_leaves_nothing_and_folders_are_refused() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("f");
        let mut draft = Draft::begin(&path, Kind::Own).unwrap();
        draft.write_all(b"half").unwrap();
        assert_eq!((draft.size().unwrap(), names(temp.path())), (4, 1));
        drop(draft);
        assert_eq!(names(temp.path()), 0);
        assert!(Draft::begin(temp.path(), Kind::Own).is_err());
        assert!(Draft::begin(Path::new("/"), Kind::Own).is_err());
    }

    #[test]
    fn only_old_drafts_of_ours_are_left_over() {
        let temp = tempfile::tempdir().unwrap();
        let ours = temp.path().join(format!("{PREFIX}abc123"));
        put(&ours, "half", 0o600);
        put(&temp.path().join(".other.part"), "somebody else's", 0o600);
        fs::create_dir(temp.path().join(format!("{PREFIX}folder"))).unwrap();
        assert_eq!(left_in(temp.path(), Duration::ZERO), [ours]);
        assert!(left_in(temp.path(), Duration::from_secs(3600)).is_empty());
        assert!(left_in(&temp.path().join("none"), Duration::ZERO).is_empty());
    }
}
