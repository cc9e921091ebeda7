//! Drafts of skills: procedures that were seen often enough, in the format that agents read (`SKILL.md`).
//!
//! A draft is rendered from one item of a handbook. Only a person installs it.

use std::collections::BTreeMap;

use serde_json::json;

use super::operations::{Handbook, Item};
use crate::{
    domain::{ClaimKind, MemoryId, Origin},
    redact::RedactedText,
    taint, text,
};

/// The number of past sessions in which a procedure must have been seen.
pub const SESSIONS_MIN: usize = 3;
/// Longest name, in characters, of `a-z`, `0-9` and `-`.
pub const NAME_CHARS_MAX: usize = 64;
/// Longest description, in characters: the limit of agents.
const DESCRIPTION_CHARS_MAX: usize = 1_000;
/// Most of an item's text, in characters.
const TEXT_CHARS_MAX: usize = 4_000;
/// Most pitfalls that a skill names.
const PITFALLS_MAX: usize = 5;
/// Most exchanges that a skill names.
const EXCHANGES_MAX: usize = 8;

/// A draft of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// The name of its folder, unique among the drafts of all handbooks.
    pub name: String,
    /// The memory that it is rendered from.
    pub memory: MemoryId,
    pub title: RedactedText,
    /// In how many past sessions it was seen.
    pub sessions: usize,
    /// The text of `SKILL.md`.
    pub text: RedactedText,
}

/// The drafts of each of these handbooks: procedures that work (each such claim cites a command that succeeded) and were
/// seen in [`SESSIONS_MIN`] sessions. An item that somebody revised, or whose text would be flagged, gives no draft. Agents
/// have one folder for the skills of all projects. So names that several items would have get the ids of their memories.
pub fn drafts(handbooks: &[Handbook]) -> Vec<Vec<Skill>> {
    let ripe: Vec<Vec<Shown<'_>>> = handbooks.iter().map(|handbook| ripe(handbook).collect()).collect();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for (item, _) in ripe.iter().flatten() {
        *counts.entry(name(&item.title)).or_default() += 1;
    }
    let is_own = |name: &str| !name.is_empty() && counts.get(name) == Some(&1);
    let drafts = |(handbook, shown): (&Handbook, &Vec<Shown<'_>>)| {
        shown.iter().filter_map(|(item, topic)| draft(handbook, item, *topic, is_own)).collect()
    };
    handbooks.iter().zip(&ripe).map(drafts).collect()
}

/// An item of a handbook, and its topic.
type Shown<'a> = (&'a Item, Option<&'a RedactedText>);

/// The procedures that were seen often enough.
fn ripe(handbook: &Handbook) -> impl Iterator<Item = Shown<'_>> {
    handbook.shown().filter(move |(item, _)| {
        let is_seen = || handbook.sessions(item.memory).len() >= SESSIONS_MIN;
        item.kind == ClaimKind::Works && !item.is_revised && is_seen()
    })
}

fn draft(
    handbook: &Handbook,
    item: &Item,
    topic: Option<&RedactedText>,
    is_own: impl Fn(&str) -> bool,
) -> Option<Skill> {
    let mut name = name(&item.title);
    if !is_own(&name) {
        name = format!("{}-{}", text::cut_bytes(&name, NAME_CHARS_MAX - 13), item.memory);
        name.drain(..name.len() - name.trim_start_matches('-').len());
    }
    let text = render(handbook, item, topic, &name);
    let sessions = handbook.sessions(item.memory).len();
    let skill = Skill { name, memory: item.memory, title: item.title.clone(), sessions, text };
    taint::of(&item.title, &skill.text, Origin::Transcript).flags.is_empty().then_some(skill)
}

fn name(title: &str) -> String {
    let slug = text::slug(title);
    let ascii: String = slug.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let words: Vec<&str> = ascii.split('-').filter(|word| !word.is_empty()).collect();
    text::cut_bytes(&words.join("-").to_ascii_lowercase(), NAME_CHARS_MAX).trim_matches('-').to_owned()
}

fn render(handbook: &Handbook, item: &Item, topic: Option<&RedactedText>, name: &str) -> RedactedText {
    let title = text::one_line(&item.title);
    let words = text::cut_chars(&text::one_line(&item.text), TEXT_CHARS_MAX).into_owned();
    // A JSON string is a valid YAML string, whatever it contains.
    let description = json!(text::cut_chars(&format!("{title}: {words}"), DESCRIPTION_CHARS_MAX));
    let mut lines = vec![
        "---".to_owned(),
        format!("name: {name}"),
        format!("description: {description}"),
        "---".to_owned(),
        String::new(),
        format!("# {title}"),
        String::new(),
        words,
    ];
    let beside = |(other, at): &(&Item, Option<&RedactedText>)| {
        other.kind == ClaimKind::Pitfall && !other.is_revised && topic.is_some() && *at == topic
    };
    let pitfalls: Vec<&Item> =
        handbook.shown().filter(beside).take(PITFALLS_MAX).map(|(pitfall, _)| pitfall).collect();
    if !pitfalls.is_empty() {
        lines.extend([String::new(), "## Pitfalls".to_owned(), String::new()]);
        let line = |pitfall: &&Item| {
            format!("- {}", text::cut_chars(&text::one_line(&pitfall.text), TEXT_CHARS_MAX))
        };
        lines.extend(pitfalls.iter().map(line));
    }
    // These ids in the installed file are how forgetting the memories finds it.
    let memories: Vec<String> =
        [item].into_iter().chain(pitfalls).map(|one| format!("`{}`", one.memory)).collect();
    let noun = if memories.len() == 1 { "Memory" } else { "Memories" };
    let evidence: Vec<String> =
        handbook.evidence(item.memory).iter().take(EXCHANGES_MAX).map(|id| format!("`{id}`")).collect();
    let sessions = text::counted(handbook.sessions(item.memory).len(), "past session");
    lines.extend([
        String::new(),
        "## Where this comes from".to_owned(),
        String::new(),
        format!(
            "Seen in {sessions}, in each with a command that succeeded. {noun} {}; exchanges {}.",
            memories.join(", "),
            evidence.join(", ")
        ),
    ]);
    RedactedText::derived(lines.join("\n") + "\n")
}
