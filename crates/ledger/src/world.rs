//! Facts of the world that a hint is checked against. Whoever asks gathers them; nothing here looks anywhere.

use cerebro_core::domain::Timestamp;

/// The world at the moment of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct World {
    pub now: Timestamp,
    /// The commit that the checkout is at.
    pub commit: Option<String>,
    /// Files that were looked at: those that the state names, as far as somebody had the time.
    pub files: Vec<SeenFile>,
    /// Other sessions of the project that are live.
    pub live: Vec<LiveSession>,
    /// The holder of the work, if another live session holds it.
    pub held_by: Option<String>,
    /// The size of the tree of seals and its root in hex: the head, for which the reader is a witness.
    pub head: Option<(u64, String)>,
}

impl World {
    /// A world of which nothing is known but the time.
    pub fn at(now: Timestamp) -> Self {
        Self { now, commit: None, files: Vec::new(), live: Vec::new(), held_by: None, head: None }
    }
}

/// A file as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenFile {
    pub path: String,
    /// The beginning of its SHA-256, in hex; none where it is gone.
    pub digest: Option<String>,
}

/// A session that is live now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveSession {
    pub agent: String,
    pub active_at: Timestamp,
    /// What it edited.
    pub files: Vec<String>,
}

/// What a piece of work needs, decided from its state and the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Go on with what is open.
    Resume,
    /// An effect of unknown outcome comes first.
    CheckFirst,
    /// A gate is not passed.
    WaitGate,
    /// Another live session holds it.
    Held,
    /// It is done, or nobody wants it any more.
    Complete,
    /// It failed.
    Failed,
}

impl Action {
    /// The name under which it is told.
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
