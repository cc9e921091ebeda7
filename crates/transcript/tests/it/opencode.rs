//! Rows: OpenCode's, and those of Cursor's IDE.

use cerebro_transcript::opencode::{EntryRow, MessageRow, PartRow, SessionRow, read_v1, read_v2};
use cerebro_transcript::{
    cursor_ide::{self, BubbleRow},
    facts,
    turn::ParentKind,
};
use proptest::prelude::*;

use super::support::rendered;

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
    let mut got = rendered(&batch);
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
    assert!(!rendered(&read_v1(&reverted, &messages(), &parts())).contains(&"> more".to_owned()));
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
              {"type":"tool","id":"k4","name":"write","state":{"status":"error","input":{"filePath":"b"},"error":{"type":"permission.rejected","message":"The user rejected permission to use this specific tool call with the following feedback: keep it"}}},
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
        "edit a = failed -1 no",
        "edit b = refused keep it",
        "$  = …",
        "$ ls = ok a.rs",
        "compaction so far",
        "interrupted",
    ];
    assert_eq!(rendered(&batch), want);
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
    assert_eq!((rendered(&batch), batch.session.title), (vec!["> explore (Delegated)".to_owned()], None));
    let fork = SessionRow { forked_from: Some("ses_0".into()), ..session() };
    assert_eq!(read_v2(&fork, &[]).session.parent.map(|parent| parent.kind), Some(ParentKind::Fork));
}

#[test]
fn a_composer_of_cursors_ide_names_its_bubbles_in_order() {
    let row = |id: &str, data: &str| BubbleRow { id: id.to_owned(), data: data.to_owned() };
    let data = r#"{"name":"Skuas","createdAt":1768307088294,"fullConversationHeadersOnly":
        [{"bubbleId":"b1","type":1},{"bubbleId":"b2","type":2},{"bubbleId":"b3","type":2},{"bubbleId":"gone","type":2}]}"#;
    let rows = [
        row("b2", r#"{"bubbleId":"b2","type":2,"text":"Looking.","workspaceProjectDir":"file:///w"}"#),
        row("b1", r#"{"bubbleId":"b1","type":1,"text":"mend it","createdAt":"2026-01-13T12:24:48Z"}"#),
        row(
            "b3",
            r#"{"bubbleId":"b3","type":2,"toolFormerData":{"name":"run_terminal_cmd","toolCallId":"k","status":"error",
            "rawArgs":"{\"command\":\"make\"}","result":"boom"}}"#,
        ),
        row("unnamed", r#"{"type":1,"text":"of a draft"}"#),
    ];
    let batch = cursor_ide::read("c1", data, &rows);
    assert_eq!(rendered(&batch), ["> mend it", "Looking.", "$ make = failed -1 boom"]);
    assert_eq!((batch.session.title.as_deref(), batch.session.cwd.as_deref()), (Some("Skuas"), Some("/w")));
    let older = r#"{"conversation":[{"type":1,"text":"mend it"},{"type":7}]}"#;
    let batch = cursor_ide::read("c2", older, &[]);
    assert_eq!((rendered(&batch), batch.counts.unknown.len()), (vec!["> mend it".to_owned()], 1));
    assert_eq!(cursor_ide::read("c3", "not json", &[]).counts.malformed, 1);
}

/// Rows as OpenCode writes them, with some of their bytes replaced.
fn mangled(rows: &[&str], edits: &[(prop::sample::Index, prop::sample::Index, char)]) -> Vec<String> {
    let mut rows: Vec<String> = rows.iter().map(|row| (*row).to_owned()).collect();
    for (row, index, letter) in edits {
        let row = row.index(rows.len());
        let mut letters: Vec<char> = rows[row].chars().collect();
        if !letters.is_empty() {
            let index = index.index(letters.len());
            letters[index] = *letter;
            rows[row] = letters.into_iter().collect();
        }
    }
    rows
}

proptest! {
    #[test]
    fn no_mangled_row_makes_a_reader_panic(
        edits in proptest::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<char>()), 0..20),
        any_text in ".{0,200}",
        order in proptest::collection::vec(any::<prop::sample::Index>(), 1..20),
    ) {
        let (all_messages, all_parts) = (messages(), parts());
        let data: Vec<&str> = all_parts.iter().map(|part| part.data.as_str()).chain([any_text.as_str()]).collect();
        let data = mangled(&data, &edits);
        let parts: Vec<PartRow> = order
            .iter()
            .map(|index| part(&all_messages[index.index(all_messages.len())].id, &data[index.index(data.len())]))
            .collect();
        let row = SessionRow { revert: Some(any_text.clone()), directory: Some(any_text.clone()), ..session() };
        let _ = facts::of(&read_v1(&row, &all_messages, &parts).exchanges);
        let kinds = ["user", "assistant", "synthetic", "shell", "compaction", "idle", any_text.as_str()];
        let entries: Vec<EntryRow> = order
            .iter()
            .enumerate()
            .map(|(n, index)| entry(&format!("e{n}"), kinds[index.index(kinds.len())], &data[index.index(data.len())]))
            .collect();
        let _ = facts::of(&read_v2(&row, &entries).exchanges);
        let bubbles: Vec<BubbleRow> =
            data.iter().map(|data| BubbleRow { id: "b".to_owned(), data: data.clone() }).collect();
        for composer in [any_text.as_str(), data[0].as_str(), r#"{"fullConversationHeadersOnly":[{"bubbleId":"b"}]}"#] {
            let _ = facts::of(&cursor_ide::read("c", composer, &bubbles).exchanges);
        }
    }
}
