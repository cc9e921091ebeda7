//! `cerebro doctor`: checks every invariant and repairs what can be rebuilt.
//!
//! The daemon checks the contents of its store; everything around it is checked here, so that there is a report
//! even if no daemon starts.

use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::prelude::*;
use super::trial;
use crate::answer::{daemon::Status, upkeep, worker::Worker};
use crate::config::Config;
use crate::edits;
use crate::home::{Home, user_home};
use crate::{
    daemon::{self, DialError, dial, lock},
    platform,
};
use cerebro_core::domain::Timestamp;
use cerebro_durable as durable;
use cerebro_service::backup;
use cerebro_service::doctor::{CHECKS, Check, Health};

/// Free space below which the disk is reported. The store refuses writes at 32 MiB.
const FREE_BYTES_MIN: u64 = 256 << 20;
/// Age from which an unfinished file counts as abandoned.
const LEFT_AFTER: Duration = Duration::from_secs(3600);
/// Uptime after which a daemon must have made a backup that was overdue at its start.
const SETTLED_SECONDS: u64 = 60;
/// Most files whose permissions are checked.
const FILES_MAX: usize = 10_000;

/// Check the data and the installation; repair what can be rebuilt
///
/// The exit code is 0 if nothing is wrong or everything was repaired, and 1 otherwise. `--fix` rebuilds the index,
/// removes edges, vectors and jobs whose memory does not exist, ends lost leases, closes files to other users and
/// removes unfinished files. It never changes memories, revisions or the log.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Repair what can be repaired
    #[arg(long)]
    fix: bool,
}

pub async fn run(context: &CommandContext, args: DoctorArgs) -> Result<()> {
    let Some(root) = context.home.clone().or_else(|| user_home().map(|home| home.join(".cerebro"))) else {
        let check = Check::failed("home", "the user's home folder is unknown: give --home DIR");
        return print(context, &[check], args.fix);
    };
    if !root.exists() {
        let words = format!("{} does not exist yet; the first agent creates it", root.display());
        return print(context, &[Check::sound("home", words)], args.fix);
    }
    // Before anything opens the home, which closes it to others by itself.
    let open_to_others = matches!(platform::privacy_fault(&root), Ok(Some(platform::OPEN_TO_OTHERS)));
    let home = match Home::open(Some(&root)) {
        Ok(home) => home,
        Err(error) => {
            let mut checks = vec![Check::failed("home", error.to_string())];
            checks.extend(unknown("needs a usable home"));
            return print(context, &checks, args.fix);
        }
    };
    let config = Config::read(&home.config_file());
    let mut checks = vec![home_check(&home, open_to_others), config_check(&config)];
    checks.push(permissions(&home, args.fix));
    checks.push(space(&home));
    checks.push(left_behind(&home, args.fix).await);
    checks.push(telemetry(reports_dir().as_deref()));
    checks.push(unsaved_edits(&home));
    checks.push(trials(&home));
    let bar = context.output.progress(None, "{spinner} looking at the store, {elapsed}");
    bar.enable_steady_tick(Duration::from_millis(100));
    let (inside, status) = inside(&home, args.fix).await;
    bar.finish_and_clear();
    checks.extend(inside);
    checks.push(backups(&home, config.ok().as_ref(), status.as_ref()));
    print(context, &checks, args.fix)
}

fn print(context: &CommandContext, checks: &[Check], fix: bool) -> Result<()> {
    let well = checks.iter().all(|check| matches!(check.health, Health::Sound | Health::Repaired));
    let rows: Vec<Value> = checks
        .iter()
        .map(|check| json!({ "check": check.name, "state": check.health.as_str(), "words": check.words }))
        .collect();
    let next = next_steps(checks, fix);
    context.output.json(&json!({ "ok": well, "checks": rows, "next": next }))?;
    let mut table = Table::new(COLUMNS);
    for check in checks {
        table.add(vec![check.name.to_owned(), check.health.as_str().to_owned(), check.words.clone()]);
    }
    context.output.table(&table, "nothing was checked")?;
    context.output.notes(&next);
    done_if(well)
}

