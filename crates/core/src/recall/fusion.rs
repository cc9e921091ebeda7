//! Fuses words and meaning into one score.
//!
//! Ranks lose how much better one candidate is than the next, so reciprocal rank fusion (RRF) falls behind the
//! better leg where the two differ. Scores keep it (the convex combination of Bruch, Gai & Ingber, "An analysis
//! of fusion functions for hybrid retrieval", 2023), but each leg has its own scale. So both are measured in
//! standard deviations above the mean of the candidates: a leg in which one candidate stands out counts for more
//! than one in which many are alike, without knowing beforehand which leg suits a question.

use super::{Candidate, ExternalSignals, Link, Parts, Ranked, Weights, external, spread};

/// Standard deviations above the mean at which a candidate counts in full: the best of some hundred unrelated
/// memories reaches about that by chance.
const DEVIATIONS: f32 = 4.0;
/// The own and lent score without the name from which a name at the head counts in full. A name alone says whose
/// memory it is, not that it answers.
const NAME_SURE: f32 = 0.8;

/// The best score of a leg; 1 if there is none.
fn best(scores: impl Iterator<Item = f32>) -> f32 {
    let best = scores.fold(0.0, f32::max);
    if best > 0.0 { best } else { 1.0 }
}

/// Mean and standard deviation of a leg's scores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Distribution {
    pub mean: f32,
    pub deviation: f32,
}

impl Distribution {
    /// Computes both from these scores.
    pub fn of(scores: &[f32]) -> Self {
        let count = scores.len().max(1) as f32;
        let mean = scores.iter().sum::<f32>() / count;
        let square = scores.iter().map(|s| (s - mean) * (s - mean)).sum::<f32>() / count;
        Self { mean, deviation: square.sqrt() }
    }

    /// Where a similarity lies between the mean (0) and identical text (1).
    pub fn share(self, similarity: f32) -> f32 {
        ((similarity - self.mean) / (1.0 - self.mean).max(f32::EPSILON)).clamp(0.0, 1.0)
    }

    /// The z-score, scaled: 0 at the mean and below, 1 at [`DEVIATIONS`].
    fn z_score(self, score: f32) -> f32 {
        if self.deviation <= f32::EPSILON {
            return if score > 0.0 { 1.0 } else { 0.0 };
        }
        ((score - self.mean) / self.deviation / DEVIATIONS).max(0.0)
    }
}

/// The score of each candidate by words and vector alone; those of the best candidate add up to 1.
///
/// Without a model, words count as a share of the best. The vector's z-score is squared: cosines lie close
/// together, and only those that stand out far are significant.
fn own(candidates: &[Candidate], usual: Option<Distribution>, weights: &Weights) -> Vec<(f32, f32)> {
    let words: Vec<f32> = candidates.iter().map(|c| c.words).collect();
    let raw: Vec<(f32, f32)> = match usual.filter(|_| weights.meaning > 0.0) {
        None => words.iter().map(|words| (*words, 0.0)).collect(),
        Some(usual) => {
            let usual_words = Distribution::of(&words);
            let of = |candidate: &Candidate| {
                let meaning = candidate.meaning.map_or(0.0, |similarity| usual.z_score(similarity));
                (weights.words * usual_words.z_score(candidate.words), weights.meaning * meaning * meaning)
            };
            candidates.iter().map(of).collect()
        }
    };
    let best = best(raw.iter().map(|(words, meaning)| words + meaning));
    raw.into_iter().map(|(words, meaning)| (words / best, meaning / best)).collect()
}

