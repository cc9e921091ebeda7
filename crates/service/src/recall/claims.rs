//! The claims of a chat model about pairs of memories, as they are shown with hits.
//!
//! A claim annotates a hit; it never hides, reorders or deletes one.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::{Recall, ServiceError};
use cerebro_core::domain::{Memory, MemoryId};
use cerebro_core::relate::RelationKind;
use cerebro_core::sync::Cached;
use cerebro_store::Committed;

/// Most claims that are kept in memory.
const CLAIMS_MAX: usize = 10_000;
/// Most memories that are named beside a hit.
const NAMED_MAX: usize = 2;

/// The claims against one memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Claimed {
    /// Memories that supersede it, by a claim.
    pub superseded_by: Vec<MemoryId>,
    /// Memories that contradict it, by a claim.
    pub conflicts_with: Vec<MemoryId>,
}

impl Claimed {
    /// The claims, each kind with its name in answers.
    pub(crate) fn by_mark(&self) -> impl Iterator<Item = (&'static str, &[MemoryId])> {
        [("superseded_by", self.superseded_by.as_slice()), ("conflicts_with", self.conflicts_with.as_slice())]
            .into_iter()
            .filter(|(_, ids)| !ids.is_empty())
    }
}

/// All claims, as of one reading.
#[derive(Default)]
struct Book {
    /// By the memory that they are against.
    claimed: BTreeMap<MemoryId, Claimed>,
    /// The memories at either end of a claim, live or not.
    ends: BTreeSet<MemoryId>,
}

/// All claims, read from the store at the first use.
#[derive(Default)]
pub(crate) struct ClaimCache(Cached<Book>);

impl ClaimCache {
    /// Drops what was read, because a model made a new claim or a person settled a pair.
    pub(crate) fn forget(&self) {
        self.0.forget();
    }

    /// Drops what was read if a commit changes a memory at either end of a claim: claims of deleted memories are not shown.
    /// New claims do not come with a commit; the worker calls [`Self::forget`] for them.
    pub(crate) fn follow(&self, committed: &Committed) {
        self.0.forget_if(|book| committed.memories.iter().any(|one| book.ends.contains(&one.id)));
    }
}

impl Recall {
    /// The claims against each of some memories; memories without claims are left out.
    pub(crate) async fn claimed(
        &self,
        ids: &[MemoryId],
    ) -> Result<BTreeMap<MemoryId, Claimed>, ServiceError> {
        let book = self.claim_book().await?;
        Ok(ids.iter().filter_map(|id| Some((*id, book.claimed.get(id)?.clone()))).collect())
    }

    async fn claim_book(&self) -> Result<Arc<Book>, ServiceError> {
        let ticket = match self.claims.0.get() {
            Ok(book) => return Ok(book),
            Err(ticket) => ticket,
        };
        let claims = self.base.store.relations().claims(CLAIMS_MAX).await?;
        let ends: BTreeSet<MemoryId> = claims.iter().flat_map(|claim| [claim.from, claim.to]).collect();
        let live = self.base.store.memories().by_ids(&ends).await?;
        let live: BTreeSet<MemoryId> =
            live.into_iter().filter(Memory::is_live).map(|memory| memory.id).collect();
        let mut book = Book { ends, ..Book::default() };
        for claim in claims.iter().filter(|claim| live.contains(&claim.from) && live.contains(&claim.to)) {
            let (from, to) = (claim.from, claim.to);
            if claim.kind == RelationKind::Supersedes.as_str() {
                note(&mut book.claimed.entry(to).or_default().superseded_by, &claim.from);
            } else {
                note(&mut book.claimed.entry(to).or_default().conflicts_with, &claim.from);
                note(&mut book.claimed.entry(from).or_default().conflicts_with, &claim.to);
            }
        }
        Ok(self.claims.0.keep(ticket, book))
    }
}

fn note(ids: &mut Vec<MemoryId>, id: &MemoryId) {
    if ids.len() < NAMED_MAX && !ids.contains(id) {
        ids.push(*id);
    }
}
