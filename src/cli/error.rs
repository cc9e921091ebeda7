//! Why a command did not do what it was asked: whose fault it is, what happened, what to do next.

use std::io;
use std::path::Path;

use crate::config::ConfigError;
use crate::daemon::client::{CallError, ConnectError};
use crate::home::HomeError;
use crate::setup::SetupError;
use cerebro_models::provider::ProviderError;

/// Whose fault it is; scripts tell it by the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Something the user can mend: a missing memory, an unreadable file, a stopped daemon.
    User,
    /// The command line itself.
    Usage,
    /// The program or its daemon failed.
    Internal,
    /// Whoever read our output has gone; there is nobody to tell.
    ReaderGone,
}

impl Kind {
    /// The exit code of the process.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::ReaderGone => 0,
            Self::User => 1,
            Self::Usage => 2,
            Self::Internal => 3,
        }
    }
}

/// A command's failure, in words for a person.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    kind: Kind,
    message: String,
    hint: Option<String>,
    exit_code: u8,
}

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    fn new(kind: Kind, message: impl ToString) -> Self {
        Self { kind, message: message.to_string(), hint: None, exit_code: kind.exit_code() }
    }

    /// Something the user can mend.
    pub fn user(message: impl ToString) -> Self {
        Self::new(Kind::User, message)
    }

    /// A command line that makes no sense.
    pub fn usage(message: impl ToString) -> Self {
        Self::new(Kind::Usage, message)
    }

    /// A fault of the program or its daemon.
    pub fn internal(message: impl ToString) -> Self {
        Self::new(Kind::Internal, message)
    }

    /// A file that cannot be read or written.
    pub fn file(verb: &str, path: &Path, error: &io::Error) -> Self {
        Self::user(format!("cannot {verb} {}: {error}", path.display()))
    }

    /// A fault of a standard stream; a reader that has gone is no fault.
    pub fn stream(name: &str, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::new(Kind::ReaderGone, error),
            _ => Self::user(format!("cannot use {name}: {error}")),
        }
    }

    /// Adds what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Sets an exit code that somebody waits for, in place of the kind's.
    #[must_use]
    pub fn with_exit_code(mut self, exit_code: u8) -> Self {
        self.exit_code = exit_code;
        self
    }

    /// The exit code of the process.
    pub fn exit_code(&self) -> u8 {
        self.exit_code
    }

    /// The lines for standard error; none when nobody needs to be told.
    pub fn lines(&self) -> Option<String> {
        if self.kind == Kind::ReaderGone {
            return None;
        }
        let hint = self.hint.as_ref().map(|hint| format!("hint: {hint}\n")).unwrap_or_default();
        Some(format!("error: {}\n{hint}", self.message.trim_end()))
    }
}

impl From<HomeError> for Error {
    fn from(error: HomeError) -> Self {
        Self::user(error)
    }
}

impl From<ConfigError> for Error {
    fn from(error: ConfigError) -> Self {
        match error {
            ConfigError::Asked { .. } => Self::user(error),
            _ => Self::user(error).hint("correct the file, or remove it for the defaults"),
        }
    }
}

impl From<SetupError> for Error {
    fn from(error: SetupError) -> Self {
        Self::user(error)
    }
}

impl From<ProviderError> for Error {
    fn from(error: ProviderError) -> Self {
        Self::user(error)
    }
}

impl From<ConnectError> for Error {
    fn from(error: ConnectError) -> Self {
        match error {
            ConnectError::NotRunning
            | ConnectError::Standalone(_)
            | ConnectError::OtherProtocol { .. }
            | ConnectError::Misconfigured { .. }
            | ConnectError::Untrusted(_)
            | ConnectError::Held { .. } => Self::user(error),
            ConnectError::Spawn(_) | ConnectError::Ended { .. } | ConnectError::NotReady { .. } => {
                Self::internal(error).hint("`cerebro daemon logs` shows what the daemon said")
            }
        }
    }
}

impl From<CallError> for Error {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Tool { message } => Self::user(for_people(&message)),
            CallError::Timeout(_) | CallError::Gone | CallError::Protocol { .. } => {
                Self::internal(error).hint("`cerebro daemon logs` shows what the daemon said")
            }
        }
    }
}

/// The commands that do what an agent's tools do, by the tools' names. A name that begins with
/// another comes before it.
const COMMANDS: [(&str, &str); 12] = [
    ("mem_get_observation", "`cerebro get`"),
    ("mem_search", "`cerebro search`"),
    ("mem_save_prompt", "`cerebro mcp`"),
    ("mem_save", "`cerebro save`"),
    ("mem_update", "`cerebro update`"),
    ("mem_delete", "`cerebro delete`"),
    ("mem_timeline", "`cerebro timeline`"),
    ("mem_context", "`cerebro context`"),
    ("mem_stats", "`cerebro stats`"),
    ("mem_session_start", "`cerebro mcp`"),
    ("mem_session_summary", "`cerebro mcp`"),
    ("mem_session_end", "`cerebro mcp`"),
];

/// Says a tool's advice in terms of commands.
fn for_people(message: &str) -> String {
    COMMANDS.iter().fold(message.to_owned(), |text, (tool, command)| text.replace(tool, command))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_tell_whose_fault_it_is() {
        for (error, code) in [
            (Error::user("x"), 1),
            (Error::usage("x"), 2),
            (Error::internal("x"), 3),
            (Error::user("x").with_exit_code(7), 7),
            (Error::stream("x", &io::ErrorKind::BrokenPipe.into()), 0),
            (Error::stream("x", &io::ErrorKind::StorageFull.into()), 1),
            (ConnectError::NotRunning.into(), 1),
            (CallError::Gone.into(), 3),
            (CallError::Tool { message: "x".to_owned() }.into(), 1),
        ] {
            assert_eq!(error.exit_code(), code, "{error:?}");
        }
    }

    #[test]
    fn an_error_is_a_line_and_a_hint() {
        assert_eq!(Error::user("no\n").lines().unwrap(), "error: no\n");
        assert_eq!(Error::user("no").hint("do").lines().unwrap(), "error: no\nhint: do\n");
        assert_eq!(Error::stream("x", &io::ErrorKind::BrokenPipe.into()).lines(), None);
    }

    #[test]
    fn advice_for_agents_becomes_advice_for_people() {
        assert_eq!(
            for_people("no memory `x`; search with mem_search"),
            "no memory `x`; search with `cerebro search`"
        );
        assert_eq!(for_people("mem_save_prompt, mem_save"), "`cerebro mcp`, `cerebro save`");
    }
}
