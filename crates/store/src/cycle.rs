//! Consolidations: their plans, what was done, and what is needed to undo it. The rows hold no text of a memory,
//! and the text of an insight only until it is a memory.

use surrealdb::types::{Datetime, RecordId, SurrealValue};

use super::{
    Store, StoreError, Write,
    changes::{CommitScript, NewEvent, Part},
    read::{Vars, Walk, one},
    row::{
        Guarded, datetime, held, key, malformed, memory_id, memory_record, project, signed, size, small,
        timestamp, unsigned,
    },
    statement,
};
use cerebro_core::domain::{CycleId, EventKind, MemoryId, Timestamp};
use cerebro_core::named;
use cerebro_core::pace::Spent;
use cerebro_core::truth::{Action, Insight, Step};

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

#[derive(Debug, Clone, SurrealValue)]
struct StepRow {
    action: String,
    memory: RecordId,
    version: i64,
    into: Option<RecordId>,
    why: String,
    outcome: Option<String>,
    after: Option<i64>,
    tags: Option<i64>,
    repeated: Option<i64>,
    seen_at: Option<Datetime>,
    project: Option<String>,
    title: Option<String>,
    text: Option<String>,
    sources: Option<Vec<RecordId>>,
}

#[derive(Debug, Clone, SurrealValue)]
struct Row {
    id: Option<RecordId>,
    state: String,
    by: String,
    at: Datetime,
    applied_at: Option<Datetime>,
    undone_at: Option<Datetime>,
    version: i64,
    size: i64,
    done: i64,
    steps: Vec<StepRow>,
    asked: Option<Vec<String>>,
    requests: Option<i64>,
    tokens: Option<i64>,
    dropped: Option<i64>,
}

/// A count that rows lack if they are older than the schema that introduced it.
fn counted_of(count: Option<i64>) -> u64 {
    count.map_or(0, unsigned)
}

fn cycle_record(id: &CycleId) -> RecordId {
    RecordId::new(CYCLE, id.as_str())
}

fn cycle_id(id: RecordId) -> Result<CycleId, StoreError> {
    let key = key(CYCLE, id)?;
    CycleId::parse(&key).map_err(|_| malformed(CYCLE, "id", &key))
}

impl From<&StoredStep> for StepRow {
    fn from(stored: &StoredStep) -> Self {
        let StoredStep { step, outcome, after, before, insight } = stored;
        let waits = insight.as_ref().filter(|insight| !insight.text.is_empty());
        Self {
            action: step.action.as_str().to_owned(),
            memory: memory_record(&step.memory),
            version: signed(step.version),
            into: step.into.as_ref().map(memory_record),
            why: step.why.clone(),
            outcome: outcome.map(|outcome| outcome.as_str().to_owned()),
            after: after.map(signed),
            tags: before.map(|before| signed(before.tags as u64)),
            repeated: before.map(|before| i64::from(before.duplicate_count)),
            seen_at: before.map(|before| datetime(before.last_seen_at)),
            project: insight.as_ref().map(|insight| insight.project.as_str().to_owned()),
            title: waits.map(|insight| insight.title.to_string()),
            text: waits.map(|insight| insight.text.to_string()),
            sources: insight.as_ref().map(|insight| insight.sources.iter().map(memory_record).collect()),
        }
    }
}

impl TryFrom<StepRow> for StoredStep {
    type Error = StoreError;

    fn try_from(row: StepRow) -> Result<Self, StoreError> {
        let before = match (row.tags, row.repeated, row.seen_at) {
            (Some(tags), Some(repeated), Some(seen_at)) => Some(BeforeUnion {
                tags: size(tags),
                duplicate_count: small(repeated),
                last_seen_at: timestamp(seen_at),
            }),
            _ => None,
        };
        let insight = match (row.project, row.sources) {
            (Some(of), Some(sources)) => Some(Insight {
                project: project(CYCLE, &of)?,
                title: held(row.title.unwrap_or_default()),
                text: held(row.text.unwrap_or_default()),
                sources: sources.into_iter().map(|id| memory_id(CYCLE, id)).collect::<Result<_, _>>()?,
            }),
            _ => None,
        };
        Ok(Self {
            step: Step {
                action: Action::parse(&row.action).ok_or_else(|| malformed(CYCLE, "action", &row.action))?,
                memory: memory_id(CYCLE, row.memory)?,
                version: unsigned(row.version),
                into: row.into.map(|id| memory_id(CYCLE, id)).transpose()?,
                why: row.why,
            },
            outcome: row.outcome.as_deref().and_then(StepOutcome::parse),
            after: row.after.map(unsigned),
            before,
            insight,
        })
    }
}

