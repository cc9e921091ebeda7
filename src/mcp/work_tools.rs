//! The four tools of the journal, published if `[work] tools = true`: steps, gates and effects of a piece of work,
//! which no hook can report.

use super::prelude::*;
use super::{
    arguments::DayEdge,
    work_ops::{actor, closed, degraded, filter, resumed, row},
};
use crate::answer::name;
use cerebro_core::{
    code::Code,
    domain::WorkId,
    taint,
    text::{counted, cut_chars},
};
use cerebro_ledger::limits::{GATES_MAX, HINT_BYTES_RANGE, STEPS_MAX, TITLE_CHARS_MAX};
use cerebro_ledger::{Ending, Outcome, PlanStep, Repeat, Standing, State, Step};
use cerebro_service::ServiceError;
use cerebro_service::work::{
    Actor, Appended, BeginWork, CloseWork, Happening, IntentAnswer, Stale, Target, WORKS_LISTED_MAX,
    WorkQuery,
};

/// Default for the number of pieces of work in a list.
const LIST_DEFAULT: usize = 10;
/// Default for the size of a hint.
const HINT_DEFAULT: usize = 4_096;

/// Most steps that an error names, and most characters of each.
const STEPS_SHOWN_MAX: usize = 8;
const STEP_CHARS_MAX: usize = 60;

/// The events that can be noted.
pub(super) const EVENTS: [&str; 18] = [
    "step_added", "step_active", "step_done", "step_dropped", "decision", "finding", "note", "blocked",
    "gate_pending", "gate_passed", "gate_failed", "intent", "confirmed", "failed", "call_started",
    "call_done", "done", "abandoned",
];

fn caller(call: &Call) -> Actor {
    actor(call, None)
}

/// Turns the error of a journal that does not answer in time, or cannot be written, into an answer that says so, because
/// an agent should neither wait for the journal nor fail because of it.
pub(super) fn or_degraded(call: &Call, answer: Answer) -> Answer {
    answer.or_else(|fault| unanswered(fault, degraded(call)))
}

fn unanswered(fault: Fault, until: Option<String>) -> Answer {
    if !matches!(fault.code(), Code::JournalBusy | Code::StoreFailed) {
        return Err(fault);
    }
    let words = "degraded: the journal is too slow or cannot be written, so this may not be recorded; it can be called again in a minute";
    Ok(Reply::saying(words).fact("outcome", "degraded").fact("degraded_until", until))
}

/// Begins a piece of work, or finds the one with that key, and takes its lease.
pub(super) async fn begin(call: &mut Call) -> Answer {
    let arguments = &mut call.arguments;
    arguments.unframe();
    let begin = BeginWork {
        title: arguments.needed("title")?,
        goal: arguments.text("goal")?,
        steps: arguments.texts("steps")?.unwrap_or_default(),
        key: arguments.text("key")?,
        parent: arguments.work_id("parent")?,
        project: arguments.target_project()?,
    };
    if begin.title.chars().count() > TITLE_CHARS_MAX {
        let problem = format!("it must have 1 to {TITLE_CHARS_MAX} characters");
        return Err(ArgumentError::new("title", Some(&begin.title), problem).into());
    }
    let actor = caller(call);
    let (work, is_new) = call.service.journal.begin(&actor, begin).await?;
    let hold = call.service.journal.hold(&actor, &work.id, false).await?;
    let outcome = if is_new { "created" } else { "unchanged" };
    let holder = (!hold.held).then_some(hold.holder);
    Ok(Reply::saying(format!("{outcome} work `{}`", work.id))
        .lines(holder.iter().map(|holder| format!("held by {holder}")))
        .fact("work", work.id.as_str())
        .fact("outcome", outcome)
        .fact("fence", hold.fence)
        .fact("holder", holder)
        .fact("degraded_until", degraded(call)))
}

/// The piece of work of a note: the named one, otherwise the one that the session took last and still holds,
/// otherwise that of the session.
async fn work_of_note(call: &mut Call, actor: &Actor) -> Result<Option<WorkId>, Fault> {
    if let Some(named) = call.arguments.work_id("work")? {
        return Ok(Some(named));
    }
    if let Some(held) = call.service.journal.held_last(actor).await? {
        return Ok(Some(held));
    }
    Ok(call.service.journal.of_session(actor).await?.map(|(work, _)| work.id))
}

