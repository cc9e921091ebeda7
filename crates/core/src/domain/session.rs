//! Sessions and the prompts given in them.

use super::{Project, PromptId, SessionId, Timestamp};
use crate::redact::RedactedText;

/// The agent name of a person at the command line.
pub const PERSON: &str = "cerebro-cli";

/// One stretch of an agent's work.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    pub id: SessionId,
    pub project: Project,
    pub agent: RedactedText,
    pub directory: Option<RedactedText>,
    pub started_at: Timestamp,
    /// When it last wrote or read something; recent sessions are ordered by it.
    pub seen_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    pub end_reason: Option<EndReason>,
    pub summary: Option<RedactedText>,
    /// The session that it continues, or the parent of a sub-agent's.
    pub follows: Option<SessionId>,
    /// The writer name of the home that its agent works in, where several homes share a database.
    pub home: Option<String>,
    /// How often the row was written; 0 before the first time. Guards against lost updates.
    pub version: u64,
}

named! {
    /// Why a session ended.
    pub enum EndReason {
        /// The agent said so.
        Ended = "ended",
        /// Its connection went away and did not come back.
        Disconnected = "disconnected",
    }
}

/// What the user asked an agent, kept for later contexts.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    pub id: PromptId,
    pub session: SessionId,
    pub project: Project,
    pub agent: RedactedText,
    pub content: RedactedText,
    pub created_at: Timestamp,
    /// When the same prompt was last repeated within the window.
    pub last_seen_at: Timestamp,
}
