//! `cerebro distil arrange`, `undo`, `handbook` and `skills`: handbooks of accepted claims.

use std::path::PathBuf;

use clap::ArgGroup;

use super::prelude::*;
use super::setup::{SetupContext, show_changes};
use crate::answer::distil::{Arrangement, Decided, Operation, Skill};
use crate::setup::{Change, skill};
use cerebro_core::domain::Run;

/// What a person can do about a question that was given up.
pub const ASK_AGAIN: &str = "`cerebro jobs` says why, `cerebro jobs retry` asks again";

/// Whose handbook.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("whose").args(["project", "all_projects"]).required(true)))]
pub struct WhoseArgs {
    /// The handbook of this project
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// The handbook of all projects
    #[arg(long)]
    all_projects: bool,
}

/// Ask the model to arrange a handbook; its proposal waits for `review`
#[derive(Debug, Args)]
pub struct ArrangeArgs {
    #[command(flatten)]
    whose: WhoseArgs,
    /// Only show what would be sent, with an estimate of its tokens; nothing is sent
    #[arg(long)]
    dry_run: bool,
}

/// Show what a handbook says: the accepted claims by topic
#[derive(Debug, Args)]
pub struct HandbookArgs {
    #[command(flatten)]
    whose: WhoseArgs,
    /// Save it as memories with the topic keys `distilled/handbook` and `distilled/summary`
    #[arg(long)]
    save: bool,
}

/// List drafts of skills: procedures that were seen in three sessions; install one
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("change").args(["install", "remove"])))]
pub struct SkillsArgs {
    /// Only this project [default: all]
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// Show the text of this draft
    #[arg(long, value_name = "NAME", conflicts_with_all = ["install", "remove"])]
    show: Option<String>,
    /// Write this draft into the agent's folder of skills; no file of yours is replaced
    #[arg(long, num_args = 2, value_names = ["NAME", "AGENT"])]
    install: Option<Vec<String>>,
    /// Remove what `--install` wrote
    #[arg(long, num_args = 2, value_names = ["NAME", "AGENT"])]
    remove: Option<Vec<String>>,
    /// With `--install` or `--remove`: show what would change, and change nothing
    #[arg(long, requires = "change")]
    dry_run: bool,
}

const SKILLS: &[Column<Skill>] = &[
    ("name", Layout::Fixed, |draft| shown(&draft.name)),
    ("project", Layout::Fixed, |draft| shown(&draft.project)),
    ("sessions", Layout::Count, |draft| shown(&draft.sessions)),
    ("title", Layout::Flexible, |draft| shown(&draft.title)),
];

const OPERATIONS: &[Column<Operation>] = &[
    ("change", Layout::Fixed, action),
    ("memory", Layout::Fixed, |operation| shown(&operation.memory)),
    ("title", Layout::Flexible, |operation| shown(&operation.title)),
    ("topic", Layout::Flexible, |operation| shown(&operation.topic)),
    ("other", Layout::Flexible, |operation| shown(&operation.other_title)),
];

impl WhoseArgs {
    fn request<O>(self, operation: O) -> Request<O> {
        let request = Request::new(operation).with("project", self.project);
        request.with("all_projects", self.all_projects)
    }
}

pub async fn arrange(context: &CommandContext, args: ArrangeArgs) -> Result<()> {
    if args.dry_run {
        let answer = context.answer(args.whose.request(of::DistilArrangePlan)).await?;
        return context.output.facts(&[
            ("handbook", shown(&answer.handbook)),
            ("items", shown(&answer.items)),
            ("new", shown(&answer.new)),
            ("shown to the model", shown(&answer.shown)),
            ("tokens, about", shown(&answer.tokens)),
        ]);
    }
    let answer = context.answer(args.whose.request(of::DistilArrange)).await?;
    let owner = answer.handbook.raw();
    if answer.given_up {
        let said = format!("the model gave no usable answer about the handbook of {owner} before");
        return Err(Error::user(said).hint(ASK_AGAIN));
    }
    context
        .output
        .note(&format!("the handbook of {owner} is queued; `cerebro distil review` will show the proposal"));
    Ok(())
}

/// Says which arrangement was undone.
pub fn undone(context: &CommandContext, answer: &Received<Decided>) -> Result<()> {
    context.output.json(answer.raw())?;
    let detail = format!(": {}", answer.title.raw());
    context.output.outcome(answer.id.raw(), answer.outcome.raw(), &detail)
}

