//! The lock that makes one process the owner of a home.
//!
//! A process takes it before it touches the socket and opens the database. The system releases it when the process
//! ends, for whatever reason. The file names the owner, for messages.

use std::fmt;
use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::home::Home;
use crate::platform::{self, FileIdentity};

/// Longest text that is read from a lock file, in bytes.
const OWNER_BYTES_MAX: u64 = 4 * 1024;

/// What the owner uses the home for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Use {
    /// Serves all clients on the socket.
    Daemon,
    /// Serves one client in its own process. No other client can connect.
    Standalone,
    /// Restores the database from a backup.
    Restore,
}

/// The process that holds, or held, the lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    pub pid: u32,
    pub version: String,
    #[serde(rename = "use")]
    pub used_as: Use,
    /// The socket, once the owner listens. A daemon of an earlier version does not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket: Option<PathBuf>,
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.used_as {
            Use::Daemon => "cerebro daemon",
            Use::Standalone => "cerebro mcp --standalone",
            Use::Restore => "cerebro restore",
        };
        write!(f, "{name} {} (process {})", self.version, self.pid)
    }
}

/// Why the lock was not taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("{path} is locked by {}", .owner.as_ref().map_or("another process".to_owned(), Owner::to_string))]
    Held { path: PathBuf, owner: Option<Owner> },
    #[error("cannot lock {path}: {source}; the folder must be writable and able to lock files")]
    Io { path: PathBuf, source: io::Error },
}

/// Ownership of a home, while this exists.
#[derive(Debug)]
pub struct Lock {
    file: File,
    owner: Owner,
}

impl Lock {
    /// Takes the lock if it is free, and writes this process into the file. Fails at once if another process has it.
    pub fn take(home: &Home, used_as: Use) -> Result<Self, LockError> {
        let path = home.lock_file();
        let io_error = |source| LockError::Io { path: path.clone(), source };
        let file = platform::open_private_file(&path).map_err(io_error)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(LockError::Held { path, owner: owner(home) });
            }
            Err(TryLockError::Error(source)) => return Err(io_error(source)),
        }
        let pid = std::process::id();
        let owner = Owner { pid, version: super::VERSION.to_owned(), used_as, socket: None };
        write_owner(&file, &owner).map_err(io_error)?;
        Ok(Self { file, owner })
    }

    /// Writes the socket's path into the file.
    pub fn listens_at(&self, socket: &Path) -> io::Result<()> {
        write_owner(&self.file, &Owner { socket: Some(socket.to_owned()), ..self.owner.clone() })
    }

    /// What identifies the file that is locked.
    pub fn identity(&self) -> io::Result<FileIdentity> {
        platform::open_file_identity(&self.file)
    }

    /// Holds the lock until this process has ended, and removes the owner from the file. The database may still be
    /// closing on a detached thread, and only the end of the process ends that for certain.
    pub fn hold_until_exit(self) {
        self.sign_off();
        std::mem::forget(self);
    }

    fn sign_off(&self) {
        // The next owner takes a moment to record itself. Until then, messages must not name this process as the owner.
        if let Err(error) = self.file.set_len(0) {
            tracing::debug!(%error, "cannot remove the owner from the lock file");
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        self.sign_off();
    }
}

fn write_owner(mut file: &File, owner: &Owner) -> io::Result<()> {
    let text = serde_json::to_vec(owner)?;
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(&text)
}

/// The process that the lock file names, if it is running. The record of a killed process says nothing about the
/// present owner, and a new owner may not have recorded itself yet.
pub fn owner(home: &Home) -> Option<Owner> {
    let mut text = Vec::new();
    File::open(home.lock_file()).ok()?.take(OWNER_BYTES_MAX).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok().filter(|owner: &Owner| platform::is_alive(owner.pid))
}

/// The socket of the home's daemon, as the daemon recorded it. It may be in a folder that this process does not know.
pub fn socket_path(home: &Home) -> PathBuf {
    match owner(home) {
        Some(Owner { socket: Some(path), .. }) => path,
        Some(_) => home.unrecorded_socket_path(),
        None => home.socket_path(),
    }
}

/// Whether a running process has the lock. The check takes a shared lock for an instant. A starting daemon waits for
/// its end.
pub fn is_held(home: &Home) -> bool {
    let Ok(file) = File::open(home.lock_file()) else { return false };
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_owner_at_a_time() {
        let temp = tempfile::tempdir().unwrap();
        let home = Home::open(Some(&temp.path().join("h"))).unwrap();
        assert!(!is_held(&home));
        let lock = Lock::take(&home, Use::Daemon).unwrap();
        assert!(is_held(&home));
        let error = Lock::take(&home, Use::Standalone).unwrap_err();
        assert!(error.to_string().contains(&format!("process {}", std::process::id())), "{error}");
        drop(lock);
        assert!(!is_held(&home));
        assert_eq!(owner(&home), None, "its name is taken for that of the next one");
        let _lock = Lock::take(&home, Use::Standalone).unwrap();
        assert_eq!(owner(&home).unwrap().used_as, Use::Standalone);
    }

    #[test]
    fn the_owner_records_where_it_listens() {
        let temp = tempfile::tempdir().unwrap();
        let home = Home::open(Some(&temp.path().join("h"))).unwrap();
        assert_eq!(socket_path(&home), home.socket_path());
        let lock = Lock::take(&home, Use::Daemon).unwrap();
        assert_eq!(socket_path(&home), home.unrecorded_socket_path());
        lock.listens_at(Path::new("/run/user/7/cerebro/x.sock")).unwrap();
        assert_eq!(socket_path(&home), Path::new("/run/user/7/cerebro/x.sock"));
        assert_eq!(owner(&home).unwrap().used_as, Use::Daemon);
        drop(lock);
        assert_eq!(socket_path(&home), home.socket_path());
    }

    #[test]
    fn a_lock_is_kept_beyond_the_value() {
        let temp = tempfile::tempdir().unwrap();
        let home = Home::open(Some(&temp.path().join("h"))).unwrap();
        Lock::take(&home, Use::Daemon).unwrap().hold_until_exit();
        assert!(is_held(&home));
        assert_eq!(owner(&home), None);
    }

    #[test]
    fn a_damaged_record_does_not_hinder() {
        let temp = tempfile::tempdir().unwrap();
        let home = Home::open(Some(&temp.path().join("h"))).unwrap();
        std::fs::write(home.lock_file(), [0xff; 9_000]).unwrap();
        assert_eq!(owner(&home), None);
        let _lock = Lock::take(&home, Use::Daemon).unwrap();
        assert_eq!(owner(&home).unwrap().pid, std::process::id());
    }
}
