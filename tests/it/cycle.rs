//! Archiving and consolidation: planned, carried out, killed in between, and undone to the byte.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use rand::{Rng, SeedableRng, rngs::StdRng};

use crate::support::{Home, Value, json, kill, scaled};

/// How often the daemon is killed; the bar is 50 (`CEREBRO_TEST_SCALE=8.34`).
const ROUNDS: usize = 6;
const TEXT: &str = "The upload worker retries a failed part three times and waits for ten seconds in between, and then \
                    it tells whoever asked that the part could not be stored and what the server said about it";

/// A memory of an export, long past.
fn line(id: &str, title: &str, content: &str, more: Value) -> Value {
    let at = "2024-01-05T10:00:00.000001Z";
    let mut line = json!({
        "kind": "memory", "id": id, "project": "demo", "scope": "project", "type": "discovery", "title": title,
        "content": content, "agent": "test", "revision": 1, "duplicate_count": 0, "created_at": at, "updated_at": at,
        "last_seen_at": at,
    });
    for (name, value) in more.as_object().unwrap() {
        line[name] = value.clone();
    }
    line
}

/// A home with what there is to tidy: two that say the same, one that differs in a number, six that happened long ago, and
/// some of each kind that is exempt.
pub fn untidy() -> Home {
    let home = Home::new();
    let episode = json!({ "nature": "episodic" });
    let mut lines = vec![
        line("aaaaaaaaaaaa", "Upload", TEXT, json!({ "tags": ["net"] })),
        line(
            "baaaaaaaaaaa",
            "Upload",
            &TEXT.to_uppercase(),
            json!({ "updated_at": "2024-02-05T10:00:00.000001Z" }),
        ),
        line("caaaaaaaaaaa", "Upload", &TEXT.replace("three", "4"), json!({})),
        line("daaaaaaaaaaa", "Old decision", "The ledger is written in Rust.", json!({})),
        line("eaaaaaaaaaaa", "Pinned walk", "It happened.", json!({ "nature": "episodic", "pinned": true })),
        line(
            "faaaaaaaaaaa",
            "Keyed walk",
            "It happened.",
            json!({ "nature": "episodic", "topic_key": "walk/a" }),
        ),
        line("gaaaaaaaaaaa", "To do", "Walk the walrus.", json!({ "type": "todo" })),
    ];
    for n in 2..=7 {
        let (id, title) = (format!("h{n}aaaaaaaaaa"), format!("Walrus walk {n}"));
        lines.push(line(&id, &title, &format!("It went to the ice {n} times."), episode.clone()));
    }
    home.import(&lines).success();
    home
}

/// The length of the database's write-ahead log.
fn log_bytes(home: &Home) -> u64 {
    let found = std::fs::read_dir(home.data().join("store")).into_iter().flatten().flatten();
    let logs = found.filter(|entry| entry.path().extension().is_some_and(|ending| ending == "log"));
    logs.filter_map(|entry| Some(entry.metadata().ok()?.len())).sum()
}

/// The ids that are archived, and that are live.
fn archived(home: &Home) -> (BTreeSet<String>, usize) {
    let memories = home.memories();
    let archived = memories.iter().filter(|line| line["archived_at"].is_string());
    (archived.map(|line| line["id"].as_str().unwrap().to_owned()).collect(), memories.len())
}

fn ids(list: &Value) -> BTreeSet<String> {
    list.as_array().into_iter().flatten().filter_map(|one| Some(one["id"].as_str()?.to_owned())).collect()
}

#[test]
fn a_plan_is_shown_carried_out_and_undone_to_the_byte() {
    let home = untidy();
    let before = home.export_text();
    let planned = home.json(&["consolidate", "--plan"]);
    assert_eq!(home.export_text(), before, "a plan changes nothing");
    let id = planned["cycle"]["id"].as_str().unwrap().to_owned();
    let steps = planned["steps"].as_array().unwrap();
    let merge = &steps[0];
    assert_eq!(
        (&merge["action"], &merge["id"], &merge["into"]),
        (&json!("merge"), &json!("aaaaaaaaaaaa"), &json!("baaaaaaaaaaa"))
    );
    assert_eq!(
        (&planned["cycle"]["merge"], &planned["cycle"]["archive"]),
        (&json!(1), &json!(6)),
        "{planned}"
    );
    let shown = home.run(&["consolidate", "--log", &id]).success();
    assert!(shown.contains("Walrus walk 2"), "{shown}");

    let applied = home.json(&["consolidate", "--apply", &id]);
    assert_eq!(
        (&applied["cycle"]["state"], &applied["cycle"]["done"]),
        (&json!("applied"), &json!(8)),
        "{applied}"
    );
    let (archived_ids, all) = archived(&home);
    let exempt =
        ["baaaaaaaaaaa", "caaaaaaaaaaa", "daaaaaaaaaaa", "eaaaaaaaaaaa", "faaaaaaaaaaa", "gaaaaaaaaaaa"];
    assert_eq!((archived_ids.len(), all), (7, 13));
    assert!(exempt.iter().all(|id| !archived_ids.contains(*id)), "{archived_ids:?}");
    let listed = home.json(&["list", "--archived", "--project", "demo"]);
    assert_eq!(ids(&listed["memories"]), archived_ids, "{listed}");
    assert_eq!(home.json(&["get", "baaaaaaaaaaa"])["tags"], json!(["net"]), "tags are united");

    home.kill_daemon();
    let undone = home.json(&["consolidate", "--undo"]);
    assert_eq!((&undone["cycle"]["id"], &undone["cycle"]["undone"]), (&json!(id), &json!(8)), "{undone}");
    assert_eq!(home.export_text(), before);
    assert_eq!(home.json(&["consolidate", "--log"])["cycles"][0]["state"], "undone");
    for wrong in [
        &["consolidate", "--apply", &id][..],
        &["consolidate", "--undo", &id],
        &["consolidate", "--log", "zz"],
    ] {
        assert_ne!(home.run(wrong).code(), 0, "{wrong:?}");
    }
    home.run(&["doctor"]).success();
}

