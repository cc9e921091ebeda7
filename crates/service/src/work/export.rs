//! The journal in exports and imports: its lines, and how an import reads them.
//!
//! Everything is exported as it is stored, with commitments and MACs, so that a home with the same keys can verify it. In
//! another home it can be read, listed and forked, but its chain cannot be verified.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::draft::{holds_json, packed, unpacked};
use crate::{
    Journal, ServiceError,
    error::Taking,
    fields::project,
    history,
    meant::is_forgotten,
    moment::{storable, storable_if_any},
};
use cerebro_core::domain::{HistoryTombstone, Timestamp, WorkId, limits::AGENT_NAME_CHARS_MAX};
use cerebro_core::redact::{RedactedText, redact_json, redact_secrets, redact_text};
use cerebro_core::text;
use cerebro_ledger::{ChainedEvent, Lease, Mac, Outcome, Status, Work, chain, limits};
use cerebro_store::{Artifact, ForgottenTexts, StoredEvent, StoredWork, Write};

/// Longest owner or name of a holder, in characters.
const NAME_CHARS_MAX: usize = 200;

/// A piece of work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct WorkLine {
    id: String,
    owner: String,
    project: String,
    #[serde(rename = "type")]
    kind: String,
    title: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    agent: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    forked_from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    forked_at: Option<u64>,
    status: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    lost: bool,
    unknown: u64,
    #[serde(deserialize_with = "storable")]
    created_at: Timestamp,
    #[serde(deserialize_with = "storable")]
    active_at: Timestamp,
    seq: u64,
    head: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    holder: Option<String>,
    #[serde(default, deserialize_with = "storable_if_any", skip_serializing_if = "Option::is_none")]
    until: Option<Timestamp>,
    fence: u64,
    key_id: String,
    mac: String,
}

/// An event of a piece of work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct WorkEventLine {
    work: String,
    seq: u64,
    #[serde(deserialize_with = "storable")]
    at: Timestamp,
    #[serde(rename = "type")]
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    once: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    late: bool,
    full: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    artifact: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    salt: Option<String>,
    commitment: String,
    mac: String,
}

/// What is too long for an event's row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ArtifactLine {
    id: String,
    text: String,
}

impl From<&StoredWork> for WorkLine {
    fn from(stored: &StoredWork) -> Self {
        let work = &stored.work;
        Self {
            id: work.id.to_string(),
            owner: work.owner.clone(),
            project: work.project.to_string(),
            kind: work.kind.clone(),
            title: work.title.to_string(),
            key: work.key.clone(),
            session: work.session.as_ref().map(ToString::to_string),
            agent: work.agent.to_string(),
            parent: work.parent.map(|id| id.to_string()),
            forked_from: work.forked_from.map(|(id, _)| id.to_string()),
            forked_at: work.forked_from.map(|(_, at)| at),
            status: work.status.as_str().to_owned(),
            outcome: work.outcome.map(|outcome| outcome.as_str().to_owned()),
            lost: work.lost,
            unknown: work.unknown,
            created_at: work.created_at,
            active_at: work.active_at,
            seq: work.seq,
            head: work.head.hex(),
            holder: work.lease.as_ref().map(|lease| lease.holder.clone()),
            until: work.lease.as_ref().map(|lease| lease.until),
            fence: work.fence,
            key_id: work.key_id.clone(),
            mac: work.row_mac.hex(),
        }
    }
}

impl TryFrom<WorkLine> for StoredWork {
    type Error = String;

    /// Without its name, which is valid in one home only.
    fn try_from(line: WorkLine) -> Result<Self, String> {
        let forked = line.forked_from.as_deref().map(work_id).transpose()?;
        if line.seq > limits::EVENTS_MAX {
            return Err(format!("work `{}`: it has {} events", line.id, line.seq));
        }
        let status = Status::parse(&line.status);
        let holder = line.holder.map(|holder| plain("holder", holder, NAME_CHARS_MAX)).transpose()?;
        let work = Work {
            id: work_id(&line.id)?,
            owner: plain("owner", line.owner, NAME_CHARS_MAX)?,
            project: project(&line.project)?,
            kind: plain("type", line.kind, limits::KIND_CHARS_MAX)?,
            title: redact_text(&line.title).value.one_line().cut_chars(limits::TITLE_CHARS_MAX),
            key: line.key.map(|key| plain("key", key, limits::KEY_CHARS_MAX)).transpose()?,
            name: None,
            session: line.session.as_deref().map(history::session_id).transpose()?,
            agent: redact_text(&line.agent).value.one_line().cut_chars(AGENT_NAME_CHARS_MAX),
            parent: line.parent.as_deref().map(work_id).transpose()?,
            forked_from: forked.map(|id| (id, line.forked_at.unwrap_or_default())),
            status: status.ok_or_else(|| format!("`{}` is no status", redact_secrets(&line.status)))?,
            outcome: line.outcome.as_deref().and_then(Outcome::parse),
            lost: line.lost,
            unknown: line.unknown,
            created_at: line.created_at,
            active_at: line.active_at,
            seq: line.seq,
            head: mac(&line.head)?,
            lease: holder.zip(line.until).map(|(holder, until)| Lease { holder, until }),
            fence: line.fence,
            key_id: plain("key_id", line.key_id, NAME_CHARS_MAX)?,
            row_mac: mac(&line.mac)?,
            version: 0,
        };
        Ok(Self { work, sealed: 0 })
    }
}

