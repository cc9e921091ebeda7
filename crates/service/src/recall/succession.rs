//! Supersessions: which memory took another's place, as lists and searches need it.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use crate::{Recall, ServiceError};
use cerebro_core::domain::limits::SUPERSEDED_DEPTH_MAX;
use cerebro_core::domain::{EventKind, Memory, MemoryId, SubjectId, Timestamp};
use cerebro_core::sync::Cached;
use cerebro_store::{Committed, Supersession};

/// Which of the memories at the ends of supersessions the store held at a moment of the past.
pub(crate) struct HeldThen {
    at: Timestamp,
    held: BTreeSet<MemoryId>,
}

/// All supersessions.
#[derive(Default)]
pub(crate) struct Succession {
    /// For each superseded memory: by which, and when, the latest first.
    successors: BTreeMap<MemoryId, Vec<(MemoryId, Timestamp)>>,
    /// The memories at either end, and whether they are live.
    ends: BTreeMap<MemoryId, bool>,
    /// Which memory is in the place of which now, by the index's numbers of memories.
    now: Arc<HashMap<u64, u64>>,
}

impl Succession {
    fn new(edges: Vec<Supersession>, live: &BTreeSet<MemoryId>) -> Self {
        let mut book = Self::default();
        for Supersession { newer, older, at, .. } in edges {
            for end in [newer, older] {
                book.ends.insert(end, live.contains(&end));
            }
            book.successors.entry(older).or_default().push((newer, at));
        }
        book.successors.values_mut().for_each(|newer| newer.sort_by_key(|(_, at)| std::cmp::Reverse(*at)));
        book.now = Arc::new(book.numbered(None));
        book
    }

    fn numbered(&self, then: Option<&HeldThen>) -> HashMap<u64, u64> {
        let number = |id: MemoryId| SubjectId::from(id).as_number();
        let successor = |id: &MemoryId| Some((number(*id), number(self.successor(id, then)?)));
        self.successors.keys().filter_map(successor).collect()
    }

    /// Whether the store holds a memory at the end of a supersession, or held it then.
    fn is_held(&self, id: &MemoryId, then: Option<&HeldThen>) -> bool {
        then.map_or_else(|| self.ends.get(id).copied().unwrap_or(false), |then| then.held.contains(id))
    }

    /// The memory in another's place: the last that superseded it and is live; if that is deleted, the one that superseded
    /// that one. At an earlier moment likewise, as it was then.
    pub(crate) fn successor(&self, id: &MemoryId, then: Option<&HeldThen>) -> Option<MemoryId> {
        let mut level = vec![*id];
        let mut seen = BTreeSet::from([*id]);
        for _ in 0..SUPERSEDED_DEPTH_MAX {
            let newer = level.iter().filter_map(|id| self.successors.get(id)).flatten();
            let newer = newer.filter(|(_, since)| then.is_none_or(|then| *since <= then.at));
            let newer: Vec<MemoryId> = newer.map(|(id, _)| *id).filter(|id| seen.insert(*id)).collect();
            if let Some(live) = newer.iter().find(|id| self.is_held(id, then)) {
                return Some(*live);
            }
            level = newer;
        }
        None
    }

    /// The memories that superseded another one.
    pub(crate) fn successors(&self) -> BTreeSet<MemoryId> {
        self.successors.values().flatten().map(|(newer, _)| *newer).collect()
    }

    /// Which memory is in the place of which, now or at an earlier moment, by the index's numbers.
    pub(crate) fn at(&self, then: Option<&HeldThen>) -> Arc<HashMap<u64, u64>> {
        match then {
            None => Arc::clone(&self.now),
            Some(_) => Arc::new(self.numbered(then)),
        }
    }

    /// Of the memories that one superseded by some edges, and of those that superseded it, those that the store holds, or
    /// held then.
    pub(crate) fn beside(&self, id: &MemoryId, edges: &[Supersession], then: Option<&HeldThen>) -> Beside {
        let there = |from: fn(&Supersession) -> MemoryId, to: fn(&Supersession) -> MemoryId| {
            let ends = edges.iter().filter(|edge| from(edge) == *id).map(to);
            ends.filter(|other| self.is_held(other, then)).collect()
        };
        Beside {
            supersedes: there(|edge| edge.newer, |edge| edge.older),
            superseded_by: there(|edge| edge.older, |edge| edge.newer),
        }
    }
}

