//! What a language model says of how memories stand to each other: asked by the worker, shown with hits.
//!
//! A claim annotates a hit; it never hides, reorders or deletes one.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use tokio::sync::Notify;

use super::{
    Service, ServiceError, lock,
    worker::{LOOK, lease_end},
};
use cerebro_core::domain::{Memory, MemoryId};
use cerebro_core::pace::{self, Breaker, Budget, Spent};
use cerebro_core::redact::redact_text;
use cerebro_core::relate::{
    RelationKind,
    claim::{self, CANDIDATES_MAX, Claims, INSTRUCTIONS, Misfit},
};
use cerebro_models::llm::{Ask, Llm};
use cerebro_models::provider::ProviderError;
use cerebro_store::{Committed, Job, JobKind, Provenance};

/// How often a model may mend an answer that does not fit.
const REPAIRS_MAX: u64 = 1;
/// How long nothing is asked when nobody can be.
const REST: Duration = Duration::from_secs(60);
/// What a question is taken to cost before it is known.
const TOKENS_GUESSED: u64 = 4_000;
/// Most claims that are kept at hand.
const CLAIMS_MAX: usize = 10_000;
/// Most memories that are named beside a hit.
const NAMED_MAX: usize = 2;

/// What is claimed against one memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Claimed {
    /// Memories that are said to take its place.
    pub superseded_by: Vec<MemoryId>,
    /// Memories that are said to contradict it.
    pub conflicts_with: Vec<MemoryId>,
}

impl Claimed {
    /// What is claimed, by the names under which it is told.
    pub fn told(&self) -> impl Iterator<Item = (&'static str, Vec<&str>)> {
        [("superseded_by", &self.superseded_by), ("conflicts_with", &self.conflicts_with)]
            .into_iter()
            .filter(|(_, ids)| !ids.is_empty())
            .map(|(name, ids)| (name, ids.iter().map(MemoryId::as_str).collect()))
    }
}

/// All claims of a moment.
#[derive(Default)]
struct Book {
    /// By the memory that they are against.
    claimed: BTreeMap<MemoryId, Claimed>,
    /// The memories at either end of a claim, live or not.
    ends: BTreeSet<MemoryId>,
}

/// What was read of the claims.
#[derive(Default)]
struct Held {
    book: Option<Arc<Book>>,
    /// Counts what may have changed the claims, so that a book read meanwhile is not kept.
    changes: u64,
}

impl Held {
    fn forget(&mut self) {
        self.book = None;
        self.changes += 1;
    }
}

/// Who claims what, read from the store when it is first wanted.
#[derive(Default)]
pub(super) struct ClaimBook {
    held: Mutex<Held>,
    /// Why the model could not be used when it was asked last.
    fault: Mutex<Option<String>>,
    /// There is something to ask a model about.
    wanted: Notify,
}

impl ClaimBook {
    /// Forgets what was read: something changed.
    pub(super) fn forget(&self) {
        lock(&self.held).forget();
    }

    /// A memory that goes takes its claims with it, and one that comes back brings them again. Other commits
    /// cost nothing: what a model claims anew is told by [`Self::forget`].
    pub(super) fn follow(&self, committed: &Committed) {
        let mut held = lock(&self.held);
        let is_end = |book: &Arc<Book>| committed.memories.iter().any(|one| book.ends.contains(&one.id));
        // A book that is being read may lack this commit.
        if held.book.as_ref().is_none_or(is_end) {
            held.forget();
        }
    }
}

/// Opens the language model of the settings; cheap.
pub type LlmOpener = Arc<dyn Fn() -> Result<Option<Llm>, ProviderError> + Send + Sync>;

/// Who says how memories stand to each other.
#[derive(Clone)]
pub struct Claiming {
    /// Whether there is a model to ask: cheaper than to open it.
    pub wanted: Arc<dyn Fn() -> bool + Send + Sync>,
    /// Opens the model, if there is one.
    pub open: LlmOpener,
    /// What may be spent in a day if it is paid for.
    pub budget: Budget,
}

impl Claiming {
    /// Nobody.
    pub fn nobody() -> Self {
        Self { wanted: Arc::new(|| false), open: Arc::new(|| Ok(None)), budget: Budget::default() }
    }
}

/// The loop that asks: it takes one job at a time, so that nothing waits for a slow model but itself.
struct Claimer {
    owner: String,
    breaker: Breaker,
    begun: Instant,
}

