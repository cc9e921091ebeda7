//! Ollama, by `ollama-rs`.

use ollama_rs::Ollama;
use ollama_rs::error::OllamaError;
use ollama_rs::generation::embeddings::request::{EmbeddingsInput, GenerateEmbeddingsRequest};
use reqwest::Url;
use serde_json::Value;

use super::remote::{Asking, Remote, Wire, words};
use super::settings::PASSAGE_WORDS;
use super::{EmbedError, Model, Purpose, Settings};

/// Where Ollama listens when nobody says otherwise.
const USUAL: &str = "http://127.0.0.1:11434";

struct OllamaWire {
    client: Ollama,
    name: String,
    model: String,
}

/// The provider of the settings.
///
/// # Errors
/// The model is not named or the address is none.
pub fn open(settings: &Settings, dimension: usize) -> Result<Remote, EmbedError> {
    if settings.model.is_empty() {
        return Err(EmbedError::unusable(
            "no model of Ollama is named; `cerebro model use ollama --model NAME` names one",
        ));
    }
    let base = if settings.base_url.is_empty() { USUAL } else { settings.base_url.trim_end_matches('/') };
    let url = Url::parse(&format!("{base}/")).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    let url = url.ok_or_else(|| {
        EmbedError::unusable("cannot speak to Ollama: base_url does not begin with http:// or https://")
    })?;
    let name = format!("ollama/{}", settings.model);
    let wire =
        OllamaWire { client: Ollama::from_url(url), name: name.clone(), model: settings.model.clone() };
    let passage_words = if settings.passage_words == 0 { PASSAGE_WORDS } else { settings.passage_words };
    Ok(Remote::new(Box::new(wire), Model { name, dimension, passage_words }, false, settings))
}

impl Wire for OllamaWire {
    fn ask(&self, _: Purpose, texts: Vec<String>) -> Asking<'_> {
        Box::pin(async move {
            // Refused rather than cut in silence.
            let input = EmbeddingsInput::Multiple(texts.clone());
            let request = GenerateEmbeddingsRequest::new(self.model.clone(), input).truncate(false);
            match self.client.generate_embeddings(request).await {
                Ok(answer) => Ok((answer.embeddings, None)),
                Err(error) => Err(self.fault(error, &texts)),
            }
        })
    }
}

impl OllamaWire {
    /// The library keeps the body of an error and drops its status, so the words decide.
    fn fault(&self, error: OllamaError, sent: &[String]) -> EmbedError {
        let provider = self.name.clone();
        let later = |reason: String| EmbedError::Later { provider: provider.clone(), reason, after: None };
        let body = match error {
            OllamaError::ReqwestError(error) => return later(unreached(error)),
            OllamaError::JsonError(_) => return later("the answer is not that of Ollama".to_owned()),
            OllamaError::Other(body) => body,
            other => other.to_string(),
        };
        let value: Value = serde_json::from_str(&body).unwrap_or_default();
        let reason = words(value["error"].as_str().unwrap_or(&body), sent, "");
        if reason.contains("not found") || reason.contains("does not support embeddings") {
            let hint = format!("`ollama pull {}` fetches a model", self.model);
            return EmbedError::unusable(format!("{provider} cannot be used: {reason}; {hint}"));
        }
        if ["context length", "input length", "invalid input"].iter().any(|words| reason.contains(words)) {
            return EmbedError::Refused { provider, reason };
        }
        later(reason)
    }
}

fn unreached(error: impl std::error::Error) -> String {
    // The address may hold a password; the cause does not name it.
    let mut cause = error.source();
    let mut deepest = None;
    while let Some(inner) = cause {
        deepest = Some(inner.to_string());
        cause = inner.source();
    }
    deepest.unwrap_or_else(|| "it broke off".to_owned())
}
