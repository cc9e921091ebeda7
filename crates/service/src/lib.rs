//! The use cases: what an agent or a person can ask of their memory.
//!
//! One file for each. All text is redacted here, before the store, the index or a log sees it; every
//! write goes through [`cerebro_store::Store::transact`], which tells the index of it.

mod agent_hooks;
pub mod backup;
mod beside;
mod browse;
mod budget;
mod cached;
mod claims;
mod context;
mod cycle;
#[cfg(test)]
mod cycle_tests;
mod distil;
pub mod doctor;
mod documents;
mod entity;
mod error;
mod evidence;
mod feedback;
mod fields;
mod footing;
mod get;
mod graph;
mod guard;
mod health;
mod history;
mod indexing;
mod insight;
mod intake;
mod jobs;
mod marks;
mod note;
mod pairs;
mod past;
mod peers;
mod portable;
mod projects;
mod prompt;
mod reindex;
mod relate;
#[cfg(test)]
mod replay;
mod save;
mod search;
mod session;
mod stats;
mod story;
mod studio;
mod succession;
mod tasks;
mod timeline;
mod tombstones;
mod topic;
mod traffic;
mod update;
#[cfg(test)]
mod use_cases;
mod vectors;
pub mod work;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    num::NonZeroU32,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

pub use browse::{BrowseRequest, Browsed, Selected, Selection};
pub use context::{Context, ContextRequest, Gathered, Ways};
pub use cycle::{Consolidate, Consolidation};
pub use distil::{
    Decided, DistilOptions, DistilPlan, DistilReport, DistilSettings, HandbookPlan, PlannedSession, Review,
};
pub use documents::{ChunkPart, DocumentChunks, DocumentRead, Ingested};
pub use entity::EntityGraph;
pub use error::{Quotation, ServiceError};
pub use evidence::{Evidence, EvidenceFound, EvidenceHint, EvidenceRequest};
pub use feedback::Watched;
pub use fields::{agent as agent_name, is_directory};
pub use get::{Earlier, Observation, ObservationRequest};
pub use graph::{DEPTH_MAX as GRAPH_DEPTH_MAX, Graph, GraphNode, NODES_MAX as GRAPH_NODES_MAX};
pub use guard::{Door, SECRET_FILE as TOMBSTONE_SECRET_FILE};
pub use health::{Health, PAIRS_COUNTED_MAX};
pub use history::{
    ExchangePart, ExchangeRequest, Fact, Facts, FactsAbout, Forget, Forgotten, HistoryBatch,
    HistoryCommitted, HistoryTimeline, Links, Mended, SourceRead, agent_slug,
};
pub use intake::{
    AgentProgress, HistoryOptions, HistorySettings, ImportRequest, Place, Preview, Progress, ProjectOf,
    agent_named, agents, glance, places,
};
pub use jobs::{InferenceSettings, WorkerReport, WorkerState};
pub use marks::{Mark, Marks, Told};
pub use note::{NoteRequest, Noted};
pub use pairs::{Pair, Pairs};
pub use portable::{ExportPage, Imported};
pub use projects::Merged;
pub use prompt::PromptSaved;
pub use reindex::Reindexing;
pub use save::{Replaced, SaveOutcome, SaveRequest, Saved, Similar};
pub use search::{Elsewhere, Found, SearchRequest};
pub use session::{StartRequest, Started, Summarised};
pub use stats::Stats;
pub use story::Story;
pub use studio::{Lease, StudioAccess, StudioOptions};
pub use timeline::{Entry, EntryKind, Timeline, TimelineRequest, Within};
pub use tombstones::{FallenText, TOMBSTONES_LISTED_MAX, TOMBSTONES_MAX};
pub use topic::Suggestion;
pub use traffic::Busy;
pub use update::{Change, DeleteOutcome, Patch, Updated};
pub use vectors::{EXACT_BYTES_MAX, Embedding, Opener, VectorLeg};

use sha2::{Digest, Sha256};
use tokio_util::task::task_tracker::TaskTrackerToken;

use cerebro_core::domain::{Origin, Project, SessionId, Timestamp, limits};
use cerebro_core::operation::Group;
use cerebro_core::redact::RedactedText;
use cerebro_core::sync::lock;
use cerebro_search::lexical::{Index, LexicalError};
use cerebro_store::{Committed, ProjectCount, Remote, Store};

use tasks::Tasks;

/// How long closing waits for background tasks and for calls that were cancelled.
const CLOSE_WAIT: Duration = Duration::from_secs(5);

/// Tells the present moment: the machine's clock ([`Timestamp::now`]), or one of a test.
pub type Clock = fn() -> Timestamp;

