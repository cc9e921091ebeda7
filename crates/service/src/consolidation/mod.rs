//! Consolidation: making a plan, which changes nothing, carrying it out, and undoing it.
//!
//! Carrying out is one transaction, and so is undoing: neither is ever done by half, whenever the process ends. A step is
//! decided on certain versions of its memories; if these have changed, the step is skipped. Insights, which a model words,
//! are in [`insight`].

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

mod derive;
mod insight;
#[cfg(test)]
mod tests;

pub(crate) use derive::Derive;

use crate::{
    ServiceError,
    base::Base,
    index::{MemoryIndex, VectorSearch},
    jobs::Jobs,
    lock,
    memories::{Memories, supersede::reinstate},
    settings::Consolidate,
};
use cerebro_core::domain::{Body, CycleId, Memory, MemoryId, Timestamp};
use cerebro_core::redact::RedactedText;
use cerebro_core::text;
use cerebro_core::truth::{self, Action, CHANGES_MAX, Merge, Step, Survey};
use cerebro_store::{
    BeforeUnion, CycleState, SaidText, StepOutcome, StoredCycle, StoredStep, Supersession, Write,
};

/// How many pairs are compared at once.
const PAIRS: usize = 100;
/// How long planning may take. Memories that were not read by then get no steps.
const PLANNING_MAX: Duration = Duration::from_secs(60);
/// How many of the latest consolidations are searched for one in a state.
const LATEST: usize = 50;

/// How often the task checks whether a night has passed.
const LOOK_EVERY: Duration = Duration::from_secs(10 * 60);
/// How long nobody must have called before the nightly plan is made.
const QUIET: Duration = Duration::from_secs(5 * 60);
/// The time from one nightly plan to the next.
const NIGHT: Duration = Duration::from_secs(20 * 60 * 60);

/// A consolidation as it is shown, with the titles of its memories.
#[derive(Debug, Clone, PartialEq)]
pub struct Consolidation {
    /// What was planned and done.
    pub cycle: StoredCycle,
    pub titles: BTreeMap<MemoryId, RedactedText>,
    /// A chat model is asked for insights, which the plan gets as they come.
    pub is_asking: bool,
}

/// The use cases of consolidation.
#[derive(Clone)]
pub struct Consolidating {
    pub(crate) base: Base,
    pub(crate) index: MemoryIndex,
    pub(crate) vectors: VectorSearch,
    pub(crate) jobs: Arc<Jobs>,
    /// The insights of the plan that was shown last, by the ids that they will get.
    shown: Arc<Mutex<BTreeSet<MemoryId>>>,
}

impl Consolidating {
    pub(crate) fn new(memories: &Memories, vectors: &VectorSearch, jobs: &Arc<Jobs>) -> Self {
        Self {
            base: memories.base.clone(),
            index: memories.index.clone(),
            vectors: vectors.clone(),
            jobs: Arc::clone(jobs),
            shown: Arc::default(),
        }
    }

    /// Reads every memory and writes a plan of what consolidation would change; it replaces a plan that waits. Changes no
    /// memory. If there is a chat model, it is asked for insights, which join the plan while it waits. That is not done
    /// for a plan that the daemon carries out by itself, because nobody would see the insights before.
    pub async fn plan(&self, by_clock: bool) -> Result<Consolidation, ServiceError> {
        let steps = self.steps().await?;
        let by = if by_clock { "clock" } else { "person" };
        let planned = self.base.store.transact(|write| Box::pin(put_plan(write, by, &steps))).await?;
        let is_seen = !by_clock || self.base.settings.consolidate != Consolidate::Apply;
        let is_asking = is_seen && self.want_insights(&planned.id).await?;
        if !by_clock {
            self.note_shown(&planned);
        }
        Ok(Consolidation { is_asking, ..self.described(planned).await? })
    }

