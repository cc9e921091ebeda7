//! The vectors of memories, in one table per model, and the worker's other records: what was spent, and whether it
//! is paused.

use std::collections::HashMap;

use sha2::{Digest, Sha256};
use surrealdb::types::{RecordId, SurrealValue, Variables};

use super::{
    Engine, Store, StoreError,
    changes::{CommitScript, Part},
    read::{Vars, one, take},
    retry::Attempts,
    row::{datetime, memory_id, memory_record},
    statement::{self, Statement},
};
use cerebro_core::domain::{MemoryId, Scope};
use cerebro_core::pace::Spent;

/// The prefix of the tables of vectors.
pub(super) const PREFIX: &str = "vector_";
/// Longest part of a model's name in its table's name.
const SLUG_CHARS_MAX: usize = 40;

/// Whether searches use a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelState {
    /// Searches use it.
    Active,
    /// Its vectors are not complete yet.
    Building,
}

/// A model whose vectors the store holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredModel {
    /// Its name at the provider.
    pub name: String,
    /// The number of dimensions of its vectors.
    pub dimension: usize,
    /// The table of its vectors.
    pub table: String,
    /// Whether searches use it yet.
    pub state: ModelState,
}

/// The vector of one passage.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredVector {
    /// Its place in the order of pages.
    pub place: String,
    /// The memory of the passage.
    pub memory: MemoryId,
    /// The revision of the memory to which the passage belongs.
    pub revision: u32,
    /// The number of the passage, from 0.
    pub passage: u32,
    /// The vector.
    pub embedding: Vec<f32>,
}

#[derive(SurrealValue)]
#[surreal(crate = "surrealdb::types")]
struct ModelRow {
    name: String,
    dimension: i64,
    table: String,
    state: String,
    at: surrealdb::types::Datetime,
}

/// The name of a model's table: the readable part of the model's name, and a part of a digest, because the readable
/// part is not unique.
fn table_of(model: &str) -> String {
    let slug: String = model
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' })
        .take(SLUG_CHARS_MAX)
        .collect();
    let digest = cerebro_core::text::hex(&Sha256::digest(model)[..3]);
    format!("{PREFIX}{slug}_{digest}")
}

/// The models whose vectors a database holds. One that names a table other than its own is an error, because the
/// name goes into statements.
///
/// # Errors
/// A failing database.
pub(super) async fn models(engine: &Engine) -> Result<Vec<Result<StoredModel, StoreError>>, StoreError> {
    let mut results = engine.run(statement::MODEL_LIST, Variables::new()).await?;
    let rows: Vec<ModelRow> = take("model", &mut results, 0)?;
    Ok(rows.into_iter().map(StoredModel::try_from).collect())
}

impl TryFrom<ModelRow> for StoredModel {
    type Error = StoreError;

    fn try_from(row: ModelRow) -> Result<Self, StoreError> {
        let state = if row.state == "active" { ModelState::Active } else { ModelState::Building };
        let model = Self::new(&row.name, usize::try_from(row.dimension).unwrap_or(0), state);
        if model.table != row.table {
            let reason =
                format!("`{}` names the table `{}`, its own is `{}`", row.name, row.table, model.table);
            return Err(StoreError::Row { table: "model", reason });
        }
        Ok(model)
    }
}

impl StoredModel {
    /// A model as the store would hold it.
    pub fn new(name: &str, dimension: usize, state: ModelState) -> Self {
        Self { name: name.to_owned(), dimension, table: table_of(name), state }
    }

    fn record(&self) -> RecordId {
        RecordId::new("model", self.table.as_str())
    }

    /// Fills the table's name into a template. The name consists of letters, digits and `_` only.
    pub(super) fn fill(&self, template: Statement) -> String {
        let model: String =
            self.name.chars().filter(|c| !matches!(c, '\'' | '\\') && !c.is_control()).collect();
        template
            .text
            .replace("{table}", &self.table)
            .replace("{dimension}", &self.dimension.to_string())
            .replace("{model}", &model)
    }
}

