//! Who holds a piece of work: leases with fences, and effects under keys.

use cerebro_core::domain::{Timestamp, WorkId};
use cerebro_ledger::{IntentStanding, Repeat, State, Step, Work, lease, limits};
use cerebro_store::Write;

use super::{
    Actor, Appended, Happening, IntentAnswer, WorkHold,
    append::foreign,
    begin::{check_chars, held_by_another},
    draft::{Draft, Prepared, lease_end, line},
};
use crate::{Journal, ServiceError, lock};

/// How often a session's activity renews its other leases, at most: the shortest lease is five times as long.
const RENEW_EVERY: jiff::SignedDuration = jiff::SignedDuration::from_secs(60);
/// Most holders whose last renewal is remembered.
const RENEWED_MAX: usize = 256;
/// Most pieces of work of one holder that are renewed.
pub(super) const HELD_MAX: usize = 64;

impl Journal {
    /// Takes the lease of a piece of work, or renews it. Of two that try at once, one gets it. With `takeover`, a lease that
    /// still runs is taken from its holder: what that one writes from then on is late.
    ///
    /// # Errors
    /// [`ServiceError::NoWork`], or a failing store.
    pub async fn hold(&self, actor: &Actor, id: &WorkId, takeover: bool) -> Result<WorkHold, ServiceError> {
        let me = actor.holder();
        let hold = move |draft: &mut Draft, (now, at): Moments| {
            let times = (now, lease_end(now, limits::LEASE));
            match lease::take(&mut draft.stored.work, &me, times, takeover) {
                Err(other) => return Ok(Changed::Nothing((other, false))),
                Ok(Some(step)) => draft.record(at, step)?,
                Ok(None) => {}
            }
            Ok(Changed::Work((me.clone(), true)))
        };
        let ((holder, held), work) = self.change_work("taking a lease of work", actor, id, hold).await?;
        // There is a lease, of the caller or of another holder.
        let until = work.lease.as_ref().map_or(work.active_at, |lease| lease.until);
        Ok(WorkHold { held, holder, fence: work.fence, until })
    }

    /// Releases a piece of work. If somebody else holds it, nothing changes.
    ///
    /// # Errors
    /// [`ServiceError::NoWork`], or a failing store.
    pub async fn release(&self, actor: &Actor, id: &WorkId) -> Result<Work, ServiceError> {
        let me = actor.holder();
        let release = move |draft: &mut Draft, (_, at): Moments| {
            let Some(step) = lease::release(&mut draft.stored.work, &me) else {
                return Ok(Changed::Nothing(()));
            };
            draft.record(at, step)?;
            Ok(Changed::Work(()))
        };
        Ok(self.change_work("releasing work", actor, id, release).await?.1)
    }

    /// Records the intent to try an effect under a key, and returns whether it may be tried: a confirmed one must not
    /// be tried again, and the outcome of one that was begun before is unknown.
    ///
    /// # Errors
    /// [`ServiceError::NoWork`]; [`ServiceError::Invalid`] for a bound, too many open ones, or where another one holds
    /// the work.
    pub async fn intent(
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
        let who = actor.clone();
        let intend = move |draft: &mut Draft, (now, at): Moments| {
            if lease::is_late(&draft.stored.work, &draft.state, &who.holder(), now) {
                return Err(held_by_another(&draft.stored.work.id));
            }
            if let Some(intent) = draft.state.intent(&key) {
                let (seq, repeat) = (intent.seq, intent.repeat);
                match intent.standing {
                    IntentStanding::Confirmed => {
                        return Ok(Changed::Nothing(IntentAnswer::Confirmed { seq }));
                    }
                    IntentStanding::Open => {
                        return Ok(Changed::Nothing(IntentAnswer::Unknown { seq, repeat }));
                    }
                    IntentStanding::Refuted => {}
                }
            }
            if draft.state.open_intents().count() >= limits::INTENTS_OPEN_MAX {
                let problem = format!("at most {} effects may be open at once", limits::INTENTS_OPEN_MAX);
                return Err(ServiceError::invalid("key", &key, problem));
            }
            draft.go_on(&who, at)?;
            draft.add(at, &prepared, false);
            draft.renew(&who, now);
            Ok(Changed::Work(IntentAnswer::GoAhead { seq: draft.stored.work.seq }))
        };
        Ok(self.change_work("announcing an effect", actor, id, intend).await?.0)
    }

