//! `cerebro export` and `import`: everything, byte for byte, once.

use std::collections::BTreeSet;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::hooks::hook;
use crate::support::{AGENTS_MAY_PURGE, Finished, Home, Value, json};

/// A home with something of every kind.
fn furnished() -> Home {
    let home = Home::with_config(AGENTS_MAY_PURGE);
    let mut agent = home.agent();
    agent.ok("mem_session_start", json!({"id": "first / café", "directory": "/srv/work"}));
    let kept = agent.save("Kept 語🦉", "Line one\n\tline two \"quoted\" \\ end");
    agent.ok("mem_update", json!({"id": kept, "content": "Second text."}));
    agent.ok("mem_update", json!({"id": kept, "tags": ["a", "b"], "topic_key": "config/kept"}));
    let deleted = agent.save("Deleted", "Recoverable text.");
    agent.ok("mem_delete", json!({"id": deleted}));
    let purged = agent.save("Purged", "Text that is gone.");
    agent.ok("mem_delete", json!({"id": purged, "hard": true}));
    let near =
        "the same long text about the nightly ledger job that copies sums to the archive bucket for auditors";
    agent.save("Near one", near);
    agent.save("Near two", near);
    agent.ok("mem_save", json!({"title": "Mine", "content": "Personal.", "scope": "personal"}));
    agent.ok("mem_save", json!({"title": "Far", "content": "Elsewhere.", "project": "other"}));
    agent.ok("mem_save", json!({"title": "Far", "content": "Elsewhere.", "project": "other"}));
    agent.ok("mem_save_prompt", json!({"content": "Ask the ibis"}));
    agent.ok("mem_session_end", json!({"summary": "Everything was furnished."}));
    agent.ok("mem_session_start", json!({"id": "second"}));
    home.run(&["pin", &kept]).success();
    home
}

#[test]
fn every_line_has_a_kind_and_every_kind_occurs() {
    let home = furnished();
    let lines = home.export();
    assert_eq!(lines[0]["kind"], "header", "{}", lines[0]);
    let kinds: BTreeSet<&str> = lines.iter().filter_map(|line| line["kind"].as_str()).collect();
    for kind in ["header", "session", "memory", "revision", "prompt", "edge"] {
        assert!(kinds.contains(kind), "no {kind} among {kinds:?}");
    }
    assert!(lines.iter().all(|line| line["kind"].is_string()), "a line without a kind");
    let text = home.export_text();
    assert!(text.contains("Recoverable text.") && !text.contains("Text that is gone."), "{text}");
    assert_eq!(home.export_text(), text, "two exports of one store differ");
}

#[test]
fn events_hold_facts_and_never_text() {
    let home = furnished();
    let events = home.events();
    for kind in [
        "memory.created", "memory.updated", "memory.deleted", "memory.purged", "memory.pinned",
        "prompt.saved",
    ] {
        assert!(events.iter().any(|event| event["kind"] == kind), "no {kind} among {events:#?}");
    }
    for event in &events {
        for words in ["Second text", "Recoverable", "ibis", "furnished", "Kept", "/srv/work"] {
            assert!(!event.to_string().contains(words), "an event holds text: {event}");
        }
    }
}

#[test]
fn export_import_export_gives_the_same_bytes() {
    let home = furnished();
    let first = home.export_text();
    let other = Home::new();
    other.import_text(&first).success();
    let second = other.export_text();
    assert!(second == first, "the bytes differ:\n--- first\n{first}\n--- second\n{second}");

    other.import_text(&first).success();
    assert!(other.export_text() == first, "importing twice is not importing once");

    home.import_text(&first).success();
    assert!(home.export_text() == first, "importing one's own export changed something");
}

#[test]
fn an_import_is_found_and_read_like_saves() {
    let home = furnished();
    let other = Home::new();
    let mut before = other.agent();
    let own = before.save("Already here", "Before the import.");
    other.import_text(&home.export_text()).success();
    let mut agent = other.agent();
    let found = agent.search("kept second text");
    let whole = agent.ok("mem_get_observation", json!({"id": found[0], "history": true}));
    assert_eq!(whole["title"], "Kept 語🦉", "{whole:?}");
    assert_eq!(whole["revision"], 3, "{whole:?}");
    assert_eq!(whole.session(), "first / café", "{whole:?}");
    whole.assert_in_both(&["line two"]);
    assert_eq!(agent.search("recoverable"), Vec::<String>::new(), "a deleted one came back to life");
    let again =
        agent.ok("mem_save", json!({"title": "Kept", "content": "Third text.", "topic_key": "config/kept"}));
    assert_eq!(again["revision"], 4, "the topic key holds: {again:?}");
    assert_eq!(agent.get(&own)["content"], "Before the import.");
}

