//! Packed vectors: each vector as one value, beside the arrays that the graph index needs. The engine decodes an
//! array number by number, which took seconds for a project.
//!
//! The rows are derived. They change in the transactions that change the vectors. A reader compares the number of a
//! project's rows with [`Vectors::count`]: a store of an older program has none yet.

use surrealdb::types::{Bytes, RecordId, Value};

use super::{
    StoreError,
    columns::{row_of, stored, with_id},
    model::StoredModel,
    read::Vars,
    statement,
    vector::{StoredVector, Vectors},
};
use cerebro_core::domain::Scope;

/// Bytes of one number.
const WIDTH: usize = size_of::<f32>();
/// How many vectors one transaction packs again.
const PUT_MAX: usize = 200;

/// The row of a vector, by its place.
pub(super) fn record(model: &StoredModel, place: &str) -> RecordId {
    RecordId::new("packed", format!("{}-{place}", model.table))
}

/// The numbers of a vector as one value.
pub(super) fn numbers(vector: &[f32]) -> Bytes {
    vector.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>().into()
}

/// The vector that a column has, as one value or as an array.
pub(super) fn vector_in(table: &'static str, column: Value) -> Result<Vec<f32>, StoreError> {
    if let Value::Bytes(numbers) = &column {
        return Ok(vector(numbers));
    }
    #[expect(clippy::cast_possible_truncation, reason = "they were made of such")]
    let narrow = |number: f64| number as f32;
    Ok(stored::<Vec<f64>>(table, column)?.into_iter().map(narrow).collect())
}

fn vector(numbers: &[u8]) -> Vec<f32> {
    let (numbers, _) = numbers.as_chunks::<WIDTH>();
    numbers.iter().map(|number| f32::from_le_bytes(*number)).collect()
}

impl Vectors<'_> {
    /// A page of the packed vectors of a scope in order of place.
    pub async fn page_of_packed(
        self,
        model: &StoredModel,
        scope: &Scope,
        after: &str,
        limit: usize,
    ) -> Result<Vec<StoredVector>, StoreError> {
        let vars = Vars::new()
            .with("table", model.table.as_str())
            .with("project", scope.project_name())
            .with("after", after)
            .limit(limit);
        self.0.select(statement::PACKED_PAGE, vars).await
    }

    /// Packs the vectors of a scope again; the argument has all of them. A vector that was changed or removed
    /// meanwhile is left out, so that the scope is packed again at its next reading.
    pub async fn pack(
        self,
        model: &StoredModel,
        scope: &Scope,
        vectors: &[StoredVector],
    ) -> Result<(), StoreError> {
        self.0.check_space()?;
        let of = || Vars::new().with("table", model.table.as_str()).with("project", scope.project_name());
        self.0.execute(statement::PACKED_CLEAR, of()).await?;
        for part in vectors.chunks(PUT_MAX) {
            let row = |one: &StoredVector| {
                let mut row = with_id(record(model, &one.place), row_of(one));
                row.insert("vector", RecordId::new(model.table.as_str(), one.place.as_str()));
                row
            };
            let vars = of().list("rows", part.iter().map(row));
            // The lock is taken for each part, because a delete waits for it.
            let _order = self.0.vectors.lock().await;
            self.0.execute(statement::PACKED_PUT, vars).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_to_the_bit() {
        let bits = |all: &[f32]| all.iter().map(|number| number.to_bits()).collect::<Vec<_>>();
        let all = [0.0, -0.0, 1.5, f32::MIN_POSITIVE, f32::MAX, -0.123_456_79];
        assert_eq!(bits(&vector(&numbers(&all))), bits(&all));
        assert!(vector(&[0, 0, 0]).is_empty(), "a torn number");
    }
}
