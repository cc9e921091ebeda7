//! `cerebro setup` and `cerebro unsetup`: configures agents for Cerebro, and undoes that. Beside them, all else that is
//! installed, shown or removed with the program.

mod all;
pub mod autostart;
mod check;
pub mod completions;
mod installation;
pub mod uninstall;
pub mod upgrade;
pub mod welcome;

use std::path::{Path, PathBuf};

use clap::ArgGroup;
use clap::builder::{PossibleValue, PossibleValuesParser};

use super::history;
use super::prelude::*;
use crate::config::Config;
use crate::home::{CONFIG_FILE, HomeError, user_home};
use crate::setup::machine::{COMPLETIONS_RECORD, SERVICE_RECORD};
use crate::setup::skill::SKILLS_RECORD;
use crate::setup::{
    self, AGENTS, Agent, Change, Invocation, Left, Part, Record, SetupError, Target, UserFolders, plugin,
    short, text_of,
};
use cerebro_core::domain::Run;

const PARTS: [Part; 5] = [Part::Server, Part::Permissions, Part::Hooks, Part::Journal, Part::Instructions];

/// Set up an agent: its configuration, hooks and instructions
///
/// Adds the server, hooks and ten lines of instructions to the agent's own files, for this user. Nothing else in these
/// files changes, a backup of each stays next to it, and `cerebro unsetup` removes what was added. Doing it twice is the
/// same as doing it once. Without an agent, the command lists all agents. `--all` shows the changes for every agent
/// found on this machine, asks once, and makes them.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("whom").args(["agent", "all"])))]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct SetupArgs {
    /// The agent
    #[arg(value_parser = names())]
    agent: Option<String>,
    /// Set up every agent found on this machine, after showing each change
    #[arg(long)]
    pub(super) all: bool,
    /// Do not ask before the changes of `--all`, nor about past sessions
    #[arg(long, requires = "whom", conflicts_with_all = ["dry_run", "check"])]
    pub(super) yes: bool,
    /// Show what would change, and change nothing
    #[arg(long, requires = "whom", conflicts_with = "check")]
    pub(super) dry_run: bool,
    /// Show what is set up, and whether the configured server answers; without an agent, for every agent found here
    #[arg(long, conflicts_with_all = ["all", "allow", "no_hooks", "no_instructions"])]
    check: bool,
    /// Let the agent read and save without asking you; deletions still ask, where the agent can tell them apart
    #[arg(long, requires = "whom")]
    allow: bool,
    /// Leave out the hooks, which give the agent its context and keep prompts and summaries
    #[arg(long, requires = "whom")]
    no_hooks: bool,
    /// Leave out the instructions
    #[arg(long, requires = "whom")]
    no_instructions: bool,
    /// Import agents' past sessions, or not [default: ask at a terminal]
    #[arg(long, value_name = "ANSWER", requires = "whom", conflicts_with_all = ["dry_run", "check"])]
    pub(super) history: Option<history::Answer>,
}

/// Remove Cerebro from an agent's files
///
/// A file that nobody has changed since the set-up gets its former text back, byte for byte. From any other file, exactly
/// what was added is removed. If this home did not set the agent up, only what is exactly as this home's `setup` writes it
/// is removed; the command names the rest. The memory stays.
#[derive(Debug, Args)]
pub struct UnsetupArgs {
    /// The agent
    #[arg(value_parser = names())]
    agent: String,
    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
}

fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(
        AGENTS.iter().map(|agent| PossibleValue::new(agent.name).aliases(agent.alias())),
    )
}

/// The folders and program for which this command line sets things up.
pub(super) struct SetupContext {
    /// The user's home folder.
    pub(super) user: PathBuf,
    /// The folder of the memory, where the records are.
    pub(super) folder: PathBuf,
    pub(super) folders: UserFolders,
    pub(super) invocation: Invocation,
    /// Whether the settings of the memory want the journal of work.
    keeps_journal: bool,
}

impl SetupContext {
    pub(super) fn of(context: &CommandContext) -> Result<Self> {
        let user = user_home().ok_or(HomeError::Unknown)?;
        let program = std::env::current_exe()
            .map_err(|error| Error::internal(format!("cannot tell where this program is: {error}")))?;
        let named = context.home.as_deref().map(absolute).transpose()?;
        let folder = named.clone().unwrap_or_else(|| user.join(".cerebro"));
        let invocation = Invocation { program, former: None, home: named };
        // Unreadable settings are reported by the commands that need them.
        let keeps_journal = Config::read(&folder.join(CONFIG_FILE)).unwrap_or_default().work.enabled;
        Ok(Self { folders: UserFolders::of(user.clone()), user, folder, invocation, keeps_journal })
    }

