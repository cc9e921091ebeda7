//! Opens the pump's links: to the daemon's socket, or to a server in this process.

use std::future::Future;

use tokio::io::{AsyncRead, AsyncWrite};

use crate::daemon::Serve;
use crate::daemon::client::{self, Autostart};
use crate::daemon::hello::Hello;
use crate::home::Home;

/// Size of the pipe between the pump and a server in this process, in bytes.
const PIPE_BYTES: usize = 64 * 1024;

/// The two ends of a link.
pub struct Link {
    pub reader: Box<dyn AsyncRead + Send + Unpin>,
    pub writer: Box<dyn AsyncWrite + Send + Unpin>,
    /// Whether the server sends a receipt for each request that it reads.
    pub gives_receipts: bool,
}

/// Why there is no link.
#[derive(Debug)]
pub struct Unreachable {
    /// What is wrong, for the client.
    pub reason: String,
    /// Whether retrying is useless until somebody corrects something.
    pub is_lasting: bool,
}

impl Unreachable {
    /// A failure that may pass by itself.
    pub fn now(reason: String) -> Self {
        Self { reason, is_lasting: false }
    }
}

/// Opens links to a server that may end and start again.
pub trait Dial: Send {
    /// Opens a link. `session` is the session that the client started earlier.
    fn dial(&mut self, session: Option<String>) -> impl Future<Output = Result<Link, Unreachable>> + Send;
}

/// Connects to a home's daemon, and starts one if none answers.
pub struct ToDaemon {
    pub home: Home,
    pub hello: Hello,
}

impl Dial for ToDaemon {
    async fn dial(&mut self, session: Option<String>) -> Result<Link, Unreachable> {
        let hello = Hello { bound_session: session, ..self.hello.clone() };
        let connection = client::connect(&self.home, &hello, Autostart::Yes)
            .await
            .map_err(|error| Unreachable { reason: error.to_string(), is_lasting: error.is_lasting() })?;
        Ok(Link {
            reader: Box::new(connection.reader),
            writer: Box::new(connection.writer),
            gives_receipts: connection.daemon.gives_receipts,
        })
    }
}

/// Connects to a server in this process.
pub struct ToServed<S> {
    pub served: S,
    pub hello: Hello,
}

impl<S: Serve> Dial for ToServed<S> {
    async fn dial(&mut self, session: Option<String>) -> Result<Link, Unreachable> {
        let hello = Hello { bound_session: session, ..self.hello.clone() };
        let (ours, theirs) = tokio::io::duplex(PIPE_BYTES);
        let served = self.served.clone();
        tokio::spawn(async move { served.serve(hello, theirs).await });
        let (reader, writer) = tokio::io::split(ours);
        Ok(Link { reader: Box::new(reader), writer: Box::new(writer), gives_receipts: true })
    }
}
