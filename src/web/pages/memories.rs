//! The list of memories, newest first, or the results of the agents' own search with its reasons.

use std::collections::BTreeMap;

use super::prelude::*;
use super::{Item, counted, fitting, known_projects};
use crate::answer::{
    Text,
    memories::{Listed, Marks},
    search::{self, Explained, Hit},
};
use crate::view::Row;
use crate::web::html::filter::{Filter, PAGE};
use cerebro_core::domain::Kind;

/// After the number of memories, if the words of the address were not searched for.
const WORDS_UNUSED: &str =
    ". They are listed without the words: a search covers neither deleted memories nor one agent or session.";

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
    pager: Pager,
}

pub(in crate::web) async fn show(Asked { shared, locale, parts }: Asked) -> Page {
    let filter = Filter::read(&parts)?;
    let counts = shared.backend.counts().await;
    let found = if filter.is_search() {
        let answer = shared.backend.read(of::Search, filter.search()).await?;
        hits(&answer, &filter, &locale)
    } else {
        let answer = shared.backend.read(of::List, filter.list()).await?;
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

fn listed(answer: &Listed, filter: &Filter, locale: &Locale) -> Found {
    let items: Vec<Item> = answer.memories.iter().map(|row| Item::of(Row::of(row), locale)).collect();
    let total = answer.total.and_then(|total| usize::try_from(total).ok());
    let next = answer.next_cursor.as_ref().and_then(|next| next.raw().parse::<usize>().ok());
    let kind = match (filter.deleted, filter.archived) {
        (true, _) => "deleted ",
        (_, true) => "archived ",
        _ => "",
    };
    let memories =
        |count: usize| counted(locale, count as u64, &format!("{kind}memory"), &format!("{kind}memories"));
    let number = |number: usize| locale.count(number as u64);
    let said = match total {
        Some(total) if total > items.len() && !items.is_empty() => {
            let (first, last) = (number(filter.from + 1), number(filter.from + items.len()));
            format!("{first}–{last} of {}, newest first", memories(total))
        }
        Some(total) => memories(total),
        // Some conditions are checked for each memory, so the total is known only on the last page.
        None if next.is_some() => format!("{}, newest first; more follow", memories(items.len())),
        None if filter.from > 0 => format!("{}, newest first", memories(items.len())),
        None => memories(items.len()),
    };
    let words = if filter.query.is_empty() { "" } else { WORDS_UNUSED };
    // Beyond the end, it is the last page.
    let before = total.map(|total| {
        let last = total.saturating_sub(1) / PAGE * PAGE;
        filter.at(filter.from.saturating_sub(PAGE).min(last), "")
    });
    Found {
        said: format!("{said}{words}"),
        pager: Pager::of("list")
            .first("First", (filter.from > 0).then(|| filter.at(0, "")))
            .previous("Newer", before.filter(|_| filter.from > 0))
            .next("Older", next.map(|next| filter.at(next, ""))),
        items: fitting(items),
        ..Found::default()
    }
}

fn hits(answer: &search::Found, filter: &Filter, locale: &Locale) -> Found {
    let mut explained: BTreeMap<&Text, Vec<String>> =
        answer.explained.iter().map(|one| (&one.id, reasons(one))).collect();
    let mut item = |hit: &Hit| {
        let mut item = Item::of(Row::hit(hit), locale);
        if item.project.is_empty() {
            item.project.clone_from(&filter.project);
        }
        item.reasons = explained.remove(&hit.id).unwrap_or_default();
        item.reasons.extend(marks(&hit.marks));
        item
    };
    let items: Vec<Item> = answer.hits.iter().map(&mut item).collect();
    let matched = answer.matched.line();
    let words = match matched.as_str() {
        "none" if items.is_empty() => "Nothing fits.",
        "none" => "Nothing fits; these are the nearest.",
        _ if answer.relaxed => "No memory has all the words.",
        _ => "",
    };
    let elsewhere = answer.elsewhere.iter().map(|other| {
        let project = other.project.line();
        let there = Filter { project: project.clone(), cursor: String::new(), ..filter.clone() };
        (format!("{} better in {project}", locale.count(other.hits)), there.at(0, ""))
    });
    Found {
        said: format!("{}. {words}", counted(locale, items.len() as u64, "hit", "hits"))
            .trim_end()
            .to_owned(),
        matched,
        elsewhere: elsewhere.collect(),
        pager: Pager::of("list")
            .first("First", (!filter.cursor.is_empty()).then(|| filter.at(0, "")))
            .next("More", answer.next_cursor.as_ref().map(|cursor| filter.at(0, cursor.raw()))),
        items: fitting(items),
    }
}

/// The marks of a hit, such as the memory that superseded it or one that contradicts it. The flag has a place of its own.
fn marks(marks: &Marks) -> impl Iterator<Item = String> {
    let marks = marks.named().into_iter().filter(|(name, _)| *name != "flag");
    marks
        .map(|(name, words)| format!("{} {}", name.replace('_', " "), words.join(", ")).trim_end().to_owned())
}

/// The parts of a hit's score, the largest first.
fn reasons(explained: &Explained) -> Vec<String> {
    let mut shares: Vec<(&str, f64)> = explained.shares.named().collect();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    let exact = explained.exact.then(|| "exact name".to_owned());
    shares.iter().map(|(name, share)| format!("{name} {share:.2}")).chain(exact).collect()
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;
    use crate::answer::{memories, search::Shares};
    use crate::web::html::locale::Language;

    fn locale() -> Locale {
        Locale { language: Language::English, zone: TimeZone::UTC }
    }

    fn page(from: usize, rows: usize, total: Option<u64>, next: Option<&str>) -> Found {
        let memories = vec![memories::Row::default(); rows];
        let answer = Listed { memories, total, next_cursor: next.map(Text::from), ..Listed::default() };
        listed(&answer, &Filter { from, ..Filter::default() }, &locale())
    }

    #[test]
    fn pages_lead_to_each_other_up_to_their_ends() {
        let links = |page: &Found| {
            page.pager.links.iter().map(|link| (link.name, link.href.clone())).collect::<Vec<_>>()
        };
        let first = page(0, 50, Some(120), Some("50"));
        assert_eq!(links(&first), [("Older", "/memories?from=50".to_owned())]);
        let last = page(100, 20, Some(120), None);
        let back = |newer: &str| [("First", "/memories".to_owned()), ("Newer", newer.to_owned())];
        assert_eq!(links(&last), back("/memories?from=50"));
        assert_eq!(last.said, "101–120 of 120 memories, newest first");
        assert_eq!(page(0, 1, Some(1), None).said, "1 memory");
        assert_eq!(page(0, 50, None, Some("70")).said, "50 memories, newest first; more follow");
        assert_eq!(page(70, 9, None, None).said, "9 memories, newest first");
        assert_eq!(links(&page(500, 0, Some(120), None)), back("/memories?from=100"));
        assert_eq!(links(&page(50, 0, Some(0), None)), back("/memories"));
    }

    #[test]
    fn words_that_were_not_searched_for_are_named() {
        let filter = Filter { query: "x".to_owned(), agent: "codex".to_owned(), ..Filter::default() };
        let said = listed(&Listed::default(), &filter, &locale()).said;
        assert!(said.starts_with("0 memories. They are listed without the words"), "{said}");
    }

    #[test]
    fn a_page_of_the_longest_items_is_no_longer_than_it_may_be() {
        let row = Row {
            id: "kbbbbbbbbbbb".to_owned(),
            title: "<".repeat(300),
            kind: "x".repeat(40),
            project: "日".repeat(200),
            agent: "&".repeat(64),
            preview: "日".repeat(220),
            ..Row::default()
        };
        let items: Vec<Item> = (0..50).map(|_| Item::of(row.clone(), &locale())).collect();
        let items = fitting(items);
        let bytes: usize = items.iter().map(|item| item.weight() + item.preview.len()).sum();
        assert!(bytes <= 50_000 && items[0].preview.is_empty() == (bytes > 48_000), "{bytes}");
    }

    #[test]
    fn a_hit_says_why_it_was_found() {
        let shares = Shares { words: Some(0.4), meaning: Some(0.8), ..Shares::default() };
        let explained = Explained { exact: true, shares, ..Explained::default() };
        assert_eq!(reasons(&explained), ["meaning 0.80", "words 0.40", "exact name"]);
        let found = Marks {
            superseded_by: vec!["b".into(), "c".into()],
            expired: true,
            flag: Some("exec".into()),
            ..Marks::default()
        };
        assert_eq!(marks(&found).collect::<Vec<_>>(), ["expired", "superseded by b, c"]);
    }
}
