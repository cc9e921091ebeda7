//! The facts of the world against which a hint is checked. The caller gathers them; nothing here does I/O.

use std::collections::BTreeSet;

use cerebro_core::domain::{SessionId, Timestamp, WorkId};
use cerebro_core::named;

use crate::{IntentState, State, Work};

/// The world at the moment of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct World {
    pub now: Timestamp,
    /// The present commit of the checkout.
    pub commit: Option<String>,
    /// Files that were examined: those that the state names, as far as time allowed.
    pub files: Vec<SeenFile>,
    /// The sessions that have an agent at work.
    pub at_work: BTreeSet<SessionId>,
    /// Other sessions of the project that are live.
    pub live: Vec<LiveSession>,
    /// The holder of the work, if it is another live session.
    pub held_by: Option<String>,
    /// Other pieces of work that are unfinished, the latest first.
    pub others: Vec<Unfinished>,
    /// The present head, size and root in hex, which makes the reader a witness.
    pub head: Option<(u64, String)>,
}

impl World {
    /// A world of which only the time is known.
    pub fn at(now: Timestamp) -> Self {
        Self {
            now,
            commit: None,
            files: Vec::new(),
            at_work: BTreeSet::new(),
            live: Vec::new(),
            held_by: None,
            others: Vec::new(),
            head: None,
        }
    }
}

/// Another piece of work that is unfinished, as far as a hint names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfinished {
    pub id: WorkId,
    /// Whether it was begun on purpose, so that it has a title and a plan of its own.
    pub is_task: bool,
    pub title: String,
    /// The next step of its plan.
    pub next: Option<String>,
    /// Its effects of unknown outcome.
    pub effects: Vec<IntentState>,
    /// The last of its calls that had begun and of which no end is known.
    pub call: Option<String>,
}

impl Unfinished {
    /// What a hint says of a piece of work in this state.
    pub fn of(work: &Work, state: &State) -> Self {
        let title = if state.title.is_empty() { work.title.as_str() } else { &state.title };
        Self {
            id: work.id,
            is_task: !work.is_session(),
            title: title.to_owned(),
            next: state.next_step().map(|step| step.text.clone()),
            effects: state.open_intents().cloned().collect(),
            call: state.under_way.last().map(|call| call.what.clone()),
        }
    }
}

/// A file as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenFile {
    pub path: String,
    /// The beginning of its SHA-256, in hex; `None` if it does not exist.
    pub digest: Option<String>,
}

/// A live session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveSession {
    pub agent: String,
    pub active_at: Timestamp,
    /// The files that it edited: [`State::edited_paths`].
    pub files: Vec<String>,
}

named! {
    /// What a piece of work needs, decided from its state and the world.
    pub enum Action {
        /// Go on with the open work.
        Resume = "resume",
        /// First check an effect of unknown outcome.
        CheckFirst = "check_first",
        WaitGate = "wait_gate",
        /// Another live session holds it.
        Held = "held",
        /// It is done, or was given up.
        Complete = "complete",
        Failed = "failed",
    }
}
