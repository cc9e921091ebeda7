//! The number, results and durations of calls by tool, for Prometheus. They contain no text of a request or an answer,
//! and no names of projects, agents or sessions.
//!
//! The output is Prometheus' text format 0.0.4.

use std::{collections::BTreeMap, fmt::Write as _, sync::Mutex, time::Duration};

use cerebro_core::operation::Operation;
use cerebro_core::sync::lock;

/// The content type of the text.
pub(super) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";
/// Upper bounds of the histogram's buckets, in seconds.
const BOUNDS: [f64; 9] = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0];
/// The label of all operations that are not tools. So the number of labels is bounded.
const OPERATION: &str = "operation";

#[derive(Debug, Clone, Default)]
struct Tally {
    ok: u64,
    failed: u64,
    seconds: f64,
    /// The number of calls by the smallest bound that they met. Slower calls are in none.
    buckets: [u64; BOUNDS.len()],
}

/// The tallies since the daemon started.
#[derive(Debug, Default)]
pub(super) struct Metrics(Mutex<BTreeMap<&'static str, Tally>>);

impl Metrics {
    /// Records an answered call.
    pub(super) fn note(&self, operation: Operation, took: Duration, failed: bool) {
        let label = if operation.is_tool() { operation.name() } else { OPERATION };
        let mut tallies = lock(&self.0);
        let tally = tallies.entry(label).or_default();
        *(if failed { &mut tally.failed } else { &mut tally.ok }) += 1;
        let seconds = took.as_secs_f64();
        tally.seconds += seconds;
        if let Some(at) = BOUNDS.iter().position(|bound| seconds <= *bound) {
            tally.buckets[at] += 1;
        }
    }

    /// The tallies in Prometheus' format.
    pub(super) fn text(&self) -> String {
        let mut tallies = lock(&self.0).clone();
        for tool in Operation::tools() {
            tallies.entry(tool.name()).or_default();
        }
        let mut text = String::new();
        head(&mut text, "cerebro_calls_total", "counter", "Calls answered, by tool and outcome.");
        for (tool, tally) in &tallies {
            for (outcome, count) in [("ok", tally.ok), ("error", tally.failed)] {
                let _ =
                    writeln!(text, "cerebro_calls_total{{tool=\"{tool}\",outcome=\"{outcome}\"}} {count}");
            }
        }
        head(&mut text, "cerebro_call_seconds", "histogram", "How long calls took, by tool.");
        for (tool, tally) in &tallies {
            let mut below = 0;
            for (bound, count) in BOUNDS.iter().zip(tally.buckets) {
                below += count;
                let _ =
                    writeln!(text, "cerebro_call_seconds_bucket{{tool=\"{tool}\",le=\"{bound}\"}} {below}");
            }
            let (all, seconds) = (tally.ok + tally.failed, tally.seconds);
            let _ = writeln!(text, "cerebro_call_seconds_bucket{{tool=\"{tool}\",le=\"+Inf\"}} {all}");
            let _ = writeln!(text, "cerebro_call_seconds_sum{{tool=\"{tool}\"}} {seconds}");
            let _ = writeln!(text, "cerebro_call_seconds_count{{tool=\"{tool}\"}} {all}");
        }
        text
    }
}

/// Adds one present number without labels.
pub(super) fn gauge(text: &mut String, name: &str, help: &str, value: u64) {
    head(text, name, "gauge", help);
    let _ = writeln!(text, "{name} {value}");
}

fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_by_tool_and_outcome() {
        let metrics = Metrics::default();
        metrics.note(Operation::Save, Duration::from_millis(3), false);
        metrics.note(Operation::Save, Duration::from_millis(30), true);
        metrics.note(Operation::Save, Duration::from_secs(9), false);
        metrics.note(Operation::Sql, Duration::ZERO, false);
        let text = metrics.text();
        for line in [
            "cerebro_calls_total{tool=\"mem_save\",outcome=\"ok\"} 2",
            "cerebro_calls_total{tool=\"mem_save\",outcome=\"error\"} 1",
            "cerebro_calls_total{tool=\"mem_search\",outcome=\"ok\"} 0",
            "cerebro_calls_total{tool=\"operation\",outcome=\"ok\"} 1",
            "cerebro_call_seconds_bucket{tool=\"mem_save\",le=\"0.001\"} 0",
            "cerebro_call_seconds_bucket{tool=\"mem_save\",le=\"0.005\"} 1",
            "cerebro_call_seconds_bucket{tool=\"mem_save\",le=\"0.05\"} 2",
            "cerebro_call_seconds_bucket{tool=\"mem_save\",le=\"5\"} 2",
            "cerebro_call_seconds_bucket{tool=\"mem_save\",le=\"+Inf\"} 3",
            "cerebro_call_seconds_count{tool=\"mem_save\"} 3",
        ] {
            assert!(text.lines().any(|have| have == line), "{line}\n{text}");
        }
        assert!(!text.contains("op_sql"), "{text}");
    }
}
