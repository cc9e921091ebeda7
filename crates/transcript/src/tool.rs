//! Maps the tools of all agents to one vocabulary of actions and outcomes.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::clip::{clipped, first_line, start, whole_start};
use crate::json::{Fields, Flag, Raw, Text, parse, string_or_source, value};
use crate::kind::{Kind, kind};
use crate::limits::TEXT_BYTES_MAX;
use crate::limits::{
    ERROR_BYTES_MAX, EXCERPT_BYTES_MAX, INPUT_BYTES_MAX, ITEMS_MAX, NAME_BYTES_MAX, OUTPUT_BYTES_MAX,
};
use crate::turn::{Action, Call, Outcome, Question, Todo};

const FILE: &[&str] = &[
    "file_path",
    "filePath",
    "target_file",
    "notebook_path",
    "target_notebook",
    "absolute_path",
    "path",
    "relative_workspace_path",
    "relativeWorkspacePath",
    "relative_path",
    "targetFile",
    "fileName",
];
const FOLDER: &[&str] =
    &["path", "dir_path", "directory", "target_directory", "targetDirectory", "dir", "file_path", "filePath"];
const PATTERN: &[&str] = &["pattern", "regex", "glob_pattern", "globPattern", "query", "search_term"];
const WRITTEN: &[&str] = &[
    "new_string", "newString", "new_str", "newText", "file_text", "content", "contents", "new_source",
    "code_edit", "insert_line_text", "body", "repl",
];
const TASK: &[&str] = &["prompt", "message", "task", "description"];

