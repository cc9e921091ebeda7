//! `cerebro backup` and `restore`: a backup is of one moment, complete or absent, and a restore loses nothing.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::support::{AGENTS_MAY_PURGE, FaultyProvider, Home, Value, json, scaled, wait_for};

/// A home with something of every kind, and texts that are hard to quote.
pub fn furnished() -> Home {
    let home = Home::with_config(AGENTS_MAY_PURGE);
    let mut agent = home.agent();
    agent.ok("mem_session_start", json!({"id": "first / café ' ` [ {", "directory": "/srv/work"}));
    let kept = agent
        .save("Kept 語🦉 ' \" ` { [", "Line one\n\tline two \\ ' end\n-- TABLE DATA: memory\nINSERT [ {");
    agent.ok("mem_update", json!({"id": kept, "content": "Second text."}));
    agent.ok("mem_update", json!({"id": kept, "tags": ["a", "b"], "topic_key": "config/kept"}));
    let deleted = agent.save("Deleted", "Recoverable text.");
    agent.ok("mem_delete", json!({"id": deleted}));
    let purged = agent.save("Purged", "Text that is gone.");
    agent.ok("mem_delete", json!({"id": purged, "hard": true}));
    agent.ok("mem_save", json!({"title": "Mine", "content": "Personal.", "scope": "personal"}));
    agent.ok("mem_save_prompt", json!({"content": "Ask the ibis"}));
    agent.ok("mem_session_end", json!({"summary": "Everything was furnished."}));
    agent.ok("mem_session_start", json!({"id": "second"}));
    home.run(&["pin", &kept]).success();
    home
}

pub fn backed_up(home: &Home, more: &[&str]) -> (PathBuf, Value) {
    let made = home.json(&[&["backup"], more].concat());
    (PathBuf::from(made["file"].as_str().unwrap()), made)
}

