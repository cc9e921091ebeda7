//! What is derived from memories in the background; and the state, counts and control of all background jobs.
//!
//! [`embed`] makes vectors and draws relations, [`infer`] asks a chat model how memories relate. Past sessions are
//! distilled and insights asked for by the capabilities that they belong to (`distil`, `consolidation`).

mod embed;
mod infer;
mod reindex;
mod relate;

pub(crate) use embed::{Embed, ExchangeBacklog};
pub(crate) use infer::RelationInference;
pub use reindex::Reindexing;

use std::{sync::Arc, time::Duration};

use crate::{
    ServiceError, WorkerState,
    base::Base,
    index::{MemoryIndex, VectorSearch},
    jobs::{Jobs, Runner},
    recall::ClaimCache,
    spending::Account,
};
use cerebro_core::pace::{self, Spent};
use cerebro_store::JobKind;
use embed::Backfill;

/// How long a call to pause waits until the worker has noticed it.
const HEAR_MAX: Duration = Duration::from_secs(2);

/// The state and the counts of the worker.
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
    /// The time from save to vector: the median and the 99th percentile.
    pub lag: Option<(Duration, Duration)>,
}

/// The background work on memories, and the control of all background jobs.
#[derive(Clone)]
pub struct Worker {
    pub(crate) base: Base,
    pub(crate) index: MemoryIndex,
    pub(crate) vectors: VectorSearch,
    pub(crate) claims: Arc<ClaimCache>,
    pub(crate) jobs: Arc<Jobs>,
    backfill: Arc<Backfill>,
    exchanges: Arc<ExchangeBacklog>,
}

impl Worker {
    pub(crate) fn new(
        index: &MemoryIndex,
        vectors: &VectorSearch,
        claims: &Arc<ClaimCache>,
        exchanges: Arc<ExchangeBacklog>,
        runner: &Runner,
    ) -> Self {
        Self {
            base: runner.base.clone(),
            index: index.clone(),
            vectors: vectors.clone(),
            claims: Arc::clone(claims),
            jobs: Arc::clone(&runner.jobs),
            backfill: Arc::new(Backfill::new()),
            exchanges,
        }
    }

    /// Begins to search all memories, and all exchanges, for missing vectors.
    fn fill(&self) {
        self.backfill.begin();
        self.exchanges.begin();
        self.jobs.unblock();
    }

    /// What was spent today with all metered providers.
    pub async fn spent_today(&self) -> Result<Spent, ServiceError> {
        self.base.spending().today(Account::Metered).await
    }

    /// How many jobs keep the daemon from exiting: none while the worker cannot continue.
    pub fn runnable_jobs(&self) -> usize {
        let queue = self.jobs.queue(JobKind::Embed);
        let state = queue.state();
        let has_news = queue.is_woken() && state == WorkerState::Idle;
        usize::from(state == WorkerState::Working || has_news)
    }

    /// The state and the counts of the embedding loop.
    pub fn report(&self) -> WorkerReport {
        let queue = self.jobs.queue(JobKind::Embed);
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

    /// Pauses the worker or ends the pause; this survives restarts. Returns when the worker has noticed, or after a short
    /// while if it is in a long step.
    pub async fn pause(&self, paused: bool) -> Result<(), ServiceError> {
        self.base.store.worker().pause(paused).await?;
        let mut states = self.jobs.queue(JobKind::Embed).states();
        self.jobs.unblock();
        let changed = states.wait_for(|state| (*state == WorkerState::Paused) == paused);
        // In a long step, it pauses after that.
        let _ = tokio::time::timeout(HEAR_MAX, changed).await;
        Ok(())
    }
}
