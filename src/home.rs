//! Where Cerebro keeps its things: one folder, `$HOME/.cerebro` unless `--home` names another.
//!
//! XDG variables are not read: some agents start their servers with a stripped environment, and
//! every process of a user must come to the same folder and the same socket.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::platform;

/// Longest socket path that is used as it stands, in bytes. The kernel's bound is 107 on Linux and
/// 103 on macOS; one lower number for both keeps some room.
const SOCKET_PATH_BYTES_MAX: usize = 100;

/// Why a home cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    /// No `--home` was given and the user has no home folder.
    #[error("the user's home folder is unknown: set HOME or give --home DIR")]
    Unknown,
    /// A folder cannot be made, read or written.
    #[error(
        "cannot use {path} as a folder for Cerebro's data: {source}; mend its permissions or give --home DIR"
    )]
    Unusable { path: PathBuf, source: io::Error },
    /// A folder belongs to somebody else, is not a plain folder, or lets others in.
    #[error("{path} is not a private folder of yours ({reason}); remove it or give --home DIR")]
    NotPrivate { path: PathBuf, reason: &'static str },
}

/// The folder of one store and its daemon. Two spellings of one folder make equal homes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    root: PathBuf,
    database: Option<String>,
}

impl Home {
    /// Opens the home in `dir`, or `$HOME/.cerebro`; makes it with mode 0700 when it is missing.
    ///
    /// # Errors
    /// [`HomeError`], which names the folder: it cannot be made or written, belongs to somebody
    /// else, or lets others in and holds something that is not Cerebro's.
    pub fn open(dir: Option<&Path>) -> Result<Self, HomeError> {
        let dir = match dir {
            Some(dir) => dir.to_owned(),
            None => user_home().ok_or(HomeError::Unknown)?.join(".cerebro"),
        };
        let unusable = |source| HomeError::Unusable { path: dir.clone(), source };
        platform::create_private_dir_all(&dir).map_err(unusable)?;
        let root = dir.canonicalize().map_err(unusable)?;
        let home = Self { root, database: None };
        home.make_private()?;
        platform::check_writable(&home.root)
            .map_err(|source| HomeError::Unusable { path: home.root.clone(), source })?;
        Ok(home)
    }

    /// The same home with a database elsewhere, if one is given: the daemon that is started for it is told.
    #[must_use]
    pub fn with_database(self, database: Option<String>) -> Self {
        Self { database, ..self }
    }

    /// The address of the database that was asked for in place of the settings'.
    pub fn database(&self) -> Option<&str> {
        self.database.as_deref()
    }

    /// The name under which this home writes to a database that others share.
    pub fn writer_file(&self) -> PathBuf {
        self.root.join("writer")
    }

    /// The folder itself: absolute, without symbolic links.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The database.
    pub fn store_dir(&self) -> PathBuf {
        self.root.join("store")
    }

    /// The lexical index, derived from the database; may be deleted at any time.
    pub fn index_dir(&self) -> PathBuf {
        self.root.join("index")
    }

    /// The models that are installed, a folder each.
    pub fn models_dir(&self) -> PathBuf {
        self.root.join("models")
    }

    /// ONNX Runtime, which runs them.
    pub fn runtime_dir(&self) -> PathBuf {
        self.root.join("runtime")
    }

    /// The user's settings; need not exist.
    pub fn config_file(&self) -> PathBuf {
        self.root.join("config.toml")
    }

    /// The file whose lock means "I own this home"; see `daemon::lock`.
    pub fn lock_file(&self) -> PathBuf {
        self.root.join("daemon.lock")
    }

    /// How to connect to the live endpoint, while one is open.
    pub fn studio_file(&self) -> PathBuf {
        self.root.join("studio.json")
    }

    /// The token of those who speak MCP over HTTP, once they were asked for one.
    pub fn token_file(&self) -> PathBuf {
        self.root.join("http.token")
    }

    /// What the daemon writes to its standard error.
    pub fn log_file(&self) -> PathBuf {
        self.root.join("daemon.log")
    }

    /// Where the daemon listens: `run/daemon.sock`, or, where that path is too long for a socket,
    /// a name made of the root's hash in a private folder under `/tmp`.
    pub fn socket_path(&self) -> PathBuf {
        let path = self.root.join("run").join("daemon.sock");
        if path.as_os_str().len() <= SOCKET_PATH_BYTES_MAX {
            return path;
        }
        let digest = Sha256::digest(self.root.as_os_str().as_encoded_bytes());
        let mut head = [0; 8];
        head.copy_from_slice(&digest[..8]);
        let name = u64::from_be_bytes(head);
        PathBuf::from(format!("/tmp/cerebro-{}/{name:016x}.sock", platform::user_id()))
    }

    /// Makes the socket's folder, with mode 0700, and checks that it is ours alone: the one under
    /// `/tmp` could have been made by anybody.
    ///
    /// # Errors
    /// [`HomeError::Unusable`] or [`HomeError::NotPrivate`], which name the folder.
    pub fn open_socket_dir(&self) -> Result<(), HomeError> {
        let socket = self.socket_path();
        let Some(dir) = socket.parent() else { return Ok(()) };
        platform::create_private_dir_all(dir)
            .map_err(|source| HomeError::Unusable { path: dir.to_owned(), source })?;
        check_private(dir)
    }

