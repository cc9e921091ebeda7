//! The relations that were drawn between memories, page by page.

use surrealdb::types::{RecordId, RecordIdKey, SurrealValue, Value, Variables};

use super::{Store, StoreError, row::memory_id, statement};
use crate::domain::MemoryId;

const TABLE: &str = "RELATES_TO";

/// An edge between two memories.
#[derive(Debug, Clone, PartialEq)]
pub struct Drawn {
    /// Its key, for the next page.
    pub key: String,
    /// The memory that it leaves from.
    pub from: MemoryId,
    /// The memory that it goes to.
    pub to: MemoryId,
    /// The kind of the relation.
    pub kind: String,
}

#[derive(SurrealValue)]
#[surreal(crate = "surrealdb::types")]
struct Row {
    id: RecordId,
    #[surreal(rename = "in")]
    from: RecordId,
    #[surreal(rename = "out")]
    to: RecordId,
    kind: String,
}

impl Store {
    /// A page of all relations between memories, in order of key.
    pub async fn page_of_drawn(&self, after: Option<&str>, limit: usize) -> Result<Vec<Drawn>, StoreError> {
        let malformed = |reason: String| StoreError::Row { table: TABLE, reason };
        let mut vars = Variables::new();
        vars.insert("table", TABLE);
        vars.insert("after", after.map(|key| RecordId::new(TABLE, key)));
        vars.insert("limit", i64::try_from(limit).unwrap_or(i64::MAX));
        let mut results = self.engine()?.run(statement::TABLE_PAGE, vars).await?;
        let rows: Vec<Value> = results.take(0).map_err(|error| malformed(error.to_string()))?;
        let read = |value| {
            let row = Row::from_value(value).map_err(|error| malformed(error.to_string()))?;
            let RecordIdKey::String(key) = row.id.key else {
                return Err(malformed("its key is not a text".to_owned()));
            };
            let (from, to) = (memory_id(TABLE, row.from)?, memory_id(TABLE, row.to)?);
            Ok(Drawn { key, from, to, kind: row.kind })
        };
        rows.into_iter().map(read).collect()
    }
}
