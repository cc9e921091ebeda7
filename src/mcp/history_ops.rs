//! A person's operations on past sessions: the import and its state, and the contents of the sessions.

use std::time::Duration;

use super::prelude::*;
use super::{arguments::DayEdge, reply::millis};
use crate::answer::{Outcome, history};
use cerebro_core::domain::{
    DistilRun, ExchangeId, FullExchange, PastCommand, PastCommit, PastSession, Scope, SessionId, Timestamp,
    limits::{LIMIT_MAX, LISTING_MAX},
};
use cerebro_service::{
    AgentPreview, Fact, FactsAbout, Fix, Forget, ImportRequest, Links, PreviewedFile, agent_named,
};
use cerebro_store::AgentCounts;

/// Most sessions that are named if the beginning of an id is ambiguous.
const NAMED_MAX: usize = 5;

/// Starts an import of past sessions. Returns at once.
pub(super) async fn import(call: &mut Call) -> AnswerTo<of::HistoryImport> {
    let request = request(call)?;
    call.service.intake.import(request)?;
    Ok(Outcome { outcome: "begun".into() })
}

/// What could be imported, without reading it.
pub(super) async fn preview(call: &mut Call) -> AnswerTo<of::HistoryPreview> {
    let memory_files = call.arguments.flag(&["memory_files"])?;
    let request = request(call)?;
    let preview = call.service.intake.preview(&request, memory_files).await?;
    let found = |(agent, found): (&&str, &AgentPreview)| history::Found {
        agent: Text::of(agent),
        files: found.files as u64,
        bytes: found.bytes,
        fresh: found.fresh as u64,
        older: found.older as u64,
    };
    let memory_file = |file: &PreviewedFile| history::MemoryFile {
        path: Text::of(&file.path),
        loaded_by: file.loaded_by.iter().map(Text::of).collect(),
        project: Text::of(&file.project),
    };
    Ok(history::Preview {
        agents: preview.agents.iter().map(found).collect(),
        faults: preview.faults.iter().map(|(path, why)| fault(path, why)).collect(),
        near: preview.near.iter().map(Text::of).collect(),
        memory_files: preview.memory_files.iter().map(memory_file).collect(),
    })
}

fn fault(path: &str, why: &str) -> history::Fault {
    history::Fault { path: path.into(), reason: why.into() }
}

fn request(call: &mut Call) -> Result<ImportRequest, ArgumentError> {
    let now = call.now();
    let arguments = &mut call.arguments;
    arguments.filled(&["agents", "project", "since"])?;
    let mut agents = Vec::new();
    for name in arguments.texts("agents")?.unwrap_or_default() {
        let problem = "it is not an agent whose sessions can be imported";
        agents.push(agent_named(&name).ok_or_else(|| ArgumentError::new("agents", Some(&name), problem))?);
    }
    let since = match arguments.text("since")? {
        None => None,
        Some(given) => Some(age(&given, now)?),
    };
    Ok(ImportRequest { agents, project: arguments.project()?, since })
}

fn age(given: &str, now: Timestamp) -> Result<Duration, ArgumentError> {
    let problem = "it is no span and no day that has been; write \"90d\", \"2026-11-21\", or \"0\" for all";
    text::age(given, now).ok_or_else(|| ArgumentError::new("since", Some(given), problem))
}

/// The progress of the import, and how much is stored.
pub(super) async fn status(call: &mut Call) -> AnswerTo<of::HistoryStatus> {
    let mut progress = call.service.intake.progress();
    let history = &call.service.history;
    let counts = if progress.running { history.recent_counts().await? } else { history.counts().await? };
    let enabled = call.service.intake.is_kept();
    let state = match (enabled, progress.running) {
        (_, true) => "reading",
        (true, false) => "idle",
        (false, false) => "off",
    };
    let taken = |(agent, stored): (&String, &AgentCounts)| {
        let mut progress = progress.agents.remove(agent.as_str()).unwrap_or_default();
        // Those that earlier daemons read are among the stored ones.
        progress.malformed = stored.malformed.saturating_sub(progress.oversized);
        history::Taken { agent: Text::of(agent), read: stored.read, exchanges: stored.exchanges, progress }
    };
    let agents = counts.by_agent.iter().map(taken).collect();
    Ok(history::Status {
        state: state.into(),
        enabled,
        chosen: call.service.intake.choices().iter().map(Text::of).collect(),
        excluded: call.service.intake.excluded().iter().map(Text::of).collect(),
        sessions: counts.sessions,
        exchanges: counts.exchanges,
        files: progress.files as u64,
        files_done: progress.files_done as u64,
        bytes: progress.bytes,
        bytes_done: progress.bytes_done,
        scanned_at: progress.scanned_at.map(|at| moment(at).into()),
        scan_ms: millis(progress.scan),
        read_ms: millis(progress.read),
        seen: progress.seen.into_values().sum::<usize>() as u64,
        agents,
        faults: progress.faults.iter().map(|(path, why)| fault(path, why)).collect(),
    })
}

