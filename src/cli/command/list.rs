//! Lists: `list`, `prompts` and `events`.

use clap::Args;
use serde_json::{Value, json};

use super::selection::{Conditions, ProjectArgs};
use super::{CommandContext, Outcome, explore, suggest, within};
use crate::answer::{Ask, Received};
use crate::cli::daemon_client::{Daemon, Request};
use crate::cli::error::Result;
use crate::cli::table::{Layout, Table, shown as shown_text};
use cerebro_core::domain::limits::{LIMIT_MAX, LISTING_MAX};
use cerebro_core::operation::Operation;
use cerebro_core::text;

/// List memories, the newest first
///
/// A DATE is a day such as 2026-11-21, a moment in RFC 3339, `today`, `yesterday`, or an age such as 7d or 12h.
#[derive(Debug, Args)]
pub struct ListArgs {
    #[command(flatten)]
    of: ProjectArgs,
    /// Only deleted memories
    #[arg(long)]
    deleted: bool,
    /// Only archived memories
    #[arg(long, conflicts_with = "deleted")]
    archived: bool,
    #[command(flatten)]
    conditions: Conditions,
    /// Show at most N, 1 to 500 [default: 20]
    #[arg(long, value_name = "N", value_parser = within(1..=LISTING_MAX))]
    limit: Option<usize>,
    /// Continue an earlier list; its last line names the cursor
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}

/// List what users asked agents, the latest first
#[derive(Debug, Args)]
pub struct PromptsArgs {
    #[command(flatten)]
    of: ProjectArgs,
    /// Show at most N, 1 to 50 [default: 20]
    #[arg(long, value_name = "N", value_parser = within(1..=LIMIT_MAX))]
    limit: Option<usize>,
}

/// List the log of changes in order: ids and facts, no text
#[derive(Debug, Args)]
pub struct EventsArgs {
    /// Begin after this number [default: 0; with --limit alone, the last N are shown]
    #[arg(long, value_name = "SEQ")]
    after: Option<u64>,
    /// Show at most N, 1 to 500 [default: all]
    #[arg(long, value_name = "N", value_parser = within(1..=LISTING_MAX))]
    limit: Option<usize>,
}

/// The columns of a list, and the field of the answer that each of them shows.
pub type Columns = (&'static [(&'static str, Layout)], &'static [&'static str]);

const MEMORIES: Columns = (
    &[
        ("id", Layout::Id),
        ("written", Layout::Ago),
        ("type", Layout::Spare),
        ("project", Layout::Spare),
        ("rev", Layout::Spare),
        ("pinned", Layout::Spare),
        ("deleted", Layout::Ago),
        ("title", Layout::Flexible),
    ],
    &["id", "updated_at", "type", "project", "revision", "pinned", "deleted_at", "title"],
);

const PROMPTS: Columns = (
    &[
        ("id", Layout::Fixed),
        ("given", Layout::Ago),
        ("agent", Layout::Spare),
        ("project", Layout::Spare),
        ("session", Layout::Spare),
        ("prompt", Layout::Flexible),
    ],
    &["id", "created_at", "agent", "project", "session_id", "content"],
);

const EVENTS: Columns = (
    &[
        ("seq", Layout::Count),
        ("at", Layout::Moment),
        ("what", Layout::Fixed),
        ("memory", Layout::Fixed),
        ("project", Layout::Spare),
        ("session", Layout::Spare),
    ],
    &["seq", "at", "kind", "memory", "project", "session"],
);

