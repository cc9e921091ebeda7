//! The kind of failure that a call ended with, for programs. The message beside it is for readers and may change.
//!
//! A failure travels as a code, a message and data. The message says what happened and to which value; what to do
//! next depends on who asks, so each edge (tools, commands, screens) adds that itself, by the code.

use std::fmt;

named! {
    /// The kind of a failure. Its name on the wire is [`Self::as_str`] and never changes.
    pub enum Code {
        /// An argument breaks a bound or a form. Data: `argument`, `value`; for people's programs, which name the argument
        /// in their own way, also `problem`.
        InvalidArgument = "invalid_argument",
        /// The id of a memory is missing or malformed. Data: as of `InvalidArgument`.
        BadMemoryId = "bad_memory_id",
        /// There is no memory of that id. Data: `id`.
        NoMemory = "no_memory",
        /// The memory is deleted, where a live one is needed. Data: `id`.
        MemoryDeleted = "memory_deleted",
        /// The memory's text is gone for good. Data: `id`.
        MemoryPurged = "memory_purged",
        /// The memory was revised in between. Data: `id`, `expected_revision`, `revision`.
        RevisionMismatch = "revision_mismatch",
        /// Another live memory has the topic key. Data: `topic_key`, `holder`, `title`.
        TopicTaken = "topic_taken",
        /// The same text was corrected, superseded, deleted or purged before. Data: `id`, `why`, `at`, `replaced_by`.
        Corrected = "corrected",
        /// Only people may purge. Data: `id`.
        PurgeForbidden = "purge_forbidden",
        /// There is no session of that id. Data: `session_id`.
        NoSession = "no_session",
        /// There is no piece of work of that id. Data: `work`.
        NoWork = "no_work",
        /// There is no candidate or arrangement of that id. Data: `id`.
        NoProposal = "no_proposal",
        /// Nothing belongs to the project. Data: `project`.
        EmptyProject = "empty_project",
        /// The settings name no model.
        NoModel = "no_model",
        /// The live endpoint is open already. Data: `address`.
        StudioOpen = "studio_open",
        /// The search index is still being built.
        IndexBusy = "index_busy",
        /// The search index failed.
        IndexFailed = "index_failed",
        /// No backup could be made.
        BackupFailed = "backup_failed",
        /// The keys of the journal of work cannot be used.
        JournalFailed = "journal_failed",
        /// Something that the journal of work keeps is missing or was changed.
        JournalAltered = "journal_altered",
        /// The journal of work does not answer in time; what was asked may still be done.
        JournalBusy = "journal_busy",
        /// The store is still being opened.
        StoreOpening = "store_opening",
        /// The store failed, or cannot be opened.
        StoreFailed = "store_failed",
        /// The folder of the memory is gone or was replaced.
        HomeGone = "home_gone",
        /// The daemon is about to end.
        DaemonLeaving = "daemon_leaving",
        /// The daemon ended during the call, which may have been executed.
        Interrupted = "interrupted",
        /// The daemon did not answer in time; the call may have been executed, or may still be running.
        Unanswered = "unanswered",
        /// No daemon can be reached; the call was not executed.
        Unreachable = "unreachable",
        /// A fault of the program.
        Internal = "internal",
    }
}

impl Code {
    /// Whether the caller is at fault: a different request can succeed, the same one cannot. Every other failure is
    /// due to the state of the service.
    pub const fn is_callers_fault(self) -> bool {
        match self {
            Self::InvalidArgument
            | Self::BadMemoryId
            | Self::NoMemory
            | Self::MemoryDeleted
            | Self::MemoryPurged
            | Self::RevisionMismatch
            | Self::TopicTaken
            | Self::Corrected
            | Self::PurgeForbidden
            | Self::NoSession
            | Self::NoWork
            | Self::NoProposal
            | Self::EmptyProject => true,
            Self::NoModel
            | Self::StudioOpen
            | Self::IndexBusy
            | Self::IndexFailed
            | Self::BackupFailed
            | Self::JournalFailed
            | Self::JournalAltered
            | Self::JournalBusy
            | Self::StoreOpening
            | Self::StoreFailed
            | Self::HomeGone
            | Self::DaemonLeaving
            | Self::Interrupted
            | Self::Unanswered
            | Self::Unreachable
            | Self::Internal => false,
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_found_by_its_name() {
        for code in Code::ALL {
            assert_eq!(Code::parse(code.as_str()), Some(code));
            assert!(code.as_str().bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{code}");
        }
        assert_eq!(Code::parse("of_a_later_version"), None);
    }
}
