//! `cerebro worker`, `jobs` and `reindex`: the background work on memories after they are saved.

use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

use super::{CommandContext, Outcome, within};
use crate::cli::daemon_client::{Daemon, Request};
use crate::cli::error::{Error, Result};
use crate::cli::table::{Layout, Table, milliseconds, shown};
use cerebro_core::domain::limits::LISTING_MAX;
use cerebro_core::operation::Operation;
use cerebro_core::text;

/// How often the progress is polled.
const GLANCE: Duration = Duration::from_millis(500);
/// How many jobs are listed.
const JOBS_DEFAULT: usize = 50;

/// Show, pause or resume the worker that gives memories vectors
#[derive(Debug, Args)]
pub struct WorkerArgs {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Pause the worker until it is resumed, also across restarts
    Pause,
    /// Resume the worker
    Resume(WaitArgs),
    /// Show what the worker does, and how many jobs wait
    Status(WaitArgs),
}

#[derive(Debug, Args)]
struct WaitArgs {
    /// Show the progress, and wait until nothing is left to do
    #[arg(long)]
    wait: bool,
}

/// List jobs that wait or were given up, or retry the latter
#[derive(Debug, Args)]
pub struct JobsArgs {
    #[command(subcommand)]
    action: Option<JobsAction>,
}

#[derive(Debug, Subcommand)]
enum JobsAction {
    /// List jobs
    List(ListArgs),
    /// Retry the jobs that were given up
    Retry,
}

