//! Distilled candidates that wait for a person: each claim with its evidence, accepted or rejected with one click.

use askama::Template;
use axum::{
    extract::{Path, Query, State},
    response::{IntoResponse, Redirect, Response},
};
use serde_json::{Value, json};

use super::{
    Parts, counted, named,
    tabs::{self, Tab},
};
use crate::view::{self, items};
use crate::web::{
    Shared,
    access::Posted,
    failure::Failure,
    shell::{self, Shell},
    view::{
        byte_budget::{self, ByteBudget},
        link,
        locale::{Locale, When},
    },
};
use cerebro_core::operation::Operation;

/// Claims that are read at once, and the bytes that those of a page take.
const CLAIMS: usize = 30;
const CLAIMS_BYTES: usize = 44_000;
/// Bytes of a claim's text, of a quote, and around a claim.
const TEXT_BYTES_MAX: usize = 2_500;
const QUOTE_BYTES_MAX: usize = 600;
const AROUND_BYTES: usize = 900;

/// A piece of evidence of a claim.
struct Quote {
    href: String,
    words: String,
}

/// A claim.
struct Claim {
    id: String,
    title: String,
    kind: String,
    text: String,
    project: String,
    agent: String,
    model: String,
    session: String,
    when: When,
    quotes: Vec<Quote>,
    /// The memory that it became.
    memory: Option<String>,
}

impl Claim {
    fn of(row: &Value, locale: &Locale) -> Self {
        let quote = |one: &Value| Quote {
            href: link::exchange(&view::text(one, "id")),
            words: byte_budget::cut(&view::text(one, "quote"), QUOTE_BYTES_MAX).into_owned(),
        };
        let text = view::clean(row["text"].as_str().unwrap_or_default());
        Self {
            id: view::text(row, "id"),
            title: super::titled(&view::text(row, "title")),
            kind: view::text(row, "claim"),
            text: byte_budget::cut(&text, TEXT_BYTES_MAX).into_owned(),
            project: named(&view::text(row, "project")),
            agent: named(&view::text(row, "agent")),
            model: named(&view::text(row, "model")),
            session: link::past(&view::text(row, "session")),
            when: locale.moment(view::moment(row, "at")),
            quotes: items(row, "evidence").map(quote).collect(),
            memory: row["memory"].as_str().map(link::memory),
        }
    }

    fn weight(&self) -> usize {
        let quotes: usize = self.quotes.iter().map(|quote| byte_budget::weight(&quote.words) + 120).sum();
        byte_budget::weight(&self.text) + byte_budget::weight(&self.title) + quotes + AROUND_BYTES
    }
}

#[derive(Template)]
#[template(path = "inbox.html")]
struct InboxPage {
    shell: Shell,
    tabs: [Tab; tabs::COUNT],
    states: [(&'static str, bool); 3],
    is_waiting: bool,
    claims: Vec<Claim>,
    /// Whether there are more than are shown.
    more: bool,
    /// Whether distilling is on, and what it cost.
    standing: String,
    is_off: bool,
}

const STATES: [&str; 3] = ["waiting", "accepted", "rejected"];

pub(in crate::web) async fn list(
    State(shared): State<Shared>,
    locale: Locale,
    Query(parts): Parts,
) -> Result<Response, Failure> {
    let state =
        parts.get("state").and_then(|state| STATES.into_iter().find(|known| *known == state.as_str()));
    let state = state.unwrap_or("waiting");
    let (status, answer) = tokio::try_join!(
        shared.backend.ask(Operation::DistilStatus, json!({})),
        shared.backend.ask(Operation::DistilReview, json!({ "state": state, "limit": CLAIMS })),
    )?;
    let found = items(&answer, "candidates").count();
    let claims = items(&answer, "candidates").map(|one| Claim::of(one, &locale));
    let claims = ByteBudget(CLAIMS_BYTES).fill(claims, Claim::weight);
    let all = status["candidates"][state].as_u64().and_then(|all| usize::try_from(all).ok()).unwrap_or(found);
    Ok(shell::ok(&InboxPage {
        shell: Shell::titled("Distilled", tabs::PLACE).done(parts.get("done")).token(shared.access.token()),
        tabs: tabs::at("/inbox"),
        states: STATES.map(|known| (known, known == state)),
        is_waiting: state == "waiting",
        more: all > claims.len(),
        claims,
        standing: standing(&status, &locale),
        is_off: status["enabled"] != true,
    }))
}

/// What distilling did today, in words.
fn standing(status: &Value, locale: &Locale) -> String {
    let number = |name: &str| status[name].as_u64().unwrap_or(0);
    let requests = usize::try_from(number("requests_today")).unwrap_or(usize::MAX);
    format!(
        "{}: {} of {} tokens today, in {}",
        view::text(status, "state"),
        locale.count(number("tokens_today")),
        locale.count(number("tokens_per_day")),
        counted(locale, requests, "request", "requests")
    )
}

/// Accepts or rejects a claim.
pub(in crate::web) async fn decide(
    State(shared): State<Shared>,
    Path(id): Path<String>,
    form: Posted,
) -> Result<Response, Failure> {
    let (operation, done) = match form.field("do").as_str() {
        "accept" => (Operation::DistilAccept, "accepted"),
        "reject" => (Operation::DistilReject, "rejected"),
        _ => return Err(Failure::nothing()),
    };
    shared.backend.change(operation, json!({ "id": id })).await.map_err(Failure::absent)?;
    Ok(Redirect::to(&link::with_query("/inbox", &[("done", done)])).into_response())
}
