//! The list of memories, newest first, or the results of the agents' own search with its reasons.

use std::collections::BTreeMap;

use askama::Template;
use axum::{
    extract::{Query, State},
    response::Response,
};
use serde_json::Value;

use super::{Item, Parts, counted, fitting, known_projects};
use crate::view::{self, Row, items};
use crate::web::{
    Shared,
    failure::Failure,
    shell::{self, Shell},
    view::{
        filter::{Filter, PAGE},
        locale::Locale,
    },
};
use cerebro_core::domain::Kind;
use cerebro_core::operation::Operation;
use cerebro_core::recall::Signal;

/// The fields of a hit that its item shows. All others are marks.
const OWN: [&str; 8] = ["id", "title", "type", "date", "preview", "score", "project", "flag"];

/// A choice of a form.
struct Choice {
    value: &'static str,
    name: &'static str,
    is_chosen: bool,
}

#[derive(Template)]
#[template(path = "memories.html")]
struct MemoriesPage {
    shell: Shell,
    filter: Filter,
    projects: Vec<String>,
    kinds: Vec<Choice>,
    scopes: Vec<Choice>,
    found: Found,
}

/// The contents of the list.
#[derive(Default)]
struct Found {
    items: Vec<Item>,
    /// A text with the number of results.
    said: String,
    /// How well a search matched: `strong`, `partial`, `none`; empty for a list.
    matched: String,
    /// Better hits in other projects: a text and an address.
    elsewhere: Vec<(String, String)>,
    first: Option<String>,
    /// The address of the previous page, if it is known.
    before: Option<String>,
    next: Option<String>,
}

pub(in crate::web) async fn show(
    State(shared): State<Shared>,
    locale: Locale,
    Query(parts): Parts,
) -> Result<Response, Failure> {
    let filter = Filter::read(&parts);
    let counts = shared.backend.counts().await;
    let found = if filter.is_search() {
        let answer = shared.backend.ask(Operation::Search, filter.search()).await?;
        hits(&answer, &filter, &locale)
    } else {
        let answer = shared.backend.ask(Operation::List, filter.list()).await?;
        listed(&answer, &filter, &locale)
    };
    Ok(shell::ok(&MemoriesPage {
        shell: Shell::titled("Memories", "/memories").done(parts.get("done")),
        projects: known_projects(&counts),
        kinds: choices("all types", &Kind::KNOWN, &filter.kind),
        scopes: choices("all scopes", &["project", "personal"], &filter.scope),
        filter,
        found,
    }))
}

fn choices(all: &'static str, values: &[&'static str], chosen: &str) -> Vec<Choice> {
    let choice = |value, name| Choice { value, name, is_chosen: value == chosen };
    [choice("", all)].into_iter().chain(values.iter().map(|&value| choice(value, value))).collect()
}

fn listed(answer: &Value, filter: &Filter, locale: &Locale) -> Found {
    let items: Vec<Item> = items(answer, "memories").map(|row| Item::of(&Row::read(row), locale)).collect();
    let total = answer["total"].as_u64().and_then(|total| usize::try_from(total).ok());
    let next = answer["next_cursor"].as_str().and_then(|next| next.parse::<usize>().ok());
    let kind = match (filter.deleted, filter.archived) {
        (true, _) => "deleted ",
        (_, true) => "archived ",
        _ => "",
    };
    let memories = |count| counted(locale, count, &format!("{kind}memory"), &format!("{kind}memories"));
    let number = |number: usize| locale.count(number as u64);
    let said = match total {
        Some(total) if total > items.len() && !items.is_empty() => {
            let (first, last) = (number(filter.from + 1), number(filter.from + items.len()));
            format!("{first}–{last} of {}, newest first", memories(total))
        }
        Some(total) => memories(total),
        // Some conditions are checked for each memory, so the total is known only on the last page.
        None if next.is_some() || filter.from > 0 => format!("{}, newest first", memories(items.len())),
        None => memories(items.len()),
    };
    Found {
        said,
        first: (filter.from > 0).then(|| filter.at(0, "")),
        before: (filter.from > 0 && total.is_some()).then(|| filter.at(filter.from.saturating_sub(PAGE), "")),
        next: next.map(|next| filter.at(next, "")),
        items: fitting(items),
        ..Found::default()
    }
}

