//! `mem_save_prompt` and `mem_stats`.

use crate::support::{Agent, Home, Value, assert_keys, json};

#[test]
fn a_prompt_is_kept_once_per_session_and_window() {
    let home = Home::new();
    let mut agent = home.agent();
    agent.ok("mem_session_start", json!({"id": "s1"}));
    let first = agent.ok("mem_save_prompt", json!({"content": "Make the tests faster"}));
    assert_keys(&first, &["id", "outcome"], &[]);
    assert_eq!(first["outcome"], "created", "{first:?}");
    first.assert_in_both(&[first.str("id")]);
    let again = agent.ok("mem_save_prompt", json!({"content": "Make the tests faster"}));
    assert_eq!(again["outcome"], "unchanged", "{again:?}");
    assert_eq!(again["id"], first["id"], "{again:?}");
    let other = agent.ok("mem_save_prompt", json!({"content": "Make the tests slower"}));
    assert_eq!(other["outcome"], "created", "{other:?}");
    let elsewhere =
        agent.ok("mem_save_prompt", json!({"content": "Make the tests faster", "session_id": "s2"}));
    assert_eq!(elsewhere["outcome"], "created", "of another session: {elsewhere:?}");
    assert_ne!(elsewhere["id"], first["id"], "{elsewhere:?}");
    let prompts = home.json(&["prompts", "--project", "demo"]).to_string();
    assert_eq!(prompts.matches("Make the tests faster").count(), 2, "{prompts}");
}

#[test]
fn a_prompt_is_not_a_memory() {
    let home = Home::new();
    let mut agent = home.agent();
    agent.ok("mem_save_prompt", json!({"content": "Tell me of the dugong"}));
    assert_eq!(agent.search("dugong"), Vec::<String>::new());
    let refusal = agent.refused("mem_save_prompt", json!({}));
    assert!(refusal.contains("content"), "{refusal}");
}

/// The first number found under a key with one of these names, at any depth.
fn number(value: &Value, names: &[&str]) -> Option<f64> {
    match value {
        Value::Object(map) => map
            .iter()
            .find_map(|(key, value)| names.contains(&key.as_str()).then(|| value.as_f64()).flatten())
            .or_else(|| map.values().find_map(|value| number(value, names))),
        _ => None,
    }
}

fn stats(agent: &mut Agent, arguments: Value) -> Value {
    let reply = agent.ok("mem_stats", arguments);
    assert!(!reply.text.trim().is_empty(), "{reply:?}");
    reply.structured
}

#[test]
fn stats_count_memories_sessions_and_prompts() {
    let home = Home::new();
    let mut agent = home.agent();
    agent.ok("mem_session_start", json!({"id": "s1"}));
    let ids: Vec<String> =
        (0..5).map(|n| agent.save(&format!("Counted {n}"), &format!("Text {n}."))).collect();
    agent.ok("mem_delete", json!({"id": ids[0]}));
    agent.ok("mem_save_prompt", json!({"content": "Count them"}));
    agent.ok("mem_save", json!({"title": "Far", "content": "Text.", "project": "other"}));
    let all = stats(&mut agent, json!({}));
    let here = stats(&mut agent, json!({"project": "demo"}));
    assert_eq!(number(&here, &["live"]), Some(4.0), "{here}");
    assert_eq!(number(&here, &["deleted"]), Some(1.0), "{here}");
    assert_eq!(number(&all, &["prompts"]), Some(1.0), "{all}");
    assert_eq!(number(&all, &["sessions"]), Some(1.0), "{all}");
    assert!(
        all.to_string().contains("CREATED_IN") || all.to_string().contains("created_in"),
        "edges by kind: {all}"
    );
}

#[test]
fn stats_report_the_state_of_the_program() {
    let home = Home::new();
    let mut agent = home.agent();
    let _other = home.agent();
    agent.save("Something", "Stored.");
    let all = stats(&mut agent, json!({}));
    let keys = keys(&all);
    for part in ["bytes", "schema", "worker", "clients", "version", "uptime"] {
        assert!(keys.iter().any(|key| key.contains(part)), "nothing of {part}: {all}");
    }
    assert!(all.to_string().contains(env!("CARGO_PKG_VERSION")), "{all}");
    let bytes =
        all.as_object().unwrap().iter().find(|(key, _)| key.contains("bytes")).map(|(_, value)| value);
    let bytes = bytes
        .and_then(Value::as_u64)
        .or(number(&all, &["bytes", "disk_bytes", "bytes_on_disk"]).map(|n| n as u64));
    assert!(bytes.is_some_and(|bytes| bytes > 0), "{all}");
    assert_eq!(number(&all, &["clients"]), Some(2.0), "{all}");
}

fn keys(value: &Value) -> Vec<String> {
    match value {
        Value::Object(map) => {
            map.iter().flat_map(|(key, value)| std::iter::once(key.clone()).chain(keys(value))).collect()
        }
        Value::Array(items) => items.iter().flat_map(keys).collect(),
        _ => Vec::new(),
    }
}
