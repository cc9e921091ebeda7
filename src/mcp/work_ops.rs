//! A person's operations on the journal of work, for `cerebro work` and the screens.

use std::time::Duration;

use super::prelude::*;
use super::{arguments::DayEdge, context::Context};
use crate::answer::{
    daemon::Journal,
    memories::Named,
    name,
    work::{self, Piece},
};
use cerebro_core::code::Code;
use cerebro_core::domain::{Memory, WorkId};
use cerebro_ledger::anchor::anchors;
use cerebro_ledger::limits::{ANCHORS_MAX, HINT_BYTES, HINT_BYTES_RANGE};
use cerebro_ledger::{Entry, IntentState, Outcome, Status, Work, World};
use cerebro_service::work::{
    Actor, CloseWork, LOCAL_OWNER, ListedWork, ResumedWork, Stale, WORKS_LISTED_MAX, WorkFilter, WorkFinding,
    WorkQuery,
};
use cerebro_service::{Retention, ServiceError};

/// How long examining the files of a piece of work may take.
const LOOK_MAX: Duration = Duration::from_millis(500);
/// Most files of a piece of work that are examined.
const FILES_LOOKED_AT_MAX: usize = 32;
/// Most ids that are named if a beginning is ambiguous, and most characters of an unknown one.
const IDS_SHOWN_MAX: usize = 8;
const GIVEN_CHARS_MAX: usize = 40;
/// Most events of one page of a journal.
const ENTRIES_MAX: usize = 500;
/// Longest period in an argument, in days.
const DAYS_MAX: usize = 36_500;
/// The owner of work from other machines, whose clients have the listener's token but are not this user.
const HTTP_OWNER: &str = "http";

/// The caller as an actor of the journal.
pub(super) fn actor(call: &Call, directory: Option<String>) -> Actor {
    let caller = &call.caller;
    let owner = if call.connection.is_remote() { HTTP_OWNER } else { LOCAL_OWNER };
    Actor {
        owner: owner.to_owned(),
        agent: caller.agent.clone(),
        session: Some(caller.session.clone()),
        project: caller.project.clone(),
        directory,
    }
}

fn person(call: &Call) -> Actor {
    // A command has no session and cannot hold work.
    Actor { session: None, ..actor(call, None) }
}

/// The piece of work, by its id or an unambiguous beginning of it.
async fn named(call: &mut Call) -> Result<WorkId, Fault> {
    let given = call.arguments.needed("work")?;
    let given = given.trim().trim_start_matches("work:").to_ascii_lowercase();
    if let Ok(id) = WorkId::parse(&given) {
        return Ok(id);
    }
    let query = WorkQuery { filter: WorkFilter::All, limit: WORKS_LISTED_MAX, ..WorkQuery::default() };
    let listed = call.service.journal.list(&person(call), query).await?;
    if given.is_empty() {
        return Err(ArgumentError::new("work", Some(&given), "it must be an id").into());
    }
    let ids = listed.iter().map(|one| one.work.id).filter(|id| id.as_str().starts_with(&given));
    let found: Vec<WorkId> = ids.collect();
    match found.as_slice() {
        [one] => Ok(*one),
        [] => {
            let given = text::cut_chars(&given, GIVEN_CHARS_MAX);
            Err(Fault::new(Code::NoWork, format!("no work has an id that begins with `{given}`")))
        }
        [..] => {
            let shown: Vec<&str> = found.iter().take(IDS_SHOWN_MAX).map(WorkId::as_str).collect();
            let problem = format!("several ids begin with it: {}", shown.join(", "));
            Err(ArgumentError::new("work", Some(&given), problem).into())
        }
    }
}

/// One piece of work in a list.
pub(super) fn row(listed: &ListedWork) -> Piece {
    piece(&listed.work, listed.stale)
}

