//! The jobs that a commit queues, and those that it cancels.

use super::{JobKind, queued};
use crate::{
    changes::{CommitScript, Part},
    row::datetime,
    statement,
};
use cerebro_core::domain::MemoryId;

/// The changes of the worker's queue.
#[derive(Default)]
pub(crate) struct JobChanges {
    /// Memories whose present revision the worker must process.
    pub due: Vec<(MemoryId, u32)>,
    /// Memories that are no longer live.
    pub void: Vec<MemoryId>,
}

impl Part for JobChanges {
    fn add_to(&self, commit: &mut CommitScript) {
        // Leases follow the clock. A job must be due now, even if the moment of its commit is ahead of the clock.
        let (at, due) = (commit.at, commit.at.min(commit.now));
        commit.add(statement::COMMIT_JOBS, "jobs", &self.due, |(memory, revision)| {
            let mut row = queued(JobKind::Embed, &(*memory).into(), *revision, due);
            row.insert("queued_at", datetime(at));
            row
        });
        commit.add(statement::COMMIT_VOID_JOBS, "void_jobs", &self.void, |memory| {
            JobKind::ALL.map(|kind| kind.record(&(*memory).into())).to_vec()
        });
    }
}
