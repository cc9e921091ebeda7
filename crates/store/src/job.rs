//! The worker's queue: rows that a change of a memory left in its own transaction.
//!
//! None of this takes the writer. Leases are taken, renewed and ended by conditional updates, so several
//! processes may work on one queue.

mod changes;

pub(super) use changes::JobChanges;
use surrealdb::types::{RecordId, SurrealValue};

use super::{
    Store, StoreError, StoredModel,
    read::{Vars, one, take},
    row::{JobRow, datetime, memory_id, memory_record, timestamp},
    statement,
};
use cerebro_core::domain::{MemoryId, Project, Timestamp};

/// Longest reason of a failure that is kept.
const ERROR_CHARS_MAX: usize = 300;

/// What a job asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobKind {
    /// The memory's vectors, and what relates it to others.
    Embed,
    /// What a language model says of how it stands to others.
    Claim,
}

impl JobKind {
    /// The stored name, which is also the beginning of the job's id.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Embed => "embed",
            Self::Claim => "claim",
        }
    }

    /// The row of this kind of a memory's jobs.
    pub(super) fn record(self, memory: &MemoryId) -> RecordId {
        RecordId::new("job", format!("{}-{memory}", self.as_str()))
    }
}

/// A leased job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// What it asks for.
    pub kind: JobKind,
    /// The memory that must be looked at.
    pub memory: MemoryId,
    /// The revision for which it was queued.
    pub revision: u32,
    /// How often it was leased since it was queued, this time among it.
    pub attempts: u32,
    /// When its cause was written; `None` for work that is caught up on.
    pub queued_at: Option<Timestamp>,
    claim: i64,
}

/// Where a job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobState {
    /// It waits, or waits for its next attempt.
    Queued,
    /// Somebody works on it.
    Leased,
    /// It was given up.
    Dead,
}

impl JobState {
    /// The stored and published name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Leased => "leased",
            Self::Dead => "dead",
        }
    }
}

/// A job as a person sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedJob {
    /// Its memory.
    pub memory: MemoryId,
    /// The memory's title.
    pub title: String,
    /// Where it stands.
    pub state: JobState,
    /// How often it was tried.
    pub attempts: u32,
    /// When it is tried next, or its lease ends.
    pub due_at: Timestamp,
    /// Why it failed last.
    pub error: Option<String>,
}

/// How much work there is.
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
    /// What is not done and not given up.
    pub fn depth(&self) -> usize {
        self.queued + self.leased
    }
}

#[derive(SurrealValue)]
#[surreal(crate = "surrealdb::types")]
struct Row {
    memory: RecordId,
    revision: i64,
    state: String,
    attempts: i64,
    due_at: surrealdb::types::Datetime,
    queued_at: Option<surrealdb::types::Datetime>,
    claim: Option<i64>,
    error: Option<String>,
    #[surreal(default)]
    title: Option<String>,
}

#[derive(SurrealValue)]
#[surreal(crate = "surrealdb::types")]
struct Held {
    job: RecordId,
    claim: i64,
}

#[derive(SurrealValue)]
#[surreal(crate = "surrealdb::types")]
struct PutVector {
    id: RecordId,
    passage: i64,
    place: String,
    embedding: Vec<f64>,
}

fn small(count: i64) -> u32 {
    u32::try_from(count).unwrap_or(0)
}

impl Store {
    /// Leases up to `limit` due jobs for `owner` until a moment. Each lease counts as an attempt, so that work
    /// that ends the process is given up one day too.
    pub async fn claim_jobs(
        &self,
        owner: &str,
        kind: JobKind,
        limit: usize,
        until: Timestamp,
    ) -> Result<Vec<Job>, StoreError> {
        // What could not be put down would be done, and paid for, again and again.
        self.check_space()?;
        let vars = Vars::new()
            .with("owner", owner)
            .limit(limit)
            .at("now", self.now())
            .at("until", until)
            .with("kind", kind.as_str());
        let mut results = self.retry_on_conflict(statement::JOB_CLAIM, vars).await?;
        let rows: Vec<Row> = take("job", &mut results, 0)?;
        rows.into_iter()
            .map(|row| {
                Ok(Job {
                    kind,
                    memory: memory_id("job", row.memory)?,
                    revision: small(row.revision),
                    attempts: small(row.attempts),
                    queued_at: row.queued_at.map(timestamp),
                    claim: row.claim.unwrap_or_default(),
                })
            })
            .collect()
    }

