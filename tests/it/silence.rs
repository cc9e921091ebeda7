//! Nothing leaves the machine: with a local model, the program opens no internet socket and writes nothing outside its
//! home.

use std::fs;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::support::{Home, Running, Watch, finish, internet_sockets, model_files, wait_for};

/// The folders in which desktop programs are supposed to write (XDG).
const XDG: [&str; 5] =
    ["XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"];

/// Everything below a folder.
fn all_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        found.push(entry.path());
        if entry.file_type().unwrap().is_dir() {
            found.extend(all_below(&entry.path()));
        }
    }
    found
}

/// Installs the real model, saves, embeds and searches; `HOME` is empty, and so are the folders of [`XDG`] if they
/// are named.
fn assert_nothing_is_left_behind(with_xdg: bool) {
    let home = Arc::new(Home::new());
    let xdg = home.folder("xdg");
    let from = model_files(&home);
    let run = |args: &[&str]| {
        let mut command = home.command();
        if with_xdg {
            command.envs(XDG.map(|name| (name, &xdg)));
        }
        finish(command.args(args)).success()
    };
    let watch = Watch::begin(&home);
    run(&["model", "install", "mine", "--from", from.to_str().unwrap()]);
    run(&["model", "test"]);
    run(&["save", "Session", "Users cannot sign in: their session is no longer valid.", "--project", "demo"]);
    run(&["worker", "status", "--wait"]);
    // Found by meaning alone, so the daemon runs the model. The first question may be too early for it.
    let ask = ["search", "why does the login fail", "--project", "demo", "--explain", "--json"];
    wait_for("a hit by meaning", || run(&ask).contains("\"meaning\"").then_some(()));
    let seen = watch.end();
    assert!(seen.is_empty(), "sockets of the internet were open: {seen:?}");
    for folder in [home.user(), xdg.clone()] {
        assert_eq!(all_below(&folder), Vec::<PathBuf>::new(), "outside of the home");
    }
}

#[test]
fn a_model_of_this_machine_leaves_nothing_below_the_users_folder() {
    assert_nothing_is_left_behind(false);
}

#[test]
fn a_model_leaves_nothing_in_the_xdg_folders() {
    assert_nothing_is_left_behind(true);
}

#[test]
fn the_watch_detects_an_open_socket() {
    let own = std::process::id();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = socket.local_addr().unwrap().port();
    let mark = format!("udp 0100007F:{port:04X} ");
    assert!(internet_sockets(own).iter().any(|seen| seen.starts_with(&mark)), "{mark}");
    drop(socket);
    assert!(!internet_sockets(own).iter().any(|seen| seen.starts_with(&mark)), "{mark}");
}

/// A variable of a process's environment, as the process began with it.
fn variable(pid: u32, name: &str) -> Option<String> {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap();
    let lines = environment.split(|byte| *byte == 0).map(|line| String::from_utf8_lossy(line).into_owned());
    lines.filter_map(|line| Some(line.strip_prefix(&format!("{name}="))?.to_owned())).next()
}

#[test]
fn however_a_daemon_is_started_onnx_runtime_is_kept_from_reporting() {
    const NAME: &str = "ORT_DISABLE_TELEMETRY";
    let home = Home::new();
    finish(home.command().args(["daemon", "start"])).success();
    assert_eq!(variable(home.daemon_pid(), NAME).as_deref(), Some("1"));
    finish(home.command().args(["daemon", "stop"])).success();
    // Started by hand, with a value that would permit reporting.
    for value in [None, Some("0")] {
        let mut command = home.command();
        command.args(["daemon", "run"]).envs(value.map(|value| (NAME, value)));
        let daemon = Running::silent(&mut command);
        let pid = daemon.id();
        wait_for("the daemon to serve", || {
            finish(home.command().args(["daemon", "status"])).status.success().then_some(())
        });
        assert_eq!(variable(pid, NAME).as_deref(), Some("1"), "{value:?}");
        // The user's own variables for memory and speed stay.
        assert_eq!(variable(pid, "SURREAL_KVS_THREADPOOL_SIZE").as_deref(), Some("4"));
        finish(home.command().args(["daemon", "stop"])).success();
    }
}
