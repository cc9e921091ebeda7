//! Passages of documents that repeat what a memory no longer says.

use std::collections::BTreeMap;

use super::guard;
use crate::{Memories, ServiceError};
use cerebro_core::domain::{ChunkId, MemoryId, Scope};
use cerebro_core::sameness;

/// Most passages that are compared at once.
const PASSAGES_MAX: usize = 50;

impl Memories {
    /// For each of some passages, with the scope of its document, that repeats a corrected or superseded text: the memory
    /// that says what holds now. A document is a person's file, so it stays as it is.
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
            let mut parts = sameness::parts(&chunk.text);
            // A short text is known behind its title only, which is the heading here.
            if let Some(heading) = chunk.heading.rsplit(" › ").next().filter(|heading| !heading.is_empty())
            {
                parts.extend(sameness::parts(&format!("{heading}\n\n{}", chunk.text.as_str())));
            }
            let corrected = guard::corrected_in(&self.base.store, scope, parts).await?;
            old.extend(corrected.first().map(|memory| (chunk.id, *memory)));
        }
        Ok(old)
    }
}
