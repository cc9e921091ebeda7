//! The calls of agents: a page of the latest ones, and a stream (server-sent events) of further ones when they are
//! answered.

use std::convert::Infallible;

use axum::{
    http::HeaderMap,
    response::sse::{Event, KeepAlive, Sse},
};
use futures::stream;

use super::prelude::*;
use super::value;
use crate::answer::daemon::Call;
use crate::view;

/// Most calls on the page, and in one round of the stream.
const CALLS: usize = 60;
/// How long the daemon waits for a call, in milliseconds.
const WAIT_MS: u64 = 10_000;

/// Longest outcome of a call, in bytes of HTML.
const OUTCOME_BYTES_MAX: usize = 120;

/// A call on one line.
#[derive(Template)]
#[template(path = "call.html")]
struct CallLine {
    when: When,
    tool: String,
    agent: String,
    project: String,
    session: String,
    ms: u64,
    is_slow: bool,
    failed: bool,
    outcome: String,
    arguments: String,
}

#[derive(Template)]
#[template(path = "live.html")]
struct LivePage {
    shell: Shell,
    calls: Vec<CallLine>,
    last: u64,
    most: usize,
}

impl CallLine {
    fn of(call: &Call, locale: &Locale) -> Self {
        let session = call.session_id.line();
        Self {
            when: locale.clock(call.at.moment()),
            tool: call.tool.line().trim_start_matches("mem_").replace('_', " "),
            agent: call.agent.line(),
            project: super::named(&call.project.line()),
            session: if session.is_empty() { session } else { link::session(&session) },
            ms: call.ms,
            is_slow: call.ms >= 100,
            failed: call.failed,
            outcome: byte_budget::cut(&call.outcome.line(), OUTCOME_BYTES_MAX).into_owned(),
            arguments: byte_budget::cut(&call.arguments.lines(), super::FACT_BYTES_MAX).into_owned(),
        }
    }
}

pub(in crate::web) async fn show(State(shared): State<Shared>, locale: Locale) -> Page {
    let answer = shared.backend.read(of::Live, json!({ "after": 0, "limit": CALLS })).await?;
    let calls: Vec<CallLine> = answer.calls.iter().rev().map(|call| CallLine::of(call, &locale)).collect();
    Ok(shell::ok(&LivePage { shell: Shell::titled("Live", "/live"), calls, last: answer.last, most: CALLS }))
}

/// Streams each call after the last one that the browser received, until the page closes.
pub(in crate::web) async fn stream(headers: HeaderMap, Asked { shared, locale, parts }: Asked) -> Page {
    let asked = value(&parts, "after")?;
    let received = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    let after: u64 = received.or(asked).unwrap_or(0);
    let rounds = stream::unfold((shared, locale, after), |(shared, locale, after)| async move {
        let question = json!({ "after": after, "limit": CALLS, "wait_ms": WAIT_MS });
        let answer = tokio::select! {
            answer = shared.backend.read(of::Live, question) => answer.ok()?,
            () = shared.stop.cancelled() => return None,
        };
        let events: Vec<Result<Event, Infallible>> =
            answer.calls.iter().filter_map(|call| event(call, &locale)).map(Ok).collect();
        Some((stream::iter(events), (shared, locale, answer.last)))
    });
    use futures::StreamExt as _;
    Ok(Sse::new(rounds.flatten()).keep_alive(KeepAlive::default()).into_response())
}

/// A call as an event: its line in the table, and its number, from which the browser resumes.
fn event(call: &Call, locale: &Locale) -> Option<Event> {
    let line = CallLine::of(call, locale).render().ok()?;
    Some(Event::default().id(call.n.to_string()).data(view::clean(&line)))
}
