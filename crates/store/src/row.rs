//! The rows of the database and their way to and from [`cerebro_core::domain`].

use surrealdb::types::{Datetime, RecordId, RecordIdKey, SurrealValue, Value};

use super::StoreError;
use cerebro_core::domain::{
    EndReason, Event, EventKind, Kind, Memory, MemoryId, Project, Prompt, PromptId, Revision, Scope, Session,
    SessionId, Timestamp,
};
use cerebro_core::hygiene;
use cerebro_core::redact::RedactedText;

/// The last second that an index can hold as nanoseconds in 64 bits, less a century.
const LAST_SECOND: i64 = 6_000_000_000;

pub(super) fn datetime(at: Timestamp) -> Datetime {
    if at.as_second().abs() > LAST_SECOND {
        let second = LAST_SECOND * at.as_second().signum();
        return Datetime::from_timestamp(second, 0).unwrap_or(Datetime::MIN_UTC);
    }
    let nanos = at.subsec_nanosecond();
    // jiff counts the nanoseconds of a moment before 1970 downwards, chrono always upwards.
    let (seconds, nanos) =
        if nanos < 0 { (at.as_second() - 1, nanos + 1_000_000_000) } else { (at.as_second(), nanos) };
    Datetime::from_timestamp(seconds, nanos.unsigned_abs()).unwrap_or(Datetime::MIN_UTC)
}

pub(super) fn timestamp(at: Datetime) -> Timestamp {
    Timestamp::from_microsecond(at.timestamp_micros()).unwrap_or(Timestamp::MIN)
}

pub(super) fn memory_record(id: &MemoryId) -> RecordId {
    RecordId::new("memory", id.as_str())
}

pub(super) fn session_record(id: &SessionId) -> RecordId {
    RecordId::new("session", id.as_str())
}

pub(super) fn prompt_record(id: &PromptId) -> RecordId {
    RecordId::new("prompt", id.as_str())
}

pub(super) fn key(table: &'static str, id: RecordId) -> Result<String, StoreError> {
    match id.key {
        RecordIdKey::String(key) => Ok(key),
        other => Err(StoreError::Row { table, reason: format!("its key is {other:?}, not a text") }),
    }
}

fn malformed(table: &'static str, what: &str, value: &str) -> StoreError {
    StoreError::Row { table, reason: format!("{what} `{value}`") }
}

pub(super) fn memory_id(table: &'static str, id: RecordId) -> Result<MemoryId, StoreError> {
    let key = key(table, id)?;
    MemoryId::parse(&key).map_err(|_| malformed(table, "memory id", &key))
}

pub(super) fn session_id(table: &'static str, id: RecordId) -> Result<SessionId, StoreError> {
    let key = key(table, id)?;
    SessionId::parse(&key).map_err(|_| malformed(table, "session id", &key))
}

fn project(table: &'static str, name: &str) -> Result<Project, StoreError> {
    if name.is_empty() {
        return Ok(Project::none());
    }
    Project::parse(name).ok_or_else(|| malformed(table, "project", name))
}

/// A text of a row: it was redacted before it was put.
fn held(text: String) -> RedactedText {
    RedactedText::from_store(text)
}

/// The value of `memory.topic`: one live memory at most holds it.
pub(super) fn topic_slot(project: &Project, scope: Scope, topic_key: &str) -> String {
    let project = if scope == Scope::Personal { "" } else { project.as_str() };
    format!("{}\u{1f}{project}\u{1f}{topic_key}", scope.as_str())
}

#[derive(Debug, Clone, SurrealValue)]
#[surreal(crate = "surrealdb::types")]
pub(super) struct MemoryRow {
    #[surreal(default)]
    id: Option<RecordId>,
    project: String,
    scope: String,
    #[surreal(rename = "type")]
    kind: String,
    title: String,
    content: String,
    topic_key: Option<String>,
    tags: Vec<String>,
    agent: String,
    session: Option<RecordId>,
    revision: i64,
    duplicate_count: i64,
    pinned: bool,
    live: bool,
    purged: bool,
    created_at: Datetime,
    updated_at: Datetime,
    last_seen_at: Datetime,
    deleted_at: Option<Datetime>,
    identity: String,
    topic: Option<String>,
    pin: Option<String>,
    version: i64,
}

/// The value of `memory.pin`, by which the pinned memories of a project are found.
pub(super) fn pin_slot(project: &Project) -> String {
    format!("pinned:{project}")
}