impl Claimer {
    /// One round; gives how long to wait for the next.
    async fn round(&mut self, service: &Service) -> Result<Duration, ServiceError> {
        let claiming = &service.0.vectors.embedding.claiming;
        let llm = match (claiming.open)() {
            Ok(Some(llm)) => llm,
            Ok(None) => return Ok(REST),
            Err(error) => {
                tracing::warn!(%error, "no language model can be asked");
                return Ok(REST);
            }
        };
        if let Some(wait) = self.breaker.wait(self.begun.elapsed()) {
            return Ok(wait);
        }
        if service.store().worker_is_paused().await? {
            return Ok(LOOK);
        }
        if llm.is_metered() && !service.fits_budget(claiming.budget, TOKENS_GUESSED).await {
            return Ok(REST);
        }
        let jobs = service.store().claim_jobs(&self.owner, JobKind::Claim, 1, lease_end()).await?;
        let Some(job) = jobs.into_iter().next() else { return Ok(LOOK) };
        self.work(service, &llm, &job).await?;
        Ok(Duration::ZERO)
    }

    async fn work(&mut self, service: &Service, llm: &Llm, job: &Job) -> Result<(), ServiceError> {
        let store = service.store();
        let Some(memory) = store.memory(&job.memory).await?.filter(Memory::is_live) else {
            return Ok(store.end_job(&self.owner, job).await?);
        };
        if job.attempts > pace::ATTEMPTS_MAX {
            let reason = format!("given up after {} attempts that did not end", pace::ATTEMPTS_MAX);
            return Ok(store.fail_job(&self.owner, job, None, &reason).await?);
        }
        let mut spent = Spent::default();
        let done = service.relate_by_claims(&memory, llm, &mut spent).await;
        if llm.is_metered() {
            service.note_spent(&llm.name(), spent).await;
        }
        let error = match done {
            Ok(()) => {
                self.breaker.succeed();
                *lock(&service.0.claims.fault) = None;
                return Ok(store.end_job(&self.owner, job).await?);
            }
            Err(ClaimError::Service(error)) => return Err(error),
            Err(ClaimError::Provider(error)) => error,
        };
        tracing::debug!(%error, attempts = job.attempts, "a language model said nothing of use");
        let again = match &error {
            ProviderError::Later { after, .. } => {
                self.breaker.fail(self.begun.elapsed(), *after);
                let wait = pace::backoff(job.attempts, rand::random());
                (job.attempts < pace::ATTEMPTS_MAX).then(|| store.now() + wait)
            }
            ProviderError::Refused { .. } => None,
            // A person has to change something first.
            fault => {
                *lock(&service.0.claims.fault) = Some(fault.to_string());
                self.breaker.fail(self.begun.elapsed(), Some(REST));
                return Ok(store.release_jobs(&self.owner, std::slice::from_ref(job)).await?);
            }
        };
        Ok(store.fail_job(&self.owner, job, again, &error.to_string()).await?)
    }
}

impl Service {
    /// Starts the loop that asks a language model.
    pub(super) fn start_claims(&self) {
        let (service, stop) = (self.clone(), self.0.worker.stopping());
        tokio::spawn(async move {
            let owner = format!("{}/{}", service.store().writer(), cerebro_core::domain::SessionId::random());
            let mut claimer = Claimer { owner, breaker: Breaker::default(), begun: Instant::now() };
            loop {
                let round = tokio::select! {
                    round = claimer.round(&service) => round,
                    () = stop.cancelled() => break,
                };
                let wait = round.unwrap_or_else(|error| {
                    tracing::warn!(%error, "the store did not take what a language model said");
                    REST
                });
                tokio::select! {
                    () = tokio::time::sleep(wait) => {}
                    () = service.0.claims.wanted.notified() => {}
                    () = stop.cancelled() => break,
                }
            }
        });
    }

    /// The language model that says how memories stand to each other, if there is one.
    ///
    /// # Errors
    /// Why the one of the settings cannot be used, in words for a person.
    pub fn claimant(&self) -> Result<Option<String>, String> {
        let llm = (self.0.vectors.embedding.claiming.open)().map_err(|error| error.to_string())?;
        match (llm, lock(&self.0.claims.fault).clone()) {
            (Some(_), Some(fault)) => Err(fault),
            (llm, _) => Ok(llm.map(|llm| llm.name())),
        }
    }

    /// Queues a memory for the language model, if there is one.
    ///
    /// # Errors
    /// A failing store.
    pub(super) async fn want_claims(&self, memory: &Memory) -> Result<(), ServiceError> {
        if (self.0.vectors.embedding.claiming.wanted)() {
            self.store().queue_claim(&memory.id, memory.revision).await?;
            self.0.claims.wanted.notify_one();
        }
        Ok(())
    }

