//! The anchors of memories: the code that they refer to, as it was.
//!
//! They are derived, as relations are: they have no events, and a purge removes them.

use std::sync::Arc;

use surrealdb::types::{Object, RecordId};

use super::{
    Store, StoreError,
    columns::{columns, put},
    read::{Vars, one},
    row::memory_record,
    statement::{self, Statement},
};
use cerebro_anchors::{Anchor, Pinned};
use cerebro_core::domain::{MemoryId, Project};

columns! { Anchor { path, file, symbol: flat("name") } }

columns! { Pinned { name, bytes: or_default, digest } }

/// A memory and its anchors.
pub type Anchored = (MemoryId, Arc<[Anchor]>);

pub(super) fn anchor_record(memory: &MemoryId) -> RecordId {
    RecordId::new("anchor", memory.as_str())
}

noun! {
    /// The anchors of memories.
    anchors: Anchors
}

impl Anchors<'_> {
    /// Replaces the anchors of a memory. Returns `false` and changes nothing when the memory has a different
    /// revision or is gone.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] when other writes kept conflicting with this one; repeating the call is harmless.
    pub async fn put(self, memory: &MemoryId, revision: u32, anchors: &[Anchor]) -> Result<bool, StoreError> {
        let mut row = Object::new();
        put(&mut row, "memory", memory);
        put(&mut row, "revision", &revision);
        put(&mut row, "at", &self.0.now());
        put(&mut row, "anchors", &anchors.to_vec());
        let vars = Vars::new()
            .with("id", anchor_record(memory))
            .with("memory", memory_record(memory))
            .with("revision", i64::from(revision))
            .with("row", row);
        let is_put = one(self.0.changed::<bool>("anchor", statement::ANCHOR_PUT, vars).await?);
        // A purge that committed after the memory was read did not see the new row.
        let vars = Vars::new().with("memory", memory_record(memory));
        self.0.execute(statement::ANCHOR_OF_GONE, vars).await?;
        Ok(is_put.unwrap_or(false))
    }

    /// The anchors of a project's live memories, of at most `limit` memories. It walks all anchored memories.
    ///
    /// # Errors
    /// A failing store, or a malformed row.
    pub async fn of_project(self, project: &Project, limit: usize) -> Result<Vec<Anchored>, StoreError> {
        let vars = Vars::new().with("project", project.as_str()).limit(limit);
        self.anchored(statement::ANCHOR_LIST, vars).await
    }

    /// The anchors of those among some memories that are live and have any.
    ///
    /// # Errors
    /// A failing store, or a malformed row.
    pub async fn of(self, memories: &[MemoryId]) -> Result<Vec<Anchored>, StoreError> {
        if memories.is_empty() {
            return Ok(Vec::new());
        }
        let vars = Vars::new().list("ids", memories.iter().map(anchor_record));
        self.anchored(statement::ANCHOR_GET, vars).await
    }

    async fn anchored(self, statement: Statement, vars: Vars) -> Result<Vec<Anchored>, StoreError> {
        let rows: Vec<(MemoryId, Vec<Anchor>)> =
            self.0.pairs("anchor", ["memory", "anchors"], statement, vars).await?;
        Ok(rows.into_iter().map(|(memory, anchors)| (memory, anchors.into())).collect())
    }
}
