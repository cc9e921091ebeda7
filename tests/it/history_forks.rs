//! Sessions with the same turns, or the same ids of turns: copies are told from what only looks like them.

use std::fs;

use crate::history_import::assert_like_a_clean_import;
use crate::support::transcripts::{Claude, claude_file, codex, codex_file};
use crate::support::{Home, Value, json};

#[test]
fn sessions_of_codex_whose_turns_have_the_same_numbers_are_all_kept() {
    let home = Home::new();
    let numbered = |session: &str, turns: &[(&str, &str)]| {
        let text = codex(session, &home.work(), turns);
        let text = text.replace(&format!("\"turn_id\":\"{session}-"), "\"turn_id\":\"external-import-turn-");
        fs::write(codex_file(&home, session), text).unwrap();
    };
    numbered("c-1", &[("Mend the auk", "Mended."), ("And the murre", "Done.")]);
    numbered("c-2", &[("Write of the wombat", "Written."), ("Send it", "Sent.")]);
    home.take_in();
    assert_eq!(home.past_titles("c-1"), ["Mend the auk", "And the murre"]);
    assert_eq!(home.past_titles("c-2"), ["Write of the wombat", "Send it"]);
    home.run(&["history", "forget", "--session", "c-1", "--yes"]).success();
    numbered("c-3", &[("Ask of the emu", "It runs.")]);
    home.take_in();
    assert_eq!(home.past_titles("c-3"), ["Ask of the emu"]);
    assert_eq!(home.past_titles("c-2").len(), 2);
}

#[test]
fn sessions_whose_turns_have_the_same_short_ids_are_all_kept() {
    let home = Home::new();
    // Of each agent, the second says something else at the same time, and the third says the same at another time.
    let said = [("Mend the auk", 1), ("Mend the tern", 1), ("Mend the auk", 3)];
    let mut sessions = Vec::new();
    for (n, (prompt, minute)) in said.into_iter().enumerate() {
        let at = [minute, minute + 1].map(|minute| format!("2026-10-02T03:{minute:02}:00Z"));
        let ids = ["claude", "copilot", "gemini", "qwen"].map(|agent| format!("{agent}-{n}"));
        let lines = |lines: &[Value]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        let claude = ["user", "assistant"].map(|kind| {
            let (id, at, text) =
                if kind == "user" { ("u1", &at[0], prompt) } else { ("u2", &at[1], "Mended.") };
            json!({ "type": kind, "uuid": id, "sessionId": ids[0], "cwd": "/work", "timestamp": at,
                    "message": { "role": kind, "content": text } })
        });
        home.write(&format!(".claude/projects/-work/{}.jsonl", ids[0]), &lines(&claude));
        let copilot = [
            json!({ "type": "session.start", "id": "u0", "timestamp": at[0],
                    "data": { "sessionId": ids[1], "context": { "cwd": "/work" } } }),
            json!({ "type": "user.message", "id": "u1", "timestamp": at[0], "data": { "content": prompt } }),
            json!({ "type": "assistant.message", "id": "u2", "timestamp": at[1],
                    "data": { "content": "Mended.", "messageId": "m" } }),
        ];
        home.write(&format!(".copilot/session-state/{}/events.jsonl", ids[1]), &lines(&copilot));
        let gemini = [
            json!({ "sessionId": ids[2], "projectHash": "x", "startTime": at[0], "kind": "main" }),
            json!({ "id": "u1", "timestamp": at[0], "type": "user", "content": [{ "text": prompt }] }),
            json!({ "id": "u2", "timestamp": at[1], "type": "gemini", "content": "Mended." }),
        ];
        home.write(&format!(".gemini/tmp/app/chats/session-{}.jsonl", ids[2]), &lines(&gemini));
        let qwen = [("u1", &at[0], "user", "user", prompt), ("u2", &at[1], "assistant", "model", "Mended.")];
        let qwen = qwen.map(|(id, at, kind, role, text)| {
            json!({ "uuid": id, "sessionId": ids[3], "cwd": "/work", "timestamp": at, "type": kind,
                    "message": { "role": role, "parts": [{ "text": text }] } })
        });
        home.write(&format!(".qwen/projects/-work/chats/{}.jsonl", ids[3]), &lines(&qwen));
        sessions.extend(ids.map(|id| (id, prompt)));
    }
    home.take_in();
    for (session, prompt) in &sessions {
        assert_eq!(home.past_titles(session), [*prompt], "{session}");
    }
}

