//! `cerebro work` on tampered rows and on witnesses, and what people can do with work that somebody holds.

use crate::hooks::report;
use crate::support::{Home, Value, alter, json};

fn prompt(home: &Home, session: &str, words: &str) {
    report(home, "codex", "UserPromptSubmit", session, json!({ "prompt": words }));
}

/// A home with a session whose work was left half-way, and the end of its daemon.
fn left(words: &str) -> Home {
    let home = Home::new();
    home.json(&["projects"]);
    prompt(&home, "s-1", words);
    home.json(&["daemon", "stop"]);
    home
}

fn only_work(home: &Home) -> String {
    let works = home.json(&["work", "list"])["works"].as_array().unwrap().clone();
    let [work] = &works[..] else { panic!("{works:?}") };
    work["work"].as_str().unwrap().to_owned()
}

fn findings(home: &Home) -> Vec<String> {
    let verified = home.run(&["work", "verify", "--json"]);
    let answer: Value = serde_json::from_str(&verified.stdout).unwrap();
    let found = answer["findings"].as_array().unwrap();
    assert_eq!(verified.code(), i32::from(!found.is_empty()), "{verified:?}");
    found.iter().map(|one| one["finding"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_hint_and_an_anchor_are_witnesses() {
    let home = left("Mend the pier");
    let hint = home.run(&["work", "resume"]).success();
    let head = hint.lines().find(|line| line.contains(" log 1 "));
    let head = head.unwrap_or_else(|| panic!("nobody asked for a seal: {hint}"));
    let anchor = home.run(&["work", "anchor"]).success();
    let kept = home.folder("kept").join("heads");
    let verify = |text: &str| {
        std::fs::write(&kept, text).unwrap();
        home.run(&["work", "verify", "--anchor", kept.to_str().unwrap()])
    };
    prompt(&home, "s-1", "Mend the mole too");
    let transcript = json!({ "type": "user", "message": { "content": hint } }).to_string();
    for text in [&hint, &anchor, &transcript, &format!("of Monday\n\n{anchor}\n{hint}")] {
        verify(text).success();
    }
    home.run(&["work", "verify", "--head", head]).success();
    let root = head.split_whitespace().last().unwrap();
    let refused = verify(&hint.replace(root, "0123456789abcdef"));
    assert!(refused.code() == 1 && refused.stdout.contains("anchor_differs"), "{refused:?}");
    let none = verify("nothing of the kind");
    assert!(none.code() == 2 && none.stderr.contains("no head"), "{none:?}");
}

#[test]
fn a_witness_is_read_within_a_bound_and_not_waited_for() {
    let home = left("Mend the pier");
    let (large, pipe) = (home.work().join("large"), home.work().join("pipe"));
    std::fs::File::create(&large).unwrap().set_len((256 << 20) + 1).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for (path, code, words) in [(&large, 1, "is larger than 262144 KiB"), (&pipe, 2, "no head")] {
        let refused = home.run(&["work", "verify", "--anchor", path.to_str().unwrap()]);
        assert!(refused.code() == code && refused.stderr.contains(words), "{refused:?}");
    }
}

#[test]
fn a_row_that_cannot_be_read_is_named_and_holds_up_nothing() {
    let home = left("Mend the pier");
    home.json(&["projects"]);
    prompt(&home, "s-2", "Mend the mole");
    for change in ["mac = 'x'", "live = false", "key_id = 'another'", "agent = 'somebody'"] {
        alter(&home, &format!("UPDATE work SET {change} WHERE session = session:`s-1`;"));
        assert_eq!(findings(&home), ["row_edited"], "{change}");
        let hint = home.run(&["work", "resume"]).success();
        assert!(hint.contains("Mend the mole"), "{change}: {hint}");
        let listed = home.json(&["work", "list"])["works"].as_array().unwrap().len();
        assert!(listed >= 1, "{change}");
    }
    assert_eq!(home.run(&["doctor"]).code(), 1);
}

#[test]
fn a_key_that_is_gone_is_found() {
    let home = left("Mend the pier");
    assert_eq!(findings(&home), Vec::<String>::new());
    home.json(&["daemon", "stop"]);
    std::fs::remove_file(home.data().join("journal.key")).unwrap();
    assert_eq!(findings(&home), ["key_missing"]);
}

#[test]
fn damaged_keys_are_put_aside_and_the_memory_opens() {
    let home = left("Mend the pier");
    home.run(&["save", "Pier", "It stands on oak."]).success();
    let keys = home.data().join("journal.key");
    for (damage, aside) in [("", "journal.key.damaged"), ("{\"chain\": \"ab", "journal.key.damaged-2")] {
        home.json(&["daemon", "stop"]);
        std::fs::write(&keys, damage).unwrap();
        assert!(home.run(&["search", "oak"]).success().contains("Pier"));
        assert_eq!(std::fs::read_to_string(home.data().join(aside)).unwrap(), damage);
        let status = home.json(&["daemon", "status"]);
        assert!(status["journal"]["damaged_keys"].as_str().unwrap().contains(aside), "{status}");
        assert_eq!(findings(&home), ["key_missing"]);
        assert!(home.run(&["doctor"]).stdout.contains(aside));
    }
}

#[test]
fn a_person_takes_over_and_closes_work_that_a_session_holds() {
    let home = Home::with_config("[work]\ntools = true\n");
    let mut agent = home.agent();
    let begun = agent.ok("work_begin", json!({ "title": "Shared", "key": "k" }));
    let work = begun["work"].as_str().unwrap().to_owned();
    let intent =
        json!({ "work": work, "event": "intent", "key": "pub", "text": "publish", "repeat": "never" });
    agent.ok("work_note", intent);
    agent.ok("work_note", json!({ "work": work, "event": "gate_pending", "key": "review" }));
    let long = format!("The plan: {}", "word ".repeat(2_000));
    agent.ok("work_note", json!({ "work": work, "event": "decision", "text": long }));

    let sweep = home.json(&["work", "sweep"])["effects"].clone();
    assert_eq!((sweep.as_array().unwrap().len(), &sweep[0]["key"]), (1, &json!("pub")));
    let shown = home.run(&["work", "show", &work]).success();
    assert!(shown.contains("publish (key pub, never)") && shown.contains("review pending"), "{shown}");
    let events = home.json(&["work", "tail", &work])["events"].clone();
    let cut = events.as_array().unwrap().iter().find(|event| !event["artifact"].is_null()).unwrap();
    assert!(cut["full_bytes"].as_u64().unwrap() > 10_000, "{cut}");
    let seq = cut["seq"].to_string();
    assert!(home.run(&["work", "tail", &work]).success().contains(&format!("--artifact {seq}")));
    let whole = home.run(&["work", "show", &work, "--artifact", &seq]).success();
    assert!(
        serde_json::from_str::<Value>(&whole).unwrap()["text"].as_str().map(str::trim) == Some(long.trim()),
        "{whole}"
    );
    assert_eq!(home.run(&["work", "show", &work, "--artifact", "1"]).code(), 1);
    assert_eq!(home.run(&["work", "show", &work, "--artifact", "999"]).code(), 1);

    assert_ne!(home.run(&["work", "close", &work]).code(), 0, "a session holds it");
    let refused = home.run(&["work", "claim", &work]);
    assert!(refused.code() == 1 && refused.stderr.contains("--takeover"), "{refused:?}");
    home.run(&["work", "claim", &work, "--takeover"]).success();
    assert_eq!(
        agent.ok("work_note", json!({ "work": work, "event": "note", "text": "x" }))["outcome"],
        "late"
    );
    home.run(&["work", "release", &work]).success();
    // The session stays late although nobody holds the work now.
    assert_eq!(
        agent.ok("work_note", json!({ "work": work, "event": "note", "text": "x" }))["outcome"],
        "late"
    );
    home.run(&["work", "claim", &work]).success();
    home.run(&["work", "close", &work, "--outcome", "abandoned"]).success();
    assert_eq!(findings(&home), Vec::<String>::new());
    let journal = home.json(&["daemon", "status"])["journal"].clone();
    assert_eq!((&journal["enabled"], &journal["missed"]), (&json!(true), &json!(0)), "{journal}");
}

#[test]
fn an_artifact_that_is_gone_leads_to_the_verification() {
    let home = Home::with_config("[work]\ntools = true\n");
    let mut agent = home.agent();
    let begun = agent.ok("work_begin", json!({ "title": "Shared", "key": "k" }));
    let work = begun["work"].as_str().unwrap().to_owned();
    let long = "word ".repeat(2_000);
    agent.ok("work_note", json!({ "work": work, "event": "decision", "text": long }));
    drop(agent);
    let events = home.json(&["work", "tail", &work])["events"].clone();
    let cut = events.as_array().unwrap().iter().find(|event| !event["artifact"].is_null()).unwrap();
    let seq = cut["seq"].to_string();
    alter(&home, "DELETE artifact;");
    let refused = home.run(&["work", "show", &work, "--artifact", &seq]);
    let words = format!("the artifact of event {seq} is missing or was changed");
    assert!(refused.code() == 1 && refused.stderr.contains(&words), "{refused:?}");
    assert!(refused.stderr.contains("hint: `cerebro work verify`"), "{refused:?}");
}

#[test]
fn hints_of_commands_and_tools_compare_the_present_files() {
    let home = Home::with_config("[work]\ntools = true\n");
    home.json(&["projects"]);
    let path = home.work().join("a.rs");
    std::fs::write(&path, "fn a() {}\n").unwrap();
    prompt(&home, "s-1", "Mend the pier");
    let write = json!({
        "tool_name": "Write", "tool_use_id": "c1", "tool_response": {},
        "tool_input": { "file_path": path, "content": "fn a() {}\n" },
    });
    report(&home, "claude-code", "PostToolUse", "s-1", write);
    let work = only_work(&home);
    let mut agent = home.pump().cwd(&home.work()).start();
    let same = "Checkout now: the edited files are as it left them";
    assert!(home.run(&["work", "resume", &work]).success().contains(same));
    std::fs::write(&path, "fn b() {}\n").unwrap();
    for hint in [
        home.run(&["work", "resume", &work]).success(),
        agent.ok("work_resume", json!({ "work": work }))["text"].as_str().unwrap().to_owned(),
    ] {
        assert!(hint.contains("Checkout now: a.rs changed (not by this work)"), "{hint}");
    }
}
