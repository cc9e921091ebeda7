//! Parses a call's arguments leniently: aliases, numbers and lists sent as strings, several formats of dates.
//!
//! Pure: the caller passes in the time. Unknown arguments are named in the reply.

mod frames;

use std::collections::BTreeSet;

use serde_json::{Map, Value};

pub use super::argument_error::ArgumentError;
use super::argument_error::echo;
use cerebro_core::domain::{
    ChunkId, ExchangeId, Kind, MemoryId, Nature, Project, Run, ScopeName, SessionId, Timestamp, WorkId,
    limits::CONTENT_BYTES_MAX,
};
use cerebro_core::redact;
use cerebro_core::text;
use cerebro_service::Change;

type Result<T> = std::result::Result<T, ArgumentError>;

/// Largest count. Larger ones are clamped to it.
const COUNT_MAX: usize = 1_000_000_000;

/// Longest text among an agent's arguments, in bytes. It is more than the bound of a content, because redaction may shorten
/// it. A longer text is refused at once, because redacting it would delay the other agents by many seconds.
const TEXT_BYTES_MAX: usize = 2 * CONTENT_BYTES_MAX;
/// Most unknown arguments that an answer names.
const UNKNOWN_MAX: usize = 20;

/// The sections that are folded into a memory's content.
const SECTIONS: [(&str, &str); 4] =
    [("what", "What"), ("why", "Why"), ("where", "Where"), ("learned", "Learned")];

/// The arguments of one call. Records which of them were read. Texts are returned unchanged; the use case redacts them.
#[derive(Debug)]
pub struct Arguments {
    map: Map<String, Value>,
    read: BTreeSet<String>,
    names: Names,
    /// How many secrets were redacted in names.
    redacted: usize,
    /// The arguments from which Cerebro's own frames were taken out.
    unframed: Vec<String>,
}

/// Which instant of its day a date means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DayEdge {
    Start,
    End,
}

/// Who chose the names of projects, types and sessions in the arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Names {
    /// An agent. Its names may contain secrets.
    OfAgent,
    /// A person. The names refer to stored ones.
    OfPerson,
}

impl Arguments {
    /// The arguments of a call.
    pub fn new(map: Map<String, Value>, names: Names) -> Self {
        Self { map, read: BTreeSet::new(), names, redacted: 0, unframed: Vec::new() }
    }

    /// Redacts a name among a person's arguments, if it may not be stored yet.
    pub fn redact_name(&mut self, name: &str) {
        if let Some(Value::String(text)) = self.map.get_mut(name) {
            *text = redact::redact_name(text);
        }
    }

    /// A redacted name; `None` if it is blank.
    fn name(&mut self, name: &'static str) -> Result<Option<String>> {
        let given = self.nonblank(name)?;
        if self.names == Names::OfPerson {
            return Ok(given);
        }
        let Some(cleaned) = given.map(|given| redact::redact_text(&given)) else { return Ok(None) };
        self.redacted += cleaned.count;
        Ok(Some(cleaned.value.into()))
    }

    /// The named project, for read-only use.
    pub fn named_project(&self) -> Option<Project> {
        let name = self.map.get("project")?.as_str().filter(|name| name.len() <= TEXT_BYTES_MAX)?;
        match self.names {
            Names::OfAgent => Project::parse(&redact::redact_secrets(name)),
            Names::OfPerson => Project::parse(name),
        }
    }

    /// All arguments, read or not.
    pub fn all(&self) -> &Map<String, Value> {
        &self.map
    }

    /// How many secrets were redacted in names so far.
    pub fn redacted(&self) -> usize {
        self.redacted
    }

    /// The names of arguments that were not read, and of those from which a part was removed: see [`Self::unframe`].
    pub fn ignored(&self) -> Vec<String> {
        self.unknown(|_| false)
    }

    /// Takes back that some arguments were read, because they have no effect here: they are named as ignored.
    pub fn pass_over(&mut self, names: &[&str]) {
        self.read.retain(|name| !names.contains(&name.as_str()));
    }

