//! Rows of a SQLite file of which only some columns are certain to exist.

use std::collections::HashMap;
use std::path::Path;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags};

use super::{ForeignError, Source, open};
use cerebro_service::check_companions;

/// A file that is only read.
pub struct Reader<'a> {
    path: &'a Path,
    source: Source,
    db: Connection,
}

impl<'a> Reader<'a> {
    /// Opens the file and checks that it holds the tables.
    pub fn open(path: &'a Path, source: Source, tables: &[&str]) -> Result<Self, ForeignError> {
        drop(open(path)?);
        let checked = path.canonicalize().and_then(|whole| check_companions(&whole));
        checked.map_err(|source| ForeignError::Io { path: path.to_path_buf(), source })?;
        // Not "immutable": the other program may be running, and its last writes be in the log beside.
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let fault = |source| ForeignError::Sqlite { path: path.to_path_buf(), source };
        let db = Connection::open_with_flags(path, flags).map_err(fault)?;
        let reader = Self { path, source, db };
        for table in tables {
            if !reader.has(table)? {
                let reason = format!("it has no table `{table}`");
                let (path, program) = (path.to_path_buf(), source.as_str());
                return Err(ForeignError::Other { path, program, reason });
            }
        }
        Ok(reader)
    }

    fn has(&self, table: &str) -> Result<bool, ForeignError> {
        let query = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?1";
        let count: i64 = self.db.query_row(query, [table], |row| row.get(0)).map_err(|e| self.fault(e))?;
        Ok(count > 0)
    }

    fn fault(&self, source: rusqlite::Error) -> ForeignError {
        ForeignError::Sqlite { path: self.path.to_path_buf(), source }
    }

    /// All rows of a table in the order in which they were written; none if there is no such table.
    pub fn rows(&self, table: &'static str) -> Result<Vec<Row>, ForeignError> {
        if !self.has(table)? {
            return Ok(Vec::new());
        }
        let query = format!("SELECT * FROM {table} ORDER BY rowid");
        let mut statement = self.db.prepare(&query).map_err(|e| self.fault(e))?;
        let names: Vec<String> = statement.column_names().into_iter().map(str::to_owned).collect();
        let read = |row: &rusqlite::Row<'_>| {
            names.iter().enumerate().map(|(at, name)| Ok((name.clone(), row.get(at)?))).collect()
        };
        let rows = statement.query_map([], read).map_err(|e| self.fault(e))?;
        rows.map(|row| row.map(Row).map_err(|e| self.fault(e))).collect()
    }

    /// The program that the file belongs to.
    pub fn source(&self) -> Source {
        self.source
    }
}

/// A row by the names of its columns.
#[derive(Debug)]
pub struct Row(HashMap<String, Value>);

impl Row {
    /// A text that is present and not blank.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.0.get(name) {
            Some(Value::Text(text)) if !text.trim().is_empty() => Some(text),
            _ => None,
        }
    }

    /// A whole number.
    pub fn number(&self, name: &str) -> Option<i64> {
        match self.0.get(name) {
            Some(Value::Integer(number)) => Some(*number),
            _ => None,
        }
    }

    /// A moment in SQLite's form, in UTC, or in RFC 3339.
    pub fn moment(&self, name: &str) -> Option<Timestamp> {
        let text = self.text(name)?.trim();
        text.parse::<Timestamp>()
            .ok()
            .or_else(|| text.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok().map(|at| at.timestamp()))
    }

    /// A moment in milliseconds since 1970.
    pub fn epoch(&self, name: &str) -> Option<Timestamp> {
        Timestamp::from_millisecond(self.number(name)?).ok()
    }

    /// A list of texts in JSON; any other text is a list of one.
    pub fn list(&self, name: &str) -> Vec<String> {
        let Some(text) = self.text(name) else { return Vec::new() };
        serde_json::from_str::<Vec<String>>(text).unwrap_or_else(|_| vec![text.to_owned()])
    }
}
