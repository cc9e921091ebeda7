//! `cerebro history`: past sessions, imported from agents' transcripts.

mod find;
mod forget;

use std::path::{Component, Path};
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use jiff::Timestamp;
use toml_edit::{Array, InlineTable, Value};

use super::prelude::*;
use super::setup::{SetupContext, absolute};
use crate::answer::history::{Fault, Found, MemoryFile, Preview, Status, Taken};
use crate::config::{Config, edit};
use crate::home::CONFIG_FILE;
use cerebro_service::{Choice, HistorySettings, agent_slug, agents, glance, places};

/// How often the progress is polled.
const GLANCE: Duration = Duration::from_millis(200);
const BAR: &str = "{bar:30} {decimal_bytes} of {decimal_total_bytes}, {msg}, {elapsed}";

/// What to do with past sessions.
#[derive(Debug, Subcommand)]
pub enum HistoryCommand {
    Import(ImportArgs),
    /// Show what was imported, what is under way and what could not be read
    Status,
    Search(find::SearchArgs),
    Show(find::ShowArgs),
    Files(find::FilesArgs),
    Blame(find::BlameArgs),
    How(find::HowArgs),
    Fix(find::FixArgs),
    Forget(forget::ForgetArgs),
    Include(IncludeArgs),
    Exclude(ExcludeArgs),
}

/// Import past sessions, the newest first, and keep them current from then on
///
/// Asks before it begins. Only the sessions that `--agent` and `--project` choose are kept current from then on; a
/// later import can add a choice. You can interrupt the command at any time: the import continues in the background.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct ImportArgs {
    /// Only sessions of this agent; can be repeated [default: those chosen before, or else all that are found]
    #[arg(long = "agent", value_name = "AGENT", value_parser = PossibleValuesParser::new(agents().map(agent_slug)))]
    agents: Vec<String>,
    /// Only sessions of this project [default: those chosen before, or else all]
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// Only sessions of the last days, such as 30d, or since a day; 0 means all [default: `since` in config.toml, or 180d]
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Also import files that agents load at their start (CLAUDE.md, AGENTS.md, rules, their own notes), as documents
    /// for the other agents
    #[arg(long)]
    memory_files: bool,
    /// Show what there is, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not ask first; needed without a terminal
    #[arg(long)]
    yes: bool,
    /// Return at once, without waiting for the end
    #[arg(long)]
    no_wait: bool,
}

/// Import only this project or folder and those named before, or list them
///
/// If no name was ever given, all are imported. What was imported from others stays.
#[derive(Debug, Args)]
pub struct IncludeArgs {
    /// A project, or a folder: its absolute path, or one from here such as `.` or `../app`
    what: Option<String>,
    /// Remove it from the list; the last one stays until `--all` is given
    #[arg(long, requires = "what")]
    remove: bool,
    /// Empty the list, so that sessions of all projects are imported
    #[arg(long, conflicts_with_all = ["what", "remove"])]
    all: bool,
}

/// Exclude a project or a folder, or list those that are excluded
///
/// What was imported from it stays; `cerebro history forget` destroys that.
#[derive(Debug, Args)]
pub struct ExcludeArgs {
    /// A project, or a folder: its absolute path, or one from here such as `.` or `../app`
    what: Option<String>,
    /// Remove it from the list, so that it is imported again
    #[arg(long, requires = "what")]
    remove: bool,
}

const FOUND: &[Column<Found>] = &[
    ("agent", Layout::Fixed, |one| shown(&one.agent)),
    ("files", Layout::Count, |one| shown(&one.files)),
    ("size", Layout::Count, |one| bytes(one.bytes)),
    ("new or changed", Layout::Count, |one| shown(&one.fresh)),
    ("too old", Layout::Count, |one| shown(&one.older)),
];

const TAKEN: &[Column<Taken>] = &[
    ("agent", Layout::Fixed, |one| shown(&one.agent)),
    ("read", Layout::Count, |one| shown(&one.read)),
    ("exchanges", Layout::Count, |one| shown(&one.exchanges)),
    ("secrets removed", Layout::Count, |one| shown(&one.progress.redacted)),
    ("unreadable lines", Layout::Count, |one| (one.progress.malformed + one.progress.oversized).to_string()),
    ("unknown records", Layout::Flexible, unknown),
];

const MEMORY_FILES: &[Column<MemoryFile>] = &[
    ("memory file", Layout::Flexible, |file| shown(&file.path)),
    ("loaded by", Layout::Fixed, |file| shown(&file.loaded_by)),
    ("project", Layout::Fixed, |file| shown(&file.project)),
];

const FAULTS: &[Column<Fault>] = &[
    ("file", Layout::Flexible, |fault| shown(&fault.path)),
    ("why it was not read", Layout::Flexible, |fault| shown(&fault.reason)),
];

