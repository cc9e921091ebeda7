//! Ways in which a corrected or destroyed text might return: other spelling, other scopes, sessions, consolidations,
//! projects and moments.

use crate::cycle::untidy;
use crate::purge::holders;
use crate::support::{AGENTS_MAY_PURGE, Agent, Home, Value, json, memory_line, wait_for};

/// Imports lines like those of another home's export; returns how many memories or sessions are new.
fn import(home: &Home, lines: &[Value]) -> u64 {
    serde_json::from_str::<Value>(&home.import(lines).stdout).unwrap()["created"].as_u64().unwrap()
}

fn letter(n: usize) -> char {
    char::from(b'a' + u8::try_from(n % 26).unwrap())
}

/// Saves a text and corrects it; returns its id.
fn corrected(agent: &mut Agent, title: &str, content: &str) -> String {
    let id = agent.save(title, content);
    agent.ok(
        "mem_update",
        json!({ "id": id, "content": format!("{title}: nothing of that holds any more.") }),
    );
    id
}

#[test]
fn a_text_of_symbols_is_recognised_whatever_its_blanks() {
    let home = Home::new();
    let mut agent = home.agent();
    let text = "The ledger keeps p95 > 5 ms + 2 % of $ 30 or 7 €, at -3 °C, where a = b && c and x != y.";
    let id = corrected(&mut agent, "Ledger bounds", text);
    for (n, between) in ["  ", "\n", " \n ", "\n\n", "\t", "\u{a0}", "\u{200b} "].iter().enumerate() {
        let form = text.replace(' ', between);
        let refused = agent.refused("mem_save", json!({ "title": "Otherwise", "content": form }));
        assert!(refused.contains(&id), "{between:?}: {refused}");
        let line = memory_line(&format!("imported{n}aaa").replace(char::is_numeric, "b"), "Otherwise", &form);
        assert_eq!(import(&home, &[line]), 0, "{between:?}");
    }
}

#[test]
fn texts_that_differ_in_a_unit_symbol_path_or_date_are_different() {
    let home = Home::new();
    let mut agent = home.agent();
    let pairs = [
        ("takes 10 % of", "takes 10 of"),
        ("takes 10 MB of", "takes 10 MiB of"),
        ("takes 10 ms of", "takes 10 s of"),
        ("takes $ 10 of", "takes € 10 of"),
        ("takes UTC + 2 of", "takes UTC - 2 of"),
        ("takes > 10 of", "takes < 10 of"),
        ("takes 1,000 of", "takes 1.000 of"),
        ("takes 2026-11-21 of", "takes 2026-11-22 of"),
        ("takes 12:30 of", "takes 12:31 of"),
        ("takes src/store/a.rs of", "takes src/store/b.rs of"),
        ("takes cache_size of", "takes cache_sizes of"),
        ("takes v1.2.3 of", "takes v1.2.3-rc.1 of"),
        ("takes all of", "takes not all of"),
        ("can take some of", "can't take some of"),
        ("takes !ready of", "takes ready of"),
        ("takes ±3 of", "takes 3 of"),
        ("takes -3 of", "takes 3 of"),
        ("is at - 3 of", "is at 3 of"),
        ("takes ~5 of", "takes 5 of"),
        ("takes >=3 of", "takes 3 of"),
        ("takes 1.0 of", "takes 10 of"),
        ("takes src of", "takes src/ of"),
        ("takes ./run of", "takes /run of"),
        ("takes a/b of", "takes b/a of"),
        ("takes .env of", "takes env of"),
        ("takes a | b of", "takes a b of"),
        ("takes x - y of", "takes x * y of"),
        ("takes C++ of", "takes C# of"),
        ("takes C of", "takes C# of"),
        ("takes find -name of", "takes find name of"),
        ("takes a -> b of", "takes a > b of"),
        ("takes 10 MB of", "takes 10 Mb of"),
        ("takes %s of", "takes s of"),
        ("takes ${HOME} of", "takes HOME of"),
        ("takes [] of", "takes {} of"),
        ("läuft auf", "läuft nicht auf"),
        ("takes it no longer from", "takes it longer from"),
    ];
    for (n, (one, other)) in pairs.iter().enumerate() {
        let text =
            |what: &str| format!("The walrus ledger number {n} {what} the whole budget of its gateway.");
        corrected(&mut agent, &format!("Pair {n}"), &text(one));
        agent.save(&format!("Pair {n}"), &text(other));
        // The other way round, and by an import, where nobody decides.
        let n = n + pairs.len();
        let text =
            |what: &str| format!("The marmot ledger number {n} {what} the whole budget of its gateway.");
        corrected(&mut agent, &format!("Pair {n}"), &text(other));
        let id = format!("importedz{}{}", letter(n / 26), letter(n % 26)) + "a";
        assert_eq!(import(&home, &[memory_line(&id, &format!("Pair {n}"), &text(one))]), 1, "{one}");
    }
}

