//! The lines of one connection, within a bound, and with receipts for clients that want them.

use std::io;

use rmcp::{
    RoleServer,
    model::{CustomNotification, JsonRpcMessage, RequestId, ServerNotification},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::{Transport, async_rw::AsyncRwTransport},
};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::daemon::hello::READ_METHOD;
use cerebro_core::domain::limits::SOCKET_LINE_BYTES_MAX;

/// Messages over a pair of streams. A line longer than [`SOCKET_LINE_BYTES_MAX`] is dropped. It cannot come from the
/// pump, which refuses such lines.
pub(super) struct Wire<R: AsyncRead, W: AsyncWrite> {
    lines: AsyncRwTransport<RoleServer, R, W>,
    gives_receipts: bool,
    /// A message whose receipt is not written yet.
    read: Option<RxJsonRpcMessage<RoleServer>>,
}

impl<R, W> Wire<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    pub(super) fn new(reader: R, writer: W, gives_receipts: bool) -> Self {
        let lines = AsyncRwTransport::new(reader, writer).with_max_line_length(SOCKET_LINE_BYTES_MAX);
        Self { lines, gives_receipts, read: None }
    }
}

impl<R, W> Transport<RoleServer> for Wire<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.lines.send(message)
    }

    /// Returns a request after its receipt was sent, so that no request is executed without one. Dropping the future
    /// loses no request, but a receipt may be sent twice.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        if self.read.is_none() {
            self.read = Some(self.lines.receive().await?);
        }
        if let Some(JsonRpcMessage::Request(request)) = self.read.as_ref().filter(|_| self.gives_receipts) {
            let receipt = self.lines.send(receipt(&request.id));
            // A client that no longer reads will not send anything either.
            if let Err(error) = receipt.await {
                tracing::debug!(%error, "a receipt could not be written");
            }
        }
        self.read.take()
    }

    async fn close(&mut self) -> io::Result<()> {
        self.lines.close().await
    }
}

fn receipt(id: &RequestId) -> TxJsonRpcMessage<RoleServer> {
    let params = json!({ "id": id.clone().into_json_value() });
    let notification = CustomNotification::new(READ_METHOD, Some(params));
    JsonRpcMessage::notification(ServerNotification::CustomNotification(notification))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, duplex, split};

    use super::*;

    const PING: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"ping\"}\n";

    #[tokio::test]
    async fn a_request_is_handed_out_after_its_receipt() {
        let (mut client, server) = duplex(1024);
        let (reader, writer) = split(server);
        let mut wire = Wire::new(reader, writer, true);
        client.write_all(PING).await.unwrap();
        assert!(matches!(wire.receive().await, Some(JsonRpcMessage::Request(_))));
        let line = BufReader::new(client).lines().next_line().await.unwrap().unwrap();
        let sent: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(sent, json!({ "jsonrpc": "2.0", "method": READ_METHOD, "params": { "id": "a" } }));
    }

    #[tokio::test]
    async fn a_line_beyond_the_bound_is_dropped_and_the_next_is_read() {
        let (mut client, server) = duplex(64 * 1024);
        let (reader, writer) = split(server);
        let mut wire = Wire::new(reader, writer, false);
        let talk = async {
            let piece = vec![b'x'; 64 * 1024];
            for _ in 0..=SOCKET_LINE_BYTES_MAX / piece.len() {
                client.write_all(&piece).await.unwrap();
            }
            client.write_all(b"\n").await.unwrap();
            client.write_all(PING).await.unwrap();
        };
        let ((), message) = tokio::join!(talk, wire.receive());
        assert!(matches!(message, Some(JsonRpcMessage::Request(_))));
    }
}
