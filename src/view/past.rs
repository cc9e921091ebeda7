//! Past sessions, read from agents' own transcripts, and their exchanges.

use jiff::Timestamp;
use serde_json::Value;

use super::{Session, clean, clean_line, items, moment, number, text};

/// A past session.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Past {
    /// What it has in common with a session of the memory; its title is the summary.
    pub session: Session,
    pub branch: String,
    pub model: String,
    /// The number of its stored exchanges.
    pub exchanges: u64,
    /// Whether an agent or a script began it, and no person took part.
    pub automated: bool,
}

impl Past {
    /// From `op_history_session`.
    pub fn read(value: &Value) -> Self {
        Self {
            session: Session {
                id: text(value, "session"),
                project: text(value, "project"),
                agent: text(value, "agent"),
                directory: text(value, "directory"),
                started_at: moment(value, "started_at"),
                ended_at: moment(value, "ended_at"),
                end_reason: String::new(),
                summary: value["title"].as_str().or(value["asked"].as_str()).unwrap_or_default().to_owned(),
                follows: text(value, "parent"),
            },
            branch: text(value, "branch"),
            model: text(value, "model"),
            exchanges: value["total"].as_u64().unwrap_or_else(|| number(value, "exchanges")),
            automated: value["automated"] == true,
        }
    }
}

/// A command of a past session.
#[derive(Debug, Clone, PartialEq)]
pub struct Ran {
    pub line: String,
    /// Whether it succeeded; `None` if the transcript does not say.
    pub ok: Option<bool>,
}

impl Ran {
    /// How it ended, in one sign and in words.
    pub fn outcome(&self) -> (&'static str, &'static str) {
        match self.ok {
            Some(true) => ("✓", "succeeded"),
            Some(false) => ("✗", "failed"),
            None => ("·", "not told"),
        }
    }
}

/// A prompt and what followed it, or a piece of a long one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Exchange {
    pub id: String,
    /// Its place in the session, from 0.
    pub seq: u64,
    pub title: String,
    pub at: Option<Timestamp>,
    /// The files that were changed.
    pub files: Vec<String>,
    pub commands: Vec<Ran>,
    pub errors: Vec<String>,
    /// Whether a rewind withdrew it.
    pub withdrawn: bool,
    /// What was said and done, with its line ends; empty in a list.
    pub content: String,
    /// The offset of the rest, if only a part of the text was read.
    pub next: Option<u64>,
    /// The session it belongs to; empty in a list of that session.
    pub session: String,
}

impl Exchange {
    /// From the exchanges of `op_history_session`, or from `mem_get_observation`.
    pub fn read(value: &Value) -> Self {
        let texts = |name: &str| items(value, name).filter_map(Value::as_str).map(clean_line).collect();
        let ran = |command: &Value| Ran { line: text(command, "line"), ok: command["ok"].as_bool() };
        Self {
            id: text(value, "id"),
            seq: number(value, "seq"),
            title: text(value, "title"),
            at: moment(value, "at").or_else(|| moment(value, "date")),
            files: texts("files"),
            commands: items(value, "commands").map(ran).collect(),
            errors: texts("errors"),
            withdrawn: value["withdrawn"] == true,
            content: value["content"].as_str().map(clean).unwrap_or_default(),
            next: value["next_offset"].as_u64(),
            session: text(value, "session_id"),
        }
    }

    /// The files that it changed, its commands and their outcomes, and its failures, each as a name and a text.
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        let withdrawn = self.withdrawn.then(|| ("withdrawn", "a rewind took it back".to_owned()));
        let files = self.files.iter().map(|file| ("changed", file.clone()));
        let commands = self.commands.iter().map(|ran| ("ran", format!("{} {}", ran.outcome().0, ran.line)));
        let errors = self.errors.iter().map(|error| ("error", error.clone()));
        withdrawn.into_iter().chain(files).chain(commands).chain(errors).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_past_session_is_read_from_a_list_and_alone() {
        let listed =
            Past::read(&json!({ "session": "s", "title": "Mend it", "exchanges": 7, "parent": null }));
        assert_eq!((listed.exchanges, listed.session.headline()), (7, "Mend it".to_owned()));
        assert_eq!(Past::read(&json!({ "session": "s", "exchanges": [{}], "total": 9 })).exchanges, 9);
        let untitled = json!({ "session": "s", "title": null, "asked": "Why does it fail?" });
        assert_eq!(Past::read(&untitled).session.summary, "Why does it fail?");
    }

    #[test]
    fn an_exchange_shows_what_it_did() {
        let exchange = Exchange::read(&json!({
            "id": "x1", "seq": 2, "files": ["a.rs"], "errors": ["E0308\n: no"], "withdrawn": true,
            "commands": [{ "line": "cargo test", "ok": false }, { "line": "ls" }],
        }));
        let facts: Vec<String> =
            exchange.facts().iter().map(|(name, text)| format!("{name} {text}")).collect();
        assert_eq!(
            facts,
            [
                "withdrawn a rewind took it back",
                "changed a.rs",
                "ran ✗ cargo test",
                "ran · ls",
                "error E0308 : no"
            ]
        );
    }
}
