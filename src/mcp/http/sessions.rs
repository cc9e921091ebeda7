//! The sessions of clients over HTTP. Each is one connection of the daemon over an in-memory pipe, served like an
//! agent on the socket; a request without a session gets a connection of its own.
//!
//! Requests without a session from one client on one project share a session of work until it has been idle for
//! [`DISCONNECT_GRACE`]. To use another one, a request must name it.

use std::{
    collections::HashMap,
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::Value;
use tokio::{
    io::{
        AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf, duplex, split,
    },
    sync::oneshot,
};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::message::{Message, answered};
use crate::{daemon::hello::Hello, mcp::context::Context};
use cerebro_core::domain::{
    Project, SessionId,
    limits::{CALLS_IN_FLIGHT_MAX, DISCONNECT_GRACE},
};
use cerebro_core::redact::RedactedText;
use cerebro_core::sync::lock;
use cerebro_service::agent_name;
use cerebro_store::secret;

/// Most sessions at once.
const SESSIONS_MAX: usize = 1_024;
/// Most clients without a session for which a session of work is recorded.
const RUNS_MAX: usize = 256;
/// Size of a pipe in each direction, in bytes.
const PIPE_BYTES: usize = 64 * 1024;
/// How often a session checks whether it is still used.
const LOOK_EVERY: Duration = Duration::from_secs(15);

/// The client's end of a connection to the daemon.
pub(super) struct Pipe {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: WriteHalf<DuplexStream>,
}

impl Pipe {
    fn open(context: &Context, hello: Hello) -> Self {
        let (near, far) = duplex(PIPE_BYTES);
        tokio::spawn(context.serve(hello, far));
        let (reader, writer) = split(near);
        Self { lines: BufReader::new(reader).lines(), writer }
    }

    pub(super) async fn send(&mut self, message: &Message) -> io::Result<()> {
        self.writer.write_all(message.line().as_bytes()).await
    }

    /// The next message from the other side; `None` when it is gone.
    pub(super) async fn next(&mut self) -> Option<Value> {
        let line = self.lines.next_line().await.ok()??;
        serde_json::from_str(&line).ok()
    }
}

/// One session of the protocol.
pub(super) struct Session {
    writer: Arc<tokio::sync::Mutex<WriteHalf<DuplexStream>>>,
    /// Requests under way, by their number.
    waiting: Mutex<HashMap<u64, Waiting>>,
    /// The number of the next request.
    next: AtomicU64,
    used: Mutex<Instant>,
    _end: DropGuard,
}

/// A request under way. For the daemon it gets a number as its id, which is never reused. The client may reuse its own
/// id after it has given up waiting, and must not get the late answer to the old request.
struct Waiting {
    /// The client's id.
    id: Value,
    answer: oneshot::Sender<Value>,
}

/// Why a request has no answer.
#[derive(Debug)]
pub(super) enum Unanswered {
    /// Another request with its id is under way.
    SameId,
    /// Too many requests are under way.
    Full,
    /// The session has ended.
    Gone,
}

impl Session {
    fn new(writer: WriteHalf<DuplexStream>, end: DropGuard) -> Self {
        Self {
            writer: Arc::new(tokio::sync::Mutex::new(writer)),
            waiting: Mutex::default(),
            next: AtomicU64::new(1),
            used: Mutex::new(Instant::now()),
            _end: end,
        }
    }

    /// Sends a message, and returns the answer if it is a request.
    pub(super) async fn exchange(&self, message: &Message) -> Result<Option<Value>, Unanswered> {
        *lock(&self.used) = Instant::now();
        let (line, answer) = match message.id() {
            Some(id) => {
                let (number, answer) = self.expect(id)?;
                (message.line_as(number), Some(answer))
            }
            None => match message.cancelled() {
                None => (message.line(), None),
                Some(id) => match self.number_of(id) {
                    Some(number) => (message.line_cancelling(number), None),
                    // The notification refers to a request that has ended.
                    None => return Ok(None),
                },
            },
        };
        // The lock keeps lines apart. A task of its own holds it while it writes a line, and goes on if the client
        // disconnects.
        let writer = Arc::clone(&self.writer);
        let written = tokio::spawn(async move { writer.lock().await.write_all(line.as_bytes()).await }).await;
        written.ok().and_then(Result::ok).ok_or(Unanswered::Gone)?;
        let Some(answer) = answer else { return Ok(None) };
        let answer = answer.await.map_err(|_| Unanswered::Gone)?;
        *lock(&self.used) = Instant::now();
        Ok(Some(answer))
    }

    /// Registers a request. Returns the number under which the daemon knows it.
    fn expect(&self, id: &Value) -> Result<(u64, oneshot::Receiver<Value>), Unanswered> {
        let mut waiting = lock(&self.waiting);
        // Requests whose clients gave up waiting do not count.
        waiting.retain(|_, one| !one.answer.is_closed());
        if waiting.len() >= CALLS_IN_FLIGHT_MAX {
            return Err(Unanswered::Full);
        }
        if waiting.values().any(|one| one.id == *id) {
            return Err(Unanswered::SameId);
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = oneshot::channel();
        waiting.insert(number, Waiting { id: id.clone(), answer: sender });
        Ok((number, receiver))
    }

    fn number_of(&self, id: &Value) -> Option<u64> {
        lock(&self.waiting).iter().find(|(_, one)| one.id == *id).map(|(number, _)| *number)
    }

    /// Passes an answer to the waiting client, under the client's own id.
    fn deliver(&self, mut message: Value) {
        let number = answered(&message).and_then(|id| id.parse().ok());
        let waits = number.and_then(|number: u64| lock(&self.waiting).remove(&number));
        if let Some(Waiting { id, answer }) = waits {
            message["id"] = id;
            // The client may be gone.
            let _ = answer.send(message);
        }
    }

    fn is_forgotten(&self) -> bool {
        lock(&self.waiting).values().all(|one| one.answer.is_closed())
            && lock(&self.used).elapsed() >= DISCONNECT_GRACE
    }
}

/// The sessions of one listener's clients.
pub(super) struct SessionRegistry {
    context: Context,
    /// Is cancelled when the listener closes. Streams end then.
    closing: CancellationToken,
    /// Ends the sessions.
    end: CancellationToken,
    sessions: Mutex<HashMap<String, Arc<Session>>>,
    /// For each client without a session, by name and project: its session of work and the time of its last request.
    runs: Mutex<HashMap<(RedactedText, Project), (SessionId, Instant)>>,
}

impl SessionRegistry {
    pub(super) fn new(context: Context, closing: CancellationToken, end: CancellationToken) -> Arc<Self> {
        Arc::new(Self { context, closing, end, sessions: Mutex::default(), runs: Mutex::default() })
    }

    /// The token that is cancelled when the listener closes.
    pub(super) fn closing(&self) -> CancellationToken {
        self.closing.clone()
    }

    /// Begins a session; `None` when there are [`SESSIONS_MAX`].
    pub(super) fn begin(self: &Arc<Self>, project: &Project) -> Option<(String, Arc<Session>)> {
        let id = secret();
        let end = self.end.child_token();
        let hello = remote_hello(project);
        let mut sessions = lock(&self.sessions);
        if sessions.len() >= SESSIONS_MAX {
            return None;
        }
        let Pipe { lines, writer } = Pipe::open(&self.context, hello);
        let session = Arc::new(Session::new(writer, end.clone().drop_guard()));
        sessions.insert(id.clone(), Arc::clone(&session));
        drop(sessions);
        tokio::spawn(Arc::clone(self).forward_responses(id.clone(), lines, end));
        Some((id, session))
    }

    /// Delivers the answers of a session until it ends or its client abandons it.
    async fn forward_responses(
        self: Arc<Self>,
        id: String,
        mut lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
        end: CancellationToken,
    ) {
        let mut looks = tokio::time::interval(LOOK_EVERY);
        loop {
            let line = tokio::select! {
                line = lines.next_line() => line,
                () = end.cancelled() => break,
                _ = looks.tick() => {
                    if self.session(&id).is_none_or(|session| session.is_forgotten()) {
                        break;
                    }
                    continue;
                }
            };
            let (Ok(Some(line)), Some(session)) = (line, self.session(&id)) else { break };
            if let Ok(message) = serde_json::from_str(&line) {
                session.deliver(message);
            }
        }
        self.finish(&id);
    }

    pub(super) fn session(&self, id: &str) -> Option<Arc<Session>> {
        lock(&self.sessions).get(id).cloned()
    }

    /// Ends a session, finishing calls under way. Returns whether it existed.
    pub(super) fn finish(&self, id: &str) -> bool {
        let session = lock(&self.sessions).remove(id);
        if let Some(session) = &session {
            lock(&session.waiting).clear();
        }
        session.is_some()
    }

    /// A connection for one request that has no session.
    pub(super) fn open_stateless(&self, client: &str, project: &Project) -> Pipe {
        let run = self.anonymous_session(client, project);
        let hello = Hello { minted_session: Some(run.as_str().to_owned()), ..remote_hello(project) };
        Pipe::open(&self.context, hello)
    }

    /// The session of work for a request without a session. The client's name is cut before it becomes a key,
    /// because it may be as long as a message.
    fn anonymous_session(&self, client: &str, project: &Project) -> SessionId {
        let mut runs = lock(&self.runs);
        let now = Instant::now();
        runs.retain(|_, (_, last)| now.duration_since(*last) < DISCONNECT_GRACE);
        let key = (agent_name(client), project.clone());
        if runs.len() >= RUNS_MAX && !runs.contains_key(&key) {
            let quietest = runs.iter().min_by_key(|(_, (_, last))| *last).map(|(key, _)| key.clone());
            quietest.and_then(|key| runs.remove(&key));
        }
        let (session, last) = runs.entry(key).or_insert_with(|| (SessionId::random(), now));
        *last = now;
        session.clone()
    }
}

/// The hello for a connection over HTTP. Its folders may be on another machine.
fn remote_hello(project: &Project) -> Hello {
    Hello { project: Some(project.as_str().to_owned()), is_remote: true, ..Hello::default() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn session() -> (Session, Lines<BufReader<ReadHalf<DuplexStream>>>) {
        let (near, far) = duplex(PIPE_BYTES);
        let (reader, _) = split(far);
        let (_, writer) = split(near);
        let end = CancellationToken::new().drop_guard();
        (Session::new(writer, end), BufReader::new(reader).lines())
    }

    fn request(id: &Value) -> Message {
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list" });
        Message::read(request.to_string().as_bytes()).unwrap()
    }

    /// The next message that the daemon reads.
    async fn read(lines: &mut Lines<BufReader<ReadHalf<DuplexStream>>>) -> Value {
        serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap()
    }

    #[tokio::test]
    async fn a_late_answer_never_reaches_an_id_that_is_used_again() {
        let (session, mut daemon) = session();
        let id = json!("again");
        let old = request(&id);
        // The client gives up when the daemon has the request.
        let first = tokio::select! {
            _ = session.exchange(&old) => panic!("answered by nobody"),
            first = read(&mut daemon) => first,
        };
        let new = request(&id);
        let answer = async {
            let second = read(&mut daemon).await;
            assert_ne!(first["id"], second["id"]);
            session.deliver(json!({ "jsonrpc": "2.0", "id": first["id"], "result": "late" }));
            session.deliver(json!({ "jsonrpc": "2.0", "id": second["id"], "result": "right" }));
        };
        let (got, ()) = tokio::join!(session.exchange(&new), answer);
        assert_eq!(got.unwrap().unwrap(), json!({ "jsonrpc": "2.0", "id": "again", "result": "right" }));
    }

    #[tokio::test]
    async fn a_cancellation_names_the_request_that_the_daemon_knows() {
        let (session, mut daemon) = session();
        let cancel = |id: u64| {
            let params = json!({ "requestId": id });
            let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
            Message::read(cancel.to_string().as_bytes()).unwrap()
        };
        assert!(session.exchange(&cancel(7)).await.unwrap().is_none(), "nothing to cancel, nothing sent");
        let (slow, cancelled) = (request(&json!(7)), cancel(7));
        let cancelling = async {
            let sent = read(&mut daemon).await;
            session.exchange(&cancelled).await.unwrap();
            let cancel = read(&mut daemon).await;
            assert_eq!(cancel["params"]["requestId"], sent["id"]);
            session.deliver(json!({ "jsonrpc": "2.0", "id": sent["id"], "result": {} }));
        };
        let (answer, ()) = tokio::join!(session.exchange(&slow), cancelling);
        assert_eq!(answer.unwrap().unwrap()["id"], 7);
    }

    #[tokio::test]
    async fn an_id_is_used_once_at_a_time() {
        let (session, mut daemon) = session();
        let (one, same, other) = (request(&json!(1)), request(&json!(1)), request(&json!("1")));
        let meanwhile = async {
            let first = read(&mut daemon).await;
            assert!(matches!(session.exchange(&same).await, Err(Unanswered::SameId)));
            let answer = async {
                let second = read(&mut daemon).await;
                session.deliver(json!({ "id": second["id"], "result": 2 }));
            };
            let (second, ()) = tokio::join!(session.exchange(&other), answer);
            assert_eq!(second.unwrap().unwrap()["id"], "1", "a text is another id than a number");
            session.deliver(json!({ "id": first["id"], "result": 1 }));
        };
        let (answer, ()) = tokio::join!(session.exchange(&one), meanwhile);
        assert_eq!(answer.unwrap().unwrap()["result"], 1);
    }
}
