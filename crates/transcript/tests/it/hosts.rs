//! What hosts write for calls that were not carried out, and beside a person's words.

use cerebro_transcript::Agent;

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
