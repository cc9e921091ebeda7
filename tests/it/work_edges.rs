//! The journal where hooks alone do not report everything: Gemini CLI's commands and compactions, a daemon that is away, a
//! request that is reported late, another worktree, and a journal that is off.

use std::fs;

use crate::hooks::report;
use crate::support::{Home, Repository, Value, finish, json, wait_for};
use crate::work_hooks::{HINT, context_at_start, works};

const AGENT: &str = "gemini-cli";

fn shell(command: &str) -> Value {
    json!({ "tool_name": "run_shell_command", "tool_input": { "command": command } })
}

fn ran(command: &str, report: &str) -> Value {
    let mut call = shell(command);
    call["tool_response"] =
        json!({ "llmContent": format!("<untrusted_context>\n{report}\n</untrusted_context>") });
    call
}

/// What a hook said to the agent.
fn injected_text(answer: &str) -> String {
    let answer: Value = serde_json::from_str(answer).unwrap_or_default();
    answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned()
}

fn state(home: &Home) -> Value {
    let works = works(home);
    let id = works[0]["work"].as_str().unwrap();
    home.json(&["work", "show", id])["state"].clone()
}

#[test]
fn a_command_of_gemini_that_was_under_way_has_an_unknown_outcome() {
    let home = Home::new();
    home.json(&["projects"]);
    report(&home, AGENT, "BeforeAgent", "g", json!({ "prompt": "Mend the PEM case" }));
    for _ in 0..2 {
        report(&home, AGENT, "BeforeTool", "g", shell("pytest -q"));
        report(
            &home,
            AGENT,
            "AfterTool",
            "g",
            ran("pytest -q", "Output: FAILED a.py::test_b\nExit Code: 1\nProcess Group PGID: 7"),
        );
    }
    let before = state(&home);
    assert_eq!(before["under_way"], json!([]), "each end was joined with its beginning: {before}");
    assert_eq!(
        (&before["test"]["ending"], &before["failed"]["text"]),
        (&json!("failed"), &json!("pytest -q"))
    );
    report(&home, AGENT, "BeforeTool", "g", shell("gh pr create --fill"));
    let after = state(&home);
    assert_eq!(after["under_way"][0]["what"], "gh pr create --fill", "{after}");
    let text = context_at_start(&home, AGENT, "g", "resume");
    assert!(text.contains(HINT) && text.contains("`gh pr create --fill` had begun"), "{text}");
}

#[test]
fn gemini_is_given_its_work_once_after_each_compaction() {
    let home = Home::new();
    home.json(&["projects"]);
    let record = home.folder("chats").join("session.jsonl");
    fs::write(&record, "{\"sessionId\":\"g\",\"kind\":\"main\"}\n").unwrap();
    let hook = |event: &str, more: Value| {
        let mut input = json!({ "transcript_path": record });
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        injected_text(&report(&home, AGENT, event, "g", input))
    };
    assert_eq!(hook("BeforeAgent", json!({ "prompt": "Mend the PEM case" })), "");
    assert_eq!(hook("AfterTool", ran("make", "Output: (empty)\nProcess Group PGID: 7")), "");
    for (n, event, more) in [
        (1, "AfterTool", ran("make", "Output: (empty)\nProcess Group PGID: 7")),
        (2, "BeforeAgent", json!({ "prompt": "Go on" })),
    ] {
        let summary = format!("<state_snapshot>part {n}</state_snapshot>");
        let messages = json!([{ "id": "a", "type": "user", "content": [{ "text": summary }] }]);
        let shortened = format!("{}\n", json!({ "$set": { "messages": messages } }));
        crate::support::transcripts::append(&record, shortened.as_bytes());
        let text = hook(event, more.clone());
        assert!(text.contains(HINT) && text.contains("Mend the PEM case"), "{event}: {text}");
        assert!(text.starts_with("<cerebro-context>"), "{text}");
        // Reported again, it is the same compaction.
        crate::support::transcripts::append(&record, shortened.replace("\"a\"", "\"b\"").as_bytes());
        assert_eq!(hook(event, more), "");
        assert_eq!(state(&home)["compactions"], n);
    }
}

