//! The journal as agents write it: real hook processes, agents and daemons that are killed, and what the next
//! session is given.

use crate::hooks::report;
use crate::support::{self, Agent, Home, Value, json};

/// The beginning of a hint. The context has a heading of a similar name.
pub const HINT: &str = "Unfinished: \"";
/// Longest hint.
const HINT_MAX: usize = 2_500;

/// A session of Claude Code: its server, and its hooks.
struct HookedSession<'a> {
    home: &'a Home,
    session: &'static str,
    /// Held so that its connection stays open.
    _server: Agent,
}

impl<'a> HookedSession<'a> {
    fn begin(home: &'a Home, session: &'static str) -> Self {
        // A hook does not wait for the store to open.
        home.json(&["projects"]);
        let server = home.pump().env("CLAUDE_CODE_SESSION_ID", session).client("claude-code").start();
        let sitting = Self { home, session, _server: server };
        sitting.report("SessionStart", json!({ "source": "startup" }));
        sitting
    }

    #[track_caller]
    fn report(&self, event: &str, more: Value) -> String {
        report(self.home, "claude-code", event, self.session, more)
    }

    fn ask(&self, prompt: &str) {
        self.report("UserPromptSubmit", json!({ "prompt": prompt, "prompt_id": prompt }));
    }

    fn edit(&self, file: &str, text: &str) {
        let path = self.home.work().join(file);
        std::fs::write(&path, text).unwrap();
        self.report(
            "PostToolUse",
            json!({
                "tool_name": "Write", "tool_use_id": format!("e-{file}"), "tool_response": {},
                "tool_input": { "file_path": path, "content": text },
            }),
        );
    }

    fn start(&self, id: &str, command: &str) {
        self.report(
            "PreToolUse",
            json!({ "tool_name": "Bash", "tool_use_id": id, "tool_input": { "command": command } }),
        );
    }

    fn fail(&self, id: &str, command: &str, error: &str) {
        self.report(
            "PostToolUseFailure",
            json!({
                "tool_name": "Bash", "tool_use_id": id, "tool_input": { "command": command }, "error": error,
                "is_interrupt": false, "duration_ms": 12,
            }),
        );
    }

    /// The work up to the middle of a command.
    fn up_to_the_middle(&self) {
        self.ask("Make the redaction stream");
        self.edit("rules.rs", "fn a() {}\n");
        self.ask("Now do the PEM case, keep the API");
        self.start("t-1", "cargo test -p redact");
        self.fail("t-1", "cargo test -p redact", "Exit code 101\ntest rules::pem_split ... FAILED\n");
        self.edit("stream.rs", "fn b() {}\nfn c() {}\n");
        self.start("t-2", "gh pr create --fill");
    }
}

