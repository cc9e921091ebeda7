//! Session summaries: stored on the session and as a memory, and changed in both.

use crate::support::{AGENTS_MAY_PURGE, Agent, Home, Reply, json};

fn context(agent: &mut Agent) -> Reply {
    agent.ok("mem_context", json!({}))
}

#[test]
fn a_summary_is_deleted_with_the_memory_that_holds_it() {
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
fn a_summary_is_shown_from_the_moment_it_is_written() {
    let home = Home::new();
    let (mut agent, mut other) = (home.agent(), home.agent());
    agent.ok("mem_session_start", json!({"id": "mine"}));
    agent.ok("mem_session_summary", json!({"goal": "Count the quolls"}));
    let shows = |agent: &mut Agent| {
        let shown = context(agent);
        assert_eq!(shown.number("sessions"), 1, "{shown:?}");
        shown.assert_in_both(&["Count the quolls"]);
        assert!(!shown.text.contains("Unfinished"), "{shown:?}");
    };
    // While the session is live, and once it has ended: for the agent that wrote it, and for others.
    shows(&mut agent);
    shows(&mut other);
    agent.ok("mem_session_end", json!({}));
    shows(&mut agent);
    shows(&mut other);
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
fn a_note_of_a_summarys_type_is_shown_like_others() {
    let home = Home::new();
    let mut agent = home.agent();
    let key = json!({"type": "session_summary", "title": "Sprint retrospective"});
    let key = agent.ok("mem_suggest_topic_key", key).str("topic_key").to_owned();
    let note = json!({"type": "session_summary", "title": "Sprint retrospective", "content": "Went well.", "topic_key": key});
    agent.ok("mem_save", note);
    assert!(context(&mut home.agent()).text.contains("Sprint retrospective"));
    let summary = agent.ok("mem_session_summary", json!({"content": "The takin is fed."}));
    agent.ok("mem_update", json!({"id": summary.str("memory_id"), "project": "dest"}));
    let there = agent.ok("mem_context", json!({"project": "dest"}));
    assert!(there.text.contains("takin"), "{}", there.text);
}

#[test]
fn two_sessions_may_have_equal_summaries() {
    let home = Home::new();
    let mut agent = home.agent();
    let summarise = |agent: &mut Agent, session: &str| {
        let summary = json!({"session_id": session, "content": "Same words."});
        agent.ok("mem_session_summary", summary).str("memory_id").to_owned()
    };
    let first = summarise(&mut agent, "d1");
    summarise(&mut agent, "d2");
    agent.ok("mem_session_start", json!({"id": "d2"}));
    agent.ok("mem_update", json!({"id": first, "tags": ["x"]}));
    agent.ok("mem_update", json!({"id": first, "content": "Of the first alone."}));
    let sessions = home.json(&["sessions", "--project", "demo"]).to_string();
    assert_eq!(sessions.matches("Of the first alone.").count(), 1, "{sessions}");
    assert_eq!(sessions.matches("Same words.").count(), 1, "{sessions}");
}
