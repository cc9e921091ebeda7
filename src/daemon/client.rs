//! The client side of the socket: finds or starts the daemon, and calls its operations.

use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rmcp::model::{CallToolRequestParams, CallToolResult};
use rmcp::service::{RoleClient, RunningService, ServiceError, ServiceExt};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite, BufReader, Join};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::Child;

use super::hello::{self, HELLO_TIMEOUT, Hello, Reply, Verdict};
use super::lock::{self, Owner, Use};
use super::log::last_line;
use super::socket::{DialError, dial};
use super::spawn::{self, SpawnError};
use super::{CLOSE_MAX, DRAIN_MAX, WIND_DOWN};
use crate::answer::{self, Ask, Received, Unreadable};
use crate::home::Home;
use cerebro_core::code::Code;
use cerebro_core::operation::Operation;

/// How long a daemon may take from its start to its first answer.
const READY_MAX: Duration = Duration::from_secs(10);
/// How long an older daemon may take to end, and the next one to start.
const HANDOVER_MAX: Duration =
    DRAIN_MAX.saturating_add(CLOSE_MAX).saturating_add(WIND_DOWN).saturating_add(READY_MAX);
/// Most daemons that are started for one connection. More than one is needed if they end at once.
const STARTS_MAX: u32 = 3;
const PAUSE_FIRST: Duration = Duration::from_millis(5);
const PAUSE_MAX: Duration = Duration::from_millis(100);
/// How long the MCP handshake of a [`Client`] may take.
const HANDSHAKE_MAX: Duration = Duration::from_secs(10);

/// Whether to start a daemon when none answers. A client that may start one also asks an older one to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Autostart {
    Yes,
    No,
}

/// How long a starting daemon may take until it has the lock.
const LAUNCH_MAX: Duration = Duration::from_secs(2);

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// No daemon answers, and the caller does not want to start one.
    #[error("no daemon is running; `cerebro daemon start` starts it")]
    NotRunning,
    #[error("{0} uses this home alone; end it, or use the daemon instead")]
    Standalone(Owner),
    #[error(
        "the daemon (process {pid}) is cerebro {version} and this is {}: restart your agent, \
         or run `cerebro daemon stop`",
        super::VERSION
    )]
    OtherProtocol { pid: u32, version: String },
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// The settings are invalid, so no daemon can be started until somebody corrects them.
    #[error("no daemon can be started: {reason}")]
    Misconfigured { reason: String },
    #[error("the daemon ended right after its start: {}see {log}", last_log_line(.last_line))]
    Ended { log: PathBuf, last_line: String },
    #[error("{lock} is held by {holder}, which does not answer; end that process, or wait for it")]
    Held { lock: PathBuf, holder: String },
    /// The listener may belong to another user.
    #[error("{0}")]
    Untrusted(DialError),
    #[error("the daemon did not answer within {} s: {}see {log}", .waited.as_secs(), last_log_line(.last_line))]
    NotReady { waited: Duration, log: PathBuf, last_line: String },
}

impl ConnectError {
    /// Whether the failure lasts until somebody corrects its cause.
    pub fn is_lasting(&self) -> bool {
        matches!(self, Self::Misconfigured { .. } | Self::Untrusted(_))
    }
}

fn last_log_line(line: &str) -> String {
    if line.is_empty() { String::new() } else { format!("the last line of its log is \"{line}\"; ") }
}

/// A connection that the daemon serves. MCP messages may follow.
#[derive(Debug)]
pub struct Connection {
    /// The daemon's reply to the hello.
    pub daemon: Reply,
    /// From the daemon.
    pub reader: BufReader<OwnedReadHalf>,
    /// To the daemon.
    pub writer: OwnedWriteHalf,
}

