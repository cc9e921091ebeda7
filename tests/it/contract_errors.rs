//! Errors of the tools: each names the value that was refused and the next step.

use crate::support::{Home, json};

#[test]
fn errors_name_the_value_and_the_next_step() {
    let home = Home::new();
    let mut agent = home.agent();
    for id in [
        "k3fabcdefghi", "memory:k3fabcdefghi", "session:k3fabcdefghi", "nonsense", "", "K3F!", "999999999999",
    ] {
        for (tool, extra) in [
            ("mem_get_observation", json!({})),
            ("mem_timeline", json!({})),
            ("mem_update", json!({"title": "x"})),
            ("mem_delete", json!({})),
        ] {
            let mut arguments = extra;
            arguments["id"] = json!(id);
            let refusal = agent.refused(tool, arguments);
            let bare = id.trim_start_matches("memory:");
            assert!(refusal.contains(bare), "{tool} does not name {id}: {refusal}");
            assert!(refusal.contains("mem_search"), "{tool} does not say what to do: {refusal}");
        }
    }
}

#[test]
fn an_id_that_is_no_text_is_refused_with_the_next_step() {
    let home = Home::new();
    let mut agent = home.agent();
    for id in [json!(["kvbtgeyfhtal"]), json!({"id": "kvbtgeyfhtal"})] {
        let refusal = agent.refused("mem_get_observation", json!({"id": id}));
        assert!(refusal.contains("kvbtgeyfhtal") && refusal.contains("mem_search"), "{refusal}");
    }
}

#[test]
fn an_offending_value_is_cut_in_the_error() {
    let home = Home::new();
    let mut agent = home.agent();
    let long = format!("start{}", "é".repeat(5_000));
    for (tool, arguments) in [
        ("mem_get_observation", json!({"id": long})),
        ("mem_save", json!({"title": "x", "content": "x", "scope": long})),
        ("mem_search", json!({"query": "x", "since": long})),
        ("mem_search", json!({"query": "x", "limit": long})),
    ] {
        let refusal = agent.refused(tool, arguments);
        assert!(refusal.contains("start"), "{tool}: {refusal}");
        assert!(
            refusal.matches('é').count() <= 80,
            "{tool}: {} characters of it",
            refusal.matches('é').count()
        );
    }
}

#[test]
fn a_refused_call_names_what_it_does_not_know() {
    let home = Home::new();
    let mut agent = home.agent();
    let refused = agent.refused("mem_save", json!({"titel": "x", "content": "y", "tags": ["z"]}));
    assert!(refused.contains("`title`") && refused.contains("titel"), "{refused}");
    assert!(!refused.contains("content") && !refused.contains("tags"), "{refused}");
    let id = agent.save("T", "C.");
    let refused = agent.refused("mem_update", json!({"id": id, "expected_revision": -1, "title": "U"}));
    assert!(refused.contains("-1"), "{refused}");
    let long = "x".repeat(300_000);
    let refused = agent.refused("mem_session_end", json!({"summary": long}));
    assert!(refused.contains("summary") && !refused.contains("content"), "{refused}");
    let refused = agent.refused("mem_suggest_topic_key", json!({"title": "T", "type": "t".repeat(41)}));
    assert!(refused.contains("type"), "{refused}");
    agent.ok("mem_search", json!({"query": "c", "until": "9999-12-31", "since": "2026-01-01"}));
}
