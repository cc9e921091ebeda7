//! The words of the project: plain types without I/O, clocks or wire formats.
//!
//! `store`, `lexical` and `mcp` each have their own row, document and wire types and convert at
//! their border, so that none of those formats leaks into the others.

mod event;
mod id;
pub mod limits;
mod memory;
mod project;
mod session;

pub use event::{Event, EventKind};
pub use id::{IdError, MemoryId, PromptId, SessionId, SubjectId};
pub use memory::{Kind, Memory, Revision, Scope, ScopeError};
pub use project::Project;
pub use session::{EndReason, PERSON, Prompt, Session};

/// A moment, in UTC with microseconds. The store hands out strictly rising ones, so that the order
/// of time is the order of commits even when the machine's clock goes back.
pub type Timestamp = jiff::Timestamp;
