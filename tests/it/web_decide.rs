//! `cerebro web`: what a person decides there: pairs, merges, conflicting edits, candidates, consolidation, documents,
//! projects.

use crate::cycle::untidy;
use crate::support::{Browser, Home, Value, alter, json};

fn relate(from: &str, to: &str, kind: &str, weight: f64) -> String {
    format!(
        "RELATE memory:{from}->RELATES_TO->memory:{to} SET kind = '{kind}', weight = {weight}, \
         evidence = 'seen', method = 'llm', at = time::now();"
    )
}

/// Two memories that contradict each other.
fn at_odds(home: &Home) -> (String, String) {
    let mut agent = home.agent();
    let (old, new) =
        (agent.save("Port is 80", "The port is 80."), agent.save("Port is 81", "The port is 81."));
    drop(agent);
    alter(home, &relate(&new, &old, "contradicts", 0.9));
    (old, new)
}

fn pairs_of(browser: &Browser, path: &str) -> usize {
    browser.read(path).body.matches("class=\"pair\"").count()
}

#[test]
fn merged_and_archived_memories_do_not_starve_the_list_of_pairs() {
    let home = Home::new();
    let mut agent = home.agent();
    let ids: Vec<String> =
        (0..34).map(|n| agent.save(&format!("Number {n}"), &format!("Text {n}."))).collect();
    drop(agent);
    let twins: Vec<String> = (0..17).map(|n| relate(&ids[2 * n], &ids[2 * n + 1], "similar", 0.99)).collect();
    alter(&home, &twins.concat());
    // All but the last pair are archived; more of them than a page shows.
    let half: Vec<&str> = (0..16).map(|n| ids[2 * n].as_str()).collect();
    home.run(&[&["archive"][..], half.as_slice()].concat()).success();
    let browser = Browser::open(&home);
    let page = browser.read("/pairs?which=twins");
    assert_eq!(page.body.matches("class=\"pair\"").count(), 1, "{}", page.text());
    assert!(page.body.contains(&ids[33]));
    home.run(&[&["unarchive"][..], half.as_slice()].concat()).success();
    assert_eq!(pairs_of(&browser, "/pairs?which=twins"), 10);
    let rest = browser.read("/pairs?which=twins&from=10");
    assert_eq!(rest.body.matches("class=\"pair\"").count(), 7);
    assert!(!rest.body.contains("rel=\"next\""));
    let names: Vec<&str> = page.body.split("<button").skip(1).collect();
    assert!(
        names.iter().all(|name| name.contains("of pair 1<")),
        "each button says of which pair: {names:?}"
    );
}

#[test]
fn a_settled_pair_is_hidden_until_one_is_revised() {
    let home = Home::new();
    let (old, new) = at_odds(&home);
    let browser = Browser::open(&home);
    let fields = |revision: &'static str| {
        [
            ("first", new.as_str()),
            ("first_revision", revision),
            ("second", old.as_str()),
            ("second_revision", "1"),
            ("back", "pairs"),
        ]
    };
    let is_marked =
        || home.run(&["search", "port", "--project", "demo", "--json"]).stdout.contains("conflicts_with");
    assert!(is_marked(), "agents hear of the claim");
    let late = browser.post("/pairs", "/pairs/settle", &fields("7"));
    assert_eq!((late.status, pairs_of(&browser, "/pairs")), (409, 1), "only as it was read");
    let settled = browser.post("/pairs", "/pairs/settle", &fields("1"));
    assert_eq!(settled.header("location"), "/pairs?done=settled", "{settled:?}");
    assert!(browser.read("/pairs?done=settled").says("Both stay valid"));
    assert_eq!(pairs_of(&browser, "/pairs"), 0);
    assert!(!is_marked(), "and of it no more, once a person lets both stand");
    assert_eq!(home.json(&["health"])["health"]["review"], 0);
    // Neither a pin nor a worker that draws the relation again brings it back.
    home.run(&["pin", &old]).success();
    assert_eq!(pairs_of(&browser, "/pairs"), 0);
    home.run(&["update", &old, "--content", "The port is 80 again."]).success();
    assert_eq!(pairs_of(&browser, "/pairs"), 1, "a revised text is another one");
    let same = browser.post(
        "/pairs",
        "/pairs/settle",
        &[("first", &old), ("first_revision", "2"), ("second", &old), ("second_revision", "2")],
    );
    assert_eq!(same.status, 400, "{same:?}");
    assert!(home.run(&["doctor"]).stdout.contains("links"));
}

