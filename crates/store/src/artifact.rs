//! Artifacts: the whole bodies of events of work of which the rows have only the beginning.

use surrealdb::types::RecordId;

use super::{
    Store, StoreError,
    columns::columns,
    read::{Vars, Walk, one},
    statement,
};

pub(super) fn record(id: &str) -> RecordId {
    RecordId::new("artifact", id)
}

/// Bytes that are named by their SHA-256.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// The SHA-256 of the uncompressed bytes, in hex.
    pub id: String,
    /// The bytes as a zstd frame.
    pub data: Vec<u8>,
    /// The number of uncompressed bytes.
    pub len: u64,
}

columns! { Artifact in "artifact" { id: key(str::parse::<String>), data, len } }

noun! {
    /// The artifacts of pieces of work.
    artifacts: Artifacts
}

impl<'a> Artifacts<'a> {
    /// All artifacts in order of id.
    pub fn walk(self) -> Walk<'a, Artifact> {
        Walk::over(self.0)
    }

    pub async fn by_id(self, id: &str) -> Result<Option<Artifact>, StoreError> {
        let vars = Vars::new().with("ids", vec![record(id)]);
        Ok(one(self.0.select(statement::ARTIFACT_GET, vars).await?))
    }

    /// Artifacts to which no event refers.
    pub async fn unreferenced(self, limit: usize) -> Result<Vec<String>, StoreError> {
        self.0.values("artifact", statement::ARTIFACT_UNNAMED, Vars::new().limit(limit)).await
    }
}
