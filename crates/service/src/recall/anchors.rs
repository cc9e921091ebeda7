//! The anchors of memories to code.
//!
//! The code itself is in the folder of whoever asks, so the verdict on an anchor is found there and not stored. Only the
//! anchors are kept here.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use crate::{Recall, ServiceError, lock};
use cerebro_anchors::Anchor;
use cerebro_core::domain::MemoryId;
use cerebro_store::{Anchored, Committed};

/// Most memories whose anchors are kept in memory; at that number all are dropped and read again.
const HELD_MAX: usize = 10_000;

/// The anchors that were read; none of a memory that has none or is not live.
#[derive(Default)]
struct Held {
    anchors: HashMap<MemoryId, Arc<[Anchor]>>,
    /// Counts the changes, so that a reading which began before a change is not kept.
    changes: u64,
}

/// The anchors of memories that were shown lately.
#[derive(Default)]
pub(crate) struct AnchorCache {
    held: Mutex<Held>,
}

impl AnchorCache {
    /// Forgets the memories that a commit wrote.
    pub(crate) fn follow(&self, committed: &Committed) {
        self.forget(committed.memories.iter().map(|memory| memory.id));
    }

    fn forget(&self, ids: impl IntoIterator<Item = MemoryId>) {
        let mut held = lock(&self.held);
        held.changes += 1;
        for id in ids {
            held.anchors.remove(&id);
        }
    }
}

impl Recall {
    /// The anchors of those among some memories that are live and have any, in their order.
    pub async fn anchors(&self, ids: &[MemoryId]) -> Result<Vec<Anchored>, ServiceError> {
        let cache = &self.anchors;
        let (mut known, changes) = {
            let held = lock(&cache.held);
            let of = |id: &MemoryId| Some((*id, Arc::clone(held.anchors.get(id)?)));
            (ids.iter().filter_map(of).collect::<HashMap<_, _>>(), held.changes)
        };
        let wanted: Vec<MemoryId> = ids.iter().filter(|id| !known.contains_key(id)).copied().collect();
        if !wanted.is_empty() {
            let mut read: HashMap<MemoryId, Arc<[Anchor]>> =
                wanted.iter().map(|id| (*id, Arc::default())).collect();
            read.extend(self.base.store.anchors().of(&wanted).await?);
            let mut held = lock(&cache.held);
            // Another home may anchor a memory to code, and that makes no event.
            if held.changes == changes && !self.base.store.is_shared() {
                if held.anchors.len() + read.len() > HELD_MAX {
                    held.anchors.clear();
                }
                held.anchors.extend(read.clone());
            }
            known.extend(read);
        }
        known.retain(|_, anchors| !anchors.is_empty());
        Ok(ids.iter().filter_map(|id| known.remove_entry(id)).collect())
    }

    /// Replaces the anchors of a memory's revision. `false` if the memory has another revision by now or is gone.
    pub async fn anchor(
        &self,
        id: &MemoryId,
        revision: u32,
        anchors: &[Anchor],
    ) -> Result<bool, ServiceError> {
        let put = self.base.store.anchors().put(id, revision, anchors).await;
        self.anchors.forget([*id]);
        Ok(put?)
    }
}
