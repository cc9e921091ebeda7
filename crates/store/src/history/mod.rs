//! History: past sessions, their exchanges, the sources they were read from, and the tombstones of what was
//! forgotten.

mod exchange;
mod session;
mod source;

use std::collections::{BTreeMap, BTreeSet};

use surrealdb::types::{Datetime, RecordId, SurrealValue, Variables};

use super::{
    Store, StoreError, Write,
    changes::{CommitScript, Happened, Part},
    read::{Page, Table, Vars, take},
    row::{datetime, key, malformed, unsigned},
    statement,
};
use cerebro_core::domain::{
    EventKind, ExchangeId, HistoryTombstone, PastSession, Project, SessionId, Source, SourceState,
    ToldExchange,
};

/// What changes in the tables of history.
#[derive(Default)]
pub(super) struct HistoryChanges {
    /// Each with the number of its exchanges when it was decided.
    sessions: Vec<(PastSession, u32)>,
    exchanges: Vec<ToldExchange>,
    withdrawn: Vec<ExchangeId>,
    gone_sessions: Vec<SessionId>,
    /// Of these, sources are read from their beginning next.
    unread: Vec<SessionId>,
    gone_exchanges: Vec<ExchangeId>,
    sources: Vec<Source>,
    tombstones: Vec<HistoryTombstone>,
}

impl HistoryChanges {
    /// Puts a session. Of one that is put twice, the last counts, and what the first was decided on.
    fn put(&mut self, session: &PastSession, before: u32) {
        let earlier = self.sessions.iter().position(|(other, _)| other.id == session.id);
        let before = earlier.map_or(before, |at| self.sessions.remove(at).1);
        self.sessions.push((session.clone(), before));
    }
}

#[derive(SurrealValue)]
#[surreal(crate = "surrealdb::types")]
struct At {
    id: RecordId,
    at: Datetime,
}

impl TryFrom<At> for HistoryTombstone {
    type Error = StoreError;

    fn try_from(row: At) -> Result<Self, StoreError> {
        let digest = key("history_tombstone", row.id)?;
        Self::parse(&digest).ok_or_else(|| malformed("history_tombstone", "digest", &digest))
    }
}

impl Part for HistoryChanges {
    fn add_to(&self, commit: &mut CommitScript) {
        let at = commit.at;
        commit.add(statement::COMMIT_PAST_SESSIONS, "past_sessions", &self.sessions, |(put, before)| {
            session::put(put, *before)
        });
        commit.add(statement::COMMIT_EXCHANGES, "exchanges", &self.exchanges, |told| exchange::put(told, at));
        commit.add(statement::COMMIT_WITHDRAWN, "withdrawn", &self.withdrawn, |id| At {
            id: exchange::record(id),
            at: datetime(at),
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
            statement::COMMIT_HISTORY_TOMBSTONES,
            "history_tombstones",
            &self.tombstones,
            |tombstone| At { id: history_tombstone_record(tombstone), at: datetime(at) },
        );
    }
}

fn history_tombstone_record(tombstone: &HistoryTombstone) -> RecordId {
    RecordId::new("history_tombstone", tombstone.as_str())
}

pub(super) fn happened(kind: EventKind, session: &PastSession) -> Happened {
    Happened {
        kind,
        memory: None,
        session: Some(session.id.clone()),
        project: (!session.project.is_none()).then(|| session.project.clone()),
    }
}

/// What may happen to history.
impl Write<'_> {
    /// Exchanges of a session are taken in, others marked as taken back by a rewind, and it is known how far the source
    /// is read. The session is put as it is now; it had `before` exchanges.
    pub fn import_history(
        &mut self,
        session: &PastSession,
        before: u32,
        exchanges: Vec<ToldExchange>,
        withdrawn: Vec<ExchangeId>,
        source: &Source,
    ) {
        let history = self.take_in(session, before);
        history.exchanges.extend(exchanges);
        history.withdrawn.extend(withdrawn);
        history.sources.push(source.clone());
    }

    /// A past session comes from an export.
    pub fn import_past_session(&mut self, session: &PastSession) {
        self.take_in(session, 0);
    }

    /// An exchange of a past session, which had `before`, comes from an export.
    pub fn import_exchange(&mut self, session: &PastSession, before: u32, told: ToldExchange) {
        self.take_in(session, before).exchanges.push(told);
    }

    /// A tombstone comes from an export.
    pub fn import_history_tombstone(&mut self, tombstone: HistoryTombstone) {
        let told = Happened { kind: EventKind::HistoryForgotten, memory: None, session: None, project: None };
        self.tell(told).history.tombstones.push(tombstone);
    }

    fn take_in(&mut self, session: &PastSession, before: u32) -> &mut HistoryChanges {
        let history = &mut self.tell(happened(EventKind::HistoryImported, session)).history;
        history.put(session, before);
        history
    }

    /// A past session as it will be when this is committed.
    ///
    /// # Errors
    /// A failing store.
    pub async fn past_session(&self, id: &SessionId) -> Result<Option<PastSession>, StoreError> {
        match self.tables().history.sessions.iter().find(|(session, _)| session.id == *id) {
            Some((session, _)) => Ok(Some(session.clone())),
            None => self.store().past_session(id).await,
        }
    }

    /// Whether one of these tombstones will be there when this is committed.
    ///
    /// # Errors
    /// A failing store.
    pub async fn is_buried(&self, asked: &[HistoryTombstone]) -> Result<bool, StoreError> {
        let here = self.tables().history.tombstones.iter().any(|tombstone| asked.contains(tombstone));
        Ok(here || !self.store().history_tombstones_among(asked).await?.is_empty())
    }

