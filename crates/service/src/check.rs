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
    /// The finding, in words; and what to do, if the user must act.
    pub words: String,
}

impl Check {
    /// A check that held.
    pub fn sound(name: &'static str, words: impl Into<String>) -> Self {
        Self { name, health: Health::Sound, words: words.into() }
    }

    /// A check that did not hold.
    pub fn failed(name: &'static str, words: impl Into<String>) -> Self {
        Self { name, health: Health::Failed, words: words.into() }
    }

    /// A check that could not be made.
    pub fn unknown(name: &'static str, words: impl Into<String>) -> Self {
        Self { name, health: Health::Unknown, words: words.into() }
    }

    /// The same, after it was repaired.
    #[must_use]
    pub fn repaired(self) -> Self {
        Self { health: Health::Repaired, ..self }
    }
}
