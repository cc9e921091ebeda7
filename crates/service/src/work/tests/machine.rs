//! A journal on a real store through random histories: whatever is begun, noted, held, taken over, compacted, closed,
//! forked, killed, purged, pruned, merged, restored and sealed, in whatever order, it raises no alarm, has no gap, one holds
//! each piece, and its states and hints are those of its events.
//!
//! `make proof-full` tries 10,000 histories; where nothing is said, it is fewer.

use std::sync::atomic::{AtomicI64, Ordering};

use cerebro_ledger::{Entry, Lease, Status, fold::fold_all, hint};
use proptest::prelude::*;
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest, prop_state_machine};

use super::{proof::scaled, *};
use crate::{backup, lock};

/// How many histories there are in all, and how many are tried where nothing is said.
const HISTORIES: usize = 10_000;
const SOME: usize = 6;
/// Most pieces of one history.
const PIECES_MAX: usize = 4;
/// Who works on them.
const AGENTS: [&str; 3] = ["one", "two", "three"];
/// How long a lease lasts, in minutes.
const LEASE: i64 = 30;
/// When every history begins, and the minute that it is in now. They are tried one after the other.
const BEGIN: i64 = 1_767_225_600;
static MINUTE: AtomicI64 = AtomicI64::new(0);

fn clock() -> Timestamp {
    minute(MINUTE.load(Ordering::SeqCst))
}

fn minute(minute: i64) -> Timestamp {
    Timestamp::from_second(BEGIN + 60 * minute).unwrap()
}

#[derive(Debug, Clone)]
enum Act {
    Begin,
    Note { piece: usize, agent: usize, kind: u8 },
    Hold { piece: usize, agent: usize, takeover: bool },
    Release { piece: usize, agent: usize },
    Close { piece: usize, agent: usize },
    Fork(usize),
    Lapse,
    Purge,
    Prune,
    Seal,
    Merge,
    Kill,
    Restart,
    Restore,
}

/// What is to be expected of a piece.
#[derive(Debug, Clone, Default)]
struct Expected {
    events: u64,
    late: u64,
    fence: u64,
    /// Who holds it, and until which minute.
    holder: Option<(usize, i64)>,
    /// The fence of each who took the lease and did not let go.
    fences: [Option<u64>; AGENTS.len()],
    closed: bool,
    /// Its texts are gone, and no request has opened it again since.
    purged: bool,
    /// It goes on from another one, whose events are its beginning.
    forked: bool,
}

impl Expected {
    fn holds(&self, now: i64) -> Option<usize> {
        self.holder.filter(|(_, until)| *until > now).map(|(agent, _)| agent)
    }

    fn is_late(&self, agent: usize, now: i64) -> bool {
        self.holds(now).is_some_and(|holder| holder != agent)
            || self.fences[agent].is_some_and(|fence| fence < self.fence)
    }

    fn note(&mut self, agent: usize, now: i64, events: u64) {
        self.events += events;
        if let Some(held) = self.holder.as_mut().filter(|held| held.0 == agent) {
            held.1 = now + LEASE;
        }
    }
}

/// The pieces, none where one was pruned; and the minute that it is.
#[derive(Debug, Clone, Default)]
struct Model {
    pieces: Vec<Option<Expected>>,
    now: i64,
}

impl Model {
    fn write(&mut self, piece: usize, agent: usize, kind: Option<u8>) {
        let now = self.now;
        // An end by one who is late is refused, and not written.
        if kind.is_none() && self.pieces[piece].as_ref().is_some_and(|expected| expected.is_late(agent, now))
        {
            return;
        }
        for other in
            self.pieces.iter_mut().enumerate().filter(|(n, _)| *n != piece).filter_map(|(_, p)| p.as_mut())
        {
            // Activity keeps all that an agent holds.
            if !other.closed {
                other.note(agent, now, 0);
            }
        }
        let Some(expected) = self.pieces[piece].as_mut() else { return };
        if expected.is_late(agent, now) {
            (expected.events, expected.late) = (expected.events + 1, expected.late + 1);
            return;
        }
        match kind {
            // A request opens again what was closed.
            Some(0) if expected.closed => {
                (expected.closed, expected.purged) = (false, false);
                expected.note(agent, now, 2);
            }
            Some(_) => expected.note(agent, now, 1),
            None => {
                expected.closed = true;
                expected.note(agent, now, 1);
            }
        }
    }

