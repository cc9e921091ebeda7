//! Qwen Code: `~/.qwen/projects/<slug>/chats/<id>.jsonl`: records of Gemini's parts in a tree like Claude
//! Code's.

use std::borrow::Cow;

use serde::Deserialize;

use crate::assemble::{Assembler, Source};
use crate::envelope::{UserText, classify, controls_the_host, is_command, without_files};
use crate::json::{Fields, Flag, Moment, Raw, Text, value};
use crate::line::Line;
use crate::tool::{self, Answer};
use crate::turn::{Agent, Call, Parent, ParentKind, PromptKind};

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Record<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    subtype: Text<'a>,
    provenance: Text<'a>,
    uuid: Text<'a>,
    parent_uuid: Text<'a>,
    session_id: Text<'a>,
    agent_id: Text<'a>,
    is_sidechain: Flag,
    cwd: Text<'a>,
    git_branch: Text<'a>,
    version: Text<'a>,
    model: Text<'a>,
    timestamp: Moment,
    message: Raw<'a>,
    system_payload: Raw<'a>,
    tool_call_result: Raw<'a>,
    forked_from: Raw<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Message<'a> {
    #[serde(borrow)]
    parts: Vec<Part<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Part<'a> {
    #[serde(borrow)]
    text: Text<'a>,
    thought: Flag,
    function_call: Raw<'a>,
    function_response: Raw<'a>,
}

pub(crate) fn line<'a>(assembler: &mut Assembler, line: &'a [u8]) -> Line<'a> {
    let Ok(record) = serde_json::from_slice::<Record<'a>>(line) else { return Line::Malformed };
    head(assembler, &record);
    let source = Source { id: record.uuid.some(), parent: record.parent_uuid.some(), at: record.timestamp.0 };
    if assembler.is_copy(source) {
        return Line::Known;
    }
    // A sub-agent's record in the file of its session: only what it does is read.
    let mixed = record.is_sidechain.0 && !assembler.live.session.is_sub_agents();
    match record.kind.as_str() {
        "user" if mixed => {}
        "user" => user(assembler, &record, source),
        "assistant" => assistant(assembler, &record, mixed, source),
        "tool_result" => tool_result(assembler, &record, source),
        "system" => system(assembler, &record, source),
        _ => return Line::unknown(record.kind),
    }
    Line::Known
}

fn head(assembler: &mut Assembler, record: &Record<'_>) {
    assembler.moment(record.timestamp.0);
    let session = &mut assembler.live.session;
    if let (Some(id), true) = (record.session_id.some(), session.id.is_empty()) {
        session.id = tool::name(id);
    }
    for (field, value) in [
        (&mut session.cwd, &record.cwd),
        (&mut session.branch, &record.git_branch),
        (&mut session.version, &record.version),
        (&mut session.model, &record.model),
    ] {
        if let Some(value) = value.some() {
            *field = Some(tool::name(value));
        }
    }
    if session.parent.is_some() {
        return;
    }
    if let (true, Some(agent), Some(parent)) = (
        record.is_sidechain.0 && assembler.live.next_seq == 0,
        record.agent_id.some(),
        record.session_id.some(),
    ) {
        session.id = format!("{}/{}", tool::name(parent), tool::name(agent));
        session.parent =
            Some(Parent { kind: ParentKind::SubAgent, session: Some(tool::name(parent)), turn: None });
    } else if let Some(forked) = record.forked_from {
        let parent = Fields::of(forked.get()).text(&["sessionId"]);
        let parent = Some(tool::name(&parent)).filter(|parent| !parent.is_empty());
        session.parent =
            parent.map(|parent| Parent { kind: ParentKind::Fork, session: Some(parent), turn: None });
    }
}

