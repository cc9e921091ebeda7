//! The user's settings for embeddings.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Deserializer, de::Error};

use cerebro_core::{named, text};

/// Threads of one inference of a model on this machine. A second thread makes a long passage a fifth faster, for
/// twice the work, and does not speed up a query.
pub const THREADS: usize = 1;
/// Most texts of one call of a model on this machine.
pub const BATCH: usize = 16;
/// How long an idle model stays in memory.
pub const UNLOAD_AFTER: Duration = Duration::from_secs(10 * 60);
/// How long a remote provider may take to answer.
pub const TIMEOUT: Duration = Duration::from_secs(30);
/// Words of a passage for a remote model, whose limit is not known. About 300 tokens of prose.
pub const PASSAGE_WORDS: usize = 200;

/// The name of the configuration's table with these settings.
pub const TABLE: &str = "embeddings";

named! {
    /// The provider of vectors.
    #[derive(Default)]
    pub enum Provider {
        /// A model on this machine if one is installed, otherwise none.
        #[default]
        Auto = "auto",
        /// A model on this machine.
        Local = "local",
        /// OpenAI, or a compatible server.
        OpenAi = "openai",
        Ollama = "ollama",
        /// No provider.
        None = "none",
    }
}

/// The table `[embeddings]` of the configuration; each default suits most users.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The provider of vectors.
    #[serde(deserialize_with = "provider")]
    pub provider: Provider,
    /// The model's name at its provider; empty means the only model installed on this machine.
    pub model: String,
    /// The provider's address; empty means its public one, or this machine for Ollama.
    pub base_url: String,
    /// The environment variable that holds the key. Empty means the provider's conventional one, which counts only
    /// while `base_url` is empty too: no server gets a key that was not meant for it.
    pub api_key_env: String,
    /// A file that holds the key, readable only by its owner; a named variable takes precedence.
    pub api_key_file: Option<PathBuf>,
    /// The number of dimensions; 0 for a known model.
    pub dimension: usize,
    /// Longest passage in words of prose; 0 means what suits the model.
    pub passage_words: usize,
    /// The prefix of queries, for models that need one; models on this machine know theirs.
    pub query_prefix: String,
    /// The prefix of passages.
    pub passage_prefix: String,
    /// Whether requests have a field `input_type` that distinguishes queries from passages.
    pub input_type: bool,
    /// Threads of one inference on this machine; 0 is [`THREADS`].
    pub threads: usize,
    /// Most texts of one call; 0 means what suits the provider.
    pub batch: usize,
    /// How long a remote provider may take to answer.
    #[serde(deserialize_with = "text::setting_of_duration")]
    pub timeout: Duration,
    /// How long an idle model of this machine stays in memory; zero means for ever.
    #[serde(deserialize_with = "text::setting_of_duration")]
    pub unload_after: Duration,
    /// Most tokens per day from a metered provider; 0 means no limit.
    pub tokens_per_day: u64,
    /// Most requests per day to a metered provider; 0 means no limit.
    pub requests_per_day: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            provider: Provider::Auto,
            model: String::new(),
            base_url: String::new(),
            api_key_env: String::new(),
            api_key_file: None,
            dimension: 0,
            passage_words: 0,
            query_prefix: String::new(),
            passage_prefix: String::new(),
            input_type: false,
            threads: 0,
            batch: 0,
            timeout: TIMEOUT,
            unload_after: UNLOAD_AFTER,
            tokens_per_day: 0,
            requests_per_day: 0,
        }
    }
}

impl Settings {
    /// Threads of one inference.
    pub fn threads(&self) -> usize {
        if self.threads == 0 { THREADS } else { self.threads }
    }

    /// Most texts of one call of a model on this machine.
    pub fn batch(&self) -> usize {
        if self.batch == 0 { BATCH } else { self.batch }
    }
}

fn provider<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Provider, D::Error> {
    let name = String::deserialize(deserializer)?;
    let known = || Provider::ALL.map(Provider::as_str).join(", ");
    Provider::parse(&name)
        .ok_or_else(|| D::Error::custom(format!("`{name}` is no provider; write one of {}", known())))
}
