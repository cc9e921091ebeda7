//! Citations: edges from a memory to the exchanges of past sessions that it rests on. An edge goes with its exchange, and with
//! the text of its memory.

use std::collections::BTreeSet;

use surrealdb::types::{RecordId, object};

use super::{
    Store, StoreError, Write,
    changes::{CommitScript, NewEvent, Part, Tables},
    columns::{RawRow, row_of, with_id},
    history,
    read::{Vars, Walk},
    row::memory_record,
    statement,
};
use cerebro_core::domain::{
    Candidate, EventKind, ExchangeId, HistoryTombstone, Memory, MemoryId, SessionId, Timestamp,
};

const TABLE: &str = "CITES";
/// Most citations of a memory that are read. An agent or a person gives a few; each accepted claim that says the same adds its own.
pub(super) const CITATIONS_MAX: usize = 64;

/// A memory, an exchange that it rests on, and since when.
pub(super) type Cites = (MemoryId, ExchangeId, Timestamp);

/// The changes of the table of these edges. An existing edge stays as it is.
#[derive(Default)]
pub(super) struct CitationChanges {
    /// New edges.
    put: Vec<Cites>,
    /// Edges that go.
    gone: Vec<(MemoryId, ExchangeId)>,
    /// Memories that keep only the edges to these exchanges.
    alone: Vec<(MemoryId, Vec<ExchangeId>)>,
}

fn record(memory: &MemoryId, exchange: &ExchangeId) -> RecordId {
    RecordId::new(TABLE, format!("{memory}-{}", exchange.key()))
}

impl Part for CitationChanges {
    fn add_to(&self, commit: &mut CommitScript) {
        commit.add(statement::COMMIT_GONE_CITES, "gone_cites", &self.gone, |(memory, exchange)| {
            record(memory, exchange)
        });
        commit.add(statement::COMMIT_CITES_ALONE, "cites_alone", &self.alone, |(memory, exchanges)| {
            let exchanges: Vec<RecordId> = exchanges.iter().map(history::exchange_record).collect();
            object! { memory: memory_record(memory), exchanges: exchanges }
        });
        commit.add(statement::COMMIT_CITES, "cites", &self.put, |edge| {
            with_id(record(&edge.0, &edge.1), row_of(edge))
        });
    }
}

/// The tombstones of citations of a memory.
fn tombstones_of<'a>(
    memory: MemoryId,
    exchanges: impl IntoIterator<Item = &'a ExchangeId>,
) -> impl Iterator<Item = HistoryTombstone> {
    exchanges.into_iter().map(move |exchange| HistoryTombstone::of_citation(&memory, exchange))
}

impl Tables {
    /// The memory that a claim became rests on what the claim cites, except on these exchanges.
    pub(super) fn cite_claim(&mut self, claim: &Candidate, except: &BTreeSet<ExchangeId>) {
        let Some((memory, _)) = claim.memory else { return };
        let cited = claim.evidence.iter().map(|cited| cited.exchange);
        let cited: Vec<ExchangeId> = cited.filter(|exchange| !except.contains(exchange)).collect();
        self.cite(memory, &cited, claim.decided_at.unwrap_or(claim.at));
    }

    fn cite(&mut self, memory: MemoryId, exchanges: &[ExchangeId], at: Timestamp) {
        self.citations.put.extend(exchanges.iter().map(|exchange| (memory, *exchange, at)));
        self.history.lift(tombstones_of(memory, exchanges));
    }
}

