//! Gemini CLI: `~/.gemini/tmp/<project>/chats/session-*.json` and, since 2026, `.jsonl`.
//!
//! A line may replace an earlier message, patch the session or go back behind a message, so a file is always
//! read whole, and the caller replaces everything that came from it before.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::assemble::{Assembler, Source, hash};
use crate::envelope::{UserText, classify, controls_the_host, is_command, without_files};
use crate::json::{
    Fields, Flag, Moment, Raw, Text, elements, has_surrogates, is_object, parse, repaired, value, without_bom,
};
use crate::limits::LINE_BYTES_MAX;
use crate::line::NO_TYPE;
use crate::state::{Batch, State};
use crate::tool::{self, Answer, result_text};
use crate::turn::{Agent, Parent, ParentKind, PromptKind, Stop};

/// A whole session, as one document or as its first line.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Head<'a> {
    #[serde(borrow)]
    session_id: Text<'a>,
    start_time: Moment,
    last_updated: Moment,
    kind: Text<'a>,
    summary: Text<'a>,
    directories: Raw<'a>,
    messages: Option<Vec<&'a RawValue>>,
}

/// A line: a head, a message, or an order.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Line<'a> {
    #[serde(borrow)]
    id: Text<'a>,
    #[serde(rename = "type")]
    kind: Text<'a>,
    #[serde(rename = "sessionId")]
    session: Text<'a>,
    #[serde(rename = "$set")]
    set: Raw<'a>,
    #[serde(rename = "$rewindTo")]
    rewind_to: Raw<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Message<'a> {
    #[serde(borrow)]
    id: Text<'a>,
    timestamp: Moment,
    #[serde(rename = "type")]
    kind: Text<'a>,
    content: Raw<'a>,
    display_content: Raw<'a>,
    tool_calls: Option<Vec<ToolCall<'a>>>,
    model: Text<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct ToolCall<'a> {
    #[serde(borrow)]
    id: Text<'a>,
    name: Text<'a>,
    args: Raw<'a>,
    result: Raw<'a>,
    status: Text<'a>,
    timestamp: Moment,
}

/// A message, and the hash of what it says, once somebody asks for that.
struct Kept<'a> {
    raw: &'a RawValue,
    said: OnceCell<Option<u64>>,
}

impl<'a> Kept<'a> {
    fn new(raw: &'a RawValue) -> Self {
        Self { raw, said: OnceCell::new() }
    }

    fn said(&self) -> Option<u64> {
        *self.said.get_or_init(|| said_in(self.raw))
    }
}

/// The messages by id, in the order of the file.
#[derive(Default)]
struct Fold<'a> {
    messages: Vec<Kept<'a>>,
    by_id: HashMap<Cow<'a, str>, usize>,
}

impl<'a> Fold<'a> {
    /// A message of an id that is known replaces it where it is.
    fn put(&mut self, id: Cow<'a, str>, kept: Kept<'a>) {
        if let Some(&at) = self.by_id.get(&id).filter(|_| !id.is_empty()) {
            self.messages[at] = kept;
            return;
        }
        self.by_id.insert(id, self.messages.len());
        self.messages.push(kept);
    }

    /// The list that the CLI goes on with: shorter after a compaction and after a turn that was stopped. What it leaves out was
    /// said all the same. A restored list has other ids; it says nothing new.
    fn patch(&mut self, messages: Vec<&'a RawValue>) {
        let said: HashSet<u64> = self.messages.iter().filter_map(Kept::said).collect();
        for raw in messages {
            let id = parse::<Line<'a>>(raw.get()).and_then(|line| line.id.0).unwrap_or_default();
            let kept = Kept::new(raw);
            let is_known = !id.is_empty() && self.by_id.contains_key(&id);
            if is_known || kept.said().is_none_or(|words| !said.contains(&words)) {
                self.put(id, kept);
            }
        }
    }

    /// Drops a message and all after it; drops everything if the id is unknown, as the CLI does.
    fn rewind(&mut self, id: &str) {
        let from = self.by_id.get(id).copied().unwrap_or(0);
        self.messages.truncate(from);
        self.by_id.retain(|_, at| *at < from);
    }
}

/// The hash of a message's kind and words, or of its calls where it has no words; `None` without either.
fn said_in(raw: &RawValue) -> Option<u64> {
    let message: Message<'_> = parse(raw.get())?;
    let mut said = spoken(message.content).trim().to_owned();
    if said.is_empty() {
        said.extend(message.tool_calls.iter().flatten().map(|call| call.id.as_str()));
    }
    (!said.is_empty()).then(|| hash(&format!("{}: {said}", message.kind.as_str())))
}

