//! The journal when things go wrong: daemons that are killed under load, a full disk, no daemon, hooks that are killed.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use cerebro_core::redact::redact_text;
use cerebro_ledger::{ChainedEvent, Entry, Mac, State, fold::fold_all};
use rand::{Rng, SeedableRng, rngs::StdRng};

use crate::hooks::report;
use crate::support::{Agent, Disk, Home, Value, json, scaled, wait_for};
use crate::work_hooks::works;

const ROUNDS: usize = 50;
const NOTES_PER_ROUND: usize = 12;
/// How many events a full disk meets.
const FULL: u64 = 40;
/// How often a daemon is killed under hooks that report at once, and how many of these there are.
const KILLS: usize = 5;
const AT_ONCE: usize = 8;

fn texts(home: &Home, work: &str) -> Vec<String> {
    let lines = home.run(&["work", "export", work]).success();
    let events: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let events: Vec<&Value> = events.iter().filter(|line| line["kind"] == "work_event").collect();
    let numbers: Vec<u64> = events.iter().filter_map(|event| event["seq"].as_u64()).collect();
    assert_eq!(numbers, (1..=events.len() as u64).collect::<Vec<u64>>(), "numbers have a gap");
    let body = |event: &&Value| serde_json::from_str::<Value>(event["body"].as_str().unwrap()).unwrap();
    events.iter().map(body).filter_map(|body| body["text"].as_str().map(str::to_owned)).collect()
}

/// An agent with the tools, and its piece of work.
struct Noting {
    agent: Agent,
    work: String,
    acknowledged: Vec<String>,
}

impl Noting {
    fn begin(home: &Home, name: &str) -> Self {
        let mut agent = home.pump().client(name).start();
        let begun = agent.ok("work_begin", json!({ "title": format!("Work of {name}") }));
        let work = begun["work"].as_str().unwrap().to_owned();
        Self { agent, work, acknowledged: Vec::new() }
    }

    fn send(&mut self, round: usize) -> Vec<(u64, String)> {
        let text = |n: usize| format!("note {n} of round {round} {}", "with some text ".repeat(n * 20));
        let texts = (0..NOTES_PER_ROUND).map(|n| text(n).trim().to_owned());
        let note = |text: String| {
            let arguments = json!({ "work": self.work, "event": "note", "text": text });
            (self.agent.send("work_note", arguments), text)
        };
        texts.map(note).collect()
    }

    fn receive(&mut self, sent: Vec<(u64, String)>) {
        for (id, text) in sent {
            // Whether a note without an answer was stored is unknown.
            if let Ok(result) = self.agent.answer(id)
                && result["isError"] != true
                && result["structuredContent"]["outcome"] == "recorded"
            {
                self.acknowledged.push(text);
            }
        }
    }
}

/// A session that reports by hooks, and what the daemon acknowledged of it.
struct Reporting {
    agent: &'static str,
    session: &'static str,
    acknowledged: Vec<String>,
}

impl Reporting {
    fn begin(agent: &'static str, session: &'static str) -> Self {
        Self { agent, session, acknowledged: Vec::new() }
    }

    /// What its hooks report in one round: a request, a command and an edit.
    fn round(&mut self, home: &Home, round: usize) {
        let words = format!("request of round {round}");
        let line = format!("make part-{round}");
        let file = format!("part-{round}.rs");
        let request = json!({ "prompt": words, "prompt_id": words, "turn_id": words });
        let command = json!({
            "tool_name": "Bash", "tool_use_id": format!("c{round}"), "tool_input": { "command": line },
            "tool_response": { "stdout": "ok" },
        });
        let edit = json!({
            "tool_name": "Write", "tool_use_id": format!("e{round}"), "tool_response": {},
            "tool_input": { "file_path": file, "content": "fn a() {}" },
        });
        for (event, input, name) in [
            ("UserPromptSubmit", request, format!("prompt {words}")),
            ("PreToolUse", command.clone(), format!("started {line}")),
            ("PostToolUse", command, format!("ran {line}")),
            ("PostToolUse", edit, format!("edited {file}")),
        ] {
            if self.report(home, event, input) {
                self.acknowledged.push(name);
            }
        }
    }

