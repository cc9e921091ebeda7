//! The answer to one tool call.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Index;

use super::Value;

/// Keys that the general rules allow in the result of any tool.
const GENERAL: [&str; 5] = ["project", "redacted", "ignored", "new_project", "near"];

/// Both halves of a result.
#[derive(Clone, PartialEq)]
pub struct Reply {
    /// What Claude Code and Codex show the model.
    pub structured: Value,
    /// What OpenCode and Gemini CLI show the model.
    pub text: String,
    pub is_error: bool,
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cut = |text: &str| text.chars().take(3_000).collect::<String>();
        let structured = cut(&self.structured.to_string());
        write!(f, "\n  is_error: {}\n  structured: {structured}\n  text: {}", self.is_error, cut(&self.text))
    }
}

impl Index<&str> for Reply {
    type Output = Value;

    fn index(&self, key: &str) -> &Value {
        &self.structured[key]
    }
}

impl Reply {
    /// Reads the result of `tools/call`.
    pub fn read(result: &Value) -> Self {
        let blocks = result["content"].as_array().cloned().unwrap_or_default();
        let text: Vec<&str> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
        Self {
            structured: result["structuredContent"].clone(),
            text: text.join("\n"),
            is_error: result["isError"].as_bool().unwrap_or(false),
        }
    }

    /// A string that must be there.
    pub fn str(&self, key: &str) -> &str {
        self[key].as_str().unwrap_or_else(|| panic!("no string `{key}` in {self:?}"))
    }

    /// A whole number that must be there.
    pub fn number(&self, key: &str) -> u64 {
        self[key].as_u64().unwrap_or_else(|| panic!("no number `{key}` in {self:?}"))
    }

    /// A list; an absent one is empty.
    pub fn list(&self, key: &str) -> &[Value] {
        match &self[key] {
            Value::Null => &[],
            Value::Array(items) => items,
            _ => panic!("`{key}` is not a list in {self:?}"),
        }
    }

    /// The ids of the entries of a list.
    pub fn ids(&self, key: &str) -> Vec<String> {
        let id = |item: &Value| item["id"].as_str().map(str::to_owned);
        self.list(key).iter().filter_map(id).collect()
    }

    /// The earlier revisions of a memory.
    pub fn revisions(&self) -> &[Value] {
        self.list("revisions")
    }

    /// The session that a memory belongs to.
    pub fn session(&self) -> &str {
        let candidates = [&self["session"], &self["session"]["id"], &self["session_id"]];
        candidates.iter().find_map(|value| value.as_str()).unwrap_or_else(|| panic!("no session in {self:?}"))
    }

    /// Asserts that each of the texts stands in both halves.
    #[track_caller]
    pub fn assert_in_both(&self, wanted: &[&str]) {
        let structured = self.structured.to_string();
        for want in wanted {
            let quoted = Value::from(*want).to_string();
            let inner = &quoted[1..quoted.len() - 1];
            assert!(structured.contains(inner), "`{want}` is not in the structured half of {self:?}");
            assert!(self.text.contains(want), "`{want}` is not in the text half of {self:?}");
        }
    }
}

/// Asserts that a result has all of `must` and nothing beyond these, `may` and the general keys.
#[track_caller]
pub fn assert_keys(reply: &Reply, must: &[&str], may: &[&str]) {
    let object = reply.structured.as_object().unwrap_or_else(|| panic!("no object: {reply:?}"));
    let have: BTreeSet<&str> = object.keys().map(String::as_str).collect();
    let missing: Vec<_> = must.iter().filter(|key| !have.contains(**key)).collect();
    assert!(missing.is_empty(), "missing {missing:?} in {reply:?}");
    let known: BTreeSet<&str> = must.iter().chain(may).chain(&GENERAL).copied().collect();
    let beyond: Vec<_> = have.difference(&known).collect();
    assert!(beyond.is_empty(), "keys beyond the contract {beyond:?} in {reply:?}");
}
