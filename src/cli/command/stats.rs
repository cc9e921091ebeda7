//! `cerebro stats`: how much there is, and how the service is.

use std::path::Path;

use clap::Args;
use serde_json::Value;

use super::{CommandContext, Outcome, suggest};
use crate::cli::daemon_client::{Daemon, Request};
use crate::cli::error::Result;
use crate::cli::table::{bytes, duration, milliseconds, shown};
use crate::home::{Home, bytes_below};
use cerebro_core::operation::Operation;

/// Count what is stored, and show the state of the service
#[derive(Debug, Args)]
pub struct StatsArgs {
    /// Count only this project [default: all]
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
}

pub async fn run(context: &CommandContext, args: StatsArgs) -> Result<Outcome> {
    let home = context.home()?;
    let daemon = Daemon::reach(&home).await?;
    let request = Request::new(Operation::Stats).with("project", args.project.as_deref());
    let stats = daemon.ask(request).await?;
    let is_empty = stats["memories"]["live"] == 0 && !context.output.is_json();
    let project = args.project.as_deref().filter(|_| is_empty);
    let meant = suggest::instead(&daemon, project, None).await?;
    daemon.close().await;
    if !context.output.json(&stats)? {
        context.output.facts(&facts(&stats, &home))?;
        for words in &meant {
            context.output.note(words);
        }
    }
    Ok(Outcome::Done)
}

fn facts(stats: &Value, home: &Home) -> Vec<(&'static str, String)> {
    let below = |dir: &Path| bytes(bytes_below(dir));
    // Edges are counted in all projects.
    let edges =
        |name: &str| if stats["project"].is_null() { shown(&stats["edges"][name]) } else { String::new() };
    let size = |name: &str| stats[name].as_u64().map(bytes).unwrap_or_default();
    let worker = &stats["worker"];
    vec![
        ("project", shown(&stats["project"])),
        ("memories", shown(&stats["memories"]["live"])),
        ("deleted memories", shown(&stats["memories"]["deleted"])),
        ("sessions", shown(&stats["sessions"])),
        ("prompts", shown(&stats["prompts"])),
        ("projects", shown(&stats["projects"])),
        ("memories linked to sessions", edges("created_in")),
        ("relations between memories", edges("relates_to")),
        ("sessions that follow others", edges("follows")),
        ("on disk", below(home.root())),
        ("of it the store", size("store_bytes")),
        ("of it the index", size("index_bytes")),
        (
            "of it models and their runtime",
            bytes(bytes_below(&home.models_dir()) + bytes_below(&home.runtime_dir())),
        ),
        ("schema version", shown(&stats["schema_version"])),
        ("worker", shown(&worker["state"])),
        ("worker's provider", shown(&worker["provider"])),
        ("worker's model", shown(&worker["model"])),
        ("worker's queue", shown(&worker["queue_depth"])),
        ("worker's failures", shown(&worker["failures"])),
        ("jobs given up", shown(&worker["dead"])),
        ("time from save to vector, median", milliseconds(&worker["lag_p50_ms"])),
        ("time from save to vector, 99 %", milliseconds(&worker["lag_p99_ms"])),
        ("tokens spent today", shown(&worker["tokens_today"])),
        ("requests today", shown(&worker["requests_today"])),
        ("worker says", shown(&worker["detail"])),
        ("clients", shown(&stats["clients"])),
        ("daemon version", shown(&stats["version"])),
        ("daemon up for", stats["uptime_s"].as_u64().map(duration).unwrap_or_default()),
    ]
}