    /// A path as people read it.
    pub(super) fn short(&self, path: &Path) -> String {
        short(path, Some(&self.user))
    }
}

/// One agent's files, for this command line.
pub(super) struct AgentFiles {
    pub(super) agent: &'static Agent,
    setup: SetupContext,
    targets: Vec<Target>,
    pub(super) record: Option<Record>,
    /// How the host removes Cerebro's package, if it has one: the package does all that set-up would do.
    pub(super) package: Option<&'static str>,
}

/// What set-up would do to an agent's files.
pub(super) struct Plan {
    pub(super) changes: Vec<Change>,
    /// What the user must know or do.
    pub(super) notes: Vec<String>,
    /// The parts that the files will have.
    parts: Vec<String>,
}

impl AgentFiles {
    pub(super) fn of(context: &CommandContext, agent: &'static Agent) -> Result<Self> {
        let (agent_files, fault) = Self::and_fault(context, agent)?;
        fault.map_or(Ok(agent_files), |fault| Err(fault.into()))
    }

    /// The agent's files, and why their record cannot be read; they are without one then.
    fn and_fault(context: &CommandContext, agent: &'static Agent) -> Result<(Self, Option<SetupError>)> {
        let mut setup = SetupContext::of(context)?;
        let (record, fault) = match Record::read(&setup.folder, agent.name) {
            Ok(record) => (record, None),
            Err(fault) => (None, Some(fault)),
        };
        setup.invocation.former = record.as_ref().and_then(|record| record.program.clone());
        let targets = agent.targets(&setup.folders, &setup.invocation);
        let package = plugin::removal(agent.name, &setup.folders);
        Ok((Self { agent, setup, targets, record, package }, fault))
    }

    /// What to do to set the agent up.
    pub(super) fn plan(&self, args: &SetupArgs) -> Result<Plan> {
        if let Some(removal) = self.package {
            return Ok(self.plan_beside_package(removal));
        }
        let stays_allowed = !args.allow && self.was_put(Part::Permissions);
        let wanted = |part| match part {
            Part::Server => true,
            Part::Permissions => args.allow || stays_allowed,
            Part::Hooks => !args.no_hooks,
            Part::Journal => !args.no_hooks && self.setup.keeps_journal,
            Part::Instructions => !args.no_instructions,
            Part::Machine | Part::Former => false,
        };
        let changes = setup::plan_setup(&self.targets, wanted, self.record.as_ref())?;
        let notes = self.agent.notes.iter().filter(|(part, _)| wanted(*part));
        let mut notes: Vec<String> = notes.map(|(_, note)| (*note).to_owned()).collect();
        if stays_allowed {
            let name = self.agent.name;
            notes.push(format!(
                "what an earlier --allow permits stays permitted; `cerebro unsetup {name}` ends that"
            ));
        }
        let put = PARTS.iter().filter(|part| wanted(**part) && self.has_file_for(**part));
        Ok(Plan { changes, notes, parts: put.map(|part| part.as_str().to_owned()).collect() })
    }

    /// The plan if the host has Cerebro's package: there is nothing to do.
    fn plan_beside_package(&self, removal: &str) -> Plan {
        let Agent { title, name, .. } = self.agent;
        let mut notes = vec![format!(
            "{title} already has Cerebro's package, which does all of this; `{removal}` removes it"
        )];
        if self.record.as_ref().is_some_and(|record| !record.parts.is_empty()) {
            notes.push(format!(
                "it was also set up before; run `cerebro unsetup {name}`, so that nothing is done twice"
            ));
        }
        Plan { changes: Vec::new(), notes, parts: Vec::new() }
    }

    /// Carries out a plan, and records it.
    pub(super) fn apply(&self, context: &CommandContext, plan: &mut Plan) -> Result<()> {
        if self.package.is_some() {
            return Ok(());
        }
        let parts = std::mem::take(&mut plan.parts);
        let program = Some(self.setup.invocation.program.clone());
        let record = Record { parts, program, ..self.record.clone().unwrap_or_default() };
        setup::apply_setup(&plan.changes, record, context.home()?.root(), self.agent.name)?;
        if plan.changes.iter().any(Change::is_any) {
            plan.notes.push(format!("{} reads the changes when it starts next", self.agent.title));
        }
        Ok(())
    }