fn piece(work: &Work, stale: Option<Stale>) -> Piece {
    // Nobody holds closed work, or work that was lost with its agent.
    let lease = work.lease.as_ref().filter(|_| work.status != Status::Closed && !work.lost);
    Piece {
        work: work.id.as_str().into(),
        project: work.project.as_str().into(),
        kind: work.kind.as_str().into(),
        title: work.title.as_str().into(),
        status: work.status.as_str().into(),
        outcome: work.outcome.map(|outcome| outcome.as_str().into()),
        stale: stale.map(|stale| stale.as_str().into()),
        agent: work.agent.as_str().into(),
        session_id: work.session.as_ref().map(|id| id.as_str().into()),
        key: work.key.as_ref().map(Text::from),
        parent: work.parent.map(|id| id.as_str().into()),
        forked_from: work.forked_from.map(|(id, seq)| format!("{id}@{seq}").into()),
        created_at: moment(work.created_at).into(),
        // Whole, because pages of the list begin at it.
        active_at: Text::of(work.active_at),
        seq: work.seq,
        holder: lease.map(|lease| lease.holder.as_str().into()),
        until: lease.map(|lease| moment(lease.until).into()),
        fence: work.fence,
    }
}

/// The state of the journal, if the store is open.
pub(super) fn journal(context: &Context) -> Option<Journal> {
    let journal = &context.opened()?.journal;
    let (report, damaged) = (journal.report(), journal.damaged_keys());
    Some(Journal {
        enabled: report.enabled,
        degraded_until: report.degraded_until.map(|until| moment(until).into()),
        missed: report.missed,
        damaged_keys: (!damaged.is_empty()).then(|| damaged.join(", ").into()),
    })
}

/// Until when the journal is degraded, for a tool's answer.
pub(super) fn degraded(call: &Call) -> Option<String> {
    call.service.journal.report().degraded_until.map(moment)
}

fn event(entry: &Entry) -> work::Event {
    work::Event {
        seq: entry.seq,
        at: entry.at.to_string().into(),
        kind: entry.kind.as_str().into(),
        late: entry.late,
        step: entry.step.as_ref().map(|step| json!(step)),
        purged: entry.step.is_none(),
        full_bytes: entry.artifact.is_some().then_some(entry.full),
        artifact: entry.artifact.as_ref().map(Text::from),
    }
}

/// The filter for pieces of work.
pub(super) fn filter(call: &mut Call) -> Result<WorkFilter, ArgumentError> {
    let filters = WorkFilter::ALL.map(|filter| (filter.as_str(), filter));
    Ok(call.arguments.choice("state", &filters)?.unwrap_or_default())
}

pub(super) async fn list(call: &mut Call) -> AnswerTo<of::WorkList> {
    let project = call.project_or_all()?;
    let filter = filter(call)?;
    let limit = call.arguments.clamped("limit", 20, 1..=WORKS_LISTED_MAX)?;
    let before = call.arguments.moment("before", call.now(), DayEdge::Start)?;
    let after = call.arguments.work_id("after")?;
    let query = WorkQuery { project, filter, before, after, limit };
    let listed = call.service.journal.list(&person(call), query).await?;
    let report = call.service.journal.report();
    Ok(work::Listed {
        enabled: report.enabled,
        degraded_until: report.degraded_until.map(|until| moment(until).into()),
        missed: (report.missed > 0).then_some(report.missed),
        works: listed.iter().map(row).collect(),
    })
}

pub(super) async fn show(call: &mut Call) -> AnswerTo<of::WorkShow> {
    let id = named(call).await?;
    let shown = call.service.journal.show(&person(call), &id).await?;
    let memories = call.service.journal.memories_of_work(&id).await?;
    let named = |memory: &Memory| Named { id: Text::of(memory.id), title: Text::of(&memory.title) };
    Ok(work::Shown {
        work: piece(&shown.work, shown.stale),
        state: shown.state,
        memories: memories.iter().map(named).collect(),
    })
}

/// The events after a number, oldest first; without a number, the last ones.
pub(super) async fn tail(call: &mut Call) -> AnswerTo<of::WorkTail> {
    let id = named(call).await?;
    let limit = call.arguments.clamped("limit", 20, 1..=ENTRIES_MAX)?;
    let actor = person(call);
    let after = match call.arguments.count("after")? {
        Some(after) => after as u64,
        None => {
            let shown = call.service.journal.show(&actor, &id).await?;
            shown.work.seq.saturating_sub(limit as u64)
        }
    };
    let entries = call.service.journal.tail(&actor, &id, after, limit).await?;
    Ok(work::Events { work: id.as_str().into(), events: entries.iter().map(event).collect() })
}

