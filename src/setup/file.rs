//! Files of agents: read whole, replaced whole, with the permissions they had.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::SetupError;

/// Largest file that is edited, in bytes.
const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// The permissions of a new file: agents keep keys in some of these.
const MODE: u32 = 0o600;

/// The text of a file; `None` when it is not there.
///
/// # Errors
/// When it cannot be read, is no text, or is too large.
pub fn read(path: &Path) -> Result<Option<String>, SetupError> {
    let unreadable = |source| SetupError::Unreadable { path: path.to_owned(), source };
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    };
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(unreadable(io::Error::new(io::ErrorKind::FileTooLarge, "larger than 64 MiB")));
    }
    let text = String::from_utf8(bytes);
    text.map(Some).map_err(|_| unreadable(io::Error::new(io::ErrorKind::InvalidData, "not UTF-8 text")))
}

/// Puts a text in place of what is expected to be there, all of it or nothing. A link is followed, and the
/// permissions stay. Gives the folders that had to be made, the outermost first.
///
/// # Errors
/// When somebody else has just changed the file, or it cannot be written.
pub fn write(path: &Path, text: &str, expected: Option<&str>) -> Result<Vec<PathBuf>, SetupError> {
    let unwritable = |source| SetupError::Unwritable { path: path.to_owned(), source };
    let made = make_folders(path).map_err(unwritable)?;
    let real = if expected.is_some() { path.canonicalize().map_err(unwritable)? } else { path.to_owned() };
    let mode = fs::metadata(&real).map_or(MODE, |metadata| metadata.permissions().mode());
    let name = real.file_name().unwrap_or_default().to_string_lossy();
    let beside = real.with_file_name(format!(".{name}.cerebro-{}", std::process::id()));
    let written = write_new(&beside, text, mode).map_err(unwritable).and_then(|()| {
        if read(path)?.as_deref() != expected {
            return Err(SetupError::Changed { path: path.to_owned() });
        }
        fs::rename(&beside, &real).map_err(unwritable)
    });
    if written.is_err() {
        // The error tells; a leftover is not worth another.
        let _ = fs::remove_file(&beside);
    }
    written.map(|()| made)
}

fn write_new(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(MODE).open(path)?;
    file.write_all(text.as_bytes())?;
    file.set_permissions(fs::Permissions::from_mode(mode))?;
    file.sync_all()
}

fn make_folders(path: &Path) -> io::Result<Vec<PathBuf>> {
    let Some(folder) = path.parent() else { return Ok(Vec::new()) };
    let mut missing: Vec<PathBuf> =
        folder.ancestors().take_while(|folder| !folder.exists()).map(Path::to_owned).collect();
    missing.reverse();
    fs::create_dir_all(folder)?;
    Ok(missing)
}

/// Removes a file.
///
/// # Errors
/// When somebody else has just changed it, or it cannot be removed.
pub fn remove(path: &Path, expected: &str) -> Result<(), SetupError> {
    if read(path)?.as_deref() != Some(expected) {
        return Err(SetupError::Changed { path: path.to_owned() });
    }
    fs::remove_file(path).map_err(|source| SetupError::Unwritable { path: path.to_owned(), source })
}

/// Removes those of the folders that are empty, the innermost first.
pub fn remove_empty(mut folders: Vec<PathBuf>) {
    folders.sort_by_key(|folder| std::cmp::Reverse(folder.components().count()));
    for folder in folders {
        // One that is not empty stays, and so do those around it.
        let _ = fs::remove_dir(folder);
    }
}

/// Where the text is kept that a file had before anything was put in.
pub fn backup_of(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".cerebro-backup");
    path.with_file_name(name)
}

/// Keeps the text that a file had, with the permissions that the file has.
///
/// # Errors
/// When it cannot be written.
pub fn back_up(path: &Path, text: &str) -> Result<(), SetupError> {
    let backup = backup_of(path);
    let mode = fs::metadata(path).map_or(MODE, |metadata| metadata.permissions().mode());
    write_new(&backup, text, mode).map_err(|source| SetupError::Unwritable { path: backup, source })
}
