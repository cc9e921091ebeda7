//! Ollama, with the request and answer types of `ollama-rs`.
//!
//! The library's own client drops the status of an error and reads answers without a bound, so [`Connection`] sends
//! the requests.

use ollama_rs::generation::embeddings::GenerateEmbeddingsResponse;
use ollama_rs::generation::embeddings::request::{EmbeddingsInput, GenerateEmbeddingsRequest};

use super::remote::{Asking, Remote, Wire, connect};
use super::{Purpose, Settings};
use crate::provider::{self, Connection, ProviderError};

/// Where Ollama listens by default.
const USUAL: &str = "http://127.0.0.1:11434";
/// The path below the base address.
const PATH: &str = "/api/embed";

struct OllamaWire {
    connection: Connection,
    model: String,
}

/// Opens the provider in the settings.
///
/// # Errors
/// The model is not named, or the address is invalid.
pub fn open(settings: &Settings, dimension: usize) -> Result<Remote, ProviderError> {
    let connection = connect(settings, USUAL, None)?;
    let name = connection.name().to_owned();
    let wire = OllamaWire { connection, model: settings.model.clone() };
    Ok(Remote::new(Box::new(wire), &name, dimension, false, settings))
}

impl Wire for OllamaWire {
    fn ask(&self, _: Purpose, texts: Vec<String>) -> Asking<'_> {
        Box::pin(async move {
            // Too long a text is refused instead of silently truncated.
            let input = EmbeddingsInput::Multiple(texts.clone());
            let request = GenerateEmbeddingsRequest::new(self.model.clone(), input).truncate(false);
            let request = serde_json::to_value(&request).map_err(|error| {
                ProviderError::unusable(format!("the request cannot be written: {error}"))
            })?;
            let reply = self.connection.post(PATH, &[], &request).await?;
            if let Some(error) = self.error_of(&reply, &texts) {
                return Err(error);
            }
            let body = self.connection.accept(reply, &texts)?;
            let answer: GenerateEmbeddingsResponse = serde_json::from_slice(&body)
                .map_err(|_| self.connection.later("the answer is not that of Ollama"))?;
            Ok((answer.embeddings, None))
        })
    }
}

impl OllamaWire {
    /// Classifies errors that Ollama reports by their words, and not by their status in all of its versions.
    fn error_of(&self, reply: &provider::Reply, sent: &[String]) -> Option<ProviderError> {
        if reply.is_answer() {
            return None;
        }
        let provider = self.connection.name().to_owned();
        let reason = self.connection.words(&reply.body, sent);
        let mentions = |words: &[&str]| words.iter().any(|words| reason.contains(words));
        if mentions(&["not found", "does not support embeddings"]) {
            let hint = format!("`ollama pull {}` fetches a model", self.model);
            return Some(ProviderError::unusable(format!("{provider} cannot be used: {reason}; {hint}")));
        }
        mentions(&["context length", "input length", "invalid input"])
            .then_some(ProviderError::Refused { provider, reason })
    }
}