    /// As [`Self::ignored`], without the arguments that the tool has: a failed call may not have read all of its own.
    pub fn unknown(&self, is_known: impl Fn(&str) -> bool) -> Vec<String> {
        let known = |name: &String| self.read.contains(name) || is_known(name);
        let mut unknown = self.map.keys().filter(|name| !known(name));
        let mut named: Vec<String> = unknown.by_ref().take(UNKNOWN_MAX).map(|name| echo(name)).collect();
        match unknown.count() {
            0 => {}
            more => named.push(format!("… {more} more")),
        }
        named.extend(self.unframed.iter().map(|name| frames::note(name)));
        named
    }

    /// The first of these names that is given and not null.
    fn any(&mut self, names: &[&'static str]) -> Option<(&'static str, &Value)> {
        self.read.extend(names.iter().map(|name| (*name).to_owned()));
        names.iter().find_map(|name| Some((*name, self.map.get(*name).filter(|value| !value.is_null())?)))
    }

    fn text_of(&mut self, names: &[&'static str]) -> Result<Option<String>> {
        let most = if self.names == Names::OfAgent { TEXT_BYTES_MAX } else { usize::MAX };
        match self.any(names) {
            None => Ok(None),
            Some((name, Value::String(text))) if text.len() > most => {
                let problem = format!("it has {} bytes; at most {most} are read", text.len());
                Err(ArgumentError::new(name, Some(text), problem))
            }
            Some((_, Value::String(text))) => Ok(Some(text.clone())),
            Some((_, value @ (Value::Number(_) | Value::Bool(_)))) => Ok(Some(value.to_string())),
            Some((name, value)) => {
                Err(ArgumentError::new(name, Some(&value.to_string()), "it must be a text"))
            }
        }
    }

    /// A text. Numbers and booleans are converted.
    pub fn text(&mut self, name: &'static str) -> Result<Option<String>> {
        self.text_of(&[name])
    }

    /// A text; a blank one counts as missing.
    pub fn nonblank(&mut self, name: &'static str) -> Result<Option<String>> {
        Ok(self.text(name)?.filter(|given| !given.trim().is_empty()))
    }

    /// One of a few words, and what it stands for.
    pub fn choice<T: Copy>(&mut self, name: &'static str, choices: &[(&str, T)]) -> Result<Option<T>> {
        let Some(given) = self.text(name)? else { return Ok(None) };
        match choices.iter().find(|(word, _)| *word == given) {
            Some((_, meant)) => Ok(Some(*meant)),
            None => {
                let words: Vec<String> = choices.iter().map(|(word, _)| format!("`{word}`")).collect();
                let (last, first) = words.split_last().expect("there is something to choose");
                let problem = format!("it must be {} or {last}", first.join(", "));
                Err(ArgumentError::new(name, Some(&given), problem))
            }
        }
    }

    /// An object; a missing one is empty.
    pub fn object(&mut self, name: &'static str) -> Result<Map<String, Value>> {
        match self.any(&[name]) {
            None => Ok(Map::new()),
            Some((_, Value::Object(map))) => Ok(map.clone()),
            Some((_, value)) => {
                Err(ArgumentError::new(name, Some(&value.to_string()), "it must be an object"))
            }
        }
    }

    /// A list of objects; a missing one is empty.
    pub fn objects(&mut self, name: &'static str) -> Result<Vec<Value>> {
        match self.any(&[name]) {
            None => Ok(Vec::new()),
            Some((_, Value::Array(items))) if items.iter().all(Value::is_object) => Ok(items.clone()),
            Some((_, value)) => {
                Err(ArgumentError::new(name, Some(&value.to_string()), "it must be a list of objects"))
            }
        }
    }

    /// The id of a piece of work.
    pub fn work_id(&mut self, name: &'static str) -> Result<Option<WorkId>> {
        let Some(id) = self.nonblank(name)? else { return Ok(None) };
        WorkId::parse(&id).map(Some).map_err(ArgumentError::unread(name, &id))
    }

    /// Refuses empty texts among a person's conditions: no condition was meant to choose everything.
    pub fn filled(&self, names: &[&str]) -> Result<()> {
        let is_blank = |value: &Value| value.as_str().is_some_and(|text| text.trim().is_empty());
        let is_empty = |name: &str| match self.map.get(name) {
            Some(Value::Array(items)) => items.iter().any(is_blank),
            value => value.is_some_and(is_blank),
        };
        match names.iter().find(|name| is_empty(name)) {
            Some(name) => {
                Err(ArgumentError::new(name, Some(""), "it is empty; give a value, or leave it out"))
            }
            None => Ok(()),
        }
    }

    /// A required text.
    pub fn needed(&mut self, name: &'static str) -> Result<String> {
        self.text(name)?.ok_or_else(|| ArgumentError::new(name, None, "it is missing; give it as a text"))
    }

    /// A whole number from 0, also as a string or with a zero fraction. A negative one counts as 0.
    pub fn count(&mut self, name: &'static str) -> Result<Option<usize>> {
        let Some((_, value)) = self.any(&[name]) else { return Ok(None) };
        let number = match value {
            Value::Number(number) => number.as_f64(),
            Value::String(text) if text.trim().is_empty() => return Ok(None),
            Value::String(text) => text.trim().parse::<f64>().ok(),
            _ => None,
        };
        match number.filter(|number| number.is_finite() && number.fract() == 0.0) {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "clamped to 0..=10^9"
            )]
            Some(number) => Ok(Some(number.clamp(0.0, COUNT_MAX as f64) as usize)),
            None => Err(ArgumentError::new(name, Some(&shown(value)), "it must be a whole number")),
        }
    }

