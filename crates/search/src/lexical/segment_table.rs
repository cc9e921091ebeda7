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
    /// All slots in order, each with its index in `entries`.
    by_slot: Vec<(Slot, u32)>,
    /// The range of each session's slots.
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
        let each = |(at, entry): (u32, &Entry)| std::iter::repeat_n(at, entry.passages as usize);
        let by_passage = (0..).zip(&entries).flat_map(each).collect();
        let mut by_memory = FxHashMap::default();
        by_memory.reserve(entries.len());
        for (at, entry) in (0..).zip(&mut entries) {
            entry.earlier = by_memory.insert(entry.memory, at);
        }
        let mut by_slot: Vec<(Slot, u32)> = entries.iter().map(Entry::slot).zip(0..).collect();
        by_slot.sort_unstable();
        let mut by_session = FxHashMap::default();
        let mut first = 0;
        for slots in by_slot.chunk_by(|(a, _), (b, _)| a.0 == b.0) {
            by_session.insert(slots[0].0.0, first..first + slots.len());
            first += slots.len();
        }
        Ok(Self { entries, by_passage, by_memory, by_slot, by_session })
    }

    /// The memories, in the order of their passages.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The index of a passage's memory in [`Self::entries`].
    pub fn entry_of(&self, passage: DocId) -> usize {
        self.by_passage[passage as usize] as usize
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
        self.slots(session).iter().map(|(_, at)| &self.entries[*at as usize])
    }

    /// The memories of a slot's session before it, the nearest first.
    pub fn before(&self, slot: Slot) -> impl Iterator<Item = &Entry> {
        let slots = self.slots(slot.0);
        let to = position(slots, |other| other < slot);
        slots[..to].iter().rev().map(|(_, at)| &self.entries[*at as usize])
    }

    /// The memories of a slot's session after it, the nearest first.
    pub fn after(&self, slot: Slot) -> impl Iterator<Item = &Entry> {
        let slots = self.slots(slot.0);
        let from = position(slots, |other| other <= slot);
        slots[from..].iter().map(|(_, at)| &self.entries[*at as usize])
    }

    /// A session's slots, in order.
    fn slots(&self, session: u64) -> &[(Slot, u32)] {
        self.by_session.get(&session).map_or(&[], |range| &self.by_slot[range.clone()])
    }
}

/// How many slots at the start are on the near side of a border. Most segments are older or newer than the border, which
/// their ends tell.
fn position(slots: &[(Slot, u32)], is_before: impl Fn(Slot) -> bool) -> usize {
    match slots {
        [] => 0,
        [.., (last, _)] if is_before(*last) => slots.len(),
        [(first, _), ..] if !is_before(*first) => 0,
        _ => slots.partition_point(|(slot, _)| is_before(*slot)),
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
        let slots: Vec<(Slot, u32)> = (1..=5).map(|at| ((7, at * 10, 1), 0)).collect();
        for slots in [&slots[..], &slots[..1], &[]] {
            for border in (0..=60).map(|date| (7, date, 1)) {
                let before = |slot: Slot| slot < border;
                assert_eq!(position(slots, before), slots.partition_point(|(slot, _)| before(*slot)));
                let not_after = |slot: Slot| slot <= border;
                assert_eq!(position(slots, not_after), slots.partition_point(|(slot, _)| not_after(*slot)));
            }
        }
    }
}
