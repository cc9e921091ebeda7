//! Ranking: which memories answer a question. Merges two legs (words and vectors) and the context into one list.
//!
//! Everything here is a pure function over candidates. `docs/recall.md` explains it with measurements; start at
//! [`rank`].

mod external;
mod fusion;
mod spread;
mod verdict;
mod weights;

pub use external::ExternalSignals;
pub use fusion::{Distribution, rank};
pub use spread::{Link, REACH};
pub use verdict::{Match, MatchFigures};
pub use weights::{Signal, Weights};

/// How strongly the logarithm of the number of passages lowers a memory's score.
const PASSAGES_PENALTY: f32 = 0.2;

/// The score of a memory from the best of its passages, lowered for many passages: the best of many is better by
/// chance.
pub fn of_best(score: f32, passages: u32) -> f32 {
    // Most memories have one passage, and the logarithm would take most of the time.
    if passages <= 1 { score } else { score / (1.0 + PASSAGES_PENALTY * (passages as f32).ln()) }
}

/// A memory that may answer the question.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// Its id as a number, which breaks the last ties.
    pub memory: u64,
    /// When it was written, in microseconds since 1970. Of two equal candidates the newer one comes first.
    pub date: i64,
    /// Its session; 0 without one.
    pub session: u64,
    /// How many memories its session has.
    pub session_size: usize,
    /// The score of its words (BM25F); 0 when it contains no word of the question.
    pub words: f32,
    /// The cosine of its nearest passage, reduced for many passages ([`of_best`]). `None` when it was not among
    /// the nearest.
    pub meaning: Option<f32>,
    /// Whether the question is its title or topic key.
    pub exact: bool,
    /// Whether a name in the question is at its head.
    pub named: bool,
}

/// The parts that add up to a score.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Parts {
    pub words: f32,
    pub meaning: f32,
    /// The memories just before and after it in its session.
    pub neighbours: f32,
    /// The best memory of its session.
    pub session: f32,
    /// A name at its head.
    pub name: f32,
    /// Earlier use.
    pub used: f32,
    /// Related memories.
    pub related: f32,
}

impl Parts {
    /// The score.
    pub fn sum(&self) -> f32 {
        self.words + self.meaning + self.neighbours + self.session + self.name + self.used + self.related
    }
}

/// A candidate at its place in the list.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ranked {
    /// The index of the candidate.
    pub at: usize,
    /// Its score; comparable within one answer only.
    pub score: f32,
    /// The parts of the score.
    pub parts: Parts,
}

#[cfg(test)]
mod tests {
    use super::of_best;

    #[test]
    fn the_best_of_many_passages_counts_less() {
        assert_eq!(of_best(1.0, 1).to_bits(), 1.0f32.to_bits());
        assert_eq!(of_best(1.0, 0).to_bits(), 1.0f32.to_bits());
        assert!(of_best(1.0, 3) < of_best(1.0, 2));
    }
}
