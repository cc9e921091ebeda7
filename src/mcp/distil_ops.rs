//! A person's operations for distilling: its state, its cost, and decisions about candidates.

use std::num::NonZeroU64;

use super::handbook_ops;
use super::prelude::*;
use crate::answer::{distil, memories::Named};
use cerebro_core::domain::{
    Arrangement, ArrangementId, ArrangementState, Candidate, CandidateId, CandidateState, Citation,
    PastSession,
    limits::{LIMIT_MAX, LISTING_MAX},
};
use cerebro_service::{DistilReport, PlannedSession, Review, Service, ServiceError};

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
    named.map_err(ArgumentError::unread("id", &given))
}

/// The part of `mem_stats` about distilling; `None` if it is off and no candidate waits.
pub(super) async fn meter(service: &Service) -> Result<Option<distil::Meter>, ServiceError> {
    let report = service.distilling.report().await?;
    let waiting = waiting(&report);
    let is_shown = report.enabled || waiting > 0;
    Ok(is_shown.then(|| distil::Meter {
        state: report.state.name().into(),
        waiting,
        tokens_today: report.spent.tokens,
        requests_today: report.spent.requests,
        tokens_per_day: report.budget.tokens.map(NonZeroU64::get),
        requests_per_day: report.budget.requests.map(NonZeroU64::get),
    }))
}

pub(super) async fn status(call: &mut Call) -> AnswerTo<of::DistilStatus> {
    let report = call.service.distilling.report().await?;
    let review = match report.review {
        Review::Inbox => "inbox",
        Review::Corroborated => "corroborated",
    };
    Ok(distil::Status {
        state: report.state.name().into(),
        detail: report.state.detail().map(Text::of),
        enabled: report.enabled,
        sessions: report.counts.sessions,
        candidates: report.counts.candidates,
        corroborated: report.counts.corroborated,
        arrangements: report.counts.arrangements,
        dropped: report.counts.dropped,
        queued: report.queued as u64,
        failure: report.failure.map(Text::of),
        given_up: report.given_up as u64,
        review: review.into(),
        tokens_today: report.spent.tokens,
        requests_today: report.spent.requests,
        tokens_per_day: report.budget.tokens.map_or(0, NonZeroU64::get),
        requests_per_day: report.budget.requests.map_or(0, NonZeroU64::get),
    })
}

/// The sessions that are due, and an estimate of the cost. Sends nothing.
pub(super) async fn plan(call: &mut Call) -> AnswerTo<of::DistilPlan> {
    let project = call.arguments.project()?;
    let limit = call.arguments.clamped("limit", SESSIONS_DEFAULT, 1..=LIMIT_MAX)?;
    let plan = call.service.distilling.distil_plan(project.as_ref(), limit).await?;
    Ok(distil::Plan {
        sessions: plan.sessions.iter().map(planned).collect(),
        tokens: plan.cost.tokens,
        requests: plan.cost.requests,
        given_up: plan.given_up as u64,
    })
}

fn planned(PlannedSession { session, tokens }: &PlannedSession) -> distil::PlannedSession {
    distil::PlannedSession {
        session: Text::of(&session.id),
        agent: Text::of(&session.agent),
        project: Text::of(&session.project),
        started_at: moment(session.started_at).into(),
        exchanges: session.exchanges,
        title: session.title.as_ref().map(Text::of),
        tokens: *tokens,
        sent: tokens.is_some(),
    }
}

/// Queues the sessions that are due. Returns at once.
pub(super) async fn run(call: &mut Call) -> AnswerTo<of::DistilRun> {
    let project = call.arguments.project()?;
    let limit = call.arguments.clamped("limit", SESSIONS_DEFAULT, 1..=LIMIT_MAX)?;
    let queued = call.service.distilling.distil_now(project.as_ref(), limit).await?;
    Ok(distil::Queued { queued: queued.queued as u64, given_up: queued.given_up as u64 })
}

