//! A home that is removed or replaced while its daemon runs: nothing is acknowledged that is not stored.

use std::fs;
use std::io;

use crate::support::{Home, json, wait_for};

/// Saves until the old daemon is gone and a later save was acknowledged. Returns what was acknowledged.
fn save_on(home: &Home, agent: &mut crate::support::Agent, old: &[u32]) -> Vec<(String, String)> {
    let mut saved = Vec::new();
    let mut n = 0;
    wait_for("a save by the next daemon", || {
        n += 1;
        let content = format!("Number {n} after.");
        let reply = agent.call("mem_save", json!({"title": format!("After {n}"), "content": content}));
        if reply.is_error {
            assert!(reply.text.contains("again"), "it is not said what to do: {reply:?}");
            return None;
        }
        saved.push((reply.str("id").to_owned(), content));
        (!home.daemons().iter().any(|pid| old.contains(pid))).then_some(())
    });
    saved
}

fn assert_stored(home: &Home, saved: &[(String, String)]) {
    home.kill_daemon();
    let mut reader = home.agent();
    for (id, content) in saved {
        assert_eq!(reader.get(id)["content"], *content, "{id} was acknowledged and is lost");
    }
}

/// Removes a folder like `rm -rf`, while a daemon may still write into it.
fn remove(home: &Home) {
    wait_for("the home to be removed", || match fs::remove_dir_all(home.data()) {
        Ok(()) => Some(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Some(()),
        Err(_) => None,
    });
}

#[test]
fn after_the_home_is_removed_saves_are_refused_or_stored_in_the_next() {
    let home = Home::new();
    let mut agent = home.agent();
    agent.save("Before", "In the home that was.");
    let old = home.daemons();
    remove(&home);
    let saved = save_on(&home, &mut agent, &old);
    assert_stored(&home, &saved);
}

#[test]
fn after_the_home_is_moved_away_the_next_daemon_works_in_a_new_one() {
    let home = Home::new();
    let mut agent = home.agent();
    let id = agent.save("Before", "In the home that was.");
    let old = home.daemons();
    fs::rename(home.data(), home.work().join("moved")).unwrap();
    let first = agent.call("mem_save", json!({"title": "First after", "content": "Of nowhere."}));
    let saved = save_on(&home, &mut agent, &old);
    if first.is_error {
        assert!(first.text.contains("removed or replaced") || first.text.contains("again"), "{first:?}");
    }
    assert_stored(&home, &saved);
    assert!(agent.call("mem_get_observation", json!({"id": id})).is_error, "it is in the other folder");
}

#[test]
fn a_store_that_is_put_back_from_a_copy_is_noticed() {
    let home = Home::new();
    let mut agent = home.agent();
    agent.save("Before", "In the store that was.");
    home.run(&["daemon", "stop"]).success();
    let (store, copy) = (home.data().join("store"), home.work().join("copy"));
    let copied = std::process::Command::new("cp").arg("-a").arg(&store).arg(&copy).status().unwrap();
    assert!(copied.success());
    agent.save("With the daemon up", "And an open store.");
    let old = home.daemons();
    fs::rename(&store, home.work().join("aside")).unwrap();
    fs::rename(&copy, &store).unwrap();
    let saved = save_on(&home, &mut agent, &old);
    assert_stored(&home, &saved);
}

#[test]
fn an_idle_daemon_leaves_a_home_that_is_gone() {
    let home = Home::new();
    home.run(&["daemon", "start"]).success();
    assert_eq!(home.daemons().len(), 1);
    remove(&home);
    wait_for("the daemon to leave", || home.daemons().is_empty().then_some(()));
    assert!(!home.data().exists(), "it made the home again");
}