    fn hold(&mut self, piece: usize, agent: usize, takeover: bool) {
        let now = self.now;
        let Some(expected) = self.pieces[piece].as_mut() else { return };
        match expected.holds(now) {
            Some(holder) if holder == agent => expected.holder = Some((agent, now + LEASE)),
            Some(_) if !takeover => {}
            _ => {
                expected.events += 1;
                expected.fence += 1;
                expected.fences[agent] = Some(expected.fence);
                expected.holder = Some((agent, now + LEASE));
            }
        }
    }
}

impl ReferenceStateMachine for Model {
    type State = Self;
    type Transition = Act;

    fn init_state() -> BoxedStrategy<Self> {
        Just(Self::default()).boxed()
    }

    fn transitions(_: &Self) -> BoxedStrategy<Act> {
        let piece = || 0..PIECES_MAX;
        let agent = || 0..AGENTS.len();
        prop_oneof![
            4 => Just(Act::Begin),
            12 => (piece(), agent(), 0..6_u8).prop_map(|(piece, agent, kind)| Act::Note { piece, agent, kind }),
            6 => (piece(), agent(), any::<bool>())
                .prop_map(|(piece, agent, takeover)| Act::Hold { piece, agent, takeover }),
            2 => (piece(), agent()).prop_map(|(piece, agent)| Act::Release { piece, agent }),
            3 => (piece(), agent()).prop_map(|(piece, agent)| Act::Close { piece, agent }),
            1 => piece().prop_map(Act::Fork),
            2 => Just(Act::Lapse),
            1 => Just(Act::Purge),
            1 => Just(Act::Prune),
            2 => Just(Act::Seal),
            1 => Just(Act::Merge),
            1 => Just(Act::Kill),
            1 => Just(Act::Restart),
            1 => Just(Act::Restore),
        ]
        .boxed()
    }

    fn preconditions(state: &Self, act: &Act) -> bool {
        let is_there = |piece: usize| state.pieces.get(piece).is_some_and(Option::is_some);
        match *act {
            Act::Begin => state.pieces.len() < PIECES_MAX,
            Act::Fork(piece) => state.pieces.len() < PIECES_MAX && is_there(piece),
            Act::Close { piece, .. } => {
                state.pieces.get(piece).is_some_and(|p| p.as_ref().is_some_and(|p| !p.closed))
            }
            Act::Note { piece, .. } | Act::Hold { piece, .. } | Act::Release { piece, .. } => is_there(piece),
            // There is something to be merged.
            Act::Merge => state.pieces.iter().any(Option::is_some),
            _ => true,
        }
    }

    fn apply(mut state: Self, act: &Act) -> Self {
        state.now += if matches!(act, Act::Lapse) { LEASE + 1 } else { 1 };
        match *act {
            Act::Begin => state.pieces.push(Some(Expected { events: 1, ..Expected::default() })),
            Act::Fork(_) => {
                state.pieces.push(Some(Expected { events: 1, forked: true, ..Expected::default() }));
            }
            Act::Note { piece, agent, kind } => state.write(piece, agent, Some(kind)),
            Act::Close { piece, agent } => state.write(piece, agent, None),
            Act::Hold { piece, agent, takeover } => state.hold(piece, agent, takeover),
            Act::Release { piece, agent } => {
                if let Some(expected) = state.pieces[piece].as_mut()
                    && expected.holder.is_some_and(|(holder, _)| holder == agent)
                {
                    (expected.events, expected.holder) = (expected.events + 1, None);
                    expected.fences[agent] = None;
                }
            }
            // Who held what is closed goes with its texts.
            Act::Purge => {
                for expected in state.pieces.iter_mut().flatten().filter(|p| p.closed && !p.purged) {
                    (expected.purged, expected.fences) = (true, Default::default());
                }
            }
            Act::Prune => {
                for piece in &mut state.pieces {
                    piece.take_if(|expected| expected.closed);
                }
            }
            Act::Lapse | Act::Seal | Act::Merge | Act::Kill | Act::Restart | Act::Restore => {}
        }
        state
    }
}

/// The journal over its store.
struct Journal {
    runtime: tokio::runtime::Runtime,
    folder: tempfile::TempDir,
    service: Option<Service>,
    pieces: Vec<WorkId>,
    /// How many projects there were; all that is there is of the last one.
    projects: u32,
}

