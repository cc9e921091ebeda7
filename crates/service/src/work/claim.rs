//! Who holds a piece of work: leases with fences, and effects under keys.

use cerebro_core::domain::{Timestamp, WorkId};
use cerebro_ledger::{IntentStanding, Repeat, State, Step, Work, claim, limits};
use cerebro_store::{Decision, Write};

use super::{
    Actor, Appended, ClaimWork, Happening, IntentAnswer, WorkClaimed,
    append::foreign,
    begin::check_chars,
    draft::{Draft, Prepared, lease_end, line},
};
use crate::{Service, ServiceError};

impl Service {
    /// Claims a piece of work, or renews the claim. Of two that claim at once, one gets it. A claim ends with its lease
    /// or its release; what its holder does after another one has it is late.
    ///
    /// # Errors
    /// [`ServiceError::NoWork`]; [`ServiceError::Invalid`] for a lease out of its bounds.
    pub async fn work_claim(
        &self,
        actor: &Actor,
        id: &WorkId,
        asked: ClaimWork,
    ) -> Result<WorkClaimed, ServiceError> {
        let lease = asked.lease.unwrap_or(limits::LEASE);
        if lease < limits::LEASE_RANGE.0 || lease > limits::LEASE_RANGE.1 {
            let value = format!("{}s", lease.as_secs());
            return Err(ServiceError::invalid("lease", &value, "it must be 5 minutes to 24 hours"));
        }
        let me = actor.holder();
        let ((holder, held), work) = self
            .change_work(actor, id, |draft, at| {
                let now = self.now();
                let times = (now, lease_end(now, lease));
                match claim::claim(&mut draft.stored.work, &me, times, asked.takeover) {
                    Err(other) => return Ok(Changed::Nothing((other, false))),
                    Ok(Some(step)) => draft.tell(at, step)?,
                    Ok(None) => {}
                }
                Ok(Changed::Work((me.clone(), true)))
            })
            .await?;
        // Held by whomever: there is a lease.
        let until = work.lease.as_ref().map_or(work.active_at, |lease| lease.until);
        Ok(WorkClaimed { work: *id, held, holder, fence: work.fence, until })
    }

    /// Lets go of a piece of work. Of one that somebody else holds, nothing changes.
    ///
    /// # Errors
    /// [`ServiceError::NoWork`], or a failing store.
    pub async fn work_release(&self, actor: &Actor, id: &WorkId) -> Result<Work, ServiceError> {
        let me = actor.holder();
        let released = self.change_work(actor, id, |draft, at| {
            let Some(step) = claim::release(&mut draft.stored.work, &me) else {
                return Ok(Changed::Nothing(()));
            };
            draft.tell(at, step)?;
            Ok(Changed::Work(()))
        });
        Ok(released.await?.1)
    }

    /// Says that an effect on the world is about to be tried under a key, and whether it may be: a confirmed one never
    /// is again, and of one that was begun before nobody knows.
    ///
    /// # Errors
    /// [`ServiceError::NoWork`]; [`ServiceError::Invalid`] for a bound, too many open ones, or where another one holds
    /// the work.
    pub async fn work_intent(
        &self,
        actor: &Actor,
        id: &WorkId,
        key: &str,
        text: &str,
        repeat: Repeat,
    ) -> Result<IntentAnswer, ServiceError> {
        check_chars("key", key, limits::KEY_CHARS_MAX)?;
        check_chars("text", text, limits::TEXT_BYTES_MAX)?;
        let key = line(key, limits::KEY_CHARS_MAX).to_string();
        let step = Step::Intent { key: key.clone(), text: text.to_owned(), repeat };
        let prepared = Prepared::step(step)?;
        let work = *id;
        let intended = self.change_work(actor, id, |draft, at| {
            let now = self.now();
            if claim::is_late(&draft.stored.work, &actor.holder(), now) {
                let problem = "another session holds it; claim it first";
                return Err(ServiceError::invalid("work", id.as_str(), problem));
            }
            if let Some(intent) = draft.state.intent(&key) {
                let (seq, repeat) = (intent.seq, intent.repeat);
                match intent.standing {
                    IntentStanding::Confirmed => {
                        return Ok(Changed::Nothing(IntentAnswer::Confirmed { work, seq }));
                    }
                    IntentStanding::Open => {
                        return Ok(Changed::Nothing(IntentAnswer::Unknown { work, seq, repeat }));
                    }
                    IntentStanding::Refuted => {}
                }
            }
            if draft.state.open_intents().count() >= limits::INTENTS_OPEN_MAX {
                let problem = format!("at most {} effects may be open at once", limits::INTENTS_OPEN_MAX);
                return Err(ServiceError::invalid("key", &key, problem));
            }
            draft.add(at, &prepared, false);
            draft.renew(actor, now);
            Ok(Changed::Work(IntentAnswer::GoAhead { work, seq: draft.stored.work.seq }))
        });
        Ok(intended.await?.0)
    }

