//! The figures of the memory's health, with advice about each bad one.

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::{Fact, count, lag, moment, text};

/// Advice on each bad figure. It is the same on a page and in a terminal.
const FLAGGED: &str = "cerebro get ID shows what a text seems to try, cerebro delete ID deletes it: cerebro sql \
    \"SELECT id, title, flags FROM memory WHERE live AND flags[0] != NONE\" lists them";
const STALE: &str =
    "cerebro get ID says what changed; cerebro update ID corrects it, or says --verified that it holds";
const DUE: &str = "cerebro context lists them; cerebro update ID --done ends one";
const EXPIRED: &str = "cerebro update ID --valid-until DATE if it still holds, otherwise cerebro delete ID";
const TWINS: &str = "cerebro web shows both side by side under Review, to keep one";
const REVIEW: &str = "cerebro web shows both side by side under Review, to settle which one holds";
const FADED: &str = "they are found as before; cerebro pin ID keeps one strong, cerebro delete ID deletes it";

/// The facts in the answer of `op_health`, or of `mem_stats`, which has fewer. Empty if there is no block about health.
pub fn vitals(answer: &Value) -> Vec<Fact> {
    let health = &answer["health"];
    if !health.is_object() {
        return Vec::new();
    }
    let number = |name: &str| health[name].as_u64().unwrap_or(0);
    let ill = |name: &'static str, key: &str, todo: &'static str| {
        let found = number(key);
        Fact::new(Some(found == 0), name, count(found)).todo((found > 0).then_some(todo))
    };
    let several = |key: &str, noun: &str| {
        let found = number(key);
        format!("{} {noun}{}", count(found), if found == 1 { "" } else { "s" })
    };
    let due = number("due");
    let mut facts = vec![
        Fact::new(None, "memories", format!("{} live of {}", count(number("live")), count(number("total")))),
        Fact::new(None, "kinds", listed(&health["kinds"])),
        Fact::new(None, "scopes", listed(&health["scopes"])),
        Fact::new(None, "strength", strength(&health["strength"])),
        Fact::new(None, "graph", format!("{}, {}", several("nodes", "node"), several("edges", "edge"))),
        Fact::new(None, "documents", count(number("documents"))),
        Fact::new(None, "consolidated", day_of(moment(health, "last_consolidation"))),
        Fact::new(None, "due", count(due)).todo((due > 0).then_some(DUE)),
        ill("expired", "expired", EXPIRED),
        ill("flagged", "flagged", FLAGGED),
        ill("alike", "twins", TWINS),
        ill("review", "review", REVIEW),
        Fact::new(None, "faded", count(number("faded"))).todo((number("faded") > 0).then_some(FADED)),
    ];
    let stale = &health["stale"];
    if let (Some(found), Some(known)) = (stale["memories"].as_u64(), stale["of"].as_u64()) {
        let words = format!("{} of {} that speak of code here", count(found), count(known));
        facts.push(Fact::new(Some(found == 0), "stale", words).todo((found > 0).then_some(STALE)));
    }
    facts.push(use_of(&health["feedback"]));
    let watched = &health["watched"];
    if let Some(shown) = watched["shown"].as_u64().filter(|shown| *shown > 0) {
        let number = |name: &str| count(watched[name].as_u64().unwrap_or(0));
        let (used, corrected, ignored) = (number("used"), number("corrected"), number("ignored"));
        let shown = count(shown);
        let words = format!(
            "{shown}: {used} used, {corrected} corrected, {ignored} passed over, since the daemon started"
        );
        facts.push(Fact::new(None, "shown", words));
    }
    facts
}

/// Only the bad ones, for a small space.
pub fn ills(answer: &Value) -> impl Iterator<Item = Fact> {
    vitals(answer).into_iter().filter(|fact| fact.well == Some(false))
}

/// The day of the last consolidation.
fn day_of(at: Option<Timestamp>) -> String {
    at.map_or_else(|| "never".to_owned(), |at| at.strftime("%Y-%m-%d %H:%M UTC").to_string())
}

fn listed(figures: &Value) -> String {
    let none = Map::new();
    let figures = figures.as_object().unwrap_or(&none);
    let parts: Vec<String> = figures
        .iter()
        .map(|(name, figure)| format!("{} {name}", count(figure.as_u64().unwrap_or(0))))
        .collect();
    parts.join(", ")
}

