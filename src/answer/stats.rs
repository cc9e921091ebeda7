//! The answer about the amount of data.

use serde::{Deserialize, Serialize};

use super::{Text, health::Health, worker::Worker};

/// `mem_stats`: part of the public contract.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Stats {
    /// The project that it is about, if it is not all.
    pub project: Option<Text>,
    pub memories: Memories,
    pub sessions: u64,
    pub prompts: u64,
    /// Projects that have anything, whichever project was asked about.
    pub projects: u64,
    pub edges: Edges,
    /// Bytes of store and index together, and of each.
    pub disk_bytes: u64,
    pub store_bytes: u64,
    pub index_bytes: u64,
    pub schema_version: u32,
    pub worker: Worker,
    pub health: Health,
    /// How many are connected to the daemon, with the one that asks.
    pub clients: u64,
    /// The daemon's version.
    pub version: Text,
    /// Seconds since the daemon started.
    pub uptime_s: u64,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Memories {
    pub live: u64,
    /// Purged ones too.
    pub deleted: u64,
}

/// Edges, in all projects.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Edges {
    /// From a memory to its session.
    pub created_in: u64,
    /// Between memories.
    pub relates_to: u64,
    /// Between sessions.
    pub follows: u64,
}
