//! The keys of the journal: one file beside the store, for its owner alone.
//!
//! The key of the chain stays. The key that signs seals belongs to an epoch and is destroyed when the epoch is closed. A
//! restored store counts as another store and begins a journal of its own, so its earlier seals raise no alarm.
//!
//! A damaged file is put aside beside its place, and new keys are made, as where the file is gone: the memory opens, and what
//! was written under the old keys counts as of another key.

use std::{
    io,
    path::{Path, PathBuf},
};

use cerebro_core::domain::Timestamp;
use cerebro_core::text;
use cerebro_durable as durable;
use cerebro_ledger::{Key, seal::EpochKey, seal::unhex};
use serde::{Deserialize, Serialize};

use super::KEYS_FILE;

/// Most earlier journals of which the public key is remembered.
const OLD_MAX: usize = 64;
/// What the name of a damaged file ends with, before its number.
const DAMAGED: &str = ".damaged";
/// Most damaged files that are put aside: so many are trouble that a person must look at first.
const DAMAGED_MAX: usize = 100;

/// The file, in JSON; keys in hex.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
struct Written {
    chain: String,
    /// The present journal: first line of its seals.
    origin: String,
    /// The public key of its first epoch.
    public: String,
    epoch: u64,
    secret: String,
    /// The secret of the next epoch, while the seal that names it is being written.
    next: String,
    /// How many seals there are.
    seals: u64,
    /// When the epoch began, in seconds.
    since: i64,
    /// When old texts and work were taken away last, in seconds.
    pruned: i64,
    /// Journals of stores that were here before: origin and first public key.
    old: Vec<(String, String)>,
}

/// The keys in memory.
pub(super) struct Keyring {
    path: PathBuf,
    written: Written,
    /// The key of all chains.
    pub key: Key,
}

fn broken(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the journal's keys are damaged: {what}"))
}

fn drawn() -> [u8; 32] {
    rand::random()
}

impl Written {
    fn new() -> Self {
        Self { chain: text::hex(&drawn()), ..Self::default() }
    }

    /// Reads the file. The error says nothing of what is in it.
    fn read(bytes: &[u8]) -> io::Result<Self> {
        let written: Self = serde_json::from_slice(bytes)
            .map_err(|error| broken(&format!("line {}, column {}", error.line(), error.column())))?;
        let has = |key: &str| unhex(key).is_some();
        if !has(&written.chain) {
            return Err(broken("the key of the chain"));
        }
        let has_epoch = written.origin.is_empty() || has(&written.secret) && has(&written.public);
        if !has_epoch {
            return Err(broken("the key of the epoch"));
        }
        Ok(written)
    }
}

/// Gives a damaged file another name beside its own; nothing is overwritten.
fn put_aside(path: &Path) -> io::Result<()> {
    let name = |number: usize| {
        let mut name = path.as_os_str().to_owned();
        name.push(DAMAGED);
        if number > 1 {
            name.push(format!("-{number}"));
        }
        PathBuf::from(name)
    };
    let free = (1..=DAMAGED_MAX).map(name).find(|aside| aside.symlink_metadata().is_err());
    let free = free.ok_or_else(|| broken("and so are all that were put aside before"))?;
    std::fs::rename(path, &free)?;
    path.parent().map_or(Ok(()), durable::sync_folder)
}

/// The names of the damaged files that were put aside.
pub(super) fn damaged(path: &Path) -> Vec<String> {
    let entries = path.parent().and_then(|folder| std::fs::read_dir(folder).ok());
    let prefix = format!("{}{DAMAGED}", path.file_name().unwrap_or_default().to_string_lossy());
    let names = entries.into_iter().flatten().flatten();
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| name.starts_with(&prefix)).collect();
    names.sort();
    names
}

