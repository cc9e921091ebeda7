//! History: past sessions, read from transcripts and kept as evidence beside the memories.
//!
//! A caller that reads transcripts hands the result to [`History::commit`]. There it is redacted and committed together with the
//! position up to which the source was read, in one transaction, so that each exchange is stored once, whatever happens.
//! Nothing is opened or written before the first batch.

mod check;
mod commit;
mod export;
mod facts;
mod find;
mod forget;
mod fork;
mod prepare;
#[cfg(test)]
pub(super) mod tests;

pub use commit::{HistoryBatch, HistoryCommitted, ReadFrom};
pub(super) use export::{
    ExchangeLine, HistoryTombstoneLine, PastSessionLine, exchange, past_session, tombstone,
};
pub use facts::{Fact, Facts, FactsAbout, Fix, Links};
pub use find::{ExchangePart, ExchangeRequest, HistoryTimeline};
pub use forget::Forgotten;
pub use prepare::agent_slug;
pub(crate) use prepare::{clean, cursor, session_id};

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use tokio::sync::{OwnedRwLockReadGuard, RwLock};

use crate::{ServiceError, base::Base, index::EvidenceIndexes, lock, memories::Memories};
use cerebro_core::domain::{PastSession, Project, SessionId, Source, native_digest};
use cerebro_store::HistoryCounts;
use cerebro_transcript::{Agent, State};

/// An import of an export that is under way.
pub type Importing = OwnedRwLockReadGuard<()>;

/// The use cases of past sessions: keeping what was read of them, finding in them, and forgetting.
#[derive(Clone)]
pub struct History {
    pub(crate) base: Base,
    pub(crate) evidence: EvidenceIndexes,
    pub(crate) memories: Memories,
    /// Read-locked by each import of an export.
    pub(crate) imports: Arc<RwLock<()>>,
    counted: Arc<Mutex<Option<Counted>>>,
}

/// Statistics, as they were counted last.
#[derive(Debug, Clone)]
struct Counted {
    counts: HistoryCounts,
    at: Instant,
    took: Duration,
}

/// For how many times as long as the counting took, the result is good enough for somebody who watches an import.
const COUNTS_LAST: u32 = 10;

/// Whether statistics are good enough for somebody who watches an import.
fn are_recent(age: Duration, took: Duration) -> bool {
    age < took * COUNTS_LAST
}

impl History {
    pub(crate) fn new(memories: &Memories) -> Self {
        Self {
            base: memories.base.clone(),
            evidence: memories.evidence.clone(),
            memories: memories.clone(),
            imports: Arc::default(),
            counted: Arc::default(),
        }
    }

    /// Every source of an agent that was ever read or tried, with its state.
    pub async fn sources(&self, agent: Agent) -> Result<Vec<Source>, ServiceError> {
        Ok(self.base.store.sources().of_agent(agent_slug(agent)).await?)
    }

    /// A source, by what it was read from.
    pub async fn source(&self, agent: Agent, key: &str) -> Result<Option<Source>, ServiceError> {
        Ok(self.base.store.sources().by_id(&Source::id_of(agent_slug(agent), key)).await?)
    }

    /// Stores the state of a source without exchanges: it failed, is gone or excluded, or was merely touched.
    pub async fn put_source(&self, source: &Source) -> Result<(), ServiceError> {
        Ok(self.base.store.sources().put(source).await?)
    }

    /// The state in which the reader left a source. `None` before the first reading, or if it comes from another version of
    /// the reader: then the source is read from its beginning.
    pub fn cursor(source: &Source) -> Option<State> {
        prepare::cursor_state(source.cursor.as_deref()?).filter(State::can_continue)
    }

    /// The sessions that have an exchange which begins or ends with one of these native ids: pairs of such an id and a session.
    pub async fn owners(&self, native: &[&str]) -> Result<Vec<(String, SessionId)>, ServiceError> {
        let by_digest: HashMap<String, &str> = native.iter().map(|id| (native_digest(id), *id)).collect();
        let digests: Vec<String> = by_digest.keys().cloned().collect();
        let owners = self.base.store.exchanges().owners_of_turns(&digests).await?;
        let named = |(digest, session)| Some(((*by_digest.get(&digest)?).to_owned(), session));
        Ok(owners.into_iter().filter_map(named).collect())
    }

    /// A past session.
    pub async fn session(&self, id: &SessionId) -> Result<Option<PastSession>, ServiceError> {
        Ok(self.base.store.past_sessions().by_id(id).await?)
    }

    /// The past sessions of a project (of all, when `None`) that began last, newest first.
    pub async fn sessions(
        &self,
        project: Option<&Project>,
        offset: usize,
        limit: usize,
    ) -> Result<Vec<PastSession>, ServiceError> {
        Ok(self.base.store.past_sessions().latest(project, offset, limit).await?)
    }

    /// The amount of history, and the number of sources in each state.
    pub async fn counts(&self) -> Result<HistoryCounts, ServiceError> {
        let begun = Instant::now();
        let counts = self.base.store.history().counts().await?;
        *lock(&self.counted) = Some(Counted { counts: counts.clone(), at: begun, took: begun.elapsed() });
        Ok(counts)
    }

    /// As [`Self::counts`], for somebody who asks again and again while sessions are read: at most a tenth of the time is spent
    /// on counting.
    pub async fn recent_counts(&self) -> Result<HistoryCounts, ServiceError> {
        let counted = lock(&self.counted).clone();
        match counted.filter(|counted| are_recent(counted.at.elapsed(), counted.took)) {
            Some(Counted { counts, .. }) => Ok(counts),
            None => self.counts().await,
        }
    }
}
