//! OpenCode: rows of `opencode.db`, handed in by the caller. 1.x has `message` and `part`; 2.x has
//! `session_message`, and leaves the tables of 1.x behind, stale. Rows change in place, so a session is
//! always read whole, and the caller replaces everything that came from it before.

use serde::Deserialize;

use crate::assemble::{Assembler, Source};
use crate::envelope::{UserText, classify};
use crate::json::{Fields, Flag, Moment, Number, Raw, Text, parse, value};
use crate::state::{Batch, State};
use crate::tool::{self, Answer, result_text};
use crate::turn::{Agent, Parent, ParentKind, PromptKind, Stop};

/// A row of `session` or `session_v2`. Columns that a version does not have are `None`.
#[derive(Debug, Clone, Default)]
pub struct SessionRow {
    pub id: String,
    /// `parent_id`: of a sub-agent's session.
    pub parent: Option<String>,
    /// `fork_session_id` (2.x).
    pub forked_from: Option<String>,
    /// `directory`. The worktree of the project `global` is `/` and says nothing.
    pub directory: Option<String>,
    pub title: Option<String>,
    pub version: Option<String>,
    /// `revert`, as JSON (1.x): what comes from that message on was taken back.
    pub revert: Option<String>,
    /// `time_created`, in milliseconds.
    pub created_ms: Option<i64>,
    /// `time_updated`, in milliseconds.
    pub updated_ms: Option<i64>,
}

/// A row of `message` (1.x), in the order of `time_created, id`.
#[derive(Debug, Clone, Default)]
pub struct MessageRow {
    pub id: String,
    /// `time_created`, in milliseconds.
    pub created_ms: Option<i64>,
    /// `data`, as JSON.
    pub data: String,
}

/// A row of `part` (1.x), in the order of `message_id, id`.
#[derive(Debug, Clone, Default)]
pub struct PartRow {
    /// `message_id`.
    pub message: String,
    /// `data`, as JSON.
    pub data: String,
}

/// A row of `session_message` (2.x), in the order of `seq`.
#[derive(Debug, Clone, Default)]
pub struct EntryRow {
    pub id: String,
    /// `type`.
    pub kind: String,
    /// `time_created`, in milliseconds.
    pub created_ms: Option<i64>,
    /// `data`, as JSON.
    pub data: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct MessageData<'a> {
    #[serde(borrow)]
    role: Text<'a>,
    #[serde(rename = "modelID")]
    model: Text<'a>,
    path: Raw<'a>,
    error: Raw<'a>,
    summary: Flag,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Part<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    text: Text<'a>,
    synthetic: Flag,
    ignored: Flag,
    /// The tool's name in 1.x, and in 2.x.
    tool: Text<'a>,
    name: Text<'a>,
    /// The call's id in 1.x, and in 2.x.
    #[serde(rename = "callID")]
    call: Text<'a>,
    id: Text<'a>,
    state: Raw<'a>,
    files: Raw<'a>,
    /// Of a subtask: the command that the person gave, and what an agent is to do.
    command: Text<'a>,
    prompt: Text<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ToolState<'a> {
    #[serde(borrow)]
    status: Text<'a>,
    input: Raw<'a>,
    output: Raw<'a>,
    content: Raw<'a>,
    error: Raw<'a>,
    metadata: Raw<'a>,
}

/// What an entry of 2.x may have.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Entry<'a> {
    #[serde(borrow)]
    text: Text<'a>,
    content: Raw<'a>,
    model: Raw<'a>,
    summary: Text<'a>,
    status: Text<'a>,
    command: Text<'a>,
    exit: Number,
    output: Raw<'a>,
    error: Raw<'a>,
    outcome: Text<'a>,
    location: Raw<'a>,
    snapshot: Raw<'a>,
}

/// Reads a session of 1.x.
pub fn read_v1(session: &SessionRow, messages: &[MessageRow], parts: &[PartRow]) -> Batch {
    let mut assembler = begin(session);
    let revert = session.revert.as_deref().map(Fields::of).unwrap_or_default();
    let reverted = revert.text(&["messageID"]);
    let mut by_message = std::collections::HashMap::<&str, Vec<&PartRow>>::new();
    for part in parts {
        by_message.entry(part.message.as_str()).or_default().push(part);
    }
    for (offset, message) in messages.iter().enumerate() {
        if !reverted.is_empty() && message.id == reverted {
            break;
        }
        assembler.begin(offset as u64);
        assembler.live.counts.records += 1;
        let parts = by_message.get(message.id.as_str()).map_or(&[][..], Vec::as_slice);
        message_v1(&mut assembler, message, parts);
    }
    finish(assembler, messages.len())
}

