//! Models of the daemon's answers, which the screens of `cerebro tui` and the pages of `cerebro web` share. All texts
//! are without characters that control a terminal or change the direction of reading.

mod overview;
mod past;
mod question;
mod vitals;
mod work;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;

use crate::answer::daemon;
pub use crate::answer::{clean, clean_line};
use cerebro_core::operation::Operation;
pub use cerebro_core::text::bytes;

pub use overview::{DAYS_MAX, Fact, days_of, facts, saves_by_day};
pub use past::{Exchange, Past, Ran};
pub use question::{history, saves, whole};
pub use vitals::{ills, spent, vitals};
pub use work::{Work, no_work, work_facts};

/// A text in an answer, on one line; empty if it is missing.
pub fn text(value: &Value, name: &str) -> String {
    value[name].as_str().map(clean_line).unwrap_or_default()
}

/// A moment in an answer.
pub fn moment(value: &Value, name: &str) -> Option<Timestamp> {
    value[name].as_str().and_then(|text| text.parse().ok())
}

fn number(value: &Value, name: &str) -> u64 {
    value[name].as_u64().unwrap_or_default()
}

/// The items of a list in an answer.
pub fn items<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    value[name].as_array().into_iter().flatten()
}

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

/// The names of marks in answers, the most important first.
const MARKS: [&str; 8] =
    ["flag", "stale", "old", "expired", "archived", "superseded_by", "conflicts_with", "newer"];
/// Origins that are not shown as marks, because somebody here chose to write or import the text.
const CHOSEN: [&str; 4] = ["", "agent", "person", "import"];

/// The marks of a memory in an answer.
fn marks(value: &Value) -> Vec<String> {
    let mark = |name: &&str| match &value[*name] {
        Value::Bool(true) => Some((*name).to_owned()),
        Value::String(_) => Some(format!("{name} {}", text(value, name))),
        Value::Array(ids) => {
            let ids: Vec<&str> = ids.iter().filter_map(Value::as_str).collect();
            (!ids.is_empty()).then(|| clean_line(&format!("{name} {}", ids.join(" "))))
        }
        _ => None,
    };
    let mut marks: Vec<String> = MARKS.iter().filter_map(mark).collect();
    if value["archived_at"].is_string() && value["archived"] != true {
        marks.push("archived".to_owned());
    }
    let origin = text(value, "origin");
    if !CHOSEN.contains(&origin.as_str()) {
        marks.push(format!("from {origin}"));
    }
    marks
}