/// What a person can do about the faults. Those that `--fix` was to repair and did not are not named again.
fn next_steps(checks: &[Check], fix: bool) -> Vec<String> {
    let repairable: Vec<&str> =
        checks.iter().filter(|check| check.is_repairable).map(|check| check.name).collect();
    let left = checks.iter().filter(|check| check.health == Health::Failed && !check.is_repairable);
    let by_hand = left.filter_map(|check| match check.name {
        "jobs" => Some("`cerebro jobs` says why jobs were given up, `cerebro jobs retry` retries them"),
        "journal" => Some("`cerebro work verify` names every fault of the journal"),
        _ => None,
    });
    let fixed = (!fix && !repairable.is_empty())
        .then(|| format!("`cerebro doctor --fix` repairs {}", repairable.join(", ")));
    fixed.into_iter().chain(by_hand.map(str::to_owned)).collect()
}

const COLUMNS: &[(&str, Layout)] =
    &[("check", Layout::Fixed), ("state", Layout::Fixed), ("found", Layout::Flexible)];

/// The checks that need a daemon, as unknown.
fn unknown(why: &str) -> Vec<Check> {
    CHECKS.iter().map(|name| Check::unknown(name, why)).collect()
}

fn home_check(home: &Home, was_open: bool) -> Check {
    let root = home.root().display();
    if was_open {
        return Check::failed("home", format!("others could enter {root}")).repaired();
    }
    Check::sound("home", format!("{root} is yours alone"))
}

fn config_check(config: &std::result::Result<Config, crate::config::ConfigError>) -> Check {
    match config {
        Ok(_) => Check::sound("config", "can be read"),
        Err(error) => {
            Check::failed("config", format!("{error}; correct the file, or remove it for the defaults"))
        }
    }
}

/// Checks the files and folders that other users must not access. The engines' own files in the store and the index
/// are left out, because these folders are closed.
fn permissions(home: &Home, fix: bool) -> Check {
    let mut open = Vec::new();
    let mut folders = vec![home.root().to_path_buf()];
    folders.extend(lock::socket_path(home).parent().map(Path::to_path_buf));
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten().take(FILES_MAX - seen) {
            seen += 1;
            let path = entry.path();
            let Ok(found) = fs::symlink_metadata(&path) else { continue };
            // A database on a server has an index of its own beside the home's: `index-…`.
            let is_index = path.to_string_lossy().starts_with(&*home.index_dir().to_string_lossy());
            if path == home.store_dir() || (is_index && found.is_dir()) || found.is_symlink() {
                continue;
            }
            let is_config = path == home.config_file();
            if found.permissions().mode() & 0o077 != 0 && !is_config && !open.contains(&path) {
                open.push(path.clone());
            }
            if found.is_dir() && folder == home.root() {
                folders.push(path);
            }
        }
    }
    let Some(first) = open.first() else {
        return Check::sound("permissions", "nothing is open to others");
    };
    let check = Check::repairable(
        "permissions",
        format!("{} are open to others (such as {})", open.len(), first.display()),
    );
    if fix && open.iter().all(|path| close(path).is_ok()) { check.repaired() } else { check }
}

fn close(path: &Path) -> std::io::Result<()> {
    let mode = fs::symlink_metadata(path)?.permissions().mode() & 0o700;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

fn space(home: &Home) -> Check {
    match rustix::fs::statvfs(home.root()) {
        Ok(disk) => {
            let free = disk.f_bavail.saturating_mul(disk.f_frsize);
            let words = format!("{} are free", bytes(free));
            if free >= FREE_BYTES_MIN {
                return Check::sound("disk", words);
            }
            Check::failed("disk", format!("only {words}; saves are refused when 32 MiB are left"))
        }
        Err(error) => Check::unknown("disk", format!("the free space is not known: {error}")),
    }
}

/// Unfinished files of killed processes, and a socket on which no process listens. Only files with Cerebro's names
/// count, because the folder of backups may be shared with other programs.
async fn left_behind(home: &Home, fix: bool) -> Check {
    let config = Config::read(&home.config_file()).unwrap_or_default();
    let backups = config.settings().backup.dir_in(home.root());
    let mut left = backup::unfinished(&backups, LEFT_AFTER);
    left.extend(durable::left_in(home.root(), LEFT_AFTER));
    left.extend(durable::left_in(&home.index_dir(), LEFT_AFTER));
    left.extend(home_leftovers(home));
    left.sort();
    left.dedup();
    let socket = lock::socket_path(home);
    let is_socket = fs::symlink_metadata(&socket).is_ok_and(|found| found.file_type().is_socket());
    // A daemon whose lock file was removed may still listen, and what another user has made is not ours to remove.
    let is_silent = || async { matches!(dial(home).await, Err(DialError::Silent { .. })) };
    if is_socket && !lock::is_held(home) && is_silent().await {
        left.push(socket);
    }
    let Some(first) = left.first() else { return Check::sound("leftovers", "nothing was left half-done") };
    let words = format!("{} were left by processes that are gone (such as {})", left.len(), first.display());
    let check = Check::repairable("leftovers", words);
    if fix && left.iter().all(|path| remove(path).is_ok()) { check.repaired() } else { check }
}

/// Where ONNX Runtime keeps a device id and its reports, whichever program runs it.
fn reports_dir() -> Option<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|dir| dir.is_absolute());
    let cache = cache.or_else(|| user_home().map(|home| home.join(".cache")))?;
    Some(cache.join("Microsoft/DeveloperTools/.onnxruntime"))
}