/// The context that a session is given at its start.
pub fn context_at_start(home: &Home, agent: &str, session: &str, source: &str) -> String {
    let output = report(home, agent, "SessionStart", session, json!({ "source": source }));
    if output.is_empty() {
        return output;
    }
    let output: Value = serde_json::from_str(&output).unwrap();
    output["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned()
}

/// Waits until a list of work says something.
#[track_caller]
pub fn wait_for(home: &Home, what: &str, holds: impl Fn(&[Value]) -> bool) {
    support::wait_for(what, || holds(&works(home)).then_some(()));
}

pub fn works(home: &Home) -> Vec<Value> {
    home.json(&["work", "list", "--state", "all", "--all-projects"])["works"].as_array().unwrap().clone()
}

#[track_caller]
fn assert_names_all(text: &str) {
    for word in [
        "Now do the PEM case, keep the API",
        "rules.rs",
        "stream.rs",
        "pem_split",
        "cargo test -p redact",
        "gh pr create --fill",
    ] {
        assert!(text.contains(word), "no `{word}` in: {text}");
    }
}

#[test]
fn the_next_session_is_given_what_a_killed_agent_left() {
    let home = Home::new();
    let sitting = HookedSession::begin(&home, "first");
    sitting.up_to_the_middle();
    // The agent vanishes: its server's socket closes, and no hook says so.
    drop(sitting);
    wait_for(&home, "the loss is seen", |works| works.iter().any(|work| work["stale"] == "lost"));
    for agent in ["codex", "claude-code", "gemini-cli"] {
        let text = context_at_start(&home, agent, &format!("next-{agent}"), "startup");
        assert_names_all(&text);
        assert_eq!(text.matches("Now do the PEM case, keep the API").count(), 1, "said once: {text}");
        assert!(text.starts_with("<cerebro-context>"), "{text}");
        let hint = text.trim_start_matches("<cerebro-context>\n").split("\n\n").next().unwrap();
        assert!(hint.len() <= HINT_MAX, "{} bytes: {hint}", hint.len());
    }
    let printed = home.run(&["work", "resume"]).success();
    assert_names_all(&printed);
    // Somebody pastes it into an agent: it is neither a request nor a memory.
    let pasted = format!("{printed}\nGo on with it");
    report(&home, "codex", "UserPromptSubmit", "pasted", json!({ "prompt": pasted }));
    assert_eq!(works(&home)[0]["title"], "Go on with it");
}

#[test]
fn a_session_that_ends_after_a_turn_that_failed_is_handed_over() {
    let home = Home::new();
    home.json(&["projects"]);
    for (session, reason) in [("one", "exit"), ("two", "other")] {
        let tell = |event: &str, more: Value| report(&home, "claude-code", event, session, more);
        tell("UserPromptSubmit", json!({ "prompt": format!("Refactor the parser, then {reason}") }));
        tell("StopFailure", json!({ "error": "rate_limit" }));
        tell("SessionEnd", json!({ "reason": reason }));
        let text = context_at_start(&home, "codex", &format!("after-{session}"), "startup");
        assert!(text.contains(&format!("{HINT}Refactor the parser, then {reason}")), "{text}");
        assert!(text.contains("rate_limit"), "{text}");
    }
    assert!(works(&home).iter().all(|work| work["status"] == "open"), "{:?}", works(&home));

    // Claude Code does not wait for its hooks: the report of the failure arrives after that of the end.
    let tell = |event: &str, more: Value| report(&home, "claude-code", event, "three", more);
    tell("UserPromptSubmit", json!({ "prompt": "Rename the parser" }));
    tell("SessionEnd", json!({ "reason": "other" }));
    assert_eq!(works(&home)[0]["status"], "closed");
    tell("StopFailure", json!({ "error": "overloaded" }));
    let text = context_at_start(&home, "codex", "after-three", "startup");
    assert!(text.contains(&format!("{HINT}Rename the parser")) && text.contains("overloaded"), "{text}");
    assert_eq!(home.run(&["work", "verify"]).code(), 0);

    // Ended by its user between two turns, it left nothing.
    let home = Home::new();
    home.json(&["projects"]);
    let tell = |event: &str, more: Value| report(&home, "claude-code", event, "one", more);
    tell("UserPromptSubmit", json!({ "prompt": "Refactor the parser" }));
    tell("StopFailure", json!({ "error": "rate_limit" }));
    tell("UserPromptSubmit", json!({ "prompt": "Go on" }));
    tell("Stop", json!({ "last_assistant_message": "Done." }));
    tell("SessionEnd", json!({ "reason": "exit" }));
    assert_eq!(works(&home)[0]["status"], "closed");
    let text = context_at_start(&home, "codex", "two", "startup");
    assert!(!text.contains(HINT), "{text}");
}

#[test]
fn a_command_in_the_background_of_a_killed_agent_has_an_unknown_outcome() {
    let home = Home::new();
    let sitting = HookedSession::begin(&home, "first");
    sitting.ask("Start the migration");
    sitting.start("bg", "./migrate.sh --all");
    let input = json!({ "command": "./migrate.sh --all", "run_in_background": true });
    let response = json!({ "stdout": "", "stderr": "", "interrupted": false, "backgroundTaskId": "b1" });
    let call =
        json!({ "tool_name": "Bash", "tool_use_id": "bg", "tool_input": input, "tool_response": response });
    sitting.report("PostToolUse", call);
    let task = json!({ "id": "b1", "type": "shell", "status": "running", "command": "./migrate.sh --all" });
    sitting.report("Stop", json!({ "last_assistant_message": "It runs.", "background_tasks": [task] }));
    drop(sitting);
    wait_for(&home, "the loss is seen", |works| works.iter().any(|work| work["stale"] == "lost"));
    let text = context_at_start(&home, "codex", "second", "startup");
    assert!(text.contains("`./migrate.sh --all` had begun"), "{text}");
    assert!(text.contains("./migrate.sh --all → outcome not reported"), "{text}");
    assert!(!text.contains("→ ok") && !text.contains("exit 0"), "{text}");
}

#[test]
fn a_command_in_the_background_outlives_the_end_of_its_session() {
    let home = Home::new();
    home.json(&["projects"]);
    let tell = |event: &str, more: Value| report(&home, "claude-code", event, "one", more);
    let task = json!({ "id": "b1", "type": "shell", "status": "running", "command": "./migrate.sh --all" });
    tell("UserPromptSubmit", json!({ "prompt": "Start the migration" }));
    tell("Stop", json!({ "last_assistant_message": "It runs.", "background_tasks": [task] }));
    tell("SessionEnd", json!({ "reason": "prompt_input_exit" }));
    assert_eq!(works(&home)[0]["status"], "open");
    let text = context_at_start(&home, "codex", "two", "startup");
    assert!(text.contains("`./migrate.sh --all` had begun"), "{text}");
    // A person says that it is done, and that holds.
    let id = works(&home)[0]["work"].as_str().unwrap().to_owned();
    home.run(&["work", "close", &id]).success();
    tell("PreCompact", json!({ "trigger": "manual" }));
    assert_eq!(works(&home)[0]["status"], "closed");

    // The end of a command that is reported after that of its session closes the work.
    let tell = |event: &str, more: Value| report(&home, "claude-code", event, "three", more);
    let mut call = json!({ "tool_name": "Bash", "tool_use_id": "c", "tool_input": { "command": "make" } });
    tell("UserPromptSubmit", json!({ "prompt": "Build it all" }));
    tell("PreToolUse", call.clone());
    tell("SessionEnd", json!({ "reason": "other" }));
    assert_eq!(works(&home)[0]["status"], "open");
    call["tool_response"] = json!({ "stdout": "", "stderr": "" });
    tell("PostToolUse", call);
    assert_eq!(works(&home)[0]["status"], "closed");
}

#[test]
fn a_session_whose_first_event_overtook_its_first_request_is_named_by_the_request() {
    let home = Home::new();
    home.json(&["projects"]);
    let call = json!({
        "tool_name": "Bash", "tool_use_id": "c1", "tool_input": { "command": "make" }, "tool_response": "ok",
    });
    report(&home, "codex", "PostToolUse", "s", call);
    report(&home, "codex", "UserPromptSubmit", "s", json!({ "prompt": "Add caching to the uploads" }));
    report(&home, "codex", "UserPromptSubmit", "s", json!({ "prompt": "And then?" }));
    assert_eq!(works(&home)[0]["title"], "Add caching to the uploads");
    let text = home.run(&["work", "resume"]).success();
    assert!(text.contains("Unfinished: \"Add caching to the uploads\""), "{text}");
    assert_eq!(home.run(&["work", "verify"]).code(), 0);
}

#[test]
fn a_killed_daemon_loses_nothing_that_a_hook_was_answered() {
    let home = Home::new();
    let sitting = HookedSession::begin(&home, "first");
    sitting.up_to_the_middle();
    home.kill_daemon();
    drop(sitting);
    home.json(&["projects"]);
    assert_names_all(&context_at_start(&home, "codex", "second", "startup"));
    let verified = home.run(&["work", "verify", "--json"]).json();
    assert_eq!(verified["findings"], json!([]), "{verified}");
}

#[test]
fn changes_since_the_end_of_the_work_are_reported() {
    let home = Home::new();
    let sitting = HookedSession::begin(&home, "first");
    sitting.up_to_the_middle();
    drop(sitting);
    wait_for(&home, "the loss is seen", |works| works.iter().any(|work| work["stale"] == "lost"));
    let before = context_at_start(&home, "codex", "second", "startup");
    std::fs::write(home.work().join("rules.rs"), "somebody else\n").unwrap();
    let after = context_at_start(&home, "codex", "third", "startup");
    let changed = |text: &str| {
        let line = text.lines().find(|line| line.starts_with("Checkout now: ")).map(str::to_owned);
        line.is_some_and(|line| line.contains("rules.rs changed (not by this work)"))
    };
    assert!(!changed(&before) && changed(&after), "{before}\n---\n{after}");
}

#[test]
fn a_session_that_ended_in_order_leaves_no_hint() {
    let home = Home::new();
    let sitting = HookedSession::begin(&home, "first");
    sitting.ask("Say hello");
    sitting.report("Stop", json!({ "last_assistant_message": "Hello" }));
    sitting.report("SessionEnd", json!({ "reason": "prompt_input_exit" }));
    drop(sitting);
    // It is not in the list of open work; another request reopens it.
    assert_eq!(works(&home)[0]["status"], "closed");
    report(&home, "claude-code", "UserPromptSubmit", "first", json!({ "prompt": "One more thing" }));
    assert_eq!(works(&home)[0]["status"], "open");
    report(&home, "claude-code", "SessionEnd", "first", json!({ "reason": "other" }));
    let text = context_at_start(&home, "codex", "second", "startup");
    assert!(!text.contains(HINT), "{text}");
}

#[test]
fn a_session_lost_between_two_turns_leaves_no_hint() {
    let home = Home::new();
    let sitting = HookedSession::begin(&home, "first");
    sitting.ask("Say hello");
    sitting.report("Stop", json!({ "last_assistant_message": "Hello" }));
    drop(sitting);
    wait_for(&home, "the loss is seen", |works| works.iter().any(|work| work["stale"] == "lost"));
    let text = context_at_start(&home, "codex", "second", "startup");
    assert!(!text.contains(HINT), "{text}");
}

#[test]
fn a_session_is_given_its_own_work_after_a_compaction_only() {
    let home = Home::new();
    let sitting = HookedSession::begin(&home, "first");
    sitting.up_to_the_middle();
    sitting.report("PreCompact", json!({ "trigger": "auto" }));
    assert!(!context_at_start(&home, "claude-code", "first", "startup").contains(HINT));
    assert_names_all(&context_at_start(&home, "claude-code", "first", "compact"));
    // A second session that begins while the first is at work is not asked to take over.
    let text = context_at_start(&home, "codex", "second", "startup");
    assert!(!text.contains(HINT), "{text}");
}

#[test]
fn a_call_that_is_reported_twice_is_one_event() {
    let home = Home::new();
    let sitting = HookedSession::begin(&home, "first");
    sitting.ask("Mend it");
    let count = || works(&home)[0]["seq"].as_u64().unwrap();
    sitting.fail("t-1", "make", "Exit code 2");
    let before = count();
    sitting.fail("t-1", "make", "Exit code 2");
    assert_eq!(count(), before);
    sitting.fail("t-2", "make", "Exit code 2");
    assert_eq!(count(), before + 1);
}

#[test]
fn no_secret_in_any_field_is_stored_or_shown() {
    let home = Home::new();
    let token = ["ghp_", &"a1B2".repeat(9)].concat();
    let sitting = HookedSession::begin(&home, "first");
    let secret = format!("use {token} now");
    sitting.ask(&secret);
    sitting.start("t-1", &format!("curl -H 'Authorization: Bearer {token}' x"));
    sitting.fail("t-2", &format!("deploy --token {token}"), &format!("Exit code 1\nbad token {token}"));
    sitting.edit("a.rs", &token);
    for (event, more) in [
        (
            "PostToolUse",
            json!({ "tool_name": "Edit", "tool_use_id": secret,
            "tool_input": { "file_path": format!("/w/{token}.rs"), "old_string": token, "new_string": secret } }),
        ),
        (
            "PostToolUse",
            json!({ "tool_name": "TodoWrite", "tool_use_id": "p",
            "tool_input": { "todos": [{ "content": secret, "status": "pending", "id": token }] } }),
        ),
        (
            "PostToolUse",
            json!({ "tool_name": "ExitPlanMode", "tool_input": { "plan": format!("- {secret}") } }),
        ),
        ("PreCompact", json!({ "trigger": secret })),
        ("StopFailure", json!({ "error": secret, "error_details": token })),
        ("Stop", json!({ "last_assistant_message": secret, "prompt_id": token })),
        ("SessionEnd", json!({ "reason": secret })),
    ] {
        sitting.report(event, more);
    }
    drop(sitting);
    let id = works(&home)[0]["work"].as_str().unwrap().to_owned();
    let mut all = home.run(&["work", "export", &id]).success();
    all += &home.run(&["work", "show", &id, "--json"]).success();
    all += &home.run(&["work", "resume", &id]).success();
    all += &home.run(&["work", "list", "--state", "all", "--json"]).success();
    assert!(all.contains("REDACTED") && !all.contains(&token), "{all}");
    // Nor anywhere on the disk, once everything is flushed.
    home.json(&["daemon", "stop"]);
    let mut folders = vec![home.data().to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.is_file() {
                let bytes = std::fs::read(&path).unwrap();
                let found = bytes.windows(token.len()).any(|window| window == token.as_bytes());
                assert!(!found, "{}", path.display());
            }
        }
    }
}