/// The candidates and arrangements whose ids begin so.
pub(super) async fn named_like(call: &Call, prefix: &str, limit: usize) -> Result<Vec<Named>, ServiceError> {
    let (candidates, arrangements) = call.service.distilling.proposals_like(prefix, limit).await?;
    let claims = candidates.iter().map(|one| Named { id: Text::of(one.id), title: Text::of(&one.title) });
    let arranged =
        arrangements.iter().map(handbook_ops::row).map(|row| Named { id: row.id, title: row.title });
    Ok(claims.chain(arranged).collect())
}

/// The candidates and arrangements in a state; by default, those that wait.
pub(super) async fn review(call: &mut Call) -> AnswerTo<of::DistilReview> {
    let given = call.arguments.text("state")?;
    let name = given.as_deref().unwrap_or(ArrangementState::Waiting.as_str());
    let problem = "it must be `waiting`, `accepted`, `rejected` or, for arrangements, `undone`";
    let wanted = ArrangementState::parse(name);
    let wanted = wanted.ok_or_else(|| ArgumentError::new("state", Some(name), problem))?;
    let project = call.arguments.project()?;
    let limit = call.arguments.clamped("limit", LIMIT_MAX, 1..=LISTING_MAX)?;
    let found = match CandidateState::parse(name) {
        Some(state) => call.service.distilling.candidates(state, project.as_ref(), limit).await?,
        None => Vec::new(),
    };
    let mut arrangements = call.service.distilling.arrangements(wanted, limit).await?;
    // An arrangement without changes only records that the model was asked.
    let is_wanted =
        |one: &Arrangement| !one.operations.is_empty() && (project.is_none() || one.project == project);
    arrangements.retain(is_wanted);
    Ok(distil::Proposals {
        candidates: found.iter().map(|(candidate, session)| candidate_row(candidate, session)).collect(),
        arrangements: arrangements.iter().map(handbook_ops::row).collect(),
    })
}

pub(super) async fn show(call: &mut Call) -> AnswerTo<of::DistilShow> {
    let id = match proposal(call)? {
        Proposal::Arrangement(id) => return handbook_ops::arrangement(call, &id).await,
        Proposal::Candidate(id) => id,
    };
    let (candidate, session) = call.service.distilling.candidate(&id).await?;
    Ok(distil::Proposal { candidate: Some(candidate_row(&candidate, &session)), arrangement: None })
}

fn candidate_row(candidate: &Candidate, session: &PastSession) -> distil::Candidate {
    let evidence = |evidence: &Citation| distil::Evidence {
        id: Text::of(evidence.exchange),
        quote: Text::of(&evidence.quote),
    };
    distil::Candidate {
        id: Text::of(candidate.id),
        claim: candidate.kind.as_str().into(),
        title: Text::of(&candidate.title),
        text: Text::of(&candidate.text),
        evidence: candidate.evidence.iter().map(evidence).collect(),
        state: candidate.state.as_str().into(),
        memory: candidate.memory.map(|(memory, _)| Text::of(memory)),
        session: Text::of(&session.id),
        agent: Text::of(&session.agent),
        project: Text::of(&session.project),
        model: Text::of(&candidate.model),
        generation: Text::from(&candidate.generation),
        corroborated: candidate.corroborated,
        at: moment(candidate.at).into(),
        decided_at: candidate.decided_at.map(|at| moment(at).into()),
    }
}

/// Accepts or rejects a candidate or an arrangement.
pub(super) async fn decide(call: &mut Call, wanted: ArrangementState) -> AnswerTo<of::DistilAccept> {
    let id = match proposal(call)? {
        Proposal::Arrangement(id) => return handbook_ops::decide(call, &id, wanted).await,
        Proposal::Candidate(id) => id,
    };
    let distilling = &call.service.distilling;
    let decided = match wanted {
        ArrangementState::Accepted => distilling.accept_candidate(&call.caller, &id).await?,
        _ => distilling.reject_candidate(&id).await?,
    };
    let outcome = if decided.changed { wanted.as_str() } else { "unchanged" };
    Ok(distil::Decided {
        id: Text::of(decided.candidate.id),
        outcome: outcome.into(),
        title: Text::of(&decided.candidate.title),
        memory: decided.memory.as_ref().map(|(memory, _)| Text::of(memory.id)),
        saved: decided.memory.as_ref().map(|(_, outcome)| outcome.as_str().into()),
    })
}
