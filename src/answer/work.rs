//! The answers about the journal of work.

use cerebro_ledger::State;
pub use cerebro_service::work::{PrunedWork, WorkHead, WorkProof};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Text, memories::Named};

/// A piece of work.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Piece {
    /// Its id.
    pub work: Text,
    pub project: Text,
    pub kind: Text,
    pub title: Text,
    pub status: Text,
    pub outcome: Option<Text>,
    /// Why nobody is working on it though it is open, such as `lost`.
    pub stale: Option<Text>,
    pub agent: Text,
    pub session_id: Option<Text>,
    pub key: Option<Text>,
    pub parent: Option<Text>,
    /// The piece of work and the event from which it was forked: `id@seq`.
    pub forked_from: Option<Text>,
    pub created_at: Text,
    pub active_at: Text,
    /// The number of its last event.
    pub seq: u64,
    pub holder: Option<Text>,
    /// When the holder's lease ends.
    pub until: Option<Text>,
    pub fence: u64,
}

impl Piece {
    /// Its status as one word: why nobody is working on it, if that is so.
    pub fn standing(&self) -> &Text {
        self.stale.as_ref().unwrap_or(&self.status)
    }
}

/// `op_work_list`
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Listed {
    /// Whether the journal is on.
    pub enabled: bool,
    /// Until when the journal counts as degraded: it answered too slowly, so callers do not wait for it, or a write failed.
    pub degraded_until: Option<Text>,
    /// Events that were not recorded.
    pub missed: Option<u64>,
    pub works: Vec<Piece>,
}

/// `op_work_show`
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Shown {
    pub work: Piece,
    pub state: State,
    /// What was found out in it.
    pub memories: Vec<Named>,
}

/// `op_work_tail`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Events {
    pub work: Text,
    pub events: Vec<Event>,
}

/// An event of a piece of work.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Event {
    pub seq: u64,
    pub at: Text,
    pub kind: Text,
    /// Whether its writer had lost the lease.
    pub late: bool,
    /// What happened, as it is stored; a later version may have kinds of steps that this one does not know.
    pub step: Option<Value>,
    /// Whether its text was removed.
    pub purged: bool,
    /// The length of the whole body, if the row has only its beginning.
    pub full_bytes: Option<u64>,
    pub artifact: Option<Text>,
}

/// `op_work_resume`; empty if nothing is unfinished.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Resumed {
    pub work: Option<Piece>,
    pub action: Option<Text>,
    /// The hint.
    pub text: Option<Text>,
}

/// `op_work_close`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Closed {
    pub work: Piece,
    /// The ids of the memories that its findings became.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memories: Vec<Text>,
}

/// `op_work_fork`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Forked {
    pub work: Piece,
}

/// `op_work_export`: a page of lines.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Exported {
    pub lines: Vec<String>,
    /// The event after which the next page begins.
    pub next: Option<u64>,
}

/// `op_work_verify`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Verified {
    pub works: u64,
    pub events: u64,
    pub artifacts: u64,
    pub seals: u64,
    pub purged: u64,
    /// Pieces of work of another key.
    pub foreign: u64,
    /// Whether more was found than is listed.
    pub more: bool,
    pub findings: Vec<Finding>,
}

/// Something in the journal that was changed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Finding {
    pub work: Option<Text>,
    pub finding: Text,
    pub detail: Text,
}

/// `op_work_prove`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Proved {
    pub sealed: bool,
    #[serde(flatten)]
    pub proof: Option<WorkProof>,
}

/// `op_work_claim`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Claimed {
    pub work: Text,
    /// Whether the caller holds it.
    pub held: bool,
    pub holder: Text,
    pub fence: u64,
    pub until: Text,
}

/// `op_work_release`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Released {
    pub work: Piece,
    /// Whether nobody holds it now.
    pub free: bool,
}

/// `op_work_artifact`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Artifact {
    pub work: Text,
    pub seq: u64,
    /// None of these three if all of the event is in its row.
    pub artifact: Option<Text>,
    pub full_bytes: Option<u64>,
    pub text: Option<Text>,
}

/// `op_work_unsettled`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Unsettled {
    pub effects: Vec<Effect>,
}

/// An effect of unknown outcome.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Effect {
    pub work: Text,
    pub project: Text,
    pub title: Text,
    pub key: Text,
    pub text: Text,
    /// Whether it may be repeated: `safe`, `check` or `never`.
    pub repeat: Text,
    pub seq: u64,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_proof_is_whole_or_not_there() {
        let none = json!({ "sealed": false });
        let read: Proved = serde_json::from_value(none.clone()).unwrap();
        assert!(read.proof.is_none() && json!(read) == none);
        let proved = json!({
            "sealed": true, "work": "w", "seq": 3, "leaf": "00", "index": 0, "size": 1, "note": "n", "key": "k",
        });
        let read: Proved = serde_json::from_value(proved.clone()).unwrap();
        assert!(read.proof.as_ref().is_some_and(|proof| proof.path.is_empty()));
        assert_eq!(json!(read).to_string(), proved.to_string());
    }
}
