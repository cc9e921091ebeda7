//! The vectors of one place, in one block of memory.

use std::{
    cmp::{Ordering, Reverse},
    collections::{BinaryHeap, HashMap},
    num::NonZero,
    ops::Range,
    sync::OnceLock,
};

use multiversion::multiversion;
use rayon::{ThreadPool, ThreadPoolBuilder};
use rustc_hash::FxHashSet;

use super::{Change, Near, Packed};
use cerebro_core::domain::SubjectId;
use cerebro_core::relate::Likeness;

/// The first scan takes `k + k / SPARE` passages for `k` wanted subjects; it widens while too many of them belong
/// to the same subject.
const SPARE: usize = 4;
/// The number of passages from which waking a second thread pays.
const SPLIT_MIN: usize = 8_192;
/// A similarity of 1 as an integer: the 24 bits of a float's fraction.
const ONE: f32 = 16_777_216.0;

#[derive(Debug)]
struct VectorKey {
    subject: SubjectId,
    passage: u32,
}

#[derive(Debug)]
pub(super) struct Group {
    dimension: usize,
    /// The vectors, contiguous, in the order of `keys`; and the scale of each.
    numbers: Vec<i8>,
    steps: Vec<f32>,
    keys: Vec<VectorKey>,
    /// Where the passages of each subject are.
    rows: HashMap<SubjectId, Vec<usize>>,
}

impl Group {
    pub(super) fn new(dimension: usize) -> Self {
        Self { dimension, numbers: Vec::new(), steps: Vec::new(), keys: Vec::new(), rows: HashMap::new() }
    }

    pub(super) fn bytes(&self) -> usize {
        let vectors = self.numbers.capacity() + self.steps.capacity() * size_of::<f32>();
        vectors + self.keys.capacity() * size_of::<VectorKey>() * 3
    }

    /// Bytes of the vectors alone.
    pub(super) fn vector_bytes(&self) -> usize {
        self.numbers.len()
    }

    pub(super) fn has(&self, subject: &SubjectId) -> bool {
        self.rows.contains_key(subject)
    }

    pub(super) fn push(&mut self, subject: SubjectId, passage: u32, vector: &Packed) {
        if vector.dimension() != self.dimension {
            return;
        }
        self.numbers.extend_from_slice(&vector.numbers);
        self.steps.push(vector.step);
        self.rows.entry(subject).or_default().push(self.keys.len());
        self.keys.push(VectorKey { subject, passage });
    }

    pub(super) fn apply<P>(&mut self, change: Change<P>) {
        match change {
            Change::Remove(subject) | Change::Settle(subject, _) => self.remove(&subject),
            Change::Put(subject, vectors) => {
                self.remove(&subject);
                for (passage, vector) in (0..).zip(&vectors) {
                    self.push(subject, passage, vector);
                }
            }
        }
    }

    /// The likeness of a subject with these passages to every other one, by the nearest pair of passages; and the
    /// `k` most alike.
    ///
    /// Sums of integers do not depend on the order of the memories.
    pub(super) fn likeness(&self, passages: &[Packed], except: &SubjectId, k: usize) -> Likeness {
        let mut bests = vec![i32::MIN; self.keys.len()];
        for passage in passages.iter().filter(|passage| passage.dimension() == self.dimension) {
            let similarities = self.similarities(0..self.keys.len(), passage);
            for (best, similarity) in bests.iter_mut().zip(similarities) {
                *best = similarity.max(*best);
            }
        }
        let best = |rows: &Vec<usize>| rows.iter().filter_map(|row| bests.get(*row)).max().copied();
        let others = self.rows.iter().filter(|(subject, _)| *subject != except);
        let others = others.filter_map(|(subject, rows)| Some((subject, best(rows)?)));
        let (mut count, mut sum, mut squares) = (0_usize, 0_i64, 0_i128);
        // A heap with the worst on top: the lowest similarity, and the larger id among equals.
        let mut nearest = BinaryHeap::with_capacity(k + 1);
        for (subject, similarity) in others.filter(|(_, similarity)| *similarity != i32::MIN) {
            count += 1;
            sum += i64::from(similarity);
            squares += i128::from(similarity).pow(2);
            nearest.push((Reverse(similarity), subject));
            if nearest.len() > k {
                nearest.pop();
            }
        }
        let one = f64::from(ONE);
        let of = count.max(1) as f64;
        // Of n numbers, the variance is (n Σx² - (Σx)²) / n².
        let spread = i128::try_from(count).unwrap_or_default() * squares - i128::from(sum).pow(2);
        Likeness {
            count,
            mean: sum as f64 / of / one,
            deviation: (spread as f64).sqrt() / of / one,
            nearest: nearest
                .into_sorted_vec()
                .into_iter()
                .map(|(Reverse(similarity), subject)| (*subject, share(similarity)))
                .collect(),
        }
    }

    /// The similarity of each passage to a vector, in order. For many passages, a second thread computes half.
    fn similarities_at_once(&self, vector: &Packed) -> Vec<i32> {
        let count = self.keys.len();
        let Some(helpers) = (count >= SPLIT_MIN).then(helpers).flatten() else {
            return self.similarities(0..count, vector);
        };
        let (mut similarities, mut rest) = (Vec::new(), Vec::new());
        helpers.in_place_scope(|scope| {
            scope.spawn(|_| rest = self.similarities(count / 2..count, vector));
            similarities = self.similarities(0..count / 2, vector);
        });
        similarities.append(&mut rest);
        similarities
    }

