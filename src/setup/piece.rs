//! The pieces that setup puts into files and takes out again.

use std::path::PathBuf;

use serde_json::Value;

use super::{block, json, table};

const BYTE_ORDER_MARK: char = '\u{feff}';

/// The purpose of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The server's entry.
    Server,
    /// Rules that allow reads and saves without asking.
    Permissions,
    /// Commands that the agent runs during a session.
    Hooks,
    /// Further commands that the agent runs for the journal of work.
    Journal,
    /// The text that tells the agent when to save and how to search.
    Instructions,
    /// A file that is not an agent's: the service, or shell completions.
    Machine,
    /// A piece that only earlier versions put in. The next setup removes it.
    Former,
}

impl Part {
    /// The name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Permissions => "permissions",
            Self::Hooks => "hooks",
            Self::Journal => "journal",
            Self::Instructions => "instructions",
            Self::Machine => "machine",
            Self::Former => "former",
        }
    }
}

/// The format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// JSON, possibly with comments and trailing commas.
    Json,
    /// TOML.
    Toml,
    /// A user's text that contains Cerebro's block between two marks.
    Block,
    /// A file that Cerebro writes whole.
    Whole,
}

/// The contents of a piece.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// A value under a path of keys. An object's members are merged into an existing object. Taking it out removes
    /// the whole value.
    Entry { path: Vec<String>, value: Value },
    /// A value under a path of keys, unless there is one already. It is removed only if nothing else is left in the
    /// file.
    Default { path: Vec<String>, value: Value },
    /// An element of a list under a path of keys. It is recognised by `marks`: its compact JSON contains one of them.
    /// The first mark is in the present form, the others are in the forms of earlier versions.
    Element { path: Vec<String>, value: Value, marks: Vec<String> },
    /// A block or a whole file.
    Text(String),
}

/// One piece of a file, and its purpose.
#[derive(Debug, Clone, PartialEq)]
pub struct Piece {
    pub part: Part,
    pub content: Content,
}

/// A file of an agent, and everything that can be put into it.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    pub path: PathBuf,
    pub format: Format,
    pub pieces: Vec<Piece>,
}

/// Why a file's text cannot be edited.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PieceError {
    /// It does not have its format.
    #[error("line {line}, column {column}: {reason}")]
    Malformed { line: usize, column: usize, reason: String },
    /// Another kind of value is in the piece's place.
    #[error("`{location}` is not {expected}")]
    Occupied { location: String, expected: &'static str },
    /// Cerebro did not write the file of that name.
    #[error("it was not written by Cerebro")]
    Foreign,
    /// Somebody changed the file after Cerebro wrote it.
    #[error("somebody changed it after Cerebro wrote it")]
    Edited,
}

impl Format {
    /// The text with the pieces. Pieces that are up to date change nothing.
    ///
    /// # Errors
    /// [`PieceError`]
    pub fn put(self, text: &str, pieces: &[&Piece]) -> Result<String, PieceError> {
        let (mark, text) = without_mark(text);
        let put = match self {
            Self::Json => json::put(text, pieces)?,
            Self::Toml => table::put(text, pieces)?,
            Self::Block => texts(pieces).fold(text.to_owned(), |text, block| block::put(&text, block)),
            Self::Whole => match texts(pieces).next() {
                Some(_) if !text.is_empty() && !block::is_written_by_cerebro(text) => {
                    return Err(PieceError::Foreign);
                }
                Some(whole) => whole.to_owned(),
                None => text.to_owned(),
            },
        };
        Ok(format!("{mark}{put}"))
    }

