//! Which project a call is about, and what it may see of the others.

use std::path::Path;

use crate::support::transcripts::Claude;
use crate::support::{Home, Reply, Repository, json};

/// The project of an agent that was started in `folder`.
fn project_of(home: &Home, folder: &Path) -> String {
    let mut agent = home.pump().cwd(folder).start();
    agent.ok("mem_context", json!({})).str("project").to_owned()
}

#[test]
fn a_remote_names_the_project() {
    let home = Home::new();
    let repository = Repository::init(&home.folder("checkout"));
    for (url, want) in [
        ("https://github.com/Owner/Repo.git", "owner/repo"),
        ("https://github.com/owner/repo", "owner/repo"),
        ("git@github.com:owner/repo.git", "owner/repo"),
        ("ssh://git@example.org:2222/owner/repo.git", "owner/repo"),
        ("https://user:pa55word@example.org/owner/repo.git/", "owner/repo"),
    ] {
        repository.origin(url);
        assert_eq!(project_of(&home, repository.path()), want, "{url}");
    }
    let below = repository.path().join("src/deep");
    std::fs::create_dir_all(&below).unwrap();
    assert_eq!(project_of(&home, &below), "owner/repo", "from a folder of the repository");
}

#[test]
fn without_a_remote_the_root_names_it() {
    let home = Home::new();
    let repository = Repository::init(&home.folder("My Tool"));
    let name = project_of(&home, repository.path());
    let hash = name.strip_prefix("my-tool-").unwrap_or_else(|| panic!("{name}"));
    assert_eq!(hash.chars().count(), 4, "{name}");
    let below = repository.path().join("src");
    std::fs::create_dir_all(&below).unwrap();
    assert_eq!(project_of(&home, &below), name, "from a folder of the repository");

    let other = Repository::init(&home.folder("elsewhere/My Tool"));
    assert_ne!(project_of(&home, other.path()), name, "the same name at another place");
}

#[test]
fn worktrees_of_one_repository_are_one_project() {
    let home = Home::new();
    let repository = Repository::init(&home.folder("main-copy"));
    let tree = home.work().join("linked-tree");
    repository.worktree(&tree);
    assert_eq!(project_of(&home, &tree), project_of(&home, repository.path()));
    repository.origin("https://example.org/team/thing.git");
    assert_eq!(project_of(&home, &tree), "team/thing");
}

#[test]
fn outside_git_the_folder_names_it() {
    let home = Home::new();
    let name = project_of(&home, &home.folder("plain"));
    let hash = name.strip_prefix("plain-").unwrap_or_else(|| panic!("{name}"));
    assert_eq!(hash.chars().count(), 4, "{name}");
    assert_eq!(project_of(&home, &home.user()), "general");
    assert_eq!(project_of(&home, Path::new("/")), "general");
}

#[test]
fn names_are_normalised_and_named_in_every_result() {
    let home = Home::new();
    let mut agent = home.agent();
    for (written, want) in [("  My  Project ", "my-project"), ("OWNER/Repo", "owner/repo")] {
        let saved = agent.ok("mem_save", json!({"title": "Named", "content": "Text.", "project": written}));
        assert_eq!(saved["project"], want, "{saved:?}");
        saved.assert_in_both(&[want]);
    }
    let mut agent = home.pump().project(" Given By Flag ").start();
    for (tool, arguments) in [
        ("mem_save", json!({"title": "x", "content": "x"})),
        ("mem_search", json!({"query": "x"})),
        ("mem_context", json!({})),
        ("mem_session_start", json!({})),
    ] {
        let reply = agent.ok(tool, arguments);
        assert_eq!(reply["project"], "given-by-flag", "{tool}: {reply:?}");
        reply.assert_in_both(&["given-by-flag"]);
    }
}

#[test]
fn a_write_to_an_unseen_project_says_so() {
    let home = Home::new();
    let mut agent = home.agent();
    let own =
        agent.ok("mem_save", json!({"title": "Own", "content": "First write of the connection's own."}));
    assert!(own["new_project"].is_null(), "{own:?}");
    agent.ok("mem_save", json!({"title": "One", "content": "Text.", "project": "acme/webshop"}));
    let near = agent.ok("mem_save", json!({"title": "Two", "content": "Text.", "project": "acme/web-shop"}));
    assert_eq!(near["new_project"], true, "{near:?}");
    let known: Vec<&str> = near.list("near").iter().filter_map(|name| name.as_str()).collect();
    assert_eq!(known, ["acme/webshop"], "{near:?}");
    near.assert_in_both(&["acme/webshop"]);
    let seen =
        agent.ok("mem_save", json!({"title": "Three", "content": "Text.", "project": "acme/web-shop"}));
    assert!(seen["new_project"].is_null() && seen["near"].is_null(), "{seen:?}");
    let prompt = agent.ok("mem_save_prompt", json!({"content": "Hello", "project": "acme/webshopp"}));
    assert_eq!(prompt["new_project"], true, "{prompt:?}");
}

