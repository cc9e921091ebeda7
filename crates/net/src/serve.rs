//! Serving on a listener, with bounds on how long a connection may keep its place.
//!
//! `axum::serve` has no such bounds: a client that sends a head byte by byte, or never reads its answers, would
//! keep one of the few places for good.

use std::{pin::pin, time::Duration};

use axum::{Router, serve::Listener};
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{
    BoundedListener,
    listener::{BoundedStream, Limits},
};

/// How long requests under way may take when a listener closes.
const FINISH_MAX: Duration = Duration::from_secs(5);

/// As [`serve`], but `leaving` also stops it, and it does not wait for requests that take too long.
pub async fn serve_until(
    listener: BoundedListener,
    router: Router,
    stop: CancellationToken,
    leaving: impl Future<Output = ()>,
) {
    let mut serving = pin!(serve(listener, router, stop.clone()));
    tokio::select! {
        () = serving.as_mut() => return,
        () = stop.cancelled() => {}
        () = leaving => stop.cancel(),
    }
    if tokio::time::timeout(FINISH_MAX, serving).await.is_err() {
        tracing::debug!("a listener closed before all its requests were answered");
    }
}

/// Serves until `stop` is cancelled, and then until the requests under way are answered. Dropping it
/// ends every connection.
pub async fn serve(mut listener: BoundedListener, router: Router, stop: CancellationToken) {
    let limits = listener.limits();
    let mut connections = JoinSet::new();
    loop {
        let (stream, _peer) = tokio::select! {
            came = listener.accept() => came,
            () = stop.cancelled() => break,
        };
        // Collects the connections that ended meanwhile.
        while connections.try_join_next().is_some() {}
        connections.spawn(connection(stream, router.clone(), stop.clone(), limits));
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

async fn connection(stream: BoundedStream, router: Router, stop: CancellationToken, limits: Limits) {
    let mut connection = pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.head)
            .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
            .with_upgrades()
    );
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
        () = tokio::time::sleep(limits.age) => {
            connection.as_mut().graceful_shutdown();
            // The connection is dropped when even the last answer takes too long.
            tokio::time::timeout(limits.last_answer, connection).await.unwrap_or(Ok(()))
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpStream,
        task::JoinHandle,
        time::timeout,
    };

    use super::*;

    /// Longest wait for what has to happen.
    const PATIENCE: Duration = Duration::from_secs(30);
    const LONG: Duration = Duration::from_secs(3_600);
    const SHORT: Duration = Duration::from_millis(100);
    const ASK: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

    async fn connect(limits: Limits) -> (TcpStream, CancellationToken, JoinHandle<()>) {
        let listener = BoundedListener::bind_with("127.0.0.1:0".parse().unwrap(), limits).await.unwrap();
        let address = listener.address().unwrap();
        // An answer that fills all buffers on the way after a few.
        let router = Router::new().route("/", get(|| async { "x".repeat(1 << 20) }));
        let stop = CancellationToken::new();
        let serving = tokio::spawn(serve(listener, router, stop.clone()));
        (TcpStream::connect(address).await.unwrap(), stop, serving)
    }

    const PATIENT: Limits = Limits { head: LONG, stalled: LONG, age: LONG, last_answer: LONG };

    #[tokio::test]
    async fn a_client_that_never_reads_loses_its_connection() {
        let (mut client, stop, serving) = connect(Limits { stalled: SHORT, ..PATIENT }).await;
        let asks = async { while client.write_all(ASK).await.is_ok() {} };
        timeout(PATIENCE, asks).await.expect("the server to close the connection");
        stop.cancel();
        timeout(PATIENCE, serving).await.expect("no connection to be left").unwrap();
    }

    #[tokio::test]
    async fn an_old_connection_ends_between_two_answers() {
        // The question has to come before that.
        let (mut client, _stop, _serving) = connect(Limits { age: Duration::from_secs(2), ..PATIENT }).await;
        let mut all = Vec::new();
        let asks = async {
            client.write_all(ASK).await.unwrap();
            client.read_to_end(&mut all).await.unwrap();
        };
        timeout(PATIENCE, asks).await.expect("the connection to end");
        assert!(all.len() > 1 << 20, "the answer came whole: {} bytes", all.len());
    }

    #[tokio::test]
    async fn an_unread_last_answer_is_not_waited_for() {
        let limits = Limits { age: SHORT, last_answer: SHORT, ..PATIENT };
        let (mut client, stop, serving) = connect(limits).await;
        let asks = async { while client.write_all(ASK).await.is_ok() {} };
        timeout(PATIENCE, asks).await.expect("the server to close the connection");
        stop.cancel();
        timeout(PATIENCE, serving).await.expect("no connection to be left").unwrap();
    }
}
