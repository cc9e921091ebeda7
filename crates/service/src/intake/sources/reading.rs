//! One file of sessions, read piece by piece: from where the last reading ended, or from its beginning.
//!
//! Everything here blocks. A piece is bounded by what is read at once, and by nothing else.

use std::{
    fs::File,
    io::{Read, Seek, SeekFrom},
    os::unix::fs::FileExt,
    path::Path,
};

use jiff::SignedDuration;
use sha2::{Digest, Sha256};

use super::{
    folders::Form,
    tree,
    walk::{self, Found, Stat},
};
use cerebro_core::{domain::Timestamp, text::hex};
use cerebro_transcript::{
    Batch, Counts, Exchange, State, cursor as cursor_cli, gemini_cli, limits::LINE_BYTES_MAX, read,
    read_to_end,
};

/// A longer file is not read.
pub const FILE_BYTES_MAX: u64 = 2 << 30;
/// A longer file is not read where it must be read whole.
pub const WHOLE_BYTES_MAX: u64 = 96 << 20;
/// How much is read at once, while no record needs more.
const PIECE_BYTES: usize = 6 << 20;
/// The most that is read at once: an exchange as long as it may be in its source, and one more line
/// ([`EXCHANGE_SPAN_MAX`](cerebro_transcript::limits::EXCHANGE_SPAN_MAX)).
const PIECE_BYTES_MAX: usize = 2 * LINE_BYTES_MAX + PIECE_BYTES;
/// How many bytes of a file's beginning, and before the position where reading continues, are compared.
const EDGE_BYTES: u64 = 4 << 10;
/// A file that was not written to for this long counts as finished: what is half-written at its end is not waited for.
const SETTLED_AFTER: SignedDuration = SignedDuration::from_secs(60);

/// What is said of [`Fault::Foreign`].
pub const FOREIGN: &str = "nothing in it could be understood";

/// The cursor: how far a file was read, and its state then. The store keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    /// The reader's own state.
    pub state: State,
    /// The state of the file when it was opened. While a record at its end may be half-written, the size is that of the
    /// complete records, so that the next scan does not take the file for unchanged.
    pub stat: Stat,
    /// The digest of the first bytes.
    pub head: String,
    /// The digest of the bytes before `state.offset`.
    pub edge: String,
}

/// Why a file is not read.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The system's error.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// What it is packed in is damaged or cut.
    #[error("it cannot be unpacked ({0})")]
    Packed(std::io::Error),
    /// It is too long.
    #[error("it has {0} bytes, and at most {1} are read")]
    TooLarge(u64, u64),
    /// Records that belong together do not end.
    #[error("records that belong together are longer than the {} MiB that are read at once", PIECE_BYTES_MAX >> 20)]
    Endless,
    /// It became shorter while it was read. The next scan begins again.
    #[error("it became shorter while it was read")]
    Shrunk,
    /// Its database's error.
    #[error("{}", super::rows::in_words(.0))]
    Database(#[from] rusqlite::Error),
    /// It is of a version that is not known.
    #[error("{0}")]
    Unknown(String),
    /// It has a name as the agent gives it, but not what the agent writes.
    #[error("{FOREIGN}")]
    Foreign,
}

/// The result of one step of reading.
#[derive(Debug)]
pub struct Piece {
    /// The exchanges and the session, not redacted yet.
    pub batch: Batch,
    /// Where the next step, or the next reading, goes on.
    pub cursor: Cursor,
    /// There is no next step.
    pub is_last: bool,
    /// How many bytes of the file this step read.
    pub bytes: u64,
}

/// A file that is being read.
pub struct Reading {
    found: Found,
    file: File,
    stat: Stat,
    /// Whether nobody will complete its last line.
    is_settled: bool,
    /// When it was created, if its disk records that; microseconds since 1970.
    born: i64,
    source: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    /// Where the buffer begins in the file, or in what is unpacked.
    base: u64,
    ended: bool,
    restarted: bool,
    cursor: Cursor,
}

