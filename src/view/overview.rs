//! The amount of data and the state of the daemon, for the dashboard in the terminal and the first page.

use jiff::civil::Date;
use jiff::{Timestamp, ToSpan};
use serde_json::Value;

use super::{bytes, count, items, lag, moment, text};

/// How many days of saves are requested: three months and a day.
pub const DAYS_MAX: i64 = 92;

/// A connected agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Client {
    /// Empty until it has named itself.
    pub agent: String,
    pub project: String,
    pub calls: u64,
    pub last_at: Option<Timestamp>,
}

impl Client {
    /// From `op_clients`.
    pub fn read(value: &Value) -> Self {
        Self {
            agent: text(value, "agent"),
            project: text(value, "project"),
            calls: value["calls"].as_u64().unwrap_or(0),
            last_at: moment(value, "last_at"),
        }
    }
}

/// The days of `op_activity` that have any saves.
pub fn days_of(value: &Value) -> Vec<(Date, u64)> {
    let day = |day: &Value| Some((text(day, "date").parse().ok()?, day["saves"].as_u64()?));
    items(value, "days").filter_map(day).collect()
}

/// The first of the last `count` days up to `today`, and the number of saves on each of them.
pub fn saves_by_day(days: &[(Date, u64)], today: Date, count: i64) -> (Date, Vec<u64>) {
    let first = today.saturating_sub((count - 1).days());
    let mut counts = vec![0_u64; usize::try_from(count).unwrap_or(0)];
    for (day, saves) in days {
        let at = (*day - first).get_days();
        if let Some(count) = usize::try_from(at).ok().and_then(|at| counts.get_mut(at)) {
            *count = *saves;
        }
    }
    (first, counts)
}

/// A fact, which may be good or bad.
#[derive(Debug, Clone, PartialEq)]
pub struct Fact {
    /// `None` where neither applies.
    pub well: Option<bool>,
    pub name: &'static str,
    pub words: String,
    /// Advice for a person.
    pub todo: Option<&'static str>,
}

impl Fact {
    /// A fact without advice.
    pub fn new(well: Option<bool>, name: &'static str, words: impl Into<String>) -> Self {
        Self { well, name, words: words.into(), todo: None }
    }

    /// Adds advice.
    #[must_use]
    pub fn todo(mut self, todo: Option<&'static str>) -> Self {
        self.todo = todo;
        self
    }
}

/// The state of store, index and worker, from `mem_stats`.
pub fn facts(stats: &Value) -> Vec<Fact> {
    let worker = &stats["worker"];
    let well = (!stats.is_null()).then_some(true);
    let number = |name: &str| worker[name].as_u64().unwrap_or(0);
    let size = |name: &str| stats[name].as_u64().map_or("–".to_owned(), bytes);
    let model = match (text(worker, "provider"), text(worker, "model")) {
        (provider, model) if provider.is_empty() && model.is_empty() => "no model".to_owned(),
        (provider, model) => format!("{provider} {model}").trim().to_owned(),
    };
    let state = text(worker, "state");
    let (worker_well, worker_todo) = match state.as_str() {
        "working" | "idle" => (Some(true), None),
        "unusable" => (Some(false), Some("cerebro model test says what is wrong")),
        "disagrees" => {
            (Some(false), Some("cerebro reindex computes all vectors with the model of the settings"))
        }
        "paused" => (None, Some("cerebro worker resume continues it")),
        _ => (None, None),
    };
    let lag = match (worker["lag_p50_ms"].as_u64(), worker["lag_p99_ms"].as_u64()) {
        (Some(half), Some(most)) => lag(half, most),
        _ => "not measured yet".to_owned(),
    };
    let (failures, dead) = (number("failures"), number("dead"));
    let queue_well = if failures > 0 { Some(false) } else { well };
    let queue = format!("{} waiting, {} failed", count(number("queue_depth")), count(failures));
    let store = format!("{}, schema {}", size("store_bytes"), stats["schema_version"].as_u64().unwrap_or(0));
    vec![
        Fact::new(well, "store", store),
        Fact::new(well, "index", size("index_bytes")),
        Fact::new(worker_well, "worker", format!("{state} · {model}")).todo(worker_todo),
        Fact::new(queue_well, "queue", queue)
            .todo((dead > 0).then_some("cerebro jobs shows why, cerebro jobs retry retries them")),
        Fact::new(None, "lag", lag),
    ]
    .into_iter()
    .chain(distilling(&worker["distil"]))
    .collect()
}

/// The waiting candidates and today's cost of distilling; `None` if it is off and nothing waits.
fn distilling(meter: &Value) -> Option<Fact> {
    let number = |name: &str| meter[name].as_u64().unwrap_or(0);
    let of = |spent: &str, most: &str| match number(most) {
        0 => count(number(spent)),
        most => format!("{} of {}", count(number(spent)), count(most)),
    };
    meter.as_object()?;
    let tokens = of("tokens_today", "tokens_per_day");
    let requests = of("requests_today", "requests_per_day");
    let waiting = number("waiting");
    let words = format!("{} waiting, today {tokens} tokens, {requests} requests", count(waiting));
    let todo = (waiting > 0).then_some("cerebro distil review shows them");
    Some(Fact::new(None, "distil", words).todo(todo))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_meter_of_distilling_is_shown_where_there_is_one() {
        assert!(facts(&json!({ "worker": {} })).iter().all(|fact| fact.name != "distil"));
        let meter = json!({ "state": "idle", "waiting": 2, "tokens_today": 1_500, "requests_today": 3,
            "tokens_per_day": 200_000, "requests_per_day": 0 });
        let facts = facts(&json!({ "worker": { "distil": meter } }));
        let fact = facts.iter().find(|fact| fact.name == "distil").unwrap();
        assert_eq!(fact.words, "2 waiting, today 1,500 of 200,000 tokens, 3 requests");
        assert!(fact.todo.is_some());
    }

    #[test]
    fn days_without_saves_count_nothing_and_days_outside_are_left_out() {
        let days = days_of(&json!({ "days": [
            { "date": "2026-11-20", "saves": 3 }, { "date": "2026-11-22", "saves": 1 },
            { "date": "2026-11-18", "saves": 9 }, { "date": "2026-11-23", "saves": 9 },
        ] }));
        let today = "2026-11-22".parse().unwrap();
        let (first, counts) = saves_by_day(&days, today, 4);
        assert_eq!((first.to_string().as_str(), counts), ("2026-11-19", vec![0, 3, 0, 1]));
    }

    #[test]
    fn what_is_not_well_says_what_to_do() {
        let stats =
            json!({ "store_bytes": 2_000, "worker": { "state": "disagrees", "failures": 2, "dead": 1 } });
        let facts = facts(&stats);
        let of = |name: &str| facts.iter().find(|fact| fact.name == name).unwrap();
        assert!(of("worker").well == Some(false) && of("worker").todo.is_some());
        assert!(of("queue").well == Some(false) && of("queue").todo.is_some());
        assert!(of("store").well == Some(true) && of("store").words.starts_with("2.0 kB"));
        assert_eq!(super::facts(&Value::Null)[0].well, None);
    }
}
