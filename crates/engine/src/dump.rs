//! Everything in the database as one SurrealQL script, and a database made from such a script.
//!
//! The engine writes the script from one read transaction, so it shows one moment however long it takes
//! and whatever is written meanwhile. RocksDB's own checkpoints are out of reach: the engine hides them.
//! Its database users are left out, because their password hashes have no place in a backup.

use std::pin::Pin;

use bytes::Bytes;
use futures::Stream;
use surrealdb::method::Backup;
use surrealdb_core::channel::{Receiver, Sender, bounded};

use super::{BoxFuture, Engine, EngineError, access};

/// How many pieces of a script wait between its reader and the database.
const PIECES_WAITING: usize = 4;
/// Most errors of a script that are told.
const ERRORS_TOLD_MAX: usize = 3;

/// A script under way, in pieces of whole lines.
pub struct Dump(Backup);

impl Dump {
    /// The next piece; `None` at the end.
    ///
    /// # Errors
    /// [`EngineError::Query`] when the engine could not go on; the script is worthless then.
    pub fn piece(&mut self) -> BoxFuture<'_, Result<Option<Vec<u8>>, EngineError>> {
        Box::pin(async move {
            let piece = std::future::poll_fn(|context| Pin::new(&mut self.0).poll_next(context)).await;
            piece.transpose().map_err(|error| fault("export", error))
        })
    }
}

/// The end into which the pieces of a script go while [`Engine::load`] takes them in.
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

fn fault(statement: &'static str, reason: impl std::fmt::Display) -> EngineError {
    EngineError::Query { statement, reason: format!("{reason:#}") }
}

impl Engine {
    /// Begins to write everything as it is at this moment. Reads and writes go on meanwhile.
    ///
    /// # Errors
    /// [`EngineError::NotRemote`] of a database on a server; [`EngineError::Query`] when it cannot begin.
    pub fn dump(&self) -> BoxFuture<'_, Result<Dump, EngineError>> {
        Box::pin(async move {
            let db = self.db("a backup by this program")?;
            let export = db.export(()).with_config().users(false).accesses(false).await;
            export.map(Dump).map_err(|error| fault("export", error))
        })
    }

    /// Runs a script that [`Self::dump`] wrote, or that somebody says it wrote, piece by piece.
    ///
    /// # Errors
    /// [`EngineError::Query`] with the first few of the statements that failed.
    pub fn load(&self, script: Script) -> BoxFuture<'_, Result<(), EngineError>> {
        Box::pin(async move {
            let results = self
                .datastore("a restored backup")?
                .import_stream(&access::editor(), script.0)
                .await
                .map_err(|error| fault("import", error))?;
            let errors: Vec<String> = results
                .iter()
                .filter_map(|done| done.result.as_ref().err())
                .map(ToString::to_string)
                .collect();
            if errors.is_empty() {
                return Ok(());
            }
            let first = errors.iter().take(ERRORS_TOLD_MAX).cloned().collect::<Vec<_>>().join("; ");
            Err(fault("import", format!("{} statements failed: {first}", errors.len())))
        })
    }
}
