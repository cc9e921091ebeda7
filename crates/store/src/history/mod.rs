//! History: past sessions, their exchanges, transcript sources and history tombstones.

mod exchange;
mod forgotten;
mod session;
mod source;
mod vector;

pub use exchange::Exchanges;
pub use forgotten::{ForgottenText, ForgottenTexts};
pub use session::PastSessions;
pub use source::Sources;
pub use vector::ExchangeVectors;

pub(super) use exchange::{exchange_id, record as exchange_record};

use std::collections::{BTreeMap, BTreeSet};

use surrealdb::types::{RecordId, Value, Variables, object};

use super::{
    Store, StoreError, Write,
    changes::{CommitScript, NewEvent, Part},
    columns::{self, RawRow, Row},
    read::{Vars, Walk, take},
    row::{datetime, malformed},
    statement,
};
use cerebro_core::domain::{
    EventKind, ExchangeId, FullExchange, HistoryTombstone, PastSession, SessionId, Source,
};

/// What a reading of a session changes of its exchanges.
#[derive(Debug, Default)]
pub struct ReadExchanges {
    /// They are not in the store.
    pub added: Vec<FullExchange>,
    /// They are in the store with another text.
    pub changed: Vec<FullExchange>,
    /// A rewind took them back; otherwise they are as they were.
    pub withdrawn: Vec<ExchangeId>,
}

impl ReadExchanges {
    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.changed.is_empty() && self.withdrawn.is_empty()
    }
}

/// The changes of the tables of history.
#[derive(Default)]
pub(super) struct HistoryChanges {
    /// Each with its number of exchanges when the decision was made.
    sessions: Vec<(PastSession, u32)>,
    exchanges: ReadExchanges,
    gone_sessions: Vec<SessionId>,
    /// Sessions whose sources must next be read from the beginning.
    unread: Vec<SessionId>,
    gone_exchanges: Vec<ExchangeId>,
    sources: Vec<Source>,
    tombstones: Vec<HistoryTombstone>,
    lifted: Vec<HistoryTombstone>,
    forgotten: Vec<ForgottenText>,
}

impl HistoryChanges {
    /// Whether any exchange changes or goes, and its vector with it. A new one has none yet.
    pub fn touches_vectors(&self) -> bool {
        !self.exchanges.changed.is_empty() || !self.gone_exchanges.is_empty()
    }

    /// Whether a text is forgotten in all sessions.
    pub fn forgets_texts(&self) -> bool {
        !self.forgotten.is_empty()
    }

    /// Records that something was forgotten.
    pub fn bury(&mut self, tombstones: impl IntoIterator<Item = HistoryTombstone>) {
        self.tombstones.extend(tombstones);
    }

    /// Removes tombstones, because somebody said again what they stand for.
    pub fn lift(&mut self, tombstones: impl IntoIterator<Item = HistoryTombstone>) {
        self.lifted.extend(tombstones);
    }

    /// Writes a session. If it is written twice, the last state counts, together with the first `before`.
    fn put(&mut self, session: &PastSession, before: u32) {
        let earlier = self.sessions.iter().position(|(other, _)| other.id == session.id);
        let before = earlier.map_or(before, |at| self.sessions.remove(at).1);
        self.sessions.push((session.clone(), before));
    }
}

impl Row for HistoryTombstone {
    const TABLE: &'static str = "history_tombstone";

    fn from_row(row: RawRow) -> Result<Self, StoreError> {
        let digest = row.key().unwrap_or_default();
        Self::parse(&digest).ok_or_else(|| malformed(Self::TABLE, "digest", &digest))
    }
}

