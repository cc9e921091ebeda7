//! Exports, imports and backups of the journal; and the memories that its findings become.

use std::fs;

use crate::backup::backed_up;
use crate::support::{Agent, Home, Value, finish, json};
use crate::work_hooks::wait_for;

const TOOLS: &str = "[work]\ntools = true\n";

/// A home with two pieces of work, one of them with a body that is too long for its row.
fn furnished() -> (Home, String) {
    let home = Home::with_config(TOOLS);
    let mut agent = home.agent();
    let steps: Vec<String> = (0..40).map(|n| format!("step {n} {}", "of a long plan ".repeat(12))).collect();
    let begun = agent.ok("work_begin", json!({ "title": "Release 2.0", "steps": steps, "key": "r-2" }));
    let work = begun["work"].as_str().unwrap().to_owned();
    for note in [
        json!({ "event": "step_done", "step": 1 }),
        json!({ "event": "intent", "key": "publish", "text": "publish the package", "repeat": "never" }),
        json!({ "event": "finding", "text": "The registry refuses two uploads of one version." }),
    ] {
        noted(&mut agent, &work, note);
    }
    agent.ok("work_begin", json!({ "title": "Something else" }));
    agent.ok("work_resume", json!({ "work": work, "release": true }));
    // The other one is lost with its agent.
    drop(agent);
    wait_for(&home, "the loss is seen", |works| works.iter().any(|work| work["stale"] == "lost"));
    (home, work)
}

fn noted(agent: &mut Agent, work: &str, mut note: Value) -> Value {
    note["work"] = json!(work);
    let noted = agent.ok("work_note", note);
    json!({ "outcome": noted["outcome"], "memories": noted["memories"] })
}

fn of_kind<'a>(lines: &'a [Value], kind: &str) -> Vec<&'a Value> {
    lines.iter().filter(|line| line["kind"] == kind).collect()
}

#[test]
fn an_exported_journal_is_imported_byte_for_byte_as_another_homes() {
    let (home, work) = furnished();
    home.run(&["work", "head"]).success();
    let text = home.export_text();
    let lines = home.export();
    assert_eq!(of_kind(&lines, "work").len(), 2);
    assert!(of_kind(&lines, "work_event").len() > 6 && !of_kind(&lines, "artifact").is_empty(), "{text}");
    let other = Home::with_config(TOOLS);
    other.import_text(&text).success();
    assert!(other.export_text() == text, "{}", other.export_text());
    assert!(other.import_text(&text).success().starts_with("created\t0\n"));
    let verified = other.json(&["work", "verify"]);
    assert_eq!((&verified["foreign"], verified["findings"].as_array().map(Vec::len)), (&json!(2), Some(0)));
    assert!(other.run(&["work", "resume", &work]).success().contains("publish the package"));
    // It can be read, and continued as a fork; its own chain cannot be continued.
    let mut agent = other.agent();
    let refused = agent.call("work_note", json!({ "work": work, "event": "note", "text": "x" }));
    assert!(refused.is_error, "{refused:?}");
    other.run(&["work", "fork", &work]).success();
    assert_eq!(other.run(&["doctor"]).code(), 0);
    // Its key is free for a piece of work of this home.
    assert_eq!(agent.ok("work_begin", json!({ "title": "Own", "key": "r-2" }))["outcome"], "created");
}

#[test]
fn with_the_keys_an_imported_journal_verifies_and_continues() {
    let (home, work) = furnished();
    let text = home.run(&["work", "export", &work]).success();
    let other = Home::with_config(TOOLS);
    fs::create_dir_all(other.data()).unwrap();
    fs::copy(home.data().join("journal.key"), other.data().join("journal.key")).unwrap();
    other.import_text(&text).success();
    let verified = other.json(&["work", "verify"]);
    assert_eq!((&verified["foreign"], verified["findings"].as_array().map(Vec::len)), (&json!(0), Some(0)));
    let mut agent = other.agent();
    let begun = agent.ok("work_begin", json!({ "title": "Release 2.0", "key": "r-2" }));
    assert_eq!((begun["outcome"].as_str(), begun["work"].as_str()), (Some("unchanged"), Some(&*work)));
    other.run(&["work", "head"]).success();
    assert_eq!(other.run(&["work", "verify"]).code(), 0);

    // A changed line is imported and found by verifying; one with a number beyond the end is not imported.
    let third = Home::with_config(TOOLS);
    fs::create_dir_all(third.data()).unwrap();
    fs::copy(home.data().join("journal.key"), third.data().join("journal.key")).unwrap();
    third.import_text(&text.replace("two uploads", "ten uploads")).success();
    let verified = third.run(&["work", "verify", "--json"]);
    assert!(verified.code() == 1 && verified.stdout.contains("edited"), "{verified:?}");
    let beyond: Vec<String> = text
        .lines()
        .filter(|line| !line.contains("\"kind\":\"work\""))
        .map(|line| line.replace("\"seq\":2,", "\"seq\":9999,"))
        .collect();
    let refused = other.import_text(&beyond.join("\n"));
    assert!(refused.code() == 1 && refused.stderr.contains("no place for event 9999"), "{refused:?}");
}

