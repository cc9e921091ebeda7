//! Reads what people browse: deleted memories, the types in use, and when texts were written.

use surrealdb::types::{Datetime, SurrealValue, Value, Variables};

use super::{
    Store, StoreError,
    memory::MemoryRow,
    row::{datetime, parse, timestamp},
    statement,
};
use cerebro_core::domain::{Kind, Memory, Project, ScopeName, Timestamp};

/// Which deleted memories to read.
#[derive(Debug, Clone, Default)]
pub struct DeletedFilter {
    /// Of this project; of all when `None`.
    pub project: Option<Project>,
    /// Of this scope.
    pub scope: Option<ScopeName>,
    /// Of this type.
    pub kind: Option<Kind>,
}

impl Store {
    /// A page of the deleted memories that can be restored, the latest deletion first, and their total number.
    pub async fn deleted_page(
        &self,
        filter: &DeletedFilter,
        start: usize,
        limit: usize,
    ) -> Result<(Vec<Memory>, usize), StoreError> {
        #[derive(SurrealValue)]
        #[surreal(crate = "surrealdb::types")]
        struct Counted {
            count: i64,
        }
        let signed = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        let mut vars = Variables::new();
        vars.insert("project", filter.project.as_ref().map(|project| project.as_str().to_owned()));
        vars.insert("scope", filter.scope.map(|scope| scope.as_str().to_owned()));
        vars.insert("type", filter.kind.as_ref().map(|kind| kind.as_str().to_owned()));
        vars.insert("start", signed(start));
        vars.insert("limit", signed(limit));
        let mut results = self.engine()?.run(statement::MEMORY_DELETED_PAGE, vars).await?;
        let broken = |error: surrealdb::Error| StoreError::Row { table: "memory", reason: error.to_string() };
        let rows = results.take::<Vec<Value>>(0).map_err(broken)?;
        let counted = results.take::<Vec<Counted>>(1).map_err(broken)?;
        let total = counted.first().map_or(0, |row| usize::try_from(row.count).unwrap_or(0));
        Ok((parse::<MemoryRow, _>("memory", rows)?, total))
    }

    /// The number of live memories of each type, in no order.
    pub async fn types(&self) -> Result<Vec<(Kind, usize)>, StoreError> {
        #[derive(SurrealValue)]
        #[surreal(crate = "surrealdb::types")]
        struct Counted {
            #[surreal(rename = "type")]
            kind: String,
            memories: i64,
        }
        let mut results = self.engine()?.run(statement::MEMORY_TYPES, Variables::new()).await?;
        let rows = results
            .take::<Vec<Counted>>(0)
            .map_err(|error| StoreError::Row { table: "memory", reason: error.to_string() })?;
        let counted =
            |row: Counted| Some((Kind::parse(&row.kind)?, usize::try_from(row.memories).unwrap_or(0)));
        Ok(rows.into_iter().filter_map(counted).collect())
    }

    /// When earlier texts of memories were written, from a moment on, in no order.
    pub async fn revision_moments(
        &self,
        project: Option<&Project>,
        since: Timestamp,
    ) -> Result<Vec<Timestamp>, StoreError> {
        let mut vars = Variables::new();
        vars.insert("project", project.map(|project| project.as_str().to_owned()));
        vars.insert("since", datetime(since));
        let mut results = self.engine()?.run(statement::REVISION_MOMENTS, vars).await?;
        let moments = results
            .take::<Vec<Datetime>>(0)
            .map_err(|error| StoreError::Row { table: "revision", reason: error.to_string() })?;
        Ok(moments.into_iter().map(timestamp).collect())
    }
}
