//! `cerebro mcp`: passes lines between an agent's stdio and the daemon.
//!
//! The pump runs as long as its client, across restarts of the daemon, because agents do not restart a stdio server
//! that ends. It does not interpret MCP. It holds just enough state ([`calls`]) to continue with a new daemon and to
//! leave no request unanswered.

mod calls;
mod line;
mod link;
mod long;
mod message;

use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use self::calls::{Calls, Fate, LinkEnd};
use self::line::{Line, LineReader, repair};
use self::link::{Dial, Link, ToDaemon, ToServed, Unreachable};
pub(crate) use self::message::refusal;
use self::message::{FromClient, FromDaemon, Key};
use crate::daemon::hello::{FAREWELL_METHOD, Hello, Role};
use crate::daemon::lock::{Lock, LockError, Use};
use crate::folders;
use crate::home::Home;
use crate::{
    daemon::{self, Control, Serve},
    platform,
};
use cerebro_core::domain::SessionId;
use cerebro_core::domain::limits::{LINE_BYTES_MAX, SOCKET_LINE_BYTES_MAX};
use cerebro_core::sync::lock;

/// How long the daemon may take to answer a call, or to read a line. The slowest known calls wait a minute for the
/// store to open or an index to be built, and another minute for a statement.
const CALL_MAX: Duration = Duration::from_secs(150);
/// How long the daemon may take to close its end of a link.
const LINK_CLOSE_MAX: Duration = Duration::from_secs(5);
/// How long calls under way may take after the client has closed its output.
const FINISH_MAX: Duration = Duration::from_secs(5);
/// How long a new daemon may take to answer the replayed handshake.
const REPLAY_MAX: Duration = Duration::from_secs(10);
/// Most links opened for one request before it is given up.
const LINKS_MAX: u32 = 3;

/// The pump's options from the command line.
#[derive(Debug, Clone, Default)]
pub struct PumpOptions {
    /// The project of all calls that name none (`--project`).
    pub project: Option<String>,
}

/// Why a pump did not run.
#[derive(Debug, thiserror::Error)]
pub enum PumpError {
    /// The home belongs to a daemon or another stand-alone server.
    #[error("cannot serve alone: {0}; leave out --standalone, or end the other process")]
    Lock(#[from] LockError),
    /// The system refuses what a pump needs.
    #[error("cannot watch for signals: {0}")]
    Signals(io::Error),
}

/// Passes lines between stdio and the home's daemon until the client closes either end or the process receives a
/// signal to end. Only protocol messages are written to stdout.
///
/// A read of stdin cannot be interrupted, so the caller must end with `Runtime::shutdown_background`: dropping the
/// runtime would wait for one more line. A daemon that cannot be reached is reported to the client.
pub async fn run(home: &Home, options: PumpOptions) -> Result<(), PumpError> {
    let dial = ToDaemon { home: home.clone(), hello: hello(options, home).await };
    let termination = platform::termination().map_err(PumpError::Signals)?;
    tokio::select! {
        () = pump(tokio::io::stdin(), tokio::io::stdout(), dial, CALL_MAX) => {}
        () = termination => {}
    }
    Ok(())
}

/// Like [`run`], but with the server in this process instead of the daemon. No other process can use this home. Fails
/// if the home has an owner already.
pub async fn run_standalone<S: Serve>(
    home: &Home,
    options: PumpOptions,
    make: impl FnOnce(Control) -> S,
) -> Result<(), PumpError> {
    let lock = Lock::take(home, Use::Standalone)?;
    let termination = platform::termination().map_err(PumpError::Signals)?;
    let control = daemon::control_of(home, &lock)?;
    let stop = control.stopping();
    let served = make(control.clone());
    let dial = ToServed { served: served.clone(), hello: hello(options, home).await };
    tokio::select! {
        () = pump(tokio::io::stdin(), tokio::io::stdout(), dial, CALL_MAX) => {}
        () = stop.cancelled() => {}
        () = termination => {}
    }
    daemon::close(&served, &control, lock).await;
    Ok(())
}

async fn hello(options: PumpOptions, home: &Home) -> Hello {
    let hello = Hello {
        project: options.project,
        minted_session: Some(SessionId::random().as_str().to_owned()),
        wants_receipts: true,
        ..Hello::of_this_process(Role::Agent)
    };
    folders::with_former_projects(hello.located().await, home).await
}

/// Passes lines until the client is gone. The pump itself answers calls that the daemon does not answer within
/// `patience`.
async fn pump<I, O, D>(input: I, output: O, dial: D, patience: Duration)
where
    I: AsyncRead + Unpin,
    O: AsyncWrite + Send + Unpin + 'static,
    D: Dial,
{
    let shared = Arc::new(Shared {
        calls: Mutex::default(),
        changed: Notify::new(),
        sent: Notify::new(),
        output: tokio::sync::Mutex::new(output),
        output_broken: CancellationToken::new(),
    });
    let broken = shared.output_broken.clone();
    let mut upstream = Upstream { shared: Arc::clone(&shared), dial, link: None, patience };
    tokio::select! {
        () = upstream.run(LineReader::new(input, LINE_BYTES_MAX)) => {}
        () = shared.answer_overdue(patience) => {}
        () = broken.cancelled() => {}
    }
}

/// The state that both directions share.
struct Shared<O> {
    calls: Mutex<Calls>,
    /// Signals that an answer has arrived, or the link is lost.
    changed: Notify,
    /// Signals that a request was sent.
    sent: Notify,
    output: tokio::sync::Mutex<O>,
    output_broken: CancellationToken,
}

impl<O: AsyncWrite + Unpin> Shared<O> {
    fn calls(&self) -> MutexGuard<'_, Calls> {
        lock(&self.calls)
    }

