//! Plans over made-up memories: what may be merged, what is archived, and how much at once.

use super::*;
use crate::domain::{Body, Project, Validity};

const DAY: i64 = SECONDS_PER_DAY;
const TEXT: &str = "The upload worker retries a failed part three times and waits for ten seconds in between, and then \
                    it tells whoever asked that the part could not be stored and what the server said about it";

fn at(day: i64) -> Timestamp {
    Timestamp::from_second(day * DAY).unwrap()
}

fn text(text: &str) -> RedactedText {
    RedactedText::derived(text)
}

fn memory(day: i64, kind: &str, content: &str) -> Memory {
    Memory {
        body: Body { kind: Kind::parse(kind).unwrap(), content: text(content), ..Body::sample() },
        created_at: at(day),
        updated_at: at(day),
        last_seen_at: at(day),
        ..Memory::sample()
    }
}

fn episode(day: i64, content: &str) -> Memory {
    Memory { nature: Some(Nature::Episodic), ..memory(day, "discovery", content) }
}

/// All stages: survey, comparison, plan.
fn plan(memories: &[Memory], day: i64) -> Vec<Step> {
    plan_with(memories, day, &[])
}

fn plan_with(memories: &[Memory], day: i64, ends: &[MemoryId]) -> Vec<Step> {
    let mut survey = Survey::new(at(day), ends.iter().copied().collect());
    for memory in memories {
        survey.add(memory);
    }
    let of = |id: MemoryId| memories.iter().find(|memory| memory.id == id).unwrap();
    let merges: Vec<Merge> = survey.pairs().into_iter().filter_map(|(a, b)| merge(of(a), of(b))).collect();
    survey.plan(&merges)
}

fn actions(steps: &[Step]) -> Vec<(Action, MemoryId)> {
    steps.iter().map(|step| (step.action, step.memory)).collect()
}

#[test]
fn of_two_that_say_the_same_the_newer_stays() {
    let (old, new) = (memory(1, "decision", TEXT), memory(5, "decision", &TEXT.to_uppercase()));
    let steps = plan(&[new.clone(), old.clone()], 9);
    assert_eq!(actions(&steps), [(Action::Merge, old.id), (Action::Unite, new.id)]);
    assert_eq!((steps[0].into, steps[0].version), (Some(new.id), 1));
    assert!(!steps.iter().any(|step| step.why.contains("upload")), "no text: {steps:?}");
}

#[test]
fn the_longer_one_stays_though_it_is_older() {
    let longer = memory(1, "decision", &format!("{TEXT}. This was decided together."));
    let shorter = memory(5, "decision", TEXT);
    assert_eq!(plan(&[longer.clone(), shorter.clone()], 9)[0].memory, shorter.id);
}

#[test]
fn of_several_that_say_the_same_one_stays_and_takes_the_others_in() {
    let all: Vec<Memory> = (0..5).map(|day| memory(day, "decision", TEXT)).collect();
    let steps = plan(&all, 9);
    let gone: BTreeSet<MemoryId> =
        steps.iter().filter(|step| step.action == Action::Merge).map(|step| step.memory).collect();
    let kept: BTreeSet<MemoryId> = steps.iter().filter_map(|step| step.into).collect();
    assert!(gone.is_disjoint(&kept), "{steps:?}");
    assert!(!gone.is_empty() && !gone.contains(&all[4].id));
}

#[test]
fn a_memory_with_a_place_of_its_own_is_not_merged() {
    let base = memory(1, "decision", TEXT);
    let other = || Memory { id: MemoryId::random(), updated_at: at(2), ..base.clone() };
    let apart = [
        Memory { pinned: true, ..other() },
        other().with(|memory| memory.topic_key = Some(text("a/b"))),
        other().with(|memory| memory.scope = Scope::Personal),
        other().with(|memory| memory.scope = Scope::Project(Project::parse("other").unwrap())),
        other().with(|memory| memory.kind = Kind::parse("bugfix").unwrap()),
        Memory { nature: Some(Nature::Episodic), ..other() },
        Memory { valid: Validity { from: Some(at(1)), until: None }, ..other() },
        Memory { deleted_at: Some(at(2)), ..other() },
        Memory { archived_at: Some(at(2)), ..other() },
    ];
    for other in apart {
        assert_eq!(plan(&[base.clone(), other.clone()], 9), [], "{other:?}");
    }
    let other = other();
    assert_eq!(plan_with(&[base.clone(), other.clone()], 9, &[other.id]), [], "somebody put it in a place");
    let tags = |tag: &str| (0..limits::TAGS_MAX).map(|n| text(&format!("{tag}{n}"))).collect();
    let tagged = |tag: &str, memory: &Memory| memory.clone().with(|memory| memory.tags = tags(tag));
    assert_eq!(plan(&[tagged("a", &base), tagged("b", &other)], 9), [], "their tags are too many together");
}

