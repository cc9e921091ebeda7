//! Memories: queries, changes, and what follows from a change.

mod browse;
mod ties;
mod vital;

pub use browse::DeletedFilter;
use std::{collections::BTreeMap, num::NonZeroU32};
pub use ties::{Neighbour, Ties};
pub use vital::CountedMemory;

use surrealdb::types::{Object, RecordId};

use super::{
    Store, StoreError, Tombstone, Why, Write,
    changes::{CommitScript, NewEvent, Part, Tables},
    columns::{RawRow, columns, put_next, row_of, with_id},
    read::{Vars, Walk, one},
    row::{memory_record, session_record, signed, unsigned},
    statement::{self, Statement},
};
use cerebro_core::domain::{EventKind, Memory, MemoryId, Project, Revision, Scope, SessionId, Timestamp};
use cerebro_core::{hygiene, truth};

/// Most pages that are read to find live memories of a session among its deleted ones.
const DELETED_PAGES_MAX: usize = 20;

columns! {
    Memory in "memory" {
        id: key(MemoryId::parse), body: flat, taint: flat, agent, session, revision, duplicate_count, pinned,
        created_at, updated_at, last_seen_at, deleted_at, purged, valid: flat, nature, trigger, done_at, archived_at,
        // One version on with each write.
        version: by(|version| signed(*version) + 1, unsigned),
    }
}

/// The row for the next write, with the columns by which statements find it.
fn row(memory: &Memory) -> Object {
    let live = memory.is_live();
    let topic = memory.topic_key.as_deref().filter(|_| live);
    let mut row = row_of(memory);
    row.insert("live", live);
    row.insert("identity", hygiene::identity(&memory.scope, &memory.kind, &memory.title));
    row.insert("topic", topic.map(|key| topic_slot(&memory.scope, key)));
    row.insert("pin", (memory.pinned && live).then(|| pin_slot(&memory.scope)));
    row.insert("due", truth::is_open(memory).then(|| due_slot(&memory.scope)));
    row
}

/// The value of `memory.topic`; at most one live memory holds it.
pub(super) fn topic_slot(scope: &Scope, topic_key: &str) -> String {
    format!("{}\u{1f}{}\u{1f}{topic_key}", scope.name().as_str(), scope.project_name())
}

/// The value of `memory.pin`, by which a scope's pinned memories are found.
pub(super) fn pin_slot(scope: &Scope) -> String {
    format!("pinned:{}", scope.project_name())
}

/// The value of `memory.due`, by which a scope's open prospective memories are found.
pub(super) fn due_slot(scope: &Scope) -> String {
    format!("due:{}", scope.project_name())
}

/// The changes of the table of memories.
#[derive(Default)]
pub(super) struct MemoryChanges {
    /// Whole rows; `version` is the one that was read, 0 for a new memory.
    pub put: Vec<Memory>,
    /// Memories whose revisions, entities and relations are purged.
    pub purged: Vec<MemoryId>,
    /// Memories whose rows are removed as well.
    pub taken_back: Vec<MemoryId>,
}

impl MemoryChanges {
    /// The memories that were written, as the commit left them.
    pub fn committed(self) -> Vec<Memory> {
        let one_on = |memory: Memory| Memory { version: memory.version + 1, ..memory };
        self.put.into_iter().map(one_on).collect()
    }
}

impl Part for MemoryChanges {
    fn add_to(&self, commit: &mut CommitScript) {
        let (new, changed): (Vec<&Memory>, Vec<&Memory>) =
            self.put.iter().partition(|memory| memory.version == 0);
        commit.add(statement::COMMIT_NEW_MEMORIES, "new_memories", &new, |memory| {
            with_id(memory_record(&memory.id), row(memory))
        });
        commit.add(statement::COMMIT_MEMORIES, "memories", &changed, |memory| {
            put_next(memory_record(&memory.id), memory.version, row(memory))
        });
        commit.add(statement::COMMIT_PURGED, "purged", &self.purged, memory_record);
        commit.add(statement::COMMIT_TAKEN_BACK, "taken_back", &self.taken_back, memory_record);
    }
}

