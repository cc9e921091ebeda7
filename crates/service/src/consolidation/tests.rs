//! Consolidation over a real store, with a clock of the test's own: a plan changes nothing, and what it does is taken back
//! to the byte.

use std::sync::atomic::{AtomicI64, Ordering};

use super::*;
use crate::use_cases::{exported, with_service};
use crate::*;
use cerebro_core::domain::{EventKind, Nature, Project, Scope, SessionId};
use cerebro_core::truth::Action;
use cerebro_store::{CycleState, StepOutcome};

const TEXT: &str = "The upload worker retries a failed part three times and waits for ten seconds in between, and then \
                    it tells whoever asked that the part could not be stored and what the server said about it";
const DAY_MS: i64 = 86_400_000;

/// Milliseconds of each test's clock.
static CLOCKS: [AtomicI64; 4] = [const { AtomicI64::new(1_767_225_600_000) }; 4];

struct TestClock<const TEST: usize>;

impl<const TEST: usize> TestClock<TEST> {
    fn now() -> Timestamp {
        Timestamp::from_millisecond(CLOCKS[TEST].load(Ordering::SeqCst)).unwrap()
    }

    fn pass(days: i64) {
        CLOCKS[TEST].fetch_add(days * DAY_MS, Ordering::SeqCst);
    }
}

fn caller() -> Caller {
    Caller {
        project: Project::parse("demo").unwrap(),
        agent: agent_name("test"),
        person: true,
        session: SessionId::parse("s1").unwrap(),
    }
}

async fn save(
    service: &Service,
    title: &str,
    content: &str,
    nature: Option<Nature>,
    tags: &[&str],
) -> MemoryId {
    let request = SaveRequest {
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        nature,
        ..SaveRequest::new(title, content, Scope::Project(caller().project), Door::EXPLICIT)
    };
    service.memories.save(&caller(), request).await.unwrap().memory.id
}

async fn search(service: &Service, query: &str, archived: bool) -> (Vec<MemoryId>, usize) {
    let request = SearchRequest { query: query.to_owned(), limit: 20, archived, ..SearchRequest::default() };
    let found = service.recall.search(&caller(), request).await.unwrap();
    (found.hits.iter().map(|hit| hit.id.into()).collect(), found.archived)
}

async fn context(service: &Service) -> String {
    let follow_ups = FollowUps { search: "s".to_owned(), read: "r".to_owned(), save: "w".to_owned() };
    let request = ContextRequest {
        project: Some(caller().project),
        scope: None,
        limit: 50,
        max_bytes: 65_536,
        follow_ups,
    };
    service.recall.context(&caller(), &request).await.unwrap().written(&request).text
}

#[test]
fn a_plan_changes_nothing_and_what_it_does_is_taken_back_to_the_byte() {
    with_service(Settings::default(), TestClock::<0>::now, async |service| {
        let weak = save(&service, "Walrus walk", "It went to the ice.", Some(Nature::Episodic), &[]).await;
        TestClock::<0>::pass(500);
        let old = save(&service, "Upload", TEXT, None, &["net", "retry"]).await;
        TestClock::<0>::pass(1);
        let new = save(&service, "Upload", TEXT, None, &["upload"]).await;
        TestClock::<0>::pass(1);
        let before = exported(&service).await;

        let planned = service.consolidating.plan(false).await.unwrap();
        assert_eq!(exported(&service).await, before, "a plan changes nothing");
        let steps: Vec<(Action, MemoryId)> =
            planned.cycle.steps.iter().map(|stored| (stored.step.action, stored.step.memory)).collect();
        assert_eq!(steps, [(Action::Merge, old), (Action::Unite, new), (Action::Archive, weak)]);
        assert_eq!(planned.titles[&weak].as_str(), "Walrus walk");

        let applied = service.consolidating.apply(Some(planned.cycle.id)).await.unwrap().cycle;
        assert_eq!((applied.state, applied.count(StepOutcome::Done)), (CycleState::Applied, 3));
        assert_eq!(search(&service, "upload worker", false).await.0, [new]);
        assert_eq!(search(&service, "upload worker", true).await.0.len(), 2);
        assert_eq!(search(&service, "Walrus walk", false).await.1, 1, "named in a hint");
        assert_eq!(search(&service, "Walrus walk", true).await.0.first(), Some(&weak));
        let read = async |id: MemoryId| {
            let request =
                ObservationRequest { id, history: false, offset: 0, max_bytes: 65_536, as_of: None };
            service.recall.observation(&request, true).await.unwrap()
        };
        let kept = read(new).await;
        assert_eq!(
            kept.memory.tags.iter().map(RedactedText::as_str).collect::<Vec<_>>(),
            ["upload", "net", "retry"]
        );
        assert_eq!((kept.memory.duplicate_count, kept.supersedes), (1, vec![old]));
        assert_eq!(
            (kept.memory.revision, kept.memory.content.as_str()),
            (1, TEXT),
            "its text is what it was"
        );
        let shown = context(&service).await;
        assert!(shown.contains(new.as_str()) && !shown.contains(old.as_str()), "{shown}");

        let undone = service.consolidating.undo(None).await.unwrap().cycle;
        assert_eq!((undone.state, undone.count(StepOutcome::Undone)), (CycleState::Undone, 3));
        assert_eq!(exported(&service).await, before);
        assert_eq!(search(&service, "Walrus walk", false).await, (vec![weak], 0));
        for id in [None, Some(planned.cycle.id)] {
            assert!(service.consolidating.apply(id).await.is_err(), "it was done and undone");
            assert!(service.consolidating.undo(id).await.is_err());
        }
        let log = service.consolidating.latest(10).await.unwrap();
        assert_eq!(log.iter().map(|cycle| cycle.state).collect::<Vec<_>>(), [CycleState::Undone]);
    });
}

