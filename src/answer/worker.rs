//! The answers about the worker and its jobs.

use std::ops::Not;

use serde::{Deserialize, Serialize};

use super::{Text, distil::Meter};

/// `op_worker`, `op_worker_pause` and `op_worker_resume`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Status {
    pub worker: Worker,
}

/// The worker; what is missing is left out.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Worker {
    /// `off`, `idle`, `working`, `waiting`, `paused`, `disagrees` or `unusable`.
    pub state: Text,
    /// Jobs that are neither done nor given up.
    pub queue_depth: u64,
    /// Attempts that failed since the daemon started.
    pub failures: u64,
    /// Jobs that were given up.
    pub dead: u64,
    /// Memories that got their vectors since the daemon started.
    pub embedded: u64,
    /// Why it is in its state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<Text>,
    /// The model that it asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Text>,
    /// The model that searches ask, if it is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub searched_model: Option<Text>,
    /// Whether memories without vectors are still being queued.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub filling: bool,
    /// The time from save to vector in milliseconds: the median, and what 99 of 100 stay below.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lag_p50_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lag_p99_ms: Option<u64>,
    /// What was spent since midnight UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_today: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_today: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distil: Option<Meter>,
    /// The chat model that is asked how memories relate, or why none can be asked; only in the answers about the
    /// worker alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relations: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relations_fault: Option<Text>,
}

/// `op_jobs`: the jobs of one state.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Jobs {
    /// How many wait, are under way and were given up in all.
    pub queued: u64,
    pub leased: u64,
    pub dead: u64,
    pub jobs: Vec<Job>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Job {
    /// The id of its subject: a memory or an exchange.
    pub memory: Text,
    /// Empty if that has none.
    pub title: Text,
    /// `queued`, `leased` or `dead`.
    pub state: Text,
    pub attempts: u32,
    /// When it is tried next, or its lease ends.
    pub due_at: Text,
    /// Why the last attempt failed.
    pub error: Option<Text>,
}

/// `op_jobs_retry`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Retried {
    /// How many jobs that were given up wait again.
    pub revived: u64,
}

/// `op_reindex`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Reindexing {
    /// The model that makes the vectors, with its provider.
    pub model: Text,
    /// The model that searches ask meanwhile, if it is another one.
    pub replaces: Option<Text>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_worker_leaves_out_what_is_missing() {
        let mut worker = json!({ "state": "off", "queue_depth": 2, "failures": 0, "dead": 1, "embedded": 0 });
        let read: Worker = serde_json::from_value(worker.clone()).unwrap();
        assert_eq!(json!(read).to_string(), worker.to_string());
        worker["filling"] = json!(true);
        worker["lag_p50_ms"] = json!(81);
        worker["lag_p99_ms"] = json!(111);
        worker["distil"] = json!({
            "state": "idle", "waiting": 0, "tokens_today": 0, "requests_today": 0, "tokens_per_day": null,
            "requests_per_day": 50,
        });
        worker["relations"] = json!("openai/test");
        let read: Worker = serde_json::from_value(worker.clone()).unwrap();
        assert_eq!(json!(read).to_string(), worker.to_string());
    }
}
