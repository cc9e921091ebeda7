//! Arrangements of handbooks: the proposals of models, and their states. The rows hold no text of a memory.

use surrealdb::types::{Datetime, RecordId, SurrealValue};

use super::{
    Store, StoreError, Write,
    changes::{CommitScript, NewEvent, Part},
    distil::DroppedRow,
    read::{Vars, one},
    row::{Put, datetime, held, malformed, memory_id, memory_record, own_key, timestamp},
    statement,
};
use cerebro_core::domain::{
    Arrangement, ArrangementId, ArrangementState, EventKind, ItemChange, ItemOperation, Project,
};

pub(super) const TABLE: &str = "arrangement";

#[derive(Debug, Clone, SurrealValue)]
struct OperationRow {
    action: String,
    item: RecordId,
    other: Option<RecordId>,
    topic: Option<String>,
}

#[derive(Debug, Clone, SurrealValue)]
struct Row {
    id: Option<RecordId>,
    project: Option<String>,
    state: String,
    operations: Vec<OperationRow>,
    dropped: Vec<DroppedRow>,
    generation: String,
    model: String,
    at: Datetime,
    decided_at: Option<Datetime>,
}

fn record(id: &ArrangementId) -> RecordId {
    RecordId::new(TABLE, id.key())
}

impl From<&ItemOperation> for OperationRow {
    fn from(operation: &ItemOperation) -> Self {
        let change = &operation.change;
        Self {
            action: change.name().to_owned(),
            item: memory_record(&operation.item),
            other: change.other().as_ref().map(memory_record),
            topic: change.topic().map(ToString::to_string),
        }
    }
}

impl TryFrom<OperationRow> for ItemOperation {
    type Error = StoreError;

    fn try_from(row: OperationRow) -> Result<Self, StoreError> {
        let other = row.other.map(|other| memory_id(TABLE, other)).transpose()?;
        let change = ItemChange::of(&row.action, row.topic.map(held), other);
        Ok(Self {
            item: memory_id(TABLE, row.item)?,
            change: change.ok_or_else(|| malformed(TABLE, "action", &row.action))?,
        })
    }
}

fn put(arrangement: &Arrangement) -> Put<Row> {
    let row = Row {
        id: None,
        project: arrangement.project.as_ref().map(|project| project.as_str().to_owned()),
        state: arrangement.state.as_str().to_owned(),
        operations: arrangement.operations.iter().map(OperationRow::from).collect(),
        dropped: arrangement.dropped.iter().map(DroppedRow::from).collect(),
        generation: arrangement.generation.clone(),
        model: arrangement.model.to_string(),
        at: datetime(arrangement.at),
        decided_at: arrangement.decided_at.map(datetime),
    };
    Put { id: record(&arrangement.id), row }
}

impl TryFrom<Row> for Arrangement {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let id = own_key(TABLE, row.id)?;
        let project =
            row.project.map(|name| Project::parse(&name).ok_or_else(|| malformed(TABLE, "project", &name)));
        Ok(Self {
            id: ArrangementId::of_key(&id).map_err(|_| malformed(TABLE, "id", &id))?,
            project: project.transpose()?,
            state: ArrangementState::parse(&row.state)
                .ok_or_else(|| malformed(TABLE, "state", &row.state))?,
            operations: row.operations.into_iter().map(ItemOperation::try_from).collect::<Result<_, _>>()?,
            dropped: row.dropped.into_iter().map(Into::into).collect(),
            generation: row.generation,
            model: held(row.model),
            at: timestamp(row.at),
            decided_at: row.decided_at.map(timestamp),
        })
    }
}

/// The changes of the table of arrangements.
#[derive(Default)]
pub(super) struct ArrangementChanges {
    put: Vec<Arrangement>,
}

impl Part for ArrangementChanges {
    fn add_to(&self, commit: &mut CommitScript) {
        commit.add(statement::COMMIT_ARRANGEMENTS, "arrangements", &self.put, put);
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
        Ok(one(self.0.select::<Row, _>(TABLE, statement::ARRANGEMENT_GET, vars).await?))
    }

    /// The arrangements in a state, the latest first.
    pub async fn in_state(
        self,
        state: ArrangementState,
        limit: usize,
    ) -> Result<Vec<Arrangement>, StoreError> {
        let vars = Vars::new().with("state", state.as_str()).limit(limit);
        self.0.select::<Row, _>(TABLE, statement::ARRANGEMENT_LIST, vars).await
    }
}
