//! The vectors of memories, in one table per model.

use std::collections::HashMap;

use surrealdb::types::{RecordId, SurrealValue, object};

use super::{
    Store, StoreError,
    changes::{CommitScript, Part},
    columns::{RawRow, columns},
    model::StoredModel,
    read::{Vars, one},
    row::{memory_id, memory_record, parse, size, small},
    statement,
};
use cerebro_core::domain::{MemoryId, Scope};

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

columns! { StoredVector in "vector" { place, memory, revision, passage, embedding: "numbers" } }

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

impl Part for VectorChanges {
    fn add_to(&self, commit: &mut CommitScript) {
        commit.add(statement::COMMIT_GONE_VECTORS, "gone", &self.gone, memory_record);
        commit.add(statement::COMMIT_MOVED_VECTORS, "moved", &self.moved, |(memory, scope)| {
            object! { memory: memory_record(memory), project: scope.project_name().to_owned() }
        });
    }
}

noun! {
    /// The vectors of memories.
    vectors: Vectors
}

impl Vectors<'_> {
    /// A page of the vectors of a scope in order of place.
    pub async fn page(
        self,
        model: &StoredModel,
        scope: &Scope,
        after: &str,
        limit: usize,
    ) -> Result<Vec<StoredVector>, StoreError> {
        let vars = Vars::new().with("project", scope.project_name()).with("after", after).limit(limit);
        parse(self.0.models().values(model, statement::VECTOR_PAGE, vars).await?)
    }

    /// How many vectors a scope has.
    pub async fn count(self, model: &StoredModel, scope: &Scope) -> Result<usize, StoreError> {
        let vars = Vars::new().with("project", scope.project_name());
        let counts: Vec<i64> = self.0.models().values(model, statement::VECTOR_COUNT, vars).await?;
        Ok(one(counts).map_or(0, size))
    }

    /// The passages nearest to a vector by the model's index, with exact distances, the nearest first, from some
    /// scopes or all.
    pub async fn nearest(
        self,
        model: &StoredModel,
        scopes: Option<&[Scope]>,
        vector: &[f32],
    ) -> Result<Vec<(MemoryId, u32, f32)>, StoreError> {
        #[derive(SurrealValue)]
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
                let names = scopes.iter().map(|scope| scope.project_name().to_owned());
                (statement::VECTOR_NEAREST_WITHIN, vars.list("projects", names))
            }
        };
        let rows: Vec<Row> = self.0.models().values(model, template, vars).await?;
        #[expect(clippy::cast_possible_truncation, reason = "a distance is at most 2")]
        rows.into_iter()
            .map(|row| Ok((memory_id("vector", row.memory)?, small(row.passage), row.distance as f32)))
            .collect()
    }

    /// The revisions of which memories have vectors of a model.
    pub async fn revisions_of<'i>(
        self,
        model: &StoredModel,
        ids: impl IntoIterator<Item = &'i MemoryId>,
    ) -> Result<HashMap<MemoryId, i64>, StoreError> {
        let vars = Vars::new().list("ids", ids.into_iter().map(memory_record));
        let rows: Vec<RawRow> = self.0.models().values(model, statement::VECTOR_HAVE, vars).await?;
        rows.into_iter().map(|row| row.pair("vector", ["memory", "revision"])).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, time::Duration};

    use super::*;
    use crate::{
        JobKind, ModelState,
        tests::{memory, open, run},
    };
    use cerebro_core::domain::{Memory, Project, SessionId, Timestamp};

    const DIMENSION: usize = 48;
    const K: usize = 10;

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
        let written = store.change(|write| {
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
            let jobs = store.jobs().lease("w/1", JobKind::Embed, 50, until).await.unwrap();
            if jobs.is_empty() {
                return;
            }
            for job in jobs {
                let vectors = [held[job.subject.memory().unwrap()].1.clone()];
                assert!(
                    store
                        .jobs()
                        .finish_embedding("w/1", &job, model, job.revision, &vectors, |_| ())
                        .await
                        .unwrap()
                );
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
            let near = store.vectors().nearest(model, scopes, &question).await.unwrap();
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
            store.models().add(&model).await.unwrap();
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
