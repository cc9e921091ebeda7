//! Sessions are kept current: by hooks, within seconds, and only from files of known agents.

use std::fs;
use std::time::{Duration, Instant};

use crate::hooks::hook;
use crate::support::transcripts::{Claude, append, claude_file};
use crate::support::{Home, Value, json, wait_for};

/// How soon a finished turn must be found, on a busy machine. The scan by the clock comes after ten minutes.
const SOON: Duration = Duration::from_secs(20);

/// A home that reads transcripts.
fn with_history() -> Home {
    with_history_of("[]")
}

/// A home that reads the transcripts of some agents, or of all if none is named.
fn with_history_of(agents: &str) -> Home {
    let home = Home::with_config(&format!("[history]\nenabled = true\nagents = {agents}\n"));
    home.json(&["daemon", "start"]);
    home.first_look();
    home
}

fn report(home: &Home, event: &str, more: &Value) -> String {
    let mut input = json!({"session_id": "s-1", "cwd": home.work()});
    input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    hook(home, "claude-code", event, input.to_string().as_bytes())
}

fn found(home: &Home, text: &str) -> usize {
    home.json(&["history", "search", text])["hits"].as_array().map_or(0, Vec::len)
}

#[test]
fn a_finished_turn_is_found_within_seconds() {
    let home = with_history();
    let path =
        Claude::new("s-1", &home.work()).turn("Where does the gannet nest", "On the pier.").write(&home);
    report(&home, "Stop", &json!({ "transcript_path": path }));
    let begun = Instant::now();
    wait_for("the turn", || (found(&home, "gannet") == 1).then_some(()));
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());

    let more = Claude::new("s-1", &home.work()).turn("Where does the gannet nest", "On the pier.");
    let more = more.turn("And the cormorant", "On the rock.").text();
    let old = fs::metadata(&path).unwrap().len() as usize;
    append(&path, &more.as_bytes()[old..]);
    report(&home, "SessionEnd", &json!({ "transcript_path": path }));
    let begun = Instant::now();
    wait_for("the second turn", || (found(&home, "cormorant") == 1).then_some(()));
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    assert_eq!(home.past_titles("s-1").len(), 2);
    // The live reports of hooks and the transcript are one session.
    assert_eq!(home.json(&["history", "show"])["sessions"].as_array().unwrap().len(), 1);
}

/// OpenCode has one database for all sessions, so its hooks name no file.
#[test]
fn a_finished_turn_in_a_database_is_found_within_seconds() {
    let home = with_history();
    let folder = home.user().join(".local/share/opencode");
    fs::create_dir_all(&folder).unwrap();
    let writer = rusqlite::Connection::open(folder.join("opencode.db")).unwrap();
    let now = jiff::Timestamp::now().as_millisecond();
    let rows = format!(
        "CREATE TABLE session (id TEXT PRIMARY KEY, directory TEXT, title TEXT, time_created INT, time_updated INT);
         CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INT, time_updated INT, data TEXT);
         CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INT,
             time_updated INT, data TEXT);
         INSERT INTO session VALUES ('ses_1', '{}', 'Mend it', {now}, {now});
         INSERT INTO message VALUES ('m1', 'ses_1', {now}, {now}, '{{\"role\":\"user\"}}');
         INSERT INTO part VALUES ('p1', 'm1', 'ses_1', {now}, {now}, '{{\"type\":\"text\",\"text\":\"Mend the skua\"}}');",
        home.work().display()
    );
    writer.execute_batch(&rows).unwrap();
    let input = json!({"session_id": "ses_1", "cwd": home.work()}).to_string();
    hook(&home, "opencode", "Stop", input.as_bytes());
    let begun = Instant::now();
    wait_for("the turn", || (found(&home, "skua") == 1).then_some(()));
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
}

#[test]
fn a_hook_cannot_name_a_file_elsewhere() {
    let home = with_history();
    let theirs = home.folder("outside").join("theirs.jsonl");
    fs::write(&theirs, Claude::new("theirs", &home.work()).turn("Take the ptarmigan", "Yes.").text())
        .unwrap();
    let link = claude_file(&home, "linked");
    std::os::unix::fs::symlink(&theirs, &link).unwrap();
    let up = link.parent().unwrap().join("../../../../outside/theirs.jsonl");
    for path in [&theirs, &link, &up] {
        report(&home, "Stop", &json!({ "transcript_path": path }));
    }
    let good = Claude::new("s-1", &home.work()).turn("Take the grouse", "Yes.").write(&home);
    report(&home, "Stop", &json!({ "transcript_path": good }));
    wait_for("the good one", || (found(&home, "grouse") == 1).then_some(()));
    assert_eq!(found(&home, "ptarmigan"), 0);
    let status = home.json(&["history", "status"]);
    assert!(status["faults"].to_string().contains("outside"), "{status}");
}

#[test]
fn a_hook_of_an_agent_that_is_not_chosen_is_no_fault() {
    let home = with_history_of("[\"codex\"]");
    let theirs = Claude::new("s-1", &home.work()).turn("Take the grouse", "Yes.").write(&home);
    // Files are looked at in the order of their paths.
    let last = home.work().join("zzz.jsonl");
    fs::write(&last, "{}\n").unwrap();
    for path in [&theirs, &last] {
        report(&home, "Stop", &json!({ "transcript_path": path }));
    }
    let faults = wait_for("the last one", || {
        let faults = home.json(&["history", "status"])["faults"].clone();
        faults.to_string().contains("zzz.jsonl").then_some(faults)
    });
    assert_eq!((faults.as_array().unwrap().len(), home.past_sessions().len()), (1, 0), "{faults}");
}

#[test]
fn no_transcript_is_read_while_intake_is_off() {
    let home = Home::new();
    home.json(&["daemon", "start"]);
    let path = Claude::new("s-1", &home.work()).turn("Take the grouse", "Yes.").write(&home);
    for event in ["SessionStart", "Stop", "SessionEnd"] {
        report(&home, event, &json!({ "transcript_path": path, "source": "compact" }));
    }
    let status = home.json(&["history", "status"]);
    assert_eq!((&status["state"], &status["sessions"]), (&json!("off"), &json!(0)), "{status}");
}

#[test]
fn after_a_compaction_files_and_commands_are_handed_back() {
    let home = with_history();
    let mut session = Claude::new("s-1", &home.work()).turn("Mend the petrel", "Looking.");
    let commands: Vec<String> = (0..20).map(|n| format!("cargo test petrel_{n}")).collect();
    for command in &commands {
        session = session.call("Bash", json!({ "command": command }), "ok", false);
    }
    let file = home.work().join("src/petrel.rs");
    let edit = json!({"file_path": file, "old_string": "a", "new_string": "b"});
    let path = session.call("Edit", edit, "ok", false).write(&home);
    let output = report(&home, "SessionStart", &json!({ "transcript_path": path, "source": "compact" }));
    let output: Value = serde_json::from_str(&output).unwrap();
    let text = output["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    let handed = commands.iter().filter(|command| text.contains(&format!("- {command}\n"))).count();
    assert!(handed * 2 >= commands.len(), "{handed} of {}: {text}", commands.len());
    assert!(text.contains("src/petrel.rs"), "{text}");
    assert!(output.to_string().len() <= 9_000);
    // A new session has no files and commands to hand back.
    let output = report(&home, "SessionStart", &json!({ "transcript_path": path, "source": "startup" }));
    assert!(!output.contains("petrel_"), "{output}");
}
