//! The answers about sessions, the prompts given in them, and the log of changes.

use serde::{Deserialize, Serialize};

use super::{Text, memories::Marks};

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Session {
    pub id: Text,
    pub project: Text,
    pub agent: Text,
    pub directory: Option<Text>,
    pub started_at: Text,
    pub ended_at: Option<Text>,
    /// `ended` or `disconnected`.
    pub end_reason: Option<Text>,
    pub summary: Option<Text>,
    /// The session that it continues.
    pub follows: Option<Text>,
}

/// `op_sessions`: the latest first.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Sessions {
    pub sessions: Vec<Session>,
}

/// `op_story`: what happened in a session, a page of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Story {
    /// `None` if there is none with the id.
    pub session: Option<Session>,
    /// Live memories and prompts, oldest first.
    pub entries: Vec<Entry>,
    /// Whether more follow.
    pub more: bool,
    /// The moment after which the next page begins.
    pub next: Option<Text>,
}

/// Something that happened.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Entry {
    /// `memory`, `prompt`, `session_start` or `session_end`; `history` for an exchange.
    pub kind: Text,
    pub id: Text,
    pub date: Text,
    pub agent: Text,
    /// At most 120 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<Text>,
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub memory_type: Option<Text>,
    /// As much of a prompt's text as was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Text>,
    /// How long the prompt's whole text is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_bytes: Option<u64>,
}

impl Entry {
    /// Whether it is a memory.
    pub fn is_memory(&self) -> bool {
        self.kind == "memory"
    }
}

/// `mem_timeline`: what happened around a memory or an exchange, oldest first.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Timeline {
    pub before: Vec<Marked>,
    /// What was asked about.
    pub focus: Marked,
    pub after: Vec<Marked>,
}

/// An entry with the marks of its memory.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Marked {
    #[serde(flatten)]
    pub entry: Entry,
    #[serde(flatten)]
    pub marks: Marks,
}

/// `op_prompts`: the latest first.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Prompts {
    pub prompts: Vec<Prompt>,
}

/// What a user asked an agent.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Prompt {
    pub id: Text,
    pub session_id: Text,
    pub project: Text,
    pub agent: Text,
    pub content: Text,
    pub created_at: Text,
}

/// `op_events`: a page of the log, in order.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Events {
    pub events: Vec<Event>,
}

/// A change.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Event {
    /// Whose log it is in: each home that writes has its own.
    pub writer: Text,
    /// Its number, without gaps within a writer.
    pub seq: u64,
    pub at: Text,
    /// What was done, such as `memory.created`.
    pub kind: Text,
    pub memory: Option<Text>,
    /// The session that it is about, or in which it was done.
    pub session: Option<Text>,
    pub project: Option<Text>,
}
