//! Verifies a stored piece of work and names what is wrong with it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use cerebro_core::domain::Project;
use cerebro_core::text;

use crate::{
    Step, Work,
    chain::{self, ChainedEvent, Key, WorkKey},
    limits::{EVENTS_MAX, TITLE_CHARS_MAX},
    mac::Mac,
    work::is_provisional,
};

/// Most rows whose original number is searched for. Further ones are reported as edited.
const SOUGHT_MAX: usize = 64;

/// A fault. Numbers are those of events, except for seals.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Finding {
    /// The event is not as it was written.
    Edited { seq: u64 },
    /// The event was not written here, or exists twice.
    Inserted { seq: u64 },
    /// Events are missing in the middle.
    Deleted { from: u64, to: u64 },
    /// The event has a different number than when it was written.
    Reordered { seq: u64, was: u64 },
    /// The last events are missing.
    CutTail { from: u64, to: u64 },
    /// The row, or the whole piece of work, was reset to an earlier event.
    RolledBack { row: u64, found: u64 },
    /// The row is not as it was written.
    RowEdited,
    /// Each event is genuine, but together they are not what was written: two histories were mixed.
    Rewritten,
    /// The bytes of an artifact do not match its name.
    ArtifactChanged { seq: u64 },
    /// An artifact is missing.
    ArtifactMissing { seq: u64 },
    /// A seal or an event names a piece of work that is missing.
    WorkMissing,
    /// A seal says that it was pruned, but it exists.
    WorkReturned,
    /// The head under a seal differs from the one that the events lead to.
    SealDiffers { seal: u64, seq: u64 },
    /// A seal is missing.
    SealMissing { seal: u64 },
    /// A seal is not as it was written: its leaves do not lead to its root, or its signature is wrong.
    SealEdited { seal: u64 },
    /// A witness is not an earlier state of this journal.
    AnchorDiffers { size: u64 },
    /// The seals of this store were made with a missing key, so nothing under them can be checked.
    KeyMissing,
}

impl Finding {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Edited { .. } => "edited",
            Self::Inserted { .. } => "inserted",
            Self::Deleted { .. } => "deleted",
            Self::Reordered { .. } => "reordered",
            Self::CutTail { .. } => "cut_tail",
            Self::RolledBack { .. } => "rolled_back",
            Self::RowEdited => "row_edited",
            Self::Rewritten => "rewritten",
            Self::ArtifactChanged { .. } => "artifact_changed",
            Self::ArtifactMissing { .. } => "artifact_missing",
            Self::WorkMissing => "work_missing",
            Self::WorkReturned => "work_returned",
            Self::SealDiffers { .. } => "seal_differs",
            Self::SealMissing { .. } => "seal_missing",
            Self::SealEdited { .. } => "seal_edited",
            Self::AnchorDiffers { .. } => "anchor_differs",
            Self::KeyMissing => "key_missing",
        }
    }
}

impl fmt::Display for Finding {
    /// What is wrong, in words for a person.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let some = |from: u64, to: u64| {
            if from == to {
                format!("event {from} is missing")
            } else {
                format!("events {from} to {to} are missing")
            }
        };
        out.write_str(&match *self {
            Self::Edited { seq } => format!("event {seq} is not as it was written"),
            Self::Inserted { seq } => {
                format!("event {seq} was not written by this journal, or is there twice")
            }
            Self::Deleted { from, to } => some(from, to),
            Self::Reordered { seq, was } => format!("event {seq} was written as event {was}"),
            Self::CutTail { from, to } => format!("{} at the end", some(from, to)),
            Self::RolledBack { row, found } => {
                format!("its row is that of event {row}, and event {found} was written")
            }
            Self::RowEdited => "its row is not as it was written".to_owned(),
            Self::Rewritten => "its events come from two histories".to_owned(),
            Self::ArtifactChanged { seq } => format!("the artifact of event {seq} is not as it was written"),
            Self::ArtifactMissing { seq } => format!("the artifact of event {seq} is missing"),
            Self::WorkMissing => "a seal or an event names it, and it is missing".to_owned(),
            Self::WorkReturned => "it was pruned, and is there again".to_owned(),
            Self::SealDiffers { seal, seq } => {
                format!("seal {seal} has another head at event {seq} than its events lead to")
            }
            Self::SealMissing { seal } => format!("seal {seal} is missing"),
            Self::SealEdited { seal } => format!("seal {seal} is not as it was written"),
            Self::AnchorDiffers { size } => {
                format!("the head of size {size} that was kept outside is no earlier state of this journal")
            }
            Self::KeyMissing => "seals were made with a key that is not in `journal.key`".to_owned(),
        })
    }
}

