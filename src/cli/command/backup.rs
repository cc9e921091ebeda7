//! `cerebro backup` and `cerebro restore`: writes everything of one moment to one file, and reads it back.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use indicatif::ProgressBar;

use super::prelude::*;
use super::{daemon, some_of};
use crate::answer::{backup::Made, history::Forgotten};
use crate::config::Config;
use crate::daemon::lock::{Lock, LockError, Use};
use crate::home::Home;
use cerebro_core::domain::{MemoryId, Timestamp};
use cerebro_service::backup::{self, Kept, RestoreRequest};

/// How often the progress of a backup is polled.
const GLANCE: Duration = Duration::from_millis(100);
/// How many times the home is taken from a daemon, because agents may start another.
const OWN_ATTEMPTS_MAX: u32 = 5;
const BAR: &str = "{bar:30} {human_pos} of {human_len} rows, {elapsed}";

/// Write everything into one file, while agents go on working
///
/// The file holds every memory, revision, session, prompt, edge, event and job as packed SurrealQL, which `zstd -dc`
/// shows. Only you can read it, and it appears whole or not at all. `[backup] every = "6h"` in config.toml makes
/// backups on a schedule.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct BackupArgs {
    #[command(subcommand)]
    command: Option<BackupCommand>,
    #[command(flatten)]
    now: NowArgs,
}

#[derive(Debug, Args)]
pub struct NowArgs {
    /// Write the file into this folder [default: that of config.toml, else `backups` in the home]
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
    /// Keep this home's last N backups in the folder, and remove older ones
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    keep: Option<u16>,
    /// Read the file again and compare its rows and checksum
    #[arg(long)]
    verify: bool,
}

#[derive(Debug, Subcommand)]
pub enum BackupCommand {
    /// Read a whole backup and compare it with its own counts and checksum
    Verify(FileArgs),
    /// Restore a home from a backup
    Restore(RestoreFileArgs),
    /// List this home's backups in a folder
    List(ListArgs),
}

#[derive(Debug, Args)]
pub struct FileArgs {
    /// The backup: a path, or a name that `cerebro backup list` shows
    file: PathBuf,
}

#[derive(Debug, Clone, Args)]
pub struct RestoreFileArgs {
    /// The backup: a path, or a name that `cerebro backup list` shows
    pub file: PathBuf,
    /// Replace the present memory, which stays next to the new one
    #[arg(long)]
    pub replace: bool,
}

#[derive(Debug, Args)]
pub struct ListArgs {
    /// Look in this folder [default: that of config.toml, else `backups` in the home]
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
}

impl BackupArgs {
    /// What is to be restored, if anything: that needs a database in this process.
    pub fn restored(&self) -> Option<RestoreFileArgs> {
        match &self.command {
            Some(BackupCommand::Restore(args)) => Some(args.clone()),
            _ => None,
        }
    }
}

/// Whether the argument names a backup file rather than a memory.
pub fn is_file(given: &str) -> bool {
    let path = Path::new(given);
    given.contains('/') || path.extension().is_some()
}

pub async fn run(context: &CommandContext, args: BackupArgs) -> Result<()> {
    match args.command {
        None => back_up(context, args.now).await,
        Some(BackupCommand::Verify(args)) => verify(context, &located(context, args.file)?),
        Some(BackupCommand::List(args)) => list(context, args),
        Some(BackupCommand::Restore(_)) => Err(Error::internal("a restore needs a database of its own")),
    }
}

async fn back_up(context: &CommandContext, args: NowArgs) -> Result<()> {
    let dir = folder(context, args.to)?;
    let request = Request::new(of::Backup).given(json!({
        "dir": dir.display().to_string(), "keep": args.keep, "verify": args.verify,
    }));
    let daemon = Daemon::reach_patiently(&context.home()?).await?;
    let made = with_progress(context, &daemon, request).await?;
    context.output.json(made.raw())?;
    context.output.facts(&[
        ("file", shown(&made.file)),
        ("rows", made.rows.values().sum::<u64>().to_string()),
        ("size", bytes(made.bytes)),
        ("verified", shown(&made.verified)),
    ])?;
    for old in &made.removed {
        context.output.note(&format!("removed {}", shown(old)));
    }
    Ok(())
}

