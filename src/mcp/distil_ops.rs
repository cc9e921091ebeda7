//! A person's operations for distilling: its state, its cost, and decisions about candidates.

use std::num::NonZeroU64;

use serde_json::{Value, json};

use super::{
    arguments::ArgumentError,
    call::{Answer, Call},
    handbook_ops,
    reply::{Reply, moment},
};
use cerebro_core::domain::{
    Arrangement, ArrangementId, ArrangementState, Candidate, CandidateId, CandidateState, Citation,
    PastSession,
    limits::{LIMIT_MAX, LISTING_MAX},
};
use cerebro_core::text;
use cerebro_service::{Decided, DistilReport, PlannedSession, Review, Service, ServiceError};

/// How many sessions are planned by default.
const SESSIONS_DEFAULT: usize = 20;

fn waiting(report: &DistilReport) -> u64 {
    let counts = &report.counts;
    let of = |counts: &std::collections::BTreeMap<String, u64>, state: &str| {
        counts.get(state).copied().unwrap_or(0)
    };
    of(&counts.candidates, CandidateState::Waiting.as_str())
        + of(&counts.arrangements, ArrangementState::Waiting.as_str())
}

/// Something that a person may decide on, by its id.
enum Proposal {
    Candidate(CandidateId),
    Arrangement(ArrangementId),
}

fn proposal(call: &mut Call) -> Result<Proposal, ArgumentError> {
    let given = call.arguments.needed("id")?;
    let arrangement = ArrangementId::parse(&given).map(Proposal::Arrangement);
    let named = arrangement.or_else(|_| CandidateId::parse(&given).map(Proposal::Candidate));
    named.map_err(|error| ArgumentError::new("id", Some(&given), error.to_string()))
}

/// The part of `mem_stats` about distilling; `None` where it is off and nothing waits.
pub(super) async fn meter(service: &Service) -> Result<Option<Value>, ServiceError> {
    let report = service.distilling.report().await?;
    let waiting = waiting(&report);
    let is_shown = report.enabled || waiting > 0;
    Ok(is_shown.then(|| {
        json!({
            "state": report.state.name(), "waiting": waiting, "tokens_today": report.spent.tokens,
            "requests_today": report.spent.requests, "tokens_per_day": report.budget.tokens,
            "requests_per_day": report.budget.requests,
        })
    }))
}

pub(super) async fn status(call: &mut Call) -> Answer {
    let report = call.service.distilling.report().await?;
    let state = if report.enabled { report.state.name() } else { "off" };
    let review = match report.review {
        Review::Inbox => "inbox",
        Review::Corroborated => "corroborated",
    };
    let reply = Reply::saying(format!("distilling is {state}"))
        .fact("state", state)
        .fact("detail", report.state.detail().filter(|_| report.enabled))
        .fact("enabled", report.enabled)
        .fact("sessions", json!(report.counts.sessions))
        .fact("candidates", json!(report.counts.candidates))
        .fact("corroborated", report.counts.corroborated)
        .fact("arrangements", json!(report.counts.arrangements))
        .fact("dropped", json!(report.counts.dropped))
        .fact("review", review)
        .fact("tokens_today", report.spent.tokens)
        .fact("requests_today", report.spent.requests)
        .fact("tokens_per_day", report.budget.tokens.map_or(0, NonZeroU64::get))
        .fact("requests_per_day", report.budget.requests.map_or(0, NonZeroU64::get));
    Ok(reply)
}

/// What is due, and an estimate of its cost; nothing is sent.
pub(super) async fn plan(call: &mut Call) -> Answer {
    let project = call.arguments.project()?;
    let limit = call.arguments.clamped("limit", SESSIONS_DEFAULT, 1..=LIMIT_MAX)?;
    let plan = call.service.distilling.distil_plan(project.as_ref(), limit).await?;
    let rows: Vec<Value> = plan.sessions.iter().map(planned_row).collect();
    Ok(Reply::saying(format!(
        "{} due, about {}",
        sessions(rows.len()),
        text::counted(plan.cost.tokens, "token")
    ))
    .list("sessions", rows)
    .fact("tokens", plan.cost.tokens)
    .fact("requests", plan.cost.requests))
}

fn sessions(count: usize) -> String {
    text::counted(count, "session")
}

fn planned_row(PlannedSession { session, tokens }: &PlannedSession) -> Value {
    json!({
        "session": session.id.as_str(), "agent": session.agent, "project": session.project.as_str(),
        "started_at": moment(session.started_at), "exchanges": session.exchanges, "title": session.title,
        "tokens": tokens, "sent": tokens.is_some(),
    })
}

