//! A backup file: two zstd frames, which `zstd -dc` prints as one SurrealQL script.
//!
//! The first holds a line that says what it is (`-- cerebro backup {…}`) and the script; the second one
//! line (`-- cerebro backup end {…}`) with the rows of each table, the size and the SHA-256 of the first.
//! A file without its second frame was cut off.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, BufWriter, Read, Write},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use zstd::stream::{read::Decoder, write::Encoder};

use super::tally::Tally;
use cerebro_core::domain::Timestamp;
use cerebro_core::text::hex;
use cerebro_durable as durable;
use cerebro_store::{RowCounts, Store};

/// The version of the file's form.
const FORMAT: u32 = 1;
/// zstd's own default: a good size at about the speed of the database's export.
const LEVEL: i32 = 3;
const HEAD: &str = "-- cerebro backup ";
const END: &str = "-- cerebro backup end ";
/// Longest first or last line.
const LINE_BYTES_MAX: u64 = 64 * 1024;
const BLOCK_BYTES: usize = 64 * 1024;

/// A backup's first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    pub format: u32,
    /// The program that wrote it.
    pub version: String,
    /// The schema of the rows.
    pub schema: u32,
    /// The moment of the backup's content, or a little before.
    pub at: Timestamp,
    /// The home whose memory it is.
    pub home: String,
    /// The number of the last event of this moment.
    pub seq: u64,
    /// When that event happened. Files of older programs have neither this nor the store's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_at: Option<Timestamp>,
    /// The id of the store: homes of two machines may have the same path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<String>,
}

/// The position of a store in its log. At equal positions, the content is the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogPosition {
    pub store: String,
    /// The number of its last event.
    pub seq: u64,
    /// When that event happened. A store that was put back to an earlier state uses the later numbers again.
    pub at: Timestamp,
}

impl Head {
    /// The head of a backup that is made now.
    pub fn now(home: &Path, at: Timestamp, place: &LogPosition) -> Self {
        Self {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            schema: Store::schema_version(),
            at,
            home: home.display().to_string(),
            seq: place.seq,
            last_at: Some(place.at),
            store: Some(place.store.clone()),
        }
    }

    /// Whether it has the content of a store at this position.
    pub fn shows(&self, place: &LogPosition) -> bool {
        (self.store.as_ref(), self.seq, self.last_at) == (Some(&place.store), place.seq, Some(place.at))
    }
}

/// A backup's last line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    pub rows: RowCounts,
    pub bytes: u64,
    pub sha256: String,
}

/// Why a file is not a complete backup, or cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("cannot {verb} {path}: {source}")]
    Io { verb: &'static str, path: PathBuf, source: io::Error },
    #[error("{0} is not a backup of Cerebro: its first line is not that of one")]
    Foreign(PathBuf),
    #[error("{path} is damaged: {reason}; use another backup")]
    Damaged { path: PathBuf, reason: String },
    #[error("{path} was written by cerebro {version}, which this one cannot read; install that version")]
    TooNew { path: PathBuf, version: String },
}

pub(crate) fn io_fault(verb: &'static str, path: &Path) -> impl Fn(io::Error) -> FileError {
    move |source| FileError::Io { verb, path: path.to_path_buf(), source }
}

/// A backup that is being written. Unless it is finished, nothing is left of it.
pub struct Draft {
    target: PathBuf,
    sink: Sink,
    tally: Tally,
    digest: Sha256,
    bytes: u64,
}

type Buffered = BufWriter<durable::Draft>;

enum Sink {
    Plain(Buffered),
    Packed(Box<Encoder<'static, Buffered>>),
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(file) => file.write(bytes),
            Self::Packed(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(file) => file.flush(),
            Self::Packed(encoder) => encoder.flush(),
        }
    }
}

impl Draft {
    /// Begins a file for `target`, readable by us alone; packed, or as plain text.
    ///
    /// # Errors
    /// [`FileError::Io`] when it cannot be made.
    pub fn begin(target: &Path, head: &Head, packed: bool) -> Result<Self, FileError> {
        let fault = io_fault("write", target);
        let file = durable::Draft::begin(target, durable::Kind::Own).map_err(&fault)?;
        let file = BufWriter::with_capacity(BLOCK_BYTES, file);
        let sink =
            if packed { Sink::Packed(Box::new(packer(file).map_err(&fault)?)) } else { Sink::Plain(file) };
        let mut draft = Self {
            target: target.to_path_buf(),
            sink,
            tally: Tally::default(),
            digest: Sha256::new(),
            bytes: 0,
        };
        let line =
            format!("{HEAD}{}\n", serde_json::to_string(head).map_err(io::Error::from).map_err(fault)?);
        draft.add(line.as_bytes())?;
        Ok(draft)
    }

    /// Writes the next piece of the script.
    ///
    /// # Errors
    /// [`FileError::Io`], most likely for a full disk.
    pub fn add(&mut self, piece: &[u8]) -> Result<(), FileError> {
        self.tally.add(piece);
        self.digest.update(piece);
        self.bytes += piece.len() as u64;
        self.sink.write_all(piece).map_err(io_fault("write", &self.target))
    }

