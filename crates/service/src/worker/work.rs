//! Doing leased jobs: cutting, embedding, putting; and what becomes of those that fail.

use std::{
    collections::VecDeque,
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    LAGS_MAX, LEASE, LOOK, Loop, SPENT, STEP, WorkerState,
    batch::{Batch, Work},
    lease_end,
};
use crate::{Service, ServiceError, lock};
use cerebro_core::domain::{Memory, MemoryId, Project, Timestamp};
use cerebro_core::pace::{self, Spent};
use cerebro_core::passage::passages;
use cerebro_models::embed::Embedder;
use cerebro_models::provider::ProviderError;
use cerebro_store::{Job, StoredModel};

/// A leased job under way.
struct Task {
    job: Job,
    memory: Memory,
    work: Work,
}

/// What stops the work on the jobs that were taken.
enum Halt {
    /// The provider does not answer now.
    Later(Option<Duration>),
    /// The model cannot be used.
    Unusable(String),
    /// Today's budget is spent.
    Spent,
}

fn works(tasks: &VecDeque<Task>) -> impl Iterator<Item = &Work> {
    tasks.iter().map(|task| &task.work)
}

fn works_mut(tasks: &mut VecDeque<Task>) -> impl Iterator<Item = &mut Work> {
    tasks.iter_mut().map(|task| &mut task.work)
}

/// Most texts of one step: on this machine it is short, so that nobody waits for it; of a provider that counts
/// requests it is as long as it may be.
pub(super) fn step(embedder: &dyn Embedder, set: usize) -> usize {
    match set {
        _ if embedder.is_metered() => embedder.batch_max(),
        0 => STEP,
        set => set.min(embedder.batch_max()),
    }
}

impl Loop {
    /// Does the jobs, or gives back what it could not do.
    pub(super) async fn work(
        &mut self,
        service: &Service,
        embedder: &Arc<dyn Embedder>,
        target: &StoredModel,
        jobs: Vec<Job>,
    ) -> Result<(), ServiceError> {
        let held = jobs.clone();
        let done = self.work_off(service, embedder, target, jobs).await;
        if done.is_err() {
            // The fault is the store's and not theirs: it is no attempt of them.
            service.store().release_jobs(&self.owner, &held).await?;
        }
        done
    }

    async fn work_off(
        &mut self,
        service: &Service,
        embedder: &Arc<dyn Embedder>,
        target: &StoredModel,
        jobs: Vec<Job>,
    ) -> Result<(), ServiceError> {
        let mut tasks = self.tasks(service, embedder, jobs).await?;
        let mut renewed = Instant::now();
        while !tasks.is_empty() {
            if renewed.elapsed() >= LEASE / 4 {
                service.store().renew_jobs(&self.owner, lease_end()).await?;
                renewed = Instant::now();
            }
            self.give_way(service).await;
            if tasks.front().is_some_and(|task| task.work.is_done()) {
                let Some(task) = tasks.pop_front() else { break };
                self.finish(service, target, task).await?;
                continue;
            }
            if let Err(halt) = self.embed(service, embedder, target, &mut tasks).await {
                let Some(stopped) = tasks.pop_front() else { break };
                let left: Vec<Job> = tasks.into_iter().map(|task| task.job).collect();
                service.store().release_jobs(&self.owner, &left).await?;
                return self.halted(service, stopped.job, halt).await;
            }
        }
        Ok(())
    }

    /// The memories of the jobs, cut into passages. Jobs with nothing to do are ended.
    async fn tasks(
        &self,
        service: &Service,
        embedder: &Arc<dyn Embedder>,
        jobs: Vec<Job>,
    ) -> Result<VecDeque<Task>, ServiceError> {
        let ids: Vec<MemoryId> = jobs.iter().map(|job| job.memory).collect();
        let memories = service.store().memories_by_id(&ids).await?;
        let words = embedder.model().passage_words;
        let mut tasks = VecDeque::new();
        for job in jobs {
            let memory = memories.iter().find(|memory| memory.id == job.memory && memory.is_live());
            let Some(memory) = memory.cloned() else {
                service.store().end_job(&self.owner, &job).await?;
                continue;
            };
            // Only a model of this process can end the process, again and again; elsewhere a job that did not end
            // was in the company of others when the process was ended.
            if job.attempts > pace::ATTEMPTS_MAX && !embedder.is_metered() {
                let reason = format!("given up after {} attempts that did not end", pace::ATTEMPTS_MAX);
                self.failed(service, &job, None, &reason).await?;
                continue;
            }
            tasks.push_back(Task { work: Work::new(passages(&memory, words)), job, memory });
        }
        Ok(tasks)
    }

