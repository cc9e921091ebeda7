//! Addresses of the pages: paths and queries with every value percent-encoded.

use std::fmt::Write as _;

/// A text as a part of a path or a query (RFC 3986: all but the unreserved characters are encoded).
pub fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// A path with the parameters that are not empty.
pub fn with_query(path: &str, parts: &[(&str, &str)]) -> String {
    let mut out = path.to_owned();
    for (name, value) in parts.iter().filter(|(_, value)| !value.is_empty()) {
        out.push(if out.contains('?') { '&' } else { '?' });
        let _ = write!(out, "{name}={}", encode(value));
    }
    out
}

/// The address of a list from a position on.
pub fn onward(path: &str, from: impl std::fmt::Display) -> String {
    with_query(path, &[("from", &from.to_string())])
}

/// The page of a memory.
pub fn memory(id: &str) -> String {
    format!("/memories/{}", encode(id))
}

/// The page of a session.
pub fn session(id: &str) -> String {
    format!("/sessions/{}", encode(id))
}

/// The page of a past session.
pub fn past(id: &str) -> String {
    format!("/history/{}", encode(id))
}

/// The page of an exchange of a past session.
pub fn exchange(id: &str) -> String {
    format!("/exchanges/{}", encode(id))
}

/// The page of a piece of work.
pub fn work(id: &str) -> String {
    format!("/work/{}", encode(id))
}

/// The page of a document.
pub fn document(id: &str) -> String {
    format!("/documents/{}", encode(id))
}

/// The page of a consolidation.
pub fn cycle(id: &str) -> String {
    format!("/tidy/{}", encode(id))
}

/// The graph about a name.
pub fn entity(name: &str, project: &str) -> String {
    with_query("/graph/entity", &[("name", name), ("project", project)])
}

/// The graph around a memory.
pub fn graph(id: &str) -> String {
    format!("/graph/{}", encode(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_value_is_syntax() {
        assert_eq!(encode("a/b?c&d=é\"<"), "a%2Fb%3Fc%26d%3D%C3%A9%22%3C");
        assert_eq!(with_query("/m", &[("q", "a b"), ("p", ""), ("k", "x")]), "/m?q=a%20b&k=x");
    }
}
