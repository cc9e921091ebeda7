//! Language models that answer in JSON, over the HTTP client of all providers.
//!
//! Three wire formats, each a pair of pure functions in [`dialect`]: what is sent, and what is read. They are
//! written here and not taken from a client library, because compatible servers leave out fields that the
//! libraries insist on, and because none of them speaks all three.

mod dialect;
mod settings;

use cerebro_core::redact::RedactedText;
use serde_json::Value;

pub use dialect::{ANSWER_TOKENS_MAX, Dialect};
pub use settings::{Settings, open};

use crate::provider::{Connection, ProviderError};

/// A question, and the form of its answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask<'a> {
    /// The instructions to the model.
    pub instructions: &'a str,
    /// The turns so far: questions of ours and answers of the model, in turn, a question last.
    pub turns: Vec<RedactedText>,
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

/// A language model of a provider.
#[derive(Debug, Clone)]
pub struct Llm {
    dialect: Dialect,
    model: String,
    connection: Connection,
}

impl Llm {
    /// A model, spoken to over a connection to its provider.
    pub fn new(dialect: Dialect, model: &str, connection: Connection) -> Self {
        Self { dialect, model: model.to_owned(), connection }
    }

    /// `provider/model`, as it is kept with what it said.
    pub fn name(&self) -> String {
        self.connection.name().to_owned()
    }

    /// Whether each question costs money or somebody's quota: not with Ollama, nor with a server of this machine.
    pub fn is_metered(&self) -> bool {
        self.dialect != Dialect::Ollama && !self.connection.base().is_this_machine()
    }

    /// Asks once; whether to ask again is the caller's to decide.
    ///
    /// # Errors
    /// [`ProviderError`], by what the provider says.
    pub async fn ask(&self, ask: &Ask<'_>) -> Result<Told, ProviderError> {
        let request = self.dialect.request(&self.model, ask);
        let reply = self.connection.post(request.path, request.headers, &request.body).await?;
        let body = self.connection.accept(reply, &ask.turns)?;
        let body: Value =
            serde_json::from_slice(&body).map_err(|_| self.connection.later("its answer is not JSON"))?;
        self.dialect.read(&body).ok_or_else(|| self.connection.later("its answer lacks a text"))
    }
}
