//! Seals over the journal: making them, reading them again, and proofs.

use std::{collections::BTreeSet, io, sync::Arc};

use cerebro_core::domain::WorkId;
use cerebro_core::text;
use cerebro_ledger::{
    Status, Work, continues,
    seal::{Leaf, Log, Seal, verifier},
};
use cerebro_store::{PAGE, StoredWork, Write};

use super::{Actor, WorkHead, WorkProof, keys::Keyring, verifying::readable};
use crate::{Journal, ServiceError, lock};

/// Most pieces of work under one seal; the others come under the next.
const SEALED_AT_ONCE_MAX: usize = 1_000;
/// Most seals that one call makes.
const SEALS_AT_ONCE_MAX: usize = 100;
/// How long a key signs, in seconds: a day.
const EPOCH_SECONDS: i64 = 24 * 60 * 60;

/// The tree of the present journal, and its last seal.
pub(super) struct Sealed {
    pub log: Log,
    pub last: Option<Seal>,
    /// Whether all seals are there and as they were written. Otherwise nothing more is sealed, because a new seal would
    /// hide the fault.
    is_whole: bool,
    /// The public key that the last seal was signed with.
    pub public: [u8; 32],
}

/// Seals pieces of work, and removes those that are to be pruned. Returns whether it was done: nothing is pruned that has
/// changed since it was examined.
async fn put_seal(write: &mut Write<'_>, seal: &Seal, leaves: &[Leaf]) -> Result<bool, ServiceError> {
    let ids: Vec<WorkId> = leaves.iter().map(|leaf| leaf.work).collect();
    let mut works = write.store().works().by_ids(&ids).await?;
    let of = |stored: &StoredWork| leaves.iter().find(|leaf| leaf.work == stored.work.id);
    let is_as_seen = |stored: &StoredWork| {
        let work = &stored.work;
        of(stored).is_none_or(|leaf| !leaf.pruned || (leaf.seq == work.seq && work.status == Status::Closed))
    };
    if !works.iter().all(is_as_seen) {
        return Ok(false);
    }
    let mut gone = Vec::new();
    works.retain_mut(|stored| {
        let leaf = of(stored);
        stored.sealed = leaf.map_or(stored.sealed, |leaf| leaf.seq);
        let is_pruned = leaf.is_some_and(|leaf| leaf.pruned);
        if is_pruned {
            gone.push(stored.clone());
        }
        !is_pruned
    });
    write.seal_works(seal, works);
    let forks = if gone.is_empty() { Vec::new() } else { write.store().checkpoints().forks().await? };
    for stored in &gone {
        write.prune_work(stored, &forks);
    }
    Ok(true)
}

impl Journal {
    /// Seals what is not sealed yet, and returns the head, which a witness can write down. Each piece of work is sealed once,
    /// as it is when it is looked at: what happens in it meanwhile is for the next seal.
    ///
    /// Work that does not verify is not sealed, because a seal would make it look right. Events under an earlier seal were
    /// verified when that seal was made, and [`Self::verify`] compares them with it. So a long piece of work need not be
    /// read from its beginning.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] where the journal is off; a failing store, or a file of keys that cannot be written.
    pub async fn head(&self) -> Result<WorkHead, ServiceError> {
        self.needs_journal()?;
        let mut slot = self.held.sealed.lock().await;
        let (mut looked_at, mut refused) = (BTreeSet::new(), 0_usize);
        self.sealed(&mut slot).await?;
        for _ in 0..SEALS_AT_ONCE_MAX {
            let mut works = self.base.store.works().unsealed(SEALED_AT_ONCE_MAX).await?.readable;
            works.retain(|stored| stored.work.key_id == self.held.key_id && looked_at.insert(stored.work.id));
            let mut leaves = Vec::new();
            for stored in works {
                let id = stored.work.id;
                let newest = self.sealed(&mut slot).await?.log.newest(&id);
                match self.next_leaf(stored.work, newest).await? {
                    Some(leaf) => leaves.push(leaf),
                    None => refused += 1,
                }
            }
            if leaves.is_empty() {
                break;
            }
            self.seal(&mut slot, leaves).await?;
        }
        if refused > 0 {
            tracing::error!(works = refused, "what does not verify is not sealed; `cerebro work verify`");
        }
        let sealed = self.sealed(&mut slot).await?;
        let note = sealed.last.as_ref().map(|seal| seal.note(&sealed.public));
        Ok(WorkHead { size: sealed.log.size(), root: text::hex(&sealed.log.root()), note })
    }

