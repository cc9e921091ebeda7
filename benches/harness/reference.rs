//! What Cerebro is compared with: the bare disk, and SQLite's full text in the same process.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use rusqlite::Connection;

use super::corpus::Note;

/// A file that is only appended to and synced: the least that a durable save can cost.
pub struct BareLog {
    file: File,
    record: Vec<u8>,
}

impl BareLog {
    /// Bytes of one record: about one memory of 100 words with its fields.
    const RECORD_BYTES: usize = 1_024;

    /// A new file in `folder`, on the file system under measurement.
    pub fn create(folder: &Path) -> Result<Self> {
        let file = File::create(folder.join("bare.log"))?;
        Ok(Self { file, record: vec![b'x'; Self::RECORD_BYTES] })
    }

    /// Milliseconds of one write with `fdatasync`.
    pub fn append_ms(&mut self) -> Result<f64> {
        let start = Instant::now();
        self.file.write_all(&self.record)?;
        self.file.sync_data()?;
        Ok(start.elapsed().as_secs_f64() * 1e3)
    }
}

/// SQLite FTS5 in memory: stemmed, any word, best first.
pub struct FullText {
    connection: Connection,
}

impl FullText {
    const QUERY: &str = "SELECT rowid FROM note WHERE note MATCH ?1 ORDER BY bm25(note) LIMIT 10";

    /// An index over the same notes.
    pub fn build(notes: &[Note]) -> Result<Self> {
        let mut connection = Connection::open_in_memory()?;
        connection
            .execute_batch("CREATE VIRTUAL TABLE note USING fts5(title, content, tokenize = 'porter')")?;
        let transaction = connection.transaction()?;
        {
            let mut insert = transaction.prepare("INSERT INTO note (title, content) VALUES (?1, ?2)")?;
            for note in notes {
                insert.execute((&note.title, &note.content))?;
            }
        }
        transaction.commit()?;
        connection.execute("INSERT INTO note(note) VALUES ('optimize')", ())?;
        Ok(Self { connection })
    }

    /// Milliseconds of one search for any of the words.
    pub fn search_ms(&self, query: &str) -> Result<f64> {
        let words: Vec<String> = query.split_whitespace().map(|word| format!("\"{word}\"")).collect();
        let any = words.join(" OR ");
        let start = Instant::now();
        let mut statement = self.connection.prepare_cached(Self::QUERY)?;
        let ids = statement.query_map([&any], |row| row.get::<_, i64>(0))?;
        let found = ids.collect::<rusqlite::Result<Vec<_>>>()?;
        std::hint::black_box(found);
        Ok(start.elapsed().as_secs_f64() * 1e3)
    }
}
