//! The sessions of agents: the list, and one session with its summary, prompts and memories in order of time.

use super::prelude::*;
use super::{about, is_on, known_projects, named, part, value};
use crate::answer::{self, Text, sessions::Entry};
use crate::view::{self, Session};
use crate::web::{
    heavy,
    html::markdown::{self, Markup},
};
use cerebro_core::domain::{Timestamp, limits::CONTENT_BYTES_MAX};

/// How many sessions a page shows.
const PAGE: usize = 30;
/// How many entries of a session a page shows.
const ENTRIES: usize = 80;
/// How many entries of a session a page shows with their full texts.
const WHOLE_ENTRIES: usize = 20;
/// Most earlier sessions of a thread that are shown.
const THREAD_MAX: usize = 6;
/// Longest summary, all prompts on a page, and longest prompt, in bytes of HTML, unless a person requests the full
/// texts.
const SUMMARY_BYTES: usize = 12_000;
const PROMPTS_BYTES: usize = 12_000;
const PROMPT_BYTES: usize = 1_500;

/// A session in a list.
struct Line {
    href: String,
    headline: String,
    project: String,
    agent: String,
    started: When,
    lasted: String,
    is_open: bool,
    /// The session that it continues, unless that is the next one in the list.
    follows: String,
    /// Whether it continues the next one in the list.
    is_thread: bool,
}

#[derive(Template)]
#[template(path = "sessions.html")]
struct SessionsPage {
    shell: Shell,
    project: String,
    projects: Vec<String>,
    sessions: Vec<Line>,
    pager: Pager,
}

/// Something that happened in a session.
struct Happening {
    /// `memory` or `prompt`.
    what: String,
    title: String,
    /// Its address; empty for a prompt.
    href: String,
    kind: String,
    when: When,
    /// The text of a prompt that is longer than its line.
    content: String,
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
    summary: Option<Markup>,
    happenings: Vec<Happening>,
    /// The address of the page with the full texts, if some are cut.
    whole: Option<String>,
    /// The sessions that it continues, the latest first.
    thread: Vec<Line>,
    pager: Pager,
}

fn line(session: &Session, locale: &Locale) -> Line {
    let headline = session.headline();
    let lasted = session
        .ended_at
        .zip(session.started_at)
        .map(|(end, start)| view::span(u64::try_from(end.duration_since(start).as_secs()).unwrap_or(0)));
    Line {
        href: link::session(&session.id),
        headline: if headline.is_empty() {
            "A session without a summary".to_owned()
        } else {
            super::titled(&headline)
        },
        project: named(&session.project),
        agent: named(&session.agent),
        started: locale.moment(session.started_at),
        lasted: lasted.unwrap_or_default(),
        is_open: session.ended_at.is_none(),
        follows: if session.follows.is_empty() { String::new() } else { link::session(&session.follows) },
        is_thread: false,
    }
}

pub(in crate::web) async fn list(Asked { shared, locale, parts }: Asked) -> Page {
    let (project, before) = (part(&parts, "project"), part(&parts, "before"));
    let mut question = about(&project, json!({ "limit": PAGE }));
    if let Some(before) = value::<Timestamp>(&parts, "before")? {
        question["before"] = json!(before.to_string());
        question["after"] = json!(part(&parts, "after"));
    }
    let counts = shared.backend.counts().await;
    let answer = shared.backend.read(of::Sessions, question).await?;
    let sessions: Vec<Session> = answer.sessions.iter().map(Session::of).collect();
    let last = sessions.last().filter(|_| sessions.len() == PAGE);
    let oldest = last.and_then(|session| Some((session.started_at?.to_string(), session.id.clone())));
    let mut lines: Vec<Line> = sessions.iter().map(|session| line(session, &locale)).collect();
    for n in 1..lines.len() {
        let is_thread = lines[n - 1].follows == lines[n].href;
        lines[n - 1].is_thread = is_thread;
    }
    let at = |before: &str, after: &str| {
        link::with_query("/sessions", &[("project", &project), ("before", before), ("after", after)])
    };
    Ok(shell::ok(&SessionsPage {
        shell: Shell::titled("Sessions", "/sessions"),
        projects: known_projects(&counts),
        pager: Pager::of("list")
            .first("Newest", (!before.is_empty()).then(|| at("", "")))
            .next("Older", oldest.map(|(oldest, last)| at(&oldest, &last))),
        sessions: lines,
        project,
    }))
}

