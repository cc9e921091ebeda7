//! `cerebro work`: the journal of what agents do.

mod events;

use std::time::Duration;

use self::events::events;
use super::list::ask_of_project;
use super::prelude::*;
use super::selection::ProjectArgs;
use super::text_of;
use crate::answer::{name, work};
use cerebro_core::text::framed;
use cerebro_ledger::anchor::anchors;
use cerebro_ledger::{Gaps, GateState, PlanStep, State as Facts, TestState, TimedText};

/// Most pieces of work, and most events, of one answer.
const WORKS_MAX: usize = 100;
const EVENTS_MAX: usize = 500;
/// Largest file with witnesses: long transcripts have tens of MiB.
const WITNESS_BYTES_MAX: u64 = 256 << 20;
/// How often `tail --follow` looks.
const GLANCE: Duration = Duration::from_millis(500);

/// See, resume and check what agents do: the journal of work
///
/// Each session of an agent is a piece of work. Hooks report its prompts, edits, commands and tests. After a crash, the
/// next session of the project is shown what was left unfinished. docs/work.md says what is kept and what is proved.
#[derive(Debug, Args)]
pub struct WorkArgs {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    List(ListArgs),
    Show(ShowArgs),
    Tail(TailArgs),
    Resume(ResumeArgs),
    /// Close a piece of work, and save what was found out in it
    Close(CloseArgs),
    /// Begin a new piece of work from an event of another
    Fork(ForkArgs),
    /// Print a piece of work with all its events, in lines for `cerebro import`
    Export(OneArgs),
    Prune(PruneArgs),
    Verify(VerifyArgs),
    /// Print the head of the journal, by which you can check later that nothing before it was changed
    Head,
    /// Print the head as a signed note; keep it where this machine's user cannot change it
    Anchor,
    /// Print the proof that a piece of work is under a seal
    Prove(OneArgs),
    Claim(ClaimArgs),
    /// Release a piece of work that you claimed
    Release(OneArgs),
    /// List announced effects that may or may not have taken place, in all projects
    Sweep,
}