fn worker(agent: usize, project: u32) -> Actor {
    Actor { project: Project::parse(&format!("project-{project}")).unwrap(), ..actor(AGENTS[agent]) }
}

fn step(kind: u8, number: usize) -> Step {
    let text = format!("number {number}");
    match kind {
        0 => Step::Prompt { text },
        1 => Step::Intent { key: format!("k{}", number % 3), text, repeat: Repeat::Check },
        2 => Step::Confirmed { key: format!("k{}", number % 3) },
        3 => Step::Started { call: format!("c{}", number % 2), tool: "Bash".to_owned(), what: text },
        4 => Step::Compacted { trigger: "auto".to_owned(), summary: None },
        _ => Step::Note { text: text.repeat(600) },
    }
}

impl Journal {
    /// Does something with the service.
    fn with<T>(&self, work: impl AsyncFnOnce(Service) -> T) -> T {
        let service = self.service.clone().unwrap();
        self.runtime.block_on(Box::pin(work(service)))
    }

    fn reopen(&mut self, end: impl AsyncFnOnce(Service)) {
        let service = self.service.take().unwrap();
        let folder = self.folder.path();
        self.service = Some(self.runtime.block_on(Box::pin(async {
            end(service).await;
            open_with(folder, clock, keeping_all()).await
        })));
    }
}

async fn backed_up(service: Service, folder: &Path) {
    let request = backup::BackupRequest {
        home: folder.to_owned(),
        target: backup::Target::Folder(folder.join("backups")),
        verify: false,
        keep: None,
    };
    let path = service.backups.back_up(request).await.unwrap().path;
    service.close().await.unwrap();
    let (store, index) = (folder.join("store"), folder.join("index"));
    let request = backup::RestoreRequest {
        file: &path,
        home: folder,
        store_dir: &store,
        index_dir: &index,
        replace: true,
    };
    crate::restore(request, clock, |_| {}).await.unwrap();
}

impl StateMachineTest for Journal {
    type SystemUnderTest = Self;
    type Reference = Model;

    fn init_test(_: &Model) -> Self {
        MINUTE.store(0, Ordering::SeqCst);
        let runtime = use_cases::runtime();
        let folder = tempfile::tempdir().unwrap();
        let service = runtime.block_on(Box::pin(open_with(folder.path(), clock, keeping_all())));
        Self { runtime, folder, service: Some(service), pieces: Vec::new(), projects: 0 }
    }

    fn apply(mut journal: Self, model: &Model, act: Act) -> Self {
        MINUTE.store(model.now, Ordering::SeqCst);
        let number = usize::try_from(model.now).unwrap();
        let (pieces, project) = (journal.pieces.clone(), journal.projects);
        match act {
            Act::Begin => {
                let begin = BeginWork {
                    title: format!("begun in minute {number}"),
                    key: Some(format!("key-{number}")),
                    ..BeginWork::default()
                };
                let id = journal.with(async move |service| {
                    service.journal.begin(&worker(0, project), begin).await.unwrap().0.id
                });
                journal.pieces.push(id);
            }
            Act::Fork(piece) => {
                let id = journal.with(async move |service| {
                    service.journal.fork(&worker(0, project), &pieces[piece], None).await.unwrap().id
                });
                journal.pieces.push(id);
            }
            Act::Note { piece, agent, kind } => journal.with(async move |service| {
                let noted = vec![step(kind, number).into()];
                service
                    .journal
                    .append(&worker(agent, project), Target::Work(pieces[piece]), noted)
                    .await
                    .unwrap();
            }),
            Act::Close { piece, agent } => {
                // It was open before. One that is late may not close it.
                let may = model.pieces[piece].as_ref().is_some_and(|expected| expected.closed);
                let (id, agent) = (pieces[piece], worker(agent, project));
                journal.with(async move |service| close(&service, &agent, &id, may).await);
            }
            Act::Hold { piece, agent, takeover } => journal.with(async move |service| {
                service.journal.hold(&worker(agent, project), &pieces[piece], takeover).await.unwrap();
            }),
            Act::Release { piece, agent } => journal.with(async move |service| {
                service.journal.release(&worker(agent, project), &pieces[piece]).await.unwrap();
            }),
            Act::Purge | Act::Prune => journal.with(async move |service| {
                let kept = Duration::from_secs(u64::MAX >> 24);
                let works = if matches!(act, Act::Prune) { Duration::ZERO } else { kept };
                let texts = if matches!(act, Act::Purge) { Duration::ZERO } else { kept };
                service.journal.prune(Retention { texts, works }).await.unwrap();
            }),
            Act::Seal => journal.with(async move |service| drop(service.journal.head().await.unwrap())),
            Act::Merge => {
                let (from, into) = (worker(0, project).project, worker(0, project + 1).project);
                journal.with(async move |service| {
                    drop(service.journal.merge_projects(&from, &into).await.unwrap());
                });
                journal.projects += 1;
            }
            Act::Kill => journal.reopen(proof::killed),
            Act::Restart => journal.reopen(async |service| service.close().await.unwrap()),
            Act::Restore => {
                let folder = journal.folder.path().to_owned();
                journal.reopen(async move |service| backed_up(service, &folder).await);
            }
            Act::Lapse => {}
        }
        journal
    }

