//! `mem_update` and `mem_delete`: revisions, conflicts, recoverable and final removal.

use crate::support::{AGENTS_MAY_PURGE, Home, assert_keys, json};

#[test]
fn each_field_can_be_updated_alone() {
    let home = Home::new();
    let mut agent = home.agent();
    let id = agent.save("Cache size", "The cache holds 64 MB.");
    let changes = [
        ("title", json!("Size of the cache")),
        ("content", json!("The cache holds 128 MB.")),
        ("type", json!("config")),
        ("topic_key", json!("config/cache")),
        ("tags", json!(["cache", "memory"])),
        ("project", json!("other")),
        ("scope", json!("personal")),
    ];
    for (n, (key, value)) in changes.iter().enumerate() {
        let mut arguments = json!({"id": id});
        arguments[*key] = value.clone();
        let updated = agent.ok("mem_update", arguments);
        assert_keys(&updated, &["id", "outcome", "revision"], &[]);
        assert_eq!(updated["id"], id, "{key}: {updated:?}");
        assert_eq!(updated["outcome"], "updated", "{key}: {updated:?}");
        assert_eq!(updated["revision"], n + 2, "{key}: {updated:?}");
        updated.assert_in_both(&[&id, "updated"]);
        let whole = agent.get(&id);
        assert_eq!(whole[*key], *value, "{whole:?}");
        assert_eq!(whole["revision"], n + 2, "{whole:?}");
    }
}

#[test]
fn an_update_that_changes_nothing_says_so() {
    let home = Home::new();
    let mut agent = home.agent();
    let id = agent.save("Cache size", "The cache holds 64 MB.");
    for arguments in [
        json!({"id": id, "title": "Cache size"}),
        json!({"id": id, "content": "The cache holds 64 MB.", "type": "manual", "scope": "project"}),
        json!({"id": id, "project": "Demo"}),
        json!({"id": id, "tags": []}),
    ] {
        let updated = agent.ok("mem_update", arguments.clone());
        assert_eq!(updated["outcome"], "unchanged", "{arguments}: {updated:?}");
        assert_eq!(updated["revision"], 1, "{arguments}: {updated:?}");
    }
}

#[test]
fn an_update_needs_something_to_update() {
    let home = Home::new();
    let mut agent = home.agent();
    let id = agent.save("Cache size", "The cache holds 64 MB.");
    let refusal = agent.refused("mem_update", json!({"id": id}));
    for field in ["title", "content", "topic_key", "tags"] {
        assert!(refusal.contains(field), "{field} is not offered: {refusal}");
    }
    agent.refused("mem_update", json!({"title": "No id"}));
}

#[test]
fn an_update_keeps_the_text_it_replaced() {
    let home = Home::new();
    let mut agent = home.agent();
    let id = agent.save("Queue bound", "The queue holds 16.");
    agent.ok("mem_update", json!({"id": id, "content": "The queue holds 32."}));
    agent.ok("mem_update", json!({"id": id, "content": "The queue holds 64."}));
    let whole = agent.ok("mem_get_observation", json!({"id": id, "history": true}));
    whole.assert_in_both(&["The queue holds 16.", "The queue holds 32.", "The queue holds 64."]);
    assert_eq!(agent.search("queue holds 64"), [id], "one memory, not three");
}

#[test]
fn a_setting_limits_how_many_revisions_are_kept() {
    for (config, want) in [("", vec![1, 2, 3, 4, 5]), ("revisions_keep = 2\n", vec![4, 5])] {
        let home = Home::with_config(config);
        let mut agent = home.agent();
        let id = agent.save("Limited", "Text number 1.");
        for n in 2..=6 {
            agent.ok("mem_update", json!({"id": id, "content": format!("Text number {n}.")}));
        }
        let whole = agent.ok("mem_get_observation", json!({"id": id, "history": true}));
        let mut revisions: Vec<u64> =
            whole.revisions().iter().filter_map(|r| r["revision"].as_u64()).collect();
        revisions.sort_unstable();
        assert_eq!(revisions, want, "{config:?}: {whole:?}");
        assert_eq!(whole["revision"], 6, "{config:?}: {whole:?}");
    }
}

