//! Reading: parameters of statements, rows, and pages of a table. The queries are with their tables.

use std::{future::Future, pin::Pin};

use surrealdb::{
    IndexedResults,
    types::{RecordId, SurrealValue, Value, Variables},
};

use super::{
    Store, StoreError,
    columns::{Column, RawRow, Row, stored},
    row::{datetime, parse},
    statement::{self, Statement},
};
use cerebro_core::domain::{Project, Timestamp};
use cerebro_core::named;

named! {
    /// A table that an export walks through; they are in the order in which an import needs them.
    pub enum Table {
        Session = "session",
        Memory = "memory",
        Revision = "revision",
        Prompt = "prompt",
        /// Edges from a memory to the sessions that wrote it.
        CreatedIn = "CREATED_IN",
        /// Edges from a session to the one it continues.
        Follows = "FOLLOWS",
        /// Edges from a memory to the one whose place it took.
        Supersedes = "SUPERSEDES",
        /// History tombstones.
        HistoryTombstone = "history_tombstone",
        PastSession = "past_session",
        /// Exchanges of past sessions.
        Exchange = "exchange",
        /// Distilled candidates.
        Candidate = "candidate",
        /// Edges from a memory to the exchanges that it rests on.
        Cites = "CITES",
        /// Pieces of work.
        Work = "work",
        WorkEvent = "work_event",
        /// Texts that are too long for the row of an event.
        Artifact = "artifact",
        /// Edges from a memory to the pieces of work in which it was found out.
        WorkedIn = "WORKED_IN",
        Document = "document",
        Chunk = "chunk",
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

    /// Binds a list.
    pub(super) fn list<T: SurrealValue>(self, name: &str, values: impl IntoIterator<Item = T>) -> Self {
        self.with(name, values.into_iter().collect::<Vec<T>>())
    }

    /// The statement about one project, with its parameter; without a project, the statement about all.
    pub(super) fn about(
        self,
        project: Option<&Project>,
        of_one: Statement,
        of_all: Statement,
    ) -> (Statement, Self) {
        match project {
            Some(project) => (of_one, self.with("project", project.as_str())),
            None => (of_all, self),
        }
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

pub(super) fn one<T>(items: Vec<T>) -> Option<T> {
    items.into_iter().next()
}

impl Store {
    /// The values that a statement returns. The error of a malformed row names `table`.
    pub(super) async fn values<T: SurrealValue>(
        &self,
        table: &'static str,
        statement: Statement,
        vars: Vars,
    ) -> Result<Vec<T>, StoreError> {
        take(table, &mut self.engine()?.run(statement, vars.0).await?, 0)
    }

    /// The values that a writing statement returns: see [`Self::execute`].
    pub(super) async fn changed<T: SurrealValue>(
        &self,
        table: &'static str,
        statement: Statement,
        vars: Vars,
    ) -> Result<Vec<T>, StoreError> {
        take(table, &mut self.execute_script(statement.name, statement.text, vars).await?, 0)
    }

    /// The rows that a statement returns, decoded.
    pub(super) async fn select<T: Row>(
        &self,
        statement: Statement,
        vars: Vars,
    ) -> Result<Vec<T>, StoreError> {
        parse(self.values(T::TABLE, statement, vars).await?)
    }

    /// Two columns of the rows that a statement returns.
    pub(super) async fn pairs<A: Column, B: Column>(
        &self,
        table: &'static str,
        columns: [&str; 2],
        statement: Statement,
        vars: Vars,
    ) -> Result<Vec<(A, B)>, StoreError> {
        let rows: Vec<RawRow> = self.values(table, statement, vars).await?;
        rows.into_iter().map(|row| row.pair(table, columns)).collect()
    }

    /// The keys of a table that begin with a prefix.
    pub async fn keys_by_prefix(
        &self,
        table: Table,
        prefix: &str,
        limit: usize,
    ) -> Result<Vec<String>, StoreError> {
        let vars = Vars::new()
            .with("table", table.as_str())
            .with("from", RecordId::new(table.as_str(), prefix))
            .with("beyond", RecordId::new(table.as_str(), format!("{prefix}{}", char::MAX)))
            .limit(limit);
        self.values(table.as_str(), statement::KEYS_BY_PREFIX, vars).await
    }

    /// A page of a table in order of id: the rows after an id that need not exist.
    pub(super) async fn page<T: Row>(
        &self,
        table: &'static str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Page<T>, StoreError> {
        // No id is empty, so every id comes after it.
        let after = RecordId::new(table, after.unwrap_or_default());
        let vars = Vars::new().with("table", table).with("after", after).limit(limit);
        let rows: Vec<RawRow> = self.values(table, statement::TABLE_PAGE, vars).await?;
        rows.into_iter().map(|row| Ok((row.key().unwrap_or_default(), T::from_row(row)?))).collect()
    }
}

/// The rows of one answer.
pub(super) fn take<T: SurrealValue>(
    table: &'static str,
    results: &mut IndexedResults,
    index: usize,
) -> Result<Vec<T>, StoreError> {
    let rows = results
        .take::<Vec<Value>>(index)
        .map_err(|error| StoreError::Row { table, reason: error.to_string() })?;
    rows.into_iter().map(|value| stored(table, value)).collect()
}

/// How many rows a walk reads at once.
pub const PAGE: usize = 200;

/// All rows of a table in order of id, [`PAGE`] at a time. Rows that are written meanwhile may be missed. Or one page of them.
pub struct Walk<'a, T> {
    store: &'a Store,
    table: &'static str,
    read: ReadPage<T>,
    /// The id of the last row so far.
    after: Option<String>,
    is_over: bool,
}

/// Reads the page of a table after an id.
type ReadPage<T> = for<'s> fn(&'s Store, &'static str, Option<String>, usize) -> PageFuture<'s, T>;
type PageFuture<'s, T> = Pin<Box<dyn Future<Output = Result<Page<T>, StoreError>> + Send + 's>>;

impl<'a, T> Walk<'a, T> {
    /// Begins at the first row of the type's table.
    pub(super) fn over(store: &'a Store) -> Self
    where
        T: Row + 'static,
    {
        Self::of(store, T::TABLE)
    }

    /// Begins at the first row of a table.
    pub(super) fn of(store: &'a Store, table: &'static str) -> Self
    where
        T: Row + 'static,
    {
        let read: ReadPage<T> = |store, table, after, limit| {
            Box::pin(async move { store.page::<T>(table, after.as_deref(), limit).await })
        };
        Self { store, table, read, after: None, is_over: false }
    }

    /// The next page; `None` after the last row.
    pub async fn next(&mut self) -> Result<Option<Vec<T>>, StoreError> {
        if self.is_over {
            return Ok(None);
        }
        let page = self.page(self.after.as_deref(), PAGE).await?;
        self.is_over = page.len() < PAGE;
        self.after = page.last().map(|(key, _)| key.clone());
        let rows: Vec<T> = page.into_iter().map(|(_, row)| row).collect();
        Ok((!rows.is_empty()).then_some(rows))
    }

    /// The page of at most `limit` rows after an id, or the first one: each row with its id.
    pub async fn page(&self, after: Option<&str>, limit: usize) -> Result<Page<T>, StoreError> {
        (self.read)(self.store, self.table, after.map(str::to_owned), limit).await
    }
}
