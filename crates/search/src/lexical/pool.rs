//! The candidates of both legs, each with what the index knows of it.

use std::{
    cmp::{Ordering, Reverse},
    sync::Arc,
};

use rustc_hash::FxHashMap;
use tantivy::DocAddress;

use super::{
    finder::{Candidate as Found, Finder},
    roster::{Entry, Roster, Seat},
};
use crate::vector::Near;
use cerebro_core::domain::limits::SEARCH_DEPTH_MAX;
use cerebro_core::recall::{self, Candidate, Link, REACH, Usual};

/// How many of each leg's best candidates lend a share of their score to their neighbours.
const LENDERS_MAX: usize = 100;
/// Most filtered-out memories of a session that are skipped to reach a neighbour.
const SKIPPED_MAX: usize = 8;

/// The candidates, and where to read them.
pub struct Pool {
    pub candidates: Vec<Candidate>,
    /// For each candidate, the passage to show and the meanings that it contains.
    pub places: Vec<Place>,
    pub links: Vec<Link>,
    /// Mean and deviation of the similarities of the nearest that pass the filters; `None` without any.
    pub usual: Option<Usual>,
}

/// Where a candidate is read.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    pub passage: DocAddress,
    /// A bit set of the query's meanings that it contains.
    pub mask: u64,
}

/// The candidates of a search while they are collected.
pub struct Gathering<'a> {
    finder: &'a Finder<'a>,
    rosters: &'a [Arc<Roster>],
    pool: Pool,
    /// How many candidates contain words of the query. They come first, the best at the start.
    found: usize,
    /// The index of each memory among the candidates.
    known: FxHashMap<u64, usize>,
    /// How many passages each candidate has.
    passages: Vec<u32>,
    sizes: FxHashMap<u64, usize>,
    /// The neighbours of each of the first candidates, found while the nearest vectors are computed.
    sides: Vec<Sides>,
    /// The segments, the largest first: most look-ups succeed there.
    by_size: Vec<usize>,
}

/// The memories before and after one in its session, the nearest first.
type Sides = [Vec<u64>; 2];

/// The best `depth` by words, best first; ties at the cut are broken by position.
fn deepest(mut found: Vec<Found>, depth: usize) -> Vec<Found> {
    let order = |a: &Found, b: &Found| -> Ordering {
        b.exact.cmp(&a.exact).then(b.score.total_cmp(&a.score)).then(a.best.cmp(&b.best))
    };
    if found.len() > depth {
        found.select_nth_unstable_by(depth, order);
        found.truncate(depth);
    }
    found.sort_unstable_by(order);
    found
}

impl<'a> Gathering<'a> {
    /// Starts with the memories that contain words of the query, at most [`SEARCH_DEPTH_MAX`].
    pub fn new(finder: &'a Finder<'a>, rosters: &'a [Arc<Roster>], found: Vec<Found>) -> Self {
        let found = deepest(found, SEARCH_DEPTH_MAX);
        let pool = Pool { candidates: Vec::new(), places: Vec::new(), links: Vec::new(), usual: None };
        let mut gathering = Self {
            finder,
            rosters,
            pool,
            found: found.len(),
            known: FxHashMap::default(),
            passages: Vec::new(),
            sizes: FxHashMap::default(),
            sides: Vec::new(),
            by_size: (0..rosters.len()).collect(),
        };
        gathering.by_size.sort_by_key(|ord| Reverse(rosters[*ord].entries().len()));
        gathering.reserve(found.len());
        for candidate in &found {
            gathering.add_found(candidate);
        }
        gathering.sides = (0..found.len().min(LENDERS_MAX)).map(|at| gathering.beside(at)).collect();
        gathering
    }

    /// Adds the `near`est memories by vector that pass the filters, nearest first, and then links each
    /// candidate to its neighbours.
    pub fn join(mut self, near: &[Near]) -> Pool {
        self.reserve(near.len());
        let mut lenders: Vec<usize> = (0..self.found.min(LENDERS_MAX)).collect();
        for (rank, near) in near.iter().enumerate() {
            let at = self.add_near(near);
            lenders.extend(at.filter(|_| rank < LENDERS_MAX));
        }
        let similarities: Vec<f32> = self.pool.candidates.iter().filter_map(|c| c.meaning).collect();
        self.pool.usual = (!similarities.is_empty()).then(|| Usual::of(&similarities));
        lenders.sort_unstable();
        lenders.dedup();
        for from in lenders {
            self.link(from);
        }
        self.pool
    }

