//! Writing events, and never making a caller wait for long.

use cerebro_core::domain::{HistoryTombstone, SessionId, Timestamp, WorkId};
use cerebro_ledger::{
    Mac, State, Status, Step, Work, lease, limits,
    work::{SESSION, UNTITLED, session_name},
};
use cerebro_store::{StoredWork, Write};

use super::{
    Actor, Appended, Happening, Target,
    begin::held_by_another,
    draft::{Draft, Prepared, line},
    slow::{Missed, MissedIn},
    words::Reporter,
};
use crate::{Journal, ServiceError, lock};

impl Journal {
    /// Writes events, in order and in one commit, to a piece of work of the actor's. A call waits for two seconds at
    /// most. If that was not enough, calls of the next minute do not wait at all, and a gap later records what is
    /// missing.
    ///
    /// If the journal is off, nothing is written.
    ///
    /// # Errors
    /// [`ServiceError::NoWork`]; [`ServiceError::Invalid`] for more than [`limits::BATCH_MAX`] at once or a piece of
    /// work that is full or of another home; a failing store.
    pub async fn append(
        &self,
        actor: &Actor,
        target: Target,
        happenings: Vec<Happening>,
    ) -> Result<Appended, ServiceError> {
        self.append_if(actor, target, happenings, false).await
    }

    /// As [`Self::append`]. With `must_hold`, a late caller is refused, and nothing is written.
    ///
    /// # Errors
    /// As [`Self::append`]; [`ServiceError::Invalid`] where the caller is late.
    pub(super) async fn append_if(
        &self,
        actor: &Actor,
        target: Target,
        happenings: Vec<Happening>,
        must_hold: bool,
    ) -> Result<Appended, ServiceError> {
        if self.held.retention.is_none() || happenings.is_empty() {
            return Ok(Appended::default());
        }
        if happenings.len() > limits::BATCH_MAX {
            let problem = format!("at most {} events at once", limits::BATCH_MAX);
            return Err(ServiceError::invalid("events", &happenings.len().to_string(), problem));
        }
        let count = happenings.iter().map(|one| stands_for(&one.step)).fold(0, usize::saturating_add);
        let (place, missed) = (MissedIn::of(actor, &target), Missed::at(self.base.now(), count));
        let degraded = Appended { degraded: true, ..Appended::default() };
        if self.is_degraded() {
            lock(&self.held.slow).miss(place, missed);
            return Ok(degraded);
        }
        let (journal, actor) = (self.clone(), actor.clone());
        let done = self.in_time(
            "writing down what happened",
            Box::pin(async move {
                let before = lock(&journal.held.slow).take(&place);
                let gap = before.map(Missed::gap);
                let done = journal.append_with(&actor, target, happenings, gap, must_hold).await;
                if let Err(error) = &done {
                    // A caller that still waits gets the error; otherwise a gap records that the events are missing.
                    let lost = (!is_refusal(error)).then_some(missed);
                    let mut slow = lock(&journal.held.slow);
                    before.into_iter().chain(lost).for_each(|missed| slow.miss(place.clone(), missed));
                }
                done
            }),
        );
        Ok(done.await?.unwrap_or(degraded))
    }

    /// Writes a gap for what is missing from a place, if there is a piece of work to write it to.
    pub(super) async fn record_gap(&self, place: &MissedIn) -> Result<(), ServiceError> {
        let id = match &place.work {
            Some(id) => WorkId::parse(id).ok(),
            None => {
                let named =
                    self.base.store.works().by_name(&session_name(&place.owner, &place.holder)).await?;
                named.map(|stored| stored.work.id)
            }
        };
        let Some(id) = id else { return Ok(()) };
        let stored = self.stored_work(&place.owner, &id).await?;
        let Some(missed) = lock(&self.held.slow).take(place) else { return Ok(()) };
        let work = stored.work;
        let actor = Actor {
            owner: work.owner,
            agent: work.agent,
            session: SessionId::parse(&place.holder).ok(),
            project: work.project,
            directory: None,
        };
        let appended =
            self.append_with(&actor, Target::Work(id), Vec::new(), Some(missed.gap()), false).await;
        if appended.as_ref().is_err_and(|error| !is_refusal(error)) {
            lock(&self.held.slow).miss(place.clone(), missed);
        }
        appended.map(drop)
    }

    async fn append_with(
        &self,
        actor: &Actor,
        target: Target,
        happenings: Vec<Happening>,
        gap: Option<Step>,
        must_hold: bool,
    ) -> Result<Appended, ServiceError> {
        let steps = gap.map(Happening::from).into_iter().chain(happenings);
        let prepared = steps.map(Prepared::of).collect::<Result<Vec<_>, _>>()?;
        // Folded before the writer is taken. Under the writer, only the events that came in between are folded.
        self.fold_ahead(actor, &target, &prepared).await?;
        let decision = Append { journal: self, actor, target: &target, prepared: &prepared, must_hold };
        let (appended, changed) = self.base.store.transact(|write| Box::pin(decision.decide(write))).await?;
        if let Some((id, state)) = changed {
            self.held.wrote(id, state, appended.recorded);
            if prepared.iter().any(Prepared::is_activity) {
                self.renew_held(actor, id);
            }
        }
        Ok(appended)
    }