/// What the user can set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Window in which an equal save or prompt counts as a repetition.
    pub dedup_window: Duration,
    /// Whether agents may purge; people always may.
    pub agent_hard_delete: bool,
    /// How many earlier revisions of a memory are kept; without it all are.
    pub revisions_keep: Option<NonZeroU32>,
    /// Backups by the clock.
    pub backup: backup::Plan,
    /// Consolidation by the clock.
    pub consolidate: Consolidate,
    /// How long the journal of work is kept; none where it is off.
    pub journal: Option<work::Retention>,
    /// The groups of tools that agents get beside the 13.
    pub groups: Vec<Group>,
    /// The server that has the database; none where it is embedded.
    pub remote: Option<Remote>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            dedup_window: limits::DEDUP_WINDOW,
            agent_hard_delete: false,
            revisions_keep: None,
            backup: backup::Plan::default(),
            consolidate: Consolidate::default(),
            journal: Some(work::Retention::default()),
            groups: Vec::new(),
            remote: None,
        }
    }
}

/// Who calls: facts of the connection, not of the call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The connection's own project.
    pub project: Project,
    /// The client's name, see [`agent_name`].
    pub agent: RedactedText,
    /// A person at the command line, who may do what is kept from agents.
    pub person: bool,
}

impl Caller {
    /// Where a text comes from that the caller chose to write.
    fn origin(&self) -> Origin {
        if self.person { Origin::Person } else { Origin::Agent }
    }
}

/// The use cases over an open store. A clone is another handle to the same; [`Service::close`] waits for all of
/// them, which is what the token is for. It is dropped after the rest.
#[derive(Clone)]
pub struct Service(Arc<Inner>, TaskTrackerToken);

struct Inner {
    store: Store,
    tasks: Tasks,
    index: Arc<indexing::Follower>,
    evidence: evidence::EvidenceIndexes,
    vectors: Arc<vectors::Vectors>,
    jobs: Arc<jobs::Jobs>,
    traffic: traffic::Traffic,
    settings: Settings,
    backups: backup::Desk,
    claims: Arc<claims::ClaimBook>,
    footings: Arc<footing::FootingBook>,
    feedback: feedback::FeedbackBook,
    health: health::HealthBook,
    journal: work::Journal,
    succession: Arc<succession::SuccessionBook>,
    past: past::Past,
    /// What is asked of the task that takes past sessions in, and what it tells.
    history_desk: intake::Desk,
    /// Sessions known to be live in the store, so that a save need not look.
    live: Mutex<BTreeSet<SessionId>>,
    /// The other homes that are at work on the same database.
    others: Mutex<BTreeSet<String>>,
    /// How many connections each session has now.
    connected: Mutex<HashMap<SessionId, usize>>,
    /// The places of the searches that compute: each holds a thread while it waits for the model.
    searches: tokio::sync::Semaphore,
    /// The live endpoint, while one is open.
    studio: tokio::sync::Mutex<Option<studio::Studio>>,
    /// The projects that hold anything, read when first asked for.
    projects: tokio::sync::OnceCell<Mutex<BTreeSet<Project>>>,
}

