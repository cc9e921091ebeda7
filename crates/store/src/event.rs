//! The event log.

use surrealdb::{IndexedResults, types::SurrealValue};

use super::{
    Store, StoreError,
    read::{Vars, one, take},
    row::{EventRow, parse, signed, timestamp},
    statement,
};
use cerebro_core::domain::{Event, Timestamp};

impl Store {
    /// The events of a writer after a number, in order.
    pub async fn events_after(
        &self,
        writer: &str,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Event>, StoreError> {
        let vars = Vars::new().with("writer", writer).with("after", signed(after)).limit(limit);
        parse::<EventRow, _>("event", self.rows("event", statement::EVENT_AFTER, vars).await?)
    }

    /// The number and moment of the last event that this process's writer told; 0 before the first.
    pub async fn last_event(&self) -> Result<(u64, Timestamp), StoreError> {
        self.last_event_of(self.writer()).await
    }

    /// The same of any writer.
    pub(super) async fn last_event_of(&self, writer: &str) -> Result<(u64, Timestamp), StoreError> {
        let vars = Vars::new().with("writer", writer);
        let mut results = self.engine()?.run(statement::WRITER_POSITION, vars.0).await?;
        last_of(&mut results, 0)
    }
}

/// The number and moment in an answer to `writer_position`; 0 where there is no event.
pub(super) fn last_of(results: &mut IndexedResults, index: usize) -> Result<(u64, Timestamp), StoreError> {
    #[derive(SurrealValue)]
    #[surreal(crate = "surrealdb::types")]
    struct Last {
        seq: i64,
        at: surrealdb::types::Datetime,
    }
    let last = one(take::<Last>("event", results, index)?);
    Ok(last.map_or((0, Timestamp::UNIX_EPOCH), |last| {
        (u64::try_from(last.seq).unwrap_or(0), timestamp(last.at))
    }))
}
