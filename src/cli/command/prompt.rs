//! `cerebro prompt`: what to tell an agent.

use serde_json::json;

use super::{Desk, Outcome};
use crate::cli::error::Result;
use crate::setup::INSTRUCTIONS;

pub fn run(desk: &Desk) -> Result<Outcome> {
    if !desk.output.json(&json!({ "text": INSTRUCTIONS }))? {
        desk.output.write(INSTRUCTIONS)?;
    }
    Ok(Outcome::Done)
}