/// The changes of the tables of all models.
#[derive(Default)]
pub(super) struct VectorChanges {
    /// Memories that are no longer live.
    pub gone: Vec<MemoryId>,
    /// Memories that moved to another scope.
    pub moved: Vec<(MemoryId, Scope)>,
}

impl VectorChanges {
    /// Whether any vectors are removed or moved.
    pub fn has_any(&self) -> bool {
        !self.gone.is_empty() || !self.moved.is_empty()
    }
}

#[derive(SurrealValue)]
#[surreal(crate = "surrealdb::types")]
struct Move {
    memory: RecordId,
    project: String,
}

impl Part for VectorChanges {
    fn add_to(&self, commit: &mut CommitScript) {
        commit.add(statement::COMMIT_GONE_VECTORS, "gone", &self.gone, memory_record);
        commit.add(statement::COMMIT_MOVED_VECTORS, "moved", &self.moved, |(memory, scope)| Move {
            memory: memory_record(memory),
            project: scope.project_name().to_owned(),
        });
    }
}

impl Store {
    async fn on_table(
        &self,
        model: &StoredModel,
        template: Statement,
        vars: Variables,
    ) -> Result<surrealdb::IndexedResults, StoreError> {
        Ok(self.engine()?.script(template.name, &model.fill(template), vars).await?)
    }

    /// The models whose vectors the store holds, the active one first. One that names a table other than its own is
    /// left out, so that no search fails because of it.
    pub async fn models(&self) -> Result<Vec<StoredModel>, StoreError> {
        let log = |error: StoreError| tracing::debug!(%error, "a model is left out");
        let all = models(self.engine()?).await?;
        let mut models: Vec<StoredModel> =
            all.into_iter().filter_map(|model| model.map_err(log).ok()).collect();
        models.sort_by_key(|model| model.state != ModelState::Active);
        Ok(models)
    }

    /// Makes the table of a model and records the model.
    pub async fn add_model(&self, model: &StoredModel) -> Result<(), StoreError> {
        self.on_table(model, statement::VECTOR_TABLE, Variables::new()).await?;
        let state = if model.state == ModelState::Active { "active" } else { "building" };
        let row = ModelRow {
            name: model.name.clone(),
            dimension: i64::try_from(model.dimension).unwrap_or(i64::MAX),
            table: model.table.clone(),
            state: state.to_owned(),
            at: datetime(self.now()),
        };
        self.retry_on_conflict(statement::MODEL_PUT, Vars::new().with("id", model.record()).with("row", row))
            .await
            .map(drop)
    }

    /// Makes searches use this model from now on. The vectors of the one before stay.
    pub async fn activate_model(&self, model: &StoredModel) -> Result<(), StoreError> {
        let vars = Vars::new().with("id", model.record()).at("now", self.now());
        self.retry_on_conflict(statement::MODEL_SWITCH, vars).await.map(drop)
    }

    /// Removes a model and its vectors.
    pub async fn drop_model(&self, model: &StoredModel) -> Result<(), StoreError> {
        let mut attempts = Attempts::default();
        loop {
            let vars = Vars::new().with("table", model.table.as_str());
            match self.on_table(model, statement::VECTOR_DROP, vars.0).await {
                // The index of the table also writes in the background.
                Err(error) if error.is_retryable() => attempts.again().await?,
                done => return done.map(drop),
            }
        }
    }

