//! The use cases: what an agent or a person can ask of their memory.
//!
//! [`Service`] has one field for each capability. The type of a capability has a field for each other one that it uses,
//! and those are further down in this list:
//!
//! | capability | what it is about |
//! | --- | --- |
//! | [`history`](History), [`intake`] | past sessions, read from agents' transcripts |
//! | [`journal`](Journal) | the journal of work |
//! | [`distilling`](Distilling) | what past sessions are worth, by a model's word |
//! | [`consolidating`](Consolidating) | plans to merge and to archive |
//! | [`worker`](Worker) | background jobs: vectors, relations, questions to models |
//! | [`memories`](Memories) | what changes memories |
//! | [`recall`](Recall) | what finds and shows them |
//! | [`documents`](Documents) | files that were ingested |
//! | [`sessions`](Sessions), [`feedback`](Feedback) | sessions as they go on; how useful what they were shown was |
//! | [`index`] | what is derived from the store so that things are found |
//! | [`base`] | the open store, the settings, the tasks and the clock |
//!
//! What spans all of them is in this crate's root: opening and closing, [`doctor`], [`portable`], and what other homes
//! write to the same database ([`peers`]).

pub mod backup;
mod base;
mod cached;
mod consolidation;
mod distil;
pub mod doctor;
mod documents;
mod error;
mod feedback;
mod fields;
mod history;
mod index;
mod intake;
mod jobs;
pub mod looks;
mod memories;
mod peers;
mod portable;
mod recall;
#[cfg(test)]
mod replay;
mod sessions;
mod studio;
mod tasks;
mod traffic;
#[cfg(test)]
mod use_cases;
pub mod work;

use std::{
    ops::Deref,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

pub use backup::Backups;
pub use base::{Caller, Clock, Settings};
pub use consolidation::{Consolidate, Consolidating, Consolidation};
pub use distil::{
    Decided, DistilOptions, DistilPlan, DistilReport, DistilSettings, Distilling, HandbookPlan,
    PlannedSession, Review,
};
pub use documents::{ChunkPart, DocumentChunks, DocumentRead, Documents, Ingested};
pub use error::{Quotation, ServiceError};
pub use feedback::{Feedback, Watched};
pub use fields::{agent as agent_name, is_directory};
pub use history::{
    ExchangePart, ExchangeRequest, Fact, Facts, FactsAbout, Forget, Forgotten, History, HistoryBatch,
    HistoryCommitted, HistoryTimeline, Links, Mended, SourceRead, agent_slug,
};
pub use index::{EXACT_BYTES_MAX, Embedding, Evidence, Opener, VectorLeg};
pub use intake::{
    AgentProgress, HistoryOptions, HistorySettings, ImportRequest, Preview, Progress, ProjectOf,
    TranscriptFolder, agent_named, agents, glance, places,
};
pub use jobs::{InferenceSettings, Reindexing, Worker, WorkerReport, WorkerState};
pub use memories::{
    Change, DeleteOutcome, Door, FallenText, Memories, Merged, NoteRequest, Noted, Patch, PromptSaved,
    Replaced, SaveOutcome, SaveRequest, Saved, Similar, Suggestion, Summarised, TOMBSTONE_SECRET_FILE,
    TOMBSTONES_LISTED_MAX, TOMBSTONES_MAX, Updated,
};
pub use portable::{ExportPage, Imported};
pub use recall::{
    BrowseRequest, Browsed, Context, ContextRequest, Earlier, Elsewhere, EntityGraph, Entry, EntryKind,
    EvidenceFound, EvidenceHint, EvidenceRequest, FollowUps, Found, GRAPH_DEPTH_MAX, GRAPH_NODES_MAX,
    Gathered, Graph, GraphNode, Health, Mark, MarkDetail, Marks, Observation, ObservationRequest,
    PAIRS_COUNTED_MAX, Pair, Pairs, Recall, SearchRequest, Selected, Selection, Stats, Story, Timeline,
    TimelineRequest, Within,
};
pub use sessions::{Sessions, StartRequest, Started};
pub use studio::{Lease, Studio, StudioAccess, StudioOptions};
pub use traffic::Busy;
pub use work::Journal;

use sha2::{Digest, Sha256};

use cerebro_core::domain::limits;
use cerebro_core::sync::lock;
use cerebro_search::lexical::{Index, LexicalError};
use cerebro_store::{Committed, Remote, Store};

use base::Base;
use index::{EvidenceIndexes, Follower, MemoryIndex, VectorSearch, Vectors};
use jobs::{Jobs, Spending};
use memories::{KnownProjects, guard};
use recall::{ClaimCache, FootingCache, Past, PastIndex, SuccessionCache};
use traffic::Traffic;

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
    /// Sessions as they go on.
    pub sessions: Sessions,
    /// How useful what was shown turned out to be.
    pub feedback: Feedback,
    /// The journal of work.
    pub journal: Journal,
    /// Past sessions.
    pub history: History,
    /// Files that were ingested.
    pub documents: Documents,
    /// What past sessions are worth.
    pub distilling: Distilling,
    /// Plans to merge and to archive.
    pub consolidating: Consolidating,
    /// Backups.
    pub backups: Backups,
    /// Background jobs.
    pub worker: Worker,
    /// The store in its own language.
    pub studio: Studio,
    base: Base,
}

