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
    /// A text of it that no longer held holds again, because somebody said so.
    MemoryRevived = "memory.revived",
    /// What was noted of texts that no longer hold is forgotten: a person asked, or there were too many.
    TombstonesForgotten = "tombstones.forgotten",
    /// Another memory took its place.
    MemorySuperseded = "memory.superseded",
    /// It was found out in a piece of work.
    MemoryTied = "memory.tied",
    /// It has its place back.
    MemoryReinstated = "memory.reinstated",
    MemoryArchived = "memory.archived",
    MemoryUnarchived = "memory.unarchived",
    /// It took in the tags and counts of memories that say nothing else, or gave them back.
    MemoryUnited = "memory.united",
    /// What consolidation would change was written down.
    CyclePlanned = "cycle.planned",
    CycleApplied = "cycle.applied",
    CycleUndone = "cycle.undone",
    SessionStarted = "session.started",
    SessionResumed = "session.resumed",
    SessionEnded = "session.ended",
    SessionSummarised = "session.summarised",
    SessionImported = "session.imported",
    PromptSaved = "prompt.saved",
    PromptImported = "prompt.imported",
    WorkBegun = "work.begun",
    WorkNoted = "work.noted",
    WorkClosed = "work.closed",
    WorkImported = "work.imported",
    /// Texts of its events were taken away for good.
    WorkPurged = "work.purged",
    /// It is over its time, or something of it is, and gone.
    WorkPruned = "work.pruned",
    WorkSealed = "work.sealed",
    /// All memories of one project were moved to another.
    ProjectMerged = "project.merged",
    /// Exchanges of a past session were taken in from its transcript.
    HistoryImported = "history.imported",
    /// Exchanges of a past session are gone for good.
    HistoryForgotten = "history.forgotten",
    /// A model was asked what is worth keeping of a past session, and what passed the check waits.
    HistoryDistilled = "history.distilled",
    /// A person made a candidate a memory.
    CandidateAccepted = "candidate.accepted",
    /// A person does not want a candidate.
    CandidateRejected = "candidate.rejected",
    /// A candidate is gone, because what it rests on was forgotten.
    CandidateRetracted = "candidate.retracted",
    /// A candidate comes from an export.
    CandidateImported = "candidate.imported",
    /// A model proposed how a handbook is to be arranged.
    HandbookPlanned = "handbook.planned",
    /// A handbook was arranged.
    HandbookArranged = "handbook.arranged",
    /// An arrangement is not wanted.
    HandbookRejected = "handbook.rejected",
    /// An arrangement was taken back.
    HandbookUndone = "handbook.undone",
    /// A document was read, and what it says has changed. Its id stands in the place of the session.
    DocumentIngested = "document.ingested",
    /// A document is no longer where it was read, and is left out of searches.
    DocumentRemoved = "document.removed",
    /// A document and its chunks are gone for good.
    DocumentForgotten = "document.forgotten",
}
