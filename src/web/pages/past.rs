//! Past sessions from agents' transcripts: the list, the search, one session, one exchange.

use super::prelude::*;
use super::{Item, counted, fitting, part};
use crate::answer::search::Hit;
use crate::view::{Exchange, Past, Row};

/// How many past sessions or hits a page shows.
const PAGE: usize = 30;
/// How many exchanges a page shows.
const EXCHANGES: usize = 50;
/// Longest part of an exchange's text on a page, and its size as HTML, in bytes.
const TEXT_BYTES: usize = 12_000;
const TEXT_HTML_BYTES: usize = 28_000;
/// Most files, commands and errors of an exchange that are shown.
const FACTS_MAX: usize = 60;

/// A past session in a list.
struct Line {
    href: String,
    title: String,
    project: String,
    agent: String,
    exchanges: String,
    automated: bool,
    started: When,
    ended: When,
}

impl Line {
    fn of(past: &Past, locale: &Locale) -> Self {
        let session = &past.session;
        Self {
            href: link::past(&session.id),
            title: super::titled(&session.headline()),
            project: super::named(&session.project),
            agent: super::named(&session.agent),
            exchanges: counted(locale, past.exchanges, "exchange", "exchanges"),
            automated: past.automated,
            started: locale.moment(session.started_at),
            ended: locale.moment(session.ended_at),
        }
    }
}

#[derive(Template)]
#[template(path = "past.html")]
struct ListPage {
    shell: Shell,
    query: String,
    project: String,
    /// The list, if there is no search.
    sessions: Vec<Line>,
    /// The results of a search.
    hits: Vec<Item>,
    matched: String,
    pager: Pager,
}

/// An exchange on one line.
struct ExchangeLine {
    href: String,
    title: String,
    did: String,
    when: When,
}

#[derive(Template)]
#[template(path = "past_session.html")]
struct SessionPage {
    shell: Shell,
    line: Line,
    id: String,
    directory: String,
    branch: String,
    model: String,
    follows: String,
    exchanges: Vec<ExchangeLine>,
    pager: Pager,
}

#[derive(Template)]
#[template(path = "exchange.html")]
struct ExchangePage {
    shell: Shell,
    title: String,
    session: String,
    when: When,
    content: String,
    facts: Vec<(&'static str, String)>,
    facts_more: usize,
    pager: Pager,
}

pub(in crate::web) async fn list(Asked { shared, locale, parts }: Asked) -> Page {
    let (query, project) = (part(&parts, "q"), part(&parts, "project"));
    let from: usize = super::from(&parts)?;
    let mut page = ListPage {
        shell: Shell::titled("History", "/history"),
        sessions: Vec::new(),
        hits: Vec::new(),
        matched: String::new(),
        pager: Pager::of("list"),
        query,
        project,
    };
    if page.query.is_empty() {
        let question = json!({ "project": named(&page.project), "from": from, "limit": PAGE });
        let answer = shared.backend.read(of::HistorySession, question).await?;
        let rows = answer.sessions.iter().flatten();
        page.sessions = rows.map(|row| Line::of(&Past::listed(row), &locale)).collect();
        let at = |from: &str| link::with_query("/history", &[("project", &page.project), ("from", from)]);
        let more = page.sessions.len() == PAGE;
        page.pager = Pager::of("list")
            .first("Newest", (from > 0).then(|| at("")))
            .next("Older", more.then(|| at(&(from + PAGE).to_string())));
    } else {
        let all = page.project.is_empty();
        let question = json!({
            "query": page.query, "type": "history", "project": named(&page.project), "all_projects": all,
            "limit": PAGE,
        });
        let answer = shared.backend.read(of::Search, question).await?;
        page.matched = answer.matched.line();
        page.hits = fitting(answer.hits.iter().map(|hit| found(hit, &locale)).collect());
    }
    Ok(shell::ok(&page))
}

/// The project as operations take it: `None` means all.
fn named(project: &str) -> Option<&str> {
    Some(project).filter(|project| !project.is_empty())
}

fn found(hit: &Hit, locale: &Locale) -> Item {
    Item { href: link::exchange(&hit.id.line()), ..Item::of(Row::hit(hit), locale) }
}

pub(in crate::web) async fn session(Path(id): Path<String>, Asked { shared, locale, parts }: Asked) -> Page {
    let from: u64 = super::from(&parts)?;
    let question = json!({ "session": id, "from": from, "limit": EXCHANGES });
    let answer = shared.backend.read(of::HistorySession, question).await.map_err(Failure::absent)?;
    let whole = answer.one.ok_or_else(Failure::nothing)?;
    let past = Past::whole(&whole);
    let exchanges: Vec<Exchange> = whole.exchanges.iter().map(Exchange::listed).collect();
    let next = exchanges.last().filter(|_| exchanges.len() == EXCHANGES).map(|last| last.seq + 1);
    let line = Line::of(&past, &locale);
    let line_of = |exchange: &Exchange| ExchangeLine {
        href: link::exchange(&exchange.id),
        title: super::titled(&exchange.title),
        did: did(exchange, &locale),
        when: locale.moment(exchange.at),
    };
    Ok(shell::ok(&SessionPage {
        shell: Shell::titled(&format!("Past session: {}", line.title), "/history"),
        pager: Pager::of("session").next("Later", next.map(|next| link::onward(&line.href, next))),
        exchanges: exchanges.iter().map(line_of).collect(),
        follows: if past.session.follows.is_empty() {
            String::new()
        } else {
            link::past(&past.session.follows)
        },
        directory: past.session.directory,
        id: past.session.id,
        branch: past.branch,
        model: past.model,
        line,
    }))
}

/// A summary of what an exchange did.
fn did(exchange: &Exchange, locale: &Locale) -> String {
    let failed = exchange.commands.iter().filter(|ran| ran.ok == Some(false)).count();
    let counts = [
        (exchange.files.len(), "file changed", "files changed"),
        (exchange.commands.len(), "command", "commands"),
        (failed, "failed", "failed"),
    ];
    let present = counts.into_iter().filter(|(count, ..)| *count > 0);
    present.map(|(count, one, many)| counted(locale, count as u64, one, many)).collect::<Vec<_>>().join(", ")
}

pub(in crate::web) async fn exchange(Path(id): Path<String>, Asked { shared, locale, parts }: Asked) -> Page {
    let from: u64 = super::from(&parts)?;
    let ask = |bytes: usize| {
        let question = json!({ "id": id, "offset": from, "max_bytes": bytes });
        shared.backend.read(of::GetObservation, question)
    };
    let answer = ask(TEXT_BYTES).await?;
    if answer.kind != "history" {
        return Err(Failure::nothing());
    }
    let mut exchange = Exchange::of(&answer);
    if byte_budget::weight(&exchange.content) > TEXT_HTML_BYTES {
        // This much always fits, whatever the text is.
        exchange = Exchange::of(&ask(TEXT_HTML_BYTES / byte_budget::ESCAPED_BYTES).await?);
    }
    let mut facts = exchange.facts();
    let facts_more = super::bounded(&mut facts, FACTS_MAX);
    let title = super::titled(&exchange.title);
    Ok(shell::ok(&ExchangePage {
        shell: Shell::titled(&title, "/history"),
        session: link::past(&exchange.session),
        when: locale.moment(exchange.at),
        pager: Pager::of("text")
            .next("Go on", exchange.next.map(|next| link::onward(&link::exchange(&exchange.id), next))),
        content: exchange.content,
        title,
        facts,
        facts_more,
    }))
}
