//! The journal over a real store: what is kept over a kill, who holds what, and what is found again.

mod faults;
mod fencing;
mod hand_over;
mod keeping;
mod machine;
mod proof;

use std::{path::Path, time::Duration};

use cerebro_core::domain::{Project, Run, SessionId, Timestamp};
use cerebro_ledger::{Action, Anchor, Ending, Finding, Outcome, Repeat, Standing, Step, Work, World, limits};

use super::*;
use crate::{
    Clock, Embedding, Forget, Service, ServiceError, Settings, agent_name,
    use_cases::{self, TestClock, until},
};

/// Runs a test in a folder of its own.
fn run(test: impl AsyncFnOnce(&Path)) {
    let folder = tempfile::tempdir().unwrap();
    use_cases::run(test(folder.path()));
}

async fn open(folder: &Path, clock: Clock) -> Service {
    open_with(folder, clock, Settings::default()).await
}

/// Opens the store. On a busy machine a call may take longer than an agent would wait for it: most tests are about what the
/// calls do.
async fn open_with(folder: &Path, clock: Clock, settings: Settings) -> Service {
    let (store, index) = (folder.join("store"), folder.join("index"));
    let service = Service::open(&store, &index, settings, Embedding::none(), clock).await.unwrap();
    lock(&service.journal.held.slow).wait = Duration::from_secs(60);
    service
}

/// Holds writers off until the guard is dropped. Callers wait as long as agents do from now on.
async fn wedge(service: &Service) -> impl Drop + '_ {
    lock(&service.journal.held.slow).wait = slow::WAIT_MAX;
    service.base.store.pause().await
}

/// Nothing is over its time unless a test says so.
fn keeping_all() -> Settings {
    let long = Duration::from_secs(36_500 * 24 * 3_600);
    Settings { journal: Some(Retention { texts: long, works: long }), ..Settings::default() }
}

fn actor(session: &str) -> Actor {
    Actor {
        owner: LOCAL_OWNER.to_owned(),
        agent: agent_name("claude-code"),
        session: Some(SessionId::parse(session).unwrap()),
        project: Project::parse("demo").unwrap(),
        directory: None,
    }
}

fn prompt(text: &str) -> Happening {
    Step::Prompt { text: text.to_owned() }.into()
}

fn ran(command: &str, exit: i32) -> Happening {
    let (command, tail) = (command.to_owned(), "x".repeat(9_000));
    let ending = if exit == 0 { Ending::Passed } else { Ending::Failed };
    Step::Ran { call: None, command, ending, exit: Some(exit), ms: None, tests: None, tail }.into()
}

async fn append(service: &Service, session: &str, happenings: Vec<Happening>) -> Appended {
    service.journal.append(&actor(session), Target::Session, happenings).await.unwrap()
}

async fn begin(service: &Service, title: &str) -> Work {
    let begin = BeginWork { title: title.to_owned(), ..BeginWork::default() };
    service.journal.begin(&actor("s1"), begin).await.unwrap().0
}

#[test]
fn what_was_answered_is_there_after_a_restart_and_goes_on_in_another_agent() {
    run(async |folder| {
        let service = open(folder, TestClock::<4>::now).await;
        append(&service, "s1", vec![prompt("now do the PEM case")]).await;
        let last = append(
            &service,
            "s1",
            vec![
                ran("cargo test", 101),
                Step::Edited { call: None, path: "a.rs".to_owned(), added: 3, removed: 1, digest: None }
                    .into(),
                Step::Started {
                    call: "t".to_owned(),
                    tool: "Bash".to_owned(),
                    what: "cargo bench".to_owned(),
                }
                .into(),
            ],
        )
        .await;
        assert_eq!((last.recorded, last.seq), (3, 5), "begun, prompt, and three");
        service.close().await.unwrap();

        let service = open(folder, TestClock::<4>::now).await;
        let other = Actor { agent: agent_name("codex"), ..actor("s2") };
        let world = World::at(TestClock::<4>::now());
        let resumed =
            service.journal.resume(&other, None, &world, limits::HINT_BYTES).await.unwrap().unwrap();
        assert_eq!((resumed.action, resumed.work.id), (Action::Resume, last.work.unwrap()));
        for line in ["now do the PEM case", "cargo test → exit 101", "a.rs +3 −1", "cargo bench"] {
            assert!(resumed.text.contains(line), "{line}: {}", resumed.text);
        }
        let own = service.journal.resume(&actor("s1"), None, &world, limits::HINT_BYTES).await.unwrap();
        assert_eq!(own, None, "its own work is no news to a session");
        // The hint is the fold of what is kept.
        let entries = service.journal.tail(&other, &resumed.work.id, 0, 100).await.unwrap();
        assert_eq!(cerebro_ledger::fold::fold_all(&entries), resumed.state);
        let verified = service.journal.verify(&[]).await.unwrap();
        assert_eq!((verified.findings, verified.artifacts, verified.events), (vec![], 1, 5));
        service.close().await.unwrap();
    });
}