impl Row {
    /// Reads a row of `op_browse`, or a hit of `mem_search`.
    pub fn read(value: &Value) -> Self {
        let project = text(value, "project");
        Self {
            id: text(value, "id"),
            title: text(value, "title"),
            kind: text(value, "type"),
            project: if value["project"] == "" { "personal".to_owned() } else { project },
            agent: text(value, "agent"),
            revision: number(value, "revision"),
            pinned: value["pinned"] == true,
            deleted: value["deleted_at"].is_string(),
            archived: value["archived_at"].is_string(),
            flag: text(value, "flag"),
            at: moment(value, "updated_at").or_else(|| moment(value, "date")),
            preview: unmarked(&text(value, "preview")),
            marks: marks(value),
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

/// A whole memory.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Memory {
    pub row: Row,
    /// With its line ends.
    pub content: String,
    /// The title, type and tags as they are stored, for editing.
    pub raw: (String, String, Vec<String>),
    pub scope: String,
    pub topic_key: String,
    pub tags: String,
    /// The memories that superseded it.
    pub superseded_by: String,
    /// The memories that it superseded.
    pub supersedes: String,
    /// The period in which it is true, if somebody set it.
    pub valid: String,
    pub session: String,
    /// Its origin.
    pub origin: String,
    /// The flag of its text, if it reads like an instruction.
    pub flag: String,
    /// The kind of memory: `semantic`, for example.
    pub nature: String,
    /// The moments of the period in which it is true.
    pub valid_from: Option<Timestamp>,
    pub valid_until: Option<Timestamp>,
    pub done_at: Option<Timestamp>,
    pub archived_at: Option<Timestamp>,
    /// The exchanges of past sessions on which it rests, and the pieces of work in which it was found out.
    pub evidence: String,
    pub works: String,
    /// Its anchors, each with whether it still holds.
    pub anchors: Vec<(String, bool)>,
    pub created_at: Option<Timestamp>,
    pub duplicates: u64,
    pub related: Vec<Relation>,
    /// Whether the content is longer than the part that was read.
    pub cut: bool,
}

impl Memory {
    /// Reads an answer of `mem_get_observation`.
    pub fn read(value: &Value) -> Self {
        let raw = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
        let tags: Vec<String> = items(value, "tags").filter_map(Value::as_str).map(str::to_owned).collect();
        let relation = |near: &Value| Relation {
            id: text(near, "id"),
            title: text(near, "title"),
            kind: text(near, "relation"),
        };
        Self {
            row: Row::read(value),
            content: raw("content"),
            tags: clean_line(&tags.join(", ")),
            raw: (raw("title"), raw("type"), tags),
            scope: text(value, "scope"),
            topic_key: text(value, "topic_key"),
            superseded_by: named(value, "superseded_by"),
            supersedes: named(value, "supersedes"),
            valid: valid(&value["valid"]),
            session: text(value, "session_id"),
            origin: text(value, "origin"),
            flag: text(value, "flag"),
            nature: text(value, "kind"),
            valid_from: moment(&value["valid"], "from"),
            valid_until: moment(&value["valid"], "until"),
            done_at: moment(value, "done_at"),
            archived_at: moment(value, "archived_at"),
            evidence: named(value, "evidence"),
            works: named(value, "worked_in"),
            anchors: items(value, "anchors").map(anchor).collect(),
            created_at: moment(value, "created_at"),
            duplicates: number(value, "duplicate_count"),
            related: items(value, "related").map(relation).collect(),
            cut: value["next_offset"].is_u64(),
        }
    }
}

/// The ids in a list of an answer, separated by commas.
fn named(value: &Value, name: &str) -> String {
    clean_line(&items(value, name).filter_map(Value::as_str).collect::<Vec<_>>().join(", "))
}

/// An anchor as text, and whether it still holds.
fn anchor(value: &Value) -> (String, bool) {
    let (path, symbol, verdict) = (text(value, "path"), text(value, "symbol"), text(value, "verdict"));
    let place = [path, symbol].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
    let holds = !matches!(verdict.as_str(), "changed" | "gone");
    (format!("{place}: {verdict}"), holds)
}

/// A validity as text; empty if there is none.
fn valid(value: &Value) -> String {
    let day = |name: &str| text(value, name).chars().take("2026-11-24".len()).collect::<String>();
    match (day("from").as_str(), day("until").as_str()) {
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
    pub agent: String,
    pub at: Option<Timestamp>,
    pub content: String,
}

impl Revision {
    /// From the revisions of `mem_get_observation`.
    pub fn read(value: &Value) -> Self {
        Self {
            number: number(value, "revision"),
            title: text(value, "title"),
            agent: text(value, "agent"),
            at: moment(value, "at"),
            content: value["content"].as_str().unwrap_or_default().to_owned(),
        }
    }
}

/// A session.
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
    pub fn read(value: &Value) -> Self {
        Self {
            id: text(value, "id"),
            project: text(value, "project"),
            agent: text(value, "agent"),
            directory: text(value, "directory"),
            started_at: moment(value, "started_at"),
            ended_at: moment(value, "ended_at"),
            end_reason: text(value, "end_reason"),
            summary: value["summary"].as_str().unwrap_or_default().to_owned(),
            follows: text(value, "follows"),
        }
    }

    /// The first line of its summary that has words.
    pub fn headline(&self) -> String {
        let words = |line: &str| line.trim_start_matches(['#', '*', '-', ' ']).trim().to_owned();
        let telling = |line: &String| !line.is_empty() && !line.eq_ignore_ascii_case("goal");
        clean_line(&self.summary.lines().map(words).find(telling).unwrap_or_default())
    }
}

/// Something that happened in a session.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// `memory`, `prompt`, `session_start` or `session_end`.
    pub what: String,
    pub id: String,
    pub title: String,
    /// The type of a memory.
    pub kind: String,
    pub at: Option<Timestamp>,
}

impl Entry {
    /// From `op_story` or `mem_timeline`.
    pub fn read(value: &Value) -> Self {
        Self {
            what: text(value, "kind"),
            id: text(value, "id"),
            title: text(value, "title"),
            kind: text(value, "type"),
            at: moment(value, "date"),
        }
    }

    /// Whether it is a memory.
    pub fn is_memory(&self) -> bool {
        self.what == "memory"
    }
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub number: u64,
    pub at: Option<Timestamp>,
    pub tool: String,
    pub agent: String,
    pub project: String,
    pub session: String,
    pub ms: u64,
    pub failed: bool,
    pub outcome: String,
    pub arguments: String,
}

impl Call {
    /// From `op_live`.
    pub fn read(call: &daemon::Call) -> Self {
        Self {
            number: call.n,
            at: call.at.moment(),
            tool: call.tool.line(),
            agent: call.agent.line(),
            project: call.project.line(),
            session: call.session_id.line(),
            ms: call.ms,
            failed: call.failed,
            outcome: call.outcome.line(),
            arguments: call.arguments.lines(),
        }
    }

    /// Whether it may have changed the store.
    pub fn changes(&self) -> bool {
        // The effect of an operation of a later version is unknown.
        !self.failed && Operation::named(&self.tool).is_none_or(Operation::changes_memories)
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
    let digits = number.to_string();
    let mut out = String::new();
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn stored_escapes_are_gone_from_every_line() {
        let row = Row::read(&json!({ "title": "a\u{1b}[31m\nb", "project": "", "preview": "\u{9b}x" }));
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
        let session = Session::read(&json!({ "summary": "## Goal\n- Mend it\nmore" }));
        assert_eq!(session.headline(), "Mend it");
    }
}
