//! Gemini CLI, Copilot CLI, Cursor, Qwen Code.

use cerebro_transcript::turn::ParentKind;
use cerebro_transcript::{Agent, Batch, State, cursor, gemini_cli};

use super::support::{lines, read_all, rendered};

const HEAD: &str = r#"{"sessionId":"g1","projectHash":"h","startTime":"2026-07-17T09:00:00Z","lastUpdated":"2026-07-17T09:00:00Z","kind":"main","directories":["/w"]}"#;

fn gemini(all: &[&str]) -> Batch {
    gemini_cli::read(&lines(all.iter().copied()), "")
}

#[test]
fn gemini_lines_replace_patch_and_rewind() {
    let user = |id: &str, text: &str| {
        format!(
            r#"{{"id":"{id}","timestamp":"2026-07-17T09:00:01Z","type":"user","content":[{{"text":"{text}"}}]}}"#
        )
    };
    let model = |id: &str, text: &str| {
        format!(
            r#"{{"id":"{id}","timestamp":"2026-07-17T09:00:02Z","type":"gemini","content":"{text}","model":"gemini-3"}}"#
        )
    };
    let (one, two) = (user("m1", "one"), user("m3", "two"));
    let (draft, better, late) = (model("m2", "draft"), model("m2", "better"), model("m4", "2"));
    let batch = gemini(&[HEAD, &one, &draft, &better, &two, &late]);
    assert_eq!(rendered(&batch), ["> one", "better", "> two", "2"]);
    assert_eq!((batch.session.id.as_str(), batch.session.cwd.as_deref()), ("g1", Some("/w")));
    let rewound = gemini(&[HEAD, &one, &better, &two, &late, r#"{"$rewindTo":"m3"}"#, &user("m5", "other")]);
    assert_eq!(rendered(&rewound), ["> one", "better", "> other"]);
    let cleared = gemini(&[HEAD, &one, r#"{"$rewindTo":"nobody"}"#, &two]);
    assert_eq!(rendered(&cleared), ["> two"], "an unknown id clears all, as in the CLI");
    let set = format!(r#"{{"$set":{{"messages":[{two},{late}],"summary":"A title"}}}}"#);
    let patched = gemini(&[HEAD, &one, &set, "not json", r#"{"x":1}"#]);
    assert_eq!(rendered(&patched), ["> one", "> two", "2"], "what a patch leaves out was said all the same");
    assert_eq!(patched.session.title.as_deref(), Some("A title"));
    assert_eq!((patched.counts.malformed, patched.counts.unknown.len()), (1, 1));
}

#[test]
fn gemini_documents_are_read_with_their_tools() {
    let document = r#"{
  "sessionId": "g2", "projectHash": "h", "startTime": "2026-01-10T02:08:26.108Z", "lastUpdated": "2026-01-10T02:09:27.575Z",
  "messages": [
    {"id":"1","timestamp":"2026-01-10T02:08:26.108Z","type":"user","content":"build it"},
    {"id":"2","timestamp":"2026-01-10T02:08:35.661Z","type":"gemini","content":"","thoughts":[{"subject":"x","description":"never kept"}],"model":"gemini-3",
     "toolCalls":[
       {"id":"t1","name":"run_shell_command","args":{"command":"make"},"status":"success","result":[{"functionResponse":{"id":"t1","name":"x","response":{"output":"Command: make\nOutput: boom\nExit Code: 2"}}}]},
       {"id":"t2","name":"write_file","args":{"file_path":"a.txt","content":"x"},"status":"success","result":[{"functionResponse":{"response":{"output":"Successfully overwrote file"}}}]},
       {"id":"t3","name":"replace","args":{"file_path":"b.txt"},"status":"error","result":[{"functionResponse":{"response":{"error":"0 occurrences"}}}]},
       {"id":"t4","name":"run_shell_command","args":{"command":"rm -rf x"},"status":"cancelled","result":[]}]},
    {"id":"3","timestamp":"2026-01-10T02:09:00Z","type":"info","content":"Request cancelled."},
    {"id":"4","timestamp":"2026-01-10T02:09:00Z","type":"user","content":"/stats"},
    {"id":"41","timestamp":"2026-01-10T02:09:00Z","type":"user","content":"?shortcuts"},
    {"id":"5","timestamp":"2026-01-10T02:09:00Z","type":"user","content":[{"text":"<session_context>folders</session_context>"}]},
    {"id":"7","timestamp":"2026-01-10T02:09:00Z","type":"user","content":"/etc/hosts is wrong"},
    {"id":"8","timestamp":"2026-01-10T02:09:00Z","type":"user","content":"/plan:new a"},
    {"id":"6","timestamp":"2026-01-10T02:09:00Z","type":"error","content":"quota"}
  ]
}"#;
    let batch = gemini_cli::read(document.as_bytes(), "");
    let want = [
        "> build it",
        "$ make = failed 2 Command: make\nOutput: boom\nExit Code: 2",
        "edit a.txt = ok",
        "edit b.txt = failed -1 0 occurrences",
        "$ rm -rf x = skipped",
        "> /etc/hosts is wrong",
        "> /plan:new a (Command)",
        "service failed",
    ];
    assert_eq!(rendered(&batch), want);
    assert_eq!(batch.state.offset, 0, "the next reading begins at the beginning");
    // A document that is being written is not there yet.
    assert!(gemini_cli::read(&document.as_bytes()[..400], "").exchanges.is_empty());
    // Nor does one of another shape pass in silence.
    for other in [r#"{"sessionId":"g","messages":"none"}"#, r#"{"$set":{"messages":{"0":"x"}}}"#] {
        assert_eq!(gemini_cli::read(other.as_bytes(), "").counts.malformed, 1, "{other}");
    }
}

#[test]
fn copilot_events_are_read() {
    let events = [
        r#"{"type":"session.start","data":{"sessionId":"p1","copilotVersion":"1.0.71","context":{"cwd":"/w","branch":"main"}},"id":"e0","timestamp":"2026-07-20T05:13:54Z"}"#,
        r#"{"type":"session.model_change","data":{"newModel":"gpt-5-mini"},"id":"e1","timestamp":"2026-07-20T05:13:58Z"}"#,
        r#"{"type":"system.message","data":{"content":"You are"},"id":"e2"}"#,
        r#"{"type":"user.message","data":{"content":"fix it"},"id":"e3","timestamp":"2026-07-20T05:13:58Z"}"#,
        r#"{"type":"assistant.message","data":{"messageId":"m1","content":"Looking.","toolRequests":[{"toolCallId":"t1","name":"bash","arguments":{"command":"make"}},{"toolCallId":"t2","name":"create","arguments":{"path":"/w/a","file_text":"x"}}]},"id":"e4"}"#,
        r#"{"type":"tool.execution_start","data":{"toolCallId":"t1","toolName":"bash","arguments":{"command":"make"}},"id":"e5"}"#,
        r#"{"type":"tool.execution_complete","data":{"toolCallId":"t1","success":false,"error":{"message":"boom"}},"id":"e6"}"#,
        r#"{"type":"tool.execution_complete","data":{"toolCallId":"t2","success":true,"result":{"content":"Created"}},"id":"e7"}"#,
        r#"{"type":"tool.execution_start","data":{"toolCallId":"t3","toolName":"bash","arguments":{"command":"rm -r x"}},"id":"f1"}"#,
        r#"{"type":"tool.execution_complete","data":{"toolCallId":"t3","success":false,"error":{"message":"no","code":"rejected"}},"id":"f2"}"#,
        r#"{"type":"assistant.message","data":{"content":"I am a sub-agent.","parentToolCallId":"t9","toolRequests":[{"toolCallId":"t4","name":"bash","arguments":{"command":"ls"}}]},"id":"f3"}"#,
        r#"{"type":"user.message","data":{"content":"not typed","source":"skill"},"id":"f4"}"#,
        r#"{"type":"session.shutdown","data":{"codeChanges":{"filesModified":["/w/a","/w/b"]}},"id":"e8"}"#,
        r#"{"type":"brandnew.event","data":{},"id":"e9"}"#,
    ];
    let batch = read_all(Agent::Copilot, &lines(events));
    let want = [
        "> fix it",
        "Looking.",
        "$ make = failed -1 boom",
        "edit /w/a = ok",
        "$ rm -r x = refused",
        "$ ls = … by a sub-agent",
        "touched /w/a",
        "touched /w/b",
    ];
    assert_eq!(rendered(&batch), want);
    let session = &batch.session;
    assert_eq!(
        (session.id.as_str(), session.branch.as_deref(), session.model.as_deref()),
        ("p1", Some("main"), Some("gpt-5-mini"))
    );
    assert_eq!(batch.counts.unknown.keys().collect::<Vec<_>>(), ["brandnew.event"]);
}

#[test]
fn cursor_lines_and_texts_are_read() {
    let all = [
        r#"{"role":"user","message":{"content":[{"type":"text","text":"<timestamp>now</timestamp>\n<user_query>\nfix it\n</user_query>"}]}}"#,
        r#"{"role":"assistant","message":{"content":[{"type":"text","text":"Looking."},{"type":"tool_use","id":"t1","name":"Shell","input":{"command":"make"}},{"type":"tool_use","name":"StrReplace","input":{"path":"/w/a","new_string":"x"}}]}}"#,
        r#"{"type":"turn_ended","status":"success"}"#,
        r#"{"type":"brand_new"}"#,
    ];
    let batch = read_all(Agent::Cursor, &lines(all));
    assert_eq!(rendered(&batch), ["> fix it", "Looking.", "$ make = …", "edit /w/a = ok"]);
    assert_eq!(batch.counts.unknown.keys().collect::<Vec<_>>(), ["brand_new"]);
    let text = "user:\n<user_query>\nfix it\n</user_query>\n\nassistant:\n[Thinking]\n  never kept\nLooking.\n[Tool call] Shell\n  command: make\n[Tool result] Shell\n\nDone.\n";
    assert_eq!(
        rendered(&cursor::read_text(text, &State::new(Agent::Cursor, "c1"))),
        ["> fix it", "Looking.\nDone."]
    );
}

fn qwen(kind: &str, uuid: &str, parent: &str, rest: &str) -> String {
    format!(
        r#"{{"uuid":"{uuid}","parentUuid":"{parent}","sessionId":"q1","timestamp":"2026-07-17T09:00:00Z","type":"{kind}","cwd":"/w","gitBranch":"main","version":"0.9"{rest}}}"#
    )
}

fn qwen_text(text: &str) -> String {
    format!(r#","message":{{"role":"user","parts":[{{"text":"{text}"}}]}}"#)
}

#[test]
fn going_back_in_qwen_takes_back_all_that_came_since() {
    let rewind = qwen("system", "w1", "s1", r#","subtype":"rewind","systemPayload":{"truncatedCount":2}"#);
    let asked = [
        qwen("user", "u1", "s1", &qwen_text("one")),
        qwen("user", "u2", "u1", &qwen_text("two")),
        qwen("user", "u3", "u2", &qwen_text("three")),
        qwen("user", "u4", "u3", &qwen_text("four")),
        rewind,
        qwen("user", "u5", "w1", &qwen_text("five")),
    ];
    let rewound = read_all(Agent::Qwen, &lines(asked.iter().map(String::as_str)));
    assert_eq!(rewound.withdrawn, [0, 1, 2, 3], "however far it goes back");
}

#[test]
fn qwen_records_are_read() {
    let all = [
        qwen("system", "s1", "", r#","subtype":"ui_telemetry","systemPayload":{}"#),
        qwen("user", "u1", "s1", &qwen_text("fix it")),
        qwen(
            "assistant",
            "a1",
            "u1",
            r#","model":"qwen3","message":{"role":"model","parts":[{"text":"never kept","thought":true},{"text":"Looking."},{"functionCall":{"id":"t1","name":"run_shell_command","args":{"command":"make"}}}]}"#,
        ),
        qwen(
            "tool_result",
            "r1",
            "a1",
            r#","message":{"role":"user","parts":[{"functionResponse":{"id":"t1","response":{"output":"boom"}}}]},"toolCallResult":{"callId":"t1","status":"error"}"#,
        ),
        qwen(
            "user",
            "n1",
            "r1",
            &format!(r#","subtype":"notification","provenance":"system"{}"#, qwen_text("a task ended")),
        ),
        qwen("user", "u2", "r1", &format!(r#","provenance":"real_user"{}"#, qwen_text("more"))),
        qwen(
            "system",
            "c1",
            "u2",
            r#","subtype":"chat_compression","systemPayload":{"compressedHistory":[{"role":"user","parts":[{"text":"so far"}]}]}"#,
        ),
        qwen("system", "c2", "u2", r#","subtype":"custom_title","systemPayload":{"customTitle":"Mine"}"#),
        qwen("user", "u3", "r1", &qwen_text("more, but better")),
        qwen("brand_new", "x", "u3", ""),
    ];
    let batch = read_all(Agent::Qwen, &lines(all.iter().map(String::as_str)));
    let want = [
        "> fix it",
        "Looking.",
        "$ make = failed -1 boom",
        "> more",
        "compaction so far",
        "> more, but better",
    ];
    assert_eq!(rendered(&batch), want);
    assert_eq!((batch.withdrawn.as_slice(), batch.session.title.as_deref()), ([1].as_slice(), Some("Mine")));
    assert_eq!(batch.counts.unknown.keys().collect::<Vec<_>>(), ["brand_new"]);
    let forked = qwen(
        "user",
        "u1",
        "",
        &format!(r#","forkedFrom":{{"sessionId":"q0","messageUuid":"u1"}}{}"#, qwen_text("go")),
    );
    let fork = read_all(Agent::Qwen, &lines([forked.as_str()]));
    assert_eq!(
        fork.session.parent.map(|parent| (parent.kind, parent.session)),
        Some((ParentKind::Fork, Some("q0".into())))
    );
}