    /// Carries out a plan: the one that waits, or the one with this id.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] if there is no such plan, it no longer waits, or it has insights that were not shown: they
    /// joined it since, or the daemon began anew.
    pub async fn apply(&self, id: Option<CycleId>) -> Result<Consolidation, ServiceError> {
        let cycle = self.wanted(id, CycleState::Planned).await?;
        let unfound = self.not_found_by_meaning(&cycle).await?;
        let shown = lock(&self.shown).clone();
        let store = &self.base.store;
        let applied = store.transact(|write| Box::pin(carry_out(write, cycle.id, &shown, &unfound))).await?;
        tracing::info!(cycle = %applied.id, done = applied.count(StepOutcome::Done), "a plan was carried out");
        self.described(applied).await
    }

    /// Undoes a consolidation, the last one or the one with this id. Memories that were changed since are left as they are.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] if there is none or it was not carried out.
    pub async fn undo(&self, id: Option<CycleId>) -> Result<Consolidation, ServiceError> {
        let cycle = self.wanted(id, CycleState::Applied).await?;
        let undone = self.base.store.transact(|write| Box::pin(take_back(write, cycle.id))).await?;
        self.described(undone).await
    }

    /// Consolidations, planned or done, the latest first.
    pub async fn latest(&self, limit: usize) -> Result<Vec<StoredCycle>, ServiceError> {
        Ok(self.base.store.cycles().latest(limit).await?)
    }

    /// One consolidation, to be shown.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] if there is none.
    pub async fn cycle(&self, id: CycleId) -> Result<Consolidation, ServiceError> {
        let found = self.base.store.cycles().by_id(&id).await?;
        let found = found.ok_or_else(|| unknown(&id))?;
        self.note_shown(&found);
        self.described(found).await
    }

    /// Makes a plan every night, and carries it out if the settings say so, until the service closes. A failure is logged; the
    /// next attempt follows.
    pub(crate) async fn keep(&self) {
        if self.base.settings.consolidate == Consolidate::Off {
            return;
        }
        let stop = self.base.tasks.stopping();
        while stop.run_until_cancelled(tokio::time::sleep(LOOK_EVERY)).await.is_some() {
            if self.base.traffic.quiet() < QUIET {
                continue;
            }
            // A daemon that exits does not wait for a plan; an unfinished plan leaves nothing behind.
            if let Some(Err(error)) = stop.run_until_cancelled(self.plan_by_clock()).await {
                tracing::warn!(%error, "the scheduled consolidation failed; it is tried again");
            }
        }
    }

    /// Makes a plan if a night has passed since the last one, and carries it out if the settings say so.
    pub(crate) async fn plan_by_clock(&self) -> Result<(), ServiceError> {
        let last = self.base.store.cycles().latest(1).await?.into_iter().next();
        let has_insights = last.as_ref().is_some_and(|last| {
            last.state == CycleState::Planned && last.steps.iter().any(|stored| stored.insight.is_some())
        });
        let age = last.map_or(Duration::MAX, |last| {
            Duration::try_from(self.base.now().duration_since(last.at)).unwrap_or(Duration::ZERO)
        });
        if age < NIGHT || self.index.memories_indexed() == 0 {
            return Ok(());
        }
        let applies = self.base.settings.consolidate == Consolidate::Apply;
        if applies && has_insights {
            // Nobody but a person has them carried out, so the plan waits.
            return Ok(());
        }
        let planned = self.plan(true).await?.cycle;
        tracing::info!(cycle = %planned.id, steps = planned.steps.len(), "a consolidation was planned");
        if applies && !planned.steps.is_empty() {
            self.apply(Some(planned.id)).await?;
        }
        Ok(())
    }

