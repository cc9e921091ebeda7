//! `cerebro import --from`: imports what other programs remembered, once.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use rusqlite::Connection;

use crate::support::{Home, Value, finish, json};

/// What the real program wrote; `tests/foreign/record.py` records it.
const SERVER_MEMORY: &str = include_str!("../foreign/server-memory.jsonl");
const CLAUDE_MEM: &str = include_str!("../foreign/claude-mem.sql");

/// engram's tables by its documented schema, with rows that its program would write.
const ENGRAM: &str = "
CREATE TABLE sessions (id TEXT PRIMARY KEY, project TEXT NOT NULL, directory TEXT NOT NULL,
    started_at TEXT NOT NULL, ended_at TEXT, summary TEXT);
CREATE TABLE observations (id INTEGER PRIMARY KEY AUTOINCREMENT, sync_id TEXT, session_id TEXT NOT NULL,
    type TEXT NOT NULL, title TEXT NOT NULL, content TEXT NOT NULL, tool_name TEXT, project TEXT,
    scope TEXT NOT NULL DEFAULT 'project', topic_key TEXT, normalized_hash TEXT,
    revision_count INTEGER NOT NULL DEFAULT 1, duplicate_count INTEGER NOT NULL DEFAULT 1, last_seen_at TEXT,
    created_at TEXT NOT NULL, updated_at TEXT NOT NULL, deleted_at TEXT);
CREATE TABLE user_prompts (id INTEGER PRIMARY KEY AUTOINCREMENT, sync_id TEXT, session_id TEXT NOT NULL,
    content TEXT NOT NULL, project TEXT, created_at TEXT NOT NULL);
INSERT INTO sessions VALUES ('s-1', 'harbour', '/srv/harbour', '2026-01-02 03:04:05', '2026-01-02 05:00:00',
    'Mended the crane');
INSERT INTO observations (sync_id, session_id, type, title, content, project, scope, topic_key, created_at,
    updated_at, deleted_at) VALUES
    ('obs-1', 's-1', 'bugfix', 'Crane stops', '**What**: the limit was in feet', 'harbour', 'project',
        'bug/crane', '2026-01-02 03:10:00', '2026-01-03 03:10:00', NULL),
    ('obs-2', 's-1', 'preference', 'Short words', 'Uses short words', 'harbour', 'personal', NULL,
        '2026-01-02 03:11:00', '2026-01-02 03:11:00', NULL),
    ('obs-3', 's-1', 'manual', 'Gone', 'Deleted there', 'harbour', 'project', NULL,
        '2026-01-02 03:12:00', '2026-01-02 03:12:00', '2026-01-04 00:00:00'),
    ('obs-4', 's-1', 'bugfix', 'Same key', 'Claims the same key', 'harbour', 'project', 'bug/crane',
        '2026-01-02 03:13:00', '2026-01-02 03:13:00', NULL),
    (NULL, 'nobody', 'manual', 'No session', 'TOKEN', NULL, 'project', NULL,
        '2026-01-02 03:14:00', '2026-01-02 03:14:00', NULL),
    ('obs-6', 's-1', 'manual', 'No time', 'Without a time', 'harbour', 'project', NULL, 'yesterday', '', NULL);
INSERT INTO user_prompts (sync_id, session_id, content, project, created_at) VALUES
    ('prompt-1', 's-1', 'Mend the crane', 'harbour', '2026-01-02 03:05:00');
";

fn sqlite(home: &Home, name: &str, script: &str) -> PathBuf {
    let path = home.work().join(name);
    Connection::open(&path).unwrap().execute_batch(script).unwrap();
    path
}

fn adopt(home: &Home, from: &str, path: &Path, more: &[&str]) -> (i32, Value) {
    let mut command = home.command();
    let done = finish(command.args(["import", "--from", from]).arg(path).args(more).arg("--json"));
    (done.code(), serde_json::from_str(&done.stdout).unwrap_or_else(|e| panic!("{e}: {done:?}")))
}

/// A dry run changes nothing, and a second import adds nothing.
fn assert_once(home: &Home, from: &str, path: &Path, more: &[&str]) -> Value {
    let nothing = home.export_text();
    let (_, tried) = adopt(home, from, path, &[more, &["--dry-run"]].concat());
    assert!(home.export_text() == nothing, "a dry run wrote");
    let (_, imported) = adopt(home, from, path, more);
    for kind in ["sessions", "memories", "prompts", "edges"] {
        assert_eq!(
            tried[kind], imported[kind],
            "the dry run of {kind} said something else: {tried} {imported}"
        );
    }
    let taken = home.export_text();
    let (_, again) = adopt(home, from, path, more);
    assert!(home.export_text() == taken, "taking over twice is not taking over once");
    for kind in ["sessions", "memories", "prompts", "edges"] {
        assert_eq!(again[kind], 0, "{again}");
    }
    imported
}

