//! What the next agent is told after sessions as they happen, as whole texts: `told/*.txt`.

use cerebro_core::domain::WorkId;

use super::{Piece, at};
use crate::{
    Ending, Planned, Repeat, SeenFile, Standing, Step, Unfinished, World, fold::fold_all, hint, limits,
    verdict,
};

const FOLDER: &str = "/srv/demo";
const COMMIT: &str = "a41c0ffee0d15ea5e";
const OTHER_COMMIT: &str = "b52d0ffee0d15ea5e";

/// A session of Claude Code in [`FOLDER`], whose first request is its title.
fn session(request: &str) -> Piece {
    let mut piece = Piece::begin("session");
    piece.work.id = WorkId::parse("abcdefghij27").unwrap();
    piece.note(&Step::Begun {
        title: request.to_owned(),
        goal: None,
        agent: "claude-code".to_owned(),
        directory: Some(FOLDER.to_owned()),
        commit: Some(COMMIT.to_owned()),
        steps: Vec::new(),
    });
    piece.note(&prompt(request));
    piece
}

fn prompt(text: &str) -> Step {
    Step::Prompt { text: text.to_owned() }
}

fn said(text: &str) -> Step {
    Step::TurnEnded { said: Some(text.to_owned()) }
}

fn edited(path: &str) -> Step {
    let (path, digest) = (format!("{FOLDER}/{path}"), Some(path.to_owned()));
    Step::Edited { call: None, path, added: 3, removed: 1, digest }
}

fn started(call: &str, what: &str) -> Step {
    Step::Started { call: call.to_owned(), tool: "Bash".to_owned(), what: what.to_owned() }
}

fn ran(command: &str, exit: i32, output: &str) -> Step {
    Step::Ran {
        call: None,
        command: command.to_owned(),
        ending: if exit == 0 { Ending::Passed } else { Ending::Failed },
        exit: Some(exit),
        ms: None,
        tests: verdict::tests(command, output),
        tail: String::new(),
    }
}

const FAILED: &str = "test uploads::twice ... FAILED\ntest result: FAILED. 7 passed; 1 failed; 0 ignored";
const PASSED: &str = "test result: ok. 8 passed; 0 failed; 0 ignored";

/// The checkout as it is found: the files that were edited, each with its digest.
fn checkout(commit: &str, files: &[(&str, Option<&str>)]) -> World {
    let seen = |(path, digest): &(&str, Option<&str>)| SeenFile {
        path: format!("{FOLDER}/{path}"),
        digest: digest.map(str::to_owned),
    };
    let files = files.iter().map(seen).collect();
    World { commit: Some(commit.to_owned()), files, ..World::at(at(3_600)) }
}

fn told(piece: &Piece, world: &World) -> String {
    hint(&piece.work, &fold_all(&piece.entries()), world, limits::HINT_BYTES)
}

#[track_caller]
fn is_told(piece: &Piece, world: &World, want: &str) {
    let text = told(piece, world);
    assert_eq!(text, want.trim(), "\n--- instead of ---\n{}\n", want.trim());
}

#[test]
fn a_short_session_killed_in_a_push() {
    let mut piece = session("Make the upload test pass, keep the API");
    piece.note(&ran("cargo test uploads", 101, FAILED));
    piece.note(&edited("src/a.rs"));
    piece.note(&ran("cargo test uploads", 0, PASSED));
    piece.note(&started("t3", "git push origin main"));
    piece.note(&Step::Lost);
    is_told(
        &piece,
        &checkout(COMMIT, &[("src/a.rs", Some("src/a.rs"))]),
        include_str!("told/killed_in_a_push.txt"),
    );
}

#[test]
fn a_fix_that_was_not_tested_yet() {
    let mut piece = session("Make the upload test pass, keep the API");
    piece.note(&ran("cargo test uploads", 101, FAILED));
    piece.note(&edited("src/a.rs"));
    piece.note(&edited("src/b.rs"));
    piece.note(&Step::Lost);
    let world = checkout(OTHER_COMMIT, &[("src/a.rs", Some("another")), ("src/b.rs", None)]);
    is_told(&piece, &world, include_str!("told/untested_fix.txt"));
}

