//! The background task of the journal: it finds what was left open, seals, and removes what is too old. Nobody waits for
//! it.

use std::time::{Duration, Instant};

use cerebro_core::domain::{Timestamp, WorkId};
use cerebro_ledger::State;
use cerebro_store::PAGE;

use super::{Held, Retention, Swept};
use crate::{Journal, ServiceError, lock};

/// How often it looks whether there is something to do.
const ROUND: Duration = Duration::from_secs(30);
/// It seals at the end of a piece of work; otherwise after this many events, or this long after the last one.
const SEAL_EVENTS: usize = 500;
const SEAL_QUIET: Duration = Duration::from_secs(2 * 60);
/// How often it removes what is too old, counted across restarts.
const PRUNE_EVERY: jiff::SignedDuration = jiff::SignedDuration::from_hours(24);
/// How long the end of the process waits for the last seal. What is not sealed then is sealed at the next start.
const LAST_SEAL_MAX: Duration = Duration::from_secs(2);

/// What this process wrote that is not under a seal.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Unsealed {
    events: usize,
    last: Option<Instant>,
    /// Whether a piece of work has ended, or its agent is gone.
    has_end: bool,
}

impl Unsealed {
    fn add(&mut self, events: usize, is_end: bool, now: Instant) {
        self.events += events;
        self.last = Some(now);
        self.has_end |= is_end;
    }

    /// Whether it should be sealed now.
    fn is_due(&self, now: Instant) -> bool {
        let is_quiet = self.last.is_some_and(|last| now.duration_since(last) >= SEAL_QUIET);
        self.has_end || self.events >= SEAL_EVENTS || is_quiet
    }
}

impl Held {
    /// Called when events of a piece of work are on disk: remembers the state, and counts the events for the next seal.
    pub(super) fn wrote(&self, id: WorkId, state: State, events: usize) {
        let is_end = state.closed.is_some() || state.lost.is_some() || state.ended;
        self.remember(id, state);
        let mut unsealed = lock(&self.unsealed);
        unsealed.add(events, is_end, Instant::now());
        if unsealed.is_due(Instant::now()) {
            self.bell.notify_one();
        }
    }
}

impl Journal {
    /// Starts the task, which runs until the journal closes.
    pub(crate) fn keep(&self) {
        let Some(retention) = self.held.retention else { return };
        let (journal, stop) = (self.clone(), self.base.tasks.stopping());
        self.base.tasks.spawn("keeping the journal", async move {
            journal.take_over().await;
            loop {
                journal.keep_once(retention).await;
                tokio::select! {
                    () = tokio::time::sleep(ROUND) => {}
                    () = journal.held.bell.notified() => {}
                    () = stop.cancelled() => return,
                }
            }
        });
    }

    /// Examines what the previous process left, and seals what it did not seal.
    async fn take_over(&self) {
        // The first hint needs the head, so it waits for nothing but this.
        let mut slot = self.held.sealed.lock().await;
        if let Err(error) = self.sealed(&mut slot).await {
            tracing::warn!(%error, "the seals were not read; it is tried again");
        }
        drop(slot);
        match self.sweep().await {
            Ok(swept) if swept.open > 0 => tracing::info!(
                open = swept.open,
                lost = swept.lost,
                lapsed = swept.lapsed,
                unknown = swept.unknown,
                "work that is not at its end"
            ),
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "the journal was not looked through"),
        }
        self.seal_all().await;
    }

    /// One round: records gaps, removes what is too old, and seals.
    async fn keep_once(&self, retention: Retention) {
        self.remember_missed().await;
        self.record_missed().await;
        if let Err(error) = self.prune_when_due(retention).await {
            tracing::warn!(%error, "the journal was not pruned; it is tried again");
        }
        if lock(&self.held.unsealed).is_due(Instant::now()) {
            self.seal_all().await;
        }
    }

    async fn seal_all(&self) {
        let unsealed = std::mem::take(&mut *lock(&self.held.unsealed));
        if let Err(error) = self.head().await {
            tracing::warn!(%error, "the journal was not sealed; it is tried again");
            lock(&self.held.unsealed).add(unsealed.events, false, Instant::now());
        }
    }

    async fn prune_when_due(&self, retention: Retention) -> Result<(), ServiceError> {
        let now = self.base.now();
        let last = lock(&self.held.keyring).pruned_at();
        // A clock that went back must not prevent this for ever.
        if now.duration_since(last).abs() < PRUNE_EVERY {
            return Ok(());
        }
        self.prune(retention).await?;
        self.with_keys(move |keyring| keyring.pruned(now)).await
    }

    /// Records the gaps that can be recorded, and seals what this process wrote.
    pub(crate) async fn stop(&self) {
        if self.held.retention.is_none() {
            return;
        }
        let journal = self.clone();
        let last = self.base.tasks.spawn("sealing the journal", async move {
            journal.record_missed().await;
            let has_any = *lock(&journal.held.unsealed) != Unsealed::default();
            if has_any {
                journal.seal_all().await;
            }
        });
        if tokio::time::timeout(LAST_SEAL_MAX, last).await.is_err() {
            tracing::warn!("the journal was not sealed in time; the next start does it");
        }
    }

    /// Counts open pieces of work by their state. It reads rows only and folds nothing.
    pub async fn sweep(&self) -> Result<Swept, ServiceError> {
        let (now, mut place) = (self.base.now(), Some((Timestamp::MAX, None)));
        let mut swept = Swept::default();
        while let Some(page) = self.base.store.works().latest_page(true, None, &mut place, PAGE).await? {
            for stored in page {
                let work = stored.work;
                swept.open += 1;
                swept.lost += usize::from(work.lost);
                swept.lapsed += usize::from(work.lease.is_some_and(|lease| lease.until <= now));
                swept.unknown += usize::from(work.unknown > 0);
            }
        }
        Ok(swept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_sealed_at_an_end_after_many_events_and_when_it_is_quiet() {
        let begun = Instant::now();
        let mut unsealed = Unsealed::default();
        assert!(!unsealed.is_due(begun + 10 * SEAL_QUIET), "nothing was written");
        unsealed.add(1, false, begun);
        assert!(!unsealed.is_due(begun) && unsealed.is_due(begun + SEAL_QUIET));
        unsealed.add(SEAL_EVENTS - 2, false, begun);
        assert!(!unsealed.is_due(begun));
        unsealed.add(1, false, begun);
        assert!(unsealed.is_due(begun));
        let mut unsealed = Unsealed::default();
        unsealed.add(1, true, begun);
        assert!(unsealed.is_due(begun));
    }
}
