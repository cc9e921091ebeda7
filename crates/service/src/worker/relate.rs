//! Drawing the relations of a memory, after its vectors were made.

use super::Worker;
use crate::ServiceError;
use cerebro_core::domain::{Memory, MemoryId};
use cerebro_core::relate::{self, HOLDERS_MAX, Mention, Relation};
use cerebro_store::{Provenance, StoredModel};

/// Relations by names and codes that two texts share.
const MENTIONS: Provenance<'_> = Provenance { method: "mentions", model: None };

impl Worker {
    /// Replaces the relations of a memory: shared files, symbols, error codes and packages, and an unusual likeness of the
    /// vectors that a model just made. Nothing is written for a memory that was revised meanwhile; its next job does that.
    pub(super) async fn relate(
        &self,
        memory: &Memory,
        model: &StoredModel,
        vectors: &[Vec<f32>],
    ) -> Result<(), ServiceError> {
        self.relate_by_mentions(memory).await?;
        let likeness = self.vectors.likeness(memory, model, vectors).await?;
        let similar = likeness.as_ref().map(relate::by_likeness).unwrap_or_default();
        let by = Provenance { method: "vectors", model: Some(&model.name) };
        self.put_relations(memory, by, &similar).await
    }

    async fn relate_by_mentions(&self, memory: &Memory) -> Result<(), ServiceError> {
        let mentions = relate::mentions(memory);
        let holders = self.holders(memory, mentions).await?;
        let relations = relate::by_mentions(&holders);
        self.put_relations(memory, MENTIONS, &relations).await
    }

    /// A memory's first revision has no older relations to remove, so an empty list needs no write.
    async fn put_relations(
        &self,
        memory: &Memory,
        by: Provenance<'_>,
        relations: &[Relation],
    ) -> Result<(), ServiceError> {
        if !(relations.is_empty() && memory.revision == 1) {
            self.base.store.relations().put(&memory.id, memory.revision, by, relations).await?;
        }
        Ok(())
    }

    /// For each mention, the other memories of the same scope that share it.
    async fn holders(
        &self,
        memory: &Memory,
        mentions: Vec<Mention>,
    ) -> Result<Vec<(Mention, Vec<MemoryId>)>, ServiceError> {
        if mentions.is_empty() {
            return Ok(Vec::new());
        }
        let names: Vec<String> = mentions.iter().map(|mention| mention.name.to_string()).collect();
        let scope = memory.scope.clone();
        let found = self.index.ask(move |index| index.holders(&scope, &names, HOLDERS_MAX + 1)).await?;
        let others = found
            .into_iter()
            .map(|holders| holders.into_iter().map(MemoryId::from).filter(|id| *id != memory.id).collect());
        Ok(mentions.into_iter().zip(others).collect())
    }
}