pub fn files(dir: &Path) -> BTreeSet<String> {
    let Ok(entries) = fs::read_dir(dir) else { return BTreeSet::new() };
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn a_restore_brings_everything_back_and_continues_the_log() {
    let home = furnished();
    let (text, events) = (home.export_text(), home.events());
    let (file, made) = backed_up(&home, &["--verify"]);
    assert_eq!(made["verified"], true, "{made}");
    assert_eq!(made["rows"]["event"], events.len(), "{made}");
    assert!(file.starts_with(home.data().canonicalize().unwrap().join("backups")), "{file:?}");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(file.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);

    let other = Home::new();
    let restored = other.json(&["restore", file.to_str().unwrap()]);
    assert_eq!(restored["rows"], made["rows"], "{restored}");
    assert!(other.export_text() == text, "the restored memory differs");
    assert_eq!(other.events(), events, "the log differs");

    let mut agent = other.agent();
    assert_eq!(agent.search("personal").len(), 1, "the index was not rebuilt");
    agent.save("After", "The log goes on.");
    let seqs: Vec<u64> = other.events().iter().filter_map(|event| event["seq"].as_u64()).collect();
    let want: Vec<u64> = (1..=seqs.len() as u64).collect();
    assert!(seqs.len() > events.len() && seqs.iter().all(|seq| want.contains(seq)), "{seqs:?}");
    let again =
        agent.ok("mem_save", json!({"title": "Kept", "content": "Third.", "topic_key": "config/kept"}));
    assert_eq!(again["revision"], 4, "the topic key holds: {again:?}");
}

#[test]
fn a_backup_while_agents_write_shows_one_moment() {
    let home = Home::new();
    let mut first = home.agent();
    for n in 0..scaled(300) {
        first.save(&format!("Before {n}"), &format!("Text number {n} before the backup."));
    }
    let (stop, written) = (AtomicBool::new(false), AtomicUsize::new(0));
    let (file, made) = std::thread::scope(|scope| {
        for writer in 0..3 {
            let (home, stop, written) = (&home, &stop, &written);
            scope.spawn(move || {
                let mut agent = home.agent();
                let mut n = 0;
                while !stop.load(Ordering::Relaxed) {
                    let id =
                        agent.save(&format!("W{writer} {n}"), &format!("Writer {writer} wrote text {n}."));
                    agent.ok(
                        "mem_update",
                        json!({"id": id, "content": format!("Writer {writer} mended {n}.")}),
                    );
                    n += 1;
                    if n == 1 {
                        written.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
        // Each of the three writes before the first backup begins.
        wait_for("the writers to write", || (written.load(Ordering::Relaxed) >= 3).then_some(()));
        let mut made = backed_up(&home, &["--verify"]);
        for _ in 0..2 {
            made = backed_up(&home, &["--verify"]);
        }
        stop.store(true, Ordering::Relaxed);
        made
    });
    let other = Home::new();
    other.run(&["restore", file.to_str().unwrap()]).success();
    let events = other.events();
    let mut seqs: Vec<u64> = events.iter().filter_map(|event| event["seq"].as_u64()).collect();
    seqs.sort_unstable();
    assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>(), "the log has gaps");
    let created: BTreeSet<&str> = events
        .iter()
        .filter(|event| event["kind"] == "memory.created")
        .filter_map(|event| event["memory"].as_str())
        .collect();
    let lines = other.export();
    let held: BTreeSet<&str> =
        lines.iter().filter(|line| line["kind"] == "memory").filter_map(|line| line["id"].as_str()).collect();
    assert_eq!(held, created, "memories and events are not of one moment");
    let updates = events.iter().filter(|event| event["kind"] == "memory.updated").count();
    let revisions = lines.iter().filter(|line| line["kind"] == "revision").count();
    assert_eq!(updates, revisions, "revisions and events are not of one moment");
    assert_eq!(made["rows"]["memory"], held.len());
    let ours = home.events().len();
    assert!(ours > events.len(), "nobody wrote meanwhile: {ours} events");
}

#[test]
fn only_an_empty_home_is_filled() {
    let home = furnished();
    let (file, _) = backed_up(&home, &[]);
    let path = file.to_str().unwrap();
    let served = home.run(&["restore", path]);
    assert_eq!(served.code(), 1, "{served:?}");
    home.run(&["daemon", "stop"]).success();
    let before = home.export_text();
    home.run(&["daemon", "stop"]).success();
    let refused = home.run(&["backup", "restore", path]);
    assert_eq!(refused.code(), 1, "{refused:?}");
    assert!(refused.stderr.contains("holds memories already\nhint: give --home DIR"), "{refused:?}");
    assert!(home.export_text() == before, "a refused restore changed something");

    let provider = FaultyProvider::start();
    let empty = Home::with_config(&provider.config(""));
    // The worker notes its model in an empty store, too.
    wait_for("the worker to be ready", || {
        (empty.json(&["worker", "status"])["state"] == "idle").then_some(())
    });
    empty.run(&["daemon", "stop"]).success();
    empty.run(&["restore", path]).success();
    assert!(empty.export_text() == before, "a daemon that was started once is no obstacle");
}

#[test]
fn a_restore_in_place_keeps_the_replaced_memory() {
    let home = furnished();
    let before = home.export_text();
    let (file, _) = backed_up(&home, &[]);
    let name = file.file_name().unwrap().to_str().unwrap();
    let listed = home.run(&["backup", "list"]).success();
    assert!(listed.contains(name) && !listed.contains(file.to_str().unwrap()), "{listed}");
    home.run(&["save", "Later", "The dunlin came after the backup.", "--project", "demo"]).success();

    // The file's name is enough, and the daemon stops for it.
    let restored = home.json(&["restore", "--replace", name]);
    let kept = PathBuf::from(restored["kept"].as_str().unwrap_or_else(|| panic!("{restored}")));
    assert!(kept.starts_with(home.data().canonicalize().unwrap()), "{kept:?}");
    assert_eq!(fs::metadata(&kept).unwrap().permissions().mode() & 0o077, 0);
    assert!(home.export_text() == before, "the memory is not that of the backup");
    let mut agent = home.agent();
    assert_eq!(agent.search("dunlin"), Vec::<String>::new(), "the index is of the memory before");
    assert_eq!(agent.search("personal").len(), 1);
    home.run(&["doctor"]).success();

    // The kept memory is complete.
    home.run(&["daemon", "stop"]).success();
    fs::remove_dir_all(home.data().join("store")).unwrap();
    fs::remove_dir_all(home.data().join("index")).unwrap();
    fs::rename(&kept, home.data().join("store")).unwrap();
    assert!(home.export_text().contains("The dunlin came"), "what was kept is not what was there");
}

#[test]
fn a_restore_in_place_that_fails_changes_nothing() {
    let home = furnished();
    let before = home.export_text();
    let (file, _) = backed_up(&home, &[]);
    let bytes = fs::read(&file).unwrap();
    let cut = home.work().join("cut.surql.zst");
    fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
    let refused = home.run(&["backup", "restore", "--replace", cut.to_str().unwrap()]);
    assert_eq!(refused.code(), 1, "{refused:?}");
    assert!(home.export_text() == before, "a refused restore changed something");
    assert!(files(home.data()).iter().all(|name| !name.starts_with("store.")), "{:?}", files(home.data()));
}

#[test]
fn a_database_that_does_not_open_is_replaced_and_kept() {
    let home = furnished();
    let before = home.export_text();
    let (file, _) = backed_up(&home, &[]);
    home.run(&["daemon", "stop"]).success();
    fs::write(home.data().join("store/CURRENT"), "no manifest\n").unwrap();
    let restored = home.json(&["restore", "--replace", file.to_str().unwrap()]);
    let kept = PathBuf::from(restored["kept"].as_str().unwrap_or_else(|| panic!("{restored}")));
    assert_eq!(fs::read_to_string(kept.join("CURRENT")).unwrap(), "no manifest\n");
    assert!(home.export_text() == before);
}

#[test]
fn a_damaged_backup_is_refused_and_leaves_nothing() {
    let home = furnished();
    let (file, _) = backed_up(&home, &[]);
    assert_eq!(home.json(&["backup", "verify", file.to_str().unwrap()])["whole"], true);
    let good = fs::read(&file).unwrap();
    let mut flipped = good.clone();
    flipped[good.len() / 2] ^= 1;
    let bad = home.work().join("bad.surql.zst");
    for (what, bytes) in [
        ("cut", &good[..good.len() / 2]),
        ("no end", &good[..good.len() - 20]),
        ("flipped", &flipped),
        ("empty", &[]),
    ] {
        fs::write(&bad, bytes).unwrap();
        let verified = home.run(&["backup", "verify", bad.to_str().unwrap()]);
        assert_eq!(verified.code(), 1, "{what}: {verified:?}");
        let other = Home::new();
        let refused = other.run(&["restore", bad.to_str().unwrap()]);
        assert_eq!(refused.code(), 1, "{what}: {refused:?}");
        assert!(refused.stderr.contains("bad.surql.zst"), "{what}: {refused:?}");
        assert!(!other.data().join("store").exists(), "{what}");
        assert!(!other.data().join("store.restoring").exists(), "{what}");
    }
    let missing = home.run(&["backup", "verify", "/no/such.surql.zst"]);
    assert!(missing.code() == 1 && missing.stderr.contains("/no/such"), "{missing:?}");
}

#[test]
fn only_the_oldest_backups_of_this_home_are_removed() {
    let home = furnished();
    let dir = home.folder("kept");
    let to = dir.to_str().unwrap();
    fs::write(dir.join("cerebro-notes.txt"), "mine").unwrap();
    let other = Home::new();
    other.agent().save("Elsewhere", "Of another home.");
    let (foreign, _) = backed_up(&other, &["--to", to]);
    let made: Vec<PathBuf> = (0..4).map(|_| backed_up(&home, &["--to", to, "--keep", "2"]).0).collect();
    let left = files(&dir);
    let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
    let want = ["cerebro-notes.txt".to_owned(), name(&foreign), name(&made[2]), name(&made[3])];
    assert_eq!(left, want.into_iter().collect());
    let listed = home.json(&["backup", "list", "--to", to]);
    assert_eq!(listed[0]["file"].as_str().unwrap(), made[3].to_str().unwrap(), "{listed}");
    assert_eq!(listed.as_array().unwrap().len(), 2, "{listed}");
    assert_eq!(home.run(&["backup", "--keep", "0"]).code(), 2);
}

#[test]
fn a_killed_daemon_leaves_no_half_backup() {
    let home = furnished();
    let dir = home.folder("kept");
    let mut command = home.command();
    let mut child = command.args(["backup", "--to", dir.to_str().unwrap()]).spawn().unwrap();
    home.kill_daemon();
    let _ = child.wait();
    for name in files(&dir) {
        let whole = home.run(&["backup", "verify", dir.join(&name).to_str().unwrap()]);
        assert!(name.starts_with(".cerebro-draft-") || whole.code() == 0, "{name}: {whole:?}");
    }
    assert_eq!(backed_up(&home, &["--to", dir.to_str().unwrap(), "--verify"]).1["verified"], true);
}

#[test]
fn an_overdue_backup_is_made_by_the_daemon() {
    let home = Home::with_config("[backup]\nevery = \"1s\"\nkeep = 2\ndir = \"safe\"\n");
    let mut agent = home.agent();
    agent.save("One", "First text.");
    let dir = home.data().join("safe");
    let whole = || files(&dir).into_iter().filter(|name| name.ends_with(".surql.zst")).collect::<Vec<_>>();
    let first = wait_for("the overdue backup", || whole().pop());
    home.run(&["backup", "verify", dir.join(&first).to_str().unwrap()]).success();
    for n in 0..3 {
        let known = whole();
        agent.save(&format!("More {n}"), &format!("Another text {n}."));
        wait_for("the next backup", || whole().iter().any(|name| !known.contains(name)).then_some(()));
    }
    wait_for("the rotation", || (whole().len() <= 2).then_some(()));
    let status = home.json(&["daemon", "status"]);
    assert!(status["backup"]["made_at"].is_string() && status["backup"]["failure"].is_null(), "{status}");
}

#[test]
fn a_scheduled_backup_that_fails_is_reported() {
    // A folder that cannot be made, and a file in its place.
    for dir in ["/proc/nowhere", "config.toml"] {
        let home = Home::with_config(&format!("[backup]\nevery = \"1s\"\ndir = \"{dir}\"\n"));
        let mut agent = home.agent();
        agent.save("One", "First text.");
        let status = wait_for("the failure to be reported", || {
            let status = home.json(&["daemon", "status"]);
            status["backup"]["failure"].is_string().then_some(status)
        });
        assert!(status["backup"]["failure"].as_str().unwrap().contains(dir), "{status}");
        assert!(home.log_tail().contains("scheduled backup failed"), "{}", home.log_tail());
        agent.save("Two", "The daemon serves all the same.");
    }
}
