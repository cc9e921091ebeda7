//! `cerebro health`: the health of the memory, and advice on bad figures.

use clap::Args;

use super::{CommandContext, Outcome};
use crate::cli::daemon_client::{Daemon, Request};
use crate::cli::error::Result;
use crate::view;
use cerebro_core::operation::Operation;

/// Show how the memory is: its strength, what is stale, due, flagged or double, and what to do about it
///
/// All figures are computed now. Strength falls only where a memory is of what happened and nothing exempts it, and it
/// orders nothing. What is stale is looked up in the working folder, for the memories of its project.
#[derive(Debug, Args)]
pub struct HealthArgs {
    /// Only this project [default: all]
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
}

pub async fn run(context: &CommandContext, args: HealthArgs) -> Result<Outcome> {
    let daemon = Daemon::reach_patiently(&context.home()?).await?;
    let health = daemon.ask(Request::new(Operation::Health).with("project", args.project)).await?;
    daemon.close().await;
    if context.output.json(&health)? {
        return Ok(Outcome::Done);
    }
    let facts: Vec<view::Fact> = view::vitals(&health).into_iter().chain(view::spent(&health)).collect();
    let lines: Vec<(&str, String)> = facts.iter().map(|fact| (fact.name, fact.words.clone())).collect();
    context.output.facts(&lines)?;
    for (name, todo) in facts.iter().filter_map(|fact| Some((fact.name, fact.todo?))) {
        context.output.note(&format!("{name}: {todo}"));
    }
    Ok(Outcome::Done)
}