/// Queues what is due; returns at once.
pub(super) async fn run(call: &mut Call) -> Answer {
    let project = call.arguments.project()?;
    let limit = call.arguments.clamped("limit", SESSIONS_DEFAULT, 1..=LIMIT_MAX)?;
    let queued = call.service.distilling.distil_now(project.as_ref(), limit).await?;
    Ok(Reply::saying(format!("{} queued", sessions(queued))).fact("queued", queued))
}

/// The candidates and arrangements in a state; by default, those that wait.
pub(super) async fn review(call: &mut Call) -> Answer {
    let given = call.arguments.text("state")?;
    let name = given.as_deref().unwrap_or(ArrangementState::Waiting.as_str());
    let problem =
        "what was proposed is `waiting`, `accepted`, `rejected` or, of arrangements alone, `undone`";
    let wanted = ArrangementState::parse(name);
    let wanted = wanted.ok_or_else(|| ArgumentError::new("state", Some(name), problem))?;
    let project = call.arguments.project()?;
    let limit = call.arguments.clamped("limit", LIMIT_MAX, 1..=LISTING_MAX)?;
    let found = match CandidateState::parse(name) {
        Some(state) => call.service.distilling.candidates(state, project.as_ref(), limit).await?,
        None => Vec::new(),
    };
    let rows: Vec<Value> =
        found.iter().map(|(candidate, session)| candidate_row(candidate, session)).collect();
    let mut arrangements = call.service.distilling.arrangements(wanted, limit).await?;
    // An arrangement without changes only records that somebody asked.
    let is_wanted =
        |one: &Arrangement| !one.operations.is_empty() && (project.is_none() || one.project == project);
    arrangements.retain(is_wanted);
    let counted = text::counted(rows.len(), "candidate");
    Ok(Reply::saying(counted)
        .list("candidates", rows)
        .fact("arrangements", arrangements.iter().map(handbook_ops::row).collect::<Vec<_>>()))
}

pub(super) async fn show(call: &mut Call) -> Answer {
    let id = match proposal(call)? {
        Proposal::Arrangement(id) => return Ok(handbook_ops::arrangement(call, &id).await?),
        Proposal::Candidate(id) => id,
    };
    let (candidate, session) = call.service.distilling.candidate(&id).await?;
    let row = candidate_row(&candidate, &session);
    Ok(Reply::saying(format!("# {}", candidate.title)).line(&candidate.text).fact("candidate", row))
}

fn candidate_row(candidate: &Candidate, session: &PastSession) -> Value {
    let evidence =
        |evidence: &Citation| json!({ "id": evidence.exchange.to_string(), "quote": evidence.quote });
    json!({
        "id": candidate.id.to_string(), "claim": candidate.kind.as_str(), "title": candidate.title,
        "text": candidate.text, "evidence": candidate.evidence.iter().map(evidence).collect::<Vec<_>>(),
        "state": candidate.state.as_str(), "memory": candidate.memory.map(|(memory, _)| memory.to_string()),
        "session": session.id.as_str(), "agent": session.agent, "project": session.project.as_str(),
        "model": candidate.model, "generation": candidate.generation,
        "corroborated": candidate.corroborated, "at": moment(candidate.at),
        "decided_at": candidate.decided_at.map(moment),
    })
}

pub(super) async fn accept(call: &mut Call) -> Answer {
    let id = match proposal(call)? {
        Proposal::Arrangement(id) => return handbook_ops::accept(call, &id).await,
        Proposal::Candidate(id) => id,
    };
    let decided = call.service.distilling.accept_candidate(&call.caller, &call.session, &id).await?;
    let outcome = if decided.changed { "accepted" } else { "unchanged" };
    let memory = decided.memory.as_ref().map(|(memory, _)| memory.id.to_string());
    let saved = decided.memory.as_ref().map(|(_, outcome)| outcome.as_str());
    Ok(decided_reply(&decided, outcome).fact("memory", memory).fact("saved", saved))
}

pub(super) async fn reject(call: &mut Call) -> Answer {
    let id = match proposal(call)? {
        Proposal::Arrangement(id) => return handbook_ops::reject(call, &id).await,
        Proposal::Candidate(id) => id,
    };
    let decided = call.service.distilling.reject_candidate(&id).await?;
    Ok(decided_reply(&decided, if decided.changed { "rejected" } else { "unchanged" }))
}

fn decided_reply(decided: &Decided, outcome: &str) -> Reply {
    let candidate = &decided.candidate;
    Reply::saying(format!("{outcome} `{}` {}", candidate.id, candidate.title))
        .fact("id", candidate.id.to_string())
        .fact("outcome", outcome)
        .fact("title", candidate.title.as_str())
}
