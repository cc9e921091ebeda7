//! `kill -9` at random moments while the queue drains: in the end each live memory has the vectors of its
//! present revision, once, and nothing else has any.

use std::collections::BTreeMap;
use std::time::Duration;

use cerebro_core::domain::{Scope, Timestamp};
use cerebro_store::{Store, StoredVector};
use rand::{Rng, SeedableRng, rngs::StdRng};

use crate::support::{AGENTS_MAY_PURGE, Behavior, FaultyProvider, Home, json, scaled, wait_for};

const ROUNDS: usize = 20;
const PAGE: usize = 500;

/// The content of the store of a home without a daemon.
struct Held {
    /// Live memories, with their revisions and projects.
    live: BTreeMap<String, (u32, String)>,
    /// The vectors of each memory in order of passage, with the projects that they are filed under.
    vectors: BTreeMap<String, Vec<(u32, String)>>,
}

fn held(home: &Home) -> Held {
    home.run(&["daemon", "stop"]).success();
    // The database needs deeper stacks than a test's thread has.
    let runtime =
        tokio::runtime::Builder::new_multi_thread().thread_stack_size(16 << 20).enable_all().build();
    let dir = home.data().join("store");
    runtime.unwrap().block_on(async move { tokio::spawn(read(dir)).await.unwrap() })
}

async fn read(dir: std::path::PathBuf) -> Held {
    let store = Store::open(&dir, Timestamp::now, Box::new(|_| {})).await.unwrap();
    let models = store.models().all().await.unwrap();
    assert_eq!(models.len(), 1, "{models:?}");
    let mut held = Held { live: BTreeMap::new(), vectors: BTreeMap::new() };
    let mut scopes = vec![Scope::Personal];
    let mut after: Option<String> = None;
    loop {
        let page = store.memories().walk().page(after.as_deref(), PAGE).await.unwrap();
        let Some((last, _)) = page.last() else { break };
        after = Some(last.clone());
        for (_, memory) in page {
            if !scopes.contains(&memory.scope) {
                scopes.push(memory.scope.clone());
            }
            if memory.is_live() {
                held.live
                    .insert(memory.id.to_string(), (memory.revision, memory.scope.project_name().to_owned()));
            }
        }
    }
    for scope in scopes {
        let mut after = String::new();
        loop {
            let page = store.vectors().page(&models[0], &scope, &after, PAGE).await.unwrap();
            let Some(last) = page.last() else { break };
            after.clone_from(&last.place);
            for StoredVector { memory, passage, .. } in page {
                let of = held.vectors.entry(memory.to_string()).or_default();
                of.push((passage, scope.project_name().to_owned()));
            }
        }
    }
    let (missing, _) = missing(&store, &models[0]).await;
    assert_eq!(missing, 0, "live memories without the vectors of their present revision");
    assert_eq!(store.jobs().counts().await.unwrap().depth(), 0);
    store.close().await.unwrap();
    held
}

/// How many live memories have no vectors of their present revision, by the store's own search for them.
async fn missing(store: &Store, model: &cerebro_store::StoredModel) -> (usize, usize) {
    let (mut after, mut count, mut pages) = (None, 0, 0);
    loop {
        let (last, queued) = store.jobs().queue_missing(model, after.as_ref(), PAGE).await.unwrap();
        count += queued;
        pages += 1;
        if last.is_none() {
            return (count, pages);
        }
        after = last;
    }
}

fn assert_true(held: &Held) {
    for (id, (_, project)) in &held.live {
        let of = held.vectors.get(id).unwrap_or_else(|| panic!("{id} has no vectors"));
        let passages: Vec<u32> = of.iter().map(|(passage, _)| *passage).collect();
        let want: Vec<u32> = (0..u32::try_from(passages.len()).unwrap()).collect();
        assert_eq!(passages, want, "the passages of {id}");
        assert!(of.iter().all(|(_, filed)| filed == project), "{id} is of {project}: {of:?}");
    }
    for id in held.vectors.keys() {
        assert!(held.live.contains_key(id), "{id} has vectors and is not live");
    }
}

/// Waits for as long as the queue becomes shorter.
fn drained(home: &Home) {
    let mut depth = None;
    loop {
        let worker = wait_for("the queue to become shorter", || {
            let worker = home.json(&["worker", "status"]);
            let idle = worker["state"] == "idle" && worker["filling"].is_null();
            let moved =
                if worker["queue_depth"] == 0 { idle } else { depth != worker["queue_depth"].as_u64() };
            moved.then_some(worker)
        });
        depth = worker["queue_depth"].as_u64();
        if depth == Some(0) {
            return;
        }
    }
}

