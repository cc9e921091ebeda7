//! `cerebro stats`: the amount of data, and the state of the service.

use super::prelude::*;
use crate::answer::stats::Stats;
use crate::cli::table::{duration, milliseconds};
use crate::home::{Home, bytes_below};

/// Count what is stored, and show the state of the service
#[derive(Debug, Args)]
pub struct StatsArgs {
    /// Only this project [default: all]
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
}

pub async fn run(context: &CommandContext, args: StatsArgs) -> Result<()> {
    let home = context.home()?;
    let daemon = Daemon::reach(&home).await?;
    let request = Request::new(of::Stats).with("project", args.project.as_deref());
    let stats = daemon.read(request).await?;
    let is_empty = stats.memories.live == 0 && !context.output.is_json();
    let project = args.project.as_deref().filter(|_| is_empty);
    let suggestions = suggest::for_unknown(&daemon, project, None).await?;
    if !context.output.json(stats.raw())? {
        context.output.facts(&facts(&stats, &Sizes::of(&home)))?;
        context.output.notes(&suggestions);
    }
    Ok(())
}

/// Bytes of the home on this disk.
struct Sizes {
    all: u64,
    /// The part of the models and what runs them.
    models: u64,
}

impl Sizes {
    fn of(home: &Home) -> Self {
        let models = bytes_below(&home.models_dir()) + bytes_below(&home.runtime_dir());
        Self { all: bytes_below(home.root()), models }
    }
}

fn facts(stats: &Stats, sizes: &Sizes) -> Vec<(&'static str, String)> {
    // Edges are counted in all projects.
    let edges = |count: u64| if stats.project.is_none() { count.to_string() } else { String::new() };
    let worker = &stats.worker;
    vec![
        ("project", shown(&stats.project)),
        ("memories", shown(&stats.memories.live)),
        ("deleted memories", shown(&stats.memories.deleted)),
        ("sessions", shown(&stats.sessions)),
        ("prompts", shown(&stats.prompts)),
        ("projects", shown(&stats.projects)),
        ("memories linked to sessions", edges(stats.edges.created_in)),
        ("relations between memories", edges(stats.edges.relates_to)),
        ("sessions that follow others", edges(stats.edges.follows)),
        ("on disk", bytes(sizes.all)),
        ("store on disk", bytes(stats.store_bytes)),
        ("index on disk", bytes(stats.index_bytes)),
        ("models on disk", bytes(sizes.models)),
        ("schema version", shown(&stats.schema_version)),
        ("worker", shown(&worker.state)),
        ("worker's provider", shown(&worker.provider)),
        ("worker's model", shown(&worker.model)),
        ("worker's queue", shown(&worker.queue_depth)),
        ("worker's failures", shown(&worker.failures)),
        ("jobs given up", shown(&worker.dead)),
        ("time from save to vector, median", milliseconds(worker.lag_p50_ms)),
        ("time from save to vector, 99 %", milliseconds(worker.lag_p99_ms)),
        ("tokens spent today", shown(&worker.tokens_today)),
        ("requests today", shown(&worker.requests_today)),
        ("worker says", shown(&worker.detail)),
        ("clients", shown(&stats.clients)),
        ("daemon version", shown(&stats.version)),
        ("daemon up for", duration(stats.uptime_s)),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::list::tests::facts_at_three_widths;
    use super::*;
    use crate::answer::{
        stats::{Edges, Memories},
        worker::Worker,
    };

    #[test]
    fn figures_are_readable_at_three_widths() {
        let stats = Stats {
            memories: Memories { live: 20_000, deleted: 3 },
            sessions: 410,
            prompts: 1,
            projects: 12,
            edges: Edges { created_in: 20_000, relates_to: 81_000, follows: 40 },
            store_bytes: 91_000_000,
            index_bytes: 12_000_000,
            schema_version: 16,
            clients: 2,
            version: "1.2.3".into(),
            uptime_s: 4_000,
            worker: Worker {
                state: "waiting".into(),
                provider: Some("openai".into()),
                model: Some("text-embedding-3-small".into()),
                queue_depth: 7,
                failures: 2,
                dead: 1,
                lag_p50_ms: Some(812),
                lag_p99_ms: Some(61_000),
                tokens_today: Some(12_345),
                requests_today: Some(90),
                detail: Some("today's budget is spent; it goes on at midnight UTC".into()),
                ..Worker::default()
            },
            ..Stats::default()
        };
        let sizes = Sizes { all: 240_000_000, models: 130_000_000 };
        facts_at_three_widths("stats", &facts(&stats, &sizes));
    }
}
