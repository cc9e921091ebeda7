//! OpenCode's rows.

use cerebro_transcript::opencode::{EntryRow, MessageRow, PartRow, SessionRow, read_v1, read_v2};
use cerebro_transcript::turn::ParentKind;

use super::support::told;

fn session() -> SessionRow {
    SessionRow {
        id: "ses_1".into(),
        directory: Some("/w".into()),
        title: Some("Fix it".into()),
        ..SessionRow::default()
    }
}

fn message(id: &str, data: &str) -> MessageRow {
    MessageRow { id: id.into(), created_ms: Some(1_768_307_088_294), data: data.into() }
}

fn part(message: &str, data: &str) -> PartRow {
    PartRow { message: message.into(), data: data.into() }
}

fn entry(id: &str, kind: &str, data: &str) -> EntryRow {
    EntryRow { id: id.into(), kind: kind.into(), created_ms: Some(1_768_307_088_294), data: data.into() }
}

fn messages() -> Vec<MessageRow> {
    vec![
        message("m1", r#"{"role":"user"}"#),
        message("m2", r#"{"role":"assistant","modelID":"big","path":{"cwd":"/w"}}"#),
        message("m3", r#"{"role":"user"}"#),
        message("m4", r#"{"role":"assistant","error":{"name":"MessageAbortedError"}}"#),
    ]
}

fn parts() -> Vec<PartRow> {
    vec![
        part("m1", r#"{"type":"text","text":"fix it"}"#),
        part("m1", r#"{"type":"text","text":"Called the Read tool with …","synthetic":true}"#),
        part("m2", r#"{"type":"step-start"}"#),
        part("m2", r#"{"type":"reasoning","text":"never kept"}"#),
        part(
            "m2",
            r#"{"type":"tool","tool":"bash","callID":"k1","state":{"status":"completed","input":{"command":"make"},"output":"boom","metadata":{"exit":2}}}"#,
        ),
        part(
            "m2",
            r#"{"type":"tool","tool":"edit","callID":"k2","state":{"status":"completed","input":{"filePath":"/w/a.rs","newString":"x"},"output":"ok"}}"#,
        ),
        part(
            "m2",
            r#"{"type":"tool","tool":"invalid","callID":"k3","state":{"status":"completed","input":{"tool":"x"},"output":"no such tool"}}"#,
        ),
        part("m2", r#"{"type":"patch","files":["/w/a.rs"]}"#),
        part("m2", r#"{"type":"text","text":"Done."}"#),
        part("m3", r#"{"type":"text","text":"more"}"#),
        part("m4", r#"{"type":"brand-new"}"#),
    ]
}

#[test]
fn a_session_of_version_1_is_messages_and_parts() {
    let batch = read_v1(&session(), &messages(), &parts());
    let mut got = told(&batch);
    let invalid = got.remove(3);
    assert!(invalid.starts_with("invalid") && invalid.ends_with("failed -1 no such tool"), "{invalid}");
    let want = [
        "> fix it", "$ make = failed 2 boom", "edit /w/a.rs = ok", "Done.", "touched /w/a.rs", "> more",
        "interrupted",
    ];
    assert_eq!(got, want);
    assert_eq!((batch.session.title.as_deref(), batch.session.cwd.as_deref()), (Some("Fix it"), Some("/w")));
    assert_eq!(batch.counts.unknown.keys().collect::<Vec<_>>(), ["part brand-new"]);
}

#[test]
fn what_was_reverted_is_left_out() {
    let reverted = SessionRow { revert: Some(r#"{"messageID":"m3"}"#.into()), ..session() };
    assert!(!told(&read_v1(&reverted, &messages(), &parts())).contains(&"> more".to_owned()));
}

#[test]
fn a_session_of_version_2_is_entries() {
    let entries = [
        entry("msg_1", "user", r#"{"text":"fix it","time":{"created":1}}"#),
        entry("msg_2", "synthetic", r#"{"text":"not typed"}"#),
        entry(
            "msg_3",
            "assistant",
            r#"{"agent":"build","model":{"id":"big","providerID":"p"},"content":[{"type":"reasoning","text":"never kept"},{"type":"text","text":"Looking."},
              {"type":"tool","id":"k1","name":"bash","state":{"status":"completed","input":{"command":"make"},"content":[{"type":"text","text":"boom"}],"metadata":{"exit":2}}},
              {"type":"tool","id":"k2","name":"edit","state":{"status":"error","input":{"filePath":"a"},"error":{"type":"x","message":"no"},"content":[{"type":"text","text":"no"}]}},
              {"type":"tool","id":"k3","name":"bash","state":{"status":"streaming","input":"{\"com"}}]}"#,
        ),
        entry(
            "msg_4",
            "shell",
            r#"{"shellID":"s","command":"ls","status":"exited","exit":0,"output":{"output":"a.rs"}}"#,
        ),
        entry(
            "msg_5",
            "compaction",
            r#"{"status":"completed","reason":"auto","summary":"so far","recent":""}"#,
        ),
        entry("msg_6", "compaction", r#"{"status":"failed","reason":"auto","error":{}}"#),
        entry("msg_7", "idle", r#"{"outcome":"interrupted"}"#),
        entry("msg_8", "brand-new", "{}"),
        entry("msg_9", "user", "not json"),
    ];
    let batch = read_v2(&session(), &entries);
    let want = [
        "> fix it",
        "Looking.",
        "$ make = failed 2 boom",
        r#"edit a = failed -1 {"type":"x","message":"no"}"#,
        "$  = …",
        "$ ls = ok a.rs",
        "compaction so far",
        "interrupted",
    ];
    assert_eq!(told(&batch), want);
    assert_eq!((batch.session.model.as_deref(), batch.counts.malformed), (Some("big"), 1));
    assert_eq!(batch.counts.unknown.keys().collect::<Vec<_>>(), ["brand-new"]);
}

#[test]
fn lineage_and_default_titles_are_known() {
    let child = SessionRow {
        parent: Some("ses_0".into()),
        title: Some("Child session - 2026-03-22T10:00:00.000Z".into()),
        ..session()
    };
    let batch = read_v2(&child, &[entry("m", "user", r#"{"text":"explore"}"#)]);
    assert_eq!(batch.session.parent.as_ref().map(|parent| parent.kind), Some(ParentKind::SubAgent));
    assert_eq!((told(&batch), batch.session.title), (vec!["> explore (Delegated)".to_owned()], None));
    let fork = SessionRow { forked_from: Some("ses_0".into()), ..session() };
    assert_eq!(read_v2(&fork, &[]).session.parent.map(|parent| parent.kind), Some(ParentKind::Fork));
}
