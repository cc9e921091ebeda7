//! `cerebro setup` and `cerebro unsetup`: telling agents of Cerebro, and taking it back.

use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::PossibleValuesParser;
use serde_json::{Value, json};

use super::{Desk, Outcome};
use crate::cli::error::{Error, Result};
use crate::cli::table::{Layout, Table};
use crate::home::{HomeError, user_home};
use crate::mcp::TOOLS;
use crate::setup::{
    self, AGENTS, Agent, Change, Invocation, Part, Places, Record, Target, command_in, short, text_of,
    tools_of,
};

const PARTS: [Part; 4] = [Part::Server, Part::Permissions, Part::Hooks, Part::Instructions];

/// Set up an agent for Cerebro: its configuration, hooks and instructions
///
/// Puts the server, hooks and a text on when to save into the agent's own files, for this user. Nothing
/// else in them changes, a backup stays beside each, and `cerebro unsetup` takes it out again. Doing it
/// twice is doing it once; what `--allow` let through stays let through. Without an agent, all are listed.
#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct SetupArgs {
    /// The agent; without one, all are listed
    #[arg(value_parser = names())]
    agent: Option<String>,
    /// Show what would change, and change nothing
    #[arg(long, requires = "agent", conflicts_with = "check")]
    dry_run: bool,
    /// Say what is set up, and whether the configured server answers
    #[arg(long, requires = "agent", conflicts_with_all = ["allow", "no_hooks", "no_instructions"])]
    check: bool,
    /// Let the agent use the tools without asking, deletions aside where it can tell them apart
    #[arg(long, requires = "agent")]
    allow: bool,
    /// Leave out the hooks that give the agent its context and keep prompts and summaries
    #[arg(long, requires = "agent")]
    no_hooks: bool,
    /// Leave out the text for the agent's instructions
    #[arg(long, requires = "agent")]
    no_instructions: bool,
}

/// Take Cerebro out of an agent's files
///
/// Files that nobody has changed since become what they were, byte for byte; from others exactly what was
/// put in is taken out. What is remembered stays.
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
    PossibleValuesParser::new(AGENTS.iter().map(|agent| agent.name))
}

/// One agent's files, as this command line means them.
struct Site {
    agent: &'static Agent,
    user: PathBuf,
    /// The folder of the memory, where the record is.
    folder: PathBuf,
    targets: Vec<Target>,
    record: Option<Record>,
}

impl Site {
    fn of(desk: &Desk, agent: &'static Agent) -> Result<Self> {
        let user = user_home().ok_or(HomeError::Unknown)?;
        let program = std::env::current_exe()
            .map_err(|error| Error::internal(format!("cannot tell where this program is: {error}")))?;
        let named = desk.home.as_deref().map(absolute).transpose()?;
        let folder = named.clone().unwrap_or_else(|| user.join(".cerebro"));
        let invocation = Invocation { program, home: named };
        let targets = agent.targets(&Places::of(user.clone()), &invocation);
        let record = Record::read(&folder, agent.name)?;
        Ok(Self { agent, user, folder, targets, record })
    }

    fn named(desk: &Desk, name: &str) -> Result<Self> {
        let agent = Agent::named(name).ok_or_else(|| Error::usage(format!("no agent `{name}`")))?;
        Self::of(desk, agent)
    }

