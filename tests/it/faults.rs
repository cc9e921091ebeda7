//! The world around the program fails: a clear error, nothing lost, and it mends by itself.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::fs::{FlockOperation, fcntl_lock, flock};

use crate::support::{Home, PROGRAM, Pump, finish, json, skip, wait_for};

/// A small disk mounted for one test.
pub struct Disk<'a> {
    home: &'a Home,
    path: PathBuf,
}

impl<'a> Disk<'a> {
    /// Mounts one at the folder `name`, or says why that is not allowed here.
    pub fn mount(home: &'a Home, name: &str, options: &str) -> Option<Self> {
        let path = home.folder(name);
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", options, "cerebro-it"]).arg(&path).output();
        match mounted {
            Ok(output) if output.status.success() => Some(Self { home, path }),
            Ok(output) => {
                skip(&format!("cannot mount a small disk: {}", String::from_utf8_lossy(&output.stderr)));
                None
            }
            Err(e) => {
                skip(&format!("cannot mount a small disk: {e}"));
                None
            }
        }
    }
}

impl Drop for Disk<'_> {
    fn drop(&mut self) {
        self.home.end();
        let _ = Command::new("umount").arg("-l").arg(&self.path).status();
    }
}

/// Asserts that neither the command line nor an agent hangs on this home, and that both say why.
#[track_caller]
fn assert_says(home: &Path, user: &Path, words: &[&str]) {
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
    let mut heard = String::new();
    wait_for("the agent to hear what is wrong", || {
        if let Ok(message) = agent.message(Duration::from_millis(20)) {
            heard.push_str(&message.to_string());
        }
        let all = format!("{heard}{}", agent.said());
        words.iter().all(|word| all.contains(word)).then_some(())
    });
}

#[test]
fn a_home_that_cannot_be_made_is_named() {
    let home = Home::new();
    let file = home.work().join("a-file");
    fs::write(&file, "not a folder").unwrap();
    let below = file.join("home");
    assert_says(&below, &home.user(), &[below.to_str().unwrap()]);
}

#[test]
fn a_read_only_home_is_named() {
    let home = Home::new();
    let Some(disk) = Disk::mount(&home, "read-only", "ro,size=1m,mode=700") else { return };
    assert_says(&disk.path, &home.user(), &[disk.path.to_str().unwrap()]);
}

