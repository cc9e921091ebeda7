//! The answers about export and import.

use std::ops::Not;

use serde::{Deserialize, Serialize};

use super::Text;

/// `op_export`: a page of lines.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Page {
    /// JSON objects (docs/export.md).
    pub lines: Vec<String>,
    /// Where the next page begins; none at the end.
    pub next_cursor: Option<String>,
    /// Whether something was written since the first page; only at the end.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub torn: bool,
}

/// `op_import`: what became of a batch of lines.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Imported {
    /// Lines that brought something new.
    pub created: u64,
    /// Lines that were in the store already.
    pub unchanged: u64,
    pub skipped: Vec<Skipped>,
}

/// A line that was refused.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Skipped {
    /// Its number in the batch, from 0.
    pub line: u64,
    pub why: Text,
}
