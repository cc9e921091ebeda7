//! Pieces of work, and the states to which their events lead.

use jiff::Timestamp;
use serde_json::Value;

use super::{items, moment, number, text};

/// A piece of work.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Work {
    pub id: String,
    pub title: String,
    pub agent: String,
    pub project: String,
    pub session: String,
    pub status: String,
    /// Why nobody is working on it though it is open, such as `lost`; empty otherwise.
    pub stale: String,
    /// Who holds it.
    pub holder: String,
    pub events: u64,
    pub active_at: Option<Timestamp>,
}

impl Work {
    /// From `op_work_list`, or the work of `op_work_show`.
    pub fn read(value: &Value) -> Self {
        Self {
            id: text(value, "work"),
            title: text(value, "title"),
            agent: text(value, "agent"),
            project: text(value, "project"),
            session: text(value, "session_id"),
            status: text(value, "status"),
            stale: text(value, "stale"),
            holder: text(value, "holder"),
            events: number(value, "seq"),
            active_at: moment(value, "active_at"),
        }
    }

    /// Its status, in one word.
    pub fn standing(&self) -> &str {
        if self.stale.is_empty() { &self.status } else { &self.stale }
    }
}

/// Why an answer of `op_work_list` may contain no work.
pub fn no_work(value: &Value) -> &'static str {
    match value["enabled"].as_bool() {
        Some(false) => "The journal of work is off: `[work] enabled = false`.",
        _ if !value["degraded_until"].is_null() => "The journal answers too slowly at present.",
        _ => "No work yet. Agents report what they do by the hooks that “cerebro setup” adds.",
    }
}

/// The state of a piece of work from `op_work_show`: a name and a text each.
pub fn work_facts(value: &Value) -> Vec<(String, String)> {
    let (work, state) = (&value["work"], &value["state"]);
    let mut out = Vec::new();
    let mut add = |name: &str, value: String| {
        let value = value.trim();
        if !value.is_empty() {
            out.push((name.to_owned(), value.to_owned()));
        }
    };
    let said = |name: &str| text(&state[name], "text");
    add("state", [text(work, "status"), text(work, "stale"), text(work, "outcome")].join(" "));
    add("held by", text(work, "holder"));
    add("goal", text(state, "goal"));
    add("last request", said("request"));
    add("turn", if state["turn_open"] == true { "open".to_owned() } else { String::new() });
    add("turn failed", said("turn_failed"));
    add("blocked", said("blocked"));
    for call in items(state, "under_way") {
        add("outcome unknown", text(call, "what"));
    }
    for intent in items(state, "intents").filter(|intent| intent["standing"] == "open") {
        add("outcome unknown", format!("{} (key {})", text(intent, "text"), text(intent, "key")));
    }
    for gate in items(state, "gates") {
        add("gate", [text(gate, "name"), text(gate, "standing"), text(gate, "text")].join(" "));
    }
    let test = &state["test"];
    let names: Vec<&str> = items(&test["tests"], "names").filter_map(Value::as_str).collect();
    let names = super::clean_line(&names.join(", "));
    add("tests", format!("{} {} {names}", text(test, "command"), text(test, "ending")));
    for file in items(state, "files") {
        add(
            "edited",
            format!("{} +{} −{}", text(file, "path"), number(file, "added"), number(file, "removed")),
        );
    }
    for step in items(state, "steps") {
        let name = format!("step {}", number(step, "number"));
        add(&name, format!("{} {}", text(step, "standing"), text(step, "text")));
    }
    for done in items(state, "last") {
        add("last", text(done, "text"));
    }
    let gaps = number(&state["gaps"], "times");
    add("gaps", if gaps > 0 { gaps.to_string() } else { String::new() });
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_unknown_is_shown_and_what_is_not_there_is_not() {
        let facts = work_facts(&json!({
            "work": { "title": "Mend", "status": "open", "stale": "lost" },
            "state": {
                "request": { "text": "Go\non" }, "turn_open": true, "goal": null,
                "under_way": [{ "what": "gh pr create" }],
                "intents": [{ "text": "release", "key": "r-1", "standing": "open" },
                            { "text": "old", "key": "o", "standing": "confirmed" }],
                "gates": [{ "name": "review", "standing": "pending" }],
                "files": [{ "path": "a.rs", "added": 2, "removed": 1 }], "gaps": { "times": 0 },
            },
        }));
        let lines: Vec<String> = facts.iter().map(|(name, text)| format!("{name}: {text}")).collect();
        assert_eq!(
            lines,
            [
                "state: open lost",
                "last request: Go on",
                "turn: open",
                "outcome unknown: gh pr create",
                "outcome unknown: release (key r-1)",
                "gate: review pending",
                "edited: a.rs +2 −1",
            ]
        );
    }
}
