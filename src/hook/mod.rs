//! The hooks of agents: the events that an agent reports during a session, and the answers that it reads.
//!
//! An agent runs `cerebro hook AGENT EVENT` with a JSON object on standard input. [`read`] turns that into an
//! event, and [`answer`] writes the answer in the agent's own format. Both are pure; the command does the I/O.
//!
//! What a hook stores and what the agent stores must belong to the same session. Claude Code passes the session's
//! id in the environment of its servers and Codex in each call's `_meta`; their hooks have the same id. Gemini CLI
//! and OpenCode send their servers nothing, so a hook (for OpenCode, the plugin) adds the id to tool calls that
//! belong to a session. With Cursor, hooks and calls belong to two different sessions.

pub mod compacted;
pub mod missed;
pub mod step;
mod strip;

use std::path::PathBuf;

use cerebro_core::domain::{SessionId, Timestamp};
use cerebro_core::named;
use cerebro_core::operation::Operation;
use cerebro_core::text::framed;
use serde_json::{Value, json};

pub use step::StepReport;
pub use strip::strip;

/// The event in which Gemini CLI lets a hook complete the arguments of a tool call.
pub const BEFORE_TOOL: &str = "BeforeTool";
/// The event in which Gemini CLI reports the result of a tool call.
pub const AFTER_TOOL: &str = "AfterTool";

/// The name in Cerebro's plugin for the end of a part of OpenCode's answer. The turn may go on after it.
pub const TEXT_COMPLETE: &str = "TextComplete";

named! {
    /// An agent that runs hooks, with its name on command lines. `setup` also supports agents without hooks.
    pub enum Agent {
        ClaudeCode = "claude-code",
        Codex = "codex",
        GeminiCli = "gemini-cli",
        OpenCode = "opencode",
        Cursor = "cursor",
    }
}

impl Agent {
    /// The events for which its configuration has a hook. `OpenCode` has a plugin instead, which chooses the events.
    pub fn events(self) -> &'static [&'static str] {
        match self {
            Self::ClaudeCode => &["SessionStart", "UserPromptSubmit", "PostCompact", "Stop", "SessionEnd"],
            Self::Codex => &["SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"],
            Self::GeminiCli => &["SessionStart", "BeforeAgent", "AfterAgent", BEFORE_TOOL, "SessionEnd"],
            Self::OpenCode => &[],
            Self::Cursor => &["sessionStart", "beforeSubmitPrompt", "afterAgentResponse", "sessionEnd"],
        }
    }

    /// The further events for which the journal of work has hooks, each with the tools to which it is limited; `None`
    /// means all tools. `OpenCode` has a plugin for them, too.
    pub fn journal_events(self) -> &'static [(&'static str, Option<&'static str>)] {
        match self {
            Self::ClaudeCode => &[
                ("PreToolUse", Some("Bash|PowerShell")),
                (
                    "PostToolUse",
                    Some(
                        "Bash|PowerShell|Edit|MultiEdit|Write|NotebookEdit|ExitPlanMode|TodoWrite|TaskCreate|TaskUpdate",
                    ),
                ),
                ("PostToolUseFailure", Some("Bash|PowerShell")),
                ("StopFailure", None),
                ("PreCompact", None),
            ],
            Self::Codex => &[("PreToolUse", Some("Bash")), ("PostToolUse", None), ("PreCompact", None)],
            Self::GeminiCli => &[
                (BEFORE_TOOL, Some("run_shell_command")),
                (AFTER_TOOL, Some("run_shell_command|replace|write_file|write_todos")),
            ],
            Self::OpenCode | Self::Cursor => &[],
        }
    }

    /// Whether the journal also reads its transcripts, which contain what the hooks do not report.
    pub fn journal_reads_transcripts(self) -> bool {
        matches!(self, Self::ClaudeCode | Self::Codex)
    }

    /// The name of its MCP client. Hooks use the same name.
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

/// What a hook does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Task {
    /// Answer with the context of the project.
    Context,
    /// Save the user's prompt.
    Prompt(String),
    /// Save the last message as the summary, if there is no better one.
    Message(String),
    /// Save the summary of the session that a compaction wrote.
    Compaction(String),
    /// End the session.
    End,
    /// Answer with the arguments of a tool call, to which the session was added.
    Bind(Value),
}

/// An event that an agent reported.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// What to do for the session; `None` if the event is for the journal only.
    pub task: Option<Task>,
    /// Its steps for the journal, if it has any.
    pub report: Option<StepReport>,
    /// The agent's own id of the session.
    pub session: String,
    /// The folder that the agent works in.
    pub cwd: Option<PathBuf>,
    /// The transcript file of the session, if the agent names one.
    pub transcript: Option<PathBuf>,
    /// Whether to read the agent's transcript, a file or a database, now.
    pub reads_transcript: bool,
    /// Why a session begins, in the agent's word: `startup`, `resume`, `clear`, `compact`. Empty for other events.
    pub source: String,
}

