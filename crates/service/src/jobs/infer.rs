//! Asks a language model how memories stand to each other. What it claims is shown with hits
//! (`recall::claims`).

use std::{collections::VecDeque, sync::Arc};

use super::{
    WorkerState,
    asking::{self, Payer, Question},
    runner::{Blocked, Context, HELD_OFF, JobError, JobHandler, Leased, Readiness, SPENT, Step},
};
use crate::{ServiceError, Worker};
use cerebro_core::domain::{Memory, MemoryId};
use cerebro_core::pace::Budget;
use cerebro_core::relate::claim::{self, CANDIDATES_MAX, Claims, INSTRUCTIONS};
use cerebro_models::llm::Llm;
use cerebro_models::provider::ProviderError;
use cerebro_store::{Job, JobKind, Provenance};

/// What a question is taken to cost before it is known.
const TOKENS_GUESSED: u64 = 4_000;

/// Opens the language model of the settings; cheap.
pub type LlmOpener = Arc<dyn Fn() -> Result<Option<Llm>, ProviderError> + Send + Sync>;

/// Who says how memories stand to each other.
#[derive(Clone)]
pub struct InferenceSettings {
    /// Whether there is a model to ask: cheaper than to open it.
    pub wanted: Arc<dyn Fn() -> bool + Send + Sync>,
    /// Opens the model, if there is one.
    pub open: LlmOpener,
    /// What may be spent in a day if it is paid for.
    pub budget: Budget,
}

impl InferenceSettings {
    /// Nobody.
    pub fn nobody() -> Self {
        Self { wanted: Arc::new(|| false), open: Arc::new(|| Ok(None)), budget: Budget::default() }
    }
}

/// The handler of [`JobKind::InferRelations`]. It takes one job at a time, so that nothing waits for a slow
/// model but itself.
pub(super) struct RelationInference {
    /// Opened for each look, because the settings may have changed.
    llm: Option<Llm>,
}

impl RelationInference {
    pub(super) fn new() -> Self {
        Self { llm: None }
    }
}

/// Not now, and not before there is news of work.
fn blocked(state: WorkerState) -> Blocked {
    Blocked { state, wait: HELD_OFF, until_woken: true }
}

/// The model of the settings, for all that ask it about memories.
pub(super) fn open(cx: &Context) -> Result<Llm, Blocked> {
    match (cx.worker.vectors.embedding().inference.open)() {
        Ok(Some(llm)) => Ok(llm),
        Ok(None) => Err(blocked(WorkerState::Off)),
        Err(error) => Err(blocked(WorkerState::Unusable(error.to_string()))),
    }
}

/// Whether one more question may be paid for.
pub(super) async fn paid_for(cx: &Context, llm: Option<&Llm>) -> Result<Readiness, ServiceError> {
    let budget = cx.worker.vectors.embedding().inference.budget;
    let metered = llm.is_some_and(Llm::is_metered);
    if metered && !cx.worker.spending.fits_budget(budget, TOKENS_GUESSED).await {
        return Ok(Readiness::Blocked(blocked(WorkerState::Waiting(SPENT.to_owned()))));
    }
    Ok(Readiness::Ready { at_once: 1 })
}

impl JobHandler for RelationInference {
    const KIND: JobKind = JobKind::InferRelations;
    type Task = Memory;

    async fn open(&mut self, cx: &Context) -> Result<Result<(), Blocked>, ServiceError> {
        let opened = open(cx);
        Ok(opened.map(|llm| self.llm = Some(llm)))
    }

    async fn readiness(&mut self, cx: &Context) -> Result<Readiness, ServiceError> {
        paid_for(cx, self.llm.as_ref()).await
    }

