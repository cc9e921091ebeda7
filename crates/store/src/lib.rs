//! The store: rows, SurrealQL, transactions, the event log and the job queue, over `cerebro-engine`.
//!
//! [`Store`] is the whole: it opens, closes, commits, dumps and restores. What it holds is divided by noun. Each noun
//! has a file, and a type that borrows the store and has the noun's queries: `store.memories()` is a [`Memories`], and
//! `store.jobs().lease(..)` leases jobs. The methods of all nouns use the same words: `by_id` reads one row and `by_ids`
//! several, `latest` gives the newest first, and `walk` goes through all rows in order of id, or reads a page of them. They
//! return values of [`cerebro_core::domain`]. All of them fail if the database fails; the documentation of one names the
//! errors only where there are others.
//!
//! Derived rows (vectors, relations, anchors, signs, jobs under way) are also written there, because they have no
//! events. Everything else is written through [`Store::transact`]. It holds the one writer of this process from the
//! reads of a decision to its commit, and commits the changes together with the events that describe them. The changes
//! are methods of [`Write`], each in the file of its noun. Followers are notified after each commit, in commit order.

/// Defines the type of a noun, which borrows the store and has the noun's queries, and the method of [`Store`] that
/// returns it.
macro_rules! noun {
    ($(#[$doc:meta])* $method:ident: $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub struct $name<'a>(pub(crate) &'a Store);

        impl Store {
            $(#[$doc])*
            pub fn $method(&self) -> $name<'_> {
                $name(self)
            }
        }
    };
}

mod anchor;
mod arrangement;
mod artifact;
mod changes;
mod checkpoint;
mod citation;
mod columns;
mod cycle;
mod distil;
mod document;
mod dump;
mod edge;
mod entity;
mod error;
mod event;
mod foreign;
mod former;
mod history;
mod identity;
mod integrity;
mod job;
mod memory;
mod migrate;
mod model;
mod overview;
mod packed;
mod peers;
mod project;
mod prompt;
mod read;
mod relation;
mod retry;
mod revision;
mod row;
mod seal;
mod session;
mod sign;
mod space;
mod spending;
mod statement;
mod supersession;
#[cfg(test)]
mod tests;
mod text_key;
mod tombstone;
mod topic;
mod transaction;
mod vector;
mod work;
mod worker;

use std::path::Path;

pub use anchor::{Anchored, Anchors};
pub use arrangement::Arrangements;
pub use artifact::{Artifact, Artifacts};
use cerebro_engine::Engine;
pub use cerebro_engine::{
    Answer, Dump, Endpoint, EngineError, Pieces, Query, Remote, Script, Secret, Trial, Visitor, script,
    secret,
};
pub use checkpoint::{Checkpoint, Checkpoints};
pub use citation::Citations;
pub use cycle::{ASKED_KEPT, Asked, BeforeUnion, CycleState, Cycles, StepOutcome, StoredCycle, StoredStep};
pub use distil::{Candidates, DistilCounts, DistilRuns};
pub use document::{Chunks, Documents};
pub use dump::RowCounts;
pub use edge::{Edge, Edges};
pub use entity::Entities;
pub use error::StoreError;
pub use event::{Events, LogWalk};
pub use history::{
    AgentCounts, ExchangeVectors, Exchanges, ForgottenText, ForgottenTexts, History, HistoryCounts,
    PastSessions, ReadExchanges, Sources,
};
pub use integrity::{Faulty, FaultyJobs, Integrity, LogExtent, ModelVectors, RevisionExtent};
pub use job::{Job, JobCounts, JobKind, JobState, Jobs, ListedJob, Payload, Subject};
pub use memory::{CountedMemory, DeletedFilter, Memories, Neighbour, Ties};
pub use model::{ModelState, Models, StoredModel};
pub use overview::{Overview, OverviewLimits, Side};
pub use peers::{LogPositions, PeerLogs, PeerNews, Peers};
pub use project::{Counts, HealthCounts, ProjectCount, Projects};
pub use prompt::Prompts;
pub use read::{PAGE, Table, Walk};
pub use relation::{Provenance, Relations, StoredRelation};
pub use revision::Revisions;
pub use seal::Seals;
pub use session::Sessions;
pub use sign::{FeedbackCounts, Signs};
pub use spending::Spending;
pub use supersession::{SUPERSESSIONS_MAX, Supersession, Supersessions};
use surrealdb::types::Variables;
pub use tombstone::{OutdatedText, SaidText, TextTombstones, Tombstone, Tombstones, Why};
pub use topic::{Topic, Topics};
pub use transaction::{Committed, Write};
pub use vector::{StoredVector, Vectors};
pub use work::{StoredEvent, StoredWork, Stray, WorkList, WorkPlace, Works};
pub use worker::Worker;

use cerebro_core::{domain::Timestamp, sync::Cached};

/// The name under which the only writer of an embedded store numbers its events.
const EMBEDDED_WRITER: &str = "local";

type Follower = Box<dyn Fn(&Committed) + Send + Sync>;
type Clock = fn() -> Timestamp;

/// The open store.
pub struct Store {
    /// Its folder; `None` if it is on a server.
    dir: Option<std::path::PathBuf>,
    engine: Engine,
    closing: std::sync::atomic::AtomicBool,
    /// Rung when the disk failed under a commit.
    disk_failed: tokio::sync::Notify,
    /// The id of the store.
    id: String,
    writer: String,
    /// Distinguishes this process from another one with the same writer name, as in a copied home.
    lease: String,
    position: tokio::sync::Mutex<transaction::Position>,
    /// The number of this writer's last event of which the follower was notified.
    announced: std::sync::atomic::AtomicU64,
    /// Held while vectors change, so that the order of changes is known.
    vectors: tokio::sync::Mutex<()>,
    follower: Follower,
    clock: Clock,
    /// Makes the keys of tombstones.
    key_maker: text_key::KeyMaker,
    /// Knows which keys tombstones have.
    held_keys: text_key::HeldKeys,
    /// Knows the former names of projects.
    former: Cached<former::Merges>,
    forgotten_texts: Cached<ForgottenTexts>,
    /// Knows the last rows of work.
    held_works: work::HeldWorks,
}

impl Store {
    /// Opens or creates the store in `dir` and brings its schema up to date.
    ///
    /// `follower` is called with every commit, in order, while the writer waits. It must be quick.
    ///
    /// # Errors
    /// [`EngineError::Locked`] when another process has it open, [`StoreError::SchemaTooNew`] when a newer
    /// Cerebro wrote it, [`EngineError::Open`] otherwise.
    pub async fn open(dir: &Path, clock: Clock, follower: Follower) -> Result<Self, StoreError> {
        make_folder(dir)?;
        if !Engine::is_in(dir) {
            make_database(dir).await?;
        }
        let engine = Engine::open(dir).await?;
        Self::over(engine, Some(dir), EMBEDDED_WRITER.to_owned(), clock, follower).await
    }

    /// Opens a database on a server, which other processes may also have open, and brings its schema up to date.
    ///
    /// # Errors
    /// [`EngineError::Unreachable`], [`EngineError::Remote`], or those of the schema as for [`Self::open`].
    pub async fn connect(remote: Remote, clock: Clock, follower: Follower) -> Result<Self, StoreError> {
        let writer = remote.writer.clone();
        Self::over(Engine::connect(remote).await?, None, writer, clock, follower).await
    }

    async fn over(
        engine: Engine,
        dir: Option<&Path>,
        writer: String,
        clock: Clock,
        follower: Follower,
    ) -> Result<Self, StoreError> {
        let id = match prepare(&engine).await {
            Ok(id) => id,
            Err(error) => {
                // Closing also releases the lock, so that another binary may open the store at once.
                if let Err(closing) = engine.close().await {
                    tracing::warn!(%closing, "the store did not close cleanly");
                }
                return Err(error);
            }
        };
        Ok(Self {
            dir: dir.map(Path::to_path_buf),
            engine,
            closing: false.into(),
            disk_failed: tokio::sync::Notify::new(),
            key_maker: text_key::KeyMaker::new(id.as_bytes()),
            held_keys: text_key::HeldKeys::default(),
            former: Cached::default(),
            forgotten_texts: Cached::default(),
            held_works: work::HeldWorks::default(),
            id,
            writer,
            lease: secret(),
            position: tokio::sync::Mutex::new(transaction::Position::unknown()),
            announced: 0.into(),
            vectors: tokio::sync::Mutex::new(()),
            follower,
            clock,
        })
    }

    /// The newest schema version that this binary knows. An open store has this version.
    pub fn schema_version() -> u32 {
        migrate::newest()
    }

    /// The id of the store. It is random, stays while the log goes on, and changes with a restore.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The name under which this process numbers its events.
    pub fn writer(&self) -> &str {
        &self.writer
    }

    /// The present moment, by the clock that was passed in at opening.
    pub fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// Waits for the present write to finish and accepts no further ones.
    pub async fn drain(&self) {
        let _last = self.position.lock().await;
        self.closing.store(true, std::sync::atomic::Ordering::SeqCst);
    }

    /// Holds writers off until the guard is dropped.
    pub async fn pause(&self) -> impl Drop + '_ {
        self.position.lock().await
    }

    /// Completes when the disk has failed under a commit. Then nothing can be written until the store is opened again, in
    /// another process.
    pub async fn disk_failed(&self) {
        self.disk_failed.notified().await;
    }

    /// Closes the database and releases its lock.
    ///
    /// # Errors
    /// [`StoreError`] when the engine could not flush. What was acknowledged is safe anyway.
    pub async fn close(self) -> Result<(), StoreError> {
        Ok(self.engine.close().await?)
    }

    /// Rewrites the database's files without deleted and replaced data. Reads and writes continue meanwhile.
    ///
    /// # Errors
    /// [`StoreError`] of an engine that does not support it, or of a server that forbids it to this user.
    pub async fn compact(&self) -> Result<(), StoreError> {
        self.engine()?.run(statement::COMPACT, Variables::new()).await?;
        Ok(())
    }

    /// Runs a person's query with read permission only.
    ///
    /// # Errors
    /// [`EngineError::Refused`] when it cannot be parsed, has too many statements or takes too long. A failing
    /// statement reports its error in its own answer.
    pub async fn read(&self, query: Query) -> Result<Vec<Answer>, StoreError> {
        Ok(self.engine()?.read(query).await?)
    }

    /// Runs a person's statements, reports what they would change, and rolls all of it back.
    ///
    /// # Errors
    /// [`EngineError::Refused`] when they cannot be tried or one fails; [`EngineError::NotRemote`] on a server.
    pub async fn try_out(&self, query: Query) -> Result<Trial, StoreError> {
        Ok(self.engine()?.try_out(query).await?)
    }

    /// Makes a live endpoint over the store: the router to serve, and the credentials of its visitors.
    ///
    /// # Errors
    /// [`EngineError::Studio`] with the engine's message.
    pub async fn open_endpoint(&self) -> Result<(Endpoint, axum::Router, Visitor), StoreError> {
        Ok(self.engine()?.endpoint().await?)
    }

    /// Closes an endpoint of this store. It must be closed before the store, because its connections hold the store
    /// open.
    pub async fn close_endpoint(&self, endpoint: Endpoint) {
        endpoint.close(&self.engine).await;
    }

    fn engine(&self) -> Result<&Engine, StoreError> {
        if self.closing.load(std::sync::atomic::Ordering::SeqCst) {
            return Err(StoreError::Closed);
        }
        Ok(&self.engine)
    }

    /// Whether other processes write to the same database.
    pub fn is_shared(&self) -> bool {
        self.engine.is_shared()
    }

    /// Refuses a write while the disk is nearly full. A server checks its own disk.
    fn check_space(&self) -> Result<(), StoreError> {
        self.dir.as_deref().map_or(Ok(()), |dir| Ok(space::check(dir)?))
    }

    /// The name of this home, for the sessions that begin here; `None` on an embedded store, which has only one
    /// home.
    pub fn home_of_sessions(&self) -> Option<&str> {
        self.is_shared().then_some(self.writer.as_str())
    }

    /// The number of this writer's last event that the follower has processed; 0 before the first write since the
    /// store was opened. While it equals [`Write::last_seq`], the follower knows everything that this process has
    /// committed.
    pub fn announced(&self) -> u64 {
        self.announced.load(std::sync::atomic::Ordering::SeqCst)
    }

    fn announce(&self, committed: &Committed) {
        (self.follower)(committed);
        if let Some(last) = committed.events.iter().rfind(|event| event.writer == self.writer) {
            self.announced.store(last.seq, std::sync::atomic::Ordering::SeqCst);
        }
    }
}

fn make_folder(dir: &Path) -> Result<(), StoreError> {
    let failed =
        |error: std::io::Error| EngineError::Open { dir: dir.to_path_buf(), reason: error.to_string() };
    Ok(std::fs::create_dir_all(dir).map_err(failed)?)
}

/// Makes the database of a new store, with its schema. Each index takes many commits. Nobody relies on one of them
/// yet, so they are synced together, by closing the database and opening it again. If that is cut short, the next
/// opening applies the missing migrations.
async fn make_database(dir: &Path) -> Result<(), StoreError> {
    let engine = Engine::open_unsynced(dir).await?;
    let migrated = migrate::migrate(&engine).await;
    let closed = engine.close().await;
    migrated.and(closed.map_err(StoreError::from))?;
    if Engine::is_in(dir) {
        return Ok(());
    }
    // The next opening would make the folder again.
    let reason = "it was removed while it was made".to_owned();
    Err(EngineError::Open { dir: dir.to_path_buf(), reason }.into())
}

/// Brings the schema up to date and returns the store's id.
async fn prepare(engine: &Engine) -> Result<String, StoreError> {
    migrate::migrate(engine).await?;
    identity::of(engine).await
}
