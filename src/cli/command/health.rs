//! `cerebro health`: the health of the memory, and advice on bad figures.

use super::prelude::*;
use crate::view;

/// Show what is stale, due, flagged or alike, and what to do
///
/// All figures are computed now. Memories of the working folder's project are checked against the code in this folder.
/// Only episodic memories lose strength, and strength does not change the order of hits. docs/health.md explains the
/// figures.
#[derive(Debug, Args)]
pub struct HealthArgs {
    /// Only this project [default: all]
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
}

pub async fn run(context: &CommandContext, args: HealthArgs) -> Result<()> {
    let daemon = Daemon::reach_patiently(&context.home()?).await?;
    let request = Request::new(of::Health).with("project", args.project.as_deref());
    let report = daemon.read(request).await?;
    let suggestions = suggest::for_unknown(&daemon, args.project.as_deref(), None).await?;
    context.output.json(report.raw())?;
    let facts = [view::vitals(&report.health), view::spent(&report.worker)].concat();
    let lines: Vec<(&str, String)> = facts.iter().map(|fact| (fact.name, fact.words.clone())).collect();
    context.output.facts(&lines)?;
    for (name, todo) in facts.iter().filter_map(|fact| Some((fact.name, fact.todo?))) {
        context.output.note(&format!("{name}: {todo}"));
    }
    context.output.notes(&suggestions);
    Ok(())
}
