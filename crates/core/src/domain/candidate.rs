//! What distilling proposes: a claim about a past session with its evidence, until a person accepts or rejects it.

use super::{CandidateId, ExchangeId, MemoryId, SessionId, Timestamp};
use crate::redact::RedactedText;

macro_rules! words {
    ($(#[$what:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$what])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name { $($(#[$doc])* $variant),+ }

        impl $name {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The stored and published name.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// Reads a stored name.
            pub fn parse(text: &str) -> Option<Self> {
                match text { $($word => Some(Self::$variant),)+ _ => None }
            }
        }
    };
}

words! {
    /// What a claim says.
    ClaimKind {
        /// How the user wants things done.
        Preference = "preference",
        /// What was settled, and why.
        Decision = "decision",
        /// What is so.
        Fact = "fact",
        /// A command or procedure that succeeded.
        Works = "works",
        /// What failed, or misled.
        Pitfall = "pitfall",
    }
}

impl ClaimKind {
    /// The type of the memory that an accepted claim of this kind becomes.
    pub fn memory_type(self) -> &'static str {
        match self {
            Self::Preference => "preference",
            Self::Decision => "decision",
            Self::Fact => "discovery",
            Self::Works => "pattern",
            Self::Pitfall => "learning",
        }
    }
}

words! {
    /// How a session ended, by a model's word.
    SessionOutcome {
        /// What was asked for was done.
        Success = "success",
        /// Some of it was.
        Partial = "partial",
        /// It was not.
        Fail = "fail",
        /// Nobody can tell.
        Uncertain = "uncertain",
    }
}

words! {
    /// What became of a candidate.
    CandidateState {
        /// Nobody has decided.
        Waiting = "waiting",
        /// It is a memory.
        Accepted = "accepted",
        /// It is not wanted, and is not proposed again.
        Rejected = "rejected",
    }
}

words! {
    /// What became of distilling a session.
    DistilState {
        /// A model was asked, and something passed the check.
        Done = "done",
        /// A model was asked, and there was nothing worth keeping, or nothing passed.
        Nothing = "nothing",
        /// It was not sent: it has too many exchanges.
        TooLong = "too_long",
        /// It was not sent: redaction found a secret in it.
        Secret = "secret",
    }
}

/// A place in a past session that a claim rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Citation {
    pub exchange: ExchangeId,
    /// Of the exchange as it was when the claim was checked.
    pub digest: String,
    /// Words of it.
    pub quote: RedactedText,
}

/// A claim that passed the check, and what became of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// Follows from session, kind and text.
    pub id: CandidateId,
    pub session: SessionId,
    pub kind: ClaimKind,
    pub title: RedactedText,
    pub text: RedactedText,
    /// What it rests on: one place at least while it waits.
    pub evidence: Vec<Citation>,
    pub state: CandidateState,
    /// The memory that it became, and the revision that holds its words.
    pub memory: Option<(MemoryId, u32)>,
    /// What asked: the fingerprint of the question's form and the model.
    pub generation: String,
    /// `provider/model`.
    pub model: RedactedText,
    pub at: Timestamp,
    pub decided_at: Option<Timestamp>,
}

/// That a session was distilled, so that it is not done again while it does not grow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DistilRun {
    pub session: SessionId,
    pub state: DistilState,
    pub outcome: Option<SessionOutcome>,
    /// What the model calls the session.
    pub title: Option<RedactedText>,
    /// How many claims passed the check.
    pub claims: u32,
    /// How many did not, by reason.
    pub dropped: Vec<(String, u32)>,
    pub generation: String,
    /// When the session had ended by then.
    pub ended_at: Timestamp,
    pub at: Timestamp,
}
