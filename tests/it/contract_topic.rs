//! `mem_suggest_topic_key`: deterministic, readable, near to what exists.

use crate::support::{Agent, Home, Value, assert_keys, json};

fn suggest(agent: &mut Agent, arguments: Value) -> String {
    agent.ok("mem_suggest_topic_key", arguments).str("topic_key").to_owned()
}

#[test]
fn each_type_has_its_family() {
    let home = Home::new();
    let mut agent = home.agent();
    for (family, kinds) in [
        ("architecture", &["architecture", "design", "adr", "refactor"][..]),
        ("bug", &["bug", "bugfix", "fix", "incident", "hotfix"]),
        ("decision", &["decision"]),
        ("pattern", &["pattern", "convention", "guideline"]),
        ("config", &["config", "setup", "infra", "ci"]),
        ("discovery", &["discovery", "investigation", "root-cause"]),
        ("learning", &["learning"]),
        ("preference", &["preference"]),
    ] {
        for kind in kinds {
            let key = suggest(&mut agent, json!({"type": kind, "title": "Green Tea, twice!"}));
            assert_eq!(key, format!("{family}/green-tea-twice"), "type {kind}");
        }
    }
    let key = suggest(&mut agent, json!({"type": "session_summary", "title": "Monday"}));
    assert_eq!(key, "session/monday");
}

#[test]
fn the_segment_is_a_slug_of_the_title() {
    let home = Home::new();
    let mut agent = home.agent();
    for (arguments, want) in [
        (
            json!({"type": "decision", "title": "  Use   Rust_2024 / Tokio?  "}),
            "decision/use-rust-2024-tokio",
        ),
        (json!({"type": "architecture", "title": "Architecture: auth model"}), "architecture/auth-model"),
        (json!({"type": "bugfix", "title": "Bug: crash at start"}), "bug/crash-at-start"),
        (json!({"type": "config", "title": "config/ci cache"}), "config/ci-cache"),
        (
            json!({"type": "decision", "content": "One two three four five six seven eight nine ten."}),
            "decision/one-two-three-four-five-six-seven-eight",
        ),
        (json!({"type": "decision", "title": "!!!"}), "decision/general"),
    ] {
        assert_eq!(suggest(&mut agent, arguments.clone()), want, "{arguments}");
    }
    let long = suggest(&mut agent, json!({"type": "decision", "title": "word ".repeat(58)}));
    let segment = long.strip_prefix("decision/").unwrap_or_else(|| panic!("{long}"));
    assert!((90..=100).contains(&segment.len()) && !segment.ends_with('-'), "{} in {long}", segment.len());
}

#[test]
fn other_scripts_keep_their_letters() {
    let home = Home::new();
    let mut agent = home.agent();
    for (title, letters) in
        [("設計の決定", "設計"), ("Архитектура кэша", "архитектура"), ("مخزن البيانات", "مخزن")]
    {
        let key = suggest(&mut agent, json!({"type": "decision", "title": title}));
        assert!(key.starts_with("decision/") && key.contains(letters), "{title}: {key}");
    }
    let one = suggest(&mut agent, json!({"type": "decision", "title": "設計の決定"}));
    let two = suggest(&mut agent, json!({"type": "decision", "title": "運用の決定"}));
    assert_ne!(one, two);
}

#[test]
fn a_general_type_is_inferred_from_the_words() {
    let home = Home::new();
    let mut agent = home.agent();
    for (title, content, family) in [
        ("Crash fixed in the parser", "The bug was an off-by-one error.", "bug"),
        ("We decided on Postgres", "The decision fell on Monday.", "decision"),
        ("Naming convention of the modules", "A pattern we follow.", "pattern"),
        ("Lunch menu", "Soup on Fridays.", "topic"),
    ] {
        let key = suggest(&mut agent, json!({"type": "manual", "title": title, "content": content}));
        assert!(key.starts_with(&format!("{family}/")), "{title}: {key}");
        let untyped = suggest(&mut agent, json!({"title": title, "content": content}));
        assert_eq!(untyped, key, "{title}");
    }
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