#[test]
fn events_that_hooks_missed_without_a_daemon_are_reported_as_a_gap() {
    let home = Home::new();
    home.json(&["projects"]);
    for agent in [AGENT, "claude-code"] {
        report(&home, agent, "BeforeAgent", &format!("s-{agent}"), json!({ "prompt": "Mend it" }));
    }
    home.kill_daemon();
    let make_ran = || {
        let tool = ran("make", "Output: (empty)\nProcess Group PGID: 7");
        report(&home, AGENT, "AfterTool", "s-gemini-cli", tool);
    };
    for _ in 0..3 {
        make_ran();
    }
    // Claude Code's transcript has it.
    let transcript = home.work().join("transcript.jsonl");
    fs::write(&transcript, "").unwrap();
    let call = json!({
        "tool_name": "Bash", "tool_use_id": "c", "tool_input": { "command": "make" }, "transcript_path": transcript,
    });
    report(&home, "claude-code", "PreToolUse", "s-claude-code", call);
    let files = || -> Vec<_> {
        fs::read_dir(home.data().join("missed")).unwrap().map(|entry| entry.unwrap().path()).collect()
    };
    assert_eq!(files().len(), 1, "of one session");
    // A hook took them and was killed before it reported them.
    let taken = files()[0].with_extension("1");
    fs::rename(&files()[0], &taken).unwrap();
    let lines = fs::read(&taken).unwrap();

    home.json(&["projects"]);
    let next = || {
        make_ran();
        let state = home.json(&["work", "show", &work_of(&home, "s-gemini-cli")])["state"].clone();
        assert_eq!((&state["gaps"]["times"], &state["gaps"]["events"]), (&json!(1), &json!(3)), "{state}");
        assert_eq!(state["gaps"]["reason"], "no daemon answered");
        assert_eq!(files().len(), 0, "it was handed over");
    };
    next();
    // A hook reported them and was killed before it removed them.
    fs::write(&taken, lines).unwrap();
    next();
    assert_eq!(home.run(&["work", "verify"]).code(), 0);
}

#[test]
fn a_gap_that_no_transcript_fills_is_told_for_claude_code_and_codex_too() {
    let home = Home::new();
    home.json(&["projects"]);
    let make = |agent: &str, session: &str, id: &str, transcript: &str| {
        let call = json!({
            "tool_name": "Bash", "tool_use_id": id, "tool_input": { "command": "make" },
            "tool_response": "ok", "transcript_path": transcript,
        });
        report(&home, agent, "PostToolUse", session, call);
    };
    for agent in ["claude-code", "codex"] {
        make(agent, &format!("s-{agent}"), "c1", "/nonexistent.jsonl");
    }
    home.json(&["daemon", "stop"]);
    for agent in ["claude-code", "codex"] {
        make(agent, &format!("s-{agent}"), "c2", "/nonexistent.jsonl");
        make(agent, &format!("s-{agent}"), "c3", "/nonexistent.jsonl");
    }
    home.json(&["projects"]);
    for agent in ["claude-code", "codex"] {
        let session = format!("s-{agent}");
        make(agent, &session, "c4", "/nonexistent.jsonl");
        let state = home.json(&["work", "show", &work_of(&home, &session)])["state"].clone();
        assert_eq!(
            (&state["gaps"]["times"], &state["gaps"]["events"]),
            (&json!(1), &json!(2)),
            "{agent}: {state}"
        );
    }
}