    /// Removes Cerebro from the agent's files; a dry run only says what it would do. Returns the changes, and what must be
    /// known beside them.
    pub(super) fn remove(&self, run: Run) -> Result<(Vec<Change>, Vec<String>)> {
        let mut notes = self.left_alone()?;
        let changes = setup::plan_unsetup(&self.targets, self.record.as_ref())?;
        notes.extend(self.taken_along(&changes));
        if run == Run::Real {
            let record = self.record.clone().unwrap_or_default();
            let kept = setup::apply_unsetup(&changes, record, &self.setup.folder, self.agent.name)?;
            remove_empty_folders(&self.setup.folder)?;
            notes.extend(kept.iter().map(|path| format!("the backup stays: {}", self.setup.short(path))));
        }
        Ok((changes.into_iter().filter(Change::is_any).collect(), notes))
    }

    /// What a removal leaves in the agent's files, for people.
    fn left_alone(&self) -> Result<Vec<String>> {
        let left = setup::left_alone(&self.targets, self.record.as_ref())?;
        let words =
            |left: &Left| format!("left alone, since this home did not set it up: {}", self.place(left));
        let mut words: Vec<String> = left.iter().map(words).collect();
        if !words.is_empty() {
            words.push(format!(
                "if you want it removed, take it out by hand; if another home set it up, `cerebro --home DIR unsetup {}` \
                 takes it out",
                self.agent.name
            ));
        }
        Ok(words)
    }

    /// What a planned removal takes out although `setup` did not write it, for people.
    fn taken_along(&self, changes: &[Change]) -> Vec<String> {
        let taken = setup::taken_along(&self.targets, changes);
        let words = |taken: &Left| {
            format!("goes with the entry, though `setup` did not write it: {}", self.place(taken))
        };
        taken.iter().map(words).collect()
    }

    fn place(&self, left: &Left) -> String {
        let keys = left.keys.iter().map(|keys| format!("`{keys}`")).collect::<Vec<_>>().join(", ");
        let what = if keys.is_empty() { "Cerebro's text" } else { keys.as_str() };
        format!("{what} in {}", self.setup.short(&left.path))
    }

    pub(super) fn named(context: &CommandContext, name: &str) -> Result<Self> {
        let agent = Agent::named(name).ok_or_else(|| Error::usage(format!("no agent `{name}`")))?;
        Self::of(context, agent)
    }

    /// Which parts are in the files as they should be, and which are not; parts that the agent has no place
    /// for are in neither.
    fn states(&self) -> Result<Vec<State<'_>>> {
        let mut states = Vec::new();
        for target in &self.targets {
            let text = text_of(target)?.unwrap_or_default();
            for part in PARTS {
                if let Some(held) = target.holds(&text, part) {
                    states.push(State { part, target, held });
                }
            }
        }
        Ok(states)
    }

    /// Whether the agent's file has the server's entry that this program writes for this home.
    pub(super) fn is_set_up(&self) -> Result<bool> {
        Ok(self.package.is_some() || setup::is_set_up(&self.targets)?)
    }

    /// Whether one of the agent's files takes a part.
    fn has_file_for(&self, part: Part) -> bool {
        self.targets.iter().any(|target| !target.pieces_of(|each| each == part).is_empty())
    }

    /// What keeps a file from being read as what it should be.
    fn fault(&self, target: &Target) -> Result<Option<String>> {
        let fault = target.error_in(&text_of(target)?.unwrap_or_default());
        Ok(fault.map(|fault| format!("{} is malformed: {fault}", self.setup.short(&target.path))))
    }

    /// Whether a part was put in last time.
    fn was_put(&self, part: Part) -> bool {
        self.record.as_ref().is_some_and(|record| record.has(part))
    }

    /// What becomes of the files and what must be known, for scripts.
    pub(super) fn answer(&self, changes: &[Change], run: Run, notes: &[String]) -> Value {
        json!({
            "agent": self.agent.name, "dry_run": run.is_dry(), "files": files(changes, run), "notes": notes,
        })
    }

    fn show(&self, context: &CommandContext, changes: &[Change], run: Run, notes: &[String]) -> Result<()> {
        context.output.json(&self.answer(changes, run, notes))?;
        print_changes(context, &self.setup, changes, run, "nothing was set up")?;
        context.output.notes(notes);
        Ok(())
    }
}

