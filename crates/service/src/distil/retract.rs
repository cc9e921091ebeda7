//! Removing candidates, and memories made of them, when the exchanges that they rest on are gone.

use std::collections::BTreeSet;

use crate::{
    ServiceError,
    memories::{handbook, update},
};
use cerebro_core::domain::{Candidate, CandidateState, ExchangeId, Memory, MemoryId, PastSession};
use cerebro_store::Write;

/// Why exchanges are gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    /// They are missing from a rewritten transcript. Memories are deleted, and a person can restore them.
    Missing,
    /// A person had them forgotten. Memories are purged, with their revisions and the handbooks that say what they say.
    Forgotten,
}

/// What became of memories.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Retracted {
    /// Memories that were purged.
    pub purged: Vec<MemoryId>,
    /// Memories that stay although their evidence is forgotten, because somebody has revised them, and handbooks that somebody
    /// has rewritten.
    pub kept: Vec<MemoryId>,
}

/// Removes exchanges that are gone from the candidates of their session. A candidate without other evidence is removed, and
/// so is one whose text contains forgotten text (as `tells` decides). The memory that was made of it goes with it, unless
/// somebody revised it since or another candidate still supports it. A memory whose own text contains forgotten text goes
/// whatever else supports it.
pub(crate) async fn retract(
    write: &mut Write<'_>,
    session: &PastSession,
    gone: &[ExchangeId],
    why: Why,
    tells: impl Fn(&str) -> bool,
) -> Result<Retracted, ServiceError> {
    let candidates = write.store().candidates().of_session(&session.id).await?;
    let telling = match why {
        Why::Missing => BTreeSet::new(),
        Why::Forgotten => telling(write, &candidates, &tells).await?,
    };
    let left: Vec<(Candidate, usize)> = candidates
        .into_iter()
        .map(|mut candidate| {
            let before = candidate.evidence.len();
            if candidate.any_text(&tells) || candidate.memory.is_some_and(|(id, _)| telling.contains(&id)) {
                candidate.evidence.clear();
            }
            candidate.evidence.retain(|evidence| !gone.contains(&evidence.exchange));
            (candidate, before)
        })
        .collect();
    // One whose text was purged cites nothing. It stays as long as its session, so that it is not proposed again.
    let is_over = session.exchanges == 0;
    let mut retracted = Retracted::default();
    for (candidate, before) in &left {
        if candidate.evidence.len() == *before && !(is_over && *before == 0) {
            continue;
        }
        write.retract_candidate(candidate, session);
        if candidate.evidence.is_empty() {
            let is_other = |other: &&(Candidate, usize)| other.0.id != candidate.id;
            let carries = |other: &(Candidate, usize)| {
                other.0.memory == candidate.memory && !other.0.evidence.is_empty()
            };
            if !left.iter().filter(is_other).any(carries) {
                forget_memory(write, candidate, (gone, &telling), why, &mut retracted).await?;
            }
        }
    }
    Ok(retracted)
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

/// Whether a memory cites an exchange that stays.
async fn rests_elsewhere(
    write: &Write<'_>,
    memory: &MemoryId,
    gone: &[ExchangeId],
) -> Result<bool, ServiceError> {
    let cited = write.store().citations().of_memory(memory).await?;
    Ok(cited.iter().any(|exchange| !gone.contains(exchange)))
}

/// Deletes or purges the memory that was made of a candidate without remaining evidence. `telling` are the memories that
/// nothing keeps.
async fn forget_memory(
    write: &mut Write<'_>,
    candidate: &Candidate,
    (gone, telling): (&[ExchangeId], &BTreeSet<MemoryId>),
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
    if memory.purged || elsewhere && !telling.contains(&id) {
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
        Why::Missing if !is_revised && memory.is_live() && !rests_elsewhere(write, &id, gone).await? => {
            memory.deleted_at = Some(write.at());
            write.delete_memory(&memory, &session);
        }
        Why::Missing => {}
    }
    Ok(())
}
