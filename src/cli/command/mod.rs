//! The commands, grouped by subject.

mod backup;
mod change;
mod compact;
mod consolidate;
mod daemon;
mod distil;
mod doctor;
mod documents;
mod endpoint;
mod graph;
mod handbook;
mod health;
mod history;
mod hook;
mod list;
mod marks;
mod mcp;
mod model;
mod portable;
mod prelude;
mod projects;
mod prompt;
mod read;
mod remains;
mod save;
mod search;
mod selection;
mod serve;
mod sessions;
mod setup;
mod sql;
mod stats;
mod studio;
mod suggest;
mod tombstones;
mod trial;
mod tui;
mod web;
mod whatif;
mod work;
mod worker;

use std::future::Future;
use std::io::Read as _;
use std::ops::RangeInclusive;
use std::path::Path;

use clap::builder::TypedValueParser;
use clap::{Subcommand, ValueEnum};
use tokio::runtime::{Builder, Runtime};

use super::CommandContext;
use super::error::{Error, Result};
use crate::answer::of;
use crate::daemon::WIND_DOWN;
use crate::platform;

/// Most ids that are named on a terminal; the rest is counted.
const IDS_SHOWN: usize = 20;

/// Worker threads of a process that serves, and of one that only asks.
const SERVING_THREADS: usize = 4;
const ASKING_THREADS: usize = 2;
/// The database parses and computes recursively and needs deep stacks.
const STACK_BYTES: usize = 10 * 1024 * 1024;

/// All commands. A command's help is at its arguments, or here if several commands share them.
#[derive(Debug, Subcommand)]
pub enum Command {
    Mcp(mcp::McpArgs),
    /// Start, stop or inspect the process that serves all agents
    #[command(subcommand)]
    Daemon(daemon::DaemonCommand),
    #[command(alias = "add")]
    Save(save::SaveArgs),
    #[command(alias = "find")]
    Search(search::SearchArgs),
    #[command(alias = "show")]
    Get(read::GetArgs),
    Timeline(read::TimelineArgs),
    Context(read::ContextArgs),
    Graph(graph::GraphArgs),
    Stats(stats::StatsArgs),
    Health(health::HealthArgs),
    Tui(tui::TuiArgs),
    Web(web::WebArgs),
    #[command(alias = "edit")]
    Update(save::UpdateArgs),
    #[command(aliases = ["rm", "remove"])]
    Delete(change::DeleteArgs),
    /// Restore deleted memories, or everything from a backup
    Restore(change::RestoreArgs),
    /// Pin memories, so that agents always read them first
    Pin(change::ManyArgs),
    /// Unpin memories
    Unpin(change::ManyArgs),
    /// Archive memories: keep them whole, and leave them out of searches
    Archive(change::ManyArgs),
    /// Take memories out of the archive
    Unarchive(change::ManyArgs),
    Consolidate(consolidate::ConsolidateArgs),
    Tombstones(tombstones::TombstonesArgs),
    #[command(alias = "ls")]
    List(list::ListArgs),
    Sessions(sessions::SessionsArgs),
    Projects(projects::ProjectsArgs),
    Prompts(list::PromptsArgs),
    Events(list::EventsArgs),
    Backup(backup::BackupArgs),
    /// Remove the last bytes of purged memories from the disk
    ///
    /// `cerebro delete --hard` removes a text from the database and the index at once, but the database's files keep its
    /// bytes until they are rewritten. This command rewrites them now and frees the space. Agents can go on working. It
    /// does not change backups, exports, trials, unsaved edits and databases that a restore put aside; it names those of
    /// this home.
    Compact,
    Doctor(doctor::DoctorArgs),
    Export(portable::ExportArgs),
    Import(portable::ImportArgs),
    Work(work::WorkArgs),
    /// Try changes: SurrealQL that is undone, or a copy of the memory
    #[command(subcommand)]
    Whatif(whatif::WhatIfCommand),
    /// Import past sessions, search them, and see what they did
    ///
    /// Agents record each session in files, which they delete after some weeks. Cerebro reads these files and keeps
    /// prompts, replies, commands and file names, without secrets and without the agent's reasoning. This is evidence
    /// in addition to the memories: none of it becomes a memory by itself. It is off until you answer `cerebro history
    /// import` with yes.
    #[command(subcommand)]
    History(history::HistoryCommand),
    /// Let a chat model propose memories from past sessions, and decide
    ///
    /// Each claim is checked against the session that it cites. A claim that passes waits until you accept or reject
    /// it. Distilling is off until config.toml says `enabled = true` under `[distil]`, and names a `provider` and a
    /// `model` under `[distil.model]`. docs/distil.md says what is sent.
    #[command(subcommand)]
    Distil(distil::DistilCommand),
    Ingest(documents::IngestArgs),
    /// List, show or forget the documents that were read
    #[command(subcommand)]
    Documents(documents::DocumentsCommand),
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
    Uninstall(setup::uninstall::UninstallArgs),
    Upgrade(setup::upgrade::UpgradeArgs),
    Completions(setup::completions::CompletionsArgs),
    /// Show the state of the daemon, as `daemon status` does
    #[command(hide = true)]
    Status,
    #[command(hide = true)]
    Man(setup::completions::ManArgs),
    Hook(hook::HookArgs),
    /// Read documents from standard input and print their contents as JSON; `cerebro ingest` and the daemon run this
    #[command(hide = true)]
    ReadDocument,
}

