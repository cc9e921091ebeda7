//! A value that is read from the store and held until a commit changes it.

use std::sync::{Arc, Mutex};

use cerebro_core::sync::lock;

/// The held value, if any.
pub(super) struct Cache<T>(Mutex<Held<T>>);

struct Held<T> {
    value: Option<Arc<T>>,
    /// How many commits have changed it.
    changes: u64,
}

impl<T> Default for Cache<T> {
    fn default() -> Self {
        Self(Mutex::new(Held { value: None, changes: 0 }))
    }
}

impl<T> Cache<T> {
    /// The value, if it was read since the last change.
    pub fn held(&self) -> Option<Arc<T>> {
        lock(&self.0).value.clone()
    }

    /// How many commits have changed the value. Asked before it is read, for [`Self::hold`].
    pub fn changes(&self) -> u64 {
        lock(&self.0).changes
    }

    /// Holds a value that was read after so many changes. One that a commit has changed since is not held.
    pub fn hold(&self, value: &Arc<T>, changes: u64) {
        let mut held = lock(&self.0);
        if held.changes == changes {
            held.value = Some(Arc::clone(value));
        }
    }

    /// Drops the value, because the store has another one now.
    pub fn forget(&self) {
        let mut held = lock(&self.0);
        held.changes += 1;
        held.value = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_before_a_change_is_not_held_after_it() {
        let cache = Cache::default();
        let before = cache.changes();
        cache.forget();
        cache.hold(&Arc::new("old"), before);
        assert_eq!(cache.held(), None);
        cache.hold(&Arc::new("new"), cache.changes());
        assert_eq!(cache.held().as_deref(), Some(&"new"));
    }
}
