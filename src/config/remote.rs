//! Where the database is: in the home, or on a server.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use rand::Rng;
use serde::Deserialize;

use super::{Config, ConfigError};
use crate::home::Home;
use cerebro_durable as durable;
use cerebro_models::provider::key_of_file;
use cerebro_service::Settings;
use cerebro_store::{Remote, Secret};

/// Letters and digits of a writer's name.
const WRITER_ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
/// 60 bits: no two homes ever draw the same.
const WRITER_CHARS: usize = 12;
/// Longest name of a namespace or database.
const NAME_CHARS_MAX: usize = 64;

/// Who may name the server before the file does.
const OPTION: &str = "--db";
const VARIABLE: &str = "CEREBRO_DB";

/// `[remote]`: a database on a server in place of the one in the home.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RemoteConfig {
    /// `url = "wss://db.example"`; empty is the home's own database. `--db` and CEREBRO_DB go before it.
    pub url: String,
    /// `namespace = "cerebro"`; CEREBRO_DB_NAMESPACE goes before it.
    pub namespace: String,
    /// `database = "main"`, one for each team; CEREBRO_DB_DATABASE goes before it.
    pub database: String,
    /// `user = "root"`; CEREBRO_DB_USER goes before it.
    pub user: String,
    /// `password_env = "CEREBRO_DB_PASSWORD"`: the variable that holds the password.
    pub password_env: String,
    /// `password_file`: a file that holds it, readable by its owner alone; the variable goes before it.
    pub password_file: Option<PathBuf>,
    /// `create = false`: whether namespace and database are made when missing; CEREBRO_DB_CREATE=1 is yes.
    pub create: bool,
}

impl Default for RemoteConfig {
    fn default() -> Self {
        Self {
            url: String::new(),
            namespace: "cerebro".to_owned(),
            database: "main".to_owned(),
            user: "root".to_owned(),
            password_env: "CEREBRO_DB_PASSWORD".to_owned(),
            password_file: None,
            create: false,
        }
    }
}

impl Config {
    /// What the use cases need of it in a home; `--db` goes before the file.
    ///
    /// # Errors
    /// [`ConfigError`] when a server is named that cannot be used like this.
    pub fn settings_in(&self, home: &Home) -> Result<Settings, ConfigError> {
        Ok(Settings { remote: self.remote.of(home, |name| std::env::var(name).ok())?, ..self.settings() })
    }
}

/// The address that was given with `--db`, as it is used.
///
/// # Errors
/// [`ConfigError::Asked`] when it is none.
pub fn asked_database(home: &Home) -> Result<Option<String>, ConfigError> {
    let blame = |reason| ConfigError::Asked { given: OPTION, reason };
    home.database().map(address).transpose().map_err(blame)
}

