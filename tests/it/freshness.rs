//! Memories about code: each agent is shown what no longer holds in its own checkout.

use std::fs;
use std::path::Path;

use crate::support::{Agent, Home, Repository, Value, finish, json, wait_for, write};

const CODE: &str = "pub fn parse_line(text: &str) -> usize {\n    text.len()\n}\n\npub fn other() {}\n";

/// A repository with one source file, its origin named so that every checkout of it is one project.
fn repository(home: &Home, name: &str) -> Repository {
    let repository = Repository::init(&home.folder(name));
    repository.origin("https://example.org/team/tool.git");
    write(repository.path(), "src/line.rs", CODE);
    repository
}

fn at(home: &Home, folder: &Path) -> Agent {
    home.pump().cwd(folder).start()
}

/// Saves a memory about code, and waits until it has its anchors.
fn save(agent: &mut Agent, title: &str, content: &str, anchors: usize) -> String {
    let id = agent.save(title, content);
    wait_for("the memory is tied to code", || {
        (agent.get(&id)["anchors"].as_array().map_or(0, Vec::len) == anchors).then_some(())
    });
    id
}

fn hit(agent: &mut Agent, query: &str, id: &str) -> Value {
    let found = agent.ok("mem_search", json!({"query": query}));
    found.list("hits").iter().find(|hit| hit["id"] == id).cloned().unwrap_or_else(|| panic!("{found:?}"))
}

/// Searches until the hit has this mark. A busy machine may not determine it within the five milliseconds of one search.
fn wait_for_mark(agent: &mut Agent, query: &str, id: &str, mark: Option<&str>) {
    wait_for("the mark of the hit", || (hit(agent, query, id)["stale"].as_str() == mark).then_some(()));
}

#[test]
fn a_hit_reports_changes_of_the_code_that_it_names() {
    let home = Home::new();
    let repository = repository(&home, "main");
    let mut agent = at(&home, repository.path());
    let about = "parse_line in src/line.rs counts bytes, not characters.";
    let id = save(&mut agent, "Bytes are counted", about, 1);
    let whole = agent.get(&id);
    assert_eq!(
        whole["anchors"][0],
        json!({"path": "src/line.rs", "symbol": "parse_line", "verdict": "fresh"})
    );
    assert_eq!(hit(&mut agent, "counted bytes", &id)["stale"], Value::Null);

    write(repository.path(), "src/line.rs", CODE.replace("pub fn other() {}", "pub fn other() { 1; }"));
    assert_eq!(agent.get(&id)["stale"], Value::Null, "another function changed");
    write(repository.path(), "src/line.rs", CODE.replace("text.len()", "text.chars().count()"));
    wait_for_mark(&mut agent, "counted bytes", &id, Some("changed src/line.rs:parse_line"));
    let found = wait_for("the mark of the hit", || {
        let found = agent.ok("mem_search", json!({"query": "counted bytes"}));
        found.list("hits")[0]["stale"].is_string().then_some(found)
    });
    found.assert_in_both(&["changed src/line.rs:parse_line"]);
    agent.get(&id).assert_in_both(&["changed"]);

    write(repository.path(), "src/line.rs", CODE);
    wait_for_mark(&mut agent, "counted bytes", &id, None);
    fs::remove_file(repository.path().join("src/line.rs")).unwrap();
    wait_for_mark(&mut agent, "counted bytes", &id, Some("gone src/line.rs:parse_line"));
}

#[test]
fn each_agent_is_shown_its_own_checkout() {
    let home = Home::new();
    let main = repository(&home, "main");
    let other = home.folder("trees").join("branch");
    main.worktree(&other);
    write(&other, "src/line.rs", CODE.replace("text.len()", "0"));
    let mut here = at(&home, &main.path().join("src"));
    let mut there = at(&home, &other);
    let id = save(&mut here, "Where lines are read", "See `parse_line` of src/line.rs.", 1);
    wait_for_mark(&mut there, "lines read", &id, Some("changed src/line.rs:parse_line"));
    assert_eq!(hit(&mut here, "lines read", &id)["stale"], Value::Null);
    // An agent of another project has none of these files, and gets no marks.
    let mut stranger = at(&home, &home.folder("stranger"));
    let found = stranger.ok("mem_search", json!({"query": "lines read", "all_projects": true}));
    assert_eq!(found.list("hits")[0]["stale"], Value::Null, "{found:?}");
}