/// Whether a file has a part.
struct State<'a> {
    part: Part,
    target: &'a Target,
    held: bool,
}

const FILES: &[(&str, Layout)] = &[("file", Layout::Flexible), ("outcome", Layout::Fixed)];

/// The changes that create, keep or remove a file.
fn visible_changes<'a>(changes: impl IntoIterator<Item = &'a Change>) -> impl Iterator<Item = &'a Change> {
    changes.into_iter().filter(|change| change.is_any() || change.after.is_some())
}

/// Shows what became of files, or in a dry run what would, and what must be known beside it.
pub(super) fn show_changes(
    context: &CommandContext,
    setup: &SetupContext,
    changes: &[Change],
    run: Run,
    notes: &[String],
    nothing: &str,
) -> Result<()> {
    context.output.json(&json!({ "dry_run": run.is_dry(), "files": files(changes, run), "notes": notes }))?;
    print_changes(context, setup, changes, run, nothing)?;
    context.output.notes(notes);
    Ok(())
}

/// Shows people what became of files, or in a dry run what would.
pub(super) fn print_changes(
    context: &CommandContext,
    setup: &SetupContext,
    changes: &[Change],
    run: Run,
    nothing: &str,
) -> Result<()> {
    match run {
        Run::Real => print_files(context, setup, changes, nothing),
        Run::Dry => print_differences(context, changes, run),
    }
}

/// Shows people each change as a difference. A dry run says if there is none.
pub(super) fn print_differences<'a>(
    context: &CommandContext,
    changes: impl IntoIterator<Item = &'a Change>,
    run: Run,
) -> Result<()> {
    let differences: String = changes.into_iter().map(Change::difference).collect();
    if !differences.is_empty() {
        return context.output.text(&differences);
    }
    if run.is_dry() {
        context.output.note("no file would change");
    }
    Ok(())
}

/// Shows people the outcome for each file, or says that there is none.
pub(super) fn print_files<'a>(
    context: &CommandContext,
    setup: &SetupContext,
    changes: impl IntoIterator<Item = &'a Change>,
    nothing: &str,
) -> Result<()> {
    let mut table = Table::new(FILES);
    for change in visible_changes(changes) {
        table.add(vec![setup.short(&change.path), change.outcome().to_owned()]);
    }
    context.output.table(&table, nothing)
}

/// What becomes of files, for scripts.
pub(super) fn files(changes: &[Change], run: Run) -> Vec<Value> {
    let file = |change: &Change| {
        let mut file = json!({ "path": change.path.display().to_string(), "outcome": change.outcome() });
        if run.is_dry() {
            file["difference"] = json!(change.difference());
        }
        file
    };
    visible_changes(changes).map(file).collect()
}

/// Removes folders that were created for files that are gone. Their records could not remove them while another of
/// Cerebro's files was in them.
pub(super) fn remove_empty_folders(folder: &Path) -> std::result::Result<(), SetupError> {
    let agents = AGENTS.iter().map(|agent| agent.name);
    for name in agents.chain([SERVICE_RECORD, COMPLETIONS_RECORD, SKILLS_RECORD]) {
        // A damaged record is reported where its own files are removed.
        if let Ok(Some(mut record)) = Record::read(folder, name)
            && !record.folders.is_empty()
        {
            record.remove_empty_folders([]);
            record.write(folder, name)?;
        }
    }
    Ok(())
}

/// The absolute path of a file or folder, without links if it exists.
pub(super) fn absolute(path: &Path) -> Result<PathBuf> {
    let made = std::path::absolute(path).map_err(|error| Error::file("use", path, &error))?;
    Ok(made.canonicalize().unwrap_or(made))
}

