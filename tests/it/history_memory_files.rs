//! With the user's consent, memory files of agents are documents for the other agents, as long as they exist.

use std::fs;
use std::os::unix::fs::symlink;

use crate::support::transcripts::Claude;
use crate::support::{Agent, Home, Value, json};

fn titles(agent: &mut Agent, query: &str) -> usize {
    agent.ok("mem_search", json!({ "query": query, "type": "document" })).list("hits").len()
}

fn papers(home: &Home) -> Vec<Value> {
    let listed = home.json(&["documents", "list", "--all-projects"]);
    let mut all = listed["documents"].as_array().unwrap().clone();
    all.retain(|document| document["loaded_by"] != json!([]));
    all
}

#[test]
fn memory_files_are_documents_of_other_agents_while_they_exist() {
    let home = Home::new();
    let own = home.work().join("CLAUDE.md");
    fs::write(&own, "# Rules\n\nThe puffin is deployed on Fridays.\n").unwrap();
    Claude::new("s-1", &home.work()).turn("Ask", "Answer.").write(&home);
    let everywhere = home.user().join(".claude/CLAUDE.md");
    fs::write(&everywhere, "# Me\n\nI like the razorbill style of commits.\n").unwrap();
    home.take_in();
    assert_eq!(papers(&home).len(), 0, "nobody said yes to them");

    let take_in = || home.json(&["history", "import", "--yes", "--since", "0", "--memory-files"]);
    take_in();
    let found = papers(&home);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found.iter().all(|paper| paper["loaded_by"] == json!(["claude-code"])), "{found:?}");
    let project = home.json(&["history", "show"])["sessions"][0]["project"].as_str().unwrap().to_owned();
    let mut codex = home.pump().project(&project).client("codex-mcp-client").start();
    let mut claude = home.pump().project(&project).client("claude-code").start();
    for query in ["puffin deployed Fridays", "razorbill style commits"] {
        assert_eq!((titles(&mut codex, query), titles(&mut claude, query)), (1, 0), "{query}");
    }
    let found = codex.ok("mem_search", json!({ "query": "puffin deployed Fridays" }));
    assert!(found["documents"].is_object(), "{found:?}");
    let found = claude.ok("mem_search", json!({ "query": "puffin deployed Fridays" }));
    assert!(found["documents"].is_null(), "it has that file already: {found:?}");
    assert!(!codex.ok("mem_context", json!({})).str("text").contains("puffin"));

    fs::write(&own, "# Rules\n\nThe puffin is deployed on Mondays.\n").unwrap();
    take_in();
    assert_eq!(titles(&mut codex, "puffin Mondays"), 1);
    fs::remove_file(&own).unwrap();
    home.json(&["documents", "forget", everywhere.to_str().unwrap(), "--yes"]);
    take_in();
    let left = papers(&home);
    assert_eq!((left.len(), &left[0]["removed"]), (1, &json!(true)), "{left:?}");
    assert_eq!(titles(&mut codex, "puffin Mondays"), 0);
    assert_eq!(titles(&mut codex, "razorbill style commits"), 0, "what was forgotten stays so");
}

#[test]
fn a_file_that_an_agent_loads_makes_no_other_one_a_strong_match() {
    let home = Home::new();
    let write = |name: &str, text: &str| fs::write(home.work().join(name), text).unwrap();
    write("CLAUDE.md", "The puffin ferry departs on Fridays at noon from the northern harbour.");
    write("GEMINI.md", "A puffin is a bird.");
    Claude::new("s-1", &home.work()).turn("Ask", "Answer.").write(&home);
    home.json(&["history", "import", "--yes", "--since", "0", "--memory-files"]);
    let project = home.json(&["history", "show"])["sessions"][0]["project"].as_str().unwrap().to_owned();
    let query = "puffin ferry departs Fridays noon northern harbour";
    for (client, is_strong) in [("codex-mcp-client", true), ("claude-code", false)] {
        let mut agent = home.pump().project(&project).client(client).start();
        let found = agent.ok("mem_search", json!({ "query": query, "type": "document" }));
        assert_eq!(found["match"] == "strong", is_strong, "{client}: {found:?}");
        let hint = agent.ok("mem_search", json!({ "query": query }));
        assert_eq!(hint["documents"].is_object(), is_strong, "{client}: {hint:?}");
    }
    // Nor is it counted where the agent would not be shown it either.
    let better = |client: &str| {
        let mut agent = home.pump().project("elsewhere").client(client).start();
        let found = agent.ok("mem_search", json!({ "query": query, "type": "document" }));
        found["elsewhere"][0]["hits"].as_u64().unwrap_or(0)
    };
    assert_eq!(better("codex-mcp-client"), better("claude-code") + 1);
}

