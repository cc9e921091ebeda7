//! Makes the vectors and the relations of each memory after it was saved.
//!
//! Memories are embedded in small steps on a thread of low priority, so that callers come first. A metered provider gets
//! many memories in one request. The vectors of a memory are committed in the transaction that ends its job.

mod batch;
mod exchanges;

use std::{
    collections::VecDeque,
    num::NonZeroUsize,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use batch::{Batch, Work};
pub(crate) use exchanges::ExchangeBacklog;
use tokio_util::task::AbortOnDropHandle;

use super::Worker;
use crate::{
    ServiceError, WorkerState,
    jobs::runner::{Blocked, Context, HELD_OFF, JobError, JobHandler, LOOK, Leased, Readiness, SPENT, Step},
    lock,
    tasks::BACKGROUND,
};
use cerebro_core::domain::{Memory, MemoryId, Scope};
use cerebro_core::pace::{self, Spent};
use cerebro_core::passage::passages;
use cerebro_core::redact::RedactedText;
use cerebro_models::embed::{Embedded, Embedder, Purpose};
use cerebro_models::provider::ProviderError;
use cerebro_store::{Job, JobKind, ModelState, StoredModel};

/// Most jobs that are taken at once, unless a step has more texts.
const AT_ONCE: usize = 8;
/// Most jobs that are taken at once in any case: their memories are in the process's memory meanwhile.
const AT_ONCE_MAX: usize = 64;
/// Most texts of one step on this machine: the loop gives way to callers before each step.
const STEP: usize = 1;
/// How long the model stays in memory without work, at most.
const REST_AFTER: Duration = Duration::from_secs(60);
/// How many memories are checked for missing vectors at once.
const FILL_PAGE: usize = 500;

/// How far the search for missing vectors came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fill {
    Begin,
    After(MemoryId),
    Done,
}

/// The search for memories that lack vectors, and how far it came.
pub(super) struct Backfill(Mutex<Fill>);

impl Backfill {
    pub(super) fn new() -> Self {
        Self(Mutex::new(Fill::Done))
    }

    /// Begins at the first memory.
    pub(super) fn begin(&self) {
        *lock(&self.0) = Fill::Begin;
    }

    /// Whether the search is not at its end.
    pub(super) fn is_under_way(&self) -> bool {
        *lock(&self.0) != Fill::Done
    }
}

/// The provider of the settings, and the stored model that its vectors belong to.
struct Provider {
    embedder: Arc<dyn Embedder>,
    target: StoredModel,
}

/// The handler of [`JobKind::Embed`].
pub(crate) struct Embed {
    worker: Worker,
    provider: Option<Provider>,
    /// The provider has returned vectors before, so a failure is blamed on the text and not on the model.
    proven: bool,
    /// The moment of the last request.
    asked: Option<Instant>,
}

/// A memory whose vectors are being made.
pub(crate) struct Task {
    memory: Memory,
    work: Work,
}

type Tasks = VecDeque<Leased<Task>>;

fn works(tasks: &Tasks) -> impl Iterator<Item = &Work> {
    tasks.iter().map(|leased| &leased.task.work)
}

fn works_mut(tasks: &mut Tasks) -> impl Iterator<Item = &mut Work> {
    tasks.iter_mut().map(|leased| &mut leased.task.work)
}

/// Most texts of one step. On this machine a step is short, so that nobody waits for it; for a metered provider it is as
/// long as a request may be.
fn step_max(embedder: &dyn Embedder, set: Option<NonZeroUsize>) -> usize {
    match set {
        _ if embedder.is_metered() => embedder.batch_max(),
        None => STEP,
        Some(set) => set.get().min(embedder.batch_max()),
    }
}

/// The loop opens the provider before each round, so this does not happen.
fn not_open() -> JobError {
    JobError::Unusable("the provider is not open".to_owned())
}

impl JobHandler for Embed {
    const KIND: JobKind = JobKind::Embed;
    const NAME: &'static str = "embedding";
    const GIVES_WAY: bool = true;
    type Task = Task;