    /// Sends one message to the client.
    async fn answer(&self, line: Vec<u8>) {
        let mut output = self.output.lock().await;
        self.write(&mut output, line).await;
    }

    async fn answer_all(&self, lines: Vec<String>) {
        let mut output = self.output.lock().await;
        for line in lines {
            self.write(&mut output, line.into_bytes()).await;
        }
    }

    async fn write(&self, output: &mut O, line: Vec<u8>) {
        if write_line(output, line).await.is_err() {
            self.output_broken.cancel();
        }
    }

    /// Answers calls that are overdue, for as long as the pump runs.
    async fn answer_overdue(&self, patience: Duration) {
        loop {
            let due = self.calls().next_due(patience);
            match due {
                Some(due) => sleep_until(due).await,
                None => self.sent.notified().await,
            }
            let answers = self.calls().expire(Instant::now(), patience);
            if !answers.is_empty() {
                self.answer_all(answers).await;
                self.changed.notify_one();
            }
        }
    }

    /// Forwards the lines of one link to the client until the link is lost or given up.
    async fn forward_answers(
        &self,
        mut reader: LineReader<BufReader<Box<dyn AsyncRead + Send + Unpin>>>,
        given_up: CancellationToken,
    ) {
        let end = loop {
            let line = tokio::select! {
                line = reader.next() => line,
                () = given_up.cancelled() => break LinkEnd::GivenUp,
            };
            match line {
                Ok(Some(Line::Whole(line))) if is_farewell(&line) => break LinkEnd::Farewell,
                Ok(Some(Line::Whole(line))) => {
                    // Locked before the call counts as answered: the pump may end when all calls do.
                    let mut output = self.output.lock().await;
                    if self.calls().received(&line) == Fate::Forward {
                        self.write(&mut output, line).await;
                    }
                    drop(output);
                    self.changed.notify_one();
                }
                Ok(Some(Line::TooLong { length, .. })) => {
                    tracing::warn!(length, "closed the link: the daemon's answer is longer than any allowed");
                    break LinkEnd::GivenUp;
                }
                // The daemon closed its end, or it was killed and the kernel closed it.
                Ok(None) | Err(_) => break LinkEnd::Gone,
            }
        };
        let answers = self.calls().lost(end);
        self.answer_all(answers).await;
        self.changed.notify_one();
    }
}

async fn write_line(to: &mut (impl AsyncWrite + Unpin), mut line: Vec<u8>) -> io::Result<()> {
    line.push(b'\n');
    to.write_all(&line).await?;
    to.flush().await
}

fn is_farewell(line: &[u8]) -> bool {
    // Most lines are answers, so only short ones are parsed here.
    line.len() < 200 && FromDaemon::parse(line) == FromDaemon::Message { method: FAREWELL_METHOD.to_owned() }
}

/// An open link: its writing end, the task that reads from it, and the token that makes that task give up.
struct Open {
    writer: Box<dyn AsyncWrite + Send + Unpin>,
    down: JoinHandle<()>,
    given_up: CancellationToken,
}

/// The direction from the client to the daemon.
struct Upstream<O, D> {
    shared: Arc<Shared<O>>,
    dial: D,
    link: Option<Open>,
    /// How long the daemon may take to read a line.
    patience: Duration,
}

