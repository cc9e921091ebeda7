//! Finds a provider's key, and decides to which server it may be sent.

use std::fmt;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use reqwest::header::HeaderValue;

use super::Server;

/// The longest key, and the longest key file.
const KEY_BYTES_MAX: u64 = 16 * 1024;

/// A key. Neither its `Debug` form nor any error contains it.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// Takes a key and trims it.
    ///
    /// # Errors
    /// [`KeyError::Malformed`] when it does not fit into a header.
    pub fn new(text: &str) -> Result<Self, KeyError> {
        let key = text.trim();
        match HeaderValue::from_str(key) {
            Ok(_) if key.len() as u64 <= KEY_BYTES_MAX => Ok(Self(key.to_owned())),
            _ => Err(KeyError::Malformed),
        }
    }

    /// The key itself, for a header.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[key]")
    }
}

/// What is wrong with a key. No variant contains it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The provider requires a key and none was found.
    #[error(
        "{provider} wants a key: set {variable} where the daemon starts, or name a file that holds it as \
         `api_key_file` of `[{table}]` in config.toml"
    )]
    Missing {
        /// The provider's name.
        provider: &'static str,
        /// The variable that was read.
        variable: String,
        /// The table of the configuration.
        table: &'static str,
    },
    #[error("the key file {path}: {reason}")]
    File {
        /// The file.
        path: PathBuf,
        reason: String,
    },
    #[error("the key has characters that no key has, or is longer than {KEY_BYTES_MAX} bytes")]
    Malformed,
    /// It would cross a network unencrypted.
    #[error(
        "the key of {provider} would go to {host} unencrypted; use https:// in `base_url`, or name no key for it"
    )]
    Unencrypted {
        /// `provider/model`.
        provider: String,
        /// The server to which it would go.
        host: String,
    },
}

/// A possible place of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source<'a> {
    Variable(&'a str),
    File(&'a Path),
}

impl<'a> Server<'a> {
    /// The places to look for the key, in order. If the user named a place, it is the only one. The conventional
    /// variable counts only for the provider's public service: a user who sets it for that did not mean another
    /// server.
    fn sources(&self) -> Vec<Source<'a>> {
        let variable = (!self.api_key_env.is_empty()).then_some(Source::Variable(self.api_key_env));
        let named: Vec<_> = variable.into_iter().chain(self.api_key_file.map(Source::File)).collect();
        if named.is_empty() && !self.is_own() {
            return self.key_variable.map(Source::Variable).into_iter().collect();
        }
        named
    }

    /// The key to send, if any; `environment` reads a variable.
    ///
    /// # Errors
    /// [`KeyError`] when the provider's public service requires a key and there is none, or when the named one
    /// cannot be used.
    pub(super) fn key(&self, environment: impl Fn(&str) -> Option<String>) -> Result<Option<Key>, KeyError> {
        for source in self.sources() {
            match source {
                Source::Variable(name) => {
                    if let Some(key) = environment(name).filter(|key| !key.trim().is_empty()) {
                        return Key::new(&key).map(Some);
                    }
                }
                Source::File(path) => return Key::new(&key_of_file(path)?).map(Some),
            }
        }
        match self.key_variable {
            // A server of the user's own may not need a key.
            Some(customary) if !self.is_own() => Err(KeyError::Missing {
                provider: self.provider,
                variable: if self.api_key_env.is_empty() { customary } else { self.api_key_env }.to_owned(),
                table: self.table,
            }),
            _ => Ok(None),
        }
    }
}