    async fn open(&mut self, cx: &Context) -> Result<Result<(), Blocked>, ServiceError> {
        if self.provider.is_some() {
            return Ok(Ok(()));
        }
        let worker = &self.worker;
        let blocked = |state| Ok(Err(Blocked::lasting(state, LOOK)));
        let embedder = match (worker.vectors.embedding().open)(None) {
            Ok(Some(embedder)) => embedder,
            Ok(None) => return blocked(WorkerState::Off),
            Err(error) => return blocked(WorkerState::Unusable(error.to_string())),
        };
        let model = embedder.model().clone();
        cx.queue().record(|record| record.model = Some(model.name.clone()));
        let stored = worker.base.store.models().all().await?;
        let is_it = |one: &&StoredModel| one.is(&model.name, model.dimension);
        let active = stored.iter().find(|one| one.state == ModelState::Active);
        let target = match (stored.iter().find(is_it), active) {
            (Some(found), _) => found.clone(),
            (None, Some(active)) => {
                let named = |name: &str, dimension: usize| format!("{name} ({dimension} numbers)");
                return blocked(WorkerState::Disagrees {
                    stored: named(&active.name, active.dimension),
                    configured: named(&model.name, model.dimension),
                });
            }
            (None, None) => {
                let first = StoredModel::new(&model.name, model.dimension, ModelState::Active);
                worker.base.store.models().add(&first).await?;
                worker.backfill.begin();
                first
            }
        };
        if target.state == ModelState::Building && !worker.backfill.is_under_way() {
            // An earlier process began these vectors.
            worker.backfill.begin();
        }
        worker.vectors.look().await?;
        self.provider = Some(Provider { embedder, target });
        self.proven = false;
        Ok(Ok(()))
    }

    async fn readiness(&mut self, cx: &Context) -> Result<Readiness, ServiceError> {
        let Some(Provider { embedder, target }) = &self.provider else { return Ok(Readiness::Again) };
        if fill(&self.worker, cx, target).await? {
            return Ok(Readiness::Again);
        }
        let settings = self.worker.vectors.embedding();
        if embedder.is_metered() && !self.worker.base.spending().fits_budget(settings.budget, 0).await {
            let state = WorkerState::Waiting(SPENT.to_owned());
            return Ok(Readiness::Blocked(Blocked::lasting(state, HELD_OFF)));
        }
        let texts = step_max(embedder.as_ref(), settings.batch);
        Ok(Readiness::Ready { at_once: texts.clamp(AT_ONCE, AT_ONCE_MAX) })
    }

    async fn prepare(&mut self, jobs: &[Job], cx: &Context) -> Result<Vec<Option<Task>>, ServiceError> {
        let words = self.provider.as_ref().map(|provider| provider.embedder.model().passage_words);
        let task = |memory: Memory| Some(Task { work: Work::new(passages(&memory, words?)), memory });
        Ok(cx.live_memories(jobs).await?.into_iter().map(|memory| memory.and_then(task)).collect())
    }

    async fn step(&mut self, tasks: &mut Tasks, cx: &mut Context) -> Result<Step, JobError> {
        let Some(first) = tasks.front() else { return Ok(Step::Void) };
        if !first.task.work.is_done() {
            self.embed(tasks, cx).await?;
            return Ok(Step::More);
        }
        let target = &self.provider.as_ref().ok_or_else(not_open)?.target;
        Ok(if finish(&self.worker, cx, target, first).await? { Step::Done } else { Step::Void })
    }

    async fn drained(&mut self, cx: &Context) -> Result<bool, ServiceError> {
        let Some(Provider { target, .. }) = &self.provider else { return Ok(false) };
        if target.state != ModelState::Building {
            return self.embed_exchange(cx).await;
        }
        switch(&self.worker, target).await?;
        self.provider = None;
        Ok(true)
    }

    /// Unloads models that were not used for some time.
    fn rest(&mut self, _cx: &Context) {
        self.worker.vectors.held.rest();
        if self.asked.is_some_and(|asked| asked.elapsed() >= REST_AFTER)
            && let Some(provider) = &self.provider
        {
            provider.embedder.rest();
            self.asked = None;
        }
    }

    fn reopen(&mut self) {
        self.provider = None;
    }

    /// Only a model in this process can crash the process, each time again. With a remote provider, a job that did not end
    /// was merely under way when the process was ended for another reason.
    fn gives_up_unended(&self) -> bool {
        self.provider.as_ref().is_some_and(|provider| !provider.embedder.is_metered())
    }

    fn blames_job(&self) -> bool {
        self.proven
    }
}

impl Embed {
    pub(crate) fn new(worker: Worker) -> Self {
        Self { worker, provider: None, proven: false, asked: None }
    }

