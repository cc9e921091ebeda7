//! The worker: gives each memory its vectors after it was saved.
//!
//! The queue is in the store; a channel only wakes the worker. It takes a few jobs at a time, embeds in small
//! steps on a thread of low priority, gives way to callers before each step, and puts the vectors of a memory
//! in the transaction that ends its job. A provider that counts requests is asked for many memories at once.
//! What it decides is in [`cerebro_core::pace`].

mod batch;
mod thread;
mod work;

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use thread::Thread;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{Service, ServiceError, lock};
use cerebro_core::domain::{MemoryId, Timestamp};
use cerebro_core::pace::{self, Breaker};
use cerebro_models::embed::Embedder;
use cerebro_store::{JobKind, ModelState, StoredModel};

/// Most jobs that are taken at once, unless a step has more texts.
const CLAIM: usize = 8;
/// Most jobs that are taken at once in any case: their memories are held meanwhile.
const CLAIM_MAX: usize = 64;
/// Most texts of one step on this machine: it looks for callers before each.
const STEP: usize = 1;
/// How long a lease lasts; it is renewed well before.
const LEASE: Duration = Duration::from_secs(120);
/// How often the worker looks by itself: for work of other processes, or a model that was installed.
pub(super) const LOOK: Duration = Duration::from_secs(20);
/// How long a fault of the store keeps it from trying again.
const FAULT_WAIT: Duration = Duration::from_secs(5);
/// How long its own model stays in memory without work, at most.
const REST_AFTER: Duration = Duration::from_secs(60);
/// How long a pause waits until the worker has heard of it.
const HEAR_MAX: Duration = Duration::from_secs(2);
/// How many memories of a page are looked through for missing vectors.
const FILL_PAGE: usize = 500;
/// Samples of the lag that are kept.
const LAGS_MAX: usize = 1_000;

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

/// How far all memories are looked through for missing vectors.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Fill {
    Begin,
    After(MemoryId),
    Done,
}

/// What the loop tells to the outside.
#[derive(Debug)]
struct Told {
    state: WorkerState,
    model: Option<String>,
    failures: u64,
    done: u64,
    lags: VecDeque<Duration>,
    /// How far all memories are looked through for missing vectors.
    fill: Fill,
    /// There may be work that nobody has looked at yet.
    woken: bool,
    /// A person did something that may let it go on.
    poked: bool,
}

/// The handle of the worker.
pub(super) struct Worker {
    wake: mpsc::Sender<()>,
    woken: Mutex<Option<mpsc::Receiver<()>>>,
    told: Mutex<Told>,
    stop: CancellationToken,
    ended: CancellationToken,
}

impl Worker {
    pub(super) fn new() -> Self {
        let (wake, woken) = mpsc::channel(1);
        let told = Told {
            state: WorkerState::Off,
            model: None,
            failures: 0,
            done: 0,
            lags: VecDeque::new(),
            fill: Fill::Done,
            woken: false,
            poked: false,
        };
        Self {
            wake,
            woken: Mutex::new(Some(woken)),
            told: Mutex::new(told),
            stop: CancellationToken::new(),
            ended: CancellationToken::new(),
        }
    }

    /// Says that there may be work. A full channel says it already.
    pub(super) fn wake(&self) {
        lock(&self.told).woken = true;
        let _ = self.wake.try_send(());
    }

    /// Says that a person did something that may let it go on.
    pub(super) fn poke(&self) {
        lock(&self.told).poked = true;
        self.wake();
    }

    /// Looks through all memories for missing vectors.
    pub(super) fn fill(&self) {
        lock(&self.told).fill = Fill::Begin;
        self.poke();
    }

    /// Whether all memories were looked through.
    pub(super) fn is_filling(&self) -> bool {
        lock(&self.told).fill != Fill::Done
    }

