//! How much text fits on a page, in bytes of HTML. There, a `<` takes several bytes.

use std::borrow::Cow;

use cerebro_core::text;

/// Bytes of the longest escape of one of HTML's own characters (`&quot;`).
pub const ESCAPED_BYTES: usize = 6;
/// The mark of a cut text.
const CUT: &str = "…";

fn of(c: char) -> usize {
    if matches!(c, '<' | '>' | '&' | '"' | '\'') { ESCAPED_BYTES } else { c.len_utf8() }
}

/// The bytes that a text takes as HTML, at most.
pub fn weight(text: &str) -> usize {
    text.chars().map(of).sum()
}

/// The longest prefix that takes at most `most` bytes as HTML, but at least one character, so that repeated calls
/// reach the end.
pub fn piece(text: &str, most: usize) -> &str {
    let mut taken = 0;
    for (at, c) in text.char_indices() {
        taken += of(c);
        if at > 0 && taken > most {
            return &text[..at];
        }
    }
    text
}

/// The text within `most` bytes as HTML; a longer one is cut and marked.
pub fn cut(text: &str, most: usize) -> Cow<'_, str> {
    if weight(text) <= most {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{}{CUT}", piece(text, most.saturating_sub(CUT.len()))))
}

/// The same on one line of at most `chars` characters.
pub fn line(text: &str, chars: usize, most: usize) -> String {
    cut(&text::cut_chars(text, chars), most).into_owned()
}

/// The remaining bytes of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteBudget(pub usize);

impl ByteBudget {
    /// Takes these bytes if there are enough left.
    pub fn takes(&mut self, bytes: usize) -> bool {
        match self.0.checked_sub(bytes) {
            Some(left) => {
                self.0 = left;
                true
            }
            None => false,
        }
    }

    /// The first items that fit, but at least one, so that repeated calls reach the end.
    pub fn fill<T>(&mut self, things: impl IntoIterator<Item = T>, weight: impl Fn(&T) -> usize) -> Vec<T> {
        let mut kept = Vec::new();
        for thing in things {
            if !self.takes(weight(&thing)) && !kept.is_empty() {
                break;
            }
            kept.push(thing);
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_html_writes_longer_is_counted_so() {
        assert_eq!((weight("ab"), weight("<\""), weight("日本")), (2, 12, 6));
        assert_eq!((piece("日本", 3), piece("日本", 1), piece("", 5)), ("日", "日", ""));
        assert_eq!(
            (cut("abc", 3), cut("abcdef", 5), cut("<<<", 15)),
            ("abc".into(), "ab…".into(), "<<…".into())
        );
        assert_eq!(line("a b c d", 5, 100), text::cut_chars("a b c d", 5));
    }

    #[test]
    fn a_page_takes_what_fits_and_at_least_one() {
        let mut room = ByteBudget(10);
        assert!(room.takes(4) && !room.takes(7) && room.takes(6) && !room.takes(1));
        assert_eq!(ByteBudget(5).fill(["ab", "cd", "ef"], |text| text.len()), ["ab", "cd"]);
        assert_eq!(ByteBudget(1).fill(["ab", "cd"], |text| text.len()), ["ab"]);
        assert_eq!(ByteBudget(9).fill(Vec::<&str>::new(), |text| text.len()), Vec::<&str>::new());
    }
}
