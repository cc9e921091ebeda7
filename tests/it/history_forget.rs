//! `cerebro history forget`: what is left of a past session that a person forgets.

use std::fs;

use crate::hooks::report;
use crate::support::transcripts::{Claude, claude_file, codex, codex_file};
use crate::support::{Home, Value, json};
use crate::work_hooks::context_at_start;

const SECRET: &str = "zanzibar ledger port 54321";

/// A home in which hooks and a transcript have reported the same session.
pub fn furnished() -> Home {
    let home = Home::new();
    // A hook does not wait for the store to open.
    home.json(&["projects"]);
    let command = json!({ "command": format!("echo '{SECRET}'; cargo test zanzibar") });
    let said = |event: &str, more: Value| report(&home, "claude-code", event, "s-1", more);
    said("SessionStart", json!({ "source": "startup" }));
    said("UserPromptSubmit", json!({ "prompt": format!("Set the {SECRET}"), "prompt_id": "p-1" }));
    said("PreToolUse", json!({ "tool_name": "Bash", "tool_use_id": "t-1", "tool_input": command }));
    said(
        "PostToolUseFailure",
        json!({ "tool_name": "Bash", "tool_use_id": "t-1", "tool_input": command, "error": "Exit code 1\nzanzibar" }),
    );
    said("Stop", json!({ "last_assistant_message": format!("I gave up the {SECRET}") }));
    said("UserPromptSubmit", json!({ "prompt": "And the walrus of the pier?", "prompt_id": "p-2" }));
    Claude::new("s-1", &home.work())
        .turn(&format!("Set the {SECRET}"), "I gave up the zanzibar ledger.")
        .write(&home);
    home.take_in();
    home
}

/// The commands whose output has a word.
pub fn shown_by(home: &Home, word: &str) -> Vec<&'static str> {
    let commands = ["prompts", "context", "export", "sessions", "history show", "work list --state all"];
    let shows = |command: &&str| home.run(&command.split(' ').collect::<Vec<_>>()).stdout.contains(word);
    commands.into_iter().filter(shows).collect()
}

