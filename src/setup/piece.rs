//! The pieces that are put into files, and how they are taken out again.

use std::path::PathBuf;

use serde_json::Value;

use super::{block, json, table};

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
    /// What only earlier versions put in. It is never wanted, so the next setup takes it out.
    Former,
}

impl Part {
    /// The name that people read.
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
    /// A text of the user's that contains our block between two marks.
    Block,
    /// A file that is wholly ours.
    Whole,
}

/// The contents of a piece.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// A value under a path of keys. An object's members are merged into an existing one; taking out removes the
    /// whole value.
    Entry { path: Vec<String>, value: Value },
    /// A value under a path of keys. An existing value stays, and ours is removed if nothing else is left of the
    /// file.
    Default { path: Vec<String>, value: Value },
    /// An element of a list under a path of keys. Ours is the one whose compact JSON contains one of `marks`: the
    /// first is in what is written now, the others are in what earlier versions wrote.
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
    /// Something else is in the place of our part.
    #[error("`{location}` is not {expected}")]
    Occupied { location: String, expected: &'static str },
    /// A file of that name is not ours.
    #[error("it was not written by Cerebro")]
    Foreign,
    /// A file of ours was changed since.
    #[error("somebody changed it since Cerebro wrote it")]
    Edited,
}

impl Format {
    /// The text with the pieces; pieces that are up to date change nothing.
    ///
    /// # Errors
    /// [`PieceError`]
    pub fn put(self, text: &str, pieces: &[&Piece]) -> Result<String, PieceError> {
        match self {
            Self::Json => json::put(text, pieces),
            Self::Toml => table::put(text, pieces),
            Self::Block => Ok(texts(pieces).fold(text.to_owned(), |text, block| block::put(&text, block))),
            Self::Whole => match texts(pieces).next() {
                Some(_) if !text.is_empty() && !block::is_ours(text) => Err(PieceError::Foreign),
                Some(whole) => Ok(whole.to_owned()),
                None => Ok(text.to_owned()),
            },
        }
    }

    /// The text without the pieces. Restores what `base`, the text before anything was put in, had in their place.
    ///
    /// # Errors
    /// [`PieceError`]
    pub fn take(self, text: &str, pieces: &[&Piece], base: Option<&str>) -> Result<String, PieceError> {
        match self {
            Self::Json => json::take(text, pieces, base),
            Self::Toml => table::take(text, pieces, base),
            Self::Block if pieces.is_empty() => Ok(text.to_owned()),
            Self::Block => Ok(block::take(text)),
            Self::Whole if !pieces.is_empty() && block::is_ours(text) => Ok(String::new()),
            Self::Whole => Ok(text.to_owned()),
        }
    }

    /// Whether a text is empty of content, so that a file that was created for our piece may be removed.
    pub fn is_blank(self, text: &str) -> bool {
        let text = text.trim();
        text.is_empty() || (self == Self::Json && json::is_blank(text))
    }
}

impl Target {
    /// The pieces whose part is wanted, or not.
    pub fn pieces_of(&self, wanted: impl Fn(Part) -> bool) -> Vec<&Piece> {
        self.pieces.iter().filter(|piece| wanted(piece.part)).collect()
    }

    /// Why a text does not have the file's format.
    pub fn error_in(&self, text: &str) -> Option<PieceError> {
        self.format.put(text, &[]).err()
    }

    /// Whether all pieces of a part are in a text and up to date; `None` when the target has no such part.
    pub fn holds(&self, text: &str, part: Part) -> Option<bool> {
        let pieces = self.pieces_of(|each| each == part);
        if pieces.is_empty() {
            return None;
        }
        Some(self.format.put(text, &pieces).is_ok_and(|put| put == text))
    }
}

fn texts<'a>(pieces: &'a [&Piece]) -> impl Iterator<Item = &'a str> {
    pieces.iter().filter_map(|piece| match &piece.content {
        Content::Text(text) => Some(text.as_str()),
        _ => None,
    })
}
