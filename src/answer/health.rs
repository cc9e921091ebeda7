//! The answers about the health of the memory.

use std::collections::BTreeMap;

use cerebro_service::Watched;
use serde::{Deserialize, Serialize};

use super::{Text, worker::Worker};

/// `op_health`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Report {
    /// The project that it is about, if it is not all.
    pub project: Option<Text>,
    pub health: Health,
    pub worker: Worker,
}

/// Figures about the memories of a project, or of all.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Health {
    /// When they were gathered.
    pub at: Text,
    /// Memories, those that are not live too.
    pub total: u64,
    pub live: u64,
    /// Nodes of the graph: live memories, and the names that a model found in them.
    pub nodes: u64,
    /// Relations and supersessions.
    pub edges: u64,
    /// Documents whose files exist.
    pub documents: u64,
    /// Live memories by kind, and by scope.
    pub kinds: BTreeMap<String, u64>,
    pub scopes: BTreeMap<String, u64>,
    /// Live memories of a strength below one half.
    pub faded: u64,
    /// Prospective memories whose moment has come.
    pub due: u64,
    /// Live memories whose validity is over.
    pub expired: u64,
    /// Live memories that read like an instruction.
    pub flagged: u64,
    /// Pairs that mean nearly the same, and that a model found to be at odds: of the strongest 1,000 of each.
    pub twins: u64,
    pub review: u64,
    pub feedback: Signs,
    /// The memories shown since the daemon started.
    pub watched: Watched,
    /// None without memories.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strength: Option<Strength>,
    /// When the last consolidation that was not undone took place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_consolidation: Option<Text>,
    /// Insights of a plan that waits for a person; none without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub insights: Option<u64>,
    /// None without a checkout, or if none of its memories names code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale: Option<Stale>,
}

/// Signs that memories shown by searches were useful or not, by their sources; what was never observed is left out.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Signs {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<u64>,
    /// The session's last message or summary repeated it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub corrected: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked_again: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said_useful: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said_useless: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said_wrong: Option<u64>,
}

/// The strength of live memories, from 0 to 1, to a thousandth.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Strength {
    pub average: f64,
    pub weakest: f64,
}

/// Memories whose anchors were compared with the caller's checkout, as far as there was time.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Stale {
    /// How many are stale.
    pub memories: u64,
    /// How many were compared.
    pub of: u64,
    /// The ids of the first stale ones.
    pub ids: Vec<Text>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn figures_leave_out_what_is_missing() {
        let mut health = json!({
            "at": "2026-11-25T12:00:00Z", "total": 0, "live": 0, "nodes": 0, "edges": 0, "documents": 0, "kinds": {},
            "scopes": {}, "faded": 0, "due": 0, "expired": 0, "flagged": 0, "twins": 0, "review": 0, "feedback": {},
            "watched": { "shown": 0, "used": 0, "corrected": 0, "ignored": 0 },
        });
        let read: Health = serde_json::from_value(health.clone()).unwrap();
        assert_eq!(json!(read).to_string(), health.to_string());
        health["feedback"] = json!({ "read": 1, "corrected": 2, "said_useful": 3 });
        health["strength"] = json!({ "average": 0.998, "weakest": 0.9 });
        health["last_consolidation"] = json!("2026-11-24T12:00:00Z");
        health["insights"] = json!(2);
        health["stale"] = json!({ "memories": 1, "of": 2, "ids": ["k"] });
        let read: Health = serde_json::from_value(health.clone()).unwrap();
        assert_eq!(json!(read).to_string(), health.to_string());
    }
}