#[test]
fn one_click_supersedes_a_memory_of_a_pair() {
    let home = Home::new();
    let (old, new) = at_odds(&home);
    let browser = Browser::open(&home);
    let fields = [("newer", new.as_str()), ("older", old.as_str()), ("back", "pairs")];
    let answer = browser.post("/pairs", "/pairs/replace", &fields);
    assert_eq!(answer.header("location"), "/pairs?done=replaced", "{answer:?}");
    assert_eq!(pairs_of(&browser, "/pairs"), 0);
    assert_eq!(home.json(&["get", &old])["superseded_by"], json!([new]));
    let page = browser.read(&format!("/memories/{new}"));
    assert!(page.says("Replaces") && page.body.contains(&format!("<dd><a href=\"/memories/{old}\"")));
    assert!(browser.read(&format!("/memories/{old}")).says("Replaced by"));
}

#[test]
fn two_memories_become_one_text_that_a_person_wrote() {
    let home = Home::new();
    let (old, new) = at_odds(&home);
    let browser = Browser::open(&home);
    let form = format!("/pairs/merge?first={new}&second={old}");
    let page = browser.read(&form);
    assert!(page.says("The port is 81. The port is 80."), "{}", page.text());
    let both = "The port was 80, and is 81 now.";
    let fields = |second_revision: &'static str| {
        [
            ("first", new.as_str()),
            ("first_revision", "1"),
            ("second", old.as_str()),
            ("second_revision", second_revision),
            ("title", "The port"),
            ("type", "decision"),
            ("tags", "net, net2"),
            ("content", both),
        ]
    };
    let late = browser.post(&form, "/pairs/merge", &fields("9"));
    assert!(late.status == 409 && late.says(both), "{}", late.text());
    assert_eq!(home.json(&["get", &new])["revision"], 1);
    let answer = browser.post(&form, "/pairs/merge", &fields("1"));
    assert_eq!(answer.header("location"), format!("/memories/{new}?done=joined"), "{answer:?}");
    let merged = home.json(&["get", &new]);
    assert_eq!((&merged["content"], &merged["revision"]), (&json!(both), &json!(2)));
    assert_eq!((&merged["tags"], &merged["supersedes"]), (&json!(["net", "net2"]), &json!([old])));
    assert_eq!(pairs_of(&browser, "/pairs"), 0);
    assert_eq!(browser.get(&format!("/pairs/merge?first={new}&second={new}")).status, 400);
}