#[test]
fn an_update_is_found_by_its_new_words_at_once() {
    let home = Home::new();
    let mut agent = home.agent();
    let id = agent.save("Parser choice", "We took the zebrafish parser.");
    agent.ok("mem_update", json!({"id": id, "content": "We took the quokka parser."}));
    assert_eq!(agent.search("quokka"), [id]);
    assert_eq!(agent.search("zebrafish"), Vec::<String>::new(), "the replaced text is still searched");
}

#[test]
fn an_expected_revision_guards_against_lost_updates() {
    let home = Home::new();
    let mut agent = home.agent();
    let id = agent.save("Guarded", "First text.");
    agent.ok("mem_update", json!({"id": id, "content": "Second text.", "expected_revision": 1}));
    agent.ok("mem_update", json!({"id": id, "content": "Third text.", "expected_revision": 2}));
    let refusal =
        agent.refused("mem_update", json!({"id": id, "content": "Late text.", "expected_revision": 1}));
    assert!(refusal.contains('3'), "the present revision is not given: {refusal}");
    let whole = agent.get(&id);
    assert_eq!(whole["content"], "Third text.", "{whole:?}");
    assert_eq!(whole["revision"], 3, "{whole:?}");
}

#[test]
fn a_topic_key_cannot_be_taken_by_update() {
    let home = Home::new();
    let mut agent = home.agent();
    let holder = agent
        .ok("mem_save", json!({"title": "Holder", "content": "Holds the key.", "topic_key": "config/ci"}));
    let other = agent.save("Taker", "Wants the key.");
    let refusal =
        agent.refused("mem_update", json!({"id": other, "topic_key": "config/ci", "title": "Took it"}));
    assert!(refusal.contains(holder.str("id")), "the holder is not named: {refusal}");
    let whole = agent.get(&other);
    assert_eq!(whole["title"], "Taker", "something changed: {whole:?}");
    assert!(whole["topic_key"].is_null(), "{whole:?}");

    let elsewhere = agent.ok(
        "mem_save",
        json!({"title": "Far", "content": "Far.", "topic_key": "config/ci", "project": "other"}),
    );
    let refusal = agent.refused("mem_update", json!({"id": elsewhere["id"], "project": "demo"}));
    assert!(refusal.contains(holder.str("id")), "moving into the project takes it too: {refusal}");
    assert_eq!(agent.get(elsewhere.str("id"))["project"], "other");
}

#[test]
fn a_topic_key_cannot_be_taken_by_restore() {
    let home = Home::new();
    let mut agent = home.agent();
    let arguments = |text: &str| json!({"title": "CI", "content": text, "topic_key": "config/ci"});
    let old = agent.ok("mem_save", arguments("Old text."));
    agent.ok("mem_delete", json!({"id": old["id"]}));
    let new = agent.ok("mem_save", arguments("New text."));
    let refused = home.run(&["restore", old.str("id")]);
    assert_ne!(refused.code(), 0, "{refused:?}");
    assert!(refused.stderr.contains(new.str("id")), "the holder is not named: {refused:?}");
    assert_eq!(agent.search("CI text"), [new.str("id")], "something changed");
}

#[test]
fn a_deleted_memory_is_hidden_and_can_come_back() {
    let home = Home::new();
    let mut agent = home.agent();
    let id = agent.save("Hidden axolotl", "The axolotl lives in the lake.");
    let near = agent.save("Neighbour", "Another memory of the session.");
    let deleted = agent.ok("mem_delete", json!({"id": id}));
    assert_keys(&deleted, &["id", "outcome"], &[]);
    assert_eq!(deleted["outcome"], "deleted", "{deleted:?}");
    deleted.assert_in_both(&[&id, "deleted"]);

    assert_eq!(agent.search("axolotl"), Vec::<String>::new());
    let context = agent.ok("mem_context", json!({}));
    assert!(
        !context.text.contains("axolotl") && !context.structured.to_string().contains("axolotl"),
        "{context:?}"
    );
    let timeline = agent.ok("mem_timeline", json!({"id": near}));
    assert!(!timeline.text.contains("axolotl") && !timeline.text.contains(&id), "{timeline:?}");

    for (tool, arguments) in
        [("mem_update", json!({"id": id, "title": "New"})), ("mem_timeline", json!({"id": id}))]
    {
        let refusal = agent.refused(tool, arguments);
        assert!(refusal.contains(&id) && refusal.contains("delete"), "{tool}: {refusal}");
    }

    home.run(&["restore", &id]).success();
    assert_eq!(agent.search("axolotl"), [id.clone()]);
    assert_eq!(agent.get(&id)["content"], "The axolotl lives in the lake.");
}

