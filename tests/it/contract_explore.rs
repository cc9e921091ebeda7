//! `mem_get_observation`, `mem_timeline` and `mem_context`.

use crate::support::{Agent, Home, Reply, Value, assert_keys, json};

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
    assert!(beyond.is_error || beyond["content"] == "", "{beyond:?}");
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

fn timeline_texts(reply: &Reply, key: &str) -> Vec<String> {
    reply.list(key).iter().map(Value::to_string).collect()
}

fn memory_ids(reply: &Reply, key: &str, known: &[String]) -> Vec<String> {
    reply.ids(key).into_iter().filter(|id| known.contains(id)).collect()
}

fn story(agent: &mut Agent) -> Vec<String> {
    agent.ok("mem_session_start", json!({"id": "story"}));
    (0..13).map(|n| agent.save(&format!("Chapter {n}"), &format!("What happened in chapter {n}."))).collect()
}

#[test]
fn a_timeline_has_five_on_either_side_in_order_of_time() {
    let home = Home::new();
    let mut agent = home.agent();
    let ids = story(&mut agent);
    let line = agent.ok("mem_timeline", json!({"id": ids[6]}));
    assert_keys(&line, &["session", "before", "focus", "after"], &[]);
    assert_eq!(line.session(), "story", "{line:?}");
    assert_eq!(line["focus"]["id"], ids[6], "{line:?}");
    assert_eq!(line.ids("before"), ids[1..6], "{line:?}");
    assert_eq!(line.ids("after"), ids[7..12], "{line:?}");
    for id in &ids[1..12] {
        line.assert_in_both(&[id]);
    }
}

#[test]
fn deleted_neighbours_give_their_places_to_others() {
    let home = Home::new();
    let mut agent = home.agent();
    let ids: Vec<String> =
        (0..12).map(|n| agent.save(&format!("Step {n}"), &format!("Did step {n}."))).collect();
    for n in [3, 4, 7, 8, 9, 10] {
        agent.ok("mem_delete", json!({ "id": ids[n] }));
    }
    let around = agent.ok("mem_timeline", json!({ "id": ids[5], "before": 3, "after": 2 }));
    assert_eq!(memory_ids(&around, "before", &ids), ids[0..3], "{around:?}");
    assert_eq!(memory_ids(&around, "after", &ids), [ids[6].clone(), ids[11].clone()], "{around:?}");
}

#[test]
fn zero_neighbours_means_none() {
    let home = Home::new();
    let mut agent = home.agent();
    let ids = story(&mut agent);
    for (before, after, want_before, want_after) in
        [(0, 2, &ids[6..6], &ids[7..9]), (2, 0, &ids[4..6], &ids[7..7]), (0, 0, &ids[6..6], &ids[7..7])]
    {
        let line = agent.ok("mem_timeline", json!({"id": ids[6], "before": before, "after": after}));
        assert_eq!(line.ids("before"), want_before, "{before} before: {line:?}");
        assert_eq!(line.ids("after"), want_after, "{after} after: {line:?}");
        assert!(line["before"].is_array() && line["after"].is_array(), "{line:?}");
    }
}

#[test]
fn a_timeline_shows_prompts_and_the_borders_of_sessions() {
    let home = Home::new();
    let mut agent = home.agent();
    agent.ok("mem_session_start", json!({"id": "first sitting"}));
    let early = agent.save("Before the prompt", "Early.");
    agent.ok("mem_save_prompt", json!({"content": "Please look at the lemur enclosure"}));
    let focus = agent.save("After the prompt", "Late.");
    agent.ok("mem_session_end", json!({}));
    agent.ok("mem_session_start", json!({"id": "second sitting"}));
    let later = agent.save("Another sitting", "Much later.");
    let known = [early.clone(), focus.clone(), later.clone()];

    let inside = agent.ok("mem_timeline", json!({"id": focus}));
    inside.assert_in_both(&["lemur enclosure", &early]);
    let before = timeline_texts(&inside, "before");
    let prompt = before.iter().position(|entry| entry.contains("lemur"));
    let memory = before.iter().position(|entry| entry.contains(&early));
    assert!(memory < prompt, "the memory is older than the prompt: {inside:?}");
    assert_eq!(memory_ids(&inside, "after", &known), Vec::<String>::new(), "within the session: {inside:?}");
    assert!(
        timeline_texts(&inside, "after").iter().any(|entry| entry.contains("end")),
        "its end: {inside:?}"
    );

    let project = agent.ok("mem_timeline", json!({"id": focus, "within": "project"}));
    assert_eq!(memory_ids(&project, "after", &known), [later], "{project:?}");
    project.assert_in_both(&["second sitting"]);
    let said = agent.refused("mem_timeline", json!({"id": focus, "within": "galaxy"}));
    assert!(said.contains("session") && said.contains("project") && said.contains("galaxy"), "{said}");
}

