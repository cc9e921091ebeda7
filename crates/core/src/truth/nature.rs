//! The kind of a memory, and how much of its strength is left. Strength is computed on demand and never stored; it
//! does not affect the order of results.

use crate::domain::{Kind, Memory, Nature, Timestamp};

/// Days after which an episode has 0.9 of its strength left.
const STABILITY_DAYS: f64 = 180.0;
/// The curve of FSRS (Ye et al., "A stochastic shortest path algorithm for optimizing spaced repetition
/// scheduling", 2022, in the form of its version 4.5): after one stability 0.9 is left, and the rest falls by a
/// power law, never to zero.
const FACTOR: f64 = 19.0 / 81.0;
const POWER: f64 = -0.5;
const SECONDS_PER_DAY: f64 = 86_400.0;

/// The kind of a memory of this type, where nobody set one. What somebody chose to save is a fact, unless its type
/// names steps to follow, a thing to be done, or what happened in a session.
pub fn nature_of_type(kind: &Kind) -> Nature {
    match kind.as_str() {
        "session_summary" => Nature::Episodic,
        "pattern" | "procedure" | "howto" | "how-to" | "runbook" => Nature::Procedural,
        "todo" | "reminder" | "task" => Nature::Prospective,
        _ => Nature::Semantic,
    }
}

/// The kind of a memory: the one that somebody set, otherwise that of its type.
pub fn nature(memory: &Memory) -> Nature {
    memory.nature.unwrap_or_else(|| nature_of_type(&memory.kind))
}

/// Whether a memory is a prospective one that is neither done nor archived.
pub fn is_open(memory: &Memory) -> bool {
    memory.is_live()
        && !memory.is_archived()
        && nature(memory) == Nature::Prospective
        && memory.done_at.is_none()
}

/// Whether a memory is due everywhere in its project: it is open, it has no trigger, and the moment lies in its
/// validity.
pub fn is_due(memory: &Memory, now: Timestamp) -> bool {
    is_due_somewhere(memory, now) && memory.trigger.is_none()
}

/// Whether a memory is due wherever its trigger, if any, is met ([`crate::domain::Trigger::is_met`]).
pub fn is_due_somewhere(memory: &Memory, now: Timestamp) -> bool {
    is_open(memory) && memory.valid.holds_at(now)
}

/// Whether a memory never loses strength, because of its kind or its use. `has_superseded` says that it took
/// another's place.
pub fn is_exempt(memory: &Memory, has_superseded: bool) -> bool {
    let keeps = match nature(memory) {
        Nature::Semantic | Nature::Procedural => true,
        Nature::Prospective => memory.done_at.is_none(),
        Nature::Episodic => false,
    };
    let is_kept = memory.pinned || memory.topic_key.is_some() || memory.scope.is_personal();
    keeps || is_kept || has_superseded
}

/// How much strength a memory has left: 1 when it was last seen, falling with age; always 1 if it [is
/// exempt](is_exempt).
pub fn strength(memory: &Memory, has_superseded: bool, now: Timestamp) -> f64 {
    if is_exempt(memory, has_superseded) {
        return 1.0;
    }
    faded_since(memory.last_seen_at, now)
}

/// How much strength is left of what was last seen at a moment, if it is not exempt.
pub(super) fn faded_since(seen: Timestamp, now: Timestamp) -> f64 {
    let days = now.duration_since(seen).as_secs_f64().max(0.0) / SECONDS_PER_DAY;
    (1.0 + FACTOR * days / STABILITY_DAYS).powf(POWER)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::{
        domain::{Body, Scope, Validity},
        redact::RedactedText,
    };

    const DAY: i64 = 86_400;

    pub(in crate::truth) fn at(day: i64) -> Timestamp {
        Timestamp::from_second(day * DAY).unwrap()
    }

    pub(in crate::truth) fn memory(kind: &str) -> Memory {
        Memory {
            body: Body { kind: Kind::parse(kind).unwrap(), ..Body::sample() },
            created_at: at(0),
            updated_at: at(0),
            last_seen_at: at(0),
            ..Memory::sample()
        }
    }

    #[test]
    fn the_kind_follows_from_the_type_unless_somebody_says() {
        for (kind, want) in [
            ("decision", Nature::Semantic),
            ("manual", Nature::Semantic),
            ("pattern", Nature::Procedural),
            ("todo", Nature::Prospective),
            ("session_summary", Nature::Episodic),
        ] {
            assert_eq!(nature(&memory(kind)), want, "{kind}");
        }
        assert_eq!(
            nature(&Memory { nature: Some(Nature::Episodic), ..memory("decision") }),
            Nature::Episodic
        );
    }

    #[test]
    fn over_three_years_only_episodes_that_nothing_exempts_grow_weak() {
        let episode = || memory("session_summary");
        let key = Some(RedactedText::derived("a/b"));
        let exempt = [
            memory("decision"),
            memory("pattern"),
            memory("reminder"),
            Memory { pinned: true, ..episode() },
            episode().with(|memory| memory.topic_key = key),
            episode().with(|memory| memory.scope = Scope::Personal),
        ];
        let mut last = 1.1;
        for day in 0..3 * 365 {
            for memory in &exempt {
                assert!(
                    (strength(memory, false, at(day)) - 1.0).abs() < f64::EPSILON,
                    "{memory:?} on day {day}"
                );
            }
            assert!(
                (strength(&episode(), true, at(day)) - 1.0).abs() < f64::EPSILON,
                "it took another's place"
            );
            let left = strength(&episode(), false, at(day));
            assert!(left < last && left > 0.5, "day {day}: {left} after {last}");
            last = left;
        }
        assert!((strength(&episode(), false, at(180)) - 0.9).abs() < 1e-9, "after one stability");
        let seen = Memory { last_seen_at: at(100), ..episode() };
        assert!((strength(&seen, false, at(280)) - 0.9).abs() < 1e-9, "counted from when it was last said");
        assert!((strength(&seen, false, at(50)) - 1.0).abs() < f64::EPSILON, "before that");
    }

    #[test]
    fn a_thing_to_be_done_is_due_from_its_moment_until_it_is_done() {
        let valid = Validity { from: Some(at(10)), until: Some(at(20)) };
        let todo = Memory { valid, ..memory("todo") };
        for (day, want) in [(9, false), (10, true), (20, true), (21, false)] {
            assert_eq!(is_due(&todo, at(day)), want, "{day}");
        }
        assert!(!is_due(&Memory { done_at: Some(at(11)), ..todo.clone() }, at(12)));
        assert!(!is_due(&Memory { archived_at: Some(at(11)), ..todo.clone() }, at(12)));
        assert!(!is_due(&Memory { deleted_at: Some(at(11)), ..todo }, at(12)));
        assert!(is_due(&memory("todo"), at(0)), "without a moment it is due at once");
        assert!(!is_due(&memory("decision"), at(0)));
    }
}
