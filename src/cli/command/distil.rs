//! `cerebro distil`: what a chat model found worth keeping of past sessions, until a person accepts or rejects it.
//! Handbooks of accepted claims are in [`handbook`].

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

use super::{CommandContext, Outcome, handbook, within};
use crate::cli::daemon_client::{Daemon, Request};
use crate::cli::error::Result;
use crate::cli::table::{Layout, Table, shown};
use cerebro_core::domain::limits::{LIMIT_MAX, LISTING_MAX};
use cerebro_core::operation::Operation;
use cerebro_core::text;

/// What to do with what was distilled.
#[derive(Debug, Subcommand)]
pub enum DistilCommand {
    /// Show whether distilling is on, what waits, and what it cost today
    Status,
    Run(RunArgs),
    Review(ReviewArgs),
    /// Show a candidate with its evidence, or an arrangement with its changes
    Show(OneArgs),
    /// Accept candidates, which become memories, or arrangements of handbooks
    Accept(ManyArgs),
    /// Reject candidates, which are not proposed again, or arrangements
    Reject(ManyArgs),
    Arrange(handbook::ArrangeArgs),
    /// Undo an accepted arrangement of a handbook
    Undo(OneArgs),
    Handbook(handbook::HandbookArgs),
    Skills(handbook::SkillsArgs),
}

/// Distil past sessions now, even those that have just ended
#[derive(Debug, Args)]
pub struct RunArgs {
    /// Only this project [default: all]
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// Distil at most N sessions, the newest first, 1 to 50
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = within(1..=LIMIT_MAX))]
    limit: usize,
    /// Only list the sessions, with an estimate of their tokens; nothing is sent
    #[arg(long)]
    dry_run: bool,
}

/// List the candidates and the arrangements of handbooks that wait for a decision
#[derive(Debug, Args)]
pub struct ReviewArgs {
    /// Only this project [default: all]
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// Only those in this state [default: those that wait]
    #[arg(long, value_enum)]
    state: Option<State>,
    /// Show at most N, 1 to 500
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = within(1..=LISTING_MAX))]
    limit: usize,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum State {
    /// Nobody has decided on them
    Waiting,
    /// They are memories
    Accepted,
    /// They are not wanted
    Rejected,
    /// They were accepted and undone; only arrangements
    Undone,
}

#[derive(Debug, Args)]
pub struct OneArgs {
    /// The id that `review` lists
    id: String,
}

#[derive(Debug, Args)]
pub struct ManyArgs {
    /// The id that `review` lists; may be given several times
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
}

const PLANNED: &[(&str, Layout)] = &[
    ("session", Layout::Fixed),
    ("began", Layout::Moment),
    ("project", Layout::Fixed),
    ("exchanges", Layout::Count),
    ("tokens", Layout::Count),
    ("title", Layout::Flexible),
];

const CANDIDATES: &[(&str, Layout)] = &[
    ("id", Layout::Fixed),
    ("claim", Layout::Fixed),
    ("project", Layout::Fixed),
    ("title", Layout::Flexible),
    ("text", Layout::Flexible),
];

pub async fn run(context: &CommandContext, command: DistilCommand) -> Result<Outcome> {
    match command {
        DistilCommand::Status => status(context).await,
        DistilCommand::Run(args) => distil(context, args).await,
        DistilCommand::Review(args) => review(context, args).await,
        DistilCommand::Show(args) => show(context, args).await,
        DistilCommand::Accept(args) => decide(context, args, Operation::DistilAccept).await,
        DistilCommand::Reject(args) => decide(context, args, Operation::DistilReject).await,
        DistilCommand::Arrange(args) => handbook::arrange(context, args).await,
        DistilCommand::Undo(args) => handbook::undo(context, args.id).await,
        DistilCommand::Handbook(args) => handbook::handbook(context, args).await,
        DistilCommand::Skills(args) => handbook::skills(context, args).await,
    }
}

pub(super) async fn ask(context: &CommandContext, request: Request) -> Result<Value> {
    let daemon = Daemon::reach(&context.home()?).await?;
    let answer = daemon.ask(request).await?;
    daemon.close().await;
    Ok(answer)
}