impl MemoryRow {
    /// The row as the next write leaves it: one version on.
    pub(super) fn next(memory: &Memory) -> Self {
        let live = memory.is_live();
        let topic = memory.topic_key.as_deref().filter(|_| live);
        Self {
            id: None,
            project: memory.project.as_str().to_owned(),
            scope: memory.scope.as_str().to_owned(),
            kind: memory.kind.as_str().to_owned(),
            title: memory.title.to_string(),
            content: memory.content.to_string(),
            topic_key: memory.topic_key.clone().map(String::from),
            tags: memory.tags.iter().map(ToString::to_string).collect(),
            agent: memory.agent.to_string(),
            session: memory.session.as_ref().map(session_record),
            revision: i64::from(memory.revision),
            duplicate_count: i64::from(memory.duplicate_count),
            pinned: memory.pinned,
            live,
            purged: memory.purged,
            created_at: datetime(memory.created_at),
            updated_at: datetime(memory.updated_at),
            last_seen_at: datetime(memory.last_seen_at),
            deleted_at: memory.deleted_at.map(datetime),
            identity: hygiene::identity(&memory.project, memory.scope, &memory.kind, &memory.title),
            topic: topic.map(|key| topic_slot(&memory.project, memory.scope, key)),
            pin: (memory.pinned && live).then(|| pin_slot(&memory.project)),
            version: signed(memory.version) + 1,
        }
    }

    /// The row with its id, as `INSERT` takes it.
    pub(super) fn first(memory: &Memory) -> Self {
        Self { id: Some(memory_record(&memory.id)), ..Self::next(memory) }
    }
}

pub(super) fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn unsigned(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}