    /// Closes the home to others. A folder that was open and holds foreign things is refused, so
    /// that `--home /srv` by mistake does not lock others out of it.
    fn make_private(&self) -> Result<(), HomeError> {
        let unusable = |source| HomeError::Unusable { path: self.root.clone(), source };
        match check_private(&self.root) {
            Err(HomeError::NotPrivate { reason: platform::OPEN_TO_OTHERS, .. }) => {}
            other => return other,
        }
        let ours = self.lock_file().exists() || self.store_dir().exists() || self.config_file().exists();
        if !ours && fs::read_dir(&self.root).map_err(unusable)?.next().is_some() {
            let reason = "others may enter it, and it holds things that are not Cerebro's";
            return Err(HomeError::NotPrivate { path: self.root.clone(), reason });
        }
        platform::close_to_others(&self.root).map_err(unusable)
    }
}

/// The user's home folder: `HOME`, else what the system knows.
pub fn user_home() -> Option<PathBuf> {
    std::env::home_dir().filter(|dir| !dir.as_os_str().is_empty())
}

/// The size of all files below a folder; what vanishes meanwhile or cannot be read counts nothing.
pub fn bytes_below(dir: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(dir) else { return 0 };
    entries
        .flatten()
        .map(|entry| match entry.file_type() {
            Ok(kind) if kind.is_dir() => bytes_below(&entry.path()),
            Ok(kind) if kind.is_file() => entry.metadata().map_or(0, |metadata| metadata.len()),
            _ => 0,
        })
        .sum()
}

fn check_private(dir: &Path) -> Result<(), HomeError> {
    match platform::privacy_fault(dir) {
        Ok(None) => Ok(()),
        Ok(Some(reason)) => Err(HomeError::NotPrivate { path: dir.to_owned(), reason }),
        Err(source) => Err(HomeError::Unusable { path: dir.to_owned(), source }),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    fn open_to_all(path: &Path) {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn spellings_of_one_folder_are_one_home() {
        let temp = tempfile::tempdir().unwrap();
        let plain = temp.path().join("a/h");
        let home = Home::open(Some(&plain)).unwrap();
        assert_eq!(mode(home.root()), 0o700);
        symlink(&plain, temp.path().join("link")).unwrap();
        for other in ["a/../a/./h", "link", "link/"] {
            assert_eq!(Home::open(Some(&temp.path().join(other))).unwrap(), home, "{other}");
        }
    }

    #[test]
    fn an_open_folder_is_closed_only_when_it_is_ours() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().join("h");
        fs::create_dir(&dir).unwrap();
        open_to_all(&dir);
        Home::open(Some(&dir)).unwrap();
        assert_eq!(mode(&dir), 0o700);

        open_to_all(&dir);
        fs::write(dir.join("foreign"), "").unwrap();
        let error = Home::open(Some(&dir)).unwrap_err().to_string();
        assert!(error.contains(dir.canonicalize().unwrap().to_str().unwrap()), "{error}");
        assert_eq!(mode(&dir), 0o755);

        fs::write(dir.join("daemon.lock"), "").unwrap();
        Home::open(Some(&dir)).unwrap();
        assert_eq!(mode(&dir), 0o700);
    }

    #[test]
    fn a_home_that_cannot_be_made_is_named() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("file");
        fs::write(&file, "").unwrap();
        let error = Home::open(Some(&file.join("h"))).unwrap_err().to_string();
        assert!(error.contains("file/h"), "{error}");
        assert!(Home::open(Some(&file)).is_err());
    }

    #[test]
    fn a_long_home_gets_a_short_socket_of_its_own() {
        let temp = tempfile::tempdir().unwrap();
        let short = Home { root: temp.path().join("h"), database: None };
        assert_eq!(short.socket_path(), temp.path().join("h/run/daemon.sock"));
        let long = |end: &str| Home { root: temp.path().join("x".repeat(120)).join(end), database: None };
        let path = long("a").socket_path();
        assert!(path.starts_with(format!("/tmp/cerebro-{}", platform::user_id())), "{path:?}");
        assert!(path.as_os_str().len() <= SOCKET_PATH_BYTES_MAX);
        assert_eq!(path, long("a").socket_path());
        assert_ne!(path, long("b").socket_path());
        // The longest path used as it stands, and one byte more.
        for (extra, inside) in [(0, true), (1, false)] {
            let taken = "/".len() + "/run/daemon.sock".len();
            let root = PathBuf::from(format!("/{}", "r".repeat(SOCKET_PATH_BYTES_MAX - taken + extra)));
            let home = Home { root, database: None };
            assert_eq!(home.socket_path().starts_with(home.root()), inside);
        }
    }

    #[test]
    fn a_socket_folder_of_doubtful_privacy_is_refused() {
        let temp = tempfile::tempdir().unwrap();
        let home = Home { root: temp.path().to_owned(), database: None };
        let dir = temp.path().join("run");
        home.open_socket_dir().unwrap();
        assert_eq!(mode(&dir), 0o700);
        open_to_all(&dir);
        assert!(matches!(home.open_socket_dir(), Err(HomeError::NotPrivate { .. })));
        fs::remove_dir(&dir).unwrap();
        fs::create_dir(temp.path().join("elsewhere")).unwrap();
        symlink(temp.path().join("elsewhere"), &dir).unwrap();
        assert!(matches!(home.open_socket_dir(), Err(HomeError::NotPrivate { .. })));
    }
}
