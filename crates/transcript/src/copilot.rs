//! Copilot CLI: `~/.copilot/session-state/<id>/events.jsonl`.

use serde::Deserialize;

use crate::assemble::{Assembler, Source};
use crate::envelope::{UserText, classify};
use crate::json::{Fields, Flag, Moment, Raw, Text, parse};
use crate::line::Line;
use crate::tool::{self, Answer, result_text};
use crate::turn::{Call, PromptKind, Stop};

#[derive(Deserialize, Default)]
#[serde(default)]
struct Record<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    id: Text<'a>,
    timestamp: Moment,
    /// The sub-agent of which the event is. Older versions name the call that began it, in the data.
    #[serde(rename = "agentId")]
    agent: Text<'a>,
    data: Raw<'a>,
}

pub(crate) fn line<'a>(assembler: &mut Assembler, line: &'a [u8]) -> Line<'a> {
    let Ok(record) = serde_json::from_slice::<Record<'a>>(line) else { return Line::Malformed };
    let source = Source { id: record.id.some(), parent: None, at: record.timestamp.0 };
    assembler.moment(record.timestamp.0);
    if assembler.is_copy(source) {
        return Line::Known;
    }
    let data = record.data.map(|data| Fields::of(data.get())).unwrap_or_default();
    let delegated = record.agent.some().is_some() || !data.text(&["parentToolCallId"]).is_empty();
    match record.kind.as_str() {
        "user.message"
        | "session.compaction_complete"
        | "session.model_change"
        | "abort"
        | "session.error"
            if delegated => {}
        "session.start" | "session.resume" => session(assembler, &data),
        "session.model_change" => set(&mut assembler.live.session.model, &data.text(&["newModel"])),
        "session.title_changed" => set(&mut assembler.live.session.title, &data.text(&["title"])),
        "session.context_changed" => context(assembler, &data),
        "user.message" => user(assembler, &data, source),
        "assistant.message" => assistant(assembler, &data, delegated, source),
        "tool.execution_start" | "tool.user_requested" => {
            let (id, name) = (data.text(&["toolCallId"]), data.text(&["toolName", "name"]));
            let by = Caller { message: None, delegated, source };
            call(assembler, &id, &name, data.raw(&["arguments"]), by);
        }
        "tool.execution_complete" => complete(assembler, &data, source),
        "session.compaction_complete" if is_success(&data) => {
            assembler.compaction(&data.text(&["summaryContent", "summary"]), source);
        }
        // The session began elsewhere, such as on a server.
        "session.handoff" if !data.text(&["summary"]).is_empty() => {
            assembler.compaction(&data.text(&["summary"]), source);
        }
        "abort" | "session.abort" => assembler.stopped(Stop::Person, source),
        "session.error" => assembler.stopped(Stop::Service, source),
        "session.shutdown" => shutdown(assembler, &data),
        kind if is_noise(kind) => {}
        _ => return Line::unknown(record.kind),
    }
    Line::Known
}

fn is_noise(kind: &str) -> bool {
    const FAMILIES: [&str; 19] = [
        "assistant.", "session.", "system.", "subagent.", "hook.", "skill.", "permission.", "tool.",
        "pending_messages.", "user_input.", "exit_plan_mode.", "auto_mode_switch.", "elicitation.",
        "command.", "commands.", "capabilities.", "external_tool.", "sampling.", "mcp.",
    ];
    !kind.is_empty() && FAMILIES.iter().any(|family| kind.starts_with(family))
}

fn set(field: &mut Option<String>, value: &str) {
    if !value.is_empty() {
        *field = Some(tool::name(value));
    }
}

fn session(assembler: &mut Assembler, data: &Fields<'_>) {
    let session = &mut assembler.live.session;
    let id = data.text(&["sessionId"]);
    if session.id.is_empty() {
        session.id = tool::name(&id);
    }
    set(&mut session.version, &data.text(&["copilotVersion"]));
    set(&mut session.model, &data.text(&["selectedModel"]));
    if let Some(inner) = data.raw(&["context"]) {
        context(assembler, &Fields::of(inner.get()));
    }
}

fn context(assembler: &mut Assembler, context: &Fields<'_>) {
    let session = &mut assembler.live.session;
    set(&mut session.cwd, &context.text(&["cwd"]));
    set(&mut session.branch, &context.text(&["branch"]));
}

fn user(assembler: &mut Assembler, data: &Fields<'_>, source: Source<'_>) {
    // `source` names who wrote it, where that is not the person.
    let by = data.text(&["source"]);
    let goes_on_by_itself = data.raw(&["isAutopilotContinuation"]).is_some_and(|raw| raw.get() == "true");
    if !by.is_empty() && by != "user" || goes_on_by_itself {
        return;
    }
    match classify(&data.text(&["content"])) {
        UserText::Words(words) => {
            assembler.prompt(&words, PromptKind::Typed, source);
        }
        UserText::Summary(summary) => assembler.compaction(&summary, source),
        _ => {}
    }
}

/// A message of the session's agent, or of a sub-agent (`delegated`), of which only the calls are kept.
fn assistant(assembler: &mut Assembler, data: &Fields<'_>, delegated: bool, source: Source<'_>) {
    let message = data.text(&["messageId"]);
    let message = Some(message.as_ref()).filter(|message| !message.is_empty());
    if !delegated {
        assembler.reply(&data.text(&["content"]), message, source);
    }
    for request in data.list(&["toolRequests"]) {
        let request = Fields::of(request.get());
        let id = request.text(&["toolCallId", "id"]);
        let by = Caller { message, delegated, source };
        call(assembler, &id, &request.text(&["name"]), request.raw(&["arguments"]), by);
    }
}

/// Who made a call, and where it is recorded.
#[derive(Clone, Copy)]
struct Caller<'a> {
    message: Option<&'a str>,
    delegated: bool,
    source: Source<'a>,
}

/// A call is recorded when it is requested and again when it starts: the first one counts.
fn call(assembler: &mut Assembler, id: &str, name: &str, input: Raw<'_>, by: Caller<'_>) {
    if name.is_empty() || name == "report_intent" {
        return;
    }
    let call = tool::call(id, name, tool::source(input), by.source.at);
    assembler.call(Call { delegated: by.delegated, ..call }, by.message, by.source);
}

fn is_success(data: &Fields<'_>) -> bool {
    data.raw(&["success"]).is_none_or(|raw| parse::<Flag>(raw.get()).is_none_or(|flag| flag.0))
}

fn complete(assembler: &mut Assembler, data: &Fields<'_>, source: Source<'_>) {
    let success = is_success(data);
    let error =
        data.raw(&["error"]).filter(|_| !success).map(|raw| Fields::of(raw.get())).unwrap_or_default();
    let answer = match (error.text(&["code"]).as_ref(), error.text(&["message"])) {
        ("rejected", _) => Answer::refused(""),
        (_, message) => {
            let text = if message.is_empty() { result_text(data.raw(&["result", "error"])) } else { message };
            Answer { text, failed: !success, exit: None }
        }
    };
    assembler.result(&data.text(&["toolCallId"]), answer, source);
}

fn shutdown(assembler: &mut Assembler, data: &Fields<'_>) {
    let Some(changes) = data.raw(&["codeChanges"]) else { return };
    for path in Fields::of(changes.get()).list(&["filesModified"]) {
        if let Some(Text(Some(path))) = parse::<Text<'_>>(path.get()) {
            assembler.touched(&path);
        }
    }
}
