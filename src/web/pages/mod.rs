//! The pages, one per file. Each calls the daemon, prepares the texts of the answer, and renders its template.

pub(super) mod change;
pub(super) mod documents;
pub(super) mod edit;
pub(super) mod graph;
pub(super) mod health;
pub(super) mod history;
pub(super) mod inbox;
pub(super) mod join;
pub(super) mod live;
pub(super) mod memories;
pub(super) mod memory;
pub(super) mod overview;
pub(super) mod pairs;
pub(super) mod past;
mod prelude;
pub(super) mod projects;
pub(super) mod sessions;
mod tabs;
pub(super) mod tidy;
pub(super) mod work;

use std::{collections::HashMap, sync::Arc};

use axum::{
    extract::{FromRequestParts, Query, rejection::QueryRejection},
    http::request::Parts,
    response::{IntoResponse, Redirect, Response},
};
use serde_json::{Value, json};

use super::{
    Shared,
    backend::Counts,
    failure::Failure,
    html::{
        byte_budget::{self, ByteBudget},
        link,
        locale::{Locale, When},
        parameter::{from, is_on, part, value},
    },
};
use crate::view::Row;

/// A page, or why there is none.
type Page = Result<Response, Failure>;

/// What a page is made of: the shared state, how the reader wants dates and counts, and the parameters in the address.
pub(super) struct Asked {
    shared: Shared,
    locale: Locale,
    parts: HashMap<String, String>,
}

impl FromRequestParts<Shared> for Asked {
    type Rejection = QueryRejection;

    async fn from_request_parts(parts: &mut Parts, shared: &Shared) -> Result<Self, QueryRejection> {
        let Ok(locale) = Locale::from_request_parts(parts, shared).await;
        let Query(parts) = Query::from_request_parts(parts, shared).await?;
        Ok(Self { shared: Arc::clone(shared), locale, parts })
    }
}

/// Sends the browser to a page that notes a finished change, by its word.
fn returned(place: &str, done: &str) -> Response {
    Redirect::to(&link::with_query(place, &[("done", done)])).into_response()
}

/// Arguments for one project, or for all projects if the name is empty.
fn about(project: &str, mut question: Value) -> Value {
    match project {
        "" => question["all_projects"] = json!(true),
        name => question["project"] = json!(name),
    }
    question
}

/// Cuts facts to what fits on a page. Returns how many are left out.
fn bounded<N>(facts: &mut Vec<(N, String)>, most: usize) -> usize {
    let left_out = facts.len().saturating_sub(most);
    facts.truncate(most);
    for (_, value) in facts {
        *value = byte_budget::cut(value, FACT_BYTES_MAX).into_owned();
    }
    left_out
}

/// Longest title in a list, in characters and in bytes of HTML.
const TITLE_CHARS_MAX: usize = 120;
const TITLE_BYTES_MAX: usize = 240;
/// Longest preview in a list, in characters.
const PREVIEW_CHARS_MAX: usize = 220;
const PREVIEW_BYTES_MAX: usize = 400;
/// Longest name of a project or an agent in a list, in characters and in bytes of HTML.
const NAME_CHARS_MAX: usize = 60;
const NAME_BYTES_MAX: usize = 120;
/// Longest fact on one line, in bytes.
const FACT_BYTES_MAX: usize = 300;
/// Size of a list of memories beyond which items have no previews, in bytes.
const ITEMS_BYTES: usize = 48_000;
/// Size of the HTML around an item's texts, in bytes.
const ITEM_BYTES: usize = 380;
/// Most projects that a form suggests, and their size, in bytes.
const PROJECTS_MAX: usize = 100;
const PROJECTS_BYTES: usize = 6_000;

/// A memory in a list.
#[derive(Debug, Clone, PartialEq)]
struct Item {
    row: Row,
    href: String,
    /// What the page shows of the row's longer texts.
    title: String,
    project: String,
    agent: String,
    preview: String,
    when: When,
    /// The reasons why a search found it.
    reasons: Vec<String>,
}

impl Item {
    fn of(row: Row, locale: &Locale) -> Self {
        Self {
            href: link::memory(&row.id),
            title: titled(&row.title),
            project: named(&row.project),
            agent: named(&row.agent),
            preview: byte_budget::line(&row.preview, PREVIEW_CHARS_MAX, PREVIEW_BYTES_MAX),
            when: locale.moment(row.at),
            reasons: Vec::new(),
            row,
        }
    }

    /// Its size without its preview, in bytes.
    fn weight(&self) -> usize {
        let texts =
            [&self.title, &self.row.kind, &self.project, &self.agent].map(|text| byte_budget::weight(text));
        let reasons: usize = self.reasons.iter().map(|reason| byte_budget::weight(reason) + 15).sum();
        texts.iter().sum::<usize>() + reasons + ITEM_BYTES
    }
}

/// Drops the previews of a list's last items if the page would become too long.
fn fitting(mut items: Vec<Item>) -> Vec<Item> {
    let mut room = ByteBudget(ITEMS_BYTES.saturating_sub(items.iter().map(Item::weight).sum()));
    for item in &mut items {
        if !room.takes(byte_budget::weight(&item.preview)) {
            item.preview.clear();
        }
    }
    items
}

/// The title in a list; an empty one gets a text, because a link needs one.
fn titled(title: &str) -> String {
    if title.trim().is_empty() {
        "(no title)".to_owned()
    } else {
        byte_budget::line(title, TITLE_CHARS_MAX, TITLE_BYTES_MAX)
    }
}

/// A name in a list.
fn named(name: &str) -> String {
    byte_budget::line(name, NAME_CHARS_MAX, NAME_BYTES_MAX)
}

/// The projects that a form suggests, the largest first.
fn known_projects(counts: &Counts) -> Vec<String> {
    let names = counts.projects.iter().map(|known| known.project.line()).filter(|name| !name.is_empty());
    ByteBudget(PROJECTS_BYTES).fill(names.take(PROJECTS_MAX), |name| byte_budget::weight(name) + 30)
}

/// A count with its noun.
fn counted(locale: &Locale, number: u64, one: &str, many: &str) -> String {
    format!("{} {}", locale.count(number), if number == 1 { one } else { many })
}
