//! The one loop over a kind of job: leases, renewal, attempts, pauses, the breaker, waiting and stopping.
//!
//! A [`JobHandler`] does the work of one kind; the capability that the work belongs to has it. The loop decides what
//! becomes of a job that fails.

use std::{
    collections::VecDeque,
    future::Future,
    panic::AssertUnwindSafe,
    sync::Arc,
    time::{Duration, Instant},
};

use futures::FutureExt as _;
use tokio::time::{Interval, MissedTickBehavior};

use super::{Jobs, WorkerState, queue::Queue};
use crate::{ServiceError, base::Base};
use cerebro_core::domain::{Memory, MemoryId, Timestamp};
use cerebro_core::pace::{self, Breaker};
use cerebro_models::provider::ProviderError;
use cerebro_store::{Job, JobKind, StoreError};

/// How long a lease lasts; it is renewed well before, while a step is under way too.
const LEASE: Duration = Duration::from_secs(120);
/// How often a loop looks without being woken: for work of other processes, or a newly installed model.
pub(crate) const LOOK: Duration = Duration::from_secs(20);
/// How long a blocked loop waits before it looks again, if nobody changes anything: a wrong key, a spent budget.
pub(crate) const HELD_OFF: Duration = Duration::from_secs(60);
/// How long a loop waits after a fault of the store; during a step, the first waits are shorter and double.
const FAULT_WAIT: Duration = Duration::from_secs(5);
const FAULT_WAIT_MIN: Duration = Duration::from_millis(50);
/// How often in a row a step is repeated after a fault of the store: half a minute, well within a lease.
const FAULTS_MAX: u32 = 10;
/// The shortest wait for a job that is due soon.
const WAIT_MIN: Duration = Duration::from_millis(10);

/// The state's detail while the day's budget is spent.
pub(crate) const SPENT: &str = "today's budget is spent; it goes on at midnight UTC";

/// How one kind of job is done.
pub(crate) trait JobHandler: Send + 'static {
    const KIND: JobKind;
    /// The name of the loop's task.
    const NAME: &'static str;
    /// Whether callers come first: the loop gives way to them before it takes jobs and before each step.
    const GIVES_WAY: bool = false;
    /// What a handler has read to do one job, and what its provider has answered until that is stored: a step that the store
    /// failed is repeated, and must not ask again.
    type Task: Send;

    /// Opens the provider, unless it is open.
    fn open(
        &mut self,
        cx: &Context,
    ) -> impl Future<Output = Result<Result<(), Blocked>, ServiceError>> + Send;

    /// Whether jobs may be taken now.
    fn readiness(&mut self, cx: &Context) -> impl Future<Output = Result<Readiness, ServiceError>> + Send;

    /// Reads the subject of each job. `None` if there is nothing to do; the job is then ended.
    fn prepare(
        &mut self,
        jobs: &[Job],
        cx: &Context,
    ) -> impl Future<Output = Result<Vec<Option<Self::Task>>, ServiceError>> + Send;

    /// Does a part of the work, from the front, for the first job or for several together. It must end the first job in the
    /// store before it returns [`Step::Done`]. An error is about the first job.
    fn step(
        &mut self,
        leased: &mut VecDeque<Leased<Self::Task>>,
        cx: &mut Context,
    ) -> impl Future<Output = Result<Step, JobError>> + Send;

    /// Called when no job of this kind waits or is leased. Returns whether the loop should look again at once.
    fn drained(&mut self, _cx: &Context) -> impl Future<Output = Result<bool, ServiceError>> + Send {
        std::future::ready(Ok(false))
    }

    /// Called when there is nothing to do for now, to free resources that have been idle for long enough.
    fn rest(&mut self, _cx: &Context) {}

    /// Called when a person changed something or the provider failed: the next [`Self::open`] opens it again.
    fn reopen(&mut self) {}

    /// Whether to give up a job that was begun too often and never ended.
    fn gives_up_unended(&self) -> bool {
        true
    }

    /// Whether to blame the job if the provider cannot be used, because other jobs could use it.
    fn blames_job(&self) -> bool {
        false
    }
}

/// A leased job, and what its handler has read for it.
pub(crate) struct Leased<T> {
    pub(crate) job: Job,
    pub(crate) task: T,
}

