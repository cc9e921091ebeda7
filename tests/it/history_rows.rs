//! Sessions that are rows of a database: OpenCode's, of both generations.

use std::fs;

use rusqlite::{Connection, params};

use crate::history_malformed::fault;
use crate::support::{Home, Value, json};

const FIRST: &str = "
    CREATE TABLE session (id TEXT PRIMARY KEY, directory TEXT, title TEXT, time_created INT, time_updated INT);
    CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INT, time_updated INT, data TEXT);
    CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INT,
        time_updated INT, data TEXT);";

/// A database of OpenCode 1 without sessions.
fn database(home: &Home) -> Connection {
    let folder = home.user().join(".local/share/opencode");
    fs::create_dir_all(&folder).unwrap();
    let connection = Connection::open(folder.join("opencode.db")).unwrap();
    connection.pragma_update(None, "journal_mode", "wal").unwrap();
    connection.execute_batch(FIRST).unwrap();
    connection
}

/// Adds a session with one prompt, last changed at a moment in milliseconds.
fn session(database: &Connection, id: &str, folder: &std::path::Path, prompt: &str, at: i64) {
    let folder = folder.display().to_string();
    let (message, text) = (format!("m-{id}"), json!({ "type": "text", "text": prompt }).to_string());
    database.execute("INSERT INTO session VALUES (?1, ?2, ?1, ?3, ?3)", params![id, folder, at]).unwrap();
    let user = r#"{"role":"user"}"#;
    database
        .execute("INSERT INTO message VALUES (?1, ?2, ?3, ?3, ?4)", params![message, id, at, user])
        .unwrap();
    let part = params![format!("p-{id}"), message, id, at, text];
    database.execute("INSERT INTO part VALUES (?1, ?2, ?3, ?4, ?4, ?5)", part).unwrap();
}

const DAY: i64 = 24 * 60 * 60 * 1_000;

#[test]
fn each_session_is_chosen_separately_and_the_others_later() {
    let home = Home::new();
    let (open, shut) = (home.folder("open"), home.folder("shut"));
    let left = shut.to_str().unwrap();
    let now = i64::try_from(std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_millis()).unwrap();
    let database = database(&home);
    session(&database, "ses_open", &open, "Mend the skua", now);
    session(&database, "ses_shut", &shut, "Mend the tern", now);
    session(&database, "ses_old", &open, "Mend the dodo", now - 400 * DAY);
    // Some choice is set from the beginning, because without any the size of the whole file is reported.
    home.json(&["history", "exclude", "/nowhere"]);
    let found =
        || home.json(&["history", "import", "--dry-run", "--since", "0"])["agents"][0]["bytes"].as_u64();
    let all = found();
    home.json(&["history", "exclude", left]);
    assert!(
        found().is_some() && found() < all,
        "what is left alone does not count: {:?} of {all:?}",
        found()
    );
    home.json(&["history", "import", "--yes"]);
    assert_eq!(home.past_sessions(), ["ses_open"], "the old one is too old, though its database is not");
    home.take_in();
    assert_eq!(home.past_sessions(), ["ses_old", "ses_open"], "a person asked for all");
    home.json(&["history", "exclude", left, "--remove"]);
    home.take_in();
    assert_eq!(home.past_sessions(), ["ses_old", "ses_open", "ses_shut"]);
}

#[test]
fn a_fork_of_the_first_generation_keeps_only_what_is_its_own() {
    let home = Home::new();
    let database = database(&home);
    session(&database, "ses_a", &home.work(), "Mend the skua", 1_000);
    // As `fork` writes it: the copy has a new id, and the time of the original.
    session(&database, "ses_b", &home.work(), "And the tern", 6_000);
    let copied = r#"{"type":"text","text":"Mend the skua"}"#;
    let rows = format!(
        "UPDATE session SET time_created = 5000 WHERE id = 'ses_b';
         INSERT INTO message VALUES ('m-copy', 'ses_b', 1000, 1000, '{{\"role\":\"user\"}}');
         INSERT INTO part VALUES ('p-copy', 'm-copy', 'ses_b', 1000, 1000, '{copied}');"
    );
    database.execute_batch(&rows).unwrap();
    home.take_in();
    assert_eq!(home.past_titles("ses_a"), ["Mend the skua"]);
    assert_eq!(home.past_titles("ses_b"), ["And the tern"]);
    let fork = home.json(&["history", "show", "ses_b"]);
    assert_eq!((&fork["parent"], &fork["parent_kind"]), (&json!("ses_a"), &json!("fork")), "{fork}");
    home.run(&["doctor"]).success();
}

