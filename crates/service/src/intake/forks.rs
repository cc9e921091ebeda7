//! Forks: sessions that begin with a copy of another one. Each exchange is stored once, with the original. Which of two
//! sessions is the original follows from their content, so the order in which they are read does not matter.
//!
//! What a session says next can decide it anew, as long as the session has no whole exchange of its own. Such a session is
//! *undecided*: its source is stored without a cursor, so it is read from its beginning when it has grown, and compared again.
//! It finds the sessions that own some of its turns. Its copies own none, so their sources are *doubted*: they are read again by
//! the scan that reads it, or by the next one if a hook named it.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use super::Intake;
use super::{
    reading::{Fault, Reading},
    take::{Pass, Trouble, blocking},
    walk::{Found, Stat},
};
use crate::{ServiceError, agent_slug, lock};
use cerebro_core::domain::{
    AncestorKind, PastSession, SessionId, Source, SourceState, Timestamp, native_digest,
};
use cerebro_transcript::{
    Agent, Batch, Exchange,
    lineage::{self, Lineage},
    turn::Parent,
};

/// Most turns whose owners are looked up at once.
const TURNS: usize = 1_000;
/// Most forks of some sessions that are read again.
const FORKS_MAX: usize = 1_000;
/// The time of the last change in the row of a doubted source.
const DOUBTED: i64 = 0;

/// Whether a source is read from its beginning when its file has grown.
pub(super) fn is_undecided(source: &Source) -> bool {
    source.session.is_some() && source.cursor.is_none()
}

/// The row of a source that is to be read from its beginning, even if its file is as it was.
pub(super) fn doubted(source: Source) -> Source {
    Source { mtime: DOUBTED, ..source }
}

/// See [`doubted`].
pub(super) fn is_doubted(source: &Source) -> bool {
    source.mtime == DOUBTED
}

/// What a session that is read from its beginning has in common with others.
#[derive(Debug, Default)]
pub(super) struct Copying {
    /// The sessions that it may be a copy of, an original before its copies.
    originals: Vec<Relative>,
    /// The `seq` of its first exchange that is its own, if others have the same beginning.
    own_from: Option<u32>,
    /// The session that it was copied from, as far as that is known.
    parent: Option<Parent>,
}

/// A session with the same beginning.
#[derive(Debug)]
struct Relative {
    past: PastSession,
    /// See [`lineage::Branch`].
    own_since: Option<Timestamp>,
    /// The first and last turns of its exchanges.
    turns: BTreeSet<(String, String)>,
}

impl Relative {
    fn parent(&self) -> Option<&SessionId> {
        self.past.parent.as_ref()?.session.as_ref()
    }

    fn branch(&self) -> lineage::Branch<'_> {
        let parent = self.parent().map(SessionId::as_str);
        lineage::Branch { id: self.past.id.as_str(), parent, own_since: self.own_since }
    }
}

/// The exchanges of a session by their place, as its copies are known by: digests of the native ids of the first and the
/// last turn, and when it began.
type Outline = BTreeMap<u32, (Turns, Option<Timestamp>)>;
/// See [`Outline`]; none for exchanges without native ids.
type Turns = Option<(String, String)>;

fn add(outline: &mut Outline, exchanges: &[Exchange]) {
    for exchange in exchanges {
        let first = exchange.first_id.as_deref();
        let last = exchange.last_id.as_deref().or(first);
        let turns = first.zip(last).map(|(first, last)| (native_digest(first), native_digest(last)));
        outline.insert(exchange.seq, (turns, exchange.at));
    }
}

/// The outline of a whole file. Blocks.
fn outline_of(found: Found, now: Timestamp) -> Result<Outline, Fault> {
    let mut outline = Outline::new();
    Reading::each_exchange(found, now, |exchange| add(&mut outline, &[exchange]))?;
    Ok(outline)
}

fn turns(outline: &Outline) -> BTreeSet<(String, String)> {
    outline.values().filter_map(|(turns, _)| turns.clone()).collect()
}

/// Whether one of these exchanges begins with a turn.
fn has_begun(turns: &BTreeSet<(String, String)>, first: &str) -> bool {
    let from = (first.to_owned(), String::new());
    turns.range(from..).next().is_some_and(|(other, _)| other == first)
}

