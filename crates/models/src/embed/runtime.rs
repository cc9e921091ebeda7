//! ONNX Runtime: a library that is loaded when the first model is, not linked in.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use ort::environment::Environment;

use super::manifest::verify;
use super::shelf::Shelf;
use crate::provider::ProviderError;

/// One library and one environment for a process: ONNX Runtime allows no second.
static ENVIRONMENT: Mutex<Option<Environment>> = Mutex::new(None);

/// The process's environment; loads the library of the shelf where none is loaded yet.
///
/// # Errors
/// The library is missing, damaged, or too old.
pub fn environment(shelf: &Shelf) -> Result<Environment, ProviderError> {
    let mut environment = ENVIRONMENT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(environment) = environment.as_ref() {
        return Ok(environment.clone());
    }
    let Some(manifest) = shelf.runtime()? else {
        return Err(ProviderError::unusable(format!(
            "ONNX Runtime is not installed in {}; `cerebro model install NAME` installs it beside a model",
            shelf.runtime_dir().display()
        )));
    };
    let library = shelf.runtime_dir().join(&manifest.library);
    verify(&library, &manifest.fingerprint)?;
    Ok(environment.insert(load(&library)?).clone())
}

fn load(library: &Path) -> Result<Environment, ProviderError> {
    let fault = |reason: String| {
        ProviderError::unusable(format!("{} does not work as ONNX Runtime: {reason}", library.display()))
    };
    let builder = ort::init_from(library).map_err(|error| fault(error.to_string()))?;
    builder
        .with_name("cerebro")
        .with_telemetry(false)
        .build()
        .map_err(|error| fault(error.message().to_owned()))
}
