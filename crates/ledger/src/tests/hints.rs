//! The fold, and the hint about its state.

use proptest::prelude::*;

use super::{Piece, at};
use crate::{
    Action, Ending, Entry, IntentStanding, LiveSession, Outcome, Planned, Repeat, SeenFile, Standing, State,
    Step, Tests, World, action, fold, fold::fold_all, hint, limits, work::UNTITLED,
};

/// A session that is killed at the worst moment.
fn interrupted(kind: &str) -> Piece {
    let mut piece = Piece::begin(kind);
    let steps = [
        Step::Begun {
            title: "make redaction stream".to_owned(),
            goal: None,
            agent: "claude-code".to_owned(),
            directory: Some("/srv/demo".to_owned()),
            commit: Some("a41c0ffee".to_owned()),
            steps: vec!["rules".to_owned(), "reader".to_owned(), "PEM over chunk borders".to_owned()],
        },
        Step::Prompt { text: "now do the PEM case, keep the API".to_owned() },
        Step::StepSet { step: 1, task: None, standing: Standing::Passed, text: None },
        Step::StepSet { step: 2, task: None, standing: Standing::Passed, text: None },
        Step::Edited {
            call: None,
            path: "src/redact/rules.rs".to_owned(),
            added: 31,
            removed: 4,
            digest: Some("11aa".to_owned()),
        },
        Step::Ran {
            call: Some("t1".to_owned()),
            command: "cargo test".to_owned(),
            ending: Ending::Failed,
            exit: Some(101),
            ms: Some(4_000),
            tests: Some(Tests {
                tool: "cargo test".to_owned(),
                passed: Some(40),
                failed: Some(2),
                names: vec!["pem_split".to_owned(), "pem_nested".to_owned()],
            }),
            tail: String::new(),
        },
        Step::Intent { key: "pr-7f".to_owned(), text: "gh pr create".to_owned(), repeat: Repeat::Check },
        Step::Started {
            call: "t2".to_owned(),
            tool: "Bash".to_owned(),
            what: "cargo test -p redact".to_owned(),
        },
        Step::Gap {
            from: at(1),
            to: at(2),
            count: Some(3),
            reason: "the journal was too slow".to_owned(),
            filled: false,
        },
        Step::Gap {
            from: at(1),
            to: at(2),
            count: Some(9),
            reason: "told after all".to_owned(),
            filled: true,
        },
        Step::Lost,
    ];
    for step in &steps {
        piece.note(step);
    }
    piece
}

fn world() -> World {
    World {
        commit: Some("a41c0ffee".to_owned()),
        files: vec![SeenFile { path: "src/redact/rules.rs".to_owned(), digest: Some("22bb".to_owned()) }],
        live: vec![LiveSession {
            agent: "codex".to_owned(),
            active_at: at(60),
            files: vec!["/srv/demo/src/redact/rules.rs".to_owned()],
        }],
        head: Some((10_482, "9f2ce1a0b3d4c5e6".to_owned())),
        ..World::at(at(300))
    }
}

#[test]
fn the_hint_has_all_that_the_next_agent_needs() {
    let piece = interrupted("session");
    let state = fold_all(&piece.entries());
    let text = hint(&piece.work, &state, &world(), limits::HINT_BYTES);
    for line in [
        "Unfinished: \"make redaction stream\" (claude-code, lost 00:00 UTC while running `cargo test -p redact`",
        "Last request 00:00 UTC: \"now do the PEM case, keep the API\"",
        "Steps: 2 of 3 done; next by its plan: 3 PEM over chunk borders",
        "Last test run: `cargo test` → 2 failed: pem_split, pem_nested",
        "Edited: src/redact/rules.rs +31 −4 (in /srv/demo)",
        "cargo test → exit 101: pem_split, pem_nested",
        "Unknown outcome: gh pr create (key pr-7f): to be checked before it is repeated",
        "Unknown outcome: Bash `cargo test -p redact` had begun 00:00 UTC",
        "Checkout now: HEAD a41c0ffee as when it began; src/redact/rules.rs changed (not by this work)",
        "Also live here: codex (4 min ago) edited src/redact/rules.rs",
        "Not recorded: 3 events (the journal was too slow)",
        "The turn of the last request has no end",
        "Counts as unfinished until `cerebro work close ",
        "log 10482 9f2ce1a0b3d4c5e6",
    ] {
        assert!(text.contains(line), "{line}\n---\n{text}");
    }
    assert!(text.len() <= limits::HINT_BYTES);
    assert_eq!(action(&state, &world()), Action::CheckFirst);
}

