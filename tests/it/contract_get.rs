//! `mem_get_observation`: a whole memory, piece by piece, and its history.

use crate::support::{Agent, Home, Value, json};

/// Text of four-byte and one-byte characters, so that most cuts would fall inside one.
fn long_text(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes);
    let mut n = 0;
    while text.len() + 16 < bytes {
        text.push_str(&format!("🦉é{n} "));
        n += 1;
    }
    text
}

#[test]
fn a_long_content_is_read_in_pieces_that_join() {
    let home = Home::new();
    let mut agent = home.agent();
    let content = long_text(100_000);
    let id = agent.save("A long one", &content);
    for max_bytes in [None, Some(1_000), Some(262_144)] {
        let limit = max_bytes.unwrap_or(32_768);
        let mut joined = String::new();
        let mut arguments = json!({"id": id});
        if let Some(max_bytes) = max_bytes {
            arguments["max_bytes"] = json!(max_bytes);
        }
        loop {
            let piece = agent.ok("mem_get_observation", arguments.clone());
            let text = piece.str("content");
            assert!(!text.is_empty() && text.len() <= limit, "{} bytes of {limit}", text.len());
            joined.push_str(text);
            let Some(next) = piece["next_offset"].as_u64() else { break };
            assert!(piece.text.contains(&next.to_string()), "the next step is not in the text half");
            arguments["offset"] = json!(next);
        }
        assert!(joined == content, "max_bytes {max_bytes:?}: the pieces do not join");
    }
    let beyond = agent.call("mem_get_observation", json!({"id": id, "offset": 10_000_000}));
    assert!(
        beyond.is_error && beyond.text.contains(&format!("end of {} bytes", content.len())),
        "{beyond:?}"
    );
}

#[test]
fn the_history_is_whole_and_paged() {
    let home = Home::new();
    let mut agent = home.agent();
    let id = agent.save("Often revised", "Text number 0.");
    for n in 1..=60 {
        agent.ok("mem_update", json!({"id": id, "content": format!("Text number {n}.")}));
    }
    let mut seen = Vec::new();
    let mut arguments = json!({"id": id, "history": true});
    for _ in 0..100 {
        let page = agent.ok("mem_get_observation", arguments.clone());
        for entry in page.revisions() {
            seen.push(entry["content"].as_str().unwrap_or_default().to_owned());
        }
        let Some(next) = page["next_offset"].as_u64() else { break };
        arguments["offset"] = json!(next);
    }
    seen.push(agent.get(&id).str("content").to_owned());
    for n in 0..=60 {
        let want = format!("Text number {n}.");
        assert!(seen.contains(&want), "revision {n} is in no page: {seen:?}");
    }
    arguments["offset"] = json!(60);
    let beyond = agent.call("mem_get_observation", arguments);
    assert!(beyond.is_error && beyond.text.contains("its earlier revisions"), "{beyond:?}");
    let plain = agent.get(&id);
    assert!(plain.revisions().is_empty(), "it was not asked for: {plain:?}");
}

#[test]
fn an_id_is_read_with_and_without_its_table() {
    let home = Home::new();
    let mut agent = home.agent();
    let id = agent.save("Read kindly", "With a prefix too.");
    for written in [id.clone(), format!("memory:{id}"), format!(" {id}\n")] {
        assert_eq!(agent.get(&written)["id"], id, "{written:?}");
    }
}

#[test]
fn history_says_what_it_leaves_out_and_gives_every_field() {
    let home = Home::new();
    let mut agent = home.agent();
    let long = "abcdefghi ".repeat(6_000);
    let id = agent
        .ok("mem_save", json!({"title": "T", "content": long, "topic_key": "big/one", "tags": ["prod", "db"], "type": "config"}))
        .str("id")
        .to_owned();
    agent.ok("mem_save", json!({"title": "T", "content": format!("{long}!"), "topic_key": "big/one"}));
    let read = |agent: &mut Agent, max_bytes: usize| {
        agent.ok("mem_get_observation", json!({"id": id, "history": true, "max_bytes": max_bytes}))
    };
    let page = read(&mut agent, 32_768);
    let earlier = &page.revisions()[0];
    assert_eq!(earlier["content_bytes"], 60_000, "{}", earlier["title"]);
    assert_eq!(page.text.matches("the first 32768 of 6000").count(), 2, "both texts are cut");
    assert_eq!((&earlier["tags"], &earlier["topic_key"]), (&json!(["prod", "db"]), &json!("big/one")));
    for fact in ["type: config", "tags: prod, db", "topic_key: big/one"] {
        assert!(page.text.contains(fact), "no {fact}");
    }
    let whole = read(&mut agent, 262_144);
    assert_eq!(whole.revisions()[0]["content"], json!(long));
    assert_eq!(whole.revisions()[0]["content_bytes"], Value::Null);
}
