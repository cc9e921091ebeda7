//! What the command line refuses: each error names the value and the next step, and nothing is destroyed unasked.

use std::os::unix::fs::symlink;

use crate::support::{Home, write};

#[test]
fn a_missing_backup_is_named_before_the_daemon_is_asked() {
    let home = Home::new();
    home.agent().save("One", "A daemon runs.");
    let restores = [&["restore", "./none.surql.zst"][..], &["backup", "restore", "none.surql.zst"]];
    for args in restores.into_iter().chain([&["backup", "verify", "none.surql.zst"][..]]) {
        let refused = home.run(args);
        assert_eq!(refused.code(), 1, "{refused:?}");
        let stderr = &refused.stderr;
        assert!(stderr.contains("none.surql.zst") && !stderr.contains("daemon"), "{stderr}");
        assert!(stderr.contains("`cerebro backup list`"), "{stderr}");
    }
}

#[test]
fn a_number_beyond_its_bound_is_refused_and_the_bound_is_named() {
    let home = Home::new();
    for (args, bound) in [
        (&["list", "--limit", "501"][..], "from 1 to 500"),
        (&["sessions", "--limit", "51"], "from 1 to 50"),
        (&["prompts", "--limit", "0"], "from 1 to 50"),
        (&["events", "--limit", "501"], "from 1 to 500"),
        (&["search", "x", "--limit", "51"], "from 1 to 50"),
        (&["context", "--limit", "51"], "from 1 to 50"),
        (&["context", "--max-bytes", "65537"], "from 1 to 65536"),
        (&["timeline", "x", "--before", "51"], "from 0 to 50"),
        (&["timeline", "x", "--after", "51"], "from 0 to 50"),
        (&["get", "x", "--max-bytes", "255"], "from 256 to 262144"),
        (&["graph", "x", "--limit", "201"], "from 1 to 200"),
        (&["graph", "x", "--depth", "5"], "from 1 to 4"),
        (&["sql", "RETURN 1", "--limit", "10001"], "from 1 to 10000"),
        (&["sql", "RETURN 1", "--timeout", "61"], "from 1 to 60"),
        (&["jobs", "list", "--limit", "501"], "from 1 to 500"),
        (&["jobs", "list", "--limit", "many"], "from 1 to 500"),
    ] {
        let refused = home.run(args);
        assert_eq!(refused.code(), 2, "{args:?}: {refused:?}");
        let stderr = &refused.stderr;
        assert!(stderr.contains(bound) && stderr.contains(args[args.len() - 1]), "{args:?}: {stderr}");
    }
    home.save("One", "First.");
    home.run(&["list", "--limit", "500"]).success();
    home.run(&["search", "first", "--limit", "50"]).success();
}

#[test]
fn a_memory_without_content_is_refused_with_what_to_do() {
    let home = Home::new();
    for args in [&["save", "A title"][..], &["save", "A title", "-"]] {
        let refused = home.run(args);
        assert_eq!(refused.code(), 2, "{refused:?}");
        assert!(refused.stderr.contains("standard input is empty"), "{refused:?}");
    }
}

#[test]
fn nothing_is_destroyed_without_confirmation() {
    let home = Home::new();
    let id = home.save("Kept", "The ibis stays.");
    let destroying = [
        &["delete", &id, "--hard"][..],
        &["projects", "merge", "demo", "other"],
        &["tombstones", "--forget", &id],
    ];
    for args in destroying {
        let refused = home.run(args);
        assert_eq!(refused.code(), 2, "{args:?}: {refused:?}");
        assert!(refused.stderr.contains("--yes"), "{args:?}: {refused:?}");
    }
    assert_eq!(home.json(&["get", &id])["project"], "demo");
    assert_eq!(home.json(&["delete", &id, "--hard", "--yes"])["outcome"], "purged");
    assert!(!home.export_text().contains("ibis"));
}

