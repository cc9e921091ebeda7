//! `cerebro sessions`: the sessions of agents, and what one of them left.

use clap::{Args, Subcommand};
use serde_json::Value;

use super::list::{Columns, ask_raw_of_project, print};
use super::selection::ProjectArgs;
use super::{CommandContext, Outcome, within};
use crate::cli::daemon_client::{Daemon, Request};
use crate::cli::error::{Error, Result};
use crate::cli::table::{Layout, Table, shown};
use crate::view::Session;
use cerebro_core::domain::limits::{LIMIT_MAX, LISTING_MAX};
use cerebro_core::operation::Operation;

/// List sessions, the latest first, or show what one of them left
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct SessionsArgs {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    list: ListArgs,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show a session: its summary, and what was saved and asked in it, in order of time
    Show(ShowArgs),
}

#[derive(Debug, Args)]
struct ListArgs {
    #[command(flatten)]
    of: ProjectArgs,
    /// Show at most N, 1 to 50 [default: 20]
    #[arg(long, value_name = "N", value_parser = within(1..=LIMIT_MAX))]
    limit: Option<usize>,
}

#[derive(Debug, Args)]
struct ShowArgs {
    /// The session's id, or the first characters of a recent one
    id: String,
}

const SESSIONS: Columns = (
    &[
        ("id", Layout::Id),
        ("started", Layout::Ago),
        ("ended", Layout::Ago),
        ("agent", Layout::Spare),
        ("project", Layout::Spare),
        ("how", Layout::Spare),
        ("summary", Layout::Flexible),
    ],
    &["id", "started_at", "ended_at", "agent", "project", "end_reason", "summary"],
);

const ENTRIES: Columns = (
    &[
        ("id", Layout::Id),
        ("when", Layout::Ago),
        ("what", Layout::Fixed),
        ("type", Layout::Spare),
        ("title", Layout::Flexible),
    ],
    &["id", "date", "kind", "type", "title"],
);

pub async fn run(context: &CommandContext, args: SessionsArgs) -> Result<Outcome> {
    match args.action {
        None => list(context, args.list).await,
        Some(Action::Show(args)) => show(context, args).await,
    }
}

async fn list(context: &CommandContext, args: ListArgs) -> Result<Outcome> {
    let request = args.of.request(Operation::Sessions).with("limit", args.limit);
    let (answer, meant) =
        ask_raw_of_project(context, request, "sessions", args.of.project.as_deref()).await?;
    let nothing = if args.of.all_projects {
        "no sessions yet; `cerebro setup` connects an agent, and each of its sessions is listed here"
    } else {
        "no sessions in this project; --all-projects lists those of all"
    };
    let mut shown = answer["sessions"].clone();
    if context.output.screen().is_some() {
        headlines(&mut shown);
    }
    print(context, &answer, &shown, SESSIONS, nothing)?;
    context.output.notes(&meant);
    Ok(Outcome::Done)
}

/// Puts the first telling line of each summary in its place: a terminal has no room for more.
fn headlines(sessions: &mut Value) {
    for session in sessions.as_array_mut().into_iter().flatten() {
        session["summary"] = Session::read(session).headline().into();
    }
}

async fn show(context: &CommandContext, args: ShowArgs) -> Result<Outcome> {
    let contents = contents(context, &args.id).await?;
    let session = &contents["session"];
    if session.is_null() {
        let problem = format!("there is no session {}", args.id);
        return Err(Error::user(problem).hint("`cerebro sessions --all-projects` shows their ids"));
    }
    if context.output.json(&contents)? {
        return Ok(Outcome::Done);
    }
    context.output.facts(&[
        ("session", shown(&session["id"])),
        ("agent", shown(&session["agent"])),
        ("project", shown(&session["project"])),
        ("folder", shown(&session["directory"])),
        ("follows", shown(&session["follows"])),
        ("began", context.output.moment(&session["started_at"])),
        ("ended", context.output.moment(&session["ended_at"])),
        ("how", shown(&session["end_reason"])),
    ])?;
    let summary = shown(&session["summary"]);
    if !summary.is_empty() {
        context.output.text(&format!("\n{summary}\n"))?;
    }
    context
        .output
        .table(&Table::of(ENTRIES.0, ENTRIES.1, &contents["entries"]), "nothing was saved in it")?;
    Ok(Outcome::Done)
}

/// A session with all that happened in it, by its id or the beginning of one.
async fn contents(context: &CommandContext, id: &str) -> Result<Value> {
    let daemon = Daemon::reach(&context.home()?).await?;
    let mut contents = whole_session(&daemon, id).await?;
    if contents["session"].is_null() {
        let latest = Request::new(Operation::Sessions).with("all_projects", true).with("limit", LIMIT_MAX);
        let latest = daemon.ask(latest).await?;
        let ids = latest["sessions"].as_array().into_iter().flatten().filter_map(|row| row["id"].as_str());
        let meant: Vec<&str> = ids.filter(|own| own.starts_with(id)).collect();
        match meant[..] {
            [] => {}
            [one] => contents = whole_session(&daemon, one).await?,
            _ => return Err(Error::user(format!("several sessions have ids that begin with {id}"))),
        }
    }
    daemon.close().await;
    Ok(contents)
}

/// A session with all that happened in it, read page by page.
async fn whole_session(daemon: &Daemon, id: &str) -> Result<Value> {
    let mut entries = Vec::new();
    let mut after = Value::Null;
    let mut contents = loop {
        let request = Request::new(Operation::Story)
            .with("session_id", id)
            .with("limit", LISTING_MAX)
            .with("after", after.as_str());
        let mut page = daemon.ask(request).await?;
        if let Value::Array(page) = page["entries"].take() {
            entries.extend(page);
        }
        after = page["next"].take();
        if !after.is_string() {
            break page;
        }
    };
    if let Some(facts) = contents.as_object_mut() {
        facts.insert("entries".to_owned(), Value::Array(entries));
        facts.retain(|name, _| !["more", "next"].contains(&name.as_str()));
    }
    Ok(contents)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::list::tests::drawn_at_three_widths;
    use super::*;

    #[test]
    fn sessions_are_readable_at_three_widths() {
        let mut sessions = json!([
            { "id": "4f0c2b1e-8a57-4d31-9b0e-5c1f6a7d8e90", "started_at": "2026-11-22T08:00:00Z", "ended_at": null,
              "agent": "claude-code", "project": "acme/payments", "end_reason": null, "summary": null },
            { "id": "person-2026-11-21", "started_at": "2026-11-21T08:00:00Z", "ended_at": "2026-11-21T19:30:00Z",
              "agent": "person", "project": "acme/payments", "end_reason": "ended",
              "summary": "## Goal\nPayments are retried twice and then go to the queue, where the worker takes them." },
        ]);
        headlines(&mut sessions);
        drawn_at_three_widths("sessions", SESSIONS, &sessions);
        let entries = json!([
            { "id": "p1aaaaaaaaaa", "date": "2026-11-21T08:00:00Z", "kind": "prompt",
              "title": "Why do we retry payments twice, and what happens after the second time?" },
            { "id": "kaaaaaaaaaaa", "date": "2026-11-21T08:05:00Z", "kind": "memory", "type": "decision",
              "title": "Payments are retried twice, then queued" },
        ]);
        drawn_at_three_widths("session", ENTRIES, &entries);
    }
}
