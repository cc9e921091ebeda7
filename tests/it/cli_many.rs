//! Commands over many memories and projects: conditions, bulk changes, renames, partial exports, suggestions.

use std::fs;
use std::process::Command;

use crate::support::{Home, PROGRAM, Value, finish, json};

fn save(home: &Home, title: &str, more: &[&str]) -> String {
    let content = format!("The text of {title}.");
    let args: Vec<&str> = ["save", title, &content].iter().chain(more).copied().collect();
    home.json(&args)["id"].as_str().unwrap().to_owned()
}

fn titles(listed: &Value) -> Vec<String> {
    let rows = listed["memories"].as_array().unwrap_or_else(|| panic!("no list: {listed}"));
    rows.iter().map(|row| row["title"].as_str().unwrap().to_owned()).collect()
}

/// Memories of two projects and of the person, by hand and by an agent.
fn filled() -> Home {
    let home = Home::new();
    save(&home, "One", &["--project", "demo", "--type", "bugfix", "--tag", "net"]);
    save(&home, "Two", &["--project", "demo", "--type", "decision", "--tag", "net", "--tag", "disk"]);
    save(&home, "Mine", &["--scope", "personal", "--type", "preference"]);
    save(&home, "Web", &["--project", "group/sub/my.repo", "--type", "bugfix"]);
    let mut agent = home.agent();
    agent.ok("mem_session_start", json!({ "id": "sitting" }));
    agent.save("Three", "An agent saved this.");
    home
}

#[test]
fn a_list_meets_its_conditions_and_continues_at_its_cursor() {
    let home = filled();
    let list = |args: &[&str]| {
        let args: Vec<&str> = ["list"].iter().chain(args).copied().collect();
        titles(&home.json(&args))
    };
    for (args, want) in [
        (&["--project", "demo"][..], &["Three", "Two", "One"][..]),
        (&["--project", "demo", "--type", "bugfix"], &["One"]),
        (&["--project", "demo", "--tag", "net"], &["Two", "One"]),
        (&["--project", "demo", "--tag", "net", "--tag", "disk"], &["Two"]),
        (&["--project", "demo", "--agent", "test-agent"], &["Three"]),
        (&["--session", "sitting"], &["Three"]),
        (&["--scope", "personal"], &["Mine"]),
        (&["--all-projects", "--type", "bugfix"], &["Web", "One"]),
        (&["--all-projects", "--since", "yesterday"], &["Three", "Web", "Mine", "Two", "One"]),
        (&["--all-projects", "--until", "yesterday"], &[]),
    ] {
        assert_eq!(list(args), want, "{args:?}");
    }
    // Page by page it is the same list, also where a condition is checked after the index.
    for condition in [&[][..], &["--since", "1d"], &["--agent", "cerebro-cli"]] {
        let all: Vec<&str> = ["--all-projects"].iter().chain(condition).copied().collect();
        let (mut seen, mut cursor) = (Vec::new(), None::<String>);
        loop {
            let mut args: Vec<&str> = ["list", "--limit", "2"].iter().chain(&all).copied().collect();
            args.extend(cursor.as_ref().map(|cursor| ["--cursor", cursor]).into_iter().flatten());
            let page = home.json(&args);
            seen.extend(titles(&page));
            cursor = page["next_cursor"].as_str().map(str::to_owned);
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(seen, list(&all), "{condition:?}");
    }
    let refused = home.run(&["list", "--since", "soon"]);
    assert!(refused.code() == 1 && refused.stderr.contains("soon"), "{refused:?}");
}

#[test]
fn many_are_read_pinned_deleted_and_restored_at_once() {
    let home = Home::new();
    let ids: Vec<String> = ["A", "B", "C"].map(|title| save(&home, title, &["--project", "demo"])).into();
    let with = |command: &'static str| -> Vec<&str> {
        [command].into_iter().chain(ids.iter().map(String::as_str)).collect()
    };
    let whole = home.run(&with("get")).success();
    assert!(["text of A", "text of B", "text of C"].iter().all(|part| whole.contains(part)), "{whole}");
    assert_eq!(home.json(&with("get"))["memories"].as_array().map(Vec::len), Some(3));
    assert_eq!(home.json(&["get", &ids[0]])["title"], "A", "one is shown as before");
    assert_eq!(home.run(&with("pin")).success().lines().filter(|line| line.ends_with("\tpinned")).count(), 3);
    home.json(&with("unpin"));
    // One that cannot be changed ends the command, which says what was done before.
    home.run(&["delete", &ids[1]]).success();
    let some = home.run(&with("pin"));
    assert!(some.code() == 1 && some.stderr.contains(&ids[1]), "{some:?}");
    assert_eq!(some.stdout, format!("{}\tpinned\n", ids[0]), "{some:?}");
    let some = home.run(&[with("unpin"), vec!["--json"]].concat());
    let some: Value = serde_json::from_str(&some.stdout).unwrap();
    assert_eq!(
        some["memories"].as_array().map(Vec::len),
        Some(1),
        "a list, since three were asked for: {some}"
    );
    home.json(&["restore", &ids[1]]);
    home.json(&with("unpin"));
    assert_eq!(home.json(&with("delete"))["memories"][2]["outcome"], "deleted");
    assert_eq!(titles(&home.json(&["list", "--project", "demo"])), Vec::<String>::new());
    assert_eq!(titles(&home.json(&["list", "--project", "demo", "--deleted"])).len(), 3);
    home.json(&with("restore"));
    assert_eq!(titles(&home.json(&["list", "--project", "demo"])).len(), 3);
    // A wrong id among them is found before anything is done.
    let refused = home.run(&["delete", &ids[0], "zzzzzzz"]);
    assert_eq!(refused.code(), 1, "{refused:?}");
    assert_eq!(titles(&home.json(&["list", "--project", "demo"])).len(), 3);
}

