//! One client's connection: hello, MCP messages, farewell.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, ReadBuf};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::hello::{self, FAREWELL_METHOD, Hello, Reply, Verdict};
use super::{Control, Serve, VERSION};
use cerebro_core::sync::lock;

/// How long a client may take to read the farewell.
const FAREWELL_MAX: Duration = Duration::from_millis(200);

pub(super) struct Connection {
    stream: UnixStream,
    control: Control,
    cut: CancellationToken,
}

impl Connection {
    /// A connection that reads no more input when the daemon stops, and closes at once when `cut` is cancelled.
    pub fn new(stream: UnixStream, control: Control, cut: CancellationToken) -> Self {
        Self { stream, control, cut }
    }

    /// Serves the client until either side closes the connection.
    pub async fn serve(self, served: &impl Serve) {
        let (reader, mut writer) = self.stream.into_split();
        let mut reader = BufReader::new(reader);
        let hello = match greet(&mut reader, &mut writer).await {
            Ok((hello, Verdict::Served)) => hello,
            Ok((hello, Verdict::HandsOver)) => {
                tracing::info!(to = hello.version, "handing over to a newer version");
                self.control.stop();
                return;
            }
            Ok((hello, Verdict::Refused)) => {
                tracing::warn!(protocol = hello.protocol, version = hello.version, "refused a client");
                return;
            }
            // A client that only checks whether a daemon listens ends up here, too.
            Err(error) => {
                tracing::debug!(%error, "a client sent no hello");
                return;
            }
        };
        tracing::debug!(pid = hello.pid, role = ?hello.role, "client connected");
        let _count = self.control.count_client();
        let writer = SharedWriter(Arc::new(Mutex::new(Some(writer))));
        let reader = Draining { reader, stop: Box::pin(self.control.stopping().cancelled_owned()) };
        let session = served.serve(hello, tokio::io::join(reader, writer.clone()));
        let finished = tokio::select! {
            () = session => true,
            () = self.cut.cancelled() => served.activity().calls_under_way == 0,
        };
        if finished && self.control.is_stopping() {
            writer.send_farewell().await;
        }
    }
}

/// Exchanges the first lines.
async fn greet(
    reader: &mut BufReader<OwnedReadHalf>,
    writer: &mut OwnedWriteHalf,
) -> io::Result<(Hello, Verdict)> {
    let hello: Hello = hello::read(reader).await?;
    let reply = Reply::to(&hello, VERSION);
    hello::write(writer, &reply).await?;
    Ok((hello, reply.verdict))
}

/// Input that ends when the daemon stops, so that the session answers only what it has read.
struct Draining {
    reader: BufReader<OwnedReadHalf>,
    stop: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl AsyncRead for Draining {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.stop.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.reader).poll_read(cx, buf)
    }
}

/// The output. The session uses it and then the farewell. The lock is held only for one non-blocking write at a
/// time.
#[derive(Clone)]
struct SharedWriter(Arc<Mutex<Option<OwnedWriteHalf>>>);

impl SharedWriter {
    /// Takes the output from the session and sends the farewell.
    async fn send_farewell(&self) {
        let Some(mut writer) = lock(&self.0).take() else { return };
        let line = format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{FAREWELL_METHOD}\"}}\n");
        let _ = tokio::time::timeout(FAREWELL_MAX, writer.write_all(line.as_bytes())).await;
    }

    fn with<T>(
        &self,
        act: impl FnOnce(Pin<&mut OwnedWriteHalf>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        match lock(&self.0).as_mut() {
            Some(writer) => act(Pin::new(writer)),
            None => Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
        }
    }
}

impl AsyncWrite for SharedWriter {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.with(|writer| writer.poll_write(cx, buf))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.with(|writer| writer.poll_flush(cx))
    }

    /// Leaves the socket open: the farewell may follow.
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(cx)
    }
}
