//! The answers about looking after the store.

use serde::{Deserialize, Serialize};

use super::Text;

/// `op_examine`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Examined {
    pub checks: Vec<Check>,
    pub schema_version: u32,
}

/// A check of the doctor and what it found.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Check {
    /// Its name.
    pub check: Text,
    /// `ok`, `fault`, `fixed` or `unknown`.
    pub state: Text,
    /// The finding.
    pub words: Text,
    /// Whether it is a fault that `fix` repairs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repairable: bool,
}
