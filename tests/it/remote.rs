//! Several daemons on one SurrealDB server: nothing lost, nothing doubled, and each finds what the others
//! save; also when the server dies in the middle.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::hooks::report;
use crate::support::{
    AGENTS_MAY_PURGE, Agent, FaultyProvider, Home, Provider, Surreal, Value, finish, json, scaled, surreal,
    wait_for, word,
};
use crate::work_hooks::works;

/// How soon another daemon finds a save.
const SOON: Duration = Duration::from_secs(1);

#[test]
#[ignore = "serves the other tests, which start it in a process of its own"]
fn a_server_for_the_other_tests() {
    surreal::serve();
}

/// Searches until a memory is found; returns how long it took.
fn found(agent: &mut Agent, query: &str, id: &str) -> Duration {
    let begun = Instant::now();
    wait_for("the other daemon to find it", || agent.search(query).iter().any(|hit| hit == id).then_some(()));
    begun.elapsed()
}

fn all_events(homes: &[Home]) -> Vec<Value> {
    homes.iter().flat_map(Home::events).collect()
}

#[test]
fn each_daemon_finds_what_the_other_saves() {
    let server = Surreal::start();
    for scheme in ["ws", "http"] {
        let homes = [server.home(scheme, ""), server.home(scheme, "")];
        let mut agents = [homes[0].agent(), homes[1].agent()];
        let mut took: Vec<Duration> = (0..5)
            .map(|n| {
                let text = format!("the {} of {scheme}", word(n));
                let id = agents[n % 2].save(&format!("Title {n} {scheme}"), &text);
                found(&mut agents[(n + 1) % 2], &text, &id)
            })
            .collect();
        took.sort_unstable();
        // The median, because other tests use the processors too.
        assert!(took[2] < SOON, "{scheme}: found after {took:?}");
        let id = agents[0].save(&format!("Gone {scheme}"), &format!("{} goes", word(77)));
        found(&mut agents[1], &word(77), &id);
        agents[1].ok("mem_delete", json!({"id": id}));
        wait_for("the deletion to be heard", || agents[0].search(&word(77)).is_empty().then_some(()));
    }
}

#[test]
fn concurrent_saves_are_all_there_and_the_log_has_no_gaps() {
    let server = Surreal::start();
    // All come to an empty database at once.
    let homes = [server.home("ws", ""), server.home("ws", ""), server.home("ws", "")];
    let count = scaled(150);
    std::thread::scope(|scope| {
        for (n, home) in homes.iter().enumerate() {
            scope.spawn(move || {
                let mut agent = home.agent();
                for i in 0..count {
                    agent.save(&format!("Home {n} save {i}"), &format!("{} of {n}", word(i)));
                    // All write one topic, more often than anything else: every losing write must succeed in the end.
                    for turn in 0..3 {
                        let content = format!("{n} at {i}, {turn}");
                        let shared = json!({"title": "Shared", "content": content, "topic_key": "a/b"});
                        agent.ok("mem_save", shared);
                    }
                }
            });
        }
    });
    for home in &homes {
        let held = home.memories();
        assert_eq!(held.len(), homes.len() * count + 1);
        let titles: BTreeSet<String> = held.iter().map(|memory| memory["title"].to_string()).collect();
        assert_eq!(titles.len(), homes.len() * count + 1);
        let shared = held.iter().find(|memory| memory["title"] == "Shared").unwrap();
        assert_eq!(shared["revision"], homes.len() * count * 3, "no revision of the shared topic is lost");
    }
    let events = all_events(&homes);
    let writers: BTreeSet<String> = events.iter().map(|event| event["writer"].to_string()).collect();
    assert_eq!(writers.len(), homes.len(), "{writers:?}");
    crate::crash::assert_events_have_no_gaps(&events);
}

