//! The calls under way, which background work gives way to.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use tokio::sync::Notify;

use cerebro_core::{pace, sync::lock};

/// How many pauses between calls are remembered.
const PAUSES: usize = 8;

#[derive(Debug, Default)]
struct Calls {
    under_way: usize,
    last_end: Option<Instant>,
    /// The last pauses without a call; zero where there was none yet.
    pauses: [Duration; PAUSES],
}

impl Calls {
    /// How long nobody has called; `None` while a call is under way.
    fn quiet(&self) -> Option<Duration> {
        (self.under_way == 0).then(|| self.last_end.map_or(Duration::MAX, |end| end.elapsed()))
    }

    fn shortest_pause(&self) -> Duration {
        self.pauses.into_iter().min().unwrap_or_default()
    }
}

/// Counts the calls of people and agents.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    calls: Mutex<Calls>,
    /// A call has ended.
    ended: Notify,
}

/// A call under way.
pub struct Busy(Arc<Traffic>);

impl Traffic {
    /// Waits until no caller is being served, within bounds, before work that may take long.
    pub(crate) async fn give_way(&self) {
        self.wait(Duration::ZERO, Duration::MAX).await;
    }

    /// As [`Self::give_way`], before a step that takes about `step`. Where calls come at regular intervals, it begins behind a
    /// call rather than before the next one. Returns whether a moment was found before the wait had to end.
    pub(crate) async fn give_way_for(&self, step: Duration) -> bool {
        self.wait(Duration::MAX, step).await
    }

    /// Pauses are expected to be as before, but not longer than `pause_max`.
    async fn wait(&self, pause_max: Duration, step: Duration) -> bool {
        let begun = Instant::now();
        loop {
            let ended = self.ended.notified();
            let (quiet, pause) = {
                let calls = lock(&self.calls);
                (calls.quiet(), calls.shortest_pause().min(pause_max))
            };
            let held = begun.elapsed();
            let Some(wait) = pace::give_way(quiet, pause, step, held) else { return held < pace::YIELD_MAX };
            // Either way, look again.
            let _ = tokio::time::timeout(wait, ended).await;
        }
    }

    /// How long nobody has called; zero while a call is under way.
    pub(crate) fn quiet(&self) -> Duration {
        lock(&self.calls).quiet().unwrap_or_default()
    }
}

impl Busy {
    pub(crate) fn begin(traffic: &Arc<Traffic>) -> Self {
        let mut calls = lock(&traffic.calls);
        if let Some(pause) = calls.quiet() {
            calls.pauses.rotate_left(1);
            calls.pauses[PAUSES - 1] = pause;
        }
        calls.under_way += 1;
        drop(calls);
        Self(Arc::clone(traffic))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let mut calls = lock(&self.0.calls);
        calls.under_way = calls.under_way.saturating_sub(1);
        calls.last_end = Some(Instant::now());
        drop(calls);
        self.0.ended.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_step_begins_at_once_behind_one_of_several_regular_calls() {
        let traffic = Arc::new(Traffic::default());
        let step = Duration::from_millis(10);
        assert!(traffic.give_way_for(step).await, "nobody has called");
        drop(Busy::begin(&traffic));
        assert_eq!(lock(&traffic.calls).shortest_pause(), Duration::ZERO, "too few calls to expect one");
        lock(&traffic.calls).pauses = [Duration::from_secs(600); PAUSES];
        assert!(traffic.give_way_for(step).await, "the next call is far away");
        let call = Busy::begin(&traffic);
        let mut waiting = Box::pin(traffic.give_way_for(step));
        assert!(futures::poll!(&mut waiting).is_pending(), "a call is under way");
        lock(&traffic.calls).pauses = [Duration::from_secs(600); PAUSES];
        drop(call);
        assert!(futures::poll!(&mut waiting).is_ready(), "it has ended");
    }
}
