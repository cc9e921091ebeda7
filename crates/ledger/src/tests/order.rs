//! Agents do not wait for their hooks, so reports may arrive in another order than things happened. The state must be
//! the same.

use proptest::prelude::*;

use super::at;
use crate::{
    Ending, Entry, Planned, Standing, State, Step, Tests, World, fold::fold_all, hint, limits, tests::Piece,
};

/// How many later reports one may overtake.
const LATE_MAX: usize = 6;

fn started(call: &str, what: &str) -> Step {
    Step::Started { call: call.to_owned(), tool: "Bash".to_owned(), what: what.to_owned() }
}

fn ran(call: &str, command: &str, ending: Ending) -> Step {
    let failed = u32::from(ending == Ending::Failed);
    let tests =
        Tests { tool: "cargo test".to_owned(), passed: Some(3), failed: Some(failed), names: Vec::new() };
    Step::Ran {
        call: Some(call.to_owned()),
        command: command.to_owned(),
        ending,
        exit: None,
        ms: None,
        tests: command.contains("test").then_some(tests),
        tail: String::new(),
    }
}

fn edited(call: &str, path: &str, digest: &str) -> Step {
    let (call, path, digest) = (Some(call.to_owned()), path.to_owned(), Some(digest.to_owned()));
    Step::Edited { call, path, added: 2, removed: 1, digest }
}

fn planned(standings: [Standing; 2]) -> Step {
    let step = |(n, standing)| Planned { text: format!("part {n}"), standing };
    Step::Planned { steps: standings.into_iter().enumerate().map(step).collect() }
}

fn prompt(text: &str) -> Step {
    Step::Prompt { text: text.to_owned() }
}

/// What happens in a session, and whether the agent waits for the hook that reports it, as Claude Code does at the
/// borders of turns.
fn session() -> Vec<(Step, bool)> {
    let begun = Step::Begun {
        title: "make redaction stream".to_owned(),
        goal: None,
        agent: "claude-code".to_owned(),
        directory: None,
        commit: None,
        steps: Vec::new(),
    };
    let compacted = Step::Compacted { trigger: "auto".to_owned(), summary: None };
    vec![
        (begun, true),
        (prompt("make it stream"), true),
        (started("a", "cargo test"), false),
        (ran("a", "cargo test", Ending::Failed), false),
        (edited("b", "rules.rs", "one"), false),
        (edited("c", "stream.rs", "one"), false),
        (edited("d", "rules.rs", "two"), false),
        (planned([Standing::Active, Standing::Pending]), false),
        (started("e", "cargo test"), false),
        (ran("e", "cargo test", Ending::Passed), false),
        (planned([Standing::Passed, Standing::Active]), false),
        (Step::TurnFailed { error: "overloaded".to_owned() }, false),
        (prompt("go on"), true),
        (started("f", "make"), false),
        (ran("f", "make", Ending::Failed), false),
        (Step::TurnEnded { said: Some("done".to_owned()) }, true),
        (prompt("now do the PEM case"), true),
        (compacted, false),
        (started("g", "cargo test pem"), false),
        (ran("g", "cargo test pem", Ending::Failed), false),
        (edited("h", "stream.rs", "two"), false),
        (started("i", "gh pr create"), false),
    ]
}

/// The state after the session's reports arrived in this order, each a second after the other, and all long after the
/// first thing happened.
fn state(order: &[usize]) -> State {
    let session = session();
    let entries = order.iter().enumerate().map(|(place, &n)| {
        let (step, _) = session[n].clone();
        let happened = at(i64::try_from(n).unwrap());
        let recorded = at(i64::try_from(100 + place).unwrap());
        let kind = step.kind().to_owned();
        let seq = place as u64 + 1;
        Entry { seq, at: recorded, happened, kind, step: Some(step), late: false, full: 0, artifact: None }
    });
    fold_all(&entries.collect::<Vec<Entry>>())
}

/// The order of arrival, where each report that is not waited for is late by this many places.
fn order(late: &[usize]) -> Vec<usize> {
    let session = session();
    let mut order: Vec<usize> = (0..session.len()).collect();
    order.sort_by_key(|&n| if session[n].1 { (n, 0) } else { (n + late[n], 1) });
    order
}

