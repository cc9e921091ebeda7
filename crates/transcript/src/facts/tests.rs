//! Which facts are found in exchanges, and which are not.

use super::*;
use crate::turn::Prompt;

fn call(action: Action, outcome: Outcome, output: &str) -> Turn {
    Turn::Call(Call {
        id: "c".into(),
        tool: "T".into(),
        action,
        outcome,
        output: output.into(),
        ..Call::default()
    })
}

fn run(line: &str, outcome: Outcome, output: &str) -> Turn {
    call(Action::Command { line: line.into() }, outcome, output)
}

fn edit(path: &str, outcome: Outcome) -> Turn {
    call(Action::Edit { paths: vec![path.into()], excerpt: String::new() }, outcome, "")
}

fn exchange(turns: Vec<Turn>) -> Exchange {
    let prompt = Some(Prompt { text: "do it".into(), ..Prompt::default() });
    Exchange { prompt, turns, cwd: Some("/w".into()), ..Exchange::default() }
}

fn facts(turns: Vec<Turn>) -> Facts {
    of(&[exchange(turns)]).remove(0)
}

#[test]
fn files_count_only_when_the_edit_went_well() {
    let refused = Outcome::Rejected { said: "not that".into() };
    let mut one = exchange(vec![
        edit("/w/src/a.rs", Outcome::Done),
        edit("/w/src/a.rs", Outcome::Done),
        edit("/w/b.rs", Outcome::Failed),
        edit("/w/c.rs", refused),
        edit("/w/d.rs", Outcome::Pending),
        edit("/home/me/.claude/plans/brave-fox.md", Outcome::Done),
        edit("/tmp/x.txt", Outcome::Done),
        edit("/elsewhere/e.rs", Outcome::Done),
        edit("/ww/f.rs", Outcome::Done),
    ]);
    one.touched = vec!["src/g.rs".into(), "src/a.rs".into()];
    let facts = of(&[one]).remove(0);
    assert_eq!(facts.edited, ["src/a.rs", "/elsewhere/e.rs", "/ww/f.rs", "src/g.rs"]);
    assert_eq!(
        facts.refusals,
        [Refusal { tool: "T".into(), what: "/w/c.rs".into(), said: "not that".into() }]
    );
    assert_eq!(
        project_file("/tmp/p/a.rs", "/tmp/p").as_deref(),
        Some("a.rs"),
        "a project may lie in a temporary folder"
    );
    for path in [".git/hooks/pre-push", ".claude/plans/a.md", "/w/.git/config", r"C:\w\.git\config"] {
        assert_eq!(project_file(path, "/w"), None, "{path}");
    }
    assert_eq!(project_file(".github/a.yml", "/w").as_deref(), Some(".github/a.yml"));
    assert_eq!(project_file(r"C:\w\src\a.rs", r"C:\w").as_deref(), Some("src/a.rs"));
}

#[test]
fn commands_of_known_families_are_stored_with_what_is_known_of_their_outcome() {
    assert!(command::families_are_sorted());
    for (line, outcome, want) in [
        ("cargo test --release", Outcome::Done, vec![("cargo test --release", Some(true))]),
        ("cargo test 2>&1 | tail -20", Outcome::Done, vec![("cargo test", None)]),
        ("cargo fmt; cargo test", Outcome::Done, vec![("cargo fmt", None), ("cargo test", Some(true))]),
        ("cargo fmt; cargo test", Outcome::Failed, vec![("cargo fmt", None), ("cargo test", Some(false))]),
        (
            "cargo fmt && make; cargo test; echo $?",
            Outcome::Done,
            vec![("cargo fmt", None), ("make", None), ("cargo test", None)],
        ),
        ("cargo test || cargo fetch", Outcome::Done, vec![("cargo test", None)]),
        ("(cargo fmt && cargo test) | tail", Outcome::Done, vec![("cargo fmt", None), ("cargo test", None)]),
        ("npm run dev > log 2>&1 &", Outcome::Done, vec![("npm run dev > log", None)]),
        ("npm run dev & npm test", Outcome::Done, vec![("npm run dev", None), ("npm test", Some(true))]),
        ("set -e\ncargo fmt\nmake", Outcome::Done, vec![("cargo fmt", Some(true)), ("make", Some(true))]),
        ("set -e\ncargo fmt\nmake", Outcome::Failed, vec![("cargo fmt", None), ("make", None)]),
        ("set -eu; cargo fmt", Outcome::Failed, vec![("cargo fmt", Some(false))]),
        ("cd x && RUST_LOG=debug cargo run", Outcome::Done, vec![("RUST_LOG=debug cargo run", Some(true))]),
        ("go build . && go test .", Outcome::Failed, vec![("go build .", None), ("go test .", None)]),
        ("cd proj && cargo test && echo done", Outcome::Failed, vec![("cargo test", Some(false))]),
        ("make lint", Outcome::Failed, vec![("make lint", Some(false))]),
        ("./scripts/check.sh fast", Outcome::Done, vec![("./scripts/check.sh fast", Some(true))]),
        ("ls -la", Outcome::Done, vec![]),
        ("git status", Outcome::Done, vec![]),
        ("git push origin main", Outcome::Done, vec![("git push origin main", Some(true))]),
        ("npm test", Outcome::Pending, vec![]),
        ("npm test | tail", Outcome::Pending, vec![]),
        ("npm test", Outcome::Rejected { said: String::new() }, vec![]),
        ("python - <<'E'\nprint(1)\nE", Outcome::Done, vec![("python - …", Some(true))]),
        ("git -C ../w status", Outcome::Done, vec![]),
        ("git -C ../w push", Outcome::Done, vec![("git -C ../w push", Some(true))]),
        ("echo 'a && cargo test'", Outcome::Done, vec![]),
    ] {
        let facts = facts(vec![run(line, outcome, "")]);
        let got: Vec<_> = facts.commands.iter().map(|command| (command.line.as_str(), command.ok)).collect();
        assert_eq!(got, want, "{line}");
    }
}

