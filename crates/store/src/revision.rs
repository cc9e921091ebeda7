//! Earlier revisions of memories.

use surrealdb::types::{RecordId, SurrealValue};

use super::{
    StoreError, Write,
    changes::{CommitScript, Happened, Part},
    row::{RevisionRow, memory_record},
    statement,
};
use cerebro_core::domain::{EventKind, Memory, MemoryId, Revision};

/// What changes in the table of revisions.
#[derive(Default)]
pub(super) struct RevisionChanges {
    /// What memories were before.
    pub put: Vec<Revision>,
    /// Memories whose revisions up to and with this one go, where the user limits their number.
    pub trimmed: Vec<(MemoryId, u32)>,
}

#[derive(SurrealValue)]
#[surreal(crate = "surrealdb::types")]
struct Trim {
    memory: RecordId,
    upto: i64,
}

impl Part for RevisionChanges {
    fn add_to(&self, commit: &mut CommitScript) {
        commit.add(statement::COMMIT_TRIMMED, "trimmed", &self.trimmed, |(memory, upto)| Trim {
            memory: memory_record(memory),
            upto: i64::from(*upto),
        });
        commit.add(statement::COMMIT_REVISIONS, "revisions", &self.put, |old| RevisionRow::from(old));
    }
}

impl Write<'_> {
    /// A revision of `owner` comes from an export.
    pub fn import_revision(&mut self, owner: &Memory, revision: Revision) {
        let tables = self.tell(Happened::to_memory(EventKind::MemoryImported, owner, None));
        tables.revisions.put.push(revision);
    }

    /// Whether an earlier revision of a memory will be there when this is committed.
    ///
    /// # Errors
    /// A failing store.
    pub async fn has_revision(&self, memory: &MemoryId, number: u32) -> Result<bool, StoreError> {
        let here = |other: &Revision| (other.memory, other.revision) == (*memory, number);
        Ok(self.tables().revisions.put.iter().any(here)
            || self.store().revision(memory, number).await?.is_some())
    }
}