    /// Runs a hook; whether the daemon acknowledged the report. A hook says that in its log only.
    fn report(&self, home: &Home, event: &str, mut input: Value) -> bool {
        input["session_id"] = json!(self.session);
        input["cwd"] = json!(home.work());
        let mut hook = home.command();
        hook.args(["hook", self.agent, event]).env("CEREBRO_LOG", "debug");
        let mut hook =
            hook.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        hook.stdin.take().unwrap().write_all(input.to_string().as_bytes()).unwrap();
        let done = hook.wait_with_output().unwrap();
        assert!(done.status.success(), "{done:?}");
        let log = String::from_utf8_lossy(&done.stderr).into_owned();
        let counts = log.lines().filter_map(|line| line.split("recorded=").nth(1)?.split(' ').next());
        counts.filter_map(|count| count.parse::<u64>().ok()).any(|count| count > 0)
    }
}

/// The state of a piece of work, folded here from an export.
fn folded(home: &Home, work: &str) -> State {
    let lines = home.run(&["work", "export", work]).success();
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let event = |line: Value| {
        (line["kind"] == "work_event").then(|| ChainedEvent {
            seq: line["seq"].as_u64().unwrap(),
            at: line["at"].as_str().unwrap().parse().unwrap(),
            kind: line["type"].as_str().unwrap().to_owned(),
            once: None,
            late: line["late"] == true,
            full: line["full"].as_u64().unwrap(),
            artifact: line["artifact"].as_str().map(str::to_owned),
            body: line["body"].as_str().map(|body| redact_text(body).value),
            salt: None,
            commitment: Mac::default(),
            mac: Mac::default(),
        })
    };
    let entries: Vec<Entry> = lines.filter_map(event).map(|kept| Entry::from(&kept)).collect();
    fold_all(&entries)
}

/// What distinguishes the events of hooks: the request, or the command or file with the kind.
fn hooked(home: &Home, work: &str) -> Vec<String> {
    let events = home.json(&["work", "tail", work, "--limit", "500"])["events"].clone();
    let named = |event: &Value| {
        let step = &event["step"];
        let name = ["command", "what", "path", "text"].into_iter().find_map(|key| step[key].as_str());
        format!("{} {}", event["kind"].as_str().unwrap(), name.unwrap_or_default())
    };
    let of_hooks =
        |event: &&Value| ["prompt", "started", "ran", "edited"].iter().any(|kind| event["kind"] == *kind);
    events.as_array().unwrap().iter().filter(of_hooks).map(named).collect()
}

/// A hint as it follows from the events. Its last line, the head of the journal, goes on with each start, and who else is at
/// work follows from the connections of the moment.
fn hint(home: &Home, work: &str) -> String {
    let hint = home.json(&["work", "resume", work])["text"].as_str().unwrap().to_owned();
    let (events, _head) = hint.trim().rsplit_once('\n').unwrap();
    events.lines().filter(|line| !line.starts_with("Also live here")).collect::<Vec<_>>().join("\n")
}

#[test]
fn acknowledged_notes_survive_kill_9() {
    let seed = std::env::var("CEREBRO_TEST_SEED").ok().and_then(|text| text.parse().ok());
    let seed = seed.unwrap_or_else(rand::random);
    println!("CEREBRO_TEST_SEED={seed}");
    let mut rng = StdRng::seed_from_u64(seed);
    let home = Home::with_config("[work]\ntools = true\n");
    let mut noting = [Noting::begin(&home, "claude-code"), Noting::begin(&home, "codex-mcp-client")];
    let mut reporting = [Reporting::begin("claude-code", "hooked-1"), Reporting::begin("codex", "hooked-2")];
    for round in 0..scaled(ROUNDS) {
        // Makes sure that there is a daemon to kill.
        home.json(&["projects"]);
        let sent = noting.each_mut().map(|one| one.send(round));
        let pause = Duration::from_millis(rng.random_range(0..80));
        std::thread::scope(|scope| {
            // Two more sessions, by hooks.
            for one in &mut reporting {
                let home = &home;
                scope.spawn(move || one.round(home, round));
            }
            std::thread::sleep(pause);
            home.kill_daemon();
        });
        for (one, sent) in noting.iter_mut().zip(sent) {
            one.receive(sent);
        }
    }
    for one in &noting {
        let texts = texts(&home, &one.work);
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for text in &texts {
            *counts.entry(text.trim_end_matches('…').trim()).or_default() += 1;
        }
        assert!(counts.values().all(|count| *count == 1), "one is there twice: {counts:?}");
        for text in &one.acknowledged {
            assert!(counts.contains_key(text.as_str()), "acknowledged and not there: {text}");
        }
        assert!(!one.acknowledged.is_empty());
    }
    for work in works(&home) {
        let id = work["work"].as_str().unwrap();
        texts(&home, id);
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        let hooked = hooked(&home, id);
        hooked.iter().cloned().for_each(|text| *counts.entry(text).or_default() += 1);
        assert!(counts.values().all(|count| *count == 1), "{counts:?}");
        if let Some(one) = reporting.iter().find(|one| work["session_id"] == one.session) {
            // A session's reports come one after the other, so what was acknowledged is there in that order.
            let mut rest = hooked.iter();
            let lost = one.acknowledged.iter().find(|name| !rest.any(|text| text == *name));
            assert_eq!(lost, None, "acknowledged and not there, or in another order: {hooked:?}");
            assert!(scaled(ROUNDS) < 10 || !one.acknowledged.is_empty());
        }
        let before = (home.json(&["work", "show", id])["state"].clone(), hint(&home, id));
        let model = folded(&home, id);
        assert_eq!(json!(model), before.0, "the fold of its events");
        let request = model.request.map_or_else(String::new, |request| request.text);
        assert!(before.1.contains(&request), "the hint has it: {}", before.1);
        home.kill_daemon();
        let after = (home.json(&["work", "show", id])["state"].clone(), hint(&home, id));
        assert_eq!(after, before, "folded again, it is the same");
    }
    assert_eq!(home.run(&["work", "verify"]).code(), 0);
    assert_eq!(home.run(&["doctor"]).code(), 0);
}