    /// Loads the state of the target into memory, if there is one, and what a repetition is recognised by.
    async fn fold_ahead(
        &self,
        actor: &Actor,
        target: &Target,
        prepared: &[Prepared],
    ) -> Result<(), ServiceError> {
        let stored = match target {
            Target::Work(id) if self.held.remembers(id) => None,
            Target::Work(id) => Some(self.stored_work(&actor.owner, id).await?),
            Target::Session => {
                let name = actor.session_name();
                match self.base.store.works().held(&name) {
                    Some(stored) => Some(stored),
                    None => self.base.store.works().by_name(&name).await?,
                }
            }
        };
        if let Some(stored) = stored {
            self.state_of(&stored).await?;
            self.known_onces(&stored.work, onces(prepared, &stored.work.id)).await?;
        }
        Ok(())
    }
}

/// How many events are missing without this one: without a gap, all that it counts.
fn stands_for(step: &Step) -> usize {
    match step {
        Step::Gap { count: Some(count), filled: false, .. } => usize::try_from(*count).unwrap_or(usize::MAX),
        _ => 1,
    }
}

/// The keys by which repetitions of events of a piece of work are recognised.
fn onces(prepared: &[Prepared], work: &WorkId) -> Vec<String> {
    prepared.iter().flat_map(|one| one.onces(work)).collect()
}

/// Whether the journal refused the events because of the caller, so that nothing is missing.
pub(super) fn is_refusal(error: &ServiceError) -> bool {
    matches!(error, ServiceError::Invalid { .. } | ServiceError::NoWork(_))
}

/// How far the moment of a write is ahead of the clock at least, if that has gone back. Writes of one moment are less ahead.
const CLOCK_BEHIND: jiff::SignedDuration = jiff::SignedDuration::from_millis(10);

struct Append<'a> {
    journal: &'a Journal,
    actor: &'a Actor,
    target: &'a Target,
    prepared: &'a [Prepared],
    /// Whether a late caller is refused.
    must_hold: bool,
}

