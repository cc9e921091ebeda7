//! Maintaining tombstones: they are made again if the home has another secret or the rules changed, bounded in number, and
//! shown to people, who may remove them.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Memories, ServiceError};
use cerebro_core::domain::{EventKind, Memory, MemoryId, Revision, Timestamp};
use cerebro_store::{OutdatedText, Supersession, Tombstone, Why};

/// Most tombstones that are kept. Beyond it, those of deleted and purged memories are removed first, then the oldest
/// corrections.
pub const TOMBSTONES_MAX: usize = 100_000;
/// Most tombstones of one page for people, and of one memory.
pub const TOMBSTONES_LISTED_MAX: usize = 1_000;
/// Most tombstones of one text, all made at one moment: with its title, under any title, behind its title, and among those
/// of all projects; each also with its labels.
const NOTES_MAX: usize = 8;
/// How many rows are read or written at once.
const BATCH: usize = 200;

/// A text that no longer holds, as people see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedTombstone {
    /// The memory that said it.
    pub memory: MemoryId,
    /// The title of that memory now; none where it is gone, or its text.
    pub title: Option<String>,
    /// Why the text no longer holds.
    pub why: Why,
    /// What holds in its place.
    pub replaced_by: Option<MemoryId>,
    /// Since when.
    pub at: Timestamp,
}

impl Memories {
    /// The texts that no longer hold, the latest first, each once; and how many notes of them there are in all.
    pub async fn tombstones(&self, limit: usize) -> Result<(Vec<ListedTombstone>, usize), ServiceError> {
        let limit = limit.min(TOMBSTONES_LISTED_MAX);
        let mut tombstones = self.base.store.tombstones().latest(None, NOTES_MAX * limit).await?;
        tombstones.dedup_by_key(|tombstone| (tombstone.memory, tombstone.at, tombstone.why));
        tombstones.truncate(limit);
        let ids: BTreeSet<MemoryId> = tombstones.iter().map(|tombstone| tombstone.memory).collect();
        let memories = self.base.store.memories().map_of(&ids).await?;
        let title = |id: &MemoryId| {
            let memory = memories.get(id).filter(|memory| !memory.purged)?;
            Some(memory.title.to_string())
        };
        let row = |tombstone: Tombstone| {
            let Tombstone { memory, why, replaced_by, at, .. } = tombstone;
            ListedTombstone { memory, title: title(&memory), why, replaced_by, at }
        };
        Ok((tombstones.into_iter().map(row).collect(), self.base.store.tombstones().count().await?))
    }

    /// Removes the tombstones of one memory, so that its texts may be saved and imported like any other. Returns their
    /// number.
    pub async fn forget_tombstones(&self, memory: &MemoryId) -> Result<usize, ServiceError> {
        let mut forgotten = 0;
        loop {
            let tombstones = self.base.store.tombstones().latest(Some(memory), BATCH).await?;
            if tombstones.is_empty() {
                return Ok(forgotten);
            }
            self.base.store.change(|write| write.forget_tombstones(&tombstones, Some(*memory))).await?;
            forgotten += tombstones.len();
        }
    }

    /// Makes sure, when the store is opened, that the tombstones were made with this home's secret by the present rules, and are
    /// not too many.
    ///
    /// A store may have texts that no longer hold and no such tombstone: it was restored from a backup of another home, or the
    /// secret was lost, or an earlier version made them. Then the tombstones are made again from the rows: earlier revisions,
    /// superseded and deleted memories, except for what a person forgot. Purged texts are in no row, so they stay unknown.
    ///
    /// # Errors
    /// A failing store. The next opening does all of it again.
    pub(crate) async fn maintain_tombstones(&self) -> Result<(), ServiceError> {
        if !self.base.store.tombstones().knows_secret().await? {
            self.rebuild_tombstones().await?;
            self.base.store.tombstones().note_secret().await?;
        }
        self.trim_tombstones(TOMBSTONES_MAX).await
    }

    async fn trim_tombstones(&self, most: usize) -> Result<(), ServiceError> {
        let mut beyond = self.base.store.tombstones().count().await?.saturating_sub(most);
        while beyond > 0 {
            let tombstones = self.base.store.tombstones().oldest(beyond.min(BATCH)).await?;
            if tombstones.is_empty() {
                break;
            }
            self.base.store.change(|write| write.forget_tombstones(&tombstones, None)).await?;
            beyond = beyond.saturating_sub(tombstones.len());
        }
        Ok(())
    }

