//! Invisible code points, which hide a secret from a search because they split it.

use std::{borrow::Cow, ops::Range};

/// A text without its invisible code points, and a map of its positions to those in the original text.
pub(super) struct Visible<'a> {
    pub text: Cow<'a, str>,
    /// For each run that was left out: its position in `text`, and the total bytes left out up to its end.
    left_out: Vec<(usize, usize)>,
}

impl<'a> Visible<'a> {
    pub fn of(text: &'a str) -> Self {
        if text.is_ascii() || !text.contains(is_hidden) {
            return Self { text: Cow::Borrowed(text), left_out: Vec::new() };
        }
        let mut shown = String::with_capacity(text.len());
        let mut left_out: Vec<(usize, usize)> = Vec::new();
        for c in text.chars() {
            if !is_hidden(c) {
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

/// The default-ignorable code points of Unicode.
fn is_hidden(c: char) -> bool {
    // Shortcut: nearly all text is below the first of them.
    c >= '\u{ad}'
        && matches!(
            c,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'..='\u{1160}'
                | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{202a}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fff8}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        )
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
