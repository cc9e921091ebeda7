//! The home: the one folder of all data, `$HOME/.cerebro` unless `--home` names another.
//!
//! Of all variables, only `HOME` affects its location. Some agents start their servers with few variables, but all
//! processes of a user must find the same folder.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::platform;
use cerebro_core::text;

/// The name of the settings' file in the home.
pub const CONFIG_FILE: &str = "config.toml";
/// Longest socket path that is used unchanged, in bytes. The kernel's bound is 107 on Linux and 103 on macOS. This one
/// is below both.
const SOCKET_PATH_BYTES_MAX: usize = 100;

/// Why a home cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    /// No `--home` was given and the user has no home folder.
    #[error("the user's home folder is unknown: set HOME or give --home DIR")]
    Unknown,
    /// A folder cannot be created, read or written.
    #[error(
        "cannot use {path} as a folder for Cerebro's data: {source}; correct its permissions or give --home DIR"
    )]
    Unusable { path: PathBuf, source: io::Error },
    /// A folder belongs to another user, is not a plain folder, or is open to others.
    #[error(
        "{path} is not a private folder of yours ({reason}); if it is yours and Cerebro's, close it \
         (`chmod 700`), else remove it or give --home DIR"
    )]
    NotPrivate { path: PathBuf, reason: &'static str },
    /// The database cannot use the path in its address.
    #[error("{path:?} cannot be a home: its path {reason}; give --home DIR")]
    Unfit { path: PathBuf, reason: &'static str },
}

/// The folder of one store and its daemon. Homes are equal if their folders are the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    root: PathBuf,
    database: Option<String>,
}

