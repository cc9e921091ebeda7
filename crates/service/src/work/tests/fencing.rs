//! Who holds a piece of work, and how long anybody waits to get it.

use std::time::Instant;

use super::*;

#[test]
fn whoever_lost_a_lease_stays_late_until_it_takes_it_again() {
    run(async |folder| {
        let service = open_with(folder, TestClock::<11>::now, keeping_all()).await;
        let id = begin(&service, "one of us").await.id;
        let (first, second) = (actor("s1"), actor("s2"));
        let done = || CloseWork { outcome: Outcome::Done, text: None };
        let note = async |who: &Actor| {
            service.journal.append(who, Target::Work(id), vec![prompt("a stale one")]).await.unwrap().late
        };
        service.journal.hold(&first, &id, false).await.unwrap();
        service.journal.intent(&first, &id, "pr", "gh pr create", Repeat::Check).await.unwrap();
        service.journal.hold(&second, &id, true).await.unwrap();
        assert!(note(&first).await, "the other one holds it");
        service.journal.release(&second, &id).await.unwrap();
        assert!(note(&first).await, "the other one has let go");
        assert!(!note(&second).await, "who let go of it is nobody's follower");
        assert!(service.journal.confirm(&first, &id, "pr").await.is_err());
        assert!(service.journal.close(&first, &id, done()).await.is_err());
        let state = service.journal.show(&second, &id).await.unwrap().state;
        assert_eq!(
            (state.closed, state.open_intents().count(), state.late),
            (None, 1, 2),
            "what is refused is not written"
        );
        let again = service.journal.hold(&first, &id, false).await.unwrap();
        assert_eq!((again.held, again.fence), (true, 3));
        assert!(!note(&first).await);
        // The lease of the other one ends by itself: the same.
        service.journal.hold(&second, &id, true).await.unwrap();
        TestClock::<11>::advance(Duration::from_secs(31 * 60));
        assert!(note(&first).await);
        service.close().await.unwrap();

        // It is known after a restart, too.
        let service = open_with(folder, TestClock::<11>::now, keeping_all()).await;
        let late =
            service.journal.append(&first, Target::Work(id), vec![prompt("again")]).await.unwrap().late;
        assert!(late);
        let back = service.journal.hold(&first, &id, false).await.unwrap();
        assert_eq!((back.held, back.fence), (true, 5));
        service.journal.confirm(&first, &id, "pr").await.unwrap();
        service.journal.close(&first, &id, done()).await.unwrap();
        assert_eq!(service.journal.verify(&[]).await.unwrap().findings, []);
        service.close().await.unwrap();
    });
}

#[test]
fn activity_of_a_session_keeps_all_that_it_holds() {
    run(async |folder| {
        let service = open_with(folder, TestClock::<12>::now, keeping_all()).await;
        let id = begin(&service, "held by a session").await.id;
        let (holder, other) = (actor("s1"), actor("s2"));
        service.journal.hold(&holder, &id, false).await.unwrap();
        let ends =
            async || service.base.store.works().by_id(&id).await.unwrap().unwrap().work.lease.unwrap().until;
        let before = ends().await;
        // It works on, elsewhere.
        TestClock::<12>::advance(Duration::from_secs(20 * 60));
        append(&service, "s1", vec![prompt("go on")]).await;
        until("the lease to be renewed", async || ends().await > before).await;
        TestClock::<12>::advance(Duration::from_secs(20 * 60));
        assert!(!service.journal.hold(&other, &id, false).await.unwrap().held);
        // That its agent is gone keeps nothing.
        let before = ends().await;
        service.journal.lost(&holder).await.unwrap();
        TestClock::<12>::advance(Duration::from_secs(11 * 60));
        assert_eq!(ends().await, before);
        assert!(service.journal.hold(&other, &id, false).await.unwrap().held);
        assert_eq!(service.journal.verify(&[]).await.unwrap().findings, []);
        service.close().await.unwrap();
    });
}

