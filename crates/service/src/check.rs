//! One check of the doctor and what it found. Capabilities make the checks of what they own.

use cerebro_core::named;

named! {
    /// What a check found.
    pub enum Health {
        /// It holds.
        Sound = "ok",
        /// It does not hold.
        Failed = "fault",
        /// It did not hold and was repaired.
        Repaired = "fixed",
        /// It could not be checked.
        Unknown = "unknown",
    }
}

/// One check and what it found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    pub name: &'static str,
    pub health: Health,
    /// The finding, in words.
    pub words: String,
    /// Whether it did not hold, and a run that repairs would repair that.
    pub is_repairable: bool,
}

impl Check {
    fn new(name: &'static str, health: Health, words: impl Into<String>) -> Self {
        Self { name, health, words: words.into(), is_repairable: false }
    }

    /// A check that held.
    pub fn sound(name: &'static str, words: impl Into<String>) -> Self {
        Self::new(name, Health::Sound, words)
    }

    /// A check that did not hold.
    pub fn failed(name: &'static str, words: impl Into<String>) -> Self {
        Self::new(name, Health::Failed, words)
    }

    /// A check that did not hold and can be repaired.
    pub fn repairable(name: &'static str, words: impl Into<String>) -> Self {
        Self { is_repairable: true, ..Self::failed(name, words) }
    }

    /// A check that could not be made.
    pub fn unknown(name: &'static str, words: impl Into<String>) -> Self {
        Self::new(name, Health::Unknown, words)
    }

    /// The same, after it was repaired.
    #[must_use]
    pub fn repaired(self) -> Self {
        Self { health: Health::Repaired, is_repairable: false, ..self }
    }
}