#[test]
fn an_anchor_to_a_file_is_fresh_or_gone_and_verifying_renews_it() {
    let home = Home::new();
    let repository = repository(&home, "main");
    write(repository.path(), "docs/plan.md", "First.");
    let mut agent = at(&home, repository.path());
    let plan = save(&mut agent, "The plan", "It stands in docs/plan.md.", 1);
    let code = save(&mut agent, "The parser", "`parse_line` in src/line.rs is fast.", 1);
    write(repository.path(), "docs/plan.md", "Second.");
    write(repository.path(), "src/line.rs", CODE.replace("text.len()", "text.bytes().count()"));
    wait_for_mark(&mut agent, "parser fast", &code, Some("changed src/line.rs:parse_line"));
    assert_eq!(hit(&mut agent, "plan", &plan)["stale"], Value::Null);
    fs::remove_file(repository.path().join("docs/plan.md")).unwrap();
    wait_for_mark(&mut agent, "plan", &plan, Some("gone docs/plan.md"));

    // Whoever changes only its tags does not say that it still fits, wherever he is.
    agent.ok("mem_update", json!({"id": code, "tags": ["parser"]}));
    home.json(&["update", &code, "--tag", "speed"]);
    let tagged = agent.get(&code);
    assert_eq!(
        (tagged.number("revision"), tagged.str("stale")),
        (3, "changed src/line.rs:parse_line"),
        "{tagged:?}"
    );

    let verified = agent.ok("mem_update", json!({"id": code, "verified": true}));
    assert_eq!((verified.str("outcome"), verified.number("verified")), ("unchanged", 1));
    wait_for_mark(&mut agent, "parser fast", &code, None);
    assert_eq!(agent.get(&code).number("revision"), 3);
    agent.ok("mem_update", json!({"id": plan, "content": "It is all in the wiki now."}));
    wait_for("the new text speaks of no code", || {
        agent.get(&plan)["anchors"].as_array().is_none().then_some(())
    });
}

#[test]
fn contexts_and_commands_mark_what_is_stale_in_the_callers_folder() {
    let home = Home::new();
    let repository = repository(&home, "main");
    let mut agent = at(&home, repository.path());
    let id = save(&mut agent, "Bytes are counted", "parse_line in src/line.rs counts bytes.", 1);
    write(repository.path(), "src/line.rs", CODE.replace("text.len()", "text.chars().count()"));
    let mark = "stale changed src/line.rs:parse_line";
    wait_for("the mark in the context", || {
        agent.ok("mem_context", json!({})).text.contains(mark).then_some(())
    });
    let here = |words: &[&str]| finish(home.command().current_dir(repository.path()).args(words));
    wait_for("the mark in a command's context", || here(&["context"]).stdout.contains(mark).then_some(()));
    let marked = format!("{id} is stale here: changed src/line.rs:parse_line");
    wait_for("the mark of a command's hit", || {
        here(&["search", "bytes counted"]).stderr.contains(&marked).then_some(())
    });
    let whole = here(&["get", &id]);
    assert!(whole.stdout.contains("stale\tchanged src/line.rs:parse_line"), "{whole:?}");
    assert!(whole.stdout.contains("code\tchanged src/line.rs:parse_line"), "{whole:?}");
    let health = here(&["health", "--json"]).json();
    assert_eq!(health["health"]["stale"], json!({ "memories": 1, "of": 1, "ids": [id] }), "{health}");
    // A folder without the code gets no marks, and a verified memory is no longer stale.
    assert!(!home.run(&["context", "--project", "team/tool"]).success().contains("stale changed"));
    assert_eq!(here(&["update", &id, "--verified", "--json"]).json()["verified"], 1);
    assert!(!here(&["context"]).success().contains("stale changed"));
}

#[test]
fn a_purge_removes_the_anchors() {
    let home = Home::with_config("agent_hard_delete = true\n");
    let repository = repository(&home, "main");
    let mut agent = at(&home, repository.path());
    let id = save(&mut agent, "To be purged", "`parse_line` in src/line.rs.", 1);
    let count = || home.json(&["sql", "SELECT VALUE memory FROM anchor"]).to_string();
    assert!(count().contains(&id), "{}", count());
    agent.ok("mem_delete", json!({"id": id, "hard": true}));
    assert!(!count().contains(&id), "{}", count());
}
