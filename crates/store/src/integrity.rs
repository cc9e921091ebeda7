//! Checks over the whole store, for `cerebro doctor` alone: each reads a whole table.

use std::collections::BTreeMap;

use surrealdb::{
    IndexedResults,
    types::{RecordId, SurrealValue, ToSql},
};

use super::{
    Store, StoreError,
    columns::{self, Columns, RawRow, columns},
    model,
    read::{Vars, take},
    row::{memory_id, memory_record},
    statement::{self, Statement},
};
use cerebro_core::domain::{MemoryId, Timestamp};

/// Most faulty rows of one kind that one check returns.
const FAULTS_MAX: usize = 10_000;
/// The relations, whose rows have two ends.
const RELATIONS: [&str; 7] =
    ["CITES", "CREATED_IN", "FOLLOWS", "RELATES_TO", "SETTLED", "SUPERSEDES", "WORKED_IN"];
/// The other tables, beside those of vectors, whose rows are worth nothing without what they are about.
const BESIDE: [&str; 5] = ["anchor", "entity", "feedback", "job", "tombstone"];

/// Rows that break an invariant.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Faulty(Vec<RecordId>);

impl Faulty {
    /// Their number; [`FAULTS_MAX`] means at least as many.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first of them, in the database's notation.
    pub fn example(&self) -> String {
        self.0.first().map(ToSql::to_sql).unwrap_or_default()
    }

    fn and(mut self, others: Self) -> Self {
        self.0.extend(others.0);
        self
    }
}

/// The extent of one writer's log.
#[derive(Debug, Clone, PartialEq, Eq, SurrealValue)]
pub struct LogExtent {
    /// Its name.
    pub writer: String,
    /// The number of its events.
    pub rows: i64,
    /// Its smallest number.
    pub first: i64,
    /// Its largest number.
    pub last: i64,
}

/// The stored revisions of a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RevisionExtent {
    /// Their number.
    pub rows: i64,
    /// The oldest number.
    pub first: i64,
    /// The newest number.
    pub last: i64,
}

columns! { RevisionExtent { rows, first, last } }

/// The jobs that need attention.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FaultyJobs {
    /// Jobs whose memory is not live.
    pub orphans: Faulty,
    /// Jobs whose lease ended before the given moment.
    pub stuck: Faulty,
    /// Dead letters.
    pub dead: Faulty,
}

/// The vectors of one model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelVectors {
    /// Vectors of memories that are not live.
    pub orphans: Faulty,
    /// The newest revision of each memory that has any.
    pub revisions: BTreeMap<MemoryId, i64>,
}

fn bounded() -> Vars {
    Vars::new().limit(FAULTS_MAX)
}

noun! {
    /// Checks over the whole store, and their repairs.
    integrity: Integrity
}

