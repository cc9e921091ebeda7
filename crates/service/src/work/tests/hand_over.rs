//! The tasks of a session whose agent was killed, as the next session is shown them.

use cerebro_ledger::Unfinished;

use super::*;

async fn listed(service: &Service, filter: WorkFilter) -> Vec<(WorkId, Option<Stale>)> {
    let query = WorkQuery { filter, limit: 9, ..WorkQuery::default() };
    let works = service.journal.list(&actor("s2"), query).await.unwrap();
    works.into_iter().map(|one| (one.work.id, one.stale)).collect()
}

#[test]
fn a_task_is_lost_with_its_session_and_free_until_somebody_goes_on() {
    run(async |folder| {
        let service = open_with(folder, Timestamp::now, keeping_all()).await;
        let (me, other) = (actor("s1"), actor("s2"));
        append(&service, "s1", vec![prompt("Publish release 1.2")]).await;
        let id = begin(&service, "Release 1.2").await.id;
        service.journal.hold(&me, &id, false).await.unwrap();
        let target = Target::Work(id);
        let step = |text: &str| Happening::from(Step::StepAdded { text: text.to_owned(), task: None });
        let steps = vec![step("tag"), step("publish")];
        service.journal.append(&me, target.clone(), steps).await.unwrap();
        service.journal.intent(&me, &id, "npm-publish", "npm publish 1.2", Repeat::Never).await.unwrap();
        assert_eq!(listed(&service, WorkFilter::Stale).await, []);

        assert!(service.journal.lost(&me).await.unwrap());
        let stale = listed(&service, WorkFilter::Stale).await;
        assert!(stale.len() == 2 && stale.contains(&(id, Some(Stale::Lost))), "{stale:?}");
        assert!(listed(&service, WorkFilter::Free).await.contains(&(id, Some(Stale::Lost))));
        let world = World::at(Timestamp::now());
        let found = service.journal.resume(&other, None, &world, limits::HINT_BYTES).await.unwrap().unwrap();
        assert_eq!((found.work.kind.as_str(), found.stale), ("session", Some(Stale::Lost)));
        let [task] = &found.others[..] else { panic!("{:?}", found.others) };
        assert_eq!((task.id, task.next.as_deref(), task.effects.len()), (id, Some("tag"), 1));
        for line in ["npm publish 1.2 (key npm-publish): for a person to decide", "next by its plan: tag"] {
            assert!(found.text.contains(line), "{}", found.text);
        }
        let named =
            service.journal.resume(&other, Some(&id), &world, limits::HINT_BYTES).await.unwrap().unwrap();
        assert!(!named.text.contains("held by") && named.text.contains("lost"), "{}", named.text);
        assert_eq!(named.action, Action::CheckFirst);

        // The session was not dead after all: what it does in the task is not late, and it holds it again.
        let note = async |who: &Actor| {
            let note = Step::Note { text: "going on".to_owned() }.into();
            service.journal.append(who, target.clone(), vec![note]).await.unwrap().late
        };
        assert!(!note(&me).await);
        assert_eq!(listed(&service, WorkFilter::Free).await.iter().filter(|one| one.0 == id).count(), 0);
        assert!(!service.journal.hold(&other, &id, false).await.unwrap().held);
        // It dies again; another one holds the task without force, and the first is late.
        service.journal.append(&me, Target::Session, vec![Step::Connected.into()]).await.unwrap();
        assert!(service.journal.lost(&me).await.unwrap());
        assert!(service.journal.hold(&other, &id, false).await.unwrap().held);
        assert!(note(&me).await);
        let shown = service.journal.show(&other, &id).await.unwrap();
        assert_eq!((shown.stale, shown.state.lost, shown.work.lost), (None, None, false));
        assert_eq!(Unfinished::of(&shown.work, &shown.state).effects.len(), 1);
        assert_eq!(service.journal.verify(&[]).await.unwrap().findings, []);
        service.close().await.unwrap();
    });
}

#[test]
fn a_late_end_is_refused_and_not_written() {
    run(async |folder| {
        let service = open_with(folder, Timestamp::now, keeping_all()).await;
        let (first, second) = (actor("s1"), actor("s2"));
        let id = begin(&service, "taken over").await.id;
        service.journal.hold(&first, &id, false).await.unwrap();
        service.journal.intent(&first, &id, "pay", "pay the invoice", Repeat::Never).await.unwrap();
        service.journal.hold(&second, &id, true).await.unwrap();
        let before = service.journal.show(&first, &id).await.unwrap().work;
        for _ in 0..2 {
            let close = CloseWork { outcome: Outcome::Done, text: None };
            let refused = [
                service.journal.close(&first, &id, close).await.err(),
                service.journal.confirm(&first, &id, "pay").await.err(),
                service.journal.refute(&first, &id, "pay", None).await.err(),
            ];
            for error in refused {
                assert!(matches!(error, Some(ServiceError::Invalid { field: "work", .. })), "{error:?}");
            }
        }
        let after = service.journal.show(&first, &id).await.unwrap().work;
        assert_eq!((after.seq, after.version), (before.seq, before.version));
        assert_eq!(service.journal.report().missed, 0, "what is refused is not missing");
        service.close().await.unwrap();
    });
}
