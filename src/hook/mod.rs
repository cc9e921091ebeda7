//! What agents tell at moments of a session, and how they take an answer.
//!
//! Each agent runs `cerebro hook AGENT EVENT` with a JSON object on standard input. [`read`] makes of it
//! what to do, [`said`] writes the answer as that agent reads it. Pure: the command does the rest.
//!
//! What hooks store and what the agent itself stores must be of one session. Claude Code names it in the
//! environment of its servers and Codex in each call's `_meta`, both by the id that their hooks have. Gemini
//! CLI and OpenCode tell their servers nothing, so there a hook (of OpenCode, the plugin) completes the calls
//! of a session's tools by the id. Cursor's hooks and calls stay of two sessions.

mod strip;

use std::path::PathBuf;

use serde_json::{Value, json};

pub use strip::{framed, strip};

/// The event by which Gemini CLI lets the arguments of a tool be completed.
pub const BEFORE_TOOL: &str = "BeforeTool";
/// The events that each agent is to tell of.
pub const EVENTS_OF_CLAUDE_CODE: [&str; 5] =
    ["SessionStart", "UserPromptSubmit", "PostCompact", "Stop", "SessionEnd"];
pub const EVENTS_OF_CODEX: [&str; 4] = ["SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"];
pub const EVENTS_OF_GEMINI_CLI: [&str; 5] =
    ["SessionStart", "BeforeAgent", "AfterAgent", BEFORE_TOOL, "SessionEnd"];
pub const EVENTS_OF_CURSOR: [&str; 4] =
    ["sessionStart", "beforeSubmitPrompt", "afterAgentResponse", "sessionEnd"];

/// Tools that belong to a session, and the argument that names it.
const SESSION_ARGUMENTS: [(&str, &str); 5] = [
    ("mem_session_start", "id"),
    ("mem_session_end", "session_id"),
    ("mem_session_summary", "session_id"),
    ("mem_save_prompt", "session_id"),
    ("mem_save", "session_id"),
];

/// An agent that runs hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agent {
    ClaudeCode,
    Codex,
    GeminiCli,
    OpenCode,
    Cursor,
}

impl Agent {
    /// The agent of that name, as `cerebro setup` has it.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "claude-code" => Self::ClaudeCode,
            "codex" => Self::Codex,
            "gemini-cli" => Self::GeminiCli,
            "opencode" => Self::OpenCode,
            "cursor" => Self::Cursor,
            _ => return None,
        })
    }

    /// What its MCP client calls itself, so that what hooks store and what the agent stores is one's.
    pub fn client(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex-mcp-client",
            Self::GeminiCli => "gemini-cli-mcp-client",
            Self::OpenCode => "opencode",
            Self::Cursor => "cursor-vscode",
        }
    }
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deed {
    /// Answer with the context of the project.
    Context,
    /// Keep what the user asked for.
    Prompt(String),
    /// Keep the last message while there is no better summary.
    Message(String),
    /// Keep what a compaction made of the session.
    Compaction(String),
    /// The session has ended.
    End,
    /// Answer with these arguments of a tool's call, completed by the session that it belongs to.
    Bind(Value),
}

/// What an agent tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub deed: Deed,
    /// The agent's own id of the session.
    pub session: String,
    /// The folder that the agent works in.
    pub cwd: Option<PathBuf>,
}

/// Reads what an agent tells. `None` when there is nothing to do.
pub fn read(agent: Agent, event: &str, input: &Value) -> Option<Event> {
    let text = |name: &str| input[name].as_str().filter(|text| !text.trim().is_empty());
    let kept = |name: &str| text(name).map(strip).filter(|text| !text.trim().is_empty());
    let deed = match event {
        "SessionStart" | "sessionStart" => Deed::Context,
        "UserPromptSubmit" | "BeforeAgent" | "beforeSubmitPrompt" => Deed::Prompt(kept("prompt")?),
        "Stop" => Deed::Message(kept("last_assistant_message")?),
        "AfterAgent" => Deed::Message(kept("prompt_response")?),
        "afterAgentResponse" => Deed::Message(kept("text")?),
        "PostCompact" => Deed::Compaction(strip::summary(&kept("compact_summary")?)),
        "SessionEnd" | "sessionEnd" => Deed::End,
        BEFORE_TOOL if agent == Agent::GeminiCli => bind(input)?,
        _ => return None,
    };
    let session = text("session_id").or_else(|| text("conversation_id"))?.to_owned();
    let cwd = text("cwd").or_else(|| input["workspace_roots"][0].as_str()).map(PathBuf::from);
    Some(Event { deed, session, cwd })
}

