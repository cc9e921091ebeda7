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
//! - **Coming in from elsewhere.** Who serves [`Endpoint::routes`] listens on 127.0.0.1 only, and looks at
//!   host, origin and path of every request.
//! - **More than reading memories.** No scripting, network, files, import, export or other query
//!   languages ([`super::access`]).
//! - **Holding agents up.** Statements end after a minute, connections are bounded, and news for a slow
//!   reader are dropped. A heavy query still takes processor time that agents would have; the condition
//!   of a live query is computed with each write of its table.
//!
//! Other users of the machine can reach the port, though not past the password: until they have signed in
//! they can make connections and have password guesses refused.

use std::{sync::Arc, time::Duration};

use surrealdb::types::Variables;
use surrealdb_core::CommunityComposer;
use surrealdb_server::{RouterOptions, RpcState, SurrealRouter, ntw::client_ip::ClientIp};
use tokio_util::sync::CancellationToken;

use super::{
    BoxFuture, EngineError, access,
    engine::{DATABASE, Engine, NAMESPACE},
    live::News,
};

/// Whom visitors sign in as; `surql/statements/studio_user_remove.surql` names it too.
const USER: &str = "studio";
/// How long connections may take to say goodbye when it closes.
const FAREWELL_MAX: Duration = Duration::from_millis(800);

/// What a visitor needs to sign in. It is not printed by `Debug`.
#[derive(Clone)]
pub struct Visitor {
    /// The namespace.
    pub namespace: &'static str,
    /// The database.
    pub database: &'static str,
    /// The user, of the database's level.
    pub user: &'static str,
    /// The password, of this opening only.
    pub password: String,
}

/// The endpoint while it is open.
pub struct Endpoint {
    stop: CancellationToken,
    rpc: Arc<RpcState>,
    news: Arc<News>,
}

impl Engine {
    /// Makes the endpoint's routes, and defines the visitors' user last: an endpoint that did not open
    /// leaves none.
    ///
    /// # Errors
    /// [`EngineError::NotRemote`] of a database on a server; [`EngineError::Studio`] with the engine's words.
    pub fn endpoint(&self) -> BoxFuture<'_, Result<(Endpoint, axum::Router, Visitor), EngineError>> {
        Box::pin(self.make_endpoint())
    }

    async fn make_endpoint(&self) -> Result<(Endpoint, axum::Router, Visitor), EngineError> {
        let stop = CancellationToken::new();
        let router_options = RouterOptions {
            client_ip: ClientIp::None,
            no_identification_headers: false,
            allow_origin: Vec::new(),
            durable_session_ttl: None,
        };
        let router = SurrealRouter::build::<CommunityComposer>(
            router_options,
            Arc::clone(self.datastore("the live endpoint")?),
            self.news()?.subscribe(),
            stop.clone(),
            (),
        )
        .await
        .map_err(|error| EngineError::Studio(format!("{error:#}")))?;

        let password = access::secret();
        self.define_visitor(&password).await?;
        drop(router.spawn_notifications());
        let rpc = Arc::clone(router.rpc_state());
        let visitor = Visitor { namespace: NAMESPACE, database: DATABASE, user: USER, password };
        Ok((Endpoint { stop, rpc, news: Arc::clone(self.news()?) }, router.into_router(), visitor))
    }

    /// Defines the visitors' user. A password cannot be a parameter of the statement; this one has only
    /// letters and digits.
    async fn define_visitor(&self, password: &str) -> Result<(), EngineError> {
        let define = format!(
            "DEFINE USER OVERWRITE {USER} ON DATABASE PASSWORD '{password}' ROLES VIEWER DURATION FOR TOKEN 12h, \
             FOR SESSION NONE COMMENT 'Reads through cerebro studio; gone when it closes.'"
        );
        self.script("studio_user", &define, Variables::new()).await.map(drop)
    }
}

impl Endpoint {
    /// Lets nobody sign in any more and ends every connection. The visitors' user goes first; if that
    /// fails, it goes when the store is next opened.
    pub fn close(self, engine: &Engine) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if let Err(error) = engine.run(super::engine::STUDIO_USER_REMOVE, Variables::new()).await {
                tracing::warn!(%error, "the live endpoint's user is still defined");
            }
            self.stop.cancel();
            self.news.silence();
            let farewell = surrealdb_server::rpc::graceful_shutdown(self.rpc);
            if tokio::time::timeout(FAREWELL_MAX, farewell).await.is_err() {
                tracing::debug!("some visitors of the live endpoint did not say goodbye");
            }
        })
    }
}
