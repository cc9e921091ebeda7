//! A person's operations on past sessions: importing them, the state of that, and their contents.

use std::time::Duration;

use serde_json::{Value, json};

use super::{
    arguments::{ArgumentError, Arguments},
    call::{Answer, Call},
    fault::Fault,
    reply::{Reply, moment},
};
use cerebro_core::domain::{
    FullExchange, PastSession, SessionId,
    limits::{LIMIT_MAX, LISTING_MAX},
};
use cerebro_core::text;
use cerebro_service::{Fact, FactsAbout, Forget, ImportRequest, Links, Progress, agent_named};

/// Most sessions that are named where a part of an id means several.
const MEANT_MAX: usize = 5;

/// Starts to import past sessions; returns at once.
pub(super) async fn import(call: &mut Call) -> Answer {
    let request = request(&mut call.arguments)?;
    call.service.intake.import(request)?;
    Ok(Reply::saying("it has begun").fact("outcome", "begun"))
}

/// What could be imported, without reading it.
pub(super) async fn preview(call: &mut Call) -> Answer {
    let request = request(&mut call.arguments)?;
    let (agents, faults) = call.service.intake.preview(&request).await?;
    let rows: Vec<Value> = agents
        .iter()
        .map(|(agent, found)| {
            json!({
                "agent": agent, "files": found.files, "bytes": found.bytes, "fresh": found.fresh,
                "older": found.older,
            })
        })
        .collect();
    let faults = faults.iter().map(|(path, why)| json!({ "path": path, "reason": why })).collect();
    Ok(Reply::saying(format!("{} agents", rows.len())).list("agents", rows).list("faults", faults))
}

fn request(arguments: &mut Arguments) -> Result<ImportRequest, ArgumentError> {
    let mut agents = Vec::new();
    for name in arguments.texts("agents")?.unwrap_or_default() {
        let problem = "it is no agent whose sessions are read";
        agents.push(agent_named(&name).ok_or_else(|| ArgumentError::new("agents", Some(&name), problem))?);
    }
    let since = match arguments.text("since")? {
        None => None,
        Some(given) => Some(duration(&given)?),
    };
    Ok(ImportRequest { agents, project: arguments.project()?, since })
}

fn duration(given: &str) -> Result<Duration, ArgumentError> {
    let problem = "it is no time span; write for example \"90d\", or \"0\" for all";
    text::duration(given).ok_or_else(|| ArgumentError::new("since", Some(given), problem))
}

/// The progress of the import, and what there is by now.
pub(super) async fn status(call: &mut Call) -> Answer {
    let progress = call.service.intake.progress();
    let counts = call.service.history.counts().await?;
    let enabled = call.service.intake.is_kept();
    let state = match (enabled, progress.running) {
        (_, true) => "reading",
        (true, false) => "idle",
        (false, false) => "off",
    };
    let reply = Reply::saying(format!("history is {state}"))
        .fact("state", state)
        .fact("enabled", enabled)
        .fact("sessions", counts.sessions)
        .fact("exchanges", counts.exchanges);
    Ok(with_progress(reply, &progress))
}

fn with_progress(reply: Reply, progress: &Progress) -> Reply {
    let agents: Vec<Value> = progress
        .agents
        .iter()
        .map(|(agent, counts)| {
            json!({
                "agent": agent, "read": counts.read, "exchanges": counts.exchanges, "redacted": counts.redacted,
                "malformed": counts.malformed, "oversized": counts.oversized, "unknown": counts.unknown,
            })
        })
        .collect();
    let faults: Vec<Value> =
        progress.faults.iter().map(|(path, why)| json!({ "path": path, "reason": why })).collect();
    reply
        .fact("files", progress.files)
        .fact("files_done", progress.files_done)
        .fact("bytes", progress.bytes)
        .fact("bytes_done", progress.bytes_done)
        .fact("scanned_at", progress.scanned_at.map(moment))
        .fact("scan_ms", u64::try_from(progress.scan.as_millis()).unwrap_or(u64::MAX))
        .fact("read_ms", u64::try_from(progress.read.as_millis()).unwrap_or(u64::MAX))
        .fact("seen", progress.seen)
        .list("agents", agents)
        .list("faults", faults)
}

