//! Carrying tombstones over: a restore keeps those of the database that it replaces, so that texts that were corrected
//! since the backup do not come back unnoticed.

use std::{collections::BTreeSet, path::Path};

use super::{super::guard, BackupError, Clock};
use cerebro_core::domain::{Memory, MemoryId};
use cerebro_store::{Store, StoreError, Tombstone};

/// How many rows are read or written at once.
const BATCH: usize = 500;

/// Copies the tombstones of the database that is replaced into the new one. Returns the live memories of the new one whose
/// text was corrected, superseded or deleted by then.
///
/// # Errors
/// When the new database fails. If the replaced one cannot be read, there is nothing to copy.
pub(super) async fn tombstones(
    replaced: &Path,
    made: &Path,
    index_dir: &Path,
    clock: Clock,
) -> Result<Vec<MemoryId>, BackupError> {
    let tombstones = match noted(replaced, clock).await {
        Ok(tombstones) => tombstones,
        Err(error) => {
            tracing::warn!(%error, "what the replaced memory knew of corrected texts cannot be read");
            return Ok(Vec::new());
        }
    };
    if tombstones.is_empty() {
        return Ok(Vec::new());
    }
    let secret = guard::secret(index_dir).map_err(|source| BackupError::Folder {
        verb: "read the key of tombstones beside",
        path: index_dir.to_path_buf(),
        source,
    })?;
    let store = Store::open(made, clock, Box::new(|_| {})).await?.with_secret(&secret.0);
    let carried = carried(&store, &tombstones).await;
    store.close().await?;
    Ok(carried?)
}

async fn noted(replaced: &Path, clock: Clock) -> Result<Vec<Tombstone>, StoreError> {
    let store = Store::open(replaced, clock, Box::new(|_| {})).await?;
    let tombstones = all(&store).await;
    store.close().await?;
    tombstones
}

async fn all(store: &Store) -> Result<Vec<Tombstone>, StoreError> {
    let (mut tombstones, mut after): (Vec<Tombstone>, Option<String>) = (Vec::new(), None);
    loop {
        let page = store.tombstones().page(after.as_deref(), BATCH).await?;
        let Some((last, _)) = page.last() else { return Ok(tombstones) };
        after = Some(last.clone());
        tombstones.extend(page.into_iter().map(|(_, tombstone)| tombstone));
    }
}

async fn carried(store: &Store, tombstones: &[Tombstone]) -> Result<Vec<MemoryId>, StoreError> {
    let known: BTreeSet<_> = all(store).await?.into_iter().map(|tombstone| tombstone.key).collect();
    let newer: Vec<Tombstone> =
        tombstones.iter().filter(|tombstone| !known.contains(&tombstone.key)).cloned().collect();
    for some in newer.chunks(BATCH) {
        store.tombstones().take_over(some).await?;
    }
    let (mut again, mut after): (Vec<MemoryId>, Option<String>) = (Vec::new(), None);
    loop {
        let page = store.memories().page(after.as_deref(), BATCH).await?;
        let Some((last, _)) = page.last() else { return Ok(again) };
        after = Some(last.clone());
        let live: Vec<Memory> = page.into_iter().map(|(_, memory)| memory).filter(Memory::is_live).collect();
        again.extend(store.tombstones().said_by(&live, &newer));
    }
}
