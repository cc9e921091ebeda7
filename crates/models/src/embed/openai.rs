//! OpenAI and the many compatible servers, by `async-openai`.
//!
//! The library writes the request; [`Connection`] sends it once and reads the answer within bounds. The answer is
//! parsed into a lenient type, because compatible servers leave out fields that the library's own type requires.

use std::sync::Arc;

use async_openai::Client;
use async_openai::config::OpenAIConfig;
use async_openai::error::OpenAIError;
use async_openai::middleware::HttpRequestFactory;
use reqwest::Response;
use serde::Deserialize;
use serde_json::json;

use super::remote::{Asking, Remote, Reply, Wire, connect};
use super::{Purpose, Settings};
use crate::provider::{self, Connection, ProviderError};

/// The address of OpenAI.
const PUBLIC: &str = "https://api.openai.com/v1";
/// The variable that conventionally holds OpenAI's key.
const KEY_VARIABLE: &str = "OPENAI_API_KEY";
/// OpenAI's own models and their dimensions.
const KNOWN: [(&str, usize); 3] =
    [("text-embedding-3-small", 1_536), ("text-embedding-3-large", 3_072), ("text-embedding-ada-002", 1_536)];

struct OpenAi {
    client: Client<OpenAIConfig>,
    connection: Arc<Connection>,
    model: String,
    /// Set if the model supports several dimensions.
    dimensions: Option<usize>,
    sends_input_type: bool,
}

/// Opens the provider in the settings.
///
/// # Errors
/// The model is not named, or its key is missing or must not be sent to that server.
pub fn open(settings: &Settings, dimension: usize) -> Result<Remote, ProviderError> {
    let connection = Arc::new(connect(settings, PUBLIC, Some(KEY_VARIABLE))?);
    let is_metered = !connection.base().is_this_machine();
    let known = known(&settings.model);
    let wire = OpenAi {
        client: client(&connection, settings),
        connection: Arc::clone(&connection),
        model: settings.model.clone(),
        dimensions: known.filter(|known| *known != dimension).map(|_| dimension),
        sends_input_type: settings.input_type,
    };
    Ok(Remote::new(Box::new(wire), connection.name(), dimension, is_metered, settings))
}

/// The dimension of a model of OpenAI's own.
pub fn known(model: &str) -> Option<usize> {
    KNOWN.iter().find(|(name, _)| *name == model).map(|(_, dimension)| *dimension)
}

/// The library's client over our connection, which adds the key itself.
fn client(connection: &Arc<Connection>, settings: &Settings) -> Client<OpenAIConfig> {
    let mut config = OpenAIConfig::new().with_api_base(connection.base().as_str()).with_api_key("");
    if !settings.base_url.is_empty() {
        // The library reads these from the environment, but only OpenAI itself should get them.
        config = config.with_org_id("").with_project_id("");
    }
    let connection = Arc::clone(connection);
    let transport = tower::service_fn(move |request: HttpRequestFactory| {
        let connection = Arc::clone(&connection);
        async move { transmit(&connection, request).await }
    });
    Client::with_config(config).with_http_service(transport)
}

/// An error reply, passed through the library.
#[derive(Debug, thiserror::Error)]
#[error("HTTP {}", .0.status)]
struct Declined(provider::Reply);

/// Sends one request of the library.
async fn transmit(connection: &Connection, request: HttpRequestFactory) -> Result<Response, tower::BoxError> {
    let reply = connection.send(request.build().await?).await?;
    if !reply.is_answer() {
        return Err(Box::new(Declined(reply)));
    }
    let answer = http::Response::builder().status(reply.status).body(reply.body)?;
    Ok(Response::from(answer))
}

/// The parts of an answer that matter.
#[derive(Deserialize)]
struct Vectors {
    data: Vec<Item>,
    #[serde(default)]
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Item {
    #[serde(default)]
    index: Option<usize>,
    embedding: Vec<f32>,
}

#[derive(Deserialize)]
struct Usage {
    #[serde(default)]
    total_tokens: Option<u64>,
    #[serde(default)]
    prompt_tokens: Option<u64>,
}

impl Wire for OpenAi {
    fn ask(&self, purpose: Purpose, texts: Vec<String>) -> Asking<'_> {
        Box::pin(async move {
            let mut request = json!({ "model": self.model, "input": texts, "encoding_format": "float" });
            if let Some(dimensions) = self.dimensions {
                request["dimensions"] = json!(dimensions);
            }
            if self.sends_input_type {
                request["input_type"] = json!(if purpose == Purpose::Query { "query" } else { "passage" });
            }
            let answer: Result<Vectors, OpenAIError> = self.client.embeddings().create_byot(request).await;
            answer.map(in_order).map_err(|error| self.error_of(error, &texts))
        })
    }
}

fn in_order(mut vectors: Vectors) -> Reply {
    vectors.data.sort_by_key(|item| item.index.unwrap_or_default());
    let tokens = vectors.usage.and_then(|usage| usage.total_tokens.or(usage.prompt_tokens));
    (vectors.data.into_iter().map(|item| item.embedding).collect(), tokens)
}

impl OpenAi {
    /// The error behind the library's error: ours, passed through it, or an answer that it could not parse.
    fn error_of(&self, error: OpenAIError, sent: &[String]) -> ProviderError {
        let odd = || self.connection.later("the answer is not that of an embeddings server");
        let OpenAIError::Boxed(inner) = error else { return odd() };
        let inner = match inner.downcast::<Declined>() {
            Ok(declined) => {
                return self.connection.accept(declined.0, sent).map_or_else(|error| error, |_| odd());
            }
            Err(inner) => inner,
        };
        inner.downcast::<ProviderError>().map_or_else(|_| odd(), |error| *error)
    }
}
