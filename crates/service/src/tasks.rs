//! The background tasks and the open handles of a service, which closing waits for.

use std::{
    collections::BTreeMap,
    future::Future,
    sync::{Arc, LazyLock, Mutex},
    time::Duration,
};

use tokio::{
    runtime::{Builder, Runtime},
    sync::Semaphore,
    task::JoinHandle,
};
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

/// Most background threads for blocking work. More than one, because a disk that does not answer may hold one.
const BACKGROUND_THREADS_MAX: usize = 8;
/// Their stacks, as deep as those of the daemon's other threads.
const BACKGROUND_STACK_BYTES: usize = 10 << 20;

/// Threads of low priority, as are those that they start; `None` if they cannot be started. Only Linux can lower the
/// priority of single threads.
pub(crate) static BACKGROUND: LazyLock<Option<Runtime>> = LazyLock::new(|| {
    let mut threads = Builder::new_multi_thread();
    threads.thread_name("background").worker_threads(1);
    threads.max_blocking_threads(BACKGROUND_THREADS_MAX).thread_stack_size(BACKGROUND_STACK_BYTES);
    #[cfg(target_os = "linux")]
    threads.on_thread_start(|| {
        if let Err(error) = rustix::process::nice(15) {
            tracing::debug!(%error, "the priority of a thread could not be lowered");
        }
    });
    let threads = threads.enable_all().build();
    threads.inspect_err(|error| tracing::error!(%error, "the background threads cannot be started")).ok()
});

/// As [`on_a_thread`], for work that computes for long while no caller waits: on a thread of low priority.
///
/// # Errors
/// As [`on_a_thread`], also if there are no such threads.
pub(crate) async fn in_the_background<T: Send + 'static>(
    work: &'static str,
    done: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ServiceError> {
    let broke_off = ServiceError::BrokeOff { work };
    let Some(threads) = &*BACKGROUND else { return Err(broke_off) };
    threads.spawn_blocking(done).await.map_err(|_| broke_off)
}

/// Held while the work of [`one_at_a_time`] is done.
static TURN: Semaphore = Semaphore::const_new(1);

/// As [`in_the_background`], one at a time, so that calls find a processor. It may not wait for a disk that may not answer.
///
/// # Errors
/// As [`in_the_background`].
pub(crate) async fn one_at_a_time<T: Send + 'static>(
    work: &'static str,
    done: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ServiceError> {
    let _place = TURN.acquire().await;
    in_the_background(work, done).await
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
    async fn work_in_the_background_is_of_low_priority_and_may_panic() {
        #[cfg(target_os = "linux")]
        {
            let priority = || rustix::process::getpriority_process(None).unwrap();
            let own = priority();
            let lower = in_the_background("a test", priority).await.unwrap();
            assert!(own == 19 || lower > own, "{lower} is no lower priority than {own}");
            assert_eq!(priority(), own);
        }
        let broke_off = in_the_background::<()>("a test", || panic!("a fault of the work")).await;
        assert!(matches!(broke_off, Err(ServiceError::BrokeOff { work: "a test" })));
    }

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
