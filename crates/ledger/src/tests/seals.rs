//! Seals, their proofs and their notes.

use super::Piece;
use crate::seal::{EpochKey, Leaf, Log, Seal};

fn leaf(piece: &Piece, pruned: bool) -> Leaf {
    Leaf { work: piece.work.id, seq: piece.work.seq, head: piece.work.head, pruned }
}

/// Seals of 1 to 9 leaves each, and the log.
fn sealed() -> (Vec<Seal>, Log, EpochKey) {
    let key = EpochKey::new(&[3; 32]);
    let (mut log, mut seals) = (Log::default(), Vec::new());
    for count in 1..10 {
        let leaves = (0..count).map(|i| leaf(&Piece::notes("session", i), false).text()).collect();
        seals.push(log.seal("cerebro-journal/test", leaves, 0, &key, None));
    }
    (seals, log, key)
}

#[test]
fn a_leaf_is_parsed_from_its_text() {
    for pruned in [false, true] {
        let leaf = leaf(&Piece::notes("task", 3), pruned);
        assert_eq!(Leaf::parse(&leaf.text()), Some(leaf));
    }
    for bad in ["", "x", "abcdefghij27 at 1", "abcdefghij27 at 1 zz", "abcdefghij27 of 1 00"] {
        assert_eq!(Leaf::parse(bad), None, "{bad}");
    }
}

#[test]
fn stored_seals_are_accepted_and_changed_ones_are_not() {
    let (seals, log, key) = sealed();
    let mut again = Log::default();
    for seal in &seals {
        assert!(again.take_in(seal) && seal.is_signed_by(&key.public()));
    }
    assert_eq!((again.size(), again.root()), (log.size(), log.root()));

    let mut without = Log::default();
    assert!(!without.take_in(&seals[1]), "the one before is missing");
    let mut edited = seals[0].clone();
    edited.leaves[0].push('0');
    assert!(!Log::default().take_in(&edited));
    let mut edited = seals[0].clone();
    edited.root[0] ^= 1;
    assert!(!edited.is_signed_by(&key.public()));
    assert!(!seals[0].is_signed_by(&EpochKey::new(&[4; 32]).public()), "another key");
}

#[test]
fn an_outsider_can_check_inclusion() {
    let (seals, mut log, ..) = sealed();
    let piece = Piece::notes("session", 5);
    let key = EpochKey::new(&[3; 32]);
    let seal = log.seal(&seals[0].origin, vec![leaf(&piece, false).text()], 0, &key, None);
    let (leaf, inclusion) = log.prove(&piece.work.id).unwrap();
    assert_eq!((leaf.seq, inclusion.size), (5, seal.size));
    assert!(inclusion.holds(&leaf.text(), &seal.root));
    assert!(inclusion.path.len() * 32 <= 1_024);
    let mut later = leaf.clone();
    later.seq += 1;
    assert!(!inclusion.holds(&later.text(), &seal.root));
    assert!(!inclusion.holds(&leaf.text(), &seals[3].root));
    assert!(log.prove(&Piece::begin("session").work.id).is_none());
}

#[test]
fn a_note_has_the_form_of_a_checkpoint() {
    let (seals, _, key) = sealed();
    let note = seals[2].note(&key.public());
    let lines: Vec<&str> = note.lines().collect();
    assert_eq!(lines[0], "cerebro-journal/test");
    assert_eq!(lines[1], seals[2].size.to_string());
    assert_eq!(lines[2].len(), 44, "32 bytes in base64");
    assert_eq!(lines[3], "seal 2 epoch 0");
    assert_eq!(lines[4], "");
    assert!(lines[5].starts_with("— cerebro-journal/test "));
    let signature = lines[5].rsplit(' ').next().unwrap();
    assert_eq!(signature.len(), 92, "4 bytes that name the key and 64 of the signature");
}
