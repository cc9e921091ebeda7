//! `cerebro consolidate`: plans what may be merged or archived, carries it out, and undoes it.

use clap::Args;
use serde_json::{Value, json};

use super::{CommandContext, Outcome};
use crate::cli::daemon_client::{Daemon, Request};
use crate::cli::error::Result;
use crate::cli::table::{Layout, Table, shown};
use cerebro_core::operation::Operation;
use cerebro_core::text;

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
pub struct ConsolidateArgs {
    /// Make a plan and show it [default]
    #[arg(long)]
    plan: bool,
    /// Carry out the plan that waits; with PLAN, only if it is this one
    #[arg(long, value_name = "PLAN", num_args = 0..=1, default_missing_value = "")]
    apply: Option<String>,
    /// Undo the plan that was carried out last, or this one
    #[arg(long, value_name = "ID", num_args = 0..=1, default_missing_value = "")]
    undo: Option<String>,
    /// List all plans, or show one with its steps
    #[arg(long, value_name = "ID", num_args = 0..=1, default_missing_value = "")]
    log: Option<String>,
}

const STEPS: &[(&str, Layout)] = &[
    ("what", Layout::Fixed),
    ("id", Layout::Id),
    ("title", Layout::Flexible),
    ("stays", Layout::Fixed),
    ("outcome", Layout::Fixed),
    ("why", Layout::Flexible),
];

const LOG: &[(&str, Layout)] = &[
    ("id", Layout::Fixed),
    ("planned", Layout::Ago),
    ("by", Layout::Fixed),
    ("state", Layout::Fixed),
    ("merge", Layout::Count),
    ("compact", Layout::Count),
    ("archive", Layout::Count),
    ("derive", Layout::Count),
    ("done", Layout::Count),
    ("left", Layout::Count),
];

pub async fn run(context: &CommandContext, args: ConsolidateArgs) -> Result<Outcome> {
    let (operation, id) = match (args.apply, args.undo, args.log) {
        (Some(id), ..) => (Operation::CycleApply, Some(id)),
        (_, Some(id), _) => (Operation::CycleUndo, Some(id)),
        (.., Some(id)) => (Operation::CycleLog, Some(id)),
        _ => (Operation::CyclePlan, None),
    };
    let id = id.filter(|id| !id.is_empty());
    let is_list = operation == Operation::CycleLog && id.is_none();
    let daemon = Daemon::reach_patiently(&context.home()?).await?;
    let answer = daemon.ask(Request::new(operation).with("id", id)).await?;
    daemon.close().await;
    if context.output.json(&answer)? {
        return Ok(Outcome::Done);
    }
    if is_list {
        let fields = ["id", "at", "by", "state", "merge", "compact", "archive", "derive", "done", "left"];
        context.output.table(
            &Table::of(LOG, &fields, &answer["cycles"]),
            "no plans yet; `cerebro consolidate` makes one",
        )?;
        return Ok(Outcome::Done);
    }
    let fields = ["action", "id", "title", "into", "outcome", "why"];
    let nothing = match operation {
        Operation::CycleUndo => "there was nothing in it to take back",
        _ => "there is nothing to merge or archive",
    };
    context.output.table(&Table::of(STEPS, &fields, &answer["steps"]), nothing)?;
    for step in answer["steps"].as_array().into_iter().flatten().filter(|step| step["text"].is_string()) {
        let sources: Vec<String> = step["sources"].as_array().into_iter().flatten().map(shown).collect();
        let (id, text) = (shown(&step["id"]), shown(&step["text"]));
        context.output.text(&format!("\n{id}  {text}\n{:14}from {}", "", sources.join(", ")))?;
    }
    for words in [in_short(&answer), asked(&answer)].into_iter().flatten() {
        context.output.note(&words);
    }
    Ok(Outcome::Done)
}

/// What a chat model is asked, or was.
fn asked(answer: &Value) -> Option<String> {
    let cycle = &answer["cycle"];
    if answer["asking"] == true {
        let id = shown(&cycle["id"]);
        return Some(format!(
            "a chat model is asked for insights; `cerebro consolidate --log {id}` shows what joins the plan"
        ));
    }
    let requests = cycle["requests"].as_u64().filter(|requests| *requests > 0)?;
    let (tokens, dropped) = (shown(&cycle["tokens"]), shown(&cycle["dropped"]));
    let requests = text::counted(requests, "request");
    Some(format!("insights: {requests} to the chat model, {tokens} tokens, {dropped} dropped by the check"))
}

/// What became of a consolidation, and what comes next.
fn in_short(answer: &Value) -> Option<String> {
    let cycle = &answer["cycle"];
    let id = shown(&cycle["id"]);
    let changes = |name: &str| text::counted(cycle[name].as_u64().unwrap_or_default(), "change");
    let steps = answer["steps"].as_array().map_or(0, Vec::len);
    if steps == 0 {
        return None;
    }
    let rest = |name: &str, why: &str| {
        if cycle[name] == json!(0) { String::new() } else { format!("; {} {why}", shown(&cycle[name])) }
    };
    Some(match cycle["state"].as_str()? {
        "planned" => format!(
            "{} planned, none made; `cerebro consolidate --apply {id}` makes them",
            text::counted(steps, "change")
        ),
        "applied" => format!(
            "{} made{}; `cerebro consolidate --undo {id}` takes them back",
            changes("done"),
            rest("skipped", "left out, since the memories are not what they were")
        ),
        _ => format!(
            "{} taken back{}",
            changes("undone"),
            rest("left", "left, since the memories were changed since")
        ),
    })
}
