//! The append-only log of what changed: ids and facts, never text.

use super::{MemoryId, Project, SessionId, Timestamp};

/// One entry of the log. `(writer, seq)` is its identity; `seq` has no gaps within a writer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub writer: String,
    pub seq: u64,
    pub at: Timestamp,
    pub kind: EventKind,
    /// The memory that it is about, if any.
    pub memory: Option<MemoryId>,
    /// The session that it is about, or in which it was done.
    pub session: Option<SessionId>,
    pub project: Option<Project>,
}

named! {
    /// The kind of a change.
    pub enum EventKind {
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
        /// A former text of the memory holds again, because an agent or a person said so.
        MemoryRevived = "memory.revived",
        /// Tombstones were forgotten: a person asked for it, or there were too many.
        TombstonesForgotten = "tombstones.forgotten",
        /// Another memory took its place.
        MemorySuperseded = "memory.superseded",
        /// The memory was tied to the piece of work in which it was found out, or to the exchanges that it rests on.
        MemoryTied = "memory.tied",
        /// It got its place back.
        MemoryReinstated = "memory.reinstated",
        MemoryArchived = "memory.archived",
        MemoryUnarchived = "memory.unarchived",
        /// It took in the tags and counts of memories that say the same, or gave them back.
        MemoryUnited = "memory.united",
        /// A consolidation was planned.
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
        /// A prompt was removed for good, because a person forgot its session, or a text.
        PromptForgotten = "prompt.forgotten",
        WorkBegun = "work.begun",
        WorkNoted = "work.noted",
        WorkClosed = "work.closed",
        WorkImported = "work.imported",
        /// The texts of some of its events were purged.
        WorkPurged = "work.purged",
        /// All or some of it was pruned, because it was older than the limit.
        WorkPruned = "work.pruned",
        WorkSealed = "work.sealed",
        /// All memories of one project were moved to another.
        ProjectMerged = "project.merged",
        /// Exchanges of a past session were imported from its transcript.
        HistoryImported = "history.imported",
        /// Exchanges of a past session were purged.
        HistoryForgotten = "history.forgotten",
        /// A past session was distilled. The claims that passed the check wait.
        HistoryDistilled = "history.distilled",
        /// A person accepted a candidate, which became a memory.
        CandidateAccepted = "candidate.accepted",
        /// A person rejected a candidate.
        CandidateRejected = "candidate.rejected",
        /// A candidate was removed, because an exchange that it cites was forgotten.
        CandidateRetracted = "candidate.retracted",
        /// A candidate came with an export.
        CandidateImported = "candidate.imported",
        /// A model proposed an arrangement of a handbook.
        HandbookPlanned = "handbook.planned",
        /// An arrangement of a handbook was accepted.
        HandbookArranged = "handbook.arranged",
        /// An arrangement was rejected.
        HandbookRejected = "handbook.rejected",
        /// An arrangement was undone.
        HandbookUndone = "handbook.undone",
        /// A document was ingested, and its text had changed. The event has its id in the place of the session's.
        DocumentIngested = "document.ingested",
        /// A document is no longer where it was read, and is left out of searches.
        DocumentRemoved = "document.removed",
        /// A document and its chunks were purged.
        DocumentForgotten = "document.forgotten",
    }
}