/// Connects to the home's daemon. With [`Autostart::Yes`], starts one if none answers, and replaces an older one. If
/// many processes do this at once, all get the same daemon. Fails after 10 s at most, or after 55 s if an older daemon
/// has to end first.
pub async fn connect(home: &Home, hello: &Hello, autostart: Autostart) -> Result<Connection, ConnectError> {
    let hello = Hello { takes_over: autostart == Autostart::Yes, ..hello.clone() };
    let started = Instant::now();
    let mut patience = READY_MAX;
    let mut start = Start::default();
    let mut pause = PAUSE_FIRST;
    loop {
        match greet(home, &hello).await {
            Err(NoGreeting::Untrusted(error)) => return Err(ConnectError::Untrusted(error)),
            Ok((reader, writer, daemon)) => match daemon.verdict {
                Verdict::Served => return Ok(Connection { daemon, reader, writer }),
                Verdict::HandsOver => patience = HANDOVER_MAX,
                Verdict::Refused => {
                    return Err(ConnectError::OtherProtocol { pid: daemon.pid, version: daemon.version });
                }
            },
            Err(NoGreeting::Silent(error)) => {
                tracing::trace!(%error, "no daemon answers");
                match autostart {
                    Autostart::Yes => start.advance(home)?,
                    Autostart::No if lock::is_held(home) => {}
                    Autostart::No => return Err(ConnectError::NotRunning),
                }
            }
        }
        if started.elapsed() >= patience {
            if start.count == 0 && lock::is_held(home) {
                let holder = lock::owner(home).map(|owner| owner.to_string());
                let holder = holder.unwrap_or_else(|| "another process".to_owned());
                return Err(ConnectError::Held { lock: home.lock_file(), holder });
            }
            let (log, last_line) = (home.log_file(), last_line(home));
            return Err(ConnectError::NotReady { waited: started.elapsed(), log, last_line });
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

/// Why the daemon sent no greeting.
enum NoGreeting {
    /// No daemon answers at the moment.
    Silent(io::Error),
    /// The listener must not be trusted.
    Untrusted(DialError),
}

impl From<DialError> for NoGreeting {
    fn from(error: DialError) -> Self {
        match error {
            DialError::Silent { source, .. } => Self::Silent(source),
            other => Self::Untrusted(other),
        }
    }
}

impl From<io::Error> for NoGreeting {
    fn from(error: io::Error) -> Self {
        Self::Silent(error)
    }
}

/// One attempt to get the greeting of a running daemon.
async fn greet(
    home: &Home,
    hello: &Hello,
) -> Result<(BufReader<OwnedReadHalf>, OwnedWriteHalf, Reply), NoGreeting> {
    let (reader, mut writer) = dial(home).await?.into_split();
    let mut reader = BufReader::new(reader);
    hello::write(&mut writer, hello).await?;
    let reply = hello::read(&mut reader).await?;
    Ok((reader, writer, reply))
}

/// The daemons started for one connection.
#[derive(Default)]
struct Start {
    child: Option<Child>,
    count: u32,
    /// When the last one was started: it may not have the lock yet.
    launched: Option<Instant>,
}

impl Start {
    /// Starts a daemon unless one is starting or ending.
    fn advance(&mut self, home: &Home) -> Result<(), ConnectError> {
        if let Some(child) = &mut self.child {
            let Ok(Some(status)) = child.try_wait() else { return Ok(()) };
            self.child = None;
            if status.code() == Some(i32::from(spawn::MISCONFIGURED)) {
                let line = last_line(home);
                let reason = line.strip_prefix("error: ").unwrap_or(&line).to_owned();
                return Err(ConnectError::Misconfigured { reason });
            }
            if status.success() {
                self.launched = Some(Instant::now());
            }
        }
        if lock::is_held(home) {
            // A daemon that starts or ends has the lock but no socket, for a short time.
            return match lock::owner(home) {
                Some(owner) if owner.used_as != Use::Daemon => Err(ConnectError::Standalone(owner)),
                _ => Ok(()),
            };
        }
        if self.launched.is_some_and(|at| at.elapsed() < LAUNCH_MAX) {
            return Ok(());
        }
        self.launched = None;
        if self.count == STARTS_MAX {
            return Err(ConnectError::Ended { log: home.log_file(), last_line: last_line(home) });
        }
        self.child = Some(spawn::spawn(home)?);
        self.count += 1;
        Ok(())
    }
}

/// Why the daemon refused a call. The caller adds the hint.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    /// The kind of failure; `None` for one that this version does not know.
    pub code: Option<Code>,
    /// What happened.
    pub message: String,
    /// The values that it is about, under the names that [`Code`] lists; null if there are none.
    pub data: Value,
}

impl Refusal {
    /// A failure of which only the message is known.
    pub fn in_words(message: impl Into<String>) -> Self {
        Self { code: None, message: message.into(), data: Value::Null }
    }

    /// The argument that was refused, if one was.
    pub fn argument(&self) -> Option<BadArgument> {
        let word = |name: &str| self.data[name].as_str().map(str::to_owned);
        Some(BadArgument { name: word("argument")?, value: word("value"), problem: word("problem")? })
    }

    /// Reads the result of a failed call. An earlier daemon sends only a message.
    fn read(result: CallToolResult) -> Self {
        let structured = result.structured_content.unwrap_or(Value::Null);
        let texts = result.content.iter().filter_map(|block| block.as_text());
        let texts: Vec<_> = texts.map(|text| text.text.as_str()).collect();
        Self {
            code: structured["code"].as_str().and_then(Code::parse),
            message: texts.join("\n"),
            data: structured["data"].clone(),
        }
    }
}

/// An argument that the daemon refused. Each edge names it as a person knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadArgument {
    /// The daemon's name for it.
    pub name: String,
    value: Option<String>,
    problem: String,
}

impl BadArgument {
    /// What is wrong, under the name that a person knows; `None` if it has none.
    pub fn words(&self, name: Option<&str>) -> String {
        let value = self.value.as_ref().map(|value| format!("`{value}`"));
        let place: Vec<&str> = name.into_iter().chain(value.as_deref()).collect();
        let colon = if place.is_empty() { "" } else { ": " };
        format!("{}{colon}{}", place.join(" "), self.problem)
    }
}

/// Why a call has no result.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    #[error("{}", .0.message)]
    Refused(Refusal),
    /// The tool, or the protocol, does not know the request.
    #[error("the daemon refused the call: {message}")]
    Protocol { message: String },
    /// The daemon did not answer in time. It may have executed the call.
    #[error("the daemon did not answer within {} s; the same call may be repeated", .0.as_secs())]
    Timeout(Duration),
    /// The answer is not one of this operation.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    #[error("the daemon ended during the call; the same call may be repeated")]
    Gone,
}