pub async fn run(context: &CommandContext, command: HistoryCommand) -> Result<()> {
    match command {
        HistoryCommand::Import(args) => import(context, args).await,
        HistoryCommand::Status => status(context).await,
        HistoryCommand::Include(args) if args.all => include_all(context),
        HistoryCommand::Include(args) => choose(context, &INCLUDE, args.what.as_deref(), args.remove),
        HistoryCommand::Exclude(args) => choose(context, &EXCLUDE, args.what.as_deref(), args.remove),
        HistoryCommand::Forget(args) => forget::run(context, args).await,
        HistoryCommand::Search(args) => find::search(context, args).await,
        HistoryCommand::Show(args) => find::show(context, args).await,
        HistoryCommand::Files(args) => find::files(context, args).await,
        HistoryCommand::Blame(args) => find::blame(context, args).await,
        HistoryCommand::How(args) => find::how(context, args).await,
        HistoryCommand::Fix(args) => find::fix(context, args).await,
    }
}

async fn import(context: &CommandContext, args: ImportArgs) -> Result<()> {
    if args.since.as_deref().is_some_and(|since| text::age(since, Timestamp::now()).is_none()) {
        let words = "`--since` is a span such as 30d, a day that has been, such as 2026-11-21, or 0 for all";
        return Err(Error::usage(words));
    }
    let home = context.home()?;
    let daemon = Daemon::reach(&home).await?;
    let preview = asked(of::HistoryPreview, &args).with("memory_files", args.memory_files);
    let found = daemon.read(preview).await?;
    let nothing = nobody_worked_there(&found, &args);
    if args.dry_run {
        if let Some(nothing) = nothing.filter(|_| !context.output.is_json()) {
            context.output.note(&nothing);
            show_faults(context, &found.faults)?;
        } else {
            show_found(context, &found)?;
        }
        return Ok(());
    }
    if let Some(nothing) = nothing {
        let hint = "`cerebro history import --dry-run` shows what there is; `cerebro history include` chooses a project \
                    before its first session";
        return Err(Error::user(nothing).hint(hint));
    }
    let settings = Config::read(&home.config_file())?.history;
    if !args.yes {
        if !context.output.is_json() {
            show_found(context, &found)?;
        }
        let question = question(&settings, &args, !found.agents.is_empty());
        context.output.agree(false, &question, "nothing was imported")?;
    }
    let changes = changes(&settings, &args);
    if !changes.is_empty() {
        edit::set(&home.config_file(), "history", &changes)?;
    }
    daemon.read(asked(of::HistoryImport, &args)).await?;
    let status = if args.no_wait {
        daemon.read(Request::new(of::HistoryStatus)).await?
    } else {
        watch(context, &daemon).await?
    };
    show_status(context, &status)
}

/// The message that no session of the named project was found, with projects that may have been meant.
fn nobody_worked_there(found: &Preview, args: &ImportArgs) -> Option<String> {
    let project = args.project.as_deref().filter(|_| found.agents.is_empty())?;
    if found.near.iter().any(|near| near.raw() == project) {
        return Some(format!("the past sessions of the project `{project}` are excluded"));
    }
    let near = match found.near.as_slice() {
        [] => String::new(),
        near => format!("; there are sessions of {}", shown(near)),
    };
    Some(format!("no past session of the project `{project}` was found on this machine{near}"))
}

/// A request about the sessions that were chosen.
fn asked<O>(operation: O, args: &ImportArgs) -> Request<O> {
    Request::new(operation)
        .given(json!({ "agents": args.agents, "project": args.project, "since": args.since }))
}

/// The question before an import, with what a yes means. It is about sessions to come if none are there.
fn question(settings: &HistorySettings, args: &ImportArgs, are_there: bool) -> String {
    let mut only: Vec<String> = args.agents.iter().map(|agent| format!("of {agent}")).collect();
    only.extend(args.project.iter().map(|project| format!("of project {project}")));
    let only = if only.is_empty() { String::new() } else { format!(" ({} only)", only.join(", ")) };
    let files = if args.memory_files { " and agents' memory files" } else { "" };
    let (these, from_then) = match (are_there, settings.enabled) {
        (false, _) => ("", " from now on"),
        (true, false) => (" these", " and keep them current from now on"),
        (true, true) => (" these", ""),
    };
    format!(
        "Import{these} sessions{only}{files}{from_then}? They stay on this machine, without secrets; agents can search them."
    )
}

