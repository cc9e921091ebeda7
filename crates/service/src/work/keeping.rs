//! What the daemon does for the journal by itself: it looks what was left open, seals, and takes away what is over its
//! time. Nobody waits for any of it.

use std::time::Duration;

use cerebro_core::domain::Timestamp;
use cerebro_ledger::Status;

use super::Swept;
use crate::{Service, ServiceError};

/// How often it seals what went on.
const SEAL_EVERY: Duration = Duration::from_secs(60 * 60);
/// How many of those rounds lie between two prunings: a day.
const ROUNDS_PER_PRUNING: u32 = 24;
/// How many rows are read at once.
const PAGE: usize = 200;
/// Most open pieces of work that are looked at.
const SWEPT_MAX: usize = 10_000;

impl Service {
    /// Begins to keep the journal, until the service closes.
    pub(crate) fn keep_journal(&self) {
        if self.journal().retention.is_none() {
            return;
        }
        let (service, stop) = (self.clone(), self.0.tasks.stopping());
        self.0.tasks.spawn("keeping the journal", async move {
            match service.work_sweep().await {
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
            let mut round: u32 = 0;
            loop {
                tokio::select! {
                    () = tokio::time::sleep(SEAL_EVERY) => {}
                    () = stop.cancelled() => return,
                }
                round = round.wrapping_add(1);
                if let Err(error) = service.keep_once(round.is_multiple_of(ROUNDS_PER_PRUNING)).await {
                    tracing::warn!(%error, "the journal was not sealed; it is tried again in an hour");
                }
            }
        });
    }

    async fn keep_once(&self, prunes: bool) -> Result<(), ServiceError> {
        if let Some(retention) = self.journal().retention.filter(|_| prunes) {
            self.work_prune(retention).await?;
        }
        self.work_head().await.map(drop)
    }

    /// Counts what is open, by what is known of it. Rows only: whoever wants to know more folds one.
    ///
    /// # Errors
    /// A failing store.
    pub async fn work_sweep(&self) -> Result<Swept, ServiceError> {
        let (now, mut before) = (self.now(), Timestamp::MAX);
        let mut swept = Swept::default();
        while swept.open < SWEPT_MAX {
            let page = self.store().latest_works(true, None, before, PAGE).await?;
            let Some(last) = page.last() else { break };
            before = last.work.active_at;
            let is_last = page.len() < PAGE;
            for stored in page {
                let work = stored.work;
                swept.open += 1;
                swept.waiting += usize::from(work.status == Status::Waiting);
                swept.lost += usize::from(work.lost);
                swept.lapsed += usize::from(work.lease.is_some_and(|lease| lease.until <= now));
                swept.unknown += usize::from(stored.unknown > 0);
            }
            if is_last {
                break;
            }
        }
        Ok(swept)
    }
}
