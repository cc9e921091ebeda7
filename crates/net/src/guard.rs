//! The check of host and origin, before anything behind it sees a request.
//!
//! A page in a browser can reach loopback. So a request that names an origin must name an allowed one, also for a
//! WebSocket, which browsers open to any origin. And the host of a request must be an expected one, so that a
//! foreign name that resolves to 127.0.0.1 gets nothing.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};

/// The hosts and origins that are allowed, besides this machine's own.
#[derive(Debug, Clone)]
pub struct Guard {
    hosts: Arc<Vec<String>>,
    origins: Arc<Vec<String>>,
    paths: Paths,
}

/// The paths that are served.
#[derive(Debug, Clone, Copy)]
enum Paths {
    /// These paths, whatever the port that they were asked at.
    Named(&'static [&'static str]),
    /// The pages of this port, to themselves alone.
    Pages(u16),
}

/// A text that was given as an origin and is not one.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an origin; write scheme://host or scheme://host:port")]
pub struct OddOrigin(String);

impl Guard {
    /// Allows requests to `paths`; all others are answered as not found.
    pub fn new(paths: &'static [&'static str]) -> Self {
        Self { hosts: Arc::default(), origins: Arc::default(), paths: Paths::Named(paths) }
    }

    /// Allows requests to any path, but only under loopback's names at this port and from this port's own pages.
    /// Pages of other ports of this machine belong to other programs, although a browser sends them the cookies of
    /// this one.
    pub fn of_pages(port: u16) -> Self {
        Self { hosts: Arc::default(), origins: Arc::default(), paths: Paths::Pages(port) }
    }

    /// Answers to these hosts too, whatever the port.
    #[must_use]
    pub fn answering_to(mut self, hosts: impl IntoIterator<Item = String>) -> Self {
        self.hosts = Arc::new(hosts.into_iter().map(|host| host.to_ascii_lowercase()).collect());
        self
    }

    /// Lets pages of these origins in too.
    pub fn letting_in(mut self, origins: impl IntoIterator<Item = String>) -> Result<Self, OddOrigin> {
        let origins: Vec<String> = origins.into_iter().map(|origin| origin.to_ascii_lowercase()).collect();
        if let Some(odd) = origins.iter().find(|origin| !is_origin(origin)) {
            return Err(OddOrigin(odd.clone()));
        }
        self.origins = Arc::new(origins);
        Ok(self)
    }

    fn answers_to(&self, host: &str) -> bool {
        if let Paths::Pages(own) = self.paths {
            return is_loopback(host) && port(host) == Some(own);
        }
        is_loopback(host) || self.hosts.contains(&name(host).to_ascii_lowercase())
    }

    fn lets_in(&self, origin: &str) -> bool {
        let origin = origin.to_ascii_lowercase();
        if let Paths::Pages(own) = self.paths {
            let host = origin.strip_prefix("http://");
            return host.is_some_and(|host| is_loopback(host) && port(host) == Some(own));
        }
        let host = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        host.is_some_and(is_loopback) || self.origins.contains(&origin)
    }

    fn refusal(&self, path: &str, headers: &HeaderMap) -> Option<(StatusCode, &'static str)> {
        let text = |name| headers.get(name).map(|value: &HeaderValue| value.to_str().unwrap_or_default());
        if !text(header::HOST).is_some_and(|host| self.answers_to(host)) {
            return Some((StatusCode::FORBIDDEN, "this host is not answered to"));
        }
        if text(header::ORIGIN).is_some_and(|origin| !self.lets_in(origin)) {
            return Some((StatusCode::FORBIDDEN, "this origin is not allowed (--origin)"));
        }
        let Paths::Named(paths) = self.paths else { return None };
        (!paths.contains(&path)).then_some((StatusCode::NOT_FOUND, "not served here"))
    }
}

/// Passes a request on, or answers why it is refused.
pub async fn guard(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    if let Some(refusal) = guard.refusal(request.uri().path(), request.headers()) {
        return refusal.into_response();
    }
    let origin = request.headers().get(header::ORIGIN).cloned();
    let mut response = next.run(request).await;
    // The service behind may read every `Origin` header; only the checked one counts.
    match origin {
        Some(origin) => response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin),
        None => response.headers_mut().remove(header::ACCESS_CONTROL_ALLOW_ORIGIN),
    };
    response
}

/// A host without its port.
fn name(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) && !port.is_empty() => name,
        _ => host,
    }
}

/// The port of a host; that of HTTP where it names none.
fn port(host: &str) -> Option<u16> {
    match host.strip_prefix(name(host))? {
        "" => Some(80),
        port => port.strip_prefix(':')?.parse().ok(),
    }
}

/// Whether a host, with or without a port, is a loopback name of this machine.
pub fn is_loopback(host: &str) -> bool {
    ["127.0.0.1", "localhost", "[::1]"].contains(&name(host).to_ascii_lowercase().as_str())
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
        let guard = Guard::new(&["/health", "/rpc", "/status", "/version"])
            .answering_to(["Memory.example.net".to_owned()])
            .letting_in(["https://Example.org:8443", "tauri://localhost"].map(str::to_owned))
            .unwrap();
        let mut headers = HeaderMap::new();
        for (name, value) in [(header::HOST, host), (header::ORIGIN, origin)] {
            if let Some(value) = value {
                headers.insert(name, value.parse().unwrap());
            }
        }
        guard.refusal(path, &headers).map(|(code, _)| code.as_u16())
    }

    #[test]
    fn only_loopback_and_named_hosts_are_answered() {
        for host in ["127.0.0.1:8000", "localhost", "LOCALHOST:1", "[::1]:8000", "MEMORY.example.net:8765"] {
            assert_eq!(refusal(Some(host), None, "/rpc"), None, "{host}");
        }
        for host in [
            None,
            Some("evil.example:8000"),
            Some("127.0.0.1.evil.example"),
            Some("memory.example.net.evil.example"),
            Some("x.memory.example.net"),
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
            "https://example.org:8443.evil.example",
            "https://example.org",
            "http://localhost@evil.example",
            "file://",
        ] {
            assert_eq!(refusal(Some("localhost:1"), Some(origin), "/rpc"), Some(403), "{origin}");
        }
    }

    #[test]
    fn pages_are_served_to_themselves_alone() {
        let refusal = |host: &str, origin: Option<&str>| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, host.parse().unwrap());
            origin.map(|origin| headers.insert(header::ORIGIN, origin.parse().unwrap()));
            Guard::of_pages(4317).refusal("/any/path", &headers).map(|(status, _)| status.as_u16())
        };
        for own in ["127.0.0.1:4317", "localhost:4317", "[::1]:4317"] {
            assert_eq!(refusal(own, None), None, "{own}");
            assert_eq!(refusal(own, Some(&format!("http://{own}"))), None, "{own}");
        }
        for host in ["127.0.0.1", "localhost:4318", "evil.example:4317", "127.0.0.1:4317.evil.example", ""] {
            assert_eq!(refusal(host, None), Some(403), "{host}");
        }
        for origin in [
            "null",
            "http://localhost:3000",
            "http://127.0.0.1",
            "https://localhost:4317",
            "http://evil.example:4317",
        ] {
            assert_eq!(refusal("127.0.0.1:4317", Some(origin)), Some(403), "{origin}");
        }
        assert_eq!(port("localhost"), Some(80));
    }

    #[test]
    fn only_the_paths_that_readers_need_are_served() {
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
            let refused = Guard::new(&[]).letting_in([odd.to_owned()]).unwrap_err();
            assert!(refused.to_string().contains(odd), "{refused}");
        }
    }
}
