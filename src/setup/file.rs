//! Reads and replaces agents' files as a whole. Their permissions stay.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use super::SetupError;
use crate::platform;
use cerebro_durable::{Draft, Kind};

/// Largest file that is edited, in bytes.
const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The text of a file; `None` if it does not exist. Fails if it is not text, or too large.
pub fn read(path: &Path) -> Result<Option<String>, SetupError> {
    let unreadable = |source| SetupError::Unreadable { path: path.to_owned(), source };
    // Opening a pipe would block.
    let file = match platform::open_without_waiting(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(unreadable(io::Error::new(error.kind(), "it is a link that leads nowhere")));
        }
        Err(error) => return Err(unreadable(error)),
    };
    if !file.metadata().map_err(unreadable)?.is_file() {
        return Err(unreadable(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file")));
    }
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(unreadable(io::Error::new(io::ErrorKind::FileTooLarge, "larger than 64 MiB")));
    }
    let text = String::from_utf8(bytes);
    text.map(Some).map_err(|_| unreadable(io::Error::new(io::ErrorKind::InvalidData, "not UTF-8 text")))
}

/// Checks that a file can be created, replaced or removed. A file that is read-only was protected by somebody. Also
/// fails if nothing can be written to its folder, or to that of a link's target.
pub fn check_writable(path: &Path) -> Result<(), SetupError> {
    let unwritable = |source| SetupError::Unwritable { path: path.to_owned(), source };
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if fs::metadata(&real).is_ok_and(|found| found.permissions().readonly()) {
        return Err(unwritable(io::Error::new(io::ErrorKind::PermissionDenied, "it is read-only")));
    }
    for file in [path, real.as_path()] {
        let folder = file.ancestors().skip(1).find(|folder| folder.is_dir());
        if let Some(folder) = folder
            && let Err(error) = platform::check_writable(folder)
        {
            let words = format!("nothing can be written to its folder {}: {error}", folder.display());
            return Err(unwritable(io::Error::new(error.kind(), words)));
        }
    }
    Ok(())
}

/// Replaces the expected text of a file with another one, atomically. Follows a symbolic link and leaves the
/// permissions as they are. Returns the folders that it created, the outermost first. Fails if another program has just
/// changed the file.
pub fn write(path: &Path, text: &str, expected: Option<&str>) -> Result<Vec<PathBuf>, SetupError> {
    let unwritable = |source| SetupError::Unwritable { path: path.to_owned(), source };
    let made = make_folders(path).map_err(unwritable)?;
    let mut draft = Draft::begin(path, Kind::Persons).map_err(unwritable)?;
    draft.write_all(text.as_bytes()).map_err(unwritable)?;
    let changed = || SetupError::Changed { path: path.to_owned() };
    if read(path)?.as_deref() != expected {
        return Err(changed());
    }
    let written = if expected.is_some() { draft.finish() } else { draft.finish_new() };
    written.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => changed(),
        _ => unwritable(error),
    })?;
    Ok(made)
}

fn make_folders(path: &Path) -> io::Result<Vec<PathBuf>> {
    let Some(folder) = path.parent() else { return Ok(Vec::new()) };
    let mut missing: Vec<PathBuf> =
        folder.ancestors().take_while(|folder| !folder.exists()).map(Path::to_owned).collect();
    missing.reverse();
    fs::create_dir_all(folder)?;
    Ok(missing)
}

/// Removes a file. Fails if another program has just changed it.
pub fn remove(path: &Path, expected: &str) -> Result<(), SetupError> {
    if read(path)?.as_deref() != Some(expected) {
        return Err(SetupError::Changed { path: path.to_owned() });
    }
    fs::remove_file(path).map_err(|source| SetupError::Unwritable { path: path.to_owned(), source })
}

/// Removes the empty ones among these folders, the innermost first.
pub fn remove_empty(mut folders: Vec<PathBuf>) {
    folders.sort_by_key(|folder| std::cmp::Reverse(folder.components().count()));
    for folder in folders {
        // This fails for a folder that is not empty, and for its parents.
        let _ = fs::remove_dir(folder);
    }
}

/// Where the backup of a file is, for the default home.
pub fn backup_of(path: &Path) -> PathBuf {
    path.with_added_extension("cerebro-backup")
}

/// Writes the backup of a file, with the permissions of the file.
pub fn back_up(path: &Path, backup: &Path, text: &str) -> Result<(), SetupError> {
    let written =
        Draft::begin(backup, Kind::Own).map(|draft| draft.with_mode_of(path)).and_then(|mut draft| {
            draft.write_all(text.as_bytes())?;
            draft.finish()
        });
    written.map_err(|source| SetupError::Unwritable { path: backup.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_only_file_is_not_replaced() {
        use std::os::unix::fs::{PermissionsExt, symlink};

        let temp = tempfile::tempdir().unwrap();
        let (file, link) = (temp.path().join("settings.json"), temp.path().join("link.json"));
        fs::write(&file, "{}").unwrap();
        symlink(&file, &link).unwrap();
        for path in [&file, &link, &temp.path().join("new/folder/settings.json")] {
            check_writable(path).unwrap();
        }
        fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
        for path in [&file, &link] {
            let words = check_writable(path).unwrap_err().to_string();
            assert!(words.contains("it is read-only") && words.contains(path.to_str().unwrap()), "{words}");
        }
    }

    #[test]
    fn what_is_no_file_is_neither_waited_for_nor_replaced() {
        let temp = tempfile::tempdir().unwrap();
        let pipe = temp.path().join("settings.json");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for path in [pipe.as_path(), temp.path()] {
            assert!(matches!(read(path), Err(SetupError::Unreadable { .. })), "{}", path.display());
            assert!(write(path, "{}", None).is_err());
        }
        assert!(!fs::symlink_metadata(&pipe).unwrap().is_file());
    }
}
