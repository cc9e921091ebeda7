//! The anchors of memories: the code that they refer to, as it was.
//!
//! They are derived, as relations are: they have no events, and a purge removes them.

use std::sync::Arc;

use surrealdb::types::{RecordId, SurrealValue};

use super::{
    Store, StoreError,
    read::{Vars, one},
    row::{self, datetime, memory_id, memory_record, signed, size},
    statement,
};
use cerebro_anchors::{Anchor, Digest, Pinned};
use cerebro_core::domain::{MemoryId, Project};

#[derive(SurrealValue)]
struct AnchorRow {
    path: String,
    file: String,
    name: Option<String>,
    bytes: Option<i64>,
    digest: Option<String>,
}

#[derive(SurrealValue)]
struct Row {
    memory: RecordId,
    revision: i64,
    at: surrealdb::types::Datetime,
    anchors: Vec<AnchorRow>,
}

/// A memory and its anchors.
pub type Anchored = (MemoryId, Arc<[Anchor]>);

#[derive(SurrealValue)]
struct AnchoredRow {
    memory: RecordId,
    anchors: Vec<AnchorRow>,
}

impl AnchoredRow {
    fn read(self) -> Result<Anchored, StoreError> {
        let anchors = self.anchors.into_iter().map(Anchor::try_from).collect::<Result<_, _>>()?;
        Ok((memory_id("anchor", self.memory)?, anchors))
    }
}

impl From<&Anchor> for AnchorRow {
    fn from(anchor: &Anchor) -> Self {
        let symbol = anchor.symbol.as_ref();
        Self {
            path: anchor.path.clone(),
            file: anchor.file.as_str().to_owned(),
            name: symbol.map(|symbol| symbol.name.clone()),
            bytes: symbol.map(|symbol| signed(symbol.bytes as u64)),
            digest: symbol.map(|symbol| symbol.digest.as_str().to_owned()),
        }
    }
}

impl TryFrom<AnchorRow> for Anchor {
    type Error = StoreError;

    fn try_from(row: AnchorRow) -> Result<Self, StoreError> {
        let digest = |text: &str| Digest::parse(text).ok_or_else(|| row::malformed("anchor", "digest", text));
        let symbol = match (row.name, row.digest) {
            (Some(name), Some(bytes)) => {
                let length = row.bytes.map_or(0, size);
                Some(Pinned { name, bytes: length, digest: digest(&bytes)? })
            }
            _ => None,
        };
        Ok(Self { path: row.path, file: digest(&row.file)?, symbol })
    }
}

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
        let row = Row {
            memory: memory_record(memory),
            revision: i64::from(revision),
            at: datetime(self.0.now()),
            anchors: anchors.iter().map(AnchorRow::from).collect(),
        };
        let vars = Vars::new()
            .with("id", anchor_record(memory))
            .with("memory", memory_record(memory))
            .with("revision", i64::from(revision))
            .with("row", row);
        let put = one(self.0.changed::<bool>("anchor", statement::ANCHOR_PUT, vars).await?);
        // A purge that committed after the memory was read did not see the new row.
        let vars = Vars::new().with("memory", memory_record(memory));
        self.0.execute(statement::ANCHOR_OF_GONE, vars).await?;
        Ok(put.unwrap_or(false))
    }

    /// The anchors of a project's live memories, of at most `limit` memories. It walks all anchored memories.
    ///
    /// # Errors
    /// A failing store, or a malformed row.
    pub async fn of_project(self, project: &Project, limit: usize) -> Result<Vec<Anchored>, StoreError> {
        let vars = Vars::new().with("project", project.as_str()).limit(limit);
        let rows: Vec<AnchoredRow> = self.0.values("anchor", statement::ANCHOR_LIST, vars).await?;
        rows.into_iter().map(AnchoredRow::read).collect()
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
        let rows: Vec<AnchoredRow> = self.0.values("anchor", statement::ANCHOR_GET, vars).await?;
        rows.into_iter().map(AnchoredRow::read).collect()
    }
}