/// The action of a call. `raw` is its input: an object, an object encoded as a string, or free text.
pub(crate) fn action(tool: &str, raw: &str) -> Action {
    let unquoted = raw.starts_with('"').then(|| parse::<Text<'_>>(raw).and_then(|text| text.0)).flatten();
    let raw = unquoted.as_deref().unwrap_or(raw).trim();
    let input = if raw.starts_with('{') { Fields::of(raw) } else { Fields::default() };
    match kind(tool) {
        Kind::Edit if input.text(&["command"]) == "view" => Action::Read { paths: named_paths(&input) },
        Kind::Edit => edit(&input),
        Kind::Patch => {
            // Codex's hooks pass the patch as the command.
            let patches =
                [input.text(&["patch", "patchText", "patch_text"]), input.text(&["input", "command"])];
            patch(&[&patches[0], &patches[1], raw])
        }
        Kind::Read => Action::Read { paths: named_paths(&input) },
        Kind::Command if !raw.is_empty() && !raw.starts_with('{') && tool == SCRIPT => script(raw),
        Kind::Search => Action::Search {
            pattern: clipped(&input.text(PATTERN), INPUT_BYTES_MAX),
            path: name(&input.text(FOLDER)),
        },
        Kind::Command => command(&input),
        Kind::Web => {
            Action::Web { target: clipped(&input.text(&["url", "query", "prompt"]), INPUT_BYTES_MAX) }
        }
        Kind::Delegate => Action::Delegate {
            agent: name(&input.text(&["subagent_type", "agent_type", "agent_name", "name"])),
            task: clipped(&input.text(TASK), INPUT_BYTES_MAX),
        },
        Kind::Plan => {
            Action::Plan { text: clipped(&input.text(&["plan", "text", "summary"]), TEXT_BYTES_MAX) }
        }
        Kind::Todo => todo(&input),
        Kind::Ask => Action::Ask { questions: questions(&input) },
        Kind::Other => Action::Other { input: clipped(raw, INPUT_BYTES_MAX) },
    }
}

/// A call of a tool, before its result.
pub(crate) fn call(id: &str, tool: &str, input: &str, at: Option<Timestamp>) -> Call {
    Call { id: name(id), tool: name(tool), action: action(tool, input), at, ..Call::default() }
}

/// A command that the person ran, before its result.
pub(crate) fn typed(id: &str, line: &str, at: Option<Timestamp>) -> Call {
    let action = Action::Command { line: name(line) };
    Call { id: name(id), tool: "!".to_owned(), action, at, ..Call::default() }
}

/// The source of an input; empty where there is none.
pub(crate) fn source(raw: Raw<'_>) -> &str {
    raw.map_or("", RawValue::get)
}

pub(crate) fn name(text: &str) -> String {
    whole_start(text, NAME_BYTES_MAX).to_owned()
}

fn named_paths(input: &Fields<'_>) -> Vec<String> {
    let one = input.text(FILE);
    let listed = input.list(&["paths", "file_paths", "include"]);
    let listed = listed.into_iter().take(ITEMS_MAX).map(|path| name(&string_or_source(path)));
    Some(&one).filter(|one| !one.is_empty()).map(|one| name(one)).into_iter().chain(listed).collect()
}

fn edit(input: &Fields<'_>) -> Action {
    let mut paths = named_paths(input);
    let mut written = input.text(WRITTEN).into_owned();
    for edit in input.list(&["edits", "edit_list"]).into_iter().take(ITEMS_MAX) {
        let edit = Fields::of(edit.get());
        let path = edit.text(FILE);
        if !path.is_empty() && !paths.iter().any(|known| *known == path) {
            paths.push(name(&path));
        }
        written.push_str(&edit.text(WRITTEN));
        written.push('\n');
    }
    Action::Edit { paths, excerpt: clipped(written.trim_end(), EXCERPT_BYTES_MAX) }
}

/// The files that a patch in the form of `apply_patch` names.
fn patch(texts: &[&str]) -> Action {
    const HEADINGS: [&str; 4] = ["*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: "];
    let text = texts.iter().find(|text| text.contains("*** ")).copied().unwrap_or("");
    let named = |line: &str| {
        HEADINGS.iter().find_map(|heading| line.strip_prefix(heading).map(|path| name(path.trim())))
    };
    let mut paths: Vec<String> = Vec::new();
    for path in text.lines().filter_map(named).take(ITEMS_MAX) {
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    let added: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix('+')).collect();
    Action::Edit { paths, excerpt: clipped(&added.join("\n"), EXCERPT_BYTES_MAX) }
}

/// Codex's tool that runs a script, which calls the other tools.
pub(crate) const SCRIPT: &str = "exec";

/// What a script does: it changes files by a patch, runs commands, or something else.
fn script(source: &str) -> Action {
    if source.contains("*** Begin Patch") {
        // In a quoted string, the lines of the patch are escaped.
        return patch(&[&source.replace("\\n", "\n")]);
    }
    let lines: Vec<String> =
        source.match_indices("cmd").filter_map(|(at, name)| literal(&source[at + name.len()..])).collect();
    if lines.is_empty() {
        return Action::Other { input: clipped(source, INPUT_BYTES_MAX) };
    }
    Action::Command { line: clipped(&lines.join("\n"), INPUT_BYTES_MAX) }
}

/// The string that a script gives to a name, from behind the name: `: "make"`.
fn literal(source: &str) -> Option<String> {
    let rest = source.trim_start_matches(['"', '\'']).trim_start().strip_prefix(':')?.trim_start();
    let quote = rest.chars().next().filter(|quote| matches!(quote, '"' | '\'' | '`'))?;
    let mut line = String::new();
    let mut chars = rest[1..].chars();
    while let Some(next) = chars.next() {
        match next {
            '\\' => match chars.next()? {
                'n' => line.push('\n'),
                't' => line.push('\t'),
                other => line.push(other),
            },
            end if end == quote => return Some(line),
            other => line.push(other),
        }
    }
    None
}

fn command(input: &Fields<'_>) -> Action {
    let line = input
        .raw(&["command", "cmd", "script", "commandLine"])
        .map(|raw| command_line(raw.get()))
        .unwrap_or_default();
    if line.contains("*** Begin Patch") {
        return patch(&[&line]);
    }
    Action::Command { line: clipped(line.trim(), INPUT_BYTES_MAX) }
}

/// A command as a line: it may be a string, or a list of arguments, often `bash -lc LINE`.
fn command_line(raw: &str) -> String {
    if !raw.starts_with('[') {
        return parse::<Text<'_>>(raw).map(|text| text.as_str().to_owned()).unwrap_or_default();
    }
    let words: Vec<Text<'_>> = parse(raw).unwrap_or_default();
    let words: Vec<&str> = words.iter().map(Text::as_str).collect();
    match words.as_slice() {
        [shell, flags, line] if flags.starts_with('-') && flags.ends_with('c') && shell.ends_with("sh") => {
            (*line).to_owned()
        }
        words => words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
    }
}

fn quoted(word: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return Cow::Borrowed(word);
    }
    Cow::Owned(format!("'{}'", word.replace('\'', r"'\''")))
}