impl Append<'_> {
    /// The result, and the new state, if it changed.
    async fn decide(
        &self,
        write: &mut Write<'_>,
    ) -> Result<(Appended, Option<(WorkId, State)>), ServiceError> {
        // Under the writer, so that nothing is forgotten between this and the commit.
        if self.is_of_forgotten_session(write).await? {
            return Ok((Appended::default(), None));
        }
        if self.prepared.iter().all(|one| one.by == Reporter::Caller) {
            return self.append(write).await;
        }
        let forgotten = write.store().history().forgotten_texts().await?;
        if forgotten.is_empty() {
            return self.append(write).await;
        }
        let prepared: Vec<Prepared> = self.prepared.iter().map(|one| one.without(&forgotten)).collect();
        Append { prepared: &prepared, ..*self }.append(write).await
    }

    /// Whether a transcript reports of a session that a person had forgotten.
    async fn is_of_forgotten_session(&self, write: &Write<'_>) -> Result<bool, ServiceError> {
        let is_of_transcript = self.prepared.iter().any(|one| one.by == Reporter::Transcript);
        let session = self.actor.session.as_ref().filter(|_| is_of_transcript);
        let tombstone = session.map(HistoryTombstone::of_session);
        Ok(write.has_history_tombstone(tombstone.as_slice()).await?)
    }

    async fn append(
        &self,
        write: &mut Write<'_>,
    ) -> Result<(Appended, Option<(WorkId, State)>), ServiceError> {
        let Self { journal, actor, prepared, .. } = *self;
        let mut draft = self.draft(write).await?;
        let work = &draft.stored.work;
        let id = work.id;
        if work.key_id != journal.held.key_id {
            return Err(foreign(&id));
        }
        let mut known = journal.known_onces(work, onces(prepared, &id)).await?;
        let now = journal.base.now();
        let late = lease::is_late(work, &draft.state, &actor.holder(), now);
        if late && self.must_hold {
            return Err(held_by_another(&id));
        }
        let mut appended = Appended { work: Some(id), late, ..Appended::default() };
        // While the clock is behind, moments rise by microseconds, so that an age would put an event before earlier ones.
        let at_record: Vec<Prepared>;
        let prepared = if write.at().duration_since(now) > CLOCK_BEHIND {
            at_record = prepared.iter().map(Prepared::at_record).collect::<Result<_, _>>()?;
            at_record.as_slice()
        } else {
            prepared
        };
        for one in prepared {
            if !one.onces(&id).is_disjoint(&known) {
                appended.repeated += 1;
                continue;
            }
            known.extend(one.once(&id));
            // A prompt after the end resumes the session.
            if draft.state.closed.is_some() && matches!(one.step, Step::Prompt { .. }) && !late {
                draft.record(write.at(), Step::Reopened)?;
            }
            if !late {
                draft.entitle(one);
            }
            if !late && one.is_activity() {
                draft.go_on(actor, write.at())?;
            }
            // Gaps are written by the journal itself.
            let was_settled = draft.state.closed.is_some() && !draft.state.is_left_half_way();
            draft.add(write.at(), one, late && !matches!(one.step, Step::Gap { .. }));
            appended.recorded += 1;
            // Not where a person closed what was left half-way.
            if was_settled && draft.state.was_closed_too_early() {
                draft.record(write.at(), Step::Reopened)?;
            }
        }
        appended.seq = draft.stored.work.seq;
        appended.is_long = appended.seq >= limits::EVENTS_WARN;
        if appended.recorded == 0 {
            return Ok((appended, None));
        }
        if !late && prepared.iter().any(Prepared::is_activity) {
            draft.renew(actor, now);
        }
        let (_, state) = draft.finish(write);
        Ok((appended, Some((id, state))))
    }

    /// The target and its state. For a session's piece of work: a new one if there is none or the present one is full.
    async fn draft(&self, write: &mut Write<'_>) -> Result<Draft, ServiceError> {
        let Self { journal, actor, target, prepared, .. } = *self;
        let room = limits::EVENTS_MAX.saturating_sub(2 * prepared.len() as u64 + 2);
        match target {
            Target::Work(id) => {
                let found = write.work(id).await?.filter(|stored| stored.work.owner == actor.owner);
                let stored = found.ok_or(ServiceError::NoWork(*id))?;
                if stored.work.seq > room {
                    let problem = "it has as many events as a piece of work may have; fork it";
                    return Err(ServiceError::invalid("work", id.as_str(), problem));
                }
                let state = journal.state_of(&stored).await?;
                Ok(Draft::of(&journal.held, stored, state))
            }
            Target::Session => {
                let name = actor.session_name();
                let Some(stored) = write.named_work(&name).await? else {
                    return self.begin(write, name, None);
                };
                let state = journal.state_of(&stored).await?;
                if stored.work.seq <= room {
                    return Ok(Draft::of(&journal.held, stored, state));
                }
                let full = ((stored.work.id, stored.work.seq), state.clone());
                let mut old = Draft::of(&journal.held, stored, state);
                let text = Some(
                    "it has as many events as a piece of work may have, and goes on in another".to_owned(),
                );
                let closed = Step::Closed { outcome: cerebro_ledger::Outcome::Done, text };
                old.record(write.at(), closed)?;
                old.stored.work.name = None;
                old.finish(write);
                self.begin(write, name, Some(full))
            }
        }
    }

    /// A new piece of work for the session, with its first event. `full` is the full one that it continues, and the
    /// state of that.
    fn begin(
        &self,
        write: &Write<'_>,
        name: String,
        full: Option<((WorkId, u64), State)>,
    ) -> Result<Draft, ServiceError> {
        let Self { journal, actor, prepared, .. } = *self;
        let title = prepared.iter().find_map(Prepared::title).unwrap_or(UNTITLED);
        let mut work = new_work(journal, actor, SESSION, title, write.at());
        let (forked_from, state) = full.unzip();
        work.forked_from = forked_from;
        work.name = Some(name);
        let stored = StoredWork { work, sealed: 0 };
        let mut draft = Draft::of(&journal.held, stored, state.unwrap_or_default());
        if let Some((from, at)) = forked_from {
            draft.record(write.at(), Step::Forked { from: from.to_string(), at })?;
        } else if !prepared.iter().any(|one| matches!(one.step, Step::Begun { .. })) {
            let begun = Step::Begun {
                title: draft.stored.work.title.to_string(),
                goal: None,
                agent: actor.agent.to_string(),
                directory: actor.directory.clone(),
                commit: None,
                steps: Vec::new(),
            };
            draft.record(write.at(), begun)?;
        }
        Ok(draft)
    }
}

/// A piece of work before its first event.
pub(super) fn new_work(journal: &Journal, actor: &Actor, kind: &str, title: &str, at: Timestamp) -> Work {
    Work {
        id: WorkId::random(),
        owner: actor.owner.clone(),
        project: actor.project.clone(),
        kind: kind.to_owned(),
        title: line(title, limits::TITLE_CHARS_MAX),
        key: None,
        name: None,
        session: actor.session.clone(),
        agent: actor.agent.clone(),
        parent: None,
        forked_from: None,
        status: Status::Open,
        outcome: None,
        lost: false,
        unknown: 0,
        created_at: at,
        active_at: at,
        seq: 0,
        head: Mac::default(),
        lease: None,
        fence: 0,
        key_id: journal.held.key_id.clone(),
        row_mac: Mac::default(),
        version: 0,
    }
}

/// Why a piece of work of another home is not written to: its chain cannot be continued with this home's key.
pub(super) fn foreign(id: &WorkId) -> ServiceError {
    ServiceError::invalid("work", id.as_str(), "another home made it; fork it to go on with it")
}