#[test]
fn a_corrected_personal_text_is_guarded_in_every_project() {
    let home = Home::new();
    let mut agent = home.agent();
    let text = "Every commit message of mine begins with the name of the ticket.";
    let saved = agent.ok("mem_save", json!({ "title": "Commits", "content": text, "scope": "personal" }));
    let id = saved.str("id").to_owned();
    agent.ok("mem_update", json!({ "id": id, "content": "They begin with the area." }));
    assert_eq!(import(&home, &[memory_line("importedaaaa", "Commits", text)]), 0);
    let refused = agent.refused("mem_save", json!({ "title": "Commits", "content": text }));
    assert!(refused.contains(&id), "{refused}");
    // What one project corrected may hold elsewhere.
    let text = "Every release of the ledger is cut on the last Friday of a month.";
    corrected(&mut agent, "Releases", text);
    agent.ok("mem_save", json!({ "title": "Releases", "content": text, "scope": "personal" }));
    agent.ok("mem_save", json!({ "title": "Releases", "content": text, "project": "other" }));
}

#[test]
fn no_session_and_no_reused_id_revives_a_text() {
    let home = Home::with_config(AGENTS_MAY_PURGE);
    let mut agent = home.agent();
    let text = "The ledger of the northern office listens on port 5432 of its host.";
    let id = corrected(&mut agent, "Ledger", text);
    let at = "2026-01-01T00:00:00Z";
    let session = json!({
        "kind": "session", "id": "elsewhere-1", "project": "demo", "agent": "other", "started_at": at, "seen_at": at,
        "ended_at": at, "summary": text,
    });
    import(&home, &[session]);
    let stored = home.export().into_iter().find(|line| line["id"] == "elsewhere-1").unwrap();
    assert_eq!(stored["summary"], Value::Null, "{stored}");
    let mut own = memory_line(&id, "Ledger", text);
    own["revision"] = json!(9);
    assert_eq!(import(&home, &[own]), 0);
    assert!(!agent.get(&id).text.contains("5432"));
    let before = home.export_text();
    // It is recognised even after a purge and a compaction.
    let purged = "The gateway of the southern office listens on port 6432 of its host.";
    let gone = agent.save("Gateway", purged);
    let export = home.export();
    agent.ok("mem_delete", json!({ "id": gone, "hard": true }));
    home.json(&["compact"]);
    home.run(&["daemon", "stop"]).success();
    let lines: Vec<Value> = export.into_iter().filter(|line| line["id"] == json!(gone)).collect();
    let mut other = lines[0].clone();
    other["id"] = json!("importedaaaa");
    assert_eq!(import(&home, &[lines[0].clone(), other]), 0);
    assert!(!home.export_text().contains("6432"));
    assert!(home.export_text().contains(before.lines().nth(1).unwrap()));
    home.run(&["doctor"]).success();
}

