//! Earlier revisions of memories.

use surrealdb::types::{Datetime, RecordId, SurrealValue, Value};

use super::{
    Store, StoreError, Write,
    anchor::anchor_record,
    changes::{CommitScript, NewEvent, Part},
    read::{Vars, Walk, one},
    row::{
        BodyRow, datetime, held, memory_id, memory_record, session_id, session_record, small, timestamp,
        validity,
    },
    statement,
};
use cerebro_core::domain::{EventKind, Memory, MemoryId, Origin, Project, Revision, Timestamp};

#[derive(Debug, Clone, SurrealValue)]
pub(super) struct RevisionRow {
    id: RecordId,
    memory: RecordId,
    revision: i64,
    #[surreal(flatten)]
    body: BodyRow,
    agent: String,
    session: Option<RecordId>,
    at: Datetime,
    valid_from: Option<Datetime>,
    valid_until: Option<Datetime>,
    /// `None` in rows of earlier versions.
    origin: Option<String>,
}

impl From<&Revision> for RevisionRow {
    fn from(old: &Revision) -> Self {
        Self {
            id: RecordId::new("revision", format!("{}-{}", old.memory, old.revision)),
            memory: memory_record(&old.memory),
            revision: i64::from(old.revision),
            body: BodyRow::from(&old.body),
            agent: old.agent.to_string(),
            session: old.session.as_ref().map(session_record),
            at: datetime(old.at),
            valid_from: old.valid.from.map(datetime),
            valid_until: old.valid.until.map(datetime),
            origin: Some(old.origin.as_str().to_owned()),
        }
    }
}

impl TryFrom<RevisionRow> for Revision {
    type Error = StoreError;

    fn try_from(row: RevisionRow) -> Result<Self, StoreError> {
        const TABLE: &str = "revision";
        Ok(Self {
            memory: memory_id(TABLE, row.memory)?,
            revision: small(row.revision),
            body: row.body.read(TABLE)?,
            agent: held(row.agent),
            session: row.session.map(|id| session_id(TABLE, id)).transpose()?,
            at: timestamp(row.at),
            valid: validity(row.valid_from, row.valid_until),
            origin: row.origin.as_deref().and_then(Origin::parse).unwrap_or_default(),
        })
    }
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

#[derive(SurrealValue)]
struct Trim {
    memory: RecordId,
    upto: i64,
}

#[derive(SurrealValue)]
struct Kept {
    anchor: RecordId,
    before: i64,
    after: i64,
}

impl Part for RevisionChanges {
    fn add_to(&self, commit: &mut CommitScript) {
        commit.add(statement::COMMIT_TRIMMED, "trimmed", &self.trimmed, |(memory, upto)| Trim {
            memory: memory_record(memory),
            upto: i64::from(*upto),
        });
        commit.add(statement::COMMIT_REVISIONS, "revisions", &self.put, |old| RevisionRow::from(old));
        commit.add(statement::COMMIT_ANCHORED, "anchored", &self.anchored, |(memory, before, after)| Kept {
            anchor: anchor_record(memory),
            before: i64::from(*before),
            after: i64::from(*after),
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
        self.0.select::<RevisionRow, _>("revision", statement::REVISION_LIST, vars).await
    }

    /// All revisions in order of id, `limit` at a time.
    pub fn walk(self, limit: usize) -> Walk<'a, Revision> {
        Walk::over::<RevisionRow>(self.0, "revision", limit)
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