impl Keyring {
    /// Reads the keys, or makes them. `store_id` is the store that they are for. If the journal is off, nothing is written.
    ///
    /// # Errors
    /// A file that cannot be read or written. A damaged one is put aside, because lost keys cannot be recreated.
    pub fn open(path: &Path, store_id: &str, keeps: bool) -> io::Result<Self> {
        let mut written = match std::fs::read(path).map(|bytes| Written::read(&bytes)) {
            Ok(Ok(written)) => written,
            Ok(Err(error)) => {
                if keeps {
                    put_aside(path)?;
                    tracing::error!(%error, "the file was put aside as `{KEYS_FILE}{DAMAGED}`, and new keys are made");
                }
                Written::new()
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Written::new(),
            Err(error) => return Err(error),
        };
        let key = Key::new(unhex(&written.chain).ok_or_else(|| broken("the key of the chain"))?);
        let origin = format!("cerebro-journal/{store_id}/{}", key.id());
        let is_new = written.origin != origin;
        if is_new {
            if !written.origin.is_empty() {
                written.old.push((written.origin.clone(), written.public.clone()));
                let excess = written.old.len().saturating_sub(OLD_MAX);
                written.old.drain(..excess);
            }
            let secret = drawn();
            written.origin = origin;
            written.public = text::hex(&EpochKey::new(&secret).public());
            written.secret = text::hex(&secret);
            (written.epoch, written.seals, written.since) = (0, 0, 0);
            written.next.clear();
        }
        let keyring = Self { path: path.to_path_buf(), written, key };
        if is_new && keeps {
            keyring.write()?;
        }
        Ok(keyring)
    }

    /// Writes the file. Keys that another home has written here meanwhile are not replaced: they cannot be recreated.
    fn write(&self) -> io::Result<()> {
        let present = std::fs::read(&self.path).ok();
        let present = present.and_then(|bytes| serde_json::from_slice::<Written>(&bytes).ok());
        if present.is_some_and(|present| present.chain != self.written.chain) {
            return Err(broken("they are those of another home"));
        }
        let bytes = serde_json::to_vec_pretty(&self.written)?;
        durable::write(&self.path, durable::Kind::Own, &bytes)
    }

    /// The first line of the seals of the present journal.
    pub fn origin(&self) -> &str {
        &self.written.origin
    }

    /// The public key of the first epoch.
    pub fn first_public(&self) -> Option<[u8; 32]> {
        unhex(&self.written.public)
    }

    /// How many seals were made.
    pub fn seals(&self) -> u64 {
        self.written.seals
    }

    /// When old texts and work were pruned last; a moment long ago if never.
    pub fn pruned_at(&self) -> Timestamp {
        Timestamp::from_second(self.written.pruned).unwrap_or_default()
    }

    /// Notes that they were pruned now.
    pub fn pruned(&mut self, at: Timestamp) -> io::Result<()> {
        self.written.pruned = at.as_second();
        self.write()
    }

    /// The present epoch, and its key.
    pub fn epoch(&self) -> io::Result<(u64, EpochKey)> {
        let secret = unhex(&self.written.secret).ok_or_else(|| broken("the key of the epoch"))?;
        Ok((self.written.epoch, EpochKey::new(&secret)))
    }

    /// Whether the epoch has lasted long enough, so that the next seal should be its last.
    pub fn is_over(&self, now: i64, lasts: i64) -> bool {
        self.written.seals > 0 && now - self.written.since >= lasts
    }

    /// Generates the key of the next epoch and writes it to the file, before a seal names it.
    pub fn draw_next(&mut self) -> io::Result<[u8; 32]> {
        let secret = drawn();
        self.written.next = text::hex(&secret);
        self.write()?;
        Ok(EpochKey::new(&secret).public())
    }

    /// A seal is on disk: it is counted, and where it was the last one of its epoch, the epoch's key is destroyed.
    pub fn sealed(&mut self, number: u64, next: Option<[u8; 32]>, now: i64) -> io::Result<()> {
        let written = &mut self.written;
        if written.seals == 0 {
            written.since = now;
        }
        written.seals = written.seals.max(number + 1);
        if let Some(public) = next {
            let drawn = unhex(&written.next).filter(|secret| EpochKey::new(secret).public() == public);
            let secret = drawn.ok_or_else(|| broken("the key of the next epoch"))?;
            written.secret = text::hex(&secret);
            written.next.clear();
            written.epoch += 1;
            written.since = now;
        }
        self.write()
    }

    /// Counts the seals that the file lacks because a process ended between writing a seal and the file.
    pub fn catch_up(&mut self, seals: &[cerebro_ledger::seal::Seal], now: i64) -> io::Result<()> {
        let counted = self.written.seals;
        for seal in seals.iter().filter(|seal| seal.number >= counted) {
            self.sealed(seal.number, seal.next, now)?;
        }
        Ok(())
    }
}
