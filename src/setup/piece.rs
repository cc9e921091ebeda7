//! What is put into a file, and how it is taken out again.

use std::path::PathBuf;

use serde_json::Value;

use super::{block, json, table};

/// What a piece is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The server's entry.
    Server,
    /// Rules that let reads and saves through without asking.
    Permissions,
    /// Commands that the agent runs at moments of a session.
    Hooks,
    /// Commands that the agent runs for the journal of work, beside those.
    Journal,
    /// The text that tells the agent when to save and how to search.
    Instructions,
    /// A file that is not an agent's: the service, or completions of a shell.
    Machine,
    /// What earlier versions put in and this one does not. It is never wanted, so the next set-up takes it out.
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

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// JSON, perhaps with comments and trailing commas.
    Json,
    /// TOML.
    Toml,
    /// A text of the user's in which a block of ours stands between two marks.
    Block,
    /// A file that is ours alone.
    Whole,
}

/// One thing in a file.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// A value under a path of keys. An object's members are put into what stands there; taking out removes
    /// the whole value.
    Entry { path: Vec<String>, value: Value },
    /// A value under a path of keys that stays as it is where there is one, and goes when it is all that is
    /// left of the file.
    Default { path: Vec<String>, value: Value },
    /// An element of a list under a path of keys. Ours is the one whose compact JSON holds one of `marks`: the
    /// first is in what is written now, the others were in what earlier versions wrote.
    Element { path: Vec<String>, value: Value, marks: Vec<String> },
    /// A block or a whole file.
    Text(String),
}

/// One thing in a file, and what it is for.
#[derive(Debug, Clone, PartialEq)]
pub struct Piece {
    pub part: Part,
    pub content: Content,
}

/// A file of an agent's, and everything that can be put into it.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    pub path: PathBuf,
    pub format: Format,
    pub pieces: Vec<Piece>,
}

/// Why a file's text cannot be edited.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// It cannot be read as what it should be.
    #[error("line {line}, column {column}: {reason}")]
    Malformed { line: usize, column: usize, reason: String },
    /// Something else stands where our part should go.
    #[error("`{place}` is not {expected}")]
    Occupied { place: String, expected: &'static str },
    /// A file of that name is not ours.
    #[error("it was not written by Cerebro")]
    Foreign,
    /// A file that was ours was changed since.
    #[error("somebody changed it since Cerebro wrote it")]
    Edited,
}

impl Format {
    /// The text with the pieces in it; pieces that are there as they should be change nothing.
    ///
    /// # Errors
    /// [`Fault`]
    pub fn put(self, text: &str, pieces: &[&Piece]) -> Result<String, Fault> {
        match self {
            Self::Json => json::put(text, pieces),
            Self::Toml => table::put(text, pieces),
            Self::Block => Ok(texts(pieces).fold(text.to_owned(), |text, block| block::put(&text, block))),
            Self::Whole => match texts(pieces).next() {
                Some(_) if !text.is_empty() && !block::is_ours(text) => Err(Fault::Foreign),
                Some(whole) => Ok(whole.to_owned()),
                None => Ok(text.to_owned()),
            },
        }
    }

    /// The text without the pieces. What `base`, the text before anything was put in, had in their place
    /// comes back.
    ///
    /// # Errors
    /// [`Fault`]
    pub fn take(self, text: &str, pieces: &[&Piece], base: Option<&str>) -> Result<String, Fault> {
        match self {
            Self::Json => json::take(text, pieces, base),
            Self::Toml => table::take(text, pieces, base),
            Self::Block if pieces.is_empty() => Ok(text.to_owned()),
            Self::Block => Ok(block::take(text)),
            Self::Whole if !pieces.is_empty() && block::is_ours(text) => Ok(String::new()),
            Self::Whole => Ok(text.to_owned()),
        }
    }

    /// Whether a text says nothing, so that a file that was made for ours may go.
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

    /// Why a text cannot be read as what the file should be.
    pub fn fault(&self, text: &str) -> Option<Fault> {
        self.format.put(text, &[]).err()
    }

    /// Whether all pieces of a part are in a text as they should be; `None` when the target has no such part.
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