#[test]
fn undoing_a_consolidation_revives_no_corrected_text() {
    let home = untidy();
    let mut agent = home.pump().project("demo").start();
    let applied = home.json(&["consolidate"]);
    assert_eq!(applied["cycle"]["merge"], 1, "{applied}");
    home.json(&["consolidate", "--apply"]);
    let archived = ["aaaaaaaaaaaa", "baaaaaaaaaaa"];
    let [stays, aside] = match agent.get(archived[0])["superseded_by"].is_null() {
        true => archived,
        false => [archived[1], archived[0]],
    };
    agent.ok("mem_update", json!({ "id": stays, "content": "The worker gives up at once." }));
    let undone = home.json(&["consolidate", "--undo"]);
    assert!(undone["cycle"]["left"].as_u64() >= Some(1), "{undone}");
    let found = agent.ok("mem_search", json!({ "query": "upload worker retries failed part", "limit": 20 }));
    assert!(found.ids("hits").iter().all(|id| id != aside), "{found:?}");
    // A person may still undo it.
    home.json(&["unarchive", aside]);
    let found = agent.ok("mem_search", json!({ "query": "upload worker retries failed part", "limit": 20 }));
    assert!(found.ids("hits").iter().any(|id| id == aside), "{found:?}");
    home.run(&["doctor"]).success();
}

#[test]
fn a_purge_names_what_was_merged_into_the_memory() {
    let home = untidy();
    home.json(&["consolidate"]);
    home.json(&["consolidate", "--apply"]);
    let stays = match home.json(&["get", "aaaaaaaaaaaa"])["superseded_by"].is_null() {
        true => ["aaaaaaaaaaaa", "baaaaaaaaaaa"],
        false => ["baaaaaaaaaaa", "aaaaaaaaaaaa"],
    };
    let deleted = home.json(&["delete", stays[0], "--hard", "--yes"]);
    assert_eq!(deleted["merged"], json!([stays[1]]), "{deleted}");
    let deleted = home.run(&["delete", stays[1], "--hard", "--yes", "--json"]).json();
    assert_eq!(deleted["merged"], Value::Null, "{deleted}");
    home.json(&["compact"]);
    assert!(holders(home.data(), &["failed part three times"]).is_empty());
}

/// The moment of the last write, as answers show it, once the second in which it was made has passed.
fn moment_after(agent: &mut Agent) -> String {
    let second = || jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let then = second();
    wait_for("the next second", || {
        agent.ok("mem_save_prompt", json!({ "content": "tick" }));
        (second() > then).then_some(())
    });
    then
}

#[test]
fn a_chain_of_corrections_is_shown_as_it_was_at_every_moment() {
    let home = Home::new();
    let mut agent = home.agent();
    let first = agent.save("Walrus port", "The walrus gateway listens on port 1.");
    let mut moments = vec![moment_after(&mut agent)];
    let mut ids = vec![first];
    for n in 2..=3 {
        let call = json!({
            "title": format!("Walrus port {n}"), "content": format!("The walrus gateway listens on port {n}."),
            "supersedes": [ids.last().unwrap()],
        });
        ids.push(agent.ok("mem_save", call).str("id").to_owned());
        moments.push(moment_after(&mut agent));
    }
    agent.refused("mem_update", json!({ "id": ids[0], "supersedes": [ids[2]] }));
    home.run(&["projects", "rename", "demo", "demo-2"]).success();
    agent.ok("mem_delete", json!({ "id": ids[2] }));
    for (n, moment) in moments.iter().enumerate() {
        let call = json!({ "query": "walrus gateway port", "as_of": moment, "project": "demo-2" });
        let found = agent.ok("mem_search", call);
        let mut old_of: Vec<(String, Value)> = found
            .list("hits")
            .iter()
            .map(|hit| (hit["id"].as_str().unwrap().to_owned(), hit["old"].clone()))
            .collect();
        old_of.sort_by_key(|(id, _)| ids.iter().position(|known| known == id));
        let old = |at: usize| if at < n { json!(ids[at + 1]) } else { Value::Null };
        let want: Vec<(String, Value)> = (0..=n).map(|at| (ids[at].clone(), old(at))).collect();
        // In a chain, either the direct successor or the last one may be named: both are right.
        let names: Vec<&String> = old_of.iter().map(|(id, _)| id).collect();
        assert_eq!(names, want.iter().map(|(id, _)| id).collect::<Vec<_>>(), "as of {moment}: {found:?}");
        for ((_, old_of), (_, want)) in old_of.iter().zip(&want) {
            assert_eq!(old_of.is_null(), want.is_null(), "as of {moment}: {found:?}");
        }
    }
    // Now the last one is deleted: the second is the successor of the first, and not superseded any more.
    let now = agent.ok("mem_search", json!({ "query": "walrus gateway port", "project": "demo-2" }));
    assert_eq!(now.ids("hits"), [ids[1].clone(), ids[0].clone()], "{now:?}");
    assert_eq!((&now["hits"][0]["old"], &now["hits"][1]["old"]), (&Value::Null, &json!(ids[1])), "{now:?}");
    home.run(&["doctor"]).success();
}

