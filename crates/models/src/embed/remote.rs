//! What all remote providers of vectors share: settings, prefixes, sizes of requests, and checks of answers.

use std::future::Future;
use std::pin::Pin;

use super::settings::{PASSAGE_WORDS, TABLE};
use super::vector::unit;
use super::{Answer, Embedded, Embedder, Model, Purpose, Settings};
use cerebro_core::redact::RedactedText;

use crate::provider::{Connection, KeyHeader, ProviderError, Server};

/// Most bytes of text in one request; a longer text is sent alone.
const REQUEST_BYTES_MAX: usize = 128 * 1024;
/// Default for the most texts in one request: within the limits of all usual providers.
const REQUEST_TEXTS: usize = 64;
/// Most texts in one request, whatever the settings say. OpenAI's own limit is 2,048.
const REQUEST_TEXTS_MAX: usize = 512;
/// Bytes of prose per token, for providers that report no count.
const TOKEN_BYTES: usize = 4;
/// The longest answer that is read: 512 vectors of 4,096 numbers take a third of it.
const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The vectors from a provider, in the order of the texts, and the tokens it counted.
pub type Reply = (Vec<Vec<f32>>, Option<u64>);

/// A request under way.
pub type Asking<'a> = Pin<Box<dyn Future<Output = Result<Reply, ProviderError>> + Send + 'a>>;

/// The protocol of one kind of provider.
pub trait Wire: Send + Sync {
    /// Sends one request, once.
    fn ask(&self, purpose: Purpose, texts: Vec<String>) -> Asking<'_>;
}

/// A remote provider.
pub struct Remote {
    wire: Box<dyn Wire>,
    model: Model,
    batch_max: usize,
    is_metered: bool,
    query_prefix: String,
    passage_prefix: String,
}

impl Remote {
    /// The provider that the settings describe, with the protocol `wire`; `name` is `provider/model`.
    pub fn new(
        wire: Box<dyn Wire>,
        name: &str,
        dimension: usize,
        is_metered: bool,
        settings: &Settings,
    ) -> Self {
        let texts = if settings.batch == 0 { REQUEST_TEXTS } else { settings.batch };
        let passage_words = if settings.passage_words == 0 { PASSAGE_WORDS } else { settings.passage_words };
        let model = Model { name: name.to_owned(), dimension, passage_words };
        Self {
            wire,
            model,
            batch_max: texts.min(REQUEST_TEXTS_MAX),
            is_metered,
            query_prefix: settings.query_prefix.clone(),
            passage_prefix: settings.passage_prefix.clone(),
        }
    }

    /// The number of dimensions, found by requesting one vector.
    pub async fn probe(&self) -> Result<usize, ProviderError> {
        let (vectors, _) = self.ask(Purpose::Query, vec!["Does it work?".to_owned()]).await?;
        Ok(vectors.first().map_or(0, Vec::len))
    }

    /// Sends one request and returns one vector per text.
    async fn ask(&self, purpose: Purpose, texts: Vec<String>) -> Result<Reply, ProviderError> {
        let count = texts.len();
        let (vectors, tokens) = self.wire.ask(purpose, texts).await?;
        if vectors.len() != count {
            let reason = format!("{} vectors for {count} texts", vectors.len());
            return Err(ProviderError::Refused { provider: self.model.name.clone(), reason });
        }
        Ok((vectors, tokens))
    }

    fn prefix(&self, purpose: Purpose) -> &str {
        match purpose {
            Purpose::Query => &self.query_prefix,
            Purpose::Passage => &self.passage_prefix,
        }
    }
}

impl Embedder for Remote {
    fn model(&self) -> &Model {
        &self.model
    }

    fn batch_max(&self) -> usize {
        self.batch_max
    }

    fn is_metered(&self) -> bool {
        self.is_metered
    }

    fn embed(&self, purpose: Purpose, texts: Vec<RedactedText>) -> Answer<'_> {
        Box::pin(async move {
            let prefix = self.prefix(purpose);
            let texts = texts.into_iter().map(|text| format!("{prefix}{text}")).collect();
            let mut made = Embedded { vectors: Vec::new(), tokens: 0 };
            for request in requests(texts, self.batch_max) {
                let bytes: usize = request.iter().map(String::len).sum();
                let (vectors, tokens) = self.ask(purpose, request).await?;
                let counted = tokens.unwrap_or(bytes.div_ceil(TOKEN_BYTES) as u64);
                made.tokens = made.tokens.saturating_add(counted);
                for vector in vectors {
                    made.vectors.push(unit(vector, self.model.dimension, &self.model.name)?);
                }
            }
            Ok(made)
        })
    }
}

/// A connection to the server in the settings, or to the public one of the provider, with the key that belongs to
/// it.
///
/// # Errors
/// The model is not named, the address is invalid, or the key is missing or must not be sent to that server.
pub fn connect(
    settings: &Settings,
    public_url: &'static str,
    key_variable: Option<&'static str>,
) -> Result<Connection, ProviderError> {
    let provider = settings.provider.as_str();
    if settings.model.is_empty() {
        return Err(ProviderError::unusable(format!(
            "no model of {provider} is named; `cerebro model use {provider} --model NAME` names one"
        )));
    }
    Connection::open(&Server {
        provider,
        model: &settings.model,
        table: TABLE,
        public_url,
        base_url: &settings.base_url,
        key_variable,
        key_header: KeyHeader::Bearer,
        api_key_env: &settings.api_key_env,
        api_key_file: settings.api_key_file.as_deref(),
        timeout: settings.timeout,
        answer_bytes_max: ANSWER_BYTES_MAX,
    })
}

/// Splits the texts into requests that are bounded in number and bytes.
fn requests(texts: Vec<String>, texts_max: usize) -> Vec<Vec<String>> {
    let mut requests: Vec<Vec<String>> = Vec::new();
    let mut bytes = 0;
    for text in texts {
        bytes += text.len();
        match requests.last_mut() {
            Some(last) if last.len() < texts_max && bytes <= REQUEST_BYTES_MAX => last.push(text),
            _ => {
                bytes = text.len();
                requests.push(vec![text]);
            }
        }
    }
    requests
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_bounded_and_lose_nothing() {
        let texts: Vec<String> = (0..50).map(|n| "x".repeat(n * 1_000)).collect();
        for max in [1, 7, 512] {
            let requests = requests(texts.clone(), max);
            assert_eq!(requests.concat(), texts);
            for request in &requests {
                let bytes: usize = request.iter().map(String::len).sum();
                assert!(request.len() <= max && (bytes <= REQUEST_BYTES_MAX || request.len() == 1));
            }
        }
        assert_eq!(requests(vec!["x".repeat(REQUEST_BYTES_MAX + 1)], 9).len(), 1);
        assert!(requests(Vec::new(), 9).is_empty());
    }
}
