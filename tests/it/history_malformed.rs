//! Transcripts that are malformed, locked or not the user's own: each is named, and the others are imported.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use sha2::{Digest, Sha256};

use crate::support::transcripts::{Claude, append, claude_file, codex, codex_file};
use crate::support::{Home, Value, json};

pub fn fault(status: &Value, file: &str) -> String {
    let faults = status["faults"].as_array().unwrap();
    let found = faults.iter().find(|fault| fault["path"].as_str().unwrap().contains(file));
    found.unwrap_or_else(|| panic!("{file} is not named: {status}"))["reason"].as_str().unwrap().to_owned()
}

#[test]
fn links_and_unreadable_files_are_named_and_the_others_are_imported() {
    let home = Home::new();
    home.start_restrained();
    Claude::new("good", &home.work()).turn("Ask", "Answer.").write(&home);
    let outside = home.folder("outside").join("theirs.jsonl");
    fs::write(&outside, Claude::new("theirs", &home.work()).turn("Secret", "Yes.").text()).unwrap();
    symlink(&outside, claude_file(&home, "linked")).unwrap();
    let locked = Claude::new("locked", &home.work()).turn("Locked", "Yes.").write(&home);
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o000)).unwrap();
    let large = claude_file(&home, "large");
    fs::File::create(&large).unwrap().set_len((2 << 30) + 1).unwrap();
    fs::write(claude_file(&home, "empty"), "").unwrap();
    fs::write(claude_file(&home, "binary"), [0_u8, 159, 146, 150, 10, 255, 10]).unwrap();
    fs::write(claude_file(&home, "foreign"), "{\"type\":\"brand-new\",\"sessionId\":\"f\"}\nnot json\n")
        .unwrap();

    let status = home.take_in();
    assert!(fault(&status, "linked").contains("link"));
    assert!(fault(&status, "large").contains("at most"));
    assert!(fault(&status, "locked").contains("denied"));
    let agent = &status["agents"][0];
    assert_eq!(agent["unknown"]["brand-new"], 1, "{status}");
    assert!(agent["malformed"].as_u64().unwrap() >= 1, "{status}");
    assert_eq!(home.past_titles("good"), ["Ask"]);
    let all = home.json(&["history", "show"]).to_string();
    assert!(!all.contains("theirs"), "{all}");
    let doctor = home.json(&["doctor"]).to_string();
    assert!(doctor.contains("brand-new"), "{doctor}");
}

/// Makes a file one that nobody has written to for a while.
fn leave(path: &Path) {
    let file = fs::OpenOptions::new().append(true).open(path).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(900)).unwrap();
}

#[test]
fn a_file_of_lines_that_are_no_records_is_named_until_it_changes() {
    let home = Home::new();
    let files = [
        (".claude/projects/-work/lines.jsonl", "not json\nnor this\n"),
        (".claude/projects/-work/document.jsonl", "{\n  \"sessionId\": \"g\",\n  \"messages\": []\n}"),
        (".claude/projects/-work/flat.jsonl", "{\"sessionId\":\"g\",\"messages\":[]}\n"),
        (".codex/history.jsonl", "not json\n"),
        (".gemini/tmp/app/chats/session-other.json", "{\"sessionId\":\"g\",\"messages\":\"none\"}\n"),
    ];
    for (file, text) in files {
        leave(&home.write(file, text));
    }
    let begun = home.write(".claude/projects/-work/begun.jsonl", "not json\n");
    let talk = Claude::new("s", &home.work()).turn("Ask", "Answer.");
    let stored = talk.write(&home);
    let status = home.take_in();
    for (file, _) in files {
        assert!(fault(&status, file).contains("nothing in it could be understood"), "{status}");
    }
    assert_eq!(status["faults"].as_array().unwrap().len(), files.len(), "{status}");

    // Nobody goes on with what was begun. What was read of a file stays, whatever is written over it.
    leave(&begun);
    fs::write(&stored, "not json\n").unwrap();
    home.take_in();
    assert_eq!(home.past_titles("s"), ["Ask"]);
    leave(&stored);
    let status = home.take_in();
    assert!(fault(&status, "begun.jsonl").contains("nothing in it"));
    assert!(fault(&status, "/s.jsonl").contains("nothing in it"));
    assert_eq!(home.past_titles("s"), ["Ask"]);

    fs::write(&stored, talk.text()).unwrap();
    Claude::new("begun", &home.work()).turn("Begin", "Yes.").write(&home);
    let faults = home.take_in()["faults"].to_string();
    assert!(!faults.contains("begun") && !faults.contains("/s.jsonl"), "{faults}");
    assert_eq!([home.past_titles("s"), home.past_titles("begun")], [["Ask"], ["Begin"]]);
}

