//! The interface of the daemon to what it serves.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::premises::{HomeGone, Premises};
use cerebro_core::domain::Timestamp;

/// A handle to the running daemon. Clones refer to the same daemon.
#[derive(Debug, Clone)]
pub struct Control {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    premises: Premises,
    stop: CancellationToken,
    clients: AtomicUsize,
    started: Instant,
    started_at: Timestamp,
}

impl Control {
    pub(crate) fn new(premises: Premises) -> Self {
        let shared = Shared {
            premises,
            stop: CancellationToken::new(),
            clients: AtomicUsize::new(0),
            started: Instant::now(),
            started_at: Timestamp::now(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Asks the daemon to finish the calls under way and end. Returns at once, so that the request that asks for it
    /// gets an answer, too.
    pub fn stop(&self) {
        self.shared.stop.cancel();
    }

    /// Cancelled when the daemon begins to end.
    pub fn stopping(&self) -> CancellationToken {
        self.shared.stop.clone()
    }

    /// Whether the daemon is ending.
    pub fn is_stopping(&self) -> bool {
        self.shared.stop.is_cancelled()
    }

    /// Records that the home's own store is open.
    pub fn store_is_open(&self) {
        self.shared.premises.store_is_open();
    }

    /// Checks that the home that is open is still the one at its path. If not, ends the daemon.
    pub fn check_home(&self) -> Result<(), HomeGone> {
        self.shared.premises.check().inspect_err(|_| self.stop())
    }

    /// How many clients are connected.
    pub fn clients(&self) -> usize {
        self.shared.clients.load(Ordering::Relaxed)
    }

    /// When the daemon started.
    pub fn started_at(&self) -> Timestamp {
        self.shared.started_at
    }

    /// How long it has run.
    pub fn uptime(&self) -> Duration {
        self.shared.started.elapsed()
    }

    /// Counts a client until the returned guard is dropped.
    pub(super) fn count_client(&self) -> ClientCount {
        self.shared.clients.fetch_add(1, Ordering::Relaxed);
        ClientCount(self.clone())
    }
}

/// One connected client in [`Control::clients`].
pub(super) struct ClientCount(Control);

impl Drop for ClientCount {
    fn drop(&mut self) {
        self.0.shared.clients.fetch_sub(1, Ordering::Relaxed);
    }
}
