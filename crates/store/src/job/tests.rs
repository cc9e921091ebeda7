//! The queue on the real engine: leases, ends, and what a change of a memory does to them.

use std::time::Duration;

use super::*;
use crate::{
    ModelState,
    tests::{memory, open, put, run, with_store},
};
use cerebro_core::domain::{Memory, SessionId};

async fn save(store: &Store, memory: &Memory) {
    store.change(|write| write.create_memory(memory)).await.unwrap();
}

fn later(seconds: u64) -> Timestamp {
    Timestamp::now() + Duration::from_secs(seconds)
}

async fn model(store: &Store) -> StoredModel {
    let model = StoredModel::new("test/model", 3, ModelState::Active);
    store.models().add(&model).await.unwrap();
    model
}

async fn lease(store: &Store, owner: &str) -> Vec<Job> {
    store.jobs().lease(owner, JobKind::Embed, 5, later(60)).await.unwrap()
}

async fn places(store: &Store, model: &StoredModel, scope: &Scope) -> Vec<(MemoryId, u32)> {
    let page = store.vectors().page(model, scope, "", 100).await.unwrap();
    assert_eq!(
        store.vectors().page_of_packed(model, scope, "", 100).await.unwrap(),
        page,
        "packed as they are"
    );
    page.into_iter().map(|vector| (vector.memory, vector.passage)).collect()
}

#[test]
fn a_job_is_leased_once_and_its_vectors_are_put_once() {
    with_store(async |store| {
        let model = model(store).await;
        let saved = memory(None);
        save(store, &saved).await;
        let jobs = lease(store, "a/1").await;
        assert_eq!((jobs.len(), jobs[0].attempts, &jobs[0].subject), (1, 1, &Subject::Memory(saved.id)));
        assert!(jobs[0].queued_at.is_some());
        assert!(lease(store, "b/1").await.is_empty(), "it is leased");
        let counts = store.jobs().counts().await.unwrap();
        assert_eq!(
            store.jobs().ahead(JobKind::InferRelations).await.unwrap(),
            (false, None),
            "of another kind"
        );
        assert_eq!(store.jobs().ahead(JobKind::Embed).await.unwrap(), (true, None));
        assert_eq!((counts.queued, counts.leased, counts.dead), (0, 1, 0));

        let vectors = [vec![1.0, 0.0, 0.0], vec![0.0, 1.0, 0.0]];
        let mut is_called = false;
        assert!(
            !store
                .jobs()
                .finish_embedding("b/1", &jobs[0], &model, 1, &vectors, |_| is_called = true)
                .await
                .unwrap()
        );
        assert!(!is_called && places(store, &model, &saved.scope).await.is_empty(), "not its lease");
        assert!(
            store
                .jobs()
                .finish_embedding("a/1", &jobs[0], &model, 1, &vectors, |_| is_called = true)
                .await
                .unwrap()
        );
        assert!(is_called);
        assert_eq!(places(store, &model, &saved.scope).await, [(saved.id, 0), (saved.id, 1)]);
        assert!(
            !store.jobs().finish_embedding("a/1", &jobs[0], &model, 1, &vectors, |_| ()).await.unwrap(),
            "done"
        );
        assert_eq!(store.jobs().counts().await.unwrap().depth(), 0);
        assert_eq!(store.vectors().count(&model, &saved.scope).await.unwrap(), 2);

        for scopes in [None, Some([saved.scope.clone()])] {
            let scopes = scopes.as_ref().map(<[_; 1]>::as_slice);
            let near = store.vectors().nearest(&model, scopes, &[0.1, 1.0, 0.0]).await.unwrap();
            assert_eq!(near.len(), 2, "{near:?}");
            assert_eq!(near[0].1, 1);
        }
    });
}

#[test]
fn only_the_named_leases_are_renewed() {
    let dir = tempfile::tempdir().unwrap();
    run(async {
        let store = open(dir.path()).await;
        for _ in 0..2 {
            save(&store, &memory(None)).await;
        }
        let jobs = store.jobs().lease("a/1", JobKind::Embed, 5, later(60)).await.unwrap();
        for (owner, until) in [("a/1", later(600)), ("b/1", later(6000))] {
            store.jobs().renew(owner, &jobs[..1], until).await.unwrap();
        }
        let leased = store.jobs().in_state(JobState::Leased, 5).await.unwrap();
        let due = |job: &Job| leased.iter().find(|leased| leased.subject == job.subject).unwrap().due_at;
        assert!(due(&jobs[0]) > later(500) && due(&jobs[0]) < later(700), "{leased:?}");
        assert!(due(&jobs[1]) < later(70), "{leased:?}");
        store.close().await.unwrap();
    });
}

