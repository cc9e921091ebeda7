//! Figures over all memories of a store, computed on demand by adding each of them.

use std::collections::BTreeMap;

use super::nature::{faded_since, is_exempt, is_open, nature};
use crate::domain::{Memory, Nature, ScopeName, Timestamp, Validity};

/// Strength below which a memory has faded; an episode gets there after a good six years.
const FADED_BELOW: f64 = 0.5;

/// What the figures need of a memory, as long as nobody writes it; what depends on the moment is computed from that.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Vital {
    /// Whether it counts at all.
    pub is_live: bool,
    /// When its text was written.
    pub updated_at: Timestamp,
    nature: Nature,
    scope: ScopeName,
    /// Since when it loses strength, if it does not take another's place; `None` if it never does.
    fades_since: Option<Timestamp>,
    /// Whether it is to be done, wherever one is in its project.
    is_open: bool,
    valid: Validity,
    is_flagged: bool,
}

impl From<&Memory> for Vital {
    fn from(memory: &Memory) -> Self {
        Self {
            is_live: memory.is_live(),
            updated_at: memory.updated_at,
            nature: nature(memory),
            scope: memory.scope.name(),
            fades_since: (!is_exempt(memory, false)).then_some(memory.last_seen_at),
            is_open: is_open(memory) && memory.trigger.is_none(),
            valid: memory.valid,
            is_flagged: !memory.taint.flags.is_empty(),
        }
    }
}

/// Figures over live memories.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Vitals {
    /// The number of live memories.
    pub live: u64,
    /// The sum of their strengths.
    strengths: f64,
    /// The lowest strength; `None` without memories.
    pub weakest: Option<f64>,
    /// How many have faded.
    pub faded: u64,
    /// The number of each kind.
    pub kinds: BTreeMap<&'static str, u64>,
    /// The number of each scope.
    pub scopes: BTreeMap<&'static str, u64>,
    /// How many prospective memories are due.
    pub due: u64,
    /// How many are expired.
    pub expired: u64,
    /// How many are flagged.
    pub flagged: u64,
}

/// The places that a memory has in chains of supersession.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Superseding {
    /// It took another's place, so it does not fade.
    pub another: bool,
    /// Another took its place.
    pub by_another: bool,
}

impl Vitals {
    /// Adds a memory; one that is not live is ignored.
    pub fn take(&mut self, memory: &Vital, superseding: Superseding, now: Timestamp) {
        if !memory.is_live {
            return;
        }
        let fades_since = memory.fades_since.filter(|_| !superseding.another);
        let left = fades_since.map_or(1.0, |seen| faded_since(seen, now));
        self.live += 1;
        self.strengths += left;
        self.weakest = Some(self.weakest.map_or(left, |weakest| weakest.min(left)));
        self.faded += u64::from(left < FADED_BELOW);
        *self.kinds.entry(memory.nature.as_str()).or_default() += 1;
        *self.scopes.entry(memory.scope.as_str()).or_default() += 1;
        self.due += u64::from(memory.is_open && !superseding.by_another && memory.valid.holds_at(now));
        self.expired += u64::from(memory.valid.is_over(now));
        self.flagged += u64::from(memory.is_flagged);
    }

    /// The average strength; `None` without memories.
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
    fn figures_count_live_memories_in_their_present_state() {
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
            vitals.take(&memory.into(), Superseding::default(), at(180));
        }
        assert_eq!((vitals.live, vitals.due, vitals.expired, vitals.flagged, vitals.faded), (5, 1, 1, 1, 0));
        assert_eq!(vitals.kinds, [("episodic", 2), ("prospective", 2), ("semantic", 1)].into());
        assert_eq!(vitals.scopes, [("personal", 1), ("project", 4)].into());
        assert!((vitals.weakest.unwrap() - 0.9).abs() < 1e-9, "{vitals:?}");
        assert!((vitals.average().unwrap() - 4.9 / 5.0).abs() < 1e-9, "{vitals:?}");
        let mut old = Vitals::default();
        old.take(&(&memory("session_summary")).into(), Superseding::default(), at(10_000));
        assert_eq!(old.faded, 1);
        let mut exempt = Vitals::default();
        let another = Superseding { another: true, by_another: false };
        exempt.take(&(&memory("session_summary")).into(), another, at(10_000));
        assert_eq!((exempt.faded, exempt.weakest), (0, Some(1.0)));
        let mut superseded = Vitals::default();
        let by_another = Superseding { another: false, by_another: true };
        superseded.take(&(&memory("todo")).into(), by_another, at(180));
        assert_eq!((superseded.live, superseded.due), (1, 0), "what took its place is to be done");
    }
}