#[test]
fn a_superseded_text_holds_again_only_while_its_successor_is_deleted() {
    let home = Home::new();
    let mut agent = home.agent();
    let text = |n: u32| format!("The walrus gateway of the shop listens on port {n} of the first host.");
    let older = agent.save("Walrus port", &text(1));
    let call = json!({ "title": "Walrus port now", "content": text(2), "supersedes": [older] });
    let newer = agent.ok("mem_save", call).str("id").to_owned();
    let comes_in = |n: usize, text: &str| {
        let line = memory_line(&format!("imported{}aaa", letter(n)), &format!("Walrus {n}"), text);
        import(&home, &[line]) == 1
    };
    let longer = format!("We met on Monday. {} Nothing else.", text(1));
    // A deleted memory that comes back is still superseded.
    agent.ok("mem_delete", json!({ "id": older }));
    home.json(&["restore", &older]);
    assert!(!comes_in(0, &text(1)) && !comes_in(1, &longer));
    assert!(agent.refused("mem_save", json!({ "title": "Walrus", "content": text(1) })).contains(&older));
    agent.ok("mem_delete", json!({ "id": newer }));
    assert!(comes_in(2, &text(1)) && comes_in(3, &longer));
    agent.save("Walrus", &text(1));
    home.json(&["restore", &newer]);
    // What somebody saved meanwhile lifted nothing of the older memory.
    assert!(!comes_in(4, &text(1)));
    agent.ok("mem_delete", json!({ "id": newer }));
    home.json(&["delete", &newer, "--hard", "--yes"]);
    assert!(comes_in(5, &text(1)));
    home.run(&["doctor"]).success();
}

#[test]
fn what_an_import_supersedes_does_not_come_in_by_a_later_line_of_it() {
    let home = Home::new();
    let mut agent = home.agent();
    let text = |n: u32| format!("The walrus gateway of the shop listens on port {n} of the first host.");
    let older = agent.save("Walrus port", &text(1));
    let newer = memory_line("importedaaaa", "Walrus port now", &text(2));
    let edge = json!({
        "kind": "edge", "name": "SUPERSEDES", "from": "importedaaaa", "to": older, "at": "2026-01-01T00:00:00Z",
    });
    let again = memory_line("importedbaaa", "Walrus", &text(1));
    let within =
        memory_line("importedcaaa", "Meeting", &format!("We met on Monday. {} Nothing else.", text(1)));
    assert_eq!(import(&home, &[newer, edge, again, within]), 2, "the memory and the edge");
    assert_eq!(agent.get(&older)["superseded_by"], json!(["importedaaaa"]));
}