/// Asks for a backup and shows how far it is.
pub async fn with_progress(
    context: &CommandContext,
    daemon: &Daemon,
    request: Request<of::Backup>,
) -> Result<Received<Made>> {
    let bar = context.output.progress(Some(0), BAR);
    let made = tokio::select! {
        made = daemon.read(request) => made,
        () = follow(daemon, &bar) => Err(Error::internal("the progress of the backup ended before the backup did")),
    };
    bar.finish_and_clear();
    made
}

async fn follow(daemon: &Daemon, bar: &ProgressBar) {
    loop {
        tokio::time::sleep(GLANCE).await;
        // The answer to the backup itself says what went wrong.
        let Ok(progress) = daemon.read(Request::new(of::BackupProgress)).await else { continue };
        bar.set_length(progress.total.unwrap_or_default());
        bar.set_position(progress.rows.unwrap_or_default());
    }
}

/// The folder of backups: the given one, relative to the working folder, otherwise the configured one.
fn folder(context: &CommandContext, given: Option<PathBuf>) -> Result<PathBuf> {
    match given {
        Some(dir) => std::path::absolute(&dir).map_err(|error| Error::file("use", &dir, &error)),
        None => {
            let home = context.home()?;
            Ok(Config::read(&home.config_file())?.settings().backup.dir_in(home.root()))
        }
    }
}

/// The requested file. A bare name that is not in the working folder refers to the home's backups.
fn located(context: &CommandContext, file: PathBuf) -> Result<PathBuf> {
    let is_bare = file.components().count() == 1;
    if !is_bare || file.exists() {
        return Ok(file);
    }
    let among = folder(context, None)?.join(&file);
    Ok(if among.exists() { among } else { file })
}

/// Fails if the file cannot be opened.
fn check_readable(file: &Path) -> Result<()> {
    let failed = |error: std::io::Error| {
        Error::file("read", file, &error).hint("`cerebro backup list` shows the backups of this home")
    };
    File::open(file).map(drop).map_err(failed)
}

fn size_bar(context: &CommandContext, file: &Path, words: &str) -> ProgressBar {
    let bar = context.output.progress(None, "{spinner} {msg} {bytes} of script, {elapsed}");
    bar.set_message(format!("{words} {}", file.display()));
    bar
}

fn verify(context: &CommandContext, file: &Path) -> Result<()> {
    check_readable(file)?;
    let bar = size_bar(context, file, "reading");
    let (head, end) = backup::verify(file, |bytes| bar.set_position(bytes))?;
    bar.finish_and_clear();
    let result = json!({
        "file": file.display().to_string(), "whole": true, "at": head.at.to_string(), "home": head.home,
        "version": head.version, "schema": head.schema, "rows": end.rows, "script_bytes": end.bytes,
        "sha256": end.sha256,
    });
    context.output.json(&result)?;
    let mut facts = vec![
        ("whole", "yes".to_owned()),
        ("made", context.output.moment(&result["at"])),
        ("of home", head.home),
        ("by version", head.version),
        ("schema version", head.schema.to_string()),
        ("script", bytes(end.bytes)),
    ];
    facts.extend(end.rows.iter().map(|(table, rows)| (table.as_str(), rows.to_string())));
    context.output.facts(&facts)
}

const COLUMNS: &[(&str, Layout)] =
    &[("made", Layout::Moment), ("size", Layout::Fixed), ("file", Layout::Flexible)];

fn list(context: &CommandContext, args: ListArgs) -> Result<()> {
    let is_elsewhere = args.to.is_some();
    let dir = folder(context, args.to)?;
    let kept = backup::kept(&dir, context.home()?.root())?;
    // A name is enough where the other commands look for it.
    let name = |path: &Path| {
        let name = path.file_name().filter(|_| !is_elsewhere).map(|name| name.to_string_lossy().into_owned());
        name.unwrap_or_else(|| path.display().to_string())
    };
    let row = |kept: &Kept| {
        json!({ "file": kept.path.display().to_string(), "at": kept.head.at.to_string(), "bytes": kept.bytes,
            "seq": kept.head.seq, "version": kept.head.version, "schema": kept.head.schema })
    };
    let rows: Vec<Value> = kept.iter().map(row).collect();
    context.output.json(&json!(rows))?;
    let mut table = Table::new(COLUMNS);
    for kept in &kept {
        table.add(vec![kept.head.at.to_string(), bytes(kept.bytes), name(&kept.path)]);
    }
    context.output.table(&table, &format!("{} holds no backup of this home", dir.display()))
}

