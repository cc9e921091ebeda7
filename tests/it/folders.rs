//! Folders that do not answer hold up those who work in them, and nobody else.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::support::{Agent, Home, Repository, finish, json, wait_for};

/// How long an answer may take while others work in a folder that hangs. A daemon that waits with them never answers.
const PATIENCE: Duration = Duration::from_secs(20);
/// More than the daemon has threads to serve with.
const CROWD: usize = 6;

fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success(), "{}", path.display());
}

/// A folder whose `.git` is a named pipe without a writer: opening it blocks for ever.
fn trap(home: &Home) -> PathBuf {
    let folder = home.folder("trap");
    pipe(&folder.join(".git"));
    folder
}

fn begin(agent: &mut Agent) -> u64 {
    let client = json!({"name": "trapped", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    let id = agent.send_request("initialize", params);
    agent.send_raw(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    id
}

fn assert_served(agent: &mut Agent, n: usize) {
    let call =
        agent.send("mem_save", json!({"title": format!("Meanwhile {n}"), "content": format!("Number {n}.")}));
    let result = agent.answer_within(call, PATIENCE).unwrap_or_else(|e| panic!("{e:?}"));
    assert_ne!(result["isError"], true, "{result}");
}

#[test]
fn agents_in_a_folder_that_hangs_do_not_hold_up_the_others() {
    let home = Home::new();
    let mut other = home.agent();
    other.save("Before", "Anybody came.");
    let folder = trap(&home);
    let mut trapped: Vec<Agent> = (0..CROWD).map(|_| home.pump().cwd(&folder).silent()).collect();
    let greeted: Vec<u64> = trapped.iter_mut().map(begin).collect();
    for n in 0..20 {
        assert_served(&mut other, n);
    }
    for (agent, id) in trapped.iter_mut().zip(greeted) {
        agent.answer_within(id, PATIENCE).unwrap_or_else(|e| panic!("{e:?}"));
        let project = agent.ok("mem_context", json!({})).str("project").to_owned();
        assert!(project.starts_with("trap-"), "{project}");
    }
    // Including a person's command in that folder.
    finish(home.command().current_dir(&folder).arg("list")).success();
}

#[test]
fn sessions_in_a_folder_that_hangs_do_not_hold_up_the_others() {
    let home = Home::new();
    let mut other = home.agent();
    let folder = trap(&home);
    let mut caller = home.agent();
    let started: Vec<u64> = (0..CROWD)
        .map(|n| caller.send("mem_session_start", json!({"id": format!("s{n}"), "directory": folder})))
        .collect();
    for n in 0..20 {
        assert_served(&mut other, n);
    }
    for id in started {
        let result = caller.answer_within(id, PATIENCE).unwrap_or_else(|e| panic!("{e:?}"));
        assert_ne!(result["isError"], true, "{result}");
    }
}

#[test]
fn a_pipe_for_a_configuration_is_not_read() {
    let home = Home::new();
    let repository = Repository::init(&home.folder("My Tool"));
    repository.origin("https://example.org/team/thing.git");
    fs::remove_file(repository.path().join(".git/config")).unwrap();
    pipe(&repository.path().join(".git/config"));
    let mut agent = home.pump().cwd(repository.path()).silent();
    let id = begin(&mut agent);
    agent.answer_within(id, PATIENCE).unwrap_or_else(|e| panic!("{e:?}"));
    let project = agent.ok("mem_context", json!({})).str("project").to_owned();
    assert!(project.starts_with("my-tool-"), "{project}");
}

/// A repository with a file of code, an agent in it, and a memory that is tied to that code.
fn tied(home: &Home) -> (Repository, Agent, String) {
    let repository = Repository::init(&home.folder("tool"));
    fs::write(repository.path().join("line.rs"), "fn parse_line() {}\n").unwrap();
    let mut agent = home.pump().cwd(repository.path()).start();
    let id = agent.save("Lines", "`parse_line` in line.rs does nothing.");
    wait_for("the memory is tied to code", || {
        (agent.get(&id)["anchors"][0]["verdict"] == "fresh").then_some(())
    });
    (repository, agent, id)
}

/// The agent is answered, and so is another one meanwhile.
fn assert_all_served(home: &Home, agent: &mut Agent) {
    let mut other = home.agent();
    let asked: Vec<u64> = (0..CROWD).map(|_| agent.send("mem_search", json!({"query": "lines"}))).collect();
    for n in 0..5 {
        assert_served(&mut other, n);
    }
    for id in asked {
        let result = agent.answer_within(id, PATIENCE).unwrap_or_else(|e| panic!("{e:?}"));
        assert_eq!(result["structuredContent"]["hits"][0]["title"], "Lines", "{result}");
    }
}

#[test]
fn a_pipe_instead_of_code_is_not_read_and_no_verdict_on_it() {
    let home = Home::new();
    let (repository, mut agent, id) = tied(&home);
    fs::remove_file(repository.path().join("line.rs")).unwrap();
    pipe(&repository.path().join("line.rs"));
    assert_all_served(&home, &mut agent);
    let whole = agent.get(&id);
    assert_eq!((&whole["anchors"][0]["verdict"], &whole["stale"]), (&json!("unknown"), &json!(null)));
}

#[test]
fn a_folder_with_very_many_entries_is_never_listed() {
    let home = Home::new();
    let (repository, mut agent, id) = tied(&home);
    for n in 0..20_000 {
        fs::write(repository.path().join(format!("entry-{n}")), "").unwrap();
    }
    let mut late = home.pump().cwd(repository.path()).silent();
    let greeted = begin(&mut late);
    late.answer_within(greeted, PATIENCE).unwrap_or_else(|e| panic!("{e:?}"));
    assert_all_served(&home, &mut agent);
    assert_all_served(&home, &mut late);
    assert_eq!(late.get(&id)["anchors"][0]["verdict"], "fresh");
    finish(home.command().current_dir(repository.path()).args(["get", &id])).success();
}
