//! Writing again what met another writer: how often, and how long to wait before.

use std::time::Duration;

use rand::Rng as _;

use super::{EngineError, Store, StoreError, read::Vars, statement::Statement};
use cerebro_core::domain::limits::{WRITE_ATTEMPTS_MAX, WRITE_PAUSE_MAX};
use cerebro_core::pace;

/// The attempts of one write.
///
/// Of writers that meet, one always commits, and the same one may do so again and again. So whoever lost
/// waits a random while, up to twice as long each time ("full jitter", from M. Brooker, "Exponential Backoff
/// And Jitter", AWS Architecture Blog, 2015), and soon comes in between two writes of the other.
#[derive(Default)]
pub(super) struct Attempts {
    made: u32,
}

impl Attempts {
    /// Waits until it is time for one more.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] after [`WRITE_ATTEMPTS_MAX`].
    pub async fn again(&mut self) -> Result<(), StoreError> {
        self.made += 1;
        if self.made >= WRITE_ATTEMPTS_MAX {
            return Err(StoreError::Conflict);
        }
        tracing::debug!(attempt = self.made, "a write met another one");
        let pause = rand::rng().random_range(Duration::ZERO..=longest(self.made));
        tokio::time::sleep(pause).await;
        Ok(())
    }
}

/// The longest wait before the attempt after the `made`th.
fn longest(made: u32) -> Duration {
    pace::doubled(Duration::from_millis(1), made, WRITE_PAUSE_MAX)
}

impl Store {
    /// Runs a statement, again while other writes meet it on the same rows.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] after [`WRITE_ATTEMPTS_MAX`]; a failing store.
    pub(super) async fn retry_on_conflict(
        &self,
        statement: Statement,
        vars: Vars,
    ) -> Result<surrealdb::IndexedResults, StoreError> {
        let mut attempts = Attempts::default();
        loop {
            match self.engine()?.run(statement, vars.0.clone()).await {
                Err(EngineError::Conflict) => attempts.again().await?,
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
        let mut attempts = Attempts::default();
        for _ in 1..WRITE_ATTEMPTS_MAX {
            attempts.again().await.unwrap();
        }
        assert!(matches!(attempts.again().await, Err(StoreError::Conflict)));
    }

    #[test]
    fn waits_grow_to_a_bound() {
        assert_eq!(longest(1), Duration::from_millis(2));
        assert_eq!(longest(3), Duration::from_millis(8));
        assert_eq!(longest(u32::MAX), WRITE_PAUSE_MAX);
    }
}
