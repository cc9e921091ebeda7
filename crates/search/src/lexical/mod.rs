//! The lexical leg of search: a tantivy index, derived from the store, that can be deleted and rebuilt at any
//! time.
//!
//! Saves queue their changes in memory, which are committed in the background, several at a time. A search reads
//! the committed segments and the queued changes, as a segment in memory. So it sees every save that was
//! acknowledged before it began.

mod browse;
mod candidates;
mod directory;
mod finder;
mod fold;
mod holders;
mod index;
mod mark;
mod merge;
mod opening;
mod passage;
mod preview;
mod query;
mod scan;
mod schema;
mod search;
mod segment_table;
mod tokenizer;
mod view;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tantivy::TantivyError;

pub use browse::Listing;
pub use index::Index;
pub use query::{Archived, Projects, Query};
pub use search::{Answer, Hit};

use cerebro_core::domain::{Body, SessionId, SubjectId, Taint, Timestamp, Validity};
use cerebro_core::redact::RedactedText;

/// What the index holds of a memory.
#[derive(Debug, Clone)]
pub struct Doc {
    pub id: SubjectId,
    /// Its tags are normalised like those of [`Query::tags`].
    pub body: Body,
    pub agent: RedactedText,
    /// When this revision was written.
    pub date: Timestamp,
    /// The session that wrote it.
    pub session: Option<SessionId>,
    /// Band keys of the content's MinHash: near-identical contents share one.
    pub near_keys: Vec<u64>,
    /// A hash of the normalised title.
    pub title_key: u64,
    /// The period in which it is true.
    pub valid: Validity,
    /// Whether it is archived.
    pub archived: bool,
    /// Its origin and flags, which a hit shows.
    pub taint: Taint,
    /// The first and last moment at which the store held it, in an index of the past: see [`Change::Past`].
    pub held: (Timestamp, Timestamp),
}

cerebro_core::embeds_body!(Doc);

/// A step that the index follows.
#[derive(Debug, Clone)]
pub enum Change {
    /// The memory is new or has a new revision.
    Put(Box<Doc>),
    /// The texts of a memory, each with the period in which the store held it. For an index of the past, in which
    /// one memory is found by several texts. The texts belong to this memory, and their periods do not overlap.
    Past(SubjectId, Vec<Doc>),
    /// The memory is deleted and may come back.
    Remove(SubjectId),
    /// The memory is purged: once flushed, no file of the index holds a byte of its text.
    Erase(SubjectId),
}

impl Change {
    /// The memory it is about.
    pub fn id(&self) -> &SubjectId {
        match self {
            Self::Put(doc) => &doc.id,
            Self::Past(id, _) | Self::Remove(id) | Self::Erase(id) => id,
        }
    }

    /// The texts by which the memory is found from now on.
    fn docs(&self) -> &[Doc] {
        match self {
            Self::Put(doc) => std::slice::from_ref(&**doc),
            Self::Past(_, docs) => docs,
            Self::Remove(_) | Self::Erase(_) => &[],
        }
    }
}

/// How far the index follows a store's log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// The id of the store: numbers of events mean nothing across two stores.
    pub store: String,
    /// For each writer the last `seq` that the index holds.
    pub places: BTreeMap<String, u64>,
}

impl Checkpoint {
    /// Whether it is at least `events` events of one writer ahead of another checkpoint.
    fn is_beyond(&self, other: &Self, events: u64) -> bool {
        let ahead =
            |(writer, seq): (&String, &u64)| seq - other.places.get(writer).copied().unwrap_or(0).min(*seq);
        self.places.iter().map(ahead).any(|ahead| ahead >= events)
    }

    fn to_json(&self) -> String {
        serde_json::to_string(self).expect("its keys are texts")
    }

    /// A checkpoint of an older format is ignored: the index is rebuilt.
    fn from_json(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

/// Why the index did not do what it was asked to do.
#[derive(Debug, thiserror::Error)]
pub enum LexicalError {
    /// The caller drops the index, reopens it (which empties it) and rebuilds it from the store.
    #[error("the search index is damaged and must be rebuilt: {0}")]
    Damaged(String),
    #[error("the search index is in use by another process; stop it, or wait until it is gone")]
    Locked,
    #[error("the search index was closed")]
    Closed,
    #[error("the search index cannot use its folder: {0}; check free space and permissions")]
    Io(#[from] std::io::Error),
    #[error("the search index failed: {0}")]
    Failed(TantivyError),
}

impl From<TantivyError> for LexicalError {
    fn from(error: TantivyError) -> Self {
        use std::io::ErrorKind::{InvalidData, NotFound, UnexpectedEof};
        use tantivy::directory::error::OpenReadError;
        match &error {
            TantivyError::LockFailure(..) => Self::Locked,
            TantivyError::OpenReadError(OpenReadError::IoError { io_error, .. })
            | TantivyError::IoError(io_error)
                if !matches!(io_error.kind(), InvalidData | NotFound | UnexpectedEof) =>
            {
                Self::Io(std::io::Error::new(io_error.kind(), io_error.to_string()))
            }
            TantivyError::OpenReadError(_)
            | TantivyError::IoError(_)
            | TantivyError::DataCorruption(_)
            | TantivyError::IncompatibleIndex(_)
            | TantivyError::DeserializeError(_)
            | TantivyError::SchemaError(_)
            | TantivyError::FieldNotFound(_)
            | TantivyError::InternalError(_) => Self::Damaged(error.to_string()),
            _ => Self::Failed(error),
        }
    }
}

/// The result of this module's functions.
pub type Result<T> = std::result::Result<T, LexicalError>;
