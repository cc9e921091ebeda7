//! `mem_suggest_topic_key`: deterministic, and near to what exists. Which key a text gets is tested in
//! `core::hygiene::topic_key`.

use crate::support::{Agent, Home, Value, assert_keys, json};

fn suggest(agent: &mut Agent, arguments: Value) -> String {
    agent.ok("mem_suggest_topic_key", arguments).str("topic_key").to_owned()
}

#[test]
fn the_same_question_has_the_same_answer_and_saving_agrees() {
    let home = Home::new();
    let mut agent = home.agent();
    let arguments =
        json!({"type": "decision", "title": "Queue library", "content": "We take the small one."});
    let key = suggest(&mut agent, arguments.clone());
    let saved = agent.ok("mem_save", arguments.clone());
    assert_eq!(saved["suggested_topic_key"], key, "{saved:?}");
    assert_eq!(suggest(&mut agent, arguments), key);
}

#[test]
fn live_keys_that_are_near_are_named() {
    let home = Home::new();
    let mut agent = home.agent();
    let mut save = |key: &str, title: &str, project: &str| {
        let arguments = json!({"title": title, "content": "Text.", "topic_key": key, "project": project});
        agent.ok("mem_save", arguments).str("id").to_owned()
    };
    let near = save("architecture/auth-model", "How auth works", "demo");
    save("config/printer", "The printer", "demo");
    save("architecture/auth-model-v2", "Of another project", "other");
    let gone = save("architecture/auth-models", "Deleted", "demo");
    agent.ok("mem_delete", json!({"id": gone}));

    let found =
        agent.ok("mem_suggest_topic_key", json!({"type": "architecture", "title": "Auth model of tokens"}));
    assert_keys(&found, &["topic_key", "existing"], &[]);
    assert_eq!(found.ids("existing"), [near.clone()], "{found:?}");
    let existing = &found["existing"][0];
    assert_eq!(existing["key"], "architecture/auth-model", "{found:?}");
    assert_eq!(existing["title"], "How auth works", "{found:?}");
    found.assert_in_both(&[&near, "architecture/auth-model", "How auth works"]);
}

#[test]
fn a_title_or_content_is_needed() {
    let home = Home::new();
    let mut agent = home.agent();
    for arguments in [json!({}), json!({"type": "decision"}), json!({"title": " ", "content": ""})] {
        let refusal = agent.refused("mem_suggest_topic_key", arguments.clone());
        assert!(refusal.contains("title") && refusal.contains("content"), "{arguments}: {refusal}");
    }
}

#[test]
fn a_composed_and_a_decomposed_key_are_one() {
    let home = Home::new();
    let mut agent = home.agent();
    let mut save = |key: &str, content: &str| {
        agent.ok("mem_save", json!({"title": "Menu", "content": content, "topic_key": key}))
    };
    let first = save("cafe\u{301}/menu", "one");
    let second = save("café/menu", "two");
    assert_eq!(second.str("id"), first.str("id"));
    assert_eq!(second.str("outcome"), "updated");
}
