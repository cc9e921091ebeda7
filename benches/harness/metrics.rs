//! Measures of a ranked list against the set of right answers, pure.

use std::collections::HashSet;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::stats::{mean, percentile};

/// How deep a ranking is judged.
pub const DEPTH: usize = 10;
/// The names of [`Judgement::values`], in order.
pub const NAMES: [&str; 5] = ["R@5", "R@10", "MRR", "nDCG@10", "hit@1"];

const RESAMPLES: usize = 1_000;
const SEED: u64 = 20_261_121;

/// The measures of one query, each from 0 to 1, in the order of [`NAMES`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judgement {
    pub values: [f64; NAMES.len()],
}

/// Judges one ranking.
///
/// `gold` holds the distinct right answers; `lost` counts right answers that could not be stored
/// and so can never be found: they stay in the denominators. R@k is the share of the right answers
/// among the first k; MRR the reciprocal rank of the first of them; nDCG has binary gains and
/// discounts by log2(rank + 1) (Järvelin and Kekäläinen 2002), ideal over all right answers.
pub fn judge(ranking: &[String], gold: &HashSet<&str>, lost: usize) -> Judgement {
    let total = gold.len() + lost;
    if total == 0 {
        return Judgement { values: [0.0; NAMES.len()] };
    }
    let right: Vec<bool> = ranking.iter().take(DEPTH).map(|id| gold.contains(id.as_str())).collect();
    let recall = |k: usize| right.iter().take(k).filter(|r| **r).count() as f64 / total as f64;
    let discount = |index: usize| 1.0 / (index as f64 + 2.0).log2();
    let gain: f64 = right.iter().enumerate().filter(|(_, r)| **r).map(|(index, _)| discount(index)).sum();
    let ideal: f64 = (0..total.min(DEPTH)).map(discount).sum();
    let first = right.iter().position(|r| *r).map_or(0.0, |index| 1.0 / (index as f64 + 1.0));
    let top = if right.first() == Some(&true) { 1.0 } else { 0.0 };
    Judgement { values: [recall(5), recall(10), first, gain / ideal, top] }
}

/// A mean with its bootstrap 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    pub mean: f64,
    pub low: f64,
    pub high: f64,
}

/// The mean over queries; the interval by 1,000 seeded resamples with replacement (Efron 1979).
pub fn estimate(values: &[f64]) -> Estimate {
    let mut rng = StdRng::seed_from_u64(SEED);
    let n = values.len();
    let means: Vec<f64> = (0..if n == 0 { 0 } else { RESAMPLES })
        .map(|_| (0..n).map(|_| values[rng.random_range(0..n)]).sum::<f64>() / n as f64)
        .collect();
    Estimate { mean: mean(values), low: percentile(&means, 2.5), high: percentile(&means, 97.5) }
}

/// The chance that a score of `positive` is above one of `negative`, ties counting half: the area
/// under the ROC curve as the Mann-Whitney statistic. NaN when either is empty.
pub fn area_under_curve(positive: &[f64], negative: &[f64]) -> f64 {
    let mut sorted = negative.to_vec();
    sorted.sort_by(f64::total_cmp);
    let wins: f64 = positive
        .iter()
        .map(|p| {
            let below = sorted.partition_point(|n| n < p);
            let not_above = sorted.partition_point(|n| n <= p);
            f64::midpoint(below as f64, not_above as f64)
        })
        .sum();
    wins / (positive.len() as f64 * negative.len() as f64)
}

/// Fails when the formulas above no longer give values worked out by hand.
#[expect(clippy::float_cmp, reason = "these values are exact")]
pub fn self_check() {
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-4, "{a} is not {b}");
    let list: Vec<String> = ["x", "a", "y", "z", "w", "b"].map(str::to_owned).to_vec();
    // Right at places 2 and 6 of a total of 4 right answers, one of them never stored:
    // gain 1/log2(3) + 1/log2(7) = 0.63093 + 0.35621; ideal 1 + 0.63093 + 0.5 + 0.43068.
    let values = judge(&list, &HashSet::from(["a", "b", "c"]), 1).values;
    for (value, want) in values.into_iter().zip([0.25, 0.5, 0.5, 0.987_14 / 2.561_61, 0.0]) {
        near(value, want);
    }
    assert_eq!(judge(&list, &HashSet::from(["x"]), 0).values, [1.0; 5]);
    assert_eq!(judge(&[], &HashSet::from(["x"]), 0).values, [0.0; 5]);
    // Places beyond the tenth do not count.
    let long: Vec<String> = (0..12).map(|i| i.to_string()).collect();
    assert_eq!(judge(&long, &HashSet::from(["10"]), 0).values, [0.0; 5]);

    assert_eq!(estimate(&[0.5; 20]), Estimate { mean: 0.5, low: 0.5, high: 0.5 });
    // 100 fair coins: a standard error of 0.05, so about 0.4 to 0.6.
    let coins: Vec<f64> = (0..100).map(|i| f64::from(i % 2)).collect();
    let Estimate { mean, low, high } = estimate(&coins);
    near(mean, 0.5);
    assert!((0.37..0.43).contains(&low) && (0.57..0.63).contains(&high), "{low} to {high}");

    // Pairs (3>1) (3>2) (2>1) and the tie (2=2) make 3.5 of 4.
    near(area_under_curve(&[3.0, 2.0], &[1.0, 2.0]), 0.875);
    near(area_under_curve(&[1.0], &[1.0]), 0.5);
}