#[test]
fn numbers_have_no_gaps_when_many_write_at_once() {
    run(async |folder| {
        let service = open(folder, Timestamp::now).await;
        let work = begin(&service, "together").await;
        let mut tasks = Vec::new();
        for writer in 0..8 {
            let (service, id) = (service.clone(), work.id);
            tasks.push(tokio::spawn(async move {
                for i in 0..12 {
                    let happening = Happening {
                        once: Some(format!("{writer}-{}", i % 6)),
                        ..prompt(&format!("{writer} says {i}"))
                    };
                    let target = Target::Work(id);
                    service.journal.append(&actor("s1"), target, vec![happening]).await.unwrap();
                }
            }));
        }
        for task in tasks {
            task.await.unwrap();
        }
        let entries = service.journal.tail(&actor("s1"), &work.id, 0, 1_000).await.unwrap();
        let numbers: Vec<u64> = entries.iter().map(|entry| entry.seq).collect();
        assert_eq!(numbers, (1..=49).collect::<Vec<u64>>(), "begun, and each of 48 once");
        assert_eq!(service.journal.verify(&[]).await.unwrap().findings, []);
        service.close().await.unwrap();
        // The next process knows them too, and twice in one call is once.
        let service = open(folder, Timestamp::now).await;
        let again = ["0-0", "7-5", "new", "new"]
            .map(|once| Happening { once: Some(once.to_owned()), ..prompt(once) });
        let appended =
            service.journal.append(&actor("s1"), Target::Work(work.id), again.to_vec()).await.unwrap();
        assert_eq!((appended.recorded, appended.repeated, appended.seq), (1, 3, 50));
        service.close().await.unwrap();
    });
}

#[test]
fn a_gap_in_place_of_an_event_repeats_it_and_leaves_it_to_the_transcript() {
    run(async |folder| {
        let service = open(folder, Timestamp::now).await;
        let keyed = |step: Step, once: &str| Happening { once: Some(once.to_owned()), ..step.into() };
        let said = |text: &str| Step::Prompt { text: text.to_owned() };
        let (from, to, reason) = (Timestamp::UNIX_EPOCH, Timestamp::UNIX_EPOCH, String::new());
        let gap = Step::Gap { from, to, count: Some(1), reason, filled: false };
        append(&service, "s1", vec![keyed(said("it arrived"), "a:0")]).await;
        for (once, counts) in [("a:0", (0, 1)), ("b:0", (1, 0)), ("b:0", (0, 1))] {
            let appended = append(&service, "s1", vec![keyed(gap.clone(), once)]).await;
            assert_eq!((appended.recorded, appended.repeated), counts, "{once}");
        }
        let found = append(&service, "s1", vec![keyed(said("the transcript has it"), "b:0")]).await;
        assert_eq!((found.recorded, found.repeated), (1, 0));
        service.close().await.unwrap();
    });
}

