//! Exact nearest-vector search, in memory. The vectors of a place are loaded when they are first needed.
//!
//! A vector is kept as 8-bit integers, scaled so that its largest number is 127. That is a quarter of the size of
//! floats, and comparing thousands of vectors is limited by memory bandwidth. Similarities differ from those of
//! floats by some ten-thousandths, less than models differ. Sums of integers are the same on every machine and in
//! every order, so ties are true ties.

mod group;
#[cfg(test)]
mod tests;

use std::{collections::HashMap, hash::Hash};

use group::Group;

use cerebro_core::domain::SubjectId;
use cerebro_core::relate::Likeness;

/// The integer that a vector's largest number becomes.
const LARGEST: f32 = 127.0;

/// A vector in the form in which it is compared: 8-bit integers and their scale.
///
/// No sum of products of two of them leaves 32 bits below 130,000 dimensions.
#[derive(Debug, Clone, PartialEq)]
pub struct Packed {
    numbers: Vec<i8>,
    /// The integer length that corresponds to 1.
    step: f32,
}

impl Packed {
    /// Packs a vector of any length. A zero vector stays zero and is similar to nothing.
    pub fn new(vector: &[f32]) -> Self {
        let largest = vector.iter().fold(0.0_f32, |largest, x| largest.max(x.abs()));
        let scale = if largest > 0.0 { LARGEST / largest } else { 0.0 };
        #[expect(clippy::cast_possible_truncation, reason = "the cast saturates, and no number is above 127")]
        let numbers: Vec<i8> = vector.iter().map(|x| (x * scale).round() as i8).collect();
        let square: i32 = numbers.iter().map(|n| i32::from(*n).pow(2)).sum();
        let step = if square > 0 { 1.0 / (square as f32).sqrt() } else { 0.0 };
        Self { numbers, step }
    }

    /// The number of dimensions.
    pub fn dimension(&self) -> usize {
        self.numbers.len()
    }
}

/// A passage of a subject that is near to the query.
#[derive(Debug, Clone, PartialEq)]
pub struct Near {
    pub subject: SubjectId,
    /// The number of its nearest passage, from 0.
    pub passage: u32,
    /// The cosine of the angle between both, at most 1.
    pub similarity: f32,
}

/// What happened to the vectors of a subject.
#[derive(Debug, Clone)]
enum Change<P> {
    Put(SubjectId, Vec<Packed>),
    Remove(SubjectId),
    /// It is live, and moved to another place.
    Settle(SubjectId, P),
}

#[derive(Debug)]
enum Slot<P> {
    /// Being read from the store; changes made meanwhile are applied afterwards.
    Loading(Vec<Change<P>>),
    Loaded(Group),
}

/// The vectors of one model, by place: those of memories by their scope.
#[derive(Debug)]
pub struct Space<P> {
    dimension: usize,
    place_max: usize,
    bytes_max: usize,
    slots: HashMap<P, Slot<P>>,
    /// The places in order of use, the last used at the end.
    used: Vec<P>,
}

impl<P: Clone + Eq + Hash> Space<P> {
    /// An empty space for vectors with `dimension` numbers. It drops a place whose vectors exceed `place_max`
    /// bytes, and the least recently used places beyond `bytes_max` in total.
    pub fn new(dimension: usize, place_max: usize, bytes_max: usize) -> Self {
        Self { dimension, place_max, bytes_max, slots: HashMap::new(), used: Vec::new() }
    }

    /// The number of dimensions of its vectors.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// Bytes of the vectors it holds.
    pub fn bytes(&self) -> usize {
        self.slots.values().map(|slot| if let Slot::Loaded(group) = slot { group.bytes() } else { 0 }).sum()
    }

    /// Whether a place is loaded.
    pub fn holds(&self, place: &P) -> bool {
        matches!(self.slots.get(place), Some(Slot::Loaded(_)))
    }

    /// Begins to load a place: from now on, changes to it must be reported.
    pub fn begin(&mut self, place: &P) {
        self.slots.insert(place.clone(), Slot::Loading(Vec::new()));
    }

