//! Suggests known names that somebody may have meant.

use std::collections::BTreeSet;

/// Similarity from which a name is suggested.
const NEAR_MIN: f64 = 0.5;
/// Most names that are suggested.
const NEAR_MAX: usize = 3;

/// The known names near to `name`, the nearest first, at most 3. Case does not matter.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let name = name.to_lowercase();
    let mut near: Vec<(f64, &str)> = known
        .into_iter()
        .map(|other| (similarity(&name, &other.to_lowercase()), other))
        .filter(|(similarity, _)| *similarity >= NEAR_MIN)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    near.into_iter().take(NEAR_MAX).map(|(_, name)| name).collect()
}

/// Dice's coefficient of the names' letter pairs; an equal last part of a path counts as near.
fn similarity(a: &str, b: &str) -> f64 {
    if a.rsplit('/').next() == b.rsplit('/').next() {
        return 1.0;
    }
    let pairs = |name: &str| -> BTreeSet<(char, char)> { name.chars().zip(name.chars().skip(1)).collect() };
    let (a, b) = (pairs(a), pairs(b));
    let both = a.intersection(&b).count();
    #[expect(clippy::cast_precision_loss, reason = "names are short")]
    let dice = (2 * both) as f64 / (a.len() + b.len()).max(1) as f64;
    dice
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_names_are_near_and_others_are_not() {
        let known = ["acme/payments", "acme/web", "other/payments", "group/sub/my.repo", "bugfix"];
        for (name, want) in [
            ("acme/paymnets", &["acme/payments"][..]),
            ("payments", &["acme/payments", "other/payments"]),
            ("My.Repo", &["group/sub/my.repo"]),
            ("bug", &["bugfix"]),
            ("quux", &[]),
            ("", &[]),
        ] {
            assert_eq!(nearest(name, known), want, "{name}");
        }
    }
}
