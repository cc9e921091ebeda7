//! `cerebro sessions`: the sessions of agents, and what one of them left.

use super::list::{ask_of_project, print};
use super::prelude::*;
use super::selection::ProjectArgs;
use crate::answer::sessions::{Entry, Session, Sessions};
use crate::setup::quoted;
use crate::view;
use cerebro_core::domain::limits::{LIMIT_MAX, LISTING_MAX};

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
    /// Show at most N, 1 to 50 [default: 20]; `--before` shows earlier ones
    #[arg(long, value_name = "N", value_parser = within(1..=LIMIT_MAX))]
    limit: Option<usize>,
    /// Only sessions that began before this date
    #[arg(long, value_name = "DATE")]
    before: Option<String>,
    /// With --before: also the sessions that began at exactly that moment and are listed after this one
    #[arg(long, value_name = "ID", requires = "before")]
    after: Option<String>,
}

#[derive(Debug, Args)]
struct ShowArgs {
    /// The session's id, or the first characters of a recent one
    id: String,
}

/// How many sessions are listed, unless `--limit` says otherwise.
const LIMIT: usize = 20;

const SESSIONS: &[(&str, Layout)] = &[
    ("id", Layout::Id),
    ("started", Layout::Ago),
    ("ended", Layout::Ago),
    ("agent", Layout::Spare),
    ("project", Layout::Spare),
    ("how", Layout::Spare),
    ("summary", Layout::Flexible),
];

const ENTRIES: &[Column<Entry>] = &[
    ("id", Layout::Id, |entry| shown(&entry.id)),
    ("when", Layout::Ago, |entry| shown(&entry.date)),
    ("what", Layout::Fixed, |entry| shown(&entry.kind)),
    ("type", Layout::Spare, |entry| shown(&entry.memory_type)),
    ("title", Layout::Flexible, |entry| shown(&entry.title)),
];

pub async fn run(context: &CommandContext, args: SessionsArgs) -> Result<()> {
    match args.action {
        None => list(context, args.list).await,
        Some(Action::Show(args)) => show(context, args).await,
    }
}

async fn list(context: &CommandContext, args: ListArgs) -> Result<()> {
    let limit = args.limit.unwrap_or(LIMIT);
    let request = args.of.request(of::Sessions).with("limit", limit);
    let request = request.with("before", args.before).with("after", args.after);
    let is_empty = |answer: &Sessions| answer.sessions.is_empty();
    let (answer, suggestions) =
        ask_of_project(context, request, is_empty, args.of.project.as_deref()).await?;
    let nothing = if args.of.all_projects {
        "no sessions yet; `cerebro setup` connects an agent, and each of its sessions is listed here"
    } else {
        "no sessions in this project; --all-projects lists those of all"
    };
    let table = session_table(&answer.sessions, context.output.screen().is_some());
    print(context, answer.raw(), &table, nothing)?;
    context.output.notes(&suggestions);
    if let Some(last) = answer.sessions.last().filter(|_| answer.sessions.len() == limit) {
        // An id is the agent's own text, and may have blanks.
        let (at, id) = (last.started_at.raw(), quoted(last.id.raw()));
        context.output.note(&format!("more: add --before {at} --after {id}"));
    }
    Ok(())
}

/// A terminal has no room for more of a summary than its first telling line.
fn session_table(sessions: &[Session], is_drawn: bool) -> Table {
    Table::listing(SESSIONS, sessions, |session| {
        vec![
            shown(&session.id),
            shown(&session.started_at),
            shown(&session.ended_at),
            shown(&session.agent),
            shown(&session.project),
            shown(&session.end_reason),
            if is_drawn { view::Session::of(session).headline() } else { shown(&session.summary) },
        ]
    })
}

