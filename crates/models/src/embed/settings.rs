//! What the user can say about embeddings.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Deserializer, de::Error};

use cerebro_core::text;

/// Threads of one inference of a model on this machine. A second one takes a fifth off the time of a long
/// passage, for twice the work, and leaves that of a query as it is.
pub const THREADS: usize = 1;
/// Most texts of one call of a model on this machine.
pub const BATCH: usize = 16;
/// How long an idle model stays in memory.
pub const UNLOAD_AFTER: Duration = Duration::from_secs(10 * 60);
/// How long a provider elsewhere may take to answer.
pub const TIMEOUT: Duration = Duration::from_secs(30);
/// Words of a passage for a model elsewhere, whose bound is not known. About 300 tokens of prose.
pub const PASSAGE_WORDS: usize = 200;

/// The table of the configuration that these settings are.
pub const TABLE: &str = "embeddings";

/// Who makes the vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Provider {
    /// A model on this machine if one is installed, else none.
    #[default]
    Auto,
    /// A model on this machine.
    Local,
    /// OpenAI, or a server that speaks like it.
    OpenAi,
    /// Ollama.
    Ollama,
    /// Nobody.
    None,
}

impl Provider {
    /// Every provider, by the word that names it.
    pub const ALL: [(&'static str, Self); 5] = [
        ("auto", Self::Auto),
        ("local", Self::Local),
        ("openai", Self::OpenAi),
        ("ollama", Self::Ollama),
        ("none", Self::None),
    ];

    /// The provider of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(word, _)| *word == name).map(|(_, provider)| *provider)
    }

    /// The word that names it.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, provider)| *provider == self).map_or("", |(word, _)| *word)
    }
}

/// The table `[embeddings]` of the configuration; each default is what suits most.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Who makes the vectors.
    #[serde(deserialize_with = "provider")]
    pub provider: Provider,
    /// The model's name to its provider; empty is the only installed one of this machine.
    pub model: String,
    /// Where the provider listens; empty is its public address, or this machine for Ollama.
    pub base_url: String,
    /// The environment variable that holds the key. Empty is the provider's own by custom, which counts only while
    /// `base_url` is empty too: no server gets a key that was not named for it.
    pub api_key_env: String,
    /// A file that holds the key, readable by its owner alone; a variable that is named goes before it.
    pub api_key_file: Option<PathBuf>,
    /// Numbers in a vector; 0 where the model is a known one.
    pub dimension: usize,
    /// Longest passage in words of prose; 0 is what suits the model.
    pub passage_words: usize,
    /// What is put before a query, for models that want it; models on this machine know theirs.
    pub query_prefix: String,
    /// What is put before a passage.
    pub passage_prefix: String,
    /// Whether requests say, in the field `input_type`, whether a text is a query or a passage.
    pub input_type: bool,
    /// Threads of one inference on this machine; 0 is [`THREADS`].
    pub threads: usize,
    /// Most texts of one call; 0 is what suits the provider.
    pub batch: usize,
    /// How long a provider elsewhere may take to answer.
    #[serde(deserialize_with = "text::setting_of_duration")]
    pub timeout: Duration,
    /// How long an idle model of this machine stays in memory; zero is for ever.
    #[serde(deserialize_with = "text::setting_of_duration")]
    pub unload_after: Duration,
    /// Most tokens that a metered provider may be asked for in a day; 0 is no bound.
    pub tokens_per_day: u64,
    /// Most requests to a metered provider in a day; 0 is no bound.
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
    let known = || Provider::ALL.map(|(name, _)| name).join(", ");
    Provider::named(&name)
        .ok_or_else(|| D::Error::custom(format!("`{name}` is no provider; write one of {}", known())))
}