#[test]
fn an_archived_memory_is_named_in_a_hint_and_restored_by_one_command() {
    let home = untidy();
    let mut agent = home.pump().project("demo").start();
    home.run(&["archive", "daaaaaaaaaaa", "h2aaaaaaaaaa"]).success();
    let found = agent.ok("mem_search", json!({ "query": "Old decision" }));
    assert_eq!(found["archived"], 1, "{found:?}");
    assert!(found.text.contains("archived: 1 better"), "{found:?}");
    let found = agent.ok("mem_search", json!({ "query": "Old decision", "archived": true }));
    assert_eq!(
        (&found["hits"][0]["id"], &found["hits"][0]["archived"]),
        (&json!("daaaaaaaaaaa"), &json!(true)),
        "{found:?}"
    );
    let context = agent.ok("mem_context", json!({ "limit": 50 }));
    assert!(!context.text.contains("daaaaaaaaaaa"), "{context:?}");
    assert!(agent.get("daaaaaaaaaaa")["archived_at"].is_string());
    let run = home.run(&["search", "Old decision", "--project", "demo"]);
    assert!(run.code() == 0, "{run:?}");

    // An export keeps the state.
    let text = home.export_text();
    let other = Home::new();
    other.import_text(&text).success();
    assert_eq!(other.export_text(), text);
    home.run(&["unarchive", "daaaaaaaaaaa"]).success();
    let found = agent.ok("mem_search", json!({ "query": "Old decision" }));
    assert_eq!(
        (&found["hits"][0]["id"], &found["archived"]),
        (&json!("daaaaaaaaaaa"), &Value::Null),
        "{found:?}"
    );
    // Saving it again restores it too.
    agent.ok("mem_update", json!({ "id": "h2aaaaaaaaaa", "content": "It stayed at home." }));
    assert_eq!(archived(&home).0, BTreeSet::new());
    assert_ne!(home.run(&["archive", "eaaaaaaaaaaa"]).code(), 0, "a pinned one is not archived");
}

#[test]
fn a_killed_daemon_leaves_no_half_done_plan() {
    let home = untidy();
    let before = home.export_text();
    let mut rng = StdRng::seed_from_u64(16);
    let mut outcomes = [0, 0];
    for round in 0..scaled(ROUNDS) {
        let planned = home.json(&["consolidate"]);
        let id = planned["cycle"]["id"].as_str().unwrap().to_owned();
        let wanted: BTreeSet<String> = planned["steps"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|step| step["action"] != "unite")
            .map(|step| step["id"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(wanted.len(), 7, "{planned}");
        let pids = home.daemons();
        let before_it = log_bytes(&home);
        let wait = Duration::from_micros(rng.random_range(0..3_000));
        std::thread::scope(|scope| {
            let applying = scope.spawn(|| home.run(&["consolidate", "--apply", &id]).code());
            // The commit begins when the database's write-ahead log grows, and the kill should be close to that moment. Half of
            // the rounds do not wait for it, but only for the command to be under way.
            let until = Instant::now() + Duration::from_secs(10);
            while round % 2 == 0 && log_bytes(&home) == before_it && Instant::now() < until {
                std::hint::spin_loop();
            }
            if round % 2 == 1 {
                std::thread::sleep(Duration::from_millis(rng.random_range(0..150)));
            }
            std::thread::sleep(wait);
            pids.iter().for_each(|pid| kill(*pid));
            applying.join().unwrap();
        });
        let state = home.json(&["consolidate", "--log", &id])["cycle"]["state"].clone();
        let (archived_ids, _) = archived(&home);
        outcomes[usize::from(state == "applied")] += 1;
        match state.as_str() {
            Some("planned") => assert_eq!(home.export_text(), before, "round {round}"),
            Some("applied") => {
                assert_eq!(archived_ids, wanted, "round {round}");
                // Each is found, either itself or the one that says the same.
                for word in ["upload worker retries", "Walrus walk 2"] {
                    let found = home.json(&["search", word, "--project", "demo", "--archived"]);
                    assert!(!ids(&found["hits"]).is_empty(), "{word}: {found}");
                }
                home.run(&["consolidate", "--undo", &id]).success();
                assert_eq!(home.export_text(), before, "round {round}");
            }
            other => panic!("round {round}: {other:?}"),
        }
    }
    println!("{} kept as planned, {} carried out", outcomes[0], outcomes[1]);
    home.run(&["doctor"]).success();
}
