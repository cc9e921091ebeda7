//! The answers about texts that no longer hold.

use serde::{Deserialize, Serialize};

use super::Text;

/// `op_tombstones`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Listed {
    /// The latest first.
    pub tombstones: Vec<Tombstone>,
    /// How many there are in all; a text has up to two.
    pub notes: u64,
}

/// A text that no longer holds.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Tombstone {
    /// The memory that said it.
    pub id: Text,
    /// The title of that memory now; none if it is gone, or its text.
    pub title: Option<Text>,
    /// `corrected`, `superseded`, `deleted` or `purged`.
    pub why: Text,
    pub at: Text,
    /// The memory that holds in its place.
    pub replaced_by: Option<Text>,
}

/// `op_forget_tombstones`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Forgotten {
    /// The memory whose texts may be saved again.
    pub id: Text,
    /// How many tombstones are gone.
    pub forgotten: u64,
}
