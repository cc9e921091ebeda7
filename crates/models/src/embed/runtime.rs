//! ONNX Runtime: a library that is loaded together with the first model, and not linked in.
//!
//! It reports to its maker: it keeps a device id and a queue of events below the user's cache folder and looks for
//! a server, whatever its interface is called with. Only a variable in the initial environment of the process prevents
//! that ([`NO_TELEMETRY`]), so the library is not loaded without it.

use std::path::Path;
use std::sync::Mutex;

use ort::environment::Environment;

use super::folder::ModelFolder;
use super::manifest::verify;
use crate::provider::ProviderError;
use cerebro_core::sync::lock;

/// The library and environment of the process: ONNX Runtime allows only one.
static ENVIRONMENT: Mutex<Option<Environment>> = Mutex::new(None);

/// The variable, and its value, that keep ONNX Runtime from reporting. It is read when the library is loaded, and
/// must be set when the process starts.
pub const NO_TELEMETRY: (&str, &str) = ("ORT_DISABLE_TELEMETRY", "1");

/// The environment of ONNX Runtime for this process. Loads the library of the folder if none is loaded yet.
///
/// # Errors
/// [`ProviderError::Telemetry`] when the process was started without [`NO_TELEMETRY`]; other errors when the
/// library is missing, damaged, or too old.
pub fn environment(folder: &ModelFolder) -> Result<Environment, ProviderError> {
    let mut environment = lock(&ENVIRONMENT);
    if let Some(environment) = environment.as_ref() {
        return Ok(environment.clone());
    }
    if !is_silent(std::env::var(NO_TELEMETRY.0).ok().as_deref()) {
        return Err(ProviderError::Telemetry { variable: NO_TELEMETRY.0 });
    }
    let Some(manifest) = folder.runtime()? else {
        return Err(ProviderError::unusable(format!(
            "ONNX Runtime is not installed in {}; `cerebro model install NAME` installs it beside a model, and \
             --runtime-from FILE takes a library of your own",
            folder.runtime_dir().display()
        )));
    };
    let library = folder.runtime_dir().join(&manifest.library);
    verify(&library, &manifest.fingerprint)?;
    Ok(environment.insert(load(&library)?).clone())
}

/// Whether a value of the variable disables reporting.
fn is_silent(value: Option<&str>) -> bool {
    value == Some(NO_TELEMETRY.1)
}

fn load(library: &Path) -> Result<Environment, ProviderError> {
    let runtime_error = |reason: String| {
        ProviderError::unusable(format!("{} does not work as ONNX Runtime: {reason}", library.display()))
    };
    let builder = ort::init_from(library).map_err(|error| runtime_error(error.to_string()))?;
    builder
        .with_name("cerebro")
        .with_telemetry(false)
        .build()
        .map_err(|error| runtime_error(error.message().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_is_not_loaded_if_it_would_report() {
        assert!(is_silent(Some("1")));
        for other in [None, Some(""), Some("0"), Some("true")] {
            assert!(!is_silent(other), "{other:?}");
        }
    }
}