/// Adds a note to a piece of work.
pub(super) async fn note(call: &mut Call) -> Answer {
    call.arguments.unframe();
    let event = call.arguments.needed("event")?;
    let actor = caller(call);
    let work = work_of_note(call, &actor).await?;
    let text = call.arguments.text("text")?;
    match (event.as_str(), work) {
        ("intent", Some(work)) => return intent(call, &actor, &work, text).await,
        ("intent" | "confirmed" | "failed" | "done" | "abandoned", None) => {
            return Err(ArgumentError::new("work", None, "name one, or begin one with work_begin").into());
        }
        ("confirmed", Some(work)) => {
            let key = call.arguments.needed("key")?;
            return Ok(noted(&call.service.journal.confirm(&actor, &work, &key).await?));
        }
        ("failed", Some(work)) => {
            let key = call.arguments.needed("key")?;
            return Ok(noted(&call.service.journal.refute(&actor, &work, &key, text.as_deref()).await?));
        }
        ("done" | "abandoned", Some(work)) => {
            let outcome = if event == "done" { Outcome::Done } else { Outcome::Abandoned };
            let ended = closed(call, &actor, &work, CloseWork { outcome, text }).await?;
            return Ok(Reply::saying(format!("closed work `{work}`"))
                .lines(ended.memories.iter().map(|id| format!("remembered: `{id}`")))
                .fact("work", work.as_str())
                .fact("seq", ended.work.seq)
                .fact("outcome", if ended.is_new { "recorded" } else { "unchanged" })
                .fact("memories", ended.memories));
        }
        _ => {}
    }
    let step = step(call, &event, text)?;
    if let Some(unchanged) = checked(call, &actor, work.as_ref(), &step).await? {
        return Ok(noted(&unchanged));
    }
    let target = work.map_or(Target::Session, Target::Work);
    let appended = call.service.journal.append(&actor, target, vec![Happening::from(step)]).await?;
    Ok(noted(&appended))
}

fn noted(appended: &Appended) -> Reply {
    let outcome = match appended {
        appended if appended.degraded => "degraded",
        appended if appended.late => "late",
        appended if appended.recorded == 0 => "unchanged",
        _ => "recorded",
    };
    Reply::saying(outcome)
        .fact("work", appended.work.map(|id| id.to_string()))
        .fact("seq", appended.seq)
        .fact("outcome", outcome)
}

/// Translates an event of the tool into a step of the journal.
fn step(call: &mut Call, event: &str, text: Option<String>) -> Result<Step, Fault> {
    let needed = |text: Option<String>| {
        text.ok_or_else(|| ArgumentError::new("text", None, "it is missing; give it as a text"))
    };
    let gate = |call: &mut Call, standing, text| -> Result<Step, Fault> {
        Ok(Step::Gate { name: call.arguments.needed("key")?, standing, text })
    };
    Ok(match event {
        "step_added" => Step::StepAdded { text: needed(text)?, task: None },
        "step_done" => of_step(call, Standing::Passed, text)?,
        "step_dropped" => of_step(call, Standing::Dropped, text)?,
        "step_active" => of_step(call, Standing::Active, text)?,
        "decision" => Step::Decision { text: needed(text)? },
        "finding" => Step::Finding { text: needed(text)? },
        "note" => Step::Note { text: needed(text)? },
        "blocked" => Step::Blocked { text: needed(text)? },
        "gate_pending" => gate(call, Standing::Pending, text)?,
        "gate_passed" => gate(call, Standing::Passed, text)?,
        "gate_failed" => gate(call, Standing::Failed, text)?,
        "call_started" => Step::ModelStarted {
            call: call.arguments.needed("key")?,
            provider: needed(text)?,
            response: None,
        },
        "call_done" => Step::ModelEnded { call: call.arguments.needed("key")?, ending: Ending::Passed },
        other => {
            let problem = format!("it must be one of {}", EVENTS.join(", "));
            return Err(ArgumentError::new("event", Some(other), problem).into());
        }
    })
}

fn of_step(call: &mut Call, standing: Standing, text: Option<String>) -> Result<Step, Fault> {
    let number = call.arguments.count("step")?.and_then(|number| u32::try_from(number).ok());
    let problem = "it must be the number of a step, from 1";
    let step =
        number.filter(|number| *number > 0).ok_or_else(|| ArgumentError::new("step", None, problem))?;
    Ok(Step::StepSet { step, task: None, standing, text })
}