/// The latest past sessions, from a place in their list on.
async fn sessions(call: &mut Call) -> Answer {
    let project = call.arguments.project()?;
    let from = call.arguments.count("from")?.unwrap_or(0);
    let limit = call.arguments.clamped("limit", LISTING_MAX, 1..=LISTING_MAX)?;
    let sessions = call.service.history.sessions(project.as_ref(), from, limit).await?;
    let mut rows = Vec::with_capacity(sessions.len());
    for session in &sessions {
        rows.push(titled_row(call, session).await?);
    }
    Ok(Reply::saying(text::counted(rows.len(), "session")).fact("from", from).list("sessions", rows))
}

/// A past session with a page of its exchanges; without an id, the latest sessions.
pub(super) async fn session(call: &mut Call) -> Answer {
    let Some(id) = call.arguments.session_id("session")? else { return sessions(call).await };
    let from = call.arguments.count("from")?.and_then(|from| u32::try_from(from).ok()).unwrap_or(0);
    let limit = call.arguments.clamped("limit", LIMIT_MAX, 1..=LIMIT_MAX)?;
    let full = call.arguments.flag(&["full"])?;
    let found = call.service.history.exchanges(&id, from, limit, full).await?;
    let found = match found {
        None => {
            let id = meant(call, &id).await?;
            call.service.history.exchanges(&id, from, limit, full).await?
        }
        found => found,
    };
    let Some((session, exchanges)) = found else { return Err(unknown(&id).into()) };
    let rows = exchanges.iter().map(|exchange| exchange_row(exchange, full)).collect();
    let Value::Object(facts) = titled_row(call, &session).await? else {
        return Ok(Reply::saying("no session"));
    };
    let reply = Reply::saying(format!("session {}", session.id)).list("exchanges", rows);
    let named = |name: &str| name != "exchanges";
    let reply = facts
        .into_iter()
        .filter(|(name, _)| named(name))
        .fold(reply, |reply, (name, value)| reply.fact(&name, value));
    Ok(reply.fact("total", session.exchanges))
}

fn unknown(id: &SessionId) -> ArgumentError {
    let problem = "no past session has that id, and no exchange; `cerebro history show` lists them";
    ArgumentError::new("session", Some(id.as_str()), problem)
}

/// The session that is meant by the beginning of its id, or of one of its exchanges' ids.
async fn meant(call: &Call, given: &SessionId) -> Result<SessionId, Fault> {
    let part = given.as_str().trim_end_matches('…');
    let found = call.service.history.sessions_like(part, MEANT_MAX).await?;
    match found.as_slice() {
        [] => Err(unknown(given).into()),
        [one] => Ok(one.id.clone()),
        several => {
            let ids: Vec<&str> = several.iter().map(|session| session.id.as_str()).collect();
            let problem = format!("several begin like that: {}; give more of the id", ids.join(", "));
            Err(ArgumentError::new("session", Some(part), problem).into())
        }
    }
}

/// A session, and what it was asked first where nobody gave it a title.
async fn titled_row(call: &Call, session: &PastSession) -> Result<Value, Fault> {
    let mut row = session_row(session);
    if session.title.is_none() {
        row["asked"] = json!(call.service.history.opening(&session.id).await?);
    }
    Ok(row)
}

fn session_row(session: &PastSession) -> Value {
    let parent = session.parent.as_ref();
    json!({
        "session": session.id.as_str(), "agent": session.agent, "project": session.project.as_str(),
        "title": session.title, "directory": session.directory, "branch": session.branch, "model": session.model,
        "parent": parent.and_then(|parent| parent.session.as_ref()).map(|id| id.as_str().to_owned()),
        "parent_kind": parent.map(|parent| parent.kind.as_str()), "automated": session.automated,
        "started_at": session.started_at.to_string(), "ended_at": session.ended_at.to_string(),
        "exchanges": session.exchanges,
    })
}

