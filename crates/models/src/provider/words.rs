//! Makes a provider's messages safe to store, log and show.

use serde_json::Value;

use cerebro_core::text;

/// Most characters of a provider's message that are repeated.
const REASON_CHARS_MAX: usize = 200;
/// How many characters in a row count as repeating a text.
const ECHO_CHARS: usize = 16;

/// How much of an error's body is read, in bytes.
const BODY_BYTES_MAX: usize = 64 * 1024;

/// The message in an error's body, which servers put in different places.
pub fn message(body: &[u8]) -> String {
    // Parsed JSON takes many times the memory of its text.
    let body = &body[..body.len().min(BODY_BYTES_MAX)];
    let value: Value = serde_json::from_slice(body).unwrap_or_default();
    let pointers = ["/error/message", "/error", "/message", "/detail"];
    let found = pointers.iter().find_map(|pointer| value.pointer(pointer)?.as_str().map(str::to_owned));
    found.unwrap_or_else(|| String::from_utf8_lossy(body).into_owned())
}

/// A provider's message on one line, shortened, and without the key or any of the texts that were sent.
pub fn quoted(message: &str, sent: &[impl AsRef<str>], key: Option<&str>) -> String {
    let mut line = text::one_line(&text::strip_control_chars(message));
    if let Some(key) = key.filter(|key| !key.is_empty()) {
        line = line.replace(key, "[key]");
    }
    // The message may have any length, so only the part that is shown is compared.
    let line = text::cut_chars(&line, REASON_CHARS_MAX);
    let repeats = |text: &str| {
        let signs: Vec<char> = text::one_line(&text::strip_control_chars(text)).chars().collect();
        let mut pieces = signs.windows(ECHO_CHARS.min(signs.len()).max(1)).step_by(ECHO_CHARS / 2);
        pieces.any(|piece| line.contains(&piece.iter().collect::<String>()))
    };
    if sent.iter().any(|text| repeats(text.as_ref())) {
        return "its words repeat the text".to_owned();
    }
    line.into_owned()
}

/// An error of the HTTP client with its causes, on one line and without the address, which may contain a password.
pub fn causes(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut line = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(inner) = cause {
        line = format!("{line}: {inner}");
        cause = inner.source();
    }
    line
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn messages_of_providers_hold_neither_text_nor_key() {
        let sent = ["the launch code of the gannet is 4711 and secret".to_owned()];
        assert_eq!(quoted("bad\ninput", &sent, None), "bad input");
        assert_eq!(quoted("key sk-1 is wrong", &sent, Some("sk-1")), "key [key] is wrong");
        for echo in ["cannot read 'the launch code of the gannet is 4711'", "near gannet is 4711 and secret"]
        {
            assert_eq!(quoted(echo, &sent, None), "its words repeat the text", "{echo}");
        }
        assert!(quoted(&"z".repeat(9_999), &sent, None).chars().count() <= REASON_CHARS_MAX);
    }

    #[test]
    fn a_long_message_is_compared_with_long_texts_at_once() {
        let (message, begun) = ("no ".repeat(4 << 20), Instant::now());
        let sent = [(0..40_000).map(|n| format!("word{n} ")).collect::<String>()];
        assert!(quoted(&message, &sent, None).starts_with("no no"));
        // Each of 50,000 pieces is looked for in what is shown, and not in 12 MB.
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    }

    #[test]
    fn messages_are_found_where_servers_put_them() {
        for (body, want) in [
            (r#"{"error":{"message":"no","type":"x"}}"#, "no"),
            (r#"{"error":"no"}"#, "no"),
            (r#"{"message":"no"}"#, "no"),
            (r#"{"detail":"no"}"#, "no"),
            ("no", "no"),
            ("", ""),
        ] {
            assert_eq!(message(body.as_bytes()), want, "{body}");
        }
        assert_eq!(message(&vec![b'['; 20 << 20]).len(), BODY_BYTES_MAX);
    }
}