/// Refuses a step that the piece of work does not have, and a step or gate for which it has no room. If a step already is
/// as it should be, the result is that nothing changes.
async fn checked(
    call: &Call,
    actor: &Actor,
    work: Option<&WorkId>,
    step: &Step,
) -> Result<Option<Appended>, Fault> {
    let shown = match work {
        Some(work) if matches!(step, Step::StepSet { .. } | Step::StepAdded { .. } | Step::Gate { .. }) => {
            Some(call.service.journal.show(actor, work).await?)
        }
        _ => None,
    };
    let (steps, gates) = shown
        .as_ref()
        .map_or((&[][..], &[][..]), |shown| (shown.state.steps.as_slice(), shown.state.gates.as_slice()));
    let (number, standing, text) = match step {
        Step::StepSet { step, standing, text, .. } => (*step, *standing, text.as_deref()),
        Step::StepAdded { text, .. } if steps.len() >= STEPS_MAX => {
            let problem = format!("a piece of work has at most {STEPS_MAX} steps");
            return Err(ArgumentError::new("text", Some(text), problem).into());
        }
        Step::Gate { name, .. }
            if gates.len() >= GATES_MAX && gates.iter().all(|gate| gate.name != *name) =>
        {
            let problem = format!("a piece of work has at most {GATES_MAX} gates");
            return Err(ArgumentError::new("key", Some(name), problem).into());
        }
        _ => return Ok(None),
    };
    let Some(step) = steps.iter().find(|step| step.number == number) else {
        let named = |step: &PlanStep| format!("{} {}", step.number, cut_chars(&step.text, STEP_CHARS_MAX));
        let names: Vec<String> = steps.iter().take(STEPS_SHOWN_MAX).map(named).collect();
        let problem = match steps.len() {
            0 => "this piece of work has no steps; note step_added, or name another in `work`".to_owned(),
            all => format!("there is no such step; of {all}: {}", names.join("; ")),
        };
        return Err(ArgumentError::new("step", Some(&number.to_string()), problem).into());
    };
    let is_unchanged = step.standing == standing && text.is_none_or(|text| text == step.text);
    Ok(shown.as_ref().filter(|_| is_unchanged).map(|shown| Appended {
        work: Some(shown.work.id),
        seq: shown.work.seq,
        repeated: 1,
        ..Appended::default()
    }))
}

/// Records that an effect is about to be tried.
async fn intent(call: &mut Call, actor: &Actor, work: &WorkId, text: Option<String>) -> Answer {
    let key = call.arguments.needed("key")?;
    let repeats = [("safe", Repeat::Safe), ("check", Repeat::Check), ("never", Repeat::Never)];
    let repeat = call.arguments.choice("repeat", &repeats)?.unwrap_or(Repeat::Check);
    let text = text.unwrap_or_else(|| key.clone());
    let answer = call.service.journal.intent(actor, work, &key, &text, repeat).await?;
    let (seq, outcome, words) = match answer {
        IntentAnswer::GoAhead { seq } => (seq, "recorded", "go ahead, then note confirmed or failed"),
        IntentAnswer::Confirmed { seq } => (seq, "confirmed", "it took place before: do not do it again"),
        IntentAnswer::Unknown { seq, repeat } => match repeat {
            Repeat::Safe => (seq, "unknown", "it was begun before; it may be repeated under this key"),
            Repeat::Check => (seq, "unknown", "it was begun before: check whether it took place"),
            Repeat::Never => (seq, "unknown", "it was begun before: a person decides"),
        },
    };
    Ok(Reply::saying(words)
        .fact("work", work.as_str())
        .fact("seq", seq)
        .fact("outcome", outcome)
        .fact("rule", words))
}

/// Lists pieces of work.
pub(super) async fn list(call: &mut Call) -> Answer {
    let filter = filter(call)?;
    let project = call.project()?;
    let limit = call.arguments.clamped("limit", LIST_DEFAULT, 1..=WORKS_LISTED_MAX)?;
    let before = call.arguments.moment("cursor", call.now(), DayEdge::Start)?;
    let query = WorkQuery { project: Some(project), filter, before, after: None, limit };
    let listed = call.service.journal.list(&caller(call), query).await?;
    let lines = listed.iter().map(|one| {
        let stale = one.stale.map_or(String::new(), |stale| format!(", {}", stale.as_str()));
        format!("- `{}` {} ({}{stale})", one.work.id, one.work.title, one.work.status.as_str())
    });
    let cursor = listed.last().filter(|_| listed.len() == limit).map(|last| last.work.active_at.to_string());
    Ok(Reply::saying(format!("{} of work", counted(listed.len(), "piece")))
        .lines(lines)
        .fact("next_cursor", cursor)
        .fact("degraded_until", degraded(call))
        .list("works", listed.iter().map(|one| json!(row(one))).collect()))
}

