//! The journal of work: what agents do, recorded so that the next one can continue.
//!
//! A piece of work is a chain of events. The pure part, with the fold and the proofs, is in `cerebro_ledger`.
//!
//! | file | what it has |
//! | --- | --- |
//! | [`begin`], [`append`], [`lease`], [`session`] | writing events: of a new piece, a fork and an end; of what was done; of leases and intents; of a session that was lost |
//! | [`draft`], [`once`] | the events of one write, before it is committed; which of them are there already |
//! | [`reader`] | lists, one piece, and the hint for the agent that continues it |
//! | [`findings`] | findings, which become memories |
//! | [`forget`] | forgetting the texts of past sessions |
//! | [`backfill`], [`reported`] | what hooks did not report, from transcripts; what a hook or a transcript says, as steps |
//! | [`slow`] | how long callers wait, and the gaps that are left when they stop waiting |
//! | [`keeping`], [`prune`] | the background task, and what it removes |
//! | [`keys`], [`sealing`], [`verifying`] | keys, seals, heads and proofs; verification |
//! | [`export`] | events in exports and imports |
//! | [`words`] | requests and answers |
//!
//! A row of another owner gives [`ServiceError::NoWork`], like a row that does not exist.

mod append;
mod backfill;
mod begin;
mod draft;
pub(crate) mod export;
mod findings;
mod forget;
mod keeping;
mod keys;
mod lease;
mod once;
mod prune;
mod reader;
pub mod reported;
mod sealing;
mod session;
mod slow;
#[cfg(test)]
mod tests;
mod verifying;
mod words;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

pub(crate) use backfill::Reading;
use cerebro_core::domain::{Project, Timestamp, WorkId};
use cerebro_ledger::{Key, State, work::session_name};
pub use slow::MISSED_FILE;
#[cfg(test)]
pub(crate) use slow::note_missed;
pub use words::*;

use crate::{
    ServiceError,
    base::Base,
    lock,
    memories::{Memories, Merged},
    sessions::Sessions,
    settings::Retention,
};

/// Most pieces of work of one list.
pub const WORKS_LISTED_MAX: usize = 100;
/// Most findings of one verification.
pub const FINDINGS_MAX: usize = 1_000;
/// Most states that are kept in memory, so that the next event need not fold them anew.
const STATES_MAX: usize = 64;
/// The file of keys, beside the store.
pub const KEYS_FILE: &str = "journal.key";

/// What the journal has in memory.
pub(crate) struct Held {
    /// How long texts and work are kept; `None` if the journal is off.
    retention: Option<Retention>,
    key: Key,
    key_id: String,
    keyring: Arc<Mutex<keys::Keyring>>,
    /// The names of damaged files of keys beside the present one, when the store was opened.
    damaged_keys: Vec<String>,
    states: Mutex<BTreeMap<WorkId, State>>,
    onces: Mutex<BTreeMap<WorkId, once::Onces>>,
    slow: Mutex<slow::Slow>,
    /// The file that keeps gaps which are not recorded yet over a restart.
    missed_file: PathBuf,
    /// What is not under a seal yet.
    unsealed: Mutex<keeping::Unsealed>,
    /// Rung when there is something to seal.
    bell: tokio::sync::Notify,
    /// When the leases of a holder were last renewed by what it did elsewhere.
    renewed: Mutex<BTreeMap<String, Timestamp>>,
    /// The tree of seals, once it was needed. Locked while a seal is made.
    sealed: tokio::sync::Mutex<Option<sealing::Sealed>>,
    /// The size and root of that tree, for hints.
    head: Mutex<Option<(u64, String)>>,
}

impl Held {
    /// Reads the keys beside a store, or makes them.
    pub(crate) fn open(
        store_dir: &Path,
        store_id: &str,
        retention: Option<Retention>,
    ) -> Result<Self, ServiceError> {
        let path = store_dir.with_file_name(KEYS_FILE);
        let keyring = keys::Keyring::open(&path, store_id, retention.is_some());
        let keyring = keyring.map_err(sealing::keys_failed)?;
        Ok(Self {
            retention,
            key: keyring.key.clone(),
            key_id: keyring.key.id(),
            keyring: Arc::new(Mutex::new(keyring)),
            damaged_keys: keys::damaged(&path),
            states: Mutex::default(),
            onces: Mutex::default(),
            slow: Mutex::default(),
            missed_file: store_dir.with_file_name(MISSED_FILE),
            unsealed: Mutex::default(),
            bell: tokio::sync::Notify::new(),
            renewed: Mutex::default(),
            sealed: tokio::sync::Mutex::default(),
            head: Mutex::default(),
        })
    }

    /// The last state of a piece of work, if it is in memory.
    fn remembered(&self, id: &WorkId) -> Option<State> {
        lock(&self.states).get(id).cloned()
    }

    /// Whether it is in memory.
    fn remembers(&self, id: &WorkId) -> bool {
        lock(&self.states).contains_key(id)
    }

    /// Keeps a state in memory, unless there is a later one.
    fn remember(&self, id: WorkId, state: State) {
        let mut states = lock(&self.states);
        if states.get(&id).is_some_and(|present| present.seq > state.seq) {
            return;
        }
        if states.len() >= STATES_MAX && !states.contains_key(&id) {
            states.clear();
        }
        states.insert(id, state);
    }

    /// Drops all states, when texts or work are removed: the state of a fork also has texts of the work that it forked
    /// from.
    fn forget(&self) {
        lock(&self.states).clear();
    }
}

impl Actor {
    /// Who holds a lease of this actor's.
    fn holder(&self) -> String {
        self.session.as_ref().map_or_else(|| self.agent.to_string(), ToString::to_string)
    }

    /// The name of the piece of work of its session.
    fn session_name(&self) -> String {
        session_name(&self.owner, &self.holder())
    }
}

/// The use cases of the journal.
#[derive(Clone)]
pub struct Journal {
    base: Base,
    pub(crate) memories: Memories,
    pub(crate) sessions: Sessions,
    pub(crate) held: Arc<Held>,
}

impl Journal {
    pub(crate) fn new(memories: &Memories, held: Held) -> Self {
        Self {
            base: memories.base.clone(),
            memories: memories.clone(),
            sessions: memories.sessions.clone(),
            held: Arc::new(held),
        }
    }

    /// How long texts and work are kept; `None` if the journal is off.
    pub fn retention(&self) -> Option<Retention> {
        self.held.retention
    }

    /// The names of damaged files of keys, which were put aside in the home.
    pub fn damaged_keys(&self) -> &[String] {
        &self.held.damaged_keys
    }

    /// Moves everything of one project to another, in batches, and makes the MACs of the rows of work anew. If it is
    /// stopped half-way, it can be repeated. A memory whose topic key is taken there keeps its text and loses the key.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] when both are the same, [`ServiceError::EmptyProject`], or a failing store.
    pub async fn merge_projects(&self, from: &Project, into: &Project) -> Result<Merged, ServiceError> {
        self.memories.merge_projects(from, into, &self.held.key).await
    }

    /// Returns an error if the journal is off.
    fn needs_journal(&self) -> Result<(), ServiceError> {
        if self.held.retention.is_some() {
            return Ok(());
        }
        Err(ServiceError::invalid("[work] enabled", "false", "the journal is off; set it to `true`"))
    }
}