    /// How many rows were written.
    pub fn rows(&self) -> u64 {
        self.tally.total()
    }

    /// Writes the last line, makes the file durable and gives it its name.
    pub fn finish(mut self) -> Result<(End, u64), FileError> {
        let end = End {
            rows: self.tally.rows().clone(),
            bytes: self.bytes,
            sha256: hex(&self.digest.finalize_reset()),
        };
        let size = self.sink.close(&end).map_err(io_fault("write", &self.target))?;
        Ok((end, size))
    }
}

impl Sink {
    /// Writes the last line and puts the file in its place; gives its size.
    fn close(self, end: &End) -> io::Result<u64> {
        let line = format!("{END}{}\n", serde_json::to_string(end)?);
        let file = match self {
            Self::Plain(mut file) => {
                file.write_all(line.as_bytes())?;
                file
            }
            Self::Packed(encoder) => {
                let mut last = packer(encoder.finish()?)?;
                last.write_all(line.as_bytes())?;
                last.finish()?
            }
        };
        let draft = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        let size = draft.size()?;
        draft.finish()?;
        Ok(size)
    }
}

fn packer(file: Buffered) -> io::Result<Encoder<'static, Buffered>> {
    let mut encoder = Encoder::new(file, LEVEL)?;
    encoder.include_checksum(true)?;
    Ok(encoder)
}

/// Reads the first line of a file.
///
/// # Errors
/// [`FileError::Foreign`] for any other file.
pub fn head(path: &Path) -> Result<Head, FileError> {
    Ok(Source::open(path)?.head)
}

/// Reads a whole file and compares it with its last line. `pieces` gets the script; if it returns `false`, reading stops.
///
/// # Errors
/// [`FileError::Damaged`] names what does not agree.
pub fn read(path: &Path, pieces: impl FnMut(&[u8]) -> bool) -> Result<(Head, End), FileError> {
    let source = Source::open(path)?;
    let head = source.head.clone();
    Ok((head, source.read(pieces)?))
}

/// Whether a file begins as packed files do.
fn is_packed(path: &Path) -> bool {
    const MAGIC: [u8; 4] = 0xFD2F_B528_u32.to_le_bytes();
    let mut begin = [0; MAGIC.len()];
    File::open(path).and_then(|mut file| file.read_exact(&mut begin)).is_ok() && begin == MAGIC
}

/// A backup that is being read.
struct Source {
    path: PathBuf,
    reader: BufReader<Decoder<'static, BufReader<File>>>,
    head: Head,
    first: Vec<u8>,
}

impl Source {
    fn open(path: &Path) -> Result<Self, FileError> {
        let fault = io_fault("read", path);
        let file = File::open(path).map_err(&fault)?;
        let decoder =
            Decoder::with_buffer(BufReader::with_capacity(BLOCK_BYTES, file)).map_err(&fault)?.single_frame();
        let mut reader = BufReader::with_capacity(BLOCK_BYTES, decoder);
        let mut first = Vec::new();
        let foreign = || FileError::Foreign(path.to_path_buf());
        // The first line of a small backup is in one block with all others. So it may not be readable where only the end is
        // missing.
        let unpacked = (&mut reader).take(LINE_BYTES_MAX).read_until(b'\n', &mut first);
        unpacked.map_err(|error| {
            if !is_packed(path) {
                return foreign();
            }
            let reason = format!("it cannot be unpacked ({error})");
            FileError::Damaged { path: path.to_path_buf(), reason }
        })?;
        let text = String::from_utf8_lossy(&first);
        let said = text.strip_prefix(HEAD).ok_or_else(foreign)?;
        // In an unknown version of the format, only the first two fields are certain to exist.
        #[derive(Deserialize)]
        struct Any {
            format: u32,
            version: String,
        }
        let any: Any = serde_json::from_str(said).map_err(|_| foreign())?;
        if any.format > FORMAT {
            return Err(FileError::TooNew { path: path.to_path_buf(), version: any.version });
        }
        let head: Head = serde_json::from_str(said).map_err(|_| foreign())?;
        if head.schema > Store::schema_version() {
            return Err(FileError::TooNew { path: path.to_path_buf(), version: head.version });
        }
        Ok(Self { path: path.to_path_buf(), reader, head, first })
    }

    fn damaged(&self, reason: impl Into<String>) -> FileError {
        FileError::Damaged { path: self.path.clone(), reason: reason.into() }
    }

