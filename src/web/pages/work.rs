//! Present and abandoned work of agents: the pieces of work, and the state of one.

use super::counted;
use super::prelude::*;
use crate::{answer::work::Piece, view};

/// How many pieces of work a page shows.
const PAGE: usize = 30;
/// Most facts about a piece of work that are shown.
const FACTS_MAX: usize = 120;

/// A piece of work in a list.
struct Line {
    href: String,
    title: String,
    standing: String,
    /// Whether nobody is working on it although it is open.
    is_stale: bool,
    held: bool,
    agent: String,
    project: String,
    events: String,
    active: When,
}

impl Line {
    fn of(piece: &Piece, locale: &Locale) -> Self {
        Self {
            href: link::work(&piece.work.line()),
            title: super::titled(&piece.title.line()),
            standing: piece.standing().line(),
            is_stale: piece.stale.is_some(),
            held: piece.holder.is_some(),
            agent: super::named(&piece.agent.line()),
            project: super::named(&piece.project.line()),
            events: counted(locale, piece.seq, "event", "events"),
            active: locale.moment(piece.active_at.moment()),
        }
    }
}

#[derive(Template)]
#[template(path = "works.html")]
struct ListPage {
    shell: Shell,
    /// Whether closed ones are included.
    all: bool,
    works: Vec<Line>,
    nothing: &'static str,
    pager: Pager,
}

#[derive(Template)]
#[template(path = "work.html")]
struct WorkPage {
    shell: Shell,
    line: Line,
    id: String,
    session: String,
    facts: Vec<(String, String)>,
    facts_more: usize,
}

pub(in crate::web) async fn list(Asked { shared, locale, parts }: Asked) -> Page {
    let all = super::is_on(&parts, "all")?;
    let before = super::value::<jiff::Timestamp>(&parts, "before")?.map(|before| before.to_string());
    let after = super::part(&parts, "after");
    let question = json!({
        "all_projects": true, "state": if all { "all" } else { "open" }, "limit": PAGE, "before": before, "after": after,
    });
    let answer = shared.backend.read(of::WorkList, question).await?;
    let last = answer.works.last().filter(|_| answer.works.len() == PAGE);
    let oldest = last.and_then(|piece| Some((piece.active_at.moment()?.to_string(), piece.work.line())));
    let at = |before: &str, after: &str| {
        let all = if all { "1" } else { "" };
        link::with_query("/work", &[("all", all), ("before", before), ("after", after)])
    };
    Ok(shell::ok(&ListPage {
        shell: Shell::titled("Work", "/work"),
        works: answer.works.iter().map(|piece| Line::of(piece, &locale)).collect(),
        nothing: view::no_work(&answer),
        pager: Pager::of("list")
            .first("Newest", before.map(|_| at("", "")))
            .next("Older", oldest.map(|(oldest, last)| at(&oldest, &last))),
        all,
    }))
}

pub(in crate::web) async fn show(Path(id): Path<String>, Asked { shared, locale, .. }: Asked) -> Page {
    let answer = shared.backend.read(of::WorkShow, json!({ "work": id })).await;
    let answer = answer.map_err(Failure::absent)?;
    let piece = &answer.work;
    let mut facts = view::work_facts(&answer);
    let facts_more = super::bounded(&mut facts, FACTS_MAX);
    let line = Line::of(piece, &locale);
    Ok(shell::ok(&WorkPage {
        shell: Shell::titled(&format!("Work: {}", line.title), "/work"),
        session: piece.session_id.as_ref().map(|id| link::session(&id.line())).unwrap_or_default(),
        id: piece.work.line(),
        line,
        facts,
        facts_more,
    }))
}
