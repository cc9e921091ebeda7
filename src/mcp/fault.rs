//! A failed call on the wire: a code and data for programs, a message for readers.

use std::borrow::Cow;

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Map, Value, json};

use super::{arguments::ArgumentError, reply};
use cerebro_core::{code::Code, operation::Operation, text};
use cerebro_service::ServiceError;

/// A failure that the caller can correct or understand.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fault {
    code: Code,
    /// What happened, without the hint.
    message: String,
    data: Map<String, Value>,
}

impl Fault {
    /// A failure without data.
    pub(super) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: Map::new() }
    }

    /// What kind of failure it is.
    pub(super) fn code(&self) -> Code {
        self.code
    }

    /// The result for a person's program, which adds the hint itself.
    pub(super) fn for_person(self, ignored: &[String]) -> CallToolResult {
        let words = reply::with_ignored(self.message.clone(), ignored);
        self.result(&words)
    }

    /// The result for an agent, with the hint. It is made inert, because a failure may quote a stored title that closes
    /// or opens a tag of the agent's program.
    pub(super) fn for_agent(mut self, ignored: &[String]) -> CallToolResult {
        let words = match hint(self.code, &self.data) {
            Some(hint) => format!("{}; {hint}", self.message),
            None => self.message.clone(),
        };
        // An agent has the argument's own name before it: the message says it all.
        self.data.remove("problem");
        self.data.iter_mut().for_each(|(name, value)| reply::frame(name, value));
        if let Cow::Owned(shown) = text::inert(&self.message) {
            self.message = shown;
        }
        self.result(&text::inert(&reply::with_ignored(words, ignored)))
    }

    fn result(self, words: &str) -> CallToolResult {
        let mut result = CallToolResult::error(vec![ContentBlock::text(words.to_owned())]);
        let mut structured = json!({ "error": words, "code": self.code.as_str(), "message": self.message });
        if !self.data.is_empty() {
            structured["data"] = Value::Object(self.data);
        }
        result.structured_content = Some(structured);
        result
    }
}

impl From<ServiceError> for Fault {
    fn from(error: ServiceError) -> Self {
        Self { code: error.code(), message: error.to_string(), data: error.data() }
    }
}

impl From<ArgumentError> for Fault {
    fn from(error: ArgumentError) -> Self {
        Self { code: error.code(), message: error.to_string(), data: error.data() }
    }
}

/// What an agent can do next, in terms of its tools.
fn hint(code: Code, data: &Map<String, Value>) -> Option<String> {
    let word = |name: &str| data.get(name).and_then(Value::as_str).unwrap_or_default();
    Some(match code {
        Code::BadMemoryId => format!("search with {} for one", Operation::Search),
        Code::NoMemory | Code::MemoryPurged => format!("search with {}", Operation::Search),
        Code::MemoryDeleted => format!(
            "search with {} for a live one, or ask the user to run `cerebro restore {}`",
            Operation::Search,
            word("id")
        ),
        Code::RevisionMismatch => format!("read it with {} and update that", Operation::GetObservation),
        Code::TopicTaken => format!(
            "that is a stored note titled \"{}\"; update that one with {}, or choose another key",
            word("title"),
            Operation::Update
        ),
        Code::Corrected => format!(
            "read `{}` with {}; if the text is right again, {} or {} with `revive: true` takes it all the same",
            word("id"),
            Operation::GetObservation,
            Operation::Save,
            Operation::Update
        ),
        Code::PurgeForbidden => {
            format!("delete without `hard`, or ask the user to run `cerebro delete --hard {}`", word("id"))
        }
        Code::NoSession => format!("begin one with {}", Operation::SessionStart),
        Code::NoWork => "`work_list` and `cerebro work list` name what there is".to_owned(),
        Code::JournalAltered => "ask the user to run `cerebro work verify`".to_owned(),
        Code::IndexBusy | Code::JournalBusy | Code::StoreOpening => "call again in a minute".to_owned(),
        Code::DaemonLeaving => "call again".to_owned(),
        Code::Internal => "see `cerebro daemon logs`; nothing was acknowledged, call again".to_owned(),
        Code::InvalidArgument
        | Code::NoProposal
        | Code::EmptyProject
        | Code::NoModel
        | Code::StudioOpen
        | Code::IndexFailed
        | Code::BackupFailed
        | Code::JournalFailed
        | Code::StoreFailed
        | Code::HomeGone
        | Code::Interrupted
        | Code::Unanswered
        | Code::Unreachable => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use cerebro_core::{domain::MemoryId, redact::redact_text};

    fn taken() -> Fault {
        let holder = MemoryId::parse("kaaaaaaaaaaa").unwrap();
        let title = redact_text("</x> T").value.into();
        ServiceError::TopicTaken { key: "a/b".to_owned(), holder, title }.into()
    }

    #[test]
    fn a_failure_is_a_code_a_message_and_data() {
        let facts = taken().for_person(&[]).structured_content.unwrap();
        let words = "topic_key `a/b` is held by memory `kaaaaaaaaaaa`";
        let data = json!({ "topic_key": "a/b", "holder": "kaaaaaaaaaaa", "title": "</x> T" });
        assert_eq!(facts, json!({ "error": words, "code": "topic_taken", "message": words, "data": data }));
    }

    #[test]
    fn a_person_hears_of_an_argument_in_parts_and_an_agent_in_a_sentence() {
        let fault = || Fault::from(ArgumentError::new("since", Some("x"), "it must be a date"));
        let person = fault().for_person(&[]).structured_content.unwrap();
        assert_eq!(
            person["data"],
            json!({ "argument": "since", "value": "x", "problem": "it must be a date" })
        );
        let agent = fault().for_agent(&[]).structured_content.unwrap();
        assert_eq!(agent["data"], json!({ "argument": "since", "value": "x" }));
        assert_eq!(agent["message"], "argument `since` = `x`: it must be a date");
    }

    #[test]
    fn an_agent_hears_what_to_do_next_and_no_tags() {
        let result = taken().for_agent(&["typo".to_owned()]);
        let facts = result.structured_content.unwrap();
        let words = facts["error"].as_str().unwrap();
        assert_eq!(result.content[0].as_text().unwrap().text, words);
        for part in ["`kaaaaaaaaaaa`", "\"‹/x› T\"", "mem_update", "typo"] {
            assert!(words.contains(part), "{part}: {words}");
        }
        assert_eq!(facts["data"]["title"], "‹/x› T");
        assert!(!facts["message"].as_str().unwrap().contains("mem_"), "{facts}");
    }

    #[test]
    fn no_log_shows_a_stored_title() {
        let error = ServiceError::TopicTaken {
            key: "a/b".to_owned(),
            holder: MemoryId::parse("kaaaaaaaaaaa").unwrap(),
            title: redact_text("Ivory").value.into(),
        };
        assert!(!format!("{error} {error:?}").contains("Ivory"), "{error:?}");
    }
}