    fn read(mut self, mut pieces: impl FnMut(&[u8]) -> bool) -> Result<End, FileError> {
        let mut digest = Sha256::new().chain_update(&self.first);
        let mut tally = Tally::default();
        tally.add(&self.first);
        let mut bytes = self.first.len() as u64;
        loop {
            let block = match self.reader.fill_buf() {
                Ok(block) => block,
                Err(error) => return Err(self.damaged(format!("it cannot be unpacked ({error})"))),
            };
            if block.is_empty() {
                break;
            }
            tally.add(block);
            digest.update(block);
            let taken = block.len();
            bytes += taken as u64;
            let wanted = pieces(block);
            self.reader.consume(taken);
            if !wanted {
                return Err(self.damaged("reading it ended early"));
            }
        }
        let end = self.end()?;
        let found = End { rows: tally.rows().clone(), bytes, sha256: hex(&digest.finalize()) };
        if found == end {
            return Ok(end);
        }
        let path = self.path;
        let reason = if found.sha256 == end.sha256 {
            "it does not have the numbers of rows that its end states"
        } else {
            "its checksum is wrong"
        };
        Err(FileError::Damaged { path, reason: reason.to_owned() })
    }

    /// The last line, which is a frame of its own.
    fn end(&mut self) -> Result<End, FileError> {
        let cut = "its end is missing: it was cut off";
        let mut line = String::new();
        let rest = self.reader.get_mut().get_mut();
        let read = Decoder::with_buffer(rest)
            .and_then(|decoder| decoder.single_frame().take(LINE_BYTES_MAX).read_to_string(&mut line));
        if read.is_err() {
            return Err(self.damaged(cut));
        }
        let said = line.strip_prefix(END).and_then(|said| serde_json::from_str(said).ok());
        said.ok_or_else(|| self.damaged(cut))
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use super::*;

    const SCRIPT: &str = "OPTION IMPORT;\n-- TABLE DATA: a\nINSERT [ { id: a:1 }, { id: a:2 } ];\n";

    fn head_of(seq: u64) -> Head {
        let place = LogPosition { store: "s".to_owned(), seq, at: Timestamp::UNIX_EPOCH };
        Head::now(Path::new("/h"), Timestamp::UNIX_EPOCH, &place)
    }

    #[test]
    fn a_head_shows_one_place_of_one_store() {
        let place = |store: &str, seq, second| LogPosition {
            store: store.to_owned(),
            seq,
            at: Timestamp::from_second(second).unwrap(),
        };
        assert!(head_of(7).shows(&place("s", 7, 0)));
        for other in [place("t", 7, 0), place("s", 8, 0), place("s", 7, 1)] {
            assert!(!head_of(7).shows(&other), "{other:?}");
        }
        let older =
            r#"{"format":1,"version":"0.1.0","schema":4,"at":"1970-01-01T00:00:00Z","home":"/h","seq":7}"#;
        let older: Head = serde_json::from_str(older).unwrap();
        assert!(!older.shows(&place("s", 7, 0)));
    }

    fn written(dir: &Path) -> PathBuf {
        let path = dir.join("b.surql.zst");
        let mut draft = Draft::begin(&path, &head_of(7), true).unwrap();
        draft.add(SCRIPT.as_bytes()).unwrap();
        assert_eq!(draft.rows(), 2);
        let (end, size) = draft.finish().unwrap();
        assert_eq!(end.rows["a"], 2);
        assert_eq!(size, fs::metadata(&path).unwrap().len());
        path
    }

    #[test]
    fn what_was_written_is_read() {
        let temp = tempfile::tempdir().unwrap();
        let path = written(temp.path());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 1);
        assert_eq!(head(&path).unwrap().seq, 7);
        let mut script = Vec::new();
        let (_, end) = read(&path, |piece| {
            script.extend_from_slice(piece);
            true
        })
        .unwrap();
        // The first line is told apart and is a comment of the script.
        assert_eq!(script, SCRIPT.as_bytes());
        assert_eq!(end.rows["a"], 2);
    }

    #[test]
    fn an_unfinished_one_leaves_nothing() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("b");
        let head = head_of(0);
        let mut draft = Draft::begin(&path, &head, true).unwrap();
        draft.add(SCRIPT.as_bytes()).unwrap();
        drop(draft);
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 0);
        assert!(Draft::begin(temp.path(), &head, true).is_err());
    }

    #[test]
    fn every_damage_is_seen() {
        let temp = tempfile::tempdir().unwrap();
        let path = written(temp.path());
        let good = fs::read(&path).unwrap();
        for cut in 0..good.len() {
            fs::write(&path, &good[..cut]).unwrap();
            let refused = read(&path, |_| true).unwrap_err();
            // Less than what marks a packed file may be of any file.
            let is_named = matches!(refused, FileError::Damaged { .. });
            assert_eq!(is_named, cut >= 4, "cut at {cut}: {refused}");
        }
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 0x10;
            fs::write(&path, &bad).unwrap();
            // A frame's size field or reserved bit may be read leniently; the script must not differ then.
            let mut script = Vec::new();
            let done = read(&path, |piece| {
                script.extend_from_slice(piece);
                true
            });
            assert!(done.is_err() || script == SCRIPT.as_bytes(), "flipped at {at}");
        }
        fs::write(&path, SCRIPT).unwrap();
        assert!(matches!(read(&path, |_| true), Err(FileError::Foreign(_))));
    }
}
