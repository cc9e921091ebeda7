//! Requests and answers of the journal's use cases.

use std::time::Duration;

use cerebro_core::domain::{Project, SessionId, Timestamp, WorkId};
use cerebro_core::named;
use cerebro_core::redact::RedactedText;
use cerebro_ledger::{Finding, Outcome, Repeat, State, Step, Unfinished, Work};
use serde::{Deserialize, Serialize};

/// The owner of what comes over the socket: its other end is the user's own, which the daemon has checked.
pub const LOCAL_OWNER: &str = "local";

/// Who does something: facts of the connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// [`LOCAL_OWNER`] for the socket, the name of the token for HTTP. A row of another owner does not exist.
    pub owner: String,
    pub agent: RedactedText,
    /// The session, which is also who holds a lease; an agent without one holds it by its name.
    pub session: Option<SessionId>,
    pub project: Project,
    pub directory: Option<String>,
}

/// Who reports something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reporter {
    /// An agent by a tool, or this program.
    Caller,
    /// An agent's hook. What a person had forgotten everywhere is then written without its text, as after a purge.
    Hook,
    /// An agent's transcript: likewise, and nothing of a session that a person had forgotten.
    Transcript,
}

/// Something that happened, as a caller reports it. Its texts are redacted here.
#[derive(Debug, Clone, PartialEq)]
pub struct Happening {
    pub step: Step,
    /// A key: an event with the same key is a repetition and changes nothing. At most 200 characters.
    pub once: Option<String>,
    /// How long ago it happened.
    pub ago: Duration,
    /// Who reports it.
    pub by: Reporter,
}

impl From<Step> for Happening {
    fn from(step: Step) -> Self {
        Self { step, once: None, ago: Duration::ZERO, by: Reporter::Caller }
    }
}

/// The piece of work that an event is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// The one of the actor's session. It is created if there is none.
    Session,
    /// This one.
    Work(WorkId),
}

/// The result of an append.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Appended {
    /// The piece of work; `None` if the journal is off or degraded, or a person had forgotten the session of a transcript.
    pub work: Option<WorkId>,
    /// The number of its last event.
    pub seq: u64,
    /// How many were recorded.
    pub recorded: usize,
    /// How many were there already.
    pub repeated: usize,
    /// They were recorded as late: the actor does not hold the work any more.
    pub late: bool,
    /// The call did not wait, because the journal answers too slowly. A gap will record what is missing.
    pub degraded: bool,
    /// The piece of work is almost full.
    pub is_long: bool,
}

/// How a piece of work begins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BeginWork {
    pub title: String,
    pub goal: Option<String>,
    pub steps: Vec<String>,
    /// The caller's own name for it: beginning it twice is beginning it once.
    pub key: Option<String>,
    pub parent: Option<WorkId>,
    pub project: Option<Project>,
}

/// Which pieces of work are listed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkQuery {
    pub project: Option<Project>,
    pub filter: WorkFilter,
    /// Those that were active before this, or at this moment and listed after `after`; the way to the next page.
    pub before: Option<Timestamp>,
    pub after: Option<WorkId>,
    /// At most [`super::WORKS_LISTED_MAX`].
    pub limit: usize,
}

named! {
    /// See [`WorkQuery`].
    #[derive(Default)]
    pub enum WorkFilter {
        /// All that is not closed.
        #[default]
        Open = "open",
        /// Open, and nobody holds it.
        Free = "free",
        /// A gate or a block keeps it from going on.
        Waiting = "waiting",
        /// Open, and something is wrong with it: [`ListedWork::stale`] says what.
        Stale = "stale",
        Closed = "closed",
        All = "all",
    }
}

named! {
    /// Why an open piece of work may need somebody.
    pub enum Stale {
        /// The agent's connection went away without an end.
        Lost = "lost",
        /// The lease of its holder ended.
        Lapsed = "lapsed",
        /// Nothing happened in it for a day.
        Idle = "idle",
    }
}

/// A piece of work in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedWork {
    pub work: Work,
    pub stale: Option<Stale>,
}

