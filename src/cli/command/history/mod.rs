//! `cerebro history`: past sessions, taken in from what agents write down of them.

mod find;
mod forget;

use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::setup::Ground;
use super::{CommandContext, Outcome};
use crate::cli::daemon_client::{Daemon, Request};
use crate::cli::error::{Error, Result};
use crate::cli::table::{Layout, Table, bytes, shown};
use crate::config::{Config, edit};
use cerebro_core::operation::Operation;
use cerebro_core::text;
use cerebro_service::{agent_slug, agents, glance, places};

/// How often the progress is looked at.
const GLANCE: Duration = Duration::from_millis(200);
const BAR: &str = "{bar:30} {decimal_bytes} of {decimal_total_bytes}, {msg}, {elapsed}";

/// What to do with past sessions.
#[derive(Debug, Subcommand)]
pub enum HistoryCommand {
    Import(ImportArgs),
    /// Show what was taken in, what is under way, and what could not be read
    Status,
    Search(find::SearchArgs),
    Show(find::ShowArgs),
    Files(find::FilesArgs),
    Blame(find::BlameArgs),
    How(find::HowArgs),
    Fix(find::FixArgs),
    Forget(forget::ForgetArgs),
    Exclude(ExcludeArgs),
}

/// Take past sessions in, the newest first, and keep them current from then on
///
/// Asks before it begins. It can be cut short at any time and goes on by itself.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// Only this agent's; can be given more than once [default: of all that are found]
    #[arg(long = "agent", value_name = "AGENT", value_parser = agent_names())]
    agents: Vec<String>,
    /// Only this project's
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// Only those written in this time, such as 30d; 0 is all [default: `since` of the settings, 180d]
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Show what there is, and take nothing in
    #[arg(long)]
    dry_run: bool,
    /// Do not ask first; needed where no terminal is
    #[arg(long)]
    yes: bool,
    /// Do not wait until it is done
    #[arg(long)]
    no_wait: bool,
}

/// Leave a project or a folder alone, or list what is left alone
///
/// What was taken in of it already stays; `cerebro history forget` removes that.
#[derive(Debug, Args)]
pub struct ExcludeArgs {
    /// A project, or the absolute path of a folder
    what: Option<String>,
    /// Take it in again
    #[arg(long, requires = "what")]
    remove: bool,
}

fn agent_names() -> PossibleValuesParser {
    PossibleValuesParser::new(agents().map(agent_slug))
}

const FOUND: &[(&str, Layout)] = &[
    ("agent", Layout::Fixed),
    ("files", Layout::Count),
    ("size", Layout::Count),
    ("new or changed", Layout::Count),
    ("too old", Layout::Count),
];

const TAKEN: &[(&str, Layout)] = &[
    ("agent", Layout::Fixed),
    ("read", Layout::Count),
    ("exchanges", Layout::Count),
    ("with secrets removed", Layout::Count),
    ("unreadable lines", Layout::Count),
    ("unknown records", Layout::Flexible),
];

const FAULTS: &[(&str, Layout)] = &[("file", Layout::Flexible), ("why it is not read", Layout::Flexible)];

pub async fn run(context: &CommandContext, command: HistoryCommand) -> Result<Outcome> {
    match command {
        HistoryCommand::Import(args) => import(context, args).await,
        HistoryCommand::Status => status(context).await,
        HistoryCommand::Exclude(args) => exclude(context, &args),
        HistoryCommand::Forget(args) => forget::run(context, args).await,
        HistoryCommand::Search(args) => find::search(context, args).await,
        HistoryCommand::Show(args) => find::show(context, args).await,
        HistoryCommand::Files(args) => find::files(context, args).await,
        HistoryCommand::Blame(args) => find::blame(context, args).await,
        HistoryCommand::How(args) => find::how(context, args).await,
        HistoryCommand::Fix(args) => find::fix(context, args).await,
    }
}

async fn import(context: &CommandContext, args: ImportArgs) -> Result<Outcome> {
    if args.since.as_deref().is_some_and(|since| text::duration(since).is_none()) {
        return Err(Error::usage("`--since` is a number and a unit, such as 30d, or 0 for all"));
    }
    let home = context.home()?;
    let daemon = Daemon::reach(&home).await?;
    let asked = |operation| {
        Request::new(operation)
            .with("agents", args.agents.clone())
            .with("project", args.project.clone())
            .with("since", args.since.clone())
    };
    let found = daemon.ask(asked(Operation::HistoryPreview)).await?;
    if args.dry_run {
        daemon.close().await;
        return show_found(context, &found).map(|()| Outcome::Done);
    }
    let is_enabled = Config::read(&home.config_file())?.history.enabled;
    if !args.yes {
        if !context.output.is_json() {
            show_found(context, &found)?;
        }
        let from_then = if is_enabled { "" } else { " and keep them current from now on" };
        let question = format!(
            "Take these sessions in{from_then}? They stay on this machine, without secrets; agents can search them."
        );
        if !context.output.confirm(&question)? {
            daemon.close().await;
            context.output.note("nothing was taken in");
            return Ok(Outcome::Short);
        }
    }
    if !is_enabled {
        edit::set(&home.config_file(), "history", &[("enabled", Some(true.into()))])?;
    }
    daemon.ask(asked(Operation::HistoryImport)).await?;
    let status = if args.no_wait {
        daemon.ask(Request::new(Operation::HistoryStatus)).await?
    } else {
        watch(context, &daemon).await?
    };
    daemon.close().await;
    show_status(context, &status).map(|()| Outcome::Done)
}

