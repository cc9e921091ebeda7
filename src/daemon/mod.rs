//! The daemon: one process owns the home and serves every agent of the user over a socket.
//!
//! At its start it takes the lock, binds the socket and starts the server. At its end it removes the socket, finishes
//! the calls under way and closes the store. The lock is released when the process ends, because until then the engine
//! may write to the store. A client that arrives in between waits for the lock and starts the next daemon.
//!
//! A daemon whose home was removed or replaced acknowledges nothing more, and ends without closing the store: the
//! engine would write files by their names, and so into the next daemon's store.

pub mod client;
mod connection;
mod control;
pub mod hello;
pub mod lock;
mod log;
mod premises;
mod socket;
pub mod spawn;

use std::future::Future;
use std::io;
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::connection::Connection;
pub use self::control::Control;
use self::hello::Hello;
use self::lock::{Lock, LockError, Use};
pub use self::premises::HomeGone;
use self::premises::Premises;
use self::socket::Socket;
pub use self::socket::{DialError, SocketError, dial};
use crate::home::Home;

/// This program's version.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// How long the tasks of a server may take to end after its store is closed.
pub const WIND_DOWN: Duration = Duration::from_secs(5);
/// How long a starting daemon waits for a lock whose holder does not answer: the previous daemon may be closing, and
/// other processes hold the lock for an instant to check it.
const LOCK_WAIT: Duration = WIND_DOWN.saturating_add(Duration::from_secs(1));
const LOCK_POLL: Duration = Duration::from_millis(20);
/// How often the daemon checks whether it is idle, whether its socket is in place, and the size of its log.
const WATCH_INTERVAL: Duration = Duration::from_secs(1);
/// How long calls under way may take when the daemon ends.
const DRAIN_MAX: Duration = Duration::from_secs(10);
/// How long connections without a call stay open when the daemon ends, so that the last answers can be written.
const DRAIN_QUIET: Duration = Duration::from_millis(200);
/// How long closing the store may take. After that the process ends as if killed, which loses no data.
const CLOSE_MAX: Duration = Duration::from_secs(30);
/// Most connections at a time. Further ones are closed at once.
const CONNECTIONS_MAX: usize = 1_024;

/// The present activity of the server.
#[derive(Debug, Clone, Copy)]
pub struct Activity {
    /// The time of the last call or, before the first one, of the server's creation.
    pub last_call: Instant,
    /// How many calls are under way, on all connections.
    pub calls_under_way: usize,
    /// How many jobs the worker could execute now.
    pub runnable_jobs: usize,
}

impl Activity {
    fn is_idle_since(&self, idle_exit: Duration) -> bool {
        self.calls_under_way == 0 && self.runnable_jobs == 0 && self.last_call.elapsed() >= idle_exit
    }
}

/// Everything the daemon serves; cheap to clone.
pub trait Serve: Clone + Send + Sync + 'static {
    /// Serves one MCP connection until it closes. At the end of the input, finishes the calls under way, writes their
    /// answers and returns.
    fn serve<S>(&self, hello: Hello, stream: S) -> impl Future<Output = ()> + Send
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static;

    /// The present activity, to decide whether the daemon is idle.
    fn activity(&self) -> Activity;

    /// Waits until no call has been under way for `time`.
    fn quiet(&self, time: Duration) -> impl Future<Output = ()> + Send;

    /// Closes the store. Is called once, after all connections are closed.
    fn close(&self) -> impl Future<Output = ()> + Send;
}

/// How a daemon behaves.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// How long the daemon runs without a call and without work before it ends; without it, for ever.
    pub idle_exit: Option<Duration>,
    /// Whether to leave the terminal and process group of the process that started it.
    pub detached: bool,
}

/// Why a daemon did not run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Another daemon serves this home.
    #[error("a daemon already serves this home{}", .0.as_ref().map_or(String::new(), |o| format!(": {o}")))]
    AlreadyServed(Option<lock::Owner>),
    /// A process holds the lock and does not answer, or the lock cannot be taken.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The daemon cannot listen.
    #[error(transparent)]
    Socket(#[from] SocketError),
    /// The system refuses what a daemon needs.
    #[error("cannot watch for signals: {0}")]
    Signals(io::Error),
}

impl RunError {
    /// The exit code of a daemon that found another one serving.
    pub const ALREADY_SERVED: u8 = 3;

    /// The exit code, from which the process that started the daemon learns what happened.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::AlreadyServed(_) => Self::ALREADY_SERVED,
            _ => 1,
        }
    }
}

/// Runs a daemon until it is stopped, hands over or is idle. `make` returns the server at once and opens the store in
/// the background, so that clients get answers from the start.
pub async fn run<S: Serve>(
    home: &Home,
    options: Options,
    make: impl FnOnce(Control) -> S,
) -> Result<(), RunError> {
    if options.detached {
        crate::platform::detach();
    }
    let lock = take_lock(home).await?;
    let socket = Socket::bind(home, &lock)?;
    let termination = crate::platform::termination().map_err(RunError::Signals)?;
    let control = control_of(home, &lock)?;
    let served = make(control.clone());
    tracing::info!(version = VERSION, pid = std::process::id(), home = %home.root().display(), "serving");

    let connections =
        Connections { served, control, tasks: TaskTracker::new(), cut: CancellationToken::new() };
    let reason = connections.accept_until_end(home, &lock, socket, options.idle_exit, termination).await;
    tracing::info!(reason, "leaving");
    connections.drain().await;
    close(&connections.served, &connections.control, lock).await;
    Ok(())
}

