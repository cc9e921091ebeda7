//! `cerebro distil`: what a chat model found worth keeping of past sessions, until a person accepts or rejects it.
//! Handbooks of accepted claims are in [`handbook`].

use std::collections::BTreeMap;

use super::handbook;
use super::prelude::*;
use crate::answer::distil::{Candidate, Decided, PlannedSession, Proposals};
use cerebro_core::domain::limits::{LIMIT_MAX, LISTING_MAX};

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
    /// Reject candidates, which their sessions do not propose again, or arrangements
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
    /// They wait for a decision
    Waiting,
    /// They were accepted
    Accepted,
    /// They were rejected
    Rejected,
    /// They were accepted and undone; only arrangements
    Undone,
}

#[derive(Debug, Args)]
pub struct OneArgs {
    /// The id that `review` lists, or its first characters
    id: String,
}

#[derive(Debug, Args)]
pub struct ManyArgs {
    /// The ids that `review` lists, or their first characters
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
}

const PLANNED: &[Column<PlannedSession>] = &[
    ("session", Layout::Id, |session| shown(&session.session)),
    ("began", Layout::Moment, |session| shown(&session.started_at)),
    ("project", Layout::Fixed, |session| shown(&session.project)),
    ("exchanges", Layout::Count, |session| shown(&session.exchanges)),
    ("tokens", Layout::Count, |session| shown(&session.tokens)),
    ("title", Layout::Flexible, |session| shown(&session.title)),
];

/// A person decides on the text. So where it has no room in a table, each row is a list.
const CANDIDATES: &[Column<Candidate>] = &[
    ("id", Layout::Fixed, |one| shown(&one.id)),
    ("claim", Layout::Fixed, |one| shown(&one.claim)),
    ("project", Layout::Fixed, |one| shown(&one.project)),
    ("title", Layout::Flexible, |one| shown(&one.title)),
    ("text", Layout::Fixed, |one| shown(&one.text)),
];

pub async fn run(context: &CommandContext, command: DistilCommand) -> Result<()> {
    match command {
        DistilCommand::Status => status(context).await,
        DistilCommand::Run(args) => distil(context, args).await,
        DistilCommand::Review(args) => review(context, args).await,
        DistilCommand::Show(args) => show(context, args).await,
        DistilCommand::Accept(args) => decide(context, args, of::DistilAccept).await,
        DistilCommand::Reject(args) => decide(context, args, of::DistilReject).await,
        DistilCommand::Arrange(args) => handbook::arrange(context, args).await,
        DistilCommand::Undo(args) => {
            handbook::undone(context, &of_proposal(context, &args.id, of::DistilUndo).await?)
        }
        DistilCommand::Handbook(args) => handbook::handbook(context, args).await,
        DistilCommand::Skills(args) => handbook::skills(context, args).await,
    }
}

async fn status(context: &CommandContext) -> Result<()> {
    let answer = context.answer(Request::new(of::DistilStatus)).await?;
    let counts = |counts: &BTreeMap<String, u64>| {
        let counts = counts.iter().map(|(name, count)| format!("{count} {}", name.replace('_', " ")));
        counts.collect::<Vec<_>>().join(", ")
    };
    let spent = |today: u64, most: u64| match most {
        0 => format!("{today}, without a limit"),
        most => format!("{today} of {most}"),
    };
    context.output.facts(&[
        ("distilling", shown(&answer.state)),
        ("note", shown(&answer.detail)),
        ("sessions", counts(&answer.sessions)),
        ("queued", shown(&answer.queued)),
        ("last failure", shown(&answer.failure)),
        ("given up", shown(&answer.given_up)),
        ("candidates", counts(&answer.candidates)),
        ("review", shown(&answer.review)),
        ("accepted without a person", shown(&answer.corroborated)),
        ("arrangements of handbooks", counts(&answer.arrangements)),
        ("claims and changes that did not pass the check", counts(&answer.dropped)),
        ("tokens today", spent(answer.tokens_today, answer.tokens_per_day)),
        ("requests today", spent(answer.requests_today, answer.requests_per_day)),
    ])?;
    if answer.state.raw() == "off" {
        context.output.note("`cerebro distil --help` says how to turn distilling on");
    }
    Ok(())
}

