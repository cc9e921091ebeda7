//! One daemon for many agents: how it starts, is found, dies, is replaced and ends.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use cerebro::daemon::hello::{Hello, Role};

use crate::support::{Agent, Finished, Home, Pump, json, skip, wait_for};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap_or_else(|e| panic!("{}: {e}", path.display())).permissions().mode() & 0o777
}

#[test]
fn twenty_started_at_once_end_with_one_daemon() {
    let home = Home::new();
    let mut agents: Vec<Agent> = (0..20).map(|_| home.pump().project("demo").silent()).collect();
    let mut calls = Vec::new();
    for (n, agent) in agents.iter_mut().enumerate() {
        let client = json!({"name": "crowd", "version": "1"});
        agent.send_request(
            "initialize",
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}),
        );
        agent.send_raw(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        calls.push(
            agent.send("mem_save", json!({"title": format!("Of agent {n}"), "content": "In the crowd."})),
        );
    }
    for (agent, call) in agents.iter_mut().zip(calls) {
        let result = agent.answer_within(call, Duration::from_secs(60)).unwrap_or_else(|e| panic!("{e:?}"));
        assert_ne!(result["isError"], true, "{result}");
    }
    let daemons = wait_for("the losers of the race to leave", || {
        let daemons = home.daemons();
        (daemons.len() == 1).then_some(daemons)
    });
    let status = home.json(&["daemon", "status"]);
    assert_eq!(status["pid"], daemons[0], "{status}");
    assert_eq!(agents[0].ok("mem_search", json!({"query": "crowd", "limit": 50})).list("hits").len(), 20);
}

#[test]
fn status_shows_the_state_and_starts_nothing() {
    let home = Home::new();
    let silent: Finished = home.run(&["daemon", "status"]);
    assert!(!silent.stdout.is_empty() || !silent.stderr.is_empty(), "{silent:?}");
    assert_eq!(home.daemons(), Vec::<u32>::new(), "status started a daemon");
    home.run(&["daemon", "start"]).success();
    let _one = home.agent();
    let _two = home.agent();
    let status = home.json(&["daemon", "status"]);
    assert_eq!(status["pid"], home.daemons()[0], "{status}");
    assert_eq!(status["version"], env!("CARGO_PKG_VERSION"), "{status}");
    assert!(status["uptime_s"].as_f64().is_some_and(|uptime| uptime < 60.0), "{status}");
    assert_eq!(status["clients"], 2, "{status}");
    let words = home.run(&["daemon", "status"]).success();
    assert!(words.contains(&status["pid"].to_string()), "{words}");
}

#[test]
fn start_and_stop_can_be_called_twice() {
    let home = Home::new();
    home.run(&["daemon", "start"]).success();
    let pid = home.daemon_pid();
    home.run(&["daemon", "start"]).success();
    assert_eq!(home.daemon_pid(), pid, "a second daemon took over");
    assert_eq!(home.daemons(), [pid]);
    home.run(&["daemon", "stop"]).success();
    assert_eq!(home.daemons(), Vec::<u32>::new(), "stop returned before it had left");
    home.run(&["daemon", "stop"]).success();
    let logs = home.run(&["daemon", "logs"]).success();
    assert!(!logs.trim().is_empty(), "an empty log");
}

/// RocksDB's locks alone would take 40 MB more (`build.rs`).
#[test]
fn a_daemon_without_memories_has_less_than_45_mb_of_its_own() {
    let home = Home::new();
    home.agent().save("The only one", "Opens the store.");
    let status = fs::read_to_string(format!("/proc/{}/status", home.daemon_pid())).unwrap();
    let line = status.lines().find(|line| line.starts_with("RssAnon:")).unwrap_or_else(|| panic!("{status}"));
    let kib: u32 = line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).unwrap();
    assert!((1..45_000).contains(&kib), "{line}");
}

#[test]
fn a_daemon_that_is_asked_to_stop_logs_no_error() {
    let home = Home::new();
    home.agent().save("Before the end", "Kept.");
    home.run(&["daemon", "stop"]).success();
    let log = home.run(&["daemon", "logs"]).success();
    assert!(log.contains("leaving"), "{log}");
    let complaints: Vec<&str> =
        log.lines().filter(|line| line.contains(" WARN ") || line.contains(" ERROR ")).collect();
    assert_eq!(complaints, [""; 0]);
}

