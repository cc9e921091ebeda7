//! `cerebro prompt`: the text for an agent's instructions.

use super::prelude::*;
use crate::setup::{GUIDE, INSTRUCTIONS};

/// Print the instructions for agents: when to save, when to search
///
/// These are the ten lines that `cerebro setup` adds to the instructions of agents.
#[derive(Debug, Args)]
pub struct PromptArgs {
    /// Print the long form, with every tool and the reasons
    #[arg(long)]
    full: bool,
}

pub fn run(context: &CommandContext, args: &PromptArgs) -> Result<()> {
    let text = if args.full { GUIDE } else { INSTRUCTIONS };
    if !context.output.json(&json!({ "text": text }))? {
        context.output.write(text)?;
    }
    Ok(())
}