#[test]
fn of_two_that_take_a_lease_at_once_one_gets_it_and_the_late_one_changes_nothing() {
    run(async |folder| {
        let service = open(folder, TestClock::<5>::now).await;
        let id = begin(&service, "one of us").await.id;
        let (first, second) = (actor("s1"), actor("s2"));
        let (a, b) =
            tokio::join!(service.journal.hold(&first, &id, false), service.journal.hold(&second, &id, false));
        let (a, b) = (a.unwrap(), b.unwrap());
        assert_ne!(a.held, b.held);
        let (holder, other) = if a.held { (first, second) } else { (second, first) };
        assert_eq!((a.fence, b.fence), (1, 1));

        // Activity renews it, beyond the first lease.
        for _ in 0..3 {
            TestClock::<5>::advance(Duration::from_secs(20 * 60));
            let target = Target::Work(id);
            service.journal.append(&holder, target, vec![prompt("still here")]).await.unwrap();
        }
        assert!(!service.journal.hold(&other, &id, false).await.unwrap().held);
        // Asleep for too long: listed with its reason, dropped by nobody.
        TestClock::<5>::advance(Duration::from_secs(31 * 60));
        let query = WorkQuery { filter: WorkFilter::Stale, limit: 10, ..WorkQuery::default() };
        let stale = service.journal.list(&other, query).await.unwrap();
        assert_eq!(stale.iter().map(|one| one.stale).collect::<Vec<_>>(), [Some(Stale::Lapsed)]);
        let taken = service.journal.hold(&other, &id, false).await.unwrap();
        assert_eq!((taken.held, taken.fence), (true, 2));

        let before = service.journal.show(&other, &id).await.unwrap();
        let step = Step::Closed { outcome: Outcome::Done, text: None };
        let late = service.journal.append(&holder, Target::Work(id), vec![step.into()]).await.unwrap();
        assert!(late.late && late.recorded == 1);
        let after = service.journal.show(&other, &id).await.unwrap();
        assert_eq!((after.state.closed, after.state.late), (None, 1));
        assert_eq!(after.work.active_at, before.work.active_at);
        let back = service.journal.hold(&holder, &id, true).await.unwrap();
        assert_eq!((back.held, back.fence), (true, 3));
        assert!(service.journal.release(&holder, &id).await.unwrap().lease.is_none());
        assert_eq!(service.journal.verify(&[]).await.unwrap().findings, []);
        service.close().await.unwrap();
    });
}

#[test]
fn a_confirmed_effect_is_never_proposed_again_and_an_open_one_is_found_at_start() {
    run(async |folder| {
        let me = actor("s1");
        let service = open(folder, TestClock::<6>::now).await;
        let id = begin(&service, "release").await.id;
        let intend = async |service: &Service, key: &str| {
            service.journal.intent(&me, &id, key, "gh pr create", Repeat::Check).await.unwrap()
        };
        assert!(matches!(intend(&service, "pr").await, IntentAnswer::GoAhead { .. }));
        service.close().await.unwrap();

        let service = open(folder, TestClock::<6>::now).await;
        assert!(matches!(intend(&service, "pr").await, IntentAnswer::Unknown { repeat: Repeat::Check, .. }));
        assert_eq!(service.base.store.works().by_id(&id).await.unwrap().unwrap().work.unknown, 1);
        let unsettled = service.journal.unsettled(&me).await.unwrap();
        assert_eq!((unsettled.len(), unsettled[0].1[0].key.as_str()), (1, "pr"));
        let world = World::at(TestClock::<6>::now());
        let resumed = service.journal.resume(&actor("s2"), Some(&id), &world, 2_500).await.unwrap().unwrap();
        assert_eq!(resumed.action, Action::CheckFirst);
        assert!(resumed.text.contains("gh pr create"), "{}", resumed.text);
        assert_eq!(service.journal.confirm(&me, &id, "pr").await.unwrap().recorded, 1);
        assert_eq!(service.journal.confirm(&me, &id, "pr").await.unwrap().repeated, 1);
        assert!(matches!(intend(&service, "pr").await, IntentAnswer::Confirmed { .. }));
        assert!(service.journal.refute(&me, &id, "pr", None).await.is_err());
        let resumed = service.journal.resume(&actor("s2"), Some(&id), &world, 2_500).await.unwrap().unwrap();
        assert!(!resumed.text.contains("gh pr create"), "{}", resumed.text);
        // One that did not take place may be tried again.
        intend(&service, "tag").await;
        service.journal.refute(&me, &id, "tag", Some("no network")).await.unwrap();
        assert!(matches!(intend(&service, "tag").await, IntentAnswer::GoAhead { .. }));
        assert!(service.journal.confirm(&me, &id, "never begun").await.is_err());
        service.close().await.unwrap();
    });
}