#[test]
fn reads_stay_inside_the_project_and_what_is_personal() {
    let home = Home::new();
    let mut agent = home.agent();
    let mut save = |title: &str, project: &str, scope: &str| {
        let arguments =
            json!({"title": title, "content": "The badger set.", "project": project, "scope": scope});
        agent.ok("mem_save", arguments).str("id").to_owned()
    };
    let here = save("Here", "demo", "project");
    let there = save("There", "other", "project");
    let mine = save("Mine", "other", "personal");
    let mut find = |arguments: serde_json::Value| {
        let mut ids = agent.ok("mem_search", arguments).ids("hits");
        ids.sort();
        ids
    };
    let sorted = |ids: [&String; 2]| {
        let mut ids = ids.map(String::clone);
        ids.sort();
        ids
    };
    assert_eq!(find(json!({"query": "badger"})), sorted([&here, &mine]));
    assert_eq!(find(json!({"query": "badger", "project": "other"})), sorted([&there, &mine]));
    assert_eq!(find(json!({"query": "badger", "all_projects": true})).len(), 3);
}

#[test]
fn a_personal_memory_belongs_to_no_project() {
    let home = Home::new();
    let mut agent = home.agent();
    let save = |project: &str| json!({"title": "Likes tabs", "content": "Tabs, not spaces.", "scope": "personal", "project": project});
    let first = agent.ok("mem_save", save("demo"));
    let second = agent.ok("mem_save", save("other"));
    assert_eq!(second["outcome"], "duplicate", "the same identity in every project: {second:?}");
    assert_eq!(second["id"], first["id"], "{second:?}");
}

#[test]
fn two_agents_in_two_folders_do_not_mix() {
    let home = Home::new();
    let mut one = home.pump().cwd(&home.folder("one")).start();
    let mut two = home.pump().cwd(&home.folder("two")).start();
    let of_one = one.save("Stoat of one", "The stoat of the first folder.");
    assert_eq!(two.search("stoat"), Vec::<String>::new());
    assert_eq!(one.search("stoat"), [of_one]);
}

#[test]
fn the_folder_that_the_client_names_counts() {
    let home = Home::new();
    let repository = Repository::init(&home.folder("claimed"));
    repository.origin("https://example.org/team/claimed.git");
    let mut agent = home.pump().cwd(&home.user()).env("CLAUDE_PROJECT_DIR", repository.path()).start();
    assert_eq!(agent.ok("mem_context", json!({}))["project"], "team/claimed");
}

#[test]
fn a_project_is_new_once() {
    let home = Home::new();
    let mut agent = home.agent();
    let new = |reply: &Reply| reply.structured.get("new_project").cloned();
    let start = agent.ok("mem_session_start", json!({"id": "a", "project": "acme-web"}));
    assert_eq!(new(&start), Some(json!(true)), "{start:?}");
    let save = json!({"title": "T", "content": "C.", "project": "acme-web"});
    assert_eq!(new(&agent.ok("mem_save", save)), None);
    let personal = agent.ok("mem_save", json!({"title": "Mine", "content": "C.", "scope": "personal"}));
    let update = agent.ok("mem_update", json!({"id": personal["id"], "project": "third"}));
    assert_eq!((new(&update), update.str("outcome")), (None, "unchanged"), "{update:?}");
    let moved = agent.ok("mem_update", json!({"id": personal["id"], "project": "third", "scope": "project"}));
    assert_eq!(new(&moved), Some(json!(true)), "{moved:?}");
    home.kill_daemon();
    let again = agent.ok("mem_session_start", json!({"id": "b", "project": "acme-web"}));
    assert_eq!(new(&again), None, "{again:?}");
}

#[test]
fn a_session_is_of_the_connections_project_whatever_its_first_write_names() {
    let home = Home::new();
    let mut agent = home.agent();
    agent.ok("mem_save", json!({"title": "Aside", "content": "For another.", "project": "aside"}));
    let prompt = json!({"content": "Do it", "project": "aside", "session_id": "asked"});
    agent.ok("mem_save_prompt", prompt);
    let summary = agent.ok("mem_session_summary", json!({"goal": "Tame the ocelot"}));
    assert_eq!(summary["project"], "demo", "{summary:?}");
    let sessions = home.json(&["sessions", "--all-projects"]);
    assert!(!sessions.to_string().contains("aside"), "{sessions}");
    drop(agent);
    assert!(home.agent().ok("mem_context", json!({})).text.contains("ocelot"));
}

