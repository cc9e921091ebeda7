//! What a person meets at the edges of the command line: refusals that name what is wrong, and answers that
//! say how things are now.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::support::{Home, PROGRAM, Value, json, wait_for};

fn save(home: &Home, title: &str, content: &str) -> String {
    home.json(&["save", title, content, "--project", "demo"])["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_backup_that_is_not_there_is_named_and_not_the_daemon() {
    let home = Home::new();
    home.agent().save("One", "A daemon runs.");
    for args in [&["restore", "./none.surql.zst"][..], &["backup", "restore", "none.surql.zst"]] {
        let refused = home.run(args);
        assert_eq!(refused.code(), 1, "{refused:?}");
        let said = &refused.stderr;
        assert!(said.contains("none.surql.zst") && !said.contains("daemon"), "{said}");
    }
}

#[test]
fn a_number_beyond_its_bound_is_refused_and_the_bound_is_named() {
    let home = Home::new();
    for (args, bound) in [
        (&["list", "--limit", "501"][..], "1..=500"),
        (&["sessions", "--limit", "51"], "1..=50"),
        (&["prompts", "--limit", "0"], "1..=50"),
        (&["events", "--limit", "501"], "1..=500"),
        (&["search", "x", "--limit", "51"], "1..=50"),
        (&["context", "--limit", "51"], "1..=50"),
        (&["context", "--max-bytes", "65537"], "1..=65536"),
        (&["timeline", "x", "--before", "51"], "0..=50"),
        (&["timeline", "x", "--after", "51"], "0..=50"),
        (&["get", "x", "--max-bytes", "255"], "256..=262144"),
        (&["graph", "x", "--limit", "501"], "1..="),
        (&["graph", "x", "--depth", "0"], "1..="),
        (&["sql", "RETURN 1", "--limit", "10001"], "1..=10000"),
        (&["sql", "RETURN 1", "--timeout", "61"], "1..=60"),
        (&["jobs", "list", "--limit", "501"], "1..=500"),
    ] {
        let refused = home.run(args);
        assert_eq!(refused.code(), 2, "{args:?}: {refused:?}");
        let said = &refused.stderr;
        assert!(said.contains(bound) && said.contains(args[args.len() - 1]), "{args:?}: {said}");
    }
    save(&home, "One", "First.");
    home.run(&["list", "--limit", "500"]).success();
    home.run(&["search", "first", "--limit", "50"]).success();
}

#[test]
fn a_broken_configuration_is_told_at_once_and_is_nothing_to_try_again() {
    let home = Home::with_config("idle_exit = \"1s\"\nidel_exit = 5\n");
    let mut agent = home.pump().silent();
    let begun = Instant::now();
    let asked = agent.send("mem_stats", json!({}));
    let told = agent.reply(asked);
    assert!(begun.elapsed() < Duration::from_secs(3), "told after {:?}", begun.elapsed());
    assert!(told.is_error, "{told:?}");
    told.assert_in_both(&["config.toml", "line 2", "idel_exit"]);
    assert_eq!(told["retryable"], json!(false), "{told:?}");
    assert!(!told.text.contains("may be repeated"), "{told:?}");
    // The same process serves as soon as the file is mended.
    fs::write(home.data().join("config.toml"), "").unwrap();
    agent.initialize("2025-11-25");
    agent.save("One", "Saved after all.");
}

#[test]
fn a_database_without_its_password_is_told_at_once() {
    let home = Home::with_config("[remote]\nurl = \"ws://127.0.0.1:9\"\n");
    let begun = Instant::now();
    let refused = home.run(&["list"]);
    assert!(begun.elapsed() < Duration::from_secs(3), "told after {:?}", begun.elapsed());
    assert_eq!(refused.code(), 1, "{refused:?}");
    assert!(refused.stderr.contains("CEREBRO_DB_PASSWORD"), "{refused:?}");
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
    save(&home, "One", "By a person.");
    all_ended(1);
    assert_eq!(sessions().len(), 1, "to look on is no session");

    // The session of an agent in whose shell the command runs goes on.
    let mut command = home.command();
    command.args(["save", "Two", "In an agent's shell."]).env("CLAUDE_CODE_SESSION_ID", "theirs");
    crate::support::finish(&mut command).success();
    save(&home, "Three", "By a person again.");
    all_ended(2);
    let theirs = sessions().into_iter().find(|one| one["id"] == "theirs").unwrap();
    assert_eq!(theirs["ended_at"], Value::Null, "{theirs}");
}

#[test]
fn nothing_is_destroyed_unasked() {
    let home = Home::new();
    let id = save(&home, "Kept", "The ibis stays.");
    for args in [&["delete", &id, "--hard"][..], &["projects", "merge", "demo", "other"]] {
        let refused = home.run(args);
        assert_eq!(refused.code(), 2, "{args:?}: {refused:?}");
        assert!(refused.stderr.contains("--yes"), "{args:?}: {refused:?}");
    }
    assert_eq!(home.json(&["get", &id])["project"], "demo");
    assert_eq!(home.json(&["delete", &id, "--hard", "--yes"])["outcome"], "purged");
    assert!(!home.export_text().contains("ibis"));
}

#[test]
fn a_project_that_is_not_there_cannot_be_merged() {
    let home = Home::new();
    save(&home, "One", "First.");
    let refused = home.run(&["projects", "merge", "demmo", "demo", "--yes"]);
    assert_eq!(refused.code(), 1, "{refused:?}");
    assert!(refused.stderr.contains("demmo") && refused.stderr.contains("cerebro projects"), "{refused:?}");
    // A new name for a project is no mistake.
    assert_eq!(home.json(&["projects", "merge", "demo", "new/name", "--yes"])["memories"], 1);
}

#[test]
fn jobs_that_wait_are_listed_after_those_that_were_given_up() {
    let home = Home::with_config("[embeddings]\nprovider = \"none\"\n");
    let mut agent = home.agent();
    for n in 0..3 {
        agent.save(&format!("Waits {n}"), &format!("Text {n}."));
    }
    let told = home.json(&["jobs"]);
    assert_eq!((&told["queued"], &told["dead"]), (&json!(3), &json!(0)), "{told}");
    assert_eq!(told["jobs"], json!([]), "`jobs` are those that were given up, as ever: {told}");
    assert_eq!(told["waiting"].as_array().map(Vec::len), Some(3), "{told}");
    assert_eq!(told["waiting"][0]["state"], "queued", "{told}");
    let shown = home.run(&["jobs"]);
    assert!(shown.stderr.contains("3 wait"), "{shown:?}");
    let shown = shown.success();
    assert!(shown.lines().count() == 3 && shown.contains("Waits 2") && shown.contains("queued"), "{shown}");
}

#[test]
fn another_database_than_the_running_daemons_is_refused() {
    let home = Home::new();
    home.agent().save("One", "In the home.");
    let url = "ws://127.0.0.1:9";
    for args in [&["list", "--db", url][..], &["mcp", "--db", url], &["stats", "--db", url]] {
        let refused = home.run(args);
        assert_eq!(refused.code(), 1, "{args:?}: {refused:?}");
        let said = &refused.stderr;
        assert!(said.contains(url) && said.contains("daemon stop"), "{args:?}: {said}");
    }
    home.run(&["daemon", "stop"]).success();
    for bad in ["nonsense", "ftp://x", "ws://user:secret@x"] {
        let refused = home.run(&["list", "--db", bad]);
        assert_eq!(refused.code(), 1, "{refused:?}");
        let said = &refused.stderr;
        assert!(said.contains("--db") && !said.contains("config.toml"), "{bad}: {said}");
        assert!(!said.contains("secret"), "{said}");
    }
    assert_eq!(home.daemons(), Vec::<u32>::new(), "a daemon was started for nothing");
}

#[test]
fn a_log_level_that_makes_no_sense_is_one_plain_sentence() {
    let home = Home::new();
    save(&home, "One", "First.");
    let said = |level: &str| {
        let mut command = home.command();
        let done =
            crate::support::finish(command.args(["list", "--project", "demo"]).env("CEREBRO_LOG", level));
        assert_eq!(done.code(), 0, "{done:?}");
        assert!(!done.stderr.contains('\u{1b}'), "{done:?}");
        done.stderr
    };
    for level in ["nonsense", "a=filter=like=none", "cerebro=nonsense", "warn,oops"] {
        let said = said(level);
        assert_eq!(said.lines().count(), 1, "{said:?}");
        assert!(said.contains("CEREBRO_LOG") && said.contains("left aside"), "{said:?}");
    }
    for level in ["trace", "debug", "off", "tantivy=trace", "5"] {
        assert!(!said(level).contains("trace"), "{level}");
    }
}

#[test]
fn an_explained_search_names_its_hits() {
    let home = Home::new();
    let id = save(&home, "The heron stands", "In the reeds.");
    for query in ["heron", "the"] {
        let shown = home.run(&["search", query, "--explain", "--project", "demo"]).success();
        assert!(!shown.contains("-0"), "{query}: {shown}");
        if query == "heron" {
            assert!(shown.contains(&id) && shown.contains("The heron stands"), "{shown}");
        }
    }
}

#[test]
fn a_query_without_a_value_says_so() {
    let home = Home::new();
    let done = home.run(&["sql", "SELEC"]);
    assert_eq!(done.code(), 0, "{done:?}");
    assert!(done.stdout.is_empty() && done.stderr.contains("NONE"), "{done:?}");
}

#[test]
fn a_terminal_that_does_not_know_its_size_still_shows_words() {
    let home = Home::new();
    save(&home, "Whole words", "First.");
    let folder = home.folder("seen");
    let seen = folder.join("seen");
    let inside =
        format!("stty rows 0 cols 0; '{PROGRAM}' --home '{}' list --project demo", home.data().display());
    let mut script = Command::new("script");
    script.args(["--quiet", "--return", "--command", &inside]).arg(&seen);
    script.env("TERM", "xterm").env_remove("COLUMNS").env_remove("LINES");
    crate::support::finish(&mut script).success();
    let shown = String::from_utf8_lossy(&fs::read(&seen).unwrap()).into_owned();
    assert!(shown.contains("Whole words"), "{shown}");
    assert!(
        shown.lines().filter(|line| line.contains('│')).all(|line| line.trim_end().chars().count() <= 80),
        "{shown}"
    );
}
