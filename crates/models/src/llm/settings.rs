//! The user's settings for chat models.

use std::{path::PathBuf, time::Duration};

use serde::{Deserialize, Deserializer, de::Error};

use super::{Dialect, Llm};
use crate::provider::{Connection, ProviderError, Server};
use cerebro_core::text;

/// Longest answer that is read, in bytes.
const ANSWER_BYTES_MAX: usize = 256 * 1024;

/// How long a model may take to answer.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The tables `[relations]` and `[distil.model]` of the configuration: which chat model to ask. By default none.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// `provider = "none"`, or `openai` (and compatible servers), `ollama`, `anthropic`.
    #[serde(deserialize_with = "provider")]
    pub provider: Option<Dialect>,
    /// The model's name at its provider.
    pub model: String,
    /// The provider's address; empty means its public one, or this machine for Ollama.
    pub base_url: String,
    /// The environment variable that holds the key. Empty means the provider's conventional one, which counts only
    /// while `base_url` is empty too: no server gets a key that was not meant for it.
    pub api_key_env: String,
    /// A file that holds the key, readable only by its owner; a named variable takes precedence.
    pub api_key_file: Option<PathBuf>,
    /// How long a model may take to answer.
    #[serde(deserialize_with = "text::setting_of_duration")]
    pub timeout: Duration,
    /// Most tokens per day, over all paid providers; 0 means no limit.
    pub tokens_per_day: u64,
    /// Most requests per day, over all paid providers; 0 means no limit.
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

/// Opens the model in the settings, if any; no request is sent yet. `table` is the configuration's table with these
/// settings, for messages.
///
/// # Errors
/// The settings lack a required name or key, or the key must not be sent to that server.
pub fn open(settings: &Settings, table: &'static str) -> Result<Option<Llm>, ProviderError> {
    let Some(dialect) = settings.provider else { return Ok(None) };
    if settings.model.is_empty() {
        return Err(ProviderError::unusable(format!("`[{table}]` of config.toml names no `model`")));
    }
    let connection = Connection::open(&Server {
        provider: dialect.as_str(),
        model: &settings.model,
        table,
        public_url: dialect.public_url(),
        base_url: &settings.base_url,
        key_variable: dialect.key_variable(),
        key_header: dialect.key_header(),
        api_key_env: &settings.api_key_env,
        api_key_file: settings.api_key_file.as_deref(),
        timeout: settings.timeout,
        answer_bytes_max: ANSWER_BYTES_MAX,
    })?;
    Ok(Some(Llm::new(dialect, &settings.model, connection)))
}

fn provider<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Dialect>, D::Error> {
    let name = String::deserialize(deserializer)?;
    match Dialect::parse(&name) {
        None if name != "none" => Err(D::Error::custom(format!(
            "`{name}` is no provider; write one of none, openai, ollama, anthropic"
        ))),
        found => Ok(found),
    }
}
