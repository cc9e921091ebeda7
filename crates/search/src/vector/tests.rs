//! The vectors in memory, compared with a plain list.

use std::collections::BTreeMap;

use super::*;
use cerebro_core::domain::{MemoryId, Project, Scope};

fn id(n: usize) -> SubjectId {
    let letter = |n: usize| char::from(b'a' + u8::try_from(n % 26).unwrap());
    let text: String = (0..12).map(|i| letter(n / 26_usize.pow(u32::try_from(i % 4).unwrap()))).collect();
    MemoryId::parse(&text).unwrap().into()
}

fn project(name: &str) -> Scope {
    Scope::Project(Project::parse(name).unwrap())
}

/// Numbers that look random and are the same each time.
fn numbers(seed: u64, n: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    (0..n)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            ((state >> 40) as f32) / ((1_u64 << 24) as f32) - 0.5
        })
        .collect()
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

/// The error of a similarity by packing, for vectors with few numbers: each is off by up to 1/254 of the largest.
const OFF: f64 = 1e-2;
const ALL: &dyn Fn(&SubjectId) -> bool = &|_| true;

fn space(p: &Scope, rows: Vec<(SubjectId, u32, Packed)>, dimension: usize) -> Space<Scope> {
    let mut space = Space::new(dimension, 1 << 20, 1 << 20);
    space.begin(p);
    space.fill(p, rows);
    space
}

#[test]
fn packed_similarity_is_that_of_floats() {
    let query = numbers(1, 384);
    for seed in 2..200 {
        let other = numbers(seed, 384);
        let p = project("p");
        let space = space(&p, vec![(id(1), 0, Packed::new(&other))], 384);
        let near = space.nearest(&[p], &Packed::new(&query), 1, ALL).unwrap();
        assert!((f64::from(near[0].similarity) - cosine(&query, &other)).abs() < 2e-3);
    }
    // The similarity of equal vectors is 1, and the largest sum does not overflow.
    let same = Packed::new(&[1.0; 4096]);
    let p = project("p");
    let space = space(&p, vec![(id(1), 0, same.clone())], 4096);
    assert!((space.nearest(&[p], &same, 1, ALL).unwrap()[0].similarity - 1.0).abs() < 2e-3);
    assert_eq!(Packed::new(&[0.0, 0.0]), Packed { numbers: vec![0, 0], step: 0.0 });
    assert_eq!(Packed::new(&[0.0, -7.0]), Packed { numbers: vec![0, -127], step: 1.0 / 127.0 });
}

#[test]
fn the_nearest_memories_come_once_each_in_order() {
    let p = project("p");
    let rows = vec![
        (id(1), 0, Packed::new(&[1.0, 0.0])),
        (id(1), 1, Packed::new(&[0.9, 0.1])),
        (id(3), 0, Packed::new(&[0.0, 1.0])),
        (id(2), 0, Packed::new(&[0.0, 1.0])),
    ];
    let space = space(&p, rows, 2);
    let query = Packed::new(&[1.0, 0.1]);
    let near = space.nearest(std::slice::from_ref(&p), &query, 10, ALL).unwrap();
    let got: Vec<_> = near.iter().map(|near| (near.subject, near.passage)).collect();
    assert_eq!(got, [(id(1), 1), (id(2), 0), (id(3), 0)], "equal ones by id");
    let some = space.nearest(std::slice::from_ref(&p), &query, 1, &|memory| *memory != id(1)).unwrap();
    assert_eq!(some[0].subject, id(2));
    assert!(space.nearest(&[project("other")], &query, 1, ALL).is_none(), "it is not loaded");
    assert_eq!(space.nearest(&[p], &Packed::new(&[1.0]), 1, ALL), Some(vec![]), "another dimension");
}

