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
    /// The finding; and what to do, if the user must act.
    pub words: Text,
}