impl Part for HistoryChanges {
    fn add_to(&self, commit: &mut CommitScript) {
        let at = commit.at;
        commit.add(statement::COMMIT_PAST_SESSIONS, "past_sessions", &self.sessions, |(put, before)| {
            session::put(put, *before)
        });
        let ReadExchanges { added, changed, withdrawn } = &self.exchanges;
        commit.add(statement::COMMIT_NEW_EXCHANGES, "new_exchanges", added, |full| exchange::new(full, at));
        commit.add(statement::COMMIT_EXCHANGES, "exchanges", changed, |full| exchange::put(full, at));
        commit.add(statement::COMMIT_WITHDRAWN, "withdrawn", withdrawn, |id| {
            object! { id: exchange::record(id), at: datetime(at) }
        });
        commit.add(statement::COMMIT_GONE_EXCHANGES, "gone_exchanges", &self.gone_exchanges, exchange::gone);
        commit.add(statement::COMMIT_SOURCES, "sources", &self.sources, source::put);
        commit.add(
            statement::COMMIT_GONE_PAST_SESSIONS,
            "gone_past_sessions",
            &self.gone_sessions,
            session::record,
        );
        commit.add(statement::COMMIT_UNREAD_SOURCES, "unread_sessions", &self.unread, |id| {
            id.as_str().to_owned()
        });
        commit.add(
            statement::COMMIT_LIFTED_HISTORY,
            "lifted_history",
            &self.lifted,
            history_tombstone_record,
        );
        commit.add(
            statement::COMMIT_HISTORY_TOMBSTONES,
            "history_tombstones",
            &self.tombstones,
            |tombstone| object! { id: history_tombstone_record(tombstone), at: datetime(at) },
        );
        commit
            .add(statement::COMMIT_FORGOTTEN_TEXTS, "forgotten_texts", &self.forgotten, |text| text.row(at));
    }
}

fn history_tombstone_record(tombstone: &HistoryTombstone) -> RecordId {
    RecordId::new("history_tombstone", tombstone.as_str())
}

pub(super) fn event(kind: EventKind, session: &PastSession) -> NewEvent {
    NewEvent { kind, memory: None, session: Some(session.id.clone()), project: Some(session.project.clone()) }
}

/// The changes of history.
impl Write<'_> {
    /// Imports exchanges of a session, and records how far the source was read. `session` is written in its new state; it had
    /// `before` exchanges.
    pub fn import_history(
        &mut self,
        session: &PastSession,
        before: u32,
        read: ReadExchanges,
        source: &Source,
    ) {
        let history = self.take_in(session, before);
        let ReadExchanges { added, changed, withdrawn } = &mut history.exchanges;
        added.extend(read.added);
        changed.extend(read.changed);
        withdrawn.extend(read.withdrawn);
        history.sources.push(source.clone());
    }

    /// A past session gets another parent.
    pub fn place_past_session(&mut self, session: &PastSession) {
        self.take_in(session, session.exchanges);
    }

    /// A past session came with an export.
    pub fn import_past_session(&mut self, session: &PastSession) {
        self.take_in(session, 0);
    }

    /// An exchange that is not in the store came with an export. Its session had `before` exchanges.
    pub fn import_exchange(&mut self, session: &PastSession, before: u32, full: FullExchange) {
        self.take_in(session, before).exchanges.added.push(full);
    }

    /// What these tombstones stand for was forgotten, here or where an export comes from.
    pub fn put_history_tombstones(&mut self, tombstones: Vec<HistoryTombstone>) {
        self.record(NewEvent::about_nothing(EventKind::HistoryForgotten)).history.bury(tombstones);
    }

    fn take_in(&mut self, session: &PastSession, before: u32) -> &mut HistoryChanges {
        let history = &mut self.record(event(EventKind::HistoryImported, session)).history;
        history.put(session, before);
        history
    }

    /// The past session as it will be after this commit.
    pub async fn past_session(&self, id: &SessionId) -> Result<Option<PastSession>, StoreError> {
        match self.tables().history.sessions.iter().find(|(session, _)| session.id == *id) {
            Some((session, _)) => Ok(Some(session.clone())),
            None => self.store().past_sessions().by_id(id).await,
        }
    }

    /// Whether one of these tombstones will exist after this commit.
    pub async fn has_history_tombstone(&self, asked: &[HistoryTombstone]) -> Result<bool, StoreError> {
        let here = self.tables().history.tombstones.iter().any(|tombstone| asked.contains(tombstone));
        Ok(here || !self.store().history().tombstones_among(asked).await?.is_empty())
    }

    /// The digest that the exchange will have after this commit, if it exists.
    pub async fn exchange_digest(&self, id: &ExchangeId) -> Result<Option<String>, StoreError> {
        let ReadExchanges { added, changed, .. } = &self.tables().history.exchanges;
        match added.iter().chain(changed).find(|full| full.exchange.id == *id) {
            Some(full) => Ok(Some(full.exchange.digest.clone())),
            None => self.store().exchanges().digest(id).await,
        }
    }

    /// Purges exchanges of a session, because their source no longer has them or because the user forgets them. In
    /// the second case there are tombstones, and the states of the readers of its sources are dropped, too. The
    /// session is written in its new state, or removed if nothing of it is left; it had `before` exchanges.
    pub fn forget_history(
        &mut self,
        session: &PastSession,
        before: u32,
        exchanges: Vec<ExchangeId>,
        tombstones: Vec<HistoryTombstone>,
    ) {
        let tables = self.record(event(EventKind::HistoryForgotten, session));
        tables.distil.forget(session);
        let history = &mut tables.history;
        history.gone_exchanges.extend(exchanges);
        if session.exchanges == 0 || !tombstones.is_empty() {
            history.unread.push(session.id.clone());
        }
        history.bury(tombstones);
        if session.exchanges == 0 {
            history.gone_sessions.push(session.id.clone());
        } else {
            history.put(session, before);
        }
    }

    /// A past session moves to another project, because its own was merged.
    pub fn merge_past_session(&mut self, session: &PastSession) {
        let tables = self.record(event(EventKind::ProjectMerged, session));
        tables.history.put(session, session.exchanges);
    }
}

