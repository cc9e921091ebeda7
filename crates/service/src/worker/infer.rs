//! Asks a chat model how memories relate. Its claims are shown with hits (`recall::claims`).

use std::collections::VecDeque;

use super::Worker;
use crate::{
    ServiceError,
    jobs::{
        asking::{self, Payer, Question},
        runner::{Blocked, Context, JobError, JobHandler, Leased, Readiness, Step},
    },
};
use cerebro_core::domain::{Memory, MemoryId};
use cerebro_core::relate::claim::{self, CANDIDATES_MAX, Claims, INSTRUCTIONS};
use cerebro_models::llm::Llm;
use cerebro_store::{Job, JobKind, Provenance};

/// The handler of [`JobKind::InferRelations`]. It takes one job at a time, so that a slow model delays nothing but these
/// jobs.
pub(crate) struct RelationInference {
    worker: Worker,
    /// Opened for each look, because the settings may have changed.
    llm: Option<Llm>,
}

impl RelationInference {
    pub(crate) fn new(worker: Worker) -> Self {
        Self { worker, llm: None }
    }
}

/// A memory, and the claims that the model made about it, until they are stored.
pub(crate) struct Task {
    memory: Memory,
    claims: Option<Claims>,
}

impl JobHandler for RelationInference {
    const KIND: JobKind = JobKind::InferRelations;
    const NAME: &'static str = "relation inference";
    type Task = Task;

    async fn open(&mut self, _cx: &Context) -> Result<Result<(), Blocked>, ServiceError> {
        let opened = asking::open(&self.worker.vectors.embedding().inference);
        Ok(opened.map(|llm| self.llm = Some(llm.knowing(self.llm.as_ref()))))
    }

    async fn readiness(&mut self, _cx: &Context) -> Result<Readiness, ServiceError> {
        let Some(llm) = &self.llm else { return Ok(Readiness::Again) };
        self.worker.payer(llm).readiness().await
    }

    async fn prepare(&mut self, jobs: &[Job], cx: &Context) -> Result<Vec<Option<Task>>, ServiceError> {
        let task = |memory| Task { memory, claims: None };
        Ok(cx.live_memories(jobs).await?.into_iter().map(|memory| memory.map(task)).collect())
    }

    async fn step(
        &mut self,
        leased: &mut VecDeque<Leased<Task>>,
        cx: &mut Context,
    ) -> Result<Step, JobError> {
        let (Some(Leased { job, task }), Some(llm)) = (leased.front_mut(), &self.llm) else {
            return Ok(Step::Void);
        };
        let Some(claims) = &task.claims else {
            task.claims = Some(self.worker.ask_for_claims(&task.memory, llm).await?);
            cx.answered();
            return Ok(Step::More);
        };
        self.worker.keep(&task.memory, llm, claims).await?;
        cx.end(job).await?;
        Ok(Step::Done)
    }
}

impl Worker {
    /// The name of the chat model that is asked how memories relate, if there is one.
    ///
    /// # Errors
    /// The reason why the model of the settings cannot be used, in words for a person.
    pub fn inference_model(&self) -> Result<Option<String>, String> {
        let llm = (self.vectors.embedding().inference.open)().map_err(|error| error.to_string())?;
        match (llm, self.jobs.queue(JobKind::InferRelations).record(|record| record.fault.clone())) {
            (Some(_), Some(fault)) => Err(fault),
            (llm, _) => Ok(llm.map(|llm| llm.name())),
        }
    }

    /// Queues the job for a memory, if there is a chat model.
    pub(super) async fn want_claims(&self, memory: &Memory) -> Result<(), ServiceError> {
        if (self.vectors.embedding().inference.wanted)() {
            let kind = JobKind::InferRelations;
            self.base.store.jobs().queue(kind, &memory.id.into(), memory.revision, None).await?;
            self.jobs.queue(kind).wake();
        }
        Ok(())
    }

    fn payer(&self, llm: &Llm) -> Payer<'_> {
        Payer::of_relations(self.base.spending(), llm, self.vectors.embedding().inference.budget)
    }

    /// Asks a model how a memory relates to similar ones. Returns the claims that pass the check.
    ///
    /// # Errors
    /// The provider's, or a failing store. An answer that does not fit the schema, even after its correction, is a
    /// refusal.
    async fn ask_for_claims(&self, memory: &Memory, llm: &Llm) -> Result<Claims, JobError> {
        let candidates = self.claim_candidates(memory).await?;
        let schema = claim::schema(candidates.len());
        let text = claim::question(memory, &candidates);
        let question = Question { instructions: INSTRUCTIONS, text, schema: &schema };
        let read = |answer: &serde_json::Value| claim::read(answer, memory, &candidates);
        asking::ask(llm, question, &self.payer(llm), read).await
    }

    async fn keep(&self, memory: &Memory, llm: &Llm, claims: &Claims) -> Result<(), ServiceError> {
        let model = llm.name();
        let by = Provenance { method: "llm", model: Some(&model) };
        if self.base.store.relations().put(&memory.id, memory.revision, by, &claims.relations).await? {
            self.base.store.entities().put(&memory.id, &model, &claims.entities).await?;
        }
        self.claims.forget();
        Ok(())
    }

    /// The memories that a model is shown together with one: those that are related to it, the strongest relation first.
    async fn claim_candidates(&self, memory: &Memory) -> Result<Vec<Memory>, ServiceError> {
        let relations =
            self.base.store.relations().of(std::slice::from_ref(&memory.id), CANDIDATES_MAX * 4).await?;
        let mut ids: Vec<MemoryId> = Vec::new();
        for relation in relations {
            let other = if relation.from == memory.id { relation.to } else { relation.from };
            if !ids.contains(&other) {
                ids.push(other);
            }
        }
        ids.truncate(CANDIDATES_MAX);
        let mut found = self.base.store.memories().in_order(&ids).await?;
        found.retain(Memory::is_live);
        Ok(found)
    }
}
