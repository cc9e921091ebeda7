//! The worker with a provider that fails on demand: lags, retries, dead letters, budgets, pauses.

use std::time::{Duration, Instant};

use crate::support::{Agent, Behavior, FaultyProvider, Home, Value, json, wait_for};

fn worker(home: &Home) -> Value {
    home.json(&["worker", "status"])
}

/// Waits until everything is embedded.
pub fn drained(home: &Home) -> Value {
    wait_for("the queue to drain", || {
        let worker = worker(home);
        (worker["state"] == "idle" && worker["queue_depth"] == 0 && worker["filling"].is_null())
            .then_some(worker)
    })
}

fn state(home: &Home, wanted: &str) -> Value {
    wait_for(wanted, || {
        let worker = worker(home);
        (worker["state"] == wanted).then_some(worker)
    })
}

fn save(agent: &mut Agent, count: usize) -> Vec<String> {
    (0..count).map(|n| agent.save(&format!("Title {n}"), &format!("Text of number {n}."))).collect()
}

#[test]
fn every_save_gets_a_vector_soon_after() {
    let provider = FaultyProvider::start();
    let home = Home::with_config(&provider.config(""));
    let mut agent = home.agent();
    save(&mut agent, 20);
    agent.save("Long", &"Many words of a long memory. ".repeat(100));
    let done = drained(&home);
    assert_eq!((done["provider"].as_str(), done["model"].as_str()), (Some("openai"), Some("test")), "{done}");
    assert_eq!(done["embedded"], 21, "{done}");
    assert!(done["lag_p50_ms"].as_u64().unwrap() <= done["lag_p99_ms"].as_u64().unwrap(), "{done}");
    assert!(done["tokens_today"].as_u64().unwrap() > 500, "{done}");
    let stats = agent.ok("mem_stats", json!({}));
    assert_eq!(stats["worker"]["queue_depth"], 0);
    assert!(stats.text.contains("openai/test"), "{stats:?}");
    // All of the long one was embedded, and each passage has its title.
    let long: Vec<String> = provider.texts().into_iter().filter(|text| text.contains("Many words")).collect();
    assert!(long.len() > 3 && long.iter().all(|text| text.starts_with("Long\n")), "{long:#?}");
}

#[test]
fn without_a_provider_jobs_wait_and_nothing_changes() {
    let home = Home::with_config("[embeddings]\nprovider = \"none\"\n");
    let mut agent = home.agent();
    let ids = save(&mut agent, 3);
    let worker = state(&home, "off");
    assert_eq!((worker["queue_depth"].as_u64(), &worker["model"]), (Some(3), &Value::Null), "{worker}");
    assert_eq!(agent.search("text of number 1").len(), 3);
    agent.ok("mem_delete", json!({"id": ids[0]}));
    assert_eq!(self::worker(&home)["queue_depth"], 2, "a deleted memory owes nothing");
    let refused = home.run(&["reindex"]);
    assert_eq!(refused.code(), 1);
    assert!(refused.stderr.contains("cerebro model install"), "{refused:?}");
}

#[test]
fn an_outage_is_waited_out_without_a_storm_of_calls() {
    let provider = FaultyProvider::start();
    provider.is(Behavior::Down);
    let home = Home::with_config(&provider.config(""));
    let mut agent = home.agent();
    save(&mut agent, 30);
    let waiting = state(&home, "waiting");
    assert!(waiting["detail"].is_string(), "{waiting}");
    let asked = provider.requests();
    assert!(asked <= 12, "{asked} requests into an outage");
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(2) {
        save(&mut agent, 1);
    }
    assert!(provider.requests() <= asked + 1, "saves make it ask again");
    assert!(!agent.search("text of number 7").is_empty(), "search goes on with words");
    provider.is(Behavior::Well);
    home.run(&["daemon", "stop"]).success();
    home.run(&["jobs", "retry"]).success();
    let queued = home.json(&["jobs", "list", "--state", "queued"]);
    let failed = queued["jobs"].as_array().unwrap().iter().filter(|job| job["error"].is_string()).count();
    assert!(failed <= 3, "few jobs took the blame: {queued}");
}

