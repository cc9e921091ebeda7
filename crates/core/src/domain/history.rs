//! History: past sessions of agents, as their own transcripts record them. They are evidence beside the memories
//! and never become memories by themselves.

use super::{ExchangeId, MemoryId, Project, PromptId, Proven, SessionId, Timestamp, WorkId};
use crate::redact::RedactedText;

/// A past session, read from its agent's transcript. If hooks or tools reported the session while it was live, that
/// session has the same id.
#[derive(Debug, Clone, PartialEq)]
pub struct PastSession {
    /// The agent's own id; for a sub-agent `parent/agent`.
    pub id: SessionId,
    /// The name of its agent, such as `claude-code`.
    pub agent: RedactedText,
    pub project: Project,
    /// The title that the agent or its user gave it.
    pub title: Option<RedactedText>,
    pub directory: Option<RedactedText>,
    pub branch: Option<RedactedText>,
    pub model: Option<RedactedText>,
    /// The session that it continues or works for.
    pub parent: Option<Ancestor>,
    /// Whether no person took part.
    pub automated: bool,
    /// The moments of its first and its last record.
    pub started_at: Timestamp,
    /// See `started_at`.
    pub ended_at: Timestamp,
    /// How many exchanges of it are kept.
    pub exchanges: u32,
}

impl PastSession {
    /// Whether searches leave it out by default: no person took part, or it is a sub-agent's.
    pub fn is_hidden(&self) -> bool {
        self.automated || self.employer().is_some()
    }

    /// The session that delegated to it, if it is a sub-agent's.
    fn employer(&self) -> Option<&Ancestor> {
        self.parent.as_ref().filter(|parent| parent.kind == AncestorKind::SubAgent)
    }

    /// The tombstones that keep it out, each by itself: its own, and those of the sessions that it works for.
    pub fn tombstones_of_whole(&self) -> Vec<HistoryTombstone> {
        let employer = self.employer().and_then(|parent| parent.session.as_ref());
        employer.into_iter().chain([&self.id]).flat_map(HistoryTombstone::of_whole).collect()
    }

    /// Its title, directory and branch, each with the name of the field.
    pub fn names(&mut self) -> [(&'static str, &mut Option<RedactedText>); 3] {
        [("title", &mut self.title), ("directory", &mut self.directory), ("branch", &mut self.branch)]
    }

    /// The tombstones that keep its names out once they are forgotten.
    pub fn tombstones_of_names(&self) -> [HistoryTombstone; 3] {
        ["title", "directory", "branch"].map(|name| HistoryTombstone::of_name(&self.id, name))
    }
}

/// The session that another one continues or works for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ancestor {
    pub kind: AncestorKind,
    /// Its id; `None` where the transcript names only one of its turns.
    pub session: Option<SessionId>,
}

named! {
    /// How a session is related to its ancestor.
    pub enum AncestorKind {
        /// The same conversation, continued in another file.
        Resume = "resume",
        /// A copy that took another course.
        Fork = "fork",
        /// Work that the ancestor delegated.
        SubAgent = "subagent",
        /// It begins with a summary of the ancestor.
        Compaction = "compaction",
        /// It carries out a plan that was made in the ancestor.
        Plan = "plan",
    }
}

/// One prompt and what followed it, or a piece of a long one. Its text is stored apart.
#[derive(Debug, Clone, PartialEq)]
pub struct Exchange {
    /// Derived from agent, session and `seq`.
    pub id: ExchangeId,
    pub session: SessionId,
    /// Its place in the session, from 0.
    pub seq: u32,
    /// 0 for the piece that contains the prompt.
    pub part: u32,
    /// When it began.
    pub at: Timestamp,
    /// The prompt's first line, or a substitute where there is no prompt.
    pub title: RedactedText,
    /// Files that were changed.
    pub files: Vec<RedactedText>,
    /// Commands worth finding again.
    pub commands: Vec<PastCommand>,
    /// Lines that name a failure.
    pub errors: Vec<RedactedText>,
    /// Whether a rewind withdrew it.
    pub withdrawn: bool,
    /// Digests of the native ids of its first and its last turn ([`native_digest`]); copies of it have the same
    /// ones.
    pub first: Option<String>,
    /// See `first`.
    pub last: Option<String>,
    /// The digest of all other fields and the text, except `withdrawn`. Equal digests mean equal exchanges.
    pub digest: String,
}

