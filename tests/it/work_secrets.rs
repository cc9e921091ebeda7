//! No secret of any form, in any field of any agent's hooks, is stored or shown by the journal.

use crate::contract_redaction::{files_with, secrets};
use crate::hooks::report;
use crate::support::{Home, Value, json};
use crate::work_hooks::works;

/// How many secrets stand in one field.
const TOGETHER: usize = 6;

/// Texts that hold all forms of secrets, some in each.
fn planted() -> Vec<String> {
    let mut all: Vec<String> = secrets().into_iter().map(|(_, text, _)| text).collect();
    // A private block up to the end of the text would hide the others.
    all.sort_by_key(|text| text.contains("<private>") && !text.contains("</private>"));
    all.chunks(TOGETHER).map(|texts| texts.join("\n")).collect()
}

/// The payloads of an agent with a text in every field that the journal reads, and in some that it does not.
fn payloads(agent: &str, n: usize, text: &str) -> Vec<(&'static str, Value)> {
    let id = format!("{n} {text}");
    let path = format!("/w/{text}.rs");
    let todos = json!([{ "content": text, "description": text, "status": "pending", "id": text }]);
    let call = |tool: &str, input: Value, response: Value| json!({ "tool_name": tool, "tool_use_id": id, "tool_input": input, "tool_response": response, "prompt_id": id, "turn_id": id });
    let command = json!({ "command": text, "description": text });
    let edit = json!({ "file_path": path, "filePath": path, "old_string": text, "new_string": text, "oldString": text,
        "newString": text, "content": text });
    let patch =
        json!({ "command": format!("*** Begin Patch\n*** Add File: {path}\n+{text}\n*** End Patch") });
    let ended = json!({ "last_assistant_message": text, "prompt_response": text, "prompt": text });
    match agent {
        "claude-code" => vec![
            ("UserPromptSubmit", json!({ "prompt": text, "prompt_id": id })),
            ("PreToolUse", call("Bash", command.clone(), Value::Null)),
            ("PostToolUse", call("Bash", command.clone(), json!({ "stdout": text, "stderr": text }))),
            ("PostToolUseFailure", {
                let mut failed = call("Bash", command, Value::Null);
                failed["error"] = json!(format!("Exit code 1\n{text}"));
                failed
            }),
            ("PostToolUse", call("Edit", edit, json!({ "filePath": path }))),
            ("PostToolUse", call("TodoWrite", json!({ "todos": todos }), Value::Null)),
            ("PostToolUse", call("ExitPlanMode", json!({ "plan": format!("- {text}") }), Value::Null)),
            ("StopFailure", json!({ "error": text, "error_details": text })),
            ("PreCompact", json!({ "trigger": text, "custom_instructions": text })),
            ("PostCompact", json!({ "compact_summary": text })),
            ("Stop", ended),
        ],
        "codex" => vec![
            ("UserPromptSubmit", json!({ "prompt": text, "turn_id": id })),
            ("PreToolUse", call("Bash", command.clone(), Value::Null)),
            (
                "PostToolUse",
                call("Bash", command, json!(format!("Process exited with code 1\nOutput:\n{text}"))),
            ),
            ("PostToolUse", call("apply_patch", patch, json!(text))),
            ("PreCompact", json!({ "trigger": text })),
            ("Stop", ended),
        ],
        "gemini-cli" => vec![
            ("BeforeAgent", json!({ "prompt": text })),
            ("BeforeTool", call("run_shell_command", command.clone(), Value::Null)),
            (
                "AfterTool",
                call(
                    "run_shell_command",
                    command,
                    json!({ "llmContent": format!("Output: {text}\nExit Code: 1"), "returnDisplay": text }),
                ),
            ),
            ("AfterTool", call("write_file", edit, json!({ "llmContent": text }))),
            ("AfterTool", call("write_todos", json!({ "todos": todos }), json!({ "llmContent": text }))),
            ("AfterAgent", ended),
        ],
        _ => vec![
            ("UserPromptSubmit", json!({ "prompt": text })),
            ("PreToolUse", call("bash", command.clone(), Value::Null)),
            ("PostToolUse", call("bash", command, json!({ "output": text, "metadata": { "exit": 1 } }))),
            ("PostToolUse", call("edit", edit, json!({ "output": text }))),
            ("PostToolUse", call("todowrite", json!({ "todos": todos }), Value::Null)),
            ("StopFailure", json!({ "error": text })),
            ("TextComplete", ended),
        ],
    }
}

#[test]
fn no_form_of_secret_passes_through_any_field() {
    let home = Home::new();
    home.json(&["projects"]);
    for agent in ["claude-code", "codex", "gemini-cli", "opencode"] {
        for (n, text) in planted().iter().enumerate() {
            for (event, more) in payloads(agent, n, text) {
                report(&home, agent, event, &format!("s-{agent}"), more);
            }
        }
        // Stopped in the middle of a turn, so that there is a hint.
        report(&home, agent, "UserPromptSubmit", &format!("s-{agent}"), json!({ "prompt": "Go on" }));
        report(&home, agent, "BeforeAgent", &format!("s-{agent}"), json!({ "prompt": "Go on" }));
    }
    let found = works(&home);
    assert_eq!(found.len(), 4, "{found:?}");
    let mut all = home.run(&["prompts", "--json"]).success();
    all += &home.export_text();
    for work in &found {
        let id = work["work"].as_str().unwrap();
        for words in
            [vec!["work", "export", id], vec!["work", "show", id, "--json"], vec!["work", "resume", id]]
        {
            all += &home.run(&words).success();
        }
        let session = work["session_id"].as_str().unwrap();
        let agent = session.trim_start_matches("s-");
        all += &report(&home, agent, "SessionStart", session, json!({ "source": "resume" }));
    }
    assert!(all.contains("REDACTED:"), "{all}");
    // Nor anywhere on the disk, including logs, once everything is flushed.
    home.json(&["daemon", "stop"]);
    for (kind, _, secret) in secrets() {
        assert!(!all.contains(&secret), "{kind} is shown");
        let files = files_with(home.data(), &secret);
        assert!(files.is_empty(), "{kind} is in {files:?}");
    }
}

#[test]
fn a_text_that_is_cut_is_redacted_as_the_settings_say() {
    let home = Home::with_config("[redaction]\ncontext = false\n");
    home.json(&["projects"]);
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let long = format!("Mend it with password: hunter2hunter and {token} {}", "word ".repeat(1_000));
    report(&home, "claude-code", "UserPromptSubmit", "s", json!({ "prompt": long }));
    let works = works(&home);
    let title = works[0]["title"].as_str().unwrap();
    assert!(title.contains("password: hunter2hunter") && title.contains("[REDACTED:"), "{title}");
    assert!(!title.contains(&token), "{title}");
}