#[test]
fn what_was_changed_since_is_left_alone() {
    with_service(Settings::default(), TestClock::<1>::now, async |service| {
        let mut episodes = Vec::new();
        for name in ["one", "two", "three"] {
            episodes.push(save(&service, name, "It happened.", Some(Nature::Episodic), &[]).await);
        }
        TestClock::<1>::pass(500);
        service.consolidating.plan(false).await.unwrap();
        let patch = |content: &str| Patch { content: Some(content.to_owned()), ..Patch::default() };
        service.memories.update(&caller(), &episodes[0], patch("It happened twice.")).await.unwrap();
        let applied = service.consolidating.apply(None).await.unwrap().cycle;
        let outcomes = (applied.count(StepOutcome::Done), applied.count(StepOutcome::Skipped));
        assert_eq!(outcomes, (2, 1), "one was written since the plan");

        // Who writes an archived one anew has it back, and undoing does not touch it.
        let updated = service.memories.update(&caller(), &episodes[1], patch("Nobody knows.")).await.unwrap();
        assert!(!updated.memory.is_archived());
        let undone = service.consolidating.undo(None).await.unwrap().cycle;
        assert_eq!((undone.count(StepOutcome::Undone), undone.count(StepOutcome::Left)), (1, 1));
        assert_eq!(search(&service, "it happened nobody knows", false).await.0.len(), 3);
    });
}

#[test]
fn a_merged_memory_that_is_put_back_has_its_place_again() {
    with_service(Settings::default(), TestClock::<2>::now, async |service| {
        let old = save(&service, "Upload", TEXT, None, &[]).await;
        TestClock::<2>::pass(1);
        let new = save(&service, "Upload", TEXT, None, &[]).await;
        service.consolidating.plan(false).await.unwrap();
        service.consolidating.apply(None).await.unwrap();
        let marks = async || {
            let memory = service.recall.base.store.memories().by_id(&old).await.unwrap().unwrap();
            service.recall.marks(&[Footing::from(&memory)]).await.unwrap()
        };
        let found = marks().await;
        assert_eq!(found[&old].iter().map(|mark| mark.name).collect::<Vec<_>>(), ["old", "archived"]);
        assert!(service.memories.archive(&caller(), &old, false).await.unwrap().changed);
        assert!(marks().await.is_empty(), "neither old nor archived");
        assert_eq!(search(&service, "upload worker", false).await.0.len(), 2);
        // By hand, it goes and comes like any other; a pinned one does not go.
        service.memories.archive(&caller(), &new, true).await.unwrap();
        assert_eq!(search(&service, "upload worker", false).await.0, [old]);
        service.memories.pin(&caller(), &new, true).await.unwrap();
        assert_eq!(search(&service, "upload worker", false).await.0.len(), 2, "who pins it wants it read");
        assert!(service.memories.archive(&caller(), &new, true).await.is_err());
        let events = service.recall.events(0, 100).await.unwrap();
        let count = |kind| events.iter().filter(|event| event.kind == kind).count();
        assert_eq!((count(EventKind::MemoryArchived), count(EventKind::MemoryReinstated)), (2, 1));
    });
}

#[test]
fn the_clock_plans_once_a_night_and_carries_out_only_where_it_is_set_to() {
    for (consolidate, state) in
        [(Consolidate::Plan, CycleState::Planned), (Consolidate::Apply, CycleState::Applied)]
    {
        let settings = Settings { consolidate, ..Settings::default() };
        with_service(settings, TestClock::<3>::now, async |service| {
            service.consolidating.plan_by_clock().await.unwrap();
            assert_eq!(service.consolidating.latest(10).await.unwrap(), [], "of nothing, nothing is planned");
            save(&service, "Walk", "It happened.", Some(Nature::Episodic), &[]).await;
            TestClock::<3>::pass(500);
            for _ in 0..2 {
                service.consolidating.plan_by_clock().await.unwrap();
            }
            let log = service.consolidating.latest(10).await.unwrap();
            let states: Vec<_> = log.iter().map(|cycle| (cycle.state, cycle.by.as_str())).collect();
            assert_eq!(states, [(state, "clock")]);
            TestClock::<3>::pass(1);
            service.consolidating.plan_by_clock().await.unwrap();
            let log = service.consolidating.latest(10).await.unwrap();
            let waiting = log.iter().filter(|cycle| cycle.state == CycleState::Planned).count();
            assert_eq!(waiting, 1, "a new plan takes the place of one that waits");
        });
    }
}