    fn short(&self, path: &Path) -> String {
        short(path, Some(&self.user))
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

    /// Whether the agent has a place for a part.
    fn has_place_for(&self, part: Part) -> bool {
        self.targets.iter().any(|target| !target.pieces_of(|each| each == part).is_empty())
    }

    /// What keeps a file from being read as what it should be.
    fn fault(&self, target: &Target) -> Result<Option<String>> {
        let fault = target.fault(&text_of(target)?.unwrap_or_default());
        Ok(fault.map(|fault| format!("{} is malformed: {fault}", self.short(&target.path))))
    }

    /// Whether a part was put in last time.
    fn was_put(&self, part: Part) -> bool {
        self.record.as_ref().is_some_and(|record| record.parts.iter().any(|name| name == part.name()))
    }

    fn show(&self, desk: &Desk, changes: &[Change], is_dry: bool, notes: &[String]) -> Result<()> {
        let files: Vec<Value> = changes
            .iter()
            .filter(|change| change.is_any() || change.after.is_some())
            .map(|change| {
                let mut file =
                    json!({ "path": change.path.display().to_string(), "outcome": change.outcome() });
                if is_dry {
                    file["difference"] = json!(change.difference());
                }
                file
            })
            .collect();
        let answer = json!({ "agent": self.agent.name, "dry_run": is_dry, "files": files, "notes": notes });
        if desk.output.json(&answer)? {
            return Ok(());
        }
        if is_dry {
            let differences: String = changes.iter().map(Change::difference).collect();
            desk.output.text(&differences)?;
        } else {
            let mut table = Table::new(FILES);
            for change in changes.iter().filter(|change| change.is_any() || change.after.is_some()) {
                table.add(vec![self.short(&change.path), change.outcome().to_owned()]);
            }
            desk.output.table(&table, "nothing was set up")?;
        }
        for note in notes {
            desk.output.note(note);
        }
        Ok(())
    }
}

/// Whether a part stands in a file.
struct State<'a> {
    part: Part,
    target: &'a Target,
    held: bool,
}

const FILES: &[(&str, Layout)] = &[("file", Layout::Flexible), ("outcome", Layout::Fixed)];

fn absolute(path: &Path) -> Result<PathBuf> {
    let made = std::path::absolute(path).map_err(|error| Error::file("use", path, &error))?;
    Ok(made.canonicalize().unwrap_or(made))
}

pub async fn setup(desk: &Desk, args: SetupArgs) -> Result<Outcome> {
    let Some(name) = &args.agent else { return list(desk) };
    let site = Site::named(desk, name)?;
    if args.check {
        return check(desk, &site).await;
    }
    let stays_allowed = !args.allow && site.was_put(Part::Permissions);
    let wanted = |part| match part {
        Part::Server => true,
        Part::Permissions => args.allow || stays_allowed,
        Part::Hooks => !args.no_hooks,
        Part::Instructions => !args.no_instructions,
        Part::Former => false,
    };
    let changes = setup::setup(&site.targets, wanted, site.record.as_ref())?;
    let notes = site.agent.notes.iter().filter(|(part, _)| wanted(*part));
    let mut notes: Vec<String> = notes.map(|(_, note)| (*note).to_owned()).collect();
    if stays_allowed {
        let name = site.agent.name;
        notes.push(format!("what --allow let through earlier stays so; `cerebro unsetup {name}` ends it"));
    }
    if !args.dry_run {
        let home = desk.home()?;
        let mut record = site.record.clone().unwrap_or_default();
        let put = PARTS.iter().filter(|part| wanted(**part) && site.has_place_for(**part));
        record.parts = put.map(|part| part.name().to_owned()).collect();
        let applied = setup::apply_setup(&changes, &mut record);
        record.write(home.root(), site.agent.name)?;
        applied?;
        notes.push(format!("{} reads it when it starts next", site.agent.title));
    }
    site.show(desk, &changes, args.dry_run, &notes)?;
    Ok(Outcome::Done)
}

pub fn unsetup(desk: &Desk, args: &UnsetupArgs) -> Result<Outcome> {
    let site = Site::named(desk, &args.agent)?;
    let changes = setup::unsetup(&site.targets, site.record.as_ref())?;
    let mut notes = Vec::new();
    if !args.dry_run {
        let mut record = site.record.clone().unwrap_or_default();
        let applied = setup::apply_unsetup(&changes, &mut record);
        record.write(&site.folder, site.agent.name)?;
        let kept = applied?;
        for other in AGENTS.iter().filter(|other| other.name != site.agent.name) {
            if let Some(mut record) = Record::read(&site.folder, other.name)?
                && !record.folders.is_empty()
            {
                record.sweep([]);
                record.write(&site.folder, other.name)?;
            }
        }
        let kept = kept.iter().map(|path| format!("the backup stays: {}", site.short(path)));
        notes.extend(kept);
    }
    let changed: Vec<Change> = changes.into_iter().filter(Change::is_any).collect();
    site.show(desk, &changed, args.dry_run, &notes)?;
    Ok(Outcome::Done)
}

const AGENT_COLUMNS: &[(&str, Layout)] = &[
    ("agent", Layout::Fixed),
    ("installed", Layout::Fixed),
    ("set up", Layout::Flexible),
    ("configuration", Layout::Flexible),
];