pub(in crate::web) async fn show(Path(id): Path<String>, Asked { shared, locale, parts }: Asked) -> Page {
    let is_whole = is_on(&parts, "whole")?;
    let (limit, bytes) = if is_whole { (WHOLE_ENTRIES, CONTENT_BYTES_MAX) } else { (ENTRIES, PROMPT_BYTES) };
    let mut question = json!({ "session_id": id, "limit": limit, "prompt_bytes": bytes });
    let after = value::<Timestamp>(&parts, "after")?;
    if let Some(after) = after {
        question["after"] = json!(after.to_string());
    }
    let story = shared.backend.read(of::Story, question).await?;
    let Some(session) = &story.session else {
        let words = format!("There is no session {}.", view::clean_line(&id));
        return Err(Failure::new(axum::http::StatusCode::NOT_FOUND, "There is nothing here.", words));
    };
    let session = Session::of(session);
    let line = line(&session, &locale);
    let whole_part = if is_whole { "1" } else { "" };
    let later = |next: &Text| link::with_query(&line.href, &[("after", next.raw()), ("whole", whole_part)]);
    let mut page = SessionPage {
        shell: Shell::titled(&format!("Session: {}", line.headline), "/sessions"),
        pager: Pager::of("session").next("Later", story.next.as_ref().map(later)),
        summary: None,
        happenings: Vec::new(),
        whole: None,
        thread: thread(&shared, &session, &locale).await,
        directory: byte_budget::cut(&session.directory, super::FACT_BYTES_MAX).into_owned(),
        reason: session.end_reason,
        ended: locale.moment(session.ended_at),
        id: session.id,
        line,
    };
    let mut is_cut = false;
    if !session.summary.trim().is_empty() && after.is_none() {
        let most = if is_whole { usize::MAX } else { SUMMARY_BYTES };
        let summary = session.summary;
        let (summary, cut) = heavy::done(move || markdown::render_within(&summary, 2, most)).await?;
        page.summary = Some(summary);
        is_cut = cut;
    }
    let mut room = ByteBudget(if is_whole { usize::MAX } else { PROMPTS_BYTES });
    for entry in &story.entries {
        let (happening, cut) = happening(entry, &mut room, &locale);
        page.happenings.push(happening);
        is_cut |= cut;
    }
    let after = after.map(|after| after.to_string()).unwrap_or_default();
    page.whole = is_cut.then(|| link::with_query(&page.line.href, &[("after", &after), ("whole", "1")]));
    Ok(shell::ok(&page))
}

/// An entry, and whether its text is incomplete.
fn happening(entry: &Entry, room: &mut ByteBudget, locale: &Locale) -> (Happening, bool) {
    let text = entry.content.as_ref();
    let content = text.map(Text::lines).unwrap_or_default();
    let shown_bytes = text.map_or(0, |text| text.raw().len()) as u64;
    let is_part = entry.content_bytes.is_some_and(|bytes| bytes > shown_bytes);
    let title = answer::line(entry.title.as_ref());
    let is_longer = content.trim() != title.trim();
    let fits = is_longer && room.takes(byte_budget::weight(&content));
    let happening = Happening {
        title: super::titled(&title),
        href: if entry.is_memory() { link::memory(&entry.id.line()) } else { String::new() },
        kind: answer::line(entry.memory_type.as_ref()),
        when: locale.moment(entry.date.moment()),
        what: entry.kind.line(),
        content: if fits { content } else { String::new() },
    };
    (happening, is_part || (is_longer && !fits))
}

/// The sessions that one continues, the latest first.
async fn thread(shared: &Shared, session: &Session, locale: &Locale) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    let mut next = session.follows.clone();
    while !next.is_empty() && lines.len() < THREAD_MAX {
        let question = json!({ "session_id": next, "limit": 1 });
        let story = shared.backend.read(of::Story, question).await;
        let Some(earlier) = story.ok().and_then(|story| story.session) else { break };
        let earlier = Session::of(&earlier);
        lines.push(line(&earlier, locale));
        next = earlier.follows;
    }
    lines
}
