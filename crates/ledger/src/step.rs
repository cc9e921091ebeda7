//! What happens in a piece of work, in terms common to all agents: hooks, transcripts and tools are translated
//! into these.

use serde::{Deserialize, Serialize};

/// How a command, a test or a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// It succeeded.
    Passed,
    Failed,
    /// Somebody stopped it.
    Interrupted,
    /// It ended with an unknown outcome: Codex's hooks report no exit code.
    Unknown,
}

/// The standing of a step of a plan, or of a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Not yet done, or not yet decided.
    Pending,
    /// A step that is being worked on.
    Active,
    /// Done, or passed.
    Passed,
    /// A gate that failed.
    Failed,
    /// A step that is no longer wanted.
    Dropped,
}

/// What to do about an effect whose outcome is unknown, from the least to the most careful.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Repeat {
    /// It may be done again under the same key.
    Safe,
    /// Check whether it took place, then decide.
    Check,
    /// A person decides.
    Never,
}

/// How a piece of work ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The goal is reached.
    Done,
    /// The goal cannot be reached.
    Failed,
    /// The goal was given up.
    Abandoned,
    /// It was closed, and the text that said how was purged. Only purged work has this; no row stores it.
    Unknown,
}

impl Outcome {
    /// The stored name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Abandoned => "abandoned",
            Self::Unknown => "closed",
        }
    }

    /// Reads a stored name: of all but [`Self::Unknown`].
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Done, Self::Failed, Self::Abandoned].into_iter().find(|one| one.as_str() == text)
    }
}

/// The result of a test run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tests {
    /// The program that ran them: `cargo test`, `pytest`.
    pub tool: String,
    /// How many passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed: Option<u32>,
    /// How many failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<u32>,
    /// The first names of those that failed, at most [`crate::limits::TEST_NAMES_MAX`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
}

/// A step of a plan, from an agent's own list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Planned {
    /// The task.
    pub text: String,
    pub standing: Standing,
}