/// A page of the past sessions, the latest first.
async fn sessions(call: &mut Call) -> AnswerTo<of::HistorySession> {
    let project = call.arguments.project()?;
    let from = call.arguments.count("from")?.unwrap_or(0);
    let limit = call.arguments.clamped("limit", LISTING_MAX, 1..=LISTING_MAX)?;
    let sessions = call.service.history.sessions(project.as_ref(), from, limit).await?;
    let mut rows = Vec::with_capacity(sessions.len());
    for session in &sessions {
        let opening = match session.title {
            Some(_) => None,
            None => Some(history::Opening { asked: opening(call, session).await? }),
        };
        rows.push(history::Row {
            session: session_row(session),
            exchanges: u64::from(session.exchanges),
            opening,
        });
    }
    Ok(history::History { one: None, from: Some(from as u64), sessions: Some(rows) })
}

/// A past session with a page of its exchanges; without an id, a page of all sessions.
pub(super) async fn session(call: &mut Call) -> AnswerTo<of::HistorySession> {
    call.arguments.filled(&["session"])?;
    let Some(id) = call.arguments.session_id("session")? else { return sessions(call).await };
    let from = call.arguments.count("from")?.and_then(|from| u32::try_from(from).ok()).unwrap_or(0);
    let limit = call.arguments.clamped("limit", LIMIT_MAX, 1..=LIMIT_MAX)?;
    let full = call.arguments.flag(&["full"])?;
    let found = call.service.history.exchanges(&id, from, limit, full).await?;
    let found = match found {
        None => {
            let id = session_like(call, &id).await?;
            call.service.history.exchanges(&id, from, limit, full).await?
        }
        found => found,
    };
    let Some((session, exchanges)) = found else { return Err(unknown(&id).into()) };
    let scope = Scope::Project(session.project.clone());
    let ids: Vec<(ExchangeId, Scope)> =
        exchanges.iter().map(|full| (full.exchange.id, scope.clone())).collect();
    let outdated = call.service.memories.outdated_exchanges(&ids).await?;
    let row = |stored: &FullExchange| history::Exchange {
        old: outdated.get(&stored.exchange.id).map(Text::of),
        ..exchange_row(stored, full)
    };
    let whole = history::Whole {
        exchanges: exchanges.iter().map(row).collect(),
        asked: if session.title.is_none() { opening(call, &session).await? } else { None },
        total: u64::from(session.exchanges),
        distilled: call.service.distilling.run_of(&session.id).await?.as_ref().map(distilled),
        session: session_row(&session),
    };
    Ok(history::History { one: Some(whole), from: None, sessions: None })
}

fn distilled(run: &DistilRun) -> history::Distilled {
    history::Distilled {
        state: run.state.as_str().into(),
        outcome: run.outcome.map(|outcome| outcome.as_str().into()),
        title: run.title.as_ref().map(Text::of),
        claims: u64::from(run.claims),
        at: Text::of(run.at),
    }
}

fn unknown(id: &SessionId) -> ArgumentError {
    let problem = "no past session has that id, and no exchange; `cerebro history show` lists them";
    ArgumentError::new("session", Some(id.as_str()), problem)
}

