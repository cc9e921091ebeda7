//! The errors of the store.

use cerebro_core::domain::{WorkId, limits::WRITE_ATTEMPTS_MAX};
use cerebro_engine::EngineError;

/// Why the store did not do what it was asked to do.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another writer committed during this write; the whole decision must be made again.
    #[error("the write `{0}` met other writers {WRITE_ATTEMPTS_MAX} times in a row; call again")]
    Conflict(&'static str),
    /// The engine failed.
    #[error(transparent)]
    Engine(EngineError),
    /// A newer Cerebro wrote the store.
    #[error(
        "the store has schema version {found}, but this cerebro knows versions up to {supported}; install the newer cerebro that wrote it"
    )]
    SchemaTooNew {
        /// The version of the store.
        found: u32,
        /// The newest version that this binary knows.
        supported: u32,
    },
    /// An applied migration differs from the one in this binary.
    #[error("migration {version} of the store differs from this cerebro's; it was built from edited sources")]
    MigrationChanged {
        /// The number of the migration.
        version: u32,
    },
    /// A row does not have the form that this binary writes.
    #[error("a row of `{table}` is malformed: {reason}")]
    Row {
        table: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// A backup defines more than this program does.
    #[error(
        "it defines something that no memory of Cerebro has, or defines it differently: {0}. Somebody changed the file; restore only one \
         that `cerebro backup` made and nobody else could write to"
    )]
    Foreign(String),
    /// The connection broke during a commit, and the server cannot be asked whether it was done.
    #[error(
        "the connection to the database at {url} broke while this was being written, and it is not known yet whether it was; call again in a moment: a repetition is recognised"
    )]
    InDoubt {
        /// The server's address.
        url: String,
    },
    /// An event cannot be written, because a row that this program did not write has its number.
    #[error(
        "event {seq} of work {work} is there already and was not written by this journal, so nothing was written: somebody changed the \
         journal. `cerebro work verify` names what was changed"
    )]
    Inserted {
        /// The piece of work.
        work: WorkId,
        /// The number.
        seq: u64,
    },
    /// The store is closing.
    #[error("the store is closing; call again")]
    Closed,
}

impl StoreError {
    /// A statement that failed, with a reason of this program.
    pub(super) fn query(statement: &'static str, reason: String) -> Self {
        Self::Engine(EngineError::Query { statement, reason })
    }

    /// Whether a row could not be read because its contents are not what this program writes.
    pub fn is_unreadable(&self) -> bool {
        const OF_ENGINE: [&str; 2] = ["Failed to fetch records", "Failed to deserialize record"];
        match self {
            Self::Row { .. } => true,
            Self::Engine(EngineError::Query { reason, .. }) => {
                OF_ENGINE.iter().any(|words| reason.contains(words))
            }
            _ => false,
        }
    }

    /// Whether another attempt may succeed.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Conflict(_))
    }
}

impl From<EngineError> for StoreError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Conflict(write) => Self::Conflict(write),
            other => Self::Engine(other),
        }
    }
}
