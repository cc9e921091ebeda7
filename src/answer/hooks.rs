//! The answers to agents' hooks.

use serde::{Deserialize, Serialize};

use super::Text;

/// `op_hook_context`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Context {
    /// None if nothing is stored.
    pub text: Option<Text>,
}

/// `op_hook_prompt`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Prompt {
    /// The prompt that was kept.
    pub id: Text,
}

/// `op_hook_message` and `op_hook_compaction`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Kept {
    /// Whether the text is the session's summary now; there may have been a better one.
    pub kept: bool,
}

/// `op_hook_step`
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Recorded {
    /// How many events the journal recorded; none if no piece of work began.
    pub recorded: Option<u64>,
}

/// `op_hook_hint`; empty if nothing is unfinished.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Hint {
    /// The piece of work.
    pub work: Option<String>,
    /// The folder of its session, whose checkout the caller should examine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// The paths of files that the caller should examine, the last one first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    pub text: Option<Text>,
}

/// `op_hook_end` and `op_hook_transcript`: there is nothing to tell.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Nothing {}