    /// What consolidation would change now.
    async fn steps(&self) -> Result<Vec<Step>, ServiceError> {
        let begun = Instant::now();
        let edges = self.base.store.supersessions().all().await?;
        let said = edges.iter().filter(|edge| edge.by != Supersession::CYCLE);
        let mut survey =
            Survey::new(self.base.now(), said.flat_map(|edge| [edge.newer, edge.older]).collect());
        let mut pages = self.base.store.memories().walk();
        while begun.elapsed() < PLANNING_MAX
            && let Some(page) = pages.next().await?
        {
            for memory in &page {
                survey.add(memory);
            }
            tokio::task::yield_now().await;
        }
        let mut merges: Vec<Merge> = Vec::new();
        for pairs in survey.pairs().chunks(PAIRS) {
            if begun.elapsed() >= PLANNING_MAX || merges.len() >= CHANGES_MAX {
                break;
            }
            let memories = self.memories_of(pairs.iter().flat_map(|(one, other)| [*one, *other])).await?;
            let both = |(one, other): &(MemoryId, MemoryId)| Some((memories.get(one)?, memories.get(other)?));
            merges.extend(pairs.iter().filter_map(both).filter_map(|(one, other)| truth::merge(one, other)));
        }
        Ok(survey.plan(&merges))
    }

    /// The consolidation with an id, or the latest in a state. It must be in that state.
    async fn wanted(&self, id: Option<CycleId>, state: CycleState) -> Result<StoredCycle, ServiceError> {
        let Some(id) = id else {
            let latest = self.base.store.cycles().latest(LATEST).await?;
            let why = match state {
                CycleState::Planned => "no plan waits; make one and look at it first",
                _ => "none was carried out that is not undone",
            };
            let found = latest.into_iter().find(|cycle| cycle.state == state);
            return found.ok_or_else(|| ServiceError::invalid("id", "latest", why));
        };
        let cycle = self.base.store.cycles().by_id(&id).await?.ok_or_else(|| unknown(&id))?;
        in_state(cycle, state)
    }

    /// The memories that take the place of others and have no vector of the model yet.
    async fn not_found_by_meaning(&self, cycle: &StoredCycle) -> Result<BTreeSet<MemoryId>, ServiceError> {
        let Some(ready) = self.vectors.ready().await? else { return Ok(BTreeSet::new()) };
        let stays = cycle.steps.iter().filter_map(|stored| stored.step.into);
        let memories = self.memories_of(stays).await?;
        let have = self.base.store.vectors().revisions_of(&ready.model, memories.keys()).await?;
        let is_known = |memory: &Memory| have.get(&memory.id) == Some(&i64::from(memory.revision));
        Ok(memories.into_values().filter(|memory| !is_known(memory)).map(|memory| memory.id).collect())
    }

    async fn memories_of(
        &self,
        ids: impl Iterator<Item = MemoryId>,
    ) -> Result<BTreeMap<MemoryId, Memory>, ServiceError> {
        let ids: BTreeSet<MemoryId> = ids.collect();
        Ok(self.base.store.memories().map_of(&ids).await?)
    }

    /// Notes that a person sees a plan as it is now.
    fn note_shown(&self, cycle: &StoredCycle) {
        if cycle.state == CycleState::Planned {
            let insights = cycle.steps.iter().filter(|stored| stored.insight.is_some());
            *lock(&self.shown) = insights.map(|stored| stored.step.memory).collect();
        }
    }

    async fn described(&self, cycle: StoredCycle) -> Result<Consolidation, ServiceError> {
        let memories = self.memories_of(ids_of(&cycle)).await?;
        let titles = memories.into_iter().map(|(id, memory)| (id, memory.body.title)).collect();
        Ok(Consolidation { cycle, titles, is_asking: false })
    }
}

fn unknown(id: &CycleId) -> ServiceError {
    ServiceError::invalid("id", id.as_str(), "there is no such plan; the log shows those that are there")
}

fn in_state(cycle: StoredCycle, state: CycleState) -> Result<StoredCycle, ServiceError> {
    if cycle.state == state {
        return Ok(cycle);
    }
    let problem = format!("it is {}, not {}", cycle.state.as_str(), state.as_str());
    Err(ServiceError::invalid("id", cycle.id.as_str(), problem))
}

