//! The use cases: what an agent or a person can ask of their memory.
//!
//! One file for each. All text is redacted here, before the store, the index or a log sees it; every
//! write goes through [`cerebro_store::Store::transact`], which tells the index of it.

mod agent_hooks;
pub mod backup;
mod browse;
mod budget;
mod claims;
mod context;
pub mod doctor;
mod error;
mod fields;
mod get;
mod graph;
mod indexing;
mod jobs;
mod note;
mod peers;
mod portable;
mod projects;
mod prompt;
mod reindex;
mod relate;
mod save;
mod search;
mod session;
mod stats;
mod story;
mod studio;
mod tasks;
mod timeline;
mod topic;
mod traffic;
mod update;
#[cfg(test)]
mod use_cases;
mod vectors;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

pub use browse::{BrowseRequest, Browsed};
pub use claims::Claimed;
pub use context::{Context, ContextRequest, Ways};
pub use error::{Quotation, ServiceError};
pub use fields::{agent as agent_name, is_directory};
pub use get::{Earlier, Observation, ObservationRequest};
pub use graph::{DEPTH_MAX as GRAPH_DEPTH_MAX, Graph, GraphNode, NODES_MAX as GRAPH_NODES_MAX};
pub use jobs::{InferenceSettings, WorkerReport, WorkerState};
pub use note::{NoteRequest, Noted};
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
pub use topic::Suggestion;
pub use traffic::Busy;
pub use update::{DeleteOutcome, Patch, Updated};
pub use vectors::{EXACT_BYTES_MAX, Embedding, Opener, VectorLeg};

use sha2::{Digest, Sha256};
use tokio_util::task::task_tracker::TaskTrackerToken;

use cerebro_core::domain::{Project, SessionId, Timestamp, limits};
use cerebro_core::redact::RedactedText;
use cerebro_search::lexical::Index;
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
    /// How many earlier revisions of a memory are kept; 0 keeps all.
    pub revisions_keep: u32,
    /// Backups by the clock.
    pub backup: backup::Plan,
    /// The server that has the database; none where it is embedded.
    pub remote: Option<Remote>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            dedup_window: limits::DEDUP_WINDOW,
            agent_hard_delete: false,
            revisions_keep: 0,
            backup: backup::Plan::default(),
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

/// The use cases over an open store. A clone is another handle to the same; [`Service::close`] waits for all of
/// them, which is what the token is for. It is dropped after the rest.
#[derive(Clone)]
pub struct Service(Arc<Inner>, TaskTrackerToken);

struct Inner {
    store: Store,
    tasks: Tasks,
    index: Arc<indexing::Follower>,
    vectors: Arc<vectors::Vectors>,
    jobs: Arc<jobs::Jobs>,
    traffic: traffic::Traffic,
    settings: Settings,
    backups: backup::Desk,
    claims: Arc<claims::ClaimBook>,
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

/// Locks a mutex whose data cannot be left half-changed by a panic.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
        let (index, _) = Index::open(&index_dir)?;
        let index = Arc::new(indexing::Follower::new(index, &index_dir));
        let vectors = Arc::new(vectors::Vectors::new(embedding));
        let jobs = Arc::new(jobs::Jobs::new());
        let claims = Arc::new(claims::ClaimBook::default());
        let followers = (Arc::clone(&index), Arc::clone(&vectors), Arc::clone(&claims), Arc::clone(&jobs));
        let follow = move |committed: &Committed| {
            followers.0.follow(committed);
            // The commit is done, and whoever waits for its answer must get it.
            let others = catch_unwind(AssertUnwindSafe(|| {
                followers.2.follow(committed);
                followers.1.follow(committed);
            }));
            if others.is_err() {
                tracing::error!("vectors or claims in memory broke off at a commit; start the daemon anew");
                followers.2.forget();
            }
            followers.3.wake();
        };
        let store = match settings.remote.clone() {
            Some(remote) => Store::connect(remote, clock, Box::new(follow)).await?,
            None => Store::open(store_dir, clock, Box::new(follow)).await?,
        };
        // Before the index looks at the log: what is told from here on is heard.
        let hearing = store.begin_hearing().await?;
        let tasks = Tasks::default();
        let token = tasks.token();
        let inner = Inner {
            store,
            tasks,
            index,
            vectors,
            jobs,
            claims,
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
        let catching_up = service.clone();
        service.0.tasks.spawn("catching the index up", async move {
            if let Err(error) = catching_up.catch_up().await {
                tracing::warn!(%error, "the lexical index did not catch up; the next search tries again");
            }
        });
        service.listen(hearing);
        service.start_jobs();
        Ok(service)
    }

    /// Stops the background tasks, lets the write under way finish, closes index and store, and releases the
    /// store's lock. What still runs after [`CLOSE_WAIT`] is named in the log, and the store left as it is.
    ///
    /// # Errors
    /// When the engine could not flush; what was acknowledged is safe all the same.
    pub async fn close(self) -> Result<(), ServiceError> {
        let tasks = self.0.tasks.clone();
        tasks.stop();
        // Its connections hold the database open.
        self.close_studio(None).await;
        self.0.store.drain().await;
        self.0.index.close();
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
        let near = near_projects(project, &known);
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

/// Known projects with a name near to `project`'s, the nearest first.
fn near_projects(project: &Project, known: &BTreeSet<Project>) -> Vec<Project> {
    let mut near: Vec<(f64, &Project)> = known
        .iter()
        .map(|other| (name_similarity(project.as_str(), other.as_str()), other))
        .filter(|(similarity, _)| *similarity >= 0.5)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    near.into_iter().take(3).map(|(_, project)| project.clone()).collect()
}

/// Dice's coefficient of the names' letter pairs; an equal last part counts as near.
fn name_similarity(a: &str, b: &str) -> f64 {
    let last = |name: &str| name.rsplit('/').next().unwrap_or_default().to_owned();
    if last(a) == last(b) {
        return 1.0;
    }
    let pairs = |name: &str| -> BTreeSet<(char, char)> { name.chars().zip(name.chars().skip(1)).collect() };
    let (a, b) = (pairs(a), pairs(b));
    let both = a.intersection(&b).count();
    #[expect(clippy::cast_precision_loss, reason = "names have at most 200 characters")]
    let dice = (2 * both) as f64 / (a.len() + b.len()).max(1) as f64;
    dice
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_projects_are_near_and_others_are_not() {
        let known: BTreeSet<Project> = ["acme/payments", "acme/website", "other/payments", "zebra"]
            .iter()
            .filter_map(|n| Project::parse(n))
            .collect();
        let near = |name: &str| -> Vec<String> {
            near_projects(&Project::parse(name).unwrap(), &known).iter().map(ToString::to_string).collect()
        };
        assert_eq!(near("acme/paymnets"), ["acme/payments"]);
        assert_eq!(near("payments"), ["acme/payments", "other/payments"]);
        assert!(near("quux").is_empty());
    }
}