/// A command that was run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastCommand {
    pub line: RedactedText,
    /// Whether it succeeded; `None` where the transcript does not record it.
    pub ok: Option<bool>,
}

/// The end of a command of which only the beginning is kept.
pub const COMMAND_CUT: &str = " …";

impl PastCommand {
    /// Whether all of it is kept, so that an equal one is the same command.
    pub fn is_whole(&self) -> bool {
        !self.line.ends_with(COMMAND_CUT)
    }
}

/// An exchange with its text.
#[derive(Debug, Clone, PartialEq)]
pub struct FullExchange {
    pub exchange: Exchange,
    /// What was said and done, as readable text.
    pub text: RedactedText,
    /// The proven facts; stored beside the text, because few questions need them.
    pub proven: Proven,
}

impl FullExchange {
    /// Whether some text of it meets a condition.
    pub fn any_text(&self, holds: impl Fn(&str) -> bool) -> bool {
        let exchange = &self.exchange;
        let mut beside = exchange.files.iter().chain(&exchange.errors);
        holds(&self.text)
            || holds(&exchange.title)
            || beside.any(|text| holds(text))
            || exchange.commands.iter().any(|command| holds(&command.line))
            || self.proven.any(|text| holds(text))
    }

    /// Computes the digest, once all other fields are set.
    #[must_use]
    pub fn sealed(mut self) -> Self {
        let exchange = &self.exchange;
        let numbers = [exchange.seq.to_string(), exchange.part.to_string(), exchange.at.to_string()];
        let mut parts: Vec<&str> = numbers.iter().map(String::as_str).collect();
        parts.extend([exchange.session.as_str(), &exchange.title, &self.text]);
        parts.extend([exchange.first.as_deref(), exchange.last.as_deref()].map(Option::unwrap_or_default));
        for texts in [&exchange.files, &exchange.errors] {
            parts.extend(texts.iter().map(RedactedText::as_str));
            // No text of a list equals this one, so adjacent lists cannot be confused.
            parts.push("\0");
        }
        for command in &exchange.commands {
            parts.push(&command.line);
            parts.push(match command.ok {
                None => "?",
                Some(true) => "+",
                Some(false) => "-",
            });
        }
        // An exchange without proven facts keeps the digest that it had before they were introduced.
        let proven = if self.proven.is_empty() { String::new() } else { self.proven.as_json() };
        if !proven.is_empty() {
            parts.push(&proven);
        }
        self.exchange.digest = digest(&parts);
        self
    }
}

/// A transcript source: a file of an agent, or a session in its database.
#[derive(Debug, Clone, PartialEq)]
pub struct Source {
    /// Derived from the agent and the unredacted key ([`Source::id_of`]).
    pub id: String,
    /// The name of its agent, such as `claude-code`.
    pub agent: RedactedText,
    /// The path, or `path#id` in a database.
    pub key: RedactedText,
    /// The session in it, once known.
    pub session: Option<SessionId>,
    /// Its size and modification time at the last reading.
    pub size: u64,
    /// See `size`: microseconds since 1970.
    pub mtime: i64,
    /// The inode, by which a replaced file is recognised; 0 where there is none.
    pub inode: u64,
    /// The number of bytes that were read and understood.
    pub offset: u64,
    /// The reader's state, in its own format; `None` before the first reading. It contains no text of turns, and
    /// names in it are redacted.
    pub cursor: Option<Vec<u8>>,
    /// Digests of the first bytes and of the bytes before `offset`, by which a rewritten file is recognised.
    pub head: Option<String>,
    /// See `head`.
    pub edge: Option<String>,
    /// The version of the reader that read it last.
    pub reader: u32,
    pub state: SourceState,
    /// How many records had an unknown type, and how many lines were not records.
    pub unknown: u64,
    /// See `unknown`.
    pub malformed: u64,
    /// Why reading failed, in words for a person.
    pub error: Option<RedactedText>,
}

impl Source {
    /// The id of a source: 32 hexadecimal digits, as a path may be long and may hold a secret.
    pub fn id_of(agent: &str, key: &str) -> String {
        digest(&["source", agent, key])
    }
}

named! {
    pub enum SourceState {
        /// Read to its end.
        Fresh = "fresh",
        /// Reading failed.
        Failed = "failed",
        /// Its agent deleted it; what was read is kept.
        Gone = "gone",
        /// The user excluded it.
        Excluded = "excluded",
    }
}

/// A history tombstone: the digest of something forgotten, so that neither an import nor the restore of an older backup
/// brings it back. It contains no text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HistoryTombstone(String);

