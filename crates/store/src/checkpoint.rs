//! Checkpoints of long pieces of work: derived states, so that not all events need to be read again.

use cerebro_ledger::Mac;
use surrealdb::types::RecordId;

use super::{
    Store, StoreError,
    changes::CommitScript,
    columns::{columns, put_row},
    read::{Vars, one},
    row::{malformed, parse},
    statement,
};
use cerebro_core::domain::WorkId;

const CHECKPOINT: &str = "work_checkpoint";

fn record(id: &WorkId) -> RecordId {
    RecordId::new(CHECKPOINT, id.as_str())
}

/// The state of a piece of work after one of its events. Only the latest is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    pub work: WorkId,
    /// The number of that event.
    pub seq: u64,
    /// The state as JSON, folded from redacted events.
    pub state: String,
    /// A reader must verify it first.
    pub mac: Mac,
}

columns! { Checkpoint in "work_checkpoint" { work: key(WorkId::parse), seq, state, mac } }

/// The changes of the table.
#[derive(Default)]
pub(super) struct CheckpointChanges {
    /// The newest replaces the one before.
    pub put: Vec<Checkpoint>,
    gone: Vec<WorkId>,
}

impl CheckpointChanges {
    /// Adds them to a commit.
    pub fn add_to(&self, commit: &mut CommitScript) {
        commit.add(statement::COMMIT_CHECKPOINTS, "checkpoints", &self.put, |checkpoint| {
            put_row(record(&checkpoint.work), checkpoint)
        });
        commit.add(statement::COMMIT_GONE_CHECKPOINTS, "gone_checkpoints", &self.gone, record);
    }

    /// Removes the checkpoint of a piece of work.
    pub fn drop(&mut self, work: WorkId) {
        self.gone.push(work);
    }
}

noun! {
    /// The checkpoints of long pieces of work.
    checkpoints: Checkpoints
}

impl Checkpoints<'_> {
    /// The checkpoint of a piece of work, if there is one. An unreadable row counts as none, because it is derived.
    pub async fn of(self, work: &WorkId) -> Result<Option<Checkpoint>, StoreError> {
        let vars = Vars::new().with("ids", vec![record(work)]);
        let rows = self.0.values(CHECKPOINT, statement::WORK_CHECKPOINT, vars).await?;
        Ok(parse(rows).ok().and_then(one))
    }

    /// The forks with a checkpoint. Their states contain texts of the pieces of work that they go on from.
    pub async fn forks(self) -> Result<Vec<WorkId>, StoreError> {
        let ids: Vec<String> =
            self.0.values(CHECKPOINT, statement::WORK_CHECKPOINT_FORKS, Vars::new()).await?;
        ids.iter().map(|id| WorkId::parse(id).map_err(|_| malformed(CHECKPOINT, "id", id))).collect()
    }
}
