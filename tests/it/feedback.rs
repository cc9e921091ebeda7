//! Whether a memory that a search showed was useful: an agent's next actions count once, and those of others never.

use crate::hooks::report;
use crate::support::{AGENTS_MAY_PURGE, Agent, Home, Value, json, wait_for};

/// How many signs each source gave.
fn signs(home: &Home) -> Value {
    home.json(&["health"])["health"]["feedback"].clone()
}

/// Waits until there are these signs and no others.
#[track_caller]
fn wait_for_signs(home: &Home, want: Value) {
    wait_for(&format!("the signs {want}"), || (signs(home) == want).then_some(()));
}

/// An agent in a session that its hooks name, too.
fn agent(home: &Home, session: &str) -> Agent {
    home.pump().project("demo").env("CLAUDE_CODE_SESSION_ID", session).start()
}

/// Three memories about a server, in the order in which they were saved.
fn memories(agent: &mut Agent) -> [String; 3] {
    [
        agent.save(
            "Port of the server",
            "The server binds port 4780, set by CEREBRO_PORT in the environment.",
        ),
        agent.save(
            "Backups of the server",
            "Server backups are compressed with zstd and verified afterwards.",
        ),
        agent.save("Log of the server", "The server rotates its log when it starts, never while it runs."),
    ]
}

fn search(agent: &mut Agent, query: &str) -> Vec<String> {
    let mut found = agent.search(query);
    found.sort();
    found
}

#[test]
fn each_use_of_a_shown_memory_counts_once() {
    let home = Home::with_config(AGENTS_MAY_PURGE);
    let mut here = agent(&home, "here");
    let [port, backups, log] = memories(&mut here);
    let all = {
        let mut all = vec![port.clone(), backups.clone(), log.clone()];
        all.sort();
        all
    };
    here.get(&port);
    assert_eq!(search(&mut here, "server"), all);
    for _ in 0..3 {
        here.get(&port);
    }
    wait_for_signs(&home, json!({ "read": 1 }));

    let answer = json!({ "last_assistant_message":
        "Done. As noted before, server backups are compressed with zstd and verified afterwards, so I left them." });
    for _ in 0..2 {
        report(&home, "claude-code", "Stop", "here", answer.clone());
    }
    wait_for_signs(&home, json!({ "read": 1, "answer": 1 }));

    // A change that leaves the text alone corrects nothing.
    here.ok("mem_update", json!({ "id": log, "tags": ["logs"] }));
    here.ok("mem_update", json!({ "id": log, "content": "The server rotates its log once a day." }));
    here.ok("mem_delete", json!({ "id": backups }));
    wait_for_signs(&home, json!({ "read": 1, "answer": 1, "corrected": 2 }));

    let mut other = agent(&home, "other");
    assert!(search(&mut other, "which port does the server use").contains(&port));
    other.search("which port does the server listen on");
    wait_for("the first hits were passed over", || {
        signs(&home)["asked_again"].as_u64().filter(|count| *count > 0)
    });

    let rows = || home.json(&["sql", "SELECT VALUE memory FROM feedback"]).to_string();
    assert!(rows().contains(&port), "{}", rows());
    here.ok("mem_delete", json!({ "id": port, "hard": true }));
    assert!(!rows().contains(&port), "{}", rows());
}

#[test]
fn people_hooks_and_repetitions_never_count() {
    let home = Home::new();
    let mut here = agent(&home, "here");
    let [port, backups, log] = memories(&mut here);
    // A person searches and reads.
    home.json(&["search", "server", "--project", "demo"]);
    home.json(&["get", &port]);
    home.json(&["search", "which port does the server use", "--project", "demo"]);
    home.json(&["search", "which port does the server listen on", "--project", "demo"]);
    // A context (a hook's too) shows memories but is not a search.
    here.ok("mem_context", json!({}));
    report(&home, "claude-code", "SessionStart", "here", json!({ "source": "startup" }));
    report(
        &home,
        "claude-code",
        "Stop",
        "here",
        json!({ "last_assistant_message":
        "The server binds port 4780, set by CEREBRO_PORT in the environment." }),
    );
    here.get(&backups);
    // Another session's reading, and a client that repeats one question.
    let mut probe = agent(&home, "probe");
    for _ in 0..5 {
        probe.search("which port does the server use");
    }
    here.get(&log);
    // The last action is counted, so all earlier ones would have been.
    probe.get(&port);
    wait_for_signs(&home, json!({ "read": 1 }));
}

#[test]
fn a_server_whose_agent_does_not_name_its_session_is_known_by_the_process_they_share() {
    let home = Home::new();
    let mut nameless = home.agent();
    memories(&mut nameless);
    assert_eq!(nameless.search("server").len(), 3);
    let answer = json!({ "last_assistant_message":
        "I saw that the server rotates its log when it starts, never while it runs." });
    report(&home, "codex", "Stop", "a-name-of-the-agent", answer);
    wait_for_signs(&home, json!({ "answer": 1 }));
}

#[test]
fn an_agent_may_rate_a_memory_once() {
    let home = Home::with_config("[feedback]\ntools = true\n");
    let mut here = agent(&home, "here");
    let [port, backups, log] = memories(&mut here);
    let rate = |agent: &mut Agent, id: &str, verdict: &str| {
        agent.ok("mem_feedback", json!({ "id": id, "verdict": verdict }))["outcome"].clone()
    };
    assert_eq!(rate(&mut here, &port, "useful"), "unchanged", "nothing was shown yet");
    search(&mut here, "server");
    for (id, verdict) in [(&port, "useful"), (&backups, "useless"), (&log, "wrong")] {
        assert_eq!(rate(&mut here, id, verdict), "noted");
        assert_eq!(rate(&mut here, id, "useful"), "unchanged", "the first word counts");
    }
    here.refused("mem_feedback", json!({ "id": port, "verdict": "great" }));
    wait_for_signs(&home, json!({ "said_useful": 1, "said_useless": 1, "said_wrong": 1 }));
    // It does not change the order, and a purge removes it.
    let mut other = agent(&home, "other");
    assert_eq!(rate(&mut other, &port, "useful"), "unchanged", "another session was shown nothing");
}
