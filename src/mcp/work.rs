//! The journal of work for people: `cerebro work` and the screens ask here.

use std::time::Duration;

use serde_json::{Value, json};

use super::{
    arguments::ArgumentError,
    call::{Answer, Call},
    fault::Fault,
    reply::{Reply, moment},
};
use cerebro_core::domain::{SessionId, WorkId};
use cerebro_ledger::limits::{HINT_BYTES, HINT_BYTES_RANGE};
use cerebro_ledger::{Entry, Outcome, Work, World};
use cerebro_service::work::{
    Actor, CloseWork, LOCAL_OWNER, ListedWork, Retention, Stale, WORKS_LISTED_MAX, WorkFilter, WorkQuery,
};
use cerebro_service::{Caller, ServiceError};

/// Most events of one page of a journal.
const ENTRIES_MAX: usize = 500;
/// The longest time that anything is kept or looked back over, in days.
const DAYS_MAX: usize = 36_500;
/// The owner of what comes from other machines: they have the listener's token, and are nobody of this user's.
const HTTP_OWNER: &str = "http";

/// Who asks, as the journal knows it.
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
    // A command is no session of work, and holds nothing.
    Actor { session: None, ..actor(call, &call.caller, None) }
}

/// The piece of work that is meant: by its id, or by the beginning of one that no other has.
async fn named(call: &mut Call) -> Result<WorkId, Fault> {
    let given = call.arguments.needed("work")?;
    let given = given.trim().trim_start_matches("work:").to_ascii_lowercase();
    if let Ok(id) = WorkId::parse(&given) {
        return Ok(id);
    }
    let query = WorkQuery { filter: WorkFilter::All, limit: WORKS_LISTED_MAX, ..WorkQuery::default() };
    let listed = call.service.work_list(&person(call), query).await?;
    let mut found = listed.iter().map(|one| one.work.id).filter(|id| id.as_str().starts_with(&given));
    let problem = match (found.next().filter(|_| !given.is_empty()), found.next()) {
        (Some(id), None) => return Ok(id),
        (Some(_), Some(_)) => "several pieces of work have ids that begin so",
        (None, _) => "no piece of work among the latest has an id that begins so",
    };
    Err(ArgumentError::new("work", Some(&given), problem).into())
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

/// One event.
pub(super) fn event(entry: &Entry) -> Value {
    json!({
        "seq": entry.seq, "at": entry.at.to_string(), "kind": entry.kind, "late": entry.late,
        "step": entry.step, "purged": entry.step.is_none(),
    })
}

/// Which pieces of work are wanted.
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
    let listed = call.service.work_list(&person(call), query).await?;
    let report = call.service.journal_report();
    Ok(Reply::saying(format!("{} pieces of work", listed.len()))
        .fact("enabled", report.enabled)
        .fact("degraded_until", report.degraded_until.map(moment))
        .list("works", listed.iter().map(row).collect()))
}

pub(super) async fn show(call: &mut Call) -> Answer {
    let id = named(call).await?;
    let shown = call.service.work_show(&person(call), &id).await?;
    let memories = call.service.memories_of_work(&id).await?;
    let memories = memories.iter().map(|memory| json!({ "id": memory.id.as_str(), "title": memory.title }));
    Ok(Reply::saying(shown.work.title.to_string())
        .fact("work", facts(&shown.work, shown.stale))
        .fact("state", json!(shown.state))
        .list("memories", memories.collect()))
}