#[test]
fn a_log_that_is_full_is_begun_anew_while_the_daemon_runs() {
    const FULL: usize = 5 * 1024 * 1024;
    let home = Home::new();
    home.run(&["daemon", "start"]).success();
    let (log, old) = (home.data().join("daemon.log"), home.data().join("daemon.log.old"));
    let mut file = fs::OpenOptions::new().append(true).open(&log).unwrap();
    file.write_all(&vec![b'x'; FULL]).unwrap();
    wait_for("a new log", || old.exists().then_some(()));
    home.run(&["daemon", "stop"]).success();
    assert!(
        home.log_tail().contains("leaving"),
        "the daemon still writes to the old log: {}",
        home.log_tail()
    );
    assert!(fs::metadata(&log).unwrap().len() < 10_000);
    assert_eq!(mode(&log), 0o600);
}

#[test]
fn start_and_stop_speak_json() {
    let home = Home::new();
    let started = home.json(&["daemon", "start"]);
    assert_eq!(started["pid"], home.daemons()[0], "{started}");
    let stopped = home.json(&["daemon", "stop"]);
    assert!(stopped.is_object(), "{stopped}");
}

#[test]
fn folders_and_socket_are_the_users_alone() {
    let home = Home::new();
    let mut agent = home.agent();
    agent.save("Private", "Of one user.");
    assert_eq!(mode(home.data()), 0o700);
    assert_eq!(mode(&home.data().join("run")), 0o700);
    assert_eq!(mode(&home.data().join("run/daemon.sock")), 0o600);
    for file in ["daemon.log", "daemon.lock"] {
        assert_eq!(mode(&home.data().join(file)) & 0o077, 0, "{file}");
    }
}

/// Only root can become another user; for anybody else this tests the own connection only.
#[test]
fn another_user_is_not_served_even_where_the_folders_are_open() {
    const NOBODY: u32 = 65_534;
    // The connection may be cut before anything was written, and then the write must not kill the process.
    const GREET: &str = "use Socket; $SIG{PIPE} = 'IGNORE'; socket(S, PF_UNIX, SOCK_STREAM, 0) or die \"socket: $!\";\
        connect(S, sockaddr_un($ARGV[0])) or die \"connect: $!\"; syswrite(S, $ARGV[1] . chr(10));\
        alarm 30; my $answer = <S>; print defined $answer ? $answer : 'cut off'";
    let home = Home::new();
    home.run(&["daemon", "start"]).success();
    let socket = home.data().join("run/daemon.sock");
    for path in [home.data().parent().unwrap(), home.data(), &home.data().join("run"), &socket] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
    }
    let hello = serde_json::to_string(&Hello::of_this_process(Role::Operator)).unwrap();
    let greet = |user: Option<u32>| {
        let mut perl = Command::new("perl");
        perl.args(["-e", GREET]).arg(&socket).arg(&hello).current_dir("/");
        if let Some(user) = user {
            perl.uid(user);
        }
        let done = perl.output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    };
    assert!(greet(None).contains("served"));
    let is_open = socket.ancestors().skip(1).all(|folder| mode(folder) & 0o001 != 0);
    if !rustix::process::getuid().is_root() {
        skip("only root can become another user");
    } else if !is_open {
        skip("another user cannot come to the folder for temporary files");
    } else {
        assert_eq!(greet(Some(NOBODY)), "cut off");
        assert!(home.run(&["daemon", "logs"]).success().contains("another user"));
    }
}

#[test]
fn a_stale_socket_is_no_obstacle() {
    let home = Home::new();
    let mut agent = home.agent();
    let id = agent.save("Before the kill", "Kept.");
    home.kill_daemon();
    let socket = home.data().join("run/daemon.sock");
    assert!(socket.exists(), "kill -9 leaves the socket behind");
    let mut other = home.agent();
    assert_eq!(other.get(&id)["content"], "Kept.");
    drop(other);

    home.kill_daemon();
    fs::remove_file(&socket).unwrap();
    let listener = UnixListener::bind(&socket).unwrap();
    drop(listener);
    let mut other = home.agent();
    assert_eq!(other.get(&id)["content"], "Kept.", "after a socket that nobody listens on");
    drop(other);

    home.kill_daemon();
    fs::remove_file(&socket).unwrap();
    fs::write(&socket, "not a socket").unwrap();
    let mut other = home.agent();
    assert_eq!(other.get(&id)["content"], "Kept.", "after a file in the socket's place");
}

