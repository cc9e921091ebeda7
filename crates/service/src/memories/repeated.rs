//! What is to know about passages of documents: those that repeat what a memory no longer says, and the flags of their texts.

use std::collections::BTreeMap;

use super::guard;
use crate::{Memories, ServiceError};
use cerebro_core::domain::{ChunkId, Flag, MemoryId, Scope};
use cerebro_core::sameness;

/// Most passages that are compared at once.
const PASSAGES_MAX: usize = 50;

/// What is to know about a passage before it is believed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassageNotice {
    /// If it repeats a corrected or superseded text: the memory that says what holds now.
    pub old: Option<MemoryId>,
    /// What the text seems to try, if it reads like an instruction.
    pub flags: Vec<Flag>,
}

impl Memories {
    /// The notice of each of some passages, given with the scopes of their documents. A document is a person's file, so it
    /// stays as it is.
    ///
    /// # Errors
    /// A failing store.
    pub async fn passage_notices(
        &self,
        passages: &[(ChunkId, Scope)],
    ) -> Result<BTreeMap<ChunkId, PassageNotice>, ServiceError> {
        let passages = &passages[..passages.len().min(PASSAGES_MAX)];
        let ids: Vec<ChunkId> = passages.iter().map(|(id, _)| *id).collect();
        // Reading the parts of texts takes long.
        let has_tombstones = self.base.store.tombstones().has_any().await?;
        let mut notices = BTreeMap::new();
        for chunk in self.base.store.chunks().by_ids(&ids).await? {
            let Some((_, scope)) = passages.iter().find(|(id, _)| *id == chunk.id) else { continue };
            let old = if has_tombstones {
                // The title of a passage is its heading.
                let heading = chunk.heading.rsplit(" › ").next().unwrap_or_default();
                let parts = sameness::parts_with_title(heading, &chunk.text);
                guard::corrected_in(&self.base.store, scope, parts).await?.first().copied()
            } else {
                None
            };
            notices.insert(chunk.id, PassageNotice { old, flags: chunk.flags });
        }
        Ok(notices)
    }
}
