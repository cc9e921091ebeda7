//! The append-only log of what changed: ids and facts, never text.

use super::{MemoryId, Project, SessionId, Timestamp};

/// One entry of the log. `(writer, seq)` is its identity; `seq` has no gaps within a writer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub writer: String,
    pub seq: u64,
    pub at: Timestamp,
    pub kind: EventKind,
    /// The memory it is about, if it is about one.
    pub memory: Option<MemoryId>,
    /// The session it is about or was done in.
    pub session: Option<SessionId>,
    pub project: Option<Project>,
}

macro_rules! event_kinds {
    ($($(#[$doc:meta])* $variant:ident = $name:literal),+ $(,)?) => {
        /// What happened.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum EventKind { $($(#[$doc])* $variant),+ }

        impl EventKind {
            /// The stored name.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            /// Reads a stored name.
            pub fn parse(text: &str) -> Option<Self> {
                match text { $($name => Some(Self::$variant),)+ _ => None }
            }
        }
    };
}

event_kinds! {
    MemoryCreated = "memory.created",
    MemoryUpdated = "memory.updated",
    /// The same text was saved again within the window.
    MemoryRepeated = "memory.repeated",
    MemoryDeleted = "memory.deleted",
    MemoryRestored = "memory.restored",
    MemoryPurged = "memory.purged",
    MemoryPinned = "memory.pinned",
    MemoryUnpinned = "memory.unpinned",
    MemoryImported = "memory.imported",
    SessionStarted = "session.started",
    SessionResumed = "session.resumed",
    SessionEnded = "session.ended",
    SessionSummarised = "session.summarised",
    SessionImported = "session.imported",
    PromptSaved = "prompt.saved",
    PromptImported = "prompt.imported",
    /// All memories of one project were moved to another.
    ProjectMerged = "project.merged",
}