    /// Records that an effect took place.
    ///
    /// # Errors
    /// [`ServiceError::NoWork`]; [`ServiceError::Invalid`] for a key that nothing was begun under.
    pub async fn confirm(&self, actor: &Actor, id: &WorkId, key: &str) -> Result<Appended, ServiceError> {
        self.end_effect(actor, id, key, IntentStanding::Confirmed, |key| Step::Confirmed { key }).await
    }

    /// Records that an effect did not take place.
    ///
    /// # Errors
    /// As [`Self::confirm`]; [`ServiceError::Invalid`] for one that was confirmed.
    pub async fn refute(
        &self,
        actor: &Actor,
        id: &WorkId,
        key: &str,
        text: Option<&str>,
    ) -> Result<Appended, ServiceError> {
        let refuted = |key| Step::Refuted { key, text: text.map(str::to_owned) };
        self.end_effect(actor, id, key, IntentStanding::Refuted, refuted).await
    }

    async fn end_effect(
        &self,
        actor: &Actor,
        id: &WorkId,
        key: &str,
        wanted: IntentStanding,
        step: impl FnOnce(String) -> Step + Send,
    ) -> Result<Appended, ServiceError> {
        self.needs_journal()?;
        let key = line(key, limits::KEY_CHARS_MAX).to_string();
        let stored = self.stored_work(&actor.owner, id).await?;
        let state = self.state_of(&stored).await?;
        match state.intent(&key).map(|intent| intent.standing) {
            Some(IntentStanding::Open) => self.work_must_append(actor, id, Happening::from(step(key))).await,
            Some(standing) if standing == wanted => {
                let seq = stored.work.seq;
                Ok(Appended { work: Some(*id), seq, repeated: 1, ..Appended::default() })
            }
            Some(_) => Err(ServiceError::invalid("key", &key, "it was said before to have ended otherwise")),
            None => Err(ServiceError::invalid("key", &key, "nothing was begun under it; say `intent` first")),
        }
    }

