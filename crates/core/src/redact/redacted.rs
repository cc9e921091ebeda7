//! Redacted text as a type: the compiler ensures that no other text reaches the store, the index or a provider.

use std::{borrow::Borrow, fmt, ops::Deref};

use serde::{Serialize, Serializer};

use super::redact;
use crate::text;

/// The end of the line that stands where a text was clipped.
const LEFT_OUT: &str = " bytes left out]\n";

/// A text without control characters and secrets.
///
/// Only redaction makes one from incoming text: [`redact_text`], [`redact_list`], [`redact_json`]. Others are cut
/// from one, composed of several in this crate, or [read back from the store](Self::from_store).
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RedactedText(Box<str>);

/// The result of redacting a text or a list of texts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cleaned<T> {
    /// The text or texts.
    pub value: T,
    /// How many places were replaced.
    pub count: usize,
}

/// Removes control characters from a text, then secrets. The order matters: control characters could hide a secret.
pub fn redact_text(text: &str) -> Cleaned<RedactedText> {
    let visible = text::strip_control_chars(text);
    let redacted = redact(&visible);
    Cleaned { count: redacted.count, value: RedactedText(redacted.text.into()) }
}

/// Redacts each text of a list, and then the whole list, in case a secret begins in one text and ends in another:
/// joined as lines, and as one line with commas.
pub fn redact_list<S: AsRef<str>>(texts: &[S]) -> Cleaned<Vec<RedactedText>> {
    let one_by_one: Vec<_> = texts.iter().map(|text| redact_text(text.as_ref())).collect();
    let count = one_by_one.iter().map(|one| one.count).sum();
    let kept: Vec<_> = one_by_one.into_iter().map(|one| one.value).collect();
    if kept.len() > 1 {
        for separator in ["\n", ","] {
            let whole = redact_text(&join(texts, separator));
            if whole.count > 0 && *whole.value != kept.join(separator) {
                let parts = whole.value.split(separator).map(RedactedText::derived).collect();
                return Cleaned { value: parts, count: whole.count };
            }
        }
    }
    Cleaned { value: kept, count }
}

/// A value as JSON with each text in it redacted. Names of fields are this program's own and stay.
pub fn redact_json(value: &serde_json::Value) -> Cleaned<RedactedText> {
    let mut value = value.clone();
    let count = redact_leaves(&mut value);
    Cleaned { value: RedactedText::derived(value.to_string()), count }
}

/// Redacts the texts of a value and counts the replacements. The depth of a value is bounded by its Rust type.
fn redact_leaves(value: &mut serde_json::Value) -> usize {
    match value {
        serde_json::Value::String(text) => {
            let cleaned = redact_text(text);
            *text = cleaned.value.into();
            cleaned.count
        }
        serde_json::Value::Array(values) => values.iter_mut().map(redact_leaves).sum(),
        serde_json::Value::Object(fields) => fields.values_mut().map(redact_leaves).sum(),
        _ => 0,
    }
}

fn join<S: AsRef<str>>(texts: &[S], separator: &str) -> String {
    let texts: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
    texts.join(separator)
}

impl RedactedText {
    /// A text from the store, redacted before it was written. Only the store may call this.
    pub fn from_store(text: String) -> Self {
        Self(text.into())
    }

