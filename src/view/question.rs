//! The requests that screens and pages share.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::DAYS_MAX;
use cerebro_core::domain::limits::GET_BYTES_MAX;

/// For `mem_get_observation`: a whole memory.
pub fn whole(id: &str) -> Value {
    json!({ "id": id, "max_bytes": GET_BYTES_MAX })
}

/// For `mem_get_observation`: a memory with its earlier texts.
pub fn history(id: &str) -> Value {
    json!({ "id": id, "history": true, "max_bytes": GET_BYTES_MAX })
}

/// For `op_activity`: the number of saves on each of the last days.
pub fn saves(project: Option<&str>, now: Timestamp) -> Value {
    let since = now.saturating_sub(SignedDuration::from_hours(24 * DAYS_MAX)).unwrap_or(now);
    json!({ "project": project, "since": since.to_string(), "until": now.to_string() })
}
