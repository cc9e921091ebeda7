//! Pages for failures: what happened, and what a person can do next.

use askama::Template;
use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};

use super::html::parameter::Unread;
use super::shell::{Shell, page};
use crate::daemon::client::{CallError, Refusal};
use cerebro_core::code::Code;
use cerebro_core::text;

/// Longest quotation of an address in the words of a failure, in characters: it must fit a line.
const WORDS_CHARS_MAX: usize = 160;

/// A page that is shown instead of the requested one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    status: StatusCode,
    title: String,
    words: String,
    /// The daemon's code, if the daemon refused.
    code: Option<Code>,
    /// Whether the browser is not admitted. Then the page has no links to other pages.
    is_locked: bool,
}

#[derive(Template)]
#[template(path = "failure.html")]
struct FailurePage<'a> {
    shell: Shell,
    failure: &'a Failure,
}

impl Failure {
    pub(super) fn new(status: StatusCode, title: impl Into<String>, words: impl Into<String>) -> Self {
        Self { status, title: title.into(), words: words.into(), code: None, is_locked: false }
    }

    /// For an address that does not exist.
    pub(super) fn nothing() -> Self {
        Self::new(StatusCode::NOT_FOUND, "There is no such page.", "The address may be mistyped.")
    }

    /// For an address that only a button leads to.
    pub(super) fn no_form() -> Self {
        let words = "The address belongs to a button. Go back to the page with the button.";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "There is nothing to see here.", words)
    }

    /// For a browser without a valid cookie.
    pub(super) fn no_cookie() -> Self {
        Self::locked("Open the link that cerebro web printed. It works once, in one browser.")
    }

    /// For a link that does not open the page any more.
    pub(super) fn used_link() -> Self {
        Self::locked("This link was used before, or replaced by a newer one. cerebro web prints a new link.")
    }

    fn locked(words: &str) -> Self {
        Self { is_locked: true, ..Self::new(StatusCode::FORBIDDEN, "This page is locked.", words) }
    }

    /// Turns an invalid argument into "not found", because in an address both mean the same.
    pub(super) fn absent(self) -> Self {
        match self.status {
            StatusCode::BAD_REQUEST => Self::new(StatusCode::NOT_FOUND, "There is nothing here.", self.words),
            _ => self,
        }
    }

    /// What happened, and what to do next.
    pub(super) fn words(&self) -> &str {
        &self.words
    }

    pub(super) fn status(&self) -> StatusCode {
        self.status
    }

    /// Whether another client changed the memory meanwhile.
    pub(super) fn is_late(&self) -> bool {
        self.code == Some(Code::RevisionMismatch)
    }
}

/// For a part of an address that the page does not have, or cannot read.
impl From<Unread> for Failure {
    fn from(Unread { name, value }: Unread) -> Self {
        let words = crate::view::clean_line(&format!("The page cannot read {name}={value} in its address."));
        Self::new(StatusCode::BAD_REQUEST, "That cannot be done.", text::cut_chars(&words, WORDS_CHARS_MAX))
    }
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Refused(refusal) => refused(refusal),
            CallError::Timeout(_) => Self::new(
                StatusCode::GATEWAY_TIMEOUT,
                "This takes long.",
                "The daemon has not answered yet. The request may still be carried out: look again in a minute.",
            ),
            CallError::Gone => Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "The daemon is ending.",
                "Start cerebro web again for a new link.",
            ),
            CallError::Protocol { message } => {
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, "Something went wrong.", message)
            }
            CallError::Unreadable(other) => {
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, "Something went wrong.", other.to_string())
            }
        }
    }
}

fn refused(refusal: Refusal) -> Failure {
    let Some(code) = refusal.code else {
        return Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "Something went wrong.", refusal.message);
    };
    let (status, title, next) = match code {
        Code::NoMemory
        | Code::NoSession
        | Code::NoWork
        | Code::NoProposal
        | Code::EmptyProject
        | Code::BadMemoryId => (StatusCode::NOT_FOUND, "There is nothing here.", ""),
        Code::MemoryPurged => (StatusCode::GONE, "This memory was destroyed.", ""),
        Code::InvalidArgument => (StatusCode::BAD_REQUEST, "That cannot be done.", ""),
        Code::MemoryDeleted => (StatusCode::CONFLICT, "This memory is deleted.", "Restore it first."),
        Code::RevisionMismatch => {
            (StatusCode::CONFLICT, "Somebody changed this memory meanwhile.", "Read it again.")
        }
        Code::TopicTaken => (StatusCode::CONFLICT, "Another memory has this topic key.", ""),
        Code::Corrected => (
            StatusCode::UNPROCESSABLE_ENTITY,
            "This text was corrected before.",
            "If it is right again, cerebro save --revive stores it.",
        ),
        Code::NoModel => (StatusCode::CONFLICT, "No model is set.", "cerebro model lists the models."),
        Code::PurgeForbidden => (StatusCode::FORBIDDEN, "That cannot be done.", ""),
        Code::Interrupted | Code::Unanswered => (
            StatusCode::GATEWAY_TIMEOUT,
            "This takes long.",
            "The request may have been carried out: look again.",
        ),
        Code::IndexBusy | Code::JournalBusy | Code::StoreOpening | Code::DaemonLeaving => {
            (StatusCode::SERVICE_UNAVAILABLE, "Not yet.", "Try again in a minute.")
        }
        Code::HomeGone => (StatusCode::SERVICE_UNAVAILABLE, "The memory's folder is gone.", ""),
        _ => (
            StatusCode::INTERNAL_SERVER_ERROR,
            "Something went wrong.",
            "cerebro doctor finds the cause; cerebro daemon logs shows details.",
        ),
    };
    let message =
        refusal.argument().map_or(refusal.message, |argument| argument.words(Some(&label(&argument.name))));
    let message = message.trim_end_matches('.');
    let words = format!("{message}. {next}");
    Failure { code: Some(code), ..Failure::new(status, title, words.trim()) }
}

/// An argument's name as the page's forms have it.
fn label(argument: &str) -> String {
    let words = argument.replace('_', " ");
    let mut rest = words.chars();
    rest.next().into_iter().flat_map(char::to_uppercase).chain(rest).collect()
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let shell = Shell::titled(&self.title, "").locked(self.is_locked);
        page(self.status, &FailurePage { shell, failure: &self })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_failure_says_what_to_do_next() {
        let refusal = Refusal {
            code: Some(Code::IndexBusy),
            message: "it is being built".to_owned(),
            data: Value::Null,
        };
        let failure = Failure::from(CallError::Refused(refusal));
        assert_eq!(failure.status, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(failure.words, "it is being built. Try again in a minute.");
        let refusal = Refusal {
            code: Some(Code::InvalidArgument),
            message: "argument `valid_until` = `x`: no date".to_owned(),
            data: serde_json::json!({ "argument": "valid_until", "value": "x", "problem": "no date" }),
        };
        assert_eq!(Failure::from(CallError::Refused(refusal)).words, "Valid until `x`: no date.");
    }
}
