//! Proposals of distilling: claims about past sessions with their evidence, and arrangements of accepted claims in
//! a handbook. Both wait until a person accepts or rejects them.

use super::{ArrangementId, CandidateId, ExchangeId, MemoryId, Project, SessionId, Timestamp};
use crate::redact::RedactedText;

named! {
    pub enum ClaimKind {
        /// How the user wants things done.
        Preference = "preference",
        /// A decision, and the reasons for it.
        Decision = "decision",
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

named! {
    /// How a session ended, according to a model.
    pub enum SessionOutcome {
        /// The request was fulfilled.
        Success = "success",
        /// The request was fulfilled in part.
        Partial = "partial",
        /// The request was not fulfilled.
        Fail = "fail",
        /// It cannot be determined.
        Uncertain = "uncertain",
    }
}

named! {
    pub enum CandidateState {
        /// Waits for a decision.
        Waiting = "waiting",
        /// Accepted: it is a memory.
        Accepted = "accepted",
        /// Rejected, and not proposed again.
        Rejected = "rejected",
    }
}

named! {
    /// The result of distilling a session.
    pub enum DistilState {
        /// A model was asked, and some claims passed the check.
        Done = "done",
        /// A model was asked, and nothing was worth keeping or passed the check.
        Nothing = "nothing",
        /// It was not sent: it has too many exchanges, or none of them fits the bound of a question.
        TooLong = "too_long",
        /// It was not sent: redaction found a secret in it.
        Secret = "secret",
    }
}

/// A place in a past session that a claim rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Citation {
    pub exchange: ExchangeId,
    /// The digest of the exchange when the claim was checked.
    pub digest: String,
    /// Words quoted from it.
    pub quote: RedactedText,
}

/// A claim that passed the check, and its state.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// Derived from session, kind and text.
    pub id: CandidateId,
    pub session: SessionId,
    pub kind: ClaimKind,
    pub title: RedactedText,
    pub text: RedactedText,
    /// Its evidence: at least one citation while it waits.
    pub evidence: Vec<Citation>,
    pub state: CandidateState,
    /// The memory that it became, and the revision that has its words.
    pub memory: Option<(MemoryId, u32)>,
    /// The generation that produced it: the fingerprint of question and model.
    pub generation: String,
    /// `provider/model`.
    pub model: RedactedText,
    /// Whether it was accepted without a person, because another session says the same.
    pub corroborated: bool,
    pub at: Timestamp,
    pub decided_at: Option<Timestamp>,
}

impl Candidate {
    /// Whether a condition holds for one of its texts: its title, its text or a quote.
    pub fn any_text(&self, holds: impl Fn(&str) -> bool) -> bool {
        let quotes = self.evidence.iter().map(|evidence| &evidence.quote);
        [&self.title, &self.text].into_iter().chain(quotes).any(|text| holds(text))
    }
}

/// The record that a session was distilled, so that it is not distilled again unless it grows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DistilRun {
    pub session: SessionId,
    pub state: DistilState,
    pub outcome: Option<SessionOutcome>,
    /// The model's title for the session.
    pub title: Option<RedactedText>,
    /// How many claims passed the check.
    pub claims: u32,
    /// How many claims did not, by reason.
    pub dropped: Vec<(String, u32)>,
    pub generation: String,
    /// The end of the session at that time.
    pub ended_at: Timestamp,
    pub at: Timestamp,
}

/// What a model may do with an item of a handbook. No variant carries the text of a claim: only places change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ItemChange {
    /// Puts a new item under a topic.
    Add { topic: RedactedText },
    /// Merges it into the other item, which says all that it says and takes over its evidence.
    Merge { into: MemoryId },
    /// Replaces it by the other item, which is later and states what holds now.
    Replace { by: MemoryId },
    /// Takes it away, because it is of no more use.
    Retire,
    /// Puts it under another topic.
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

    /// Builds the change of that name from its operands; `None` where one is missing.
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

    /// Whether the item leaves the handbook without another one that says the same.
    pub fn takes_away(&self) -> bool {
        matches!(self, Self::Replace { .. } | Self::Retire)
    }
}

/// One change of one item, which is a memory made of claims.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemOperation {
    pub item: MemoryId,
    pub change: ItemChange,
}

impl ItemOperation {
    /// The same operation on the memories that took the place of its items.
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

named! {
    pub enum ArrangementState {
        /// Waits for a decision.
        Waiting = "waiting",
        /// Accepted: the handbook is arranged this way.
        Accepted = "accepted",
        Rejected = "rejected",
        /// Accepted, then undone.
        Undone = "undone",
    }
}

/// Changes of a handbook that a model proposed. They are accepted and undone together.
#[derive(Debug, Clone, PartialEq)]
pub struct Arrangement {
    pub id: ArrangementId,
    /// The project of the handbook; `None` for the handbook of all projects.
    pub project: Option<Project>,
    pub state: ArrangementState,
    /// The operations that passed the check, in order.
    pub operations: Vec<ItemOperation>,
    /// How many operations did not, by reason.
    pub dropped: Vec<(String, u32)>,
    /// The generation that produced it: the fingerprint of question and model.
    pub generation: String,
    /// `provider/model`.
    pub model: RedactedText,
    pub at: Timestamp,
    pub decided_at: Option<Timestamp>,
}
