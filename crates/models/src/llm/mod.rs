//! Language models that answer in JSON: who is asked, over one HTTP client.
//!
//! Three wire formats, each a pair of pure functions in [`dialect`]: what is sent, and what is read. They are
//! written here and not taken from a client library, because compatible servers leave out fields that the
//! libraries insist on, and because none of them speaks all three.

mod dialect;
mod settings;

use std::time::Duration;

use serde_json::Value;

pub use dialect::Dialect;
pub use settings::{Settings, open};

use crate::embed::{self, EmbedError};

/// Longest answer that is read, in bytes.
const ANSWER_BYTES_MAX: usize = 256 * 1024;

/// A question, and the form of its answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask<'a> {
    /// What the model is told to do.
    pub instructions: &'a str,
    /// The turns so far: questions of ours and answers of the model, in turn, a question last.
    pub turns: Vec<String>,
    /// JSON schema of the answer.
    pub schema: &'a Value,
}

/// An answer, and what it cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Told {
    /// The model's words, which should be JSON.
    pub text: String,
    /// Tokens read and written, as the provider counts them.
    pub tokens: u64,
}

/// Whom to ask. The key is kept out of its `Debug` form and of every error.
#[derive(Clone)]
pub struct Llm {
    dialect: Dialect,
    model: String,
    base_url: String,
    key: Option<String>,
    http: reqwest::Client,
}

impl std::fmt::Debug for Llm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Llm")
            .field("model", &self.name())
            .field("base_url", &self.base_url)
            .finish_non_exhaustive()
    }
}

impl Llm {
    /// A model of a provider. `base_url` empty is the provider's public address, or this machine for Ollama.
    ///
    /// # Errors
    /// [`EmbedError::Unusable`] when no HTTP client can be made.
    pub fn new(
        dialect: Dialect,
        model: &str,
        base_url: &str,
        key: Option<String>,
        timeout: Duration,
    ) -> Result<Self, EmbedError> {
        let http = reqwest::Client::builder()
            .timeout(timeout)
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|error| EmbedError::Unusable(format!("no HTTP client: {error}")))?;
        let base_url = if base_url.is_empty() { dialect.public_url() } else { base_url };
        let base_url = base_url.trim_end_matches('/').to_owned();
        Ok(Self { dialect, model: model.to_owned(), base_url, key, http })
    }

    /// `provider/model`, as it is kept with what it said.
    pub fn name(&self) -> String {
        format!("{}/{}", self.dialect.name(), self.model)
    }

    /// Whether each question costs money or somebody's quota.
    pub fn is_metered(&self) -> bool {
        self.dialect != Dialect::Ollama
    }

    /// Asks once; whether to ask again is the caller's business.
    ///
    /// # Errors
    /// [`EmbedError`], by what the provider says.
    pub async fn ask(&self, ask: &Ask<'_>) -> Result<Told, EmbedError> {
        let request = self.dialect.request(&self.model, self.key.as_deref(), ask);
        let mut post = self.http.post(format!("{}{}", self.base_url, request.path));
        for (name, value) in request.headers {
            post = post.header(name, value);
        }
        let response = post
            .header("content-type", "application/json")
            .body(request.body.to_string())
            .send()
            .await
            .map_err(|error| self.later(without_url(error), None))?;
        let status = response.status().as_u16();
        let after = retry_after(response.headers());
        let body = self.body(response).await?;
        if !(200..300).contains(&status) {
            return Err(self.refusal(status, after, &body, &ask.turns));
        }
        let body: Value = serde_json::from_slice(&body)
            .map_err(|_| self.later("its answer is not JSON".to_owned(), None))?;
        self.dialect.read(&body).ok_or_else(|| self.later("its answer lacks a text".to_owned(), None))
    }

    async fn body(&self, mut response: reqwest::Response) -> Result<Vec<u8>, EmbedError> {
        let mut body = Vec::new();
        while let Some(chunk) =
            response.chunk().await.map_err(|error| self.later(without_url(error), None))?
        {
            if body.len() + chunk.len() > ANSWER_BYTES_MAX {
                return Err(self.later(format!("its answer has more than {ANSWER_BYTES_MAX} bytes"), None));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    fn refusal(&self, status: u16, after: Option<Duration>, body: &[u8], sent: &[String]) -> EmbedError {
        let words = serde_json::from_slice::<Value>(body).ok();
        let words = words.as_ref().and_then(dialect::error_message).unwrap_or_default();
        let words = embed::words(words, sent, self.key.as_deref().unwrap_or_default());
        let reason =
            if words.is_empty() { format!("HTTP {status}") } else { format!("HTTP {status}: {words}") };
        match status {
            401 | 403 => EmbedError::Unusable(format!(
                "{} does not accept the key ({reason}); set the key of `[relations]` in config.toml",
                self.name()
            )),
            404 => EmbedError::Unusable(format!(
                "{} is not there ({reason}); see `model` and `base_url` of `[relations]` in config.toml",
                self.name()
            )),
            408 | 409 | 425 | 429 | 500.. => self.later(reason, after),
            _ => EmbedError::Refused { provider: self.name(), reason },
        }
    }

    fn later(&self, reason: String, after: Option<Duration>) -> EmbedError {
        EmbedError::Later { provider: self.name(), reason, after }
    }
}

/// The error's words; an address may hold a secret.
fn without_url(error: reqwest::Error) -> String {
    let kind = if error.is_timeout() {
        "it did not answer in time"
    } else if error.is_connect() {
        "it cannot be reached"
    } else {
        "the connection broke"
    };
    tracing::debug!(error = %error.without_url(), "a language model did not answer");
    kind.to_owned()
}

fn retry_after(headers: &reqwest::header::HeaderMap) -> Option<Duration> {
    headers.get("retry-after")?.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}
