//! Other writers of the same database: what they told the log, and what became of a commit whose answer got
//! lost.
//!
//! Each home has a name of its own, under which it numbers its events without a gap, and the index on
//! (writer, seq) is unique. So a place in each writer's log tells exactly what was heard; and a commit that is
//! repeated under its number cannot be done twice, however late the first one arrives.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use super::{
    Committed, EngineError, Store, StoreError,
    read::{Vars, one, take},
    statement,
    write::Position,
};
use cerebro_core::domain::{Event, Memory, MemoryId, limits::WRITERS_MAX};

/// Most events of one writer that are heard at once.
const PAGE: usize = 500;
/// How long a writer waits to learn what became of its commit.
const DOUBT_MAX: Duration = Duration::from_secs(5);
const DOUBT_PAUSE: Duration = Duration::from_millis(100);

/// How far each writer's log was heard.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places(pub BTreeMap<String, u64>);

impl Store {
    /// Everybody who told the log anything, as far as this process must know it: on an embedded store that is
    /// itself.
    pub async fn writers(&self) -> Result<Vec<String>, StoreError> {
        if !self.is_shared() {
            return Ok(vec![self.writer.clone()]);
        }
        let mut writers: Vec<String> = Vec::new();
        while writers.len() < WRITERS_MAX {
            let vars = Vars::new().with("after", writers.last().cloned().unwrap_or_default());
            let mut results = self.engine()?.run(statement::WRITER_NEXT, vars.0).await?;
            let Some(next) = one(take::<String>("event", &mut results, 0)?) else { return Ok(writers) };
            writers.push(next);
        }
        tracing::warn!("more than {WRITERS_MAX} writers; the rest is not heard");
        Ok(writers)
    }

    /// The end of each writer's log.
    pub async fn places(&self) -> Result<Places, StoreError> {
        let mut places = BTreeMap::new();
        for writer in self.writers().await? {
            let (seq, _) = self.last_event_of(&writer).await?;
            places.insert(writer, seq);
        }
        places.entry(self.writer.clone()).or_default();
        Ok(Places(places))
    }

    /// Hears what others told since, and lets the followers hear it. Gives the events.
    ///
    /// # Errors
    /// A failing store; what was not heard then is heard the next time.
    pub async fn hear(&self, places: &mut Places) -> Result<Vec<Event>, StoreError> {
        if let Ok(mut position) = self.position.try_lock()
            && position.seq.is_none()
            && position.told.is_some()
        {
            // A commit of our own whose end is not known.
            self.settle(&mut position).await?;
        }
        let mut news: Vec<Vec<Event>> = Vec::new();
        for writer in self.writers().await?.into_iter().filter(|writer| *writer != self.writer) {
            let place = places.0.get(&writer).copied().unwrap_or(0);
            let events = self.events_after(&writer, place, PAGE).await?;
            if !events.is_empty() {
                news.push(events);
            }
        }
        if news.is_empty() {
            return Ok(Vec::new());
        }
        // Under the writer, so that no older state of a memory is told after a newer one of our own.
        let _order = self.position.lock().await;
        for events in &news {
            self.retell(events.clone()).await?;
            if let Some(last) = events.last() {
                places.0.insert(last.writer.clone(), last.seq);
            }
        }
        Ok(news.concat())
    }

    /// Tells the followers of events, with the memories as they are now.
    async fn retell(&self, events: Vec<Event>) -> Result<(), StoreError> {
        let ids: BTreeSet<MemoryId> = events.iter().filter_map(|event| event.memory).collect();
        let ids: Vec<MemoryId> = ids.into_iter().collect();
        let memories: Vec<Memory> =
            if ids.is_empty() { Vec::new() } else { self.memories_by_id(&ids).await? };
        self.announce(&Committed { events, memories });
        Ok(())
    }

    /// The writer's place in the log, read anew when it is in doubt. A commit that turns out to have been done
    /// is told now.
    pub(super) async fn settle(&self, position: &mut Position) -> Result<u64, StoreError> {
        if let Some(seq) = position.seq {
            return Ok(seq);
        }
        let (seq, at) = self.last_event().await?;
        if let Some(mut told) = position.told {
            while told < seq {
                let missed = self.events_after(&self.writer, told, PAGE).await?;
                let Some(last) = missed.last() else { break };
                told = last.seq;
                self.retell(missed).await?;
                position.told = Some(told);
            }
        }
        position.at = position.at.max(at);
        position.told = Some(seq);
        Ok(*position.seq.insert(seq))
    }

    /// Finds out what became of a commit that failed with `error`: done if its last event stands in the log,
    /// to be decided anew if not.
    ///
    /// # Errors
    /// The error itself when it leaves no doubt; [`StoreError::Conflict`] when it was not done;
    /// [`StoreError::InDoubt`] when the server cannot be asked in time.
    pub(super) async fn resolve(&self, error: StoreError, events: &[Event]) -> Result<(), StoreError> {
        let (StoreError::Engine(EngineError::Unreachable { url, .. }), Some(last)) = (&error, events.last())
        else {
            return Err(error);
        };
        let begun = Instant::now();
        while begun.elapsed() < DOUBT_MAX {
            match self.events_after(&last.writer, last.seq.saturating_sub(1), 1).await {
                Ok(found) if found.first().is_some_and(|event| event.at == last.at) => {
                    tracing::info!("the answer to a commit got lost, but it was done");
                    return Ok(());
                }
                Ok(_) => return Err(StoreError::Conflict),
                Err(StoreError::Engine(EngineError::Unreachable { .. })) => {
                    tokio::time::sleep(DOUBT_PAUSE).await;
                }
                Err(other) => return Err(other),
            }
        }
        Err(StoreError::InDoubt { url: url.clone() })
    }
}
