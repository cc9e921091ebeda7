//! A temporary data folder with its daemon.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::io::Read;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::{Agent, DEADLINE, POLL_EVERY, PROGRAM, Pump, Value};

/// Every file and folder below a folder, with its mode and content.
pub fn tree(folder: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let mut found = BTreeMap::new();
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let data = if path.is_dir() {
            found.extend(tree(&path));
            Vec::new()
        } else {
            fs::read(&path).unwrap()
        };
        let mode = fs::symlink_metadata(&path).unwrap().permissions().mode();
        found.insert(path, (mode, data));
    }
    found
}

/// Writes a file below a folder, with the folders on the way. Returns its path.
pub fn write(folder: &Path, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

/// A data folder, a `$HOME` and a work folder of their own; what runs on them ends with it.
pub struct Home {
    root: TempDir,
    data: PathBuf,
}

/// A process that has ended.
#[derive(Debug)]
pub struct Finished {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Finished {
    /// The exit code; a signal counts as failure of the test.
    pub fn code(&self) -> i32 {
        self.status.code().unwrap_or_else(|| panic!("ended by signal {:?}: {self:?}", self.status.signal()))
    }

    /// Standard output of a process that must have succeeded.
    pub fn success(self) -> String {
        assert!(self.status.success(), "failed: {self:?}");
        self.stdout
    }

    /// Standard output of a process that must have succeeded, read as JSON.
    pub fn json(self) -> Value {
        let text = self.success();
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("not JSON ({e}): {text}"))
    }
}

/// Runs a command to its end, within [`DEADLINE`].
pub fn finish(command: &mut Command) -> Finished {
    finish_within(command, DEADLINE)
}

fn finish_within(command: &mut Command, deadline: Duration) -> Finished {
    let what = format!("{command:?}");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|e| panic!("cannot start {what}: {e}"));
    let stdout = drain(child.stdout.take().unwrap());
    let stderr = drain(child.stderr.take().unwrap());
    let status = wait(&mut child, deadline).unwrap_or_else(|| {
        let _ = child.kill();
        panic!("not finished within {deadline:?}: {what}")
    });
    let text = |end: std::sync::mpsc::Receiver<Vec<u8>>, name: &str| {
        let bytes = end
            .recv_timeout(deadline)
            .unwrap_or_else(|_| panic!("{what} ended but something it started still holds its {name}"));
        String::from_utf8_lossy(&bytes).into_owned()
    };
    Finished { status, stdout: text(stdout, "stdout"), stderr: text(stderr, "stderr") }
}

fn drain(mut from: impl Read + Send + 'static) -> std::sync::mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = from.read_to_end(&mut bytes);
        let _ = sender.send(bytes);
    });
    receiver
}

fn wait(child: &mut Child, deadline: Duration) -> Option<ExitStatus> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status);
        }
        if start.elapsed() > deadline {
            return None;
        }
        std::thread::sleep(POLL_EVERY);
    }
}

impl Home {
    /// An empty home.
    pub fn new() -> Self {
        let root = tempfile::Builder::new().prefix("cerebro-it-").tempdir().unwrap();
        let data = root.path().join("data");
        Self::over(root, data)
    }

    /// A home whose `config.toml` says `config`.
    pub fn with_config(config: &str) -> Self {
        let home = Self::new();
        DirBuilder::new().mode(0o700).create(home.data()).unwrap();
        fs::write(home.data().join("config.toml"), config).unwrap();
        home
    }

    /// A home whose data folder is at `below` the temporary folder.
    pub fn at(below: &str) -> Self {
        let root = tempfile::Builder::new().prefix("cerebro-it-").tempdir().unwrap();
        let data = root.path().join(below);
        Self::over(root, data)
    }

    fn over(root: TempDir, data: PathBuf) -> Self {
        for folder in ["user", "work"] {
            fs::create_dir(root.path().join(folder)).unwrap();
        }
        Self { root, data }
    }

    /// The data folder, given as `--home`.
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// What the processes have as `$HOME`.
    pub fn user(&self) -> PathBuf {
        self.root.path().join("user")
    }

    /// Writes a file of the user, below `$HOME`. Returns its path.
    pub fn write(&self, file: &str, text: &str) -> PathBuf {
        write(&self.user(), file, text)
    }

    /// The working folder of processes: outside any repository.
    pub fn work(&self) -> PathBuf {
        self.root.path().join("work")
    }

    /// A new folder beside the others.
    pub fn folder(&self, name: &str) -> PathBuf {
        let path = self.root.path().join(name);
        fs::create_dir_all(&path).unwrap();
        path
    }

    /// The program on this home, with an environment of only `HOME` and `PATH`.
    pub fn command(&self) -> Command {
        let mut command = self.bare_command();
        command.arg("--home").arg(&self.data);
        command
    }

    /// As [`Self::command`], but without `--home`.
    pub fn bare_command(&self) -> Command {
        let mut command = Command::new(PROGRAM);
        command
            .env_clear()
            .env("HOME", self.user())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .current_dir(self.work());
        command
    }

