//! The tasks of a session whose agent was killed, as the next session of another agent is shown them.

use crate::hooks::report;
use crate::support::{Agent, Home, Value, json};
use crate::work_hooks::{context_at_start, wait_for, works};

const TOOLS: &str = "[work]\ntools = true\n";

/// A session of Claude Code with a request, and its server.
fn session(home: &Home, session: &'static str, request: &str) -> Agent {
    home.json(&["projects"]);
    let agent = home.pump().env("CLAUDE_CODE_SESSION_ID", session).client("claude-code").start();
    report(home, "claude-code", "SessionStart", session, json!({ "source": "startup" }));
    report(home, "claude-code", "UserPromptSubmit", session, json!({ "prompt": request }));
    agent
}

fn begun(agent: &mut Agent) -> String {
    let begin = json!({ "title": "Release 1.2", "steps": ["tests", "tag", "publish"] });
    let work = agent.ok("work_begin", begin)["work"].as_str().unwrap().to_owned();
    let intent = json!({
        "work": work, "event": "intent", "key": "npm-publish", "text": "npm publish 1.2", "repeat": "never",
    });
    agent.ok("work_note", json!({ "work": work, "event": "step_done", "step": 1 }));
    assert_eq!(agent.ok("work_note", intent)["outcome"], "recorded");
    work
}

/// Kills a session's agent, and waits until that is seen in as many pieces of work.
fn killed(home: &Home, agent: Agent, lost: usize) {
    drop(agent);
    wait_for(home, "the loss is seen", |works| {
        works.iter().filter(|work| work["stale"] == "lost").count() == lost
    });
}

