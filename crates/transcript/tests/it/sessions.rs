//! Several sessions: which part of one is a copy of another; and that redaction reaches every text.

use cerebro_transcript::turn::ParentKind;
use cerebro_transcript::{Agent, Batch, State, facts, lineage, read};

use super::support::{lines, read_all};

/// A session of Claude Code: prompts `u1`… and replies `a1`…, with a session's id.
fn claude(session: &str, turns: &[(&str, &str)]) -> String {
    let line = |kind: &str, id: &str, text: &str| {
        format!(
            r#"{{"type":"{kind}","uuid":"{id}","sessionId":"{session}","message":{{"id":"{id}","content":"{text}"}}}}"#
        )
    };
    let all =
        turns.iter().map(|(id, text)| line(if id.starts_with('u') { "user" } else { "assistant" }, id, text));
    all.fold(String::new(), |all, line| all + &line + "\n")
}

/// Answers as a store does: which session has an exchange that begins with an id, and whether it ends with another.
fn known_from(batches: &[Batch]) -> impl Fn(&str, &str) -> Vec<(String, bool)> + use<> {
    let turns: Vec<(String, String, String)> = batches
        .iter()
        .flat_map(|batch| batch.exchanges.iter().map(move |exchange| (exchange, batch.session.id.clone())))
        .map(|(exchange, session)| {
            let [first, last] =
                [&exchange.first_id, &exchange.last_id].map(|id| id.clone().unwrap_or_default());
            (first, last, session)
        })
        .collect();
    move |first, last| {
        let begun = turns.iter().filter(|(begin, ..)| begin == first);
        begun.map(|(_, end, session)| (session.clone(), end == last)).collect()
    }
}

#[test]
fn a_fork_of_claude_code_is_known_by_its_ids() {
    let talk = [("u1", "one"), ("a1", "1"), ("u2", "two"), ("a2", "2")];
    let parent = read_all(Agent::ClaudeCode, claude("s1", &talk).as_bytes());
    let forked = [talk.as_slice(), &[("a3", "2, otherwise"), ("u3", "three"), ("a4", "3")]].concat();
    let fork = read_all(Agent::ClaudeCode, claude("s2", &forked).as_bytes());
    let lineage = lineage::of(&fork.session, &fork.exchanges, &known_from(&[parent]));
    assert_eq!(lineage.copies, [0], "the second exchange goes on in its own way");
    let parent = lineage.parent.expect("a parent");
    assert_eq!((parent.kind, parent.session.as_deref()), (ParentKind::Fork, Some("s1")));
}

