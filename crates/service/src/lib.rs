//! The use cases: what an agent or a person can ask of their memory.
//!
//! [`Service`] has one field for each capability. The type of a capability has a field for each other one that it uses,
//! and those are further down in this list:
//!
//! | capability | what it is about |
//! | --- | --- |
//! | [`intake`](Intake) | importing past sessions from agents' transcripts |
//! | [`history`](History), [`journal`](Journal) | past sessions; the journal of work |
//! | [`distilling`](Distilling) | asking a chat model what past sessions are worth |
//! | [`consolidating`](Consolidating) | plans to merge and to archive |
//! | [`worker`](Worker) | what is derived from memories in the background: vectors, relations, claims |
//! | [`memories`](Memories), [`recall`](Recall) | what changes memories; what finds and shows them |
//! | [`documents`](Documents) | files that were ingested |
//! | [`sessions`](Sessions), [`feedback`](Feedback) | live sessions; how useful the memories were that they were shown |
//! | [`backups`](Backups), [`studio`](Studio) | copies of the store; the store in its own language |
//! | [`index`] | what is derived from the store so that things are found |
//! | [`jobs`] | the loop over a kind of job, and asking a chat model |
//! | [`meant`] | what is to be forgotten of past sessions |
//! | [`base`], [`settings`] | the open store, the tasks and the clock; what the user can set |
//!
//! No module uses one above it. What spans all of them is in this crate's root: opening and closing, [`doctor`],
//! [`portable`], [`forget`], [`mod@restore`], and what other homes write to the same database ([`peers`]).
//!
//! Whatever returns a [`ServiceError`] fails if the store or an index fails. The documentation of a function names the
//! errors only where there are others.

pub mod backup;
mod base;
mod check;
mod consolidation;
mod distil;
pub mod doctor;
mod documents;
mod error;
mod feedback;
mod fields;
mod forget;
mod history;
mod index;
mod intake;
mod jobs;
pub mod looks;
mod meant;
mod memories;
mod moment;
mod peers;
mod portable;
mod projects;
mod recall;
#[cfg(test)]
mod replay;
mod restore;
mod sessions;
mod settings;
mod spending;
mod studio;
mod tasks;
mod traffic;
#[cfg(test)]
mod use_cases;
pub mod work;
mod worker;

