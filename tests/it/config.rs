//! `config.toml`, `--db` and the environment: a setting that cannot be used is named at once.

use std::fs;
use std::time::{Duration, Instant};

use crate::support::{Home, finish, json};

#[test]
fn a_setting_that_cannot_be_read_is_named() {
    for (config, word) in [
        ("dedup_window = \"soon\"\n", "dedup_window"),
        ("agent_hard_delete = \"perhaps\"\n", "agent_hard_delete"),
        ("idle_exit = [1]\n", "idle_exit"),
        ("no_such_setting = 1\n", "no_such_setting"),
        ("dedup_window = \n", "config.toml"),
    ] {
        let home = Home::with_config(config);
        let finished = home.run(&["stats"]);
        assert_ne!(finished.code(), 0, "{config:?}: {finished:?}");
        assert!(finished.stderr.contains("config.toml"), "{config:?}: {finished:?}");
        assert!(finished.stderr.contains(word), "{config:?}: {finished:?}");
    }
}

#[test]
fn a_broken_configuration_is_reported_at_once_and_not_retryable() {
    let home = Home::with_config("idle_exit = \"1s\"\nidel_exit = 5\n");
    let mut agent = home.pump().silent();
    let begun = Instant::now();
    let asked = agent.send("mem_stats", json!({}));
    let reply = agent.reply(asked);
    assert!(begun.elapsed() < Duration::from_secs(3), "reported after {:?}", begun.elapsed());
    assert!(reply.is_error, "{reply:?}");
    reply.assert_in_both(&["config.toml", "line 2", "idel_exit"]);
    assert_eq!(reply["retryable"], json!(false), "{reply:?}");
    assert!(!reply.text.contains("may be repeated"), "{reply:?}");
    // The same process serves as soon as the file is corrected.
    fs::write(home.data().join("config.toml"), "").unwrap();
    agent.initialize("2025-11-25");
    agent.save("One", "Saved after all.");
}

#[test]
fn a_database_without_its_password_is_reported_at_once() {
    let home = Home::with_config("[remote]\nurl = \"ws://127.0.0.1:9\"\n");
    let begun = Instant::now();
    let refused = home.run(&["list"]);
    assert!(begun.elapsed() < Duration::from_secs(3), "reported after {:?}", begun.elapsed());
    assert_eq!(refused.code(), 1, "{refused:?}");
    assert!(refused.stderr.contains("CEREBRO_DB_PASSWORD"), "{refused:?}");
}

#[test]
fn another_database_than_the_running_daemons_is_refused() {
    let home = Home::new();
    home.agent().save("One", "In the home.");
    let url = "ws://127.0.0.1:9";
    for args in [&["list", "--db", url][..], &["mcp", "--db", url], &["stats", "--db", url]] {
        let refused = home.run(args);
        assert_eq!(refused.code(), 1, "{args:?}: {refused:?}");
        let stderr = &refused.stderr;
        assert!(stderr.contains(url) && stderr.contains("daemon stop"), "{args:?}: {stderr}");
    }
    home.run(&["daemon", "stop"]).success();
    for bad in ["nonsense", "ftp://x", "ws://user:secret@x"] {
        let refused = home.run(&["list", "--db", bad]);
        assert_eq!(refused.code(), 1, "{refused:?}");
        let stderr = &refused.stderr;
        assert!(stderr.contains("--db") && !stderr.contains("config.toml"), "{bad}: {stderr}");
        assert!(!stderr.contains("secret"), "{stderr}");
    }
    assert_eq!(home.daemons(), Vec::<u32>::new(), "a daemon was started for nothing");
}

#[test]
fn an_invalid_log_level_is_reported_in_one_sentence() {
    let home = Home::new();
    home.run(&["save", "One", "First.", "--project", "demo"]).success();
    let log_line = |level: &str| {
        let mut command = home.command();
        let done = finish(command.args(["list", "--project", "demo"]).env("CEREBRO_LOG", level));
        assert_eq!(done.code(), 0, "{done:?}");
        assert!(!done.stderr.contains('\u{1b}'), "{done:?}");
        done.stderr
    };
    for level in ["nonsense", "a=filter=like=none", "cerebro=nonsense", "warn,oops"] {
        let line = log_line(level);
        assert_eq!(line.lines().count(), 1, "{line:?}");
        assert!(line.contains("CEREBRO_LOG") && line.contains("is ignored"), "{line:?}");
    }
    for level in ["trace", "debug", "off", "tantivy=trace", "5"] {
        assert!(!log_line(level).contains("trace"), "{level}");
    }
}
