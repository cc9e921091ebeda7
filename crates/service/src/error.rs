//! Why a use case did not do what it was asked, in words that the caller can act on.

use cerebro_core::domain::{MemoryId, limits::ECHO_CHARS_MAX};
use cerebro_core::redact;
use cerebro_core::text;
use cerebro_search::lexical::LexicalError;
use cerebro_store::{EngineError, StoreError};

/// What went wrong. All but the last two are the caller's to mend.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// A field breaks a bound or a form.
    #[error("{field} `{value}`: {problem}")]
    Invalid {
        /// The argument's published name.
        field: &'static str,
        /// The offending value, cut.
        value: String,
        /// What is wrong and what to do.
        problem: String,
    },
    /// There is no such memory.
    #[error("no memory `{0}`; search with mem_search")]
    NoMemory(MemoryId),
    /// The memory is deleted, where a live one is needed.
    #[error(
        "memory `{0}` is deleted; search with mem_search for a live one, or ask the user to run `cerebro restore {0}`"
    )]
    Deleted(MemoryId),
    /// The memory's text is gone for good.
    #[error(
        "memory `{0}` was purged: its text is gone for good and cannot come back; search with mem_search"
    )]
    Purged(MemoryId),
    /// Somebody revised the memory in between.
    #[error(
        "memory `{id}` is at revision {present}, not {expected}; read it with mem_get_observation and update that"
    )]
    RevisionMismatch {
        /// The memory.
        id: MemoryId,
        /// What the caller expected.
        expected: u32,
        /// What it is.
        present: u32,
    },
    /// Another live memory has the topic key.
    #[error(
        "topic_key `{key}` is held by memory `{holder}`, a stored note titled \"{title}\"; update that one with mem_update, or choose another key"
    )]
    TopicTaken {
        /// The key.
        key: String,
        /// Who has it.
        holder: MemoryId,
        /// The holder's title.
        title: String,
    },
    /// The user keeps purging for themselves.
    #[error(
        "agents may not purge here (agent_hard_delete = false); delete without `hard`, or ask the user to run `cerebro delete --hard {0}`"
    )]
    PurgeForbidden(MemoryId),
    /// There is no such session.
    #[error("no session `{0}`; begin one with mem_session_start")]
    NoSession(String),
    /// The index is still being built.
    #[error(
        "the search index is still being built, which takes a while for a large store; nothing is lost, call again in a minute"
    )]
    IndexBusy,
    /// There is no backup.
    #[error("{0}")]
    Backup(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The lexical index failed.
    #[error("the search index failed: {0}")]
    Index(#[from] LexicalError),
}

impl ServiceError {
    /// Whether another process has the store or its index open.
    pub fn is_held(&self) -> bool {
        matches!(
            self,
            Self::Store(StoreError::Engine(EngineError::Locked(_))) | Self::Index(LexicalError::Locked)
        )
    }

    /// Why a memory that is not live is not shown or changed.
    pub(super) fn gone(memory: &cerebro_core::domain::Memory) -> Self {
        if memory.purged { Self::Purged(memory.id) } else { Self::Deleted(memory.id) }
    }

    /// The same error about a field that has another published name in this call.
    #[must_use]
    pub fn about(self, name: &'static str) -> Self {
        match self {
            Self::Invalid { value, problem, .. } => Self::Invalid { field: name, value, problem },
            other => other,
        }
    }

    /// An error about one field, which repeats the beginning of its value.
    pub fn invalid(field: &'static str, value: &str, problem: impl Into<String>) -> Self {
        let line = text::one_line(&redact::redact_secrets(value));
        let value = text::cut_chars(&line, ECHO_CHARS_MAX).into_owned();
        Self::Invalid { field, value, problem: problem.into() }
    }
}
