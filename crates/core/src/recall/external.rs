//! Signals from outside the texts: whether a memory was useful before, and what it is related to. Both have no
//! weight by default; `docs/recall.md` has the measurements.

use std::collections::HashMap;

use rustc_hash::FxHashMap;

use super::Candidate;

/// The most that relations add, as a share of the best score, at a weight of 1.
const RELATED_MAX: f32 = 1.0;

/// The signals of the searched memories, by their numbers. Empty where they have no weight.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ExternalSignals {
    /// How useful each was: above 0, below 1.
    pub uses: HashMap<u64, f32>,
    /// The relations of each, with their strength: above 0, at most 1. Each relation is listed at both its ends.
    pub relations: HashMap<u64, Vec<(u64, f32)>>,
}

/// What each candidate gains because it was useful before: at most this share of its own score.
pub fn used(candidates: &[Candidate], scores: &[f32], signals: &ExternalSignals, share: f32) -> Vec<f32> {
    if share <= 0.0 || signals.uses.is_empty() {
        return vec![0.0; scores.len()];
    }
    let gain = |(candidate, score): (&Candidate, &f32)| {
        share * score * signals.uses.get(&candidate.memory).copied().unwrap_or_default()
    };
    candidates.iter().zip(scores).map(gain).collect()
}

/// What each candidate gains from related candidates. Each lends this share of its score, divided among all its
/// relations, and the gain is at most that share of the best score.
///
/// Scores spread one step, and only among the candidates (spreading activation as in Crestani, "Application of
/// spreading activation techniques in information retrieval", 1997), and the bound keeps a memory with many
/// relations from outweighing the others.
pub fn related(candidates: &[Candidate], scores: &[f32], signals: &ExternalSignals, share: f32) -> Vec<f32> {
    let mut gains = vec![0.0; scores.len()];
    if share <= 0.0 || signals.relations.is_empty() {
        return gains;
    }
    let positions: FxHashMap<u64, usize> =
        candidates.iter().enumerate().map(|(at, candidate)| (candidate.memory, at)).collect();
    for (from, candidate) in candidates.iter().enumerate() {
        let Some(relations) = signals.relations.get(&candidate.memory) else { continue };
        let lent = share * scores[from] / relations.len() as f32;
        for (to, strength) in relations {
            if let Some(to) = positions.get(to).filter(|to| **to != from) {
                gains[*to] += lent * strength;
            }
        }
    }
    let most = share * RELATED_MAX * scores.iter().copied().fold(0.0, f32::max);
    for gain in &mut gains {
        *gain = gain.min(most);
    }
    gains
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(memory: u64) -> Candidate {
        Candidate {
            memory,
            date: 0,
            session: 0,
            session_size: 0,
            words: 0.0,
            meaning: None,
            exact: false,
            named: false,
        }
    }

    #[test]
    fn relations_lend_by_degree_and_no_more_than_their_share() {
        let all = [candidate(1), candidate(2), candidate(3)];
        let ties = |to: &[u64]| to.iter().map(|to| (*to, 1.0)).collect::<Vec<_>>();
        let signals = ExternalSignals {
            uses: HashMap::new(),
            relations: HashMap::from([(1, ties(&[2, 9])), (2, ties(&[1])), (9, ties(&[1]))]),
        };
        let gains = related(&all, &[1.0, 0.2, 0.1], &signals, 0.1);
        // A related memory that is no candidate still takes its share.
        assert!((gains[1] - 0.05).abs() < 1e-6 && (gains[0] - 0.02).abs() < 1e-6, "{gains:?}");
        assert_eq!(gains[2].to_bits(), 0.0_f32.to_bits());
        assert_eq!(related(&all, &[1.0, 0.2, 0.1], &signals, 0.0), [0.0; 3]);
        let many = ExternalSignals {
            relations: (2..40).map(|n| (n, ties(&[1]))).collect(),
            ..ExternalSignals::default()
        };
        let all: Vec<Candidate> = (1..40).map(candidate).collect();
        let gains = related(&all, &vec![1.0; all.len()], &many, 0.1);
        assert!((gains[0] - 0.1).abs() < 1e-6, "{}", gains[0]);
    }

    #[test]
    fn a_useful_memory_gains_a_share_of_its_own_score() {
        let signals = ExternalSignals { uses: HashMap::from([(2, 0.5)]), relations: HashMap::new() };
        let gains = used(&[candidate(1), candidate(2)], &[1.0, 0.4], &signals, 0.03);
        assert!((gains[1] - 0.006).abs() < 1e-6 && gains[0] == 0.0, "{gains:?}");
        assert_eq!(used(&[candidate(2)], &[1.0], &signals, 0.0), [0.0]);
    }
}