#[test]
fn a_restored_backup_verifies() {
    let (home, work) = furnished();
    home.run(&["work", "close", &work]).success();
    home.run(&["work", "head"]).success();
    let text = home.export_text();
    let file = home.work().join("all.jsonl");
    fs::write(&file, &text).unwrap();
    let (backup, _) = backed_up(&home, &["--verify"]);
    home.run(&["restore", backup.to_str().unwrap(), "--replace"]).success();
    let verified = home.json(&["work", "verify"]);
    assert_eq!((&verified["foreign"], verified["findings"].as_array().map(Vec::len)), (&json!(0), Some(0)));
    assert!(home.export_text() == text);
    // Importing its own lines changes nothing.
    let again = home.json(&["import", file.to_str().unwrap()]);
    assert_eq!((&again["created"], &again["skipped"]), (&json!(0), &json!([])), "{again}");
}

#[test]
fn findings_become_memories_when_the_work_is_closed() {
    let (home, work) = furnished();
    let mut agent = home.agent();
    assert_eq!(agent.search("registry uploads"), Vec::<String>::new());
    let done = noted(&mut agent, &work, json!({ "event": "done" }));
    let memory = done["memories"][0].as_str().unwrap().to_owned();
    let found = agent.get(&memory);
    assert_eq!(found["content"], "The registry refuses two uploads of one version.");
    assert_eq!((&found["type"], &found["worked_in"]), (&json!("discovery"), &json!([work])), "{found:?}");
    let shown = home.json(&["work", "show", &work]);
    assert_eq!(shown["memories"][0]["id"], memory);
    assert!(home.run(&["work", "show", &work]).success().contains(&memory));
    // Closing again does not save the finding twice, and a deleted one does not come back.
    home.run(&["work", "close", &work]).success();
    assert_eq!(agent.search("registry uploads"), [memory.clone()]);
    agent.ok("mem_delete", json!({ "id": memory }));
    assert_eq!(home.json(&["work", "close", &work])["memories"], Value::Null);
    assert_eq!(agent.search("registry uploads"), Vec::<String>::new());
    assert_eq!(home.json(&["work", "show", &work])["memories"], json!([]));
    // The edge between both is exported and imported.
    let other = Home::new();
    other.import_text(&home.export_text()).success();
    assert!(other.export_text().contains("\"WORKED_IN\""));
    assert_eq!(other.run(&["doctor"]).code(), 0);
}

#[test]
fn a_trial_is_a_home_of_its_own() {
    let (home, work) = furnished();
    home.json(&["save", "The pier", "What: it stands."]);
    let made = home.json(&["whatif", "new", "pier-2"]);
    assert_eq!(made["skipped"], 0, "{made}");
    let folder = made["home"].as_str().unwrap();
    let inside = |words: &[&str]| {
        finish(home.bare_command().args(["--home", folder]).args(words).arg("--json")).json()
    };
    assert_eq!(home.json(&["whatif", "diff", "pier-2"])["count"], 0);
    assert_eq!(inside(&["work", "verify"])["foreign"], 0);
    inside(&["save", "The mole", "What: it is planned."]);
    let id = home.json(&["search", "pier"])["hits"][0]["id"].as_str().unwrap().to_owned();
    inside(&["delete", &id, "--yes"]);
    inside(&["work", "close", &work]);
    let diff = home.json(&["whatif", "diff", "pier-2"]);
    let changes: Vec<String> = diff["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| format!("{} {} {}", one["deed"], one["kind"], one["what"]).replace('"', ""))
        .collect();
    for wanted in ["create memory The mole", "update memory The pier", "update work Release 2.0"] {
        assert!(changes.iter().any(|one| one == wanted), "{wanted}: {changes:#?}");
    }
    assert_eq!(home.json(&["search", "mole"])["hits"].as_array().map(Vec::len), Some(0));
    for (words, code) in [
        (&["whatif", "new", "pier-2"][..], 1),
        (&["whatif", "new", "../out"], 2),
        (&["whatif", "drop", "none"], 1),
        (&["whatif", "diff", "none"], 1),
    ] {
        assert_eq!(home.run(words).code(), code, "{words:?}");
    }
    assert_eq!(home.json(&["whatif", "list"])["trials"][0]["name"], "pier-2");
    let refused = home.run(&["whatif", "drop", "pier-2"]);
    assert!(refused.code() == 2 && refused.stderr.contains("Remove trial pier-2"), "{refused:?}");
    assert!(std::path::Path::new(folder).exists(), "nothing goes without a yes");
    home.run(&["whatif", "drop", "pier-2", "--yes"]).success();
    assert!(!std::path::Path::new(folder).exists());
    assert_eq!(home.json(&["whatif", "list"])["trials"], json!([]));
}
