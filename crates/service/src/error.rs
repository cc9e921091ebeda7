//! Errors of the use cases: what happened, to which value.
//!
//! What to do next depends on who asked. Each edge adds it, by [`ServiceError::code`].

use std::{fmt, net::SocketAddr};

use serde_json::{Map, Value, json};

use cerebro_core::code::Code;
use cerebro_core::domain::{
    ArrangementId, CandidateId, ChunkId, DocumentId, ExchangeId, MemoryId, Project, WorkId,
    limits::{ECHO_CHARS_MAX, HIT_TITLE_CHARS_MAX},
};
use cerebro_core::redact::{self, RedactedText};
use cerebro_core::text;
use cerebro_search::lexical::LexicalError;
use cerebro_store::{EngineError, StoreError, Tombstone};

/// How much of an invalid value is redacted for its quotation, in bytes.
const ECHOED_BYTES_MAX: usize = 64 * 1024;

/// What went wrong. The caller can act on all but the last three.
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
    #[error("no memory `{0}`")]
    NoMemory(MemoryId),
    #[error("no exchange `{0}`: it was never kept, or is forgotten")]
    NoExchange(ExchangeId),
    #[error("no candidate `{0}`: it never waited here, or what it rests on is forgotten")]
    NoCandidate(CandidateId),
    #[error("no arrangement `{0}`")]
    NoArrangement(ArrangementId),
    #[error(
        "no passage of a document `{0}`: it was never read, its document says something else now, or is forgotten"
    )]
    NoChunk(ChunkId),
    #[error("no document `{0}`: it was never read, or is forgotten")]
    NoDocument(DocumentId),
    #[error("memory `{0}` is deleted")]
    Deleted(MemoryId),
    #[error("memory `{0}` was purged: its text is gone for good and cannot come back")]
    Purged(MemoryId),
    #[error("memory `{id}` is at revision {present}, not {expected}")]
    RevisionMismatch {
        id: MemoryId,
        /// What the caller expected.
        expected: u32,
        present: u32,
    },
    #[error("topic_key `{key}` is held by memory `{holder}`")]
    TopicTaken {
        key: String,
        holder: MemoryId,
        /// The holder's title.
        title: Quotation,
    },
    /// The text was corrected before, or its memory was deleted.
    #[error("this text was {} on {}{}: it was that of memory `{}`", .0.why.as_str(), .0.at.strftime("%Y-%m-%d"), replaced_by(.0), .0.memory)]
    Corrected(Box<Tombstone>),
    #[error("agents may not purge here (agent_hard_delete = false)")]
    PurgeForbidden(MemoryId),
    #[error("no session `{0}`")]
    NoSession(String),
    #[error("the search index is still being built, which takes a while for a large store; nothing is lost")]
    IndexBusy,
    /// There is no such piece of work, for this caller.
    #[error("no work `{0}`")]
    NoWork(WorkId),
    /// The keys of the journal cannot be used.
    #[error("the journal of work failed: {0}")]
    Journal(String),
    /// What the journal keeps is not what was written: a seal, or the artifact of an event.
    #[error("{0} is missing or was changed since the journal of work wrote it")]
    JournalAltered(String),
    #[error("the journal of work answers too slowly at present; what was asked may still be done")]
    JournalBusy,
    #[error("there is nothing of project `{0}`")]
    EmptyProject(Project),
    #[error("no model is set")]
    NoModel,
    #[error("the live endpoint is open on {0}")]
    StudioOpen(SocketAddr),
    /// There is no backup.
    #[error("{0}")]
    Backup(String),
    /// Work on a thread of its own panicked.
    #[error("{work} ended with an internal error; the daemon's log says why")]
    BrokeOff {
        /// What it was.
        work: &'static str,
    },
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the search index failed: {0}")]
    Index(#[from] LexicalError),
}

/// A piece of a memory's text in an error, for the caller only: `Debug` does not show it, so that no log has it.
#[derive(Clone, PartialEq, Eq)]
pub struct Quotation(RedactedText);

impl From<RedactedText> for Quotation {
    fn from(text: RedactedText) -> Self {
        Self(text)
    }
}

impl fmt::Debug for Quotation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Quotation(..)")
    }
}

/// The memory that holds in the place of a text.
fn replaced_by(tombstone: &Tombstone) -> String {
    tombstone.replaced_by.map(|id| format!(" by `{id}`")).unwrap_or_default()
}