fn small(count: i64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn kind(table: &'static str, name: &str) -> Result<Kind, StoreError> {
    Kind::parse(name).ok_or_else(|| malformed(table, "type", name))
}

fn scope(table: &'static str, name: &str) -> Result<Scope, StoreError> {
    Scope::parse(name).map_err(|_| malformed(table, "scope", name))
}

impl TryFrom<MemoryRow> for Memory {
    type Error = StoreError;

    fn try_from(row: MemoryRow) -> Result<Self, StoreError> {
        const TABLE: &str = "memory";
        let id = row.id.ok_or_else(|| malformed(TABLE, "missing", "id"))?;
        Ok(Self {
            id: memory_id(TABLE, id)?,
            project: project(TABLE, &row.project)?,
            scope: scope(TABLE, &row.scope)?,
            kind: kind(TABLE, &row.kind)?,
            title: held(row.title),
            content: held(row.content),
            topic_key: row.topic_key.map(held),
            tags: row.tags.into_iter().map(held).collect(),
            agent: held(row.agent),
            session: row.session.map(|id| session_id(TABLE, id)).transpose()?,
            revision: small(row.revision),
            duplicate_count: small(row.duplicate_count),
            pinned: row.pinned,
            created_at: timestamp(row.created_at),
            updated_at: timestamp(row.updated_at),
            last_seen_at: timestamp(row.last_seen_at),
            deleted_at: row.deleted_at.map(timestamp),
            purged: row.purged,
            version: unsigned(row.version),
        })
    }
}

#[derive(Debug, Clone, SurrealValue)]
#[surreal(crate = "surrealdb::types")]
pub(super) struct RevisionRow {
    id: RecordId,
    memory: RecordId,
    revision: i64,
    project: String,
    scope: String,
    #[surreal(rename = "type")]
    kind: String,
    title: String,
    content: String,
    topic_key: Option<String>,
    tags: Vec<String>,
    agent: String,
    session: Option<RecordId>,
    at: Datetime,
}

impl From<&Revision> for RevisionRow {
    fn from(old: &Revision) -> Self {
        Self {
            id: RecordId::new("revision", format!("{}-{}", old.memory, old.revision)),
            memory: memory_record(&old.memory),
            revision: i64::from(old.revision),
            project: old.project.as_str().to_owned(),
            scope: old.scope.as_str().to_owned(),
            kind: old.kind.as_str().to_owned(),
            title: old.title.to_string(),
            content: old.content.to_string(),
            topic_key: old.topic_key.clone().map(String::from),
            tags: old.tags.iter().map(ToString::to_string).collect(),
            agent: old.agent.to_string(),
            session: old.session.as_ref().map(session_record),
            at: datetime(old.at),
        }
    }
}

impl TryFrom<RevisionRow> for Revision {
    type Error = StoreError;

    fn try_from(row: RevisionRow) -> Result<Self, StoreError> {
        const TABLE: &str = "revision";
        Ok(Self {
            memory: memory_id(TABLE, row.memory)?,
            revision: small(row.revision),
            project: project(TABLE, &row.project)?,
            scope: scope(TABLE, &row.scope)?,
            kind: kind(TABLE, &row.kind)?,
            title: held(row.title),
            content: held(row.content),
            topic_key: row.topic_key.map(held),
            tags: row.tags.into_iter().map(held).collect(),
            agent: held(row.agent),
            session: row.session.map(|id| session_id(TABLE, id)).transpose()?,
            at: timestamp(row.at),
        })
    }
}

#[derive(Debug, Clone, SurrealValue)]
#[surreal(crate = "surrealdb::types")]
pub(super) struct SessionRow {
    #[surreal(default)]
    id: Option<RecordId>,
    project: String,
    agent: String,
    directory: Option<String>,
    started_at: Datetime,
    seen_at: Datetime,
    ended_at: Option<Datetime>,
    end_reason: Option<String>,
    live: bool,
    summary: Option<String>,
    follows: Option<RecordId>,
    writer: Option<String>,
    version: Option<i64>,
}

impl SessionRow {
    /// The row with its id, as `INSERT` takes it.
    pub(super) fn first(session: &Session) -> Self {
        Self { id: Some(session_record(&session.id)), ..Self::next(session) }
    }

    /// The row as the next write leaves it: one version on.
    pub(super) fn next(session: &Session) -> Self {
        Self {
            id: None,
            project: session.project.as_str().to_owned(),
            agent: session.agent.to_string(),
            directory: session.directory.clone().map(String::from),
            started_at: datetime(session.started_at),
            seen_at: datetime(session.seen_at),
            ended_at: session.ended_at.map(datetime),
            end_reason: session.end_reason.map(|reason| reason.as_str().to_owned()),
            live: session.ended_at.is_none(),
            summary: session.summary.clone().map(String::from),
            follows: session.follows.as_ref().map(session_record),
            writer: session.home.clone(),
            version: Some(signed(session.version) + 1),
        }
    }
}

impl TryFrom<SessionRow> for Session {
    type Error = StoreError;

    fn try_from(row: SessionRow) -> Result<Self, StoreError> {
        const TABLE: &str = "session";
        let id = row.id.ok_or_else(|| malformed(TABLE, "missing", "id"))?;
        Ok(Self {
            id: session_id(TABLE, id)?,
            project: project(TABLE, &row.project)?,
            agent: held(row.agent),
            directory: row.directory.map(held),
            started_at: timestamp(row.started_at),
            seen_at: timestamp(row.seen_at),
            ended_at: row.ended_at.map(timestamp),
            end_reason: row.end_reason.as_deref().and_then(EndReason::parse),
            summary: row.summary.map(held),
            follows: row.follows.map(|id| session_id(TABLE, id)).transpose()?,
            home: row.writer,
            // Older programs wrote none.
            version: row.version.map_or(1, unsigned),
        })
    }
}

#[derive(Debug, Clone, SurrealValue)]
#[surreal(crate = "surrealdb::types")]
pub(super) struct PromptRow {
    #[surreal(default)]
    id: Option<RecordId>,
    session: RecordId,
    project: String,
    agent: String,
    content: String,
    created_at: Datetime,
    last_seen_at: Datetime,
}

impl From<&Prompt> for PromptRow {
    fn from(prompt: &Prompt) -> Self {
        Self {
            id: None,
            session: session_record(&prompt.session),
            project: prompt.project.as_str().to_owned(),
            agent: prompt.agent.to_string(),
            content: prompt.content.to_string(),
            created_at: datetime(prompt.created_at),
            last_seen_at: datetime(prompt.last_seen_at),
        }
    }
}

impl TryFrom<PromptRow> for Prompt {
    type Error = StoreError;

    fn try_from(row: PromptRow) -> Result<Self, StoreError> {
        const TABLE: &str = "prompt";
        let id = key(TABLE, row.id.ok_or_else(|| malformed(TABLE, "missing", "id"))?)?;
        Ok(Self {
            id: PromptId::parse(&id).map_err(|_| malformed(TABLE, "id", &id))?,
            session: session_id(TABLE, row.session)?,
            project: project(TABLE, &row.project)?,
            agent: held(row.agent),
            content: held(row.content),
            created_at: timestamp(row.created_at),
            last_seen_at: timestamp(row.last_seen_at),
        })
    }
}

#[derive(Debug, Clone, SurrealValue)]
#[surreal(crate = "surrealdb::types")]
pub(super) struct EventRow {
    id: RecordId,
    writer: String,
    seq: i64,
    at: Datetime,
    kind: String,
    memory: Option<RecordId>,
    session: Option<RecordId>,
    project: Option<String>,
}

impl From<&Event> for EventRow {
    fn from(event: &Event) -> Self {
        Self {
            id: RecordId::new("event", format!("{}-{:012}", event.writer, event.seq)),
            writer: event.writer.clone(),
            seq: signed(event.seq),
            at: datetime(event.at),
            kind: event.kind.as_str().to_owned(),
            memory: event.memory.as_ref().map(memory_record),
            session: event.session.as_ref().map(session_record),
            project: event.project.as_ref().map(|project| project.as_str().to_owned()),
        }
    }
}

impl TryFrom<EventRow> for Event {
    type Error = StoreError;

    fn try_from(row: EventRow) -> Result<Self, StoreError> {
        const TABLE: &str = "event";
        Ok(Self {
            seq: unsigned(row.seq),
            at: timestamp(row.at),
            kind: EventKind::parse(&row.kind).ok_or_else(|| malformed(TABLE, "kind", &row.kind))?,
            memory: row.memory.map(|id| memory_id(TABLE, id)).transpose()?,
            session: row.session.map(|id| session_id(TABLE, id)).transpose()?,
            project: row.project.map(|name| project(TABLE, &name)).transpose()?,
            writer: row.writer,
        })
    }
}

/// A row as it is put: its id beside its fields.
#[derive(Debug, Clone, SurrealValue)]
#[surreal(crate = "surrealdb::types")]
pub(super) struct Put<R: SurrealValue> {
    pub id: RecordId,
    pub row: R,
}

/// A row that several may change, with the version that the writer saw.
#[derive(Debug, Clone, SurrealValue)]
#[surreal(crate = "surrealdb::types")]
pub(super) struct Guarded<R: SurrealValue> {
    pub id: RecordId,
    pub expect: i64,
    pub row: R,
}

/// The id of an edge follows from its ends, so that drawing it twice is drawing it once.
pub(super) fn edge_id(table: &'static str, from: &str, to: &str) -> RecordId {
    use sha2::{Digest, Sha256};
    let digest = Sha256::new().chain_update(from).chain_update([0]).chain_update(to).finalize();
    RecordId::new(table, cerebro_core::text::hex(&digest[..10]))
}

/// An edge as `INSERT RELATION` takes it.
#[derive(Debug, Clone, SurrealValue)]
#[surreal(crate = "surrealdb::types")]
pub(super) struct EdgeRow {
    pub id: RecordId,
    #[surreal(rename = "in")]
    pub from: RecordId,
    #[surreal(rename = "out")]
    pub to: RecordId,
    pub at: Datetime,
}

/// The ends and time of an edge.
pub(super) struct RawEdge {
    pub from: String,
    pub to: String,
    pub at: Timestamp,
}

impl TryFrom<EdgeRow> for RawEdge {
    type Error = StoreError;

    fn try_from(row: EdgeRow) -> Result<Self, StoreError> {
        Ok(Self { from: key("edge", row.from)?, to: key("edge", row.to)?, at: timestamp(row.at) })
    }
}

#[derive(Debug, Clone, SurrealValue)]
#[surreal(crate = "surrealdb::types")]
pub(super) struct JobRow {
    pub id: RecordId,
    pub memory: RecordId,
    pub revision: i64,
    pub kind: String,
    pub state: String,
    pub attempts: i64,
    pub due_at: Datetime,
    pub queued_at: Option<Datetime>,
}

/// Parses every row or says which table has a malformed one.
pub(super) fn parse<R, D>(table: &'static str, rows: Vec<Value>) -> Result<Vec<D>, StoreError>
where
    R: SurrealValue,
    D: TryFrom<R, Error = StoreError>,
{
    rows.into_iter()
        .map(|value| {
            let row =
                R::from_value(value).map_err(|error| StoreError::Row { table, reason: error.to_string() })?;
            D::try_from(row)
        })
        .collect()
}