impl Event {
    /// Whether a session begins, so that the agent waits for its context.
    pub fn begins_session(&self) -> bool {
        self.task == Some(Task::Context)
    }
}

/// How much of a report that is too long is searched for the session, in bytes.
const HEAD_BYTES_MAX: usize = 4_096;
/// The field that marks the rest of a report that was too long.
const TOO_LONG: &str = "cerebro_too_long";

/// The rest of a report that is too long to be read: its session, as far as its beginning names it, and when it
/// arrived. `None` if the beginning names no session.
pub fn too_long(report: &[u8], now: Timestamp) -> Option<Value> {
    let head = String::from_utf8_lossy(&report[..report.len().min(HEAD_BYTES_MAX)]).into_owned();
    let field = |name: &str| -> Option<String> {
        let (_, rest) = head.split_once(&format!("\"{name}\""))?;
        let value = rest.trim_start().strip_prefix(':')?;
        serde_json::Deserializer::from_str(value).into_iter().next()?.ok()
    };
    let session = field("session_id")?;
    let (cwd, transcript) = (field("cwd"), field("transcript_path"));
    let at = now.as_millisecond();
    Some(json!({ "session_id": session, "cwd": cwd, "transcript_path": transcript, TOO_LONG: at }))
}

/// Reads an event from an agent's report. `None` if there is nothing to do.
pub fn read(agent: Agent, event: &str, input: &Value) -> Option<Event> {
    let (task, report) = (task(agent, event, input), step::read(agent, event, input));
    let text = |name: &str| text(input, name);
    let transcript = text("transcript_path").map(PathBuf::from);
    let report = input[TOO_LONG].as_i64().map_or(report, step::too_long);
    // The agent writes a turn's calls and answers to the transcript at the end of the turn. A prompt counts, too,
    // because it names the file to read if the agent dies before that.
    let reads_transcript = match task {
        Some(Task::Prompt(_)) => transcript.is_some(),
        Some(Task::Bind(_)) => false,
        Some(_) => event != TEXT_COMPLETE,
        None => matches!(event, "Stop" | "AfterAgent"),
    };
    if task.is_none() && report.is_none() && !reads_transcript {
        return None;
    }
    // Without an id that a session can have, the daemon would take it for the session of the person at the command line.
    let session = text("session_id").or_else(|| text("conversation_id"));
    let session = session.filter(|id| SessionId::parse(id).is_ok())?.to_owned();
    let cwd = text("cwd").or_else(|| input["workspace_roots"][0].as_str()).map(PathBuf::from);
    let source = text("source").unwrap_or_default().to_owned();
    Some(Event { task, report, session, cwd, transcript, reads_transcript, source })
}

fn text<'a>(input: &'a Value, name: &str) -> Option<&'a str> {
    input[name].as_str().filter(|text| !text.trim().is_empty())
}

fn task(agent: Agent, event: &str, input: &Value) -> Option<Task> {
    let stripped = |name: &str| text(input, name).map(strip).filter(|text| !text.trim().is_empty());
    Some(match event {
        "SessionStart" | "sessionStart" => Task::Context,
        "UserPromptSubmit" | "BeforeAgent" | "beforeSubmitPrompt" => {
            Task::Prompt(strip::asked(text(input, "prompt")?)?)
        }
        "Stop" | TEXT_COMPLETE => Task::Message(stripped("last_assistant_message")?),
        "AfterAgent" => Task::Message(stripped("prompt_response")?),
        "afterAgentResponse" => Task::Message(stripped("text")?),
        "PostCompact" => Task::Compaction(strip::summary(&stripped("compact_summary")?)),
        "SessionEnd" | "sessionEnd" => Task::End,
        BEFORE_TOOL if agent == Agent::GeminiCli => bind(input)?,
        _ => return None,
    })
}

/// Adds the session to a tool call that belongs to a session and does not name it.
fn bind(input: &Value) -> Option<Task> {
    let tool = input["tool_name"].as_str()?;
    // The agent puts its name for the server before the tool's name.
    let argument = Operation::tools().find(|known| tool.ends_with(known.name()))?.session_argument()?;
    let mut arguments = input["tool_input"].as_object()?.clone();
    if arguments.get(argument).and_then(Value::as_str).is_some_and(|id| !id.trim().is_empty()) {
        return None;
    }
    arguments.insert(argument.to_owned(), input["session_id"].clone());
    Some(Task::Bind(Value::Object(arguments)))
}

