//! The location of the database: in the home, or on a server.

use std::{
    fs, io,
    net::IpAddr,
    path::{Path, PathBuf},
};

use serde::Deserialize;

use super::{Config, ConfigError};
use crate::home::Home;
use crate::platform::if_there;
use cerebro_core::domain::random_name;
use cerebro_durable as durable;
use cerebro_models::provider::key_of_file;
use cerebro_service::Settings;
use cerebro_store::{Remote, Secret};

/// Longest name of a namespace or database, in characters.
const NAME_CHARS_MAX: usize = 64;

/// The option that names the server and overrides the file.
const OPTION: &str = "--db";
const VARIABLE: &str = "CEREBRO_DB";

/// `[remote]`: a database on a server instead of the one in the home.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RemoteConfig {
    /// `url = "wss://db.example"`; empty means the home's own database. `--db` and CEREBRO_DB override it.
    pub url: String,
    /// `namespace = "cerebro"`; CEREBRO_DB_NAMESPACE overrides it.
    pub namespace: String,
    /// `database = "main"`, one for each team; CEREBRO_DB_DATABASE overrides it.
    pub database: String,
    /// `user = "root"`; CEREBRO_DB_USER overrides it.
    pub user: String,
    /// `password_env = "CEREBRO_DB_PASSWORD"`: the variable with the password.
    pub password_env: String,
    /// `password_file`: a file with the password, readable only by its owner; the variable overrides it.
    pub password_file: Option<PathBuf>,
    /// `plaintext = false`: whether password and memories may cross a network unencrypted, by `ws://` or `http://`;
    /// CEREBRO_DB_PLAINTEXT=1 means yes.
    pub plaintext: bool,
    /// `create = false`: whether to create a missing namespace and database; CEREBRO_DB_CREATE=1 means yes.
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
            plaintext: false,
            create: false,
        }
    }
}

impl Config {
    /// The settings of the use cases for a home; `--db` overrides the file. Fails if the settings name a server that
    /// cannot be used with them.
    pub fn settings_in(&self, home: &Home) -> Result<Settings, ConfigError> {
        Ok(Settings { remote: self.remote.of(home, |name| std::env::var(name).ok())?, ..self.settings() })
    }

    /// The address of the server with a home's database, as it was given; `None` for an embedded database.
    pub fn server_of(&self, home: &Home) -> Option<String> {
        let (_, url) = self.remote.named(home, |name| set(name, |name| std::env::var(name).ok()));
        (!url.is_empty()).then_some(url)
    }
}

/// The normalised address that was given with `--db`.
pub fn database_of_option(home: &Home) -> Result<Option<String>, ConfigError> {
    let blame = |reason| ConfigError::InvalidOption { name: OPTION, reason };
    home.database().map(address).transpose().map_err(blame)
}

/// The value of a variable that is set and not empty.
fn set(name: &str, variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    variable(name).filter(|value| !value.trim().is_empty())
}

/// Whether data sent to an address crosses a network unencrypted.
fn is_exposed(url: &str) -> bool {
    let Ok(url) = reqwest::Url::parse(url) else { return true };
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    let is_here = host == "localhost" || address.is_ok_and(|address| address.is_loopback());
    matches!(url.scheme(), "ws" | "http") && !is_here
}

impl RemoteConfig {
    /// The server, and the option or variable that named it if not the file.
    fn named(&self, home: &Home, set: impl Fn(&str) -> Option<String>) -> (Option<&'static str>, String) {
        match (home.database(), set(VARIABLE)) {
            (Some(url), _) => (Some(OPTION), url.to_owned()),
            (None, Some(url)) => (Some(VARIABLE), url),
            (None, None) => (None, self.url.clone()),
        }
    }

