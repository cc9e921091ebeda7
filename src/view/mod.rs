//! Models of the daemon's answers, which the screens of `cerebro tui` and the pages of `cerebro web` share. All texts
//! are without characters that control a terminal or change the direction of reading.

mod overview;
mod past;
mod question;
mod vitals;
mod work;

use indicatif::HumanCount;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::answer::{
    Text,
    graph::Node,
    line,
    memories::{self, Browsed, Marks},
    observation::{self, Anchor, Observation, Related, Valid},
    search::Hit,
    sessions,
};
pub use crate::answer::{clean, clean_line};
pub use cerebro_core::text::bytes;

pub use overview::{DAYS_MAX, Fact, days_of, facts, saves_by_day};
pub use past::{Exchange, Past};
pub use question::{history, saves, whole};
pub use vitals::{problems, spent, vitals};
pub use work::{no_work, work_facts};

/// A memory in a list.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Row {
    pub id: String,
    pub title: String,
    pub kind: String,
    /// Empty if the answer does not name it.
    pub project: String,
    pub agent: String,
    pub revision: u64,
    pub pinned: bool,
    pub deleted: bool,
    pub archived: bool,
    /// The flag of its text, if it reads like an instruction.
    pub flag: String,
    pub at: Option<Timestamp>,
    /// The best passage of a hit.
    pub preview: String,
    /// Its marks, such as `flag override` or `stale changed src/a.rs:f`.
    pub marks: Vec<String>,
}

/// Origins that are not shown as marks, because somebody here chose to write or import the text.
const CHOSEN: [&str; 4] = ["", "agent", "person", "import"];

/// What a reader should know before believing a memory, the most important first.
fn marks(marks: &Marks, is_archived: bool, origin: &str) -> Vec<String> {
    let mark =
        |(name, words): (&str, Vec<String>)| format!("{name} {}", words.join(" ")).trim_end().to_owned();
    let archived = (is_archived && !marks.archived).then(|| "archived".to_owned());
    let origin = (!CHOSEN.contains(&origin)).then(|| format!("from {origin}"));
    marks.named().into_iter().map(mark).chain(archived).chain(origin).collect()
}

/// The name of a project; what is personal belongs to none.
fn place(project: &Text) -> String {
    if project.is_empty() { "personal".to_owned() } else { project.line() }
}

impl Row {
    /// From a list of memories.
    pub fn of(row: &memories::Row) -> Self {
        Self::marked(row, &Marks::default(), "")
    }

    /// From `op_browse`.
    pub fn browsed(browsed: &Browsed) -> Self {
        Self::marked(&browsed.row, &browsed.marks, &browsed.origin.line())
    }

    fn marked(row: &memories::Row, beside: &Marks, origin: &str) -> Self {
        let all = Marks { flag: row.flag.clone(), ..beside.clone() };
        Self {
            id: row.id.line(),
            title: row.title.line(),
            kind: row.kind.line(),
            project: place(&row.project),
            agent: row.agent.line(),
            revision: u64::from(row.revision),
            pinned: row.pinned,
            deleted: row.deleted_at.is_some(),
            archived: row.archived_at.is_some(),
            flag: line(row.flag.as_ref()),
            at: row.updated_at.moment(),
            preview: String::new(),
            marks: marks(&all, row.archived_at.is_some(), origin),
        }
    }

    /// From `mem_search`.
    pub fn hit(hit: &Hit) -> Self {
        Self {
            id: hit.id.line(),
            title: hit.title.line(),
            kind: hit.kind.line(),
            project: hit.project.as_ref().map(place).unwrap_or_default(),
            flag: line(hit.marks.flag.as_ref()),
            at: hit.date.moment(),
            preview: unmarked(&hit.preview.line()),
            marks: marks(&hit.marks, false, ""),
            ..Self::default()
        }
    }

    /// From `op_graph`.
    pub fn node(node: &Node) -> Self {
        Self {
            id: node.id.line(),
            title: node.title.line(),
            kind: node.kind.line(),
            project: place(&node.project),
            at: node.updated_at.moment(),
            ..Self::default()
        }
    }
}

/// A memory to which another is related.
#[derive(Debug, Clone, PartialEq)]
pub struct Relation {
    pub id: String,
    pub title: String,
    pub kind: String,
}

/// What a person edits of a memory, as it is stored.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stored {
    pub title: String,
    pub kind: String,
    pub tags: Vec<String>,
}