/// Events after a number, oldest first; without one, the last of them.
pub(super) async fn tail(call: &mut Call) -> Answer {
    let id = named(call).await?;
    let limit = call.arguments.clamped("limit", 20, 1..=ENTRIES_MAX)?;
    let actor = person(call);
    let after = match call.arguments.count("after")? {
        Some(after) => after as u64,
        None => {
            let shown = call.service.work_show(&actor, &id).await?;
            shown.work.seq.saturating_sub(limit as u64)
        }
    };
    let entries = call.service.work_tail(&actor, &id, after, limit).await?;
    Ok(Reply::saying(format!("{} events", entries.len()))
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
    let world = World::at(call.now());
    let resumed = call.service.work_resume(&person(call), id.as_ref(), &world, max_bytes).await?;
    let Some(resumed) = resumed else { return Ok(Reply::saying("nothing is unfinished")) };
    Ok(Reply::saying(resumed.text.clone())
        .fact("work", facts(&resumed.work, None))
        .fact("action", resumed.action.as_str())
        .fact("text", resumed.text))
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

/// Ends a piece of work and offers its findings to memory; answers with the ids of what memory took.
pub(super) async fn closed(
    call: &Call,
    caller: &Caller,
    actor: &Actor,
    id: &WorkId,
    close: CloseWork,
) -> Result<(Work, Vec<String>), ServiceError> {
    let work = call.service.work_close(actor, id, close).await?;
    let taken = call.service.work_offer(caller, &call.session, actor, id).await?;
    Ok((work, taken.iter().map(ToString::to_string).collect()))
}

pub(super) async fn fork(call: &mut Call) -> Answer {
    let id = named(call).await?;
    let at = call.arguments.count("at")?.map(|at| at as u64);
    let work = call.service.work_fork(&person(call), &id, at).await?;
    Ok(Reply::saying(format!("forked as `{}`", work.id)).fact("work", facts(&work, None)))
}

/// A page of one piece of work, as an export has it.
pub(super) async fn export(call: &mut Call) -> Answer {
    let id = named(call).await?;
    let after = call.arguments.count("after")?.map(|after| after as u64);
    let page = call.service.work_export(&person(call), &id, after).await?;
    let next = page.next.and_then(|next| next.parse::<u64>().ok());
    Ok(Reply::saying(format!("{} lines", page.lines.len()))
        .list("lines", page.lines.into_iter().map(Value::String).collect())
        .fact("next", next))
}

pub(super) async fn prune(call: &mut Call) -> Answer {
    let days = |given: Option<usize>| {
        given.map(|days| Duration::from_secs(days.clamp(1, DAYS_MAX) as u64 * 24 * 60 * 60))
    };
    let texts = days(call.arguments.count("texts_days")?);
    let works = days(call.arguments.count("works_days")?);
    // Where the journal is off, pruning says so.
    let kept = call.service.work_retention().unwrap_or_default();
    let retention = Retention { texts: texts.unwrap_or(kept.texts), works: works.unwrap_or(kept.works) };
    let pruned = call.service.work_prune(retention).await?;
    Ok(Reply::saying(format!("{} pieces of work are gone", pruned.works))
        .fact("works", pruned.works)
        .fact("texts", pruned.texts)
        .fact("artifacts", pruned.artifacts))
}

/// Reads everything again. `heads` are lines that `work head` printed earlier: size and root.
pub(super) async fn verify(call: &mut Call) -> Answer {
    let given = call.arguments.texts("heads")?.unwrap_or_default();
    let mut heads = Vec::with_capacity(given.len());
    for line in &given {
        let read = line.trim().split_once(char::is_whitespace).and_then(|(size, root)| {
            let root = root.trim().to_ascii_lowercase();
            let is_hex = !root.is_empty() && root.bytes().all(|byte| byte.is_ascii_hexdigit());
            Some((size.replace(',', "").parse::<u64>().ok()?, root)).filter(|_| is_hex)
        });
        let problem = "it must be a size and a root in hex, as `cerebro work head` prints them";
        heads.push(read.ok_or_else(|| ArgumentError::new("heads", Some(line), problem))?);
    }
    let found = call.service.work_verify(&heads).await?;
    let findings = found.findings.iter().map(|finding| {
        json!({ "work": finding.work.map(|id| id.to_string()), "finding": finding.finding.name(), "detail": format!("{:?}", finding.finding) })
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
    let head = call.service.work_head().await?;
    Ok(Reply::saying(format!("{} {}", head.size, head.root))
        .fact("size", head.size)
        .fact("root", head.root)
        .fact("note", head.note))
}

pub(super) async fn prove(call: &mut Call) -> Answer {
    let id = named(call).await?;
    let proof = call.service.work_prove(&person(call), &id).await?;
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
