//! Replaced stores: restored from a tampered file, put back from a copy, or created again at the same path.

use std::fs;
use std::io::Read;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::backup::{backed_up, files, furnished};
use crate::support::{FaultyProvider, Home, Value, copy, json, wait_for, word};

const END: &str = "-- cerebro backup end ";

/// A copy of a backup with more statements at its end, and with correct counts and checksums.
fn forge(from: &Path, to: &Path, more: &str) {
    let packed = fs::read(from).unwrap();
    let mut text = String::new();
    zstd::stream::read::Decoder::new(packed.as_slice()).unwrap().read_to_string(&mut text).unwrap();
    let at = text.rfind(END).unwrap();
    let script = format!("{}{more}\n", &text[..at]);
    let mut end: Value = serde_json::from_str(&text[at + END.len()..]).unwrap();
    let digest: String = Sha256::digest(&script).iter().map(|byte| format!("{byte:02x}")).collect();
    end["bytes"] = json!(script.len());
    end["sha256"] = json!(digest);
    let frames =
        [script, format!("{END}{end}\n")].map(|part| zstd::stream::encode_all(part.as_bytes(), 3).unwrap());
    fs::write(to, frames.concat()).unwrap();
}

#[test]
fn a_backup_with_planted_statements_is_refused() {
    let home = furnished();
    let text = home.export_text();
    let (file, _) = backed_up(&home, &[]);
    let forged = home.work().join("forged.surql.zst");
    // A table of vectors without its model is what a killed process may leave.
    forge(&file, &forged, "DEFINE TABLE vector_stray SCHEMALESS;");
    let other = Home::new();
    other.run(&["restore", forged.to_str().unwrap()]).success();
    assert!(other.export_text() == text, "the forging itself changed something");
    assert!(!other.run(&["sql", "INFO FOR DB"]).success().contains("vector_stray"));

    for (what, planted) in [
        ("mallory", "DEFINE USER mallory ON ROOT PASSWORD 'x' ROLES OWNER;"),
        ("mallory", "DEFINE USER mallory ON DATABASE PASSWORD 'x' ROLES OWNER;"),
        ("mallory", "DEFINE ACCESS mallory ON DATABASE TYPE RECORD;"),
        ("mallory", "DEFINE DATABASE mallory;"),
        ("events mallory", "DEFINE EVENT mallory ON memory WHEN true THEN { DELETE $after.id };"),
        ("cerebro::health", "DEFINE FUNCTION OVERWRITE fn::cerebro::health() { RETURN 'mallory' };"),
        ("mallory", "DEFINE FUNCTION fn::mallory() { RETURN 1 };"),
        ("mallory", "DEFINE PARAM $mallory VALUE 1;"),
        ("tables mallory", "DEFINE TABLE mallory SCHEMALESS;"),
        ("fields title", "DEFINE FIELD OVERWRITE title ON memory TYPE string VALUE 'mallory';"),
        ("no indexes memory_topic", "REMOVE INDEX memory_topic ON memory;"),
        (
            "`model`",
            "CREATE model:m CONTENT { name: 'm', dimension: 3, table: 'revision', state: 'active', at: time::now() };",
        ),
    ] {
        forge(&file, &forged, planted);
        home.run(&["backup", "verify", forged.to_str().unwrap()]).success();
        let other = Home::new();
        let refused = other.run(&["restore", forged.to_str().unwrap()]);
        assert_eq!(refused.code(), 1, "{planted}: {refused:?}");
        let is_named = refused.stderr.contains(what) || refused.stderr.contains("permissions");
        assert!(refused.stderr.contains("forged.surql.zst") && is_named, "{planted}: {refused:?}");
        for left in ["store", "store.restoring", "store.compared"] {
            assert!(!other.data().join(left).exists(), "{planted}: {left} is left");
        }
    }
}

