//! What requests, tasks and the end of a session make of a piece of work, in whatever order they are reported.

use super::{Piece, at, text};
use crate::{
    Ending, Outcome, PlanStep, Standing, State, Step, World,
    fold::fold_all,
    hint, limits,
    work::{UNTITLED, gives_title},
};

fn folded(steps: &[Step]) -> (Piece, State) {
    let mut piece = Piece::begin("session");
    for step in steps {
        piece.note(step);
    }
    let state = fold_all(&piece.entries());
    (piece, state)
}

fn prompt(text: &str) -> Step {
    Step::Prompt { text: text.to_owned() }
}

fn begun(title: &str) -> Step {
    Step::Begun {
        title: title.to_owned(),
        goal: None,
        agent: "claude-code".to_owned(),
        directory: None,
        commit: None,
        steps: Vec::new(),
    }
}

fn ended() -> Step {
    Step::Ended { reason: "other".to_owned() }
}

fn closed() -> Step {
    Step::Closed { outcome: Outcome::Done, text: None }
}

#[test]
fn the_first_request_that_says_something_is_the_title() {
    for (requests, title) in [
        (&["continue", "Add caching to the uploads", "Now the tests"][..], "Add caching to the uploads"),
        (&["ok", "go on!", "Yes, please.", "Fix uploads"], "Fix uploads"),
        (&["Fix uploads", "continue"], "Fix uploads"),
        (&["continue", "ok"], "continue"),
        (&["/review", "修复上传测试", "Now the tests"], "修复上传测试"),
        (&["Überarbeitung", "Now the tests"], "Überarbeitung"),
    ] {
        let mut steps = vec![begun(requests[0])];
        steps.extend(requests.iter().map(|request| prompt(request)));
        assert_eq!(folded(&steps).1.title, title, "{requests:?}");
    }
    assert!(gives_title("ok", UNTITLED) && gives_title("Add a cache", "ok"));
    assert!(!gives_title("ok", "ok") && !gives_title("Add a cache", "Mend it"));
}

#[test]
fn a_task_may_be_changed_before_it_is_reported() {
    let set = |task: &str, standing: Standing| Step::StepSet {
        step: 0,
        task: Some(task.to_owned()),
        standing,
        text: None,
    };
    let add = |task: &str, text: &str| Step::StepAdded { text: text.to_owned(), task: Some(task.to_owned()) };
    let steps =
        [set("1", Standing::Active), add("2", "Mend it"), add("1", "Write tests"), add("1", "Once more")];
    let is = |step: &PlanStep, number, text: &str, standing| {
        assert_eq!((step.number, step.text.as_str(), step.standing), (number, text, standing), "{step:?}");
        assert!(!step.is_ahead);
    };
    let (_, state) = folded(&steps);
    let [first, second, third] = &state.steps[..] else { panic!("{:?}", state.steps) };
    is(first, 1, "Write tests", Standing::Active);
    is(second, 2, "Mend it", Standing::Pending);
    // An agent that begins anew counts from the start.
    is(third, 3, "Once more", Standing::Pending);

    let (piece, state) = folded(&steps[..1]);
    let shown = hint(&piece.work, &state, &World::at(at(60)), limits::HINT_BYTES);
    assert!(shown.contains("Steps: 0 of 1 done; next by its plan: 1 task 1"), "{shown}");
    let many: Vec<Step> = (0..100).map(|n| set(&format!("t{n}"), Standing::Pending)).collect();
    assert_eq!(folded(&many).1.steps.len(), limits::STEPS_MAX);
}

#[test]
fn what_is_left_half_way_outlives_the_end_of_its_session() {
    let started = Step::Started {
        call: "b".to_owned(),
        tool: "background".to_owned(),
        what: "./migrate.sh".to_owned(),
    };
    let failed = Step::TurnFailed { error: "rate_limit".to_owned() };
    let turn_ended = Step::TurnEnded { said: None };
    for (steps, is_left) in [
        (vec![prompt("Migrate it"), turn_ended.clone(), started.clone(), ended()], true),
        (vec![prompt("Migrate it"), failed.clone(), ended()], true),
        (vec![prompt("Migrate it"), ended()], false),
        (vec![prompt("Migrate it"), started.clone(), turn_ended.clone(), ended()], false),
    ] {
        let (_, state) = folded(&steps);
        assert_eq!((state.is_left_half_way(), state.is_broken_off()), (is_left, is_left), "{steps:?}");
        assert_eq!((state.is_over(), state.was_closed_too_early()), (!is_left, false));
    }
    // Reports that arrive after that of the end. Whoever closed it otherwise knew better.
    for late in [started, failed] {
        let close = [prompt("Migrate it"), ended(), closed()];
        assert!(!folded(&close).1.was_closed_too_early());
        let (_, state) = folded(&[&close[..], std::slice::from_ref(&late)].concat());
        assert!(state.was_closed_too_early(), "{late:?}");
        let (_, state) = folded(&[&close[..], &[late.clone(), Step::Reopened]].concat());
        assert!(!state.was_closed_too_early() && state.is_broken_off(), "{late:?}");
        assert!(state.last.iter().all(|last| !last.text.contains("closed")), "{:?}", state.last);
        let by_a_person = [prompt("Migrate it"), closed(), late];
        assert!(!folded(&by_a_person).1.was_closed_too_early());
    }
    // It ended after all.
    let ran = Step::Ran {
        call: Some("b".to_owned()),
        command: "./migrate.sh".to_owned(),
        ending: Ending::Passed,
        exit: Some(0),
        ms: None,
        tests: None,
        tail: String::new(),
    };
    let started =
        Step::Started { call: "b".to_owned(), tool: "Bash".to_owned(), what: "./migrate.sh".to_owned() };
    let (piece, state) = folded(&[prompt("Migrate it"), started, ended(), ran]);
    assert!(!state.is_left_half_way(), "{state:?}");
    assert_eq!(piece.work.title, text("make redaction stream"));
}
