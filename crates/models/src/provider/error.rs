//! The errors of providers, remote ones and those on this machine.

use std::time::Duration;

use super::KeyError;

/// Why there is no answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ProviderError {
    /// The provider cannot be used as it is set up: a model, its runtime or a setting is missing or wrong. A person
    /// has to change something; the message says what.
    #[error("{0}")]
    Unusable(String),
    /// The key is missing, unreadable, or may not be sent to this server.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// ONNX Runtime may not be loaded, because it would report to its maker.
    #[error(
        "ONNX Runtime is not loaded: it would keep a device id and report its use over the network, unless the \
         process was started with {variable}=1; start it with that"
    )]
    Telemetry {
        /// The environment variable that is missing.
        variable: &'static str,
    },
    /// The provider refuses these texts, permanently.
    #[error("{provider} refuses the text: {reason}")]
    Refused {
        /// `provider/model`.
        provider: String,
        /// Its message, without the text.
        reason: String,
    },
    /// The model does not take the form of the request and answered nothing. The next request has another form.
    #[error("{provider} takes no request of that form; the next one has another")]
    FormRefused {
        /// `provider/model`.
        provider: String,
    },
    /// The provider is busy or unreachable, or its limit is reached. The same request may succeed later.
    #[error("{provider} does not answer now: {reason}")]
    Later {
        /// `provider/model`.
        provider: String,
        /// Its message.
        reason: String,
        /// When to retry, if it says so: at most `RETRY_AFTER_MAX`.
        after: Option<Duration>,
    },
}

impl ProviderError {
    /// An error that a person has to resolve.
    pub fn unusable(reason: impl Into<String>) -> Self {
        Self::Unusable(reason.into())
    }

    /// Whether the same request may succeed later.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Later { .. })
    }
}