fn user(assembler: &mut Assembler, record: &Record<'_>, source: Source<'_>) {
    const NOT_TYPED: [&str; 8] = [
        "notification",
        "background_task_completed",
        "cron",
        "goal_runtime",
        "goal_state",
        "agent_bootstrap",
        "agent_retry",
        "turn_result",
    ];
    let by_person = matches!(record.provenance.as_str(), "" | "real_user");
    if !by_person || NOT_TYPED.contains(&record.subtype.as_str()) {
        return;
    }
    let sub_agent = assembler.live.session.is_sub_agents();
    let kind = match record.subtype.as_str() {
        _ if sub_agent => PromptKind::Delegated,
        "mid_turn_user_message" => PromptKind::Queued,
        _ => PromptKind::Typed,
    };
    let message: Message<'_> = value(record.message);
    // The host's context and the words may be parts of one message.
    let sent: Vec<&str> =
        message.parts.iter().filter(|part| !part.thought.0).map(|part| part.text.as_str()).collect();
    let sent: Vec<&str> = without_files(&sent);
    let payload = record.system_payload.map(|raw| Fields::of(raw.get())).unwrap_or_default();
    // What was sent may be what a command or a file's name was replaced by; what was typed is shown.
    let shown = payload.text(&["displayText"]);
    let shown = Some(shown).filter(|shown| !sub_agent && !shown.trim().is_empty());
    let words: Vec<Cow<'_, str>> = match &shown {
        Some(shown) => words(shown).into_iter().collect(),
        None => {
            sent.into_iter().filter(|text| !assembler.ran_by_person(text, source)).filter_map(words).collect()
        }
    };
    let words = words.join("\n");
    let is_command = is_command(&words);
    if words.is_empty() || is_command && controls_the_host(Agent::Qwen, &words) {
        return;
    }
    let kind = if is_command && kind == PromptKind::Typed { PromptKind::Command } else { kind };
    assembler.prompt(&words, kind, source);
}

fn words(text: &str) -> Option<Cow<'_, str>> {
    match classify(text) {
        UserText::Words(words) => Some(words),
        _ => None,
    }
}

fn assistant(assembler: &mut Assembler, record: &Record<'_>, mixed: bool, source: Source<'_>) {
    let message: Message<'_> = value(record.message);
    for part in message.parts {
        if part.thought.0 {
            continue;
        }
        if !mixed {
            assembler.reply(part.text.as_str(), None, source);
        }
        if let Some(function) = part.function_call {
            let fields = Fields::of(function.get());
            let (id, name) = (fields.text(&["id"]), fields.text(&["name"]));
            let call = tool::call(&id, &name, tool::source(fields.raw(&["args"])), source.at);
            let call = Call { delegated: mixed, ..call };
            assembler.call(call, None, source);
        }
    }
}

fn tool_result(assembler: &mut Assembler, record: &Record<'_>, source: Source<'_>) {
    let result = record.tool_call_result.map(|raw| Fields::of(raw.get())).unwrap_or_default();
    let failed = matches!(result.text(&["status"]).as_ref(), "error" | "cancelled");
    let message: Message<'_> = value(record.message);
    for part in message.parts {
        let Some(response) = part.function_response else { continue };
        let fields = Fields::of(response.get());
        let id = fields.text(&["id"]);
        let id = if id.is_empty() { result.text(&["callId"]) } else { id };
        let inner = fields.raw(&["response"]).map(|raw| Fields::of(raw.get())).unwrap_or_default();
        let error = inner.text(&["error"]);
        let failed = failed || !error.is_empty();
        let text = if error.is_empty() { inner.text(&["output", "result"]) } else { error };
        assembler.result(&id, Answer { text, failed, exit: None }, source);
    }
}

fn system(assembler: &mut Assembler, record: &Record<'_>, source: Source<'_>) {
    let payload = record.system_payload.map(|raw| Fields::of(raw.get())).unwrap_or_default();
    match record.subtype.as_str() {
        "chat_compression" => {
            let first = payload.list(&["compressedHistory"]).first().copied();
            let message: Message<'_> = value(first);
            let summary = message.parts.first().map(|part| part.text.as_str().to_owned()).unwrap_or_default();
            assembler.compaction(crate::envelope::summary(&summary), source);
        }
        // Its parent is the record before the prompt to which the person went back.
        "rewind" => assembler.rewind_to(source.parent),
        "custom_title" => {
            let title = payload.text(&["customTitle"]);
            assembler.live.session.title = (!title.is_empty()).then(|| tool::name(&title));
        }
        "parent_session" => {
            let parent = payload.text(&["parentSessionId"]);
            if assembler.live.session.parent.is_none() && !parent.is_empty() {
                let parent =
                    Parent { kind: ParentKind::SubAgent, session: Some(tool::name(&parent)), turn: None };
                assembler.live.session.parent = Some(parent);
            }
        }
        _ => {}
    }
}
