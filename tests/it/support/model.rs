//! The models that `make model` sets up.

use std::path::PathBuf;

use cerebro_models::embed::Shelf;

/// The home with the models, which tests only read.
///
/// # Panics
/// When there is none: a test of the model runs the model.
pub fn model_home() -> PathBuf {
    let home = std::env::var_os("CEREBRO_MODEL_HOME").map(PathBuf::from).or_else(|| {
        let user = std::env::home_dir()?;
        Some(user.join(".cache/cerebro/model"))
    });
    let home = home.expect("HOME is not set");
    assert!(home.join("models").is_dir(), "there are no models in {}: run `make model`", home.display());
    home
}

/// The shelf of that home.
pub fn shelf() -> Shelf {
    let home = model_home();
    Shelf::new(home.join("models"), home.join("runtime"))
}
