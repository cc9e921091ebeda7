//! The worker's queue: rows that a change of a memory left in its own transaction.
//!
//! None of this takes the writer. Leases are taken, renewed and ended by conditional updates, so several
//! processes may work on one queue.

use surrealdb::types::{RecordId, SurrealValue};

use super::{
    Store, StoreError, StoredModel,
    read::{Vars, one, take},
    row::{JobRow, datetime, memory_id, memory_record, timestamp},
    statement::{self, Statement},
};
use crate::domain::{MemoryId, Project, Timestamp, limits::WRITE_ATTEMPTS_MAX};

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
    /// When the next of the waiting is due.
    pub next: Option<Timestamp>,
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
    /// Runs a statement that may meet others on the same rows, a bounded number of times.
    pub(super) async fn insist(
        &self,
        statement: Statement,
        vars: Vars,
    ) -> Result<surrealdb::IndexedResults, StoreError> {
        for attempt in 0..WRITE_ATTEMPTS_MAX {
            match self.engine()?.run(statement, vars.0.clone()).await {
                Err(error) if error.is_retryable() => {
                    tokio::time::sleep(std::time::Duration::from_millis(2 << attempt)).await;
                }
                done => return done,
            }
        }
        Err(StoreError::Conflict)
    }

    /// Leases up to `limit` due jobs for `owner` until a moment. Each lease counts as an attempt, so that work
    /// that ends the process is given up one day too.
    pub async fn claim_jobs(
        &self,
        owner: &str,
        kind: JobKind,
        limit: usize,
        until: Timestamp,
    ) -> Result<Vec<Job>, StoreError> {
        let vars = Vars::new()
            .with("owner", owner)
            .limit(limit)
            .at("now", self.now())
            .at("until", until)
            .with("kind", kind.as_str());
        let mut results = self.insist(statement::JOB_CLAIM, vars).await?;
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
        let mut results = self.insist(statement::JOB_FINISH, vars).await?;
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
        self.insist(statement::JOB_END, vars).await.map(drop)
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
        let reason = crate::text::cut_chars(&crate::text::one_line(reason), ERROR_CHARS_MAX).into_owned();
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
        self.insist(statement::JOB_PUT_BACK, vars).await.map(drop)
    }

    /// Lengthens all leases of an owner.
    pub async fn renew_jobs(&self, owner: &str, until: Timestamp) -> Result<(), StoreError> {
        let vars = Vars::new().with("owner", owner).at("until", until);
        self.insist(statement::JOB_RENEW, vars).await.map(drop)
    }

    /// Queues again what earlier processes of this writer had leased when they ended.
    pub async fn orphaned_jobs(&self) -> Result<(), StoreError> {
        let vars = Vars::new().with("writer", format!("{}/", self.writer)).at("now", self.now());
        self.insist(statement::JOB_ORPHANS, vars).await.map(drop)
    }

    /// How much work there is.
    pub async fn job_counts(&self) -> Result<JobCounts, StoreError> {
        #[derive(SurrealValue)]
        #[surreal(crate = "surrealdb::types")]
        struct Row {
            queued: i64,
            leased: i64,
            dead: i64,
            next: Option<surrealdb::types::Datetime>,
        }
        let mut results = self.engine()?.run(statement::JOB_COUNTS, Vars::new().0).await?;
        let rows: Vec<Row> = take("job", &mut results, 0)?;
        let count = |n: i64| usize::try_from(n).unwrap_or(0);
        Ok(one(rows).map_or_else(JobCounts::default, |row| JobCounts {
            queued: count(row.queued),
            leased: count(row.leased),
            dead: count(row.dead),
            next: row.next.map(timestamp),
        }))
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
        let mut results = self.insist(statement::JOB_RETRY, Vars::new().at("now", self.now())).await?;
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
        self.insist(statement::COMMIT_JOBS, Vars::new().with("jobs", vec![row])).await.map(drop)
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
        let have = self.vectors_of(model, &live.iter().map(|(id, _)| id.clone()).collect::<Vec<_>>()).await?;
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
            self.insist(statement::JOB_PUT, Vars::new().with("jobs", jobs)).await?;
        }
        Ok((Some(last), count))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{
        domain::{EventKind, Memory},
        store::{
            ModelState,
            tests::{memory, open, put, run},
        },
    };

    async fn save(store: &Store, memory: &Memory) {
        let memory = memory.clone();
        let saved: Result<(), StoreError> = store
            .transact(move |write| {
                let memory = memory.clone();
                Box::pin(async move {
                    write.tell(EventKind::MemoryCreated, &memory, None);
                    write.changes.jobs.push((memory.id.clone(), memory.revision));
                    write.changes.memories.push(memory);
                    Ok(())
                })
            })
            .await;
        saved.unwrap();
    }

    fn later(seconds: u64) -> Timestamp {
        Timestamp::now() + Duration::from_secs(seconds)
    }

    async fn model(store: &Store) -> StoredModel {
        let model = StoredModel::new("test/model", 3, ModelState::Active);
        store.add_model(&model).await.unwrap();
        model
    }

    async fn places(store: &Store, model: &StoredModel, project: &Project) -> Vec<(MemoryId, u32)> {
        let page = store.page_of_vectors(model, project, "", 100).await.unwrap();
        page.into_iter().map(|vector| (vector.memory, vector.passage)).collect()
    }

    #[test]
    fn a_job_is_leased_once_and_its_vectors_are_put_once() {
        let dir = tempfile::tempdir().unwrap();
        run(async {
            let store = open(dir.path()).await;
            let model = model(&store).await;
            let saved = memory(None);
            save(&store, &saved).await;
            let jobs = store.claim_jobs("a/1", JobKind::Embed, 5, later(60)).await.unwrap();
            assert_eq!((jobs.len(), jobs[0].attempts, &jobs[0].memory), (1, 1, &saved.id));
            assert!(jobs[0].queued_at.is_some());
            assert!(
                store.claim_jobs("b/1", JobKind::Embed, 5, later(60)).await.unwrap().is_empty(),
                "it is leased"
            );
            let counts = store.job_counts().await.unwrap();
            assert_eq!((counts.queued, counts.leased, counts.dead), (0, 1, 0));

            let vectors = [vec![1.0, 0.0, 0.0], vec![0.0, 1.0, 0.0]];
            let mut told = false;
            assert!(!store.finish_job("b/1", &jobs[0], &model, 1, &vectors, |_| told = true).await.unwrap());
            assert!(!told && places(&store, &model, &saved.project).await.is_empty(), "not its lease");
            assert!(store.finish_job("a/1", &jobs[0], &model, 1, &vectors, |_| told = true).await.unwrap());
            assert!(told);
            assert_eq!(
                places(&store, &model, &saved.project).await,
                [(saved.id.clone(), 0), (saved.id.clone(), 1)]
            );
            assert!(!store.finish_job("a/1", &jobs[0], &model, 1, &vectors, |_| ()).await.unwrap(), "done");
            assert_eq!(store.job_counts().await.unwrap().depth(), 0);
            assert_eq!(store.count_vectors(&model, &saved.project).await.unwrap(), 2);

            for projects in [None, Some([saved.project.clone()])] {
                let projects = projects.as_ref().map(<[_; 1]>::as_slice);
                let near = store.nearest_vectors(&model, projects, &[0.1, 1.0, 0.0]).await.unwrap();
                assert_eq!(near.len(), 2, "{near:?}");
                assert_eq!(near[0].1, 1);
            }
            store.close().await.unwrap();
        });
    }

    #[test]
    fn a_change_makes_the_job_under_way_void() {
        let dir = tempfile::tempdir().unwrap();
        run(async {
            let store = open(dir.path()).await;
            let model = model(&store).await;
            let mut saved = memory(None);
            save(&store, &saved).await;
            let old = store.claim_jobs("a/1", JobKind::Embed, 5, later(60)).await.unwrap();
            saved.version = 1;
            saved.revision = 2;
            save(&store, &saved).await;
            let one = [vec![1.0, 0.0, 0.0]];
            assert!(!store.finish_job("a/1", &old[0], &model, 1, &one, |_| ()).await.unwrap());
            let new = store.claim_jobs("a/1", JobKind::Embed, 5, later(60)).await.unwrap();
            assert_eq!((new[0].revision, new[0].attempts), (2, 1));
            assert!(store.finish_job("a/1", &new[0], &model, 2, &one, |_| ()).await.unwrap());
            // Fewer passages than before leave none of the old ones.
            saved.version = 2;
            save(&store, &saved).await;
            let again = store.claim_jobs("a/1", JobKind::Embed, 5, later(60)).await.unwrap();
            assert!(
                store
                    .finish_job("a/1", &again[0], &model, 2, &[vec![1.0; 3], vec![1.0; 3]], |_| ())
                    .await
                    .unwrap()
            );
            saved.version = 3;
            save(&store, &saved).await;
            let again = store.claim_jobs("a/1", JobKind::Embed, 5, later(60)).await.unwrap();
            assert!(store.finish_job("a/1", &again[0], &model, 2, &one, |_| ()).await.unwrap());
            assert_eq!(places(&store, &model, &saved.project).await, [(saved.id.clone(), 0)]);
            store.close().await.unwrap();
        });
    }

    #[test]
    fn leases_lapse_and_failures_end_in_a_dead_letter_that_can_be_revived() {
        let dir = tempfile::tempdir().unwrap();
        run(async {
            let store = open(dir.path()).await;
            let saved = memory(None);
            save(&store, &saved).await;
            let first = store.claim_jobs("a/1", JobKind::Embed, 5, Timestamp::now()).await.unwrap();
            let second = store.claim_jobs("b/1", JobKind::Embed, 5, later(60)).await.unwrap();
            assert_eq!(second[0].attempts, 2, "the lapsed lease is another's");
            store.fail_job("a/1", &first[0], None, "late").await.unwrap();
            assert_eq!(store.job_counts().await.unwrap().leased, 1, "a late word changes nothing");
            store.fail_job("b/1", &second[0], Some(later(60)), "again\nlater").await.unwrap();
            assert!(
                store.claim_jobs("b/1", JobKind::Embed, 5, later(60)).await.unwrap().is_empty(),
                "it is not due"
            );
            let waiting = store.jobs(JobState::Queued, 9).await.unwrap();
            assert_eq!(waiting[0].error.as_deref(), Some("again later"));
            assert_eq!(waiting[0].title, saved.title);
            assert!(store.job_counts().await.unwrap().next.is_some());

            save(&store, &Memory { version: 1, ..saved.clone() }).await;
            let third = store.claim_jobs("b/1", JobKind::Embed, 5, later(60)).await.unwrap();
            assert_eq!(third[0].attempts, 1, "a change begins anew");
            store.release_jobs("b/1", &third).await.unwrap();
            let third = store.claim_jobs("b/1", JobKind::Embed, 5, later(60)).await.unwrap();
            assert_eq!(third[0].attempts, 1, "given back is not tried");
            store.fail_job("b/1", &third[0], None, "never").await.unwrap();
            assert_eq!(store.job_counts().await.unwrap().dead, 1);
            assert_eq!(store.retry_jobs().await.unwrap(), 1);
            assert_eq!(store.claim_jobs("local/2", JobKind::Embed, 5, later(60)).await.unwrap().len(), 1);
            store.orphaned_jobs().await.unwrap();
            assert_eq!(
                store.claim_jobs("local/3", JobKind::Embed, 5, later(60)).await.unwrap().len(),
                1,
                "its process ended"
            );
            store.close().await.unwrap();
        });
    }

    #[test]
    fn many_workers_never_get_the_same_job() {
        let dir = tempfile::tempdir().unwrap();
        run(async {
            let store = std::sync::Arc::new(open(dir.path()).await);
            for _ in 0..60 {
                save(&store, &memory(None)).await;
            }
            let workers = (0..4).map(|n| {
                let store = std::sync::Arc::clone(&store);
                tokio::spawn(async move {
                    let owner = format!("w/{n}");
                    let mut got = Vec::new();
                    loop {
                        let jobs = store.claim_jobs(&owner, JobKind::Embed, 3, later(60)).await.unwrap();
                        if jobs.is_empty() {
                            return got;
                        }
                        got.extend(jobs.into_iter().map(|job| job.memory));
                    }
                })
            });
            let mut all = Vec::new();
            for worker in workers.collect::<Vec<_>>() {
                all.extend(worker.await.unwrap());
            }
            let count = all.len();
            all.sort();
            all.dedup();
            assert_eq!((all.len(), count), (60, 60));
        });
    }

    #[test]
    fn vectors_go_and_move_with_their_memories() {
        let dir = tempfile::tempdir().unwrap();
        run(async {
            let store = open(dir.path()).await;
            let model = model(&store).await;
            let (stays, mut goes) = (memory(None), memory(None));
            for saved in [&stays, &goes] {
                save(&store, saved).await;
            }
            for job in store.claim_jobs("a/1", JobKind::Embed, 5, later(60)).await.unwrap() {
                store.finish_job("a/1", &job, &model, 1, &[vec![1.0; 3]], |_| ()).await.unwrap();
            }
            assert_eq!(places(&store, &model, &stays.project).await.len(), 2);
            let other = Project::parse("other").unwrap();
            let (id, to) = (stays.id.clone(), other.clone());
            let mut moved = Memory { version: 1, ..stays.clone() };
            moved.project = other.clone();
            let done: Result<(), StoreError> = store
                .transact(move |write| {
                    let (id, to, moved) = (id.clone(), to.clone(), moved.clone());
                    Box::pin(async move {
                        write.tell(EventKind::ProjectMerged, &moved, None);
                        write.changes.memories.push(moved);
                        write.changes.moved.push((id, to));
                        Ok(())
                    })
                })
                .await;
            done.unwrap();
            assert_eq!(places(&store, &model, &other).await, [(stays.id.clone(), 0)]);
            goes.version = 1;
            goes.deleted_at = Some(Timestamp::now());
            let gone = goes.clone();
            let done: Result<(), StoreError> = store
                .transact(move |write| {
                    let gone = gone.clone();
                    Box::pin(async move {
                        write.tell(EventKind::MemoryDeleted, &gone, None);
                        write.changes.void_jobs.push(gone.id.clone());
                        write.changes.memories.push(gone);
                        Ok(())
                    })
                })
                .await;
            done.unwrap();
            assert!(places(&store, &model, &goes.project).await.is_empty());
            let near = store.nearest_vectors(&model, None, &[1.0; 3]).await.unwrap();
            assert_eq!(near.len(), 1, "the graph forgets too");
            store.close().await.unwrap();
        });
    }

    #[test]
    fn missing_vectors_are_queued_and_models_are_switched_and_dropped() {
        let dir = tempfile::tempdir().unwrap();
        run(async {
            let store = open(dir.path()).await;
            let old = model(&store).await;
            let saved = memory(None);
            put(&store, saved.clone()).await.unwrap();
            let (last, count) = store.queue_missing(&old, None, 10).await.unwrap();
            assert_eq!((last.as_ref(), count), (Some(&saved.id), 1));
            assert_eq!(store.queue_missing(&old, last.as_ref(), 10).await.unwrap(), (None, 0));
            let job = store.claim_jobs("a/1", JobKind::Embed, 5, later(60)).await.unwrap().remove(0);
            assert_eq!(job.queued_at, None);
            store.finish_job("a/1", &job, &old, 1, &[vec![1.0; 3]], |_| ()).await.unwrap();
            assert_eq!(store.queue_missing(&old, None, 10).await.unwrap().1, 0, "it has its vectors");

            let new = StoredModel::new("test/other", 2, ModelState::Building);
            store.add_model(&new).await.unwrap();
            assert_eq!(store.queue_missing(&new, None, 10).await.unwrap().1, 1);
            store.activate_model(&new).await.unwrap();
            let models = store.models().await.unwrap();
            assert_eq!((models[0].name.as_str(), models[0].state), ("test/other", ModelState::Active));
            assert_eq!((models[1].name.as_str(), models[1].state), ("test/model", ModelState::Building));
            store.drop_model(&models[1]).await.unwrap();
            assert_eq!(store.models().await.unwrap().len(), 1);
            store.close().await.unwrap();
        });
    }

    #[test]
    fn what_was_spent_and_whether_it_is_paused_is_remembered() {
        let dir = tempfile::tempdir().unwrap();
        run(async {
            let store = open(dir.path()).await;
            let model = model(&store).await;
            let one = crate::pace::Spent { tokens: 5, requests: 1 };
            assert_eq!(store.spent("2026-11-22").await.unwrap(), crate::pace::Spent::default());
            store.spend("2026-11-22", &model.name, one).await.unwrap();
            store.spend("2026-11-22", &model.name, one).await.unwrap();
            store.spend("2026-11-23", &model.name, one).await.unwrap();
            let spent = store.spent("2026-11-22").await.unwrap();
            assert_eq!((spent.tokens, spent.requests), (10, 2));
            assert!(!store.worker_is_paused().await.unwrap());
            store.pause_worker(true).await.unwrap();
            assert!(store.worker_is_paused().await.unwrap());
            store.close().await.unwrap();
        });
    }
}
