//! Memories that took another's place: how a list shows them, and which claims of a place cannot hold.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{BuildHasher, Hash};

use crate::domain::limits::SUPERSEDED_DEPTH_MAX;

/// A ranked list in which what was superseded comes after what took its place, if both are listed: the newer one moves up
/// to just before the older. All else keeps its order, and a list without such a pair is the same list.
///
/// `successors` names for each superseded item what took its place.
pub fn newest_first<T, K: Copy + Eq + Hash, S: BuildHasher>(
    items: Vec<T>,
    key: impl Fn(&T) -> K,
    successors: &HashMap<K, K, S>,
) -> Vec<T> {
    if successors.is_empty() {
        return items;
    }
    let keys: Vec<K> = items.iter().map(&key).collect();
    let places: HashMap<K, usize> = keys.iter().copied().zip(0..).collect();
    let mut waiting: Vec<Option<T>> = items.into_iter().map(Some).collect();
    let mut ordered = Vec::with_capacity(waiting.len());
    for (at, key) in keys.iter().enumerate() {
        let mut chain = vec![at];
        let mut next = successors.get(key);
        // Those in between need not be listed themselves.
        for _ in 0..SUPERSEDED_DEPTH_MAX {
            let Some(newer) = next else { break };
            chain.extend(places.get(newer));
            next = successors.get(newer);
        }
        ordered.extend(chain.into_iter().rev().filter_map(|at| waiting[at].take()));
    }
    ordered
}

/// Why a memory cannot take the place of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// It was superseded by the other itself, perhaps by way of others.
    #[error("it took the place of this memory itself")]
    Circle,
    /// Too many already took each other's place.
    #[error("{SUPERSEDED_DEPTH_MAX} memories already took each other's place before it")]
    TooLong,
}

/// Whether a memory may take the place of `older`, by the edges that are known below it: from each memory to those whose
/// place it took.
///
/// # Errors
/// [`Unfit`]
pub fn check_place<K: Copy + Ord>(newer: K, older: K, below: &BTreeMap<K, Vec<K>>) -> Result<(), Unfit> {
    let mut seen = BTreeSet::from([older]);
    let mut level = vec![older];
    for _ in 0..SUPERSEDED_DEPTH_MAX {
        if level.contains(&newer) {
            return Err(Unfit::Circle);
        }
        let next = level.iter().filter_map(|id| below.get(id)).flatten().copied();
        level = next.filter(|id| seen.insert(*id)).collect();
        if level.is_empty() {
            return Ok(());
        }
    }
    Err(Unfit::TooLong)
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
    fn a_circle_loses_and_doubles_nothing() {
        let mut found: Vec<char> = ordered("abcd", &[('a', 'b'), ('b', 'c'), ('c', 'a')]).chars().collect();
        found.sort_unstable();
        assert_eq!(found, ['a', 'b', 'c', 'd']);
    }

    #[test]
    fn circles_and_long_chains_are_refused() {
        let below = BTreeMap::from([(1, vec![2, 3]), (3, vec![4])]);
        assert_eq!(check_place(9, 1, &below), Ok(()));
        for older in [1, 3, 4] {
            assert_eq!(check_place(4, older, &below), Err(Unfit::Circle), "{older}");
        }
        assert_eq!(check_place(4, 2, &below), Ok(()));
        let chain = |length: usize| (0..length).map(|id| (id, vec![id + 1])).collect::<BTreeMap<_, _>>();
        let newer = usize::MAX;
        assert_eq!(check_place(newer, 0, &chain(SUPERSEDED_DEPTH_MAX - 1)), Ok(()));
        assert_eq!(check_place(newer, 0, &chain(SUPERSEDED_DEPTH_MAX)), Err(Unfit::TooLong));
    }
}