#[test]
fn an_idle_daemon_leaves_and_comes_back_when_called() {
    let home = Home::with_config("idle_exit = \"3s\"\n");
    let mut agent = home.agent();
    agent.ok("mem_session_start", json!({"id": "long one"}));
    let id = agent.save("Before the idle time", "Kept.");
    let before = home.daemons();
    assert_eq!(before.len(), 1);
    wait_for("the idle daemon to leave though a pump is open", || home.daemons().is_empty().then_some(()));
    assert!(agent.is_running(), "the pump stays");
    assert_eq!(agent.get(&id)["content"], "Kept.");
    let after = agent.save("After the idle time", "By another daemon.");
    assert_eq!(agent.get(&after).session(), "long one", "the session holds");
    assert_ne!(home.daemons(), before);
}

#[test]
fn a_kill_in_the_middle_of_calls_is_a_retryable_error() {
    let home = Home::new();
    let mut agent = home.agent();
    agent.ok("mem_session_start", json!({"id": "across the kill"}));
    let arguments =
        |n: usize| json!({"title": format!("In flight {n}"), "content": format!("Call number {n}.")});
    let sent: Vec<u64> = (0..300).map(|n| agent.send("mem_save", arguments(n))).collect();
    agent.reply(sent[0]);
    home.kill_daemon();
    let mut failed = Vec::new();
    for (n, id) in sent.iter().enumerate().skip(1) {
        match agent.answer(*id) {
            Ok(result) if result["isError"] != true => {}
            Ok(result) => failed.push((n, result["content"][0]["text"].to_string())),
            Err(error) => failed.push((n, error.message)),
        }
    }
    for (n, message) in &failed {
        let message = message.to_lowercase();
        assert!(
            message.contains("again") || message.contains("retry"),
            "call {n} does not say to retry: {message}"
        );
    }
    for (n, _) in &failed {
        agent.ok("mem_save", arguments(*n));
    }
    let mut ids = std::collections::BTreeSet::new();
    let mut page = json!({"query": "in flight call number", "limit": 50});
    loop {
        let found = agent.ok("mem_search", page.clone());
        ids.extend(found.ids("hits"));
        let Some(cursor) = found["next_cursor"].as_str() else { break };
        page["cursor"] = json!(cursor);
    }
    assert_eq!(ids.len(), 300, "each call once; {} were in flight", failed.len());
    let last = ids.iter().next().unwrap();
    assert_eq!(agent.get(last).session(), "across the kill");
}

/// The daemon dies with some calls done, some read and some unread; the pump repeats the last only.
#[test]
fn a_call_that_was_done_is_not_done_again_by_the_pump() {
    // Larger than what a socket holds, so that the daemon dies with unread calls in its queue.
    let text = "A long text of many words, said again. ".repeat(3_000);
    for round in 0..3 {
        let home = Home::new();
        let mut agent = home.agent();
        agent.save("Before", "So that the store is open.");
        let arguments =
            |n: usize| json!({"title": format!("Call {round} {n}"), "content": format!("{n} {text}")});
        let sent: Vec<u64> = (0..60).map(|n| agent.send("mem_save", arguments(n))).collect();
        agent.reply(sent[round]);
        home.kill_daemon();
        for (n, id) in sent.iter().enumerate().filter(|(n, _)| *n != round) {
            let result =
                agent.answer_within(*id, Duration::from_secs(60)).unwrap_or_else(|e| panic!("{e:?}"));
            let message = result["content"][0]["text"].as_str().unwrap_or_default().to_owned();
            if result["isError"] == true {
                assert!(message.contains("again"), "call {n}: {message}");
            } else {
                assert_eq!(
                    result["structuredContent"]["outcome"], "created",
                    "call {n} was done twice: {message}"
                );
            }
        }
    }
}

#[test]
fn clients_of_both_eras_outlive_the_daemon() {
    let home = Home::new();
    for pump in [home.pump().project("demo"), home.pump().project("demo").modern()] {
        let mut agent = pump.start();
        let id = agent.save("Before", "Kept.");
        home.kill_daemon();
        assert_eq!(agent.get(&id)["content"], "Kept.");
        let tools = agent.request("tools/list", json!({})).unwrap();
        assert_eq!(tools["tools"].as_array().map(Vec::len), Some(13), "{tools}");
        agent.ok("mem_delete", json!({"id": id}));
    }
}

