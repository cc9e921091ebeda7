//! The commands, by what they are about.

mod adopt;
mod backup;
mod change;
mod compact;
mod daemon;
mod doctor;
mod endpoint;
mod explore;
mod graph;
mod hook;
mod list;
mod mcp;
mod model;
mod notes;
mod portable;
mod projects;
mod prompt;
mod remains;
mod save;
mod serve;
mod setup;
mod sql;
mod stats;
mod studio;
mod tui;
mod vault;
mod worker;

use std::future::Future;
use std::ops::RangeInclusive;

use clap::Subcommand;
use clap::builder::RangedU64ValueParser;
use tokio::runtime::{Builder, Runtime};

use super::error::{Error, Result};
use super::{Desk, Outcome};
use crate::daemon::WIND_DOWN;

/// Worker threads of a process that serves, and of one that only asks.
const SERVING_THREADS: usize = 4;
const ASKING_THREADS: usize = 2;
/// The database parses and computes recursively and needs deep stacks.
const STACK_BYTES: usize = 10 * 1024 * 1024;

/// What there is to do. A command's help stands with its arguments, or here where several share them.
#[derive(Debug, Subcommand)]
pub enum Command {
    Mcp(mcp::McpArgs),
    /// Start, stop or inspect the process that serves all agents
    #[command(subcommand)]
    Daemon(daemon::DaemonCommand),
    Save(save::SaveArgs),
    Search(explore::SearchArgs),
    Get(explore::GetArgs),
    Timeline(explore::TimelineArgs),
    Context(explore::ContextArgs),
    Graph(graph::GraphArgs),
    Stats(stats::StatsArgs),
    Tui(tui::TuiArgs),
    Update(save::UpdateArgs),
    Delete(change::DeleteArgs),
    /// Restore a deleted memory, or everything from a backup
    Restore(change::RestoreArgs),
    /// Pin a memory, so that agents always read it first
    Pin(change::OneArgs),
    /// Unpin a memory
    Unpin(change::OneArgs),
    List(list::ListArgs),
    Sessions(list::SessionsArgs),
    Projects(projects::ProjectsArgs),
    Prompts(list::PromptsArgs),
    Events(list::EventsArgs),
    Backup(backup::BackupArgs),
    Compact(compact::CompactArgs),
    Doctor(doctor::DoctorArgs),
    Export(portable::ExportArgs),
    Import(portable::ImportArgs),
    Worker(worker::WorkerArgs),
    Jobs(worker::JobsArgs),
    Reindex(worker::ReindexArgs),
    /// Choose, install and test the model that turns text into vectors
    #[command(subcommand)]
    Model(model::ModelCommand),
    Sql(sql::SqlArgs),
    Studio(studio::StudioArgs),
    Serve(serve::ServeArgs),
    Prompt(prompt::PromptArgs),
    Setup(setup::SetupArgs),
    Unsetup(setup::UnsetupArgs),
    Hook(hook::HookArgs),
}