#[test]
fn of_long_commands_and_those_of_several_lines_the_beginning_is_stored() {
    let commit = "git add . && git commit -m \"$(cat <<'EOF'\nSay \"x\"; don't\nEOF\n)\" && git push";
    let long = format!("gh pr create --title x{}", " word".repeat(60));
    let begin = format!("gh pr create --title x{} …", " word".repeat(42));
    for (line, want) in [
        (commit, &["git add .", "git commit -m …", "git push"][..]),
        ("# Why; don't\ncargo bench \\\n  --features fast", &["cargo bench --features fast"]),
        ("cd w\ncargo build\n\ncargo test", &["cargo build", "cargo test"]),
        ("python3 -c \"import json; print(1)\"", &["python3 -c \"import json; print(1)\""]),
        ("gh api x --jq '.[] | .id' | head", &["gh api x --jq '.[] | .id'"]),
        (long.as_str(), &[begin.as_str()]),
    ] {
        let facts = facts(vec![run(line, Outcome::Done, "")]);
        let stored: Vec<_> = facts.commands.iter().map(|command| command.line.as_str()).collect();
        assert_eq!(stored, want, "{line}");
        assert_eq!(recorded(line), want, "it is asked for as it is stored: {line}");
        assert!(stored.iter().all(|line| line.len() <= 240), "{stored:?}");
    }
    let fixed =
        [run("# Why\ncd w\nmake x", Outcome::Failed, "error: y"), run("make x \\\n  -j2", Outcome::Done, "")];
    let facts = facts(fixed.into());
    let failure = &facts.failures[0];
    let fix = Fix { command: "make x -j2".into(), same: false, edited: vec![] };
    assert_eq!((failure.command.as_str(), failure.fix.as_ref()), ("make x", Some(&fix)));
}

#[test]
fn an_output_tells_nothing_of_a_command_that_shows_what_others_wrote() {
    let line = "gh api repos/a/b/comments | head -50";
    for output in ["the build failed with an error", "0 failed"] {
        assert_eq!(facts(vec![run(line, Outcome::Done, output)]).commands[0].ok, None, "{output}");
    }
}

#[test]
fn the_outcome_of_a_command_that_goes_on_in_the_background_is_unknown() {
    for output in [
        "Command running in background with ID: b1. Output is being written to: /t",
        "Command was manually backgrounded by user with ID: b1",
        "Command moved to background (PID: 7). Output hidden.",
        "Chunk ID: a\nWall time: 1.0 seconds\nProcess running with session ID 42\nOutput:\n3 passed",
    ] {
        for line in ["make serve", "make serve 2>&1 | tail -5"] {
            let failed = run("make serve", Outcome::Failed, "error: boom");
            let facts = facts(vec![failed, run(line, Outcome::Done, output)]);
            let known = facts.commands.iter().map(|command| command.ok).collect::<Vec<_>>();
            assert_eq!(known, [Some(false), None], "{line}: {output}");
            assert_eq!(facts.failures[0].fix, None, "{line}: {output}");
        }
    }
    let printed = "Chunk ID: a\nProcess exited with code 0\nOutput:\nProcess running with session ID 42";
    assert_eq!(facts(vec![run("make", Outcome::Done, printed)]).commands[0].ok, Some(true));
}

