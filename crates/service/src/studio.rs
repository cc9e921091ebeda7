//! The store in its own language: single queries, and a live endpoint for other programs.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use axum::middleware;
use cerebro_store::{Answer, Endpoint, EngineError, Query, StoreError, Trial, Visitor};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::{ServiceError, base::Base};
use cerebro_net::{BoundedListener, Guard};

/// The routes of the endpoint. There are no others: no import, no export, no other language.
const PATHS: [&str; 4] = ["/health", "/rpc", "/status", "/version"];
/// Where Surrealist and its successor run: on the web, and as an application on each system.
const APPS: [&str; 6] = [
    "https://surrealist.app",
    "https://app.surrealdb.com",
    "https://studio.surrealdb.com",
    "tauri://localhost",
    "http://tauri.localhost",
    "https://tauri.localhost",
];
/// How long the listener may take to end. A closing daemon waits for it.
const FAREWELL_MAX: Duration = Duration::from_millis(800);

/// How to open the endpoint.
#[derive(Debug, Clone, Default)]
pub struct StudioOptions {
    /// The port; 0 is any free one.
    pub port: u16,
    /// Origins of pages that may connect beside the known applications and pages of this machine.
    pub origins: Vec<String>,
}

/// What is needed to connect. It is not printed by `Debug`.
#[derive(Clone)]
pub struct StudioAccess {
    /// Where it listens.
    pub address: SocketAddr,
    /// As whom to sign in.
    pub visitor: Visitor,
    /// This opening, by which the one who asked for it may close it.
    pub lease: Lease,
}

/// One opening of the endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease(u64);

impl Lease {
    fn next() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Self(LAST.fetch_add(1, Ordering::Relaxed))
    }
}

/// The endpoint while it is open.
struct Opened {
    lease: Lease,
    address: SocketAddr,
    stop: CancellationToken,
    server: JoinHandle<()>,
    endpoint: Endpoint,
}

fn refused(reason: String) -> ServiceError {
    StoreError::from(EngineError::Studio(reason)).into()
}

/// The store in its own language.
#[derive(Clone)]
pub struct Studio {
    base: Base,
    /// The live endpoint, while one is open.
    open: Arc<tokio::sync::Mutex<Option<Opened>>>,
}

impl Studio {
    pub(crate) fn new(base: &Base) -> Self {
        Self { base: base.clone(), open: Arc::default() }
    }

    /// Runs a query that can only read.
    ///
    /// # Errors
    /// When it cannot be run at all; a statement that fails says so in its own answer.
    pub async fn query(&self, query: Query) -> Result<Vec<Answer>, ServiceError> {
        Ok(self.base.store.read(query).await?)
    }

    /// Runs statements, returns what they would change, and undoes all of it.
    ///
    /// # Errors
    /// When they cannot be tried, or one of them fails.
    pub async fn try_out(&self, query: Query) -> Result<Trial, ServiceError> {
        Ok(self.base.store.try_out(query).await?)
    }

    /// Opens the live endpoint, read-only and on this machine alone, until it is closed.
    ///
    /// # Errors
    /// When one is open, the port is taken, or an origin is invalid.
    pub async fn open(&self, options: StudioOptions) -> Result<StudioAccess, ServiceError> {
        let mut slot = self.open.lock().await;
        if let Some(open) = &*slot {
            return Err(ServiceError::StudioOpen(open.address));
        }
        let origins = APPS.iter().map(|app| (*app).to_owned()).chain(options.origins);
        let guard = Guard::new(&PATHS).letting_in(origins).map_err(|odd| refused(odd.to_string()))?;
        let taken = |error: std::io::Error| {
            refused(format!("127.0.0.1:{}: {error}; choose another port", options.port))
        };
        let listener =
            BoundedListener::bind((Ipv4Addr::LOCALHOST, options.port).into()).await.map_err(taken)?;
        let address = listener.address().map_err(taken)?;
        let (endpoint, routes, visitor) = self.base.store.open_endpoint().await?;
        let stop = CancellationToken::new();
        let routes = routes.layer(middleware::from_fn_with_state(guard, cerebro_net::guard));
        let serving = cerebro_net::serve(listener, routes, stop.clone());
        let server = self.base.tasks.spawn("the live endpoint", serving);
        let lease = Lease::next();
        *slot = Some(Opened { lease, address, stop, server, endpoint });
        tracing::info!(%address, "the live endpoint is open");
        Ok(StudioAccess { address, visitor, lease })
    }

    /// Closes the live endpoint, or only if it is the given opening. Returns whether it was open.
    pub async fn close(&self, lease: Option<Lease>) -> bool {
        let mut slot = self.open.lock().await;
        let Some(studio) = slot.take_if(|open| lease.is_none_or(|lease| open.lease == lease)) else {
            return false;
        };
        let Opened { stop, mut server, endpoint, .. } = studio;
        stop.cancel();
        self.base.store.close_endpoint(endpoint).await;
        if tokio::time::timeout(FAREWELL_MAX, &mut server).await.is_err() {
            server.abort();
        }
        tracing::info!("the live endpoint is closed");
        true
    }

    /// Whether the given opening of the live endpoint is still open.
    pub async fn is_open(&self, lease: Lease) -> bool {
        self.open.lock().await.as_ref().is_some_and(|open| open.lease == lease)
    }
}
