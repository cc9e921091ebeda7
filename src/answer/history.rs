//! The answers about past sessions.

use cerebro_core::{
    domain::{PastCommit, Proven},
    text,
};
use cerebro_service::AgentProgress;
use serde::{Deserialize, Serialize};

use super::Text;

/// `op_history_preview`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Preview {
    pub agents: Vec<Found>,
    pub faults: Vec<Fault>,
    /// If the project has no session: projects with sessions that may have been meant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub near: Vec<Text>,
    /// Memory files, if they were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memory_files: Vec<MemoryFile>,
}

/// A memory file of an agent, before it is imported.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MemoryFile {
    pub path: Text,
    /// The agents that load it.
    pub loaded_by: Vec<Text>,
    pub project: Text,
}

/// What there is of an agent.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Found {
    pub agent: Text,
    pub files: u64,
    pub bytes: u64,
    /// Files that are new or changed.
    pub fresh: u64,
    /// Files that are too old.
    pub older: u64,
}

/// A file that cannot be read.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Fault {
    pub path: Text,
    pub reason: Text,
}

/// `op_history_status`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Status {
    /// `reading`, `idle` or `off`.
    pub state: Text,
    pub enabled: bool,
    /// Which sessions are chosen, in words; `all` is one choice.
    #[serde(default)]
    pub chosen: Vec<Text>,
    /// The projects and folders that are excluded, whatever is chosen.
    #[serde(default)]
    pub excluded: Vec<Text>,
    pub sessions: u64,
    pub exchanges: u64,
    /// How far the import is.
    pub files: u64,
    pub files_done: u64,
    pub bytes: u64,
    pub bytes_done: u64,
    pub scanned_at: Option<Text>,
    pub scan_ms: u64,
    pub read_ms: u64,
    /// Files that are there, as of the last scan of each agent's.
    pub seen: u64,
    pub agents: Vec<Taken>,
    pub faults: Vec<Fault>,
}

/// What was read of an agent.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Taken {
    pub agent: Text,
    /// Files, or sessions of a database, that a session was read from.
    pub read: u64,
    /// Exchanges that are stored.
    pub exchanges: u64,
    #[serde(flatten)]
    pub progress: AgentProgress,
}

/// `op_history_session`: one session with a page of its exchanges, or a page of all sessions.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct History {
    #[serde(flatten)]
    pub one: Option<Whole>,
    /// The place of the page in the list of sessions.
    pub from: Option<u64>,
    pub sessions: Option<Vec<Row>>,
}

/// A past session with a page of its exchanges.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Whole {
    pub exchanges: Vec<Exchange>,
    #[serde(flatten)]
    pub session: Session,
    /// The title of its first exchange, if it has none itself.
    pub asked: Option<Text>,
    /// How many exchanges it has.
    pub total: u64,
    /// What a model said of it, if it was distilled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distilled: Option<Distilled>,
}

/// What became of a session that was distilled.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Distilled {
    /// `done`, `nothing`, or why it was not sent: `secret`, `too_long`.
    pub state: Text,
    /// How it ended, according to the model.
    pub outcome: Option<Text>,
    /// The model's title.
    pub title: Option<Text>,
    /// How many claims passed the check.
    pub claims: u64,
    pub at: Text,
}

/// A past session in a list.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Row {
    #[serde(flatten)]
    pub session: Session,
    pub exchanges: u64,
    #[serde(flatten)]
    pub opening: Option<Opening>,
}

/// What a session without a title was asked first.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Opening {
    pub asked: Option<Text>,
}

impl Row {
    /// Its title, or what it was asked first.
    pub fn title(&self) -> Option<&Text> {
        let asked = self.opening.as_ref().and_then(|opening| opening.asked.as_ref());
        self.session.title.as_ref().or(asked)
    }
}

/// A past session.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Session {
    /// Its id.
    pub session: Text,
    pub agent: Text,
    pub project: Text,
    pub title: Option<Text>,
    pub directory: Option<Text>,
    pub branch: Option<Text>,
    pub model: Option<Text>,
    /// The session that it continues or belongs to, and how.
    pub parent: Option<Text>,
    pub parent_kind: Option<Text>,
    /// Whether no person took part.
    pub automated: bool,
    pub started_at: Text,
    pub ended_at: Text,
}

/// A prompt and what followed it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Exchange {
    pub id: Text,
    pub seq: u64,
    pub part: u64,
    pub at: Text,
    pub title: Text,
    pub files: Vec<Text>,
    pub commands: Vec<Command>,
    pub errors: Vec<Text>,
    /// Whether a rewind withdrew it.
    pub withdrawn: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proven: Option<Proven<Text>>,
    /// The memory that says what holds now, if this repeats what was corrected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old: Option<Text>,
    /// All that was said, if it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Text>,
}