    /// Says that an effect took place.
    ///
    /// # Errors
    /// [`ServiceError::NoWork`]; [`ServiceError::Invalid`] for a key that nothing was begun under.
    pub async fn work_confirm(
        &self,
        actor: &Actor,
        id: &WorkId,
        key: &str,
    ) -> Result<Appended, ServiceError> {
        let key = line(key, limits::KEY_CHARS_MAX).to_string();
        let step = Step::Confirmed { key: key.clone() };
        self.end_effect(actor, id, &key, IntentStanding::Confirmed, step).await
    }

    /// Says that an effect did not take place.
    ///
    /// # Errors
    /// As [`Self::work_confirm`]; [`ServiceError::Invalid`] for one that was confirmed.
    pub async fn work_refute(
        &self,
        actor: &Actor,
        id: &WorkId,
        key: &str,
        text: Option<&str>,
    ) -> Result<Appended, ServiceError> {
        let key = line(key, limits::KEY_CHARS_MAX).to_string();
        let step = Step::Refuted { key: key.clone(), text: text.map(str::to_owned) };
        self.end_effect(actor, id, &key, IntentStanding::Refuted, step).await
    }

    async fn end_effect(
        &self,
        actor: &Actor,
        id: &WorkId,
        key: &str,
        wanted: IntentStanding,
        step: Step,
    ) -> Result<Appended, ServiceError> {
        self.needs_journal()?;
        let stored = self.stored_work(&actor.owner, id).await?;
        let state = self.state_of(&stored).await?;
        match state.intent(key).map(|intent| intent.standing) {
            Some(IntentStanding::Open) => self.work_must_append(actor, id, Happening::from(step)).await,
            Some(standing) if standing == wanted => {
                let seq = stored.work.seq;
                Ok(Appended { work: Some(*id), seq, repeated: 1, ..Appended::default() })
            }
            Some(_) => Err(ServiceError::invalid("key", key, "it was said before to have ended otherwise")),
            None => Err(ServiceError::invalid("key", key, "nothing was begun under it; say `intent` first")),
        }
    }

    /// Changes a piece of work that is there, on its row and state as they are under the writer, and gives what the
    /// change tells, with the row as it is then.
    async fn change_work<T: Send>(
        &self,
        actor: &Actor,
        id: &WorkId,
        change: impl Fn(&mut Draft<'_>, Timestamp) -> Result<Changed<T>, ServiceError> + Sync,
    ) -> Result<(T, Work), ServiceError> {
        self.needs_journal()?;
        let change = Change { service: self, actor, id, make: change };
        let (told, work, state) = self.store().transact(&change).await?;
        if let Some(state) = state {
            self.journal().remember(*id, state);
        }
        Ok((told, work))
    }
}

/// What a change came to, with what it tells.
enum Changed<T> {
    /// All stays as it is.
    Nothing(T),
    /// The row, its events or both.
    Work(T),
}

/// A change of a piece of work that is there.
struct Change<'a, F> {
    service: &'a Service,
    actor: &'a Actor,
    id: &'a WorkId,
    make: F,
}

impl<T: Send, F> Decision for Change<'_, F>
where
    F: Fn(&mut Draft<'_>, Timestamp) -> Result<Changed<T>, ServiceError> + Sync,
{
    /// What it tells, the row, and the state if it is another one.
    type Output = (T, Work, Option<State>);
    type Error = ServiceError;

    async fn decide(&self, write: &mut Write<'_>) -> Result<Self::Output, ServiceError> {
        let Self { service, actor, id, make } = self;
        let stored = service.stored_work(&actor.owner, id).await?;
        if stored.work.key_id != service.journal().key_id {
            return Err(foreign(id));
        }
        let state = service.state_of(&stored).await?;
        let mut draft = Draft::of(service.journal(), stored, state);
        match make(&mut draft, write.at())? {
            Changed::Nothing(told) => Ok((told, draft.stored.work, None)),
            Changed::Work(told) => {
                let (stored, state) = draft.finish(write);
                Ok((told, stored.work, Some(state)))
            }
        }
    }
}
