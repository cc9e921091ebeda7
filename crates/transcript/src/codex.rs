//! Codex: `~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl`, unpacked by the caller where it is
//! `.zst`.
//!
//! Codex records the same content up to three times: as items of the model's API (`response_item`), as events
//! for the screen (`event_msg`), and in newer versions as completed items. This reader uses the API's items,
//! and the others only where those are missing: for what a script did, for one.
//!
//! Until September 2025 the items stood in the file as they are, without the envelope that has the time.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::assemble::{Assembler, Source};
use crate::clip::clipped;
use crate::envelope::{UserText, classify, element};
use crate::json::{Fields, Moment, Number, Raw, Text, elements, parse, string_or_source, value};
use crate::limits::{EXCERPT_BYTES_MAX, ITEMS_MAX, TEXT_BYTES_MAX};
use crate::line::Line;
use crate::tool::{self, Answer, SCRIPT, action, mcp_failed, result_text};
use crate::turn::{Action, Call, Parent, ParentKind, PromptKind, Stop};

#[derive(Deserialize, Default)]
#[serde(default)]
struct Record<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    timestamp: Moment,
    payload: Raw<'a>,
}

/// The fields of any payload that matter here.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Payload<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    role: Text<'a>,
    content: Raw<'a>,
    #[serde(rename = "internal_chat_message_metadata_passthrough")]
    metadata: Raw<'a>,
    name: Text<'a>,
    call_id: Text<'a>,
    id: Text<'a>,
    arguments: Raw<'a>,
    input: Raw<'a>,
    action: Raw<'a>,
    output: Raw<'a>,
    message: Text<'a>,
    turn_id: Text<'a>,
    item: Raw<'a>,
    num_turns: Number,
}

pub(crate) fn line<'a>(assembler: &mut Assembler, line: &'a [u8]) -> Line<'a> {
    let Ok(record) = serde_json::from_slice::<Record<'a>>(line) else { return Line::Malformed };
    let at = record.timestamp.0;
    assembler.moment(at);
    // A record without an envelope is its own payload.
    let payload = record.payload.map(RawValue::get).or_else(|| str::from_utf8(line).ok());
    let Some(payload) = payload else { return Line::Malformed };
    match record.kind.as_str() {
        "session_meta" => session(assembler, &Fields::of(payload)),
        "turn_context" => turn_context(assembler, &Fields::of(payload)),
        "response_item" => return response_item(assembler, &parse(payload).unwrap_or_default(), at),
        "event_msg" => return event(assembler, &parse(payload).unwrap_or_default(), at),
        "compacted" => {
            let summary = Fields::of(payload).text(&["message"]);
            assembler.compaction(&summary, Source { at, ..Source::default() });
        }
        "world_state"
        | "token_usage_record"
        | "ghost_snapshot"
        | "inter_agent_communication"
        | "inter_agent_communication_metadata" => {}
        _ if record.payload.is_none() => return without_envelope(assembler, &record.kind, payload, at),
        _ => return Line::unknown(record.kind),
    }
    Line::Known
}

/// A record without an envelope: an item, the head of the session, or a mark that has no content.
fn without_envelope<'a>(
    assembler: &mut Assembler,
    kind: &Text<'_>,
    record: &'a str,
    at: Option<jiff::Timestamp>,
) -> Line<'a> {
    let fields = Fields::of(record);
    if kind.some().is_some() || fields.raw(&["role"]).is_some() {
        return response_item(assembler, &parse(record).unwrap_or_default(), at);
    }
    if fields.text(&["record_type"]) == "state" {
        return Line::Known;
    }
    if at.is_none() || fields.text(&["id"]).is_empty() {
        return Line::Malformed;
    }
    session(assembler, &fields);
    Line::Known
}