fn memory(home: &Home, title: &str) -> Value {
    let lines = home.export();
    let found = lines.iter().find(|line| line["kind"] == "memory" && line["title"] == title);
    found.unwrap_or_else(|| panic!("no `{title}` in {lines:#?}")).clone()
}

#[test]
fn the_graph_of_server_memory_is_imported() {
    let home = Home::new();
    let path = home.work().join("memory.jsonl");
    fs::write(&path, SERVER_MEMORY).unwrap();
    let imported = assert_once(&home, "server-memory", &path, &["--project", "harbour"]);
    assert_eq!((&imported["memories"], &imported["skipped"]), (&json!(4), &json!([])), "{imported}");
    let service = memory(&home, "payment-service");
    assert_eq!(
        (&service["project"], &service["type"]),
        (&json!("harbour"), &json!("component")),
        "{service}"
    );
    let content = service["content"].as_str().unwrap();
    for part in ["albatross gateway", "harbour team", "depends_on albatross", "Zoë Ñandú maintains"] {
        assert!(content.contains(part), "{part} is not in {content}");
    }
    assert!(memory(&home, "albatross")["content"].as_str().unwrap().contains("Retries are idempotent"));
    assert!(!home.export_text().contains("Will be deleted"));
    let found = home.json(&["search", "albatross gateway", "--project", "harbour"]);
    assert_eq!(found["hits"][0]["title"], "payment-service", "{found}");

    // A memory that was revised here since stays.
    let id = service["id"].as_str().unwrap();
    home.run(&["update", id, "--content", "Revised here."]).success();
    adopt(&home, "server-memory", &path, &["--project", "harbour"]);
    assert_eq!(memory(&home, "payment-service")["content"], "Revised here.");
}

#[test]
fn the_store_of_engram_is_imported() {
    let home = Home::new();
    let secret = format!("ghp_{}", "zY9xW8vU7tS6rQ5pO4nM3lK2jI1hG0fEdCbA");
    let path = sqlite(&home, "engram.db", &ENGRAM.replace("TOKEN", &secret));
    let imported = assert_once(&home, "engram", &path, &["--project", "fallback"]);
    assert_eq!(
        (&imported["sessions"], &imported["memories"], &imported["prompts"]),
        (&json!(1), &json!(4), &json!(1)),
        "{imported}"
    );
    let skipped = imported["skipped"].to_string();
    assert!(skipped.contains("observation 6") && skipped.contains("time"), "{imported}");
    assert!(skipped.contains("observation 4") && skipped.contains("bug/crane"), "{imported}");

    let crane = memory(&home, "Crane stops");
    assert_eq!((&crane["topic_key"], &crane["session"]), (&json!("bug/crane"), &json!("s-1")), "{crane}");
    assert!(crane["created_at"].as_str().unwrap().starts_with("2026-01-02T03:10:00"), "{crane}");
    let personal = memory(&home, "Short words");
    assert_eq!((&personal["scope"], &personal["project"]), (&json!("personal"), &json!("")), "{personal}");
    assert!(memory(&home, "Gone")["deleted_at"].is_string());
    assert_eq!(memory(&home, "No session")["project"], "fallback");
    assert!(!home.export_text().contains(&secret), "a secret came in");
    let session = home.export().into_iter().find(|line| line["kind"] == "session").unwrap();
    assert_eq!(
        (&session["id"], &session["summary"]),
        (&json!("s-1"), &json!("Mended the crane")),
        "{session}"
    );
    assert_eq!(home.json(&["doctor"])["ok"], true);
}

