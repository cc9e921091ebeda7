//! Everything in the store as one SurrealQL script, and a store made from such a script.

use std::{collections::BTreeMap, path::Path};

use surrealdb::types::Variables;

use super::{Dump, Engine, Script, Store, StoreError, foreign, identity, migrate, statement};

/// The rows of each table, by its name.
pub type RowCounts = BTreeMap<String, u64>;

impl Store {
    /// Begins to write everything as it is at this moment. Reads and writes go on meanwhile.
    pub async fn dump(&self) -> Result<Dump, StoreError> {
        Ok(self.engine()?.dump().await?)
    }

    /// How many rows each table has.
    pub async fn row_counts(&self) -> Result<RowCounts, StoreError> {
        row_counts(self.engine()?).await
    }

    /// Makes a new database in `dir` from a script, compares it with the rows that the script is known to hold,
    /// brings its schema up to date, and refuses what is no part of that. It is another store then than the one
    /// that was backed up. Neither folder may exist; `scratch` can be removed afterwards, and after an error
    /// `dir` is worthless.
    ///
    /// # Errors
    /// [`StoreError`] with the engine's words for a script that it does not take, with the table whose rows are
    /// not all there, or with what it defines beyond the schema.
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
    let count = |(table, rows): (String, i64)| (table, u64::try_from(rows).unwrap_or_default());
    Ok(counts.unwrap_or_default().into_iter().map(count).collect())
}
