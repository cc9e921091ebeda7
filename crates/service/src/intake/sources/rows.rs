//! Sessions in an SQLite database that another program has open: those of OpenCode and of Cursor's IDE.
//!
//! It is opened read-only, with a wait for its writer, and never as immutable, because its last writes are in the log
//! beside it. If it stays locked, a private copy is read. Everything here blocks.

use std::{
    collections::HashMap,
    fmt::Write as _,
    fs::{self, File},
    io::{self, ErrorKind, Read as _},
    path::Path,
    time::Duration,
};

use rusqlite::{Connection, ErrorCode, OpenFlags, Row, params_from_iter, types::Value};

use super::{
    copied_rows,
    reading::Fault,
    walk::{open, with_suffix},
};
use cerebro_transcript::{
    Batch,
    cursor_ide::{self, BubbleRow},
    opencode::{EntryRow, MessageRow, PartRow, SessionRow, read_v1, read_v2},
};

/// How long a writer is waited for, each time that a database is opened. A transaction takes milliseconds; what is locked for
/// longer is copied.
const BUSY_MAX: Duration = Duration::from_millis(500);
/// A larger database is not copied.
const COPY_BYTES_MAX: u64 = 1 << 30;
/// A session with more text is not read, because a session is read as a whole.
const SESSION_BYTES_MAX: i64 = 96 << 20;
/// The files that SQLite opens beside a database, by what follows its name.
const COMPANIONS: [&str; 3] = ["-journal", "-wal", "-shm"];
/// Most sessions of one database.
const SESSIONS_MAX: usize = 100_000;

/// The tables of one generation of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Generation {
    /// `session`, `message` and `part`.
    One,
    /// `session_v2` (or `session`) and `session_message`. The tables of the first generation stay there, stale.
    Two,
    /// `cursorDiskKV` of Cursor's IDE. It also has other data, even keys: only two kinds of rows are read.
    Composers,
}

impl Generation {
    /// The tables of what was said in a session.
    const fn tables(self) -> &'static [&'static str] {
        match self {
            Self::One => &["message", "part"],
            Self::Two => &["session_message"],
            Self::Composers => &[],
        }
    }
}

/// A session, and a mark that changes when the session does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    pub id: String,
    /// Changes when the session does: its times and the number of its rows.
    pub watermark: String,
    /// Its folder.
    pub directory: Option<String>,
    /// When it changed last: microseconds since 1970.
    pub updated: Option<i64>,
    generation: Generation,
    /// Whether a person's words are among its rows, as far as the tables tell that.
    is_said: bool,
}

/// An open database.
pub struct Database {
    connection: Connection,
}

impl Database {
    /// Opens it, or a copy of it if it is locked.
    ///
    /// # Errors
    /// [`Fault`]; a database without the tables that are known is [`Fault::Unknown`].
    pub fn open(path: &Path) -> Result<Self, Fault> {
        // SQLite would create a missing file, and follow a link.
        drop(open(path)?);
        check_companions(path)?;
        let opened = Self::connect(path).and_then(|connection| {
            // A lock, or a log that cannot be shared, is noticed at the first read only.
            tables(&connection)?;
            Ok(Self { connection })
        });
        let database = match opened {
            Err(Fault::Database(error)) if is_busy(&error) => Self::copied(path)?,
            opened => opened?,
        };
        if database.generations()?.is_empty() {
            let words = "its tables are those of no version that is known".to_owned();
            return Err(Fault::Unknown(words));
        }
        Ok(database)
    }

    fn connect(path: &Path) -> Result<Connection, Fault> {
        let escaped: String = path
            .to_string_lossy()
            .chars()
            .map(|c| match c {
                '%' => "%25".to_owned(),
                '?' => "%3f".to_owned(),
                '#' => "%23".to_owned(),
                c => c.to_string(),
            })
            .collect();
        let flags =
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(format!("file:{escaped}?mode=ro"), flags)?;
        connection.busy_timeout(BUSY_MAX)?;
        connection.pragma_update(None, "query_only", true)?;
        Ok(connection)
    }

