//! Relations between memories: derived by the worker, and replaced as a whole for each memory and method.

use surrealdb::types::RecordId;

use super::{
    Store, StoreError,
    columns::{columns, put, row_of, with_id},
    read::{Vars, Walk, one},
    row::memory_record,
    statement,
};
use cerebro_core::domain::{MemoryId, Timestamp};
use cerebro_core::relate::{Relation, RelationKind};

const TABLE: &str = "RELATES_TO";

/// How a relation was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Provenance<'a> {
    /// The method: `mentions`, `vectors` or `llm`.
    pub method: &'a str,
    /// The model that was asked, if any.
    pub model: Option<&'a str>,
}

/// A stored edge between two memories.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredRelation {
    /// The memory at its start.
    pub from: MemoryId,
    /// The memory at its end.
    pub to: MemoryId,
    /// Its kind. A kind of a newer version keeps its name.
    pub kind: String,
    /// How strong: above 0, at most 1.
    pub weight: f64,
    pub evidence: Option<String>,
    /// The method that found it.
    pub method: String,
    /// The model that was asked, if any.
    pub model: Option<String>,
    /// When it was made.
    pub at: Timestamp,
}

columns! {
    StoredRelation in "RELATES_TO" { from: "in", to: "out", kind, weight, evidence, method, model, at }
}

noun! {
    /// The relations between memories.
    relations: Relations
}

impl<'a> Relations<'a> {
    /// Replaces the relations that a method found from a memory. Returns `false` and changes nothing when the
    /// memory has a different revision or is gone.
    ///
    /// Edges are derived, as the index is: they have no events.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] when other writes kept conflicting with this one; repeating the call is harmless.
    pub async fn put(
        self,
        memory: &MemoryId,
        revision: u32,
        by: Provenance<'_>,
        relations: &[Relation],
    ) -> Result<bool, StoreError> {
        let at = self.0.now();
        let row = |relation: &Relation| {
            let id = RecordId::new(TABLE, format!("{memory}-{}-{}", relation.kind.as_str(), relation.to));
            let relation = StoredRelation {
                from: *memory,
                to: relation.to,
                kind: relation.kind.as_str().to_owned(),
                weight: relation.weight,
                evidence: relation.evidence.clone().map(String::from),
                method: by.method.to_owned(),
                model: by.model.map(str::to_owned),
                at,
            };
            with_id(id, row_of(&relation))
        };
        let vars = Vars::new()
            .with("memory", memory_record(memory))
            .with("revision", i64::from(revision))
            .with("method", by.method)
            .list("relations", relations.iter().map(row));
        let put = one(self.0.changed::<bool>(TABLE, statement::RELATION_PUT, vars).await?);
        Ok(put.unwrap_or(false))
    }

    /// All relations in order of key.
    pub fn walk(self) -> Walk<'a, StoredRelation> {
        Walk::over(self.0)
    }

    /// The relations that start or end at any of the memories, the strongest first.
    pub async fn of(self, ids: &[MemoryId], limit: usize) -> Result<Vec<StoredRelation>, StoreError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let vars = Vars::new().list("ids", ids.iter().map(memory_record)).limit(limit);
        self.0.select(statement::RELATION_LIST, vars).await
    }

    /// All claims that speak against a memory.
    pub async fn claims(self, limit: usize) -> Result<Vec<StoredRelation>, StoreError> {
        let kinds = [RelationKind::Supersedes, RelationKind::Contradicts].map(RelationKind::as_str);
        let vars = Vars::new().with("kinds", kinds.map(str::to_owned).to_vec()).limit(limit);
        self.0.select(statement::RELATION_CLAIMS, vars).await
    }

    /// The relations of some kinds between live memories with at least this weight whose pair nobody has settled,
    /// the strongest first. Archived memories are left out. It walks all relations.
    pub async fn unsettled(
        self,
        kinds: &[RelationKind],
        least: f64,
        limit: usize,
    ) -> Result<Vec<StoredRelation>, StoreError> {
        let kinds: Vec<String> = kinds.iter().map(|kind| kind.as_str().to_owned()).collect();
        let vars = Vars::new().with("kinds", kinds).with("least", least).limit(limit);
        self.0.select(statement::RELATION_PAIRS, vars).await
    }

    /// Records that a person lets two memories stand, each in the revision that the person read. It holds until one
    /// of them is revised.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] when other writes kept conflicting with this one; repeating the call is harmless.
    pub async fn settle(self, pair: [(MemoryId, u32); 2]) -> Result<(), StoreError> {
        let revisions: u64 = pair.iter().map(|(_, revision)| u64::from(*revision)).sum();
        let mut ends = pair.map(|(memory, _)| memory);
        // In the order of the statement that reads the pairs.
        ends.sort_unstable();
        let [first, second] = ends;
        let mut row = row_of(&(first, second, self.0.now()));
        put(&mut row, "revisions", &revisions);
        let row = with_id(RecordId::new("SETTLED", format!("{first}-{second}")), row);
        self.0.execute(statement::SETTLED_PUT, Vars::new().with("settled", row)).await
    }
}
