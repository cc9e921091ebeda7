//! The answers about export and import.

use std::ops::Not;

use serde::{Deserialize, Serialize};

use super::{Text, sessions::Session};

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

/// A line of an export, as far as notes are made of it.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Line {
    Session(Session),
    Memory(Box<Memory>),
    Edge(Edge),
    #[serde(other)]
    Other,
}

/// A memory in an export.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Memory {
    pub id: Text,
    pub title: Text,
    #[serde(rename = "type")]
    pub kind: Text,
    /// Empty for what is personal.
    pub project: Text,
    pub scope: Text,
    pub topic_key: Option<Text>,
    #[serde(default)]
    pub tags: Vec<Text>,
    #[serde(default)]
    pub pinned: bool,
    pub agent: Text,
    pub session: Option<Text>,
    pub created_at: Text,
    pub updated_at: Text,
    pub revision: u32,
    pub content: Text,
    pub deleted_at: Option<Text>,
    #[serde(default)]
    pub purged: bool,
}

impl Memory {
    /// Whether it is neither deleted nor purged.
    pub fn is_live(&self) -> bool {
        self.deleted_at.is_none() && !self.purged
    }
}

/// An edge in an export.
#[derive(Debug, Clone, Deserialize)]
pub struct Edge {
    /// Which table it is in, such as `CREATED_IN`.
    pub name: Text,
    pub from: Text,
    pub to: Text,
}
