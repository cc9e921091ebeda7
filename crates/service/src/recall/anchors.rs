//! The anchors of memories to code.
//!
//! The code itself is in the folder of whoever asks, so the verdict on an anchor is found there and not stored. Only the
//! anchors are kept here.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex},
};

use crate::{Recall, ServiceError, lock};
use cerebro_anchors::Anchor;
use cerebro_core::domain::MemoryId;
use cerebro_store::Committed;

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
    /// The anchors of each of some memories; none of one that has none or is not live.
    pub async fn anchors(&self, ids: &[MemoryId]) -> Result<BTreeMap<MemoryId, Arc<[Anchor]>>, ServiceError> {
        let cache = &self.anchors;
        let (mut known, changes) = {
            let held = lock(&cache.held);
            let known: BTreeMap<_, _> =
                ids.iter().filter_map(|id| Some((*id, Arc::clone(held.anchors.get(id)?)))).collect();
            (known, held.changes)
        };
        let wanted: Vec<MemoryId> = ids.iter().filter(|id| !known.contains_key(id)).copied().collect();
        if wanted.is_empty() {
            return Ok(known);
        }
        let mut found: HashMap<MemoryId, Vec<Anchor>> =
            self.base.store.anchors().of(&wanted).await?.into_iter().collect();
        let of = |id: MemoryId| (id, Arc::<[Anchor]>::from(found.remove(&id).unwrap_or_default()));
        let read: Vec<(MemoryId, Arc<[Anchor]>)> = wanted.into_iter().map(of).collect();
        {
            let mut held = lock(&cache.held);
            // Another home may anchor a memory to code, and that makes no event.
            if held.changes == changes && !self.base.store.is_shared() {
                if held.anchors.len() + read.len() > HELD_MAX {
                    held.anchors.clear();
                }
                held.anchors.extend(read.iter().cloned());
            }
        }
        known.extend(read);
        Ok(known)
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
