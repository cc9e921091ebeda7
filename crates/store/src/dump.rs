//! Dumps the whole store as one SurrealQL script, and restores a store from one.

use std::{collections::BTreeMap, path::Path};

use surrealdb::types::Variables;

use super::{Dump, Engine, Script, Store, StoreError, foreign, identity, migrate, row::unsigned, statement};

/// The number of rows in each table, by name.
pub type RowCounts = BTreeMap<String, u64>;

impl Store {
    /// Begins a dump of the present state. Reads and writes continue meanwhile.
    pub async fn dump(&self) -> Result<Dump, StoreError> {
        Ok(self.engine()?.dump().await?)
    }

    /// How many rows each table has.
    pub async fn row_counts(&self) -> Result<RowCounts, StoreError> {
        row_counts(self.engine()?).await
    }

    /// Makes a new database in `dir` from a script, compares it with the rows that the script is known to hold,
    /// brings its schema up to date, and refuses anything that is not part of the schema. The result is a different
    /// store with an id of its own. Neither folder may exist. `scratch` can be removed afterwards; after an error,
    /// `dir` is unusable.
    ///
    /// # Errors
    /// [`StoreError`] with the engine's message for a script that it refuses, with the table that lacks rows, or
    /// with the definitions that are not part of the schema.
    pub async fn restore(
        dir: &Path,
        scratch: &Path,
        script: Script,
        expected: &RowCounts,
    ) -> Result<(), StoreError> {
        super::make_folder(dir)?;
        super::make_folder(scratch)?;
        let engine = Engine::open(dir).await?;
        let filled = fill(&engine, scratch, script, expected).await;
        let closed = engine.close().await;
        filled.and(closed.map_err(StoreError::from))
    }
}

async fn fill(
    engine: &Engine,
    scratch: &Path,
    script: Script,
    expected: &RowCounts,
) -> Result<(), StoreError> {
    engine.load(script).await?;
    let found = row_counts(engine).await?;
    for (table, rows) in expected {
        let present = found.get(table).copied().unwrap_or_default();
        if present != *rows {
            let reason = format!("table `{table}` has {present} rows, the backup {rows}");
            return Err(StoreError::query("import", reason));
        }
    }
    migrate::migrate(engine).await?;
    foreign::refuse(engine, scratch).await?;
    identity::renew(engine).await
}

async fn row_counts(engine: &Engine) -> Result<RowCounts, StoreError> {
    let malformed =
        |error: surrealdb::Error| StoreError::Row { table: "row_counts", reason: error.to_string() };
    let mut results = engine.run(statement::ROW_COUNTS, Variables::new()).await?;
    let counts: Option<BTreeMap<String, i64>> = results.take(0).map_err(malformed)?;
    let count = |(table, rows): (String, i64)| (table, unsigned(rows));
    Ok(counts.unwrap_or_default().into_iter().map(count).collect())
}