/// What a session has behind its last exchange that another session has too, or at least has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Own {
    /// The place of the first exchange, and when it began.
    first: Option<(u32, Option<Timestamp>)>,
    count: usize,
}

impl Own {
    /// `others` are the turns of the other session.
    fn of(outline: &Outline, others: &BTreeSet<(String, String)>) -> Self {
        let is_common = |turns: &Turns| turns.as_ref().is_some_and(|(first, _)| has_begun(others, first));
        let behind = outline.iter().rev().take_while(|(_, (turns, _))| !is_common(turns));
        behind.fold(Self::default(), |own, (seq, (_, at))| Self {
            first: Some((*seq, *at)),
            count: own.count + 1,
        })
    }

    fn since(&self) -> Option<Timestamp> {
        self.first.and_then(|(_, at)| at)
    }

    /// Whether none of them is whole: the last one may still become another.
    fn is_undecided(&self) -> bool {
        self.count < 2
    }
}

impl Copying {
    fn add(&mut self, new: Relative) {
        let is_copy = |known: &Relative| lineage::is_original(new.branch(), known.branch());
        let at = self.originals.iter().position(is_copy).unwrap_or(self.originals.len());
        self.originals.insert(at, new);
    }

    /// Whether the parent of a copy has as much of it, and is an original of this session, too. `first` is the copy's first
    /// exchange of its own, and `said` is what this session has.
    fn has_parent_of(
        &self,
        copy: &Relative,
        first: Option<&(String, String)>,
        said: &BTreeSet<(String, String)>,
    ) -> bool {
        let Some((begin, _)) = first.filter(|turns| !said.contains(*turns)) else { return false };
        let is_parent = |known: &Relative| copy.parent() == Some(&known.past.id);
        self.originals.iter().any(|known| is_parent(known) && has_begun(&known.turns, begin))
    }

    /// Whether the session is undecided at the end of a batch. The next reading begins at its second-last exchange.
    fn is_undecided(&self, batch: &Batch) -> bool {
        let next = batch.exchanges.iter().rev().nth(1).map(|exchange| exchange.seq);
        self.own_from.is_some_and(|own_from| next.is_none_or(|next| next < own_from))
    }
}

impl Intake {
    /// Removes from a batch what the session copied from another one, and returns whether the session is undecided. A batch
    /// without the session's first exchange follows one in which it was compared (`copying`), or its own exchanges.
    /// `whole` is the file, if the batch is only a part of it.
    pub(super) async fn drop_copies(
        &self,
        batch: &mut Batch,
        copying: &mut Option<Copying>,
        whole: Option<&Found>,
    ) -> Result<bool, Trouble> {
        let is_beginning = batch.exchanges.first().is_some_and(|first| first.seq == 0);
        let mut known = match copying.take() {
            Some(known) => known,
            None if is_beginning => self.compared(batch, whole).await?,
            None => return Ok(false),
        };
        let is_undecided = known.is_undecided(batch);
        if batch.session.parent.is_none() {
            batch.session.parent.clone_from(&known.parent);
        }
        if !known.originals.is_empty() {
            let owners = |first: &str, last: &str| -> Vec<(String, bool)> {
                let turns = (native_digest(first), native_digest(last));
                let having = known.originals.iter().filter(|known| has_begun(&known.turns, &turns.0));
                having
                    .map(|known| (known.past.id.as_str().to_owned(), known.turns.contains(&turns)))
                    .collect()
            };
            let found = lineage::of(&batch.session, &batch.exchanges, &owners);
            if !found.copies.is_empty() {
                self.drop_stored_copies(&batch.session.id, &found).await?;
            }
            batch.exchanges.retain(|exchange| !found.copies.contains(&exchange.seq));
            known.parent.clone_from(&found.parent);
            batch.session.parent = found.parent;
        }
        *copying = Some(known);
        Ok(is_undecided)
    }

    /// Whether the first of its exchanges that was not forgotten is stored already. If it is not, the session begins with its own
    /// words and is no copy.
    async fn has_relatives(&self, batch: &Batch) -> Result<bool, ServiceError> {
        for first in batch.exchanges.iter().filter_map(|exchange| exchange.first_id.as_deref()) {
            if !self.history.owners(&[first]).await?.is_empty() {
                return Ok(true);
            }
            if self.forgotten_among(&[first]).await?.is_empty() {
                return Ok(false);
            }
        }
        Ok(false)
    }