/// A command that was run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Command {
    pub line: Text,
    /// Whether it succeeded; `None` if the transcript does not say.
    pub ok: Option<bool>,
}

/// `op_history_facts`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Facts {
    pub facts: Vec<Fact>,
    /// How many exchanges were looked at.
    pub looked: u64,
    /// Whether the line that was asked about was found.
    pub line_found: Option<bool>,
    /// Whether the question is about a command that is not recorded when it is run.
    #[serde(default)]
    pub unrecorded: bool,
}

/// A proven fact.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Fact {
    pub id: Text,
    pub at: Text,
    pub agent: Text,
    pub session: Text,
    pub project: Text,
    pub title: Text,
    pub what: Text,
    pub ok: Option<bool>,
    pub succeeded: u64,
    pub failed: u64,
    /// The commands with which an error went away.
    pub then: Vec<Text>,
    #[serde(flatten)]
    pub fix: Option<Fix>,
    /// Errors that were fixed by the change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mended: Vec<Text>,
    #[serde(default = "Vec::new", skip_serializing_if = "Vec::is_empty")]
    pub commits: Vec<PastCommit<Text>>,
}

/// How an error went away.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Fix {
    /// The exchange with the fix.
    pub mended_in: Text,
    pub same_command: bool,
    /// The files that were changed before.
    pub changed: Vec<Text>,
}

/// `op_history_forget`; in the answer of `cerebro restore`, what was forgotten again.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Forgotten {
    /// Sessions without remaining exchanges. A dry run does not count them.
    pub sessions: u64,
    pub exchanges: u64,
    /// Prompts that hooks reported.
    #[serde(default)]
    pub prompts: u64,
    /// Summaries that hooks reported.
    #[serde(default)]
    pub summaries: u64,
    /// Texts in the journal of work.
    #[serde(default)]
    pub events: u64,
    /// Memory files of agents; only a restore counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub documents: Option<u64>,
    /// Distilled memories that rested only on what was forgotten. A dry run does not name them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub purged: Vec<Text>,
    /// Memories of that kind, and handbooks, that stay because somebody has revised them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<Text>,
}

impl From<cerebro_service::Forgotten> for Forgotten {
    fn from(forgotten: cerebro_service::Forgotten) -> Self {
        Self {
            sessions: forgotten.sessions as u64,
            exchanges: forgotten.exchanges as u64,
            prompts: forgotten.prompts as u64,
            summaries: forgotten.summaries as u64,
            events: forgotten.events as u64,
            documents: (forgotten.documents > 0).then_some(forgotten.documents as u64),
            purged: forgotten.purged.iter().map(Text::of).collect(),
            kept: forgotten.kept.iter().map(Text::of).collect(),
        }
    }
}

impl Forgotten {
    /// Its counts in words, such as `3 exchanges, 1 prompt`; empty if all are zero.
    pub fn words(&self) -> String {
        let parts = [
            (self.exchanges, "exchange"),
            (self.prompts, "prompt"),
            (self.summaries, "summary"),
            (self.events, "journal text"),
            (self.documents.unwrap_or_default(), "memory file"),
            (self.purged.len() as u64, "distilled memory"),
        ];
        let counted = parts.into_iter().filter(|(count, _)| *count > 0);
        counted.map(|(count, noun)| text::counted(count, noun)).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_row_has_an_opening_only_without_a_title() {
        let mut row = json!({
            "session": "s", "agent": "codex", "project": "p", "title": "Mend it", "directory": null, "branch": null,
            "model": null, "parent": null, "parent_kind": null, "automated": false, "started_at": "t",
            "ended_at": "t", "exchanges": 7,
        });
        for asked in [None, Some(json!("Why?")), Some(json!(null))] {
            if let Some(asked) = asked {
                row["title"] = json!(null);
                row["asked"] = asked;
            }
            let mut read: Row = serde_json::from_value(row.clone()).unwrap();
            read.opening = read.opening.filter(|_| row.get("asked").is_some());
            assert_eq!(json!(read).to_string(), row.to_string());
        }
    }

    #[test]
    fn a_session_and_a_list_of_sessions_are_told_apart() {
        let one: History = serde_json::from_value(json!({
            "exchanges": [{
                "id": "x1", "seq": 0, "part": 0, "at": "t", "title": "Go on", "files": [], "commands": [],
                "errors": [], "withdrawn": false, "proven": { "pull_requests": ["https://example.org/1"] },
            }],
            "session": "s", "agent": "codex", "project": "p", "automated": false, "started_at": "t", "ended_at": "t",
            "total": 1,
        }))
        .unwrap();
        let whole = one.one.unwrap();
        assert_eq!((whole.exchanges.len(), whole.total, one.sessions.is_none()), (1, 1, true));
        let list: History = serde_json::from_value(json!({ "from": 0, "sessions": [] })).unwrap();
        assert!(list.one.is_none() && list.sessions.is_some());
    }
}