#[test]
fn the_state_is_what_happened_last() {
    let in_order: Vec<usize> = (0..session().len()).collect();
    let state = state(&in_order);
    assert!(state.turn_open && state.turn_failed.is_none() && state.ended_calls.is_empty(), "{state:?}");
    let under_way: Vec<&str> = state.under_way.iter().map(|call| call.what.as_str()).collect();
    assert_eq!(under_way, ["gh pr create"]);
    assert_eq!(state.request.as_ref().unwrap().text, "now do the PEM case");
    assert_eq!(state.failed.as_ref().unwrap().text, "cargo test pem");
    let files: Vec<_> = state.files.iter().map(|file| (file.path.as_str(), file.digest.as_deref())).collect();
    assert_eq!(files, [("rules.rs", Some("two")), ("stream.rs", Some("two"))]);
    let mut piece = Piece::begin("session");
    piece.work.seq = state.seq;
    let text = hint(&piece.work, &state, &World::at(at(200)), limits::HINT_BYTES);
    assert!(
        text.contains("while running `gh pr create`") && text.contains("`cargo test pem` → 1 failed"),
        "{text}"
    );
}

proptest! {
    #[test]
    fn the_state_does_not_depend_on_the_order_of_reports(
        late in proptest::collection::vec(0..=LATE_MAX, session().len())
    ) {
        let in_order: Vec<usize> = (0..session().len()).collect();
        let order = order(&late);
        prop_assert_eq!(state(&order), state(&in_order), "{:?}", order);
    }
}

/// Reports that do not say when things happened: the end of a call and its turn before its beginning.
#[test]
fn a_call_whose_end_was_reported_does_not_begin_again() {
    let steps = [
        prompt("make it stream"),
        ran("a", "make", Ending::Passed),
        Step::TurnEnded { said: None },
        started("a", "make"),
    ];
    let state = state_after(&steps);
    assert!(state.under_way.is_empty() && state.ended_calls.is_empty() && !state.turn_open, "{state:?}");
    // Under the same id, as Gemini CLI has it, the same command runs once more.
    let again = [&steps[..], &[started("a", "make")]].concat();
    assert_eq!(state_after(&again).under_way.len(), 1);
}

/// The state after steps, each recorded as it happened.
fn state_after(steps: &[Step]) -> State {
    let entry = |(n, step): (usize, &Step)| {
        let (seq, now) = (n as u64 + 1, at(i64::try_from(n).unwrap()));
        let (kind, step) = (step.kind().to_owned(), Some(step.clone()));
        Entry { seq, at: now, happened: now, kind, step, late: false, full: 0, artifact: None }
    };
    fold_all(&steps.iter().enumerate().map(entry).collect::<Vec<Entry>>())
}

#[test]
fn a_task_and_its_change_are_one_step_in_either_order_however_long_its_id_is() {
    for id in ["3".to_owned(), "é".repeat(limits::TEXT_BYTES_MAX)] {
        let task = Some(id);
        let added = Step::StepAdded { text: "mend it".to_owned(), task: task.clone() };
        let set = Step::StepSet { step: 0, task: task.clone(), standing: Standing::Passed, text: None };
        for steps in [[added.clone(), set.clone()], [set, added]] {
            let state = state_after(&steps);
            let [step] = &state.steps[..] else { panic!("{state:?}") };
            assert_eq!(
                (step.text.as_str(), step.standing, step.is_ahead),
                ("mend it", Standing::Passed, false)
            );
            assert!(step.task.as_ref().is_some_and(|id| id.len() <= limits::TEXT_BYTES_MAX));
        }
    }
}

#[test]
fn a_plan_has_room_for_a_bounded_number_of_steps_however_they_are_reported() {
    let many = 0..2 * limits::STEPS_MAX;
    let steps: Vec<Step> = many
        .map(|n| match n % 2 {
            0 => Step::StepAdded { text: format!("part {n}"), task: None },
            _ => Step::StepSet { step: 0, task: Some(n.to_string()), standing: Standing::Active, text: None },
        })
        .collect();
    let state = state_after(&steps);
    let numbers: Vec<u32> = state.steps.iter().map(|step| step.number).collect();
    assert_eq!(numbers, (1..=u32::try_from(limits::STEPS_MAX).unwrap()).collect::<Vec<u32>>());
}

#[test]
fn a_call_with_a_long_id_ends() {
    let id = "c".repeat(2 * limits::TEXT_BYTES_MAX);
    for steps in [
        [started(&id, "make"), ran(&id, "make", Ending::Passed)],
        [ran(&id, "make", Ending::Passed), started(&id, "make")],
    ] {
        let state = state_after(&steps);
        assert!(state.under_way.is_empty() && state.ended_calls.is_empty(), "{state:?}");
    }
}