/// Defines the places in the home.
macro_rules! places {
    ($($(#[$doc:meta])* $place:ident = $name:expr;)+) => {
        impl Home {
            $($(#[$doc])* pub fn $place(&self) -> PathBuf { self.root.join($name) })+
        }
    };
}

places! {
    /// The database.
    store_dir = "store";
    /// The lexical index. It is derived from the database and may be deleted at any time.
    index_dir = "index";
    /// The installed models, one folder each.
    models_dir = "models";
    /// The folder of ONNX Runtime, which runs the models.
    runtime_dir = "runtime";
    /// The user's settings. The file need not exist.
    config_file = CONFIG_FILE;
    /// The file with the writer name of this home, for a shared database.
    writer_file = "writer";
    /// The file whose lock means ownership of the home; see `daemon::lock`.
    lock_file = "daemon.lock";
    /// The daemon's log, which is its standard error.
    log_file = "daemon.log";
    /// The file that says how to connect to the live endpoint. It exists while one is open.
    studio_file = "studio.json";
    /// The file with the token for MCP over HTTP. It is created when the token is first required.
    token_file = "http.token";
    /// The file that records which folder had which project.
    folders_file = "folders.json";
}

impl Home {
    /// Opens the home in `dir` or `$HOME/.cerebro`. Creates it with mode 0700 if it is missing. Fails if it cannot be
    /// created or written, belongs to another user, or is open to others and contains files that are not Cerebro's.
    pub fn open(dir: Option<&Path>) -> Result<Self, HomeError> {
        let dir = match dir {
            Some(dir) => dir.to_owned(),
            None => user_home().ok_or(HomeError::Unknown)?.join(".cerebro"),
        };
        let unusable = |source| HomeError::Unusable { path: dir.clone(), source };
        check_fit(&dir)?;
        platform::create_private_dir_all(&dir).map_err(unusable)?;
        let root = dir.canonicalize().map_err(unusable)?;
        check_fit(&root)?;
        let home = Self { root, database: None };
        home.make_private()?;
        platform::check_writable(&home.root)
            .map_err(|source| HomeError::Unusable { path: home.root.clone(), source })?;
        Ok(home)
    }

    /// The same home with a database on a server, if one is given. A daemon that is started gets it, too.
    #[must_use]
    pub fn with_database(self, database: Option<String>) -> Self {
        Self { database, ..self }
    }

    /// The address of the database that was requested instead of the one in the settings.
    pub fn database(&self) -> Option<&str> {
        self.database.as_deref()
    }

    /// The folder itself: absolute, without symbolic links.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The socket of a daemon that starts now: `run/daemon.sock`. If that path is too long, a name with a hash of the
    /// home's path in the system's folder for this user, or under `/tmp`. Clients read the path from `daemon.lock`,
    /// because their environments may name other folders.
    pub fn socket_path(&self) -> PathBuf {
        self.socket_below(platform::runtime_dir().as_deref())
    }

    fn socket_below(&self, runtime_dir: Option<&Path>) -> PathBuf {
        let path = self.root.join("run").join("daemon.sock");
        let hashed = || Some(runtime_dir?.join("cerebro").join(self.socket_name()));
        let fits = |path: &PathBuf| path.as_os_str().len() <= SOCKET_PATH_BYTES_MAX;
        [Some(path), hashed()].into_iter().flatten().find(fits).unwrap_or_else(|| self.socket_in_tmp())
    }

    /// The socket of a daemon of an earlier version, which does not record it.
    pub fn unrecorded_socket_path(&self) -> PathBuf {
        self.socket_below(None)
    }

    fn socket_in_tmp(&self) -> PathBuf {
        PathBuf::from(format!("/tmp/cerebro-{}", platform::user_id())).join(self.socket_name())
    }

    fn socket_name(&self) -> String {
        let digest = Sha256::digest(self.root.as_os_str().as_encoded_bytes());
        format!("{}.sock", text::hex(&digest[..8]))
    }

    /// Whether the folder is certainly Cerebro's: the default one, or one in which a daemon has worked.
    fn is_cerebros(&self) -> bool {
        let by_name = || user_home().and_then(|home| home.join(".cerebro").canonicalize().ok());
        let worked_in = self.store_dir().join("CURRENT").exists() || self.writer_file().exists();
        (self.lock_file().exists() && worked_in) || by_name().as_ref() == Some(&self.root)
    }

    /// Closes the home to others. Refuses a folder that was open and may not be Cerebro's, so that a mistaken `--home
    /// /srv/app` does not lock others out of that folder.
    fn make_private(&self) -> Result<(), HomeError> {
        let unusable = |source| HomeError::Unusable { path: self.root.clone(), source };
        match check_private(&self.root) {
            Err(HomeError::NotPrivate { reason: platform::OPEN_TO_OTHERS, .. }) => {}
            other => return other,
        }
        if !self.is_cerebros() && fs::read_dir(&self.root).map_err(unusable)?.next().is_some() {
            let reason = "other users can enter it, and it contains files that are not Cerebro's";
            return Err(HomeError::NotPrivate { path: self.root.clone(), reason });
        }
        platform::close_to_others(&self.root).map_err(unusable)
    }
}

/// The user's home folder: `HOME`, otherwise the system's record.
pub fn user_home() -> Option<PathBuf> {
    std::env::home_dir().filter(|dir| !dir.as_os_str().is_empty())
}

/// The size of all files below a folder, in bytes. Files that disappear meanwhile or cannot be read count as 0.
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

/// Creates a folder for sockets, with mode 0700, and checks that only this user can access it. Any user could have
/// created one under `/tmp`.
pub fn open_private_dir(dir: &Path) -> Result<(), HomeError> {
    platform::create_private_dir_all(dir)
        .map_err(|source| HomeError::Unusable { path: dir.to_owned(), source })?;
    check_private(dir)
}

/// Checks that the engine accepts this path unchanged. It parses an address, in which `?` begins settings, and one of
/// these says whether commits are synced.
fn check_fit(path: &Path) -> Result<(), HomeError> {
    let reason = match path.to_str() {
        None => "is not UTF-8",
        Some(text) if text.contains('?') => "contains a question mark",
        Some(_) => return Ok(()),
    };
    Err(HomeError::Unfit { path: path.to_owned(), reason })
}

/// Checks that a folder belongs to this user and is closed to others.
pub fn check_private(dir: &Path) -> Result<(), HomeError> {
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

        // Files that other programs also create prove nothing.
        fs::write(dir.join("config.toml"), "").unwrap();
        fs::create_dir(dir.join("store")).unwrap();
        fs::write(dir.join("daemon.lock"), "").unwrap();
        assert!(matches!(Home::open(Some(&dir)), Err(HomeError::NotPrivate { .. })));
        assert_eq!(mode(&dir), 0o755);

        fs::write(dir.join("store/CURRENT"), "").unwrap();
        Home::open(Some(&dir)).unwrap();
        assert_eq!(mode(&dir), 0o700);
    }

    #[test]
    fn a_path_that_the_engine_would_misread_is_refused_before_anything_is_made() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;
        let temp = tempfile::tempdir().unwrap();
        for name in [OsStr::new("a?sync=never"), OsStr::from_bytes(b"a\xff")] {
            let error = Home::open(Some(&temp.path().join(name))).unwrap_err();
            assert!(matches!(error, HomeError::Unfit { .. }), "{error}");
        }
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 0);
        fs::create_dir(temp.path().join("what?")).unwrap();
        symlink(temp.path().join("what?"), temp.path().join("plain")).unwrap();
        assert!(matches!(Home::open(Some(&temp.path().join("plain"))), Err(HomeError::Unfit { .. })));
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
        let tmp = PathBuf::from(format!("/tmp/cerebro-{}", platform::user_id()));
        let run = PathBuf::from("/run/user/7");
        let far = temp.path().join("y".repeat(90));
        let places = [(None, tmp.clone()), (Some(&run), run.join("cerebro")), (Some(&far), tmp)];
        for (runtime_dir, parent) in places {
            let socket = |end: &str| long(end).socket_below(runtime_dir.map(PathBuf::as_path));
            let path = socket("a");
            assert_eq!(path.parent(), Some(parent.as_path()), "{path:?}");
            assert!(path.as_os_str().len() <= SOCKET_PATH_BYTES_MAX);
            assert_eq!(path, socket("a"));
            assert_ne!(path, socket("b"));
        }
        // The longest path that is used unchanged, and one a byte longer.
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
        let dir = temp.path().join("run");
        open_private_dir(&dir).unwrap();
        assert_eq!(mode(&dir), 0o700);
        open_to_all(&dir);
        assert!(matches!(open_private_dir(&dir), Err(HomeError::NotPrivate { .. })));
        fs::remove_dir(&dir).unwrap();
        fs::create_dir(temp.path().join("elsewhere")).unwrap();
        symlink(temp.path().join("elsewhere"), &dir).unwrap();
        assert!(matches!(open_private_dir(&dir), Err(HomeError::NotPrivate { .. })));
    }
}
