//! What the journal does by itself: seals, prunes, and tells what is missing.

use cerebro_ledger::anchor::anchors;

use super::*;
use crate::Caller;

const DAY: Duration = Duration::from_secs(24 * 3_600);

/// The hint for the next session.
async fn hint_of(service: &Service) -> String {
    let world = World::at(service.base.now());
    let resumed = service.journal.resume(&actor("next"), None, &world, limits::HINT_BYTES).await.unwrap();
    resumed.map(|resumed| resumed.text).unwrap_or_default()
}

/// Opens the journal. The task that keeps it has sealed what it found: only then it reads what is missing.
async fn open_kept(folder: &Path) -> Service {
    note_missed(folder, &SessionId::parse("s0").unwrap(), Timestamp::now(), 1).unwrap();
    let service = open_with(folder, Timestamp::now, keeping_all()).await;
    until("its first seal", async || service.journal.report().missed == 1).await;
    service
}

#[test]
fn a_hint_ends_with_a_head_that_verifies_though_nobody_asked_for_one() {
    run(async |folder| {
        let service = open_with(folder, Timestamp::now, keeping_all()).await;
        append(&service, "s1", vec![prompt("now do the PEM case")]).await;
        assert!(service.journal.lost(&actor("s1")).await.unwrap());
        until("a head in the hint", async || !anchors(&hint_of(&service).await).is_empty()).await;
        let hint = hint_of(&service).await;
        append(&service, "s2", vec![prompt("something else")]).await;
        let note = service.journal.head().await.unwrap().note.unwrap();
        let both = anchors(&format!("{hint}\n{note}"));
        assert_eq!(both.len(), 2, "{both:?}");
        assert_eq!(service.journal.verify(&both).await.unwrap().findings, []);
        // What was not asked for is sealed when the process ends, and known to the next one.
        append(&service, "s2", vec![prompt("and more")]).await;
        service.close().await.unwrap();
        let service = open_with(folder, Timestamp::now, keeping_all()).await;
        until("a head in the hint", async || !anchors(&hint_of(&service).await).is_empty()).await;
        let last = anchors(&hint_of(&service).await);
        assert!(last[0].size > both[1].size, "{last:?} {both:?}");
        assert_eq!(service.journal.verify(&last).await.unwrap().findings, []);
        let other = [Anchor { root: "0".repeat(16), ..last[0].clone() }];
        assert_eq!(service.journal.verify(&other).await.unwrap().findings.len(), 1);
        service.close().await.unwrap();
    });
}

#[test]
fn only_what_verifies_since_the_last_seal_is_sealed_and_what_was_changed_under_it_is_found() {
    run(async |folder| {
        let me = actor("s1");
        let service = open_kept(folder).await;
        let (one, other) = (begin(&service, "one").await.id, begin(&service, "another").await.id);
        let size = service.journal.head().await.unwrap().size;
        for id in [one, other] {
            service
                .journal
                .append(&me, Target::Work(id), vec![prompt("do it"), prompt("now")])
                .await
                .unwrap();
        }
        super::proof::killed(service).await;
        let script = format!(
            "UPDATE work_event:`{one}-00000001` SET late = true; UPDATE work_event:`{other}-00000002` SET late = true;"
        );
        cerebro_testing::alter(&folder.join("store"), &script).await.unwrap();
        let service = open_with(folder, Timestamp::now, keeping_all()).await;
        assert_eq!(service.journal.head().await.unwrap().size, size + 1);
        let verified = service.journal.verify(&[]).await.unwrap();
        let found: Vec<_> =
            verified.findings.into_iter().map(|found| (found.work.unwrap(), found.finding)).collect();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found.contains(&(one, Finding::Edited { seq: 1 })), "{found:?}");
        assert!(found.contains(&(other, Finding::Edited { seq: 2 })), "{found:?}");
        service.close().await.unwrap();
    });
}

