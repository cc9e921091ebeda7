//! Renders a handbook: equal items in equal places give the same text, byte for byte.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::operations::{Handbook, Item};
use crate::{
    domain::{ClaimKind, Project},
    redact::RedactedText,
    text,
};

/// The topic key of the memory that holds the whole handbook.
pub const HANDBOOK_KEY: &str = "distilled/handbook";
/// The topic key of the memory that holds the summary.
pub const SUMMARY_KEY: &str = "distilled/summary";
/// Most bytes of a handbook. Items that do not fit are counted.
pub const HANDBOOK_BYTES_MAX: usize = 48 * 1024;
/// Most bytes of a summary.
pub const SUMMARY_BYTES_MAX: usize = 6 * 1024;
/// Most of an item's text, in characters.
const TEXT_CHARS_MAX: usize = 600;

/// A rendered memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// [`HANDBOOK_KEY`] or [`SUMMARY_KEY`].
    pub topic_key: &'static str,
    pub title: RedactedText,
    pub content: RedactedText,
}

/// Whose handbook it is, in words.
pub fn owner(project: Option<&Project>) -> String {
    project.map_or_else(|| "all projects".to_owned(), |project| project.as_str().to_owned())
}

/// Renders the handbook of a project, or of all projects, and its summary, as they are saved. The memories of the
/// handbook of all projects are found in every project. So it is saved without the items that have no topic in it,
/// because these may concern one project alone. Empty if no item is left.
pub fn render(handbook: &Handbook, project: Option<&Project>) -> Vec<Rendered> {
    of_chapters(handbook, project, chapters(handbook, project.is_none()))
}

/// Renders a handbook and its summary as a person sees them: with all items, also those without a topic.
pub fn view(handbook: &Handbook, project: Option<&Project>) -> Vec<Rendered> {
    of_chapters(handbook, project, chapters(handbook, false))
}

fn of_chapters(handbook: &Handbook, project: Option<&Project>, chapters: Chapters<'_>) -> Vec<Rendered> {
    if chapters.is_empty() {
        return Vec::new();
    }
    let of = owner(project);
    let count: usize = chapters.values().map(Vec::len).sum();
    let counted = text::counted(count, "accepted claim");
    let head = format!("{counted}, by topic; `cerebro distil handbook` renders it. Each names its memory.\n");
    let short = format!("{counted}, in short; the whole is under the topic key `{HANDBOOK_KEY}`.\n\n");
    let rendered = |topic_key, what: &str, content: String| Rendered {
        topic_key,
        title: RedactedText::derived(format!("{what} of {of}, from past sessions")),
        content: RedactedText::derived(content),
    };
    vec![
        rendered(HANDBOOK_KEY, "Handbook", whole(handbook, &chapters, head)),
        rendered(SUMMARY_KEY, "Summary", summary(handbook, &chapters, short)),
    ]
}

/// The items under their headings: topics by name, then items without a topic by kind. Items with more sessions
/// come first.
type Chapters<'a> = BTreeMap<(bool, String), Vec<&'a Item>>;

fn chapters(handbook: &Handbook, arranged_only: bool) -> Chapters<'_> {
    let mut chapters = Chapters::new();
    for (item, topic) in handbook.shown().filter(|(_, topic)| topic.is_some() || !arranged_only) {
        let heading = topic.map_or_else(|| heading(item.kind).to_owned(), |topic| topic.as_str().to_owned());
        chapters.entry((topic.is_none(), heading)).or_default().push(item);
    }
    for items in chapters.values_mut() {
        items.sort_by_key(|item| {
            let sessions = handbook.sessions(item.memory).len();
            (item.kind, std::cmp::Reverse(sessions), item.title.as_str(), item.memory)
        });
    }
    chapters
}

/// The heading for items without a topic.
fn heading(kind: ClaimKind) -> &'static str {
    match kind {
        ClaimKind::Preference => "Preferences",
        ClaimKind::Decision => "Decisions",
        ClaimKind::Fact => "Facts",
        ClaimKind::Works => "What works",
        ClaimKind::Pitfall => "Pitfalls",
    }
}

/// The note behind an item: what it rests on.
fn footing(handbook: &Handbook, item: &Item) -> String {
    let sessions = || text::counted(handbook.sessions(item.memory).len(), "session");
    let ground = if item.is_revised { "revised".to_owned() } else { sessions() };
    format!("({}, {ground}, {})", item.kind.as_str(), item.memory)
}

fn whole(handbook: &Handbook, chapters: &Chapters<'_>, head: String) -> String {
    let mut out = Bounded { text: head, max: HANDBOOK_BYTES_MAX, left_out: 0 };
    for ((_, heading), items) in chapters {
        out.put(&format!("\n## {heading}\n"), false);
        for item in items {
            let words = text::one_line(&item.text);
            let words = text::cut_chars(&words, TEXT_CHARS_MAX);
            out.put(&format!("- {words} {}\n", footing(handbook, item)), true);
        }
    }
    out.end()
}

/// The summary: titles by kind, and the number of items per topic.
fn summary(handbook: &Handbook, chapters: &Chapters<'_>, head: String) -> String {
    let mut out = Bounded { text: head, max: SUMMARY_BYTES_MAX, left_out: 0 };
    let topic =
        |((_, heading), items): (&(bool, String), &Vec<&Item>)| format!("{heading} ({})", items.len());
    let topics: Vec<String> = chapters.iter().map(topic).collect();
    out.put(&format!("Topics: {}\n\n", topics.join(", ")), false);
    let mut items: Vec<&Item> = chapters.values().flatten().copied().collect();
    items.sort_by_key(|item| {
        let sessions = handbook.sessions(item.memory).len();
        (item.kind, std::cmp::Reverse(sessions), item.title.as_str(), item.memory)
    });
    for item in items {
        out.put(&format!("- {} {}\n", text::one_line(&item.title), footing(handbook, item)), true);
    }
    out.end()
}

/// A text that grows up to a bound and counts the items that did not fit.
struct Bounded {
    text: String,
    max: usize,
    left_out: usize,
}

impl Bounded {
    /// Room for the last line, which says how many items were left out.
    const LAST_LINE_BYTES: usize = 80;

    fn put(&mut self, piece: &str, is_item: bool) {
        if self.left_out == 0 && self.text.len() + piece.len() + Self::LAST_LINE_BYTES <= self.max {
            self.text.push_str(piece);
        } else {
            self.left_out += usize::from(is_item);
        }
    }

    fn end(mut self) -> String {
        if self.left_out > 0 {
            // Writing into a `String` does not fail.
            write!(self.text, "\n{} more, for which there is no room here\n", self.left_out).ok();
        }
        self.text.truncate(self.text.trim_end().len());
        self.text
    }
}
