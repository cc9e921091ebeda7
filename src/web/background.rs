//! Slow work that a page starts and does not wait for. One piece runs at a time, and a page shows its progress.

use std::{
    future::Future,
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::sync::Semaphore;

use super::failure::Failure;
use cerebro_core::sync::lock;

/// The progress of the work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Progress {
    /// None was started, or the last one is done.
    Idle,
    UnderWay,
    /// The last one failed.
    Failed(Failure),
}

/// One kind of work. Clones are handles to the same one.
#[derive(Clone)]
pub(super) struct Background {
    /// One permit, held while the work is under way.
    turn: Arc<Semaphore>,
    failure: Arc<Mutex<Option<Failure>>>,
}

impl Background {
    pub(super) fn new() -> Self {
        Self { turn: Arc::new(Semaphore::new(1)), failure: Arc::default() }
    }

    pub(super) fn progress(&self) -> Progress {
        if self.turn.available_permits() == 0 {
            return Progress::UnderWay;
        }
        lock(&self.failure).clone().map_or(Progress::Idle, Progress::Failed)
    }

    /// Starts the work, unless it is under way already, and returns its result if it is done in time. The work goes on
    /// even if the caller does not.
    pub(super) async fn start<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, Failure>> + Send + 'static,
        wait: Duration,
    ) -> Result<Option<T>, Failure> {
        let Ok(turn) = Arc::clone(&self.turn).try_acquire_owned() else { return Ok(None) };
        let failure = Arc::clone(&self.failure);
        let working = tokio::spawn(async move {
            let _turn = turn;
            let done = work.await;
            *lock(&failure) = done.as_ref().err().cloned();
            done
        });
        match tokio::time::timeout(wait, working).await {
            Ok(Ok(done)) => done.map(Some),
            // It is still under way, or it panicked, which is in the log.
            Ok(Err(_)) | Err(_) => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;
    use tokio::sync::oneshot;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn work_that_takes_long_goes_on_and_is_not_started_twice() {
        let background = Background::new();
        let (done, wait) = oneshot::channel();
        let slow = async { wait.await.unwrap() };
        assert_eq!(background.start(slow, Duration::ZERO).await, Ok(None));
        assert_eq!(background.progress(), Progress::UnderWay);
        assert_eq!(background.start(async { Ok(2) }, LONG).await, Ok(None), "one at a time");
        done.send(Ok(1)).unwrap();
        while background.progress() == Progress::UnderWay {
            tokio::task::yield_now().await;
        }
        assert_eq!(background.start(async { Ok(3) }, LONG).await, Ok(Some(3)));
        assert_eq!(background.progress(), Progress::Idle);
    }

    #[tokio::test]
    async fn a_failure_is_shown_until_the_next_start() {
        let background = Background::new();
        let failure = Failure::new(StatusCode::CONFLICT, "No.", "Not now.");
        let failing = failure.clone();
        assert_eq!(background.start(async { Err::<(), _>(failing) }, LONG).await, Err(failure.clone()));
        assert_eq!(background.progress(), Progress::Failed(failure));
        assert_eq!(background.start(async { Ok(1) }, LONG).await, Ok(Some(1)));
        assert_eq!(background.progress(), Progress::Idle);
    }
}