/// An answer about a project; if it is empty and nothing is known of the project, with projects that may have been meant.
async fn read<O: Ask>(
    context: &CommandContext,
    request: Request<O>,
    project: Option<&str>,
    is_empty: impl Fn(&O::Answer) -> bool,
) -> Result<(Received<O::Answer>, Vec<String>)> {
    let daemon = Daemon::reach(&context.home()?).await?;
    let answer = daemon.read(request).await?;
    let suggestions = suggest::for_unknown_past(&daemon, project.filter(|_| is_empty(&answer))).await?;
    Ok((answer, suggestions))
}

async fn distil(context: &CommandContext, args: RunArgs) -> Result<()> {
    if args.dry_run {
        return plan(context, args).await;
    }
    let project = args.project.as_deref();
    let request = Request::new(of::DistilRun).with("project", project).with("limit", args.limit);
    let (answer, suggestions) =
        read(context, request, project, |answer| answer.queued + answer.given_up == 0).await?;
    context.output.json(answer.raw())?;
    context.output.notes(&suggestions);
    let queued = text::counted(answer.queued, "session");
    context.output.note(&format!("{queued} queued; `cerebro distil status` shows the progress"));
    note_given_up(context, answer.given_up);
    Ok(())
}

fn note_given_up(context: &CommandContext, given_up: u64) {
    if given_up > 0 {
        let given_up = text::counted(given_up, "session");
        let said =
            format!("{given_up} more: the model gave no usable answer before; {}", handbook::ASK_AGAIN);
        context.output.note(&said);
    }
}

async fn plan(context: &CommandContext, args: RunArgs) -> Result<()> {
    let project = args.project.as_deref();
    let request = Request::new(of::DistilPlan).with("project", project).with("limit", args.limit);
    let (answer, suggestions) = read(context, request, project, |answer| answer.sessions.is_empty()).await?;
    context.output.json(answer.raw())?;
    context.output.notes(&suggestions);
    context.output.table(&Table::of(PLANNED, &answer.sessions), "no session waits to be distilled")?;
    let (requests, tokens) = (answer.requests, answer.tokens);
    context
        .output
        .note(&format!("about {tokens} tokens in {requests} requests; a session without tokens is not sent"));
    note_given_up(context, answer.given_up);
    Ok(())
}

async fn review(context: &CommandContext, args: ReviewArgs) -> Result<()> {
    let project = args.project.as_deref();
    let request = Request::new(of::DistilReview).given(json!({
        "project": project, "state": args.state.and_then(name_of), "limit": args.limit,
    }));
    let is_empty = |answer: &Proposals| answer.candidates.is_empty() && answer.arrangements.is_empty();
    let (answer, suggestions) = read(context, request, project, is_empty).await?;
    context.output.json(answer.raw())?;
    context.output.notes(&suggestions);
    let mut table = Table::of(CANDIDATES, &answer.candidates);
    for one in &answer.arrangements {
        let (id, handbook, title) = (shown(&one.id), shown(&one.handbook), shown(&one.title));
        table.add(vec![id, "arrangement".to_owned(), handbook, title, String::new()]);
    }
    context.output.table(&table, "none to list")
}

