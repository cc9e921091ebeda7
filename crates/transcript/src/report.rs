//! A tool's call as an agent's hook reports it, read with the vocabulary of the transcripts.
//!
//! The same call appears in the transcript a moment later; both are one, by [`Report::id`].

use std::borrow::Cow;

use serde_json::Value;

pub use crate::clip::clipped;
use crate::clip::whole_start;
use crate::limits::NAME_BYTES_MAX;
use crate::tool::{self, Answer};
use crate::turn::Call;

/// A call that is under way or over.
#[derive(Debug, Clone, Copy)]
pub struct Report<'a> {
    /// The agent's own id of the call; empty where it has none.
    pub id: &'a str,
    /// The tool's name as the agent calls it.
    pub tool: &'a str,
    /// What it was called with.
    pub input: &'a Value,
    /// What came of it; `None` while it is under way.
    pub result: Option<Result<'a>>,
}

/// What came of a call.
#[derive(Debug, Clone, Copy)]
pub struct Result<'a> {
    /// What it printed, or why it failed.
    pub text: &'a str,
    /// Whether the agent calls it failed. An exit status that the text names counts beside it.
    pub failed: bool,
    /// The exit status, where the agent has a field for it.
    pub exit: Option<i32>,
}

/// The call in the vocabulary of all agents, bounded as a transcript's are. Text is not redacted.
pub fn call(report: &Report<'_>) -> Call {
    let input = match report.input {
        Value::String(text) => Cow::Borrowed(text.as_str()),
        other => Cow::Owned(other.to_string()),
    };
    let mut call = tool::call(report.id, report.tool, &input, None);
    if let Some(result) = report.result {
        let answer = Answer { text: result.text.into(), failed: result.failed, exit: result.exit };
        tool::settle(&mut call, answer);
    }
    call
}

/// A name, id or path, bounded.
pub fn name(text: &str) -> String {
    whole_start(text, NAME_BYTES_MAX).to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::turn::{Action, Outcome};

    #[test]
    fn a_reported_call_equals_the_one_in_the_transcript() {
        let input = json!({ "command": "cargo test", "description": "x" });
        let report = Report { id: "t1", tool: "Bash", input: &input, result: None };
        let under_way = call(&report);
        assert_eq!(under_way.action, Action::Command { line: "cargo test".to_owned() });
        assert_eq!((under_way.outcome, under_way.exit), (Outcome::Pending, None));
        let result = Result { text: "Exit code 101\nboom", failed: true, exit: None };
        let over = call(&Report { result: Some(result), ..report });
        assert_eq!((over.outcome, over.exit, over.output.as_str()), (Outcome::Failed, Some(101), "boom"));
        let report =
            Report { id: "", tool: "apply_patch", input: &json!("*** Update File: a.rs\n+x"), result: None };
        assert_eq!(
            call(&report).action,
            Action::Edit { paths: vec!["a.rs".to_owned()], excerpt: "x".to_owned() }
        );
    }
}