    /// A copy in a folder that only this user can enter. A copy that was torn by a writer fails SQLite's own checks.
    fn copied(path: &Path) -> Result<Self, Fault> {
        let folder = tempfile::Builder::new().prefix("cerebro-").tempdir()?;
        let copy = folder.path().join("copy.db");
        copy_of(path, &copy)?;
        match copy_of(&with_suffix(path, "-wal"), &with_suffix(&copy, "-wal")) {
            Err(Fault::Io(error)) if error.kind() == ErrorKind::NotFound => {}
            copied => copied?,
        }
        // The copy is ours, so SQLite may apply its log.
        let connection = Connection::open(&copy)?;
        tables(&connection)?;
        // All of its files are open now. Without names, a process that is killed leaves no copy behind.
        folder.close()?;
        Ok(Self { connection })
    }

    fn generations(&self) -> Result<Vec<Generation>, Fault> {
        let tables = tables(&self.connection)?;
        let has = |name: &str| tables.iter().any(|table| table == name);
        let mut found = Vec::new();
        if has("session_message") && (has("session_v2") || has("session")) {
            found.push(Generation::Two);
        }
        if has("session") && has("message") && has("part") {
            found.push(Generation::One);
        }
        if has("cursorDiskKV") {
            found.push(Generation::Composers);
        }
        Ok(found)
    }

    /// All sessions or only one, that which changed last first. One that both generations have is the later one's, unless that
    /// has only notes of it: versions between them wrote into both, and the words into the first.
    pub fn heads(&self, only: Option<&str>) -> Result<Vec<Head>, Fault> {
        let mut heads: HashMap<String, Head> = HashMap::new();
        for generation in self.generations()? {
            for head in self.heads_of(generation, only)? {
                let is_room = heads.len() < SESSIONS_MAX;
                if heads.get(&head.id).map_or(is_room, |later| !later.is_said) {
                    heads.insert(head.id.clone(), head);
                }
            }
        }
        let mut heads: Vec<Head> = heads.into_values().collect();
        heads.sort_by(|a, b| (b.updated, &b.id).cmp(&(a.updated, &a.id)));
        Ok(heads)
    }

    fn heads_of(&self, generation: Generation, only: Option<&str>) -> Result<Vec<Head>, Fault> {
        if generation == Generation::Composers {
            return self.composers(only);
        }
        // SQLite keeps any type in any column, and a text sorts after every number.
        let (of_session, own) = match only {
            Some(_) => ("session_id = ?1", "id = ?1"),
            None => ("typeof(session_id) = 'text'", "1"),
        };
        let mut marks: HashMap<String, (String, bool)> = HashMap::new();
        let said = if generation == Generation::Two { "max(type IN ('user', 'shell'))" } else { "1" };
        for table in generation.tables() {
            let table = self.with_session(table)?;
            let updated = self.latest_column(table)?;
            let query = format!(
                "SELECT session_id, count(*), max(CAST({updated} AS INTEGER)), {said} FROM {table} \
                 WHERE {of_session} GROUP BY session_id"
            );
            let mut statement = self.connection.prepare(&query)?;
            let mut rows = statement.query(params_from_iter(only))?;
            while let Some(row) = rows.next()? {
                let (id, count): (String, i64) = (row.get(0)?, row.get(1)?);
                let at: Option<i64> = row.get(2)?;
                let (mark, is_said) = marks.entry(id).or_default();
                *is_said |= row.get::<_, Option<bool>>(3)?.unwrap_or_default();
                // Writing into a text cannot fail.
                let _ = write!(mark, "{count}@{} ", at.unwrap_or_default());
            }
        }
        let table = self.session_table(generation)?;
        let mut statement = self.connection.prepare(&format!("SELECT * FROM {table} WHERE {own}"))?;
        let columns = names(&statement);
        let mut rows = statement.query(params_from_iter(only))?;
        let mut heads = Vec::new();
        while let Some(row) = rows.next()? {
            let fields = Fields { row, columns: &columns };
            let Some(id) = fields.text("id") else { continue };
            // Sessions of 2.x only have entries of 2.x.
            let Some((mark, is_said)) = marks.get(&id) else { continue };
            let own = fields.number("time_updated");
            let updated = own.map(|at| at.saturating_mul(1_000));
            let own = own.unwrap_or_default();
            let watermark = format!("{generation:?} {own} {}", mark.trim_end());
            let directory = fields.text("directory");
            heads.push(Head { id, watermark, directory, updated, generation, is_said: *is_said });
        }
        Ok(heads)
    }