#[test]
fn a_refused_memory_is_given_up_and_can_be_tried_again() {
    let provider = FaultyProvider::start();
    provider.is(Behavior::Picky);
    let home = Home::with_config(&provider.config(""));
    let mut agent = home.agent();
    save(&mut agent, 5);
    let bad = agent.save("Bad", "This one is poison.");
    let done = drained(&home);
    assert_eq!((done["dead"].as_u64(), done["embedded"].as_u64()), (Some(1), Some(5)), "{done}");
    let jobs = home.json(&["jobs"]);
    assert_eq!(jobs["jobs"][0]["memory"], bad.as_str(), "{jobs}");
    assert_eq!(jobs["jobs"][0]["title"], "Bad");
    assert!(!jobs["jobs"][0]["error"].as_str().unwrap().contains("poison"), "no text of the memory: {jobs}");
    let asked = provider.requests();
    save(&mut agent, 1);
    drained(&home);
    assert!(provider.requests() <= asked + 2, "what was given up is not tried again");
    provider.is(Behavior::Well);
    assert_eq!(home.json(&["jobs", "retry"])["revived"], 1);
    let done = drained(&home);
    assert_eq!(done["dead"], 0, "{done}");
    // A change of a memory that was given up begins again.
    provider.is(Behavior::Picky);
    agent.ok("mem_update", json!({"id": bad, "content": "Still poison."}));
    wait_for("the dead letter", || (worker(&home)["dead"] == 1).then_some(()));
    agent.ok("mem_update", json!({"id": bad, "content": "Now it is well."}));
    assert_eq!(drained(&home)["dead"], 0);
}

#[test]
fn many_memories_are_asked_for_by_few_requests() {
    let provider = FaultyProvider::start();
    let home = Home::with_config(&provider.config(""));
    let mut agent = home.agent();
    home.run(&["worker", "pause"]).success();
    save(&mut agent, 100);
    agent.save("Long", &"Many words of a long memory. ".repeat(300));
    let done = home.json(&["worker", "resume", "--wait"]);
    assert_eq!((done["embedded"].as_u64(), done["dead"].as_u64()), (Some(101), Some(0)), "{done}");
    assert!(provider.requests() <= 8, "{} requests", provider.requests());
    assert_eq!(done["requests_today"].as_u64(), Some(provider.requests() as u64), "{done}");
}

#[test]
fn one_refused_memory_does_not_spoil_its_batch() {
    let provider = FaultyProvider::start();
    provider.is(Behavior::Picky);
    let home = Home::with_config(&provider.config(""));
    let mut agent = home.agent();
    home.run(&["worker", "pause"]).success();
    save(&mut agent, 30);
    let bad = agent.save("Bad", "This one is poison.");
    for n in 30..60 {
        agent.save(&format!("Title {n}"), "One of the later ones.");
    }
    let done = home.json(&["worker", "resume", "--wait"]);
    assert_eq!((done["embedded"].as_u64(), done["dead"].as_u64()), (Some(60), Some(1)), "{done}");
    assert_eq!(home.json(&["jobs"])["jobs"][0]["memory"], bad.as_str());
    assert!(provider.requests() <= 20, "{} requests", provider.requests());
}

#[test]
fn a_budget_that_a_whole_batch_would_break_is_spent_in_parts() {
    let provider = FaultyProvider::start();
    let home = Home::with_config(&provider.config("tokens_per_day = 60"));
    let mut agent = home.agent();
    home.run(&["worker", "pause"]).success();
    save(&mut agent, 40);
    home.run(&["worker", "resume"]).success();
    let waiting = state(&home, "waiting");
    assert!(waiting["detail"].as_str().unwrap().contains("budget"), "{waiting}");
    let spent = waiting["tokens_today"].as_u64().unwrap();
    assert!((30..=60).contains(&spent), "{waiting}");
}