#[test]
fn a_bulk_delete_shows_its_selection_first() {
    let home = filled();
    let refused = home.run(&["delete", "--project", "demo", "--tag", "net"]);
    assert_eq!(refused.code(), 2, "{refused:?}");
    for part in ["One", "Two", "Delete 2 memories?", "--yes"] {
        assert!(refused.stderr.contains(part), "{part}: {refused:?}");
    }
    assert_eq!(titles(&home.json(&["list", "--project", "demo"])).len(), 3, "nothing without a yes");
    home.run(&["delete", "--project", "demo", "--tag", "net", "--yes"]).success();
    assert_eq!(titles(&home.json(&["list", "--project", "demo"])), ["Three"]);
    home.run(&["delete", "--session", "sitting", "--hard", "--yes"]).success();
    assert!(!home.export_text().contains("An agent saved this"));
    assert_eq!(titles(&home.json(&["list", "--all-projects"])), ["Web", "Mine"], "others are as they were");
    let everything = home.run(&["delete", "--all-projects", "--yes"]);
    assert_eq!(everything.code(), 2, "{everything:?}");
    let none = home.run(&["delete", "--project", "demo", "--type", "none", "--yes"]);
    assert!(none.code() == 0 && none.stderr.contains("no memory meets"), "{none:?}");
}

#[test]
fn a_project_is_renamed_or_deleted() {
    let home = filled();
    let taken = home.run(&["projects", "rename", "demo", "group/sub/my.repo"]);
    assert!(taken.code() == 1 && taken.stderr.contains("projects merge"), "{taken:?}");
    home.run(&["save", "Other", "x", "--project", "my web"]).success();
    let taken = home.run(&["projects", "rename", "demo", "My  Web"]);
    assert!(taken.code() == 1 && taken.stderr.contains("projects merge demo my-web"), "{taken:?}");
    let unknown = home.run(&["projects", "rename", "My.Repo", "new"]);
    assert!(unknown.code() == 1 && unknown.stderr.contains("group/sub/my.repo"), "{unknown:?}");
    for words in [
        &["rename", "demo", " Personal"][..],
        &["rename", "demo", "sessions"],
        &["merge", "demo", "personal", "--yes"],
    ] {
        let reserved = home.run(&[&["projects"], words].concat());
        assert!(reserved.code() != 0 && reserved.stderr.contains("choose another name"), "{reserved:?}");
    }
    assert_eq!(home.json(&["projects", "rename", "demo", "acme/demo"])["memories"], 3);
    assert_eq!(titles(&home.json(&["list", "--project", "acme/demo"])), ["Three", "Two", "One"]);

    let refused = home.run(&["projects", "delete", "acme/demo"]);
    assert!(refused.code() == 2 && refused.stderr.contains("Delete 3 memories?"), "{refused:?}");
    home.run(&["projects", "delete", "acme/demo", "--yes"]).success();
    assert_eq!(titles(&home.json(&["list", "--project", "acme/demo", "--deleted"])).len(), 3);
    home.run(&["projects", "delete", "acme/demo", "--hard", "--yes"]).success();
    let text = home.export_text();
    assert!(!text.contains("The text of One") && text.contains("The text of Web"), "{text}");
    assert_eq!(home.run(&["projects", "delete", "nosuch", "--yes"]).code(), 1);
}