#[test]
fn an_edit_that_came_late_shows_both_texts_and_can_be_saved_then() {
    let home = Home::new();
    let id = home.agent().save("Alpha", "First text.");
    let browser = Browser::open(&home);
    let form = format!("/memories/{id}/edit");
    home.run(&["update", &id, "--content", "Their text."]).success();
    let fields = |revision| {
        [
            ("title", "Alpha"),
            ("type", "decision"),
            ("tags", ""),
            ("content", "My text."),
            ("revision", revision),
        ]
    };
    let late = browser.post(&form, &form, &fields("1"));
    assert_eq!(late.status, 409);
    assert!(late.says("My text.") && late.says("Their text.") && late.says("revision 2"), "{}", late.text());
    assert!(late.body.contains("name=\"revision\" value=\"2\""), "the form is of their revision now");
    let saved = browser.send(&form, &[&[("token", late.token())][..], fields("2").as_slice()].concat());
    assert_eq!(saved.header("location"), format!("/memories/{id}?done=updated"), "{saved:?}");
    assert_eq!(home.json(&["get", &id])["content"], "My text.");

    let held = home.json(&["save", "Held", "x", "--topic-key", "a/held", "--project", "demo"]);
    assert!(held["id"].is_string(), "{held}");
    let present = home.json(&["get", &id])["revision"].to_string();
    let mut taken = fields("").to_vec();
    taken[4].1 = present.as_str();
    taken.extend([("topic_key", "a/held"), ("project", "demo"), ("scope", "project")]);
    let refused = browser.post(&form, &form, &taken);
    assert!(refused.status == 409 && refused.says("a/held"), "{}", refused.text());
    taken[1].1 = "no such type!";
    taken.truncate(5);
    taken[0].1 = "";
    let refused = browser.post(&form, &form, &taken);
    assert_eq!(refused.status, 400, "a fault of its own: {}", refused.text());
}

#[test]
fn folder_and_validity_are_edited_and_an_archive_stays() {
    let home = Home::new();
    let id = home.agent().save("Alpha", "First text.");
    let browser = Browser::open(&home);
    let (page, form) = (format!("/memories/{id}"), format!("/memories/{id}/edit"));
    let fields = [
        ("title", "Alpha"),
        ("type", "decision"),
        ("tags", ""),
        ("content", "First text."),
        ("revision", "1"),
        ("scope", "project"),
        ("project", "acme/other"),
        ("topic_key", "a/b"),
        ("kind", "procedural"),
        ("valid_from", "2026-01-01"),
        ("valid_until", "2026-12-31"),
    ];
    let saved = browser.post(&form, &form, &fields);
    assert_eq!(saved.header("location"), format!("{page}?done=updated"), "{}", saved.text());
    let stored = home.json(&["get", &id]);
    for (name, want) in [("project", "acme/other"), ("topic_key", "a/b"), ("kind", "procedural")] {
        assert_eq!(stored[name], want, "{stored}");
    }
    assert!(stored["valid"]["until"].as_str().unwrap().starts_with("2026-12-31T23:59:59"), "{stored}");
    let shown = browser.read(&form);
    assert!(
        shown.body.contains("value=\"2026-12-31\"") && shown.body.contains("<option selected>procedural")
    );
    let again: Vec<(&str, &str)> = fields
        .into_iter()
        .map(|(name, value)| (name, if name == "revision" { "2" } else { value }))
        .collect();
    let unchanged = browser.post(&form, &form, &again);
    assert_eq!(unchanged.header("location"), format!("{page}?done=unchanged"), "{}", unchanged.text());

    let shown = "Second text.\n<cerebro-context>\nwhat an agent was shown\n</cerebro-context>";
    let framed: Vec<(&str, &str)> = again
        .into_iter()
        .map(|(name, value)| (name, if name == "content" { shown } else { value }))
        .collect();
    let cut = browser.post(&form, &form, &framed);
    assert_eq!(cut.header("location"), format!("{page}?done=updated-without"), "{}", cut.text());
    assert!(browser.read(cut.header("location")).says("without what Cerebro itself had shown"));
    assert_eq!(home.json(&["get", &id])["content"], "Second text.");

    browser.post(&page, &format!("{page}/archive"), &[]);
    assert!(browser.read("/memories?archived=1").says("Alpha") && browser.read(&page).says("archived"));
    browser.post(&page, &format!("{page}/unarchive"), &[]);
    assert!(!browser.read("/memories?archived=1").says("Alpha"));
}

