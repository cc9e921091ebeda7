//! The live endpoint: SurrealDB's own protocol over the store that agents are using, for Surrealist and
//! the official clients.
//!
//! Allowed: whoever knows the password may read all of the database `cerebro/main` with any query, and subscribe to
//! changes (`LIVE SELECT`).
//!
//! Prevented, and by what:
//!
//! - **Writing.** The one user is a `VIEWER` of one database: the engine refuses definitions, and writes of rows
//!   have no effect. Methods of the protocol that write are not answered at all.
//! - **Access without the password.** Guests may do nothing. The password is 160 random bits, drawn at each
//!   opening. The user is removed at closing, or after a crash when the store is next opened. A token is signed
//!   with the user's own key and becomes invalid with it.
//! - **Access from elsewhere.** The server of [`Endpoint::routes`] listens on 127.0.0.1 only, and checks host,
//!   origin and path of every request.
//! - **More than reading memories.** No scripting, network, files, import, export or other query
//!   languages ([`super::access`]).
//! - **Slowing agents down.** Statements end after a minute, connections are bounded, and notifications for a slow
//!   reader are dropped. A heavy query still takes processor time from agents, and the condition of a live query is
//!   evaluated with each write to its table.
//!
//! Other users of the machine can reach the port, but not get past the password. Until they have signed in, they
//! can open connections and have password guesses refused.

use std::{sync::Arc, time::Duration};

use surrealdb::types::Variables;
use surrealdb_core::CommunityComposer;
use surrealdb_server::{RouterOptions, RpcState, SurrealRouter, ntw::client_ip::ClientIp};
use tokio_util::sync::CancellationToken;

use super::{
    BoxFuture, EngineError,
    access::{self, DATABASE, NAMESPACE},
    engine::Engine,
    live::News,
};

/// The user of visitors; `surql/statements/studio_user_remove.surql` names it too.
const USER: &str = "studio";
/// How long connections may take to close when the endpoint closes.
const FAREWELL_MAX: Duration = Duration::from_millis(800);

/// The credentials of a visitor. `Debug` does not print the password.
#[derive(Clone)]
pub struct Visitor {
    pub namespace: &'static str,
    pub database: &'static str,
    /// The user, of the database's level.
    pub user: &'static str,
    /// The password, valid for this opening only.
    pub password: String,
}

/// An open endpoint.
pub struct Endpoint {
    stop: CancellationToken,
    rpc: Arc<RpcState>,
    news: Arc<News>,
}

impl Engine {
    /// Makes the endpoint's routes. Defines the visitors' user last, so that a failed opening leaves none.
    ///
    /// # Errors
    /// [`EngineError::NotRemote`] for a database on a server; [`EngineError::Studio`] with the engine's message.
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

    /// Defines the visitors' user. A password cannot be a parameter of the statement; this one consists of letters
    /// and digits only.
    async fn define_visitor(&self, password: &str) -> Result<(), EngineError> {
        let define = format!(
            "DEFINE USER OVERWRITE {USER} ON DATABASE PASSWORD '{password}' ROLES VIEWER DURATION FOR TOKEN 12h, \
             FOR SESSION NONE COMMENT 'Reads through cerebro studio; gone when it closes.'"
        );
        self.script("studio_user", &define, Variables::new()).await.map(drop)
    }
}

impl Endpoint {
    /// Removes the visitors' user, so that nobody can sign in, and ends every connection. If removing fails, the
    /// user is removed when the store is next opened.
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