    /// The number of a revision, from 1.
    pub fn revision(&mut self, name: &'static str) -> Result<Option<u32>> {
        let Some(count) = self.count(name)? else { return Ok(None) };
        // A clamped count is not the given number.
        if let (1..COUNT_MAX, Ok(revision)) = (count, u32::try_from(count)) {
            return Ok(Some(revision));
        }
        let given = self.any(&[name]).map(|(_, value)| shown(value));
        Err(ArgumentError::new(name, given.as_deref(), "it must be the number of a revision, from 1"))
    }

    /// A count clamped to a range; `default` when it is not given.
    pub fn clamped(
        &mut self,
        name: &'static str,
        default: usize,
        range: std::ops::RangeInclusive<usize>,
    ) -> Result<usize> {
        Ok(self.count(name)?.unwrap_or(default).clamp(*range.start(), *range.end()))
    }

    /// A port; 0 when it is not given.
    pub fn port(&mut self) -> Result<u16> {
        let port = self.count("port")?.unwrap_or_default();
        u16::try_from(port)
            .map_err(|_| ArgumentError::new("port", Some(&port.to_string()), "the highest port is 65535"))
    }

    /// Yes or no; also as a string or number. `false` when it is not given.
    pub fn flag(&mut self, names: &[&'static str]) -> Result<bool> {
        let Some((name, value)) = self.any(names) else { return Ok(false) };
        let given = match value {
            Value::Bool(flag) => return Ok(*flag),
            other => shown(other),
        };
        match given.trim().to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" | "on" => Ok(true),
            "false" | "0" | "no" | "off" | "" => Ok(false),
            _ => Err(ArgumentError::new(name, Some(&given), "it must be true or false")),
        }
    }

    /// A real run, or with `dry_run` a dry one.
    pub fn run(&mut self) -> Result<Run> {
        self.flag(&["dry_run"]).map(Run::dry_if)
    }

    /// A list of texts; also as one string, in JSON or with commas. `None` when it is not given.
    pub fn texts(&mut self, name: &'static str) -> Result<Option<Vec<String>>> {
        let Some((_, value)) = self.any(&[name]) else { return Ok(None) };
        let items = match value {
            Value::Array(items) => items.clone(),
            Value::String(text) => match serde_json::from_str::<Vec<Value>>(text.trim()) {
                Ok(items) => items,
                Err(_) => text.split(',').map(|item| Value::String(item.trim().to_owned())).collect(),
            },
            other => vec![other.clone()],
        };
        let mut texts = Vec::with_capacity(items.len());
        for item in &items {
            match item {
                Value::Null => {}
                Value::String(_) | Value::Number(_) | Value::Bool(_) => texts.push(shown(item)),
                _ => {
                    return Err(ArgumentError::new(
                        name,
                        Some(&item.to_string()),
                        "it must be a list of texts",
                    ));
                }
            }
        }
        texts.retain(|text| !text.trim().is_empty());
        Ok(Some(texts))
    }

