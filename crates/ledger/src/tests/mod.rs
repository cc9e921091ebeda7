//! The journal as a whole: honest histories raise no alarm, and each way of tampering is found and named.

mod hand_over;
mod hints;
mod machine;
mod order;
mod requests;
mod seals;
mod tampering;
mod told;

use std::time::Duration;

use cerebro_core::domain::{Project, SessionId, Timestamp, WorkId};
use cerebro_core::redact::redact_text;

use crate::{ChainedEvent, Entry, Key, Mac, Status, Step, Work, body::Body};

pub(super) fn key() -> Key {
    Key::new([7; 32])
}

pub(super) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_767_225_600 + second).unwrap()
}

pub(super) fn project(name: &str) -> Project {
    Project::parse(name).unwrap()
}

pub(super) fn text(of: &str) -> cerebro_core::redact::RedactedText {
    redact_text(of).value
}

/// A piece of work in memory, with its rows.
#[derive(Clone)]
pub(super) struct Piece {
    pub work: Work,
    pub rows: Vec<ChainedEvent>,
}

impl Piece {
    pub fn begin(kind: &str) -> Self {
        let mut work = Work {
            id: WorkId::random(),
            owner: "local".to_owned(),
            project: project("demo"),
            kind: kind.to_owned(),
            title: text("make redaction stream"),
            key: None,
            name: None,
            session: Some(SessionId::parse("s1").unwrap()),
            agent: text("claude-code"),
            parent: None,
            forked_from: None,
            status: Status::Open,
            outcome: None,
            lost: false,
            unknown: 0,
            created_at: at(0),
            active_at: at(0),
            seq: 0,
            head: Mac::default(),
            lease: None,
            fence: 0,
            key_id: key().id(),
            row_mac: Mac::default(),
            version: 0,
        };
        work.name = work.proper_name();
        work.row_mac = key().of(&work.id).row(&work);
        Self { work, rows: Vec::new() }
    }

    pub fn note(&mut self, step: &Step) {
        self.note_as(step, false);
    }

    pub fn note_as(&mut self, step: &Step, late: bool) {
        let seq = self.work.seq + 1;
        let body = Body::of(step, Duration::ZERO);
        let mut kept = ChainedEvent {
            seq,
            at: at(i64::try_from(seq).unwrap()),
            kind: step.kind().to_owned(),
            once: None,
            late,
            full: body.full,
            artifact: body.artifact.as_ref().map(|whole| crate::chain::artifact_id(whole.as_bytes())),
            body: Some(body.text),
            salt: Some(vec![u8::try_from(seq % 251).unwrap(); crate::chain::SALT_BYTES]),
            commitment: Mac::default(),
            mac: Mac::default(),
        };
        let key = key().of(&self.work.id);
        key.append(&mut self.work, &mut kept);
        if !late {
            self.work.active_at = kept.at;
        }
        self.work.row_mac = key.row(&self.work);
        self.rows.push(kept);
    }

    pub fn notes(kind: &str, count: u64) -> Self {
        let mut piece = Self::begin(kind);
        for i in 0..count {
            piece.note(&Step::Prompt { text: format!("request {i}") });
        }
        piece
    }

    pub fn purge(&mut self, i: usize) {
        (self.rows[i].body, self.rows[i].salt) = (None, None);
    }

    pub fn entries(&self) -> Vec<Entry> {
        self.rows.iter().map(Entry::from).collect()
    }

    pub fn findings(&self) -> Vec<crate::Finding> {
        crate::verify(&key().of(&self.work.id), &self.work, &self.rows, &[].into()).findings
    }

    /// Whether the rows behind the first ones continue it from the head that those lead to.
    pub fn continues(&self, from: usize) -> bool {
        let key = key().of(&self.work.id);
        let (first, later) = self.rows.split_at(from);
        let head = first.iter().fold(key.origin(&self.work), |head, kept| key.head(&head, &kept.mac));
        crate::continues(&key, &self.work, (from as u64, head), later)
    }
}
