//! Findings of a piece of work: they become memories when the work is closed, and are linked to it.

use std::collections::BTreeSet;

use cerebro_core::domain::{EventKind, Kind, Memory, MemoryId, Origin, Scope, WorkId};
use cerebro_core::redact::redact_text;
use cerebro_core::text;
use cerebro_ledger::{Entry, Step};
use cerebro_store::Write;

use super::Actor;
use crate::{Caller, DeleteOutcome, Door, Journal, SaveRequest, ServiceError, memories::Findings};

/// Most findings of one piece of work that become memories: the last ones.
const FINDINGS_MAX: usize = 32;
/// Most memories that are shown of a piece of work, and the other way round.
const TIED_MAX: usize = 100;
/// Longest title of a finding's memory, in characters.
const TITLE_CHARS_MAX: usize = 100;

impl Journal {
    /// Saves the findings of a piece of work as memories, as an agent would, and links these memories to the work. A
    /// finding whose text was corrected or deleted before is left out. Doing it twice changes nothing.
    ///
    /// # Errors
    /// [`ServiceError::NoWork`], or a failing store.
    pub async fn offer(
        &self,
        caller: &Caller,
        actor: &Actor,
        id: &WorkId,
    ) -> Result<Vec<MemoryId>, ServiceError> {
        let stored = self.stored_work(&actor.owner, id).await?;
        let kept = self.all_events(&stored.work).await?;
        let found =
            kept.iter().map(Entry::from).filter(|entry| !entry.late).filter_map(|entry| match entry.step {
                Some(Step::Finding { text }) => Some(text),
                _ => None,
            });
        let mut found: Vec<String> = found.collect();
        found.drain(..found.len().saturating_sub(FINDINGS_MAX));
        if found.is_empty() {
            return Ok(Vec::new());
        }
        let tied = self.base.store.edges().memories_of(id, TIED_MAX).await?;
        let tied = self.base.store.memories().by_ids(&tied).await?;
        let known: BTreeSet<&str> = tied.iter().map(|memory| memory.content.trim()).collect();
        let mut taken = Vec::new();
        for text in found.iter().filter(|text| !known.contains(text.trim())) {
            let saved = match self.memories.save(caller, remembered(text, &stored.work)).await {
                Ok(saved) => saved.memory,
                // Nobody decided on this text now, so the guard may refuse it.
                Err(ServiceError::Corrected(_) | ServiceError::Invalid { .. }) => continue,
                Err(error) => return Err(error),
            };
            self.base.store.transact(|write| Box::pin(tie(write, &saved, id))).await?;
            taken.push(saved.id);
        }
        Ok(taken)
    }

    /// Purges a memory and the findings with its text: what the work found out is what the memory says.
    ///
    /// # Errors
    /// [`ServiceError::NoMemory`]; [`ServiceError::PurgeForbidden`] for an agent, unless the user allows it.
    pub async fn purge_memory(&self, caller: &Caller, id: &MemoryId) -> Result<DeleteOutcome, ServiceError> {
        self.memories.may_purge(caller, id)?;
        let works = self.base.store.edges().works_of(id, TIED_MAX).await?;
        let texts = match self.base.store.memories().by_id(id).await? {
            Some(memory) if !works.is_empty() => self.memories.texts_of(&memory).await?,
            _ => BTreeSet::new(),
        };
        let mut findings = Vec::new();
        for work in works {
            let numbers = self.findings_with(&work, &texts).await?;
            if !numbers.is_empty() {
                findings.push(Findings { work, numbers });
            }
        }
        let had_findings = !findings.is_empty();
        let outcome = self.memories.purge(caller, id, findings).await?;
        if had_findings {
            self.held.forget();
            self.drop_unnamed_artifacts().await?;
        }
        Ok(outcome)
    }

    /// The numbers of the findings of a piece of work that say one of some texts.
    async fn findings_with(&self, id: &WorkId, texts: &BTreeSet<String>) -> Result<Vec<u64>, ServiceError> {
        let Some(stored) = self.base.store.works().by_id(id).await? else { return Ok(Vec::new()) };
        let kept = self.all_events(&stored.work).await?;
        let says = |entry: &Entry| matches!(&entry.step, Some(Step::Finding { text }) if texts.contains(text.trim()));
        Ok(kept.iter().map(Entry::from).filter(says).map(|entry| entry.seq).collect())
    }

    /// The live memories that were made of a piece of work's findings.
    pub async fn memories_of_work(&self, id: &WorkId) -> Result<Vec<Memory>, ServiceError> {
        let ids = self.base.store.edges().memories_of(id, TIED_MAX).await?;
        Ok(self.base.store.memories().by_ids(&ids).await?)
    }

    /// Those among some pieces of work that belong to an owner, in their order.
    pub async fn own_works(&self, owner: &str, works: &[WorkId]) -> Result<Vec<WorkId>, ServiceError> {
        if works.is_empty() {
            return Ok(Vec::new());
        }
        let own = self.base.store.works().by_ids(works).await?;
        let is_own =
            |id: &&WorkId| own.iter().any(|stored| stored.work.id == **id && stored.work.owner == owner);
        Ok(works.iter().filter(is_own).copied().collect())
    }
}

/// A finding as a memory.
fn remembered(text: &str, work: &cerebro_ledger::Work) -> SaveRequest {
    let line = redact_text(text).value.one_line();
    let title = text::cut_chars(&line, TITLE_CHARS_MAX).into_owned();
    SaveRequest {
        kind: Kind::parse("discovery").unwrap_or_else(Kind::manual),
        // The origin is an agent, whoever closes the work.
        ..SaveRequest::new(title, text, Scope::Project(work.project.clone()), Door::Brought(Origin::Agent))
    }
}

async fn tie(write: &mut Write<'_>, memory: &Memory, work: &WorkId) -> Result<(), ServiceError> {
    if !write.is_worked_in(&memory.id, work).await? {
        write.link_to_work(EventKind::MemoryTied, memory, *work, None);
    }
    Ok(())
}
