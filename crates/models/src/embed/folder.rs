//! The folders of models and of ONNX Runtime.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::manifest::{self, MANIFEST, Manifest, RUNTIME_MANIFEST, RuntimeManifest};
use crate::provider::ProviderError;

/// Longest name of a model, in bytes.
pub const NAME_BYTES_MAX: usize = 64;

/// The location of this machine's models and of the library that runs them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelFolder {
    models: PathBuf,
    runtime: PathBuf,
}

impl ModelFolder {
    /// The folder with a folder for each model below `models`, and the library in `runtime`.
    pub fn new(models: PathBuf, runtime: PathBuf) -> Self {
        Self { models, runtime }
    }

    /// The folder of all models.
    pub fn models_dir(&self) -> &Path {
        &self.models
    }

    /// The folder of the library.
    pub fn runtime_dir(&self) -> &Path {
        &self.runtime
    }

    /// The folder of one model.
    ///
    /// # Errors
    /// The name is not one of a model.
    pub fn model_dir(&self, name: &str) -> Result<PathBuf, ProviderError> {
        if !is_name(name) {
            let shown: String = name.chars().take(NAME_BYTES_MAX).collect();
            return Err(ProviderError::unusable(format!(
                "`{shown}` is not a model's name: up to {NAME_BYTES_MAX} of a-z, 0-9, `.`, `_` and `-`"
            )));
        }
        Ok(self.models.join(name))
    }

    /// The names of the installed models, in order.
    pub fn names(&self) -> Result<Vec<String>, ProviderError> {
        let unreadable = |error: io::Error| {
            ProviderError::unusable(format!("cannot read {}: {error}", self.models.display()))
        };
        let entries = match fs::read_dir(&self.models) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(unreadable(error)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(unreadable)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if is_name(&name) && entry.path().join(MANIFEST).is_file() {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    /// The manifest of an installed model.
    ///
    /// # Errors
    /// It is not installed, or its manifest cannot be read.
    pub fn manifest(&self, name: &str) -> Result<Manifest, ProviderError> {
        let path = self.model_dir(name)?.join(MANIFEST);
        let manifest: Manifest = manifest::read(&path)?.ok_or_else(|| {
            ProviderError::unusable(format!(
                "the model `{name}` is not installed; `cerebro model list` shows what there is, and `cerebro model \
                 install NAME` installs one"
            ))
        })?;
        let odd = |what: &str| Err(ProviderError::unusable(format!("{}: {what}", path.display())));
        match () {
            () if manifest.name != name => odd("the name is not that of its folder"),
            () if manifest.dimension == 0 => odd("a vector has at least one number"),
            () if manifest.max_tokens < TOKENS_MIN => odd("max_tokens is too small"),
            () => Ok(manifest),
        }
    }

    /// The manifest of the installed library; `None` if there is none.
    pub fn runtime(&self) -> Result<Option<RuntimeManifest>, ProviderError> {
        manifest::read(&self.runtime.join(RUNTIME_MANIFEST))
    }

    /// Removes a model from the folder. Returns whether it was there.
    pub fn remove(&self, name: &str) -> Result<bool, ProviderError> {
        let dir = self.model_dir(name)?;
        match fs::remove_dir_all(&dir) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(ProviderError::unusable(format!("cannot remove {}: {error}", dir.display()))),
        }
    }
}

/// Fewest tokens that a model may read at once.
pub const TOKENS_MIN: usize = 32;

/// Whether a model may have this name, which becomes the name of a folder.
fn is_name(name: &str) -> bool {
    let is_sign = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(&byte);
    name.len() <= NAME_BYTES_MAX
        && name.bytes().all(is_sign)
        && name.starts_with(|c: char| c != '.' && c != '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_lead_out_of_the_folder() {
        for good in ["all-minilm-l6-v2", "a", "0.5b_x"] {
            assert!(is_name(good), "{good}");
        }
        let long = "a".repeat(NAME_BYTES_MAX + 1);
        for bad in ["", ".", "..", "../x", "a/b", ".staging-1", "-x", "A", "é", &long] {
            assert!(!is_name(bad), "{bad}");
        }
    }
}