    /// The proof that a piece of work is under a seal, up to the event that is sealed.
    ///
    /// # Errors
    /// [`ServiceError::NoWork`], or as [`Self::head`].
    pub async fn prove(&self, actor: &Actor, id: &WorkId) -> Result<Option<WorkProof>, ServiceError> {
        self.needs_journal()?;
        let work = self.stored_work(&actor.owner, id).await?.work;
        // Sealing looks at every piece of work. What is under a seal as it is now needs no new one.
        if !self.is_under_seal(&work).await? {
            self.head().await?;
        }
        let mut slot = self.held.sealed.lock().await;
        let sealed = self.sealed(&mut slot).await?;
        let (Some((leaf, inclusion)), Some(seal)) = (sealed.log.prove(id), &sealed.last) else {
            return Ok(None);
        };
        Ok(Some(WorkProof {
            work: id.to_string(),
            seq: leaf.seq,
            leaf: leaf.text(),
            index: inclusion.index,
            size: inclusion.size,
            path: inclusion.path.iter().map(|hash| text::hex(hash)).collect(),
            note: seal.note(&sealed.public),
            key: verifier(&seal.origin, &sealed.public),
        }))
    }

    /// Whether a piece of work is under a seal as it is now.
    async fn is_under_seal(&self, work: &Work) -> Result<bool, ServiceError> {
        let mut slot = self.held.sealed.lock().await;
        let proven = self.sealed(&mut slot).await?.log.prove(&work.id);
        Ok(proven.is_some_and(|(leaf, _)| (leaf.seq, leaf.head) == (work.seq, work.head)))
    }

    /// The leaf of a piece of work as it is now, if it continues from its newest one, or else from its origin.
    async fn next_leaf(&self, work: Work, newest: Option<Leaf>) -> Result<Option<Leaf>, ServiceError> {
        let key = self.held.key.of(&work.id);
        let from = newest.map_or_else(|| (0, key.origin(&work)), |leaf| (leaf.seq, leaf.head));
        let Some(later) = readable(self.events_after(&work.id, from.0, work.seq).await)? else {
            return Ok(None);
        };
        let leaf = Leaf { work: work.id, seq: work.seq, head: work.head, pruned: false };
        let work = self.as_written(&work).await?;
        Ok(continues(&key, &work, from, &later).then_some(leaf))
    }

    /// The leaf of a piece of work as it is now, if all of it verifies.
    pub(super) async fn sound_leaf(
        &self,
        stored: StoredWork,
        pruned: bool,
    ) -> Result<Option<Leaf>, ServiceError> {
        let Some((verified, _)) = readable(self.verified(&stored, &[].into()).await)? else {
            return Ok(None);
        };
        let work = stored.work;
        let leaf = Leaf { work: work.id, seq: work.seq, head: work.head, pruned };
        Ok(verified.findings.is_empty().then_some(leaf))
    }