#[test]
fn a_piece_of_work_is_sealed_once_while_events_go_on() {
    run(async |folder| {
        let service = open_kept(folder).await;
        append(&service, "s1", vec![prompt("Do it all")]).await;
        let size = service.journal.head().await.unwrap().size;
        append(&service, "s1", vec![prompt("And more")]).await;
        let is_sealed = std::cell::Cell::new(false);
        let writing = async {
            while !is_sealed.get() {
                append(&service, "s1", vec![prompt("Go on with it")]).await;
            }
        };
        let sealing = async {
            let head = service.journal.head().await.unwrap();
            is_sealed.set(true);
            head
        };
        let ((), head) = tokio::join!(writing, sealing);
        assert_eq!(head.size, size + 1, "one leaf, whatever was written meanwhile");
        assert_eq!(service.journal.verify(&[]).await.unwrap().findings, []);
        service.close().await.unwrap();
    });
}

#[test]
fn what_is_over_its_time_goes_by_the_clock_also_where_no_process_lasts_a_day() {
    run(async |folder| {
        let settings = || {
            let journal = Some(Retention { texts: DAY, works: 3 * DAY });
            Settings { journal, ..Settings::default() }
        };
        let service = open_with(folder, TestClock::<14>::now, settings()).await;
        let (me, id) = (actor("s1"), begin(&service, "soon over").await.id);
        service.journal.append(&me, Target::Work(id), vec![ran("make", 0)]).await.unwrap();
        let close = CloseWork { outcome: Outcome::Done, text: None };
        service.journal.close(&me, &id, close).await.unwrap();
        service.close().await.unwrap();
        TestClock::<14>::advance(2 * DAY);
        let service = open_with(folder, TestClock::<14>::now, settings()).await;
        let is_purged = async || service.journal.show(&me, &id).await.unwrap().state.purged == 3;
        until("the texts to go", is_purged).await;
        service.close().await.unwrap();
        TestClock::<14>::advance(2 * DAY);
        let service = open_with(folder, TestClock::<14>::now, settings()).await;
        until("the work to go", async || service.journal.show(&me, &id).await.is_err()).await;
        assert_eq!(service.journal.verify(&[]).await.unwrap().findings, []);
        service.close().await.unwrap();
    });
}

#[test]
fn what_goes_with_time_goes_from_the_forks_at_hand_too() {
    run(async |folder| {
        let service = open_with(folder, Timestamp::now, keeping_all()).await;
        let (me, id) = (actor("s1"), begin(&service, "the original").await.id);
        service.journal.append(&me, Target::Work(id), vec![prompt("do it")]).await.unwrap();
        let fork = service.journal.fork(&me, &id, None).await.unwrap().id;
        let close = CloseWork { outcome: Outcome::Done, text: None };
        service.journal.close(&me, &id, close).await.unwrap();
        let state = async |service: &Service| service.journal.show(&me, &fork).await.unwrap().state;
        let has_request = async || state(&service).await.request.is_some();
        assert!(has_request().await);
        service.journal.prune(Retention { texts: Duration::ZERO, works: 9 * DAY }).await.unwrap();
        assert!(!has_request().await);
        service.journal.prune(Retention { texts: Duration::ZERO, works: Duration::ZERO }).await.unwrap();
        let before = state(&service).await;
        service.close().await.unwrap();
        let service = open_with(folder, Timestamp::now, keeping_all()).await;
        assert_eq!(before, state(&service).await);
        service.close().await.unwrap();
    });
}

#[test]
fn what_could_not_be_written_is_recorded_as_a_gap_also_by_the_next_process() {
    run(async |folder| {
        let service = open_with(folder, Timestamp::now, keeping_all()).await;
        append(&service, "s1", vec![prompt("before")]).await;
        service.base.store.drain().await;
        let failed =
            service.journal.append(&actor("s1"), Target::Session, vec![prompt("a"), prompt("b")]).await;
        assert!(failed.is_err());
        // The task that keeps the journal may be trying to record them.
        until("what is missing", async || service.journal.report().missed == 2).await;
        service.close().await.unwrap();
        // A hook that found no daemon says so too, of a session without any work so far.
        note_missed(folder, &SessionId::parse("s2").unwrap(), Timestamp::now(), 1).unwrap();

        let service = open_with(folder, Timestamp::now, keeping_all()).await;
        let gaps = async |session: &str| {
            let found = service.journal.of_session(&actor(session)).await.unwrap();
            found.map_or(0, |(_, state)| state.gaps.events)
        };
        until("the gap to be told", async || gaps("s1").await == 2).await;
        assert_eq!(gaps("s2").await, 0);
        append(&service, "s2", vec![prompt("here I am")]).await;
        assert_eq!((gaps("s2").await, service.journal.report().missed), (1, 0));
        append(&service, "s1", vec![prompt("after")]).await;
        assert_eq!(gaps("s1").await, 2, "it is told once");
        assert_eq!(service.journal.verify(&[]).await.unwrap().findings, []);
        service.close().await.unwrap();
    });
}

