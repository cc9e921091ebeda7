//! `cerebro prompt`: the text for an agent's instructions.

use clap::Args;
use serde_json::json;

use super::{CommandContext, Outcome};
use crate::cli::error::Result;
use crate::setup::{GUIDE, INSTRUCTIONS};

/// Print a text for an agent's instructions: when to save, when to search
///
/// The ten lines that `cerebro setup` puts into the instructions of agents that read them from a file.
#[derive(Debug, Args)]
pub struct PromptArgs {
    /// The long form, with every tool and the reasons
    #[arg(long)]
    full: bool,
}

pub fn run(context: &CommandContext, args: &PromptArgs) -> Result<Outcome> {
    let text = if args.full { GUIDE } else { INSTRUCTIONS };
    if !context.output.json(&json!({ "text": text }))? {
        context.output.write(text)?;
    }
    Ok(Outcome::Done)
}
