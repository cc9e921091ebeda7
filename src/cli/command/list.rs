//! Lists: `list`, `sessions`, `prompts` and `events`.

use clap::Args;
use serde_json::{Value, json};

use super::{CommandContext, Outcome, within};
use crate::cli::daemon_client::{Daemon, Request};
use crate::cli::error::Result;
use crate::cli::table::{Layout, Table};
use cerebro_core::domain::limits::{LIMIT_MAX, LISTING_MAX};
use cerebro_core::operation::Operation;

/// List memories, the newest first
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Of this project [default: the working folder's]
    #[arg(long, value_name = "NAME", conflicts_with = "all_projects")]
    project: Option<String>,
    /// Of all projects
    #[arg(long)]
    all_projects: bool,
    /// The project's deleted ones instead
    #[arg(long, conflicts_with = "all_projects")]
    deleted: bool,
    /// How many, 1 to 500 [default: 20]
    #[arg(long, value_name = "N", value_parser = within(1..=LISTING_MAX))]
    limit: Option<usize>,
}

/// List sessions, the latest first
#[derive(Debug, Args)]
pub struct SessionsArgs {
    /// Of this project [default: the working folder's]
    #[arg(long, value_name = "NAME", conflicts_with = "all_projects")]
    project: Option<String>,
    /// Of all projects
    #[arg(long)]
    all_projects: bool,
    /// How many, 1 to 50 [default: 20]
    #[arg(long, value_name = "N", value_parser = within(1..=LIMIT_MAX))]
    limit: Option<usize>,
}

/// List what users asked agents, the latest first
#[derive(Debug, Args)]
pub struct PromptsArgs {
    /// Of this project [default: the working folder's]
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// How many, 1 to 50 [default: 20]
    #[arg(long, value_name = "N", value_parser = within(1..=LIMIT_MAX))]
    limit: Option<usize>,
}

/// List the log of changes in order: ids and facts, no text
#[derive(Debug, Args)]
pub struct EventsArgs {
    /// Begin after this number [default: 0]
    #[arg(long, value_name = "SEQ")]
    after: Option<u64>,
    /// How many, 1 to 500 [default: all]
    #[arg(long, value_name = "N", value_parser = within(1..=LISTING_MAX))]
    limit: Option<usize>,
}

/// The columns of a list, and the field of the answer that each of them shows.
type Columns = (&'static [(&'static str, Layout)], &'static [&'static str]);

const MEMORIES: Columns = (
    &[
        ("id", Layout::Fixed),
        ("written", Layout::Moment),
        ("type", Layout::Fixed),
        ("project", Layout::Fixed),
        ("rev", Layout::Count),
        ("pinned", Layout::Fixed),
        ("deleted", Layout::Moment),
        ("title", Layout::Flexible),
    ],
    &["id", "updated_at", "type", "project", "revision", "pinned", "deleted_at", "title"],
);

const SESSIONS: Columns = (
    &[
        ("id", Layout::Fixed),
        ("started", Layout::Moment),
        ("ended", Layout::Moment),
        ("how", Layout::Fixed),
        ("agent", Layout::Fixed),
        ("project", Layout::Fixed),
        ("summary", Layout::Flexible),
    ],
    &["id", "started_at", "ended_at", "end_reason", "agent", "project", "summary"],
);

const PROMPTS: Columns = (
    &[
        ("id", Layout::Fixed),
        ("given", Layout::Moment),
        ("agent", Layout::Fixed),
        ("session", Layout::Flexible),
        ("prompt", Layout::Flexible),
    ],
    &["id", "created_at", "agent", "session_id", "content"],
);

const EVENTS: Columns = (
    &[
        ("seq", Layout::Count),
        ("at", Layout::Moment),
        ("what", Layout::Fixed),
        ("memory", Layout::Fixed),
        ("project", Layout::Flexible),
        ("session", Layout::Flexible),
    ],
    &["seq", "at", "kind", "memory", "project", "session"],
);

pub async fn memories(context: &CommandContext, args: ListArgs) -> Result<Outcome> {
    let request = Request::new(Operation::List)
        .with("project", args.project)
        .with("all_projects", args.all_projects)
        .with("deleted", args.deleted)
        .with("limit", args.limit);
    let nothing = match (args.deleted, args.all_projects) {
        (true, _) => "no deleted memories in this project",
        (false, true) => "no memories yet",
        (false, false) => "no memories in this project yet; --all-projects lists those of all",
    };
    let answer = ask(context, request).await?;
    let mut shown = answer.clone();
    name_personal(&mut shown["memories"]);
    tell(context, &answer, &shown["memories"], MEMORIES, nothing)
}

pub async fn sessions(context: &CommandContext, args: SessionsArgs) -> Result<Outcome> {
    let request = Request::new(Operation::Sessions)
        .with("project", args.project)
        .with("all_projects", args.all_projects)
        .with("limit", args.limit);
    let answer = ask(context, request).await?;
    let nothing = if args.all_projects {
        "no sessions yet"
    } else {
        "no sessions in this project; --all-projects lists those of all"
    };
    tell(context, &answer, &answer["sessions"], SESSIONS, nothing)
}

pub async fn prompts(context: &CommandContext, args: PromptsArgs) -> Result<Outcome> {
    let request = Request::new(Operation::Prompts).with("project", args.project).with("limit", args.limit);
    let answer = ask(context, request).await?;
    tell(context, &answer, &answer["prompts"], PROMPTS, "no prompts in this project; --project names another")
}

pub async fn events(context: &CommandContext, args: EventsArgs) -> Result<Outcome> {
    let answer = match args.limit {
        Some(limit) => {
            ask(context, Request::new(Operation::Events).with("after", args.after).with("limit", limit))
                .await?
        }
        None => whole_log(context, args.after).await?,
    };
    tell(context, &answer, &answer["events"], EVENTS, "no changes after that")
}

/// Reads the log to its end, page by page.
async fn whole_log(context: &CommandContext, after: Option<u64>) -> Result<Value> {
    let daemon = Daemon::reach(&context.home()?).await?;
    let (mut after, mut events) = (after, Vec::new());
    loop {
        let answer = daemon
            .ask(Request::new(Operation::Events).with("after", after).with("limit", LISTING_MAX))
            .await?;
        let page = answer["events"].as_array().cloned().unwrap_or_default();
        after = page.last().and_then(|event| event["seq"].as_u64()).or(after);
        let is_last = page.len() < LISTING_MAX;
        events.extend(page);
        if is_last {
            break;
        }
    }
    daemon.close().await;
    Ok(json!({ "events": events }))
}

async fn ask(context: &CommandContext, request: Request) -> Result<Value> {
    let daemon = Daemon::reach(&context.home()?).await?;
    let answer = daemon.ask(request).await?;
    daemon.close().await;
    Ok(answer)
}

fn tell(
    context: &CommandContext,
    answer: &Value,
    list: &Value,
    columns: Columns,
    nothing: &str,
) -> Result<Outcome> {
    if !context.output.json(answer)? {
        context.output.table(&Table::of(columns.0, columns.1, list), nothing)?;
    }
    Ok(Outcome::Done)
}

/// Says of things that belong to no project that they are personal.
pub fn name_personal(list: &mut Value) {
    for item in list.as_array_mut().into_iter().flatten() {
        if item["project"] == "" {
            item["project"] = json!("personal");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_shows_a_field() {
        for (columns, fields) in [MEMORIES, SESSIONS, PROMPTS, EVENTS] {
            assert_eq!(columns.len(), fields.len());
        }
    }
}
