//! Removing candidates, and memories made of them, when the exchanges that they rest on are forgotten.

use crate::ServiceError;
use cerebro_core::domain::{Candidate, CandidateState, ExchangeId, PastSession};
use cerebro_store::Write;

/// Removes forgotten exchanges of a session from its candidates. A candidate without other evidence is removed, and so is
/// one whose text contains forgotten text (as `tells` decides). The memory that was made of it is deleted with it, unless
/// somebody revised it since or another candidate still supports it. A person can restore the memory.
///
/// # Errors
/// A failing store.
pub(crate) async fn retract(
    write: &mut Write<'_>,
    session: &PastSession,
    gone: &[ExchangeId],
    tells: impl Fn(&str) -> bool,
) -> Result<(), ServiceError> {
    let candidates = write.store().candidates().of_session(&session.id).await?;
    let left: Vec<(Candidate, usize)> = candidates
        .into_iter()
        .map(|mut candidate| {
            let before = candidate.evidence.len();
            candidate.evidence.retain(|evidence| !gone.contains(&evidence.exchange));
            let quotes = candidate.evidence.iter().any(|evidence| tells(&evidence.quote));
            if quotes || tells(&candidate.title) || tells(&candidate.text) {
                candidate.evidence.clear();
            }
            (candidate, before)
        })
        .collect();
    // One whose text was purged cites nothing. It stays as long as its session, so that it is not proposed again.
    let is_over = session.exchanges == 0;
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
                forget_memory(write, candidate).await?;
            }
        }
    }
    Ok(())
}

/// Deletes the memory that was made of a candidate without remaining evidence.
async fn forget_memory(write: &mut Write<'_>, candidate: &Candidate) -> Result<(), ServiceError> {
    let Some((id, revision)) = candidate.memory.filter(|_| candidate.state == CandidateState::Accepted)
    else {
        return Ok(());
    };
    let Some(mut memory) = write.memory(&id).await? else { return Ok(()) };
    let carriers = write.store().candidates().of_memory(&id).await?;
    let elsewhere =
        carriers.iter().any(|other| other.session != candidate.session && !other.evidence.is_empty());
    // Whoever revised it is responsible for its text now.
    if !memory.is_live() || memory.revision != revision || elsewhere {
        return Ok(());
    }
    memory.deleted_at = Some(write.at());
    let session = memory.session.clone().unwrap_or_else(|| candidate.session.clone());
    write.delete_memory(&memory, &session);
    Ok(())
}
