//! The handbook of a project, or of all: accepted claims as numbered items, and what operations on them come to.
//!
//! A handbook is the fold of the accepted arrangements over the items that are there now. An operation says where an
//! item stands, never what it says: so no text of a model's gets in, an item that nobody named stays where it is, and an
//! arrangement is taken back by leaving it out of the fold.

use std::collections::{BTreeMap, BTreeSet};

use super::{alike, check::Reason};
use crate::{
    domain::{ClaimKind, ExchangeId, ItemChange, ItemOperation, MemoryId, SessionId, Timestamp},
    redact::RedactedText,
    text,
};

/// Most topics of a handbook.
pub const TOPICS_MAX: usize = 24;

/// An accepted claim: the memory that it became.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// The memory, which has the words.
    pub memory: MemoryId,
    /// What it says.
    pub kind: ClaimKind,
    /// One line.
    pub title: RedactedText,
    /// What it says, as it is now.
    pub text: RedactedText,
    /// The past sessions that say so.
    pub sessions: BTreeSet<SessionId>,
    /// The exchanges that it rests on.
    pub evidence: BTreeSet<ExchangeId>,
    /// When the last of those sessions began.
    pub said_at: Timestamp,
}

/// Where an item stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Nobody has arranged it.
    New,
    /// Under a topic.
    Topic(RedactedText),
    /// In the other item, which says the same and more.
    Merged(MemoryId),
    /// Nowhere: the other item says what is so now.
    Replaced(MemoryId),
    /// Nowhere: it is of no use any more.
    Retired,
}

impl Place {
    /// Whether the handbook shows it as an item of its own.
    pub fn is_standing(&self) -> bool {
        matches!(self, Self::New | Self::Topic(_))
    }
}

/// The items, and where each stands.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Handbook {
    items: BTreeMap<MemoryId, (Item, Place)>,
}

