//! Supersession: how a list shows it, and which supersessions are impossible.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{BuildHasher, Hash};

use crate::domain::limits::SUPERSEDED_DEPTH_MAX;

/// Orders a ranked list so that a superseded item comes after its successor, if both are listed: the newer one
/// moves up to just before the older one. Everything else keeps its order.
///
/// `successors` names the successor of each superseded item.
pub fn newest_first<T, K: Copy + Eq + Hash, S: BuildHasher>(
    items: Vec<T>,
    key: impl Fn(&T) -> K,
    successors: &HashMap<K, K, S>,
) -> Vec<T> {
    if successors.is_empty() {
        return items;
    }
    let keys: Vec<K> = items.iter().map(&key).collect();
    let positions: HashMap<K, usize> = keys.iter().copied().zip(0..).collect();
    let mut waiting: Vec<Option<T>> = items.into_iter().map(Some).collect();
    let mut ordered = Vec::with_capacity(waiting.len());
    for (at, key) in keys.iter().enumerate() {
        let mut chain = vec![at];
        let mut next = successors.get(key);
        // Items in between need not be listed.
        for _ in 0..SUPERSEDED_DEPTH_MAX {
            let Some(newer) = next else { break };
            chain.extend(positions.get(newer));
            next = successors.get(newer);
        }
        ordered.extend(chain.into_iter().rev().filter_map(|at| waiting[at].take()));
    }
    ordered
}

/// Why a memory cannot supersede another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SupersessionError {
    /// The other one superseded it, perhaps through others.
    #[error("it took the place of this memory itself")]
    Circle,
    #[error("{SUPERSEDED_DEPTH_MAX} memories already took each other's place before it")]
    TooLong,
}

/// Whether `newer` may supersede `older`. `below` has the known supersessions: from each memory to those whose
/// place it took.
pub fn check_supersession<K: Copy + Ord>(
    newer: K,
    older: K,
    below: &BTreeMap<K, Vec<K>>,
) -> Result<(), SupersessionError> {
    let mut seen = BTreeSet::from([older]);
    let mut level = vec![older];
    for _ in 0..SUPERSEDED_DEPTH_MAX {
        if level.contains(&newer) {
            return Err(SupersessionError::Circle);
        }
        let next = level.iter().filter_map(|id| below.get(id)).flatten().copied();
        level = next.filter(|id| seen.insert(*id)).collect();
        if level.is_empty() {
            return Ok(());
        }
    }
    Err(SupersessionError::TooLong)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ordered(items: &str, pairs: &[(char, char)]) -> String {
        newest_first(items.chars().collect(), |item| *item, &pairs.iter().copied().collect::<HashMap<_, _>>())
            .into_iter()
            .collect()
    }

    #[test]
    fn the_superseded_comes_right_after_what_took_its_place() {
        assert_eq!(ordered("abcd", &[]), "abcd");
        assert_eq!(
            ordered("abcd", &[('x', 'y'), ('a', 'z')]),
            "abcd",
            "neither is listed with its successor"
        );
        assert_eq!(ordered("abcd", &[('a', 'c')]), "cabd");
        assert_eq!(ordered("abcd", &[('c', 'a')]), "abcd", "it is in order");
        assert_eq!(ordered("abcd", &[('b', 'd'), ('d', 'c')]), "acdb");
        assert_eq!(ordered("abcd", &[('a', 'x'), ('x', 'd')]), "dabc", "by way of one that is not listed");
        assert_eq!(ordered("abcd", &[('a', 'd'), ('b', 'd')]), "dabc");
    }

    #[test]
    fn a_circle_of_supersessions_loses_and_doubles_nothing() {
        let mut found: Vec<char> = ordered("abcd", &[('a', 'b'), ('b', 'c'), ('c', 'a')]).chars().collect();
        found.sort_unstable();
        assert_eq!(found, ['a', 'b', 'c', 'd']);
    }

    #[test]
    fn circles_and_long_chains_are_refused() {
        let below = BTreeMap::from([(1, vec![2, 3]), (3, vec![4])]);
        assert_eq!(check_supersession(9, 1, &below), Ok(()));
        for older in [1, 3, 4] {
            assert_eq!(check_supersession(4, older, &below), Err(SupersessionError::Circle), "{older}");
        }
        assert_eq!(check_supersession(4, 2, &below), Ok(()));
        let chain = |length: usize| (0..length).map(|id| (id, vec![id + 1])).collect::<BTreeMap<_, _>>();
        let newer = usize::MAX;
        assert_eq!(check_supersession(newer, 0, &chain(SUPERSEDED_DEPTH_MAX - 1)), Ok(()));
        assert_eq!(
            check_supersession(newer, 0, &chain(SUPERSEDED_DEPTH_MAX)),
            Err(SupersessionError::TooLong)
        );
    }
}