fn strength(figures: &Value) -> String {
    match (figures["average"].as_f64(), figures["weakest"].as_f64()) {
        (Some(average), Some(weakest)) => format!("{average:.2} on average, {weakest:.2} at least"),
        _ => String::new(),
    }
}

/// The signs about memories that searches showed. They are counted and do not affect the order.
fn use_of(signs: &Value) -> Fact {
    let number = |name: &str| signs[name].as_u64().unwrap_or(0);
    let mut words = format!(
        "{} read, {} said again, {} corrected, {} passed over",
        count(number("read")),
        count(number("answer")),
        count(number("corrected")),
        count(number("asked_again"))
    );
    let said = [("said_useful", "called useful"), ("said_useless", "useless"), ("said_wrong", "wrong")];
    for (name, what) in said.into_iter().filter(|(name, _)| number(name) > 0) {
        words = format!("{words}, {} {what}", count(number(name)));
    }
    Fact::new(None, "use", words)
}

/// The worker's lag and what it spent.
pub fn spent(answer: &Value) -> Vec<Fact> {
    let worker = &answer["worker"];
    let number = |name: &str| worker[name].as_u64().unwrap_or(0);
    let mut facts = Vec::new();
    if let (Some(half), Some(most)) = (worker["lag_p50_ms"].as_u64(), worker["lag_p99_ms"].as_u64()) {
        facts.push(Fact::new(None, "from save to vector", lag(half, most)));
    }
    let (waiting, dead) = (number("queue_depth"), number("dead"));
    facts.push(
        Fact::new(Some(dead == 0), "jobs", format!("{} waiting, {} given up", count(waiting), count(dead)))
            .todo((dead > 0).then_some("cerebro jobs shows why, cerebro jobs retry retries them")),
    );
    if worker["requests_today"].is_u64() {
        let words = format!(
            "{} tokens in {} requests",
            count(number("tokens_today")),
            count(number("requests_today"))
        );
        facts.push(Fact::new(None, "spent today", words));
    }
    if !text(worker, "detail").is_empty() {
        facts.push(
            Fact::new(Some(false), "worker", text(worker, "detail")).todo(Some("cerebro worker says more")),
        );
    }
    facts
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_figure_that_is_not_well_says_what_to_do() {
        assert_eq!(vitals(&json!({ "worker": {} })), Vec::new());
        let well =
            json!({ "health": { "live": 3, "total": 4, "strength": { "average": 0.976, "weakest": 0.9 } } });
        assert!(vitals(&well).iter().all(|fact| fact.todo.is_none()), "{:?}", vitals(&well));
        assert_eq!(ills(&well).count(), 0);
        let ill = json!({
            "health": {
                "live": 2_000, "total": 2_100, "due": 1, "expired": 1, "flagged": 2, "twins": 3, "review": 1, "faded": 4,
                "kinds": { "episodic": 2, "semantic": 1_998 }, "stale": { "memories": 1, "of": 9 },
                "feedback": { "read": 5, "corrected": 1 },
            },
            "worker": { "queue_depth": 2, "dead": 1, "lag_p50_ms": 3, "lag_p99_ms": 8, "requests_today": 2 },
        });
        let facts = vitals(&ill);
        let of = |name: &str| facts.iter().find(|fact| fact.name == name).unwrap();
        for name in ["due", "expired", "flagged", "alike", "review", "faded", "stale"] {
            assert!(of(name).todo.is_some(), "{name}");
        }
        let jobs = &spent(&ill)[1];
        assert!(jobs.name == "jobs" && jobs.well == Some(false) && jobs.todo.is_some(), "{jobs:?}");
        assert_eq!(of("memories").words, "2,000 live of 2,100");
        assert_eq!(of("kinds").words, "2 episodic, 1,998 semantic");
        assert_eq!(of("use").words, "5 read, 0 said again, 1 corrected, 0 passed over");
        let names: Vec<&str> = ills(&ill).map(|fact| fact.name).collect();
        assert_eq!(names, ["expired", "flagged", "alike", "review", "stale"]);
    }
}