#[test]
fn an_error_is_linked_to_its_fix() {
    let failed = run("cd w && go test ./...", Outcome::Failed, "ok a\n/w/x.go:12:3: undefined: Foo\nFAIL");
    let exchanges = [
        exchange(vec![failed, run("ls", Outcome::Done, ""), edit("/w/x.go", Outcome::Done)]),
        exchange(vec![run("go test ./pkg", Outcome::Done, "ok")]),
    ];
    let facts = of(&exchanges);
    assert_eq!(facts[0].failures.len(), 1);
    let failure = &facts[0].failures[0];
    assert_eq!(failure.error, "/w/x.go:12:3: undefined: Foo");
    assert_eq!(failure.key, "x.go:#:#: undefined: Foo");
    let fix = Fix { command: "go test ./pkg".into(), same: false, edited: vec!["x.go".into()] };
    assert_eq!(failure.fix.as_ref(), Some(&fix));
    let far: Vec<Turn> = std::iter::once(run("make x", Outcome::Failed, "error: y"))
        .chain((0..FAR).map(|n| run(&format!("ls {n}"), Outcome::Done, "")))
        .chain([run("make x", Outcome::Done, "")])
        .collect();
    assert_eq!(of(&[exchange(far)])[0].failures[0].fix, None, "what comes much later is no fix");
}

const FAR: usize = crate::limits::FIX_COMMANDS_MAX;

#[test]
fn the_output_tells_the_outcome_of_a_command_whose_status_a_filter_hides() {
    let line = "cargo test uploads 2>&1 | tail -5";
    for (output, want) in [
        ("test result: ok. 3 passed; 0 failed; 0 ignored", Some(true)),
        ("test a ... ok\ntest gives_an error ... ok\ntest result: ok. 2 passed", Some(true)),
        ("ok  \tpkg/a\t0.1s", Some(true)),
        ("== 3 passed in 0.1s ==", Some(true)),
        ("    Finished `dev` profile in 1s", Some(true)),
        ("error[E0502]: cannot borrow\nwarning: 1 warning", Some(false)),
        ("test result: FAILED. 2 passed; 1 failed", Some(false)),
        ("test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured", Some(false)),
        ("Tests run: 3, Failures: 0, Errors: 0\nBUILD SUCCESS", Some(true)),
        ("== 1 failed, 10 passed in 0.1s ==", Some(false)),
        ("--- FAIL: TestX", Some(false)),
        ("what it prints", None),
        ("", None),
    ] {
        let failed = run("cargo test", Outcome::Failed, "error: boom");
        let facts = facts(vec![failed, run(line, Outcome::Done, output)]);
        let known = facts.commands.iter().map(|command| command.ok).collect::<Vec<_>>();
        assert_eq!(known, [Some(false), want], "{output}");
        assert_eq!(facts.failures[0].fix.is_some(), want == Some(true), "{output}");
    }
}

#[test]
fn the_line_that_says_what_went_wrong_names_an_error() {
    for (output, want) in [
        (
            "test uploads::twice ... FAILED\nerror[E0502]: cannot borrow `x`\nerror: could not compile `a`",
            "error[E0502]: cannot borrow `x`",
        ),
        (
            "running 1 test\ntest a ... FAILED\ntest result: FAILED. 0 passed; 1 failed\nerror: test failed, to rerun",
            "test a ... FAILED",
        ),
        ("0 errors\nTypeError: x is no function", "TypeError: x is no function"),
        ("make: *** [all] Error 2", "make: *** [all] Error 2"),
        (
            "Command: go test ./...\nDirectory: (root)\nOutput: FAIL: TestX\nError: (none)\nExit Code: 1",
            "FAIL: TestX",
        ),
        ("Command: ./run error\nDirectory: (root)\nOutput: (empty)\nError: (none)\nExit Code: 1", ""),
        ("first\nsecond", "first"),
    ] {
        let facts = facts(vec![run("make x", Outcome::Failed, output)]);
        assert_eq!(facts.failures[0].error, want, "{output}");
    }
}

