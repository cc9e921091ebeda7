//! A home that cannot be created, written or locked, or whose disk is full: a clear error, no loss, and service once it
//! is repaired.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rustix::fs::{FlockOperation, fcntl_lock, flock};

use crate::support::{Disk, Home, PROGRAM, Pump, files, finish, json, wait_for};

/// Asserts that neither the command line nor an agent hangs on this home, and that both say why.
#[track_caller]
fn assert_names(home: &Path, user: &Path, words: &[&str]) {
    let command = || {
        let mut command = Command::new(PROGRAM);
        command.env_clear().env("HOME", user).env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.arg("--home").arg(home);
        command
    };
    let finished = finish(command().arg("stats"));
    assert_ne!(finished.code(), 0, "{finished:?}");
    for word in words {
        assert!(finished.stderr.contains(word), "`{word}` is not said: {finished:?}");
    }
    let mut agent = Pump::new(command()).silent();
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": {"name": "mem_stats", "arguments": {}}});
    for line in [request.to_string(), call.to_string()] {
        if agent.try_send_bytes(format!("{line}\n").as_bytes()).is_err() {
            break;
        }
    }
    let mut received = String::new();
    wait_for("the agent to hear what is wrong", || {
        if let Ok(message) = agent.message(Duration::from_millis(20)) {
            received.push_str(&message.to_string());
        }
        let all = format!("{received}{}", agent.stderr_text());
        words.iter().all(|word| all.contains(word)).then_some(())
    });
}

#[test]
fn a_home_that_cannot_be_made_is_named() {
    let home = Home::new();
    let file = home.work().join("a-file");
    fs::write(&file, "not a folder").unwrap();
    let below = file.join("home");
    assert_names(&below, &home.user(), &[below.to_str().unwrap()]);
}

#[test]
fn a_read_only_home_is_named() {
    let home = Home::new();
    let Some(disk) = Disk::mount(&home, "read-only", "ro,size=1m,mode=700") else { return };
    assert_names(disk.path(), &home.user(), &[disk.path().to_str().unwrap()]);
}

#[test]
fn a_home_owned_by_another_process_is_reported() {
    let home = Home::new();
    let mut agent = home.agent();
    agent.save("Owned", "By the daemon first.");
    home.run(&["daemon", "stop"]).success();
    wait_for("the daemon to leave", || home.daemons().is_empty().then_some(()));
    let file = fs::OpenOptions::new().read(true).write(true).open(home.data().join("daemon.lock")).unwrap();
    flock(&file, FlockOperation::NonBlockingLockExclusive).unwrap();
    assert_names(home.data(), &home.user(), &["daemon.lock"]);
}

#[test]
fn a_full_disk_refuses_writes_and_loses_nothing() {
    let home = Home::at("disk/data");
    let Some(disk) = Disk::mount(&home, "disk", "size=96m") else { return };
    let mut agent = home.agent();
    let mut acknowledged: Vec<(String, String)> = Vec::new();
    let text = |n: usize| format!("Memory {n} {}", format!("{} ", crate::support::word(n)).repeat(300));
    for n in 0..10 {
        acknowledged.push((agent.save(&format!("Before {n}"), &text(n)), text(n)));
    }
    let filler = disk.path().join("filler");
    let mut piece = 16 * 1024 * 1024;
    let mut file = fs::File::create(&filler).unwrap();
    while piece >= 4_096 {
        use std::io::Write;
        if file.write_all(&vec![7; piece]).is_err() {
            piece /= 2;
        }
    }
    let mut refused = None;
    for n in 10..3_000 {
        let arguments = json!({"title": format!("While full {n}"), "content": text(n)});
        let id = agent.send("mem_save", arguments);
        match agent.answer(id) {
            Ok(result) if result["isError"] != true => {
                acknowledged.push((result["structuredContent"]["id"].as_str().unwrap().to_owned(), text(n)));
            }
            Ok(result) => {
                refused = Some(result["content"][0]["text"].to_string());
                break;
            }
            Err(error) => {
                refused = Some(error.message);
                break;
            }
        }
    }
    let refused = refused.expect("3,000 memories fit on a full disk");
    let lowercase = refused.to_lowercase();
    assert!(lowercase.contains("disk") || lowercase.contains("space"), "the cause is not said: {refused}");

    drop(file);
    fs::remove_file(&filler).unwrap();
    home.kill_daemon();
    let after = agent.save("After", "There is room again.");
    assert_eq!(agent.get(&after)["content"], "There is room again.");
    for (id, text) in &acknowledged {
        assert!(agent.get(id)["content"] == **text, "{id} was acknowledged and is not whole");
    }
}

#[test]
fn a_store_locked_by_another_program_is_reported_and_waited_for() {
    let home = Home::new();
    let mut agent = home.agent();
    let id = agent.save("Behind the lock", "Still here.");
    home.run(&["daemon", "stop"]).success();
    wait_for("the daemon to leave", || home.daemons().is_empty().then_some(()));
    let file = hold_store(&home);
    let store = home.data().to_str().unwrap().to_owned();
    assert_names(home.data(), &home.user(), &[&store, "process"]);
    drop(file);
    let whole = wait_for("the store to be served again", || {
        let request = agent.send("mem_get_observation", json!({"id": id}));
        agent.answer(request).ok().filter(|result| result["isError"] != true)
    });
    assert_eq!(whole["structuredContent"]["content"], "Still here.", "{whole}");
}

/// Locks the database like another process that has it open.
fn hold_store(home: &Home) -> fs::File {
    let path = files(&home.data().join("store")).into_iter().find(|path| path.ends_with("LOCK"));
    let path = path.expect("RocksDB keeps a file LOCK");
    let file = fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
    fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive).unwrap();
    file
}

#[test]
fn a_daemon_that_waits_for_its_store_can_be_stopped() {
    let home = Home::new();
    home.agent().save("Behind the lock", "Still here.");
    home.run(&["daemon", "stop"]).success();
    let file = hold_store(&home);
    home.run(&["daemon", "start"]).success();
    wait_for("the daemon to meet the lock", || {
        home.log_tail().contains("waiting for the store").then_some(())
    });
    home.run(&["daemon", "stop"]).success();
    assert_eq!(home.daemons(), Vec::<u32>::new());
    drop(file);
    assert_eq!(home.agent().search("behind the lock").len(), 1);
}

/// As when the previous daemon has released the home and its database is still closing.
#[test]
fn a_store_that_is_released_soon_is_waited_for_silently() {
    let home = Home::new();
    let mut agent = home.agent();
    let id = agent.save("Behind the lock", "Still here.");
    home.run(&["daemon", "stop"]).success();
    let file = hold_store(&home);
    let request = agent.send("mem_get_observation", json!({"id": id}));
    wait_for("the daemon to meet the lock", || {
        home.log_tail().contains("waiting for the store").then_some(())
    });
    drop(file);
    let whole = agent.answer(request).unwrap();
    assert_eq!(whole["structuredContent"]["content"], "Still here.", "{whole}");
}