#[test]
fn a_prompt_brings_a_killed_daemon_back_and_not_one_that_was_stopped() {
    let home = Home::new();
    home.json(&["projects"]);
    home.json(&["daemon", "stop"]);
    report(&home, AGENT, "BeforeAgent", "g", json!({ "prompt": "Mend it" }));
    assert_eq!(home.daemons(), Vec::<u32>::new());
    home.json(&["projects"]);
    home.kill_daemon();
    report(&home, AGENT, "AfterTool", "g", ran("make", "Output: (empty)\nProcess Group PGID: 7"));
    assert_eq!(home.daemons(), Vec::<u32>::new(), "a call of a tool starts none");
    report(&home, AGENT, "BeforeAgent", "g", json!({ "prompt": "Go on" }));
    wait_for("the daemon", || (home.daemons().len() == 1).then_some(()));
}

fn work_of(home: &Home, session: &str) -> String {
    let works = works(home);
    let own = works.iter().find(|work| work["session_id"] == session).unwrap_or_else(|| panic!("{works:?}"));
    own["work"].as_str().unwrap().to_owned()
}

/// All text of a person's files, except those in Cerebro's home.
fn configured(home: &Home) -> String {
    let mut text = String::new();
    let mut folders = vec![home.user()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path == home.data() {
                continue;
            }
            match path.is_dir() {
                true => folders.push(path),
                false => {
                    text +=
                        &format!("{}\n{}\n", path.display(), fs::read_to_string(&path).unwrap_or_default())
                }
            }
        }
    }
    text
}

#[test]
fn a_journal_that_is_off_has_no_hook_no_tool_and_no_file() {
    let marks = ["PreToolUse", "PostToolUse", "StopFailure", "PreCompact", "AfterTool", "journal"];
    let agents = ["claude-code", "codex", "gemini-cli", "opencode", "cursor"];
    let on = Home::new();
    let off = Home::with_config("[work]\nenabled = false\ntools = true\n");
    for home in [&on, &off] {
        for agent in agents {
            home.run(&["setup", agent]).success();
        }
    }
    let (with, without) = (configured(&on), configured(&off));
    for mark in marks {
        assert!(with.contains(mark), "{mark} marks no hook of the journal");
        assert!(!without.contains(mark), "{mark} is in {without}");
    }
    let tools = |home: &Home| home.agent().request("tools/list", json!({})).unwrap().to_string();
    assert_eq!(tools(&off), tools(&on), "not one byte of the journal");

    // A package has the hooks nevertheless: they print and store nothing, also while no daemon runs.
    for is_there in [true, false] {
        if !is_there {
            off.kill_daemon();
        }
        for (event, more) in [
            ("BeforeAgent", json!({ "prompt": "Mend it" })),
            ("BeforeTool", shell("make")),
            ("AfterTool", ran("make", "Output: (empty)\nProcess Group PGID: 7")),
        ] {
            assert_eq!(report(&off, AGENT, event, "g", more), "");
        }
    }
    assert!(!off.data().join("missed").exists());
    assert_eq!(works(&off), Vec::<Value>::new());
}

#[test]
fn a_note_says_whether_it_has_an_effect() {
    let home = Home::with_config("[work]\ntools = true\n");
    let mut agent = home.agent();
    let begin = json!({ "title": "Release 2.0", "steps": vec!["a step"; 50] });
    let work = agent.ok("work_begin", begin)["work"].as_str().unwrap().to_owned();
    let with = |more: Value| {
        let mut arguments = json!({ "work": work });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        arguments
    };
    // What there is no room for would be stored and forgotten.
    let refused = agent.call("work_note", with(json!({ "event": "step_added", "text": "one more" })));
    assert!(format!("{refused:?}").contains("at most 50 steps"), "{refused:?}");
    for n in 0..16 {
        agent.ok("work_note", with(json!({ "event": "gate_pending", "key": format!("gate {n}") })));
    }
    let refused = agent.call("work_note", with(json!({ "event": "gate_pending", "key": "one more" })));
    assert!(format!("{refused:?}").contains("at most 16 gates"), "{refused:?}");
    let passed = agent.ok("work_note", with(json!({ "event": "gate_passed", "key": "gate 3" })));
    assert_eq!(passed["outcome"], "recorded");
    let closed = agent.ok("work_note", with(json!({ "event": "done" })));
    let again = agent.ok("work_note", with(json!({ "event": "done" })));
    assert_eq!((&closed["outcome"], &again["outcome"]), (&json!("recorded"), &json!("unchanged")));
    assert_eq!(again["seq"], closed["seq"]);
}