#[test]
fn vectors_are_packed_again_except_those_that_changed_meanwhile() {
    with_store(async |store| {
        let model = model(store).await;
        let (kept, gone) = (memory(None), memory(None));
        for (saved, first) in [(&kept, 1.0), (&gone, 2.0)] {
            save(store, saved).await;
            let jobs = lease(store, "a/1").await;
            let vector = [vec![first, 0.25, -0.5]];
            assert!(
                store.jobs().finish_embedding("a/1", &jobs[0], &model, 1, &vector, |_| ()).await.unwrap()
            );
        }
        let read = store.vectors().page(&model, &kept.scope, "", 100).await.unwrap();
        assert_eq!(read.len(), 2);
        // As in a store of an older program; then one goes, after its vector was read.
        let clear = "DELETE packed;";
        store.engine().unwrap().script("test", clear, surrealdb::types::Variables::new()).await.unwrap();
        let session = SessionId::parse("test").unwrap();
        let deleted = Memory { version: 1, deleted_at: Some(Timestamp::now()), ..gone.clone() };
        store.change(|write| write.delete_memory(&deleted, &session)).await.unwrap();
        store.vectors().pack(&model, &kept.scope, &read).await.unwrap();
        assert_eq!(places(store, &model, &kept.scope).await, [(kept.id, 0)]);
        store.models().drop_with_vectors(&model).await.unwrap();
        assert!(store.vectors().page_of_packed(&model, &kept.scope, "", 100).await.unwrap().is_empty());
    });
}

#[test]
fn a_change_makes_the_job_under_way_void() {
    with_store(async |store| {
        let model = model(store).await;
        let mut saved = memory(None);
        save(store, &saved).await;
        let old = lease(store, "a/1").await;
        saved.version = 1;
        saved.revision = 2;
        save(store, &saved).await;
        let one = [vec![1.0, 0.0, 0.0]];
        assert!(!store.jobs().finish_embedding("a/1", &old[0], &model, 1, &one, |_| ()).await.unwrap());
        let new = lease(store, "a/1").await;
        assert_eq!((new[0].revision, new[0].attempts), (2, 1));
        assert!(store.jobs().finish_embedding("a/1", &new[0], &model, 2, &one, |_| ()).await.unwrap());
        // Fewer passages than before leave none of the old ones.
        saved.version = 2;
        save(store, &saved).await;
        let again = lease(store, "a/1").await;
        assert!(
            store
                .jobs()
                .finish_embedding("a/1", &again[0], &model, 2, &[vec![1.0; 3], vec![1.0; 3]], |_| ())
                .await
                .unwrap()
        );
        saved.version = 3;
        save(store, &saved).await;
        let again = lease(store, "a/1").await;
        assert!(store.jobs().finish_embedding("a/1", &again[0], &model, 2, &one, |_| ()).await.unwrap());
        assert_eq!(places(store, &model, &saved.scope).await, [(saved.id, 0)]);
    });
}

#[test]
fn leases_lapse_and_failures_end_in_a_dead_letter_that_can_be_revived() {
    with_store(async |store| {
        let saved = memory(None);
        save(store, &saved).await;
        let first = store.jobs().lease("a/1", JobKind::Embed, 5, Timestamp::now()).await.unwrap();
        let second = lease(store, "b/1").await;
        assert_eq!(second[0].attempts, 2, "the lapsed lease is another's");
        store.jobs().fail("a/1", &first[0], None, "late").await.unwrap();
        assert_eq!(store.jobs().counts().await.unwrap().leased, 1, "a late word changes nothing");
        store.jobs().fail("b/1", &second[0], Some(later(60)), "again\nlater").await.unwrap();
        assert!(lease(store, "b/1").await.is_empty(), "it is not due");
        let waiting = store.jobs().in_state(JobState::Queued, 9).await.unwrap();
        assert_eq!(waiting[0].error.as_deref(), Some("again later"));
        assert_eq!(waiting[0].title, saved.title);
        let (leased, next) = store.jobs().ahead(JobKind::Embed).await.unwrap();
        assert!(!leased && next.is_some());

        save(store, &Memory { version: 1, ..saved.clone() }).await;
        let third = lease(store, "b/1").await;
        assert_eq!(third[0].attempts, 1, "a change begins anew");
        store.jobs().release("c/1").await.unwrap();
        assert_eq!(store.jobs().counts().await.unwrap().leased, 1, "it is not another's to give back");
        store.jobs().release("b/1").await.unwrap();
        let third = lease(store, "b/1").await;
        assert_eq!(third[0].attempts, 1, "given back is not tried");
        store.jobs().fail("b/1", &third[0], None, "never").await.unwrap();
        assert_eq!(store.jobs().counts().await.unwrap().dead, 1);
        assert_eq!(store.jobs().retry_dead().await.unwrap(), 1);
        assert_eq!(lease(store, "local/2").await.len(), 1);
        store.jobs().requeue_orphaned().await.unwrap();
        assert_eq!(lease(store, "local/3").await.len(), 1, "its process ended");
    });
}

