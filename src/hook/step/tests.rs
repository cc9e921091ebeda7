//! Payloads as the agents send them, written by hand from their documentation, and invalid payloads.

use cerebro_ledger::{Ending, Planned, Standing, Tests};
use proptest::prelude::*;
use serde_json::json;

use super::*;

/// A payload of Claude Code with the fields that all of them have.
fn claude(event: &str, more: Value) -> Value {
    let mut input = json!({
        "session_id": "s-1", "transcript_path": "/t.jsonl", "cwd": "/w", "hook_event_name": event,
        "permission_mode": "default", "prompt_id": "p-1", "effort": {"level": "high"},
    });
    input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    input
}

#[track_caller]
fn step(agent: Agent, event: &str, input: &Value) -> Step {
    let report = read(agent, event, input).unwrap_or_else(|| panic!("{event}: {input}"));
    let [step] = &report.steps[..] else { panic!("{:?}", report.steps) };
    step.clone()
}

/// The recorded facts about a finished command: its ending, its status, the end of its output, and its tests.
#[track_caller]
fn ran(agent: Agent, event: &str, input: &Value) -> (Ending, Option<i32>, String, Tests) {
    match step(agent, event, input) {
        Step::Ran { ending, exit, tail, tests, .. } => (ending, exit, tail, tests.unwrap_or_default()),
        other => panic!("{other:?}"),
    }
}

/// The changed files: path, added lines, removed lines.
#[track_caller]
fn edits(agent: Agent, input: &Value) -> Vec<(String, u32, u32)> {
    let edit = |step: Step| match step {
        Step::Edited { path, added, removed, .. } => (path, added, removed),
        other => panic!("{other:?}"),
    };
    read(agent, "PostToolUse", input).unwrap().steps.into_iter().map(edit).collect()
}

#[test]
fn claude_code_reports_commands_by_two_events() {
    let call = json!({
        "tool_name": "Bash", "tool_use_id": "toolu_1", "duration_ms": 1_234,
        "tool_input": {"command": "cargo test -p redact", "description": "Run"},
    });
    let begun = read(Agent::ClaudeCode, "PreToolUse", &claude("PreToolUse", call.clone())).unwrap();
    let (call_id, what) = ("toolu_1".to_owned(), "cargo test -p redact".to_owned());
    assert_eq!(begun.steps, [Step::Started { call: call_id, tool: "Bash".to_owned(), what }]);
    assert_eq!(begun.once.as_deref(), Some("started:toolu_1"));

    let mut done = claude("PostToolUse", call.clone());
    done["tool_response"] = json!({
        "stdout": "test result: ok. 3 passed; 0 failed; 0 ignored", "stderr": "", "interrupted": false,
        "isImage": false,
    });
    let (ending, exit, tail, tests) = ran(Agent::ClaudeCode, "PostToolUse", &done);
    assert_eq!((ending, exit, tail.as_str()), (Ending::Passed, Some(0), ""));
    assert_eq!((tests.passed, tests.failed), (Some(3), Some(0)));

    let mut failed = claude("PostToolUseFailure", call);
    failed["error"] = json!(
        "Exit code 101\ntest rules::pem_split ... FAILED\ntest result: FAILED. 1 passed; 1 failed; 0 ignored"
    );
    failed["is_interrupt"] = json!(false);
    let (ending, exit, tail, tests) = ran(Agent::ClaudeCode, "PostToolUseFailure", &failed);
    assert_eq!((ending, exit), (Ending::Failed, Some(101)));
    assert_eq!(tests.names, ["rules::pem_split"]);
    assert!(tail.contains("pem_split"), "{tail}");
    failed["is_interrupt"] = json!(true);
    assert_eq!(ran(Agent::ClaudeCode, "PostToolUseFailure", &failed).0, Ending::Interrupted);
}

