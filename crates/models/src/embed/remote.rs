//! What is the same for every provider that is reached over a network: prefixes, the size of a
//! request, the wait for it, and what is asked of its answer.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use super::vector::unit;
use super::{Answer, EmbedError, Embedded, Embedder, Model, Purpose, Settings};
use cerebro_core::text;

/// Most bytes of text in one request; a longer text goes alone.
const REQUEST_BYTES_MAX: usize = 128 * 1024;
/// Most texts in one request where the settings say nothing: within the bounds of all usual providers.
const REQUEST_TEXTS: usize = 64;
/// Most texts in one request, whatever the settings say. OpenAI's own bound is 2,048.
const REQUEST_TEXTS_MAX: usize = 512;
/// Bytes of prose that make a token, for providers that do not count for us.
const TOKEN_BYTES: usize = 4;
/// Most characters of a provider's words that are repeated.
const REASON_CHARS_MAX: usize = 200;
/// How much of a text counts as repeating it.
const ECHO_CHARS: usize = 16;

/// The vectors as a provider gives them, in the order of the texts, and the tokens it counts.
pub type Reply = (Vec<Vec<f32>>, Option<u64>);

/// A request under way.
pub type Asking<'a> = Pin<Box<dyn Future<Output = Result<Reply, EmbedError>> + Send + 'a>>;

/// How one kind of provider is spoken to.
pub trait Wire: Send + Sync {
    /// Sends one request, once.
    fn ask(&self, purpose: Purpose, texts: Vec<String>) -> Asking<'_>;
}

/// A provider elsewhere.
pub struct Remote {
    wire: Box<dyn Wire>,
    model: Model,
    batch_max: usize,
    is_metered: bool,
    timeout: Duration,
    query_prefix: String,
    passage_prefix: String,
}

impl Remote {
    /// The provider that the settings describe, spoken to by `wire`.
    pub fn new(wire: Box<dyn Wire>, model: Model, is_metered: bool, settings: &Settings) -> Self {
        let texts = if settings.batch == 0 { REQUEST_TEXTS } else { settings.batch };
        Self {
            wire,
            model,
            batch_max: texts.min(REQUEST_TEXTS_MAX),
            is_metered,
            timeout: settings.timeout,
            query_prefix: settings.query_prefix.clone(),
            passage_prefix: settings.passage_prefix.clone(),
        }
    }

    /// Numbers in a vector, by asking for one.
    ///
    /// # Errors
    /// No vector comes.
    pub async fn probe(&self) -> Result<usize, EmbedError> {
        let (vectors, _) = self.ask(Purpose::Query, vec!["Does it work?".to_owned()]).await?;
        Ok(vectors.first().map_or(0, Vec::len))
    }

    /// Sends one request and waits for its answer, within the bound.
    async fn ask(&self, purpose: Purpose, texts: Vec<String>) -> Result<Reply, EmbedError> {
        let count = texts.len();
        let answered = tokio::time::timeout(self.timeout, self.wire.ask(purpose, texts)).await;
        let (vectors, tokens) = answered.unwrap_or_else(|_| {
            let reason = format!("no answer within {} ms", self.timeout.as_millis());
            Err(EmbedError::Later { provider: self.model.name.clone(), reason, after: None })
        })?;
        if vectors.len() != count {
            let reason = format!("{} vectors for {count} texts", vectors.len());
            return Err(EmbedError::Refused { provider: self.model.name.clone(), reason });
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

    fn embed(&self, purpose: Purpose, texts: Vec<String>) -> Answer<'_> {
        Box::pin(async move {
            let prefix = self.prefix(purpose);
            let texts = texts.into_iter().map(|text| format!("{prefix}{text}")).collect();
            let mut made = Embedded { vectors: Vec::new(), tokens: 0 };
            for request in requests(texts, self.batch_max) {
                let bytes: usize = request.iter().map(String::len).sum();
                let (vectors, tokens) = self.ask(purpose, request).await?;
                made.tokens += tokens.unwrap_or(bytes.div_ceil(TOKEN_BYTES) as u64);
                for vector in vectors {
                    made.vectors.push(unit(vector, self.model.dimension, &self.model.name)?);
                }
            }
            Ok(made)
        })
    }
}

/// The texts in requests that are bounded in number and bytes.
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

/// A provider's words, cut, on one line, and without anything of what was sent to it: they are
/// stored and logged.
pub fn words(said: &str, sent: &[String], key: &str) -> String {
    let mut line = text::one_line(&text::clean(said));
    if !key.is_empty() {
        line = line.replace(key, "[key]");
    }
    let repeats = |text: &String| {
        let signs: Vec<char> = text::one_line(&text::clean(text)).chars().collect();
        let mut pieces = signs.windows(ECHO_CHARS.min(signs.len()).max(1)).step_by(ECHO_CHARS / 2);
        pieces.any(|piece| line.contains(&piece.iter().collect::<String>()))
    };
    if sent.iter().any(repeats) {
        return "its words repeat the text".to_owned();
    }
    text::cut_chars(&line, REASON_CHARS_MAX).into_owned()
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

    #[test]
    fn a_providers_words_hold_neither_text_nor_key() {
        let sent = ["the launch code of the gannet is 4711 and secret".to_owned()];
        assert_eq!(words("bad\ninput", &sent, ""), "bad input");
        assert_eq!(words("key sk-1 is wrong", &sent, "sk-1"), "key [key] is wrong");
        for echo in ["cannot read 'the launch code of the gannet is 4711'", "near gannet is 4711 and secret"]
        {
            assert_eq!(words(echo, &sent, ""), "its words repeat the text", "{echo}");
        }
        assert!(words(&"z".repeat(9_999), &sent, "").chars().count() <= REASON_CHARS_MAX);
    }
}