    /// Embeds some of the remaining texts, from the front. A batch that fails is split until the memory that makes it
    /// fail is alone.
    async fn embed(&mut self, tasks: &mut Tasks, cx: &mut Context) -> Result<(), JobError> {
        let Provider { embedder, target } = self.provider.as_ref().ok_or_else(not_open)?;
        let settings = self.worker.vectors.embedding();
        let batch = Batch::of(works(tasks), step_max(embedder.as_ref(), settings.batch));
        let texts = batch.texts(works(tasks));
        let wanted = texts.len();
        if embedder.is_metered() {
            let tokens = texts.iter().map(|text| pace::tokens_of(text)).sum();
            if !self.worker.base.spending().fits_budget(settings.budget, tokens).await {
                return if batch.split(works_mut(tasks)) { Ok(()) } else { Err(JobError::Spent) };
            }
        }
        self.asked = Some(Instant::now());
        let answer = embedded(Arc::clone(embedder), texts).await;
        if embedder.is_metered() {
            let tokens = answer.as_ref().map_or(0, |embedded| embedded.tokens);
            self.worker.base.spending().note_spent(&target.name, Spent { tokens, requests: 1 }).await;
        }
        let embedded = match answer {
            Ok(embedded) => embedded,
            Err(ProviderError::Later { reason, after, .. }) => {
                tracing::debug!(reason, "the provider does not answer now");
                return Err(JobError::Later { reason: "the provider did not answer".to_owned(), after });
            }
            Err(ProviderError::Refused { .. }) if batch.split(works_mut(tasks)) => return Ok(()),
            // A model on this machine can also fail because of a text.
            Err(ProviderError::Unusable(_)) if !embedder.is_metered() && batch.split(works_mut(tasks)) => {
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        let fits = embedded.vectors.len() == wanted
            && embedded.vectors.iter().all(|vector| vector.len() == target.dimension);
        if !fits {
            let words =
                format!("the provider gave {} vectors of another form than asked", embedded.vectors.len());
            return Err(JobError::Unusable(words));
        }
        cx.answered();
        self.proven = true;
        batch.give(works_mut(tasks), embedded.vectors);
        Ok(())
    }
}

/// Embeds passages on a thread of low priority. Dropping the future cancels the work.
async fn embedded(embedder: Arc<dyn Embedder>, texts: Vec<RedactedText>) -> Result<Embedded, ProviderError> {
    let broke_off = || ProviderError::Unusable("embedding broke off; see the daemon's log".to_owned());
    let threads = BACKGROUND.as_ref().ok_or_else(broke_off)?;
    let work = threads.spawn(async move { embedder.embed(Purpose::Passage, texts).await });
    AbortOnDropHandle::new(work).await.unwrap_or_else(|_| Err(broke_off()))
}

/// Checks a page of memories for missing vectors, if the backfill is under way. Returns whether it is.
async fn fill(worker: &Worker, cx: &Context, target: &StoredModel) -> Result<bool, ServiceError> {
    let backfill = &worker.backfill;
    let at = *lock(&backfill.0);
    let after = match at {
        Fill::Done => return Ok(false),
        Fill::Begin => None,
        Fill::After(id) => Some(id),
    };
    cx.set(WorkerState::Working);
    cx.base.traffic.give_way().await;
    let (last, queued) = cx.base.store.jobs().queue_missing(target, after.as_ref(), FILL_PAGE).await?;
    tracing::debug!(queued, "looked through a page of memories for missing vectors");
    *lock(&backfill.0) = last.map_or(Fill::Done, Fill::After);
    Ok(true)
}

/// Writes the relations and vectors of a memory and ends its job. `false` if the job's lease was lost.
async fn finish(
    worker: &Worker,
    cx: &Context,
    target: &StoredModel,
    Leased { job, task: Task { memory, work } }: &Leased<Task>,
) -> Result<bool, ServiceError> {
    let vectors = work.vectors();
    worker.relate(memory, target, vectors).await?;
    worker.want_claims(memory).await?;
    let put = |scope: &Scope| worker.vectors.held.put(target, scope, &memory.id, vectors);
    let done = worker
        .base
        .store
        .jobs()
        .finish_embedding(&cx.owner, job, target, memory.revision, vectors, put)
        .await?;
    if !done {
        tracing::debug!(memory = %memory.id, "a memory changed while it was embedded; its new job is queued");
    }
    Ok(done)
}

/// Makes searches ask the model whose vectors are now complete, and removes the other models.
async fn switch(worker: &Worker, target: &StoredModel) -> Result<(), ServiceError> {
    worker.base.store.models().activate(target).await?;
    worker.vectors.look().await?;
    for old in worker.base.store.models().all().await?.iter().filter(|model| model.name != target.name) {
        worker.base.store.models().drop_with_vectors(old).await?;
    }
    tracing::info!(model = target.name, "searches ask the new model from now on");
    Ok(())
}
