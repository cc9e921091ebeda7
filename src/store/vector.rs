//! The vectors of memories, in a table for each model, and what the worker must remember beside them.

use std::collections::HashMap;

use sha2::{Digest, Sha256};
use surrealdb::types::{RecordId, SurrealValue, Variables};

use super::{
    Store, StoreError,
    read::{Vars, one, take},
    row::{datetime, memory_id, memory_record},
    statement::{self, Statement},
};
use crate::{
    domain::{MemoryId, Project},
    pace::Spent,
};

/// Longest part of a model's name in the name of its table.
const SLUG_CHARS_MAX: usize = 40;

/// Whether searches ask a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelState {
    /// They do.
    Active,
    /// Its vectors are not complete yet.
    Building,
}

/// A model whose vectors the store holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredModel {
    /// As the provider names it.
    pub name: String,
    /// How many numbers its vectors have.
    pub dimension: usize,
    /// Where they are.
    pub table: String,
    /// Whether they are complete.
    pub state: ModelState,
}

/// The vector of one passage.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredVector {
    /// Where it stands in the order of pages.
    pub place: String,
    /// Whose passage it is.
    pub memory: MemoryId,
    /// Which one, from 0.
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

/// The name of a model's table: what can be read of its name, and a part of a digest, since that is not all.
fn table_of(model: &str) -> String {
    let slug: String = model
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' })
        .take(SLUG_CHARS_MAX)
        .collect();
    let digest: String = Sha256::digest(model).iter().take(3).map(|byte| format!("{byte:02x}")).collect();
    format!("vector_{slug}_{digest}")
}

impl StoredModel {
    /// A model as the store would hold it.
    pub fn new(name: &str, dimension: usize, state: ModelState) -> Self {
        Self { name: name.to_owned(), dimension, table: table_of(name), state }
    }

    fn record(&self) -> RecordId {
        RecordId::new("model", self.table.as_str())
    }

    /// Fills a template: names of tables are made of letters, digits and `_` only.
    fn fill(&self, template: Statement) -> String {
        let model: String = self.name.chars().filter(|c| !matches!(c, '\'' | '\\') && !c.is_control()).collect();
        template
            .text
            .replace("{table}", &self.table)
            .replace("{dimension}", &self.dimension.to_string())
            .replace("{model}", &model)
    }
}

impl Store {
    async fn on_table(
        &self,
        model: &StoredModel,
        template: Statement,
        vars: Variables,
    ) -> Result<surrealdb::IndexedResults, StoreError> {
        self.engine()?.script(template.name, &model.fill(template), vars).await
    }

    /// The models whose vectors the store holds, the active one first.
    pub async fn models(&self) -> Result<Vec<StoredModel>, StoreError> {
        let mut results = self.engine()?.run(statement::MODEL_LIST, Variables::new()).await?;
        let rows: Vec<ModelRow> = take("model", &mut results, 0)?;
        let mut models: Vec<StoredModel> = rows
            .into_iter()
            .map(|row| StoredModel {
                dimension: usize::try_from(row.dimension).unwrap_or(0),
                state: if row.state == "active" { ModelState::Active } else { ModelState::Building },
                name: row.name,
                table: row.table,
            })
            .collect();
        models.sort_by_key(|model| model.state != ModelState::Active);
        Ok(models)
    }