#[test]
fn many_workers_never_get_the_same_job() {
    let dir = tempfile::tempdir().unwrap();
    run(async {
        let store = std::sync::Arc::new(open(dir.path()).await);
        for _ in 0..60 {
            save(&store, &memory(None)).await;
        }
        let workers = (0..4).map(|n| {
            let store = std::sync::Arc::clone(&store);
            tokio::spawn(async move {
                let owner = format!("w/{n}");
                let mut got = Vec::new();
                loop {
                    let jobs = store.jobs().lease(&owner, JobKind::Embed, 3, later(60)).await.unwrap();
                    if jobs.is_empty() {
                        return got;
                    }
                    got.extend(jobs.into_iter().filter_map(|job| job.subject.memory().copied()));
                }
            })
        });
        let mut all = Vec::new();
        for worker in workers.collect::<Vec<_>>() {
            all.extend(worker.await.unwrap());
        }
        let count = all.len();
        all.sort();
        all.dedup();
        assert_eq!((all.len(), count), (60, 60));
    });
}

#[test]
fn vectors_go_and_move_with_their_memories() {
    with_store(async |store| {
        let model = model(store).await;
        let (stays, mut goes) = (memory(None), memory(None));
        for saved in [&stays, &goes] {
            save(store, saved).await;
        }
        for job in lease(store, "a/1").await {
            store.jobs().finish_embedding("a/1", &job, &model, 1, &[vec![1.0; 3]], |_| ()).await.unwrap();
        }
        assert_eq!(places(store, &model, &stays.scope).await.len(), 2);
        let other = Scope::Project(Project::parse("other").unwrap());
        let mut moved = Memory { version: 1, ..stays.clone() };
        moved.scope = other.clone();
        store.change(|write| write.merge_memory(&moved)).await.unwrap();
        assert_eq!(places(store, &model, &other).await, [(stays.id, 0)]);
        goes.version = 1;
        goes.deleted_at = Some(Timestamp::now());
        let session = SessionId::parse("test").unwrap();
        store.change(|write| write.delete_memory(&goes, &session)).await.unwrap();
        assert!(places(store, &model, &goes.scope).await.is_empty());
        let near = store.vectors().nearest(&model, None, &[1.0; 3]).await.unwrap();
        assert_eq!(near.len(), 1, "the graph forgets too");
    });
}

#[test]
fn missing_vectors_are_queued_and_models_are_switched_and_dropped() {
    with_store(async |store| {
        let old = model(store).await;
        let saved = memory(None);
        put(store, saved.clone()).await.unwrap();
        let (last, count) = store.jobs().queue_missing(&old, None, 10).await.unwrap();
        assert_eq!((last.as_ref(), count), (Some(&saved.id), 1));
        assert_eq!(store.jobs().queue_missing(&old, last.as_ref(), 10).await.unwrap(), (None, 0));
        let job = lease(store, "a/1").await.remove(0);
        assert_eq!(job.queued_at, None);
        store.jobs().finish_embedding("a/1", &job, &old, 1, &[vec![1.0; 3]], |_| ()).await.unwrap();
        assert_eq!(store.jobs().queue_missing(&old, None, 10).await.unwrap().1, 0, "it has its vectors");

        let new = StoredModel::new("test/other", 2, ModelState::Building);
        store.models().add(&new).await.unwrap();
        assert_eq!(store.jobs().queue_missing(&new, None, 10).await.unwrap().1, 1);
        store.models().activate(&new).await.unwrap();
        let models = store.models().all().await.unwrap();
        assert_eq!((models[0].name.as_str(), models[0].state), ("test/other", ModelState::Active));
        assert_eq!((models[1].name.as_str(), models[1].state), ("test/model", ModelState::Building));
        store.models().drop_with_vectors(&models[1]).await.unwrap();
        assert_eq!(store.models().all().await.unwrap().len(), 1);
    });
}