#[test]
fn what_hooks_report_while_the_daemon_is_killed_is_there_or_in_a_gap() {
    let home = Home::new();
    // The hook of a call starts no daemon, so none has to wait for the start of one.
    let run = |command: &str| {
        let input = json!({ "command": command });
        let call = json!({ "tool_name": "Bash", "tool_use_id": command, "tool_input": input, "tool_response": "ok" });
        report(&home, "codex", "PostToolUse", "s", call);
    };
    for kill in 0..KILLS {
        home.json(&["projects"]);
        let (ended, is_first_over) = std::sync::mpsc::sync_channel(AT_ONCE);
        std::thread::scope(|scope| {
            for n in 0..AT_ONCE {
                let (run, ended) = (&run, ended.clone());
                scope.spawn(move || {
                    run(&format!("make {kill}-{n}"));
                    ended.send(()).unwrap();
                });
            }
            // The others are under way.
            is_first_over.recv().unwrap();
            home.kill_daemon();
        });
    }
    home.json(&["projects"]);
    let mut last = 0;
    wait_for("all gaps to be reported", || {
        last += 1;
        run(&format!("at last {last}"));
        let files = fs::read_dir(home.data().join("missed")).map_or(0, Iterator::count);
        (files == 0).then_some(())
    });
    let id = works(&home)[0]["work"].as_str().unwrap().to_owned();
    let told = hooked(&home, &id).iter().filter(|event| event.starts_with("ran make ")).count();
    let gaps = home.json(&["work", "show", &id])["state"]["gaps"]["events"].as_u64().unwrap();
    // Also one that was written just before the kill counts once.
    assert_eq!(told as u64 + gaps, (KILLS * AT_ONCE) as u64, "{told} and {gaps} in gaps");
    assert_eq!(home.run(&["work", "verify"]).code(), 0);
}