/// What changes in the settings after a yes to an import.
fn changes(settings: &HistorySettings, args: &ImportArgs) -> Vec<(&'static str, Option<Value>)> {
    let chosen = settings.choosing(&args.agents, args.project.as_deref());
    let mut changes = Vec::new();
    if chosen.agents != settings.agents {
        let all: Array = chosen.agents.iter().map(String::as_str).collect();
        changes.push(("agents", (!all.is_empty()).then(|| all.into())));
    }
    if chosen.include != settings.include {
        changes.push(("include", (!chosen.include.is_empty()).then(|| included(&chosen.include))));
    }
    for (key, is_set, is_wanted) in
        [("memory_files", settings.memory_files, args.memory_files), ("enabled", settings.enabled, true)]
    {
        if is_wanted && !is_set {
            changes.push((key, Some(true.into())));
        }
    }
    changes
}

/// `include` as it is written.
fn included(choices: &[Choice]) -> Value {
    let entry = |choice: &Choice| -> Value {
        let within = choice.within.as_deref();
        let Some(agent) = &choice.agent else { return within.unwrap_or_default().into() };
        let mut table = InlineTable::new();
        table.insert("agent", agent.as_str().into());
        if let Some(within) = within {
            table.insert("in", within.into());
        }
        table.into()
    };
    choices.iter().map(entry).collect::<Array>().into()
}

/// Reports the past sessions on this machine while an agent is set up. With `asks`, offers to import them if there is
/// a terminal. Nothing is imported without a yes.
pub async fn offer(
    context: &CommandContext,
    setup: &SetupContext,
    answer: Option<Answer>,
    asks: bool,
) -> Result<()> {
    let file = setup.folder.join(CONFIG_FILE);
    let is_known = Config::read(&file).map_or(true, |config| config.history.enabled);
    if is_known || answer == Some(Answer::No) {
        return Ok(());
    }
    let (files, size) = glance(&places(|name| std::env::var_os(name), &setup.user));
    // A yes is also about the sessions to come.
    if files == 0 && answer.is_none() {
        return Ok(());
    }
    let amount = format!("{}, {}", text::counted(files, "file"), bytes(size));
    let there = format!("past sessions of agents on this machine ({amount})");
    let question = format!(
        "Import the {there}, and keep them current? They stay here, without secrets; agents can search them."
    );
    let is_meant = match answer {
        Some(answer) => answer == Answer::Yes,
        None if asks && context.output.can_ask() => context.output.confirm(&question)?,
        None => {
            let next = "`cerebro history import` asks, and lets agents search them";
            context.output.note(&format!("found {there}; {next}"));
            return Ok(());
        }
    };
    if !is_meant {
        context.output.note("past sessions stay as they are; `cerebro history import` asks again");
        return Ok(());
    }
    edit::set(&context.home()?.config_file(), "history", &[("enabled", Some(true.into()))])?;
    let daemon = Daemon::reach(&context.home()?).await?;
    daemon.read(Request::new(of::HistoryImport)).await?;
    context.output.note(if files == 0 {
        "history is on: sessions are imported from now on; `cerebro history status` shows them"
    } else {
        "past sessions are being imported; `cerebro history status` shows the progress"
    });
    Ok(())
}

/// A yes or no on the command line, for scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Answer {
    Yes,
    No,
}

fn show_found(context: &CommandContext, found: &Received<Preview>) -> Result<()> {
    context.output.json(found.raw())?;
    context.output.table(&Table::of(FOUND, &found.agents), "no agent has recorded a session here")?;
    context.output.table(&Table::of(MEMORY_FILES, &found.memory_files), "")?;
    show_faults(context, &found.faults)
}

fn show_faults(context: &CommandContext, faults: &[Fault]) -> Result<()> {
    context.output.table(&Table::of(FAULTS, faults), "")
}

/// What readers call a record that does not name its type.
const NO_TYPE: &str = "(none)";

/// The records that were not understood, by their types.
fn unknown(taken: &Taken) -> String {
    let named = |name: &str| if name == NO_TYPE { "without a type".to_owned() } else { name.to_owned() };
    let records = taken.progress.unknown.iter().map(|(name, count)| format!("{} ×{count}", named(name)));
    records.collect::<Vec<_>>().join(", ")
}

/// Shows the progress until nothing is left to do.
async fn watch(context: &CommandContext, daemon: &Daemon) -> Result<Received<Status>> {
    let bar = context.output.progress(Some(0), BAR);
    bar.set_message("looking for sessions");
    loop {
        let status = daemon.read(Request::new(of::HistoryStatus)).await?;
        bar.set_length(status.bytes);
        bar.set_position(status.bytes_done.min(status.bytes));
        bar.set_message(format!("{} of {} files", status.files_done, status.files));
        if status.state != "reading" {
            bar.finish_and_clear();
            return Ok(status);
        }
        tokio::time::sleep(GLANCE).await;
    }
}

