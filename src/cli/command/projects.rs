//! `cerebro projects`: lists, merges, renames and deletes projects.

use super::list::{print, project_name};
use super::prelude::*;
use super::{change, selection, some_of};
use crate::answer::projects::Project;
use cerebro_core::domain;

/// List, merge, rename or delete projects
#[derive(Debug, Args)]
pub struct ProjectsArgs {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Move everything of one project to another; this cannot be undone
    Merge(MergeArgs),
    /// Give a project another name, with everything that is in it
    Rename(RenameArgs),
    /// Delete the memories of a project; its sessions and prompts stay
    Delete(DeleteArgs),
}

#[derive(Debug, Args)]
struct RenameArgs {
    /// The project
    from: String,
    /// The new name, which no project has yet; not `personal` or `sessions`
    into: String,
}

#[derive(Debug, Args)]
struct DeleteArgs {
    /// The project
    name: String,
    /// Destroy the texts and all revisions for good, also those of deleted memories
    #[arg(long)]
    hard: bool,
    /// Do not ask first; needed without a terminal
    #[arg(long)]
    yes: bool,
}

#[derive(Debug, Args)]
struct MergeArgs {
    /// The project to merge; nothing belongs to it afterwards
    from: String,
    /// The project that gets its memories, sessions and prompts
    into: String,
    /// Do not ask first; needed without a terminal
    #[arg(long)]
    yes: bool,
}

const PROJECTS: &[Column<Project>] = &[
    ("project", Layout::Flexible, |one| project_name(&one.project)),
    ("memories", Layout::Count, |one| shown(&one.memories)),
    ("sessions", Layout::Count, |one| shown(&one.sessions)),
    ("prompts", Layout::Count, |one| shown(&one.prompts)),
    ("past sessions", Layout::Count, |one| shown(&one.past_sessions)),
    ("last", Layout::Ago, |one| shown(&one.last_at)),
];

pub async fn run(context: &CommandContext, args: ProjectsArgs) -> Result<()> {
    match args.action {
        None => list(context).await,
        Some(Action::Merge(args)) => merge(context, args).await,
        Some(Action::Rename(args)) => rename(context, args).await,
        Some(Action::Delete(args)) => delete(context, args).await,
    }
}

async fn list(context: &CommandContext) -> Result<()> {
    let answer = context.ask(Request::new(of::Projects)).await?;
    let nothing = "no projects yet; the first memory that is saved in a folder makes its project";
    print(context, answer.raw(), &Table::of(PROJECTS, &answer.projects), nothing)
}

async fn merge(context: &CommandContext, args: MergeArgs) -> Result<()> {
    let MergeArgs { from, into, yes } = args;
    let question = format!("Make everything of project {from} belong to {into}? This cannot be undone.");
    context.output.agree(yes, &question, "nothing was moved")?;
    let daemon = Daemon::reach_patiently(&context.home()?).await?;
    move_all(context, &daemon, &from, &into).await
}

/// Renames a project. The new name must be unused: two projects under one name could not be separated again.
async fn rename(context: &CommandContext, args: RenameArgs) -> Result<()> {
    let [from, into] = [args.from, args.into].map(|name| domain::Project::stored(&name));
    if domain::Project::RESERVED.contains(&into.as_str()) {
        return Err(Error::user(format!("`{into}`: {}", domain::Project::RESERVED_WHY)));
    }
    if from == into {
        return Err(Error::user(format!("the project has the name {into} already")));
    }
    let daemon = Daemon::reach_patiently(&context.home()?).await?;
    let answer = daemon.read(Request::new(of::Projects)).await?;
    let is_known = |name: &str| answer.projects.iter().any(|known| known.project == name);
    if is_known(&into) {
        return Err(Error::user(format!("there is already a project {into}"))
            .hint(format!("`cerebro projects merge {from} {into}` merges them")));
    }
    if !is_known(&from) {
        let suggestions = suggest::for_unknown(&daemon, Some(&from), None).await?;
        return Err(Error::user(suggestions.concat()));
    }
    move_all(context, &daemon, &from, &into).await
}

async fn delete(context: &CommandContext, args: DeleteArgs) -> Result<()> {
    let home = context.home()?;
    let daemon = Daemon::reach(&home).await?;
    let request = Request::new(of::List).with("project", args.name.as_str());
    let mut chosen = selection::all(&daemon, &request).await?;
    if args.hard {
        let deleted = selection::all(&daemon, &request.with("deleted", true)).await?;
        chosen.is_cut |= deleted.is_cut;
        chosen.memories.extend(deleted.memories);
    }
    if chosen.memories.is_empty() {
        let suggestions = suggest::for_unknown(&daemon, Some(&args.name), None).await?;
        let said = if suggestions.is_empty() {
            format!("project {} has no memories", args.name)
        } else {
            suggestions.concat()
        };
        return Err(Error::user(said));
    }
    change::agree(context, args.yes, &chosen, args.hard)?;
    change::delete_each(context, &home, &daemon, &chosen.ids(), args.hard).await
}

async fn move_all(context: &CommandContext, daemon: &Daemon, from: &str, into: &str) -> Result<()> {
    let request = Request::new(of::MergeProjects).with("from", from).with("into", into);
    let merged = daemon.read(request).await?;
    context.output.json(merged.raw())?;
    context.output.facts(&[
        ("memories", shown(&merged.memories)),
        ("sessions", shown(&merged.sessions)),
        ("prompts", shown(&merged.prompts)),
    ])?;
    for kept in &merged.kept {
        let (id, holder) = (kept.id.raw(), kept.topic_held_by.raw());
        context.output.note(&format!("{id} lost its topic key, which {holder} has"));
    }
    let again: Vec<&str> = merged.said_again.iter().map(Text::raw).collect();
    if !again.is_empty() {
        context.output.note(&format!(
            "{} say what the other project corrected or deleted, and stay until you decide: {}",
            text::counted(again.len(), "memory"),
            some_of(&again)
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::list::tests::fits_at_three_widths;
    use super::*;
    use crate::answer::Text;

    #[test]
    fn projects_are_readable_at_three_widths() {
        let project = |name: &str, memories: u64, last: Option<&str>| Project {
            project: name.into(),
            memories,
            sessions: 12,
            prompts: 0,
            past_sessions: (memories > 5).then_some(1_200),
            last_at: last.map(Text::from),
        };
        let projects = [
            project("acme/payments", 20_000, Some("2026-11-22T09:15:00Z")),
            project(
                "a-group/of-many/nested-parts/and-a-long-repository-name",
                7,
                Some("2026-01-02T09:15:00Z"),
            ),
            project("", 1, None),
        ];
        fits_at_three_widths(&Table::of(PROJECTS, &projects));
    }
}
