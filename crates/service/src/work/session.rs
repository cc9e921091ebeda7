//! The piece of work of an agent's session, to which its hooks report, and the loss of its agent.

use cerebro_ledger::{State, Step, Work};

use super::{Actor, Target};
use crate::{Journal, ServiceError};

impl Journal {
    /// The piece of work of the actor's session with its state, if there is one.
    ///
    /// # Errors
    /// A failing store.
    pub async fn of_session(&self, actor: &Actor) -> Result<Option<(Work, State)>, ServiceError> {
        if self.held.retention.is_none() {
            return Ok(None);
        }
        let Some(stored) = self.base.store.work_named(&actor.session_name()).await? else { return Ok(None) };
        let state = self.state_of(&stored).await?;
        Ok(Some((stored.work, state)))
    }

    /// Records that the agent of a session was lost without an end: calls that had begun have an unknown outcome. Returns
    /// `false` if the session has no work, or its end is known.
    ///
    /// # Errors
    /// As [`Self::append`].
    pub async fn lost(&self, actor: &Actor) -> Result<bool, ServiceError> {
        let Some((work, state)) = self.of_session(actor).await? else { return Ok(false) };
        if state.ended || state.lost.is_some() || state.closed.is_some() {
            return Ok(false);
        }
        self.append(actor, Target::Work(work.id), vec![Step::Lost.into()]).await?;
        if let Some(session) = &actor.session {
            self.intake.reread_transcript(session);
        }
        Ok(true)
    }
}
