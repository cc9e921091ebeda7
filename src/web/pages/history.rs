//! What a memory said before: each revision as what it changed.

use askama::Template;
use axum::{
    extract::{Path, Query, State},
    response::Response,
};
use serde_json::json;

use super::Parts;
use crate::view::{self, Memory, Revision, items};
use crate::web::{
    Shared,
    failure::Failure,
    shell::{self, Shell},
    view::{
        diff::Diff,
        link,
        locale::{Locale, When},
    },
};
use cerebro_core::operation::Operation;

/// Revisions of a page.
const PAGE: usize = 5;

/// A revision and what it changed.
struct Step {
    number: u64,
    title: String,
    agent: String,
    when: When,
    /// What the title was before, if it was another.
    retitled: Option<String>,
    diff: Diff,
    /// The first text of all.
    is_first: bool,
}

#[derive(Template)]
#[template(path = "history.html")]
struct HistoryPage {
    shell: Shell,
    href: String,
    title: String,
    steps: Vec<Step>,
    earlier: Option<String>,
}

pub(in crate::web) async fn show(
    State(shared): State<Shared>,
    Path(id): Path<String>,
    locale: Locale,
    Query(parts): Parts,
) -> Result<Response, Failure> {
    // How many revisions before the present one are left out.
    let skipped: usize = parts.get("skip").and_then(|skip| skip.parse().ok()).unwrap_or(0);
    let memory = Memory::read(&shared.desk.ask(Operation::GetObservation, view::whole(&id)).await?);
    let mut texts: Vec<Revision> = Vec::new();
    if skipped == 0 {
        texts.push(present(&memory));
    }
    let mut question = view::history(&id);
    question["offset"] = json!(skipped.saturating_sub(1));
    let answer = shared.desk.ask(Operation::GetObservation, question).await?;
    texts.extend(items(&answer, "revisions").map(Revision::read));
    let href = link::memory(&id);
    let steps: Vec<Step> = texts
        .iter()
        .enumerate()
        .take(PAGE)
        .filter_map(|(n, text)| step(text, texts.get(n + 1), &locale))
        .collect();
    // The last text at hand has none to be compared with: its own step is on the next page, if there is one.
    let more = texts.len() > steps.len() + 1 || answer["next_offset"].is_u64();
    let next = (skipped + steps.len()).to_string();
    let earlier =
        (more && !steps.is_empty()).then(|| link::with_query(&format!("{href}/history"), &[("skip", &next)]));
    Ok(shell::ok(&HistoryPage {
        shell: Shell::titled(&format!("History of {}", memory.row.title), "/memories"),
        href,
        title: super::titled(&memory.row.title),
        steps,
        earlier,
    }))
}

/// The memory's present text as a revision.
fn present(memory: &Memory) -> Revision {
    Revision {
        number: memory.row.revision,
        title: memory.row.title.clone(),
        agent: memory.row.agent.clone(),
        at: memory.row.at,
        content: memory.content.clone(),
    }
}

/// What a revision changed of the one before it; none when that one is not at hand.
fn step(text: &Revision, before: Option<&Revision>, locale: &Locale) -> Option<Step> {
    let is_first = text.number <= 1;
    let old = match before {
        Some(before) => before.content.as_str(),
        None if is_first => "",
        // The revisions before it were removed by the user's limit, or are on the next page.
        None => return None,
    };
    Some(Step {
        number: text.number,
        title: super::titled(&text.title),
        agent: text.agent.clone(),
        when: locale.moment(text.at),
        retitled: before
            .filter(|before| before.title != text.title)
            .map(|before| super::titled(&before.title)),
        diff: Diff::between(old, &text.content),
        is_first,
    })
}
