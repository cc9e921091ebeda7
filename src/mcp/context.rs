//! What the connections of one process share: the store's stage, the clients, the listeners. Every handler may ask
//! it, and it knows none of them.

use std::{
    collections::HashMap,
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::{io::DuplexStream, sync::watch, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use super::{fault::Fault, live::Live, metrics::Metrics};
use crate::{
    daemon::{Control, hello::Hello},
    home::Home,
    platform,
};
use cerebro_core::code::Code;
use cerebro_core::domain::{SessionId, Timestamp};
use cerebro_service::{Lease, Service};

/// How long a call waits for the store to open.
const OPEN_WAIT: Duration = Duration::from_secs(60);

/// Serves a connection over a pipe in memory, as any other.
pub(super) type ServePipe =
    fn(Context, Hello, DuplexStream) -> Pin<Box<dyn Future<Output = ()> + Send + 'static>>;

/// Where the store stands.
#[derive(Clone)]
enum Stage {
    Opening,
    Ready(Service),
    Failed(String),
    Closed,
}

/// The HTTP listener while it is open.
pub(super) struct Listening {
    pub(super) address: SocketAddr,
    pub(super) stop: CancellationToken,
    pub(super) ended: JoinHandle<()>,
}

/// What all connections share. A clone is another handle to the same.
#[derive(Clone)]
pub struct Context(Arc<Shared>);

struct Shared {
    home: Home,
    /// The server that has the database, without credentials; none where it is in the home.
    database: Option<String>,
    control: Control,
    serve: ServePipe,
    stage: watch::Sender<Stage>,
    calls: AtomicUsize,
    last_call: Mutex<Instant>,
    /// When sessions lost their last connection.
    gone: Mutex<HashMap<SessionId, Timestamp>>,
    live: Live,
    /// Orders the openings and closings of the live endpoint.
    studio: tokio::sync::Mutex<()>,
    http: tokio::sync::Mutex<Option<Listening>>,
    metrics: Metrics,
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Context {
    /// A context whose store is being opened.
    pub(super) fn new(home: Home, database: Option<String>, control: Control, serve: ServePipe) -> Self {
        Self(Arc::new(Shared {
            home,
            database,
            control,
            serve,
            stage: watch::channel(Stage::Opening).0,
            calls: AtomicUsize::new(0),
            last_call: Mutex::new(Instant::now()),
            gone: Mutex::default(),
            live: Live::new(),
            studio: tokio::sync::Mutex::default(),
            http: tokio::sync::Mutex::default(),
            metrics: Metrics::default(),
        }))
    }

    /// The folder of the memory.
    pub fn home(&self) -> &Home {
        &self.0.home
    }

    /// Where the database is, if it is on a server.
    pub(super) fn database(&self) -> Option<&str> {
        self.0.database.as_deref()
    }

    /// The daemon's state and its end.
    pub fn control(&self) -> &Control {
        &self.0.control
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

    /// Serves a connection over a pipe in memory, as any other.
    pub(super) fn serve(&self, hello: Hello, pipe: DuplexStream) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        (self.0.serve)(self.clone(), hello, pipe)
    }
}

/// The store.
impl Context {
    /// Gives the store to those who wait for it, or the reason why there is none.
    pub fn set_store(&self, opened: Result<Service, String>) {
        self.0.stage.send_replace(match opened {
            Ok(service) => Stage::Ready(service),
            Err(reason) => Stage::Failed(reason),
        });
    }

    /// Waits until the store is not being opened any more, and takes it away from all calls to come.
    pub async fn take_store(&self) -> Option<Service> {
        let mut stage = self.0.stage.subscribe();
        let _ = stage.wait_for(|stage| !matches!(stage, Stage::Opening)).await;
        match self.0.stage.send_replace(Stage::Closed) {
            Stage::Ready(service) => Some(service),
            Stage::Opening | Stage::Failed(_) | Stage::Closed => None,
        }
    }

    /// The use cases, if the store is open now.
    pub fn opened(&self) -> Option<Service> {
        match &*self.0.stage.borrow() {
            Stage::Ready(service) => Some(service.clone()),
            _ => None,
        }
    }

    /// The use cases, as soon as the store is open.
    pub(super) async fn service(&self) -> Result<Service, Fault> {
        let leaving = || Err(Fault::new(Code::DaemonLeaving, "the daemon is leaving"));
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

    /// Where the store stands, in words.
    pub(super) fn stage_name(&self) -> String {
        match &*self.0.stage.borrow() {
            Stage::Opening => "opening".to_owned(),
            Stage::Ready(_) => "ready".to_owned(),
            Stage::Failed(reason) => format!("failed: {reason}"),
            Stage::Closed => "closed".to_owned(),
        }
    }
}

/// Calls under way, and sessions without a connection.
impl Context {
    /// How many calls are under way, on all connections.
    pub fn calls_under_way(&self) -> usize {
        self.0.calls.load(Ordering::SeqCst)
    }

    /// When the last call began or ended.
    pub fn last_call(&self) -> Instant {
        *lock(&self.0.last_call)
    }

    /// Since when sessions have no connection any more.
    pub fn gone_sessions(&self) -> HashMap<SessionId, Timestamp> {
        lock(&self.0.gone).clone()
    }

    /// Forgets the sessions that lost their connection before a moment.
    pub fn forget_gone_before(&self, moment: Timestamp) {
        lock(&self.0.gone).retain(|_, at| *at >= moment);
    }

    /// Notes that a session lost its last connection.
    pub(super) fn session_gone(&self, session: SessionId, at: Timestamp) {
        lock(&self.0.gone).insert(session, at);
    }

    /// Notes that a session has a connection again.
    pub(super) fn session_back(&self, session: &SessionId) {
        lock(&self.0.gone).remove(session);
    }
}

/// The live endpoint.
impl Context {
    /// Orders the openings and closings of the live endpoint.
    pub(super) fn studio(&self) -> &tokio::sync::Mutex<()> {
        &self.0.studio
    }

    /// Closes the live endpoint, or only the given opening of it, and takes its file away.
    pub(super) async fn close_studio(&self, service: &Service, lease: Option<Lease>) -> bool {
        let _order = self.0.studio.lock().await;
        let closed = service.close_studio(lease).await;
        if closed {
            self.forget_studio();
        }
        closed
    }

    /// Takes away the file that tells how to connect to the live endpoint.
    pub fn forget_studio(&self) {
        let file = self.0.home.studio_file();
        if let Err(error) = platform::remove_file_if_there(&file) {
            tracing::warn!(%error, file = %file.display(), "cannot remove the live endpoint's file");
        }
    }
}

/// Counts a call as under way while it lives.
pub(super) struct Counted(Context);

impl Counted {
    pub(super) fn new(context: &Context) -> Self {
        context.0.calls.fetch_add(1, Ordering::SeqCst);
        *lock(&context.0.last_call) = Instant::now();
        Self(context.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        *lock(&self.0.0.last_call) = Instant::now();
        self.0.0.calls.fetch_sub(1, Ordering::SeqCst);
    }
}