/// Reports that no telemetry is sent, and names the files that ONNX Runtime left outside the home. They may come from
/// Cerebro 0.1 or from any other program that runs models, so they are not removed.
fn telemetry(reports: Option<&Path>) -> Check {
    let off = "ONNX Runtime is loaded only if it cannot send reports";
    match reports.filter(|dir| dir.exists()) {
        None => Check::sound("telemetry", off),
        Some(dir) => Check::sound(
            "telemetry",
            format!(
                "{off}; {} holds a device id of ONNX Runtime, from an older Cerebro or another program: remove the \
                 folder if no program needs it",
                dir.display()
            ),
        ),
    }
}

/// The database of an interrupted restore, and partly printed scripts of version 0.1.0.
fn home_leftovers(home: &Home) -> impl Iterator<Item = PathBuf> {
    let is_leftover = |name: &str| {
        let is_script = Path::new(name).extension().is_some_and(|ending| ending == "surql");
        [backup::MAKING, backup::SCRATCH].contains(&name) || (name.starts_with(".export-") && is_script)
    };
    let entries = fs::read_dir(home.root()).into_iter().flatten().flatten();
    let named = entries.filter(move |entry| is_leftover(&entry.file_name().to_string_lossy()));
    named.map(|entry| entry.path()).filter(|path| durable::is_older(path, LEFT_AFTER))
}

/// Texts of edits that could not be stored. They are the person's: `--fix` does not touch them.
fn unsaved_edits(home: &Home) -> Check {
    let files = match edits::all(home.root()) {
        Ok(files) => files,
        Err(error) => return Check::unknown("edits", format!("the home cannot be read: {error}")),
    };
    let unsaved: Vec<_> = files.into_iter().filter(|edit| !edit.is_open_elsewhere()).collect();
    let Some(first) = unsaved.first() else {
        return Check::sound("edits", "no text of an edit is left unsaved");
    };
    let words = format!(
        "texts of edits that were not saved: {} (such as {}); continue them in `cerebro tui`, or remove them",
        text::counted(unsaved.len(), "file"),
        first.path.display()
    );
    Check::failed("edits", words)
}

/// The trials of this home. They are not a fault, but they still contain what is deleted or purged here.
fn trials(home: &Home) -> Check {
    let names: Vec<String> = trial::folders(home).iter().map(|folder| trial::name(folder)).collect();
    if names.is_empty() {
        return Check::sound("trials", "there is no other copy of the memory in this home");
    }
    let words = format!(
        "{} with a copy of the memory, purged texts too: {}; `cerebro whatif drop NAME` removes one",
        text::counted(names.len(), "trial"),
        names.join(", ")
    );
    Check::sound("trials", words)
}

fn remove(path: &PathBuf) -> std::io::Result<()> {
    if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
}