#[test]
fn a_fork_of_codex_is_known_by_its_turns() {
    let rollout = |id: &str, fork: &str, turns: &[&str]| {
        let mut all = vec![format!(r#"{{"type":"session_meta","payload":{{"id":"{id}"{fork}}}}}"#)];
        for turn in turns {
            all.push(format!(
                r#"{{"type":"event_msg","payload":{{"type":"task_started","turn_id":"{turn}"}}}}"#
            ));
            all.push(format!(
                r#"{{"type":"event_msg","payload":{{"type":"user_message","message":"ask {turn}"}}}}"#
            ));
        }
        read_all(Agent::Codex, &lines(all.iter().map(String::as_str)))
    };
    let parent = rollout("c1", "", &["t1", "t2"]);
    let fork = rollout("c2", r#","forked_from_id":"c1""#, &["t1", "t2", "t3"]);
    let known = known_from(&[parent]);
    assert_eq!(lineage::of(&fork.session, &fork.exchanges, &known).copies, [0, 1]);
    let unknown = |_: &str, _: &str| Vec::new();
    assert!(
        lineage::of(&fork.session, &fork.exchanges, &unknown).copies.is_empty(),
        "a missing parent keeps all"
    );
    // The numbers of turns are those of every session; the first two words are those of the parent too.
    let other = rollout("c3", "", &["t1", "t2", "t3"]);
    assert!(lineage::of(&other.session, &other.exchanges, &known).copies.is_empty(), "another session");
    let ids = ["019a1f2e-7c1d-7a10-8f00-000000000001", "019a1f2e-7c1d-7a10-8f00-000000000002"];
    let known = known_from(&[rollout("c4", "", &ids[..1])]);
    let fork = rollout("c5", "", &ids);
    assert_eq!(lineage::of(&fork.session, &fork.exchanges, &known).copies, [0], "a parent that is not named");
}

#[test]
fn redaction_reaches_every_text() {
    let head = r#""sessionId":"s1","cwd":"/w/SECRET","gitBranch":"SECRET","version":"SECRET""#;
    let block = |id: &str, name: &str, input: &str| {
        format!(r#"{{"type":"tool_use","id":"{id}","name":"{name}","input":{input}}}"#)
    };
    let calls = [
        block("t1", "Edit", r#"{"file_path":"/SECRET","new_string":"SECRET"}"#),
        block("t2", "Read", r#"{"file_path":"/SECRET"}"#),
        block("t3", "Grep", r#"{"pattern":"SECRET","path":"/SECRET"}"#),
        block("t4", "Bash", r#"{"command":"curl SECRET && git commit -m 'SECRET'"}"#),
        block("t5", "WebFetch", r#"{"url":"https://SECRET"}"#),
        block("t6", "Task", r#"{"subagent_type":"SECRET","prompt":"SECRET"}"#),
        block("t7", "ExitPlanMode", r#"{"plan":"SECRET"}"#),
        block("t8", "TodoWrite", r#"{"todos":[{"content":"SECRET","status":"pending"}]}"#),
        block(
            "t9",
            "AskUserQuestion",
            r#"{"questions":[{"question":"SECRET","options":[{"label":"SECRET"}]}]}"#,
        ),
        block("t10", "mcp__x__SECRET", r#"{"a":"SECRET"}"#),
    ];
    let refused = "The user doesn't want to proceed with this tool use. The tool use was rejected. the user said:\\nSECRET";
    let answers: Vec<String> = (1..=10)
        .map(|n| {
            let (text, failed) =
                if n == 6 { (refused, true) } else { ("Exit code 1\\nerror: SECRET", n == 4) };
            format!(r#"{{"type":"tool_result","tool_use_id":"t{n}","is_error":{failed},"content":"{text}"}}"#)
        })
        .collect();
    let all = [
        format!(r#"{{"type":"user","uuid":"u1",{head},"message":{{"content":"my SECRET"}}}}"#),
        format!(
            r#"{{"type":"assistant","uuid":"a1",{head},"message":{{"id":"m1","model":"SECRET","content":[{{"type":"text","text":"SECRET"}},{}]}}}}"#,
            calls.join(",")
        ),
        format!(r#"{{"type":"user","uuid":"r1",{head},"message":{{"content":[{}]}}}}"#, answers.join(",")),
        format!(
            r#"{{"type":"user","uuid":"c1","isCompactSummary":true,{head},"message":{{"content":"SECRET"}}}}"#
        ),
        r#"{"type":"pr-link","prUrl":"https://SECRET"}"#.to_owned(),
        r#"{"type":"custom-title","customTitle":"SECRET"}"#.to_owned(),
        r#"{"type":"file-history-snapshot","snapshot":{"trackedFileBackups":{"SECRET.rs":{}}}}"#.to_owned(),
    ];
    let mut batch = read(&lines(all.iter().map(String::as_str)), &State::new(Agent::ClaudeCode, ""));
    let stored = |batch: &Batch| {
        let all = (&batch.session, &batch.exchanges, facts::of(&batch.exchanges), &batch.state);
        serde_json::to_string(&all).expect("JSON")
    };
    assert!(stored(&batch).matches("SECRET").count() > 30, "the sample has a secret in every field");
    let redact = |text: &mut String| *text = text.replace("SECRET", "[REDACTED]");
    batch.session.each_text(redact);
    batch.state.session.each_text(redact);
    batch.exchanges.iter_mut().for_each(|exchange| exchange.each_text(redact));
    assert!(!stored(&batch).contains("SECRET"), "{}", stored(&batch));
}