#[test]
fn two_threads_give_the_same_similarities_as_one() {
    let rows: Vec<_> = (0..9_001).map(|n| (id(n), 0, Packed::new(&numbers(n as u64 + 2, 8)))).collect();
    let (p, query) = (project("p"), Packed::new(&numbers(1, 8)));
    let parts = rows.chunks(1_000).flat_map(|part| {
        space(&p, part.to_vec(), 8).nearest(std::slice::from_ref(&p), &query, 50, ALL).unwrap()
    });
    let mut expected: Vec<Near> = parts.collect();
    expected.sort_by(|a, b| b.similarity.total_cmp(&a.similarity).then(a.subject.cmp(&b.subject)));
    expected.truncate(50);
    assert_eq!(space(&p, rows, 8).nearest(&[p], &query, 50, ALL).unwrap(), expected);
}

#[test]
fn changes_while_a_project_is_loading_are_not_lost() {
    let p = project("p");
    let mut space = Space::new(2, 1 << 20, 1 << 20);
    space.begin(&p);
    space.put(&p, &id(2), vec![Packed::new(&[0.0, 1.0])]);
    space.remove(&id(1));
    space.fill(&p, vec![(id(1), 0, Packed::new(&[1.0, 0.0])), (id(2), 0, Packed::new(&[1.0, 0.0]))]);
    let near = space.nearest(&[p], &Packed::new(&[0.0, 1.0]), 9, ALL).unwrap();
    assert_eq!(near.len(), 1);
    assert!(near[0].subject == id(2) && near[0].similarity > 0.99);
}

#[test]
fn moves_from_and_to_a_project_that_is_loading_are_not_lost() {
    let (p, q) = (project("p"), project("q"));
    let vector = || Packed::new(&[1.0, 0.0]);
    let row = |n| (id(n), 0, vector());
    let loaded = || space(&p, vec![row(1), row(2)], 2);

    let mut new_here = loaded();
    new_here.begin(&q);
    new_here.settle(&id(3), &p);
    new_here.fill(&q, vec![row(4)]);
    assert!(new_here.holds(&p) && new_here.holds(&q), "a new memory has moved nowhere");

    let mut from = loaded();
    from.begin(&q);
    from.settle(&id(4), &p);
    from.fill(&q, vec![row(4), row(5)]);
    assert!(!from.holds(&p), "its vectors are not at hand");
    assert_eq!(from.nearest(std::slice::from_ref(&q), &vector(), 9, ALL).unwrap().len(), 1);

    let mut to = loaded();
    to.begin(&q);
    to.settle(&id(1), &q);
    to.fill(&q, vec![row(4)]);
    assert!(!to.holds(&q), "what was read may be without them");
    assert_eq!(to.nearest(&[p], &vector(), 9, ALL).unwrap().len(), 1);
}

#[test]
fn a_project_that_grows_too_large_is_forgotten() {
    let (p, row) = (project("p"), || vec![Packed::new(&[1.0, 0.0])]);
    let mut space = Space::new(2, 4, 1 << 20);
    space.begin(&p);
    space.fill(&p, vec![]);
    for n in [1, 2, 2] {
        space.put(&p, &id(n), row());
        assert!(space.holds(&p), "two vectors of two bytes");
    }
    space.put(&p, &id(3), row());
    assert!(!space.holds(&p));
}

#[test]
fn a_memory_is_found_in_one_project_only() {
    let (p, q) = (project("p"), project("q"));
    let vector = || Packed::new(&[1.0, 0.0]);
    let mut space = space(&p, vec![(id(1), 0, vector())], 2);
    space.begin(&q);
    space.fill(&q, vec![]);
    space.settle(&id(1), &p);
    assert!(space.holds(&p) && space.holds(&q), "nothing moved");
    space.settle(&id(1), &q);
    assert!(space.nearest(std::slice::from_ref(&p), &vector(), 1, ALL).unwrap().is_empty());
    assert!(!space.holds(&q), "its vectors must be read there");
    space.put(&p, &id(1), vec![vector()]);
    assert_eq!(space.nearest(&[p], &vector(), 1, ALL).unwrap().len(), 1);
}

