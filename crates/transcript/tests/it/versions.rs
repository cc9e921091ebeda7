//! Records that only some versions of an agent write, and results that come late.

use cerebro_transcript::opencode::{EntryRow, MessageRow, PartRow, SessionRow, read_v1, read_v2};
use cerebro_transcript::{
    Agent, State,
    cursor_ide::{self, BubbleRow},
    gemini_cli, read,
    turn::ParentKind,
};

use super::support::{lines, read_all, read_cut, rendered};

#[test]
fn events_of_copilots_sub_agents_are_told_by_their_agent() {
    let events = [
        r#"{"type":"session.start","data":{"sessionId":"p1"},"id":"e0"}"#,
        r#"{"type":"session.handoff","data":{"summary":"It began on a server."},"id":"e1"}"#,
        r#"{"type":"user.message","data":{"content":"fix it"},"id":"e2"}"#,
        r#"{"type":"tool.user_requested","data":{"toolCallId":"t1","toolName":"bash","arguments":{"command":"make"}},"id":"e3"}"#,
        r#"{"type":"tool.execution_start","data":{"toolCallId":"t1","toolName":"bash","arguments":{"command":"make"}},"id":"e4"}"#,
        r#"{"type":"tool.execution_complete","data":{"toolCallId":"t1","success":true,"result":{"content":"ok"}},"id":"e5"}"#,
        r#"{"type":"user.message","agentId":"a1","data":{"content":"look around"},"id":"e6"}"#,
        r#"{"type":"assistant.message","agentId":"a1","data":{"content":"I am a sub-agent.","toolRequests":[{"toolCallId":"t2","name":"bash","arguments":{"command":"ls"}}]},"id":"e7"}"#,
        r#"{"type":"session.compaction_complete","data":{"success":false,"error":"too long"},"id":"e8"}"#,
        r#"{"type":"user_input.requested","data":{"question":"Which?"},"id":"e9"}"#,
        r#"{"type":"assistant.message","data":{"content":"Done."},"id":"f1"}"#,
    ];
    let batch = read_all(Agent::Copilot, &lines(events));
    let want = [
        "> (0)",
        "compaction It began on a server.",
        "> fix it",
        "$ make = ok ok",
        "$ ls = … by a sub-agent",
        "Done.",
    ];
    assert_eq!(rendered(&batch), want);
    assert!(batch.counts.unknown.is_empty(), "{:?}", batch.counts.unknown);
}