/// Reads a session of 2.x.
pub fn read_v2(session: &SessionRow, entries: &[EntryRow]) -> Batch {
    let mut assembler = begin(session);
    for (offset, row) in entries.iter().enumerate() {
        assembler.begin(offset as u64);
        assembler.live.counts.records += 1;
        let at = row.created_ms.and_then(|millis| Moment::of_millis(millis).0);
        let source = Source { id: Some(&row.id), parent: None, at };
        assembler.moment(at);
        let Ok(entry) = serde_json::from_str::<Entry<'_>>(&row.data) else {
            assembler.live.counts.malformed += 1;
            continue;
        };
        entry_v2(&mut assembler, row, &entry, source);
    }
    finish(assembler, entries.len())
}

fn begin(row: &SessionRow) -> Assembler {
    let mut assembler = Assembler::new(&State::new(Agent::OpenCode, &row.id));
    let session = &mut assembler.live.session;
    let name = |text: &Option<String>| text.as_deref().filter(|text| !text.is_empty()).map(tool::name);
    session.title = name(&row.title).filter(|title| !is_default_title(title));
    session.cwd = name(&row.directory);
    session.version = name(&row.version);
    session.parent = match (name(&row.parent), name(&row.forked_from)) {
        (Some(id), _) => Some(Parent { kind: ParentKind::SubAgent, session: Some(id), turn: None }),
        (None, Some(id)) => Some(Parent { kind: ParentKind::Fork, session: Some(id), turn: None }),
        (None, None) => None,
    };
    for millis in [row.created_ms, row.updated_ms].into_iter().flatten() {
        assembler.moment(Moment::of_millis(millis).0);
    }
    assembler
}

fn finish(assembler: Assembler, rows: usize) -> Batch {
    let fresh = State::new(Agent::OpenCode, &assembler.live.session.id);
    Batch { state: fresh, ..assembler.finish(rows as u64) }
}

/// What stands for a title until there is one: `New session - 2026-…`.
fn is_default_title(title: &str) -> bool {
    let rest = title.strip_prefix("New session - ").or_else(|| title.strip_prefix("Child session - "));
    rest.is_some_and(|rest| rest.starts_with("20"))
}

fn prompt_kind(assembler: &Assembler) -> PromptKind {
    if assembler.live.session.is_sub_agents() { PromptKind::Delegated } else { PromptKind::Typed }
}

fn message_v1(assembler: &mut Assembler, row: &MessageRow, parts: &[&PartRow]) {
    let at = row.created_ms.and_then(|millis| Moment::of_millis(millis).0);
    let source = Source { id: Some(&row.id), parent: None, at };
    assembler.moment(at);
    let Ok(data) = serde_json::from_str::<MessageData<'_>>(&row.data) else {
        assembler.live.counts.malformed += 1;
        return;
    };
    let all = parts.len();
    let parts: Vec<Part<'_>> = parts.iter().filter_map(|part| parse(&part.data)).collect();
    // Each part is a record, too.
    let counts = &mut assembler.live.counts;
    counts.records += all as u64;
    counts.malformed += (all - parts.len()) as u64;
    match data.role.as_str() {
        "user" => {
            // Texts that the host adds are marked, such as files that were named.
            let typed =
                |part: &&Part<'_>| part.kind.as_str() == "text" && !part.synthetic.0 && !part.ignored.0;
            let words: Vec<&str> = parts.iter().filter(typed).map(|part| part.text.as_str()).collect();
            let words = words.join("\n");
            // A command that a sub-agent carries out is a part without a text.
            match parts.iter().find(|part| part.kind.as_str() == "subtask") {
                Some(task) if words.trim().is_empty() => match task.command.some() {
                    Some(name) => {
                        assembler.prompt(&format!("/{name}"), PromptKind::Command, source);
                    }
                    None => prompt(assembler, task.prompt.as_str(), source),
                },
                _ => prompt(assembler, &words, source),
            }
        }
        "assistant" => {
            assistant_head(assembler, &data);
            for part in &parts {
                part_v1(assembler, part, data.summary.0, source);
            }
            if data.error.is_some_and(|error| error.get() != "null") {
                assembler.stopped(stopper(data.error), source);
            }
        }
        role => assembler.live.counts.unknown(&format!("role {role}"), row.data.len()),
    }
}

fn assistant_head(assembler: &mut Assembler, data: &MessageData<'_>) {
    let session = &mut assembler.live.session;
    if let Some(model) = data.model.some() {
        session.model = Some(tool::name(model));
    }
    let cwd = data.path.map(|path| Fields::of(path.get()).text(&["cwd"])).unwrap_or_default();
    if session.cwd.is_none() && !cwd.is_empty() {
        session.cwd = Some(tool::name(&cwd));
    }
}