/// Saves until that succeeds; returns the id and the number of errors before. Each error must ask for a retry.
fn insist(agent: &mut Agent, title: &str, content: &str) -> (String, usize) {
    for errors in 0..200 {
        let id = agent.send("mem_save", json!({"title": title, "content": content}));
        match agent.answer(id) {
            Ok(result) if result["isError"] != true => {
                return (result["structuredContent"]["id"].as_str().unwrap().to_owned(), errors);
            }
            Ok(result) => assert!(result.to_string().contains("call again"), "{result}"),
            Err(error) => panic!("{error:?}"),
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("never answered");
}

/// The test server speaks no TLS, which tests the same as a certificate that nobody trusts.
#[test]
fn a_server_that_cannot_be_reached_safely_is_refused() {
    let server = &Surreal::start();
    // Together, because each waits for ten seconds.
    std::thread::scope(|scope| {
        for scheme in ["wss", "https"] {
            scope.spawn(move || {
                let home = server.home(scheme, "");
                let done = home.run(&["save", "Title", "Text."]);
                let stderr = &done.stderr;
                assert_ne!(done.code(), 0);
                assert!(
                    stderr.contains(&server.url(scheme)) && stderr.contains("cannot be reached"),
                    "{scheme}: {stderr}"
                );
                let log = std::fs::read_to_string(home.data().join("daemon.log")).unwrap();
                assert!(!log.contains("panicked"), "{scheme}: {log}");
            });
        }
    });
}

/// Reads until that is refused, and returns whether it was; every error must ask for a retry. Saves do not serve here:
/// one that is under way waits until its outcome is known, and those behind it wait too.
fn meets_outage(agent: &mut Agent) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(20) {
        let reply = agent.call("mem_context", json!({}));
        if reply.is_error {
            return reply.text.contains("call again");
        }
    }
    false
}

#[test]
fn a_server_that_dies_loses_nothing_and_doubles_nothing() {
    let mut server = Surreal::start();
    let homes = [server.home("ws", ""), server.home("ws", "")];
    for home in &homes {
        home.agent().save("First", "Both are connected.");
    }
    let count = scaled(100).max(20);
    let mut reader = homes[0].agent();
    let (mut saved, mut total, mut errors) = (BTreeSet::new(), 0, 0);
    // They save at least this often, and until the last outage is over, however fast the machine is.
    let (over, made) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        let writers: Vec<_> = homes
            .iter()
            .enumerate()
            .map(|(n, home)| {
                let (over, made) = (&over, &made);
                scope.spawn(move || {
                    let mut agent = home.agent();
                    (0..)
                        .take_while(|i| *i < count || !over.load(Ordering::SeqCst))
                        .map(|i| insist(&mut agent, &format!("Home {n} save {i}"), &word(i)))
                        .inspect(|_| {
                            made.fetch_add(1, Ordering::SeqCst);
                        })
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        for _ in 0..3 {
            let before = made.load(Ordering::SeqCst);
            let is_busy = || made.load(Ordering::SeqCst) >= before + 10;
            wait_for("saves between two outages", || is_busy().then_some(()));
            server.kill();
            errors += usize::from(meets_outage(&mut reader));
            server.begin();
        }
        over.store(true, Ordering::SeqCst);
        for writer in writers {
            for (id, refused) in writer.join().unwrap() {
                saved.insert(id);
                total += 1;
                errors += refused;
            }
        }
    });
    assert!(errors >= 3, "not every outage was met by a call: {errors}");
    assert!(total >= 2 * count, "{total}");
    assert_eq!(saved.len(), total, "an id was given twice");
    let held = homes[1].memories();
    let ids: BTreeSet<String> = held.iter().map(|memory| memory["id"].as_str().unwrap().to_owned()).collect();
    assert!(saved.is_subset(&ids), "acknowledged saves are gone");
    let titles: BTreeSet<String> = held.iter().map(|memory| memory["title"].to_string()).collect();
    assert_eq!(held.len(), titles.len(), "a save is there twice");
    crate::crash::assert_events_have_no_gaps(&all_events(&homes));
    for (n, home) in homes.iter().enumerate() {
        assert!(!home.agent().search(&format!("home {n} save 7")).is_empty());
    }
}

#[test]
fn unusable_settings_are_named() {
    let server = Surreal::start();
    let refused = |home: &Home| {
        let saved = home.run(&["save", "--title", "a", "b"]);
        assert_ne!(saved.code(), 0);
        saved.stderr
    };
    let wrong = refused(&server.home_as("ws", "wrong", "", ""));
    assert!(wrong.contains("refuses the user `root`"), "{wrong}");
    let absent = refused(&server.home_as("ws", surreal::PASSWORD, "namespace = \"nowhere\"", ""));
    assert!(absent.contains("`nowhere`") && absent.contains("create = true"), "{absent}");
    let nobody = Home::with_config("[remote]\nurl = \"ws://127.0.0.1:1\"\n");
    let words = refused(&nobody);
    assert!(words.contains("CEREBRO_DB_PASSWORD"), "{words}");
    let home = server.home("ws", "");
    home.run(&["save", "--title", "a", "b"]).success();
    let studio = home.run(&["sql", "RETURN 1"]);
    assert!(studio.stderr.contains("is on a server"), "{studio:?}");
}

#[test]
fn a_server_of_another_version_is_refused() {
    for (scheme, version) in [("http", "2.3"), ("ws", "2.3"), ("ws", "3.2"), ("http", "4.0")] {
        let server = Provider::answering(format!("surrealdb-{version}.1"));
        let address = server.address().replace("http", scheme);
        let remote = format!("[remote]\nurl = \"{address}\"\npassword_env = \"HOME\"\n");
        let refused = Home::with_config(&remote).run(&["save", "--title", "a", "b"]);
        assert_ne!(refused.code(), 0);
        let words = &refused.stderr;
        assert!(words.contains(version) && words.contains("3.3 up to below 4.0"), "{words}");
        assert!(!words.contains("call again"), "trying again cannot help: {words}");
    }
}

#[test]
fn users_of_a_namespace_or_a_database_are_enough() {
    let server = Surreal::start();
    let owner = server.home("ws", "");
    let id = owner.agent().save("Shared", "The wheatear belongs to the team.");
    server.run(
        "USE NS cerebro DB main;
         DEFINE USER of_namespace ON NAMESPACE PASSWORD 'a-secret' ROLES EDITOR;
         DEFINE USER of_database ON DATABASE PASSWORD 'a-secret' ROLES EDITOR;",
    );
    for user in ["of_namespace", "of_database"] {
        for scheme in ["ws", "http"] {
            let home =
                server.home_as(scheme, surreal::PASSWORD, &format!("user = \"{user}\""), AGENTS_MAY_PURGE);
            let mut agent = home.agent();
            assert_eq!(agent.search("wheatear"), [id.as_str()], "{user} over {scheme}");
            let own = agent.save(&format!("By {user} {scheme}"), &word(5));
            agent.ok("mem_delete", json!({"id": own, "hard": true}));
        }
    }
    let reader = server.home_as("ws", "wrong", "user = \"of_database\"", "");
    let refused = reader.run(&["save", "--title", "a", "b"]);
    assert!(refused.stderr.contains("refuses the user `of_database`"), "{refused:?}");
}

#[test]
fn the_location_of_the_database_and_its_backups_are_shown() {
    let server = Surreal::start();
    let home = server.home("ws", "[backup]\nevery = \"1s\"");
    home.run(&["daemon", "start"]).success();
    let status = home.run(&["daemon", "status"]).success();
    assert!(status.contains(&server.url("ws")) && status.contains("database main"), "{status}");
    assert!(!status.contains(surreal::PASSWORD) && !status.contains("root"), "{status}");
    let log = || std::fs::read_to_string(home.data().join("daemon.log")).unwrap();
    wait_for("the log to tell who backs it up", || log().contains("it is backed up there").then_some(()));
    assert!(!log().contains("backup failed"), "{}", log());
    let report = finish(home.command().args(["doctor", "--json"])).json();
    let backup =
        report["checks"].as_array().unwrap().iter().find(|check| check["check"] == "backup").unwrap();
    assert!(backup["state"] == "ok" && backup["words"].to_string().contains("on a server"), "{backup}");
}

#[test]
fn each_memory_is_embedded_once() {
    let (server, provider) = (Surreal::start(), FaultyProvider::start());
    let homes = [server.home("ws", &provider.config("")), server.home("ws", &provider.config(""))];
    let count = scaled(100).max(20);
    std::thread::scope(|scope| {
        for (n, home) in homes.iter().enumerate() {
            scope.spawn(move || {
                let mut agent = home.agent();
                for i in 0..count {
                    agent.save(&format!("Title {n} {i}"), &format!("Once {n} {i} over."));
                }
            });
        }
    });
    wait_for("the queue to drain", || {
        (homes[0].json(&["worker", "status"])["queue_depth"] == 0).then_some(())
    });
    let texts: Vec<String> = provider.texts().into_iter().filter(|text| text.contains("Once")).collect();
    let distinct: BTreeSet<&String> = texts.iter().collect();
    assert_eq!((texts.len(), distinct.len()), (2 * count, 2 * count));
}

#[test]
fn the_database_that_the_daemon_has_may_be_named() {
    let server = Surreal::start();
    let home = server.home("ws", "");
    home.run(&["save", "Title", "Text."]).success();
    home.run(&["list", "--db", &server.url("ws")]).success();
    home.run(&["list", "--db", &format!("{}/rpc", server.url("ws"))]).success();
    let refused = home.run(&["list", "--db", "ws://127.0.0.1:9"]);
    assert!(refused.code() == 1 && refused.stderr.contains(&server.url("ws")), "{refused:?}");
}

#[test]
fn a_session_under_way_in_another_home_is_not_unfinished() {
    let server = Surreal::start();
    let homes = [server.home("ws", ""), server.home("ws", "")];
    let mut ours = homes[0].agent();
    let mut theirs = homes[1].agent();
    theirs.ok("mem_session_start", json!({"id": "theirs"}));
    let id = theirs.save("Under way", "The siskin is counted.");
    found(&mut ours, "siskin", &id);
    let unfinished =
        |agent: &mut Agent| agent.ok("mem_context", json!({})).str("text").contains("Unfinished session");
    assert!(!unfinished(&mut ours), "another agent works there now");
    drop(theirs);
    homes[1].end();
    assert!(!unfinished(&mut ours), "its home was at work a moment ago");
    server.run("USE NS cerebro DB main; UPDATE writer SET seen_at = time::now() - 1h");
    wait_for("the other home to count as away", || unfinished(&mut ours).then_some(()));
}

#[test]
fn homes_that_are_gone_do_not_keep_others_from_being_followed() {
    let server = Surreal::start();
    let homes = [server.home("ws", ""), server.home("ws", "")];
    homes[0].agent().save("First", "The schema is there.");
    // Short-lived homes, whose names come before all others.
    server.run(
        "USE NS cerebro DB main;
         FOR $n IN 0..300 {
             LET $name = string::concat('0', <string> $n);
             CREATE event SET writer = $name, seq = 1, at = time::now(), kind = 'memory.created';
             CREATE type::record('writer', $name) SET seen_at = time::now() - 1w, lease = 'gone';
         };
         UPDATE writer SET seen_at = time::now() - 4w WHERE lease = 'gone' AND record::id(id) < '02'",
    );
    let mut agents = [homes[0].agent(), homes[1].agent()];
    for n in 0..4 {
        let id = agents[n % 2].save(&format!("Title {n}"), &word(n));
        found(&mut agents[(n + 1) % 2], &word(n), &id);
    }
    for home in &homes {
        home.run(&["daemon", "stop"]).success();
    }
    // Homes that were gone for weeks are forgotten when a home starts; the others stay.
    homes[0].run(&["save", "Title", "Text."]).success();
    server.run(
        "USE NS cerebro DB main;
         LET $left = (SELECT VALUE record::id(id) FROM writer WHERE lease = 'gone');
         IF array::len($left) = 0 { THROW 'all are gone' };
         IF $left.any(|$name| $name < '02') { THROW 'those of weeks ago are there' }",
    );
}

#[test]
fn a_missing_permission_is_no_outage() {
    let server = Surreal::start();
    server.home("ws", "").run(&["save", "Title", "Text."]).success();
    server.run("USE NS cerebro DB main; DEFINE USER reader ON DATABASE PASSWORD 'a-secret' ROLES VIEWER;");
    for scheme in ["ws", "http"] {
        let reader = server.home_as(scheme, surreal::PASSWORD, "user = \"reader\"", "");
        let refused = reader.run(&["save", "Title", "Text."]);
        assert_ne!(refused.code(), 0);
        assert!(refused.stderr.contains("`reader`") && refused.stderr.contains("EDITOR"), "{refused:?}");
        assert!(!refused.stderr.contains("cannot be reached"), "{refused:?}");
    }
}

#[test]
fn a_network_is_not_crossed_in_the_clear_unless_that_is_allowed() {
    let home = Home::with_config("[remote]\nurl = \"ws://db.example\"\npassword_env = \"HOME\"\n");
    let refused = home.run(&["save", "Title", "Text."]);
    assert_ne!(refused.code(), 0);
    assert!(refused.stderr.contains("wss://") && refused.stderr.contains("plaintext"), "{refused:?}");
}

#[test]
fn a_merge_by_another_home_is_no_tampering() {
    let server = Surreal::start();
    let homes = [server.home("ws", ""), server.home("ws", "")];
    homes.iter().for_each(|home| drop(home.json(&["projects"])));
    report(&homes[0], "codex", "UserPromptSubmit", "s-1", json!({ "prompt": "Mend the pier" }));
    let findings = || {
        let verified: Value =
            serde_json::from_str(&homes[0].run(&["work", "verify", "--json"]).stdout).unwrap();
        let found = verified["findings"].as_array().unwrap();
        found.iter().map(|one| one["finding"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let project = works(&homes[0])[0]["project"].as_str().unwrap().to_owned();
    homes[1].run(&["projects", "merge", &project, "harbour", "--yes"]).success();
    assert_eq!(works(&homes[0])[0]["project"], "harbour");
    assert_eq!(findings(), Vec::<String>::new());
    // Nobody merged it there.
    server.run("USE NS cerebro DB main; UPDATE work SET project = 'elsewhere'");
    assert_eq!(findings(), ["row_edited"]);
}
