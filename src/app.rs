//! The composition root: assembles the parts of a process that owns a home, in the order in which they start and
//! end.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::io::{AsyncRead, AsyncWrite};

use crate::{
    daemon::{Activity, Control, Serve, hello::Hello},
    home::Home,
    mcp::{self, Context, HttpOptions},
};
use cerebro_core::domain::{SessionId, Timestamp, limits::DISCONNECT_GRACE};
use cerebro_service::{Clock, Embedding, HistoryOptions, Service, ServiceError, Settings};
use cerebro_store::Remote;

/// The clock of everything that is served. Code below this asks the machine for no time.
const CLOCK: Clock = Timestamp::now;
/// How long a daemon whose store did not open runs on, to tell clients why.
const FAILED_LINGER: Duration = Duration::from_secs(5);
/// How long to wait for a store that another process still has open although this process has the lock: that process
/// is about to end. A daemon of an earlier version takes less time to end after it has released the home.
const HELD_MAX: Duration = Duration::from_secs(8);
const HELD_PAUSE: Duration = Duration::from_millis(100);
/// How often to check for sessions without a connection.
const SWEEP_INTERVAL: Duration = Duration::from_secs(60);

/// What the owner of a home runs. Clones are handles to the same app.
#[derive(Clone)]
pub struct App {
    context: Context,
    /// Whether it listens on HTTP as long as it runs. Then it does not end when idle.
    stays: Arc<AtomicBool>,
}

impl App {
    /// Starts to open the store and returns at once. Meanwhile clients are greeted, and their calls wait.
    pub fn open(
        home: Home,
        settings: Settings,
        embedding: Embedding,
        history: HistoryOptions,
        control: Control,
    ) -> Self {
        let database = settings.remote.as_ref().map(Remote::place);
        let groups = settings.groups.clone();
        let context = Context::new(home, database, groups, control, CLOCK, |context, hello, pipe| {
            Box::pin(mcp::serve(context, hello, pipe))
        });
        context.forget_studio();
        tokio::spawn(bring_up(context.clone(), settings, embedding, history));
        Self { context, stays: Arc::default() }
    }

    /// Also serves HTTP, until the daemon ends. Agents on the socket are not affected if that fails.
    pub fn serve_http(&self, options: HttpOptions) {
        let app = self.clone();
        tokio::spawn(async move {
            match mcp::http::open(&app.context, options).await {
                Ok(_) => app.stays.store(true, Ordering::SeqCst),
                Err(error) => tracing::error!(%error, "HTTP is not served"),
            }
        });
    }
}

/// Opens the store, starts what is done by the clock, and watches over both until the daemon ends.
async fn bring_up(context: Context, settings: Settings, embedding: Embedding, history: HistoryOptions) {
    let begun = Instant::now();
    let is_embedded = settings.remote.is_none();
    match open_store(&context, settings, embedding).await {
        Ok(service) => {
            if is_embedded {
                context.control().store_is_open();
            }
            tracing::info!(ms = begun.elapsed().as_millis(), "the store is open");
            service.keep(context.home().root(), history);
            context.set_store(Ok(service.clone()));
            watch(&context, service).await;
        }
        Err(error) => {
            tracing::error!(%error, "the store cannot be opened");
            context.set_store(Err(error.to_string()));
            // Waiting clients learn why; the next daemon tries again.
            tokio::time::sleep(FAILED_LINGER).await;
            context.control().stop();
        }
    }
}

/// Opens the store, waiting for a process that is about to release it.
async fn open_store(
    context: &Context,
    settings: Settings,
    embedding: Embedding,
) -> Result<Service, ServiceError> {
    let home = context.home();
    let begun = Instant::now();
    let mut is_logged = false;
    loop {
        let (settings, embedding) = (settings.clone(), embedding.clone());
        match Service::open(&home.store_dir(), &home.index_dir(), settings, embedding, context.clock()).await
        {
            Err(error)
                if error.is_held() && begun.elapsed() < HELD_MAX && !context.control().is_stopping() =>
            {
                if !std::mem::replace(&mut is_logged, true) {
                    tracing::info!(%error, "waiting for the store");
                }
                tokio::time::sleep(HELD_PAUSE).await;
            }
            opened => return opened,
        }
    }
}

/// Ends the sessions whose connections are gone for good, until the daemon ends. Ends the daemon after a failure of the
/// disk, because the database accepts writes only after it was opened again; the next daemon opens it.
async fn watch(context: &Context, service: Service) {
    let (mut ticks, stop) = (tokio::time::interval(SWEEP_INTERVAL), context.control().stopping());
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = service.disk_failed() => {
                tracing::error!("the disk failed; the next daemon opens the store again");
                return context.control().stop();
            }
            () = stop.cancelled() => return,
        }
        let disconnected = context.presence().disconnected();
        let began = context.control().started_at();
        let since = |id: &SessionId| disconnected.get(id).copied().unwrap_or(began);
        if let Err(error) = service.sessions.end_disconnected(since).await {
            tracing::warn!(%error, "cannot end sessions that lost their connection");
        }
        // A session that ended before that counts as lost when the daemon starts.
        let long_ago = context.now().checked_sub(DISCONNECT_GRACE * 2).unwrap_or(Timestamp::MIN);
        context.presence().forget_disconnected_before(long_ago);
    }
}

impl Serve for App {
    async fn serve<S>(&self, hello: Hello, stream: S)
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        mcp::serve(self.context.clone(), hello, stream).await;
    }

    fn activity(&self) -> Activity {
        let stays = self.stays.load(Ordering::SeqCst);
        Activity {
            last_call: if stays { Instant::now() } else { self.context.last_call() },
            calls_under_way: self.context.calls_under_way(),
            runnable_jobs: self.context.opened().map_or(0, |service| {
                service.worker.runnable_jobs()
                    + usize::from(service.backups.progress().is_some())
                    + usize::from(service.intake.progress().running)
            }),
        }
    }

    async fn quiet(&self, time: Duration) {
        self.context.quiet(time).await;
    }

    async fn close(&self) {
        mcp::http::close(&self.context).await;
        mcp::web::close(&self.context).await;
        // Opening cannot be interrupted half-way, and what it opens must be closed. The caller bounds the wait.
        let service = self.context.take_store().await;
        // Nobody asks a stand-alone process to end, and what runs until then holds the store open.
        self.context.control().stop();
        if let Some(service) = service
            && let Err(error) = service.close().await
        {
            tracing::warn!(%error, "the store did not close cleanly");
        }
        self.context.forget_studio();
    }
}