pub async fn handbook(context: &CommandContext, args: HandbookArgs) -> Result<()> {
    if args.save {
        let answer = context.answer(args.whose.request(of::DistilRender)).await?;
        if answer.memories.is_empty() {
            context.output.note(
                "nothing was saved: of a handbook of all projects, only what stands under a topic is saved",
            );
        }
        for memory in &answer.memories {
            let revision = format!(", revision {}", memory.revision);
            context.output.outcome(memory.id.raw(), &shown(&memory.topic_key), &revision)?;
        }
        return Ok(());
    }
    let answer = context.answer(args.whose.request(of::DistilHandbook)).await?;
    match answer.rendered.first() {
        Some(first) => context.output.text(first.content.raw())?,
        None => {
            context.output.note("no claim was accepted yet; `cerebro distil review` lists those that wait");
        }
    }
    Ok(())
}

/// What an operation does, and whether it still can.
fn action(operation: &Operation) -> String {
    let action = operation.action.raw();
    if operation.fits { action.to_owned() } else { format!("{action} (no longer applies)") }
}

/// An arrangement, with what each of its operations changes. `raw` is the answer as it was received.
pub fn show(context: &CommandContext, arrangement: &Arrangement, raw: &Value) -> Result<()> {
    context.output.json(raw)?;
    context.output.facts(&[
        ("arrangement", shown(&arrangement.id)),
        ("state", shown(&arrangement.state)),
        ("handbook", shown(&arrangement.handbook)),
        ("model", shown(&arrangement.model)),
        ("proposed", context.output.moment(&arrangement.at)),
        ("decided", context.output.moment(&arrangement.decided_at)),
    ])?;
    let operations = arrangement.operations.as_deref().unwrap_or_default();
    context.output.table(&Table::of(OPERATIONS, operations), "nothing changes")
}

pub async fn skills(context: &CommandContext, args: SkillsArgs) -> Result<()> {
    let run = Run::dry_if(args.dry_run);
    if let Some(names) = &args.remove {
        let setup = SetupContext::of(context)?;
        let path = file_of(&setup, names)?;
        let (changes, edited) = skill::remove(&setup.folder, Some(&path), run)?;
        return print(context, &setup, &changes, &edited, run);
    }
    let answer = context.ask(Request::new(of::DistilSkills).with("project", args.project)).await?;
    let drafts = &answer.skills;
    let draft = |name: &str| {
        let found = drafts.iter().find(|draft| draft.name == name);
        let missing = || Error::user(format!("there is no draft of a skill `{name}`"));
        found.ok_or_else(|| missing().hint("`cerebro distil skills` lists them"))
    };
    if let Some(names) = &args.install {
        let setup = SetupContext::of(context)?;
        let path = file_of(&setup, names)?;
        let draft = draft(names.first().map_or("", String::as_str))?;
        // The folder of the memory is there: the daemon has just answered from it.
        let changes = skill::install(&setup.folder, &path, draft.text.raw(), run)?;
        return print(context, &setup, &changes, &[], run);
    }
    if let Some(name) = &args.show {
        let draft = draft(name)?;
        context.output.json(&json!(draft))?;
        return context.output.text(draft.text.raw());
    }
    context.output.json(answer.raw())?;
    let table = Table::of(SKILLS, drafts);
    context.output.table(&table, "no procedure was seen in three sessions yet")?;
    if !drafts.is_empty() {
        let count = text::counted(drafts.len(), "draft");
        context.output.note(&format!("{count}; `--show NAME` shows one, `--install NAME AGENT` installs it"));
    }
    Ok(())
}

/// The file of a skill of an agent, by the two words of the command line.
fn file_of(setup: &SetupContext, names: &[String]) -> Result<PathBuf> {
    let [name, agent] = names else { return Err(Error::user("give the name of a draft and an agent")) };
    skill::path(agent, name, &setup.folders).ok_or_else(|| {
        let known = skill::AGENTS.join(", ");
        Error::user(format!("`{agent}` has no folder for a skill `{name}`"))
            .hint(format!("the agents are {known}"))
    })
}

fn print(
    context: &CommandContext,
    setup: &SetupContext,
    changes: &[Change],
    edited: &[PathBuf],
    run: Run,
) -> Result<()> {
    let notes: Vec<String> = edited
        .iter()
        .map(|path| format!("stays, since somebody changed it: {}", setup.short(path)))
        .collect();
    let nothing = if edited.is_empty() { "no skill of Cerebro was installed" } else { "nothing was removed" };
    show_changes(context, setup, changes, run, &notes, nothing)
}