#[test]
fn an_unreadable_session_is_named_and_the_others_are_imported() {
    let home = Home::new();
    let database = database(&home);
    session(&database, "ses_1", &home.work(), "Mend the skua", 1_790_000_000_000);
    session(&database, "ses_2", &home.work(), "Mend the tern", 1_790_000_000_000);
    let large = "UPDATE part SET data = CAST(zeroblob(101000000) AS TEXT) WHERE session_id = 'ses_2'";
    database.execute(large, []).unwrap();
    for look in ["the first", "the next"] {
        let status = home.take_in();
        assert!(fault(&status, "ses_2").contains("at most"), "{look} look: {status}");
    }
    assert_eq!(home.past_sessions(), ["ses_1"]);
    database.execute("DELETE FROM part WHERE session_id = 'ses_2'", []).unwrap();
    database
        .execute(
            "INSERT INTO part VALUES ('p', 'm-ses_2', 'ses_2', 1, 1, '{\"type\":\"text\",\"text\":\"Tern\"}')",
            [],
        )
        .unwrap();
    let status = home.take_in();
    assert_eq!((home.past_sessions().len(), &status["faults"]), (2, &json!([])), "{status}");
}

#[test]
fn the_second_generation_is_read_and_stale_tables_of_the_first_are_not() {
    let home = Home::new();
    let database = database(&home);
    session(&database, "ses_1", &home.work(), "An old text", 1_790_000_000_000);
    session(&database, "ses_0", &home.work(), "Only in the first", 1_790_000_000_000);
    let second = "
        CREATE TABLE session_v2 (id TEXT PRIMARY KEY, directory TEXT, title TEXT, parent_id TEXT, fork_session_id TEXT,
            time_created INT, time_updated INT);
        CREATE TABLE session_message (id TEXT PRIMARY KEY, session_id TEXT, type TEXT, seq INT, time_created INT,
            time_updated INT, data TEXT);";
    database.execute_batch(second).unwrap();
    let folder = home.work().display().to_string();
    let add_session =
        "INSERT INTO session_v2 VALUES ('ses_1', ?1, 'Skuas', NULL, NULL, 1790000000000, 1790000000005)";
    database.execute(add_session, [&folder]).unwrap();
    let entry = |id: &str, kind: &str, seq: i64, data: Value| {
        let row = params![id, kind, seq, data.to_string()];
        let add =
            "INSERT INTO session_message VALUES (?1, 'ses_1', ?2, ?3, 1790000000000, 1790000000005, ?4)";
        database.execute(add, row).unwrap();
    };
    entry("e1", "user", 1, json!({ "text": "Mend the skua" }));
    let make = json!({
        "type": "tool", "id": "k", "name": "bash",
        "state": {
            "status": "completed", "input": { "command": "make skua" },
            "content": [{ "type": "text", "text": "error: no skua" }], "metadata": { "exit": 2 },
        },
    });
    entry("e2", "assistant", 2, json!({ "content": [{ "type": "text", "text": "Looking." }, make] }));
    entry("e3", "brand-new", 3, json!({}));
    let status = home.take_in();
    assert_eq!(status["agents"][0]["unknown"]["brand-new"], 1, "{status}");
    assert_eq!(home.past_titles("ses_1"), ["Mend the skua"]);
    assert_eq!(home.past_titles("ses_0"), ["Only in the first"]);
    let shown = home.json(&["history", "show", "ses_1"]);
    assert_eq!(shown["exchanges"][0]["errors"], json!(["error: no skua"]), "{shown}");

    // Rows change in place, and their number stays.
    let changed = json!({ "text": "Mend both skuas" }).to_string();
    database
        .execute(
            "UPDATE session_message SET data = ?1, time_updated = 1790000000099 WHERE id = 'e1'",
            [changed],
        )
        .unwrap();
    home.take_in();
    assert_eq!(home.past_titles("ses_1"), ["Mend both skuas"]);
}