    /// Cancelled when the daemon closes.
    pub(super) fn stopping(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// Ends the loop and waits for it.
    pub(super) async fn stop(&self) {
        self.stop.cancel();
        if lock(&self.woken).is_none() {
            let _ = tokio::time::timeout(Duration::from_secs(5), self.ended.cancelled()).await;
        }
    }

    fn set(&self, state: WorkerState) {
        let mut told = lock(&self.told);
        if told.state != state {
            match &state {
                WorkerState::Unusable(why) | WorkerState::Waiting(why) => {
                    tracing::warn!(state = state.name(), why, "worker");
                }
                _ => tracing::debug!(state = state.name(), "worker"),
            }
            told.state = state;
        }
    }
}

/// When the worker looks again.
enum Next {
    /// At once.
    Now,
    /// After a while, or when it is woken.
    In(Duration),
}

/// The provider of the settings and where its vectors go, or why there is none.
type Provided = Result<(Arc<dyn Embedder>, StoredModel), WorkerState>;

/// What the loop keeps for itself.
struct Loop {
    owner: String,
    thread: Thread,
    embedder: Option<Arc<dyn Embedder>>,
    target: Option<StoredModel>,
    breaker: Breaker,
    begun: Instant,
    /// The embedder has given vectors, so that a failure is the text's rather than the model's.
    proven: bool,
    /// When the embedder was asked last.
    asked: Option<Instant>,
    /// The worker cannot go on before this moment, and why, unless a person did something about it.
    blocked: Option<(Instant, WorkerState)>,
}

impl Service {
    /// Starts the worker's loop.
    pub(super) fn start_worker(&self) {
        let Some(mut woken) = lock(&self.0.worker.woken).take() else { return };
        let service = self.clone();
        let (stop, ended) = (self.0.worker.stop.clone(), self.0.worker.ended.clone());
        tokio::spawn(async move {
            let mut work = Loop::new(service.store().writer());
            if let Err(error) = service.store().orphaned_jobs().await {
                tracing::warn!(%error, "leases of an earlier process could not be ended; they lapse by themselves");
            }
            while !stop.is_cancelled() {
                let next = tokio::select! {
                    next = work.round(&service) => next,
                    () = stop.cancelled() => break,
                };
                let next = next.unwrap_or_else(|error| {
                    tracing::warn!(%error, "the worker met a fault of the store");
                    service
                        .0
                        .worker
                        .set(WorkerState::Waiting("the store failed; see the daemon's log".to_owned()));
                    Next::In(FAULT_WAIT)
                });
                let Next::In(wait) = next else { continue };
                tokio::select! {
                    _ = woken.recv() => {}
                    () = tokio::time::sleep(wait) => {}
                    () = stop.cancelled() => break,
                }
            }
            drop(work);
            drop(service);
            ended.cancel();
        });
    }

    /// How many jobs keep the daemon from leaving: none while the worker cannot go on.
    pub fn runnable_jobs(&self) -> usize {
        let told = lock(&self.0.worker.told);
        usize::from(told.state == WorkerState::Working || (told.woken && told.state == WorkerState::Idle))
    }

    /// How the worker stands.
    pub fn worker_report(&self) -> WorkerReport {
        let told = lock(&self.0.worker.told);
        let mut lags: Vec<Duration> = told.lags.iter().copied().collect();
        let half = pace::percentile(&mut lags, 50);
        WorkerReport {
            state: told.state.clone(),
            model: told.model.clone(),
            active: self.0.vectors.active(),
            failures: told.failures,
            done: told.done,
            lag: half.zip(pace::percentile(&mut lags, 99)),
        }
    }

    /// Tells the worker to pause, or to go on; it holds over restarts. Comes back when the worker has heard of
    /// it, unless that is in the middle of something long.
    ///
    /// # Errors
    /// A failing store.
    pub async fn pause_worker(&self, paused: bool) -> Result<(), ServiceError> {
        self.store().pause_worker(paused).await?;
        self.0.worker.poke();
        let begun = Instant::now();
        let has_heard = || (lock(&self.0.worker.told).state == WorkerState::Paused) == paused;
        while !has_heard() && begun.elapsed() < HEAR_MAX {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(())
    }
}

impl Loop {
    fn new(writer: &str) -> Self {
        Self {
            owner: format!("{writer}/{}", cerebro_core::domain::SessionId::random()),
            thread: Thread::start(),
            embedder: None,
            target: None,
            breaker: Breaker::default(),
            begun: Instant::now(),
            proven: false,
            asked: None,
            blocked: None,
        }
    }

    /// One look at the queue, and at most [`CLAIM_MAX`] jobs.
    async fn round(&mut self, service: &Service) -> Result<Next, ServiceError> {
        let worker = &service.0.worker;
        let poked = {
            let mut told = lock(&worker.told);
            told.woken = false;
            std::mem::take(&mut told.poked)
        };
        // While it cannot go on, saves must not cost a look each.
        if poked {
            self.blocked = None;
            self.target = None;
        }
        if let Some((until, state)) = self.blocked.take() {
            let left = until.saturating_duration_since(Instant::now());
            if !left.is_zero() {
                worker.set(state.clone());
                self.rest(service);
                self.blocked = Some((until, state));
                return Ok(Next::In(left));
            }
        }
        let provider = if service.store().worker_is_paused().await? {
            Err(WorkerState::Paused)
        } else {
            self.provider(service).await?
        };
        let (embedder, target) = match provider {
            Ok(provider) => provider,
            Err(state) => {
                self.block(state, LOOK);
                return Ok(Next::Now);
            }
        };
        if let Some(wait) = self.breaker.wait(self.begun.elapsed()) {
            worker
                .set(WorkerState::Waiting("the provider does not answer; it is asked again soon".to_owned()));
            return Ok(Next::In(wait));
        }
        if let Some(next) = self.fill(service, &target).await? {
            return Ok(next);
        }
        if embedder.is_metered() && !service.fits_budget(service.0.vectors.embedding.budget, 0).await {
            self.block(WorkerState::Waiting(SPENT.to_owned()), LOOK * 3);
            return Ok(Next::Now);
        }
        self.give_way(service).await;
        let step = work::step(embedder.as_ref(), service.0.vectors.embedding.batch);
        let claim = if self.breaker.is_trying() { 1 } else { step.clamp(CLAIM, CLAIM_MAX) };
        let jobs = service.store().claim_jobs(&self.owner, JobKind::Embed, claim, lease_end()).await?;
        if jobs.is_empty() {
            return self.nothing_to_do(service, &target).await;
        }
        worker.set(WorkerState::Working);
        self.work(service, &embedder, &target, jobs).await?;
        Ok(Next::Now)
    }

