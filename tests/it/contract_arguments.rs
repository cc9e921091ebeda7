//! Arguments are read leniently, and nothing is dropped silently.

use crate::support::{AGENTS_MAY_PURGE, Agent, Home, Value, json};

fn ignored(agent: &mut Agent, tool: &str, arguments: Value) -> Vec<String> {
    let reply = agent.ok(tool, arguments);
    let names: Vec<String> =
        reply.list("ignored").iter().filter_map(|n| n.as_str().map(str::to_owned)).collect();
    for name in &names {
        assert!(reply.text.contains(name.as_str()), "{name} is not in the text half: {reply:?}");
    }
    names
}

#[test]
fn aliases_of_an_id_are_accepted() {
    let home = Home::with_config(AGENTS_MAY_PURGE);
    let mut agent = home.agent();
    let id = agent.save("Named otherwise", "By older clients.");
    for name in ["id", "observation_id", "memory_id"] {
        for tool in ["mem_get_observation", "mem_timeline"] {
            let mut arguments = json!({});
            arguments[name] = json!(id);
            assert_eq!(ignored(&mut agent, tool, arguments), Vec::<String>::new(), "{tool} by {name}");
        }
        let mut arguments = json!({"title": format!("Renamed by {name}")});
        arguments[name] = json!(id);
        assert_eq!(agent.ok("mem_update", arguments)["outcome"], "updated", "by {name}");
    }
    let deleted = agent.ok("mem_delete", json!({"observation_id": id, "hard_delete": "true"}));
    assert_eq!(deleted["outcome"], "purged", "{deleted:?}");
}

#[test]
fn numbers_booleans_and_lists_may_be_strings() {
    let home = Home::new();
    let mut agent = home.agent();
    for n in 0..4 {
        agent.save(&format!("Puffin {n}"), &format!("A puffin was counted, number {n}."));
    }
    let found = agent.ok("mem_search", json!({"query": "puffin", "limit": "2", "all_projects": "false"}));
    assert_eq!(found.list("hits").len(), 2, "{found:?}");
    let found = agent.ok("mem_search", json!({"query": "puffin", "limit": 2.0}));
    assert_eq!(found.list("hits").len(), 2, "{found:?}");

    for (tags, want) in [
        (json!("red, green"), json!(["red", "green"])),
        (json!("[\"red\", \"green\"]"), json!(["red", "green"])),
        (json!("red"), json!(["red"])),
        (json!(["red", "green"]), json!(["red", "green"])),
    ] {
        let saved =
            agent.ok("mem_save", json!({"title": tags.to_string(), "content": "Tagged.", "tags": tags}));
        assert_eq!(agent.get(saved.str("id"))["tags"], want, "{tags}");
    }
    let whole = agent.ok("mem_save", json!({"title": "Guarded", "content": "Once."}));
    let updated =
        agent.ok("mem_update", json!({"id": whole["id"], "content": "Twice.", "expected_revision": "1"}));
    assert_eq!(updated["revision"], 2, "{updated:?}");
    let history = agent.ok("mem_get_observation", json!({"id": whole["id"], "history": "true"}));
    assert_eq!(history.revisions().len(), 1, "{history:?}");
    let lists =
        json!({"session_id": "s", "goal": "g", "files": "a.rs, b.rs", "next_steps": "[\"one\",\"two\"]"});
    let summary = agent.ok("mem_session_summary", lists);
    let content = agent.get(summary.str("memory_id")).str("content").to_owned();
    assert!(content.contains("b.rs") && content.contains("two") && !content.contains("[\""), "{content}");
}

#[test]
fn words_that_are_no_numbers_are_refused_with_the_argument() {
    let home = Home::new();
    let mut agent = home.agent();
    for (tool, arguments, name) in [
        ("mem_search", json!({"query": "x", "limit": "many"}), "limit"),
        ("mem_search", json!({"query": "x", "limit": {"n": 5}}), "limit"),
        ("mem_search", json!({"query": "x", "all_projects": "perhaps"}), "all_projects"),
        ("mem_search", json!({"query": ["x"]}), "query"),
        ("mem_save", json!({"title": {"a": 1}, "content": "x"}), "title"),
        ("mem_save", json!({"title": "x", "content": "x", "tags": {"a": 1}}), "tags"),
        ("mem_save", json!({"title": "x", "content": "x", "tags": [["a"]]}), "tags"),
        ("mem_get_observation", json!({"id": 5}), "id"),
        ("mem_context", json!({"max_bytes": "lots"}), "max_bytes"),
    ] {
        let refusal = agent.refused(tool, arguments.clone());
        assert!(refusal.contains(name), "{tool} {arguments}: {refusal}");
    }
}