#[test]
fn a_project_that_only_past_sessions_have_is_known_and_listed() {
    let home = Home::new();
    let mut agent = home.agent();
    // The known projects are read before there are past sessions.
    agent.ok("mem_save", json!({"title": "Aside", "content": "Text.", "project": "aside"}));
    for name in ["ferry", "harbour"] {
        Claude::new(name, &home.folder(name)).turn("Mend the auk", "Yes.").write(&home);
    }
    home.take_in();
    let listed = home.json(&["projects"]);
    let rows = listed["projects"].as_array().unwrap();
    let of_past = rows.iter().filter(|row| row["past_sessions"] == 1);
    let [ferry, harbour] = of_past.collect::<Vec<_>>()[..] else { panic!("{listed}") };
    assert_eq!((&ferry["memories"], &ferry["sessions"]), (&json!(0), &json!(0)), "{listed}");
    assert!(ferry["last_at"].is_string(), "{listed}");
    assert!(rows.iter().any(|row| row["project"] == "aside" && row["past_sessions"].is_null()), "{listed}");
    assert_eq!(home.json(&["stats"])["projects"], rows.len());

    let saved = agent.ok("mem_save", json!({"title": "T", "content": "C.", "project": ferry["project"]}));
    assert!(saved["new_project"].is_null(), "{saved:?}");
    home.kill_daemon();
    let harbour = harbour["project"].as_str().unwrap();
    let misspelt = json!({"title": "T", "content": "C.", "project": format!("{harbour}x")});
    let saved = agent.ok("mem_save", misspelt);
    assert_eq!((&saved["new_project"], &saved["near"]), (&json!(true), &json!([harbour])), "{saved:?}");
}

#[test]
fn a_personal_memory_makes_no_project_known() {
    let home = Home::new();
    let mut agent = home.agent();
    let personal = json!({"title": "Mine", "content": "Of me.", "scope": "personal", "project": "later"});
    agent.ok("mem_save", personal);
    let saved = agent.ok("mem_save", json!({"title": "First", "content": "Of it.", "project": "later"}));
    assert_eq!(saved["new_project"], true, "{saved:?}");
}

#[test]
fn a_prompt_that_is_not_stored_makes_no_project_known() {
    let home = Home::new();
    let mut agent = home.agent();
    agent.ok("mem_save_prompt", json!({"content": "Again", "session_id": "s"}));
    let again = json!({"content": "Again", "session_id": "s", "project": "later"});
    let again = agent.ok("mem_save_prompt", again);
    assert_eq!((again.str("outcome"), again.structured.get("new_project")), ("unchanged", None), "{again:?}");
    let first =
        agent.ok("mem_save_prompt", json!({"content": "Else", "session_id": "s", "project": "later"}));
    assert_eq!(first["new_project"], true, "{first:?}");
}

#[test]
fn the_own_project_is_near_before_anything_is_saved_in_it() {
    let home = Home::new();
    let mut agent = home.pump().project("acme/webshop").start();
    let call = json!({"title": "One", "content": "Text.", "project": "acme/web-shop"});
    let near = agent.ok("mem_save", call);
    assert_eq!(near["new_project"], true, "{near:?}");
    near.assert_in_both(&["acme/webshop"]);
}

#[test]
fn no_project_gets_a_name_that_lists_need() {
    let home = Home::new();
    let mut agent = home.agent();
    for name in ["personal", " Sessions"] {
        for (tool, arguments) in [
            ("mem_save", json!({"title": "T", "content": "c", "project": name})),
            ("mem_save_prompt", json!({"content": "c", "project": name})),
            ("mem_session_start", json!({"id": "s", "project": name})),
        ] {
            let words = agent.refused(tool, arguments);
            assert!(
                words.contains("no project gets this name") && words.contains("scope `personal`"),
                "{words}"
            );
        }
    }
    let id = agent.save("Mine", "Text.");
    agent.refused("mem_update", json!({"id": id, "project": "sessions"}));
    // Beside the scope, the project says nothing.
    let both = json!({"title": "T", "content": "c", "project": "personal", "scope": "personal"});
    assert_eq!(agent.ok("mem_save", both)["project"], "personal");
    let both = json!({"id": id, "project": "personal", "scope": "personal"});
    assert_eq!(agent.ok("mem_update", both)["project"], "personal");
    for words in [&["save", "T", "c", "--project", "personal"][..], &["mcp", "--project", "sessions"]] {
        let refused = home.run(words);
        assert!(refused.code() > 0 && refused.stderr.contains("--project"), "{refused:?}");
        assert!(refused.stderr.contains("choose another name"), "{refused:?}");
    }
    let vault = home.folder("vault");
    std::fs::write(vault.join("own.md"), "---\nproject: sessions\n---\n\nA note of a person.\n").unwrap();
    let refused = home.run(&["import", vault.to_str().unwrap()]);
    assert!(refused.code() > 0 && refused.stderr.contains("choose another name"), "{refused:?}");
    let known = home.json(&["projects"]);
    let names = known["projects"].as_array().unwrap().iter().map(|row| row["project"].as_str().unwrap());
    assert!(names.into_iter().all(|name| !["personal", "sessions"].contains(&name)), "{known}");
}