    /// A page of the vectors of a scope in order of place.
    pub async fn page_of_vectors(
        &self,
        model: &StoredModel,
        scope: &Scope,
        after: &str,
        limit: usize,
    ) -> Result<Vec<StoredVector>, StoreError> {
        #[derive(SurrealValue)]
        #[surreal(crate = "surrealdb::types")]
        struct Row {
            place: String,
            memory: RecordId,
            revision: i64,
            passage: i64,
            embedding: Vec<f64>,
        }
        let vars = Vars::new().with("project", scope.project_name()).with("after", after).limit(limit);
        let mut results = self.on_table(model, statement::VECTOR_PAGE, vars.0).await?;
        let rows: Vec<Row> = take("vector", &mut results, 0)?;
        #[expect(clippy::cast_possible_truncation, reason = "they were made of such")]
        rows.into_iter()
            .map(|row| {
                Ok(StoredVector {
                    place: row.place,
                    memory: memory_id("vector", row.memory)?,
                    revision: u32::try_from(row.revision).unwrap_or(0),
                    passage: u32::try_from(row.passage).unwrap_or(0),
                    embedding: row.embedding.into_iter().map(|x| x as f32).collect(),
                })
            })
            .collect()
    }

    /// How many vectors a scope has.
    pub async fn count_vectors(&self, model: &StoredModel, scope: &Scope) -> Result<usize, StoreError> {
        let vars = Vars::new().with("project", scope.project_name());
        let mut results = self.on_table(model, statement::VECTOR_COUNT, vars.0).await?;
        let counts: Vec<i64> = take("vector", &mut results, 0)?;
        Ok(one(counts).and_then(|count| usize::try_from(count).ok()).unwrap_or(0))
    }

    /// The passages nearest to a vector by the model's index, with exact distances, the nearest first, from some
    /// scopes or all.
    pub async fn nearest_vectors(
        &self,
        model: &StoredModel,
        scopes: Option<&[Scope]>,
        vector: &[f32],
    ) -> Result<Vec<(MemoryId, u32, f32)>, StoreError> {
        #[derive(SurrealValue)]
        #[surreal(crate = "surrealdb::types")]
        struct Row {
            memory: RecordId,
            passage: i64,
            distance: f64,
        }
        let vector: Vec<f64> = vector.iter().map(|x| f64::from(*x)).collect();
        let vars = Vars::new().with("vector", vector);
        let (template, vars) = match scopes {
            None => (statement::VECTOR_NEAREST, vars),
            Some(scopes) => {
                let names: Vec<String> = scopes.iter().map(|scope| scope.project_name().to_owned()).collect();
                (statement::VECTOR_NEAREST_WITHIN, vars.with("projects", names))
            }
        };
        let mut results = self.on_table(model, template, vars.0).await?;
        let rows: Vec<Row> = take("vector", &mut results, 0)?;
        #[expect(clippy::cast_possible_truncation, reason = "a distance is at most 2")]
        rows.into_iter()
            .map(|row| {
                let passage = u32::try_from(row.passage).unwrap_or(0);
                Ok((memory_id("vector", row.memory)?, passage, row.distance as f32))
            })
            .collect()
    }

    /// The revisions of which memories have vectors of a model.
    ///
    /// # Errors
    /// A failing store.
    pub async fn vectors_of(
        &self,
        model: &StoredModel,
        ids: &[MemoryId],
    ) -> Result<HashMap<MemoryId, i64>, StoreError> {
        #[derive(SurrealValue)]
        #[surreal(crate = "surrealdb::types")]
        struct Row {
            memory: RecordId,
            revision: i64,
        }
        let ids: Vec<RecordId> = ids.iter().map(memory_record).collect();
        let mut results =
            self.on_table(model, statement::VECTOR_HAVE, Vars::new().with("ids", ids).0).await?;
        let rows: Vec<Row> = take("vector", &mut results, 0)?;
        rows.into_iter().map(|row| Ok((memory_id("vector", row.memory)?, row.revision))).collect()
    }

    /// Adds to what was spent with a model on a day (`2026-11-22`).
    ///
    /// # Errors
    /// A failing engine.
    pub async fn spend(&self, day: &str, model: &str, spent: Spent) -> Result<(), StoreError> {
        let count = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        self.add_to_spent(day, model, count(spent.tokens), count(spent.requests)).await
    }

    /// Corrects the tokens of a request that was noted by [`Self::spend`] before it was known what it costs.
    ///
    /// # Errors
    /// A failing engine.
    pub async fn correct_spent(&self, day: &str, model: &str, tokens: i64) -> Result<(), StoreError> {
        self.add_to_spent(day, model, tokens, 0).await
    }