#[test]
fn a_fork_keeps_only_what_is_its_own() {
    let home = Home::new();
    let original = Claude::new("s-1", &home.work()).turn("One", "First.").turn("Two", "Second.");
    original.write(&home);
    home.take_in();
    let fork = original.forked("s-2").turn("Three", "In the fork only.");
    fork.write(&home);
    home.take_in();
    assert_eq!(home.past_titles("s-1"), ["One", "Two"]);
    assert_eq!(home.past_titles("s-2"), ["Three"]);
    fork.turn("Four", "There too.").write(&home);
    original.turn("Five", "In the original.").write(&home);
    home.take_in();
    assert_eq!(home.past_titles("s-1"), ["One", "Two", "Five"]);
    assert_eq!(home.past_titles("s-2"), ["Three", "Four"]);
}

#[test]
fn a_fork_that_is_read_again_keeps_no_copy_behind_an_exchange_that_was_forgotten() {
    for forgotten in ["One of the auk", "Two of the emu"] {
        let home = Home::new();
        let original = Claude::new("s-1", &home.work()).turn("One of the auk", "First.");
        let original = original.turn("Two of the emu", "Second.").turn("Three", "Third.").turn("Four", "");
        original.write(&home);
        let fork = original.forked("s-2").turn("Five", "In the fork only.");
        fork.write(&home);
        home.take_in();
        home.run(&["history", "forget", "--text", forgotten, "--yes"]).success();
        // It is written anew, so it is read from its beginning.
        let again = fork.turn("Six", "There too.").text().replacen("\"cwd\"", " \"cwd\"", 1);
        fs::write(claude_file(&home, "s-2"), again).unwrap();
        home.take_in();
        let left = ["One of the auk", "Two of the emu", "Three", "Four"];
        let left: Vec<&str> = left.into_iter().filter(|title| *title != forgotten).collect();
        assert_eq!(home.past_titles("s-1"), left);
        assert_eq!(home.past_titles("s-2"), ["Five", "Six"], "without {forgotten}");
    }
}

#[test]
fn a_fork_that_is_read_while_its_copy_is_written_gives_the_same() {
    let home = Home::new();
    let turns = Claude::new("s-1", &home.work()).turn("One", "First.").turn("Two", "Second.");
    let begun = turns.forked("s-2").text();
    let original = turns.call("Bash", json!({"command": "make tern"}), "ok", false);
    original.write(&home);
    home.take_in();
    // The second exchange is there only in part, so it could still go on differently.
    fs::write(claude_file(&home, "s-2"), begun).unwrap();
    home.take_in();
    original.forked("s-2").turn("Three", "In the fork only.").write(&home);
    home.take_in();
    assert_eq!(home.past_titles("s-1"), ["One", "Two"]);
    assert_eq!(home.past_titles("s-2"), ["Three"]);
    assert_like_a_clean_import(&home);
    assert_eq!(home.run(&["doctor"]).code(), 0);
}

