//! Supersessions: which memory took the place of which, because an agent or a person said so, or because
//! consolidation found that it says the same.
//!
//! A model can only claim a supersession, which is a relation: see `relation`.

use surrealdb::types::RecordId;

use super::{
    Store, StoreError, Why, Write,
    changes::{CommitScript, NewEvent, Part},
    columns::{columns, row_of, with_id},
    edge::edge_id,
    read::{Vars, Walk},
    row::memory_record,
    statement,
};
use cerebro_core::domain::{EventKind, Memory, MemoryId, SessionId, Timestamp};

/// The fact that a memory took an older one's place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Supersession {
    /// The memory that holds now.
    pub newer: MemoryId,
    /// The memory that held before.
    pub older: MemoryId,
    /// Who said so: `agent`, `person` or [`Self::CYCLE`].
    pub by: String,
    /// Since when.
    pub at: Timestamp,
}

impl Supersession {
    /// Consolidation. It corrects nothing: both memories say the same.
    pub const CYCLE: &'static str = "cycle";
}

columns! { Supersession in "SUPERSEDES" { newer: "in", older: "out", by, at } }

/// The id of the edge.
pub(super) fn record(edge: &Supersession) -> RecordId {
    edge_id("SUPERSEDES", edge.newer.as_str(), edge.older.as_str())
}

/// The changes of the table of these edges. An existing edge stays as it is.
#[derive(Default)]
pub(super) struct SupersessionChanges {
    /// New edges.
    pub put: Vec<Supersession>,
    /// Removed edges, from newer to older.
    pub gone: Vec<(MemoryId, MemoryId)>,
}

impl Part for SupersessionChanges {
    fn add_to(&self, commit: &mut CommitScript) {
        commit.add(statement::COMMIT_SUPERSEDES, "supersedes", &self.put, |edge| {
            with_id(record(edge), row_of(edge))
        });
        commit.add(statement::COMMIT_REINSTATED, "reinstated", &self.gone, |(newer, older)| {
            edge_id("SUPERSEDES", newer.as_str(), older.as_str())
        });
    }
}

impl Write<'_> {
    /// A memory supersedes an older one.
    pub fn supersede_memory(&mut self, newer: &Memory, older: &Memory, by: &str, session: &SessionId) {
        let (at, store) = (self.at(), self.store());
        let tables = self.record(NewEvent::about_memory(EventKind::MemorySuperseded, older, Some(session)));
        tables.add_tombstones(&store.key_maker, older, Some(newer), (Why::Superseded, at));
        let (newer, older, by) = (newer.id, older.id, by.to_owned());
        tables.supersessions.put.push(Supersession { newer, older, by, at });
    }

    /// A memory says all that an older one says and takes its place. The older text holds as before.
    pub fn replace_memory(&mut self, newer: MemoryId, older: &Memory) {
        let at = self.at();
        let tables = self.record(NewEvent::about_memory(EventKind::MemorySuperseded, older, None));
        let by = Supersession::CYCLE.to_owned();
        tables.supersessions.put.push(Supersession { newer, older: older.id, by, at });
    }

    /// The inverse of [`Self::replace_memory`].
    pub fn reinstate_memory(&mut self, newer: MemoryId, older: &Memory) {
        let tables = self.record(NewEvent::about_memory(EventKind::MemoryReinstated, older, None));
        tables.supersessions.gone.push((newer, older.id));
    }

    /// A supersession of `older` came with an export.
    pub fn import_supersession(&mut self, newer: &Memory, older: &Memory, edge: Supersession) {
        let store = self.store();
        let tables = self.record(NewEvent::about_memory(EventKind::MemorySuperseded, older, None));
        if edge.by != Supersession::CYCLE {
            tables.add_tombstones(&store.key_maker, older, Some(newer), (Why::Superseded, edge.at));
        }
        tables.supersessions.put.push(edge);
    }

    /// The supersessions of these memories after this commit, in both directions.
    pub async fn supersessions(&self, ids: &[MemoryId]) -> Result<Vec<Supersession>, StoreError> {
        let mut edges = self.store().supersessions().of(ids).await?;
        let put = self.tables().supersessions.put.iter();
        let here = put.filter(|edge| ids.contains(&edge.newer) || ids.contains(&edge.older));
        edges.extend(here.cloned());
        Ok(edges)
    }
}

/// Most edges that one call reads.
pub const SUPERSESSIONS_MAX: usize = 100_000;

noun! {
    /// The supersessions.
    supersessions: Supersessions
}

impl<'a> Supersessions<'a> {
    /// The supersessions of some memories, in both directions, the latest first.
    pub async fn of(self, ids: &[MemoryId]) -> Result<Vec<Supersession>, StoreError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let vars = Vars::new().list("ids", ids.iter().map(memory_record)).limit(SUPERSESSIONS_MAX);
        self.0.select(statement::SUPERSESSION_OF, vars).await
    }

    /// All supersessions, up to the latest [`SUPERSESSIONS_MAX`].
    pub async fn all(self) -> Result<Vec<Supersession>, StoreError> {
        let vars = Vars::new().limit(SUPERSESSIONS_MAX);
        self.0.select(statement::SUPERSESSION_ALL, vars).await
    }

    /// All these edges in order of id.
    pub fn walk(self) -> Walk<'a, Supersession> {
        Walk::over(self.0)
    }
}