impl Integrity<'_> {
    async fn ask(self, statement: Statement, vars: Vars) -> Result<IndexedResults, StoreError> {
        Ok(self.0.engine()?.run(statement, vars.0).await?)
    }

    async fn ask_rows<T: SurrealValue>(self, statement: Statement, vars: Vars) -> Result<Vec<T>, StoreError> {
        self.0.values(statement.name, statement, vars).await
    }

    /// The extent of each writer's log.
    pub async fn log_extents(self) -> Result<Vec<LogExtent>, StoreError> {
        self.ask_rows(statement::DOCTOR_EVENTS, Vars::new()).await
    }

    /// Edges of any relation that lack an end, and names whose memory is missing.
    pub async fn dangling_edges(self) -> Result<Faulty, StoreError> {
        let mut loose = Faulty::default();
        for table in RELATIONS {
            let vars = bounded().with("table", table);
            loose = loose.and(Faulty(self.ask_rows(statement::DOCTOR_EDGES, vars).await?));
        }
        Ok(loose.and(Faulty(self.ask_rows(statement::DOCTOR_ENTITIES, bounded()).await?)))
    }

    /// Anchors and signs of memories that are missing or purged, and tombstones with a malformed key.
    pub async fn dangling_rows(self) -> Result<[Faulty; 3], StoreError> {
        let statement = statement::DOCTOR_BESIDE;
        let mut results = self.ask(statement, bounded()).await?;
        let mut of = |index| take(statement.name, &mut results, index).map(Faulty);
        Ok([of(0)?, of(1)?, of(2)?])
    }

    /// Memories, prompts and sessions that refer to a missing session.
    pub async fn dangling_links(self) -> Result<Faulty, StoreError> {
        let statement = statement::DOCTOR_LINKS;
        let mut results = self.ask(statement, bounded()).await?;
        let mut loose = Faulty::default();
        for index in 0..3 {
            loose = loose.and(Faulty(take(statement.name, &mut results, index)?));
        }
        Ok(loose)
    }

    /// The extent of each memory's stored revisions.
    pub async fn revision_extents(self) -> Result<BTreeMap<MemoryId, RevisionExtent>, StoreError> {
        let found: Vec<RawRow> = self.ask_rows(statement::DOCTOR_REVISIONS, Vars::new()).await?;
        let extent = |row: RawRow| {
            let mut row = row.columns("revision")?;
            let memory = columns::take("revision", &mut row, "memory")?;
            Ok((memory, RevisionExtent::take_from(&mut row, "revision")?))
        };
        found.into_iter().map(extent).collect()
    }

    /// Jobs that need attention; a lease that ended before `before` counts as lost.
    pub async fn faulty_jobs(self, before: Timestamp) -> Result<FaultyJobs, StoreError> {
        let statement = statement::DOCTOR_JOBS;
        let mut results = self.ask(statement, bounded().at("before", before)).await?;
        let mut of = |index| take(statement.name, &mut results, index).map(Faulty);
        Ok(FaultyJobs { orphans: of(0)?, stuck: of(1)?, dead: of(2)? })
    }

    /// The tables of vectors, and whether searches use them.
    pub async fn vector_tables(self) -> Result<Vec<(String, bool)>, StoreError> {
        let tables = self.0.row_counts().await?;
        let active: Vec<String> = if tables.contains_key("model") {
            self.ask_rows(statement::DOCTOR_MODELS, Vars::new()).await?
        } else {
            Vec::new()
        };
        let with_vectors = tables.into_keys().filter(|name| name.starts_with(model::PREFIX));
        Ok(with_vectors.map(|name| (name.clone(), active.contains(&name))).collect())
    }

    /// The contents of a table of vectors.
    pub async fn vectors_in(self, table: &str) -> Result<ModelVectors, StoreError> {
        let statement = statement::DOCTOR_VECTORS;
        let mut results = self.ask(statement, bounded().with("table", table)).await?;
        let orphans = Faulty(take(statement.name, &mut results, 0)?);
        let found: Vec<RawRow> = take(statement.name, &mut results, 1)?;
        let newest = |row: RawRow| row.pair("vector", ["memory", "revision"]);
        let revisions = found.into_iter().map(newest).collect::<Result<_, _>>()?;
        Ok(ModelVectors { orphans, revisions })
    }

    /// The memories of waiting jobs, in order of id.
    pub async fn queued(self) -> Result<Vec<MemoryId>, StoreError> {
        let records: Vec<RecordId> = self.ask_rows(statement::DOCTOR_OWED, Vars::new()).await?;
        let mut ids =
            records.into_iter().map(|id| memory_id("job", id)).collect::<Result<Vec<_>, StoreError>>()?;
        ids.sort();
        Ok(ids)
    }

    /// Queues jobs about memories for the worker.
    pub async fn queue(self, memories: &[MemoryId]) -> Result<(), StoreError> {
        self.repair(statement::DOCTOR_OWE, memories.iter().map(memory_record).collect()).await
    }

    /// Ends leases whose holders are gone.
    pub async fn requeue(self, jobs: &Faulty) -> Result<(), StoreError> {
        self.repair(statement::DOCTOR_REQUEUE, jobs.0.clone()).await
    }

    /// Removes rows that lack their subject: edges, vectors, and rows beside memories. It removes nothing that was saved.
    pub async fn remove(self, rows: &Faulty) -> Result<(), StoreError> {
        let may_go = |id: &&RecordId| {
            let table = id.table.as_str();
            RELATIONS.contains(&table) || BESIDE.contains(&table) || table.starts_with(model::PREFIX)
        };
        let rows = rows.0.iter().filter(may_go).cloned().collect();
        self.repair(statement::DOCTOR_REMOVE, rows).await
    }

    async fn repair(self, statement: Statement, ids: Vec<RecordId>) -> Result<(), StoreError> {
        if ids.is_empty() {
            return Ok(());
        }
        // Decisions read these rows while they hold the writer.
        let _pause = self.0.pause().await;
        self.0.execute(statement, Vars::new().with("ids", ids)).await
    }
}

#[cfg(test)]
mod tests {
    use surrealdb::types::Variables;

    use super::*;
    use crate::tests::with_store;

    #[test]
    fn rows_beside_memories_that_are_not_there_are_found_and_removed() {
        with_store(async |store| {
            let rows = "
                CREATE anchor:a SET memory = memory:gone, revision = 1, at = time::now(), anchors = [];
                CREATE feedback:f SET memory = memory:gone, session = session:gone, source = 'read', rank = 1, at = time::now();
                CREATE tombstone:short SET memory = memory:gone, why = 'deleted', at = time::now();";
            store.engine().unwrap().script("test", rows, Variables::new()).await.unwrap();
            for found in store.integrity().dangling_rows().await.unwrap() {
                assert_eq!(found.len(), 1, "{found:?}");
                store.integrity().remove(&found).await.unwrap();
            }
            assert!(store.integrity().dangling_rows().await.unwrap().iter().all(Faulty::is_empty));
        });
    }
}