#[test]
fn claude_code_reports_edits_plans_and_the_ends_of_turns() {
    let edit = claude(
        "PostToolUse",
        json!({
            "tool_name": "Edit", "tool_use_id": "toolu_2", "tool_response": {"filePath": "/w/a.rs"},
            "tool_input": {"file_path": "/w/a.rs", "old_string": "a\nb\nc", "new_string": "a\nx\ny\nc"},
        }),
    );
    assert_eq!(edits(Agent::ClaudeCode, &edit), [("/w/a.rs".to_owned(), 2, 1)]);

    let plan = claude(
        "PostToolUse",
        json!({"tool_name": "ExitPlanMode", "tool_input": {"plan": "# Plan\n1. mend\n- test"}, "tool_response": {}}),
    );
    let pending = |text: &str| Planned { text: text.to_owned(), standing: Standing::Pending };
    let planned = Step::Planned { steps: vec![pending("mend"), pending("test")] };
    assert_eq!(step(Agent::ClaudeCode, "PostToolUse", &plan), planned);

    for (event, more, want) in [
        (
            "Stop",
            json!({"last_assistant_message": "Done", "stop_hook_active": false}),
            Step::TurnEnded { said: Some("Done".into()) },
        ),
        ("StopFailure", json!({"error": "rate_limit"}), Step::TurnFailed { error: "rate_limit".into() }),
        ("PreCompact", json!({"trigger": "auto"}), Step::Compacted { trigger: "auto".into(), summary: None }),
        ("SessionEnd", json!({"reason": "logout"}), Step::Ended { reason: "logout".into() }),
        ("SessionStart", json!({"source": "resume"}), Step::Connected),
        ("UserPromptSubmit", json!({"prompt": "Mend it"}), Step::Prompt { text: "Mend it".into() }),
    ] {
        assert_eq!(step(Agent::ClaudeCode, event, &claude(event, more)), want);
    }
}

#[test]
fn a_command_that_goes_on_in_the_background_has_no_outcome() {
    let call = json!({
        "tool_name": "Bash", "tool_use_id": "bg",
        "tool_input": {"command": "./migrate.sh --all", "run_in_background": true},
        "tool_response": {"stdout": "", "stderr": "", "interrupted": false, "backgroundTaskId": "b1"},
    });
    let (ending, exit, ..) = ran(Agent::ClaudeCode, "PostToolUse", &claude("PostToolUse", call));
    assert_eq!((ending, exit), (Ending::Unknown, None));
    let stop = json!({
        "last_assistant_message": "It runs",
        "background_tasks": [
            {"id": "b1", "type": "shell", "status": "running", "command": "./migrate.sh --all"},
            {"id": "b2", "type": "shell", "status": "completed", "command": "make"},
            {"id": "b3", "type": "agent", "status": "running"},
        ],
    });
    let report = read(Agent::ClaudeCode, "Stop", &claude("Stop", stop)).unwrap();
    let [Step::TurnEnded { .. }, Step::Started { call, what, .. }] = &report.steps[..] else {
        panic!("{report:?}");
    };
    assert_eq!((call.as_str(), what.as_str()), ("background-b1", "./migrate.sh --all"));
    assert_eq!(report.once, None, "it may still run at the end of the next turn");
}

#[test]
fn claude_code_reports_its_tasks_one_by_one() {
    let call = |tool: &str, input: Value, response: Value| {
        claude(
            "PostToolUse",
            json!({"tool_name": tool, "tool_use_id": "t", "tool_input": input, "tool_response": response}),
        )
    };
    let made = call(
        "TaskCreate",
        json!({"subject": "Mend it", "description": "All of it"}),
        json!({"task": {"id": "3", "subject": "Mend it"}}),
    );
    let task = Some("3".to_owned());
    let added = Step::StepAdded { text: "Mend it".to_owned(), task: task.clone() };
    assert_eq!(step(Agent::ClaudeCode, "PostToolUse", &made), added);
    let done = call("TaskUpdate", json!({"taskId": "3", "status": "completed"}), json!({"success": true}));
    let set = Step::StepSet { step: 0, task, standing: Standing::Passed, text: None };
    assert_eq!(step(Agent::ClaudeCode, "PostToolUse", &done), set);
    for (input, response) in
        [(json!({"taskId": "3", "owner": "me"}), json!({})), (json!({"status": "completed"}), json!({}))]
    {
        assert_eq!(read(Agent::ClaudeCode, "PostToolUse", &call("TaskUpdate", input, response)), None);
    }
}

