//! The handle of one job loop: wakes the loop, and shows its state and what it has counted.

use std::{collections::VecDeque, sync::Mutex, time::Duration};

use tokio::sync::{Notify, watch};

use super::WorkerState;
use crate::lock;

/// Samples of the lag that are kept.
const LAGS_MAX: usize = 1_000;

/// Counts and notes of one kind of job since the daemon began.
#[derive(Debug, Default)]
pub(crate) struct Record {
    /// The model in use, as the provider names it.
    pub(crate) model: Option<String>,
    /// Why the provider could not be used at the last attempt.
    pub(crate) fault: Option<String>,
    /// Attempts that failed.
    pub(crate) failures: u64,
    /// Why the last of them failed, if the provider has not answered since.
    pub(crate) failure: Option<String>,
    /// Jobs that were done.
    pub(crate) done: u64,
    /// Times from cause to end, of the latest jobs; at most [`LAGS_MAX`].
    pub(crate) lags: VecDeque<Duration>,
}

impl Record {
    pub(crate) fn count_done(&mut self, lag: Option<Duration>) {
        self.done += 1;
        if let Some(lag) = lag {
            if self.lags.len() >= LAGS_MAX {
                self.lags.pop_front();
            }
            self.lags.push_back(lag);
        }
    }
}

/// What happened since the loop looked last.
#[derive(Debug, Default)]
pub(crate) struct Wakes {
    /// There may be new work.
    pub(crate) woken: bool,
    /// A person changed something that may unblock the loop.
    pub(crate) unblocked: bool,
}

/// The handle of one loop.
pub(crate) struct Queue {
    wake_up: Notify,
    wakes: Mutex<Wakes>,
    state: watch::Sender<WorkerState>,
    record: Mutex<Record>,
}

impl Queue {
    pub(crate) fn new() -> Self {
        Self {
            wake_up: Notify::new(),
            wakes: Mutex::default(),
            state: watch::Sender::new(WorkerState::Off),
            record: Mutex::default(),
        }
    }

    /// Wakes the loop: there may be work.
    pub(crate) fn wake(&self) {
        lock(&self.wakes).woken = true;
        self.wake_up.notify_one();
    }

    /// Wakes the loop and ends its block: a person changed something.
    pub(crate) fn unblock(&self) {
        lock(&self.wakes).unblocked = true;
        self.wake();
    }

    /// Waits until the loop is woken. A wake-up before the call counts.
    pub(crate) async fn woken(&self) {
        self.wake_up.notified().await;
    }

    /// Takes what happened since the loop looked last.
    pub(crate) fn take_wakes(&self) -> Wakes {
        std::mem::take(&mut *lock(&self.wakes))
    }

    /// Whether there may be work that the loop has not looked at yet.
    pub(crate) fn is_woken(&self) -> bool {
        lock(&self.wakes).woken
    }

    pub(crate) fn state(&self) -> WorkerState {
        self.state.borrow().clone()
    }

    /// Receives each change of the state.
    pub(crate) fn states(&self) -> watch::Receiver<WorkerState> {
        self.state.subscribe()
    }

    pub(crate) fn set(&self, kind: &'static str, state: WorkerState) {
        self.state.send_if_modified(|now| {
            let is_new = *now != state;
            if is_new {
                match &state {
                    WorkerState::Unusable(why) | WorkerState::Waiting(why) => {
                        tracing::warn!(kind, state = state.name(), why, "worker");
                    }
                    _ => tracing::debug!(kind, state = state.name(), "worker"),
                }
                *now = state;
            }
            is_new
        });
    }

    /// Reads or changes the counts.
    pub(crate) fn record<T>(&self, act: impl FnOnce(&mut Record) -> T) -> T {
        act(&mut lock(&self.record))
    }
}