/// The changes of a memory.
impl Write<'_> {
    /// The memory is created by a save in its session. The worker must embed it.
    pub fn create_memory(&mut self, memory: &Memory) {
        let at = self.at();
        let tables = self.put_memory(EventKind::MemoryCreated, memory, memory.session.as_ref());
        tables.written_in_its_session(memory, at);
        tables.jobs.due.push((memory.id, memory.revision));
    }

    /// The memory gets its next revision, and the text before it is kept as a revision; of earlier revisions, the
    /// last `keep` or all. The worker must embed it again; until then, its present vectors move with it to another
    /// project.
    pub fn revise_memory(&mut self, before: Memory, memory: &Memory, keep: Option<NonZeroU32>) {
        let (at, store) = (self.at(), self.store());
        let is_moved = memory.scope != before.scope;
        let tables = self.put_memory(EventKind::MemoryUpdated, memory, memory.session.as_ref());
        tables.correct(&store.key_maker, &before, memory, at);
        if let Some(upto) =
            keep.and_then(|keep| before.revision.checked_sub(keep.get())).filter(|upto| *upto > 0)
        {
            tables.revisions.trimmed.push((before.id, upto));
        }
        if (&memory.title, &memory.content) == (&before.title, &before.content) {
            tables.revisions.anchored.push((memory.id, before.revision, memory.revision));
        }
        tables.revisions.put.push(Revision::from(before));
        tables.written_in_its_session(memory, at);
        tables.jobs.due.push((memory.id, memory.revision));
        if is_moved {
            tables.vectors.moved.push((memory.id, memory.scope.clone()));
        }
    }

    /// The same text was saved again.
    pub fn repeat_memory(&mut self, memory: &Memory, session: &SessionId) {
        self.put_memory(EventKind::MemoryRepeated, memory, Some(session));
    }

    /// The memory is pinned or unpinned, according to its new state.
    pub fn pin_memory(&mut self, memory: &Memory, session: &SessionId) {
        let kind = if memory.pinned { EventKind::MemoryPinned } else { EventKind::MemoryUnpinned };
        self.put_memory(kind, memory, Some(session));
    }

    /// The memory is archived or unarchived, according to its new state; its vectors stay.
    pub fn archive_memory(&mut self, memory: &Memory, session: Option<&SessionId>) {
        let is_archived = memory.is_archived();
        let kind = if is_archived { EventKind::MemoryArchived } else { EventKind::MemoryUnarchived };
        self.put_memory(kind, memory, session);
    }

    /// The memory takes in the tags and counts of memories that say the same, or gives them back.
    pub fn unite_memory(&mut self, memory: &Memory) {
        self.put_memory(EventKind::MemoryUnited, memory, None);
    }

    /// The memory is hidden, and its jobs and vectors are removed.
    pub fn delete_memory(&mut self, memory: &Memory, session: &SessionId) {
        let (at, store) = (self.at(), self.store());
        let tables = self.put_memory(EventKind::MemoryDeleted, memory, Some(session));
        tables.forget_vectors(memory.id);
        tables.add_tombstones(&store.key_maker, memory, None, (Why::Deleted, at));
    }

    /// The memory is live again, and the tombstones of its text, `tombstones`, are forgotten. The worker must embed it.
    pub fn restore_memory(&mut self, memory: &Memory, tombstones: &[Tombstone], session: &SessionId) {
        let tables = self.put_memory(EventKind::MemoryRestored, memory, Some(session));
        tables.remove_tombstones(tombstones);
        tables.jobs.due.push((memory.id, memory.revision));
    }

    /// The text of the memory is purged, with everything derived from it.
    pub fn purge_memory(&mut self, before: &Memory, memory: &Memory, session: &SessionId) {
        let (at, store) = (self.at(), self.store());
        let tables = self.put_memory(EventKind::MemoryPurged, memory, Some(session));
        tables.add_tombstones(&store.key_maker, before, None, (Why::Purged, at));
        tables.memories.purged.push(memory.id);
        tables.forget_vectors(memory.id);
    }

    /// A memory that a plan added is taken back: its row is removed as if it had never existed. `memory` is what a
    /// purge would leave.
    pub fn take_back_memory(&mut self, before: &Memory, memory: &Memory) {
        let (at, store) = (self.at(), self.store());
        let tables = self.put_memory(EventKind::MemoryPurged, memory, None);
        tables.add_tombstones(&store.key_maker, before, None, (Why::Purged, at));
        tables.memories.purged.push(memory.id);
        tables.memories.taken_back.push(memory.id);
        tables.forget_vectors(memory.id);
    }

    /// The memory moves to another project, because its own was merged; its vectors move with it.
    pub fn merge_memory(&mut self, memory: &Memory) {
        let tables = self.put_memory(EventKind::ProjectMerged, memory, None);
        if memory.is_live() {
            tables.vectors.moved.push((memory.id, memory.scope.clone()));
        }
    }

    /// The memory came with an export; its edges have lines of their own. The worker must embed it.
    pub fn import_memory(&mut self, memory: &Memory) {
        let tables = self.put_memory(EventKind::MemoryImported, memory, None);
        if memory.is_live() {
            tables.jobs.due.push((memory.id, memory.revision));
        }
    }

    /// Common to all of these: records the event and writes the row.
    fn put_memory(&mut self, kind: EventKind, memory: &Memory, session: Option<&SessionId>) -> &mut Tables {
        let tables = self.record(NewEvent::about_memory(kind, memory, session));
        tables.memories.put.push(memory.clone());
        tables
    }

    /// The memory as it will be after this commit.
    pub async fn memory(&self, id: &MemoryId) -> Result<Option<Memory>, StoreError> {
        match self.tables().memories.put.iter().rfind(|memory| memory.id == *id) {
            Some(memory) => Ok(Some(memory.clone())),
            None => self.store().memories().by_id(id).await,
        }
    }

    /// The live memory that will hold the topic key after this commit.
    pub async fn topic_holder(&self, scope: &Scope, topic_key: &str) -> Result<Option<Memory>, StoreError> {
        let holds = |memory: &&Memory| {
            memory.is_live() && memory.scope == *scope && memory.topic_key.as_deref() == Some(topic_key)
        };
        match self.tables().memories.put.iter().find(holds) {
            Some(memory) => Ok(Some(memory.clone())),
            None => self.store().topics().holder(scope, topic_key).await,
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

noun! {
    /// The memories.
    memories: Memories
}

impl<'a> Memories<'a> {
    /// A memory, deleted or not.
    pub async fn by_id(self, id: &MemoryId) -> Result<Option<Memory>, StoreError> {
        Ok(one(self.by_ids(std::slice::from_ref(id)).await?))
    }

    /// Memories by id, in no order; missing ones are left out.
    pub async fn by_ids<'i>(
        self,
        ids: impl IntoIterator<Item = &'i MemoryId>,
    ) -> Result<Vec<Memory>, StoreError> {
        let ids: Vec<RecordId> = ids.into_iter().map(memory_record).collect();
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        self.0.select(statement::MEMORY_GET, Vars::new().with("ids", ids)).await
    }

    /// The same, each memory by its id.
    pub async fn map_of<'i>(
        self,
        ids: impl IntoIterator<Item = &'i MemoryId>,
    ) -> Result<BTreeMap<MemoryId, Memory>, StoreError> {
        Ok(self.by_ids(ids).await?.into_iter().map(|memory| (memory.id, memory)).collect())
    }

    /// The same, in the order of the ids, each once.
    pub async fn in_order(self, ids: &[MemoryId]) -> Result<Vec<Memory>, StoreError> {
        let mut found = self.map_of(ids).await?;
        Ok(ids.iter().filter_map(|id| found.remove(id)).collect())
    }

    /// Ids and titles of memories whose id begins with `prefix`, which is part of a valid id.
    pub async fn by_prefix(self, prefix: &str, limit: usize) -> Result<Vec<(MemoryId, String)>, StoreError> {
        let vars = Vars::new()
            .with("from", RecordId::new("memory", prefix))
            // `~` sorts after every character of an id.
            .with("beyond", RecordId::new("memory", format!("{prefix}~")))
            .limit(limit);
        self.0.pairs("memory", ["id", "title"], statement::MEMORY_BY_PREFIX, vars).await
    }

    /// Live memories of one identity seen since a moment, newest first.
    pub async fn twins(
        self,
        identity: &str,
        content: &str,
        since: Timestamp,
        limit: usize,
    ) -> Result<Vec<Memory>, StoreError> {
        let vars = Vars::new().with("identity", identity).with("trimmed", content.trim());
        self.0.select(statement::MEMORY_TWINS, vars.at("since", since).limit(limit)).await
    }

    /// Live memories of a project, in no order.
    pub async fn live(self, project: &Project, limit: usize) -> Result<Vec<Memory>, StoreError> {
        self.of_project(project, true, limit).await
    }

    /// Memories of a project that are not live, purged ones included, in no order.
    pub async fn deleted(self, project: &Project, limit: usize) -> Result<Vec<Memory>, StoreError> {
        self.of_project(project, false, limit).await
    }

    async fn of_project(
        self,
        project: &Project,
        live: bool,
        limit: usize,
    ) -> Result<Vec<Memory>, StoreError> {
        let vars = Vars::new().with("project", project.as_str()).with("live", live).limit(limit);
        self.0.select(statement::MEMORY_OF_PROJECT, vars).await
    }

    /// The live memories of a scope made before a moment, nearest first.
    pub async fn created_before(
        self,
        scope: &Scope,
        at: Timestamp,
        limit: usize,
    ) -> Result<Vec<Memory>, StoreError> {
        self.created(statement::MEMORY_BEFORE, scope, at, limit).await
    }

    /// The live memories of a scope made after a moment, nearest first.
    pub async fn created_since(
        self,
        scope: &Scope,
        at: Timestamp,
        limit: usize,
    ) -> Result<Vec<Memory>, StoreError> {
        self.created(statement::MEMORY_SINCE, scope, at, limit).await
    }

    async fn created(
        self,
        statement: Statement,
        scope: &Scope,
        at: Timestamp,
        limit: usize,
    ) -> Result<Vec<Memory>, StoreError> {
        let vars = Vars::new().with("project", scope.project_name()).at("at", at).limit(limit);
        self.0.select(statement, vars).await
    }

    /// The live memories that a session wrote after a moment, nearest first, with the moment of their writing.
    pub async fn written_since(
        self,
        session: &SessionId,
        at: Timestamp,
        limit: usize,
    ) -> Result<Vec<(Memory, Timestamp)>, StoreError> {
        self.written(statement::SESSION_MEMORIES_SINCE, session, at, limit).await
    }

    /// The live memories that a statement finds before or after a moment, nearest first.
    pub(super) async fn written(
        self,
        statement: Statement,
        session: &SessionId,
        at: Timestamp,
        limit: usize,
    ) -> Result<Vec<(Memory, Timestamp)>, StoreError> {
        let mut found = Vec::new();
        // Deleted ones are filtered out here: as a condition of the statement they would defeat its index. The
        // bound on pages keeps a session of deleted memories only from being read through.
        for page in 0..DELETED_PAGES_MAX {
            let vars = Vars::new().with("sid", session_record(session)).at("at", at).limit(limit);
            // A page begins where the one before ended, which may be within a moment: a transaction has only one.
            let vars = vars.count("offset", page * limit);
            // The memories are read separately: fetched through the edges, each would take a tenth of a millisecond.
            let moments = moments(self.0.values("CREATED_IN", statement, vars).await?)?;
            let is_last = moments.len() < limit;
            let mut memories = self.map_of(moments.iter().map(|(id, _)| id)).await?;
            memories.retain(|_, memory| memory.is_live());
            found.extend(moments.into_iter().filter_map(|(id, at)| Some((memories.remove(&id)?, at))));
            if is_last || found.len() >= limit {
                break;
            }
        }
        found.truncate(limit);
        Ok(found)
    }

    /// All memories in order of id, deleted ones included.
    pub fn walk(self) -> Walk<'a, Memory> {
        Walk::over(self.0)
    }

    /// A live memory that a session wrote and that has this content.
    pub async fn with_content(
        self,
        session: &SessionId,
        content: &str,
    ) -> Result<Option<Memory>, StoreError> {
        let vars = Vars::new().with("sid", session_record(session)).with("content", content);
        Ok(one(self.0.select(statement::MEMORY_WITH_CONTENT, vars).await?))
    }
}

/// The memories at the starts of edges, with the moments of the edges.
pub(super) fn moments(edges: Vec<RawRow>) -> Result<Vec<(MemoryId, Timestamp)>, StoreError> {
    edges.into_iter().map(|edge| edge.pair("CREATED_IN", ["memory", "at"])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_as_they_were_stored() {
        let demo = Scope::Project(Project::parse("demo").unwrap());
        let slots = |scope| (topic_slot(scope, "a/b"), pin_slot(scope), due_slot(scope));
        let of = |topic: &str, pin: &str, due: &str| (topic.to_owned(), pin.to_owned(), due.to_owned());
        assert_eq!(slots(&demo), of("project\u{1f}demo\u{1f}a/b", "pinned:demo", "due:demo"));
        assert_eq!(slots(&Scope::Personal), of("personal\u{1f}\u{1f}a/b", "pinned:", "due:"));
    }
}
