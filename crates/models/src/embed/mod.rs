//! Turns text into vectors: one small trait, and a provider for each way to do it.

pub mod catalogue;
mod download;
mod folder;
mod graph;
pub mod hub;
pub mod install;
mod local;
mod manifest;
mod ollama;
mod openai;
mod remote;
mod runtime;
mod settings;
mod vector;

use std::sync::Arc;
use std::{future::Future, pin::Pin};

pub use download::{Addresses, HUB, INDEX};
pub use folder::ModelFolder;
use local::Local;
pub use manifest::{Manifest, Pooling, RuntimeManifest};
use remote::Remote;
pub use runtime::NO_TELEMETRY;
pub use settings::{Provider, Settings};

use cerebro_core::redact::RedactedText;

use crate::provider::ProviderError;

/// The role of a text: some models embed queries and passages differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A question.
    Query,
    /// A stored text that may answer it.
    Passage,
}

/// Which model makes the vectors. Vectors of different models are never compared.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Model {
    /// `provider/name`, such as `local/all-minilm-l6-v2`. Equal names mean the same model.
    pub name: String,
    /// The number of dimensions of its vectors.
    pub dimension: usize,
    /// The longest passage it reads whole, in words of prose (a cautious count, below its tokens).
    pub passage_words: usize,
}

/// Vectors of unit length, in the order of the texts.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedded {
    /// One for each text.
    pub vectors: Vec<Vec<f32>>,
    /// The tokens that the provider charges; 0 for a model on this machine.
    pub tokens: u64,
}

/// The future answer of a provider.
pub type Answer<'a> = Pin<Box<dyn Future<Output = Result<Embedded, ProviderError>> + Send + 'a>>;

/// Makes vectors.
pub trait Embedder: Send + Sync {
    /// The model that it asks.
    fn model(&self) -> &Model;

    /// Most texts that one call takes.
    fn batch_max(&self) -> usize;

    /// Whether each call costs money or somebody's quota.
    fn is_metered(&self) -> bool;

    /// Whether texts stay in this process.
    fn is_in_process(&self) -> bool {
        false
    }

    /// Embeds the texts; each must be one that the model reads whole.
    fn embed(&self, purpose: Purpose, texts: Vec<RedactedText>) -> Answer<'_>;

    /// Frees memory that was not used for some time; the next call allocates it again.
    fn rest(&self) {}
}

/// Opens the provider in the settings, if any, which makes the vectors from now on. It is cheap: a model on this
/// machine is loaded when the first text arrives.
///
/// # Errors
/// The settings name a missing model, or lack what the provider needs.
pub fn open(settings: &Settings, folder: &ModelFolder) -> Result<Option<Arc<dyn Embedder>>, ProviderError> {
    Ok(match settings.provider {
        Provider::None => None,
        Provider::Auto if settings.model.is_empty() && folder.names()?.is_empty() => None,
        Provider::Auto | Provider::Local => Some(Arc::new(open_local(settings, folder)?)),
        Provider::OpenAi | Provider::Ollama => Some(Arc::new(open_remote(settings, dimension(settings)?)?)),
    })
}

/// The dimension in the settings, or that of a well-known model.
fn dimension(settings: &Settings) -> Result<usize, ProviderError> {
    match (settings.dimension, settings.provider) {
        (0, Provider::OpenAi) => openai::known(&settings.model),
        (0, _) => None,
        (named, _) => Some(named),
    }
    .ok_or_else(|| {
        let (provider, model) = (settings.provider.as_str(), &settings.model);
        ProviderError::unusable(format!(
            "the dimension of {provider}/{model} is not known; `cerebro model use {provider} --model {model}` asks \
             for it"
        ))
    })
}

fn open_remote(settings: &Settings, dimension: usize) -> Result<Remote, ProviderError> {
    match settings.provider {
        Provider::Ollama => ollama::open(settings, dimension),
        _ => openai::open(settings, dimension),
    }
}

/// Asks a remote provider for one vector and returns its dimension. This serves models of unknown dimension, and
/// detects a wrong key or name at once.
///
/// # Errors
/// The provider does not answer, or its answer is not a vector.
pub async fn probe(settings: &Settings) -> Result<usize, ProviderError> {
    // An unknown dimension is not requested.
    let dimension = openai::known(&settings.model).unwrap_or_default();
    open_remote(settings, dimension)?.probe().await
}

fn open_local(settings: &Settings, folder: &ModelFolder) -> Result<Local, ProviderError> {
    let names = folder.names()?;
    let name = match (settings.model.as_str(), names.as_slice()) {
        ("", [only]) => only.as_str(),
        ("", []) => {
            return Err(ProviderError::unusable(
                "no model is installed; `cerebro model install all-minilm-l6-v2` installs one",
            ));
        }
        ("", several) => {
            return Err(ProviderError::unusable(format!(
                "several models are installed ({}); choose one with `cerebro model use NAME`",
                several.join(", ")
            )));
        }
        (name, _) => name,
    };
    Local::open(folder, name, settings.threads(), settings.batch())
}
