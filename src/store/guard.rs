//! Who may speak to the endpoint at all: looked at before the database sees a request.
//!
//! A page in a browser can reach loopback. So a request that names an origin must name an allowed one,
//! also for a WebSocket, for which browsers ask no leave; and the host it was sent to must be loopback by
//! name, so that a foreign name that resolves to 127.0.0.1 gets nothing.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};

/// What is served; everything else is not there: no import, no export, no other language.
const PATHS: [&str; 4] = ["/health", "/rpc", "/status", "/version"];

/// Where Surrealist and its successor run: on the web, and as an application on each system.
const APPS: [&str; 6] = [
    "https://surrealist.app",
    "https://app.surrealdb.com",
    "https://studio.surrealdb.com",
    "tauri://localhost",
    "http://tauri.localhost",
    "https://tauri.localhost",
];

/// The origins that are let in beside pages from this machine.
#[derive(Debug, Clone)]
pub(super) struct Guard {
    origins: Arc<Vec<String>>,
}

impl Guard {
    /// Lets the known applications in, and `more`.
    ///
    /// # Errors
    /// The first of `more` that is not an origin.
    pub(super) fn new(more: Vec<String>) -> Result<Self, String> {
        if let Some(odd) = more.iter().find(|origin| !is_origin(origin)) {
            return Err(odd.clone());
        }
        let origins = APPS.iter().map(|app| (*app).to_owned());
        let more = more.into_iter().map(|origin| origin.to_ascii_lowercase());
        Ok(Self { origins: Arc::new(origins.chain(more).collect()) })
    }

    fn lets_in(&self, origin: &str) -> bool {
        let origin = origin.to_ascii_lowercase();
        let host = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        host.is_some_and(is_loopback) || self.origins.contains(&origin)
    }

    fn refusal(&self, path: &str, headers: &HeaderMap) -> Option<(StatusCode, &'static str)> {
        let text = |name| headers.get(name).map(|value: &HeaderValue| value.to_str().unwrap_or_default());
        if !text(header::HOST).is_some_and(is_loopback) {
            return Some((StatusCode::FORBIDDEN, "this endpoint answers only to localhost"));
        }
        if text(header::ORIGIN).is_some_and(|origin| !self.lets_in(origin)) {
            return Some((StatusCode::FORBIDDEN, "this origin is not allowed (cerebro studio --origin)"));
        }
        (!PATHS.contains(&path)).then_some((StatusCode::NOT_FOUND, "not served here"))
    }
}

/// Passes a request on, or says why not.
pub(super) async fn guard(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    if let Some(refusal) = guard.refusal(request.uri().path(), request.headers()) {
        return refusal.into_response();
    }
    let origin = request.headers().get(header::ORIGIN).cloned();
    let mut response = next.run(request).await;
    // The database would name every origin; only the one that was looked at is meant.
    match origin {
        Some(origin) => response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin),
        None => response.headers_mut().remove(header::ACCESS_CONTROL_ALLOW_ORIGIN),
    };
    response
}

/// Whether a host, with or without a port, is this machine by its own name.
fn is_loopback(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) && !port.is_empty() => name,
        _ => host,
    };
    ["127.0.0.1", "localhost", "[::1]"].contains(&name.to_ascii_lowercase().as_str())
}

/// Whether a text is `scheme://host` or `scheme://host:port` and nothing more.
fn is_origin(text: &str) -> bool {
    let plain = |part: &str, more: &[u8]| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || more.contains(&b))
    };
    text.split_once("://").is_some_and(|(scheme, host)| plain(scheme, b"+-.") && plain(host, b"-.:[]_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(host: Option<&str>, origin: Option<&str>, path: &str) -> Option<u16> {
        let guard = Guard::new(vec!["https://Example.org:8443".to_owned()]).unwrap();
        let mut headers = HeaderMap::new();
        for (name, value) in [(header::HOST, host), (header::ORIGIN, origin)] {
            if let Some(value) = value {
                headers.insert(name, value.parse().unwrap());
            }
        }
        guard.refusal(path, &headers).map(|(code, _)| code.as_u16())
    }

    #[test]
    fn only_loopback_by_its_own_name_is_answered() {
        for host in ["127.0.0.1:8000", "localhost", "LOCALHOST:1", "[::1]:8000"] {
            assert_eq!(refusal(Some(host), None, "/rpc"), None, "{host}");
        }
        for host in [
            None,
            Some("evil.example:8000"),
            Some("127.0.0.1.evil.example"),
            Some("localhost.evil.example:1"),
            Some("192.168.0.2:8000"),
            Some("0.0.0.0:8000"),
            Some(""),
        ] {
            assert_eq!(refusal(host, None, "/rpc"), Some(403), "{host:?}");
        }
    }

    #[test]
    fn only_known_origins_are_let_in() {
        for origin in [
            "https://surrealist.app",
            "tauri://localhost",
            "http://localhost:8080",
            "http://127.0.0.1:3000",
            "https://example.org:8443",
        ] {
            assert_eq!(refusal(Some("localhost:1"), Some(origin), "/rpc"), None, "{origin}");
        }
        for origin in [
            "null",
            "",
            "https://evil.example",
            "http://localhost.evil.example",
            "https://surrealist.app.evil.example",
            "https://example.org",
            "http://localhost@evil.example",
            "file://",
        ] {
            assert_eq!(refusal(Some("localhost:1"), Some(origin), "/rpc"), Some(403), "{origin}");
        }
    }

    #[test]
    fn only_what_reading_needs_is_there() {
        for path in ["/rpc", "/health", "/version", "/status"] {
            assert_eq!(refusal(Some("localhost"), None, path), None, "{path}");
        }
        for path in
            ["/", "/sql", "/export", "/import", "/key/memory", "/signin", "/ml/export", "/graphql", "/rpc/"]
        {
            assert_eq!(refusal(Some("localhost"), None, path), Some(404), "{path}");
        }
    }

    #[test]
    fn odd_origins_are_named() {
        for odd in ["*", "example.org", "https://example.org/path", "https://", "https://a b", "https://u@h"]
        {
            assert_eq!(Guard::new(vec![odd.to_owned()]).unwrap_err(), odd);
        }
    }
}
