//! A text without parts that split a secret, and a map of its positions to those in the original text.

use std::{borrow::Cow, ops::Range};

use crate::text::is_ignorable;

/// A text without some of its parts.
pub(super) struct View<'a> {
    pub text: Cow<'a, str>,
    /// For each run that was left out: its position in `text`, and the total bytes left out up to its end.
    left_out: Vec<(usize, usize)>,
}

impl<'a> View<'a> {
    /// Without invisible code points.
    pub fn visible(text: &'a str) -> Self {
        if text.is_ascii() {
            return Self::without(text, []);
        }
        let ignorable = text.char_indices().filter(|(_, c)| is_ignorable(*c));
        Self::without(text, ignorable.map(|(at, c)| at..at + c.len_utf8()))
    }

    /// Without these ranges, which are in order.
    pub fn without(text: &'a str, ranges: impl IntoIterator<Item = Range<usize>>) -> Self {
        let mut ranges = ranges.into_iter().peekable();
        if ranges.peek().is_none() {
            return Self { text: Cow::Borrowed(text), left_out: Vec::new() };
        }
        let mut kept = String::with_capacity(text.len());
        let mut left_out: Vec<(usize, usize)> = Vec::new();
        let (mut at, mut sum) = (0, 0);
        for range in ranges {
            kept.push_str(&text[at..range.start]);
            at = range.end;
            sum += range.len();
            match left_out.last_mut() {
                Some(last) if last.0 == kept.len() => last.1 = sum,
                _ => left_out.push((kept.len(), sum)),
            }
        }
        kept.push_str(&text[at..]);
        Self { text: Cow::Owned(kept), left_out }
    }

    /// Whether the original has more.
    pub fn hides(&self) -> bool {
        !self.left_out.is_empty()
    }

    /// The range of the original text, without what was left out at its ends.
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
        let visible = View::visible(text);
        assert_eq!(visible.text, "abcd");
        assert_eq!(&text[visible.original(&(0..1))], "a");
        assert_eq!(&text[visible.original(&(0..2))], "a\u{200b}\u{200d}b");
        assert_eq!(&text[visible.original(&(1..4))], "bc\u{ad}d");
        assert!(matches!(View::visible("plain é").text, Cow::Borrowed(_)));
        let joined = View::without("ab\n  cd", std::iter::once(2..5));
        assert_eq!((joined.text.as_ref(), joined.original(&(1..3))), ("abcd", 1..6));
        assert_eq!((joined.original(&(0..2)), joined.original(&(2..4))), (0..2, 5..7));
    }
}