/// The result of verifying a piece of work.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verified {
    /// The number of its events.
    pub events: u64,
    /// The number of those whose text was purged.
    pub purged: u64,
    pub findings: Vec<Finding>,
    /// The heads at the requested numbers, according to the rows.
    pub heads: BTreeMap<u64, Mac>,
}

/// Checks the events of a piece of work, in order of their numbers, against its row. `sealed` are the numbers whose
/// heads are needed to compare them with seals.
pub fn verify(key: &WorkKey, work: &Work, rows: &[ChainedEvent], sealed: &BTreeSet<u64>) -> Verified {
    let mut verified = Verified {
        events: rows.len() as u64,
        purged: rows.iter().filter(|kept| kept.body.is_none() && kept.salt.is_none()).count() as u64,
        ..Verified::default()
    };
    let row_is_genuine = is_row_genuine(key, work);
    let numbers = true_numbers(key, work, rows);
    let (mut findings, last) = compare(rows, &numbers, row_is_genuine.then_some(work.seq));
    if row_is_genuine && last > work.seq {
        findings.push(Finding::RolledBack { row: work.seq, found: last });
    }
    if !row_is_genuine || !work.has_fitting_name() {
        findings.push(Finding::RowEdited);
    }
    if findings.is_empty() && !has_fitting_title(work, rows) {
        findings.push(Finding::RowEdited);
    }
    let mut head = key.origin(work);
    for kept in rows {
        head = key.head(&head, &kept.mac);
        if sealed.contains(&kept.seq) {
            verified.heads.insert(kept.seq, head);
        }
    }
    let expected = if work.seq == 0 { key.origin(work) } else { work.head };
    if findings.is_empty() && head != expected {
        findings.push(Finding::Rewritten);
    }
    findings.sort();
    verified.findings = findings;
    verified
}

/// Whether these are the events between an earlier head of a piece of work and the head in its row: each as it was written,
/// none missing. From the origin on, this is so exactly if [`verify`] finds nothing.
pub fn continues(key: &WorkKey, work: &Work, from: (u64, Mac), rows: &[ChainedEvent]) -> bool {
    let reached = rows.iter().try_fold(from, |(seq, head), kept| {
        let is_next = kept.seq == seq + 1 && is_text_genuine(kept);
        let is_genuine = is_next && key.event(&work.id, kept.seq, kept) == kept.mac;
        is_genuine.then(|| (kept.seq, key.head(&head, &kept.mac)))
    });
    let expected = if work.seq == 0 { key.origin(work) } else { work.head };
    reached == Some((work.seq, expected)) && is_row_genuine(key, work) && work.has_fitting_name()
}

/// Whether the title is the one with which a piece of work began, as far as its events say: not if the title or the text of
/// the first event was purged, nor for a fork. A request gives a title to what began without one, or with one that says
/// nothing. What is reopened may get another title, and redaction may be stricter later.
fn has_fitting_title(work: &Work, rows: &[ChainedEvent]) -> bool {
    let is_free = work.title.is_empty()
        || work.title.contains("[REDACTED:")
        || rows.iter().any(|kept| kept.kind == "reopened");
    let first = rows.first().filter(|first| !is_free && first.seq == 1);
    let is_title = |text: &str| *text::cut_chars(&text::one_line(text), TITLE_CHARS_MAX) == *work.title;
    match first.and_then(whole_step) {
        Some(Step::Begun { title, .. }) if is_title(&title) => true,
        // A request whose text is not at hand may have given it.
        Some(Step::Begun { title, .. }) => {
            let may_give = |kept: &ChainedEvent| match whole_step(kept) {
                Some(Step::Prompt { text }) => is_title(&text),
                _ => true,
            };
            is_provisional(&title) && rows.iter().filter(|kept| kept.kind == "prompt").any(may_give)
        }
        _ => true,
    }
}

/// The step of an event, if its row has all of it.
fn whole_step(kept: &ChainedEvent) -> Option<Step> {
    let body = kept.body.as_deref().filter(|_| kept.artifact.is_none())?;
    serde_json::from_str(body).ok()
}

/// Whether a row is as it was written. Earlier versions left the project out of its MAC.
pub fn is_row_genuine(key: &WorkKey, work: &Work) -> bool {
    key.row(work) == work.row_mac || key.row_without_project(work) == work.row_mac
}

