//! The second source of the journal: what hooks did not report comes from the session's transcript, once.

use std::path::Path;

use crate::hooks::report;
use crate::support::transcripts::{append, claude_file, codex_file};
use crate::support::{self, Home, Value, json};

/// A line of a session of Claude Code, as it is written at this moment.
fn claude(session: &str, n: usize, kind: &str, content: &Value) -> String {
    let line = json!({
        "type": kind, "uuid": format!("{session}-{n}"), "sessionId": session, "cwd": "/work", "version": "2.1.39",
        "isSidechain": false, "timestamp": jiff::Timestamp::now().to_string(),
        "message": { "role": kind, "id": format!("m-{n}"), "content": content },
    });
    format!("{line}\n")
}

/// A call of Claude Code with its result.
fn call(session: &str, n: usize, id: &str, tool: &str, input: &Value, output: &str, failed: bool) -> String {
    let asked = json!([{ "type": "tool_use", "id": id, "name": tool, "input": input }]);
    let answer = json!([{ "type": "tool_result", "tool_use_id": id, "content": output, "is_error": failed }]);
    [claude(session, n, "assistant", &asked), claude(session, n + 1, "user", &answer)].concat()
}

fn events(home: &Home) -> Vec<Value> {
    let works = home.json(&["work", "list", "--state", "all", "--all-projects"])["works"].clone();
    let id = works[0]["work"].as_str().unwrap().to_owned();
    home.json(&["work", "tail", &id, "--limit", "500"])["events"].as_array().unwrap().clone()
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["kind"].as_str().unwrap()).collect()
}

fn wait_for(home: &Home, what: &str, holds: impl Fn(&[Value]) -> bool) -> Vec<Value> {
    support::wait_for(what, || Some(events(home)).filter(|events| holds(events)))
}

fn stop(home: &Home, agent: &str, session: &str, transcript: &Path) {
    let payload = json!({ "last_assistant_message": "Done.", "transcript_path": transcript });
    report(home, agent, "Stop", session, payload);
}

#[test]
fn missed_events_come_from_the_transcript_and_common_ones_are_stored_once() {
    for config in ["", "[history]\nenabled = true\n"] {
        let home = Home::with_config(config);
        home.json(&["projects"]);
        report(
            &home,
            "claude-code",
            "UserPromptSubmit",
            "s",
            json!({ "prompt": "Mend it", "prompt_id": "p" }),
        );
        let input = json!({ "command": "cargo test" });
        let payload = json!({ "tool_name": "Bash", "tool_use_id": "c1", "tool_input": input, "tool_response": { "stdout": "ok" } });
        report(&home, "claude-code", "PostToolUse", "s", payload);
        let file = claude_file(&home, "s");
        let edit = json!({ "file_path": "/work/b.rs", "new_string": "x" });
        let make = json!({ "command": "make" });
        let text = [
            claude("s", 0, "user", &json!("Mend it")),
            call("s", 1, "c1", "Bash", &input, "ok", false),
            call("s", 3, "c2", "Edit", &edit, "ok", false),
            "{ no record\n".to_owned(),
            call("s", 5, "c3", "Bash", &make, "Exit code 2\nboom", true),
        ]
        .concat();
        put(&file, &text);
        stop(&home, "claude-code", "s", &file);
        let found = wait_for(&home, "the transcript", |events| events.len() >= 8);
        assert_eq!(
            kinds(&found),
            ["begun", "prompt", "ran", "turn_ended", "gap", "gap", "edited", "ran"],
            "{config}: {found:#?}"
        );
        assert_eq!((&found[4]["step"]["count"], &found[4]["step"]["filled"]), (&json!(2), &json!(true)));
        assert_eq!((&found[5]["step"]["count"], &found[5]["step"]["filled"]), (&json!(1), &Value::Null));
        assert_eq!((&found[7]["step"]["exit"], &found[7]["step"]["tail"]), (&json!(2), &json!("boom")));

        // Reading on adds what is new, and nothing twice.
        let more =
            call("s", 7, "c4", "Write", &json!({ "file_path": "/work/c.rs", "content": "x" }), "ok", false);
        append(&file, more.as_bytes());
        stop(&home, "claude-code", "s", &file);
        let found = wait_for(&home, "the rest", |events| events.len() >= 11);
        assert_eq!(kinds(&found)[8..], ["turn_ended", "gap", "edited"], "{found:#?}");
        assert_eq!(home.run(&["work", "verify"]).code(), 0);
        let count = home.json(&["history", "show"])["sessions"].as_array().map_or(0, Vec::len);
        assert_eq!(
            count,
            usize::from(!config.is_empty()),
            "past sessions are kept only where that is wanted"
        );
    }
}