/// Reads a file, whole. `session` is the id taken from its path, or empty. The file of a sub-agent does not
/// name its parent; its folder has the parent's id as name.
pub fn read(bytes: &[u8], session: &str) -> Batch {
    let mut assembler = Assembler::new(&State::new(Agent::GeminiCli, session));
    let repaired;
    let all = bytes.len();
    let bytes = without_bom(bytes);
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => {
            repaired = String::from_utf8_lossy(bytes);
            repaired.as_ref()
        }
    };
    // One document, usually over many lines.
    if let Ok(head) = serde_json::from_str::<Head<'_>>(text)
        && head.messages.is_some()
    {
        let messages = enter_head(&mut assembler, head).unwrap_or_default();
        assembler.live.counts.records += 1;
        enter(&mut assembler, messages.into_iter());
        return whole(assembler, all);
    }
    let lines_end = memchr::memrchr(b'\n', text.as_bytes()).map_or(0, |at| at + 1);
    // A last line without its end counts if it is a whole object, because more bytes cannot change that object.
    let end = if is_object(&text.as_bytes()[lines_end..]) { text.len() } else { lines_end };
    let lines: Vec<Cow<'_, str>> =
        text[..end].lines().filter_map(|line| sound(&mut assembler, line.trim())).collect();
    let mut fold = Fold::default();
    for line in &lines {
        one_line(&mut assembler, &mut fold, line);
    }
    enter(&mut assembler, fold.messages.into_iter().map(|kept| kept.raw));
    whole(assembler, all - (text.len() - end).min(all))
}

/// The next reading begins at the beginning again.
fn whole(assembler: Assembler, end: usize) -> Batch {
    let fresh = State::new(Agent::GeminiCli, &assembler.live.session.id);
    Batch { state: fresh, ..assembler.finish(end as u64) }
}

fn sound<'a>(assembler: &mut Assembler, line: &'a str) -> Option<Cow<'a, str>> {
    if line.is_empty() {
        return None;
    }
    let counts = &mut assembler.live.counts;
    if line.len() > LINE_BYTES_MAX {
        counts.oversized += 1;
        return None;
    }
    counts.records += 1;
    if !has_surrogates(line.as_bytes()) && serde_json::from_str::<Line<'_>>(line).is_ok() {
        return Some(Cow::Borrowed(line));
    }
    let line = repaired(line.as_bytes()).map_or(Cow::Borrowed(line), Cow::Owned);
    let sound = serde_json::from_str::<Line<'_>>(&line).is_ok();
    counts.malformed += u64::from(!sound);
    sound.then_some(line)
}

fn one_line<'a>(assembler: &mut Assembler, fold: &mut Fold<'a>, line: &'a str) {
    let Ok(record) = serde_json::from_str::<Line<'a>>(line) else { return };
    if let Some(id) = record.rewind_to {
        let id = parse::<Text<'_>>(id.get()).unwrap_or_default();
        fold.rewind(id.as_str());
    } else if record.set.is_some() || record.session.some().is_some() && record.kind.some().is_none() {
        // A patch has the fields of a head.
        let Some(head) = parse::<Head<'a>>(record.set.map_or(line, RawValue::get)) else {
            assembler.live.counts.malformed += 1;
            return;
        };
        if let Some(messages) = enter_head(assembler, head) {
            fold.patch(messages);
        }
    } else if record.kind.some().is_some() {
        if let Ok(raw) = serde_json::from_str::<&'a RawValue>(line) {
            fold.put(record.id.0.unwrap_or_default(), Kept::new(raw));
        }
    } else {
        assembler.live.counts.unknown(NO_TYPE, line.len());
    }
}

/// Applies a head, or a patch of it, to the session. Returns the messages in it.
fn enter_head<'a>(assembler: &mut Assembler, head: Head<'a>) -> Option<Vec<&'a RawValue>> {
    assembler.moment(head.start_time.0);
    assembler.moment(head.last_updated.0);
    let session = &mut assembler.live.session;
    if session.id.is_empty() {
        session.id = tool::name(head.session_id.as_str());
    }
    if let Some(title) = head.summary.some() {
        session.title = Some(tool::name(title));
    }
    let directories: Vec<Text<'_>> = value(head.directories);
    if let Some(first) = directories.first().and_then(Text::some) {
        session.cwd = Some(tool::name(first));
    }
    if head.kind.as_str() == "subagent" && session.parent.is_none() {
        session.parent = Some(Parent { kind: ParentKind::SubAgent, session: None, turn: None });
    }
    // Each message in it is a record, too.
    assembler.live.counts.records += head.messages.as_ref().map_or(0, Vec::len) as u64;
    head.messages
}

fn enter<'a>(assembler: &mut Assembler, messages: impl Iterator<Item = &'a RawValue>) {
    for raw in messages {
        let message: Message<'_> = parse(raw.get()).unwrap_or_default();
        let source = Source { id: message.id.some(), parent: None, at: message.timestamp.0 };
        assembler.moment(message.timestamp.0);
        match message.kind.as_str() {
            "user" => user(assembler, &message, source),
            "gemini" | "assistant" | "model" => gemini(assembler, &message, source),
            "error" => assembler.stopped(Stop::Service, source),
            "info" | "warning" | "system" | "help" | "about" | "stats" => {}
            kind => {
                let name = if kind.is_empty() { NO_TYPE } else { kind };
                assembler.live.counts.unknown(name, raw.get().len());
            }
        }
    }
}

