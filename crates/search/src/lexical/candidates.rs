//! The candidates of both legs, with what the index knows about each.

use std::{cmp::Reverse, collections::HashMap, sync::Arc};

use rustc_hash::FxHashMap;
use tantivy::DocAddress;

use super::{
    finder::{Candidate as Found, Finder},
    segment_table::{Entry, SegmentTable, Slot},
};
use crate::vector::Near;
use cerebro_core::domain::limits::{SEARCH_DEPTH_MAX, SUPERSEDED_DEPTH_MAX};
use cerebro_core::recall::{self, Candidate, Distribution, Link, REACH};

/// How many of each leg's best candidates lend a share of their score to their neighbours.
const DONORS_MAX: usize = 100;
/// Most filtered-out memories of a session that are skipped to reach a neighbour.
const SKIPPED_MAX: usize = 8;

/// The candidates, and where to read them.
pub struct Candidates {
    pub list: Vec<Candidate>,
    /// For each candidate, the passage to show and the concepts that it contains.
    pub locations: Vec<HitLocation>,
    pub links: Vec<Link>,
    /// Mean and deviation of the similarities of the nearest that pass the filters; `None` without any.
    pub usual: Option<Distribution>,
}

/// Where to read a candidate.
#[derive(Debug, Clone, Copy)]
pub struct HitLocation {
    pub passage: DocAddress,
    /// A bit set of the query's concepts that it contains.
    pub mask: u64,
    /// The same for this passage alone.
    pub passage_mask: u64,
}

/// The candidates of a search while they are collected.
pub struct Collector<'a> {
    finder: &'a Finder<'a>,
    tables: &'a [Arc<SegmentTable>],
    candidates: Candidates,
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

/// The best `depth` by words, best first. Of equal ones the newer comes first, wherever the index keeps them: the order
/// must not depend on how the index was built.
fn deepest(tables: &[Arc<SegmentTable>], found: &[Found], depth: usize) -> Vec<Found> {
    let mut scores: Vec<u64> = found.iter().map(by_words).collect();
    // The age is looked up only of those that may be among them.
    let least =
        if scores.len() > depth { *scores.select_nth_unstable_by(depth - 1, |a, b| b.cmp(a)).1 } else { 0 };
    let rank = |(at, found): (usize, &Found)| {
        let entry = tables[found.best.segment_ord as usize].entry_of(found.best.doc_id);
        (Reverse(by_words(found)), Reverse(entry.date), entry.memory, at)
    };
    let near = found.iter().enumerate().filter(|(_, found)| by_words(found) >= least);
    let mut ranks: Vec<_> = near.map(rank).collect();
    if ranks.len() > depth {
        ranks.select_nth_unstable(depth);
        ranks.truncate(depth);
    }
    ranks.sort_unstable();
    ranks.into_iter().map(|(.., at)| found[at]).collect()
}

/// A number that is in the order of the matches by words: first those that the query names, then by score, in the order
/// of [`f32::total_cmp`].
fn by_words(found: &Found) -> u64 {
    let bits = found.score.to_bits();
    let score = if bits >> 31 == 1 { !bits } else { bits | 1 << 31 };
    u64::from(found.exact) << 32 | u64::from(score)
}

impl<'a> Collector<'a> {
    /// Starts with the memories that contain words of the query, at most [`SEARCH_DEPTH_MAX`].
    pub fn new(finder: &'a Finder<'a>, tables: &'a [Arc<SegmentTable>], found: &[Found]) -> Self {
        let found = deepest(tables, found, SEARCH_DEPTH_MAX);
        let candidates =
            Candidates { list: Vec::new(), locations: Vec::new(), links: Vec::new(), usual: None };
        let mut collector = Self {
            finder,
            tables,
            candidates,
            found: found.len(),
            known: FxHashMap::default(),
            passages: Vec::new(),
            sizes: FxHashMap::default(),
            sides: Vec::new(),
            by_size: (0..tables.len()).collect(),
        };
        collector.by_size.sort_by_key(|ord| Reverse(tables[*ord].len()));
        collector.reserve(found.len());
        for candidate in &found {
            collector.add_found(candidate);
        }
        collector.sides = (0..found.len().min(DONORS_MAX)).map(|at| collector.beside(at)).collect();
        collector
    }

    /// Adds the `near`est memories by vector that pass the filters, nearest first, and those that superseded a candidate;
    /// then links each candidate to its neighbours.
    pub fn join(mut self, near: &[Near], successors: &HashMap<u64, u64>) -> Candidates {
        self.reserve(near.len());
        let mut donors: Vec<usize> = (0..self.found.min(DONORS_MAX)).collect();
        for (rank, near) in near.iter().enumerate() {
            let at = self.add_near(near);
            donors.extend(at.filter(|_| rank < DONORS_MAX));
        }
        self.add_successors(successors);
        let similarities: Vec<f32> = self.candidates.list.iter().filter_map(|c| c.meaning).collect();
        self.candidates.usual = (!similarities.is_empty()).then(|| Distribution::of(&similarities));
        donors.sort_unstable();
        donors.dedup();
        for from in donors {
            self.link(from);
        }
        self.candidates
    }

