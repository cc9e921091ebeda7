//! The projects and their sizes; merging and renaming projects.

use axum::http::StatusCode;

use super::prelude::*;
use super::{counted, known_projects, named, overview::place_of, part};
use crate::answer::{Text, projects::Project};
use crate::web::html::chart::tenths;
use cerebro_core::domain::{self, MemoryId};

/// How many projects a page shows, their size, and the size of the HTML around each, in bytes.
const PAGE: usize = 100;
const LINES_BYTES: usize = 48_000;
const AROUND_BYTES: usize = 445;
/// Most memories that are named after a merge because they say what the other project no longer says.
const AGAIN: usize = 20;
/// Length of the longest bar, in units of its picture.
const BAR: f64 = 100.0;

struct Line {
    name: String,
    href: String,
    sessions_href: String,
    graph_href: String,
    memories: String,
    sessions: String,
    prompts: String,
    /// Empty if there are none.
    past_sessions: String,
    last: When,
    /// The length of its bar, relative to the largest.
    bar: String,
}

impl Line {
    fn weight(&self) -> usize {
        let hrefs = self.href.len() + self.sessions_href.len() + self.graph_href.len();
        2 * byte_budget::weight(&self.name) + hrefs + AROUND_BYTES
    }
}

#[derive(Template)]
#[template(path = "projects.html")]
struct ProjectsPage {
    shell: Shell,
    /// Whether the projects were counted already.
    is_counted: bool,
    lines: Vec<Line>,
    said: String,
    pager: Pager,
    names: Vec<String>,
    /// Memories that say what the project that was merged with theirs no longer says.
    again: Vec<MemoryId>,
}

#[derive(Template)]
#[template(path = "merge.html")]
struct MergePage {
    shell: Shell,
    from: String,
    into: String,
    /// Whether no project has the other name yet.
    is_new: bool,
    /// A text about what a merge would move.
    moved: String,
}

pub(in crate::web) async fn show(Asked { shared, locale, parts }: Asked) -> Page {
    let from: usize = super::from(&parts)?;
    let counts = shared.backend.counts().await;
    let most = counts.projects.iter().map(|project| project.memories).max().unwrap_or(0).max(1);
    let line = |project: &Project| {
        let name = project.project.line();
        Line {
            href: place_of(&name),
            sessions_href: link::with_query("/sessions", &[("project", &name)]),
            graph_href: if name.is_empty() {
                String::new()
            } else {
                link::with_query("/graph/project", &[("project", &name)])
            },
            name: if name.is_empty() { "personal".to_owned() } else { named(&name) },
            memories: locale.count(project.memories),
            sessions: locale.count(project.sessions),
            prompts: locale.count(project.prompts),
            past_sessions: project.past_sessions.map(|count| locale.count(count)).unwrap_or_default(),
            last: locale.moment(project.last_at.as_ref().and_then(Text::moment)),
            bar: tenths(BAR * project.memories as f64 / most as f64),
        }
    };
    let again = parts.get("again").map(String::as_str).unwrap_or_default().split(' ');
    let lines = counts.projects.iter().skip(from).take(PAGE).map(line);
    let lines = ByteBudget(LINES_BYTES).fill(lines, Line::weight);
    let (next, all) = (from + lines.len(), counts.projects.len());
    Ok(shell::ok(&ProjectsPage {
        shell: Shell::titled("Projects", "/projects").done(parts.get("done")),
        is_counted: counts.at.is_some(),
        said: counted(&locale, all as u64, "project", "projects"),
        lines,
        pager: Pager::of("list")
            .first("First", (from > 0).then(|| "/projects".to_owned()))
            .next("More", (next < all).then(|| link::onward("/projects", next))),
        names: known_projects(&counts),
        again: again.filter_map(|id| MemoryId::parse(id).ok()).take(AGAIN).collect(),
    }))
}

