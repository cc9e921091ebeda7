//! The answers about the daemon and those who call it.

use serde::{Deserialize, Serialize};

use super::{Text, backup};
use cerebro_core::operation::Operation;

/// `op_status`; also while the store is opening, or if it cannot be opened.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Status {
    pub pid: u32,
    pub version: Text,
    /// Seconds since it started.
    pub uptime_s: u64,
    /// How many are connected, with the one that asks.
    pub clients: u64,
    pub started_at: Text,
    /// `opening`, `ready`, `closed`, or `failed: ` and why.
    pub store: Text,
    /// The folder of its home.
    pub home: Text,
    /// Where the database is, if that is on a server: its address and what it is called there.
    pub database: Option<Text>,
    /// The address at which it serves MCP over HTTP.
    pub http: Option<Text>,
    /// None before the first attempt since it started.
    pub backup: Option<backup::Last>,
    /// None until the store is open.
    pub journal: Option<Journal>,
}

/// The state of the journal of work.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Journal {
    pub enabled: bool,
    /// Until when it counts as degraded: it answered too slowly, so callers do not wait for it, or a write failed.
    pub degraded_until: Option<Text>,
    /// Events that are missing and not recorded by a gap yet.
    pub missed: u64,
    /// The files of keys that were damaged and moved aside, if any.
    pub damaged_keys: Option<Text>,
}

/// `op_stop`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Stopping {
    pub pid: u32,
}

/// `op_clients`: the earliest first, without those that only watch.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Clients {
    pub clients: Vec<Client>,
}

/// A connected client.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Client {
    /// Empty until its first call.
    pub agent: Text,
    pub project: Text,
    pub pid: u32,
    pub since: Text,
    pub calls: u64,
    pub last_at: Option<Text>,
}

/// `op_live`: the calls after a number, the oldest first.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Calls {
    pub calls: Vec<Call>,
    /// The number of the last call of all; 0 before the first.
    pub last: u64,
}

/// An answered call.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Call {
    /// Its number, from 1 since the daemon started.
    pub n: u64,
    pub at: Text,
    /// The operation, by its name.
    pub tool: Text,
    pub agent: Text,
    pub project: Text,
    pub session_id: Text,
    /// How long it took, in milliseconds.
    pub ms: u64,
    pub failed: bool,
    /// The result in a few words.
    pub outcome: Text,
    /// The beginnings of its arguments, redacted.
    pub arguments: Text,
}

impl Call {
    /// Whether it may have changed the store.
    pub fn changes(&self) -> bool {
        // The effect of an operation of a later version is unknown.
        !self.failed && Operation::named(self.tool.raw()).is_none_or(Operation::changes_memories)
    }
}
