//! The answers about backups.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Text;

/// `op_backup`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Made {
    /// Its path.
    pub file: Text,
    /// The moment of its contents.
    pub at: Text,
    /// Rows by table.
    pub rows: BTreeMap<String, u64>,
    /// The size of the file.
    pub bytes: u64,
    /// Whether it was read again and compared.
    pub verified: bool,
    /// The paths of older backups that were removed for it.
    pub removed: Vec<Text>,
}

/// `op_backup_progress`: of the backup that is being made; empty if none is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Progress {
    /// Rows that are written.
    pub rows: Option<u64>,
    pub total: Option<u64>,
}

/// The last backup since the daemon started, and the failure of the last attempt.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Last {
    pub made_at: Option<Text>,
    /// Its path.
    pub file: Option<Text>,
    pub failed_at: Option<Text>,
    pub failure: Option<Text>,
}