/// Orders the candidates: first those whose title or topic key is the question, then by score. Ties go to the
/// better words, the nearer vector, the newer memory, then the lower id. All are returned; only the first `ordered` are in
/// order.
pub fn rank(
    candidates: &[Candidate],
    links: &[Link],
    usual: Option<Distribution>,
    weights: &Weights,
    signals: &ExternalSignals,
    ordered: usize,
) -> Vec<Ranked> {
    let own = own(candidates, usual, weights);
    let sums: Vec<f32> = own.iter().map(|(words, meaning)| words + meaning).collect();
    let neighbours = spread::neighbours(candidates, &sums, links, weights.neighbours);
    let sessions = spread::sessions(candidates, &sums, weights.session);
    let used = external::used(candidates, &sums, signals, weights.used);
    let related = external::related(candidates, &sums, signals, weights.related);
    let mut ranked: Vec<Ranked> = (0..candidates.len())
        .map(|at| {
            let (words, meaning) = own[at];
            let score = sums[at] + neighbours[at] + sessions[at];
            let name = if candidates[at].named { (score / NAME_SURE).min(1.0) } else { 0.0 };
            let parts = Parts {
                words,
                meaning,
                neighbours: neighbours[at],
                session: sessions[at],
                name: weights.name * name,
                used: used[at],
                related: related[at],
            };
            Ranked { at, score: parts.sum(), parts }
        })
        .collect();
    let order = |a: &Ranked, b: &Ranked| {
        let (x, y) = (&candidates[a.at], &candidates[b.at]);
        y.exact
            .cmp(&x.exact)
            .then(b.score.total_cmp(&a.score))
            .then(y.words.total_cmp(&x.words))
            .then(y.meaning.unwrap_or(-1.0).total_cmp(&x.meaning.unwrap_or(-1.0)))
            .then(y.date.cmp(&x.date))
            .then(x.memory.cmp(&y.memory))
    };
    let ordered = ordered.min(ranked.len());
    if ordered < ranked.len() {
        ranked.select_nth_unstable_by(ordered, order);
    }
    ranked[..ordered].sort_unstable_by(order);
    ranked
}

#[cfg(test)]
mod tests {
    use super::super::Signal;
    use super::*;

    fn candidate(memory: u64, words: f32, meaning: Option<f32>) -> Candidate {
        Candidate {
            memory,
            date: 0,
            session: 1,
            session_size: 10,
            words,
            meaning,
            exact: false,
            named: false,
        }
    }

    fn order(candidates: &[Candidate], links: &[Link], usual: Option<Distribution>) -> Vec<u64> {
        rank(candidates, links, usual, &Weights::default(), &ExternalSignals::default(), candidates.len())
            .iter()
            .map(|ranked| candidates[ranked.at].memory)
            .collect()
    }

    #[test]
    fn both_legs_count_and_ties_are_settled() {
        let usual = Some(Distribution { mean: 0.1, deviation: 0.1 });
        let all = [
            candidate(3, 9.0, None),
            candidate(2, 8.0, Some(0.5)),
            candidate(1, 0.0, Some(0.1)),
            candidate(5, 0.0, Some(0.1)),
        ];
        // Neither 1 nor 5 stands out: they tie, and the lower id comes first.
        assert_eq!(order(&all, &[], usual), [2, 3, 1, 5]);
        let mut named = all;
        named[2].exact = true;
        named[3].date = 1;
        assert_eq!(order(&named, &[], usual), [1, 2, 3, 5]);
        assert_eq!(order(&[], &[], None), [0; 0]);
    }

    #[test]
    fn the_first_are_in_the_same_order_however_many_are_asked_for() {
        let all: Vec<Candidate> =
            (0..300).map(|n| candidate(n, (n * 7 % 40) as f32, (n % 3 == 0).then_some(0.3))).collect();
        let ranked =
            |ordered| rank(&all, &[], None, &Weights::default(), &ExternalSignals::default(), ordered);
        let whole = ranked(all.len());
        for ordered in [0, 1, 10, 299, 300, 1_000] {
            let some = ranked(ordered);
            let first = ordered.min(all.len());
            assert_eq!((some.len(), &some[..first]), (whole.len(), &whole[..first]));
        }
    }

    #[test]
    fn a_neighbour_of_the_best_comes_before_a_stranger() {
        let all = [candidate(1, 9.0, None), candidate(2, 1.0, None), candidate(3, 1.5, None)];
        assert_eq!(order(&all, &[], None), [1, 3, 2]);
        assert_eq!(order(&all, &[Link { from: 0, to: 1, distance: 1 }], None), [1, 2, 3]);
        let far = all.map(|candidate| Candidate { session_size: 100_000, ..candidate });
        assert_eq!(order(&far, &[Link { from: 0, to: 1, distance: 1 }], None), [1, 3, 2]);
    }

