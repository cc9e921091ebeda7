//! Language models that answer in JSON, over the HTTP client that all providers share.
//!
//! There are three wire formats, each a pair of pure functions in [`dialect`]: one writes requests, one reads
//! answers. They do not come from a client library, because compatible servers leave out fields that the libraries
//! require, and because none of the libraries supports all three.

mod dialect;
mod settings;

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use cerebro_core::redact::RedactedText;
use serde_json::Value;

pub use dialect::{ANSWER_TOKENS_MAX, Dialect, REASONED_TOKENS_MAX};
pub use settings::{Settings, open};

use crate::provider::{Connection, ProviderError};
use dialect::{TEMPERATURE, refused_parameter};

/// A question, and the schema of its answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask<'a> {
    /// The instructions to the model.
    pub instructions: &'a str,
    /// The turns so far: our questions and the model's answers alternate, and a question is last.
    pub turns: Vec<RedactedText>,
    /// The JSON schema of the answer.
    pub schema: &'a Value,
    /// Most tokens of the answer, with the model's reasoning.
    pub answer_tokens: u32,
}

/// How an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// By itself.
    Whole,
    /// At the bound of its tokens. The text may be missing, if the model reasoned so long.
    CutOff,
    /// The model declines to answer; there is no text.
    Declined,
}

/// An answer, and what it cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// The model's words, which should be JSON.
    pub text: String,
    /// Tokens read and written, as the provider counts them.
    pub tokens: u64,
    /// How it ended.
    pub end: End,
}

/// A chat model of a provider.
#[derive(Debug, Clone)]
pub struct Llm {
    dialect: Dialect,
    model: String,
    connection: Connection,
    /// Whether the model refused to be given a temperature.
    has_own_temperature: Arc<AtomicBool>,
    /// Whether an answer of the model was cut off at [`ANSWER_TOKENS_MAX`], as those of models that reason first.
    needs_room: Arc<AtomicBool>,
}

impl Llm {
    /// A model, reached over a connection to its provider.
    pub fn new(dialect: Dialect, model: &str, connection: Connection) -> Self {
        Self {
            dialect,
            model: model.to_owned(),
            connection,
            has_own_temperature: Arc::default(),
            needs_room: Arc::default(),
        }
    }

    /// The same, with what another one of the same model learned from its answers.
    #[must_use]
    pub fn knowing(self, earlier: Option<&Self>) -> Self {
        let is_same = |earlier: &&Self| (earlier.dialect, &earlier.model) == (self.dialect, &self.model);
        let Some(Self { has_own_temperature, needs_room, .. }) = earlier.filter(is_same) else { return self };
        let (has_own_temperature, needs_room) = (Arc::clone(has_own_temperature), Arc::clone(needs_room));
        Self { has_own_temperature, needs_room, ..self }
    }

    /// `provider/model`, as it is stored with its answers.
    pub fn name(&self) -> String {
        self.connection.name().to_owned()
    }

    /// Whether each question costs money or quota. False for Ollama and for servers on this machine.
    pub fn is_metered(&self) -> bool {
        self.dialect != Dialect::Ollama && !self.connection.base().is_this_machine()
    }

    /// Most tokens that an answer may have: more, once an answer was cut off.
    pub fn answer_tokens(&self) -> u32 {
        if self.needs_room.load(Ordering::Relaxed) { REASONED_TOKENS_MAX } else { ANSWER_TOKENS_MAX }
    }

    /// Sends one request; the caller decides about more.
    ///
    /// # Errors
    /// [`ProviderError`], according to the provider's answer. A model that takes no temperature refuses the first request of
    /// a process: [`ProviderError::FormRefused`]. The later ones have none.
    pub async fn ask(&self, ask: &Ask<'_>) -> Result<Reply, ProviderError> {
        let mut request = self.dialect.request(&self.model, ask);
        if self.has_own_temperature.load(Ordering::Relaxed) {
            request.leave_temperature();
        }
        let reply = self.connection.post(request.path, request.headers, &request.body).await?;
        if reply.status == 400 {
            let error: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
            match refused_parameter(&error) {
                None => {}
                Some(TEMPERATURE) if request.leave_temperature() => {
                    self.has_own_temperature.store(true, Ordering::Relaxed);
                    return Err(ProviderError::FormRefused { provider: self.name() });
                }
                Some(parameter) => {
                    let words = self.connection.words(&reply.body, &ask.turns);
                    let name = self.connection.name();
                    let reason = format!("{name} does not take `{parameter}` ({words}); name another model");
                    return Err(ProviderError::unusable(reason));
                }
            }
        }
        let body = self.connection.accept(reply, &ask.turns)?;
        let body: Value =
            serde_json::from_slice(&body).map_err(|_| self.connection.later("its answer is not JSON"))?;
        let reply =
            self.dialect.read(&body).ok_or_else(|| self.connection.later("its answer lacks a text"))?;
        if reply.end == End::CutOff {
            self.needs_room.store(true, Ordering::Relaxed);
        }
        Ok(reply)
    }
}
