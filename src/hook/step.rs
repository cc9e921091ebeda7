//! Translates a hook's payload, from any agent, into steps.
//!
//! Pure, and without errors: unknown fields are ignored, and missing fields lead to a step with less data or to none.
//! Every text is cut to a bound. A text that is cut is redacted first, because a cut can separate a secret from its name;
//! the daemon redacts all texts.

use cerebro_core::domain::Timestamp;
use cerebro_core::text::hex;
use cerebro_ledger::{Ending, Step};
use cerebro_service::work::reported::{self, COMMAND_BYTES_MAX, FILES_MAX, PROMPT_BYTES_MAX, Ran, cut};
use cerebro_transcript::facts;
use cerebro_transcript::report::{self, Report, Result as CallResult, name};
use cerebro_transcript::turn::{Action, Call, Outcome, Todo};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{Agent, strip};

/// Longest last message of a turn, and longest reason for a failed turn.
const MESSAGE_BYTES_MAX: usize = 600;
const ERROR_BYTES_MAX: usize = 200;
/// Longest output whose end is taken without a redaction before.
const PRINTED_BYTES_MAX: usize = 4_000;
/// Most commands in the background that are named at the end of a turn.
const BACKGROUND_MAX: usize = 8;

/// The steps in one payload.
#[derive(Debug, Clone, PartialEq)]
pub struct StepReport {
    /// The steps. A call that changed several files is several steps.
    pub steps: Vec<Step>,
    /// The identity within the session, if the agent names its calls or turns. A repeated report counts once.
    pub once: Option<String>,
}

/// Reads the steps from a payload. `None` if it has none.
pub fn read(agent: Agent, event: &str, input: &Value) -> Option<StepReport> {
    let call = call_id(input);
    let mut steps = match event {
        "SessionStart" | "sessionStart" => vec![Step::Connected],
        "UserPromptSubmit" | "BeforeAgent" | "beforeSubmitPrompt" => vec![prompt(input)?],
        "PreToolUse" | super::BEFORE_TOOL => vec![reported::began(&called(agent, input, false)?)?],
        "PostToolUse" | "PostToolUseFailure" | super::AFTER_TOOL => {
            after(&called(agent, input, event == "PostToolUseFailure")?, agent, input)
        }
        "Stop" | "AfterAgent" | "afterAgentResponse" => turn_ended(input),
        "StopFailure" => vec![Step::TurnFailed { error: error(input) }],
        // Gemini CLI sends `PreCompress` with every turn, so that event means nothing.
        "PreCompact" => vec![Step::Compacted { trigger: name(text(input, "trigger")), summary: None }],
        "SessionEnd" | "sessionEnd" => vec![Step::Ended { reason: name(text(input, "reason")) }],
        _ => return None,
    };
    // A turn may end more than once.
    let once = steps.first().and_then(|first| match first {
        Step::Prompt { .. } => reported::once(first, &turn_id(input)),
        _ => reported::once(first, &call),
    });
    // It comes last, because the numbers of the others identify a repeated report.
    steps.extend(missed(input));
    (!steps.is_empty()).then_some(StepReport { steps, once })
}

/// The step for a report that was too long to be read, which came at a moment in milliseconds.
pub(super) fn too_long(at: i64) -> Option<StepReport> {
    let at = Timestamp::from_millisecond(at).ok()?;
    let reason = "a hook's report was too long".to_owned();
    let gap = Step::Gap { from: at, to: at, count: Some(1), reason, filled: false };
    Some(StepReport { steps: vec![gap], once: None })
}

/// The events that Cerebro's plugin could not report, because there were too many at once.
fn missed(input: &Value) -> Option<Step> {
    let missed = &input["missed"];
    let at = |key: &str| Timestamp::from_millisecond(missed[key].as_i64()?).ok();
    let count = missed["count"].as_u64().filter(|count| *count > 0)?;
    let reason = "there were more events at once than the hooks could report".to_owned();
    Some(Step::Gap { from: at("from")?, to: at("to")?, count: Some(count), reason, filled: false })
}