fn user(assembler: &mut Assembler, message: &Message<'_>, source: Source<'_>) {
    // The answers of tools are messages too, with what the host says about them.
    let parts = message.content.map(elements).unwrap_or_default();
    if parts.iter().any(|part| Fields::of(part.get()).raw(&["functionResponse"]).is_some()) {
        return;
    }
    // The displayed text is what the person typed; the sent text may include whole files.
    let shown = result_text(message.display_content);
    let texts = if shown.is_empty() { texts(message.content) } else { vec![shown] };
    let texts: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
    // The host's context and the words may be parts of one message.
    let mut words: Vec<Cow<'_, str>> = Vec::new();
    for text in without_files(&texts) {
        if assembler.ran_by_person(text, source) {
            continue;
        }
        match classify(text) {
            UserText::Words(part) => words.push(part),
            UserText::Summary(summary) => assembler.compaction(&summary, source),
            _ => {}
        }
    }
    let words = words.join("\n");
    let is_command = is_command(&words);
    // Commands of the host, and its help.
    let is_hosts = is_command && controls_the_host(Agent::GeminiCli, &words) || words.starts_with('?');
    if words.is_empty() || is_hosts {
        return;
    }
    let sub_agent = assembler.live.session.parent.is_some();
    let kind = match (sub_agent, is_command) {
        (true, _) => PromptKind::Delegated,
        (false, true) => PromptKind::Command,
        (false, false) => PromptKind::Typed,
    };
    assembler.prompt(&words, kind, source);
}

/// The texts of a message that was sent: of one, or of its parts.
fn texts(content: Raw<'_>) -> Vec<Cow<'_, str>> {
    match content.filter(|raw| raw.get().starts_with('[')) {
        Some(raw) => elements(raw).into_iter().map(|part| Fields::of(part.get()).text(&["text"])).collect(),
        None => vec![result_text(content)],
    }
}

fn gemini(assembler: &mut Assembler, message: &Message<'_>, source: Source<'_>) {
    if let Some(model) = message.model.some() {
        assembler.live.session.model = Some(tool::name(model));
    }
    assembler.reply(&spoken(message.content), None, source);
    for one in message.tool_calls.iter().flatten() {
        let at = one.timestamp.0.or(message.timestamp.0);
        let call = tool::call(one.id.as_str(), one.name.as_str(), tool::source(one.args), at);
        let (text, failed) = response(one.result);
        match one.status.as_str() {
            "cancelled" => {
                // Why, if it says so.
                let why = Some(text).filter(|text| text.starts_with("[Operation Cancelled]"));
                let text = why.map_or(Cow::Borrowed(tool::INTERRUPTED), Cow::Owned);
                assembler.answered(call, Answer { text, failed: true, exit: None }, None, source);
            }
            "scheduled" | "validating" | "awaiting_approval" | "executing" => {
                assembler.call(call, None, source);
            }
            status => {
                let answer = Answer { text: text.into(), failed: failed || status == "error", exit: None };
                assembler.answered(call, answer, None, source);
            }
        }
    }
}

/// The text of a content, without parts that are thoughts.
fn spoken(content: Raw<'_>) -> Cow<'_, str> {
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Part<'a> {
        #[serde(borrow)]
        text: Text<'a>,
        thought: Flag,
    }
    let Some(raw) = content.filter(|raw| raw.get().starts_with('[')) else { return result_text(content) };
    let parts: Vec<Part<'_>> = parse(raw.get()).unwrap_or_default();
    let texts: Vec<&str> =
        parts.iter().filter(|part| !part.thought.0).map(|part| part.text.as_str()).collect();
    Cow::Owned(texts.join(""))
}

/// The output and the failure of a call, from the parts of its response.
fn response(result: Raw<'_>) -> (String, bool) {
    let parts: Vec<&RawValue> = match result {
        Some(raw) if raw.get().starts_with('[') => elements(raw),
        _ => return (result_text(result).into_owned(), false),
    };
    let mut all = String::new();
    let mut failed = false;
    for part in parts {
        let part = Fields::of(part.get());
        let inner = part.raw(&["functionResponse"]).and_then(|raw| Fields::of(raw.get()).raw(&["response"]));
        let inner = inner.map(|raw| Fields::of(raw.get())).unwrap_or_default();
        let error = inner.text(&["error"]);
        failed |= !error.is_empty();
        all.push_str(&error);
        all.push_str(&inner.text(&["output"]));
        all.push_str(&part.text(&["text"]));
    }
    (all, failed)
}
