//! Writing down what happened, and never being waited for longer than a moment.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use cerebro_core::domain::{Timestamp, WorkId};
use cerebro_ledger::{Mac, State, Status, Step, Work, claim, limits};
use cerebro_store::{Decision, StoredWork, Write};

use super::{
    Actor, Appended, Happening, JournalReport, Target,
    draft::{Draft, Prepared, lease_end, line},
};
use crate::{Service, ServiceError, lock};

/// How long a caller waits for the journal.
pub(super) const WAIT_MAX: Duration = Duration::from_secs(2);
/// How long nobody waits after one waited in vain.
const DEGRADED: Duration = Duration::from_secs(60);
/// Most sessions and pieces of work of which it is remembered that something is missing.
const MISSED_MAX: usize = 256;

/// What is missing from one piece of work.
#[derive(Debug, Clone, Copy)]
struct Missed {
    from: Timestamp,
    to: Timestamp,
    count: u64,
}

/// Whether the journal keeps up.
#[derive(Default)]
pub(super) struct Slow {
    until: Option<Timestamp>,
    unwaited: u64,
    missed: BTreeMap<String, Missed>,
}

impl Slow {
    fn miss(&mut self, place: String, at: Timestamp, count: usize) {
        self.unwaited += count as u64;
        if self.missed.len() < MISSED_MAX || self.missed.contains_key(&place) {
            let missed = self.missed.entry(place).or_insert(Missed { from: at, to: at, count: 0 });
            missed.to = at;
            missed.count += count as u64;
        }
    }
}

/// Where events go, as a name for what is missing there.
fn place(actor: &Actor, target: &Target) -> String {
    match target {
        Target::Session => format!("{}/{}", actor.owner, actor.holder()),
        Target::Work(id) => format!("{}/{id}", actor.owner),
    }
}

impl Service {
    /// Writes down what happened, in order and in one commit, in a piece of work of the actor's. It waits for two
    /// seconds at most; then nobody waits for a minute, and what was missed is told when the journal is back.
    ///
    /// Where the journal is off, nothing is kept.
    ///
    /// # Errors
    /// [`ServiceError::NoWork`]; [`ServiceError::Invalid`] for more than [`limits::BATCH_MAX`] at once or a piece of
    /// work that is full or of another home; a failing store.
    pub async fn work_append(
        &self,
        actor: &Actor,
        target: Target,
        happenings: Vec<Happening>,
    ) -> Result<Appended, ServiceError> {
        if self.journal().retention.is_none() || happenings.is_empty() {
            return Ok(Appended::default());
        }
        if happenings.len() > limits::BATCH_MAX {
            let problem = format!("at most {} events at once", limits::BATCH_MAX);
            return Err(ServiceError::invalid("events", &happenings.len().to_string(), problem));
        }
        let (place, count) = (place(actor, &target), happenings.len());
        let now = self.now();
        if lock(&self.journal().slow).until.is_some_and(|until| now < until) {
            lock(&self.journal().slow).miss(place, now, count);
            return Ok(Appended { degraded: true, ..Appended::default() });
        }
        let (service, actor) = (self.clone(), actor.clone());
        // In a task of its own: a caller that goes must not stop a commit half-way.
        let work = self.0.tasks.spawn("writing down what happened", async move {
            let missed = lock(&service.journal().slow).missed.remove(&place);
            let done = service.append(&actor, target, happenings, missed.map(gap)).await;
            if let (Err(_), Some(missed)) = (&done, missed) {
                lock(&service.journal().slow).missed.entry(place).or_insert(missed);
            }
            done
        });
        match tokio::time::timeout(WAIT_MAX, work).await {
            Ok(Ok(done)) => done,
            Ok(Err(_)) => Ok(Appended { degraded: true, ..Appended::default() }),
            Err(_) => {
                tracing::warn!("the journal did not answer in time; nobody waits for it for a minute");
                let mut slow = lock(&self.journal().slow);
                slow.until = Some(lease_end(now, DEGRADED));
                slow.unwaited += count as u64;
                Ok(Appended { degraded: true, ..Appended::default() })
            }
        }
    }

    /// Whether the journal keeps up.
    pub fn journal_report(&self) -> JournalReport {
        let slow = lock(&self.journal().slow);
        let now = self.now();
        JournalReport {
            enabled: self.journal().retention.is_some(),
            degraded_until: slow.until.filter(|until| now < *until),
            unwaited: slow.unwaited,
        }
    }

    async fn append(
        &self,
        actor: &Actor,
        target: Target,
        happenings: Vec<Happening>,
        gap: Option<Step>,
    ) -> Result<Appended, ServiceError> {
        let steps = gap.map(Happening::from).into_iter().chain(happenings);
        let prepared = steps.map(Prepared::of).collect::<Result<Vec<_>, _>>()?;
        let decision = Append { service: self, actor, target: &target, prepared: &prepared };
        let (appended, changed) = self.store().transact(&decision).await?;
        if let Some((id, state)) = changed {
            self.journal().remember(id, state);
        }
        Ok(appended)
    }
}

fn gap(missed: Missed) -> Step {
    let reason = "the journal answered too slowly".to_owned();
    Step::Gap { from: missed.from, to: missed.to, count: Some(missed.count), reason, filled: false }
}

struct Append<'a> {
    service: &'a Service,
    actor: &'a Actor,
    target: &'a Target,
    prepared: &'a [Prepared],
}