/// The changes of citations. Those of claims come with the candidates.
impl Write<'_> {
    /// A memory rests on these exchanges, too, from now on.
    pub fn cite(&mut self, memory: &Memory, exchanges: &[ExchangeId], session: &SessionId) {
        let at = self.at();
        let event = NewEvent::about_memory(EventKind::MemoryTied, memory, Some(session));
        self.record(event).cite(memory.id, exchanges, at);
    }

    /// A memory rests on these exchanges from now on, and on no others. Each of those that it rested on before and that is
    /// not among them gets a tombstone, so that no import brings the citation back.
    pub fn cite_alone(
        &mut self,
        memory: &Memory,
        exchanges: &BTreeSet<ExchangeId>,
        before: &BTreeSet<ExchangeId>,
        session: &SessionId,
    ) {
        let at = self.at();
        let event = NewEvent::about_memory(EventKind::MemoryTied, memory, Some(session));
        let cited: Vec<ExchangeId> = exchanges.iter().copied().collect();
        let tables = self.record(event);
        tables.history.bury(tombstones_of(memory.id, before.difference(exchanges)));
        tables.cite(memory.id, &cited, at);
        tables.citations.alone.push((memory.id, cited));
    }

    /// A memory no longer rests on an exchange, which says something else now. A tombstone keeps imports from bringing the
    /// citation back.
    pub fn uncite(&mut self, memory: &Memory, exchange: ExchangeId, session: &SessionId) {
        let event = NewEvent::about_memory(EventKind::MemoryTied, memory, Some(session));
        let tables = self.record(event);
        tables.history.bury(tombstones_of(memory.id, [&exchange]));
        tables.citations.gone.push((memory.id, exchange));
    }

    /// A citation came with an export.
    pub fn import_citation(&mut self, memory: &Memory, exchange: ExchangeId, at: Timestamp) {
        let event = NewEvent::about_memory(EventKind::MemoryImported, memory, None);
        self.record(event).citations.put.push((memory.id, exchange, at));
    }

    /// Those of the exchanges that a claim cites from which somebody took the citation by its memory away.
    pub(super) async fn uncited_of(&self, claim: &Candidate) -> Result<BTreeSet<ExchangeId>, StoreError> {
        let Some((memory, _)) = claim.memory else { return Ok(BTreeSet::new()) };
        let cited = claim.evidence.iter().map(|cited| cited.exchange);
        let asked: Vec<(HistoryTombstone, ExchangeId)> =
            cited.map(|exchange| (HistoryTombstone::of_citation(&memory, &exchange), exchange)).collect();
        let tombstones: Vec<HistoryTombstone> =
            asked.iter().map(|(tombstone, _)| tombstone.clone()).collect();
        let removed = self.store().history().tombstones_among(&tombstones).await?;
        Ok(asked.into_iter().filter(|(one, _)| removed.contains(one)).map(|(_, exchange)| exchange).collect())
    }

    /// Whether this commit makes the citation for which a tombstone stands.
    pub fn makes_citation_of(&self, tombstone: &HistoryTombstone) -> bool {
        let put = self.tables().citations.put.iter();
        put.map(|(memory, exchange, _)| HistoryTombstone::of_citation(memory, exchange))
            .any(|made| made == *tombstone)
    }

    /// Whether the memory will cite the exchange after this commit.
    pub async fn is_cited(&self, memory: &MemoryId, exchange: &ExchangeId) -> Result<bool, StoreError> {
        let here = self.tables().citations.put.iter().any(|edge| (&edge.0, &edge.1) == (memory, exchange));
        Ok(here || self.store().edges().time(record(memory, exchange)).await?.is_some())
    }
}

noun! {
    /// The citations.
    citations: Citations
}

impl Citations<'_> {
    /// The exchanges that a memory rests on, those that it cited first before others; at most [`CITATIONS_MAX`].
    pub async fn of_memory(self, memory: &MemoryId) -> Result<Vec<ExchangeId>, StoreError> {
        let vars = Vars::new().with("memory", memory_record(memory)).limit(CITATIONS_MAX);
        let edges: Vec<Cites> = self.0.select(statement::CITATION_OF_MEMORY, vars).await?;
        Ok(edges.into_iter().map(|(_, exchange, _)| exchange).collect())
    }

    /// Those of these tombstones that stand for a citation which is there. It walks all citations.
    pub async fn among(
        self,
        asked: &BTreeSet<HistoryTombstone>,
    ) -> Result<BTreeSet<HistoryTombstone>, StoreError> {
        let mut live = BTreeSet::new();
        if asked.is_empty() {
            return Ok(live);
        }
        let mut pages = Walk::<Cites>::of(self.0, TABLE);
        while let Some(page) = pages.next().await? {
            for (memory, exchange, _) in page {
                let tombstone = HistoryTombstone::of_citation(&memory, &exchange);
                live.extend(Some(tombstone).filter(|tombstone| asked.contains(tombstone)));
            }
        }
        Ok(live)
    }

    /// Whether any memory rests on one of these exchanges.
    pub async fn is_any_cited(self, exchanges: &[ExchangeId]) -> Result<bool, StoreError> {
        if exchanges.is_empty() {
            return Ok(false);
        }
        let vars = Vars::new().list("exchanges", exchanges.iter().map(history::exchange_record)).limit(1);
        let edges: Vec<RawRow> = self.0.values(TABLE, statement::CITATION_OF_EXCHANGES, vars).await?;
        Ok(!edges.is_empty())
    }
}
