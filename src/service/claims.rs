//! What a language model says of how memories stand to each other: asked by the worker, shown with hits.
//!
//! A claim annotates a hit; it never hides, reorders or deletes one.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use super::{Service, ServiceError, lock};
use crate::{
    domain::{Memory, MemoryId},
    embed::EmbedError,
    llm::{Ask, Llm},
    relate::{
        RelationKind,
        claim::{self, CANDIDATES_MAX, Claims, INSTRUCTIONS, Misfit},
    },
    store::{Committed, Provenance},
};

/// How often a model may mend an answer that does not fit.
const REPAIRS_MAX: usize = 1;
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

/// Who claims what, read from the store when it is first wanted.
#[derive(Default)]
pub(super) struct ClaimBook(Mutex<Option<Arc<BTreeMap<MemoryId, Claimed>>>>);

impl ClaimBook {
    /// Forgets what was read: something changed.
    pub(super) fn forget(&self) {
        lock(&self.0).take();
    }

    /// A memory that went takes its claims with it.
    pub(super) fn follow(&self, committed: &Committed) {
        if committed.memories.iter().any(|memory| !memory.is_live() || memory.version > 1) {
            self.forget();
        }
    }
}

/// What asking cost, and whether anything came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Asked {
    pub(super) requests: u64,
    pub(super) tokens: u64,
}

impl Service {
    /// Asks a model how a memory stands to the ones that are near to it, and keeps what fits.
    ///
    /// # Errors
    /// The provider's, or a failing store. An answer that does not fit, also when it was mended, is a
    /// refusal.
    pub(super) async fn relate_by_claims(&self, memory: &Memory, llm: &Llm) -> Result<Asked, ClaimError> {
        let candidates = self.claim_candidates(memory).await?;
        let schema = claim::schema(candidates.len());
        let mut turns = vec![claim::question(memory, &candidates)];
        let mut asked = Asked::default();
        loop {
            let ask = Ask { instructions: INSTRUCTIONS, turns: turns.clone(), schema: &schema };
            let told = llm.ask(&ask).await?;
            asked.requests += 1;
            asked.tokens += told.tokens;
            match read(&told.text, memory, &candidates) {
                Ok(claims) => {
                    self.keep(memory, llm, &claims).await?;
                    return Ok(asked);
                }
                Err(misfit) if asked.requests > REPAIRS_MAX as u64 => {
                    let reason = misfit.to_string();
                    return Err(EmbedError::Refused { provider: llm.name(), reason }.into());
                }
                Err(misfit) => {
                    turns.push(told.text);
                    turns.push(format!("{misfit}. Answer once more, with JSON of that schema and nothing else."));
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
        Ok(ids.iter().filter_map(|id| Some((id.clone(), book.get(id)?.clone()))).collect())
    }

    async fn claim_book(&self) -> Result<Arc<BTreeMap<MemoryId, Claimed>>, ServiceError> {
        if let Some(book) = lock(&self.0.claims.0).clone() {
            return Ok(book);
        }
        let claims = self.store().claims(CLAIMS_MAX).await?;
        let mut ends: Vec<MemoryId> = claims.iter().map(|claim| claim.from.clone()).collect();
        ends.sort();
        ends.dedup();
        let live = self.store().memories_by_id(&ends).await?;
        let is_live = |id: &MemoryId| live.iter().any(|memory| memory.id == *id && memory.is_live());
        let mut book: BTreeMap<MemoryId, Claimed> = BTreeMap::new();
        for claim in claims.iter().filter(|claim| is_live(&claim.from)) {
            if claim.kind == RelationKind::Supersedes.as_str() {
                note(&mut book.entry(claim.to.clone()).or_default().superseded_by, &claim.from);
            } else {
                note(&mut book.entry(claim.to.clone()).or_default().conflicts_with, &claim.from);
                note(&mut book.entry(claim.from.clone()).or_default().conflicts_with, &claim.to);
            }
        }
        let book = Arc::new(book);
        *lock(&self.0.claims.0) = Some(Arc::clone(&book));
        Ok(book)
    }
}

fn note(ids: &mut Vec<MemoryId>, id: &MemoryId) {
    if ids.len() < NAMED_MAX && !ids.contains(id) {
        ids.push(id.clone());
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
    Provider(#[from] EmbedError),
    /// The store or index.
    #[error(transparent)]
    Service(#[from] ServiceError),
}
