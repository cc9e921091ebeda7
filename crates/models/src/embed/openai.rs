//! OpenAI and the many servers that speak like it, by `async-openai`.
//!
//! The library's own types are strict and its retries would hide from the worker what a provider
//! is asked for; so the answer is read into a lenient type, and requests go through a transport of
//! ours, which sends once, keeps `Retry-After` and bounds the answer's length.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use async_openai::Client;
use async_openai::config::OpenAIConfig;
use async_openai::error::OpenAIError;
use async_openai::middleware::HttpRequestFactory;
use reqwest::header::{HeaderMap, RETRY_AFTER};
use reqwest::{Response, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use super::remote::{Asking, Remote, Reply, Wire, words};
use super::settings::PASSAGE_WORDS;
use super::{EmbedError, Model, Purpose, Settings};

/// Where OpenAI listens.
const PUBLIC: &str = "https://api.openai.com/v1";
/// How long a server may take to accept.
const CONNECT_MAX: Duration = Duration::from_secs(10);
/// The longest answer that is read: 512 vectors of 4,096 numbers have a third of it.
const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;
/// The longest wait that is believed.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// The longest key file.
const KEY_BYTES_MAX: u64 = 16 * 1024;
/// OpenAI's own models and their dimensions.
const KNOWN: [(&str, usize); 3] =
    [("text-embedding-3-small", 1_536), ("text-embedding-3-large", 3_072), ("text-embedding-ada-002", 1_536)];

struct OpenAi {
    client: Client<OpenAIConfig>,
    /// Its name in messages.
    name: String,
    model: String,
    /// Asked for where the model could give another.
    dimensions: Option<usize>,
    tells_purpose: bool,
    key: String,
}

/// The provider of the settings.
///
/// # Errors
/// The key or the model's dimension is missing.
pub fn open(settings: &Settings, dimension: usize) -> Result<Remote, EmbedError> {
    if settings.model.is_empty() {
        return Err(EmbedError::unusable(
            "no model of OpenAI is named; `cerebro model use openai --model NAME` names one",
        ));
    }
    let base = if settings.base_url.is_empty() { PUBLIC } else { settings.base_url.trim_end_matches('/') };
    let key = key(settings)?;
    let name = format!("openai/{}", settings.model);
    let known = known(&settings.model);
    let wire = OpenAi {
        client: client(base, &key)?,
        name: name.clone(),
        model: settings.model.clone(),
        dimensions: known.filter(|known| *known != dimension).map(|_| dimension),
        tells_purpose: settings.input_type,
        key,
    };
    let passage_words = if settings.passage_words == 0 { PASSAGE_WORDS } else { settings.passage_words };
    let model = Model { name, dimension, passage_words };
    Ok(Remote::new(Box::new(wire), model, !is_here(base), settings))
}

/// The dimension of a model of OpenAI's own.
pub fn known(model: &str) -> Option<usize> {
    KNOWN.iter().find(|(name, _)| *name == model).map(|(_, dimension)| *dimension)
}

/// Whether an address is this machine's, where nobody counts calls.
fn is_here(base: &str) -> bool {
    let host = reqwest::Url::parse(base).ok().and_then(|url| url.host_str().map(str::to_owned));
    host.is_some_and(|host| matches!(host.as_str(), "localhost" | "127.0.0.1" | "[::1]"))
}

/// The key: of the environment, else of the file; none where a server of the user's own needs none.
fn key(settings: &Settings) -> Result<String, EmbedError> {
    let variable = std::env::var(&settings.api_key_env).ok().filter(|key| !key.trim().is_empty());
    if let Some(key) = variable {
        return Ok(key.trim().to_owned());
    }
    if let Some(path) = &settings.api_key_file {
        return key_of_file(path);
    }
    if settings.base_url.is_empty() {
        return Err(EmbedError::unusable(format!(
            "OpenAI wants a key: set {} where the daemon starts, or name a file that holds it with `cerebro model \
             use openai --api-key-file FILE`",
            settings.api_key_env
        )));
    }
    Ok(String::new())
}

/// The key that a file holds.
///
/// # Errors
/// The file cannot be read, or others can read it.
pub fn key_of_file(path: &Path) -> Result<String, EmbedError> {
    let fault = |reason: String| EmbedError::unusable(format!("the key file {}: {reason}", path.display()));
    let found = fs::metadata(path).map_err(|error| fault(error.to_string()))?;
    if found.permissions().mode() & 0o077 != 0 {
        return Err(fault(format!("others can read it; `chmod 600 {}` mends that", path.display())));
    }
    if found.len() > KEY_BYTES_MAX {
        return Err(fault("it is too long for a key".to_owned()));
    }
    let key = fs::read_to_string(path).map_err(|error| fault(error.to_string()))?;
    match key.trim() {
        "" => Err(fault("it is empty".to_owned())),
        key => Ok(key.to_owned()),
    }
}

fn client(base: &str, key: &str) -> Result<Client<OpenAIConfig>, EmbedError> {
    let unusable = |reason: &str| EmbedError::unusable(format!("cannot speak to the provider: {reason}"));
    let is_web = reqwest::Url::parse(base).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
    if !is_web {
        return Err(unusable("base_url does not begin with http:// or https://"));
    }
    if reqwest::header::HeaderValue::from_str(key).is_err() {
        return Err(unusable("the key has characters that no key has"));
    }
    let http = reqwest::Client::builder()
        .connect_timeout(CONNECT_MAX)
        .user_agent(concat!("cerebro/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| unusable(&error.without_url().to_string()))?;
    let transport = tower::service_fn(move |request: HttpRequestFactory| transmit(http.clone(), request));
    let config = OpenAIConfig::new().with_api_base(base).with_api_key(key);
    Ok(Client::with_config(config).with_http_service(transport))
}

/// An answer that is not a success.
#[derive(Debug, thiserror::Error)]
#[error("{status}")]
struct Fault {
    status: StatusCode,
    said: String,
    after: Option<Duration>,
}

/// Sends a request once and reads the whole answer.
async fn transmit(http: reqwest::Client, request: HttpRequestFactory) -> Result<Response, tower::BoxError> {
    let mut response = http.execute(request.build().await?).await?;
    let (status, headers) = (response.status(), response.headers().clone());
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await? {
        body.extend_from_slice(&piece);
        if body.len() > ANSWER_BYTES_MAX {
            return Err("the answer is too long".into());
        }
    }
    if !status.is_success() {
        return Err(Box::new(Fault { status, said: said(&body), after: retry_after(&headers) }));
    }
    if serde_json::from_slice::<Vectors>(&body).is_err() {
        return Err("the answer is not that of an embeddings server".into());
    }
    let answer = http::Response::builder().status(status).body(body)?;
    Ok(Response::from(answer))
}

/// The provider's message in an error's body; servers put it in different places.
fn said(body: &[u8]) -> String {
    let value: Value = serde_json::from_slice(body).unwrap_or_default();
    let places = ["/error/message", "/error", "/message", "/detail"];
    let found = places.iter().find_map(|place| value.pointer(place)?.as_str().map(str::to_owned));
    found.unwrap_or_else(|| String::from_utf8_lossy(body).into_owned())
}

/// `Retry-After` in seconds; the form with a date is not used by embedding providers.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds: f64 = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok().map(|wait| wait.min(RETRY_AFTER_MAX))
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
            if self.tells_purpose {
                request["input_type"] = json!(if purpose == Purpose::Query { "query" } else { "passage" });
            }
            let answer: Result<Vectors, OpenAIError> = self.client.embeddings().create_byot(request).await;
            match answer {
                Ok(vectors) => Ok(in_order(vectors)),
                Err(error) => Err(self.fault(error, &texts)),
            }
        })
    }
}