    /// The provider of the settings and where its vectors go, or why there is none.
    async fn provider(&mut self, service: &Service) -> Result<Provided, ServiceError> {
        if let (Some(embedder), Some(target)) = (&self.embedder, &self.target) {
            return Ok(Ok((Arc::clone(embedder), target.clone())));
        }
        self.target = None;
        let embedder = match (service.0.vectors.embedding.open)(None) {
            Ok(Some(embedder)) => embedder,
            Ok(None) => return Ok(Err(WorkerState::Off)),
            Err(error) => return Ok(Err(WorkerState::Unusable(error.to_string()))),
        };
        let model = embedder.model().clone();
        lock(&service.0.worker.told).model = Some(model.name.clone());
        let stored = service.store().models().await?;
        let is_it = |one: &&StoredModel| one.name == model.name && one.dimension == model.dimension;
        let target = match (stored.iter().find(is_it), stored.iter().find(|m| m.state == ModelState::Active))
        {
            (Some(found), _) => found.clone(),
            (None, Some(active)) => {
                let named = |name: &str, dimension: usize| format!("{name} ({dimension} numbers)");
                return Ok(Err(WorkerState::Disagrees {
                    stored: named(&active.name, active.dimension),
                    configured: named(&model.name, model.dimension),
                }));
            }
            (None, None) => {
                let first = StoredModel::new(&model.name, model.dimension, ModelState::Active);
                service.store().add_model(&first).await?;
                service.0.worker.fill();
                first
            }
        };
        if target.state == ModelState::Building && !service.0.worker.is_filling() {
            // What an earlier process began.
            service.0.worker.fill();
        }
        service.look().await?;
        (self.embedder, self.target) = (Some(Arc::clone(&embedder)), Some(target.clone()));
        self.proven = false;
        Ok(Ok((embedder, target)))
    }

    /// Looks through a page of memories for missing vectors, if that was asked for.
    async fn fill(&mut self, service: &Service, target: &StoredModel) -> Result<Option<Next>, ServiceError> {
        let after = match lock(&service.0.worker.told).fill.clone() {
            Fill::Done => return Ok(None),
            Fill::Begin => None,
            Fill::After(id) => Some(id),
        };
        service.0.worker.set(WorkerState::Working);
        self.give_way(service).await;
        let (last, queued) = service.store().queue_missing(target, after.as_ref(), FILL_PAGE).await?;
        tracing::debug!(queued, "looked through a page of memories for missing vectors");
        lock(&service.0.worker.told).fill = last.map_or(Fill::Done, Fill::After);
        Ok(Some(Next::Now))
    }

    async fn nothing_to_do(&mut self, service: &Service, target: &StoredModel) -> Result<Next, ServiceError> {
        // Of its own kind: those of the language model may wait for long, or for ever.
        let (leased, next) = service.store().jobs_ahead(JobKind::Embed).await?;
        if !leased && next.is_none() && target.state == ModelState::Building {
            self.switch(service, target).await?;
            return Ok(Next::Now);
        }
        service.0.worker.set(WorkerState::Idle);
        self.rest(service);
        let wait = next.map_or(LOOK, |next| {
            Duration::try_from(next.duration_since(Timestamp::now())).unwrap_or(Duration::ZERO)
        });
        Ok(Next::In(wait.clamp(Duration::from_millis(10), LOOK)))
    }

    /// Lets searches ask the model whose vectors are complete now, and takes the others away.
    async fn switch(&mut self, service: &Service, target: &StoredModel) -> Result<(), ServiceError> {
        service.store().activate_model(target).await?;
        service.look().await?;
        for old in service.store().models().await?.iter().filter(|model| model.name != target.name) {
            service.store().drop_model(old).await?;
        }
        tracing::info!(model = target.name, "searches ask the new model from now on");
        self.target = None;
        Ok(())
    }

    /// Lets models that were not used for some time give their memory back.
    fn rest(&mut self, service: &Service) {
        service.0.vectors.rest();
        if self.asked.is_some_and(|asked| asked.elapsed() >= REST_AFTER)
            && let Some(embedder) = &self.embedder
        {
            embedder.rest();
            self.asked = None;
        }
    }

    fn block(&mut self, state: WorkerState, wait: Duration) {
        self.blocked = Some((Instant::now() + wait, state));
    }

    async fn give_way(&self, service: &Service) {
        let begun = Instant::now();
        while let Some(wait) = pace::give_way(service.0.traffic.quiet(), begun.elapsed()) {
            tokio::time::sleep(wait).await;
        }
    }
}

const SPENT: &str = "today's budget is spent; it goes on at midnight UTC";

pub(super) fn lease_end() -> Timestamp {
    Timestamp::now() + LEASE
}
