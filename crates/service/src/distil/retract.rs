//! Removing candidates, and memories made of them, when the exchanges that they rest on are gone or say something else.

use std::collections::BTreeSet;

use crate::{
    ServiceError,
    memories::{handbook, update},
};
use cerebro_core::distil::has_quote;
use cerebro_core::domain::{
    Candidate, CandidateState, Citation, ExchangeId, FullExchange, Memory, MemoryId, PastSession,
};
use cerebro_store::Write;

/// What became of exchanges of a session.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Lost<'a> {
    /// These are gone.
    pub gone: &'a [ExchangeId],
    /// These are stored anew, some with another text. A citation holds as long as its quote occurs there: an exchange that
    /// goes on keeps what it had.
    pub replaced: &'a [FullExchange],
}

impl Lost<'_> {
    /// Whether a citation has lost what it quotes.
    fn takes(&self, citation: &Citation) -> bool {
        let says_other =
            |full: &FullExchange| full.exchange.id == citation.exchange && !has_quote(full, &citation.quote);
        self.gone.contains(&citation.exchange) || self.replaced.iter().any(says_other)
    }
}

/// Why exchanges are lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    /// A rewritten transcript no longer has them. Memories are deleted, and a person can restore them.
    Missing,
    /// A person had them forgotten. Memories are purged, with their revisions and the handbooks that say what they say.
    Forgotten,
}

/// What became of memories.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Retracted {
    /// How many candidates lost evidence.
    pub candidates: usize,
    /// Memories that were purged.
    pub purged: Vec<MemoryId>,
    /// Memories that stay although their evidence is forgotten, because somebody has revised them, and handbooks that somebody
    /// has rewritten.
    pub kept: Vec<MemoryId>,
}

/// Removes the citations that are lost from the candidates of a session, and from the memories that were made of these. A
/// candidate without other evidence is removed, and so is one whose text contains forgotten text (as `tells` decides). The
/// memory that was made of it goes with it, unless somebody revised it since or another candidate still supports it. A memory
/// whose own text contains forgotten text goes whatever else supports it.
pub(crate) async fn retract(
    write: &mut Write<'_>,
    session: &PastSession,
    lost: Lost<'_>,
    why: Why,
    tells: impl Fn(&str) -> bool,
) -> Result<Retracted, ServiceError> {
    let candidates = write.store().candidates().of_session(&session.id).await?;
    let telling = match why {
        Why::Missing => BTreeSet::new(),
        Why::Forgotten => telling(write, &candidates, &tells).await?,
    };
    let left: Vec<Left> = candidates
        .into_iter()
        .map(|mut candidate| {
            let is_told =
                candidate.any_text(&tells) || candidate.memory.is_some_and(|(id, _)| telling.contains(&id));
            let is_lost = |citation: &Citation| is_told || lost.takes(citation);
            let (gone, kept) = candidate.evidence.into_iter().partition(is_lost);
            candidate.evidence = kept;
            (candidate, gone)
        })
        .collect();
    let taken = Taken { gone: lost.gone, uncited: uncited(&left), telling };
    if why == Why::Missing {
        taken.uncite(write, session).await?;
    }
    // One whose text was purged cites nothing. It stays as long as its session, so that it is not proposed again.
    let is_over = session.exchanges == 0;
    let mut retracted = Retracted::default();
    for (candidate, gone) in &left {
        if gone.is_empty() && !(is_over && candidate.evidence.is_empty()) {
            continue;
        }
        write.retract_candidate(candidate, session);
        retracted.candidates += 1;
        if candidate.evidence.is_empty() {
            let is_other = |other: &&Left| other.0.id != candidate.id;
            let carries = |other: &Left| other.0.memory == candidate.memory && !other.0.evidence.is_empty();
            if !left.iter().filter(is_other).any(carries) {
                taken.forget_memory(write, candidate, why, &mut retracted).await?;
            }
        }
    }
    Ok(retracted)
}

/// A candidate with the evidence that is left, and the citations that it lost.
type Left = (Candidate, Vec<Citation>);

