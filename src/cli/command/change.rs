//! Commands that change the state of memories: `delete`, `restore`, `pin`, `unpin`, `archive` and `unarchive`.

use std::path::PathBuf;

use super::prelude::*;
use super::remains::Remains;
use super::selection::{self, Chosen, Conditions};
use super::{backup, save, some_of};
use crate::answer::memories::{Changed, Deleted};
use crate::edits;
use crate::home::Home;

/// How many memories are shown before they are deleted.
const PREVIEW: usize = 10;

#[derive(Debug, Args)]
pub struct ManyArgs {
    /// The ids of memories, or their first characters
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    /// What an unknown id is answered with, in place of where ids are shown.
    #[arg(skip)]
    hint: Option<&'static str>,
}

/// What `restore` takes.
const RESTORED: &str = "`restore` takes the ids of deleted memories, which `cerebro list --deleted` shows, or the file of \
    one backup: a path, or a name that `cerebro backup list` shows";

#[derive(Debug, Args)]
pub struct RestoreArgs {
    /// The ids of memories, or their first characters; or the file of a backup
    #[arg(required = true, value_name = "ID|FILE")]
    what: Vec<String>,
    /// With a backup: replace the present memory, which stays next to the new one
    #[arg(long)]
    replace: bool,
}

impl RestoreArgs {
    /// The backup, if one is named.
    pub fn backup(&self) -> Option<backup::RestoreFileArgs> {
        let [what] = self.what.as_slice() else { return None };
        let is_meant = self.replace || backup::is_file(what);
        is_meant.then(|| backup::RestoreFileArgs { file: PathBuf::from(what), replace: self.replace })
    }

    /// The memories, if no backup is named.
    pub fn many(self) -> ManyArgs {
        ManyArgs { ids: self.what, hint: Some(RESTORED) }
    }
}

/// Delete memories: restorable, or for good
///
/// Name memories by their ids, or give conditions: the command then shows which memories meet them, and asks. `cerebro
/// restore` brings deleted memories back. With `--hard` their texts leave the database, the index and unsaved edits for
/// good; the command names files that may still contain them, such as backups.
#[derive(Debug, Args)]
#[command(
    override_usage = "cerebro delete [OPTIONS] <ID>...\n       cerebro delete [OPTIONS] <CONDITION>..."
)]
#[command(group = clap::ArgGroup::new("which").required(true).multiple(true)
    .args(["ids", "project", "all_projects", "kind", "tags", "scope", "since", "until", "session", "agent"]))]
pub struct DeleteArgs {
    /// The ids of memories, or their first characters
    #[arg(value_name = "ID", conflicts_with_all = ["project", "all_projects", "kind", "tags", "scope", "since", "until", "session", "agent"])]
    ids: Vec<String>,
    /// Delete those of this project that meet the conditions [default: that of the working folder]
    #[arg(long, value_name = "NAME", conflicts_with = "all_projects")]
    project: Option<String>,
    /// Delete those of all projects that meet the conditions
    #[arg(long)]
    all_projects: bool,
    #[command(flatten)]
    conditions: Conditions,
    /// Destroy their texts and all revisions for good
    #[arg(long)]
    hard: bool,
    /// Do not ask first; needed without a terminal
    #[arg(long)]
    yes: bool,
}

/// Applies the operation to each memory.
pub async fn run<O>(context: &CommandContext, args: ManyArgs, operation: O) -> Result<()>
where
    O: Ask<Answer = Changed> + Copy,
{
    let daemon = Daemon::reach(&context.home()?).await?;
    let ids = whole_ids(&daemon, &args.ids, args.hint).await?;
    let (changed, fault) = each(context, &daemon, &ids, || Request::new(operation)).await?;
    print_json(context, ids.len(), changed.iter().map(Received::raw))?;
    for Changed { id, outcome, title, noted } in changed.iter().map(|one| &**one) {
        let detail = if title.is_empty() { String::new() } else { format!(" {}", title.raw()) };
        context.output.outcome(id.raw(), outcome.raw(), &detail)?;
        save::print_noted(context, noted.as_ref());
    }
    fault.map_or(Ok(()), Err)
}