/// Who hears of each commit.
#[derive(Clone)]
struct Followers {
    index: Arc<indexing::Follower>,
    vectors: Arc<vectors::Vectors>,
    jobs: Arc<jobs::Jobs>,
    claims: Arc<claims::ClaimBook>,
    succession: Arc<succession::SuccessionBook>,
    footings: Arc<footing::FootingBook>,
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
        let past = past::Past::new(&index_dir).map_err(LexicalError::Io)?;
        let (index, _) = Index::open(&index_dir)?;
        let followers = Followers {
            index: Arc::new(indexing::Follower::new(index, &index_dir)),
            vectors: Arc::new(vectors::Vectors::new(embedding)),
            jobs: Arc::new(jobs::Jobs::new()),
            claims: Arc::default(),
            succession: Arc::default(),
            footings: Arc::default(),
        };
        let hearers = followers.clone();
        let follow = move |committed: &Committed| hearers.follow(committed);
        let (secret, is_new_secret) = guard::secret(&index_dir).map_err(LexicalError::Io)?;
        let store = match settings.remote.clone() {
            Some(remote) => Store::connect(remote, clock, Box::new(follow)).await?,
            None => Store::open(store_dir, clock, Box::new(follow)).await?,
        };
        let store = store.with_secret(&secret);
        // Before the index looks at the log: what is told from here on is heard.
        let hearing = store.begin_hearing().await?;
        let journal = work::Journal::open(store_dir, store.id(), settings.journal)?;
        let tasks = Tasks::default();
        let token = tasks.token();
        let Followers { index, vectors, jobs, claims, succession, footings } = followers;
        let inner = Inner {
            store,
            tasks,
            index,
            evidence: evidence::EvidenceIndexes::beside(&index_dir),
            vectors,
            jobs,
            claims,
            footings,
            feedback: feedback::FeedbackBook::default(),
            health: health::HealthBook::default(),
            journal,
            succession,
            past,
            history_desk: intake::Desk::default(),
            traffic: traffic::Traffic::new(),
            settings,
            backups: backup::Desk::default(),
            live: Mutex::default(),
            others: Mutex::default(),
            connected: Mutex::default(),
            searches: tokio::sync::Semaphore::new(limits::SEARCHES_AT_ONCE_MAX),
            studio: tokio::sync::Mutex::new(None),
            projects: tokio::sync::OnceCell::new(),
        };
        let service = Self(Arc::new(inner), token);
        // Before anything comes in: what it may not bring back must be known.
        service.keep_tombstones(is_new_secret).await?;
        let catching_up = service.clone();
        service.0.tasks.spawn("catching the index up", async move {
            if let Err(error) = catching_up.catch_up().await {
                tracing::warn!(%error, "the lexical index did not catch up; the next search tries again");
            }
        });
        service.listen(hearing);
        service.start_jobs();
        service.keep_journal();
        Ok(service)
    }

    /// Stops the background tasks, lets the write under way finish, closes index and store, and releases the
    /// store's lock. What still runs after [`CLOSE_WAIT`] is named in the log, and the store left as it is.
    ///
    /// # Errors
    /// When the engine could not flush; what was acknowledged is safe all the same.
    pub async fn close(self) -> Result<(), ServiceError> {
        self.close_journal().await;
        let tasks = self.0.tasks.clone();
        tasks.stop();
        // Its connections hold the database open.
        self.close_studio(None).await;
        self.0.store.drain().await;
        self.0.index.close();
        self.0.past.close().await;
        self.0.evidence.close();
        let Self(inner, token) = self;
        drop(token);
        // Calls that were cancelled still hold a handle for the moment it takes them to unwind.
        let ended = tasks.ended(CLOSE_WAIT).await;
        match (ended, Arc::try_unwrap(inner)) {
            (_, Ok(inner)) => return Ok(inner.store.close().await?),
            (Err(running), _) => tracing::warn!(running, "not all had ended when the store had to close"),
            (Ok(()), Err(_)) => tracing::error!("a handle without a token kept the store from closing"),
        }
        Ok(())
    }

    fn store(&self) -> &Store {
        &self.0.store
    }

    /// The present moment, by the clock that was given at opening.
    fn now(&self) -> Timestamp {
        self.0.store.now()
    }

    fn settings(&self) -> &Settings {
        &self.0.settings
    }

    /// Every project that holds anything, with how much.
    pub async fn projects(&self) -> Result<BTreeMap<Project, ProjectCount>, ServiceError> {
        Ok(self.store().projects().await?)
    }

    async fn known_projects(&self) -> Result<&Mutex<BTreeSet<Project>>, ServiceError> {
        self.0
            .projects
            .get_or_try_init(|| async {
                let known = self.store().projects().await?;
                Ok(Mutex::new(known.into_keys().collect()))
            })
            .await
    }

    /// Whether the write targets a project other than the caller's. If so, the known projects are loaded first, so
    /// that [`Self::meet_project`] can tell a new project from a known one afterwards.
    async fn leads_elsewhere(
        &self,
        project: Option<&Project>,
        caller: &Caller,
    ) -> Result<bool, ServiceError> {
        let elsewhere = project.is_some_and(|project| !project.is_none() && *project != caller.project);
        if elsewhere {
            self.known_projects().await?;
        }
        Ok(elsewhere)
    }

    /// Whether a project is seen for the first time in a write, and which known ones have a similar name.
    /// `None` when it is the caller's own or known. From then on it is known.
    async fn meet_project(
        &self,
        project: &Project,
        caller: &Caller,
    ) -> Result<Option<Vec<Project>>, ServiceError> {
        if project.is_none() || *project == caller.project {
            return Ok(None);
        }
        let mut known = lock(self.known_projects().await?);
        if known.contains(project) {
            return Ok(None);
        }
        let near = cerebro_core::text::nearest(project.as_str(), known.iter().map(Project::as_str));
        let near = near.into_iter().filter_map(Project::parse).collect();
        known.insert(project.clone());
        Ok(Some(near))
    }
}

/// The folder of the index over a database on a server: beside the home's own, one for each database.
fn index_of(own: &Path, remote: &Remote) -> PathBuf {
    let place = format!("{}\n{}\n{}", remote.url, remote.namespace, remote.database);
    let digest = cerebro_core::text::hex(&Sha256::digest(place)[..6]);
    own.with_file_name(format!("index-{digest}"))
}
