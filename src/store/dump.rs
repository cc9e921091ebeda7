//! Everything in the database as one SurrealQL script, and a database made from such a script.
//!
//! The engine writes the script from one read transaction, so it shows one moment however long it takes
//! and whatever is written meanwhile. RocksDB's own checkpoints are out of reach: the engine hides them.
//! Its database users are left out, because their password hashes have no place in a backup.

use std::{collections::BTreeMap, path::Path, pin::Pin};

use bytes::Bytes;
use futures::Stream;
use surrealdb::{method::Backup, types::Variables};
use surrealdb_core::channel::{Receiver, Sender, bounded};

use super::{Store, StoreError, engine::Engine, migrate, statement};

/// How many pieces of a script wait between its reader and the database.
const PIECES_WAITING: usize = 4;
/// Most errors of a script that are told.
const ERRORS_TOLD_MAX: usize = 3;

/// The rows of each table, by its name.
pub type RowCounts = BTreeMap<String, u64>;

/// A script under way, in pieces of whole lines.
pub struct Dump(Backup);

impl Dump {
    /// The next piece; `None` at the end.
    ///
    /// # Errors
    /// [`StoreError::Query`] when the engine could not go on; the script is worthless then.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, StoreError> {
        let piece = std::future::poll_fn(|context| Pin::new(&mut self.0).poll_next(context)).await;
        piece
            .transpose()
            .map_err(|error| StoreError::Query { statement: "export", reason: error.to_string() })
    }
}

/// The end into which the pieces of a script go while [`Store::restore`] takes them in.
pub struct Pieces(Sender<anyhow::Result<Bytes>>);

impl Pieces {
    /// Hands over a piece, waiting for room; `false` when the other end has given up.
    pub fn send(&self, piece: Vec<u8>) -> bool {
        self.0.send_blocking(Ok(Bytes::from(piece))).is_ok()
    }

    /// Says that the rest will not come, so that the half script is not taken for the whole.
    pub fn fail(&self, reason: String) {
        // An end that has gone needs no telling.
        let _ = self.0.send_blocking(Err(anyhow::Error::msg(reason)));
    }
}

/// The other end of [`Pieces`].
pub struct Script(Receiver<anyhow::Result<Bytes>>);

/// The two ends of a script's way into a database.
pub fn script() -> (Pieces, Script) {
    let (sender, receiver) = bounded(PIECES_WAITING);
    (Pieces(sender), Script(receiver))
}

impl Store {
    /// Begins to write everything as it is at this moment. Reads and writes go on meanwhile.
    pub async fn dump(&self) -> Result<Dump, StoreError> {
        let export = self
            .engine()?
            .db("a backup by this program")?
            .export(())
            .with_config()
            .users(false)
            .accesses(false)
            .await;
        let backup =
            export.map_err(|error| StoreError::Query { statement: "export", reason: error.to_string() })?;
        Ok(Dump(backup))
    }

    /// How many rows each table has.
    pub async fn row_counts(&self) -> Result<RowCounts, StoreError> {
        row_counts(self.engine()?).await
    }

    /// Makes a new database in `dir` from a script, compares it with the rows that the script is known to
    /// hold, and brings its schema up to date. The folder must not exist; after an error it is worthless.
    ///
    /// # Errors
    /// [`StoreError`] with the engine's words for a script that it does not take, or with the table whose
    /// rows are not all there.
    pub async fn restore(dir: &Path, script: Script, expected: &RowCounts) -> Result<(), StoreError> {
        std::fs::create_dir_all(dir)
            .map_err(|error| StoreError::Open { dir: dir.to_path_buf(), reason: error.to_string() })?;
        let engine = Engine::open(dir).await?;
        let filled = fill(&engine, script, expected).await;
        let closed = engine.close().await;
        filled.and(closed)
    }
}

async fn fill(engine: &Engine, script: Script, expected: &RowCounts) -> Result<(), StoreError> {
    engine.load(script.0).await?;
    let found = row_counts(engine).await?;
    for (table, rows) in expected {
        let present = found.get(table).copied().unwrap_or_default();
        if present != *rows {
            let reason = format!("table `{table}` has {present} rows, the backup {rows}");
            return Err(StoreError::Query { statement: "import", reason });
        }
    }
    migrate::migrate(engine).await
}

async fn row_counts(engine: &Engine) -> Result<RowCounts, StoreError> {
    let malformed =
        |error: surrealdb::Error| StoreError::Row { table: "row_counts", reason: error.to_string() };
    let mut results = engine.run(statement::ROW_COUNTS, Variables::new()).await?;
    let counts: Option<BTreeMap<String, i64>> = results.take(0).map_err(malformed)?;
    let count = |(table, rows): (String, i64)| (table, u64::try_from(rows).unwrap_or_default());
    Ok(counts.unwrap_or_default().into_iter().map(count).collect())
}

impl Engine {
    /// Runs a script that [`Store::dump`] wrote, piece by piece.
    async fn load(&self, script: Receiver<anyhow::Result<Bytes>>) -> Result<(), StoreError> {
        let fault = |reason: String| StoreError::Query { statement: "import", reason };
        let results = self
            .datastore("a restored backup")?
            .import_stream(&Self::owner(), script)
            .await
            .map_err(|error| fault(format!("{error:#}")))?;
        let errors: Vec<String> =
            results.iter().filter_map(|done| done.result.as_ref().err()).map(ToString::to_string).collect();
        if errors.is_empty() {
            return Ok(());
        }
        let told = errors.iter().take(ERRORS_TOLD_MAX).cloned().collect::<Vec<_>>().join("; ");
        Err(fault(format!("{} statements failed: {told}", errors.len())))
    }
}
