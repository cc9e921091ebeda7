//! A person's operations for tidying: archiving, and consolidation with its plans.

use serde_json::{Value, json};

use super::{
    arguments::ArgumentError,
    call::{Answer, Call},
    operator::changed,
    reply::{Reply, moment},
};
use cerebro_core::domain::{CycleId, MemoryId};
use cerebro_core::redact::RedactedText;
use cerebro_core::text;
use cerebro_core::truth::Action;
use cerebro_service::Consolidation;
use cerebro_store::{StepOutcome, StoredCycle, StoredStep};

/// Most consolidations that are listed.
const LOG_MAX: usize = 50;

pub(super) async fn archive(call: &mut Call) -> Answer {
    set_archived(call, true).await
}

pub(super) async fn unarchive(call: &mut Call) -> Answer {
    set_archived(call, false).await
}

async fn set_archived(call: &mut Call, archived: bool) -> Answer {
    let id = call.arguments.memory_id()?;
    let updated = call.service.memories.archive(&call.caller, &call.session, &id, archived).await?;
    Ok(changed(&updated, if archived { "archived" } else { "unarchived" }))
}

/// Plans a consolidation; changes no memory.
pub(super) async fn plan(call: &mut Call) -> Answer {
    Ok(cycle_reply(&call.service.consolidating.plan(false).await?))
}

/// Carries a plan out.
pub(super) async fn apply(call: &mut Call) -> Answer {
    let id = cycle_id(call)?;
    Ok(cycle_reply(&call.service.consolidating.apply(id).await?))
}

/// Undoes a consolidation.
pub(super) async fn undo(call: &mut Call) -> Answer {
    let id = cycle_id(call)?;
    Ok(cycle_reply(&call.service.consolidating.undo(id).await?))
}

/// The consolidations, the latest first, or one of them with its steps.
pub(super) async fn log(call: &mut Call) -> Answer {
    if let Some(id) = cycle_id(call)? {
        return Ok(cycle_reply(&call.service.consolidating.cycle(id).await?));
    }
    let limit = call.arguments.clamped("limit", 20, 1..=LOG_MAX)?;
    let cycles = call.service.consolidating.latest(limit).await?;
    let rows = cycles.iter().map(facts).collect();
    Ok(Reply::saying(text::counted(cycles.len(), "consolidation")).list("cycles", rows))
}

fn cycle_id(call: &mut Call) -> Result<Option<CycleId>, ArgumentError> {
    let given = call.arguments.text("id")?.filter(|given| !given.trim().is_empty());
    let read = |given: String| {
        CycleId::parse(&given).map_err(|error| ArgumentError::new("id", Some(&given), error.to_string()))
    };
    given.map(read).transpose()
}

/// A consolidation without its steps.
fn facts(cycle: &StoredCycle) -> Value {
    let count = |action| cycle.steps.iter().filter(|stored| stored.step.action == action).count();
    json!({
        "id": cycle.id.as_str(), "state": cycle.state.as_str(), "by": cycle.by, "at": moment(cycle.at),
        "applied_at": cycle.applied_at.map(moment), "undone_at": cycle.undone_at.map(moment),
        "merge": count(Action::Merge), "compact": count(Action::Compact), "archive": count(Action::Archive),
        "derive": count(Action::Derive), "requests": cycle.asked.spent.requests, "tokens": cycle.asked.spent.tokens,
        "dropped": cycle.asked.dropped,
        "done": cycle.count(StepOutcome::Done), "skipped": cycle.count(StepOutcome::Skipped),
        "undone": cycle.count(StepOutcome::Undone), "left": cycle.count(StepOutcome::Left),
    })
}

fn cycle_reply(report: &Consolidation) -> Reply {
    let title = |id: &MemoryId| report.titles.get(id).map(RedactedText::as_str);
    let step = |StoredStep { step, outcome, insight, .. }: &StoredStep| {
        let waits = insight.as_ref().filter(|insight| !insight.text.is_empty());
        let planned = || waits.map(|insight| insight.title.as_str());
        let sources = insight.iter().flat_map(|insight| &insight.sources).map(MemoryId::as_str);
        let mut row = json!({
            "action": step.action.as_str(), "id": step.memory.as_str(),
            "title": title(&step.memory).or_else(planned),
            "into": step.into.as_ref().map(MemoryId::as_str), "into_title": step.into.as_ref().and_then(title),
            "why": step.why, "outcome": outcome.map(StepOutcome::as_str),
        });
        if insight.is_some() {
            row["text"] = json!(waits.map(|insight| insight.text.as_str()));
            row["sources"] = sources.collect();
        }
        row
    };
    let cycle = &report.cycle;
    let words =
        format!("{} is {}: {}", cycle.id, cycle.state.as_str(), text::counted(cycle.steps.len(), "change"));
    Reply::saying(words)
        .fact("cycle", facts(cycle))
        .fact("asking", report.is_asking.then_some(true))
        .list("steps", cycle.steps.iter().map(step).collect())
}
