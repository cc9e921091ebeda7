//! The database engine under the store: SurrealDB on RocksDB, in this process; or a server elsewhere ([`Link`]).
//!
//! The embedded datastore is built by hand, because a plain `connect` leaves no way to size RocksDB: its default
//! cache is half of the machine's memory.

use std::{path::Path, sync::Arc, time::Duration};

use surrealdb::{IndexedResults, Surreal, engine::local::Db, types::Variables};
use surrealdb_cnf::ConfigMap;
use surrealdb_core::{dbs::MessageBroker, kvs::Datastore};

use super::{
    BoxFuture, EngineError,
    access::{self, DATABASE, NAMESPACE},
    error::{classify, classify_open},
    link::{Link, is_forbidden},
    live::News,
    remote::Remote,
};

/// The longest time for one statement or transaction.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(60);

/// How long closing waits for the engine's own tasks to end and release the folder.
const RELEASE_MAX: Duration = Duration::from_secs(10);

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// RocksDB's settings for a store of some 100,000 memories beside an editor and a browser.
///
/// A memory is mostly its text, so the sizes follow from that; everything else is the engine's default. `make
/// bench` measures memory and disk use.
const SETTINGS: &[(&str, u64)] = &[
    // Read cache. Unflushed rows count against it too, so it must be well above their size.
    ("rocksdb_block_cache_size", 80 * MIB),
    // Unflushed rows are held in buffers of this size. Four of them are also the history in which write conflicts
    // are searched.
    ("rocksdb_write_buffer_size", 8 * MIB),
    ("rocksdb_max_write_buffer_number", 4),
    ("rocksdb_min_write_buffer_number_to_merge", 1),
    ("rocksdb_target_file_size_base", 16 * MIB),
    // Large values stay in the tables: separate blob files would keep replaced texts on disk for long.
    ("rocksdb_min_blob_size", 512 * KIB),
    ("rocksdb_thread_count", 2),
    ("rocksdb_jobs_count", 2),
    ("rocksdb_max_concurrent_subcompactions", 1),
    ("rocksdb_max_open_files", 256),
    ("rocksdb_keep_log_file_num", 2),
    // No archive of the write-ahead log: it would keep purged texts, and nothing reads it.
    ("rocksdb_wal_size_limit", 0),
    ("rocksdb_shutdown_wait_for_compact_seconds", 3),
    // Rows of a statement are passed on where they are read: a task for each step of a plan costs more than a few
    // rows take.
    ("operator_buffer_size", 0),
    ("hnsw_cache_size", 32 * MIB),
    // The graph of vectors is built by one task, so that it does not get in the way of searches.
    ("hnsw_build_parallelism", 1),
    ("diskann_cache_size", MIB),
    ("graph_resolve_cache_size", 4 * MIB),
    // Rows per statement of a backup. Each statement is read, parsed and committed whole, and texts may be long.
    ("export_batch_size", 200),
];

/// A named SurrealQL script.
#[derive(Debug, Clone, Copy)]
pub struct Statement {
    /// The file's name in `surql/statements`, for messages.
    pub name: &'static str,
    /// Its text. Values reach it only as bound parameters.
    pub text: &'static str,
}

/// Removes the user of the live endpoint, if it exists.
pub(super) const STUDIO_USER_REMOVE: Statement = Statement {
    name: "studio_user_remove",
    text: include_str!("../../../surql/statements/studio_user_remove.surql"),
};

/// The open database.
pub struct Engine(Kind);

enum Kind {
    /// In this process.
    Embedded(Box<Embedded>),
    /// On a server.
    Remote(Box<Link>),
}

/// The database of this process.
pub(super) struct Embedded {
    db: Surreal<Db>,
    datastore: Arc<Datastore>,
    news: Arc<News>,
}

