//! How the memories of a store stand, taken together: folded from each of them, at the moment when somebody asks.

use std::collections::BTreeMap;

use super::nature::{is_due, nature, strength};
use crate::domain::{Memory, Timestamp};

/// Strength below which a memory has faded: after a good six years for what nothing exempts.
const FADED_BELOW: f64 = 0.5;

/// Figures over live memories.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Vitals {
    /// How many there are.
    pub live: u64,
    /// The sum of what each has left of its strength.
    strengths: f64,
    /// The least that one has left; none without memories.
    pub weakest: Option<f64>,
    /// How many have less than half of it left.
    pub faded: u64,
    /// How many are of each kind.
    pub kinds: BTreeMap<&'static str, u64>,
    /// How many are for whom.
    pub scopes: BTreeMap<&'static str, u64>,
    /// Things to be done by now.
    pub due: u64,
    /// Those whose last day is over.
    pub expired: u64,
    /// Those that read like an instruction.
    pub flagged: u64,
}

impl Vitals {
    /// Counts one more memory; one that is not live counts nothing. `has_superseded` says that it took another's place.
    pub fn take(&mut self, memory: &Memory, has_superseded: bool, now: Timestamp) {
        if !memory.is_live() {
            return;
        }
        let left = strength(memory, has_superseded, now);
        self.live += 1;
        self.strengths += left;
        self.weakest = Some(self.weakest.map_or(left, |weakest| weakest.min(left)));
        self.faded += u64::from(left < FADED_BELOW);
        *self.kinds.entry(nature(memory).as_str()).or_default() += 1;
        *self.scopes.entry(memory.scope.as_str()).or_default() += 1;
        self.due += u64::from(is_due(memory, now));
        self.expired += u64::from(memory.valid.is_over(now));
        self.flagged += u64::from(!memory.taint.flags.is_empty());
    }

    /// What they have left of their strength on average; none without memories.
    pub fn average(&self) -> Option<f64> {
        (self.live > 0).then(|| self.strengths / self.live as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::super::nature::tests::{at, memory};
    use super::*;
    use crate::domain::{Flag, Scope, Validity};

    #[test]
    fn each_live_memory_counts_by_what_it_is_now() {
        let over = Validity { from: None, until: Some(at(1)) };
        let mut flagged = memory("decision");
        flagged.taint.flags = vec![Flag::Override];
        let memories = [
            memory("session_summary"),
            memory("todo"),
            Memory { valid: over, ..memory("todo") },
            memory("session_summary").with(|memory| memory.scope = Scope::Personal),
            flagged,
            Memory { deleted_at: Some(at(2)), ..memory("todo") },
        ];
        let mut vitals = Vitals::default();
        assert_eq!((vitals.average(), vitals.weakest), (None, None));
        for memory in &memories {
            vitals.take(memory, false, at(180));
        }
        assert_eq!((vitals.live, vitals.due, vitals.expired, vitals.flagged, vitals.faded), (5, 1, 1, 1, 0));
        assert_eq!(vitals.kinds, [("episodic", 2), ("prospective", 2), ("semantic", 1)].into());
        assert_eq!(vitals.scopes, [("personal", 1), ("project", 4)].into());
        assert!((vitals.weakest.unwrap() - 0.9).abs() < 1e-9, "{vitals:?}");
        assert!((vitals.average().unwrap() - 4.9 / 5.0).abs() < 1e-9, "{vitals:?}");
        let mut old = Vitals::default();
        old.take(&memory("session_summary"), false, at(10_000));
        assert_eq!(old.faded, 1);
        let mut kept = Vitals::default();
        kept.take(&memory("session_summary"), true, at(10_000));
        assert_eq!((kept.faded, kept.weakest), (0, Some(1.0)));
    }
}
