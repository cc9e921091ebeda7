//! The amount of data, and the state of the daemon and its worker: `mem_stats`.

use super::prelude::*;
use super::{health, reply::day, worker_ops};
use crate::answer::stats::{Edges, Memories, Stats};
use crate::daemon::VERSION;
use cerebro_core::domain::Project;

pub(super) async fn stats(call: &mut Call) -> Answer {
    let project = call.arguments.project()?;
    // Health takes the census, from which the projects are counted.
    let (health, health_line) = health::block(call, project.as_ref()).await?;
    let stats = call.service.recall.stats(project.as_ref()).await?;
    let worker = worker_ops::facts(&call.service).await?;
    let folder = call.context.home().store_dir();
    let bytes = tokio::task::spawn_blocking(move || crate::home::bytes_below(&folder));
    let store_bytes = bytes.await.unwrap_or_default();
    let control = call.context.control();
    let (counts, count) = (&stats.counts, |count: i64| u64::try_from(count).unwrap_or_default());
    let answer = Stats {
        project: project.as_ref().map(Text::of),
        memories: Memories { live: count(counts.memories), deleted: count(counts.deleted) },
        sessions: count(counts.sessions),
        prompts: count(counts.prompts),
        projects: stats.projects as u64,
        edges: Edges {
            created_in: count(counts.created_in),
            relates_to: count(counts.relates_to),
            follows: count(counts.follows),
        },
        disk_bytes: store_bytes + stats.index_bytes,
        store_bytes,
        index_bytes: stats.index_bytes,
        schema_version: stats.schema_version,
        worker,
        health,
        clients: control.clients() as u64,
        version: VERSION.into(),
        uptime_s: control.uptime().as_secs(),
    };
    let Stats { memories, edges, .. } = &answer;
    Ok(Reply::saying(format!(
        "{}: {}, {} deleted, {}, {}; {}",
        project.as_ref().map_or("all projects", Project::as_str),
        text::counted(memories.live, "live memory"),
        memories.deleted,
        text::counted(answer.sessions, "session"),
        text::counted(answer.prompts, "prompt"),
        text::counted(answer.projects, "project")
    ))
    .line(format!(
        "edges: {} created_in, {} relates_to, {} follows",
        edges.created_in, edges.relates_to, edges.follows
    ))
    .line(format!(
        "disk: {} bytes ({store_bytes} store, {} index); schema version {}",
        answer.disk_bytes, answer.index_bytes, answer.schema_version
    ))
    .line(worker_ops::line(&answer.worker))
    .line(health_line)
    .line(format!(
        "daemon: version {}, up {} s, {}, since {}",
        VERSION,
        answer.uptime_s,
        text::counted(answer.clients, "client"),
        day(control.started_at())
    ))
    .answering::<of::Stats>(answer))
}