#[test]
fn notes_on_a_project_are_found_in_it_alone() {
    let home = Home::new();
    Claude::new("s-1", &home.work()).turn("Ask", "Answer.").write(&home);
    for (folder, text) in [("-work", "The guillemot nests in June."), ("-gone", "The skua nests in May.")] {
        let notes = home.user().join(".claude/projects").join(folder).join("memory");
        fs::create_dir_all(&notes).unwrap();
        fs::write(notes.join("MEMORY.md"), text).unwrap();
    }
    home.json(&["history", "import", "--yes", "--since", "0", "--memory-files"]);
    let project = home.json(&["history", "show"])["sessions"][0]["project"].as_str().unwrap().to_owned();
    let found = |project: &str, query: &str| {
        titles(&mut home.pump().project(project).client("codex-mcp-client").start(), query)
    };
    assert_eq!((found(&project, "guillemot nests"), found("elsewhere", "guillemot nests")), (1, 0));
    assert_eq!(
        (found(&project, "skua"), found("elsewhere", "skua")),
        (0, 0),
        "of which project is not known"
    );
}

#[test]
fn who_loads_a_file_by_another_name_is_not_shown_it() {
    let home = Home::new();
    fs::write(home.work().join("AGENTS.md"), "# Rules\n\nThe puffin is deployed on Fridays.\n").unwrap();
    let own = home.user().join(".config/opencode");
    fs::create_dir_all(&own).unwrap();
    fs::write(own.join("AGENTS.md"), "# Me\n\nI like the razorbill style of commits.\n").unwrap();
    Claude::new("s-1", &home.work()).turn("Ask", "Answer.").write(&home);
    let take_in = || home.json(&["history", "import", "--yes", "--since", "0", "--memory-files"]);
    take_in();
    let project = home.json(&["history", "show"])["sessions"][0]["project"].as_str().unwrap().to_owned();
    let found =
        |client: &str, query: &str| titles(&mut home.pump().project(&project).client(client).start(), query);
    let (puffin, razorbill) = ("puffin deployed Fridays", "razorbill style commits");
    assert_eq!((found("claude-code", puffin), found("opencode", puffin)), (1, 0));
    assert_eq!((found("claude-code", razorbill), found("opencode", razorbill)), (1, 0));
    symlink("AGENTS.md", home.work().join("CLAUDE.md")).unwrap();
    fs::write(home.work().join("GEMINI.md"), "@AGENTS.md\n").unwrap();
    take_in();
    assert_eq!((found("claude-code", puffin), found("gemini-cli-mcp-client", puffin)), (0, 0));
    assert_eq!(found("qwen-code", puffin), 1);
}

#[test]
fn a_file_is_found_in_one_project_after_its_folder_got_another() {
    let home = Home::new();
    fs::write(home.work().join("CLAUDE.md"), "The puffin is deployed on Fridays.").unwrap();
    Claude::new("s-1", &home.work()).turn("Ask", "Answer.").write(&home);
    let projects = || {
        home.json(&["history", "import", "--yes", "--since", "0", "--memory-files"]);
        let found = papers(&home).into_iter().filter(|paper| paper["removed"] == false);
        found.map(|paper| paper["project"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(projects().len(), 1);
    let git = home.work().join(".git");
    fs::create_dir_all(&git).unwrap();
    fs::write(git.join("config"), "[remote \"origin\"]\n\turl = https://example.com/acme/ferry.git\n")
        .unwrap();
    fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    assert_eq!(projects(), ["acme/ferry"]);
}
