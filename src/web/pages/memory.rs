//! One memory: its text, where it comes from, what it is related to, and what can be done with it.

use askama::Template;
use axum::{
    extract::{Path, Query, State},
    response::Response,
};
use serde_json::json;

use super::Parts;
use crate::view::{self, Memory};
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
use cerebro_core::operation::Operation;

/// Bytes of a content that are shown at first, so that a page stays small.
const SHOWN_BYTES: usize = 16 * 1024;

/// A memory that this one is related to.
struct Related {
    href: String,
    title: String,
    kind: String,
}

/// A fact of a memory that has no room of its own: its name, and what it is.
struct Detail {
    name: &'static str,
    value: String,
    href: String,
}

#[derive(Template)]
#[template(path = "memory.html")]
struct MemoryPage {
    shell: Shell,
    href: String,
    graph: String,
    title: String,
    kind: String,
    agent: String,
    revision: u64,
    pinned: bool,
    deleted: bool,
    updated: When,
    created: When,
    content: Markup,
    /// The address that shows a long content whole.
    whole: Option<String>,
    details: Vec<Detail>,
    tags: String,
    related: Vec<Related>,
}

pub(in crate::web) async fn show(
    State(shared): State<Shared>,
    Path(id): Path<String>,
    locale: Locale,
    Query(parts): Parts,
) -> Result<Response, Failure> {
    let is_whole = parts.get("whole").is_some_and(|whole| whole == "1");
    let question = if is_whole { view::whole(&id) } else { json!({ "id": id, "max_bytes": SHOWN_BYTES }) };
    let memory = Memory::read(&shared.desk.ask(Operation::GetObservation, question).await?);
    let shell =
        Shell::titled(&memory.row.title, "/memories").done(parts.get("done")).token(shared.door.token());
    Ok(shell::ok(&page(shell, memory, &locale)))
}

fn page(shell: Shell, memory: Memory, locale: &Locale) -> MemoryPage {
    let row = &memory.row;
    let href = link::memory(&row.id);
    let related = |near: &view::Relation| Related {
        href: link::memory(&near.id),
        title: super::titled(&near.title),
        kind: near.kind.replace('_', " "),
    };
    MemoryPage {
        graph: link::graph(&row.id),
        title: if row.title.trim().is_empty() { "(no title)".to_owned() } else { row.title.clone() },
        kind: row.kind.clone(),
        agent: row.agent.clone(),
        revision: row.revision,
        pinned: row.pinned,
        deleted: row.deleted,
        updated: locale.moment(row.at),
        created: locale.moment(memory.created_at),
        content: markdown::render(&memory.content, 1),
        whole: memory.cut.then(|| link::with_query(&href, &[("whole", "1")])),
        details: details(&memory, locale),
        tags: memory.tags.clone(),
        related: memory.related.iter().map(related).collect(),
        href,
        shell,
    }
}

fn details(memory: &Memory, locale: &Locale) -> Vec<Detail> {
    let row = &memory.row;
    let project = if memory.scope == "personal" { String::new() } else { row.project.clone() };
    let place = super::overview::place_of(&project);
    let seen = if memory.duplicates > 0 { locale.count(memory.duplicates) } else { String::new() };
    let session = if memory.session.is_empty() { String::new() } else { link::session(&memory.session) };
    let replaced = memory.superseded_by.split(", ").next().map(link::memory).unwrap_or_default();
    let all = [
        ("Project", row.project.clone(), place),
        ("Scope", memory.scope.clone(), String::new()),
        ("Topic key", memory.topic_key.clone(), String::new()),
        ("Session", memory.session.clone(), session),
        ("Replaced by", memory.superseded_by.clone(), replaced),
        ("Saved again", seen, String::new()),
        ("Id", row.id.clone(), String::new()),
    ];
    let shown = all.into_iter().filter(|(_, value, _)| !value.is_empty());
    shown.map(|(name, value, href)| Detail { name, value, href }).collect()
}
