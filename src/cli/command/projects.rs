//! `cerebro projects`: which there are, and making two one.

use clap::{Args, Subcommand};

use super::list::name_personal;
use super::{CommandContext, Outcome};
use crate::cli::daemon_client::{Daemon, Request};
use crate::cli::error::Result;
use crate::cli::table::{Layout, Table, shown};
use cerebro_core::operation::Operation;

/// List projects, or merge two
#[derive(Debug, Args)]
pub struct ProjectsArgs {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Move everything of one project to another; this cannot be undone
    Merge(MergeArgs),
}

#[derive(Debug, Args)]
struct MergeArgs {
    /// The project that ends
    from: String,
    /// The project that takes its memories, sessions and prompts
    into: String,
    /// Do not ask first; needed where no terminal is
    #[arg(long)]
    yes: bool,
}

const PROJECTS: &[(&str, Layout)] = &[
    ("project", Layout::Flexible),
    ("memories", Layout::Count),
    ("sessions", Layout::Count),
    ("prompts", Layout::Count),
    ("last", Layout::Moment),
];

pub async fn run(context: &CommandContext, args: ProjectsArgs) -> Result<Outcome> {
    match args.action {
        None => list(context).await,
        Some(Action::Merge(args)) => merge(context, args).await,
    }
}

async fn list(context: &CommandContext) -> Result<Outcome> {
    let daemon = Daemon::reach(&context.home()?).await?;
    let mut answer = daemon.ask(Request::new(Operation::Projects)).await?;
    daemon.close().await;
    if context.output.json(&answer)? {
        return Ok(Outcome::Done);
    }
    name_personal(&mut answer["projects"]);
    let fields = ["project", "memories", "sessions", "prompts", "last_at"];
    context.output.table(&Table::of(PROJECTS, &fields, &answer["projects"]), "no projects yet")?;
    Ok(Outcome::Done)
}

async fn merge(context: &CommandContext, args: MergeArgs) -> Result<Outcome> {
    let MergeArgs { from, into, yes } = args;
    let question = format!("Make everything of project {from} belong to {into}? This cannot be undone.");
    if !yes && !context.output.confirm(&question)? {
        context.output.note("nothing was moved");
        return Ok(Outcome::Short);
    }
    let daemon = Daemon::reach_patiently(&context.home()?).await?;
    let merged =
        daemon.ask(Request::new(Operation::MergeProjects).with("from", from).with("into", into)).await?;
    daemon.close().await;
    if context.output.json(&merged)? {
        return Ok(Outcome::Done);
    }
    context.output.facts(&[
        ("memories", shown(&merged["memories"])),
        ("sessions", shown(&merged["sessions"])),
        ("prompts", shown(&merged["prompts"])),
    ])?;
    for kept in merged["kept"].as_array().into_iter().flatten() {
        let (id, holder) = (shown(&kept["id"]), shown(&kept["topic_held_by"]));
        context.output.note(&format!("{id} lost its topic key, which {holder} has already"));
    }
    Ok(Outcome::Done)
}
