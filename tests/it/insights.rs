//! Insights of consolidation, with a scripted chat model: checked, reviewed, added, and undone.

use crate::support::{AGENTS_MAY_PURGE, Agent, Browser, Home, Provider, Scene, Value, json, wait_for};

const NOTES: [(&str, &str); 4] = [
    ("Upload to Kestrel", "Kestrel closed the part after 30 seconds, in src/net/retry.rs."),
    ("Import stops", "Kestrel closed the connection after 30 seconds, says src/net/retry.rs."),
    ("Nightly export", "Kestrel needs a heartbeat; src/net/retry.rs has none since 2.4."),
    ("Gardening", "Tomatoes want sun."),
];
const INSIGHT: &str = "Kestrel closes what is quiet for 30 seconds, and src/net/retry.rs has no heartbeat.";

fn config(llm: &Provider) -> String {
    format!(
        "{AGENTS_MAY_PURGE}[relations]\nprovider = \"openai\"\nmodel = \"test\"\nbase_url = \"{}/v1\"\ntimeout = \"10s\"\n\
         [embeddings]\nprovider = \"none\"\n",
        llm.address()
    )
}

fn insight(text: &str, sources: &[u32]) -> Value {
    json!({ "title": "All that Kestrel closes", "text": text, "sources": sources })
}

fn answer(insights: &[Value]) -> Scene {
    Scene::completion(&json!({ "insights": insights }).to_string())
}

/// A home with the notes, and their ids.
fn furnished(llm: &Provider) -> (Home, Agent, Vec<String>) {
    let home = Home::with_config(&config(llm));
    let mut agent = home.agent();
    let ids = NOTES.iter().map(|(title, content)| agent.save(title, content)).collect();
    (home, agent, ids)
}

/// Makes a plan and waits until the model was asked this often for it.
fn planned(home: &Home, requests: u64) -> Value {
    let planned = home.json(&["consolidate"]);
    assert_eq!(planned["asking"], true, "{planned}");
    let id = planned["cycle"]["id"].as_str().unwrap().to_owned();
    wait_for("the answer", || {
        let plan = home.json(&["consolidate", "--log", &id]);
        (plan["cycle"]["requests"] == json!(requests)).then_some(plan)
    })
}

