//! One memory: its text, its origin, its relations, and the actions on it.

use super::is_on;
use super::prelude::*;
use crate::view::{self, Memory, Row};
use crate::web::{
    heavy,
    html::markdown::{self, Markup},
};

/// Longest part of a content that is shown at first, and its size as HTML, in bytes. This keeps the page small.
const SHOWN_BYTES: usize = 16 * 1024;
const SHOWN_HTML_BYTES: usize = 36_000;
/// Longest fact about a memory, in bytes.
const FACT_BYTES_MAX: usize = 600;
/// Most anchors that are shown.
const ANCHORS_MAX: usize = 20;

/// A memory that this one is related to.
struct Related {
    href: String,
    title: String,
    kind: String,
    /// The address for merging the two.
    merge: String,
}

/// A fact in the table: its name and its parts, each with a link.
struct Detail {
    name: &'static str,
    parts: Vec<(String, String)>,
}

#[derive(Template)]
#[template(path = "memory.html")]
struct MemoryPage {
    shell: Shell,
    href: String,
    graph: String,
    title: String,
    row: Row,
    updated: When,
    created: When,
    content: Markup,
    /// The address that shows a long content completely.
    whole: Option<String>,
    details: Vec<Detail>,
    /// The verdicts on its anchors, each with whether it still holds.
    anchors: Vec<(String, bool)>,
    related: Vec<Related>,
}

pub(in crate::web) async fn show(Path(id): Path<String>, Asked { shared, locale, parts }: Asked) -> Page {
    let is_whole = is_on(&parts, "whole")?;
    let question = if is_whole { view::whole(&id) } else { json!({ "id": id, "max_bytes": SHOWN_BYTES }) };
    let memory = Memory::of(&shared.backend.read(of::GetObservation, question).await?);
    let shell =
        Shell::titled(&memory.row.title, "/memories").done(parts.get("done")).token(shared.access.token());
    let (text, most) = (memory.content.clone(), if is_whole { usize::MAX } else { SHOWN_HTML_BYTES });
    let (content, is_cut) = heavy::done(move || markdown::render_within(&text, 1, most)).await?;
    let whole =
        (memory.cut || is_cut).then(|| link::with_query(&link::memory(&memory.row.id), &[("whole", "1")]));
    Ok(shell::ok(&page(shell, &memory, &locale, (content, whole))))
}

fn page(
    shell: Shell,
    memory: &Memory,
    locale: &Locale,
    (content, whole): (Markup, Option<String>),
) -> MemoryPage {
    let row = &memory.row;
    let related = |near: &view::Relation| Related {
        href: link::memory(&near.id),
        title: super::titled(&near.title),
        kind: near.kind.replace('_', " "),
        merge: link::with_query("/pairs/merge", &[("first", &row.id), ("second", &near.id)]),
    };
    let anchor =
        |(words, holds): &(String, bool)| (byte_budget::cut(words, FACT_BYTES_MAX).into_owned(), *holds);
    MemoryPage {
        graph: link::graph(&row.id),
        title: if row.title.trim().is_empty() { "(no title)".to_owned() } else { row.title.clone() },
        row: row.clone(),
        updated: locale.moment(row.at),
        created: locale.moment(memory.created_at),
        content,
        whole,
        details: details(memory, locale),
        anchors: memory.anchors.iter().take(ANCHORS_MAX).map(anchor).collect(),
        related: memory.related.iter().map(related).collect(),
        href: link::memory(&row.id),
        shell,
    }
}

fn details(memory: &Memory, locale: &Locale) -> Vec<Detail> {
    let row = &memory.row;
    let project = if memory.scope == "personal" { "" } else { row.project.as_str() };
    let plain = |value: String| if value.is_empty() { Vec::new() } else { vec![(value, String::new())] };
    let one = |value: &str, href: String| {
        if value.is_empty() { Vec::new() } else { vec![(value.to_owned(), href)] }
    };
    let all = |ids: &[String], href: fn(&str) -> String| {
        ids.iter().map(|id| (id.clone(), href(id))).collect::<Vec<_>>()
    };
    let seen = if memory.duplicates > 0 { locale.count(memory.duplicates) } else { String::new() };
    let day = |at| locale.moment(at).shown;
    let details = [
        ("Project", one(&row.project, super::overview::place_of(project))),
        ("Scope", plain(memory.scope.clone())),
        ("Topic key", plain(memory.topic_key.clone())),
        ("Kind", plain(memory.nature.clone())),
        ("Shown in", plain(memory.trigger.clone())),
        ("Tags", plain(memory.tags.clone())),
        ("Origin", plain(memory.origin.clone())),
        ("Session", one(&memory.session, link::session(&memory.session))),
        ("Valid from", plain(day(memory.valid_from))),
        ("Valid until", plain(day(memory.valid_until))),
        ("Done", plain(day(memory.done_at))),
        ("Archived", plain(day(memory.archived_at))),
        ("Replaces", all(&memory.supersedes, link::memory)),
        ("Replaced by", all(&memory.superseded_by, link::memory)),
        ("Rests on", all(&memory.evidence, link::exchange)),
        ("Found out in", all(&memory.works, link::work)),
        ("Saved again", plain(seen)),
        ("Id", plain(row.id.clone())),
    ];
    let cut = |(value, href): (String, String)| (byte_budget::cut(&value, FACT_BYTES_MAX).into_owned(), href);
    let shown = details.into_iter().filter(|(_, parts)| !parts.is_empty());
    shown.map(|(name, parts)| Detail { name, parts: parts.into_iter().map(cut).collect() }).collect()
}
