//! A listener with a bounded number of connections, each for a bounded time.

use std::{
    io,
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Sleep, sleep},
};

/// Most connections at once; further ones wait unaccepted.
const CONNECTIONS_MAX: usize = 64;
/// How long to wait after accepting failed, as when too many files are open.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// How long a connection may keep its place, by what it does.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// How long the head of a request may take, and how long a connection may stay open between two requests.
    pub head: Duration,
    /// How long the peer may go without reading what is sent to it.
    pub stalled: Duration,
    /// The age at which a connection gets its last answer; its client must open another one.
    pub age: Duration,
    /// How long that last answer may take.
    pub last_answer: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            head: Duration::from_secs(10),
            stalled: Duration::from_secs(30),
            age: Duration::from_secs(10 * 60),
            last_answer: Duration::from_secs(10 * 60),
        }
    }
}

/// A listener on one address.
pub struct BoundedListener {
    listener: TcpListener,
    permits: Arc<Semaphore>,
    limits: Limits,
}

impl BoundedListener {
    /// Listens on an address; port 0 is a free one.
    ///
    /// # Errors
    /// When the address is not this machine's, or the port is taken or not allowed.
    pub async fn bind(address: SocketAddr) -> io::Result<Self> {
        Self::bind_with(address, Limits::default()).await
    }

    /// The same with other limits.
    pub(super) async fn bind_with(address: SocketAddr, limits: Limits) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        Ok(Self { listener, permits: Arc::new(Semaphore::new(CONNECTIONS_MAX)), limits })
    }

    /// How long its connections may keep their places.
    pub(super) fn limits(&self) -> Limits {
        self.limits
    }

    /// Where it listens.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

impl axum::serve::Listener for BoundedListener {
    type Io = BoundedStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (BoundedStream, SocketAddr) {
        loop {
            // The semaphore is never closed; if it were, no further connection would be accepted.
            let Ok(permit) = Arc::clone(&self.permits).acquire_owned().await else {
                std::future::pending::<()>().await;
                continue;
            };
            match self.listener.accept().await {
                Ok((stream, peer)) => {
                    if let Err(error) = stream.set_nodelay(true) {
                        tracing::debug!(%error, "a connection stays slow");
                    }
                    let stalled_max = self.limits.stalled;
                    return (BoundedStream { stream, stalled_max, stalled: None, _permit: permit }, peer);
                }
                Err(error) => {
                    tracing::debug!(%error, "cannot accept a connection");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.address()
    }
}

/// A connection that holds one of the places. Writing fails when the peer does not read for too long: otherwise the
/// answers to a client that only asks would keep the place for good.
pub struct BoundedStream {
    stream: TcpStream,
    stalled_max: Duration,
    /// Runs while the peer does not read.
    stalled: Option<Pin<Box<Sleep>>>,
    _permit: OwnedSemaphorePermit,
}

impl BoundedStream {
    /// The result of a write, or an error if it took too long.
    fn in_time<T>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let max = self.stalled_max;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(max)));
        stalled.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for BoundedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for BoundedStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.in_time(cx, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.in_time(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
