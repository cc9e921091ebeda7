//! A piece of work while a decision changes it: its row, its state, and the new events.

use std::{collections::BTreeSet, time::Duration};

use cerebro_core::domain::{Timestamp, WorkId};
use cerebro_core::redact::{RedactedText, redact_text};
use cerebro_ledger::{
    ChainedEvent, Entry, Mac, Outcome, State, Status, Step, body::Body, chain, chain::SALT_BYTES, fold,
    lease, work::gives_title,
};
use cerebro_store::{Artifact, Checkpoint, ForgottenTexts, StoredWork, Write};

use super::{Actor, Happening, Held, once::kept_once, words::Reporter};
use crate::ServiceError;

/// After how many events a checkpoint is stored, so that a long piece of work need not be folded from its beginning.
pub(super) const CHECKPOINT_EVERY: u64 = 500;
/// The level of zstd: its own default.
const ZSTD_LEVEL: i32 = 3;

/// A step, redacted and fitted into its row, with what is too long for it.
#[derive(Clone)]
pub(super) struct Prepared {
    pub kind: &'static str,
    pub step: Step,
    body: Body,
    salt: [u8; SALT_BYTES],
    artifact: Option<Artifact>,
    once: Option<String>,
    pub by: Reporter,
    is_forgotten: bool,
}

impl Prepared {
    pub fn of(happening: Happening) -> Result<Self, ServiceError> {
        let Happening { step, once, ago, by } = happening;
        let (body, artifact) = written(&step, ago)?;
        let (kind, salt) = (step.kind(), rand::random());
        Ok(Self { kind, step, body, salt, artifact, once, by, is_forgotten: false })
    }

    /// The same, without its texts if it was reported and says one that was forgotten everywhere.
    pub fn without(&self, forgotten: &ForgottenTexts) -> Self {
        let is_forgotten = self.by != Reporter::Caller && says(&self.step, forgotten);
        let artifact = self.artifact.clone().filter(|_| !is_forgotten);
        Self { artifact, is_forgotten, ..self.clone() }
    }

    /// The same, as if it happened at the moment of its record.
    pub fn at_record(&self) -> Result<Self, ServiceError> {
        let (body, artifact) = written(&self.step, Duration::ZERO)?;
        Ok(Self { body, artifact: artifact.filter(|_| !self.is_forgotten), ..self.clone() })
    }

    /// A step of this program's own.
    pub fn step(step: Step) -> Result<Self, ServiceError> {
        Self::of(step.into())
    }

    /// Whether it is something that an agent does: not an end of it, and not an event of the journal itself.
    pub fn is_activity(&self) -> bool {
        !matches!(self.step, Step::Lost | Step::Ended { .. } | Step::Gap { .. })
    }

    /// The title that it gives to a piece of work, if it gives one and its text is kept.
    pub fn title(&self) -> Option<&str> {
        match &self.step {
            _ if self.is_forgotten => None,
            Step::Begun { title: text, .. } | Step::Prompt { text } => Some(text),
            _ => None,
        }
    }

    /// The key by which a repetition of it is recognised, in its stored form. A gap in place of an event has a key of its
    /// own, so that the transcript can still report the event.
    pub fn once(&self, work: &WorkId) -> Option<String> {
        let once = self.once.as_deref()?;
        let is_missing = matches!(self.step, Step::Gap { filled: false, .. });
        Some(if is_missing { kept_once(work, &format!("missing:{once}")) } else { kept_once(work, once) })
    }

    /// The stored keys by which it may be known already: its own, and for a gap also that of the event.
    pub fn onces(&self, work: &WorkId) -> BTreeSet<String> {
        let given = self.once.as_deref().map(|once| kept_once(work, once));
        self.once(work).into_iter().chain(given).collect()
    }
}

/// The body of an event, and what is too long for it.
fn written(step: &Step, ago: Duration) -> Result<(Body, Option<Artifact>), ServiceError> {
    let body = Body::of(step, ago);
    let artifact = body.artifact.as_ref().map(|whole| packed(whole.as_bytes())).transpose()?;
    Ok((body, artifact))
}

/// Bytes as an artifact.
pub(super) fn packed(bytes: &[u8]) -> Result<Artifact, ServiceError> {
    let data = zstd::bulk::compress(bytes, ZSTD_LEVEL).map_err(|error| {
        ServiceError::invalid("artifact", "", format!("it cannot be compressed: {error}"))
    })?;
    Ok(Artifact { id: chain::artifact_id(bytes), data, len: bytes.len() as u64 })
}

/// The bytes of an artifact, if they match its name.
pub(super) fn unpacked(artifact: &Artifact) -> Option<Vec<u8>> {
    let most = cerebro_ledger::limits::ARTIFACT_BYTES_MAX;
    let bytes = zstd::bulk::decompress(&artifact.data, most).ok()?;
    (chain::artifact_id(&bytes) == artifact.id).then_some(bytes)
}

/// Whether a step says one of the texts that were forgotten everywhere.
pub(super) fn says(step: &Step, forgotten: &ForgottenTexts) -> bool {
    let holds = |step: String| holds_json(&step, |text| forgotten.are_in(text));
    !forgotten.is_empty() && serde_json::to_string(step).is_ok_and(holds)
}

