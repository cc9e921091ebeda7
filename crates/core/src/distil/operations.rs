//! The handbook of a project, or of all projects: accepted claims as numbered items, and the operations on them.
//!
//! A handbook is the fold of the accepted arrangements over the present items. An operation says where an item
//! is, never what it says. So no text by a model gets in, an item that no operation names stays where it is,
//! and an arrangement is undone by leaving it out of the fold.

use std::collections::{BTreeMap, BTreeSet};

use super::{alike, check::Reason};
use crate::{
    domain::{ClaimKind, ExchangeId, ItemChange, ItemOperation, MemoryId, SessionId, Timestamp},
    redact::RedactedText,
    text,
};

/// Most topics of a handbook.
pub const TOPICS_MAX: usize = 24;

/// An accepted claim and the memory that it became.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// The memory, which holds the words.
    pub memory: MemoryId,
    pub kind: ClaimKind,
    /// One line.
    pub title: RedactedText,
    /// Its present text.
    pub text: RedactedText,
    /// Whether somebody has revised the memory since, so that its present text rests on no session.
    pub is_revised: bool,
    /// The past sessions that say so.
    pub sessions: BTreeSet<SessionId>,
    /// The exchanges that it rests on.
    pub evidence: BTreeSet<ExchangeId>,
    /// When the last session began that supports it. Sessions that supported an earlier revision count too.
    pub last_session_at: Timestamp,
}

/// The position of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Position {
    /// Nowhere in particular: nobody has arranged it.
    New,
    /// Under a topic.
    Topic(RedactedText),
    /// In the other item, which says the same and more.
    Merged(MemoryId),
    /// Nowhere: the other item states what holds now.
    Replaced(MemoryId),
    /// Nowhere: it is of no more use.
    Retired,
}

impl Position {
    /// Whether the handbook shows it as an item of its own.
    pub fn is_shown(&self) -> bool {
        matches!(self, Self::New | Self::Topic(_))
    }
}

/// The items and their positions.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Handbook {
    items: BTreeMap<MemoryId, (Item, Position)>,
}

