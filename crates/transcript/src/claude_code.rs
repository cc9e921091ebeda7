//! Claude Code: `~/.claude/projects/<slug>/<session>.jsonl`, and `<session>/subagents/agent-<id>.jsonl`.
//!
//! One reply spans several lines with the same `message.id`, which repeat or continue each other. `progress`
//! and `toolUseResult` are two thirds of the bytes and repeat other lines.

use std::borrow::Cow;

use serde::Deserialize;

use crate::assemble::{Assembler, Source};
use crate::block::blocks;
use crate::envelope::{self, UserText, classify, controls_the_host};
use crate::json::{Fields, Flag, Moment, Raw, Text, parse};
use crate::line::Line;
use crate::tool::{self, Answer, result_text};
use crate::turn::{Agent, Call, Parent, ParentKind, PromptKind, Stop};

/// A line's fields. Others are skipped without building a value.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Record<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    subtype: Text<'a>,
    uuid: Text<'a>,
    parent_uuid: Text<'a>,
    logical_parent_uuid: Text<'a>,
    session_id: Text<'a>,
    agent_id: Text<'a>,
    cwd: Text<'a>,
    git_branch: Text<'a>,
    version: Text<'a>,
    timestamp: Moment,
    is_sidechain: Flag,
    is_meta: Flag,
    is_compact_summary: Flag,
    is_api_error_message: Flag,
    entrypoint: Text<'a>,
    prompt_source: Text<'a>,
    origin: Raw<'a>,
    plan_content: Text<'a>,
    message: Raw<'a>,
    attachment: Raw<'a>,
    snapshot: Raw<'a>,
    summary: Text<'a>,
    leaf_uuid: Text<'a>,
    custom_title: Text<'a>,
    ai_title: Text<'a>,
    pr_url: Text<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Message<'a> {
    #[serde(borrow)]
    id: Text<'a>,
    model: Text<'a>,
    content: Raw<'a>,
}

/// Known types of records without content of their own.
const NOISE: [&str; 21] = [
    "progress", "queue-operation", "last-prompt", "permission-mode", "mode", "cost-state", "agent-name",
    "agent-color", "agent-setting", "tag", "worktree-state", "bridge-session", "fork-context-ref",
    "isolation-latch", "relocated", "frame-link", "content-replacement", "speculation-accept",
    "attribution-snapshot", "task-summary", "atis-latch",
];

/// The host's own sub-agents: they replay the whole conversation to summarise it or to guess the next prompt.
const HOST_AGENTS: [&str; 4] = ["acompact-", "aprompt_suggestion-", "asession_memory-", "aside_question-"];

pub(crate) fn line<'a>(assembler: &mut Assembler, line: &'a [u8]) -> Line<'a> {
    let Ok(record) = serde_json::from_slice::<Record<'a>>(line) else { return Line::Malformed };
    let kind = record.kind.as_str();
    match kind {
        "progress" => return Line::Known,
        "user" | "assistant" | "system" | "attachment" => {}
        _ => return host_record(assembler, record),
    }
    head(assembler, &record);
    // A message that cannot be read is no record: it may yet be repaired.
    let message = match record.message.map(|raw| parse::<Message<'a>>(raw.get())) {
        Some(None) => return Line::Malformed,
        Some(Some(message)) => message,
        None => Message::default(),
    };
    if assembler.is_copy(source(&record)) {
        return Line::Known;
    }
    let sidechain = record.is_sidechain.0 && !assembler.live.session.is_sub_agents();
    match kind {
        "assistant" => assistant(assembler, &record, message, sidechain),
        "user" => user(assembler, &record, message, sidechain),
        "system" => system(assembler, &record),
        _ => attachment(assembler, &record),
    }
    Line::Known
}

fn source<'t>(record: &'t Record<'_>) -> Source<'t> {
    Source { id: record.uuid.some(), parent: record.parent_uuid.some(), at: record.timestamp.0 }
}

/// Fields about the session, which every line repeats.
fn head(assembler: &mut Assembler, record: &Record<'_>) {
    identity(assembler, record);
    assembler.moment(record.timestamp.0);
    let session = &mut assembler.live.session;
    for (field, value) in [
        (&mut session.cwd, &record.cwd),
        (&mut session.branch, &record.git_branch),
        (&mut session.version, &record.version),
    ] {
        if let Some(value) = value.some()
            && field.as_deref() != Some(value)
        {
            *field = Some(tool::name(value));
        }
    }
    // `sdk-cli`, `sdk-py` …: no person takes part. Nothing else distinguishes an SDK's session from a typed
    // one.
    session.automated |=
        record.entrypoint.as_str().starts_with("sdk") || record.prompt_source.as_str() == "sdk";
}

