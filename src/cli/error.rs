//! The failure of a command: whose fault it is, what happened, what to do next.

use std::io;
use std::path::Path;

use super::typed::Typed;
use crate::config::ConfigError;
use crate::daemon::client::{BadArgument, CallError, ConnectError, Refusal};
use crate::home::HomeError;
use crate::setup::SetupError;
use cerebro_core::code::Code;
use cerebro_core::operation::Operation;
use cerebro_models::provider::ProviderError;
use cerebro_service::backup::{BackupError, FileError};

/// Whose fault it is; the exit code shows it to scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Something the user can mend: a missing memory, an unreadable file, a stopped daemon.
    User,
    /// The command line itself.
    Usage,
    /// The program or its daemon failed.
    Internal,
    /// The command has said itself what it could not do.
    Reported,
    /// The reader of our output has closed it, so nothing is reported.
    ReaderGone,
}

impl Kind {
    /// The exit code of the process.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::ReaderGone => 0,
            Self::User | Self::Reported => 1,
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
    /// The kind of failure, if the daemon named it.
    code: Option<Code>,
    /// The argument that the daemon refused.
    argument: Option<Box<BadArgument>>,
    exit_code: u8,
}

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    fn new(kind: Kind, message: impl ToString) -> Self {
        let (message, exit_code) = (message.to_string(), kind.exit_code());
        Self { kind, message, hint: None, code: None, argument: None, exit_code }
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

    /// What the command could not do and has said itself.
    pub fn reported() -> Self {
        Self::new(Kind::Reported, "")
    }

    /// Adds what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Names the argument that the daemon refused as it was typed.
    #[must_use]
    pub fn named(mut self, typed: &Typed) -> Self {
        if let Some(argument) = &self.argument {
            self.message = argument.words(typed.name(&argument.name).as_deref());
        }
        self
    }

    /// Replaces the kind's exit code by one that the caller expects.
    #[must_use]
    pub fn with_exit_code(mut self, exit_code: u8) -> Self {
        self.exit_code = exit_code;
        self
    }

    /// The exit code of the process.
    pub fn exit_code(&self) -> u8 {
        self.exit_code
    }

    /// The kind of failure, if the daemon named it.
    pub fn code(&self) -> Option<Code> {
        self.code
    }

    /// The lines for standard error; `None` if nothing should be reported.
    pub fn lines(&self) -> Option<String> {
        if matches!(self.kind, Kind::Reported | Kind::ReaderGone) {
            return None;
        }
        let hint = self.hint.as_ref().map(|hint| format!("hint: {hint}\n")).unwrap_or_default();
        Some(format!("error: {}\n{hint}", self.message.trim_end()))
    }
}

/// The end of a command that has said itself what it could not do, if it could not do all.
pub fn done_if(is_all_done: bool) -> Result<()> {
    if is_all_done { Ok(()) } else { Err(Error::reported()) }
}

/// Failures that are the user's to mend, and whose words say how.
macro_rules! users {
    ($($failure:ty),+) => {
        $(impl From<$failure> for Error {
            fn from(error: $failure) -> Self {
                Self::user(error)
            }
        })+
    };
}

users!(FileError, HomeError, ProviderError, SetupError);

impl From<BackupError> for Error {
    fn from(error: BackupError) -> Self {
        match error {
            BackupError::NotEmpty(_) => Self::user(error)
                .hint("give --home DIR for an empty home, or --replace, which keeps this one beside it"),
            _ => Self::user(error),
        }
    }
}

impl From<ConfigError> for Error {
    fn from(error: ConfigError) -> Self {
        match error {
            ConfigError::InvalidOption { .. } => Self::user(error),
            _ => Self::user(error).hint("correct the file, or remove it for the defaults"),
        }
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
            CallError::Refused(refusal) => {
                let hint = hint(&refusal);
                let argument = refusal.argument().map(Box::new);
                Self { hint, code: refusal.code, argument, ..Self::user(refusal.message) }
            }
            CallError::Timeout(_) | CallError::Gone | CallError::Protocol { .. } => {
                Self::internal(error).hint("`cerebro daemon logs` shows what the daemon said")
            }
            CallError::Unreadable(_) => {
                Self::internal(error).hint("the daemon has another version: `cerebro daemon stop` ends it")
            }
        }
    }
}

