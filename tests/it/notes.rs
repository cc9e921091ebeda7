//! Memories as a folder of Markdown notes, both ways, and as SurrealQL.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::backup::furnished;
use crate::own_files::edit;
use crate::support::{Home, Value, alter, finish, json};

/// Every file below a folder, by its path from there.
fn tree(root: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
                found.insert(name, fs::read_to_string(&path).unwrap());
            }
        }
    }
    found
}

fn exported(home: &Home) -> PathBuf {
    let dir = home.folder("vault");
    home.run(&["export", "--format", "markdown", dir.to_str().unwrap()]).success();
    dir
}

/// The output of an import of notes, and its exit code.
fn import(home: &Home, dir: &Path, more: &[&str]) -> (i32, Value) {
    let mut command = home.command();
    let done = finish(command.arg("import").arg(dir).args(more).arg("--json"));
    (done.code(), serde_json::from_str(&done.stdout).unwrap_or_else(|e| panic!("{e}: {done:?}")))
}

fn file(dir: &Path, part: &str) -> PathBuf {
    let names = tree(dir);
    let name =
        names.keys().find(|name| name.contains(part)).unwrap_or_else(|| panic!("no {part} in {names:?}"));
    dir.join(name)
}

#[test]
fn a_folder_reads_well_and_comes_back_unchanged() {
    let home = furnished();
    let dir = exported(&home);
    let notes = tree(&dir);
    let kept = file(&dir, "demo/kept-語");
    let text = fs::read_to_string(&kept).unwrap();
    for part in [
        "title: \"Kept 語🦉",
        "tags:\n  - \"a\"\n  - \"b\"",
        "pinned: true",
        "Second text.",
        "- session: [[sessio",
    ] {
        let part = part.replace("[[sessio", "[[");
        assert!(text.contains(&part), "{part} is not in {text}");
    }
    assert!(notes.keys().any(|name| name.starts_with("personal/mine-")), "{notes:?}");
    assert!(!notes.values().any(|text| text.contains("Recoverable") || text.contains("Text that is gone")));
    let session = file(&dir, "first-café");
    assert!(fs::read_to_string(&session).unwrap().contains("Everything was furnished."));
    let stem = kept.file_stem().unwrap().to_str().unwrap();
    assert!(fs::read_to_string(&session).unwrap().contains(&format!("[[{stem}|")), "no link back");

    let before = home.export_text();
    let (code, imported) = import(&home, &dir, &[]);
    assert_eq!(
        (code, imported["updated"].is_null(), imported["created"].is_null()),
        (0, true, true),
        "{imported}"
    );
    assert!(home.export_text() == before, "an unchanged folder changed the memory");
    exported(&home);
    assert_eq!(tree(&dir), notes, "a second export changed the folder");
}

#[test]
fn relations_are_links() {
    let home = Home::new();
    let mut agent = home.agent();
    let one = agent.save("The gannet job", "Copies the ledger each night.");
    let two = agent.save("The booby job", "Checks the copies in the morning.");
    drop(agent);
    alter(
        &home,
        &format!(
            "RELATE memory:{two}->RELATES_TO->memory:{one} SET kind = 'depends_on', weight = 0.9, \
             method = 'test', at = time::now()"
        ),
    );
    let dir = exported(&home);
    let text = fs::read_to_string(file(&dir, "booby")).unwrap();
    assert!(text.contains(&format!("- depends_on: [[the-gannet-job-{one}|The gannet job]]")), "{text}");
}

#[test]
fn edits_come_back_as_revisions_once() {
    let home = furnished();
    let dir = exported(&home);
    let kept = file(&dir, "demo/kept-語");
    edit(&kept, "Second text.", "Text by hand,\nin Obsidian.");
    edit(&kept, "tags:\n  - \"a\"\n  - \"b\"\n", "tags: [c]\n");
    let before = home.export_text();
    let (code, imported) = import(&home, &dir, &["--dry-run"]);
    assert_eq!((code, &imported["updated"]), (0, &json!(1)), "{imported}");
    assert!(home.export_text() == before, "a dry run wrote");

    assert_eq!(import(&home, &dir, &[]).1["updated"], 1);
    let mut agent = home.agent();
    let id = agent.search("obsidian")[0].clone();
    let memory = agent.get(&id);
    assert_eq!(memory["content"], "Text by hand,\nin Obsidian.", "{memory:?}");
    assert_eq!((&memory["revision"], &memory["tags"]), (&json!(4), &json!(["c"])), "{memory:?}");
    assert_eq!(import(&home, &dir, &[]).1["updated"], Value::Null, "importing twice is not importing once");

    edit(&kept, "Text by hand", "More by hand");
    assert_eq!(import(&home, &dir, &[]).1["updated"], 1, "the note knows its new revision");
    assert_eq!(agent.get(&id)["revision"], 5);
}

#[test]
fn a_note_of_an_older_revision_is_not_taken() {
    let home = furnished();
    let dir = exported(&home);
    let kept = file(&dir, "demo/kept-語");
    let mut agent = home.agent();
    let id = agent.search("second text")[0].clone();
    agent.ok("mem_update", json!({"id": id, "content": "The agent was quicker."}));
    edit(&kept, "Second text.", "Changed by hand.");
    let (code, imported) = import(&home, &dir, &[]);
    assert_eq!(code, 1, "{imported}");
    assert!(imported["skipped"][0]["why"].as_str().unwrap().contains("revision 4"), "{imported}");
    assert_eq!(agent.get(&id)["content"], "The agent was quicker.");
}