async fn status(context: &CommandContext) -> Result<Outcome> {
    let answer = ask(context, Request::new(Operation::DistilStatus)).await?;
    if context.output.json(&answer)? {
        return Ok(Outcome::Done);
    }
    let counts = |counts: &Value| {
        let counts = counts.as_object().into_iter().flatten();
        counts
            .map(|(name, count)| format!("{count} {}", name.replace('_', " ")))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let spent = |today: &str, day: &str| match answer[day].as_u64() {
        Some(0) | None => format!("{}, without a bound", shown(&answer[today])),
        Some(most) => format!("{} of {most}", shown(&answer[today])),
    };
    context.output.facts(&[
        ("distilling", shown(&answer["state"])),
        ("note", shown(&answer["detail"])),
        ("sessions", counts(&answer["sessions"])),
        ("candidates", counts(&answer["candidates"])),
        ("review", shown(&answer["review"])),
        ("accepted without a person", shown(&answer["corroborated"])),
        ("arrangements of handbooks", counts(&answer["arrangements"])),
        ("claims and changes that did not pass the check", counts(&answer["dropped"])),
        ("tokens today", spent("tokens_today", "tokens_per_day")),
        ("requests today", spent("requests_today", "requests_per_day")),
    ])?;
    Ok(Outcome::Done)
}

async fn distil(context: &CommandContext, args: RunArgs) -> Result<Outcome> {
    let operation = if args.dry_run { Operation::DistilPlan } else { Operation::DistilRun };
    let request = Request::new(operation).with("project", args.project).with("limit", args.limit);
    let answer = ask(context, request).await?;
    if context.output.json(&answer)? {
        return Ok(Outcome::Done);
    }
    if args.dry_run {
        let fields = ["session", "started_at", "project", "exchanges", "tokens", "title"];
        context
            .output
            .table(&Table::of(PLANNED, &fields, &answer["sessions"]), "no session waits to be distilled")?;
        let (requests, tokens) = (&answer["requests"], &answer["tokens"]);
        context.output.note(&format!(
            "about {tokens} tokens in {requests} requests; a session without tokens is not sent"
        ));
        return Ok(Outcome::Done);
    }
    let queued = answer["queued"].as_u64().unwrap_or_default();
    let words =
        format!("{} queued; `cerebro distil status` shows how it goes", text::counted(queued, "session"));
    context.output.note(&words);
    Ok(Outcome::Done)
}

async fn review(context: &CommandContext, args: ReviewArgs) -> Result<Outcome> {
    let state =
        args.state.and_then(|state| state.to_possible_value()).map(|value| value.get_name().to_owned());
    let request = Request::new(Operation::DistilReview)
        .with("project", args.project)
        .with("state", state)
        .with("limit", args.limit);
    let answer = ask(context, request).await?;
    if context.output.json(&answer)? {
        return Ok(Outcome::Done);
    }
    let fields = ["id", "claim", "project", "title", "text"];
    context.output.table(&Table::of(CANDIDATES, &fields, &answer["candidates"]), "none to list")?;
    for arrangement in answer["arrangements"].as_array().into_iter().flatten() {
        let [id, state, title] = ["id", "state", "title"].map(|field| shown(&arrangement[field]));
        context.output.outcome(&id, &state, &format!(": {title}"))?;
    }
    Ok(Outcome::Done)
}

async fn show(context: &CommandContext, args: OneArgs) -> Result<Outcome> {
    let answer = ask(context, Request::new(Operation::DistilShow).with("id", args.id)).await?;
    if answer["arrangement"].is_object() {
        return handbook::show(context, &answer["arrangement"]);
    }
    let candidate = &answer["candidate"];
    if context.output.json(candidate)? {
        return Ok(Outcome::Done);
    }
    context.output.facts(&[
        ("candidate", shown(&candidate["id"])),
        ("state", shown(&candidate["state"])),
        ("memory", shown(&candidate["memory"])),
        ("claim", shown(&candidate["claim"])),
        ("title", shown(&candidate["title"])),
        ("text", shown(&candidate["text"])),
        ("project", shown(&candidate["project"])),
        ("session", shown(&candidate["session"])),
        ("agent", shown(&candidate["agent"])),
        ("model", shown(&candidate["model"])),
        ("proposed", context.output.moment(&candidate["at"])),
        ("decided", context.output.moment(&candidate["decided_at"])),
    ])?;
    for evidence in candidate["evidence"].as_array().into_iter().flatten() {
        context.output.text(&format!("{}: “{}”", shown(&evidence["id"]), shown(&evidence["quote"])))?;
    }
    Ok(Outcome::Done)
}

/// Decides on each in turn; the first that cannot be ends it.
async fn decide(context: &CommandContext, args: ManyArgs, operation: Operation) -> Result<Outcome> {
    let daemon = Daemon::reach(&context.home()?).await?;
    let mut decided = Vec::new();
    for id in args.ids {
        decided.push(daemon.ask(Request::new(operation).with("id", id)).await?);
    }
    daemon.close().await;
    if context.output.json(&json!({ "candidates": decided }))? {
        return Ok(Outcome::Done);
    }
    for one in &decided {
        let memory = one["memory"].as_str().map(|memory| format!(", memory {memory}")).unwrap_or_default();
        let detail = format!(": {}{memory}", shown(&one["title"]));
        context.output.outcome(&shown(&one["id"]), &shown(&one["outcome"]), &detail)?;
    }
    Ok(Outcome::Done)
}
