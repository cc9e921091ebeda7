//! `cerebro setup --all`: configures every agent on this machine, after showing each change.

use super::super::prelude::*;
use super::{AgentFiles, Plan, SetupArgs, SetupContext, history, print_differences, print_files};
use crate::setup::{AGENTS, Agent, Change};
use cerebro_core::domain::Run;

/// An agent that was found, and what would be done to its files.
struct Found {
    agent_files: AgentFiles,
    plan: Plan,
}

/// Plans all agents before the first file is written, and shows the differences. An agent whose files cannot be
/// edited or written is named; the others are set up.
pub async fn run(context: &CommandContext, args: &SetupArgs) -> Result<()> {
    let setup = SetupContext::of(context)?;
    let (mut found, mut faults) = (Vec::new(), Vec::new());
    for agent in AGENTS.iter().filter(|agent| agent.is_installed(&setup.folders)) {
        let planned =
            AgentFiles::of(context, agent).and_then(|agent_files| Ok((agent_files.plan(args)?, agent_files)));
        match planned {
            Ok((plan, agent_files)) => found.push(Found { agent_files, plan }),
            Err(error) => faults.push(fault(context, agent, &error)),
        }
    }
    if found.is_empty() {
        context.output.json(&json!({ "agents": [], "faults": faults }))?;
        done_if(faults.is_empty())?;
        context.output.note(
            "no agent was found here; `cerebro setup` lists those that it knows, and `cerebro setup AGENT` sets one up \
             all the same",
        );
        return Ok(());
    }
    let changes = || found.iter().flat_map(|found| &found.plan.changes);
    let is_any = changes().any(Change::is_any);
    print_differences(context, changes(), Run::dry_if(args.dry_run))?;
    if !args.dry_run {
        context.output.agree(args.yes || !is_any, &question(&found), "nothing was changed")?;
        found.retain_mut(|Found { agent_files, plan }| match agent_files.apply(context, plan) {
            Ok(()) => true,
            Err(error) => {
                faults.push(fault(context, agent_files.agent, &error));
                false
            }
        });
    }
    let is_whole = faults.is_empty();
    print(context, &setup, &found, Run::dry_if(args.dry_run), faults)?;
    if !args.dry_run {
        history::offer(context, &setup, args.history, !args.yes).await?;
    }
    done_if(is_whole)
}

/// Says why an agent was not set up.
fn fault(context: &CommandContext, agent: &Agent, error: &Error) -> Value {
    context.output.warn(&format!("{} was not set up: {error}", agent.title));
    json!({ "agent": agent.name, "problem": error.to_string() })
}

fn question(found: &[Found]) -> String {
    let changed = found.iter().filter(|found| found.plan.changes.iter().any(Change::is_any));
    let titles: Vec<&str> = changed.map(|found| found.agent_files.agent.title).collect();
    format!("Make these changes, for {}?", titles.join(", "))
}

fn print(
    context: &CommandContext,
    setup: &SetupContext,
    found: &[Found],
    run: Run,
    faults: Vec<Value>,
) -> Result<()> {
    let answer = |found: &Found| found.agent_files.answer(&found.plan.changes, run, &found.plan.notes);
    let agents: Vec<Value> = found.iter().map(answer).collect();
    context.output.json(&json!({ "agents": agents, "faults": faults }))?;
    if run == Run::Real {
        let changes = found.iter().flat_map(|found| &found.plan.changes);
        print_files(context, setup, changes, "nothing was set up")?;
    }
    for note in found.iter().flat_map(|found| &found.plan.notes) {
        context.output.note(note);
    }
    Ok(())
}
