//! What each signal weighs.

use serde::{Deserialize, Serialize};

/// A reason to rank a memory higher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    Words,
    Meaning,
    Neighbours,
    Session,
    Opening,
    Used,
    Related,
}

impl Signal {
    /// Every signal by the name that it has in an explanation.
    pub const ALL: [(&str, Self); 7] = [
        ("words", Self::Words),
        ("meaning", Self::Meaning),
        ("neighbours", Self::Neighbours),
        ("session", Self::Session),
        ("opening", Self::Opening),
        ("used", Self::Used),
        ("related", Self::Related),
    ];

    /// Whether it has a weight by default. The others can be measured, and used by giving them a weight.
    pub fn is_on(self) -> bool {
        !matches!(self, Self::Used | Self::Related)
    }

    /// The signal of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, signal)| *signal)
    }
}

/// The weight of each signal. Every search uses [`Weights::default`]; an evaluation may override single weights.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Weights {
    /// The words, relative to the meaning where both are known.
    pub words: f32,
    pub meaning: f32,
    /// The share of its own score that a memory lends to those one and two places before and after it.
    pub neighbours: [f32; super::REACH],
    /// The share of its own score that the best of a session lends to the whole of it.
    pub session: f32,
    /// The most that a person of the question at the head of a memory adds; the best own score is 1.
    pub name: f32,
    /// The most that a memory gains from earlier use, as a share of its own score.
    pub used: f32,
    /// The share of its own score that a memory lends to related memories.
    pub related: f32,
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            words: 0.35,
            meaning: 0.65,
            neighbours: [0.25, 0.12],
            session: 0.3,
            name: 0.7,
            used: 0.0,
            related: 0.0,
        }
    }
}

impl Weights {
    /// The weights without one signal, to measure its worth.
    #[must_use]
    pub fn without(mut self, signal: Signal) -> Self {
        match signal {
            Signal::Words => self.words = 0.0,
            Signal::Meaning => self.meaning = 0.0,
            Signal::Neighbours => self.neighbours = [0.0; super::REACH],
            Signal::Session => self.session = 0.0,
            Signal::Opening => self.name = 0.0,
            Signal::Used => self.used = 0.0,
            Signal::Related => self.related = 0.0,
        }
        self
    }

    /// The weights with a signal that is off by default, to measure its worth.
    #[must_use]
    pub fn with(mut self, signal: Signal) -> Self {
        match signal {
            Signal::Used => self.used = 0.03,
            Signal::Related => self.related = 0.1,
            _ => {}
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_signal_can_be_left_out() {
        let all = Weights::default();
        for (name, signal) in Signal::ALL {
            assert_eq!(Signal::parse(name), Some(signal));
            let less = all.without(signal);
            assert_eq!(less != all, signal.is_on(), "{name}");
            assert_eq!(less.without(signal), less, "{name}");
            assert_eq!(all.with(signal) != all, !signal.is_on(), "{name}");
            assert_eq!(all.with(signal).without(signal), less, "{name}");
        }
        assert_eq!(Signal::parse("nothing"), None);
    }
}