/// The trimmed secret in a file.
///
/// # Errors
/// [`KeyError::File`] when it cannot be read, others can read it, or it is empty or too long.
pub fn key_of_file(path: &Path) -> Result<String, KeyError> {
    let file_error = |reason: String| KeyError::File { path: path.to_owned(), reason };
    let found = fs::metadata(path).map_err(|error| file_error(error.to_string()))?;
    if !found.is_file() {
        return Err(file_error("it is not a file".to_owned()));
    }
    if found.permissions().mode() & 0o077 != 0 {
        return Err(file_error(format!("others can read it; `chmod 600 {}` fixes that", path.display())));
    }
    let mut text = String::new();
    let file = File::open(path).map_err(|error| file_error(error.to_string()))?;
    file.take(KEY_BYTES_MAX + 1).read_to_string(&mut text).map_err(|error| file_error(error.to_string()))?;
    match text.trim() {
        "" => Err(file_error("it is empty".to_owned())),
        _ if text.len() as u64 > KEY_BYTES_MAX => Err(file_error("it is too long for a key".to_owned())),
        key => Ok(key.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::provider::KeyHeader;

    const CUSTOM: &str = "OPENAI_API_KEY";

    fn server<'a>(variable: &'a str, file: Option<&'a Path>, is_own: bool) -> Server<'a> {
        Server {
            provider: "openai",
            model: "m",
            table: "embeddings",
            public_url: "https://api.example",
            base_url: if is_own { "https://own.example" } else { "" },
            key_variable: Some(CUSTOM),
            key_header: KeyHeader::Bearer,
            api_key_env: variable,
            api_key_file: file,
            timeout: Duration::ZERO,
            answer_bytes_max: 0,
        }
    }

    #[test]
    fn a_key_goes_only_to_its_server() {
        let file = Path::new("/keys/mine");
        let (variable, of_file) = (Source::Variable, Source::File(file));
        for (named, file, is_own_server, want) in [
            ("", None, false, vec![variable(CUSTOM)]),
            // Nobody named the conventional key for this server.
            ("", None, true, vec![]),
            ("", Some(file), false, vec![of_file]),
            ("", Some(file), true, vec![of_file]),
            ("MINE", None, true, vec![variable("MINE")]),
            ("MINE", Some(file), true, vec![variable("MINE"), of_file]),
            (CUSTOM, None, true, vec![variable(CUSTOM)]),
        ] {
            let found = server(named, file, is_own_server).sources();
            assert_eq!(found, want, "{named:?} {file:?} own: {is_own_server}");
        }
    }

    #[test]
    fn a_missing_key_is_an_error_of_public_services_only() {
        let nothing = |_: &str| None;
        let blank = |_: &str| Some(" \n".to_owned());
        assert_eq!(server("", None, true).key(nothing), Ok(None));
        assert_eq!(server("MINE", None, true).key(blank), Ok(None));
        let missing = server("MINE", None, false).key(blank).unwrap_err();
        assert!(missing.to_string().contains("MINE"), "{missing}");
        assert!(server("", None, false).key(nothing).unwrap_err().to_string().contains(CUSTOM));
        let free = Server { key_variable: None, ..server("", None, false) };
        assert_eq!(free.key(nothing), Ok(None));
    }

    #[test]
    fn a_key_is_not_shown_and_fits_into_a_header() {
        let key = server("MINE", None, true).key(|_| Some(" sk-1\n".to_owned())).unwrap().unwrap();
        assert_eq!((key.expose(), format!("{key:?}").as_str()), ("sk-1", "[key]"));
        let broken = server("MINE", None, true).key(|_| Some("sk\n-1".to_owned())).unwrap_err();
        assert_eq!(broken, KeyError::Malformed);
    }

    #[test]
    fn a_key_file_must_be_closed_to_others() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        let with = |mode: u32, text: &str| {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            key_of_file(&path).map_err(|error| error.to_string())
        };
        assert_eq!(with(0o600, "sk-1\n").unwrap(), "sk-1");
        assert!(with(0o600, " \n").unwrap_err().contains("empty"));
        assert!(with(0o600, &"k".repeat(20_000)).unwrap_err().contains("too long"));
        assert!(with(0o644, "sk-1").unwrap_err().contains("chmod 600"));
        assert!(key_of_file(folder.path()).unwrap_err().to_string().contains("not a file"));
        assert!(key_of_file(Path::new("/no/such/file")).unwrap_err().to_string().contains("/no/such/file"));
    }
}