fn identity(assembler: &mut Assembler, record: &Record<'_>) {
    let Some(session_id) = record.session_id.some() else { return };
    let state = &mut assembler.live;
    if let Some(agent) = record.agent_id.some().filter(|_| record.is_sidechain.0) {
        // Every line of a sub-agent has its parent's session id, so that id alone would merge all sub-agents into
        // one. In a file that is known as its parent's, its lines are mixed into that.
        if state.session.parent.is_none() && state.session.id.is_empty() {
            state.session.id = format!("{}/{}", tool::name(session_id), tool::name(agent));
            let parent =
                Parent { kind: ParentKind::SubAgent, session: Some(tool::name(session_id)), turn: None };
            state.session.parent = Some(parent);
            state.muted = HOST_AGENTS.iter().any(|start| agent.starts_with(start));
        }
        return;
    }
    let session = &mut state.session;
    if session.id.is_empty() {
        session.id = tool::name(session_id);
    } else if session.id != session_id && session.parent.is_none() {
        // Some builds continue a session in a new file, whose first lines have the old id.
        session.parent =
            Some(Parent { kind: ParentKind::Resume, session: Some(tool::name(session_id)), turn: None });
    }
}

/// The text of a content that is a string, and not a list of blocks.
fn plain<'a>(content: Raw<'a>) -> Option<Cow<'a, str>> {
    let source = content?.get();
    source.starts_with('"').then(|| parse::<Text<'a>>(source)?.0).flatten()
}

fn assistant(assembler: &mut Assembler, record: &Record<'_>, message: Message<'_>, sidechain: bool) {
    let source = source(record);
    if record.is_api_error_message.0 {
        assembler.stopped(Stop::Service, source);
        return;
    }
    let model = message.model.some().filter(|model| *model != "<synthetic>");
    if let Some(model) = model.filter(|_| !sidechain) {
        let known = &mut assembler.live.session.model;
        if known.as_deref() != Some(model) {
            *known = Some(tool::name(model));
        }
    }
    let id = message.id.some();
    // What the host writes where the model had nothing to say.
    let is_placeholder = |text: &str| model.is_none() && text == "No response requested.";
    if let Some(text) = plain(message.content).filter(|text| !sidechain && !is_placeholder(text)) {
        assembler.reply(&text, id, source);
        return;
    }
    for block in blocks(message.content) {
        match block.kind.as_str() {
            "text" if sidechain || is_placeholder(block.text.as_str()) => {}
            "text" => assembler.reply(block.text.as_str(), id, source),
            "tool_use" | "server_tool_use" | "mcp_tool_use" => {
                let input = tool::source(block.input);
                let call = tool::call(block.id.as_str(), block.name.as_str(), input, record.timestamp.0);
                let call = Call { delegated: sidechain, ..call };
                assembler.call(call, id, source);
            }
            _ => {}
        }
    }
}

fn user(assembler: &mut Assembler, record: &Record<'_>, message: Message<'_>, sidechain: bool) {
    let content = message.content;
    let source = source(record);
    if let Some(text) = plain(content) {
        return user_text(assembler, record, &text, false, sidechain);
    }
    let mut texts: Vec<Cow<'_, str>> = Vec::new();
    let mut answers = false;
    let mut images = false;
    for block in blocks(content) {
        match block.kind.as_str() {
            "tool_result" | "mcp_tool_result" => {
                answers = true;
                let text = result_text(block.content);
                let answer = Answer { text, failed: block.is_error.0, exit: None };
                assembler.result(block.tool_use_id.as_str(), answer, source);
            }
            "text" => texts.extend(block.text.0),
            "image" | "document" => images = true,
            _ => {}
        }
    }
    // Hosts put injected text into blocks of its own, before or after the person's words.
    let words: Vec<&str> =
        texts.iter().map(AsRef::as_ref).filter(|text| classify(text) != UserText::Nothing).collect();
    if words.is_empty() && images && !answers && !record.is_meta.0 {
        return user_text(assembler, record, "[image]", false, sidechain);
    }
    match words.as_slice() {
        [] => {}
        [one] => user_text(assembler, record, one, answers, sidechain),
        several if several.iter().all(|text| matches!(classify(text), UserText::Words(_))) => {
            user_text(assembler, record, &several.join("\n"), answers, sidechain);
        }
        several => several.iter().for_each(|text| user_text(assembler, record, text, answers, sidechain)),
    }
}

/// Whether a person is the origin of a text, as far as the host says: others are notices of tasks and messages of other
/// sessions.
fn is_persons(origin: Raw<'_>) -> bool {
    let kind = origin.map(|origin| Fields::of(origin.get()).text(&["kind"])).unwrap_or_default();
    matches!(kind.as_ref(), "" | "human")
}

