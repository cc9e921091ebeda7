//! Looking into past sessions: `search`, `show`, `files`, `blame`, `how` and `fix`.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;

use clap::Args;
use serde_json::{Value, json};

use super::super::selection::ProjectArgs;
use super::super::{CommandContext, Outcome, within};
use crate::cli::daemon_client::{Daemon, Request};
use crate::cli::error::{Error, Result};
use crate::cli::table::{Layout, Table, shown};
use cerebro_core::domain::limits::LIMIT_MAX;
use cerebro_core::operation::Operation;

/// Exchanges of a session that are asked for at once.
const PAGE: usize = 50;
/// The smallest part of an exchange that can be asked for.
const PART_BYTES: usize = 256;
/// Of a longer file, no line is looked up.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// Search what was said and done in past sessions
#[derive(Debug, Args)]
pub struct SearchArgs {
    /// Words to look for
    #[arg(required = true)]
    text: Vec<String>,
    /// Search sessions of sub-agents and sessions without a person too
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    scope: ScopeArgs,
}

/// Show a past session; without an id, list them
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// The id that the agent gave the session, or the id of an exchange; the first characters are enough
    session: Option<String>,
    /// Show everything that was said
    #[arg(long, requires = "session")]
    full: bool,
}

/// Show which sessions changed a file, the last first
#[derive(Debug, Args)]
pub struct FilesArgs {
    /// The file's name, or the end of its path
    file: String,
    #[command(flatten)]
    scope: ScopeArgs,
}

/// Show which session wrote a file, or one line of it, and what it was asked
#[derive(Debug, Args)]
pub struct BlameArgs {
    /// The file, with or without the number of a line: src/main.rs:12
    #[arg(value_name = "FILE[:LINE]")]
    file: String,
    #[command(flatten)]
    scope: ScopeArgs,
}

/// Show how a command was run before, and whether it succeeded
#[derive(Debug, Args)]
pub struct HowArgs {
    /// Words of the command
    command: String,
    #[command(flatten)]
    scope: ScopeArgs,
}

/// Show where an error was met before, and what made it go away
#[derive(Debug, Args)]
pub struct FixArgs {
    /// Words of the error; numbers are ignored
    error: String,
    #[command(flatten)]
    scope: ScopeArgs,
}

#[derive(Debug, Args)]
struct ScopeArgs {
    #[command(flatten)]
    of: ProjectArgs,
    /// Show at most N, 1 to 50
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = within(1..=LIMIT_MAX))]
    limit: usize,
}

impl ScopeArgs {
    fn request(&self, operation: Operation) -> Request {
        self.of.request(operation).with("limit", self.limit)
    }
}

const SESSIONS: &[(&str, Layout)] = &[
    ("session", Layout::Fixed),
    ("began", Layout::Moment),
    ("agent", Layout::Fixed),
    ("project", Layout::Fixed),
    ("exchanges", Layout::Count),
    ("title", Layout::Flexible),
];

const EXCHANGES: &[(&str, Layout)] = &[
    ("id", Layout::Fixed),
    ("at", Layout::Moment),
    ("files", Layout::Count),
    ("commands", Layout::Count),
    ("errors", Layout::Count),
    ("title", Layout::Flexible),
];

const HITS: &[(&str, Layout)] = &[
    ("id", Layout::Fixed),
    ("at", Layout::Moment),
    ("agent", Layout::Fixed),
    ("session", Layout::Fixed),
    ("title", Layout::Flexible),
];

const FILES: &[(&str, Layout)] = &[
    ("id", Layout::Fixed),
    ("at", Layout::Moment),
    ("agent", Layout::Fixed),
    ("session", Layout::Fixed),
    ("file", Layout::Fixed),
    ("asked", Layout::Flexible),
];

const COMMANDS: &[(&str, Layout)] = &[
    ("last run", Layout::Moment),
    ("succeeded", Layout::Count),
    ("failed", Layout::Count),
    ("session", Layout::Fixed),
    ("command", Layout::Flexible),
];