/// Statistics of history.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HistoryCounts {
    /// Past sessions.
    pub sessions: u64,
    pub exchanges: u64,
    /// The statistics of each agent.
    pub by_agent: BTreeMap<String, AgentCounts>,
}

/// Statistics of one agent's history.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AgentCounts {
    /// Sources that have a session.
    pub read: u64,
    /// Lines of its sources that are no records, or too long.
    pub malformed: u64,
    pub exchanges: u64,
}

noun! {
    /// The history as a whole.
    history: History
}

impl<'a> History<'a> {
    /// Whether there is any history.
    pub async fn any(self) -> Result<bool, StoreError> {
        let any: Vec<Value> = self.0.values("past_session", statement::EXCHANGE_ANY, Vars::new()).await?;
        Ok(!any.is_empty())
    }

    /// Those of these tombstones that exist.
    pub async fn tombstones_among(
        self,
        asked: &[HistoryTombstone],
    ) -> Result<BTreeSet<HistoryTombstone>, StoreError> {
        if asked.is_empty() {
            return Ok(BTreeSet::new());
        }
        let vars = Vars::new().list("ids", asked.iter().map(history_tombstone_record));
        let found =
            self.0.values::<String>("history_tombstone", statement::HISTORY_TOMBSTONE_AMONG, vars).await?;
        Ok(found.iter().filter_map(|digest| HistoryTombstone::parse(digest)).collect())
    }

    /// All tombstones in order of digest.
    pub fn walk_of_tombstones(self) -> Walk<'a, HistoryTombstone> {
        Walk::over(self.0)
    }

    /// The statistics of history.
    pub async fn counts(self) -> Result<HistoryCounts, StoreError> {
        let mut results = self.0.engine()?.run(statement::HISTORY_COUNTS, Variables::new()).await?;
        let mut counts = HistoryCounts::default();
        for row in take::<RawRow>("source", &mut results, 0)? {
            let mut row = row.columns("source")?;
            let count = counts.by_agent.entry(columns::take("source", &mut row, "agent")?).or_default();
            count.read = columns::take("source", &mut row, "sources")?;
            count.malformed = columns::take("source", &mut row, "malformed")?;
        }
        for row in take::<RawRow>("past_session", &mut results, 1)? {
            let mut row = row.columns("past_session")?;
            let count = counts.by_agent.entry(columns::take("past_session", &mut row, "agent")?).or_default();
            count.exchanges = columns::take("past_session", &mut row, "exchanges")?;
            counts.exchanges += count.exchanges;
            counts.sessions += columns::take::<u64>("past_session", &mut row, "sessions")?;
        }
        Ok(counts)
    }
}