/// Who is notified of each commit.
#[derive(Clone)]
struct Followers {
    index: Arc<Follower>,
    vectors: Arc<Vectors>,
    jobs: Arc<Jobs>,
    claims: Arc<ClaimCache>,
    succession: Arc<SuccessionCache>,
    footings: Arc<FootingCache>,
}

impl Followers {
    fn follow(&self, committed: &Committed) {
        self.index.follow(committed);
        // The commit is done, and whoever waits for its answer must get it.
        let others = catch_unwind(AssertUnwindSafe(|| {
            self.footings.follow(committed);
            self.claims.follow(committed);
            self.succession.follow(committed);
            self.vectors.follow(committed);
        }));
        if others.is_err() {
            tracing::error!("vectors or claims in memory broke off at a commit; start the daemon anew");
            self.claims.forget();
            self.succession.forget();
        }
        self.jobs.wake();
    }
}

impl Service {
    /// Opens the store and the index in their folders. The index catches up with the log meanwhile: searches
    /// wait for it, everything else goes on. So does the worker, with the models of `embedding`. `clock` tells
    /// all moments that are kept or compared.
    ///
    /// # Errors
    /// When either cannot be opened; a damaged index is not an error but built anew.
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
        let (index, _) = Index::open(&index_dir)?;
        let followers = Followers {
            index: Arc::new(Follower::new(index, &index_dir)),
            vectors: Arc::new(Vectors::new(embedding)),
            jobs: Arc::new(Jobs::new()),
            claims: Arc::default(),
            succession: Arc::default(),
            footings: Arc::default(),
        };
        let notified = followers.clone();
        let follow = move |committed: &Committed| notified.follow(committed);
        let (secret, is_new_secret) = guard::secret(&index_dir).map_err(LexicalError::Io)?;
        let store = match settings.remote.clone() {
            Some(remote) => Store::connect(remote, clock, Box::new(follow)).await?,
            None => Store::open(store_dir, clock, Box::new(follow)).await?,
        };
        let store = store.with_secret(&secret);
        // Before the index looks at the log: what is told from here on is heard.
        let peer_logs = store.peer_logs().await?;
        let journal = work::Held::open(store_dir, store.id(), settings.journal)?;
        let service = Self::compose(Base::new(store, settings), followers, &index_dir, past, journal);
        // Before anything comes in: what it may not bring back must be known.
        service.memories.keep_tombstones(is_new_secret).await?;
        service.recall.index.begin_catching_up();
        service.follow_peers(peer_logs);
        service.worker.start(service.distilling.clone(), service.consolidating.clone());
        service.journal.keep();
        Ok(service)
    }

    /// Makes the capabilities, each with those that it uses.
    fn compose(
        base: Base,
        followers: Followers,
        index_dir: &Path,
        past: PastIndex,
        journal: work::Held,
    ) -> Self {
        let Followers { index, vectors, jobs, claims, succession, footings } = followers;
        let distil = vectors.embedding.distil.clone();
        let index = MemoryIndex::new(&base, index);
        let evidence = EvidenceIndexes::beside(&base, index_dir);
        let vectors = VectorSearch::new(&base, vectors);
        let past = Past::new(&base, past);
        let (spending, traffic) = (Spending::new(&base), Arc::new(Traffic::new()));
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
            footings,
            succession,
            health: Arc::default(),
            searches: Arc::new(tokio::sync::Semaphore::new(limits::SEARCHES_AT_ONCE_MAX)),
        };
        let journal = Journal::new(&memories, journal);
        let history = History::new(&memories, &documents, &journal, &traffic);
        let distilling = Distilling::new(&memories, &spending, &jobs, distil);
        let consolidating = Consolidating::new(&memories, &vectors, &spending, &jobs, &traffic);
        let worker = Worker { base: base.clone(), index, vectors, spending, claims, traffic, jobs };
        let (backups, studio) = (Backups::new(&base), Studio::new(&base));
        Self(Arc::new(Capabilities {
            memories,
            recall,
            sessions,
            feedback,
            journal,
            history,
            documents,
            distilling,
            consolidating,
            backups,
            worker,
            studio,
            base,
        }))
    }

    /// Stops the background tasks, lets the write under way finish, closes index and store, and releases the
    /// store's lock. What still runs after [`CLOSE_WAIT`] is named in the log, and the store left as it is.
    ///
    /// # Errors
    /// When the engine could not flush; what was acknowledged is safe all the same.
    pub async fn close(self) -> Result<(), ServiceError> {
        self.journal.stop().await;
        let (store, tasks) = (Arc::clone(&self.base.store), self.base.tasks.clone());
        tasks.stop();
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
        match (ended, Arc::try_unwrap(store)) {
            (_, Ok(store)) => return Ok(store.close().await?),
            (Err(running), _) => tracing::warn!(running, "not all had ended when the store had to close"),
            (Ok(()), Err(_)) => tracing::error!("a handle without a token kept the store from closing"),
        }
        Ok(())
    }

    /// Notes that somebody waits for an answer until the guard is dropped: the worker gives way meanwhile.
    pub fn busy(&self) -> Busy {
        Busy::begin(&self.worker.traffic)
    }

    /// Rewrites the files of index and database, so that they hold nothing that is no longer in them.
    ///
    /// # Errors
    /// A failing index or store.
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