const ERRORS: &[(&str, Layout)] = &[
    ("at", Layout::Moment),
    ("id", Layout::Fixed),
    ("session", Layout::Fixed),
    ("error", Layout::Flexible),
    ("went away with", Layout::Flexible),
    ("after a change of", Layout::Flexible),
];

const PROVEN: &[(&str, Layout)] =
    &[("id", Layout::Fixed), ("fact", Layout::Fixed), ("what", Layout::Flexible)];

pub async fn search(context: &CommandContext, args: SearchArgs) -> Result<Outcome> {
    let request = args.scope.request(Operation::Search).with("query", args.text.join(" "));
    let request = request.with("type", "history").with("hidden", args.all);
    let daemon = Daemon::reach(&context.home()?).await?;
    let mut answer = daemon.ask(request).await?;
    if answer["hits"].as_array().is_none_or(Vec::is_empty) {
        let status = daemon.ask(Request::new(Operation::HistoryStatus)).await?;
        context.output.note(nothing_found(&status, &args));
    }
    for hit in answer["hits"].as_array_mut().into_iter().flatten() {
        // A list for agents has no room for it.
        let part = Request::new(Operation::GetObservation)
            .with("id", hit["id"].clone())
            .with("max_bytes", PART_BYTES);
        let part = daemon.ask(part).await?;
        hit["session"] = part["session_id"].clone();
        hit["agent"] = part["agent"].clone();
    }
    daemon.close().await;
    if context.output.json(&answer)? {
        return Ok(Outcome::Done);
    }
    let fields = ["id", "date", "agent", "session", "title"];
    context.output.table(&Table::of(HITS, &fields, &answer["hits"]), "no past session tells of it")?;
    Ok(Outcome::Done)
}

/// Why a search found nothing, and what to try next.
fn nothing_found(status: &Value, args: &SearchArgs) -> &'static str {
    match status["exchanges"].as_u64() {
        Some(0) | None if status["enabled"] != json!(true) => {
            "past sessions are not taken in; `cerebro history import` asks and does"
        }
        Some(0) | None => "nothing was taken in yet; `cerebro history status` says how far it is",
        Some(_) if !args.scope.of.all_projects => {
            "`--all-projects` looks into past sessions of every project"
        }
        Some(_) if !args.all => "`--all` looks into sessions of sub-agents, and those without a person, too",
        Some(_) => "other words may find it; `cerebro history show` lists the sessions",
    }
}

async fn ask(context: &CommandContext, request: Request) -> Result<Value> {
    let daemon = Daemon::reach(&context.home()?).await?;
    let answer = daemon.ask(request).await?;
    daemon.close().await;
    Ok(answer)
}

pub async fn show(context: &CommandContext, args: ShowArgs) -> Result<Outcome> {
    let Some(session) = args.session else { return list(context).await };
    let daemon = Daemon::reach(&context.home()?).await?;
    let mut exchanges: Vec<Value> = Vec::new();
    let mut whole = loop {
        let from = exchanges.last().and_then(|last| last["seq"].as_u64()).map_or(0, |seq| seq + 1);
        let request = Request::new(Operation::HistorySession)
            .with("session", session.clone())
            .with("from", from)
            .with("limit", PAGE)
            .with("full", args.full);
        let mut answer = daemon.ask(request).await?;
        let Value::Array(page) = answer["exchanges"].take() else { break answer };
        let is_last = page.len() < PAGE;
        exchanges.extend(page);
        if is_last {
            break answer;
        }
    };
    daemon.close().await;
    whole["exchanges"] = Value::Array(exchanges);
    if context.output.json(&whole)? {
        return Ok(Outcome::Done);
    }
    context.output.facts(&[
        ("session", shown(&whole["session"])),
        ("title", shown(&whole["title"])),
        ("asked", shown(&whole["asked"])),
        ("agent", shown(&whole["agent"])),
        ("project", shown(&whole["project"])),
        ("folder", shown(&whole["directory"])),
        ("branch", shown(&whole["branch"])),
        ("follows", shown(&whole["parent"])),
        ("began", context.output.moment(&whole["started_at"])),
        ("ended", context.output.moment(&whole["ended_at"])),
    ])?;
    if args.full {
        for exchange in whole["exchanges"].as_array().into_iter().flatten() {
            context.output.text(&format!(
                "\n--- {} ---\n{}",
                shown(&exchange["id"]),
                shown(&exchange["text"])
            ))?;
        }
        return Ok(Outcome::Done);
    }
    show_exchanges(context, &whole).map(|()| Outcome::Done)
}