/// Moves a piece of work to another project. A row that is as it was written gets the MAC of the other project.
pub fn move_to(key: &Key, work: &mut Work, into: &Project) {
    let key = key.of(&work.id);
    let is_genuine = is_row_genuine(&key, work);
    work.project = into.clone();
    if is_genuine {
        work.row_mac = key.row(work);
    }
}

/// Whether a piece of work that names another key was in fact made with this one: its row was, apart from the name
/// of the key, or any of its events was.
pub fn is_of_key(key: &Key, work: &Work, rows: &[ChainedEvent]) -> bool {
    let own = Work { key_id: key.id(), ..work.clone() };
    let key = key.of(&work.id);
    is_row_genuine(&key, &own) || rows.iter().any(|kept| key.event(&work.id, kept.seq, kept) == kept.mac)
}

/// The number with which each row was written: its own, another, or none.
fn true_numbers(key: &WorkKey, work: &Work, rows: &[ChainedEvent]) -> Vec<Option<u64>> {
    let mut sought = 0;
    let most = work.seq.max(rows.last().map_or(0, |kept| kept.seq)).min(EVENTS_MAX + 1);
    rows.iter()
        .map(|kept| {
            if !is_text_genuine(kept) {
                return None;
            }
            let is = |seq: u64| key.event(&work.id, seq, kept) == kept.mac;
            if is(kept.seq) {
                return Some(kept.seq);
            }
            // The usual case first: all rows after an inserted or deleted one are off by one.
            let near = [kept.seq.wrapping_sub(1), kept.seq + 1];
            near.into_iter().find(|seq| is(*seq)).or_else(|| {
                sought += 1;
                if sought > SOUGHT_MAX { None } else { (1..=most).find(|seq| is(*seq)) }
            })
        })
        .collect()
}

fn is_text_genuine(kept: &ChainedEvent) -> bool {
    match (&kept.salt, &kept.body) {
        (Some(salt), Some(body)) => chain::commitment(salt, body) == kept.commitment,
        (None, None) => true,
        _ => false,
    }
}

/// Compares the numbers of the rows with those with which they were written. Returns the faults, and the last
/// number that was written as far as the rows show it. `end` is that number according to the row of the piece of
/// work.
fn compare(rows: &[ChainedEvent], numbers: &[Option<u64>], end: Option<u64>) -> (Vec<Finding>, u64) {
    let mut findings = Vec::new();
    let genuine: BTreeSet<u64> = numbers.iter().flatten().copied().collect();
    let in_place: BTreeSet<u64> = rows
        .iter()
        .zip(numbers)
        .filter(|(kept, was)| **was == Some(kept.seq))
        .map(|(kept, _)| kept.seq)
        .collect();
    let mut covered = genuine.clone();
    let mut moved = Vec::new();
    let mut met = BTreeSet::new();
    for (kept, was) in rows.iter().zip(numbers) {
        match *was {
            Some(was) if was == kept.seq => {
                met.insert(was);
                moved.push((kept.seq, was));
            }
            Some(was) if in_place.contains(&was) || !met.insert(was) => {
                findings.push(Finding::Inserted { seq: kept.seq });
            }
            Some(was) => moved.push((kept.seq, was)),
            None if genuine.contains(&kept.seq) || end.is_some_and(|end| kept.seq > end) => {
                findings.push(Finding::Inserted { seq: kept.seq });
            }
            None => {
                findings.push(Finding::Edited { seq: kept.seq });
                covered.insert(kept.seq);
            }
        }
    }
    if !moved.is_sorted_by(|a, b| a.1 < b.1) {
        let out_of_place = moved.iter().filter(|(seq, was)| seq != was);
        findings.extend(out_of_place.map(|&(seq, was)| Finding::Reordered { seq, was }));
    }
    let last = covered.last().copied().unwrap_or(0);
    findings.extend(missing(&covered, last.max(end.unwrap_or(0)), last));
    (findings, last)
}

/// The uncovered ranges of numbers up to `end`.
fn missing(covered: &BTreeSet<u64>, end: u64, last: u64) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut next = 1;
    for &seq in covered {
        if seq > next {
            findings.push(Finding::Deleted { from: next, to: seq - 1 });
        }
        next = seq + 1;
    }
    if end > last {
        findings.push(Finding::CutTail { from: last + 1, to: end });
    }
    findings
}