#[test]
fn every_kind_has_a_hint_also_one_of_a_newer_program() {
    for kind in ["session", "task", "research", "", "🦀"] {
        let mut piece = interrupted(kind);
        piece.rows[4].kind = "from_the_future".to_owned();
        piece.rows[4].body = Some(super::text("{\"kind\":\"from_the_future\",\"x\":1}"));
        let state = fold_all(&piece.entries());
        assert_eq!((state.unknown, state.purged), (1, 0));
        let text = hint(&piece.work, &state, &world(), limits::HINT_BYTES);
        assert!(text.contains("now do the PEM case"), "{text}");
    }
}

#[test]
fn the_most_urgent_need_decides_the_action() {
    let piece = interrupted("task");
    let mut state = fold_all(&piece.entries());
    let mut world = world();
    let apply = |state: &mut State, step: Step| {
        let entry = Entry {
            seq: state.seq + 1,
            at: at(90),
            happened: at(90),
            kind: step.kind().to_owned(),
            step: Some(step),
            late: false,
            full: 0,
            artifact: None,
        };
        *state = fold(std::mem::take(state), &entry);
    };
    apply(&mut state, Step::Confirmed { key: "pr-7f".to_owned() });
    assert_eq!(action(&state, &world), Action::Resume);
    let text = hint(&piece.work, &state, &world, limits::HINT_BYTES);
    assert!(!text.contains("gh pr create"), "a confirmed effect is not proposed again: {text}");
    apply(
        &mut state,
        Step::Intent { key: "pr-7f".to_owned(), text: "gh pr create".to_owned(), repeat: Repeat::Safe },
    );
    assert_eq!(state.intent("pr-7f").unwrap().standing, IntentStanding::Confirmed);
    apply(&mut state, Step::Gate { name: "review".to_owned(), standing: Standing::Pending, text: None });
    assert_eq!(action(&state, &world), Action::WaitGate);
    world.held_by = Some("s9".to_owned());
    assert_eq!(action(&state, &world), Action::Held);
    apply(&mut state, Step::Closed { outcome: Outcome::Abandoned, text: None });
    assert_eq!(action(&state, &world), Action::Complete);
}

#[test]
fn a_call_whose_end_is_reported_before_its_beginning_is_not_under_way() {
    let mut piece = Piece::begin("session");
    let called = |n: usize| Step::Called {
        call: Some(format!("t{n}")),
        tool: "Read".to_owned(),
        what: String::new(),
        ending: Ending::Passed,
    };
    let started =
        |n: usize| Step::Started { call: format!("t{n}"), tool: "Read".to_owned(), what: "a.rs".to_owned() };
    piece.note(&called(0));
    piece.note(&started(0));
    assert!(fold_all(&piece.entries()).under_way.is_empty());
    // In the right order, the call is under way in between, and nothing of it is kept after its end.
    piece.note(&started(1));
    assert_eq!(fold_all(&piece.entries()).under_way.len(), 1);
    piece.note(&called(1));
    let state = fold_all(&piece.entries());
    assert_eq!((state.under_way.len(), state.ended_calls.len()), (0, 0));
    (2..100).for_each(|n| piece.note(&called(n)));
    assert_eq!(fold_all(&piece.entries()).ended_calls.len(), limits::CALLS_MAX);
}

#[test]
fn closed_work_stays_closed_when_its_texts_are_purged() {
    let mut piece = Piece::begin("task");
    piece.note(&Step::Closed { outcome: Outcome::Failed, text: Some("no way".to_owned()) });
    (0..piece.entries().len()).for_each(|i| piece.purge(i));
    let state = fold_all(&piece.entries());
    assert_eq!((state.closed, action(&state, &world())), (Some(Outcome::Unknown), Action::Complete));
    piece.note(&Step::Reopened);
    assert_eq!(fold_all(&piece.entries()).closed, None);
}