#[test]
fn reading_does_not_delay_the_worker() {
    let provider = FaultyProvider::start();
    let home = Home::with_config(&provider.config("batch = 1"));
    let mut agent = home.agent();
    home.run(&["worker", "pause"]).success();
    save(&mut agent, 20);
    home.run(&["worker", "resume"]).success();
    let begun = Instant::now();
    while agent.ok("mem_stats", json!({}))["worker"]["queue_depth"] != 0 {
        assert!(begun.elapsed() < Duration::from_secs(15), "20 jobs are not done in {:?}", begun.elapsed());
    }
}

#[test]
fn the_days_budget_holds_and_is_remembered() {
    let provider = FaultyProvider::start();
    let home = Home::with_config(&provider.config("requests_per_day = 4\nbatch = 1"));
    let mut agent = home.agent();
    save(&mut agent, 12);
    let waiting = state(&home, "waiting");
    assert!(waiting["detail"].as_str().unwrap().contains("budget"), "{waiting}");
    assert_eq!(waiting["requests_today"], 4, "{waiting}");
    assert!(waiting["queue_depth"].as_u64().unwrap() > 0);
    home.run(&["daemon", "stop"]).success();
    let waiting = state(&home, "waiting");
    assert_eq!(waiting["requests_today"], 4, "another daemon spends no more: {waiting}");
    assert_eq!(provider.requests(), 4);
}

#[test]
fn a_pause_holds_over_a_restart_until_it_is_resumed() {
    let provider = FaultyProvider::start();
    let home = Home::with_config(&provider.config(""));
    let mut agent = home.agent();
    home.run(&["worker", "pause"]).success();
    state(&home, "paused");
    let asked = provider.requests();
    save(&mut agent, 5);
    home.run(&["daemon", "stop"]).success();
    save(&mut agent, 5);
    state(&home, "paused");
    assert_eq!(provider.requests(), asked);
    let short = home.run(&["worker", "status", "--wait"]);
    assert_eq!(short.code(), 1, "waiting for a paused worker ends: {short:?}");
    let done = home.json(&["worker", "resume", "--wait"]);
    assert_eq!((done["state"].as_str(), done["queue_depth"].as_u64()), (Some("idle"), Some(0)), "{done}");
}

#[test]
fn jobs_that_cannot_run_do_not_keep_the_daemon() {
    let provider = FaultyProvider::start();
    provider.is(Behavior::Down);
    let home = Home::with_config(&format!("idle_exit = \"2s\"\n{}", provider.config("")));
    let mut agent = home.agent();
    save(&mut agent, 10);
    drop(agent);
    wait_for("the daemon to leave", || home.daemons().is_empty().then_some(()));
}

#[test]
fn pausing_and_resuming_report_the_new_state() {
    let home = Home::with_config("[embeddings]\nprovider = \"none\"\n");
    state(&home, "off");
    for _ in 0..3 {
        assert_eq!(home.json(&["worker", "pause"])["state"], "paused");
        assert_eq!(home.json(&["worker", "resume"])["state"], "off");
    }
}

#[test]
fn a_context_call_loads_the_vectors_ahead() {
    let provider = FaultyProvider::start();
    let home = Home::with_config(&provider.config(""));
    save(&mut home.agent(), 3);
    drained(&home);
    home.kill_daemon();
    let asked = provider.requests();
    let mut agent = home.pump().project("demo").env("CEREBRO_LOG", "cerebro=debug").start();
    agent.ok("mem_context", json!({}));
    wait_for("the vectors to be read", || {
        let log = std::fs::read_to_string(home.data().join("daemon.log")).unwrap();
        log.contains("the vectors of a project are in memory").then_some(())
    });
    assert_eq!(provider.requests(), asked, "nothing is spent before something is searched");
}
