//! `cerebro worker`, `jobs` and `reindex`: the background work on memories after they are saved.

use std::time::Duration;

use super::prelude::*;
use crate::answer::worker::{Job, Jobs, Worker};
use crate::cli::table::milliseconds;
use cerebro_core::domain::limits::LISTING_MAX;

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

/// List the worker's jobs, or retry those that were given up
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
/// computed. An interrupted run continues by itself.
#[derive(Debug, Args)]
pub struct ReindexArgs {
    /// Return at once, without waiting for the end
    #[arg(long)]
    no_wait: bool,
}

const JOBS: &[Column<Job>] = &[
    ("memory", Layout::Fixed, |job| shown(&job.memory)),
    ("state", Layout::Fixed, |job| shown(&job.state)),
    ("attempts", Layout::Count, |job| shown(&job.attempts)),
    ("due", Layout::Moment, |job| shown(&job.due_at)),
    ("title", Layout::Flexible, |job| shown(&job.title)),
    ("error", Layout::Flexible, |job| shown(&job.error)),
];

pub async fn worker(context: &CommandContext, args: WorkerArgs) -> Result<()> {
    let daemon = Daemon::reach(&context.home()?).await?;
    let is_pause = matches!(args.action, Some(Action::Pause));
    let (answer, wait) = match args.action {
        Some(Action::Pause) => (daemon.read(Request::new(of::WorkerPause)).await?, false),
        Some(Action::Resume(args)) => (daemon.read(Request::new(of::WorkerResume)).await?, args.wait),
        Some(Action::Status(args)) => (daemon.read(Request::new(of::Worker)).await?, args.wait),
        None => (daemon.read(Request::new(of::Worker)).await?, false),
    };
    let worker = if wait { watch(context, &daemon).await? } else { answer.into_answer().worker };
    show(context, &worker)?;
    if is_pause && worker.state != "paused" {
        context.output.note("it pauses after its present job");
    }
    let is_off = worker.state == "off";
    if wait && !is_done(&worker) {
        context.output.warn(&cannot_go_on(&worker));
    } else if is_off && worker.detail.is_none() {
        context.output.note("no embedding model is set, so searches are by words");
    } else {
        return Ok(());
    }
    if let Some(words) = next_step(&worker) {
        context.output.note(&words);
    }
    done_if(!wait)
}

/// Why nothing more is done.
fn cannot_go_on(worker: &Worker) -> String {
    match worker.state.raw() {
        "off" => "the worker has nothing to do: no model is set that turns text into vectors".to_owned(),
        _ => format!("the worker cannot continue: it is {}", worker.state.raw()),
    }
}

/// How to let it continue.
fn next_step(worker: &Worker) -> Option<String> {
    match worker.state.raw() {
        "paused" => Some("`cerebro worker resume` resumes it".to_owned()),
        "off" if worker.detail.is_none() => {
            Some("`cerebro model install NAME` installs one; `cerebro model list` lists them".to_owned())
        }
        _ => Some(shown(&worker.detail)).filter(|why| !why.is_empty()),
    }
}

fn show(context: &CommandContext, worker: &Worker) -> Result<()> {
    context.output.json(&json!(worker))?;
    context.output.facts(&[
        ("worker", shown(&worker.state)),
        ("provider", shown(&worker.provider)),
        ("model", shown(&worker.model)),
        ("searches ask", shown(&worker.searched_model)),
        ("queue", shown(&worker.queue_depth)),
        ("embedded", shown(&worker.embedded)),
        ("failed attempts", shown(&worker.failures)),
        ("given up", shown(&worker.dead)),
        ("time from save to vector, median", milliseconds(worker.lag_p50_ms)),
        ("time from save to vector, 99 %", milliseconds(worker.lag_p99_ms)),
        ("tokens today", shown(&worker.tokens_today)),
        ("requests today", shown(&worker.requests_today)),
        ("note", shown(&worker.detail)),
        ("relations ask", shown(&worker.relations)),
        ("relations fault", shown(&worker.relations_fault)),
    ])
}

