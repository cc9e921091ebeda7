//! A journal through random histories: after any sequence of begins, notes, leases, takeovers, compactions, kills, purges,
//! prunings and seals, it verifies, its seals hold, each piece has one holder, and its states are the folds of its events.
//!
//! `PROPTEST_CASES` says how many histories are tried: 256 by default.

use std::collections::{BTreeMap, BTreeSet};

use cerebro_core::domain::{Timestamp, WorkId};
use proptest::prelude::*;
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest, prop_state_machine};

use super::{Piece, at, key};
use crate::{
    Mac, Repeat, State, Step, World, fold, hint, lease, limits,
    seal::{EpochKey, Leaf, Log, Seal},
};

/// Most pieces of one history.
const PIECES_MAX: usize = 4;
/// The agents that work on them.
const AGENTS: [&str; 3] = ["one", "two", "three"];

#[derive(Debug, Clone)]
enum Act {
    Begin,
    Note {
        piece: usize,
        agent: usize,
        kind: u8,
    },
    Hold {
        piece: usize,
        agent: usize,
        takeover: bool,
    },
    Release {
        piece: usize,
        agent: usize,
    },
    /// All leases end.
    Lapse,
    /// The process ends after an event was made and before it was committed.
    Kill(usize),
    Purge(usize, usize),
    Prune(usize),
    Seal {
        ends_epoch: bool,
    },
    Restart,
}

/// The expected state of a piece.
#[derive(Debug, Clone, Default)]
struct Expected {
    events: u64,
    late: u64,
    fence: u64,
    /// Who holds it, and until when.
    holder: Option<(usize, i64)>,
    /// The fence of each who took the lease and did not let go.
    fences: [Option<u64>; AGENTS.len()],
}

impl Expected {
    fn holds(&self, now: i64) -> Option<usize> {
        self.holder.filter(|(_, until)| *until > now).map(|(agent, _)| agent)
    }
}

/// The pieces, `None` for a pruned one; and the time in minutes.
#[derive(Debug, Clone, Default)]
struct Model {
    pieces: Vec<Option<Expected>>,
    now: i64,
}

/// How long a lease lasts, in minutes.
const LEASE: i64 = 30;

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
            2 => Just(Act::Begin),
            8 => (piece(), agent(), 0..7_u8).prop_map(|(piece, agent, kind)| Act::Note { piece, agent, kind }),
            4 => (piece(), agent(), any::<bool>())
                .prop_map(|(piece, agent, takeover)| Act::Hold { piece, agent, takeover }),
            1 => (piece(), agent()).prop_map(|(piece, agent)| Act::Release { piece, agent }),
            1 => Just(Act::Lapse),
            1 => piece().prop_map(Act::Kill),
            1 => (piece(), 0..30_usize).prop_map(|(piece, event)| Act::Purge(piece, event)),
            1 => piece().prop_map(Act::Prune),
            2 => any::<bool>().prop_map(|ends_epoch| Act::Seal { ends_epoch }),
            1 => Just(Act::Restart),
        ]
        .boxed()
    }

    fn preconditions(state: &Self, act: &Act) -> bool {
        let events = |piece: usize| state.pieces.get(piece)?.as_ref().map(|expected| expected.events);
        match *act {
            Act::Begin => state.pieces.len() < PIECES_MAX,
            Act::Note { piece, .. }
            | Act::Hold { piece, .. }
            | Act::Release { piece, .. }
            | Act::Kill(piece)
            | Act::Prune(piece) => events(piece).is_some(),
            Act::Purge(piece, event) => events(piece).is_some_and(|events| (event as u64) < events),
            Act::Seal { .. } | Act::Lapse | Act::Restart => true,
        }
    }

    fn apply(mut state: Self, act: &Act) -> Self {
        let now = state.now;
        let mut with = |piece: usize, change: &dyn Fn(&mut Expected)| {
            if let Some(expected) = state.pieces[piece].as_mut() {
                change(expected);
            }
        };
        match *act {
            Act::Begin => state.pieces.push(Some(Expected::default())),
            Act::Note { piece, agent, .. } => with(piece, &|expected| {
                expected.events += 1;
                if expected.fences[agent].is_some_and(|fence| fence < expected.fence) {
                    expected.late += 1;
                    return;
                }
                match expected.holds(now) {
                    Some(holder) if holder != agent => expected.late += 1,
                    Some(holder) => expected.holder = Some((holder, now + LEASE)),
                    // A lease that ended is its holder's until somebody else takes it.
                    None if expected.holder.is_some_and(|(holder, _)| holder == agent) => {
                        expected.holder = Some((agent, now + LEASE));
                    }
                    None => {}
                }
            }),
            Act::Hold { piece, agent, takeover } => with(piece, &|expected| match expected.holds(now) {
                Some(holder) if holder == agent => expected.holder = Some((agent, now + LEASE)),
                Some(_) if !takeover => {}
                _ => {
                    expected.events += 1;
                    expected.fence += 1;
                    expected.fences[agent] = Some(expected.fence);
                    expected.holder = Some((agent, now + LEASE));
                }
            }),
            Act::Release { piece, agent } => with(piece, &|expected| {
                if expected.holder.is_some_and(|(holder, _)| holder == agent) {
                    expected.events += 1;
                    expected.holder = None;
                    expected.fences[agent] = None;
                }
            }),
            Act::Prune(piece) => state.pieces[piece] = None,
            Act::Lapse => state.now += LEASE + 1,
            Act::Kill(_) | Act::Purge(..) | Act::Seal { .. } | Act::Restart => {}
        }
        state
    }
}