    /// The text without the pieces. Restores the values that `base`, the text before setup, had in their place.
    ///
    /// # Errors
    /// [`PieceError`]
    pub fn take(self, text: &str, pieces: &[&Piece], base: Option<&str>) -> Result<String, PieceError> {
        let (mark, text) = without_mark(text);
        let base = base.map(|base| without_mark(base).1);
        let taken = match self {
            Self::Json => json::take(text, pieces, base)?,
            Self::Toml => table::take(text, pieces, base)?,
            Self::Block if pieces.is_empty() => text.to_owned(),
            Self::Block => block::take(text),
            Self::Whole if !pieces.is_empty() && block::is_written_by_cerebro(text) => {
                return Ok(String::new());
            }
            Self::Whole => text.to_owned(),
        };
        Ok(format!("{mark}{taken}"))
    }

    /// The value at a path of keys, in a format that has keys.
    pub fn value_at(self, text: &str, path: &[String]) -> Option<Value> {
        let (_, text) = without_mark(text);
        match self {
            Self::Json => json::value_at(text, path),
            Self::Toml => table::value_at(text, path),
            Self::Block | Self::Whole => None,
        }
    }

    /// Whether a text has no content. If setup created such a file, it may be removed.
    pub fn is_blank(self, text: &str) -> bool {
        let text = text.trim();
        text.is_empty() || (self == Self::Json && json::is_blank(text))
    }
}

impl Target {
    /// The pieces whose part is wanted.
    pub fn pieces_of(&self, wanted: impl Fn(Part) -> bool) -> Vec<&Piece> {
        self.pieces.iter().filter(|piece| wanted(piece.part)).collect()
    }

    /// Why a text does not have the file's format.
    pub fn error_in(&self, text: &str) -> Option<PieceError> {
        self.format.put(text, &[]).err()
    }

    /// Whether a text has all pieces of a part, up to date; `None` if the target has no such part.
    pub fn holds(&self, text: &str, part: Part) -> Option<bool> {
        let pieces = self.pieces_of(|each| each == part);
        if pieces.is_empty() {
            return None;
        }
        Some(self.format.put(text, &pieces).is_ok_and(|put| put == text))
    }
}

/// The byte order mark that some editors write at the beginning of a file, and the text after it.
fn without_mark(text: &str) -> (&str, &str) {
    text.split_at(if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len_utf8() } else { 0 })
}

fn texts<'a>(pieces: &'a [&Piece]) -> impl Iterator<Item = &'a str> {
    pieces.iter().filter_map(|piece| match &piece.content {
        Content::Text(text) => Some(text.as_str()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn line_ends_and_a_byte_order_mark_stay() {
        let path = vec!["servers".to_owned(), "cerebro".to_owned()];
        let value = json!({ "command": "c" });
        let piece = Piece {
            part: Part::Server,
            content: Content::Entry { path: path.clone(), value: value.clone() },
        };
        for (format, text) in [
            (Format::Toml, "[a]\nb = 1 # why\n"),
            (Format::Toml, "a = 1"),
            (Format::Json, "{\n  // why\n  \"a\": 1\n}\n"),
            (Format::Json, "{ \"servers\": {} }"),
        ] {
            for text in [text.to_owned(), text.replace('\n', "\r\n"), format!("{BYTE_ORDER_MARK}{text}")] {
                let with = format.put(&text, &[&piece]).unwrap();
                assert_eq!(format.value_at(&with, &path).as_ref(), Some(&value), "{with:?}");
                assert_eq!(with.matches("\r\n").count() > 0, text.contains("\r\n"), "{with:?}");
                assert_eq!(with.starts_with(BYTE_ORDER_MARK), text.starts_with(BYTE_ORDER_MARK), "{with:?}");
                let is_mixed = with.contains("\r\n") && with.replace("\r\n", "").contains('\n');
                assert!(!is_mixed, "{with:?}");
                let left = format.take(&with, &[&piece], Some(&text)).unwrap();
                assert_eq!(format.value_at(&left, &path), None, "{left:?}");
                if format == Format::Toml {
                    // The last line gets its end.
                    assert_eq!(left.trim_end(), text.trim_end());
                }
                for nothing in [&[][..], &[&piece]] {
                    assert_eq!(format.take(&text, nothing, Some(&text)).unwrap(), text, "nothing to take");
                }
            }
        }
    }
}