impl From<&StoredEvent> for WorkEventLine {
    fn from(StoredEvent { work, kept }: &StoredEvent) -> Self {
        Self {
            work: work.to_string(),
            seq: kept.seq,
            at: kept.at,
            kind: kept.kind.clone(),
            once: kept.once.clone(),
            late: kept.late,
            full: kept.full,
            artifact: kept.artifact.clone(),
            body: kept.body.as_ref().map(ToString::to_string),
            salt: kept.salt.as_ref().map(|salt| text::hex(salt)),
            commitment: kept.commitment.hex(),
            mac: kept.mac.hex(),
        }
    }
}

impl TryFrom<WorkEventLine> for StoredEvent {
    type Error = String;

    fn try_from(line: WorkEventLine) -> Result<Self, String> {
        let work = work_id(&line.work)?;
        // If redaction changed the text, it would not match its commitment, so the event is treated like a purged one.
        let body = line.body.filter(|body| body.len() <= limits::BODY_BYTES_MAX);
        let body = body.and_then(|body| unchanged(&body)).zip(line.salt);
        let hex = |name: &str, given: String| match text::unhex(&given) {
            Some(bytes) if bytes.len() <= 32 => Ok(given),
            _ => Err(format!("{name} of an event of work `{work}` is not in hex")),
        };
        let (body, salt) = body.map(|(body, salt)| (body, chain::salt_of(&salt))).unzip();
        let kept = ChainedEvent {
            seq: line.seq,
            at: line.at,
            kind: plain("type", line.kind, limits::KIND_CHARS_MAX)?,
            once: line.once.map(|once| hex("once", once)).transpose()?,
            late: line.late,
            full: line.full,
            artifact: line.artifact.map(|id| hex("artifact", id)).transpose()?,
            body,
            salt,
            commitment: mac(&line.commitment)?,
            mac: mac(&line.mac)?,
        };
        Ok(Self { work, kept })
    }
}

/// A text that redaction leaves as it is; `None` if it finds something.
fn unchanged(given: &str) -> Option<RedactedText> {
    let kept = match serde_json::from_str::<serde_json::Value>(given) {
        Ok(value) => redact_json(&value).value,
        // The beginning of what was too long even for an artifact.
        Err(_) => redact_text(given).value,
    };
    (kept.as_str() == given).then_some(kept)
}

fn work_id(text: &str) -> Result<WorkId, String> {
    WorkId::parse(text).map_err(|error| format!("work `{}`: {error}", redact_secrets(text)))
}

fn mac(text: &str) -> Result<Mac, String> {
    Mac::parse(text).ok_or_else(|| "a MAC has 64 hexadecimal digits".to_owned())
}

/// A name as it is, because a MAC covers it. One with a secret in it is refused.
fn plain(field: &str, given: String, max: usize) -> Result<String, String> {
    let chars = given.chars().count();
    if given.trim().is_empty() || chars > max || redact_secrets(&given) != given {
        return Err(format!("{field} `{}` is none", redact_secrets(text::cut_bytes(&given, max))));
    }
    Ok(given)
}

/// What an import must know of the journal before it looks at a line.
#[derive(Default)]
pub(crate) struct KnownJournal {
    key_id: String,
    /// What a seal says to be pruned does not come back.
    pruned: BTreeSet<WorkId>,
}