impl HistoryTombstone {
    /// Of a whole session.
    pub fn of_session(session: &SessionId) -> Self {
        Self(digest(&["session", session.as_str()]))
    }

    /// The tombstones that keep a session out, as far as its id names them: its own, and those of the sessions that it
    /// works for ([`PastSession::tombstones_of_whole`]).
    pub fn of_whole(session: &SessionId) -> Vec<Self> {
        let parents = session.as_str().match_indices('/').map(|(end, _)| &session.as_str()[..end]);
        parents.chain([session.as_str()]).map(|id| Self(digest(&["session", id]))).collect()
    }

    /// Of an exchange: by the native id of its first turn, so that copies are covered, else by its place.
    pub fn of_exchange(exchange: &Exchange) -> Self {
        let by_seq = || digest(&["place", exchange.session.as_str(), &exchange.seq.to_string()]);
        exchange.first.as_ref().map_or_else(|| Self(by_seq()), |first| Self::of_turn(first))
    }

    /// Of an exchange whose first turn has this digest.
    pub fn of_turn(first: &str) -> Self {
        Self(digest(&["turn", first]))
    }

    /// Of a name of a session: its `title`, `directory` or `branch`. Later values of the same field are not kept
    /// either.
    pub fn of_name(session: &SessionId, name: &str) -> Self {
        Self(digest(&["name", session.as_str(), name]))
    }

    /// Of a session's prompts in the agent's list of everything typed. That list has no ids of turns, so nothing of
    /// it is imported for a session from which anything was forgotten.
    pub fn of_typed(session: &SessionId) -> Self {
        Self(digest(&["typed", session.as_str()]))
    }

    /// Of a prompt that a hook reported.
    pub fn of_prompt(id: &PromptId) -> Self {
        Self(digest(&["prompt", id.as_str()]))
    }

    /// Of the summary that hooks left of a session.
    pub fn of_summary(session: &SessionId) -> Self {
        Self(digest(&["summary", session.as_str()]))
    }

    /// Of the text of an event in the journal of work, by the salted commitment to that text, in hex.
    pub fn of_event(commitment: &str) -> Self {
        Self(digest(&["event", commitment]))
    }

    /// Of the title of a piece of work.
    pub fn of_work_title(id: &WorkId) -> Self {
        Self(digest(&["work", id.as_str()]))
    }

    /// Of a citation that somebody removed: that a memory rests on an exchange.
    pub fn of_citation(memory: &MemoryId, exchange: &ExchangeId) -> Self {
        Self(digest(&["citation", memory.as_str(), exchange.key()]))
    }

    /// Of a memory file of an agent, by its path.
    pub fn of_memory_file(path: &str) -> Self {
        Self(digest(&["paper", path]))
    }

    /// Reads one from the store or an export: 32 hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        (text.len() == 32 && text.bytes().all(hex)).then(|| Self(text.to_owned()))
    }

    /// The digest.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The digest of the native id of an agent's turn. Such an id can be any text of a transcript, so only its digest
/// is kept.
pub fn native_digest(id: &str) -> String {
    digest(&["native", id])
}

/// 32 hexadecimal digits of a SHA-256 over parts that cannot run into each other.
fn digest(parts: &[&str]) -> String {
    crate::text::hex(&super::id::hash(parts)[..16])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tombstones_distinguish_sessions_turns_and_numbers() {
        let session = SessionId::parse("s").unwrap();
        let of_session = HistoryTombstone::of_session(&session);
        assert_eq!(HistoryTombstone::parse(of_session.as_str()), Some(of_session.clone()));
        assert_ne!(of_session.as_str(), native_digest("s"));
        assert_ne!(of_session, HistoryTombstone::of_typed(&session));
        assert_eq!(HistoryTombstone::of_whole(&session), std::slice::from_ref(&of_session));
        let of_sub_agent = HistoryTombstone::of_whole(&SessionId::parse("s/agent").unwrap());
        assert_eq!((of_sub_agent.len(), &of_sub_agent[0]), (2, &of_session));
        assert_ne!(
            HistoryTombstone::of_name(&session, "title"),
            HistoryTombstone::of_name(&session, "branch")
        );
        assert_ne!(digest(&["a", "bc"]), digest(&["ab", "c"]), "parts do not run into each other");
        assert_eq!(HistoryTombstone::parse("0123"), None);
        assert_eq!(HistoryTombstone::parse(&"G".repeat(32)), None);
    }
}