#[test]
fn a_timeline_stays_in_its_session_and_project() {
    let home = Home::new();
    let mut one = home.agent();
    let mut two = home.agent();
    let mut ids = Vec::new();
    for n in 0..3 {
        ids.push(one.save(&format!("One {n}"), &format!("By one, {n}.")));
        two.save(&format!("Two {n}"), &format!("By two, {n}."));
    }
    let line = one.ok("mem_timeline", json!({"id": ids[1]}));
    assert!(!line.structured.to_string().contains("Two "), "another session's: {line:?}");
    two.ok("mem_save", json!({"title": "Two far", "content": "Elsewhere.", "project": "other"}));
    let line = one.ok("mem_timeline", json!({"id": ids[1], "within": "project", "before": 50, "after": 50}));
    line.assert_in_both(&["Two 0", "Two 2"]);
    assert!(!line.structured.to_string().contains("Two far"), "another project's: {line:?}");
}

#[test]
fn an_empty_store_says_so() {
    let home = Home::new();
    let mut agent = home.agent();
    let context = agent.ok("mem_context", json!({}));
    assert_keys(&context, &["project", "text", "sessions", "prompts", "memories", "truncated"], &[]);
    assert_eq!(context["project"], "demo", "{context:?}");
    assert_eq!(context["memories"], 0, "{context:?}");
    assert_eq!(context["truncated"], false, "{context:?}");
    assert!(!context.str("text").trim().is_empty(), "{context:?}");
    assert!(context.text.contains("mem_save"), "no next step: {context:?}");
}

#[test]
fn context_shows_memories_prompts_and_sessions() {
    let home = Home::new();
    let mut agent = home.agent();
    let id = agent.save("Chose the narwhal format", "It is easy to read.");
    agent.ok("mem_save_prompt", json!({"content": "Design the narwhal export"}));
    let context = agent.ok("mem_context", json!({}));
    assert_eq!(context["memories"], 1, "{context:?}");
    assert_eq!(context["prompts"], 1, "{context:?}");
    assert!(context["sessions"].is_u64(), "{context:?}");
    context.assert_in_both(&[&id, "Chose the narwhal format", "Design the narwhal export"]);
    assert!(context.str("text").contains(&id), "{context:?}");
}

#[test]
fn context_always_fits_and_says_what_it_left_out() {
    let home = Home::new();
    let mut agent = home.agent();
    for n in 0..30 {
        agent.save(&format!("Long note {n} 🦊"), &long_text(1_500));
    }
    for max_bytes in [None, Some(500), Some(1_000), Some(3_000), Some(65_536)] {
        let mut arguments = json!({"limit": 50});
        if let Some(max_bytes) = max_bytes {
            arguments["max_bytes"] = json!(max_bytes);
        }
        let context = agent.ok("mem_context", arguments);
        let limit = max_bytes.unwrap_or(8_192);
        let text = context.str("text");
        assert!(text.len() <= limit, "{} bytes of {limit}: {context:?}", text.len());
        let shown = (0..30).filter(|n| text.contains(&format!("Long note {n} "))).count();
        assert_eq!(context["memories"], shown, "max_bytes {max_bytes:?}: {context:?}");
        assert_eq!(context["truncated"], shown < 30, "max_bytes {max_bytes:?}: {context:?}");
        if shown < 30 {
            assert!(text.contains("max_bytes") || text.contains("mem_search"), "how to get more: {text}");
        }
    }
}

#[test]
fn context_has_pinned_before_recent_and_the_newest_first() {
    let home = Home::new();
    let mut agent = home.agent();
    let pinned = agent.save("House rules", "Tabs are four columns.");
    let notes: Vec<String> =
        (0..8).map(|n| agent.save(&format!("Note {n}"), &format!("Content {n}."))).collect();
    home.run(&["pin", &pinned]).success();
    let context = agent.ok("mem_context", json!({"limit": 4}));
    let text = context.str("text").to_owned();
    let place = |id: &str| text.find(id);
    assert!(place(&pinned).is_some(), "{text}");
    assert!(place(&pinned) < place(&notes[7]), "pinned first: {text}");
    assert!(place(&notes[7]) < place(&notes[6]), "newest first: {text}");
    assert!(place(&notes[0]).is_none(), "beyond the limit: {text}");
    home.run(&["unpin", &pinned]).success();
    let context = agent.ok("mem_context", json!({"limit": 4}));
    assert!(!context.str("text").contains(&pinned), "no longer pinned: {context:?}");
}

#[test]
fn context_is_of_the_project_and_of_the_person() {
    let home = Home::new();
    let mut agent = home.agent();
    for (title, project, scope) in
        [("Here", "demo", "project"), ("There", "other", "project"), ("Mine", "other", "personal")]
    {
        agent.ok("mem_save", json!({"title": title, "content": "Text.", "project": project, "scope": scope}));
    }
    for (arguments, want) in [
        (json!({}), [true, false, true]),
        (json!({"project": "other"}), [false, true, true]),
        (json!({"scope": "project"}), [true, false, false]),
        (json!({"scope": "personal"}), [false, false, true]),
    ] {
        let context = agent.ok("mem_context", arguments.clone());
        let shown = ["Here", "There", "Mine"].map(|title| context.str("text").contains(title));
        assert_eq!(shown, want, "{arguments}: {context:?}");
    }
}
