//! An input line.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use unicode_segmentation::UnicodeSegmentation;

use super::fit;

/// Longest text in a line, in characters.
const CHARS_MAX: usize = 200;

/// The text, and the position of the cursor in bytes, which is between grapheme clusters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Input {
    text: String,
    at: usize,
}

impl Input {
    /// The typed text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it is empty or has only blanks.
    pub fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// Removes the text.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Inserts a text as one line, without control characters.
    pub fn insert(&mut self, piece: &str) {
        let piece: String = fit::clean(piece).replace('\n', " ");
        let room = CHARS_MAX.saturating_sub(self.text.chars().count());
        let piece: String = piece.chars().take(room).collect();
        self.text.insert_str(self.at, &piece);
        self.at += piece.len();
    }

    /// Handles a key. Returns whether it was for this line.
    pub fn key(&mut self, key: KeyEvent) -> bool {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('u') if control => self.text.replace_range(..std::mem::take(&mut self.at), ""),
            KeyCode::Char('w') if control => self.remove_word(),
            KeyCode::Char('a') if control => self.at = 0,
            KeyCode::Char('e') if control => self.at = self.text.len(),
            KeyCode::Char(_) if control || key.modifiers.contains(KeyModifiers::ALT) => return false,
            KeyCode::Char(c) => self.insert(c.encode_utf8(&mut [0; 4])),
            KeyCode::Backspace => {
                let before = self.before();
                self.text.replace_range(before..self.at, "");
                self.at = before;
            }
            KeyCode::Delete => self.text.replace_range(self.at..self.after(), ""),
            KeyCode::Left => self.at = self.before(),
            KeyCode::Right => self.at = self.after(),
            KeyCode::Home => self.at = 0,
            KeyCode::End => self.at = self.text.len(),
            _ => return false,
        }
        true
    }

    fn before(&self) -> usize {
        self.at - self.text[..self.at].graphemes(true).next_back().map_or(0, str::len)
    }

    fn after(&self) -> usize {
        self.at + self.text[self.at..].graphemes(true).next().map_or(0, str::len)
    }

    fn remove_word(&mut self) {
        let head = self.text[..self.at].trim_end();
        let start = head.rfind(' ').map_or(0, |blank| blank + 1);
        self.text.replace_range(start..self.at, "");
        self.at = start;
    }

    /// The part of the text that fits into `columns` together with the cursor, and the cursor's column.
    pub fn shown(&self, columns: usize) -> (String, usize) {
        let head = &self.text[..self.at];
        let mut from = 0;
        for (at, _) in head.grapheme_indices(true).chain([(head.len(), "")]) {
            from = at;
            if fit::width(&head[at..]) < columns {
                break;
            }
        }
        (fit::cut(&self.text[from..], columns), fit::width(&head[from..]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(input: &mut Input, code: KeyCode, modifiers: KeyModifiers) {
        input.key(KeyEvent::new(code, modifiers));
    }

    #[test]
    fn typing_goes_by_clusters() {
        let mut input = Input::default();
        input.insert("ae\u{301}日");
        press(&mut input, KeyCode::Left, KeyModifiers::NONE);
        press(&mut input, KeyCode::Backspace, KeyModifiers::NONE);
        assert_eq!(input.text(), "a日");
        press(&mut input, KeyCode::Char('x'), KeyModifiers::NONE);
        press(&mut input, KeyCode::Delete, KeyModifiers::NONE);
        assert_eq!(input.text(), "ax");
        input.insert(" two words");
        press(&mut input, KeyCode::Char('w'), KeyModifiers::CONTROL);
        assert_eq!(input.text(), "ax two ");
        press(&mut input, KeyCode::Char('u'), KeyModifiers::CONTROL);
        assert_eq!(input.text(), "");
    }

    #[test]
    fn pasted_text_is_one_bounded_line() {
        let mut input = Input::default();
        input.insert("a\nb\u{1b}[31m");
        assert_eq!(input.text(), "a b[31m");
        input.insert(&"y".repeat(500));
        assert_eq!(input.text().chars().count(), CHARS_MAX);
    }

    #[test]
    fn the_cursor_of_a_field_is_always_shown() {
        let mut input = Input::default();
        input.insert("0123456789");
        assert_eq!(input.shown(20), ("0123456789".to_owned(), 10));
        assert_eq!(input.shown(5), ("6789".to_owned(), 4));
        press(&mut input, KeyCode::Home, KeyModifiers::NONE);
        assert_eq!(input.shown(5), ("0123…".to_owned(), 0));
    }
}
