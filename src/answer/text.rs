//! A text in an answer, which cannot be shown before it is cleaned.

use std::fmt::Display;

use cerebro_core::domain::Timestamp;
use cerebro_core::text;
use serde::{Deserialize, Serialize};

/// A text in an answer. It may quote a memory or an agent, so it does not display itself: a reader says how it is to
/// be shown.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Text(String);

impl Text {
    /// What something displays.
    pub fn of(shown: impl Display) -> Self {
        Self(shown.to_string())
    }

    /// On one line, safe to show.
    pub fn line(&self) -> String {
        clean_line(&self.0)
    }

    /// With its line ends, safe to show.
    pub fn lines(&self) -> String {
        clean(&self.0)
    }

    /// As it is stored: for comparing, for files and editors, and for what cleans by itself (`cli::output`).
    pub fn raw(&self) -> &str {
        &self.0
    }

    /// The moment that it is, if it is one.
    pub fn moment(&self) -> Option<Timestamp> {
        self.0.parse().ok()
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The name on the wire of a value of a closed set, such as `confirmed`.
pub fn name(value: &impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

/// A text that may be missing, on one line and safe to show.
pub fn line(text: Option<&Text>) -> String {
    text.map(Text::line).unwrap_or_default()
}

impl<T: Into<String>> From<T> for Text {
    fn from(text: T) -> Self {
        Self(text.into())
    }
}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        self.0 == other
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

/// Whether a character changes the direction of the following text, which could make a line read as another.
fn turns(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
}

/// A text of several lines, safe to show: no control characters, tabs as blanks.
pub fn clean(given: &str) -> String {
    let kept = text::strip_control_chars(given);
    kept.chars().filter(|c| !turns(*c)).collect::<String>().replace('\t', "    ")
}

/// The same on one line.
pub fn clean_line(given: &str) -> String {
    text::one_line(&clean(given))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cleaned_to_be_shown_and_kept_to_be_stored() {
        let text = Text::from("a\u{1b}[31m\n\u{202e}b");
        assert_eq!(text.line(), "a[31m b");
        assert_eq!(text.lines(), "a[31m\nb");
        assert_eq!(text.raw(), "a\u{1b}[31m\n\u{202e}b");
        assert_eq!(line(None), "");
    }
}
