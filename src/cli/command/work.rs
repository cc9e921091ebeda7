//! `cerebro work`: the journal of what agents do.

use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use serde_json::Value;

use super::list::ask_of_project;
use super::selection::ProjectArgs;
use super::{CommandContext, Outcome, text_of, within};
use crate::cli::daemon_client::{Daemon, Request};
use crate::cli::error::{Error, Result};
use crate::cli::table::{Layout, Table, shown};
use cerebro_core::operation::Operation;
use cerebro_ledger::anchor::anchors;

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
/// next session of the project is shown what was left half-way. docs/work.md says what is kept and what is proved.
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
    /// List effects that may or may not have taken place, in all projects
    Sweep,
}

/// List pieces of work, the last active first
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
    /// Open and held up by a gate or a block
    Waiting,
    /// Open, and lost, idle for a day, or with a claim that ended
    Stale,
    /// Closed
    Closed,
    /// All of them
    All,
}

impl State {
    fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Free => "free",
            Self::Waiting => "waiting",
            Self::Stale => "stale",
            Self::Closed => "closed",
            Self::All => "all",
        }
    }
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
/// Each of your `cerebro` commands on it renews the claim.
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
    /// Go on showing new events until interrupted (Ctrl-C)
    #[arg(short, long)]
    follow: bool,
}

/// Print what the next agent should know of a piece of work
#[derive(Debug, Args)]
struct ResumeArgs {
    /// The id of the piece of work, or its first characters [default: the newest unfinished one here]
    work: Option<String>,
    /// Print at most this many bytes, 256 to 32768 [default: 2500]
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
    /// Remove texts of work that was closed more than this many days ago [default: keep_texts of the settings]
    #[arg(long, value_name = "DAYS", value_parser = within(1..=36_500))]
    texts: Option<usize>,
    /// Remove work that was closed more than this many days ago [default: keep of the settings]
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
    /// A line that `cerebro work head` printed, or the last line of a hint; can be repeated
    #[arg(long, value_name = "LINE")]
    head: Vec<String>,
    /// A file with such lines, notes of `cerebro work anchor`, or hints: a transcript, for example
    #[arg(long, value_name = "FILE")]
    anchor: Option<std::path::PathBuf>,
}

