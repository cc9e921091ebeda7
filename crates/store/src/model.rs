//! The embedding models whose vectors the store holds. Each has a table of its own for its vectors.

use sha2::{Digest, Sha256};
use surrealdb::{
    IndexedResults,
    types::{RecordId, SurrealValue, Variables},
};

use super::{
    Engine, Store, StoreError,
    columns::{Columns, RawRow, Row, columns, put, row_of},
    read::{Vars, take},
    statement::{self, Statement},
};
use cerebro_core::named;

/// The prefix of the tables of vectors.
pub(super) const PREFIX: &str = "vector_";
/// Longest part of a model's name in its table's name.
const SLUG_CHARS_MAX: usize = 40;

named! {
    /// Whether searches use a model.
    pub enum ModelState {
        /// Searches use it.
        Active = "active",
        /// Its vectors are not complete yet.
        Building = "building",
    }
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
pub(super) async fn models(engine: &Engine) -> Result<Vec<Result<StoredModel, StoreError>>, StoreError> {
    let mut results = engine.run(statement::MODEL_LIST, Variables::new()).await?;
    let rows: Vec<RawRow> = take("model", &mut results, 0)?;
    Ok(rows.into_iter().map(StoredModel::from_row).collect())
}

columns! { StoredModel { name, dimension, table, state } }

impl Row for StoredModel {
    const TABLE: &'static str = "model";

    fn from_row(row: RawRow) -> Result<Self, StoreError> {
        let model = Self::take_from(&mut row.columns(Self::TABLE)?, Self::TABLE)?;
        let own = table_of(&model.name);
        if model.table != own {
            let reason = format!("`{}` names the table `{}`, its own is `{own}`", model.name, model.table);
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

    /// Whether it is the model of a provider with this name and dimension.
    pub fn is(&self, name: &str, dimension: usize) -> bool {
        self.name == name && self.dimension == dimension
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

noun! {
    /// The models whose vectors the store holds.
    models: Models
}

impl Models<'_> {
    /// The models whose vectors the store holds, the active one first. One that names a table other than its own is
    /// left out, so that no search fails because of it.
    pub async fn all(self) -> Result<Vec<StoredModel>, StoreError> {
        let log = |error: StoreError| tracing::debug!(%error, "a model is left out");
        let all = models(self.0.engine()?).await?;
        let mut models: Vec<StoredModel> =
            all.into_iter().filter_map(|model| model.map_err(log).ok()).collect();
        models.sort_by_key(|model| model.state != ModelState::Active);
        Ok(models)
    }

    /// Makes the table of a model and records the model.
    pub async fn add(self, model: &StoredModel) -> Result<(), StoreError> {
        self.execute(model, statement::VECTOR_TABLE, Vars::new()).await?;
        let mut row = row_of(model);
        put(&mut row, "at", &self.0.now());
        let vars = Vars::new().with("id", model.record()).with("row", row);
        self.0.execute(statement::MODEL_PUT, vars).await
    }

    /// Makes searches use this model from now on. The vectors of the one before stay.
    pub async fn activate(self, model: &StoredModel) -> Result<(), StoreError> {
        let vars = Vars::new().with("id", model.record()).at("now", self.0.now());
        self.0.execute(statement::MODEL_SWITCH, vars).await
    }

    /// Removes a model and its vectors.
    pub async fn drop_with_vectors(self, model: &StoredModel) -> Result<(), StoreError> {
        let vars = Vars::new().with("table", model.table.as_str());
        // The index of the table also writes in the background.
        self.execute(model, statement::VECTOR_DROP, vars).await.map(drop)
    }

    /// The values that a statement on the table of a model returns.
    pub(super) async fn values<T: SurrealValue>(
        self,
        model: &StoredModel,
        template: Statement,
        vars: Vars,
    ) -> Result<Vec<T>, StoreError> {
        let mut results = self.0.engine()?.script(template.name, &model.fill(template), vars.0).await?;
        take("vector", &mut results, 0)
    }

    /// Runs a writing statement on the table of a model: see [`Store::execute`]. Returns its answers.
    pub(super) async fn execute(
        self,
        model: &StoredModel,
        template: Statement,
        vars: Vars,
    ) -> Result<IndexedResults, StoreError> {
        self.0.execute_script(template.name, &model.fill(template), vars).await
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