#[test]
fn nobody_waits_long_to_begin_fork_hold_or_announce() {
    run(async |folder| {
        let service = open_with(folder, TestClock::<13>::now, keeping_all()).await;
        let (me, id) = (actor("s1"), begin(&service, "before").await.id);
        let wedged = wedge(&service).await;
        let begun = Instant::now();
        let hold = service.journal.hold(&me, &id, false).await;
        assert!(matches!(hold, Err(ServiceError::JournalBusy)), "{hold:?}");
        assert!(begun.elapsed() < 5 * slow::WAIT_MAX);
        let begun = Instant::now();
        let new = BeginWork { title: "during".to_owned(), ..BeginWork::default() };
        let close = CloseWork { outcome: Outcome::Done, text: None };
        for refused in [
            service.journal.begin(&me, new).await.err(),
            service.journal.fork(&me, &id, None).await.err(),
            service.journal.release(&me, &id).await.err(),
            service.journal.close(&me, &id, close).await.err(),
            service.journal.intent(&me, &id, "k", "make", Repeat::Safe).await.err(),
        ] {
            assert!(matches!(refused, Some(ServiceError::JournalBusy)), "{refused:?}");
        }
        assert!(begun.elapsed() < slow::WAIT_MAX, "nobody waits");
        drop(wedged);
        TestClock::<13>::advance(Duration::from_secs(61));
        // What was waited for in vain came about: to ask again is to renew it.
        until("the lease", async || {
            service.base.store.works().by_id(&id).await.unwrap().unwrap().work.fence == 1
        })
        .await;
        assert_eq!(service.journal.hold(&me, &id, false).await.unwrap().fence, 1);
        service.close().await.unwrap();
    });
}

#[test]
fn a_long_piece_is_folded_from_where_that_was_last_kept() {
    run(async |folder| {
        let service = open_with(folder, Timestamp::now, keeping_all()).await;
        let id = begin(&service, "long").await.id;
        for n in 0..9 {
            let some = (0..limits::BATCH_MAX).map(|i| prompt(&format!("request {n}-{i}"))).collect();
            service.journal.append(&actor("s1"), Target::Work(id), some).await.unwrap();
        }
        service.close().await.unwrap();
        let service = open_with(folder, Timestamp::now, keeping_all()).await;
        let kept = service.base.store.checkpoints().of(&id).await.unwrap().unwrap();
        assert!((500..577).contains(&kept.seq), "{}", kept.seq);
        let shown = service.journal.show(&actor("s1"), &id).await.unwrap();
        let entries = service.journal.tail(&actor("s1"), &id, 0, 1_000).await.unwrap();
        assert_eq!(cerebro_ledger::fold::fold_all(&entries), shown.state);
        assert_eq!(shown.state.request.unwrap().text, "request 8-63");
        service.close().await.unwrap();

        // One that was not written here is not used, and none that is left holds a purged text.
        let forged = kept.state.replace("request", "forged");
        let script =
            format!("UPDATE work_checkpoint SET state = {};", serde_json::to_string(&forged).unwrap());
        cerebro_testing::alter(&folder.join("store"), &script).await.unwrap();
        let service = open_with(folder, Timestamp::now, keeping_all()).await;
        let shown = service.journal.show(&actor("s1"), &id).await.unwrap();
        assert_eq!(shown.state.request.unwrap().text, "request 8-63");
        let close = CloseWork { outcome: Outcome::Done, text: None };
        service.journal.close(&actor("s1"), &id, close).await.unwrap();
        let texts = Retention { texts: Duration::ZERO, works: Duration::from_secs(3_600) };
        assert!(service.journal.prune(texts).await.unwrap().texts > 500);
        assert_eq!(service.base.store.checkpoints().of(&id).await.unwrap(), None);
        service.close().await.unwrap();
    });
}

#[test]
fn what_goes_with_time_goes_from_the_checkpoints_of_forks_too() {
    run(async |folder| {
        let service = open_with(folder, Timestamp::now, keeping_all()).await;
        let (me, id) = (actor("s1"), begin(&service, "the original").await.id);
        service.journal.append(&me, Target::Work(id), vec![prompt("a secret plan")]).await.unwrap();
        let fork = service.journal.fork(&me, &id, None).await.unwrap().id;
        for n in 0..9 {
            let note = |i| Step::Note { text: format!("note {n}-{i}") }.into();
            let some = (0..limits::BATCH_MAX).map(note).collect();
            service.journal.append(&me, Target::Work(fork), some).await.unwrap();
        }
        let state = service.base.store.checkpoints().of(&fork).await.unwrap().unwrap().state;
        assert!(state.contains("a secret plan"), "{state}");
        let close = CloseWork { outcome: Outcome::Done, text: None };
        service.journal.close(&me, &id, close).await.unwrap();
        let texts = Retention { texts: Duration::ZERO, works: Duration::from_secs(3_600) };
        assert!(service.journal.prune(texts).await.unwrap().texts > 0);
        assert_eq!(service.base.store.checkpoints().of(&fork).await.unwrap(), None);
        assert_eq!(service.journal.show(&me, &fork).await.unwrap().state.request, None);
        service.close().await.unwrap();
    });
}
