//! A client of `cerebro mcp` over stdio, of either era of the protocol.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::{DEADLINE, Reply, Value, json};

/// How to start an agent.
pub struct Pump {
    command: Command,
    client: String,
    version: Option<&'static str>,
}

impl Pump {
    /// An agent that runs `program`, which already names the home.
    pub fn new(mut program: Command) -> Self {
        program.arg("mcp");
        Self { command: program, client: "test-agent".to_owned(), version: Some("2025-11-25") }
    }

    /// Gives the connection its project.
    pub fn project(self, name: &str) -> Self {
        self.arg("--project").arg(name)
    }

    /// Adds an argument of `cerebro mcp`.
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    /// Starts it in this folder.
    pub fn cwd(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// Adds a variable to the environment.
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// What the client calls itself.
    pub fn client(mut self, name: &str) -> Self {
        self.client = name.to_owned();
        self
    }

    /// The version asked for in `initialize`.
    pub fn version(mut self, version: &'static str) -> Self {
        self.version = Some(version);
        self
    }

    /// Speaks 2026-07-28: `server/discover` and `_meta` in every request, no `initialize`.
    pub fn modern(mut self) -> Self {
        self.version = None;
        self
    }

    /// Starts the process and sends nothing yet.
    pub fn silent(mut self) -> Agent {
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child =
            self.command.spawn().unwrap_or_else(|e| panic!("cannot start {:?}: {e}", self.command));
        let stdout = child.stdout.take().unwrap();
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let stderr = Arc::new(Mutex::new(String::new()));
        collect(child.stderr.take().unwrap(), Arc::clone(&stderr));
        Agent {
            stdin: child.stdin.take(),
            child,
            lines,
            stderr,
            next_id: 1,
            early: HashMap::new(),
            asked: HashMap::new(),
            modern: self.version.is_none(),
            client: self.client,
            greeting: Value::Null,
        }
    }

    /// Starts the process and does the handshake.
    pub fn start(self) -> Agent {
        let version = self.version;
        let mut agent = self.silent();
        agent.greeting = match version {
            Some(version) => agent.initialize(version),
            None => agent.request("server/discover", json!({})).unwrap_or_else(|e| panic!("discover: {e:?}")),
        };
        agent
    }
}

fn collect(mut from: impl Read + Send + 'static, into: Arc<Mutex<String>>) {
    std::thread::spawn(move || {
        let mut piece = [0_u8; 4_096];
        while let Ok(n @ 1..) = from.read(&mut piece) {
            into.lock().unwrap().push_str(&String::from_utf8_lossy(&piece[..n]));
        }
    });
}

/// An error of the protocol, as opposed to one of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct RpcError {
    pub code: i64,
    pub message: String,
}

/// A running `cerebro mcp` and the client's end of it. Dropping it makes the client vanish.
pub struct Agent {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    stderr: Arc<Mutex<String>>,
    next_id: u64,
    early: HashMap<u64, Value>,
    /// The request of each id, for messages.
    asked: HashMap<u64, String>,
    modern: bool,
    client: String,
    /// The result of `initialize` or `server/discover`.
    pub greeting: Value,
}