/// One piece of work with its state.
#[derive(Debug, Clone, PartialEq)]
pub struct ShownWork {
    pub work: Work,
    pub state: State,
    pub stale: Option<Stale>,
}

/// Who holds a piece of work after somebody asked for its lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkHold {
    /// Whether the actor holds it now.
    pub held: bool,
    /// Who does, if not.
    pub holder: String,
    pub fence: u64,
    pub until: Timestamp,
}

/// The result of an intent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IntentAnswer {
    /// It is recorded. Try the effect, then confirm or refute it.
    GoAhead { seq: u64 },
    /// It was begun before and its outcome is unknown; `repeat` says what to do.
    Unknown { seq: u64, repeat: Repeat },
    /// It took place before: do not do it again.
    Confirmed { seq: u64 },
}

/// What to do with a piece of work.
#[derive(Debug, Clone, PartialEq)]
pub struct ResumedWork {
    pub work: Work,
    pub state: State,
    /// `resume`, `check_first`, `wait_gate`, `held`, `complete` or `failed`.
    pub action: cerebro_ledger::Action,
    /// Why it may need somebody.
    pub stale: Option<Stale>,
    /// Other pieces of work that are unfinished, if none was named.
    pub others: Vec<Unfinished>,
    /// The hint: facts, never orders; inert, and of at most as many bytes as were asked for.
    pub text: String,
}

/// The result of a verification.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct VerifiedWork {
    pub works: u64,
    pub events: u64,
    pub artifacts: u64,
    pub seals: u64,
    /// Events whose text was purged, which is not tampering.
    pub purged: u64,
    /// Pieces of work that were made with a key that this home does not have. They cannot be verified.
    pub foreign: u64,
    /// What is wrong, at most [`super::FINDINGS_MAX`].
    pub findings: Vec<WorkFinding>,
    /// More were found than are listed.
    pub more: bool,
}

/// A fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkFinding {
    /// The piece of work; none for a seal.
    pub work: Option<WorkId>,
    pub finding: Finding,
}

/// The head of the journal, as it is answered: what is written down outside as a witness.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkHead {
    /// How many leaves the tree of all seals has.
    pub size: u64,
    /// Its root, in hex.
    pub root: String,
    /// The last seal as a signed note, if there is one.
    pub note: Option<String>,
}

/// The proof that a head of a piece of work is under a seal, as it is answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkProof {
    pub work: String,
    /// The number of the last event under the sealed head.
    pub seq: u64,
    /// What the leaf was hashed of, in hex.
    pub leaf: String,
    pub index: u64,
    pub size: u64,
    /// The hashes from the leaf up, each in hex; none if the journal has one piece of work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<String>,
    /// The seal: a signed note.
    pub note: String,
    /// The public key that the note is signed with, in the form of the Go project's `note`.
    pub key: String,
}

/// The whole body of an event of which the row has only the beginning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkArtifact {
    /// Its SHA-256 in hex: its name.
    pub id: String,
    /// JSON, as far as an artifact may be long.
    pub text: String,
    /// The length of the whole in bytes; what is beyond the text is not kept.
    pub full: u64,
}

/// What was pruned, as it is answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrunedWork {
    /// Pieces of work that are gone.
    pub works: u64,
    /// Events whose text is gone.
    pub texts: u64,
    /// Artifacts that nothing names any more.
    pub artifacts: u64,
}

/// Whether the journal answers in time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JournalReport {
    pub enabled: bool,
    /// It answered too slowly, so that callers do not wait for it until this moment; or a write failed in the last minute.
    pub degraded_until: Option<Timestamp>,
    /// Events that are missing and not recorded by a gap yet.
    pub missed: u64,
}

/// How a piece of work ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloseWork {
    pub outcome: Outcome,
    pub text: Option<String>,
}

/// The number of open pieces of work, by state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    pub open: usize,
    /// The connection of their agent went away without an end.
    pub lost: usize,
    /// The lease of their holder ended.
    pub lapsed: usize,
    /// They have effects of unknown outcome.
    pub unknown: usize,
}