/// Says that past sessions lie on this machine, where they are not taken in.
pub fn mention(context: &CommandContext, ground: &Ground) {
    let enabled = Config::read(&ground.folder.join("config.toml")).is_ok_and(|config| config.history.enabled);
    if enabled || context.output.is_json() {
        return;
    }
    let (files, size) = glance(&places(|name| std::env::var_os(name), &ground.user));
    if files > 0 {
        let size = bytes(size);
        context.output.note(&format!(
            "{files} past sessions of agents ({size}) are on this machine; `cerebro history import` asks, and lets \
             agents search them"
        ));
    }
}

fn show_found(context: &CommandContext, found: &Value) -> Result<()> {
    if context.output.json(found)? {
        return Ok(());
    }
    let mut table = Table::new(FOUND);
    for agent in found["agents"].as_array().into_iter().flatten() {
        let size = bytes(agent["bytes"].as_u64().unwrap_or_default());
        let count = |name: &str| shown(&agent[name]);
        table.add(vec![count("agent"), count("files"), size, count("fresh"), count("older")]);
    }
    context.output.table(&table, "no agent has written down a session here")?;
    show_faults(context, &found["faults"])
}

fn show_faults(context: &CommandContext, faults: &Value) -> Result<()> {
    let table = Table::of(FAULTS, &["path", "reason"], faults);
    if table.is_empty() { Ok(()) } else { context.output.table(&table, "") }
}

/// Shows the progress until nothing is left to do.
async fn watch(context: &CommandContext, daemon: &Daemon) -> Result<Value> {
    let bar = context.output.progress(Some(0), BAR);
    loop {
        let status = daemon.ask(Request::new(Operation::HistoryStatus)).await?;
        let number = |name: &str| status[name].as_u64().unwrap_or_default();
        bar.set_length(number("bytes"));
        bar.set_position(number("bytes_done").min(number("bytes")));
        bar.set_message(format!("{} of {} files", number("files_done"), number("files")));
        if status["state"] != "reading" {
            bar.finish_and_clear();
            return Ok(status);
        }
        tokio::time::sleep(GLANCE).await;
    }
}

async fn status(context: &CommandContext) -> Result<Outcome> {
    let daemon = Daemon::reach(&context.home()?).await?;
    let status = daemon.ask(Request::new(Operation::HistoryStatus)).await?;
    daemon.close().await;
    show_status(context, &status)?;
    if status["state"] == "off" {
        context.output.note("past sessions are not taken in; `cerebro history import` asks and does");
    }
    Ok(Outcome::Done)
}

fn show_status(context: &CommandContext, status: &Value) -> Result<()> {
    if context.output.json(status)? {
        return Ok(());
    }
    let under_way = if status["state"] == "reading" {
        format!("{} of {} files", status["files_done"], status["files"])
    } else {
        String::new()
    };
    context.output.facts(&[
        ("history", shown(&status["state"])),
        ("under way", under_way),
        ("sessions", shown(&status["sessions"])),
        ("exchanges", shown(&status["exchanges"])),
        ("folders looked through", context.output.moment(&status["scanned_at"])),
        ("files there", shown(&status["seen"])),
    ])?;
    let mut table = Table::new(TAKEN);
    for agent in status["agents"].as_array().into_iter().flatten() {
        let unknown = agent["unknown"].as_object().into_iter().flatten();
        let unknown: Vec<String> = unknown.map(|(name, count)| format!("{name} ×{count}")).collect();
        let odd =
            agent["malformed"].as_u64().unwrap_or_default() + agent["oversized"].as_u64().unwrap_or_default();
        let count = |name: &str| shown(&agent[name]);
        table.add(vec![
            count("agent"),
            count("read"),
            count("exchanges"),
            count("redacted"),
            odd.to_string(),
            unknown.join(", "),
        ]);
    }
    if !table.is_empty() {
        context.output.table(&table, "")?;
    }
    show_faults(context, &status["faults"])
}

fn exclude(context: &CommandContext, args: &ExcludeArgs) -> Result<Outcome> {
    let file = context.home()?.config_file();
    let mut excluded = Config::read(&file)?.history.exclude;
    if let Some(what) = &args.what {
        let what = what.trim_end_matches('/');
        let is_there = excluded.iter().any(|entry| entry == what);
        if args.remove && !is_there {
            return Err(Error::user(format!("`{what}` is not left alone")));
        }
        excluded.retain(|entry| entry != what);
        if !args.remove {
            excluded.push(what.to_owned());
        }
        let list: toml_edit::Array = excluded.iter().map(String::as_str).collect();
        edit::set(&file, "history", &[("exclude", Some(list.into()))])?;
    }
    if context.output.json(&json!({ "exclude": excluded }))? {
        return Ok(Outcome::Done);
    }
    let mut table = Table::new(&[("left alone", Layout::Flexible)]);
    for entry in excluded {
        table.add(vec![entry]);
    }
    context.output.table(&table, "nothing is left alone")?;
    Ok(Outcome::Done)
}