/// Shows what a merge would move, and asks for confirmation, because it cannot be undone.
pub(in crate::web) async fn ask(Asked { shared, locale, parts }: Asked) -> Page {
    let unfit = |words: String| Failure::new(StatusCode::BAD_REQUEST, "That cannot be merged.", words);
    let (from, into) = (part(&parts, "from"), part(&parts, "into"));
    if from.is_empty() || into.is_empty() {
        return Err(unfit("Give the project, and the project to merge it into or its new name.".to_owned()));
    }
    let [from, into] = [from, into].map(|name| domain::Project::stored(&name));
    if from == into {
        return Err(unfit("Name two different projects.".to_owned()));
    }
    if domain::Project::RESERVED.contains(&into.as_str()) {
        return Err(unfit(format!("{into}: {}.", domain::Project::RESERVED_WHY)));
    }
    let counts = shared.backend.count_now().await?;
    let found = counts.projects.iter().find(|known| known.project == from.as_str());
    let Some(project) = found else {
        return Err(unfit(format!("There is nothing of project {}.", crate::view::clean_line(&from))));
    };
    let words = |number, one, many| counted(&locale, number, one, many);
    Ok(shell::ok(&MergePage {
        shell: Shell::titled("Merge projects", "/projects").token(shared.access.token()),
        moved: format!(
            "{}, {}, {} and {}",
            words(project.memories, "memory", "memories"),
            words(project.sessions, "session", "sessions"),
            words(project.prompts, "prompt", "prompts"),
            words(project.past_sessions.unwrap_or_default(), "past session", "past sessions")
        ),
        is_new: !counts.projects.iter().any(|known| known.project == into.as_str()),
        from,
        into,
    }))
}

/// Merges one project into another. For renaming, the new name must still be unused: two projects with one name
/// cannot be separated again.
pub(in crate::web) async fn merge(State(shared): State<Shared>, form: Posted) -> Page {
    let (from, into) = (form.field("from"), form.field("into"));
    let is_new = form.field("new") == "1";
    if is_new && shared.backend.count_now().await?.projects.iter().any(|known| known.project == into.as_str())
    {
        let words = format!("There is now a project {}.", crate::view::clean_line(&into));
        return Err(Failure::new(StatusCode::CONFLICT, "That name is taken.", words));
    }
    let merged =
        shared.backend.change_and_read(of::MergeProjects, json!({ "from": from, "into": into })).await?;
    // Counts first, so that the next page shows the result.
    shared.backend.count_now().await?;
    let again: Vec<&str> = merged.said_again.iter().map(Text::raw).take(AGAIN).collect();
    let place = match (is_new, again.is_empty()) {
        (true, _) => "/projects?done=renamed".to_owned(),
        (false, true) => "/projects?done=merged".to_owned(),
        (false, false) => link::with_query("/projects", &[("done", "merged"), ("again", &again.join(" "))]),
    };
    Ok(Redirect::to(&place).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_names_fit_as_well() {
        let line = |n: usize| Line {
            name: named(&format!("{}{n}", "<".repeat(200))),
            href: place_of(&"日".repeat(200)),
            sessions_href: link::with_query("/sessions", &[("project", &"日".repeat(200))]),
            graph_href: link::with_query("/graph/project", &[("project", &"日".repeat(200))]),
            memories: "1".to_owned(),
            sessions: "1".to_owned(),
            prompts: "1".to_owned(),
            past_sessions: "1".to_owned(),
            last: When::default(),
            bar: "1".to_owned(),
        };
        let page = ProjectsPage {
            shell: Shell::titled("Projects", "/projects"),
            is_counted: true,
            lines: ByteBudget(LINES_BYTES).fill((0..PAGE).map(line), Line::weight),
            said: String::new(),
            pager: Pager::default(),
            names: Vec::new(),
            again: Vec::new(),
        };
        let html = page.render().unwrap();
        assert!(html.len() < 55_000 && page.lines.len() > 5, "{} of {}", html.len(), page.lines.len());
    }
}