fn todo(input: &Fields<'_>) -> Action {
    let item = |fields: &Fields<'_>, ids: &[&str], texts: &[&str]| Todo {
        text: clipped(&fields.text(texts), NAME_BYTES_MAX),
        id: name(&fields.text(ids)),
        status: name(&fields.text(&["status"])),
    };
    let listed = input.list(&["todos", "plan", "items"]).into_iter().take(ITEMS_MAX);
    let of_list = |one: &RawValue| {
        item(&Fields::of(one.get()), &["id"], &["content", "step", "description", "text", "title"])
    };
    let mut items: Vec<Todo> = listed.map(of_list).collect();
    if items.is_empty() {
        let one = item(input, &["taskId", "task_id", "id"], &["subject", "title"]);
        items.extend((!one.text.is_empty() || !one.id.is_empty()).then_some(one));
    }
    Action::Todo { items }
}

fn questions(input: &Fields<'_>) -> Vec<Question> {
    let option = |raw: &RawValue| {
        let label = Fields::of(raw.get()).text(&["label", "value", "title"]);
        name(&if label.is_empty() { string_or_source(raw) } else { label })
    };
    let question = |fields: &Fields<'_>| Question {
        text: clipped(&fields.text(&["question", "title", "text"]), NAME_BYTES_MAX),
        options: fields.list(&["options"]).into_iter().take(ITEMS_MAX).map(option).collect(),
    };
    let listed = input.list(&["questions"]).into_iter().take(ITEMS_MAX);
    let mut questions: Vec<Question> = listed.map(|one| question(&Fields::of(one.get()))).collect();
    if questions.is_empty() && !input.text(&["question"]).is_empty() {
        questions.push(question(input));
    }
    questions
}

/// A tool's result as the host recorded it.
#[derive(Debug, Default)]
pub(crate) struct Answer<'a> {
    /// What it printed.
    pub(crate) text: Cow<'a, str>,
    /// The host marked it as failed.
    pub(crate) failed: bool,
    /// The exit status, where the host has a field for it.
    pub(crate) exit: Option<i32>,
}

impl Answer<'_> {
    /// Of a call that the person refused, with what the person said instead.
    pub(crate) fn refused(said: &str) -> Self {
        Self { text: format!("{REJECTED} {REJECTED_SAID} {said}").into(), failed: true, exit: None }
    }
}

/// Claude Code's words for a call that the person refused.
const REJECTED: &str = "The user doesn't want to proceed with this tool use.";
const REJECTED_SAID: &str = "the user said:";
/// The words of Codex, Gemini CLI and Qwen Code for such a call.
const REFUSALS: [&str; 5] = [
    "exec command rejected by user",
    "patch rejected by user",
    "[Operation Cancelled] Reason: User denied",
    "[Operation Cancelled] Reason: User did not allow",
    "[Operation Cancelled] Reason: Denied",
];
/// What hosts write where nothing came of a call, because another one failed or the person stopped the turn.
pub(crate) const INTERRUPTED: &str = "[Request interrupted by user";
const SKIPPED: [&str; 6] = [
    INTERRUPTED,
    "Command was cancelled.\n",
    "<tool_use_error>Sibling tool call errored",
    "The user doesn't want to take this action",
    "[Operation Cancelled]",
    "aborted by user after ",
];
/// What Codex, Gemini CLI and Qwen Code write where a call failed, without an exit status.
const FAILURES: [&str; 5] = [
    "apply_patch verification failed",
    "failed to parse function arguments",
    "unsupported call: ",
    "Script failed\nWall time",
    "Command terminated by signal: ",
];