/// The memories on the other ends of one memory's supersessions.
pub(crate) struct Beside {
    pub supersedes: Vec<MemoryId>,
    pub superseded_by: Vec<MemoryId>,
}

/// The edges as they were last read.
#[derive(Default)]
pub(crate) struct SuccessionCache(Cached<Succession>);

impl SuccessionCache {
    /// Follows a commit: new edges, and memories at their ends that were deleted or restored.
    pub(crate) fn follow(&self, committed: &Committed) {
        let changes_places = |kind| matches!(kind, EventKind::MemorySuperseded | EventKind::MemoryReinstated);
        if committed.events.iter().any(|event| changes_places(event.kind)) {
            return self.0.forget();
        }
        self.0.forget_if(|book| {
            committed
                .memories
                .iter()
                .any(|memory| book.ends.get(&memory.id).is_some_and(|was_live| *was_live != memory.is_live()))
        });
    }

    /// Drops what was read.
    pub(crate) fn forget(&self) {
        self.0.forget();
    }
}

impl Recall {
    /// All supersessions.
    pub(crate) async fn succession(&self) -> Result<Arc<Succession>, ServiceError> {
        let ticket = match self.succession.0.get() {
            Ok(book) => return Ok(book),
            Err(ticket) => ticket,
        };
        let edges = self.base.store.supersessions().all().await?;
        let ends: BTreeSet<MemoryId> = edges.iter().flat_map(|edge| [edge.newer, edge.older]).collect();
        let found = self.base.store.memories().by_ids(&ends).await?;
        let live = found.into_iter().filter(Memory::is_live).map(|memory| memory.id).collect();
        Ok(self.succession.0.keep(ticket, Succession::new(edges, &live)))
    }

    /// Which of the supersessions' memories the store held at a moment; `None` for the present.
    pub(crate) async fn held_then(&self, at: Option<Timestamp>) -> Result<Option<HeldThen>, ServiceError> {
        let Some(at) = at else { return Ok(None) };
        let book = self.succession().await?;
        Ok(Some(HeldThen { at, held: self.past.held_at(&book.ends, at).await? }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_successor_is_the_last_live_one_and_through_deleted_ones_the_next() {
        let ids: Vec<MemoryId> = (0..5).map(|_| MemoryId::random()).collect();
        let edge = |newer: usize, older: usize, second: i64| Supersession {
            newer: ids[newer],
            older: ids[older],
            by: "agent".to_owned(),
            at: Timestamp::from_second(second).unwrap(),
        };
        let edges = vec![edge(1, 0, 1), edge(2, 0, 5), edge(3, 1, 3), edge(4, 3, 4)];
        let book = |live: &[usize]| {
            Succession::new(edges.clone(), &live.iter().map(|at| ids[*at]).collect::<BTreeSet<_>>())
        };
        let successor = |live: &[usize], of: usize| {
            book(live).successor(&ids[of], None).and_then(|id| ids.iter().position(|other| *other == id))
        };
        assert_eq!(successor(&[0, 1, 2, 3, 4], 0), Some(2), "the last that took it");
        assert_eq!(successor(&[0, 1, 3, 4], 0), Some(1));
        assert_eq!(successor(&[0, 3, 4], 0), Some(3), "past a deleted one");
        assert_eq!(successor(&[0, 4], 1), Some(4));
        assert_eq!(successor(&[0], 0), None);
        assert_eq!(successor(&[0, 1, 2, 3, 4], 4), None);
        assert_eq!(book(&[0, 2]).at(None).len(), 1);
        let then = |second: i64, held: &[usize]| HeldThen {
            at: Timestamp::from_second(second).unwrap(),
            held: held.iter().map(|at| ids[*at]).collect(),
        };
        let earlier = |second, held: &[usize]| book(&[]).successor(&ids[0], Some(&then(second, held)));
        assert_eq!(earlier(2, &[0, 1]), Some(ids[1]), "at an earlier moment, though it is deleted since");
        assert_eq!(earlier(2, &[0]), None, "it was deleted then");
        assert_eq!(earlier(3, &[0, 3]), Some(ids[3]), "past one that was deleted then");
        assert_eq!(earlier(2, &[0, 3]), None, "it took the place only later");
        let beside = book(&[0, 1]).beside(&ids[1], &edges, None);
        assert_eq!((beside.supersedes, beside.superseded_by), (vec![ids[0]], vec![]));
    }
}