impl ServiceError {
    /// What kind of failure it is.
    pub fn code(&self) -> Code {
        match self {
            Self::Invalid { .. } => Code::InvalidArgument,
            Self::NoMemory(_) | Self::NoExchange(_) | Self::NoChunk(_) | Self::NoDocument(_) => {
                Code::NoMemory
            }
            Self::NoCandidate(_) | Self::NoArrangement(_) => Code::NoProposal,
            Self::Deleted(_) => Code::MemoryDeleted,
            Self::Purged(_) => Code::MemoryPurged,
            Self::RevisionMismatch { .. } => Code::RevisionMismatch,
            Self::TopicTaken { .. } => Code::TopicTaken,
            Self::Corrected(_) => Code::Corrected,
            Self::PurgeForbidden(_) => Code::PurgeForbidden,
            Self::NoSession(_) => Code::NoSession,
            Self::NoWork(_) => Code::NoWork,
            Self::Journal(_) => Code::JournalFailed,
            Self::JournalAltered(_) => Code::JournalAltered,
            Self::JournalBusy => Code::JournalBusy,
            Self::EmptyProject(_) => Code::EmptyProject,
            Self::NoModel => Code::NoModel,
            Self::StudioOpen(_) => Code::StudioOpen,
            Self::IndexBusy => Code::IndexBusy,
            Self::Backup(_) => Code::BackupFailed,
            Self::BrokeOff { .. } | Self::Store(_) => Code::StoreFailed,
            Self::Index(_) => Code::IndexFailed,
        }
    }

    /// Its data, by the names that [`Code`] lists.
    pub fn data(&self) -> Map<String, Value> {
        let facts = match self {
            Self::Invalid { field, value, problem } => {
                json!({ "argument": field, "value": value, "problem": problem })
            }
            Self::NoMemory(id) | Self::Deleted(id) | Self::Purged(id) | Self::PurgeForbidden(id) => {
                json!({ "id": id.as_str() })
            }
            Self::NoExchange(id) => json!({ "id": id.to_string() }),
            Self::NoCandidate(id) => json!({ "id": id.to_string() }),
            Self::NoArrangement(id) => json!({ "id": id.to_string() }),
            Self::NoChunk(id) => json!({ "id": id.to_string() }),
            Self::NoDocument(id) => json!({ "id": id.to_string() }),
            Self::RevisionMismatch { id, expected, present } => {
                json!({ "id": id.as_str(), "expected_revision": expected, "revision": present })
            }
            Self::TopicTaken { key, holder, title } => {
                let title = text::cut_chars(&title.0, HIT_TITLE_CHARS_MAX);
                json!({ "topic_key": key, "holder": holder.as_str(), "title": title })
            }
            Self::Corrected(tombstone) => json!({
                "id": tombstone.memory.as_str(), "why": tombstone.why.as_str(), "at": tombstone.at.to_string(),
                "replaced_by": tombstone.replaced_by.as_ref().map(MemoryId::as_str),
            }),
            Self::NoSession(id) => json!({ "session_id": id }),
            Self::NoWork(id) => json!({ "work": id.as_str() }),
            Self::EmptyProject(project) => json!({ "project": project.as_str() }),
            Self::StudioOpen(address) => json!({ "address": address.to_string() }),
            Self::NoModel
            | Self::IndexBusy
            | Self::Backup(_)
            | Self::Journal(_)
            | Self::JournalAltered(_)
            | Self::JournalBusy
            | Self::BrokeOff { .. }
            | Self::Store(_)
            | Self::Index(_) => Value::Null,
        };
        match facts {
            Value::Object(facts) => facts,
            _ => Map::new(),
        }
    }

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

    /// An offset at which nothing is left of what is read in parts.
    pub fn beyond(offset: usize, of: &str) -> Self {
        Self::invalid(
            "offset",
            &offset.to_string(),
            format!("it is beyond the end of {of}; begin without it"),
        )
    }

    /// An error about one field, which repeats the beginning of its value.
    pub fn invalid(field: &'static str, value: &str, problem: impl Into<String>) -> Self {
        // The cut is far behind what is quoted, so no part of a secret that it cuts is quoted.
        let line = text::one_line(&redact::redact_secrets(text::cut_bytes(value, ECHOED_BYTES_MAX)));
        let value = text::cut_chars(&line, ECHO_CHARS_MAX).into_owned();
        Self::Invalid { field, value, problem: problem.into() }
    }
}

/// Why a line was not imported.
pub(crate) enum NotImported {
    /// The line cannot be imported; the others can.
    Refused(String),
    /// The import as a whole failed.
    Failed(ServiceError),
}

impl From<String> for NotImported {
    fn from(why: String) -> Self {
        Self::Refused(why)
    }
}

impl From<ServiceError> for NotImported {
    fn from(error: ServiceError) -> Self {
        Self::Failed(error)
    }
}

impl From<StoreError> for NotImported {
    fn from(error: StoreError) -> Self {
        Self::Failed(error.into())
    }
}

/// The outcome of a line: whether it brought something new.
pub(crate) type Taking = Result<bool, NotImported>;
