//! `cerebro daemon`: the process that serves all agents.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::time::{Duration, Instant};

use super::prelude::*;
use super::serve::HttpArgs;
use super::setup::autostart;
use crate::answer::daemon::Status;
use crate::app::App;
use crate::cli::table::duration;
use crate::config::{Config, ConfigError, unless_zero};
use crate::daemon::spawn::MISCONFIGURED;
use crate::home::Home;
use crate::platform::if_there;
use crate::{
    daemon::{self, Options, RunError, lock},
    platform,
};
use cerebro_core::redact;

/// How long a daemon may take to finish its calls and close its store.
const STOP_MAX: Duration = Duration::from_secs(50);
const STOP_POLL: Duration = Duration::from_millis(20);
/// How long the process may take to end after it has released the home.
const END_MAX: Duration = Duration::from_secs(5);
/// How much of the log's end is read, in bytes.
const LOG_BYTES_MAX: u64 = 1024 * 1024;
/// How often a followed log is polled.
const LOG_POLL: Duration = Duration::from_millis(250);

#[derive(Debug, Subcommand)]
pub enum DaemonCommand {
    /// Start the daemon if it is not running, and wait until it answers
    Start,
    /// Let the daemon finish its calls and exit, and wait until it is gone
    Stop,
    /// Stop the daemon and start it again, for example after a change of config.toml
    Restart,
    /// Show whether the daemon runs, since when, and for how many clients
    Status,
    /// Show the end of the daemon's log
    Logs(LogsArgs),
    /// Start the daemon with your session: a systemd user unit, or on macOS a launchd agent
    ///
    /// The command shows the file before it writes it, and replaces no file of yours. The daemon still ends after
    /// `idle_exit` without a call, and the next call starts it again; `idle_exit = "0"` in config.toml keeps it
    /// running.
    Install(autostart::InstallArgs),
    /// Remove what `install` added
    Uninstall(autostart::UninstallArgs),
    /// Run the daemon in this process
    #[command(hide = true)]
    Run(RunArgs),
}

#[derive(Debug, Args)]
pub struct LogsArgs {
    /// Show the last N lines
    #[arg(long, value_name = "N", default_value_t = 50)]
    lines: usize,
    /// Show new lines as they come, until interrupted (Ctrl-C)
    #[arg(short, long)]
    follow: bool,
}

#[derive(Debug, Args)]
pub struct RunArgs {
    /// Leave the terminal and the process group
    #[arg(long)]
    detached: bool,
    /// Run as the daemon itself, not as the process that starts it
    #[arg(long, requires = "detached")]
    orphan: bool,
    #[command(flatten)]
    http: HttpArgs,
}

/// Runs the daemon until it is stopped or idle.
pub async fn serve(context: &CommandContext, args: RunArgs) -> Result<()> {
    // The log's last line is what a client shows when its daemon does not come up.
    run_daemon(context, &args)
        .await
        .map_err(|error| Error::user(text::one_line(&error.to_string())).with_exit_code(error.exit_code()))
}

async fn run_daemon(context: &CommandContext, args: &RunArgs) -> Result<()> {
    let home = context.home()?;
    let is_starter = args.detached && !args.orphan;
    let misconfigured = |error: ConfigError| {
        let error = Error::from(error);
        if is_starter { error.with_exit_code(MISCONFIGURED) } else { error }
    };
    let config = Config::read(&home.config_file()).map_err(misconfigured)?;
    let settings = config.settings_in(&home).map_err(misconfigured)?;
    // Not earlier, so that a client waiting for the daemon gets the error about unusable settings.
    if is_starter {
        return daemon::spawn::orphan(&home, &config.variables()).map_err(Error::user);
    }
    redact::configure(config.redaction);
    daemon::spawn::with_settings().map_err(Error::user)?;
    let options = Options { idle_exit: unless_zero(config.idle_exit), detached: args.detached };
    let own = home.clone();
    let embedding = config.embedding(&home);
    let history = Config::history(&home);
    let serve = |control| {
        let app = App::open(own, settings, embedding, history, control);
        if args.http.is_given() {
            app.serve_http(args.http.options());
        }
        app
    };
    let run = daemon::run(&home, options, serve).await;
    run.map_err(|error: RunError| Error::user(&error).with_exit_code(error.exit_code()))
}

pub async fn run(context: &CommandContext, command: DaemonCommand) -> Result<()> {
    let home = match command {
        DaemonCommand::Install(args) => return autostart::install(context, &args).await,
        DaemonCommand::Uninstall(args) => return autostart::uninstall(context, &args).await,
        _ => context.home()?,
    };
    match command {
        DaemonCommand::Start => start(context, &home).await,
        DaemonCommand::Stop => stop(context, &home).await,
        DaemonCommand::Restart => {
            dismiss(&home).await?;
            start(context, &home).await
        }
        DaemonCommand::Status => status(context, &home).await,
        DaemonCommand::Logs(args) => logs(context, &home.log_file(), &args).await,
        DaemonCommand::Run(_) | DaemonCommand::Install(_) | DaemonCommand::Uninstall(_) => {
            Err(Error::internal("this command is answered without the daemon"))
        }
    }
}

async fn start(context: &CommandContext, home: &Home) -> Result<()> {
    let status = Daemon::reach(home).await?.read(Request::new(of::Status)).await?;
    show_status(context, &status)
}

async fn status(context: &CommandContext, home: &Home) -> Result<()> {
    let Some(daemon) = Daemon::running(home).await? else {
        context.output.json(&json!({ "running": false }))?;
        context
            .output
            .note("no daemon is running; the first call of an agent or `cerebro daemon start` starts it");
        return Err(Error::reported());
    };
    let status = daemon.read(Request::new(of::Status)).await?;
    show_status(context, &status)
}