#[test]
fn a_fork_of_closed_work_is_open_nobody_holds_it_and_nothing_in_it_is_late() {
    let mut piece = Piece::begin("task");
    piece.note(&Step::Closed { outcome: Outcome::Done, text: None });
    piece.note(&Step::Blocked { text: "too late".to_owned() });
    piece.note(&Step::Forked { from: "another".to_owned(), at: 2 });
    let mut entries = piece.entries();
    entries[1].late = true;
    let state = fold_all(&entries);
    assert_eq!((state.closed, state.late, state.holders.len()), (None, 0, 0));
    // Also when its texts are purged.
    (0..entries.len()).for_each(|i| piece.purge(i));
    let state = fold_all(&piece.entries());
    assert_eq!((state.closed, state.late, state.purged), (None, 0, entries.len() as u64));
}

#[test]
fn a_late_event_changes_no_state() {
    let mut piece = interrupted("task");
    let before = fold_all(&piece.entries());
    piece.note(&Step::Closed { outcome: Outcome::Done, text: None });
    let mut entries = piece.entries();
    entries.last_mut().unwrap().late = true;
    let after = fold_all(&entries);
    assert_eq!(after, State { seq: before.seq + 1, late: 1, ..before });
}

fn steps() -> impl Strategy<Value = Step> {
    let text = ".{0,900}";
    prop_oneof![
        text.prop_map(|text| Step::Prompt { text }),
        text.prop_map(|command| Step::Ran {
            call: None,
            command,
            ending: Ending::Failed,
            exit: None,
            ms: None,
            tests: None,
            tail: String::new(),
        }),
        text.prop_map(|path| Step::Edited { call: None, path, added: 1, removed: 1, digest: None }),
        (text, text).prop_map(|(key, text)| Step::Intent { key, text, repeat: Repeat::Never }),
        (text, text).prop_map(|(call, what)| Step::Started { call, tool: "x".to_owned(), what }),
        text.prop_map(|text| Step::StepAdded { text, task: None }),
        text.prop_map(|name| Step::Gate { name, standing: Standing::Failed, text: None }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_hint_is_bounded_and_begins_no_frame(
        steps in prop::collection::vec(steps(), 0..60),
        max in 0_usize..4_000,
    ) {
        let mut piece = Piece::begin("session");
        for step in &steps {
            piece.note(step);
        }
        let state = fold_all(&piece.entries());
        let text = hint(&piece.work, &state, &world(), max);
        prop_assert!(text.len() <= max.clamp(limits::HINT_BYTES_RANGE.0, limits::HINT_BYTES_RANGE.1));
        prop_assert!(!text.contains('<'));
        prop_assert_eq!(&text, &hint(&piece.work, &state, &world(), max), "pure");
    }
}

#[test]
fn a_turn_that_failed_is_broken_off_however_its_session_ended() {
    let mut piece = Piece::begin("session");
    piece.note(&Step::Prompt { text: "mend it".to_owned() });
    let broken_off = |piece: &Piece| fold_all(&piece.entries()).is_broken_off();
    assert!(broken_off(&piece));
    piece.note(&Step::TurnFailed { error: "rate_limit".to_owned() });
    piece.note(&Step::Ended { reason: "exit".to_owned() });
    let told = |piece: &Piece| hint(&piece.work, &fold_all(&piece.entries()), &world(), limits::HINT_BYTES);
    assert!(broken_off(&piece));
    let text = told(&piece);
    assert!(text.contains("its turn broke off 00:00 UTC: rate_limit"), "{text}");
    assert!(!text.contains("has no end"), "one line says it: {text}");
    // If the agent was lost as well, the headline says that.
    piece.note(&Step::Lost);
    let text = told(&piece);
    assert!(text.contains("The turn of the last request broke off: rate_limit"), "{text}");
    // The next turn ends properly, and its user ends the session between two turns.
    piece.note(&Step::Prompt { text: "go on".to_owned() });
    piece.note(&Step::TurnEnded { said: None });
    assert!(!broken_off(&piece));
    piece.note(&Step::Ended { reason: "exit".to_owned() });
    assert!(!broken_off(&piece));
}

#[test]
fn the_first_request_becomes_the_title_of_a_session_that_had_none() {
    let mut piece = Piece::begin("session");
    let begun = Step::Begun {
        title: UNTITLED.to_owned(),
        goal: None,
        agent: "codex".to_owned(),
        directory: None,
        commit: None,
        steps: Vec::new(),
    };
    piece.note(&begun);
    piece.note(&Step::Prompt { text: "add caching\nto the uploads".to_owned() });
    piece.note(&Step::Prompt { text: "and then?".to_owned() });
    assert_eq!(fold_all(&piece.entries()).title, "add caching to the uploads");
}

#[test]
fn the_outcome_of_a_test_run_is_told_once() {
    let run = |ending, exit, names: &[&str]| Step::Ran {
        call: Some("c1".to_owned()),
        command: "cargo test up".to_owned(),
        ending,
        exit,
        ms: None,
        tests: Some(Tests {
            tool: "cargo test".to_owned(),
            passed: None,
            failed: None,
            names: names.iter().map(|name| (*name).to_owned()).collect(),
        }),
        tail: String::new(),
    };
    for names in [&[][..], &["up::a"][..]] {
        let mut piece = Piece::begin("session");
        // The hook of Codex, then its transcript.
        piece.note(&run(Ending::Unknown, None, names));
        piece.note(&run(Ending::Failed, Some(101), names));
        let text = hint(&piece.work, &fold_all(&piece.entries()), &world(), limits::HINT_BYTES);
        assert!(text.contains("cargo test up → exit 101"), "{text}");
        assert!(!text.contains("outcome not reported"), "{text}");
    }
}

#[test]
fn a_run_that_fails_without_a_failed_test_has_failed() {
    let mut piece = Piece::begin("session");
    piece.note(&Step::Ran {
        call: None,
        command: "cargo test".to_owned(),
        ending: Ending::Failed,
        exit: Some(101),
        ms: None,
        tests: crate::verdict::tests("cargo test", "test result: ok. 5 passed; 0 failed\nerror[E0432]"),
        tail: String::new(),
    });
    let text = hint(&piece.work, &fold_all(&piece.entries()), &world(), limits::HINT_BYTES);
    assert!(text.contains("Last test run: `cargo test` → failed"), "{text}");
}

#[test]
fn a_command_in_the_background_has_an_unknown_outcome_after_its_turn() {
    let mut piece = Piece::begin("session");
    let started = |call: &str| Step::Started {
        call: call.to_owned(),
        tool: "Bash".to_owned(),
        what: "./migrate.sh".to_owned(),
    };
    piece.note(&started("c1"));
    piece.note(&Step::TurnEnded { said: None });
    assert!(fold_all(&piece.entries()).under_way.is_empty());
    piece.note(&started("background-b1"));
    piece.note(&Step::Lost);
    let state = fold_all(&piece.entries());
    assert!(state.is_broken_off());
    let text = hint(&piece.work, &state, &world(), limits::HINT_BYTES);
    assert!(text.contains("Unknown outcome: Bash `./migrate.sh` had begun"), "{text}");
    // A turn at whose end it is not named any more.
    piece.note(&Step::TurnEnded { said: None });
    assert!(fold_all(&piece.entries()).under_way.is_empty());
}

#[test]
fn tasks_of_the_agent_are_steps_that_are_found_by_their_own_ids() {
    let mut piece = Piece::begin("session");
    let planned = |text: &str| Planned { text: text.to_owned(), standing: Standing::Passed };
    piece.note(&Step::Planned { steps: vec![planned("look"), planned("think")] });
    let added = |id: &str, text: &str| Step::StepAdded { text: text.to_owned(), task: Some(id.to_owned()) };
    let set = |id: &str, standing| Step::StepSet { step: 0, task: Some(id.to_owned()), standing, text: None };
    piece.note(&added("1", "rules"));
    piece.note(&added("2", "reader"));
    piece.note(&set("1", Standing::Passed));
    piece.note(&set("9", Standing::Passed));
    let text = hint(&piece.work, &fold_all(&piece.entries()), &world(), limits::HINT_BYTES);
    assert!(
        text.contains("Steps: 4 of 5 done; next by its plan: 4 reader") && text.contains("task 1 done"),
        "{text}"
    );
}

#[test]
fn a_call_of_a_model_without_an_end_has_an_unknown_outcome() {
    let mut piece = Piece::begin("task");
    let (call, provider) = ("review".to_owned(), "openai".to_owned());
    piece.note(&Step::ModelStarted { call: call.clone(), provider, response: Some("resp_7".to_owned()) });
    let text = hint(&piece.work, &fold_all(&piece.entries()), &world(), limits::HINT_BYTES);
    assert!(text.contains("Unknown outcome: openai `resp_7` had begun"), "{text}");
    piece.note(&Step::ModelEnded { call, ending: Ending::Passed });
    let text = hint(&piece.work, &fold_all(&piece.entries()), &world(), limits::HINT_BYTES);
    assert!(!text.contains("resp_7"), "{text}");
}
