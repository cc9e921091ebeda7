//! The amount of data and the state of the daemon, for the dashboard in the terminal and the first page.

use jiff::ToSpan;
use jiff::civil::Date;

use super::{bytes, count, lag};
use crate::answer::{distil::Meter, line, memories::Activity, stats::Stats};

/// How many days of saves are requested: three months and a day.
pub const DAYS_MAX: i64 = 92;

/// The days of `op_activity`.
pub fn days_of(activity: &Activity) -> Vec<(Date, u64)> {
    activity.days.iter().filter_map(|day| Some((day.date.raw().parse().ok()?, day.saves))).collect()
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

/// The state of store, index and worker. What is not counted yet is left out.
pub fn facts(stats: Option<&Stats>) -> Vec<Fact> {
    let known = stats.is_some().then_some(true);
    let none = Stats::default();
    let counted = stats.unwrap_or(&none);
    let worker = &counted.worker;
    let size = |size: fn(&Stats) -> u64| stats.map_or("–".to_owned(), |stats| bytes(size(stats)));
    let model = match (&worker.provider, &worker.model) {
        (None, None) => "no model".to_owned(),
        (provider, model) => {
            format!("{} {}", line(provider.as_ref()), line(model.as_ref())).trim().to_owned()
        }
    };
    let (worker_well, worker_todo) = match worker.state.raw() {
        "working" | "idle" => (Some(true), None),
        "unusable" => (Some(false), Some("cerebro model test says what is wrong")),
        "disagrees" => {
            (Some(false), Some("cerebro reindex computes all vectors with the model of the settings"))
        }
        "paused" => (None, Some("cerebro worker resume continues it")),
        _ => (None, None),
    };
    let lag = match (worker.lag_p50_ms, worker.lag_p99_ms) {
        (Some(half), Some(most)) => lag(half, most),
        _ => "not measured yet".to_owned(),
    };
    let queue_well = if worker.failures > 0 { Some(false) } else { known };
    let queue = format!("{} waiting, {} failed", count(worker.queue_depth), count(worker.failures));
    let store = format!("{}, schema {}", size(|stats| stats.store_bytes), counted.schema_version);
    vec![
        Fact::new(known, "store", store),
        Fact::new(known, "index", size(|stats| stats.index_bytes)),
        Fact::new(worker_well, "worker", format!("{} · {model}", worker.state.line())).todo(worker_todo),
        Fact::new(queue_well, "queue", queue)
            .todo((worker.dead > 0).then_some("cerebro jobs shows why, cerebro jobs retry retries them")),
        Fact::new(None, "lag", lag),
    ]
    .into_iter()
    .chain(worker.distil.iter().flat_map(distilling))
    .collect()
}

/// Today's cost of distilling with its caps, and what waits for a decision. Each is short enough for a column of the
/// dashboard.
fn distilling(meter: &Meter) -> [Fact; 3] {
    let of = |spent: u64, most: Option<u64>| match most {
        None => count(spent),
        Some(most) => format!("{} of {}", count(spent), count(most)),
    };
    let tokens = of(meter.tokens_today, meter.tokens_per_day);
    let requests = of(meter.requests_today, meter.requests_per_day);
    let todo = (meter.waiting > 0).then_some("cerebro distil review shows them");
    [
        Fact::new(None, "distil", format!("{tokens} tokens")),
        Fact::new(None, "asked", format!("{requests} requests today")),
        Fact::new(None, "inbox", format!("{} waiting", count(meter.waiting))).todo(todo),
    ]
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::answer::{memories::Day, worker::Worker};

    fn of(worker: Worker) -> Vec<Fact> {
        facts(Some(&Stats { store_bytes: 2_000, worker, ..Stats::default() }))
    }

    #[test]
    fn the_meter_of_distilling_is_shown_where_there_is_one() {
        assert!(of(Worker::default()).iter().all(|fact| fact.name != "distil"));
        let meter = Meter {
            state: "idle".into(),
            waiting: 2,
            tokens_today: 1_500,
            requests_today: 3,
            tokens_per_day: Some(200_000),
            requests_per_day: None,
        };
        let facts = of(Worker { distil: Some(meter), ..Worker::default() });
        let of = |name: &str| facts.iter().find(|fact| fact.name == name).unwrap();
        assert_eq!(of("distil").words, "1,500 of 200,000 tokens");
        assert_eq!(of("asked").words, "3 requests today");
        assert!(of("inbox").words == "2 waiting" && of("inbox").todo.is_some());
    }

    #[test]
    fn days_without_saves_count_nothing_and_days_outside_are_left_out() {
        let saves = [("2026-11-20", 3), ("2026-11-22", 1), ("2026-11-18", 9), ("2026-11-23", 9)];
        let days = saves.map(|(date, saves)| Day { date: date.into(), saves });
        let days = days_of(&Activity { days: days.to_vec() });
        let today = "2026-11-22".parse().unwrap();
        let (first, counts) = saves_by_day(&days, today, 4);
        assert_eq!((first.to_string().as_str(), counts), ("2026-11-19", vec![0, 3, 0, 1]));
    }

    #[test]
    fn what_is_not_well_says_what_to_do() {
        let facts = of(Worker { state: "disagrees".into(), failures: 2, dead: 1, ..Worker::default() });
        let of = |name: &str| facts.iter().find(|fact| fact.name == name).unwrap();
        assert!(of("worker").well == Some(false) && of("worker").todo.is_some());
        assert!(of("queue").well == Some(false) && of("queue").todo.is_some());
        assert!(of("store").well == Some(true) && of("store").words.starts_with("2.0 kB"));
        assert_eq!(super::facts(None)[0].well, None);
    }
}