/// Whether jobs may be taken.
pub(crate) enum Readiness {
    /// Jobs may be taken, at most so many at once.
    Ready {
        /// How many.
        at_once: usize,
    },
    /// Something else was done instead; the loop looks again at once.
    Again,
    /// No jobs may be taken.
    Blocked(Blocked),
}

/// Why a loop takes no jobs for a while, unless a person changes something.
pub(crate) struct Blocked {
    pub(crate) state: WorkerState,
    pub(crate) wait: Duration,
    /// New work ends the wait, too.
    pub(crate) until_woken: bool,
}

impl Blocked {
    /// For a time that only a person can end early.
    pub(crate) fn lasting(state: WorkerState, wait: Duration) -> Self {
        Self { state, wait, until_woken: false }
    }

    /// For a time that new work also ends.
    pub(crate) fn until_woken(state: WorkerState) -> Self {
        Self { state, wait: HELD_OFF, until_woken: true }
    }
}

/// The result of a step.
pub(crate) enum Step {
    /// There is more to do for the first job.
    More,
    /// The first job is done.
    Done,
    /// The first job's lease was lost, because its subject changed or is gone.
    Void,
}

/// Why a job was not done.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JobError {
    /// The provider does not answer now: the job is tried again.
    #[error("{reason}")]
    Later {
        /// The reason, as it is stored with the job.
        reason: String,
        /// The wait that was asked for.
        after: Option<Duration>,
    },
    /// The provider cannot be used.
    #[error("{0}")]
    Unusable(String),
    /// This job can never be done: it becomes a dead letter, and the other jobs continue.
    #[error("{0}")]
    Refused(String),
    /// Today's budget is spent.
    #[error("today's budget is spent")]
    Spent,
    /// The handler panicked. The panic's message is in the daemon's log only, because it may quote a text.
    #[error("an internal error; the daemon's log has more")]
    BrokeOff,
    /// The store failed. That does not count as an attempt.
    #[error(transparent)]
    Store(ServiceError),
}

impl From<ServiceError> for JobError {
    fn from(error: ServiceError) -> Self {
        match error {
            // It is refused each time. Its value is left out, because it may be a text.
            ServiceError::Invalid { field, problem, .. } => Self::Refused(format!("{field}: {problem}")),
            error => Self::Store(error),
        }
    }
}

impl From<StoreError> for JobError {
    fn from(error: StoreError) -> Self {
        Self::Store(error.into())
    }
}

impl From<ProviderError> for JobError {
    fn from(error: ProviderError) -> Self {
        let reason = error.to_string();
        match error {
            ProviderError::Later { after, .. } => Self::Later { reason, after },
            ProviderError::Refused { .. } => Self::Refused(reason),
            _ => Self::Unusable(reason),
        }
    }
}

/// What all loops have in common, and what starts them.
#[derive(Clone)]
pub(crate) struct Runner {
    pub(crate) base: Base,
    pub(crate) jobs: Arc<Jobs>,
}

impl Runner {
    /// Ends the leases of an earlier process, before the loops start.
    pub(crate) async fn end_old_leases(&self) {
        if let Err(error) = self.base.store.jobs().requeue_orphaned().await {
            tracing::warn!(%error, "leases of an earlier process could not be ended; they lapse by themselves");
        }
    }

    /// Starts the loop of a kind of job.
    pub(crate) fn start<H: JobHandler>(&self, handler: H) {
        self.base.tasks.spawn(H::NAME, run(handler, self.clone()));
    }
}

/// What a handler works with: the store, the lease holder and the breaker.
pub(crate) struct Context {
    pub(crate) base: Base,
    jobs: Arc<Jobs>,
    /// The holder of the leases.
    pub(crate) owner: String,
    kind: JobKind,
    breaker: Breaker,
    /// The moment from which the breaker counts time.
    begun: Instant,
    /// Since when jobs could be done; `None` while there is no model.
    usable_since: Option<Timestamp>,
}

impl Context {
    fn new(runner: Runner, kind: JobKind) -> Self {
        let Runner { base, jobs } = runner;
        let owner = format!("{}/{}", base.store.writer(), cerebro_core::domain::SessionId::random());
        let (breaker, begun) = (Breaker::default(), Instant::now());
        Self { base, jobs, owner, kind, breaker, begun, usable_since: None }
    }

