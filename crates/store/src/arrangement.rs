//! Arrangements of handbooks: the proposals of models, and their states. The rows hold no text of a memory.

use surrealdb::types::{Object, RecordId};

use super::{
    Store, StoreError, Write,
    changes::{CommitScript, NewEvent, Part},
    columns::{Columns, columns, put, put_row, take},
    read::{Vars, one},
    row::malformed,
    statement,
};
use cerebro_core::domain::{
    Arrangement, ArrangementId, ArrangementState, EventKind, ItemChange, ItemOperation,
};

pub(super) const TABLE: &str = "arrangement";

columns! { ItemOperation { item, change: flat } }

columns! {
    Arrangement in "arrangement" {
        id: key(ArrangementId::of_key), project, state, operations, dropped, generation, model, at, decided_at,
    }
}

impl Columns for ItemChange {
    fn put_into(&self, row: &mut Object) {
        row.insert("action", self.name());
        put(row, "other", &self.other());
        put(row, "topic", &self.topic().cloned());
    }

    fn take_from(row: &mut Object, table: &'static str) -> Result<Self, StoreError> {
        let action: String = take(table, row, "action")?;
        let (topic, other) = (take(table, row, "topic")?, take(table, row, "other")?);
        Self::of(&action, topic, other).ok_or_else(|| malformed(table, "action", &action))
    }
}

fn record(id: &ArrangementId) -> RecordId {
    RecordId::new(TABLE, id.key())
}

/// The changes of the table of arrangements.
#[derive(Default)]
pub(super) struct ArrangementChanges {
    put: Vec<Arrangement>,
}

impl Part for ArrangementChanges {
    fn add_to(&self, commit: &mut CommitScript) {
        commit.add(statement::COMMIT_ARRANGEMENTS, "arrangements", &self.put, |arrangement| {
            put_row(record(&arrangement.id), arrangement)
        });
    }
}

impl Write<'_> {
    /// An arrangement is proposed, accepted, rejected or undone, according to its state.
    pub fn put_arrangement(&mut self, arrangement: &Arrangement) {
        let kind = match arrangement.state {
            ArrangementState::Waiting => EventKind::HandbookPlanned,
            ArrangementState::Accepted => EventKind::HandbookArranged,
            ArrangementState::Rejected => EventKind::HandbookRejected,
            ArrangementState::Undone => EventKind::HandbookUndone,
        };
        let event = NewEvent { project: arrangement.project.clone(), ..NewEvent::about_nothing(kind) };
        self.record(event).arrangements.put.push(arrangement.clone());
    }
}

noun! {
    /// The arrangements of handbooks.
    arrangements: Arrangements
}

impl Arrangements<'_> {
    pub async fn by_id(self, id: &ArrangementId) -> Result<Option<Arrangement>, StoreError> {
        let vars = Vars::new().with("ids", vec![record(id)]);
        Ok(one(self.0.select(statement::ARRANGEMENT_GET, vars).await?))
    }

    /// The arrangements in a state, the latest first.
    pub async fn in_state(
        self,
        state: ArrangementState,
        limit: usize,
    ) -> Result<Vec<Arrangement>, StoreError> {
        let vars = Vars::new().with("state", state.as_str()).limit(limit);
        self.0.select(statement::ARRANGEMENT_LIST, vars).await
    }
}