#[test]
fn a_store_that_does_not_answer_holds_nobody_up_and_the_gap_is_recorded() {
    run(async |folder| {
        let service = open(folder, TestClock::<7>::now).await;
        append(&service, "s1", vec![prompt("before")]).await;
        let wedged = wedge(&service).await;
        let begun = std::time::Instant::now();
        assert!(append(&service, "s1", vec![prompt("during")]).await.degraded);
        assert!(begun.elapsed() < 5 * slow::WAIT_MAX);
        let begun = std::time::Instant::now();
        for _ in 0..3 {
            assert!(append(&service, "s1", vec![prompt("lost")]).await.degraded);
        }
        // A gap that is lost counts as what is missing in it.
        let (from, to, reason) = (Timestamp::UNIX_EPOCH, Timestamp::UNIX_EPOCH, String::new());
        let gap = Step::Gap { from, to, count: Some(4), reason, filled: false };
        assert!(append(&service, "s1", vec![gap.into()]).await.degraded);
        assert!(begun.elapsed() < slow::WAIT_MAX, "nobody waits");
        let report = service.journal.report();
        assert_eq!((report.degraded_until.is_some(), report.missed), (true, 7));
        drop(wedged);
        TestClock::<7>::advance(Duration::from_secs(61));
        assert!(!append(&service, "s1", vec![prompt("after")]).await.degraded);
        assert_eq!(service.journal.report().degraded_until, None);
        let query = WorkQuery { limit: 5, ..WorkQuery::default() };
        let id = service.journal.list(&actor("s1"), query).await.unwrap()[0].work.id;
        let state = async || service.journal.show(&actor("s1"), &id).await.unwrap().state;
        // The task that keeps the journal may be the one that records it.
        until("the gap", async || state().await.gaps.events == 7).await;
        let state = state().await;
        assert_eq!((state.gaps.times, state.request.unwrap().text.as_str()), (1, "after"));
        service.close().await.unwrap();
    });
}

#[test]
fn a_forgotten_text_is_not_written_although_nobody_waited() {
    run(async |folder| {
        let service = open(folder, Timestamp::now).await;
        let forget = Forget { text: Some("the okapi password".to_owned()), ..Forget::default() };
        service.history.forget(&forget, Run::Real).await.unwrap();
        append(&service, "s1", vec![prompt("before")]).await;
        let (work, _) = service.journal.of_session(&actor("s1")).await.unwrap().unwrap();
        let wedged = wedge(&service).await;
        let said = ["It is the okapi password.", "Go on."];
        let said = said.map(|text| Happening { by: Reporter::Hook, ..prompt(text) });
        let appended = service.journal.append(&actor("s1"), Target::Session, said.into()).await.unwrap();
        assert!(appended.degraded, "{appended:?}");
        drop(wedged);
        let has_text = async || {
            let events = service.base.store.works().events(&work.id, 1..=9).await.unwrap();
            events.iter().map(|event| event.body.is_some()).collect::<Vec<bool>>()
        };
        until("the events", async || has_text().await == [true, true, false, true]).await;
        assert_eq!(service.journal.verify(&[]).await.unwrap().findings, []);
        service.close().await.unwrap();
    });
}

#[test]
fn seals_hold_over_purge_prune_and_restart_and_what_is_tampered_with_is_named() {
    run(async |folder| {
        let service = open_with(folder, TestClock::<8>::now, keeping_all()).await;
        let me = actor("s1");
        let old = begin(&service, "done long ago").await.id;
        service.journal.append(&me, Target::Work(old), vec![ran("make", 0)]).await.unwrap();
        let close = CloseWork { outcome: Outcome::Done, text: None };
        service.journal.close(&me, &old, close.clone()).await.unwrap();
        let first = service.journal.head().await.unwrap();
        assert!(first.size >= 1 && first.note.is_some());
        TestClock::<8>::advance(Duration::from_secs(100 * 24 * 3_600));
        let newer = begin(&service, "closed of late").await.id;
        service.journal.close(&me, &newer, close).await.unwrap();
        let open_one = begin(&service, "still open").await.id;
        let head = service.journal.head().await.unwrap();
        let anchor = |head: &WorkHead| Anchor { size: head.size, root: head.root.clone() };
        let anchors = [anchor(&first), anchor(&head)];
        let exported = service.work_export(&me, &old, None).await.unwrap().lines;
        let again = service.import(&exported, Run::Real).await.unwrap();
        assert_eq!((again.created, again.skipped), (0, vec![]));

        // Texts first, then work, then artifacts that nothing names.
        let day = Duration::from_secs(24 * 3_600);
        let pruned = service.journal.prune(Retention { texts: 90 * day, works: 365 * day }).await.unwrap();
        assert_eq!((pruned.works, pruned.texts, pruned.artifacts), (0, 3, 1));
        let verified = service.journal.verify(&anchors).await.unwrap();
        assert_eq!((verified.findings, verified.purged), (vec![], 3));
        let pruned = service.journal.prune(Retention { texts: 90 * day, works: 90 * day }).await.unwrap();
        assert_eq!((pruned.works, pruned.artifacts), (1, 0));
        assert!(matches!(service.journal.show(&me, &old).await, Err(ServiceError::NoWork(_))));
        let refused = service.import(&exported, Run::Real).await.unwrap();
        assert!(refused.skipped[0].1.contains("was pruned here"), "{refused:?}");
        // An artifact does not say whose it is, so it is not refused; but nothing names it, so it does not stay.
        let pruned = service.journal.prune(Retention { texts: 90 * day, works: 90 * day }).await.unwrap();
        assert_eq!((refused.created, pruned.works, pruned.artifacts), (1, 0, 0));
        let proof = service.journal.prove(&me, &open_one).await.unwrap().unwrap();
        assert!(proof.leaf.starts_with(&format!("{open_one} at 1 ")), "{}", proof.leaf);
        service.close().await.unwrap();

        let service = open_with(folder, TestClock::<8>::now, keeping_all()).await;
        assert_eq!(service.journal.verify(&anchors).await.unwrap().findings, []);
        let forged = [Anchor { size: head.size, root: "00".repeat(32) }];
        let found = service.journal.verify(&forged).await.unwrap().findings;
        assert_eq!(found[0].finding, Finding::AnchorDiffers { size: head.size });
        service.close().await.unwrap();
    });
}