#[test]
fn a_store_with_vectors_is_restored_again_and_again() {
    let provider = FaultyProvider::start();
    let mut home = Home::with_config(&provider.config(""));
    home.agent().save("With a vector", "The ibis has one.");
    wait_for("the memory to be embedded", || {
        (home.json(&["worker", "status"])["queue_depth"] == 0 && provider.requests() > 0).then_some(())
    });
    let text = home.export_text();
    for _ in 0..2 {
        let (file, made) = backed_up(&home, &[]);
        let vectors: Vec<&String> =
            made["rows"].as_object().unwrap().keys().filter(|table| table.starts_with("vector_")).collect();
        assert_eq!(vectors.len(), 1, "{made}");
        let other = Home::new();
        let restored = other.json(&["restore", file.to_str().unwrap()]);
        assert_eq!(restored["rows"], made["rows"]);
        assert!(other.export_text() == text);
        home = other;
    }
}

#[test]
fn a_restore_into_a_home_whose_memory_is_on_a_server_is_refused() {
    let from = furnished();
    let (file, _) = backed_up(&from, &[]);
    let home = Home::with_config("[remote]\nurl = \"wss://db.example\"\n");
    let refused = home.run(&["restore", file.to_str().unwrap()]);
    assert_eq!(refused.code(), 1, "{refused:?}");
    assert!(refused.stderr.contains("wss://db.example"), "{refused:?}");
    assert!(!home.data().join("store").exists());
}

#[test]
fn an_index_does_not_outlive_a_store_that_was_put_back() {
    let home = Home::new();
    let first = home.agent().save("First", &word(1));
    home.run(&["daemon", "stop"]).success();
    let (store, before) = (home.data().join("store"), home.work().join("before"));
    copy(&store, &before);
    {
        let mut agent = home.agent();
        for n in 10..20 {
            agent.save(&format!("Ghost {n}"), &word(n));
        }
        assert_eq!(agent.search(&word(15)).len(), 1);
    }
    home.run(&["daemon", "stop"]).success();
    fs::remove_dir_all(&store).unwrap();
    copy(&before, &store);

    let mut agent = home.agent();
    assert_eq!(agent.search(&word(15)), Vec::<String>::new(), "a ghost is found");
    assert_eq!(agent.search(&word(1)), [first]);
    let after = agent.save("After", &word(30));
    drop(agent);
    home.kill_daemon();
    assert_eq!(home.agent().search(&word(30)), [after], "an acknowledged save is not found");
}

/// Replaces a home's store by an empty one, as on another machine with the same path.
fn become_another(home: &Home) {
    home.run(&["daemon", "stop"]).success();
    for folder in ["store", "index"] {
        fs::remove_dir_all(home.data().join(folder)).unwrap();
    }
}

#[test]
fn an_index_does_not_outlive_its_store() {
    let home = Home::new();
    home.agent().save("One", &word(1));
    home.run(&["daemon", "stop"]).success();
    fs::remove_dir_all(home.data().join("store")).unwrap();
    let mut agent = home.agent();
    // As many events as in the store before.
    let one = agent.save("One", &word(2));
    assert_eq!(agent.search(&word(1)), Vec::<String>::new());
    assert_eq!(agent.search(&word(2)), [one]);
}

#[test]
fn stores_at_the_same_path_keep_each_others_backups() {
    let home = furnished();
    let dir = home.folder("shared");
    let to = dir.to_str().unwrap();
    let (theirs, _) = backed_up(&home, &["--to", to]);
    become_another(&home);
    home.agent().save("Ours", "Of the second store.");
    for _ in 0..3 {
        backed_up(&home, &["--to", to, "--keep", "1"]);
    }
    assert!(theirs.exists(), "the other's backup was removed");
    assert_eq!(files(&dir).len(), 2, "one of each");
}

#[test]
fn another_store_is_backed_up_though_the_one_before_had_as_many_events() {
    let home = Home::with_config("[backup]\nevery = \"1s\"\ndir = \"safe\"\n");
    let dir = home.data().join("safe");
    let whole = || files(&dir).iter().filter(|name| name.ends_with(".surql.zst")).count();
    home.agent().save("One", "First text.");
    wait_for("the first backup", || (whole() == 1).then_some(()));
    become_another(&home);
    home.agent().save("One", "Another text.");
    wait_for("a backup of the other store", || (whole() == 2).then_some(()));
}
