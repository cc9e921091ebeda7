//! The footing of memories: their origin and flags, and their anchors to code.
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
use cerebro_store::{Committed, Footing};

/// Most memories whose footing is kept in memory; at that number all are dropped and read again.
const HELD_MAX: usize = 10_000;

/// The footings that were read.
#[derive(Default)]
struct Held {
    footings: HashMap<MemoryId, Arc<Footing>>,
    /// Counts the changes, so that a reading which began before a change is not kept.
    changes: u64,
}

/// The footings of memories that were shown lately.
#[derive(Default)]
pub(crate) struct FootingCache {
    held: Mutex<Held>,
}

impl FootingCache {
    /// Forgets the memories that a commit wrote.
    pub(crate) fn follow(&self, committed: &Committed) {
        self.forget(committed.memories.iter().map(|memory| memory.id));
    }

    fn forget(&self, ids: impl IntoIterator<Item = MemoryId>) {
        let mut held = lock(&self.held);
        held.changes += 1;
        for id in ids {
            held.footings.remove(&id);
        }
    }
}

impl Recall {
    /// The footing of each live one of some memories.
    ///
    /// # Errors
    /// A failing store.
    pub async fn footings(&self, ids: &[MemoryId]) -> Result<BTreeMap<MemoryId, Arc<Footing>>, ServiceError> {
        let book = &self.footings;
        let (mut known, changes) = {
            let held = lock(&book.held);
            let known: BTreeMap<_, _> =
                ids.iter().filter_map(|id| Some((*id, Arc::clone(held.footings.get(id)?)))).collect();
            (known, held.changes)
        };
        let wanted: Vec<MemoryId> = ids.iter().filter(|id| !known.contains_key(id)).copied().collect();
        if wanted.is_empty() {
            return Ok(known);
        }
        let read = self.base.store.footings().of(&wanted).await?;
        let read: Vec<_> = read.into_iter().map(|(id, footing)| (id, Arc::new(footing))).collect();
        {
            let mut held = lock(&book.held);
            // Another home may anchor a memory to code, and that makes no event.
            if held.changes == changes && !self.base.store.is_shared() {
                if held.footings.len() + read.len() > HELD_MAX {
                    held.footings.clear();
                }
                held.footings.extend(read.iter().cloned());
            }
        }
        known.extend(read);
        Ok(known)
    }

    /// Replaces the anchors of a memory's revision. `false` if the memory has another revision by now or is gone.
    ///
    /// # Errors
    /// A failing store.
    pub async fn anchor(
        &self,
        id: &MemoryId,
        revision: u32,
        anchors: &[Anchor],
    ) -> Result<bool, ServiceError> {
        let put = self.base.store.footings().put_anchors(id, revision, anchors).await;
        self.footings.forget([*id]);
        Ok(put?)
    }
}
