//! Sessions and the prompts given in them.

use super::{Project, PromptId, SessionId, Timestamp};
use crate::redact::RedactedText;

/// The agent of what a person does at the command line.
pub const PERSON: &str = "cerebro-cli";

/// One sitting of one agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    pub id: SessionId,
    pub project: Project,
    pub agent: RedactedText,
    pub directory: Option<RedactedText>,
    pub started_at: Timestamp,
    /// When it last wrote or read something; the order of "recent" sessions.
    pub seen_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    pub end_reason: Option<EndReason>,
    pub summary: Option<RedactedText>,
    /// The session it continues, or the parent of a sub-agent's.
    pub follows: Option<SessionId>,
    /// The home that its agent works in, by the name in its events, where several share a database.
    pub home: Option<String>,
    /// Counts writes of the row: 0 before the first. Guards against lost updates.
    pub version: u64,
}

/// How a session came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndReason {
    /// The agent said so.
    Ended,
    /// Its connection went away and did not come back.
    Disconnected,
}

impl EndReason {
    /// The stored name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ended => "ended",
            Self::Disconnected => "disconnected",
        }
    }

    /// Reads a stored name.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "ended" => Some(Self::Ended),
            "disconnected" => Some(Self::Disconnected),
            _ => None,
        }
    }
}

/// What the user asked for, kept for later context.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    pub id: PromptId,
    pub session: SessionId,
    pub project: Project,
    pub agent: RedactedText,
    pub content: RedactedText,
    pub created_at: Timestamp,
    /// When the same prompt was last given again within the window.
    pub last_seen_at: Timestamp,
}
