//! What goes with time, by the user's own setting: texts of closed work, then closed work.

use cerebro_core::domain::Timestamp;
use cerebro_core::redact::RedactedText;
use cerebro_ledger::seal::Leaf;
use cerebro_store::{Decision, StoredWork, Write};

use super::{PrunedWork, Retention};
use crate::{Service, ServiceError};

/// Most pieces of work of one transaction.
const BATCH: usize = 100;
/// Most batches of one call; the next call goes on.
const BATCHES_MAX: usize = 100;

impl Service {
    /// Takes away what is over its time. Work that is not closed is never touched. A seal says what went, so that it is
    /// no tampering.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] where the journal is off, or a failing store.
    pub async fn work_prune(&self, retention: Retention) -> Result<PrunedWork, ServiceError> {
        self.needs_journal()?;
        let mut pruned = PrunedWork::default();
        let now = self.now();
        for _ in 0..BATCHES_MAX {
            let gone = self.store().latest_works(false, None, before(now, retention.works), BATCH).await?;
            if gone.is_empty() {
                break;
            }
            let leaf = |stored: &StoredWork| {
                let work = &stored.work;
                Leaf { work: work.id, seq: work.seq, head: work.head, pruned: true }
            };
            let leaves: Vec<Leaf> = gone.iter().map(leaf).collect();
            let mut slot = self.journal().sealed.lock().await;
            self.seal(&mut slot, leaves).await?;
            pruned.works += gone.len() as u64;
        }
        pruned.texts = self.purge_texts(before(now, retention.texts)).await?;
        for _ in 0..BATCHES_MAX {
            let ids = self.store().unnamed_artifacts(BATCH).await?;
            if ids.is_empty() {
                break;
            }
            pruned.artifacts += ids.len() as u64;
            self.store().transact(&Drop { ids: &ids }).await?;
        }
        Ok(pruned)
    }

    /// Takes away the texts of work that was closed before a moment, and says how many events had one.
    async fn purge_texts(&self, before: Timestamp) -> Result<u64, ServiceError> {
        let (mut texts, mut before) = (0, before);
        for _ in 0..BATCHES_MAX {
            let page = self.store().latest_works(false, None, before, BATCH).await?;
            let Some(last) = page.last() else { break };
            before = last.work.active_at;
            let is_last = page.len() < BATCH;
            for stored in page {
                // A title goes with the texts, so one without has none.
                if stored.work.title.is_empty() {
                    continue;
                }
                let kept = self.all_events(&stored.work.id, stored.work.seq).await?;
                let numbers: Vec<u64> =
                    kept.iter().filter(|kept| kept.body.is_some()).map(|kept| kept.seq).collect();
                texts += numbers.len() as u64;
                self.store().transact(&Purge { stored: &stored, numbers: &numbers }).await?;
                self.journal().forget(&stored.work.id);
            }
            if is_last {
                break;
            }
        }
        Ok(texts)
    }
}

fn before(now: Timestamp, age: std::time::Duration) -> Timestamp {
    let age = jiff::SignedDuration::try_from(age).unwrap_or(jiff::SignedDuration::MAX);
    now.checked_sub(age).unwrap_or(Timestamp::MIN)
}

struct Purge<'a> {
    stored: &'a StoredWork,
    numbers: &'a [u64],
}

impl Decision for Purge<'_> {
    type Output = ();
    type Error = ServiceError;

    async fn decide(&self, write: &mut Write<'_>) -> Result<(), ServiceError> {
        let Some(mut stored) = write.store().work(&self.stored.work.id).await? else { return Ok(()) };
        // Somebody went on with it: it is not closed any more.
        if stored.work.seq == self.stored.work.seq {
            stored.work.title = RedactedText::default();
            write.purge_texts(&stored, self.numbers);
        }
        Ok(())
    }
}

struct Drop<'a> {
    ids: &'a [String],
}

impl Decision for Drop<'_> {
    type Output = ();
    type Error = ServiceError;

    async fn decide(&self, write: &mut Write<'_>) -> Result<(), ServiceError> {
        write.drop_artifacts(self.ids.to_vec());
        Ok(())
    }
}
