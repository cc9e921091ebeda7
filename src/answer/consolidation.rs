//! The answers about consolidation.

use serde::{Deserialize, Serialize};

use super::Text;

/// A consolidation without its steps.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Cycle {
    pub id: Text,
    pub state: Text,
    pub by: Text,
    pub at: Text,
    pub applied_at: Option<Text>,
    pub undone_at: Option<Text>,
    /// Steps by what they do.
    pub merge: u64,
    pub compact: u64,
    pub archive: u64,
    pub derive: u64,
    /// What asking a chat model cost, and how many insights did not pass the check.
    pub requests: u64,
    pub tokens: u64,
    pub dropped: u64,
    /// Steps by outcome.
    pub done: u64,
    pub skipped: u64,
    pub undone: u64,
    pub left: u64,
}

/// `op_cycle_plan`, `op_cycle_apply` and `op_cycle_undo`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Report {
    pub cycle: Cycle,
    /// Whether a chat model is asked for insights meanwhile.
    pub asking: Option<bool>,
    pub steps: Vec<Step>,
}

/// `op_cycle_log`: one with its steps, or all of them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Log {
    #[serde(flatten)]
    pub one: Option<Report>,
    pub cycles: Option<Vec<Cycle>>,
}

/// A step of a plan.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Step {
    pub action: Text,
    pub id: Text,
    pub title: Option<Text>,
    /// The memory that stays in its place.
    pub into: Option<Text>,
    pub into_title: Option<Text>,
    pub why: Text,
    pub outcome: Option<Text>,
    #[serde(flatten)]
    pub insight: Option<Insight>,
}

/// What a chat model drew from several memories.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Insight {
    /// Its text, while it is no memory yet.
    pub text: Option<Text>,
    /// The memories that it rests on.
    pub sources: Vec<Text>,
}

impl Step {
    /// The text of an insight that waits, and the memories that it rests on.
    pub fn waiting(&self) -> Option<(&Text, &[Text])> {
        let insight = self.insight.as_ref()?;
        Some((insight.text.as_ref()?, &insight.sources))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cycle() -> serde_json::Value {
        json!({
            "id": "c1", "state": "planned", "by": "person", "at": "2026-11-25T12:00:00Z", "applied_at": null,
            "undone_at": null, "merge": 1, "compact": 0, "archive": 0, "derive": 1, "requests": 0, "tokens": 0,
            "dropped": 0, "done": 0, "skipped": 0, "undone": 0, "left": 0,
        })
    }

    #[test]
    fn a_log_is_one_consolidation_or_all() {
        let all: Log = serde_json::from_value(json!({ "cycles": [cycle()] })).unwrap();
        assert!(all.one.is_none() && all.cycles.is_some_and(|cycles| cycles.len() == 1));
        let one: Log = serde_json::from_value(json!({ "cycle": cycle(), "steps": [] })).unwrap();
        assert!(one.cycles.is_none() && one.one.is_some_and(|one| one.asking.is_none()));
    }

    #[test]
    fn a_step_without_an_insight_says_nothing_of_one() {
        let mut step = json!({
            "action": "merge", "id": "m1", "title": null, "into": "m2", "into_title": "Two", "why": "it is in it",
            "outcome": null,
        });
        let read: Step = serde_json::from_value(step.clone()).unwrap();
        assert!(read.insight.is_none());
        assert_eq!(json!(read).to_string(), step.to_string());
        step["text"] = json!(null);
        step["sources"] = json!(["m3"]);
        let read: Step = serde_json::from_value(step.clone()).unwrap();
        assert!(read.waiting().is_none() && read.insight.is_some(), "it is a memory by now");
        assert_eq!(json!(read).to_string(), step.to_string());
    }
}
