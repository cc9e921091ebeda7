//! The sessions of agents, and what one of them left: its summary, its prompts and memories in order of time.

use askama::Template;
use axum::{
    extract::{Path, Query, State},
    response::Response,
};
use serde_json::json;

use super::Parts;
use crate::view::{self, Entry, Session, items};
use crate::web::{
    Shared,
    failure::Failure,
    shell::{self, Shell},
    view::{
        link,
        locale::{Locale, When},
        markdown::{self, Markup},
    },
};
use cerebro_core::domain::Timestamp;
use cerebro_core::operation::Operation;

/// Sessions of a page.
const PAGE: usize = 30;
/// Things of a session that a page tells.
const ENTRIES: usize = 150;

/// A session in a list.
struct Line {
    href: String,
    headline: String,
    project: String,
    agent: String,
    started: When,
    lasted: String,
    is_open: bool,
    /// Whether it goes on with an earlier one.
    follows: bool,
}

#[derive(Template)]
#[template(path = "sessions.html")]
struct SessionsPage {
    shell: Shell,
    project: String,
    projects: Vec<String>,
    sessions: Vec<Line>,
    is_first: bool,
    earlier: Option<String>,
}

/// Something that happened in a session.
struct Happening {
    /// `memory` or `prompt`.
    what: String,
    title: String,
    /// Where it can be read; empty of a prompt.
    href: String,
    kind: String,
    when: When,
}

#[derive(Template)]
#[template(path = "session.html")]
struct SessionPage {
    shell: Shell,
    line: Line,
    id: String,
    directory: String,
    reason: String,
    ended: When,
    follows: String,
    summary: Option<Markup>,
    happenings: Vec<Happening>,
    later: Option<String>,
}

fn line(session: &Session, locale: &Locale) -> Line {
    let headline = session.headline();
    let lasted = session
        .ended_at
        .zip(session.started_at)
        .map(|(end, start)| view::span(u64::try_from(end.duration_since(start).as_secs()).unwrap_or(0)));
    Line {
        href: link::session(&session.id),
        headline: if headline.is_empty() { "No summary".to_owned() } else { super::titled(&headline) },
        project: session.project.clone(),
        agent: session.agent.clone(),
        started: locale.moment(session.started_at),
        lasted: lasted.unwrap_or_default(),
        is_open: session.ended_at.is_none(),
        follows: !session.follows.is_empty(),
    }
}

pub(in crate::web) async fn list(
    State(shared): State<Shared>,
    locale: Locale,
    Query(parts): Parts,
) -> Result<Response, Failure> {
    let part = |name: &str| parts.get(name).map(|value| value.trim().to_owned()).unwrap_or_default();
    let (project, before) = (part("project"), part("before"));
    let mut question = json!({ "limit": PAGE });
    match project.as_str() {
        "" => question["all_projects"] = json!(true),
        name => question["project"] = json!(name),
    }
    if let Ok(before) = before.parse::<Timestamp>() {
        question["before"] = json!(before.to_string());
    }
    let counts = shared.desk.counts().await?;
    let answer = shared.desk.ask(Operation::Sessions, question).await?;
    let sessions: Vec<Session> = items(&answer, "sessions").map(Session::read).collect();
    let oldest = sessions.last().and_then(|session| session.started_at).filter(|_| sessions.len() == PAGE);
    let names = counts.projects.iter().filter(|known| known.sessions > 0 && !known.name.is_empty());
    Ok(shell::ok(&SessionsPage {
        shell: Shell::titled("Sessions", "/sessions"),
        projects: names.map(|known| known.name.clone()).take(100).collect(),
        earlier: oldest.map(|oldest| {
            link::with_query("/sessions", &[("project", &project), ("before", &oldest.to_string())])
        }),
        sessions: sessions.iter().map(|session| line(session, &locale)).collect(),
        is_first: before.is_empty(),
        project,
    }))
}

pub(in crate::web) async fn show(
    State(shared): State<Shared>,
    Path(id): Path<String>,
    locale: Locale,
    Query(parts): Parts,
) -> Result<Response, Failure> {
    let mut question = json!({ "session_id": id, "limit": ENTRIES });
    let after = parts.get("after").and_then(|after| after.parse::<Timestamp>().ok());
    if let Some(after) = after {
        question["after"] = json!(after.to_string());
    }
    let story = shared.desk.ask(Operation::Story, question).await?;
    if story["session"].is_null() {
        let words = format!("There is no session {}.", view::clean_line(&id));
        return Err(Failure::new(axum::http::StatusCode::NOT_FOUND, "There is nothing here.", words));
    }
    let session = Session::read(&story["session"]);
    let entries: Vec<Entry> = items(&story, "entries").map(Entry::read).collect();
    let happening = |entry: &Entry| Happening {
        title: super::titled(&entry.title),
        href: if entry.is_memory() { link::memory(&entry.id) } else { String::new() },
        kind: entry.kind.clone(),
        when: locale.moment(entry.at),
        what: entry.what.clone(),
    };
    let line = line(&session, &locale);
    Ok(shell::ok(&SessionPage {
        shell: Shell::titled(&format!("Session: {}", line.headline), "/sessions"),
        later: story["next"].as_str().map(|next| link::with_query(&line.href, &[("after", next)])),
        summary: (!session.summary.trim().is_empty() && after.is_none())
            .then(|| markdown::render(&session.summary, 2)),
        happenings: entries.iter().map(happening).collect(),
        follows: if session.follows.is_empty() { String::new() } else { link::session(&session.follows) },
        directory: session.directory,
        reason: session.end_reason,
        ended: locale.moment(session.ended_at),
        id: session.id,
        line,
    }))
}