    /// The sessions of Cursor's IDE. Their folders are in their bubbles.
    fn composers(&self, only: Option<&str>) -> Result<Vec<Head>, Fault> {
        let query = "SELECT key, length(value), CASE WHEN json_valid(CAST(value AS TEXT)) \
                     THEN json_extract(CAST(value AS TEXT), '$.lastUpdatedAt') END \
                     FROM cursorDiskKV WHERE key >= ?1 AND key <= ?2 LIMIT ?3";
        let first = format!("composerData:{}", only.unwrap_or_default());
        let last = only.map_or("composerData;", |_| first.as_str());
        let mut statement = self.connection.prepare(query)?;
        let mut rows = statement.query((&first, last, i64::try_from(SESSIONS_MAX).unwrap_or(i64::MAX)))?;
        let mut heads = Vec::new();
        while let Some(row) = rows.next()? {
            let (key, length): (String, Option<i64>) = (row.get(0)?, row.get(1)?);
            let updated: Option<i64> = row.get(2).unwrap_or_default();
            let Some(id) = key.strip_prefix("composerData:").filter(|id| !id.is_empty()) else { continue };
            heads.push(Head {
                id: id.to_owned(),
                watermark: format!(
                    "Composers {} {}",
                    updated.unwrap_or_default(),
                    length.unwrap_or_default()
                ),
                directory: None,
                updated: updated.map(|at| at.saturating_mul(1_000)),
                generation: Generation::Composers,
                is_said: true,
            });
        }
        Ok(heads)
    }

