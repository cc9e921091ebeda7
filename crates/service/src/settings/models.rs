//! The models of the settings: one makes vectors, one is asked how memories relate.

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use super::{DistilReader, DistilSettings};
use cerebro_core::pace::Budget;
use cerebro_models::embed::Embedder;
use cerebro_models::llm::Llm;
use cerebro_models::provider::ProviderError;

/// Opens a provider of vectors: the one of the settings, or by its name the one that made the vectors of a stored model.
/// `None` if there is none.
pub type Opener = Arc<dyn Fn(Option<&str>) -> Result<Option<Arc<dyn Embedder>>, ProviderError> + Send + Sync>;

/// How texts become vectors.
#[derive(Clone)]
pub struct Embedding {
    /// Opens a provider; cheap.
    pub open: Opener,
    /// Most texts that the worker embeds at once on this machine; without it the worker chooses.
    pub batch: Option<NonZeroUsize>,
    /// The daily budget of a metered provider.
    pub budget: Budget,
    /// How long an unused model stays in memory; without it, for ever.
    pub unload_after: Option<Duration>,
    /// The chat model that is asked how memories relate.
    pub inference: InferenceSettings,
    /// Whether past sessions are distilled, and by which model.
    pub distil: DistilReader,
}

impl Embedding {
    /// No vectors at all.
    pub fn none() -> Self {
        Self {
            open: Arc::new(|_| Ok(None)),
            batch: None,
            budget: Budget::default(),
            unload_after: None,
            inference: InferenceSettings::nobody(),
            distil: Arc::new(|| Ok(DistilSettings::default())),
        }
    }
}

/// Opens the chat model of the settings; cheap.
pub type LlmOpener = Arc<dyn Fn() -> Result<Option<Llm>, ProviderError> + Send + Sync>;

/// The chat model that is asked how memories relate.
#[derive(Clone)]
pub struct InferenceSettings {
    /// Whether there is a model to ask: cheaper than to open it.
    pub wanted: Arc<dyn Fn() -> bool + Send + Sync>,
    /// Opens the model, if there is one.
    pub open: LlmOpener,
    /// The daily budget, if it is metered.
    pub budget: Budget,
}

impl InferenceSettings {
    /// No model.
    pub fn nobody() -> Self {
        Self { wanted: Arc::new(|| false), open: Arc::new(|| Ok(None)), budget: Budget::default() }
    }
}
