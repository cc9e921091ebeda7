//! Pruning by the user's settings: first the texts of closed work, later the closed work.

use cerebro_core::domain::Timestamp;
use cerebro_core::redact::RedactedText;
use cerebro_ledger::{Work, is_of_key, seal::Leaf};
use cerebro_store::{StoredWork, Write};

use super::{PrunedWork, Retention};
use crate::{Journal, ServiceError};

/// Most pieces of work of one transaction.
const BATCH: usize = 100;
/// Most batches of one call. The next call continues.
const BATCHES_MAX: usize = 100;

impl Journal {
    /// Removes what is too old. Work that is not closed is never touched. A seal records what was removed, so that it
    /// does not count as tampering.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] where the journal is off, or a failing store.
    pub async fn prune(&self, retention: Retention) -> Result<PrunedWork, ServiceError> {
        self.needs_journal()?;
        let mut pruned = PrunedWork::default();
        let now = self.base.now();
        let (works, mut until) = (self.base.store.works(), Some((before(now, retention.works), None)));
        while let Some(page) = works.latest_page(false, None, &mut until, BATCH).await? {
            let mut slot = self.held.sealed.lock().await;
            let leaves = self.leaves_to_prune(page).await?;
            let count = leaves.len() as u64;
            // A piece of work that somebody resumes just now stays, and so does the rest of its batch, until the next time.
            if count > 0 && self.seal(&mut slot, leaves).await? {
                pruned.works += count;
                self.held.forget();
            }
        }
        pruned.texts = self.purge_texts(before(now, retention.texts)).await?;
        pruned.artifacts = self.drop_unnamed_artifacts().await?;
        Ok(pruned)
    }

    /// Removes the artifacts that no event has any more, and returns their number.
    pub(super) async fn drop_unnamed_artifacts(&self) -> Result<u64, ServiceError> {
        let mut dropped = 0;
        for _ in 0..BATCHES_MAX {
            let ids = self.base.store.artifacts().unreferenced(BATCH).await?;
            if ids.is_empty() {
                break;
            }
            dropped += ids.len() as u64;
            self.base.store.change(|write| write.drop_artifacts(ids.clone())).await?;
        }
        Ok(dropped)
    }

    /// The leaves for a seal over pieces of work that are removed. A piece that does not verify stays: a seal would make it
    /// look right, and without it nobody could find out what is wrong.
    async fn leaves_to_prune(&self, works: Vec<StoredWork>) -> Result<Vec<Leaf>, ServiceError> {
        let mut leaves = Vec::with_capacity(works.len());
        for stored in works {
            if stored.work.key_id == self.held.key_id {
                leaves.extend(self.sound_leaf(stored, true).await?);
            } else if !self.is_own(&stored.work).await? {
                let Work { id, seq, head, .. } = stored.work;
                leaves.push(Leaf { work: id, seq, head, pruned: true });
            }
        }
        Ok(leaves)
    }

    /// Whether a piece of work whose row names another home belongs to this one.
    async fn is_own(&self, work: &Work) -> Result<bool, ServiceError> {
        let rows = self.all_events(work).await?;
        Ok(is_of_key(&self.held.key, work, &rows))
    }

    /// Removes the texts of work that was closed before a moment, and returns the number of events that had one.
    async fn purge_texts(&self, before: Timestamp) -> Result<u64, ServiceError> {
        let (mut texts, mut place) = (0, Some((before, None)));
        while let Some(page) = self.base.store.works().latest_page(false, None, &mut place, BATCH).await? {
            for stored in page {
                // The title is removed with the texts, so a piece without a title is done. A piece that does not verify
                // keeps its texts.
                let is_own = stored.work.key_id == self.held.key_id;
                if stored.work.title.is_empty()
                    || (is_own && self.sound_leaf(stored.clone(), false).await?.is_none())
                {
                    continue;
                }
                let kept = self.all_events(&stored.work).await?;
                let numbers: Vec<u64> =
                    kept.iter().filter(|kept| kept.body.is_some()).map(|kept| kept.seq).collect();
                texts += numbers.len() as u64;
                let store = &self.base.store;
                store.transact(|write| Box::pin(purge_closed(write, &stored, &numbers))).await?;
                self.held.forget();
            }
        }
        Ok(texts)
    }
}

fn before(now: Timestamp, age: std::time::Duration) -> Timestamp {
    let age = jiff::SignedDuration::try_from(age).unwrap_or(jiff::SignedDuration::MAX);
    now.checked_sub(age).unwrap_or(Timestamp::MIN)
}

/// Removes the texts of some events of a piece of work, unless somebody has resumed it since it was read.
async fn purge_closed(write: &mut Write<'_>, read: &StoredWork, numbers: &[u64]) -> Result<(), ServiceError> {
    let Some(mut stored) = write.store().works().by_id(&read.work.id).await? else { return Ok(()) };
    if stored.work.seq == read.work.seq {
        let forks = write.store().checkpoints().forks().await?;
        stored.work.title = RedactedText::default();
        write.purge_texts(&stored, numbers, &forks);
    }
    Ok(())
}
