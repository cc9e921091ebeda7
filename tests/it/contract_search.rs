//! `mem_search`: what it answers, in which order, and what it says about it.

use crate::support::{Agent, FaultyProvider, Home, Value, assert_keys, json};

fn fill(agent: &mut Agent, memories: &[(&str, &str)]) -> Vec<String> {
    memories.iter().map(|(title, content)| agent.save(title, content)).collect()
}

const MEMORIES: [(&str, &str); 9] = [
    ("Vector cache bound", "HNSW_CACHE_SIZE is 64 MB since the cache ate the whole machine."),
    ("Header parsing", "parseHTTPHeader folds continuation lines; see src/net/header.rs for the rules."),
    ("Borrow error in the loop", "The compiler said E0502; cloning the handle before the loop cured it."),
    ("Commit hooks", "Running with --no-verify skips the hooks, which broke the release once."),
    ("Café menu", "The crème brûlée naïveté test covers accents in résumés."),
    ("Retry policy", "Failed uploads are retried five times with doubling pauses between attempts."),
    ("Решение о кэше", "Кэш хранится на диске, потому что память дорогая."),
    ("データベースの設計", "検索エンジンは埋め込みデータベースの上に構築されています。"),
    ("Lunch", "The canteen serves soup on Fridays."),
];

