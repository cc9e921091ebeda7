//! Lists: `list`, `prompts` and `events`.

use super::marks;
use super::prelude::*;
use super::selection::{Conditions, ProjectArgs};
use crate::answer::{
    memories::Row,
    sessions::{Event, Events, Prompt, Prompts},
};
use cerebro_core::domain::limits::{LIMIT_MAX, LISTING_MAX};

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

const MEMORIES: &[Column<Row>] = &[
    ("id", Layout::Id, |row| shown(&row.id)),
    ("written", Layout::Ago, |row| shown(&row.updated_at)),
    ("type", Layout::Spare, |row| shown(&row.kind)),
    ("project", Layout::Spare, |row| project_name(&row.project)),
    ("rev", Layout::Spare, |row| shown(&row.revision)),
    ("pinned", Layout::Spare, |row| shown(&row.pinned)),
    ("deleted", Layout::Ago, |row| shown(&row.deleted_at)),
    ("title", Layout::Flexible, |row| shown(&row.title)),
];

const PROMPTS: &[Column<Prompt>] = &[
    ("id", Layout::Fixed, |prompt| shown(&prompt.id)),
    ("given", Layout::Ago, |prompt| shown(&prompt.created_at)),
    ("agent", Layout::Spare, |prompt| shown(&prompt.agent)),
    ("project", Layout::Spare, |prompt| shown(&prompt.project)),
    ("session", Layout::Spare, |prompt| shown(&prompt.session_id)),
    ("prompt", Layout::Flexible, |prompt| shown(&prompt.content)),
];

const EVENTS: &[Column<Event>] = &[
    ("seq", Layout::Count, |event| shown(&event.seq)),
    ("at", Layout::Moment, |event| shown(&event.at)),
    ("what", Layout::Fixed, |event| shown(&event.kind)),
    ("memory", Layout::Fixed, |event| shown(&event.memory)),
    ("project", Layout::Spare, |event| shown(&event.project)),
    ("session", Layout::Spare, |event| shown(&event.session)),
];

pub async fn memories(context: &CommandContext, args: ListArgs) -> Result<()> {
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
    let answer = daemon.read(request).await?;
    let is_empty = answer.memories.is_empty();
    let nothing = match (args.deleted, all) {
        _ if is_empty && args.cursor.is_some() => "no more memories",
        _ if !args.conditions.is_empty() => "no memory meets these conditions",
        (true, _) => "no deleted memories",
        (false, _) if args.archived => "no archived memories; `cerebro archive ID` archives one",
        (false, true) => {
            "no memories yet; `cerebro save TITLE TEXT` saves one, and `cerebro setup` lets agents do so"
        }
        (false, false) => "no memories in this project yet; --all-projects lists those of all",
    };
    let suggestions = if is_empty {
        suggest::for_unknown(&daemon, project.as_deref(), args.conditions.kind.as_deref()).await?
    } else {
        Vec::new()
    };
    print(context, answer.raw(), &Table::of(MEMORIES, &answer.memories), nothing)?;
    let flags = answer.memories.iter().map(|row| (&row.id, row.flag.as_ref()));
    for words in suggestions.iter().chain(&marks::flagged(flags)) {
        context.output.note(words);
    }
    for former in &answer.former {
        let (name, here) = (former.project.raw(), answer.project.raw());
        context.output.note(&format!(
            "this folder was project {name} before, which has {}: `cerebro projects merge {name} {here}` brings them here",
            text::counted(former.memories, "memory")
        ));
    }
    if let Some(cursor) = &answer.next_cursor {
        context.output.note(&format!("more: add --cursor {}", cursor.raw()));
    }
    Ok(())
}

pub async fn prompts(context: &CommandContext, args: PromptsArgs) -> Result<()> {
    let request = args.of.request(of::Prompts).with("limit", args.limit);
    let is_empty = |answer: &Prompts| answer.prompts.is_empty();
    let (answer, suggestions) =
        ask_of_project(context, request, is_empty, args.of.project.as_deref()).await?;
    let nothing = if args.of.all_projects {
        "no prompts yet; the hooks that `cerebro setup` adds to an agent keep them"
    } else {
        "no prompts in this project; --all-projects lists those of all"
    };
    print(context, answer.raw(), &Table::of(PROMPTS, &answer.prompts), nothing)?;
    context.output.notes(&suggestions);
    Ok(())
}