#[test]
fn a_list_meets_every_condition_of_its_address() {
    let home = Home::new();
    let mut agent = home.pump().client("codex").project("demo").start();
    agent.ok("mem_session_start", json!({ "id": "sitting" }));
    let first = agent.ok("mem_save", json!({ "title": "One", "content": "x", "tags": ["net"] }));
    drop(agent);
    home.json(&["save", "Two", "y", "--project", "demo", "--tag", "net", "--tag", "disk"]);
    let browser = Browser::open(&home);
    for (query, one, two) in [
        ("tags=net", true, true),
        ("tags=net%2C+disk", false, true),
        ("agent=codex", true, false),
        ("session=sitting", true, false),
        ("since=1d", true, true),
        ("until=yesterday", false, false),
        ("agent=codex&q=x", true, false),
        ("archived=1", false, false),
    ] {
        let page = browser.read(&format!("/memories?{query}"));
        let has = |title: &str| page.body.contains(&format!(">{title}</a></h3>"));
        assert_eq!((has("One"), has("Two")), (one, two), "{query}: {}", page.text());
    }
    assert_eq!(browser.get("/memories?since=soonish").status, 400);
    let page = browser.read(&format!("/memories/{}", first.str("id")));
    for fact in ["Origin", "Session", "Kind", "Tags"] {
        assert!(page.says(fact), "{fact}: {}", page.text());
    }
}

#[test]
fn a_session_shows_whole_prompts_and_the_session_that_it_continues() {
    let home = Home::new();
    let mut agent = home.agent();
    let long = format!("{} and the end of it.", "Please look at every file. ".repeat(200));
    agent.ok("mem_session_start", json!({ "id": "first" }));
    agent.ok("mem_session_summary", json!({ "content": "## Goal\n- Begin" }));
    agent.ok("mem_session_end", json!({}));
    agent.ok("mem_session_start", json!({ "id": "second" }));
    agent.ok("mem_save_prompt", json!({ "content": "A short one\nof two lines" }));
    agent.ok("mem_save_prompt", json!({ "content": long }));
    let browser = Browser::open(&home);
    let page = browser.read("/sessions/second");
    assert!(page.body.contains("A short one\nof two lines"), "{}", page.body);
    assert!(!page.says("and the end of it.") && page.body.contains("whole=1"), "{}", page.text());
    assert!(page.body.contains("href=\"/sessions/first\""), "its thread: {}", page.text());
    assert!(browser.read("/sessions/second?whole=1").says("and the end of it."));
    assert!(browser.read("/sessions").says("continues the next one"));
}

#[test]
fn a_plan_is_seen_carried_out_and_taken_back() {
    let home = untidy();
    let browser = Browser::open(&home);
    assert!(browser.read("/tidy").says("There are no plans yet"));
    let planned = browser.post("/tidy", "/tidy", &[]);
    let plan = planned.header("location").to_owned();
    assert!(plan.starts_with("/tidy/"), "{planned:?}");
    let page = browser.read(&plan);
    assert!(page.says("planned") && page.says("1 to merge") && page.says("Upload"), "{}", page.text());
    let archived =
        || home.json(&["list", "--all-projects", "--archived"])["memories"].as_array().unwrap().len();
    assert_eq!(archived(), 0, "a plan changes nothing");
    let done = browser.post(&plan, &plan, &[("do", "apply")]);
    assert_eq!(done.header("location"), format!("{plan}?done=applied"), "{done:?}");
    assert!(archived() > 0 && browser.read("/memories?archived=1").says("Upload"));
    let undone = browser.post(&plan, &plan, &[("do", "undo")]);
    assert_eq!((undone.header("location"), archived()), (format!("{plan}?done=undone").as_str(), 0));
    assert!(browser.read("/tidy").body.contains(&plan));
    assert_eq!(browser.get("/tidy/nosuch").status, 404);
}