fn stopper(error: Raw<'_>) -> Stop {
    let name = error.map(|error| Fields::of(error.get()).text(&["name", "type"])).unwrap_or_default();
    if name.contains("Abort") { Stop::Person } else { Stop::Service }
}

fn prompt(assembler: &mut Assembler, text: &str, source: Source<'_>) {
    if let UserText::Words(words) = classify(text) {
        let kind = prompt_kind(assembler);
        assembler.prompt(&words, kind, source);
    }
}

fn part_v1(assembler: &mut Assembler, part: &Part<'_>, summary: bool, source: Source<'_>) {
    match part.kind.as_str() {
        "text" if summary => assembler.compaction(crate::envelope::summary(part.text.as_str()), source),
        "text" if !part.synthetic.0 => assembler.reply(part.text.as_str(), None, source),
        "tool" => called(assembler, part.tool.as_str(), part.call.as_str(), part.state, source),
        "patch" => touched(assembler, part.files),
        "compaction" => assembler.compaction("", source),
        "text" | "reasoning" | "step-start" | "step-finish" | "snapshot" | "file" | "agent" | "subtask"
        | "retry" => {}
        kind => assembler.live.counts.unknown(&format!("part {kind}"), 0),
    }
}

/// The files that changed during a step, however they were changed.
fn touched(assembler: &mut Assembler, files: Raw<'_>) {
    let files: Vec<Text<'_>> = value(files);
    files.iter().filter_map(Text::some).for_each(|path| assembler.touched(path));
}

fn called(assembler: &mut Assembler, name: &str, id: &str, state: Raw<'_>, source: Source<'_>) {
    let state: ToolState<'_> = value(state);
    let call = tool::call(id, name, tool::source(state.input), source.at);
    // Only the metadata has a command's exit status; a call of an unknown tool is stored as completed.
    let exit = state.metadata.and_then(|metadata| Fields::of(metadata.get()).status("exit"));
    let failed = state.status.as_str() == "error" || name == "invalid";
    match state.status.as_str() {
        "completed" | "error" => {
            let error = state.error.filter(|_| failed);
            // It is a text, or an object with a message.
            let message = error.map(|error| Fields::of(error.get()).text(&["message"])).unwrap_or_default();
            let text = if message.is_empty() {
                result_text(error.or(state.output).or(state.content))
            } else {
                message
            };
            let refused = text.contains("rejected permission") || text.contains("PermissionRejected");
            let answer = if failed && refused {
                Answer::refused(text.split_once("feedback: ").map_or("", |(_, said)| said))
            } else {
                Answer { text, failed, exit }
            };
            assembler.answered(call, answer, None, source);
        }
        _ => assembler.call(call, None, source),
    }
}

fn entry_v2(assembler: &mut Assembler, row: &EntryRow, entry: &Entry<'_>, source: Source<'_>) {
    match row.kind.as_str() {
        "user" => prompt(assembler, entry.text.as_str(), source),
        "assistant" => {
            if let Some(model) = entry.model {
                let model = Fields::of(model.get()).text(&["id", "modelID"]);
                assembler.live.session.model = (!model.is_empty()).then(|| tool::name(&model));
            }
            for part in entry.content.map(crate::json::elements).unwrap_or_default() {
                let part: Part<'_> = parse(part.get()).unwrap_or_default();
                match part.kind.as_str() {
                    "text" => assembler.reply(part.text.as_str(), None, source),
                    "tool" => called(assembler, part.name.as_str(), part.id.as_str(), part.state, source),
                    "reasoning" => {}
                    kind => assembler.live.counts.unknown(&format!("part {kind}"), 0),
                }
            }
            touched(assembler, entry.snapshot.and_then(|raw| Fields::of(raw.get()).raw(&["files"])));
            if entry.error.is_some_and(|error| error.get() != "null") {
                assembler.stopped(stopper(entry.error), source);
            }
        }
        // A command that the person ran.
        "shell" => {
            let call = tool::typed(&row.id, entry.command.as_str(), source.at);
            let answer = Answer { text: result_text(entry.output), failed: false, exit: entry.exit.status() };
            assembler.answered(call, answer, None, source);
        }
        "compaction" if entry.status.as_str() == "failed" => {}
        "compaction" => assembler.compaction(entry.summary.as_str(), source),
        "location-switched" => {
            let location = entry.location.map(|raw| Fields::of(raw.get())).unwrap_or_default();
            let folder = location.text(&["directory"]);
            if !folder.is_empty() {
                assembler.live.session.cwd = Some(tool::name(&folder));
            }
        }
        "idle" if entry.outcome.as_str() == "interrupted" => assembler.stopped(Stop::Person, source),
        "idle" | "synthetic" | "system" | "skill" | "agent-switched" | "model-switched" => {}
        kind => assembler.live.counts.unknown(kind, row.data.len()),
    }
}