#[test]
fn a_worker_that_is_killed_at_any_moment_leaves_every_vector_once() {
    let provider = FaultyProvider::start();
    let home = Home::with_config(&provider.config(""));
    let mut rng = StdRng::seed_from_u64(7);
    let mut ids: Vec<String> = Vec::new();
    for round in 0..scaled(ROUNDS).max(4) {
        let mut agent = home.agent();
        for n in 0..20 {
            let words = "Some words of a text. ".repeat(rng.random_range(1..60));
            // A corrected text is not saved again, so every text differs.
            ids.push(agent.save(&format!("Round {round} save {n}"), &format!("{words}In {round}, {n}.")));
        }
        for _ in 0..6 {
            let id = ids[rng.random_range(0..ids.len())].clone();
            match rng.random_range(0..4) {
                0 => drop(agent.call("mem_delete", json!({"id": id}))),
                1 => drop(agent.call("mem_update", json!({"id": id, "project": format!("p{}", round % 3)}))),
                _ => drop(
                    agent.call("mem_update", json!({"id": id, "content": format!("Update of {round}.")})),
                ),
            }
        }
        std::thread::sleep(Duration::from_millis(rng.random_range(0..400)));
        home.kill_daemon();
    }
    drained(&home);
    let held = held(&home);
    assert!(held.live.len() > 40);
    assert_true(&held);
}

#[test]
fn purges_merges_and_imports_keep_vectors_consistent() {
    let provider = FaultyProvider::start();
    let home = Home::with_config(&format!("{AGENTS_MAY_PURGE}{}", provider.config("")));
    let mut agent = home.agent();
    let ids: Vec<String> =
        (0..12).map(|n| agent.save(&format!("Title {n}"), &format!("Text {n}."))).collect();
    agent.ok("mem_save", json!({"title": "Mine", "content": "Personal.", "scope": "personal"}));
    drained(&home);
    agent.ok("mem_delete", json!({"id": ids[0], "hard": true}));
    agent.ok("mem_delete", json!({"id": ids[1]}));
    agent.ok("mem_update", json!({"id": ids[2], "scope": "personal"}));
    home.run(&["projects", "merge", "demo", "other", "--yes"]).success();
    drained(&home);
    assert_true(&held(&home));
    home.run(&["restore", &ids[1]]).success();
    drained(&home);
    let export = home.export_text();
    assert!(!export.contains("embedding"), "vectors are derived and not exported");
    let held = held(&home);
    assert_true(&held);
    assert_eq!((held.live.len(), held.vectors.len()), (12, 12));

    let second = Home::with_config(&provider.config(""));
    std::fs::write(second.work().join("all.jsonl"), export).unwrap();
    second.run(&["import", "all.jsonl"]).success();
    drained(&second);
    let imported = self::held(&second);
    assert_true(&imported);
    assert_eq!(imported.live.len(), 12);
}

#[test]
fn another_model_is_used_once_all_its_vectors_exist() {
    let provider = FaultyProvider::start();
    let home = Home::with_config(&provider.config(""));
    let mut agent = home.agent();
    for n in 0..30 {
        agent.save(&format!("Title {n}"), &format!("Text {n}."));
    }
    drained(&home);
    let config = provider.config("").replace("model = \"test\"", "model = \"better\"");
    std::fs::write(home.data().join("config.toml"), config).unwrap();
    home.run(&["daemon", "stop"]).success();
    agent.save("One more", "It waits.");
    let worker = wait_for("the word that they differ", || {
        let worker = home.json(&["worker", "status"]);
        (worker["state"] == "disagrees").then_some(worker)
    });
    let detail = worker["detail"].as_str().unwrap();
    for word in ["openai/test", "openai/better", "cerebro reindex"] {
        assert!(detail.contains(word), "{detail}");
    }
    // Interrupted in the middle, it continues by itself.
    provider.is(Behavior::Down);
    home.run(&["reindex", "--no-wait"]).success();
    home.kill_daemon();
    provider.is(Behavior::Well);
    let done = home.json(&["reindex"]);
    assert_eq!(done["model"], "openai/better", "{done}");
    let held = held(&home);
    assert_true(&held);
    assert_eq!(held.live.len(), 31);
    let again = home.json(&["reindex"]);
    assert_eq!(again["worker"]["embedded"], 0, "nothing is missing: {again}");
}