/// The exchanges of a session in a table, and what they prove in another.
fn show_exchanges(context: &CommandContext, whole: &Value) -> Result<()> {
    let count = |list: &Value| list.as_array().map_or(0, Vec::len).to_string();
    let mut table = Table::new(EXCHANGES);
    for exchange in whole["exchanges"].as_array().into_iter().flatten() {
        let (files, commands) = (count(&exchange["files"]), count(&exchange["commands"]));
        let errors = count(&exchange["errors"]);
        let (id, at, title) = (shown(&exchange["id"]), shown(&exchange["at"]), shown(&exchange["title"]));
        table.add(vec![id, at, files, commands, errors, title]);
    }
    context.output.table(&table, "nothing of it is kept")?;
    let mut table = Table::new(PROVEN);
    for exchange in whole["exchanges"].as_array().into_iter().flatten() {
        for (fact, what) in proven(&exchange["proven"]) {
            table.add(vec![shown(&exchange["id"]), fact.to_owned(), what]);
        }
    }
    if table.is_empty() { Ok(()) } else { context.output.table(&table, "") }
}

/// What an exchange proves, in words.
fn proven(proven: &Value) -> Vec<(&'static str, String)> {
    fn each<'a>(proven: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
        proven[name].as_array().into_iter().flatten()
    }
    let mut rows = Vec::new();
    for failure in each(proven, "failures") {
        let fix = &failure["fix"];
        let end = if fix.is_null() {
            String::new()
        } else {
            format!(" · went away with {}", shown(&fix["command"]))
        };
        rows.push(("failed", format!("{}: {}{end}", shown(&failure["command"]), shown(&failure["error"]))));
    }
    for refusal in each(proven, "refusals") {
        rows.push(("refused", format!("{} {}", shown(&refusal["what"]), shown(&refusal["said"]))));
    }
    if proven["interrupted"] == json!(true) {
        rows.push(("interrupted", String::new()));
    }
    for commit in each(proven, "commits") {
        rows.push(("commit", format!("{} {}", shown(&commit["id"]), shown(&commit["subject"]))));
    }
    rows.extend(each(proven, "pull_requests").map(|url| ("pull request", shown(url))));
    for plan in each(proven, "plans") {
        let name = if plan["accepted"] == json!(true) { "plan, accepted" } else { "plan" };
        rows.push((name, shown(&plan["text"])));
    }
    for answer in each(proven, "answers") {
        rows.push(("answer", format!("{}: {}", shown(&answer["asked"]), shown(&answer["answer"]))));
    }
    rows.extend(
        each(&proven["to_do"], "items")
            .map(|item| ("to do", format!("[{}] {}", shown(&item["status"]), shown(&item["text"])))),
    );
    for (name, key) in [("summary", "summary"), ("last words", "reply")] {
        if let Some(text) = proven[key].as_str() {
            rows.push((name, text.to_owned()));
        }
    }
    if each(proven, "read").next().is_some() {
        rows.push(("read", shown(&proven["read"])));
    }
    rows.into_iter().map(|(name, what)| (name, what.trim().to_owned())).collect()
}