    /// A text made of redacted texts and this program's own words.
    pub(crate) fn derived(text: impl Into<Box<str>>) -> Self {
        Self(text.into())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text on one line, as [`text::one_line`] makes it.
    #[must_use]
    pub fn one_line(&self) -> Self {
        Self::derived(text::one_line(self))
    }

    /// The beginning of the text, of at most `max` characters.
    #[must_use]
    pub fn cut_chars(&self, max: usize) -> Self {
        Self::derived(text::cut_chars(self, max))
    }

    /// The beginning of the text, of at most `max` bytes.
    #[must_use]
    pub fn cut_bytes(&self, max: usize) -> Self {
        Self::derived(text::cut_bytes(self, max))
    }

    /// The text, or its head and tail if it exceeds `max` bytes, with a line between them that says how much is
    /// left out.
    #[must_use]
    pub fn clipped(&self, max: usize) -> Self {
        /// Room for the line between.
        const LINE: usize = 64;
        if self.len() <= max {
            return self.clone();
        }
        let room = max.saturating_sub(LINE);
        let head = text::cut_bytes(self, room / 4 * 3);
        let mut from = self.len() - (room - room / 4 * 3);
        while !self.is_char_boundary(from) {
            from += 1;
        }
        let left_out = from - head.len();
        Self::derived(format!("{head}\n[… {left_out}{LEFT_OUT}{}", &self[from..]))
    }

    /// Whether [`Self::clipped`] left something out.
    pub fn is_clipped(&self) -> bool {
        self.contains(LEFT_OUT)
    }

    /// The part of the text from byte `offset`, at most `max` bytes, and the offset of the next part.
    #[must_use]
    pub fn slice_bytes(&self, offset: usize, max: usize) -> (Self, Option<usize>) {
        let (piece, next) = text::slice_bytes(self, offset, max);
        (Self::derived(piece), next)
    }

    /// The text without blanks at its ends.
    #[must_use]
    pub fn trimmed(&self) -> Self {
        Self::derived(self.trim())
    }
}

impl Deref for RedactedText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for RedactedText {
    fn as_ref(&self) -> &str {
        self
    }
}

impl Borrow<str> for RedactedText {
    fn borrow(&self) -> &str {
        self
    }
}

impl fmt::Display for RedactedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self)
    }
}

impl fmt::Debug for RedactedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl Serialize for RedactedText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

impl PartialEq<str> for RedactedText {
    fn eq(&self, other: &str) -> bool {
        **self == *other
    }
}

impl PartialEq<&str> for RedactedText {
    fn eq(&self, other: &&str) -> bool {
        **self == **other
    }
}

impl PartialEq<String> for RedactedText {
    fn eq(&self, other: &String) -> bool {
        **self == **other
    }
}

impl PartialEq<RedactedText> for String {
    fn eq(&self, other: &RedactedText) -> bool {
        **self == **other
    }
}

impl From<RedactedText> for String {
    fn from(text: RedactedText) -> Self {
        text.0.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_redacted_as_a_whole_where_a_secret_reaches_over_its_texts() {
        let key = ["-----BEGIN RSA PRIVATE KEY-----", "MIIEowIBAAKCAQEA", "-----END RSA PRIVATE KEY-----"];
        let cases: &[(&[&str], &[&str], usize)] = &[
            (&["a", "b"], &["a", "b"], 0),
            (&["<private>a</private>", "b"], &["[REDACTED:private]", "b"], 1),
            (&["<private>one", "two</private>", "seen"], &["[REDACTED:private]", "seen"], 1),
            (
                &["postgres://u:pass", "word9@h/db", "x"],
                &["postgres://u:[REDACTED:url-password]@h/db", "x"],
                1,
            ),
            (&key, &["[REDACTED:private-key]"], 1),
            (&[], &[], 0),
        ];
        for (texts, kept, count) in cases {
            let cleaned = redact_list(texts);
            assert_eq!(cleaned.value, *kept, "{texts:?}");
            assert_eq!(cleaned.count, *count, "{texts:?}");
        }
    }

    #[test]
    fn a_secret_with_control_characters_is_found() {
        let cleaned = redact_text("use ghp_aB3dE6gH9jK2mN5\u{0}pQ8rS1tU4vW7xY0zCaB3d\u{7}");
        assert_eq!((cleaned.value.as_str(), cleaned.count), ("use [REDACTED:github-token]", 1));
    }

    #[test]
    fn a_clipped_text_keeps_head_and_tail() {
        let text = redact_text(&format!("é{}é", "·".repeat(1_000))).value;
        assert_eq!(text.clipped(2_004), text);
        let short = text.clipped(200);
        assert!(short.is_clipped() && !text.is_clipped());
        assert!(short.len() <= 200 && short.starts_with('é') && short.ends_with("·é"), "{short}");
        assert!(short.contains("bytes left out]"), "{short}");
    }

    #[test]
    fn what_is_cut_from_a_redacted_text_is_redacted() {
        let text = redact_text(" one\ntwo three ").value;
        assert_eq!(text.one_line(), "one two three");
        assert_eq!(text.trimmed(), "one\ntwo three");
        assert_eq!(text.cut_bytes(4), " one");
        let (piece, next) = text.slice_bytes(1, 3);
        assert_eq!((piece.as_str(), next), ("one", Some(4)));
        assert_eq!(serde_json::to_string(&text).unwrap(), "\" one\\ntwo three \"");
    }
}
