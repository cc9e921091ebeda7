//! What lies beside the texts and may speak for a memory: that it was of use before, and what it is related to. Both weigh
//! nothing by default: `docs/recall.md` has what was measured.

use std::collections::HashMap;

use rustc_hash::FxHashMap;

use super::Candidate;

/// Most of the best score that relations give a candidate, at a weight of 1.
const RELATED_MAX: f32 = 1.0;

/// What is known beside the texts of the memories that are searched, by their numbers. Empty where it weighs nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Beside {
    /// How much each was of use: above 0, below 1.
    pub uses: HashMap<u64, f32>,
    /// What each is related to, and how strongly: above 0, at most 1. Each relation stands at both its ends.
    pub relations: HashMap<u64, Vec<(u64, f32)>>,
}

/// What each candidate gains because it was of use: this share of its own score, at most.
pub fn used(candidates: &[Candidate], scores: &[f32], beside: &Beside, share: f32) -> Vec<f32> {
    if share <= 0.0 || beside.uses.is_empty() {
        return vec![0.0; scores.len()];
    }
    let gain = |(candidate, score): (&Candidate, &f32)| {
        share * score * beside.uses.get(&candidate.memory).copied().unwrap_or_default()
    };
    candidates.iter().zip(scores).map(gain).collect()
}

/// What each candidate gains from others that it is related to: each lends this share of its score, divided among all that
/// it is related to, and the whole is at most that share of the best.
///
/// One step only, and only among the candidates (spreading activation as in Crestani, "Application of spreading activation
/// techniques in information retrieval", 1997, bounded so that what has many relations speaks no louder).
pub fn related(candidates: &[Candidate], scores: &[f32], beside: &Beside, share: f32) -> Vec<f32> {
    let mut gains = vec![0.0; scores.len()];
    if share <= 0.0 || beside.relations.is_empty() {
        return gains;
    }
    let places: FxHashMap<u64, usize> =
        candidates.iter().enumerate().map(|(at, candidate)| (candidate.memory, at)).collect();
    for (from, candidate) in candidates.iter().enumerate() {
        let Some(relations) = beside.relations.get(&candidate.memory) else { continue };
        let lent = share * scores[from] / relations.len() as f32;
        for (to, strength) in relations {
            if let Some(to) = places.get(to).filter(|to| **to != from) {
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
        let beside = Beside {
            uses: HashMap::new(),
            relations: HashMap::from([(1, ties(&[2, 9])), (2, ties(&[1])), (9, ties(&[1]))]),
        };
        let gains = related(&all, &[1.0, 0.2, 0.1], &beside, 0.1);
        // What it is related to that is no candidate takes its part of what is lent.
        assert!((gains[1] - 0.05).abs() < 1e-6 && (gains[0] - 0.02).abs() < 1e-6, "{gains:?}");
        assert_eq!(gains[2].to_bits(), 0.0_f32.to_bits());
        assert_eq!(related(&all, &[1.0, 0.2, 0.1], &beside, 0.0), [0.0; 3]);
        let many = Beside { relations: (2..40).map(|n| (n, ties(&[1]))).collect(), ..Beside::default() };
        let all: Vec<Candidate> = (1..40).map(candidate).collect();
        let gains = related(&all, &vec![1.0; all.len()], &many, 0.1);
        assert!((gains[0] - 0.1).abs() < 1e-6, "{}", gains[0]);
    }

    #[test]
    fn what_was_of_use_gains_a_share_of_its_own_score() {
        let beside = Beside { uses: HashMap::from([(2, 0.5)]), relations: HashMap::new() };
        let gains = used(&[candidate(1), candidate(2)], &[1.0, 0.4], &beside, 0.03);
        assert!((gains[1] - 0.006).abs() < 1e-6 && gains[0] == 0.0, "{gains:?}");
        assert_eq!(used(&[candidate(2)], &[1.0], &beside, 0.0), [0.0]);
    }
}