    /// Puts the vectors of a memory, one for each of its passages in order, in place of its older ones and
    /// ends the job; `told` is called with the memory's project, in the order in which vectors change. `false`,
    /// and nothing done, when the lease is not held any more: the memory changed or went, or another took over.
    pub async fn finish_job(
        &self,
        owner: &str,
        job: &Job,
        model: &StoredModel,
        revision: u32,
        vectors: &[Vec<f32>],
        told: impl FnOnce(&Project),
    ) -> Result<bool, StoreError> {
        let puts: Vec<PutVector> = (0_u32..)
            .zip(vectors)
            .map(|(passage, vector)| {
                let place = format!("{}-{passage:04}", job.memory);
                PutVector {
                    id: RecordId::new(model.table.as_str(), place.as_str()),
                    passage: i64::from(passage),
                    place,
                    embedding: vector.iter().map(|x| f64::from(*x)).collect(),
                }
            })
            .collect();
        let vars = Vars::new()
            .with("owner", owner)
            .with("claim", job.claim)
            .with("job", job.kind.record(&job.memory))
            .with("memory", memory_record(&job.memory))
            .with("queued", i64::from(job.revision))
            .with("revision", i64::from(revision))
            .with("table", model.table.as_str())
            .with("count", i64::try_from(puts.len()).unwrap_or(i64::MAX))
            .with("puts", puts);
        self.check_space()?;
        let _order = self.vectors.lock().await;
        let mut results = self.retry_on_conflict(statement::JOB_FINISH, vars).await?;
        let held: Vec<Option<String>> = take("job", &mut results, 0)?;
        let Some(project) = one(held).flatten() else { return Ok(false) };
        told(&Project::parse(&project).unwrap_or_else(Project::none));
        Ok(true)
    }

    /// Ends a job for which there is nothing to do.
    pub async fn end_job(&self, owner: &str, job: &Job) -> Result<(), StoreError> {
        let vars = Vars::new()
            .with("owner", owner)
            .with("claim", job.claim)
            .with("job", job.kind.record(&job.memory));
        self.retry_on_conflict(statement::JOB_END, vars).await.map(drop)
    }

    /// Notes that a job failed: it is tried again at a moment, or given up when there is none.
    pub async fn fail_job(
        &self,
        owner: &str,
        job: &Job,
        again: Option<Timestamp>,
        reason: &str,
    ) -> Result<(), StoreError> {
        let state = if again.is_some() { JobState::Queued } else { JobState::Dead };
        let reason = cerebro_core::text::cut_chars(&cerebro_core::text::one_line(reason), ERROR_CHARS_MAX)
            .into_owned();
        self.put_back(
            owner,
            std::slice::from_ref(job),
            state,
            again.unwrap_or(self.now()),
            Some(reason),
            false,
        )
        .await
    }

    /// Gives leased jobs back as if they had not been taken.
    pub async fn release_jobs(&self, owner: &str, jobs: &[Job]) -> Result<(), StoreError> {
        if jobs.is_empty() {
            return Ok(());
        }
        self.put_back(owner, jobs, JobState::Queued, self.now(), None, true).await
    }

    async fn put_back(
        &self,
        owner: &str,
        jobs: &[Job],
        state: JobState,
        due: Timestamp,
        reason: Option<String>,
        forgive: bool,
    ) -> Result<(), StoreError> {
        let jobs: Vec<Held> =
            jobs.iter().map(|job| Held { job: job.kind.record(&job.memory), claim: job.claim }).collect();
        let vars = Vars::new()
            .with("owner", owner)
            .with("jobs", jobs)
            .with("state", state.as_str())
            .at("due", due)
            .with("error", reason)
            .with("forgive", forgive);
        self.retry_on_conflict(statement::JOB_PUT_BACK, vars).await.map(drop)
    }

    /// Lengthens all leases of an owner.
    pub async fn renew_jobs(&self, owner: &str, until: Timestamp) -> Result<(), StoreError> {
        let vars = Vars::new().with("owner", owner).at("until", until);
        self.retry_on_conflict(statement::JOB_RENEW, vars).await.map(drop)
    }

    /// Queues again what earlier processes of this writer had leased when they ended.
    pub async fn orphaned_jobs(&self) -> Result<(), StoreError> {
        let vars = Vars::new().with("writer", format!("{}/", self.writer)).at("now", self.now());
        self.retry_on_conflict(statement::JOB_ORPHANS, vars).await.map(drop)
    }

    /// How much work there is.
    pub async fn job_counts(&self) -> Result<JobCounts, StoreError> {
        #[derive(SurrealValue)]
        #[surreal(crate = "surrealdb::types")]
        struct Row {
            queued: i64,
            leased: i64,
            dead: i64,
        }
        let mut results = self.engine()?.run(statement::JOB_COUNTS, Vars::new().0).await?;
        let rows: Vec<Row> = take("job", &mut results, 0)?;
        let count = |n: i64| usize::try_from(n).unwrap_or(0);
        Ok(one(rows).map_or_else(JobCounts::default, |row| JobCounts {
            queued: count(row.queued),
            leased: count(row.leased),
            dead: count(row.dead),
        }))
    }