impl<O: AsyncWrite + Send + Unpin + 'static, D: Dial> Upstream<O, D> {
    /// Reads the client's lines to their end, then waits for the answers that are due.
    async fn run<I: AsyncRead + Unpin>(&mut self, mut input: LineReader<BufReader<I>>) {
        let mut deadline = None;
        loop {
            if self.shared.calls().needs_link() {
                self.flush().await;
            }
            let is_idle = self.shared.calls().is_idle();
            if let Some(deadline) = deadline.filter(|_| is_idle) {
                // The last answer may still be on its way out.
                let _ = timeout_at(deadline, self.shared.output.lock()).await;
                return;
            }
            let reads = deadline.is_none() && self.shared.calls().has_room();
            tokio::select! {
                line = input.next(), if reads => match line {
                    Ok(Some(line)) => self.take(line).await,
                    Ok(None) | Err(_) => deadline = Some(Instant::now() + FINISH_MAX),
                },
                () = self.shared.changed.notified() => {}
                () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => return,
            }
        }
    }

    /// Handles one line from the client.
    async fn take(&mut self, line: Line) {
        let line = match line {
            Line::Whole(line) => repair(line),
            Line::TooLong { length, id } => {
                let answer = message::too_long(&id, length, LINE_BYTES_MAX);
                return self.shared.answer(answer.into_bytes()).await;
            }
        };
        match FromClient::parse(&line) {
            FromClient::Invalid(answer) => self.shared.answer(answer.into_bytes()).await,
            FromClient::Request(key, request) => {
                let refused = self.shared.calls().add(key, request, line).err();
                match refused {
                    Some(answer) => self.shared.answer(answer.into_bytes()).await,
                    None => self.flush().await,
                }
            }
            FromClient::Notification { method, cancels } => {
                if method == "notifications/initialized" {
                    self.shared.calls().initialized(&line);
                }
                if let Some(key) = cancels {
                    self.shared.calls().cancel(&key);
                }
                self.send_along(line).await;
            }
            FromClient::Response => self.send_along(line).await,
        }
    }

    /// Sends a message that is not a request. It belongs to the current link and is dropped if there is none.
    async fn send_along(&mut self, line: Vec<u8>) {
        if self.shared.calls().is_linked() && !self.write(line).await {
            // Half a line may have been sent, and the next one would be read as its continuation.
            self.close().await;
        }
    }

    /// Sends all waiting requests, over a new link if there is none.
    async fn flush(&mut self) {
        let mut links = 0;
        while self.shared.calls().needs_link() {
            if !self.shared.calls().is_linked() {
                links += 1;
                let opened = if links > LINKS_MAX {
                    let words = "daemons in a row ended at once; see `cerebro daemon logs`";
                    Err(Unreachable::now(format!("{LINKS_MAX} {words}")))
                } else {
                    self.open().await
                };
                if let Err(failure) = opened {
                    let answers = self.shared.calls().unreachable(&failure.reason, failure.is_lasting);
                    return self.shared.answer_all(answers).await;
                }
            }
            self.send_waiting().await;
        }
    }

    async fn send_waiting(&mut self) {
        loop {
            let Some((key, line)) = self.shared.calls().send_next(Instant::now()) else { return };
            self.shared.sent.notify_one();
            if !self.write(line.clone()).await {
                self.shared.calls().unsent(&key, line);
                // The task that reads notices the lost link too, and cleans up.
                return self.close().await;
            }
        }
    }

    async fn write(&mut self, line: Vec<u8>) -> bool {
        let Some(open) = &mut self.link else { return false };
        matches!(timeout(self.patience, write_line(&mut open.writer, line)).await, Ok(Ok(())))
    }

    /// Closes the current link, and waits until its requests are settled. A daemon that does not close its end, for
    /// example because it is stopped (SIGSTOP), is not waited for.
    async fn close(&mut self) {
        if let Some(Open { writer, mut down, given_up }) = self.link.take() {
            drop(writer);
            if timeout(LINK_CLOSE_MAX.min(self.patience), &mut down).await.is_err() {
                given_up.cancel();
                let _ = down.await;
            }
        }
    }

    /// Opens a link and replays the handshake on it. If the daemon dies meanwhile, the requests keep waiting.
    async fn open(&mut self) -> Result<(), Unreachable> {
        self.close().await;
        let session = self.shared.calls().session();
        let Link { reader, mut writer, gives_receipts } = self.dial.dial(session).await?;
        let mut reader = LineReader::new(reader, SOCKET_LINE_BYTES_MAX).whole_lines();
        let replay = self.shared.calls().replay();
        if let Some((key, initialize, initialized)) = replay {
            let replayed = timeout(
                REPLAY_MAX,
                replay_handshake(&mut reader, &mut writer, &key, &initialize, initialized),
            );
            match replayed.await {
                Ok(Ok(())) => {}
                // The next attempt may succeed.
                Ok(Err(_)) => return Ok(()),
                Err(_) => {
                    let seconds = REPLAY_MAX.as_secs();
                    let reason = format!("it did not answer the handshake within {seconds} s");
                    return Err(Unreachable::now(reason));
                }
            }
        }
        self.shared.calls().linked(gives_receipts);
        let given_up = CancellationToken::new();
        let (shared, end) = (Arc::clone(&self.shared), given_up.clone());
        let down = tokio::spawn(async move { shared.forward_answers(reader, end).await });
        self.link = Some(Open { writer, down, given_up });
        Ok(())
    }
}

