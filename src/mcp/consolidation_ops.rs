//! A person's operations for tidying: archiving, and consolidation with its plans.

use super::operator::changed;
use super::prelude::*;
use crate::answer::consolidation;
use cerebro_core::domain::{CycleId, MemoryId};
use cerebro_core::truth::{Action, Insight};
use cerebro_service::Consolidation;
use cerebro_store::{StepOutcome, StoredCycle, StoredStep};

/// Most consolidations in one list.
const LOG_MAX: usize = 50;

/// Archives a memory, or takes it out of the archive.
pub(super) async fn archive(call: &mut Call, archived: bool) -> AnswerTo<of::Archive> {
    let id = call.arguments.memory_id()?;
    let updated = call.service.memories.archive(&call.caller, &id, archived).await?;
    Ok(changed(&updated, if archived { "archived" } else { "unarchived" }))
}

/// Plans a consolidation; changes no memory.
pub(super) async fn plan(call: &mut Call) -> AnswerTo<of::CyclePlan> {
    Ok(report(&call.service.consolidating.plan(false).await?))
}

/// Carries out a plan.
pub(super) async fn apply(call: &mut Call) -> AnswerTo<of::CycleApply> {
    let id = cycle_id(call)?;
    Ok(report(&call.service.consolidating.apply(id).await?))
}

/// Undoes a consolidation.
pub(super) async fn undo(call: &mut Call) -> AnswerTo<of::CycleUndo> {
    let id = cycle_id(call)?;
    Ok(report(&call.service.consolidating.undo(id).await?))
}

/// The consolidations, the latest first, or one of them with its steps.
pub(super) async fn log(call: &mut Call) -> AnswerTo<of::CycleLog> {
    if let Some(id) = cycle_id(call)? {
        let found = call.service.consolidating.cycle(id).await?;
        return Ok(consolidation::Log { one: Some(report(&found)), cycles: None });
    }
    let limit = call.arguments.clamped("limit", 20, 1..=LOG_MAX)?;
    let cycles = call.service.consolidating.latest(limit).await?;
    Ok(consolidation::Log { one: None, cycles: Some(cycles.iter().map(facts).collect()) })
}

fn cycle_id(call: &mut Call) -> Result<Option<CycleId>, ArgumentError> {
    let Some(given) = call.arguments.nonblank("id")? else { return Ok(None) };
    CycleId::parse(&given).map(Some).map_err(ArgumentError::unread("id", &given))
}

/// A consolidation without its steps.
fn facts(cycle: &StoredCycle) -> consolidation::Cycle {
    let planned = |action| cycle.steps.iter().filter(|stored| stored.step.action == action).count() as u64;
    let became = |outcome| cycle.count(outcome) as u64;
    consolidation::Cycle {
        id: Text::of(cycle.id),
        state: cycle.state.as_str().into(),
        by: Text::from(&cycle.by),
        at: moment(cycle.at).into(),
        applied_at: cycle.applied_at.map(|at| moment(at).into()),
        undone_at: cycle.undone_at.map(|at| moment(at).into()),
        merge: planned(Action::Merge),
        compact: planned(Action::Compact),
        archive: planned(Action::Archive),
        derive: planned(Action::Derive),
        requests: cycle.asked.spent.requests,
        tokens: cycle.asked.spent.tokens,
        dropped: cycle.asked.dropped,
        done: became(StepOutcome::Done),
        skipped: became(StepOutcome::Skipped),
        undone: became(StepOutcome::Undone),
        left: became(StepOutcome::Left),
    }
}

/// A consolidation with its steps.
fn report(found: &Consolidation) -> consolidation::Report {
    let title = |id: &MemoryId| found.titles.get(id).map(Text::of);
    let step = |StoredStep { step, outcome, insight, .. }: &StoredStep| {
        let waits = insight.as_ref().filter(|insight| !insight.text.is_empty());
        let drawn = |insight: &Insight| consolidation::Insight {
            text: waits.map(|insight| Text::of(&insight.text)),
            sources: insight.sources.iter().map(Text::of).collect(),
        };
        consolidation::Step {
            action: step.action.as_str().into(),
            id: Text::of(step.memory),
            title: title(&step.memory).or_else(|| waits.map(|insight| Text::of(&insight.title))),
            into: step.into.map(Text::of),
            into_title: step.into.as_ref().and_then(title),
            why: Text::from(&step.why),
            outcome: outcome.map(|outcome| outcome.as_str().into()),
            insight: insight.as_ref().map(drawn),
        }
    };
    consolidation::Report {
        cycle: facts(&found.cycle),
        asking: found.is_asking.then_some(true),
        steps: found.cycle.steps.iter().map(step).collect(),
    }
}