#[test]
fn a_memory_is_superseded_only_while_its_successor_is_there() {
    let home = Home::new();
    let mut agent = home.agent();
    let older = agent.save("Walrus port", "The walrus gateway listens on port 1.");
    let call = json!({
        "title": "Walrus port now", "content": "The walrus gateway listens on port 2.", "supersedes": [older],
    });
    let newer = agent.ok("mem_save", call).str("id").to_owned();
    let last = || home.events().last().and_then(|event| event["at"].as_str().map(str::to_owned)).unwrap();
    let mut moments = vec![(last(), true)];
    agent.ok("mem_delete", json!({ "id": newer }));
    moments.push((last(), false));
    assert_eq!(agent.get(&older)["superseded_by"], Value::Null, "it is deleted");
    home.run(&["restore", &newer]).success();
    moments.push((last(), true));
    assert_eq!(agent.get(&older)["superseded_by"], json!([newer]));
    for (moment, is_old) in moments {
        let found =
            agent.ok("mem_search", json!({ "query": "walrus gateway port", "as_of": moment, "limit": 5 }));
        let ids: Vec<String> = if is_old { vec![newer.clone(), older.clone()] } else { vec![older.clone()] };
        assert_eq!(found.ids("hits"), ids, "as of {moment}: {found:?}");
        let want = if is_old { json!(newer) } else { Value::Null };
        assert_eq!(
            found["hits"].as_array().unwrap().last().unwrap()["old"],
            want,
            "as of {moment}: {found:?}"
        );
        let got = agent.ok("mem_get_observation", json!({ "id": older, "as_of": moment }));
        assert_eq!(got["superseded_by"][0], want, "as of {moment}: {got:?}");
    }
    // What its successor superseded while it was there is told of that one, too.
    agent.ok("mem_delete", json!({ "id": older }));
    assert_eq!(agent.get(&newer)["supersedes"], Value::Null);
}

#[test]
fn a_memory_archived_since_is_found_as_of_an_earlier_time() {
    let home = Home::new();
    let mut agent = home.agent();
    let id = agent.save("Walrus walk", "The walrus walked over the ice in spring.");
    let then = moment_after(&mut agent);
    home.json(&["archive", &id]);
    assert_eq!(agent.search("walrus ice spring"), [] as [String; 0]);
    let found = agent.ok("mem_search", json!({ "query": "walrus ice spring", "as_of": then }));
    assert_eq!(found.ids("hits"), [id], "{found:?}");
}

#[test]
fn signs_and_questions_are_destroyed_with_the_memory() {
    const WORDS: [&str; 4] = ["gharialesque", "tarsierlike", "binturong_core", "solenodonic"];
    let home = Home::with_config(AGENTS_MAY_PURGE);
    let mut agent = home.agent();
    let call = json!({
        "title": "The gharialesque queue", "content": "It is tarsierlike, since binturong_core drains it.",
        "topic_key": "queue/solenodonic", "tags": ["gharialesque"], "valid_from": "2026-01-01",
    });
    let id = agent.ok("mem_save", call).str("id").to_owned();
    let other = agent.save("Another queue", "It is drained by the gateway.");
    let then = moment_after(&mut agent);
    agent.ok("mem_search", json!({ "query": "queue drained" }));
    agent.get(&id);
    agent.ok("mem_update", json!({ "id": id, "content": "It is tarsierlike no more." }));
    agent.ok("mem_search", json!({ "query": "queue drained", "as_of": then }));
    agent.ok("mem_update", json!({ "id": other, "supersedes": [id] }));
    home.json(&["consolidate"]);
    wait_for("the sign that it was read", || {
        let signs = home.json(&["sql", "SELECT VALUE id FROM feedback"]);
        (!signs["results"].to_string().is_empty() && signs.to_string().contains("feedback")).then_some(())
    });
    agent.ok("mem_delete", json!({ "id": id, "hard": true }));
    home.json(&["compact"]);
    let held = holders(home.data(), &WORDS);
    assert!(held.is_empty(), "{held:?}");
    let signs = home.json(&["sql", &format!("SELECT VALUE id FROM feedback WHERE memory = memory:{id}")]);
    assert!(!signs.to_string().contains("feedback:"), "{signs}");
    let past = agent.ok("mem_search", json!({ "query": "queue drained", "as_of": then }));
    assert_eq!(past.ids("hits"), [other], "{past:?}");
    home.run(&["daemon", "stop"]).success();
    assert!(holders(home.data(), &WORDS).is_empty());
    home.run(&["doctor"]).success();
}