/// Restores a home's memory from a backup. This process owns the home meanwhile.
pub async fn restore(context: &CommandContext, args: RestoreFileArgs) -> Result<()> {
    let file = located(context, args.file)?;
    // Before anything is stopped for it.
    check_readable(&file)?;
    let home = context.home()?;
    if let Some(url) = Config::read(&home.config_file())?.server_of(&home) {
        let said =
            format!("the memory of {} is in the database at {url}, not in the home", home.root().display());
        return Err(Error::user(said).hint(
            "no command would use what is restored: give --home DIR of a home without [remote], or remove [remote], \
             --db or CEREBRO_DB first",
        ));
    }
    let owned = if args.replace { own(&home).await? } else { own_idle(&home).await? };
    let bar = size_bar(context, &file, "restoring");
    let moving = bar.clone();
    let progress = move |bytes| moving.set_position(bytes);
    let (store, index) = (home.store_dir(), home.index_dir());
    let request = RestoreRequest {
        file: &file,
        home: home.root(),
        store_dir: &store,
        index_dir: &index,
        replace: args.replace,
    };
    let restored = cerebro_service::restore(request, Timestamp::now, progress).await;
    owned.hold_until_exit();
    bar.finish_and_clear();
    let restored = restored?;
    let kept = restored.kept.map(|path| path.display().to_string());
    let rows: u64 = restored.end.rows.values().sum();
    let forgotten = Forgotten::from(restored.forgotten);
    let mut result = json!({
        "file": file.display().to_string(), "home": home.root().display().to_string(),
        "at": restored.head.at.to_string(), "rows": restored.end.rows, "kept": kept,
        "said_again": restored.said_again.iter().map(MemoryId::as_str).collect::<Vec<_>>(),
        "forgotten": forgotten,
    });
    if restored.is_unread {
        result["unread"] = json!(true);
    }
    context.output.json(&result)?;
    context.output.facts(&[
        ("restored", home.root().display().to_string()),
        ("as of", context.output.moment(&result["at"])),
        ("rows", rows.to_string()),
        ("kept", kept.clone().unwrap_or_default()),
    ])?;
    if let Some(kept) = kept {
        context.output.note(&format!(
            "what was here before is in {kept}; remove that folder when you no longer need it"
        ));
    }
    if restored.is_unread {
        context.output.note(
            "what was here before cannot be read, so what was corrected or forgotten since the backup may be back",
        );
    }
    if let Some(words) = said_again(&restored.said_again) {
        context.output.note(&words);
    }
    let words = forgotten.words();
    if !words.is_empty() {
        context.output.note(&format!("forgotten since the backup, and gone again: {words}"));
    }
    Ok(())
}

/// Names memories whose text was corrected or deleted after the backup and is now back.
fn said_again(ids: &[MemoryId]) -> Option<String> {
    let named = some_of(&ids.iter().map(MemoryId::as_str).collect::<Vec<_>>());
    let (count, says) = (text::counted(ids.len(), "memory"), if ids.len() == 1 { "says" } else { "say" });
    (!ids.is_empty())
        .then(|| format!("{count} of the backup {says} what was corrected or deleted since: {named}"))
}

/// Takes the lock of a home that no daemon serves.
async fn own_idle(home: &Home) -> Result<Lock> {
    if Daemon::running(home).await?.is_some() {
        return Err(Error::user(format!("a daemon serves {}", home.root().display())).hint(
            "`cerebro restore --replace FILE` stops it and keeps what is there; or `cerebro daemon stop`, or give \
             --home DIR",
        ));
    }
    Lock::take(home, Use::Restore).map_err(Error::user)
}

/// Takes the lock of a home after stopping its daemon. If an agent starts another one in between, that is stopped
/// too.
async fn own(home: &Home) -> Result<Lock> {
    let mut attempts = OWN_ATTEMPTS_MAX;
    loop {
        daemon::dismiss(home).await?;
        attempts -= 1;
        match Lock::take(home, Use::Restore) {
            Err(LockError::Held { .. }) if attempts > 0 => {}
            taken => return taken.map_err(Error::user),
        }
    }
}