    /// Compares a session with those that have some of its turns. Its copies are removed from them, because this one has the
    /// originals and is committed next.
    async fn compared(&self, batch: &Batch, whole: Option<&Found>) -> Result<Copying, Trouble> {
        let mut copying = Copying::default();
        let session = &batch.session;
        let Ok(own_id) = SessionId::parse(&session.id) else { return Ok(copying) };
        if !self.has_relatives(batch).await? {
            return Ok(copying);
        }
        let outline = match whole.cloned() {
            Some(found) => {
                let now = self.base.now();
                blocking(move || outline_of(found, now)).await??
            }
            None => {
                let mut outline = Outline::new();
                add(&mut outline, &batch.exchanges);
                outline
            }
        };
        let said = turns(&outline);
        let mut copies = Vec::new();
        for other in self.owners_of(&said).await?.into_iter().filter(|other| *other != own_id) {
            let Some(past) = self.history.session(&other).await? else { continue };
            // Turns of another agent with the same ids are no copies.
            if past.agent != agent_slug(session.agent) {
                continue;
            }
            let outline_of_other = self.stored_outline(&other).await?;
            let their_turns = turns(&outline_of_other);
            let (own, theirs) = (Own::of(&outline, &their_turns), Own::of(&outline_of_other, &said));
            let own_from = own.first.map_or(u32::MAX, |(seq, _)| seq);
            copying.own_from = copying.own_from.max(Some(own_from));
            if theirs.is_undecided() {
                self.leave_undecided(session.agent, &other).await?;
            }
            let one = lineage::Branch {
                id: &session.id,
                parent: session.parent.as_ref().and_then(|parent| parent.session.as_deref()),
                own_since: own.since(),
            };
            let first = outline_of_other.into_values().next().and_then(|(turns, _)| turns);
            let other = Relative { past, own_since: theirs.since(), turns: their_turns };
            if lineage::is_original(one, other.branch()) {
                copies.push((other, first));
            } else {
                copying.add(other);
            }
        }
        for (copy, first) in copies {
            let is_placed = copying.has_parent_of(&copy, first.as_ref(), &said);
            if !is_placed && !self.history.hand_over(&copy.past.id, &own_id, &said).await? {
                copying.add(copy);
            }
        }
        Ok(copying)
    }

    /// Removes from a session the copies that were stored as its own: by an earlier version, or when only their beginning was
    /// there to read.
    async fn drop_stored_copies(&self, own: &str, found: &Lineage) -> Result<(), Trouble> {
        let parent = found.parent.as_ref().and_then(|parent| parent.session.as_deref());
        let (Ok(own), Some(Ok(original))) = (SessionId::parse(own), parent.map(SessionId::parse)) else {
            return Ok(());
        };
        let mut stored = self.stored_outline(&own).await?;
        stored.retain(|seq, _| found.copies.contains(seq));
        if !stored.is_empty() {
            self.history.hand_over(&own, &original, &turns(&stored)).await?;
        }
        Ok(())
    }

    /// Has the forks of a session read again by a scan, this one or the next, if its file has changed since an earlier reading:
    /// one of them may be the original now. `stored` is the source as it was then; a file that was renamed has none. Returns
    /// whether the session stays undecided, because it was and nothing has changed.
    ///
    /// A fork with nothing of its own is not stored, so nothing says whose fork it is; but its original is undecided.
    pub(super) async fn doubt_forks(
        &self,
        agent: Agent,
        session: &str,
        stored: Option<&Source>,
        now: Stat,
        pass: &mut Pass,
    ) -> Result<bool, Trouble> {
        let former = match stored {
            Some(stored) => Some(stored.clone()),
            None => self.source_of(agent, session).await?.map(|(_, source)| source),
        };
        let (Some(before), Ok(own)) = (former, SessionId::parse(session)) else { return Ok(false) };
        let was_undecided = is_undecided(&before);
        let mtime = if is_doubted(&before) { now.mtime } else { before.mtime };
        if now == (Stat { size: before.size, mtime, inode: before.inode }) {
            return Ok(was_undecided);
        }
        let mut forks = self.forks_of(&own).await?;
        if was_undecided {
            forks.append(&mut self.without_exchanges(agent).await?);
        }
        forks.remove(&own);
        for fork in forks {
            let source = self.source_of(agent, fork.as_str()).await?;
            let is_there = |(_, source): &(PathBuf, Source)| source.state != SourceState::Gone;
            let Some((path, source)) = source.filter(is_there) else { continue };
            if !is_doubted(&source) {
                self.history.put_source(&doubted(source)).await?;
            }
            if let Some(known) = lock(&self.state.known).as_mut() {
                known.stats.insert(path.clone(), Stat::default());
            }
            pass.doubted.insert(path);
        }
        Ok(false)
    }

