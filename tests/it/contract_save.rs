//! `mem_save`: created, updated, duplicate, unchanged, and nothing dropped.

use crate::support::{Agent, Home, Reply, assert_keys, json};

const MUST: [&str; 4] = ["id", "outcome", "revision", "project"];
const MAY: [&str; 4] = ["topic_key", "suggested_topic_key", "replaced", "similar"];

fn is_memory_id(id: &str) -> bool {
    id.len() == 12
        && id.starts_with(|c: char| c.is_ascii_lowercase())
        && id.bytes().all(|b| b.is_ascii_lowercase() || (b'2'..=b'7').contains(&b))
}

#[test]
fn a_new_memory_is_created_with_defaults() {
    let home = Home::new();
    let mut agent = home.agent();
    let saved = agent.ok("mem_save", json!({"title": "Chose RocksDB", "content": "Because it is embedded."}));
    assert_keys(&saved, &MUST, &MAY);
    assert_eq!(saved["outcome"], "created", "{saved:?}");
    assert_eq!(saved["revision"], 1, "{saved:?}");
    assert_eq!(saved["project"], "demo", "{saved:?}");
    assert!(saved["topic_key"].is_null() && saved["replaced"].is_null(), "{saved:?}");
    assert!(saved.str("suggested_topic_key").contains('/'), "{saved:?}");
    assert!(is_memory_id(saved.str("id")), "{saved:?}");
    saved.assert_in_both(&[saved.str("id"), "created", "demo", saved.str("suggested_topic_key")]);

    let whole = agent.get(saved.str("id"));
    assert_eq!(whole["title"], "Chose RocksDB", "{whole:?}");
    assert_eq!(whole["content"], "Because it is embedded.", "{whole:?}");
    assert_eq!(whole["type"], "manual", "{whole:?}");
    assert_eq!(whole["scope"], "project", "{whole:?}");
    assert_eq!(whole["project"], "demo", "{whole:?}");
    assert_eq!(whole["revision"], 1, "{whole:?}");
}

#[test]
fn every_field_is_kept_as_given() {
    let home = Home::new();
    let mut agent = home.agent();
    let content = "  Line one\n\tindented — “quoted” 😀\n\nend";
    let saved = agent.ok(
        "mem_save",
        json!({
            "title": "Fix: N+1 query", "content": content, "type": "bugfix", "project": "other/place",
            "scope": "project", "topic_key": "bug/n-plus-one", "tags": ["db", "speed"], "session_id": "sitting 1",
        }),
    );
    assert_eq!(saved["topic_key"], "bug/n-plus-one", "{saved:?}");
    assert!(saved["suggested_topic_key"].is_null(), "{saved:?}");
    let whole = agent.get(saved.str("id"));
    for (key, want) in [
        ("title", json!("Fix: N+1 query")),
        ("content", json!(content)),
        ("type", json!("bugfix")),
        ("project", json!("other/place")),
        ("topic_key", json!("bug/n-plus-one")),
        ("tags", json!(["db", "speed"])),
    ] {
        assert_eq!(whole[key], want, "{key} of {whole:?}");
    }
    assert_eq!(whole.session(), "sitting 1");
}

#[test]
fn ids_are_random_not_sequential() {
    let home = Home::new();
    let mut agent = home.agent();
    let ids: Vec<String> =
        (0..8).map(|n| agent.save(&format!("Note number {n}"), &format!("Content number {n}."))).collect();
    for id in &ids {
        assert!(is_memory_id(id), "{ids:?}");
    }
    for pair in ids.windows(2) {
        assert_ne!(pair[0][..4], pair[1][..4], "a common beginning: {ids:?}");
    }
}

fn save_topic(agent: &mut Agent, title: &str, content: &str) -> Reply {
    agent.ok("mem_save", json!({"title": title, "content": content, "topic_key": "architecture/auth"}))
}