#[test]
fn a_long_session_of_many_turns_is_compacted() {
    let request = "Migrate the uploads from sync to async. Read docs/uploads.md first, then plan. Keep the public \
                   API, and do not touch src/legacy: another team works there";
    let mut piece = session(request);
    for n in 1..=12 {
        piece.note(&Step::StepAdded { text: format!("migrate part {n}"), task: Some(n.to_string()) });
    }
    for n in 1..=7 {
        let set = |standing| Step::StepSet { step: 0, task: Some(n.to_string()), standing, text: None };
        piece.note(&set(Standing::Active));
        (0..8).for_each(|file| piece.note(&edited(&format!("src/part{n}/{file}.rs"))));
        (0..8).for_each(|_| piece.note(&ran(&format!("cargo build --features part{n}"), 0, "")));
        piece.note(&ran("cargo clippy -- -D warnings", 101, ""));
        (0..9).for_each(|file| piece.note(&ran(&format!("rg -n block_on src/part{n}/{file}.rs"), 0, "")));
        piece.note(&ran("cargo test uploads", 0, PASSED));
        piece.note(&edited(&format!("src/part{n}/0.rs")));
        (0..5).for_each(|_| piece.note(&ran("git status", 0, "")));
        piece.note(&set(Standing::Passed));
        piece.note(&said(&format!(
            "Part {n} is migrated, with retries in RetryPolicy. Next I do part {}.",
            n + 1
        )));
        piece.note(&prompt("good, go on"));
    }
    piece.note(&Step::Compacted { trigger: "auto".to_owned(), summary: None });
    is_told(&piece, &checkout(COMMIT, &[]), include_str!("told/compacted.txt"));
}

#[test]
fn a_migration_in_the_background_outlives_its_session_and_another_one_pushed() {
    let mut piece = session("Start the migration in the background, then write the release notes");
    piece.note(&started("t1", "./migrate.sh --all"));
    piece.note(&edited("NOTES.md"));
    piece.note(&said("The migration runs; the notes are written."));
    piece.note(&started("background-b1", "./migrate.sh --all"));
    piece.note(&Step::Ended { reason: "prompt_input_exit".to_owned() });
    let mut other = session("Publish the crate");
    other.work.id = WorkId::parse("klmnopqrst27").unwrap();
    other.note(&started("t1", "cargo publish"));
    other.note(&Step::Lost);
    let mut world = checkout(COMMIT, &[("NOTES.md", Some("NOTES.md"))]);
    world.others = vec![Unfinished::of(&other.work, &fold_all(&other.entries()))];
    is_told(&piece, &world, include_str!("told/background.txt"));
}

#[test]
fn a_task_with_decisions_and_an_effect_to_be_checked() {
    let mut piece = Piece::begin("task");
    piece.work.id = WorkId::parse("abcdefghij27").unwrap();
    piece.note(&Step::Begun {
        title: "Publish release 1.2".to_owned(),
        goal: Some("1.2 is on the registry, with notes".to_owned()),
        agent: "codex-mcp-client".to_owned(),
        directory: None,
        commit: None,
        steps: ["changelog", "tag", "publish", "announce", "close the milestone"].map(str::to_owned).to_vec(),
    });
    for step in [1, 2] {
        piece.note(&Step::StepSet { step, task: None, standing: Standing::Passed, text: None });
    }
    piece.note(&Step::Decision { text: "no pre-release: the last one was ignored".to_owned() });
    piece.note(&Step::Note { text: "the registry refuses packages over 10 MiB".to_owned() });
    (0..5).for_each(|_| piece.note(&ran("cargo package --list", 0, "")));
    let text = "cargo publish 1.2".to_owned();
    piece.note(&Step::Intent { key: "publish-1.2".to_owned(), text, repeat: Repeat::Check });
    let (name, text) = ("review".to_owned(), Some("Ann has it".to_owned()));
    piece.note(&Step::Gate { name, standing: Standing::Pending, text });
    is_told(&piece, &World::at(at(86_400)), include_str!("told/task.txt"));
}

#[test]
fn a_turn_that_broke_off_at_a_rate_limit() {
    let mut piece = session("continue");
    piece.note(&prompt("Add caching to the uploads"));
    let planned = |text: &str, standing| Planned { text: text.to_owned(), standing };
    let steps = vec![
        planned("read", Standing::Passed),
        planned("write", Standing::Active),
        planned("drop", Standing::Dropped),
    ];
    piece.note(&Step::Planned { steps });
    piece.note(&ran("make lint", 2, ""));
    (0..5).for_each(|n| piece.note(&edited(&format!("src/{n}.rs"))));
    piece.note(&Step::TurnFailed { error: "rate_limit: try again at 14:00".to_owned() });
    is_told(&piece, &World::at(at(3_600)), include_str!("told/rate_limit.txt"));
}
