//! The background jobs: one loop for each kind of work, and what people see of them.
//!
//! The queue is in the store; a commit only wakes the loops. [`runner`] has the loop, which every kind of work
//! shares. A handler does one kind of job: [`embed`] makes vectors and relations, [`infer`] asks a language model how
//! memories relate, [`mod@derive`] what they say together, [`distil`] what past sessions are worth. Another kind of work
//! is another handler. What the loop decides is in [`cerebro_core::pace`].

mod asking;
mod budget;
mod derive;
mod distil;
mod embed;
mod infer;
mod queue;
mod reindex;
mod relate;
mod runner;

use std::{sync::Arc, time::Duration};

pub(crate) use asking::{Payer, Question, REPAIRS_MAX, ask};
pub(crate) use budget::Spending;
pub use infer::InferenceSettings;
pub use reindex::Reindexing;
pub(crate) use runner::JobError;

use crate::{
    ServiceError,
    base::Base,
    consolidation::Consolidating,
    distil::Distilling,
    index::{MemoryIndex, VectorSearch},
    recall::ClaimCache,
    traffic::Traffic,
};
use cerebro_core::pace::{self, Spent};
use cerebro_store::{Committed, JobKind};
use queue::Queue;

/// How long a pause waits until the worker has heard of it.
const HEAR_MAX: Duration = Duration::from_secs(2);

/// What the worker is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkerState {
    /// There is no model: jobs wait.
    Off,
    /// A person told it to pause.
    Paused,
    /// Nothing to do.
    Idle,
    /// At work.
    Working,
    /// The provider failed, or the day's budget is spent: it goes on by itself.
    Waiting(String),
    /// The settings name another model than the store's vectors are of.
    Disagrees {
        /// The model of the store.
        stored: String,
        /// The model of the settings.
        configured: String,
    },
    /// The model cannot be used; a person has to mend it.
    Unusable(String),
}

impl WorkerState {
    /// Its published name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Paused => "paused",
            Self::Idle => "idle",
            Self::Working => "working",
            Self::Waiting(_) => "waiting",
            Self::Disagrees { .. } => "disagrees",
            Self::Unusable(_) => "unusable",
        }
    }

    /// What a person should know beside the name.
    pub fn detail(&self) -> Option<String> {
        match self {
            Self::Waiting(why) | Self::Unusable(why) => Some(why.clone()),
            Self::Disagrees { stored, configured } => Some(format!(
                "the store holds vectors of {stored}, the settings say {configured}: run `cerebro reindex`, or set the model back"
            )),
            _ => None,
        }
    }
}

/// How the worker stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerReport {
    /// What it is doing.
    pub state: WorkerState,
    /// The model that it asks, as the provider names it.
    pub model: Option<String>,
    /// The model that searches ask.
    pub active: Option<String>,
    /// Attempts that failed since the daemon began.
    pub failures: u64,
    /// Memories embedded since the daemon began.
    pub done: u64,
    /// From save to vector: the half, and 99 of 100, were done in this time.
    pub lag: Option<(Duration, Duration)>,
}

/// The handles of the loops, one for each kind of job.
pub(super) struct Jobs {
    embed: Queue,
    infer: Queue,
    distil: Queue,
    derive: Queue,
    backfill: embed::Backfill,
    exchanges: embed::ExchangeBacklog,
}

impl Jobs {
    pub(super) fn new() -> Self {
        Self {
            embed: Queue::new(),
            infer: Queue::new(),
            distil: Queue::new(),
            derive: Queue::new(),
            backfill: embed::Backfill::new(),
            exchanges: embed::ExchangeBacklog::default(),
        }
    }

    fn queue(&self, kind: JobKind) -> &Queue {
        match kind {
            JobKind::Embed => &self.embed,
            JobKind::InferRelations => &self.infer,
            JobKind::Distil => &self.distil,
            JobKind::Derive => &self.derive,
        }
    }

    /// Says that something was committed, which may owe a memory or an exchange its vectors.
    pub(super) fn follow(&self, committed: &Committed) {
        self.exchanges.follow(committed);
        self.embed.wake();
    }

