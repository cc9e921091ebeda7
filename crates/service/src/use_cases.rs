//! Use cases over a real store in a temporary folder, with a clock of the test's own: what depends on the time
//! that has passed.

use std::{
    sync::atomic::{AtomicBool, AtomicI64, Ordering},
    time::Instant,
};

use super::*;
use cerebro_core::domain::{EndReason, EventKind, MemoryId, Project, Scope, SessionId, Timestamp};
use cerebro_core::redact::RedactedText;
use cerebro_models::embed::{Answer, Embedded, Embedder, Model, Purpose};
use cerebro_models::provider::ProviderError;
use cerebro_store::JobState;

/// Milliseconds of each test's clock: a clock is a plain function, so each test has one of its own.
static CLOCKS: [AtomicI64; 20] = [const { AtomicI64::new(BEGIN_MS) }; 20];
/// When every clock begins: 2026-01-01T00:00:00Z.
const BEGIN_MS: i64 = 1_767_225_600_000;

/// The clock of one test.
pub(crate) struct TestClock<const TEST: usize>;

impl<const TEST: usize> TestClock<TEST> {
    pub(crate) fn now() -> Timestamp {
        Timestamp::from_millisecond(CLOCKS[TEST].load(Ordering::SeqCst)).unwrap()
    }

    pub(crate) fn advance(by: Duration) {
        CLOCKS[TEST].fetch_add(i64::try_from(by.as_millis()).unwrap(), Ordering::SeqCst);
    }

    pub(crate) fn go_back(by: Duration) {
        CLOCKS[TEST].fetch_sub(i64::try_from(by.as_millis()).unwrap(), Ordering::SeqCst);
    }
}

/// Runs a test over a service without vectors.
pub(super) fn with_service(settings: Settings, clock: Clock, test: impl AsyncFnOnce(Service)) {
    with_vectors(settings, Embedding::none(), clock, test);
}

/// A runtime for a test. The database needs deeper stacks than a test's thread has.
pub(super) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_stack_size(16 << 20)
        .enable_all()
        .build()
        .unwrap()
}

/// Runs a test.
pub(super) fn run(test: impl Future<Output = ()>) {
    runtime().block_on(Box::pin(test));
}

