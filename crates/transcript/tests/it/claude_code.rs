//! Claude Code's transcripts.

use cerebro_transcript::turn::{Parent, ParentKind};
use cerebro_transcript::{Agent, Batch, lineage};

use super::support::{lines, read_all, rendered};

/// A line of a session: the given fields, and those that every line has.
fn line(kind: &str, uuid: &str, parent: &str, rest: &str) -> String {
    let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
    format!(
        r#"{{"parentUuid":{parent},"isSidechain":false,"cwd":"/w","sessionId":"s1","version":"2.1.39","gitBranch":"main","type":"{kind}","uuid":"{uuid}","timestamp":"2026-02-01T10:00:00.000Z",{rest}}}"#
    )
}

fn user(uuid: &str, parent: &str, text: &str) -> String {
    let text = serde_json::to_string(text).expect("a string");
    line("user", uuid, parent, &format!(r#""message":{{"role":"user","content":{text}}}"#))
}

fn reply(uuid: &str, message: &str, text: &str) -> String {
    let text = serde_json::to_string(text).expect("a string");
    blocks(uuid, message, &format!(r#"{{"type":"text","text":{text}}}"#))
}

fn blocks(uuid: &str, message: &str, blocks: &str) -> String {
    let rest = format!(
        r#""message":{{"id":"{message}","model":"claude-opus-4-5","role":"assistant","content":[{blocks}]}}"#
    );
    line("assistant", uuid, "p", &rest)
}

fn tool(id: &str, name: &str, input: &str) -> String {
    format!(r#"{{"type":"tool_use","id":"{id}","name":"{name}","input":{input}}}"#)
}

fn answers(uuid: &str, blocks: &str) -> String {
    let rest = format!(
        r#""message":{{"role":"user","content":[{blocks}]}},"toolUseResult":{{"stdout":"the same again"}}"#
    );
    line("user", uuid, "p", &rest)
}

fn answer(id: &str, text: &str, failed: bool) -> String {
    let text = serde_json::to_string(text).expect("a string");
    format!(r#"{{"tool_use_id":"{id}","type":"tool_result","content":{text},"is_error":{failed}}}"#)
}

fn read(all: &[String]) -> Batch {
    read_all(Agent::ClaudeCode, &lines(all.iter().map(String::as_str)))
}

fn check(all: &[String], want: &[&str]) {
    assert_eq!(rendered(&read(all)), want);
}

#[test]
fn an_exchange_is_a_prompt_and_what_followed() {
    let batch = read(&[
        user("u1", "", "fix the parser"),
        blocks("a1", "m1", r#"{"type":"thinking","thinking":"never kept"}"#),
        reply("a2", "m1", "I look first."),
        blocks("a3", "m1", &tool("t1", "Read", r#"{"file_path":"/w/p.rs"}"#)),
        answers("r1", &answer("t1", "fn parse() {}", false)),
        blocks(
            "a4",
            "m2",
            &tool("t2", "Edit", r#"{"file_path":"/w/p.rs","old_string":"a","new_string":"b"}"#),
        ),
        answers("r2", &answer("t2", "The file has been updated.", false)),
        blocks("a5", "m3", &tool("t3", "Bash", r#"{"command":"cargo test"}"#)),
        answers("r3", &answer("t3", "Exit code 101\nerror: it broke", true)),
        reply("a6", "m4", "Done."),
        user("u2", "a6", "thanks"),
    ]);
    let want = [
        "> fix the parser",
        "I look first.",
        "read /w/p.rs = ok",
        "edit /w/p.rs = ok",
        "$ cargo test = failed 101 error: it broke",
        "Done.",
        "> thanks",
    ];
    assert_eq!(rendered(&batch), want);
    let session = &batch.session;
    let names =
        (session.id.as_str(), session.cwd.as_deref(), session.branch.as_deref(), session.model.as_deref());
    assert_eq!(names, ("s1", Some("/w"), Some("main"), Some("claude-opus-4-5")));
    let first = &batch.exchanges[0];
    let ids = [&first.first_id, &first.last_id].map(|id| id.as_deref().and_then(lineage::bare));
    assert_eq!((ids, first.seq), ([Some("u1"), Some("a6")], 0));
    assert!(!serde_json::to_string(&batch.exchanges).expect("JSON").contains("never kept"));
    assert!(!serde_json::to_string(&batch.exchanges).expect("JSON").contains("the same again"));
}

#[test]
fn one_reply_in_several_lines_is_one_reply() {
    // Snapshots that grow, and pieces that add: both have one message id.
    check(
        &[
            user("u1", "", "go"),
            reply("a1", "m1", "I will"),
            reply("a2", "m1", "I will look"),
            blocks(
                "a3",
                "m1",
                &format!(
                    r#"{{"type":"text","text":"I will look"}},{}"#,
                    tool("t1", "Bash", r#"{"command":"ls"}"#)
                ),
            ),
            reply("a4", "m2", "First."),
            reply("a5", "m2", "Sec"),
            reply("a6", "m2", "Second."),
            reply("a7", "m2", "Second."),
        ],
        &["> go", "I will look", "$ ls = …", "First.\nSecond."],
    );
}

#[test]
fn a_line_that_is_written_twice_counts_once() {
    let all =
        [user("u1", "", "go"), reply("a1", "m1", "yes"), reply("a1", "m1", "yes"), reply("a2", "m2", "yes")];
    check(&all, &["> go", "yes", "yes"]);
    assert_eq!(read(&all).counts.copies, 1);
}

#[test]
fn what_hosts_inject_is_no_prompt() {
    let meta =
        line("user", "x1", "p", r#""isMeta":true,"message":{"role":"user","content":"Caveat: all that"}"#);
    let skill = line(
        "user",
        "x2",
        "p",
        r#""isMeta":true,"message":{"role":"user","content":[{"type":"text","text":"Base directory for this skill: /x"}]}"#,
    );
    check(
        &[
            user("u1", "", "<command-name>/exit</command-name>\n<command-args></command-args>"),
            user("u2", "", "<local-command-stdout>Bye!</local-command-stdout>"),
            meta,
            skill,
            user("u3", "", "<task-notification>\n<status>completed</status>\n</task-notification>"),
            user("u4", "", "<system-reminder>be good</system-reminder>\nreal one"),
            user(
                "u5",
                "",
                "<command-message>review</command-message>\n<command-name>/review</command-name>\n<command-args>7</command-args>",
            ),
            line(
                "user",
                "u6",
                "p",
                r#""message":{"role":"user","content":[{"type":"text","text":"<ide_opened_file>/a</ide_opened_file>"},{"type":"text","text":"and this"}]}"#,
            ),
            line(
                "user",
                "u7",
                "p",
                r#""message":{"role":"user","content":[{"type":"text","text":"<command-message>init</command-message>\n<command-name>/init</command-name>"},{"type":"text","text":"Please analyze this codebase"}]}"#,
            ),
            line(
                "user",
                "u8",
                "p",
                r#""promptSource":"system","message":{"role":"user","content":"wake up"}"#,
            ),
        ],
        &["> real one", "> /review 7 (Command)", "> and this", "> /init (Command)"],
    );
}

#[test]
fn a_prompt_typed_while_a_tool_ran_is_a_prompt() {
    let call = blocks("a1", "m1", &tool("t1", "Bash", r#"{"command":"make"}"#));
    // Beside the answer, in an older form …
    let beside =
        answers("r1", &format!(r#"{},{{"type":"text","text":"use ninja"}}"#, answer("t1", "ok", false)));
    check(
        &[user("u1", "", "build"), call.clone(), beside],
        &["> build", "$ make = ok ok", "> use ninja (Queued)"],
    );
    // … and in an attachment without an id, before the answer.
    let attachment = r#"{"type":"attachment","sessionId":"s1","timestamp":"2026-02-01T10:00:01Z","attachment":{"type":"queued_command","prompt":"use ninja","commandMode":"prompt"}}"#;
    check(
        &[user("u1", "", "build"), call, attachment.into(), answers("r1", &answer("t1", "ok", false))],
        &["> build", "$ make = ok ok", "> use ninja (Queued)"],
    );
    let notice = attachment.replace("use ninja", "<task-notification>x</task-notification>");
    check(&[user("u1", "", "build"), notice], &["> build"]);
}

#[test]
fn refusals_and_interruptions_are_distinguished() {
    let refused = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file). To tell you how to proceed, the user said:\nno, use jj";
    check(
        &[
            user("u1", "", "commit"),
            blocks(
                "a1",
                "m1",
                &format!(
                    "{},{}",
                    tool("t1", "Bash", r#"{"command":"git commit"}"#),
                    tool("t2", "Edit", r#"{"file_path":"/w/a"}"#)
                ),
            ),
            answers(
                "r1",
                &format!(
                    "{},{}",
                    answer("t1", refused, true),
                    answer("t2", "<tool_use_error>Sibling tool call errored</tool_use_error>", true)
                ),
            ),
            line(
                "user",
                "u2",
                "r1",
                r#""message":{"role":"user","content":[{"type":"text","text":"[Request interrupted by user for tool use]"}]}"#,
            ),
        ],
        &["> commit", "$ git commit = refused no, use jj", "edit /w/a = skipped", "interrupted"],
    );
}

#[test]
fn asking_again_after_the_same_turn_is_a_rewind() {
    let batch = read(&[
        user("u1", "", "one"),
        reply("a1", "m1", "1"),
        user("u2", "a1", "two"),
        reply("a2", "m2", "2"),
        user("u3", "a1", "two, but better"),
        reply("a3", "m3", "3"),
        user("u4", "a1", "two, at last"),
    ]);
    assert_eq!(batch.withdrawn, [1, 2]);
    assert_eq!(batch.exchanges.len(), 4, "what was taken back is kept as evidence");
    // Going back farther starts a branch, and both stay.
    let mut all = vec![user("u0", "root", "zero"), user("u1", "a0", "one")];
    all.extend((2..8).map(|n| user(&format!("u{n}"), &format!("a{}", n - 1), "more")));
    all.push(user("u9", "a0", "another way"));
    assert!(read(&all).withdrawn.is_empty());
    // Roots have no parent in common.
    assert!(read(&[user("u1", "", "one"), user("u2", "", "two")]).withdrawn.is_empty());
}

#[test]
fn a_copy_of_the_talk_in_the_same_file_counts_once() {
    let talk: Vec<String> = (1..5)
        .flat_map(|n| {
            [
                user(&format!("u{n}"), &format!("a{}", n - 1), "ask"),
                reply(&format!("a{n}"), &format!("m{n}"), "tell"),
            ]
        })
        .collect();
    let mut all = [talk.clone(), talk].concat();
    all.extend([reply("a9", "m9", "goes on"), user("u9", "a9", "anew"), reply("a10", "m10", "yes")]);
    let mut want = ["> ask", "tell"].repeat(4);
    want.extend(["goes on", "> anew", "yes"]);
    check(&all, &want);
    // Also where it has prompts without an id.
    let queued =
        r#"{"type":"attachment","sessionId":"s1","attachment":{"type":"queued_command","prompt":"also"}}"#;
    let talk = [user("u1", "", "ask"), queued.into(), reply("a1", "m1", "tell"), user("u2", "a1", "on")];
    let all = [talk.to_vec(), talk[..3].to_vec(), vec![user("u3", "u2", "anew")]].concat();
    check(&all, &["> ask", "> also (Queued)", "tell", "> on", "> anew"]);
}

#[test]
fn a_compaction_keeps_its_summary_and_is_no_prompt() {
    let summary = "This session is being continued from a previous conversation that ran out of context. The summary below covers the earlier portion of the conversation.\n\nAnalysis:\nLet me see.\n\nSummary:\n1. We fixed it.";
    let boundary = line(
        "system",
        "c1",
        "",
        r#""subtype":"compact_boundary","content":"Conversation compacted","logicalParentUuid":"a1""#,
    );
    let text = serde_json::to_string(summary).expect("a string");
    let summary_line = line(
        "user",
        "c2",
        "c1",
        &format!(r#""isCompactSummary":true,"message":{{"role":"user","content":{text}}}"#),
    );
    let all = [user("u1", "", "go"), reply("a1", "m1", "yes"), boundary.clone(), summary_line.clone()];
    check(&all, &["> go", "yes", "compaction 1. We fixed it."]);
    assert_eq!(read(&all).session.parent, None, "it follows itself");
    let other = read(&[boundary, summary_line, user("u2", "c2", "go on")]);
    let parent = Parent { kind: ParentKind::Compaction, session: None, turn: Some("a1".into()) };
    assert_eq!(other.session.parent, Some(parent), "the talk before it stands in another file");
}

#[test]
fn sub_agents_have_a_name_of_their_own() {
    let sidechain = |agent: &str| {
        user("u1", "", "explore")
            .replace(r#""isSidechain":false"#, &format!(r#""isSidechain":true,"agentId":"{agent}""#))
    };
    let batch = read(&[sidechain("a881341")]);
    assert_eq!(batch.session.id, "s1/a881341");
    assert_eq!(batch.session.parent.as_ref().map(|parent| parent.kind), Some(ParentKind::SubAgent));
    assert_eq!(rendered(&batch), ["> explore (Delegated)"]);
    assert!(
        read(&[sidechain("acompact-fffbd0")]).exchanges.is_empty(),
        "the host's own agents read the talk again"
    );
    // In old transcripts it writes into its parent's file: its calls count, its words do not.
    let inline = |line: String| line.replace(r#""isSidechain":false"#, r#""isSidechain":true"#);
    let work = inline(blocks(
        "x2",
        "m9",
        &format!(
            r#"{{"type":"text","text":"I am a sub-agent"}},{}"#,
            tool("t9", "Write", r#"{"file_path":"/w/z"}"#)
        ),
    ));
    let all = [
        user("u1", "", "go"),
        inline(user("x1", "", "sub-task")),
        work,
        answers("x3", &answer("t9", "ok", false)),
        reply("a1", "m1", "done"),
    ];
    check(&all, &["> go", "edit /w/z = ok by a sub-agent", "done"]);
}

#[test]
fn sessions_of_an_sdk_are_marked_as_without_a_person() {
    let sdk = user("u1", "", "go").replace(r#""type":"user""#, r#""type":"user","entrypoint":"sdk-py""#);
    assert!(read(&[sdk]).session.automated);
    let typed = user("u1", "", "go")
        .replace(r#""type":"user""#, r#""type":"user","entrypoint":"cli","promptSource":"typed""#);
    assert!(!read(&[typed]).session.automated);
}

#[test]
fn a_session_that_goes_on_in_another_file_names_its_parent() {
    let bytes = lines([user("u1", "", "old").as_str()]);
    let state = cerebro_transcript::State::new(Agent::ClaudeCode, "s2");
    let session = cerebro_transcript::read(&bytes, &state).session;
    assert_eq!(session.id, "s2", "the file's name is the session's");
    assert_eq!(
        session.parent.map(|parent| (parent.kind, parent.session)),
        Some((ParentKind::Resume, Some("s1".into())))
    );
}

#[test]
fn an_accepted_plan_names_the_session_that_made_it() {
    let id = "11111111-2222-3333-4444-555555555555";
    let text = format!(
        "Implement the following plan:\n\n# Plan\n\nIf you need specific details, read the full transcript at: /h/.claude/projects/x/{id}.jsonl"
    );
    let plan = user("u1", "", &text).replace(r#""type":"user""#, r##""type":"user","planContent":"# Plan""##);
    let session = read(&[plan]).session;
    assert_eq!(
        session.parent.map(|parent| (parent.kind, parent.session)),
        Some((ParentKind::Plan, Some(id.into())))
    );
}

#[test]
fn files_that_the_host_keeps_copies_of_were_edited() {
    let snapshot = |files: &str| {
        format!(
            r#"{{"type":"file-history-snapshot","messageId":"u1","snapshot":{{"messageId":"u1","trackedFileBackups":{{{files}}}}},"isSnapshotUpdate":false}}"#
        )
    };
    check(
        &[
            user("u1", "", "go"),
            snapshot(r#""src/a.rs":{"backupFileName":"x"}"#),
            user("u2", "", "more"),
            snapshot(r#""src/a.rs":{"backupFileName":"x"},"b.rs":{}"#),
        ],
        &["> go", "touched src/a.rs", "> more", "touched b.rs"],
    );
    // A session that goes on in a new file begins with the files of the old one.
    check(
        &[
            snapshot(r#""src/a.rs":{"backupFileName":"x"}"#),
            user("u1", "", "go"),
            snapshot(r#""src/a.rs":{"backupFileName":"x"},"b.rs":{}"#),
        ],
        &["> go", "touched src/a.rs", "touched b.rs"],
    );
}

#[test]
fn titles_of_other_sessions_are_not_this_ones() {
    let title = |leaf: &str| format!(r#"{{"type":"summary","summary":"A title","leafUuid":"{leaf}"}}"#);
    assert_eq!(read(&[title("elsewhere"), user("u1", "", "go")]).session.title, None);
    assert_eq!(read(&[user("u1", "", "go"), title("u1")]).session.title.as_deref(), Some("A title"));
    let named = r#"{"type":"custom-title","customTitle":"Mine","sessionId":"s1"}"#.to_owned();
    assert_eq!(read(&[user("u1", "", "go"), title("u1"), named]).session.title.as_deref(), Some("Mine"));
}

#[test]
fn shell_commands_of_the_person_are_commands() {
    check(
        &[
            user("u1", "", "go"),
            user("b1", "u1", "<bash-input>git status</bash-input>"),
            user("b2", "b1", "<bash-stdout>clean</bash-stdout><bash-stderr></bash-stderr>"),
        ],
        &["> go", "$ git status = ok clean"],
    );
}

#[test]
fn a_failed_service_is_no_reply() {
    let failed = reply("a1", "m1", "API Error: 500")
        .replace(r#""type":"assistant""#, r#""type":"assistant","isApiErrorMessage":true"#);
    check(&[user("u1", "", "go"), failed], &["> go", "service failed"]);
}

#[test]
fn unknown_records_are_counted_and_known_noise_is_not() {
    let batch = read(&[
        user("u1", "", "go"),
        r#"{"type":"progress","data":{"type":"bash_progress","output":"x"}}"#.into(),
        r#"{"type":"queue-operation","operation":"enqueue"}"#.into(),
        r#"{"type":"brand-new","x":1}"#.into(),
        r#"{"type":"brand-new","x":2}"#.into(),
        r#"{"no":"type"}"#.into(),
        "not json".into(),
        reply("a1", "m1", "yes"),
        r#"{"type":"pr-link","prUrl":"https://x/pull/1","timestamp":"2026-02-01T10:00:00Z"}"#.into(),
    ]);
    assert_eq!(rendered(&batch), ["> go", "yes", "pull request https://x/pull/1"]);
    let unknown: Vec<(&str, u64)> =
        batch.counts.unknown.iter().map(|(name, count)| (name.as_str(), *count)).collect();
    assert_eq!(unknown, [("(none)", 1), ("brand-new", 2)]);
    assert_eq!((batch.counts.records, batch.counts.malformed), (9, 1));
}

#[test]
fn odd_fields_do_not_lose_their_line() {
    let odd = line(
        "user",
        "u1",
        "",
        r#""isMeta":"no","entrypoint":7,"message":{"role":"user","content":"go","id":{}}"#,
    );
    let half = reply("a1", "m1", "cut").replace("cut", r"cut \ud83d");
    check(&[odd, half], &["> go", "cut \u{fffd}"]);
}

#[test]
fn what_the_host_says_no_person_wrote_is_no_prompt() {
    let of = |uuid: &str, text: &str, kind: &str| {
        let rest = format!(r#""origin":{{"kind":"{kind}"}},"message":{{"role":"user","content":"{text}"}}"#);
        line("user", uuid, "", &rest)
    };
    let queued = r#""attachment":{"type":"queued_command","prompt":"report","commandMode":"prompt","origin":{"kind":"peer"}}"#;
    check(
        &[
            of("u1", "fix the parser", "human"),
            reply("a1", "m1", "Done."),
            of("u2", "The task is over.", "task-notification"),
            reply("a2", "m2", "I read it."),
            of("u3", "Do it otherwise.", "peer"),
            line("attachment", "q1", "a2", queued),
            user("u4", "a2", "thanks"),
        ],
        &["> fix the parser", "Done.", "I read it.", "> thanks"],
    );
}