impl RemoteConfig {
    /// The server of a home, if it has one. `variable` reads the environment.
    fn of(
        &self,
        home: &Home,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Remote>, ConfigError> {
        let set = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let or = |name: &str, own: &str| set(name).unwrap_or_else(|| own.to_owned());
        let (given, url) = match (home.database(), set(VARIABLE)) {
            (Some(url), _) => (Some(OPTION), url.to_owned()),
            (None, Some(url)) => (Some(VARIABLE), url),
            (None, None) => (None, self.url.clone()),
        };
        if url.is_empty() {
            return Ok(None);
        }
        let invalid = |reason: String| ConfigError::Invalid { path: home.config_file(), reason };
        // Who named the server is told what is wrong with it.
        let blame = |reason: String| match given {
            Some(given) => ConfigError::Asked { given, reason },
            None => invalid(reason),
        };
        let url = address(&url).map_err(blame)?;
        let namespace = name(or("CEREBRO_DB_NAMESPACE", &self.namespace)).map_err(invalid)?;
        let database = name(or("CEREBRO_DB_DATABASE", &self.database)).map_err(invalid)?;
        let password = match (set(&self.password_env), &self.password_file) {
            (Some(password), _) => password,
            (None, Some(file)) => {
                key_of_file(file).map_err(|error| invalid(format!("[remote] password_file: {error}")))?
            }
            (None, None) => {
                return Err(blame(format!(
                    "a database on a server ({url}) wants a password: set {} where the daemon starts, or name a \
                     file that holds it as `password_file` in [remote]",
                    self.password_env
                )));
            }
        };
        let path = home.writer_file();
        let writer = writer(&path).map_err(|source| ConfigError::Unwritable { path, source })?;
        Ok(Some(Remote {
            url,
            namespace,
            database,
            user: or("CEREBRO_DB_USER", &self.user),
            password: Secret(password),
            create: self.create || set("CEREBRO_DB_CREATE").is_some_and(|value| value == "1"),
            writer,
        }))
    }
}

/// An address of a known kind and without credentials, which would be shown and logged with it.
fn address(url: &str) -> Result<String, String> {
    const BEGINNINGS: &str = "the database's address must begin with ws://, wss://, http:// or https://";
    let parsed = reqwest::Url::parse(url).map_err(|error| format!("{BEGINNINGS} ({error})"))?;
    if !matches!(parsed.scheme(), "ws" | "wss" | "http" | "https") || !parsed.has_host() {
        return Err(BEGINNINGS.to_owned());
    }
    if !parsed.username().is_empty() || parsed.password().is_some() {
        return Err(
            "the database's address must not hold a user or password: they have settings of their own"
                .to_owned(),
        );
    }
    Ok(parsed.as_str().trim_end_matches('/').trim_end_matches("/rpc").to_owned())
}

/// A name that needs no quoting.
fn name(name: String) -> Result<String, String> {
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && name.starts_with(|c: char| c.is_ascii_alphabetic());
    if plain && name.len() <= NAME_CHARS_MAX {
        return Ok(name);
    }
    Err(format!("a namespace or database has a name of letters, digits and `_`, at most {NAME_CHARS_MAX}"))
}

/// The name under which a home writes, drawn when it is first wanted. Of two processes that draw one at the
/// same time, both use the first.
fn writer(path: &Path) -> io::Result<String> {
    if let Some(name) = written_writer(path)? {
        return Ok(name);
    }
    let mut rng = rand::rng();
    let name: String =
        (0..WRITER_CHARS).map(|_| char::from(WRITER_ALPHABET[rng.random_range(0..32)])).collect();
    let line = format!("{name}\n");
    match durable::create(path, durable::Kind::Own, line.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            if let Some(earlier) = written_writer(path)? {
                return Ok(earlier);
            }
            // An empty file names nobody.
            durable::write(path, durable::Kind::Own, line.as_bytes())?;
        }
        created => created?,
    }
    Ok(name)
}

/// The name in the file, if it holds one.
fn written_writer(path: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text.trim().to_owned()).filter(|name| !name.is_empty())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(config: &RemoteConfig, home: &Home, set: &[(&str, &str)]) -> Result<Option<Remote>, ConfigError> {
        let read =
            |name: &str| set.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        config.of(home, read)
    }

    #[test]
    fn the_server_comes_from_file_environment_and_option() {
        let temp = tempfile::tempdir().unwrap();
        let home = Home::open(Some(&temp.path().join("h"))).unwrap();
        let mut config = RemoteConfig::default();
        assert_eq!(of(&config, &home, &[]).unwrap(), None);
        assert!(!home.writer_file().exists(), "an embedded store needs no name");
        config.url = "ws://file/".to_owned();
        assert!(of(&config, &home, &[]).unwrap_err().to_string().contains("CEREBRO_DB_PASSWORD"));
        let password = ("CEREBRO_DB_PASSWORD", "p");
        let remote = of(&config, &home, &[password]).unwrap().unwrap();
        assert_eq!((remote.url.as_str(), remote.user.as_str()), ("ws://file", "root"));
        assert!(!format!("{remote:?}").contains("\"p\""), "{remote:?}");
        let set = [password, ("CEREBRO_DB", "http://env:8000/rpc"), ("CEREBRO_DB_NAMESPACE", "n1")];
        let again = of(&config, &home, &set).unwrap().unwrap();
        assert_eq!((again.url.as_str(), again.namespace.as_str()), ("http://env:8000", "n1"));
        assert_eq!(again.writer, remote.writer, "a home keeps its name");
        let home = home.with_database(Some("wss://option".to_owned()));
        assert_eq!(of(&config, &home, &set).unwrap().unwrap().url, "wss://option");
        for bad in ["ftp://x", "ws://u:p@x", "nonsense", "ws://"] {
            let home = home.clone().with_database(Some(bad.to_owned()));
            assert!(of(&config, &home, &[password]).is_err(), "{bad}");
        }
        for bad in ["a-b", "1a", "a b", "a;REMOVE"] {
            assert!(of(&config, &home, &[password, ("CEREBRO_DB_DATABASE", bad)]).is_err(), "{bad}");
        }
    }
}
