//! Cursor's IDE: values of `cursorDiskKV` in `state.vscdb`, handed in by the caller. A composer is a session and names its
//! bubbles in their order; older ones hold them. Values change in place, so a session is always read whole.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::assemble::{Assembler, Source};
use crate::envelope::{UserText, classify};
use crate::json::{Fields, Flag, Moment, Number, Raw, Text, elements, parse, value};
use crate::state::{Batch, State};
use crate::tool::{self, Answer, result_text};
use crate::turn::{Agent, PromptKind};

/// The value of a key `bubbleId:<composer>:<bubble>`.
#[derive(Debug, Clone, Default)]
pub struct BubbleRow {
    /// The last part of the key.
    pub id: String,
    /// The value, as JSON.
    pub data: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Composer<'a> {
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(rename = "createdAt")]
    created: Moment,
    #[serde(rename = "lastUpdatedAt")]
    updated: Moment,
    #[serde(rename = "fullConversationHeadersOnly")]
    headers: Raw<'a>,
    conversation: Raw<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Bubble<'a> {
    #[serde(borrow, rename = "bubbleId")]
    id: Text<'a>,
    #[serde(rename = "type")]
    kind: Number,
    text: Text<'a>,
    #[serde(rename = "rawText")]
    raw_text: Text<'a>,
    #[serde(rename = "toolFormerData")]
    tool: Raw<'a>,
    #[serde(rename = "createdAt")]
    created: Moment,
    #[serde(rename = "workspaceProjectDir")]
    folder: Text<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Tool<'a> {
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(rename = "toolCallId")]
    id: Text<'a>,
    #[serde(rename = "rawArgs")]
    raw_args: Raw<'a>,
    params: Raw<'a>,
    result: Raw<'a>,
    status: Text<'a>,
    error: Raw<'a>,
    #[serde(rename = "additionalData")]
    more: Raw<'a>,
}

/// What a result may say beside its text, as an object or as an object in a string.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Outcome<'a> {
    #[serde(borrow)]
    output: Text<'a>,
    #[serde(rename = "exitCodeV2")]
    exit: Number,
    #[serde(rename = "exitCode")]
    old_exit: Number,
    rejected: Flag,
}

/// Reads a session: the value of `composerData:<id>`, and its bubbles in any order.
pub fn read(id: &str, data: &str, rows: &[BubbleRow]) -> Batch {
    let mut assembler = Assembler::new(&State::new(Agent::Cursor, id));
    assembler.live.counts.records += 1;
    let Some(composer) = parse::<Composer<'_>>(data) else {
        assembler.live.counts.malformed += 1;
        return finish(assembler, id, 0);
    };
    assembler.live.session.title = composer.name.some().map(tool::name);
    for at in [composer.created.0, composer.updated.0] {
        assembler.moment(at);
    }
    let by_id: HashMap<&str, &str> = rows.iter().map(|row| (row.id.as_str(), row.data.as_str())).collect();
    let headers = composer.headers.map(elements).unwrap_or_default();
    let held = composer.conversation.map(elements).unwrap_or_default();
    let named: Vec<&str> = if headers.is_empty() {
        held.iter().map(|raw| raw.get()).collect()
    } else {
        let ids = headers.iter().filter_map(|raw| parse::<Bubble<'_>>(raw.get())?.id.owned());
        ids.filter_map(|id| by_id.get(id.as_str()).copied()).collect()
    };
    for (offset, data) in named.iter().enumerate() {
        assembler.begin(offset as u64);
        assembler.live.counts.records += 1;
        match parse::<Bubble<'_>>(data) {
            Some(one) => bubble(&mut assembler, &one, data.len()),
            None => assembler.live.counts.malformed += 1,
        }
    }
    let count = named.len();
    finish(assembler, id, count)
}

fn finish(assembler: Assembler, id: &str, rows: usize) -> Batch {
    Batch { state: State::new(Agent::Cursor, id), ..assembler.finish(rows as u64) }
}

fn bubble(assembler: &mut Assembler, bubble: &Bubble<'_>, bytes: usize) {
    let at = bubble.created.0;
    let source = Source { id: bubble.id.some(), parent: None, at };
    assembler.moment(at);
    if let Some(folder) = bubble.folder.some() {
        let folder = folder.strip_prefix("file://").unwrap_or(folder);
        assembler.live.session.cwd = Some(tool::name(folder));
    }
    let text = bubble.text.some().or(bubble.raw_text.some()).unwrap_or_default();
    match bubble.kind.0 {
        Some(1) => {
            if let UserText::Words(words) = classify(text) {
                assembler.prompt(&words, PromptKind::Typed, source);
            }
        }
        Some(2) => {
            if !text.is_empty() {
                assembler.reply(text, None, source);
            }
            if bubble.tool.is_some_and(|tool| tool.get().starts_with('{')) {
                called(assembler, &value(bubble.tool), source);
            }
        }
        _ => assembler.live.counts.unknown("bubble", bytes),
    }
}

fn called(assembler: &mut Assembler, tool_data: &Tool<'_>, source: Source<'_>) {
    // Newer versions leave the one empty and fill the other.
    let given = |raw: &&RawValue| !matches!(raw.get(), "\"\"" | "{}" | "\"{}\"" | "null");
    let input = tool_data.raw_args.filter(given).or(tool_data.params);
    let call = tool::call(tool_data.id.as_str(), tool_data.name.as_str(), tool::source(input), source.at);
    let result = result_text(tool_data.result);
    let whole = tool_data.result.map(RawValue::get).filter(|raw| raw.starts_with('{')).unwrap_or(&result);
    let outcome: Outcome<'_> = parse(whole).unwrap_or_default();
    let exit = outcome.exit.status().or(outcome.old_exit.status());
    let more = tool_data.more.map(|more| Fields::of(more.get()).text(&["status"])).unwrap_or_default();
    let error = tool_data.error.map(|error| Fields::of(error.get())).unwrap_or_default();
    let error = error.text(&["clientVisibleErrorMessage", "modelVisibleErrorMessage", "message"]);
    // A call is `completed` although the person refused it, or the command failed.
    let status = tool_data.status.as_str();
    let said: [&str; 2] = [status, &more];
    let is_refused = outcome.rejected.0 || said.iter().any(|said| matches!(*said, "rejected" | "cancelled"));
    let failed = said.iter().any(|said| matches!(*said, "error" | "failed"));
    if is_refused {
        return assembler.answered(call, Answer::refused(""), None, source);
    }
    if !failed && status != "completed" && result.is_empty() {
        return assembler.call(call, None, source);
    }
    let has_error = failed && !error.is_empty();
    let text = match &outcome.output.0 {
        Some(output) if !(has_error && output.is_empty()) => output.clone(),
        _ if has_error || result.is_empty() => error,
        _ => result.clone(),
    };
    assembler.answered(call, Answer { text, failed, exit }, None, source);
}
