//! Dumps the whole database as one SurrealQL script, and loads such a script.
//!
//! The engine writes the script from one read transaction, so it shows one moment, however long it takes and
//! whatever is written meanwhile. RocksDB's own checkpoints cannot be used, because the engine hides them. Database
//! users are left out: their password hashes do not belong in a backup.

use std::pin::Pin;

use bytes::Bytes;
use futures::Stream;
use surrealdb::method::Backup;
use surrealdb_core::channel::{Receiver, Sender, bounded};

use super::{BoxFuture, Engine, EngineError, access};

/// How many pieces of a script may wait between its reader and the database.
const PIECES_WAITING: usize = 4;
/// Most errors of a script that are reported.
const ERRORS_SHOWN_MAX: usize = 3;

/// A dump in progress, as pieces of whole lines.
pub struct Dump(Backup);

impl Dump {
    /// The next piece; `None` at the end.
    ///
    /// # Errors
    /// [`EngineError::Query`] when the engine could not go on; the script is unusable then.
    pub fn piece(&mut self) -> BoxFuture<'_, Result<Option<Vec<u8>>, EngineError>> {
        Box::pin(async move {
            let piece = std::future::poll_fn(|context| Pin::new(&mut self.0).poll_next(context)).await;
            piece.transpose().map_err(|error| dump_error("export", error))
        })
    }
}

/// The sending end of a script that [`Engine::load`] runs.
pub struct Pieces(Sender<anyhow::Result<Bytes>>);

impl Pieces {
    /// Sends a piece, waiting for room; `false` when the receiver has given up.
    pub fn send(&self, piece: Vec<u8>) -> bool {
        self.0.send_blocking(Ok(Bytes::from(piece))).is_ok()
    }

    /// Reports that the rest will not come, so that half a script is not taken for a whole one.
    pub fn fail(&self, reason: String) {
        // If the receiver is gone, nobody needs to know.
        let _ = self.0.send_blocking(Err(anyhow::Error::msg(reason)));
    }
}

/// The receiving end for [`Pieces`].
pub struct Script(Receiver<anyhow::Result<Bytes>>);

/// A channel for a script: both ends.
pub fn script() -> (Pieces, Script) {
    let (sender, receiver) = bounded(PIECES_WAITING);
    (Pieces(sender), Script(receiver))
}

fn dump_error(statement: &'static str, reason: impl std::fmt::Display) -> EngineError {
    EngineError::Query { statement, reason: format!("{reason:#}") }
}

impl Engine {
    /// Begins a dump of the present state. Reads and writes continue meanwhile.
    ///
    /// # Errors
    /// [`EngineError::NotRemote`] for a database on a server; [`EngineError::Query`] when it cannot begin.
    pub fn dump(&self) -> BoxFuture<'_, Result<Dump, EngineError>> {
        Box::pin(async move {
            let db = self.db("a backup by this program")?;
            let export = db.export(()).with_config().users(false).accesses(false).await;
            export.map(Dump).map_err(|error| dump_error("export", error))
        })
    }

    /// Runs a script from [`Self::dump`], or one that claims to be, piece by piece.
    ///
    /// # Errors
    /// [`EngineError::Query`] with the first few statements that failed.
    pub fn load(&self, script: Script) -> BoxFuture<'_, Result<(), EngineError>> {
        Box::pin(async move {
            let results = self
                .datastore("a restored backup")?
                .import_stream(&access::editor(), script.0)
                .await
                .map_err(|error| dump_error("import", error))?;
            let errors: Vec<String> = results
                .iter()
                .filter_map(|done| done.result.as_ref().err())
                .map(ToString::to_string)
                .collect();
            if errors.is_empty() {
                return Ok(());
            }
            let first = errors.iter().take(ERRORS_SHOWN_MAX).cloned().collect::<Vec<_>>().join("; ");
            Err(dump_error("import", format!("{} statements failed: {first}", errors.len())))
        })
    }
}
