//! Earlier revisions of memories.

use surrealdb::types::{Datetime, RecordId, object};

use super::{
    Store, StoreError, Write,
    anchor::anchor_record,
    changes::{CommitScript, NewEvent, Part},
    columns::{columns, row_of, with_id},
    read::{Vars, Walk, one},
    row::{memory_record, timestamp},
    statement,
};
use cerebro_core::domain::{EventKind, Memory, MemoryId, Project, Revision, Timestamp};

columns! {
    Revision in "revision" { memory, revision, body: flat, agent, session, at, valid: flat, origin: or_default }
}

/// The changes of the table of revisions.
#[derive(Default)]
pub(super) struct RevisionChanges {
    /// The former states of memories.
    pub put: Vec<Revision>,
    /// Memories, each with the revision up to which its revisions are removed, where the user limits their number.
    pub trimmed: Vec<(MemoryId, u32)>,
    /// Memories, each with the revision before and after a change that left their text as it was: what they are anchored to stays.
    pub anchored: Vec<(MemoryId, u32, u32)>,
}

impl Part for RevisionChanges {
    fn add_to(&self, commit: &mut CommitScript) {
        commit.add(statement::COMMIT_TRIMMED, "trimmed", &self.trimmed, |(memory, upto)| {
            object! { memory: memory_record(memory), upto: i64::from(*upto) }
        });
        commit.add(statement::COMMIT_REVISIONS, "revisions", &self.put, |old| {
            let id = RecordId::new("revision", format!("{}-{}", old.memory, old.revision));
            with_id(id, row_of(old))
        });
        commit.add(statement::COMMIT_ANCHORED, "anchored", &self.anchored, |(memory, before, after)| {
            object! { anchor: anchor_record(memory), before: i64::from(*before), after: i64::from(*after) }
        });
    }
}

impl Write<'_> {
    /// A revision of `owner` came with an export.
    pub fn import_revision(&mut self, owner: &Memory, revision: Revision) {
        let store = self.store();
        let tables = self.record(NewEvent::about_memory(EventKind::MemoryImported, owner, None));
        let was = revision.of(owner);
        tables.correct(&store.key_maker, &was, owner, owner.updated_at);
        tables.revisions.put.push(revision);
    }

    /// Whether the earlier revision of the memory will exist after this commit.
    pub async fn has_revision(&self, memory: &MemoryId, number: u32) -> Result<bool, StoreError> {
        let here = |other: &Revision| (other.memory, other.revision) == (*memory, number);
        Ok(self.tables().revisions.put.iter().any(here)
            || self.store().revisions().by_number(memory, number).await?.is_some())
    }
}

noun! {
    /// The earlier revisions of memories.
    revisions: Revisions
}

impl<'a> Revisions<'a> {
    /// One earlier revision of a memory.
    pub async fn by_number(self, memory: &MemoryId, number: u32) -> Result<Option<Revision>, StoreError> {
        Ok(one(self.before(memory, number.saturating_add(1), 1).await?)
            .filter(|found| found.revision == number))
    }

    /// Earlier revisions of a memory below a number, newest first.
    pub async fn before(
        self,
        memory: &MemoryId,
        before: u32,
        limit: usize,
    ) -> Result<Vec<Revision>, StoreError> {
        let vars =
            Vars::new().with("memory", memory_record(memory)).with("before", i64::from(before)).limit(limit);
        self.0.select(statement::REVISION_LIST, vars).await
    }

    /// All revisions in order of id.
    pub fn walk(self) -> Walk<'a, Revision> {
        Walk::over(self.0)
    }

    /// When earlier texts of memories were written, from a moment on, in no order.
    pub async fn moments(
        self,
        project: Option<&Project>,
        since: Timestamp,
    ) -> Result<Vec<Timestamp>, StoreError> {
        let vars = Vars::new()
            .with("project", project.map(|project| project.as_str().to_owned()))
            .at("since", since);
        let moments: Vec<Datetime> = self.0.values("revision", statement::REVISION_MOMENTS, vars).await?;
        Ok(moments.into_iter().map(timestamp).collect())
    }
}