/// Whether every memory has vectors of the model that searches use.
fn is_done(worker: &Worker) -> bool {
    worker.state == "idle" && worker.queue_depth == 0 && !worker.filling
}

/// Whether the worker cannot continue until the user does something.
fn is_stuck(worker: &Worker) -> bool {
    matches!(worker.state.raw(), "off" | "paused" | "disagrees" | "unusable")
}

/// Shows the progress until nothing is left to do or the worker cannot continue. Returns its last state.
async fn watch(context: &CommandContext, daemon: &Daemon) -> Result<Worker> {
    let bar = context.output.progress(Some(0), "{bar:30} {human_pos} of {human_len} memories, {elapsed}");
    let mut most = 0;
    let mut stuck = 0;
    loop {
        let worker = daemon.read(Request::new(of::Worker)).await?.into_answer().worker;
        most = most.max(worker.queue_depth);
        bar.set_length(most);
        bar.set_position(most - worker.queue_depth);
        // Polls a few more times, because a worker that was just notified may not have reacted yet.
        stuck = if is_stuck(&worker) { stuck + 1 } else { 0 };
        if is_done(&worker) || stuck > 4 {
            bar.finish_and_clear();
            return Ok(worker);
        }
        tokio::time::sleep(GLANCE).await;
    }
}

pub async fn jobs(context: &CommandContext, args: JobsArgs) -> Result<()> {
    let daemon = Daemon::reach(&context.home()?).await?;
    let list = match args.action {
        Some(JobsAction::Retry) => {
            let retried = daemon.read(Request::new(of::JobsRetry)).await?;
            context.output.json(retried.raw())?;
            context.output.note(&format!("tried again: {}", text::counted(retried.revived, "job")));
            return Ok(());
        }
        Some(JobsAction::List(list)) => list,
        None => ListArgs { state: None, limit: JOBS_DEFAULT },
    };
    let listed = jobs_in(&daemon, list.state.unwrap_or(State::Dead), list.limit).await?;
    let mut raw = listed.raw().clone();
    let mut all = listed.into_answer();
    if list.state.is_none() {
        // The field `jobs` holds those that were given up, for scripts.
        for (name, state) in [("under_way", State::Leased), ("waiting", State::Queued)] {
            let room = list.limit.saturating_sub(all.jobs.len());
            let more = match room {
                0 => Vec::new(),
                _ => jobs_in(&daemon, state, room).await?.into_answer().jobs,
            };
            raw[name] = json!(more);
            all.jobs.extend(more);
        }
    }
    context.output.json(&raw)?;
    let Jobs { queued, leased, dead, jobs } = all;
    context.output.note(&format!("{queued} waiting, {leased} under way, {dead} given up"));
    context.output.table(&Table::of(JOBS, &jobs), "none to list")
}

async fn jobs_in(daemon: &Daemon, state: State, limit: usize) -> Result<Received<Jobs>> {
    daemon.read(Request::new(of::Jobs).with("state", name_of(state)).with("limit", limit)).await
}

pub async fn reindex(context: &CommandContext, args: ReindexArgs) -> Result<()> {
    let daemon = Daemon::reach(&context.home()?).await?;
    let begun = daemon.read(Request::new(of::Reindex)).await?;
    if args.no_wait {
        context.output.json(begun.raw())?;
        context.output.note("it has begun; `cerebro worker status --wait` shows the progress");
        return Ok(());
    }
    let worker = watch(context, &daemon).await?;
    if !is_done(&worker) {
        let error = Error::user(cannot_go_on(&worker));
        return Err(match next_step(&worker) {
            Some(next) => error.hint(next),
            None => error,
        });
    }
    context.output.json(&json!({ "model": begun.model, "worker": worker }))?;
    context.output.note(&format!("every live memory has vectors of {}", shown(&begun.model)));
    if worker.dead > 0 {
        context.output.note("except some that were given up: `cerebro jobs` lists them");
    }
    Ok(())
}
