//! Memories that cite exchanges of past sessions: what an agent or a person names as `evidence`, and what becomes of it.

use std::fs;

use cerebro_core::domain::{ExchangeId, SessionId};

use crate::backup::backed_up;
use crate::support::transcripts::Claude;
use crate::support::{AGENTS_MAY_PURGE, Home, Value, json};

/// The id of an exchange of a session of Claude Code.
fn exchange(session: &str, seq: u32) -> String {
    ExchangeId::of("claude-code", &SessionId::parse(session).unwrap(), seq).to_string()
}

fn talk(home: &Home, session: &str) -> Claude {
    let mut talk = Claude::new(session, &home.work());
    for turn in 0..10 {
        talk = talk.turn(&format!("The otter asks {turn} of {session}"), &format!("It is answered {turn}."));
    }
    talk
}

/// A home with a session of ten exchanges.
fn furnished() -> Home {
    let home = Home::with_config(AGENTS_MAY_PURGE);
    talk(&home, "s-1").write(&home);
    home.take_in();
    home
}

fn evidence(home: &Home, memory: &str) -> Vec<String> {
    let found = home.json(&["get", memory]);
    let ids = found["evidence"].as_array().cloned().unwrap_or_default();
    let mut ids: Vec<String> = ids.iter().map(|id| id.as_str().unwrap().to_owned()).collect();
    ids.sort();
    ids
}

fn sorted(seqs: &[u32]) -> Vec<String> {
    let mut ids: Vec<String> = seqs.iter().map(|seq| exchange("s-1", *seq)).collect();
    ids.sort();
    ids
}

fn saved(home: &Home, title: &str, seqs: &[u32]) -> String {
    let given = json!({ "title": title, "content": "What: it dives.", "evidence": sorted(seqs) });
    home.agent().ok("mem_save", given).str("id").to_owned()
}

#[test]
fn a_memory_cites_exchanges_until_it_is_told_others() {
    let home = furnished();
    let mut agent = home.agent();
    let memory = saved(&home, "The otter", &[2, 1]);
    let found = agent.ok("mem_get_observation", json!({ "id": memory }));
    found.assert_in_both(&[&exchange("s-1", 1), &exchange("s-1", 2)]);
    assert_eq!(found.number("revision"), 1);
    assert_eq!(evidence(&home, &memory), sorted(&[1, 2]));
    assert!(home.run(&["get", &memory]).success().contains(&exchange("s-1", 1)));

    let updated = agent.ok("mem_update", json!({ "id": memory, "evidence": [exchange("s-1", 3)] }));
    assert_eq!((updated.str("outcome"), updated.number("revision")), ("updated", 1), "its text is the same");
    let again = agent.ok("mem_update", json!({ "id": memory, "evidence": exchange("s-1", 3) }));
    assert_eq!(again.str("outcome"), "unchanged");
    agent.ok("mem_update", json!({ "id": memory, "content": "What: it swims." }));
    assert_eq!(evidence(&home, &memory), sorted(&[3]), "what is not given stays");
    agent.ok("mem_update", json!({ "id": memory, "evidence": [] }));
    assert_eq!(evidence(&home, &memory), [""; 0]);

    let topic =
        json!({ "title": "The den", "content": "One.", "topic_key": "otter/den", "evidence": sorted(&[4]) });
    let topic = agent.ok("mem_save", topic).str("id").to_owned();
    agent.ok("mem_save", json!({ "title": "The den", "content": "Two.", "topic_key": "otter/den" }));
    assert_eq!(evidence(&home, &topic), sorted(&[4]));
    let other =
        json!({ "title": "The den", "content": "Two.", "topic_key": "otter/den", "evidence": sorted(&[5]) });
    let again = agent.ok("mem_save", other.clone());
    assert_eq!(
        (again.str("outcome"), again.number("revision")),
        ("updated", 2),
        "only its evidence is another"
    );
    assert_eq!(agent.ok("mem_save", other).str("outcome"), "unchanged");
    home.run(&["doctor"]).success();
}

#[test]
fn evidence_that_is_not_there_is_refused_by_name() {
    let home = furnished();
    let mut agent = home.agent();
    let save =
        |evidence: Value| json!({ "title": "The otter", "content": "It dives.", "evidence": evidence });
    let unknown = agent.refused("mem_save", save(json!([exchange("s-1", 1), "xabcdefghijkl"])));
    assert!(unknown.contains("xabcdefghijkl"), "{unknown}");
    let malformed = agent.refused("mem_save", save(json!(["walrus"])));
    assert!(malformed.contains("walrus"), "{malformed}");
    let nine: Vec<String> = (0..9).map(|seq| exchange("s-1", seq)).collect();
    let many = agent.refused("mem_save", save(json!(nine)));
    assert!(many.contains("at most 8"), "{many}");
    assert_eq!(home.json(&["list"])["memories"], json!([]), "nothing is saved of it");
    let memory = agent.ok("mem_save", save(json!(nine[..8]))).str("id").to_owned();
    assert_eq!(evidence(&home, &memory).len(), 8, "at the bound");
    home.json(&["history", "forget", "--session", "s-1", "--yes"]);
    let forgotten = agent.refused("mem_update", json!({ "id": memory, "evidence": [nine[0]] }));
    assert!(forgotten.contains(&nine[0]), "{forgotten}");
}

