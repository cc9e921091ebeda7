//! Locks without poisoning.
//!
//! A panic while a lock is held ends only the call that held it. Each lock guards plain values, which the next
//! assignment makes whole again, so other calls need not fail.

use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

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
}
