//! Evidence that repeats what a memory no longer says: passages of documents and exchanges of past sessions.

use std::collections::BTreeMap;

use super::guard;
use crate::{Memories, ServiceError, tasks::on_a_thread};
use cerebro_core::domain::{ChunkId, ExchangeId, MemoryId, Scope};
use cerebro_core::sameness::{self, Part};

/// Most passages or exchanges that are compared at once.
const TEXTS_MAX: usize = 50;
/// How much of an exchange is compared, in bytes from its beginning: each kilobyte costs about a millisecond.
const EXCHANGE_BYTES_MAX: usize = 16 * 1024;

impl Memories {
    /// Of some passages, given with the scopes of their documents, those that repeat a corrected or superseded text; each with
    /// the memory that says what holds now. A document is a person's file, so it stays as it is.
    pub async fn outdated_passages(
        &self,
        passages: &[(ChunkId, Scope)],
    ) -> Result<BTreeMap<ChunkId, MemoryId>, ServiceError> {
        let mut outdated = BTreeMap::new();
        if !self.base.store.tombstones().has_any().await? {
            return Ok(outdated);
        }
        let passages = &passages[..passages.len().min(TEXTS_MAX)];
        let ids: Vec<ChunkId> = passages.iter().map(|(id, _)| *id).collect();
        for chunk in self.base.store.chunks().by_ids(&ids).await? {
            let Some((id, scope)) = passages.iter().find(|(id, _)| *id == chunk.id) else { continue };
            // The title of a passage is its heading.
            let heading = chunk.heading.rsplit(" › ").next().unwrap_or_default().to_owned();
            let text = chunk.text;
            let now = self.holds_instead(scope, move || sameness::parts_with_title(&heading, &text)).await?;
            outdated.extend(now.map(|now| (*id, now)));
        }
        Ok(outdated)
    }

    /// Of some exchanges, given with their scopes, those that repeat a corrected or superseded text in their first 16 KiB; each
    /// with the memory that says what holds now. What was said stays as it is.
    pub async fn outdated_exchanges(
        &self,
        exchanges: &[(ExchangeId, Scope)],
    ) -> Result<BTreeMap<ExchangeId, MemoryId>, ServiceError> {
        let mut outdated = BTreeMap::new();
        if !self.base.store.tombstones().has_any().await? {
            return Ok(outdated);
        }
        let exchanges = &exchanges[..exchanges.len().min(TEXTS_MAX)];
        let ids: Vec<ExchangeId> = exchanges.iter().map(|(id, _)| *id).collect();
        for full in self.base.store.exchanges().by_ids(&ids).await? {
            let id = full.exchange.id;
            let Some((_, scope)) = exchanges.iter().find(|(given, _)| *given == id) else { continue };
            let (beginning, _) = full.text.slice_bytes(0, EXCHANGE_BYTES_MAX);
            let now = self.holds_instead(scope, move || sameness::parts(&beginning)).await?;
            outdated.extend(now.map(|now| (id, now)));
        }
        Ok(outdated)
    }

    /// The memory that says what holds now, if one of the parts that are read repeats what was corrected or superseded.
    async fn holds_instead(
        &self,
        scope: &Scope,
        read: impl FnOnce() -> Vec<Part> + Send + 'static,
    ) -> Result<Option<MemoryId>, ServiceError> {
        let parts = on_a_thread("reading the parts of a text", read).await?;
        Ok(guard::corrected_in(&self.base.store, scope, parts).await?.first().copied())
    }
}
