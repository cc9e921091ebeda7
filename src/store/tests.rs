//! The store on the real engine: what only the database can prove.

use std::{future::Future, path::Path};

use surrealdb::types::Variables;

use super::{Store, StoreError, engine::Engine, migrate};
use crate::domain::{EventKind, Kind, Memory, MemoryId, Project, Scope, Session, SessionId, Timestamp};

/// SurrealDB needs deeper stacks than a test's thread has.
pub(super) fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_stack_size(16 << 20)
        .enable_all()
        .build()
        .unwrap()
        .block_on(async { Box::pin(test).await })
}

fn moment(micros: i64) -> Timestamp {
    Timestamp::from_microsecond(micros).unwrap()
}

fn clock_of_1990() -> Timestamp {
    moment(631_152_000_000_000)
}

pub(super) async fn open(dir: &Path) -> Store {
    Store::open(dir, Timestamp::now, Box::new(|_| {})).await.unwrap()
}

pub(super) fn memory(topic_key: Option<&str>) -> Memory {
    Memory {
        id: MemoryId::random(),
        project: Project::parse("demo").unwrap(),
        scope: Scope::Project,
        kind: Kind::manual(),
        title: "A title".to_owned(),
        content: "Some content.".to_owned(),
        topic_key: topic_key.map(str::to_owned),
        tags: vec!["tag".to_owned()],
        agent: "test".to_owned(),
        session: None,
        revision: 1,
        duplicate_count: 0,
        pinned: false,
        created_at: moment(1_000_000),
        updated_at: moment(2_000_000),
        last_seen_at: moment(3_000_000),
        deleted_at: None,
        purged: false,
        version: 0,
    }
}

pub(super) async fn put(store: &Store, memory: Memory) -> Result<(), StoreError> {
    store
        .transact(move |write| {
            let memory = memory.clone();
            Box::pin(async move {
                write.tell(EventKind::MemoryCreated, &memory, None);
                write.changes.memories.push(memory);
                Ok(())
            })
        })
        .await
}

#[test]
fn a_memory_comes_back_as_it_was_put_also_after_a_reopen() {
    let dir = tempfile::tempdir().unwrap();
    run(async {
        let store = open(dir.path()).await;
        let put_in = memory(Some("topic/key"));
        put(&store, put_in.clone()).await.unwrap();
        let want = Memory { version: 1, ..put_in };
        assert_eq!(store.memory(&want.id).await.unwrap().as_ref(), Some(&want));
        let holder = store.topic_holder(&want.project, Scope::Project, "topic/key").await.unwrap();
        assert_eq!(holder.as_ref(), Some(&want));
        store.close().await.unwrap();
        let store = open(dir.path()).await;
        assert_eq!(store.memory(&want.id).await.unwrap(), Some(want));
        store.close().await.unwrap();
    });
}

#[test]
fn a_decision_on_an_old_version_is_refused_and_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    run(async {
        let store = open(dir.path()).await;
        let first = memory(None);
        put(&store, first.clone()).await.unwrap();
        let stale = Memory { version: 7, title: "Stale".to_owned(), ..first.clone() };
        assert!(matches!(put(&store, stale).await, Err(StoreError::Conflict)));
        let held = store.memory(&first.id).await.unwrap().unwrap();
        assert_eq!((held.title.as_str(), held.version), ("A title", 1));
        // The log has no trace and no gap.
        let seqs: Vec<u64> =
            store.events_after("local", 0, 10).await.unwrap().iter().map(|e| e.seq).collect();
        assert_eq!(seqs, [1]);
        put(&store, memory(None)).await.unwrap();
        let seqs: Vec<u64> =
            store.events_after("local", 0, 10).await.unwrap().iter().map(|e| e.seq).collect();
        assert_eq!(seqs, [1, 2]);
    });
}

#[test]
fn a_topic_key_has_one_live_holder() {
    let dir = tempfile::tempdir().unwrap();
    run(async {
        let store = open(dir.path()).await;
        put(&store, memory(Some("a/b"))).await.unwrap();
        assert!(matches!(put(&store, memory(Some("a/b"))).await, Err(StoreError::Conflict)));
        let deleted = Memory { deleted_at: Some(moment(9)), ..memory(Some("a/b")) };
        put(&store, deleted).await.unwrap();
    });
}

#[test]
fn an_edge_needs_both_ends() {
    let dir = tempfile::tempdir().unwrap();
    run(async {
        let store = open(dir.path()).await;
        let refused: Result<(), StoreError> = store
            .transact(|write| {
                Box::pin(async move {
                    let memory = memory(None);
                    let at = write.at();
                    write.changes.created_in.push((
                        memory.id.clone(),
                        SessionId::parse("nowhere").unwrap(),
                        at,
                    ));
                    write.tell(EventKind::MemoryCreated, &memory, None);
                    write.changes.memories.push(memory);
                    Ok(())
                })
            })
            .await;
        assert!(matches!(refused, Err(StoreError::Query { .. })), "{refused:?}");
        assert_eq!(store.events_after("local", 0, 10).await.unwrap(), []);
    });
}

#[test]
fn time_rises_though_the_clock_went_back() {
    let dir = tempfile::tempdir().unwrap();
    run(async {
        let store = open(dir.path()).await;
        put(&store, memory(None)).await.unwrap();
        store.close().await.unwrap();
        let store = Store::open(dir.path(), clock_of_1990, Box::new(|_| {})).await.unwrap();
        put(&store, memory(None)).await.unwrap();
        let events = store.events_after("local", 0, 10).await.unwrap();
        assert!(events[1].at > events[0].at, "{events:?}");
        assert!(events[1].at > clock_of_1990(), "{events:?}");
    });
}

#[test]
fn a_newer_schema_is_refused_and_the_lock_released() {
    let dir = tempfile::tempdir().unwrap();
    run(async {
        open(dir.path()).await.close().await.unwrap();
        let engine = Engine::open(dir.path()).await.unwrap();
        let newer = "CREATE migration:99 CONTENT { version: 99, name: 'x', checksum: 'x', at: time::now() }";
        engine.script("test", newer, Variables::new()).await.unwrap();
        engine.close().await.unwrap();
        for _ in 0..2 {
            let refused = Store::open(dir.path(), Timestamp::now, Box::new(|_| {})).await.err();
            let supported = migrate::newest();
            assert!(
                matches!(refused, Some(StoreError::SchemaTooNew { found: 99, supported: s }) if s == supported),
                "{refused:?}"
            );
        }
    });
}

#[test]
fn the_queries_for_people_run_as_they_stand() {
    let dir = tempfile::tempdir().unwrap();
    run(async {
        let store = open(dir.path()).await;
        let session = Session {
            id: SessionId::parse("s").unwrap(),
            project: Project::parse("demo").unwrap(),
            agent: "test".to_owned(),
            directory: None,
            started_at: moment(1),
            seen_at: moment(1),
            ended_at: None,
            end_reason: None,
            summary: None,
            follows: None,
        };
        let began: Result<(), StoreError> = store
            .transact(move |write| {
                let session = session.clone();
                Box::pin(async move {
                    write.tell_session(EventKind::SessionStarted, &session);
                    write.changes.sessions.push(session);
                    Ok(())
                })
            })
            .await;
        began.unwrap();
        put(&store, memory(None)).await.unwrap();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("surql/queries");
        let mut count = 0;
        for file in std::fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            let answer = store.engine().unwrap().script("query", &text, Variables::new()).await;
            assert!(answer.is_ok(), "{}: {:?}", path.display(), answer.err());
            count += 1;
        }
        assert!(count >= 7, "{count} queries");
    });
}
