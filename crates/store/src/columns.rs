//! Rows that are types of the domain: the columns of each are listed once, for writing and for reading.
//!
//! A table's file lists them with `columns!`, and adds what only the database needs when it writes a row. A query that
//! returns something else than whole rows reads its columns one by one ([`take`], [`RawRow::pair`]), or has a struct of
//! its own beside it.

use cerebro_anchors::Digest;
use cerebro_ledger::{Mac, Outcome, Status, seal::unhex};
use surrealdb::types::{
    Bytes, Datetime, Error, Kind as ValueKind, Object, RecordId, RecordIdKey, SurrealValue, Value, object,
};

use super::{
    StoreError, Subject, history, packed,
    row::{
        datetime, held, key, malformed, memory_id, memory_record, project, session_id, session_record,
        signed, size, small, timestamp, unsigned,
    },
    work::{work_id, work_record},
};
use cerebro_core::domain::{
    AncestorKind, ArrangementState, Body, CandidateState, ChunkId, ClaimKind, DistilState, DocumentId,
    EndReason, EventKind, ExchangeId, Flag, Kind, MemoryId, Nature, Origin, Project, Scope, ScopeName,
    SessionId, SessionOutcome, SourceState, Taint, Timestamp, Trigger, Validity, WorkId,
};
use cerebro_core::redact::RedactedText;
use cerebro_core::text;
use cerebro_core::truth::Action;

/// A value of the domain as one column has it. The error of a malformed one names `table`.
pub(super) trait Column: Sized {
    fn put(&self) -> Value;

    fn read(table: &'static str, value: Value) -> Result<Self, StoreError>;

    /// Reads a column that may be empty. A name of a newer version counts as none.
    fn read_if_any(table: &'static str, value: Value) -> Result<Option<Self>, StoreError> {
        if value == Value::None { Ok(None) } else { Self::read(table, value).map(Some) }
    }
}

/// A type of the domain as the columns of a row, or as some of them.
pub(super) trait Columns: Sized {
    fn put_into(&self, row: &mut Object);

    fn take_from(row: &mut Object, table: &'static str) -> Result<Self, StoreError>;
}

/// A type of the domain as the rows of a table.
pub(super) trait Row: Sized {
    /// The table. The error of a malformed row names it.
    const TABLE: &'static str;

