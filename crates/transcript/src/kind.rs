//! What kind of tool a name stands for, in all agents and in the servers that they are used with.

/// Kinds of tools.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Edit,
    Patch,
    Read,
    Search,
    Command,
    Web,
    Delegate,
    Plan,
    Todo,
    Ask,
    Other,
}

/// The tools that change files: those of agents, and Serena's.
const EDITS: [&str; 32] = [
    "edit", "write", "multiedit", "notebookedit", "write_file", "replace", "edit_file", "create_file",
    "create", "strreplace", "multistrreplace", "insert_edit_into_file", "search_replace", "delete_file",
    "delete", "multi_edit", "edit_notebook", "editnotebook", "notebook_edit", "insert", "reapply",
    "replace_symbol_body", "insert_after_symbol", "insert_before_symbol", "rename_symbol",
    "safe_delete_symbol", "replace_content", "replace_regex", "replace_lines", "insert_at_line",
    "delete_lines", "create_text_file",
];

/// What the names of tools begin with that servers have for files and commands; the rest is a name like those of agents.
/// Other servers use such names for other things.
const SERVERS: [&str; 4] =
    ["mcp__acp__", "mcp__filesystem__", "mcp__serena__", "mcp__plugin_serena_serena__"];

/// A tool's name without the number of its version, which Cursor adds: `edit_file_v2`.
fn unversioned(tool: &str) -> &str {
    let is_number =
        |(_, digits): &(&str, &str)| matches!(digits.as_bytes(), [digit] if digit.is_ascii_digit());
    tool.rsplit_once("_v").filter(is_number).map_or(tool, |(name, _)| name)
}

/// What a tool does.
pub(crate) fn kind(tool: &str) -> Kind {
    let tool = tool.to_ascii_lowercase();
    let name = SERVERS.iter().find_map(|server| tool.strip_prefix(server)).unwrap_or(&tool);
    match unversioned(name) {
        edit if EDITS.contains(&edit) || edit.starts_with("str_replace") => Kind::Edit,
        "apply_patch" | "applypatch" | "patch" => Kind::Patch,
        "read" | "read_file" | "readfile" | "view" | "view_image" | "read_many_files" | "notebookread"
        | "show_file" => Kind::Read,
        "grep"
        | "glob"
        | "ls"
        | "search"
        | "list"
        | "list_dir"
        | "list_directory"
        | "search_file_content"
        | "grep_search"
        | "rg"
        | "file_search"
        | "codebase_search"
        | "glob_file_search"
        | "ripgrep_raw_search"
        | "semantic_search_full"
        | "semanticsearch"
        | "grep_files"
        | "toolsearch"
        | "semsearch"
        | "find" => Kind::Search,
        "bash"
        | "shell"
        | "exec_command"
        | "shell_command"
        | "local_shell"
        | "local_shell_call"
        | "run_shell_command"
        | "run_terminal_cmd"
        | "run_terminal_command"
        | "run_in_terminal"
        | "exec"
        | "powershell"
        | "unified_exec"
        | "container.exec" => Kind::Command,
        "webfetch" | "websearch" | "web_fetch" | "web_search" | "google_web_search" | "web_search_call"
        | "fetch" => Kind::Web,
        "task" | "agent" | "spawn_agent" | "delegate_to_agent" | "subagent" => Kind::Delegate,
        "exitplanmode" | "exit_plan_mode" | "create_plan" | "plan_exit" => Kind::Plan,
        "todowrite" | "todo_write" | "write_todos" | "taskcreate" | "taskupdate" | "update_plan"
        | "update_todo" => Kind::Todo,
        "askuserquestion" | "ask_user" | "ask_user_question" | "question" | "request_user_input"
        | "askquestion" | "ask_question" => Kind::Ask,
        _ => Kind::Other,
    }
}