/// Sets a call's outcome from its result.
pub(crate) fn settle(call: &mut Call, answer: Answer<'_>) {
    let text = answer.text.trim();
    let begins_with = |starts: &[&str]| starts.iter().any(|start| text.starts_with(start));
    if text.starts_with(REJECTED) && (answer.failed || text.contains("was rejected"))
        || begins_with(&REFUSALS)
    {
        let said = text.split_once(REJECTED_SAID).map_or("", |(_, said)| said.trim());
        let said = said.split("\n\nNote: The user's next message").next().unwrap_or("").trim();
        call.outcome = Outcome::Rejected { said: clipped(said, ERROR_BYTES_MAX) };
        return;
    }
    if begins_with(&SKIPPED) || text.starts_with("Wall time: ") && text.ends_with("\naborted by user") {
        call.outcome = Outcome::Skipped;
        return;
    }
    let is_command = matches!(call.action, Action::Command { .. });
    let (printed_exit, body) =
        if is_command || answer.exit.is_none() { exit_status(text) } else { (None, text) };
    call.exit = answer.exit.or(printed_exit);
    let failed = answer.failed || call.exit.is_some_and(|status| status != 0) || begins_with(&FAILURES);
    call.outcome = if failed { Outcome::Failed } else { Outcome::Done };
    // What was noted as a single thing gets its id from the answer: "Task #3 created".
    if call.is_of_one_task()
        && let Action::Todo { items } = &mut call.action
        && let [one] = items.as_mut_slice()
        && let (true, Some((_, rest))) = (one.id.is_empty(), body.split_once('#'))
    {
        one.id = rest.chars().take_while(char::is_ascii_digit).collect();
    }
    call.output = if failed {
        clipped(without_tags(body), ERROR_BYTES_MAX)
    } else if has_new_output(call) {
        clipped(body, OUTPUT_BYTES_MAX)
    } else {
        String::new()
    };
}

/// Text that was read is in its file, and recalled text is in its memory: neither is new to the session.
fn has_new_output(call: &Call) -> bool {
    const MEMORIES: [&str; 9] = [
        "cerebro", "engram", "claude-mem", "claude_mem", "mempalace", "episodic-memory", "episodic_memory",
        "deja", "memex",
    ];
    let tool = call.tool.to_ascii_lowercase();
    let memory = tool.starts_with("mem_")
        || (tool.contains("mcp") || tool.contains('_')) && MEMORIES.iter().any(|name| tool.contains(name));
    !matches!(call.action, Action::Read { .. } | Action::Edit { .. } | Action::Todo { .. }) && !memory
}

fn without_tags(text: &str) -> &str {
    let inner = text.strip_prefix("<tool_use_error>").unwrap_or(text);
    inner.strip_suffix("</tool_use_error>").unwrap_or(inner)
}

/// The exit status that hosts write before or around an output, and the output itself.
fn exit_status(text: &str) -> (Option<i32>, &str) {
    if text.starts_with('{') {
        let metadata = Fields::of(text).raw(&["metadata"]).map(|raw| Fields::of(raw.get()));
        return (metadata.and_then(|metadata| metadata.status("exit_code")), text);
    }
    const HEAD_BYTES: usize = 512;
    // Of a command that the person ran in Gemini CLI or Qwen Code.
    let of_person = text.strip_prefix("Command exited with code ").and_then(|rest| rest.split_once(".\n"));
    if let Some((status, body)) = of_person
        && let Ok(status) = status.parse()
    {
        return (Some(status), body.trim());
    }
    // The reports of Gemini CLI and Qwen Code have it behind the output, which may itself speak of one.
    if text.starts_with("Command: ") || text.starts_with("Output: ") {
        let named = |line: &str| line.strip_prefix("Exit Code: ")?.trim().parse().ok();
        if let Some(status) = text.lines().rev().find_map(named) {
            return (Some(status), text);
        }
    }
    let head = start(text, HEAD_BYTES);
    for mark in ["Process exited with code ", "Exit code: ", "Exit Code: ", "Exit code "] {
        let Some(at) = head.find(mark).filter(|&at| at == 0 || head.as_bytes()[at - 1] == b'\n') else {
            continue;
        };
        let digits = &text[at + mark.len()..];
        let end = digits.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(digits.len());
        let Ok(status) = digits[..end].parse() else { continue };
        let rest = &digits[end..];
        let body = match rest.split_once("\nOutput:\n") {
            Some((_, body)) => body,
            None if at == 0 => rest,
            // The status is in the middle of a report.
            None => text,
        };
        return (Some(status), body.trim());
    }
    (None, text)
}

