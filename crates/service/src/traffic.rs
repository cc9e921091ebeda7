//! The calls under way, which background work gives way to.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use cerebro_core::{pace, sync::lock};

#[derive(Debug, Default)]
struct Calls {
    under_way: usize,
    last_end: Option<Instant>,
}

/// Counts the calls of people and agents.
#[derive(Debug, Default)]
pub(crate) struct Traffic(Mutex<Calls>);

/// A call under way.
pub struct Busy(Arc<Traffic>);

impl Traffic {
    /// Waits until no caller is being served, within bounds. Returns whether it is so, rather than the end of patience.
    pub(crate) async fn give_way(&self) -> bool {
        let begun = Instant::now();
        while let Some(wait) = pace::give_way(self.quiet(), begun.elapsed()) {
            tokio::time::sleep(wait).await;
        }
        self.quiet() >= pace::QUIET
    }

    /// How long nobody has called; zero while a call is under way.
    pub(crate) fn quiet(&self) -> Duration {
        let calls = lock(&self.0);
        match (calls.under_way, calls.last_end) {
            (0, None) => Duration::MAX,
            (0, Some(end)) => end.elapsed(),
            _ => Duration::ZERO,
        }
    }
}

impl Busy {
    pub(crate) fn begin(traffic: &Arc<Traffic>) -> Self {
        lock(&traffic.0).under_way += 1;
        Self(Arc::clone(traffic))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let mut calls = lock(&self.0.0);
        calls.under_way = calls.under_way.saturating_sub(1);
        calls.last_end = Some(Instant::now());
    }
}
