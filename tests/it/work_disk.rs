//! The journal on a disk that hangs or fails: nobody is held up, gaps are recorded, and the journal recovers by itself.

use std::time::{Duration, Instant};

use crate::hooks::report;
use crate::support::{Agent, FaultyDisk, Home, Value, json, wait_for, wait_within};
use crate::work_hooks::works;

/// What a tool may take once the journal is known to be slow.
const AT_ONCE: Duration = Duration::from_secs(1);
/// How long a daemon may stay on a disk that failed: the engine gives a commit up after a minute, and what still waits
/// for the disk holds up the end.
const LEAVES_MAX: Duration = Duration::from_secs(150);
/// How long the journal may do without the disk once it works again: it tries again a minute after it gave up.
const KEEPS_UP_MAX: Duration = Duration::from_secs(120);

fn ask(home: &Home, session: &str, words: &str) {
    report(home, "codex", "UserPromptSubmit", session, json!({ "prompt": words, "turn_id": words }));
}

fn note(agent: &mut Agent, work: &str, text: &str) -> (Value, Duration) {
    let begun = Instant::now();
    let answer = agent.ok("work_note", json!({ "work": work, "event": "note", "text": text }));
    (answer["outcome"].clone(), begun.elapsed())
}

/// An agent, and a piece of work that it began.
fn begun(home: &Home) -> (Agent, String) {
    let mut agent = home.agent();
    let work = agent.ok("work_begin", json!({ "title": "Mend the pier" })).str("work").to_owned();
    assert_eq!(note(&mut agent, &work, "before").0, "recorded");
    (agent, work)
}

/// The texts of a piece of work's notes and requests.
fn texts(home: &Home, work: &str) -> Vec<String> {
    let events = home.json(&["work", "tail", work, "--limit", "500"])["events"].clone();
    let text = |event: &Value| event["step"]["text"].as_str().map(str::to_owned);
    events.as_array().unwrap().iter().filter_map(text).collect()
}

fn gaps(home: &Home, work: &str) -> u64 {
    home.json(&["work", "show", work])["state"]["gaps"]["events"].as_u64().unwrap()
}

fn journal(home: &Home) -> Value {
    home.json(&["daemon", "status"])["journal"].clone()
}

#[test]
fn a_disk_that_hangs_holds_up_no_agent_and_gaps_are_reported() {
    let home = Home::with_config("[work]\ntools = true\n");
    let Some(disk) = FaultyDisk::start(&home) else { return };
    let (mut agent, work) = begun(&home);

    disk.begin("hang");
    let (outcome, took) = note(&mut agent, &work, "waited for in vain");
    assert_eq!(outcome, "degraded");
    assert!(took < Duration::from_secs(5), "{took:?}");
    // From now on nobody waits, whatever is asked.
    for n in 0..2 {
        let (outcome, took) = note(&mut agent, &work, &format!("missed {n}"));
        assert!(outcome == "degraded" && took < AT_ONCE, "{outcome} {took:?}");
    }
    let begun = Instant::now();
    let intent = json!({ "work": work, "event": "intent", "key": "pr", "text": "gh pr create" });
    for (tool, arguments) in [
        ("work_begin", json!({ "title": "Another" })),
        ("work_note", intent),
        ("work_note", json!({ "work": work, "event": "done" })),
        ("work_resume", json!({ "work": work, "claim": true })),
    ] {
        let answer = agent.ok(tool, arguments);
        assert_eq!(answer["outcome"], "degraded", "{tool}: {answer:?}");
        assert!(answer["degraded_until"].is_string(), "{tool}: {answer:?}");
    }
    assert!(begun.elapsed() < 4 * AT_ONCE, "{:?}", begun.elapsed());
    // A hook leaves after less than a second, whatever happens (`report` looks at it).
    ask(&home, "hooked", "nobody heard it");
    let found = journal(&home);
    assert!(found["degraded_until"].is_string() && found["missed"].as_u64() >= Some(2), "{found}");
    assert!(home.run(&["work", "list"]).stderr.contains("too slowly"));

    disk.heal();
    let keeps_up = || journal(&home)["degraded_until"].is_null().then_some(());
    wait_within(KEEPS_UP_MAX, "the journal to keep up again", keeps_up);
    assert_eq!(note(&mut agent, &work, "after").0, "recorded");
    assert_eq!(texts(&home, &work), ["before", "waited for in vain", "after"]);
    assert_eq!(gaps(&home, &work), 3, "two notes, and that it is done");
    ask(&home, "hooked", "here I am");
    wait_for("the hook's work", || {
        works(&home).iter().any(|work| work["session_id"] == "hooked").then_some(())
    });
    assert_eq!(home.run(&["work", "verify"]).code(), 0);
}

#[test]
fn a_failing_sync_loses_nothing_acknowledged_and_the_journal_recovers() {
    let home = Home::with_config("[work]\ntools = true\n");
    let Some(disk) = FaultyDisk::start(&home) else { return };
    let (mut agent, work) = begun(&home);
    ask(&home, "hooked", "before");

    let failed = home.daemon_pid();
    disk.begin("fail");
    let arguments = json!({ "work": work, "event": "note", "text": "during" });
    let during = agent.send("work_note", arguments);
    let is_acknowledged =
        agent.answer(during).is_ok_and(|answer| answer["structuredContent"]["outcome"] == "recorded");
    assert!(!is_acknowledged, "what is not on the disk is not acknowledged");
    for _ in 0..3 {
        ask(&home, "hooked", "during");
    }

    disk.heal();
    // The database writes nothing until it is opened again: the daemon leaves, and the next one opens it.
    wait_within(LEAVES_MAX, "the daemon to leave", || (!home.daemons().contains(&failed)).then_some(()));
    home.json(&["projects"]);
    ask(&home, "hooked", "after");
    assert_eq!(note(&mut agent, &work, "after").0, "recorded");
    let kept = texts(&home, &work);
    assert_eq!(
        (kept.first().map(String::as_str), kept.last().map(String::as_str)),
        (Some("before"), Some("after"))
    );
    assert_eq!(home.run(&["work", "verify"]).code(), 0);
    assert_eq!(home.run(&["doctor"]).code(), 0);
}