    /// A memory's id, under any of its names.
    pub fn memory_id(&mut self) -> Result<MemoryId> {
        let given = self.text_of(&["id", "observation_id", "memory_id"]);
        let Some(id) = given.map_err(ArgumentError::of_memory_id)? else {
            return Err(ArgumentError::new("id", None, "it is missing").of_memory_id());
        };
        MemoryId::parse(&id).map_err(ArgumentError::unread("id", &id)).map_err(ArgumentError::of_memory_id)
    }

    /// A list of memories' ids; empty when it is not given.
    pub fn memory_ids(&mut self, name: &'static str) -> Result<Vec<MemoryId>> {
        let given = self.texts(name)?.unwrap_or_default();
        given.iter().map(|id| MemoryId::parse(id).map_err(ArgumentError::unread(name, id))).collect()
    }

    /// A list of ids of exchanges; `None` when it is not given.
    pub fn exchange_ids(&mut self, name: &'static str) -> Result<Option<Vec<ExchangeId>>> {
        let Some(given) = self.texts(name)? else { return Ok(None) };
        let ids = given.iter().map(|id| ExchangeId::parse(id).map_err(ArgumentError::unread(name, id)));
        ids.collect::<Result<_>>().map(Some)
    }

    /// The id of an exchange, if one is given instead of a memory's id. Otherwise the argument is left for
    /// [`Self::memory_id`].
    pub fn exchange_id(&mut self) -> Option<ExchangeId> {
        self.text_of(&["id", "observation_id", "memory_id"]).ok()?.and_then(|id| ExchangeId::parse(&id).ok())
    }

    /// The id of a chunk of a document, in the same way.
    pub fn chunk_id(&mut self) -> Option<ChunkId> {
        self.text_of(&["id", "observation_id", "memory_id"]).ok()?.and_then(|id| ChunkId::parse(&id).ok())
    }

    /// A session's id.
    pub fn session_id(&mut self, name: &'static str) -> Result<Option<SessionId>> {
        let Some(id) = self.name(name)? else { return Ok(None) };
        SessionId::parse(&id).map(Some).map_err(ArgumentError::unread(name, &id))
    }

    /// A project's name.
    pub fn project(&mut self) -> Result<Option<Project>> {
        let Some(name) = self.name("project")? else { return Ok(None) };
        let parsed = Project::parse(&name);
        parsed
            .map(Some)
            .ok_or_else(|| ArgumentError::new("project", Some(&name), "a name has 1 to 200 characters"))
    }

    /// The name of a project into which something is written. No project gets a name that lists need.
    pub fn target_project(&mut self) -> Result<Option<Project>> {
        match self.project()? {
            Some(project) if project.is_reserved() => {
                Err(ArgumentError::new("project", Some(project.as_str()), Project::RESERVED_WHY))
            }
            project => Ok(project),
        }
    }

    /// The same, for a memory in this scope. What is personal belongs to no project, whichever is given.
    pub fn project_in(&mut self, scope: Option<ScopeName>) -> Result<Option<Project>> {
        if scope == Some(ScopeName::Personal) { self.project() } else { self.target_project() }
    }

    /// The name of a scope.
    pub fn scope(&mut self) -> Result<Option<ScopeName>> {
        let Some(scope) = self.nonblank("scope")? else { return Ok(None) };
        ScopeName::parse(&scope).map(Some).map_err(ArgumentError::unread("scope", &scope))
    }

    /// A type, normalised.
    pub fn kind(&mut self) -> Result<Option<Kind>> {
        let Some(kind) = self.name("type")? else { return Ok(None) };
        let parsed = Kind::parse(&kind);
        parsed.map(Some).ok_or_else(|| {
            ArgumentError::new("type", Some(&kind), "a type has 1 to 40 characters of a-z, 0-9, `_` and `-`")
        })
    }

    /// A kind of memory.
    pub fn nature(&mut self) -> Result<Option<Nature>> {
        let Some(name) = self.nonblank("kind")? else { return Ok(None) };
        let problem = || format!("it must be one of {}", Nature::NAMES.join(", "));
        Nature::parse(&name).map(Some).ok_or_else(|| ArgumentError::new("kind", Some(&name), problem()))
    }

