//! Writes that conflict with another writer are tried again: how often, and after which wait.

use std::time::Duration;

use rand::Rng as _;

use surrealdb::IndexedResults;

use super::{EngineError, Store, StoreError, read::Vars, statement::Statement};
use cerebro_core::domain::limits::{WRITE_ATTEMPTS_MAX, WRITE_PAUSE_MAX};
use cerebro_core::pace;

/// The attempts of one write.
///
/// Of conflicting writers one always commits, possibly the same one again and again. So a writer that lost waits
/// for a random time, up to twice as long after each attempt ("full jitter", from M. Brooker, "Exponential Backoff
/// And Jitter", AWS Architecture Blog, 2015), and soon gets in between two writes of the other.
pub(super) struct Attempts {
    /// What is written, for messages.
    write: &'static str,
    made: u32,
}

impl Attempts {
    pub fn of(write: &'static str) -> Self {
        Self { write, made: 0 }
    }

    /// Waits until the next attempt.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] after [`WRITE_ATTEMPTS_MAX`].
    pub async fn again(&mut self) -> Result<(), StoreError> {
        self.made += 1;
        if self.made >= WRITE_ATTEMPTS_MAX {
            return Err(StoreError::Conflict(self.write));
        }
        tracing::debug!(write = self.write, attempt = self.made, "a write met another one");
        let pause = rand::rng().random_range(Duration::ZERO..=longest(self.made));
        tokio::time::sleep(pause).await;
        Ok(())
    }
}

/// The longest wait after the attempt with the number `made`.
fn longest(made: u32) -> Duration {
    pace::doubled(Duration::from_millis(1), made, WRITE_PAUSE_MAX)
}

impl Store {
    /// Runs a writing statement, and again while other writes conflict with it on the same rows.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] after [`WRITE_ATTEMPTS_MAX`]; a failing store.
    pub(super) async fn execute(&self, statement: Statement, vars: Vars) -> Result<(), StoreError> {
        self.execute_script(statement.name, statement.text, vars).await.map(drop)
    }

    /// As [`Self::execute`], for a script under a name for messages. Returns its answers.
    pub(super) async fn execute_script(
        &self,
        name: &'static str,
        text: &str,
        vars: Vars,
    ) -> Result<IndexedResults, StoreError> {
        let mut attempts = Attempts::of(name);
        loop {
            match self.engine()?.script(name, text, vars.0.clone()).await {
                Err(EngineError::Conflict(_)) => attempts.again().await?,
                done => return Ok(done?),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn they_end() {
        let mut attempts = Attempts::of("a test");
        for _ in 1..WRITE_ATTEMPTS_MAX {
            attempts.again().await.unwrap();
        }
        assert!(matches!(attempts.again().await, Err(StoreError::Conflict("a test"))));
    }

    #[test]
    fn waits_grow_to_a_bound() {
        assert_eq!(longest(1), Duration::from_millis(2));
        assert_eq!(longest(3), Duration::from_millis(8));
        assert_eq!(longest(u32::MAX), WRITE_PAUSE_MAX);
    }
}