async fn show(context: &CommandContext, args: ShowArgs) -> Result<()> {
    let Some((session, entries)) = contents(context, &args.id).await? else {
        let problem = format!("there is no session {}", args.id);
        return Err(Error::user(problem).hint("`cerebro sessions --all-projects` shows their ids"));
    };
    context.output.json(&json!({ "session": session, "entries": entries }))?;
    context.output.facts(&[
        ("session", shown(&session.id)),
        ("agent", shown(&session.agent)),
        ("project", shown(&session.project)),
        ("folder", shown(&session.directory)),
        ("follows", shown(&session.follows)),
        ("began", context.output.moment(&session.started_at)),
        ("ended", context.output.moment(&session.ended_at)),
        ("how", shown(&session.end_reason)),
    ])?;
    let summary = shown(&session.summary);
    if !summary.is_empty() {
        context.output.text(&format!("\n{summary}\n"))?;
    }
    context.output.table(&Table::of(ENTRIES, &entries), "nothing was saved in it")
}

/// A session with all that happened in it, by its id or the beginning of one.
async fn contents(context: &CommandContext, id: &str) -> Result<Option<(Session, Vec<Entry>)>> {
    let daemon = Daemon::reach(&context.home()?).await?;
    let mut contents = whole_session(&daemon, id).await?;
    if contents.is_none() {
        let latest = Request::new(of::Sessions).with("all_projects", true).with("limit", LIMIT_MAX);
        let latest = daemon.read(latest).await?;
        let ids = latest.sessions.iter().map(|session| session.id.raw());
        let matching: Vec<&str> = ids.filter(|own| own.starts_with(id)).collect();
        match matching[..] {
            [] => {}
            [one] => contents = whole_session(&daemon, one).await?,
            _ => return Err(Error::user(format!("several sessions have ids that begin with {id}"))),
        }
    }
    Ok(contents)
}

/// A session with all that happened in it, read page by page.
async fn whole_session(daemon: &Daemon, id: &str) -> Result<Option<(Session, Vec<Entry>)>> {
    let (mut entries, mut after) = (Vec::new(), None);
    loop {
        let request = Request::new(of::Story).given(json!({
            "session_id": id, "limit": LISTING_MAX, "after": after,
        }));
        let page = daemon.read(request).await?.into_answer();
        entries.extend(page.entries);
        if page.next.is_none() {
            return Ok(page.session.map(|session| (session, entries)));
        }
        after = page.next;
    }
}

#[cfg(test)]
mod tests {
    use super::super::list::tests::drawn_at_three_widths;
    use super::*;

    #[test]
    fn sessions_are_readable_at_three_widths() {
        let sessions = [
            Session {
                id: "4f0c2b1e-8a57-4d31-9b0e-5c1f6a7d8e90".into(),
                started_at: "2026-11-22T08:00:00Z".into(),
                agent: "claude-code".into(),
                project: "acme/payments".into(),
                ..Session::default()
            },
            Session {
                id: "person-2026-11-21".into(),
                started_at: "2026-11-21T08:00:00Z".into(),
                ended_at: Some("2026-11-21T19:30:00Z".into()),
                agent: "person".into(),
                project: "acme/payments".into(),
                end_reason: Some("ended".into()),
                summary: Some("## Goal\nPayments are retried twice and then go to the queue, where the worker takes them.".into()),
                ..Session::default()
            },
        ];
        drawn_at_three_widths("sessions", &session_table(&sessions, true));
        let entry = |id: &str, date: &str, kind: &str, memory_type: Option<&str>, title: &str| Entry {
            id: id.into(),
            date: date.into(),
            kind: kind.into(),
            memory_type: memory_type.map(Text::from),
            title: Some(title.into()),
            ..Entry::default()
        };
        let question = "Why do we retry payments twice, and what happens after the second time?";
        let decided = "Payments are retried twice, then queued";
        let entries = [
            entry("p1aaaaaaaaaa", "2026-11-21T08:00:00Z", "prompt", None, question),
            entry("kaaaaaaaaaaa", "2026-11-21T08:05:00Z", "memory", Some("decision"), decided),
        ];
        drawn_at_three_widths("session", &Table::of(ENTRIES, &entries));
    }
}