fn show_status(context: &CommandContext, status: &Received<Status>) -> Result<()> {
    // The command that asks is connected too, and gone when this is read.
    let clients = status.clients.saturating_sub(1);
    let mut raw = status.raw().clone();
    raw["clients"] = json!(clients);
    raw["running"] = json!(true);
    context.output.json(&raw)?;
    let backup = status.backup.as_ref();
    let journal = status.journal.as_ref();
    context.output.facts(&[
        ("running", "yes".to_owned()),
        ("pid", shown(&status.pid)),
        ("version", shown(&status.version)),
        ("started", context.output.moment(&status.started_at)),
        ("up for", duration(status.uptime_s)),
        ("clients", clients.to_string()),
        ("store", shown(&status.store)),
        ("home", shown(&status.home)),
        ("database", shown(&status.database)),
        ("HTTP", shown(&status.http)),
        ("last backup", context.output.moment(&backup.and_then(|backup| backup.made_at.as_ref()))),
        ("backup failed", shown(&backup.and_then(|backup| backup.failure.as_ref()))),
        (
            "journal degraded",
            context.output.moment(&journal.and_then(|journal| journal.degraded_until.as_ref())),
        ),
        ("events missing", shown(&journal.map(|journal| journal.missed).filter(|missed| *missed > 0))),
        ("damaged keys", shown(&journal.and_then(|journal| journal.damaged_keys.as_ref()))),
    ])
}

async fn stop(context: &CommandContext, home: &Home) -> Result<()> {
    let Some(pid) = dismiss(home).await? else {
        context.output.json(&json!({ "running": false, "stopped": false }))?;
        context.output.note("no daemon was running");
        return Ok(());
    };
    context.output.json(&json!({ "running": false, "stopped": true, "pid": pid }))?;
    context.output.note(&format!("the daemon (process {pid}) has stopped"));
    Ok(())
}

/// Asks the daemon to finish its calls and end. Returns its process id; `None` if none was running.
pub(super) async fn dismiss(home: &Home) -> Result<Option<u32>> {
    let Some(daemon) = Daemon::running(home).await? else { return Ok(None) };
    let pid = daemon.read(Request::new(of::Stop)).await?.pid;
    // It waits for its clients to leave.
    drop(daemon);
    if !wait_until(STOP_MAX, || !owns(home, pid)).await {
        let words = format!("the daemon (process {pid}) is still busy after {} s", STOP_MAX.as_secs());
        return Err(Error::internal(words).hint("`cerebro daemon logs` shows what it does"));
    }
    wait_until(END_MAX, || !platform::is_alive(pid)).await;
    Ok(Some(pid))
}

/// Whether process `pid` still owns the home. Another daemon may own it by now.
fn owns(home: &Home, pid: u32) -> bool {
    lock::is_held(home) && lock::owner(home).is_none_or(|owner| owner.pid == pid)
}

/// Waits for a condition, within a bound. Returns whether it was met.
async fn wait_until(bound: Duration, mut came: impl FnMut() -> bool) -> bool {
    let begun = Instant::now();
    while !came() {
        if begun.elapsed() >= bound {
            return false;
        }
        tokio::time::sleep(STOP_POLL).await;
    }
    true
}

async fn logs(context: &CommandContext, path: &Path, args: &LogsArgs) -> Result<()> {
    let size = std::fs::metadata(path).map_or(0, |found| found.len());
    let from = size.saturating_sub(LOG_BYTES_MAX);
    let bytes = read_from(path, from)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines = last_lines(&text, args.lines);
    if context.output.json(&json!({ "file": path.display().to_string(), "lines": lines }))? {
        return Ok(());
    }
    if lines.is_empty() {
        context.output.note(&format!("{} holds nothing", path.display()));
    } else {
        context.output.text(&lines.join("\n"))?;
    }
    if args.follow { follow(context, path, from + bytes.len() as u64).await } else { Ok(()) }
}

/// Prints complete lines as they are added to the log, until the process is ended.
async fn follow(context: &CommandContext, path: &Path, mut shown_to: u64) -> Result<()> {
    loop {
        tokio::time::sleep(LOG_POLL).await;
        if std::fs::metadata(path).is_ok_and(|found| found.len() < shown_to) {
            // The log was rotated.
            shown_to = 0;
        }
        let mut bytes = read_from(path, shown_to)?;
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        bytes.truncate(whole);
        if whole > 0 {
            context.output.text(&String::from_utf8_lossy(&bytes))?;
            shown_to += whole as u64;
        }
    }
}

/// At most [`LOG_BYTES_MAX`] of the log, starting at a byte; empty if there is no log yet.
fn read_from(path: &Path, from: u64) -> Result<Vec<u8>> {
    let read = || -> io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        file.take(LOG_BYTES_MAX).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let read = if_there(read()).map(Option::unwrap_or_default);
    read.map_err(|error| Error::file("read", path, &error))
}

fn last_lines(text: &str, count: usize) -> Vec<&str> {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_shown() {
        for (text, count, want) in
            [("", 5, &[][..]), ("a\nb\nc\n", 2, &["b", "c"]), ("a\nb", 5, &["a", "b"]), ("a\n", 0, &[])]
        {
            assert_eq!(last_lines(text, count), want, "{text:?}");
        }
    }

    #[tokio::test]
    async fn waiting_has_a_bound() {
        assert!(wait_until(Duration::from_secs(5), || true).await);
        assert!(!wait_until(Duration::from_millis(30), || false).await);
    }
}