    /// Changes an existing piece of work, given its row and state under the writer. Returns the result of the change
    /// and the new row. It waits as long as for an event.
    async fn change_work<T: Send + 'static>(
        &self,
        name: &'static str,
        actor: &Actor,
        id: &WorkId,
        make: impl Fn(&mut Draft, Moments) -> Result<Changed<T>, ServiceError> + Send + Sync + 'static,
    ) -> Result<(T, Work), ServiceError> {
        let (journal, owner, id) = (self.clone(), actor.owner.clone(), *id);
        // Boxed, so that the callers' futures stay small.
        let changed = Box::pin(async move { journal.changed(&owner, &id, make).await });
        self.in_time_or_not(name, changed).await
    }

    async fn changed<T: Send>(
        &self,
        owner: &str,
        id: &WorkId,
        make: impl Fn(&mut Draft, Moments) -> Result<Changed<T>, ServiceError> + Sync,
    ) -> Result<(T, Work), ServiceError> {
        // Folded before the writer is taken. Under the writer, only the events that came in between are folded.
        self.state_of(&self.stored_work(owner, id).await?).await?;
        let store = &self.base.store;
        let (answer, work, state) =
            store.transact(|write| Box::pin(self.put_changed(write, owner, id, &make))).await?;
        if let Some(state) = state {
            self.held.wrote(*id, state, 1);
        }
        Ok((answer, work))
    }

    /// Changes an existing piece of work. Returns the result, the row, and the state if it is a new one.
    async fn put_changed<T>(
        &self,
        write: &mut Write<'_>,
        owner: &str,
        id: &WorkId,
        make: &(impl Fn(&mut Draft, Moments) -> Result<Changed<T>, ServiceError> + Sync),
    ) -> Result<(T, Work, Option<State>), ServiceError> {
        let stored = self.stored_work(owner, id).await?;
        if stored.work.key_id != self.held.key_id {
            return Err(foreign(id));
        }
        let state = self.state_of(&stored).await?;
        let mut draft = Draft::of(&self.held, stored, state);
        match make(&mut draft, (self.base.now(), write.at()))? {
            Changed::Nothing(answer) => Ok((answer, draft.stored.work, None)),
            Changed::Work(answer) => {
                let (stored, state) = draft.finish(write);
                Ok((answer, stored.work, Some(state)))
            }
        }
    }

    /// The piece of work whose lease the actor took last, of those that it still holds and that are not closed.
    pub async fn held_last(&self, actor: &Actor) -> Result<Option<WorkId>, ServiceError> {
        if self.held.retention.is_none() {
            return Ok(None);
        }
        let (me, now) = (actor.holder(), self.base.now());
        let held = self.base.store.works().held_by(&me, Timestamp::MAX, HELD_MAX).await?.readable;
        let mut last: Option<(Option<Timestamp>, WorkId)> = None;
        for stored in held {
            let work = &stored.work;
            if work.owner != actor.owner || work.outcome.is_some() || work.holder(now) != Some(me.as_str()) {
                continue;
            }
            let id = work.id;
            let state = self.state_of(&stored).await?;
            let at = state.holders.iter().rfind(|one| one.holder == me).and_then(|one| one.at);
            if last.is_none_or(|(latest, _)| at >= latest) {
                last = Some((at, id));
            }
        }
        Ok(last.map(|(_, id)| id))
    }

    /// Activity of a session renews all its leases, not only that of the piece it writes to. Nobody waits for this.
    pub(super) fn renew_held(&self, actor: &Actor, written: WorkId) {
        let (me, now) = (actor.holder(), self.base.now());
        {
            let mut renewed = lock(&self.held.renewed);
            if renewed.get(&me).is_some_and(|at| now.duration_since(*at).abs() < RENEW_EVERY) {
                return;
            }
            if renewed.len() >= RENEWED_MAX {
                renewed.clear();
            }
            renewed.insert(me, now);
        }
        let (journal, actor) = (self.clone(), actor.clone());
        self.base.tasks.spawn("renewing leases of work", async move {
            if let Err(error) = journal.renew_all(&actor, &written).await {
                tracing::warn!(%error, "the leases of a session that goes on were not renewed");
            }
        });
    }

    async fn renew_all(&self, actor: &Actor, written: &WorkId) -> Result<(), ServiceError> {
        let (me, until) = (actor.holder(), lease_end(self.base.now(), limits::LEASE));
        let held = self.base.store.works().held_by(&me, until, HELD_MAX).await?.readable;
        // Only an event in it renews the lease of work that was lost with its agent.
        let others = held.iter().map(|stored| &stored.work).filter(|work| work.id != *written && !work.lost);
        for work in others.filter(|work| work.owner == actor.owner) {
            let renew = |draft: &mut Draft, (now, _): Moments| {
                let work = &draft.stored.work;
                if work.lost || work.lease.as_ref().is_none_or(|lease| lease.holder != me) {
                    return Ok(Changed::Nothing(()));
                }
                draft.renew(actor, now);
                Ok(Changed::Work(()))
            };
            self.changed(&actor.owner, &work.id, renew).await?;
        }
        Ok(())
    }
}

/// The present moment, by which leases are measured; and the moment of the write.
type Moments = (Timestamp, Timestamp);

/// The outcome of a change, with its result.
enum Changed<T> {
    /// Nothing changes.
    Nothing(T),
    /// The row changes, its events, or both.
    Work(T),
}
