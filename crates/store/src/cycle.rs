//! Consolidations: their plans, what was done, and what is needed to undo it. The rows hold no text of a memory,
//! and the text of an insight only until it is a memory.

use surrealdb::types::{Object, RecordId};

use super::{
    Store, StoreError, Write,
    changes::{CommitScript, NewEvent, Part},
    columns::{columns, put, put_next, row_of},
    read::{Vars, Walk, one},
    row::{key, malformed, memory_id, memory_record, signed, unsigned},
    statement,
};
use cerebro_core::domain::{CycleId, EventKind, MemoryId, Timestamp};
use cerebro_core::named;
use cerebro_core::pace::Spent;
use cerebro_core::truth::{Insight, Step};

const CYCLE: &str = "cycle";
/// How many consolidations are kept; older ones can no longer be undone.
const KEPT: usize = 400;
/// Most old consolidations that are removed when a new plan is written.
const OLD_MAX: usize = 50;

named! {
    /// The state of a consolidation.
    pub enum CycleState {
        /// Nothing is done yet.
        Planned = "planned",
        /// It was carried out.
        Applied = "applied",
        /// It was carried out and undone.
        Undone = "undone",
    }
}

named! {
    /// The result of a step.
    pub enum StepOutcome {
        /// It was carried out.
        Done = "done",
        /// It was skipped: the memory, or the one that stays for it, had changed, or its vectors were not ready.
        Skipped = "skipped",
        /// It was undone.
        Undone = "undone",
        /// It was not undone, because the memory has changed since.
        Left = "left",
    }
}

/// The state of a memory before others were united with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BeforeUnion {
    /// How many tags it had; those that it took in follow them.
    pub tags: usize,
    /// How often it had been repeated.
    pub duplicate_count: u32,
    /// When it had last been seen.
    pub last_seen_at: Timestamp,
}

/// A step and its result.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredStep {
    /// The planned step.
    pub step: Step,
    /// The result; `None` while it is only planned.
    pub outcome: Option<StepOutcome>,
    /// The version of the memory after the step.
    pub after: Option<u64>,
    /// The former state of a memory that took others in.
    pub before: Option<BeforeUnion>,
    /// The new memory, without its text once it was created; only for [`Action::Derive`].
    pub insight: Option<Insight>,
}

impl StoredStep {
    /// A step that is not carried out yet.
    pub fn planned(step: Step, insight: Option<Insight>) -> Self {
        Self { step, outcome: None, after: None, before: None, insight }
    }
}

/// The record of what a model was asked for a plan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asked {
    /// The fingerprints of the topics that it was asked about, in this plan and earlier ones: the latest
    /// [`ASKED_KEPT`].
    pub topics: Vec<String>,
    /// The cost for this plan.
    pub spent: Spent,
    /// How many insights did not pass the check.
    pub dropped: u64,
}

/// How many topics are remembered as asked about.
pub const ASKED_KEPT: usize = 1_000;

/// A consolidation.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredCycle {
    pub id: CycleId,
    pub state: CycleState,
    /// Who asked for the plan: `person` or `clock`.
    pub by: String,
    /// When it was planned.
    pub at: Timestamp,
    /// When it was carried out.
    pub applied_at: Option<Timestamp>,
    /// When it was undone.
    pub undone_at: Option<Timestamp>,
    /// Its steps, in order.
    pub steps: Vec<StoredStep>,
    /// What a model was asked for it.
    pub asked: Asked,
    /// How often the row was written; 0 before the first time.
    pub version: u64,
}

impl StoredCycle {
    /// The number of steps with this result.
    pub fn count(&self, outcome: StepOutcome) -> usize {
        self.steps.iter().filter(|step| step.outcome == Some(outcome)).count()
    }
}

columns! {
    StoredCycle in "cycle" {
        id: key(CycleId::parse), state, by, at, applied_at, undone_at, steps, asked: flat,
        // One version on with each write.
        version: by(|version| signed(*version) + 1, unsigned),
    }
}

columns! { StoredStep { step: flat, outcome, after, before: flat("tags"), insight: flat("project") } }