#[test]
fn of_two_hundred_pairs_that_differ_in_one_token_none_is_merged() {
    let mut all = Vec::new();
    for n in 0..40_u32 {
        let base = format!(
            "On node-{n} the cache keeps {n} entries since v2.{n}.0, is enabled and uses redis: {TEXT}"
        );
        all.push(memory(1, "decision", &base));
        for other in [
            base.replace(&format!("keeps {n} "), &format!("keeps {} ", n + 1_000)),
            base.replace(&format!("v2.{n}.0"), &format!("v2.{n}.1")),
            base.replace("is enabled", "is not enabled"),
            base.replace("uses redis", "uses memcached"),
            base.replace("ten seconds", "two seconds"),
        ] {
            assert_ne!(base, other);
            all.push(memory(2, "decision", &other));
        }
    }
    assert_eq!(plan(&all, 9), []);
}

#[test]
fn over_three_years_only_episodes_that_are_not_exempt_are_archived() {
    let exempt = [
        memory(0, "decision", "a"),
        memory(0, "pattern", "b"),
        memory(0, "todo", "c"),
        Memory { pinned: true, ..episode(0, "d") },
        episode(0, "e").with(|memory| memory.topic_key = Some(text("a/b"))),
        episode(0, "f").with(|memory| memory.scope = Scope::Personal),
        memory(0, "session_summary", "g"),
    ];
    let superseding = episode(0, "h");
    let weak = episode(0, "i");
    let mut all = exempt.to_vec();
    // A session summary always has the key of its session.
    all[6].topic_key = Some(text("session/1"));
    all.extend([superseding.clone(), weak.clone()]);
    let mut first = None;
    for day in 0..3 * 365 {
        for step in plan_with(&all, day, &[superseding.id]) {
            assert_eq!((step.action, step.memory), (Action::Archive, weak.id), "day {day}");
            first = first.or(Some(day));
        }
    }
    assert_eq!(first, Some(432));
}

#[test]
fn of_an_old_session_the_summary_stays() {
    let session = SessionId::random();
    let turn = |n: i64| Memory { session: Some(session.clone()), ..episode(n, &format!("turn number {n}")) };
    let summary = memory(9, "session_summary", "What was done.").with(|memory| {
        memory.session = Some(session.clone());
        memory.topic_key = Some(summary_key(&session));
    });
    let mut turns: Vec<Memory> = (0..8).map(turn).collect();
    let with = |turns: &[Memory]| [turns, std::slice::from_ref(&summary)].concat();
    assert_eq!(plan(&with(&turns), 96), [], "the last turn is not long past");
    let steps = plan(&with(&turns), 97);
    assert_eq!(steps.len(), 8);
    assert!(steps.iter().all(|step| step.action == Action::Compact && step.into == Some(summary.id)));
    assert_eq!(plan(&turns, 97), [], "without a summary");
    assert_eq!(plan(&with(&turns[..7]), 97), [], "too few");
    turns[0].archived_at = Some(at(90));
    assert_eq!(plan(&with(&turns), 97).len(), 7, "those that are left of it");
}

#[test]
fn one_plan_changes_a_small_part() {
    let all: Vec<Memory> = (0..600).map(|n| episode(0, &format!("turn {n}"))).collect();
    assert_eq!(plan(&all[..300], 1_000).len(), 10);
    assert_eq!(plan(&all, 1_000).len(), 12);
    let mut twins: Vec<Memory> = Vec::new();
    for n in 0..50 {
        let content = format!("{TEXT}, in case {n}");
        twins.extend([memory(1, "decision", &content), memory(2, "decision", &content)]);
    }
    assert_eq!(plan(&twins, 9).len(), 10, "with those that take them in");
}

#[test]
fn tags_are_united_behind_ones_own() {
    let tags = |names: &[&str]| names.iter().map(|name| text(name)).collect::<Vec<_>>();
    let (own, one, other) = (tags(&["b", "a"]), tags(&["a", "c"]), tags(&["d", "c"]));
    assert_eq!(united(&own, [&one[..], &other[..]]), tags(&["b", "a", "c", "d"]));
}
