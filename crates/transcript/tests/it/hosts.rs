//! What hosts write for calls that were not carried out, and beside a person's words.

use cerebro_transcript::{Agent, facts, gemini_cli};

use super::support::{lines, read_all, rendered};

/// A call of Codex, and what came of it, as it is written.
fn codex_call(name: &str, input: &str, output: &str) -> String {
    let item = |rest: &str| {
        format!(r#"{{"timestamp":"2026-09-01T08:00:00Z","type":"response_item","payload":{rest}}}"#)
    };
    let said = item(r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]}"#);
    let call =
        item(&format!(r#"{{"type":"custom_tool_call","call_id":"c","name":"{name}","input":"{input}"}}"#));
    let output = item(&format!(r#"{{"type":"custom_tool_call_output","call_id":"c","output":"{output}"}}"#));
    let all = [said, call, output];
    rendered(&read_all(Agent::Codex, &lines(all.iter().map(String::as_str))))[1].clone()
}

#[test]
fn what_codex_did_not_carry_out_is_not_done() {
    let patch = r"*** Begin Patch\n*** Update File: a.rs\n+x\n*** End Patch";
    for (output, want) in [
        ("patch rejected by user", "edit a.rs = refused"),
        (
            "apply_patch verification failed: Failed to find expected lines in a.rs",
            "edit a.rs = failed -1 apply_patch",
        ),
        ("aborted by user after 1.2s", "edit a.rs = skipped"),
        (
            r"Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess. Updated the following files:\nM a.rs",
            "edit a.rs = ok",
        ),
    ] {
        assert!(codex_call("apply_patch", patch, output).starts_with(want), "{output}");
    }
    let command = r#"{\"cmd\":\"rm -r x\"}"#;
    for (output, want) in [
        ("exec command rejected by user", "$ rm -r x = refused"),
        (r"Wall time: 3.2 seconds\naborted by user", "$ rm -r x = skipped"),
    ] {
        assert_eq!(codex_call("exec_command", command, output), want);
    }
}

fn cursor(text: &str) -> String {
    format!(r#"{{"role":"user","message":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#)
}

#[test]
fn what_cursor_puts_beside_a_prompt_is_no_word_of_it() {
    let time = "<timestamp>Sunday, Aug 2, 2026, 3:51 AM (UTC-7)</timestamp>";
    let all = [
        cursor(&format!(r"{time}\n<user_query>\nfix it\n</user_query>")),
        cursor(&format!(r"<image_files>\n1. a.png\n</image_files>\n{time}\nlook at this")),
        cursor(&format!(r"{time}\n<system_notification>\nThe task has finished.\n</system_notification>")),
        cursor(time),
    ];
    let batch = read_all(Agent::Cursor, &lines(all.iter().map(String::as_str)));
    assert_eq!(rendered(&batch), ["> fix it", "> look at this"]);
    let at = batch.exchanges[0].at.map(|at| at.to_string());
    assert_eq!(at.as_deref(), Some("2026-08-02T10:51:00Z"), "the prompt's own time");
}

#[test]
fn a_message_of_cursor_may_have_several_queries() {
    let notice = "<system_notification>\\nThe task has finished.\\n</system_notification>";
    let follow = "<user_query>Briefly inform the user about the task result and perform any follow-up actions (if needed).</user_query>";
    for (text, want) in [
        (r"<user_query>a</user_query>\n\n<user_query>b</user_query>".to_owned(), vec!["> a\n\nb"]),
        (
            r"<user_query>why is </user_query> before <user_query> here?</user_query>".to_owned(),
            vec!["> why is </user_query> before <user_query> here?"],
        ),
        (format!(r"{notice}\n{follow}"), vec![]),
        (format!(r"{notice}\n{follow}\n\n<timestamp>x</timestamp>\n{notice}\n{follow}"), vec![]),
        (format!(r"{notice}\n{follow}\n{notice}\n<user_query>go</user_query>"), vec!["> go"]),
        (r"<rules>\n<always>x</always>\n</rules>".to_owned(), vec![]),
        (r"<rules>x</rules>\n<git_status>x</git_status>\ngo".to_owned(), vec!["> go"]),
        ("<user_query>a".to_owned(), vec!["> <user_query>a"]),
    ] {
        let batch = read_all(Agent::Cursor, &lines([cursor(&text).as_str()]));
        assert_eq!(rendered(&batch), want, "{text}");
    }
}

#[test]
fn an_edit_of_cursor_counts_although_no_result_is_written() {
    let call = |name: &str, input: &str| {
        let call = format!(r#"{{"type":"tool_use","name":"{name}","input":{input}}}"#);
        format!(r#"{{"role":"assistant","message":{{"content":[{{"type":"text","text":"ok"}},{call}]}}}}"#)
    };
    let all = [
        cursor("<user_query>do it</user_query>"),
        call("StrReplace", r#"{"path":"/w/a.rs","old_string":"a","new_string":"b"}"#),
        call("EditNotebook", r#"{"target_notebook":"/w/n.ipynb","new_string":"b"}"#),
        call("Shell", r#"{"command":"cargo test"}"#),
    ];
    let batch = read_all(Agent::Cursor, &lines(all.iter().map(String::as_str)));
    let want = ["> do it", "ok", "edit /w/a.rs = ok", "ok", "edit /w/n.ipynb = ok", "ok", "$ cargo test = …"];
    assert_eq!(rendered(&batch), want);
    let facts = facts::of(&batch.exchanges).remove(0);
    assert_eq!(facts.edited, ["/w/a.rs", "/w/n.ipynb"]);
    assert!(facts.commands.is_empty(), "nothing says how the command ended");
}

#[test]
fn a_call_without_an_id_keeps_no_exchange_from_being_split() {
    let call = |n: usize| {
        let text = "x".repeat(8 * 1024);
        format!(
            r#"{{"role":"assistant","message":{{"content":[{{"type":"text","text":"{n} {text}"}},{{"type":"tool_use","name":"Shell","input":{{"command":"make"}}}}]}}}}"#
        )
    };
    let all: Vec<String> =
        [cursor("<user_query>go</user_query>")].into_iter().chain((0..8).map(call)).collect();
    let batch = read_all(Agent::Cursor, &lines(all.iter().map(String::as_str)));
    assert!(batch.exchanges.len() > 1, "{} bytes in one exchange", 8 * 8 * 1024);
}

#[test]
fn a_command_that_claude_code_does_not_have_is_a_persons() {
    let user = |id: &str, name: &str, arguments: &str| {
        format!(
            r#"{{"type":"user","uuid":"{id}","sessionId":"s1","message":{{"role":"user","content":"<command-message>{name}</command-message>\n<command-name>/{name}</command-name>\n<command-args>{arguments}</command-args>"}}}}"#
        )
    };
    let all = [user("u1", "docs", "update the readme"), user("u2", "context", ""), user("u3", "chat", "")];
    let batch = read_all(Agent::ClaudeCode, &lines(all.iter().map(String::as_str)));
    assert_eq!(rendered(&batch), ["> /docs update the readme (Command)", "> /chat (Command)"]);
}

const RAN: &str = r"I ran the following shell command:\n```sh\nmake\n```\n\nThis produced the following result:\n```\nCommand exited with code 2.\nboom\n```";

#[test]
fn what_gemini_adds_is_no_word_of_a_prompt() {
    let user = |id: &str, texts: &[&str]| {
        let parts: Vec<String> = texts.iter().map(|text| format!(r#"{{"text":"{text}"}}"#)).collect();
        format!(r#"{{"id":"{id}","type":"user","content":[{}]}}"#, parts.join(","))
    };
    let editor = r"Here is the user's editor context as a JSON object. This is for your information only.\n```json\n{}\n```";
    let all = [
        user("m1", &["This is the Gemini CLI. We are setting up the context for our chat."]),
        user("m2", &[RAN]),
        user("m3", &[editor, "fix it"]),
        user("m4", &["System: Please continue."]),
        user("m5", &["explain @a", "--- Content from referenced files ---", "x", "--- End of content ---"]),
        user("m6", &[RAN]),
        user("m7", &[RAN]),
    ];
    let batch = gemini_cli::read(&lines(all.iter().map(String::as_str)), "g1");
    let ran = "$ make = failed 2 boom";
    assert_eq!(rendered(&batch), ["> (0)", ran, "> fix it", "> explain @a", ran, ran]);
}

#[test]
fn what_a_person_ran_in_qwen_is_no_prompt() {
    let user = |id: &str, text: &str| {
        format!(
            r#"{{"uuid":"{id}","sessionId":"q1","type":"user","message":{{"role":"user","parts":[{{"text":"{text}"}}]}}}}"#
        )
    };
    let all = [
        user("u1", "go"),
        user("u2", RAN),
        user("u3", "This is the Qwen Code. We are setting up the context for our chat."),
        user("u4", "System: Potential loop detected. Details: x."),
        user("u5", "/context"),
        user("u6", "/cost of this plan"),
    ];
    let batch = read_all(Agent::Qwen, &lines(all.iter().map(String::as_str)));
    assert_eq!(rendered(&batch), ["> go", "$ make = failed 2 boom", "> /cost of this plan (Command)"]);
}

#[test]
fn a_time_of_cursor_may_have_any_zone_or_be_none() {
    for (time, want) in [
        ("Monday, Oct 5, 2026, 9:05 PM (UTC-5:30)", Some("2026-10-06T02:35:00Z")),
        ("Thursday, Jul 16, 2026, 12:26 AM (UTC+9)", Some("2026-07-15T15:26:00Z")),
        ("Thursday, Jul 16, 2026, 12:26 PM (UTC)", Some("2026-07-16T12:26:00Z")),
        ("Monday, Jan 1, 2024", None),
        ("now (UTC+99999999)", None),
    ] {
        let line = cursor(&format!(r"<timestamp>{time}</timestamp>\n<user_query>go</user_query>"));
        let batch = read_all(Agent::Cursor, &lines([line.as_str()]));
        assert_eq!(rendered(&batch), ["> go"]);
        assert_eq!(batch.session.started.map(|at| at.to_string()).as_deref(), want, "{time}");
    }
}
