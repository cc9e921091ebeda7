//! The live endpoint: SurrealDB's own protocol over the store that agents are using, for Surrealist and
//! the official clients.
//!
//! What is possible: whoever knows the password reads all of the database `cerebro/main`, with any query,
//! and subscribes to changes (`LIVE SELECT`).
//!
//! What is not, and by what:
//!
//! - **Writing.** The one user is a `VIEWER` of one database: the engine refuses definitions and lets
//!   writes of rows change nothing. Methods of the protocol that write are not answered at all.
//! - **Coming in without the password.** Guests may do nothing. The password is 160 random bits, drawn at
//!   each opening; the user is removed at closing, and at the next opening of the store after a crash. A
//!   token that was given out is signed with the user's own key and ends with it.
//! - **Coming in from elsewhere.** It listens on 127.0.0.1 only ([`crate::door::Bounded`]), and
//!   [`crate::door::Guard`] looks at host, origin and path of every request.
//! - **More than reading memories.** No scripting, network, files, import, export or other query
//!   languages ([`super::access`]).
//! - **Holding agents up.** Statements end after a minute, connections are bounded, and news for a slow
//!   reader are dropped. A heavy query still takes processor time that agents would have; the condition
//!   of a live query is computed with each write of its table.
//!
//! Other users of the machine can reach the port, though not past the password: until they have signed in
//! they can make connections and have password guesses refused.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use axum::middleware;
use surrealdb::types::Variables;
use surrealdb_core::CommunityComposer;
use surrealdb_server::{RouterOptions, RpcState, SurrealRouter, ntw::client_ip::ClientIp};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::{
    Store, StoreError, access,
    engine::{DATABASE, Engine, NAMESPACE},
    live::News,
    statement,
};
use crate::door::{self, Bounded, Guard};

/// What is served; everything else is not there: no import, no export, no other language.
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
/// Whom visitors sign in as; `surql/statements/studio_user_remove.surql` names it too.
const USER: &str = "studio";
/// How long connections may take to say goodbye when it closes, and the listener after them. A closing
/// daemon waits for both.
const FAREWELL_MAX: Duration = Duration::from_millis(800);

/// How to open the endpoint.
#[derive(Debug, Clone, Default)]
pub struct StudioOptions {
    /// The port; 0 is any free one.
    pub port: u16,
    /// Origins of pages that may connect beside the known applications and pages of this machine.
    pub origins: Vec<String>,
}

/// What a visitor needs to connect. It is not printed by `Debug`.
#[derive(Clone)]
pub struct StudioAccess {
    /// Where it listens.
    pub address: SocketAddr,
    /// The namespace.
    pub namespace: &'static str,
    /// The database.
    pub database: &'static str,
    /// The user, of the database's level.
    pub user: &'static str,
    /// The password, of this opening only.
    pub password: String,
    /// What whoever opened it may close it by.
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
pub(super) struct Studio {
    lease: Lease,
    address: SocketAddr,
    stop: CancellationToken,
    rpc: Arc<RpcState>,
    server: JoinHandle<()>,
    news: Arc<News>,
}

impl Studio {
    /// Listens, and defines the visitors' user last: an endpoint that did not open leaves none.
    async fn open(engine: &Engine, options: StudioOptions) -> Result<(Self, StudioAccess), StoreError> {
        let origins = APPS.iter().map(|app| (*app).to_owned()).chain(options.origins);
        let guard =
            Guard::new(&PATHS).letting_in(origins).map_err(|odd| StoreError::Studio(odd.to_string()))?;
        let refused = |error: std::io::Error| {
            StoreError::Studio(format!("127.0.0.1:{}: {error}; choose another port", options.port))
        };
        let listener = Bounded::bind((Ipv4Addr::LOCALHOST, options.port).into()).await.map_err(refused)?;
        let address = listener.address().map_err(refused)?;

        let stop = CancellationToken::new();
        let router_options = RouterOptions {
            client_ip: ClientIp::None,
            no_identification_headers: false,
            allow_origin: Vec::new(),
            durable_session_ttl: None,
        };
        let router = SurrealRouter::build::<CommunityComposer>(
            router_options,
            Arc::clone(engine.datastore("the live endpoint")?),
            engine.news()?.subscribe(),
            stop.clone(),
            (),
        )
        .await
        .map_err(|error| StoreError::Studio(format!("{error:#}")))?;

        let password = access::secret();
        define_user(engine, &password).await?;
        drop(router.spawn_notifications());
        let rpc = Arc::clone(router.rpc_state());
        let service = router.into_router().layer(middleware::from_fn_with_state(guard, door::guard));
        let server = tokio::spawn(door::serve(listener, service, stop.clone()));
        let lease = Lease::next();
        let news = Arc::clone(engine.news()?);
        let access =
            StudioAccess { address, namespace: NAMESPACE, database: DATABASE, user: USER, password, lease };
        Ok((Self { lease, address, stop, rpc, server, news }, access))
    }

    /// Lets nobody in any more, ends every connection, and lets go of the database.
    async fn close(self) {
        self.stop.cancel();
        self.news.silence();
        let farewell = surrealdb_server::rpc::graceful_shutdown(self.rpc);
        if tokio::time::timeout(FAREWELL_MAX, farewell).await.is_err() {
            tracing::debug!("some visitors of the live endpoint did not say goodbye");
        }
        let mut server = self.server;
        if tokio::time::timeout(FAREWELL_MAX, &mut server).await.is_err() {
            server.abort();
        }
    }
}

/// Defines the visitors' user. A password cannot be a parameter of the statement; this one has only
/// letters and digits.
async fn define_user(engine: &Engine, password: &str) -> Result<(), StoreError> {
    let define = format!(
        "DEFINE USER OVERWRITE {USER} ON DATABASE PASSWORD '{password}' ROLES VIEWER DURATION FOR TOKEN 12h, \
         FOR SESSION NONE COMMENT 'Reads through cerebro studio; gone when it closes.'"
    );
    engine.script("studio_user", &define, Variables::new()).await.map(drop)
}

impl Store {
    /// Opens the live endpoint.
    ///
    /// # Errors
    /// [`StoreError::Studio`] when one is open already, the port is taken, or an origin is none.
    pub async fn open_studio(&self, options: StudioOptions) -> Result<StudioAccess, StoreError> {
        let mut place = self.studio.lock().await;
        if let Some(open) = &*place {
            let words = format!("one is open on {}; `cerebro studio --stop` closes it", open.address);
            return Err(StoreError::Studio(words));
        }
        let (studio, access) = Studio::open(self.engine()?, options).await?;
        *place = Some(studio);
        tracing::info!(address = %access.address, "the live endpoint is open");
        Ok(access)
    }

    /// Closes the live endpoint, or only if it is the given opening. Says whether it was open.
    pub async fn close_studio(&self, lease: Option<Lease>) -> bool {
        let mut place = self.studio.lock().await;
        let Some(studio) = place.take_if(|open| lease.is_none_or(|lease| open.lease == lease)) else {
            return false;
        };
        // First, so that nobody signs in any more; what is left over goes when the store is next opened.
        if let Err(error) = self.engine.run(statement::STUDIO_USER_REMOVE, Variables::new()).await {
            tracing::warn!(%error, "the live endpoint's user is still defined");
        }
        studio.close().await;
        tracing::info!("the live endpoint is closed");
        true
    }

    /// Whether the given opening of the live endpoint is still open.
    pub async fn has_studio(&self, lease: Lease) -> bool {
        self.studio.lock().await.as_ref().is_some_and(|open| open.lease == lease)
    }
}
