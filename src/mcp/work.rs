//! The journal of work for people: the operations of `cerebro work` and of the screens.

use std::time::Duration;

use serde_json::{Value, json};

use super::{
    arguments::ArgumentError,
    call::{Answer, Call},
    context::Context,
    fault::Fault,
    reply::{Reply, moment},
};
use cerebro_core::code::Code;
use cerebro_core::domain::{SessionId, WorkId};
use cerebro_core::text;
use cerebro_ledger::anchor::anchors;
use cerebro_ledger::limits::{ANCHORS_MAX, HINT_BYTES, HINT_BYTES_RANGE};
use cerebro_ledger::{Entry, IntentState, Outcome, Work, World};
use cerebro_service::work::{
    Actor, ClaimWork, CloseWork, LOCAL_OWNER, ListedWork, ResumedWork, Stale, WORKS_LISTED_MAX, WorkFilter,
    WorkQuery,
};
use cerebro_service::{Caller, Retention, ServiceError};

/// How long examining the files of a piece of work may take.
const LOOK_MAX: Duration = Duration::from_millis(500);
/// Most of its files that are examined.
const FILES_LOOKED_AT_MAX: usize = 32;
/// Most ids that are named where several begin alike, and most characters of one that is unknown.
const IDS_SHOWN_MAX: usize = 8;
const GIVEN_CHARS_MAX: usize = 40;
/// Most events of one page of a journal.
const ENTRIES_MAX: usize = 500;
/// The longest time that anything is kept or looked back over, in days.
const DAYS_MAX: usize = 36_500;
/// The owner of work from other machines: their clients have the listener's token, but are not this user.
const HTTP_OWNER: &str = "http";

/// The caller, in the terms of the journal.
pub(super) fn actor(call: &Call, caller: &Caller, directory: Option<String>) -> Actor {
    let owner = if call.connection.is_remote() { HTTP_OWNER } else { LOCAL_OWNER };
    Actor {
        owner: owner.to_owned(),
        agent: caller.agent.clone(),
        session: Some(call.session.clone()),
        project: caller.project.clone(),
        directory,
    }
}