/// A whole memory.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Memory {
    pub row: Row,
    /// With its line ends.
    pub content: String,
    /// For editing.
    pub stored: Stored,
    pub scope: String,
    pub topic_key: String,
    pub tags: String,
    /// The memories that superseded it.
    pub superseded_by: Vec<String>,
    /// The memories that it superseded.
    pub supersedes: Vec<String>,
    /// The period in which it is true, if somebody set it.
    pub valid: String,
    pub session: String,
    pub origin: String,
    /// The kind of memory: `semantic`, for example.
    pub nature: String,
    /// Where it is shown, if it is to be done in one place.
    pub trigger: String,
    /// The moments of the period in which it is true.
    pub valid_from: Option<Timestamp>,
    pub valid_until: Option<Timestamp>,
    pub done_at: Option<Timestamp>,
    pub archived_at: Option<Timestamp>,
    /// The exchanges of past sessions on which it rests, and the pieces of work in which it was found out.
    pub evidence: Vec<String>,
    pub works: Vec<String>,
    /// Its anchors, each with whether it still holds.
    pub anchors: Vec<(String, bool)>,
    pub created_at: Option<Timestamp>,
    pub duplicates: u64,
    pub related: Vec<Relation>,
    /// Whether the content is longer than the part that was read.
    pub cut: bool,
}

impl Memory {
    /// From `mem_get_observation`.
    pub fn of(found: &Observation) -> Self {
        let origin = line(found.origin.as_ref());
        let moment = |at: &Option<Text>| at.as_ref().and_then(Text::moment);
        let relation = |near: &Related| Relation {
            id: near.id.line(),
            title: near.title.line(),
            kind: near.relation.line(),
        };
        let raw = |text: &Text| text.raw().to_owned();
        Self {
            row: Row {
                id: found.id.line(),
                title: found.title.line(),
                kind: found.kind.line(),
                project: place(&found.project),
                agent: line(found.agent.as_ref()),
                revision: u64::from(found.revision.unwrap_or_default()),
                pinned: found.pinned,
                deleted: found.deleted_at.is_some(),
                archived: found.archived_at.is_some(),
                flag: line(found.marks.flag.as_ref()),
                at: moment(&found.updated_at).or_else(|| moment(&found.date)),
                preview: String::new(),
                marks: marks(&found.marks, found.archived_at.is_some(), &origin),
            },
            content: raw(&found.content),
            tags: lines(&found.tags).join(", "),
            stored: Stored {
                title: raw(&found.title),
                kind: raw(&found.kind),
                tags: found.tags.iter().map(raw).collect(),
            },
            scope: line(found.scope.as_ref()),
            topic_key: line(found.topic_key.as_ref()),
            superseded_by: lines(&found.marks.superseded_by),
            supersedes: lines(&found.supersedes),
            valid: period(&found.valid),
            session: line(found.session_id.as_ref()),
            origin,
            nature: line(found.nature.as_ref()),
            trigger: line(found.trigger.as_ref()),
            valid_from: moment(&found.valid.from),
            valid_until: moment(&found.valid.until),
            done_at: moment(&found.done_at),
            archived_at: moment(&found.archived_at),
            evidence: lines(&found.evidence),
            works: lines(&found.worked_in),
            anchors: found.anchors.iter().map(anchor).collect(),
            created_at: moment(&found.created_at),
            duplicates: found.duplicate_count,
            related: found.related.iter().map(relation).collect(),
            cut: found.next_offset.is_some(),
        }
    }
}

/// Several texts, each on one line.
fn lines(texts: &[Text]) -> Vec<String> {
    texts.iter().map(Text::line).collect()
}

/// An anchor as text, and whether it still holds.
fn anchor(anchor: &Anchor) -> (String, bool) {
    let parts = [anchor.path.line(), line(anchor.symbol.as_ref())];
    let place = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
    let holds = anchor.verdict != "changed" && anchor.verdict != "gone";
    (format!("{place}: {}", anchor.verdict.line()), holds)
}

/// A validity as text; empty if there is none.
fn period(valid: &Valid) -> String {
    let day = |at: &Option<Text>| line(at.as_ref()).chars().take("2026-11-24".len()).collect::<String>();
    match (day(&valid.from).as_str(), day(&valid.until).as_str()) {
        ("", "") => String::new(),
        (from, "") => format!("from {from}"),
        ("", until) => format!("until {until}"),
        (from, until) => format!("{from} to {until}"),
    }
}

/// An earlier text of a memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Revision {
    pub number: u64,
    pub title: String,
    pub kind: String,
    pub agent: String,
    pub at: Option<Timestamp>,
    pub content: String,
}