/// What a person can do next, in terms of commands.
fn hint(refusal: &Refusal) -> Option<String> {
    let word = |name: &str| refusal.data[name].as_str().unwrap_or_default();
    let command = |operation: Operation| operation.command().unwrap_or_default();
    let find = || format!("`cerebro {}` finds memories", command(Operation::Search));
    Some(match refusal.code? {
        Code::BadMemoryId | Code::NoMemory | Code::MemoryPurged => find(),
        Code::MemoryDeleted => {
            format!("`cerebro {} {}` brings it back", command(Operation::Restore), word("id"))
        }
        Code::RevisionMismatch => {
            format!("`cerebro {} {}` shows what it is now", command(Operation::GetObservation), word("id"))
        }
        Code::TopicTaken => format!(
            "that one is \"{}\": change it with `cerebro {}`, or choose another key",
            word("title"),
            command(Operation::Update)
        ),
        Code::Corrected => format!(
            "`cerebro {} {}` shows it; if the text is right again, `--revive` of `cerebro {}` and `cerebro {}` takes it all the same",
            command(Operation::GetObservation),
            word("id"),
            command(Operation::Save),
            command(Operation::Update)
        ),
        Code::NoSession => format!("`cerebro {}` lists them", command(Operation::Sessions)),
        Code::NoWork => "`cerebro work list` lists what there is".to_owned(),
        Code::NoProposal => format!("`cerebro {}` lists those that wait", command(Operation::DistilReview)),
        Code::EmptyProject => {
            format!("`cerebro {}` lists those that have something", command(Operation::Projects))
        }
        Code::NoModel => "`cerebro model install` installs one".to_owned(),
        Code::StudioOpen => format!("`cerebro {} --stop` closes it", command(Operation::StudioOpen)),
        Code::IndexBusy | Code::JournalBusy | Code::StoreOpening => "try again in a minute".to_owned(),
        Code::DaemonLeaving | Code::Interrupted => "the same command may be repeated".to_owned(),
        Code::IndexFailed => format!("`cerebro {}` looks at the index", command(Operation::Examine)),
        Code::JournalAltered => {
            format!("`cerebro {}` names every fault of the journal", command(Operation::WorkVerify))
        }
        Code::Internal => "`cerebro daemon logs` shows what happened".to_owned(),
        Code::InvalidArgument
        | Code::PurgeForbidden
        | Code::BackupFailed
        | Code::JournalFailed
        | Code::StoreFailed
        | Code::HomeGone
        | Code::Unanswered
        | Code::Unreachable => return None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

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
            (CallError::Refused(Refusal::in_words("x")).into(), 1),
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
    fn a_refusal_is_what_happened_and_the_command_that_helps() {
        let refusal = |code, data| Refusal { code, message: "no".to_owned(), data };
        for (code, data, want) in [
            (Some(Code::NoMemory), json!({}), Some("`cerebro search` finds memories")),
            (Some(Code::MemoryDeleted), json!({ "id": "k" }), Some("`cerebro restore k` brings it back")),
            (Some(Code::EmptyProject), json!({}), Some("`cerebro projects` lists those that have something")),
            (Some(Code::StoreFailed), json!({}), None),
            (None, Value::Null, None),
        ] {
            let error = Error::from(CallError::Refused(refusal(code, data)));
            assert_eq!((error.hint.as_deref(), error.code()), (want, code));
            assert_eq!(error.to_string(), "no");
        }
    }

    #[test]
    fn an_argument_has_the_name_that_a_person_typed() {
        let words = |data: Value| {
            let code = Some(Code::InvalidArgument);
            let refusal = Refusal { code, message: "argument `a`: no".to_owned(), data };
            Error::from(CallError::Refused(refusal)).named(&Typed::default()).to_string()
        };
        let given = json!({ "argument": "a", "value": "x", "problem": "it is odd" });
        assert_eq!(words(given), "`x`: it is odd", "nobody typed it");
        assert_eq!(words(json!({ "argument": "a", "problem": "it is missing" })), "it is missing");
        assert_eq!(words(json!({ "argument": "a" })), "argument `a`: no", "as an earlier daemon says it");
    }

    #[test]
    fn no_hint_speaks_of_tools() {
        for code in Code::ALL {
            let refusal = Refusal { code: Some(code), message: String::new(), data: Value::Null };
            let hint = hint(&refusal).unwrap_or_default();
            assert!(
                !hint.contains("mem_") && !hint.contains("op_") && !hint.contains("`cerebro `"),
                "{hint}"
            );
        }
    }
}
