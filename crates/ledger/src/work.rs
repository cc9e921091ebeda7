//! A piece of work and its events, as they are stored.

use cerebro_core::domain::{Project, SessionId, Timestamp, WorkId};
use cerebro_core::named;
use cerebro_core::redact::RedactedText;

use crate::{Outcome, Step, mac::Mac};

/// The kind of a session's piece of work, which its first event makes. Every other kind is handled as a task. All kinds have
/// the same events and are folded alike, so that no kind of a newer program is left out.
pub const SESSION: &str = "session";
/// The kind of what somebody begins on purpose.
pub const TASK: &str = "task";

/// The title of a session's piece of work until its first request is known. The request then takes its place.
pub const UNTITLED: &str = "a session without a request";

/// Longest request of one word that says nothing, in bytes.
const WORD_BYTES_MAX: usize = 20;
/// Words that say nothing of what is to be done.
const GO_ON: [&str; 18] = [
    "again", "ahead", "and", "continue", "do", "go", "it", "keep", "next", "now", "ok", "okay", "on",
    "please", "proceed", "sure", "then", "yes",
];

/// Whether a request becomes the title of a session's piece of work. It does if there is no title yet, or if the present one
/// says nothing of what is to be done, such as "continue", and the request does.
pub fn gives_title(request: &str, title: &str) -> bool {
    title == UNTITLED || (says_nothing(title) && !says_nothing(request))
}

/// Whether a title may be replaced by that of a later request: see [`gives_title`].
pub(crate) fn is_provisional(title: &str) -> bool {
    title == UNTITLED || says_nothing(title)
}

/// Whether a request is one short word, or only words such as "go on". A word with letters other than ASCII does not count
/// as short: in Chinese or Japanese it may be a whole sentence.
fn says_nothing(request: &str) -> bool {
    let is_go_on = |word: &str| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        GO_ON.iter().any(|known| word.eq_ignore_ascii_case(known))
    };
    let mut words = request.split_whitespace();
    let is_short_word = |word: &str| word.is_ascii() && word.len() <= WORD_BYTES_MAX;
    match (words.next(), words.next()) {
        (Some(word), None) => is_short_word(word),
        (first, _) => first.is_some() && request.split_whitespace().all(is_go_on),
    }
}

named! {
    /// The status of a piece of work.
    pub enum Status {
        /// It is going on, or could.
        Open = "open",
        /// A gate or a block stops it.
        Waiting = "waiting",
        /// It has ended.
        Closed = "closed",
    }
}

/// The holder of a piece of work, and the end of the lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The session of the holder, or the name of an agent without one.
    pub holder: String,
    /// When it ends, unless activity extends it.
    pub until: Timestamp,
}

/// A piece of work: the row with the projection of its events.
#[derive(Debug, Clone, PartialEq)]
pub struct Work {
    pub id: WorkId,
    /// Its owner. For anybody else it does not exist.
    pub owner: String,
    pub project: Project,
    /// [`SESSION`], `task`, or any other name.
    pub kind: String,
    pub title: RedactedText,
    /// The caller's own key for it: beginning it twice has no further effect.
    pub key: Option<String>,
    /// The unique name by which it is found: see [`key_name`] and [`session_name`].
    pub name: Option<String>,
    pub session: Option<SessionId>,
    pub agent: RedactedText,
    pub parent: Option<WorkId>,
    /// The piece of work and the event from which it was forked.
    pub forked_from: Option<(WorkId, u64)>,
    pub status: Status,
    pub outcome: Option<Outcome>,
    /// Whether the agent's connection was lost without an end of the session.
    pub lost: bool,
    /// The number of effects whose outcome is unknown.
    pub unknown: u64,
    pub created_at: Timestamp,
    /// When something last happened in it. Reading it does not count.
    pub active_at: Timestamp,
    /// The number of its last event.
    pub seq: u64,
    /// The end of its chain.
    pub head: Mac,
    pub lease: Option<Lease>,
    /// The number of leases: an event of a holder with an older fence is late.
    pub fence: u64,
    /// The id of the key of the chain.
    pub key_id: String,
    /// The MAC over all fields of the row that must not change without an event.
    pub row_mac: Mac,
    /// How often the row was written; 0 before the first time.
    pub version: u64,
}

impl Work {
    /// Whether it is a session's own piece of work.
    pub fn is_session(&self) -> bool {
        self.kind == SESSION
    }

    /// The holder, if the lease is still running and its agent was not lost.
    pub fn holder(&self, now: Timestamp) -> Option<&str> {
        let lease = self.lease.as_ref().filter(|lease| lease.until > now && !self.lost);
        lease.map(|lease| lease.holder.as_str())
    }

    /// The session that works in it, if any: that of its holder, or else the one that began it.
    pub fn keeper(&self, now: Timestamp) -> Option<SessionId> {
        let holder = self.holder(now).and_then(|holder| SessionId::parse(holder).ok());
        holder.or_else(|| self.session.clone())
    }

    /// The name by which it should be found, if any. When a session continues in another piece of work, that piece gets the
    /// name, and the closed one has none.
    pub fn proper_name(&self) -> Option<String> {
        match &self.key {
            Some(key) => Some(key_name(&self.owner, &self.project, key)),
            None if self.is_session() => {
                let session = self.session.as_ref().map_or(self.agent.as_str(), SessionId::as_str);
                Some(session_name(&self.owner, session))
            }
            None => None,
        }
    }

    /// Whether its name fits its owner, key and session. The project in the name may be a former one: see
    /// [`Self::named_project`].
    pub fn has_fitting_name(&self) -> bool {
        match (&self.name, &self.key) {
            (Some(_), Some(_)) => self.named_project().is_some(),
            (name, _) => name.is_none() || *name == self.proper_name(),
        }
    }

    /// The project in the name of a piece of work with a key. When projects are merged, a name that is taken in the other
    /// project stays as it was. `None` if it has no such name.
    pub fn named_project(&self) -> Option<Project> {
        let rest = self.name.as_ref()?.strip_prefix(&format!("key\n{}\n", self.owner))?;
        let project = rest.strip_suffix(&format!("\n{}", self.key.as_ref()?))?;
        // As it is stored, or no lookup would find it.
        Project::parse(project).filter(|stored| stored.as_str() == project)
    }
}

/// The name of a session's piece of work. Each session has one.
pub fn session_name(owner: &str, session: &str) -> String {
    format!("session\n{owner}\n{session}")
}

/// The name of a piece of work whose creator gave it a key.
pub fn key_name(owner: &str, project: &Project, key: &str) -> String {
    format!("key\n{owner}\n{project}\n{key}")
}

/// An event for folding and display.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub seq: u64,
    /// When it was recorded.
    pub at: Timestamp,
    /// When it happened. Agents do not wait for their hooks, so reports may arrive in another order than things
    /// happened.
    pub happened: Timestamp,
    /// The stored name of its kind.
    pub kind: String,
    /// `None` if the text was purged, or if a newer program wrote a kind that this one does not know.
    pub step: Option<Step>,
    /// Whether its writer no longer held the work: it is stored and changes nothing in the state.
    pub late: bool,
    /// The length of its whole body in bytes.
    pub full: u64,
    /// The SHA-256 of the whole body in hex, if the row has only its beginning.
    pub artifact: Option<String>,
}
