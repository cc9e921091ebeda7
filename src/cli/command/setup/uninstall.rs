//! `cerebro uninstall`: removes everything that setup put in, for all agents; the memory stays unless it is to be
//! removed too.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::super::prelude::*;
use super::super::{daemon, trial};
use super::installation::Installation;
use super::{AgentFiles, SetupContext, autostart, completions, files, print_files};
use crate::daemon::lock::{Lock, Use};
use crate::home::bytes_below;
use crate::hook::missed;
use crate::setup::machine::Shell;
use crate::setup::{AGENTS, Agent, Change, skill};
use cerebro_core::domain::Run;
use cerebro_durable as durable;
use cerebro_service::backup;

/// Cerebro's files in a home, by their full names. Settings and backups belong to the user and are not listed.
const HOME_FILES: [&str; 19] = [
    "store",
    "index",
    "models",
    "runtime",
    "run",
    "setup",
    "studio.json",
    "http.token",
    "folders.json",
    trial::FOLDER,
    missed::FOLDER,
    "writer",
    cerebro_service::work::KEYS_FILE,
    cerebro_service::TOMBSTONE_SECRET_FILE,
    "daemon.log",
    "daemon.log.old",
    backup::MAKING,
    backup::SCRATCH,
    "daemon.lock",
];
/// Cerebro's files by the beginnings of their names: replaced databases, other indexes, unsaved edits, drafts, and
/// records of missed events.
const HOME_FILE_PREFIXES: [&str; 7] = [
    backup::REPLACED,
    "index-",
    "edit-",
    ".edit-",
    ".#edit-",
    durable::PREFIX,
    cerebro_service::work::MISSED_FILE,
];

/// Undo what Cerebro added to this machine; the memory stays
///
/// Stops the daemon, and removes what `setup` added to any agent's files, the service of `daemon install`, the
/// completions of `completions --install` and the skills of `distil skills --install`. A file that nobody has changed
/// since the set-up gets its former text back; from any other file, exactly what was added is removed.
///
/// The memory, `config.toml`, backups, packages that an agent's host installed and the program itself stay. The command
/// names what stays, and how to remove it.
#[derive(Debug, Args)]
pub struct UninstallArgs {
    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Destroy the memory too, for good: the database, the models and the logs; `config.toml` and backups stay
    #[arg(long)]
    memory: bool,
    /// Do not ask first; only `--memory` asks
    #[arg(long)]
    yes: bool,
}

/// What was found, done and left.
#[derive(Default)]
struct Removed {
    changes: Vec<Change>,
    notes: Vec<String>,
    faults: Vec<String>,
}

impl Removed {
    /// Adds what was removed of one kind and what is to be said of it, or why it was not.
    fn add(&mut self, part: Result<(Vec<Change>, Vec<String>)>) {
        match part {
            Ok((changes, notes)) => {
                self.changes.extend(changes);
                self.notes.extend(notes);
            }
            Err(error) => self.faults.push(error.to_string()),
        }
    }
}

pub async fn run(context: &CommandContext, args: UninstallArgs) -> Result<()> {
    let setup = SetupContext::of(context)?;
    let folder = setup.folder.clone();
    let shown = setup.short(&folder);
    if args.memory && folder.exists() && !holds_memory(&folder) {
        return Err(
            Error::user(format!("{shown} is not a home of Cerebro")).hint("`--home DIR` names another")
        );
    }
    if args.memory && !args.dry_run && !args.yes && folder.exists() {
        let size = bytes(bytes_below(&folder));
        let question = format!("Destroy the memory in {shown} ({size}) for good? This cannot be undone.");
        context.output.agree(false, &question, "nothing was changed")?;
    }
    let mut removed = Removed::default();
    let run = Run::dry_if(args.dry_run);
    take_out(context, &setup, run, &mut removed).await;
    let mut left = Vec::new();
    if folder.exists() {
        let is_all_out = removed.faults.is_empty();
        if args.memory && !is_all_out {
            removed
                .faults
                .push(format!("the memory stays in {shown}: its records say what is still to be removed"));
        } else if args.memory && args.dry_run {
            removed.notes.push(format!("the memory in {shown} would be destroyed"));
        } else if args.memory {
            left = destroy(context).await?;
            removed.notes.push(format!("the memory in {shown} is destroyed"));
        } else if args.dry_run {
            removed.notes.push("the daemon would be stopped".to_owned());
        } else {
            match daemon::dismiss(&context.home()?).await {
                Ok(stopped) => removed.notes.extend(stopped.map(|_| "the daemon is stopped".to_owned())),
                Err(error) => removed.faults.push(format!("the daemon was not stopped: {error}")),
            }
        }
        if !args.memory {
            let size = bytes(bytes_below(&folder));
            removed.notes.push(if holds_memory(&folder) {
                format!(
                    "the memory stays, with settings and backups: {shown} ({size}); `cerebro uninstall --memory` destroys it"
                )
            } else {
                format!("what is in {shown} ({size}) stays; there is no memory in it")
            });
        }
    }
    removed.notes.extend(left.iter().map(|path| format!("stays, since it is yours: {}", setup.short(path))));
    let program = &setup.invocation.program;
    let removal = Installation::of(program).removal(program);
    removed.notes.push(format!("the program stays: {}; to remove it: {removal}", setup.short(program)));
    print(context, &setup, run, &removed)
}