#[test]
fn composers_of_cursors_ide_are_sessions_and_nothing_else_of_its_database_is_read() {
    let home = Home::new();
    let folder = home.user().join(".config/Cursor/User/globalStorage");
    fs::create_dir_all(&folder).unwrap();
    let database = Connection::open(folder.join("state.vscdb")).unwrap();
    let tables = "CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);
        CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);
        INSERT INTO ItemTable VALUES ('cursorAuth/accessToken', 'the ibis');
        INSERT INTO cursorDiskKV VALUES ('composerData:odd', x'00ff'), ('other:key', 'the ibis');";
    database.execute_batch(tables).unwrap();
    let put = |key: &str, value: Value| {
        let row = params![key, value.to_string().into_bytes()];
        database.execute("INSERT INTO cursorDiskKV VALUES (?1, ?2)", row).unwrap();
    };
    let composer = |updated: i64, bubbles: &[&str]| {
        let headers: Vec<Value> = bubbles.iter().map(|id| json!({ "bubbleId": id })).collect();
        json!({ "name": "Skuas", "createdAt": 1_790_000_000_000_i64, "lastUpdatedAt": updated, "fullConversationHeadersOnly": headers })
    };
    let work = home.work();
    put("composerData:c1", composer(1_790_000_000_001, &["b1", "b2"]));
    put(
        "bubbleId:c1:b1",
        json!({ "bubbleId": "b1", "type": 1, "text": "Mend the skua", "workspaceProjectDir": work }),
    );
    put("bubbleId:c1:b2", json!({ "bubbleId": "b2", "type": 2, "text": "Mended." }));
    home.take_in();
    assert_eq!(home.past_titles("c1"), ["Mend the skua"]);
    let shown = home.json(&["history", "show", "c1"]);
    assert_eq!((&shown["directory"], &shown["title"]), (&json!(work), &json!("Skuas")), "{shown}");
    put("composerData:c1", composer(1_790_000_000_002, &["b1", "b2", "b3"]));
    put("bubbleId:c1:b3", json!({ "bubbleId": "b3", "type": 1, "text": "And the tern" }));
    home.take_in();
    assert_eq!(home.past_titles("c1"), ["Mend the skua", "And the tern"]);
    assert!(!home.export_text().contains("ibis"));
}

#[test]
fn malformed_rows_stop_nothing() {
    let home = Home::new();
    let database = database(&home);
    session(&database, "ses_1", &home.work(), "Mend the skua", 1_790_000_000_000);
    let odd = [
        "NULL",
        "42",
        "x'00ff'",
        "''",
        "'{'",
        "'[]'",
        "'null'",
        "'\"text\"'",
        "'{\"type\":7}'",
        "'{\"role\":[\"user\"]}'",
        "'{\"type\":\"tool\",\"state\":null}'",
        "'{\"type\":\"text\",\"text\":{}}'",
        "'{\"type\":\"tool\",\"tool\":\"bash\",\"state\":{\"input\":[]}}'",
    ];
    for (n, data) in odd.iter().enumerate() {
        let rows = format!(
            "INSERT INTO session VALUES ('odd_{n}', {data}, {data}, 'when', {n});
             INSERT INTO message VALUES ('om_{n}', 'odd_{n}', {n}, NULL, {data});
             INSERT INTO part VALUES ('op_{n}', 'om_{n}', 'odd_{n}', {n}, 'x', {data});
             INSERT INTO part VALUES ('oq_{n}', 'm-ses_1', 'ses_1', {n}, {n}, {data});"
        );
        database.execute_batch(&rows).unwrap();
    }
    let status = home.take_in();
    assert_eq!(status["state"], "idle", "{status}");
    assert_eq!(home.past_titles("ses_1"), ["Mend the skua"], "{status}");
}

#[test]
fn a_database_that_its_program_has_open_is_read() {
    let home = Home::new();
    let writer = database(&home);
    let folder = home.user().join(".local/share/opencode");
    session(&writer, "ses_1", &home.work(), "Mend the skua", 1_790_000_000_000);
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
    Connection::open(&other).unwrap().execute_batch("CREATE TABLE unknown (a)").unwrap();
    let status = home.take_in();
    assert!(fault(&status, "opencode.db").contains("no version that is known"), "{status}");
    assert_eq!(home.past_titles("ses_1").len(), 2, "what was taken in stays");
}

#[test]
fn the_sub_agents_of_a_session_in_a_database_are_forgotten_with_it() {
    let home = Home::new();
    let database = database(&home);
    database.execute("ALTER TABLE session ADD COLUMN parent_id TEXT", []).unwrap();
    for (id, prompt, parent) in
        [("ses_1", "Mend the skua", None), ("ses_2", "Look at the tern", Some("ses_1"))]
    {
        database
            .execute(
                "INSERT INTO session VALUES (?1, ?2, ?1, 1790000000000, 1790000000000, ?3)",
                params![id, home.work().display().to_string(), parent],
            )
            .unwrap();
        let (message, text) = (format!("m-{id}"), json!({ "type": "text", "text": prompt }).to_string());
        database
            .execute(
                "INSERT INTO message VALUES (?1, ?2, 1, 1, ?3)",
                params![message, id, r#"{"role":"user"}"#],
            )
            .unwrap();
        database
            .execute(
                "INSERT INTO part VALUES (?1, ?2, ?3, 1, 1, ?4)",
                params![format!("p-{id}"), message, id, text],
            )
            .unwrap();
    }
    home.take_in();
    assert_eq!(home.past_sessions(), ["ses_1", "ses_2"]);
    let gone = home.json(&["history", "forget", "--session", "ses_1", "--yes"]);
    assert_eq!(gone["sessions"], 2, "{gone}");
    home.take_in();
    assert_eq!(home.past_sessions(), [""; 0]);
}