#[test]
fn a_file_in_which_nothing_is_understood_is_named_whichever_agent_it_is_of() {
    let home = Home::new();
    let files = [
        ".claude/projects/-work/of-claude.jsonl",
        ".claude/history.jsonl",
        ".codex/sessions/2026/10/02/rollout-of-codex.jsonl",
        ".gemini/tmp/app/chats/session-old-of-gemini.json",
        ".gemini/tmp/app/chats/session-of-gemini.jsonl",
        ".local/share/opencode/storage/session/p/ses_of-opencode.json",
        ".copilot/session-state/of-copilot/events.jsonl",
        ".cursor/projects/app/agent-transcripts/of-cursor.jsonl",
        ".cursor/projects/app/agent-transcripts/old-of-cursor.txt",
        ".qwen/projects/app/chats/of-qwen.jsonl",
    ];
    for file in files {
        leave(&home.write(file, "neither a record nor the end of a line"));
    }
    home.write(".local/share/opencode/opencode.db", "no database");
    leave(&home.write(".gemini/tmp/app/chats/session-empty.json", ""));
    let begun = home.write(".gemini/tmp/app/chats/session-begun.json", r#"{"sessionId":"g","messages":[{"#);
    home.write(".gemini/tmp/app/chats/session-other.json", r#"{"sessionId":"g","messages":"none"}"#);
    Claude::new("good", &home.work()).turn("Ask", "Answer.").write(&home);

    let status = home.take_in();
    for file in files {
        assert!(fault(&status, file).contains("nothing in it could be understood"), "{status}");
    }
    assert!(fault(&status, "opencode.db").contains("database"), "{status}");
    assert_eq!(status["faults"].as_array().unwrap().len(), files.len() + 1, "{status}");
    let agents = status["agents"].as_array().unwrap();
    let gemini = agents.iter().find(|agent| agent["agent"] == "gemini-cli").unwrap();
    assert_eq!(gemini["malformed"], 1, "{status}");
    assert_eq!(home.past_titles("good"), ["Ask"]);
    // Nobody goes on with it.
    leave(&begun);
    assert!(fault(&home.take_in(), "session-begun").contains("nothing in it"));
}

#[test]
fn a_line_without_end_is_skipped_and_counted() {
    let home = Home::new();
    let session = Claude::new("s", &home.work()).turn("Before", "Yes.");
    let long = format!("{{\"type\":\"user\",\"x\":\"{}\"}}\n", "y".repeat((64 << 20) + 10));
    fs::write(
        claude_file(&home, "s"),
        session.text() + long.as_str() + session.turn("After", "Yes.").text().as_str(),
    )
    .unwrap();
    let status = home.take_in();
    assert_eq!(status["agents"][0]["oversized"], 1, "{status}");
    assert!(home.past_titles("s").contains(&"Before".to_owned()));
    home.kill_daemon();
    let later = home.json(&["history", "status"]);
    let agent = &later["agents"][0];
    assert_eq!((&agent["read"], &agent["malformed"]), (&json!(1), &json!(1)), "still counted: {later}");
    assert_eq!(agent["exchanges"], status["exchanges"], "{later}");
}

#[test]
fn imported_history_contains_no_secret() {
    const KEY: &str = "ghp_aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0zCaB3d";
    let home = Home::new();
    Claude::new("s", &home.work())
        .turn(&format!("Use {KEY} for it"), &format!("I used {KEY}."))
        .call("Bash", json!({"command": format!("curl -H 'Authorization: Bearer {KEY}' x")}), KEY, true)
        .call(
            "Bash",
            json!({"command": "env"}),
            &format!("TOKEN={}\n{}\nHOME=/h", &KEY[..22], &KEY[22..]),
            false,
        )
        .turn("<private>the otter's name</private> and go on", "Yes.")
        .write(&home);
    home.take_in();
    let past = serde_json::to_string(&home.past()).unwrap();
    assert!(past.contains("[REDACTED:github-token]"), "{past}");
    assert!(!past.contains(KEY) && !past.contains("otter"), "{past}");
    home.json(&["daemon", "stop"]);
    for file in files(home.data()) {
        let bytes = fs::read(&file).unwrap();
        for secret in [KEY, &KEY[..22], &KEY[22..], "the otter's name"] {
            let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!found, "{secret} is in {}", file.display());
        }
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => all.extend(files(&entry.path())),
            kind if kind.is_file() => all.push(entry.path()),
            _ => {}
        }
    }
    all
}

