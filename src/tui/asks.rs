//! The requests to the daemon that are not answered yet.
//!
//! Each part of a screen has one request at a time. Requests are numbered, and answers to older ones are dropped. A
//! request that only reads is repeated if the connection was lost meanwhile.

use std::collections::BTreeMap;

use cerebro_core::operation::Operation;
use serde_json::Value;

/// Ticks after which a wait is shown.
const PATIENCE_TICKS: u64 = 1;

/// The part of a screen to which a request belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Slot {
    Stats,
    Activity,
    Clients,
    Projects,
    Live,
    /// A page of the list of memories, by its number.
    Page(usize),
    Search,
    Memory,
    Revisions,
    /// The relations of a memory in the tree.
    Branch,
    Sessions,
    SessionDetail,
    /// A whole exchange of a past session.
    Exchange,
    Centre,
    Around,
    Works,
    Work,
    Proposals,
    Proposal,
    /// A change; never repeated.
    Change,
    /// An edited text; never repeated.
    Save,
}

impl Slot {
    /// Whether repeating it is harmless.
    fn only_reads(self) -> bool {
        !matches!(self, Self::Change | Self::Save)
    }
}

/// A request.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    pub number: u64,
    pub slot: Slot,
    pub operation: Operation,
    pub arguments: Value,
}

#[derive(Debug)]
struct Flying {
    ask: Ask,
    since: u64,
}

/// The requests under way, and those that wait to be sent.
#[derive(Debug, Default)]
pub struct Asks {
    last: u64,
    flying: BTreeMap<Slot, Flying>,
    out: Vec<Ask>,
    connected: bool,
    tick: u64,
}

impl Asks {
    /// Adds a request. The answer to an earlier one of the same slot will be dropped, unless that was a change. Returns
    /// `false` if it is a change and there is no connection.
    pub fn ask(&mut self, slot: Slot, operation: Operation, arguments: Value) -> bool {
        if !self.connected && !slot.only_reads() {
            return false;
        }
        self.last += 1;
        let ask = Ask { number: self.last, slot, operation, arguments };
        if self.connected {
            self.out.push(ask.clone());
        }
        self.flying.insert(slot, Flying { ask, since: self.tick });
        true
    }

    /// Whether a request of this slot is unanswered.
    pub fn is_waiting(&self, slot: Slot) -> bool {
        self.flying.contains_key(&slot)
    }

    /// Whether a request of this slot with these arguments is unanswered.
    pub fn is_asking(&self, slot: Slot, arguments: &Value) -> bool {
        self.flying.get(&slot).is_some_and(|flying| flying.ask.arguments == *arguments)
    }

    /// Whether a request for which a person waits is unanswered.
    pub fn is_any_waiting(&self) -> bool {
        self.flying.keys().any(|slot| *slot != Slot::Live)
    }

    /// Whether a person has waited so long that the wait should be shown.
    pub fn is_slow(&self) -> bool {
        let late = |flying: &Flying| self.tick > flying.since + PATIENCE_TICKS;
        self.flying.iter().any(|(slot, flying)| *slot != Slot::Live && late(flying))
    }

    /// Records an answer. Returns whether it counts: it is for the last request of its slot, or for a change.
    pub fn is_answer(&mut self, slot: Slot, number: u64) -> bool {
        let current = self.flying.get(&slot).is_some_and(|flying| flying.ask.number == number);
        if current {
            self.flying.remove(&slot);
        }
        current || slot == Slot::Change
    }

    /// Records that a request was lost with its connection. Returns `true` if it is not repeated.
    pub fn is_lost(&mut self, slot: Slot, number: u64) -> bool {
        !slot.only_reads() && self.is_answer(slot, number)
    }

    /// Drops the requests of some slots.
    pub fn forget(&mut self, which: impl Fn(Slot) -> bool) {
        self.flying.retain(|slot, _| !which(*slot));
        self.out.retain(|ask| !which(ask.slot));
    }

    /// Records a new connection. Unanswered reads are sent again.
    pub fn connect(&mut self) {
        self.connected = true;
        self.out = self.flying.values().map(|flying| flying.ask.clone()).collect();
    }

    /// Records that the connection is lost.
    pub fn disconnect(&mut self) {
        self.connected = false;
        self.out.clear();
    }

    /// Counts one tick.
    pub fn tick(&mut self) {
        self.tick += 1;
    }

    /// Takes the requests to send now.
    pub fn take(&mut self) -> Vec<Ask> {
        std::mem::take(&mut self.out)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn numbers(asks: &mut Asks) -> Vec<u64> {
        asks.take().iter().map(|ask| ask.number).collect()
    }

    #[test]
    fn only_the_answer_to_the_last_question_counts() {
        let mut asks = Asks::default();
        asks.connect();
        asks.ask(Slot::Search, Operation::Search, json!(1));
        asks.ask(Slot::Search, Operation::Search, json!(2));
        assert_eq!(numbers(&mut asks), [1, 2]);
        assert!(!asks.is_answer(Slot::Search, 1) && asks.is_waiting(Slot::Search));
        assert!(asks.is_answer(Slot::Search, 2) && !asks.is_waiting(Slot::Search));
        asks.ask(Slot::Page(3), Operation::Browse, json!(3));
        asks.forget(|slot| matches!(slot, Slot::Page(_)));
        assert!(!asks.is_answer(Slot::Page(3), 3));
    }

    #[test]
    fn the_answer_to_each_change_counts() {
        let mut asks = Asks::default();
        asks.connect();
        asks.ask(Slot::Change, Operation::Pin, json!(1));
        asks.ask(Slot::Change, Operation::Pin, json!(2));
        assert!(asks.is_answer(Slot::Change, 1) && asks.is_waiting(Slot::Change));
        assert!(asks.is_lost(Slot::Change, 2) && !asks.is_waiting(Slot::Change));
    }

    #[test]
    fn what_reads_is_asked_again_and_what_writes_is_not() {
        let mut asks = Asks::default();
        assert!(!asks.ask(Slot::Change, Operation::Pin, json!(1)), "a change needs a connection");
        asks.ask(Slot::Stats, Operation::Stats, json!(1));
        assert!(asks.take().is_empty());
        asks.connect();
        assert_eq!(numbers(&mut asks), [1]);
        asks.ask(Slot::Change, Operation::Pin, json!(1));
        assert_eq!(numbers(&mut asks), [2]);
        assert!(asks.is_lost(Slot::Change, 2) && !asks.is_lost(Slot::Stats, 1));
        asks.disconnect();
        asks.connect();
        assert_eq!(numbers(&mut asks), [1]);
    }

    #[test]
    fn a_wait_is_shown_when_it_is_long() {
        let mut asks = Asks::default();
        asks.connect();
        asks.ask(Slot::Stats, Operation::Stats, json!(1));
        assert!(!asks.is_slow() && asks.is_any_waiting());
        asks.tick();
        asks.tick();
        assert!(asks.is_slow());
    }
}