/// Every memory of a consolidation.
fn ids_of(cycle: &StoredCycle) -> impl Iterator<Item = MemoryId> {
    cycle.steps.iter().flat_map(|stored| std::iter::once(stored.step.memory).chain(stored.step.into))
}

/// The state of every memory of a consolidation, within its transaction.
async fn present(write: &Write<'_>, cycle: &StoredCycle) -> Result<BTreeMap<MemoryId, Memory>, ServiceError> {
    let ids: BTreeSet<MemoryId> = ids_of(cycle).collect();
    Ok(write.store().memories().map_of(&ids).await?)
}

async fn put_plan(write: &mut Write<'_>, by: &str, steps: &[Step]) -> Result<StoredCycle, ServiceError> {
    let before = write.store().cycles().latest(LATEST).await?;
    let (insights, asked) = insight::inherited(write, &before).await?;
    let steps = steps.iter().map(|step| StoredStep::planned(step.clone(), None));
    let cycle = StoredCycle {
        id: CycleId::random(),
        state: CycleState::Planned,
        by: by.to_owned(),
        at: write.at(),
        applied_at: None,
        undone_at: None,
        steps: steps.chain(insights).collect(),
        asked,
        version: 0,
    };
    let waiting = before.into_iter();
    let mut replaced: Vec<CycleId> =
        waiting.filter(|cycle| cycle.state == CycleState::Planned).map(|cycle| cycle.id).collect();
    replaced.extend(write.store().cycles().expired().await?);
    write.put_cycle(&cycle, replaced);
    Ok(cycle)
}

/// Carries out a plan, except insights that were not `shown`. The memories in `unfound` cannot take the place of others yet.
async fn carry_out(
    write: &mut Write<'_>,
    id: CycleId,
    shown: &BTreeSet<MemoryId>,
    unfound: &BTreeSet<MemoryId>,
) -> Result<StoredCycle, ServiceError> {
    let cycle = write.store().cycles().by_id(&id).await?.ok_or_else(|| unknown(&id))?;
    let mut cycle = in_state(cycle, CycleState::Planned)?;
    let is_unseen = |stored: &&StoredStep| stored.insight.is_some() && !shown.contains(&stored.step.memory);
    let unseen = cycle.steps.iter().filter(is_unseen).count();
    if unseen > 0 {
        let insights = text::counted(unseen, "insight");
        let problem = format!("not shown yet: {insights}; look at the plan first");
        return Err(ServiceError::invalid("id", cycle.id.as_str(), problem));
    }
    let present = present(write, &cycle).await?;
    let planned: BTreeMap<MemoryId, u64> =
        cycle.steps.iter().map(|stored| (stored.step.memory, stored.step.version)).collect();
    let in_place = |id: &MemoryId| present.get(id).filter(|memory| memory.is_live() && !memory.is_archived());
    let as_planned = |id: &MemoryId| {
        in_place(id).filter(|memory| planned.get(id).is_none_or(|version| *version == memory.version))
    };
    let mut united: BTreeMap<MemoryId, Vec<Memory>> = BTreeMap::new();
    for stored in &mut cycle.steps {
        stored.outcome = Some(StepOutcome::Skipped);
        if stored.step.action == Action::Derive {
            if insight::derive(write, stored).await? {
                (stored.outcome, stored.after) = (Some(StepOutcome::Done), Some(1));
            }
            continue;
        }
        let step = &stored.step;
        let stays = step.into.is_none_or(|into| as_planned(&into).is_some() && !unfound.contains(&into));
        let Some(memory) = as_planned(&step.memory).filter(|_| stays) else { continue };
        match step.action {
            Action::Unite => {
                let Some(others) = united.remove(&memory.id) else { continue };
                stored.before = Some(before_union(memory));
                write.unite_memory(&unite(memory, &others));
            }
            // Done above.
            Action::Derive => continue,
            Action::Merge | Action::Compact | Action::Archive => {
                archive(write, memory);
                if let (Action::Merge, Some(into)) = (step.action, step.into) {
                    write.replace_memory(into, memory);
                    united.entry(into).or_default().push(memory.clone());
                }
            }
        }
        stored.outcome = Some(StepOutcome::Done);
        stored.after = Some(memory.version + 1);
    }
    (cycle.state, cycle.applied_at) = (CycleState::Applied, Some(write.at()));
    write.put_cycle(&cycle, Vec::new());
    Ok(cycle)
}