#[test]
fn an_insight_is_reviewed_added_and_undone_to_the_byte() {
    let invented = [
        insight("Kestrel closes what is quiet for 45 seconds.", &[1, 2, 3]),
        insight("Redis closes what is quiet.", &[1, 2, 3]),
        insight("Kestrel closes what is quiet for 30 seconds.", &[1, 2]),
    ];
    let mut all = invented.to_vec();
    all.insert(0, insight(INSIGHT, &[1, 2, 3]));
    let llm = Provider::start(vec![answer(&all)]);
    let (home, mut agent, ids) = furnished(&llm);
    let before = home.export_text();
    let plan = planned(&home, 1);
    assert_eq!(home.export_text(), before, "a plan changes nothing");
    let cycle = &plan["cycle"];
    assert_eq!(
        (&cycle["derive"], &cycle["dropped"], &cycle["tokens"]),
        (&json!(1), &json!(3), &json!(100)),
        "{plan}"
    );
    let step = &plan["steps"][0];
    assert_eq!((&step["action"], &step["text"]), (&json!("derive"), &json!(INSIGHT)), "{plan}");
    let mut sources: Vec<&str> =
        step["sources"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let mut wanted: Vec<&str> = ids[..3].iter().map(String::as_str).collect();
    sources.sort_unstable();
    wanted.sort_unstable();
    assert_eq!(sources, wanted);
    let shown = home.run(&["consolidate", "--log", cycle["id"].as_str().unwrap()]).success();
    assert!(shown.contains(INSIGHT), "{shown}");
    let page = Browser::open(&home).read(&format!("/tidy/{}", cycle["id"].as_str().unwrap()));
    assert!(page.says("1 to add as insights") && page.says(INSIGHT), "{}", page.text());
    assert!(
        ids[..3].iter().all(|id| page.body.contains(&format!("href=\"/memories/{id}\""))),
        "{}",
        page.body
    );
    let log = home.run(&["consolidate", "--log"]);
    assert!(log.code() == 0 && log.stderr.contains("waits for you, because it has 1 insight"), "{log:?}");
    let waiting = || home.json(&["health"])["health"]["insights"].clone();
    assert_eq!(waiting(), 1);
    // Texts of memories occur in quoted JSON only.
    let system = llm.requests()[0].body["messages"][0]["content"].as_str().unwrap().to_owned();
    assert!(!system.contains("Kestrel") && system.contains("data"), "{system}");

    let applied = home.json(&["consolidate", "--apply"]);
    assert_eq!(
        (&applied["cycle"]["done"], &applied["steps"][0]["text"]),
        (&json!(1), &Value::Null),
        "{applied}"
    );
    assert_eq!(waiting(), Value::Null);
    let id = step["id"].as_str().unwrap();
    let read = agent.get(id);
    assert_eq!(read["origin"], "derived", "{read:?}");
    assert!(read.text.contains(INSIGHT) && ids[..3].iter().all(|id| read.text.contains(id)), "{read:?}");
    assert!(agent.search("quiet for 30 seconds heartbeat").contains(&id.to_owned()));

    // The same notes are not asked about again.
    let again = home.json(&["consolidate"]);
    home.json(&["consolidate", "--undo"]);
    assert_eq!(home.export_text(), before);
    agent.refused("mem_get_observation", json!({ "id": id }));
    assert!(!agent.search("quiet for 30 seconds heartbeat").contains(&id.to_owned()));
    assert_eq!(again["cycle"]["derive"], 0, "{again}");
    assert_eq!(llm.requests().len(), 1);
    assert_eq!(home.run(&["doctor"]).code(), 0);
}

#[test]
fn an_insight_that_was_not_shown_is_not_added() {
    let llm = Provider::start(vec![answer(&[insight(INSIGHT, &[1, 2, 3])])]);
    let (home, _agent, _) = furnished(&llm);
    let plan = home.json(&["consolidate"]);
    assert_eq!((&plan["asking"], &plan["steps"]), (&json!(true), &json!([])), "{plan}");
    // The list of plans shows no step.
    let id = plan["cycle"]["id"].as_str().unwrap();
    wait_for("the answer", || {
        (home.json(&["consolidate", "--log"])["cycles"][0]["derive"] == 1).then_some(())
    });
    for command in [&["consolidate", "--apply"][..], &["consolidate", "--apply", id]] {
        let refused = home.run(command);
        assert_ne!(refused.code(), 0, "{refused:?}");
        assert!(refused.stderr.contains("not shown yet: 1 insight"), "{refused:?}");
    }
    let shown = home.json(&["consolidate", "--log", id]);
    assert_eq!(shown["steps"][0]["text"], INSIGHT, "{shown}");
    let applied = home.json(&["consolidate", "--apply"]);
    assert_eq!(applied["cycle"]["done"], 1, "{applied}");
}

#[test]
fn without_a_chat_model_nothing_is_asked() {
    let llm = Provider::start(vec![answer(&[])]);
    let home = Home::with_config("[embeddings]\nprovider = \"none\"\n");
    let mut agent = home.agent();
    for (title, content) in NOTES {
        agent.save(title, content);
    }
    let planned = home.json(&["consolidate"]);
    assert_eq!((&planned["asking"], &planned["cycle"]["requests"]), (&Value::Null, &json!(0)), "{planned}");
    home.end();
    assert_eq!(llm.requests().len(), 0);
}

#[test]
fn a_purged_source_is_removed_from_plans_and_insights() {
    let llm = Provider::start(vec![answer(&[insight(INSIGHT, &[1, 2, 3])])]);
    let (home, mut agent, ids) = furnished(&llm);
    let plan = planned(&home, 1);
    assert_eq!(plan["cycle"]["derive"], 1);
    // Purging a source removes the insight from the plan.
    agent.ok("mem_delete", json!({ "id": ids[0], "hard": true }));
    let id = plan["cycle"]["id"].as_str().unwrap();
    let left = home.json(&["consolidate", "--log", id]);
    assert_eq!((&left["cycle"]["derive"], &left["steps"]), (&json!(0), &json!([])), "{left}");

    // An insight that was carried out is removed with its source too.
    let fourth =
        agent.save("Backup breaks", "Kestrel closed it after 30 seconds in src/net/retry.rs, at night.");
    let plan = planned(&home, 1);
    assert_eq!(plan["cycle"]["derive"], 1, "another group of notes: {plan}");
    home.json(&["consolidate", "--apply"]);
    let derived = plan["steps"][0]["id"].as_str().unwrap();
    assert!(agent.get(derived).text.contains("heartbeat"));
    agent.ok("mem_delete", json!({ "id": fourth, "hard": true }));
    let texts: Vec<Value> = home.memories().into_iter().map(|line| line["content"].clone()).collect();
    assert!(!texts.iter().any(|text| text.as_str().unwrap().contains("quiet for 30 seconds")), "{texts:?}");
}

#[test]
fn an_insight_of_a_corrected_source_is_marked() {
    let llm = Provider::start(vec![answer(&[insight(INSIGHT, &[1, 2, 3])])]);
    let (home, mut agent, ids) = furnished(&llm);
    let plan = planned(&home, 1);
    home.json(&["consolidate", "--apply"]);
    let id = plan["steps"][0]["id"].as_str().unwrap();
    let hit = |agent: &mut Agent| {
        let found = agent.ok("mem_search", json!({ "query": "quiet for 30 seconds heartbeat" }));
        found.list("hits").iter().find(|hit| hit["id"] == id).cloned().expect("the insight")
    };
    // Tags and other notes change nothing of what it rests on.
    agent.ok("mem_update", json!({ "id": ids[0], "tags": ["net"] }));
    agent.ok("mem_update", json!({ "id": ids[3], "content": "Tomatoes want shade." }));
    assert_eq!((&hit(&mut agent)["stale"], &agent.get(id)["stale"]), (&Value::Null, &Value::Null));
    agent.ok("mem_update", json!({ "id": ids[1], "content": "The import stops because its disk is full." }));
    let want = json!(format!("source {} no longer holds", ids[1]));
    assert_eq!((&hit(&mut agent)["stale"], &agent.get(id)["stale"]), (&want, &want));
    assert!(agent.get(id).text.contains("no longer holds"));
    // What returned to its text holds again.
    agent.ok("mem_update", json!({ "id": ids[1], "content": NOTES[1].1 }));
    home.json(&["tombstones", "--forget", &ids[1], "--yes"]);
    assert_eq!(hit(&mut agent)["stale"], Value::Null);
}

#[test]
fn an_answer_that_never_fits_costs_one_repair_and_ends() {
    let llm = Provider::start(vec![Scene::completion("I refuse.")]);
    let (home, _agent, _) = furnished(&llm);
    let plan = planned(&home, 2);
    assert_eq!((&plan["cycle"]["derive"], &plan["cycle"]["dropped"]), (&json!(0), &json!(1)), "{plan}");
    assert_eq!(home.json(&["jobs"])["dead"], 0);
    assert_eq!(llm.requests().len(), 2);
}