    /// Seals leaves, in one transaction with their effect on rows: pruned rows are removed. Returns whether it was done.
    pub(super) async fn seal(
        &self,
        slot: &mut Option<Sealed>,
        leaves: Vec<Leaf>,
    ) -> Result<bool, ServiceError> {
        let now = self.base.now().as_second();
        let journal = &self.held;
        let sealed = self.sealed(slot).await?;
        if !sealed.is_whole {
            return Err(ServiceError::JournalAltered("a seal".to_owned()));
        }
        let next = self
            .with_keys(move |keyring| {
                keyring.is_over(now, EPOCH_SECONDS).then(|| keyring.draw_next()).transpose()
            })
            .await?;
        let (seal, public) = {
            let keyring = lock(&journal.keyring);
            let (epoch, key) = keyring.epoch().map_err(keys_failed)?;
            let texts = leaves.iter().map(Leaf::text).collect();
            (sealed.log.seal(keyring.origin(), texts, epoch, &key, next), key.public())
        };
        let done = self.base.store.transact(|write| Box::pin(put_seal(write, &seal, &leaves))).await;
        if !matches!(done, Ok(true)) {
            // The tree in memory is ahead of the store.
            *slot = None;
            return done;
        }
        sealed.public = public;
        *lock(&journal.head) = Some((sealed.log.size(), text::hex(&sealed.log.root())));
        let (number, next) = (seal.number, seal.next);
        sealed.last = Some(seal);
        self.with_keys(move |keyring| keyring.sealed(number, next, now)).await?;
        Ok(true)
    }

    /// Runs an action with the keys that may write their file, on a thread for blocking work.
    pub(super) async fn with_keys<T: Send + 'static>(
        &self,
        task: impl FnOnce(&mut Keyring) -> io::Result<T> + Send + 'static,
    ) -> Result<T, ServiceError> {
        let keyring = Arc::clone(&self.held.keyring);
        let done = tokio::task::spawn_blocking(move || task(&mut lock(&keyring))).await;
        done.unwrap_or_else(|_| Err(io::Error::other("the work broke off"))).map_err(keys_failed)
    }

    /// The tree of the present journal, read from its seals at the first use.
    pub(super) async fn sealed<'a>(
        &self,
        slot: &'a mut Option<Sealed>,
    ) -> Result<&'a mut Sealed, ServiceError> {
        if slot.is_none() {
            let journal = &self.held;
            let origin = lock(&journal.keyring).origin().to_owned();
            let seals = self.all_seals(&origin).await?;
            let (mut log, mut public) = (Log::default(), [0; 32]);
            let mut next = lock(&journal.keyring).first_public().unwrap_or_default();
            let mut is_whole = seals.len() as u64 >= lock(&journal.keyring).seals();
            for seal in &seals {
                is_whole &= log.take_in(seal);
                public = next;
                next = seal.next.unwrap_or(next);
            }
            if seals.is_empty() && is_whole {
                // A restored backup has rows that a seal of the earlier store covers. Here they count as not sealed.
                self.base.store.works().unseal(&journal.key_id).await?;
            }
            let (now, last) = (self.base.now().as_second(), seals.last().cloned());
            if is_whole {
                self.with_keys(move |keyring| keyring.catch_up(&seals, now)).await?;
            }
            if log.size() > 0 && is_whole {
                *lock(&journal.head) = Some((log.size(), text::hex(&log.root())));
            }
            *slot = Some(Sealed { log, last, is_whole, public });
        }
        slot.as_mut().ok_or_else(|| keys_failed(io::Error::other("no tree")))
    }

    /// All seals of a journal, in order.
    pub(super) async fn all_seals(&self, origin: &str) -> Result<Vec<Seal>, ServiceError> {
        let mut seals: Vec<Seal> = Vec::new();
        loop {
            let from = seals.last().map_or(0, |seal| seal.number + 1);
            let page = self.base.store.seals().of_journal(origin, from, PAGE).await?;
            let is_last = page.len() < PAGE;
            seals.extend(page);
            if is_last {
                return Ok(seals);
            }
        }
    }
}

/// The file of keys cannot be used.
pub(super) fn keys_failed(error: io::Error) -> ServiceError {
    ServiceError::Journal(error.to_string())
}
