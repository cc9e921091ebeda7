//! Serving on a listener, with a bound on how long a request's head may take.
//!
//! `axum::serve` has none: whoever sends a head byte by byte would keep a place of the few there are for good.

use std::{pin::pin, time::Duration};

use axum::{Router, serve::Listener};
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{Bounded, listener::Seated};

/// How long the head of a request may take, and how long a connection may stay open between two requests.
const HEAD_MAX: Duration = Duration::from_secs(10);

/// Serves until `stop` is cancelled, and then until the requests under way are answered. Dropping it
/// ends every connection.
pub async fn serve(mut listener: Bounded, router: Router, stop: CancellationToken) {
    let mut connections = JoinSet::new();
    loop {
        let (stream, _peer) = tokio::select! {
            came = listener.accept() => came,
            () = stop.cancelled() => break,
        };
        // Those that ended meanwhile.
        while connections.try_join_next().is_some() {}
        connections.spawn(connection(stream, router.clone(), stop.clone()));
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

async fn connection(stream: Seated, router: Router, stop: CancellationToken) {
    let mut connection = pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_MAX)
            .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
            .with_upgrades()
    );
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}