pub(super) async fn resume(call: &mut Call) -> AnswerTo<of::WorkResume> {
    let id = match call.arguments.text("work")? {
        Some(_) => Some(named(call).await?),
        None => None,
    };
    let (least, most) = HINT_BYTES_RANGE;
    let max_bytes = call.arguments.clamped("max_bytes", HINT_BYTES, least..=most)?;
    let resumed = resumed(call, &person(call), id.as_ref(), max_bytes).await?;
    let Some(resumed) = resumed else {
        return Ok(work::Resumed::default());
    };
    Ok(work::Resumed {
        work: Some(piece(&resumed.work, resumed.stale)),
        action: Some(resumed.action.as_str().into()),
        text: Some(Text::from(&resumed.text)),
    })
}

/// The world as far as the daemon knows it.
pub(super) fn world(call: &Call) -> World {
    let now = call.now();
    World { at_work: call.context.presence().at_work(now), ..World::at(now) }
}

/// The hint for a piece of work, checked against the files in the caller's folder if the folder answers in time.
pub(super) async fn resumed(
    call: &Call,
    actor: &Actor,
    id: Option<&WorkId>,
    max_bytes: usize,
) -> Result<Option<ResumedWork>, ServiceError> {
    let world = world(call);
    let Some(found) = call.service.journal.resume(actor, id, &world, max_bytes).await? else {
        return Ok(None);
    };
    let checkout = call.connection.checkout().filter(|_| found.work.project == *call.connection.project());
    let Some(checkout) = checkout else { return Ok(Some(found)) };
    let ResumedWork { work, state, others, .. } = &found;
    let paths = state.files.iter().rev().take(FILES_LOOKED_AT_MAX).map(|file| file.path.clone()).collect();
    match checkout.seen(paths, state.directory.clone(), LOOK_MAX).await {
        Some((files, commit)) => {
            let world = World { files, commit, others: others.clone(), ..world };
            call.service.journal.resume(actor, Some(&work.id), &world, max_bytes).await
        }
        None => Ok(Some(found)),
    }
}

/// Takes the lease of a piece of work for a person, who may take it over from another holder.
pub(super) async fn claim(call: &mut Call) -> AnswerTo<of::WorkClaim> {
    let id = named(call).await?;
    let takeover = call.arguments.flag(&["takeover"])?;
    let hold = call.service.journal.hold(&person(call), &id, takeover).await?;
    Ok(work::Claimed {
        work: id.as_str().into(),
        held: hold.held,
        holder: hold.holder.into(),
        fence: hold.fence,
        until: moment(hold.until).into(),
    })
}

pub(super) async fn release(call: &mut Call) -> AnswerTo<of::WorkRelease> {
    let id = named(call).await?;
    let work = call.service.journal.release(&person(call), &id).await?;
    let free = work.lease.is_none();
    Ok(work::Released { work: piece(&work, Stale::of(&work, call.now())), free })
}

/// The whole body of an event, if it does not fit into its row.
pub(super) async fn artifact(call: &mut Call) -> AnswerTo<of::WorkArtifact> {
    let id = named(call).await?;
    let seq = call
        .arguments
        .count("seq")?
        .ok_or_else(|| ArgumentError::new("seq", None, "it must be the number of an event"))?
        as u64;
    let found = call.service.journal.artifact(&person(call), &id, seq).await?;
    Ok(work::Artifact {
        work: id.as_str().into(),
        seq,
        artifact: found.as_ref().map(|found| found.id.as_str().into()),
        full_bytes: found.as_ref().map(|found| found.full),
        text: found.map(|found| found.text.into()),
    })
}

/// Effects of unknown outcome, in all projects.
pub(super) async fn unsettled(call: &mut Call) -> AnswerTo<of::WorkUnsettled> {
    let found = call.service.journal.unsettled(&person(call)).await?;
    let row = |work: &Work, intent: &IntentState| work::Effect {
        work: work.id.as_str().into(),
        project: work.project.as_str().into(),
        title: work.title.as_str().into(),
        key: Text::from(&intent.key),
        text: Text::from(&intent.text),
        repeat: name(&intent.repeat).into(),
        seq: intent.seq,
    };
    let effects: Vec<work::Effect> =
        found.iter().flat_map(|(work, intents)| intents.iter().map(|intent| row(work, intent))).collect();
    Ok(work::Unsettled { effects })
}

