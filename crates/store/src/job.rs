//! The queue of jobs: work caused by a change and committed with it, one row for each subject and kind.
//!
//! Jobs do not need the writer. Leases are taken, renewed and ended by conditional updates, so several processes
//! may share one queue. Each lease has a fencing token; a late worker with an older token changes nothing.

use std::fmt;

mod changes;

pub(super) use changes::JobChanges;
use surrealdb::types::{Object, RecordId, object};

use super::{
    Store, StoreError, StoredModel,
    columns::{RawRow, Row, columns},
    packed,
    read::{Vars, one, take},
    row::{datetime, key, memory_id, memory_record},
    statement,
};
use cerebro_core::domain::{MemoryId, Project, Scope, Timestamp};
use cerebro_core::named;
use cerebro_core::text;

/// Longest reason of a failure that is kept.
const ERROR_CHARS_MAX: usize = 300;

named! {
    /// What a job does. Its name also begins the ids of the jobs; the schema does not list them.
    pub enum JobKind {
        /// Computes a memory's vectors and its relations by likeness and mentions.
        Embed = "embed",
        /// Asks a chat model how a memory relates to others.
        InferRelations = "claim",
        /// Asks a chat model what is worth keeping of a past session.
        Distil = "distil",
        /// Asks a chat model for insights, for a plan of consolidation.
        Derive = "derive",
    }
}

impl JobKind {
    /// The row of this kind of job for a subject.
    pub(super) fn record(self, subject: &Subject) -> RecordId {
        let kind = self.as_str();
        match subject {
            Subject::Memory(id) => RecordId::new("job", format!("{kind}-{id}")),
            Subject::Other { table, key } => RecordId::new("job", format!("{kind}-{table}-{key}")),
        }
    }
}

/// What a job is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    Memory(MemoryId),
    /// A row of another table.
    Other {
        /// The table's name.
        table: String,
        /// The row's key.
        key: String,
    },
}

impl Subject {
    /// The memory, if it is one.
    pub fn memory(&self) -> Option<&MemoryId> {
        match self {
            Self::Memory(id) => Some(id),
            Self::Other { .. } => None,
        }
    }

    pub(super) fn record(&self) -> RecordId {
        match self {
            Self::Memory(id) => memory_record(id),
            Self::Other { table, key } => RecordId::new(table.as_str(), key.as_str()),
        }
    }

    pub(super) fn of(record: RecordId) -> Result<Self, StoreError> {
        let table = record.table.as_str().to_owned();
        if table == "memory" {
            return Ok(Self::Memory(memory_id("job", record)?));
        }
        Ok(Self::Other { table, key: key("job", record)? })
    }
}

impl From<MemoryId> for Subject {
    fn from(id: MemoryId) -> Self {
        Self::Memory(id)
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory(id) => write!(f, "{id}"),
            Self::Other { table, key } => write!(f, "{table}:{key}"),
        }
    }
}

/// What a handler needs besides a job's subject: ids, positions and counts, but no person's text.
pub type Payload = serde_json::Map<String, serde_json::Value>;

/// A leased job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// What it does.
    pub kind: JobKind,
    /// What it is about.
    pub subject: Subject,
    /// The revision of its subject for which it was queued.
    pub revision: u32,
    /// What its handler needs besides the subject.
    pub payload: Option<Payload>,
    /// How often it was leased since it was queued, including this lease.
    pub attempts: u32,
    /// When its cause was written; `None` for a job that catches up on earlier changes.
    pub queued_at: Option<Timestamp>,
    /// The number of leases of its row. Only the holder of the last one can end, fail or release it.
    fencing_token: i64,
}

named! {
    pub enum JobState {
        /// It waits for its first or next attempt.
        Queued = "queued",
        /// A worker holds its lease.
        Leased = "leased",
        /// It was given up and is a dead letter.
        Dead = "dead",
    }
}

/// A job as shown to a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedJob {
    /// What it is about.
    pub subject: Subject,
    /// The subject's title; empty where it has none.
    pub title: String,
    pub state: JobState,
    /// How often it was attempted.
    pub attempts: u32,
    /// When it is tried next, or its lease ends.
    pub due_at: Timestamp,
    /// Why the last attempt failed.
    pub error: Option<String>,
}

/// The number of jobs by state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JobCounts {
    /// Waiting.
    pub queued: usize,
    /// Under way.
    pub leased: usize,
    /// Given up.
    pub dead: usize,
}

impl JobCounts {
    /// The number of jobs that are neither done nor given up.
    pub fn depth(&self) -> usize {
        self.queued + self.leased
    }
}

columns! {
    Job in "job" {
        kind, subject: "memory", revision, attempts, queued_at, fencing_token: or_default("claim"),
        payload: by(
            |payload| payload.clone().map(serde_json::Value::Object),
            |payload: Option<serde_json::Value>| payload.and_then(|payload| payload.as_object().cloned())
        ),
    }
}