#[test]
fn a_document_is_read_in_a_browser_and_forgotten_after_a_question() {
    let home = Home::new();
    let file = home.folder("papers").join("pier.md");
    std::fs::write(&file, "# The pier\n\nIt stands <b>on</b> oak.\n\n## Mending\n\nEvery ten years.\n")
        .unwrap();
    home.run(&["ingest", &file.to_string_lossy(), "--project", "demo"]).success();
    let browser = Browser::open(&home);
    let list = browser.read("/documents");
    assert!(list.says("pier.md"), "{}", list.text());
    let from = list.body.find("href=\"/documents/").unwrap() + 6;
    let page = list.body[from..].split('"').next().unwrap().to_owned();
    let shown = browser.read(&page);
    assert!(shown.says("It stands <b>on</b> oak.") && !shown.body.contains("<b>"), "{}", shown.body);
    let question = format!("{page}/forget");
    assert!(browser.read(&question).says("destroyed for good"));
    let answer = browser.post(&question, &question, &[]);
    assert_eq!(answer.header("location"), "/documents?done=forgotten");
    assert!(file.exists() && browser.read("/documents").says("No documents"));
    assert_eq!(browser.get(&page).status, 404);
}

#[test]
fn a_project_gets_a_name_that_none_has() {
    let home = Home::new();
    let id = home.pump().project("old/name").start().save("Moved", "x");
    home.pump().project("other").start().save("Stays", "y");
    let browser = Browser::open(&home);
    let question = "/projects/merge?from=old%2Fname&into=New%20Name";
    assert!(browser.read(question).says("Rename old/name to new-name?"), "{}", browser.read(question).text());
    let fields = [("from", "old/name"), ("into", "new-name"), ("new", "1")];
    let taken = [("from", "old/name"), ("into", "other"), ("new", "1")];
    assert_eq!(browser.post(question, "/projects/merge", &taken).status, 409);
    let answer = browser.post(question, "/projects/merge", &fields);
    assert_eq!(answer.header("location"), "/projects?done=renamed", "{answer:?}");
    assert_eq!(home.json(&["get", &id])["project"], "new-name");
    let projects = browser.read("/projects");
    assert!(projects.says("new-name") && !projects.says("old/name"), "{}", projects.text());
}

#[test]
fn the_graph_of_a_project_and_of_a_name_is_drawn() {
    let home = Home::new();
    let mut agent = home.pump().project("demo").start();
    let one = agent.save("Lease", "See `src/queue.rs` for the lease.");
    let two = agent.save("Queue", "Look at `src/queue.rs` and `src/jobs.rs`.");
    agent.save("Alone", "Nothing else.");
    drop(agent);
    alter(&home, &relate(&one, &two, "mentions", 0.6));
    let browser = Browser::open(&home);
    let project = browser.read("/graph/project?project=demo");
    assert_eq!(project.body.matches("<a href=\"/graph/").count(), 3, "{}", project.body);
    assert!(project.says("mentions 0.60") && project.says("Alone"), "{}", project.text());
    let name = browser.read("/graph/entity?name=src%2Fqueue.rs&project=demo");
    assert!(name.says("Lease") && name.says("Queue") && !name.says("Alone"), "{}", name.text());
    assert!(name.says("src/jobs.rs 1 memory"), "what is named beside it: {}", name.text());
    assert_eq!(browser.get("/graph/project").status, 303);
}

/// Distilling itself is tested with a model in `distil.rs`; here its candidates are written into the store.
#[test]
fn candidates_are_decided_next_to_their_evidence() {
    let home = Home::new();
    let browser = Browser::open(&home);
    let page = browser.read("/inbox");
    assert!(page.says("Nothing waits for you") && page.says("Distilling is off"), "{}", page.text());
    for state in ["waiting", "accepted", "rejected"] {
        browser.read(&format!("/inbox?state={state}"));
    }
    assert_eq!(browser.get("/inbox?state=nonsense").status, 400);
    let refused = browser.post("/tidy", "/inbox/dnosuch", &[("do", "accept")]);
    assert_eq!(refused.status, 404, "{refused:?}");
    let value: Value = home.json(&["distil", "review"]);
    assert_eq!(value["candidates"], json!([]));
}