    /// The server of a home, if it has one. `variable` reads the environment.
    fn of(
        &self,
        home: &Home,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Remote>, ConfigError> {
        let set = |name: &str| set(name, &variable);
        let or = |name: &str, own: &str| set(name).unwrap_or_else(|| own.to_owned());
        let (source, url) = self.named(home, set);
        if url.is_empty() {
            return Ok(None);
        }
        let invalid = |reason: String| ConfigError::Invalid { path: home.config_file(), reason };
        // The error names the option or variable that named the server.
        let blame = |reason: String| match source {
            Some(name) => ConfigError::InvalidOption { name, reason },
            None => invalid(reason),
        };
        let url = address(&url).map_err(blame)?;
        if is_exposed(&url) && !self.plaintext && set("CEREBRO_DB_PLAINTEXT").is_none_or(|value| value != "1")
        {
            return Err(blame(format!(
                "{url} is on another machine, and the password and all memories would cross the network unencrypted: use \
                 wss:// or https://, or set `plaintext = true` in [remote] (CEREBRO_DB_PLAINTEXT=1) if the network \
                 itself is safe, such as a tunnel"
            )));
        }
        let namespace = name(or("CEREBRO_DB_NAMESPACE", &self.namespace)).map_err(invalid)?;
        let database = name(or("CEREBRO_DB_DATABASE", &self.database)).map_err(invalid)?;
        let password = match (set(&self.password_env), &self.password_file) {
            (Some(password), _) => password,
            (None, Some(file)) => {
                key_of_file(file).map_err(|error| invalid(format!("[remote] password_file: {error}")))?
            }
            (None, None) => {
                return Err(blame(format!(
                    "a database on a server ({url}) needs a password: set {} in the daemon's environment, or name a \
                     file with it as `password_file` in [remote]",
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

/// Accepts an address of a known kind. It must have no credentials, because addresses are shown and logged.
fn address(url: &str) -> Result<String, String> {
    const BEGINNINGS: &str = "the database's address must begin with ws://, wss://, http:// or https://";
    let parsed = reqwest::Url::parse(url).map_err(|error| format!("{BEGINNINGS} ({error})"))?;
    if !matches!(parsed.scheme(), "ws" | "wss" | "http" | "https") || !parsed.has_host() {
        return Err(BEGINNINGS.to_owned());
    }
    if !parsed.username().is_empty() || parsed.password().is_some() {
        return Err(
            "the database's address must not contain a user or password: they have their own settings"
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
    Err(format!(
        "the name of a namespace or database has letters, digits and `_`, at most {NAME_CHARS_MAX} characters"
    ))
}

/// The writer name of a home, generated when it is first needed. If two processes generate one at the same time,
/// both use the first.
fn writer(path: &Path) -> io::Result<String> {
    if let Some(name) = written_writer(path)? {
        return Ok(name);
    }
    let name = random_name();
    let line = format!("{name}\n");
    match durable::create(path, durable::Kind::Own, line.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            if let Some(earlier) = written_writer(path)? {
                return Ok(earlier);
            }
            // An empty file names no writer.
            durable::write(path, durable::Kind::Own, line.as_bytes())?;
        }
        created => created?,
    }
    Ok(name)
}

/// The name in the file, if there is one.
fn written_writer(path: &Path) -> io::Result<Option<String>> {
    let text = if_there(fs::read_to_string(path))?;
    Ok(text.map(|text| text.trim().to_owned()).filter(|name| !name.is_empty()))
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
        config.url = "wss://file/".to_owned();
        assert!(of(&config, &home, &[]).unwrap_err().to_string().contains("CEREBRO_DB_PASSWORD"));
        let password = ("CEREBRO_DB_PASSWORD", "p");
        let remote = of(&config, &home, &[password]).unwrap().unwrap();
        assert_eq!((remote.url.as_str(), remote.user.as_str()), ("wss://file", "root"));
        assert!(!format!("{remote:?}").contains("\"p\""), "{remote:?}");
        let set = [password, ("CEREBRO_DB", "https://env:8000/rpc"), ("CEREBRO_DB_NAMESPACE", "n1")];
        let again = of(&config, &home, &set).unwrap().unwrap();
        assert_eq!((again.url.as_str(), again.namespace.as_str()), ("https://env:8000", "n1"));
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

    #[test]
    fn what_crosses_a_network_is_encrypted_or_allowed_not_to_be() {
        for (url, exposed) in [
            ("ws://127.0.0.1:8000", false),
            ("http://[::1]:8000", false),
            ("ws://localhost:8000", false),
            ("wss://db.example", false),
            ("https://10.0.0.7", false),
            ("ws://10.0.0.7:8000", true),
            ("http://db.example", true),
            ("ws://localhost.example", true),
        ] {
            assert_eq!(is_exposed(url), exposed, "{url}");
        }
        let temp = tempfile::tempdir().unwrap();
        let home = Home::open(Some(&temp.path().join("h"))).unwrap();
        let password = ("CEREBRO_DB_PASSWORD", "p");
        let config = RemoteConfig { url: "ws://db.example".to_owned(), ..RemoteConfig::default() };
        let refused = of(&config, &home, &[password]).unwrap_err().to_string();
        assert!(refused.contains("wss://") && refused.contains("plaintext = true"), "{refused}");
        assert!(of(&config, &home, &[password, ("CEREBRO_DB_PLAINTEXT", "1")]).unwrap().is_some());
        assert!(of(&RemoteConfig { plaintext: true, ..config }, &home, &[password]).unwrap().is_some());
    }

    #[test]
    fn all_who_draw_a_name_at_once_get_the_same() {
        let temp = tempfile::tempdir().unwrap();
        for round in 0..50 {
            let path = temp.path().join(format!("writer{round}"));
            let start = std::sync::Barrier::new(4);
            let names: std::collections::BTreeSet<String> = std::thread::scope(|scope| {
                let draw = || {
                    start.wait();
                    writer(&path).unwrap()
                };
                let drawing: Vec<_> = (0..4).map(|_| scope.spawn(draw)).collect();
                drawing.into_iter().map(|one| one.join().unwrap()).collect()
            });
            assert_eq!(names.len(), 1, "{names:?}");
        }
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 50, "no draft is left");
        let empty = temp.path().join("empty");
        fs::write(&empty, "").unwrap();
        assert_eq!(writer(&empty).unwrap(), writer(&empty).unwrap());
    }
}