/// Whether a daemon has worked in a folder. A folder `store` or `models` alone may belong to another program.
fn holds_memory(folder: &Path) -> bool {
    ["store/CURRENT", "writer"].iter().any(|name| folder.join(name).exists())
}

/// Removes everything that was set up, and lists what cannot be removed.
async fn take_out(context: &CommandContext, setup: &SetupContext, run: Run, removed: &mut Removed) {
    for agent in &AGENTS {
        removed.add(take_agent(context, agent, run));
    }
    removed.add(autostart::remove(context, run).await);
    let stays = |path: &PathBuf| format!("stays, since somebody changed it: {}", setup.short(path));
    let skills = skill::remove(&setup.folder, None, run);
    removed.add(
        skills.map(|(changes, edited)| (changes, edited.iter().map(stays).collect())).map_err(Error::from),
    );
    removed.add(completions::remove(context, &Shell::ALL, run).map(|changes| (changes, Vec::new())));
}

/// Removes the setup of one agent made from this home, and lists what stays.
fn take_agent(
    context: &CommandContext,
    agent: &'static Agent,
    run: Run,
) -> Result<(Vec<Change>, Vec<String>)> {
    let agent_files = AgentFiles::of(context, agent)?;
    let (changes, mut notes) = agent_files.remove(run)?;
    notes.extend(
        agent_files
            .package
            .map(|removal| format!("Cerebro's package for {} stays; to remove it: {removal}", agent.title)),
    );
    Ok((changes, notes))
}

/// Removes Cerebro's files from the home, as its owner, and the home itself if it is empty then. Returns the other
/// files.
async fn destroy(context: &CommandContext) -> Result<Vec<PathBuf>> {
    let home = context.home()?;
    daemon::dismiss(&home).await?;
    for folder in trial::folders(&home) {
        trial::remove(&folder).await?;
    }
    // From here on no daemon can serve the home. The lock and its file are removed last.
    let lock = Lock::take(&home, Use::Restore).map_err(Error::user)?;
    let mut left = Vec::new();
    let mut found = entries(home.root())?;
    found.sort_by_key(|path| path == &home.lock_file());
    for path in found {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if is_of_home(&name) {
            remove(&path).map_err(|error| Error::file("remove", &path, &error))?;
        } else {
            left.push(path);
        }
    }
    if left.is_empty() {
        // If another process adds a file at this moment, the folder stays.
        let _ = fs::remove_dir(home.root());
    }
    drop(lock);
    Ok(left)
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let read = || fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<PathBuf>>>();
    read().map_err(|error| Error::file("read", folder, &error))
}

fn is_of_home(name: &str) -> bool {
    HOME_FILES.contains(&name) || HOME_FILE_PREFIXES.iter().any(|begin| name.starts_with(begin))
}

/// Removes a file, a link itself, or a folder with all in it.
fn remove(path: &Path) -> io::Result<()> {
    if fs::symlink_metadata(path)?.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
}

fn print(context: &CommandContext, setup: &SetupContext, run: Run, removed: &Removed) -> Result<()> {
    let faults: Vec<Value> = removed.faults.iter().map(|fault| json!(fault)).collect();
    let answer = json!({
        "dry_run": run.is_dry(), "files": files(&removed.changes, run), "notes": removed.notes, "faults": faults,
    });
    if context.output.json(&answer)? {
        // A warning would repeat the faults.
        return done_if(removed.faults.is_empty());
    }
    if run.is_dry() {
        let differences: String = removed.changes.iter().map(Change::shown_difference).collect();
        if !differences.is_empty() {
            context.output.text(&differences)?;
        }
    } else {
        print_files(context, setup, &removed.changes, "nothing was set up")?;
    }
    for fault in &removed.faults {
        context.output.warn(fault);
    }
    context.output.notes(&removed.notes);
    done_if(removed.faults.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_backups_and_what_is_not_ours_stay() {
        for name in ["store", "store.replaced-20261122", "missed", "edit-x-1.md", ".edit-x.md.swp", "writer"]
        {
            assert!(is_of_home(name), "{name}");
        }
        for name in ["config.toml", "backups", "notes", "stores", "my-edit-x.md", "key"] {
            assert!(!is_of_home(name), "{name}");
        }
    }
}
