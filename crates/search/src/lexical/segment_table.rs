//! A table per segment: for each memory, its passages and its position within its session.
//!
//! A committed segment never changes, so its table is built once, when a search first needs it. Filters and
//! deletions are applied by the caller.

use std::{
    collections::HashMap,
    ops::Range,
    sync::{Arc, Mutex},
};

use rustc_hash::FxHashMap;
use tantivy::{DocId, index::SegmentId};

use super::{
    Result,
    view::{Segment, View},
};
use cerebro_core::sync::lock;

/// One memory of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Its first passage; the others follow.
    pub first: DocId,
    /// How many passages it has.
    pub passages: u32,
    /// Its id as a number.
    pub memory: u64,
    /// A hash of its session's id; 0 without one.
    pub session: u64,
    /// Microseconds since 1970.
    pub date: i64,
    /// The index of the memory's previous entry: after a revision, an older, deleted one may still exist.
    earlier: Option<u32>,
}

impl Entry {
    /// Its position in time among the memories of its session.
    pub fn slot(&self) -> Slot {
        (self.session, self.date, self.memory)
    }
}

/// Session, time, memory: the order in which a session's memories follow each other.
pub type Slot = (u64, i64, u64);

/// The memories of one segment, indexed three ways.
#[derive(Debug, Default)]
pub struct SegmentTable {
    /// In the order of the passages.
    entries: Vec<Entry>,
    /// For each passage, the index of its memory in `entries`.
    by_passage: Vec<u32>,
    /// The index in `entries` of each memory's last entry.
    by_memory: FxHashMap<u64, u32>,
    /// The indices in `entries`, in the order of their slots.
    by_slot: Vec<u32>,
    /// For each entry, its index in `by_slot`.
    places: Vec<u32>,
    /// The range of each session in `by_slot`.
    by_session: FxHashMap<u64, Range<usize>>,
}

impl SegmentTable {
    fn new(segment: Segment<'_>) -> Result<Self> {
        let numbers = segment.numbers()?;
        let (memories, sessions, dates) = (segment.memories()?, segment.sessions()?, segment.dates()?);
        let mut entries: Vec<Entry> = Vec::new();
        for (first, number) in (0u32..).zip(&numbers) {
            match entries.last_mut().filter(|_| *number > 0) {
                Some(entry) => entry.passages += 1,
                None => {
                    let at = first as usize;
                    let (memory, session, date) = (memories[at], sessions[at], dates[at]);
                    entries.push(Entry { first, passages: 1, memory, session, date, earlier: None });
                }
            }
        }
        Ok(Self::of(entries))
    }

    fn of(mut entries: Vec<Entry>) -> Self {
        let each = |(at, entry): (u32, &Entry)| std::iter::repeat_n(at, entry.passages as usize);
        let by_passage = (0..).zip(&entries).flat_map(each).collect();
        let mut by_memory = FxHashMap::default();
        by_memory.reserve(entries.len());
        for (at, entry) in (0..).zip(&mut entries) {
            entry.earlier = by_memory.insert(entry.memory, at);
        }
        let mut slots: Vec<(Slot, u32)> = entries.iter().map(Entry::slot).zip(0..).collect();
        slots.sort_unstable();
        let mut by_session = FxHashMap::default();
        let mut first = 0;
        for slots in slots.chunk_by(|(a, _), (b, _)| a.0 == b.0) {
            by_session.insert(slots[0].0.0, first..first + slots.len());
            first += slots.len();
        }
        let by_slot: Vec<u32> = slots.into_iter().map(|(_, at)| at).collect();
        let mut places = vec![0; by_slot.len()];
        for (place, at) in (0..).zip(&by_slot) {
            places[*at as usize] = place;
        }
        Self { entries, by_passage, by_memory, by_slot, places, by_session }
    }

    /// The number of memories, including deleted ones.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// The memory of a passage.
    pub fn entry_of(&self, passage: DocId) -> &Entry {
        &self.entries[self.by_passage[passage as usize] as usize]
    }

    /// All passages of a passage's memory. Reads no entry: to fetch one from memory takes longer than all else here.
    pub fn passages_of(&self, passage: DocId) -> Range<DocId> {
        let own = self.by_passage[passage as usize];
        let is_own = |other: DocId| self.by_passage.get(other as usize) == Some(&own);
        let (mut first, mut end) = (passage, passage + 1);
        while first > 0 && is_own(first - 1) {
            first -= 1;
        }
        while is_own(end) {
            end += 1;
        }
        first..end
    }

    /// The entries of a memory, the last one first.
    pub fn find(&self, memory: u64) -> impl Iterator<Item = &Entry> {
        let last = self.by_memory.get(&memory).map(|at| &self.entries[*at as usize]);
        std::iter::successors(last, |entry| entry.earlier.map(|at| &self.entries[at as usize]))
    }

    /// The number of memories that a session has in this segment, including deleted ones.
    pub fn size(&self, session: u64) -> usize {
        self.slots(session).len()
    }