/// Whether some text in a body meets a condition. A body is JSON, which spells line breaks and quotes in its own way; one
/// that is cut is read as it is.
pub(super) fn holds_json(body: &str, holds: impl Fn(&str) -> bool + Copy) -> bool {
    fn any(value: &serde_json::Value, holds: impl Fn(&str) -> bool + Copy) -> bool {
        match value {
            serde_json::Value::String(text) => holds(text),
            serde_json::Value::Array(items) => items.iter().any(|item| any(item, holds)),
            serde_json::Value::Object(fields) => fields.values().any(|field| any(field, holds)),
            _ => false,
        }
    }
    serde_json::from_str(body).map_or_else(|_| holds(body), |value| any(&value, holds))
}

/// A piece of work under change.
pub(super) struct Draft {
    key: chain::WorkKey,
    pub stored: StoredWork,
    pub state: State,
    /// The number of its last event before the change.
    before: u64,
    kept: Vec<ChainedEvent>,
    artifacts: Vec<Artifact>,
}

impl Draft {
    pub fn of(journal: &Held, stored: StoredWork, state: State) -> Self {
        let (key, before) = (journal.key.of(&stored.work.id), stored.work.seq);
        Self { key, stored, state, before, kept: Vec::new(), artifacts: Vec::new() }
    }

    /// Adds an event: chained, folded, and with its artifact.
    pub fn add(&mut self, at: Timestamp, prepared: &Prepared, late: bool) {
        let work = &mut self.stored.work;
        let mut kept = ChainedEvent {
            seq: 0,
            at,
            kind: prepared.kind.to_owned(),
            once: prepared.once(&work.id),
            late,
            full: prepared.body.full,
            artifact: prepared.artifact.as_ref().map(|artifact| artifact.id.clone()),
            body: Some(prepared.body.text.clone()),
            salt: Some(prepared.salt.to_vec()),
            commitment: Mac::default(),
            mac: Mac::default(),
        };
        self.key.append(work, &mut kept);
        if prepared.is_forgotten {
            (kept.body, kept.salt) = (None, None);
        }
        self.state = fold(std::mem::take(&mut self.state), &Entry::from(&kept));
        if !late {
            work.active_at = at;
        }
        self.kept.push(kept);
        self.artifacts.extend(prepared.artifact.clone());
    }

    /// Adds an event of the program itself.
    pub fn record(&mut self, at: Timestamp, step: Step) -> Result<(), ServiceError> {
        self.add(at, &Prepared::step(step)?, false);
        Ok(())
    }

    /// Gives it a title from a request, if its own was purged, says nothing or is that of a session without a request.
    pub fn entitle(&mut self, prepared: &Prepared) {
        if let (Step::Prompt { .. }, Some(text)) = (&prepared.step, prepared.title())
            && (self.stored.work.title.is_empty() || gives_title(text, &self.stored.work.title))
        {
            self.stored.work.title = line(text, cerebro_ledger::limits::TITLE_CHARS_MAX);
        }
    }

    /// Records that a task is no longer lost, because the agent that holds it continues.
    pub fn go_on(&mut self, actor: &Actor, at: Timestamp) -> Result<(), ServiceError> {
        let work = &self.stored.work;
        let is_holder = work.lease.as_ref().is_some_and(|lease| lease.holder == actor.holder());
        if self.state.lost.is_some() && is_holder && !work.is_session() {
            self.record(at, Step::Connected)?;
        }
        Ok(())
    }

    /// Any activity of the holder renews the lease.
    pub fn renew(&mut self, actor: &Actor, at: Timestamp) {
        let until = lease_end(at, cerebro_ledger::limits::LEASE);
        lease::renew(&mut self.stored.work, &actor.holder(), until);
    }

    /// Brings the row up to date with the events, and adds both to the write.
    pub fn finish(self, write: &mut Write<'_>) -> (StoredWork, State) {
        let Self { key, mut stored, state, before, kept, artifacts } = self;
        let work = &mut stored.work;
        work.status = match state.closed {
            Some(_) => Status::Closed,
            None if state.is_waiting() => Status::Waiting,
            None => Status::Open,
        };
        // If the text of the closing event was purged, the row still has the outcome.
        if state.closed != Some(Outcome::Unknown) {
            work.outcome = state.closed;
        }
        work.lost = state.lost.is_some();
        work.unknown = state.open_intents().count() as u64;
        work.row_mac = key.row(work);
        let (work, seq) = (work.id, work.seq);
        let is_due = before / CHECKPOINT_EVERY < seq / CHECKPOINT_EVERY;
        let checkpoint = is_due.then(|| serde_json::to_string(&state).ok()).flatten().map(|state| {
            let mac = key.checkpoint(&work, seq, &state);
            Checkpoint { work, seq, state, mac }
        });
        write.note_work(&stored, kept, artifacts, checkpoint);
        // As the commit leaves it.
        stored.work.version += 1;
        (stored, state)
    }
}

/// When a lease that begins now ends.
pub(super) fn lease_end(now: Timestamp, lease: Duration) -> Timestamp {
    let lease = jiff::SignedDuration::try_from(lease).unwrap_or_default();
    now.checked_add(lease).unwrap_or(Timestamp::MAX)
}

/// A text of a caller's as one redacted line of at most `max` characters.
pub(super) fn line(text: &str, max: usize) -> RedactedText {
    redact_text(text).value.one_line().cut_chars(max)
}
