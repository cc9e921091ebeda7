//! The jobs that a commit owes the worker, and those that it makes void.

use super::{JobKind, JobState};
use crate::{
    changes::{CommitScript, Part},
    row::{JobRow, datetime, memory_record},
    statement,
};
use cerebro_core::domain::MemoryId;

/// What changes in the worker's queue.
#[derive(Default)]
pub(crate) struct JobChanges {
    /// Memories whose present revision the worker must look at.
    pub due: Vec<(MemoryId, u32)>,
    /// Memories that are no longer live.
    pub void: Vec<MemoryId>,
}

impl Part for JobChanges {
    fn add_to(&self, commit: &mut CommitScript) {
        let at = datetime(commit.at);
        commit.add(statement::COMMIT_JOBS, "jobs", &self.due, |(memory, revision)| JobRow {
            id: JobKind::Embed.record(memory),
            memory: memory_record(memory),
            revision: i64::from(*revision),
            kind: JobKind::Embed.as_str().to_owned(),
            state: JobState::Queued.as_str().to_owned(),
            attempts: 0,
            due_at: at,
            queued_at: Some(at),
        });
        commit.add(statement::COMMIT_VOID_JOBS, "void_jobs", &self.void, |memory| {
            [JobKind::Embed, JobKind::Claim].map(|kind| kind.record(memory)).to_vec()
        });
    }
}