/// List pieces of work, the latest activity first
#[derive(Debug, Default, Args)]
struct ListArgs {
    #[command(flatten)]
    of: ProjectArgs,
    /// Only those in this state [default: open]
    #[arg(long, value_enum)]
    state: Option<State>,
    /// Show at most N, 1 to 100 [default: 20]
    #[arg(long, value_name = "N", value_parser = within(1..=WORKS_MAX))]
    limit: Option<usize>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum State {
    /// Not closed
    Open,
    /// Open and claimed by nobody
    Free,
    /// Open and waiting for a gate or a block
    Waiting,
    /// Open, and lost, idle for a day, or with a claim that ended
    Stale,
    /// Closed
    Closed,
    /// All of them
    All,
}

#[derive(Debug, Args)]
struct OneArgs {
    /// The id of the piece of work, or its first characters
    work: String,
}

/// Show the state of a piece of work: requests, files, tests, steps, gates, what is unknown
#[derive(Debug, Args)]
struct ShowArgs {
    /// The id of the piece of work, or its first characters
    work: String,
    /// Print the whole body of the event with this number instead
    #[arg(long, value_name = "SEQ")]
    artifact: Option<u64>,
}

/// Claim a piece of work, so that you can close it and agents leave it to you
///
/// The claim ends after 30 minutes, or with `cerebro work release`. Claim the piece of work again to keep it longer.
#[derive(Debug, Args)]
struct ClaimArgs {
    /// The id of the piece of work, or its first characters
    work: String,
    /// Take it from a session that holds it
    #[arg(long)]
    takeover: bool,
}

/// Show the last events of a piece of work
#[derive(Debug, Args)]
struct TailArgs {
    /// The id of the piece of work, or its first characters
    work: String,
    /// Show at most N, 1 to 500 [default: 20]
    #[arg(short, long, value_name = "N", value_parser = within(1..=EVENTS_MAX))]
    limit: Option<usize>,
    /// Show new events as they come, until interrupted (Ctrl-C)
    #[arg(short, long)]
    follow: bool,
}

/// Print what the next agent should know of a piece of work
///
/// The text is checked against the files in this folder. It is printed in the frame in which hooks show it to agents: you can
/// paste it into any agent, and none of it counts as your request or becomes a memory.
#[derive(Debug, Args)]
struct ResumeArgs {
    /// The id of the piece of work, or its first characters [default: the last active one of this project that is
    /// unfinished and in which no agent works]
    work: Option<String>,
    /// Print a hint of at most this many bytes, 256 to 32768 [default: 2500]; its frame comes on top
    #[arg(long, value_name = "BYTES", value_parser = within(256..=32_768))]
    bytes: Option<usize>,
}

#[derive(Debug, Args)]
struct CloseArgs {
    /// The id of the piece of work, or its first characters
    work: String,
    /// How it ended [default: done]
    #[arg(long, value_enum)]
    outcome: Option<Ending>,
    /// A note on the end
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Ending {
    /// The goal is reached
    Done,
    /// It cannot be reached
    Failed,
    /// It was given up
    Abandoned,
}

#[derive(Debug, Args)]
struct ForkArgs {
    /// The id of the other piece of work, or its first characters
    work: String,
    /// The number of the event [default: the last]
    #[arg(long, value_name = "SEQ")]
    at: Option<u64>,
}

/// Remove texts and pieces of work that were closed long ago; this cannot be undone
#[derive(Debug, Args)]
struct PruneArgs {
    /// Remove texts of work that was closed more than this many days ago [default: `keep_texts` in config.toml]
    #[arg(long, value_name = "DAYS", value_parser = within(1..=36_500))]
    texts: Option<usize>,
    /// Remove work that was closed more than this many days ago [default: `keep` in config.toml]
    #[arg(long, value_name = "DAYS", value_parser = within(1..=36_500))]
    works: Option<usize>,
    /// Do not ask first; needed without a terminal
    #[arg(long)]
    yes: bool,
}

/// Read the journal again and say whether anything in it was changed
///
/// It finds edits, insertions, deletions, changes of order, cut ends, rows that went back, removed seals and changed
/// artifacts. Two things it finds only by a head that you wrote down elsewhere: that a process of the same user took the
/// home's key and rewrote what was not sealed yet, and that the whole home was put back to an earlier state.
#[derive(Debug, Args)]
struct VerifyArgs {
    /// A line that `cerebro work head` printed, or the line with `log` in a hint; can be repeated
    #[arg(long, value_name = "LINE")]
    head: Vec<String>,
    /// A file with such lines, notes of `cerebro work anchor`, or hints: a transcript, for example
    #[arg(long, value_name = "FILE")]
    anchor: Option<std::path::PathBuf>,
}

pub async fn run(context: &CommandContext, args: WorkArgs) -> Result<()> {
    match args.action {
        None => list(context, ListArgs::default()).await,
        Some(Action::List(args)) => list(context, args).await,
        Some(Action::Show(args)) => show(context, args).await,
        Some(Action::Tail(args)) => tail(context, args).await,
        Some(Action::Resume(args)) => resume(context, args).await,
        Some(Action::Close(args)) => close(context, args).await,
        Some(Action::Fork(args)) => fork(context, args).await,
        Some(Action::Export(args)) => export(context, args).await,
        Some(Action::Prune(args)) => prune(context, args).await,
        Some(Action::Verify(args)) => verify(context, args).await,
        Some(Action::Head) => head(context, false).await,
        Some(Action::Anchor) => head(context, true).await,
        Some(Action::Prove(args)) => prove(context, args).await,
        Some(Action::Claim(args)) => claim(context, args).await,
        Some(Action::Release(args)) => release(context, args).await,
        Some(Action::Sweep) => sweep(context).await,
    }
}

const WORKS: &[Column<work::Piece>] = &[
    ("work", Layout::Id, |piece| shown(&piece.work)),
    ("active", Layout::Ago, |piece| shown(&piece.active_at)),
    ("state", Layout::Fixed, |piece| shown(&piece.status)),
    ("but", Layout::Fixed, |piece| shown(&piece.stale)),
    ("agent", Layout::Spare, |piece| shown(&piece.agent)),
    ("project", Layout::Spare, |piece| shown(&piece.project)),
    ("events", Layout::Count, |piece| shown(&piece.seq)),
    ("title", Layout::Flexible, |piece| shown(&piece.title)),
];

async fn list(context: &CommandContext, args: ListArgs) -> Result<()> {
    let request =
        args.of.request(of::WorkList).with("state", args.state.and_then(name_of)).with("limit", args.limit);
    let project = args.of.project.as_deref();
    let (answer, suggestions) =
        ask_of_project(context, request, |answer| answer.works.is_empty(), project).await?;
    context.output.json(answer.raw())?;
    if !answer.enabled {
        context.output.note("the journal of work is off: `[work] enabled = false`");
    }
    if answer.degraded_until.is_some() {
        context.output.note("the journal answered too slowly or could not be written in the last minute");
    }
    if let Some(missed) = answer.missed {
        context
            .output
            .note(&format!("{missed} events are missing; a gap notes them once the journal can be written"));
    }
    let nothing = "no pieces of work; --state all lists closed ones, --all-projects those of all projects";
    context.output.table(&Table::of(WORKS, &answer.works), nothing)?;
    context.output.notes(&suggestions);
    Ok(())
}

/// A text that may be missing.
fn said(text: Option<&TimedText>) -> &str {
    text.map_or("", |said| &said.text)
}

/// Several items on one line.
fn listed<'a, T: 'a>(things: impl IntoIterator<Item = &'a T>, line: impl Fn(&T) -> String) -> String {
    things.into_iter().map(line).collect::<Vec<_>>().join(" · ")
}

async fn show(context: &CommandContext, args: ShowArgs) -> Result<()> {
    if let Some(seq) = args.artifact {
        return artifact(context, args.work, seq).await;
    }
    let answer = context.answer_patiently(Request::new(of::WorkShow).with("work", args.work)).await?;
    let (work, state) = (&answer.work, &answer.state);
    context.output.facts(&[
        ("work", shown(&work.work)),
        ("title", shown(&work.title)),
        ("goal", shown(&state.goal)),
        ("state", shown(&work.status)),
        ("but", shown(&work.stale)),
        ("outcome", shown(&work.outcome)),
        ("agent", shown(&work.agent)),
        ("session", shown(&work.session_id)),
        ("forked from", shown(&work.forked_from)),
        ("project", shown(&work.project)),
        ("folder", shown(&state.directory)),
        ("commit", shown(&state.commit)),
        ("begun", context.output.moment(&work.created_at)),
        ("active", context.output.moment(&work.active_at)),
        ("events", shown(&work.seq)),
        ("held by", shown(&work.holder)),
        ("first request", shown(said(state.first_request.as_ref()))),
        ("last request", shown(said(state.request.as_ref()))),
        ("turn open", shown(&state.turn_open)),
        ("turn failed", shown(said(state.turn_failed.as_ref()))),
        ("last words", shown(said(state.said.as_ref()))),
        ("blocked", shown(said(state.blocked.as_ref()))),
        ("failed", shown(said(state.failed.as_ref()))),
        ("tests", state.test.as_ref().map(tests).unwrap_or_default()),
        ("under way", listed(&state.under_way, |call| call.what.clone())),
        ("outcome unknown", intents(state)),
        ("gates", listed(&state.gates, gate)),
        ("files", listed(&state.files, |file| format!("{} +{} −{}", file.path, file.added, file.removed))),
        ("last", listed(&state.last, |done| done.text.clone())),
        ("gaps", gaps(&state.gaps)),
        ("remembered", listed(&answer.memories, |one| format!("{} {}", one.id.raw(), one.title.raw()))),
    ])?;
    context.output.table(&Table::of(STEPS, &state.steps), "")
}

/// The last run of tests.
fn tests(test: &TestState) -> String {
    let counted = |count: Option<u32>, word| count.map(|count| format!("{count} {word}"));
    let counts = [counted(test.tests.failed, "failed"), counted(test.tests.passed, "passed")];
    let counts: Vec<String> = counts.into_iter().flatten().collect();
    let outcome = if counts.is_empty() { name(&test.ending) } else { counts.join(", ") };
    let parts = [test.command.clone(), outcome, shown(&test.tests.names)];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" → ")
}

/// Events that were not recorded.
fn gaps(gaps: &Gaps) -> String {
    match gaps.times {
        0 => String::new(),
        _ => format!("{} events not recorded: {}", gaps.events, shown(&gaps.reason)),
    }
}

/// A gate with its standing.
fn gate(gate: &GateState) -> String {
    format!("{} {} {}", gate.name, name(&gate.standing), shown(&gate.text)).trim().to_owned()
}

/// The effects whose outcome is unknown.
fn intents(state: &Facts) -> String {
    listed(state.open_intents(), |intent| {
        format!("{} (key {}, {})", intent.text, intent.key, name(&intent.repeat))
    })
}

async fn artifact(context: &CommandContext, work: String, seq: u64) -> Result<()> {
    let request = Request::new(of::WorkArtifact).with("work", work).with("seq", seq);
    let answer = context.answer_patiently(request).await?;
    let Some(text) = answer.text.as_ref().map(Text::raw) else {
        context.output.note("the whole event is in its row; `cerebro work tail` shows it");
        return Err(Error::reported());
    };
    context.output.text(text)?;
    let full = answer.full_bytes.unwrap_or_default();
    if full > text.len() as u64 {
        context.output.note(&format!("{} of {full} bytes are kept", text.len()));
    }
    Ok(())
}

async fn claim(context: &CommandContext, args: ClaimArgs) -> Result<()> {
    let request = Request::new(of::WorkClaim).with("work", args.work).with("takeover", args.takeover);
    let answer = context.answer_patiently(request).await?;
    let until = context.output.moment(&answer.until);
    if answer.held {
        return context.output.outcome(answer.work.raw(), "claimed", &format!(" until {until}"));
    }
    context.output.note(&format!("{} holds it until {until}; --takeover takes it", answer.holder.raw()));
    Err(Error::reported())
}

async fn release(context: &CommandContext, args: OneArgs) -> Result<()> {
    let answer = context.answer_patiently(Request::new(of::WorkRelease).with("work", args.work)).await?;
    if answer.free {
        return changed(context, &answer.work, "released");
    }
    context.output.note(&format!("{} holds it; nothing was changed", shown(&answer.work.holder)));
    Err(Error::reported())
}

const EFFECTS: &[Column<work::Effect>] = &[
    ("work", Layout::Id, |effect| shown(&effect.work)),
    ("event", Layout::Count, |effect| shown(&effect.seq)),
    ("project", Layout::Spare, |effect| shown(&effect.project)),
    ("key", Layout::Fixed, |effect| shown(&effect.key)),
    ("repeat", Layout::Fixed, |effect| shown(&effect.repeat)),
    ("effect", Layout::Flexible, |effect| shown(&effect.text)),
];

async fn sweep(context: &CommandContext) -> Result<()> {
    let answer = context.answer_patiently(Request::new(of::WorkUnsettled)).await?;
    let table = Table::of(EFFECTS, &answer.effects);
    context.output.table(&table, "no announced effect of unknown outcome; `cerebro work resume` and `show` name commands that had begun")
}

const STEPS: &[Column<PlanStep>] = &[
    ("step", Layout::Count, |step| shown(&step.number)),
    ("state", Layout::Fixed, |step| name(&step.standing)),
    ("text", Layout::Flexible, |step| step.text.clone()),
];

async fn tail(context: &CommandContext, args: TailArgs) -> Result<()> {
    let daemon = Daemon::reach(&context.home()?).await?;
    let request = |after: Option<u64>| {
        Request::new(of::WorkTail).given(json!({ "work": args.work, "limit": args.limit, "after": after }))
    };
    let mut answer = daemon.read(request(None)).await?;
    let mut last = 0;
    loop {
        let newest = answer.events.last().map(|event| event.seq);
        last = newest.unwrap_or(last);
        if newest.is_some() {
            context.output.json(answer.raw())?;
            context.output.table(&events(&answer.events), "")?;
        }
        if !args.follow {
            break;
        }
        tokio::time::sleep(GLANCE).await;
        answer = daemon.read(request(Some(last))).await?;
    }
    if last == 0 {
        context.output.note("no events");
    }
    Ok(())
}

async fn resume(context: &CommandContext, args: ResumeArgs) -> Result<()> {
    let request = Request::new(of::WorkResume).with("work", args.work).with("max_bytes", args.bytes);
    let answer = context.answer_patiently(request).await?;
    match &answer.text {
        // In the frame in which hooks give it to agents: somebody pastes it, and then it is neither a request nor a memory.
        Some(text) => context.output.text(&framed(text.raw()))?,
        None => context.output.note("nothing is unfinished here"),
    }
    Ok(())
}

async fn close(context: &CommandContext, args: CloseArgs) -> Result<()> {
    let request = Request::new(of::WorkClose).given(json!({
        "work": args.work, "outcome": args.outcome.and_then(name_of), "text": args.text,
    }));
    let answer = context.answer_patiently(request).await?;
    changed(context, &answer.work, "closed")?;
    for id in &answer.memories {
        context.output.outcome(id.raw(), "remembered", " what was found out in it")?;
    }
    Ok(())
}

async fn fork(context: &CommandContext, args: ForkArgs) -> Result<()> {
    let request = Request::new(of::WorkFork).with("work", args.work).with("at", args.at);
    let answer = context.answer_patiently(request).await?;
    changed(context, &answer.work, "forked")
}

fn changed(context: &CommandContext, work: &work::Piece, outcome: &str) -> Result<()> {
    context.output.outcome(work.work.raw(), outcome, &format!(" {}", work.title.raw()))
}

async fn export(context: &CommandContext, args: OneArgs) -> Result<()> {
    let daemon = Daemon::reach_patiently(&context.home()?).await?;
    let mut after = None;
    loop {
        let request = Request::new(of::WorkExport).with("work", args.work.clone()).with("after", after);
        let page = daemon.read(request).await?;
        context.output.write(&page.lines.iter().map(|line| format!("{line}\n")).collect::<String>())?;
        after = page.next;
        if after.is_none() {
            return Ok(());
        }
    }
}

async fn prune(context: &CommandContext, args: PruneArgs) -> Result<()> {
    let question = "Remove old texts and closed work for good?";
    context.output.agree(args.yes, question, "nothing was removed")?;
    let request = Request::new(of::WorkPrune).with("texts_days", args.texts).with("works_days", args.works);
    let answer = context.answer_patiently(request).await?;
    context.output.facts(&[
        ("pieces of work", shown(&answer.works)),
        ("texts", shown(&answer.texts)),
        ("artifacts", shown(&answer.artifacts)),
    ])
}

const FINDINGS: &[Column<work::Finding>] = &[
    ("work", Layout::Fixed, |found| shown(&found.work)),
    ("finding", Layout::Fixed, |found| shown(&found.finding)),
    ("detail", Layout::Flexible, |found| shown(&found.detail)),
];

async fn verify(context: &CommandContext, args: VerifyArgs) -> Result<()> {
    let mut heads = args.head;
    if let Some(path) = &args.anchor {
        let found = anchors(&text_of(path, WITNESS_BYTES_MAX)?);
        if found.is_empty() {
            let words = format!("there is no head in {}", path.display());
            return Err(Error::usage(words).hint(
                "`cerebro work head` and `anchor` print some; a hint has one once the journal is sealed",
            ));
        }
        heads.extend(found.iter().map(|anchor| format!("{} {}", anchor.size, anchor.root)));
    }
    let answer = context.answer_patiently(Request::new(of::WorkVerify).with("heads", heads)).await?;
    context.output.facts(&[
        ("pieces of work", shown(&answer.works)),
        ("events", shown(&answer.events)),
        ("artifacts", shown(&answer.artifacts)),
        ("seals", shown(&answer.seals)),
        ("texts removed", shown(&answer.purged)),
        ("of another key", shown(&answer.foreign)),
    ])?;
    let table = Table::of(FINDINGS, &answer.findings);
    context.output.table(&table, "nothing was changed, as far as this home shows")?;
    if answer.more {
        context.output.note("more was found than is shown");
    }
    done_if(answer.findings.is_empty())
}

async fn head(context: &CommandContext, as_note: bool) -> Result<()> {
    let answer = context.answer_patiently(Request::new(of::WorkHead)).await?;
    match answer.note.as_ref().filter(|_| as_note) {
        Some(note) => context.output.text(note)?,
        None if as_note => context.output.note("nothing is sealed yet"),
        None => context.output.text(&format!("{} {}", answer.size, answer.root))?,
    }
    Ok(())
}

async fn prove(context: &CommandContext, args: OneArgs) -> Result<()> {
    let answer = context.answer_patiently(Request::new(of::WorkProve).with("work", args.work)).await?;
    if answer.sealed {
        return context.output.text(&format!("{:#}", answer.raw()));
    }
    context.output.note("it is not under a seal yet; `cerebro work head` seals");
    Err(Error::reported())
}