fn text<'a>(input: &'a Value, key: &str) -> &'a str {
    input[key].as_str().unwrap_or_default()
}

fn first_name(input: &Value, keys: [&str; 2]) -> String {
    name(keys.into_iter().map(|key| text(input, key)).find(|id| !id.is_empty()).unwrap_or_default())
}

/// The agent's own id of a call; empty if it has none, as in Gemini CLI.
fn call_id(input: &Value) -> String {
    first_name(input, ["tool_use_id", "call_id"])
}

/// The agent's own id of a turn.
fn turn_id(input: &Value) -> String {
    first_name(input, ["prompt_id", "turn_id"])
}

fn prompt(input: &Value) -> Option<Step> {
    Some(Step::Prompt { text: cut(&strip::asked(text(input, "prompt"))?, PROMPT_BYTES_MAX) })
}

/// The agent's last message of a turn.
fn last_message(input: &Value) -> Option<String> {
    let keys = ["last_assistant_message", "prompt_response", "text"];
    let words = keys.into_iter().map(|key| strip::strip(text(input, key))).find(|words| !words.is_empty())?;
    Some(cut(&words, MESSAGE_BYTES_MAX))
}

/// The end of a turn. Everything that ran in the turn ends with it, so commands that continue in the background are recorded
/// as begun after it. Claude Code names them at the end of each turn until they have ended.
fn turn_ended(input: &Value) -> Vec<Step> {
    let running = |task: &Value| {
        let (id, what) = (name(text(task, "id")), cut(text(task, "command"), COMMAND_BYTES_MAX));
        let is_running = text(task, "status") == "running" && !id.is_empty() && !what.is_empty();
        is_running.then(|| Step::Started {
            call: format!("background-{id}"),
            tool: "background".to_owned(),
            what,
        })
    };
    let tasks = input["background_tasks"].as_array().into_iter().flatten();
    let ended = Step::TurnEnded { said: last_message(input) };
    std::iter::once(ended).chain(tasks.filter_map(running).take(BACKGROUND_MAX)).collect()
}

/// The call that a payload describes. A call of a sub-agent belongs to the session.
fn called(agent: Agent, input: &Value, failed: bool) -> Option<Call> {
    let tool = text(input, "tool_name");
    if tool.is_empty() {
        return None;
    }
    let mut printed = printed(agent, input);
    if printed.len() > PRINTED_BYTES_MAX {
        printed = reported::redacted(&printed);
    }
    let result = CallResult {
        text: &printed,
        failed: failed || is_failure(agent, &input["tool_response"]),
        exit: exit(agent, input).or_else(|| reported(report_of_gemini(agent, input)?)),
    };
    let joint = joint(agent, input);
    Some(report::call(&Report {
        id: if joint.is_empty() { text(input, "tool_use_id") } else { &joint },
        tool,
        input: &input["tool_input"],
        result: Some(result),
    }))
}

/// An id that connects the start of a call with its end, if the agent gives calls no id, as Gemini CLI does not. It
/// comes from the tool and its input, so a repeated call has the same one, and nothing is dropped because of it.
fn joint(agent: Agent, input: &Value) -> String {
    if agent != Agent::GeminiCli {
        return String::new();
    }
    let called = format!("{}\n{}", text(input, "tool_name"), input["tool_input"]);
    format!("gemini-{}", hex(&Sha256::digest(called)[..8]))
}

/// The output of a call, or why it failed, in any agent's format.
fn printed(agent: Agent, input: &Value) -> String {
    let response = &input["tool_response"];
    if let Some(report) = report_of_gemini(agent, input) {
        return report.strip_prefix(REPORT).unwrap_or(report).to_owned();
    }
    let error = &input["error"];
    if let Some(error) = error.as_str() {
        return error.to_owned();
    }
    if let Some(text) = response.as_str() {
        return text.to_owned();
    }
    let texts =
        ["stdout", "stderr", "output", "llmContent", "content", "error"].into_iter().filter_map(|key| {
            let value = &response[key];
            let part = |part: &Value| part["text"].as_str().or(part.as_str()).map(str::to_owned);
            match value {
                Value::String(text) => Some(text.clone()),
                Value::Array(parts) => Some(parts.iter().filter_map(part).collect::<Vec<_>>().join("\n")),
                Value::Object(_) => part(value).or_else(|| value["message"].as_str().map(str::to_owned)),
                _ => None,
            }
        });
    texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
}