    /// Makes the table of a model and notes it.
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
        self.insist(statement::MODEL_PUT, Vars::new().with("id", model.record()).with("row", row))
            .await
            .map(drop)
    }

    /// Lets searches ask this model and no other from now on. The other's vectors are still there.
    pub async fn activate_model(&self, model: &StoredModel) -> Result<(), StoreError> {
        let vars = Vars::new().with("id", model.record()).at("now", self.now());
        self.insist(statement::MODEL_SWITCH, vars).await.map(drop)
    }

    /// Takes a model and its vectors away.
    pub async fn drop_model(&self, model: &StoredModel) -> Result<(), StoreError> {
        let vars = Vars::new().with("table", model.table.as_str());
        self.on_table(model, statement::VECTOR_DROP, vars.0).await.map(drop)
    }

    /// A page of the vectors of a project (the empty one holds the personal ones) in order of place.
    pub async fn page_of_vectors(
        &self,
        model: &StoredModel,
        project: &Project,
        after: &str,
        limit: usize,
    ) -> Result<Vec<StoredVector>, StoreError> {
        #[derive(SurrealValue)]
        #[surreal(crate = "surrealdb::types")]
        struct Row {
            place: String,
            memory: RecordId,
            passage: i64,
            embedding: Vec<f64>,
        }
        let vars = Vars::new().with("project", project.as_str()).with("after", after).limit(limit);
        let mut results = self.on_table(model, statement::VECTOR_PAGE, vars.0).await?;
        let rows: Vec<Row> = take("vector", &mut results, 0)?;
        #[expect(clippy::cast_possible_truncation, reason = "they were made of such")]
        rows.into_iter()
            .map(|row| {
                Ok(StoredVector {
                    place: row.place,
                    memory: memory_id("vector", row.memory)?,
                    passage: u32::try_from(row.passage).unwrap_or(0),
                    embedding: row.embedding.into_iter().map(|x| x as f32).collect(),
                })
            })
            .collect()
    }

    /// How many vectors a project has.
    pub async fn count_vectors(&self, model: &StoredModel, project: &Project) -> Result<usize, StoreError> {
        let vars = Vars::new().with("project", project.as_str());
        let mut results = self.on_table(model, statement::VECTOR_COUNT, vars.0).await?;
        let counts: Vec<i64> = take("vector", &mut results, 0)?;
        Ok(one(counts).and_then(|count| usize::try_from(count).ok()).unwrap_or(0))
    }

    /// Passages near to a vector by the model's index, with their exact distances, the nearest first: of
    /// some projects, or of all.
    pub async fn nearest_vectors(
        &self,
        model: &StoredModel,
        projects: Option<&[Project]>,
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
        let (template, vars) = match projects {
            None => (statement::VECTOR_NEAREST, vars),
            Some(projects) => {
                let names: Vec<String> =
                    projects.iter().map(|project| project.as_str().to_owned()).collect();
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

    /// The revisions of which the memories have vectors.
    pub(super) async fn vectors_of(
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
        let mut results = self.on_table(model, statement::VECTOR_HAVE, Vars::new().with("ids", ids).0).await?;
        let rows: Vec<Row> = take("vector", &mut results, 0)?;
        rows.into_iter().map(|row| Ok((memory_id("vector", row.memory)?, row.revision))).collect()
    }

    /// Adds to what was spent on a day (`2026-11-22`) with a model.
    pub async fn spend(&self, day: &str, model: &StoredModel, spent: Spent) -> Result<(), StoreError> {
        #[derive(SurrealValue)]
        #[surreal(crate = "surrealdb::types")]
        struct Row {
            id: RecordId,
            day: String,
            model: String,
            tokens: i64,
            requests: i64,
        }
        let count = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        let row = Row {
            id: RecordId::new("spent", format!("{day}-{}", model.table)),
            day: day.to_owned(),
            model: model.name.clone(),
            tokens: count(spent.tokens),
            requests: count(spent.requests),
        };
        self.insist(statement::SPENT_ADD, Vars::new().with("row", row)).await.map(drop)
    }

    /// What was spent on a day with all models.
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

    /// Whether a person told the worker to pause.
    pub async fn worker_is_paused(&self) -> Result<bool, StoreError> {
        let mut results = self.engine()?.run(statement::WORKER_GET, Variables::new()).await?;
        Ok(one(take::<bool>("worker", &mut results, 0)?).unwrap_or(false))
    }

    /// Tells the worker to pause, or to go on; it holds over restarts.
    pub async fn pause_worker(&self, paused: bool) -> Result<(), StoreError> {
        self.insist(statement::WORKER_PUT, Vars::new().with("paused", paused)).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_have_plain_names_and_differ() {
        let table = table_of("local/All-MiniLM'; REMOVE");
        assert!(table.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'), "{table}");
        assert_ne!(table_of("a/b"), table_of("a-b"));
    }
}
