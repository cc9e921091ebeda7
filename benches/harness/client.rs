//! A temporary home, and an MCP client that talks to the real `cerebro mcp` over stdio.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde_json::{Value, json};

/// The program under measurement: the one built together with this one, or another (`CEREBRO`), so that two programs
/// can be measured in the same hour.
fn program() -> PathBuf {
    std::env::var_os("CEREBRO").map_or_else(|| env!("CARGO_BIN_EXE_cerebro").into(), PathBuf::from)
}

/// Longest wait for one answer: a first search may rebuild an index.
const ANSWER_WAIT: Duration = Duration::from_mins(2);
/// Longest wait for a client process to leave once its input is closed.
const LEAVE_WAIT: Duration = Duration::from_secs(5);
/// Longest wait for the worker to finish what the saves have queued.
const DRAIN_WAIT: Duration = Duration::from_hours(1);

/// Whether the process runs; one that only waits to be reaped does not (Linux).
fn is_running(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name in parentheses may hold anything; the state follows it.
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// A home of its own with a daemon of its own; removed when dropped.
pub struct Home {
    dir: tempfile::TempDir,
}

impl Home {
    /// Makes an empty home in the system's folder for temporary files (`TMPDIR`).
    pub fn new() -> Result<Self> {
        let dir = tempfile::Builder::new().prefix("cerebro-bench-").tempdir()?;
        Ok(Self { dir })
    }

    /// The folder that `HOME` names.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Lets the home have the model that `make model` set up.
    pub fn give_model(&self) -> Result<()> {
        let models = std::env::var_os("CEREBRO_MODEL_HOME").map(PathBuf::from);
        let models =
            models.context("CEREBRO_MODEL_HOME is not set: run this by its recipe of the Makefile")?;
        let data = self.path().join(".cerebro");
        std::fs::DirBuilder::new().mode(0o700).create(&data)?;
        for part in ["models", "runtime"] {
            std::os::unix::fs::symlink(models.join(part), data.join(part))
                .with_context(|| format!("link {part} of {}", models.display()))?;
        }
        Ok(())
    }

    /// Writes the settings.
    pub fn configure(&self, settings: &str) -> Result<()> {
        let data = self.path().join(".cerebro");
        std::fs::DirBuilder::new().mode(0o700).create(&data)?;
        Ok(fs::write(data.join("config.toml"), settings)?)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(program());
        command.env_clear().env("HOME", self.path()).current_dir(self.path()).stdin(Stdio::null());
        for name in ["PATH", "CEREBRO_LOG", "RUST_LOG"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command
    }

    /// The daemon's process id, or `None` when none runs.
    pub fn daemon_pid(&self) -> Result<Option<u32>> {
        let output = self.command().args(["daemon", "status", "--json"]).stderr(Stdio::null()).output()?;
        let status: Value = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
        let pid = status["pid"].as_u64().map(u32::try_from).transpose()?;
        Ok(pid.filter(|pid| is_running(*pid)))
    }

    /// Stops the daemon, if one runs, and waits until it is gone.
    pub fn stop(&self) -> Result<()> {
        let Some(pid) = self.daemon_pid()? else { return Ok(()) };
        let output = self.command().args(["daemon", "stop"]).output()?;
        ensure!(output.status.success(), "daemon stop: {}", String::from_utf8_lossy(&output.stderr).trim());
        let deadline = Instant::now() + Duration::from_secs(30);
        while is_running(pid) {
            ensure!(Instant::now() < deadline, "the daemon {pid} is still there 30 s after `daemon stop`");
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    /// Runs a command of the program that has no reason to fail.
    pub fn run(&self, args: &[&str]) -> Result<()> {
        let output = self.command().args(args).output()?;
        let words = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        ensure!(output.status.success(), "{}: {words}", args.join(" "));
        Ok(())
    }

    /// Runs a hook of Claude Code to its end; returns its answer and how long its process took, in milliseconds.
    pub fn hook(&self, event: &str, input: &Value) -> Result<(String, f64)> {
        let start = Instant::now();
        let mut command = self.command();
        command.args(["hook", "claude-code", event]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        child.stdin.take().context("the hook has no stdin")?.write_all(input.to_string().as_bytes())?;
        let output = child.wait_with_output()?;
        ensure!(output.status.success(), "the hook {event} failed");
        Ok((String::from_utf8(output.stdout)?, start.elapsed().as_secs_f64() * 1e3))
    }

    /// Starts a client and does the handshake.
    pub fn connect(&self) -> Result<Client> {
        let mut client = self.spawn()?;
        client.initialize()?;
        Ok(client)
    }

    /// Starts a client that works in a folder.
    pub fn connect_in(&self, folder: &Path) -> Result<Client> {
        let mut client = self.spawn_in(folder)?;
        client.initialize()?;
        Ok(client)
    }

    /// Starts a client and sends nothing yet.
    pub fn spawn(&self) -> Result<Client> {
        self.spawn_in(self.path())
    }

    fn spawn_in(&self, folder: &Path) -> Result<Client> {
        let mut child = self
            .command()
            .current_dir(folder)
            .arg("mcp")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .with_context(|| format!("start {} mcp", program().display()))?;
        let input = child.stdin.take().context("the client has no stdin")?;
        let output = child.stdout.take().context("the client has no stdout")?;
        // A thread of its own, so that an answer that never comes ends in an error.
        let (sender, lines) = sync_channel(64);
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines() {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Client { child, input: Some(input), lines, last_id: 0 })
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if let Err(error) = self.stop() {
            eprintln!("could not stop the daemon of {}: {error:#}", self.path().display());
        }
    }
}

/// The result of a tool call.
pub enum Reply {
    /// `structuredContent` of the result.
    Done(Value),
    /// The text of a result with `isError`.
    Refused(String),
}

/// One `cerebro mcp` process. Requests go one at a time.
pub struct Client {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<std::io::Result<String>>,
    last_id: u64,
}

impl Client {
    fn send(&mut self, message: &Value) -> Result<()> {
        let input = self.input.as_mut().context("the client is closed")?;
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        input.write_all(&line)?;
        Ok(input.flush()?)
    }

    /// Sends a request and waits for its result; notifications in between are skipped.
    pub fn request(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        let deadline = Instant::now() + ANSWER_WAIT;
        loop {
            let wait = deadline.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(wait).map_err(|e| anyhow!("{method}: no answer: {e}"))??;
            let mut message: Value = serde_json::from_str(&line).context("a line that is not JSON")?;
            if message["id"] != json!(id) {
                continue;
            }
            if let Some(error) = message.get("error") {
                bail!("{method}: {error}");
            }
            return Ok(message["result"].take());
        }
    }

    /// The handshake of the protocol's last stateful version.
    pub fn initialize(&mut self) -> Result<()> {
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "cerebro-bench", "version": "1" },
        });
        self.request("initialize", &params)?;
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))
    }

    /// Calls a tool and distinguishes a refusal from success.
    pub fn try_call(&mut self, tool: &str, arguments: &Value) -> Result<Reply> {
        let mut result = self.request("tools/call", &json!({ "name": tool, "arguments": arguments }))?;
        if result["isError"] == json!(true) {
            let text = result["content"][0]["text"].as_str().unwrap_or("no text");
            return Ok(Reply::Refused(text.to_owned()));
        }
        Ok(Reply::Done(result["structuredContent"].take()))
    }

    /// Calls a tool that has no reason to refuse.
    pub fn call(&mut self, tool: &str, arguments: &Value) -> Result<Value> {
        match self.try_call(tool, arguments)? {
            Reply::Done(value) => Ok(value),
            Reply::Refused(text) => bail!("{tool} refused: {text}"),
        }
    }

    /// Calls a tool; returns its result and how long it took, in milliseconds.
    pub fn timed(&mut self, tool: &str, arguments: &Value) -> Result<(Value, f64)> {
        let start = Instant::now();
        let value = self.call(tool, arguments)?;
        Ok((value, start.elapsed().as_secs_f64() * 1e3))
    }

    /// Waits until the worker has given every memory its vectors.
    pub fn drain(&mut self) -> Result<()> {
        let deadline = Instant::now() + DRAIN_WAIT;
        loop {
            let stats = self.call("mem_stats", &json!({}))?;
            let worker = &stats["worker"];
            let state = worker["state"].as_str().unwrap_or("unnamed");
            let queued = worker["queue_depth"].as_u64().unwrap_or(0);
            if state == "idle" && queued == 0 {
                return Ok(());
            }
            if Instant::now() > deadline {
                bail!(
                    "{queued} jobs are still queued after {} s; the worker is {state}",
                    DRAIN_WAIT.as_secs()
                );
            }
            eprintln!("waiting for the worker ({state}): {queued} queued");
            std::thread::sleep(Duration::from_secs(2));
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.input.take());
        let deadline = Instant::now() + LEAVE_WAIT;
        while Instant::now() < deadline {
            match self.child.try_wait() {
                Ok(None) => std::thread::sleep(Duration::from_millis(2)),
                Ok(Some(_)) | Err(_) => return,
            }
        }
        // It had its time, and a process that is left behind would be worse than a kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
