//! Distilled candidates that wait for a decision: each claim with its evidence. One click accepts or rejects it.

use super::prelude::*;
use super::{
    counted, named, part,
    tabs::{self, Tab},
};
use crate::answer::distil::{Candidate, Evidence, Status};
use cerebro_core::operation::Operation;

/// How many claims are read at once, and the size of those on a page, in bytes.
const CLAIMS: usize = 30;
const CLAIMS_BYTES: usize = 44_000;
/// Longest text of a claim, longest quote, and size of the HTML around a claim, in bytes.
const TEXT_BYTES_MAX: usize = 2_500;
const QUOTE_BYTES_MAX: usize = 600;
const AROUND_BYTES: usize = 900;

/// A piece of evidence of a claim.
struct Quote {
    href: String,
    words: String,
}

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
    fn of(one: &Candidate, locale: &Locale) -> Self {
        let quote = |evidence: &Evidence| Quote {
            href: link::exchange(&evidence.id.line()),
            words: byte_budget::cut(&evidence.quote.line(), QUOTE_BYTES_MAX).into_owned(),
        };
        Self {
            id: one.id.line(),
            title: super::titled(&one.title.line()),
            kind: one.claim.line(),
            text: byte_budget::cut(&one.text.lines(), TEXT_BYTES_MAX).into_owned(),
            project: named(&one.project.line()),
            agent: named(&one.agent.line()),
            model: named(&one.model.line()),
            session: link::past(&one.session.line()),
            when: locale.moment(one.at.moment()),
            quotes: one.evidence.iter().map(quote).collect(),
            memory: one.memory.as_ref().map(|memory| link::memory(memory.raw())),
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
    /// Whether there are more claims than shown.
    more: bool,
    /// Whether distilling is on, and its cost.
    standing: String,
    is_off: bool,
}

const STATES: [&str; 3] = ["waiting", "accepted", "rejected"];

pub(in crate::web) async fn list(Asked { shared, locale, parts }: Asked) -> Page {
    let asked = part(&parts, "state");
    let known = STATES.into_iter().find(|known| *known == asked);
    let state = match known {
        None if !asked.is_empty() => return Err(Unread::new("state", &asked).into()),
        known => known.unwrap_or("waiting"),
    };
    let (status, answer) = tokio::try_join!(
        shared.backend.read(of::DistilStatus, json!({})),
        shared.backend.read(of::DistilReview, json!({ "state": state, "limit": CLAIMS })),
    )?;
    let claims = answer.candidates.iter().map(|one| Claim::of(one, &locale));
    let claims = ByteBudget(CLAIMS_BYTES).fill(claims, Claim::weight);
    let all = status.candidates.get(state).and_then(|all| usize::try_from(*all).ok());
    let all = all.unwrap_or(answer.candidates.len());
    Ok(shell::ok(&InboxPage {
        shell: Shell::titled("Distilled", tabs::PLACE).done(parts.get("done")).token(shared.access.token()),
        tabs: tabs::at("/inbox"),
        states: STATES.map(|known| (known, known == state)),
        is_waiting: state == "waiting",
        more: all > claims.len(),
        claims,
        standing: standing(&status, &locale),
        is_off: !status.enabled,
    }))
}

/// A sentence about what distilling did today.
fn standing(status: &Status, locale: &Locale) -> String {
    format!(
        "{}: {} of {} tokens today, in {}",
        status.state.line(),
        locale.count(status.tokens_today),
        locale.count(status.tokens_per_day),
        counted(locale, status.requests_today, "request", "requests")
    )
}

/// Accepts or rejects a claim.
pub(in crate::web) async fn decide(
    State(shared): State<Shared>,
    Path(id): Path<String>,
    form: Posted,
) -> Page {
    let (operation, done) = match form.field("do").as_str() {
        "accept" => (Operation::DistilAccept, "accepted"),
        "reject" => (Operation::DistilReject, "rejected"),
        _ => return Err(Failure::nothing()),
    };
    shared.backend.change(operation, json!({ "id": id })).await.map_err(Failure::absent)?;
    Ok(returned("/inbox", done))
}
