//! Citations: edges from a memory to the exchanges of past sessions that it rests on. An edge goes with its exchange, and with
//! the text of its memory.

use surrealdb::types::{RecordId, SurrealValue};

use super::{
    Store, StoreError, Write,
    changes::{CommitScript, NewEvent, Part},
    edge::{Edge, EdgeRow, RawEdge},
    history,
    read::{Page, Table, Vars},
    row::{datetime, key, memory_record},
    statement,
};
use cerebro_core::domain::{Candidate, EventKind, ExchangeId, Memory, MemoryId, SessionId, Timestamp};

const TABLE: &str = "CITES";
/// Most citations of a memory that are read. An agent or a person gives a few; each accepted claim that says the same adds its own.
pub(super) const CITATIONS_MAX: usize = 64;

/// The changes of the table of these edges. An existing edge stays as it is.
#[derive(Default)]
pub(super) struct CitationChanges {
    /// New edges.
    put: Vec<(MemoryId, ExchangeId, Timestamp)>,
    /// Memories that keep only the edges to these exchanges.
    alone: Vec<(MemoryId, Vec<ExchangeId>)>,
}

impl CitationChanges {
    /// The memory that a claim became rests on what the claim cites.
    pub fn accept(&mut self, claim: &Candidate) {
        let Some((memory, _)) = claim.memory else { return };
        let at = claim.decided_at.unwrap_or(claim.at);
        self.put.extend(claim.evidence.iter().map(|cited| (memory, cited.exchange, at)));
    }
}

#[derive(SurrealValue)]
#[surreal(crate = "surrealdb::types")]
struct Alone {
    memory: RecordId,
    exchanges: Vec<RecordId>,
}

fn record(memory: &MemoryId, exchange: &ExchangeId) -> RecordId {
    RecordId::new(TABLE, format!("{memory}-{}", exchange.key()))
}

impl Part for CitationChanges {
    fn add_to(&self, commit: &mut CommitScript) {
        commit.add(statement::COMMIT_CITES_ALONE, "cites_alone", &self.alone, |(memory, exchanges)| Alone {
            memory: memory_record(memory),
            exchanges: exchanges.iter().map(history::exchange_record).collect(),
        });
        commit.add(statement::COMMIT_CITES, "cites", &self.put, |(memory, exchange, at)| EdgeRow {
            id: record(memory, exchange),
            from: memory_record(memory),
            to: history::exchange_record(exchange),
            at: datetime(*at),
        });
    }
}

/// The changes of citations. Those of claims come with the candidates.
impl Write<'_> {
    /// A memory rests on these exchanges, too, from now on.
    pub fn cite(&mut self, memory: &Memory, exchanges: &[ExchangeId], session: &SessionId) {
        let at = self.at();
        let event = NewEvent::about_memory(EventKind::MemoryTied, memory, Some(session));
        let put = exchanges.iter().map(|exchange| (memory.id, *exchange, at));
        self.record(event).citations.put.extend(put);
    }

    /// A memory rests on these exchanges from now on, and on no others.
    pub fn cite_alone(&mut self, memory: &Memory, exchanges: &[ExchangeId], session: &SessionId) {
        let at = self.at();
        let event = NewEvent::about_memory(EventKind::MemoryTied, memory, Some(session));
        let citations = &mut self.record(event).citations;
        citations.alone.push((memory.id, exchanges.to_vec()));
        citations.put.extend(exchanges.iter().map(|exchange| (memory.id, *exchange, at)));
    }

    /// A citation came with an export.
    pub fn import_citation(&mut self, memory: &Memory, exchange: ExchangeId, at: Timestamp) {
        let event = NewEvent::about_memory(EventKind::MemoryImported, memory, None);
        self.record(event).citations.put.push((memory.id, exchange, at));
    }

    /// Whether the memory will cite the exchange after this commit.
    ///
    /// # Errors
    /// A failing store.
    pub async fn is_cited(&self, memory: &MemoryId, exchange: &ExchangeId) -> Result<bool, StoreError> {
        let here = self.tables().citations.put.iter().any(|edge| (&edge.0, &edge.1) == (memory, exchange));
        Ok(here || self.store().edges().time(record(memory, exchange)).await?.is_some())
    }
}

/// The citations.
#[derive(Clone, Copy)]
pub struct Citations<'a>(&'a Store);

impl Store {
    /// The citations.
    pub fn citations(&self) -> Citations<'_> {
        Citations(self)
    }
}

impl Citations<'_> {
    /// The exchanges that a memory rests on, those that it cited first before others; at most [`CITATIONS_MAX`].
    pub async fn of_memory(self, memory: &MemoryId) -> Result<Vec<ExchangeId>, StoreError> {
        let vars = Vars::new().with("memory", memory_record(memory)).limit(CITATIONS_MAX);
        let edges: Vec<EdgeRow> = self.0.values(TABLE, statement::CITATION_OF_MEMORY, vars).await?;
        edges.into_iter().map(|edge| history::exchange_id(&key(TABLE, edge.to)?)).collect()
    }

    /// Whether any memory rests on one of these exchanges.
    pub async fn is_any_cited(self, exchanges: &[ExchangeId]) -> Result<bool, StoreError> {
        if exchanges.is_empty() {
            return Ok(false);
        }
        let vars = Vars::new().list("exchanges", exchanges.iter().map(history::exchange_record)).limit(1);
        let edges: Vec<EdgeRow> = self.0.values(TABLE, statement::CITATION_OF_EXCHANGES, vars).await?;
        Ok(!edges.is_empty())
    }

    /// A page of all citations in order of id.
    pub async fn page(self, after: Option<&str>, limit: usize) -> Result<Page<Edge>, StoreError> {
        let rows: Page<RawEdge> = self.0.page::<EdgeRow, _>(Table::Cites, after, limit).await?;
        let edge = |(id, RawEdge { from, to, at }): (String, RawEdge)| {
            let to = history::exchange_id(&to)?.to_string();
            Ok((id, Edge { table: Table::Cites, from, to, at }))
        };
        rows.into_iter().map(edge).collect()
    }
}