    async fn rebuild_tombstones(&self) -> Result<(), ServiceError> {
        let edges = self.base.store.supersessions().all().await?;
        let corrected: Vec<&Supersession> =
            edges.iter().filter(|edge| edge.by != Supersession::CYCLE).collect();
        self.rebuild_of_revisions().await?;
        self.rebuild_of_superseded(&corrected).await?;
        let superseded: BTreeSet<MemoryId> = corrected.iter().map(|edge| edge.older).collect();
        // What is deleted is noted first, and then what is said all the same is not noted any more.
        for is_live in [false, true] {
            let mut pages = self.base.store.memories().walk();
            while let Some(page) = pages.next().await? {
                let memories: Vec<Memory> = page
                    .into_iter()
                    .filter(|memory| memory.is_live() == is_live && !memory.purged)
                    .filter(|memory| !is_live || !superseded.contains(&memory.id))
                    .collect();
                if is_live && !memories.is_empty() {
                    self.base.store.tombstones().remove_said_by(&memories).await?;
                } else if !is_live {
                    let deleted = |was: Memory| {
                        let at = was.deleted_at.unwrap_or(was.updated_at);
                        OutdatedText { was, now: None, why: Why::Deleted, at }
                    };
                    let outdated: Vec<OutdatedText> = memories.into_iter().map(deleted).collect();
                    self.base.store.tombstones().rebuild(&outdated).await?;
                }
            }
        }
        for event in self.base.store.events().of_kinds(&[EventKind::TombstonesForgotten]).await? {
            if let Some(memory) = event.memory {
                self.base.store.tombstones().remove_until(&memory, event.at).await?;
            }
        }
        Ok(())
    }

    async fn rebuild_of_revisions(&self) -> Result<(), ServiceError> {
        let mut pages = self.base.store.revisions().walk();
        while let Some(page) = pages.next().await? {
            let owners: BTreeSet<MemoryId> = page.iter().map(|revision| revision.memory).collect();
            let owners = self.base.store.memories().map_of(&owners).await?;
            let written = |revision: &Revision| ((revision.memory, revision.revision), revision.at);
            let written: BTreeMap<(MemoryId, u32), Timestamp> = page.iter().map(written).collect();
            let mut outdated = Vec::with_capacity(page.len());
            for revision in &page {
                let Some(now) = owners.get(&revision.memory).filter(|owner| !owner.purged) else { continue };
                // It ceased to hold when the next text was written, which is the present one or may be in another page.
                let next = revision.revision.saturating_add(1);
                let at = match written.get(&(now.id, next)) {
                    Some(at) => *at,
                    None if next >= now.revision => now.updated_at,
                    None => {
                        let next = self.base.store.revisions().by_number(&now.id, next).await?;
                        next.map_or(now.updated_at, |next| next.at)
                    }
                };
                let was = revision.of(now);
                outdated.push(OutdatedText { was, now: Some(now.clone()), why: Why::Corrected, at });
            }
            // Of two revisions with one text, the one that ceased to hold last counts.
            outdated.sort_by_key(|text| text.at);
            self.base.store.tombstones().rebuild(&outdated).await?;
        }
        Ok(())
    }

    async fn rebuild_of_superseded(&self, edges: &[&Supersession]) -> Result<(), ServiceError> {
        for edges in edges.chunks(BATCH) {
            let ends: BTreeSet<MemoryId> = edges.iter().flat_map(|edge| [edge.newer, edge.older]).collect();
            let ends = self.base.store.memories().map_of(&ends).await?;
            let outdated = |edge: &&Supersession| {
                let (was, now) = (ends.get(&edge.older)?.clone(), ends.get(&edge.newer)?.clone());
                Some(OutdatedText { was, now: Some(now), why: Why::Superseded, at: edge.at })
            };
            let outdated: Vec<OutdatedText> = edges.iter().filter_map(outdated).collect();
            self.base.store.tombstones().rebuild(&outdated).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Patch, Settings,
        use_cases::{caller, save, with_service},
    };
    use cerebro_core::redact::redact_text;

    #[test]
    fn a_text_that_ceased_to_hold_again_after_it_was_forgotten_is_noted() {
        with_service(Settings::default(), Timestamp::now, async |service| {
            let memory = save(&service, "Port").await.memory;
            let text = |office: &str| format!("The ledger of {office} office listens on a port of its own.");
            let say = async |office: &str| {
                let patch = Patch { content: Some(text(office)), ..Patch::default() };
                service.memories.update(&caller(), &memory.id, patch).await.unwrap();
            };
            for office in ["amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "haven"] {
                say(office).await;
            }
            assert!(service.memories.forget_tombstones(&memory.id).await.unwrap() > 0);
            // Revisions 10 and 11. In the order of ids, 10 comes before 2, which has the same text.
            for office in ["amber", "quarry"] {
                say(office).await;
            }
            service.memories.rebuild_tombstones().await.unwrap();
            let tombstones = service.base.store.tombstones();
            let made = tombstones.latest(Some(&memory.id), TOMBSTONES_LISTED_MAX).await.unwrap();
            let is_noted = |office: &str| {
                let mut said = memory.clone();
                said.content = redact_text(&text(office)).value;
                tombstones.said_by(&[said], &made) == [memory.id]
            };
            assert_eq!(["amber", "birch", "haven", "quarry"].map(is_noted), [true, false, true, false]);
        });
    }
}