async fn status(context: &CommandContext) -> Result<()> {
    let status = context.ask(Request::new(of::HistoryStatus)).await?;
    show_status(context, &status)?;
    if status.state == "off" {
        context.output.note("past sessions are not imported; `cerebro history import` asks and imports them");
    }
    Ok(())
}

fn show_status(context: &CommandContext, status: &Received<Status>) -> Result<()> {
    context.output.json(status.raw())?;
    let under_way = if status.state == "reading" {
        format!("{} of {} files", status.files_done, status.files)
    } else {
        String::new()
    };
    context.output.facts(&[
        ("history", shown(&status.state)),
        ("chosen", if status.enabled { shown(&status.chosen) } else { String::new() }),
        ("excluded", shown(&status.excluded)),
        ("under way", under_way),
        ("sessions", shown(&status.sessions)),
        ("exchanges", shown(&status.exchanges)),
        ("folders looked through", context.output.moment(&status.scanned_at)),
        ("files there", shown(&status.seen)),
    ])?;
    context.output.table(&Table::of(TAKEN, &status.agents), "")?;
    show_faults(context, &status.faults)
}

/// A list of projects and folders in the settings.
struct Choosing {
    key: &'static str,
    of: fn(HistorySettings) -> Vec<Choice>,
    heading: &'static str,
    nothing: &'static str,
    missing: &'static str,
    /// Whether an empty list means all.
    narrows: bool,
}

const INCLUDE: Choosing = Choosing {
    key: "include",
    of: |settings| settings.include,
    heading: "included",
    nothing: "all projects are included",
    missing: "is not included by name",
    narrows: true,
};

const EXCLUDE: Choosing = Choosing {
    key: "exclude",
    of: |settings| settings.exclude.iter().map(|name| Choice::of(None, Some(name))).collect(),
    heading: "excluded",
    nothing: "nothing is excluded",
    missing: "is not excluded",
    narrows: false,
};

/// Empties the list of what is included, so that everything is included.
fn include_all(context: &CommandContext) -> Result<()> {
    edit::set(&context.home()?.config_file(), "history", &[(INCLUDE.key, Some(included(&[])))])?;
    choose(context, &INCLUDE, None, false)
}

/// A project or a folder as the settings name it. A folder that is given from here (`.`, `../app`, `app/`) would pass for a
/// project that nobody has.
fn place(given: &str) -> Result<String> {
    let refused = || {
        let words = format!("`{given}` is neither a project nor the path of a folder");
        Error::user(words).hint("give the absolute path, which begins with `/`")
    };
    if given.starts_with('~') {
        return Err(refused());
    }
    let begins = |start: &&str| given == start.trim_end_matches('/') || given.starts_with(start);
    let place = if !given.starts_with('/') && (given.ends_with('/') || ["./", "../"].iter().any(begins)) {
        let path = absolute(Path::new(given))?;
        // It stays if the folder is not there, and no session is in such a folder.
        if path.components().any(|part| part == Component::ParentDir) {
            return Err(refused());
        }
        path.display().to_string()
    } else {
        given.to_owned()
    };
    let bare = place.trim_end_matches('/');
    Ok(if bare.is_empty() { "/".to_owned() } else { bare.to_owned() })
}

/// Adds to a list in the settings, removes from it, or shows it.
fn choose(context: &CommandContext, list: &Choosing, what: Option<&str>, remove: bool) -> Result<()> {
    let file = context.home()?.config_file();
    let mut entries = (list.of)(Config::read(&file)?.history);
    if let Some(what) = what {
        let place = place(what)?;
        let what = place.as_str();
        // A place is removed for every agent, unless the agent is named as in the list.
        let is_it = |entry: &Choice| entry.to_string() == what || entry.within.as_deref() == Some(what);
        if remove && !entries.iter().any(is_it) {
            return Err(Error::user(format!("`{what}` {}", list.missing)));
        }
        if remove {
            entries.retain(|entry| !is_it(entry));
            if list.narrows && entries.is_empty() {
                let words = format!(
                    "`{what}` is the last one; without any, the sessions of all projects are imported"
                );
                return Err(Error::user(words)
                    .hint("first include another one, or all: `cerebro history include --all`"));
            }
        } else if !entries.iter().any(|entry| entry.to_string() == what) {
            entries.push(Choice::of(None, Some(what)));
        }
        edit::set(&file, "history", &[(list.key, Some(included(&entries)))])?;
    }
    let entries: Vec<String> = entries.iter().map(ToString::to_string).collect();
    context.output.json(&json!({ list.key: entries }))?;
    let columns = [(list.heading, Layout::Flexible)];
    let mut table = Table::new(&columns);
    for entry in entries {
        table.add(vec![entry]);
    }
    context.output.table(&table, list.nothing)
}