fn in_order(mut vectors: Vectors) -> Reply {
    vectors.data.sort_by_key(|item| item.index.unwrap_or_default());
    let tokens = vectors.usage.and_then(|usage| usage.total_tokens.or(usage.prompt_tokens));
    (vectors.data.into_iter().map(|item| item.embedding).collect(), tokens)
}

impl OpenAi {
    fn fault(&self, error: OpenAIError, sent: &[String]) -> EmbedError {
        let later = |reason: String, after| EmbedError::Later { provider: self.name.clone(), reason, after };
        let OpenAIError::Boxed(inner) = error else { return later("it cannot be reached".to_owned(), None) };
        let inner = match inner.downcast::<Fault>() {
            Ok(fault) => return self.refusal(*fault, sent),
            Err(inner) => inner,
        };
        match inner.downcast::<reqwest::Error>() {
            Ok(error) => later(words(&chain(&error.without_url()), sent, &self.key), None),
            Err(inner) => later(words(&inner.to_string(), sent, &self.key), None),
        }
    }

    fn refusal(&self, fault: Fault, sent: &[String]) -> EmbedError {
        let said = words(&fault.said, sent, &self.key);
        let reason = format!("{}: {said}", fault.status.as_u16());
        let provider = self.name.clone();
        match fault.status.as_u16() {
            401 | 403 => EmbedError::unusable(format!("{provider} does not accept the key ({reason})")),
            404 => EmbedError::unusable(format!("{provider} is not known there ({reason})")),
            408 | 409 | 425 | 429 | 500.. => EmbedError::Later { provider, reason, after: fault.after },
            _ => EmbedError::Refused { provider, reason },
        }
    }
}

/// An error with its causes, in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        line = format!("{line}: {inner}");
        cause = inner.source();
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_found_where_servers_put_them() {
        for (body, want) in [
            (r#"{"error":{"message":"no","type":"x"}}"#, "no"),
            (r#"{"error":"no"}"#, "no"),
            (r#"{"detail":"no"}"#, "no"),
            ("no", "no"),
        ] {
            assert_eq!(said(body.as_bytes()), want, "{body}");
        }
    }

    #[test]
    fn a_wait_is_believed_within_a_bound() {
        let headers =
            |value: &str| [(RETRY_AFTER, value.parse().unwrap())].into_iter().collect::<HeaderMap>();
        assert_eq!(retry_after(&headers("2")), Some(Duration::from_secs(2)));
        assert_eq!(retry_after(&headers("0.5")), Some(Duration::from_millis(500)));
        assert_eq!(retry_after(&headers("99999999")), Some(RETRY_AFTER_MAX));
        for odd in ["-1", "soon", "NaN", "1e99"] {
            assert_eq!(retry_after(&headers(odd)), None, "{odd}");
        }
    }

    #[test]
    fn only_this_machine_is_free() {
        assert!(
            is_here("http://127.0.0.1:8000/v1") && is_here("http://localhost/v1") && is_here("http://[::1]/")
        );
        assert!(!is_here(PUBLIC) && !is_here("http://10.0.0.1/v1") && !is_here("http://localhost.example/"));
    }
}