    pub(crate) fn queue(&self) -> &Queue {
        self.jobs.queue(self.kind)
    }

    pub(crate) fn set(&self, state: WorkerState) {
        self.queue().set(self.kind.as_str(), state);
    }

    /// The live memory that each job is about, if there is one.
    pub(crate) async fn live_memories(&self, jobs: &[Job]) -> Result<Vec<Option<Memory>>, ServiceError> {
        let ids: Vec<MemoryId> = jobs.iter().filter_map(|job| job.subject.memory().copied()).collect();
        let mut memories = self.base.store.memories().map_of(&ids).await?;
        let of_job = |job: &Job| memories.remove(job.subject.memory()?).filter(Memory::is_live);
        Ok(jobs.iter().map(of_job).collect())
    }

    /// Notes a useful answer of the provider.
    pub(crate) fn answered(&mut self) {
        self.breaker.succeed();
        self.queue().record(|record| (record.fault, record.failure) = (None, None));
    }

    /// Ends a job.
    pub(crate) async fn end(&self, job: &Job) -> Result<(), ServiceError> {
        Ok(self.base.store.jobs().end(&self.owner, job).await?)
    }

    fn lease_end(&self) -> Timestamp {
        self.base.now() + LEASE
    }

    /// Counts a job that was done. Its lag begins when it could be done: if a model is installed a day after a save,
    /// that day does not count.
    fn count(&self, job: &Job) {
        let due = job.queued_at.map(|at| self.usable_since.map_or(at, |since| since.max(at)));
        let lag = due.and_then(|at| Duration::try_from(self.base.now().duration_since(at)).ok());
        self.queue().record(|record| record.count_done(lag));
    }

    async fn failed(&self, job: &Job, again: Option<Timestamp>, reason: &str) -> Result<(), ServiceError> {
        self.queue().record(|record| {
            record.failures += 1;
            record.failure = Some(reason.to_owned());
        });
        let (kind, dead) = (self.kind.as_str(), again.is_none());
        tracing::debug!(kind, subject = %job.subject, attempts = job.attempts, dead, reason, "a job failed");
        Ok(self.base.store.jobs().fail(&self.owner, job, again, reason).await?)
    }

    /// Records a failed attempt. The job is tried again after a backoff, or becomes a dead letter after the last attempt.
    async fn failed_for_now(&self, job: &Job, reason: &str) -> Result<(), ServiceError> {
        let again = (job.attempts < pace::ATTEMPTS_MAX)
            .then(|| self.base.now() + pace::backoff(job.attempts, rand::random()));
        self.failed(job, again, reason).await
    }

    /// Gives back the jobs that this loop still holds. They were not at fault, so this does not count as an attempt.
    async fn release(&self) -> Result<(), ServiceError> {
        Ok(self.base.store.jobs().release(&self.owner).await?)
    }

    /// Notes a fault of the store, or of the loop itself, which goes on soon.
    fn store_failed(&self, error: &ServiceError) {
        tracing::warn!(kind = self.kind.as_str(), %error, "the worker met a fault");
        self.set(WorkerState::Waiting("the store or the worker failed; see the daemon's log".to_owned()));
    }
}

struct Loop<H: JobHandler> {
    handler: H,
    cx: Context,
    /// No jobs are taken before this moment.
    blocked: Option<(Instant, Blocked)>,
    /// The store failed, so this loop may hold jobs that it does not know of: the answer to a lease may be lost.
    is_in_doubt: bool,
}

/// Does the jobs of a kind until the store closes.
async fn run<H: JobHandler>(handler: H, runner: Runner) {
    let stop = runner.base.tasks.stopping();
    let mut work = Loop { handler, cx: Context::new(runner, H::KIND), blocked: None, is_in_doubt: false };
    loop {
        // A panic must not end the loop, which does all jobs of this kind.
        let round = AssertUnwindSafe(work.round()).catch_unwind();
        let Some(next) = stop.run_until_cancelled(round).await else { return };
        let wait = next.unwrap_or(Err(ServiceError::BrokeOff { work: H::NAME })).unwrap_or_else(|error| {
            work.cx.store_failed(&error);
            work.is_in_doubt = true;
            FAULT_WAIT
        });
        if !wait.is_zero() {
            stop.run_until_cancelled(tokio::time::timeout(wait, work.cx.queue().woken())).await;
        }
    }
}