#[test]
fn deleting_again_is_harmless() {
    let home = Home::new();
    let mut agent = home.agent();
    let id = agent.save("Twice", "Deleted twice.");
    agent.ok("mem_delete", json!({"id": id}));
    let again = agent.ok("mem_delete", json!({"id": id}));
    assert_eq!(again["outcome"], "already_deleted", "{again:?}");
    agent.refused("mem_delete", json!({"id": "zzzzzzzzzzzz"}));
}

#[test]
fn a_purge_leaves_a_tombstone_without_text() {
    let home = Home::with_config(AGENTS_MAY_PURGE);
    let mut agent = home.agent();
    let id = agent.save("Purged pangolin", "The pangolin rests.");
    agent.ok("mem_update", json!({"id": id, "content": "The pangolin wakes."}));
    let purged = agent.ok("mem_delete", json!({"id": id, "hard": true}));
    assert_eq!(purged["outcome"], "purged", "{purged:?}");
    assert_eq!(agent.search("pangolin"), Vec::<String>::new());
    let whole = agent.call("mem_get_observation", json!({"id": id, "history": true}));
    assert!(!format!("{whole:?}").to_lowercase().contains("pangolin"), "{whole:?}");
    let export = home.export_text();
    assert!(!export.to_lowercase().contains("pangolin"), "the text is in the export");
    assert!(export.contains(&id), "the tombstone is not in the export");
    assert_ne!(home.run(&["restore", &id]).code(), 0, "there is nothing to restore");

    let again = agent.ok("mem_delete", json!({"id": id, "hard": true}));
    assert_ne!(again["outcome"], "deleted", "{again:?}");
}

#[test]
fn a_deleted_memory_can_still_be_purged() {
    let home = Home::with_config(AGENTS_MAY_PURGE);
    let mut agent = home.agent();
    let id = agent.save("Soft, then hard", "The text of the okapi.");
    agent.ok("mem_delete", json!({"id": id}));
    let purged = agent.ok("mem_delete", json!({"id": id, "hard": true}));
    assert_eq!(purged["outcome"], "purged", "{purged:?}");
    assert!(!home.export_text().contains("okapi"), "the text is in the export");
}

#[test]
fn purging_is_left_to_people() {
    let home = Home::new();
    let mut agent = home.agent();
    let id = agent.save("Kept", "Agents may not purge this.");
    let refusal = agent.refused("mem_delete", json!({"id": id, "hard": true}));
    assert!(refusal.contains("cerebro ") && refusal.contains(&id), "no command for a person: {refusal}");
    assert_eq!(agent.get(&id)["content"], "Agents may not purge this.");
    assert_eq!(agent.ok("mem_delete", json!({"id": id}))["outcome"], "deleted");
    assert_eq!(home.json(&["delete", &id, "--hard", "--yes"])["outcome"], "purged");
}

#[test]
fn a_purged_memory_is_not_called_restorable() {
    let home = Home::with_config(AGENTS_MAY_PURGE);
    let mut agent = home.agent();
    let id = agent.save("Gone", "For good.");
    agent.ok("mem_delete", json!({"id": id, "hard": true}));
    for (tool, call) in [
        ("mem_get_observation", json!({"id": id})),
        ("mem_timeline", json!({"id": id})),
        ("mem_update", json!({"id": id, "title": "Back"})),
    ] {
        let refused = agent.refused(tool, call);
        assert!(refused.contains("purged") && !refused.contains("restore"), "{tool}: {refused}");
    }
}
