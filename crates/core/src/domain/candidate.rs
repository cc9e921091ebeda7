//! What distilling proposes: a claim about a past session with its evidence, and how accepted claims are arranged in a
//! handbook; both until a person accepts or rejects them.

use super::{ArrangementId, CandidateId, ExchangeId, MemoryId, Project, SessionId, Timestamp};
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
    /// Whether it was accepted without a person, because another session says the same.
    pub corroborated: bool,
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

/// What a model may say of an item of a handbook. No variant has a text of a claim: where items stand is all that changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ItemChange {
    /// A new item gets its topic.
    Add { topic: RedactedText },
    /// It says nothing that the other item does not say: it goes, and its evidence stands for that.
    Merge { into: MemoryId },
    /// The other item, which is later, says what is so now.
    Replace { by: MemoryId },
    /// It is of no use any more.
    Retire,
    /// It gets another topic.
    Move { topic: RedactedText },
}

impl ItemChange {
    /// The stored and published names.
    pub const NAMES: [&str; 5] = ["add", "merge", "replace", "retire", "move"];

    /// The stored and published name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Add { .. } => "add",
            Self::Merge { .. } => "merge",
            Self::Replace { .. } => "replace",
            Self::Retire => "retire",
            Self::Move { .. } => "move",
        }
    }

    /// The topic that it names.
    pub fn topic(&self) -> Option<&RedactedText> {
        match self {
            Self::Add { topic } | Self::Move { topic } => Some(topic),
            _ => None,
        }
    }

    /// The other item that it names.
    pub fn other(&self) -> Option<MemoryId> {
        match self {
            Self::Merge { into: other } | Self::Replace { by: other } => Some(*other),
            _ => None,
        }
    }

    /// The change of that name with what it names; none where something is missing.
    pub fn of(name: &str, topic: Option<RedactedText>, other: Option<MemoryId>) -> Option<Self> {
        match (name, topic, other) {
            ("add", Some(topic), _) => Some(Self::Add { topic }),
            ("move", Some(topic), _) => Some(Self::Move { topic }),
            ("merge", _, Some(into)) => Some(Self::Merge { into }),
            ("replace", _, Some(by)) => Some(Self::Replace { by }),
            ("retire", ..) => Some(Self::Retire),
            _ => None,
        }
    }

    /// Whether the item leaves the handbook and nothing else says what it said.
    pub fn takes_away(&self) -> bool {
        matches!(self, Self::Replace { .. } | Self::Retire)
    }
}

/// One change of one item, which is a memory that was made of claims.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemOperation {
    pub item: MemoryId,
    pub change: ItemChange,
}

impl ItemOperation {
    /// The operation about those that stand for its items now.
    #[must_use]
    pub fn about(&self, now: impl Fn(MemoryId) -> MemoryId) -> Self {
        let change = match self.change.clone() {
            ItemChange::Merge { into } => ItemChange::Merge { into: now(into) },
            ItemChange::Replace { by } => ItemChange::Replace { by: now(by) },
            same => same,
        };
        Self { item: now(self.item), change }
    }
}

words! {
    /// How far an arrangement is.
    ArrangementState {
        /// Nobody has decided.
        Waiting = "waiting",
        /// The handbook is as it says.
        Accepted = "accepted",
        /// It is not wanted.
        Rejected = "rejected",
        /// It was accepted and taken back.
        Undone = "undone",
    }
}

/// Changes of a handbook that a model proposed, accepted and taken back together.
#[derive(Debug, Clone, PartialEq)]
pub struct Arrangement {
    pub id: ArrangementId,
    /// Whose handbook; that of all projects where it is none.
    pub project: Option<Project>,
    pub state: ArrangementState,
    /// What passed the check, in order.
    pub operations: Vec<ItemOperation>,
    /// How many operations did not, by reason.
    pub dropped: Vec<(String, u32)>,
    /// What asked: the fingerprint of the question's form and the model.
    pub generation: String,
    /// `provider/model`.
    pub model: RedactedText,
    pub at: Timestamp,
    pub decided_at: Option<Timestamp>,
}