async fn list(context: &CommandContext) -> Result<Outcome> {
    let mut answer = ask(context, Request::new(Operation::HistorySession)).await?;
    if context.output.json(&answer)? {
        return Ok(Outcome::Done);
    }
    for session in answer["sessions"].as_array_mut().into_iter().flatten() {
        if session["title"].is_null() {
            session["title"] = session["asked"].take();
        }
    }
    let fields = ["session", "started_at", "agent", "project", "exchanges", "title"];
    context.output.table(
        &Table::of(SESSIONS, &fields, &answer["sessions"]),
        "no past sessions yet; `cerebro history import` takes them in, after asking",
    )?;
    Ok(Outcome::Done)
}

/// Asks for facts, and shows them in a table of these columns.
async fn print_facts(
    context: &CommandContext,
    scope: &ScopeArgs,
    (about, asked): (&str, String),
    (columns, fields): (&[(&str, Layout)], &[&str]),
    nothing: &str,
) -> Result<Outcome> {
    let request = scope.request(Operation::HistoryFacts).with("about", about).with("query", asked);
    let answer = ask(context, request).await?;
    if context.output.json(&answer)? {
        return Ok(Outcome::Done);
    }
    context.output.table(&Table::of(columns, fields, &answer["facts"]), nothing)?;
    Ok(Outcome::Done)
}

pub async fn files(context: &CommandContext, args: FilesArgs) -> Result<Outcome> {
    let columns = (FILES, &["id", "at", "agent", "session", "what", "title"][..]);
    print_facts(context, &args.scope, ("file", args.file), columns, "no past session changed it").await
}

pub async fn how(context: &CommandContext, args: HowArgs) -> Result<Outcome> {
    let columns = (COMMANDS, &["at", "succeeded", "failed", "session", "what"][..]);
    print_facts(context, &args.scope, ("command", args.command), columns, "no past session ran it").await
}

pub async fn fix(context: &CommandContext, args: FixArgs) -> Result<Outcome> {
    let columns = (ERRORS, &["at", "id", "session", "what", "then", "changed"][..]);
    print_facts(context, &args.scope, ("error", args.error), columns, "no past session met it").await
}

/// Of a line, the exchange that wrote a line like it; else those that changed the file.
pub async fn blame(context: &CommandContext, args: BlameArgs) -> Result<Outcome> {
    let (file, line) = match args.file.rsplit_once(':') {
        Some((file, number))
            if !file.is_empty() && number.parse::<usize>().is_ok_and(|number| number > 0) =>
        {
            (file.to_owned(), number.parse::<usize>().ok())
        }
        _ => (args.file.clone(), None),
    };
    let written = line.map(|number| text_of(Path::new(&file), number)).transpose()?;
    let request = args.scope.request(Operation::HistoryFacts).with("about", "file").with("query", file);
    let request = request.with("line", written.clone());
    let answer = ask(context, request).await?;
    if context.output.json(&answer)? {
        return Ok(Outcome::Done);
    }
    if written.is_some() && answer["line_found"] == json!(false) {
        context.output.note("no past session wrote that line; these changed the file");
    }
    let fields = ["id", "at", "agent", "session", "what", "title"];
    context.output.table(&Table::of(FILES, &fields, &answer["facts"]), "no past session changed it")?;
    Ok(Outcome::Done)
}

/// The text of a line, by its number.
fn text_of(file: &Path, number: usize) -> Result<String> {
    let read = |error| Error::file("read", file, &error);
    let opened = fs::File::open(file).map_err(read)?;
    if opened.metadata().map_err(read)?.len() > FILE_BYTES_MAX {
        return Err(Error::user(format!("{} is too large to look up a line", file.display())));
    }
    let line = BufReader::new(opened).split(b'\n').nth(number - 1);
    let line = line.ok_or_else(|| Error::user(format!("{} has no line {number}", file.display())))?;
    let text = String::from_utf8_lossy(&line.map_err(read)?).trim().to_owned();
    if text.is_empty() {
        return Err(Error::user(format!("line {number} of {} is empty", file.display())));
    }
    Ok(text)
}