/// The journal as the store and the service have it.
struct Journal {
    pieces: Vec<Option<(Piece, State)>>,
    log: Log,
    seals: Vec<Seal>,
    epoch: (u64, EpochKey),
    pruned: BTreeSet<WorkId>,
    now: i64,
}

/// A moment, in minutes.
fn minute(minute: i64) -> Timestamp {
    at(60 * minute)
}

fn epoch_key(epoch: u64) -> EpochKey {
    EpochKey::new(&[u8::try_from(epoch % 200).unwrap() + 1; 32])
}

fn step(kind: u8, seq: u64) -> Step {
    let text = format!("number {seq}");
    match kind {
        0 => Step::Prompt { text },
        1 => Step::Intent { key: format!("k{}", seq % 3), text, repeat: Repeat::Check },
        2 => Step::Confirmed { key: format!("k{}", seq % 3) },
        3 => Step::Started { call: format!("c{}", seq % 2), tool: "Bash".to_owned(), what: text },
        4 => Step::TurnEnded { said: Some(text) },
        5 => Step::Compacted { trigger: "auto".to_owned(), summary: None },
        _ => Step::Note { text: text.repeat(400) },
    }
}

impl Journal {
    /// Adds an event to a piece, as the service does.
    fn note(&mut self, piece: usize, agent: &str, step: &Step) {
        let now = self.now;
        let (piece, state) = self.pieces[piece].as_mut().unwrap();
        // The journal itself records a lease and its end.
        let is_lease = matches!(step, Step::Claimed { .. } | Step::Released { .. });
        let late = !is_lease && lease::is_late(&piece.work, state, agent, minute(now));
        if !late {
            lease::renew(&mut piece.work, agent, minute(now + LEASE));
        }
        piece.note_as(step, late);
        *state = fold(std::mem::take(state), &crate::Entry::from(piece.rows.last().unwrap()));
    }

    fn seal(&mut self, more: Vec<Leaf>, ends_epoch: bool) {
        let heads = self.pieces.iter().flatten().map(|(piece, _)| &piece.work);
        let leaf = |work: &crate::Work| Leaf { work: work.id, seq: work.seq, head: work.head, pruned: false };
        let leaves: Vec<Leaf> =
            if more.is_empty() { heads.filter(|work| work.seq > 0).map(leaf).collect() } else { more };
        if leaves.is_empty() {
            return;
        }
        let texts = leaves.iter().map(Leaf::text).collect();
        let next = ends_epoch.then(|| epoch_key(self.epoch.0 + 1).public());
        self.seals.push(self.log.seal("cerebro-journal/machine", texts, self.epoch.0, &self.epoch.1, next));
        if ends_epoch {
            self.epoch = (self.epoch.0 + 1, epoch_key(self.epoch.0 + 1));
        }
    }

    /// What the seals say about each piece.
    fn sealed_heads(&self) -> BTreeMap<WorkId, BTreeMap<u64, Mac>> {
        let mut sealed: BTreeMap<WorkId, BTreeMap<u64, Mac>> = BTreeMap::new();
        for leaf in self.seals.iter().flat_map(|seal| &seal.leaves).filter_map(|leaf| Leaf::parse(leaf)) {
            sealed.entry(leaf.work).or_default().insert(leaf.seq, leaf.head);
        }
        sealed
    }
}

impl StateMachineTest for Journal {
    type SystemUnderTest = Self;
    type Reference = Model;

    fn init_test(_: &Model) -> Self {
        let (pieces, seals, pruned) = (Vec::new(), Vec::new(), BTreeSet::new());
        Self { pieces, log: Log::default(), seals, epoch: (0, epoch_key(0)), pruned, now: 0 }
    }

