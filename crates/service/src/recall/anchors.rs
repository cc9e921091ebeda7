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

/// The anchors that were read or written; none of a memory that has none or is not live.
#[derive(Default)]
struct Held {
    anchors: HashMap<MemoryId, Arc<[Anchor]>>,
    /// Counts the changes, so that a reading which began before a change is not kept.
    changes: u64,
    /// The revisions whose anchors are being written, as long as no commit writes their memories.
    putting: HashMap<MemoryId, u32>,
}

impl Held {
    fn keep(&mut self, anchors: impl ExactSizeIterator<Item = Anchored>) {
        if self.anchors.len() + anchors.len() > HELD_MAX {
            self.anchors.clear();
        }
        self.anchors.extend(anchors);
    }
}

/// The anchors of memories that were saved or shown lately.
#[derive(Default)]
pub(crate) struct AnchorCache {
    held: Mutex<Held>,
}

impl AnchorCache {
    /// Forgets the memories that a commit wrote.
    pub(crate) fn follow(&self, committed: &Committed) {
        let mut held = lock(&self.held);
        held.changes += 1;
        for memory in &committed.memories {
            held.anchors.remove(&memory.id);
            held.putting.remove(&memory.id);
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
                held.keep(read.clone().into_iter());
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
        lock(&self.anchors.held).putting.insert(*id, revision);
        let put = self.base.store.anchors().put(id, revision, anchors).await;
        let mut held = lock(&self.anchors.held);
        held.changes += 1;
        held.anchors.remove(id);
        let is_last = held.putting.remove(id) == Some(revision);
        if is_last && matches!(put, Ok(true)) && !self.base.store.is_shared() {
            held.keep([(*id, anchors.into())].into_iter());
        }
        Ok(put?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Settings,
        use_cases::{caller, save, with_service},
    };
    use cerebro_anchors::anchors_in;
    use cerebro_core::domain::Timestamp;

    #[test]
    fn what_was_written_is_known_until_the_memory_changes() {
        with_service(Settings::default(), Timestamp::now, async |service| {
            let memory = save(&service, "Clock").await.memory;
            let anchors = anchors_in("a.rs", b"fn one() {}", &["one".to_owned()], &mut || true);
            let held = || lock(&service.recall.anchors.held).anchors.get(&memory.id).cloned();
            assert!(service.recall.anchor(&memory.id, memory.revision, &anchors).await.unwrap());
            assert_eq!(held().as_deref(), Some(&*anchors), "without being read");
            assert!(!service.recall.anchor(&memory.id, memory.revision + 1, &anchors).await.unwrap());
            assert_eq!(held(), None, "nothing was written");
            assert_eq!(
                service.recall.anchors(&[memory.id]).await.unwrap(),
                [(memory.id, anchors.as_slice().into())]
            );
            assert!(held().is_some());
            service.memories.delete(&caller(), &memory.id).await.unwrap();
            assert_eq!((held(), service.recall.anchors(&[memory.id]).await.unwrap()), (None, vec![]));
            assert!(lock(&service.recall.anchors.held).putting.is_empty());
        });
    }
}
