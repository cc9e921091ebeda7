//! The search index is lost, damaged or older than the store: it is rebuilt, and no memory is missed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::support::{Home, files, json, wait_for};

/// A damage of the index's folder: its name, and the function that causes it.
type Damage = (&'static str, fn(&Path));

#[test]
fn the_index_is_rebuilt_after_any_damage() {
    let home = Home::new();
    let mut agent = home.agent();
    let ids: Vec<String> =
        (0..20).map(|n| agent.save(&format!("Ocelot {n}"), &format!("The ocelot of day {n}."))).collect();
    let index = home.data().join("index");
    let damages: [Damage; 6] = [
        ("deleted", |index| fs::remove_dir_all(index).unwrap()),
        ("emptied", |index| {
            fs::remove_dir_all(index).unwrap();
            fs::create_dir(index).unwrap();
        }),
        ("every file overwritten", |index| {
            for file in files(index) {
                fs::write(file, b"this is no index").unwrap();
            }
        }),
        ("every file cut in half", |index| {
            for file in files(index) {
                let half = fs::metadata(&file).unwrap().len() / 2;
                fs::OpenOptions::new().write(true).open(&file).unwrap().set_len(half).unwrap();
            }
        }),
        ("largest file deleted", |index| {
            let largest =
                files(index).into_iter().max_by_key(|file| fs::metadata(file).unwrap().len()).unwrap();
            fs::remove_file(largest).unwrap();
        }),
        ("bytes flipped", |index| {
            for file in files(index) {
                let mut bytes = fs::read(&file).unwrap();
                bytes.iter_mut().step_by(37).for_each(|byte| *byte ^= 0x55);
                fs::write(file, bytes).unwrap();
            }
        }),
    ];
    for (what, damage) in damages {
        home.run(&["daemon", "stop"]).success();
        wait_for("the daemon to leave", || home.daemons().is_empty().then_some(()));
        damage(&index);
        let found = agent.ok("mem_search", json!({"query": "ocelot", "limit": 50}));
        let mut found = found.ids("hits");
        let mut want = ids.clone();
        found.sort();
        want.sort();
        assert_eq!(found, want, "after the index was {what}; log: {}", home.log_tail());
        let id = agent.save(&format!("After {what}"), &format!("Written after: {what}."));
        assert_eq!(agent.search(&format!("written after {what}"))[0], id, "after the index was {what}");
    }
}

#[test]
fn an_index_that_lags_behind_catches_up() {
    let home = Home::new();
    let mut agent = home.agent();
    agent.save("Before the copy", "An old numbat.");
    home.run(&["daemon", "stop"]).success();
    let index = home.data().join("index");
    let copy = home.folder("copy");
    let copied = Command::new("cp").arg("-a").arg(index.join(".")).arg(&copy).status().unwrap();
    assert!(copied.success());
    let late = agent.save("After the copy", "A young numbat.");
    let gone = agent.search("old numbat")[0].clone();
    agent.ok("mem_delete", json!({"id": gone}));
    home.kill_daemon();
    fs::remove_dir_all(&index).unwrap();
    fs::rename(&copy, &index).unwrap();
    fs::set_permissions(&index, fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(agent.search("numbat"), [late], "log: {}", home.log_tail());
}