pub async fn memories(context: &CommandContext, args: ListArgs) -> Result<Outcome> {
    let ProjectArgs { project, all_projects } = args.of;
    let all = all_projects || (project.is_none() && args.conditions.is_of_any_project());
    let request = args
        .conditions
        .request()
        .with("project", project.as_deref())
        .with("all_projects", all)
        .with("deleted", args.deleted)
        .with("archived", args.archived)
        .with("limit", args.limit)
        .with("cursor", args.cursor.as_deref());
    let daemon = Daemon::reach(&context.home()?).await?;
    let answer = daemon.ask(request).await?;
    let mut shown = answer.clone();
    name_personal(&mut shown["memories"]);
    let is_empty = answer["memories"].as_array().is_some_and(Vec::is_empty);
    let nothing = match (args.deleted, all) {
        _ if is_empty && args.cursor.is_some() => "no more memories",
        _ if !args.conditions.is_empty() => "no memory meets these conditions",
        (true, _) => "no deleted memories",
        (false, _) if args.archived => "no archived memories; `cerebro archive ID` puts one into the archive",
        (false, true) => {
            "no memories yet; `cerebro save TITLE TEXT` saves one, and `cerebro setup` lets agents do so"
        }
        (false, false) => "no memories in this project yet; --all-projects lists those of all",
    };
    let meant = if is_empty {
        suggest::instead(&daemon, project.as_deref(), args.conditions.kind.as_deref()).await?
    } else {
        Vec::new()
    };
    daemon.close().await;
    print(context, &answer, &shown["memories"], MEMORIES, nothing)?;
    for words in meant.iter().chain(&explore::flagged(answer["memories"].as_array().into_iter().flatten())) {
        context.output.note(words);
    }
    let here = shown_text(&answer["project"]);
    for former in answer["former"].as_array().into_iter().flatten() {
        let (name, count) = (shown_text(&former["project"]), former["memories"].as_u64().unwrap_or_default());
        context.output.note(&format!(
            "this folder was project {name} before, which has {}: `cerebro projects merge {name} {here}` brings them here",
            text::counted(count, "memory")
        ));
    }
    if let Some(cursor) = answer["next_cursor"].as_str() {
        context.output.note(&format!("more: add --cursor {cursor}"));
    }
    Ok(Outcome::Done)
}

pub async fn prompts(context: &CommandContext, args: PromptsArgs) -> Result<Outcome> {
    let request = args.of.request(Operation::Prompts).with("limit", args.limit);
    let (answer, meant) = ask_raw_of_project(context, request, "prompts", args.of.project.as_deref()).await?;
    let nothing = if args.of.all_projects {
        "no prompts yet; the hooks that `cerebro setup` adds to an agent keep them"
    } else {
        "no prompts in this project; --all-projects lists those of all"
    };
    print(context, &answer, &answer["prompts"], PROMPTS, nothing)?;
    context.output.notes(&meant);
    Ok(Outcome::Done)
}