/// The head of a session. The first one is the session's own; in a copy, the heads of its ancestors follow.
fn session(assembler: &mut Assembler, meta: &Fields<'_>) {
    let state = &mut assembler.live;
    let id = meta.text(&["id", "session_id"]);
    if state.headed {
        if state.next_seq == 0 && !id.is_empty() && id != state.session.id {
            state.origin = Some(tool::name(&id));
        }
        return;
    }
    state.headed = true;
    let session = &mut state.session;
    if !id.is_empty() {
        session.id = tool::name(&id);
    }
    let some = |text: Cow<'_, str>| (!text.is_empty()).then(|| tool::name(&text));
    session.version = some(meta.text(&["cli_version"]));
    session.cwd = some(meta.text(&["cwd"])).or_else(|| session.cwd.take());
    let git = meta.raw(&["git"]).map(|git| Fields::of(git.get())).unwrap_or_default();
    session.branch = some(git.text(&["branch"])).or_else(|| session.branch.take());
    let source = meta.raw(&["source"]);
    let from = source.filter(|source| source.get().starts_with('{')).map(|source| Fields::of(source.get()));
    let sub_agent = from.as_ref().and_then(|from| from.raw(&["subagent", "sub_agent"]));
    let forked = some(meta.text(&["forked_from_id"]));
    let spawned = sub_agent.and_then(spawned_by).or_else(|| some(meta.text(&["parent_thread_id"])));
    let parent = match (spawned, forked) {
        (Some(parent), _) => Some((ParentKind::SubAgent, Some(parent))),
        // A review, for one, does not name who asked for it.
        (None, _) if sub_agent.is_some() => Some((ParentKind::SubAgent, None)),
        (None, Some(parent)) => Some((ParentKind::Fork, Some(parent))),
        (None, None) => None,
    };
    session.parent = parent.map(|(kind, id)| Parent { kind, session: id, turn: None });
    let exec = source.is_some_and(|source| source.get() == "\"exec\"");
    let internal = from.as_ref().is_some_and(|from| from.raw(&["internal"]).is_some());
    session.automated = exec || internal || meta.text(&["originator"]) == "codex_exec";
    ignore_host_job(assembler);
}

fn spawned_by(sub_agent: &RawValue) -> Option<String> {
    let spawn = Fields::of(sub_agent.get()).raw(&["thread_spawn"])?;
    let parent = Fields::of(spawn.get()).text(&["parent_thread_id"]);
    (!parent.is_empty()).then(|| tool::name(&parent))
}

/// Codex runs its memory jobs as sessions in its own folder.
fn ignore_host_job(assembler: &mut Assembler) {
    let cwd = assembler.live.session.cwd.as_deref().unwrap_or("").trim_end_matches(['/', '\\']);
    assembler.live.muted = cwd.ends_with(".codex/memories") || cwd.ends_with(".codex\\memories");
}

fn turn_context(assembler: &mut Assembler, context: &Fields<'_>) {
    let session = &mut assembler.live.session;
    let (model, cwd, turn) = (context.text(&["model"]), context.text(&["cwd"]), context.text(&["turn_id"]));
    if !model.is_empty() {
        session.model = Some(tool::name(&model));
    }
    if !cwd.is_empty() {
        session.cwd = Some(tool::name(&cwd));
    }
    enter_turn(assembler, &turn);
}

/// The prompt may come before or after the turn's own records.
fn enter_turn(assembler: &mut Assembler, turn: &str) {
    if turn.is_empty() {
        return;
    }
    if assembler.is_unanswered() {
        assembler.name_turn(turn);
    }
    assembler.live.turn = Some(tool::name(turn));
}

fn response_item<'a>(assembler: &mut Assembler, item: &Payload<'a>, at: Option<jiff::Timestamp>) -> Line<'a> {
    let source = Source { at, ..Source::default() };
    let id = item.call_id.some().or(item.id.some()).unwrap_or("");
    match item.kind.as_str() {
        // Old versions have messages without a type.
        "message" | "" => match item.role.as_str() {
            "user" => user_message(assembler, item.content, item.metadata, RecordedIn::Input, at),
            "assistant" => {
                assembler.live.responses = true;
                reply(assembler, &result_text(item.content), at);
            }
            "developer" | "system" | "tool" => {}
            _ => return Line::unknown(item.kind.clone()),
        },
        "function_call" | "custom_tool_call" => {
            assembler.live.responses = true;
            let input = tool::source(item.arguments.or(item.input));
            call(assembler, id, item.name.as_str(), input, at);
        }
        "local_shell_call" => {
            assembler.live.responses = true;
            call(assembler, id, "local_shell_call", tool::source(item.action), at);
        }
        "web_search_call" => {
            assembler.live.responses = true;
            call(assembler, id, "web_search_call", tool::source(item.action), at);
            assembler.result(id, Answer::default(), source);
        }
        "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" => {
            let text = result_text(item.output);
            let failed = item.output.is_some_and(|output| output.get().contains("\"success\":false"));
            assembler.result(id, Answer { text, failed, exit: None }, source);
        }
        "reasoning"
        | "tool_search_call"
        | "tool_search_output"
        | "additional_tools"
        | "image_generation_call"
        | "ghost_snapshot"
        | "compaction"
        | "compaction_summary"
        | "compaction_trigger"
        | "context_compaction"
        | "agent_message" => {}
        _ => return Line::unknown(item.kind.clone()),
    }
    Line::Known
}