    /// A moment: RFC 3339, a date, or an age.
    pub fn moment(&mut self, name: &'static str, now: Timestamp, day: DayEdge) -> Result<Option<Timestamp>> {
        let Some(given) = self.nonblank(name)? else { return Ok(None) };
        text::parse_moment(given.trim(), now, day == DayEdge::End).map(Some).ok_or_else(|| {
            ArgumentError::new(
                name,
                Some(&given),
                "it must be a date (2026-11-21, RFC 3339, `yesterday`) or an age (7d, 12h)",
            )
        })
    }

    /// A moment given as a date or in RFC 3339, not as an age.
    pub fn date(&mut self, name: &'static str, day: DayEdge) -> Result<Option<Timestamp>> {
        let Some(given) = self.nonblank(name)? else { return Ok(None) };
        let given = given.trim();
        let is_dated = given.get(..10).is_some_and(is_day);
        let parsed =
            text::parse_moment(given, Timestamp::UNIX_EPOCH, day == DayEdge::End).filter(|_| is_dated);
        parsed.map(Some).ok_or_else(|| {
            ArgumentError::new(name, Some(given), "it must be a date (2026-11-21 or RFC 3339)")
        })
    }

    /// A change of such a moment. An empty text removes it.
    pub fn reset(&mut self, name: &'static str, day: DayEdge) -> Result<Change<Timestamp>> {
        match self.text(name)? {
            None => Ok(Change::Keep),
            Some(_) => Ok(Change::To(self.date(name, day)?)),
        }
    }

    /// A change of such a text. An empty text removes it.
    pub fn change(&mut self, name: &'static str) -> Result<Change<String>> {
        let given = self.text(name)?;
        Ok(given.map_or(Change::Keep, |text| Change::To(Some(text).filter(|text| !text.is_empty()))))
    }

    /// `content` with `what`, `why`, `where` and `learned` folded in under their headings.
    pub fn content(&mut self) -> Result<Option<String>> {
        let mut parts: Vec<String> = self.text("content")?.into_iter().collect();
        for (name, heading) in SECTIONS {
            let given = match self.map.get(name) {
                Some(Value::Array(_)) => self.texts(name)?.map(|items| bullets(&items)),
                _ => self.text(name)?,
            };
            if let Some(section) = given.filter(|section| !section.trim().is_empty()) {
                parts.push(format!("## {heading}\n{}", section.trim()));
            }
        }
        Ok((!parts.is_empty()).then(|| parts.join("\n\n")))
    }

    /// The required content.
    pub fn needed_content(&mut self) -> Result<String> {
        let missing = || ArgumentError::new("content", None, "it is missing; give the text to remember");
        self.content()?.ok_or_else(missing)
    }
}

/// Whether a text has the form of a day: `2026-11-21`.
fn is_day(text: &str) -> bool {
    let fits =
        |(at, byte): (usize, u8)| if at == 4 || at == 7 { byte == b'-' } else { byte.is_ascii_digit() };
    text.len() == 10 && text.bytes().enumerate().all(fits)
}