fn hits(answer: &Value, filter: &Filter, locale: &Locale) -> Found {
    let reasons: BTreeMap<String, Vec<String>> =
        items(answer, "explained").map(|one| (view::text(one, "id"), reasons(one))).collect();
    let hit = |hit: &Value| {
        let row = Row::read(hit);
        let mut item = Item::of(&row, locale);
        if item.project.is_empty() {
            item.project.clone_from(&filter.project);
        }
        item.reasons = reasons.get(&row.id).cloned().unwrap_or_default();
        item.reasons.extend(marks(hit));
        item
    };
    let items: Vec<Item> = items(answer, "hits").map(hit).collect();
    let matched = view::text(answer, "match");
    let words = match matched.as_str() {
        "none" if items.is_empty() => "Nothing fits.",
        "none" => "Nothing fits; these are the nearest.",
        _ if answer["relaxed"] == true => "No memory has all the words.",
        _ => "",
    };
    let elsewhere = view::items(answer, "elsewhere").map(|other| {
        let project = view::text(other, "project");
        let hits = other["hits"].as_u64().unwrap_or(0);
        let there = Filter { project: project.clone(), cursor: String::new(), ..filter.clone() };
        (format!("{} better in {project}", locale.count(hits)), there.at(0, ""))
    });
    Found {
        said: format!("{}. {words}", counted(locale, items.len(), "hit", "hits")).trim_end().to_owned(),
        matched,
        elsewhere: elsewhere.collect(),
        first: (!filter.cursor.is_empty()).then(|| filter.at(0, "")),
        next: answer["next_cursor"].as_str().map(|cursor| filter.at(0, cursor)),
        items: fitting(items),
        ..Found::default()
    }
}

/// The marks of a hit, such as the memory that superseded it or one that contradicts it.
fn marks(hit: &Value) -> Vec<String> {
    let fact = |(name, value): (&String, &Value)| {
        let name = name.replace('_', " ");
        match value {
            Value::Bool(true) => Some(name),
            Value::String(word) => Some(format!("{name} {}", view::clean_line(word))),
            Value::Array(ids) => {
                let ids: Vec<String> = ids.iter().filter_map(Value::as_str).map(view::clean_line).collect();
                Some(format!("{name} {}", ids.join(", ")))
            }
            _ => None,
        }
    };
    let members = hit.as_object().into_iter().flatten();
    members.filter(|(name, _)| !OWN.contains(&name.as_str())).filter_map(fact).collect()
}

/// The parts of a hit's score, the largest first.
fn reasons(explained: &Value) -> Vec<String> {
    let share = |(name, _): &(&'static str, Signal)| Some((explained[*name].as_f64()?, *name));
    let mut shares: Vec<(f64, &str)> = Signal::ALL.iter().filter_map(share).collect();
    shares.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    let exact = (explained["exact"] == true).then(|| "exact name".to_owned());
    shares.iter().map(|(share, name)| format!("{name} {share:.2}")).chain(exact).collect()
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;
    use serde_json::json;

    use super::*;
    use crate::web::view::locale::Language;

    fn locale() -> Locale {
        Locale { language: Language::English, zone: TimeZone::UTC }
    }

    fn page(from: usize, rows: usize, answer: Value) -> Found {
        let mut answer = answer;
        answer["memories"] = (0..rows).map(|n| json!({ "id": format!("m{n}"), "title": "t" })).collect();
        listed(&answer, &Filter { from, ..Filter::default() }, &locale())
    }

    #[test]
    fn pages_lead_to_each_other_up_to_their_ends() {
        let first = page(0, 50, json!({ "total": 120, "next_cursor": "50" }));
        assert_eq!((first.first, first.next.as_deref()), (None, Some("/memories?from=50")));
        let last = page(100, 20, json!({ "total": 120 }));
        assert_eq!((last.first.as_deref(), last.next), (Some("/memories"), None));
        assert_eq!(last.before.as_deref(), Some("/memories?from=50"));
        assert_eq!(last.said, "101–120 of 120 memories, newest first");
        assert_eq!(page(0, 1, json!({ "total": 1 })).said, "1 memory");
        assert_eq!(page(0, 50, json!({ "next_cursor": "70" })).said, "50 memories, newest first");
        assert_eq!(page(500, 0, json!({ "total": 120 })).next, None, "beyond the end is no further page");
    }

    #[test]
    fn a_page_of_the_longest_items_is_no_longer_than_it_may_be() {
        let row = json!({ "id": "kbbbbbbbbbbb", "title": "<".repeat(300), "type": "x".repeat(40),
            "project": "日".repeat(200), "agent": "&".repeat(64), "preview": "日".repeat(220) });
        let items: Vec<Item> = (0..50).map(|_| Item::of(&Row::read(&row), &locale())).collect();
        let items = fitting(items);
        let bytes: usize = items.iter().map(|item| item.weight() + item.preview.len()).sum();
        assert!(bytes <= 50_000 && items[0].preview.is_empty() == (bytes > 48_000), "{bytes}");
    }

    #[test]
    fn a_hit_says_why_it_was_found() {
        let explained =
            json!({ "id": "a", "score": 1.2, "coverage": 1.0, "words": 0.4, "meaning": 0.8, "exact": true });
        assert_eq!(reasons(&explained), ["meaning 0.80", "words 0.40", "exact name"]);
        let hit =
            json!({ "id": "a", "title": "t", "score": 1.0, "superseded_by": ["b", "c"], "expired": true });
        assert_eq!(marks(&hit), ["superseded by b, c", "expired"]);
    }
}