fn list(desk: &Desk) -> Result<Outcome> {
    let user = user_home().ok_or(HomeError::Unknown)?;
    let places = Places::of(user);
    let mut table = Table::new(AGENT_COLUMNS);
    let mut rows = Vec::new();
    for agent in &AGENTS {
        let site = Site::of(desk, agent)?;
        let is_installed = agent.is_installed(&places);
        // A file that cannot be read is told by `setup AGENT`; here it only has nothing of ours.
        let states = site.states().unwrap_or_default();
        let parts: Vec<&str> =
            states.iter().filter(|state| state.held).map(|state| state.part.name()).collect();
        let path = site.targets.first().map(|target| target.path.clone()).unwrap_or_default();
        rows.push(json!({
            "agent": agent.name, "installed": is_installed, "set_up": parts, "configuration": path,
        }));
        let yes = if is_installed { "yes" } else { "no" };
        table.add(vec![agent.name.to_owned(), yes.to_owned(), parts.join(", "), site.short(&path)]);
    }
    if !desk.output.json(&json!({ "agents": rows }))? {
        desk.output.table(&table, "no agents")?;
    }
    Ok(Outcome::Done)
}

const STATES: &[(&str, Layout)] =
    &[("part", Layout::Fixed), ("state", Layout::Fixed), ("file", Layout::Flexible)];

/// Says what is set up. It falls short when the server does not answer with its tools, or when a part that
/// was put in is no longer there.
async fn check(desk: &Desk, site: &Site) -> Result<Outcome> {
    let states = site.states()?;
    let is_missing = |state: &State| !state.held && (state.part == Part::Server || site.was_put(state.part));
    let mut table = Table::new(STATES);
    let mut parts = Vec::new();
    let mut faults = Vec::new();
    for target in &site.targets {
        faults.extend(site.fault(target)?.map(|fault| (&target.path, fault)));
    }
    for state in &states {
        let is_malformed = faults.iter().any(|(path, _)| *path == &state.target.path);
        let word = if is_malformed {
            "malformed"
        } else if state.held {
            "set up"
        } else if is_missing(state) {
            "missing"
        } else {
            "not set up"
        };
        let path = &state.target.path;
        parts.push(json!({ "part": state.part.name(), "state": word, "path": path }));
        table.add(vec![state.part.name().to_owned(), word.to_owned(), site.short(path)]);
    }
    let connected = connect(site).await?;
    let is_short = connected.is_err() || !faults.is_empty() || states.iter().any(is_missing);
    let (tools, problem) = match connected {
        Ok(tools) => (Some(tools), None),
        Err(problem) => (None, Some(problem)),
    };
    let answer = json!({
        "agent": site.agent.name, "parts": parts, "connected": problem.is_none(), "tools": tools,
        "problem": problem,
    });
    if !desk.output.json(&answer)? {
        desk.output.table(&table, "nothing is set up")?;
        desk.output.note(&match &problem {
            None => format!("{} connects: {} tools", site.agent.title, tools.unwrap_or_default()),
            Some(problem) => format!("{} does not connect: {problem}", site.agent.title),
        });
        for (_, fault) in faults.iter().filter(|(_, fault)| problem.as_ref() != Some(fault)) {
            desk.output.note(fault);
        }
    }
    Ok(if is_short { Outcome::Short } else { Outcome::Done })
}

/// Starts what the agent's file says, and counts the tools.
async fn connect(site: &Site) -> Result<std::result::Result<usize, String>> {
    let Some(target) = site.targets.first() else { return Ok(Err("it has no configuration".to_owned())) };
    if let Some(fault) = site.fault(target)? {
        return Ok(Err(fault));
    }
    let text = text_of(target)?.unwrap_or_default();
    let Some(command) = command_in(target, &text) else {
        let hint =
            format!("no entry in {}; run `cerebro setup {}`", site.short(&target.path), site.agent.name);
        return Ok(Err(hint));
    };
    Ok(match tools_of(&command).await {
        Ok(tools) if tools.len() == TOOLS.len() => Ok(tools.len()),
        Ok(tools) => Err(format!("it lists {} tools, {} were expected", tools.len(), TOOLS.len())),
        Err(problem) => Err(format!("{problem} (`{}`)", command.join(" "))),
    })
}
