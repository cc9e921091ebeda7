//! What the user can say about language models.

use std::{path::PathBuf, time::Duration};

use serde::{Deserialize, Deserializer, de::Error};

use super::{Dialect, Llm};
use crate::embed::{EmbedError, key_of_file};
use cerebro_core::text;

/// How long a model may take to answer.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The table `[relations]` of the configuration: who says how memories stand to each other. By default nobody.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// `provider = "none"`: or `openai` (and what speaks like it), `ollama`, `anthropic`.
    #[serde(deserialize_with = "provider")]
    pub provider: Option<Dialect>,
    /// The model's name to its provider.
    pub model: String,
    /// Where the provider listens; empty is its public address, or this machine for Ollama.
    pub base_url: String,
    /// The environment variable that holds the key; empty is the provider's own by custom.
    pub api_key_env: String,
    /// A file that holds the key, readable by its owner alone; the variable goes before it.
    pub api_key_file: Option<PathBuf>,
    /// How long a model may take to answer.
    #[serde(deserialize_with = "text::setting_of_duration")]
    pub timeout: Duration,
    /// Most tokens of a day, over all paid providers; 0 is no bound.
    pub tokens_per_day: u64,
    /// Most requests of a day, over all paid providers; 0 is no bound.
    pub requests_per_day: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            provider: None,
            model: String::new(),
            base_url: String::new(),
            api_key_env: String::new(),
            api_key_file: None,
            timeout: TIMEOUT,
            tokens_per_day: 0,
            requests_per_day: 0,
        }
    }
}

/// The model that the settings name, if any; nobody is asked yet.
///
/// # Errors
/// [`EmbedError::Unusable`] when the settings lack a name, or a key that is wanted.
pub fn open(settings: &Settings) -> Result<Option<Llm>, EmbedError> {
    let Some(dialect) = settings.provider else { return Ok(None) };
    if settings.model.is_empty() {
        return Err(EmbedError::Unusable("`[relations]` of config.toml names no `model`".to_owned()));
    }
    let key = key(settings, dialect)?;
    Llm::new(dialect, &settings.model, &settings.base_url, key, settings.timeout).map(Some)
}

fn key(settings: &Settings, dialect: Dialect) -> Result<Option<String>, EmbedError> {
    let variable =
        if settings.api_key_env.is_empty() { dialect.key_variable() } else { &settings.api_key_env };
    let found = std::env::var(variable).ok().map(|key| key.trim().to_owned()).filter(|key| !key.is_empty());
    if found.is_some() {
        return Ok(found);
    }
    if let Some(path) = &settings.api_key_file {
        return key_of_file(path).map(Some);
    }
    // A server of the user's own need not want one.
    if dialect == Dialect::Ollama || !settings.base_url.is_empty() {
        return Ok(None);
    }
    Err(EmbedError::Unusable(format!(
        "{} wants a key: set {variable} where the daemon starts, or `api_key_file` of `[relations]` in config.toml",
        dialect.name()
    )))
}

fn provider<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Dialect>, D::Error> {
    let name = String::deserialize(deserializer)?;
    let known = Dialect::ALL.into_iter().find(|dialect| dialect.name() == name);
    match known {
        None if name != "none" => Err(D::Error::custom(format!(
            "`{name}` is no provider; write one of none, openai, ollama, anthropic"
        ))),
        found => Ok(found),
    }
}