fn call(assembler: &mut Assembler, id: &str, name: &str, input: &str, at: Option<jiff::Timestamp>) {
    let call = tool::call(id, name, input, at);
    assembler.live.scripts |= call.tool == SCRIPT;
    assembler.call(call, None, Source { at, ..Source::default() });
    name_by_turn(assembler);
}

fn reply(assembler: &mut Assembler, text: &str, at: Option<jiff::Timestamp>) {
    if !assembler.has_reply(text) {
        assembler.reply(text, None, Source { at, ..Source::default() });
    }
    name_by_turn(assembler);
}

fn name_by_turn(assembler: &mut Assembler) {
    if let Some(turn) = assembler.live.turn.clone() {
        assembler.name_turn(&turn);
    }
}

/// Where a prompt was recorded.
#[derive(Clone, Copy, PartialEq)]
enum RecordedIn {
    /// In the model's input, where instructions and context have the user's role too.
    Input,
    /// In the host's event about what the person typed.
    Host,
}

/// A message in the user's role: instructions, context and words come as parts of one or as messages of their
/// own.
fn user_message(
    assembler: &mut Assembler,
    content: Raw<'_>,
    metadata: Raw<'_>,
    recorded_in: RecordedIn,
    at: Option<jiff::Timestamp>,
) {
    let Some(content) = content else { return };
    let kinds: Vec<Text<'_>> =
        value(metadata.and_then(|metadata| Fields::of(metadata.get()).raw(&["content_item_kinds"])));
    if content.get().starts_with('"') {
        return prompt(assembler, &string_or_source(content), recorded_in, at);
    }
    let mut words = String::new();
    let mut images = false;
    for (n, part) in elements(content).into_iter().enumerate() {
        if kinds.get(n).is_some_and(|kind| is_hosts(kind.as_str())) {
            continue;
        }
        let fields = Fields::of(part.get());
        images |= fields.text(&["type"]).contains("image");
        let text = fields.text(&["text"]);
        if assembler.live.session.cwd.is_none() {
            assembler.live.session.cwd = folder(&text).map(tool::name);
        }
        // Parts around an image that name it.
        if text.trim_start().starts_with("<image") || text.trim() == "</image>" {
            continue;
        }
        if assembler.ran_by_person(&text, Source { at, ..Source::default() }) {
            continue;
        }
        match classify(&text) {
            UserText::Words(part) => {
                let gap = if words.is_empty() { "" } else { "\n" };
                words.push_str(gap);
                words.push_str(&part);
            }
            UserText::Summary(summary) => assembler.compaction(&summary, Source { at, ..Source::default() }),
            _ => {}
        }
    }
    if words.is_empty() && images {
        words.push_str("[image]");
    }
    prompt(assembler, &words, recorded_in, at);
}

/// The folder that the host names before the first prompt: in old versions nothing else does.
fn folder(text: &str) -> Option<&str> {
    const LABEL: &str = "Current working directory: ";
    let context = text.trim_start().strip_prefix("<environment_context>")?;
    let labelled = || context.lines().find_map(|line| line.strip_prefix(LABEL));
    element(context, "cwd").or_else(labelled).map(str::trim).filter(|folder| !folder.is_empty())
}

/// Whether a part of a message is of a kind that the host adds, such as `hooks.additional_context`; what a person gives is
/// `user.…`. Older versions name no kinds.
fn is_hosts(kind: &str) -> bool {
    kind.contains('.') && !kind.starts_with("user.")
}

