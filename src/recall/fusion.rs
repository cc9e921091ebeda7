//! One score from words and meaning.
//!
//! Ranks forget by how much one candidate is better than the next, which is why their fusion (RRF) falls
//! behind the better leg where the legs are unlike. Scores keep it: each leg is measured against its own
//! best candidate, and the two are added (the convex combination of Bruch, Gai & Ingber, "An analysis of
//! fusion functions for hybrid retrieval", 2023). Words begin at 0, where none is held. A cosine has no such
//! zero, and each model its own range, so that meaning is measured in standard deviations above the mean of
//! the nearest: one that stands out from its kind counts for more than one among many.

use super::{Candidate, Link, Parts, Ranked, spread};

/// What the words weigh beside the meaning, where both are known.
const WORDS_WEIGHT: f32 = 0.4;
/// What a person of the question at the head of a memory adds, as a share of the weight of words.
const NAME_SHARE: f32 = 0.6;
/// Standard deviations above the mean at which a meaning counts whole: the best of some hundreds of unlike
/// memories is about there by chance alone.
const DEVIATIONS: f32 = 4.0;

/// The best of a leg; 1 where there is none.
fn best(scores: impl Iterator<Item = f32>) -> f32 {
    let best = scores.fold(0.0, f32::max);
    if best > 0.0 { best } else { 1.0 }
}

/// What is usual among similarities: their mean and standard deviation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Usual {
    pub mean: f32,
    pub deviation: f32,
}

impl Usual {
    /// Of the nearest, as many as there are.
    pub fn of(similarities: &[f32]) -> Self {
        let count = similarities.len().max(1) as f32;
        let mean = similarities.iter().sum::<f32>() / count;
        let square = similarities.iter().map(|s| (s - mean) * (s - mean)).sum::<f32>() / count;
        Self { mean, deviation: square.sqrt() }
    }

    /// How far a similarity stands out, 0 for the mean and below, 1 at [`DEVIATIONS`].
    fn height(self, similarity: f32) -> f32 {
        if self.deviation <= f32::EPSILON {
            return if similarity > 0.0 { 1.0 } else { 0.0 };
        }
        ((similarity - self.mean) / self.deviation / DEVIATIONS).max(0.0)
    }
}

/// All candidates in order: those that the question names as a whole, then by score, the newer first, then
/// by memory.
pub fn rank(candidates: &[Candidate], links: &[Link], usual: Option<Usual>) -> Vec<Ranked> {
    let words_best = best(candidates.iter().map(|c| c.words));
    let words_weight = if usual.is_some() { WORDS_WEIGHT } else { 1.0 };
    let meaning = |similarity: Option<f32>| {
        let height = usual.zip(similarity).map(|(usual, similarity)| usual.height(similarity));
        (1.0 - words_weight) * height.unwrap_or_default()
    };
    let mut parts: Vec<Parts> = candidates
        .iter()
        .map(|candidate| Parts {
            words: words_weight * candidate.words / words_best,
            meaning: meaning(candidate.meaning),
            name: if candidate.named { NAME_SHARE * words_weight } else { 0.0 },
            ..Parts::default()
        })
        .collect();
    let own: Vec<f32> = parts.iter().map(|parts| parts.words + parts.meaning).collect();
    let lent =
        spread::neighbours(candidates, &own, links).into_iter().zip(spread::sessions(candidates, &own));
    for (parts, (neighbours, session)) in parts.iter_mut().zip(lent) {
        (parts.neighbours, parts.session) = (neighbours, session);
    }
    let mut ranked: Vec<Ranked> =
        parts.into_iter().enumerate().map(|(at, parts)| Ranked { at, score: parts.sum(), parts }).collect();
    let of = |ranked: &Ranked| &candidates[ranked.at];
    ranked.sort_unstable_by(|a, b| {
        let (x, y) = (of(a), of(b));
        y.exact
            .cmp(&x.exact)
            .then(b.score.total_cmp(&a.score))
            .then(y.date.cmp(&x.date))
            .then(x.memory.cmp(&y.memory))
    });
    ranked
}