#[test]
fn an_excluded_project_is_not_imported() {
    let home = Home::new();
    let (open, shut) = (home.folder("open"), home.folder("shut"));
    Claude::new("s-open", &open).turn("Ask", "Answer.").write(&home);
    Claude::new("s-shut", &shut).turn("Ask", "Answer.").write(&home);
    fs::write(codex_file(&home, "c-shut"), codex("c-shut", &shut.join("deep"), &[("Ask", "Answer.")]))
        .unwrap();
    home.json(&["history", "exclude", shut.to_str().unwrap()]);
    home.take_in();
    let listed = home.json(&["history", "show"]);
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1, "{listed}");
    assert_eq!(listed["sessions"][0]["session"], "s-open");
    home.json(&["history", "exclude", shut.to_str().unwrap(), "--remove"]);
    home.kill_daemon();
    home.take_in();
    assert_eq!(home.json(&["history", "show"])["sessions"].as_array().unwrap().len(), 3);
}

#[test]
fn prompts_of_deleted_sessions_are_kept_and_those_of_others_come_once() {
    let home = Home::new();
    Claude::new("there", &home.work()).turn("Still there", "Yes.").write(&home);
    let typed = |session: &str, text: &str| {
        format!(
            "{}\n",
            json!({"display": text, "timestamp": 1_790_000_000_000_u64, "project": home.work(), "sessionId": session})
        )
    };
    let text = typed("gone", "What became of the dodo")
        + typed("there", "Still there").as_str()
        + typed("gone", "And the moa").as_str()
        + "{\"display\": \"Of an old version\", \"timestamp\": 1}\n";
    fs::write(home.user().join(".claude/history.jsonl"), text).unwrap();
    let status = home.take_in();
    assert_eq!(status["agents"][0]["unknown"]["(prompt without a session)"], 1, "{status}");
    assert_eq!(home.past_titles("gone"), ["What became of the dodo", "And the moa"]);
    assert_eq!(home.past_titles("there"), ["Still there"]);
    home.take_in();
    assert_eq!(home.past_titles("gone").len(), 2);
}

#[test]
fn a_session_of_cursors_cli_has_the_time_of_its_file_and_the_folder_that_it_worked_in() {
    let home = Home::new();
    let work = home.folder("my_app");
    let slug: Vec<String> =
        work.iter().skip(1).map(|part| part.to_string_lossy().replace(['_', '.'], "-")).collect();
    let folder = home.user().join(".cursor/projects").join(slug.join("-")).join("agent-transcripts");
    fs::create_dir_all(&folder).unwrap();
    let message = |role: &str, text: &str| {
        let content = [json!({ "type": "text", "text": text })];
        format!("{}\n", json!({ "role": role, "message": { "content": content } }))
    };
    let text =
        message("user", "<user_query>Mend the skua</user_query>") + message("assistant", "Yes.").as_str();
    fs::write(folder.join("c-1.jsonl"), &text).unwrap();
    home.take_in();
    let shown = home.json(&["history", "show", "c-1"]);
    assert_eq!(shown["directory"], json!(work), "{shown}");
    assert!(shown["project"].as_str().unwrap().starts_with("my_app-"), "a folder without Git: {shown}");
    let year: i32 = shown["exchanges"][0]["at"].as_str().unwrap()[..4].parse().unwrap();
    assert!(year >= 2026, "{shown}");
    let more = message("user", "And the tern") + message("assistant", "Yes.").as_str();
    append(&folder.join("c-1.jsonl"), more.as_bytes());
    home.take_in();
    assert_eq!(home.past_titles("c-1"), ["Mend the skua", "And the tern"]);
}