#[test]
fn a_partial_export_is_imported_again() {
    let home = filled();
    let part = home.run(&["export", "--project", "demo", "--type", "bugfix"]).success();
    assert!(part.contains("The text of One"), "{part}");
    for other in ["The text of Two", "The text of Mine", "The text of Web", "An agent saved"] {
        assert!(!part.contains(other), "{other}: {part}");
    }
    let file = home.folder("files").join("part.jsonl");
    fs::write(&file, part).unwrap();
    let other = Home::new();
    let taken = other.json(&["import", file.to_str().unwrap()]);
    assert_eq!(taken["skipped"], json!([]), "{taken}");
    assert_eq!(titles(&other.json(&["list", "--all-projects"])), ["One"]);
    assert!(other.run(&["doctor"]).stdout.contains("links"), "no link leads out of a part");

    let notes = home.folder("notes");
    let notes = notes.to_str().unwrap();
    home.run(&["export", "--format", "markdown", notes, "--project", "group/sub/my.repo"]).success();
    let imported = other.json(&["import", notes]);
    assert_eq!(imported["created"], 1, "{imported}");
    let refused = home.run(&["export", "--format", "surrealql", "--project", "demo"]);
    assert_eq!(refused.code(), 2, "{refused:?}");
    // Neither an export of a misspelt project nor one of a part replaces an export of everything.
    let whole = home.folder("files").join("whole.jsonl");
    let whole = whole.to_str().unwrap();
    home.run(&["export", whole]).success();
    let before = fs::read(whole).unwrap();
    for (project, why) in [("my.repo", "did you mean `group/sub/my.repo`"), ("demo", "more than this part")] {
        let refused = home.run(&["export", whole, "--project", project]);
        assert!(refused.code() == 1 && refused.stderr.contains(why), "{refused:?}");
        assert!(fs::read(whole).unwrap() == before);
    }
    let none = home.folder("files").join("none.jsonl");
    let mistyped = home.run(&["export", none.to_str().unwrap(), "--type", "bugfx"]);
    assert!(mistyped.code() == 1 && mistyped.stderr.contains("did you mean `bugfix`"), "{mistyped:?}");
    assert!(!none.exists());
    for _ in 0..2 {
        home.run(&["export", file.to_str().unwrap(), "--project", "demo", "--type", "bugfix"]).success();
    }
}

#[test]
fn an_unknown_name_gets_suggestions() {
    let home = filled();
    for (args, want) in [
        (&["list", "--project", "My.Repo"][..], "did you mean `group/sub/my.repo`"),
        (&["list", "--project", "demo", "--type", "bug"], "did you mean `bugfix` (2)?"),
        (&["search", "Web", "--project", "my.repo"], "did you mean `group/sub/my.repo`"),
        (&["context", "--project", "my.repo"], "did you mean `group/sub/my.repo`"),
        (&["sessions", "--project", "my.repo"], "did you mean `group/sub/my.repo`"),
        (&["prompts", "--project", "my.repo"], "did you mean `group/sub/my.repo`"),
        (&["health", "--project", "my.repo"], "did you mean `group/sub/my.repo`"),
        (&["export", "--project", "my.repo"], "did you mean `group/sub/my.repo`"),
        (&["work", "list", "--project", "my.repo"], "did you mean `group/sub/my.repo`"),
        (&["documents", "list", "--project", "my.repo"], "did you mean `group/sub/my.repo`"),
        (&["list", "--project", "demo", "--archived"], "no archived memories"),
        (&["search", "text", "--project", "demo", "--type", "bug"], "did you mean `bugfix` (2)?"),
        (&["search", "Thrre", "--project", "demo"], "no title has `thrre`; did you mean `three`?"),
        (
            &["save", "Typed", "Oddly.", "--project", "demo", "--type", "desicion"],
            "others near it: `decision` (1)",
        ),
        (&["save", "hello", "world", "first", "memory"], "quote each"),
    ] {
        let finished = home.run(args);
        assert!(finished.stderr.contains(want), "{args:?}: {finished:?}");
    }
    for args in [&["list", "--project", "demo"][..], &["search", "text", "--project", "demo"]] {
        let finished = home.run(args);
        assert!(!finished.stderr.contains("did you mean"), "{args:?}: {finished:?}");
    }
}

