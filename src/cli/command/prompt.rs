//! `cerebro prompt`: what to tell an agent.

use serde_json::json;

use super::{Desk, Outcome};
use crate::cli::error::Result;

/// The text for an agent's instructions.
const TEMPLATE: &str = include_str!("../../../prompt_template.md");

pub fn run(desk: &Desk) -> Result<Outcome> {
    if !desk.output.json(&json!({ "text": TEMPLATE }))? {
        desk.output.write(TEMPLATE)?;
    }
    Ok(Outcome::Done)
}
