//! The background tasks and the open handles of a service, which closing waits for.

use std::{
    collections::BTreeMap,
    future::Future,
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{sync::Semaphore, task::JoinHandle};
use tokio_util::{
    sync::CancellationToken,
    task::{TaskTracker, task_tracker::TaskTrackerToken},
};

use crate::{ServiceError, lock};

/// Does work that takes long on a thread for blocking work.
///
/// # Errors
/// [`ServiceError::BrokeOff`] if it panics; `work` says what it was.
pub(crate) async fn on_a_thread<T: Send + 'static>(
    work: &'static str,
    done: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ServiceError> {
    tokio::task::spawn_blocking(done).await.map_err(|_| ServiceError::BrokeOff { work })
}

/// Held while the work of [`one_at_a_time`] is done.
static TURN: Semaphore = Semaphore::const_new(1);

/// As [`on_a_thread`], for work that computes for long while no caller waits: one at a time, so that calls find a processor.
/// It may not wait for a disk that may not answer.
///
/// # Errors
/// As [`on_a_thread`].
pub(crate) async fn one_at_a_time<T: Send + 'static>(
    work: &'static str,
    done: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ServiceError> {
    let _place = TURN.acquire().await;
    on_a_thread(work, done).await
}

/// How many tasks of each name run.
type Running = Arc<Mutex<BTreeMap<&'static str, usize>>>;

/// Starts background tasks, stops them and waits for them. A clone is another handle to the same tasks.
#[derive(Clone, Default)]
pub(super) struct Tasks {
    tracker: TaskTracker,
    stop: CancellationToken,
    running: Running,
}

/// Counts a task as running while it lives.
struct Entry {
    running: Running,
    name: &'static str,
}

impl Drop for Entry {
    fn drop(&mut self) {
        if std::thread::panicking() {
            tracing::error!(task = self.name, "a background task panicked and has ended");
        }
        let mut running = lock(&self.running);
        if let Some(count) = running.get_mut(self.name) {
            *count -= 1;
            if *count == 0 {
                running.remove(self.name);
            }
        }
    }
}

impl Tasks {
    /// Starts a task. `name` says in the log what it was, should it still run when the service closes.
    pub(super) fn spawn<F>(&self, name: &'static str, work: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        *lock(&self.running).entry(name).or_default() += 1;
        let entry = Entry { running: Arc::clone(&self.running), name };
        self.tracker.spawn(async move {
            let _entry = entry;
            work.await
        })
    }

    /// A token that [`Self::ended`] waits for, as for a task.
    pub(super) fn token(&self) -> TaskTrackerToken {
        self.tracker.token()
    }

    /// Cancelled when the service closes.
    pub(super) fn stopping(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// Asks the tasks to stop.
    pub(super) fn stop(&self) {
        self.stop.cancel();
        self.tracker.close();
    }

    /// Waits until all tasks have ended and all tokens are dropped, after [`Self::stop`].
    ///
    /// # Errors
    /// When that takes longer than `most`: what still runs, in words.
    pub(super) async fn ended(&self, most: Duration) -> Result<(), String> {
        if tokio::time::timeout(most, self.tracker.wait()).await.is_ok() {
            return Ok(());
        }
        let named: Vec<String> =
            lock(&self.running).iter().map(|(name, count)| format!("{count} × {name}")).collect();
        Err(if named.is_empty() { "calls".to_owned() } else { named.join(", ") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_does_not_end_in_time_is_named() {
        let tasks = Tasks::default();
        let stopping = tasks.stopping();
        tasks.spawn("obedient", async move { stopping.cancelled().await });
        let (release, held) = tokio::sync::oneshot::channel::<()>();
        tasks.spawn("stubborn", held);
        tasks.stop();
        assert_eq!(tasks.ended(Duration::from_millis(50)).await, Err("1 × stubborn".to_owned()));
        let token = tasks.token();
        release.send(()).unwrap();
        assert_eq!(tasks.ended(Duration::from_millis(50)).await, Err("calls".to_owned()));
        drop(token);
        assert_eq!(tasks.ended(Duration::from_secs(5)).await, Ok(()));
    }
}