#[test]
fn an_unknown_project_cannot_be_merged() {
    let home = Home::new();
    home.save("One", "First.");
    let refused = home.run(&["projects", "merge", "demmo", "demo", "--yes"]);
    assert_eq!(refused.code(), 1, "{refused:?}");
    assert!(refused.stderr.contains("demmo") && refused.stderr.contains("cerebro projects"), "{refused:?}");
    // A new name for a project is no mistake.
    assert_eq!(home.json(&["projects", "merge", "demo", "new/name", "--yes"])["memories"], 1);
}

#[test]
fn an_empty_value_chooses_nothing() {
    let home = Home::new();
    let id = home.save("Kept", "The ibis stays.");
    for (args, name) in [
        (&["delete", "--tag", "", "--all-projects", "--hard", "--yes"][..], "--tag"),
        (&["delete", "--session", "", "--yes"], "--session"),
        (&["delete", "--type", " ", "--yes"], "--type"),
        (&["delete", "--scope=", "--yes"], "--scope"),
        (&["delete", "--since", "", "--yes"], "--since"),
        (&["delete", "--project", "", "--hard", "--yes"], "--project"),
        (&["projects", "delete", "", "--yes"], "NAME"),
        (&["history", "include", ""], "WHAT"),
        (&["history", "show", ""], "SESSION"),
        (&["list", "--project", ""], "--project"),
        (&["save", "T", "c", "--project", ""], "--project"),
    ] {
        let refused = home.run(args);
        assert_eq!(refused.code(), 2, "{args:?}: {refused:?}");
        let stderr = &refused.stderr;
        assert!(stderr.contains(name) && stderr.contains("is empty"), "{args:?}: {stderr}");
    }
    assert!(!home.data().join("config.toml").exists(), "nothing was chosen");
    assert_eq!(home.json(&["get", &id])["title"], "Kept");
    // Where an empty value removes something, it is meant.
    home.run(&["update", &id, "--tag", "a"]).success();
    home.run(&["update", &id, "--tag", ""]).success();
    assert!(home.json(&["get", &id])["tags"].as_array().is_none_or(Vec::is_empty));
}

#[test]
fn a_line_that_is_no_number_is_named() {
    let home = Home::new();
    for place in ["a.rs:x", "a.rs:0", ":5"] {
        let refused = home.run(&["history", "blame", place]);
        assert_eq!(refused.code(), 2, "{refused:?}");
        assert!(refused.stderr.contains(place) && refused.stderr.contains("line"), "{refused:?}");
    }
}

#[test]
fn a_line_that_cannot_be_looked_up_is_refused_with_the_reason() {
    let home = Home::new();
    let refused = |args: &[&str]| {
        let refused = home.run(&[&["history", "blame"][..], args].concat());
        assert_eq!(refused.code(), 1, "{refused:?}");
        refused.stderr
    };
    write(&home.work(), "src/a.rs", "one\n\nthree\n");
    write(&home.work(), "a.png", b"\x89PNG\0\n");
    write(&home.folder("other"), "b.rs", "one\n");
    for (place, words) in [
        ("src/a.rs:9", "src/a.rs has no line 9: it has 3 lines"),
        ("src/a.rs:2", "src/a.rs has nothing in line 2"),
        ("a.png:1", "a.png is a binary file"),
        ("none.rs:1", "cannot read none.rs"),
        ("src", "src is a folder"),
        ("src:1", "src is a folder"),
        ("../other/b.rs:1", "../other/b.rs is not in the project of the working folder, but in `other-"),
    ] {
        let stderr = refused(&[place]);
        assert!(stderr.contains(words), "{place}: {stderr}");
    }
    // Deleted files, too. What a link leads to is where the link is.
    assert!(refused(&["../other/gone.rs"]).contains("but in `other-"));
    symlink("../other", home.work().join("linked")).unwrap();
    symlink("../other/b.rs", home.work().join("c.rs")).unwrap();
    let whole = |name: &str| home.work().canonicalize().unwrap().join(name).display().to_string();
    for own in ["linked/b.rs", &whole("linked/b.rs"), &whole("c.rs"), "../work/src/a.rs", "gone.rs"] {
        home.run(&["history", "blame", own]).success();
    }
    home.run(&["history", "blame", "../other/b.rs", "--all-projects"]).success();
    let stderr = refused(&["/dev/zero:1", "--all-projects"]);
    assert!(stderr.contains("it is not a file"), "{stderr}");
    // A name that ends like a line is the file's own, if there is no other.
    write(&home.work(), "notes:5", "one\n");
    write(&home.work(), ":5", "one\n");
    for file in ["notes:5", ":5"] {
        let found = home.run(&["history", "blame", file]);
        assert!(found.code() == 0 && found.stderr.contains("no past session changed it"), "{found:?}");
    }
}

