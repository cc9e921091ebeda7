//! Which past sessions are imported follows what people chose, choice by choice.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::support::transcripts::{Claude, append, claude_file, codex, codex_file};
use crate::support::{Home, finish, json};

/// A folder that is the repository of a project.
fn repository(home: &Home, project: &str) -> PathBuf {
    let folder = home.folder(&project.replace('/', "-"));
    fs::create_dir(folder.join(".git")).unwrap();
    let remote = format!("[remote \"origin\"]\n\turl = https://example.com/{project}.git\n");
    fs::write(folder.join(".git/config"), remote).unwrap();
    fs::write(folder.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    folder
}

fn claude(home: &Home, session: &str, folder: &Path) {
    Claude::new(session, folder).turn("Ask", "Answer.").write(home);
}

fn rollout(home: &Home, session: &str, folder: &Path) {
    fs::write(codex_file(home, session), codex(session, folder, &[("Ask", "Answer.")])).unwrap();
}

/// Sessions of two agents in two projects: `claude-app`, `codex-two` and so on.
fn furnished() -> Home {
    let home = Home::new();
    for name in ["app", "two"] {
        let folder = repository(&home, &format!("acme/{name}"));
        claude(&home, &format!("claude-{name}"), &folder);
        rollout(&home, &format!("codex-{name}"), &folder);
    }
    home
}

fn import(home: &Home, choice: &[&str]) {
    home.json(&[&["history", "import", "--yes", "--since", "0"], choice].concat());
}

fn restart(home: &Home) {
    home.kill_daemon();
    home.json(&["daemon", "start"]);
    home.first_look();
}

#[test]
fn a_later_choice_allows_no_more_than_it_says() {
    let home = furnished();
    import(&home, &["--agent", "codex"]);
    import(&home, &["--agent", "claude-code", "--project", "acme/two"]);
    let chosen = ["claude-two", "codex-app", "codex-two"];
    assert_eq!(home.past_sessions(), chosen);
    let status = home.json(&["history", "status"]);
    assert_eq!(status["chosen"], json!(["all of codex", "acme/two of claude-code"]), "{status}");
    let config = fs::read_to_string(home.data().join("config.toml")).unwrap();
    assert!(config.contains(r#"{ agent = "claude-code", in = "acme/two" }"#), "{config}");
    // A new session that nobody chose, and an old one that grows, stay out.
    claude(&home, "claude-new", &home.folder("acme-app"));
    let more =
        Claude::new("claude-app", &home.folder("acme-app")).turn("Ask", "Answer.").turn("More", "Yes.");
    let old = fs::metadata(claude_file(&home, "claude-app")).unwrap().len() as usize;
    append(&claude_file(&home, "claude-app"), &more.text().as_bytes()[old..]);
    restart(&home);
    home.take_in();
    assert_eq!(home.past_sessions(), chosen);

    assert_eq!(
        home.json(&["history", "include"])["include"],
        json!(["all of codex", "acme/two of claude-code"])
    );
    home.json(&["history", "include", "acme/two", "--remove"]);
    assert_eq!(home.json(&["history", "status"])["chosen"], json!(["all of codex"]));
}

#[test]
fn the_last_choice_is_not_removed_in_silence() {
    let home = furnished();
    import(&home, &["--project", "acme/two"]);
    let refused = home.run(&["history", "include", "acme/two", "--remove"]);
    assert_eq!(refused.code(), 1);
    assert!(
        refused.stderr.contains("the last one") && refused.stderr.contains("--all"),
        "{}",
        refused.stderr
    );
    home.take_in();
    assert_eq!(home.past_sessions(), ["claude-two", "codex-two"], "it would have meant all");
    home.json(&["history", "exclude", "acme/app"]);
    home.json(&["history", "exclude", "acme/app", "--remove"]);
    assert_eq!(home.json(&["history", "include", "--all"])["include"], json!([]));
    restart(&home);
    home.take_in();
    assert_eq!(home.past_sessions().len(), 4);
}

#[test]
fn the_status_names_what_is_excluded() {
    let home = furnished();
    home.json(&["history", "exclude", "acme/app"]);
    home.take_in();
    let status = home.json(&["history", "status"]);
    assert_eq!((&status["chosen"], &status["excluded"]), (&json!(["all"]), &json!(["acme/app"])), "{status}");
    let shown = home.run(&["history", "status"]).success();
    assert!(shown.contains("excluded\tacme/app"), "{shown}");
}

#[test]
fn two_agents_in_two_projects_are_two_choices() {
    let home = furnished();
    import(&home, &["--agent", "claude-code", "--project", "acme/two"]);
    import(&home, &["--agent", "codex", "--project", "acme/app"]);
    restart(&home);
    assert_eq!(home.past_sessions(), ["claude-two", "codex-app"]);
}

#[test]
fn an_agent_is_chosen_beside_a_project() {
    let home = furnished();
    import(&home, &["--project", "acme/two"]);
    assert_eq!(home.past_sessions(), ["claude-two", "codex-two"]);
    import(&home, &["--agent", "codex"]);
    assert_eq!(home.past_sessions(), ["claude-two", "codex-app", "codex-two"]);
    // The preview of a further choice shows what it would add.
    let found = home.json(&["history", "import", "--project", "acme/app", "--dry-run", "--since", "0"]);
    assert_eq!(found["agents"][0]["files"], 1, "{found}");
}

#[test]
fn the_first_import_keeps_what_was_included_before() {
    let home = furnished();
    home.json(&["history", "include", "acme/app"]);
    import(&home, &["--project", "acme/two"]);
    let status = home.json(&["history", "status"]);
    assert_eq!(status["chosen"], json!(["acme/app", "acme/two"]), "{status}");
    home.take_in();
    assert_eq!(home.past_sessions().len(), 4);
}

#[test]
fn an_import_of_one_agent_does_not_forget_the_files_of_another() {
    let home = Home::new();
    claude(&home, "claude-app", &home.work());
    let seen = |choice: &[&str]| {
        import(&home, choice);
        home.json(&["history", "status"])["seen"].clone()
    };
    assert_eq!([seen(&[]), seen(&["--agent", "codex"])], [1, 1]);
    rollout(&home, "codex-app", &home.work());
    assert_eq!(seen(&["--agent", "codex"]), 2);
}

#[test]
fn a_project_without_sessions_is_named_and_changes_nothing() {
    let home = furnished();
    let import = ["history", "import", "--project", "acme/tow", "--since", "0"];
    let refused = home.run(&[&import[..], &["--yes"]].concat());
    assert_eq!(refused.code(), 1, "{refused:?}");
    assert!(refused.stderr.contains("`acme/tow`") && refused.stderr.contains("acme/two"), "{refused:?}");
    assert!(!home.data().join("config.toml").exists());
    let shown = home.run(&[&import[..], &["--dry-run"]].concat());
    assert!(shown.code() == 0 && shown.stderr.contains("acme/two"), "{shown:?}");
}

#[test]
fn where_no_session_is_the_question_is_about_those_to_come() {
    let home = Home::new();
    let asked = || home.run(&["history", "import"]).stderr;
    assert!(asked().contains("Import sessions from now on?"), "{}", asked());
    claude(&home, "s-1", &home.work());
    assert!(asked().contains("Import these sessions and keep them current"), "{}", asked());
}

#[test]
fn a_yes_at_setup_counts_for_sessions_to_come() {
    let home = Home::new();
    let run = home.run(&["setup", "claude-code", "--history", "yes"]);
    assert!(run.code() == 0 && run.stderr.contains("history is on"), "{run:?}");
    let config = fs::read_to_string(home.data().join("config.toml")).unwrap();
    assert!(config.contains("enabled = true"), "{config}");
    claude(&home, "s-1", &home.work());
    restart(&home);
    assert_eq!(home.past_sessions(), ["s-1"]);
}

#[test]
fn a_dry_run_lists_memory_files() {
    let home = Home::new();
    fs::write(home.work().join("CLAUDE.md"), "# Rules\n").unwrap();
    claude(&home, "s-1", &home.work());
    let listed = |more: &[&str]| {
        let found = home.json(&[&["history", "import", "--dry-run", "--since", "0"], more].concat());
        found["memory_files"].as_array().cloned().unwrap_or_default()
    };
    assert_eq!(listed(&[]).len(), 0);
    let found = listed(&["--memory-files"]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0]["path"].as_str().unwrap().ends_with("work/CLAUDE.md"), "{found:?}");
    assert_eq!(found[0]["loaded_by"], json!(["claude-code"]));
    let shown = home.run(&["history", "import", "--dry-run", "--since", "0", "--memory-files"]);
    assert!(shown.stdout.contains("CLAUDE.md"), "{shown:?}");
    // The folders of past sessions count when the transcripts are gone, as in an import.
    home.take_in();
    fs::remove_file(claude_file(&home, "s-1")).unwrap();
    assert_eq!(listed(&["--memory-files"]), found);
}

#[test]
fn sessions_of_one_project_are_listed_when_it_is_named() {
    let home = furnished();
    home.take_in();
    assert_eq!(home.past_sessions().len(), 4);
    let listed = home.json(&["history", "show", "--project", "acme/two"]);
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 2, "{listed}");
}

#[test]
fn the_oldest_session_is_named_by_its_age_or_its_day() {
    let home = furnished();
    let found = |since: &str| {
        let found = home.json(&["history", "import", "--dry-run", "--since", since]);
        found["agents"].as_array().unwrap().iter().map(|one| one["older"].as_u64().unwrap()).sum::<u64>()
    };
    let old = fs::File::options().write(true).open(claude_file(&home, "claude-two")).unwrap();
    old.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_600_000_000)).unwrap();
    for (since, older) in [("0", 0), ("30d", 1), ("2020-09-14", 1), ("2020-09-13", 0), ("yesterday", 1)] {
        assert_eq!(found(since), older, "{since}");
    }
    for wrong in ["2999-01-01", "lately", "30"] {
        let refused = home.run(&["history", "import", "--yes", "--since", wrong]);
        assert!(refused.code() == 2 && refused.stderr.contains("2026-11-21"), "{wrong}: {refused:?}");
    }
}

#[test]
fn a_folder_is_named_from_here_too() {
    let home = furnished();
    let app = fs::canonicalize(home.folder("acme-app")).unwrap();
    fs::create_dir_all(app.join("src")).unwrap();
    let excluded = |what: &str| {
        let mut command = home.command();
        let ended = finish(command.args(["history", "exclude", what]).current_dir(app.join("src")));
        (ended.code(), home.json(&["history", "exclude"])["exclude"].clone())
    };
    assert_eq!(excluded(".."), (0, json!([app])));
    assert_eq!(excluded("deep/"), (0, json!([app, app.join("src/deep")])));
    for wrong in ["~/work", "../gone"] {
        let (code, list) = excluded(wrong);
        assert_eq!((code, list.as_array().unwrap().len()), (1, 2), "{wrong}: nothing has such a name");
    }
    home.take_in();
    assert_eq!(home.past_sessions(), ["claude-two", "codex-two"]);
}
