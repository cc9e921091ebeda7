//! The event log.

use std::collections::BTreeMap;

use surrealdb::{
    IndexedResults,
    types::{Object, RecordId},
};

use super::{
    Store, StoreError,
    columns::{RawRow, columns, row_of, with_id},
    read::{Vars, one, take},
    row::signed,
    statement,
};
use cerebro_core::domain::{Event, EventKind, Timestamp};

columns! {
    Event in "event" { writer, seq, at, kind, memory, session, project }
}

/// The row of an event, as `INSERT` takes it.
pub(super) fn row(event: &Event) -> Object {
    let id = RecordId::new("event", format!("{}-{:012}", event.writer, event.seq));
    with_id(id, row_of(event))
}

noun! {
    /// The event log.
    events: Events
}

impl<'a> Events<'a> {
    /// The events of all writers after those in `known`, at most `limit` at a time.
    pub async fn since(self, known: BTreeMap<String, u64>, limit: usize) -> Result<LogWalk<'a>, StoreError> {
        Ok(LogWalk { events: self, writers: self.0.peers().writers().await?, known, limit })
    }

    /// The events of a writer after a number, in order.
    pub async fn after(self, writer: &str, after: u64, limit: usize) -> Result<Vec<Event>, StoreError> {
        let vars = Vars::new().with("writer", writer).with("after", signed(after)).limit(limit);
        self.0.select(statement::EVENT_AFTER, vars).await
    }

    /// The events of some kinds, in order of time. Reads the whole log.
    pub async fn of_kinds(self, kinds: &[EventKind]) -> Result<Vec<Event>, StoreError> {
        let kinds: Vec<String> = kinds.iter().map(|kind| kind.as_str().to_owned()).collect();
        let vars = Vars::new().with("kinds", kinds);
        self.0.select(statement::EVENT_OF_KINDS, vars).await
    }

    /// The number and moment of this writer's last event; 0 if there is none.
    pub async fn last(self) -> Result<(u64, Timestamp), StoreError> {
        self.last_of(self.0.writer()).await
    }

    /// The number and moment of any writer's last event.
    pub(super) async fn last_of(self, writer: &str) -> Result<(u64, Timestamp), StoreError> {
        let vars = Vars::new().with("writer", writer);
        let mut results = self.0.engine()?.run(statement::WRITER_POSITION, vars.0).await?;
        last_of(&mut results, 0)
    }
}

/// The events of all writers, a page of one writer at a time.
pub struct LogWalk<'a> {
    events: Events<'a>,
    /// The writers whose logs are not read to the end.
    writers: Vec<String>,
    /// For each writer, the number of its last event that was read.
    known: BTreeMap<String, u64>,
    limit: usize,
}

impl LogWalk<'_> {
    /// The next events of one writer, in order; `None` when all logs are read to the end.
    pub async fn next(&mut self) -> Result<Option<Vec<Event>>, StoreError> {
        while let Some(writer) = self.writers.last() {
            let known = self.known.entry(writer.clone()).or_default();
            let events = self.events.after(writer, *known, self.limit).await?;
            if let Some(last) = events.last() {
                *known = last.seq;
                return Ok(Some(events));
            }
            self.writers.pop();
        }
        Ok(None)
    }
}

/// The number and moment from an answer to `writer_position`; 0 if there is no event.
pub(super) fn last_of(results: &mut IndexedResults, index: usize) -> Result<(u64, Timestamp), StoreError> {
    let last = one(take::<RawRow>("event", results, index)?);
    last.map_or(Ok((0, Timestamp::UNIX_EPOCH)), |last| last.pair("event", ["seq", "at"]))
}
