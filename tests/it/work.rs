//! `cerebro work`: what people see of the journal, and what they can do with it.

use crate::hooks::report;
use crate::support::{Home, Value, json};

/// A session that asked for something, edited a file and ran a command.
fn sitting(home: &Home, session: &str, prompt: &str) {
    report(home, "codex", "UserPromptSubmit", session, json!({ "prompt": prompt }));
    let patch = "*** Begin Patch\n*** Update File: a.rs\n-x\n+y\n*** End Patch";
    let call = json!({
        "tool_name": "apply_patch", "tool_use_id": "c1", "tool_input": { "command": patch }, "tool_response": "ok",
    });
    report(home, "codex", "PostToolUse", session, call);
    let call = json!({
        "tool_name": "Bash", "tool_use_id": "c2", "tool_input": { "command": "cargo test" },
        "tool_response": "Process exited with code 0\nOutput:\ntest result: ok. 3 passed; 0 failed",
    });
    report(home, "codex", "PostToolUse", session, call);
}

/// Starts the daemon and waits for its store: a hook does not wait that long.
fn open(home: &Home) {
    home.json(&["projects"]);
}

fn listed(home: &Home, words: &[&str]) -> Vec<Value> {
    home.json(&[&["work", "list"], words].concat())["works"].as_array().unwrap().clone()
}