pub(super) async fn close(call: &mut Call) -> AnswerTo<of::WorkClose> {
    let id = named(call).await?;
    let outcomes = [Outcome::Done, Outcome::Failed, Outcome::Abandoned];
    let outcomes = outcomes.map(|outcome| (outcome.as_str(), outcome));
    let outcome = call.arguments.choice("outcome", &outcomes)?.unwrap_or(Outcome::Done);
    let text = call.arguments.text("text")?;
    let actor = person(call);
    let Ended { work, memories, .. } = closed(call, &actor, &id, CloseWork { outcome, text }).await?;
    Ok(work::Closed { work: piece(&work, None), memories: memories.into_iter().map(Text::from).collect() })
}

/// A piece of work that was closed.
pub(super) struct Ended {
    pub work: Work,
    /// Whether it was not closed in this way before.
    pub is_new: bool,
    /// The ids of the memories that its findings became.
    pub memories: Vec<String>,
}

/// Closes a piece of work and offers its findings to memory.
pub(super) async fn closed(
    call: &Call,
    actor: &Actor,
    id: &WorkId,
    close: CloseWork,
) -> Result<Ended, ServiceError> {
    let (work, is_new) = call.service.journal.close(actor, id, close).await?;
    let taken = call.service.journal.offer(&call.caller, actor, id).await?;
    Ok(Ended { work, is_new, memories: taken.iter().map(ToString::to_string).collect() })
}

pub(super) async fn fork(call: &mut Call) -> AnswerTo<of::WorkFork> {
    let id = named(call).await?;
    let at = call.arguments.count("at")?.map(|at| at as u64);
    let work = call.service.journal.fork(&person(call), &id, at).await?;
    Ok(work::Forked { work: piece(&work, None) })
}

/// A page of one piece of work, in the format of an export.
pub(super) async fn export(call: &mut Call) -> AnswerTo<of::WorkExport> {
    let id = named(call).await?;
    let after = call.arguments.count("after")?.map(|after| after as u64);
    let page = call.service.work_export(&person(call), &id, after).await?;
    let next = page.next.and_then(|next| next.parse::<u64>().ok());
    Ok(work::Exported { lines: page.lines, next })
}

pub(super) async fn prune(call: &mut Call) -> AnswerTo<of::WorkPrune> {
    let days = |given: Option<usize>| {
        given.map(|days| Duration::from_secs(days.clamp(1, DAYS_MAX) as u64 * 24 * 60 * 60))
    };
    let texts = days(call.arguments.count("texts_days")?);
    let works = days(call.arguments.count("works_days")?);
    // If the journal is off, pruning reports that.
    let kept = call.service.journal.retention().unwrap_or_default();
    let retention = Retention { texts: texts.unwrap_or(kept.texts), works: works.unwrap_or(kept.works) };
    Ok(call.service.journal.prune(retention).await?)
}

/// Verifies the whole journal. `heads` are texts that contain heads from `work head`, `work anchor` or a hint.
pub(super) async fn verify(call: &mut Call) -> AnswerTo<of::WorkVerify> {
    let given = call.arguments.texts("heads")?.unwrap_or_default();
    let mut heads = Vec::with_capacity(given.len());
    for text in &given {
        let found = anchors(text);
        if found.is_empty() {
            let problem = "there is no head in it: a size and at least 16 digits of a root in hex";
            return Err(ArgumentError::new("heads", Some(text), problem).into());
        }
        heads.extend(found);
    }
    if heads.len() > ANCHORS_MAX {
        let problem = format!("at most {ANCHORS_MAX} heads at once");
        return Err(ArgumentError::new("heads", Some(&heads.len().to_string()), problem).into());
    }
    let found = call.service.journal.verify(&heads).await?;
    let finding = |found: &WorkFinding| work::Finding {
        work: found.work.map(|id| id.as_str().into()),
        finding: found.finding.name().into(),
        detail: found.finding.to_string().into(),
    };
    Ok(work::Verified {
        works: found.works,
        events: found.events,
        artifacts: found.artifacts,
        seals: found.seals,
        purged: found.purged,
        foreign: found.foreign,
        more: found.more,
        findings: found.findings.iter().map(finding).collect(),
    })
}

pub(super) async fn head(call: &mut Call) -> AnswerTo<of::WorkHead> {
    Ok(call.service.journal.head().await?)
}

pub(super) async fn prove(call: &mut Call) -> AnswerTo<of::WorkProve> {
    let id = named(call).await?;
    let proof = call.service.journal.prove(&person(call), &id).await?;
    Ok(work::Proved { sealed: proof.is_some(), proof })
}