    fn from_row(row: RawRow) -> Result<Self, StoreError>;
}

/// Lists the columns of a type: those of the rows of a table, or of a part of a row. A field is the column of its name,
/// unless it says otherwise:
///
/// - `id: key(MemoryId::parse)` is the key of the row, and written beside the row;
/// - `kind: "type"` is the column of another name;
/// - `valid: flat` is several columns;
/// - `lease: flat("holder")` is several columns, or none of them while `holder` is empty;
/// - `session: text(SessionId::as_str, SessionId::parse)` is the text of an id, where others have a record;
/// - `session: text_if_any("parent", SessionId::as_str, SessionId::parse)` is the same in the column of another name,
///   which may be empty;
/// - `images: or_default` may be missing in rows of earlier versions; `or_default("name")` has another name besides;
/// - `version: by(put, read)` is stored as what `put` makes of it, in the column of its name.
macro_rules! columns {
    ($type:ident in $table:literal { $($fields:tt)+ }) => {
        $crate::columns::columns! { $type { $($fields)+ } }

        impl $crate::columns::Row for $type {
            const TABLE: &'static str = $table;

            fn from_row(row: $crate::columns::RawRow) -> Result<Self, $crate::StoreError> {
                $crate::columns::Columns::take_from(&mut row.columns($table)?, $table)
            }
        }
    };
    ($type:ident { $($field:ident $(: $how:tt $(($($with:tt)+))?)?),+ $(,)? }) => {
        impl $crate::columns::Columns for $type {
            fn put_into(&self, row: &mut surrealdb::types::Object) {
                $($crate::columns::columns! { @put self row $field $($how $(($($with)+))?)? })+
            }

            fn take_from(
                row: &mut surrealdb::types::Object,
                table: &'static str,
            ) -> Result<Self, $crate::StoreError> {
                Ok(Self {
                    $($field: $crate::columns::columns! { @take table row $field $($how $(($($with)+))?)? }),+
                })
            }
        }

        $crate::columns::nested! { impl for $type }
    };
    (@put $self:ident $row:ident $field:ident) => {
        $crate::columns::put($row, stringify!($field), &$self.$field);
    };
    (@put $self:ident $row:ident $field:ident key $parse:tt) => {};
    (@put $self:ident $row:ident $field:ident text ($text:expr, $parse:expr)) => {
        $crate::columns::put_by($row, stringify!($field), &$self.$field, |id| $text(id).to_owned());
    };
    (@put $self:ident $row:ident $field:ident text_if_any ($name:literal, $text:expr, $parse:expr)) => {
        $crate::columns::put_by($row, $name, &$self.$field, |id| id.as_ref().map(|id| $text(id).to_owned()));
    };
    (@put $self:ident $row:ident $field:ident flat) => {
        $crate::columns::Columns::put_into(&$self.$field, $row);
    };
    (@put $self:ident $row:ident $field:ident flat ($name:literal)) => {
        if let Some(part) = &$self.$field {
            $crate::columns::Columns::put_into(part, $row);
        }
    };
    (@put $self:ident $row:ident $field:ident or_default) => {
        $crate::columns::put($row, stringify!($field), &$self.$field);
    };
    (@put $self:ident $row:ident $field:ident or_default ($name:literal)) => {
        $crate::columns::put($row, $name, &$self.$field);
    };
    (@put $self:ident $row:ident $field:ident by ($put:expr, $read:expr)) => {
        $crate::columns::put_by($row, stringify!($field), &$self.$field, $put);
    };
    (@put $self:ident $row:ident $field:ident $name:literal) => {
        $crate::columns::put($row, $name, &$self.$field);
    };
    (@take $table:ident $row:ident $field:ident) => {
        $crate::columns::take($table, $row, stringify!($field))?
    };
    (@take $table:ident $row:ident $field:ident key ($parse:expr)) => {{
        let key = $crate::row::own_key($table, $crate::columns::take_stored($table, $row, "id")?)?;
        $parse(&key).map_err(|_| $crate::row::malformed($table, "id", &key))?
    }};
    (@take $table:ident $row:ident $field:ident text ($text:expr, $parse:expr)) => {{
        let text: String = $crate::columns::take($table, $row, stringify!($field))?;
        $parse(&text).map_err(|_| $crate::row::malformed($table, stringify!($field), &text))?
    }};
    (@take $table:ident $row:ident $field:ident text_if_any ($name:literal, $text:expr, $parse:expr)) => {{
        let text: Option<String> = $crate::columns::take($table, $row, $name)?;
        let malformed = |text: &str| $crate::row::malformed($table, $name, text);
        text.map(|text| $parse(&text).map_err(|_| malformed(&text))).transpose()?
    }};
    (@take $table:ident $row:ident $field:ident flat) => {
        $crate::columns::Columns::take_from($row, $table)?
    };
    (@take $table:ident $row:ident $field:ident flat ($name:literal)) => {
        match $row.get($name) {
            None | Some(surrealdb::types::Value::None) => None,
            Some(_) => Some($crate::columns::Columns::take_from($row, $table)?),
        }
    };
    (@take $table:ident $row:ident $field:ident or_default) => {
        $crate::columns::take::<Option<_>>($table, $row, stringify!($field))?.unwrap_or_default()
    };
    (@take $table:ident $row:ident $field:ident or_default ($name:literal)) => {
        $crate::columns::take::<Option<_>>($table, $row, $name)?.unwrap_or_default()
    };
    (@take $table:ident $row:ident $field:ident by ($put:expr, $read:expr)) => {
        $crate::columns::take_by($table, $row, stringify!($field), $read)?
    };
    (@take $table:ident $row:ident $field:ident $name:literal) => {
        $crate::columns::take($table, $row, $name)?
    };
}
pub(super) use columns;

/// Makes a type with columns a column itself: an object within a row.
macro_rules! nested {
    (impl $(<$($part:ident),+>)? for $type:ty) => {
        impl $(<$($part: $crate::columns::Column),+>)? $crate::columns::Column for $type {
            fn put(&self) -> surrealdb::types::Value {
                surrealdb::types::Value::Object($crate::columns::row_of(self))
            }

            fn read(
                table: &'static str,
                value: surrealdb::types::Value,
            ) -> Result<Self, $crate::StoreError> {
                $crate::columns::Columns::take_from(&mut $crate::columns::stored(table, value)?, table)
            }
        }
    };
}
pub(super) use nested;

/// A row as the database returned it, to be read as a type of the domain.
#[derive(Debug, Clone)]
pub(super) struct RawRow(pub(super) Value);

impl RawRow {
    pub(super) fn columns(self, table: &'static str) -> Result<Object, StoreError> {
        stored(table, self.0)
    }