/// The session with an id, or an exchange's id, that begins like this.
async fn session_like(call: &Call, given: &SessionId) -> Result<SessionId, Fault> {
    let part = given.as_str().trim_end_matches('…');
    let found = call.service.history.sessions_like(part, NAMED_MAX).await?;
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

/// The session of an id that hooks or a transcript reported, or of the beginning of a past session's id.
async fn known_session(call: &Call, given: SessionId) -> Result<SessionId, Fault> {
    let past = call.service.history.session(&given).await?.is_some();
    if past || call.service.sessions.is_known(&given).await? {
        return Ok(given);
    }
    session_like(call, &given).await
}

/// The first prompt of a session.
async fn opening(call: &Call, session: &PastSession) -> Result<Option<Text>, Fault> {
    Ok(call.service.history.opening(&session.id).await?.map(Text::of))
}

fn session_row(session: &PastSession) -> history::Session {
    let parent = session.parent.as_ref();
    history::Session {
        session: Text::of(&session.id),
        agent: Text::of(&session.agent),
        project: Text::of(&session.project),
        title: session.title.as_ref().map(Text::of),
        directory: session.directory.as_ref().map(Text::of),
        branch: session.branch.as_ref().map(Text::of),
        model: session.model.as_ref().map(Text::of),
        parent: parent.and_then(|parent| parent.session.as_ref()).map(Text::of),
        parent_kind: parent.map(|parent| parent.kind.as_str().into()),
        automated: session.automated,
        started_at: Text::of(session.started_at),
        ended_at: Text::of(session.ended_at),
    }
}

fn exchange_row(stored: &FullExchange, full: bool) -> history::Exchange {
    let exchange = &stored.exchange;
    let command = |command: &PastCommand| history::Command { line: Text::of(&command.line), ok: command.ok };
    let proven = (!stored.proven.is_empty()).then(|| stored.proven.clone());
    history::Exchange {
        id: Text::of(exchange.id),
        seq: u64::from(exchange.seq),
        part: u64::from(exchange.part),
        at: Text::of(exchange.at),
        title: Text::of(&exchange.title),
        files: exchange.files.iter().map(Text::of).collect(),
        commands: exchange.commands.iter().map(command).collect(),
        errors: exchange.errors.iter().map(Text::of).collect(),
        withdrawn: exchange.withdrawn,
        proven: proven.map(|proven| proven.map(usize::MAX, Text::of)),
        old: None,
        text: full.then(|| Text::of(&stored.text)),
    }
}

/// The proven facts of past sessions about a file, a command or an error.
pub(super) async fn facts(call: &mut Call) -> AnswerTo<of::HistoryFacts> {
    let project = call.project_or_all()?;
    let arguments = &mut call.arguments;
    let limit = arguments.clamped("limit", 20, 1..=LIMIT_MAX)?;
    let (about, asked) = (arguments.needed("about")?, arguments.needed("query")?);
    let line = arguments.text("line")?;
    let about = match about.as_str() {
        "file" => FactsAbout::File(asked),
        "command" => FactsAbout::Command(asked),
        "error" => FactsAbout::Error(asked),
        other => {
            return Err(
                ArgumentError::new("about", Some(other), "it must be `file`, `command` or `error`").into()
            );
        }
    };
    // A line is looked for in more exchanges than are shown.
    let wanted = if line.is_some() { LIMIT_MAX } else { limit };
    let mut found = call.service.history.facts(project.as_ref(), &about, wanted).await?;
    let mut line_found = None;
    if let Some(line) = line {
        let at = call.service.history.exchange_with_line(&found.facts, &line).await?;
        line_found = Some(at.is_some());
        match at {
            Some(at) => found.facts = vec![found.facts.swap_remove(at)],
            None => found.facts.truncate(limit),
        }
    }
    Ok(history::Facts {
        facts: found.facts.iter().map(fact_row).collect(),
        looked: found.looked as u64,
        line_found,
        unrecorded: found.unrecorded,
    })
}

fn fact_row(fact: &Fact) -> history::Fact {
    let Links { fixed, commits } = &fact.links;
    let commit = |commit: &PastCommit| PastCommit {
        id: commit.id.as_ref().map(Text::of),
        subject: Text::of(&commit.subject),
    };
    let fix = |fix: &Fix| history::Fix {
        mended_in: Text::of(fix.exchange),
        same_command: fix.fix.same,
        changed: fix.fix.edited.iter().map(Text::of).collect(),
    };
    history::Fact {
        id: Text::of(fact.exchange.id),
        at: Text::of(fact.exchange.at),
        agent: Text::of(&fact.session.agent),
        session: Text::of(&fact.session.id),
        project: Text::of(&fact.session.project),
        title: Text::of(&fact.exchange.title),
        what: Text::from(&fact.what),
        ok: fact.ok,
        succeeded: fact.succeeded as u64,
        failed: fact.failed as u64,
        then: fact.fixed.iter().map(|fixed| Text::of(&fixed.fix.command)).collect(),
        fix: fact.fixed.as_ref().map(fix),
        mended: fixed.iter().map(Text::of).collect(),
        commits: commits.iter().map(commit).collect(),
    }
}

/// Purges parts of the history.
pub(super) async fn forget(call: &mut Call) -> AnswerTo<of::HistoryForget> {
    let now = call.now();
    let arguments = &mut call.arguments;
    arguments.filled(&["session", "project", "since", "before", "text"])?;
    let session = arguments.session_id("session")?;
    let mut what = Forget {
        session: None,
        project: arguments.project()?,
        since: arguments.moment("since", now, DayEdge::Start)?,
        before: arguments.moment("before", now, DayEdge::Start)?,
        text: arguments.text("text")?,
        ..Forget::default()
    };
    let run = arguments.run()?;
    if let Some(given) = session {
        what.session = Some(known_session(call, given).await?);
    }
    let forgotten = call.service.forget(&call.caller, &what, run).await?;
    Ok(forgotten.into())
}
