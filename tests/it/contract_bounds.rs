//! Every bound of the contract, at its edge and one beyond, in characters or bytes.

use crate::support::{Agent, Home, Value, json};

const CONTENT_BYTES_MAX: usize = 256 * 1024;

/// Characters of one, two, three and four bytes.
const WIDTHS: [&str; 4] = ["a", "é", "語", "🦉"];

fn save_with(key: &str, value: Value) -> Value {
    // Each has a content of its own, so that no save repeats another one.
    let mut arguments = json!({"title": "A title", "content": format!("Content of {value}.")});
    arguments[key] = value;
    arguments
}

/// Asserts that `inside` is taken and kept as it is and that `beyond` is refused by its bound.
#[track_caller]
fn assert_edge(agent: &mut Agent, key: &str, inside: Value, beyond: Value, bound: &str) {
    let saved = agent.ok("mem_save", save_with(key, inside.clone()));
    let shown: String = inside.to_string().chars().take(20).collect();
    assert!(agent.get(saved.str("id"))[key] == inside, "{key} {shown}… did not come back as it was");
    let refusal = agent.refused("mem_save", save_with(key, beyond));
    let digits = refusal.replace([',', '_', ' '], "");
    assert!(refusal.contains(key) && digits.contains(bound), "{key} beyond {bound}: {refusal}");
    assert!(refusal.len() < 1_000, "{key}: the error is {} bytes long", refusal.len());
}

#[test]
fn titles_have_300_characters() {
    let home = Home::new();
    let mut agent = home.agent();
    for c in WIDTHS {
        assert_edge(&mut agent, "title", json!(c.repeat(300)), json!(c.repeat(301)), "300");
    }
}

#[test]
fn contents_have_256_kib_and_are_never_cut() {
    let home = Home::new();
    let mut agent = home.agent();
    for (n, c) in WIDTHS.iter().enumerate() {
        let whole =
            format!("{}{}", c.repeat(CONTENT_BYTES_MAX / c.len()), "x".repeat(CONTENT_BYTES_MAX % c.len()));
        assert_eq!(whole.len(), CONTENT_BYTES_MAX);
        let arguments = json!({"title": format!("Whole {n}"), "content": whole});
        let saved = agent.ok("mem_save", arguments);
        let read =
            agent.ok("mem_get_observation", json!({"id": saved["id"], "max_bytes": CONTENT_BYTES_MAX}));
        assert!(read["content"] == whole, "content of {c} did not come back whole");

        let refusal = agent.refused("mem_save", json!({"title": "Too long", "content": format!("{whole}x")}));
        assert!(refusal.contains("content") && refusal.contains("256"), "{refusal}");
        let refusal = agent.refused("mem_update", json!({"id": saved["id"], "content": format!("{whole}x")}));
        assert!(refusal.contains("content") && refusal.contains("256"), "{refusal}");
        let refusal = agent.refused("mem_save_prompt", json!({"content": format!("{whole}x")}));
        assert!(refusal.contains("256"), "{refusal}");
    }
    let saved = agent.ok("mem_save", json!({"title": "One byte", "content": "x"}));
    assert_eq!(agent.get(saved.str("id"))["content"], "x");
    agent.refused("mem_save", json!({"title": "No byte", "content": ""}));
    assert_eq!(agent.search("too long"), Vec::<String>::new(), "a refused memory was stored");
}

#[test]
fn queries_have_2000_characters() {
    let home = Home::new();
    let mut agent = home.agent();
    let id = agent.save("Heron", "The heron stands still.");
    for c in WIDTHS {
        let inside = format!("heron {}", c.repeat(1_994));
        assert_eq!(agent.search(&inside), [id.clone()], "2,000 characters of {c}");
        let refusal = agent.refused("mem_search", json!({"query": format!("{inside}x")}));
        assert!(
            refusal.contains("query") && refusal.replace([',', '_', ' '], "").contains("2000"),
            "{refusal}"
        );
    }
    agent.ok("mem_search", json!({"query": "h"}));
}

#[test]
fn tags_are_up_to_16_of_64_characters() {
    let home = Home::new();
    let mut agent = home.agent();
    let tags = |n: usize| json!((0..n).map(|n| format!("tag-{n:02}")).collect::<Vec<_>>());
    assert_edge(&mut agent, "tags", tags(16), tags(17), "16");
    for c in WIDTHS {
        assert_edge(&mut agent, "tags", json!([c.repeat(64)]), json!([c.repeat(65)]), "64");
    }
}

#[test]
fn types_have_40_characters() {
    let home = Home::new();
    let mut agent = home.agent();
    assert_edge(&mut agent, "type", json!("t".repeat(40)), json!("t".repeat(41)), "40");
    agent.refused("mem_save", save_with("type", json!("///")));
}

#[test]
fn topic_keys_have_120_characters() {
    let home = Home::new();
    let mut agent = home.agent();
    for (inside, beyond) in [
        (format!("config/{}", "k".repeat(113)), format!("config/{}", "k".repeat(114))),
        (format!("config/{}", "語".repeat(113)), format!("config/{}", "語".repeat(114))),
    ] {
        assert_edge(&mut agent, "topic_key", json!(inside), json!(beyond), "120");
    }
}

#[test]
fn projects_have_200_characters() {
    let home = Home::new();
    let mut agent = home.agent();
    for c in ["p", "é"] {
        assert_edge(&mut agent, "project", json!(c.repeat(200)), json!(c.repeat(201)), "200");
    }
}

#[test]
fn session_ids_have_128_characters() {
    let home = Home::new();
    let mut agent = home.agent();
    for c in WIDTHS {
        let id = c.repeat(128);
        assert_eq!(agent.ok("mem_session_start", json!({"id": id}))["session_id"], id);
        let saved = agent.ok("mem_save", save_with("session_id", json!(id)));
        assert_eq!(agent.get(saved.str("id")).session(), id);
        for (tool, arguments) in [
            ("mem_session_start", json!({"id": c.repeat(129)})),
            ("mem_save", save_with("session_id", json!(c.repeat(129)))),
            ("mem_session_end", json!({"session_id": c.repeat(129)})),
            ("mem_save_prompt", json!({"content": "x", "session_id": c.repeat(129)})),
        ] {
            let refusal = agent.refused(tool, arguments);
            assert!(refusal.contains("session") && refusal.contains("128"), "{tool}: {refusal}");
        }
    }
}

#[test]
fn context_and_pieces_have_their_largest_sizes() {
    let home = Home::new();
    let mut agent = home.agent();
    for n in 0..50 {
        agent.save(&format!("Note {n} {}", "語".repeat(280)), &"語 ".repeat(800));
    }
    let id = agent.save("Long", &"x".repeat(CONTENT_BYTES_MAX));
    for max_bytes in [65_536_u64, 65_537, 10_000_000] {
        let context = agent.ok("mem_context", json!({"max_bytes": max_bytes, "limit": 50}));
        assert!(context.str("text").len() <= 65_536, "max_bytes {max_bytes}: {}", context.str("text").len());
        let piece = agent.ok("mem_get_observation", json!({"id": id, "max_bytes": max_bytes}));
        assert!(piece.str("content").len() as u64 <= max_bytes, "max_bytes {max_bytes}");
    }
    for (before, after) in [(50, 0), (51, 0), (10_000, 10_000)] {
        let line = agent.ok("mem_timeline", json!({"id": id, "before": before, "after": after}));
        assert!(line.list("before").len() <= 50, "{} before", line.list("before").len());
    }
}