/// The text before the output in a report by Gemini CLI's shell.
const REPORT: &str = "Output: ";

/// Gemini CLI's report of a call, without its frame.
fn report_of_gemini(agent: Agent, input: &Value) -> Option<&str> {
    let text = input["tool_response"]["llmContent"].as_str().filter(|_| agent == Agent::GeminiCli)?;
    let inner = text.strip_prefix("<untrusted_context>\n");
    Some(inner.and_then(|inner| inner.strip_suffix("\n</untrusted_context>")).unwrap_or(text))
}

/// The exit status in such a report. It follows the output, and is missing if it is 0.
fn reported(report: &str) -> Option<i32> {
    const LINES_MAX: usize = 4;
    let end = report.strip_prefix(REPORT)?.lines().rev().take(LINES_MAX);
    let mut is_over = false;
    for line in end {
        if let Some(status) = line.strip_prefix("Exit Code: ") {
            return status.parse().ok();
        }
        if !["Process Group PGID: ", "Background PIDs: "].iter().any(|mark| line.starts_with(mark)) {
            // A command that a signal ended, or that could not be run, has no status.
            is_over &= !["Signal: ", "Error: "].iter().any(|mark| line.starts_with(mark));
            break;
        }
        is_over = true;
    }
    is_over.then_some(0)
}

/// Whether a response reports a failure.
fn is_failure(agent: Agent, response: &Value) -> bool {
    match agent {
        Agent::GeminiCli => !response["error"].is_null(),
        _ => response["is_error"] == true || response["success"] == false,
    }
}

/// The exit status, if a field contains it. Claude Code reports failed commands in another event, so the status of all
/// others is 0.
fn exit(agent: Agent, input: &Value) -> Option<i32> {
    let response = &input["tool_response"];
    let fields = [
        &response["metadata"]["exit"],
        &response["metadata"]["exit_code"],
        &response["exit_code"],
        &response["exitCode"],
    ];
    let status = fields.into_iter().find_map(Value::as_i64).and_then(|exit| i32::try_from(exit).ok());
    let is_plain = agent == Agent::ClaudeCode
        && input["hook_event_name"] == "PostToolUse"
        && response["interrupted"] != true
        && response["stdout"].is_string()
        && response["backgroundTaskId"].is_null();
    status.or(is_plain.then_some(0))
}

/// The steps for the end of a call.
fn after(call: &Call, agent: Agent, input: &Value) -> Vec<Step> {
    match &call.action {
        Action::Command { line } if !line.is_empty() => vec![ran(call, line, agent, input)],
        Action::Edit { paths, .. } if call.outcome != Outcome::Failed => {
            edited(call, paths, &input["tool_input"])
        }
        Action::Plan { text } => reported::plan(text),
        Action::Todo { items } => reported::todo(call, &with_id(items, input)),
        _ => Vec::new(),
    }
}

/// The items of the agent's list; a task that was just made has the id that the response gives it.
fn with_id(items: &[Todo], input: &Value) -> Vec<Todo> {
    let mut items = items.to_vec();
    if let [one] = items.as_mut_slice()
        && let (true, Some(id)) = (one.id.is_empty(), input["tool_response"]["task"]["id"].as_str())
    {
        one.id = name(id);
    }
    items
}