/// Replays the client's handshake on a new link. Drops the answer, because the client already has one.
async fn replay_handshake(
    reader: &mut LineReader<BufReader<Box<dyn AsyncRead + Send + Unpin>>>,
    writer: &mut (impl AsyncWrite + Unpin),
    key: &Key,
    initialize: &[u8],
    initialized: Option<Vec<u8>>,
) -> io::Result<()> {
    writer.write_all(&[initialize, b"\n"].concat()).await?;
    loop {
        let Some(line) = reader.next().await? else { return Err(io::ErrorKind::UnexpectedEof.into()) };
        let Line::Whole(line) = line else { continue };
        if matches!(FromDaemon::parse(&line), FromDaemon::Answer { key: answered, .. } if answered == *key) {
            break;
        }
    }
    if let Some(line) = initialized {
        writer.write_all(&[line.as_slice(), b"\n"].concat()).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tokio::io::{AsyncBufReadExt, DuplexStream, duplex, split};

    use super::*;

    const PATIENCE: Duration = Duration::from_millis(50);

    /// A daemon that answers nothing. Its input buffer holds `bytes`.
    struct Hung {
        bytes: usize,
        links: Vec<DuplexStream>,
    }

    impl Dial for Hung {
        async fn dial(&mut self, _: Option<String>) -> Result<Link, Unreachable> {
            let (near, far) = duplex(self.bytes);
            self.links.push(far);
            let (reader, writer) = split(near);
            Ok(Link { reader: Box::new(reader), writer: Box::new(writer), gives_receipts: true })
        }
    }

    /// A daemon that answers two calls at once.
    struct Both;

    impl Dial for Both {
        async fn dial(&mut self, _: Option<String>) -> Result<Link, Unreachable> {
            let (near, far) = duplex(64 * 1024);
            tokio::spawn(async move {
                let (reader, mut writer) = split(far);
                let mut calls = BufReader::new(reader).lines();
                for _ in 1..=2 {
                    calls.next_line().await.unwrap().unwrap();
                }
                let answer = |id| format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "result": {}}));
                writer.write_all([answer(1), answer(2)].concat().as_bytes()).await.unwrap();
                // It serves until the pump closes the link.
                calls.next_line().await.unwrap();
            });
            let (reader, writer) = split(near);
            Ok(Link { reader: Box::new(reader), writer: Box::new(writer), gives_receipts: true })
        }
    }

    #[tokio::test]
    async fn the_pump_does_not_end_before_the_last_answer_is_written() {
        let call = |id| {
            let params = json!({"name": "mem_stats", "arguments": {}});
            format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}))
        };
        let input = [call(1), call(2)].concat();
        // So narrow that an answer is written only while somebody reads.
        let (output, answers) = duplex(8);
        let is_over = std::cell::Cell::new(false);
        let pump = async {
            pump(input.as_bytes(), output, Both, CALL_MAX).await;
            is_over.set(true);
        };
        let read = async {
            let mut answers = BufReader::new(answers).lines();
            assert!(answers.next_line().await.unwrap().is_some_and(|line| line.contains(r#""id":1"#)));
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
            assert!(!is_over.get(), "it ended within an answer");
            assert!(answers.next_line().await.unwrap().is_some_and(|line| line.contains(r#""id":2"#)));
        };
        tokio::join!(pump, read);
    }

    #[tokio::test]
    async fn a_daemon_that_hangs_is_answered_for() {
        for bytes in [64 * 1024, 8] {
            let (mut agent, input) = duplex(64 * 1024);
            let (output, answers) = duplex(64 * 1024);
            let pump = tokio::spawn(pump(input, output, Hung { bytes, links: Vec::new() }, PATIENCE));
            let mut answers = BufReader::new(answers).lines();
            for id in 1..=2 {
                let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
                    "params": {"name": "mem_save", "arguments": {}}});
                agent.write_all(format!("{call}\n").as_bytes()).await.unwrap();
                let line = timeout(FINISH_MAX, answers.next_line()).await.unwrap().unwrap().unwrap();
                let answer: Value = serde_json::from_str(&line).unwrap();
                assert_eq!(
                    (&answer["id"], &answer["result"]["isError"]),
                    (&json!(id), &json!(true)),
                    "{line}"
                );
            }
            pump.abort();
        }
    }
}
