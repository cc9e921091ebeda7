//! The store on the real engine: what only the database can prove.

use std::{future::Future, path::Path, time::Duration};

use surrealdb::types::Variables;

use super::{Answer, Engine, EngineError, Query, Store, StoreError, Write, migrate};
use cerebro_core::domain::{
    Body, Kind, Memory, MemoryId, Project, Run, Scope, Session, SessionId, Timestamp, Validity,
};
use cerebro_core::redact::RedactedText;

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

/// Runs a test over a store in a folder of its own.
pub(super) fn with_store(test: impl AsyncFnOnce(&Store)) {
    let dir = tempfile::tempdir().unwrap();
    run(async {
        let store = open(dir.path()).await;
        Box::pin(test(&store)).await;
        store.close().await.unwrap();
    });
}

pub(super) fn text(text: &str) -> RedactedText {
    RedactedText::from_store(text.to_owned())
}

pub(super) fn memory(topic_key: Option<&str>) -> Memory {
    Memory {
        id: MemoryId::random(),
        body: Body {
            scope: Scope::Project(Project::parse("demo").unwrap()),
            kind: Kind::manual(),
            title: text("A title"),
            content: text("Some content."),
            topic_key: topic_key.map(text),
            tags: vec![text("tag")],
        },
        taint: cerebro_core::domain::Taint::default(),
        agent: text("test"),
        session: None,
        revision: 1,
        duplicate_count: 0,
        pinned: false,
        created_at: moment(1_000_000),
        updated_at: moment(2_000_000),
        last_seen_at: moment(3_000_000),
        deleted_at: None,
        purged: false,
        valid: Validity::default(),
        nature: None,
        trigger: None,
        done_at: None,
        archived_at: None,
        version: 0,
    }
}

pub(super) async fn put(store: &Store, memory: Memory) -> Result<(), StoreError> {
    // Without a job for the worker.
    let session = SessionId::parse("test").unwrap();
    store.change(|write| write.repeat_memory(&memory, &session)).await
}

