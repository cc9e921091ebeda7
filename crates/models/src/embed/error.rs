//! Why there is no vector.

use std::time::Duration;

/// Why there is no vector.
#[derive(Debug, Clone, thiserror::Error)]
pub enum EmbedError {
    /// The model or its runtime is missing or not what it should be; a person has to mend it.
    #[error("{0}")]
    Unusable(String),
    /// The provider refuses these texts, now and later.
    #[error("{provider} refuses the text: {reason}")]
    Refused {
        /// Who.
        provider: String,
        /// In its words, without the text.
        reason: String,
    },
    /// Not now: it is busy, away, or its limit is reached.
    #[error("{provider} does not answer now: {reason}")]
    Later {
        /// Who.
        provider: String,
        /// In its words.
        reason: String,
        /// When to ask again, where it says so.
        after: Option<Duration>,
    },
}

impl EmbedError {
    /// Something that a person has to mend.
    pub fn unusable(reason: impl Into<String>) -> Self {
        Self::Unusable(reason.into())
    }

    /// Whether the same call may succeed later.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Later { .. })
    }
}