impl Decision for Append<'_> {
    /// What became of it, and the state that it left, if it changed any.
    type Output = (Appended, Option<(WorkId, State)>);
    type Error = ServiceError;

    async fn decide(&self, write: &mut Write<'_>) -> Result<Self::Output, ServiceError> {
        let Self { service, actor, prepared, .. } = *self;
        let mut draft = self.draft(write).await?;
        let work = &draft.stored.work;
        let id = work.id;
        if work.key_id != service.journal().key_id {
            return Err(foreign(&id));
        }
        let onces: Vec<String> = prepared.iter().filter_map(|one| one.once(&id)).collect();
        let mut known: BTreeSet<String> = if onces.is_empty() || work.seq == 0 {
            BTreeSet::new()
        } else {
            write.store().work_onces(&onces).await?.into_iter().collect()
        };
        let now = service.now();
        let late = claim::is_late(work, &actor.holder(), now);
        let mut appended = Appended { work: Some(id), late, ..Appended::default() };
        for one in prepared {
            if one.once(&id).is_some_and(|once| !known.insert(once)) {
                appended.repeated += 1;
                continue;
            }
            // Somebody asks for more after the end: it goes on.
            if draft.state.closed.is_some() && matches!(one.step, Step::Prompt { .. }) && !late {
                draft.tell(write.at(), Step::Reopened)?;
            }
            draft.add(write.at(), one, late);
            appended.recorded += 1;
        }
        appended.seq = draft.stored.work.seq;
        appended.is_long = appended.seq >= limits::EVENTS_WARN;
        if appended.recorded == 0 {
            return Ok((appended, None));
        }
        if !late {
            draft.renew(actor, now);
        }
        let (_, state) = draft.finish(write);
        Ok((appended, Some((id, state))))
    }
}

impl Append<'_> {
    /// The piece of work that is meant, with its state; one that is new, or goes on from one that is full, where it is
    /// that of the session.
    async fn draft(&self, write: &mut Write<'_>) -> Result<Draft<'_>, ServiceError> {
        let Self { service, actor, target, prepared } = *self;
        let room = limits::EVENTS_MAX.saturating_sub(2 * prepared.len() as u64 + 2);
        match target {
            Target::Work(id) => {
                let stored = service.stored_work(&actor.owner, id).await?;
                if stored.work.seq > room {
                    let problem = "it has as many events as a piece of work may have; fork it";
                    return Err(ServiceError::invalid("work", id.as_str(), problem));
                }
                let state = service.state_of(&stored).await?;
                Ok(Draft::of(service.journal(), stored, state))
            }
            Target::Session => {
                let name = actor.session_name();
                let Some(stored) = write.store().work_named(&name).await? else {
                    return self.begin(write, name, None);
                };
                let state = service.state_of(&stored).await?;
                if stored.work.seq <= room {
                    return Ok(Draft::of(service.journal(), stored, state));
                }
                let full = ((stored.work.id, stored.work.seq), state.clone());
                let mut old = Draft::of(service.journal(), stored, state);
                let text = Some(
                    "it has as many events as a piece of work may have, and goes on in another".to_owned(),
                );
                let closed = Step::Closed { outcome: cerebro_ledger::Outcome::Done, text };
                old.tell(write.at(), closed)?;
                old.stored.name = None;
                old.finish(write);
                self.begin(write, name, Some(full))
            }
        }
    }

    /// A new piece of work for the session, with its first event. `full` is the one that it goes on from, and what
    /// that came to.
    fn begin(
        &self,
        write: &Write<'_>,
        name: String,
        full: Option<((WorkId, u64), State)>,
    ) -> Result<Draft<'_>, ServiceError> {
        let Self { service, actor, prepared, .. } = *self;
        let title = prepared.iter().find_map(|one| match &one.step {
            Step::Begun { title, .. } => Some(title.clone()),
            Step::Prompt { text } => Some(text.clone()),
            _ => None,
        });
        let title = title.unwrap_or_else(|| "a session".to_owned());
        let mut work = new_work(service, actor, "session", &title, write.at());
        let (forked_from, state) = full.unzip();
        work.forked_from = forked_from;
        let stored = StoredWork { work, name: Some(name), unknown: 0, sealed: 0 };
        let mut draft = Draft::of(service.journal(), stored, state.unwrap_or_default());
        if let Some((from, at)) = forked_from {
            draft.tell(write.at(), Step::Forked { from: from.to_string(), at })?;
        } else if !prepared.iter().any(|one| matches!(one.step, Step::Begun { .. })) {
            let begun = Step::Begun {
                title: draft.stored.work.title.to_string(),
                goal: None,
                agent: actor.agent.to_string(),
                directory: actor.directory.clone(),
                commit: None,
                steps: Vec::new(),
            };
            draft.tell(write.at(), begun)?;
        }
        Ok(draft)
    }
}

/// A piece of work before its first event.
pub(super) fn new_work(service: &Service, actor: &Actor, kind: &str, title: &str, at: Timestamp) -> Work {
    Work {
        id: WorkId::random(),
        owner: actor.owner.clone(),
        project: actor.project.clone(),
        kind: kind.to_owned(),
        title: line(title, limits::TITLE_CHARS_MAX),
        key: None,
        session: actor.session.clone(),
        agent: actor.agent.clone(),
        parent: None,
        forked_from: None,
        status: Status::Open,
        outcome: None,
        lost: false,
        created_at: at,
        active_at: at,
        seq: 0,
        head: Mac::default(),
        lease: None,
        fence: 0,
        key_id: service.journal().key_id.clone(),
        row_mac: Mac::default(),
        version: 0,
    }
}

/// Why a piece of work of another home is not written to: its chain cannot go on with this home's key.
pub(super) fn foreign(id: &WorkId) -> ServiceError {
    ServiceError::invalid("work", id.as_str(), "another home made it; fork it to go on with it")
}
