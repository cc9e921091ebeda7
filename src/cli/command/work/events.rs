//! The events of a piece of work in a table: what each says, on one line.

use serde_json::Value;

use crate::answer::work::Event;
use crate::cli::table::{Column, Layout, Table, shown};

const EVENTS: &[Column<Event>] = &[
    ("seq", Layout::Count, |event| shown(&event.seq)),
    ("at", Layout::Moment, |event| shown(&event.at)),
    ("kind", Layout::Fixed, |event| shown(&event.kind)),
    ("what", Layout::Flexible, what),
];

/// What an event says, on one line.
fn what(event: &Event) -> String {
    if event.purged {
        return "(its text was removed)".to_owned();
    }
    let step = event.step.as_ref().unwrap_or(&Value::Null);
    let words = [
        "text", "command", "what", "path", "title", "error", "said", "name", "key", "reason", "trigger",
        "holder", "from", "call", "place",
    ];
    let word =
        words.into_iter().map(|key| shown(&step[key])).find(|word| !word.is_empty()).unwrap_or_default();
    let more = match step["kind"].as_str() {
        Some("planned") => planned(&step["steps"]),
        Some("gate") => format!(" {}", shown(&step["standing"])),
        Some("step_set") => match step["task"].as_str() {
            Some(task) => format!(" (task {} {})", shown(&Value::from(task)), shown(&step["standing"])),
            None => format!(" (step {} {})", shown(&step["step"]), shown(&step["standing"])),
        },
        Some("gap") => match step["count"].as_u64() {
            Some(count) => format!(" ({count} events)"),
            None => String::new(),
        },
        Some("closed") => format!(" ({})", shown(&step["outcome"])),
        Some("forked") => format!(" at event {}", shown(&step["at"])),
        Some("ran") => match step["exit"].as_i64() {
            Some(exit) => format!(" → exit {exit}"),
            None => format!(" → {}", shown(&step["ending"])),
        },
        Some("called") => format!(" → {}", shown(&step["ending"])),
        Some("edited") => format!(" +{} −{}", shown(&step["added"]), shown(&step["removed"])),
        _ => String::new(),
    };
    let late = if event.late { " (late)" } else { "" };
    let cut = match event.full_bytes {
        Some(full) => format!(" (cut; {full} bytes: work show ID --artifact {})", event.seq),
        None => String::new(),
    };
    format!("{word}{more}{late}{cut}").trim_start().to_owned()
}

/// An agent's own list of steps.
fn planned(steps: &Value) -> String {
    let step = |step: &Value| format!("{} ({})", shown(&step["text"]), shown(&step["standing"]));
    steps.as_array().into_iter().flatten().map(step).collect::<Vec<_>>().join("; ")
}

pub fn events(events: &[Event]) -> Table {
    Table::of(EVENTS, events)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_event_is_shown_on_one_line() {
        let event = |seq: u64, late: bool, step: Value| Event {
            seq,
            at: "t".into(),
            kind: step["kind"].as_str().unwrap_or("note").into(),
            late,
            purged: step.is_null(),
            step: Some(step).filter(|step| !step.is_null()),
            full_bytes: None,
            artifact: None,
        };
        let list = [
            event(1, false, json!({ "kind": "prompt", "text": "Mend\nit" })),
            event(2, false, json!({ "kind": "ran", "command": "cargo test", "exit": 101 })),
            event(3, false, json!({ "kind": "ran", "command": "x", "ending": "unknown" })),
            event(4, true, json!({ "kind": "edited", "path": "a.rs", "added": 3, "removed": 1 })),
            event(5, false, Value::Null),
            event(
                6,
                false,
                json!({ "kind": "planned", "steps": [{ "text": "rules", "standing": "passed" }] }),
            ),
            event(7, false, json!({ "kind": "gap", "count": 3, "reason": "away" })),
            event(8, false, json!({ "kind": "closed", "outcome": "done" })),
            event(
                9,
                false,
                json!({ "kind": "called", "tool": "Bash", "what": "rm x", "ending": "interrupted" }),
            ),
        ];
        assert_eq!(
            events(&list).plain(),
            "1\tt\tprompt\tMend it\n2\tt\tran\tcargo test → exit 101\n3\tt\tran\tx → unknown\n\
             4\tt\tedited\ta.rs +3 −1 (late)\n5\tt\tnote\t(its text was removed)\n\
             6\tt\tplanned\trules (passed)\n7\tt\tgap\taway (3 events)\n8\tt\tclosed\t(done)\n\
             9\tt\tcalled\trm x → interrupted\n"
        );
    }
}