#[test]
fn a_person_names_evidence_by_the_beginning_of_an_id() {
    let home = furnished();
    let id = exchange("s-1", 5);
    let saved = home.json(&["save", "The otter", "It dives.", "--evidence", &id[..9]]);
    let memory = saved["id"].as_str().unwrap();
    assert_eq!(evidence(&home, memory), [id]);
    home.run(&["update", memory, "--evidence", &exchange("s-1", 6), "--evidence", &exchange("s-1", 7)])
        .success();
    assert_eq!(evidence(&home, memory), sorted(&[6, 7]));
    home.run(&["update", memory, "--evidence", ""]).success();
    assert_eq!(evidence(&home, memory), [""; 0]);
}

#[test]
fn a_forgotten_exchange_is_cited_no_more_and_the_memory_stays() {
    let home = furnished();
    let memory = saved(&home, "The otter", &[1, 2]);
    let (backup, _) = backed_up(&home, &[]);
    home.json(&["history", "forget", "--text", "otter asks 1 of", "--yes"]);
    assert_eq!(evidence(&home, &memory), sorted(&[2]));
    home.run(&["doctor"]).success();
    let restored = home.json(&["restore", "--replace", &backup.to_string_lossy()]);
    assert_eq!(restored["forgotten"]["exchanges"], 1, "{restored}");
    assert_eq!(evidence(&home, &memory), sorted(&[2]), "nor in a backup from before");
    home.json(&["history", "forget", "--session", "s-1", "--yes"]);
    let left = home.json(&["get", &memory]);
    assert_eq!((&left["content"], &left["evidence"]), (&json!("What: it dives."), &Value::Null), "{left}");
    home.run(&["doctor"]).success();
    assert!(!home.export_text().contains("CITES"));
}

#[test]
fn citations_are_in_exports_and_stay_when_projects_are_merged() {
    let home = furnished();
    let (memory, purged) = (saved(&home, "The otter", &[1, 2]), saved(&home, "The heron", &[3]));
    home.agent().ok("mem_delete", json!({ "id": purged, "hard": true }));
    let text = home.export_text();
    assert_eq!(text.matches("\"CITES\"").count(), 2, "a purged memory cites nothing: {text}");
    let other = Home::new();
    let file = home.work().join("all.jsonl");
    fs::write(&file, &text).unwrap();
    let imported = other.json(&["import", file.to_str().unwrap()]);
    assert_eq!(imported["skipped"], json!([]), "{imported}");
    assert!(other.export_text() == text);
    let again = other.json(&["import", file.to_str().unwrap()]);
    assert_eq!(again["created"], 0, "{again}");
    assert_eq!(evidence(&other, &memory), sorted(&[1, 2]));

    let project = home.json(&["get", &memory])["project"].as_str().unwrap().to_owned();
    home.json(&["projects", "merge", &project, "acme/otters", "--yes"]);
    assert_eq!(evidence(&home, &memory), sorted(&[1, 2]));
    home.run(&["doctor"]).success();
    other.run(&["doctor"]).success();
}

#[test]
fn exchanges_that_a_memory_cites_stay_with_the_copy_that_was_read_first() {
    let home = Home::new();
    let original = talk(&home, "s-1");
    original.forked("s-2").turn("Another otter", "In the fork only.").write(&home);
    home.take_in();
    let cited = exchange("s-2", 1);
    let given = json!({ "title": "The otter", "content": "It dives.", "evidence": [cited] });
    let memory = home.agent().ok("mem_save", given).str("id").to_owned();
    original.turn("The original goes on", "Indeed.").write(&home);
    home.take_in();
    assert_eq!(evidence(&home, &memory), [cited]);
    home.run(&["doctor"]).success();
}

#[test]
fn who_says_the_same_again_adds_to_what_it_rests_on() {
    let home = furnished();
    let first = saved(&home, "The otter", &[1]);
    let again = json!({ "title": "The otter", "content": "What: it dives.", "evidence": sorted(&[2]) });
    let again = home.agent().ok("mem_save", again);
    assert_eq!((again.str("outcome"), again.str("id")), ("duplicate", first.as_str()));
    assert_eq!(evidence(&home, &first), sorted(&[1, 2]));
}
