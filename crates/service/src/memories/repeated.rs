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
    pub async fn passage_notices(
        &self,
        passages: &[(ChunkId, Scope)],
    ) -> Result<BTreeMap<ChunkId, PassageNotice>, ServiceError> {
        let passages = &passages[..passages.len().min(PASSAGES_MAX)];
        let ids: Vec<ChunkId> = passages.iter().map(|(id, _)| *id).collect();
        let mut notices = BTreeMap::new();
        for chunk in self.base.store.chunks().by_ids(&ids).await? {
            let Some((_, scope)) = passages.iter().find(|(id, _)| *id == chunk.id) else { continue };
            let mut parts = sameness::parts(&chunk.text);
            // A short text is known behind its title only, which is the heading here.
            if let Some(heading) = chunk.heading.rsplit(" › ").next().filter(|heading| !heading.is_empty())
            {
                parts.extend(sameness::parts(&format!("{heading}\n\n{}", chunk.text.as_str())));
            }
            let corrected = guard::corrected_in(&self.base.store, scope, parts).await?;
            let old = corrected.first().copied();
            notices.insert(chunk.id, PassageNotice { old, flags: chunk.flags });
        }
        Ok(notices)
    }
}