columns! { ListedJob in "job" { subject: "memory", title: or_default, state, attempts, due_at, error } }

columns! { JobCounts in "job" { queued, leased, dead } }

/// The row of a job that is queued at a moment.
fn queued(kind: JobKind, subject: &Subject, revision: u32, due_at: Timestamp) -> Object {
    object! {
        id: kind.record(subject),
        memory: subject.record(),
        revision: i64::from(revision),
        kind: kind.as_str().to_owned(),
        state: JobState::Queued.as_str().to_owned(),
        attempts: 0_i64,
        due_at: datetime(due_at),
    }
}

/// The parameters by which a statement finds a job, and the lease that must still be held.
fn leased(owner: &str, job: &Job) -> Vars {
    Vars::new()
        .with("owner", owner)
        .with("fencing_token", job.fencing_token)
        .with("job", job.kind.record(&job.subject))
}

noun! {
    /// The job queue.
    jobs: Jobs
}

impl Jobs<'_> {
    /// Leases up to `limit` due jobs for `owner` until a moment. Each lease counts as an attempt, so that a job
    /// which kills the process is given up eventually.
    pub async fn lease(
        self,
        owner: &str,
        kind: JobKind,
        limit: usize,
        until: Timestamp,
    ) -> Result<Vec<Job>, StoreError> {
        // A result that cannot be stored would be computed, and paid for, again and again.
        self.0.check_space()?;
        let vars = Vars::new()
            .with("owner", owner)
            .limit(limit)
            .at("now", self.0.now())
            .at("until", until)
            .with("kind", kind.as_str());
        let rows: Vec<RawRow> = self.0.changed("job", statement::JOB_LEASE, vars).await?;
        rows.into_iter().map(Job::from_row).collect()
    }

    /// Replaces the vectors of a job's memory, one for each passage in order, and ends the job. `on_commit` is called
    /// with the memory's scope, in the order in which vectors change. Returns `false` and does nothing when the
    /// lease is lost: the memory has changed or is gone, or another worker took over.
    ///
    /// # Errors
    /// [`StoreError::Row`] for a job whose subject is not a memory, and errors of the engine.
    pub async fn finish_embedding(
        self,
        owner: &str,
        job: &Job,
        model: &StoredModel,
        revision: u32,
        vectors: &[Vec<f32>],
        on_commit: impl FnOnce(&Scope),
    ) -> Result<bool, StoreError> {
        let Some(memory) = job.subject.memory() else {
            let reason = format!("only a memory has vectors, and this job is about {}", job.subject);
            return Err(StoreError::Row { table: "job", reason });
        };
        let puts: Vec<Object> = (0_u32..)
            .zip(vectors)
            .map(|(passage, vector)| {
                let place = format!("{memory}-{passage:04}");
                object! {
                    id: RecordId::new(model.table.as_str(), place.as_str()),
                    packed: packed::record(model, &place),
                    passage: i64::from(passage),
                    place: place,
                    embedding: vector.iter().map(|x| f64::from(*x)).collect::<Vec<f64>>(),
                    numbers: packed::numbers(vector),
                }
            })
            .collect();
        let vars = leased(owner, job)
            .with("memory", memory_record(memory))
            .with("queued", i64::from(job.revision))
            .with("revision", i64::from(revision))
            .with("table", model.table.as_str())
            .count("count", puts.len())
            .with("puts", puts);
        self.0.check_space()?;
        let _order = self.0.vectors.lock().await;
        let held: Vec<Option<String>> = self.0.changed("job", statement::JOB_FINISH, vars).await?;
        let Some(project) = one(held).flatten() else { return Ok(false) };
        on_commit(&Project::parse(&project).map_or(Scope::Personal, Scope::Project));
        Ok(true)
    }

    /// Ends a job that is done, or for which there is nothing to do.
    pub async fn end(self, owner: &str, job: &Job) -> Result<(), StoreError> {
        self.0.execute(statement::JOB_END, leased(owner, job)).await
    }

    /// Records that a job failed. It is retried at a moment, or given up if there is none.
    pub async fn fail(
        self,
        owner: &str,
        job: &Job,
        again: Option<Timestamp>,
        reason: &str,
    ) -> Result<(), StoreError> {
        let state = if again.is_some() { JobState::Queued } else { JobState::Dead };
        let reason = text::cut_chars(&text::one_line(reason), ERROR_CHARS_MAX).into_owned();
        let vars = leased(owner, job)
            .with("state", state.as_str())
            .at("due", again.unwrap_or(self.0.now()))
            .with("error", reason);
        self.0.execute(statement::JOB_FAIL, vars).await
    }

    /// Gives back all jobs that an owner holds, without counting the attempts.
    pub async fn release(self, owner: &str) -> Result<(), StoreError> {
        let vars = Vars::new().with("owner", owner).at("now", self.0.now());
        self.0.execute(statement::JOB_RELEASE, vars).await
    }

    /// Extends the leases of these jobs, if the owner still holds them.
    pub async fn renew(self, owner: &str, jobs: &[Job], until: Timestamp) -> Result<(), StoreError> {
        let jobs: Vec<RecordId> = jobs.iter().map(|job| job.kind.record(&job.subject)).collect();
        let vars = Vars::new().with("owner", owner).with("jobs", jobs).at("until", until);
        self.0.execute(statement::JOB_RENEW, vars).await
    }

    /// Queues again the jobs that earlier processes of this writer held when they ended.
    pub async fn requeue_orphaned(self) -> Result<(), StoreError> {
        let vars = Vars::new().with("writer", format!("{}/", self.0.writer)).at("now", self.0.now());
        self.0.execute(statement::JOB_ORPHANS, vars).await
    }

    /// The number of jobs by state.
    pub async fn counts(self) -> Result<JobCounts, StoreError> {
        let counts = self.0.select(statement::JOB_COUNTS, Vars::new()).await?;
        Ok(one(counts).unwrap_or_default())
    }

    /// Whether jobs of a kind are under way, and when the next waiting one is due.
    pub async fn ahead(self, kind: JobKind) -> Result<(bool, Option<Timestamp>), StoreError> {
        let vars = Vars::new().with("kind", kind.as_str());
        let ahead = self.0.pairs("job", ["leased", "next"], statement::JOB_WAITING, vars).await?;
        Ok(one(ahead).unwrap_or_default())
    }

    /// Jobs in one state, the earliest due first.
    pub async fn in_state(self, state: JobState, limit: usize) -> Result<Vec<ListedJob>, StoreError> {
        let vars = Vars::new().with("state", state.as_str()).limit(limit);
        self.0.select(statement::JOB_LIST, vars).await
    }

    /// The subjects of the jobs of a kind in one state, at most `limit`, in no order.
    pub async fn subjects(
        self,
        kind: JobKind,
        state: JobState,
        limit: usize,
    ) -> Result<Vec<Subject>, StoreError> {
        let vars = Vars::new().with("kind", kind.as_str()).with("state", state.as_str()).limit(limit);
        let records: Vec<RecordId> = self.0.values("job", statement::JOB_SUBJECTS, vars).await?;
        records.into_iter().map(Subject::of).collect()
    }

    /// Revives the dead letters and returns their number.
    pub async fn retry_dead(self) -> Result<usize, StoreError> {
        let vars = Vars::new().at("now", self.0.now());
        Ok(self.0.changed::<surrealdb::types::Value>("job", statement::JOB_RETRY, vars).await?.len())
    }

    /// Queues a job about a revision of a subject. It replaces one of the same kind that waits already.
    pub async fn queue(
        self,
        kind: JobKind,
        subject: &Subject,
        revision: u32,
        payload: Option<Payload>,
    ) -> Result<(), StoreError> {
        let mut row = queued(kind, subject, revision, self.0.now());
        row.insert("payload", payload.map(serde_json::Value::Object));
        self.0.execute(statement::COMMIT_JOBS, Vars::new().with("jobs", vec![row])).await
    }

    /// Queues jobs about subjects. An existing job of the same kind and subject stays as it is, even a dead letter.
    pub async fn ensure(self, kind: JobKind, subjects: &[Subject]) -> Result<(), StoreError> {
        if subjects.is_empty() {
            return Ok(());
        }
        let due = self.0.now();
        let jobs = subjects.iter().map(|subject| queued(kind, subject, 0, due));
        self.0.execute(statement::JOB_PUT, Vars::new().list("jobs", jobs)).await
    }

    /// Makes jobs due that wait for another attempt.
    pub async fn hasten(self, kind: JobKind, subjects: &[Subject]) -> Result<(), StoreError> {
        if subjects.is_empty() {
            return Ok(());
        }
        let jobs: Vec<RecordId> = subjects.iter().map(|subject| kind.record(subject)).collect();
        let vars = Vars::new().with("jobs", jobs).at("now", self.0.now());
        self.0.execute(statement::JOB_HASTEN, vars).await
    }

    /// Reads a page of memories after an id and queues jobs about the live ones that lack vectors of their revision; an
    /// existing job stays as it is. Returns where the page ended (`None` after the last one) and how many lack them.
    pub async fn queue_missing(
        self,
        model: &StoredModel,
        after: Option<&MemoryId>,
        limit: usize,
    ) -> Result<(Option<MemoryId>, usize), StoreError> {
        let after = after.map_or_else(|| RecordId::new("memory", ""), memory_record);
        let vars = Vars::new().with("after", after).limit(limit).at("now", self.0.now());
        let mut results = self.0.models().execute(model, statement::JOB_PUT_MISSING, vars).await?;
        let page = one(take::<RawRow>("job", &mut results, 0)?);
        page.map_or(Ok((None, 0)), |page| page.pair("job", ["last", "missing"]))
    }
}

#[cfg(test)]
mod tests;