/// A list as Markdown.
pub fn bullets(items: &[String]) -> String {
    items.iter().map(|item| format!("- {}", item.trim())).collect::<Vec<_>>().join("\n")
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn arguments(value: Value) -> Arguments {
        let Value::Object(map) = value else { unreachable!("tests give objects") };
        Arguments::new(map, Names::OfAgent)
    }

    #[test]
    fn numbers_flags_and_lists_are_read_as_meant() {
        let mut given = arguments(json!({
            "a": "5", "b": 5.0, "c": -3, "d": "x", "e": 1.5,
            "t": "true", "f": "0", "u": 1, "g": "maybe",
            "l": "a, b", "m": "[\"a\"]", "n": ["a", 1], "o": [{}],
        }));
        assert_eq!(given.count("a"), Ok(Some(5)));
        assert_eq!(given.count("b"), Ok(Some(5)));
        assert_eq!(given.count("c"), Ok(Some(0)));
        assert!(given.count("d").is_err());
        assert!(given.count("e").is_err());
        assert_eq!(given.count("absent"), Ok(None));
        assert_eq!(given.flag(&["t"]), Ok(true));
        assert_eq!(given.flag(&["f"]), Ok(false));
        assert_eq!(given.flag(&["u"]), Ok(true));
        assert!(given.flag(&["g"]).is_err());
        assert_eq!(given.texts("l"), Ok(Some(vec!["a".to_owned(), "b".to_owned()])));
        assert_eq!(given.texts("m"), Ok(Some(vec!["a".to_owned()])));
        assert_eq!(given.texts("n"), Ok(Some(vec!["a".to_owned(), "1".to_owned()])));
        assert!(given.texts("o").is_err());
        assert!(given.ignored().is_empty());
    }

    #[test]
    fn a_choice_is_one_of_its_words() {
        let mut given = arguments(json!({"a": "two", "b": "four"}));
        let words = [("one", 1), ("two", 2), ("three", 3)];
        assert_eq!(given.choice("a", &words), Ok(Some(2)));
        assert_eq!(given.choice("absent", &words), Ok(None));
        let error = given.choice("b", &words).unwrap_err().to_string();
        assert!(error.contains("it must be `one`, `two` or `three`"), "{error}");
    }

    #[test]
    fn an_empty_condition_is_refused() {
        let given = arguments(json!({"a": " ", "b": ["x", ""], "c": [], "d": null, "e": "x"}));
        for name in ["a", "b"] {
            let error = given.filled(&["c", "d", "e", name]).unwrap_err().to_string();
            assert!(error.contains(&format!("`{name}`")), "{error}");
        }
        assert_eq!(given.filled(&["c", "d", "e", "absent"]), Ok(()));
    }

    #[test]
    fn aliases_are_read_and_unknown_arguments_named() {
        let mut given =
            arguments(json!({"observation_id": "memory:abcdefghij27", "hard_delete": "true", "odd": 1}));
        assert_eq!(given.memory_id().unwrap().as_str(), "abcdefghij27");
        assert_eq!(given.flag(&["hard", "hard_delete"]), Ok(true));
        assert_eq!(given.ignored(), ["odd"]);
        let failed = arguments(json!({"titel": "x", "content": "y"}));
        assert_eq!(failed.unknown(|name| name == "content"), ["titel"]);
        let many = (0..500).map(|n| (format!("x{n:03}"), json!(n))).collect();
        let named = Arguments::new(many, Names::OfAgent).ignored();
        assert_eq!((named.len(), &*named[0], &*named[20]), (21, "x000", "… 480 more"));
    }

    #[test]
    fn moments_are_dates_instants_and_ages() {
        let now: Timestamp = "2026-11-21T12:00:00Z".parse().unwrap();
        for (given, end, want) in [
            ("2026-11-20T10:00:00+02:00", false, "2026-11-20T08:00:00Z"),
            ("2026-11-20T10:00:00", true, "2026-11-20T10:00:00.999999Z"),
            ("2026-11-20", false, "2026-11-20T00:00:00Z"),
            ("2026-11-20", true, "2026-11-20T23:59:59.999999Z"),
            ("7d", false, "2026-11-14T12:00:00Z"),
            ("12h", true, "2026-11-21T00:00:00Z"),
            ("yesterday", false, "2026-11-20T00:00:00Z"),
            ("Today", true, "2026-11-21T23:59:59.999999Z"),
            ("9999-12-29", true, "9999-12-29T23:59:59.999999Z"),
        ] {
            assert_eq!(text::parse_moment(given, now, end), Some(want.parse().unwrap()), "{given}");
        }
        for last in ["9999-12-30", "9999-12-31", "9999-12-31T23:59:59Z", "9999-12-31T00:00:00+00:00"] {
            assert_eq!(text::parse_moment(last, now, true), Some(Timestamp::MAX), "{last}");
        }
        for bad in [
            "", "yesterdays", "-7d", "7", "d", "2026-13-01", "2026-11-20T25:00:00", "99999999999999999999d",
            "9999999999999d", "7é",
        ] {
            assert_eq!(text::parse_moment(bad, now, false), None, "{bad}");
        }
    }

    #[test]
    fn dates_are_explicit_and_an_empty_one_takes_away() {
        let mut given = arguments(
            json!({"a": "2026-11-20", "b": " ", "c": "7d", "d": "soon", "e": "2026-11-20T08:00:00Z"}),
        );
        let at = |text: &str| Ok(Some(text.parse::<Timestamp>().unwrap()));
        assert_eq!(given.date("a", DayEdge::Start), at("2026-11-20T00:00:00Z"));
        assert_eq!(given.date("a", DayEdge::End), at("2026-11-20T23:59:59.999999Z"));
        assert_eq!(given.date("e", DayEdge::Start), at("2026-11-20T08:00:00Z"));
        assert_eq!((given.date("b", DayEdge::End), given.date("absent", DayEdge::End)), (Ok(None), Ok(None)));
        assert_eq!(
            (given.reset("b", DayEdge::End), given.reset("absent", DayEdge::End)),
            (Ok(Change::To(None)), Ok(Change::Keep))
        );
        assert!(given.date("c", DayEdge::Start).is_err() && given.date("d", DayEdge::Start).is_err());
    }

    #[test]
    fn names_lose_their_secrets_and_texts_are_left_to_who_takes_them() {
        let token = "ghp_aB3dE6gH9jK2mN5\u{0}pQ8rS1tU4vW7xY0zCaB3d";
        let given = json!({ "project": token, "type": token, "session_id": token, "content": token });
        let Value::Object(map) = given else { unreachable!() };
        let mut given = Arguments::new(map.clone(), Names::OfAgent);
        assert_eq!(given.named_project(), given.project().unwrap());
        assert_eq!(given.project().unwrap().unwrap().as_str(), "[redacted:github-token]");
        assert_eq!(given.kind().unwrap().unwrap().as_str(), "redacted-github-token");
        assert_eq!(given.session_id("session_id").unwrap().unwrap().as_str(), "[REDACTED:github-token]");
        assert_eq!(given.text("content").unwrap().unwrap(), token);
        assert_eq!(given.redacted(), 4, "the project was read twice");
        let mut stored = Arguments::new(map, Names::OfPerson);
        assert!(stored.project().unwrap().unwrap().as_str().starts_with("ghp_"));
        assert_eq!(stored.redacted(), 0);
    }

    #[test]
    fn errors_that_repeat_a_value_repeat_no_secret() {
        let token = "ghp_aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0zCaB3d";
        let split = "ghp_aB3dE6gH9jK2mN5\u{0}pQ8rS1tU4vW7xY0zCaB3d";
        let now = Timestamp::UNIX_EPOCH;
        for value in [json!(token), json!(split), json!({ "a": token }), json!([[token]])] {
            let read = |name: &str| arguments(json!({ name: value.clone() }));
            let errors = [
                read("id").memory_id().map(drop).unwrap_err(),
                read("limit").count("limit").map(drop).unwrap_err(),
                read("hard").flag(&["hard"]).map(drop).unwrap_err(),
                read("scope").scope().map(drop).unwrap_err(),
                read("since").moment("since", now, DayEdge::Start).map(drop).unwrap_err(),
            ];
            for error in errors.map(|error| error.to_string().to_lowercase()) {
                assert!(!error.contains("mn5pq8") && !error.contains("ab3de6"), "{error}");
            }
        }
        let unread = arguments(json!({ token: 1 })).ignored();
        assert_eq!(unread, ["[REDACTED:github-token]"]);
    }

    #[test]
    fn a_revision_is_a_number_from_one_and_nothing_else() {
        let mut given = arguments(json!({"a": 3, "b": "4", "c": -1, "d": 0, "e": 1e25, "f": "", "g": "5.0"}));
        assert_eq!(given.revision("a"), Ok(Some(3)));
        assert_eq!(given.revision("b"), Ok(Some(4)));
        assert_eq!(given.revision("g"), Ok(Some(5)));
        assert_eq!((given.revision("f"), given.revision("absent")), (Ok(None), Ok(None)));
        for (name, value) in [("c", "-1"), ("d", "0"), ("e", "1e+25")] {
            let error = given.revision(name).unwrap_err().to_string();
            assert!(error.contains(value), "{error}");
        }
    }

    #[test]
    fn sections_are_folded_into_the_content() {
        let mut given = arguments(json!({"content": "Text.", "why": "Because.", "learned": ["a", "b"]}));
        assert_eq!(given.content().unwrap().unwrap(), "Text.\n\n## Why\nBecause.\n\n## Learned\n- a\n- b");
        assert_eq!(arguments(json!({"what": " "})).content(), Ok(None));
    }
}
