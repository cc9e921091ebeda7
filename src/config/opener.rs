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
use cerebro_service::{DistilOptions, Embedding, HistoryOptions, InferenceSettings, places};

impl Config {
    /// The options for embedding in a home. The file is read each time a provider is opened, so that a change of the
    /// model does not need a restart of the daemon.
    pub fn embedding(&self, home: &Home) -> Embedding {
        let file = home.config_file();
        let folder = ModelFolder::new(home.models_dir(), home.runtime_dir());
        let open = move |wanted: Option<&str>| {
            let config = Config::read(&file).map_err(|error| ProviderError::Unusable(error.to_string()))?;
            match wanted {
                None => embed::open(&config.embeddings, &folder),
                Some(model) => embed::open(&naming(&config.embeddings, model), &folder),
            }
        };
        let settings = &self.embeddings;
        Embedding {
            open: Arc::new(open),
            batch: NonZeroUsize::new(settings.batch),
            budget: Budget::of_settings(settings.tokens_per_day, settings.requests_per_day),
            unload_after: settings.unload_after,
            inference: self.inference(home),
            distil: Self::distil(home),
        }
    }

    /// The options for importing past sessions. The file is read each time, as above. An unreadable file turns
    /// importing off.
    pub fn history(home: &Home) -> HistoryOptions {
        let file = home.config_file();
        let settings = move || Config::read(&file).map(|config| config.history).unwrap_or_default();
        let user = user_home();
        let places =
            user.as_deref().map(|user| places(|name| std::env::var_os(name), user)).unwrap_or_default();
        let project_of = move |folder: PathBuf| -> Pin<Box<dyn Future<Output = Project> + Send>> {
            Box::pin(project_dir::look_or_guess(folder, user.clone(), project_dir::LOOK_MAX))
        };
        HistoryOptions { settings: Arc::new(settings), places, project_of: Arc::new(project_of) }
    }

    /// The options for distilling past sessions. The file is read each time, as above.
    fn distil(home: &Home) -> DistilOptions {
        let file = home.config_file();
        let read = move || {
            let config = Config::read(&file).map_err(|error| ProviderError::Unusable(error.to_string()))?;
            Ok(config.distil)
        };
        DistilOptions { settings: Arc::new(read) }
    }

    /// The options for relations that a chat model finds. The file is read each time, as above.
    fn inference(&self, home: &Home) -> InferenceSettings {
        let file = home.config_file();
        let read = move || {
            let config = Config::read(&file).map_err(|error| ProviderError::Unusable(error.to_string()))?;
            Ok::<llm::Settings, ProviderError>(config.relations)
        };
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
        _ => Provider::named(provider).unwrap_or(Provider::None),
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