#[test]
fn a_stopped_daemon_is_started_again_by_the_next_call() {
    let home = Home::new();
    let mut agent = home.agent();
    let id = agent.save("Before the stop", "Kept.");
    for _ in 0..3 {
        let before = home.daemons();
        home.run(&["daemon", "stop"]).success();
        assert_eq!(agent.get(&id)["content"], "Kept.");
        assert_ne!(home.daemons(), before);
    }
}

#[test]
fn a_long_home_path_works() {
    let long = format!("{}/{}/home of mine é", "long".repeat(25), "path".repeat(25));
    let home = Home::at(&long);
    assert!(home.data().as_os_str().len() > 200);
    let mut one = home.agent();
    let id = one.save("Far down", "A long way.");
    let mut two = home.agent();
    assert_eq!(two.get(&id)["content"], "A long way.");
    assert_eq!(home.daemons().len(), 1);
}

#[test]
fn two_spellings_of_a_home_share_a_daemon() {
    let home = Home::new();
    let mut agent = home.agent();
    let id = agent.save("Spelled plainly", "Seen from everywhere.");
    let link = home.work().join("link");
    symlink(home.data(), &link).unwrap();
    let dotted = home.data().join("../work/../data/.");
    for spelling in [link.to_str().unwrap(), dotted.to_str().unwrap(), "../data"] {
        let mut command = home.bare_command();
        command.arg("--home").arg(spelling);
        let mut other = Pump::new(command).project("demo").start();
        assert_eq!(other.get(&id)["content"], "Seen from everywhere.", "{spelling}");
        assert_eq!(home.daemons().len(), 1, "{spelling}");
    }
}

#[test]
fn without_a_flag_the_home_is_below_the_users() {
    let home = Home::new();
    let mut one = Pump::new(home.bare_command()).project("demo").start();
    let id = one.save("By HOME alone", "With a stripped environment.");
    assert!(home.user().join(".cerebro/store").is_dir());
    let foreign = home.folder("xdg");
    let mut two = Pump::new(home.bare_command())
        .project("demo")
        .env("XDG_DATA_HOME", &foreign)
        .env("XDG_RUNTIME_DIR", &foreign)
        .env("XDG_CONFIG_HOME", &foreign)
        .start();
    assert_eq!(two.get(&id)["content"], "With a stripped environment.");
    assert_eq!(fs::read_dir(&foreign).unwrap().count(), 0, "XDG variables are not read");
    assert_eq!(home.daemons().len(), 1);
}

#[test]
fn a_standalone_server_does_not_share_a_home_with_a_daemon() {
    let home = Home::new();
    let mut agent = home.agent();
    agent.save("Served by the daemon", "It owns the home.");
    let mut alone = home.pump().arg("--standalone").silent();
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
    let _ = alone.try_send_bytes(format!("{call}\n").as_bytes());
    wait_for("the second server to say who owns the home", || {
        let received =
            alone.message(Duration::from_millis(20)).map(|message| message.to_string()).unwrap_or_default();
        format!("{received}{}", alone.stderr_text()).contains("daemon").then_some(())
    });
    assert_eq!(agent.search("daemon owns").len(), 1, "the first is not disturbed");
}

/// Settings that the engine reads only from the environment, such as the bound on messages before a client has signed in.
#[test]
fn a_daemon_that_a_person_runs_has_the_settings_of_others() {
    let home = Home::new();
    let mut command = home.command();
    let command = command.args(["daemon", "run"]).env("MALLOC_CONF", "narenas:2");
    let mut process = command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let pid = process.id().to_string();
    wait_for("the daemon", || home.run(&["daemon", "status"]).stdout.contains(&pid).then_some(()));
    let environment = fs::read_to_string(format!("/proc/{}/environ", process.id())).unwrap();
    for wanted in ["SURREAL_WEBSOCKET_MAX_MESSAGE_SIZE=1048576", "MALLOC_CONF=narenas:2"] {
        assert!(environment.split('\0').any(|set| set == wanted), "{wanted}: {environment}");
    }
    home.run(&["daemon", "stop"]).success();
    assert!(process.wait().unwrap().success());
}

#[test]
fn a_new_home_needs_no_folder_before_it() {
    let home = Home::at("not/yet/there");
    let mut agent = home.agent();
    agent.save("First", "In a home made on the way.");
    assert_eq!(mode(home.data()), 0o700);
}
