//! The stored unit.

use std::fmt;

use super::{MemoryId, Project, SessionId, Timestamp, limits::KIND_CHARS_MAX};
use crate::redact::RedactedText;

/// Who a memory is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Scope {
    /// For everyone who works on the project.
    #[default]
    Project,
    /// For this person, in every project: it belongs to none.
    Personal,
}

/// A scope that is neither `project` nor `personal`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("scope is `project` or `personal`")]
pub struct ScopeError;

impl Scope {
    /// The stored and published name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::Personal => "personal",
        }
    }

    /// Reads a name in any case, blanks aside.
    ///
    /// # Errors
    /// [`ScopeError`] for any other word.
    pub fn parse(text: &str) -> Result<Self, ScopeError> {
        match text.trim().to_ascii_lowercase().as_str() {
            "project" => Ok(Self::Project),
            "personal" => Ok(Self::Personal),
            _ => Err(ScopeError),
        }
    }
}

/// The type of a memory: a word of `[a-z0-9_-]`, up to 40 characters.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Kind(String);

impl Kind {
    /// The types that agents are offered; any other word is allowed too.
    pub const KNOWN: [&str; 11] = [
        "decision", "architecture", "bugfix", "pattern", "config", "concept", "discovery", "learning",
        "preference", "manual", "session_summary",
    ];

    /// The type of a memory that names none.
    pub fn manual() -> Self {
        Self("manual".to_owned())
    }

    /// The type of the one memory that holds a session's summary.
    pub fn session_summary() -> Self {
        Self("session_summary".to_owned())
    }

    /// Normalises a type: lowercase, every run of other characters a `-`. `None` when nothing is
    /// left or it is too long.
    pub fn parse(text: &str) -> Option<Self> {
        let mut out = String::new();
        for c in text.trim().to_lowercase().chars() {
            if c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-' {
                out.push(c);
            } else if !out.ends_with('-') {
                out.push('-');
            }
        }
        let out = out.trim_matches('-');
        ((1..=KIND_CHARS_MAX).contains(&out.len())).then(|| Self(out.to_owned()))
    }

    /// The normalised word.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One memory in its current state.
#[derive(Debug, Clone, PartialEq)]
pub struct Memory {
    pub id: MemoryId,
    /// [`Project::none`] for a personal memory.
    pub project: Project,
    pub scope: Scope,
    pub kind: Kind,
    pub title: RedactedText,
    pub content: RedactedText,
    /// The stable subject, whose next save revises this memory.
    pub topic_key: Option<RedactedText>,
    pub tags: Vec<RedactedText>,
    /// The client that wrote this revision.
    pub agent: RedactedText,
    /// The session that wrote this revision; a purged or imported memory may have none.
    pub session: Option<SessionId>,
    /// Counts from 1.
    pub revision: u32,
    /// How often the same text was saved again within the window.
    pub duplicate_count: u32,
    pub pinned: bool,
    pub created_at: Timestamp,
    /// When this revision was written.
    pub updated_at: Timestamp,
    /// When it was last saved, repetitions included.
    pub last_seen_at: Timestamp,
    pub deleted_at: Option<Timestamp>,
    /// A tombstone: its text and revisions are gone for good.
    pub purged: bool,
    /// How often the row was written; 0 before the first time. It guards against lost updates.
    pub version: u64,
}

impl Memory {
    /// Whether reads may show it.
    pub fn is_live(&self) -> bool {
        self.deleted_at.is_none()
    }
}

/// What a memory was before a later revision replaced it.
#[derive(Debug, Clone, PartialEq)]
pub struct Revision {
    pub memory: MemoryId,
    pub revision: u32,
    pub project: Project,
    pub scope: Scope,
    pub kind: Kind,
    pub title: RedactedText,
    pub content: RedactedText,
    pub topic_key: Option<RedactedText>,
    pub tags: Vec<RedactedText>,
    pub agent: RedactedText,
    pub session: Option<SessionId>,
    /// When it was written.
    pub at: Timestamp,
}

impl From<Memory> for Revision {
    fn from(memory: Memory) -> Self {
        Self {
            memory: memory.id,
            revision: memory.revision,
            project: memory.project,
            scope: memory.scope,
            kind: memory.kind,
            title: memory.title,
            content: memory.content,
            topic_key: memory.topic_key,
            tags: memory.tags,
            agent: memory.agent,
            session: memory.session,
            at: memory.updated_at,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_normalised_and_bounded() {
        for (text, want) in [
            ("Bug Fix", "bug-fix"),
            (" decision ", "decision"),
            ("a//b", "a-b"),
            ("session_summary", "session_summary"),
        ] {
            assert_eq!(Kind::parse(text).unwrap().as_str(), want);
        }
        assert!(Kind::parse(&"a".repeat(40)).is_some());
        assert!(Kind::parse(&"a".repeat(41)).is_none());
        assert!(Kind::parse("///").is_none());
    }

    #[test]
    fn scopes_are_two() {
        assert_eq!(Scope::parse(" Personal"), Ok(Scope::Personal));
        assert_eq!(Scope::parse("global"), Err(ScopeError));
    }
}