#[test]
fn a_journal_that_is_off_leaves_nothing() {
    let home = Home::with_config("[work]\nenabled = false\n");
    let sitting = HookedSession::begin(&home, "first");
    sitting.up_to_the_middle();
    drop(sitting);
    assert_eq!(works(&home), Vec::<Value>::new());
    let text = context_at_start(&home, "codex", "second", "startup");
    assert!(!text.contains(HINT), "{text}");
    for table in ["work", "work_event", "artifact", "seal"] {
        let query = format!("SELECT count() FROM {table} GROUP ALL");
        let rows = home.json(&["sql", &query])["results"][0]["result"].clone();
        let is_empty = rows.as_array().is_some_and(|rows| rows.iter().all(|row| row["count"] == 0));
        assert!(is_empty, "{table}: {rows}");
    }
    // Prompts are stored as usual.
    assert_eq!(home.json(&["prompts"])["prompts"].as_array().unwrap().len(), 2);
}

/// The hooks of an agent's settings that name this program, by event.
fn entries(home: &Home, file: &str) -> Vec<String> {
    let path = home.user().join(file);
    let Ok(text) = std::fs::read_to_string(path) else { return Vec::new() };
    let settings: Value = serde_json::from_str(&text).unwrap();
    let hooks = settings["hooks"].as_object().unwrap();
    hooks
        .iter()
        .filter(|(_, list)| list.to_string().contains(" hook "))
        .map(|(event, _)| event.clone())
        .collect()
}

