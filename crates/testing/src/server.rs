//! A SurrealDB server, and direct access to a store, to break what the program never would.

use std::{net::SocketAddr, path::Path, sync::Arc};

use futures::future::BoxFuture;
use surrealdb_core::{CommunityComposer, channel::bounded, dbs::Session, kvs::Datastore};
use surrealdb_rpc::capabilities::Capabilities;
use surrealdb_server::{RouterOptions, SurrealRouter, ntw::client_ip::ClientIp};
use tokio_util::sync::CancellationToken;

use crate::{Outcome, words};

/// Serves a database in `folder` on `address` to its owner `root`, until the future is dropped.
pub fn serve<'a>(folder: &'a Path, address: SocketAddr, password: &'a str) -> BoxFuture<'a, Outcome<()>> {
    Box::pin(async move {
        let store = Datastore::builder()
            .with_auth(true)
            .with_capabilities(Capabilities::all())
            .build_with_path(&format!("rocksdb://{}?sync=every", folder.display()))
            .await
            .map_err(words)?;
        store.check_version().await.map_err(words)?;
        store.bootstrap().await.map_err(words)?;
        let user = format!("DEFINE USER OVERWRITE root ON ROOT PASSWORD '{password}' ROLES OWNER");
        store.execute(&user, &Session::owner(), None).await.map_err(words)?;
        let options = RouterOptions {
            client_ip: ClientIp::None,
            no_identification_headers: false,
            allow_origin: Vec::new(),
            durable_session_ttl: None,
        };
        let (_news, listen) = bounded(16);
        let stop = CancellationToken::new();
        let router = SurrealRouter::build::<CommunityComposer>(options, Arc::clone(&store), listen, stop, ())
            .await
            .map_err(words)?;
        let listener = tokio::net::TcpListener::bind(address).await.map_err(words)?;
        axum::serve(listener, router.into_router()).await.map_err(words)
    })
}

/// Runs a script as the owner of the embedded database in `dir`, which is made if it is missing.
pub fn alter<'a>(dir: &'a Path, script: &'a str) -> BoxFuture<'a, Outcome<()>> {
    Box::pin(async move {
        std::fs::create_dir_all(dir).map_err(words)?;
        let path = format!("rocksdb://{}?sync=every", dir.display());
        let store =
            Datastore::builder().without_maintenance_tasks().build_with_path(&path).await.map_err(words)?;
        store.check_version().await.map_err(words)?;
        store.bootstrap().await.map_err(words)?;
        let session = Session::owner().with_ns("cerebro").with_db("main");
        for done in store.execute(script, &session, None).await.map_err(words)? {
            done.result.map_err(|error| format!("{error} in: {script}"))?;
        }
        store.shutdown().await.map_err(words)
    })
}