/// Waits until something is so that a task of the service does.
///
/// # Panics
/// After two minutes, naming `what`: a machine may be busy with other tests, and a journal that was slow rests for a minute.
pub(crate) async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let begun = Instant::now();
    while !is_so().await {
        assert!(begun.elapsed() < Duration::from_secs(120), "waited in vain for: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Every line of an export.
pub(super) async fn exported(service: &Service) -> Vec<String> {
    let (mut lines, mut cursor) = (Vec::new(), None);
    loop {
        let page = service.export(cursor.as_deref()).await.unwrap();
        lines.extend(page.lines);
        cursor = page.next;
        if cursor.is_none() {
            return lines;
        }
    }
}

/// Runs a test over a service of its own.
pub(crate) fn with_vectors(
    settings: Settings,
    embedding: Embedding,
    clock: Clock,
    test: impl AsyncFnOnce(Service),
) {
    let folder = tempfile::tempdir().unwrap();
    let (store, index) = (folder.path().join("store"), folder.path().join("index"));
    run(async {
        let service = Service::open(&store, &index, settings, embedding, clock).await.unwrap();
        service.recall.index.catch_up().await.unwrap();
        test(service.clone()).await;
        service.close().await.unwrap();
    });
}

pub(crate) fn caller() -> Caller {
    Caller {
        project: Project::parse("demo").unwrap(),
        agent: agent_name("test"),
        person: false,
        session: session("s1"),
    }
}

pub(crate) async fn save(service: &Service, title: &str) -> Saved {
    let (content, scope) = ("The clock test fails on Sundays.", Scope::Project(caller().project));
    let request = SaveRequest::new(title, content, scope, Door::EXPLICIT);
    service.memories.save(&caller(), request).await.unwrap()
}

fn session(id: &str) -> SessionId {
    SessionId::parse(id).unwrap()
}

async fn start(service: &Service, id: &str) {
    let request = StartRequest { id: session(id), project: None, directory: None, agent: None, parent: None };
    service.sessions.start(&caller(), request).await.unwrap();
}

#[test]
fn the_dedup_window_rolls_with_the_last_sight() {
    let settings = Settings { dedup_window: Duration::from_secs(4), ..Settings::default() };
    with_service(settings, TestClock::<0>::now, async |service| {
        let first = save(&service, "Flaky test").await;
        assert_eq!(first.outcome, SaveOutcome::Created);
        for repetition in 1..=2 {
            TestClock::<0>::advance(Duration::from_millis(2_500));
            let again = save(&service, "Flaky test").await;
            assert_eq!(again.outcome, SaveOutcome::Duplicate, "{repetition}, counted from the last");
            assert_eq!((again.memory.id, again.memory.duplicate_count), (first.memory.id, repetition));
        }
        TestClock::<0>::advance(Duration::from_millis(4_500));
        let later = save(&service, "Flaky test").await;
        assert_eq!(later.outcome, SaveOutcome::Created, "after the window");
        assert!(later.similar.iter().any(|similar| similar.id == first.memory.id), "{:?}", later.similar);
    });
}

#[test]
fn a_text_whose_successor_was_deleted_is_repeated_and_not_saved_twice() {
    with_service(Settings::default(), Timestamp::now, async |service| {
        let first = save(&service, "Flaky test").await.memory.id;
        let request = |title: &str, content: &str, supersedes: &[MemoryId]| SaveRequest {
            supersedes: supersedes.to_vec(),
            ..SaveRequest::new(
                title,
                content,
                Scope::Project(caller().project),
                Door::Explicit { revive: true },
            )
        };
        let save_again = async || {
            let request = request("Flaky test", "The clock test fails on Sundays.", &[]);
            let saved = service.memories.save(&caller(), request).await.unwrap();
            (saved.outcome, saved.memory.id)
        };
        let newer = request("Calm test", "The clock test fails no more.", &[first]);
        let newer = service.memories.save(&caller(), newer).await.unwrap().memory.id;
        let newest = request("Calmer test", "The clock test is gone.", &[newer]);
        let newest = service.memories.save(&caller(), newest).await.unwrap().memory.id;
        service.memories.delete(&caller(), &newer).await.unwrap();
        let (outcome, anew) = save_again().await;
        assert_eq!(outcome, SaveOutcome::Created, "the newest is in the place of both");
        service.memories.delete(&caller(), &anew).await.unwrap();
        service.memories.delete(&caller(), &newest).await.unwrap();
        assert_eq!(save_again().await, (SaveOutcome::Duplicate, first));
    });
}

#[test]
fn a_session_ends_when_its_connection_has_been_gone_for_half_an_hour() {
    with_service(Settings::default(), TestClock::<1>::now, async |service| {
        let begun = TestClock::<1>::now();
        start(&service, "gone").await;
        start(&service, "there").await;
        service.sessions.connected(&session("there"));
        let ended = async || {
            let sessions = service.sessions.latest(None, None, None, 10).await.unwrap();
            let mut ended: Vec<(String, EndReason)> = sessions
                .into_iter()
                .filter_map(|session| Some((session.id.to_string(), session.end_reason?)))
                .collect();
            ended.sort_by(|a, b| a.0.cmp(&b.0));
            ended
        };
        let (gone, there) =
            (("gone".to_owned(), EndReason::Disconnected), ("there".to_owned(), EndReason::Disconnected));
        TestClock::<1>::advance(Duration::from_secs(29 * 60));
        service.sessions.end_disconnected(|_| begun).await.unwrap();
        assert_eq!(ended().await, [], "a minute is left");
        TestClock::<1>::advance(Duration::from_secs(2 * 60));
        // The connection may have gone later than the last call, and a daemon that just began cannot know.
        service.sessions.end_disconnected(|_| TestClock::<1>::now()).await.unwrap();
        assert_eq!(ended().await, []);
        service.sessions.end_disconnected(|_| begun).await.unwrap();
        assert_eq!(ended().await, std::slice::from_ref(&gone), "the other one is connected");
        service.sessions.disconnected(&session("there"));
        service.sessions.end_disconnected(|_| begun).await.unwrap();
        assert_eq!(ended().await, [gone, there]);
    });
}

#[test]
fn a_session_that_ends_during_a_write_is_resumed_by_the_next_one() {
    with_service(Settings::default(), Timestamp::now, async |service| {
        save(&service, "It begins the session").await;
        let id = caller().session;
        // The prompt waits for the writer, and the end of its session behind it.
        let writer = service.base.store.pause().await;
        let by = caller();
        let (saved, ended, ()) = tokio::join!(
            service.memories.save_prompt(&by, None, "Mend the flaky test."),
            service.sessions.end(Some(&by), &id, EndReason::Disconnected),
            async { drop(writer) },
        );
        assert!(saved.unwrap().created && ended.unwrap().ended_at.is_some());
        save(&service, "It is not over").await;
        let sessions = service.sessions.latest(None, None, None, 10).await.unwrap();
        assert_eq!(sessions.iter().map(|session| session.ended_at).collect::<Vec<_>>(), [None]);
    });
}

#[test]
fn moments_rise_when_the_clock_goes_back() {
    with_service(Settings::default(), TestClock::<2>::now, async |service| {
        let first = save(&service, "Before the clock went back").await;
        TestClock::<2>::go_back(Duration::from_secs(3_600));
        let second = save(&service, "After the clock went back").await;
        assert!(second.memory.created_at > first.memory.created_at, "{second:?}");
        let demo = Selection { project: Some(caller().project), ..Selection::default() };
        let listed = service.recall.select(&demo, 0, 10).await.unwrap();
        let ids: Vec<_> = listed.memories.iter().map(|memory| memory.id).collect();
        assert_eq!(ids, [second.memory.id, first.memory.id], "the newest first");
        let events = service.recall.events(0, 100).await.unwrap();
        assert!(events.is_sorted_by(|a, b| (a.seq, a.at) < (b.seq, b.at)), "{events:?}");
        let created = events.iter().filter(|event| event.kind == EventKind::MemoryCreated);
        let at: Vec<_> = created.map(|event| event.at).collect();
        assert!(at.len() == 2 && at[0] < at[1], "{events:?}");
    });
}

/// A provider that answers unless it is down.
struct Provider {
    model: Model,
    is_down: Arc<AtomicBool>,
}

impl Embedder for Provider {
    fn model(&self) -> &Model {
        &self.model
    }

    fn batch_max(&self) -> usize {
        1
    }

    fn is_metered(&self) -> bool {
        false
    }

    fn embed(&self, _purpose: Purpose, texts: Vec<RedactedText>) -> Answer<'_> {
        let is_down = self.is_down.load(Ordering::SeqCst);
        Box::pin(async move {
            if is_down {
                let (provider, reason) = ("test/model".to_owned(), "it is down".to_owned());
                return Err(ProviderError::Later { provider, reason, after: None });
            }
            Ok(Embedded { vectors: vec![vec![1.0, 0.0]; texts.len()], tokens: 0 })
        })
    }
}

/// Waits until the worker's report is as wanted.
async fn reported(service: &Service, wanted: impl Fn(&WorkerReport) -> bool) -> WorkerReport {
    until("the worker's report", async || wanted(&service.worker.report())).await;
    service.worker.report()
}

#[test]
fn a_failed_job_is_tried_again_when_its_wait_is_over() {
    let is_down = Arc::new(AtomicBool::new(true));
    let seen = Arc::clone(&is_down);
    let open = move |_: Option<&str>| {
        let model = Model { name: "test/model".to_owned(), dimension: 2, passage_words: 100 };
        let provider: Arc<dyn Embedder> = Arc::new(Provider { model, is_down: Arc::clone(&seen) });
        Ok(Some(provider))
    };
    let embedding = Embedding { open: Arc::new(open), ..Embedding::none() };
    with_vectors(Settings::default(), embedding, TestClock::<3>::now, async |service| {
        let first = save(&service, "While the provider is down").await;
        reported(&service, |report| report.failures == 1).await;
        is_down.store(false, Ordering::SeqCst);
        TestClock::<3>::advance(Duration::from_secs(1));
        save(&service, "After it came back").await;
        reported(&service, |report| report.done == 1).await;
        let waiting = service.worker.jobs(JobState::Queued, 10).await.unwrap();
        assert_eq!(waiting.len(), 1, "{waiting:?}");
        assert_eq!((waiting[0].subject.memory(), waiting[0].attempts), (Some(&first.memory.id), 1));
        let wait = waiting[0].due_at.duration_since(first.memory.created_at).as_secs_f64();
        assert!((10.0..=15.0).contains(&wait), "{wait} seconds");

        TestClock::<3>::advance(Duration::from_secs(16));
        service.worker.jobs.unblock();
        let report = reported(&service, |report| report.done == 2).await;
        assert_eq!(report.failures, 1);
        // From the save to the vector it took as long as the clock says.
        let (_, longest) = report.lag.unwrap();
        assert!((16.0..=17.0).contains(&longest.as_secs_f64()), "{longest:?}");
        assert_eq!(service.worker.job_counts().await.unwrap().0.depth(), 0);
    });
}

#[test]
fn a_pause_is_heard_before_the_answer() {
    with_service(Settings::default(), Timestamp::now, async |service| {
        for _ in 0..3 {
            service.worker.pause(true).await.unwrap();
            assert_eq!(service.worker.report().state, WorkerState::Paused);
            service.worker.pause(false).await.unwrap();
            assert_eq!(service.worker.report().state, WorkerState::Off);
        }
    });
}