/// The same words appear as the model's input and as the host's event, before any answer.
fn prompt(assembler: &mut Assembler, text: &str, recorded_in: RecordedIn, at: Option<jiff::Timestamp>) {
    let UserText::Words(words) = classify(text) else { return };
    let words = clipped(words.trim(), TEXT_BYTES_MAX);
    // What the model is given may have context beside the words. Of two words of the person, one may begin with the other.
    let is_same = |before: &str| match recorded_in {
        RecordedIn::Input => before.contains(&words) || words.contains(before),
        RecordedIn::Host => letters(before).eq(letters(&words)),
    };
    if assembler.unanswered_prompt().is_some_and(is_same) {
        return;
    }
    let sub_agent = assembler.live.session.is_sub_agents();
    let kind = if sub_agent { PromptKind::Delegated } else { PromptKind::Typed };
    let source = Source { at, ..Source::default() };
    match recorded_in {
        RecordedIn::Input => assembler.provisional_prompt(&words, kind, source),
        RecordedIn::Host => assembler.confirmed_prompt(&words, kind, source),
    }
    name_by_turn(assembler);
}

/// A text's characters without white space: the host joins the parts of a prompt with or without it.
fn letters(text: &str) -> impl Iterator<Item = char> {
    text.chars().filter(|c| !c.is_whitespace())
}

fn event<'a>(assembler: &mut Assembler, event: &Payload<'a>, at: Option<jiff::Timestamp>) -> Line<'a> {
    let source = Source { at, ..Source::default() };
    match event.kind.as_str() {
        "task_started" | "turn_started" => {
            // The turn's id names the exchange that follows.
            assembler.live.turn = event.turn_id.some().map(tool::name);
        }
        "user_message" => prompt(assembler, event.message.as_str(), RecordedIn::Host, at),
        "agent_message" if !assembler.live.responses => reply(assembler, event.message.as_str(), at),
        "turn_aborted" | "task_aborted" => assembler.stopped(Stop::Person, source),
        "error" | "stream_error" => {}
        "thread_rolled_back" => {
            let prompts = event.num_turns.0.and_then(|count| usize::try_from(count).ok()).unwrap_or(0);
            if prompts > 0 {
                assembler.roll_back(prompts);
            }
        }
        "context_compacted" => assembler.compaction("", source),
        "item_completed" => {
            if let Some(item) = event.item {
                return completed(assembler, &Fields::of(item.get()), at);
            }
        }
        kind if is_screen_event(kind) => {}
        _ => return Line::unknown(event.kind.clone()),
    }
    Line::Known
}

/// Events that repeat response items or are about the screen.
fn is_screen_event(kind: &str) -> bool {
    const EVENTS: [&str; 20] = [
        "token_count",
        "agent_message",
        "task_complete",
        "turn_complete",
        "turn_diff",
        "plan_update",
        "plan_delta",
        "entered_review_mode",
        "exited_review_mode",
        "thread_name_updated",
        "thread_settings_applied",
        "thread_goal_updated",
        "background_event",
        "undo_started",
        "undo_completed",
        "view_image_tool_call",
        "dynamic_tool_call_request",
        "dynamic_tool_call_response",
        "sub_agent_activity",
        "warning",
    ];
    const FAMILIES: [&str; 10] = [
        "agent_", "exec_", "patch_", "mcp_", "web_search", "collab_", "item_", "hook_", "image_generation",
        "raw_response",
    ];
    EVENTS.contains(&kind)
        || FAMILIES.iter().any(|family| kind.starts_with(family))
        || kind.ends_with("_request")
}

