//! Reading: parameters of statements, rows, and pages of a table. The queries are with their tables.

use surrealdb::{
    IndexedResults,
    types::{RecordId, RecordIdKey, SurrealValue, Value, Variables},
};

use super::{
    Store, StoreError,
    row::{datetime, parse},
    statement::{self, Statement},
};
use cerebro_core::domain::Timestamp;

/// A table that export walks through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    /// Sessions.
    Session,
    /// Memories.
    Memory,
    /// Revisions.
    Revision,
    /// Prompts.
    Prompt,
    /// Edges from a memory to the sessions that wrote it.
    CreatedIn,
    /// Edges from a session to the one it continues.
    Follows,
    /// Edges from a memory to the one whose place it took.
    Supersedes,
    /// Past sessions.
    PastSession,
    /// Exchanges of past sessions.
    Exchange,
    /// History tombstones.
    HistoryTombstone,
    /// Distilled candidates.
    Candidate,
    /// Pieces of work.
    Work,
    /// Their events.
    WorkEvent,
    /// Texts that are too long for the row of an event.
    Artifact,
    /// Edges from a memory to the pieces of work in which it was found out.
    WorkedIn,
    /// Documents.
    Document,
    /// Their chunks.
    Chunk,
}

impl Table {
    /// Its name in the database.
    pub fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Memory => "memory",
            Self::Revision => "revision",
            Self::Prompt => "prompt",
            Self::CreatedIn => "CREATED_IN",
            Self::Follows => "FOLLOWS",
            Self::Supersedes => "SUPERSEDES",
            Self::PastSession => "past_session",
            Self::Exchange => "exchange",
            Self::HistoryTombstone => "history_tombstone",
            Self::Candidate => "candidate",
            Self::Work => "work",
            Self::WorkEvent => "work_event",
            Self::Artifact => "artifact",
            Self::WorkedIn => "WORKED_IN",
            Self::Document => "document",
            Self::Chunk => "chunk",
        }
    }
}

/// A page of a table: each row with its id.
pub(super) type Page<T> = Vec<(String, T)>;

/// The parameters of a statement.
pub(super) struct Vars(pub(super) Variables);

impl Vars {
    pub(super) fn new() -> Self {
        Self(Variables::new())
    }

    pub(super) fn with(mut self, name: &str, value: impl SurrealValue) -> Self {
        self.0.insert(name, value);
        self
    }

    pub(super) fn count(self, name: &str, count: usize) -> Self {
        self.with(name, i64::try_from(count).unwrap_or(i64::MAX))
    }

    pub(super) fn limit(self, limit: usize) -> Self {
        self.count("limit", limit)
    }

    pub(super) fn at(self, name: &str, at: Timestamp) -> Self {
        self.with(name, datetime(at))
    }
}

fn rows(table: &'static str, results: &mut IndexedResults, index: usize) -> Result<Vec<Value>, StoreError> {
    results.take::<Vec<Value>>(index).map_err(|error| StoreError::Row { table, reason: error.to_string() })
}

fn row_key(row: &Value) -> Option<String> {
    let Value::Object(fields) = row else { return None };
    let Some(Value::RecordId(id)) = fields.get("id") else { return None };
    let RecordIdKey::String(key) = &id.key else { return None };
    Some(key.clone())
}

pub(super) fn one<T>(items: Vec<T>) -> Option<T> {
    items.into_iter().next()
}

impl Store {
    pub(super) async fn rows(
        &self,
        table: &'static str,
        statement: Statement,
        vars: Vars,
    ) -> Result<Vec<Value>, StoreError> {
        let mut results = self.engine()?.run(statement, vars.0).await?;
        rows(table, &mut results, 0)
    }

    /// The keys of a table that begin with a prefix.
    ///
    /// # Errors
    /// A failing store.
    pub async fn keys_by_prefix(
        &self,
        table: Table,
        prefix: &str,
        limit: usize,
    ) -> Result<Vec<String>, StoreError> {
        let vars = Vars::new()
            .with("table", table.name())
            .with("from", RecordId::new(table.name(), prefix))
            .with("beyond", RecordId::new(table.name(), format!("{prefix}{}", char::MAX)))
            .limit(limit);
        let mut results = self.engine()?.run(statement::KEYS_BY_PREFIX, vars.0).await?;
        take(table.name(), &mut results, 0)
    }

    /// A page of a table of the export in order of id.
    pub(super) async fn page<R, D>(
        &self,
        table: Table,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Page<D>, StoreError>
    where
        R: SurrealValue,
        D: TryFrom<R, Error = StoreError>,
    {
        self.page_of::<R, D>(table.name(), after, limit).await
    }

    /// A page of any table in order of id.
    pub(super) async fn page_of<R, D>(
        &self,
        table: &'static str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Page<D>, StoreError>
    where
        R: SurrealValue,
        D: TryFrom<R, Error = StoreError>,
    {
        // No id is empty, so every id comes after it.
        let after = RecordId::new(table, after.unwrap_or_default());
        let vars = Vars::new().with("table", table).with("after", after).limit(limit);
        let rows = self.rows(table, statement::TABLE_PAGE, vars).await?;
        let keys: Vec<String> = rows.iter().map(|row| row_key(row).unwrap_or_default()).collect();
        Ok(keys.into_iter().zip(parse::<R, D>(table, rows)?).collect())
    }
}

/// The rows of one answer.
pub(super) fn take<T: SurrealValue>(
    table: &'static str,
    results: &mut IndexedResults,
    index: usize,
) -> Result<Vec<T>, StoreError> {
    rows(table, results, index)?
        .into_iter()
        .map(|value| {
            T::from_value(value).map_err(|error| StoreError::Row { table, reason: error.to_string() })
        })
        .collect()
}
