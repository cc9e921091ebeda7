//! The vectors of one project, in one block of memory.

use std::{
    cmp::Ordering,
    collections::{HashMap, HashSet},
};

use super::{Change, Near, ONE, Packed};
use crate::domain::MemoryId;

/// How many passages are looked at first for each memory that is wanted; more where many belong together.
const DEPTH: usize = 4;

#[derive(Debug)]
struct Place {
    memory: MemoryId,
    passage: u32,
}

#[derive(Debug)]
pub(super) struct Group {
    dimension: usize,
    /// The vectors, one behind the other, in the order of `places`.
    numbers: Vec<i16>,
    places: Vec<Place>,
    /// Where the passages of each memory are.
    rows: HashMap<MemoryId, Vec<usize>>,
}

impl Group {
    pub(super) fn new(dimension: usize) -> Self {
        Self { dimension, numbers: Vec::new(), places: Vec::new(), rows: HashMap::new() }
    }

    pub(super) fn bytes(&self) -> usize {
        self.numbers.capacity() * size_of::<i16>() + self.places.capacity() * size_of::<Place>() * 3
    }

    pub(super) fn has(&self, memory: &MemoryId) -> bool {
        self.rows.contains_key(memory)
    }

    pub(super) fn push(&mut self, memory: MemoryId, passage: u32, vector: &Packed) {
        if vector.dimension() != self.dimension {
            return;
        }
        self.numbers.extend_from_slice(&vector.0);
        self.rows.entry(memory.clone()).or_default().push(self.places.len());
        self.places.push(Place { memory, passage });
    }

    pub(super) fn apply(&mut self, change: Change) {
        match change {
            Change::Remove(memory) => self.remove(&memory),
            Change::Put(memory, vectors) => {
                self.remove(&memory);
                for (passage, vector) in (0..).zip(&vectors) {
                    self.push(memory.clone(), passage, vector);
                }
            }
        }
    }

    fn remove(&mut self, memory: &MemoryId) {
        let Some(mut rows) = self.rows.remove(memory) else { return };
        // From the end, so that the row that fills the gap is never one that goes too.
        rows.sort_unstable_by(|a, b| b.cmp(a));
        for row in rows {
            let last = self.places.len() - 1;
            self.places.swap_remove(row);
            let from = last * self.dimension;
            self.numbers.copy_within(from..from + self.dimension, row * self.dimension);
            self.numbers.truncate(from);
            let Some(moved) = self.places.get(row) else { continue };
            for at in self.rows.get_mut(&moved.memory).into_iter().flatten().filter(|at| **at == last) {
                *at = row;
            }
        }
    }
}

/// The sum of the products; see [`Packed`] for why it does not overflow.
fn product(a: &[i16], b: &[i16]) -> i32 {
    a.iter().zip(b).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum()
}

struct Scored<'a> {
    product: i32,
    place: &'a Place,
}

/// The better first; a total order, because no passage is there twice.
fn better(a: &Scored<'_>, b: &Scored<'_>) -> Ordering {
    b.product
        .cmp(&a.product)
        .then_with(|| a.place.memory.cmp(&b.place.memory))
        .then_with(|| a.place.passage.cmp(&b.place.passage))
}

pub(super) fn nearest(
    groups: &[&Group],
    query: &Packed,
    k: usize,
    keep: &dyn Fn(&MemoryId) -> bool,
) -> Vec<Near> {
    let mut scored: Vec<Scored<'_>> = Vec::with_capacity(groups.iter().map(|group| group.places.len()).sum());
    for group in groups {
        let rows = group.numbers.chunks_exact(group.dimension.max(1));
        scored.extend(
            rows.zip(&group.places).map(|(row, place)| Scored { product: product(row, &query.0), place }),
        );
    }
    let mut found: Vec<Near> = Vec::new();
    let mut seen: HashSet<&MemoryId> = HashSet::new();
    let mut rest = scored.as_mut_slice();
    let mut step = k.saturating_mul(DEPTH).max(64);
    while found.len() < k && !rest.is_empty() {
        step = step.min(rest.len());
        if step < rest.len() {
            rest.select_nth_unstable_by(step, better);
        }
        let (head, tail) = std::mem::take(&mut rest).split_at_mut(step);
        head.sort_unstable_by(better);
        for one in head.iter() {
            if found.len() < k && seen.insert(&one.place.memory) && keep(&one.place.memory) {
                found.push(Near {
                    memory: one.place.memory.clone(),
                    passage: one.place.passage,
                    similarity: (one.product as f32 / (ONE * ONE)).min(1.0),
                });
            }
        }
        rest = tail;
        step = step.saturating_mul(4);
    }
    found
}
