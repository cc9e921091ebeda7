//! Codex' rollouts.

use cerebro_transcript::turn::{Action, ParentKind};
use cerebro_transcript::{Agent, Batch};

use super::support::{lines, read_all, read_cut, rendered};

fn record(kind: &str, payload: &str) -> String {
    format!(r#"{{"timestamp":"2026-09-27T10:00:00.125Z","type":"{kind}","payload":{payload}}}"#)
}

fn item(payload: &str) -> String {
    record("response_item", payload)
}

fn event(payload: &str) -> String {
    record("event_msg", payload)
}

fn meta(rest: &str) -> String {
    record(
        "session_meta",
        &format!(r#"{{"id":"c1","cwd":"/w","cli_version":"0.154.0","git":{{"branch":"main"}}{rest}}}"#),
    )
}

/// An id as Codex gives its own turns.
const TURN: &str = "019a1f2e-7c1d-7a10-8f00-0123456789ab";

fn turn(id: &str) -> String {
    record("turn_context", &format!(r#"{{"turn_id":"{id}","cwd":"/w","model":"gpt-5.5"}}"#))
}

fn message(role: &str, text: &str) -> String {
    let text = serde_json::to_string(text).expect("a string");
    let part = if role == "assistant" { "output_text" } else { "input_text" };
    item(&format!(r#"{{"type":"message","role":"{role}","content":[{{"type":"{part}","text":{text}}}]}}"#))
}

fn typed(text: &str) -> String {
    let text = serde_json::to_string(text).expect("a string");
    event(&format!(r#"{{"type":"user_message","message":{text},"images":[]}}"#))
}

fn call(id: &str, name: &str, arguments: &str) -> String {
    let arguments = serde_json::to_string(arguments).expect("a string");
    item(&format!(r#"{{"type":"function_call","name":"{name}","arguments":{arguments},"call_id":"{id}"}}"#))
}

fn output(id: &str, text: &str) -> String {
    let text = serde_json::to_string(text).expect("a string");
    item(&format!(r#"{{"type":"function_call_output","call_id":"{id}","output":{text}}}"#))
}

fn completed(inner: &str) -> String {
    event(&format!(r#"{{"type":"item_completed","thread_id":"t","turn_id":"u","item":{inner}}}"#))
}

fn read(all: &[String]) -> Batch {
    read_all(Agent::Codex, &lines(all.iter().map(String::as_str)))
}

fn check(all: &[String], want: &[&str]) {
    assert_eq!(rendered(&read(all)), want);
}

#[test]
fn an_exchange_is_a_prompt_and_what_followed() {
    let batch = read(&[
        meta(""),
        message("developer", "<permissions>all</permissions>"),
        message("user", "# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>\nbe good\n</INSTRUCTIONS>"),
        message("user", "<environment_context>\n<cwd>/w</cwd>\n</environment_context>"),
        event(&format!(r#"{{"type":"task_started","turn_id":"{TURN}"}}"#)),
        turn(TURN),
        message("user", "fix it"),
        typed("fix it"),
        item(
            r#"{"type":"reasoning","summary":[{"type":"summary_text","text":"never kept"}],"encrypted_content":"x"}"#,
        ),
        event(r#"{"type":"agent_message","message":"Looking."}"#),
        message("assistant", "Looking."),
        call("k1", "exec_command", r#"{"cmd":"cargo test"}"#),
        output(
            "k1",
            "Chunk ID: 1\nWall time: 2 seconds\nProcess exited with code 101\nOutput:\nerror: it broke",
        ),
        item(
            r#"{"type":"custom_tool_call","status":"completed","call_id":"k2","name":"apply_patch","input":"*** Begin Patch\n*** Update File: src/a.rs\n+x\n*** End Patch"}"#,
        ),
        item(
            r#"{"type":"custom_tool_call_output","call_id":"k2","output":"{\"output\":\"Success\",\"metadata\":{\"exit_code\":0,\"duration_seconds\":0.1}}"}"#,
        ),
        call("k3", "shell", r#"{"command":["bash","-lc","make"]}"#),
        output("k3", r#"{"output":"boom","metadata":{"exit_code":2}}"#),
        message("assistant", "Done."),
        event(r#"{"type":"task_complete","turn_id":"t1","last_agent_message":"Done."}"#),
        event(r#"{"type":"token_count","info":null}"#),
    ]);
    let want = [
        "> fix it",
        "Looking.",
        "$ cargo test = failed 101 error: it broke",
        "edit src/a.rs = ok",
        r#"$ make = failed 2 {"output":"boom","metadata":{"exit_code":2}}"#,
        "Done.",
    ];
    assert_eq!(rendered(&batch), want);
    let exchange = &batch.exchanges[0];
    assert_eq!((exchange.first_id.as_deref(), exchange.model.as_deref()), (Some(TURN), Some("gpt-5.5")));
    assert!(batch.counts.unknown.is_empty(), "{:?}", batch.counts.unknown);
    assert!(!serde_json::to_string(&batch.exchanges).expect("JSON").contains("never kept"));
}

#[test]
fn the_prompt_is_what_the_host_reports_as_typed() {
    // A new kind of context, in the user's role, that nobody knows yet.
    check(
        &[
            message("user", "<brand_new>x</brand_new>"),
            message("user", "go"),
            typed("go"),
            message("assistant", "yes"),
        ],
        &["> go", "yes"],
    );
    // Without such events, several messages at once are one prompt.
    check(&[message("user", "a"), message("user", "b"), message("assistant", "yes")], &["> a\nb", "yes"]);
    // The event first, and the same words from an editor's frame after it.
    check(
        &[
            typed("go"),
            message("user", "# Context from my IDE setup:\n\n## My request for Codex:\ngo"),
            message("assistant", "yes"),
        ],
        &["> go", "yes"],
    );
    check(&[message("user", "one"), typed("one"), message("user", "two"), typed("two")], &["> one", "> two"]);
}

#[test]
fn completed_items_count_only_where_response_items_are_missing() {
    let asked = completed(r#"{"type":"UserMessage","id":"1","content":[{"type":"text","text":"go"}]}"#);
    let reply = completed(r#"{"type":"AgentMessage","id":"m","content":[{"type":"Text","text":"yes"}]}"#);
    let ran = completed(
        r#"{"type":"CommandExecution","id":"e1","command":["/bin/bash","-lc","make"],"status":"failed","aggregated_output":"boom","exit_code":2}"#,
    );
    let changed = completed(
        r#"{"type":"FileChange","id":"e2","changes":{"/w/a.rs":{"type":"update"},"/w/b.rs":{"type":"add"}},"status":"completed"}"#,
    );
    let used = completed(
        r#"{"type":"McpToolCall","id":"e3","server":"docs","tool":"search","arguments":{"q":"x"},"status":"failed","result":null,"error":"server unavailable"}"#,
    );
    let both = [asked.clone(), reply.clone(), ran.clone(), changed.clone()];
    check(&both, &["> go", "yes", "$ make = failed 2 boom", "edit /w/a.rs,/w/b.rs = ok"]);
    assert!(rendered(&read(&[asked.clone(), used]))[1].ends_with("failed -1 server unavailable"));
    check(
        &[
            message("user", "go"),
            asked,
            message("assistant", "yes"),
            reply,
            call("k1", "shell", r#"{"command":["make"]}"#),
            ran,
            output("k1", "Exit code: 2\nOutput:\nboom"),
        ],
        &["> go", "yes", "$ make = failed 2 boom"],
    );
}

#[test]
fn what_a_script_did_is_in_completed_items() {
    let script = |id: &str, input: &str| {
        item(&format!(r#"{{"type":"custom_tool_call","call_id":"{id}","name":"exec","input":"{input}"}}"#))
    };
    let printed = |id: &str, text: &str| {
        item(&format!(r#"{{"type":"custom_tool_call_output","call_id":"{id}","output":"{text}"}}"#))
    };
    let ran = completed(
        r#"{"type":"CommandExecution","id":"exec_a","command":["/bin/zsh","-lc","make"],"status":"failed","aggregated_output":"boom","exit_code":2}"#,
    );
    let changed = completed(
        r#"{"type":"FileChange","id":"exec_b","changes":{"a.rs":{"type":"update","unified_diff":"@@\n-old\n+new"},"b.rs":{"type":"add","content":"all"}},"status":"completed"}"#,
    );
    let all = [
        message("user", "go"),
        script("c1", "await tools.exec_command({cmd: 'make'})"),
        ran,
        changed,
        printed("c1", r"Script completed\nWall time 1 second\nOutput:\n"),
        script("c2", "await tools.exec_command({cmd: 'ls'})"),
        printed("c2", r"Script failed\nWall time 1 second\nOutput:\nno"),
    ];
    let batch = read(&all);
    let shown = rendered(&batch);
    assert!(shown[1].starts_with("exec Other"), "{shown:?}");
    assert_eq!(shown[2..4], ["$ make = failed 2 boom", "edit a.rs,b.rs = ok"]);
    assert!(shown[4].starts_with("$ ls = failed"), "no item says what this one did: {shown:?}");
    let edit = batch.exchanges[0].calls().find(|call| call.tool == "apply_patch").expect("the edit");
    assert!(matches!(&edit.action, Action::Edit { excerpt, .. } if excerpt == "new\nall"), "{edit:?}");
}

#[test]
fn what_the_host_says_in_the_users_role_is_no_prompt() {
    let ran = "<user_shell_command>\n<command>\nmake lint\n</command>\n<result>\nExit code: 2\nDuration: 1.0000 seconds\nOutput:\nboom\n</result>\n</user_shell_command>";
    check(
        &[
            typed("go"),
            message("assistant", "yes"),
            message("user", ran),
            message("user", ran),
            message("user", "<hook_prompt hook_run_id=\"r1\">Run the tests first.</hook_prompt>"),
            message("user", "<subagent_notification>\n{\"status\":\"done\"}\n</subagent_notification>"),
            message("user", "<turn_aborted>\nThe user interrupted.\n</turn_aborted>"),
            message("user", "<codex_internal_context source=\"goal\">\ngo on\n</codex_internal_context>"),
            message("user", "<skill>\n<name>x</name>\n</skill>"),
            message("user", "<user_action>\n<context>A review.</context>\n</user_action>"),
            message("assistant", "done"),
        ],
        &["> go", "yes", "$ make lint = failed 2 boom", "done"],
    );
}

#[test]
fn parts_whose_kind_is_the_hosts_are_no_prompt() {
    let labelled = |parts: &[(&str, &str)]| {
        let texts: Vec<String> =
            parts.iter().map(|(_, text)| format!(r#"{{"type":"input_text","text":"{text}"}}"#)).collect();
        let kinds: Vec<String> = parts.iter().map(|(kind, _)| format!("\"{kind}\"")).collect();
        item(&format!(
            r#"{{"type":"message","role":"user","content":[{}],"internal_chat_message_metadata_passthrough":{{"turn_id":"t","content_item_kinds":[{}]}}}}"#,
            texts.join(","),
            kinds.join(",")
        ))
    };
    check(
        &[
            meta(""),
            labelled(&[("hooks.additional_context", "Remember the build server.")]),
            labelled(&[("environments.environment_context", "It is Monday."), ("user.text", "fix it")]),
            message("assistant", "Done."),
            labelled(&[("unknown", "and the test")]),
        ],
        &["> fix it", "Done.", "> and the test"],
    );
}

#[test]
fn a_roll_back_takes_back_the_last_prompts() {
    let batch = read(&[
        typed("one"),
        message("assistant", "1"),
        typed("two"),
        message("assistant", "2"),
        event(r#"{"type":"turn_aborted","turn_id":"t","reason":"interrupted"}"#),
        event(r#"{"type":"thread_rolled_back","num_turns":1}"#),
        typed("two, but better"),
    ]);
    assert_eq!(batch.withdrawn, [1]);
    assert_eq!(rendered(&batch), ["> one", "1", "> two", "2", "interrupted", "> two, but better"]);
    assert!(read(&[event(r#"{"type":"thread_rolled_back","num_turns":9}"#)]).withdrawn.is_empty());
}

#[test]
fn copies_name_their_parent_and_keep_their_own_name() {
    let fork = read(&[meta(r#","forked_from_id":"c0""#), meta("").replace("c1", "c0"), typed("go")]);
    assert_eq!(fork.session.id, "c1", "the parent's head is copied after it");
    assert_eq!(
        fork.session.parent.map(|parent| (parent.kind, parent.session)),
        Some((ParentKind::Fork, Some("c0".into())))
    );
    let spawned = read(&[
        meta(r#","source":{"subagent":{"thread_spawn":{"parent_thread_id":"c0","depth":1}}}"#),
        typed("explore"),
    ]);
    assert_eq!(spawned.session.parent.as_ref().map(|parent| parent.kind), Some(ParentKind::SubAgent));
    assert_eq!(rendered(&spawned), ["> explore (Delegated)"]);
}

#[test]
fn runs_without_a_person_are_marked_and_codex_own_memory_is_no_session() {
    assert!(read(&[meta(r#","source":"exec""#)]).session.automated);
    assert!(read(&[meta(r#","originator":"codex_exec""#)]).session.automated);
    assert!(!read(&[meta(r#","source":"cli""#)]).session.automated);
    let own = meta("").replace("\"/w\"", "\"/h/.codex/memories\"");
    assert!(read(&[own, typed("consolidate"), message("assistant", "ok")]).exchanges.is_empty());
}

#[test]
fn compactions_and_unknown_records_are_reported() {
    let batch = read(&[
        typed("go"),
        record(
            "compacted",
            r#"{"message":"so far","replacement_history":[{"type":"message","role":"user","content":[]}]}"#,
        ),
        event(r#"{"type":"context_compacted"}"#),
        record("brand_new", "{}"),
        item(r#"{"type":"brand_new_item"}"#),
        event(r#"{"type":"brand_new_event"}"#),
        completed(r#"{"type":"BrandNew"}"#),
    ]);
    assert_eq!(rendered(&batch), ["> go", "compaction so far"]);
    let unknown: Vec<&str> = batch.counts.unknown.keys().map(String::as_str).collect();
    assert_eq!(unknown, ["brand_new", "brand_new_event", "brand_new_item", "item BrandNew"]);
}

#[test]
fn old_rollouts_without_types_are_read() {
    let batch = read(&[
        record("session_meta", r#"{"session_id":"old","cwd":"/w"}"#),
        item(r#"{"role":"user","content":[{"type":"input_text","text":"go"}]}"#),
        item(r#"{"role":"assistant","content":[{"type":"output_text","text":"yes"}]}"#),
    ]);
    assert_eq!(
        (rendered(&batch), batch.session.id.as_str()),
        (vec!["> go".to_owned(), "yes".to_owned()], "old")
    );
}

/// A rollout of August 2025, with this context: only its head has a time.
fn without_envelopes(context: &str) -> Vec<String> {
    const STATE: &str = r#"{"record_type":"state"}"#;
    let message = |role: &str, text: &str| {
        let text = serde_json::to_string(text).expect("a string");
        format!(
            r#"{{"type":"message","id":null,"role":"{role}","content":[{{"type":"text","text":{text}}}]}}"#
        )
    };
    [
        r#"{"id":"c0","timestamp":"2025-08-20T10:00:00Z","instructions":null,"git":{"branch":"main"}}"#,
        STATE,
        &message("user", "<user_instructions>\n\nbe good\n\n</user_instructions>"),
        &message("user", &format!("<environment_context>\n{context}\n</environment_context>")),
        &message("user", "fix it"),
        STATE,
        r#"{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"never kept"}]}"#,
        r#"{"type":"function_call","id":"f1","name":"shell","arguments":"{\"command\":[\"bash\",\"-lc\",\"make\"]}","call_id":"k1"}"#,
        r#"{"type":"function_call_output","call_id":"k1","output":"Exit code: 2\nOutput:\nboom"}"#,
        r#"{"type":"local_shell_call","id":"l1","call_id":"k2","status":"completed","action":{"type":"exec","command":["ls"]}}"#,
        r#"{"type":"function_call_output","call_id":"k2","output":"Exit code: 0\nOutput:\na.rs"}"#,
        &message("assistant", "Done."),
        &message("user", "and the test"),
        &message("assistant", "That, too."),
    ]
    .map(str::to_owned)
    .to_vec()
}

#[test]
fn a_rollout_without_envelopes_is_read() {
    let tagged = "  <cwd>/w</cwd>\n  <approval_policy>on-request</approval_policy>";
    for context in [tagged, "Current working directory: /w\nApproval policy: on-request"] {
        let all = without_envelopes(context);
        let batch = read(&all);
        let want =
            ["> fix it", "$ make = failed 2 boom", "$ ls = ok a.rs", "Done.", "> and the test", "That, too."];
        assert_eq!(rendered(&batch), want);
        let session = &batch.session;
        assert_eq!((session.id.as_str(), session.branch.as_deref()), ("c0", Some("main")));
        assert_eq!(session.started.map(|at| at.to_string()).as_deref(), Some("2025-08-20T10:00:00Z"));
        assert!(batch.exchanges.iter().all(|exchange| exchange.cwd.as_deref() == Some("/w")));
        assert_eq!((batch.counts.malformed, batch.counts.unknown.len()), (0, 0));
        let bytes = lines(all.iter().map(String::as_str));
        let whole = read_cut(Agent::Codex, &bytes, &[]);
        for cut in 0..bytes.len() {
            assert_eq!(read_cut(Agent::Codex, &bytes, &[cut]), whole, "cut at {cut}");
        }
    }
}

#[test]
fn what_is_no_record_without_an_envelope_is_counted() {
    let all = [
        r#"{"type":"brand_new_item"}"#,
        r#"{"record_type":"brand_new_state"}"#,
        r#"{"id":"c0"}"#,
        r#"{"timestamp":"2025-08-20T10:00:00Z"}"#,
        "[1]",
    ];
    let counts = read_all(Agent::Codex, &lines(all)).counts;
    let unknown: Vec<&str> = counts.unknown.keys().map(String::as_str).collect();
    assert_eq!((unknown, counts.malformed), (vec!["brand_new_item"], 4));
}