    /// Adds what superseded a candidate, directly or in several steps, and passes the filters: who finds what no longer
    /// holds finds what took its place. At most [`SEARCH_DEPTH_MAX`] are added.
    fn add_successors(&mut self, successors: &HashMap<u64, u64>) {
        if successors.is_empty() {
            return;
        }
        let candidates = self.candidates.list.len();
        for at in 0..candidates {
            let mut next = successors.get(&self.candidates.list[at].memory);
            for _ in 0..SUPERSEDED_DEPTH_MAX {
                let Some(newer) = next.filter(|newer| !self.known.contains_key(newer)) else { break };
                if self.candidates.list.len() == candidates + SEARCH_DEPTH_MAX {
                    return;
                }
                if let Some((ord, entry)) = self.live(*newer) {
                    let passage = DocAddress::new(ord, entry.first);
                    self.push(ord, &entry, HitLocation { passage, mask: 0, passage_mask: 0 });
                }
                next = successors.get(newer);
            }
        }
    }

    fn reserve(&mut self, more: usize) {
        self.candidates.list.reserve(more);
        self.candidates.locations.reserve(more);
        self.known.reserve(more);
        self.passages.reserve(more);
    }

    fn push(&mut self, ord: u32, entry: &Entry, location: HitLocation) -> usize {
        let at = self.candidates.list.len();
        let count = || self.tables.iter().map(|table| table.size(entry.session)).sum();
        let size = *self.sizes.entry(entry.session).or_insert_with(count);
        self.known.insert(entry.memory, at);
        self.candidates.locations.push(location);
        self.passages.push(entry.passages);
        self.candidates.list.push(Candidate {
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
        let tables = self.tables;
        let entry = tables[found.best.segment_ord as usize].entry_of(found.best.doc_id);
        let location =
            HitLocation { passage: found.best, mask: found.mask, passage_mask: found.passage_mask };
        let at = self.push(found.best.segment_ord, entry, location);
        let candidate = &mut self.candidates.list[at];
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
                self.push(ord, &entry, HitLocation { passage, mask: 0, passage_mask: 0 })
            }
        };
        self.candidates.list[at].meaning = Some(recall::of_best(near.similarity, self.passages[at]));
        Some(at)
    }

    /// The one entry of a memory that is live and passes the filters.
    fn live(&self, memory: u64) -> Option<(u32, Entry)> {
        self.by_size.iter().find_map(|ord| {
            let allowed = &self.finder.allowed[*ord];
            let entry = self.tables[*ord].find(memory).find(|entry| allowed.has(entry.first))?;
            Some((u32::try_from(*ord).ok()?, *entry))
        })
    }

    /// Records the neighbours of a candidate in its session.
    fn link(&mut self, from: usize) {
        let known = self.sides.get_mut(from).map(std::mem::take);
        for side in known.unwrap_or_else(|| self.beside(from)) {
            for (rank, memory) in side.into_iter().enumerate() {
                if let Some(to) = self.known.get(&memory) {
                    self.candidates.links.push(Link { from, to: *to, distance: rank + 1 });
                }
            }
        }
    }

    /// The neighbours of a candidate in its session.
    fn beside(&self, of: usize) -> Sides {
        let (candidate, own) = (self.candidates.list[of], self.candidates.locations[of].passage);
        if candidate.session == 0 {
            return Sides::default();
        }
        let slot = (candidate.session, candidate.date, candidate.memory);
        let mut sides = [(), ()].map(|()| Vec::with_capacity(REACH * self.tables.len()));
        for (ord, (table, allowed)) in (0..).zip(self.tables.iter().zip(&self.finder.allowed)) {
            let take = |side: &mut Vec<Slot>, entries: &mut dyn Iterator<Item = &Entry>| {
                let near = entries.take(REACH + SKIPPED_MAX).filter(|entry| allowed.has(entry.first));
                side.extend(near.take(REACH).map(Entry::slot));
            };
            let (mut before, mut after) = table.around(slot, (ord == own.segment_ord).then_some(own.doc_id));
            take(&mut sides[0], &mut before);
            take(&mut sides[1], &mut after);
        }
        sides[0].sort_unstable_by_key(|slot| Reverse(*slot));
        sides[1].sort_unstable();
        sides.map(|side| side.into_iter().take(REACH).map(|(_, _, memory)| memory).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_are_numbered_in_their_order() {
        let found = |exact: bool, score: f32| Found {
            best: DocAddress::new(0, 0),
            score,
            mask: 0,
            passage_mask: 0,
            exact,
        };
        let scores = [f32::NEG_INFINITY, -2.0, -0.0, 0.0, f32::MIN_POSITIVE, 0.5, 7.25, f32::INFINITY];
        let all: Vec<Found> =
            [false, true].iter().flat_map(|exact| scores.map(|score| found(*exact, score))).collect();
        for (one, other) in all.iter().flat_map(|one| all.iter().map(move |other| (one, other))) {
            let order = one.exact.cmp(&other.exact).then(one.score.total_cmp(&other.score));
            assert_eq!(by_words(one).cmp(&by_words(other)), order, "{one:?} {other:?}");
        }
    }
}
