//! The words of the project: plain types without I/O, clocks or wire formats.
//!
//! `store` says which columns of a row their fields are; `search` and `mcp` have types of their own for the documents of an
//! index and for the wire. They convert at their borders, so that no format leaks into another.

mod candidate;
mod document;
mod event;
mod history;
mod id;
pub mod limits;
mod memory;
mod project;
mod proven;
mod run;
mod session;
mod trigger;

pub use candidate::{
    Arrangement, ArrangementState, Candidate, CandidateState, Citation, ClaimKind, DistilRun, DistilState,
    ItemChange, ItemOperation, SessionOutcome,
};
pub use document::{Document, DocumentChunk, DocumentImage};
pub use event::{Event, EventKind};
pub use history::{
    Ancestor, AncestorKind, COMMAND_CUT, Exchange, FullExchange, HistoryTombstone, PastCommand, PastSession,
    Source, SourceState, native_digest,
};
pub use id::{
    ArrangementId, CandidateId, ChunkId, CycleId, DocumentId, ExchangeId, IdError, MemoryId, PromptId,
    SessionId, SubjectId, WorkId, random_name,
};
pub use memory::{Body, Kind, Memory, Nature, Revision, Scope, ScopeError, ScopeName, Validity};
pub use project::Project;
pub use proven::{
    PastAnswer, PastCommit, PastFailure, PastFix, PastPlan, PastRefusal, PastTask, PastToDo, Proven,
    left_to_do,
};
pub use run::Run;
pub use session::{EndReason, PERSON, Prompt, Session};
pub use trigger::{Trigger, TriggerError, Workplace};

pub use crate::taint::{Flag, Origin, Taint};

/// A moment, in UTC with microseconds. The store hands out strictly rising ones, so that order in time is commit
/// order even when the machine's clock goes back.
pub type Timestamp = jiff::Timestamp;
