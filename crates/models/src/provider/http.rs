//! The HTTP client of all providers: sends a request once, and reads its answer within bounds.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::{Client, Request, Url, redirect};
use serde_json::Value;

use super::retry::{Verdict, retry_after, verdict};
use super::{Address, Key, KeyError, ProviderError, Server, words};

/// How long a server may take to accept a connection.
const CONNECT_MAX: Duration = Duration::from_secs(10);

/// How the key is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyHeader {
    /// `Authorization: Bearer KEY`.
    Bearer,
    /// A header of its own.
    Named(&'static str),
}

/// A connection to a provider's server.
#[derive(Clone)]
pub struct Connection {
    /// `provider/model`, for messages.
    name: String,
    /// The table of the configuration that names it, for messages.
    table: &'static str,
    base: Address,
    /// The key that is sent with every request.
    key: Option<Key>,
    key_header: KeyHeader,
    timeout: Duration,
    answer_bytes_max: usize,
    http: Client,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Connection").field(&self.name).field(&self.base).finish()
    }
}

/// An answer, read completely.
#[derive(Clone, PartialEq, Eq)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// The body, at most [`Server::answer_bytes_max`].
    pub body: Vec<u8>,
    /// The wait that `Retry-After` asks for.
    after: Option<Duration>,
}

impl Reply {
    /// Whether the status means success.
    pub fn is_answer(&self) -> bool {
        verdict(self.status) == Verdict::Answered
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A provider's message may repeat the text of a memory.
        write!(f, "Reply({}, {} bytes)", self.status, self.body.len())
    }
}

impl Connection {
    /// Prepares a connection; nothing is sent yet.
    ///
    /// # Errors
    /// The address is invalid, the key is missing, unusable or must not be sent to that server, or no client can be made;
    /// [`KeyError::Unencrypted`] when a key or a password would cross a network in the clear.
    pub fn open(server: &Server<'_>) -> Result<Self, ProviderError> {
        let base = Address::parse(if server.is_own() { server.base_url } else { server.public_url })?;
        let key = server.key(|name| std::env::var(name).ok())?;
        let name = format!("{}/{}", server.provider, server.model);
        if (key.is_some() || base.has_password()) && !base.is_confidential() {
            return Err(KeyError::Unencrypted { provider: name, host: base.host().to_owned() }.into());
        }
        let mut client = Client::builder()
            .connect_timeout(CONNECT_MAX)
            // Texts and key were meant for this server, not for one to which it redirects.
            .redirect(redirect::Policy::none())
            .user_agent(concat!("cerebro/", env!("CARGO_PKG_VERSION")));
        if base.is_this_machine() {
            // A proxy from the environment would send them off the machine.
            client = client.no_proxy();
        }
        let http = client.build().map_err(|error| {
            ProviderError::unusable(format!("no HTTP client can be made: {}", words::causes(error)))
        })?;
        let Server { table, key_header, timeout, answer_bytes_max, .. } = *server;
        Ok(Self { name, table, base, key, key_header, timeout, answer_bytes_max, http })
    }

    /// `provider/model`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The address of the server.
    pub fn base(&self) -> &Address {
        &self.base
    }

    /// Posts JSON to a path below the base address, once.
    pub async fn post(
        &self,
        path: &str,
        headers: &[(&'static str, &'static str)],
        body: &Value,
    ) -> Result<Reply, ProviderError> {
        let url = Url::parse(&self.base.below(path))
            .map_err(|_| ProviderError::unusable(format!("`base_url` and {path} are no address together")))?;
        let mut request = Request::new(reqwest::Method::POST, url);
        let head = request.headers_mut();
        head.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in headers {
            head.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        *request.body_mut() = Some(body.to_string().into());
        self.send(request).await
    }

    /// Sends a request once, with this connection's key and no other, and reads the whole answer. The caller
    /// decides about retries.
    ///
    /// # Errors
    /// [`ProviderError::Later`] when no answer arrives in time, or one that is too long.
    pub async fn send(&self, mut request: Request) -> Result<Reply, ProviderError> {
        request.headers_mut().remove(AUTHORIZATION);
        if let Some(key) = &self.key {
            let (name, value) = match self.key_header {
                KeyHeader::Bearer => (AUTHORIZATION, format!("Bearer {}", key.expose())),
                KeyHeader::Named(name) => (HeaderName::from_static(name), key.expose().to_owned()),
            };
            let mut value = HeaderValue::from_str(&value).map_err(|_| KeyError::Malformed)?;
            value.set_sensitive(true);
            request.headers_mut().insert(name, value);
        }
        match tokio::time::timeout(self.timeout, self.exchange(request)).await {
            Ok(reply) => reply,
            Err(_) => Err(self.later(&format!("no answer within {} ms", self.timeout.as_millis()))),
        }
    }

    async fn exchange(&self, request: Request) -> Result<Reply, ProviderError> {
        let broken = |error: reqwest::Error| self.later(&words::causes(error));
        let mut response = self.http.execute(request).await.map_err(broken)?;
        let status = response.status().as_u16();
        let after = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
        let after = after.and_then(|value| retry_after(value, Timestamp::now()));
        let mut body = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(broken)? {
            let max = self.answer_bytes_max;
            if body.len() + piece.len() > max {
                return Err(self.later(&format!("its answer has more than {max} bytes")));
            }
            body.extend_from_slice(&piece);
        }
        Ok(Reply { status, body, after })
    }

    /// The body of a successful reply. `sent` are the texts that an error's message must not repeat.
    ///
    /// # Errors
    /// The error for the status, by the rule that all providers share.
    pub fn accept(&self, reply: Reply, sent: &[impl AsRef<str>]) -> Result<Vec<u8>, ProviderError> {
        let Reply { status, body, after } = reply;
        let meant = verdict(status);
        if meant == Verdict::Answered {
            return Ok(body);
        }
        let provider = self.name().to_owned();
        let message = self.words(&body, sent);
        let reason =
            if message.is_empty() { format!("HTTP {status}") } else { format!("HTTP {status}: {message}") };
        let table = self.table;
        Err(match meant {
            Verdict::Moved => ProviderError::Unusable(format!(
                "{provider} is elsewhere (HTTP {status}), and redirections are not followed; set `base_url` of \
                 `[{table}]` in config.toml"
            )),
            Verdict::Key => {
                let verdict = if self.key.is_some() { "does not accept the key" } else { "wants a key" };
                ProviderError::Unusable(format!(
                    "{provider} {verdict} ({reason}); see `api_key_env` and `api_key_file` of `[{table}]` in \
                     config.toml"
                ))
            }
            Verdict::Unknown => ProviderError::Unusable(format!(
                "{provider} is not known there ({reason}); see `model` and `base_url` of `[{table}]` in config.toml"
            )),
            Verdict::Later => ProviderError::Later { provider, reason, after },
            Verdict::Refused | Verdict::Answered => ProviderError::Refused { provider, reason },
        })
    }

    /// The message in an error's body, made safe to show.
    pub fn words(&self, body: &[u8], sent: &[impl AsRef<str>]) -> String {
        words::quoted(&words::message(body), sent, self.key.as_ref().map(Key::expose))
    }

    /// An error that may pass with time.
    pub fn later(&self, reason: &str) -> ProviderError {
        let reason = words::quoted(reason, &[""; 0], self.key.as_ref().map(Key::expose));
        ProviderError::Later { provider: self.name().to_owned(), reason, after: None }
    }
}