/// The text of a tool's result: a string, a list of parts with texts, or an object around either.
pub(crate) fn result_text(raw: Raw<'_>) -> Cow<'_, str> {
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Part<'a> {
        #[serde(borrow)]
        text: Text<'a>,
        output: Text<'a>,
        content: Raw<'a>,
    }
    let Some(raw) = raw else { return Cow::Borrowed("") };
    let source = raw.get();
    if source.starts_with('"') {
        return string_or_source(raw);
    }
    if source.starts_with('{') {
        let part: Part<'_> = parse(source).unwrap_or_default();
        return match (part.text.0.or(part.output.0), part.content) {
            (Some(text), _) => text,
            (None, Some(content)) if content.get().starts_with(['"', '[']) => result_text(Some(content)),
            _ => Cow::Borrowed(source),
        };
    }
    if !source.starts_with('[') {
        return Cow::Borrowed("");
    }
    let parts: Vec<Part<'_>> = parse(source).unwrap_or_default();
    let mut texts = parts.into_iter().filter_map(|part| part.text.0.or(part.output.0));
    let first = texts.next().unwrap_or_default();
    texts.fold(first, |mut all, next| {
        all.to_mut().push('\n');
        all.to_mut().push_str(&next);
        all
    })
}

/// The flag and the text of a result in MCP's form.
pub(crate) fn mcp_failed(raw: Raw<'_>) -> bool {
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Mcp {
        #[serde(rename = "isError", alias = "is_error")]
        is_error: Flag,
    }
    raw.is_some_and(|raw| raw.get().starts_with('{')) && value::<Mcp>(raw).is_error.0
}

