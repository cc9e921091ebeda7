//! The same operations as commands for people.

use crate::support::{Home, Value, json};

const COMMANDS: &[&str] = &[
    "mcp", "daemon", "save", "search", "get", "timeline", "context", "graph", "stats", "update", "delete",
    "restore", "pin", "unpin", "list", "sessions", "projects", "prompts", "events", "export", "import",
    "backup", "restore", "doctor", "model", "jobs", "worker", "reindex", "studio", "sql", "tui", "setup",
    "unsetup", "hook", "prompt", "uninstall", "upgrade", "completions", "help",
];

/// Saves through the command line; gives the id.
fn save(home: &Home, title: &str, content: &str) -> String {
    let saved = home.json(&["save", title, content, "--project", "demo"]);
    saved["id"].as_str().unwrap_or_else(|| panic!("no id in {saved}")).to_owned()
}

#[test]
fn every_command_has_help() {
    let home = Home::new();
    let all = home.run(&["--help"]).success();
    for command in COMMANDS {
        assert!(all.contains(command), "{command} is not in: {all}");
        let help = home.run(&["help", command]).success();
        assert!(help.trim().lines().count() >= 2, "{command}: {help}");
    }
    for action in ["start", "stop", "status", "logs", "install", "uninstall"] {
        let help = home.run(&["daemon", action, "--help"]).success();
        assert!(!help.trim().is_empty(), "daemon {action}");
    }
    let version = home.run(&["--version"]).success();
    assert!(version.contains(env!("CARGO_PKG_VERSION")), "{version}");
    assert_eq!(home.daemons(), Vec::<u32>::new(), "help started a daemon");
}

#[test]
fn what_a_person_does_an_agent_sees() {
    let home = Home::new();
    let id = save(&home, "Written by hand", "A person typed the gannet note.");
    let mut agent = home.agent();
    assert_eq!(agent.search("gannet"), [id.clone()]);
    let by_agent = agent.save("Written by an agent", "An agent typed the cormorant note.");
    let found = home.json(&["search", "cormorant", "--project", "demo"]);
    assert_eq!(found["hits"][0]["id"], by_agent, "{found}");

    let updated = home.json(&["update", &id, "--title", "Renamed by hand"]);
    assert_eq!(updated["revision"], 2, "{updated}");
    assert_eq!(agent.get(&id)["title"], "Renamed by hand");
    let whole = home.json(&["get", &id, "--history"]);
    assert!(whole.to_string().contains("Written by hand"), "{whole}");

    let deleted = home.json(&["delete", &id]);
    assert_eq!(deleted["outcome"], "deleted", "{deleted}");
    assert_eq!(agent.search("gannet"), Vec::<String>::new());
    home.json(&["restore", &id]);
    assert_eq!(agent.search("gannet"), [id.clone()]);
    let purged = home.json(&["delete", &id, "--hard", "--yes"]);
    assert_eq!(purged["outcome"], "purged", "{purged}");
    assert!(!home.export_text().contains("gannet"));
}

#[test]
fn every_command_speaks_json_and_words() {
    let home = Home::new();
    let id = save(&home, "A memory", "With some content.");
    let mut agent = home.agent();
    agent.ok("mem_session_start", json!({"id": "sitting-one"}));
    agent.ok("mem_save_prompt", json!({"content": "Ask the ostrich"}));
    for (args, want) in [
        (&["search", "memory", "--project", "demo"][..], id.as_str()),
        (&["get", &id], "With some content."),
        (&["timeline", &id], id.as_str()),
        (&["context", "--project", "demo"], "A memory"),
        (&["stats"], env!("CARGO_PKG_VERSION")),
        (&["sessions", "--project", "demo"], "sitting-one"),
        (&["projects"], "demo"),
        (&["prompts", "--project", "demo"], "Ask the ostrich"),
        (&["pin", &id], id.as_str()),
        (&["unpin", &id], id.as_str()),
        (&["daemon", "status"], env!("CARGO_PKG_VERSION")),
    ] {
        let json: Value = home.json(args);
        assert!(json.is_object() || json.is_array(), "{args:?}: {json}");
        assert!(json.to_string().contains(want), "{args:?} --json lacks {want}: {json}");
        let words = home.run(args).success();
        assert!(words.contains(want), "{args:?} lacks {want}: {words}");
        assert!(!words.contains('\u{1b}'), "{args:?} colours a pipe: {words:?}");
        for frame in ['│', '┌', '╭', '├', '═'] {
            assert!(!words.contains(frame), "{args:?} draws a table on a pipe: {words}");
        }
    }
}

#[test]
fn content_may_come_from_standard_input() {
    use std::io::Write;
    use std::process::Stdio;
    let home = Home::new();
    let mut command = home.command();
    command.args(["save", "From a pipe", "-", "--project", "demo", "--json"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all("The kiwi came through a pipe.\n".as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let saved: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {output:?}"));
    let whole = home.json(&["get", saved["id"].as_str().unwrap()]);
    assert!(whole["content"].as_str().is_some_and(|text| text.starts_with("The kiwi came")), "{whole}");
}

#[test]
fn a_unique_beginning_of_an_id_is_enough() {
    let home = Home::new();
    let ids: Vec<String> =
        (0..40).map(|n| format!("Number {n}")).map(|title| save(&home, &title, &title)).collect();
    let id = &ids[0];
    let unique =
        (1..=12).find(|n| ids.iter().filter(|other| other.starts_with(&id[..*n])).count() == 1).unwrap();
    assert_eq!(home.json(&["get", &id[..unique]])["id"], **id);
    // Forty ids on 26 first letters: two of them share one.
    let shared = ids.iter().find(|id| ids.iter().filter(|other| other[..1] == id[..1]).count() > 1).unwrap();
    let refused = home.run(&["get", &shared[..1]]);
    assert_ne!(refused.code(), 0, "{refused:?}");
    assert!(refused.stderr.contains(shared.as_str()), "the candidates are not named: {refused:?}");
}

#[test]
fn exit_codes_tell_users_faults_from_usage() {
    let home = Home::new();
    save(&home, "Something", "Stored.");
    for args in [
        &["get", "zzzzzzzzzzzz"][..],
        &["get", "no id"],
        &["restore", "zzzzzzzzzzzz"],
        &["pin", "zzzzzzzzzzzz"],
    ] {
        let finished = home.run(args);
        assert_eq!(finished.code(), 1, "{args:?}: {finished:?}");
        assert!(finished.stderr.contains(args[1]) && finished.stdout.is_empty(), "{args:?}: {finished:?}");
    }
    for args in [&["no-such-command"][..], &["get"], &["search", "x", "--no-such-flag"], &["daemon", "dance"]]
    {
        let finished = home.run(args);
        assert_eq!(finished.code(), 2, "{args:?}: {finished:?}");
        assert!(!finished.stderr.is_empty(), "{args:?}: {finished:?}");
    }
    let nothing = home.run(&["search", "quasar", "--project", "demo"]);
    assert_eq!(nothing.code(), 0, "finding nothing is no fault: {nothing:?}");
}

#[test]
fn a_reader_that_leaves_early_is_no_panic() {
    let home = Home::new();
    for n in 0..50 {
        save(&home, &format!("Line {n}"), &"long ".repeat(500));
    }
    let mut child = home
        .command()
        .arg("export")
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!said.contains("panicked"), "{said}");
}