fn archive(write: &mut Write<'_>, memory: &Memory) {
    let archived = Memory { archived_at: Some(write.at()), ..memory.clone() };
    write.archive_memory(&archived, None);
}

fn before_union(memory: &Memory) -> BeforeUnion {
    let Memory { duplicate_count, last_seen_at, .. } = *memory;
    BeforeUnion { tags: memory.tags.len(), duplicate_count, last_seen_at }
}

/// A memory with the tags and counts of others that say nothing else.
fn unite(memory: &Memory, others: &[Memory]) -> Memory {
    let said = others.iter().map(|other| other.duplicate_count.saturating_add(1));
    let seen: Option<Timestamp> = others.iter().map(|other| other.last_seen_at).max();
    let tags = truth::united(&memory.tags, others.iter().map(|other| &other.tags[..]));
    Memory {
        body: Body { tags, ..memory.body.clone() },
        duplicate_count: said.fold(memory.duplicate_count, u32::saturating_add),
        last_seen_at: seen.map_or(memory.last_seen_at, |seen| seen.max(memory.last_seen_at)),
        ..memory.clone()
    }
}

async fn take_back(write: &mut Write<'_>, id: CycleId) -> Result<StoredCycle, ServiceError> {
    let cycle = write.store().cycles().by_id(&id).await?.ok_or_else(|| unknown(&id))?;
    let mut cycle = in_state(cycle, CycleState::Applied)?;
    let present = present(write, &cycle).await?;
    let done = |stored: &&mut StoredStep| stored.outcome == Some(StepOutcome::Done);
    for stored in cycle.steps.iter_mut().rev().filter(done) {
        let step = &stored.step;
        let as_left = present.get(&step.memory).filter(|memory| Some(memory.version) == stored.after);
        let Some(memory) = as_left else {
            stored.outcome = Some(StepOutcome::Left);
            continue;
        };
        match stored.before {
            _ if step.action == Action::Derive => insight::take_back(write, memory),
            Some(was) => {
                let mut memory = memory.clone();
                memory.tags.truncate(was.tags);
                (memory.duplicate_count, memory.last_seen_at) = (was.duplicate_count, was.last_seen_at);
                write.unite_memory(&memory);
            }
            // The memory that stayed for it was corrected, deleted or purged: so is what this one says.
            None if is_outdated(write, memory).await? => {
                stored.outcome = Some(StepOutcome::Left);
                continue;
            }
            None => {
                let memory = Memory { archived_at: None, ..memory.clone() };
                write.archive_memory(&memory, None);
                reinstate(write, &memory).await?;
            }
        }
        stored.outcome = Some(StepOutcome::Undone);
    }
    (cycle.state, cycle.undone_at) = (CycleState::Undone, Some(write.at()));
    write.put_cycle(&cycle, Vec::new());
    Ok(cycle)
}

/// Whether another memory that says the same was corrected, deleted or purged since.
async fn is_outdated(write: &Write<'_>, memory: &Memory) -> Result<bool, ServiceError> {
    let tombstones = write.tombstones(SaidText::from(memory), None).await?;
    Ok(tombstones.against_unasked().any(|tombstone| tombstone.memory != memory.id))
}