/// The handle for a process that owns the home by `lock`.
pub(crate) fn control_of(home: &Home, lock: &Lock) -> Result<Control, LockError> {
    let premises =
        Premises::new(home, lock).map_err(|source| LockError::Io { path: home.lock_file(), source })?;
    Ok(Control::new(premises))
}

/// Closes the server, within a bound, and holds the lock until the process ends. Does not return if the home is gone.
pub(crate) async fn close(served: &impl Serve, control: &Control, lock: Lock) {
    if let Err(gone) = control.check_home() {
        end_at_once(&gone);
    }
    if tokio::time::timeout(CLOSE_MAX, served.close()).await.is_err() {
        tracing::error!("the store was not closed within {CLOSE_MAX:?}; ending anyway");
    }
    lock.hold_until_exit();
}

/// Ends the process without closing the store, as if it were killed.
#[expect(
    clippy::exit,
    clippy::disallowed_methods,
    reason = "returning would drop the store, which closes it and writes to its files by name"
)]
fn end_at_once(gone: &HomeGone) -> ! {
    tracing::error!(%gone, "ending without closing the store");
    std::process::exit(1)
}

/// Takes the lock; gives up at once if another daemon serves.
async fn take_lock(home: &Home) -> Result<Lock, RunError> {
    let deadline = Instant::now() + LOCK_WAIT;
    loop {
        let error = match Lock::take(home, Use::Daemon) {
            Ok(lock) => return Ok(lock),
            Err(error) => error,
        };
        if !matches!(error, LockError::Held { .. }) {
            return Err(error.into());
        }
        if dial(home).await.is_ok() {
            return Err(RunError::AlreadyServed(lock::owner(home)));
        }
        if Instant::now() >= deadline {
            return Err(error.into());
        }
        tokio::time::sleep(LOCK_POLL).await;
    }
}

struct Connections<S> {
    served: S,
    control: Control,
    tasks: TaskTracker,
    /// Closes the remaining connections when the daemon cannot wait any longer.
    cut: CancellationToken,
}

impl<S: Serve> Connections<S> {
    /// Accepts clients until there is a reason to end. Removes the socket and returns the reason.
    async fn accept_until_end(
        &self,
        home: &Home,
        lock: &Lock,
        mut socket: Socket,
        idle_exit: Option<Duration>,
        termination: impl Future<Output = ()>,
    ) -> &'static str {
        let short = idle_exit.map_or(WATCH_INTERVAL, |idle_exit| idle_exit / 2);
        let mut watch = tokio::time::interval(short.clamp(Duration::from_millis(50), WATCH_INTERVAL));
        tokio::pin!(termination);
        let mut log = log::OwnLog::of(home);
        let stop = self.control.stopping();
        loop {
            tokio::select! {
                accepted = socket.accept() => match accepted {
                    Ok(stream) => self.start(stream),
                    Err(error) => {
                        // Most likely too many files are open. Some may be closed soon.
                        tracing::error!(%error, "cannot accept a connection");
                        tokio::time::sleep(Duration::from_millis(100)).await;
                    }
                },
                _ = watch.tick() => {
                    log.keep_bounded();
                    if self.control.check_home().is_err() {
                        return "the home is gone";
                    }
                    if idle_exit.is_some_and(|most| self.served.activity().is_idle_since(most)) {
                        return "idle";
                    }
                    if !socket.is_in_place() {
                        match Socket::bind(home, lock) {
                            Ok(new) => socket = new,
                            Err(error) => tracing::error!(%error, "cannot bind a new socket in place of the lost one"),
                        }
                    }
                }
                () = stop.cancelled() => return "asked to stop",
                () = &mut termination => return "signal",
            }
        }
    }

    fn start(&self, stream: tokio::net::UnixStream) {
        if self.control.check_home().is_err() {
            // This client starts the next daemon when this one has ended.
            return;
        }
        if self.tasks.len() >= CONNECTIONS_MAX {
            tracing::warn!("closed a connection: {CONNECTIONS_MAX} clients are connected already");
            return;
        }
        let connection = Connection::new(stream, self.control.clone(), self.cut.clone());
        let served = self.served.clone();
        self.tasks.spawn(async move { connection.serve(&served).await });
    }

    /// Ends all connections: reads no more input, and finishes calls under way within [`DRAIN_MAX`]. If the home is
    /// gone, no call can be finished, and the calls only get their errors.
    async fn drain(&self) {
        let drain_max = if self.control.check_home().is_ok() { DRAIN_MAX } else { DRAIN_QUIET };
        self.control.stop();
        self.tasks.close();
        let finished = async {
            tokio::select! {
                () = self.tasks.wait() => {}
                () = self.served.quiet(DRAIN_QUIET) => {}
            }
        };
        let is_late = tokio::time::timeout(drain_max, finished).await.is_err();
        if is_late && self.served.activity().calls_under_way > 0 {
            tracing::warn!("calls under way were not finished within {drain_max:?}");
        }
        self.cut.cancel();
        let _ = tokio::time::timeout(Duration::from_secs(1), self.tasks.wait()).await;
    }
}
