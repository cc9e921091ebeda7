//! What the contract says in passing, each of which a program gets wrong easily.

use crate::support::{AGENTS_MAY_PURGE, Agent, Home, Reply, Value, json, wait_for};

const NOTES: &str = "not instructions";

fn context(agent: &mut Agent) -> Reply {
    agent.ok("mem_context", json!({}))
}

/// A token of a kind that is known, made up.
fn token() -> String {
    ["ghp_", &"aB3d".repeat(9)].concat()
}

#[test]
fn a_summary_goes_with_the_memory_that_holds_it() {
    let home = Home::with_config(AGENTS_MAY_PURGE);
    let mut agent = home.agent();
    let ended = agent.ok("mem_session_end", json!({"session_id": "s", "summary": "The quokka plan."}));
    let id = ended.str("memory_id").to_owned();
    assert!(context(&mut agent)["text"].as_str().unwrap().contains("quokka"));

    agent.ok("mem_update", json!({"id": id, "content": "The numbat plan."}));
    let text = context(&mut agent).text;
    assert!(text.contains("numbat") && !text.contains("quokka"), "{text}");

    agent.ok("mem_delete", json!({"id": id}));
    assert!(!context(&mut agent).text.contains("numbat"));
    assert!(!home.json(&["sessions", "--all-projects"]).to_string().contains("numbat"));
    home.run(&["restore", &id]).success();
    assert!(context(&mut agent).text.contains("numbat"));

    agent.ok("mem_delete", json!({"id": id, "hard": true}));
    let other = agent.save("Another", "In the same project.");
    let timeline = agent.ok("mem_timeline", json!({"id": other, "within": "project"}));
    assert!(!timeline.text.contains("numbat"), "{}", timeline.text);
    assert!(!home.export_text().contains("numbat"));
}