    /// Two of its columns.
    pub(super) fn pair<A: Column, B: Column>(
        self,
        table: &'static str,
        [first, second]: [&str; 2],
    ) -> Result<(A, B), StoreError> {
        let mut row = self.columns(table)?;
        Ok((take(table, &mut row, first)?, take(table, &mut row, second)?))
    }

    /// Its key, if that is a text.
    pub(super) fn key(&self) -> Option<String> {
        let Value::Object(columns) = &self.0 else { return None };
        let Some(Value::RecordId(RecordId { key: RecordIdKey::String(key), .. })) = columns.get("id") else {
            return None;
        };
        Some(key.clone())
    }
}

impl SurrealValue for RawRow {
    fn kind_of() -> ValueKind {
        ValueKind::Any
    }

    fn into_value(self) -> Value {
        self.0
    }

    fn from_value(value: Value) -> Result<Self, Error> {
        Ok(Self(value))
    }
}

/// The columns of a row, to be written.
pub(super) fn row_of(item: &impl Columns) -> Object {
    let mut row = Object::new();
    item.put_into(&mut row);
    row
}

/// A row to write whole, beside its id.
pub(super) fn put_row(id: RecordId, item: &impl Columns) -> Object {
    object! { id: id, row: row_of(item) }
}

/// A row to write whole that several writers may change, with the version that this writer read.
pub(super) fn put_next(id: RecordId, version: u64, row: Object) -> Object {
    object! { id: id, expect: signed(version), row: row }
}

/// A row with its id, as `INSERT` takes it.
pub(super) fn with_id(id: RecordId, mut row: Object) -> Object {
    row.insert("id", id);
    row
}

/// A value as SurrealDB's types have it.
pub(super) fn stored<S: SurrealValue>(table: &'static str, value: Value) -> Result<S, StoreError> {
    S::from_value(value).map_err(|error| StoreError::Row { table, reason: error.to_string() })
}

pub(super) fn put(row: &mut Object, name: &str, field: &impl Column) {
    row.insert(name, field.put());
}

pub(super) fn put_by<T, S: SurrealValue>(
    row: &mut Object,
    name: &str,
    field: &T,
    stored: impl FnOnce(&T) -> S,
) {
    row.insert(name, stored(field));
}

/// Takes a column out of a row. The error of one that cannot be read names it.
fn take_value<T>(
    table: &'static str,
    row: &mut Object,
    name: &str,
    read: impl FnOnce(Value) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    read(row.remove(name).unwrap_or_default()).map_err(|error| match error {
        StoreError::Row { reason, .. } => StoreError::Row { table, reason: format!("{name}: {reason}") },
        other => other,
    })
}

pub(super) fn take<T: Column>(table: &'static str, row: &mut Object, name: &str) -> Result<T, StoreError> {
    take_value(table, row, name, |value| T::read(table, value))
}

pub(super) fn take_stored<S: SurrealValue>(
    table: &'static str,
    row: &mut Object,
    name: &str,
) -> Result<S, StoreError> {
    take_value(table, row, name, |value| stored(table, value))
}

pub(super) fn take_by<T, S: SurrealValue>(
    table: &'static str,
    row: &mut Object,
    name: &str,
    read: impl FnOnce(S) -> T,
) -> Result<T, StoreError> {
    take_stored(table, row, name).map(read)
}

impl<T: Column> Column for Option<T> {
    fn put(&self) -> Value {
        self.as_ref().map_or(Value::None, T::put)
    }

    fn read(table: &'static str, value: Value) -> Result<Self, StoreError> {
        T::read_if_any(table, value)
    }
}

impl<T: Column> Column for Vec<T> {
    fn put(&self) -> Value {
        self.iter().map(T::put).collect::<Vec<Value>>().into_value()
    }

