//! `mem_context`: what an agent is shown first, in which order, and within which size.

use crate::support::{Agent, Home, Reply, assert_keys, json, wait_for};

fn context(agent: &mut Agent) -> Reply {
    agent.ok("mem_context", json!({}))
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
        agent.save(&format!("Long note {n} 🦊"), &"🦉é and more ".repeat(94));
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
    let position = |id: &str| text.find(id);
    assert!(position(&pinned).is_some(), "{text}");
    assert!(position(&pinned) < position(&notes[7]), "pinned first: {text}");
    assert!(position(&notes[7]) < position(&notes[6]), "newest first: {text}");
    assert!(position(&notes[0]).is_none(), "beyond the limit: {text}");
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

#[test]
fn context_shows_memories_however_many_summaries_are_newer() {
    let home = Home::new();
    let mut agent = home.agent();
    for n in 0..5 {
        agent.save(&format!("Old {n}"), &format!("A finding, number {n}."));
    }
    for n in 0..20 {
        agent
            .ok("mem_session_summary", json!({"session_id": format!("s{n}"), "content": format!("Sum {n}")}));
    }
    assert_eq!(context(&mut agent).number("memories"), 5);

    let lone = Home::new();
    let mut agent = lone.agent();
    agent.ok("mem_save", json!({"title": "Week", "content": "We shipped.", "type": "session_summary"}));
    let shown = context(&mut agent);
    assert!(shown.number("memories") == 1 && shown.text.contains("Week"), "{shown:?}");
    for n in 0..4 {
        agent.save(&format!("Note {n}"), &format!("The text of {n}."));
    }
    let some = agent.ok("mem_context", json!({"limit": 3}));
    assert!(some.number("memories") == 3 && some.text.contains("Older memories"), "{some:?}");
}

#[test]
fn an_unfinished_session_is_not_hidden_by_its_sub_agent() {
    let home = Home::new();
    let mut main = home.agent();
    main.ok("mem_session_start", json!({"id": "main"}));
    main.ok("mem_session_summary", json!({"goal": "Port the wombat driver", "next_steps": ["Test on ARM"]}));
    main.ok("mem_session_start", json!({"id": "sub", "parent_id": "main"}));
    main.ok("mem_session_end", json!({"session_id": "sub", "summary": "The sub-agent is done."}));
    drop(main);
    let mut next = home.agent();
    let shown = wait_for("the session to show as unfinished", || {
        let shown = context(&mut next);
        shown.text.contains("Unfinished").then_some(shown)
    });
    let (unfinished, _) = shown.text.split_once("Recent sessions").unwrap();
    assert!(unfinished.contains("wombat driver") && unfinished.contains("Test on ARM"), "{}", shown.text);
    assert_eq!((shown.number("sessions"), shown.text.matches("`main`").count()), (2, 1), "{}", shown.text);
}

#[test]
fn context_fits_the_smallest_sizes() {
    let home = Home::new();
    let mut agent = home.agent();
    for max_bytes in [1, 50, 98, 171, 300] {
        for _ in 0..2 {
            let text = agent.ok("mem_context", json!({"max_bytes": max_bytes}))["text"].clone();
            assert!(text.as_str().unwrap().len() <= max_bytes, "{max_bytes}: {text}");
        }
        agent.save(&format!("Of {max_bytes}"), "Something long enough to be left out of a small context.");
    }
}

#[test]
fn a_persons_commands_do_not_hide_what_agents_did() {
    let home = Home::new();
    let mut agent = home.agent();
    agent.ok("mem_session_start", json!({"id": "done"}));
    agent.ok("mem_session_end", json!({"summary": "The gaur report is finished."}));
    for n in 0..11 {
        home.run(&["save", &format!("Note {n}"), &format!("Text {n}."), "--project", "demo"]).success();
    }
    assert!(context(&mut home.agent()).text.contains("gaur"));
}

#[test]
fn no_pinned_memory_is_left_out_in_silence() {
    let home = Home::new();
    let mut agent = home.agent();
    let ids: Vec<String> = (0..23).map(|n| agent.save(&format!("Pin {n}."), &format!("Text {n}."))).collect();
    for id in &ids {
        home.run(&["pin", id]).success();
    }
    let context = agent.ok("mem_context", json!({"max_bytes": 65_536}));
    assert!((0..23).all(|n| context.text.contains(&format!("Pin {n}."))), "{}", context.text);
}
