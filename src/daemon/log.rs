//! The daemon's log. It is the standard error of the daemon's process, so it also contains panics and the engine's own
//! messages. Its size is bounded: a full log is renamed, and the one before it removed.

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::home::Home;
use crate::platform;

/// Size at which the log is renamed to `daemon.log.old`, replacing the one before, in bytes.
const BYTES_MAX: u64 = 5 * 1024 * 1024;
/// How much of the log's end is searched for its last line, in bytes.
const TAIL_BYTES: u64 = 4 * 1024;

/// Opens a home's log for appending. A full one is renamed first.
pub(super) fn open(home: &Home) -> io::Result<File> {
    open_at(&home.log_file())
}

fn open_at(path: &Path) -> io::Result<File> {
    if std::fs::metadata(path).is_ok_and(|found| found.len() >= BYTES_MAX) {
        std::fs::rename(path, path.with_extension("log.old"))?;
    }
    platform::append_private_file(path)
}

/// The last line of a home's log, for error messages; empty when there is none.
pub fn last_line(home: &Home) -> String {
    let tail = || -> io::Result<String> {
        let mut file = File::open(home.log_file())?;
        let size = file.metadata()?.len();
        file.seek(SeekFrom::Start(size.saturating_sub(TAIL_BYTES)))?;
        let mut bytes = Vec::new();
        file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    let tail = tail().unwrap_or_default();
    tail.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().trim().to_owned()
}

/// The log of a running daemon.
#[derive(Debug)]
pub(super) struct OwnLog {
    /// `None` where standard error is something else: a terminal, or a service manager's journal.
    path: Option<PathBuf>,
    /// Whether it was said that no new file can be begun: it is tried every second.
    has_warned: bool,
}

impl OwnLog {
    /// Determines whether this process's standard error is the log of its home.
    pub(super) fn of(home: &Home) -> Self {
        let path = home.log_file();
        let is_log = match (std::fs::metadata(&path), standard_error()) {
            (Ok(log), Ok(error)) => (log.dev(), log.ino()) == (error.dev(), error.ino()),
            _ => false,
        };
        Self { path: is_log.then_some(path), has_warned: false }
    }

    /// Starts a new file if this one is full.
    pub(super) fn keep_bounded(&mut self) {
        let Some(path) = &self.path else { return };
        let begun = || -> io::Result<()> {
            if standard_error()?.len() >= BYTES_MAX {
                rustix::stdio::dup2_stderr(open_at(path)?)?;
            }
            Ok(())
        };
        match begun() {
            Ok(()) => self.has_warned = false,
            Err(error) if !self.has_warned => {
                self.has_warned = true;
                tracing::warn!(%error, "the log is full, and a new one cannot be started");
            }
            Err(_) => {}
        }
    }
}

/// The metadata of the file that is standard error.
fn standard_error() -> io::Result<Metadata> {
    File::from(rustix::io::dup(io::stderr())?).metadata()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_log_is_renamed() {
        let temp = tempfile::tempdir().unwrap();
        let home = Home::open(Some(&temp.path().join("h"))).unwrap();
        assert_eq!(last_line(&home), "");
        let path = home.log_file();
        let full = vec![b'x'; usize::try_from(BYTES_MAX).unwrap()];
        std::fs::write(&path, &full[1..]).unwrap();
        drop(open(&home).unwrap());
        assert!(!home.root().join("daemon.log.old").exists());
        std::fs::write(&path, &full).unwrap();
        drop(open(&home).unwrap());
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 0);
        assert_eq!(std::fs::metadata(home.root().join("daemon.log.old")).unwrap().len(), BYTES_MAX);
        std::fs::write(&path, "one\ntwo \n\n").unwrap();
        assert_eq!(last_line(&home), "two");
    }
}