async fn decide(store: &Store, run: Run, changes: impl Fn(&mut Write<'_>)) {
    let decided = store.transact_as(run, |write| {
        changes(write);
        Box::pin(async { Ok::<_, StoreError>(()) })
    });
    decided.await.unwrap();
}

#[test]
fn a_memory_comes_back_as_it_was_put_also_after_a_reopen() {
    let dir = tempfile::tempdir().unwrap();
    run(async {
        let store = open(dir.path()).await;
        let put_in = memory(Some("topic/key"));
        put(&store, put_in.clone()).await.unwrap();
        let want = Memory { version: 1, ..put_in };
        assert_eq!(store.memories().by_id(&want.id).await.unwrap().as_ref(), Some(&want));
        let holder = store.topics().holder(&want.scope, "topic/key").await.unwrap();
        assert_eq!(holder.as_ref(), Some(&want));
        store.close().await.unwrap();
        let store = open(dir.path()).await;
        assert_eq!(store.memories().by_id(&want.id).await.unwrap(), Some(want));
        store.close().await.unwrap();
    });
}

#[test]
fn a_dry_run_decides_and_leaves_no_trace() {
    with_store(async |store| {
        let memory = memory(None);
        decide(store, Run::Dry, |write| write.create_memory(&memory)).await;
        assert_eq!(store.memories().by_id(&memory.id).await.unwrap(), None);
        assert_eq!(store.events().after("local", 0, 10).await.unwrap(), []);
        decide(store, Run::Real, |write| write.create_memory(&memory)).await;
        assert_eq!(store.memories().by_id(&memory.id).await.unwrap().map(|memory| memory.version), Some(1));
        assert_eq!(store.events().last().await.unwrap().0, 1, "the dry run took no number");
    });
}

#[test]
fn a_write_can_tell_whether_anything_was_committed_since_a_moment() {
    use std::sync::atomic::{AtomicU64, Ordering};

    let dir = tempfile::tempdir().unwrap();
    run(async {
        let store = open(dir.path()).await;
        let seen = AtomicU64::new(u64::MAX);
        let look = |write: &mut Write<'_>| seen.store(write.last_seq(), Ordering::SeqCst);
        for _ in 0..2 {
            let before = store.announced();
            decide(&store, Run::Dry, look).await;
            assert_eq!(seen.load(Ordering::SeqCst), before);
            put(&store, memory(None)).await.unwrap();
            decide(&store, Run::Dry, look).await;
            assert_eq!(seen.load(Ordering::SeqCst), before + 1);
        }
        store.close().await.unwrap();
        // What an earlier process committed, this one's follower has not heard.
        let store = open(dir.path()).await;
        decide(&store, Run::Dry, look).await;
        assert_eq!((store.announced(), seen.load(Ordering::SeqCst)), (0, 2));
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
        let mut stale = Memory { version: 7, ..first.clone() };
        stale.title = text("Stale");
        assert!(matches!(put(&store, stale).await, Err(StoreError::Conflict(_))));
        let held = store.memories().by_id(&first.id).await.unwrap().unwrap();
        assert_eq!((held.title.as_str(), held.version), ("A title", 1));
        // The log has no trace and no gap.
        let seqs: Vec<u64> =
            store.events().after("local", 0, 10).await.unwrap().iter().map(|e| e.seq).collect();
        assert_eq!(seqs, [1]);
        put(&store, memory(None)).await.unwrap();
        let seqs: Vec<u64> =
            store.events().after("local", 0, 10).await.unwrap().iter().map(|e| e.seq).collect();
        assert_eq!(seqs, [1, 2]);
    });
}

pub(super) fn session(id: &str) -> Session {
    Session {
        id: SessionId::parse(id).unwrap(),
        project: Project::parse("demo").unwrap(),
        agent: text("test"),
        directory: None,
        started_at: moment(1),
        seen_at: moment(1),
        ended_at: None,
        end_reason: None,
        summary: None,
        follows: None,
        home: None,
        version: 0,
    }
}

/// Puts sessions in one transaction.
async fn put_sessions(store: &Store, sessions: Vec<Session>) -> Result<(), StoreError> {
    store
        .change(|write| {
            for session in &sessions {
                write.start_session(session, None);
            }
        })
        .await
}

#[test]
fn a_session_is_not_overwritten_by_who_read_it_before() {
    let dir = tempfile::tempdir().unwrap();
    run(async {
        let store = open(dir.path()).await;
        let first = session("s");
        let named = Session { directory: Some(text("/srv")), ..first.clone() };
        // A decision may come back to a session: the last one counts.
        put_sessions(&store, vec![first.clone(), named.clone()]).await.unwrap();
        let read = store.sessions().by_id(&first.id).await.unwrap().unwrap();
        assert_eq!(read, Session { version: 1, ..named });
        let summarised = Session { summary: Some(text("Done.")), ..read.clone() };
        put_sessions(&store, vec![summarised.clone()]).await.unwrap();
        for stale in [read, first.clone()] {
            let refused = put_sessions(&store, vec![Session { agent: text("late"), ..stale }]).await;
            assert!(matches!(refused, Err(StoreError::Conflict(_))), "{refused:?}");
        }
        let held = store.sessions().by_id(&first.id).await.unwrap().unwrap();
        assert_eq!(held, Session { version: 2, ..summarised });
        // An older program wrote no version.
        let older = "UPDATE session:s SET version = NONE";
        store.engine().unwrap().script("test", older, Variables::new()).await.unwrap();
        let held = store.sessions().by_id(&first.id).await.unwrap().unwrap();
        assert_eq!(held.version, 1);
        put_sessions(&store, vec![held]).await.unwrap();
        assert_eq!(store.sessions().by_id(&first.id).await.unwrap().unwrap().version, 2);
        store.close().await.unwrap();
    });
}

#[test]
fn the_live_memories_of_a_moment_are_found_behind_its_deleted_ones() {
    with_store(async |store| {
        let writer = session("s");
        put_sessions(store, vec![writer.clone()]).await.unwrap();
        // The memories of one transaction have one moment.
        let made: Vec<Memory> = (0..6)
            .map(|n| {
                let mut made = Memory { session: Some(writer.id.clone()), ..memory(None) };
                made.content = text(&format!("Content {n}."));
                made
            })
            .collect();
        store.change(|write| made.iter().for_each(|memory| write.create_memory(memory))).await.unwrap();
        let since =
            async |limit| store.memories().written_since(&writer.id, Timestamp::MIN, limit).await.unwrap();
        let mut written: Vec<Memory> = since(6).await.into_iter().map(|(memory, _)| memory).collect();
        let left = written.split_off(4);
        for memory in &mut written {
            memory.deleted_at = Some(moment(9));
        }
        store
            .change(|write| written.iter().for_each(|memory| write.delete_memory(memory, &writer.id)))
            .await
            .unwrap();
        let found: Vec<Memory> = since(2).await.into_iter().map(|(memory, _)| memory).collect();
        assert_eq!(found, left);
    });
}

#[test]
fn a_store_keeps_its_id_and_no_two_have_the_same() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    run(async {
        let store = open(one.path()).await;
        let id = store.id().to_owned();
        store.close().await.unwrap();
        let store = open(one.path()).await;
        assert_eq!(store.id(), id);
        let other = open(two.path()).await;
        assert_ne!(other.id(), id);
        other.close().await.unwrap();
        store.close().await.unwrap();
    });
}

