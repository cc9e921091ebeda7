//! Cross-validation of weights: they are chosen on other questions than those that judge them. Pure.

use cerebro_core::recall::Weights;

use super::stats::mean;

/// The number of parts into which the conversations of a set are divided.
const PARTS: usize = 5;
/// The values at which each weight is tried, as shares of its default.
const SHARES: [f32; 3] = [0.5, 1.0, 1.5];
/// The values at which the weight of words is tried; the meaning gets the rest.
const WORDS: [f32; 3] = [0.25, 0.35, 0.45];

/// One question under every candidate.
pub struct Trial {
    /// The number of its set.
    pub set: usize,
    /// The number of its conversation (project) within the set.
    pub conversation: usize,
    /// R@10 and the reciprocal rank, in the order of [`candidates`].
    pub values: Vec<[f64; 2]>,
}

/// The weights that are tried; the first are the default.
pub fn candidates() -> Vec<Weights> {
    let usual = Weights::default();
    let mut all = vec![usual];
    let [first, second] = usual.neighbours;
    for words in WORDS {
        for neighbours in SHARES {
            for name in SHARES {
                all.push(Weights {
                    words,
                    meaning: 1.0 - words,
                    neighbours: [first * neighbours, second * neighbours],
                    name: usual.name * name,
                    ..usual
                });
            }
        }
    }
    for share in [0.5, 1.5] {
        all.push(Weights { session: usual.session * share, ..usual });
    }
    all
}

/// The means of some trials under one candidate.
fn means<'a>(trials: impl Iterator<Item = &'a Trial> + Clone, candidate: usize) -> [f64; 2] {
    [0, 1].map(|measure| mean(&trials.clone().map(|t| t.values[candidate][measure]).collect::<Vec<_>>()))
}

/// The candidate that is best on some trials: each set counts the same, and R@10 as much as MRR. Of equals the first.
fn best(trials: &[&Trial], sets: usize, candidates: usize) -> usize {
    let worth = |candidate: usize| -> f64 {
        let of_set = |set: usize| {
            let own = trials.iter().copied().filter(move |trial| trial.set == set);
            means(own, candidate).iter().sum::<f64>()
        };
        (0..sets).map(of_set).filter(|worth| !worth.is_nan()).sum()
    };
    (0..candidates).fold(0, |best, next| if worth(next) > worth(best) { next } else { best })
}

/// The figures of one set with weights that were chosen in several ways; R@10 and MRR each.
pub struct FoldResult {
    pub usual: [f64; 2],
    /// With the weights that are best on the other sets; and the index of these weights.
    pub other_sets: ([f64; 2], usize),
    /// With the weights that are best without a fifth of all conversations, on that fifth; none for a single conversation.
    pub other_conversations: Option<[f64; 2]>,
    /// With the weights that are best on all sets at once, as a choice without folds would have them.
    pub all: [f64; 2],
}

/// Judges each of so many sets.
pub fn judge(trials: &[Trial], sets: usize, candidates: usize) -> Vec<FoldResult> {
    let chosen = |is_used: &dyn Fn(&Trial) -> bool| {
        let used: Vec<&Trial> = trials.iter().filter(|trial| is_used(trial)).collect();
        best(&used, sets, candidates)
    };
    let by_part: Vec<usize> = (0..PARTS).map(|part| chosen(&|t| t.conversation % PARTS != part)).collect();
    let by_all = chosen(&|_| true);
    (0..sets)
        .map(|set| {
            let own = trials.iter().filter(move |trial| trial.set == set);
            let has_parts = own.clone().any(|trial| trial.conversation > 0);
            let by_others = chosen(&|t| t.set != set);
            let held = [0, 1].map(|measure| {
                let values = own.clone().map(|t| t.values[by_part[t.conversation % PARTS]][measure]);
                mean(&values.collect::<Vec<_>>())
            });
            FoldResult {
                usual: means(own.clone(), 0),
                other_sets: (means(own.clone(), by_others), by_others),
                other_conversations: has_parts.then_some(held),
                all: means(own, by_all),
            }
        })
        .collect()
}
