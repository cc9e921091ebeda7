//! Passages of documents that repeat what a memory no longer says.

use std::collections::BTreeMap;

use super::guard;
use crate::{Memories, ServiceError};
use cerebro_core::domain::{ChunkId, MemoryId, Scope};
use cerebro_core::sameness;

/// Most passages that are compared at once.
const PASSAGES_MAX: usize = 50;

impl Memories {
    /// Finds the passages that repeat a corrected or superseded text, each with the memory that says what holds now. Each
    /// passage is given with the scope of its document. A document is a person's file, so it stays as it is.
    ///
    /// # Errors
    /// A failing store.
    pub async fn old_passages(
        &self,
        passages: &[(ChunkId, Scope)],
    ) -> Result<BTreeMap<ChunkId, MemoryId>, ServiceError> {
        let passages = &passages[..passages.len().min(PASSAGES_MAX)];
        let ids: Vec<ChunkId> = passages.iter().map(|(id, _)| *id).collect();
        let mut old = BTreeMap::new();
        for chunk in self.base.store.chunks().by_ids(&ids).await? {
            let Some((_, scope)) = passages.iter().find(|(id, _)| *id == chunk.id) else { continue };
            let parts = sameness::parts(&chunk.text);
            let corrected = guard::corrected_in(&self.base.store, scope, parts).await?;
            old.extend(corrected.first().map(|memory| (chunk.id, *memory)));
        }
        Ok(old)
    }
}