/// A completed item. Messages are taken unless the same words are there; work is, unless response items report
/// it.
fn completed<'a>(assembler: &mut Assembler, item: &Fields<'a>, at: Option<jiff::Timestamp>) -> Line<'a> {
    let kind = item.text(&["type"]);
    let alone = !assembler.live.responses;
    let work = alone || assembler.live.scripts;
    if work && matches!(kind.as_ref(), "CommandExecution" | "FileChange" | "McpToolCall") {
        assembler.tells(SCRIPT);
    }
    match kind.as_ref() {
        "UserMessage" => user_message(assembler, item.raw(&["content"]), None, RecordedIn::Host, at),
        "AgentMessage" if alone => reply(assembler, &result_text(item.raw(&["content"])), at),
        "CommandExecution" if work => {
            let line = item.raw(&["command"]).map_or("\"\"", RawValue::get);
            let answer = answer_of(item, &["aggregated_output", "stdout"], item.status("exit_code"));
            finished(assembler, item, "exec_command", &format!("{{\"command\":{line}}}"), answer, at);
        }
        "FileChange" if work => file_change(assembler, item, at),
        "McpToolCall" if work => {
            let name = format!("mcp__{}__{}", item.text(&["server"]), item.text(&["tool"]));
            let input = tool::source(item.raw(&["arguments"]));
            let result = item.raw(&["result"]);
            // It is a text, or an object with a message.
            let error = item.raw(&["error"]).map(|error| Fields::of(error.get()).text(&["message"]));
            let error = error.filter(|error| !error.is_empty()).unwrap_or_else(|| item.text(&["error"]));
            let failed = item.text(&["status"]) == "failed" || mcp_failed(result);
            let text = if error.is_empty() { result_text(result) } else { error };
            finished(assembler, item, &name, input, Answer { text, failed, exit: None }, at);
        }
        "Plan" => {
            let text = item.text(&["text", "content"]);
            let action = Action::Plan { text: clipped(&text, TEXT_BYTES_MAX) };
            entered(assembler, item, "plan", action, Answer::default(), at);
        }
        "ContextCompaction" => assembler.compaction("", Source { at, ..Source::default() }),
        "AgentMessage"
        | "CommandExecution"
        | "FileChange"
        | "McpToolCall"
        | "Reasoning"
        | "Extension"
        | "WebSearch"
        | "ImageView"
        | "SubAgentActivity"
        | "CollabAgentToolCall"
        | "HookPrompt"
        | "EnteredReviewMode"
        | "ExitedReviewMode"
        | "DynamicToolCall"
        | "ImageGeneration"
        | "Sleep" => {}
        _ => return Line::Unknown(Cow::Owned(format!("item {kind}"))),
    }
    Line::Known
}

fn file_change(assembler: &mut Assembler, item: &Fields<'_>, at: Option<jiff::Timestamp>) {
    let changes = item.raw(&["changes"]).map(|changes| Fields::of(changes.get())).unwrap_or_default();
    let (mut paths, mut written) = (Vec::new(), String::new());
    for path in changes.names().take(ITEMS_MAX) {
        let change = changes.raw(&[path]).map(|change| Fields::of(change.get())).unwrap_or_default();
        let moved = change.text(&["move_path"]);
        paths.extend([path, &moved].into_iter().filter(|path| !path.is_empty()).map(tool::name));
        if change.text(&["type"]) == "delete" {
            continue;
        }
        for line in change.text(&["unified_diff"]).lines().filter_map(|line| line.strip_prefix('+')) {
            written.push_str(line);
            written.push('\n');
        }
        written.push_str(&change.text(&["content"]));
    }
    let excerpt = clipped(written.trim_end(), EXCERPT_BYTES_MAX);
    let answer = answer_of(item, &["stderr", "stdout"], None);
    entered(assembler, item, "apply_patch", Action::Edit { paths, excerpt }, answer, at);
}

/// What came of an item, with what it printed under the first of these names.
fn answer_of<'a>(item: &Fields<'a>, printed: &[&str], exit: Option<i32>) -> Answer<'a> {
    match item.text(&["status"]).as_ref() {
        "declined" => Answer::refused(""),
        status => Answer { text: item.text(printed), failed: status == "failed", exit },
    }
}

fn finished(
    assembler: &mut Assembler,
    item: &Fields<'_>,
    name: &str,
    input: &str,
    answer: Answer<'_>,
    at: Option<jiff::Timestamp>,
) {
    entered(assembler, item, name, action(name, input), answer, at);
}

fn entered(
    assembler: &mut Assembler,
    item: &Fields<'_>,
    name: &str,
    action: Action,
    answer: Answer<'_>,
    at: Option<jiff::Timestamp>,
) {
    let call =
        Call { id: tool::name(&item.text(&["id"])), tool: tool::name(name), action, at, ..Call::default() };
    assembler.answered(call, answer, None, Source { at, ..Source::default() });
    name_by_turn(assembler);
}