#[derive(Debug, Args)]
struct ListArgs {
    /// Only jobs in this state [default: all, those that were given up first]
    #[arg(long, value_enum)]
    state: Option<State>,
    /// Show at most N, 1 to 500
    #[arg(long, value_name = "N", default_value_t = JOBS_DEFAULT, value_parser = within(1..=LISTING_MAX))]
    limit: usize,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum State {
    /// Given up
    Dead,
    /// Waiting
    Queued,
    /// Under way
    Leased,
}

/// Compute all vectors again, with the model that is set
///
/// Searches use the old vectors until all new ones are there. If the model has not changed, only missing vectors are
/// computed. An interrupted run goes on by itself.
#[derive(Debug, Args)]
pub struct ReindexArgs {
    /// Return at once, without waiting for the end
    #[arg(long)]
    no_wait: bool,
}

const JOBS: &[(&str, Layout)] = &[
    ("memory", Layout::Fixed),
    ("state", Layout::Fixed),
    ("attempts", Layout::Count),
    ("due", Layout::Moment),
    ("title", Layout::Flexible),
    ("error", Layout::Flexible),
];

pub async fn worker(context: &CommandContext, args: WorkerArgs) -> Result<Outcome> {
    let daemon = Daemon::reach(&context.home()?).await?;
    let (request, wait) = match args.action {
        Some(Action::Pause) => (Operation::WorkerPause, false),
        Some(Action::Resume(args)) => (Operation::WorkerResume, args.wait),
        Some(Action::Status(args)) => (Operation::Worker, args.wait),
        None => (Operation::Worker, false),
    };
    let mut facts = daemon.ask(Request::new(request)).await?["worker"].take();
    if wait {
        facts = watch(context, &daemon).await?;
    }
    daemon.close().await;
    show(context, &facts)?;
    if request == Operation::WorkerPause && facts["state"] != "paused" {
        context.output.note("it pauses as soon as what it is at is done");
    }
    Ok(if wait && !is_done(&facts) { Outcome::Short } else { Outcome::Done })
}

fn show(context: &CommandContext, facts: &Value) -> Result<()> {
    if context.output.json(facts)? {
        return Ok(());
    }
    context.output.facts(&[
        ("worker", shown(&facts["state"])),
        ("provider", shown(&facts["provider"])),
        ("model", shown(&facts["model"])),
        ("searches ask", shown(&facts["searched_model"])),
        ("queue", shown(&facts["queue_depth"])),
        ("embedded", shown(&facts["embedded"])),
        ("failed attempts", shown(&facts["failures"])),
        ("given up", shown(&facts["dead"])),
        ("time from save to vector, median", milliseconds(&facts["lag_p50_ms"])),
        ("time from save to vector, 99 %", milliseconds(&facts["lag_p99_ms"])),
        ("tokens today", shown(&facts["tokens_today"])),
        ("requests today", shown(&facts["requests_today"])),
        ("note", shown(&facts["detail"])),
        ("relations ask", shown(&facts["relations"])),
        ("relations fault", shown(&facts["relations_fault"])),
    ])
}

/// Whether every memory has vectors of the model that searches use.
fn is_done(facts: &Value) -> bool {
    facts["state"] == "idle" && facts["queue_depth"] == 0 && facts["filling"].is_null()
}

/// Whether the worker cannot continue until the user does something.
fn is_stuck(facts: &Value) -> bool {
    matches!(facts["state"].as_str(), Some("off" | "paused" | "disagrees" | "unusable"))
}

/// Shows the progress until nothing is left to do or the worker cannot continue. Returns its last state.
async fn watch(context: &CommandContext, daemon: &Daemon) -> Result<Value> {
    let bar = context.output.progress(Some(0), "{bar:30} {human_pos} of {human_len} memories, {elapsed}");
    let mut most = 0;
    let mut stuck = 0;
    loop {
        let facts = daemon.ask(Request::new(Operation::Worker)).await?["worker"].take();
        let depth = facts["queue_depth"].as_u64().unwrap_or_default();
        most = most.max(depth);
        bar.set_length(most);
        bar.set_position(most - depth);
        // Polls a few more times, because a worker that was just notified may not have reacted yet.
        stuck = if is_stuck(&facts) { stuck + 1 } else { 0 };
        if is_done(&facts) || stuck > 4 {
            bar.finish_and_clear();
            return Ok(facts);
        }
        tokio::time::sleep(GLANCE).await;
    }
}

pub async fn jobs(context: &CommandContext, args: JobsArgs) -> Result<Outcome> {
    let daemon = Daemon::reach(&context.home()?).await?;
    let list = match args.action {
        Some(JobsAction::Retry) => {
            let answer = daemon.ask(Request::new(Operation::JobsRetry)).await?;
            daemon.close().await;
            if !context.output.json(&answer)? {
                context.output.note(&format!(
                    "tried again: {}",
                    text::counted(answer["revived"].as_u64().unwrap_or_default(), "job")
                ));
            }
            return Ok(Outcome::Done);
        }
        Some(JobsAction::List(list)) => list,
        None => ListArgs { state: None, limit: JOBS_DEFAULT },
    };
    let answer = match list.state {
        Some(state) => daemon.ask(jobs_in(state, list.limit)).await?,
        None => all_jobs(&daemon, list.limit).await?,
    };
    daemon.close().await;
    if context.output.json(&answer)? {
        return Ok(Outcome::Done);
    }
    let (queued, leased, dead) = (&answer["queued"], &answer["leased"], &answer["dead"]);
    context.output.note(&format!("{queued} wait, {leased} are under way, {dead} were given up"));
    let fields = ["memory", "state", "attempts", "due_at", "title", "error"];
    let rows = ["jobs", "under_way", "waiting"].into_iter().filter_map(|name| answer[name].as_array());
    let rows = Value::Array(rows.flatten().cloned().collect());
    context.output.table(&Table::of(JOBS, &fields, &rows), "none to list")?;
    Ok(Outcome::Done)
}

fn jobs_in(state: State, limit: usize) -> Request {
    let state = state.to_possible_value().map(|value| value.get_name().to_owned());
    Request::new(Operation::Jobs).with("state", state).with("limit", limit)
}

/// At most `limit` jobs of all states. The field `jobs` holds those that were given up, for scripts.
async fn all_jobs(daemon: &Daemon, limit: usize) -> Result<Value> {
    let count = |rows: &Value| rows.as_array().map_or(0, Vec::len);
    let mut answer = daemon.ask(jobs_in(State::Dead, limit)).await?;
    let mut room = limit - count(&answer["jobs"]).min(limit);
    for (name, state) in [("under_way", State::Leased), ("waiting", State::Queued)] {
        let rows = if room == 0 { json!([]) } else { daemon.ask(jobs_in(state, room)).await?["jobs"].take() };
        room -= count(&rows).min(room);
        answer[name] = rows;
    }
    Ok(answer)
}

pub async fn reindex(context: &CommandContext, args: ReindexArgs) -> Result<Outcome> {
    let daemon = Daemon::reach(&context.home()?).await?;
    let begun = daemon.ask(Request::new(Operation::Reindex)).await?;
    if args.no_wait {
        daemon.close().await;
        if !context.output.json(&begun)? {
            context.output.note("it has begun; `cerebro worker status --wait` shows how it goes");
        }
        return Ok(Outcome::Done);
    }
    let facts = watch(context, &daemon).await?;
    daemon.close().await;
    if !is_done(&facts) {
        let (state, why) = (shown(&facts["state"]), shown(&facts["detail"]));
        let hint = if state == "paused" { "`cerebro worker resume` lets it go on" } else { why.as_str() };
        return Err(Error::user(format!("the worker cannot go on: it is {state}")).hint(hint));
    }
    if !context.output.json(&json!({ "model": begun["model"], "worker": facts }))? {
        context.output.note(&format!("every live memory has its vectors of {}", shown(&begun["model"])));
        if facts["dead"].as_u64().unwrap_or_default() > 0 {
            context.output.note("but some were given up: `cerebro jobs` names them");
        }
    }
    Ok(Outcome::Done)
}