    /// The memories of a session, including deleted ones.
    pub fn of_session(&self, session: u64) -> impl Iterator<Item = &Entry> {
        self.slots(session).iter().map(|at| &self.entries[*at as usize])
    }

    /// The memories of a slot's session before it and those after it, the nearest first. If the slot is that of a memory
    /// in this segment, one of its `passage`s leads there without a search.
    pub fn around(
        &self,
        slot: Slot,
        passage: Option<DocId>,
    ) -> (impl Iterator<Item = &Entry>, impl Iterator<Item = &Entry>) {
        let entry = move |at: &u32| &self.entries[*at as usize];
        let (before, after) = match passage {
            Some(passage) => {
                let range = self.by_session.get(&slot.0).cloned().unwrap_or_default();
                let place = self.places[self.by_passage[passage as usize] as usize] as usize;
                (&self.by_slot[range.start..place], &self.by_slot[place..range.end])
            }
            None => {
                let slots = self.slots(slot.0);
                slots.split_at(position(slots, |at| entry(at).slot() < slot))
            }
        };
        let is_same = move |entry: &&Entry| entry.slot() == slot;
        (before.iter().rev().map(entry).skip_while(is_same), after.iter().map(entry).skip_while(is_same))
    }

    /// A session's entries, in the order of their slots.
    fn slots(&self, session: u64) -> &[u32] {
        self.by_session.get(&session).map_or(&[], |range| &self.by_slot[range.clone()])
    }
}

/// How many items at the start are on the near side of a border. Most segments are older or newer than the border, which
/// their ends tell.
fn position<T>(items: &[T], is_before: impl Fn(&T) -> bool) -> usize {
    match items {
        [] => 0,
        [.., last] if is_before(last) => items.len(),
        [first, ..] if !is_before(first) => 0,
        _ => items.partition_point(is_before),
    }
}

/// The tables of committed segments.
#[derive(Debug, Default)]
pub struct SegmentTables(Mutex<HashMap<SegmentId, Arc<SegmentTable>>>);

impl SegmentTables {
    /// The tables of a view's segments, in order. Drops the tables of all other segments.
    pub fn of(&self, view: &View) -> Result<Vec<Arc<SegmentTable>>> {
        let mut known = lock(&self.0);
        let mut tables = Vec::with_capacity(view.len());
        let mut present = HashMap::new();
        for segment in view.segments() {
            let Segment::Committed(committed) = segment else {
                tables.push(Arc::new(SegmentTable::new(segment)?));
                continue;
            };
            let id = committed.id();
            let table = match known.remove(&id) {
                Some(table) => table,
                None => Arc::new(SegmentTable::new(segment)?),
            };
            present.insert(id, Arc::clone(&table));
            tables.push(table);
        }
        *known = present;
        Ok(tables)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_the_same_with_and_without_a_look_at_the_ends() {
        let items: Vec<u32> = (1..=5).map(|at| at * 10).collect();
        for items in [&items[..], &items[..1], &[]] {
            for border in 0..=60 {
                let is_before = |item: &u32| *item < border;
                assert_eq!(position(items, is_before), items.partition_point(is_before));
            }
        }
    }

    /// A table of memories with one or more passages each, all in two sessions.
    fn table(memories: &[(u64, i64, u32)]) -> SegmentTable {
        let mut first = 0;
        let entry = |(at, (session, date, passages)): (u64, &(u64, i64, u32))| {
            let entry = Entry {
                first,
                passages: *passages,
                memory: at,
                session: *session,
                date: *date,
                earlier: None,
            };
            first += passages;
            entry
        };
        SegmentTable::of((0..).zip(memories).map(entry).collect())
    }

    #[test]
    fn a_passage_leads_to_its_memory_and_to_those_around_it() {
        let memories = [(7, 30, 1), (7, 10, 3), (8, 15, 2), (7, 20, 1), (7, 40, 2)];
        let table = table(&memories);
        let ids = |entries: &mut dyn Iterator<Item = &Entry>| -> Vec<u64> {
            entries.map(|entry| entry.memory).collect()
        };
        let mut first = 0;
        for (at, (session, date, passages)) in (0..).zip(memories) {
            for passage in first..first + passages {
                assert_eq!(table.passages_of(passage), first..first + passages);
                assert_eq!(table.entry_of(passage).memory, at);
                let slot = (session, date, at);
                let around = |passage| {
                    let (mut before, mut after) = table.around(slot, passage);
                    (ids(&mut before), ids(&mut after))
                };
                assert_eq!(around(Some(passage)), around(None));
            }
            first += passages;
        }
        let (mut before, mut after) = table.around((7, 20, 3), None);
        assert_eq!((ids(&mut before), ids(&mut after)), (vec![1], vec![0, 4]));
        let (mut before, mut after) = table.around((7, 25, 9), None);
        assert_eq!((ids(&mut before), ids(&mut after)), (vec![3, 1], vec![0, 4]));
        let (mut before, mut after) = table.around((9, 25, 9), None);
        assert_eq!((ids(&mut before), ids(&mut after)), (vec![], vec![]));
    }
}