    /// The forks of a session, and theirs.
    async fn forks_of(&self, session: &SessionId) -> Result<BTreeSet<SessionId>, ServiceError> {
        let mut forks = BTreeSet::new();
        let mut parents = vec![session.clone()];
        while !parents.is_empty() {
            let sessions = self.base.store.past_sessions();
            let children = sessions.children(&parents, AncestorKind::Fork, FORKS_MAX).await?;
            parents =
                children.into_iter().map(|fork| fork.id).filter(|fork| forks.insert(fork.clone())).collect();
        }
        Ok(forks)
    }

    /// The undecided sessions of which nothing is stored, because they have nothing of their own.
    async fn without_exchanges(&self, agent: Agent) -> Result<BTreeSet<SessionId>, ServiceError> {
        let mut sessions: BTreeSet<SessionId> = {
            let known = lock(&self.state.known);
            let undecided = known.iter().flat_map(|known| &known.undecided);
            undecided.filter(|(of, _)| *of == agent).map(|(_, session)| session.clone()).collect()
        };
        let ids: Vec<SessionId> = sessions.iter().cloned().collect();
        for stored in self.base.store.past_sessions().by_ids(&ids).await? {
            sessions.remove(&stored.id);
        }
        Ok(sessions)
    }

    /// Notes whether a session is undecided.
    pub(super) fn note_undecided(&self, agent: Agent, session: &str, is_undecided: bool) {
        let (mut known, id) = (lock(&self.state.known), SessionId::parse(session));
        let (Some(known), Ok(id)) = (known.as_mut(), id) else { return };
        if is_undecided {
            known.undecided.insert((agent, id));
        } else {
            known.undecided.remove(&(agent, id));
        }
    }

    /// Has a session read from its beginning when its file has changed.
    async fn leave_undecided(&self, agent: Agent, session: &SessionId) -> Result<(), ServiceError> {
        self.note_undecided(agent, session.as_str(), true);
        match self.source_of(agent, session.as_str()).await? {
            Some((_, source)) if source.cursor.is_some() => {
                self.history.put_source(&Source { cursor: None, ..source }).await
            }
            _ => Ok(()),
        }
    }

    /// Where a session was read from.
    async fn source_of(
        &self,
        agent: Agent,
        session: &str,
    ) -> Result<Option<(PathBuf, Source)>, ServiceError> {
        let holder = {
            let known = lock(&self.state.known);
            known.as_ref().and_then(|known| known.holder(agent, session)).map(Path::to_path_buf)
        };
        let Some(path) = holder else { return Ok(None) };
        let source = self.history.source(agent, &path.to_string_lossy()).await?;
        Ok(source.map(|source| (path, source)))
    }

    async fn stored_outline(&self, session: &SessionId) -> Result<Outline, Trouble> {
        let exchanges = self.history.exchanges_of_session(session).await?;
        let turns = |first: Option<String>, last: Option<String>| first.clone().zip(last.or(first));
        let entry = |exchange: cerebro_core::domain::Exchange| {
            (exchange.seq, (turns(exchange.first, exchange.last), Some(exchange.at)))
        };
        Ok(exchanges.into_iter().map(entry).collect())
    }

    /// The sessions that have these turns.
    async fn owners_of(
        &self,
        said: &BTreeSet<(String, String)>,
    ) -> Result<BTreeSet<SessionId>, ServiceError> {
        let turns: BTreeSet<&String> = said.iter().flat_map(|(first, last)| [first, last]).collect();
        let turns: Vec<String> = turns.into_iter().cloned().collect();
        let mut owners = BTreeSet::new();
        for some in turns.chunks(TURNS) {
            let found = self.base.store.exchanges().owners_of_turns(some).await?;
            owners.extend(found.into_iter().map(|(_, session)| session));
        }
        Ok(owners)
    }
}

#[cfg(test)]
mod tests;