    fn check_invariants(journal: &Self, model: &Model) {
        let (ids, expected, now) = (journal.pieces.clone(), model.pieces.clone(), minute(model.now));
        let project = journal.projects;
        journal.with(async move |service| {
            assert_eq!(service.journal.verify(&[]).await.unwrap().findings, []);
            for (id, expected) in ids.iter().zip(&expected) {
                let reader = worker(0, project);
                let Some(expected) = expected else {
                    assert!(matches!(service.journal.show(&reader, id).await, Err(ServiceError::NoWork(_))));
                    continue;
                };
                let lease = expected
                    .holder
                    .map(|(agent, until)| Lease { holder: AGENTS[agent].to_owned(), until: minute(until) });
                let held = async || service.journal.show(&reader, id).await.unwrap().work.lease == lease;
                until("the leases to be as they should", held).await;
                check(&service, &reader, id, expected, now).await;
            }
        });
    }

    fn teardown(mut journal: Self, _: Model) {
        let service = journal.service.take().unwrap();
        journal.runtime.block_on(Box::pin(async move { service.close().await.unwrap() }));
    }
}

/// Closes a piece of work, as the model says that the agent may or may not.
async fn close(service: &Service, agent: &Actor, id: &WorkId, may: bool) {
    let close = CloseWork { outcome: Outcome::Done, text: None };
    match service.journal.close(agent, id, close).await {
        Ok((work, _)) => assert_eq!((work.outcome, may), (Some(Outcome::Done), true)),
        Err(ServiceError::Invalid { value, .. }) => assert_eq!((value, may), (id.to_string(), false)),
        Err(error) => panic!("{error}"),
    }
}

async fn check(service: &Service, reader: &Actor, id: &WorkId, expected: &Expected, now: Timestamp) {
    let ShownWork { work, state, .. } = service.journal.show(reader, id).await.unwrap();
    assert_eq!((work.seq, work.fence, state.late), (expected.events, expected.fence, expected.late));
    assert_eq!(state.closed.is_some(), expected.closed, "{work:?} {state:?}");
    assert_eq!(work.status == Status::Closed, expected.closed, "{work:?} {state:?}");
    let entries: Vec<Entry> = service.journal.tail(reader, id, 0, 1_000).await.unwrap();
    let numbers: Vec<u64> = entries.iter().map(|entry| entry.seq).collect();
    assert_eq!(numbers, (1..=expected.events).collect::<Vec<u64>>());
    if !expected.forked {
        assert_eq!(state, fold_all(&entries));
    }
    // Also that of a fork, which has the events before it from the other ones.
    let stored = service.journal.stored_work(&reader.owner, id).await.unwrap();
    assert_eq!(state, service.journal.state_at(&stored, work.seq).await.unwrap());
    // The journal may be sealed in between.
    let is_current = async || {
        let world = World::at(now);
        let given =
            service.journal.resume(reader, Some(id), &world, limits::HINT_BYTES).await.unwrap().unwrap();
        let head = lock(&service.journal.held.head).clone();
        let held_by = work.holder(now).filter(|holder| *holder != AGENTS[0]).map(str::to_owned);
        given.text == hint(&work, &state, &World { head, held_by, ..world }, limits::HINT_BYTES)
    };
    until("the hint to be that of the events", is_current).await;
}

prop_state_machine! {
    #![proptest_config(ProptestConfig {
        cases: u32::try_from(scaled(HISTORIES, SOME)).unwrap(),
        max_shrink_iters: 0,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_history_verifies_and_folds(sequential 1..20 => Journal);
}