#[test]
fn a_topic_key_revises_its_memory_and_keeps_the_old_text() {
    let home = Home::new();
    let mut first = home.pump().project("demo").client("agent-one").start();
    let created = save_topic(&mut first, "Auth by cookie", "Cookies hold the session.");
    assert_eq!(created["outcome"], "created", "{created:?}");

    let mut second = home.pump().project("demo").client("agent-two").start();
    let updated = save_topic(&mut second, "Auth by token", "Tokens replaced the cookies.");
    assert_keys(&updated, &MUST, &MAY);
    assert_eq!(updated["id"], created["id"], "{updated:?}");
    assert_eq!(updated["outcome"], "updated", "{updated:?}");
    assert_eq!(updated["revision"], 2, "{updated:?}");
    assert_eq!(updated["replaced"]["title"], "Auth by cookie", "{updated:?}");
    assert_eq!(updated["replaced"]["agent"], "agent-one", "{updated:?}");
    assert!(updated["replaced"]["at"].is_string(), "{updated:?}");
    updated.assert_in_both(&["Auth by cookie", "agent-one"]);

    let whole = second.ok("mem_get_observation", json!({"id": created["id"], "history": true}));
    assert_eq!(whole["content"], "Tokens replaced the cookies.", "{whole:?}");
    whole.assert_in_both(&["Cookies hold the session.", "Auth by cookie"]);
}

#[test]
fn an_equal_save_under_a_topic_key_changes_nothing() {
    let home = Home::new();
    let mut agent = home.agent();
    let created = save_topic(&mut agent, "Auth by cookie", "Cookies hold the session.");
    let again = save_topic(&mut agent, "Auth by cookie", "Cookies hold the session.");
    assert_eq!(again["outcome"], "unchanged", "{again:?}");
    assert_eq!(again["id"], created["id"], "{again:?}");
    assert_eq!(again["revision"], 1, "{again:?}");
    assert!(again["replaced"].is_null(), "{again:?}");
    let retagged = agent.ok(
        "mem_save",
        json!({
            "title": "Auth by cookie", "content": "Cookies hold the session.", "topic_key": "architecture/auth",
            "tags": ["new"],
        }),
    );
    assert_eq!(retagged["outcome"], "updated", "one field differs: {retagged:?}");
}

#[test]
fn a_topic_key_belongs_to_its_project_and_scope() {
    let home = Home::new();
    let mut agent = home.agent();
    let mut save = |project: &str, scope: &str, text: &str| {
        let arguments = json!({
            "title": format!("Editor {text}"), "content": text, "topic_key": "config/editor",
            "project": project, "scope": scope,
        });
        agent.ok("mem_save", arguments)
    };
    let here = save("demo", "project", "first words");
    let there = save("elsewhere", "project", "second words");
    let mine = save("demo", "personal", "third words");
    for (reply, name) in [(&here, "here"), (&there, "there"), (&mine, "mine")] {
        assert_eq!(reply["outcome"], "created", "{name}: {reply:?}");
    }
    let mine_again = save("elsewhere", "personal", "fourth words");
    assert_eq!(mine_again["outcome"], "updated", "personal memories belong to no project: {mine_again:?}");
    assert_eq!(mine_again["id"], mine["id"], "{mine_again:?}");
}

#[test]
fn the_topic_key_of_a_deleted_memory_is_free() {
    let home = Home::new();
    let mut agent = home.agent();
    let old = save_topic(&mut agent, "Auth by cookie", "Cookies hold the session.");
    agent.ok("mem_delete", json!({"id": old["id"]}));
    let new = save_topic(&mut agent, "Auth by token", "Tokens now.");
    assert_eq!(new["outcome"], "created", "{new:?}");
    assert_ne!(new["id"], old["id"], "{new:?}");
}

