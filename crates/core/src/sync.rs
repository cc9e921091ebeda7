//! Locks without poisoning, and a value that is read once and dropped when it changes.
//!
//! A panic while a lock is held ends only the call that held it. Each lock guards plain values, which the next
//! assignment makes whole again, so other calls need not fail.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Takes a lock.
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes a lock to read, beside other readers.
pub fn read<T: ?Sized>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

/// Takes a lock to write, alone.
pub fn write<T: ?Sized>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

/// A value that is read at its first use and dropped when it changes: its last reading, as long as that is valid.
pub struct Cached<T>(Mutex<Reading<T>>);

struct Reading<T> {
    value: Option<Arc<T>>,
    /// Counts the changes, so that a reading which began before a change is not kept.
    changes: u64,
}

impl<T> Default for Cached<T> {
    fn default() -> Self {
        Self(Mutex::new(Reading { value: None, changes: 0 }))
    }
}

impl<T> Cached<T> {
    /// The value, or a ticket with which a reading that begins now can be kept.
    ///
    /// # Errors
    /// The ticket, if the value must be read.
    pub fn get(&self) -> Result<Arc<T>, Ticket> {
        let held = lock(&self.0);
        held.value.clone().ok_or(Ticket(held.changes))
    }

    /// Keeps a reading, unless the value changed since it began.
    pub fn keep(&self, ticket: Ticket, value: T) -> Arc<T> {
        let value = Arc::new(value);
        let mut held = lock(&self.0);
        if held.changes == ticket.0 {
            held.value = Some(Arc::clone(&value));
        }
        value
    }

    /// Drops the value, because it changed.
    pub fn forget(&self) {
        self.forget_if(|_| true);
    }

    /// Drops the value if a change touches it. A reading that is under way may lack the change and is not kept.
    pub fn forget_if(&self, is_touched: impl FnOnce(&T) -> bool) {
        let mut held = lock(&self.0);
        if held.value.as_deref().is_none_or(is_touched) {
            held.value = None;
            held.changes += 1;
        }
    }
}

/// Marks when a reading began.
#[derive(Debug)]
pub struct Ticket(u64);

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    #[test]
    fn a_panic_under_a_lock_does_not_poison_it() {
        let (mutex, rw) = (Mutex::new(1), RwLock::new(1));
        let failed = catch_unwind(AssertUnwindSafe(|| {
            let (mut one, mut other) = (lock(&mutex), write(&rw));
            (*one, *other) = (2, 2);
            panic!("while both are held");
        }));
        assert!(failed.is_err() && mutex.is_poisoned() && rw.is_poisoned());
        assert_eq!(*lock(&mutex), 2);
        assert_eq!(*read(&rw), 2);
        assert_eq!(*write(&rw), 2);
    }

    #[test]
    fn a_reading_that_began_before_a_change_is_not_kept() {
        let cached = Cached::default();
        let early = cached.get().unwrap_err();
        cached.forget();
        assert_eq!(*cached.keep(early, "old"), "old", "whoever read it gets it");
        let ticket = cached.get().expect_err("it was not kept");
        cached.keep(ticket, "new");
        cached.forget_if(|value| *value == "old");
        assert_eq!(cached.get().map(|value| *value).ok(), Some("new"), "no change touched it");
        cached.forget_if(|value| *value == "new");
        assert!(cached.get().is_err());
    }
}
