//! Conversions that the rows of all tables share: ids, moments, counts and names, from and to
//! [`cerebro_core::domain`].

use surrealdb::types::{Datetime, RecordId, RecordIdKey};

use super::{
    StoreError,
    columns::{RawRow, Row},
};
use cerebro_core::domain::{
    MemoryId, Project, PromptId, SessionId, Timestamp,
    limits::{MOMENT_MAX, MOMENT_MIN},
};
use cerebro_core::redact::RedactedText;

pub(super) fn datetime(at: Timestamp) -> Datetime {
    let at = at.clamp(MOMENT_MIN, MOMENT_MAX);
    let nanos = at.subsec_nanosecond();
    // Before 1970, jiff counts nanoseconds downwards and chrono always upwards.
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

/// The key of a row itself.
pub(super) fn own_key(table: &'static str, id: Option<RecordId>) -> Result<String, StoreError> {
    key(table, id.ok_or_else(|| malformed(table, "missing", "id"))?)
}

pub(super) fn malformed(table: &'static str, what: &str, value: &str) -> StoreError {
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

/// A project; older imports took rows without one.
pub(super) fn project(table: &'static str, name: &str) -> Result<Project, StoreError> {
    if name.is_empty() {
        return Ok(Project::general());
    }
    Project::parse(name).ok_or_else(|| malformed(table, "project", name))
}

/// The text of a row, which was redacted before it was written.
pub(super) fn held(text: String) -> RedactedText {
    RedactedText::from_store(text)
}

pub(super) fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

pub(super) fn unsigned(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}

/// A count of what is held in memory.
pub(super) fn size(count: i64) -> usize {
    usize::try_from(count).unwrap_or(0)
}

pub(super) fn small(count: i64) -> u32 {
    u32::try_from(count.max(0)).unwrap_or(u32::MAX)
}

/// Reads every row.
pub(super) fn parse<T: Row>(rows: Vec<RawRow>) -> Result<Vec<T>, StoreError> {
    rows.into_iter().map(T::from_row).collect()
}