    /// One step: embeds some of the texts that the tasks still lack, from the front. A batch that cannot be
    /// done as it is, is split; a memory that the provider refuses by itself is given up.
    async fn embed(
        &mut self,
        service: &Service,
        embedder: &Arc<dyn Embedder>,
        target: &StoredModel,
        tasks: &mut VecDeque<Task>,
    ) -> Result<(), Halt> {
        let most = step(embedder.as_ref(), service.0.vectors.embedding.batch);
        let batch = Batch::of(works(tasks), most);
        let texts = batch.texts(works(tasks));
        let wanted = texts.len();
        if embedder.is_metered() {
            let tokens = texts.iter().map(|text| pace::tokens_of(text)).sum();
            if !service.fits_budget(service.0.vectors.embedding.budget, tokens).await {
                return if batch.split(works_mut(tasks)) { Ok(()) } else { Err(Halt::Spent) };
            }
        }
        self.asked = Some(Instant::now());
        let answer = self.thread.embed(Arc::clone(embedder), texts).await;
        if embedder.is_metered() {
            let tokens = answer.as_ref().map_or(0, |embedded| embedded.tokens);
            service.note_spent(&target.name, Spent { tokens, requests: 1 }).await;
        }
        let embedded = match answer {
            Ok(embedded) => embedded,
            Err(ProviderError::Later { reason, after, .. }) => {
                tracing::debug!(reason, "the provider does not answer now");
                return Err(Halt::Later(after));
            }
            Err(ProviderError::Refused { .. }) if batch.split(works_mut(tasks)) => return Ok(()),
            Err(error @ ProviderError::Refused { .. }) => {
                let Some(task) = tasks.pop_front() else { return Ok(()) };
                let failed = self.failed(service, &task.job, None, &error.to_string()).await;
                return failed.map_err(|error| Halt::Unusable(error.to_string()));
            }
            // A model of this machine fails on a text, too.
            Err(ProviderError::Unusable(_)) if !embedder.is_metered() && batch.split(works_mut(tasks)) => {
                return Ok(());
            }
            Err(fault) => return Err(Halt::Unusable(fault.to_string())),
        };
        let fits = embedded.vectors.len() == wanted
            && embedded.vectors.iter().all(|vector| vector.len() == target.dimension);
        if !fits {
            let words =
                format!("the provider gave {} vectors of another form than asked", embedded.vectors.len());
            return Err(Halt::Unusable(words));
        }
        self.breaker.succeed();
        self.proven = true;
        batch.give(works_mut(tasks), embedded.vectors);
        Ok(())
    }

    async fn finish(&self, service: &Service, target: &StoredModel, task: Task) -> Result<(), ServiceError> {
        let Task { job, memory, work } = task;
        let vectors = work.vectors();
        service.relate(&memory, target, vectors).await?;
        service.want_claims(&memory).await?;
        let put = |project: &Project| {
            service.0.vectors.put(target, project, &memory.id, vectors);
        };
        let done =
            service.store().finish_job(&self.owner, &job, target, memory.revision, vectors, put).await?;
        if !done {
            tracing::debug!(memory = %job.memory, "a memory changed while it was embedded; its new job is queued");
            return Ok(());
        }
        let mut told = lock(&service.0.worker.told);
        told.done += 1;
        let lag = job.queued_at.and_then(|at| Duration::try_from(Timestamp::now().duration_since(at)).ok());
        if let Some(lag) = lag {
            if told.lags.len() >= LAGS_MAX {
                told.lags.pop_front();
            }
            told.lags.push_back(lag);
        }
        Ok(())
    }

    /// The provider stopped the work at a job.
    async fn halted(&mut self, service: &Service, job: Job, halt: Halt) -> Result<(), ServiceError> {
        match halt {
            Halt::Later(after) => {
                self.breaker.fail(self.begun.elapsed(), after);
                let again = (job.attempts < pace::ATTEMPTS_MAX)
                    .then(|| Timestamp::now() + pace::backoff(job.attempts, rand::random()));
                self.failed(service, &job, again, "the provider did not answer").await
            }
            Halt::Unusable(reason) if self.proven => {
                let again = (job.attempts < pace::ATTEMPTS_MAX)
                    .then(|| Timestamp::now() + pace::backoff(job.attempts, rand::random()));
                (self.embedder, self.target) = (None, None);
                self.failed(service, &job, again, &reason).await
            }
            Halt::Unusable(reason) => {
                self.block(WorkerState::Unusable(reason), LOOK * 3);
                (self.embedder, self.target) = (None, None);
                Ok(service.store().release_jobs(&self.owner, &[job]).await?)
            }
            Halt::Spent => {
                self.block(WorkerState::Waiting(SPENT.to_owned()), LOOK * 3);
                Ok(service.store().release_jobs(&self.owner, &[job]).await?)
            }
        }
    }

    async fn failed(
        &self,
        service: &Service,
        job: &Job,
        again: Option<Timestamp>,
        reason: &str,
    ) -> Result<(), ServiceError> {
        lock(&service.0.worker.told).failures += 1;
        tracing::debug!(memory = %job.memory, attempts = job.attempts, dead = again.is_none(), "a job failed");
        Ok(service.store().fail_job(&self.owner, job, again, reason).await?)
    }
}