#[test]
fn codex_reports_patches_and_commands_without_a_status() {
    let codex = |more: Value| {
        let mut input =
            json!({"session_id": "c", "turn_id": "t", "cwd": "/w", "model": "m", "tool_use_id": "c1"});
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        input
    };
    let patch = "*** Begin Patch\n*** Update File: src/a.rs\n@@\n-old\n+new\n+more\n*** Add File: b.rs\n+x\n\
         *** End Patch";
    let call = codex(json!({
        "tool_name": "apply_patch", "tool_input": {"command": patch}, "tool_response": "Success.",
    }));
    assert_eq!(edits(Agent::Codex, &call), [("src/a.rs".to_owned(), 2, 1), ("b.rs".to_owned(), 1, 0)]);

    let run = |response: &str| {
        let call = codex(json!({
            "tool_name": "Bash", "tool_input": {"command": "pytest -q"}, "tool_response": response,
        }));
        ran(Agent::Codex, "PostToolUse", &call)
    };
    let (ending, exit, _, tests) =
        run("Wall time: 0.1 seconds\nProcess exited with code 1\nOutput:\nFAILED t.py::test_a - x");
    assert_eq!((ending, exit), (Ending::Failed, Some(1)));
    assert_eq!(tests.names, ["t.py::test_a"]);
    let (ending, exit, ..) = run("1 passed");
    assert_eq!((ending, exit), (Ending::Unknown, None), "no status is reported, so none is made up");
}

#[test]
fn gemini_reports_exit_codes_in_its_words() {
    let input = json!({
        "session_id": "g", "cwd": "/w", "hook_event_name": "AfterTool", "timestamp": "2026-08-21T10:00:00Z",
        "tool_name": "run_shell_command", "tool_input": {"command": "go test ./..."},
        "tool_response": {
            "llmContent": "Command: go test\nStdout: --- FAIL: TestSplit (0.00s)\nExit Code: 1\nSignal: (none)",
            "returnDisplay": "FAIL",
        },
    });
    let (ending, exit, ..) = ran(Agent::GeminiCli, "AfterTool", &input);
    assert_eq!((ending, exit), (Ending::Failed, Some(1)));
    // The format of version 0.61: a status of 0 is left out, and the last lines are not output.
    let report = |text: &str| {
        let mut input = input.clone();
        input["tool_response"]["llmContent"] =
            json!(format!("<untrusted_context>\n{text}\n</untrusted_context>"));
        let (ending, exit, tail, _) = ran(Agent::GeminiCli, "AfterTool", &input);
        (ending, exit, tail)
    };
    let long = "line\n".repeat(500);
    for (text, want) in [
        (format!("Output: {long}boom\nExit Code: 3\nProcess Group PGID: 9"), (Ending::Failed, Some(3))),
        ("Output: (empty)\nProcess Group PGID: 9".to_owned(), (Ending::Passed, Some(0))),
        ("Output: a\nBackground PIDs: 7\nProcess Group PGID: 9".to_owned(), (Ending::Passed, Some(0))),
        ("Output: a\nSignal: 9\nProcess Group PGID: 9".to_owned(), (Ending::Unknown, None)),
        ("Command was cancelled by user before it could complete.".to_owned(), (Ending::Unknown, None)),
    ] {
        let (ending, exit, tail) = report(&text);
        assert_eq!((ending, exit), want, "{text}");
        assert!(!tail.contains("untrusted_context"), "{tail}");
    }
    let mut named = input.clone();
    named["tool_input"]["command"] = json!("pytest -q");
    named["tool_response"]["llmContent"] =
        json!("Output: FAILED a.py::test_b - x\nExit Code: 1\nProcess Group PGID: 9");
    let (.., tests) = ran(Agent::GeminiCli, "AfterTool", &named);
    assert_eq!(tests.names, ["a.py::test_b"], "its first line is a line");
    let todos = json!({
        "session_id": "g", "tool_name": "write_todos", "tool_response": {"llmContent": "ok"},
        "tool_input": {"todos": [{"description": "Mend", "status": "in_progress"}]},
    });
    let steps = vec![Planned { text: "Mend".to_owned(), standing: Standing::Active }];
    assert_eq!(step(Agent::GeminiCli, "AfterTool", &todos), Step::Planned { steps });
    assert_eq!(read(Agent::GeminiCli, "PreCompress", &todos), None, "it comes with every turn");
}

