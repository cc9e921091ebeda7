//! The state that the connections of one process share: the store, the clients, the listeners. Every handler may use
//! it. It uses none of them.

use std::{
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use tokio::{io::DuplexStream, sync::watch, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use super::{fault::Fault, live::Live, metrics::Metrics, presence::Presence};
use crate::{
    daemon::{Control, hello::Hello},
    home::Home,
    platform, web,
};
use cerebro_core::code::Code;
use cerebro_core::domain::Timestamp;
use cerebro_core::operation::Group;
pub(super) use cerebro_core::sync::lock;
use cerebro_service::{Clock, Lease, Service};

/// How long a call waits for the store to open.
const OPEN_WAIT: Duration = Duration::from_secs(60);

/// How often at most a client is notified that the list of memories has changed.
const NEWS_EVERY: Duration = Duration::from_secs(2);

/// Serves a connection over an in-memory pipe like any other.
pub type ServePipe = fn(Context, Hello, DuplexStream) -> Pin<Box<dyn Future<Output = ()> + Send + 'static>>;

/// The state of the store.
#[derive(Clone)]
enum Stage {
    Opening,
    Ready(Service),
    Failed(String),
    Closed,
}

/// An open HTTP listener: for agents, or for the page.
pub(super) struct Listening {
    pub(super) address: SocketAddr,
    pub(super) stop: CancellationToken,
    pub(super) ended: JoinHandle<()>,
}

impl Listening {
    /// Whether it is open and not closing.
    pub(super) fn is_open(&self) -> bool {
        !self.stop.is_cancelled() && !self.ended.is_finished()
    }

    /// Closes it. Returns whether it was open.
    pub(super) async fn close(self) -> bool {
        let was_open = !self.stop.is_cancelled();
        self.stop.cancel();
        if let Err(error) = self.ended.await {
            tracing::warn!(%error, "a listener did not end properly");
        }
        was_open
    }
}

/// An open page, and its entrance for browsers.
pub(super) struct OpenPage {
    pub(super) listening: Listening,
    pub(super) entrance: web::Entrance,
}

/// The state that all connections share. Clones are handles to the same context.
#[derive(Clone)]
pub struct Context(Arc<Shared>);

struct Shared {
    home: Home,
    /// The server with the database, without credentials; `None` if it is in the home.
    database: Option<String>,
    /// The published groups of tools, in addition to the 13.
    groups: Vec<Group>,
    control: Control,
    clock: Clock,
    serve: ServePipe,
    stage: watch::Sender<Stage>,
    /// The number of changes of memories so far, for clients that list them.
    changes: watch::Sender<u64>,
    /// The number of calls under way, on all connections.
    calls: watch::Sender<usize>,
    last_call: Mutex<Instant>,
    presence: Presence,
    live: Live,
    /// Serialises opening and closing the live endpoint.
    studio: tokio::sync::Mutex<()>,
    http: tokio::sync::Mutex<Option<Listening>>,
    web: tokio::sync::Mutex<Option<OpenPage>>,
    metrics: Metrics,
}

impl Context {
    /// The context of a process whose store is being opened. `database` is the address of a server with the database,
    /// without credentials; `groups` are the published groups of tools in addition to the 13.
    pub fn new(
        home: Home,
        database: Option<String>,
        groups: Vec<Group>,
        control: Control,
        clock: Clock,
        serve: ServePipe,
    ) -> Self {
        Self(Arc::new(Shared {
            home,
            database,
            groups,
            control,
            clock,
            serve,
            stage: watch::channel(Stage::Opening).0,
            changes: watch::channel(0).0,
            calls: watch::Sender::new(0),
            last_call: Mutex::new(Instant::now()),
            presence: Presence::default(),
            live: Live::new(),
            studio: tokio::sync::Mutex::default(),
            http: tokio::sync::Mutex::default(),
            web: tokio::sync::Mutex::default(),
            metrics: Metrics::default(),
        }))
    }

    pub fn home(&self) -> &Home {
        &self.0.home
    }

    /// The location of the database, if it is on a server.
    pub(super) fn database(&self) -> Option<&str> {
        self.0.database.as_deref()
    }

    /// The published groups of tools, in addition to the 13.
    pub(super) fn groups(&self) -> &[Group] {
        &self.0.groups
    }

    /// The clock of this process.
    pub fn clock(&self) -> Clock {
        self.0.clock
    }

    /// The present moment, by [`Self::clock`].
    pub fn now(&self) -> Timestamp {
        (self.0.clock)()
    }

    /// The handle to the daemon.
    pub fn control(&self) -> &Control {
        &self.0.control
    }

    /// Which sessions have an agent at work.
    pub fn presence(&self) -> &Presence {
        &self.0.presence
    }

    pub(super) fn live(&self) -> &Live {
        &self.0.live
    }

    pub(super) fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    pub(super) fn http(&self) -> &tokio::sync::Mutex<Option<Listening>> {
        &self.0.http
    }

    pub(super) fn web(&self) -> &tokio::sync::Mutex<Option<OpenPage>> {
        &self.0.web
    }

    /// Serves a connection over an in-memory pipe like any other.
    pub(super) fn serve(&self, hello: Hello, pipe: DuplexStream) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        (self.0.serve)(self.clone(), hello, pipe)
    }
}

/// The store.
impl Context {
    /// Gives the store to waiting calls, or the reason why there is none.
    pub fn set_store(&self, opened: Result<Service, String>) {
        self.0.stage.send_replace(match opened {
            Ok(service) => Stage::Ready(service),
            Err(reason) => Stage::Failed(reason),
        });
        self.memories_changed();
    }

    /// Waits until the store is no longer being opened, and takes it away from all later calls.
    pub async fn take_store(&self) -> Option<Service> {
        let mut stage = self.0.stage.subscribe();
        let _ = stage.wait_for(|stage| !matches!(stage, Stage::Opening)).await;
        match self.0.stage.send_replace(Stage::Closed) {
            Stage::Ready(service) => Some(service),
            Stage::Opening | Stage::Failed(_) | Stage::Closed => None,
        }
    }

    /// The use cases, if the store is open.
    pub fn opened(&self) -> Option<Service> {
        match &*self.0.stage.borrow() {
            Stage::Ready(service) => Some(service.clone()),
            _ => None,
        }
    }

    /// The use cases, as soon as the store is open.
    pub(super) async fn service(&self) -> Result<Service, Fault> {
        let leaving = || Err(Fault::new(Code::DaemonLeaving, "the daemon is ending"));
        let mut stage = self.0.stage.subscribe();
        let opened =
            tokio::time::timeout(OPEN_WAIT, stage.wait_for(|stage| !matches!(stage, Stage::Opening)));
        match opened.await {
            Err(_) => {
                let words = "the store is still opening (a large index may be under construction)";
                Err(Fault::new(Code::StoreOpening, words))
            }
            Ok(Err(_)) => leaving(),
            Ok(Ok(stage)) => match &*stage {
                Stage::Ready(service) => Ok(service.clone()),
                Stage::Failed(reason) => Err(Fault::new(Code::StoreFailed, reason.clone())),
                Stage::Opening | Stage::Closed => leaving(),
            },
        }
    }

    /// The state of the store, in words.
    pub(super) fn stage_name(&self) -> String {
        match &*self.0.stage.borrow() {
            Stage::Opening => "opening".to_owned(),
            Stage::Ready(_) => "ready".to_owned(),
            Stage::Failed(reason) => format!("failed: {reason}"),
            Stage::Closed => "closed".to_owned(),
        }
    }
}

/// Notifications about changes.
impl Context {
    /// Notifies clients that list memories that the list may have changed.
    pub(super) fn memories_changed(&self) {
        self.0.changes.send_modify(|count| *count += 1);
    }

    /// A receiver of notifications from now on.
    pub(super) fn news(&self) -> News {
        News { changes: self.0.changes.subscribe(), sent: None }
    }
}

/// Notifications that memories were changed, at most one per [`NEWS_EVERY`], because a client reads the whole list each
/// time.
pub(super) struct News {
    changes: watch::Receiver<u64>,
    sent: Option<Instant>,
}

impl News {
    /// Waits for the next change. The future can be dropped without losing one.
    pub(super) async fn next(&mut self) {
        if let Some(sent) = self.sent {
            tokio::time::sleep_until((sent + NEWS_EVERY).into()).await;
        }
        if self.changes.changed().await.is_err() {
            // The process ends.
            return std::future::pending().await;
        }
        self.sent = Some(Instant::now());
    }
}

/// Calls under way.
impl Context {
    /// How many calls are under way, on all connections.
    pub fn calls_under_way(&self) -> usize {
        *self.0.calls.borrow()
    }

    /// Waits until no call has been under way for this time.
    pub async fn quiet(&self, time: Duration) {
        let mut calls = self.0.calls.subscribe();
        // This cannot fail, because `self` holds the sender.
        while calls.wait_for(|calls| *calls == 0).await.is_ok() {
            if tokio::time::timeout(time, calls.changed()).await.is_err() {
                return;
            }
        }
    }

    /// When the last call began or ended.
    pub fn last_call(&self) -> Instant {
        *lock(&self.0.last_call)
    }
}

/// The live endpoint.
impl Context {
    /// Serialises opening and closing the live endpoint.
    pub(super) fn studio(&self) -> &tokio::sync::Mutex<()> {
        &self.0.studio
    }

    /// Closes the live endpoint and removes its file. With a lease, only if that opening is still the present one.
    pub(super) async fn close_studio(&self, service: &Service, lease: Option<Lease>) -> bool {
        let _order = self.0.studio.lock().await;
        let closed = service.studio.close(lease).await;
        if closed {
            self.forget_studio();
        }
        closed
    }

    /// Removes the file that says how to connect to the live endpoint.
    pub fn forget_studio(&self) {
        let file = self.0.home.studio_file();
        if let Err(error) = platform::remove_file_if_there(&file) {
            tracing::warn!(%error, file = %file.display(), "cannot remove the live endpoint's file");
        }
    }
}

/// Counts a call as under way while it exists.
pub(super) struct Counted(Context);

impl Counted {
    pub(super) fn new(context: &Context) -> Self {
        context.0.calls.send_modify(|calls| *calls += 1);
        *lock(&context.0.last_call) = Instant::now();
        Self(context.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        *lock(&self.0.0.last_call) = Instant::now();
        self.0.0.calls.send_modify(|calls| *calls -= 1);
    }
}