    async fn add_to_spent(
        &self,
        day: &str,
        model: &str,
        tokens: i64,
        requests: i64,
    ) -> Result<(), StoreError> {
        #[derive(SurrealValue)]
        #[surreal(crate = "surrealdb::types")]
        struct Row {
            id: RecordId,
            day: String,
            model: String,
            tokens: i64,
            requests: i64,
        }
        let row = Row {
            id: RecordId::new("spent", format!("{day}-{model}")),
            day: day.to_owned(),
            model: model.to_owned(),
            tokens,
            requests,
        };
        self.retry_on_conflict(statement::SPENT_ADD, Vars::new().with("row", row)).await.map(drop)
    }

    /// What was spent on a day with all models together.
    pub async fn spent(&self, day: &str) -> Result<Spent, StoreError> {
        #[derive(SurrealValue)]
        #[surreal(crate = "surrealdb::types")]
        struct Row {
            tokens: i64,
            requests: i64,
        }
        let mut results = self.engine()?.run(statement::SPENT_GET, Vars::new().with("day", day).0).await?;
        let rows: Vec<Row> = take("spent", &mut results, 0)?;
        let count = |n: i64| u64::try_from(n).unwrap_or(0);
        Ok(one(rows)
            .map(|row| Spent { tokens: count(row.tokens), requests: count(row.requests) })
            .unwrap_or_default())
    }

    /// Whether a person paused the worker.
    pub async fn worker_is_paused(&self) -> Result<bool, StoreError> {
        let mut results = self.engine()?.run(statement::WORKER_GET, Variables::new()).await?;
        Ok(one(take::<bool>("worker", &mut results, 0)?).unwrap_or(false))
    }

    /// Pauses the worker or lets it go on. The setting outlives restarts.
    pub async fn pause_worker(&self, paused: bool) -> Result<(), StoreError> {
        self.retry_on_conflict(statement::WORKER_PUT, Vars::new().with("paused", paused)).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, time::Duration};

    use super::*;
    use crate::{
        JobKind,
        tests::{change, memory, open, run},
    };
    use cerebro_core::domain::{Memory, Project, SessionId, Timestamp};

    const DIMENSION: usize = 48;
    const K: usize = 10;

    #[test]
    fn tables_have_plain_names_and_differ() {
        let table = table_of("local/All-MiniLM'; REMOVE");
        assert!(table.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'), "{table}");
        assert_ne!(table_of("a/b"), table_of("a-b"));
    }

    /// Vectors in clusters, as texts about some subjects have them; the same for the same seed.
    fn vector(seed: u64) -> Vec<f32> {
        let numbers = |seed: u64| {
            let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
            (0..DIMENSION).map(move |_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                ((state >> 40) as f32) / ((1_u64 << 24) as f32) - 0.5
            })
        };
        let mixed: Vec<f32> = numbers(seed % 17 + 1_000_000)
            .zip(numbers(seed + 1))
            .map(|(topic, own)| topic + 0.7 * own)
            .collect();
        let length = mixed.iter().map(|x| x * x).sum::<f32>().sqrt();
        mixed.into_iter().map(|x| x / length).collect()
    }

    type Held = BTreeMap<MemoryId, (Memory, Vec<f32>)>;

    /// Puts memories with jobs, or takes them away, in one commit.
    async fn write(store: &Store, memories: Vec<Memory>) {
        let written = change(store, |write| {
            for memory in &memories {
                if memory.is_live() {
                    write.create_memory(memory);
                } else {
                    write.delete_memory(memory, &SessionId::parse("test").unwrap());
                }
            }
        });
        written.await.unwrap();
    }