#[test]
fn the_beginning_of_a_command_of_gemini_is_joined_with_its_end() {
    let call = json!({
        "session_id": "g", "tool_name": "run_shell_command", "tool_input": {"command": "make"},
        "tool_response": {"llmContent": "Output: (empty)\nProcess Group PGID: 9"},
    });
    let begun = read(Agent::GeminiCli, "BeforeTool", &call).unwrap();
    let ended = read(Agent::GeminiCli, "AfterTool", &call).unwrap();
    let (Step::Started { call: first, .. }, Step::Ran { call: Some(last), .. }) =
        (&begun.steps[0], &ended.steps[0])
    else {
        panic!("{begun:?} {ended:?}");
    };
    assert_eq!(first, last);
    assert_eq!((begun.once, ended.once), (None, None), "the same command run twice is two");
    let edit = json!({"session_id": "g", "tool_name": "replace", "tool_input": {"file_path": "/a", "new_string": "b"}});
    assert_eq!(read(Agent::GeminiCli, "BeforeTool", &edit), None);
}

#[test]
fn what_a_plugin_could_not_report_is_a_gap_after_the_rest() {
    let call = json!({
        "session_id": "o", "tool_name": "bash", "tool_use_id": "c", "tool_input": {"command": "make"},
        "missed": {"count": 3, "from": 1_000, "to": 2_000},
    });
    let report = read(Agent::OpenCode, "PreToolUse", &call).unwrap();
    assert_eq!(report.once.as_deref(), Some("started:c"));
    let [Step::Started { .. }, Step::Gap { from, to, count: Some(3), filled: false, .. }] = &report.steps[..]
    else {
        panic!("{report:?}");
    };
    assert_eq!((from.as_millisecond(), to.as_millisecond()), (1_000, 2_000));
    for odd in [
        json!(null),
        json!({"count": 0, "from": 1, "to": 2}),
        json!({"count": 1}),
        json!({"count": -1, "from": 1}),
    ] {
        let mut call = call.clone();
        call["missed"] = odd;
        assert_eq!(read(Agent::OpenCode, "PreToolUse", &call).unwrap().steps.len(), 1);
    }
}

#[test]
fn opencode_reports_through_its_plugin() {
    let input = json!({
        "session_id": "o", "cwd": "/w", "tool_name": "bash", "tool_use_id": "call_1",
        "tool_input": {"command": "make test", "description": "x"},
        "tool_response": {"output": "boom", "metadata": {"exit": 2}},
    });
    let (ending, exit, tail, _) = ran(Agent::OpenCode, "PostToolUse", &input);
    assert_eq!((ending, exit, tail.as_str()), (Ending::Failed, Some(2), "boom"));
    let edit = json!({
        "session_id": "o", "tool_name": "edit",
        "tool_input": {"filePath": "/w/b.ts", "oldString": "a", "newString": "b"}, "tool_response": {"output": ""},
    });
    assert_eq!(edits(Agent::OpenCode, &edit), [("/w/b.ts".to_owned(), 1, 1)]);
}

#[test]
fn what_says_nothing_of_the_work_is_no_step() {
    for (event, input) in [
        ("PostToolUse", json!({})),
        ("PostToolUse", json!({"tool_name": "Read", "tool_input": {"file_path": "/a"}})),
        ("PostToolUse", json!({"tool_name": "mcp__cerebro__mem_save", "tool_input": {"title": "x"}})),
        ("PreToolUse", json!({"tool_name": "Edit", "tool_input": {"file_path": "/a", "new_string": "b"}})),
        ("PreToolUse", json!({"tool_name": "Bash", "tool_input": {"command": "no id, so no end"}})),
        ("UserPromptSubmit", json!({"prompt": "<hook_context>x</hook_context>"})),
        ("Notification", json!({"message": "x"})),
        ("", json!(null)),
    ] {
        assert_eq!(read(Agent::ClaudeCode, event, &input), None, "{event} {input}");
    }
}

