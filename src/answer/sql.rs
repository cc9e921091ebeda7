//! The answers in the store's own language. What a row looks like is up to the statement.

use std::ops::Not;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// `op_sql`: an answer for each statement.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Results {
    pub results: Vec<Statement>,
}

/// The answer of a statement.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Statement {
    /// Rows, or a single value.
    pub result: Value,
    /// How long it took, in milliseconds.
    pub ms: f64,
    /// Whether there was more than the bounds allow.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub cut: bool,
    /// Whether it could have written and answered nothing: nothing was written.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub wrote_nothing: bool,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// `op_whatif`: what statements would change; it was undone.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Trial {
    /// Rows that would be created, changed and deleted, by table: `deed`, `place` and `rows`.
    pub tables: Vec<Value>,
    /// These rows in the order of the changes, up to the bound that was asked for: `deed`, `id` and `row`.
    pub changes: Vec<Value>,
    /// Whether there are more.
    pub more: bool,
}
