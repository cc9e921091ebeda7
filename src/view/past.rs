//! Past sessions, read from agents' own transcripts, and their exchanges.

use jiff::Timestamp;

use super::{Session, lines};
use crate::answer::{
    Text,
    history::{self, Row, Whole},
    line,
    observation::Observation,
};

/// A past session.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Past {
    /// The fields that it has in common with a session. Its title is the summary.
    pub session: Session,
    pub branch: String,
    pub model: String,
    /// The number of its stored exchanges.
    pub exchanges: u64,
    /// Whether an agent or a script started it, and no person took part.
    pub automated: bool,
}

impl Past {
    /// From a list.
    pub fn listed(row: &Row) -> Self {
        Self::of(&row.session, row.title(), row.exchanges)
    }

    /// From a session with its exchanges.
    pub fn whole(whole: &Whole) -> Self {
        let title = whole.session.title.as_ref().or(whole.asked.as_ref());
        Self::of(&whole.session, title, whole.total)
    }

    fn of(past: &history::Session, title: Option<&Text>, exchanges: u64) -> Self {
        Self {
            session: Session {
                id: past.session.line(),
                project: past.project.line(),
                agent: past.agent.line(),
                directory: line(past.directory.as_ref()),
                started_at: past.started_at.moment(),
                ended_at: past.ended_at.moment(),
                end_reason: String::new(),
                summary: title.map(|title| title.raw().to_owned()).unwrap_or_default(),
                follows: line(past.parent.as_ref()),
            },
            branch: line(past.branch.as_ref()),
            model: line(past.model.as_ref()),
            exchanges,
            automated: past.automated,
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
    fn of(command: &history::Command) -> Self {
        Self { line: command.line.line(), ok: command.ok }
    }

    /// Its outcome as a sign.
    fn sign(&self) -> &'static str {
        match self.ok {
            Some(true) => "✓",
            Some(false) => "✗",
            None => "·",
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
    /// The text of the exchange, with its line ends; empty in a list.
    pub content: String,
    /// The offset of the rest, if only a part of the text was read.
    pub next: Option<u64>,
    /// The session it belongs to; empty in a list of that session.
    pub session: String,
}

impl Exchange {
    /// From the exchanges of a session.
    pub fn listed(exchange: &history::Exchange) -> Self {
        Self {
            id: exchange.id.line(),
            seq: exchange.seq,
            title: exchange.title.line(),
            at: exchange.at.moment(),
            files: lines(&exchange.files),
            commands: exchange.commands.iter().map(Ran::of).collect(),
            errors: lines(&exchange.errors),
            withdrawn: exchange.withdrawn,
            ..Self::default()
        }
    }

    /// From `mem_get_observation`.
    pub fn of(found: &Observation) -> Self {
        Self {
            id: found.id.line(),
            seq: found.seq,
            title: found.title.line(),
            at: found.date.as_ref().and_then(Text::moment),
            files: lines(&found.files),
            commands: found.commands.iter().map(Ran::of).collect(),
            errors: lines(&found.errors),
            withdrawn: found.withdrawn,
            content: found.content.lines(),
            next: found.next_offset,
            session: line(found.session_id.as_ref()),
        }
    }

    /// The changed files, the commands with their outcomes, and the errors, each as a name and a text.
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        let withdrawn = self.withdrawn.then(|| ("withdrawn", "a rewind took it back".to_owned()));
        let files = self.files.iter().map(|file| ("changed", file.clone()));
        let commands = self.commands.iter().map(|ran| ("ran", format!("{} {}", ran.sign(), ran.line)));
        let errors = self.errors.iter().map(|error| ("error", error.clone()));
        withdrawn.into_iter().chain(files).chain(commands).chain(errors).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_past_session_is_read_from_a_list_and_alone() {
        let session = |title: Option<&str>| history::Session {
            session: "s".into(),
            title: title.map(Text::from),
            ..history::Session::default()
        };
        let row = Row { session: session(Some("Mend it")), exchanges: 7, opening: None };
        let listed = Past::listed(&row);
        assert_eq!((listed.exchanges, listed.session.headline()), (7, "Mend it".to_owned()));
        let exchanges = vec![history::Exchange::default()];
        let whole = Whole {
            exchanges,
            session: session(None),
            asked: Some("Why?".into()),
            total: 9,
            ..Whole::default()
        };
        let whole = Past::whole(&whole);
        assert_eq!((whole.exchanges, whole.session.summary.as_str()), (9, "Why?"));
    }

    #[test]
    fn an_exchange_shows_what_it_did() {
        let ran = |line: &str, ok| history::Command { line: line.into(), ok };
        let exchange = Exchange::of(&Observation {
            files: vec!["a.rs".into()],
            errors: vec!["E0308\n: no".into()],
            withdrawn: true,
            commands: vec![ran("cargo test", Some(false)), ran("ls", None)],
            ..Observation::default()
        });
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
