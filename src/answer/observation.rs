//! The answer about one thing that can be read: a memory, an exchange of a past session, or a passage of a document.

use serde::{Deserialize, Serialize};

use super::{Text, history::Command, memories::Marks};

/// `mem_get_observation`. What a thing does not have is left out.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Observation {
    pub id: Text,
    pub title: Text,
    /// Its text, or the part of it that was asked for.
    pub content: Text,
    /// The type of a memory, `history` or `document`.
    #[serde(rename = "type")]
    pub kind: Text,
    /// Its project, or `personal`.
    pub project: Text,
    pub agent: Option<Text>,
    /// The session that wrote it, or the past session that it is of.
    pub session_id: Option<Text>,
    /// How long the whole text is.
    pub content_bytes: Option<u64>,
    /// Where the next part begins; of a memory with its revisions, how many of these came before.
    pub next_offset: Option<u64>,

    // Of a memory.
    /// `project` or `personal`.
    pub scope: Option<Text>,
    pub topic_key: Option<Text>,
    pub tags: Vec<Text>,
    /// How its text came in.
    pub origin: Option<Text>,
    /// Counts from 1.
    pub revision: Option<u32>,
    /// How often the same text was saved again.
    pub duplicate_count: u64,
    pub created_at: Option<Text>,
    pub updated_at: Option<Text>,
    /// `episodic`, `semantic`, `procedural` or `prospective`.
    #[serde(rename = "kind")]
    pub nature: Option<Text>,
    /// Where it is shown, if it is to be done in one place.
    pub trigger: Option<Text>,
    pub done_at: Option<Text>,
    pub archived_at: Option<Text>,
    pub deleted_at: Option<Text>,
    pub pinned: bool,
    pub related: Vec<Related>,
    /// The memories whose place it took.
    pub supersedes: Vec<Text>,
    pub valid: Valid,
    /// The code that it speaks of.
    pub anchors: Vec<Anchor>,
    /// The exchanges that it rests on.
    pub evidence: Vec<Text>,
    /// The pieces of work in which it was found out.
    pub worked_in: Vec<Text>,
    /// Its earlier texts, the latest first, if they were asked for.
    pub revisions: Vec<Revision>,
    /// Its flag, how its code has changed, and all memories that took its place.
    #[serde(flatten)]
    pub marks: Marks,

    // Of an exchange or a passage.
    pub date: Option<Text>,
    /// The place of an exchange in its session, from 0.
    pub seq: u64,
    /// The files that it changed.
    pub files: Vec<Text>,
    pub commands: Vec<Command>,
    pub errors: Vec<Text>,
    /// Whether a rewind withdrew it.
    pub withdrawn: bool,
    /// The path of a passage's document, and the page in it.
    pub path: Option<Text>,
    pub page: Option<u32>,
}

/// A related memory.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Related {
    pub id: Text,
    pub title: Text,
    pub relation: Text,
}

/// The period in which a memory is true; a side that nobody set is open.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Valid {
    pub from: Option<Text>,
    pub until: Option<Text>,
}

/// A piece of code that a memory speaks of.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Anchor {
    pub path: Text,
    /// How it is now where the asker works, such as `changed`.
    pub verdict: Text,
    pub symbol: Option<Text>,
}

/// An earlier text of a memory.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Revision {
    pub revision: u32,
    pub title: Text,
    pub content: Text,
    pub agent: Text,
    pub at: Text,
    #[serde(rename = "type")]
    pub kind: Text,
}
