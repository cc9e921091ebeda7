//! The journal where the machine's clock goes back, and where the machine sleeps.

use super::*;

const HOUR: Duration = Duration::from_secs(3_600);

async fn shown(service: &Service, session: &str) -> (Work, cerebro_ledger::State) {
    service.journal.of_session(&actor(session)).await.unwrap().unwrap()
}

fn ago(happening: Happening, ago: Duration) -> Happening {
    Happening { ago, ..happening }
}

#[test]
fn a_clock_that_goes_back_changes_nothing_and_holds_nobody_up() {
    run(async |folder| {
        let service = open_with(folder, TestClock::<16>::now, keeping_all()).await;
        append(&service, "s1", vec![prompt("before"), ran("cargo test", 0)]).await;
        let id = shown(&service, "s1").await.0.id;
        assert!(service.journal.hold(&actor("s1"), &id, false).await.unwrap().held);
        let first = service.journal.head().await.unwrap();
        let wedged = wedge(&service).await;
        assert!(append(&service, "s1", vec![prompt("during")]).await.degraded);
        drop(wedged);
        until("what nobody waited for", async || shown(&service, "s1").await.0.seq == 5).await;

        // Two days: more than a lease, an epoch of keys and a round of pruning.
        TestClock::<16>::go_back(48 * HOUR);
        assert_eq!(service.journal.report().degraded_until, None, "a minute is a minute");
        let after = append(&service, "s1", vec![ran("cargo test", 101)]).await;
        assert!(!after.degraded && !after.late, "{after:?}");
        append(&service, "s1", vec![Step::TurnEnded { said: None }.into(), prompt("after")]).await;
        // Its hook was delayed. Moments go on from the last one by microseconds, so that an age says nothing.
        append(&service, "s1", vec![ago(prompt("delayed"), Duration::from_millis(80))]).await;
        let (work, state) = shown(&service, "s1").await;
        assert_eq!((work.seq, state.request.unwrap().text.as_str(), state.turn_open), (9, "delayed", true));
        assert_eq!(state.failed.unwrap().text, "cargo test", "what is recorded later happened later");
        let entries = service.journal.tail(&actor("s1"), &id, 0, 100).await.unwrap();
        assert!(entries.windows(2).all(|pair| pair[0].at <= pair[1].at), "moments never go back");
        let second = service.journal.head().await.unwrap();
        let anchors = [first, second].map(|head| Anchor { size: head.size, root: head.root });
        assert_eq!(service.journal.verify(&anchors).await.unwrap().findings, []);
        service.close().await.unwrap();
    });
}

#[test]
fn whoever_slept_goes_on_unless_another_one_took_the_work() {
    run(async |folder| {
        let service = open_with(folder, TestClock::<17>::now, keeping_all()).await;
        let id = begin(&service, "over night").await.id;
        let (me, other) = (actor("s1"), actor("s2"));
        service.journal.hold(&me, &id, false).await.unwrap();
        append(&service, "s1", vec![prompt("before")]).await;
        TestClock::<17>::advance(8 * HOUR);
        // A hook that slept with the machine says how old its report is.
        append(&service, "s1", vec![prompt("good morning")]).await;
        append(&service, "s1", vec![ago(ran("make", 2), 8 * HOUR)]).await;
        let (_, state) = shown(&service, "s1").await;
        let (failed, request) = (state.failed.unwrap(), state.request.unwrap());
        assert!(request.at.duration_since(failed.at).as_hours() >= 7, "{failed:?} {request:?}");
        // The lease ended while the machine slept. Nobody took the work, so its holder continues and holds it again.
        let target = Target::Work(id);
        assert!(!service.journal.append(&me, target, vec![prompt("still mine")]).await.unwrap().late);
        assert!(!service.journal.hold(&other, &id, false).await.unwrap().held);
        TestClock::<17>::advance(8 * HOUR);
        assert!(service.journal.hold(&other, &id, false).await.unwrap().held);
        let late = service.journal.append(&me, Target::Work(id), vec![prompt("too late")]).await.unwrap();
        assert!(late.late);
        assert_eq!(service.journal.verify(&[]).await.unwrap().findings, []);
        service.close().await.unwrap();
    });
}