pub async fn run(context: &CommandContext, args: WorkArgs) -> Result<Outcome> {
    match args.action {
        None => list(context, ListArgs::default()).await,
        Some(Action::List(args)) => list(context, args).await,
        Some(Action::Show(args)) => show(context, args).await,
        Some(Action::Tail(args)) => tail(context, args).await,
        Some(Action::Resume(args)) => resume(context, args).await,
        Some(Action::Close(args)) => {
            let outcome = args.outcome.map(|outcome| match outcome {
                Ending::Done => "done",
                Ending::Failed => "failed",
                Ending::Abandoned => "abandoned",
            });
            let request = Request::new(Operation::WorkClose).with("outcome", outcome).with("text", args.text);
            change(context, request.with("work", args.work), "closed").await
        }
        Some(Action::Fork(args)) => {
            let request = Request::new(Operation::WorkFork).with("at", args.at);
            change(context, request.with("work", args.work), "forked").await
        }
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

async fn ask(context: &CommandContext, request: Request) -> Result<Value> {
    let daemon = Daemon::reach_patiently(&context.home()?).await?;
    let answer = daemon.ask(request).await?;
    daemon.close().await;
    Ok(answer)
}

const WORKS: &[(&str, Layout)] = &[
    ("work", Layout::Id),
    ("active", Layout::Ago),
    ("state", Layout::Fixed),
    ("but", Layout::Fixed),
    ("agent", Layout::Spare),
    ("project", Layout::Spare),
    ("events", Layout::Count),
    ("title", Layout::Flexible),
];

async fn list(context: &CommandContext, args: ListArgs) -> Result<Outcome> {
    let request = args
        .of
        .request(Operation::WorkList)
        .with("state", args.state.map(State::name))
        .with("limit", args.limit);
    let (answer, meant) = ask_of_project(context, request, "works", args.of.project.as_deref()).await?;
    if context.output.json(&answer)? {
        return Ok(Outcome::Done);
    }
    if answer["enabled"] == false {
        context.output.note("the journal of work is off: `[work] enabled = false`");
    }
    if !answer["degraded_until"].is_null() {
        context.output.note("the journal answered too slowly; for a minute nobody waits for it");
    }
    let fields = ["work", "active_at", "status", "stale", "agent", "project", "seq", "title"];
    let nothing = "no pieces of work; --state all lists closed ones, --all-projects those of all projects";
    context.output.table(&Table::of(WORKS, &fields, &answer["works"]), nothing)?;
    context.output.notes(&meant);
    Ok(Outcome::Done)
}

/// A text under a key, and the rest of its object in brackets behind it.
fn said(value: &Value) -> String {
    shown(&value["text"])
}

async fn show(context: &CommandContext, args: ShowArgs) -> Result<Outcome> {
    if let Some(seq) = args.artifact {
        return artifact(context, args.work, seq).await;
    }
    let answer = ask(context, Request::new(Operation::WorkShow).with("work", args.work)).await?;
    if context.output.json(&answer)? {
        return Ok(Outcome::Done);
    }
    let (work, state) = (&answer["work"], &answer["state"]);
    let list = |name: &str, line: fn(&Value) -> String| {
        let lines: Vec<String> = state[name].as_array().into_iter().flatten().map(line).collect();
        lines.join(" · ")
    };
    let memories = answer["memories"].as_array().into_iter().flatten();
    let remembered: Vec<String> =
        memories.map(|memory| format!("{} {}", shown(&memory["id"]), shown(&memory["title"]))).collect();
    context.output.facts(&[
        ("work", shown(&work["work"])),
        ("title", shown(&work["title"])),
        ("goal", shown(&state["goal"])),
        ("state", shown(&work["status"])),
        ("but", shown(&work["stale"])),
        ("outcome", shown(&work["outcome"])),
        ("agent", shown(&work["agent"])),
        ("session", shown(&work["session_id"])),
        ("project", shown(&work["project"])),
        ("folder", shown(&state["directory"])),
        ("commit", shown(&state["commit"])),
        ("begun", context.output.moment(&work["created_at"])),
        ("active", context.output.moment(&work["active_at"])),
        ("events", shown(&work["seq"])),
        ("held by", shown(&work["holder"])),
        ("first request", said(&state["first_request"])),
        ("last request", said(&state["request"])),
        ("turn open", shown(&state["turn_open"])),
        ("turn failed", said(&state["turn_failed"])),
        ("last words", said(&state["said"])),
        ("blocked", said(&state["blocked"])),
        ("failed", said(&state["failed"])),
        ("tests", tests(&state["test"])),
        ("under way", list("under_way", |call| shown(&call["what"]))),
        ("outcome unknown", intents(state)),
        ("gates", list("gates", gate)),
        ("files", list("files", file)),
        ("last", list("last", said)),
        ("gaps", gaps(&state["gaps"])),
        ("remembered", remembered.join(" · ")),
    ])?;
    steps(context, state)
}

/// The last run of tests.
fn tests(test: &Value) -> String {
    let counted = |key: &str| test["tests"][key].as_u64().map(|count| format!("{count} {key}"));
    let counts: Vec<String> = ["failed", "passed"].into_iter().filter_map(counted).collect();
    let outcome = if counts.is_empty() { shown(&test["ending"]) } else { counts.join(", ") };
    let parts = [shown(&test["command"]), outcome, shown(&test["tests"]["names"])];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" → ")
}

/// A file that was edited.
fn file(file: &Value) -> String {
    format!("{} +{} −{}", shown(&file["path"]), shown(&file["added"]), shown(&file["removed"]))
}

/// Events that were not recorded.
fn gaps(gaps: &Value) -> String {
    match gaps["times"].as_u64() {
        None | Some(0) => String::new(),
        Some(_) => format!("{} events not recorded: {}", shown(&gaps["events"]), shown(&gaps["reason"])),
    }
}

/// A gate with its standing.
fn gate(gate: &Value) -> String {
    [shown(&gate["name"]), shown(&gate["standing"]), shown(&gate["text"])].join(" ").trim().to_owned()
}

/// The effects of which nobody knows whether they took place.
fn intents(state: &Value) -> String {
    let open =
        state["intents"].as_array().into_iter().flatten().filter(|intent| intent["standing"] == "open");
    let line = |intent: &Value| {
        format!("{} (key {}, {})", said(intent), shown(&intent["key"]), shown(&intent["repeat"]))
    };
    open.map(line).collect::<Vec<_>>().join(" · ")
}

async fn artifact(context: &CommandContext, work: String, seq: u64) -> Result<Outcome> {
    let request = Request::new(Operation::WorkArtifact).with("work", work).with("seq", seq);
    let answer = ask(context, request).await?;
    if context.output.json(&answer)? {
        return Ok(Outcome::Done);
    }
    let Some(text) = answer["text"].as_str() else {
        context.output.note("all of the event stands in its row; `cerebro work tail` shows it");
        return Ok(Outcome::Short);
    };
    context.output.text(text)?;
    let full = answer["full_bytes"].as_u64().unwrap_or_default();
    if full > text.len() as u64 {
        context.output.note(&format!("{} of {full} bytes are kept", text.len()));
    }
    Ok(Outcome::Done)
}

async fn claim(context: &CommandContext, args: ClaimArgs) -> Result<Outcome> {
    let request = Request::new(Operation::WorkClaim).with("work", args.work).with("takeover", args.takeover);
    let answer = ask(context, request).await?;
    let is_held = answer["held"] == true;
    let outcome = if is_held { Outcome::Done } else { Outcome::Short };
    if context.output.json(&answer)? {
        return Ok(outcome);
    }
    let until = context.output.moment(&answer["until"]);
    if is_held {
        context.output.outcome(&shown(&answer["work"]), "claimed", &format!(" until {until}"))?;
    } else {
        let holder = shown(&answer["holder"]);
        context.output.note(&format!("{holder} holds it until {until}; --takeover takes it"));
    }
    Ok(outcome)
}

async fn release(context: &CommandContext, args: OneArgs) -> Result<Outcome> {
    let answer = ask(context, Request::new(Operation::WorkRelease).with("work", args.work)).await?;
    let is_free = answer["free"] == true;
    let outcome = if is_free { Outcome::Done } else { Outcome::Short };
    if context.output.json(&answer)? {
        return Ok(outcome);
    }
    let work = &answer["work"];
    if is_free {
        context.output.outcome(&shown(&work["work"]), "released", &format!(" {}", shown(&work["title"])))?;
    } else {
        context.output.note(&format!("{} holds it; nothing was changed", shown(&work["holder"])));
    }
    Ok(outcome)
}

const EFFECTS: &[(&str, Layout)] = &[
    ("work", Layout::Id),
    ("event", Layout::Count),
    ("project", Layout::Spare),
    ("key", Layout::Fixed),
    ("repeat", Layout::Fixed),
    ("effect", Layout::Flexible),
];

async fn sweep(context: &CommandContext) -> Result<Outcome> {
    let answer = ask(context, Request::new(Operation::WorkUnsettled)).await?;
    if context.output.json(&answer)? {
        return Ok(Outcome::Done);
    }
    let fields = ["work", "seq", "project", "key", "repeat", "text"];
    context.output.table(&Table::of(EFFECTS, &fields, &answer["effects"]), "no effect of unknown outcome")?;
    Ok(Outcome::Done)
}

const STEPS: &[(&str, Layout)] =
    &[("step", Layout::Count), ("state", Layout::Fixed), ("text", Layout::Flexible)];

fn steps(context: &CommandContext, state: &Value) -> Result<Outcome> {
    let table = Table::of(STEPS, &["number", "standing", "text"], &state["steps"]);
    if !table.is_empty() {
        context.output.table(&table, "")?;
    }
    Ok(Outcome::Done)
}

const EVENTS: &[(&str, Layout)] =
    &[("seq", Layout::Count), ("at", Layout::Moment), ("kind", Layout::Fixed), ("what", Layout::Flexible)];

/// What an event says, on one line.
fn what(event: &Value) -> String {
    if event["purged"] == true {
        return "(its text was removed)".to_owned();
    }
    let step = &event["step"];
    let words = [
        "text", "command", "what", "path", "title", "error", "said", "name", "key", "reason", "trigger",
        "holder", "from", "call", "place",
    ];
    let word =
        words.into_iter().map(|key| shown(&step[key])).find(|word| !word.is_empty()).unwrap_or_default();
    let more = match step["kind"].as_str() {
        Some("planned") => planned(&step["steps"]),
        Some("gate") => format!(" {}", shown(&step["standing"])),
        Some("step_set") => format!(" (step {} {})", shown(&step["step"]), shown(&step["standing"])),
        Some("gap") => match step["count"].as_u64() {
            Some(count) => format!(" ({count} events)"),
            None => String::new(),
        },
        Some("closed") => format!(" ({})", shown(&step["outcome"])),
        Some("forked") => format!(" at event {}", shown(&step["at"])),
        Some("ran") => match step["exit"].as_i64() {
            Some(exit) => format!(" → exit {exit}"),
            None => format!(" → {}", shown(&step["ending"])),
        },
        Some("edited") => format!(" +{} −{}", shown(&step["added"]), shown(&step["removed"])),
        _ => String::new(),
    };
    let late = if event["late"] == true { " (late)" } else { "" };
    let cut = match event["full_bytes"].as_u64() {
        Some(full) => format!(" (cut; {full} bytes: work show ID --artifact {})", shown(&event["seq"])),
        None => String::new(),
    };
    format!("{word}{more}{late}{cut}").trim_start().to_owned()
}

/// An agent's own list of steps.
fn planned(steps: &Value) -> String {
    let step = |step: &Value| format!("{} ({})", shown(&step["text"]), shown(&step["standing"]));
    steps.as_array().into_iter().flatten().map(step).collect::<Vec<_>>().join("; ")
}

fn events(list: &Value) -> Table {
    let mut table = Table::new(EVENTS);
    for event in list.as_array().into_iter().flatten() {
        table.add(vec![shown(&event["seq"]), shown(&event["at"]), shown(&event["kind"]), what(event)]);
    }
    table
}

async fn tail(context: &CommandContext, args: TailArgs) -> Result<Outcome> {
    let daemon = Daemon::reach(&context.home()?).await?;
    let request = |after: Option<u64>| {
        Request::new(Operation::WorkTail)
            .with("work", args.work.clone())
            .with("limit", args.limit)
            .with("after", after)
    };
    let mut answer = daemon.ask(request(None)).await?;
    let mut last = 0;
    loop {
        let newest = answer["events"].as_array().and_then(|events| events.last()?["seq"].as_u64());
        last = newest.unwrap_or(last);
        if newest.is_some() && !context.output.json(&answer)? {
            context.output.table(&events(&answer["events"]), "")?;
        }
        if !args.follow {
            break;
        }
        tokio::time::sleep(GLANCE).await;
        answer = daemon.ask(request(Some(last))).await?;
    }
    daemon.close().await;
    if last == 0 {
        context.output.note("no events");
    }
    Ok(Outcome::Done)
}

async fn resume(context: &CommandContext, args: ResumeArgs) -> Result<Outcome> {
    let request = Request::new(Operation::WorkResume).with("work", args.work).with("max_bytes", args.bytes);
    let answer = ask(context, request).await?;
    if context.output.json(&answer)? {
        return Ok(Outcome::Done);
    }
    match answer["text"].as_str() {
        Some(text) => context.output.text(text)?,
        None => context.output.note("nothing is unfinished here"),
    }
    Ok(Outcome::Done)
}

async fn change(context: &CommandContext, request: Request, outcome: &str) -> Result<Outcome> {
    let answer = ask(context, request).await?;
    if context.output.json(&answer)? {
        return Ok(Outcome::Done);
    }
    let work = &answer["work"];
    context.output.outcome(&shown(&work["work"]), outcome, &format!(" {}", shown(&work["title"])))?;
    for id in answer["memories"].as_array().into_iter().flatten() {
        context.output.outcome(&shown(id), "remembered", " what was found out in it")?;
    }
    Ok(Outcome::Done)
}

async fn export(context: &CommandContext, args: OneArgs) -> Result<Outcome> {
    let daemon = Daemon::reach_patiently(&context.home()?).await?;
    let mut after = None;
    loop {
        let request =
            Request::new(Operation::WorkExport).with("work", args.work.clone()).with("after", after);
        let page = daemon.ask(request).await?;
        let lines = page["lines"].as_array().into_iter().flatten().filter_map(Value::as_str);
        context.output.write(&lines.map(|line| format!("{line}\n")).collect::<String>())?;
        after = page["next"].as_u64();
        if after.is_none() {
            break;
        }
    }
    daemon.close().await;
    Ok(Outcome::Done)
}

async fn prune(context: &CommandContext, args: PruneArgs) -> Result<Outcome> {
    let question = "Remove old texts and closed work for good?";
    if !args.yes && !context.output.confirm(question)? {
        context.output.note("nothing was removed");
        return Ok(Outcome::Short);
    }
    let request =
        Request::new(Operation::WorkPrune).with("texts_days", args.texts).with("works_days", args.works);
    let answer = ask(context, request).await?;
    if !context.output.json(&answer)? {
        context.output.facts(&[
            ("pieces of work", shown(&answer["works"])),
            ("texts", shown(&answer["texts"])),
            ("artifacts", shown(&answer["artifacts"])),
        ])?;
    }
    Ok(Outcome::Done)
}

async fn verify(context: &CommandContext, args: VerifyArgs) -> Result<Outcome> {
    let mut heads = args.head;
    if let Some(path) = &args.anchor {
        let found = anchors(&text_of(path, WITNESS_BYTES_MAX)?);
        if found.is_empty() {
            let words = format!("there is no head in {}", path.display());
            return Err(
                Error::usage(words).hint("`cerebro work head` and `anchor` print some; hints end with one")
            );
        }
        heads.extend(found.iter().map(|anchor| format!("{} {}", anchor.size, anchor.root)));
    }
    let answer = ask(context, Request::new(Operation::WorkVerify).with("heads", heads)).await?;
    let findings = answer["findings"].as_array().cloned().unwrap_or_default();
    let outcome = if findings.is_empty() { Outcome::Done } else { Outcome::Short };
    if context.output.json(&answer)? {
        return Ok(outcome);
    }
    context.output.facts(&[
        ("pieces of work", shown(&answer["works"])),
        ("events", shown(&answer["events"])),
        ("artifacts", shown(&answer["artifacts"])),
        ("seals", shown(&answer["seals"])),
        ("texts removed", shown(&answer["purged"])),
        ("of another key", shown(&answer["foreign"])),
    ])?;
    let columns = [("work", Layout::Fixed), ("finding", Layout::Fixed), ("detail", Layout::Flexible)];
    let table = Table::of(&columns, &["work", "finding", "detail"], &answer["findings"]);
    context.output.table(&table, "nothing was changed, as far as this home shows")?;
    if answer["more"] == true {
        context.output.note("more was found than is shown");
    }
    Ok(outcome)
}

async fn head(context: &CommandContext, as_note: bool) -> Result<Outcome> {
    let answer = ask(context, Request::new(Operation::WorkHead)).await?;
    if context.output.json(&answer)? {
        return Ok(Outcome::Done);
    }
    match answer["note"].as_str().filter(|_| as_note) {
        Some(note) => context.output.text(note)?,
        None if as_note => context.output.note("nothing is sealed yet"),
        None => context.output.text(&format!("{} {}", answer["size"], shown(&answer["root"])))?,
    }
    Ok(Outcome::Done)
}

async fn prove(context: &CommandContext, args: OneArgs) -> Result<Outcome> {
    let answer = ask(context, Request::new(Operation::WorkProve).with("work", args.work)).await?;
    let is_sealed = answer["sealed"] == true;
    if !context.output.json(&answer)? {
        if is_sealed {
            context.output.text(&format!("{answer:#}"))?;
        } else {
            context.output.note("it is not under a seal yet; `cerebro work head` seals");
        }
    }
    Ok(if is_sealed { Outcome::Done } else { Outcome::Short })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_event_is_shown_on_one_line() {
        let list = json!([
            { "seq": 1, "at": "t", "kind": "prompt", "step": { "kind": "prompt", "text": "Mend\nit" } },
            { "seq": 2, "at": "t", "kind": "ran", "step": { "kind": "ran", "command": "cargo test", "exit": 101 } },
            { "seq": 3, "at": "t", "kind": "ran", "step": { "kind": "ran", "command": "x", "ending": "unknown" } },
            { "seq": 4, "at": "t", "kind": "edited", "late": true,
              "step": { "kind": "edited", "path": "a.rs", "added": 3, "removed": 1 } },
            { "seq": 5, "at": "t", "kind": "note", "step": null, "purged": true },
            { "seq": 6, "at": "t", "kind": "planned",
              "step": { "kind": "planned", "steps": [{ "text": "rules", "standing": "passed" }] } },
            { "seq": 7, "at": "t", "kind": "gap", "step": { "kind": "gap", "count": 3, "reason": "away" } },
            { "seq": 8, "at": "t", "kind": "closed", "step": { "kind": "closed", "outcome": "done" } },
        ]);
        assert_eq!(
            events(&list).plain(),
            "1\tt\tprompt\tMend it\n2\tt\tran\tcargo test → exit 101\n3\tt\tran\tx → unknown\n\
             4\tt\tedited\ta.rs +3 −1 (late)\n5\tt\tnote\t(its text was removed)\n\
             6\tt\tplanned\trules (passed)\n7\tt\tgap\taway (3 events)\n8\tt\tclosed\t(done)\n"
        );
    }
}