    fn composer(&self, id: &str) -> Result<Batch, Fault> {
        let (from, until) = (format!("bubbleId:{id}:"), format!("bubbleId:{id};"));
        let bytes: Option<i64> = self.connection.query_row(
            "SELECT sum(octet_length(value)) FROM cursorDiskKV WHERE key >= ?1 AND key < ?2",
            [&from, &until],
            |row| row.get(0),
        )?;
        within_bounds(bytes.unwrap_or_default())?;
        let text = "SELECT CAST(value AS TEXT) FROM cursorDiskKV WHERE key = ?1";
        let data: Option<String> =
            self.connection.query_row(text, [format!("composerData:{id}")], |row| row.get(0))?;
        let bubbles = "SELECT key, CAST(value AS TEXT) FROM cursorDiskKV WHERE key >= ?1 AND key < ?2";
        let mut statement = self.connection.prepare(bubbles)?;
        let mut rows = statement.query([&from, &until])?;
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            let (key, data): (String, Option<String>) = (row.get(0)?, row.get(1)?);
            let id = key[from.len()..].to_owned();
            all.push(BubbleRow { id, data: data.unwrap_or_default() });
        }
        Ok(cursor_ide::read(id, &data.unwrap_or_default(), &all))
    }

    fn session_table(&self, generation: Generation) -> Result<&'static str, Fault> {
        let has_second = tables(&self.connection)?.iter().any(|table| table == "session_v2");
        Ok(if generation == Generation::Two && has_second { "session_v2" } else { "session" })
    }

    /// The column of a table with the time of a row's last change.
    fn latest_column(&self, table: &str) -> Result<&'static str, Fault> {
        for name in ["time_updated", "time_created"] {
            if self.has_column(table, name)? {
                return Ok(name);
            }
        }
        Ok("0")
    }

    /// A table whose rows name their session: parts may name only their message.
    fn with_session(&self, table: &'static str) -> Result<&'static str, Fault> {
        if table != "part" || self.has_column(table, "session_id")? {
            return Ok(table);
        }
        Ok("(SELECT part.*, message.session_id FROM part JOIN message ON message.id = part.message_id)")
    }

    fn has_column(&self, table: &str, name: &str) -> Result<bool, Fault> {
        let statement = self.connection.prepare(&format!("SELECT * FROM {table} LIMIT 0"))?;
        Ok(names(&statement).iter().any(|column| column == name))
    }

    /// Reads a session as of one moment.
    pub fn session(&self, head: &Head) -> Result<Batch, Fault> {
        let moment = self.connection.unchecked_transaction()?;
        let batch = match head.generation {
            Generation::One => self.first(head)?,
            Generation::Two => self.second(head)?,
            Generation::Composers => self.composer(&head.id)?,
        };
        drop(moment);
        Ok(batch)
    }

    fn session_row(&self, head: &Head) -> Result<SessionRow, Fault> {
        let table = self.session_table(head.generation)?;
        let query = format!("SELECT * FROM {table} WHERE id = ?1");
        let sessions = self.rows(&query, &head.id, |row| SessionRow {
            id: row.text("id").unwrap_or_default(),
            parent: row.text("parent_id"),
            forked_from: row.text("fork_session_id"),
            directory: row.text("directory"),
            title: row.text("title"),
            version: row.text("version"),
            revert: row.text("revert"),
            created_ms: row.number("time_created"),
            updated_ms: row.number("time_updated"),
        })?;
        sessions.into_iter().next().ok_or_else(|| Fault::Unknown("the session has gone".to_owned()))
    }

    fn first(&self, head: &Head) -> Result<Batch, Fault> {
        self.check_size("message", &head.id)?;
        self.check_size("part", &head.id)?;
        let query = "SELECT * FROM message WHERE session_id = ?1 ORDER BY time_created, id";
        let messages = self.rows(query, &head.id, |row| MessageRow {
            id: row.text("id").unwrap_or_default(),
            created_ms: row.number("time_created"),
            data: row.text("data").unwrap_or_default(),
        })?;
        let query = format!(
            "SELECT * FROM {} WHERE session_id = ?1 ORDER BY message_id, id",
            self.with_session("part")?
        );
        let parts = self.rows(&query, &head.id, |row| PartRow {
            message: row.text("message_id").unwrap_or_default(),
            data: row.text("data").unwrap_or_default(),
        })?;
        let session = self.session_row(head)?;
        let (session, messages, parts) = copied_rows::renamed(&self.connection, session, messages, parts)?;
        Ok(read_v1(&session, &messages, &parts))
    }

    fn second(&self, head: &Head) -> Result<Batch, Fault> {
        self.check_size("session_message", &head.id)?;
        // Its first versions did not number the rows.
        let seq = if self.has_column("session_message", "seq")? { "seq, " } else { "" };
        let query =
            format!("SELECT * FROM session_message WHERE session_id = ?1 ORDER BY {seq}time_created, id");
        let entries = self.rows(&query, &head.id, |row| EntryRow {
            id: row.text("id").unwrap_or_default(),
            kind: row.text("type").unwrap_or_default(),
            created_ms: row.number("time_created"),
            data: row.text("data").unwrap_or_default(),
        })?;
        Ok(read_v2(&self.session_row(head)?, &entries))
    }

    /// How much text a session has.
    pub fn size_of(&self, head: &Head) -> Result<u64, Fault> {
        let mut bytes = 0;
        for table in head.generation.tables() {
            bytes += self.bytes_of(table, &head.id)?.unsigned_abs();
        }
        Ok(bytes)
    }

    fn bytes_of(&self, table: &'static str, session: &str) -> Result<i64, Fault> {
        let table = self.with_session(table)?;
        // Unlike `length`, this does not read the text: a single one may have gigabytes.
        let query = format!("SELECT sum(octet_length(data)) FROM {table} WHERE session_id = ?1");
        let bytes: Option<i64> = self.connection.query_row(&query, [session], |row| row.get(0))?;
        Ok(bytes.unwrap_or_default())
    }

    fn check_size(&self, table: &'static str, session: &str) -> Result<(), Fault> {
        within_bounds(self.bytes_of(table, session)?)
    }

    fn rows<T>(
        &self,
        query: &str,
        session: &str,
        read: impl Fn(&Fields<'_, '_>) -> T,
    ) -> Result<Vec<T>, Fault> {
        let mut statement = self.connection.prepare(query)?;
        let columns = names(&statement);
        let mut rows = statement.query([session])?;
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            all.push(read(&Fields { row, columns: &columns }));
        }
        Ok(all)
    }
}