#[test]
fn a_memory_that_gets_its_vectors_meanwhile_is_not_queued_again() {
    const MEMORIES: usize = 150;
    let dir = tempfile::tempdir().unwrap();
    run(async {
        let store = std::sync::Arc::new(open(dir.path()).await);
        let model = model(&store).await;
        for _ in 0..MEMORIES {
            save(&store, &memory(None)).await;
        }
        // As another process does what is queued while this one looks for what is not.
        let (other, its_model) = (std::sync::Arc::clone(&store), model.clone());
        let working = tokio::spawn(async move {
            let mut done = Vec::new();
            loop {
                let jobs = other.jobs().lease("w/1", JobKind::Embed, 3, later(60)).await.unwrap();
                if jobs.is_empty() {
                    return done;
                }
                for job in jobs {
                    let vectors = [vec![1.0; 3]];
                    let put =
                        other.jobs().finish_embedding("w/1", &job, &its_model, 1, &vectors, |_| ()).await;
                    assert!(put.unwrap());
                    done.extend(job.subject.memory().copied());
                }
            }
        });
        while !working.is_finished() {
            store.jobs().queue_missing(&model, None, MEMORIES).await.unwrap();
        }
        let mut done = working.await.unwrap();
        let count = done.len();
        done.sort();
        done.dedup();
        assert_eq!((done.len(), count), (MEMORIES, MEMORIES), "each was embedded once");
        assert_eq!(store.jobs().counts().await.unwrap(), JobCounts::default());
    });
}

#[test]
fn what_was_spent_and_whether_it_is_paused_is_remembered() {
    with_store(async |store| {
        let model = model(store).await;
        let one = cerebro_core::pace::Spent { tokens: 5, requests: 1 };
        assert_eq!(
            store.spending().on_day("2026-11-22").await.unwrap(),
            cerebro_core::pace::Spent::default()
        );
        store.spending().add("2026-11-22", &model.name, one).await.unwrap();
        store.spending().add("2026-11-22", &model.name, one).await.unwrap();
        store.spending().add("2026-11-23", &model.name, one).await.unwrap();
        let spent = store.spending().on_day("2026-11-22").await.unwrap();
        assert_eq!((spent.tokens, spent.requests), (10, 2));
        assert!(!store.worker().paused().await.unwrap());
        store.worker().pause(true).await.unwrap();
        assert!(store.worker().paused().await.unwrap());
    });
}

#[test]
fn a_job_may_be_about_anything_and_bring_what_its_handler_needs() {
    with_store(async |store| {
        let subject = Subject::Other { table: "session".to_owned(), key: "a 'quoted' key".to_owned() };
        let payload: Payload =
            [("from".to_owned(), serde_json::json!({"line": 7, "parts": [1, 2]}))].into_iter().collect();
        let kind = JobKind::InferRelations;
        store.jobs().queue(kind, &subject, 3, Some(payload.clone())).await.unwrap();
        let listed = store.jobs().in_state(JobState::Queued, 9).await.unwrap();
        assert_eq!((listed.len(), &listed[0].subject, listed[0].title.as_str()), (1, &subject, ""));
        assert!(lease(store, "a/1").await.is_empty());
        let leased = store.jobs().lease("a/1", kind, 5, later(60)).await.unwrap();
        assert_eq!((leased[0].revision, &leased[0].subject), (3, &subject));
        assert_eq!(leased[0].payload, Some(payload));
        // It is no memory's, so nobody takes it for the job of one that is gone.
        assert_eq!(store.integrity().faulty_jobs(later(0)).await.unwrap().orphans.len(), 0);
        assert_eq!(store.integrity().queued().await.unwrap(), []);
        let model = model(store).await;
        let refused = store.jobs().finish_embedding("a/1", &leased[0], &model, 3, &[], |_| ()).await;
        assert!(matches!(refused, Err(StoreError::Row { table: "job", .. })), "{refused:?}");
        // Queued again it is the same row, and what was leased is void.
        store.jobs().queue(kind, &subject, 4, None).await.unwrap();
        store.jobs().end("a/1", &leased[0]).await.unwrap();
        let again = store.jobs().lease("a/1", kind, 5, later(60)).await.unwrap();
        assert_eq!((again.len(), again[0].revision, &again[0].payload), (1, 4, &None));
        store.jobs().end("a/1", &again[0]).await.unwrap();
        assert_eq!(store.jobs().counts().await.unwrap(), JobCounts::default());
    });
}
