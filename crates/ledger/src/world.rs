//! The facts of the world against which a hint is checked. The caller gathers them; nothing here does I/O.

use cerebro_core::domain::Timestamp;

/// The world at the moment of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct World {
    pub now: Timestamp,
    /// The present commit of the checkout.
    pub commit: Option<String>,
    /// Files that were examined: those that the state names, as far as time allowed.
    pub files: Vec<SeenFile>,
    /// Other sessions of the project that are live.
    pub live: Vec<LiveSession>,
    /// The holder of the work, if it is another live session.
    pub held_by: Option<String>,
    /// The present head, size and root in hex, which makes the reader a witness.
    pub head: Option<(u64, String)>,
}

impl World {
    /// A world of which only the time is known.
    pub fn at(now: Timestamp) -> Self {
        Self { now, commit: None, files: Vec::new(), live: Vec::new(), held_by: None, head: None }
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
    /// The files that it edited.
    pub files: Vec<String>,
}

/// What a piece of work needs, decided from its state and the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Go on with the open work.
    Resume,
    /// First check an effect of unknown outcome.
    CheckFirst,
    /// Wait for a gate.
    WaitGate,
    /// Another live session holds it.
    Held,
    /// It is done, or was given up.
    Complete,
    /// It failed.
    Failed,
}

impl Action {
    /// The published name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Resume => "resume",
            Self::CheckFirst => "check_first",
            Self::WaitGate => "wait_gate",
            Self::Held => "held",
            Self::Complete => "complete",
            Self::Failed => "failed",
        }
    }
}
