//! The topic key and title of the memory that holds a session's summary.

use sha2::{Digest, Sha256};

use crate::{
    domain::{SessionId, limits::TITLE_CHARS_MAX},
    redact::RedactedText,
    text,
};

/// Longest title of a summary, in characters.
const SUMMARY_TITLE_CHARS_MAX: usize = 120;
const _: () = assert!(SUMMARY_TITLE_CHARS_MAX <= TITLE_CHARS_MAX);

/// The topic key of a session's summary. A second summary of the session revises the first.
pub fn summary_key(id: &SessionId) -> RedactedText {
    RedactedText::derived(format!("session/{}", text::hex(&Sha256::digest(id.as_str())[..8])))
}

/// The title of a session's summary: its first line with words.
pub fn summary_title(summary: &RedactedText) -> RedactedText {
    let first = summary
        .lines()
        .map(|line| line.trim_start_matches(['#', '*', '-', ' ']).trim())
        .find(|line| !line.is_empty() && !line.eq_ignore_ascii_case("goal"))
        .unwrap_or("session");
    let title = format!("Session summary: {}", text::one_line(first));
    RedactedText::derived(text::cut_chars(&title, SUMMARY_TITLE_CHARS_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_titled_by_its_first_line_that_says_something() {
        for (summary, title) in [
            ("## Goal\n- Mend the  login", "Session summary: Mend the login"),
            ("\n# \n", "Session summary: session"),
        ] {
            assert_eq!(summary_title(&RedactedText::derived(summary)), title);
        }
        assert_eq!(summary_title(&RedactedText::derived("x".repeat(500))).chars().count(), 120);
    }

    #[test]
    fn each_session_has_a_key_of_its_own() {
        let key = |id: &str| summary_key(&SessionId::parse(id).unwrap());
        assert_eq!(key("a"), key("a"));
        assert_ne!(key("a"), key("b"));
        assert!(key("a").starts_with("session/"));
    }
}