#[test]
fn the_project_not_used_for_longest_is_forgotten() {
    let mut space = Space::new(64, 1 << 20, 64 * 1024);
    for name in ["a", "b", "c"] {
        space.begin(&project(name));
        let rows = (0..130).map(|n| (id(n), 0, Packed::new(&numbers(n as u64, 64)))).collect();
        space.fill(&project(name), rows);
        space.touch(&project("a"));
    }
    assert!(space.bytes() <= 64 * 1024, "{}", space.bytes());
    assert!(space.holds(&project("a")) || space.holds(&project("c")));
    assert!(!space.holds(&project("b")));
}

proptest::proptest! {
    #[test]
    fn random_changes_leave_the_same_vectors_as_a_plain_list(steps in proptest::collection::vec((0_usize..12, 0_usize..4), 0..80)) {
        let p = project("p");
        let mut space = space(&p, vec![], 8);
        let mut want = std::collections::BTreeMap::new();
        for (n, (memory, count)) in steps.into_iter().enumerate() {
            if count == 0 {
                space.remove(&id(memory));
                want.remove(&id(memory));
            } else {
                let vectors: Vec<_> = (0..count).map(|i| numbers((n * 10 + i + 1) as u64, 8)).collect();
                space.put(&p, &id(memory), vectors.iter().map(|v| Packed::new(v)).collect());
                want.insert(id(memory), vectors);
            }
        }
        let query = numbers(9_999, 8);
        let near = space.nearest(&[p], &Packed::new(&query), 100, ALL).unwrap();
        proptest::prop_assert_eq!(near.len(), want.len());
        for near in near {
            let best = want[&near.subject].iter().map(|v| cosine(v, &query)).fold(f64::MIN, f64::max);
            proptest::prop_assert!((f64::from(near.similarity) - best).abs() < OFF);
        }
    }
}

#[test]
#[expect(clippy::cast_possible_truncation, reason = "a cosine fits")]
fn likeness_is_that_of_a_plain_list() {
    let p = project("p");
    let mut rows = Vec::new();
    let mut best: BTreeMap<SubjectId, f64> = BTreeMap::new();
    let asked = [numbers(1, 32), numbers(2, 32)];
    for n in 0..300_u64 {
        let (memory, passage) = (id(usize::try_from(n / 2).unwrap()), u32::try_from(n % 2).unwrap());
        let vector = numbers(n + 10, 32);
        for asked in &asked {
            let best = best.entry(memory).or_insert(-1.0);
            *best = best.max(cosine(asked, &vector));
        }
        rows.push((memory, passage, Packed::new(&vector)));
    }
    best.remove(&id(7));
    let space = space(&p, rows, 32);
    let asked: Vec<Packed> = asked.iter().map(|vector| Packed::new(vector)).collect();
    let likeness = space.likeness(&p, &asked, &id(7), 5).unwrap();
    let plain = Likeness::to(best.iter().map(|(id, value)| (*id, *value as f32)).collect());
    assert_eq!(likeness.count, 149);
    assert!((likeness.mean - plain.mean).abs() < 1e-3 && (likeness.deviation - plain.deviation).abs() < 1e-3);
    let mut nearest = plain.nearest;
    nearest.sort_by(|a, b| b.1.total_cmp(&a.1));
    assert_eq!(likeness.nearest.len(), 5);
    for (one, plain) in likeness.nearest.iter().zip(&nearest) {
        assert!(one.0 == plain.0 && f64::from((one.1 - plain.1).abs()) < OFF, "{one:?} {plain:?}");
    }
    assert_eq!(space.likeness(&project("other"), &asked, &id(7), 5), None);
    assert_eq!(space.likeness(&p, &[], &id(7), 5).unwrap().count, 0);
    assert_eq!(space.likeness(&p, &asked, &id(7), 1_000).unwrap().nearest.len(), 149);
}

#[test]
fn ties_in_likeness_go_to_the_smaller_id() {
    let p = project("p");
    let same = Packed::new(&[1.0, 0.0]);
    let space = space(&p, (0..9).rev().map(|n| (id(n), 0, same.clone())).collect(), 2);
    let nearest = space.likeness(&p, std::slice::from_ref(&same), &id(0), 3).unwrap().nearest;
    assert_eq!(nearest.into_iter().map(|(id, _)| id).collect::<Vec<_>>(), [id(1), id(2), id(3)]);
}
