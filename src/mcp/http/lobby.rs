//! Whoever calls over HTTP is served like an agent on the socket: each session of the protocol is one
//! connection of the daemon's, over a pipe in memory; where there are no sessions, each request is one.
//!
//! Requests of one client on one project that have no session belong together as long as no pause between
//! them is longer than [`DISCONNECT_GRACE`]; whatever else they shall belong to, they have to name.

use std::{
    collections::HashMap,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
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
use crate::{
    daemon::{Serve as _, hello::Hello},
    mcp::server::Server,
};
use cerebro_core::domain::{
    Project, SessionId,
    limits::{CALLS_IN_FLIGHT_MAX, DISCONNECT_GRACE},
};
use cerebro_store::secret;

/// Most sessions at once.
const SESSIONS_MAX: usize = 1_024;
/// Most clients without a session whose run of calls is remembered.
const RUNS_MAX: usize = 256;
/// Bytes that wait in a pipe, each way.
const PIPE_BYTES: usize = 64 * 1024;
/// How often a session looks whether it is still used.
const LOOK_EVERY: Duration = Duration::from_secs(15);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A connection of the daemon's, from the client's side.
pub(super) struct Pipe {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: WriteHalf<DuplexStream>,
}

impl Pipe {
    fn open(server: &Server, hello: Hello) -> Self {
        let (near, far) = duplex(PIPE_BYTES);
        let server = server.clone();
        tokio::spawn(async move { server.serve(hello, far).await });
        let (reader, writer) = split(near);
        Self { lines: BufReader::new(reader).lines(), writer }
    }

    /// Sends a message.
    ///
    /// # Errors
    /// When the other side is gone.
    pub(super) async fn send(&mut self, message: &Message) -> io::Result<()> {
        self.writer.write_all(message.line().as_bytes()).await
    }

    /// The next message of the other side; `None` when it is gone.
    pub(super) async fn next(&mut self) -> Option<Value> {
        let line = self.lines.next_line().await.ok()??;
        serde_json::from_str(&line).ok()
    }
}

/// One session of the protocol.
pub(super) struct Session {
    writer: Arc<tokio::sync::Mutex<WriteHalf<DuplexStream>>>,
    /// Requests under way, by their id.
    waiting: Mutex<HashMap<String, oneshot::Sender<Value>>>,
    used: Mutex<Instant>,
    _end: DropGuard,
}

/// Why a request has no answer.
#[derive(Debug)]
pub(super) enum Unanswered {
    /// Its id is that of another one under way.
    SameId,
    /// Too many are under way.
    Full,
    /// The session has ended.
    Gone,
}

impl Session {
    /// Sends a message, and gives the answer if it asks for one.
    pub(super) async fn exchange(&self, message: &Message) -> Result<Option<Value>, Unanswered> {
        *lock(&self.used) = Instant::now();
        let answer = match message.id() {
            Some(id) => Some(self.expect(id)?),
            None => None,
        };
        let line = message.line();
        // The lock keeps lines whole, so it is held while one is written, by a task that goes on when the client
        // goes away.
        let writer = Arc::clone(&self.writer);
        let written = tokio::spawn(async move { writer.lock().await.write_all(line.as_bytes()).await }).await;
        written.ok().and_then(Result::ok).ok_or(Unanswered::Gone)?;
        let Some(answer) = answer else { return Ok(None) };
        let answer = answer.await.map_err(|_| Unanswered::Gone)?;
        *lock(&self.used) = Instant::now();
        Ok(Some(answer))
    }

    fn expect(&self, id: String) -> Result<oneshot::Receiver<Value>, Unanswered> {
        let mut waiting = lock(&self.waiting);
        // A client that did not wait for its answer frees its place.
        waiting.retain(|_, sender| !sender.is_closed());
        if waiting.len() >= CALLS_IN_FLIGHT_MAX {
            return Err(Unanswered::Full);
        }
        if waiting.contains_key(&id) {
            return Err(Unanswered::SameId);
        }
        let (sender, receiver) = oneshot::channel();
        waiting.insert(id, sender);
        Ok(receiver)
    }

    fn deliver(&self, message: Value) {
        let waits = answered(&message).and_then(|id| lock(&self.waiting).remove(&id));
        if let Some(sender) = waits {
            // Whoever asked may be gone.
            let _ = sender.send(message);
        }
    }

    fn is_forgotten(&self) -> bool {
        lock(&self.waiting).values().all(oneshot::Sender::is_closed)
            && lock(&self.used).elapsed() >= DISCONNECT_GRACE
    }
}

/// What the callers of one listener share.
pub(super) struct Lobby {
    server: Server,
    /// Says that the listener closes: streams end.
    closing: CancellationToken,
    /// Ends the sessions.
    end: CancellationToken,
    sessions: Mutex<HashMap<String, Arc<Session>>>,
    /// Clients without a session, by name and project: their run of calls, and when the last one came.
    runs: Mutex<HashMap<(String, Project), (SessionId, Instant)>>,
}

impl Lobby {
    pub(super) fn new(server: Server, closing: CancellationToken, end: CancellationToken) -> Arc<Self> {
        Arc::new(Self { server, closing, end, sessions: Mutex::default(), runs: Mutex::default() })
    }

    /// Is cancelled when the listener closes.
    pub(super) fn closing(&self) -> CancellationToken {
        self.closing.clone()
    }

    /// Begins a session; `None` when there are [`SESSIONS_MAX`].
    pub(super) fn begin(self: &Arc<Self>, project: &Project) -> Option<(String, Arc<Session>)> {
        let id = secret();
        let end = self.end.child_token();
        let hello = Hello { project: Some(project.as_str().to_owned()), ..Hello::default() };
        let mut sessions = lock(&self.sessions);
        if sessions.len() >= SESSIONS_MAX {
            return None;
        }
        let Pipe { lines, writer } = Pipe::open(&self.server, hello);
        let session = Arc::new(Session {
            writer: Arc::new(tokio::sync::Mutex::new(writer)),
            waiting: Mutex::default(),
            used: Mutex::new(Instant::now()),
            _end: end.clone().drop_guard(),
        });
        sessions.insert(id.clone(), Arc::clone(&session));
        drop(sessions);
        tokio::spawn(Arc::clone(self).attend(id.clone(), lines, end));
        Some((id, session))
    }

    /// Hands out the answers of a session, until it ends or is forgotten by its client.
    async fn attend(
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

    /// Ends a session and says whether it was there. Calls under way are finished.
    pub(super) fn finish(&self, id: &str) -> bool {
        let session = lock(&self.sessions).remove(id);
        if let Some(session) = &session {
            lock(&session.waiting).clear();
        }
        session.is_some()
    }

    /// A connection for one request that has no session.
    pub(super) fn alone(&self, client: &str, project: &Project) -> Pipe {
        let run = self.run(client.to_owned(), project);
        let hello = Hello {
            project: Some(project.as_str().to_owned()),
            minted_session: Some(run.as_str().to_owned()),
            ..Hello::default()
        };
        Pipe::open(&self.server, hello)
    }

    fn run(&self, client: String, project: &Project) -> SessionId {
        let mut runs = lock(&self.runs);
        let now = Instant::now();
        runs.retain(|_, (_, last)| now.duration_since(*last) < DISCONNECT_GRACE);
        let key = (client, project.clone());
        if runs.len() >= RUNS_MAX && !runs.contains_key(&key) {
            let quietest = runs.iter().min_by_key(|(_, (_, last))| *last).map(|(key, _)| key.clone());
            quietest.and_then(|key| runs.remove(&key));
        }
        let (session, last) = runs.entry(key).or_insert_with(|| (SessionId::random(), now));
        *last = now;
        session.clone()
    }
}