#[test]
fn the_same_text_again_is_a_duplicate() {
    let home = Home::new();
    let mut agent = home.agent();
    let first =
        agent.ok("mem_save", json!({"title": "Port is 8080", "content": "The server listens on 8080."}));
    for content in ["The server listens on 8080.", "The server listens on 8080. \n\n"] {
        let again = agent.ok("mem_save", json!({"title": "Port is 8080", "content": content}));
        assert_eq!(again["outcome"], "duplicate", "{content:?}: {again:?}");
        assert_eq!(again["id"], first["id"], "{content:?}: {again:?}");
        assert_eq!(again["revision"], 1, "{content:?}: {again:?}");
    }
    let whole = agent.get(first.str("id"));
    assert_eq!(whole["duplicate_count"], 2, "{whole:?}");
    assert_eq!(agent.search("port 8080").len(), 1);
}

#[test]
fn a_duplicate_is_of_the_same_project_scope_type_and_title() {
    let home = Home::new();
    let mut agent = home.agent();
    let base = json!({"title": "Port is 8080", "content": "The server listens on 8080."});
    let mut seen = vec![agent.ok("mem_save", base.clone()).str("id").to_owned()];
    for (key, value) in
        [("project", "other"), ("scope", "personal"), ("type", "config"), ("title", "Port was 8080")]
    {
        let mut arguments = base.clone();
        arguments[key] = json!(value);
        let saved = agent.ok("mem_save", arguments);
        assert_eq!(saved["outcome"], "created", "another {key}: {saved:?}");
        assert!(!seen.contains(&saved.str("id").to_owned()), "another {key}: {saved:?}");
        seen.push(saved.str("id").to_owned());
    }
}

#[test]
fn other_content_under_the_same_title_is_never_dropped() {
    let home = Home::new();
    let mut agent = home.agent();
    let first = agent.save("Deploy notes", "Monday: rolled out version one to the north cluster.");
    let second =
        agent.ok("mem_save", json!({"title": "Deploy notes", "content": "Tuesday: rolled back, disk full."}));
    assert_eq!(second["outcome"], "created", "{second:?}");
    assert_ne!(second["id"], first, "{second:?}");
    assert!(second.ids("similar").contains(&first), "{second:?}");
    second.assert_in_both(&[&first, "Deploy notes"]);
    let found = agent.search("deploy notes rolled");
    assert!(found.contains(&first) && found.contains(&second.str("id").to_owned()), "{found:?}");
}

#[test]
fn near_identical_memories_are_named_up_to_three() {
    let home = Home::new();
    let mut agent = home.agent();
    let text = |n: usize| {
        format!(
            "The nightly job copies the ledger into the archive bucket, checks every sum twice, writes a report \
             for the auditors, removes copies older than ninety days and pages the owner when a sum differs. Run {n}"
        )
    };
    let ids: Vec<String> = (0..5).map(|n| agent.save(&format!("Nightly ledger {n}"), &text(n))).collect();
    let near = agent.ok("mem_save", json!({"title": "Archive of the ledger", "content": text(9)}));
    assert_eq!(near["outcome"], "created", "{near:?}");
    let similar = near.ids("similar");
    assert_eq!(similar.len(), 3, "{near:?}");
    assert!(similar.iter().all(|id| ids.contains(id)), "{near:?}");

    let unlike = agent
        .ok("mem_save", json!({"title": "Coffee machine", "content": "Descale it monthly with vinegar."}));
    assert!(unlike.list("similar").is_empty(), "{unlike:?}");
}

#[test]
fn similar_looks_at_live_memories_of_the_same_project_only() {
    let home = Home::new();
    let mut agent = home.agent();
    let gone = agent.save("Release checklist", "Tag, build, sign, upload.");
    agent.ok("mem_delete", json!({"id": gone}));
    let saved =
        agent.ok("mem_save", json!({"title": "Release checklist", "content": "Write the changelog first."}));
    assert!(saved.list("similar").is_empty(), "the deleted one is named: {saved:?}");
    let saved = agent.ok(
        "mem_save",
        json!({"title": "Release checklist", "content": "Ask the lawyers.", "project": "other"}),
    );
    assert!(saved.list("similar").is_empty(), "one of another project is named: {saved:?}");
}

