//! Pairs of memories that the worker found to be at odds, or nearly the same: side by side, decided with one click.

use askama::Template;
use axum::{
    extract::{Query, State},
    response::Response,
};
use serde_json::{Value, json};

use super::Parts;
use crate::view::{self, Row, items};
use crate::web::{
    Shared,
    failure::Failure,
    shell::{self, Shell},
    view::{
        link,
        locale::{Locale, When},
    },
};
use cerebro_core::operation::Operation;
use cerebro_core::text;

/// Pairs of a page.
const PAIRS: usize = 15;
/// Characters of each text that are shown.
const TEXT_CHARS_MAX: usize = 700;

/// One memory of a pair.
struct Side {
    id: String,
    href: String,
    title: String,
    kind: String,
    project: String,
    agent: String,
    when: When,
    content: String,
}

/// Two memories, and what is said of them.
struct Pair {
    words: String,
    evidence: String,
    sides: [Side; 2],
}

#[derive(Template)]
#[template(path = "pairs.html")]
struct PairsPage {
    shell: Shell,
    /// `twins`, or else what is claimed.
    is_twins: bool,
    /// The word that leads back here.
    back: &'static str,
    pairs: Vec<Pair>,
    most: usize,
    is_full: bool,
}

pub(in crate::web) async fn show(
    State(shared): State<Shared>,
    locale: Locale,
    Query(parts): Parts,
) -> Result<Response, Failure> {
    let is_twins = parts.get("which").is_some_and(|which| which == "twins");
    let which = if is_twins { "twins" } else { "claims" };
    let answer = shared.desk.ask(Operation::Pairs, json!({ "which": which, "limit": PAIRS })).await?;
    let pairs: Vec<Pair> = items(&answer, "pairs").map(|one| pair(one, &locale)).collect();
    let title = if is_twins { "Duplicates" } else { "Conflicts" };
    Ok(shell::ok(&PairsPage {
        shell: Shell::titled(title, "/pairs").done(parts.get("done")).token(shared.door.token()),
        is_twins,
        back: if is_twins { "twins" } else { "pairs" },
        is_full: pairs.len() == PAIRS,
        pairs,
        most: PAIRS,
    }))
}

fn pair(one: &Value, locale: &Locale) -> Pair {
    let weight = one["weight"].as_f64().unwrap_or(0.0);
    let words = match view::text(one, "kind").as_str() {
        "supersedes" => "The first is said to take the place of the second".to_owned(),
        "contradicts" => "Both cannot be true, it is said".to_owned(),
        _ => format!("Likeness {weight:.3}"),
    };
    Pair {
        words,
        evidence: view::text(one, "evidence"),
        sides: [side(&one["from"], locale), side(&one["to"], locale)],
    }
}

fn side(value: &Value, locale: &Locale) -> Side {
    let row = Row::read(value);
    let content = view::clean(value["content"].as_str().unwrap_or_default());
    Side {
        href: link::memory(&row.id),
        title: super::titled(&row.title),
        kind: row.kind,
        project: row.project,
        agent: row.agent,
        when: locale.moment(row.at),
        content: text::cut_chars(&content, TEXT_CHARS_MAX).into_owned(),
        id: row.id,
    }
}