const EVENTS: [&str; 14] = [
    "SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "Stop",
    "StopFailure", "PreCompact", "SessionEnd", "BeforeTool", "AfterTool", "AfterAgent", "BeforeAgent",
    "Unknown",
];
const KEYS: [&str; 22] = [
    "tool_name", "tool_input", "tool_response", "command", "file_path", "edits", "old_string", "new_string",
    "error", "stdout", "metadata", "exit", "last_assistant_message", "prompt", "reason", "source", "todos",
    "plan", "llmContent", "is_interrupt", "duration_ms", "tool_use_id",
];
const WORDS: [&str; 10] = [
    "Bash",
    "Edit",
    "apply_patch",
    "TodoWrite",
    "write_file",
    "Exit code 3\nx",
    "*** Update File: é\n+y",
    "cargo test",
    "\u{0}\u{202e}",
    "",
];

/// A payload of known keys with values of any shape, nested a few times.
fn payload() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop::sample::select(&WORDS[..]).prop_map(Value::from),
        "(.|\n){0,40}".prop_map(Value::from),
        "[a-z ]{0,4}".prop_map(|word| Value::from(word.repeat(3_000))),
    ];
    leaf.prop_recursive(4, 48, 8, |inner| {
        let key = prop::sample::select(&KEYS[..]).prop_map(str::to_owned);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(key, inner, 0..8).prop_map(|map| map.into_iter().collect::<Value>()),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn every_payload_is_a_few_bounded_steps_or_none(input in payload(), event in prop::sample::select(&EVENTS[..])) {
        const STEPS_BYTES_MAX: usize = 64 * 1024;
        for agent in [Agent::ClaudeCode, Agent::Codex, Agent::GeminiCli, Agent::OpenCode, Agent::Cursor] {
            if let Some(report) = read(agent, event, &input) {
                prop_assert!((1..=FILES_MAX).contains(&report.steps.len()));
                let written = serde_json::to_string(&report.steps).unwrap();
                prop_assert!(written.len() <= STEPS_BYTES_MAX, "{} bytes", written.len());
                prop_assert_eq!(serde_json::from_str::<Vec<Step>>(&written).unwrap(), report.steps);
            }
        }
    }
}

#[test]
fn a_cut_separates_no_secret_from_its_name() {
    let secret = "MKF6Xhunterpass99";
    for after in [300, 400, 520, 575, 590, 700, 1_500, 4_000] {
        let text = format!("{}password: {secret} {}", "pad pad\n".repeat(800), "z".repeat(after));
        let input = json!({
            "session_id": "s", "tool_name": "Bash", "tool_use_id": "t", "error": format!("Exit code 1\n{text}"),
            "tool_input": {"command": "make test"}, "prompt": text, "last_assistant_message": text,
        });
        for event in ["UserPromptSubmit", "PostToolUseFailure", "Stop"] {
            let written = serde_json::to_string(&step(Agent::ClaudeCode, event, &input)).unwrap();
            assert!(!written.contains("hunterpass"), "{event} {after}: {written}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn a_secret_is_kept_whole_or_left_out(before in 0usize..3_000, after in 0usize..3_000) {
        let secret = ["ghp_", &"a1B2".repeat(9)].concat();
        let text = format!("{} {secret} {}", "w ".repeat(before), "v ".repeat(after));
        let input = json!({
            "session_id": "s", "tool_name": "Bash", "tool_use_id": "t", "error": format!("Exit code 1\n{text}"),
            "tool_input": {"command": text}, "prompt": text, "last_assistant_message": text,
        });
        for event in ["UserPromptSubmit", "PreToolUse", "PostToolUseFailure", "Stop"] {
            let written = serde_json::to_string(&step(Agent::ClaudeCode, event, &input)).unwrap();
            let rest = written.replace(&secret, "");
            prop_assert!(!rest.contains("a1B2"), "{rest}");
        }
    }
}