async fn show(context: &CommandContext, args: OneArgs) -> Result<()> {
    let answer = of_proposal(context, &args.id, of::DistilShow).await?;
    if let Some(arrangement) = &answer.arrangement {
        return handbook::show(context, arrangement, &answer.raw()["arrangement"]);
    }
    let candidate = answer.candidate.as_ref();
    let candidate = candidate.ok_or_else(|| Error::internal("the answer of the daemon has no candidate"))?;
    if context.output.json(&answer.raw()["candidate"])? {
        return Ok(());
    }
    context.output.facts(&[
        ("candidate", shown(&candidate.id)),
        ("state", shown(&candidate.state)),
        ("memory", shown(&candidate.memory)),
        ("claim", shown(&candidate.claim)),
        ("title", shown(&candidate.title)),
        ("text", shown(&candidate.text)),
        ("project", shown(&candidate.project)),
        ("session", shown(&candidate.session)),
        ("agent", shown(&candidate.agent)),
        ("model", shown(&candidate.model)),
        ("proposed", context.output.moment(&candidate.at)),
        ("decided", context.output.moment(&candidate.decided_at)),
    ])?;
    for evidence in &candidate.evidence {
        context.output.text(&format!("{}: “{}”", evidence.id.raw(), evidence.quote.raw()))?;
    }
    Ok(())
}

/// Asks about one candidate or arrangement.
async fn of_proposal<O: Ask>(
    context: &CommandContext,
    given: &str,
    operation: O,
) -> Result<Received<O::Answer>> {
    let daemon = Daemon::reach(&context.home()?).await?;
    let id = daemon.proposal_id(given).await?;
    daemon.read(Request::new(operation).with("id", id)).await
}

/// Looks all ids up, and decides on each in turn. The first that cannot be decided on ends it; those before are reported.
async fn decide<O>(context: &CommandContext, args: ManyArgs, operation: O) -> Result<()>
where
    O: Ask<Answer = Decided> + Copy,
{
    let daemon = Daemon::reach(&context.home()?).await?;
    let mut ids = Vec::new();
    for given in &args.ids {
        ids.push(daemon.proposal_id(given).await?);
    }
    let (mut decided, mut refused) = (Vec::new(), None);
    for id in ids {
        match daemon.read(Request::new(operation).with("id", id)).await {
            Ok(one) => decided.push(one),
            Err(error) => {
                refused = Some(error);
                break;
            }
        }
    }
    let raw: Vec<&Value> = decided.iter().map(Received::raw).collect();
    context.output.json(&json!({ "candidates": raw }))?;
    for one in &decided {
        let memory = one.memory.as_ref().map(|memory| format!(", memory {}", memory.raw()));
        let detail = format!(": {}{}", one.title.raw(), memory.unwrap_or_default());
        context.output.outcome(one.id.raw(), one.outcome.raw(), &detail)?;
    }
    refused.map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::screen::tests::screen;

    #[test]
    fn planned_sessions_are_a_table_on_a_small_terminal() {
        let session = |id: &str| PlannedSession {
            session: id.into(),
            agent: "codex".into(),
            project: "acme/app".into(),
            started_at: "2026-11-20T10:00:00Z".into(),
            exchanges: 12,
            title: None,
            tokens: Some(12_345),
            sent: true,
        };
        let ids = ["4f0c2b1e-8a57-4d31-9b0e-5c1f6a7d8e90", "7a9d0c3f-8a57-4d31-9b0e-5c1f6a7d8e90"];
        let drawn = Table::of(PLANNED, &ids.map(session)).drawn(&screen(80));
        assert!(drawn.contains("│ 4f0c2b1 ┆ 2026-11-20"), "{drawn}");
    }

    #[test]
    fn the_text_of_a_candidate_is_whole() {
        let text = "The tests of the store are run by `make test-store`, which needs a database server.";
        let candidate: Candidate = serde_json::from_value(json!({
            "id": "qeb4hxwd7jkq6", "claim": "works", "title": "Tests of the store", "text": text,
            "evidence": [], "state": "waiting", "session": "s-1", "agent": "codex", "project": "acme/app",
            "model": "m", "generation": "g", "corroborated": false, "at": "2026-11-20T10:00:00Z",
        }))
        .unwrap();
        let table = Table::of(CANDIDATES, &[candidate]);
        for width in [80, 200] {
            let drawn = table.drawn(&screen(width));
            let words = drawn.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(words.contains(text), "{width}: {drawn}");
        }
    }
}