fn put(file: &Path, text: &str) {
    std::fs::write(file, text).unwrap();
}

#[test]
fn the_outcome_that_codex_does_not_report_is_in_its_transcript() {
    let home = Home::new();
    home.json(&["projects"]);
    report(&home, "codex", "UserPromptSubmit", "s", json!({ "prompt": "Mend it" }));
    let payload = json!({ "tool_name": "Bash", "tool_use_id": "c1", "tool_input": { "command": "cargo test" }, "tool_response": "boom" });
    report(&home, "codex", "PostToolUse", "s", payload);
    let line = |kind: &str, payload: Value| {
        let at = jiff::Timestamp::now().to_string();
        format!("{}\n", json!({ "timestamp": at, "type": kind, "payload": payload }))
    };
    let arguments = json!({ "command": ["bash", "-lc", "cargo test"] }).to_string();
    let output = json!({ "output": "test a::b ... FAILED", "metadata": { "exit_code": 101 } }).to_string();
    let asked = json!({ "type": "input_text", "text": "Mend it" });
    let meta = json!({ "id": "s", "cwd": "/work", "originator": "codex_cli_rs", "source": "cli" });
    let prompt = json!({ "type": "message", "role": "user", "content": [asked] });
    let call = json!({ "type": "function_call", "name": "shell", "arguments": arguments, "call_id": "c1" });
    let answer = json!({ "type": "function_call_output", "call_id": "c1", "output": output });
    let items = [prompt, call, answer].map(|item| line("response_item", item)).concat();
    let text = [line("session_meta", meta), items].concat();
    let file = codex_file(&home, "s");
    put(&file, &text);
    stop(&home, "codex", "s", &file);
    let found = wait_for(&home, "the outcome", |events| events.len() >= 5);
    assert_eq!(kinds(&found), ["begun", "prompt", "ran", "turn_ended", "ran"], "no gap: {found:#?}");
    assert_eq!((&found[2]["step"]["ending"], &found[4]["step"]["exit"]), (&json!("unknown"), &json!(101)));
    let work = home.json(&["work", "list"])["works"][0]["work"].as_str().unwrap().to_owned();
    let state = home.json(&["work", "show", &work])["state"].clone();
    let last: Vec<&str> =
        state["last"].as_array().unwrap().iter().filter_map(|entry| entry["text"].as_str()).collect();
    assert_eq!(last, ["cargo test → exit 101"], "one line, with the outcome");
    assert_eq!(state["gaps"]["times"], 0);
}

#[test]
fn a_command_without_a_result_has_an_unknown_outcome_after_a_crash_also_of_the_daemon() {
    for restarts in [false, true] {
        let home = Home::new();
        home.json(&["projects"]);
        let file = claude_file(&home, "s");
        let tell = |event: &str, mut more: Value| {
            more["transcript_path"] = json!(file);
            report(&home, "claude-code", event, "s", more);
        };
        tell("UserPromptSubmit", json!({ "prompt": "Deploy it" }));
        let deploy = json!([{
            "type": "tool_use", "id": "c2", "name": "Bash", "input": { "command": "./deploy.sh prod" },
        }]);
        let make = json!({ "command": "make" });
        let text = [
            claude("s", 0, "user", &json!("Deploy it")),
            call("s", 1, "c1", "Bash", &make, "Exit code 2\nboom", true),
            claude("s", 3, "assistant", &deploy),
        ]
        .concat();
        put(&file, &text);
        if restarts {
            home.kill_daemon();
            home.json(&["projects"]);
        }
        let agent = home.pump().env("CLAUDE_CODE_SESSION_ID", "s").client("claude-code").start();
        let zero = json!({ "command": "echo zero" });
        let response = json!({ "stdout": "zero" });
        let payload = json!({
            "tool_name": "Bash", "tool_use_id": "c0", "tool_input": zero, "tool_response": response,
        });
        tell("PostToolUse", payload);
        drop(agent);
        let found = wait_for(&home, "the transcript", |events| kinds(events).contains(&"started"));
        let started: Vec<&Value> = found.iter().filter(|event| event["kind"] == "started").collect();
        assert_eq!(started.len(), 1, "{found:#?}");
        assert_eq!(started[0]["step"]["what"], "./deploy.sh prod", "{found:#?}");
        let hint = home.run(&["work", "resume"]).success();
        assert!(hint.contains("`./deploy.sh prod` had begun"), "restarts: {restarts}: {hint}");
        assert!(hint.contains("make → exit 2"), "{hint}");
    }
}