impl Row {
    /// The row as the next write leaves it: one version on.
    fn next(cycle: &StoredCycle) -> Self {
        Self {
            id: None,
            state: cycle.state.as_str().to_owned(),
            by: cycle.by.clone(),
            at: datetime(cycle.at),
            applied_at: cycle.applied_at.map(datetime),
            undone_at: cycle.undone_at.map(datetime),
            version: signed(cycle.version) + 1,
            size: signed(cycle.steps.len() as u64),
            done: signed(cycle.count(StepOutcome::Done) as u64),
            steps: cycle.steps.iter().map(StepRow::from).collect(),
            asked: Some(cycle.asked.topics.clone()),
            requests: Some(signed(cycle.asked.spent.requests)),
            tokens: Some(signed(cycle.asked.spent.tokens)),
            dropped: Some(signed(cycle.asked.dropped)),
        }
    }
}

impl TryFrom<Row> for StoredCycle {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let id = row.id.ok_or_else(|| malformed(CYCLE, "missing", "id"))?;
        Ok(Self {
            id: cycle_id(id)?,
            state: CycleState::parse(&row.state).ok_or_else(|| malformed(CYCLE, "state", &row.state))?,
            by: row.by,
            at: timestamp(row.at),
            applied_at: row.applied_at.map(timestamp),
            undone_at: row.undone_at.map(timestamp),
            steps: row.steps.into_iter().map(StoredStep::try_from).collect::<Result<_, _>>()?,
            asked: Asked {
                topics: row.asked.unwrap_or_default(),
                spent: Spent { tokens: counted_of(row.tokens), requests: counted_of(row.requests) },
                dropped: counted_of(row.dropped),
            },
            version: unsigned(row.version),
        })
    }
}

/// The changes of the table.
#[derive(Default)]
pub(super) struct CycleChanges {
    put: Vec<StoredCycle>,
    gone: Vec<CycleId>,
}

impl Part for CycleChanges {
    fn add_to(&self, commit: &mut CommitScript) {
        commit.add(statement::COMMIT_CYCLES, "cycles", &self.put, |cycle| Guarded {
            id: cycle_record(&cycle.id),
            expect: signed(cycle.version),
            row: Row::next(cycle),
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
        Ok(one(self.0.select::<Row, _>(CYCLE, statement::CYCLE_GET, vars).await?))
    }

    /// The latest consolidations, planned or done, newest first.
    pub async fn latest(self, limit: usize) -> Result<Vec<StoredCycle>, StoreError> {
        self.0.select::<Row, _>(CYCLE, statement::CYCLE_LATEST, Vars::new().limit(limit)).await
    }

    /// Consolidations that may be forgotten.
    pub async fn expired(self) -> Result<Vec<CycleId>, StoreError> {
        #[derive(SurrealValue)]
        struct Old {
            id: RecordId,
        }
        let vars = Vars::new().count("keep", KEPT).limit(OLD_MAX);
        let old: Vec<Old> = self.0.values(CYCLE, statement::CYCLE_OLD, vars).await?;
        old.into_iter().map(|old| cycle_id(old.id)).collect()
    }

    /// The memories that were derived from this one by plans carried out.
    pub async fn derived_from(self, memory: &MemoryId) -> Result<Vec<MemoryId>, StoreError> {
        let vars = Vars::new().with("memory", memory_record(memory));
        let derived: Vec<RecordId> = self.0.values(CYCLE, statement::CYCLE_DERIVED, vars).await?;
        derived.into_iter().map(|id| memory_id(CYCLE, id)).collect()
    }

    /// All consolidations in order of id, `limit` at a time.
    pub fn walk(self, limit: usize) -> Walk<'a, StoredCycle> {
        Walk::over::<Row>(self.0, CYCLE, limit)
    }
}