#[test]
fn a_fork_that_is_read_before_its_original_gives_the_same() {
    let home = Home::new();
    let original = Claude::new("s-b", &home.work()).turn("One", "First.").turn("Two", "Second.");
    let fork = original.forked("s-a").turn("Three", "In the fork only.");
    let third = fork.forked("s-0").turn("Four", "In the fork of the fork.");
    for session in [&third, &fork, &original] {
        session.write(&home);
        home.take_in();
    }
    assert_eq!(home.past_titles("s-b"), ["One", "Two"]);
    assert_eq!(home.past_titles("s-a"), ["Three"]);
    assert_eq!(home.past_titles("s-0"), ["Four"]);
    assert_like_a_clean_import(&home);
    // Each has one exchange of its own now, and all three said it at the same time.
    fork.turn("Five", "There too.").write(&home);
    original.turn("Six", "In the original.").write(&home);
    home.take_in();
    assert_like_a_clean_import(&home);
    assert_eq!(home.run(&["doctor"]).code(), 0);
}

fn parent(home: &Home, session: &str) -> Value {
    home.json(&["history", "show", session])["parent"].clone()
}

#[test]
fn a_parent_is_corrected_when_another_session_turns_out_to_be_it() {
    let home = Home::new();
    let original = Claude::new("s-9", &home.work()).turn("One", "First.").turn("Two", "Second.");
    let first = original.forked("s-1").turn("Three", "In the first fork.");
    let second = original.forked("s-2").turn("Four", "In the second fork.");
    let third = first.forked("s-3").turn("Five", "In a fork of the first.");
    for session in [&first, &second, &third, &original] {
        session.write(&home);
        home.take_in();
    }
    assert_eq!(home.past_titles("s-9"), ["One", "Two"]);
    assert_eq!(home.past_titles("s-2"), ["Four"]);
    assert_eq!((parent(&home, "s-9"), parent(&home, "s-1")), (Value::Null, json!("s-9")));
    assert_eq!((parent(&home, "s-2"), parent(&home, "s-3")), (json!("s-9"), json!("s-1")));
    assert_like_a_clean_import(&home);
    // A file that is written anew with other contents is no fork.
    Claude::new("s-2", &home.work()).turn("Six", "Something else.").write(&home);
    home.take_in();
    assert_eq!(home.past_titles("s-2"), ["Six"]);
    assert_eq!(parent(&home, "s-2"), Value::Null);
    assert_eq!(home.run(&["doctor"]).code(), 0);
}

#[test]
fn a_fork_of_a_fork_with_numbered_turns_keeps_only_what_is_its_own() {
    let home = Home::new();
    // Each begins with its own head and those of the sessions that it was copied from.
    let rollout = |chain: &[&str], turns: &[&str]| {
        let line = |kind: &str, payload: Value| {
            format!(
                "{}\n",
                json!({ "timestamp": "2026-10-02T03:04:05.006Z", "type": kind, "payload": payload })
            )
        };
        let heads = chain.iter().enumerate().map(|(at, session)| {
            json!({ "id": session, "cwd": home.work(), "source": "cli", "forked_from_id": chain.get(at + 1) })
        });
        let mut text: String = heads.map(|head| line("session_meta", head)).collect();
        for (n, words) in turns.iter().enumerate() {
            let turn = json!({ "type": "task_started", "turn_id": format!("external-import-turn-{n}") });
            text += &line("event_msg", turn);
            text += &line("event_msg", json!({ "type": "user_message", "message": words }));
        }
        fs::write(codex_file(&home, chain[0]), text).unwrap();
    };
    rollout(&["c-3", "c-2", "c-1"], &["One", "Two", "Three", "Four"]);
    home.take_in();
    rollout(&["c-2", "c-1"], &["One", "Two", "Three"]);
    home.take_in();
    rollout(&["c-1"], &["One", "Two"]);
    home.take_in();
    assert_eq!(home.past_titles("c-1"), ["One", "Two"]);
    assert_eq!(home.past_titles("c-2"), ["Three"]);
    assert_eq!(home.past_titles("c-3"), ["Four"]);
    assert_eq!((parent(&home, "c-3"), parent(&home, "c-2")), (json!("c-2"), json!("c-1")));
    assert_like_a_clean_import(&home);
}
