//! The same operations as commands for people.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use crate::support::{Home, PROGRAM, Value, finish, json, wait_for};

const COMMANDS: &[&str] = &[
    "mcp", "daemon", "save", "search", "get", "timeline", "context", "graph", "stats", "health", "update",
    "delete", "restore", "pin", "unpin", "list", "sessions", "projects", "prompts", "events", "export",
    "import", "backup", "restore", "doctor", "model", "jobs", "worker", "reindex", "studio", "sql", "tui",
    "setup", "unsetup", "hook", "prompt", "uninstall", "upgrade", "completions", "tombstones", "help",
];

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
fn a_persons_changes_are_visible_to_agents() {
    let home = Home::new();
    let id = home.save("Written by hand", "A person typed the gannet note.");
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
fn every_command_prints_text_and_json() {
    let home = Home::new();
    let id = home.save("A memory", "With some content.");
    let mut agent = home.agent();
    agent.ok("mem_session_start", json!({"id": "sitting-one"}));
    agent.ok("mem_save_prompt", json!({"content": "Ask the ostrich"}));
    for (args, want) in [
        (&["search", "memory", "--project", "demo"][..], id.as_str()),
        (&["get", &id], "With some content."),
        (&["timeline", &id], id.as_str()),
        (&["context", "--project", "demo"], "A memory"),
        (&["stats"], env!("CARGO_PKG_VERSION")),
        (&["health"], "live"),
        (&["tombstones"], ""),
        (&["sessions", "--project", "demo"], "sitting-one"),
        (&["sessions", "show", "sitting-one"], "Ask the ostrich"),
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
    let by_beginning = home.json(&["sessions", "show", "sitting-o"]);
    assert_eq!(by_beginning["session"]["id"], "sitting-one", "{by_beginning}");
    let refused = home.run(&["sessions", "show", "no-such"]);
    assert!(refused.code() == 1 && refused.stderr.contains("no session no-such"), "{refused:?}");
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
        (0..40).map(|n| format!("Number {n}")).map(|title| home.save(&title, &title)).collect();
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
fn exit_codes_distinguish_errors_from_wrong_usage() {
    let home = Home::new();
    home.save("Something", "Stored.");
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
fn a_closed_standard_output_causes_no_panic() {
    let home = Home::new();
    for n in 0..50 {
        home.save(&format!("Line {n}"), &"long ".repeat(500));
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
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!stderr.contains("panicked"), "{stderr}");
}

#[test]
fn a_command_leaves_no_session_open() {
    let home = Home::new();
    let sessions = || home.json(&["sessions", "--all-projects"])["sessions"].as_array().unwrap().clone();
    let all_ended = |count: usize| {
        wait_for("the commands' sessions to be ended", || {
            let ended = sessions().into_iter().filter(|one| one["end_reason"] == "ended").count();
            (ended == count).then_some(())
        });
    };
    home.save("One", "By a person.");
    all_ended(1);
    assert_eq!(sessions().len(), 1, "to look on is no session");

    // The session of the agent in whose shell the command runs goes on.
    let mut command = home.command();
    command.args(["save", "Two", "In an agent's shell."]).env("CLAUDE_CODE_SESSION_ID", "theirs");
    finish(&mut command).success();
    home.save("Three", "By a person again.");
    all_ended(1);
    assert_eq!(sessions().len(), 2, "a person has one session a day and project");
    let theirs = sessions().into_iter().find(|one| one["id"] == "theirs").unwrap();
    assert_eq!(theirs["ended_at"], Value::Null, "{theirs}");
}

#[test]
fn dead_letters_are_listed_before_waiting_jobs() {
    let home = Home::with_config("[embeddings]\nprovider = \"none\"\n");
    let mut agent = home.agent();
    for n in 0..3 {
        agent.save(&format!("Waits {n}"), &format!("Text {n}."));
    }
    let listed = home.json(&["jobs"]);
    assert_eq!((&listed["queued"], &listed["dead"]), (&json!(3), &json!(0)), "{listed}");
    assert_eq!(listed["jobs"], json!([]), "`jobs` are those that were given up, as ever: {listed}");
    assert_eq!(listed["waiting"].as_array().map(Vec::len), Some(3), "{listed}");
    assert_eq!(listed["waiting"][0]["state"], "queued", "{listed}");
    let shown = home.run(&["jobs"]);
    assert!(shown.stderr.contains("3 wait"), "{shown:?}");
    let shown = shown.success();
    assert!(shown.lines().count() == 3 && shown.contains("Waits 2") && shown.contains("queued"), "{shown}");
}

#[test]
fn an_explained_search_names_its_hits() {
    let home = Home::new();
    let id = home.save("The heron stands", "In the reeds.");
    for query in ["heron", "the"] {
        let shown = home.run(&["search", query, "--explain", "--project", "demo"]).success();
        assert!(!shown.contains("-0"), "{query}: {shown}");
        if query == "heron" {
            assert!(shown.contains(&id) && shown.contains("The heron stands"), "{shown}");
        }
    }
}

#[test]
fn a_terminal_of_unknown_size_still_shows_text() {
    let home = Home::new();
    home.save("Whole words", "First.");
    let folder = home.folder("seen");
    let seen = folder.join("seen");
    let inside =
        format!("stty rows 0 cols 0; '{PROGRAM}' --home '{}' list --project demo", home.data().display());
    let mut script = Command::new("script");
    script.args(["--quiet", "--return", "--command", &inside]).arg(&seen);
    script.env("TERM", "xterm").env_remove("COLUMNS").env_remove("LINES");
    finish(&mut script).success();
    let shown = String::from_utf8_lossy(&fs::read(&seen).unwrap()).into_owned();
    assert!(shown.contains("Whole words"), "{shown}");
    assert!(
        shown.lines().filter(|line| line.contains('│')).all(|line| line.trim_end().chars().count() <= 80),
        "{shown}"
    );
}

/// The commands of the README, such as `model install`: those of its examples and of its table.
fn readme_commands() -> BTreeSet<Vec<&'static str>> {
    let readme = include_str!("../../README.md");
    let examples = readme.lines().filter_map(|line| line.strip_prefix("    cerebro "));
    let section =
        readme.split("## More commands").nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap();
    let rows = section.lines().filter(|line| line.starts_with('|'));
    let named = rows.flat_map(|row| row.split('`').skip(1).step_by(2));
    let is_name = |word: &&str| word.bytes().all(|byte| byte.is_ascii_lowercase());
    examples.chain(named).map(|line| line.split_whitespace().take_while(is_name).collect()).collect()
}

#[test]
fn every_command_of_the_readme_exists() {
    let home = Home::new();
    let commands = readme_commands();
    assert!(commands.len() > 30, "{commands:?}");
    for mut command in commands {
        command.push("--help");
        home.run(&command).success();
    }
}