    /// Does what is queued.
    async fn work(store: &Store, model: &StoredModel, held: &Held) {
        loop {
            let until = Timestamp::now() + Duration::from_secs(60);
            let jobs = store.lease_jobs("w/1", JobKind::Embed, 50, until).await.unwrap();
            if jobs.is_empty() {
                return;
            }
            for job in jobs {
                let vectors = [held[job.subject.memory().unwrap()].1.clone()];
                assert!(store.finish_job("w/1", &job, model, job.revision, &vectors, |_| ()).await.unwrap());
            }
        }
    }

    /// The share of the truly nearest that the index finds, over some questions.
    async fn recall(store: &Store, model: &StoredModel, held: &Held, scopes: Option<&[Scope]>) -> f64 {
        let (mut found, mut wanted) = (0, 0);
        for seed in 0..40 {
            let question = vector(5_000_000 + seed);
            let inside = |memory: &Memory| scopes.is_none_or(|all| all.contains(&memory.scope));
            let mut exact: Vec<(f32, &MemoryId)> = held
                .values()
                .filter(|(memory, _)| inside(memory))
                .map(|(memory, vector)| (vector.iter().zip(&question).map(|(a, b)| a * b).sum(), &memory.id))
                .collect();
            exact.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
            let near = store.nearest_vectors(model, scopes, &question).await.unwrap();
            for (memory, ..) in &near {
                assert!(held.contains_key(memory), "a ghost");
                assert!(inside(&held[memory].0), "of another project");
            }
            wanted += exact.len().min(K);
            found +=
                exact.iter().take(K).filter(|(_, id)| near.iter().take(K).any(|(n, ..)| n == *id)).count();
        }
        found as f64 / wanted as f64
    }

    async fn assert_recall(store: &Store, model: &StoredModel, held: &Held, when: &str) {
        let all = recall(store, model, held, None).await;
        assert!(all >= 0.98, "{when}: {all} of the nearest are found");
        let one = [Scope::Project(Project::parse("p1").unwrap())];
        let within = recall(store, model, held, Some(&one)).await;
        assert!(within >= 0.98, "{when}: {within} of the nearest of a project are found");
    }

    #[test]
    fn the_index_finds_what_is_near_also_after_churn_and_a_reopen() {
        let dir = tempfile::tempdir().unwrap();
        run(async {
            let mut store = open(dir.path()).await;
            let model = StoredModel::new("test/near", DIMENSION, ModelState::Active);
            store.add_model(&model).await.unwrap();
            let mut held = Held::new();
            let mut seed = 0;
            for round in 0_u64..4 {
                let mut batch = Vec::new();
                for n in 0..150 {
                    seed += 1;
                    let mut new = memory(None);
                    new.scope = Scope::Project(Project::parse(&format!("p{}", n % 3)).unwrap());
                    held.insert(new.id, (new.clone(), vector(seed)));
                    batch.push(new);
                }
                // A third of what was there is changed, some of it goes.
                for id in held.keys().copied().collect::<Vec<_>>() {
                    let Some((old, place)) =
                        held.get_mut(&id).filter(|(old, _)| batch.iter().all(|b| b.id != old.id))
                    else {
                        continue;
                    };
                    seed += 1;
                    match seed % 6 {
                        0 => {
                            old.deleted_at = Some(Timestamp::now());
                            batch.push(old.clone());
                            held.remove(&id);
                        }
                        1 | 2 => {
                            old.revision += 1;
                            *place = vector(seed);
                            batch.push(old.clone());
                        }
                        _ => {}
                    }
                }
                for part in batch.chunks(100) {
                    write(&store, part.to_vec()).await;
                }
                for written in &batch {
                    if let Some((memory, _)) = held.get_mut(&written.id) {
                        memory.version += 1;
                    }
                }
                work(&store, &model, &held).await;
                assert_recall(&store, &model, &held, &format!("round {round}")).await;
                if round % 2 == 1 {
                    store.close().await.unwrap();
                    store = open(dir.path()).await;
                    assert_recall(&store, &model, &held, &format!("reopened after round {round}")).await;
                }
            }
            store.close().await.unwrap();
        });
    }
}