fn works(home: &Home) -> Vec<String> {
    let works = home.json(&["work", "list", "--state", "all"])["works"].as_array().unwrap().clone();
    works.iter().map(|work| work["work"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn an_import_leaves_no_row_of_a_session_of_which_all_was_forgotten() {
    let home = Home::new();
    Claude::new("s-1", &home.work()).turn(&format!("Set the {SECRET}"), "Done.").write(&home);
    Claude::new("s-2", &home.work()).turn("And the walrus?", "It sleeps.").write(&home);
    home.take_in();
    let earlier = home.work().join("earlier.jsonl");
    fs::write(&earlier, home.export_text()).unwrap();
    home.json(&["history", "forget", "--text", SECRET, "--yes"]);
    let kept = home.export_text();
    let imported = home.run(&["import", earlier.to_str().unwrap()]);
    assert!(imported.stderr.contains("was forgotten here"), "{imported:?}");
    assert_eq!(home.export_text(), kept);
    assert_eq!(home.past().len(), 1);
    home.run(&["doctor"]).success();
}

#[test]
fn what_hooks_reported_is_forgotten_with_its_session() {
    let home = furnished();
    assert!(shown_by(&home, "zanzibar").len() > 3);
    let gone = home.json(&["history", "forget", "--session", "s-1", "--yes"]);
    assert_eq!(gone["prompts"], 2, "{gone}");
    assert!(gone["events"].as_u64().unwrap() >= 4, "{gone}");
    for work in works(&home) {
        for command in ["show", "tail", "export"] {
            let output = home.run(&["work", command, &work]).stdout;
            assert!(!output.contains("zanzibar"), "{command}: {output}");
        }
    }
    assert_eq!(shown_by(&home, "zanzibar"), [""; 0]);
    assert!(!context_at_start(&home, "codex", "s-2", "startup").contains("zanzibar"));
    assert_eq!(home.run(&["work", "verify"]).code(), 0, "the chain holds without the texts");
    assert_eq!(home.run(&["doctor"]).code(), 0);
    // The transcript is read once more when the next turn ends.
    let path = claude_file(&home, "s-1");
    report(&home, "claude-code", "Stop", "s-1", json!({ "transcript_path": path }));
    home.take_in();
    assert_eq!(shown_by(&home, "zanzibar"), [""; 0]);
}

#[test]
fn a_text_is_forgotten_in_what_hooks_reported_however_it_is_written() {
    let home = furnished();
    let gone = home.json(&["history", "forget", "--text", " Zanzibar\nLEDGER ", "--yes"]);
    assert_eq!(
        (&gone["exchanges"], &gone["prompts"], &gone["summaries"]),
        (&json!(1), &json!(1), &json!(1)),
        "{gone}"
    );
    assert_eq!(shown_by(&home, "zanzibar ledger"), [""; 0]);
    assert_eq!(shown_by(&home, "walrus of the pier")[0], "prompts", "another prompt stays");
    assert_eq!(home.run(&["work", "verify"]).code(), 0);
}

#[test]
fn a_text_that_only_a_title_has_is_forgotten_in_its_project() {
    let home = Home::new();
    let said = Claude::new("s-5", &home.work()).turn("Feed the okapi", "It is fed.");
    let title = json!({ "type": "custom-title", "customTitle": "The zanzibar plan", "sessionId": "s-5" });
    fs::write(claude_file(&home, "s-5"), format!("{}{title}\n", said.text())).unwrap();
    home.take_in();
    let listed = || home.run(&["history", "show"]).stdout;
    assert!(listed().contains("zanzibar"), "{}", listed());
    let project = home.json(&["history", "show"])["sessions"][0]["project"].as_str().unwrap().to_owned();
    home.json(&["history", "forget", "--text", "zanzibar plan", "--project", &project, "--yes"]);
    assert!(!listed().contains("zanzibar") && listed().contains("okapi"), "{}", listed());
    assert_eq!(home.past_titles("s-5"), ["Feed the okapi"]);
}

#[test]
fn hooks_bring_no_forgotten_text_back() {
    let home = furnished();
    home.json(&["history", "forget", "--text", SECRET, "--yes"]);
    let again = format!("So it is the\n{}.", SECRET.to_uppercase());
    // The agent still has it in its conversation, and a later session says it, too.
    for session in ["s-1", "s-2"] {
        let said = |event: &str, more: Value| report(&home, "claude-code", event, session, more);
        let command = json!({ "command": format!("echo '{SECRET}'") });
        said("UserPromptSubmit", json!({ "prompt": again, "prompt_id": "p-7" }));
        said("PreToolUse", json!({ "tool_name": "Bash", "tool_use_id": "t-7", "tool_input": command }));
        let printed = json!({ "stdout": SECRET, "stderr": "" });
        said(
            "PostToolUse",
            json!({ "tool_name": "Bash", "tool_use_id": "t-7", "tool_input": command, "tool_response": printed }),
        );
        said("PostCompact", json!({ "compact_summary": format!("Done.\n{again}\nAnd more.") }));
        said("Stop", json!({ "last_assistant_message": again }));
    }
    // The transcript of the later session, from which the journal takes what hooks did not report.
    Claude::new("s-2", &home.work()).turn(&again, "It is so.").turn("The otter waits", "Yes.").write(&home);
    home.take_in();
    for session in ["s-1", "s-2"] {
        let prompt = json!({ "prompt": "Feed the okapi", "prompt_id": "p-8" });
        report(&home, "claude-code", "UserPromptSubmit", session, prompt);
    }
    for work in works(&home) {
        let shown = home.run(&["work", "tail", &work]).stdout;
        assert!(!shown.contains("54321"), "{shown}");
    }
    let exported = home.export_text();
    assert!(!exported.contains("54321"), "{exported}");
    assert!(exported.contains("Feed the okapi") && exported.contains("The otter waits"), "{exported}");
    assert_eq!(shown_by(&home, "54321"), [""; 0]);
    assert_eq!(shown_by(&home, "Feed the okapi")[0], "prompts", "the rest is kept");
    assert_eq!(home.run(&["work", "verify"]).code(), 0);
    home.run(&["doctor"]).success();
}

#[test]
fn a_saved_memory_stays_and_a_compaction_does_not() {
    let home = furnished();
    let summary = format!("<summary>We set the {SECRET}, and it failed.</summary>");
    report(&home, "claude-code", "PostCompact", "s-1", json!({ "compact_summary": summary }));
    home.json(&["save", "Where the ledger listens", "What: the ledger of zanzibar has a port."]);
    assert_eq!(home.json(&["list"])["memories"].as_array().unwrap().len(), 2);
    let gone = home.json(&["history", "forget", "--session", "s-1", "--yes"]);
    assert_eq!(gone["summaries"], 1, "{gone}");
    let left = home.json(&["list"])["memories"].as_array().unwrap().clone();
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!(left[0]["title"], "Where the ledger listens");
    assert_eq!(shown_by(&home, SECRET), [""; 0]);
}

#[test]
fn work_of_an_agents_own_is_no_report_of_a_hook() {
    let home = Home::with_config("[work]\ntools = true\n");
    let mut agent = home.pump().env("CLAUDE_CODE_SESSION_ID", "s-1").client("claude-code").start();
    agent.ok(
        "work_begin",
        json!({ "title": "Move the ledger of zanzibar", "goal": "It listens on a socket." }),
    );
    report(
        &home,
        "claude-code",
        "UserPromptSubmit",
        "s-1",
        json!({ "prompt": "Set the port", "prompt_id": "p-1" }),
    );
    Claude::new("s-1", &home.work()).turn("Set the port", "Done.").write(&home);
    home.take_in();
    home.json(&["history", "forget", "--session", "s-1", "--yes"]);
    assert_eq!(shown_by(&home, "ledger of zanzibar"), ["export", "work list --state all"]);
    home.json(&["history", "forget", "--text", "ledger of zanzibar", "--yes"]);
    assert_eq!(shown_by(&home, "ledger of zanzibar"), [""; 0]);
}

#[test]
fn a_text_of_few_characters_that_count_keeps_no_later_session_out() {
    let home = Home::new();
    let said = home.run(&["history", "forget", "--text", " **`q`** *****", "--yes"]);
    assert!(said.code() == 0 && said.stderr.contains("at least 8 characters"), "{}", said.stderr);
    Claude::new("s-1", &home.work()).turn("Feed the quokka", "It is fed.").write(&home);
    home.take_in();
    assert_eq!(home.past_titles("s-1"), ["Feed the quokka"]);
}

#[test]
fn a_time_is_forgotten_between_two_moments() {
    let home = Home::new();
    let talk = Claude::new("s-1", &home.work())
        .turn("Feed the gannet", "It is fed.")
        .turn("Feed the fulmar", "It is fed.")
        .turn("Feed the dunlin", "It is fed.");
    talk.write(&home);
    home.take_in();
    // A turn every two minutes.
    let (from, to) = ("2026-10-01T00:01:00Z", "2026-10-01T00:03:00Z");
    let gone = home.json(&["history", "forget", "--since", from, "--before", to, "--yes"]);
    assert_eq!(gone["exchanges"], 1, "{gone}");
    assert_eq!(home.past_titles("s-1"), ["Feed the gannet", "Feed the dunlin"]);
    home.json(&["history", "forget", "--since", from, "--yes"]);
    assert_eq!(home.past_titles("s-1"), ["Feed the gannet"]);
    // Another file has the same turns.
    talk.forked("s-2").turn("Feed the knot", "It is fed.").write(&home);
    home.take_in();
    let exported = home.export_text();
    assert!(exported.contains("the knot") && exported.contains("the gannet"), "{exported}");
    assert!(!exported.contains("the fulmar") && !exported.contains("the dunlin"), "{exported}");
    let wrong = home.run(&["history", "forget", "--since", "lately", "--yes"]);
    assert!(wrong.code() != 0 && wrong.stderr.contains("2026-11-21"), "{wrong:?}");
}

#[test]
fn sub_agents_are_forgotten_with_their_session_and_stay_so() {
    let home = Home::new();
    let asked = Claude::new("s-1", &home.work()).turn("Mend the lamp", "It works.");
    let helper =
        Claude::new("s-1", &home.work()).turn("Look at the quokka reactor", "I looked at the quokka.");
    let helper = |id: &str| {
        helper
            .text()
            .replace("\"isSidechain\":false", &format!("\"isSidechain\":true,\"agentId\":\"{id}\""))
            .replace("s-1-", &format!("{id}-"))
    };
    let folder = claude_file(&home, "s-1").with_extension("").join("subagents");
    fs::create_dir_all(&folder).unwrap();
    asked.write(&home);
    fs::write(folder.join("agent-a1.jsonl"), helper("a1")).unwrap();
    home.take_in();
    let found = || home.run(&["history", "search", "quokka", "--all"]).stdout.contains("quokka");
    let shown = || home.json(&["history", "show"])["sessions"].as_array().unwrap().len();
    assert_eq!(shown(), 2);
    // A session is meant before its sub-agents, whose ids begin with its own.
    assert_eq!(home.json(&["history", "show", "s-"])["session"], "s-1");
    let gone = home.json(&["history", "forget", "--session", "s-", "--yes"]);
    assert_eq!((&gone["sessions"], &gone["exchanges"]), (&json!(2), &json!(2)), "{gone}");
    fs::write(folder.join("agent-a2.jsonl"), helper("a2")).unwrap();
    home.take_in();
    assert_eq!((shown(), found()), (0, false));
}

/// Their sub-agents have ids of their own and name their parents in the transcript, or by the folder that they lie in.
#[test]
fn sub_agents_of_every_agent_are_forgotten_with_their_session() {
    let home = Home::new();
    let of_codex = |id: &str, prompt: &str| codex(id, &home.work(), &[(prompt, "Done.")]);
    fs::write(codex_file(&home, "c-1"), of_codex("c-1", "Mend the lamp")).unwrap();
    let spawned = r#""source":{"subagent":{"thread_spawn":{"parent_thread_id":"c-1","depth":1}}}"#;
    let helper = of_codex("c-2", "Look at the quokka").replace(r#""source":"cli""#, spawned);
    fs::write(codex_file(&home, "c-2"), &helper).unwrap();
    let deeper = of_codex("c-3", "Look at its quokka friend").replace(r#""source":"cli""#, spawned);
    fs::write(
        codex_file(&home, "c-3"),
        deeper.replace(r#""parent_thread_id":"c-1""#, r#""parent_thread_id":"c-2""#),
    )
    .unwrap();
    // A fork of a person is no sub-agent.
    let fork = of_codex("c-4", "Feed the walrus")
        .replace(r#""source":"cli""#, r#""source":"cli","forked_from_id":"c-1""#);
    fs::write(codex_file(&home, "c-4"), fork).unwrap();

    let chats = home.user().join(".gemini/tmp/app/chats");
    fs::create_dir_all(chats.join("g-1")).unwrap();
    let of_gemini = |id: &str, kind: &str, prompt: &str| {
        let at = "2026-10-02T03:04:05Z";
        let head = json!({ "sessionId": id, "startTime": at, "kind": kind, "directories": [home.work()] });
        let message = json!({ "id": format!("{id}-1"), "timestamp": at, "type": "user", "content": prompt });
        format!("{head}\n{message}\n")
    };
    fs::write(chats.join("session-1.jsonl"), of_gemini("g-1", "main", "Mend the lamp")).unwrap();
    fs::write(chats.join("g-1/g-2.jsonl"), of_gemini("g-2", "subagent", "Look at the quokka")).unwrap();
    home.take_in();
    assert_eq!(home.past_sessions(), ["c-1", "c-2", "c-3", "c-4", "g-1", "g-2"]);
    let gone = home.json(&["history", "forget", "--session", "c-1", "--yes"]);
    assert_eq!((&gone["sessions"], &gone["exchanges"]), (&json!(3), &json!(3)), "{gone}");
    assert_eq!(home.json(&["history", "forget", "--session", "g-1", "--yes"])["sessions"], 2);
    assert_eq!(home.past_sessions(), ["c-4"]);
    // They come back no more than their parent, and no new one of it comes.
    fs::write(codex_file(&home, "c-5"), helper.replace("c-2", "c-5")).unwrap();
    home.take_in();
    assert_eq!(home.past_sessions(), ["c-4"]);
    assert!(!home.run(&["export"]).stdout.contains("quokka"));
}

#[test]
fn a_session_is_named_by_the_beginning_of_its_id_and_an_unknown_one_is_an_error() {
    let home = furnished();
    let refused = home.run(&["history", "forget", "--session", "nope", "--yes"]);
    assert_eq!(refused.code(), 1);
    assert!(refused.stderr.contains("nope") && refused.stderr.contains("history show"), "{refused:?}");
    let nothing = home.run(&["history", "forget", "--project", "own/repp", "--yes"]);
    assert!(nothing.stderr.contains("nothing matches"), "{nothing:?}");
    assert_eq!(home.json(&["history", "forget", "--session", "s-", "--yes"])["exchanges"], 1);
}