#[test]
fn a_session_that_no_hook_reported_gets_no_piece_of_work() {
    let home = Home::new();
    home.json(&["projects"]);
    let file = claude_file(&home, "other");
    let input = json!({ "command": "make" });
    put(
        &file,
        &[claude("other", 0, "user", &json!("Ask")), call("other", 1, "c", "Bash", &input, "ok", false)]
            .concat(),
    );
    report(
        &home,
        "claude-code",
        "SessionStart",
        "other",
        json!({ "source": "resume", "transcript_path": file }),
    );
    // A later entry of the same queue was read.
    report(&home, "claude-code", "UserPromptSubmit", "s", json!({ "prompt": "Mend it" }));
    let own = claude_file(&home, "s");
    put(
        &own,
        &[claude("s", 0, "user", &json!("Mend it")), call("s", 1, "c1", "Bash", &input, "ok", false)]
            .concat(),
    );
    stop(&home, "claude-code", "s", &own);
    wait_for(&home, "the transcript", |events| kinds(events).contains(&"ran"));
    let works = home.json(&["work", "list", "--state", "all", "--all-projects"])["works"].clone();
    assert_eq!(works.as_array().unwrap().len(), 1, "{works}");
}

#[test]
fn a_command_that_its_user_refused_was_not_begun() {
    let home = Home::new();
    home.json(&["projects"]);
    let input = json!({ "command": "rm -rf build" });
    report(&home, "claude-code", "UserPromptSubmit", "s", json!({ "prompt": "Clean it up" }));
    let call_of_hook = json!({ "tool_name": "Bash", "tool_use_id": "c1", "tool_input": input });
    report(&home, "claude-code", "PreToolUse", "s", call_of_hook);
    let refusal = "The user doesn't want to proceed with this tool use. The tool use was rejected";
    let file = claude_file(&home, "s");
    let text =
        [claude("s", 0, "user", &json!("Clean it up")), call("s", 1, "c1", "Bash", &input, refusal, true)];
    put(&file, &text.concat());
    report(&home, "claude-code", "SessionEnd", "s", json!({ "reason": "exit", "transcript_path": file }));
    let found = wait_for(&home, "the transcript and the end", |events| {
        ["called", "closed"].iter().all(|kind| kinds(events).contains(kind))
    });
    assert!(!kinds(&found).contains(&"gap"), "{found:#?}");
    assert!(home.json(&["work", "list"])["works"].as_array().unwrap().is_empty());
}

#[test]
fn a_call_of_another_server_is_under_way_until_the_transcript_has_its_result() {
    let home = Home::new();
    home.json(&["projects"]);
    let file = claude_file(&home, "s");
    let ask = || {
        let more = json!({ "prompt": "Merge it", "transcript_path": file });
        report(&home, "claude-code", "UserPromptSubmit", "s", more);
    };
    ask();
    let merge = json!([{ "type": "tool_use", "id": "c1", "name": "mcp__forge__merge", "input": {} }]);
    put(&file, &[claude("s", 0, "user", &json!("Merge it")), claude("s", 1, "assistant", &merge)].concat());
    ask();
    wait_for(&home, "its beginning", |events| kinds(events).contains(&"started"));
    let answer = json!([{ "type": "tool_result", "tool_use_id": "c1", "content": "merged" }]);
    append(&file, claude("s", 2, "user", &answer).as_bytes());
    ask();
    let found = wait_for(&home, "its end", |events| kinds(events).contains(&"called"));
    assert!(!kinds(&found).contains(&"gap"), "{found:#?}");
    let work = home.json(&["work", "list"])["works"][0]["work"].as_str().unwrap().to_owned();
    assert_eq!(home.json(&["work", "show", &work])["state"]["under_way"], json!([]), "{found:#?}");
}

#[test]
fn a_forgotten_prompt_that_a_hook_reported_is_not_missing() {
    let home = Home::new();
    home.json(&["history", "forget", "--text", "the okapi password", "--yes"]);
    let prompt = "Say the okapi password";
    report(&home, "claude-code", "UserPromptSubmit", "s", json!({ "prompt": prompt, "prompt_id": "p" }));
    let make = json!({ "command": "make" });
    let file = claude_file(&home, "s");
    let text = [claude("s", 0, "user", &json!(prompt)), call("s", 1, "c1", "Bash", &make, "ok", false)];
    put(&file, &text.concat());
    stop(&home, "claude-code", "s", &file);
    let found = wait_for(&home, "the transcript", |events| kinds(events).contains(&"ran"));
    assert_eq!(kinds(&found), ["begun", "prompt", "turn_ended", "gap", "ran"], "{found:#?}");
    assert_eq!(found[3]["step"]["count"], 1, "the command alone was not reported: {found:#?}");
    assert!(!format!("{found:?}").contains("okapi"), "{found:#?}");
}