impl Agent {
    /// Sends `initialize` and `notifications/initialized`; returns the result of the first.
    pub fn initialize(&mut self, version: &str) -> Value {
        let client = json!({"name": self.client, "version": "1.0"});
        let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": client});
        let result = self.request("initialize", params).unwrap_or_else(|e| panic!("initialize: {e:?}"));
        self.send_raw(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
        result
    }

    /// Calls a tool, which may succeed or fail.
    #[track_caller]
    pub fn call(&mut self, tool: &str, arguments: Value) -> Reply {
        let id = self.send(tool, arguments);
        self.reply(id)
    }

    /// Calls a tool that must succeed.
    #[track_caller]
    pub fn ok(&mut self, tool: &str, arguments: Value) -> Reply {
        let shown: String = arguments.to_string().chars().take(500).collect();
        let reply = self.call(tool, arguments);
        assert!(!reply.is_error, "{tool} {shown} failed: {reply:?}");
        assert!(reply.structured.is_object(), "{tool} {shown} has no structured half: {reply:?}");
        reply
    }

    /// Calls a tool that must fail with an error that the agent can correct; returns the text.
    #[track_caller]
    pub fn refused(&mut self, tool: &str, arguments: Value) -> String {
        let shown: String = arguments.to_string().chars().take(500).collect();
        let reply = self.call(tool, arguments);
        assert!(reply.is_error, "{tool} {shown} should have been refused: {reply:?}");
        assert!(!reply.text.trim().is_empty(), "{tool} {shown} was refused without a word: {reply:?}");
        reply.text
    }

    /// Saves a memory; returns its id.
    #[track_caller]
    pub fn save(&mut self, title: &str, content: &str) -> String {
        self.ok("mem_save", json!({"title": title, "content": content})).str("id").to_owned()
    }

    /// The ids that a search finds, best first.
    #[track_caller]
    pub fn search(&mut self, query: &str) -> Vec<String> {
        self.ok("mem_search", json!({"query": query})).ids("hits")
    }

    /// The whole memory.
    #[track_caller]
    pub fn get(&mut self, id: &str) -> Reply {
        self.ok("mem_get_observation", json!({"id": id}))
    }

    /// Sends a tool call without waiting; returns its request id.
    pub fn send(&mut self, tool: &str, arguments: Value) -> u64 {
        self.send_with_meta(tool, arguments, Value::Null)
    }

    /// As [`Self::send`], with further entries of `_meta`.
    pub fn send_with_meta(&mut self, tool: &str, arguments: Value, meta: Value) -> u64 {
        let mut params = json!({"name": tool, "arguments": arguments});
        if !meta.is_null() {
            params["_meta"] = meta;
        }
        self.send_request("tools/call", params)
    }

    /// Calls a tool with further entries of `_meta`; it must succeed.
    #[track_caller]
    pub fn ok_with_meta(&mut self, tool: &str, arguments: Value, meta: Value) -> Reply {
        let id = self.send_with_meta(tool, arguments, meta);
        let reply = self.reply(id);
        assert!(!reply.is_error, "{tool} failed: {reply:?}");
        reply
    }

    /// The reply to a call sent before.
    #[track_caller]
    pub fn reply(&mut self, id: u64) -> Reply {
        match self.answer(id) {
            Ok(result) => Reply::read(&result),
            Err(error) => panic!("protocol error {error:?} for {}", self.asked[&id]),
        }
    }

    /// Sends a request and waits for its answer.
    #[track_caller]
    pub fn request(&mut self, method: &str, params: Value) -> Result<Value, RpcError> {
        let id = self.send_request(method, params);
        self.answer(id)
    }

    /// Sends a request; returns its id.
    pub fn send_request(&mut self, method: &str, mut params: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        if self.modern {
            const PREFIX: &str = "io.modelcontextprotocol/";
            params["_meta"][format!("{PREFIX}protocolVersion")] = json!("2026-07-28");
            params["_meta"][format!("{PREFIX}clientCapabilities")] = json!({});
            params["_meta"][format!("{PREFIX}clientInfo")] = json!({"name": self.client, "version": "1.0"});
        }
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string();
        self.asked.insert(id, request.chars().take(300).collect());
        self.send_raw(&request);
        id
    }

    /// Sends one line as it is.
    #[track_caller]
    pub fn send_raw(&mut self, line: &str) {
        self.try_send_bytes(format!("{line}\n").as_bytes())
            .unwrap_or_else(|e| panic!("cannot write to the pump: {e}; {}", self.stderr_text()));
    }

    /// Sends bytes as they are, without a line end.
    pub fn try_send_bytes(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        let stdin = self.stdin.as_mut().ok_or(std::io::ErrorKind::BrokenPipe)?;
        stdin.write_all(bytes)?;
        stdin.flush()
    }

    /// The answer to a request sent before, within [`DEADLINE`].
    #[track_caller]
    pub fn answer(&mut self, id: u64) -> Result<Value, RpcError> {
        self.answer_within(id, DEADLINE)
    }

    /// The answer to a request sent before.
    #[track_caller]
    pub fn answer_within(&mut self, id: u64, deadline: Duration) -> Result<Value, RpcError> {
        let start = Instant::now();
        loop {
            if let Some(message) = self.early.remove(&id) {
                return outcome(&message);
            }
            let left = deadline.saturating_sub(start.elapsed());
            let message = match self.message(left) {
                Ok(message) => message,
                Err(why) => {
                    let asked = self.asked.get(&id).map_or("a raw line", String::as_str);
                    panic!("no answer within {deadline:?} ({why}) to {asked}; {}", self.stderr_text())
                }
            };
            if let Some(answered) = message["id"].as_u64()
                && message.get("method").is_none()
            {
                self.early.insert(answered, message);
            }
        }
    }

    /// The next message of any kind; an error says why there is none.
    pub fn message(&mut self, deadline: Duration) -> Result<Value, String> {
        match self.lines.recv_timeout(deadline) {
            Ok(line) => Ok(serde_json::from_str(&line)
                .unwrap_or_else(|e| panic!("stdout is not JSON-RPC ({e}): {line}"))),
            Err(RecvTimeoutError::Timeout) => Err("silence".to_owned()),
            Err(RecvTimeoutError::Disconnected) => Err("the pump closed its output".to_owned()),
        }
    }

    /// Closes the client's end and waits for the pump to end; returns whether it succeeded.
    #[track_caller]
    pub fn hang_up(mut self) -> bool {
        drop(self.stdin.take());
        let status =
            super::wait_for("the pump to leave after its input ended", || self.child.try_wait().unwrap());
        status.success()
    }

    /// Closes the client's end and keeps reading.
    pub fn close_input(&mut self) {
        drop(self.stdin.take());
    }

    /// Whether the pump still runs.
    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// What the pump printed on standard error.
    pub fn stderr_text(&self) -> String {
        format!("stderr of the pump: {:?}", self.stderr.lock().unwrap())
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn outcome(message: &Value) -> Result<Value, RpcError> {
    match message.get("error") {
        None => Ok(message["result"].clone()),
        Some(error) => Err(RpcError {
            code: error["code"].as_i64().unwrap_or_default(),
            message: error["message"].as_str().unwrap_or_default().to_owned(),
        }),
    }
}