/// The citations by memories that no candidate of the session supports any more.
fn uncited(left: &[Left]) -> BTreeSet<(MemoryId, ExchangeId)> {
    let by_memory = |candidate: &Candidate, citations: &[Citation]| -> Vec<(MemoryId, ExchangeId)> {
        let memory = candidate.memory.map(|(memory, _)| memory);
        memory.into_iter().flat_map(|id| citations.iter().map(move |one| (id, one.exchange))).collect()
    };
    let supported: BTreeSet<(MemoryId, ExchangeId)> =
        left.iter().flat_map(|(candidate, _)| by_memory(candidate, &candidate.evidence)).collect();
    let lost = left.iter().flat_map(|(candidate, gone)| by_memory(candidate, gone));
    lost.filter(|citation| !supported.contains(citation)).collect()
}

/// The memories made of these candidates whose text, as it was made, contains forgotten text.
async fn telling(
    write: &Write<'_>,
    candidates: &[Candidate],
    tells: impl Fn(&str) -> bool,
) -> Result<BTreeSet<MemoryId>, ServiceError> {
    let made: Vec<(MemoryId, u32)> = candidates.iter().filter_map(|candidate| candidate.memory).collect();
    let ids: Vec<MemoryId> = made.iter().map(|(id, _)| *id).collect();
    let memories = write.store().memories().by_ids(&ids).await?;
    let is_telling = |memory: &&Memory| {
        made.contains(&(memory.id, memory.revision)) && (tells(&memory.title) || tells(&memory.content))
    };
    Ok(memories.iter().filter(is_telling).map(|memory| memory.id).collect())
}

/// What is taken from memories that were made of candidates.
struct Taken<'a> {
    /// Exchanges that are gone.
    gone: &'a [ExchangeId],
    /// Citations of exchanges that are gone, or that say something else.
    uncited: BTreeSet<(MemoryId, ExchangeId)>,
    /// Memories that nothing keeps.
    telling: BTreeSet<MemoryId>,
}

impl Taken<'_> {
    /// Takes the citations from their memories. Those of exchanges that are gone go with these.
    async fn uncite(&self, write: &mut Write<'_>, session: &PastSession) -> Result<(), ServiceError> {
        for (id, exchange) in self.uncited.iter().filter(|(_, exchange)| !self.gone.contains(exchange)) {
            if let Some(memory) = write.memory(id).await?.filter(|memory| !memory.purged) {
                write.uncite(&memory, *exchange, &session.id);
            }
        }
        Ok(())
    }

    /// Whether a memory cites something else.
    async fn leaves_evidence(&self, write: &Write<'_>, memory: &MemoryId) -> Result<bool, ServiceError> {
        let cited = write.store().citations().of_memory(memory).await?;
        let stays = |exchange: &ExchangeId| {
            !self.gone.contains(exchange) && !self.uncited.contains(&(*memory, *exchange))
        };
        Ok(cited.iter().any(stays))
    }

    /// Deletes or purges the memory that was made of a candidate without remaining evidence.
    async fn forget_memory(
        &self,
        write: &mut Write<'_>,
        candidate: &Candidate,
        why: Why,
        retracted: &mut Retracted,
    ) -> Result<(), ServiceError> {
        let Some((id, revision)) = candidate.memory.filter(|_| candidate.state == CandidateState::Accepted)
        else {
            return Ok(());
        };
        let Some(mut memory) = write.memory(&id).await? else { return Ok(()) };
        let carriers = write.store().candidates().of_memory(&id).await?;
        let elsewhere =
            carriers.iter().any(|other| other.session != candidate.session && !other.evidence.is_empty());
        if memory.purged || elsewhere && !self.telling.contains(&id) {
            return Ok(());
        }
        // Whoever revised it is responsible for its text now.
        let is_revised = memory.revision != revision;
        let session = memory.session.clone().unwrap_or_else(|| candidate.session.clone());
        match why {
            Why::Forgotten => {
                let project = memory.scope.project();
                retracted.kept.extend(handbook::rewritten(write.store(), project).await?);
                update::purge_rendered(write, &session, project).await?;
                if is_revised {
                    retracted.kept.push(id);
                } else {
                    update::purge(write, &session, memory, &[]).await?;
                    retracted.purged.push(id);
                }
            }
            // Somebody may have named other exchanges on which it rests.
            Why::Missing if !is_revised && memory.is_live() && !self.leaves_evidence(write, &id).await? => {
                memory.deleted_at = Some(write.at());
                write.delete_memory(&memory, &session);
            }
            Why::Missing => {}
        }
        Ok(())
    }
}