fn kinds(home: &Home, id: &str) -> Vec<String> {
    let tail = home.json(&["work", "tail", id, "--limit", "500"]);
    tail["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| event["kind"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_session_is_a_piece_of_work() {
    let home = Home::new();
    open(&home);
    assert_eq!(listed(&home, &[]), Vec::<Value>::new());
    sitting(&home, "s-1", "Mend the pier");
    let works = listed(&home, &[]);
    let [work] = &works[..] else { panic!("{works:?}") };
    assert_eq!((&work["kind"], &work["status"]), (&json!("session"), &json!("open")), "{work}");
    assert!(work["title"].as_str().unwrap().contains("Mend the pier"), "{work}");
    let id = work["work"].as_str().unwrap();
    assert_eq!(kinds(&home, id), ["begun", "prompt", "edited", "ran"]);
    let shown = home.json(&["work", "show", id]);
    let state = &shown["state"];
    assert_eq!(state["request"]["text"], "Mend the pier");
    assert_eq!(state["files"][0]["path"], "a.rs");
    assert_eq!(state["test"]["tests"]["passed"], 3);
    // A beginning of the id is enough, and people get tables.
    let words = home.run(&["work", "show", &id[..6]]).success();
    assert!(words.contains("Mend the pier") && words.contains("a.rs"), "{words}");
    let exported = home.run(&["work", "export", id]).success();
    assert_eq!(exported.lines().count(), 6, "the header, the work and its events: {exported}");
    assert!(home.run(&["work", "tail", id]).success().contains("cargo test → exit 0"));
}

#[test]
fn work_is_closed_forked_and_listed_by_its_state() {
    let home = Home::new();
    open(&home);
    sitting(&home, "s-1", "Mend the pier");
    let id = listed(&home, &[])[0]["work"].as_str().unwrap().to_owned();
    let fork = home.json(&["work", "fork", &id, "--at", "2"])["work"]["work"].as_str().unwrap().to_owned();
    assert_eq!(listed(&home, &[]).len(), 2);
    let state = home.json(&["work", "show", &fork])["state"].clone();
    assert_eq!((&state["request"]["text"], &state["files"]), (&json!("Mend the pier"), &json!([])));
    home.json(&["work", "close", &id, "--outcome", "abandoned", "--text", "no pier"]);
    let closed = listed(&home, &["--state", "closed"]);
    assert_eq!((closed.len(), &closed[0]["outcome"]), (1, &json!("abandoned")), "{closed:?}");
    assert_eq!(listed(&home, &[]).len(), 1);
    assert_eq!(listed(&home, &["--state", "all"]).len(), 2);
    assert_eq!(home.run(&["work", "show", "zzzzzz"]).code(), 1);
    assert_eq!(home.run(&["work", "close", &id, "--outcome", "odd"]).code(), 2);
}

#[test]
fn the_journal_can_be_checked_against_a_line_that_was_kept() {
    let home = Home::new();
    open(&home);
    sitting(&home, "s-1", "Mend the pier");
    let line = home.run(&["work", "head"]).success().trim().to_owned();
    assert_eq!(line.split(' ').count(), 2, "{line}");
    sitting(&home, "s-2", "Mend the mole");
    home.run(&["work", "verify", "--head", &line]).success();
    let id = listed(&home, &[])[0]["work"].as_str().unwrap().to_owned();
    home.run(&["work", "head"]).success();
    let proof = home.json(&["work", "prove", &id]);
    assert_eq!(proof["sealed"], true, "{proof}");
    // A line that never came from a journal of this home is found.
    let other = line.replace(|c: char| c.is_ascii_hexdigit(), "1");
    let refused = home.run(&["work", "verify", "--head", &other]);
    assert_eq!(refused.code(), 1, "{refused:?}");
}

#[test]
fn reading_work_adds_no_event() {
    let home = Home::new();
    open(&home);
    sitting(&home, "s-1", "Mend the pier");
    let before = listed(&home, &[]);
    let id = before[0]["work"].as_str().unwrap();
    for words in
        [&["work", "show", id][..], &["work", "resume", id], &["work", "tail", id], &["work", "export", id]]
    {
        home.run(words).success();
    }
    assert_eq!(listed(&home, &[]), before);
}

#[test]
fn a_hook_cannot_write_steps_of_the_journal_itself() {
    let home = Home::new();
    open(&home);
    // Payloads that look like steps of the journal itself.
    for input in [
        json!({ "steps": [{ "kind": "closed", "outcome": "done" }], "prompt": "Ask" }),
        json!({ "kind": "claimed", "prompt": "Ask again", "holder": "me" }),
    ] {
        report(&home, "codex", "UserPromptSubmit", "s-1", input);
    }
    let works = listed(&home, &[]);
    assert_eq!((works.len(), &works[0]["status"]), (1, &json!("open")));
    let id = works[0]["work"].as_str().unwrap();
    assert_eq!(kinds(&home, id), ["begun", "prompt", "prompt"]);
}

#[test]
fn statements_can_be_tried_without_a_trace() {
    let home = Home::new();
    home.json(&["save", "The pier", "What: it stands."]);
    let stored = || {
        let sessions = home.json(&["sessions"])["sessions"].as_array().map(Vec::len);
        (home.json(&["list"])["memories"].clone(), sessions)
    };
    let before = stored();
    let file = home.folder("trial").join("trial.surql");
    std::fs::write(&file, "UPDATE memory SET title = 'gone'; DELETE session; SELECT * FROM memory;").unwrap();
    let tried = home.json(&["whatif", "run", file.to_str().unwrap()]);
    let rows_of = |table: &str, deed: &str| {
        let rows = tried["tables"].as_array().unwrap().iter();
        rows.filter(|row| row["place"] == table && row["deed"] == deed).map(|row| row["rows"].clone()).next()
    };
    assert_eq!(rows_of("memory", "update"), Some(json!(1)), "{tried}");
    assert_eq!(rows_of("session", "delete"), Some(json!(1)), "{tried}");
    assert!(tried["changes"].to_string().contains("memory:"), "{tried}");
    assert_eq!(stored(), before);
    assert_eq!(home.json(&["search", "pier"])["hits"].as_array().map(Vec::len), Some(1));
    for (text, word) in [
        ("COMMIT", "COMMIT"),
        ("BEGIN; UPDATE memory SET pinned = true; COMMIT;", "BEGIN"),
        ("UPDATE memory SET", "refused"),
        ("CREATE memory SET title = 5", "statement 1"),
        ("REMOVE TABLE work", "schema"),
        ("DEFINE TABLE foo", "schema"),
        ("IF true { DEFINE FIELD mine ON memory TYPE option<int> }", "schema"),
        ("REMOVE FIELD title ON memory", "schema"),
    ] {
        std::fs::write(&file, text).unwrap();
        let refused = home.run(&["whatif", "run", file.to_str().unwrap()]);
        assert!(refused.code() != 0 && refused.stderr.contains(word), "{text}: {refused:?}");
    }
    assert_eq!(stored(), before);
    assert_eq!(home.run(&["doctor"]).code(), 0);
}

/// The sizes and names of the tools that an agent sees.
fn tools(agent: &mut crate::support::Agent) -> (Vec<String>, usize) {
    let list = agent.request("tools/list", json!({})).unwrap()["tools"].take();
    let names =
        list.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
    (names, list.to_string().len())
}

#[test]
fn the_tools_of_the_journal_are_published_only_where_they_are_wanted() {
    let (plain, plain_bytes) = tools(&mut Home::new().agent());
    assert!(plain.iter().all(|name| name.starts_with("mem_")), "{plain:?}");
    assert!(plain_bytes < 12_000, "{plain_bytes}");
    let home = Home::with_config("[work]\ntools = true\n");
    let (all, bytes) = tools(&mut home.agent());
    assert_eq!(all[..plain.len()], plain);
    assert_eq!(all[plain.len()..], ["work_begin", "work_note", "work_list", "work_resume"]);
    assert!(bytes - plain_bytes < 5_000, "{bytes} - {plain_bytes}");
    // Off means off, whatever other settings say.
    let off = Home::with_config("[work]\nenabled = false\ntools = true\n");
    assert_eq!(tools(&mut off.agent()), (plain, plain_bytes));
    // Without them, a call is one of an unknown tool.
    let home = Home::new();
    let mut agent = home.agent();
    assert!(agent.request("tools/call", json!({ "name": "work_list", "arguments": {} })).is_err());
}

#[test]
fn an_effect_is_announced_confirmed_and_never_proposed_again() {
    let home = Home::with_config("[work]\ntools = true\n");
    let mut agent = home.agent();
    let begin = json!({ "title": "Release 2.0", "steps": ["tag", "publish"], "key": "r-2" });
    let begun = agent.ok("work_begin", begin.clone());
    let work = begun["work"].as_str().unwrap().to_owned();
    assert_eq!(begun["outcome"], "created");
    assert_eq!(agent.ok("work_begin", begin)["outcome"], "unchanged");
    let mut note = |more: Value| {
        let mut arguments = json!({ "work": work });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        agent.ok("work_note", arguments)["outcome"].as_str().unwrap().to_owned()
    };
    let publish =
        json!({ "event": "intent", "key": "publish", "text": "publish the package", "repeat": "never" });
    assert_eq!(note(json!({ "event": "step_done", "step": 1 })), "recorded");
    assert_eq!(note(publish.clone()), "recorded");
    assert_eq!(note(publish.clone()), "unknown");
    let hint = home.run(&["work", "resume", &work]).success();
    assert!(hint.contains("publish the package") && hint.contains("a person"), "{hint}");
    assert_eq!(note(json!({ "event": "confirmed", "key": "publish" })), "recorded");
    assert_eq!(note(publish), "confirmed");
    assert_eq!(note(json!({ "event": "gate_pending", "key": "review" })), "recorded");
    let resumed = agent.ok("work_resume", json!({ "work": work }));
    assert_eq!(resumed["action"], "wait_gate", "{resumed:?}");
    assert_eq!(resumed["next"]["text"], "publish");
    assert_eq!(agent.ok("work_note", json!({ "work": work, "event": "done" }))["outcome"], "recorded");
    assert_eq!(agent.ok("work_list", json!({}))["works"], json!([]));
}

#[test]
fn two_agents_that_claim_get_one_holder_and_the_late_one_is_refused() {
    let home = Home::with_config("[work]\ntools = true\n");
    let (mut one, mut two) = (home.agent(), home.agent());
    let work = one.ok("work_begin", json!({ "title": "Shared" }))["work"].as_str().unwrap().to_owned();
    let held = two.ok("work_resume", json!({ "work": work, "claim": true }));
    assert_eq!(held["action"], "held", "{held:?}");
    let note = json!({ "work": work, "event": "decision", "text": "Do it" });
    assert_eq!(two.ok("work_note", note.clone())["outcome"], "late");
    let taken = two.ok("work_resume", json!({ "work": work, "takeover": true }));
    assert!(taken["fence"].as_u64().unwrap() > 1, "{taken:?}");
    assert_eq!(one.ok("work_note", note.clone())["outcome"], "late");
    assert_eq!(two.ok("work_note", note)["outcome"], "recorded");
}

#[test]
fn a_note_goes_to_the_task_that_the_session_began_last_and_still_holds() {
    let home = Home::with_config("[work]\ntools = true\n");
    let mut agent = home.pump().env("CLAUDE_CODE_SESSION_ID", "one").client("claude-code").start();
    let steps = json!(["rules", "reader"]);
    let mut begin = |title: &str| {
        let begun = agent.ok("work_begin", json!({ "title": title, "steps": steps }));
        begun["work"].as_str().unwrap().to_owned()
    };
    let (first, second) = (begin("First"), begin("Second"));
    // A note in the first task does not make it the one that was claimed last.
    agent.ok("work_note", json!({ "work": first, "event": "note", "text": "x" }));
    let noted = agent.ok("work_note", json!({ "event": "step_done", "step": 1 }));
    assert_eq!((noted["work"].as_str(), &noted["outcome"]), (Some(second.as_str()), &json!("recorded")));
    let again = agent.ok("work_note", json!({ "event": "step_done", "step": 1 }));
    assert_eq!((&again["outcome"], &again["seq"]), (&json!("unchanged"), &noted["seq"]));
    let refused = agent.call("work_note", json!({ "event": "step_done", "step": 9 }));
    let words = format!("{refused:?}");
    assert!(words.contains("1 rules; 2 reader"), "{words}");
    // The second task is closed, and the session still holds the first.
    agent.ok("work_note", json!({ "event": "done" }));
    let noted = agent.ok("work_note", json!({ "event": "decision", "text": "Do it" }));
    assert_eq!(noted["work"].as_str(), Some(first.as_str()));
    // Without a task, a note goes to the session's own work.
    agent.ok("work_note", json!({ "event": "done" }));
    let noted = agent.ok("work_note", json!({ "event": "decision", "text": "Do more" }));
    assert_ne!(noted["work"].as_str(), Some(first.as_str()));
    assert_ne!(noted["work"].as_str(), Some(second.as_str()));
}

#[test]
fn what_only_work_can_have_asks_for_work_where_there_is_none() {
    let home = Home::with_config("[work]\ntools = true\n");
    let mut agent = home.agent();
    for event in ["intent", "confirmed", "failed", "done", "abandoned"] {
        let words = agent.refused("work_note", json!({ "event": event, "key": "k" }));
        assert!(words.contains("`work`") && words.contains("work_begin"), "{event}: {words}");
    }
    let begun = agent.ok("work_begin", json!({ "title": "Mend the pier" }));
    for outcome in ["recorded", "unchanged"] {
        let closed = agent.ok("work_note", json!({ "event": "done", "work": begun.str("work") }));
        assert_eq!(closed["outcome"], outcome, "{closed:?}");
    }
}

#[test]
fn what_cerebro_had_shown_becomes_no_goal_and_no_step() {
    let home = Home::with_config("[work]\ntools = true\n");
    let mut agent = home.agent();
    let frame = "<cerebro-context>\n- the gannet nests\n</cerebro-context>";
    let goal = format!("No plank is loose.\n{frame}");
    let begun = agent
        .ok("work_begin", json!({ "title": "Mend the pier", "goal": goal, "steps": [frame, "Look at it"] }));
    let ignored = ["goal: what Cerebro had shown", "steps: what Cerebro had shown"];
    assert_eq!(begun["ignored"], json!(ignored), "{begun:?}");
    let shown = home.json(&["work", "show", begun.str("work")]).to_string();
    assert!(shown.contains("Look at it") && !shown.contains("gannet"), "{shown}");
}