#[test]
fn a_wait_for_a_worker_without_a_model_ends_with_the_reason() {
    let home = Home::with_config("[embeddings]\nprovider = \"none\"\n");
    let short = home.run(&["worker", "status", "--wait"]);
    assert_eq!(short.code(), 1, "{short:?}");
    assert!(short.stderr.contains("no model") && short.stderr.contains("cerebro model"), "{short:?}");
}

#[test]
fn a_refused_argument_has_the_name_that_was_typed() {
    let home = Home::new();
    let id = home.save("One", "First.");
    let (long, wide) = ("x".repeat(301), "y".repeat(200));
    for (args, words) in [
        (&["search", "x", "--since", "blah"][..], "error: --since `blah`: it must be a date"),
        (&["search", "x", "--until", "blah"], "error: --until `blah`: it must be a date"),
        (&["search", "x", "--as-of", "blah"], "error: --as-of `blah`: it must be a date"),
        (&["search", "x", "--valid-at", "blah"], "error: --valid-at `blah`: it must be a date"),
        (&["search", "x", "--scope", "galaxy"], "error: --scope `galaxy`: "),
        (&["search", "x", "--type", "\u{e4}"], "error: --type `\u{e4}`: "),
        (&["search", "x", "--cursor", "blah"], "error: --cursor `blah`: "),
        (&["search", &"q".repeat(2_001)], "error: QUERY `qqq"),
        (&["list", "--since", "blah"], "error: --since `blah`: it must be a date"),
        (&["list", "--session", &wide], "error: --session `yyy"),
        (&["list", "--cursor", "blah"], "error: --cursor `blah`: "),
        (&["delete", "--until", "blah", "--yes"], "error: --until `blah`: it must be a date"),
        (&["save", &long, "text"], "error: TITLE `xxx"),
        (&["save", "--title", &long, "--content", "text"], "error: --title `xxx"),
        (
            &["save", "T", "c", "--project", "personal"],
            "error: --project `personal`: no project gets this name",
        ),
        (&["save", "T", "c", "--session", &wide], "error: --session `yyy"),
        (&["save", "T", "c", "--topic-key", &wide], "error: --topic-key `yyy"),
        (&["save", "T", "c", "--tag", &wide], "error: --tag `yyy"),
        (&["save", "T", "c", "--kind", "odd"], "error: --kind `odd`: "),
        (&["save", "T", "c", "--valid-from", "blah"], "error: --valid-from `blah`: "),
        (&["update", &id, "--valid-until", "blah"], "error: --valid-until `blah`: "),
        (&["update", &id, "--trigger", "blah"], "error: --trigger `blah`: "),
        (&["export", "--since", "blah", "f"], "error: --since `blah`: "),
        (&["serve", "--http", "blah"], "error: --http `blah`: "),
        (&["consolidate", "--undo", "blah"], "error: `blah`: not an id of a plan"),
    ] {
        let refused = home.run(args);
        let is_named = refused.stderr.starts_with(words) && !refused.stderr.contains("argument `");
        assert!(refused.code() > 0 && is_named, "{args:?}: {refused:?}");
    }
}

#[test]
fn restore_says_what_it_takes() {
    let home = Home::new();
    home.save("One", "First.");
    for args in [&["restore", "NOSUCH"][..], &["restore", "no-such", "none.surql.zst"]] {
        let refused = home.run(args);
        assert_eq!(refused.code(), 1, "{refused:?}");
        for part in ["`cerebro list --deleted`", "`cerebro backup list`"] {
            assert!(refused.stderr.contains(part), "{refused:?}");
        }
    }
}