#[test]
fn a_restored_store_has_another_id() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    run(async {
        let store = open(from.path()).await;
        put(&store, memory(None)).await.unwrap();
        let (pieces, script) = super::script();
        let mut dump = store.dump().await.unwrap();
        let sending = tokio::spawn(async move {
            let mut all = Vec::new();
            while let Some(piece) = dump.piece().await.unwrap() {
                all.push(piece);
            }
            tokio::task::spawn_blocking(move || all.into_iter().all(|piece| pieces.send(piece))).await
        });
        let (dir, scratch) = (to.path().join("store"), to.path().join("scratch"));
        let rows = store.row_counts().await.unwrap();
        Store::restore(&dir, &scratch, script, &rows).await.unwrap();
        assert!(sending.await.unwrap().unwrap(), "the script was taken to its end");
        let restored = open(&dir).await;
        assert_ne!(restored.id(), store.id());
        assert_eq!(restored.row_counts().await.unwrap(), rows);
        restored.close().await.unwrap();
        store.close().await.unwrap();
    });
}

#[test]
fn a_topic_key_has_one_live_holder() {
    let dir = tempfile::tempdir().unwrap();
    run(async {
        let store = open(dir.path()).await;
        put(&store, memory(Some("a/b"))).await.unwrap();
        assert!(matches!(put(&store, memory(Some("a/b"))).await, Err(StoreError::Conflict(_))));
        let deleted = Memory { deleted_at: Some(moment(9)), ..memory(Some("a/b")) };
        put(&store, deleted).await.unwrap();
    });
}

#[test]
fn an_edge_needs_both_ends() {
    let dir = tempfile::tempdir().unwrap();
    run(async {
        let store = open(dir.path()).await;
        let refused = store
            .change(|write| {
                let session = Some(SessionId::parse("nowhere").unwrap());
                write.create_memory(&Memory { session, ..memory(None) });
            })
            .await;
        assert!(matches!(refused, Err(StoreError::Engine(EngineError::Query { .. }))), "{refused:?}");
        assert_eq!(store.events().after("local", 0, 10).await.unwrap(), []);
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
        let events = store.events().after("local", 0, 10).await.unwrap();
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
        put_sessions(&store, vec![session("s")]).await.unwrap();
        put(&store, memory(None)).await.unwrap();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../surql/queries");
        let mut count = 0;
        for file in std::fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            let answer = store.engine().unwrap().script("query", &text, Variables::new()).await;
            assert!(answer.is_ok(), "{}: {:?}", path.display(), answer.err());
            count += 1;
            // People run them as readers. Following is for connections that stay, and `read` is none.
            if !text.contains("LIVE SELECT") {
                let faults: Vec<_> = read(&store, &text).await.into_iter().filter_map(|a| a.error).collect();
                assert!(faults.is_empty(), "{}: {faults:?}", path.display());
            }
        }
        assert!(count >= 14, "{count} queries");
    });
}

