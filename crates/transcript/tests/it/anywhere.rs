//! A transcript that is read in pieces, cut anywhere, gives the same as one that is read at once; and no bytes make a
//! reader panic.

use cerebro_transcript::limits::{EXCHANGE_SPAN_MAX, LINE_BYTES_MAX, TURNS_MAX};
use cerebro_transcript::{Agent, Exchange, State, facts, gemini_cli, lineage, read, read_to_end, typed};
use proptest::prelude::*;

use super::support::{Stored, lines, read_all, read_cut, rendered};

const LINES: [Agent; 5] = [Agent::ClaudeCode, Agent::Codex, Agent::Copilot, Agent::Cursor, Agent::Qwen];

/// Records of a small session of Claude Code, with everything that spans lines: replies in pieces, late
/// answers, prompts beside answers, rewinds, copies, compactions.
fn claude_code() -> Vec<String> {
    let head = r#""cwd":"/w","sessionId":"s1","timestamp":"2026-02-01T10:00:00Z""#;
    let user = |id: &str, parent: &str, content: &str| {
        format!(
            r#"{{"type":"user","uuid":"{id}","parentUuid":"{parent}",{head},"message":{{"role":"user","content":{content}}}}}"#
        )
    };
    let model = |id: &str, message: &str, block: &str| {
        format!(
            r#"{{"type":"assistant","uuid":"{id}","parentUuid":"p",{head},"message":{{"id":"{message}","model":"m","content":[{block}]}}}}"#
        )
    };
    let text = |text: &str| format!(r#"{{"type":"text","text":"{text}"}}"#);
    let call = |id: &str| {
        format!(r#"{{"type":"tool_use","id":"{id}","name":"Bash","input":{{"command":"make {id}"}}}}"#)
    };
    let answer = |id: &str| format!(r#"{{"type":"tool_result","tool_use_id":"{id}","content":"é ok"}}"#);
    let mut all = vec![
        r#"{"type":"summary","summary":"T","leafUuid":"u9"}"#.to_owned(),
        r#"{"type":"file-history-snapshot","snapshot":{"trackedFileBackups":{"z.rs":{}}}}"#.to_owned(),
        user("u1", "", "\"one\""),
        model("a1", "m1", &text("I")),
        model("a2", "m1", &format!("{},{}", text("I look"), call("t1"))),
        r#"{"type":"progress","data":{"x":[1,2,{"y":"z"}]}}"#.to_owned(),
        user("r1", "a2", &format!(r#"[{},{{"type":"text","text":"queued"}}]"#, answer("t1"))),
        model("a3", "m2", &call("t2")),
        user("u2", "a9", "\"two\""),
        user("r2", "a3", &format!("[{}]", answer("t2"))),
        format!(r#"{{"type":"system","subtype":"compact_boundary","uuid":"c1",{head}}}"#),
        "broken {".to_owned(),
        r#"{"type":"unheard-of"}"#.to_owned(),
        user("u3", "a9", "\"two, better\""),
        model("a4", "m3", &text("done")),
        r#"{"type":"file-history-snapshot","snapshot":{"trackedFileBackups":{"a.rs":{}}}}"#.to_owned(),
    ];
    let copy: Vec<String> = all[2..7].to_vec();
    all.extend(copy);
    all.push(user("u4", "a4", "\"four\""));
    all.push(model("a5", "m4", &text("5 \\ud83d")));
    all
}

fn codex() -> Vec<String> {
    let record = |kind: &str, payload: &str| {
        format!(r#"{{"timestamp":"2026-09-27T10:00:00Z","type":"{kind}","payload":{payload}}}"#)
    };
    let message = |role: &str, text: &str| {
        record(
            "response_item",
            &format!(
                r#"{{"type":"message","role":"{role}","content":[{{"type":"input_text","text":"{text}"}}]}}"#
            ),
        )
    };
    let mut all = vec![record("session_meta", r#"{"id":"c1","cwd":"/w"}"#)];
    for n in 0..3 {
        all.extend([
            record("event_msg", &format!(r#"{{"type":"task_started","turn_id":"t{n}"}}"#)),
            message("user", "context of a new kind"),
            message("user", &format!("ask {n}")),
            record("event_msg", &format!(r#"{{"type":"user_message","message":"ask {n}"}}"#)),
            record("turn_context", &format!(r#"{{"turn_id":"t{n}","model":"m{n}"}}"#)),
            record("response_item", &format!(r#"{{"type":"function_call","name":"shell","arguments":"{{\"command\":[\"make\"]}}","call_id":"k{n}"}}"#)),
            record("response_item", &format!(r#"{{"type":"function_call_output","call_id":"k{n}","output":"Exit code: {n}"}}"#)),
            message("assistant", "told"),
        ]);
    }
    all.push(record("event_msg", r#"{"type":"thread_rolled_back","num_turns":2}"#));
    all.push(record("event_msg", r#"{"type":"user_message","message":"anew"}"#));
    all
}

/// Records of the other agents, some of each.
fn others() -> Vec<String> {
    [
        r#"{"sessionId":"g1","projectHash":"h","startTime":"2026-07-17T09:00:00Z","kind":"main","directories":["/w"]}"#,
        r#"{"id":"m1","timestamp":"2026-07-17T09:00:01Z","type":"user","content":[{"text":"one"}]}"#,
        r#"{"id":"m2","type":"gemini","content":"so","toolCalls":[{"id":"t","name":"run_shell_command","args":{"command":"make"},"status":"success","result":[]}]}"#,
        r#"{"$rewindTo":"m1"}"#,
        r#"{"$set":{"messages":[{"id":"m3","type":"user","content":"two"}],"summary":"A title"}}"#,
        r#"{"type":"session.start","data":{"sessionId":"p1","context":{"cwd":"/w","branch":"main"}},"id":"e0","timestamp":"2026-07-20T05:13:54Z"}"#,
        r#"{"type":"user.message","data":{"content":"fix it"},"id":"e3","timestamp":"2026-07-20T05:13:58Z"}"#,
        r#"{"type":"assistant.message","data":{"messageId":"m1","content":"Looking.","toolRequests":[{"toolCallId":"t1","name":"bash","arguments":{"command":"make"}}]},"id":"e4"}"#,
        r#"{"type":"tool.execution_complete","data":{"toolCallId":"t1","success":false,"error":{"message":"boom"}},"id":"e6"}"#,
        r#"{"type":"session.shutdown","data":{"codeChanges":{"filesModified":["/w/a","/w/b"]}},"id":"e8"}"#,
        r#"{"role":"user","message":{"content":[{"type":"text","text":"<user_query>\nfix it\n</user_query>"}]}}"#,
        r#"{"role":"assistant","message":{"content":[{"type":"tool_use","name":"StrReplace","input":{"path":"/w/a","new_string":"x"}}]}}"#,
        r#"{"uuid":"u1","parentUuid":"","sessionId":"q1","timestamp":"2026-07-17T09:00:00Z","type":"user","cwd":"/w","message":{"role":"user","parts":[{"text":"fix it"}]}}"#,
        r#"{"uuid":"a1","parentUuid":"u1","sessionId":"q1","type":"assistant","message":{"role":"model","parts":[{"functionCall":{"id":"t1","name":"edit","args":{"file_path":"/w/a"}}}]}}"#,
        r#"{"uuid":"r1","parentUuid":"a1","sessionId":"q1","type":"tool_result","message":{"parts":[{"functionResponse":{"id":"t1","response":{"output":"ok"}}}]},"toolCallResult":{"callId":"t1","status":"error"}}"#,
        r#"{"uuid":"c1","parentUuid":"r1","sessionId":"q1","type":"system","subtype":"chat_compression","systemPayload":{"compressedHistory":[{"role":"user","parts":[{"text":"so far"}]}]}}"#,
    ]
    .map(str::to_owned)
    .to_vec()
}

fn bytes(all: &[String]) -> Vec<u8> {
    lines(all.iter().map(String::as_str))
}

#[test]
fn reading_in_pieces_gives_the_same_as_reading_at_once() {
    for (agent, bytes) in [(Agent::ClaudeCode, bytes(&claude_code())), (Agent::Codex, bytes(&codex()))] {
        let whole = read_cut(agent, &bytes, &[]);
        assert!(whole.exchanges.len() > 3 && !whole.withdrawn.is_empty(), "the sample has what may go wrong");
        for cut in 0..=bytes.len() {
            assert_eq!(read_cut(agent, &bytes, &[cut]), whole, "{agent:?} cut at {cut}");
        }
        let every_seventh: Vec<usize> = (0..bytes.len()).step_by(7).collect();
        assert_eq!(read_cut(agent, &bytes, &every_seventh), whole, "{agent:?} in small steps");
    }
}

#[test]
fn an_unfinished_line_is_left_even_if_it_would_parse() {
    let all = bytes(&claude_code());
    let without_end = &all[..all.len() - 1];
    let batch = read_all(Agent::ClaudeCode, without_end);
    assert!(batch.end < without_end.len() as u64);
    assert!(!rendered(&batch).iter().any(|line| line.starts_with('5')));
    // Unless nothing follows it in the source, and it is complete.
    let fresh = State::new(Agent::ClaudeCode, "");
    let whole = read_to_end(without_end, &fresh);
    assert_eq!(whole.end, without_end.len() as u64);
    assert_eq!(rendered(&whole), rendered(&read_all(Agent::ClaudeCode, &all)));
    assert_eq!(read_to_end(&all[..all.len() - 9], &fresh), read(&all[..all.len() - 9], &fresh));
}

#[test]
fn a_long_exchange_is_read_in_pieces_that_add_up() {
    let calls = 8 * TURNS_MAX;
    let head = r#""sessionId":"s1","timestamp":"2026-02-01T10:00:00Z""#;
    let mut all = vec![format!(r#"{{"type":"user","uuid":"u1",{head},"message":{{"content":"go"}}}}"#)];
    for n in 0..calls {
        all.push(format!(r#"{{"type":"assistant","uuid":"a{n}",{head},"message":{{"id":"m{n}","content":[{{"type":"tool_use","id":"t{n}","name":"Bash","input":{{"command":"make {n}"}}}}]}}}}"#));
        all.push(format!(r#"{{"type":"user","uuid":"r{n}",{head},"message":{{"content":[{{"type":"tool_result","tool_use_id":"t{n}","content":"ok"}}]}}}}"#));
    }
    let bytes = bytes(&all);
    let whole = read_cut(Agent::ClaudeCode, &bytes, &[]);
    assert!(whole.exchanges.len() >= 8);
    let parts: Vec<u32> = whole.exchanges.values().map(|exchange| exchange.part).collect();
    assert_eq!(parts, (0..u32::try_from(parts.len()).expect("few")).collect::<Vec<_>>());
    assert_eq!(whole.exchanges.values().filter(|exchange| exchange.prompt.is_some()).count(), 1);
    assert_eq!(whole.exchanges.values().flat_map(Exchange::calls).count(), calls);
    let step: Vec<usize> = (0..bytes.len()).step_by(10_007).collect();
    assert_eq!(read_cut(Agent::ClaudeCode, &bytes, &step), whole);
    // Going on reads only the last pieces again.
    let left = bytes.len() as u64 - whole.last.state.offset;
    assert!(left < bytes.len() as u64 / 2, "{left} of {} bytes again", bytes.len());
}

#[test]
fn an_exchange_that_reaches_too_far_ends_and_what_follows_is_read() {
    let user = |id: &str, text: &str| {
        format!(r#"{{"type":"user","uuid":"{id}","sessionId":"s1","message":{{"content":"{text}"}}}}"#)
    };
    let reply = |id: &str, text: &str| {
        format!(
            r#"{{"type":"assistant","uuid":"{id}","sessionId":"s1","message":{{"id":"{id}","content":[{{"type":"text","text":"{text}"}}]}}}}"#
        )
    };
    let progress = format!(r#"{{"type":"progress","data":{{"x":"{}"}}}}"#, "p".repeat(1 << 20));
    let count = 2 + usize::try_from(EXCHANGE_SPAN_MAX >> 20).expect("few");
    let block = |kind: &str, rest: &str| {
        format!(
            r#"{{"type":"{kind}","uuid":"t-{kind}","sessionId":"s1","message":{{"id":"t","content":[{rest}]}}}}"#
        )
    };
    let call = block("assistant", r#"{"type":"tool_use","id":"t1","name":"Task","input":{"prompt":"help"}}"#);
    let result = block("user", r#"{"type":"tool_result","tool_use_id":"t1","content":"It helped."}"#);
    let mut all = vec![user("u1", "first"), reply("a1", "hello"), user("u2", "go"), call];
    all.extend(std::iter::repeat_n(progress, count));
    all.extend([result, reply("a3", "done"), user("u3", "next"), reply("a4", "bye")]);
    let bytes = bytes(&all);
    let whole = read_cut(Agent::ClaudeCode, &bytes, &[]);
    let prompts: Vec<Option<&str>> = whole
        .exchanges
        .values()
        .map(|exchange| exchange.prompt.as_ref().map(|prompt| prompt.text.as_str()))
        .collect();
    assert_eq!(prompts, [Some("first"), Some("go"), None, Some("next")]);
    assert_eq!(whole.exchanges.values().map(|exchange| exchange.part).collect::<Vec<_>>(), [0, 0, 1, 0]);
    let late: Vec<&str> = whole.exchanges[&2].calls().map(|call| call.output.as_str()).collect();
    assert_eq!(late, ["It helped."], "its call stands in the first piece");
    let cuts = [bytes.len() / 3, bytes.len() - 1_000, bytes.len() - 200];
    assert_eq!(read_cut(Agent::ClaudeCode, &bytes, &cuts), whole);
    // A reading gets on that has no more than the bound and one line of it.
    let part = read(&bytes[..bytes.len() - (1 << 19)], &State::new(Agent::ClaudeCode, ""));
    assert!(part.state.offset > EXCHANGE_SPAN_MAX, "{}", part.state.offset);
}

#[test]
fn a_line_that_is_too_long_is_skipped_and_counted() {
    let user = |id: &str, text: &str| {
        format!(r#"{{"type":"user","uuid":"{id}","sessionId":"s1","message":{{"content":"{text}"}}}}"#)
    };
    let all = [user("u1", "before"), user("u2", &"x".repeat(LINE_BYTES_MAX)), user("u3", "after")];
    let bytes = bytes(&all);
    let whole = read_cut(Agent::ClaudeCode, &bytes, &[]);
    let prompts: Vec<&str> =
        whole.exchanges.values().filter_map(|one| Some(one.prompt.as_ref()?.text.as_str())).collect();
    assert_eq!((prompts, whole.last.counts.oversized), (vec!["before", "after"], 1));
    let middle = all[0].len() + LINE_BYTES_MAX + 50;
    assert_eq!(
        read_cut(Agent::ClaudeCode, &bytes, &[middle]),
        whole,
        "also when a reading ends inside of it"
    );
}

#[test]
fn a_state_of_another_version_is_not_continued() {
    let mut state = State::new(Agent::Codex, "c1");
    assert!(state.can_continue());
    state.version += 1;
    assert!(!state.can_continue());
}

#[test]
fn a_state_has_no_text_of_turns() {
    let all = bytes(&claude_code());
    let stored = serde_json::to_string(&read_all(Agent::ClaudeCode, &all).state).expect("a state as JSON");
    for text in ["one", "two", "queued", "four", "make", "look"] {
        assert!(!stored.contains(&format!("\"{text}")), "{text} in {stored}");
    }
}

/// The same, with ids of turns as the agent gave them: a mangled record that names the session late or otherwise binds them to
/// what was known until then.
fn unbound(mut stored: Stored) -> Stored {
    for exchange in stored.exchanges.values_mut() {
        for id in [&mut exchange.first_id, &mut exchange.last_id].into_iter().flatten() {
            if let Some(bare) = lineage::bare(id) {
                *id = bare.to_owned();
            }
        }
    }
    stored
}

proptest! {
    #[test]
    fn no_bytes_make_a_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        for agent in LINES {
            let _ = facts::of(&read(&bytes, &State::new(agent, "")).exchanges);
        }
        let _ = gemini_cli::read(&bytes, "");
        let _ = typed::read(&bytes, 0);
    }

    #[test]
    fn no_mangled_record_makes_a_reader_panic(
        edits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        order in proptest::collection::vec(any::<prop::sample::Index>(), 1..40),
    ) {
        let seeds = [
            (Agent::ClaudeCode, claude_code()),
            (Agent::Codex, codex()),
            (Agent::Copilot, others()),
            (Agent::Cursor, others()),
            (Agent::Qwen, others()),
        ];
        for (agent, all) in seeds {
            let shuffled: Vec<&str> = order.iter().map(|index| index.get(&all).as_str()).collect();
            let mut bytes = lines(shuffled);
            for (index, byte) in &edits {
                let at = index.index(bytes.len());
                bytes[at] = *byte;
            }
            for other in LINES {
                let _ = facts::of(&read(&bytes, &State::new(other, "")).exchanges);
            }
            let _ = gemini_cli::read(&bytes, "");
            // However it is mangled, reading in pieces gives the same as reading at once.
            let cuts: Vec<usize> = (0..bytes.len()).step_by(97).collect();
            prop_assert_eq!(unbound(read_cut(agent, &bytes, &cuts)), unbound(read_cut(agent, &bytes, &[])));
        }
    }
}
