//! Reading the journal: lists, one piece of work, its events, and the hint for whoever resumes it.

use cerebro_core::domain::{SessionId, Timestamp, WorkId};
use cerebro_ledger::{
    ChainedEvent, Entry, IntentState, LiveSession, State, Status, Unfinished, Work, World, action, fold, hint,
};
use cerebro_store::StoredWork;

use super::{
    Actor, ListedWork, ResumedWork, ShownWork, Stale, WORKS_LISTED_MAX, WorkArtifact, WorkFilter, WorkQuery,
    draft::{CHECKPOINT_EVERY, unpacked},
};
use crate::{Journal, ServiceError, lock};

/// How many events are read at once.
pub(super) const PAGE: usize = 1_000;
/// The longest chain of forks that is followed.
const FORKS_MAX: usize = 8;
/// Most pieces of work that are examined to find the one to resume.
const CANDIDATES_MAX: usize = 50;
/// Most other live sessions that a hint is checked against.
const LIVE_MAX: usize = 8;
/// How long the first hint waits for the seals to be read.
const HEAD_WAIT: std::time::Duration = std::time::Duration::from_millis(200);
/// How long after its last event a piece of work is stale.
const IDLE: jiff::SignedDuration = jiff::SignedDuration::from_hours(24);

impl Journal {
    /// Pieces of work of the actor's owner, the latest active first.
    pub async fn list(&self, actor: &Actor, query: WorkQuery) -> Result<Vec<ListedWork>, ServiceError> {
        let limit = query.limit.clamp(1, WORKS_LISTED_MAX);
        let now = self.base.now();
        let lives: &[bool] = match query.filter {
            WorkFilter::Closed => &[false],
            WorkFilter::All => &[true, false],
            _ => &[true],
        };
        let (works, mut listed) = (self.base.store.works(), Vec::new());
        for &live in lives {
            let mut place = Some((query.before.unwrap_or(Timestamp::MAX), query.after));
            let mut found = Vec::new();
            while found.len() < limit
                && let Some(page) =
                    works.latest_page(live, query.project.as_ref(), &mut place, WORKS_LISTED_MAX).await?
            {
                let own = page.into_iter().filter(|stored| stored.work.owner == actor.owner);
                let wanted = own.map(|stored| listing(stored, now));
                found.extend(wanted.filter(|one| fits(one, query.filter, now)));
            }
            listed.extend(found);
        }
        listed.sort_by(|a, b| (b.work.active_at, &b.work.id).cmp(&(a.work.active_at, &a.work.id)));
        listed.truncate(limit);
        Ok(listed)
    }

    /// One piece of work with its state.
    ///
    /// # Errors
    /// [`ServiceError::NoWork`], or a failing store.
    pub async fn show(&self, actor: &Actor, id: &WorkId) -> Result<ShownWork, ServiceError> {
        let stored = self.stored_work(&actor.owner, id).await?;
        let state = self.state_of(&stored).await?;
        let ListedWork { work, stale } = listing(stored, self.base.now());
        Ok(ShownWork { work, state, stale })
    }