async fn read(store: &Store, text: &str) -> Vec<Answer> {
    let query = Query {
        text: text.to_owned(),
        params: serde_json::Map::new(),
        rows_max: 100,
        bytes_max: 100_000,
        timeout: Duration::from_secs(20),
    };
    store.read(query).await.unwrap()
}

async fn one(store: &Store, text: &str) -> serde_json::Value {
    let answer = read(store, text).await.pop().unwrap();
    assert_eq!(answer.error, None, "{text}");
    answer.value
}

#[test]
fn the_functions_answer_what_they_say() {
    let dir = tempfile::tempdir().unwrap();
    run(async {
        let store = open(dir.path()).await;
        let (first, second) = (memory(Some("a/b")), memory(None));
        for memory in [&first, &second] {
            put(&store, memory.clone()).await.unwrap();
        }
        let relate = format!(
            "RELATE memory:{}->RELATES_TO->memory:{} SET kind = 'similar', weight = 0.9f, method = 'test', at = time::now();
             CREATE session:s SET project = 'demo', agent = 'test', started_at = time::now(), seen_at = time::now(), live = true;
             RELATE memory:{}->CREATED_IN->session:s SET at = time::now()",
            first.id, second.id, first.id
        );
        store.engine().unwrap().script("test", &relate, Variables::new()).await.unwrap();
        assert_eq!(one(&store, "fn::cerebro::recent('demo', 1)").await.as_array().unwrap().len(), 1);
        assert_eq!(one(&store, "fn::cerebro::recent('demo', 0)").await.as_array().unwrap().len(), 1);
        assert_eq!(one(&store, "fn::cerebro::recent('other', 9)").await, serde_json::json!([]));
        let topics = one(&store, "fn::cerebro::topics('demo')").await;
        assert_eq!(topics[0]["topic_key"], "a/b");
        assert_eq!(topics.as_array().unwrap().len(), 1);
        let near = one(&store, &format!("fn::cerebro::neighbours(memory:{})", second.id)).await;
        assert_eq!(near["related_from"][0]["id"], format!("memory:{}", first.id));
        let story = one(&store, "fn::cerebro::story('s')").await;
        assert_eq!(story["memories"][0]["id"], format!("memory:{}", first.id));
        assert_eq!(story["session"]["agent"], "test");
        let health = one(&store, "fn::cerebro::health()").await;
        assert_eq!((&health["memories"], &health["orphans"]), (&2.into(), &1.into()), "{health}");
        assert_eq!(health["schema"], migrate::newest());
    });
}

#[test]
fn the_nearest_memories_are_found_where_there_are_vectors() {
    let dir = tempfile::tempdir().unwrap();
    run(async {
        let store = open(dir.path()).await;
        let nearest = include_str!("../../../surql/queries/nearest.surql");
        let asked = Memory { updated_at: moment(9_000_000), ..memory(None) };
        let (near, far) = (memory(None), memory(None));
        for memory in [&asked, &near, &far] {
            put(&store, memory.clone()).await.unwrap();
        }
        assert_eq!(one(&store, nearest).await, serde_json::json!([]));
        let vectors = format!(
            "DEFINE TABLE vector_test SCHEMALESS;
             CREATE model SET name = 'test', dimension = 2, table = 'vector_test', state = 'active', at = time::now();
             INSERT INTO vector_test [
                 {{ memory: memory:{}, passage: 0, embedding: [1f, 0f] }},
                 {{ memory: memory:{}, passage: 0, embedding: [0.9f, 0.1f] }},
                 {{ memory: memory:{}, passage: 0, embedding: [0f, 1f] }}]",
            asked.id, near.id, far.id
        );
        store.engine().unwrap().script("test", &vectors, Variables::new()).await.unwrap();
        let found = one(&store, nearest).await;
        assert_eq!(found[0]["memory"], format!("memory:{}", near.id), "{found}");
        assert_eq!(found[1]["memory"], format!("memory:{}", far.id), "{found}");
    });
}

