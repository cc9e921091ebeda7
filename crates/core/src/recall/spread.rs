//! Neighbours raise a memory's score: the turns just before and after it, and its session.
//!
//! A turn of a conversation is rarely understood by itself; often only its neighbours show that it answers a
//! question. So each candidate lends a share of its own score to those next to it in time (the smoothing of passage
//! retrieval by adjacent passages, as in Fernández, Losada & Azzopardi, "Extending the language modeling framework
//! for sentence retrieval to include local context", 2011), and the best of a session lends a share to all of the
//! session. Shares are taken from the scores before spreading, so nothing is lent twice.

use rustc_hash::FxHashMap;

use super::Candidate;

/// How far a score spreads: this many positions before and after.
pub const REACH: usize = 2;

/// Two candidates that are close in the order of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// The candidate that lends.
    pub from: usize,
    /// The candidate that gains.
    pub to: usize,
    /// 1 for the next one.
    pub distance: usize,
}

/// The size of a session at which it lends half. In a session of thousands, which an import or a script leaves
/// behind, neighbours are neighbours by chance.
const SIZE_HALF: f32 = 500.0;

/// How much a session of this size counts as context: 1 to 0.
fn closeness(candidate: &Candidate) -> f32 {
    1.0 / (1.0 + candidate.session_size as f32 / SIZE_HALF)
}

/// What each candidate gains from its neighbours. `shares` are what they lend, the nearest first.
pub fn neighbours(
    candidates: &[Candidate],
    scores: &[f32],
    links: &[Link],
    shares: [f32; REACH],
) -> Vec<f32> {
    let mut gains = vec![0.0; scores.len()];
    // Equally good candidates lend each other nothing, so that the newer one comes first.
    let alike = |link: &Link| (scores[link.from] - scores[link.to]).abs() <= f32::EPSILON;
    for link in links.iter().filter(|link| !alike(link)) {
        let share = link.distance.checked_sub(1).and_then(|at| shares.get(at));
        gains[link.to] += share.unwrap_or(&0.0) * scores[link.from] * closeness(&candidates[link.to]);
    }
    gains
}

/// What each candidate gains from the best of its session, which lends this share.
pub fn sessions(candidates: &[Candidate], scores: &[f32], share: f32) -> Vec<f32> {
    let mut best: FxHashMap<u64, f32> = FxHashMap::default();
    for (candidate, score) in candidates.iter().zip(scores).filter(|(candidate, _)| candidate.session != 0) {
        let top = best.entry(candidate.session).or_default();
        *top = top.max(*score);
    }
    let gain = |candidate: &Candidate| best.get(&candidate.session).copied().unwrap_or_default();
    candidates.iter().map(|candidate| share * gain(candidate) * closeness(candidate)).collect()
}