/// What a command shows on a terminal of so many columns.
fn on_terminal(home: &Home, columns: u16, args: &str) -> String {
    let seen = home.folder("seen").join("seen");
    let inside =
        format!("stty rows 50 cols {columns}; '{PROGRAM}' --home '{}' {args}", home.data().display());
    let mut script = Command::new("script");
    script.args(["--quiet", "--return", "--command", &inside]).arg(&seen);
    script.env("TERM", "xterm").env_remove("COLUMNS").env_remove("LINES");
    finish(&mut script).success();
    let shown = String::from_utf8_lossy(&fs::read(&seen).unwrap()).into_owned();
    let head = |line: &&str| !line.starts_with("Script ");
    shown.lines().filter(head).map(|line| format!("{}\n", line.trim_end())).collect()
}

#[test]
fn lists_and_hits_are_readable_on_terminals_of_any_width() {
    let home = filled();
    let title = "The writer waits for the lease of the queue";
    let id = save(&home, title, &["--project", "demo"]);
    home.run(&["pin", &id]).success();
    for columns in [40, 80, 200] {
        let listed = on_terminal(&home, columns, "list --project demo");
        let begins = &title[..usize::from(columns).min(70) / 2 - 5];
        assert!(listed.contains(begins) && listed.contains(&id[..7]), "{columns}: {listed}");
        assert!(!listed.contains("demo"), "{columns}: what is the same in all rows says nothing: {listed}");
        let found = on_terminal(&home, columns, "search 'writers wait' --project demo");
        assert!(found.contains("\u{1b}[1;33mwriter\u{1b}[0m"), "{columns}: {found:?}");
        let plain =
            on_terminal(&home, columns, "search 'writers wait' --project demo; true").replace('\u{1b}', "");
        assert!(plain.contains(&id[..7]) && plain.contains("waits"), "{columns}: {plain}");
        let session = home.json(&["sessions", "--project", "demo"])["sessions"][0]["id"].clone();
        let sessions = on_terminal(&home, columns, "sessions --project demo");
        assert!(
            sessions.contains(session.as_str().unwrap()),
            "{columns}: it begins as others do: {sessions}"
        );
        let wide = listed.lines().map(|line| line.chars().count()).max().unwrap_or_default();
        assert!(wide <= usize::from(columns), "{columns}: {listed}");
    }
}

#[test]
fn sessions_are_listed_to_the_first_one() {
    let home = Home::new();
    let mut agent = home.agent();
    for n in 0..2 {
        agent.ok("mem_session_start", json!({ "id": format!("sitting-{n}") }));
    }
    // Three imported ones began at the same moment.
    let at = "2026-01-02T03:04:05Z";
    let mut imported = home.export().into_iter().find(|line| line["id"] == "sitting-0").unwrap();
    imported["started_at"] = json!(at);
    imported["seen_at"] = json!(at);
    let lines = ["old-2", "old-0", "old-1"].map(|id| {
        imported["id"] = json!(id);
        imported.clone()
    });
    home.import(&lines).success();
    let (mut seen, mut continued) = (Vec::new(), Vec::<String>::new());
    for _ in 0..3 {
        let args: Vec<&str> = ["sessions", "--all-projects", "--limit", "2"]
            .into_iter()
            .chain(continued.iter().map(String::as_str))
            .collect();
        let listed = home.json(&args)["sessions"].as_array().unwrap().clone();
        seen.extend(listed.iter().map(|one| one["id"].as_str().unwrap().to_owned()));
        let said = home.run(&args).stderr;
        let more = said.lines().find_map(|line| line.strip_prefix("more: add "));
        continued = more.into_iter().flat_map(str::split_whitespace).map(str::to_owned).collect();
        assert_eq!(!continued.is_empty(), listed.len() == 2, "{listed:?}");
    }
    assert_eq!(seen, ["sitting-1", "sitting-0", "old-2", "old-1", "old-0"]);
}

#[test]
fn what_a_person_saves_for_another_project_is_in_a_session_of_that_project() {
    let home = Home::new();
    // A personal memory is of no project, so its session is that of the folder.
    home.json(&["save", "Mine", "Of no project.", "--project", "acme/other", "--scope", "personal"]);
    for title in ["One", "Two"] {
        home.json(&["save", title, "Of the other project.", "--project", "acme/other"]);
    }
    let sessions = home.json(&["sessions", "--project", "acme/other"])["sessions"].clone();
    assert_eq!(sessions.as_array().unwrap().len(), 1, "{sessions}");
    assert_eq!(sessions[0]["project"], "acme/other", "{sessions}");
}