/// The framed context in the agent's own format.
pub fn answer(agent: Agent, event: &str, context: &str) -> String {
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

/// The completed arguments in Gemini CLI's format. All of them are included, because they replace the model's.
pub fn bound(event: &str, arguments: &Value) -> String {
    json!({ "hookSpecificOutput": { "hookEventName": event, "tool_input": arguments } }).to_string()
}

#[cfg(test)]
mod tests {
    use cerebro_ledger::Step;

    use super::*;

    #[test]
    fn each_agents_words_are_understood() {
        let claude =
            json!({"session_id": "s", "cwd": "/w", "prompt": "Ask <system-reminder>x</system-reminder>"});
        let event = read(Agent::ClaudeCode, "UserPromptSubmit", &claude).unwrap();
        assert_eq!((event.session.as_str(), event.cwd), ("s", Some(PathBuf::from("/w"))));
        assert_eq!(event.task, Some(Task::Prompt("Ask".to_owned())));
        let cursor = json!({"conversation_id": "c", "workspace_roots": ["/r"], "text": "Done"});
        let event = read(Agent::Cursor, "afterAgentResponse", &cursor).unwrap();
        assert_eq!((event.session.as_str(), event.cwd), ("c", Some(PathBuf::from("/r"))));
        assert_eq!(event.task, Some(Task::Message("Done".to_owned())));
        for (event, input) in [
            ("UserPromptSubmit", json!({"session_id": "s", "prompt": "<hook_context>x</hook_context>"})),
            ("UserPromptSubmit", json!({"prompt": "no session"})),
            ("UserPromptSubmit", json!({"session_id": "a\nb", "prompt": "no session's id"})),
            ("SessionStart", json!({"session_id": "s".repeat(129)})),
            ("PreToolUse", json!({"session_id": "s"})),
            ("SessionStart", json!(7)),
        ] {
            assert_eq!(read(Agent::Codex, event, &input), None, "{event} {input}");
        }
    }

    #[test]
    fn what_is_written_down_is_new_at_the_end_of_a_turn() {
        for (agent, event, more, reads_transcript) in [
            (Agent::OpenCode, "Stop", json!({}), true),
            (Agent::OpenCode, TEXT_COMPLETE, json!({"last_assistant_message": "First I look"}), false),
            (Agent::OpenCode, "SessionStart", json!({}), true),
            (Agent::OpenCode, "UserPromptSubmit", json!({"prompt": "Mend it"}), false),
            (
                Agent::ClaudeCode,
                "UserPromptSubmit",
                json!({"prompt": "Mend it", "transcript_path": "/t"}),
                true,
            ),
            (Agent::ClaudeCode, "Stop", json!({"transcript_path": "/t"}), true),
            (Agent::ClaudeCode, "PreCompact", json!({"transcript_path": "/t"}), false),
        ] {
            let mut input = json!({"session_id": "s"});
            input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let read = read(agent, event, &input).unwrap();
            assert_eq!(read.reads_transcript, reads_transcript, "{event} {input}");
            assert!(event != TEXT_COMPLETE || read.report.is_none(), "a piece of an answer ends no turn");
        }
    }

    #[test]
    fn a_report_that_is_too_long_is_a_gap_of_its_session() {
        let long = format!(
            r#"{{"session_id": "s\u0031", "cwd":"/w","tool_input":{{"content":"{}"}}}}"#,
            "é".repeat(HEAD_BYTES_MAX)
        );
        let left = too_long(long.as_bytes(), Timestamp::UNIX_EPOCH).unwrap();
        let event = read(Agent::GeminiCli, AFTER_TOOL, &left).unwrap();
        assert_eq!((event.session.as_str(), event.cwd, event.task), ("s1", Some(PathBuf::from("/w")), None));
        assert!(matches!(
            &event.report.unwrap().steps[..],
            [Step::Gap { count: Some(1), filled: false, .. }]
        ));
        for odd in ["", "[", "{\"session_id\":7}", "{\"session_id\":\"cut", "\"session_id\""] {
            assert_eq!(too_long(odd.as_bytes(), Timestamp::UNIX_EPOCH), None, "{odd}");
        }
    }

    #[test]
    fn only_unbound_calls_of_a_sessions_tools_are_bound() {
        let call = |tool: &str, arguments: Value| {
            let input = json!({"session_id": "s", "tool_name": tool, "tool_input": arguments});
            read(Agent::GeminiCli, BEFORE_TOOL, &input).and_then(|event| event.task)
        };
        let bound = call("mcp_cerebro_mem_save", json!({"title": "t"}));
        assert_eq!(bound, Some(Task::Bind(json!({"title": "t", "session_id": "s"}))));
        let bound = call("mcp__cerebro__mem_session_start", json!({}));
        assert_eq!(bound, Some(Task::Bind(json!({"id": "s"}))));
        assert_eq!(call("mcp_cerebro_mem_save", json!({"session_id": "own"})), None);
        assert_eq!(call("mcp_cerebro_mem_search", json!({})), None);
    }
}