    fn apply(mut journal: Self, _: &Model, act: Act) -> Self {
        match act {
            Act::Begin => journal.pieces.push(Some((Piece::begin("task"), State::default()))),
            Act::Note { piece, agent, kind } => {
                let seq = journal.pieces[piece].as_ref().unwrap().0.work.seq;
                journal.note(piece, AGENTS[agent], &step(kind, seq + 1));
            }
            Act::Hold { piece, agent, takeover } => {
                let times = (minute(journal.now), minute(journal.now + LEASE));
                let work = &mut journal.pieces[piece].as_mut().unwrap().0.work;
                let before = (work.lease.clone(), work.fence);
                match lease::take(work, AGENTS[agent], times, takeover) {
                    Ok(Some(step)) => journal.note(piece, AGENTS[agent], &step),
                    Ok(None) => work.row_mac = key().of(&work.id).row(work),
                    Err(_) => assert_eq!((work.lease.clone(), work.fence), before),
                }
            }
            Act::Release { piece, agent } => {
                let work = &mut journal.pieces[piece].as_mut().unwrap().0.work;
                if let Some(step) = lease::release(work, AGENTS[agent]) {
                    journal.note(piece, AGENTS[agent], &step);
                }
            }
            Act::Lapse => journal.now += LEASE + 1,
            Act::Kill(piece) => {
                let (piece, state) = journal.pieces[piece].as_mut().unwrap();
                let mut half = piece.clone();
                half.note(&Step::Lost);
                // Nothing of it was stored; the next process folds what was.
                assert_eq!(half.rows.len(), piece.rows.len() + 1);
                assert_eq!(crate::fold::fold_all(&piece.entries()), *state);
            }
            Act::Purge(piece, event) => {
                let (piece, state) = journal.pieces[piece].as_mut().unwrap();
                // Only closed work is purged; until then its holder matters.
                if !matches!(piece.rows[event].kind.as_str(), "claimed" | "released") {
                    piece.purge(event);
                }
                *state = crate::fold::fold_all(&piece.entries());
            }
            Act::Prune(piece) => {
                let (piece, _) = journal.pieces[piece].take().unwrap();
                let work = &piece.work;
                journal
                    .seal(vec![Leaf { work: work.id, seq: work.seq, head: work.head, pruned: true }], false);
                journal.pruned.insert(piece.work.id);
            }
            Act::Seal { ends_epoch } => journal.seal(Vec::new(), ends_epoch),
            Act::Restart => {
                let mut log = Log::default();
                assert!(journal.seals.iter().all(|seal| log.take_in(seal)));
                assert_eq!(log.root(), journal.log.root());
                journal.log = log;
            }
        }
        journal
    }

    fn check_invariants(state: &Self, model: &Model) {
        let sealed = state.sealed_heads();
        for (piece, expected) in state.pieces.iter().zip(&model.pieces) {
            assert_eq!(piece.is_some(), expected.is_some());
            let (Some((piece, folded)), Some(expected)) = (piece, expected) else { continue };
            let work = &piece.work;
            let wanted = sealed.get(&work.id).cloned().unwrap_or_default();
            let sealed = wanted.keys().copied().collect();
            let verified = crate::verify(&key().of(&work.id), work, &piece.rows, &sealed);
            assert_eq!((verified.findings.as_slice(), &verified.heads), ([].as_slice(), &wanted));
            assert_eq!((work.seq, work.fence, folded.late), (expected.events, expected.fence, expected.late));
            let numbers: Vec<u64> = piece.rows.iter().map(|row| row.seq).collect();
            assert_eq!(numbers, (1..=expected.events).collect::<Vec<u64>>());
            let holder = expected.holds(model.now).map(|agent| AGENTS[agent]);
            assert_eq!(work.holder(minute(state.now)), holder);
            let entries = piece.entries();
            assert_eq!(*folded, crate::fold::fold_all(&entries));
            let world = World::at(minute(state.now));
            let text = hint(work, folded, &world, limits::HINT_BYTES);
            assert!(text.len() <= limits::HINT_BYTES);
            assert_eq!(text, hint(work, folded, &world, limits::HINT_BYTES));
        }
        let mut public = epoch_key(0).public();
        for seal in &state.seals {
            assert!(seal.is_signed_by(&public), "seal {}", seal.number);
            public = seal.next.unwrap_or(public);
        }
        assert!(state.pruned.iter().all(|id| sealed.contains_key(id)), "a seal says what was pruned");
    }
}

prop_state_machine! {
    #![proptest_config(ProptestConfig::default())]

    #[test]
    fn every_history_verifies_and_folds(sequential 1..40 => Journal);
}
