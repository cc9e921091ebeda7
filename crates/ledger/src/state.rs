//! What the events of a piece of work come to.

use std::collections::VecDeque;

use cerebro_core::domain::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{Ending, Outcome, Repeat, Standing, Tests};

/// A text and when it was said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
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
}

/// A condition that must hold before the work goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateState {
    pub name: String,
    pub standing: Standing,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// Where an intent stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IntentStanding {
    /// Nobody knows whether it took place.
    Open,
    /// It took place.
    Confirmed,
    /// It did not.
    Refuted,
}

/// An effect on the world.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntentState {
    pub key: String,
    pub text: String,
    pub repeat: Repeat,
    pub standing: IntentStanding,
    /// The event that said so first.
    pub seq: u64,
}

/// Somebody who claimed it and did not let go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimState {
    pub holder: String,
    /// The number of the claim.
    pub fence: u64,
}

/// A file that was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileState {
    pub path: String,
    pub added: u32,
    pub removed: u32,
    /// The beginning of its SHA-256 after the last change, in hex, if somebody looked.
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

/// A command, a tool or a model that was called and has not ended as far as is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallState {
    pub call: String,
    pub tool: String,
    pub what: String,
    pub at: Timestamp,
}

/// What is told to be missing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gaps {
    /// How many times.
    pub times: u32,
    /// Events that are missing, as far as they were counted.
    pub events: u64,
    /// The reason of the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What the events of a piece of work come to. A pure function of them: see [`crate::fold`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct State {
    /// The number of the last event that is in it.
    pub seq: u64,
    pub title: String,
    pub goal: Option<String>,
    pub agent: String,
    pub directory: Option<String>,
    /// The commit that the checkout was at when it began.
    pub commit: Option<String>,
    /// The user's first and last request.
    pub first_request: Option<Said>,
    pub request: Option<Said>,
    /// A turn began and has not ended.
    pub turn_open: bool,
    /// Why the last turn broke off, if it did.
    pub turn_failed: Option<Said>,
    /// What the agent said last at the end of a turn.
    pub said: Option<Said>,
    /// The agent's connection went away without an end, and when.
    pub lost: Option<Timestamp>,
    /// The session ended as it should.
    pub ended: bool,
    pub steps: Vec<PlanStep>,
    pub gates: Vec<GateState>,
    pub intents: Vec<IntentState>,
    /// Who claimed it and did not let go, the last one last: whoever is not the last one is late.
    pub claims: VecDeque<ClaimState>,
    pub files: Vec<FileState>,
    /// The last run of tests.
    pub test: Option<TestState>,
    /// The last command that failed and was not run again since.
    pub failed: Option<Said>,
    pub under_way: Vec<CallState>,
    /// The calls that ended last. Hooks run side by side, so the beginning of a short call may be told after its end.
    #[serde(skip_serializing_if = "VecDeque::is_empty")]
    pub ended_calls: VecDeque<String>,
    /// The last five things that were done, oldest first, each on one line.
    pub last: VecDeque<Said>,
    /// Decisions, findings and notes, oldest first.
    pub remarks: VecDeque<Said>,
    /// What was found out: offered to memory.
    pub findings: VecDeque<Said>,
    pub blocked: Option<Said>,
    /// How often the conversation was shortened.
    pub compactions: u32,
    pub gaps: Gaps,
    /// Events whose text was purged.
    pub purged: u64,
    /// Events of kinds that this program does not know.
    pub unknown: u64,
    /// Events of somebody who did not hold it any more.
    pub late: u64,
    pub closed: Option<Outcome>,
    pub active_at: Option<Timestamp>,
}