/// One thing that happened. Texts are unredacted; they are redacted before any of it is stored.
///
/// `call` is the agent's own id of a tool call. It joins the beginning and the end of a call, even if one comes
/// from a hook and the other from the transcript.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields say it; what needs words has them")]
pub enum Step {
    /// The first event of each piece of work.
    Begun {
        title: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        goal: Option<String>,
        agent: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        directory: Option<String>,
        /// The commit of the checkout.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        commit: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        steps: Vec<String>,
    },
    /// The user asked for something; a turn begins.
    Prompt { text: String },
    /// The turn ended properly.
    TurnEnded {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        said: Option<String>,
    },
    /// The turn broke off: a rate limit, an overloaded server.
    TurnFailed { error: String },
    /// A call of a command or another tool began, and its end is not known yet.
    Started { call: String, tool: String, what: String },
    /// A command ended.
    Ran {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<String>,
        command: String,
        ending: Ending,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit: Option<i32>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ms: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tests: Option<Tests>,
        /// The end of its output.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        tail: String,
    },
    /// A file was changed by a tool.
    Edited {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<String>,
        path: String,
        #[serde(default)]
        added: u32,
        #[serde(default)]
        removed: u32,
        /// The beginning of the SHA-256 of the file afterwards, in hex, if it was computed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        digest: Option<String>,
    },
    /// A file was read.
    Read { path: String },
    /// A call of another tool ended.
    Called {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<String>,
        tool: String,
        what: String,
        ending: Ending,
    },
    /// A call of a model began. Its result can be fetched again under `response`.
    ModelStarted {
        call: String,
        provider: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        response: Option<String>,
    },
    /// The model's call ended.
    ModelEnded { call: String, ending: Ending },
    /// The agent's own to-do list, whole.
    Planned { steps: Vec<Planned> },
    /// The conversation was compacted.
    Compacted {
        trigger: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
    },
    /// The agent is connected.
    Connected,
    /// The agent's connection was lost without an end of the session.
    Lost,
    /// An agent resumed the work.
    Resumed { agent: String },
    /// The session ended properly.
    Ended { reason: String },
    /// A step is added to the plan; it gets the next number. `task` is the agent's own id of it.
    StepAdded {
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<String>,
    },
    /// A step of the plan changed its standing: the one with the agent's own id `task`, otherwise the one with the number
    /// `step`.
    StepSet {
        step: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<String>,
        standing: Standing,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    /// A decision was made.
    Decision { text: String },
    /// Something was found out; it is offered to memory when the work is closed.
    Finding { text: String },
    /// Anything else worth a line.
    Note { text: String },
    /// Something blocks the work.
    Blocked { text: String },
    /// A condition must be met before the work continues.
    Gate {
        name: String,
        standing: Standing,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    /// An effect on the world is about to be tried under a key.
    Intent { key: String, text: String, repeat: Repeat },
    /// The effect took place.
    Confirmed { key: String },
    /// The effect did not take place.
    Refuted {
        key: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    /// Somebody took the lease of the work. `from` is the holder whose lease had ended, or from whom it was taken over.
    Claimed {
        holder: String,
        fence: u64,
        until: jiff::Timestamp,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<String>,
    },
    /// The holder let go.
    Released { holder: String, fence: u64 },
    /// Events are missing: `count` of them, if that is known.
    Gap {
        from: jiff::Timestamp,
        to: jiff::Timestamp,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        count: Option<u64>,
        reason: String,
        /// Whether the gap is filled: the events follow, from a source other than the one that should have reported
        /// them.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        filled: bool,
    },
    /// The work continues from event `at` of another piece of work, which has the earlier events.
    Forked { from: String, at: u64 },
    /// The head was written down outside.
    Anchored { place: String, size: u64, root: String },
    /// The work was closed.
    Closed {
        outcome: Outcome,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    /// The work was reopened.
    Reopened,
}

macro_rules! kinds {
    ($($step:ident = $kind:literal,)+) => {
        impl Step {
            /// Its kind: the tag in its JSON, and a column of its row.
            pub fn kind(&self) -> &'static str {
                match self {
                    $(Self::$step { .. } => $kind,)+
                }
            }
        }

        /// All kinds of steps that this program knows.
        pub const KINDS: &[&str] = &[$($kind),+];
    };
}

kinds! {
    Begun = "begun",
    Prompt = "prompt",
    TurnEnded = "turn_ended",
    TurnFailed = "turn_failed",
    Started = "started",
    Ran = "ran",
    Edited = "edited",
    Read = "read",
    Called = "called",
    ModelStarted = "model_started",
    ModelEnded = "model_ended",
    Planned = "planned",
    Compacted = "compacted",
    Connected = "connected",
    Lost = "lost",
    Resumed = "resumed",
    Ended = "ended",
    StepAdded = "step_added",
    StepSet = "step_set",
    Decision = "decision",
    Finding = "finding",
    Note = "note",
    Blocked = "blocked",
    Gate = "gate",
    Intent = "intent",
    Confirmed = "confirmed",
    Refuted = "refuted",
    Claimed = "claimed",
    Released = "released",
    Gap = "gap",
    Forked = "forked",
    Anchored = "anchored",
    Closed = "closed",
    Reopened = "reopened",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_is_the_tag_and_is_known() {
        let steps = [
            Step::Connected,
            Step::Prompt { text: String::new() },
            Step::StepSet { step: 1, task: None, standing: Standing::Passed, text: None },
            Step::Refuted { key: "k".to_owned(), text: None },
        ];
        for step in steps {
            let value = serde_json::to_value(&step).unwrap();
            assert_eq!(value["kind"], step.kind());
            assert!(KINDS.contains(&step.kind()));
        }
        // Each listed kind has a step: deserialising fails because of a missing field, not because of the kind.
        for kind in KINDS {
            let read = serde_json::from_value::<Step>(serde_json::json!({ "kind": kind }));
            if let Err(error) = read {
                assert!(error.to_string().starts_with("missing field"), "{kind}: {error}");
            }
        }
    }
}
