//! Accepting without a person, if the settings allow it: a claim that two sessions make, in the user's own words.

use crate::{
    Caller, Distilling, Door, ServiceError,
    memories::{handbook::distiller, save},
};
use cerebro_core::distil::{TITLE_CHARS_MAX, is_supported, is_users_own, quoted_of_user, say_the_same};
use cerebro_core::domain::{
    Ancestor, Candidate, CandidateId, CandidateState, ExchangeId, MemoryId, Origin, PastSession,
};
use cerebro_store::Write;

/// Most candidates of a state that a claim is compared with.
const COMPARED_MAX: usize = 5_000;

impl Distilling {
    /// Accepts the claims of a session that another session corroborates; the rest waits.
    pub(super) async fn corroborate(&self, session: &PastSession) -> Result<(), ServiceError> {
        let mine = self.base.store.candidates().of_session(&session.id).await?;
        let mut others = Vec::new();
        for state in CandidateState::ALL {
            let found = self.candidates(state, Some(&session.project), COMPARED_MAX).await?;
            let is_apart = |past: &PastSession| {
                past.id != session.id && !continues(past, session) && !continues(session, past)
            };
            others.extend(found.into_iter().filter(|(_, past)| is_apart(past)).map(|(other, _)| other));
        }
        // The store may have failed after some were accepted, before the handbooks had them.
        let mut accepted = mine.iter().any(|claim| claim.corroborated);
        for claim in mine.iter().filter(|claim| claim.state == CandidateState::Waiting) {
            let same: Vec<&Candidate> = others
                .iter()
                .filter(|other| other.kind == claim.kind && say_the_same(&other.text, &claim.text))
                .collect();
            // A claim like one that a person rejected is left to a person.
            if same.iter().any(|other| other.state == CandidateState::Rejected) {
                continue;
            }
            let by_state = |other: &&&Candidate| (other.state != CandidateState::Accepted, other.at);
            if let Some(other) = same.iter().min_by_key(by_state) {
                accepted |= self.accept_corroborated(session, claim, other).await?;
            }
        }
        if accepted {
            self.memories.render_again(self.memories.rendered_handbooks(Some(&session.project)).await).await;
        }
        Ok(())
    }

    /// Accepts a claim together with the one that corroborates it. Returns whether it was accepted.
    async fn accept_corroborated(
        &self,
        session: &PastSession,
        claim: &Candidate,
        other: &Candidate,
    ) -> Result<bool, ServiceError> {
        let by = distiller(&self.memories);
        // Its title is a model's own, so the beginning of the text stands for it.
        let plain = Candidate { title: other.text.cut_chars(TITLE_CHARS_MAX), ..other.clone() };
        let prepared = self.prepared_candidate(&by, &plain, &session.project).await?;
        let accepting = self
            .base
            .store
            .transact(|write| Box::pin(self.put_corroborated(write, &by, &claim.id, &other.id, &prepared)));
        match accepting.await {
            // A text that no longer holds does not come back by itself.
            Err(ServiceError::Corrected(_)) => Ok(false),
            done => done,
        }
    }

    /// Accepts two claims that say the same as one memory: that of the earlier claim, which may exist already.
    async fn put_corroborated(
        &self,
        write: &mut Write<'_>,
        by: &Caller,
        claim: &CandidateId,
        other: &CandidateId,
        prepared: &save::Prepared,
    ) -> Result<bool, ServiceError> {
        let found = (sound(write, claim).await?, sound(write, other).await?);
        let (Some((claim, past, ours)), Some((other, others_past, theirs))) = found else { return Ok(false) };
        let is_open = claim.state == CandidateState::Waiting && other.state != CandidateState::Rejected;
        // Other words may be those of a page or an output that the model obeyed.
        if !is_open || !is_users_own(&other.text, &format!("{ours} {theirs}")) {
            return Ok(false);
        }
        let memory = match (other.state, other.memory) {
            (CandidateState::Accepted, Some((id, revision))) => {
                let memory = write.store().memories().by_id(&id).await?;
                // Somebody who deleted or revised it has decided on this text.
                if !memory.is_some_and(|memory| memory.is_live() && memory.revision == revision) {
                    return Ok(false);
                }
                (id, revision)
            }
            _ => {
                let door = Door::Brought(Origin::Transcript);
                let written = self.memories.put_prepared(write, by, prepared, door).await?;
                let memory = (written.memory.id, written.memory.revision);
                let other = accepted(other, memory, write);
                write.corroborate_candidate(&other, &others_past).await?;
                memory
            }
        };
        let claim = accepted(claim, memory, write);
        write.corroborate_candidate(&claim, &past).await?;
        Ok(true)
    }
}

/// Whether one session may continue the other and so repeat what was said there.
fn continues(session: &PastSession, earlier: &PastSession) -> bool {
    let is_it = |parent: &Ancestor| parent.session.as_ref().is_none_or(|id| *id == earlier.id);
    session.parent.as_ref().is_some_and(is_it)
}

/// A candidate with its session, if its citations still hold; and the user's sentences that it quotes.
async fn sound(
    write: &Write<'_>,
    id: &CandidateId,
) -> Result<Option<(Candidate, PastSession, String)>, ServiceError> {
    let Some(candidate) = write.store().candidates().by_id(id).await? else { return Ok(None) };
    let Some(past) = write.store().past_sessions().by_id(&candidate.session).await? else {
        return Ok(None);
    };
    let cited: Vec<ExchangeId> = candidate.evidence.iter().map(|evidence| evidence.exchange).collect();
    let exchanges = write.store().exchanges().by_ids(&cited).await?;
    let users = quoted_of_user(&candidate.evidence, &exchanges);
    Ok(is_supported(&candidate, &exchanges).then_some((candidate, past, users)))
}

fn accepted(candidate: Candidate, memory: (MemoryId, u32), write: &Write<'_>) -> Candidate {
    Candidate {
        state: CandidateState::Accepted,
        memory: Some(memory),
        corroborated: true,
        decided_at: Some(write.at()),
        ..candidate
    }
}