    /// Events of a piece of work after a number, in order, at most a page of them.
    ///
    /// # Errors
    /// [`ServiceError::NoWork`], or a failing store.
    pub async fn tail(
        &self,
        actor: &Actor,
        id: &WorkId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Entry>, ServiceError> {
        self.stored_work(&actor.owner, id).await?;
        let last = after.saturating_add(limit.clamp(1, PAGE) as u64);
        let kept = self.base.store.works().events(id, after.saturating_add(1)..=last).await?;
        Ok(kept.iter().map(Entry::from).collect())
    }

    /// The whole body of an event whose row has only the beginning; `None` if the row has all of it, or the text was
    /// purged. It is checked against its name.
    ///
    /// # Errors
    /// [`ServiceError::NoWork`]; [`ServiceError::Invalid`] for a number that it does not have;
    /// [`ServiceError::JournalAltered`] for an artifact that is not what was written; a failing store.
    pub async fn artifact(
        &self,
        actor: &Actor,
        id: &WorkId,
        seq: u64,
    ) -> Result<Option<WorkArtifact>, ServiceError> {
        self.stored_work(&actor.owner, id).await?;
        let found = self.base.store.works().events(id, seq..=seq).await?;
        let kept = found.into_iter().find(|kept| kept.seq == seq);
        let kept =
            kept.ok_or_else(|| ServiceError::invalid("seq", &seq.to_string(), "it has no such event"))?;
        let Some(name) = kept.artifact.filter(|_| kept.body.is_some()) else { return Ok(None) };
        let bytes = self.base.store.artifacts().by_id(&name).await?.as_ref().and_then(unpacked);
        let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
        let altered = || ServiceError::JournalAltered(format!("the artifact of event {seq}"));
        Ok(Some(WorkArtifact { id: name, text: text.ok_or_else(altered)?, full: kept.full }))
    }

    /// Pieces of work of the actor's owner with effects of unknown outcome, and these effects.
    pub async fn unsettled(&self, actor: &Actor) -> Result<Vec<(Work, Vec<IntentState>)>, ServiceError> {
        let (mut place, mut unsettled) = (Some((Timestamp::MAX, None)), Vec::new());
        while unsettled.len() < WORKS_LISTED_MAX
            && let Some(page) =
                self.base.store.works().latest_page(true, None, &mut place, WORKS_LISTED_MAX).await?
        {
            for stored in page {
                if stored.work.owner == actor.owner && stored.work.unknown > 0 {
                    let intents = self.state_of(&stored).await?.open_intents().cloned().collect();
                    unsettled.push((stored.work, intents));
                }
            }
        }
        unsettled.truncate(WORKS_LISTED_MAX);
        Ok(unsettled)
    }

    /// What to do with a piece of work, and the hint for whoever resumes it. If none is named, it is the latest active
    /// one of the actor's project that has not ended and does not belong to a live session, and the hint names the others.
    ///
    /// Reading does not count as activity: nothing changes.
    ///
    /// # Errors
    /// [`ServiceError::NoWork`] for one that is named, or a failing store.
    pub async fn resume(
        &self,
        actor: &Actor,
        id: Option<&WorkId>,
        world: &World,
        max_bytes: usize,
    ) -> Result<Option<ResumedWork>, ServiceError> {
        if self.held.retention.is_none() {
            return Ok(None);
        }
        let mut world = world.clone();
        let (work, state) = match id {
            Some(id) => {
                let stored = self.stored_work(&actor.owner, id).await?;
                let state = self.state_of(&stored).await?;
                (stored.work, state)
            }
            None => {
                let mut found = self.unfinished(actor, &world).await?.into_iter();
                let Some(first) = found.next() else { return Ok(None) };
                world.others = found.map(|(work, state)| Unfinished::of(&work, &state)).collect();
                first
            }
        };
        world.live = self.live_beside(actor, &work, &world).await?;
        let holder = work.holder(world.now).filter(|holder| *holder != actor.holder());
        world.held_by = holder.map(str::to_owned);
        world.head = self.head_at_hand().await;
        let text = hint(&work, &state, &world, max_bytes);
        let (action, stale) = (action(&state, &world), Stale::of(&work, world.now));
        Ok(Some(ResumedWork { action, work, state, stale, others: world.others, text }))
    }

    /// The head of the journal, if it is known soon: after the start of a process, the seals are still being read.
    async fn head_at_hand(&self) -> Option<(u64, String)> {
        let journal = &self.held;
        let known = lock(&journal.head).clone();
        if known.is_some() {
            return known;
        }
        if let Ok(mut slot) = tokio::time::timeout(HEAD_WAIT, journal.sealed.lock()).await
            && let Err(error) = self.sealed(&mut slot).await
        {
            tracing::warn!(%error, "a hint ends without a head");
        }
        lock(&journal.head).clone()
    }

    /// The unfinished pieces of work of the actor's project in which no live session works, the latest active first.
    async fn unfinished(&self, actor: &Actor, world: &World) -> Result<Vec<(Work, State)>, ServiceError> {
        let now = self.base.now();
        let mut found = Vec::new();
        let project = &actor.project;
        let latest = self.base.store.works().latest(true, Some(project), CANDIDATES_MAX).await?;
        for stored in latest.readable {
            let work = &stored.work;
            let is_own = work.session.is_some() && work.session == actor.session;
            let is_live = work.keeper(now).is_some_and(|session| self.is_live(&session, world));
            if work.owner != actor.owner || is_own || is_live {
                continue;
            }
            let state = self.state_of(&stored).await?;
            if !state.is_over() {
                found.push((stored.work, state));
            }
        }
        Ok(found)
    }

    /// Whether an agent works in a session.
    fn is_live(&self, session: &SessionId, world: &World) -> bool {
        self.sessions.is_connected(session) || world.at_work.contains(session)
    }

    /// Other live sessions of the project, with what they edited.
    async fn live_beside(
        &self,
        actor: &Actor,
        work: &Work,
        world: &World,
    ) -> Result<Vec<LiveSession>, ServiceError> {
        let own = actor.session.as_ref();
        if !self.sessions.is_any_connected_but(own) && world.at_work.iter().all(|other| Some(other) == own) {
            return Ok(Vec::new());
        }
        let latest = self.base.store.works().latest(true, Some(&work.project), CANDIDATES_MAX).await?;
        let mut live = Vec::new();
        for stored in latest.readable.into_iter().filter(|stored| stored.work.owner == actor.owner) {
            let session = stored.work.session.as_ref();
            let is_other = stored.work.id != work.id && session != own;
            if !is_other || !session.is_some_and(|session| self.is_live(session, world)) {
                continue;
            }
            let state = self.state_of(&stored).await?;
            let files = state.edited_paths().collect();
            let (agent, active_at) = (stored.work.agent.to_string(), stored.work.active_at);
            live.push(LiveSession { agent, active_at, files });
            if live.len() == LIVE_MAX {
                break;
            }
        }
        Ok(live)
    }

    /// A piece of work of an owner. Those of other owners are not found.
    pub(crate) async fn stored_work(&self, owner: &str, id: &WorkId) -> Result<StoredWork, ServiceError> {
        let found = self.base.store.works().by_id(id).await?.filter(|stored| stored.work.owner == owner);
        found.ok_or(ServiceError::NoWork(*id))
    }

    /// The state of a piece of work: from memory, or else folded.
    pub(super) async fn state_of(&self, stored: &StoredWork) -> Result<State, ServiceError> {
        let (id, seq) = (&stored.work.id, stored.work.seq);
        let at_hand = self.held.remembered(id).filter(|state| state.seq <= seq);
        let state = match at_hand {
            Some(state) if state.seq == seq => return Ok(state),
            Some(state) => self.folded_on(state, id, seq).await?,
            None => match self.kept_state(&stored.work).await? {
                Some(state) => self.folded_on(state, id, seq).await?,
                None => self.state_at(stored, seq).await?,
            },
        };
        self.held.remember(*id, state.clone());
        Ok(state)
    }

    /// The last checkpoint of a long piece of work.
    async fn kept_state(&self, work: &Work) -> Result<Option<State>, ServiceError> {
        if work.seq < CHECKPOINT_EVERY {
            return Ok(None);
        }
        let kept = self.base.store.checkpoints().of(&work.id).await?.filter(|kept| kept.seq <= work.seq);
        let Some(kept) = kept else { return Ok(None) };
        // A checkpoint is derived: one that this home did not write is ignored.
        let is_own = self.held.key.of(&work.id).checkpoint(&work.id, kept.seq, &kept.state) == kept.mac;
        Ok(serde_json::from_str(&kept.state).ok().filter(|state: &State| is_own && state.seq == kept.seq))
    }

    /// A state of a piece of work, with the events after it.
    async fn folded_on(&self, state: State, id: &WorkId, upto: u64) -> Result<State, ServiceError> {
        let later = self.events_after(id, state.seq, upto).await?;
        Ok(later.iter().map(Entry::from).fold(state, |state, entry| fold(state, &entry)))
    }

    /// The state after one of its events.
    pub(super) async fn state_at(&self, stored: &StoredWork, at: u64) -> Result<State, ServiceError> {
        // From the piece of work itself back to the first one that it was forked from.
        let mut line = vec![(stored.work.id, at)];
        let mut from = stored.work.forked_from;
        while let Some((id, at)) = from {
            if line.len() > FORKS_MAX {
                break;
            }
            line.push((id, at));
            from = self.base.store.works().by_id(&id).await?.and_then(|stored| stored.work.forked_from);
        }
        let mut state = State::default();
        for (id, upto) in line.into_iter().rev() {
            state.seq = 0;
            state = self.folded_on(state, &id, upto).await?;
        }
        Ok(state)
    }

    /// All events of a piece of work that are there, also those beyond the last one that its row knows.
    pub(super) async fn all_events(&self, work: &Work) -> Result<Vec<ChainedEvent>, ServiceError> {
        self.events_between(&work.id, (0, work.seq), u64::MAX).await
    }

    /// The events of a piece of work after a number, up to another one.
    pub(super) async fn events_after(
        &self,
        id: &WorkId,
        after: u64,
        upto: u64,
    ) -> Result<Vec<ChainedEvent>, ServiceError> {
        self.events_between(id, (after, upto), upto).await
    }

    /// The events of a piece of work after a number and up to another one, and those from there to `end` that are
    /// there.
    async fn events_between(
        &self,
        id: &WorkId,
        (after, upto): (u64, u64),
        end: u64,
    ) -> Result<Vec<ChainedEvent>, ServiceError> {
        let mut events: Vec<ChainedEvent> = Vec::new();
        let mut from = after + 1;
        loop {
            let last = from.saturating_add(PAGE as u64 - 1);
            let is_last = last >= upto;
            events.extend(self.base.store.works().events(id, from..=if is_last { end } else { last }).await?);
            if is_last {
                break;
            }
            from = last + 1;
        }
        // Events are read in order of ids. The number of a changed event may differ from that of its id.
        events.sort_by_key(|kept| kept.seq);
        Ok(events)
    }
}

fn listing(stored: StoredWork, now: Timestamp) -> ListedWork {
    let stale = Stale::of(&stored.work, now);
    ListedWork { work: stored.work, stale }
}

impl Stale {
    /// Why an open piece of work may need somebody, if it does.
    pub fn of(work: &Work, now: Timestamp) -> Option<Self> {
        if work.status == Status::Closed {
            None
        } else if work.lost {
            Some(Self::Lost)
        } else if work.lease.as_ref().is_some_and(|lease| lease.until <= now) {
            Some(Self::Lapsed)
        } else if now.duration_since(work.active_at) > IDLE {
            Some(Self::Idle)
        } else {
            None
        }
    }
}

fn fits(one: &ListedWork, filter: WorkFilter, now: Timestamp) -> bool {
    match filter {
        WorkFilter::Open | WorkFilter::Closed | WorkFilter::All => true,
        WorkFilter::Free => one.work.status == Status::Open && one.work.holder(now).is_none(),
        WorkFilter::Waiting => one.work.status == Status::Waiting,
        WorkFilter::Stale => one.stale.is_some(),
    }
}