    /// Starts the daemon of a home that has none. The permissions of files hold for it, even if root runs the test.
    pub fn start_restrained(&self) {
        let mut command = self.command();
        command.args(["daemon", "start"]);
        if rustix::process::getuid().is_root() {
            let mut as_others = Command::new("setpriv");
            as_others.arg("--bounding-set=-dac_override,-dac_read_search").arg(PROGRAM);
            as_others.args(command.get_args()).env_clear().current_dir(self.work());
            as_others.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
            command = as_others;
        }
        finish(&mut command).success();
    }

    /// Runs one command of the program to its end.
    pub fn run(&self, args: &[&str]) -> Finished {
        finish(self.command().args(args))
    }

    /// Runs one command with `--json` that must succeed.
    pub fn json(&self, args: &[&str]) -> Value {
        finish(self.command().args(args).arg("--json")).json()
    }

    /// Saves a memory of project `demo` by the command line. Returns its id.
    pub fn save(&self, title: &str, content: &str) -> String {
        let saved = self.json(&["save", title, content, "--project", "demo"]);
        saved["id"].as_str().unwrap_or_else(|| panic!("no id in {saved}")).to_owned()
    }

    /// How to start an agent here.
    pub fn pump(&self) -> Pump {
        Pump::new(self.command())
    }

    /// An agent of the older era on project `demo`.
    pub fn agent(&self) -> Agent {
        self.pump().project("demo").start()
    }

    /// The lines of a full export, as JSON.
    pub fn export(&self) -> Vec<Value> {
        let text = self.export_text();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("not JSON ({e}): {line}")))
            .collect()
    }

    /// A full export as it is written.
    pub fn export_text(&self) -> String {
        self.run(&["export"]).success()
    }

    /// The whole event log, in any order.
    pub fn events(&self) -> Vec<Value> {
        match self.json(&["events"]) {
            Value::Array(events) => events,
            answer => answer["events"].as_array().cloned().unwrap_or_else(|| panic!("no events in {answer}")),
        }
    }

    /// The daemon's process id, as the daemon reports it.
    pub fn daemon_pid(&self) -> u32 {
        let status = self.json(&["daemon", "status"]);
        let pid = status["pid"].as_u64().unwrap_or_else(|| panic!("no pid in {status}"));
        u32::try_from(pid).unwrap()
    }

    /// The processes that serve this home, by `/proc`: the program's own, and those that stay with a client.
    pub fn daemons(&self) -> Vec<u32> {
        let client = |pid: &u32| {
            arguments(*pid)
                .iter()
                .any(|a| ["mcp", "studio", "serve", "web", "hook", "consolidate"].contains(&a.as_str()))
        };
        self.processes().into_iter().filter(|pid| !client(pid)).collect()
    }

    /// Every process of the program that works on this home, by `/proc`.
    pub fn processes(&self) -> Vec<u32> {
        let program = fs::canonicalize(PROGRAM).unwrap();
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        pids.filter(|pid| fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == program))
            .filter(|pid| !is_zombie(*pid))
            .filter(|pid| self.is_named_by(*pid) || self.is_open_in(*pid))
            .collect()
    }

    fn is_named_by(&self, pid: u32) -> bool {
        let root = self.root.path().to_string_lossy().into_owned();
        arguments(pid).iter().any(|argument| argument.contains(&root))
    }

    fn is_open_in(&self, pid: u32) -> bool {
        let Ok(entries) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
        entries
            .flatten()
            .filter_map(|entry| fs::read_link(entry.path()).ok())
            .any(|target| target.starts_with(self.root.path()))
    }

    /// `kill -9` of the daemon, and waits until it is gone.
    pub fn kill_daemon(&self) {
        let pids = self.daemons();
        assert!(!pids.is_empty(), "there is no daemon to kill");
        for pid in &pids {
            kill(*pid);
        }
        super::wait_for("the killed daemon to be gone", || {
            pids.iter().all(|pid| !is_running(*pid)).then_some(())
        });
    }

    /// The end of the daemon's log, for messages.
    pub fn log_tail(&self) -> String {
        let log = fs::read(self.data.join("daemon.log")).unwrap_or_default();
        let from = log.len().saturating_sub(2_000);
        String::from_utf8_lossy(&log[from..]).into_owned()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        self.end();
    }
}

impl Home {
    /// Ends whatever runs on this home.
    pub fn end(&self) {
        // A pump may be starting a daemon at this moment, so look again after killing.
        for _ in 0..50 {
            let left = self.processes();
            if left.is_empty() {
                return;
            }
            left.into_iter().for_each(kill);
            std::thread::sleep(POLL_EVERY);
        }
    }
}

/// `kill -9`; one that is gone is fine.
pub fn kill(pid: u32) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, Signal::KILL);
    }
}

fn is_running(pid: u32) -> bool {
    // The first thread of a killed process may be gone while others still hold its locks and sockets.
    let threads = fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count);
    threads > 1 || (threads == 1 && !is_zombie(pid))
}

fn is_zombie(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z'))
}

fn arguments(pid: u32) -> Vec<String> {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.split(|b| *b == 0).map(|part| String::from_utf8_lossy(part).into_owned()).collect()
}