impl<H: JobHandler> Loop<H> {
    /// Looks at the queue once, takes jobs and does them. Returns how long to wait before the next round, unless the loop is
    /// woken.
    async fn round(&mut self) -> Result<Duration, ServiceError> {
        if self.is_in_doubt {
            self.cx.release().await?;
            self.is_in_doubt = false;
        }
        let wakes = self.cx.queue().take_wakes();
        if wakes.unblocked {
            self.blocked = None;
            self.handler.reopen();
            // What was changed may be the provider, too.
            self.cx.breaker = Breaker::default();
        }
        // While the loop is blocked, a save must not cause a look at the queue.
        if let Some((until, blocked)) = self.blocked.take() {
            let left = until.saturating_duration_since(Instant::now());
            let is_over = left.is_zero() || (wakes.woken && blocked.until_woken);
            if !is_over {
                self.cx.set(blocked.state.clone());
                self.handler.rest(&self.cx);
                self.blocked = Some((until, blocked));
                return Ok(left);
            }
        }
        if self.cx.base.store.worker().paused().await? {
            return Ok(self.block(Blocked::lasting(WorkerState::Paused, LOOK)));
        }
        if let Err(blocked) = self.handler.open(&self.cx).await? {
            return Ok(self.block(blocked));
        }
        if let Some(wait) = self.cx.breaker.wait(self.cx.begun.elapsed()) {
            let words = "the provider failed; it is asked again soon".to_owned();
            self.cx.set(WorkerState::Waiting(words));
            return Ok(wait);
        }
        let at_once = match self.handler.readiness(&self.cx).await? {
            Readiness::Ready { at_once } => at_once,
            Readiness::Again => return Ok(Duration::ZERO),
            Readiness::Blocked(blocked) => return Ok(self.block(blocked)),
        };
        self.cx.usable_since.get_or_insert_with(|| self.cx.base.now());
        if H::GIVES_WAY {
            self.cx.base.traffic.give_way().await;
        }
        let limit = if self.cx.breaker.is_trying() { 1 } else { at_once };
        let store = &self.cx.base.store;
        let jobs = store.jobs().lease(&self.cx.owner, H::KIND, limit, self.cx.lease_end()).await?;
        if jobs.is_empty() {
            return self.nothing_to_do().await;
        }
        self.cx.set(WorkerState::Working);
        self.work(jobs).await?;
        Ok(Duration::ZERO)
    }

    /// The next round sets the state.
    fn block(&mut self, blocked: Blocked) -> Duration {
        if blocked.state == WorkerState::Off {
            self.cx.usable_since = None;
        }
        self.blocked = Some((Instant::now() + blocked.wait, blocked));
        Duration::ZERO
    }

    async fn nothing_to_do(&mut self) -> Result<Duration, ServiceError> {
        // Only jobs of this kind: others may wait for long, or for ever.
        let (leased, next) = self.cx.base.store.jobs().ahead(H::KIND).await?;
        if !leased && next.is_none() && self.handler.drained(&self.cx).await? {
            return Ok(Duration::ZERO);
        }
        self.cx.set(WorkerState::Idle);
        self.handler.rest(&self.cx);
        let now = self.cx.base.now();
        let wait =
            next.map_or(LOOK, |next| Duration::try_from(next.duration_since(now)).unwrap_or(Duration::ZERO));
        Ok(wait.clamp(WAIT_MIN, LOOK))
    }

    /// Does the jobs.
    async fn work(&mut self, jobs: Vec<Job>) -> Result<(), ServiceError> {
        let mut leased = self.prepare(jobs).await?;
        let mut renewal = tokio::time::interval_at(tokio::time::Instant::now() + LEASE / 4, LEASE / 4);
        renewal.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut faults = 0;
        while !leased.is_empty() {
            if H::GIVES_WAY {
                self.cx.base.traffic.give_way().await;
            }
            let step = self.step(&mut leased, &mut renewal).await;
            if faults < FAULTS_MAX
                && let Err(JobError::Store(error)) = &step
            {
                faults += 1;
                self.cx.store_failed(error);
                tokio::time::sleep(pace::doubled(FAULT_WAIT_MIN, faults, FAULT_WAIT)).await;
                self.cx.set(WorkerState::Working);
                continue;
            }
            faults = 0;
            if matches!(step, Ok(Step::More)) {
                continue;
            }
            let Some(Leased { job, .. }) = leased.pop_front() else { break };
            if !self.goes_on(&job, step).await? {
                return self.cx.release().await;
            }
        }
        Ok(())
    }