#[test]
fn a_full_disk_holds_up_no_hook_and_the_journal_recovers() {
    let home = Home::at("disk/data");
    let Some(disk) = Disk::mount(&home, "disk", "size=96m") else { return };
    home.json(&["projects"]);
    report(&home, "codex", "UserPromptSubmit", "s", json!({ "prompt": "before" }));
    let filler = disk.path().join("filler");
    let mut file = std::fs::File::create(&filler).unwrap();
    let mut piece = 16 << 20;
    while piece >= 4_096 {
        if file.write_all(&vec![7; piece]).is_err() {
            piece /= 2;
        }
    }
    for n in 0..FULL {
        let begun = Instant::now();
        report(
            &home,
            "codex",
            "UserPromptSubmit",
            "s",
            json!({ "prompt": format!("full {n} {}", "x".repeat(1_500)) }),
        );
        assert!(begun.elapsed() < Duration::from_secs(5), "the hook took {:?}", begun.elapsed());
    }
    drop(file);
    std::fs::remove_file(&filler).unwrap();
    let missed = home.json(&["daemon", "status"])["journal"]["missed"].as_u64().unwrap();
    assert!(missed > 0, "the disk was full");
    // It recovers by itself and reports the gap, also after a kill.
    report(&home, "codex", "UserPromptSubmit", "s", json!({ "prompt": "after" }));
    home.kill_daemon();
    home.json(&["projects"]);
    report(&home, "codex", "UserPromptSubmit", "s", json!({ "prompt": "at last" }));
    let work = works(&home)[0]["work"].as_str().unwrap().to_owned();
    let texts = texts(&home, &work);
    assert_eq!(texts.first().map(String::as_str), Some("before"), "{texts:?}");
    assert_eq!(texts[texts.len() - 2..], ["after", "at last"], "{texts:?}");
    let full = texts.iter().filter(|text| text.starts_with("full ")).count() as u64;
    let state = home.json(&["work", "show", &work])["state"].clone();
    assert_eq!((&state["gaps"]["events"], missed + full), (&json!(missed), FULL), "{}", state["gaps"]);
    assert_eq!(home.run(&["work", "verify"]).code(), 0);
}

#[test]
fn events_that_no_daemon_and_no_transcript_has_are_reported_as_a_gap() {
    let home = Home::new();
    home.json(&["projects"]);
    let ask = |session: &str, words: &str| {
        report(&home, "gemini-cli", "BeforeAgent", session, json!({ "prompt": words }))
    };
    ask("s", "before");
    home.json(&["daemon", "stop"]);
    let begun = Instant::now();
    for words in ["away", "still away"] {
        assert_eq!(ask("s", words), "");
    }
    ask("new", "the first words of another one");
    assert!(begun.elapsed() < Duration::from_secs(6));
    home.json(&["projects"]);
    ask("s", "after");
    ask("new", "the second ones");
    let gaps = |session: &str| {
        let works = works(&home);
        let work = works.iter().find(|work| work["session_id"] == session).unwrap();
        home.json(&["work", "show", work["work"].as_str().unwrap()])["state"]["gaps"]["events"].as_u64()
    };
    assert_eq!((gaps("s"), gaps("new")), (Some(2), Some(1)));
    assert_eq!(home.run(&["work", "verify"]).code(), 0);
}

#[test]
fn a_hook_that_is_killed_or_finds_no_daemon_leaves_no_half() {
    let home = Home::new();
    home.json(&["projects"]);
    report(&home, "claude-code", "UserPromptSubmit", "s", json!({ "prompt": "before", "prompt_id": "p" }));
    home.json(&["daemon", "stop"]);
    let begun = Instant::now();
    assert_eq!(report(&home, "claude-code", "UserPromptSubmit", "s", json!({ "prompt": "away" })), "");
    assert!(begun.elapsed() < Duration::from_secs(3));
    home.json(&["projects"]);
    for n in 0..20_u64 {
        let input = json!({
            "session_id": "s", "cwd": home.work(), "tool_name": "Bash", "tool_use_id": format!("c{n}"),
            "tool_input": { "command": format!("make part-{n}") }, "tool_response": { "stdout": "ok" },
        });
        let mut hook = home.command();
        hook.args(["hook", "claude-code", "PostToolUse"]).stdin(Stdio::piped()).stdout(Stdio::null());
        let mut hook = hook.spawn().unwrap();
        hook.stdin.take().unwrap().write_all(input.to_string().as_bytes()).unwrap();
        std::thread::sleep(Duration::from_millis(2 * n));
        hook.kill().unwrap();
        hook.wait().unwrap();
    }
    let id = works(&home)[0]["work"].as_str().unwrap().to_owned();
    texts(&home, &id);
    // Reported again by hooks that are not killed: each event is there once.
    for n in 0..20 {
        let input = json!({ "command": format!("make part-{n}") });
        let payload = json!({
            "tool_name": "Bash", "tool_use_id": format!("c{n}"), "tool_input": input,
            "tool_response": { "stdout": "ok" },
        });
        report(&home, "claude-code", "PostToolUse", "s", payload);
    }
    let events = home.json(&["work", "tail", &id, "--limit", "500"])["events"].clone();
    let ran = events.as_array().unwrap().iter().filter(|event| event["kind"] == "ran").count();
    assert_eq!(ran, 20, "{events:#}");
    assert_eq!(home.run(&["work", "verify"]).code(), 0);
}
