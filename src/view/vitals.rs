//! The figures of the memory's health, with advice about each bad one.

use std::collections::BTreeMap;

use super::{Fact, count, lag};
use crate::answer::{
    Text,
    health::{Health, Signs, Stale, Strength},
    worker::Worker,
};

/// Advice on each bad figure. It is the same on a page and in a terminal.
const FLAGGED: &str = "cerebro get ID shows what a text seems to try, cerebro delete ID deletes it: cerebro sql \
    \"SELECT id, title, flags FROM memory WHERE live AND flags[0] != NONE\" lists them";
const STALE: &str =
    "cerebro get ID says what changed; cerebro update ID corrects it, or says --verified that it holds";
const DUE: &str = "cerebro context lists them; cerebro update ID --done ends one";
const EXPIRED: &str = "cerebro update ID --valid-until DATE if it still holds, otherwise cerebro delete ID";
const TWINS: &str = "cerebro web shows both side by side under Review, to keep one";
const REVIEW: &str = "cerebro web shows both side by side under Review, to settle which one holds";
const INSIGHTS: &str = "cerebro consolidate --log ID shows them and --apply ID carries the plan out; until then no night makes \
    another plan where consolidate is \"apply\"";
const FADED: &str = "they are found as before; cerebro pin ID keeps one strong, cerebro delete ID deletes it";

/// The facts about the memory.
pub fn vitals(health: &Health) -> Vec<Fact> {
    let ill = |name: &'static str, found: u64, todo: &'static str| {
        Fact::new(Some(found == 0), name, count(found)).todo((found > 0).then_some(todo))
    };
    let several =
        |found: u64, noun: &str| format!("{} {noun}{}", count(found), if found == 1 { "" } else { "s" });
    let graph = format!("{}, {}", several(health.nodes, "node"), several(health.edges, "edge"));
    let consolidated = health.last_consolidation.as_ref().and_then(Text::moment);
    let consolidated = consolidated.map(|at| at.strftime("%Y-%m-%d %H:%M UTC").to_string());
    let mut facts = vec![
        Fact::new(None, "memories", format!("{} live of {}", count(health.live), count(health.total))),
        Fact::new(None, "kinds", listed(&health.kinds)),
        Fact::new(None, "scopes", listed(&health.scopes)),
        Fact::new(None, "strength", health.strength.as_ref().map(strength).unwrap_or_default()),
        Fact::new(None, "graph", graph),
        Fact::new(None, "documents", count(health.documents)),
        Fact::new(None, "consolidated", consolidated.unwrap_or_else(|| "never".to_owned())),
        Fact::new(None, "due", count(health.due)).todo((health.due > 0).then_some(DUE)),
        ill("expired", health.expired, EXPIRED),
        ill("flagged", health.flagged, FLAGGED),
        ill("alike", health.twins, TWINS),
        ill("review", health.review, REVIEW),
        Fact::new(None, "faded", count(health.faded)).todo((health.faded > 0).then_some(FADED)),
    ];
    if let Some(Stale { memories, of, .. }) = health.stale {
        let words = format!("{} of {} that speak of code here", count(memories), count(of));
        facts.push(Fact::new(Some(memories == 0), "stale", words).todo((memories > 0).then_some(STALE)));
    }
    if let Some(insights) = health.insights {
        let words = format!("{} of a plan for you to decide", count(insights));
        facts.push(Fact::new(None, "insights", words).todo(Some(INSIGHTS)));
    }
    facts.push(use_of(&health.feedback));
    let watched = &health.watched;
    if watched.shown > 0 {
        let words = format!(
            "{}: {} used, {} corrected, {} passed over, since the daemon started",
            count(watched.shown),
            count(watched.used),
            count(watched.corrected),
            count(watched.ignored)
        );
        facts.push(Fact::new(None, "shown", words));
    }
    facts
}

/// Only the bad ones, for a small space.
pub fn problems(health: &Health) -> impl Iterator<Item = Fact> {
    vitals(health).into_iter().filter(|fact| fact.well == Some(false))
}