impl Command {
    /// From which level on its work is logged.
    pub fn log_level(&self) -> &'static str {
        match self {
            // Agents show, or choke on, what their hooks say.
            Self::Hook(_) => "off",
            _ if self.is_daemon() => "info",
            // It closes a database that it has for itself, of which the engine complains.
            Self::Restore(args) if args.backup().is_some() => "cerebro=warn,surrealdb=off",
            Self::Backup(args) if args.restored().is_some() => "cerebro=warn,surrealdb=off",
            _ => "warn",
        }
    }

    /// Whether this process is to be the daemon.
    pub fn is_daemon(&self) -> bool {
        matches!(self, Self::Daemon(daemon::DaemonCommand::Run(_)))
    }

    /// Whether it draws on the whole terminal.
    pub fn has_screens(&self) -> bool {
        matches!(self, Self::Tui(_))
    }

    /// Does it.
    pub(super) fn run(self, desk: &Desk) -> Result<Outcome> {
        match self {
            Self::Prompt(args) => prompt::run(desk, &args),
            Self::Setup(args) => asking(setup::setup(desk, args)),
            Self::Unsetup(args) => setup::unsetup(desk, &args),
            Self::Hook(args) => asking(hook::run(desk, args)),
            Self::Mcp(args) => serving(mcp::run(desk, args)),
            Self::Daemon(daemon::DaemonCommand::Run(args)) => serving(daemon::serve(desk, args)),
            Self::Daemon(command) => asking(daemon::run(desk, command)),
            Self::Save(args) => asking(save::save(desk, args)),
            Self::Search(args) => asking(explore::search(desk, args)),
            Self::Get(args) => asking(explore::get(desk, args)),
            Self::Timeline(args) => asking(explore::timeline(desk, args)),
            Self::Context(args) => asking(explore::context(desk, args)),
            Self::Graph(args) => asking(graph::run(desk, args)),
            Self::Stats(args) => asking(stats::run(desk, args)),
            Self::Tui(args) => asking(tui::run(desk, args)),
            Self::Update(args) => asking(save::update(desk, args)),
            Self::Delete(args) => asking(change::delete(desk, args)),
            Self::Restore(args) => match args.backup() {
                Some(args) => serving(backup::restore(desk, args)),
                None => asking(change::run(desk, args.one(), "op_restore")),
            },
            Self::Backup(args) => match args.restored() {
                Some(args) => serving(backup::restore(desk, args)),
                None => asking(backup::run(desk, args)),
            },
            Self::Compact(args) => asking(compact::run(desk, args)),
            Self::Pin(args) => asking(change::run(desk, args, "op_pin")),
            Self::Unpin(args) => asking(change::run(desk, args, "op_unpin")),
            Self::List(args) => asking(list::memories(desk, args)),
            Self::Sessions(args) => asking(list::sessions(desk, args)),
            Self::Projects(args) => asking(projects::run(desk, args)),
            Self::Model(command) => asking(model::run(desk, command)),
            Self::Prompts(args) => asking(list::prompts(desk, args)),
            Self::Events(args) => asking(list::events(desk, args)),
            Self::Doctor(args) => asking(doctor::run(desk, args)),
            Self::Export(args) => asking(portable::export(desk, args)),
            Self::Import(args) => asking(portable::import(desk, args)),
            Self::Worker(args) => asking(worker::worker(desk, args)),
            Self::Jobs(args) => asking(worker::jobs(desk, args)),
            Self::Reindex(args) => asking(worker::reindex(desk, args)),
            Self::Sql(args) => asking(sql::run(desk, args)),
            Self::Studio(args) => asking(studio::run(desk, args)),
            Self::Serve(args) => asking(serve::run(desk, args)),
        }
    }
}

/// Reads a number within bounds. One beyond them is refused: the daemon, made for agents, would take the nearest
/// without a word.
fn within(bounds: RangeInclusive<usize>) -> RangedU64ValueParser<usize> {
    let (least, most) = bounds.into_inner();
    RangedU64ValueParser::new().range(least as u64..=most as u64)
}

/// Runs a client of the daemon.
fn asking(work: impl Future<Output = Result<Outcome>>) -> Result<Outcome> {
    let runtime = runtime(ASKING_THREADS)?;
    let done = runtime.block_on(work);
    runtime.shutdown_background();
    done
}

/// Runs a server, and waits a little for the tasks it leaves. A read of standard input cannot be
/// ended and is not waited for: `work` says whether one may be left.
fn serving(work: impl Future<Output = (Result<Outcome>, Leftover)>) -> Result<Outcome> {
    let runtime = runtime(SERVING_THREADS)?;
    let (done, leftover) = runtime.block_on(work);
    match leftover {
        Leftover::Tasks => runtime.shutdown_timeout(WIND_DOWN),
        Leftover::Reader => runtime.shutdown_background(),
    }
    done
}

/// What a server leaves behind.
enum Leftover {
    /// Tasks that end by themselves.
    Tasks,
    /// A read of standard input that ends when the client writes.
    Reader,
}

fn runtime(threads: usize) -> Result<Runtime> {
    Builder::new_multi_thread()
        .worker_threads(threads)
        .thread_stack_size(STACK_BYTES)
        .enable_all()
        .build()
        .map_err(|error| Error::internal(format!("cannot start threads: {error}")))
}