#[test]
fn a_report_that_is_too_long_is_told_as_a_gap() {
    let home = Home::new();
    home.json(&["projects"]);
    report(&home, "gemini-cli", "BeforeAgent", "s", json!({ "prompt": "Write the fixtures" }));
    let input = json!({ "file_path": "/w/all.json", "content": "x".repeat(5 << 20) });
    report(&home, "gemini-cli", "AfterTool", "s", json!({ "tool_name": "write_file", "tool_input": input }));
    let hint = home.run(&["work", "resume"]).success();
    assert!(hint.contains("Not recorded: 1 events (a hook's report was too long)"), "{hint}");
}

#[test]
fn whatever_an_agent_does_begins_its_work_although_its_request_is_reported_later() {
    let home = Home::new();
    home.json(&["projects"]);
    let hook = |event: &str, session: &str, input: Value| report(&home, "claude-code", event, session, input);
    for session in ["idle", "busy"] {
        hook("SessionStart", session, json!({ "source": "startup" }));
        hook("PreCompact", session, json!({ "trigger": "manual" }));
        hook("Stop", session, json!({ "last_assistant_message": "Hello" }));
    }
    assert_eq!(works(&home).len(), 0, "nothing was done");
    let task = json!({
        "tool_name": "TaskCreate", "tool_use_id": "c1", "tool_input": { "subject": "Write tests" },
        "tool_response": { "task": { "id": "1" } },
    });
    hook("PostToolUse", "busy", task);
    hook("UserPromptSubmit", "busy", json!({ "prompt": "Mend the PEM case", "prompt_id": "p" }));
    let state = state(&home);
    assert_eq!(
        (&state["title"], &state["steps"][0]["text"]),
        (&json!("Mend the PEM case"), &json!("Write tests"))
    );
    // A turn that failed is all that is known of this one.
    hook("StopFailure", "failed", json!({ "error": "rate_limit" }));
    assert_eq!(works(&home).len(), 2);
}

#[test]
fn a_hint_compares_the_commit_of_the_worktree_in_which_the_work_was_done() {
    let home = Home::new();
    home.json(&["projects"]);
    let repository = Repository::init(&home.folder("main"));
    let worktree = home.folder("worktrees").join("beside");
    repository.worktree(&worktree);
    let path = worktree.join("a.rs");
    fs::write(&path, "fn a() {}\n").unwrap();
    let edit = json!({
        "cwd": worktree, "tool_name": "Write", "tool_use_id": "c1", "tool_response": {},
        "tool_input": { "file_path": path, "content": "fn a() {}\n" },
    });
    report(&home, "claude-code", "PostToolUse", "s", edit);
    // From now on, the two have different commits.
    repository.commit("more");
    let id = works(&home)[0]["work"].as_str().unwrap().to_owned();
    let asked = json!({ "cwd": worktree, "prompt": "Mend it" });
    report(&home, "claude-code", "UserPromptSubmit", "s", asked);
    let text = injected_text(&report(
        &home,
        "claude-code",
        "SessionStart",
        "s",
        json!({ "source": "resume", "cwd": repository.path() }),
    ));
    assert!(text.contains(" as when it began; the edited files are as it left them"), "{text}");
    let command =
        finish(home.command().current_dir(repository.path()).args(["work", "resume", &id])).success();
    assert!(command.contains("Checkout now: the edited files are as it left them"), "{command}");
}
