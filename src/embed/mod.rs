//! Turning text into vectors: one small trait, and a provider for each way to do it.

mod error;

use std::{future::Future, pin::Pin};

pub use error::EmbedError;

/// What the text is to the model: some models want to be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Something that was asked.
    Query,
    /// Something that is kept and may answer it.
    Passage,
}

/// Which model makes the vectors. Vectors of different models are never compared.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Model {
    /// `provider/name`, such as `local/all-minilm-l6-v2`; the same text is the same model.
    pub name: String,
    /// How many numbers a vector has.
    pub dimension: usize,
    /// The longest passage it reads whole, in words of prose (a cautious count, below its tokens).
    pub passage_words: usize,
}

/// Vectors of unit length, in the order of the texts.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedded {
    /// One for each text.
    pub vectors: Vec<Vec<f32>>,
    /// What the provider counts as spent; 0 for a model on this machine.
    pub tokens: u64,
}

/// The answer of a provider, some time later.
pub type Answer<'a> = Pin<Box<dyn Future<Output = Result<Embedded, EmbedError>> + Send + 'a>>;

/// Makes vectors.
pub trait Embedder: Send + Sync {
    /// The model that it asks.
    fn model(&self) -> &Model;

    /// Most texts that one call takes.
    fn batch_max(&self) -> usize;

    /// Whether each call costs money or somebody's quota.
    fn is_metered(&self) -> bool;

    /// Embeds the texts; each must be one that the model reads whole.
    fn embed(&self, purpose: Purpose, texts: Vec<String>) -> Answer<'_>;

    /// Gives memory back when it was not used for some time; the next call takes it again.
    fn rest(&self) {}
}