impl Engine {
    /// Opens or creates the database in `dir`. Every commit is synced to disk before it is answered.
    ///
    /// # Errors
    /// [`EngineError::Locked`] when another process has it open, [`EngineError::Open`] otherwise.
    pub fn open(dir: &Path) -> BoxFuture<'_, Result<Self, EngineError>> {
        Box::pin(Self::open_embedded(dir, "every"))
    }

    /// As [`Self::open`], but commits are not synced: a power loss takes the last of them, the end of the process
    /// none. Once the database was closed and opened again, all of them are on disk: closing writes them into
    /// tables, which are always synced, and opening does so with what closing left in the log.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_unsynced(dir: &Path) -> BoxFuture<'_, Result<Self, EngineError>> {
        Box::pin(Self::open_embedded(dir, "never"))
    }

    /// Whether there is a database in `dir`: without this file, RocksDB makes a new one.
    pub fn is_in(dir: &Path) -> bool {
        dir.join("CURRENT").exists()
    }

    async fn open_embedded(dir: &Path, sync: &'static str) -> Result<Self, EngineError> {
        let failed = |error: String| classify_open(dir, error);
        let config = SETTINGS
            .iter()
            .fold(ConfigMap::empty(), |config, (key, value)| config.with_key_value(*key, value.to_string()));
        let news = Arc::new(News::default());
        let datastore = Datastore::builder()
            .with_config(config)
            .with_query_timeout(Some(STATEMENT_TIMEOUT))
            .with_transaction_timeout(Some(STATEMENT_TIMEOUT))
            .with_auth(true)
            .with_capabilities(access::capabilities())
            .with_live_query_broker(Arc::clone(&news) as Arc<dyn MessageBroker>)
            .without_maintenance_tasks()
            .build_with_path(&format!("rocksdb://{}?sync={sync}", dir.display()))
            .await
            .map_err(|error| failed(format!("{error:#}")))?;
        // The engine requires this order of the three.
        datastore.check_version().await.map_err(|error| failed(format!("{error:#}")))?;
        datastore.bootstrap().await.map_err(|error| failed(format!("{error:#}")))?;
        datastore.start_maintenance_tasks();

        let db = Surreal::<Db>::unstable_from_datastore(Arc::clone(&datastore), None)
            .await
            .map_err(|error| failed(error.to_string()))?;
        access::sign_in(&datastore, &db).await.map_err(failed)?;
        // Strict, so that only tables of the schema exist: otherwise a write to an unknown table creates it, even a
        // write by a reader, whose row is then refused. Defining the database again keeps its contents.
        let define = format!(
            "DEFINE NAMESPACE IF NOT EXISTS {NAMESPACE}; USE NS {NAMESPACE}; DEFINE DATABASE OVERWRITE {DATABASE} STRICT;"
        );
        db.query(define).await.and_then(IndexedResults::check).map_err(|error| failed(error.to_string()))?;
        db.use_ns(NAMESPACE).use_db(DATABASE).await.map_err(|error| failed(error.to_string()))?;
        let engine = Self(Kind::Embedded(Box::new(Embedded { db, datastore, news })));
        // A killed process may have left its endpoint's user behind.
        engine.run(STUDIO_USER_REMOVE, Variables::new()).await?;
        Ok(engine)
    }

    /// Connects to a server, and reconnects whenever the connection breaks.
    ///
    /// # Errors
    /// [`EngineError::Unreachable`] within a bound; [`EngineError::Remote`] when the server cannot be used.
    pub fn connect(remote: Remote) -> BoxFuture<'static, Result<Self, EngineError>> {
        Box::pin(async move { Ok(Self(Kind::Remote(Box::new(Link::open(remote).await?)))) })
    }

    /// Whether other processes write to the same database.
    pub fn is_shared(&self) -> bool {
        matches!(self.0, Kind::Remote(_))
    }

    fn embedded(&self, what: &'static str) -> Result<&Embedded, EngineError> {
        match &self.0 {
            Kind::Embedded(embedded) => Ok(embedded),
            Kind::Remote(_) => Err(EngineError::NotRemote(what)),
        }
    }

    /// The database under the handle, for access by others than this program; `what` says in errors what needs it.
    ///
    /// # Errors
    /// [`EngineError::NotRemote`]
    pub(super) fn datastore(&self, what: &'static str) -> Result<&Arc<Datastore>, EngineError> {
        Ok(&self.embedded(what)?.datastore)
    }

    /// The forwarder of live-query notifications.
    ///
    /// # Errors
    /// [`EngineError::NotRemote`]
    pub(super) fn news(&self) -> Result<&Arc<News>, EngineError> {
        Ok(&self.embedded("the live endpoint")?.news)
    }

    /// Runs a named statement.
    ///
    /// # Errors
    /// The most informative of all its errors: a failed transaction reports one for each statement.
    pub fn run(
        &self,
        statement: Statement,
        vars: Variables,
    ) -> BoxFuture<'_, Result<IndexedResults, EngineError>> {
        self.script(statement.name, statement.text, vars)
    }

    /// Runs a script of this program, under a name for messages.
    ///
    /// # Errors
    /// The most informative of all its errors: a failed transaction reports one for each statement.
    pub fn script<'a>(
        &'a self,
        name: &'static str,
        text: &'a str,
        vars: Variables,
    ) -> BoxFuture<'a, Result<IndexedResults, EngineError>> {
        Box::pin(self.run_script(name, text, vars))
    }

    #[tracing::instrument(name = "statement", level = "debug", skip_all, fields(name = name))]
    async fn run_script(
        &self,
        name: &'static str,
        text: &str,
        vars: Variables,
    ) -> Result<IndexedResults, EngineError> {
        let unexplained = |reason: String| EngineError::Query { statement: name, reason };
        let mut results =
            match &self.0 {
                Kind::Embedded(embedded) => embedded.db.query(text).bind(vars).await.map_err(|error| {
                    classify(name, &error).unwrap_or_else(|| unexplained(error.to_string()))
                })?,
                Kind::Remote(link) => link.query(name, text, vars).await?,
            };
        let errors = results.take_errors();
        if errors.is_empty() {
            return Ok(results);
        }
        if let (Kind::Remote(link), Some(refused)) =
            (&self.0, errors.values().find(|error| is_forbidden(error)))
        {
            return Err(link.forbidden(refused));
        }
        // In the order of the statements: the first error that says more than "not executed" is the cause.
        let mut errors: Vec<_> = errors.into_iter().collect();
        errors.sort_by_key(|(at, _)| *at);
        let mut causes: Vec<EngineError> =
            errors.iter().filter_map(|(_, error)| classify(name, error)).collect();
        let conflict = causes.iter().position(|error| matches!(error, EngineError::Conflict(_)));
        Err(if causes.is_empty() {
            unexplained(errors.remove(0).1.to_string())
        } else {
            causes.swap_remove(conflict.unwrap_or(0))
        })
    }

    /// The handle of the embedded database; `what` says in errors what needs it.
    ///
    /// # Errors
    /// [`EngineError::NotRemote`]
    pub(super) fn db(&self, what: &'static str) -> Result<&Surreal<Db>, EngineError> {
        Ok(&self.embedded(what)?.db)
    }

    /// Flushes, closes and releases the lock on the folder.
    ///
    /// # Errors
    /// [`EngineError::Query`] when it could not flush. What was committed is safe anyway.
    pub fn close(self) -> BoxFuture<'static, Result<(), EngineError>> {
        Box::pin(async move {
            match self.0 {
                Kind::Embedded(embedded) => embedded.close().await,
                Kind::Remote(_) => Ok(()),
            }
        })
    }
}

impl Embedded {
    async fn close(self) -> Result<(), EngineError> {
        // Dropping the last handle makes the engine's own task shut the datastore down and release it and the
        // folder's lock. If we shut it down before that, the engine's second shutdown would fail noisily. SurrealDB
        // detaches that task and tells nobody of its end, so the number of handles is polled.
        drop(self.db);
        let released = async {
            while Arc::strong_count(&self.datastore) > 1 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        if tokio::time::timeout(RELEASE_MAX, released).await.is_ok() {
            return Ok(());
        }
        // Somebody else still has a handle.
        let closed = self.datastore.shutdown().await;
        closed.map_err(|error| EngineError::Query { statement: "shutdown", reason: format!("{error:#}") })
    }
}
