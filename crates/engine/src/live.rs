//! Forwards live-query notifications to the open endpoint, if there is one; otherwise drops them.
//!
//! A writer never waits for a reader: a full queue, or a connection that reads too slowly, loses notifications.

use std::{
    future::Future,
    pin::Pin,
    sync::{Mutex, PoisonError},
};

use surrealdb::types::Notification;
use surrealdb_core::{
    channel::{Receiver, Sender, bounded},
    dbs::{MessageBroker, RoutedNotification},
};

/// Most notifications that wait for delivery.
const QUEUE_MAX: usize = 4_096;

/// The engine's broker of live queries.
#[derive(Debug, Default)]
pub(super) struct News {
    open: Mutex<Option<Sender<Notification>>>,
}

impl News {
    /// Subscribes; the previous subscriber gets nothing any more.
    pub(super) fn subscribe(&self) -> Receiver<Notification> {
        let (sender, receiver) = bounded(QUEUE_MAX);
        *self.sender() = Some(sender);
        receiver
    }

    /// Ends the subscription.
    pub(super) fn silence(&self) {
        *self.sender() = None;
    }

    fn sender(&self) -> std::sync::MutexGuard<'_, Option<Sender<Notification>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MessageBroker for News {
    /// The store may still contain live queries of processes that are gone.
    fn should_emit(&self, node_id: [u8; 16], target_node: [u8; 16]) -> anyhow::Result<bool> {
        Ok(node_id == target_node && self.sender().is_some())
    }

    fn send(&self, item: RoutedNotification) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        if let Some(sender) = &*self.sender()
            && sender.try_send(item.into_notification()).is_err()
        {
            tracing::debug!("news for live queries were dropped: nobody reads them fast enough");
        }
        Box::pin(std::future::ready(()))
    }
}
