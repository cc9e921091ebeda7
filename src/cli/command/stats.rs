//! `cerebro stats`: how much there is, and how the service is.

use clap::Args;
use serde_json::Value;

use super::{CommandContext, Outcome};
use crate::cli::daemon_client::{Daemon, Request};
use crate::cli::error::Result;
use crate::cli::table::{bytes, duration, milliseconds, shown};
use cerebro_core::operation::Operation;

/// Count what is stored, and show the state of the service
#[derive(Debug, Args)]
pub struct StatsArgs {
    /// Count only this project [default: all]
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
}

pub async fn run(context: &CommandContext, args: StatsArgs) -> Result<Outcome> {
    let daemon = Daemon::reach(&context.home()?).await?;
    let stats = daemon.ask(Request::new(Operation::Stats).with("project", args.project)).await?;
    daemon.close().await;
    if !context.output.json(&stats)? {
        context.output.facts(&facts(&stats))?;
    }
    Ok(Outcome::Done)
}

fn facts(stats: &Value) -> Vec<(&'static str, String)> {
    let size = |name: &str| stats[name].as_u64().map(bytes).unwrap_or_default();
    let worker = &stats["worker"];
    vec![
        ("project", shown(&stats["project"])),
        ("memories", shown(&stats["memories"]["live"])),
        ("deleted memories", shown(&stats["memories"]["deleted"])),
        ("sessions", shown(&stats["sessions"])),
        ("prompts", shown(&stats["prompts"])),
        ("projects", shown(&stats["projects"])),
        ("created in", shown(&stats["edges"]["created_in"])),
        ("relates to", shown(&stats["edges"]["relates_to"])),
        ("follows", shown(&stats["edges"]["follows"])),
        ("on disk", size("disk_bytes")),
        ("of it the store", size("store_bytes")),
        ("of it the index", size("index_bytes")),
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