/// Checks that what SQLite would open beside a database are files: it would wait for the other end of a pipe, for ever.
/// The path must have no links, because SQLite follows them first.
///
/// # Errors
/// Names what is no file.
pub fn check_companions(path: &Path) -> io::Result<()> {
    for suffix in COMPANIONS {
        match fs::symlink_metadata(with_suffix(path, suffix)) {
            Ok(metadata) if metadata.is_file() => {}
            Ok(_) => {
                let words = format!("what stands beside it with `{suffix}` after its name is no file");
                return Err(io::Error::new(ErrorKind::InvalidInput, words));
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Copies a file that is one and no link, up to [`COPY_BYTES_MAX`].
fn copy_of(path: &Path, copy: &Path) -> Result<(), Fault> {
    let from = open(path)?;
    let size = from.metadata()?.len();
    if size > COPY_BYTES_MAX {
        return Err(Fault::TooLarge(size, COPY_BYTES_MAX));
    }
    io::copy(&mut from.take(COPY_BYTES_MAX), &mut File::create_new(copy)?)?;
    Ok(())
}

fn within_bounds(bytes: i64) -> Result<(), Fault> {
    if bytes > SESSION_BYTES_MAX {
        return Err(Fault::TooLarge(bytes.unsigned_abs(), SESSION_BYTES_MAX.unsigned_abs()));
    }
    Ok(())
}

/// Why a database is not read.
pub(super) fn in_words(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqlInputError { msg, .. } => {
            format!("its tables are not those of a version that is known ({msg})")
        }
        error if is_busy(error) => "another program keeps its database locked".to_owned(),
        error => format!("its database cannot be read: {error}"),
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(code, Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::CannotOpen))
}

fn tables(connection: &Connection) -> Result<Vec<String>, Fault> {
    let mut statement = connection.prepare("SELECT name FROM sqlite_master WHERE type = 'table'")?;
    let names = statement.query_map([], |row| row.get(0))?.collect::<Result<Vec<String>, _>>()?;
    Ok(names)
}

fn names(statement: &rusqlite::Statement<'_>) -> Vec<String> {
    statement.column_names().into_iter().map(str::to_owned).collect()
}

/// A row that may lack columns.
struct Fields<'row, 'names> {
    row: &'row Row<'row>,
    columns: &'names [String],
}

impl Fields<'_, '_> {
    fn value(&self, name: &str) -> Option<Value> {
        let at = self.columns.iter().position(|column| column == name)?;
        self.row.get(at).ok()
    }

    fn text(&self, name: &str) -> Option<String> {
        match self.value(name)? {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    fn number(&self, name: &str) -> Option<i64> {
        match self.value(name)? {
            Value::Integer(number) => Some(number),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "
        CREATE TABLE session (id TEXT PRIMARY KEY, directory TEXT, title TEXT, time_created INT, time_updated INT);
        CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INT, time_updated INT, data TEXT);
        CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INT, time_updated INT,
            data TEXT);
        INSERT INTO session VALUES ('s', '/w', 'Mend it', 1, 2);
        INSERT INTO message VALUES ('m1', 's', 1, 1, '{\"role\":\"user\"}');
        INSERT INTO part VALUES ('p1', 'm1', 's', 1, 1, '{\"type\":\"text\",\"text\":\"mend it\"}');";
    const SECOND: &str = "
        CREATE TABLE session_v2 (id TEXT PRIMARY KEY, directory TEXT, time_created INT, time_updated INT);
        CREATE TABLE session_message (id TEXT PRIMARY KEY, session_id TEXT, type TEXT, seq INT, time_created INT,
            time_updated INT, data TEXT);
        INSERT INTO session_v2 VALUES ('s', '/w', 1, 3);
        INSERT INTO session_message VALUES ('e1', 's', 'user', 1, 1, 1, '{\"text\":\"mend it now\"}');";

    fn prompts(batch: &Batch) -> Vec<String> {
        let prompts = batch.exchanges.iter().filter_map(|exchange| exchange.prompt.as_ref());
        prompts.map(|prompt| prompt.text.clone()).collect()
    }

    #[test]
    fn both_generations_are_read_and_the_later_one_wins() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("open code?#%.db");
        let writer = Connection::open(&path).unwrap();
        writer.pragma_update(None, "journal_mode", "wal").unwrap();
        writer.execute_batch(FIRST).unwrap();
        let database = Database::open(&path).unwrap();
        let heads = database.heads(None).unwrap();
        assert_eq!(heads.len(), 1);
        assert_eq!(prompts(&database.session(&heads[0]).unwrap()), ["mend it"]);

        writer.execute_batch("UPDATE part SET time_updated = 9").unwrap();
        let changed = database.heads(None).unwrap();
        assert_ne!(changed[0].watermark, heads[0].watermark, "a part changed in place");
        let odd = "INSERT INTO part VALUES ('p2', 'm1', 's', 1, 'x', NULL), ('p3', 'm1', NULL, 1, 1, '')";
        writer.execute_batch(odd).unwrap();
        assert_eq!(prompts(&database.session(&database.heads(None).unwrap()[0]).unwrap()), ["mend it"]);

        writer.execute_batch(SECOND).unwrap();
        let heads = database.heads(None).unwrap();
        assert_eq!(heads.len(), 1);
        assert_eq!(prompts(&database.session(&heads[0]).unwrap()), ["mend it now"]);
        assert!(database.connection.execute("DELETE FROM session", []).is_err(), "it is only read");
    }

    #[test]
    fn one_session_is_found_alone_and_parts_may_name_only_their_message() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("opencode.db");
        let writer = Connection::open(&path).unwrap();
        let more = "
            INSERT INTO session VALUES ('t', '/w', 'Another', 1, 9);
            INSERT INTO message VALUES ('m2', 't', 1, 1, '{\"role\":\"user\"}');
            INSERT INTO part VALUES ('p2', 'm2', 't', 1, 1, '{\"type\":\"text\",\"text\":\"another\"}');";
        writer.execute_batch(&format!("{FIRST}{more}")).unwrap();
        let database = Database::open(&path).unwrap();
        for change in
            ["", "ALTER TABLE part DROP COLUMN session_id", "ALTER TABLE part DROP COLUMN time_updated"]
        {
            writer.execute_batch(change).unwrap();
            let all = database.heads(None).unwrap();
            let ids: Vec<&str> = all.iter().map(|head| head.id.as_str()).collect();
            assert_eq!(ids, ["t", "s"], "the newest first");
            assert_eq!(database.heads(Some("s")).unwrap(), all[1..]);
            assert_eq!(prompts(&database.session(&all[1]).unwrap()), ["mend it"], "{change}");
            assert!(database.size_of(&all[1]).unwrap() > 0);
        }
        assert!(database.heads(Some("u")).unwrap().is_empty());
    }

    #[test]
    fn the_text_of_a_session_is_measured_in_bytes() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("opencode.db");
        let writer = Connection::open(&path).unwrap();
        writer.execute_batch(FIRST).unwrap();
        let database = Database::open(&path).unwrap();
        let head = database.heads(None).unwrap().remove(0);
        let before = database.size_of(&head).unwrap();
        let more = "INSERT INTO part VALUES ('p2', 'm1', 's', 1, 1, 'é'), ('p3', 'm1', 's', 1, 1, x'00ff00'),
            ('p4', 'm1', 's', 1, 1, NULL)";
        writer.execute_batch(more).unwrap();
        assert_eq!(database.size_of(&head).unwrap(), before + 5);
    }

    #[test]
    fn one_session_of_cursors_ide_is_found_alone() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("state.vscdb");
        let rows = "
            CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);
            INSERT INTO cursorDiskKV VALUES ('composerData:c1', '{\"lastUpdatedAt\":1}');
            INSERT INTO cursorDiskKV VALUES ('composerData:c11', '{}'), ('composerData;', '{}');";
        Connection::open(&path).unwrap().execute_batch(rows).unwrap();
        let database = Database::open(&path).unwrap();
        let all = database.heads(None).unwrap();
        let ids: Vec<&str> = all.iter().map(|head| head.id.as_str()).collect();
        assert_eq!(ids, ["c1", "c11"]);
        assert_eq!(database.heads(Some("c1")).unwrap(), all[..1]);
        assert!(database.heads(Some("c")).unwrap().is_empty());
    }

    #[test]
    fn a_version_between_the_generations_keeps_its_words() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("opencode.db");
        let writer = Connection::open(&path).unwrap();
        writer.execute_batch(FIRST).unwrap();
        let between = "
            CREATE TABLE session_message (id TEXT PRIMARY KEY, session_id TEXT, type TEXT, time_created INT,
                time_updated INT, data TEXT);
            INSERT INTO session_message VALUES ('e1', 's', 'model-switched', 1, 1, '{}');";
        writer.execute_batch(between).unwrap();
        let database = Database::open(&path).unwrap();
        let heads = database.heads(None).unwrap();
        assert_eq!(heads.len(), 1);
        assert_eq!(prompts(&database.session(&heads[0]).unwrap()), ["mend it"]);
        // As soon as it writes the words there, these count, in the order of their times.
        let later = "
            INSERT INTO session_message VALUES ('e3', 's', 'user', 3, 3, '{\"text\":\"and this\"}');
            INSERT INTO session_message VALUES ('e2', 's', 'user', 2, 2, '{\"text\":\"mend it\"}');";
        writer.execute_batch(later).unwrap();
        let heads = database.heads(None).unwrap();
        assert_eq!(prompts(&database.session(&heads[0]).unwrap()), ["mend it", "and this"]);
    }

    #[test]
    fn a_locked_database_is_read_from_a_copy() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("opencode.db");
        let writer = Connection::open(&path).unwrap();
        writer.execute_batch(FIRST).unwrap();
        writer.execute_batch("BEGIN EXCLUSIVE; UPDATE session SET title = 'x'").unwrap();
        let database = Database::open(&path).unwrap();
        let heads = database.heads(None).unwrap();
        assert_eq!(prompts(&database.session(&heads[0]).unwrap()), ["mend it"]);
        // A log that is a pipe is not waited for.
        let pipe = with_suffix(&path, "-wal");
        assert!(std::process::Command::new("mkfifo").arg(pipe).status().unwrap().success());
        assert!(matches!(Database::copied(&path), Err(Fault::Io(_))));
    }

    #[test]
    fn a_pipe_or_link_beside_a_database_is_not_opened() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("opencode.db");
        Connection::open(&path).unwrap().execute_batch(FIRST).unwrap();
        for suffix in COMPANIONS {
            let beside = with_suffix(&path, suffix);
            assert!(std::process::Command::new("mkfifo").arg(&beside).status().unwrap().success());
            let refused = Database::open(&path).err().unwrap();
            assert!(refused.to_string().contains(suffix), "{refused}");
            fs::remove_file(&beside).unwrap();
            std::os::unix::fs::symlink("/dev/zero", &beside).unwrap();
            assert!(matches!(Database::open(&path), Err(Fault::Io(_))), "{suffix}");
            fs::remove_file(&beside).unwrap();
        }
        assert_eq!(Database::open(&path).unwrap().heads(None).unwrap().len(), 1);
    }

    #[test]
    fn a_file_of_another_program_is_named_as_such() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("other.db");
        Connection::open(&path).unwrap().execute_batch("CREATE TABLE t (a)").unwrap();
        let refused = Database::open(&path).err().unwrap();
        assert!(refused.to_string().contains("no version that is known"), "{refused}");
        let older = Connection::open(&path).unwrap();
        let refused = older.prepare("SELECT session_id FROM t").err().unwrap();
        let words = in_words(&refused);
        assert!(words.contains("no such column") && !words.contains("SELECT"), "{words}");
        std::fs::write(temp.path().join("no.db"), "text, and no database at all").unwrap();
        assert!(matches!(Database::open(&temp.path().join("no.db")), Err(Fault::Database(_))));
        assert!(matches!(Database::open(&temp.path().join("missing.db")), Err(Fault::Io(_))));
        assert!(!temp.path().join("missing.db").exists());
    }
}
