//! Edges whose only field is a time: from a memory to the sessions that wrote it and the pieces of work in which it
//! was found out, and from a session to the one that it continues. Those to exchanges ([`super::citation`]) are read here, too.

use surrealdb::types::{Datetime, RecordId};

use super::{
    Store, StoreError, Write,
    changes::{CommitScript, NewEvent, Part},
    columns::{row_of, with_id},
    history,
    read::{Page, Table, Vars, one},
    row::{key, memory_record, timestamp},
    statement,
    work::work_record,
};
use cerebro_core::domain::{EventKind, Memory, MemoryId, SessionId, Timestamp, WorkId};

/// An edge whose only field is a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edge {
    /// Which relation.
    pub table: Table,
    /// The id at its start.
    pub from: String,
    /// The id at its end.
    pub to: String,
    /// When it was made.
    pub at: Timestamp,
}

/// The id of an edge. It is derived from both ends, so making an edge twice has no further effect.
pub(super) fn edge_id(table: &'static str, from: &str, to: &str) -> RecordId {
    use sha2::{Digest, Sha256};
    let digest = Sha256::new().chain_update(from).chain_update([0]).chain_update(to).finalize();
    RecordId::new(table, cerebro_core::text::hex(&digest[..10]))
}

/// A memory, a piece of work in which it was found out, and when it was tied to it.
pub(super) type WorkedIn = (MemoryId, WorkId, Timestamp);

/// The changes of the tables of these edges. An existing edge stays as it is.
#[derive(Default)]
pub(super) struct EdgeChanges {
    /// Memories, the sessions that wrote them, and the times.
    pub created_in: Vec<(MemoryId, SessionId, Timestamp)>,
    /// Sessions, the sessions that they continue, and since when.
    pub follows: Vec<(SessionId, SessionId, Timestamp)>,
    pub worked_in: Vec<WorkedIn>,
}

impl Part for EdgeChanges {
    fn add_to(&self, commit: &mut CommitScript) {
        commit.add(statement::COMMIT_CREATED_IN, "created_in", &self.created_in, |edge| {
            with_id(edge_id("CREATED_IN", edge.0.as_str(), edge.1.as_str()), row_of(edge))
        });
        commit.add(statement::COMMIT_FOLLOWS, "follows", &self.follows, |edge| {
            with_id(edge_id("FOLLOWS", edge.0.as_str(), edge.1.as_str()), row_of(edge))
        });
        commit.add(statement::COMMIT_WORKED_IN, "worked_in", &self.worked_in, |edge| {
            with_id(edge_id("WORKED_IN", edge.0.as_str(), edge.1.as_str()), row_of(edge))
        });
    }
}

impl Write<'_> {
    /// An edge from a memory to a session that wrote it came with an export.
    pub fn import_writing(&mut self, memory: &Memory, session: SessionId, at: Timestamp) {
        let tables = self.record(NewEvent::about_memory(EventKind::MemoryImported, memory, Some(&session)));
        tables.edges.created_in.push((memory.id, session, at));
    }

    /// An edge from a session to the one that it continues came with an export.
    pub fn import_following(&mut self, later: SessionId, earlier: SessionId, at: Timestamp) {
        let event =
            NewEvent { session: Some(later.clone()), ..NewEvent::about_nothing(EventKind::SessionImported) };
        self.record(event).edges.follows.push((later, earlier, at));
    }

    /// A memory is tied to the piece of work in which it was found out. `at` is the moment of a tie that came with
    /// an export.
    pub fn link_to_work(&mut self, kind: EventKind, memory: &Memory, work: WorkId, at: Option<Timestamp>) {
        let at = at.unwrap_or_else(|| self.at());
        self.record(NewEvent::about_memory(kind, memory, None)).edges.worked_in.push((memory.id, work, at));
    }

    /// Whether the memory will be tied to the piece of work after this commit.
    pub async fn is_worked_in(&self, memory: &MemoryId, work: &WorkId) -> Result<bool, StoreError> {
        let here = self.tables().edges.worked_in.iter().any(|edge| (&edge.0, &edge.1) == (memory, work));
        let edge = edge_id("WORKED_IN", memory.as_str(), work.as_str());
        Ok(here || self.store().edges().time(edge).await?.is_some())
    }

    /// Whether there will be an edge from the memory to the session that wrote it after this commit.
    pub async fn is_written_in(&self, memory: &MemoryId, session: &SessionId) -> Result<bool, StoreError> {
        let here = self.tables().edges.created_in.iter().any(|edge| (&edge.0, &edge.1) == (memory, session));
        Ok(here || self.store().edges().written_at(memory, session).await?.is_some())
    }

    /// Whether there will be an edge from the later session to the earlier one after this commit.
    pub async fn follows(&self, later: &SessionId, earlier: &SessionId) -> Result<bool, StoreError> {
        let here = self.tables().edges.follows.iter().any(|edge| (&edge.0, &edge.1) == (later, earlier));
        Ok(here || self.store().edges().follows(later, earlier).await?)
    }
}

noun! {
    /// The edges whose only field is a time.
    edges: Edges
}

impl Edges<'_> {
    /// Whether a session continues another.
    pub async fn follows(self, later: &SessionId, earlier: &SessionId) -> Result<bool, StoreError> {
        let edge = edge_id("FOLLOWS", later.as_str(), earlier.as_str());
        Ok(self.time(edge).await?.is_some())
    }

    /// When a session first wrote a memory, if it did.
    pub async fn written_at(
        self,
        memory: &MemoryId,
        session: &SessionId,
    ) -> Result<Option<Timestamp>, StoreError> {
        self.time(edge_id("CREATED_IN", memory.as_str(), session.as_str())).await
    }

    /// The pieces of work in which a memory was found out, the latest first.
    pub async fn works_of(self, memory: &MemoryId, limit: usize) -> Result<Vec<WorkId>, StoreError> {
        let vars = Vars::new().with("memory", memory_record(memory)).limit(limit);
        let edges: Vec<WorkedIn> = self.0.select(statement::WORKED_IN_OF_MEMORY, vars).await?;
        Ok(edges.into_iter().map(|(_, work, _)| work).collect())
    }

    /// The live memories that were found out in a piece of work, in the order in which they were tied to it.
    pub async fn memories_of(self, work: &WorkId, limit: usize) -> Result<Vec<MemoryId>, StoreError> {
        let vars = Vars::new().with("work", work_record(work)).limit(limit);
        let edges: Vec<WorkedIn> = self.0.select(statement::WORKED_IN_OF_WORK, vars).await?;
        Ok(edges.into_iter().map(|(memory, ..)| memory).collect())
    }

    pub(super) async fn time(self, edge: RecordId) -> Result<Option<Timestamp>, StoreError> {
        let vars = Vars::new().with("edge", edge);
        Ok(one(self.0.values::<Datetime>("edge", statement::EDGE_TIME, vars).await?).map(timestamp))
    }

    /// A page of all edges of a relation in order of id.
    pub async fn page(
        self,
        table: Table,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Page<Edge>, StoreError> {
        let rows: Page<(RecordId, RecordId, Timestamp)> = self.0.page(table.as_str(), after, limit).await?;
        let edge = |(id, (from, to, at)): (String, (RecordId, RecordId, Timestamp))| {
            let (from, to) = (key("edge", from)?, key("edge", to)?);
            // Rows name an exchange by the key of its id.
            let to = if table == Table::Cites { history::exchange_id(&to)?.to_string() } else { to };
            Ok((id, Edge { table, from, to, at }))
        };
        rows.into_iter().map(edge).collect()
    }
}