fn exchange_row(stored: &FullExchange, full: bool) -> Value {
    let exchange = &stored.exchange;
    let commands: Vec<Value> =
        exchange.commands.iter().map(|command| json!({ "line": command.line, "ok": command.ok })).collect();
    let mut row = json!({
        "id": exchange.id.to_string(), "seq": exchange.seq, "part": exchange.part, "at": exchange.at.to_string(),
        "title": exchange.title, "files": exchange.files, "commands": commands, "errors": exchange.errors,
        "withdrawn": exchange.withdrawn,
    });
    if !stored.proven.is_empty() {
        row["proven"] = json!(stored.proven);
    }
    if full {
        row["text"] = json!(stored.text);
    }
    row
}

/// The proven facts of past sessions about a file, a command or an error.
pub(super) async fn facts(call: &mut Call) -> Answer {
    let arguments = &mut call.arguments;
    let all = arguments.flag(&["all_projects"])?;
    let project = arguments.project()?.unwrap_or_else(|| call.caller.project.clone());
    let limit = arguments.clamped("limit", 20, 1..=LIMIT_MAX)?;
    let (about, asked) = (arguments.needed("about")?, arguments.needed("query")?);
    let line = arguments.text("line")?;
    let about = match about.as_str() {
        "file" => FactsAbout::File(asked),
        "command" => FactsAbout::Command(asked),
        "error" => FactsAbout::Error(asked),
        other => {
            return Err(ArgumentError::new("about", Some(other), "it is `file`, `command` or `error`").into());
        }
    };
    let limit = if line.is_some() { LIMIT_MAX } else { limit };
    let mut found = call.service.history.facts((!all).then_some(&project), &about, limit).await?;
    let mut line_found = None;
    if let Some(line) = line {
        let at = call.service.history.exchange_with_line(&found.facts, &line).await?;
        line_found = Some(at.is_some());
        if let Some(at) = at {
            found.facts = vec![found.facts.swap_remove(at)];
        }
    }
    let rows: Vec<Value> = found.facts.iter().map(fact_row).collect();
    Ok(Reply::saying(format!("{} answers", rows.len()))
        .list("facts", rows)
        .fact("looked", found.looked)
        .fact("line_found", line_found))
}

fn fact_row(fact: &Fact) -> Value {
    let fix = fact.fixed.as_ref();
    let mut row = json!({
        "id": fact.exchange.id.to_string(), "at": fact.exchange.at.to_string(), "agent": fact.session.agent,
        "session": fact.session.id.as_str(), "project": fact.session.project.as_str(),
        "title": fact.exchange.title, "what": fact.what, "ok": fact.ok, "succeeded": fact.succeeded,
        "failed": fact.failed, "then": fix.map(|fix| &fix.fix.command).into_iter().collect::<Vec<_>>(),
    });
    if let Some(fix) = fix {
        row["mended_in"] = json!(fix.exchange.to_string());
        row["same_command"] = json!(fix.fix.same);
        row["changed"] = json!(fix.fix.edited);
    }
    let Links { fixed, commits } = &fact.links;
    if !fixed.is_empty() {
        row["mended"] = json!(fixed);
    }
    if !commits.is_empty() {
        row["commits"] = json!(commits);
    }
    row
}

/// Purges parts of the history.
pub(super) async fn forget(call: &mut Call) -> Answer {
    let now = call.now();
    let arguments = &mut call.arguments;
    let what = Forget {
        session: arguments.session_id("session")?,
        project: arguments.project()?,
        since: arguments.moment("since", now, false)?,
        before: arguments.moment("before", now, false)?,
        text: arguments.text("text")?,
    };
    let dry_run = arguments.flag(&["dry_run"])?;
    let forgotten = call.service.history.forget(&what, dry_run).await?;
    Ok(Reply::saying(format!("{} gone", text::counted(forgotten.exchanges, "exchange")))
        .fact("sessions", forgotten.sessions)
        .fact("exchanges", forgotten.exchanges))
}
