//! The states of pieces of work.

use crate::answer::{
    clean_line, line, name,
    work::{Listed, Shown},
};
use cerebro_ledger::TimedText;

/// A text for an empty list, which says why it may be empty.
pub fn no_work(listed: &Listed) -> &'static str {
    if !listed.enabled {
        "The journal of work is off: `[work] enabled = false`."
    } else if listed.degraded_until.is_some() {
        "The journal answers too slowly or cannot be written at present."
    } else {
        "No work yet. Agents report their work through the hooks that “cerebro setup” adds."
    }
}

/// The state of a piece of work: a name and a text each, on one line and safe to show.
pub fn work_facts(shown: &Shown) -> Vec<(String, String)> {
    let (work, state) = (&shown.work, &shown.state);
    let mut out = Vec::new();
    let mut add = |name: &str, value: String| {
        let value = clean_line(&value);
        if !value.is_empty() {
            out.push((name.to_owned(), value));
        }
    };
    let said = |text: &Option<TimedText>| text.as_ref().map(|said| said.text.clone()).unwrap_or_default();
    let words = [work.status.line(), line(work.stale.as_ref()), line(work.outcome.as_ref())];
    add("state", words.join(" "));
    add("held by", line(work.holder.as_ref()));
    add("goal", state.goal.clone().unwrap_or_default());
    add("last request", said(&state.request));
    add("turn", if state.turn_open { "open".to_owned() } else { String::new() });
    add("turn failed", said(&state.turn_failed));
    add("blocked", said(&state.blocked));
    for call in &state.under_way {
        add("outcome unknown", call.what.clone());
    }
    for intent in state.open_intents() {
        add("outcome unknown", format!("{} (key {})", intent.text, intent.key));
    }
    for gate in &state.gates {
        let text = gate.text.as_deref().unwrap_or_default();
        add("gate", format!("{} {} {text}", gate.name, name(&gate.standing)));
    }
    if let Some(test) = &state.test {
        let names = test.tests.names.join(", ");
        add("tests", format!("{} {} {names}", test.command, name(&test.ending)));
    }
    for file in &state.files {
        add("edited", format!("{} +{} −{}", file.path, file.added, file.removed));
    }
    for step in &state.steps {
        add(&format!("step {}", step.number), format!("{} {}", name(&step.standing), step.text));
    }
    for done in &state.last {
        add("last", done.text.clone());
    }
    let gaps = state.gaps.times;
    add("gaps", if gaps > 0 { gaps.to_string() } else { String::new() });
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::answer::work::Piece;

    #[test]
    fn what_is_unknown_is_shown_and_what_is_not_there_is_not() {
        let at = "2026-11-25T12:00:00Z";
        let state = serde_json::from_value(json!({
            "request": { "text": "Go\non", "at": at }, "turn_open": true, "goal": null,
            "under_way": [{ "call": "c", "tool": "Bash", "what": "gh pr create", "at": at }],
            "intents": [{ "text": "release", "key": "r-1", "standing": "open", "repeat": "check", "seq": 1 },
                        { "text": "old", "key": "o", "standing": "confirmed", "repeat": "check", "seq": 2 }],
            "gates": [{ "name": "review", "standing": "pending" }],
            "files": [{ "path": "a.rs", "added": 2, "removed": 1, "at": at }],
        }));
        let work = Piece { status: "open".into(), stale: Some("lost".into()), ..Piece::default() };
        let facts = work_facts(&Shown { work, state: state.unwrap(), memories: Vec::new() });
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