pub async fn events(context: &CommandContext, args: EventsArgs) -> Result<()> {
    let events = match (args.limit, args.after) {
        (Some(limit), Some(after)) => {
            let request = Request::new(of::Events).with("after", after).with("limit", limit);
            context.ask(request).await?.into_answer().events
        }
        (limit, after) => {
            let mut events = whole_log(context, after).await?;
            events.drain(..limit.map_or(0, |limit| events.len().saturating_sub(limit)));
            events
        }
    };
    let nothing = if args.after.is_some() { "no changes after that" } else { "no changes yet" };
    let table = Table::of(EVENTS, &events);
    print(context, &json!(Events { events }), &table, nothing)
}

/// Reads the log to its end, page by page.
async fn whole_log(context: &CommandContext, after: Option<u64>) -> Result<Vec<Event>> {
    let daemon = Daemon::reach(&context.home()?).await?;
    let (mut after, mut events) = (after, Vec::new());
    loop {
        let request = Request::new(of::Events).with("after", after).with("limit", LISTING_MAX);
        let page = daemon.read(request).await?.into_answer().events;
        after = page.last().map(|event| event.seq).or(after);
        let is_last = page.len() < LISTING_MAX;
        events.extend(page);
        if is_last {
            break;
        }
    }
    Ok(events)
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
    let suggestions =
        if is_empty(&answer) { suggest::for_unknown(&daemon, project, None).await? } else { Vec::new() };
    Ok((answer, suggestions))
}

/// Shows a list of an answer, or says that there is nothing.
pub fn print(context: &CommandContext, answer: &Value, table: &Table, nothing: &str) -> Result<()> {
    context.output.json(answer)?;
    context.output.table(table, nothing)
}

/// The name of a project in a list; what is personal belongs to none.
pub fn project_name(project: &Text) -> String {
    if project.is_empty() { "personal".to_owned() } else { shown(project) }
}

#[cfg(test)]
pub mod tests {
    use super::super::super::output::fact_lines;
    use super::super::super::screen::tests::{compare, screen};
    use super::*;
    use crate::tui::fit;

    /// Holds what a list shows on terminals of three widths against `tests/golden/cli`.
    pub fn drawn_at_three_widths(name: &str, table: &Table) {
        fits_at_three_widths(table);
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
        let row = |id: &str, at: &str, kind: &str, project: &str, pinned: bool, title: &str| Row {
            id: id.into(),
            updated_at: at.into(),
            kind: kind.into(),
            project: project.into(),
            revision: 1,
            pinned,
            title: title.into(),
            ..Row::default()
        };
        let memories = [
            row(
                "kaaaaaaaaaaa",
                "2026-11-22T09:15:00Z",
                "decision",
                "acme/payments",
                true,
                "The writer waits for the lease of the queue",
            ),
            row(
                "kaaaaaaabbbb",
                "2026-11-19T09:15:00Z",
                "bugfix",
                "",
                false,
                "日本語の題名 and a long tail of words that has to be cut somewhere before it ends",
            ),
            row("kccccccccccc", "2026-01-02T09:15:00Z", "note", "acme/web", false, "Short"),
        ];
        drawn_at_three_widths("list", &Table::of(MEMORIES, &memories));
    }

    #[test]
    fn prompts_and_events_are_readable_at_three_widths() {
        let prompt = |id: &str, project: &str, content: &str| Prompt {
            id: id.into(),
            created_at: "2026-11-22T09:15:00Z".into(),
            agent: "claude-code".into(),
            project: project.into(),
            session_id: "0199-sitting-of-a-morning".into(),
            content: content.into(),
        };
        let prompts = [
            prompt(
                "paaaaaaaaaaa",
                "acme/payments",
                "Why do we retry payments twice, and what happens after that?",
            ),
            prompt("pbbbbbbbbbbb", "acme/web", "日本語の質問"),
        ];
        drawn_at_three_widths("prompts", &Table::of(PROMPTS, &prompts));
        let event = |seq: u64, kind: &str, memory: Option<&str>| Event {
            seq,
            at: "2026-11-22T09:15:00Z".into(),
            kind: kind.into(),
            memory: memory.map(Text::from),
            project: Some("acme/payments".into()),
            session: Some("0199-sitting-of-a-morning".into()),
            ..Event::default()
        };
        let events = [
            event(9, "memory_created", Some("kaaaaaaaaaaa")),
            event(10, "session_started", None),
            event(1_100, "memory_deleted", Some("kbbbbbbbbbbb")),
        ];
        drawn_at_three_widths("events", &Table::of(EVENTS, &events));
    }

    /// Holds what facts show on terminals of three widths against `tests/golden/cli`.
    pub fn facts_at_three_widths(name: &str, facts: &[(&str, String)]) {
        for width in [40, 80, 200] {
            let drawn = fact_lines(facts, Some(width));
            assert!(drawn.lines().all(|line| fit::width(line) <= width), "{width}: {drawn}");
            compare(&format!("{name}-{width}"), &drawn);
        }
    }
}