#[test]
fn the_index_does_not_read_an_import_again() {
    let home = furnished();
    let text = home.export_text();
    let other = Home::new();
    // A large file comes in several parts, the edges last: their events change nothing that is searched.
    let (edges, rest): (Vec<&str>, Vec<&str>) =
        text.lines().partition(|line| line.contains(r#""kind":"edge""#));
    assert!(!edges.is_empty());
    for lines in [rest.join("\n"), [rest[0], &edges.join("\n")].join("\n")] {
        other.import_text(&lines).success();
    }
    let last = other.events().iter().filter_map(|event| event["seq"].as_u64()).max();
    other.run(&["daemon", "stop"]).success();
    let meta = fs::read(other.data().join("index/meta.json")).unwrap();
    let index: Value = serde_json::from_slice(&meta).unwrap();
    let reached: Value = serde_json::from_str(index["payload"].as_str().unwrap()).unwrap();
    assert_eq!(reached["places"]["local"].as_u64(), last, "{reached}");
}

#[test]
fn a_malformed_file_is_refused_with_its_line() {
    let home = furnished();
    let good = home.export_text();
    let lines: Vec<&str> = good.lines().collect();
    let cut = lines.iter().position(|line| line.contains("\"memory\"")).unwrap();
    let half: String = lines[cut].chars().take(lines[cut].len() / 3).collect();
    for (what, text, words) in [
        ("no JSON", format!("{}\nnot json\n", lines[0]), vec!["2"]),
        ("half a line", format!("{}\n{half}", lines[..cut].join("\n")), vec![]),
        ("an unknown kind", format!("{}\n{{\"kind\":\"dream\"}}\n", lines[0]), vec!["2", "dream"]),
        ("no header", lines[1..].join("\n"), vec!["header"]),
        ("empty", String::new(), vec![]),
    ] {
        let refused = Home::new().import_text(&text);
        assert_ne!(refused.code(), 0, "{what}: {refused:?}");
        for word in words {
            assert!(refused.stderr.contains(word), "{what}: {word} is not said: {refused:?}");
        }
    }
    let missing = home.run(&["import", "/no/such/file.jsonl"]);
    assert_ne!(missing.code(), 0, "{missing:?}");
    assert!(missing.stderr.contains("/no/such/file.jsonl"), "{missing:?}");
}

#[test]
fn an_import_is_redacted_like_any_write() {
    let home = Home::new();
    let mut agent = home.agent();
    agent.ok("mem_session_start", json!({"id": "PLACEHOLDER", "directory": "/srv/PLACEHOLDER"}));
    agent.ok(
        "mem_save",
        json!({"title": "Tampered with", "content": "PLACEHOLDER is here.", "tags": ["PLACEHOLDER"]}),
    );
    agent.ok("mem_save_prompt", json!({"content": "Use PLACEHOLDER"}));
    let secret = format!("ghp_{}", "zY9xW8vU7tS6rQ5pO4nM3lK2jI1hG0fEdCbA");
    let tampered = home.export_text().replace("PLACEHOLDER", &secret);
    let by = format!("\"agent\":\"{secret}");
    let tampered = tampered.replace("\"agent\":\"", &by);
    let other = Home::new();
    other.import_text(&tampered).success();
    let text = other.export_text();
    assert!(!text.contains(&secret) && text.contains("[REDACTED:"), "{text}");
}

/// They are already in normal form, like names in an export.
#[test]
fn names_of_an_import_hold_no_secret() {
    let home = Home::new();
    home.pump().project("placeholder").start().save("Foreign", "Of another program.");
    let text = home.export_text();
    assert!(text.contains("\"project\":\"placeholder\""), "{text}");
    let named = text.replace("\"project\":\"placeholder\"", "\"project\":\"postgres://u:hunter2@h/db\"");
    let other = Home::new();
    other.import_text(&named).success();
    let text = other.export_text();
    assert!(!text.contains("hunter2") && text.contains("[redacted:url-password]"), "{text}");
}

/// The normal form of a name may look like a secret when the name did not.
#[test]
fn the_programs_own_names_come_through() {
    let home = Home::new();
    for name in ["XApp-Manager2024", "Sk-LearnContribExperiments2"] {
        home.pump().project(name).start().save("Kept", "In a project with an odd name.");
    }
    let prompt = json!({"session_id": "hooked", "cwd": "/srv/a\tb", "prompt": "Ask the ibis."}).to_string();
    hook(&home, "claude-code", "UserPromptSubmit", prompt.as_bytes());
    let text = home.export_text();
    assert!(text.contains("xapp-manager2024") && text.contains("/srv/a b"), "{text}");
    let other = Home::new();
    other.import_text(&text).success();
    assert_eq!(other.export_text(), text);
}

#[test]
fn a_purged_memory_is_exported_without_text() {
    let home = furnished();
    let lines = home.export();
    let purged = lines.iter().find(|line| line["purged"] == true).unwrap();
    let text = home.export_text();
    for (field, value) in [
        ("title", json!("A title")),
        ("content", json!("Text that came back.")),
        ("tags", json!(["tag"])),
        ("topic_key", json!("config/back")),
        ("deleted_at", Value::Null),
    ] {
        let mut tampered = purged.clone();
        tampered[field] = value;
        let tampered = tampered.to_string();
        let lines = text.lines().map(|line| if line.contains("\"purged\":true") { &tampered } else { line });
        let other = Home::new();
        let refused = other.import_text(&lines.collect::<Vec<_>>().join("\n"));
        assert!(refused.code() != 0 && refused.stderr.contains("purged"), "{field}: {refused:?}");
        assert!(!other.export_text().contains("\"purged\""), "{field}");
    }
}

#[test]
fn repeated_lines_are_imported_once() {
    let text = furnished().export_text();
    let other = Home::new();
    other.import_text(&format!("{text}{text}")).success();
    assert_eq!(other.export_text(), text);
}

/// Imports lines into a new home; returns it with the output of the import.
fn imported(lines: &[Value]) -> (Home, Finished) {
    let home = Home::new();
    let mut lines = lines.to_vec();
    if lines.first().is_none_or(|line| line["kind"] != "header") {
        lines.insert(0, home.export().swap_remove(0));
    }
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let done = home.import_text(&text);
    (home, done)
}

/// A line of a memory with some fields replaced.
fn memory_line(id: &str, other: Value) -> Value {
    let at = "2026-01-02T03:04:05Z";
    let mut line = json!({
        "kind": "memory", "id": id, "project": "p", "scope": "project", "type": "manual", "title": id,
        "content": format!("Of {id}."), "agent": "a", "revision": 1, "duplicate_count": 0, "created_at": at,
        "updated_at": at, "last_seen_at": at,
    });
    for (key, value) in other.as_object().unwrap() {
        line[key] = value.clone();
    }
    line
}

#[test]
fn a_row_of_a_part_of_an_export_has_its_session() {
    let at = "2026-01-01T00:00:00Z";
    let lines = [
        memory_line("aaaaaaaaaaaa", json!({"session": "left-out"})),
        memory_line("baaaaaaaaaaa", json!({"session": "mine", "scope": "personal"})),
        json!({
            "kind": "prompt", "id": "caaaaaaaaaaa", "session": "asked", "project": "owner/app", "agent": "other",
            "content": "Go on.", "created_at": at, "last_seen_at": at,
        }),
    ];
    let (home, done) = imported(&lines);
    done.success();
    let made: Vec<String> = home
        .export()
        .iter()
        .filter(|line| line["kind"] == "session")
        .map(|line| format!("{} {} {}", line["id"], line["project"], line["ended_at"]))
        .collect();
    assert_eq!(made.len(), 3, "{made:?}");
    assert!(made.iter().all(|line| line.contains("2026-01-0")), "{made:?}");
    home.run(&["doctor"]).success();
}

#[test]
fn imported_personal_memories_belong_to_no_project() {
    let personal = json!({"scope": "personal", "project": "p", "topic_key": "a/b"});
    let rival = json!({"scope": "personal", "project": "q", "topic_key": "a/b"});
    let lines = [
        memory_line("aaaaaaaaaaaa", personal),
        memory_line("bbbbbbbbbbbb", rival),
        memory_line("cccccccccccc", json!({})),
    ];
    let (home, done) = imported(&lines);
    assert_eq!(done.code(), 1, "{done:?}");
    assert!(done.stderr.contains("`a/b`") && done.stderr.contains("held by"), "{done:?}");
    let held = home.memories();
    let ids: Vec<&str> = held.iter().filter_map(|line| line["id"].as_str()).collect();
    assert_eq!(ids, ["aaaaaaaaaaaa", "cccccccccccc"], "the batch is taken but for the rival");
    assert_eq!(held[0]["project"], "");
    home.run(&["projects", "merge", "p", "q", "--yes"]).success();
    let moved = home.export().into_iter().find(|line| line["id"] == "aaaaaaaaaaaa").unwrap();
    assert_eq!((&moved["topic_key"], &moved["project"]), (&json!("a/b"), &json!("")));
}

#[test]
fn a_revision_without_room_for_later_ones_is_refused() {
    for revision in [0_u32, u32::MAX] {
        let (home, done) = imported(&[memory_line("aaaaaaaaaaaa", json!({"revision": revision}))]);
        assert!(done.code() == 1 && done.stderr.contains(&format!("revision {revision}")), "{done:?}");
        assert!(home.export().iter().all(|line| line["kind"] != "memory"));
    }
}

#[test]
fn a_moment_that_cannot_be_stored_is_refused_and_a_validity_for_ever_kept() {
    let mut lines = vec![memory_line("aaaaaaaaaaaa", json!({"valid_until": "9999-12-30T00:00:00Z"}))];
    for (id, name) in [("bbbbbbbbbbbb", "created_at"), ("cccccccccccc", "archived_at")] {
        for at in ["1066-10-14T00:00:00Z", "3000-01-01T00:00:00Z"] {
            lines.push(memory_line(id, json!({name: at})));
        }
    }
    let (home, done) = imported(&lines);
    assert_eq!((done.code(), done.stderr.matches("cannot be stored").count()), (1, 4), "{done:?}");
    let held = home.memories();
    assert_eq!(held.len(), 1, "{held:#?}");
    assert!(held[0]["valid_until"].as_str().unwrap().starts_with("2160-"), "{held:#?}");
    home.import_text(&format!("{}\n{}\n", home.export()[0], lines[0])).success();
}

#[test]
fn a_text_that_redaction_makes_too_long_is_refused() {
    let home = Home::new();
    let long = "https://u:k9X2@h ".repeat(256 * 1024 / 17);
    let refusal = home.agent().refused("mem_save", json!({"title": "Long", "content": long}));
    assert!(refusal.contains("content") && refusal.contains("256"), "{refusal}");
    let part = "https://u:k9X2@h ".repeat(1_000);
    home.agent().ok("mem_save", json!({"title": "Part", "content": part}));
    let (other, done) = imported(&home.export());
    assert_eq!(done.code(), 0, "{done:?}");
    assert!(other.export_text() == home.export_text());
}

#[test]
fn an_export_that_is_not_of_one_moment_says_so() {
    let home = Home::new();
    let mut agent = home.agent();
    for n in 0..300 {
        agent.save(&format!("Before {n}"), &format!("Text {n} before the export."));
    }
    let quiet = home.run(&["export"]);
    assert!(quiet.code() == 0 && !quiet.stderr.contains("warning"), "{}", quiet.stderr);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut agent = home.agent();
            let mut n = 0;
            while !stop.load(Ordering::Relaxed) {
                agent.save(&format!("During {n}"), &format!("Text {n} during the export."));
                n += 1;
            }
        });
        let warned = wait_until(|| home.run(&["export"]).stderr.contains("not of one moment"));
        stop.store(true, Ordering::Relaxed);
        assert!(warned, "no export under writes said that it is torn");
    });
}

/// Whether something is so within ten attempts.
fn wait_until(mut is_so: impl FnMut() -> bool) -> bool {
    (0..10).any(|_| is_so())
}
