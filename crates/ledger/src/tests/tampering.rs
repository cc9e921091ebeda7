//! Somebody without the key changes rows.

use proptest::prelude::*;

use super::{Piece, at, key, project, text};
use crate::{
    Finding, Mac, Step, chain,
    work::{UNTITLED, session_name},
};

/// A way to tamper.
#[derive(Debug, Clone)]
enum Tamper {
    Text(usize),
    TextAndCommitment(usize),
    Kind(usize),
    Moment(usize),
    Late(usize),
    Artifact(usize),
    FlipMac(usize, usize),
    Delete(usize),
    DeleteAndRenumber(usize),
    InsertAndRenumber(usize),
    CopyToEnd(usize),
    ForgeAtEnd,
    Swap(usize, usize),
    CutTail(usize),
    RollRowBack(usize),
    RowStatus,
    RowHolder,
    RowOfOtherKey,
    RowKey,
    RowName,
    RowAgent,
    RowUnknown,
    RowProject,
    PurgeHalf(usize),
}

/// Pieces have this many events.
const EVENTS: usize = 12;

fn tampers() -> impl Strategy<Value = Tamper> {
    use Tamper::*;
    let i = 0..EVENTS;
    prop_oneof![
        i.clone().prop_map(Text),
        i.clone().prop_map(TextAndCommitment),
        i.clone().prop_map(Kind),
        i.clone().prop_map(Moment),
        i.clone().prop_map(Late),
        i.clone().prop_map(Artifact),
        (i.clone(), 0..256_usize).prop_map(|(i, bit)| FlipMac(i, bit)),
        (0..EVENTS - 1).prop_map(Delete),
        (0..EVENTS - 1).prop_map(DeleteAndRenumber),
        i.clone().prop_map(InsertAndRenumber),
        i.clone().prop_map(CopyToEnd),
        Just(ForgeAtEnd),
        (0..EVENTS - 1, 1..EVENTS).prop_map(|(a, by)| Swap(a, (a + by).min(EVENTS - 1))),
        (1..EVENTS).prop_map(CutTail),
        (1..EVENTS).prop_map(RollRowBack),
        Just(RowStatus),
        Just(RowHolder),
        Just(RowOfOtherKey),
        Just(RowKey),
        Just(RowName),
        Just(RowAgent),
        Just(RowUnknown),
        Just(RowProject),
        i.prop_map(PurgeHalf),
    ]
}

fn renumber(piece: &mut Piece) {
    for (kept, seq) in piece.rows.iter_mut().zip(1..) {
        kept.seq = seq;
    }
}

impl Tamper {
    /// Tampers, and returns the finding that must name it.
    fn apply(&self, piece: &mut Piece) -> Finding {
        self.apply_to_event(piece)
            .or_else(|| self.apply_to_order(piece))
            .or_else(|| self.apply_to_row(piece))
            .unwrap()
    }

    fn apply_to_event(&self, piece: &mut Piece) -> Option<Finding> {
        let seq = |i: usize| i as u64 + 1;
        let rows = &mut piece.rows;
        Some(match *self {
            Self::Text(i) => {
                rows[i].body = Some(text("{\"kind\":\"prompt\",\"text\":\"other\"}"));
                Finding::Edited { seq: seq(i) }
            }
            Self::TextAndCommitment(i) => {
                let body = text("{\"kind\":\"prompt\",\"text\":\"other\"}");
                rows[i].commitment = chain::commitment(rows[i].salt.as_ref().unwrap(), &body);
                rows[i].body = Some(body);
                Finding::Edited { seq: seq(i) }
            }
            Self::Kind(i) => {
                rows[i].kind.push('x');
                Finding::Edited { seq: seq(i) }
            }
            Self::Moment(i) => {
                rows[i].at = at(86_400);
                Finding::Edited { seq: seq(i) }
            }
            Self::Late(i) => {
                rows[i].late = true;
                Finding::Edited { seq: seq(i) }
            }
            Self::Artifact(i) => {
                rows[i].artifact = Some(chain::artifact_id(b"other"));
                Finding::Edited { seq: seq(i) }
            }
            Self::FlipMac(i, bit) => {
                rows[i].mac.0[bit / 8] ^= 1 << (bit % 8);
                Finding::Edited { seq: seq(i) }
            }
            Self::PurgeHalf(i) => {
                rows[i].salt = None;
                Finding::Edited { seq: seq(i) }
            }
            _ => return None,
        })
    }