impl Command {
    /// The lowest level of messages that the command logs.
    pub fn log_level(&self) -> &'static str {
        match self {
            // Agents show, or choke on, what their hooks say.
            Self::Hook(_) => "off",
            _ if self.is_daemon() => "info",
            // It closes a database of its own, and the engine complains about that.
            Self::Restore(args) if args.backup().is_some() => "cerebro=warn,surrealdb=off",
            Self::Backup(args) if args.restored().is_some() => "cerebro=warn,surrealdb=off",
            _ => "warn",
        }
    }

    /// Whether this process is the daemon.
    pub fn is_daemon(&self) -> bool {
        matches!(self, Self::Daemon(daemon::DaemonCommand::Run(_)))
    }

    /// Whether it uses the whole terminal.
    pub fn has_screens(&self) -> bool {
        matches!(self, Self::Tui(_))
    }

    pub(super) fn run(self, context: &CommandContext) -> Result<()> {
        match self {
            Self::Prompt(args) => prompt::run(context, &args),
            Self::Setup(args) => asking(setup::setup(context, args)),
            Self::Unsetup(args) => setup::unsetup(context, &args),
            Self::Uninstall(args) => asking(setup::uninstall::run(context, args)),
            Self::Upgrade(args) => asking(setup::upgrade::run(context, args)),
            Self::Completions(args) => setup::completions::run(context, &args),
            Self::Man(args) => setup::completions::man(context, &args),
            Self::Hook(args) => asking(hook::run(context, args)),
            Self::Mcp(args) => mcp::run(context, args),
            Self::Daemon(daemon::DaemonCommand::Run(args)) => serving(daemon::serve(context, args)),
            Self::Daemon(command) => asking(daemon::run(context, command)),
            Self::Status => asking(daemon::run(context, daemon::DaemonCommand::Status)),
            Self::Save(args) => asking(save::save(context, args)),
            Self::Search(args) => asking(search::run(context, args)),
            Self::Get(args) => asking(read::get(context, args)),
            Self::Timeline(args) => asking(read::timeline(context, args)),
            Self::Context(args) => asking(read::context(context, args)),
            Self::Graph(args) => asking(graph::run(context, args)),
            Self::Stats(args) => asking(stats::run(context, args)),
            Self::Health(args) => asking(health::run(context, args)),
            Self::Tui(args) => asking(tui::run(context, args)),
            Self::Web(args) => asking(web::run(context, args)),
            Self::Update(args) => asking(save::update(context, args)),
            Self::Delete(args) => asking(change::delete(context, args)),
            Self::Restore(args) => match args.backup() {
                Some(args) => serving(backup::restore(context, args)),
                None => asking(change::run(context, args.many(), of::Restore)),
            },
            Self::Backup(args) => match args.restored() {
                Some(args) => serving(backup::restore(context, args)),
                None => asking(backup::run(context, args)),
            },
            Self::Compact => asking(compact::run(context)),
            Self::Pin(args) => asking(change::run(context, args, of::Pin)),
            Self::Unpin(args) => asking(change::run(context, args, of::Unpin)),
            Self::Archive(args) => asking(change::run(context, args, of::Archive)),
            Self::Unarchive(args) => asking(change::run(context, args, of::Unarchive)),
            Self::Consolidate(args) => asking(consolidate::run(context, args)),
            Self::Tombstones(args) => asking(tombstones::run(context, args)),
            Self::List(args) => asking(list::memories(context, args)),
            Self::Sessions(args) => asking(sessions::run(context, args)),
            Self::Projects(args) => asking(projects::run(context, args)),
            Self::Model(command) => asking(model::run(context, command)),
            Self::Prompts(args) => asking(list::prompts(context, args)),
            Self::Events(args) => asking(list::events(context, args)),
            Self::Doctor(args) => asking(doctor::run(context, args)),
            Self::Export(args) => asking(portable::export(context, args)),
            Self::Import(args) => asking(portable::import(context, args)),
            Self::Work(args) => asking(work::run(context, args)),
            Self::Whatif(command) => asking(whatif::run(context, command)),
            Self::History(command) => asking(history::run(context, command)),
            Self::Distil(command) => asking(distil::run(context, command)),
            Self::Ingest(args) => asking(documents::ingest(context, args)),
            Self::Documents(command) => asking(documents::run(context, command)),
            Self::ReadDocument => documents::read(),
            Self::Worker(args) => asking(worker::worker(context, args)),
            Self::Jobs(args) => asking(worker::jobs(context, args)),
            Self::Reindex(args) => asking(worker::reindex(context, args)),
            Self::Sql(args) => asking(sql::run(context, args)),
            Self::Studio(args) => asking(studio::run(context, args)),
            Self::Serve(args) => asking(serve::run(context, args)),
        }
    }
}

