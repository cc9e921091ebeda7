//! The errors of the database, and the only place that inspects SurrealDB's own errors.

use std::path::PathBuf;

use surrealdb::types::QueryError;

/// The text that a script throws when a row has changed since it was read.
const STALE: &str = "cerebro:stale";

/// Why the database did not do what it was asked to do.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// Another writer committed during this statement: the whole decision must be made again.
    #[error("another write changed the same rows as `{0}` meanwhile; call again")]
    Conflict(&'static str),
    /// Another process has the database open.
    #[error("the database in {} is held by another process; stop that one (`cerebro daemon stop`, or a SurrealDB server on the same folder)", .0.display())]
    Locked(PathBuf),
    /// The folder or the database in it cannot be used.
    #[error("cannot open the database in {}: {reason}", .dir.display())]
    Open {
        /// The database's folder.
        dir: PathBuf,
        /// The engine's message.
        reason: String,
    },
    /// The disk is full, or the database made itself read-only because it nearly is.
    #[error("no space left on the disk: nothing was written; free some space and call again ({0})")]
    DiskFull(String),
    /// The disk failed or hung while the database wrote to it. After that the database writes nothing until it is opened
    /// again.
    #[error(
        "the disk failed during this write, so it is not known whether it is stored; the memory is being opened again: call again in a minute ({0})"
    )]
    DiskFailed(String),
    /// A statement failed.
    #[error("statement `{statement}` failed: {reason}")]
    Query {
        /// The file in `surql/statements`.
        statement: &'static str,
        /// The engine's message.
        reason: String,
    },
    /// A person's query cannot be run.
    #[error("the query was refused: {0}")]
    Refused(String),
    /// The live endpoint cannot be opened.
    #[error("cannot open the endpoint: {0}")]
    Studio(String),
    /// The server cannot be reached now.
    #[error("the database at {url} cannot be reached: {reason}; nothing is lost, call again in a moment")]
    Unreachable {
        /// The server's address.
        url: String,
        /// What happened.
        reason: String,
    },
    /// The server, the account or the database on it cannot be used.
    #[error("cannot use the database at {url}: {reason}")]
    Remote {
        /// The server's address.
        url: String,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// Something that needs an embedded store.
    #[error(
        "{0} needs a store of this machine, and this one is on a server: use SurrealDB's own tools there"
    )]
    NotRemote(&'static str),
}

/// Classifies one error of the engine. A failed transaction reports an error for each statement: those before the
/// failed one say that they were not executed, those after it that they were cancelled. These give `None`.
///
/// A commit that the storage refused also counts as "not executed", but its text has the cause.
pub(super) fn classify(statement: &'static str, error: &surrealdb::Error) -> Option<EngineError> {
    let text = error.to_string();
    match error.query_details() {
        Some(QueryError::TransactionConflict) => return Some(EngineError::Conflict(statement)),
        Some(QueryError::NotExecuted | QueryError::Cancelled) if !is_refused_commit(&text) => return None,
        _ => {}
    }
    // Their type is lost on the way out of a transaction, so the text decides.
    if text.contains("can be retried") || text.contains(STALE) || is_unique_violation(&text) {
        return Some(EngineError::Conflict(statement));
    }
    if text.contains("not executed due to a failed transaction") {
        return None;
    }
    if text.contains("No space left on device") || text.contains("read-and-delete-only") {
        return Some(EngineError::DiskFull(text));
    }
    if text.contains("IO error") || text.contains("transaction timed out") {
        return Some(EngineError::DiskFailed(text));
    }
    Some(EngineError::Query { statement, reason: text })
}

/// Whether the storage refused a commit. `COMMIT` fails too when a statement before it did; that one says why.
fn is_refused_commit(text: &str) -> bool {
    text.strip_prefix("Cannot COMMIT: ")
        .is_some_and(|cause| !cause.starts_with("the transaction was aborted"))
}

/// The unique indexes guard what decisions rely on (one holder of a topic key, one event for a number). Violating
/// one means that the decision was made on an outdated state.
fn is_unique_violation(text: &str) -> bool {
    text.contains("already contains") || text.contains("already exists")
}

/// Classifies an error of opening the database in `dir`.
pub(super) fn classify_open(dir: &std::path::Path, reason: String) -> EngineError {
    if reason.contains("/LOCK") {
        EngineError::Locked(dir.to_path_buf())
    } else {
        EngineError::Open { dir: dir.to_path_buf(), reason }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn not_executed(text: &str) -> Option<EngineError> {
        classify("commit", &surrealdb::Error::query(text.to_owned(), QueryError::NotExecuted))
    }

    #[test]
    fn a_commit_that_the_disk_refused_names_the_disk() {
        let io = "There was a problem with the datastore: IO error: While fdatasync: 000004.log: Input/output error";
        assert!(matches!(not_executed(&format!("Cannot COMMIT: {io}")), Some(EngineError::DiskFailed(_))));
        let full = "There was a problem with a transaction: IO error: No space left on device";
        assert!(matches!(not_executed(&format!("Cannot COMMIT: {full}")), Some(EngineError::DiskFull(_))));
    }

    #[test]
    fn a_statement_that_did_not_run_is_no_cause() {
        for text in [
            "The query was not executed due to a failed transaction",
            "Cannot COMMIT: the transaction was aborted due to a prior error",
            "Cannot COMMIT: the transaction was aborted due to a nested BEGIN",
        ] {
            assert!(not_executed(text).is_none(), "{text}");
        }
    }
}