fn bubble(tool: &str) -> BubbleRow {
    BubbleRow { id: String::new(), data: format!(r#"{{"type":2,"text":"","toolFormerData":{tool}}}"#) }
}

#[test]
fn calls_of_newer_cursors_have_numbered_names_and_their_outcome_in_several_places() {
    let tools = [
        r#"{"name":"edit_file_v2","toolCallId":"1","rawArgs":"","params":"{\"relativeWorkspacePath\":\"a.rs\"}","status":"completed","result":"{\"afterContentId\":\"x\"}"}"#,
        r#"{"name":"run_terminal_command_v2","toolCallId":"2","rawArgs":"{}","params":{"command":"make"},"status":"completed","result":{"output":"boom","exitCodeV2":2}}"#,
        r#"{"name":"run_terminal_command_v2","toolCallId":"3","params":"{\"command\":\"rm -r x\"}","status":"completed","result":"{\"output\":\"\",\"rejected\":true}"}"#,
        r#"{"name":"run_terminal_cmd","toolCallId":"4","rawArgs":"{\"command\":\"ls\"}","status":"completed","additionalData":{"status":"error"},"result":"{\"output\":\"no\",\"exitCode\":1}"}"#,
        r#"{"name":"read_file_v2","toolCallId":"5","params":{"targetFile":"b.rs"},"status":"error","error":{"clientVisibleErrorMessage":"File not found"}}"#,
        r#"{"name":"edit_file_v2","toolCallId":"6","params":{"relativeWorkspacePath":"c.rs"},"status":"cancelled","error":{"clientVisibleErrorMessage":"Edit rejected"}}"#,
        r#"{"name":"delete_file","toolCallId":"7","params":{"target_file":"d.rs"},"result":"gone"}"#,
        r#"{"name":"run_terminal_command_v2","toolCallId":"8","params":{"command":"make test"},"status":"loading"}"#,
        r#"{"name":"run_terminal_cmd","toolCallId":"9","params":{"command":"ls"},"status":"error","result":"{\"output\":\"\"}","error":{"clientVisibleErrorMessage":"No shell"}}"#,
    ];
    let rows: Vec<BubbleRow> = tools
        .iter()
        .enumerate()
        .map(|(n, tool)| BubbleRow { id: n.to_string(), ..bubble(tool) })
        .chain([BubbleRow { id: "u".into(), data: r#"{"type":1,"text":"fix it"}"#.into() }])
        .collect();
    let ids =
        ["u", "0", "1", "2", "3", "4", "5", "6", "7", "8"].map(|id| format!(r#"{{"bubbleId":"{id}"}}"#));
    let data = format!(r#"{{"fullConversationHeadersOnly":[{}]}}"#, ids.join(","));
    let want = [
        "> fix it",
        "edit a.rs = ok",
        "$ make = failed 2 boom",
        "$ rm -r x = refused",
        "$ ls = failed 1 no",
        "read b.rs = failed -1 File not found",
        "edit c.rs = refused",
        "edit d.rs = ok",
        "$ make test = …",
        "$ ls = failed -1 No shell",
    ];
    assert_eq!(rendered(&cursor_ide::read("c1", &data, &rows)), want);
}

const FILE: &str = "\\n--- Content from referenced files ---\\nContent from @a.md:\\nIt says: delete all.";

#[test]
fn files_that_a_prompt_names_are_no_words_of_it() {
    let ended = format!("read @a.md{FILE}\\n--- End of content ---");
    let asked = format!("read @a.md without --- End of content ---{FILE}");
    for text in [&ended, &asked, &format!("read @a.md{FILE}"), &format!("{ended}\\n and what follows")] {
        let document =
            format!(r#"{{"sessionId":"g1","messages":[{{"id":"m1","type":"user","content":"{text}"}}]}}"#);
        let said = rendered(&gemini_cli::read(document.as_bytes(), ""));
        assert!(said[0].starts_with("> read @a.md") && !said[0].contains("delete"), "{said:?}");
        assert_eq!(said[0].contains("what follows"), text.contains("what follows"));
    }
    let parts = [
        "read @a.md",
        "\\n--- Content from referenced files ---",
        "\\nContent from @a.md:\\n",
        "delete all",
        "\\n--- End of content ---",
    ];
    let parts = parts.map(|text| format!(r#"{{"text":"{text}"}}"#)).join(",");
    assert_eq!(
        rendered(&read_all(Agent::Qwen, &lines([qwen("user", &said(&parts)).as_str()]))),
        ["> read @a.md"]
    );
    // Words about it stay.
    let about = qwen("user", &said(r#"{"text":"Why is --- Content from referenced files --- there?"}"#));
    assert!(rendered(&read_all(Agent::Qwen, &lines([about.as_str()])))[0].contains("Content from"));
}

fn qwen(kind: &str, rest: &str) -> String {
    format!(r#"{{"sessionId":"q1","type":"{kind}","cwd":"/w"{rest}}}"#)
}

fn said(parts: &str) -> String {
    format!(r#","message":{{"role":"user","parts":[{parts}]}}"#)
}

#[test]
fn qwen_shows_what_was_typed_beside_what_was_sent() {
    let shown = |uuid: &str, shown: &str, sent: &str| {
        let payload =
            format!(r#","uuid":"{uuid}","systemPayload":{{"displayText":"{shown}","hookContext":"x"}}"#);
        qwen("user", &format!("{payload}{}", said(&format!(r#"{{"text":"{sent}"}}"#))))
    };
    let call = r#","uuid":"a1","agentId":"helper","isSidechain":true,"message":{"role":"model","parts":[{"text":"I help."},{"functionCall":{"id":"t1","name":"edit","args":{"file_path":"/w/a"}}}]}"#;
    let helper =
        r#","uuid":"u9","agentId":"helper","isSidechain":true,"message":{"parts":[{"text":"look"}]}"#;
    let all = [
        shown("u1", "/review 12", "You are a reviewer. Read the change."),
        shown("u2", "fix @a.md", "fix @a.md and all of its text"),
        qwen("user", helper),
        qwen("assistant", call),
        shown("u3", "/stats", "x"),
        qwen("user", r#","uuid":"u4","forkedFrom":{},"message":{"parts":[{"text":"go on"}]}"#),
    ];
    let batch = read_all(Agent::Qwen, &lines(all.iter().map(String::as_str)));
    let want = ["> /review 12 (Command)", "> fix @a.md", "edit /w/a = … by a sub-agent", "> go on"];
    assert_eq!(rendered(&batch), want);
    assert_eq!((batch.session.id.as_str(), batch.session.parent), ("q1", None));
}

#[test]
fn a_prompt_of_codex_that_begins_with_the_one_before_is_another() {
    let typed = |text: &str| {
        format!(r#"{{"type":"event_msg","payload":{{"type":"user_message","message":"{text}"}}}}"#)
    };
    let sent = |text: &str| {
        format!(
            r#"{{"type":"response_item","payload":{{"type":"message","role":"user","content":[{{"type":"input_text","text":"{text}"}}]}}}}"#
        )
    };
    let done =
        |item: &str| format!(r#"{{"type":"event_msg","payload":{{"type":"item_completed","item":{item}}}}}"#);
    let words = r#"{"type":"UserMessage","content":[{"type":"text","text":"go on\n"},{"type":"text","text":"with it"}]}"#;
    let all = [
        typed("go"),
        sent("go"),
        typed("go onwith it"),
        done(words),
        done(r#"{"type":"CommandExecution","id":"k1","command":["make"],"status":"declined"}"#),
        done(
            r#"{"type":"McpToolCall","id":"k2","server":"s","tool":"t","arguments":{},"status":"failed","error":{"message":"no server"}}"#,
        ),
        done(r#"{"type":"FileChange","id":"k3","changes":{"/w/a":{}},"status":"declined"}"#),
        r#"{"type":"inter_agent_communication","payload":{}}"#.to_owned(),
    ];
    let batch = read_all(Agent::Codex, &lines(all.iter().map(String::as_str)));
    let said = rendered(&batch);
    assert_eq!((said[0].as_str(), said[1].as_str()), ("> go", "> go onwith it"));
    assert_eq!((said[2].as_str(), said[4].as_str()), ("$ make = refused", "edit /w/a = refused"));
    assert!(said[3].ends_with("= failed -1 no server") && said.len() == 5, "{said:?}");
    assert!(batch.counts.unknown.is_empty());
}

#[test]
fn sub_agents_of_codex_may_not_name_their_parent() {
    let head = |source: &str| {
        let meta =
            format!(r#"{{"type":"session_meta","payload":{{"id":"c1","cwd":"/w","source":{source}}}}}"#);
        let said = r#"{"type":"event_msg","payload":{"type":"user_message","message":"Review it."}}"#;
        read_all(Agent::Codex, &lines([meta.as_str(), said]))
    };
    let review = head(r#"{"subagent":"review"}"#);
    assert_eq!(review.session.parent.as_ref().map(|parent| parent.kind), Some(ParentKind::SubAgent));
    assert_eq!(rendered(&review), ["> Review it. (Delegated)"]);
    assert!(head(r#"{"internal":"memory_consolidation"}"#).session.automated);
    let custom = head(r#"{"custom":"mine"}"#);
    assert_eq!((custom.session.parent, custom.session.automated), (None, false));
}

#[test]
fn what_claude_codes_host_writes_for_no_reply_is_none() {
    let reply = |id: &str, model: &str, content: &str| {
        claude("assistant", id, content).replace(r#""role":"#, &format!(r#""model":"{model}","role":"#))
    };
    let words = r#"[{"type":"text","text":"No response requested."}]"#;
    let all = [
        claude("user", "u1", "\"one\""),
        reply("a1", "<synthetic>", words),
        reply("a2", "m", words),
        r#"{"type":"atis-latch"}"#.to_owned(),
    ];
    let batch = read_all(Agent::ClaudeCode, &lines(all.iter().map(String::as_str)));
    assert_eq!(rendered(&batch), ["> one", "No response requested."]);
    assert!(batch.counts.unknown.is_empty());
}

#[test]
fn a_command_of_opencode_for_a_sub_agent_is_a_prompt() {
    let session = SessionRow { id: "s".into(), ..SessionRow::default() };
    let message =
        |id: &str| MessageRow { id: id.into(), created_ms: None, data: r#"{"role":"user"}"#.into() };
    let part = |message: &str, data: &str| PartRow { message: message.into(), data: data.into() };
    let parts = [
        part("m1", r#"{"type":"subtask","agent":"explore","command":"review","prompt":"Read the change."}"#),
        part("m2", r#"{"type":"subtask","agent":"explore","prompt":"look around"}"#),
        part("m3", r#"{"type":"text","text":"and now"}"#),
    ];
    let batch = read_v1(&session, &["m1", "m2", "m3"].map(message), &parts);
    assert_eq!(rendered(&batch), ["> /review (Command)", "> look around", "> and now"]);
}

fn claude(kind: &str, id: &str, content: &str) -> String {
    format!(
        r#"{{"type":"{kind}","uuid":"{id}","sessionId":"s1","message":{{"id":"{id}","role":"{kind}","content":{content}}}}}"#
    )
}

#[test]
fn a_result_that_comes_after_its_exchange_is_not_lost() {
    let call = |id: &str, name: &str| {
        let input = r#"{"command":"make","file_path":"/w/a"}"#;
        claude(
            "assistant",
            &format!("a-{id}"),
            &format!(r#"[{{"type":"tool_use","id":"{id}","name":"{name}","input":{input}}}]"#),
        )
    };
    let result = |id: &str, text: &str| {
        claude(
            "user",
            &format!("r-{id}"),
            &format!(r#"[{{"type":"tool_result","tool_use_id":"{id}","content":"{text}"}}]"#),
        )
    };
    let all = [
        claude("user", "u1", "\"one\""),
        call("t1", "Bash"),
        call("t2", "Read"),
        call("t3", "Task"),
        claude("user", "u2", "\"two\""),
        claude("user", "u3", "\"three\""),
        result("t1", "Exit code 2\\nboom"),
        claude("user", "u4", "\"four\""),
        result("t2", "a whole file"),
        claude("user", "u5", "\"five\""),
        claude("user", "u6", "\"six\""),
        result("t1", "again"),
        result("t3", "It is mended."),
        result("t4", "of nothing"),
    ];
    let bytes = lines(all.iter().map(String::as_str));
    let whole = read_cut(Agent::ClaudeCode, &bytes, &[]);
    let batch = read(&bytes, &State::new(Agent::ClaudeCode, ""));
    let said = rendered(&batch);
    let late: Vec<&str> = said.iter().filter(|line| line.contains("Other")).map(String::as_str).collect();
    let want = [
        "Bash Other { input: \"\" } = failed 2 boom",
        "Read Other { input: \"\" } = ok",
        "Task Other { input: \"\" } = ok It is mended.",
    ];
    assert_eq!(late, want, "{said:?}");
    for cut in 0..bytes.len() {
        assert_eq!(read_cut(Agent::ClaudeCode, &bytes, &[cut]), whole, "cut at {cut}");
    }
    let steps: Vec<usize> = (0..bytes.len()).step_by(13).collect();
    assert_eq!(read_cut(Agent::ClaudeCode, &bytes, &steps), whole);
}

#[test]
fn what_gemini_takes_out_of_its_conversation_was_said_all_the_same() {
    let at = r#""timestamp":"2026-09-17T09:00:01Z""#;
    let user = |id: &str, text: &str| {
        format!(r#"{{"id":"{id}",{at},"type":"user","content":[{{"text":"{text}"}}]}}"#)
    };
    let model = |id: &str, text: &str| {
        format!(r#"{{"id":"{id}",{at},"type":"gemini","content":"{text}","model":"g"}}"#)
    };
    let set = |messages: &[&str]| format!(r#"{{"$set":{{"messages":[{}]}}}}"#, messages.join(","));
    let answered = format!(
        r#"{{"id":"a",{at},"type":"user","content":[{{"functionResponse":{{"id":"c"}}}},{{"text":"[Image attached]"}}]}}"#
    );
    let head = r#"{"sessionId":"g1","projectHash":"h"}"#.to_owned();
    let (one, did, two, more) = (user("1", "one"), model("2", "did"), user("3", "two"), model("4", "more"));
    let read = |all: &[String]| rendered(&gemini_cli::read(&lines(all.iter().map(String::as_str)), ""));

    // A turn that the person stopped is rolled back, and asked in other words.
    let stopped = set(&[&one, &did]);
    let stopped = [
        head.clone(),
        one.clone(),
        did.clone(),
        two.clone(),
        stopped,
        user("5", "two, please"),
        more.clone(),
    ];
    assert_eq!(read(&stopped), ["> one", "did", "> two", "> two, please", "more"]);

    // A compaction replaces what is not its tail by a summary.
    let summary = user("s", "<state_snapshot>\\nthe goal\\n</state_snapshot>");
    let compacted = set(&[&summary, &two, &more]);
    let all =
        [head.clone(), one.clone(), did.clone(), two.clone(), more.clone(), compacted, user("6", "go on")];
    assert_eq!(read(&all), ["> one", "did", "> two", "more", "compaction the goal", "> go on"]);

    // A restored conversation has the same words and calls under new ids.
    let called = |id: &str| {
        format!(
            r#"{{"id":"{id}",{at},"type":"gemini","content":"","toolCalls":[{{"id":"c","name":"run_shell_command","args":{{"command":"make"}},"status":"scheduled"}}]}}"#
        )
    };
    let restored = set(&[&user("r1", "one"), &called("r2")]);
    assert_eq!(read(&[head.clone(), one.clone(), called("2"), restored]), ["> one", "$ make = …"]);
    let restored = set(&[&user("r1", "one"), &model("r2", "did")]);
    let all = [head, one, did, answered, two, more, restored];
    assert_eq!(read(&all), ["> one", "did", "> two", "more"], "and the answer of a tool is no prompt");
}

/// What Qwen Code and Gemini CLI show of a call of `make` that ended in this way.
fn made(response: &str, status: &str) -> [String; 2] {
    let call = r#","message":{"parts":[{"functionCall":{"id":"c","name":"run_shell_command","args":{"command":"make"}}}]}"#;
    let result = format!(
        r#","message":{{"parts":[{response}]}},"toolCallResult":{{"callId":"c","status":"{status}"}}"#
    );
    let all =
        [qwen("user", &said(r#"{"text":"build"}"#)), qwen("assistant", call), qwen("tool_result", &result)];
    let document = format!(
        r#"{{"sessionId":"g","messages":[{{"id":"1","type":"user","content":"build"}},{{"id":"2","type":"gemini","content":"",
        "toolCalls":[{{"id":"c","name":"run_shell_command","args":{{"command":"make"}},"status":"{status}","result":[{response}]}}]}}]}}"#
    );
    let batches = [
        read_all(Agent::Qwen, &lines(all.iter().map(String::as_str))),
        gemini_cli::read(document.as_bytes(), ""),
    ];
    batches.map(|batch| rendered(&batch).swap_remove(1))
}

#[test]
fn the_status_of_a_command_may_stand_behind_a_long_output() {
    let output = "a line of the build\\n".repeat(200);
    let report = |status: &str| {
        format!(
            "Command: make\\nDirectory: (root)\\nOutput: Exit Code: 7\\n{output}\\nError: (none)\\nExit Code: {status}\\nSignal: 0"
        )
    };
    for (status, want) in [("2", "$ make = failed 2"), ("0", "$ make = ok Command")] {
        let response =
            format!(r#"{{"functionResponse":{{"id":"c","response":{{"output":"{}"}}}}}}"#, report(status));
        for shown in made(&response, "success") {
            assert!(shown.starts_with(want), "{shown}");
        }
    }
}

#[test]
fn what_hooks_of_qwen_add_to_a_prompt_is_no_word_of_it() {
    let hooked = said(
        r#"{"text":"<qwen:session-start-context>\nrules\n</qwen:session-start-context>"},{"text":"fix it"},
        {"text":"<qwen:user-prompt-submit-context>\nmore\n</qwen:user-prompt-submit-context>"}"#,
    );
    let batch = read_all(Agent::Qwen, &lines([qwen("user", &hooked.replace('\n', "")).as_str()]));
    assert_eq!(rendered(&batch), ["> fix it"]);
}

#[test]
fn files_that_changed_in_a_step_of_opencode_2_are_edited() {
    let row = |id: &str, kind: &str, data: &str| EntryRow {
        id: id.into(),
        kind: kind.into(),
        created_ms: Some(1_780_000_000_000),
        data: data.into(),
    };
    let rows = [
        row("m1", "user", r#"{"text":"rename it"}"#),
        row(
            "m2",
            "assistant",
            r#"{"content":[{"type":"text","text":"done"}],"snapshot":{"start":"a","files":["src/b.rs"]}}"#,
        ),
    ];
    let batch = read_v2(&SessionRow { id: "s".into(), ..SessionRow::default() }, &rows);
    assert_eq!(batch.exchanges[0].touched, ["src/b.rs"]);
}

#[test]
fn copilot_goes_on_by_itself_without_a_prompt() {
    let event = |id: &str, data: &str| {
        format!(r#"{{"type":"user.message","id":"{id}","timestamp":"2026-09-01T08:00:00Z","data":{data}}}"#)
    };
    let all = [
        event("1", r#"{"content":"fix it"}"#),
        event("2", r#"{"content":"Continue.","isAutopilotContinuation":true}"#),
    ];
    assert_eq!(rendered(&read_all(Agent::Copilot, &lines(all.iter().map(String::as_str)))), ["> fix it"]);
}

#[test]
fn pointers_that_claude_code_writes_are_no_drift() {
    let all = [
        r#"{"type":"fork-context-ref","agentId":"a1","parentSessionId":"p","parentLastUuid":"u","contextLength":3}"#,
        r#"{"type":"relocated","sessionId":"s"}"#,
        r#"{"type":"marble-origami-reset","sessionId":"s"}"#,
    ];
    assert!(read_all(Agent::ClaudeCode, &lines(all)).counts.unknown.is_empty());
}

#[test]
fn calls_that_the_person_denied_in_gemini_and_qwen_are_refused() {
    for (reason, want) in
        [("User denied execution.", "$ make = refused"), ("Operation cancelled.", "$ make = skipped")]
    {
        let response = format!(
            r#"{{"functionResponse":{{"id":"c","response":{{"error":"[Operation Cancelled] Reason: {reason}"}}}}}}"#
        );
        assert_eq!(made(&response, "cancelled"), [want; 2]);
    }
}