/// Explains the program to a person who typed its name without a command.
pub(super) fn welcome(context: &CommandContext) -> Result<()> {
    setup::welcome::run(context)
}

/// Names the first of some ids; `--json` names all.
fn some_of(ids: &[&str]) -> String {
    let named = &ids[..ids.len().min(IDS_SHOWN)];
    let more = ids.len() - named.len();
    let more = if more > 0 { format!(" and {more} more (--json names all)") } else { String::new() };
    format!("{}{more}", named.join(", "))
}

/// Reads a number within bounds, and refuses others. The daemon, which is made for agents, would clamp them silently.
fn within(bounds: RangeInclusive<usize>) -> impl TypedValueParser<Value = usize> {
    move |given: &str| {
        let number = given.trim().parse().ok().filter(|number| bounds.contains(number));
        number.ok_or_else(|| format!("give a whole number from {} to {}", bounds.start(), bounds.end()))
    }
}

/// The name of a choice on the command line. The daemon knows it by the same name.
fn name_of(choice: impl ValueEnum) -> Option<String> {
    choice.to_possible_value().map(|value| value.get_name().to_owned())
}

/// The text of a file that a person named, up to a bound. Does not block on a pipe.
fn text_of(path: &Path, bytes_max: u64) -> Result<String> {
    let fault = |error| Error::file("read", path, &error);
    let file = platform::open_without_waiting(path).map_err(fault)?;
    let mut bytes = Vec::new();
    file.take(bytes_max + 1).read_to_end(&mut bytes).map_err(fault)?;
    bounded_text(bytes, bytes_max, &path.display().to_string())
}

/// Converts bytes to text. They were read up to one byte beyond the bound, to detect longer input.
fn bounded_text(bytes: Vec<u8>, bytes_max: u64, name: &str) -> Result<String> {
    if bytes.len() as u64 > bytes_max {
        return Err(Error::user(format!("{name} is larger than {} KiB", bytes_max >> 10)));
    }
    String::from_utf8(bytes).map_err(|_| Error::user(format!("{name} is not text in UTF-8")))
}

/// Runs a client of the daemon.
fn asking(work: impl Future<Output = Result<()>>) -> Result<()> {
    until_done(workers(ASKING_THREADS), work)
}

/// Runs work, and waits for nothing that remains of it: a read of standard input ends only when the client writes.
fn until_done(threads: Builder, work: impl Future<Output = Result<()>>) -> Result<()> {
    let runtime = runtime(threads)?;
    let done = runtime.block_on(work);
    runtime.shutdown_background();
    done
}

/// Runs a server, and waits a little for its remaining tasks.
fn serving(work: impl Future<Output = Result<()>>) -> Result<()> {
    let runtime = runtime(workers(SERVING_THREADS))?;
    let done = runtime.block_on(work);
    runtime.shutdown_timeout(WIND_DOWN);
    done
}

fn workers(threads: usize) -> Builder {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(threads).thread_stack_size(STACK_BYTES);
    builder
}

fn runtime(mut threads: Builder) -> Result<Runtime> {
    let runtime = threads.enable_all().build();
    runtime.map_err(|error| Error::internal(format!("cannot start threads: {error}")))
}