    /// Asks a model how a memory stands to the ones that are near to it, and keeps what fits.
    ///
    /// # Errors
    /// The provider's, or a failing store. An answer that does not fit, also when it was mended, is a
    /// refusal.
    async fn relate_by_claims(
        &self,
        memory: &Memory,
        llm: &Llm,
        spent: &mut Spent,
    ) -> Result<(), ClaimError> {
        let candidates = self.claim_candidates(memory).await?;
        let schema = claim::schema(candidates.len());
        let mut turns = vec![claim::question(memory, &candidates)];
        loop {
            let ask = Ask { instructions: INSTRUCTIONS, turns: turns.clone(), schema: &schema };
            spent.requests += 1;
            let told = llm.ask(&ask).await?;
            spent.tokens += told.tokens;
            match read(&told.text, memory, &candidates) {
                Ok(claims) => {
                    return Ok(self.keep(memory, llm, &claims).await?);
                }
                Err(misfit) if spent.requests > REPAIRS_MAX => {
                    let reason = misfit.to_string();
                    return Err(ProviderError::Refused { provider: llm.name(), reason }.into());
                }
                Err(misfit) => {
                    let again =
                        format!("{misfit}. Answer once more, with JSON of that schema and nothing else.");
                    turns.extend([&told.text, &again].map(|turn| redact_text(turn).kept));
                }
            }
        }
    }

    async fn keep(&self, memory: &Memory, llm: &Llm, claims: &Claims) -> Result<(), ServiceError> {
        let model = llm.name();
        let by = Provenance { method: "llm", model: Some(&model) };
        if self.store().put_relations(&memory.id, memory.revision, by, &claims.relations).await? {
            self.store().put_entities(&memory.id, &model, &claims.entities).await?;
        }
        self.0.claims.forget();
        Ok(())
    }

    /// The memories that a model is shown beside one: those it is related to already, the strongest first.
    async fn claim_candidates(&self, memory: &Memory) -> Result<Vec<Memory>, ServiceError> {
        let relations = self.store().relations(std::slice::from_ref(&memory.id), CANDIDATES_MAX * 4).await?;
        let mut ids: Vec<MemoryId> = Vec::new();
        for relation in relations {
            let other = if relation.from == memory.id { relation.to } else { relation.from };
            if !ids.contains(&other) {
                ids.push(other);
            }
        }
        ids.truncate(CANDIDATES_MAX);
        let mut found = self.store().memories_by_id(&ids).await?;
        found.retain(Memory::is_live);
        found.sort_by_key(|memory| ids.iter().position(|id| *id == memory.id));
        Ok(found)
    }

    /// What is claimed against each of some memories, as far as anything is.
    ///
    /// # Errors
    /// A failing store.
    pub async fn claimed(&self, ids: &[MemoryId]) -> Result<BTreeMap<MemoryId, Claimed>, ServiceError> {
        let book = self.claim_book().await?;
        Ok(ids.iter().filter_map(|id| Some((*id, book.claimed.get(id)?.clone()))).collect())
    }

    async fn claim_book(&self) -> Result<Arc<Book>, ServiceError> {
        let changes = {
            let held = lock(&self.0.claims.held);
            if let Some(book) = &held.book {
                return Ok(Arc::clone(book));
            }
            held.changes
        };
        let claims = self.store().claims(CLAIMS_MAX).await?;
        let ends: BTreeSet<MemoryId> = claims.iter().flat_map(|claim| [claim.from, claim.to]).collect();
        let live = self.store().memories_by_id(&ends.iter().copied().collect::<Vec<_>>()).await?;
        let live: BTreeSet<MemoryId> =
            live.into_iter().filter(Memory::is_live).map(|memory| memory.id).collect();
        let mut book = Book { ends, ..Book::default() };
        for claim in claims.iter().filter(|claim| live.contains(&claim.from) && live.contains(&claim.to)) {
            let (from, to) = (claim.from, claim.to);
            if claim.kind == RelationKind::Supersedes.as_str() {
                note(&mut book.claimed.entry(to).or_default().superseded_by, &claim.from);
            } else {
                note(&mut book.claimed.entry(to).or_default().conflicts_with, &claim.from);
                note(&mut book.claimed.entry(from).or_default().conflicts_with, &claim.to);
            }
        }
        let book = Arc::new(book);
        let mut held = lock(&self.0.claims.held);
        if held.changes == changes {
            held.book = Some(Arc::clone(&book));
        }
        Ok(book)
    }
}

fn note(ids: &mut Vec<MemoryId>, id: &MemoryId) {
    if ids.len() < NAMED_MAX && !ids.contains(id) {
        ids.push(*id);
    }
}

/// Reads an answer's text; some models put their JSON between fences.
fn read(text: &str, memory: &Memory, candidates: &[Memory]) -> Result<Claims, Misfit> {
    let begin = text.find('{').unwrap_or(0);
    let end = text.rfind('}').map_or(text.len(), |at| at + 1);
    let json = text.get(begin..end).unwrap_or(text);
    let answer = serde_json::from_str(json).map_err(|error| Misfit(format!("it is not JSON: {error}")))?;
    claim::read(&answer, memory, candidates)
}

/// Why nothing was claimed.
#[derive(Debug, thiserror::Error)]
pub(super) enum ClaimError {
    /// The model's provider.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// The store or index.
    #[error(transparent)]
    Service(#[from] ServiceError),
}