impl Handbook {
    /// The handbook of these items after these operations, in order. An operation that no longer fits, because an
    /// item is gone or says something else, is skipped: its item is shown again.
    pub fn arranged<'a>(items: Vec<Item>, operations: impl IntoIterator<Item = &'a ItemOperation>) -> Self {
        let items = items.into_iter().map(|item| (item.memory, (item, Position::New))).collect();
        let mut handbook = Self { items };
        for operation in operations {
            // An operation that does not fit changes nothing.
            handbook.apply(operation).ok();
        }
        handbook
    }

    /// Changes the position of one item.
    ///
    /// # Errors
    /// The reason why the operation does not fit; then nothing is changed.
    pub fn apply(&mut self, operation: &ItemOperation) -> Result<(), Reason> {
        let position = self.resulting_position(operation)?;
        if let Some((_, old)) = self.items.get_mut(&operation.item) {
            *old = position;
        }
        Ok(())
    }

    /// The position where an operation puts its item.
    fn resulting_position(&self, operation: &ItemOperation) -> Result<Position, Reason> {
        let (item, position) = self.items.get(&operation.item).ok_or(Reason::UnknownItem)?;
        let other = |id: &MemoryId| match self.items.get(id) {
            None => Err(Reason::UnknownItem),
            Some((other, position)) if position.is_shown() && *id != item.memory => Ok(other),
            Some(_) => Err(Reason::Unfit),
        };
        match (&operation.change, position) {
            (ItemChange::Add { topic }, Position::New) => self.under(topic),
            (ItemChange::Move { topic }, Position::Topic(_)) => match self.under(topic)? {
                same if same == *position => Err(Reason::Unfit),
                other => Ok(other),
            },
            (ItemChange::Merge { into }, position) if position.is_shown() => {
                let into = other(into)?;
                let carries = into.kind == item.kind
                    && alike::carries((&into.title, &into.text), (&item.title, &item.text));
                if carries { Ok(Position::Merged(into.memory)) } else { Err(Reason::SaysMore) }
            }
            (ItemChange::Replace { by }, position) if position.is_shown() => {
                if other(by)?.last_session_at >= item.last_session_at {
                    Ok(Position::Replaced(*by))
                } else {
                    Err(Reason::Unfit)
                }
            }
            (ItemChange::Retire, position) if position.is_shown() => Ok(Position::Retired),
            _ => Err(Reason::Unfit),
        }
    }

    /// A position under a topic: an existing one, whatever its case, or a new one where there is room.
    fn under(&self, topic: &RedactedText) -> Result<Position, Reason> {
        let topics = self.topics();
        let known = topics.iter().find(|known| text::fold(known) == text::fold(topic));
        match known {
            Some(known) => Ok(Position::Topic(RedactedText::derived(*known))),
            None if topics.len() < TOPICS_MAX => Ok(Position::Topic(topic.clone())),
            None => Err(Reason::TooMany),
        }
    }

    /// Whether the handbook certainly says as much after an operation: nothing is taken away, and an item is merged only
    /// into one that has all of its words.
    pub fn is_lossless(&self, operation: &ItemOperation) -> bool {
        let words =
            |id: &MemoryId| self.items.get(id).map(|(item, _)| (item.title.as_str(), item.text.as_str()));
        match &operation.change {
            ItemChange::Add { .. } | ItemChange::Move { .. } => true,
            ItemChange::Merge { into } => {
                let both = words(into).zip(words(&operation.item));
                both.is_some_and(|(carrier, claim)| alike::covers(carrier, claim))
            }
            ItemChange::Replace { .. } | ItemChange::Retire => false,
        }
    }

    /// The topics that have items.
    pub fn topics(&self) -> BTreeSet<&str> {
        self.shown().filter_map(|(_, topic)| topic).map(RedactedText::as_str).collect()
    }

    /// The number of items, whatever their positions.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// An item and its position.
    pub fn get(&self, id: &MemoryId) -> Option<(&Item, &Position)> {
        self.items.get(id).map(|(item, position)| (item, position))
    }

    /// The items that the handbook shows, in the order of their ids, each with its topic; new ones have none.
    pub fn shown(&self) -> impl Iterator<Item = (&Item, Option<&RedactedText>)> {
        self.items.values().filter_map(|(item, position)| match position {
            Position::New => Some((item, None)),
            Position::Topic(topic) => Some((item, Some(topic))),
            _ => None,
        })
    }

    /// An item and all items that were merged into it, directly or through others.
    pub fn carried(&self, id: MemoryId) -> Vec<&Item> {
        let mut carried: Vec<&Item> = self.items.get(&id).map(|(item, _)| item).into_iter().collect();
        let mut at = 0;
        while let Some(carrier) = carried.get(at).map(|item| item.memory) {
            at += 1;
            let merged = self.items.values().filter(|(_, position)| *position == Position::Merged(carrier));
            // An item is shown when something is merged into it, so merges form no cycle.
            carried.extend(merged.map(|(item, _)| item));
        }
        carried
    }

    /// The shown item that says what an item says: itself, or the one it was merged into. `None` where neither is
    /// shown.
    pub fn carrier(&self, id: MemoryId) -> Option<MemoryId> {
        let mut carrier = id;
        loop {
            match &self.items.get(&carrier)?.1 {
                Position::Merged(into) => carrier = *into,
                position => return position.is_shown().then_some(carrier),
            }
        }
    }

    /// The past sessions that say what an item says.
    pub fn sessions(&self, id: MemoryId) -> BTreeSet<&SessionId> {
        self.carried(id).into_iter().flat_map(|item| &item.sessions).collect()
    }

    /// Every exchange that an item rests on, including those of the items merged into it.
    pub fn evidence(&self, id: MemoryId) -> BTreeSet<ExchangeId> {
        self.carried(id).into_iter().flat_map(|item| item.evidence.iter().copied()).collect()
    }
}

/// Whether two states of a handbook differ only by what the operations name: no item is gone, every item that is
/// not named keeps its position, and all evidence of a shown item is still cited by some shown item.
pub fn conserves(before: &Handbook, after: &Handbook, operations: &[ItemOperation]) -> bool {
    let named: BTreeSet<MemoryId> = operations.iter().map(|operation| operation.item).collect();
    let taken: BTreeSet<MemoryId> = operations
        .iter()
        .filter(|operation| operation.change.takes_away())
        .flat_map(|operation| before.carried(operation.item).into_iter().chain(after.carried(operation.item)))
        .map(|item| item.memory)
        .collect();
    let resting = |handbook: &Handbook| -> BTreeSet<ExchangeId> {
        handbook.shown().flat_map(|(item, _)| handbook.evidence(item.memory)).collect()
    };
    let rests = resting(after);
    let keeps_position = |(id, (item, position)): (&MemoryId, &(Item, Position))| {
        after.items.get(id).is_some_and(|(_, now)| now == position || named.contains(id))
            && (!position.is_shown()
                || taken.contains(id)
                || item.evidence.iter().all(|exchange| rests.contains(exchange)))
    };
    before.items.len() == after.items.len() && before.items.iter().all(keeps_position)
}