    /// The best candidate if one stands out in words and another in meaning.
    fn winner(words: [f32; 2], meaning: [f32; 2]) -> u64 {
        let mut all: Vec<Candidate> = (10..60).map(|id| candidate(id, 4.0, Some(0.2))).collect();
        // Some of the many differ, so that there is something usual.
        all.iter_mut().step_by(2).for_each(|c| (c.words, c.meaning) = (5.0, Some(0.25)));
        all.push(candidate(1, words[0], Some(words[1])));
        all.push(candidate(2, meaning[0], Some(meaning[1])));
        let similarities: Vec<f32> = all.iter().filter_map(|c| c.meaning).collect();
        order(&all, &[], Some(Distribution::of(&similarities)))[0]
    }

    #[test]
    fn the_leg_in_which_one_stands_out_decides() {
        assert_eq!(winner([20.0, 0.2], [4.0, 0.3]), 1);
        assert_eq!(winner([6.0, 0.2], [4.0, 0.8]), 2);
    }

    #[test]
    fn a_name_counts_with_what_else_supports_a_memory() {
        let mut all = [candidate(1, 9.0, None), candidate(2, 7.0, None), candidate(3, 0.1, None)];
        all[1].named = true;
        all[2].named = true;
        assert_eq!(order(&all, &[], None), [2, 1, 3]);
        let ranked = rank(
            &all,
            &[],
            None,
            &Weights::default().without(Signal::Opening),
            &ExternalSignals::default(),
            3,
        );
        assert_eq!(ranked.iter().map(|ranked| ranked.at).collect::<Vec<_>>(), [0, 1, 2]);
    }

    #[test]
    fn one_that_does_not_stand_out_is_ranked_by_its_words() {
        let all = [candidate(1, 9.0, Some(0.9)), candidate(2, 0.5, None), candidate(3, 1.0, None)];
        assert_eq!(order(&all, &[], Some(Distribution { mean: 0.3, deviation: 0.1 })), [1, 3, 2]);
    }

    #[test]
    fn a_score_is_the_sum_of_its_parts() {
        let mut all = [candidate(1, 9.0, Some(0.9)), candidate(2, 1.0, None)];
        all[1].named = true;
        let links = [Link { from: 0, to: 1, distance: 2 }];
        let signals =
            ExternalSignals { relations: [(1, vec![(2, 0.5)])].into(), ..ExternalSignals::default() };
        for ranked in rank(
            &all,
            &links,
            Some(Distribution::of(&[0.9, 0.1, 0.2])),
            &Weights::default().with(Signal::Related),
            &signals,
            all.len(),
        ) {
            assert!((ranked.score - ranked.parts.sum()).abs() < 1e-6 && ranked.score.is_finite());
        }
    }

    #[test]
    fn external_signals_change_no_score_by_default() {
        let all: Vec<Candidate> =
            (1..50).map(|n| candidate(n, 50.0 / n as f32, Some(0.5 / n as f32))).collect();
        let signals = ExternalSignals {
            uses: (1..50).map(|n| (n, 1.0 / n as f32)).collect(),
            relations: (1..50).map(|n| (n, vec![(50 - n, 1.0)])).collect(),
        };
        let usual = Some(Distribution::of(&[0.5, 0.1, 0.2]));
        let bits = |weights: &Weights, signals: &ExternalSignals| -> Vec<(usize, u32)> {
            rank(&all, &[], usual, weights, signals, all.len())
                .iter()
                .map(|one| (one.at, one.score.to_bits()))
                .collect()
        };
        let plain = bits(&Weights::default(), &ExternalSignals::default());
        assert_eq!(bits(&Weights::default(), &signals), plain);
        assert_ne!(bits(&Weights::default().with(Signal::Related), &signals), plain);
        assert_ne!(bits(&Weights::default().with(Signal::Used), &signals), plain);
    }
}
