//! `mem_timeline`: what happened before and after a memory, in order of time.

use crate::support::{Agent, Home, Reply, Value, assert_keys, json};

fn timeline_texts(reply: &Reply, key: &str) -> Vec<String> {
    reply.list(key).iter().map(Value::to_string).collect()
}

fn memory_ids(reply: &Reply, key: &str, known: &[String]) -> Vec<String> {
    reply.ids(key).into_iter().filter(|id| known.contains(id)).collect()
}

fn seed(agent: &mut Agent) -> Vec<String> {
    agent.ok("mem_session_start", json!({"id": "story"}));
    (0..13).map(|n| agent.save(&format!("Chapter {n}"), &format!("What happened in chapter {n}."))).collect()
}

#[test]
fn a_timeline_has_five_on_either_side_in_order_of_time() {
    let home = Home::new();
    let mut agent = home.agent();
    let ids = seed(&mut agent);
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
    let ids = seed(&mut agent);
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
    let refusal = agent.refused("mem_timeline", json!({"id": focus, "within": "galaxy"}));
    assert!(
        refusal.contains("session") && refusal.contains("project") && refusal.contains("galaxy"),
        "{refusal}"
    );
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
fn a_session_begins_before_its_first_memory() {
    let home = Home::new();
    let mut agent = home.agent();
    let id = agent.save("The first", "Of a session that nobody began.");
    for within in ["session", "project"] {
        let timeline = agent.ok("mem_timeline", json!({"id": id, "within": within}));
        let before = timeline.list("before");
        assert_eq!(
            (before.len(), &before[0]["kind"]),
            (1, &json!("session_start")),
            "{within}: {timeline:?}"
        );
        assert!(timeline.text.contains("project demo"), "{}", timeline.text);
    }
}

#[test]
fn a_timeline_has_every_border_it_has_room_for() {
    let home = Home::new();
    let mut agent = home.agent();
    agent.save("Long ago", "Before all of them.");
    for n in 0..26 {
        agent.ok("mem_session_start", json!({"id": format!("b{n}")}));
        agent.ok("mem_session_end", json!({}));
    }
    agent.ok("mem_session_start", json!({"id": "last"}));
    let id = agent.save("Now", "After all of them.");
    let timeline = agent.ok("mem_timeline", json!({"id": id, "within": "project", "before": 50}));
    let before = timeline["before"].as_array().unwrap().clone();
    assert_eq!(before.len(), 50, "{before:?}");
    assert!(before.iter().any(|entry| entry["id"] == "b1"), "{before:?}");
}
