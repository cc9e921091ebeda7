//! Hooks for which the agent does not wait, so that reports arrive in another order than things happened: the state must be
//! the same. A report is late here because its hook was started but got its input later, as on a busy machine.

use std::io::Write;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use cerebro_core::domain::limits::HOOK_TIME_MAX;

use crate::hooks::report;
use crate::support::{Home, Value, json, wait_for};

/// The age from which a report is known to be late; below it, reports count in the order of arrival.
const LATE: Duration = Duration::from_millis(120);
/// The time between two reports whose order counts: ages are known to two hundredths of a second.
const APART: Duration = Duration::from_millis(60);

/// What a session reports.
fn session(home: &Home) -> Vec<(&'static str, Value)> {
    let command = |id: &str, line: &str| json!({ "tool_name": "Bash", "tool_use_id": id, "tool_input": { "command": line } });
    let with = |mut call: Value, key: &str, value: Value| {
        call[key] = value;
        call
    };
    let failed = |id: &str, line: &str, error: &str| with(command(id, line), "error", json!(error));
    let passed = |id: &str, line: &str| {
        with(command(id, line), "tool_response", json!({ "stdout": "test result: ok. 3 passed; 0 failed" }))
    };
    let plan = |first: &str| {
        let todos =
            json!([{ "content": "rules", "status": first }, { "content": "stream", "status": "pending" }]);
        json!({ "tool_name": "TodoWrite", "tool_use_id": first, "tool_input": { "todos": todos } })
    };
    let edit = json!({
        "tool_name": "Write", "tool_use_id": "e", "tool_response": {},
        "tool_input": { "file_path": home.work().join("rules.rs"), "content": "fn a() {}" },
    });
    vec![
        ("UserPromptSubmit", json!({ "prompt": "Make it stream", "prompt_id": "1" })),
        ("PreToolUse", command("a", "cargo test")),
        ("PreToolUse", command("b", "cargo test")),
        ("PostToolUseFailure", failed("a", "cargo test", "Exit code 101\ntest a::b ... FAILED")),
        ("PostToolUse", passed("b", "cargo test")),
        ("PostToolUse", plan("in_progress")),
        ("PostToolUse", plan("completed")),
        ("PostToolUse", edit),
        ("PreToolUse", command("c", "make")),
        ("PostToolUseFailure", failed("c", "make", "Exit code 2")),
        ("Stop", json!({ "last_assistant_message": "Done" })),
        ("UserPromptSubmit", json!({ "prompt": "Now the PEM case", "prompt_id": "2" })),
        ("StopFailure", json!({ "error": "overloaded" })),
        ("UserPromptSubmit", json!({ "prompt": "Go on", "prompt_id": "3" })),
        ("PreToolUse", command("d", "gh pr create")),
    ]
}

/// A hook that was started and has not read anything yet.
struct Held {
    hook: Child,
    input: String,
    asked: Instant,
    begun: Instant,
}

impl Held {
    fn start(home: &Home, event: &str, more: &Value) -> Self {
        let mut input = json!({ "session_id": "s", "cwd": home.work(), "hook_event_name": event });
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let mut hook = home.command();
        hook.args(["hook", "claude-code", event]).stdin(Stdio::piped()).stdout(Stdio::null());
        let asked = Instant::now();
        let hook = hook.spawn().unwrap();
        Self { hook, input: input.to_string(), asked, begun: Instant::now() }
    }

    /// Lets time pass: another session reports meanwhile.
    fn wait(&self, home: &Home, time: Duration) {
        while self.begun.elapsed() < time {
            report(home, "claude-code", "Stop", "another", json!({ "last_assistant_message": "Done" }));
        }
    }

    /// Hands it its input. Returns whether it ended before it gave up.
    fn finish(mut self) -> bool {
        // One that gave up reads nothing.
        let _ = self.hook.stdin.take().unwrap().write_all(self.input.as_bytes());
        assert!(self.hook.wait().unwrap().success());
        self.asked.elapsed() < HOOK_TIME_MAX
    }
}

/// Reports the session, with some reports delayed behind a number of later ones, and returns the state. On a busy machine
/// a hook may give up; then the session is reported again, in another home.
fn state(late: &[(usize, usize)]) -> Value {
    wait_for("a session in which no hook gives up", || reported(&Home::new(), late))
}

/// The state after one try; `None` if a hook may have given up.
fn reported(home: &Home, late: &[(usize, usize)]) -> Option<Value> {
    home.json(&["projects"]);
    let mut held: Vec<(usize, Held)> = Vec::new();
    let mut all_in_time = true;
    for (n, (event, more)) in session(home).iter().enumerate() {
        match late.iter().find(|(which, _)| *which == n) {
            Some((_, by)) => {
                let hook = Held::start(home, event, more);
                hook.wait(home, APART);
                held.push((n + by, hook));
            }
            None => {
                let asked = Instant::now();
                report(home, "claude-code", event, "s", more.clone());
                all_in_time &= asked.elapsed() < HOOK_TIME_MAX;
            }
        }
        let (due, still): (Vec<_>, Vec<_>) = held.into_iter().partition(|(until, _)| *until <= n);
        held = still;
        for (_, hook) in due {
            hook.wait(home, LATE);
            all_in_time &= hook.finish();
        }
    }
    if !all_in_time {
        return None;
    }
    let works = home.json(&["work", "list", "--state", "all"])["works"].clone();
    let work = works.as_array().unwrap().iter().find(|work| work["session_id"] == "s").unwrap();
    let mut state = home.json(&["work", "show", work["work"].as_str().unwrap()])["state"].clone();
    forget_moments(&mut state);
    assert_eq!(home.run(&["work", "verify"]).code(), 0);
    Some(state)
}

/// Moments differ from run to run, and paths from home to home.
fn forget_moments(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for key in ["at", "active_at", "turn_ended", "planned", "digest", "path", "directory", "last"] {
                fields.remove(key);
            }
            fields.values_mut().for_each(forget_moments);
        }
        Value::Array(values) => values.iter_mut().for_each(forget_moments),
        _ => {}
    }
}

#[test]
fn reports_in_another_order_give_the_same_state() {
    let in_order = state(&[]);
    assert_eq!(in_order["under_way"][0]["what"], "gh pr create", "{in_order}");
    assert_eq!((&in_order["turn_open"], &in_order["turn_failed"]), (&json!(true), &json!(null)));
    assert_eq!(
        (&in_order["test"]["ending"], &in_order["failed"]["text"]),
        (&json!("passed"), &json!("make"))
    );
    for late in [
        // The beginning of a call after its end; its end after that of its turn.
        &[(1, 2), (9, 1)][..],
        // A failing test after the passing one; a plan after the next.
        &[(3, 1), (5, 1)],
        // The beginning after the end and the turn; why a turn failed after the next request.
        &[(8, 2), (12, 1)],
    ] {
        assert_eq!(state(late), in_order, "{late:?}");
    }
}
