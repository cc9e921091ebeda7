//! What the reports share: a home with its daemon, clients, made-up data, statistics and the table.
#![expect(dead_code, reason = "each report uses a part of it")]

pub mod client;
pub mod corpus;
pub mod folds;
pub mod journal;
pub mod kills;
pub mod metrics;
pub mod operator;
pub mod process;
pub mod reference;
pub mod secrets;
pub mod set;
pub mod stages;
pub mod stats;
pub mod table;

use anyhow::{Context, Result};

/// The number in a variable, or a default.
pub fn number(variable: &str, default: usize) -> Result<usize> {
    let Ok(text) = std::env::var(variable) else { return Ok(default) };
    text.trim().parse().with_context(|| format!("{variable} is `{text}`, which is not a number"))
}
