//! The piece of work of an agent's session, which its hooks write to, and what happens to it when its agent is gone.

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
        let Some(stored) = self.base.store.works().by_name(&actor.session_name()).await? else {
            return Ok(None);
        };
        let state = self.state_of(&stored).await?;
        Ok(Some((stored.work, state)))
    }

    /// Records that the agent of a session went away without an end, so that the outcome of what it had begun is
    /// unknown. Does nothing for a session without a piece of work or whose end is known. Returns whether it was
    /// recorded.
    ///
    /// # Errors
    /// As [`Self::append`].
    pub async fn lost(&self, actor: &Actor) -> Result<bool, ServiceError> {
        let Some((work, state)) = self.of_session(actor).await? else { return Ok(false) };
        if state.ended || state.lost.is_some() || state.closed.is_some() {
            return Ok(false);
        }
        self.append(actor, Target::Work(work.id), vec![Step::Lost.into()]).await?;
        Ok(true)
    }
}