    /// Says that a person did something that may let the loops go on.
    pub(super) fn poke(&self) {
        for kind in JobKind::ALL {
            self.queue(kind).poke();
        }
    }

    /// What the loop that distils is doing.
    pub(super) fn distil_state(&self) -> WorkerState {
        self.distil.state()
    }

    /// Says that a person asked for sessions to be distilled.
    pub(super) fn poke_distil(&self) {
        self.distil.poke();
    }

    /// Says that a plan waits for insights.
    pub(super) fn wake_derive(&self) {
        self.derive.wake();
    }

    /// Has all memories looked through for missing vectors.
    pub(super) fn fill(&self) {
        self.backfill.begin();
        self.exchanges.begin();
        self.poke();
    }

    /// Whether memories are being looked through for missing vectors.
    pub(super) fn is_filling(&self) -> bool {
        self.backfill.is_under_way()
    }
}

/// The background jobs: starting their loops, and what people see and want of them.
#[derive(Clone)]
pub struct Worker {
    pub(crate) base: Base,
    pub(crate) index: MemoryIndex,
    pub(crate) vectors: VectorSearch,
    pub(crate) spending: Spending,
    pub(crate) claims: Arc<ClaimCache>,
    pub(crate) traffic: Arc<Traffic>,
    pub(crate) jobs: Arc<Jobs>,
}

impl Worker {
    /// Starts the loops, after it ended the leases of an earlier process.
    pub(crate) fn start(&self, distilling: Distilling, consolidating: Consolidating) {
        let worker = self.clone();
        self.base.tasks.spawn("the start of the jobs", async move {
            if let Err(error) = worker.base.store.orphaned_jobs().await {
                tracing::warn!(%error, "leases of an earlier process could not be ended; they lapse by themselves");
            }
            let tasks = &worker.base.tasks;
            tasks.spawn("embedding", runner::run(embed::Embed::new(), worker.clone()));
            tasks.spawn("relation inference", runner::run(infer::RelationInference::new(), worker.clone()));
            tasks.spawn("insights", runner::run(derive::Derive::new(consolidating), worker.clone()));
            tasks.spawn("distilling", runner::run(distil::Distil::new(distilling), worker.clone()));
        });
    }

    /// See [`Spending::spent_today`].
    ///
    /// # Errors
    /// A failing store.
    pub async fn spent_today(&self) -> Result<Spent, ServiceError> {
        self.spending.spent_today().await
    }

    /// How many jobs keep the daemon from leaving: none while the worker cannot go on.
    pub fn runnable_jobs(&self) -> usize {
        let queue = &self.jobs.embed;
        let state = queue.state();
        let has_news = queue.is_woken() && state == WorkerState::Idle;
        usize::from(state == WorkerState::Working || has_news)
    }

    /// How the worker stands, which gives memories their vectors.
    pub fn report(&self) -> WorkerReport {
        let queue = &self.jobs.embed;
        let state = queue.state();
        queue.record(|record| {
            let mut lags: Vec<Duration> = record.lags.iter().copied().collect();
            let half = pace::percentile(&mut lags, 50);
            WorkerReport {
                state,
                model: record.model.clone(),
                active: self.vectors.held.active(),
                failures: record.failures,
                done: record.done,
                lag: half.zip(pace::percentile(&mut lags, 99)),
            }
        })
    }

    /// Tells the worker to pause, or to go on; it holds over restarts. Comes back when the worker has heard of
    /// it, unless that is in the middle of something long.
    ///
    /// # Errors
    /// A failing store.
    pub async fn pause(&self, paused: bool) -> Result<(), ServiceError> {
        self.base.store.pause_worker(paused).await?;
        let mut states = self.jobs.embed.states();
        self.jobs.poke();
        let heard = states.wait_for(|state| (*state == WorkerState::Paused) == paused);
        // In the middle of something long it pauses after that.
        let _ = tokio::time::timeout(HEAR_MAX, heard).await;
        Ok(())
    }
}