    fn reserve(&mut self, more: usize) {
        self.pool.candidates.reserve(more);
        self.pool.places.reserve(more);
        self.known.reserve(more);
        self.passages.reserve(more);
    }

    fn push(&mut self, ord: u32, entry: &Entry, place: Place) -> usize {
        let at = self.pool.candidates.len();
        let count = || self.rosters.iter().map(|roster| roster.size(entry.session)).sum();
        let size = *self.sizes.entry(entry.session).or_insert_with(count);
        self.known.insert(entry.memory, at);
        self.pool.places.push(place);
        self.passages.push(entry.passages);
        self.pool.candidates.push(Candidate {
            memory: entry.memory,
            date: entry.date,
            session: entry.session,
            session_size: size,
            words: 0.0,
            meaning: None,
            exact: false,
            named: self.finder.is_opened(ord as usize, entry.first),
        });
        at
    }

    fn add_found(&mut self, found: &Found) {
        let rosters = self.rosters;
        let entry = &rosters[found.best.segment_ord as usize].entries()[found.entry];
        let at = self.push(found.best.segment_ord, entry, Place { passage: found.best, mask: found.mask });
        let candidate = &mut self.pool.candidates[at];
        (candidate.words, candidate.exact) = (found.score, found.exact);
    }

    /// The location of a near memory, unless the filters exclude it.
    fn add_near(&mut self, near: &Near) -> Option<usize> {
        let memory = near.subject.as_number();
        let at = match self.known.get(&memory) {
            Some(at) => *at,
            None => {
                let (ord, entry) = self.live(memory)?;
                let passage = DocAddress::new(ord, entry.first);
                self.push(ord, &entry, Place { passage, mask: 0 })
            }
        };
        self.pool.candidates[at].meaning = Some(recall::of_best(near.similarity, self.passages[at]));
        Some(at)
    }

    /// The one entry of a memory that is live and passes the filters.
    fn live(&self, memory: u64) -> Option<(u32, Entry)> {
        self.by_size.iter().find_map(|ord| {
            let allowed = &self.finder.allowed[*ord];
            let entry = self.rosters[*ord].find(memory).find(|entry| allowed.has(entry.first))?;
            Some((u32::try_from(*ord).ok()?, *entry))
        })
    }

    /// Records the neighbours of a candidate in its session.
    fn link(&mut self, from: usize) {
        let known = self.sides.get_mut(from).map(std::mem::take);
        for side in known.unwrap_or_else(|| self.beside(from)) {
            for (rank, memory) in side.into_iter().enumerate() {
                if let Some(to) = self.known.get(&memory) {
                    self.pool.links.push(Link { from, to: *to, distance: rank + 1 });
                }
            }
        }
    }

    /// The neighbours of a candidate in its session.
    fn beside(&self, of: usize) -> Sides {
        let candidate = self.pool.candidates[of];
        if candidate.session == 0 {
            return Sides::default();
        }
        let seat = (candidate.session, candidate.date, candidate.memory);
        [false, true].map(|after| self.next_to(seat, after))
    }

    /// The neighbours of a seat on one side, the nearest first, over all segments.
    fn next_to(&self, seat: Seat, after: bool) -> Vec<u64> {
        let mut seats: Vec<Seat> = Vec::new();
        for (roster, allowed) in self.rosters.iter().zip(&self.finder.allowed) {
            let take = |entries: &mut dyn Iterator<Item = &Entry>| {
                let near = entries.take(REACH + SKIPPED_MAX).filter(|entry| allowed.has(entry.first));
                near.take(REACH).map(Entry::seat).collect::<Vec<_>>()
            };
            let found = if after { take(&mut roster.after(seat)) } else { take(&mut roster.before(seat)) };
            seats.extend(found);
        }
        seats.sort_unstable();
        if !after {
            seats.reverse();
        }
        seats.truncate(REACH);
        seats.into_iter().map(|(_, _, memory)| memory).collect()
    }
}