fn ran(call: &Call, line: &str, agent: Agent, input: &Value) -> Step {
    let output = printed(agent, input);
    let response = &input["tool_response"];
    let failed = call.outcome == Outcome::Failed;
    // Both also report a command that is still running. Its ending is not known yet.
    let goes_on = match agent {
        Agent::Codex => output.contains("Process running with session ID"),
        Agent::ClaudeCode => !response["backgroundTaskId"].is_null() || facts::goes_on(&output),
        _ => false,
    };
    let ending = if input["is_interrupt"] == true || response["interrupted"] == true {
        Ending::Interrupted
    } else if failed {
        Ending::Failed
    } else if goes_on || (call.exit.is_none() && agent != Agent::ClaudeCode) {
        Ending::Unknown
    } else {
        Ending::Passed
    };
    let exit = call.exit.filter(|_| !goes_on);
    reported::ran(call, line, &Ran { ending, exit, ms: input["duration_ms"].as_u64(), output: &output })
}

fn edited(call: &Call, paths: &[String], input: &Value) -> Vec<Step> {
    let patched = patched(input);
    let counted = counted(input);
    reported::edited(call, paths, |path| {
        let of_patch = patched.iter().find(|(patched, ..)| patched == path);
        match of_patch {
            Some((_, added, removed)) => (*added, *removed),
            None if paths.len() == 1 => counted.unwrap_or_default(),
            None => (0, 0),
        }
    })
}

/// The numbers of added and removed lines. The input has the old and the new text, or the whole new file.
fn counted(input: &Value) -> Option<(u32, u32)> {
    let of = |input: &Value| {
        let old = ["old_string", "oldString"].into_iter().find_map(|key| input[key].as_str());
        let new = ["new_string", "newString", "new_source", "content"]
            .into_iter()
            .find_map(|key| input[key].as_str());
        Some(changed_lines(old.unwrap_or_default(), new?))
    };
    match input["edits"].as_array() {
        Some(edits) => Some(
            edits
                .iter()
                .filter_map(of)
                .fold((0, 0), |(a, b), (c, d)| (u32::saturating_add(a, c), u32::saturating_add(b, d))),
        ),
        None => of(input),
    }
}

/// The numbers of lines in both texts between the lines that they share at the start and at the end.
fn changed_lines(old: &str, new: &str) -> (u32, u32) {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let begin = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let end = old[begin..].iter().rev().zip(new[begin..].iter().rev()).take_while(|(a, b)| a == b).count();
    let count = |lines: &[&str]| u32::try_from(lines.len() - begin - end).unwrap_or(u32::MAX);
    (count(&new), count(&old))
}

/// The files of a patch in the format of `apply_patch`, with the numbers of added and removed lines.
fn patched(input: &Value) -> Vec<(String, u32, u32)> {
    const HEADINGS: [&str; 4] = ["*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: "];
    let given = ["command", "input", "patch", "patchText"].into_iter().find_map(|key| input[key].as_str());
    let Some(patch) = input.as_str().or(given).filter(|text| text.contains("*** ")) else {
        return Vec::new();
    };
    let mut files: Vec<(String, u32, u32)> = Vec::new();
    for line in patch.lines() {
        if let Some(path) = HEADINGS.iter().find_map(|heading| line.strip_prefix(heading)) {
            if files.len() < FILES_MAX {
                files.push((name(path.trim()), 0, 0));
            }
        } else if let Some((_, added, removed)) = files.last_mut() {
            *added += u32::from(line.starts_with('+'));
            *removed += u32::from(line.starts_with('-'));
        }
    }
    files
}

/// Why a turn failed: the agent's word, and its details if there are any.
fn error(input: &Value) -> String {
    let word = |value: &Value| {
        let text = value.as_str().or(value["type"].as_str()).or(value["name"].as_str());
        text.or(value["message"].as_str()).unwrap_or_default().trim().to_owned()
    };
    let (error, details) = (word(&input["error"]), word(&input["error_details"]));
    let all = if details.is_empty() { error } else { format!("{error}: {details}") };
    cut(all.trim_start_matches(": "), ERROR_BYTES_MAX)
}

#[cfg(test)]
mod tests;
