//! The journal of work: what agents do, kept so that the next one can go on.
//!
//! The signatures that hooks, commands, tools and screens build on (all `impl Service`, all `async`, all returning
//! `Result<_, ServiceError>` unless said otherwise):
//!
//! ```text
//! work_begin  (&Actor, BeginWork) -> (Work, bool /* made now */)
//! work_append (&Actor, Target, Vec<Happening>) -> Appended          waits 2 s at most, then is degraded for 60 s
//! work_list   (&Actor, WorkQuery) -> Vec<ListedWork>
//! work_show   (&Actor, &WorkId) -> ShownWork
//! work_tail   (&Actor, &WorkId, after: u64, limit: usize) -> Vec<Entry>
//! work_resume (&Actor, Option<&WorkId>, &World, max_bytes: usize) -> Option<ResumedWork>
//!              None = the newest piece of the actor's project that is lost or open and not the actor's own
//! work_close  (&Actor, &WorkId, CloseWork) -> Work
//! work_offer  (&Caller, &SessionId, &Actor, &WorkId) -> Vec<MemoryId>   its findings, saved and tied to it
//! work_fork   (&Actor, &WorkId, at: Option<u64>) -> Work
//! work_claim  (&Actor, &WorkId, ClaimWork) -> WorkClaimed
//! work_release(&Actor, &WorkId) -> Work
//! work_intent (&Actor, &WorkId, key: &str, text: &str, Repeat) -> IntentAnswer
//! work_confirm(&Actor, &WorkId, key: &str) -> Appended
//! work_refute (&Actor, &WorkId, key: &str, text: Option<&str>) -> Appended
//! work_verify (&[Anchor]) -> VerifiedWork                             anchors: heads that were written down outside
//! work_unsettled(&Actor) -> Vec<(Work, Vec<IntentState>)>              effects of unknown outcome
//! work_artifact(&Actor, &WorkId, seq: u64) -> Option<WorkArtifact>    the whole body of an event that was cut
//! work_head   () -> WorkHead                                        seals what is not sealed yet
//! work_prove  (&Actor, &WorkId) -> Option<WorkProof>
//! work_prune  (Retention) -> PrunedWork
//! work_export (&Actor, &WorkId, after: Option<u64>) -> ExportPage   in `portable`
//! journal_report() -> JournalReport                                 not async, no Result
//! ```
//!
//! `Settings` gets `journal: Option<work::Retention>`: none where `[work] enabled = false`.
//! A row of another owner is `ServiceError::NoWork(WorkId)`, as one that is not there; code `no_work`.

mod append;
mod backfill;
mod begin;
mod claim;
mod draft;
pub(crate) mod export;
mod findings;
mod keeping;
mod keys;
mod prune;
mod reader;
mod sealing;
mod session;
mod slow;
#[cfg(test)]
mod tests;
pub mod told;
mod verifying;
mod words;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

pub(crate) use backfill::Reading;
use cerebro_core::domain::{Timestamp, WorkId};
use cerebro_ledger::{Key, State, work::session_name};
pub use slow::MISSED_FILE;
#[cfg(test)]
pub(crate) use slow::note_missed;
pub use words::*;

use crate::{Service, ServiceError, lock};

/// Most pieces of work of one list.
pub const WORKS_LISTED_MAX: usize = 100;
/// Most findings of one verification.
pub const FINDINGS_MAX: usize = 1_000;
/// Most states that are kept in memory, so that the next event need not fold them anew.
const STATES_MAX: usize = 64;
/// The file of keys, beside the store.
pub const KEYS_FILE: &str = "journal.key";

/// What the journal has in memory.
pub(crate) struct Journal {
    /// How long what is kept; none where the journal is off.
    retention: Option<Retention>,
    key: Key,
    key_id: String,
    keyring: Arc<Mutex<keys::Keyring>>,
    states: Mutex<BTreeMap<WorkId, State>>,
    slow: Mutex<slow::Slow>,
    /// Where what is still to be told as missing lies over a restart.
    missed_file: PathBuf,
    /// What is not under a seal yet.
    unsealed: Mutex<keeping::Unsealed>,
    /// Rung when there is something to seal.
    bell: tokio::sync::Notify,
    /// When the claims of a holder were last renewed by what it did elsewhere.
    renewed: Mutex<BTreeMap<String, Timestamp>>,
    /// The tree of seals, once it was wanted. Held while a seal is made.
    sealed: tokio::sync::Mutex<Option<sealing::Sealed>>,
    /// The size and root of that tree, for hints.
    head: Mutex<Option<(u64, String)>>,
}

impl Journal {
    /// Reads the keys beside a store, or makes them.
    ///
    /// # Errors
    /// A file of keys that cannot be read or written, or is damaged.
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
            states: Mutex::default(),
            slow: Mutex::default(),
            missed_file: store_dir.with_file_name(MISSED_FILE),
            unsealed: Mutex::default(),
            bell: tokio::sync::Notify::new(),
            renewed: Mutex::default(),
            sealed: tokio::sync::Mutex::default(),
            head: Mutex::default(),
        })
    }

    /// The last state of a piece of work that is at hand.
    fn remembered(&self, id: &WorkId) -> Option<State> {
        lock(&self.states).get(id).cloned()
    }

    /// Whether one is.
    fn remembers(&self, id: &WorkId) -> bool {
        lock(&self.states).contains_key(id)
    }

    /// Keeps a state at hand, unless a later one is.
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

    /// Lets go of all states, where texts or work are taken away: a fork has those of what it goes on from, too.
    fn forget(&self) {
        lock(&self.states).clear();
    }
}

impl Actor {
    /// Who holds a claim of this actor's.
    fn holder(&self) -> String {
        self.session.as_ref().map_or_else(|| self.agent.to_string(), ToString::to_string)
    }

    /// The name of the piece of work of its session.
    fn session_name(&self) -> String {
        session_name(&self.owner, &self.holder())
    }
}

impl Service {
    fn journal(&self) -> &Journal {
        &self.0.journal
    }

    /// How long what is kept; none where the journal is off.
    pub fn work_retention(&self) -> Option<Retention> {
        self.journal().retention
    }

    /// Refuses what somebody asks of a journal that is off.
    fn needs_journal(&self) -> Result<(), ServiceError> {
        if self.journal().retention.is_some() {
            return Ok(());
        }
        Err(ServiceError::invalid("work", "", "the journal is off: set `[work] enabled = true`"))
    }
}