#[test]
fn work_of_another_owner_does_not_exist() {
    run(async |folder| {
        let service = open(folder, TestClock::<9>::now).await;
        let id = begin(&service, "mine").await.id;
        let other = Actor { owner: "token".to_owned(), ..actor("s1") };
        let missing = |error: ServiceError| matches!(error, ServiceError::NoWork(found) if found == id);
        assert!(missing(service.journal.show(&other, &id).await.unwrap_err()));
        assert!(missing(service.journal.tail(&other, &id, 0, 9).await.unwrap_err()));
        assert!(missing(service.journal.hold(&other, &id, false).await.unwrap_err()));
        let target = Target::Work(id);
        assert!(missing(service.journal.append(&other, target, vec![prompt("x")]).await.unwrap_err()));
        let query = WorkQuery { limit: 9, ..WorkQuery::default() };
        assert_eq!(service.journal.list(&other, query).await.unwrap(), []);
        let world = World::at(TestClock::<9>::now());
        assert_eq!(service.journal.resume(&other, None, &world, 2_500).await.unwrap(), None);
        service.close().await.unwrap();
    });
}

#[test]
fn a_fork_goes_on_from_an_event_and_off_means_off() {
    run(async |folder| {
        let service = open(folder, TestClock::<10>::now).await;
        let me = actor("s1");
        let id = begin(&service, "plan").await.id;
        for text in ["one", "two"] {
            let step = Step::StepAdded { text: text.to_owned(), task: None };
            service.journal.append(&me, Target::Work(id), vec![step.into()]).await.unwrap();
        }
        let done = Step::StepSet { step: 1, task: None, standing: Standing::Passed, text: None };
        service.journal.append(&me, Target::Work(id), vec![done.into()]).await.unwrap();
        let fork = service.journal.fork(&me, &id, Some(2)).await.unwrap();
        let shown = service.journal.show(&me, &fork.id).await.unwrap();
        assert_eq!(shown.state.steps.len(), 1);
        assert_eq!(shown.state.steps[0].standing, Standing::Pending);
        assert!(service.journal.fork(&me, &id, Some(9)).await.is_err());
        let key =
            BeginWork { title: "keyed".to_owned(), key: Some("issue-15".to_owned()), ..BeginWork::default() };
        let (first, made) = service.journal.begin(&me, key.clone()).await.unwrap();
        let (again, remade) = service.journal.begin(&me, key).await.unwrap();
        assert_eq!((made, remade, first.id), (true, false, again.id));
        service.close().await.unwrap();

        let off = Settings { journal: None, ..Settings::default() };
        let service = open_with(folder, TestClock::<10>::now, off).await;
        let appended = append(&service, "s9", vec![prompt("not kept")]).await;
        assert_eq!(appended, Appended::default());
        assert!(!service.journal.report().enabled);
        let query = WorkQuery { limit: 9, filter: WorkFilter::All, ..WorkQuery::default() };
        let listed = service.journal.list(&me, query).await.unwrap();
        assert!(listed.iter().all(|one| one.work.kind == "task"), "no row of s9");
        service.close().await.unwrap();
    });
}