    fn read(table: &'static str, value: Value) -> Result<Self, StoreError> {
        stored::<Vec<Value>>(table, value)?.into_iter().map(|value| T::read(table, value)).collect()
    }
}

/// Values of the domain, each with what a column has for it and the ways there and back.
macro_rules! scalars {
    ($($type:ty as $stored:ty: $put:expr, $read:expr;)+) => {$(
        impl Column for $type {
            fn put(&self) -> Value {
                let put: fn(&Self) -> $stored = $put;
                put(self).into_value()
            }

            fn read(table: &'static str, value: Value) -> Result<Self, StoreError> {
                let read: fn(&'static str, $stored) -> Result<Self, StoreError> = $read;
                read(table, stored(table, value)?)
            }
        }
    )+};
}

scalars! {
    bool as bool: |it| *it, |_, it| Ok(it);
    u32 as i64: |it| i64::from(*it), |_, it| Ok(small(it));
    i64 as i64: |it| *it, |_, it| Ok(it);
    u64 as i64: |it| signed(*it), |_, it| Ok(unsigned(it));
    usize as i64: |it| signed(*it as u64), |_, it| Ok(size(it));
    f64 as f64: |it| *it, |_, it| Ok(it);
    String as String: Self::clone, |_, it| Ok(it);
    RedactedText as String: ToString::to_string, |_, it| Ok(held(it));
    Trigger as String: ToString::to_string, |_, it| Ok(Self::stored(held(it)));
    Timestamp as Datetime: |it| datetime(*it), |_, it| Ok(timestamp(it));
    Project as String: ToString::to_string, |table, it| project(table, &it);
    MemoryId as RecordId: memory_record, memory_id;
    SessionId as RecordId: session_record, session_id;
    WorkId as RecordId: work_record, work_id;
    ExchangeId as RecordId: history::exchange_record, |table, it| history::exchange_id(&key(table, it)?);
    Subject as RecordId: Self::record, |_, it| Self::of(it);
    RecordId as RecordId: Self::clone, |_, it| Ok(it);
    Vec<u8> as Bytes: |it| Bytes::from(it.clone()), |_, it| Ok(it.into_inner().into());
    Vec<f32> as Value: |it| packed::numbers(it).into_value(), packed::vector_in;
    Digest as String: |it| it.as_str().to_owned(), |table, it| {
        Self::parse(&it).ok_or_else(|| malformed(table, "digest", &it))
    };
    // Text that is not hex was not written by us: it matches no key, and no signature is valid over it.
    Mac as String: Self::hex, |_, it| Ok(Self::parse(&it).unwrap_or_default());
    [u8; 32] as String: |it| text::hex(it), |_, it| Ok(unhex(&it).unwrap_or_default());
    DocumentId as String: |it| it.key().to_owned(), |table, it| of_key(table, Self::of_key(&it), &it);
    ChunkId as String: |it| it.key().to_owned(), |table, it| of_key(table, Self::of_key(&it), &it);
}

fn of_key<T, E>(table: &'static str, id: Result<T, E>, key: &str) -> Result<T, StoreError> {
    id.map_err(|_| malformed(table, "id", key))
}

/// Values that are stored by name.
macro_rules! names {
    ($($type:ty,)+) => {$(
        impl Column for $type {
            fn put(&self) -> Value {
                self.as_str().into_value()
            }

            fn read(table: &'static str, value: Value) -> Result<Self, StoreError> {
                let name: String = stored(table, value)?;
                Self::parse(&name).ok_or_else(|| malformed(table, "name", &name))
            }

            fn read_if_any(table: &'static str, value: Value) -> Result<Option<Self>, StoreError> {
                Ok(stored::<Option<String>>(table, value)?.as_deref().and_then(Self::parse))
            }
        }
    )+};
}

names! {
    Action, AncestorKind, ArrangementState, CandidateState, ClaimKind, DistilState, EndReason, EventKind, Flag,
    Kind, Nature, Origin, Outcome, SessionOutcome, SourceState, Status, crate::CycleState, crate::JobKind,
    crate::JobState, crate::ModelState, crate::StepOutcome, crate::Why,
}

/// An edge whose only field is a time: its ends, and since when it is there.
impl<Start: Column, End: Column> Columns for (Start, End, Timestamp) {
    fn put_into(&self, row: &mut Object) {
        put(row, "in", &self.0);
        put(row, "out", &self.1);
        put(row, "at", &self.2);
    }

    fn take_from(row: &mut Object, table: &'static str) -> Result<Self, StoreError> {
        Ok((take(table, row, "in")?, take(table, row, "out")?, take(table, row, "at")?))
    }
}

nested! { impl<Start, End> for (Start, End, Timestamp) }

impl<Start: Column, End: Column> Row for (Start, End, Timestamp) {
    const TABLE: &'static str = "edge";

    fn from_row(row: RawRow) -> Result<Self, StoreError> {
        Self::take_from(&mut row.columns(Self::TABLE)?, Self::TABLE)
    }
}

impl Columns for Scope {
    fn put_into(&self, row: &mut Object) {
        row.insert("project", self.project_name());
        row.insert("scope", self.name().as_str());
    }

    fn take_from(row: &mut Object, table: &'static str) -> Result<Self, StoreError> {
        let name: String = take(table, row, "scope")?;
        let name = ScopeName::parse(&name).map_err(|_| malformed(table, "scope", &name))?;
        Ok(name.of(take(table, row, "project")?))
    }
}

columns! { Body { scope: flat, kind: "type", title, content, topic_key, tags } }

columns! { Validity { from: "valid_from", until: "valid_until" } }

// Origins and flags of a newer version are left out.
columns! {
    Taint { origin: or_default, flags: by(Column::put, flags) }
}

/// The flags of a text.
pub(super) fn flags(names: Option<Vec<String>>) -> Vec<Flag> {
    names.unwrap_or_default().iter().filter_map(|name| Flag::parse(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BeforeUnion, StepOutcome, StoredStep, tests::text};
    use cerebro_core::domain::{ItemChange, ItemOperation};
    use cerebro_core::truth::{Insight, Step};

    #[test]
    fn a_row_names_scope_and_project_and_older_rows_are_read() {
        let demo = || Scope::Project(Project::parse("demo").unwrap());
        let row = |project: &str, scope: &str| {
            let mut row = Object::new();
            row.insert("project", project);
            row.insert("scope", scope);
            row
        };
        let read = |mut row: Object| Scope::take_from(&mut row, "memory").unwrap();
        for (scope, project, name) in [(demo(), "demo", "project"), (Scope::Personal, "", "personal")] {
            assert_eq!(row_of(&scope), row(project, name));
            assert_eq!(read(row(project, name)), scope);
        }
        assert_eq!(read(row("demo", "personal")), Scope::Personal);
        assert_eq!(read(row("", "project")), Scope::Project(Project::general()));
    }

    #[test]
    fn a_part_of_a_row_is_read_as_it_was_written_and_may_be_missing() {
        let id = MemoryId::random;
        let step = Step { action: Action::Derive, memory: id(), version: 3, into: None, why: "w".to_owned() };
        let planned = StoredStep::planned(step, None);
        let (project, sources) = (Project::general(), vec![id(), id()]);
        let insight = Insight { project, title: text("Title"), text: text("Text"), sources };
        let before = BeforeUnion { tags: 2, duplicate_count: 1, last_seen_at: Timestamp::UNIX_EPOCH };
        let done = StoredStep {
            outcome: Some(StepOutcome::Done),
            after: Some(4),
            before: Some(before),
            insight: Some(insight),
            ..planned.clone()
        };
        let created = StoredStep { insight: done.insight.as_ref().map(Insight::emptied), ..done.clone() };
        let mut older = row_of(&created);
        assert!(older.remove("title").is_some() && older.remove("text").is_some(), "{older:?}");
        assert_eq!(StoredStep::read("cycle", Value::Object(older)).unwrap(), created);
        for step in [planned, done, created] {
            assert_eq!(StoredStep::read("cycle", step.put()).unwrap(), step);
        }
        for change in
            [ItemChange::Retire, ItemChange::Move { topic: text("topic") }, ItemChange::Merge { into: id() }]
        {
            let operation = ItemOperation { item: id(), change };
            assert_eq!(ItemOperation::read("arrangement", operation.put()).unwrap(), operation);
        }
    }

    #[test]
    fn an_unknown_name_is_none_where_a_column_may_be_empty_and_malformed_elsewhere() {
        let name = || "of a newer version".into_value();
        assert_eq!(Option::<Nature>::read("memory", name()).unwrap(), None);
        let error = EventKind::read("event", name()).unwrap_err();
        assert!(matches!(error, StoreError::Row { table: "event", .. }), "{error:?}");
    }
}
