//! The manifest beside the files of a model or of ONNX Runtime, which describes them.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use sha2::{Digest, Sha256};

use crate::provider::ProviderError;

/// How the vectors of a text's tokens are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pooling {
    Mean,
    /// The first one's.
    Cls,
}

/// A file's length and hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fingerprint {
    /// Its length.
    pub bytes: u64,
    /// The SHA-256 of its bytes, in lowercase hex.
    pub sha256: String,
}

/// `model.toml`: the traits of a model and the fingerprints of its files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Its name here, which is also the name of its folder.
    pub name: String,
    /// The number of dimensions of its vectors.
    pub dimension: usize,
    /// How the vectors of tokens are combined.
    pub pooling: Pooling,
    /// Most tokens that it reads at once.
    pub max_tokens: usize,
    /// The prefix that it expects before a query.
    #[serde(default)]
    pub query_prefix: String,
    /// The prefix that it expects before a passage.
    #[serde(default)]
    pub passage_prefix: String,
    /// The origin of its files, unless it is in the catalogue: repository, commit and path.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
    pub files: BTreeMap<String, Fingerprint>,
}

/// `runtime.toml`: the library of ONNX Runtime.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuntimeManifest {
    /// The library's file name.
    pub library: String,
    /// Its required fingerprint.
    #[serde(flatten)]
    pub fingerprint: Fingerprint,
}

/// The weights and the graph.
pub const MODEL: &str = "model.onnx";
pub const TOKENIZER: &str = "tokenizer.json";
/// The name of a model's manifest.
pub const MANIFEST: &str = "model.toml";
/// Longest manifest, in bytes.
const MANIFEST_BYTES_MAX: u64 = 1024 * 1024;

/// The name of the runtime's manifest.
pub const RUNTIME_MANIFEST: &str = "runtime.toml";

/// Reads a manifest; `None` if there is none.
///
/// # Errors
/// It exists and cannot be read or understood.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, ProviderError> {
    let text = match text(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(ProviderError::unusable(format!("cannot read {}: {error}", path.display())));
        }
    };
    let parsed = toml::from_str(&text).map_err(|error| {
        ProviderError::unusable(format!("{} is not what it should be: {}", path.display(), error.message()))
    });
    parsed.map(Some)
}

/// The text of a file; it may be of a folder that somebody else made.
fn text(path: &Path) -> io::Result<String> {
    let found = fs::metadata(path)?;
    if !found.is_file() || found.len() > MANIFEST_BYTES_MAX {
        return Err(io::Error::other(format!("it is no file of up to {MANIFEST_BYTES_MAX} bytes")));
    }
    fs::read_to_string(path)
}

/// The length and hash of a file.
pub fn fingerprint(path: &Path) -> io::Result<Fingerprint> {
    let mut hash = Sha256::new();
    let bytes = io::copy(&mut File::open(path)?, &mut hash)?;
    Ok(Fingerprint { bytes, sha256: cerebro_core::text::hex(&hash.finalize()) })
}

/// Verifies that a file has the expected fingerprint. Running a truncated library would crash the process, and
/// other weights would give vectors that must not be mixed with the right ones.
///
/// # Errors
/// It is missing, unreadable, or a different file.
pub fn verify(path: &Path, wanted: &Fingerprint) -> Result<(), ProviderError> {
    let found = fingerprint(path).map_err(|error| unreadable(path, &error))?;
    check(path, &found, wanted)
}

/// Reads a whole file and verifies that it has the expected fingerprint.
///
/// # Errors
/// It is missing, unreadable, or a different file.
pub fn read_verified(path: &Path, wanted: &Fingerprint) -> Result<Vec<u8>, ProviderError> {
    let read = || {
        let mut bytes = Vec::new();
        File::open(path)?.take(wanted.bytes.saturating_add(1)).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().map_err(|error| unreadable(path, &error))?;
    let found =
        Fingerprint { bytes: bytes.len() as u64, sha256: cerebro_core::text::hex(&Sha256::digest(&bytes)) };
    check(path, &found, wanted)?;
    Ok(bytes)
}

fn check(path: &Path, found: &Fingerprint, wanted: &Fingerprint) -> Result<(), ProviderError> {
    let difference = if found.bytes != wanted.bytes {
        format!("it has {} bytes instead of {}", found.bytes, wanted.bytes)
    } else if found.sha256 != wanted.sha256 {
        format!("its SHA-256 begins {} instead of {}", head(&found.sha256), head(&wanted.sha256))
    } else {
        return Ok(());
    };
    Err(ProviderError::unusable(format!("{} is damaged: {difference}", path.display())))
}

fn unreadable(path: &Path, error: &io::Error) -> ProviderError {
    if error.kind() == io::ErrorKind::NotFound {
        return ProviderError::unusable(format!("{} is missing", path.display()));
    }
    ProviderError::unusable(format!("cannot read {}: {error}", path.display()))
}

/// The beginning of a hash, enough to distinguish two hashes.
pub fn head(sha256: &str) -> &str {
    sha256.get(..12).unwrap_or(sha256)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_file_of_reasonable_size_is_a_manifest() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(RUNTIME_MANIFEST);
        let read = || read::<BTreeMap<String, u64>>(&path);
        assert_eq!(read().unwrap(), None);
        fs::write(&path, "a = 1").unwrap();
        assert_eq!(read().unwrap().unwrap()["a"], 1);
        File::create(&path).unwrap().set_len(MANIFEST_BYTES_MAX + 1).unwrap();
        assert!(read().unwrap_err().to_string().contains("no file of up to"));
        fs::remove_file(&path).unwrap();
        // Nobody writes into the pipe.
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        assert!(read().unwrap_err().to_string().contains("no file of up to"));
    }
}