fn listed(figures: &BTreeMap<String, u64>) -> String {
    let parts: Vec<String> =
        figures.iter().map(|(name, figure)| format!("{} {name}", count(*figure))).collect();
    parts.join(", ")
}

fn strength(Strength { average, weakest }: &Strength) -> String {
    format!("{average:.2} on average, {weakest:.2} at least")
}

/// The signs about memories that searches showed. They are counted and do not affect the order.
fn use_of(signs: &Signs) -> Fact {
    let number = |signs: Option<u64>| count(signs.unwrap_or_default());
    let mut words = format!(
        "{} read, {} said again, {} corrected, {} passed over",
        number(signs.read),
        number(signs.answer),
        number(signs.corrected),
        number(signs.asked_again)
    );
    let said =
        [(signs.said_useful, "called useful"), (signs.said_useless, "useless"), (signs.said_wrong, "wrong")];
    for (signs, what) in said.into_iter().filter(|(signs, _)| signs.is_some_and(|signs| signs > 0)) {
        words = format!("{words}, {} {what}", number(signs));
    }
    Fact::new(None, "use", words)
}

/// The worker's lag and what it spent.
pub fn spent(worker: &Worker) -> Vec<Fact> {
    let mut facts = Vec::new();
    if let (Some(half), Some(most)) = (worker.lag_p50_ms, worker.lag_p99_ms) {
        facts.push(Fact::new(None, "from save to vector", lag(half, most)));
    }
    let (waiting, dead) = (worker.queue_depth, worker.dead);
    facts.push(
        Fact::new(Some(dead == 0), "jobs", format!("{} waiting, {} given up", count(waiting), count(dead)))
            .todo((dead > 0).then_some("cerebro jobs shows why, cerebro jobs retry retries them")),
    );
    if let Some(requests) = worker.requests_today {
        let tokens = worker.tokens_today.unwrap_or_default();
        let words = format!("{} tokens in {} requests", count(tokens), count(requests));
        facts.push(Fact::new(None, "spent today", words));
    }
    if let Some(detail) = worker.detail.as_ref().filter(|detail| !detail.is_empty()) {
        facts.push(Fact::new(Some(false), "worker", detail.line()).todo(Some("cerebro worker says more")));
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_that_is_not_well_says_what_to_do() {
        let well = Health {
            live: 3,
            total: 4,
            strength: Some(Strength { average: 0.976, weakest: 0.9 }),
            ..Health::default()
        };
        assert!(vitals(&well).iter().all(|fact| fact.todo.is_none()), "{:?}", vitals(&well));
        assert_eq!(problems(&well).count(), 0);
        let ill = Health {
            live: 2_000,
            total: 2_100,
            due: 1,
            expired: 1,
            flagged: 2,
            twins: 3,
            review: 1,
            faded: 4,
            insights: Some(2),
            kinds: [("episodic".to_owned(), 2), ("semantic".to_owned(), 1_998)].into(),
            stale: Some(Stale { memories: 1, of: 9, ids: Vec::new() }),
            feedback: Signs { read: Some(5), corrected: Some(1), ..Signs::default() },
            ..Health::default()
        };
        let facts = vitals(&ill);
        let of = |name: &str| facts.iter().find(|fact| fact.name == name).unwrap();
        for name in ["due", "expired", "flagged", "alike", "review", "faded", "stale", "insights"] {
            assert!(of(name).todo.is_some(), "{name}");
        }
        let worker = Worker {
            queue_depth: 2,
            dead: 1,
            lag_p50_ms: Some(3),
            lag_p99_ms: Some(8),
            requests_today: Some(2),
            ..Worker::default()
        };
        let jobs = &spent(&worker)[1];
        assert!(jobs.name == "jobs" && jobs.well == Some(false) && jobs.todo.is_some(), "{jobs:?}");
        assert_eq!(of("memories").words, "2,000 live of 2,100");
        assert_eq!(of("kinds").words, "2 episodic, 1,998 semantic");
        assert_eq!(of("use").words, "5 read, 0 said again, 1 corrected, 0 passed over");
        let names: Vec<&str> = problems(&ill).map(|fact| fact.name).collect();
        assert_eq!(names, ["expired", "flagged", "alike", "review", "stale"]);
    }
}