#[test]
fn hooks_of_the_journal_are_set_up_unless_it_is_off() {
    let files = [(".claude/settings.json", "claude-code"), (".codex/hooks.json", "codex")];
    for (file, agent) in files {
        let home = Home::new();
        home.run(&["setup", agent]).success();
        let all = entries(&home, file);
        assert!(all.iter().any(|event| event == "PostToolUse"), "{agent}: {all:?}");
        // When the journal is turned off, the next set-up removes its hooks, and no others.
        std::fs::create_dir_all(home.data()).unwrap();
        std::fs::write(home.data().join("config.toml"), "[work]\nenabled = false\n").unwrap();
        home.run(&["setup", agent]).success();
        let left = entries(&home, file);
        assert!(!left.is_empty() && left.iter().all(|event| !event.contains("Tool")), "{agent}: {left:?}");
        home.run(&["unsetup", agent]).success();
        assert!(!home.user().join(file).exists());
    }
}

#[test]
fn claude_code_does_not_wait_for_the_journal() {
    let home = Home::new();
    home.run(&["setup", "claude-code"]).success();
    let text = std::fs::read_to_string(home.user().join(".claude/settings.json")).unwrap();
    let settings: Value = serde_json::from_str(&text).unwrap();
    for event in ["PreToolUse", "PostToolUse", "PostToolUseFailure", "StopFailure", "PreCompact"] {
        let hook = &settings["hooks"][event][0]["hooks"][0];
        assert_eq!(hook["async"], true, "{event}: {hook}");
    }
    assert!(settings["hooks"]["SessionStart"][0]["hooks"][0].get("async").is_none());
}