fn person(call: &Call) -> Actor {
    // A command is not a session of work, and holds nothing.
    Actor { session: None, ..actor(call, &call.caller, None) }
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
pub(super) fn row(listed: &ListedWork) -> Value {
    facts(&listed.work, listed.stale)
}

fn facts(work: &Work, stale: Option<Stale>) -> Value {
    json!({
        "work": work.id.as_str(), "project": work.project.as_str(), "kind": work.kind,
        "title": work.title.as_str(), "status": work.status.as_str(),
        "outcome": work.outcome.map(Outcome::as_str), "stale": stale.map(Stale::as_str),
        "agent": work.agent.as_str(), "session_id": work.session.as_ref().map(SessionId::as_str),
        "key": work.key, "parent": work.parent.map(|id| id.to_string()),
        "forked_from": work.forked_from.map(|(id, seq)| format!("{id}@{seq}")),
        "created_at": moment(work.created_at), "active_at": moment(work.active_at), "seq": work.seq,
        "holder": work.lease.as_ref().map(|lease| lease.holder.as_str()),
        "until": work.lease.as_ref().map(|lease| moment(lease.until)), "fence": work.fence,
    })
}

/// The state of the journal, if the store is open.
pub(super) fn journal_facts(context: &Context) -> Option<Value> {
    let report = context.opened()?.journal.report();
    Some(json!({
        "enabled": report.enabled, "degraded_until": report.degraded_until.map(moment), "missed": report.missed,
    }))
}

/// The note that the journal is falling behind, for a tool's answer.
pub(super) fn degraded(call: &Call) -> Option<String> {
    call.service.journal.report().degraded_until.map(moment)
}

/// One event.
pub(super) fn event(entry: &Entry) -> Value {
    json!({
        "seq": entry.seq, "at": entry.at.to_string(), "kind": entry.kind, "late": entry.late,
        "step": entry.step, "purged": entry.step.is_none(),
        "full_bytes": entry.artifact.is_some().then_some(entry.full), "artifact": entry.artifact,
    })
}

/// The filter for pieces of work.
pub(super) fn filter(call: &mut Call) -> Result<WorkFilter, ArgumentError> {
    Ok(match call.arguments.text("state")?.as_deref() {
        None | Some("open") => WorkFilter::Open,
        Some("free") => WorkFilter::Free,
        Some("waiting") => WorkFilter::Waiting,
        Some("stale") => WorkFilter::Stale,
        Some("closed") => WorkFilter::Closed,
        Some("all") => WorkFilter::All,
        Some(other) => {
            let problem = "it must be `open`, `free`, `waiting`, `stale`, `closed` or `all`";
            return Err(ArgumentError::new("state", Some(other), problem));
        }
    })
}

pub(super) async fn list(call: &mut Call) -> Answer {
    let all = call.arguments.flag(&["all_projects"])?;
    let project = call.arguments.project()?.unwrap_or_else(|| call.caller.project.clone());
    let filter = filter(call)?;
    let limit = call.arguments.clamped("limit", 20, 1..=WORKS_LISTED_MAX)?;
    let before = call.arguments.moment("before", call.now(), false)?;
    let query = WorkQuery { project: (!all).then_some(project), filter, before, limit };
    let listed = call.service.journal.list(&person(call), query).await?;
    let report = call.service.journal.report();
    Ok(Reply::saying(pieces(listed.len()))
        .fact("enabled", report.enabled)
        .fact("degraded_until", report.degraded_until.map(moment))
        .fact("missed", (report.missed > 0).then_some(report.missed))
        .list("works", listed.iter().map(row).collect()))
}

pub(super) async fn show(call: &mut Call) -> Answer {
    let id = named(call).await?;
    let shown = call.service.journal.show(&person(call), &id).await?;
    let memories = call.service.journal.memories_of_work(&id).await?;
    let memories = memories.iter().map(|memory| json!({ "id": memory.id.as_str(), "title": memory.title }));
    Ok(Reply::saying(shown.work.title.to_string())
        .fact("work", facts(&shown.work, shown.stale))
        .fact("state", json!(shown.state))
        .list("memories", memories.collect()))
}

/// Events after a number, oldest first; without a number, the last ones.
pub(super) async fn tail(call: &mut Call) -> Answer {
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
    Ok(Reply::saying(text::counted(entries.len(), "event"))
        .fact("work", id.as_str())
        .list("events", entries.iter().map(event).collect()))
}

pub(super) async fn resume(call: &mut Call) -> Answer {
    let id = match call.arguments.text("work")? {
        Some(_) => Some(named(call).await?),
        None => None,
    };
    let (least, most) = HINT_BYTES_RANGE;
    let max_bytes = call.arguments.clamped("max_bytes", HINT_BYTES, least..=most)?;
    let resumed = resumed(call, &person(call), id.as_ref(), max_bytes).await?;
    let Some(resumed) = resumed else { return Ok(Reply::saying("nothing is unfinished")) };
    Ok(Reply::saying(resumed.text.clone())
        .fact("work", facts(&resumed.work, None))
        .fact("action", resumed.action.as_str())
        .fact("text", resumed.text))
}

/// The hint for a piece of work, checked against the files of the caller's folder if that answers in time.
pub(super) async fn resumed(
    call: &Call,
    actor: &Actor,
    id: Option<&WorkId>,
    max_bytes: usize,
) -> Result<Option<ResumedWork>, ServiceError> {
    let world = World::at(call.now());
    let Some(found) = call.service.journal.resume(actor, id, &world, max_bytes).await? else {
        return Ok(None);
    };
    let checkout = call.connection.checkout().filter(|_| found.work.project == *call.connection.project());
    let Some(checkout) = checkout else { return Ok(Some(found)) };
    let ResumedWork { work, state, .. } = &found;
    let paths = state.files.iter().rev().take(FILES_LOOKED_AT_MAX).map(|file| file.path.clone()).collect();
    match checkout.seen(paths, state.directory.clone(), LOOK_MAX).await {
        Some((files, commit)) => {
            let world = World { files, commit, ..world };
            call.service.journal.resume(actor, Some(&work.id), &world, max_bytes).await
        }
        None => Ok(Some(found)),
    }
}

/// Claims a piece of work for the person, who may take it over from another holder.
pub(super) async fn claim(call: &mut Call) -> Answer {
    let id = named(call).await?;
    let takeover = call.arguments.flag(&["takeover"])?;
    let claimed = call.service.journal.claim(&person(call), &id, ClaimWork { lease: None, takeover }).await?;
    let said = if claimed.held { "claimed" } else { "held by another" };
    Ok(Reply::saying(format!("{said} `{id}`"))
        .fact("work", id.as_str())
        .fact("held", claimed.held)
        .fact("holder", claimed.holder)
        .fact("fence", claimed.fence)
        .fact("until", moment(claimed.until)))
}

pub(super) async fn release(call: &mut Call) -> Answer {
    let id = named(call).await?;
    let work = call.service.journal.release(&person(call), &id).await?;
    let is_free = work.lease.is_none();
    Ok(Reply::saying(if is_free { "nobody holds it" } else { "another one holds it" })
        .fact("work", facts(&work, None))
        .fact("free", is_free))
}

/// The whole body of an event that does not fit into its row.
pub(super) async fn artifact(call: &mut Call) -> Answer {
    let id = named(call).await?;
    let seq = call
        .arguments
        .count("seq")?
        .ok_or_else(|| ArgumentError::new("seq", None, "it must be the number of an event"))?
        as u64;
    let found = call.service.journal.artifact(&person(call), &id, seq).await?;
    Ok(Reply::saying(if found.is_some() { "an artifact" } else { "all of the event is in its row" })
        .fact("work", id.as_str())
        .fact("seq", seq)
        .fact("artifact", found.as_ref().map(|found| found.id.clone()))
        .fact("full_bytes", found.as_ref().map(|found| found.full))
        .fact("text", found.map(|found| found.text)))
}

/// Effects of unknown outcome, in all projects.
pub(super) async fn unsettled(call: &mut Call) -> Answer {
    let found = call.service.journal.unsettled(&person(call)).await?;
    let row = |work: &Work, intent: &IntentState| {
        json!({
            "work": work.id.as_str(), "project": work.project.as_str(), "title": work.title.as_str(),
            "key": intent.key, "text": intent.text, "repeat": intent.repeat, "seq": intent.seq,
        })
    };
    let rows: Vec<Value> =
        found.iter().flat_map(|(work, intents)| intents.iter().map(|intent| row(work, intent))).collect();
    Ok(Reply::saying(format!("{} effects of unknown outcome", rows.len())).list("effects", rows))
}

pub(super) async fn close(call: &mut Call) -> Answer {
    let id = named(call).await?;
    let outcome = call.arguments.text("outcome")?;
    let outcome = match outcome.as_deref() {
        None => Outcome::Done,
        Some(name) => Outcome::parse(name).ok_or_else(|| {
            ArgumentError::new("outcome", Some(name), "it must be `done`, `failed` or `abandoned`")
        })?,
    };
    let text = call.arguments.text("text")?;
    let actor = person(call);
    let (work, taken) = closed(call, &call.caller, &actor, &id, CloseWork { outcome, text }).await?;
    Ok(Reply::saying(format!("closed `{}` {}", work.id, work.title))
        .fact("work", facts(&work, None))
        .fact("memories", taken))
}

/// Closes a piece of work and offers its findings to memory. Returns the ids of the memories that resulted.
pub(super) async fn closed(
    call: &Call,
    caller: &Caller,
    actor: &Actor,
    id: &WorkId,
    close: CloseWork,
) -> Result<(Work, Vec<String>), ServiceError> {
    let work = call.service.journal.close(actor, id, close).await?;
    let taken = call.service.journal.offer(caller, &call.session, actor, id).await?;
    Ok((work, taken.iter().map(ToString::to_string).collect()))
}

pub(super) async fn fork(call: &mut Call) -> Answer {
    let id = named(call).await?;
    let at = call.arguments.count("at")?.map(|at| at as u64);
    let work = call.service.journal.fork(&person(call), &id, at).await?;
    Ok(Reply::saying(format!("forked as `{}`", work.id)).fact("work", facts(&work, None)))
}

/// A page of one piece of work, in the format of an export.
pub(super) async fn export(call: &mut Call) -> Answer {
    let id = named(call).await?;
    let after = call.arguments.count("after")?.map(|after| after as u64);
    let page = call.service.work_export(&person(call), &id, after).await?;
    let next = page.next.and_then(|next| next.parse::<u64>().ok());
    Ok(Reply::saying(text::counted(page.lines.len(), "line"))
        .list("lines", page.lines.into_iter().map(Value::String).collect())
        .fact("next", next))
}

/// A number of pieces of work, in words.
pub(super) fn pieces(count: impl TryInto<u64> + Copy + std::fmt::Display) -> String {
    format!("{} of work", text::counted(count, "piece"))
}

pub(super) async fn prune(call: &mut Call) -> Answer {
    let days = |given: Option<usize>| {
        given.map(|days| Duration::from_secs(days.clamp(1, DAYS_MAX) as u64 * 24 * 60 * 60))
    };
    let texts = days(call.arguments.count("texts_days")?);
    let works = days(call.arguments.count("works_days")?);
    // If the journal is off, pruning reports that.
    let kept = call.service.journal.retention().unwrap_or_default();
    let retention = Retention { texts: texts.unwrap_or(kept.texts), works: works.unwrap_or(kept.works) };
    let pruned = call.service.journal.prune(retention).await?;
    Ok(Reply::saying(format!("{} gone", pieces(pruned.works)))
        .fact("works", pruned.works)
        .fact("texts", pruned.texts)
        .fact("artifacts", pruned.artifacts))
}

/// Verifies everything. `heads` are texts with heads that were written down: from `work head`, `work anchor` or a
/// hint.
pub(super) async fn verify(call: &mut Call) -> Answer {
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
    let findings = found.findings.iter().map(|finding| {
        json!({ "work": finding.work.map(|id| id.to_string()), "finding": finding.finding.name(), "detail": finding.finding.to_string() })
    });
    Ok(Reply::saying(format!("{} findings", found.findings.len()))
        .fact("works", found.works)
        .fact("events", found.events)
        .fact("artifacts", found.artifacts)
        .fact("seals", found.seals)
        .fact("purged", found.purged)
        .fact("foreign", found.foreign)
        .fact("more", found.more)
        .list("findings", findings.collect()))
}

pub(super) async fn head(call: &mut Call) -> Answer {
    let head = call.service.journal.head().await?;
    Ok(Reply::saying(format!("{} {}", head.size, head.root))
        .fact("size", head.size)
        .fact("root", head.root)
        .fact("note", head.note))
}

pub(super) async fn prove(call: &mut Call) -> Answer {
    let id = named(call).await?;
    let proof = call.service.journal.prove(&person(call), &id).await?;
    let Some(proof) = proof else {
        return Ok(
            Reply::saying("it is not under a seal yet; `cerebro work head` seals").fact("sealed", false)
        );
    };
    Ok(Reply::saying(format!("event {} is under a seal", proof.seq))
        .fact("sealed", true)
        .fact("work", proof.work.as_str())
        .fact("seq", proof.seq)
        .fact("leaf", proof.leaf)
        .fact("index", proof.index)
        .fact("size", proof.size)
        .fact("path", json!(proof.path))
        .fact("note", proof.note)
        .fact("key", proof.key))
}
