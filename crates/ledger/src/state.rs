//! The state to which the events of a piece of work lead.

use std::collections::VecDeque;

use cerebro_core::domain::Timestamp;
use cerebro_core::text;
use serde::{Deserialize, Serialize};

use crate::{Ending, Outcome, Repeat, Standing, Tests};

/// A text, and when it was recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimedText {
    pub at: Timestamp,
    pub text: String,
}

/// A step of the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanStep {
    /// Counted from 1.
    pub number: u32,
    pub text: String,
    pub standing: Standing,
    /// The agent's own id of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Whether a change of it was reported, and not yet that it was added.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_ahead: bool,
}

/// A condition that must be met before the work continues.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateState {
    pub name: String,
    pub standing: Standing,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// The standing of an intent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IntentStanding {
    /// Its outcome is unknown.
    Open,
    /// It took place.
    Confirmed,
    /// It did not take place.
    Refuted,
}

/// An effect outside the program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntentState {
    pub key: String,
    pub text: String,
    pub repeat: Repeat,
    pub standing: IntentStanding,
    /// The number of the event that announced it.
    pub seq: u64,
}

/// A holder that took the lease and did not let go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HolderState {
    pub holder: String,
    /// The number of its lease.
    pub fence: u64,
    /// When it took the lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
}

/// A file that was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileState {
    pub path: String,
    pub added: u32,
    pub removed: u32,
    /// The beginning of its SHA-256 after the last change, in hex, if it was computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    pub at: Timestamp,
}

/// A run of tests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestState {
    pub command: String,
    pub ending: Ending,
    pub tests: Tests,
    pub at: Timestamp,
}

/// A call of a command, tool or model that has not ended, as far as is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallState {
    pub call: String,
    pub tool: String,
    pub what: String,
    pub at: Timestamp,
}

/// The gaps that were recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gaps {
    /// The number of gaps.
    pub times: u32,
    /// The number of missing events, as far as it is known.
    pub events: u64,
    /// The reason of the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Longest path that is shown whole, in bytes.
const PATH_BYTES_MAX: usize = 80;

/// A path on one line: below a folder without that, and of a long one the end, where the name is.
pub(crate) fn short_path(folder: Option<&str>, path: &str) -> String {
    let line = text::one_line(folder.and_then(|folder| text::below(folder, path)).unwrap_or(path));
    match line.len().checked_sub(PATH_BYTES_MAX) {
        Some(extra) if extra > 0 => format!("…{}", &line[line.ceil_char_boundary(extra)..]),
        _ => line,
    }
}

/// A path from the root, as far as the folder is known that it is relative to.
fn from_root(folder: Option<&str>, path: &str) -> String {
    match folder.filter(|_| !path.starts_with('/')) {
        Some(folder) => {
            format!("{}/{}", folder.trim_end_matches('/'), path.strip_prefix("./").unwrap_or(path))
        }
        None => path.to_owned(),
    }
}

/// The state of a piece of work, a pure function of its events: see [`crate::fold`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct State {
    /// The number of the last event that is included.
    pub seq: u64,
    pub title: String,
    pub goal: Option<String>,
    pub agent: String,
    pub directory: Option<String>,
    /// The commit of the checkout when the work began.
    pub commit: Option<String>,
    /// The user's first and last request.
    pub first_request: Option<TimedText>,
    pub request: Option<TimedText>,
    /// A turn began and has not ended.
    pub turn_open: bool,
    /// When the last turn ended properly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_ended: Option<Timestamp>,
    /// Why the last turn broke off, if it did.
    pub turn_failed: Option<TimedText>,
    /// The agent's last words at the end of a turn.
    pub said: Option<TimedText>,
    /// When the agent's connection was lost without an end of the session.
    pub lost: Option<Timestamp>,
    /// Whether the session ended properly.
    pub ended: bool,
    pub steps: Vec<PlanStep>,
    /// When the agent's own list of steps was last reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planned: Option<Timestamp>,
    pub gates: Vec<GateState>,
    pub intents: Vec<IntentState>,
    /// The holders that did not let go, the latest last. All but the latest are late.
    #[serde(rename = "claims")]
    pub holders: VecDeque<HolderState>,
    pub files: Vec<FileState>,
    /// The last run of tests.
    pub test: Option<TestState>,
    /// The last failed command that did not pass since.
    pub failed: Option<TimedText>,
    pub under_way: Vec<CallState>,
    /// How many more began than are kept in `under_way`.
    pub calls_unkept: u32,
    /// The last calls whose end was reported and whose beginning was not: hooks run side by side, so the report of a
    /// beginning may arrive after that of the end.
    #[serde(skip_serializing_if = "VecDeque::is_empty")]
    pub ended_calls: VecDeque<String>,
    /// The last five things that were done, oldest first, each on one line.
    pub last: VecDeque<TimedText>,
    /// Decisions, findings and notes, oldest first.
    pub remarks: VecDeque<TimedText>,
    /// What was found out, for memories.
    pub findings: VecDeque<TimedText>,
    pub blocked: Option<TimedText>,
    /// How often the conversation was compacted.
    pub compactions: u32,
    pub gaps: Gaps,
    /// Events whose text was purged.
    pub purged: u64,
    /// Events of kinds that this program does not know.
    pub unknown: u64,
    /// Events by somebody who no longer held it.
    pub late: u64,
    pub closed: Option<Outcome>,
    pub active_at: Option<Timestamp>,
}

impl State {
    /// The paths of the edited files from the root, by which two sessions compare theirs: Claude Code names whole paths, Codex
    /// names them from the folder of its session.
    pub fn edited_paths(&self) -> impl Iterator<Item = String> {
        self.files.iter().map(|file| from_root(self.directory.as_deref(), &file.path))
    }
}
