//! Cursor's CLI: `~/.cursor/projects/<folder>/agent-transcripts/**/*.jsonl`. The lines have no ids, and no times but those of
//! newer prompts, to the minute; else the caller has the file's time. Its older form is plain text: [`read_text`].

use std::borrow::Cow;

use jiff::{Timestamp, civil::DateTime, tz::Offset};
use serde::Deserialize;

use crate::assemble::{Assembler, Source};
use crate::block::blocks;
use crate::envelope::{UserText, after_host_element, classify, element, without_leading};
use crate::json::{Raw, Text, value};
use crate::line::Line;
use crate::state::{Batch, State};
use crate::tool::{self, Answer, result_text};
use crate::turn::{Action, Outcome, PromptKind};

#[derive(Deserialize, Default)]
#[serde(default)]
struct Record<'a> {
    #[serde(borrow)]
    role: Text<'a>,
    #[serde(rename = "type")]
    kind: Text<'a>,
    message: Raw<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Message<'a> {
    #[serde(borrow)]
    content: Raw<'a>,
}

pub(crate) fn line<'a>(assembler: &mut Assembler, line: &'a [u8]) -> Line<'a> {
    let Ok(record) = serde_json::from_slice::<Record<'a>>(line) else { return Line::Malformed };
    let content = value::<Message<'_>>(record.message).content;
    match (record.role.as_str(), record.kind.as_str()) {
        ("user", _) => user(assembler, content),
        ("assistant", _) => assistant(assembler, content),
        ("system" | "tool", _) | ("", "turn_ended" | "turn_started" | "session_started") => {}
        _ => return Line::unknown(Text(record.kind.0.or(record.role.0))),
    }
    Line::Known
}

fn user(assembler: &mut Assembler, content: Raw<'_>) {
    for block in blocks(content) {
        if block.kind.as_str() == "tool_result" {
            let answer = Answer { text: result_text(block.content), failed: block.is_error.0, exit: None };
            assembler.result(block.tool_use_id.as_str(), answer, Source::default());
        }
    }
    prompt(assembler, &result_text(content));
}

fn prompt(assembler: &mut Assembler, text: &str) {
    let at = element(text, "timestamp").and_then(moment);
    assembler.moment(at);
    let sub_agent = assembler.live.session.is_sub_agents();
    let kind = if sub_agent { PromptKind::Delegated } else { PromptKind::Typed };
    let mut words: Vec<Cow<'_, str>> = Vec::new();
    for query in queries(text) {
        if let UserText::Words(query) = classify(query) {
            words.push(query);
        }
    }
    if !words.is_empty() {
        assembler.prompt(&words.join("\n\n"), kind, Source { at, ..Source::default() });
    }
}

/// The words are in elements, with the host's context before each, or behind that context. They may speak of such elements
/// themselves, so one ends only where nothing but context stands before the next.
fn queries(text: &str) -> Vec<&str> {
    const OPEN: &str = "<user_query>";
    const CLOSE: &str = "</user_query>";
    let mut queries = Vec::new();
    if let Some((_, text)) = text.split_once(OPEN) {
        let (mut query, mut piece) = (0, 0);
        for part in text.split(OPEN) {
            let end = piece + part.len();
            if let Some((words, behind)) = part.rsplit_once(CLOSE)
                && (end == text.len() || behind_context(behind).is_empty())
            {
                queries.push(&text[query..piece + words.len()]);
                query = end + OPEN.len();
            }
            piece = end + OPEN.len();
        }
    }
    if queries.is_empty() { vec![behind_context(text)] } else { queries }
}

/// A text without the elements of the host before it.
fn behind_context(text: &str) -> &str {
    const CONTEXT: [&str; 2] = ["timestamp", "rules"];
    let mut text = text.trim();
    loop {
        let rest = CONTEXT.iter().fold(text, |text, name| without_leading(text, name).trim());
        let rest = after_host_element(rest).unwrap_or(rest).trim();
        if rest.len() == text.len() {
            return text;
        }
        text = rest;
    }
}

/// Reads a time such as `Sunday, Aug 2, 2026, 3:51 AM (UTC-5:30)`.
fn moment(text: &str) -> Option<Timestamp> {
    let (local, zone) = text.trim().strip_suffix(')')?.rsplit_once(" (UTC")?;
    let local = DateTime::strptime("%A, %b %d, %Y, %I:%M %p", local).ok()?;
    let (hours, minutes) = zone.split_once(':').unwrap_or((zone, "0"));
    let hours: i8 = if hours.is_empty() { 0 } else { hours.parse().ok()? };
    let minutes: i8 = minutes.parse().ok()?;
    let away = (i32::from(hours).abs() * 60 + i32::from(minutes)) * 60;
    let east = if zone.starts_with('-') { -away } else { away };
    Offset::from_seconds(east).ok()?.to_timestamp(local).ok()
}

fn assistant(assembler: &mut Assembler, content: Raw<'_>) {
    if content.is_some_and(|content| content.get().starts_with('"')) {
        return assembler.reply(&result_text(content), None, Source::default());
    }
    for block in blocks(content) {
        match block.kind.as_str() {
            "text" => assembler.reply(block.text.as_str(), None, Source::default()),
            "tool_use" => {
                let input = tool::source(block.input);
                let mut call = tool::call(block.id.as_str(), block.name.as_str(), input, None);
                // No result can find a call without an id. An edit is seldom refused, so it counts as done; how a command
                // ended stays unknown.
                if call.id.is_empty() && matches!(call.action, Action::Edit { .. }) {
                    call.outcome = Outcome::Done;
                }
                assembler.call(call, None, Source::default());
            }
            _ => {}
        }
    }
}

/// Reads a transcript of the older form, whole, from its first state: blocks under `user:` and `assistant:`. Thinking and
/// tools' answers are left out.
pub fn read_text(text: &str, state: &State) -> Batch {
    let mut assembler = Assembler::new(state);
    let mut role = "";
    let mut block = String::new();
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        match line.trim() {
            mark @ ("user:" | "assistant:") => {
                text_block(&mut assembler, role, &block);
                assembler.begin(offset);
                role = if mark == "user:" { "user" } else { "assistant" };
                block.clear();
            }
            _ => block.push_str(line),
        }
        offset += line.len() as u64;
    }
    text_block(&mut assembler, role, &block);
    assembler.finish(offset)
}

fn text_block(assembler: &mut Assembler, role: &str, block: &str) {
    assembler.live.counts.records += u64::from(!role.is_empty());
    match role {
        "user" => prompt(assembler, block),
        "assistant" => assembler.reply(&spoken(block), None, Source::default()),
        _ => {}
    }
}

/// A block without thinking, calls and their answers: those are headed in brackets, and their bodies are
/// indented.
fn spoken(block: &str) -> String {
    let mut out = String::new();
    let mut inside = false;
    for line in block.lines() {
        let heading =
            ["[Thinking]", "[Tool call]", "[Tool result]"].iter().any(|mark| line.trim().starts_with(mark));
        let body = line.is_empty() || line.starts_with([' ', '\t']);
        inside = heading || inside && body;
        if !inside {
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}