/// A short line that describes a call.
pub(crate) fn headline(call: &Call) -> String {
    let text = match &call.action {
        Action::Edit { paths, .. } | Action::Read { paths } => paths.join(", "),
        Action::Search { pattern: text, .. }
        | Action::Command { line: text }
        | Action::Web { target: text }
        | Action::Plan { text }
        | Action::Other { input: text }
        | Action::Delegate { task: text, .. } => first_line(text).to_owned(),
        Action::Todo { items } => items.first().map(|item| item.text.clone()).unwrap_or_default(),
        Action::Ask { questions } => questions.first().map(|one| one.text.clone()).unwrap_or_default(),
    };
    name(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(tool: &str, input: &str) -> Vec<String> {
        match action(tool, input) {
            Action::Edit { paths, .. } => paths,
            other => panic!("{other:?}"),
        }
    }

    fn line(tool: &str, input: &str) -> String {
        match action(tool, input) {
            Action::Command { line } => line,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn edits_of_all_agents_name_their_files() {
        for (tool, input, want) in [
            ("Edit", r#"{"file_path":"/w/a.rs","old_string":"x","new_string":"y"}"#, "/w/a.rs"),
            ("Write", r#"{"file_path":"/w/b.rs","content":"z"}"#, "/w/b.rs"),
            ("NotebookEdit", r#"{"notebook_path":"n.ipynb","new_source":"1"}"#, "n.ipynb"),
            ("replace", r#"{"file_path":"g.ts","new_string":"y"}"#, "g.ts"),
            ("edit", r#"{"filePath":"/w/o.go","newString":"y"}"#, "/w/o.go"),
            ("StrReplace", r#"{"path":"c.py","new_string":"y"}"#, "c.py"),
            ("MultiEdit", r#"{"edits":[{"file_path":"m.rs","new_string":"a"}]}"#, "m.rs"),
            ("apply_patch", "*** Begin Patch\n*** Update File: p.rs\n+a\n*** End Patch", "p.rs"),
            ("apply_patch", r#"{"input":"*** Begin Patch\n*** Add File: q.rs\n+a\n*** End Patch"}"#, "q.rs"),
            ("apply_patch", "\"*** Begin Patch\\n*** Delete File: r.rs\\n*** End Patch\"", "r.rs"),
            (
                "shell",
                r#"{"command":["apply_patch","*** Begin Patch\n*** Update File: s.rs\n*** End Patch"]}"#,
                "s.rs",
            ),
            ("edit_file_v2", r#"{"relativeWorkspacePath":"t.rs","noCodeblock":true}"#, "t.rs"),
            ("MultiStrReplace", r#"{"path":"w.py","edits":[{"new_string":"y"}]}"#, "w.py"),
            ("EditNotebook", r#"{"target_notebook":"o.ipynb","new_string":"1"}"#, "o.ipynb"),
            (
                "exec",
                r#""await tools.apply_patch(\"*** Begin Patch\\n*** Update File: u.rs\\n+a\\n*** End Patch\")""#,
                "u.rs",
            ),
            ("exec", "text(await tools.apply_patch(`*** Begin Patch\n*** Add File: v.rs\n+a`))", "v.rs"),
        ] {
            assert_eq!(edited(tool, input), [want], "{tool} {input}");
        }
        let both = "*** Begin Patch\n*** Update File: a\n*** Move to: b\n*** End Patch";
        assert_eq!(edited("apply_patch", both), ["a", "b"]);
    }

    #[test]
    fn servers_for_files_edit_read_and_run_as_the_agents_own_tools_do() {
        for (tool, input) in [
            ("mcp__acp__Edit", r#"{"file_path":"a.rs","old_string":"x","new_string":"y"}"#),
            ("mcp__acp__Write", r#"{"file_path":"a.rs","content":"y"}"#),
            ("mcp__filesystem__write_file", r#"{"path":"a.rs","content":"y"}"#),
            ("mcp__filesystem__edit_file", r#"{"path":"a.rs","edits":[{"oldText":"x","newText":"y"}]}"#),
            ("mcp__serena__replace_symbol_body", r#"{"name_path":"A","relative_path":"a.rs","body":"y"}"#),
            ("mcp__serena__insert_after_symbol", r#"{"name_path":"A","relative_path":"a.rs","body":"y"}"#),
            ("mcp__serena__replace_content", r#"{"relative_path":"a.rs","needle":"x","repl":"y"}"#),
            ("mcp__plugin_serena_serena__create_text_file", r#"{"relative_path":"a.rs","content":"y"}"#),
        ] {
            let want = Action::Edit { paths: vec!["a.rs".into()], excerpt: "y".into() };
            assert_eq!(action(tool, input), want, "{tool}");
        }
        assert_eq!(line("mcp__acp__Bash", r#"{"command":"make"}"#), "make");
        let read = Action::Read { paths: vec!["a.rs".into()] };
        assert_eq!(action("mcp__serena__read_file", r#"{"relative_path":"a.rs"}"#), read);
        for tool in ["mcp__linear__create", "mcp__docs__replace_content"] {
            assert!(matches!(action(tool, r#"{"path":"a.rs"}"#), Action::Other { .. }), "{tool}");
        }
    }

    #[test]
    fn commands_are_lines_however_they_are_given() {
        for (tool, input, want) in [
            ("Bash", r#"{"command":"cargo test","description":"x"}"#, "cargo test"),
            ("exec_command", r#""{\"cmd\":\"ls -la\"}""#, "ls -la"),
            ("shell", r#"{"command":["bash","-lc","cd a && make"]}"#, "cd a && make"),
            ("shell", r#"{"command":["git","commit","-m","a b"]}"#, "git commit -m 'a b'"),
            ("run_terminal_command_v2", r#"{"command":"make","cwd":""}"#, "make"),
            (
                "exec",
                r#"const r = await tools.exec_command({cmd: "rg \"a\" src", login: true});"#,
                "rg \"a\" src",
            ),
            ("exec", r#"await Promise.all([run({"cmd":"ls"}), run({ 'cmd' : 'pwd' })])"#, "ls\npwd"),
            ("Bash", r#"{"command":7}"#, ""),
            ("Bash", "no json", ""),
        ] {
            assert_eq!(line(tool, input), want, "{tool} {input}");
        }
    }

    #[test]
    fn a_script_without_commands_stays_as_it_is_written() {
        for source in ["text(await tools.view())", "cmd", "cmd: \"open", "cmd: 'x\\", "a_cmd: é"] {
            assert_eq!(action("exec", source), Action::Other { input: source.to_owned() });
        }
    }

    fn settled(tool: &str, text: &str, failed: bool) -> Call {
        let mut call = Call { tool: tool.into(), action: action(tool, "{}"), ..Call::default() };
        settle(&mut call, Answer { text: text.into(), failed, exit: None });
        call
    }

    #[test]
    fn outcomes_are_distinguished() {
        let refused =
            "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. x). ";
        for (tool, text, failed, outcome, exit) in [
            ("Bash", "ok", false, Outcome::Done, None),
            ("Bash", "Exit code 2\nboom", true, Outcome::Failed, Some(2)),
            (
                "exec_command",
                "Chunk ID: 1\nProcess exited with code 0\nOutput:\nfine",
                false,
                Outcome::Done,
                Some(0),
            ),
            (
                "exec_command",
                "Exit code: 101\nWall time: 1s\nOutput:\nerror",
                false,
                Outcome::Failed,
                Some(101),
            ),
            ("apply_patch", r#"{"output":"x","metadata":{"exit_code":1}}"#, false, Outcome::Failed, Some(1)),
            ("Bash", "Command exited with code 7.\nboom", false, Outcome::Failed, Some(7)),
            ("Bash", "Command terminated by signal: 9.\nboom", false, Outcome::Failed, None),
            ("Bash", "Command was cancelled.\nhalf", false, Outcome::Skipped, None),
            ("Bash", "It says: Command exited with code 7.\nboom", false, Outcome::Done, None),
            (
                "Edit",
                "<tool_use_error>String to replace not found</tool_use_error>",
                true,
                Outcome::Failed,
                None,
            ),
            (
                "Edit",
                "<tool_use_error>Sibling tool call errored</tool_use_error>",
                true,
                Outcome::Skipped,
                None,
            ),
            ("Edit", refused, true, Outcome::Rejected { said: String::new() }, None),
        ] {
            let call = settled(tool, text, failed);
            assert_eq!((call.outcome, call.exit), (outcome, exit), "{text}");
        }
        let call =
            settled("Bash", &format!("{refused}To tell you how to proceed, the user said:\nuse make"), true);
        assert_eq!(call.outcome, Outcome::Rejected { said: "use make".into() });
        assert_eq!(settled("Bash", "Exit code 2\nboom", true).output, "boom");
        assert_eq!(settled("exec_command", "Exit code: 0\nOutput:\nfine", false).output, "fine");
    }

    #[test]
    fn recalled_text_is_not_stored() {
        assert_eq!(settled("Read", "secret file", false).output, "");
        assert_eq!(settled("mcp__cerebro__mem_search", "an old memory", false).output, "");
        assert_eq!(settled("mcp__tracker__get_issue", "an issue", false).output, "an issue");
        assert_eq!(settled("Read", "File does not exist.", true).output, "File does not exist.");
    }

    #[test]
    fn results_are_read_from_every_wrapper() {
        for (raw, want) in [
            (r#""plain""#, "plain"),
            (
                r#"[{"type":"text","text":"a"},{"type":"image","data":"x"},{"type":"text","text":"b"}]"#,
                "a\nb",
            ),
            (r#"{"content":"inner","detailedContent":"x"}"#, "inner"),
            (r#"{"output":"o"}"#, "o"),
            ("null", ""),
            ("7", ""),
        ] {
            let raw: Box<RawValue> = serde_json::from_str(raw).expect(raw);
            assert_eq!(result_text(Some(&raw)), want);
        }
    }

    #[test]
    fn todos_and_questions_keep_their_items() {
        for (tool, input, want) in [
            ("TodoWrite", r#"{"todos":[{"content":"a","status":"pending"}]}"#, ("a", "", "pending")),
            ("TaskUpdate", r#"{"taskId":"3","status":"completed"}"#, ("", "3", "completed")),
            ("update_plan", r#"{"plan":[{"step":"b","status":"in_progress"}]}"#, ("b", "", "in_progress")),
        ] {
            let Action::Todo { items } = action(tool, input) else { panic!() };
            let items: Vec<_> = items.iter().map(|item| (&*item.text, &*item.id, &*item.status)).collect();
            assert_eq!(items, [want]);
        }
        let input = r#"{"questions":[{"question":"Which?","options":[{"label":"A"},"B"]}]}"#;
        let Action::Ask { questions } = action("AskUserQuestion", input) else { panic!() };
        assert_eq!(questions, [Question { text: "Which?".into(), options: vec!["A".into(), "B".into()] }]);
    }
}
