//! How far a transcript was read, and the result of one reading.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::clip::start;
use crate::limits::UNKNOWN_NAMES_MAX;
use crate::line::NO_TYPE;
use crate::turn::{Agent, Exchange, Session};

/// Raised whenever other exchanges are stored for the same bytes: because a reader gives others, or because of how they are
/// written. A state of another version is not continued: the source is read from its beginning.
pub const READER_VERSION: u32 = 12;

/// Where the next reading starts, and what it must know. It contains no text of turns; the names of the session and of tools
/// are its only text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts of one place in a source, and not a state machine"
)]
pub struct State {
    /// [`READER_VERSION`] of the program that wrote it.
    pub version: u32,
    /// The next reading starts at this byte of the source: where the second-last exchange begins, because
    /// later records can still complete the last two. The part that is read twice is bounded.
    pub offset: u64,
    /// The session up to that byte.
    pub session: Session,
    /// The counts up to that byte.
    pub counts: Counts,
    pub(crate) next_seq: u32,
    pub(crate) part: u32,
    pub(crate) marks: Vec<Mark>,
    /// Hashes of files that are known as edited.
    pub(crate) tracked: Vec<u64>,
    /// Calls without a result whose exchanges have ended, the oldest first.
    pub(crate) late: Vec<Late>,
    /// Inside a copy of earlier records: skip until it ends.
    pub(crate) replaying: bool,
    /// In the middle of a line that is too long.
    pub(crate) skipping: bool,
    /// The transcript is the host's own work and not a session: ignore all of it.
    pub(crate) muted: bool,
    /// Codex: the session's own head was read; further heads belong to the sessions that it was copied from.
    pub(crate) headed: bool,
    /// Codex: in a copy, the oldest ancestor: the last of the heads at its beginning.
    pub(crate) origin: Option<String>,
    /// Codex: the turn at hand.
    pub(crate) turn: Option<String>,
    /// Codex: response items are present, so the same content as completed items is a repetition.
    pub(crate) responses: bool,
    /// Codex: scripts ran. What they did is in completed items only.
    pub(crate) scripts: bool,
}

/// A call whose result is still to come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Late {
    /// The hash of its native id.
    pub(crate) id: u64,
    /// The tool's name.
    pub(crate) tool: String,
}

/// A prompt that was read, by hashes of native ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mark {
    pub(crate) seq: u32,
    pub(crate) id: u64,
    pub(crate) parent: u64,
    /// The last turn that followed.
    pub(crate) last: u64,
}

/// Counts for a drift report: formats change, and a reader must not lose records silently.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counts {
    /// Records that were read, known or not, and lines that are no JSON.
    pub records: u64,
    /// Records of unknown types, by name.
    pub unknown: BTreeMap<String, u64>,
    /// Bytes of these records.
    pub unknown_bytes: u64,
    /// Lines that are no JSON.
    pub malformed: u64,
    /// Lines longer than the bound.
    pub oversized: u64,
    /// Records that were copies of others in the same source.
    pub copies: u64,
}

impl Counts {
    /// Whether no record was understood: each is malformed or has no type.
    pub fn is_gibberish(&self) -> bool {
        let untyped = self.unknown.get(NO_TYPE).copied().unwrap_or_default();
        self.records <= self.malformed + untyped
    }

    pub(crate) fn unknown(&mut self, name: &str, bytes: usize) {
        const NAME_BYTES: usize = 64;
        let name = start(name, NAME_BYTES);
        let known = self.unknown.contains_key(name);
        let name = if known || self.unknown.len() < UNKNOWN_NAMES_MAX { name } else { "(others)" };
        *self.unknown.entry(name.to_owned()).or_default() += 1;
        self.unknown_bytes += bytes as u64;
    }
}

impl State {
    /// The state before the first byte of a source. `session` is the id taken from its path, such as the name
    /// of the file; if empty, the first record names it.
    pub fn new(agent: Agent, session: &str) -> Self {
        Self {
            version: READER_VERSION,
            offset: 0,
            session: Session { agent, id: session.to_owned(), ..Session::default() },
            counts: Counts::default(),
            next_seq: 0,
            part: 0,
            marks: Vec::new(),
            tracked: Vec::new(),
            late: Vec::new(),
            replaying: false,
            skipping: false,
            muted: false,
            headed: false,
            origin: None,
            turn: None,
            responses: false,
            scripts: false,
        }
    }

    /// The same state, for a reading that starts at this byte.
    pub(crate) fn at(&self, offset: u64) -> Self {
        Self { offset, ..self.clone() }
    }

    /// Whether this program can go on from here. If not, or if the bytes before `offset` have changed, read
    /// the source from its beginning and replace everything that came from it.
    pub fn can_continue(&self) -> bool {
        self.version == READER_VERSION
    }
}

/// The result of one reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// Complete exchanges, in order of `seq`. Each replaces an earlier one with the same `seq`; the last two
    /// come again with the next reading.
    pub exchanges: Vec<Exchange>,
    /// The `seq` of exchanges that a rewind took back. They remain evidence of what was tried, but are no
    /// longer part of the conversation.
    pub withdrawn: Vec<u32>,
    /// The session as of the last byte.
    pub session: Session,
    /// What was counted as of the last byte.
    pub counts: Counts,
    /// The bytes of the source that were understood, up to the last complete record. What follows is an
    /// unfinished record and is left for the next reading.
    pub end: u64,
    /// Where the next reading goes on. If `state.offset` did not move although more bytes follow, the next
    /// reading needs a longer stretch of the source.
    pub state: State,
}

impl Batch {
    /// The folder in which its first exchange began: a session may move to other folders later. Without exchanges, the latest.
    pub fn began_in(&self) -> Option<&str> {
        self.exchanges.first().and_then(|first| first.cwd.as_deref()).or(self.session.cwd.as_deref())
    }
}