#[test]
fn the_store_of_claude_mem_is_imported() {
    let home = Home::new();
    let path = sqlite(&home, "claude-mem.db", CLAUDE_MEM);
    let imported = assert_once(&home, "claude-mem", &path, &[]);
    assert_eq!(
        (&imported["sessions"], &imported["memories"], &imported["prompts"]),
        (&json!(1), &json!(3), &json!(1)),
        "{imported}"
    );
    assert_eq!(imported["edges"], 3, "{imported}");
    let crane = memory(&home, "Crane stopped at the cormorant limit");
    assert_eq!((&crane["type"], &crane["project"]), (&json!("bugfix"), &json!("harbour-cranes")), "{crane}");
    assert_eq!(crane["tags"], json!(["problem-solution", "units"]), "{crane}");
    let content = crane["content"].as_str().unwrap();
    for part in ["read in feet", "unit was assumed", "sensor reports feet", "src/limit.ts"] {
        assert!(content.contains(part), "{part} is not in {content}");
    }
    memory(&home, "An old entry with a text only");
    let summary = memory(&home, "Fix the crane");
    assert_eq!(summary["type"], "session_summary", "{summary}");
    let session = home.export().into_iter().find(|line| line["kind"] == "session").unwrap();
    assert!(session["summary"].as_str().unwrap().contains("Converted to metres"), "{session}");
}

fn make_pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success(), "{}", path.display());
}

#[test]
fn a_pipe_or_link_beside_a_database_is_named_and_not_opened() {
    let home = Home::new();
    let path = sqlite(&home, "engram.db", ENGRAM);
    // The database may be a link; what SQLite opens is beside the file itself.
    let link = home.folder("elsewhere").join("engram.db");
    symlink(&path, &link).unwrap();
    let beside = |suffix: &str| PathBuf::from(format!("{}{suffix}", path.display()));
    for suffix in ["-journal", "-wal", "-shm"] {
        let makers: [fn(&Path); 2] = [make_pipe, |place| symlink("/dev/zero", place).unwrap()];
        for make in makers {
            make(&beside(suffix));
            for path in [&path, &link] {
                let refused = home.run(&["import", "--from", "engram", path.to_str().unwrap()]);
                assert!(refused.code() == 1 && refused.stderr.contains(suffix), "{refused:?}");
            }
            fs::remove_file(beside(suffix)).unwrap();
        }
    }
    assert!(!home.data().join("store").exists(), "a refused file started a daemon");
    home.run(&["import", "--from", "engram", link.to_str().unwrap()]);
    assert_eq!(memory(&home, "Crane stops")["type"], "bugfix");
}

#[test]
fn a_project_of_a_reserved_name_gets_another_one() {
    let home = Home::new();
    let path = sqlite(&home, "engram.db", &ENGRAM.replace("'harbour'", "'Personal'"));
    adopt(&home, "engram", &path, &[]);
    assert_eq!(memory(&home, "Crane stops")["project"], "personal-project");
    assert_once(&home, "engram", &path, &[]);
    let exported = home.write("all.jsonl", &home.export_text().replace("personal-project", "sessions"));
    let other = Home::new();
    other.run(&["import", exported.to_str().unwrap()]).success();
    let projects = other.json(&["projects"]).to_string();
    assert!(projects.contains("\"sessions-project\"") && !projects.contains(":\"sessions\""), "{projects}");
}

#[test]
fn an_unknown_file_is_refused_with_its_name() {
    let home = Home::new();
    let text = home.work().join("notes.txt");
    fs::write(&text, "just text\n").unwrap();
    let other = sqlite(&home, "other.db", "CREATE TABLE t (x); INSERT INTO t VALUES (1)");
    for (from, path) in
        [("engram", &text), ("engram", &other), ("claude-mem", &other), ("server-memory", &text)]
    {
        let refused = home.run(&["import", "--from", from, path.to_str().unwrap()]);
        assert_eq!(refused.code(), 1, "{from}: {refused:?}");
        assert!(refused.stderr.contains(path.to_str().unwrap()), "{from}: {refused:?}");
    }
    // Nobody writes into the pipe, and nobody ever reads from it.
    let pipe = home.work().join("pipe");
    make_pipe(&pipe);
    for from in ["engram", "claude-mem", "server-memory"] {
        let refused = home.run(&["import", "--from", from, pipe.to_str().unwrap()]);
        assert!(refused.code() == 1 && refused.stderr.contains("it is no file"), "{from}: {refused:?}");
    }
    let missing = home.run(&["import", "--from", "engram", "/no/such.db"]);
    assert!(missing.code() == 1 && missing.stderr.contains("/no/such.db"), "{missing:?}");
    let reserved = home.run(&["import", "--from", "engram", "/no/such.db", "--project", "personal"]);
    assert!(reserved.code() == 1 && reserved.stderr.contains("choose another name"), "{reserved:?}");
    assert!(!home.data().join("store").exists(), "a refused file started a daemon");
}
