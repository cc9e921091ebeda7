//! Invisible code points, which hide a secret from a search because they split it.

use std::{borrow::Cow, ops::Range};

use crate::text::is_ignorable;

/// A text without its invisible code points, and a map of its positions to those in the original text.
pub(super) struct Visible<'a> {
    pub text: Cow<'a, str>,
    /// For each run that was left out: its position in `text`, and the total bytes left out up to its end.
    left_out: Vec<(usize, usize)>,
}

impl<'a> Visible<'a> {
    pub fn of(text: &'a str) -> Self {
        if text.is_ascii() || !text.contains(is_ignorable) {
            return Self { text: Cow::Borrowed(text), left_out: Vec::new() };
        }
        let mut shown = String::with_capacity(text.len());
        let mut left_out: Vec<(usize, usize)> = Vec::new();
        for c in text.chars() {
            if !is_ignorable(c) {
                shown.push(c);
                continue;
            }
            let sum = left_out.last().map_or(0, |(_, sum)| *sum) + c.len_utf8();
            match left_out.last_mut() {
                Some(last) if last.0 == shown.len() => last.1 = sum,
                _ => left_out.push((shown.len(), sum)),
            }
        }
        Self { text: Cow::Owned(shown), left_out }
    }

    /// Whether the original has invisible code points.
    pub fn hides(&self) -> bool {
        !self.left_out.is_empty()
    }

    /// The range of the original text, without invisible code points at its ends.
    pub fn original(&self, range: &Range<usize>) -> Range<usize> {
        let before = |runs: usize| runs.checked_sub(1).map_or(0, |last| self.left_out[last].1);
        let start = self.left_out.partition_point(|(at, _)| *at <= range.start);
        let end = self.left_out.partition_point(|(at, _)| *at < range.end);
        range.start + before(start)..range.end + before(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_map_back_to_the_original_text() {
        let text = "\u{feff}a\u{200b}\u{200d}bc\u{ad}d\u{2060}";
        let visible = Visible::of(text);
        assert_eq!(visible.text, "abcd");
        assert_eq!(&text[visible.original(&(0..1))], "a");
        assert_eq!(&text[visible.original(&(0..2))], "a\u{200b}\u{200d}b");
        assert_eq!(&text[visible.original(&(1..4))], "bc\u{ad}d");
        assert!(matches!(Visible::of("plain é").text, Cow::Borrowed(_)));
    }
}