    /// The digest of an exchange that will be there when this is committed.
    ///
    /// # Errors
    /// A failing store.
    pub async fn exchange_digest(&self, id: &ExchangeId) -> Result<Option<String>, StoreError> {
        let put = self.tables().history.exchanges.iter().find(|told| told.exchange.id == *id);
        match put {
            Some(told) => Ok(Some(told.exchange.digest.clone())),
            None => Ok(self.store().told_exchange(id).await?.map(|told| told.exchange.digest)),
        }
    }

    /// Exchanges of a session are gone for good, because their source no longer has them or the user forgets them:
    /// then with tombstones, and what the readers of its sources knew of it goes too. The session is put as it is now, or
    /// goes where nothing is left of it; it had `before` exchanges.
    pub fn forget_history(
        &mut self,
        session: &PastSession,
        before: u32,
        exchanges: Vec<ExchangeId>,
        tombstones: Vec<HistoryTombstone>,
    ) {
        let tables = self.tell(happened(EventKind::HistoryForgotten, session));
        tables.distil.forget(session);
        let history = &mut tables.history;
        history.gone_exchanges.extend(exchanges);
        if session.exchanges == 0 || !tombstones.is_empty() {
            history.unread.push(session.id.clone());
        }
        history.tombstones.extend(tombstones);
        if session.exchanges == 0 {
            history.gone_sessions.push(session.id.clone());
        } else {
            history.put(session, before);
        }
    }

    /// A past session belongs to another project, since its own was merged into that.
    pub fn merge_past_session(&mut self, session: &PastSession) {
        let tables = self.tell(happened(EventKind::ProjectMerged, session));
        tables.history.put(session, session.exchanges);
    }
}

/// How much history there is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HistoryCounts {
    /// Past sessions.
    pub sessions: u64,
    /// Their exchanges.
    pub exchanges: u64,
    /// Tombstones.
    pub forgotten: u64,
    /// Past sessions of each agent.
    pub by_agent: BTreeMap<String, u64>,
    /// Sources of each agent, by how they stand.
    pub sources: BTreeMap<(String, SourceState), SourceCounts>,
}

/// How many sources of an agent stand in one way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SourceCounts {
    /// Their number.
    pub sources: u64,
    /// Their size.
    pub bytes: u64,
    /// Their records of unknown types.
    pub unknown: u64,
    /// Their lines that are no records.
    pub malformed: u64,
}

impl Store {
    /// Whether any history was ever taken in and not forgotten.
    pub async fn has_history(&self) -> Result<bool, StoreError> {
        Ok(!self.rows("past_session", statement::EXCHANGE_ANY, Vars::new()).await?.is_empty())
    }

    /// Which of these are tombstones of what was forgotten.
    pub async fn history_tombstones_among(
        &self,
        asked: &[HistoryTombstone],
    ) -> Result<BTreeSet<HistoryTombstone>, StoreError> {
        if asked.is_empty() {
            return Ok(BTreeSet::new());
        }
        let ids: Vec<RecordId> = asked.iter().map(history_tombstone_record).collect();
        let vars = Vars::new().with("ids", ids);
        let mut results = self.engine()?.run(statement::HISTORY_TOMBSTONE_AMONG, vars.0).await?;
        let found = take::<String>("history_tombstone", &mut results, 0)?;
        Ok(found.iter().filter_map(|digest| HistoryTombstone::parse(digest)).collect())
    }

    /// A page of all tombstones in order of their digest.
    pub async fn page_of_history_tombstones(
        &self,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Page<HistoryTombstone>, StoreError> {
        self.page::<At, _>(Table::HistoryTombstone, after, limit).await
    }

    /// How much history there is, and how its sources stand.
    pub async fn history_counts(&self) -> Result<HistoryCounts, StoreError> {
        #[derive(SurrealValue)]
        #[surreal(crate = "surrealdb::types")]
        struct Totals {
            sessions: i64,
            exchanges: i64,
            forgotten: i64,
        }
        #[derive(SurrealValue)]
        #[surreal(crate = "surrealdb::types")]
        struct Standing {
            agent: String,
            state: String,
            sources: i64,
            bytes: i64,
            unknown: i64,
            malformed: i64,
        }
        #[derive(SurrealValue)]
        #[surreal(crate = "surrealdb::types")]
        struct OfAgent {
            agent: String,
            sessions: i64,
        }
        let mut results = self.engine()?.run(statement::HISTORY_COUNTS, Variables::new()).await?;
        let mut counts = HistoryCounts::default();
        for totals in take::<Totals>("history", &mut results, 0)? {
            counts.sessions = unsigned(totals.sessions);
            counts.exchanges = unsigned(totals.exchanges);
            counts.forgotten = unsigned(totals.forgotten);
        }
        for row in take::<Standing>("source", &mut results, 1)? {
            let state = source::state(&row.state)?;
            let count = SourceCounts {
                sources: unsigned(row.sources),
                bytes: unsigned(row.bytes),
                unknown: unsigned(row.unknown),
                malformed: unsigned(row.malformed),
            };
            counts.sources.insert((row.agent, state), count);
        }
        for row in take::<OfAgent>("past_session", &mut results, 2)? {
            counts.by_agent.insert(row.agent, unsigned(row.sessions));
        }
        Ok(counts)
    }
}

fn project_of(name: &str) -> Result<Project, StoreError> {
    super::row::project("past_session", name)
}
