//! Files that are odd, locked or not the user's own: each is named, and the rest goes on.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::support::transcripts::{Claude, claude_file, codex, codex_file};
use crate::support::{Home, Value, json};

fn fault(status: &Value, file: &str) -> String {
    let faults = status["faults"].as_array().unwrap();
    let found = faults.iter().find(|fault| fault["path"].as_str().unwrap().contains(file));
    found.unwrap_or_else(|| panic!("{file} is not named: {status}"))["reason"].as_str().unwrap().to_owned()
}

#[test]
fn links_and_files_that_cannot_be_read_are_named_and_the_rest_goes_on() {
    let home = Home::new();
    Claude::new("good", &home.work()).turn("Ask", "Answer.").write(&home);
    let outside = home.folder("outside").join("theirs.jsonl");
    fs::write(&outside, Claude::new("theirs", &home.work()).turn("Secret", "Yes.").text()).unwrap();
    symlink(&outside, claude_file(&home, "linked")).unwrap();
    let locked = Claude::new("locked", &home.work()).turn("Locked", "Yes.").write(&home);
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o000)).unwrap();
    let is_root = fs::read(&locked).is_ok();
    let large = claude_file(&home, "large");
    fs::File::create(&large).unwrap().set_len((2 << 30) + 1).unwrap();
    fs::write(claude_file(&home, "empty"), "").unwrap();
    fs::write(claude_file(&home, "binary"), [0_u8, 159, 146, 150, 10, 255, 10]).unwrap();
    fs::write(claude_file(&home, "foreign"), "{\"type\":\"brand-new\",\"sessionId\":\"f\"}\nnot json\n")
        .unwrap();

    let status = home.take_in();
    assert!(fault(&status, "linked").contains("link"));
    assert!(fault(&status, "large").contains("at most"));
    if !is_root {
        assert!(fault(&status, "locked").contains("denied"));
    }
    let agent = &status["agents"][0];
    assert_eq!(agent["unknown"]["brand-new"], 1, "{status}");
    assert!(agent["malformed"].as_u64().unwrap() >= 1, "{status}");
    assert_eq!(home.past_titles("good"), ["Ask"]);
    let all = home.json(&["history", "show"]).to_string();
    assert!(!all.contains("theirs"), "{all}");
    let doctor = home.json(&["doctor"]).to_string();
    assert!(doctor.contains("brand-new"), "{doctor}");
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
}

#[test]
fn secrets_are_nowhere_in_what_is_taken_in() {
    const KEY: &str = "ghp_aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0zCaB3d";
    let home = Home::new();
    Claude::new("s", &home.work())
        .turn(&format!("Use {KEY} for it"), &format!("I used {KEY}."))
        .call("Bash", json!({"command": format!("curl -H 'Authorization: Bearer {KEY}' x")}), KEY, true)
        .turn("<private>the otter's name</private> and go on", "Yes.")
        .write(&home);
    home.take_in();
    let past = serde_json::to_string(&home.past()).unwrap();
    assert!(past.contains("[REDACTED:github-token]"), "{past}");
    assert!(!past.contains(KEY) && !past.contains("otter"), "{past}");
    home.json(&["daemon", "stop"]);
    for file in files(home.data()) {
        let bytes = fs::read(&file).unwrap();
        for secret in [KEY, "the otter's name"] {
            let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!found, "{secret} is in {}", file.display());
        }
    }
}

fn files(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
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
fn a_project_that_is_left_alone_is_left_alone() {
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
        + typed("gone", "And the moa").as_str();
    fs::write(home.user().join(".claude/history.jsonl"), text).unwrap();
    home.take_in();
    assert_eq!(home.past_titles("gone"), ["What became of the dodo", "And the moa"]);
    assert_eq!(home.past_titles("there"), ["Still there"]);
    home.take_in();
    assert_eq!(home.past_titles("gone").len(), 2);
}

#[test]
fn a_database_that_its_program_has_open_is_read() {
    let home = Home::new();
    let folder = home.user().join(".local/share/opencode");
    fs::create_dir_all(&folder).unwrap();
    let writer = rusqlite::Connection::open(folder.join("opencode.db")).unwrap();
    writer.pragma_update(None, "journal_mode", "wal").unwrap();
    let tables = format!(
        "CREATE TABLE session (id TEXT PRIMARY KEY, directory TEXT, title TEXT, time_created INT, time_updated INT);
         CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INT, time_updated INT, data TEXT);
         CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INT,
             time_updated INT, data TEXT);
         INSERT INTO session VALUES ('ses_1', '{}', 'Mend it', 1790000000000, 1790000000001);
         INSERT INTO message VALUES ('m1', 'ses_1', 1790000000000, 1, '{{\"role\":\"user\"}}');
         INSERT INTO part VALUES ('p1', 'm1', 'ses_1', 1, 1, '{{\"type\":\"text\",\"text\":\"Mend the skua\"}}');",
        home.work().display()
    );
    writer.execute_batch(&tables).unwrap();
    home.take_in();
    assert_eq!(home.past_titles("ses_1"), ["Mend the skua"]);

    writer
        .execute_batch(
            "BEGIN IMMEDIATE; INSERT INTO message VALUES ('m2', 'ses_1', 1790000000009, 2, '{\"role\":\"user\"}');
             INSERT INTO part VALUES ('p2', 'm2', 'ses_1', 2, 2, '{\"type\":\"text\",\"text\":\"And the tern\"}');
             UPDATE session SET time_updated = 1790000000009; COMMIT; BEGIN IMMEDIATE;",
        )
        .unwrap();
    home.take_in();
    assert_eq!(home.past_titles("ses_1"), ["Mend the skua", "And the tern"]);

    let other = folder.join("opencode.db");
    drop(writer);
    fs::remove_file(&other).unwrap();
    for suffix in ["-wal", "-shm"] {
        let _ = fs::remove_file(folder.join(format!("opencode.db{suffix}")));
    }
    rusqlite::Connection::open(&other).unwrap().execute_batch("CREATE TABLE unknown (a)").unwrap();
    let status = home.take_in();
    assert!(fault(&status, "opencode.db").contains("no version that is known"), "{status}");
    assert_eq!(home.past_titles("ses_1").len(), 2, "what was taken in stays");
}
