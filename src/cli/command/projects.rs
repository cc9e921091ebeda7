//! `cerebro projects`: which there are, and making two one.

use clap::{Args, Subcommand};

use super::list::name_personal;
use super::{Desk, Outcome};
use crate::cli::error::Result;
use crate::cli::request::{Daemon, Request};
use crate::cli::table::{Layout, Table, shown};

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

pub async fn run(desk: &Desk, args: ProjectsArgs) -> Result<Outcome> {
    match args.action {
        None => list(desk).await,
        Some(Action::Merge(args)) => merge(desk, args).await,
    }
}

async fn list(desk: &Desk) -> Result<Outcome> {
    let daemon = Daemon::reach(&desk.home()?).await?;
    let mut answer = daemon.ask(Request::new("op_projects")).await?;
    daemon.close().await;
    if desk.output.json(&answer)? {
        return Ok(Outcome::Done);
    }
    name_personal(&mut answer["projects"]);
    let fields = ["project", "memories", "sessions", "prompts", "last_at"];
    desk.output.table(&Table::of(PROJECTS, &fields, &answer["projects"]), "no projects yet")?;
    Ok(Outcome::Done)
}

async fn merge(desk: &Desk, args: MergeArgs) -> Result<Outcome> {
    let MergeArgs { from, into, yes } = args;
    let question = format!("Make everything of project {from} belong to {into}? This cannot be undone.");
    if !yes && !desk.output.confirm(&question)? {
        desk.output.note("nothing was moved");
        return Ok(Outcome::Short);
    }
    let daemon = Daemon::reach_patiently(&desk.home()?).await?;
    let merged = daemon.ask(Request::new("op_merge_projects").with("from", from).with("into", into)).await?;
    daemon.close().await;
    if desk.output.json(&merged)? {
        return Ok(Outcome::Done);
    }
    desk.output.facts(&[
        ("memories", shown(&merged["memories"])),
        ("sessions", shown(&merged["sessions"])),
        ("prompts", shown(&merged["prompts"])),
    ])?;
    for kept in merged["kept"].as_array().into_iter().flatten() {
        let (id, holder) = (shown(&kept["id"]), shown(&kept["topic_held_by"]));
        desk.output.note(&format!("{id} lost its topic key, which {holder} has already"));
    }
    Ok(Outcome::Done)
}
