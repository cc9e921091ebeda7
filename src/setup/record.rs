//! Records which files setup changed, so that its changes can be removed exactly.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Part, SetupError, file};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRecord {
    pub path: PathBuf,
    /// Whether it existed before setup. If so, its backup has that text.
    pub existed: bool,
    /// Where that backup is; `None` in a record of an earlier build, which had one name for the backups of all homes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backup: Option<PathBuf>,
    /// SHA-256 of the text that was written last.
    pub digest: String,
    /// The folders that were created for it, the outermost first.
    #[serde(default)]
    pub folders: Vec<PathBuf>,
}

impl FileRecord {
    /// Where its text before setup is kept; `None` if it did not exist.
    pub fn backup(&self) -> Option<PathBuf> {
        self.existed.then(|| self.backup.clone().unwrap_or_else(|| file::backup_of(&self.path)))
    }
}

/// The record of one agent: `setup/AGENT.json` in the home.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The parts that the last setup put in.
    pub parts: Vec<String>,
    /// The program whose path it wrote; `None` in a record of an earlier build.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<PathBuf>,
    pub files: Vec<FileRecord>,
    /// Folders that were created for removed files and now contain other files, because agents share folders.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub folders: Vec<PathBuf>,
}

impl Record {
    /// Reads the record; `None` if nothing was set up from this home. Fails if it is damaged.
    pub fn read(folder: &Path, agent: &str) -> Result<Option<Self>, SetupError> {
        let path = path(folder, agent);
        let Some(text) = file::read(&path)? else { return Ok(None) };
        let malformed = |error: serde_json::Error| SetupError::Record { path, reason: error.to_string() };
        serde_json::from_str(&text).map(Some).map_err(malformed)
    }

    /// Writes the record; an empty one is removed.
    pub fn write(&self, folder: &Path, agent: &str) -> Result<(), SetupError> {
        let path = path(folder, agent);
        let before = file::read(&path)?;
        if self.files.is_empty() && self.folders.is_empty() {
            return before.map_or(Ok(()), |before| file::remove(&path, &before));
        }
        let text = serde_json::to_string_pretty(self)
            .map_err(|error| SetupError::Unwritable { path: path.clone(), source: error.into() })?;
        file::write(&path, &text, before.as_deref()).map(drop)
    }

    /// Removes the empty ones among the folders of removed files, and records the others.
    pub fn remove_empty_folders(&mut self, more: impl IntoIterator<Item = PathBuf>) {
        self.folders.extend(more);
        file::remove_empty(self.folders.clone());
        self.folders.retain(|folder| folder.is_dir());
        self.folders.sort();
        self.folders.dedup();
    }

    /// Whether the last setup put a part in.
    pub fn has(&self, part: Part) -> bool {
        self.parts.iter().any(|name| name == part.as_str())
    }

    pub fn file(&self, path: &Path) -> Option<&FileRecord> {
        self.files.iter().find(|recorded| recorded.path == path)
    }

    pub fn set_file(&mut self, recorded: FileRecord) {
        self.files.retain(|known| known.path != recorded.path);
        self.files.push(recorded);
    }
}

fn path(folder: &Path, agent: &str) -> PathBuf {
    folder.join("setup").join(format!("{agent}.json"))
}

/// The digest of a text.
pub fn digest(text: &str) -> String {
    cerebro_core::text::hex(&Sha256::digest(text))
}
