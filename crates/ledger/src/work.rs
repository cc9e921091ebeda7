//! A piece of work and its events, as they are kept.

use cerebro_core::domain::{Project, SessionId, Timestamp, WorkId};
use cerebro_core::redact::RedactedText;

use crate::{Outcome, Step, chain::Mac};

/// What handles a piece of work: which of its facts say what comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A sitting of an agent, made by its first event.
    Session,
    /// Something with a goal and steps, begun on purpose.
    Task,
    /// Anything else, of this program or a newer one.
    General,
}

impl Kind {
    /// The handler of a kind by its stored name. There is one for each name.
    pub fn of(name: &str) -> Self {
        match name {
            "session" => Self::Session,
            "task" => Self::Task,
            _ => Self::General,
        }
    }
}

/// Where a piece of work stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It goes on, or could.
    Open,
    /// A gate or a block keeps it from going on.
    Waiting,
    /// It is at its end.
    Closed,
}

impl Status {
    /// The stored name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Waiting => "waiting",
            Self::Closed => "closed",
        }
    }

    /// Reads a stored name.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Open, Self::Waiting, Self::Closed].into_iter().find(|one| one.as_str() == text)
    }
}

/// Who holds a piece of work, and until when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The session of the holder, or the name of an agent without one.
    pub holder: String,
    /// When it ends, unless something is done before that.
    pub until: Timestamp,
}

/// A piece of work: the row that its events project on.
#[derive(Debug, Clone, PartialEq)]
pub struct Work {
    pub id: WorkId,
    /// Whose it is. For anybody else it does not exist.
    pub owner: String,
    pub project: Project,
    /// The stored name of its kind; [`Kind::of`] knows the handler.
    pub kind: String,
    pub title: RedactedText,
    /// The caller's own name for it: beginning it twice is beginning it once.
    pub key: Option<String>,
    /// Under which it is found: see [`key_name`] and [`session_name`]. No two have the same.
    pub name: Option<String>,
    pub session: Option<SessionId>,
    pub agent: RedactedText,
    pub parent: Option<WorkId>,
    /// The piece that it goes on from, and at which event.
    pub forked_from: Option<(WorkId, u64)>,
    pub status: Status,
    pub outcome: Option<Outcome>,
    /// The agent's connection went away without an end.
    pub lost: bool,
    /// Effects of which nobody knows whether they took place.
    pub unknown: u64,
    pub created_at: Timestamp,
    /// When something last happened in it. Looking at it is nothing that happens.
    pub active_at: Timestamp,
    /// The number of its last event.
    pub seq: u64,
    /// The end of its chain.
    pub head: Mac,
    pub lease: Option<Lease>,
    /// Counts claims: an event of a holder with an older fence is late.
    pub fence: u64,
    /// Which key the chain was made with.
    pub key_id: String,
    /// Over all of the row that must not change without an event.
    pub row_mac: Mac,
    /// Counts writes of the row: 0 before the first.
    pub version: u64,
}

impl Work {
    /// The holder, if the lease still runs.
    pub fn holder(&self, now: Timestamp) -> Option<&str> {
        self.lease.as_ref().filter(|lease| lease.until > now).map(|lease| lease.holder.as_str())
    }

    /// The name under which it is looked for, if it is. That of a session is for the piece that the session goes on in:
    /// one that is closed need not have it.
    pub fn proper_name(&self) -> Option<String> {
        match &self.key {
            Some(key) => Some(key_name(&self.owner, &self.project, key)),
            None if self.kind == "session" => {
                let session = self.session.as_ref().map_or(self.agent.as_str(), SessionId::as_str);
                Some(session_name(&self.owner, session))
            }
            None => None,
        }
    }

    /// Whether a piece of work like this one can have its name. The project in it may be another one: in that which its
    /// own was merged into, the name may have been taken.
    pub fn has_fitting_name(&self) -> bool {
        let (Some(name), Some(key)) = (&self.name, &self.key) else {
            return self.name.is_none() || self.name == self.proper_name();
        };
        let rest = name.strip_prefix(&format!("key\n{}\n", self.owner));
        let project = rest.and_then(|rest| rest.strip_suffix(&format!("\n{key}")));
        project.is_some_and(|project| !project.contains('\n'))
    }
}

/// The name of the piece of work of a session: there is one of each.
pub fn session_name(owner: &str, session: &str) -> String {
    format!("session\n{owner}\n{session}")
}

/// The name of a piece of work that its maker gave a key.
pub fn key_name(owner: &str, project: &Project, key: &str) -> String {
    format!("key\n{owner}\n{project}\n{key}")
}

/// An event as it is folded and shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub seq: u64,
    pub at: Timestamp,
    /// The stored name of its kind.
    pub kind: String,
    /// None where the text was purged, or where a newer program wrote a kind that this one does not know.
    pub step: Option<Step>,
    /// It came from somebody who did not hold the work any more: kept, and changes no state.
    pub late: bool,
    /// The length of its whole body in bytes.
    pub full: u64,
    /// The SHA-256 of that in hex, where only its beginning stands in the row.
    pub artifact: Option<String>,
}