    /// The similarity of a range of passages to a vector, in order.
    fn similarities(&self, rows: Range<usize>, vector: &Packed) -> Vec<i32> {
        let wide: Vec<i16> = vector.numbers.iter().map(|n| i16::from(*n)).collect();
        let numbers = &self.numbers[rows.start * self.dimension..rows.end * self.dimension];
        let products = products(numbers, self.dimension, &wide);
        #[expect(clippy::cast_possible_truncation, reason = "no cosine is far above 1")]
        let similarity = |(product, step): (i32, &f32)| (product as f32 * step * vector.step * ONE) as i32;
        products.into_iter().zip(&self.steps[rows]).map(similarity).collect()
    }

    fn remove(&mut self, subject: &SubjectId) {
        let Some(mut rows) = self.rows.remove(subject) else { return };
        // From the end, so that the row that fills the gap is never one that is removed too.
        rows.sort_unstable_by(|a, b| b.cmp(a));
        for row in rows {
            let last = self.keys.len() - 1;
            self.keys.swap_remove(row);
            self.steps.swap_remove(row);
            let from = last * self.dimension;
            self.numbers.copy_within(from..from + self.dimension, row * self.dimension);
            self.numbers.truncate(from);
            let Some(moved) = self.keys.get(row) else { continue };
            for at in self.rows.get_mut(&moved.subject).into_iter().flatten().filter(|at| **at == last) {
                *at = row;
            }
        }
    }
}

/// The threads that compute the second half, shared by all searches; `None` if the system gives none. They wait for
/// work: a woken thread goes to an idle processor, while a new one often landed on its parent's. They are separate
/// from the database's threads, which may have longer work.
fn helpers() -> Option<&'static ThreadPool> {
    static HELPERS: OnceLock<Option<ThreadPool>> = OnceLock::new();
    let made = || {
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
        let builder = ThreadPoolBuilder::new().num_threads(processors.div_ceil(2));
        builder.thread_name(|_| "compare".to_owned()).build().ok()
    };
    HELPERS.get_or_init(made).as_ref()
}

fn share(similarity: i32) -> f32 {
    (similarity as f32 / ONE).min(1.0)
}

/// The dot product of each row with a vector, by the widest instructions of the processor. See [`Packed`] for why
/// no sum overflows. The instructions multiply 16-bit numbers, so the vector is passed in that form and widened
/// only once.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl", "x86_64+avx2"))]
fn products(rows: &[i8], dimension: usize, vector: &[i16]) -> Vec<i32> {
    let mut products = Vec::with_capacity(rows.len() / dimension.max(1));
    // A loop instead of `collect`, which would not be compiled for these instructions.
    for row in rows.chunks_exact(dimension.max(1)) {
        let mut sum = 0;
        for (a, b) in row.iter().zip(vector) {
            sum += i32::from(*a) * i32::from(*b);
        }
        products.push(sum);
    }
    products
}

struct Scored<'a> {
    similarity: i32,
    key: &'a VectorKey,
}

/// Best first; a total order, because no passage occurs twice.
fn better(a: &Scored<'_>, b: &Scored<'_>) -> Ordering {
    b.similarity
        .cmp(&a.similarity)
        .then_with(|| a.key.subject.cmp(&b.key.subject))
        .then_with(|| a.key.passage.cmp(&b.key.passage))
}

pub(super) fn nearest(
    groups: &[&Group],
    query: &Packed,
    k: usize,
    is_wanted: &dyn Fn(&SubjectId) -> bool,
) -> Vec<Near> {
    let similarities: Vec<Vec<i32>> = groups.iter().map(|group| group.similarities_at_once(query)).collect();
    let mut rest: Vec<i32> = similarities.concat();
    let mut found: Vec<Near> = Vec::new();
    let mut seen: FxHashSet<SubjectId> = FxHashSet::default();
    // Passages are taken in slices of similarity: at least `floor`, below `ceiling`.
    let mut ceiling = None;
    let mut step = k.saturating_add(k / SPARE).max(64);
    while found.len() < k && !rest.is_empty() {
        let at = step.min(rest.len()) - 1;
        let floor = *rest.select_nth_unstable_by_key(at, |similarity| Reverse(*similarity)).1;
        let is_here = |similarity: i32| similarity >= floor && ceiling.is_none_or(|above| similarity < above);
        let mut slice: Vec<Scored<'_>> = Vec::with_capacity(at + 1);
        for (group, similarities) in groups.iter().zip(&similarities) {
            let here = similarities.iter().zip(&group.keys).filter(|(similarity, _)| is_here(**similarity));
            slice.extend(here.map(|(similarity, key)| Scored { similarity: *similarity, key }));
        }
        slice.sort_unstable_by(better);
        for one in slice {
            if found.len() < k && seen.insert(one.key.subject) && is_wanted(&one.key.subject) {
                found.push(Near {
                    subject: one.key.subject,
                    passage: one.key.passage,
                    similarity: share(one.similarity),
                });
            }
        }
        rest.retain(|similarity| *similarity < floor);
        ceiling = Some(floor);
        step = step.saturating_mul(4);
    }
    found
}