#[test]
fn a_moved_summary_is_revised_and_does_not_pile_up() {
    let home = Home::new();
    let mut agent = home.agent();
    for (n, change) in
        [json!({"topic_key": "notes/mine"}), json!({"topic_key": ""}), json!({"scope": "personal"})]
            .into_iter()
            .enumerate()
    {
        let summary = |agent: &mut Agent, content: &str| {
            agent.ok("mem_session_summary", json!({"session_id": format!("s{n}"), "content": content}))
        };
        let first = summary(&mut agent, "First words.");
        let id = first.str("memory_id").to_owned();
        let mut update = change;
        update["id"] = json!(id);
        agent.ok("mem_update", update);
        let second = summary(&mut agent, "Second words.");
        assert_eq!((second.str("memory_id"), second.str("outcome")), (id.as_str(), "updated"), "{second:?}");
        assert_eq!(summary(&mut agent, "Second words.").str("outcome"), "unchanged");
        assert_eq!(second.str("project"), "demo");
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
fn secrets_are_taken_out_wherever_they_come_in() {
    let home = Home::new();
    let token = token();
    let folder = home.work().join(&token);
    std::fs::create_dir_all(&folder).unwrap();
    let mut agent = home.pump().cwd(&folder).env("CLAUDE_CODE_SESSION_ID", format!("env {token}")).start();
    agent.save("In a folder with a secret name", "And a session of such an id.");
    let key = ["-----BEGIN RSA PRIVATE KEY-----", "MIIEowIBAAKCAQEA", "-----END RSA PRIVATE KEY-----"];
    let meta = json!({"sessionId": format!("meta {token}")});
    let saved =
        agent.ok_with_meta("mem_save", json!({"title": "Tagged", "content": "Text.", "tags": key}), meta);
    assert_eq!(saved.number("redacted"), 1, "{saved:?}");
    let private = json!(["<private>hidden one", "hidden two</private>", "seen"]);
    agent.ok("mem_session_summary", json!({"goal": "g", "files": private}));
    let split = format!("{}\u{0}{}", &token[..12], &token[12..]);
    let saved = agent.ok("mem_save", json!({"title": "Split", "content": split, "project": split}));
    assert_eq!(saved.number("redacted"), 2, "{saved:?}");
    let refused = agent.request("tools/call", json!({"name": token, "arguments": {}})).unwrap_err();
    assert!(!format!("{refused:?}").contains(&token), "{refused:?}");

    let all = format!("{}{}", home.export_text(), home.log_tail());
    for secret in [&token, &token.to_lowercase(), "MIIEow", "hidden two"] {
        assert!(!all.contains(secret), "{secret}: {all}");
    }
    assert!(all.contains("seen"));
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

#[test]
fn a_project_is_new_once() {
    let home = Home::new();
    let mut agent = home.agent();
    let new = |reply: &Reply| reply.structured.get("new_project").cloned();
    let start = agent.ok("mem_session_start", json!({"id": "a", "project": "acme-web"}));
    assert_eq!(new(&start), Some(json!(true)), "{start:?}");
    let save = json!({"title": "T", "content": "C.", "project": "acme-web"});
    assert_eq!(new(&agent.ok("mem_save", save)), None);
    let personal = agent.ok("mem_save", json!({"title": "Mine", "content": "C.", "scope": "personal"}));
    let update = agent.ok("mem_update", json!({"id": personal["id"], "project": "third"}));
    assert_eq!((new(&update), update.str("outcome")), (None, "unchanged"), "{update:?}");
    let moved = agent.ok("mem_update", json!({"id": personal["id"], "project": "third", "scope": "project"}));
    assert_eq!(new(&moved), Some(json!(true)), "{moved:?}");
    home.kill_daemon();
    let again = agent.ok("mem_session_start", json!({"id": "b", "project": "acme-web"}));
    assert_eq!(new(&again), None, "{again:?}");
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
fn unknown_sessions_are_made() {
    let home = Home::new();
    let mut agent = home.agent();
    assert_eq!(agent.ok("mem_session_end", json!({"session_id": "ghost"})).str("session_id"), "ghost");
    agent.ok("mem_session_end", json!({}));
    let child = agent.ok("mem_session_start", json!({"id": "child", "parent_id": "parent"}));
    assert_eq!(child.str("follows"), "parent");
    let parent = agent.ok("mem_session_start", json!({"id": "parent", "parent_id": "child"}));
    assert!(parent.structured.get("follows").is_none(), "two sessions follow each other: {parent:?}");
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

#[test]
fn what_is_quoted_is_called_a_note_with_date_and_agent() {
    let home = Home::new();
    let mut agent = home.agent();
    agent.ok(
        "mem_save",
        json!({"title": "Retry limit", "content": "Three.", "topic_key": "config/retry-limit"}),
    );
    let quoted = [
        agent.ok("mem_save", json!({"title": "Retry limit", "content": "Other words on it."})),
        agent.ok("mem_suggest_topic_key", json!({"title": "Retry limits", "type": "config"})),
        agent.ok(
            "mem_save",
            json!({"title": "Retry limit", "content": "Four.", "topic_key": "config/retry-limit"}),
        ),
    ];
    for reply in quoted {
        let today = &jiff::Timestamp::now().to_string()[..7];
        assert!(reply.text.contains(NOTES) && reply.text.contains(today), "{}", reply.text);
        assert!(reply.text.contains("test-agent") && reply.text.contains("demo"), "{}", reply.text);
    }
}

#[test]
fn repetitions_are_seen_whatever_else_is_given() {
    let home = Home::new();
    let mut agent = home.agent();
    let prompt = |agent: &mut Agent, project: &str| {
        agent.ok("mem_save_prompt", json!({"content": "hello", "project": project}))["outcome"].clone()
    };
    assert_eq!((prompt(&mut agent, "p1"), prompt(&mut agent, "p2")), (json!("created"), json!("unchanged")));
    agent.ok("mem_save", json!({"title": "K", "content": "Same.", "topic_key": "k/du"}));
    let again = agent.ok("mem_save", json!({"title": "K", "content": "Same."}));
    assert_eq!((again.str("outcome"), again.str("topic_key")), ("duplicate", "k/du"), "{again:?}");
    assert!(again.structured.get("suggested_topic_key").is_none(), "{again:?}");
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
