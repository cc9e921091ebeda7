//! The projects, how much belongs to each, and making one a part of another.

use askama::Template;
use axum::{
    extract::{Query, State},
    response::{IntoResponse, Redirect, Response},
};
use serde_json::json;

use super::{Parts, counted, overview::place_of};
use crate::web::{
    Shared,
    desk::Project,
    door::Posted,
    failure::Failure,
    shell::{self, Shell},
    view::{
        chart::tenths,
        link,
        locale::{Locale, When},
    },
};
use cerebro_core::operation::Operation;

/// Projects of the page.
const PROJECTS_MAX: usize = 150;
/// The longest bar beside a name, in units of its picture.
const BAR: f64 = 100.0;

struct Line {
    name: String,
    href: String,
    sessions_href: String,
    memories: String,
    sessions: String,
    prompts: String,
    last: When,
    /// How much of the largest it has.
    bar: String,
}

#[derive(Template)]
#[template(path = "projects.html")]
struct ProjectsPage {
    shell: Shell,
    lines: Vec<Line>,
    more: usize,
    names: Vec<String>,
}

#[derive(Template)]
#[template(path = "merge.html")]
struct MergePage {
    shell: Shell,
    from: String,
    into: String,
    /// What it would move, in words.
    moved: String,
}

pub(in crate::web) async fn show(
    State(shared): State<Shared>,
    locale: Locale,
    Query(parts): Parts,
) -> Result<Response, Failure> {
    let counts = shared.desk.counts().await?;
    let most = counts.projects.iter().map(|project| project.memories).max().unwrap_or(0).max(1);
    let line = |project: &Project| Line {
        name: if project.name.is_empty() { "personal".to_owned() } else { project.name.clone() },
        href: place_of(&project.name),
        sessions_href: link::with_query("/sessions", &[("project", &project.name)]),
        memories: locale.count(project.memories),
        sessions: locale.count(project.sessions),
        prompts: locale.count(project.prompts),
        last: locale.moment(project.last_at),
        bar: tenths(BAR * project.memories as f64 / most as f64),
    };
    let names = counts.projects.iter().map(|project| project.name.clone()).filter(|name| !name.is_empty());
    Ok(shell::ok(&ProjectsPage {
        shell: Shell::titled("Projects", "/projects").done(parts.get("done")),
        lines: counts.projects.iter().take(PROJECTS_MAX).map(line).collect(),
        more: counts.projects.len().saturating_sub(PROJECTS_MAX),
        names: names.take(2 * PROJECTS_MAX).collect(),
    }))
}

/// Shows what a merge would move, and asks: it cannot be undone.
pub(in crate::web) async fn ask(
    State(shared): State<Shared>,
    locale: Locale,
    Query(parts): Parts,
) -> Result<Response, Failure> {
    let part = |name: &str| parts.get(name).map(|value| value.trim().to_owned()).unwrap_or_default();
    let (from, into) = (part("from"), part("into"));
    let unfit =
        |words: String| Failure::new(axum::http::StatusCode::BAD_REQUEST, "That cannot be merged.", words);
    if from.is_empty() || into.is_empty() {
        return Err(unfit("Choose the project to merge and the one that takes it in.".to_owned()));
    }
    if from == into {
        return Err(unfit("Choose two different projects.".to_owned()));
    }
    shared.desk.count_anew().await;
    let counts = shared.desk.counts().await?;
    let found = counts.projects.iter().find(|project| project.name == from);
    let Some(project) = found else {
        return Err(unfit(format!("There is nothing of project {}.", crate::view::clean_line(&from))));
    };
    let words =
        |number: u64, one, many| counted(&locale, usize::try_from(number).unwrap_or(usize::MAX), one, many);
    Ok(shell::ok(&MergePage {
        shell: Shell::titled("Merge projects", "/projects").token(shared.door.token()),
        moved: format!(
            "{}, {} and {}",
            words(project.memories, "memory", "memories"),
            words(project.sessions, "session", "sessions"),
            words(project.prompts, "prompt", "prompts")
        ),
        from,
        into,
    }))
}

pub(in crate::web) async fn merge(State(shared): State<Shared>, form: Posted) -> Result<Response, Failure> {
    let question = json!({ "from": form.field("from"), "into": form.field("into") });
    shared.desk.change(Operation::MergeProjects, question).await?;
    Ok(Redirect::to("/projects?done=merged").into_response())
}