/// The checks of the daemon: whether it runs, its version, and the contents of its store.
async fn inside(home: &Home, fix: bool) -> (Vec<Check>, Option<Status>) {
    let daemon = match Daemon::reach_patiently(home).await {
        Ok(daemon) => daemon,
        Err(error) => {
            let mut checks = vec![Check::failed("daemon", format!("none can be reached: {error}"))];
            checks.extend(unknown("needs a daemon"));
            return (checks, None);
        }
    };
    let status = daemon.read(Request::new(of::Status)).await.ok().map(Received::into_answer);
    let mut checks = vec![daemon_check(home, status.as_ref())];
    match daemon.read(Request::new(of::Examine).with("fix", fix)).await {
        Ok(examined) => {
            checks.push(versions(status.as_ref(), examined.schema_version));
            checks.extend(examined.checks.iter().filter_map(read_check));
            let answer = daemon.read(Request::new(of::Worker)).await;
            let worker = answer.map(|answer| answer.into_answer().worker).unwrap_or_default();
            checks.push(model(&worker));
            checks.push(relations(&worker));
        }
        Err(error) => {
            checks.push(Check::failed("store", error.to_string()));
            checks.extend(unknown("needs an open store"));
        }
    }
    (checks, status)
}

fn daemon_check(home: &Home, status: Option<&Status>) -> Check {
    let pid = status.map(|status| status.pid);
    let owner = lock::owner(home).map(|owner| owner.pid);
    if !lock::is_held(home) || owner != pid {
        let words =
            "the one that answers does not hold daemon.lock; `cerebro daemon stop`, and start it again";
        return Check::failed("daemon", words);
    }
    Check::sound("daemon", format!("process {} answers and holds the lock", shown(&pid)))
}

fn versions(status: Option<&Status>, schema: u32) -> Check {
    let (daemon, own) = (shown(&status.map(|status| &status.version)), daemon::VERSION);
    if daemon != own {
        let words = format!(
            "the daemon has version {daemon}, this program {own}; `cerebro daemon restart` starts the new one"
        );
        return Check::failed("versions", words);
    }
    Check::sound("versions", format!("program and daemon {own}, schema {schema}"))
}

fn model(worker: &Worker) -> Check {
    let state = worker.state.raw();
    if ["unusable", "disagrees"].contains(&state) {
        return Check::failed("model", format!("the worker is {state}: {}", shown(&worker.detail)));
    }
    let model = worker.model.as_ref().map_or("no model", Text::raw);
    Check::sound("model", format!("{model}; the worker is {state}"))
}

fn relations(worker: &Worker) -> Check {
    match (&worker.relations_fault, &worker.relations) {
        (Some(fault), _) => {
            Check::failed("relations", format!("the chat model cannot be asked: {}", fault.raw()))
        }
        (None, Some(model)) => Check::sound("relations", format!("{} is asked", model.raw())),
        (None, None) => Check::sound("relations", "no chat model is set"),
    }
}

fn read_check(found: &upkeep::Check) -> Option<Check> {
    let name = CHECKS.iter().find(|name| found.check == **name)?;
    let words = shown(&found.words);
    Some(match found.state.raw() {
        "ok" => Check::sound(name, words),
        "fixed" => Check::failed(name, words).repaired(),
        "fault" if found.repairable => Check::repairable(name, words),
        "fault" => Check::failed(name, words),
        _ => Check::unknown(name, words),
    })
}