    fn apply_to_order(&self, piece: &mut Piece) -> Option<Finding> {
        let seq = |i: usize| i as u64 + 1;
        let rows = &mut piece.rows;
        Some(match *self {
            Self::Delete(i) => {
                rows.remove(i);
                Finding::Deleted { from: seq(i), to: seq(i) }
            }
            Self::DeleteAndRenumber(i) => {
                rows.remove(i);
                renumber(piece);
                Finding::Deleted { from: seq(i), to: seq(i) }
            }
            Self::InsertAndRenumber(i) => {
                let mut forged = rows[i].clone();
                forged.mac = Mac([9; 32]);
                rows.insert(i, forged);
                renumber(piece);
                Finding::Inserted { seq: seq(i) }
            }
            Self::CopyToEnd(i) => {
                rows.push(rows[i].clone());
                renumber(piece);
                Finding::Inserted { seq: seq(EVENTS) }
            }
            Self::ForgeAtEnd => {
                let mut forged = rows[0].clone();
                (forged.seq, forged.kind) = (seq(EVENTS), "confirmed".to_owned());
                rows.push(forged);
                Finding::Inserted { seq: seq(EVENTS) }
            }
            Self::Swap(a, b) => {
                rows.swap(a, b);
                renumber(piece);
                Finding::Reordered { seq: seq(a), was: seq(b) }
            }
            Self::CutTail(from) => {
                rows.truncate(from);
                Finding::CutTail { from: seq(from), to: EVENTS as u64 }
            }
            _ => return None,
        })
    }