/// Asks for each memory until one fails. Returns the answers before that, and the failure. It fails itself only if nothing
/// was done before.
async fn each<O: Ask>(
    context: &CommandContext,
    daemon: &Daemon,
    ids: &[String],
    request: impl Fn() -> Request<O>,
) -> Result<(Vec<Received<O::Answer>>, Option<Error>)> {
    let total = (ids.len() > 1).then_some(ids.len() as u64);
    let bar = context.output.progress(total, "{bar:30} {human_pos} of {human_len} memories, {elapsed}");
    let (mut answers, mut failed) = (Vec::new(), None);
    for id in ids {
        match daemon.read(request().with("id", id.as_str())).await {
            Ok(answer) => answers.push(answer),
            Err(fault) => {
                failed = Some(fault);
                break;
            }
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    match failed {
        Some(fault) if answers.is_empty() => Err(fault),
        failed => Ok((answers, failed)),
    }
}

/// Resolves all ids, without duplicates, before the first memory is changed.
async fn whole_ids(daemon: &Daemon, given: &[String], hint: Option<&str>) -> Result<Vec<String>> {
    let mut ids: Vec<String> = Vec::new();
    for given in given {
        let id = match hint {
            Some(hint) => daemon.memory_id_or(given, hint).await?,
            None => daemon.memory_id(given).await?,
        };
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    Ok(ids)
}

pub async fn delete(context: &CommandContext, args: DeleteArgs) -> Result<()> {
    if args.all_projects && args.conditions.is_empty() {
        return Err(Error::usage("`--all-projects` alone would delete every memory")
            .hint("add a condition, or use `cerebro uninstall --memory`, which destroys the whole memory"));
    }
    let home = context.home()?;
    let daemon = Daemon::reach(&home).await?;
    let ids = if args.ids.is_empty() {
        let all = args.all_projects || (args.project.is_none() && args.conditions.is_of_any_project());
        let request =
            args.conditions.request().with("project", args.project.as_deref()).with("all_projects", all);
        let chosen = selection::all(&daemon, &request).await?;
        if chosen.memories.is_empty() {
            let (project, kind) = (args.project.as_deref(), args.conditions.kind.as_deref());
            let suggestions = suggest::for_unknown(&daemon, project, kind).await?;
            return nothing_chosen(context, &suggestions);
        }
        agree(context, args.yes, &chosen, args.hard)?;
        chosen.ids()
    } else {
        let ids = whole_ids(&daemon, &args.ids, None).await?;
        let which = if let [id] = ids.as_slice() { format!("memory {id}") } else { counted(&ids) };
        let question = format!("Remove {which} with all revisions for good?");
        context.output.agree(args.yes || !args.hard, &question, "nothing was removed")?;
        ids
    };
    delete_each(context, &home, &daemon, &ids, args.hard).await
}

fn nothing_chosen(context: &CommandContext, suggestions: &[String]) -> Result<()> {
    context.output.json(&json!({ "memories": [] }))?;
    context.output.note("no memory meets these conditions");
    context.output.notes(suggestions);
    Ok(())
}

fn counted(ids: &[String]) -> String {
    text::counted(ids.len(), "memory")
}

/// Shows what would be deleted and asks for a yes, unless `yes` was given.
pub fn agree(context: &CommandContext, yes: bool, chosen: &Chosen, hard: bool) -> Result<()> {
    if yes {
        return Ok(());
    }
    let count = chosen.memories.len();
    for memory in chosen.memories.iter().take(PREVIEW) {
        context.output.note(&format!("  {}  {}  {}", memory.id.raw(), memory.kind.raw(), memory.title.raw()));
    }
    if count > PREVIEW {
        context.output.note(&format!("  … and {} more", count - PREVIEW));
    }
    if chosen.is_cut {
        context.output.note("more than these meet the conditions; repeat the command for the rest");
    }
    let what = text::counted(count, "memory");
    let question =
        if hard { format!("Remove {what} with all revisions for good?") } else { format!("Delete {what}?") };
    context.output.agree(false, &question, "nothing was deleted")
}

/// Deletes each memory, and reports copies that remain elsewhere.
pub async fn delete_each(
    context: &CommandContext,
    home: &Home,
    daemon: &Daemon,
    ids: &[String],
    hard: bool,
) -> Result<()> {
    let edits = if hard { edits_of(home, ids) } else { Vec::new() };
    let (deleted, fault) = each(context, daemon, ids, || Request::new(of::Delete).with("hard", hard)).await?;
    if hard {
        // A purge of memories does not remove the exchanges of past sessions.
        let past = daemon.read(Request::new(of::HistoryStatus)).await;
        let exchanges = past.map_or(0, |status| status.exchanges);
        report_purged(context, home, ids.len(), &deleted, edits, exchanges)?;
    } else {
        report_deleted(context, ids.len(), &deleted)?;
    }
    fault.map_or(Ok(()), Err)
}

/// Says what was deleted, and which archived memories still say the same.
fn report_deleted(context: &CommandContext, asked: usize, deleted: &[Received<Deleted>]) -> Result<()> {
    print_deleted(context, asked, deleted.iter().map(|one| one.raw().clone()).collect(), deleted)?;
    for id in others(deleted, |one| &one.copies) {
        context
            .output
            .note(&format!("{id} still says so, in the archive; `cerebro delete {id}` deletes it too"));
    }
    Ok(())
}

/// Says what was destroyed with its edits, and what may still contain the texts.
fn report_purged(
    context: &CommandContext,
    home: &Home,
    asked: usize,
    purged: &[Received<Deleted>],
    edits: Vec<PathBuf>,
    exchanges: u64,
) -> Result<()> {
    let (left, removed): (Vec<PathBuf>, Vec<PathBuf>) = edits.into_iter().partition(|path| path.exists());
    let remains = Remains { edits: left, ..Remains::of(home) };
    let removed_json: Value = removed.iter().map(|path| path.display().to_string()).collect();
    let result = |one: &Received<Deleted>| {
        let mut result = one.raw().clone();
        result["removed"] = removed_json.clone();
        result["remains"] = remains.json();
        result["remains"]["exchanges"] = exchanges.into();
        result
    };
    print_deleted(context, asked, purged.iter().map(result).collect(), purged)?;
    for path in removed {
        context.output.note(&format!("removed {}, the text of an edit that was not saved", path.display()));
    }
    for id in others(purged, |one| &one.merged) {
        context.output.note(&format!(
            "{id} was merged into it and still says so, in the archive; `cerebro delete {id} --hard` destroys it too"
        ));
    }
    let prompts: Vec<&str> = purged.iter().flat_map(|one| &one.prompts).map(Text::raw).collect();
    if !prompts.is_empty() {
        context.output.note(&format!(
            "{} of past sessions still {} it: {}",
            text::counted(prompts.len(), "prompt"),
            if prompts.len() == 1 { "says" } else { "say" },
            some_of(&prompts)
        ));
    }
    remains.print(context);
    if exchanges > 0 {
        context.output.note(
            "past sessions may say it too: `cerebro history search` finds it there, `cerebro history forget --text` destroys it",
        );
    }
    Ok(())
}

/// The memories that answers name, without those that were deleted by the same command.
fn others<'a>(
    deleted: &'a [Received<Deleted>],
    named: impl Fn(&'a Deleted) -> &'a [Text] + 'a,
) -> impl Iterator<Item = &'a str> {
    let ids = deleted.iter().flat_map(move |one| named(one)).map(Text::raw);
    ids.filter(move |id| deleted.iter().all(|deleted| deleted.id.raw() != *id))
}

/// The unsaved edits of these memories; none if the folder cannot be read.
fn edits_of(home: &Home, ids: &[String]) -> Vec<PathBuf> {
    let files = edits::all(home.root()).unwrap_or_default().into_iter();
    files.filter(|edit| ids.iter().any(|id| edit.memory.as_str() == id)).map(|edit| edit.path).collect()
}

/// Prints the results in JSON if that was asked for: as an object if one memory was asked for, otherwise as a list.
fn print_json<'a>(
    context: &CommandContext,
    asked: usize,
    results: impl Iterator<Item = &'a Value>,
) -> Result<()> {
    let results: Vec<&Value> = results.collect();
    let answer = match results.as_slice() {
        [one] if asked == 1 => json!(one),
        _ => json!({ "memories": results }),
    };
    context.output.json(&answer).map(drop)
}

/// Prints what was deleted; in JSON, the results.
fn print_deleted(
    context: &CommandContext,
    asked: usize,
    results: Vec<Value>,
    deleted: &[Received<Deleted>],
) -> Result<()> {
    print_json(context, asked, results.iter())?;
    deleted.iter().try_for_each(|one| context.output.outcome(one.id.raw(), one.outcome.raw(), ""))
}
