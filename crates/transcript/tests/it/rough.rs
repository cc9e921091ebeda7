//! Files as they are on people's disks: written by other systems, cut off, without times, with damage.

use cerebro_transcript::turn::{ParentKind, PromptKind};
use cerebro_transcript::{Agent, Batch, State, gemini_cli, read, read_to_end};

use super::support::{lines, read_all, rendered};

fn user(n: u32, rest: &str, text: &str) -> String {
    format!(
        r#"{{"type":"user","uuid":"u{n}","sessionId":"s1","cwd":"/w"{rest},"message":{{"content":"{text}"}}}}"#
    )
}

fn reply(n: u32, rest: &str, text: &str) -> String {
    format!(
        r#"{{"type":"assistant","uuid":"a{n}","sessionId":"s1"{rest},"message":{{"id":"m{n}","content":[{{"type":"text","text":"{text}"}}]}}}}"#
    )
}

fn claude(all: &[String]) -> Batch {
    read_all(Agent::ClaudeCode, &lines(all.iter().map(String::as_str)))
}

/// The same records of each agent whose lines are read on.
fn each_agent() -> [(Agent, [String; 2]); 5] {
    let codex = |text: &str| {
        format!(r#"{{"type":"event_msg","payload":{{"type":"user_message","message":"{text}"}}}}"#)
    };
    let copilot = |n: u32, text: &str| {
        format!(r#"{{"type":"user.message","id":"e{n}","data":{{"content":"{text}"}}}}"#)
    };
    let cursor = |text: &str| {
        format!(r#"{{"role":"user","message":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#)
    };
    let qwen = |n: u32, text: &str| {
        format!(
            r#"{{"type":"user","uuid":"u{n}","sessionId":"q1","message":{{"parts":[{{"text":"{text}"}}]}}}}"#
        )
    };
    let answer = r#"{"type":"event_msg","payload":{"type":"agent_message","message":"yes"}}"#;
    [
        (Agent::ClaudeCode, [user(1, "", "one é"), user(2, "", "two")]),
        (Agent::Codex, [codex("one é"), format!("{answer}\n{}", codex("two"))]),
        (Agent::Copilot, [copilot(1, "one é"), copilot(2, "two")]),
        (Agent::Cursor, [cursor("one é"), cursor("two")]),
        (Agent::Qwen, [qwen(1, "one é"), qwen(2, "two")]),
    ]
}

fn prompts(batch: &Batch) -> Vec<&str> {
    let prompts = batch.exchanges.iter().filter_map(|exchange| exchange.prompt.as_ref());
    prompts.map(|prompt| prompt.text.as_str()).collect()
}

#[test]
fn a_mark_at_the_beginning_and_ends_of_lines_of_windows_cost_no_record() {
    for (agent, [one, two]) in each_agent() {
        let text = format!("\u{feff}{one}\r\n\r\n{two}\r\n").replace("\n{", "\r\n{").replace("\r\r", "\r");
        let batch = read_all(agent, text.as_bytes());
        assert_eq!(prompts(&batch), ["one é", "two"], "{agent:?}");
        assert_eq!((batch.counts.malformed, batch.end), (0, text.len() as u64), "{agent:?}");
        // The next reading begins in the middle of the file, where there is no mark.
        let again =
            read(&text.as_bytes()[usize::try_from(batch.state.offset).expect("small")..], &batch.state);
        assert_eq!(prompts(&again), prompts(&batch), "{agent:?}");
    }
    let line = r#"{"id":"m1","type":"user","content":"one"}"#;
    let document = format!("\u{feff}{{\"sessionId\":\"g1\",\r\n\"messages\":[{line}]}}");
    for text in [document, format!("\u{feff}{{\"sessionId\":\"g1\"}}\r\n{line}\r\n")] {
        let batch = gemini_cli::read(text.as_bytes(), "");
        assert_eq!((prompts(&batch), batch.end), (vec!["one"], text.len() as u64));
    }
}

#[test]
fn bytes_that_are_no_text_cost_only_themselves() {
    for (agent, [one, two]) in each_agent() {
        let mut bytes = format!("{one}\n{two}\n").into_bytes();
        let at = bytes.windows(2).position(|pair| pair == "é".as_bytes()).expect("a letter of two bytes");
        bytes[at + 1] = b'?';
        let batch = read_all(agent, &bytes);
        assert_eq!(prompts(&batch), ["one \u{fffd}?", "two"], "{agent:?}");
    }
}

#[test]
fn a_last_line_that_was_cut_off_is_left_and_a_whole_one_is_read() {
    for (agent, [one, two]) in each_agent() {
        let text = format!("{one}\n{two}");
        let whole = read_to_end(text.as_bytes(), &State::new(agent, ""));
        assert_eq!(prompts(&whole), ["one é", "two"], "{agent:?}");
        let cut = read_to_end(&text.as_bytes()[..text.len() - 2], &State::new(agent, ""));
        assert_eq!((prompts(&cut), cut.counts.malformed), (vec!["one é"], 0), "{agent:?}");
    }
    let head = r#"{"sessionId":"g1","kind":"main"}"#;
    let text = format!("{head}\n{}", r#"{"id":"m1","type":"user","content":"one"}"#);
    assert_eq!(prompts(&gemini_cli::read(text.as_bytes(), "")), ["one"]);
    let cut = gemini_cli::read(&text.as_bytes()[..text.len() - 1], "");
    assert_eq!((cut.exchanges.len(), cut.end), (0, head.len() as u64 + 1));
}

#[test]
fn times_may_have_any_zone_cross_midnight_and_be_missing() {
    let at = |time: &str| format!(r#","timestamp":"{time}""#);
    let batch = claude(&[
        user(1, &at("2026-02-01T23:59:59+01:00"), "late"),
        reply(1, &at("2026-02-01T22:59:30Z"), "before, says a clock that went back"),
        user(2, &at("2026-02-01T23:10:00Z"), "after midnight"),
        user(3, "", "without a time"),
        user(4, &at("soon"), "with an odd one"),
    ]);
    let begun: Vec<Option<String>> =
        batch.exchanges.iter().map(|exchange| exchange.at.map(|at| at.to_string())).collect();
    let want = ["2026-02-01T22:59:59Z", "2026-02-01T23:10:00Z"].map(|at| Some(at.to_owned()));
    assert_eq!(begun, [want.as_slice(), &[None, None]].concat());
    let span = [batch.session.started, batch.session.ended].map(|at| at.map(|at| at.to_string()));
    assert_eq!(span, ["2026-02-01T22:59:30Z", "2026-02-01T23:10:00Z"].map(|at| Some(at.to_owned())));
}

#[test]
fn a_folder_that_was_renamed_counts_from_then_on() {
    let moved = |line: String| line.replace("\"/w\"", "\"/w2\"");
    let batch = claude(&[user(1, "", "one"), moved(user(2, "", "two")), moved(user(3, "", "three"))]);
    let folders: Vec<&str> = batch.exchanges.iter().filter_map(|exchange| exchange.cwd.as_deref()).collect();
    assert_eq!(folders, ["/w", "/w2", "/w2"]);
    assert_eq!(batch.session.cwd.as_deref(), Some("/w2"));
}

#[test]
fn a_prompt_that_is_only_an_image_or_a_document_is_one() {
    let only = |n: u32, kind: &str| {
        user(n, "", "X").replace(r#""X""#, &format!(r#"[{{"type":"{kind}","source":{{"data":"aGk="}}}}]"#))
    };
    let batch = claude(&[only(1, "image"), reply(1, "", "I see."), only(2, "document")]);
    assert_eq!(rendered(&batch), ["> [image]", "I see.", "> [image]"]);
    assert!(!format!("{batch:?}").contains("aGk="));
}

#[test]
fn a_sub_agent_in_a_file_that_is_its_parents_takes_no_name() {
    let mixed = |line: String| line.replace(r#""uuid""#, r#""isSidechain":true,"agentId":"a1","uuid""#);
    let all = [
        mixed(user(1, "", "explore")),
        mixed(reply(1, "", "I look.")),
        user(2, "", "go"),
        mixed(reply(2, "", "I am a sub-agent.")),
        reply(3, "", "done"),
    ];
    let bytes = lines(all.iter().map(String::as_str));
    let batch = read(&bytes, &State::new(Agent::ClaudeCode, "s1"));
    assert_eq!(rendered(&batch), ["> go", "done"]);
    assert_eq!((batch.session.id.as_str(), batch.session.parent), ("s1", None));
    // Where the file has no name, its first line gives it one.
    let alone = read_all(Agent::ClaudeCode, &bytes[..=all[0].len()]).session;
    assert_eq!(
        (alone.id.as_str(), alone.parent.map(|parent| parent.kind)),
        ("s1/a1", Some(ParentKind::SubAgent))
    );
}

#[test]
fn a_prompt_that_waited_is_queued() {
    let batch = claude(&[user(1, "", "go"), user(2, r#","promptSource":"queued""#, "and this")]);
    let kinds: Vec<PromptKind> =
        batch.exchanges.iter().filter_map(|exchange| Some(exchange.prompt.as_ref()?.kind)).collect();
    assert_eq!(kinds, [PromptKind::Typed, PromptKind::Queued]);
}
