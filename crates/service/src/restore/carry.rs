//! Carrying tombstones over: a restore keeps those of the database that it replaces. So texts that were corrected since the
//! backup do not come back unnoticed, and what was forgotten of past sessions does not come back at all.
//!
//! The keys of texts are made with the secret of the home, which stays in the home; so they are copied as they are.

use std::{collections::BTreeSet, path::Path};

use crate::{
    Clock, Forgotten, Service, ServiceError,
    backup::{BackupError, RestoreRequest, io_fault},
    guard,
    meant::Carried,
};
use cerebro_core::domain::{HistoryTombstone, Memory, MemoryId};
use cerebro_store::{ForgottenText, Store, StoreError, Tombstone};

/// How many rows are read or written at once.
const BATCH: usize = 500;

/// The result of carrying tombstones over.
#[derive(Debug, Default)]
pub(super) struct CarriedOver {
    /// The live memories whose text was corrected, superseded or deleted since the backup.
    pub said_again: Vec<MemoryId>,
    /// What was forgotten after the backup, and is now forgotten again.
    pub forgotten: Forgotten,
    /// Whether the replaced database cannot be read.
    pub is_unread: bool,
}

/// What a database knows of texts that no longer hold or were forgotten.
#[derive(Default)]
struct Noted {
    tombstones: Vec<Tombstone>,
    history: Vec<HistoryTombstone>,
    texts: Vec<ForgottenText>,
}

/// Copies the tombstones of the database that is replaced into the new one, and forgets there what they stand for.
/// `scratch` is a folder for temporary files.
///
/// # Errors
/// When the new database fails. If the replaced one cannot be read, there is nothing to copy.
pub(super) async fn over(
    RestoreRequest { store_dir: replaced, index_dir, .. }: RestoreRequest<'_>,
    made: &Path,
    scratch: &Path,
    clock: Clock,
) -> Result<CarriedOver, BackupError> {
    let noted = match noted_in(replaced, clock).await {
        Ok(noted) => noted,
        Err(error) => {
            tracing::warn!(%error, "what the replaced memory knew of corrected and forgotten texts cannot be read");
            return Ok(CarriedOver { is_unread: true, ..CarriedOver::default() });
        }
    };
    if noted.tombstones.is_empty() && noted.history.is_empty() && noted.texts.is_empty() {
        return Ok(CarriedOver::default());
    }
    let secret =
        guard::secret(index_dir).map_err(io_fault("read the key of tombstones beside", index_dir))?;
    let store = Store::open(made, clock, Box::new(|_| {})).await?.with_secret(&secret);
    let failed = |error: ServiceError| BackupError::NotForgotten(error.to_string());
    let service = Service::unindexed(store, made, scratch).map_err(failed)?;
    let carried = Box::pin(carried(&service, noted)).await;
    service.close().await.map_err(failed)?;
    carried.map_err(failed)
}

async fn noted_in(replaced: &Path, clock: Clock) -> Result<Noted, StoreError> {
    let store = Store::open(replaced, clock, Box::new(|_| {})).await?;
    let noted = noted(&store).await;
    store.close().await?;
    noted
}

async fn noted(store: &Store) -> Result<Noted, StoreError> {
    let mut noted = Noted { texts: store.history().records_of_forgotten_texts().await?, ..Noted::default() };
    let mut pages = store.tombstones().walk();
    while let Some(page) = pages.next().await? {
        noted.tombstones.extend(page);
    }
    let mut pages = store.history().walk_of_tombstones();
    while let Some(page) = pages.next().await? {
        noted.history.extend(page);
    }
    Ok(noted)
}

impl Noted {
    /// The records that another database does not have.
    fn without(mut self, known: &Self) -> Self {
        let keys: BTreeSet<_> = known.tombstones.iter().map(|tombstone| &tombstone.key).collect();
        self.tombstones.retain(|tombstone| !keys.contains(&tombstone.key));
        let digests: BTreeSet<_> = known.history.iter().collect();
        self.history.retain(|tombstone| !digests.contains(tombstone));
        let texts: BTreeSet<_> = known.texts.iter().map(ForgottenText::key).collect();
        self.texts.retain(|text| !texts.contains(text.key()));
        self
    }
}

async fn carried(service: &Service, noted: Noted) -> Result<CarriedOver, ServiceError> {
    let store = &service.base.store;
    let mut newer = noted.without(&self::noted(store).await?);
    // A citation that was removed since the backup is there again, so it has no tombstone.
    let cited = store.citations().among(&newer.history.iter().cloned().collect()).await?;
    newer.history.retain(|tombstone| !cited.contains(tombstone));
    for some in newer.tombstones.chunks(BATCH) {
        store.tombstones().take_over(some).await?;
    }
    for some in newer.history.chunks(BATCH) {
        store.change(|write| write.put_history_tombstones(some.to_vec())).await?;
    }
    for some in newer.texts.chunks(BATCH) {
        store.change(|write| write.take_over_forgotten_texts(some.to_vec())).await?;
    }
    let forgotten = if newer.history.is_empty() && newer.texts.is_empty() {
        Forgotten::default()
    } else {
        let texts = store.history().recognising(newer.texts);
        service.forget_again(&Carried { tombstones: newer.history.into_iter().collect(), texts }).await?
    };
    let mut said_again: Vec<MemoryId> = Vec::new();
    let mut pages = store.memories().walk();
    while let Some(page) = pages.next().await? {
        let live: Vec<Memory> = page.into_iter().filter(Memory::is_live).collect();
        said_again.extend(store.tombstones().said_by(&live, &newer.tombstones));
    }
    Ok(CarriedOver { said_again, forgotten, is_unread: false })
}