/// Imports a piece of work.
pub(crate) async fn work(write: &mut Write<'_>, known: &KnownJournal, line: WorkLine) -> Taking {
    let mut stored = StoredWork::try_from(line)?;
    let work = &stored.work;
    if known.pruned.contains(&work.id) {
        return Err(format!("work `{}` was pruned here", work.id).into());
    }
    if let Some(here) = write.work(&work.id).await? {
        let why = format!("work `{}` is here already in another state; it stays as it is", work.id);
        // A purged title or a merged project, which has a MAC of its own, does not make another state.
        let here = WorkLine::from(&here);
        let (title, project, mac) = (here.title.clone(), here.project.clone(), here.mac.clone());
        let same = WorkLine { project, title, mac, ..WorkLine::from(&stored) } == here;
        return if same { Ok(false) } else { Err(why.into()) };
    }
    if work.key_id != known.key_id {
        // A chain of another home cannot be continued here: it is not found by its name, and no seal covers it.
        stored.sealed = work.seq;
    } else if let Some(name) = name_of(work) {
        // Without its name, it would look as if somebody had removed the name.
        if !write.is_free_work_name(&name).await? {
            return Err(format!("work `{}` has a key or session that another one has here", work.id).into());
        }
        stored.work.name = Some(name);
    }
    let tombstone = HistoryTombstone::of_work_title(&stored.work.id);
    let holds = |forgotten: &ForgottenTexts| forgotten.are_in(&stored.work.title);
    if is_forgotten(write, Some(tombstone), holds).await? {
        stored.work.title = RedactedText::default();
    }
    write.import_work(&stored);
    Ok(true)
}

/// The name that a piece of work has in its home. A session's closed piece of work may have lost it to a later one.
fn name_of(work: &Work) -> Option<String> {
    let is_former = work.key.is_none() && work.status == Status::Closed;
    work.proper_name().filter(|_| !is_former)
}

/// Imports an event of a piece of work that is in the store.
pub(crate) async fn event(write: &mut Write<'_>, line: WorkEventLine) -> Taking {
    let StoredEvent { work, mut kept } = StoredEvent::try_from(line)?;
    let Some(owner) = write.work(&work).await? else {
        return Err(format!("work `{work}` of the event is not here").into());
    };
    if let Some(here) = write.work_event(&work, kept.seq).await? {
        let same = ChainedEvent { body: here.body.clone(), salt: here.salt.clone(), ..kept.clone() } == here;
        // A text that was purged here does not come back.
        let same = same && (here.body.is_none() || kept.body.is_none() || here.body == kept.body);
        let why =
            format!("event {} of work `{work}` is here already and another; it stays as it is", kept.seq);
        return if same { Ok(false) } else { Err(why.into()) };
    }
    if kept.seq == 0 || kept.seq > owner.work.seq {
        return Err(format!("work `{work}` has no place for event {}", kept.seq).into());
    }
    let tombstone = HistoryTombstone::of_event(&kept.commitment.hex());
    let holds = |forgotten: &ForgottenTexts| {
        kept.body.as_ref().is_some_and(|body| holds_json(body, |text| forgotten.are_in(text)))
    };
    if is_forgotten(write, Some(tombstone), holds).await? {
        (kept.body, kept.salt) = (None, None);
    }
    write.import_work_event(&owner, kept);
    Ok(true)
}

/// Imports an artifact of an event that is in the store.
pub(crate) async fn artifact(write: &mut Write<'_>, line: ArtifactLine) -> Taking {
    if chain::artifact_id(line.text.as_bytes()) != line.id || line.text.len() > limits::ARTIFACT_BYTES_MAX {
        return Err("an artifact is not what its name says".to_owned().into());
    }
    if write.has_artifact(&line.id).await? {
        return Ok(false);
    }
    let Some(whole) = unchanged(&line.text) else {
        return Err(format!("artifact `{}` has something secret in it", line.id).into());
    };
    let holds = |forgotten: &ForgottenTexts| holds_json(&whole, |text| forgotten.are_in(text));
    if is_forgotten(write, None, holds).await? {
        return Err(format!("artifact `{}` was forgotten here", line.id).into());
    }
    write.import_artifact(packed(whole.as_bytes())?);
    Ok(true)
}

impl From<&Artifact> for ArtifactLine {
    /// An artifact that does not match its name is exported without text, and no import accepts it; `work verify`
    /// reports it.
    fn from(artifact: &Artifact) -> Self {
        let text = unpacked(artifact).and_then(|bytes| String::from_utf8(bytes).ok());
        Self { id: artifact.id.clone(), text: text.unwrap_or_default() }
    }
}

impl Journal {
    /// What an import of these lines must know of the journal.
    pub(crate) async fn known_journal(&self, lines: &[String]) -> Result<KnownJournal, ServiceError> {
        let journal = &self.held;
        let mut known = KnownJournal { key_id: journal.key_id.clone(), pruned: BTreeSet::new() };
        let has_work = lines.iter().any(|line| line.contains("\"work\""));
        if has_work && journal.retention.is_some() {
            let mut slot = journal.sealed.lock().await;
            known.pruned = self.sealed(&mut slot).await?.log.pruned().collect();
        }
        Ok(known)
    }
}