columns! { Step { action, memory, version, into, why } }

// These are missing in rows that are older than the schema that introduced them.
columns! { Asked { topics: or_default("asked"), spent: flat, dropped: or_default } }

columns! { Spent { tokens: or_default, requests: or_default } }

columns! { BeforeUnion { tags, duplicate_count: "repeated", last_seen_at: "seen_at" } }

// Once it is a memory, its title and text are empty.
columns! { Insight { project, title: or_default, text: or_default, sources } }

fn cycle_record(id: &CycleId) -> RecordId {
    RecordId::new(CYCLE, id.as_str())
}

fn cycle_id(id: RecordId) -> Result<CycleId, StoreError> {
    let key = key(CYCLE, id)?;
    CycleId::parse(&key).map_err(|_| malformed(CYCLE, "id", &key))
}

/// The row for the next write.
fn row(cycle: &StoredCycle) -> Object {
    let mut row = row_of(cycle);
    put(&mut row, "size", &cycle.steps.len());
    put(&mut row, "done", &cycle.count(StepOutcome::Done));
    row
}

/// The changes of the table.
#[derive(Default)]
pub(super) struct CycleChanges {
    put: Vec<StoredCycle>,
    gone: Vec<CycleId>,
}

impl Part for CycleChanges {
    fn add_to(&self, commit: &mut CommitScript) {
        commit.add(statement::COMMIT_CYCLES, "cycles", &self.put, |cycle| {
            put_next(cycle_record(&cycle.id), cycle.version, row(cycle))
        });
        commit.add(statement::COMMIT_GONE_CYCLES, "gone_cycles", &self.gone, cycle_record);
    }
}

impl Write<'_> {
    /// Records that a consolidation was planned, carried out or undone, according to its state. A new plan replaces
    /// those in `replaced`.
    pub fn put_cycle(&mut self, cycle: &StoredCycle, replaced: Vec<CycleId>) {
        let kind = match cycle.state {
            CycleState::Planned => EventKind::CyclePlanned,
            CycleState::Applied => EventKind::CycleApplied,
            CycleState::Undone => EventKind::CycleUndone,
        };
        let cycles = &mut self.record(NewEvent::about_nothing(kind)).cycles;
        cycles.put.push(cycle.clone());
        cycles.gone.extend(replaced);
    }
}

noun! {
    /// The consolidations.
    cycles: Cycles
}

impl<'a> Cycles<'a> {
    /// A consolidation.
    pub async fn by_id(self, id: &CycleId) -> Result<Option<StoredCycle>, StoreError> {
        let vars = Vars::new().with("ids", vec![cycle_record(id)]);
        Ok(one(self.0.select(statement::CYCLE_GET, vars).await?))
    }

    /// The latest consolidations, planned or done, newest first.
    pub async fn latest(self, limit: usize) -> Result<Vec<StoredCycle>, StoreError> {
        self.0.select(statement::CYCLE_LATEST, Vars::new().limit(limit)).await
    }

    /// Consolidations that may be forgotten.
    pub async fn expired(self) -> Result<Vec<CycleId>, StoreError> {
        let vars = Vars::new().count("keep", KEPT).limit(OLD_MAX);
        let old: Vec<(RecordId, Timestamp)> =
            self.0.pairs(CYCLE, ["id", "at"], statement::CYCLE_OLD, vars).await?;
        old.into_iter().map(|(id, _)| cycle_id(id)).collect()
    }

    /// The memories that were derived from this one by plans carried out.
    pub async fn derived_from(self, memory: &MemoryId) -> Result<Vec<MemoryId>, StoreError> {
        let vars = Vars::new().with("memory", memory_record(memory));
        let derived: Vec<RecordId> = self.0.values(CYCLE, statement::CYCLE_DERIVED, vars).await?;
        derived.into_iter().map(|id| memory_id(CYCLE, id)).collect()
    }

    /// All consolidations in order of id.
    pub fn walk(self) -> Walk<'a, StoredCycle> {
        Walk::over(self.0)
    }
}