#[test]
fn an_export_does_not_overwrite_an_edit() {
    let home = furnished();
    let dir = exported(&home);
    let kept = file(&dir, "demo/kept-語");
    edit(&kept, "Second text.", "Not imported yet.");
    let done = home.run(&["export", "--format", "markdown", dir.to_str().unwrap()]);
    assert_eq!(done.code(), 1, "{done:?}");
    assert!(done.stderr.contains("kept-語") && done.stderr.contains("not imported"), "{done:?}");
    assert!(fs::read_to_string(&kept).unwrap().contains("Not imported yet."));
}

#[test]
fn an_edit_outlives_a_revision_by_an_agent_and_one_of_tags_alone() {
    let home = furnished();
    let dir = exported(&home);
    let (kept, mine) = (file(&dir, "demo/kept-語"), file(&dir, "personal/mine"));
    edit(&kept, "Second text.", "Not imported yet.");
    edit(&mine, "scope: \"personal\"\n", "scope: \"personal\"\ntags: [by-hand]\n");
    let mut agent = home.agent();
    let id = agent.search("second text")[0].clone();
    agent.ok("mem_update", json!({"id": id, "content": "The agent was quicker."}));
    let done = home.run(&["export", "--format", "markdown", dir.to_str().unwrap()]);
    assert_eq!(done.code(), 1, "{done:?}");
    assert!(done.stderr.contains("kept-語") && done.stderr.contains("mine"), "{done:?}");
    assert!(fs::read_to_string(&kept).unwrap().contains("Not imported yet."));
    assert!(fs::read_to_string(&mine).unwrap().contains("tags: [by-hand]"));
}

#[test]
fn new_notes_become_memories_once() {
    let home = Home::new();
    let dir = home.folder("vault");
    fs::create_dir_all(dir.join("acme/pay")).unwrap();
    fs::create_dir_all(dir.join(".obsidian")).unwrap();
    fs::write(dir.join(".obsidian/odd.md"), "---\nnot ours").unwrap();
    let secret = format!("ghp_{}", "zY9xW8vU7tS6rQ5pO4nM3lK2jI1hG0fEdCbA");
    fs::write(dir.join("acme/pay/Why the skua.md"), format!("It is fast.\n\nToken {secret}\n")).unwrap();
    fs::write(dir.join("bad.md"), "---\ntitle: {odd}\n---\nText\n").unwrap();
    fs::write(dir.join("empty.md"), "").unwrap();
    let (code, imported) = import(&home, &dir, &[]);
    assert_eq!((code, &imported["created"]), (1, &json!(1)), "{imported}");
    let skipped = imported["skipped"].to_string();
    assert!(skipped.contains("bad.md") && skipped.contains("empty.md"), "{imported}");
    let found = home.json(&["search", "skua", "--project", "acme/pay"]);
    assert_eq!(found["hits"][0]["title"], "Why the skua", "{found}");
    assert!(!home.export_text().contains(&secret));
    let (_, again) = import(&home, &dir, &[]);
    assert_eq!((&again["created"], &again["unchanged"]), (&Value::Null, &json!(1)), "{again}");
    edit(&dir.join("acme/pay/Why the skua.md"), "It is fast.", "It is very fast.");
    assert_eq!(import(&home, &dir, &[]).1["updated"], 1);
    // Only the person has the secret, so the file stays as it is while the secret is in it.
    let note = dir.join("acme/pay/Why the skua.md");
    let export = || home.run(&["export", "--format", "markdown", dir.to_str().unwrap()]);
    let kept = export();
    assert!(kept.code() == 1 && kept.stderr.contains("Why the skua.md"), "{kept:?}");
    edit(&note, &format!("Token {secret}"), "It is quick.");
    assert_eq!(import(&home, &dir, &[]).1["updated"], 1);
    export().success();
    assert!(fs::read_to_string(&note).unwrap().contains("It is very fast.\n\nIt is quick.\n"));
    assert_eq!(fs::read_dir(dir.join("acme/pay")).unwrap().count(), 1, "a second note of it");
}

#[test]
fn the_names_of_a_note_hold_no_secret() {
    let home = Home::new();
    let dir = home.folder("vault");
    fs::create_dir_all(&dir).unwrap();
    let note = "---\nproject: postgres://u:hunter2@h/db\n---\nIt is fast.\n";
    fs::write(dir.join("Why the skua.md"), note).unwrap();
    let (_, imported) = import(&home, &dir, &[]);
    assert_eq!(imported["created"], 1, "{imported}");
    let text = home.export_text();
    assert!(!text.contains("hunter2") && text.contains("It is fast."), "{text}");
}

#[test]
fn an_exported_script_runs_in_the_database_itself() {
    let home = furnished();
    let file = home.work().join("all.surql");
    home.run(&["export", "--format", "surrealql", file.to_str().unwrap()]).success();
    let text = fs::read_to_string(&file).unwrap();
    assert!(
        text.starts_with("-- ") && text.contains("OPTION IMPORT;") && text.contains("Second text."),
        "{text}"
    );
    let printed = home.run(&["export", "--format", "surrealql"]).success();
    assert!(printed.contains("Second text."));
    assert_eq!(
        fs::read_dir(home.data())
            .unwrap()
            .flatten()
            .filter(|e| { e.file_name().to_string_lossy().contains(".surql") })
            .count(),
        0,
        "a script was left in the home"
    );

    // A fresh database without Cerebro.
    let other = Home::new();
    alter(&other, "DEFINE NAMESPACE IF NOT EXISTS cerebro; DEFINE DATABASE IF NOT EXISTS main;");
    alter(&other, &text);
    assert!(other.export_text() == home.export_text(), "the script is not the memory");
}