#[test]
fn what_is_missing_is_left_to_the_next_process_also_by_one_that_ends_at_once() {
    run(async |folder| {
        for missed in 1..=12_u64 {
            let service = open_with(folder, Timestamp::now, keeping_all()).await;
            // The task that keeps the journal has just begun, and may read the file while the process ends.
            service.base.store.drain().await;
            service.journal.append(&actor("s1"), Target::Session, vec![prompt("a")]).await.unwrap_err();
            service.close().await.unwrap();
            assert_eq!(slow::left(folder, "s1").unwrap(), missed);
        }
    });
}

#[test]
fn work_is_found_by_its_key_in_the_project_that_its_own_was_merged_into() {
    run(async |folder| {
        let service = open_with(folder, Timestamp::now, keeping_all()).await;
        let me = actor("s1");
        let into = Project::parse("other").unwrap();
        let keyed = |project: &Project, key: &str| BeginWork {
            title: "keyed".to_owned(),
            key: Some(key.to_owned()),
            project: Some(project.clone()),
            ..BeginWork::default()
        };
        let begin = async |project: &Project, key: &str| {
            service.journal.begin(&me, keyed(project, key)).await.unwrap()
        };
        let (moved, _) = begin(&me.project, "only here").await;
        let (_, _) = begin(&me.project, "in both").await;
        let (theirs, _) = begin(&into, "in both").await;
        service.journal.merge_projects(&me.project, &into).await.unwrap();
        assert_eq!(
            begin(&into, "only here").await,
            (service.journal.show(&me, &moved.id).await.unwrap().work, false)
        );
        assert_eq!(begin(&into, "in both").await.0.id, theirs.id);
        assert_eq!(service.journal.verify(&[]).await.unwrap().findings, []);
        service.close().await.unwrap();
    });
}

#[test]
fn a_purge_of_a_memory_reaches_the_finding_that_it_was_made_of() {
    run(async |folder| {
        let service = open_with(folder, Timestamp::now, keeping_all()).await;
        let (me, id) = (actor("s1"), begin(&service, "found out").await.id);
        let finding = |text: &str| Step::Finding { text: text.to_owned() }.into();
        let found = vec![finding("The zorilla sleeps."), finding("The okapi wakes.")];
        service.journal.append(&me, Target::Work(id), found).await.unwrap();
        let close = CloseWork { outcome: Outcome::Done, text: None };
        service.journal.close(&me, &id, close).await.unwrap();
        let (project, session) = (Project::parse("demo").unwrap(), SessionId::parse("s1").unwrap());
        let caller = Caller { project, agent: agent_name("test"), person: true, session };
        let taken = service.journal.offer(&caller, &me, &id).await.unwrap();
        let memory = service
            .journal
            .memories_of_work(&id)
            .await
            .unwrap()
            .into_iter()
            .find(|memory| memory.content.contains("zorilla"))
            .unwrap();
        assert!(taken.len() == 2 && taken.contains(&memory.id));
        service.journal.purge_memory(&caller, &memory.id).await.unwrap();
        let shown = format!("{:?}", service.journal.tail(&me, &id, 0, 100).await.unwrap());
        assert!(!shown.contains("zorilla") && shown.contains("okapi"), "{shown}");
        let state = format!("{:?}", service.journal.show(&me, &id).await.unwrap().state);
        assert!(!state.contains("zorilla") && state.contains("okapi"), "{state}");
        let verified = service.journal.verify(&[]).await.unwrap();
        assert_eq!((verified.findings, verified.purged), (vec![], 1));
        // Closing it again brings nothing back.
        assert_eq!(service.journal.offer(&caller, &me, &id).await.unwrap(), []);
        service.close().await.unwrap();
    });
}