    /// Ends loading a place with its rows, none of which was read before [`Self::begin`].
    pub fn fill(&mut self, place: &P, rows: Vec<(SubjectId, u32, Packed)>) {
        let Some(Slot::Loading(changes)) = self.slots.remove(place) else { return };
        let mut group = Group::new(self.dimension);
        for (subject, passage, vector) in rows {
            group.push(subject, passage, &vector);
        }
        let mut moved = Vec::new();
        for change in changes {
            if let Change::Settle(subject, to) = &change
                && group.has(subject)
            {
                moved.push((*subject, to.clone()));
            }
            group.apply(change);
        }
        self.slots.insert(place.clone(), Slot::Loaded(group));
        self.touch(place);
        for (subject, to) in moved {
            self.forget_without(&subject, &to);
        }
        self.shrink();
    }

    /// Drops a place; it is loaded again when it is next needed.
    pub fn forget(&mut self, place: &P) {
        self.slots.remove(place);
        self.used.retain(|used| used != place);
    }

    /// Replaces the vectors of a subject, which belongs to `place` and no other.
    pub fn put(&mut self, place: &P, subject: &SubjectId, vectors: Vec<Packed>) {
        for (other, slot) in &mut self.slots {
            if other != place {
                slot.change(Change::Remove(*subject));
            }
        }
        if let Some(slot) = self.slots.get_mut(place) {
            slot.change(Change::Put(*subject, vectors));
        }
        self.shrink();
    }

    /// Removes the vectors of a subject.
    pub fn remove(&mut self, subject: &SubjectId) {
        for slot in self.slots.values_mut() {
            slot.change(Change::Remove(*subject));
        }
    }

    /// Makes sure that a live subject is held in its place and in no other. If its vectors are not at hand, the
    /// place is dropped, to be loaded again.
    pub fn settle(&mut self, subject: &SubjectId, place: &P) {
        let mut moved = false;
        for (_, slot) in self.slots.iter_mut().filter(|(other, _)| *other != place) {
            match slot {
                Slot::Loaded(group) => {
                    moved |= group.has(subject);
                    group.apply(Change::<P>::Remove(*subject));
                }
                // Whether it had vectors there is known only when that place is loaded.
                Slot::Loading(changes) => changes.push(Change::Settle(*subject, place.clone())),
            }
        }
        if moved {
            self.forget_without(subject, place);
        }
    }

    /// Drops a place whose vectors were read, or are being read, without those of a subject that moved to it.
    fn forget_without(&mut self, subject: &SubjectId, place: &P) {
        if !matches!(self.slots.get(place), Some(Slot::Loaded(group)) if group.has(subject)) {
            self.forget(place);
        }
    }

    /// The nearest `k` memories of the places that `is_wanted` lets through, each with its nearest passage,
    /// the nearest first; of equals the one with the smaller id. `None` when a place is not loaded.
    pub fn nearest(
        &self,
        places: &[P],
        query: &Packed,
        k: usize,
        is_wanted: &dyn Fn(&SubjectId) -> bool,
    ) -> Option<Vec<Near>> {
        let mut groups = Vec::with_capacity(places.len());
        for place in places {
            let Some(Slot::Loaded(group)) = self.slots.get(place) else { return None };
            groups.push(group);
        }
        if query.dimension() != self.dimension {
            return Some(Vec::new());
        }
        Some(group::nearest(&groups, query, k, is_wanted))
    }

    /// The likeness of a subject with these passages to every other one of a place, and the `k` most alike; among
    /// equals, those with the smaller id. `None` when the place is not loaded.
    pub fn likeness(&self, place: &P, passages: &[Packed], except: &SubjectId, k: usize) -> Option<Likeness> {
        let Some(Slot::Loaded(group)) = self.slots.get(place) else { return None };
        Some(group.likeness(passages, except, k))
    }

    /// Records that a place was used just now.
    pub fn touch(&mut self, place: &P) {
        if !self.slots.contains_key(place) {
            return;
        }
        self.used.retain(|used| used != place);
        self.used.push(place.clone());
    }

    fn shrink(&mut self) {
        let (slots, max) = (&mut self.slots, self.place_max);
        slots.retain(|_, slot| !matches!(slot, Slot::Loaded(group) if group.vector_bytes() > max));
        self.used.retain(|used| slots.contains_key(used));
        while self.bytes() > self.bytes_max && self.used.len() > 1 {
            let oldest = self.used.remove(0);
            self.slots.remove(&oldest);
        }
    }
}

impl<P> Slot<P> {
    fn change(&mut self, change: Change<P>) {
        match self {
            Self::Loading(changes) => changes.push(change),
            Self::Loaded(group) => group.apply(change),
        }
    }
}