/// A session of Gemini CLI with one prompt.
fn of_gemini(id: &str, kind: &str, prompt: &str) -> String {
    let head = json!({ "sessionId": id, "kind": kind, "directories": ["/elsewhere"] });
    let asked = json!({ "id": format!("m-{id}"), "type": "user", "content": prompt, "timestamp": "2026-10-02T03:04:05Z" });
    format!("{head}\n{asked}\n")
}

#[test]
fn a_session_of_gemini_in_a_folder_that_is_known_by_its_hash_belongs_to_where_another_agent_worked() {
    let home = Home::new();
    Claude::new("s", &home.work()).turn("Mend the auk", "Yes.").write(&home);
    home.take_in();
    let hash = cerebro_core::text::hex(&Sha256::digest(home.work().to_str().unwrap()));
    for (n, folder) in [hash, "0".repeat(64)].iter().enumerate() {
        let chats = home.user().join(".gemini/tmp").join(folder).join("chats");
        fs::create_dir_all(&chats).unwrap();
        fs::write(chats.join("session-1.jsonl"), of_gemini(&format!("g-{n}"), "main", "And the tern"))
            .unwrap();
    }
    home.take_in();
    assert_eq!(home.json(&["history", "show", "g-0"])["directory"].as_str(), home.work().to_str());
    // A folder of no known hash: what the session itself names is left.
    assert_eq!(home.json(&["history", "show", "g-1"])["directory"], "/elsewhere");
}

#[test]
fn a_session_of_gemini_belongs_to_the_folder_that_is_noted_beside_it() {
    let home = Home::new();
    let notes = home.user().join(".gemini/tmp/app");
    let chats = notes.join("chats");
    fs::create_dir_all(chats.join("g-1")).unwrap();
    fs::write(notes.join(".project_root"), home.work().to_str().unwrap()).unwrap();
    let session = of_gemini;
    fs::write(chats.join("session-1.jsonl"), session("g-1", "main", "Mend the auk")).unwrap();
    fs::write(chats.join("g-1/g-2.jsonl"), session("g-2", "subagent", "Look at it")).unwrap();
    home.take_in();
    let shown = home.json(&["history", "show", "g-1"]);
    assert_eq!(shown["directory"].as_str(), home.work().to_str(), "{shown}");
    let shown = home.json(&["history", "show", "g-2"]);
    assert_eq!((&shown["parent"], &shown["parent_kind"]), (&json!("g-1"), &json!("subagent")), "{shown}");
}

#[test]
fn a_file_of_600_mb_is_read_to_its_end_and_a_folder_that_cannot_be_entered_is_named() {
    let home = Home::new();
    home.start_restrained();
    let session = Claude::new("s", &home.work()).turn("Before", "Yes.");
    let before = session.text();
    let path = session.write(&home);
    // A sparse file reads as one endless record.
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(600 << 20).unwrap();
    let after = session.turn("After", "Yes.").text();
    append(&path, format!("\n{}", &after[before.len()..]).as_bytes());
    let shut = claude_file(&home, "x").with_file_name("shut");
    fs::create_dir_all(&shut).unwrap();
    fs::set_permissions(&shut, fs::Permissions::from_mode(0o000)).unwrap();
    let status = home.take_in();
    assert_eq!(status["agents"][0]["oversized"], 1, "{status}");
    assert_eq!(home.past_titles("s"), ["Before", "After"]);
    assert!(fault(&status, "shut").contains("denied"));
    fs::set_permissions(&shut, fs::Permissions::from_mode(0o700)).unwrap();
}
