//! What keeps memories true: supersession, searches of an earlier day, validity, and texts that do not come back.

use crate::support::{AGENTS_MAY_PURGE, Agent, Home, Value, json};

/// The ids of a search's hits, in order.
fn ids(found: &Value) -> Vec<&str> {
    found["hits"].as_array().into_iter().flatten().filter_map(|hit| hit["id"].as_str()).collect()
}

fn superseding(agent: &mut Agent, title: &str, content: &str, older: &[&str]) -> String {
    let saved = agent.ok("mem_save", json!({ "title": title, "content": content, "supersedes": older }));
    assert_eq!(saved["superseded"], json!(older), "{saved:?}");
    saved["id"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_superseded_memory_is_marked_and_listed_after_its_successor() {
    let home = Home::new();
    let mut agent = home.agent();
    let old = agent.save("Ledger port", "The ledger port of the ledger service: ledger port 5432.");
    let new = superseding(&mut agent, "Where it listens", "The ledger service moved to port 6432.", &[&old]);
    let found = agent.ok("mem_search", json!({ "query": "ledger port" }));
    assert_eq!(ids(&found.structured), [new.as_str(), &old], "{found:?}");
    assert_eq!(
        (&found["hits"][0]["old"], &found["hits"][1]["old"]),
        (&Value::Null, &json!(new)),
        "{found:?}"
    );
    assert!(found.text.contains(&format!(", old {new},")), "{found:?}");
    assert_eq!(agent.get(&old)["superseded_by"], json!([new]));
    assert_eq!(agent.get(&new)["supersedes"], json!([old]));
    let context = agent.ok("mem_context", json!({}));
    let line = context.text.lines().find(|line| line.contains(&old)).unwrap_or_default();
    assert!(line.contains(&format!("old {new}")), "{context:?}");
    let timeline = agent.ok("mem_timeline", json!({ "id": new }));
    assert_eq!(
        timeline["before"].as_array().and_then(|all| all.last()).map(|one| &one["old"]),
        Some(&json!(new))
    );
    assert!(home.events().iter().any(|event| event["kind"] == "memory.superseded"));

    // When its successor is deleted and restored, so is the mark.
    agent.ok("mem_delete", json!({ "id": new }));
    let found = agent.ok("mem_search", json!({ "query": "ledger port" }));
    assert_eq!(found["hits"][0]["old"], Value::Null, "{found:?}");
    home.run(&["restore", &new]).success();
    assert_eq!(agent.ok("mem_search", json!({ "query": "ledger port" }))["hits"][1]["old"], json!(new));
}

#[test]
fn a_successor_is_found_by_the_words_of_what_it_superseded() {
    let home = Home::new();
    let mut agent = home.agent();
    let old = agent.save("Ledger port", "The ledger port of the ledger service: ledger port 5432.");
    let middle = superseding(&mut agent, "Moved", "It listens on 6432 since March.", &[&old]);
    let new = superseding(&mut agent, "Moved again", "It listens on 7432 since May.", &[&middle]);
    agent.save("Ledger backups", "The ledger is backed up at night.");
    let found = agent.ok("mem_search", json!({ "query": "ledger port" }));
    assert_eq!(ids(&found.structured)[..3], [new.as_str(), &middle, &old], "{found:?}");
    agent.ok("mem_delete", json!({ "id": new }));
    let found = agent.ok("mem_search", json!({ "query": "ledger port" }));
    assert_eq!(ids(&found.structured)[..2], [middle.as_str(), &old], "{found:?}");
}

#[test]
fn memories_are_superseded_by_commands_and_updates() {
    let home = Home::new();
    let save = |title: &str, more: &[&str]| -> String {
        let all = [&["save", title, "Some text of its own about ports.", "--project", "demo"], more].concat();
        home.json(&all)["id"].as_str().unwrap_or_default().to_owned()
    };
    let first = save("First", &[]);
    let second = save("Second", &["--supersedes", &first]);
    let third = save("Third", &[]);
    let updated = home.json(&["update", &third, "--supersedes", &second]);
    assert_eq!(updated["superseded"], json!([second]), "{updated}");
    let again = home.json(&["update", &third, "--supersedes", &second]);
    assert_eq!((&again["outcome"], &again["superseded"]), (&json!("unchanged"), &Value::Null), "{again}");
    let shown = home.run(&["get", &second]).success();
    assert!(shown.contains(&third) && shown.contains(&first), "{shown}");
    let refused = home.run(&["update", &first, "--supersedes", &third]);
    assert_ne!(refused.code(), 0, "a circle");
}

#[test]
fn an_impossible_supersession_is_refused_and_nothing_is_saved() {
    let home = Home::new();
    let mut agent = home.agent();
    let here = agent.save("Here", "In this project.");
    let there =
        agent.ok("mem_save", json!({ "title": "There", "content": "In another.", "project": "other" }));
    let gone = agent.save("Gone", "Deleted.");
    agent.ok("mem_delete", json!({ "id": gone }));
    let nine: Vec<&str> = vec![&here; 9];
    let there = there["id"].as_str().unwrap_or_default();
    for (supersedes, part) in [
        (json!([there]), "other"),
        (json!([gone]), "deleted"),
        (json!(["aaaaaaaaaaaa"]), "no memory"),
        (json!(["nonsense"]), "nonsense"),
        (json!(nine), "at most 8"),
    ] {
        let before = home.export_text();
        let call = json!({ "title": "New", "content": "New text.", "supersedes": supersedes });
        let refusal = agent.refused("mem_save", call);
        assert!(refusal.contains(part), "{part}: {refusal}");
        assert_eq!(home.export_text(), before, "{part}");
    }
    let refusal = agent.refused("mem_update", json!({ "id": here, "supersedes": [here] }));
    assert!(refusal.contains("itself"), "{refusal}");
}

#[test]
fn edges_and_dates_survive_an_export() {
    let home = Home::new();
    let mut agent = home.agent();
    let old = agent.save("Old", "Old text.");
    let new = superseding(&mut agent, "New", "New text.", &[&old]);
    agent.ok("mem_update", json!({ "id": new, "valid_from": "2026-01-01", "valid_until": "2099-12-31" }));
    let text = home.export_text();
    let other = Home::new();
    other.import_text(&text).success();
    assert_eq!(other.export_text(), text);
    let got = other.json(&["get", &old]);
    assert_eq!(got["superseded_by"], json!([new]), "{got}");
    assert_eq!(other.json(&["get", &new])["valid"]["from"], "2026-01-01T00:00:00Z");
    other.run(&["doctor"]).success();
}

#[test]
fn a_search_of_an_earlier_day_finds_the_texts_of_that_day() {
    let home = Home::with_config(AGENTS_MAY_PURGE);
    let mut agent = home.agent();
    let id = agent.save("Queue bound", "The walrus queue holds 16.");
    let deleted = agent.save("Queue owner", "The walrus queue belongs to the gateway.");
    let first = agent.get(&deleted)["created_at"].clone();
    // Answers show moments in whole seconds, and a question includes the whole second.
    crate::support::wait_for("the next second", || {
        (agent.ok("mem_save_prompt", json!({ "content": "tick" }))["id"].is_string()
            && now().as_str() > first.as_str().unwrap_or_default())
        .then_some(())
    });
    agent.ok("mem_update", json!({ "id": id, "content": "The walrus queue holds 32." }));
    agent.ok("mem_delete", json!({ "id": deleted }));
    let then = agent.ok("mem_search", json!({ "query": "walrus queue", "as_of": first }));
    let now_found = agent.ok("mem_search", json!({ "query": "walrus queue" }));
    assert_eq!(ids(&then.structured).len(), 2, "{then:?}");
    assert_eq!(ids(&now_found.structured), [id.as_str()], "{now_found:?}");
    assert!(then["hits"].to_string().contains("holds 16"), "{then:?}");
    assert_eq!((&then["words_only"], &now_found["words_only"]), (&json!(true), &Value::Null));
    let got = agent.ok("mem_get_observation", json!({ "id": id, "as_of": first }));
    assert_eq!(got["content"], "The walrus queue holds 16.", "{got:?}");
    assert_eq!(
        agent.ok("mem_get_observation", json!({ "id": deleted, "as_of": first }))["title"],
        "Queue owner"
    );
    let refusal = agent.refused("mem_get_observation", json!({ "id": id, "as_of": "2020-01-01" }));
    assert!(refusal.contains("first saved"), "{refusal}");
    let shown = home.run(&[
        "search",
        "walrus",
        "queue",
        "--as-of",
        first.as_str().unwrap_or_default(),
        "--project",
        "demo",
    ]);
    assert!(shown.success().contains("Queue owner"));
    // A purged memory is not found at any moment.
    agent.ok("mem_delete", json!({ "id": id, "hard": true }));
    let purged = agent.ok("mem_search", json!({ "query": "walrus queue", "as_of": first }));
    assert_eq!(ids(&purged.structured), [deleted.as_str()], "{purged:?}");
    assert!(agent.refused("mem_get_observation", json!({ "id": id, "as_of": first })).contains("purged"));
}

/// The present moment as answers give it.
fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[test]
fn validity_is_asked_apart_from_the_time_of_storing() {
    let home = Home::new();
    let mut agent = home.agent();
    let save = |agent: &mut Agent, title: &str, from: &str, until: &str| -> String {
        let call = json!({ "title": title, "content": format!("The otter price list: {title}."), "valid_from": from, "valid_until": until });
        agent.ok("mem_save", call)["id"].as_str().unwrap_or_default().to_owned()
    };
    let last_year = save(&mut agent, "Of 2024", "2024-01-01", "2024-12-31");
    let this_year = save(&mut agent, "Of 2025", "2025-01-01", "");
    let always = save(&mut agent, "Always", "", "");
    let on = |agent: &mut Agent, day: &str| {
        let found = agent.ok("mem_search", json!({ "query": "otter price list", "valid_at": day }));
        let mut found: Vec<String> = ids(&found.structured).into_iter().map(str::to_owned).collect();
        found.sort();
        found
    };
    let sorted = |mut all: Vec<String>| {
        all.sort();
        all
    };
    assert_eq!(on(&mut agent, "2024-12-31"), sorted(vec![last_year.clone(), always.clone()]));
    assert_eq!(on(&mut agent, "2025-01-01"), sorted(vec![this_year, always.clone()]));
    assert_eq!(on(&mut agent, "2023-01-01"), sorted(vec![always]));
    let all = agent.ok("mem_search", json!({ "query": "otter price list" }));
    let expired = |hit: &&Value| hit["expired"] == true;
    let hits = all["hits"].as_array().cloned().unwrap_or_default();
    assert_eq!(hits.len(), 3, "{all:?}");
    assert_eq!(hits.iter().find(expired).map(|hit| &hit["id"]), Some(&json!(last_year)), "{all:?}");
    for (from, until) in [("2025-01-02", "2025-01-01"), ("7d", ""), ("soon", "")] {
        let call = json!({ "title": "T", "content": "C", "valid_from": from, "valid_until": until });
        agent.refused("mem_save", call);
    }
    let cleared = agent.ok("mem_update", json!({ "id": last_year, "valid_until": "" }));
    assert_eq!(cleared["revision"], 2, "{cleared:?}");
}

#[test]
fn a_corrected_text_is_not_saved_again_unawares() {
    let home = Home::new();
    let mut agent = home.agent();
    let (title, text) = ("Ledger port", "The ledger listens on port 5432.");
    let id = agent.save(title, text);
    agent.ok("mem_update", json!({ "id": id, "content": "The ledger listens on port 6432." }));
    for again in [
        text,
        "THE LEDGER LISTENS ON PORT 5432.",
        "  The ledger\nlistens  on port 5432 ",
        "The ledger listens on port 5432!",
    ] {
        let refusal = agent.refused("mem_save", json!({ "title": title, "content": again }));
        for part in ["corrected on 20", &id, "revive"] {
            assert!(refusal.contains(part), "{part}: {refusal}");
        }
    }
    for other in ["The ledger listens on port 5433.", "The ledger never listens on port 5432."] {
        assert_eq!(agent.ok("mem_save", json!({ "title": title, "content": other }))["outcome"], "created");
    }
    let revived = agent.ok("mem_save", json!({ "title": title, "content": text, "revive": true }));
    assert_eq!(
        (&revived["outcome"], &revived["noted"]["id"]),
        (&json!("created"), &json!(id)),
        "{revived:?}"
    );
    assert!(home.events().iter().any(|event| event["kind"] == "memory.revived"));
    let again = agent.ok("mem_save", json!({ "title": title, "content": text }));
    assert_eq!(again["outcome"], "duplicate", "it holds again: {again:?}");
    // The memory itself may return to its earlier text.
    assert_eq!(agent.ok("mem_update", json!({ "id": id, "content": text }))["outcome"], "updated");
}

#[test]
fn a_topic_may_return_and_a_deleted_text_is_only_noted() {
    let home = Home::new();
    let mut agent = home.agent();
    let mut save_port = |port: &str| {
        let content = format!("The ledger listens on port {port}.");
        let call = json!({ "title": "Port", "content": content, "topic_key": "config/port" });
        agent.ok("mem_save", call)["outcome"].clone()
    };
    assert_eq!(["1", "2", "1", "2"].map(&mut save_port), ["created", "updated", "updated", "updated"]);
    let mut agent = home.agent();
    let id = agent.save("Mascot", "The mascot is an ibis.");
    agent.ok("mem_delete", json!({ "id": id }));
    let saved = agent.ok("mem_save", json!({ "title": "Mascot", "content": "The mascot is an ibis." }));
    assert_eq!(
        (&saved["outcome"], &saved["noted"]["why"]),
        (&json!("created"), &json!("deleted")),
        "{saved:?}"
    );
    assert_eq!(agent.get(saved["id"].as_str().unwrap_or_default())["revision"], 1);
}

#[test]
fn what_is_said_again_with_dates_a_kind_or_a_trigger_is_not_dropped() {
    let home = Home::new();
    let mut agent = home.agent();
    let mut save = |more: Value| {
        let mut call = json!({ "title": "Renew the certificate", "content": "It is renewed by hand." });
        call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let saved = agent.ok("mem_save", call);
        (saved.str("outcome").to_owned(), agent.get(saved.str("id")))
    };
    assert_eq!(save(json!({})).0, "created");
    for (more, name, want) in [
        (
            json!({ "valid_until": "2099-01-01" }),
            "valid",
            json!({ "from": null, "until": "2099-01-01T23:59:59Z" }),
        ),
        (json!({ "kind": "prospective" }), "kind", json!("prospective")),
        (json!({ "trigger": "branch:release/2" }), "trigger", json!("branch:release/2")),
    ] {
        let (outcome, got) = save(more.clone());
        assert_eq!((&*outcome, &got[name]), ("created", &want), "{got:?}");
        assert_eq!(save(more).0, "duplicate", "{name}");
    }
    assert_eq!(save(json!({})).0, "duplicate");
}

#[test]
fn a_topic_that_is_said_again_leaves_the_archive() {
    let home = Home::new();
    let mut agent = home.agent();
    let call = json!({ "title": "Walrus", "content": "The walrus is here.", "topic_key": "animal/walrus" });
    let id = agent.ok("mem_save", call.clone()).str("id").to_owned();
    assert_eq!(agent.ok("mem_save", call.clone())["outcome"], "unchanged");
    home.json(&["archive", &id]);
    assert_eq!(agent.search("walrus"), [""; 0]);
    assert_eq!(agent.ok("mem_save", call)["outcome"], "updated");
    assert_eq!(agent.search("walrus"), [id]);
}

#[test]
fn imports_and_hooks_revive_no_corrected_text() {
    let home = Home::with_config(AGENTS_MAY_PURGE);
    let mut agent = home.agent();
    let texts = ["corrected", "superseded", "deleted", "purged"].map(|why| {
        let text = format!("The {why} ledger of the northern office listens on port 5432 of its host.");
        let id = agent.save(&format!("Port {why}"), &text);
        (why, id, text)
    });
    let export = home.export_text();
    for (why, id, _) in &texts {
        match *why {
            "corrected" => drop(agent.ok("mem_update", json!({ "id": id, "content": "It is 6432." }))),
            "superseded" => drop(superseding(&mut agent, "Port now", "Everything is on port 7432.", &[id])),
            "deleted" => drop(agent.ok("mem_delete", json!({ "id": id }))),
            _ => drop(agent.ok("mem_delete", json!({ "id": id, "hard": true }))),
        }
    }
    let count = |home: &Home| home.json(&["stats"])["memories"]["live"].as_u64();
    let before = count(&home);
    let forms: [fn(&str) -> String; 4] = [
        str::to_owned,
        str::to_uppercase,
        |text| text.replace(' ', " \n "),
        |text| format!("«{}»!", text.trim_end_matches('.')),
    ];
    for (at, form) in forms.iter().enumerate() {
        // Through an import, under another id and another title.
        let mut lines = Vec::new();
        let exported = export.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        for (mut line, letter) in exported.filter(|line| line["kind"] == "memory").zip('a'..) {
            line["id"] = json!(format!("imported{}aa{letter}", ["a", "b", "c", "d"][at]));
            line["content"] = json!(form(line["content"].as_str().unwrap_or_default()));
            line["title"] = json!(format!("Otherwise {at}"));
            line["session"] = Value::Null;
            lines.push(line);
        }
        let imported: Value = serde_json::from_str(&home.import(&lines).stdout).unwrap_or_default();
        assert_eq!(imported["created"], 0, "{at}: {imported}");
        // As notes in a folder.
        let notes = home.folder(&format!("notes{at}/demo"));
        for (why, _, text) in &texts {
            std::fs::write(
                notes.join(format!("{why}.md")),
                format!("---\ntitle: Note {why}\n---\n\n{}\n", form(text)),
            )
            .unwrap();
        }
        home.run(&["import", &notes.parent().unwrap_or(&notes).to_string_lossy()]);
        assert_eq!(count(&home), before, "{at}");
    }
    home.run(&["doctor"]).success();
}

#[test]
fn a_prospective_memory_is_shown_from_its_moment_until_it_is_done() {
    let home = Home::new();
    let mut agent = home.agent();
    let mut remind = |title: &str, from: &str| {
        let call = json!({ "title": title, "content": "Renew the certificate.", "kind": "prospective", "valid_from": from });
        agent.ok("mem_save", call)["id"].as_str().unwrap_or_default().to_owned()
    };
    let due = remind("Overdue", "2020-01-01");
    let later = remind("Far off", "2999-01-01");
    let mut agent = home.agent();
    let section = |agent: &mut Agent| {
        let text = agent.ok("mem_context", json!({})).str("text").to_owned();
        let part = text.split("\n## ").find(|part| part.starts_with("Due")).map(str::to_owned);
        part.unwrap_or_default()
    };
    let shown = section(&mut agent);
    assert!(shown.contains(&due) && !shown.contains(&later), "{shown}");
    let got = agent.get(&due);
    assert_eq!((&got["kind"], &got["strength"]), (&json!("prospective"), &json!(1.0)), "{got:?}");
    agent.ok("mem_update", json!({ "id": due, "done": true }));
    assert_eq!(section(&mut agent), "");
    assert!(agent.get(&due)["done_at"].is_string());
    home.run(&["update", &later, "--valid-from", "2020-01-02"]).success();
    assert!(section(&mut agent).contains(&later));
    agent.refused("mem_save", json!({ "title": "T", "content": "C", "kind": "odd" }));
}

#[test]
fn what_is_done_archived_or_superseded_is_not_due() {
    let home = Home::new();
    let mut agent = home.agent();
    let mut remind = |title: &str, more: Value| {
        let mut call = json!({ "title": title, "content": format!("See to the {title}."), "type": "todo" });
        call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        agent.ok("mem_save", call).str("id").to_owned()
    };
    let first = remind("certificate", json!({}));
    let second = remind("new certificate", json!({ "supersedes": [first] }));
    let aside = remind("archive", json!({}));
    home.json(&["archive", &aside]);
    let due = |agent: &mut crate::support::Agent| {
        let text = agent.ok("mem_context", json!({})).str("text").to_owned();
        let part = text.split("\n## ").find(|part| part.starts_with("Due")).unwrap_or_default().to_owned();
        let ids = [&first, &second, &aside].map(|id| part.contains(id.as_str()));
        (ids, home.json(&["health"])["health"]["due"].as_u64())
    };
    let mut agent = home.agent();
    assert_eq!(due(&mut agent), ([false, true, false], Some(1)));
    agent.ok("mem_update", json!({ "id": second, "done": true }));
    assert_eq!(due(&mut agent), ([false; 3], Some(0)));
    let text = agent.ok("mem_context", json!({})).str("text").to_owned();
    let line = text.lines().find(|line| line.contains(&second)).unwrap_or_default();
    assert!(line.contains(", done)"), "{text}");
    agent.ok("mem_delete", json!({ "id": second }));
    assert_eq!(due(&mut agent), ([true, false, false], Some(1)), "nothing is in its place any more");
}

#[test]
fn a_prospective_memory_with_a_trigger_is_shown_there() {
    let home = Home::new();
    let repository = home.folder("app");
    std::fs::create_dir_all(repository.join(".git")).unwrap();
    std::fs::create_dir_all(repository.join("src/store")).unwrap();
    let on = |branch: &str| {
        std::fs::write(repository.join(".git/HEAD"), format!("ref: refs/heads/{branch}\n")).unwrap();
    };
    on("main");
    let mut agent = home.pump().project("app").cwd(&repository).start();
    let mut remind = |title: &str, trigger: &str| {
        let call = json!({ "title": title, "content": "See to it.", "trigger": trigger });
        agent.ok("mem_save", call).str("id").to_owned()
    };
    let (in_store, on_release) =
        (remind("In the store", "path:src/store"), remind("On release", "branch:release/*"));
    let got = agent.get(&in_store);
    assert_eq!((got.str("trigger"), got.str("kind")), ("path:src/store", "prospective"), "{got:?}");
    assert!(
        got.text.contains("kind: prospective") && got.text.contains("shown in: path:src/store"),
        "{got:?}"
    );
    assert!(home.run(&["get", &in_store]).stdout.contains("path:src/store"));
    let context = |folder: &std::path::Path| {
        let mut agent = home.pump().project("app").cwd(folder).start();
        agent.ok("mem_context", json!({})).str("text").to_owned()
    };
    let due = |folder: &std::path::Path| {
        let text = context(folder);
        let part =
            text.split("\n## ").find(|part| part.starts_with("Due")).map(str::to_owned).unwrap_or_default();
        [&in_store, &on_release].map(|id| part.contains(id.as_str()))
    };
    let store = repository.join("src/store");
    assert_eq!((due(&repository), due(&store)), ([false, false], [true, false]));
    let elsewhere = context(&repository);
    assert!(!elsewhere.contains(&in_store) && !elsewhere.contains(&on_release), "{elsewhere}");
    assert!(!elsewhere.contains("Nothing is stored"), "{elsewhere}");
    on("release/2");
    assert_eq!((due(&repository), due(&store)), ([false, true], [true, true]));
    agent.ok("mem_update", json!({ "id": on_release, "done": true }));
    home.json(&["update", &in_store, "--trigger", ""]);
    assert_eq!(due(&repository), [true, false], "everywhere, and done");
    home.json(&["update", &in_store, "--trigger", "branch:main"]);
    assert_eq!(due(&store), [false, false]);
    // It goes with an export.
    let other = Home::new();
    other.import_text(&home.export_text()).success();
    assert_eq!(other.json(&["get", &in_store])["trigger"], "branch:main");
    let refused = agent.refused("mem_save", json!({ "title": "T", "content": "C", "trigger": "src/store" }));
    assert!(refused.contains("path:FOLDER"), "{refused}");
}