/// A client for commands: one connection, on which it calls operations.
#[derive(Debug)]
pub struct Client {
    service: RunningService<RoleClient, ()>,
    timeout: Duration,
    daemon: Reply,
}

impl Client {
    /// Begins an MCP session on a connection; `timeout` bounds each call.
    pub async fn new(connection: Connection, timeout: Duration) -> Result<Self, CallError> {
        let Connection { daemon, reader, writer } = connection;
        let stream: Join<_, _> = tokio::io::join(reader, writer);
        Self::over(stream, daemon, timeout).await
    }

    /// The same on any stream, with `daemon` as the daemon's reply to the hello.
    pub async fn over<S>(stream: S, daemon: Reply, timeout: Duration) -> Result<Self, CallError>
    where
        S: AsyncRead + AsyncWrite + Send + 'static,
    {
        let service = tokio::time::timeout(HANDSHAKE_MAX, ().serve(stream))
            .await
            .map_err(|_| CallError::Timeout(HANDSHAKE_MAX))?
            .map_err(|error| CallError::Protocol { message: error.to_string() })?;
        Ok(Self { service, timeout, daemon })
    }

    /// The daemon's reply to the hello.
    pub fn daemon(&self) -> &Reply {
        &self.daemon
    }

    /// Calls an operation and returns its structured result; `arguments` is an object or null.
    pub async fn call(&self, operation: Operation, arguments: Value) -> Result<Value, CallError> {
        let params = match arguments {
            Value::Null => CallToolRequestParams::new(operation.name()),
            Value::Object(map) => CallToolRequestParams::new(operation.name()).with_arguments(map),
            other => {
                return Err(CallError::Protocol {
                    message: format!("the arguments are not an object: {other}"),
                });
            }
        };
        let result = tokio::time::timeout(self.timeout, self.service.call_tool(params))
            .await
            .map_err(|_| CallError::Timeout(self.timeout))?
            .map_err(|error| match error {
                ServiceError::McpError(error) => CallError::Protocol { message: error.message.into_owned() },
                ServiceError::TransportClosed | ServiceError::TransportSend(_) => CallError::Gone,
                other => CallError::Protocol { message: other.to_string() },
            })?;
        if result.is_error == Some(true) {
            return Err(CallError::Refused(Refusal::read(result)));
        }
        Ok(result.structured_content.unwrap_or(Value::Null))
    }

    /// Calls an operation and reads its answer.
    pub async fn ask<O: Ask>(&self, _: O, arguments: Value) -> Result<Received<O::Answer>, CallError> {
        Ok(answer::received::<O>(self.call(O::OPERATION, arguments).await?)?)
    }

    /// Closes the connection properly.
    pub async fn close(self) {
        let _ = tokio::time::timeout(HELLO_TIMEOUT, self.service.cancel()).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(home: &Home, pid: u32) {
        let owner = serde_json::json!({"pid": pid, "version": "0", "use": "restore"});
        std::fs::write(home.lock_file(), owner.to_string()).unwrap();
    }

    #[test]
    fn only_the_living_have_a_home_for_themselves() {
        let temp = tempfile::tempdir().unwrap();
        let home = Home::open(Some(&temp.path().join("h"))).unwrap();
        // An owner that has not written its record yet, as a daemon does just after taking the lock.
        let lock = std::fs::File::create(home.lock_file()).unwrap();
        lock.lock().unwrap();
        record(&home, u32::MAX);
        Start::default().advance(&home).unwrap();
        record(&home, std::process::id());
        let refused = Start::default().advance(&home).unwrap_err();
        assert!(matches!(refused, ConnectError::Standalone(_)), "{refused}");
    }
}
