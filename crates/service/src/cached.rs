//! A value that is read from the store at its first use and dropped when it changes.

use std::sync::{Arc, Mutex};

use super::lock;

/// The last reading of a value, as long as it is valid.
pub(super) struct Cached<T> {
    held: Mutex<Held<T>>,
}

struct Held<T> {
    read: Option<Arc<T>>,
    /// Counts the changes, so that a reading which began before a change is not kept.
    changes: u64,
}

impl<T> Default for Cached<T> {
    fn default() -> Self {
        Self { held: Mutex::new(Held { read: None, changes: 0 }) }
    }
}

impl<T> Cached<T> {
    /// The value, or a ticket with which a reading that begins now can be kept.
    pub(super) fn get(&self) -> Result<Arc<T>, Ticket> {
        let held = lock(&self.held);
        held.read.clone().ok_or(Ticket(held.changes))
    }

    /// Keeps a reading, unless the value changed since it began.
    pub(super) fn keep(&self, ticket: Ticket, read: T) -> Arc<T> {
        let read = Arc::new(read);
        let mut held = lock(&self.held);
        if held.changes == ticket.0 {
            held.read = Some(Arc::clone(&read));
        }
        read
    }

    /// Drops the value, because it changed.
    pub(super) fn forget(&self) {
        self.forget_if(|_| true);
    }

    /// Drops the value if a change touches it. A reading that is under way may lack the change and is not kept.
    pub(super) fn forget_if(&self, is_touched: impl FnOnce(&T) -> bool) {
        let mut held = lock(&self.held);
        if held.read.as_deref().is_none_or(is_touched) {
            held.read = None;
            held.changes += 1;
        }
    }
}

/// Marks when a reading began.
#[derive(Debug)]
pub(super) struct Ticket(u64);