    /// Reads the subjects of the jobs. Ends jobs with nothing to do, and gives up jobs that were begun too often.
    async fn prepare(&mut self, jobs: Vec<Job>) -> Result<VecDeque<Leased<H::Task>>, ServiceError> {
        let prepared = AssertUnwindSafe(self.handler.prepare(&jobs, &self.cx)).catch_unwind().await;
        let mut leased = VecDeque::new();
        let Ok(tasks) = prepared else {
            // Nothing says which of them it was. They come back at different moments, so that one fails alone.
            for job in &jobs {
                self.cx.failed_for_now(job, &JobError::BrokeOff.to_string()).await?;
            }
            return Ok(leased);
        };
        for (job, task) in jobs.into_iter().zip(tasks?) {
            let Some(task) = task else {
                self.cx.end(&job).await?;
                continue;
            };
            if job.attempts > pace::ATTEMPTS_MAX && self.handler.gives_up_unended() {
                let reason = format!("given up after {} attempts that did not end", pace::ATTEMPTS_MAX);
                self.cx.failed(&job, None, &reason).await?;
                continue;
            }
            leased.push_back(Leased { job, task });
        }
        Ok(leased)
    }

    /// One step of the handler. The leases are renewed meanwhile.
    async fn step(
        &mut self,
        leased: &mut VecDeque<Leased<H::Task>>,
        renewal: &mut Interval,
    ) -> Result<Step, JobError> {
        let (base, owner) = (self.cx.base.clone(), self.cx.owner.clone());
        let held: Vec<Job> = leased.iter().map(|leased| leased.job.clone()).collect();
        let renewing = async {
            loop {
                renewal.tick().await;
                // A provider may be answering, so the step is not cut off. Whoever takes a lapsed job over has a newer token.
                if let Err(error) = base.store.jobs().renew(&owner, &held, base.now() + LEASE).await {
                    tracing::warn!(%error, "leases could not be renewed");
                }
            }
        };
        tokio::select! {
            biased;
            step = AssertUnwindSafe(self.handler.step(leased, &mut self.cx)).catch_unwind() => {
                step.unwrap_or(Err(JobError::BrokeOff))
            }
            never = renewing => never,
        }
    }

    /// Handles the end of a job. Returns whether the others of its batch can be done.
    async fn goes_on(&mut self, job: &Job, ended: Result<Step, JobError>) -> Result<bool, ServiceError> {
        let stop = match ended {
            Ok(Step::More | Step::Void) => return Ok(true),
            Ok(Step::Done) => {
                self.cx.count(job);
                return Ok(true);
            }
            Err(stop) => stop,
        };
        match stop {
            JobError::Store(error) => return Err(error),
            JobError::Refused(reason) => {
                self.cx.failed(job, None, &reason).await?;
                return Ok(true);
            }
            JobError::Later { reason, after } => {
                self.cx.breaker.fail(self.cx.begun.elapsed(), after);
                self.cx.failed_for_now(job, &reason).await?;
            }
            JobError::Unusable(reason) => {
                let blames_job = self.handler.blames_job();
                self.handler.reopen();
                if blames_job {
                    self.cx.failed_for_now(job, &reason).await?;
                } else {
                    self.cx.queue().record(|record| record.fault = Some(reason.clone()));
                    self.block(Blocked::lasting(WorkerState::Unusable(reason), HELD_OFF));
                }
            }
            JobError::Spent => {
                self.block(Blocked::lasting(WorkerState::Waiting(SPENT.to_owned()), HELD_OFF));
            }
            JobError::BrokeOff => {
                self.handler.reopen();
                self.cx.failed_for_now(job, &JobError::BrokeOff.to_string()).await?;
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests;
