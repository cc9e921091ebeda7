//! A value that is read from the store and held until a commit changes it.

use std::sync::{Arc, Mutex};

use cerebro_core::sync::lock;

/// The held value, if any.
#[derive(Default)]
pub(super) struct Cache<T>(Mutex<Option<Arc<T>>>);

impl<T> Cache<T> {
    /// The value, if it was read since the last change.
    pub fn held(&self) -> Option<Arc<T>> {
        lock(&self.0).clone()
    }

    /// Holds a value that was just read.
    pub fn hold(&self, value: &Arc<T>) {
        *lock(&self.0) = Some(Arc::clone(value));
    }

    /// Drops the value, because the store has another one now.
    pub fn forget(&self) {
        *lock(&self.0) = None;
    }
}
