//! What memories stand on: what makes their texts suspect, and the code that they speak of.
//!
//! The code itself lies in the folder of whoever asks, so whether it is still what it was is looked up there, and not
//! stored: here is only what a memory was tied to.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex},
};

use crate::{Recall, ServiceError, lock};
use cerebro_anchors::Anchor;
use cerebro_core::domain::MemoryId;
use cerebro_store::{Committed, Footing};

/// Most memories whose footing is kept at hand; when there are more, all are read anew.
const HELD_MAX: usize = 10_000;

/// What was read of the footings.
#[derive(Default)]
struct Held {
    footings: HashMap<MemoryId, Arc<Footing>>,
    /// Counts what may have changed them, so that what was read meanwhile is not kept.
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
    /// What each of the live ones among some memories stands on.
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
        let read = self.base.store.footings(&wanted).await?;
        let read: Vec<_> = read.into_iter().map(|(id, footing)| (id, Arc::new(footing))).collect();
        {
            let mut held = lock(&book.held);
            // Another home may tie a memory to code, and no event tells of that.
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

    /// Ties a memory's revision to the code that it speaks of, in the place of what it was tied to. `false` when it has
    /// another revision by now or is gone.
    ///
    /// # Errors
    /// A failing store.
    pub async fn anchor(
        &self,
        id: &MemoryId,
        revision: u32,
        anchors: &[Anchor],
    ) -> Result<bool, ServiceError> {
        let put = self.base.store.put_anchors(id, revision, anchors).await;
        self.footings.forget([*id]);
        Ok(put?)
    }
}