fn ids(home: &Home, state: &str) -> Vec<String> {
    let listed = home.json(&["work", "list", "--all-projects", "--state", state])["works"].clone();
    listed.as_array().unwrap().iter().map(|work| work["work"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_task_of_a_dead_session_and_its_open_effect_are_handed_over_first() {
    let home = Home::with_config(TOOLS);
    let mut agent = session(&home, "first", "Publish release 1.2");
    let work = begun(&mut agent);
    killed(&home, agent, 2);
    let context = context_at_start(&home, "codex", "second", "startup");
    let lines: Vec<&str> = context.lines().collect();
    let effect = "Unknown outcome: npm publish 1.2 (key npm-publish): for a person to decide";
    assert_eq!(lines[2], format!("{effect}, in work {work}"), "{context}");
    assert!(lines[3].contains("\"Release 1.2\"") && lines[3].ends_with("next by its plan: tag"), "{context}");
    assert!(ids(&home, "stale").contains(&work) && ids(&home, "free").contains(&work));
    let shown = home.run(&["work", "resume", &work]).success();
    assert!(!shown.contains("held by") && shown.contains("lost"), "{shown}");
    let listed = works(&home);
    let task = listed.iter().find(|one| one["work"] == work.as_str()).unwrap();
    assert!(task["holder"].is_null(), "{task}");
    assert_eq!(home.json(&["work", "resume", &work])["work"]["stale"], "lost");

    // The answer to a claim describes the state after it.
    let mut next = home.pump().client("codex-mcp-client").start();
    let taken = next.ok("work_resume", json!({ "work": work, "claim": true }));
    assert_eq!((&taken["action"], taken["holder"].is_string()), (&json!("check_first"), true), "{taken:?}");
    assert!(!taken["text"].as_str().unwrap().contains("held by"), "{taken:?}");
    assert_eq!(
        taken["unknown"][0],
        json!({ "key": "npm-publish", "text": "npm publish 1.2", "repeat": "never" })
    );
    assert!(!ids(&home, "free").contains(&work) && !ids(&home, "stale").contains(&work));
}

#[test]
fn a_takeover_answers_with_the_state_after_it_and_a_refused_end_is_not_written() {
    let home = Home::with_config(TOOLS);
    let (mut one, mut two) = (home.agent(), home.agent());
    let work = begun(&mut one);
    one.ok("work_note", json!({ "work": work, "event": "gate_pending", "key": "review" }));
    let taken = two.ok("work_resume", json!({ "work": work, "takeover": true }));
    assert_eq!(taken["action"], "check_first", "{taken:?}");
    assert!(!taken["text"].as_str().unwrap().contains("held by"), "{taken:?}");
    assert_eq!(taken["gates"], json!([{ "key": "review", "standing": "pending" }]));
    let seq = || home.json(&["work", "show", &work])["work"]["seq"].as_u64().unwrap();
    let before = seq();
    for event in [json!({ "event": "done" }), json!({ "event": "confirmed", "key": "npm-publish" })] {
        let mut arguments = event;
        arguments["work"] = json!(work);
        assert!(one.call("work_note", arguments).is_error);
    }
    assert_ne!(home.run(&["work", "close", &work]).code(), 0);
    assert_eq!(seq(), before, "what is refused is not written");
    two.ok("work_note", json!({ "work": work, "event": "confirmed", "key": "npm-publish" }));
    two.ok("work_note", json!({ "work": work, "event": "done" }));
    let shown: Value = home.json(&["work", "show", &work]);
    assert!(shown["work"]["holder"].is_null(), "nobody holds what is closed: {shown}");
    let none = two.ok("work_resume", json!({}));
    assert_eq!(none["text"], "nothing is unfinished", "{none:?}");
    let fork = home.json(&["work", "fork", &work, "--at", "2"])["work"]["work"].as_str().unwrap().to_owned();
    assert!(home.run(&["work", "show", &fork]).success().contains(&format!("{work}@2")));
}

#[test]
fn the_other_lost_sessions_are_counted() {
    let home = Home::new();
    for (n, name) in ["p1", "p2", "p3"].into_iter().enumerate() {
        let agent = session(&home, name, &format!("Lost job {name}"));
        killed(&home, agent, n + 1);
    }
    let context = context_at_start(&home, "claude-code", "next", "startup");
    assert!(context.contains("Lost job p3"), "{context}");
    let line = context.lines().find(|line| line.starts_with("Also unfinished: 2 more")).unwrap_or_default();
    let others = works(&home);
    for other in others.iter().filter(|work| work["session_id"] != "p3") {
        assert!(line.contains(other["work"].as_str().unwrap()), "{context}");
    }
}

#[test]
fn a_session_is_live_although_its_agent_does_not_name_it_to_its_server() {
    let home = Home::new();
    home.json(&["projects"]);
    let server = home.pump().client("gemini-cli-mcp-client").start();
    let path = home.work().join("shared.rs");
    let write = |agent: &str, event: &str, session: &str| {
        // One names the path from its folder, the other from the root.
        let (tool, path) =
            if agent == "gemini-cli" { ("write_file", "shared.rs".into()) } else { ("Write", path.clone()) };
        let input = json!({ "file_path": path, "content": "fn a() {}" });
        let call = json!({ "tool_name": tool, "tool_use_id": "c", "tool_input": input, "tool_response": {} });
        report(&home, agent, event, session, call);
    };
    report(&home, "gemini-cli", "BeforeAgent", "g-1", json!({ "prompt": "Mend the pier" }));
    write("gemini-cli", "AfterTool", "g-1");
    let printed = home.run(&["work", "resume"]).success();
    assert!(!printed.contains("Mend the pier"), "it is at work: {printed}");
    report(&home, "claude-code", "UserPromptSubmit", "k-1", json!({ "prompt": "Paint the pier" }));
    write("claude-code", "PostToolUse", "k-1");
    let text = context_at_start(&home, "claude-code", "k-1", "compact");
    assert!(text.contains("Also live here: gemini-cli (0 min ago) edited"), "{text}");
    drop(server);
    wait_for(&home, "the loss is seen", |works| works.iter().any(|work| work["stale"] == "lost"));
    assert!(home.run(&["work", "resume"]).success().contains("Unfinished: "));
}
