//! The models that `make model` sets up.

use std::fs;
use std::path::{Path, PathBuf};

use cerebro_models::embed::ModelFolder;

use super::Home;

/// The home with the models, which tests only read.
///
/// # Panics
/// When there is none, because a test of the model must run the model.
pub fn model_home() -> PathBuf {
    let home = std::env::var_os("CEREBRO_MODEL_HOME").map(PathBuf::from).or_else(|| {
        let user = std::env::home_dir()?;
        Some(user.join(".cache/cerebro/model"))
    });
    let home = home.expect("HOME is not set");
    assert!(home.join("models").is_dir(), "there are no models in {}: run `make model`", home.display());
    home
}

/// The folder of models in that home.
pub fn model_folder() -> ModelFolder {
    let home = model_home();
    ModelFolder::new(home.join("models"), home.join("runtime"))
}

/// A folder with the real model's files and ONNX Runtime, as a user may have them.
pub fn model_files(home: &Home) -> PathBuf {
    let folder = home.folder("files");
    let kept = model_home().join("models/all-minilm-l6-v2");
    for name in ["model.onnx", "tokenizer.json"] {
        fs::copy(kept.join(name), folder.join(name)).unwrap();
    }
    let library = library(&model_home().join("runtime"));
    fs::copy(&library, folder.join(library.file_name().unwrap())).unwrap();
    folder
}

/// ONNX Runtime's library in a folder.
pub fn library(folder: &Path) -> PathBuf {
    let mut entries = fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
    entries.find(|path| path.to_string_lossy().contains("libonnxruntime.")).unwrap()
}