#[test]
fn a_full_disk_refuses_writes_and_loses_nothing() {
    let home = Home::at("disk/data");
    let Some(disk) = Disk::mount(&home, "disk", "size=96m") else { return };
    let mut agent = home.agent();
    let mut kept: Vec<(String, String)> = Vec::new();
    let text = |n: usize| format!("Memory {n} {}", format!("{} ", crate::support::word(n)).repeat(300));
    for n in 0..10 {
        kept.push((agent.save(&format!("Before {n}"), &text(n)), text(n)));
    }
    let filler = disk.path.join("filler");
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
                kept.push((result["structuredContent"]["id"].as_str().unwrap().to_owned(), text(n)));
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
    let said = refused.to_lowercase();
    assert!(said.contains("disk") || said.contains("space"), "the cause is not said: {refused}");

    drop(file);
    fs::remove_file(&filler).unwrap();
    home.kill_daemon();
    let after = agent.save("After", "There is room again.");
    assert_eq!(agent.get(&after)["content"], "There is room again.");
    for (id, text) in &kept {
        assert!(agent.get(id)["content"] == **text, "{id} was acknowledged and is not whole");
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

/// What is done to the folder of the index, in words and in deed.
type Damage = (&'static str, fn(&Path));

#[test]
fn the_index_is_rebuilt_whatever_happens_to_it() {
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

#[test]
fn a_store_locked_by_another_program_is_told_and_waited_for() {
    let home = Home::new();
    let mut agent = home.agent();
    let id = agent.save("Behind the lock", "Still here.");
    home.run(&["daemon", "stop"]).success();
    wait_for("the daemon to leave", || home.daemons().is_empty().then_some(()));
    let file = hold_store(&home);
    let store = home.data().to_str().unwrap().to_owned();
    assert_says(home.data(), &home.user(), &[&store, "process"]);
    drop(file);
    let whole = wait_for("the store to be served again", || {
        let request = agent.send("mem_get_observation", json!({"id": id}));
        agent.answer(request).ok().filter(|result| result["isError"] != true)
    });
    assert_eq!(whole["structuredContent"]["content"], "Still here.", "{whole}");
}

/// Holds the database as another process that has it open would.
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
    wait_for("the daemon to meet the lock", || home.log_tail().contains("waits for the store").then_some(()));
    home.run(&["daemon", "stop"]).success();
    assert_eq!(home.daemons(), Vec::<u32>::new());
    drop(file);
    assert_eq!(home.agent().search("behind the lock").len(), 1);
}

/// As when the daemon before has released the home and its database is still closing.
#[test]
fn a_store_that_is_let_go_in_a_moment_is_waited_for_without_a_word() {
    let home = Home::new();
    let mut agent = home.agent();
    let id = agent.save("Behind the lock", "Still here.");
    home.run(&["daemon", "stop"]).success();
    let file = hold_store(&home);
    let request = agent.send("mem_get_observation", json!({"id": id}));
    wait_for("the daemon to meet the lock", || home.log_tail().contains("waits for the store").then_some(()));
    drop(file);
    let whole = agent.answer(request).unwrap();
    assert_eq!(whole["structuredContent"]["content"], "Still here.", "{whole}");
}

#[test]
fn a_home_owned_by_another_process_is_told() {
    let home = Home::new();
    let mut agent = home.agent();
    agent.save("Owned", "By the daemon first.");
    home.run(&["daemon", "stop"]).success();
    wait_for("the daemon to leave", || home.daemons().is_empty().then_some(()));
    let file = fs::OpenOptions::new().read(true).write(true).open(home.data().join("daemon.lock")).unwrap();
    flock(&file, FlockOperation::NonBlockingLockExclusive).unwrap();
    assert_says(home.data(), &home.user(), &["daemon.lock"]);
}

#[test]
fn a_setting_that_cannot_be_read_is_named() {
    for (config, word) in [
        ("dedup_window = \"soon\"\n", "dedup_window"),
        ("agent_hard_delete = \"perhaps\"\n", "agent_hard_delete"),
        ("idle_exit = [1]\n", "idle_exit"),
        ("no_such_setting = 1\n", "no_such_setting"),
        ("dedup_window = \n", "config.toml"),
    ] {
        let home = Home::with_config(config);
        let finished = home.run(&["stats"]);
        assert_ne!(finished.code(), 0, "{config:?}: {finished:?}");
        assert!(finished.stderr.contains("config.toml"), "{config:?}: {finished:?}");
        assert!(finished.stderr.contains(word), "{config:?}: {finished:?}");
    }
}

#[test]
fn the_order_of_time_outlives_a_clock_that_goes_back() {
    if Command::new("faketime").arg("--version").output().is_err() {
        skip("faketime is not installed");
        return;
    }
    let home = Home::new();
    let mut ahead = Command::new("faketime");
    ahead
        .args(["-f", "+3d", PROGRAM, "--home"])
        .arg(home.data())
        // Itself, and not by a starter: what a daemon keeps of its starter's environment has no false clock.
        .args(["daemon", "run"])
        .env_clear()
        .env("HOME", home.user())
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .stderr(Stdio::null());
    let mut ahead = ahead.spawn().unwrap();
    wait_for("the daemon of the future", || home.run(&["daemon", "status"]).status.success().then_some(()));
    let mut agent = home.agent();
    agent.ok("mem_session_start", json!({"id": "s1"}));
    let first = agent.save("Written in the future", "The clock is three days ahead.");
    home.run(&["daemon", "stop"]).success();
    ahead.wait().unwrap();
    wait_for("the daemon to leave", || home.daemons().is_empty().then_some(()));
    let second = agent.save("Written after it went back", "The clock is right again.");
    let line = agent.ok("mem_timeline", json!({"id": second}));
    assert!(line.ids("before").contains(&first), "{line:?}");
    let context = agent.ok("mem_context", json!({}));
    let text = context.str("text");
    assert!(text.find(&second) < text.find(&first), "the last written comes first: {text}");
}