#[test]
fn unknown_arguments_are_named_not_dropped() {
    let home = Home::new();
    let mut agent = home.agent();
    let arguments = json!({"title": "With extras", "content": "Text.", "importance": 5, "colour": "red"});
    let mut names = ignored(&mut agent, "mem_save", arguments);
    names.sort();
    assert_eq!(names, ["colour", "importance"]);
    assert_eq!(ignored(&mut agent, "mem_search", json!({"query": "extras", "semantic": true})), ["semantic"]);
    assert_eq!(ignored(&mut agent, "mem_stats", json!({"verbose": true})), ["verbose"]);
    assert_eq!(ignored(&mut agent, "mem_context", json!({"query": "x"})), ["query"]);
    let clean = agent.ok("mem_search", json!({"query": "extras"}));
    assert!(clean["ignored"].is_null(), "{clean:?}");
}

#[test]
fn what_why_where_learned_become_content() {
    let home = Home::new();
    let mut agent = home.agent();
    let parts = json!({
        "title": "In parts", "what": "Moved to WAL", "why": "Readers blocked", "where": "src/db.rs",
        "learned": "Measure first",
    });
    let saved = agent.ok("mem_save", parts);
    assert!(saved["ignored"].is_null(), "{saved:?}");
    let content = agent.get(saved.str("id")).str("content").to_owned();
    let positions: Vec<Option<usize>> =
        ["What", "Moved to WAL", "Why", "Readers blocked", "Where", "src/db.rs", "Learned", "Measure first"]
            .iter()
            .map(|part| content.find(part))
            .collect();
    assert!(positions.iter().all(Option::is_some) && positions.is_sorted(), "{positions:?} in {content}");

    let beside = json!({"title": "Beside", "content": "The main text.", "why": "There was a reason"});
    let saved = agent.ok("mem_save", beside);
    let content = agent.get(saved.str("id")).str("content").to_owned();
    assert!(content.starts_with("The main text.") && content.contains("There was a reason"), "{content}");
    assert!(content.contains("Why") && !content.contains("Learned"), "{content}");
}

#[test]
fn types_and_topic_keys_are_normalised() {
    let home = Home::new();
    let mut agent = home.agent();
    let saved = agent.ok(
        "mem_save",
        json!({"title": "Loud", "content": "Text.", "type": " Bug Fix ", "topic_key": " Config/CI  Cache "}),
    );
    let whole = agent.get(saved.str("id"));
    assert_eq!(whole["type"], "bug-fix", "{whole:?}");
    let key = whole.str("topic_key").to_owned();
    assert_eq!(key, key.trim().to_lowercase(), "{whole:?}");
    assert!(key.starts_with("config/ci") && !key.contains(' '), "{whole:?}");
    assert_eq!(saved["topic_key"], key, "the reply has the normalised one: {saved:?}");
    let again =
        agent.ok("mem_save", json!({"title": "Loud", "content": "More.", "topic_key": "CONFIG/CI cache"}));
    assert_eq!(again["id"], saved["id"], "{again:?}");
    let found = agent.ok("mem_search", json!({"query": "loud text more", "type": "MANUAL"}));
    assert_eq!(found.ids("hits"), [saved.str("id")], "{found:?}");
}

#[test]
fn limits_are_clamped() {
    let home = Home::new();
    let mut agent = home.agent();
    for n in 0..55 {
        agent.save(&format!("Lynx {n}"), &format!("Lynx track number {n}."));
    }
    for (limit, want) in
        [(json!(0), 1), (json!(-3), 1), (json!(1), 1), (json!(50), 50), (json!(51), 50), (json!("9999"), 50)]
    {
        let found = agent.ok("mem_search", json!({"query": "lynx", "limit": limit}));
        assert_eq!(found.list("hits").len(), want, "limit {limit}");
    }
}