#[test]
fn an_exit_status_that_answers_a_question_is_no_error() {
    for (line, output) in [("grep -r foo .", ""), ("test -f x", ""), ("diff a b", "1c1"), ("pgrep x", "")] {
        assert!(facts(vec![run(line, Outcome::Failed, output)]).failures.is_empty(), "{line}");
    }
    assert_eq!(facts(vec![run("make", Outcome::Failed, "boom")]).failures[0].error, "boom");
}

#[test]
fn commits_are_taken_from_what_git_printed() {
    let printed = "[main 1a2b3c4] Fix the reader\n 1 file changed";
    for (line, output, id, subject) in [
        ("git add . && git commit -m 'x'", printed, Some("1a2b3c4"), "Fix the reader"),
        ("git commit -q -m \"Quiet one\"", "", None, "Quiet one"),
        ("git commit -m \"$(cat <<'EOF'\nFrom a document\n\nBody\nEOF\n)\"", "", None, "From a document"),
    ] {
        let commits = facts(vec![run(line, Outcome::Done, output)]).commits;
        assert_eq!(commits, [Commit { id: id.map(str::to_owned), subject: subject.into() }], "{line}");
    }
    assert!(facts(vec![run("git commit -m x", Outcome::Failed, printed)]).commits.is_empty());
    assert!(facts(vec![run("git log", Outcome::Done, printed)]).commits.is_empty());
}

#[test]
fn plans_answers_and_last_words_are_stored() {
    let long = "a".repeat(201);
    let reply = |text: &str| Turn::Reply { text: text.into(), at: None };
    let questions = vec![Question { text: "Which?".into(), options: vec!["A".into()] }];
    let found = facts(vec![
        call(Action::Plan { text: "first".into() }, Outcome::Rejected { said: String::new() }, ""),
        call(Action::Plan { text: "second".into() }, Outcome::Done, ""),
        call(Action::Ask { questions: questions.clone() }, Outcome::Done, "A"),
        Turn::Compaction { summary: "so far".into(), at: None },
        reply(&long),
        Turn::Stopped { by: Stop::Person, at: None },
    ]);
    assert_eq!(found.plans[0], Plan { text: "first".into(), accepted: Some(false) });
    assert_eq!(found.plans[1].accepted, Some(true));
    assert_eq!(found.answers, [Answer { questions, answer: "A".into() }]);
    assert_eq!((found.summary.as_deref(), found.reply.as_deref()), (Some("so far"), Some(long.as_str())));
    assert!(found.interrupted);
    for turns in [
        vec![reply("short")],
        vec![reply(&long), Turn::Stopped { by: Stop::Service, at: None }],
        vec![reply(&long), run("make", Outcome::Pending, "")],
    ] {
        assert_eq!(facts(turns).reply, None);
    }
}

#[test]
fn to_dos_follow_the_last_list_and_single_changes() {
    let item =
        |text: &str, id: &str, status: &str| Todo { text: text.into(), id: id.into(), status: status.into() };
    let by = |tool: &str, items: Vec<Todo>| {
        let (tool, action) = (tool.to_owned(), Action::Todo { items });
        Turn::Call(Call { tool, action, outcome: Outcome::Done, ..Call::default() })
    };
    let todo = |items: Vec<Todo>| by("todo_write", items);
    let task = |item: Todo| by("TaskUpdate", vec![item]);
    let list = vec![item("a", "", "completed"), item("b", "", "pending")];
    let found = facts(vec![todo(vec![item("old", "", "pending")]), todo(list.clone())]);
    assert_eq!(found.to_do, Some(ToDo { whole: true, items: list }));
    let single = facts(vec![
        task(item("first", "1", "")),
        task(item("second", "2", "")),
        task(item("", "1", "completed")),
        task(item("", "7", "in_progress")),
        task(item("without an id", "", "")),
    ]);
    let items = vec![item("first", "1", "completed"), item("second", "2", ""), item("", "7", "in_progress")];
    assert_eq!(single.to_do, Some(ToDo { whole: false, items }), "the seventh's text is elsewhere");
    let two = vec![item("a", "1", "completed"), item("b", "2", "pending")];
    let last = vec![item("c", "3", "completed")];
    let found = facts(vec![todo(two), todo(last.clone())]);
    assert_eq!(found.to_do, Some(ToDo { whole: true, items: last }), "a list may have one item, with an id");
    let other = run("make", Outcome::Done, "");
    assert_eq!(facts(vec![other]).to_do, None, "no list was written");
}