pub async fn setup(context: &CommandContext, args: SetupArgs) -> Result<()> {
    if args.all {
        return all::run(context, &args).await;
    }
    let Some(name) = &args.agent else {
        return if args.check { check::all(context).await } else { list(context) };
    };
    let agent_files = AgentFiles::named(context, name)?;
    if args.check {
        return check::one(context, &agent_files).await;
    }
    let mut plan = agent_files.plan(&args)?;
    if !args.dry_run {
        agent_files.apply(context, &mut plan)?;
    }
    agent_files.show(context, &plan.changes, Run::dry_if(args.dry_run), &plan.notes)?;
    if !args.dry_run {
        history::offer(context, &agent_files.setup, args.history, !args.yes).await?;
    }
    Ok(())
}

pub fn unsetup(context: &CommandContext, args: &UnsetupArgs) -> Result<()> {
    let agent_files = AgentFiles::named(context, &args.agent)?;
    let run = Run::dry_if(args.dry_run);
    let (changes, notes) = agent_files.remove(run)?;
    agent_files.show(context, &changes, run, &notes)
}

const AGENT_COLUMNS: &[(&str, Layout)] = &[
    ("agent", Layout::Fixed),
    ("found here", Layout::Fixed),
    ("set up", Layout::Flexible),
    ("configuration", Layout::Flexible),
];

/// A line of the list of agents.
fn agent_row(name: &str, is_installed: bool, parts: &[&str], configuration: String) -> Vec<String> {
    let found = if is_installed { "yes" } else { "no" };
    let put_in = if parts.is_empty() { "nothing".to_owned() } else { parts.join(", ") };
    vec![name.to_owned(), found.to_owned(), put_in, configuration]
}

fn list(context: &CommandContext) -> Result<()> {
    let mut table = Table::new(AGENT_COLUMNS);
    let (mut rows, mut is_faulty, mut is_missing, mut is_any) = (Vec::new(), false, false, false);
    for agent in &AGENTS {
        let (agent_files, fault) = AgentFiles::and_fault(context, agent)?;
        let is_installed = agent.is_installed(&agent_files.setup.folders);
        // `setup AGENT` reports a file that cannot be read; here it counts as not set up.
        let states = agent_files.states().unwrap_or_default();
        let parts: Vec<&str> =
            states.iter().filter(|state| state.held).map(|state| state.part.as_str()).collect();
        let path = agent_files.targets.first().map(|target| target.path.clone()).unwrap_or_default();
        let mut row = json!({
            "agent": agent.name, "installed": is_installed, "set_up": parts, "configuration": path,
        });
        if let Some(fault) = fault {
            row["problem"] = json!(fault.to_string());
            context.output.warn(&fault.to_string());
            is_faulty = true;
        }
        rows.push(row);
        is_missing |= is_installed && parts.is_empty();
        is_any |= !parts.is_empty();
        table.add(agent_row(agent.name, is_installed, &parts, agent_files.setup.short(&path)));
    }
    context.output.json(&json!({ "agents": rows }))?;
    context.output.table(&table, "no agents")?;
    context.output.note(if is_missing {
        "next: `cerebro setup --all` sets up those found here, after showing each change; `cerebro setup AGENT` sets one up"
    } else if is_any {
        "`cerebro setup AGENT` sets another one up, `--check` says whether it works"
    } else {
        "none was found here; `cerebro setup AGENT` sets one up all the same"
    });
    done_if(!is_faulty)
}

#[cfg(test)]
mod tests {
    use super::super::list::tests::fits_at_three_widths;
    use super::*;

    #[test]
    fn agents_are_readable_at_three_widths() {
        let mut table = Table::new(AGENT_COLUMNS);
        let parts = PARTS.map(Part::as_str);
        for (name, is_installed, parts, path) in [
            ("claude-code", true, &parts[..], "~/.claude.json"),
            ("codex", true, &[], "~/.codex/config.toml"),
            ("vscode", false, &[], "~/.config/Code/User/mcp.json"),
        ] {
            table.add(agent_row(name, is_installed, parts, path.to_owned()));
        }
        fits_at_three_widths(&table);
    }

    #[test]
    fn an_agent_is_known_by_its_program_too() {
        for (typed, name) in [("claude", "claude-code"), ("gemini", "gemini-cli"), ("codex", "codex")] {
            assert_eq!(Agent::named(typed).map(|agent| agent.name), Some(name), "{typed}");
            let parsed = clap::Command::new("x").arg(clap::Arg::new("agent").value_parser(names()));
            assert!(parsed.try_get_matches_from(["x", typed]).is_ok(), "{typed}");
        }
        assert!(Agent::named("emacs").is_none());
    }
}
