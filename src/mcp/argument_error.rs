//! An argument of a call that cannot be parsed.

use serde_json::{Map, Value};

use cerebro_core::code::Code;
use cerebro_core::domain::limits::ECHO_CHARS_MAX;
use cerebro_core::redact;
use cerebro_core::text;

/// How much of an invalid value is redacted for its quotation, in bytes.
const ECHOED_BYTES_MAX: usize = 64 * 1024;

/// An argument that cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("argument `{name}`{}: {problem}", .value.as_ref().map(|value| format!(" = `{value}`")).unwrap_or_default())]
pub struct ArgumentError {
    code: Code,
    name: String,
    value: Option<String>,
    problem: String,
}

impl ArgumentError {
    /// An error about one argument. It quotes the beginning of the value.
    pub fn new(name: &str, value: Option<&str>, problem: impl Into<String>) -> Self {
        let value = value.map(echo);
        Self { code: Code::InvalidArgument, name: name.to_owned(), value, problem: problem.into() }
    }

    /// An error about a value that a parser refused, in the parser's words.
    pub fn unread<E: ToString>(name: &str, value: &str) -> impl FnOnce(E) -> Self {
        move |problem| Self::new(name, Some(value), problem.to_string())
    }

    /// The same error, about a memory's id.
    pub(super) fn of_memory_id(self) -> Self {
        Self { code: Code::BadMemoryId, ..self }
    }

    /// What kind of failure it is.
    pub fn code(&self) -> Code {
        self.code
    }

    /// The argument, its value and what is wrong with it.
    pub fn data(&self) -> Map<String, Value> {
        let facts = [
            ("argument", Some(&self.name)),
            ("value", self.value.as_ref()),
            ("problem", Some(&self.problem)),
        ];
        facts.into_iter().filter_map(|(name, fact)| Some((name.to_owned(), fact?.as_str().into()))).collect()
    }
}

/// The beginning of an invalid value, redacted.
pub(super) fn echo(value: &str) -> String {
    // The cut is far behind what is quoted, so no part of a secret that it cuts is quoted.
    let value = text::cut_bytes(value, ECHOED_BYTES_MAX);
    let line = text::one_line(&redact::redact_secrets(value));
    text::cut_chars(&line, ECHO_CHARS_MAX).into_owned()
}