#[test]
fn a_reply_means_durable() {
    let home = Home::new();
    let mut agent = home.agent();
    let id = agent.save("Durable at once", "The reply came before the kill.");
    home.kill_daemon();
    let whole = agent.get(&id);
    assert_eq!(whole["content"], "The reply came before the kill.", "{whole:?}");
}

#[test]
fn missing_arguments_are_named() {
    let home = Home::new();
    let mut agent = home.agent();
    for (arguments, name) in [
        (json!({"content": "x"}), "title"),
        (json!({"title": "x"}), "content"),
        (json!({"title": "  ", "content": "x"}), "title"),
        (json!({"title": "x", "content": " \n "}), "content"),
        (json!({"title": null, "content": "x"}), "title"),
    ] {
        let refusal = agent.refused("mem_save", arguments.clone());
        assert!(refusal.contains(name), "{arguments}: {refusal}");
    }
}

#[test]
fn repetitions_are_recognised_whatever_else_is_given() {
    let home = Home::new();
    let mut agent = home.agent();
    let prompt = |agent: &mut Agent, project: &str| {
        agent.ok("mem_save_prompt", json!({"content": "hello", "project": project}))["outcome"].clone()
    };
    assert_eq!((prompt(&mut agent, "p1"), prompt(&mut agent, "p2")), (json!("created"), json!("unchanged")));
    agent.ok("mem_save", json!({"title": "K", "content": "Same.", "topic_key": "k/du"}));
    let again = agent.ok("mem_save", json!({"title": "K", "content": "Same."}));
    assert_eq!((again.str("outcome"), again.str("topic_key")), ("duplicate", "k/du"), "{again:?}");
    assert!(again.structured.get("suggested_topic_key").is_none(), "{again:?}");
}

#[test]
fn a_repetition_is_seen_among_many_of_the_same_title() {
    let home = Home::new();
    let mut agent = home.agent();
    let save = |agent: &mut Agent, n: usize| -> Reply {
        agent.ok("mem_save", json!({"title": "Note", "content": format!("Text {n}.")}))
    };
    let first = save(&mut agent, 0).str("id").to_owned();
    for n in 1..20 {
        save(&mut agent, n);
    }
    let again = save(&mut agent, 0);
    assert_eq!((again.str("outcome"), again.str("id")), ("duplicate", first.as_str()), "{again:?}");

    let ask = |agent: &mut Agent, n: usize| {
        agent.ok("mem_save_prompt", json!({"content": format!("Ask {n}."), "session_id": "s"}))
    };
    let first = ask(&mut agent, 0).str("id").to_owned();
    for n in 1..52 {
        ask(&mut agent, n);
    }
    let again = ask(&mut agent, 0);
    assert_eq!((again.str("outcome"), again.str("id")), ("unchanged", first.as_str()), "{again:?}");
}

#[test]
fn what_cerebro_had_shown_is_not_saved_again_and_the_reply_says_so() {
    let home = Home::new();
    let mut agent = home.agent();
    let frame = "<cerebro-context>\n- the gannet nests\n</cerebro-context>";
    let half = "Half of it: <cerebro-context>\n- the gannet\n\nWhat is `</cerebro-context>`?";
    let saved = agent.ok("mem_save", json!({ "title": "Mine", "content": format!("{half}\n{frame}") }));
    assert_eq!(agent.get(saved.str("id"))["content"], half);
    assert_eq!(saved["ignored"], json!(["content: what Cerebro had shown"]), "{saved:?}");
    saved.assert_in_both(&["content: what Cerebro had shown"]);
    let refused = agent.call("mem_save", json!({ "title": "Nothing of mine", "content": frame }));
    assert!(refused.is_error && refused.text.contains("what Cerebro had shown"), "{refused:?}");
    let printed = home.json(&["save", "By hand", &format!("Mine.\n{frame}")]);
    assert_eq!(agent.get(printed["id"].as_str().unwrap())["content"], "Mine.");
    assert_eq!(printed["ignored"], json!(["content: what Cerebro had shown"]), "{printed}");
}