pub async fn events(context: &CommandContext, args: EventsArgs) -> Result<Outcome> {
    let answer = match (args.limit, args.after) {
        (Some(limit), Some(after)) => {
            ask(context, Request::new(Operation::Events).with("after", after).with("limit", limit)).await?
        }
        (limit, after) => {
            let mut answer = whole_log(context, after).await?;
            if let (Some(limit), Some(events)) = (limit, answer["events"].as_array_mut()) {
                events.drain(..events.len().saturating_sub(limit));
            }
            answer
        }
    };
    let nothing = if args.after.is_some() { "no changes after that" } else { "no changes yet" };
    print(context, &answer, &answer["events"], EVENTS, nothing)
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

/// Asks the daemon one thing.
pub async fn ask(context: &CommandContext, request: Request) -> Result<Value> {
    let daemon = Daemon::reach(&context.home()?).await?;
    let answer = daemon.ask(request).await?;
    daemon.close().await;
    Ok(answer)
}

/// Asks the daemon one thing, and reads its answer.
pub async fn read<O: Ask>(context: &CommandContext, request: Request<O>) -> Result<Received<O::Answer>> {
    let daemon = Daemon::reach(&context.home()?).await?;
    let answer = daemon.read(request).await?;
    daemon.close().await;
    Ok(answer)
}

/// Requests a list. If it is empty, also returns a hint about the given project.
pub async fn ask_of_project<O: Ask>(
    context: &CommandContext,
    request: Request<O>,
    is_empty: impl Fn(&O::Answer) -> bool,
    project: Option<&str>,
) -> Result<(Received<O::Answer>, Vec<String>)> {
    let daemon = Daemon::reach(&context.home()?).await?;
    let answer = daemon.read(request).await?;
    let meant = if is_empty(&answer) { suggest::instead(&daemon, project, None).await? } else { Vec::new() };
    daemon.close().await;
    Ok((answer, meant))
}

/// The same where the answer has no struct; its list is the field `list`.
pub async fn ask_raw_of_project(
    context: &CommandContext,
    request: Request,
    list: &str,
    project: Option<&str>,
) -> Result<(Value, Vec<String>)> {
    let daemon = Daemon::reach(&context.home()?).await?;
    let answer = daemon.ask(request).await?;
    let is_empty = answer[list].as_array().is_none_or(Vec::is_empty);
    let meant = if is_empty { suggest::instead(&daemon, project, None).await? } else { Vec::new() };
    daemon.close().await;
    Ok((answer, meant))
}

/// Shows a list of an answer, or says that there is nothing.
pub fn print(
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

/// Labels items without a project as personal.
pub fn name_personal(list: &mut Value) {
    for item in list.as_array_mut().into_iter().flatten() {
        if item["project"] == "" {
            item["project"] = json!("personal");
        }
    }
}

#[cfg(test)]
pub mod tests {
    use super::super::super::output::fact_lines;
    use super::super::super::screen::tests::{compare, screen};
    use super::*;
    use crate::tui::fit;

    /// Holds what a list shows on terminals of three widths against `tests/golden/cli`.
    pub fn drawn_at_three_widths(name: &str, columns: Columns, list: &Value) {
        let table = Table::of(columns.0, columns.1, list);
        fits_at_three_widths(&table);
        for width in [40, 80, 200] {
            compare(&format!("{name}-{width}"), &table.drawn(&screen(width)));
        }
    }

    /// Holds that no line of a table is longer than the terminal.
    pub fn fits_at_three_widths(table: &Table) {
        for width in [40, 80, 200] {
            let drawn = table.drawn(&screen(width));
            assert!(drawn.lines().all(|line| fit::width(line) <= width), "{width}: {drawn}");
        }
    }

    #[test]
    fn memories_are_readable_at_three_widths() {
        let row = |id: &str, at: &str, kind: &str, project: &str, pinned: bool, title: &str| {
            json!({ "id": id, "updated_at": at, "type": kind, "project": project, "revision": 1, "pinned": pinned,
                    "deleted_at": null, "title": title })
        };
        let memories = json!([
            row(
                "kaaaaaaaaaaa",
                "2026-11-22T09:15:00Z",
                "decision",
                "acme/payments",
                true,
                "The writer waits for the lease of the queue"
            ),
            row(
                "kaaaaaaabbbb",
                "2026-11-19T09:15:00Z",
                "bugfix",
                "personal",
                false,
                "日本語の題名 and a long tail of words that has to be cut somewhere before it ends"
            ),
            row("kccccccccccc", "2026-01-02T09:15:00Z", "note", "acme/web", false, "Short"),
        ]);
        drawn_at_three_widths("list", MEMORIES, &memories);
    }

    #[test]
    fn prompts_and_events_are_readable_at_three_widths() {
        let prompt = |id: &str, project: &str, content: &str| {
            json!({ "id": id, "created_at": "2026-11-22T09:15:00Z", "agent": "claude-code", "project": project,
                    "session_id": "0199-sitting-of-a-morning", "content": content })
        };
        let prompts = json!([
            prompt(
                "paaaaaaaaaaa",
                "acme/payments",
                "Why do we retry payments twice, and what happens after that?"
            ),
            prompt("pbbbbbbbbbbb", "acme/web", "日本語の質問"),
        ]);
        drawn_at_three_widths("prompts", PROMPTS, &prompts);
        let event = |seq: u64, kind: &str, memory: Option<&str>| {
            json!({ "seq": seq, "at": "2026-11-22T09:15:00Z", "kind": kind, "memory": memory,
                    "project": "acme/payments", "session": "0199-sitting-of-a-morning" })
        };
        let events = json!([
            event(9, "memory_created", Some("kaaaaaaaaaaa")),
            event(10, "session_started", None),
            event(1_100, "memory_deleted", Some("kbbbbbbbbbbb")),
        ]);
        drawn_at_three_widths("events", EVENTS, &events);
    }

    /// Holds what facts show on terminals of three widths against `tests/golden/cli`.
    pub fn facts_at_three_widths(name: &str, facts: &[(&str, String)]) {
        for width in [40, 80, 200] {
            let drawn = fact_lines(facts, Some(width));
            assert!(drawn.lines().all(|line| fit::width(line) <= width), "{width}: {drawn}");
            compare(&format!("{name}-{width}"), &drawn);
        }
    }

    #[test]
    fn every_column_shows_a_field() {
        for (columns, fields) in [MEMORIES, PROMPTS, EVENTS] {
            assert_eq!(columns.len(), fields.len());
        }
    }
}
