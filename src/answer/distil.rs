//! The answers about distilling and handbooks.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Text;

/// `op_distil_status`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Status {
    pub state: Text,
    pub detail: Option<Text>,
    pub enabled: bool,
    /// Sessions by result.
    pub sessions: BTreeMap<String, u64>,
    /// Candidates by state.
    pub candidates: BTreeMap<String, u64>,
    /// Candidates that were accepted without a person.
    pub corroborated: u64,
    /// Arrangements by state.
    pub arrangements: BTreeMap<String, u64>,
    /// What did not pass the check, by reason.
    pub dropped: BTreeMap<String, u64>,
    /// Questions that wait for their first or next attempt, or are under way.
    #[serde(default)]
    pub queued: u64,
    /// Why the last attempt failed, if none has succeeded since.
    pub failure: Option<Text>,
    /// Questions that were given up.
    #[serde(default)]
    pub given_up: u64,
    /// Who accepts: `inbox` or `corroborated`.
    pub review: Text,
    pub tokens_today: u64,
    pub requests_today: u64,
    /// 0 if nothing bounds it.
    pub tokens_per_day: u64,
    pub requests_per_day: u64,
}

/// The part of `mem_stats` about distilling.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Meter {
    pub state: Text,
    /// Candidates and arrangements that wait for a person.
    pub waiting: u64,
    /// What was spent since midnight UTC, and what may be spent a day; null if nothing bounds it.
    pub tokens_today: u64,
    pub requests_today: u64,
    pub tokens_per_day: Option<u64>,
    pub requests_per_day: Option<u64>,
}

/// `op_distil_plan`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Plan {
    pub sessions: Vec<PlannedSession>,
    pub tokens: u64,
    pub requests: u64,
    /// Newer sessions that are left out, because their job was given up before.
    #[serde(default)]
    pub given_up: u64,
}

/// A session that is due.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PlannedSession {
    pub session: Text,
    pub agent: Text,
    pub project: Text,
    pub started_at: Text,
    pub exchanges: u32,
    pub title: Option<Text>,
    pub tokens: Option<u64>,
    /// Whether anything of it would be sent.
    pub sent: bool,
}

/// `op_distil_run`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Queued {
    pub queued: u64,
    /// Newer sessions that are left out, because their job was given up before.
    #[serde(default)]
    pub given_up: u64,
}

/// `op_distil_review`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Proposals {
    pub candidates: Vec<Candidate>,
    #[serde(default)]
    pub arrangements: Vec<Arrangement>,
}

/// `op_distil_show`: one of the two.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Proposal {
    pub candidate: Option<Candidate>,
    pub arrangement: Option<Arrangement>,
}

/// A claim that waits for a decision, or was decided.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Candidate {
    pub id: Text,
    /// What kind of claim it is.
    pub claim: Text,
    pub title: Text,
    pub text: Text,
    pub evidence: Vec<Evidence>,
    pub state: Text,
    /// The memory that it became.
    pub memory: Option<Text>,
    pub session: Text,
    pub agent: Text,
    pub project: Text,
    pub model: Text,
    pub generation: Text,
    pub corroborated: bool,
    pub at: Text,
    pub decided_at: Option<Text>,
}

/// Words of an exchange that a claim cites.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Evidence {
    pub id: Text,
    pub quote: Text,
}

/// A proposed order of a handbook.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Arrangement {
    pub id: Text,
    pub state: Text,
    pub title: Text,
    /// Whose handbook it is.
    pub handbook: Text,
    pub changes: u64,
    /// What did not pass the check, by reason.
    pub dropped: Map<String, Value>,
    pub model: Text,
    pub generation: Text,
    pub at: Text,
    pub decided_at: Option<Text>,
    /// What it changes; not in a list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations: Option<Vec<Operation>>,
}

/// A change of a handbook.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Operation {
    pub action: Text,
    pub memory: Text,
    pub title: Option<Text>,
    /// The topic of the item before.
    pub was: Option<Text>,
    pub topic: Option<Text>,
    pub other: Option<Text>,
    pub other_title: Option<Text>,
    /// Whether the handbook still allows it.
    pub fits: bool,
}

/// `op_distil_accept`, `op_distil_reject` and `op_distil_undo`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Decided {
    pub id: Text,
    pub outcome: Text,
    pub title: Text,
    /// The memory that an accepted claim became, and how it was saved.
    pub memory: Option<Text>,
    pub saved: Option<Text>,
}

/// `op_distil_arrange_plan`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ArrangePlan {
    pub handbook: Text,
    pub items: u64,
    pub new: u64,
    /// Items that the model would be shown.
    pub shown: u64,
    pub tokens: u64,
}

/// `op_distil_arrange`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Arranging {
    pub handbook: Text,
    /// Whether the model's job was given up before; it is not queued again.
    #[serde(default)]
    pub given_up: bool,
}

/// `op_distil_handbook`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Handbook {
    pub handbook: Text,
    pub items: u64,
    pub rendered: Vec<Rendered>,
}

/// A text of a handbook, as it would be saved.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Rendered {
    pub topic_key: Text,
    pub title: Text,
    pub content: Text,
}

/// `op_distil_render`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Saved {
    pub memories: Vec<SavedText>,
}

/// The memory of a text of a handbook.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SavedText {
    pub id: Text,
    pub topic_key: Option<Text>,
    pub revision: u32,
}

/// `op_distil_skills`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Skills {
    pub skills: Vec<Skill>,
}

/// The draft of a skill.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Skill {
    pub name: Text,
    pub project: Text,
    pub title: Text,
    pub sessions: u64,
    pub memory: Text,
    pub text: Text,
}