#[test]
fn every_kind_of_question_finds_its_memory_first() {
    let home = Home::new();
    let mut agent = home.agent();
    let ids = fill(&mut agent, &MEMORIES);
    for (query, want) in [
        ("how large may the vector cache grow?", 0),
        ("HNSW_CACHE_SIZE", 0),
        ("hnsw cache size", 0),
        ("hnsw_cache_size", 0),
        ("parseHTTPHeader", 1),
        ("parseHTTP", 1),
        ("parse http header", 1),
        ("src/net/header.rs", 1),
        ("header.rs", 1),
        ("E0502", 2),
        ("e0502", 2),
        ("--no-verify", 3),
        ("no-verify", 3),
        ("creme brulee", 4),
        ("crème brûlée", 4),
        ("resumes", 4),
        ("retrying an upload that fails", 5),
        ("what happens when an upload failed, is there a retry?", 5),
        ("кэш на диске", 6),
        ("埋め込みデータベース", 7),
        ("検索エンジン", 7),
        (r#""the canteen" (soup) AND NOT [fridays] ~2 ^3 * ? : \ / + - !"#, 8),
        ("soup???", 8),
        ("'soup'", 8),
    ] {
        let found = agent.ok("mem_search", json!({"query": query}));
        assert_eq!(found.ids("hits").first(), Some(&ids[want]), "{query}: {found:?}");
    }
}

#[test]
fn a_result_has_the_fields_of_the_contract() {
    let home = Home::new();
    let mut agent = home.agent();
    let ids = fill(&mut agent, &MEMORIES);
    let found = agent.ok("mem_search", json!({"query": "soup in the canteen"}));
    assert_keys(&found, &["hits", "match"], &["relaxed", "next_cursor", "elsewhere"]);
    let hit = &found["hits"][0];
    assert_eq!(hit["id"], ids[8], "{found:?}");
    assert_eq!(hit["title"], "Lunch", "{found:?}");
    assert_eq!(hit["type"], "manual", "{found:?}");
    assert_eq!(hit["preview"], "The canteen serves soup on Fridays.", "{found:?}");
    assert!(hit["score"].is_number(), "{found:?}");
    assert!(hit["date"].as_str().is_some_and(|date| date.len() >= 10), "{found:?}");
    let known = ["id", "title", "type", "date", "preview", "score", "project"];
    for hit in found.list("hits") {
        for key in hit.as_object().unwrap().keys() {
            assert!(known.contains(&key.as_str()), "{key} is beyond the contract: {found:?}");
        }
    }
}

#[test]
fn every_word_raises_the_score_and_a_missing_one_never_empties_the_answer() {
    let home = Home::new();
    let mut agent = home.agent();
    let ids = fill(
        &mut agent,
        &[
            ("One of three", "The gecko sleeps."),
            ("Two of three", "The gecko climbs the terrarium."),
            ("All three", "The gecko climbs the terrarium by moonlight."),
            ("None", "Something else entirely."),
        ],
    );
    let found = agent.ok("mem_search", json!({"query": "gecko terrarium moonlight"}));
    assert_eq!(found.ids("hits"), [ids[2].clone(), ids[1].clone(), ids[0].clone()], "{found:?}");
    assert_ne!(found["relaxed"], true, "one holds every word: {found:?}");
    let scores: Vec<f64> = found.list("hits").iter().filter_map(|hit| hit["score"].as_f64()).collect();
    assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");

    let found = agent.ok("mem_search", json!({"query": "gecko terrarium moonlight flamingo"}));
    assert_eq!(found.ids("hits")[0], ids[2], "{found:?}");
    assert_eq!(found["relaxed"], true, "none holds every word: {found:?}");
    assert!(found.text.to_lowercase().contains("every word") || found.text.contains("relaxed"), "{found:?}");
}

#[test]
fn match_is_a_label_that_removes_nothing() {
    let home = Home::new();
    let mut agent = home.agent();
    let empty = agent.ok("mem_search", json!({"query": "anything at all"}));
    assert_eq!(empty["match"], "none", "{empty:?}");
    assert!(empty["hits"].is_array() && empty.list("hits").is_empty(), "{empty:?}");
    assert!(!empty.text.trim().is_empty(), "{empty:?}");

    let ids = fill(&mut agent, &MEMORIES);
    let strong = agent.ok("mem_search", json!({"query": "canteen soup fridays"}));
    assert_eq!(strong["match"], "strong", "{strong:?}");
    let partial =
        agent.ok("mem_search", json!({"query": "soup recipes from medieval Portuguese monasteries"}));
    assert_ne!(partial["match"], "strong", "{partial:?}");
    assert_eq!(partial.ids("hits").first(), Some(&ids[8]), "{partial:?}");
    let none = agent.ok("mem_search", json!({"query": "xylophone quasar"}));
    assert_eq!(none["match"], "none", "{none:?}");
}

#[test]
fn an_exact_title_or_topic_key_comes_first() {
    let home = Home::new();
    let mut agent = home.agent();
    let repeated = "token rotation token rotation token rotation policy policy config token rotation config";
    for n in 0..6 {
        agent.save(&format!("Notes on token rotation policy {n}"), &format!("{repeated} {n}"));
    }
    let titled = agent.save("Token rotation", "Every ninety days.");
    let keyed = agent.ok(
        "mem_save",
        json!({"title": "Where keys live", "content": "In the vault.", "topic_key": "config/token-rotation"}),
    );
    assert_eq!(agent.search("token rotation")[0], titled);
    assert_eq!(agent.search("config/token-rotation")[0], keyed.str("id"));
}

#[test]
fn newer_wins_ties() {
    let home = Home::new();
    let mut agent = home.agent();
    let ids: Vec<String> = (0..4)
        .map(|n| {
            let arguments = json!({"title": "Standup of the week", "content": "Nothing blocked.", "type": format!("t{n}")});
            agent.ok("mem_save", arguments).str("id").to_owned()
        })
        .collect();
    let newest_first: Vec<String> = ids.iter().rev().cloned().collect();
    assert_eq!(agent.search("standup nothing blocked"), newest_first);
}

#[test]
fn filters_hold_for_every_hit() {
    let home = Home::new();
    let mut agent = home.agent();
    let mut save = |title: &str, kind: &str, tags: &[&str], scope: &str| {
        let arguments = json!({
            "title": title, "content": "About the heron colony.", "type": kind, "tags": tags, "scope": scope,
        });
        agent.ok("mem_save", arguments).str("id").to_owned()
    };
    let decision = save("First", "decision", &["birds", "river"], "project");
    let bug = save("Second", "bugfix", &["birds"], "project");
    let mine = save("Third", "preference", &[], "personal");
    let mut find = |extra: serde_json::Value| {
        let mut arguments = json!({"query": "heron colony"});
        for (key, value) in extra.as_object().unwrap() {
            arguments[key] = value.clone();
        }
        let mut ids = agent.ok("mem_search", arguments).ids("hits");
        ids.sort();
        ids
    };
    let sorted = |ids: &[&String]| {
        let mut ids: Vec<String> = ids.iter().map(|id| (*id).clone()).collect();
        ids.sort();
        ids
    };
    assert_eq!(find(json!({})), sorted(&[&decision, &bug, &mine]), "the project and what is personal");
    assert_eq!(find(json!({"type": "decision"})), sorted(&[&decision]));
    assert_eq!(find(json!({"type": "no-such"})), sorted(&[]));
    assert_eq!(find(json!({"tags": ["birds"]})), sorted(&[&decision, &bug]));
    assert_eq!(find(json!({"tags": ["birds", "river"]})), sorted(&[&decision]), "all tags");
    assert_eq!(find(json!({"scope": "personal"})), sorted(&[&mine]));
    assert_eq!(find(json!({"scope": "project"})), sorted(&[&decision, &bug]));
    assert_eq!(find(json!({"since": "1h"})), sorted(&[&decision, &bug, &mine]));
    assert_eq!(find(json!({"until": "1h"})), sorted(&[]));
    assert_eq!(find(json!({"since": "2020-01-01", "until": "2020-12-31"})), sorted(&[]));
    assert_eq!(find(json!({"since": "2020-01-01T00:00:00Z"})), sorted(&[&decision, &bug, &mine]));
}

#[test]
fn a_cursor_walks_the_whole_list_once() {
    let home = Home::new();
    let mut agent = home.agent();
    let mut all: Vec<String> = (0..23)
        .map(|n| agent.save(&format!("Otter sighting {n}"), &format!("An otter at bend {n}.")))
        .collect();
    let mut seen = Vec::new();
    let mut arguments = json!({"query": "otter", "limit": 7});
    let mut pages = 0;
    loop {
        let page = agent.ok("mem_search", arguments.clone());
        pages += 1;
        assert!(page.list("hits").len() <= 7 && pages <= 4, "{page:?}");
        seen.extend(page.ids("hits"));
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        assert!(page.text.contains(cursor), "the next step is not in the text half: {page:?}");
        arguments["cursor"] = json!(cursor);
    }
    all.sort();
    seen.sort();
    assert_eq!(seen, all, "in {pages} pages");
    let refusal = agent.refused("mem_search", json!({"query": "otter", "cursor": "not a cursor"}));
    assert!(refusal.contains("cursor"), "{refusal}");
}

#[test]
fn a_cursor_belongs_to_one_search() {
    let home = Home::new();
    let mut agent = home.agent();
    for n in 0..4 {
        agent.save(&format!("Heron {n}"), &format!("A heron stood at bend {n}."));
    }
    let asked = json!({"query": "heron", "limit": 2, "since": "7d", "tags": []});
    let cursor = agent.ok("mem_search", asked.clone())["next_cursor"].clone();
    let with = |name: &str, value: Value| {
        let mut arguments = asked.clone();
        arguments["cursor"] = cursor.clone();
        arguments[name] = value;
        arguments
    };
    // The same age is the same search, although its moment moves on; and pages may differ in length.
    for (name, value) in
        [("since", json!("7d")), ("limit", json!(1)), ("limit", json!("3")), ("type", json!(null))]
    {
        assert!(!agent.ok("mem_search", with(name, value)).list("hits").is_empty(), "{name}");
    }
    for (name, value) in [
        ("query", json!("herons")),
        ("project", json!("another")),
        ("all_projects", json!(true)),
        ("scope", json!("personal")),
        ("type", json!("decision")),
        ("tags", json!(["bird"])),
        ("since", json!("8d")),
        ("until", json!("yesterday")),
        ("as_of", json!("1h")),
        ("valid_at", json!("2026-11-01")),
        ("archived", json!(true)),
        ("type", json!("history")),
    ] {
        let refusal = agent.refused("mem_search", with(name, value));
        assert!(refusal.contains("belongs to a search with other arguments"), "{name}: {refusal}");
    }
}

#[test]
fn the_default_is_ten_hits() {
    let home = Home::new();
    let mut agent = home.agent();
    for n in 0..12 {
        agent.save(&format!("Marmot {n}"), &format!("A marmot whistled {n} times."));
    }
    let found = agent.ok("mem_search", json!({"query": "marmot"}));
    assert_eq!(found.list("hits").len(), 10, "{found:?}");
    assert!(found["next_cursor"].is_string(), "{found:?}");
}

#[test]
fn the_preview_is_the_best_passage_cut_at_words() {
    let home = Home::new();
    let mut agent = home.agent();
    let filler = "The meeting went on about budgets and chairs for a very long while. ".repeat(60);
    let content =
        format!("{filler}Then somebody found that the peregrine falcon service leaks sockets. {filler}");
    agent.save("Meeting minutes", &content);
    let found = agent.ok("mem_search", json!({"query": "peregrine falcon leaks"}));
    let preview = found["hits"][0]["preview"].as_str().unwrap_or_default();
    assert!(preview.contains("peregrine falcon"), "{found:?}");
    assert!(preview.chars().count() <= 200, "{} characters: {found:?}", preview.chars().count());
    let bare = preview.trim_matches(|c: char| c == '…' || c == '.' || c.is_whitespace());
    for word in bare.split_whitespace() {
        assert!(
            content.split_whitespace().any(|whole| whole.trim_matches('.') == word.trim_matches('.')),
            "{word}"
        );
    }
}

#[test]
fn a_save_is_found_at_once_by_every_agent() {
    let home = Home::new();
    let mut writer = home.agent();
    let mut reader = home.agent();
    for n in 0..30 {
        let word = crate::support::word(n);
        let id = writer.save(&format!("Turn {n}"), &format!("The word of this turn is {word}."));
        assert_eq!(reader.search(&word), [id], "turn {n}");
    }
}

#[test]
fn better_hits_elsewhere_are_reported() {
    let home = Home::new();
    let mut agent = home.agent();
    for n in 0..3 {
        agent.ok(
            "mem_save",
            json!({
                "title": format!("Kestrel nesting box {n}"), "content": format!("The kestrel nesting box faces east, {n}."),
                "project": "birds",
            }),
        );
    }
    agent.save("Boxes", "A box of screws.");
    let found = agent.ok("mem_search", json!({"query": "kestrel nesting box east"}));
    assert_ne!(found["match"], "strong", "{found:?}");
    let elsewhere = found["elsewhere"].to_string();
    assert!(elsewhere.contains("birds") && elsewhere.contains('3'), "{found:?}");
    found.assert_in_both(&["birds"]);
    assert!(
        found.list("hits").iter().all(|hit| hit["project"].is_null() || hit["project"] == "demo"),
        "{found:?}"
    );

    let all = agent.ok("mem_search", json!({"query": "kestrel nesting box east", "all_projects": true}));
    assert_eq!(all["match"], "strong", "{all:?}");
    assert_eq!(all["hits"][0]["project"], "birds", "{all:?}");
    assert!(all["elsewhere"].is_null(), "{all:?}");
}

#[test]
fn a_long_memory_is_found_by_any_of_its_passages() {
    let home = Home::new();
    let mut agent = home.agent();
    let mut content = String::new();
    for n in 0..2_000 {
        content.push_str(&format!("Line {n} speaks of {}. ", crate::support::word(n)));
    }
    let id = agent.save("A long log", &content);
    agent.save("Short", "Nothing of interest.");
    for n in [0, 777, 1_999] {
        assert_eq!(agent.search(&crate::support::word(n)), [id.clone()], "passage {n}");
    }
}

#[test]
fn a_query_without_words_says_what_to_do() {
    let home = Home::new();
    let mut agent = home.agent();
    agent.save("Something", "Something is stored.");
    for arguments in [json!({}), json!({"query": ""}), json!({"query": "  \n"})] {
        let refusal = agent.refused("mem_search", arguments.clone());
        assert!(refusal.contains("query"), "{arguments}: {refusal}");
    }
    for query in ["???", "\"", "🦔", "-- ' ( [ {", "*", "AND OR NOT"] {
        let found = agent.call("mem_search", json!({"query": query}));
        assert!(!found.text.trim().is_empty(), "{query}: {found:?}");
    }
}

/// With vectors, some memory is always the nearest, even to nonsense.
#[test]
fn when_nothing_fits_that_is_reported_first() {
    let provider = FaultyProvider::start();
    let home = Home::with_config(&provider.config(""));
    let mut agent = home.agent();
    let titles = ["Gannet", "Harbour", "Lantern", "Orchard", "Piston"];
    for (title, content) in titles.iter().zip([
        "The gannet dives from thirty metres.",
        "The harbour freezes in hard winters.",
        "The lantern burns oil of whales.",
        "The orchard wants pruning each spring.",
        "The piston turns a heavy crank.",
    ]) {
        agent.save(title, content);
    }
    home.run(&["worker", "status", "--wait"]).success();
    // Words to which the provider gives other dimensions than to all above.
    let nonsense = "asdkjh zxvbnm";
    let found = agent.ok("mem_search", json!({ "query": nonsense }));
    assert_eq!(
        (&found["match"], found["hits"].as_array().map(Vec::len)),
        (&json!("none"), Some(5)),
        "{found:?}"
    );
    assert!(found.text.starts_with("Nothing in demo fits (match: none)"), "{found:?}");

    let shown = |args: &[&str]| {
        let done = home.run(&[&["search", nonsense, "--project", "demo"][..], args].concat());
        assert!(done.stderr.contains("nothing fits (match: none)"), "{args:?}: {done:?}");
        let table = done.success();
        titles.iter().filter(|title| table.contains(**title)).count()
    };
    assert_eq!((shown(&[]), shown(&["--limit", "4"]), shown(&["--limit", "9"])), (3, 4, 5));
    let all = home.json(&["search", nonsense, "--project", "demo"]);
    assert_eq!(all["hits"].as_array().map(Vec::len), Some(5), "a script decides by itself: {all}");
    let fits = home.run(&["search", "gannet", "--project", "demo"]);
    assert!(fits.stderr.contains("match: strong") && !fits.stderr.contains("nothing fits"), "{fits:?}");
}

#[test]
fn a_moment_from_an_answer_is_accepted_in_a_question() {
    let home = Home::new();
    let mut agent = home.agent();
    agent.save("Saola", "Seen at dawn.");
    let hits = agent.ok("mem_search", json!({"query": "saola"}));
    let date = hits["hits"][0]["date"].clone();
    let found = agent.ok("mem_search", json!({"query": "saola", "since": date, "until": date}));
    assert_eq!(found["hits"].as_array().map(Vec::len), Some(1), "{date}: {found:?}");
}
