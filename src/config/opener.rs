//! Opens the provider of vectors, the chat models and the history. The settings are read again for each opening.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use super::Config;
use crate::home::{Home, user_home};
use crate::project_dir;
use cerebro_core::domain::Project;
use cerebro_core::pace::Budget;
use cerebro_models::embed::{self, ModelFolder, Provider, Settings};
use cerebro_models::llm;
use cerebro_models::provider::ProviderError;
use cerebro_service::{Embedding, HistoryOptions, InferenceSettings, places};

impl Config {
    /// The options for embedding in a home.
    pub fn embedding(&self, home: &Home) -> Embedding {
        let read = reader(home, |config| config.embeddings);
        let folder = ModelFolder::new(home.models_dir(), home.runtime_dir());
        let open = move |wanted: Option<&str>| {
            let settings = read()?;
            match wanted {
                None => embed::open(&settings, &folder),
                Some(model) => embed::open(&naming(&settings, model), &folder),
            }
        };
        let settings = &self.embeddings;
        Embedding {
            open: Arc::new(open),
            batch: NonZeroUsize::new(settings.batch),
            budget: Budget::of_settings(settings.tokens_per_day, settings.requests_per_day),
            unload_after: super::unless_zero(settings.unload_after),
            inference: self.inference(home),
            distil: Arc::new(reader(home, |config| config.distil)),
        }
    }

    /// The options for importing past sessions. An unreadable file turns importing off.
    pub fn history(home: &Home) -> HistoryOptions {
        let read = reader(home, |config| config.history);
        let settings = move || read().unwrap_or_default();
        let user = user_home();
        let places =
            user.as_deref().map(|user| places(|name| std::env::var_os(name), user)).unwrap_or_default();
        let project_of = move |folder: PathBuf| -> Pin<Box<dyn Future<Output = Project> + Send>> {
            Box::pin(project_dir::look_or_guess(folder, user.clone(), project_dir::LOOK_MAX))
        };
        HistoryOptions { settings: Arc::new(settings), places, project_of: Arc::new(project_of) }
    }

    /// The options for relations that a chat model finds.
    fn inference(&self, home: &Home) -> InferenceSettings {
        let read = reader(home, |config| config.relations);
        let wanted = {
            let read = read.clone();
            move || read().is_ok_and(|settings| settings.provider.is_some())
        };
        let open = move || llm::open(&read()?, "relations");
        let settings = &self.relations;
        InferenceSettings {
            wanted: Arc::new(wanted),
            open: Arc::new(open),
            budget: Budget::of_settings(settings.tokens_per_day, settings.requests_per_day),
        }
    }
}

/// Reads a part of a home's settings. The file is read at each call, so that a change does not need a restart of the
/// daemon.
fn reader<T>(home: &Home, part: fn(Config) -> T) -> impl Fn() -> Result<T, ProviderError> + Clone + use<T> {
    let file = home.config_file();
    move || {
        let config = Config::read(&file).map_err(|error| ProviderError::Unusable(error.to_string()))?;
        Ok(part(config))
    }
}

/// The settings for the model with a stored name, `provider/model`. The other keys belong to the provider in the
/// settings, so they apply only if it is the same. If the settings turn vectors off, they stay off.
fn naming(settings: &Settings, stored: &str) -> Settings {
    let (provider, model) = stored.split_once('/').unwrap_or(("", stored));
    let of_settings = match settings.provider {
        Provider::Auto => Provider::Local,
        named => named,
    };
    let provider = match of_settings {
        Provider::None => Provider::None,
        _ => Provider::parse(provider).unwrap_or(Provider::None),
    };
    let base = if provider == of_settings { settings.clone() } else { Settings::default() };
    Settings { provider, model: model.to_owned(), ..base }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_model_is_opened_by_its_name() {
        let settings = Settings {
            provider: Provider::OpenAi,
            model: "new".to_owned(),
            base_url: "http://here/v1".to_owned(),
            ..Settings::default()
        };
        let old = naming(&settings, "openai/old/one");
        assert_eq!((old.provider, old.model.as_str()), (Provider::OpenAi, "old/one"));
        assert_eq!(old.base_url, settings.base_url, "of the same provider");
        let local = naming(&settings, "local/all-minilm-l6-v2");
        assert_eq!((local.provider, local.base_url.as_str()), (Provider::Local, ""));
        let threads = Settings { threads: 3, ..Settings::default() };
        assert_eq!(
            naming(&threads, "local/all-minilm-l6-v2").threads,
            3,
            "`auto` is a model of this machine"
        );
        let off = Settings { provider: Provider::None, ..Settings::default() };
        assert_eq!(naming(&off, "local/all-minilm-l6-v2").provider, Provider::None);
        assert_eq!(naming(&settings, "nonsense").provider, Provider::None);
    }
}