/// The hint for a piece of work. On request, takes or releases its lease.
pub(super) async fn resume(call: &mut Call) -> Answer {
    let named = call.arguments.work_id("work")?;
    let claim = call.arguments.flag(&["claim"])?;
    let takeover = call.arguments.flag(&["takeover"])?;
    let release = call.arguments.flag(&["release"])?;
    let (least, most) = HINT_BYTES_RANGE;
    let max_bytes = call.arguments.clamped("max_bytes", HINT_DEFAULT, least..=most)?;
    let actor = caller(call);
    if let (true, Some(work)) = (release, &named) {
        let work = call.service.journal.release(&actor, work).await?;
        return Ok(Reply::saying(format!("released `{}`", work.id)).fact("work", work.id.as_str()));
    }
    let found = match named {
        Some(_) if claim || takeover => None,
        _ => resumed(call, &actor, named.as_ref(), max_bytes).await?,
    };
    let Some(id) = named.or_else(|| found.as_ref().map(|found| found.work.id)) else {
        let words = "nothing is unfinished";
        return Ok(Reply::saying(words).fact("text", words).fact("degraded_until", degraded(call)));
    };
    // The answer describes the state after the lease was taken.
    let hold =
        if claim || takeover { Some(call.service.journal.hold(&actor, &id, takeover).await?) } else { None };
    let found = if hold.is_some() { resumed(call, &actor, Some(&id), max_bytes).await? } else { found };
    let resumed = found.ok_or(ServiceError::NoWork(id))?;
    let holder = hold.as_ref().map(|hold| hold.holder.clone());
    let steps = resumed.state.next_step().map(|step| json!({ "step": step.number, "text": step.text }));
    Ok(Reply::saying(resumed.text.clone())
        .fact("work", id.as_str())
        .fact("action", resumed.action.as_str())
        .fact("text", resumed.text)
        .fact("stale", resumed.stale.map(Stale::as_str))
        .fact("next", steps)
        .fact("unknown", unknown(&resumed.state))
        .fact("gates", gates(&resumed.state))
        .fact("holder", holder)
        .fact("fence", hold.map(|hold| hold.fence))
        .fact("degraded_until", degraded(call)))
}

/// The effects and calls of unknown outcome, without texts that the hint leaves out.
fn unknown(state: &State) -> Vec<Value> {
    let shown = |text: &str| taint::left_out(text).unwrap_or_else(|| text.to_owned());
    let effects = state.open_intents().map(|intent| {
        json!({ "key": shown(&intent.key), "text": shown(&intent.text), "repeat": name(&intent.repeat) })
    });
    let calls = state.under_way.iter().rev();
    let calls = calls.map(|call| json!({ "tool": shown(&call.tool), "text": shown(&call.what) }));
    effects.chain(calls).collect()
}

/// The gates that were not passed.
fn gates(state: &State) -> Vec<Value> {
    let open = state.gates.iter().filter(|gate| gate.standing != Standing::Passed);
    let shown = |text: &str| taint::left_out(text).unwrap_or_else(|| text.to_owned());
    open.map(|gate| json!({ "key": shown(&gate.name), "standing": name(&gate.standing) })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_that_does_not_answer_fails_no_tool() {
        let reply = unanswered(ServiceError::JournalBusy.into(), Some("2026-01-01T00:01:00Z".to_owned()));
        let result = reply.unwrap().finish();
        assert_ne!(result.is_error, Some(true));
        let facts = result.structured_content.unwrap();
        assert_eq!(
            (&facts["outcome"], &facts["degraded_until"]),
            (&json!("degraded"), &json!("2026-01-01T00:01:00Z"))
        );
        let failed = Fault::new(Code::StoreFailed, "no space left on device");
        assert_ne!(unanswered(failed, None).unwrap().finish().is_error, Some(true));
        let other = Fault::from(ServiceError::NoModel);
        assert_eq!(unanswered(other.clone(), None).unwrap_err(), other);
    }
}
