//! An older backup or export does not bring back what was forgotten of past sessions.

use std::fs;
use std::path::{Path, PathBuf};

use crate::backup::backed_up;
use crate::history_forget::{furnished, shown_by};
use crate::hooks::report;
use crate::support::transcripts::Claude;
use crate::support::{Home, Value, json};

/// The ways to forget everything of `furnished` that says `zanzibar`.
fn ways(home: &Home) -> [Vec<String>; 5] {
    let project = home.json(&["context"])["project"].as_str().unwrap().to_owned();
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    [
        words(&["--session", "s-1"]),
        words(&["--project", &project]),
        words(&["--before", "2100-01-01"]),
        words(&["--text", "Zanzibar"]),
        // With a session beside it, the text is not kept out of later sessions.
        words(&["--text", "zanzibar", "--session", "s-1"]),
    ]
}

fn forget(home: &Home, way: &[String]) -> Value {
    let way = way.iter().map(String::as_str);
    home.json(&["history", "forget", "--yes"].into_iter().chain(way).collect::<Vec<_>>())
}

/// Writes an export of now, or of some of its lines, to a file.
fn exported(home: &Home, name: &str, is_wanted: impl Fn(&Value) -> bool) -> PathBuf {
    let lines = home.export().into_iter().filter(|line| line["kind"] == "header" || is_wanted(line));
    let file = home.work().join(name);
    fs::write(&file, lines.map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    file
}

fn import(home: &Home, file: &Path) {
    home.run(&["import", &file.to_string_lossy()]);
}

/// A report so long that its text is kept beside its event.
fn report_long(home: &Home) {
    let prompt = format!("Read this: {} and the port of zanzibar", "lorem ipsum ".repeat(4_000));
    report(home, "claude-code", "UserPromptSubmit", "s-1", json!({ "prompt": prompt, "prompt_id": "p-3" }));
}

#[test]
fn an_older_backup_does_not_bring_back_what_was_forgotten() {
    for number in 0..5 {
        let home = furnished();
        report_long(&home);
        home.json(&["save", "Where the ledger listens", "What: the ledger has a port of its own."]);
        let way = &ways(&home)[number];
        let (file, _) = backed_up(&home, &[]);
        let gone = forget(&home, way);
        assert_eq!(shown_by(&home, "zanzibar"), [""; 0], "{way:?}");

        let restored = home.json(&["restore", "--replace", &file.to_string_lossy()]);
        assert_eq!(restored["forgotten"], gone, "{way:?}: {restored}");
        assert_eq!(shown_by(&home, "zanzibar"), [""; 0], "{way:?}");
        assert!(home.run(&["list"]).stdout.contains("Where the ledger listens"));
        home.run(&["work", "verify"]).success();
        home.run(&["doctor"]).success();
        // Nor does the transcript, nor the next restore, which has nothing to do.
        home.take_in();
        assert_eq!(shown_by(&home, "zanzibar"), [""; 0], "{way:?}");
        let (later, _) = backed_up(&home, &[]);
        let again = home.json(&["restore", "--replace", &later.to_string_lossy()]);
        assert_eq!((&again["forgotten"]["exchanges"], &again["forgotten"]["events"]), (&json!(0), &json!(0)));
    }
}

#[test]
fn a_restore_says_in_one_sentence_what_is_gone_again_and_leaves_nothing_behind() {
    let home = furnished();
    let (file, _) = backed_up(&home, &[]);
    forget(&home, &ways(&home)[0]);
    let said = home.run(&["restore", "--replace", &file.to_string_lossy()]);
    assert_eq!(said.code(), 0, "{said:?}");
    let said = format!("{}{}", said.stdout, said.stderr);
    assert!(
        said.contains("forgotten since the backup, and gone again: 1 exchange, 2 prompts, 1 summary, "),
        "{said}"
    );
    let left: Vec<_> = fs::read_dir(home.data()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    let is_left = |name: &str| left.iter().any(|left| left.to_string_lossy().starts_with(name));
    assert!(!is_left("store.restoring") && !is_left("store.compared"), "{left:?}");
    // The digest of a forgotten text is carried over too: later sessions come without the text.
    forget(&home, &["--text".to_owned(), "walrus of the pier".to_owned()]);
    home.json(&["restore", "--replace", &file.to_string_lossy()]);
    assert_eq!(shown_by(&home, "walrus of the pier"), [""; 0]);
    Claude::new("s-9", &home.work()).turn("Where is the WALRUS of the pier?", "At home.").write(&home);
    home.take_in();
    assert_eq!(home.json(&["history", "show"])["sessions"], json!([]));
}

#[test]
fn an_export_made_before_does_not_bring_back_what_was_forgotten() {
    for number in 0..5 {
        let home = furnished();
        report_long(&home);
        let way = &ways(&home)[number];
        let older = exported(&home, "older.jsonl", |_| true);
        forget(&home, way);
        import(&home, &older);
        assert_eq!(shown_by(&home, "zanzibar"), [""; 0], "{way:?}");
        home.run(&["doctor"]).success();
        // Tombstones are digests without a key, so they mean the same in every home.
        let digests = exported(&home, "digests.jsonl", |line| line["kind"] == "history_tombstone");
        let other = Home::new();
        import(&other, &digests);
        import(&other, &older);
        assert_eq!(shown_by(&other, "zanzibar"), [""; 0], "{way:?}");
        other.run(&["doctor"]).success();
    }
}

#[test]
fn a_memory_file_that_was_forgotten_comes_back_neither_with_a_backup_nor_with_an_export() {
    let home = Home::new();
    fs::write(home.work().join("CLAUDE.md"), "# Rules\n\nThe puffin is deployed on Fridays.\n").unwrap();
    Claude::new("s-1", &home.work()).turn("Ask", "Answer.").write(&home);
    home.json(&["history", "import", "--yes", "--since", "0", "--memory-files"]);
    let documents = || home.json(&["documents", "list", "--all-projects"])["documents"].clone();
    let listed = documents();
    let (older, (file, _)) = (exported(&home, "older.jsonl", |_| true), backed_up(&home, &[]));
    home.json(&["documents", "forget", listed[0]["path"].as_str().unwrap(), "--yes"]);
    let restored = home.json(&["restore", "--replace", &file.to_string_lossy()]);
    assert_eq!((&restored["forgotten"]["documents"], documents()), (&json!(1), json!([])), "{restored}");
    import(&home, &older);
    assert_eq!(documents(), json!([]));
}

#[test]
fn a_session_that_only_hooks_know_is_kept_out_when_its_transcript_is_read() {
    let home = Home::new();
    home.json(&["projects"]);
    let said = json!({ "prompt": "Set the port of zanzibar", "prompt_id": "p-1" });
    report(&home, "claude-code", "UserPromptSubmit", "s-1", said);
    assert_eq!(home.json(&["history", "forget", "--session", "s-1", "--yes"])["prompts"], 1);
    Claude::new("s-1", &home.work()).turn("Set the port of zanzibar", "Done.").write(&home);
    home.take_in();
    assert_eq!(shown_by(&home, "zanzibar"), [""; 0]);
}