/// The completion of a tool call that belongs to a session and does not name it.
fn bind(input: &Value) -> Option<Deed> {
    let tool = input["tool_name"].as_str()?;
    let (_, argument) = SESSION_ARGUMENTS.into_iter().find(|(name, _)| tool.ends_with(name))?;
    let mut arguments = input["tool_input"].as_object()?.clone();
    if arguments.get(argument).and_then(Value::as_str).is_some_and(|id| !id.trim().is_empty()) {
        return None;
    }
    arguments.insert(argument.to_owned(), input["session_id"].clone());
    Some(Deed::Bind(Value::Object(arguments)))
}

/// The context, framed, as the agent takes it.
pub fn said(agent: Agent, event: &str, context: &str) -> String {
    let text = framed(context);
    match agent {
        Agent::OpenCode => text,
        Agent::Cursor => json!({ "additional_context": text }).to_string(),
        Agent::ClaudeCode | Agent::Codex | Agent::GeminiCli => json!({
            "hookSpecificOutput": { "hookEventName": event, "additionalContext": text },
        })
        .to_string(),
    }
}

/// The completed arguments, as Gemini CLI takes them: all of them, since they replace the model's.
pub fn bound(event: &str, arguments: &Value) -> String {
    json!({ "hookSpecificOutput": { "hookEventName": event, "tool_input": arguments } }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_agents_words_are_understood() {
        let claude =
            json!({"session_id": "s", "cwd": "/w", "prompt": "Ask <system-reminder>x</system-reminder>"});
        let event = read(Agent::ClaudeCode, "UserPromptSubmit", &claude).unwrap();
        assert_eq!((event.session.as_str(), event.cwd), ("s", Some(PathBuf::from("/w"))));
        assert_eq!(event.deed, Deed::Prompt("Ask".to_owned()));
        let cursor = json!({"conversation_id": "c", "workspace_roots": ["/r"], "text": "Done"});
        let event = read(Agent::Cursor, "afterAgentResponse", &cursor).unwrap();
        assert_eq!((event.session.as_str(), event.cwd), ("c", Some(PathBuf::from("/r"))));
        assert_eq!(event.deed, Deed::Message("Done".to_owned()));
        for (event, input) in [
            ("UserPromptSubmit", json!({"session_id": "s", "prompt": "<hook_context>x</hook_context>"})),
            ("UserPromptSubmit", json!({"prompt": "no session"})),
            ("Stop", json!({"session_id": "s"})),
            ("PreToolUse", json!({"session_id": "s"})),
            ("SessionStart", json!(7)),
        ] {
            assert_eq!(read(Agent::Codex, event, &input), None, "{event} {input}");
        }
    }

    #[test]
    fn only_unbound_calls_of_a_sessions_tools_are_bound() {
        let call = |tool: &str, arguments: Value| {
            let input = json!({"session_id": "s", "tool_name": tool, "tool_input": arguments});
            read(Agent::GeminiCli, BEFORE_TOOL, &input).map(|event| event.deed)
        };
        let bound = call("mcp_cerebro_mem_save", json!({"title": "t"}));
        assert_eq!(bound, Some(Deed::Bind(json!({"title": "t", "session_id": "s"}))));
        let bound = call("mcp__cerebro__mem_session_start", json!({}));
        assert_eq!(bound, Some(Deed::Bind(json!({"id": "s"}))));
        assert_eq!(call("mcp_cerebro_mem_save", json!({"session_id": "own"})), None);
        assert_eq!(call("mcp_cerebro_mem_search", json!({})), None);
    }
}
