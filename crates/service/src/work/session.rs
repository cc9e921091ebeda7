//! The piece of work of an agent's session, which its hooks write to, and what happens to it when its agent is gone.

use cerebro_core::domain::Timestamp;
use cerebro_ledger::{Outcome, State, Status, Step, Work};

use super::{Actor, CloseWork, Target, lease::HELD_MAX};
use crate::{Caller, Journal, ServiceError};

impl Journal {
    /// The piece of work of the actor's session with its state, if there is one.
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

    /// Closes the piece of work of a session that ended and left nothing to do, and offers its findings to memory. A later
    /// request reopens it.
    ///
    /// # Errors
    /// As [`Self::close`].
    pub async fn close_if_over(&self, caller: &Caller, actor: &Actor) -> Result<(), ServiceError> {
        let Some((work, state)) = self.of_session(actor).await? else { return Ok(()) };
        if actor.session.is_none() || !state.is_over() || state.closed.is_some() {
            return Ok(());
        }
        self.close(actor, &work.id, CloseWork { outcome: Outcome::Done, text: None }).await?;
        self.offer(caller, actor, &work.id).await?;
        Ok(())
    }

    /// Records that the agent of a session went away without an end, so that the outcome of what it had begun is
    /// unknown: in the tasks that it holds, and last in its own piece of work. Does nothing if the end of the session
    /// is known. Returns whether it was recorded in the session's own piece of work.
    ///
    /// # Errors
    /// As [`Self::append`].
    pub async fn lost(&self, actor: &Actor) -> Result<bool, ServiceError> {
        let own = self.of_session(actor).await?;
        if own.as_ref().is_none_or(|(_, state)| !state.ended) {
            // The session's own loss is recorded all the same.
            if let Err(error) = self.lose_held(actor).await {
                tracing::warn!(%error, "not every task of a lost session was marked as lost");
            }
        }
        let Some((work, state)) = own else { return Ok(false) };
        if state.ended || state.lost.is_some() || state.closed.is_some() {
            return Ok(false);
        }
        self.append(actor, Target::Work(work.id), vec![Step::Lost.into()]).await?;
        Ok(true)
    }

    /// Records the same in the tasks that the session holds.
    async fn lose_held(&self, actor: &Actor) -> Result<(), ServiceError> {
        if self.held.retention.is_none() {
            return Ok(());
        }
        let works = self.base.store.works();
        let held = works.held_by(&actor.holder(), Timestamp::MAX, HELD_MAX).await?.readable;
        for work in held.into_iter().map(|stored| stored.work) {
            let is_task = !work.is_session() && work.owner == actor.owner;
            if is_task && work.status != Status::Closed && !work.lost {
                self.append(actor, Target::Work(work.id), vec![Step::Lost.into()]).await?;
            }
        }
        Ok(())
    }
}