fn backups(home: &Home, config: Option<&Config>, status: Option<&Status>) -> Check {
    let Some(config) = config else { return Check::unknown("backup", "needs a configuration") };
    let plan = config.settings().backup;
    if status.is_some_and(|status| status.database.is_some()) {
        return Check::sound("backup", "the database is on a server and backed up there");
    }
    let dir = plan.dir_in(home.root());
    let last = status.and_then(|status| status.backup.as_ref());
    if let Some(failure) = last.and_then(|last| last.failure.as_ref()) {
        return Check::failed("backup", format!("the last one failed: {}", failure.raw()));
    }
    let kept = match backup::kept(&dir, home.root()) {
        Ok(kept) => kept,
        Err(error) => return Check::failed("backup", error.to_string()),
    };
    // The daemon makes none while nothing happens, and says until when the newest one is good.
    let good_until = last.and_then(|last| last.made_at.as_ref()?.moment());
    let newest = kept.first().map(|newest| newest.head.at).max(good_until);
    let age = newest.and_then(|at| Duration::try_from(Timestamp::now().duration_since(at)).ok());
    let newest_words =
        newest.map_or_else(|| "there is none".to_owned(), |at| format!("the newest is of {at:.0}"));
    let Some(every) = plan.every else {
        return Check::sound("backup", format!("none is scheduled; in {} {newest_words}", dir.display()));
    };
    let just_started = status.is_some_and(|status| status.uptime_s < SETTLED_SECONDS);
    // The one that is due now may be under way.
    if !just_started && age.is_none_or(|age| age > every * 2) {
        return Check::failed("backup", format!("one is overdue in {}: {newest_words}", dir.display()));
    }
    Check::sound("backup", newest_words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::backup::Last;

    #[test]
    fn another_version_is_a_finding() {
        let health = |version: &str| {
            let status = Status { version: version.into(), ..Status::default() };
            versions(Some(&status), 1).health
        };
        assert_eq!(health(daemon::VERSION), Health::Sound);
        assert_eq!(health("0.0.1"), Health::Failed);
    }

    #[test]
    fn what_onnx_runtime_left_is_named_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let left = folder.path().join(".onnxruntime");
        assert!(!telemetry(Some(&left)).words.contains("device id"));
        fs::create_dir(&left).unwrap();
        let check = telemetry(Some(&left));
        assert_eq!(check.health, Health::Sound);
        assert!(check.words.contains(&*left.to_string_lossy()), "{}", check.words);
        assert!(left.exists());
    }

    #[test]
    fn a_backup_that_is_overdue_is_a_finding() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(Some(&folder.path().join("h"))).unwrap();
        let config: Config = toml::from_str("[backup]\nevery = \"1h\"").unwrap();
        let health = |status: &Status| backups(&home, Some(&config), Some(status));
        let up = Status { uptime_s: SETTLED_SECONDS + 1, ..Status::default() };
        assert_eq!(health(&up).health, Health::Failed);
        assert!(health(&up).words.contains("overdue"));
        let young = Status { uptime_s: 1, ..Status::default() };
        assert_eq!(health(&young).health, Health::Sound, "it may be under way");
        let last = Last { made_at: Some(Text::of(Timestamp::now())), ..Last::default() };
        assert_eq!(health(&Status { backup: Some(last), ..up.clone() }).health, Health::Sound);
        let remote = Status { database: Some("wss://db".into()), ..up };
        assert_eq!(health(&remote).health, Health::Sound);
    }

    #[test]
    fn a_worker_in_trouble_is_a_finding() {
        let worker = |state: &str| Worker { state: state.into(), ..Worker::default() };
        assert_eq!(model(&worker("off")).health, Health::Sound);
        assert_eq!(model(&worker("unusable")).health, Health::Failed);
    }

    #[test]
    fn a_fault_that_can_be_mended_has_a_next_step() {
        let steps = |check: Check, fix| next_steps(&[Check::failed("disk", "x"), check], fix).join("\n");
        assert_eq!(steps(Check::sound("index", "x"), false), "");
        assert_eq!(steps(Check::failed("events", "x"), false), "", "nothing repairs it");
        assert_eq!(steps(Check::repairable("index", "x"), false), "`cerebro doctor --fix` repairs index");
        assert_eq!(steps(Check::repairable("index", "x"), true), "", "it was tried");
        assert_eq!(steps(Check::repairable("jobs", "x").repaired(), true), "");
        assert!(!steps(Check::repairable("jobs", "x"), false).contains("retry"), "none was given up");
        assert!(steps(Check::failed("jobs", "x"), false).contains("jobs retry"));
        assert!(steps(Check::failed("journal", "x"), true).contains("work verify"));
    }

    #[test]
    fn what_the_daemon_says_is_taken_over() {
        let row = |check: &str, state: &str| {
            let (check, state, repairable) = (check.into(), state.into(), state == "fault");
            read_check(&upkeep::Check { check, state, words: "w".into(), repairable })
        };
        for state in ["ok", "fault", "fixed", "unknown"] {
            assert_eq!(row("index", state).unwrap().health.as_str(), state);
        }
        assert_eq!(row("index", "fault"), Some(Check::repairable("index", "w")));
        assert_eq!(row("strange", "ok"), None);
        assert_eq!(unknown("x").len(), CHECKS.len());
    }
}