#[test]
fn dates_come_in_three_forms() {
    let home = Home::new();
    let mut agent = home.agent();
    let id = agent.save("Dated", "Saved today.");
    let today = agent.ok("mem_search", json!({"query": "dated"}))["hits"][0]["date"].as_str().unwrap()[..10]
        .to_owned();
    for since in ["7d", "12h", "2020-01-01", "2020-01-01T10:00:00Z", "2020-01-01T10:00:00+02:00", &today] {
        let found = agent.ok("mem_search", json!({"query": "dated", "since": since}));
        assert_eq!(found.ids("hits"), [id.clone()], "since {since}: {found:?}");
    }
    for until in ["7d", "12h", "2020-01-01", "2020-01-01T10:00:00Z"] {
        let found = agent.ok("mem_search", json!({"query": "dated", "until": until}));
        assert_eq!(found.ids("hits"), Vec::<String>::new(), "until {until}: {found:?}");
    }
    let found = agent.ok("mem_search", json!({"query": "dated", "until": today}));
    assert_eq!(found.ids("hits"), [id], "until today holds today: {found:?}");
    for bad in ["yesterday-ish", "2026-13-45", "7 parsecs", "-3d"] {
        let reply = agent.call("mem_search", json!({"query": "dated", "since": bad}));
        assert!(
            reply.is_error && reply.text.contains(bad) && reply.text.contains("since"),
            "{bad}: {reply:?}"
        );
    }
}

#[test]
fn null_counts_as_absent() {
    let home = Home::new();
    let mut agent = home.agent();
    let saved = agent.ok(
        "mem_save",
        json!({"title": "Nulls", "content": "Text.", "type": null, "tags": null, "topic_key": null, "project": null}),
    );
    assert!(saved["ignored"].is_null(), "{saved:?}");
    assert_eq!(agent.get(saved.str("id"))["type"], "manual");
}

#[test]
fn a_scope_is_one_of_two() {
    let home = Home::new();
    let mut agent = home.agent();
    for (tool, arguments) in [
        ("mem_save", json!({"title": "x", "content": "x", "scope": "galactic"})),
        ("mem_search", json!({"query": "x", "scope": "galactic"})),
        ("mem_context", json!({"scope": "galactic"})),
    ] {
        let refusal = agent.refused(tool, arguments);
        for word in ["galactic", "project", "personal"] {
            assert!(refusal.contains(word), "{tool}: {word} is not in: {refusal}");
        }
    }
    let saved = agent.ok("mem_save", json!({"title": "x", "content": "x", "scope": " Personal "}));
    assert_eq!(agent.get(saved.str("id"))["scope"], "personal");
}

#[test]
fn sections_are_folded_into_summaries_and_prompts_too() {
    let home = Home::new();
    let mut agent = home.agent();
    agent.ok("mem_session_summary", json!({"learned": "Serows climb.", "session_id": "s"}));
    let reply =
        agent.ok("mem_session_summary", json!({"what": "Watched", "content": "C", "session_id": "t"}));
    assert!(reply.structured.get("ignored").is_none(), "{reply:?}");
    agent.ok("mem_save_prompt", json!({"what": "Count the serows"}));
    let stored = home.export_text();
    assert!(["Serows climb", "Watched", "Count the serows"].iter().all(|text| stored.contains(text)));
}

#[test]
fn all_types_that_agents_know_are_accepted() {
    let home = Home::new();
    let mut agent = home.agent();
    let known = [
        "decision", "architecture", "bugfix", "pattern", "config", "concept", "discovery", "learning",
        "preference", "manual", "session_summary", "of-my-own",
    ];
    for kind in known {
        let saved =
            agent.ok("mem_save", json!({"title": format!("A {kind}"), "content": kind, "type": kind}));
        assert_eq!(agent.get(saved.str("id"))["type"], kind, "{saved:?}");
    }
}

#[test]
fn control_characters_are_dropped_but_newline_and_tab() {
    let home = Home::new();
    let mut agent = home.agent();
    let dirty = "a\u{0}b\u{7}c\u{1b}[31md\u{7f}e\u{85}f\tg\nh";
    let saved = agent.ok(
        "mem_save",
        json!({"title": "x\u{0}y\u{1b}z", "content": dirty, "tags": ["t\u{0}u"], "type": "no\u{0}te"}),
    );
    let whole = agent.get(saved.str("id"));
    assert_eq!(whole["content"], "abc[31mdef\tg\nh", "{whole:?}");
    assert_eq!(whole["title"], "xyz", "{whole:?}");
    assert_eq!(whole["tags"], json!(["tu"]), "{whole:?}");
    agent.refused("mem_save", json!({"title": "\u{0}\u{1}", "content": "Nothing is left of the title."}));
    agent.refused("mem_save", json!({"title": "Nothing is left of the content", "content": "\u{0}\u{1}"}));
}