/// Reads a whole file that is small by nature.
pub fn small(path: &Path) -> Result<Vec<u8>, Fault> {
    let file = walk::open(path)?;
    let size = file.metadata()?.len();
    if size > WHOLE_BYTES_MAX {
        return Err(Fault::TooLarge(size, WHOLE_BYTES_MAX));
    }
    let mut bytes = Vec::new();
    file.take(WHOLE_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Whether a file has text of which nothing was understood. While it is written, that may be the half of its first record.
/// `left` is the text that is not among what was counted.
pub fn is_foreign(counts: &Counts, left: &[u8]) -> bool {
    let is_blank = *counts == Counts::default() && left.trim_ascii().is_empty();
    counts.is_gibberish() && !is_blank
}

/// Whether, at a moment, a file was not written to for a while.
pub fn is_settled(stat: &Stat, now: Timestamp) -> bool {
    let written = Timestamp::from_microsecond(stat.mtime).unwrap_or(Timestamp::UNIX_EPOCH);
    now.duration_since(written) >= SETTLED_AFTER
}

impl Reading {
    /// Opens a file at a moment and decides whether reading continues at `cursor`. `None` if there is nothing new.
    pub fn open(found: Found, cursor: Option<Cursor>, now: Timestamp) -> Result<Option<Self>, Fault> {
        let file = walk::open(&found.path)?;
        let metadata = file.metadata()?;
        let stat = Stat::from(&metadata);
        if cursor.as_ref().is_some_and(|cursor| cursor.stat == stat) {
            return Ok(None);
        }
        let most = if matches!(found.form, Form::Whole | Form::Text | Form::Tree) {
            WHOLE_BYTES_MAX
        } else {
            FILE_BYTES_MAX
        };
        if stat.size > most {
            return Err(Fault::TooLarge(stat.size, most));
        }
        let continued = match cursor {
            Some(cursor) if found.form == Form::Lines && goes_on(&file, &stat, &cursor)? => Some(cursor),
            _ => None,
        };
        let restarted = continued.is_none();
        let cursor = continued.unwrap_or_else(|| Cursor {
            state: found.state(),
            stat,
            head: String::new(),
            edge: String::new(),
        });
        let cursor = Cursor { stat, ..cursor };
        let mut source = file.try_clone()?;
        source.seek(SeekFrom::Start(cursor.state.offset))?;
        // A compressed file was written as a whole.
        let is_settled = found.form == Form::Packed || is_settled(&stat, now);
        let source: Box<dyn Read + Send> = match found.form {
            Form::Packed => Box::new(zstd::stream::read::Decoder::new(source)?.take(FILE_BYTES_MAX)),
            // Bytes that are appended meanwhile are for the next reading.
            _ => Box::new(source.take(stat.size - cursor.state.offset)),
        };
        let base = cursor.state.offset;
        Ok(Some(Self {
            found,
            file,
            stat,
            is_settled,
            born: walk::made(&metadata).unwrap_or(stat.mtime).min(stat.mtime),
            source,
            buffer: Vec::new(),
            base,
            ended: false,
            restarted,
            cursor,
        }))
    }

    /// Reads all exchanges of a file.
    ///
    /// # Errors
    /// [`Fault`]
    pub fn each_exchange(found: Found, now: Timestamp, mut each: impl FnMut(Exchange)) -> Result<(), Fault> {
        let Some(mut reading) = Self::open(found, None, now)? else { return Ok(()) };
        loop {
            let piece = reading.step()?;
            piece.batch.exchanges.into_iter().for_each(&mut each);
            if piece.is_last {
                return Ok(());
            }
        }
    }

    /// Whether it is read from its beginning, and replaces what came from it before.
    pub fn restarted(&self) -> bool {
        self.restarted
    }

    /// About how many bytes the next step reads.
    pub fn next_bytes(&self) -> u64 {
        let piece = PIECE_BYTES as u64;
        // The size of a packed file does not say how much is in it.
        let left =
            if self.found.form == Form::Packed { piece } else { self.stat.size.saturating_sub(self.base) };
        left.min(piece)
    }

    /// Reads the next piece.
    pub fn step(&mut self) -> Result<Piece, Fault> {
        match self.found.form {
            Form::Lines | Form::Packed => self.step_of_lines(),
            _ => self.whole(),
        }
    }

    fn step_of_lines(&mut self) -> Result<Piece, Fault> {
        let mut want = PIECE_BYTES;
        loop {
            self.fill(want)?;
            let state = &self.cursor.state;
            let batch = if self.ended { read_to_end(&self.buffer, state) } else { read(&self.buffer, state) };
            let forward = batch.state.offset.saturating_sub(self.base);
            if !self.ended && forward == 0 {
                // The exchange is longer than what was read.
                if want >= PIECE_BYTES_MAX {
                    return Err(Fault::Endless);
                }
                want = (want * 4).min(PIECE_BYTES_MAX);
                continue;
            }
            let read_to = self.base + self.buffer.len() as u64;
            let is_unfinished = !self.is_settled && batch.end < read_to;
            // The next scan does the same, if this reading is cut short.
            let is_through = self.ended && !is_unfinished;
            self.cursor.stat.size =
                if is_through { self.stat.size } else { batch.end.min(self.stat.size.saturating_sub(1)) };
            self.cursor.state = batch.state.clone();
            self.base = batch.state.offset;
            let forward = usize::try_from(forward).unwrap_or(usize::MAX).min(self.buffer.len());
            self.buffer.drain(..forward);
            if self.buffer.capacity() > 2 * PIECE_BYTES && self.buffer.len() < PIECE_BYTES {
                self.buffer.shrink_to(PIECE_BYTES);
            }
            return self.piece(batch, forward as u64);
        }
    }

    /// Reads on until the buffer has `want` bytes or the file ends.
    fn fill(&mut self, want: usize) -> Result<(), Fault> {
        let missing = want.saturating_sub(self.buffer.len());
        if missing > 0 && !self.ended {
            let before = self.buffer.len();
            self.buffer.reserve_exact(missing);
            let read = self.source.by_ref().take(missing as u64).read_to_end(&mut self.buffer);
            read.map_err(if self.found.form == Form::Packed { Fault::Packed } else { Fault::Io })?;
            self.ended = self.buffer.len() - before < missing;
        }
        if !self.ended && self.found.form == Form::Lines {
            self.ended = self.base + self.buffer.len() as u64 >= self.stat.size;
        }
        let read_to = self.base + self.buffer.len() as u64;
        if self.ended && self.found.form == Form::Lines && read_to < self.stat.size {
            return Err(Fault::Shrunk);
        }
        Ok(())
    }

    fn whole(&mut self) -> Result<Piece, Fault> {
        self.source.by_ref().take(WHOLE_BYTES_MAX).read_to_end(&mut self.buffer)?;
        self.ended = true;
        let (bytes, state) = (&self.buffer, &self.cursor.state);
        let mut batch = match self.found.form {
            Form::Tree => tree::read(&self.found.path, bytes)?.unwrap_or_else(|| read(&[], state)),
            Form::Text => cursor_cli::read_text(&String::from_utf8_lossy(bytes), state),
            _ => gemini_cli::read(bytes, &self.found.session),
        };
        // A sub-agent's file of Gemini CLI has its parent's id only as the name of its folder.
        if let Some(parent) = batch.session.parent.as_mut().filter(|parent| parent.session.is_none())
            && let Some(folder) = self.found.path.parent().filter(|folder| !folder.ends_with("chats"))
        {
            parent.session = folder.file_name().and_then(|name| name.to_str()).map(str::to_owned);
        }
        self.cursor.state = State::new(self.found.agent, &batch.session.id);
        let bytes = self.buffer.len() as u64;
        self.piece(batch, bytes)
    }

    /// The piece with a batch. What the batch does not cover is in the buffer.
    fn piece(&mut self, mut batch: Batch, bytes: u64) -> Result<Piece, Fault> {
        if self.ended && is_foreign(&batch.counts, &self.buffer) {
            if self.is_settled {
                return Err(Fault::Foreign);
            }
            // The next scan must not take it for unchanged.
            self.cursor.stat.size = self.stat.size.saturating_sub(1);
        }
        let session = &mut batch.session;
        if session.started.is_none() && session.ended.is_none() {
            // Its records have no times: the file's own are near them.
            session.started = Timestamp::from_microsecond(self.born).ok();
            session.ended = Timestamp::from_microsecond(self.stat.mtime).ok();
        }
        if self.found.form == Form::Lines {
            (self.cursor.head, self.cursor.edge) = digests(&self.file, self.cursor.state.offset)?;
        }
        Ok(Piece { batch, cursor: self.cursor.clone(), is_last: self.ended, bytes })
    }
}

/// Whether the part that was read is still the file's beginning.
fn goes_on(file: &File, stat: &Stat, cursor: &Cursor) -> Result<bool, Fault> {
    let offset = cursor.state.offset;
    // With the same length and another time, it was touched or overwritten. Both are rare, so it is read again.
    if stat.size <= cursor.stat.size || stat.inode != cursor.stat.inode || stat.mtime < cursor.stat.mtime {
        return Ok(false);
    }
    if offset > stat.size {
        return Ok(false);
    }
    let (head, edge) = digests(file, offset)?;
    Ok(head == cursor.head && edge == cursor.edge)
}

/// The digests of a file's first bytes, and of those before an offset.
fn digests(file: &File, offset: u64) -> Result<(String, String), Fault> {
    let length = EDGE_BYTES.min(offset);
    Ok((digest(file, 0, length)?, digest(file, offset - length, length)?))
}

/// A digest of some bytes of a file, as many as there are.
fn digest(file: &File, from: u64, length: u64) -> Result<String, Fault> {
    let mut bytes = vec![0; usize::try_from(length).unwrap_or_default()];
    let mut at = 0;
    while at < bytes.len() {
        match file.read_at(&mut bytes[at..], from + at as u64)? {
            0 => break,
            count => at += count,
        }
    }
    Ok(hex(&Sha256::digest(&bytes[..at])[..8]))
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Write};

    use super::*;
    use cerebro_transcript::Agent;

    fn line(n: u32, kind: &str, text: &str) -> String {
        format!(
            "{{\"type\":\"{kind}\",\"uuid\":\"u{n}\",\"sessionId\":\"s\",\"cwd\":\"/w\",\
             \"timestamp\":\"2026-01-02T03:04:05Z\",\"message\":{{\"role\":\"{kind}\",\"content\":\"{text}\"}}}}\n"
        )
    }

    fn talk(from: u32, to: u32) -> String {
        (from..to)
            .map(|n| {
                line(2 * n, "user", &format!("ask {n}"))
                    + line(2 * n + 1, "assistant", &format!("answer {n}")).as_str()
            })
            .collect()
    }

    fn found(path: &Path, form: Form) -> Found {
        let agent = if form == Form::Packed { Agent::Codex } else { Agent::ClaudeCode };
        Found { agent, form, path: path.to_path_buf(), session: String::new(), stat: Stat::default() }
    }

    /// The files are written now.
    fn now() -> Timestamp {
        Timestamp::now()
    }

    /// Prompts by their place.
    type Prompts = Vec<(u32, String)>;

    /// Reads to the end; gives the prompts, where it stands, and how much was read.
    fn through(path: &Path, cursor: Option<Cursor>) -> Option<(Prompts, Cursor, u64)> {
        let mut reading = Reading::open(found(path, Form::Lines), cursor, now()).unwrap()?;
        let (mut prompts, mut bytes) = (Vec::new(), 0);
        loop {
            let piece = reading.step().unwrap();
            bytes += piece.bytes;
            for exchange in piece.batch.exchanges {
                prompts.retain(|(seq, _)| *seq != exchange.seq);
                prompts.push((exchange.seq, exchange.prompt.map(|prompt| prompt.text).unwrap_or_default()));
            }
            if piece.is_last {
                return Some((prompts, piece.cursor, bytes));
            }
        }
    }

    #[test]
    fn a_file_that_grew_is_read_on_and_one_that_changed_anew() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("s.jsonl");
        fs::write(&path, talk(0, 200)).unwrap();
        let (prompts, cursor, _) = through(&path, None).unwrap();
        assert_eq!(prompts.len(), 200);
        assert!(through(&path, Some(cursor.clone())).is_none(), "nothing changed");

        fs::write(&path, talk(0, 203)).unwrap();
        let (prompts, grown, _) = through(&path, Some(cursor.clone())).unwrap();
        let seqs: Vec<u32> = prompts.iter().map(|(seq, _)| *seq).collect();
        assert_eq!(seqs, [198, 199, 200, 201, 202], "the last two come again");

        fs::write(&path, talk(1, 300)).unwrap();
        let (prompts, _, _) = through(&path, Some(grown.clone())).unwrap();
        assert_eq!(prompts.len(), 299, "its beginning is another one");
        fs::write(&path, talk(0, 10)).unwrap();
        let (prompts, _, _) = through(&path, Some(grown)).unwrap();
        assert_eq!(prompts.len(), 10, "it was cut short");
    }

    #[test]
    fn what_is_read_in_pieces_is_what_is_read_at_once() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("s.jsonl");
        let long = "word ".repeat(20_000);
        let text: String = (0..120)
            .map(|n| line(2 * n, "user", &format!("ask {n}")) + line(2 * n + 1, "assistant", &long).as_str())
            .collect();
        assert!(text.len() > PIECE_BYTES);
        fs::write(&path, text).unwrap();
        let (prompts, cursor, _) = through(&path, None).unwrap();
        let seqs: Vec<u32> = prompts.iter().map(|(seq, _)| *seq).collect();
        assert_eq!(seqs, (0..120).collect::<Vec<_>>());
        assert_eq!(cursor.stat.size, fs::metadata(&path).unwrap().len());
    }

    #[test]
    fn many_records_that_are_not_kept_hide_no_prompt() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("s.jsonl");
        let progress = format!("{{\"type\":\"progress\",\"data\":\"{}\"}}\n", "p".repeat(1 << 20));
        let between = progress.repeat(PIECE_BYTES_MAX / progress.len() + 20);
        let all = [talk(0, 2), between, line(8, "assistant", "done"), talk(10, 12)].concat();
        fs::write(&path, all).unwrap();
        let (prompts, _, _) = through(&path, None).unwrap();
        let prompts: Vec<&str> = prompts.iter().map(|(_, prompt)| prompt.as_str()).collect();
        assert_eq!(prompts, ["ask 0", "ask 1", "", "ask 10", "ask 11"], "the reply is a piece of its own");
    }

    #[test]
    fn an_interrupted_reading_goes_on() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("s.jsonl");
        let long = "word ".repeat(20_000);
        let text: String = (0..120).map(|n| line(n, "user", &format!("{n} {long}"))).collect();
        fs::write(&path, text).unwrap();
        let mut reading = Reading::open(found(&path, Form::Lines), None, now()).unwrap().unwrap();
        let first = reading.step().unwrap();
        assert!(!first.is_last);
        let (prompts, cursor, _) = through(&path, Some(first.cursor)).unwrap();
        assert_eq!(prompts.last().map(|(seq, _)| *seq), Some(119));
        assert!(prompts[0].0 > 0 && cursor.stat.size > 0);
    }

    #[test]
    fn a_half_written_record_waits_until_the_file_is_settled() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("s.jsonl");
        let text = talk(0, 2);
        fs::write(&path, text.trim_end()).unwrap();
        let (_, cursor, _) = through(&path, None).unwrap();
        assert_eq!(cursor.stat.size, fs::metadata(&path).unwrap().len(), "it only lacks its line break");
        fs::write(&path, text.trim_end().trim_end_matches('}')).unwrap();
        let (_, cursor, _) = through(&path, None).unwrap();
        let whole = fs::metadata(&path).unwrap().len();
        assert!(cursor.stat.size < whole);
        let file = fs::OpenOptions::new().append(true).open(&path).unwrap();
        file.set_modified(std::time::SystemTime::now() - 2 * SETTLED_AFTER.unsigned_abs()).unwrap();
        let mtime = Stat::from(&file.metadata().unwrap()).mtime;
        let cursor = Cursor { stat: Stat { mtime, ..cursor.stat }, ..cursor };
        let (_, settled, _) = through(&path, Some(cursor)).unwrap();
        assert_eq!(settled.stat.size, whole);
    }

    #[test]
    fn text_without_a_record_is_waited_for_and_then_a_fault() {
        let temp = tempfile::tempdir().unwrap();
        let later = now() + SETTLED_AFTER * 2;
        for form in [Form::Lines, Form::Whole, Form::Text, Form::Tree] {
            let name = format!("{form:?}");
            let path = temp.path().join(&name);
            let step = |at| Reading::open(found(&path, form), None, at).unwrap().unwrap().step();
            for text in
                ["{\"sess", "not json\nnor this\n", "[\n  \"no record\"\n]\n", "{\"said\":\"no type\"}"]
            {
                fs::write(&path, text).unwrap();
                let piece = step(now()).unwrap();
                let is_as_read = piece.cursor.stat.size == text.len() as u64;
                assert!(piece.is_last && !is_as_read, "{name}: the next scan reads {text:?} again");
                assert!(matches!(step(later), Err(Fault::Foreign)), "{name}: {text:?}");
            }
            fs::write(&path, " \n").unwrap();
            assert_eq!(step(later).unwrap().cursor.stat.size, 2, "{name}: it is empty");
        }
    }

    #[test]
    fn one_record_that_is_understood_is_enough() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("s.jsonl");
        let later = now() + SETTLED_AFTER * 2;
        fs::write(&path, "not json\n".repeat(9) + line(1, "user", "ask").as_str()).unwrap();
        let step = |cursor| Reading::open(found(&path, Form::Lines), cursor, later).unwrap().unwrap().step();
        let cursor = step(None).unwrap().cursor;
        // Also when the reading goes on behind it.
        let file = fs::OpenOptions::new().append(true).open(&path).unwrap();
        (&file).write_all("not json\n".repeat(9).as_bytes()).unwrap();
        let piece = step(Some(cursor)).unwrap();
        assert_eq!((piece.batch.counts.records, piece.batch.counts.malformed), (19, 18));
    }

    #[test]
    fn a_packed_file_is_unpacked_and_bounds_hold() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("rollout.jsonl.zst");
        let meta = "{\"type\":\"session_meta\",\"payload\":{\"id\":\"c\",\"cwd\":\"/w\"}}\n";
        let said = "{\"type\":\"response_item\",\"payload\":{\"type\":\"message\",\"role\":\"user\",\
                    \"content\":[{\"type\":\"input_text\",\"text\":\"ask\"}]}}\n";
        fs::write(&path, zstd::encode_all(format!("{meta}{said}").as_bytes(), 1).unwrap()).unwrap();
        let mut reading = Reading::open(found(&path, Form::Packed), None, now()).unwrap().unwrap();
        let piece = reading.step().unwrap();
        assert!(piece.is_last);
        assert_eq!((piece.batch.session.id.as_str(), piece.batch.exchanges.len()), ("c", 1));
        fs::write(&path, "nothing that was packed, but long enough to have a head").unwrap();
        let mut reading = Reading::open(found(&path, Form::Packed), None, now()).unwrap().unwrap();
        let refused = reading.step().err().unwrap();
        assert!(refused.to_string().starts_with("it cannot be unpacked"), "{refused}");

        let large = temp.path().join("large.json");
        File::create(&large).unwrap().set_len(WHOLE_BYTES_MAX + 1).unwrap();
        let refused = Reading::open(found(&large, Form::Whole), None, now());
        assert!(matches!(refused, Err(Fault::TooLarge(..))));
    }
}
