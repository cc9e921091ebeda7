//! Finds out whether a row that this program did not write has the number of the next event.

use cerebro_core::domain::WorkId;
use surrealdb::types::Value;

use super::{EVENT, Works, event_range};
use crate::{StoreError, Write, read::Vars, statement};

impl Write<'_> {
    /// The events of pieces of work in this write: each with its piece of work and its number.
    pub(crate) fn new_work_events(&self) -> Vec<(WorkId, u64)> {
        self.tables().works.events.iter().map(|(id, kept)| (*id, kept.seq)).collect()
    }
}

impl Works<'_> {
    /// Checks why events could not be written: whether a row that this program did not write has the number of one. An event
    /// and the row of its piece of work are written together, so such a row has a number beyond those that the piece counts.
    ///
    /// # Errors
    /// [`StoreError::Inserted`] if so; a failing store.
    pub(crate) async fn check_free(self, numbers: &[(WorkId, u64)]) -> Result<(), StoreError> {
        for (work, seq) in numbers {
            let vars = Vars::new().with("events", event_range(work, &(*seq..=*seq)));
            let taken = self.0.values::<Value>(EVENT, statement::WORK_EVENTS, vars).await?;
            // The row is read after the event, so that it is not older.
            let counted = self.by_id(work).await?.map_or(0, |stored| stored.work.seq);
            if !taken.is_empty() && counted < *seq {
                return Err(StoreError::Inserted { work: *work, seq: *seq });
            }
        }
        Ok(())
    }
}
