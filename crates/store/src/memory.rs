//! Memories: what may happen to one, and what changes with it.

use std::num::NonZeroU32;

use super::{
    StoreError, Write,
    changes::{CommitScript, Happened, Part, Tables},
    row::{Guarded, MemoryRow, memory_record, signed},
    statement,
};
use cerebro_core::domain::{EventKind, Memory, MemoryId, Project, Revision, Scope, SessionId, Timestamp};

/// What changes in the table of memories.
#[derive(Default)]
pub(super) struct MemoryChanges {
    /// Whole rows; `version` is the one that was read, 0 for a memory that is new.
    pub put: Vec<Memory>,
    /// Whose revisions, entities and relations go for good.
    pub purged: Vec<MemoryId>,
}

impl MemoryChanges {
    /// The memories that were put, as the commit left them.
    pub fn committed(self) -> Vec<Memory> {
        let one_on = |memory: Memory| Memory { version: memory.version + 1, ..memory };
        self.put.into_iter().map(one_on).collect()
    }
}

impl Part for MemoryChanges {
    fn add_to(&self, commit: &mut CommitScript) {
        let (new, changed): (Vec<&Memory>, Vec<&Memory>) =
            self.put.iter().partition(|memory| memory.version == 0);
        commit.add(statement::COMMIT_NEW_MEMORIES, "new_memories", &new, |memory| MemoryRow::first(memory));
        commit.add(statement::COMMIT_MEMORIES, "memories", &changed, |memory| Guarded {
            id: memory_record(&memory.id),
            expect: signed(memory.version),
            row: MemoryRow::next(memory),
        });
        commit.add(statement::COMMIT_PURGED, "purged", &self.purged, memory_record);
    }
}

/// What may happen to a memory.
impl Write<'_> {
    /// It is saved as one of its own, in its session. The worker owes it vectors.
    pub fn create_memory(&mut self, memory: &Memory) {
        let at = self.at();
        let tables = self.put_memory(EventKind::MemoryCreated, memory, memory.session.as_ref());
        tables.written_in_its_session(memory, at);
        tables.jobs.due.push((memory.id, memory.revision));
    }

    /// It gets the next revision, and what it was is kept; of its earlier revisions the last `keep`, or all. The worker
    /// owes it new vectors, and the present ones go with it to another project.
    pub fn revise_memory(&mut self, before: Memory, memory: &Memory, keep: Option<NonZeroU32>) {
        let at = self.at();
        let is_moved = memory.project != before.project;
        let tables = self.put_memory(EventKind::MemoryUpdated, memory, memory.session.as_ref());
        if let Some(upto) =
            keep.and_then(|keep| before.revision.checked_sub(keep.get())).filter(|upto| *upto > 0)
        {
            tables.revisions.trimmed.push((before.id, upto));
        }
        tables.revisions.put.push(Revision::from(before));
        tables.written_in_its_session(memory, at);
        tables.jobs.due.push((memory.id, memory.revision));
        if is_moved {
            tables.vectors.moved.push((memory.id, memory.project.clone()));
        }
    }

    /// The same text was saved again.
    pub fn repeat_memory(&mut self, memory: &Memory, session: &SessionId) {
        self.put_memory(EventKind::MemoryRepeated, memory, Some(session));
    }

    /// It is pinned, or no longer, as it says itself.
    pub fn pin_memory(&mut self, memory: &Memory, session: &SessionId) {
        let kind = if memory.pinned { EventKind::MemoryPinned } else { EventKind::MemoryUnpinned };
        self.put_memory(kind, memory, Some(session));
    }

    /// It is hidden, and its jobs and vectors go.
    pub fn delete_memory(&mut self, memory: &Memory, session: &SessionId) {
        self.put_memory(EventKind::MemoryDeleted, memory, Some(session)).forget_vectors(memory.id);
    }

    /// It is live again. The worker owes it vectors.
    pub fn restore_memory(&mut self, memory: &Memory, session: &SessionId) {
        let tables = self.put_memory(EventKind::MemoryRestored, memory, Some(session));
        tables.jobs.due.push((memory.id, memory.revision));
    }

    /// Its text is gone, and all that was made of it goes.
    pub fn purge_memory(&mut self, memory: &Memory, session: &SessionId) {
        let tables = self.put_memory(EventKind::MemoryPurged, memory, Some(session));
        tables.memories.purged.push(memory.id);
        tables.forget_vectors(memory.id);
    }

    /// It belongs to another project, since its own was merged into that; its vectors go with it.
    pub fn merge_memory(&mut self, memory: &Memory) {
        let tables = self.put_memory(EventKind::ProjectMerged, memory, None);
        if memory.is_live() {
            tables.vectors.moved.push((memory.id, memory.project.clone()));
        }
    }

    /// It comes from an export; its edges have lines of their own. The worker owes it vectors.
    pub fn import_memory(&mut self, memory: &Memory) {
        let tables = self.put_memory(EventKind::MemoryImported, memory, None);
        if memory.is_live() {
            tables.jobs.due.push((memory.id, memory.revision));
        }
    }

    /// What every one of these does: the event, and the row.
    fn put_memory(&mut self, kind: EventKind, memory: &Memory, session: Option<&SessionId>) -> &mut Tables {
        let tables = self.tell(Happened::to_memory(kind, memory, session));
        tables.memories.put.push(memory.clone());
        tables
    }

    /// A memory as it will be when this is committed.
    ///
    /// # Errors
    /// A failing store.
    pub async fn memory(&self, id: &MemoryId) -> Result<Option<Memory>, StoreError> {
        match self.tables().memories.put.iter().rfind(|memory| memory.id == *id) {
            Some(memory) => Ok(Some(memory.clone())),
            None => self.store().memory(id).await,
        }
    }

    /// The live memory that will hold a topic key when this is committed.
    ///
    /// # Errors
    /// A failing store.
    pub async fn topic_holder(
        &self,
        project: &Project,
        scope: Scope,
        topic_key: &str,
    ) -> Result<Option<Memory>, StoreError> {
        let holds = |memory: &&Memory| {
            memory.is_live()
                && (&memory.project, memory.scope) == (project, scope)
                && memory.topic_key.as_deref() == Some(topic_key)
        };
        match self.tables().memories.put.iter().find(holds) {
            Some(memory) => Ok(Some(memory.clone())),
            None => self.store().topic_holder(project, scope, topic_key).await,
        }
    }
}

impl Tables {
    fn written_in_its_session(&mut self, memory: &Memory, at: Timestamp) {
        if let Some(session) = &memory.session {
            self.edges.created_in.push((memory.id, session.clone(), at));
        }
    }

    fn forget_vectors(&mut self, memory: MemoryId) {
        self.jobs.void.push(memory);
        self.vectors.gone.push(memory);
    }
}