    /// Whether jobs of a kind are under way, and when the next of those that wait is due.
    pub async fn jobs_ahead(&self, kind: JobKind) -> Result<(bool, Option<Timestamp>), StoreError> {
        #[derive(SurrealValue)]
        #[surreal(crate = "surrealdb::types")]
        struct Row {
            leased: bool,
            next: Option<surrealdb::types::Datetime>,
        }
        let vars = Vars::new().with("kind", kind.as_str());
        let mut results = self.engine()?.run(statement::JOB_WAITING, vars.0).await?;
        let row = one(take::<Row>("job", &mut results, 0)?);
        Ok(row.map_or((false, None), |row| (row.leased, row.next.map(timestamp))))
    }

    /// Jobs of one state, those that are due first at the front.
    pub async fn jobs(&self, state: JobState, limit: usize) -> Result<Vec<ListedJob>, StoreError> {
        let vars = Vars::new().with("state", state.as_str()).limit(limit);
        let mut results = self.engine()?.run(statement::JOB_LIST, vars.0).await?;
        let rows: Vec<Row> = take("job", &mut results, 0)?;
        rows.into_iter()
            .map(|row| {
                Ok(ListedJob {
                    memory: memory_id("job", row.memory)?,
                    title: row.title.unwrap_or_default(),
                    state,
                    attempts: small(row.attempts),
                    due_at: timestamp(row.due_at),
                    error: row.error,
                })
            })
            .collect()
    }

    /// Revives what was given up; says how many.
    pub async fn retry_jobs(&self) -> Result<usize, StoreError> {
        let mut results =
            self.retry_on_conflict(statement::JOB_RETRY, Vars::new().at("now", self.now())).await?;
        let rows: Vec<surrealdb::types::Value> = take("job", &mut results, 0)?;
        Ok(rows.len())
    }

    /// Queues a memory's present revision for a language model. One that waits already is the same row.
    pub async fn queue_claim(&self, memory: &MemoryId, revision: u32) -> Result<(), StoreError> {
        let row = JobRow {
            id: JobKind::Claim.record(memory),
            memory: memory_record(memory),
            revision: i64::from(revision),
            kind: JobKind::Claim.as_str().to_owned(),
            state: JobState::Queued.as_str().to_owned(),
            attempts: 0,
            due_at: datetime(self.now()),
            queued_at: None,
        };
        self.retry_on_conflict(statement::COMMIT_JOBS, Vars::new().with("jobs", vec![row])).await.map(drop)
    }

    /// Looks at a page of memories after an id and queues the live ones that have no vectors of their
    /// revision. Gives where the page ended (`None` behind the last one) and how many were queued.
    pub async fn queue_missing(
        &self,
        model: &StoredModel,
        after: Option<&MemoryId>,
        limit: usize,
    ) -> Result<(Option<MemoryId>, usize), StoreError> {
        #[derive(SurrealValue)]
        #[surreal(crate = "surrealdb::types")]
        struct Row {
            id: RecordId,
            revision: i64,
            live: bool,
        }
        let after = after.map_or_else(|| RecordId::new("memory", ""), memory_record);
        let vars = Vars::new().with("after", after).limit(limit);
        let mut results = self.engine()?.run(statement::MEMORY_IDS, vars.0).await?;
        let rows: Vec<Row> = take("memory", &mut results, 0)?;
        let Some(last) = rows.last() else { return Ok((None, 0)) };
        let last = memory_id("memory", last.id.clone())?;
        let live: Vec<(MemoryId, i64)> = rows
            .into_iter()
            .filter(|row| row.live)
            .map(|row| Ok((memory_id("memory", row.id)?, row.revision)))
            .collect::<Result<_, StoreError>>()?;
        let have = self.vectors_of(model, &live.iter().map(|(id, _)| *id).collect::<Vec<_>>()).await?;
        let missing = live.into_iter().filter(|(id, revision)| have.get(id) != Some(revision));
        let jobs: Vec<JobRow> = missing
            .map(|(id, revision)| JobRow {
                id: JobKind::Embed.record(&id),
                memory: memory_record(&id),
                revision,
                kind: JobKind::Embed.as_str().to_owned(),
                state: JobState::Queued.as_str().to_owned(),
                attempts: 0,
                due_at: datetime(self.now()),
                queued_at: None,
            })
            .collect();
        let count = jobs.len();
        if count > 0 {
            self.retry_on_conflict(statement::JOB_PUT, Vars::new().with("jobs", jobs)).await?;
        }
        Ok((Some(last), count))
    }
}

#[cfg(test)]
mod tests;