fn user_text(assembler: &mut Assembler, record: &Record<'_>, text: &str, queued: bool, sidechain: bool) {
    let source = source(record);
    if record.is_compact_summary.0 {
        return assembler.compaction(envelope::summary(text), source);
    }
    let sub_agent = assembler.live.session.is_sub_agents();
    let is_hosts = record.prompt_source.as_str() == "system" || !(sub_agent || is_persons(record.origin));
    if record.is_meta.0 || sidechain || is_hosts {
        return;
    }
    let kind = match (sub_agent, record.plan_content.some()) {
        (true, _) => PromptKind::Delegated,
        (false, Some(_)) => PromptKind::Plan,
        (false, None) if queued || record.prompt_source.as_str() == "queued" => PromptKind::Queued,
        (false, None) => PromptKind::Typed,
    };
    match classify(text) {
        UserText::Words(words) => {
            if kind == PromptKind::Plan {
                carries_out(assembler, &words);
            }
            assembler.prompt(&words, kind, source);
        }
        UserText::Command(command) if controls_the_host(Agent::ClaudeCode, &command) => {}
        UserText::Command(command) => {
            assembler.prompt(&command, PromptKind::Command, source);
        }
        UserText::Shell(line) => {
            assembler.call(tool::typed(record.uuid.as_str(), &line, record.timestamp.0), None, source);
        }
        UserText::ShellOutput(text) => {
            let answer = Answer { text, failed: false, exit: None };
            assembler.result(record.parent_uuid.as_str(), answer, source);
        }
        UserText::Interrupt => assembler.stopped(Stop::Person, source),
        UserText::Summary(summary) => assembler.compaction(&summary, source),
        UserText::Nothing => {}
    }
}

/// A plan that was accepted into a fresh context names the transcript in which it was made.
fn carries_out(assembler: &mut Assembler, words: &str) {
    const MARK: &str = "read the full transcript at: ";
    let session = &mut assembler.live.session;
    let Some((_, path)) = words.rsplit_once(MARK).filter(|_| session.parent.is_none()) else { return };
    let path = path.split_whitespace().next().unwrap_or("");
    let Some(id) = path.strip_suffix(".jsonl").and_then(|path| path.rsplit(['/', '\\']).next()) else {
        return;
    };
    const UUID_CHARS: usize = 36;
    if id.len() == UUID_CHARS && id != session.id {
        session.parent = Some(Parent { kind: ParentKind::Plan, session: Some(id.to_owned()), turn: None });
    }
}

fn system(assembler: &mut Assembler, record: &Record<'_>) {
    if record.subtype.as_str() != "compact_boundary" {
        return;
    }
    let follows = record.logical_parent_uuid.some();
    let session = &assembler.live.session;
    if let Some(turn) = follows
        .filter(|turn| session.parent.is_none() && assembler.live.next_seq == 0 && !assembler.knows(turn))
    {
        let parent = Parent { kind: ParentKind::Compaction, session: None, turn: Some(tool::name(turn)) };
        assembler.live.session.parent = Some(parent);
    }
    assembler.compaction("", source(record));
}

/// A prompt typed while a tool ran is stored as an attachment, without an id.
fn attachment(assembler: &mut Assembler, record: &Record<'_>) {
    let Some(attachment) = record.attachment else { return };
    let fields = Fields::of(attachment.get());
    if fields.text(&["type"]) != "queued_command" || record.is_meta.0 || record.is_sidechain.0 {
        return;
    }
    let mode = fields.text(&["commandMode", "mode"]);
    if !mode.is_empty() && mode != "prompt" || !is_persons(fields.raw(&["origin"])) {
        return;
    }
    let text = match fields.raw(&["prompt"]) {
        Some(prompt) => result_text(Some(prompt)),
        None => return,
    };
    if let UserText::Words(words) = classify(&text) {
        assembler.prompt(&words, PromptKind::Queued, source(record));
    }
}

/// Records that are the host's bookkeeping.
fn host_record<'a>(assembler: &mut Assembler, record: Record<'a>) -> Line<'a> {
    match record.kind.as_str() {
        "file-history-snapshot" => {
            if let Some(snapshot) = record.snapshot {
                tracked_files(assembler, snapshot.get());
            }
        }
        // A summary may be in any file; only one whose last turn is here is this session's.
        "summary" => {
            if record.leaf_uuid.some().is_some_and(|leaf| assembler.knows(leaf)) {
                assembler.live.session.title = record.summary.some().map(tool::name);
            } else if record.is_compact_summary.0 {
                assembler.compaction(record.summary.as_str(), source(&record));
            }
        }
        "custom-title" => assembler.live.session.title = record.custom_title.some().map(tool::name),
        "ai-title" => {
            let title = &mut assembler.live.session.title;
            *title = title.take().or_else(|| record.ai_title.some().map(tool::name));
        }
        "pr-link" => assembler
            .pull_request(record.pr_url.as_str(), Source { at: record.timestamp.0, ..Source::default() }),
        kind if NOISE.contains(&kind)
            || ["api-request", "file-history", "marble-origami"]
                .iter()
                .any(|family| kind.starts_with(family)) => {}
        _ => return Line::unknown(record.kind),
    }
    Line::Known
}

/// Files that the host backs up because the agent edited them, including edits before this recording.
fn tracked_files(assembler: &mut Assembler, snapshot: &str) {
    let fields = Fields::of(snapshot);
    let Some(files) = fields.raw(&["trackedFileBackups"]) else { return };
    for path in Fields::of(files.get()).names() {
        assembler.touched(path);
    }
}
