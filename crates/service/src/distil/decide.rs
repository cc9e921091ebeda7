//! A person's decision on a candidate: it becomes a memory, or is rejected.

use crate::{
    Caller, Distilling, Door, SaveOutcome, SaveRequest, ServiceError,
    memories::{handbook::TAG, save},
};
use cerebro_core::distil;
use cerebro_core::domain::{
    Candidate, CandidateId, CandidateState, ExchangeId, Kind, Memory, Origin, PastSession, Project, Scope,
};
use cerebro_store::{Store, Write};

/// The result of a decision on a candidate.
#[derive(Debug, Clone)]
pub struct Decided {
    /// The candidate as it is now.
    pub candidate: Candidate,
    /// The memory that it became, and what the save did.
    pub memory: Option<(Memory, SaveOutcome)>,
    /// Whether that is a change.
    pub changed: bool,
}

impl Distilling {
    /// Makes a candidate a memory of its session's project, in one transaction. Its evidence is checked once more.
    ///
    /// # Errors
    /// [`ServiceError::NoCandidate`]; [`ServiceError::Invalid`] if its evidence no longer holds; those of
    /// [`Memories::save`](crate::Memories::save).
    pub async fn accept_candidate(&self, caller: &Caller, id: &CandidateId) -> Result<Decided, ServiceError> {
        let (candidate, past) = self.candidate(id).await?;
        if candidate.state == CandidateState::Accepted {
            let memory = match candidate.memory {
                Some((memory, _)) => self.base.store.memories().by_id(&memory).await?,
                None => None,
            };
            let memory = memory.map(|memory| (memory, SaveOutcome::Unchanged));
            return Ok(Decided { candidate, memory, changed: false });
        }
        let prepared = self.prepared_candidate(caller, &candidate, &past.project).await?;
        let store = &self.base.store;
        let decided =
            store.transact(|write| Box::pin(self.put_accepted(write, caller, id, &prepared))).await?;
        self.memories.render_again(self.memories.rendered_handbooks(Some(&past.project)).await).await;
        Ok(decided)
    }

    /// Prepares the memory that a candidate becomes.
    pub(super) async fn prepared_candidate(
        &self,
        caller: &Caller,
        candidate: &Candidate,
        project: &Project,
    ) -> Result<save::Prepared, ServiceError> {
        let (title, text) = (candidate.title.to_string(), candidate.text.to_string());
        let request = SaveRequest {
            kind: Kind::parse(candidate.kind.memory_type()).unwrap_or_else(Kind::manual),
            tags: vec![TAG.to_owned()],
            ..SaveRequest::new(title, text, Scope::Project(project.clone()), Door::EXPLICIT)
        };
        self.memories.prepare_save(caller, request, Origin::Transcript).await
    }

    /// Rejects a candidate. It is not proposed again.
    ///
    /// # Errors
    /// [`ServiceError::NoCandidate`]; [`ServiceError::Invalid`] if it is a memory already.
    pub async fn reject_candidate(&self, id: &CandidateId) -> Result<Decided, ServiceError> {
        self.base.store.transact(|write| Box::pin(put_rejected(write, id))).await
    }

    async fn put_accepted(
        &self,
        write: &mut Write<'_>,
        caller: &Caller,
        id: &CandidateId,
        prepared: &save::Prepared,
    ) -> Result<Decided, ServiceError> {
        let (mut candidate, past) = with_session(write.store(), id).await?;
        let cited: Vec<ExchangeId> = candidate.evidence.iter().map(|evidence| evidence.exchange).collect();
        let exchanges = write.store().exchanges().by_ids(&cited).await?;
        if !distil::is_supported(&candidate, &exchanges) {
            let problem = "what it cites is gone or says something else by now; reject it";
            return Err(ServiceError::invalid("id", &id.to_string(), problem));
        }
        let written = self.memories.put_prepared(write, caller, prepared, Door::EXPLICIT).await?;
        candidate.state = CandidateState::Accepted;
        candidate.memory = Some((written.memory.id, written.memory.revision));
        candidate.decided_at = Some(write.at());
        write.decide_candidate(&candidate, &past);
        Ok(Decided { candidate, memory: Some((written.memory, written.outcome)), changed: true })
    }
}

/// A candidate, and the session that it is about.
pub(super) async fn with_session(
    store: &Store,
    id: &CandidateId,
) -> Result<(Candidate, PastSession), ServiceError> {
    let gone = || ServiceError::NoCandidate(*id);
    let candidate = store.candidates().by_id(id).await?.ok_or_else(gone)?;
    let past = store.past_sessions().by_id(&candidate.session).await?.ok_or_else(gone)?;
    Ok((candidate, past))
}

async fn put_rejected(write: &mut Write<'_>, id: &CandidateId) -> Result<Decided, ServiceError> {
    let (mut candidate, past) = with_session(write.store(), id).await?;
    match (candidate.state, candidate.memory) {
        (CandidateState::Rejected, _) => return Ok(Decided { candidate, memory: None, changed: false }),
        (CandidateState::Accepted, memory) => {
            let memory = memory.map(|(memory, _)| memory.to_string()).unwrap_or_default();
            let problem = format!("it is memory `{memory}` already; delete that instead");
            return Err(ServiceError::invalid("id", &id.to_string(), problem));
        }
        (CandidateState::Waiting, _) => {}
    }
    candidate.state = CandidateState::Rejected;
    candidate.decided_at = Some(write.at());
    write.decide_candidate(&candidate, &past);
    Ok(Decided { candidate, memory: None, changed: true })
}
