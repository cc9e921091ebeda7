//! `cerebro consolidate`: plans what may be merged or archived, carries it out, and undoes it.

use super::prelude::*;
use crate::answer::consolidation::{Cycle, Report, Step};

/// Plan what to merge or archive, carry a plan out, or undo it
///
/// A plan changes nothing. It lists memories whose whole text is in another one, memories of old sessions whose summary
/// stays, and memories of what happened that have grown weak. Carrying it out archives them. Nothing is deleted and no
/// text is changed; `--undo` or `cerebro unarchive ID` brings them back.
///
/// If `[relations]` in config.toml names a chat model, the model is asked what several memories say together. An answer
/// that passes the check joins the plan as a step `derive`, with its sources.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("what").args(["plan", "apply", "undo", "log"]))]
#[expect(clippy::option_option, reason = "an option with or without its value, as clap reads it")]
pub struct ConsolidateArgs {
    /// Make a plan and show it [default]
    #[arg(long)]
    plan: bool,
    /// Carry out the plan that waits; with PLAN, only if it is this one
    #[arg(long, value_name = "PLAN")]
    apply: Option<Option<String>>,
    /// Undo the plan that was carried out last, or this one
    #[arg(long, value_name = "ID")]
    undo: Option<Option<String>>,
    /// List all plans, or show one with its steps
    #[arg(long, value_name = "ID")]
    log: Option<Option<String>>,
}

const STEPS: &[Column<Step>] = &[
    ("what", Layout::Fixed, |step| shown(&step.action)),
    ("id", Layout::Id, |step| shown(&step.id)),
    ("title", Layout::Flexible, |step| shown(&step.title)),
    ("stays", Layout::Fixed, |step| shown(&step.into)),
    ("outcome", Layout::Fixed, |step| shown(&step.outcome)),
    ("why", Layout::Flexible, |step| shown(&step.why)),
];

const LOG: &[Column<Cycle>] = &[
    ("id", Layout::Fixed, |cycle| shown(&cycle.id)),
    ("planned", Layout::Ago, |cycle| shown(&cycle.at)),
    ("by", Layout::Fixed, |cycle| shown(&cycle.by)),
    ("state", Layout::Fixed, |cycle| shown(&cycle.state)),
    ("merge", Layout::Count, |cycle| shown(&cycle.merge)),
    ("compact", Layout::Count, |cycle| shown(&cycle.compact)),
    ("archive", Layout::Count, |cycle| shown(&cycle.archive)),
    ("derive", Layout::Count, |cycle| shown(&cycle.derive)),
    ("done", Layout::Count, |cycle| shown(&cycle.done)),
    ("left", Layout::Count, |cycle| shown(&cycle.left)),
];

pub async fn run(context: &CommandContext, args: ConsolidateArgs) -> Result<()> {
    let nothing = "there is nothing to merge or archive";
    match (args.apply, args.undo, args.log) {
        (Some(id), ..) => report(context, request(of::CycleApply, id), nothing).await,
        (_, Some(id), _) => report(context, request(of::CycleUndo, id), "that plan changed nothing").await,
        (.., Some(id)) => log(context, request(of::CycleLog, id), nothing).await,
        _ => report(context, Request::new(of::CyclePlan), nothing).await,
    }
}

/// A request about the plan with an id; without an id, the daemon chooses the plan.
fn request<O>(operation: O, id: Option<String>) -> Request<O> {
    Request::new(operation).with("id", id)
}

async fn report<O>(context: &CommandContext, request: Request<O>, nothing: &str) -> Result<()>
where
    O: Ask<Answer = Report>,
{
    let answer = context.answer_patiently(request).await?;
    show(context, &answer, nothing)
}

async fn log(context: &CommandContext, request: Request<of::CycleLog>, nothing: &str) -> Result<()> {
    let answer = context.answer_patiently(request).await?;
    if let Some(one) = &answer.one {
        return show(context, one, nothing);
    }
    let table = Table::of(LOG, answer.cycles.as_deref().unwrap_or_default());
    context.output.table(&table, "no plans yet; `cerebro consolidate` makes one")?;
    let mut cycles = answer.cycles.iter().flatten();
    if let Some(waits) = cycles.find(|cycle| cycle.state.raw() == "planned" && cycle.derive > 0) {
        let (id, insights) = (waits.id.raw(), text::counted(waits.derive, "insight"));
        context.output.note(&format!(
            "plan {id} waits for you, because it has {insights}: `--log {id}` shows them, `--apply {id}` carries it out; where \
             `consolidate` is \"apply\", no night makes another plan until then"
        ));
    }
    Ok(())
}

fn show(context: &CommandContext, report: &Report, nothing: &str) -> Result<()> {
    context.output.table(&Table::of(STEPS, &report.steps), nothing)?;
    for step in &report.steps {
        let Some((text, sources)) = step.waiting() else { continue };
        let (id, text) = (step.id.raw(), text.raw());
        context.output.text(&format!("\n{id}  {text}\n{:14}from {}", "", shown(sources)))?;
    }
    for words in [in_short(report), asked(report)].into_iter().flatten() {
        context.output.note(&words);
    }
    Ok(())
}

/// What a chat model is asked, or was.
fn asked(report: &Report) -> Option<String> {
    let cycle = &report.cycle;
    if report.asking == Some(true) {
        let id = cycle.id.raw();
        return Some(format!(
            "a chat model is asked for insights; `cerebro consolidate --log {id}` shows what joins the plan"
        ));
    }
    if cycle.requests == 0 {
        return None;
    }
    let (tokens, dropped) = (cycle.tokens, cycle.dropped);
    let requests = text::counted(cycle.requests, "request");
    Some(format!("insights: {requests} to the chat model, {tokens} tokens, {dropped} dropped by the check"))
}

/// What became of a consolidation, and what comes next.
fn in_short(report: &Report) -> Option<String> {
    let cycle = &report.cycle;
    if report.steps.is_empty() {
        return None;
    }
    let id = cycle.id.raw();
    let changes = |count: u64| text::counted(count, "change");
    let rest = |count: u64, why: &str| if count == 0 { String::new() } else { format!("; {count} {why}") };
    Some(match cycle.state.raw() {
        "planned" => format!(
            "{} planned, none made; `cerebro consolidate --apply {id}` makes them",
            text::counted(report.steps.len(), "change")
        ),
        "applied" => format!(
            "{} made{}; `cerebro consolidate --undo {id}` undoes them",
            changes(cycle.done),
            rest(cycle.skipped, "left out, because the memories have changed since")
        ),
        _ => format!(
            "{} undone{}",
            changes(cycle.undone),
            rest(cycle.left, "kept, because the memories have changed since")
        ),
    })
}