    async fn prepare(&mut self, jobs: &[Job], cx: &Context) -> Result<Vec<Option<Memory>>, ServiceError> {
        let ids: Vec<MemoryId> = jobs.iter().filter_map(|job| job.subject.memory().copied()).collect();
        let memories = cx.worker.base.store.memories_by_id(&ids).await?;
        let of = |job: &Job| {
            let memory = memories.iter().find(|memory| Some(&memory.id) == job.subject.memory());
            memory.filter(|memory| memory.is_live()).cloned()
        };
        Ok(jobs.iter().map(of).collect())
    }

    async fn step(
        &mut self,
        leased: &mut VecDeque<Leased<Memory>>,
        cx: &mut Context,
    ) -> Result<Step, JobError> {
        let (Some(Leased { job, task: memory }), Some(llm)) = (leased.front(), &self.llm) else {
            return Ok(Step::Void);
        };
        cx.worker.infer_relations(memory, llm).await?;
        cx.answered();
        cx.end(job).await?;
        Ok(Step::Done)
    }
}

impl Worker {
    /// The language model that says how memories stand to each other, if there is one.
    ///
    /// # Errors
    /// Why the one of the settings cannot be used, in words for a person.
    pub fn inference_model(&self) -> Result<Option<String>, String> {
        let llm = (self.vectors.embedding().inference.open)().map_err(|error| error.to_string())?;
        match (llm, self.jobs.infer.record(|record| record.fault.clone())) {
            (Some(_), Some(fault)) => Err(fault),
            (llm, _) => Ok(llm.map(|llm| llm.name())),
        }
    }

    /// Queues a memory for the language model, if there is one.
    ///
    /// # Errors
    /// A failing store.
    pub(super) async fn want_claims(&self, memory: &Memory) -> Result<(), ServiceError> {
        if (self.vectors.embedding().inference.wanted)() {
            let kind = JobKind::InferRelations;
            self.base.store.queue_job(kind, &memory.id.into(), memory.revision, None).await?;
            self.jobs.infer.wake();
        }
        Ok(())
    }

    /// Asks a model how a memory stands to the ones that are near to it, and keeps what fits.
    ///
    /// # Errors
    /// The provider's, or a failing store. An answer that does not fit, also when it was mended, is a
    /// refusal.
    async fn infer_relations(&self, memory: &Memory, llm: &Llm) -> Result<(), JobError> {
        let candidates = self.claim_candidates(memory).await?;
        let schema = claim::schema(candidates.len());
        let text = claim::question(memory, &candidates);
        let question = Question { instructions: INSTRUCTIONS, text, schema: &schema };
        let payer = Payer::of_relations(&self.spending, llm);
        let read = |answer: &serde_json::Value| claim::read(answer, memory, &candidates);
        let claims = asking::ask(llm, question, &payer, read).await?;
        Ok(self.keep(memory, llm, &claims).await?)
    }

    async fn keep(&self, memory: &Memory, llm: &Llm, claims: &Claims) -> Result<(), ServiceError> {
        let model = llm.name();
        let by = Provenance { method: "llm", model: Some(&model) };
        if self.base.store.put_relations(&memory.id, memory.revision, by, &claims.relations).await? {
            self.base.store.put_entities(&memory.id, &model, &claims.entities).await?;
        }
        self.claims.forget();
        Ok(())
    }

    /// The memories that a model is shown beside one: those it is related to already, the strongest first.
    async fn claim_candidates(&self, memory: &Memory) -> Result<Vec<Memory>, ServiceError> {
        let relations =
            self.base.store.relations(std::slice::from_ref(&memory.id), CANDIDATES_MAX * 4).await?;
        let mut ids: Vec<MemoryId> = Vec::new();
        for relation in relations {
            let other = if relation.from == memory.id { relation.to } else { relation.from };
            if !ids.contains(&other) {
                ids.push(other);
            }
        }
        ids.truncate(CANDIDATES_MAX);
        let mut found = self.base.store.memories_by_id(&ids).await?;
        found.retain(Memory::is_live);
        found.sort_by_key(|memory| ids.iter().position(|id| *id == memory.id));
        Ok(found)
    }
}