/// What the engine knows of users, tables and rows, as the program itself sees it.
async fn everything(store: &Store) -> String {
    let text = "RETURN (INFO FOR ROOT).{ users, accesses, namespaces }; INFO FOR NS; INFO FOR DB;
                SELECT * FROM memory; SELECT * FROM RELATES_TO; SELECT * FROM session; SELECT * FROM event";
    let mut results = store.engine().unwrap().script("everything", text, Variables::new()).await.unwrap();
    (0..7).map(|at| format!("{:?}\n", results.take::<surrealdb::types::Value>(at).unwrap())).collect()
}

#[test]
fn a_reader_changes_nothing_and_no_user_is_left() {
    with_store(async |store| {
        put(store, memory(None)).await.unwrap();
        let before = everything(store).await;
        assert!(!before.contains("DEFINE USER"), "{before}");
        for text in [
            "DELETE memory",
            "CREATE memory:x",
            "CREATE unknown:1",
            "UPSERT unknown:1",
            "INSERT INTO unknown { a: 1 }",
            "UPDATE memory SET title = 'x'",
            "DEFINE TABLE unknown",
            "USE NS other DB other; CREATE x:1",
            "LET $m = (SELECT VALUE id FROM memory)[0]; RELATE $m->RELATES_TO->$m SET kind = 'x', weight = 1f, method = 'x', at = time::now()",
            "LET $m = (SELECT VALUE id FROM memory)[0]; RELATE $m->unknown->$m",
            "SELECT * FROM unknown",
        ] {
            read(store, text).await;
            assert_eq!(everything(store).await, before, "{text}");
        }
        let (endpoint, _routes, _visitor) = store.open_endpoint().await.unwrap();
        assert!(everything(store).await.contains("DEFINE USER studio ON DATABASE"));
        store.close_endpoint(endpoint).await;
        assert_eq!(everything(store).await, before);
    });
}

#[test]
fn relations_are_put_as_a_whole_and_never_to_or_from_what_is_gone() {
    use super::Provenance;
    use cerebro_core::relate::{Relation, RelationKind};

    with_store(async |store| {
        let (one, two, gone) =
            (memory(None), memory(None), Memory { deleted_at: Some(moment(4_000_000)), ..memory(None) });
        for put_in in [&one, &two, &gone] {
            put(store, put_in.clone()).await.unwrap();
        }
        let to = |memory: &Memory, weight| Relation {
            to: memory.id,
            kind: RelationKind::MentionsSame,
            weight,
            evidence: Some(text("a.rs")),
        };
        let by = Provenance { method: "mentions", model: None };
        let edges = async || -> Vec<(MemoryId, MemoryId, f64)> {
            let all = store.relations().of(&[one.id, two.id], 10).await.unwrap();
            all.into_iter().map(|edge| (edge.from, edge.to, edge.weight)).collect()
        };
        for _ in 0..2 {
            let both = [to(&two, 0.5), to(&gone, 0.9)];
            assert!(store.relations().put(&one.id, 1, by, &both).await.unwrap());
            assert_eq!(edges().await, [(one.id, two.id, 0.5)]);
        }
        assert!(store.relations().put(&one.id, 1, by, &[to(&two, 0.25)]).await.unwrap());
        assert!(!store.relations().put(&one.id, 2, by, &[]).await.unwrap(), "another revision");
        assert!(!store.relations().put(&gone.id, 1, by, &[to(&two, 1.0)]).await.unwrap(), "not live");
        assert_eq!(edges().await, [(one.id, two.id, 0.25)]);

        // Drawn both ways, it is one neighbour, by the stronger edge.
        assert!(store.relations().put(&two.id, 1, by, &[to(&one, 0.75)]).await.unwrap());
        for (middle, other) in [(&one, &two), (&two, &one)] {
            let (_, ties) = store.memories().with_ties(&middle.id, 10).await.unwrap().unwrap();
            let near: Vec<_> = ties.neighbours.into_iter().map(|one| (one.id, one.weight)).collect();
            assert_eq!(near, [(other.id, 0.75)]);
        }
        for id in [&one.id, &two.id] {
            assert!(store.relations().put(id, 1, by, &[]).await.unwrap());
        }
        assert_eq!(edges().await, []);
    });
}
