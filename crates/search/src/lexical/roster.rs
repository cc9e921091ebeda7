//! A table per segment: for each memory, its passages and its position within its session.
//!
//! A committed segment never changes, so its roster is built once, when a search first needs it. Filters and
//! deletions are applied by the caller.

use std::{
    collections::HashMap,
    ops::Range,
    sync::{Arc, Mutex, PoisonError},
};

use rustc_hash::FxHashMap;
use tantivy::{DocId, index::SegmentId};

use super::{
    Result,
    view::{Segment, View},
};

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
    /// The index of the memory's previous entry: after a revision, an older, deleted one may still be there.
    earlier: Option<u32>,
}

impl Entry {
    /// Its position in time among the memories of its session.
    pub fn seat(&self) -> Seat {
        (self.session, self.date, self.memory)
    }
}

/// Session, time, memory: the order in which a session's memories follow each other.
pub type Seat = (u64, i64, u64);

/// The memories of one segment, indexed three ways.
#[derive(Debug, Default)]
pub struct Roster {
    /// In the order of the passages.
    entries: Vec<Entry>,
    /// The index in `entries` of each memory's last entry.
    by_memory: FxHashMap<u64, u32>,
    /// All seats in order, each with its index in `entries`.
    by_seat: Vec<(Seat, u32)>,
    /// The range of each session's seats.
    by_session: FxHashMap<u64, Range<usize>>,
}

impl Roster {
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
        let mut by_memory = FxHashMap::default();
        by_memory.reserve(entries.len());
        for (at, entry) in (0..).zip(&mut entries) {
            entry.earlier = by_memory.insert(entry.memory, at);
        }
        let mut by_seat: Vec<(Seat, u32)> = entries.iter().map(Entry::seat).zip(0..).collect();
        by_seat.sort_unstable();
        let mut by_session = FxHashMap::default();
        let mut first = 0;
        for seats in by_seat.chunk_by(|(a, _), (b, _)| a.0 == b.0) {
            by_session.insert(seats[0].0.0, first..first + seats.len());
            first += seats.len();
        }
        Ok(Self { entries, by_memory, by_seat, by_session })
    }

    /// The memories, in the order of their passages.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entries of a memory, the last one first.
    pub fn find(&self, memory: u64) -> impl Iterator<Item = &Entry> {
        let last = self.by_memory.get(&memory).map(|at| &self.entries[*at as usize]);
        std::iter::successors(last, |entry| entry.earlier.map(|at| &self.entries[at as usize]))
    }

    /// How many memories a session has here, deleted ones included.
    pub fn size(&self, session: u64) -> usize {
        self.seats(session).len()
    }

    /// The memories of a seat's session before it, the nearest first.
    pub fn before(&self, seat: Seat) -> impl Iterator<Item = &Entry> {
        let seats = self.seats(seat.0);
        let to = seats.partition_point(|(other, _)| *other < seat);
        seats[..to].iter().rev().map(|(_, at)| &self.entries[*at as usize])
    }

    /// The memories of a seat's session after it, the nearest first.
    pub fn after(&self, seat: Seat) -> impl Iterator<Item = &Entry> {
        let seats = self.seats(seat.0);
        let from = seats.partition_point(|(other, _)| *other <= seat);
        seats[from..].iter().map(|(_, at)| &self.entries[*at as usize])
    }

    /// A session's seats, in order.
    fn seats(&self, session: u64) -> &[(Seat, u32)] {
        self.by_session.get(&session).map_or(&[], |range| &self.by_seat[range.clone()])
    }
}

/// The rosters of committed segments.
#[derive(Debug, Default)]
pub struct Rosters(Mutex<HashMap<SegmentId, Arc<Roster>>>);

impl Rosters {
    /// The rosters of a view's segments, in order. Drops the rosters of all other segments.
    pub fn of(&self, view: &View) -> Result<Vec<Arc<Roster>>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut rosters = Vec::with_capacity(view.len());
        let mut present = HashMap::new();
        for segment in view.segments() {
            let Segment::Committed(committed) = segment else {
                rosters.push(Arc::new(Roster::new(segment)?));
                continue;
            };
            let id = committed.id();
            let roster = match known.remove(&id) {
                Some(roster) => roster,
                None => Arc::new(Roster::new(segment)?),
            };
            present.insert(id, Arc::clone(&roster));
            rosters.push(roster);
        }
        *known = present;
        Ok(rosters)
    }
}