use std::{
    ops::Deref,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

pub use backup::Backups;
pub use base::{Caller, Clock};
pub use consolidation::{Consolidating, Consolidation};
pub use distil::{Decided, DistilPlan, DistilReport, Distilling, HandbookPlan, PlannedSession, Queued};
pub use documents::{ChunkPart, DocumentChunks, DocumentRead, Documents, Ingested};
pub use error::{Quotation, ServiceError};
pub use feedback::{Feedback, Watched};
pub use fields::{agent as agent_name, is_directory};
pub use history::{
    ExchangePart, ExchangeRequest, Fact, Facts, FactsAbout, Fix, Forgotten, History, HistoryBatch,
    HistoryCommitted, HistoryTimeline, Importing, Links, ReadFrom, agent_slug,
};
pub use index::{EXACT_BYTES_MAX, Evidence, VectorLeg};
pub use intake::{
    AgentPreview, AgentProgress, Choice, HistoryOptions, HistorySettings, ImportRequest, Intake, Preview,
    PreviewedFile, Progress, ProjectOf, TranscriptFolder, agent_named, agents, check_companions, glance,
    places,
};
pub use jobs::WorkerState;
pub use meant::{Forget, KEPT_OUT_CHARS_MIN, is_kept_out};
pub use memories::{
    Change, DeleteOutcome, Door, ListedTombstone, Memories, Merged, NoteRequest, Noted, Patch, PromptSaved,
    Replaced, SaveOutcome, SaveRequest, Saved, Similar, Suggestion, Summarised, TOMBSTONE_SECRET_FILE,
    TOMBSTONES_LISTED_MAX, TOMBSTONES_MAX, Updated,
};
pub use portable::{ExportPage, Imported};
pub use recall::{
    Context, ContextRequest, Earlier, Elsewhere, EntityGraph, Entry, EntryKind, EvidenceFound, EvidenceHint,
    EvidenceRequest, FollowUps, Footing, Found, GRAPH_DEPTH_MAX, GRAPH_NODES_MAX, Gathered, Graph, GraphNode,
    Health, Mark, MarkDetail, Marks, Observation, ObservationRequest, PAIRS_COUNTED_MAX, Pair, Pairs, Recall,
    SearchRequest, Selected, Selection, SessionContents, Stats, Timeline, TimelineRequest, Within, flag_mark,
};
pub use restore::{Restored, restore};
pub use sessions::{Sessions, StartRequest, Started};
pub use settings::{
    BackupPlan, Consolidate, DistilReader, DistilSettings, Embedding, InferenceSettings, Opener, Retention,
    Review, Settings,
};
pub use studio::{Lease, Studio, StudioAccess, StudioOptions};
pub use traffic::Busy;
pub use work::Journal;
pub use worker::{Reindexing, Worker, WorkerReport};

use sha2::{Digest, Sha256};

use cerebro_core::domain::limits;
use cerebro_core::sync::lock;
use cerebro_search::lexical::{Index, LexicalError};
use cerebro_store::{Committed, JobKind, Remote, Store};

use base::Base;
use consolidation::Derive;
use distil::Distil;
use index::{EvidenceIndexes, Follower, MemoryIndex, Past, PastIndex, VectorSearch, Vectors};
use jobs::{Jobs, Runner};
use memories::guard;
use projects::KnownProjects;
use recall::{AnchorCache, CensusCache, ClaimCache, SuccessionCache};
use worker::{Embed, ExchangeBacklog, RelationInference};

/// How long closing waits for background tasks and for calls that were cancelled.
const CLOSE_WAIT: Duration = Duration::from_secs(5);
/// How long closing waits for the indexes, which commit what is queued. They are derived: the store does not wait for
/// them any longer.
const INDEX_CLOSE_WAIT: Duration = Duration::from_secs(10);

/// A handle to the use cases over an open store. [`Service::close`] waits for all of them.
#[derive(Clone)]
pub struct Service(Arc<Capabilities>);

impl Deref for Service {
    type Target = Capabilities;

    fn deref(&self) -> &Capabilities {
        &self.0
    }
}

/// The use cases, by capability.
pub struct Capabilities {
    /// What changes memories.
    pub memories: Memories,
    /// What finds and shows them.
    pub recall: Recall,
    /// Live sessions.
    pub sessions: Sessions,
    /// How useful the memories were that sessions were shown.
    pub feedback: Feedback,
    /// The journal of work.
    pub journal: Journal,
    /// Past sessions.
    pub history: History,
    /// Importing past sessions.
    pub intake: Intake,
    /// Files that were ingested.
    pub documents: Documents,
    /// What past sessions are worth.
    pub distilling: Distilling,
    /// Plans to merge and to archive.
    pub consolidating: Consolidating,
    pub backups: Backups,
    /// Background jobs.
    pub worker: Worker,
    /// The store in its own language.
    pub studio: Studio,
    base: Base,
    runner: Runner,
}

/// Who is notified of each commit.
#[derive(Clone)]
struct Followers {
    index: Arc<Follower>,
    vectors: Arc<Vectors>,
    jobs: Arc<Jobs>,
    exchange_backlog: Arc<ExchangeBacklog>,
    claims: Arc<ClaimCache>,
    succession: Arc<SuccessionCache>,
    anchors: Arc<AnchorCache>,
    census: Arc<CensusCache>,
}

impl Followers {
    fn new(index: Index, index_dir: &Path, embedding: Embedding) -> Self {
        Self {
            index: Arc::new(Follower::new(index, index_dir)),
            vectors: Arc::new(Vectors::new(embedding)),
            jobs: Arc::new(Jobs::new()),
            exchange_backlog: Arc::default(),
            claims: Arc::default(),
            succession: Arc::default(),
            anchors: Arc::default(),
            census: Arc::default(),
        }
    }

    fn follow(&self, committed: &Committed) {
        self.index.follow(committed);
        // The commit is done, and its caller must get the answer.
        let others = catch_unwind(AssertUnwindSafe(|| {
            self.anchors.follow(committed);
            self.claims.follow(committed);
            self.succession.follow(committed);
            self.census.follow(committed);
            self.vectors.follow(committed);
        }));
        if others.is_err() {
            tracing::error!("vectors or claims in memory missed a commit; run `cerebro daemon restart`");
            self.claims.forget();
            self.succession.forget();
            self.census.forget();
        }
        self.exchange_backlog.follow(committed);
        self.jobs.queue(JobKind::Embed).wake();
    }
}

impl Service {
    /// Opens the store and the index in their folders. The index catches up with the log in the background: searches
    /// wait for it, everything else does not. The worker starts with the models of `embedding`. `clock` gives all
    /// moments that are stored or compared.
    ///
    /// # Errors
    /// When either cannot be opened. A damaged index is not an error; it is rebuilt.
    pub async fn open(
        store_dir: &Path,
        index_dir: &Path,
        settings: Settings,
        embedding: Embedding,
        clock: Clock,
    ) -> Result<Self, ServiceError> {
        let index_dir =
            settings.remote.as_ref().map_or(index_dir.to_path_buf(), |remote| index_of(index_dir, remote));
        let past = PastIndex::new(&index_dir).map_err(LexicalError::Io)?;
        let index = Index::open(&index_dir)?;
        let followers = Followers::new(index, &index_dir, embedding);
        let notified = followers.clone();
        let follow = move |committed: &Committed| notified.follow(committed);
        let secret = guard::secret(&index_dir).map_err(LexicalError::Io)?;
        let store = match settings.remote.clone() {
            Some(remote) => Store::connect(remote, clock, Box::new(follow)).await?,
            None => Store::open(store_dir, clock, Box::new(follow)).await?,
        };
        let store = store.with_secret(&secret);
        // Before the index reads the log, so that no event after this is missed.
        let peer_logs = store.peers().listen().await?;
        let journal = work::Held::open(store_dir, store.id(), settings.journal)?;
        let service = Self::compose(Base::new(store, settings), followers, &index_dir, past, journal);
        // Before anything is saved, because the guard needs the tombstones.
        service.memories.maintain_tombstones().await?;
        service.recall.index.begin_catching_up();
        service.follow_peers(peer_logs);
        service.start_jobs().await;
        service.journal.keep();
        Ok(service)
    }

    /// The use cases over a store that is being restored and that nothing else has open: nothing runs in the background, and
    /// no index is kept. `scratch` is an empty folder for those that there must be. The journal is off, so its keys stay as
    /// they are.
    ///
    /// # Errors
    /// When an index cannot be created, or the keys of the journal cannot be read.
    pub(crate) fn unindexed(store: Store, store_dir: &Path, scratch: &Path) -> Result<Self, ServiceError> {
        let index_dir = scratch.join("index");
        let past = PastIndex::new(&index_dir).map_err(LexicalError::Io)?;
        let index = Index::open(&index_dir)?;
        let followers = Followers::new(index, &index_dir, Embedding::none());
        let journal = work::Held::open(store_dir, store.id(), None)?;
        let settings = Settings { journal: None, ..Settings::default() };
        Ok(Self::compose(Base::unindexed(store, settings), followers, &index_dir, past, journal))
    }

    /// Makes the capabilities, each with those that it uses.
    fn compose(
        base: Base,
        followers: Followers,
        index_dir: &Path,
        past: PastIndex,
        journal: work::Held,
    ) -> Self {
        let Followers { index, vectors, jobs, exchange_backlog, claims, succession, anchors, census } =
            followers;
        let distil = vectors.embedding.distil.clone();
        let index = MemoryIndex::new(&base, index);
        let evidence = EvidenceIndexes::beside(&base, index_dir);
        let vectors = VectorSearch::new(&base, vectors);
        let past = Past::new(&base, past);
        let runner = Runner { base: base.clone(), jobs: Arc::clone(&jobs) };
        let feedback = Feedback::new(&base);
        let projects = KnownProjects::new(&base);
        let sessions = Sessions { base: base.clone(), projects: projects.clone(), held: Arc::default() };
        let documents = Documents::new(&base, &evidence);
        let memories = Memories {
            base: base.clone(),
            index: index.clone(),
            evidence: evidence.clone(),
            past: past.clone(),
            sessions: sessions.clone(),
            projects,
            feedback: feedback.clone(),
        };
        let recall = Recall {
            base: base.clone(),
            index: index.clone(),
            evidence: evidence.clone(),
            vectors: vectors.clone(),
            past,
            sessions: sessions.clone(),
            feedback: feedback.clone(),
            claims: Arc::clone(&claims),
            anchors,
            succession,
            census,
            health: Arc::default(),
            searches: Arc::new(tokio::sync::Semaphore::new(limits::SEARCHES_AT_ONCE_MAX)),
        };
        let journal = Journal::new(&memories, journal);
        let history = History::new(&memories);
        let intake = Intake::new(&history, &documents, &journal);
        let distilling = Distilling::new(&memories, &jobs, distil);
        let consolidating = Consolidating::new(&memories, &vectors, &jobs);
        let worker = Worker::new(&index, &vectors, &claims, exchange_backlog, &runner);
        let (backups, studio) = (Backups::new(&base), Studio::new(&base));
        Self(Arc::new(Capabilities {
            memories,
            recall,
            sessions,
            feedback,
            journal,
            history,
            intake,
            documents,
            distilling,
            consolidating,
            backups,
            worker,
            studio,
            base,
            runner,
        }))
    }

    /// Starts the loops over the background jobs, each with the handler of the capability that its work belongs to.
    async fn start_jobs(&self) {
        // Before anything of this process may hold a lease.
        self.runner.end_old_leases().await;
        self.runner.start(Embed::new(self.worker.clone()));
        self.runner.start(RelationInference::new(self.worker.clone()));
        self.runner.start(Derive::new(self.consolidating.clone()));
        self.runner.start(Distil::new(self.distilling.clone()));
    }

    /// Starts what is done by the clock in the home's folder, until the service closes: backups, imports of past sessions,
    /// consolidation.
    pub fn keep(&self, home: &Path, history: HistoryOptions) {
        let (backups, home) = (self.backups.clone(), home.to_path_buf());
        self.base.tasks.spawn("scheduled backups", async move { backups.keep(&home).await });
        let consolidating = self.consolidating.clone();
        self.base.tasks.spawn("scheduled consolidation", async move { consolidating.keep().await });
        self.intake.set_options(history);
        let intake = self.intake.clone();
        self.base.tasks.spawn("importing sessions", Box::pin(async move { intake.keep().await }));
    }

    /// Stops the background tasks, lets the write under way finish, closes index and store, and releases the
    /// store's lock. What still runs after [`CLOSE_WAIT`] is named in the log, and the store left as it is.
    ///
    /// # Errors
    /// When the engine could not flush. What was acknowledged is safe all the same.
    pub async fn close(self) -> Result<(), ServiceError> {
        let (store, tasks) = (Arc::clone(&self.base.store), self.base.tasks.clone());
        let journal = Arc::clone(&self.journal.held);
        // First, because an import adds to the journal, which would not be under its last seal.
        tasks.stop();
        self.journal.stop().await;
        // Its connections hold the database open.
        self.studio.close(None).await;
        store.drain().await;
        let (memories, evidence) = (self.recall.index.closing(), self.recall.evidence.closing());
        let closing = tokio::task::spawn_blocking(move || {
            memories();
            evidence();
        });
        let indexes = async { tokio::join!(closing, self.recall.past.close()) };
        if tokio::time::timeout(INDEX_CLOSE_WAIT, indexes).await.is_err() {
            tracing::warn!(
                "the indexes were not closed in time; the next opening completes them from the log"
            );
        }
        drop(self);
        // Calls that were cancelled still hold a handle for the moment it takes them to unwind.
        let ended = tasks.ended(CLOSE_WAIT).await;
        journal.leave_missed().await;
        match (ended, Arc::try_unwrap(store)) {
            (_, Ok(store)) => return Ok(store.close().await?),
            (Err(running), _) => tracing::warn!(running, "not all had ended when the store had to close"),
            (Ok(()), Err(_)) => tracing::error!("a handle without a token kept the store from closing"),
        }
        Ok(())
    }

    /// Completes when the disk has failed under a commit: nothing more can be written until another process opens the store.
    pub async fn disk_failed(&self) {
        self.base.store.disk_failed().await;
    }

    /// Notes that a caller waits for an answer, until the guard is dropped. Background work gives way meanwhile.
    pub fn busy(&self) -> Busy {
        Busy::begin(&self.base.traffic)
    }

    /// Rewrites the files of index and database, so that they hold nothing that is no longer in them.
    pub async fn compact(&self) -> Result<(), ServiceError> {
        self.recall.index.ask(Index::flush).await?;
        self.recall.evidence.settle().await?;
        Ok(self.base.store.compact().await?)
    }
}

/// The folder of the index over a database on a server: beside the home's own, one for each database.
fn index_of(own: &Path, remote: &Remote) -> PathBuf {
    let place = format!("{}\n{}\n{}", remote.url, remote.namespace, remote.database);
    let digest = cerebro_core::text::hex(&Sha256::digest(place)[..6]);
    own.with_file_name(format!("index-{digest}"))
}