    fn apply_to_row(&self, piece: &mut Piece) -> Option<Finding> {
        Some(match *self {
            Self::RollRowBack(to) => {
                let before = Piece { rows: piece.rows[..to].to_vec(), ..Piece::begin("session") };
                let mut old = piece.work.clone();
                let work_key = key().of(&old.id);
                (old.seq, old.head) = (to as u64, work_key.origin(&old));
                for kept in &before.rows {
                    old.head = work_key.head(&old.head, &kept.mac);
                }
                old.active_at = before.rows[to - 1].at;
                old.row_mac = work_key.row(&old);
                piece.work = old;
                Finding::RolledBack { row: to as u64, found: EVENTS as u64 }
            }
            Self::RowStatus => {
                piece.work.status = crate::Status::Closed;
                Finding::RowEdited
            }
            Self::RowHolder => {
                piece.work.lease = Some(crate::Lease { holder: "me".to_owned(), until: at(999) });
                Finding::RowEdited
            }
            Self::RowOfOtherKey => {
                piece.work.row_mac = crate::Key::new([1; 32]).of(&piece.work.id).row(&piece.work);
                Finding::RowEdited
            }
            Self::RowKey => {
                piece.work.key_id = crate::Key::new([1; 32]).id();
                assert!(crate::is_of_key(&key(), &piece.work, &piece.rows));
                Finding::RowEdited
            }
            Self::RowName => {
                piece.work.name = Some(session_name("local", "s2"));
                Finding::RowEdited
            }
            Self::RowAgent => {
                piece.work.agent = text("somebody else");
                Finding::RowEdited
            }
            Self::RowUnknown => {
                piece.work.unknown += 1;
                Finding::RowEdited
            }
            Self::RowProject => {
                piece.work.project = project("other");
                Finding::RowEdited
            }
            _ => return None,
        })
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn each_tampering_is_found_and_named(tamper in tampers(), purged in prop::option::of(0..EVENTS)) {
        let mut piece = Piece::notes("session", EVENTS as u64);
        if let Some(i) = purged {
            piece.purge(i);
        }
        // A purged event has no salt and no text that could be removed or changed.
        let touches_purged = |i: usize| purged == Some(i);
        if matches!(tamper, Tamper::TextAndCommitment(i) | Tamper::PurgeHalf(i) if touches_purged(i)) {
            return Ok(());
        }
        prop_assert_eq!(piece.findings(), []);
        prop_assert!(piece.continues(0));
        let wanted = tamper.apply(&mut piece);
        let findings = piece.findings();
        prop_assert!(!piece.continues(0), "{tamper:?}");
        prop_assert!(findings.contains(&wanted), "{tamper:?}: {findings:?} lack {wanted:?}");
        // Findings that name everything would be useless.
        let most = if matches!(tamper, Tamper::Swap(..)) { 2 } else { 1 };
        prop_assert!(findings.len() <= most, "{tamper:?}: {findings:?}");
    }

    #[test]
    fn honest_histories_raise_no_alarm(
        events in 0_u64..40,
        purges in prop::collection::vec(0_usize..40, 0..10),
        merged in any::<bool>(),
    ) {
        let mut piece = Piece::notes("task", events);
        for i in purges.into_iter().filter(|i| (*i as u64) < events) {
            piece.purge(i);
        }
        if merged {
            crate::move_to(&key(), &mut piece.work, &project("other"));
            piece.work.title = text("");
        }
        prop_assert_eq!(piece.findings(), []);
        piece.note(&Step::Note { text: "after all that".to_owned() });
        prop_assert_eq!(piece.findings(), []);
        for from in 0..=piece.rows.len() {
            prop_assert!(piece.continues(from), "from {from}");
        }
    }
}

#[test]
fn a_row_of_an_earlier_version_verifies_and_a_move_does_not_mend_a_changed_one() {
    let mut piece = Piece::notes("session", 4);
    piece.work.row_mac = key().of(&piece.work.id).row_without_project(&piece.work);
    assert_eq!(piece.findings(), []);
    crate::move_to(&key(), &mut piece.work, &project("other"));
    assert_eq!(piece.findings(), []);
    // From now on its project is known.
    let mut moved = piece.clone();
    moved.work.project = project("demo");
    assert_eq!(moved.findings(), [Finding::RowEdited]);
    piece.work.fence += 1;
    crate::move_to(&key(), &mut piece.work, &project("demo"));
    assert_eq!(piece.findings(), [Finding::RowEdited]);
}

#[test]
fn only_a_request_may_take_the_place_of_a_title_that_says_nothing() {
    let titled = |begun: &str, requests: &[&str], title: &str| {
        let mut piece = Piece::begin("session");
        piece.note(&Step::Begun {
            title: begun.to_owned(),
            goal: None,
            agent: "codex".to_owned(),
            directory: None,
            commit: None,
            steps: Vec::new(),
        });
        for request in requests {
            piece.note(&Step::Prompt { text: (*request).to_owned() });
        }
        piece.work.title = text(title);
        piece
    };
    for (begun, requests, title, is_sound) in [
        ("continue", &["continue", "Add a cache"][..], "Add a cache", true),
        ("continue", &["continue"], "continue", true),
        ("continue", &["continue", "Add a cache"], "Drop the cache", false),
        (UNTITLED, &["Add a cache"], "Add a cache", true),
        (UNTITLED, &[], "Drop the cache", false),
        ("Add a cache", &["Drop it"], "Drop it", false),
    ] {
        let mut piece = titled(begun, requests, title);
        let wanted = if is_sound { vec![] } else { vec![Finding::RowEdited] };
        assert_eq!(piece.findings(), wanted, "{begun} {requests:?} {title}");
        // Nobody knows what was in a text that was purged.
        if piece.rows.len() > 2 {
            piece.purge(2);
            assert!(is_sound || piece.findings().is_empty(), "{begun} {requests:?} {title}");
        }
    }
}

#[test]
fn two_mixed_histories_are_found() {
    let mut first = Piece::notes("session", 4);
    let mut second = first.clone();
    first.note(&Step::Note { text: "one past".to_owned() });
    first.note(&Step::Note { text: "goes on".to_owned() });
    second.note(&Step::Note { text: "another past".to_owned() });
    first.rows[4] = second.rows[4].clone();
    assert_eq!(first.findings(), [Finding::Rewritten]);
    assert!(!first.continues(0) && !first.continues(4) && !first.continues(5));
}

#[test]
fn a_row_of_another_piece_of_work_is_found() {
    let mut piece = Piece::notes("session", 4);
    piece.rows[1] = Piece::notes("session", 4).rows[1].clone();
    assert_eq!(piece.findings(), [Finding::Edited { seq: 2 }]);
}

#[test]
fn work_of_another_key_is_recognised() {
    let mut piece = Piece::notes("session", 3);
    let other = crate::Key::new([1; 32]);
    assert!(!crate::is_of_key(&other, &piece.work, &piece.rows));
    // One event that was made with the key is enough, whatever became of the row.
    piece.work.key_id = other.id();
    piece.work.row_mac = Mac([1; 32]);
    piece.rows[0].mac = Mac([1; 32]);
    assert!(crate::is_of_key(&key(), &piece.work, &piece.rows));
}
