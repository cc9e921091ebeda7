//! What is read whole from the store when it is first wanted, and forgotten when it changes.

use std::sync::{Arc, Mutex};

use super::lock;

/// The last reading of something, as long as it holds.
pub(super) struct Cached<T> {
    held: Mutex<Held<T>>,
}

struct Held<T> {
    read: Option<Arc<T>>,
    /// Counts what may have changed it, so that what is read meanwhile is not kept.
    changes: u64,
}

impl<T> Default for Cached<T> {
    fn default() -> Self {
        Self { held: Mutex::new(Held { read: None, changes: 0 }) }
    }
}

impl<T> Cached<T> {
    /// What was read, or the ticket with which a reading that begins now is kept.
    pub(super) fn get(&self) -> Result<Arc<T>, Ticket> {
        let held = lock(&self.held);
        held.read.clone().ok_or(Ticket(held.changes))
    }

    /// Keeps a reading, unless something changed since it began.
    pub(super) fn keep(&self, ticket: Ticket, read: T) -> Arc<T> {
        let read = Arc::new(read);
        let mut held = lock(&self.held);
        if held.changes == ticket.0 {
            held.read = Some(Arc::clone(&read));
        }
        read
    }

    /// Forgets what was read: something changed.
    pub(super) fn forget(&self) {
        self.forget_if(|_| true);
    }

    /// Forgets what was read if a change touches it. A reading that is under way may lack the change, and is not kept.
    pub(super) fn forget_if(&self, is_touched: impl FnOnce(&T) -> bool) {
        let mut held = lock(&self.held);
        if held.read.as_deref().is_none_or(is_touched) {
            held.read = None;
            held.changes += 1;
        }
    }
}

/// When a reading began.
#[derive(Debug)]
pub(super) struct Ticket(u64);