impl Handbook {
    /// The handbook of these items after these operations, in order. One that does not fit any more, because an item is
    /// gone or says something else, is left out: its item stands again.
    pub fn arranged<'a>(items: Vec<Item>, operations: impl IntoIterator<Item = &'a ItemOperation>) -> Self {
        let items = items.into_iter().map(|item| (item.memory, (item, Place::New))).collect();
        let mut handbook = Self { items };
        for operation in operations {
            // What does not fit changes nothing.
            handbook.apply(operation).ok();
        }
        handbook
    }

    /// Changes where one item stands.
    ///
    /// # Errors
    /// Why it cannot be; then nothing is changed.
    pub fn apply(&mut self, operation: &ItemOperation) -> Result<(), Reason> {
        let place = self.placed(operation)?;
        if let Some((_, old)) = self.items.get_mut(&operation.item) {
            *old = place;
        }
        Ok(())
    }

    /// Where an operation puts its item.
    fn placed(&self, operation: &ItemOperation) -> Result<Place, Reason> {
        let (item, place) = self.items.get(&operation.item).ok_or(Reason::UnknownItem)?;
        let other = |id: &MemoryId| match self.items.get(id) {
            None => Err(Reason::UnknownItem),
            Some((other, place)) if place.is_standing() && *id != item.memory => Ok(other),
            Some(_) => Err(Reason::Unfit),
        };
        match (&operation.change, place) {
            (ItemChange::Add { topic }, Place::New) => self.under(topic),
            (ItemChange::Move { topic }, Place::Topic(_)) => match self.under(topic)? {
                same if same == *place => Err(Reason::Unfit),
                other => Ok(other),
            },
            (ItemChange::Merge { into }, place) if place.is_standing() => {
                let into = other(into)?;
                let carries = into.kind == item.kind
                    && alike::carries((&into.title, &into.text), (&item.title, &item.text));
                if carries { Ok(Place::Merged(into.memory)) } else { Err(Reason::SaysMore) }
            }
            (ItemChange::Replace { by }, place) if place.is_standing() => {
                if other(by)?.said_at >= item.said_at { Ok(Place::Replaced(*by)) } else { Err(Reason::Unfit) }
            }
            (ItemChange::Retire, place) if place.is_standing() => Ok(Place::Retired),
            _ => Err(Reason::Unfit),
        }
    }

    /// A place under a topic: that of one which is there, whatever the case, or a new one where there is room.
    fn under(&self, topic: &RedactedText) -> Result<Place, Reason> {
        let topics = self.topics();
        let known = topics.iter().find(|known| text::fold(known) == text::fold(topic));
        match known {
            Some(known) => Ok(Place::Topic(RedactedText::derived(*known))),
            None if topics.len() < TOPICS_MAX => Ok(Place::Topic(topic.clone())),
            None => Err(Reason::TooMany),
        }
    }

    /// The topics that have an item.
    pub fn topics(&self) -> BTreeSet<&str> {
        self.standing().filter_map(|(_, topic)| topic).map(RedactedText::as_str).collect()
    }

    /// How many items there are, wherever they stand.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// An item and where it stands.
    pub fn get(&self, id: &MemoryId) -> Option<(&Item, &Place)> {
        self.items.get(id).map(|(item, place)| (item, place))
    }

    /// The items that the handbook shows, by id, each with its topic; new ones have none.
    pub fn standing(&self) -> impl Iterator<Item = (&Item, Option<&RedactedText>)> {
        self.items.values().filter_map(|(item, place)| match place {
            Place::New => Some((item, None)),
            Place::Topic(topic) => Some((item, Some(topic))),
            _ => None,
        })
    }

    /// An item and those that were merged into it, also by way of others.
    pub fn carried(&self, id: MemoryId) -> Vec<&Item> {
        let mut carried: Vec<&Item> = self.items.get(&id).map(|(item, _)| item).into_iter().collect();
        let mut at = 0;
        while let Some(carrier) = carried.get(at).map(|item| item.memory) {
            at += 1;
            let merged = self.items.values().filter(|(_, place)| *place == Place::Merged(carrier));
            // An item stands when something is merged into it, so no chain of them comes back to itself.
            carried.extend(merged.map(|(item, _)| item));
        }
        carried
    }

    /// The item that says what an item says: itself, or what it was merged into; none where neither is shown.
    pub fn carrier(&self, id: MemoryId) -> Option<MemoryId> {
        let mut carrier = id;
        loop {
            match &self.items.get(&carrier)?.1 {
                Place::Merged(into) => carrier = *into,
                place => return place.is_standing().then_some(carrier),
            }
        }
    }

    /// The past sessions that say what an item says.
    pub fn sessions(&self, id: MemoryId) -> BTreeSet<&SessionId> {
        self.carried(id).into_iter().flat_map(|item| &item.sessions).collect()
    }

    /// Every exchange that an item rests on, with those of what was merged into it.
    pub fn evidence(&self, id: MemoryId) -> BTreeSet<ExchangeId> {
        self.carried(id).into_iter().flat_map(|item| item.evidence.iter().copied()).collect()
    }
}

/// Whether nothing is lost between two states of a handbook but what the operations name: no item is gone, each that is
/// not named stands where it stood, and whatever stood rests on all that it rested on, itself or in what carries it.
pub fn conserves(before: &Handbook, after: &Handbook, operations: &[ItemOperation]) -> bool {
    let named: BTreeSet<MemoryId> = operations.iter().map(|operation| operation.item).collect();
    let taken: BTreeSet<MemoryId> = operations
        .iter()
        .filter(|operation| operation.change.takes_away())
        .flat_map(|operation| before.carried(operation.item).into_iter().chain(after.carried(operation.item)))
        .map(|item| item.memory)
        .collect();
    let resting = |handbook: &Handbook| -> BTreeSet<ExchangeId> {
        handbook.standing().flat_map(|(item, _)| handbook.evidence(item.memory)).collect()
    };
    let rests = resting(after);
    let has_its_place = |(id, (item, place)): (&MemoryId, &(Item, Place))| {
        after.items.get(id).is_some_and(|(_, now)| now == place || named.contains(id))
            && (!place.is_standing()
                || taken.contains(id)
                || item.evidence.iter().all(|exchange| rests.contains(exchange)))
    };
    before.items.len() == after.items.len() && before.items.iter().all(has_its_place)
}