impl Revision {
    /// From the revisions of `mem_get_observation`.
    pub fn of(earlier: &observation::Revision) -> Self {
        Self {
            number: u64::from(earlier.revision),
            title: earlier.title.line(),
            kind: earlier.kind.line(),
            agent: earlier.agent.line(),
            at: earlier.at.moment(),
            content: earlier.content.raw().to_owned(),
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Session {
    pub id: String,
    pub project: String,
    pub agent: String,
    pub directory: String,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    pub end_reason: String,
    /// With its line ends.
    pub summary: String,
    pub follows: String,
}

impl Session {
    /// From `op_sessions` or `op_story`.
    pub fn of(session: &sessions::Session) -> Self {
        Self {
            id: session.id.line(),
            project: session.project.line(),
            agent: session.agent.line(),
            directory: line(session.directory.as_ref()),
            started_at: session.started_at.moment(),
            ended_at: session.ended_at.as_ref().and_then(Text::moment),
            end_reason: line(session.end_reason.as_ref()),
            summary: session.summary.as_ref().map(|summary| summary.raw().to_owned()).unwrap_or_default(),
            follows: line(session.follows.as_ref()),
        }
    }

    /// The first line of its summary that has words.
    pub fn headline(&self) -> String {
        let words = |line: &str| line.trim_start_matches(['#', '*', '-', ' ']).trim().to_owned();
        let telling = |line: &String| !line.is_empty() && !line.eq_ignore_ascii_case("goal");
        clean_line(&self.summary.lines().map(words).find(telling).unwrap_or_default())
    }
}

/// The date and time of a moment; the year only if it is not the present one.
pub fn date(at: Option<Timestamp>, now: Timestamp, zone: &TimeZone) -> String {
    let Some(at) = at else { return String::new() };
    let (at, now) = (at.to_zoned(zone.clone()), now.to_zoned(zone.clone()));
    let form = if at.year() == now.year() { "%b %d %H:%M" } else { "%Y-%m-%d  " };
    at.strftime(form).to_string()
}

/// The time of a moment.
pub fn clock(at: Option<Timestamp>, zone: &TimeZone, form: &str) -> String {
    at.map(|at| at.to_zoned(zone.clone()).strftime(form).to_string()).unwrap_or_default()
}

/// How long ago a moment was, in its largest unit.
pub fn ago(at: Option<Timestamp>, now: Timestamp) -> String {
    let Some(at) = at else { return "never".to_owned() };
    format!("{} ago", span(u64::try_from(now.duration_since(at).as_secs()).unwrap_or(0)))
}

/// One line of Markdown without marks of headings, fences, emphasis and code, which mean nothing in a single line.
pub fn unmarked(line: &str) -> String {
    let word = |word: &str| {
        let is_fence = word.strip_prefix("```").is_some_and(|rest| rest.chars().all(char::is_alphanumeric));
        if is_fence || (1..=6).contains(&word.len()) && word.bytes().all(|byte| byte == b'#') {
            return None;
        }
        let word = word.replace("**", "").replace('`', "");
        let inner = word.strip_prefix('*').and_then(|word| word.strip_suffix('*'));
        Some(inner.unwrap_or(&word).to_owned()).filter(|word| !word.is_empty())
    };
    line.split_whitespace().filter_map(word).collect::<Vec<_>>().join(" ")
}

/// A number of seconds in its largest unit.
pub fn span(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// How long saves wait for their vectors: the median and the 99th percentile, both in milliseconds.
pub fn lag(median: u64, most: u64) -> String {
    let span_of = |ms: u64| if ms < 10_000 { format!("{ms} ms") } else { span(ms / 1_000) };
    format!("median {}, 99 % within {}", span_of(median), span_of(most))
}

/// A count with a comma between thousands.
pub fn count(number: u64) -> String {
    HumanCount(number).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_escapes_are_gone_from_every_line() {
        let row = Row::hit(&Hit {
            title: "a\u{1b}[31m\nb".into(),
            project: Some(Text::default()),
            preview: "\u{9b}x".into(),
            ..Hit::default()
        });
        assert_eq!(
            (row.title.as_str(), row.project.as_str(), row.preview.as_str()),
            ("a[31m b", "personal", "x")
        );
    }

    #[test]
    fn a_preview_shows_words_and_no_marks() {
        for (line, shown) in [
            ("What: the **lease** of `retry_1665`.", "What: the lease of retry_1665."),
            (
                "## Learned - *measure* first ```rust let a = b.take(); ```",
                "Learned - measure first let a = b.take();",
            ),
            ("a * b, __init__ and C# stay; #12 too", "a * b, __init__ and C# stay; #12 too"),
            ("", ""),
        ] {
            assert_eq!(unmarked(line), shown);
        }
    }

    #[test]
    fn a_lag_of_minutes_is_not_shown_in_milliseconds() {
        assert_eq!(lag(12, 9_999), "median 12 ms, 99 % within 9999 ms");
        assert_eq!(lag(21_741, 140_021), format!("median {}, 99 % within {}", span(21), span(140)));
    }

    #[test]
    fn moments_are_short() {
        let now: Timestamp = "2026-11-22T10:00:00Z".parse().unwrap();
        let at = |text: &str| text.parse::<Timestamp>().ok();
        assert_eq!(date(at("2026-11-21T09:05:00Z"), now, &TimeZone::UTC), "Nov 21 09:05");
        assert_eq!(date(at("2025-11-21T09:05:00Z"), now, &TimeZone::UTC), "2025-11-21  ");
        assert_eq!(ago(at("2026-11-22T07:00:00Z"), now), "3 h ago");
        assert_eq!(ago(at("2026-11-22T11:00:00Z"), now), "0 s ago");
    }

    #[test]
    fn a_session_is_headed_by_what_its_summary_says() {
        let summary = Some("## Goal\n- Mend it\nmore".into());
        let session = Session::of(&sessions::Session { summary, ..sessions::Session::default() });
        assert_eq!(session.headline(), "Mend it");
    }
}
