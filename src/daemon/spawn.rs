//! Starts a daemon that runs on when the process that started it ends.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Stdio;

use tokio::process::{Child, Command};

use super::log;
use crate::home::{Home, HomeError};
use crate::platform;
use cerebro_models::embed::NO_TELEMETRY;

/// Variables that a daemon inherits: locations on this machine, language and time zone, proxies, and those that this
/// program and its libraries read. Variables with keys are added by the names in the settings. All others concern
/// only the shell in which the daemon was started: it runs for days and serves other shells, too.
const INHERITED: [&str; 26] = [
    "HOME", "PATH", "USER", "LOGNAME", "TMPDIR", "LANG", "LANGUAGE", "TZ", "LD_LIBRARY_PATH", "LD_PRELOAD",
    "http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY",
    "NO_PROXY", "MALLOC_CONF", "RUST_BACKTRACE", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME",
    "GEMINI_CLI_HOME", "QWEN_HOME", "QWEN_RUNTIME_DIR",
];
/// Prefixes of further inherited variables.
const INHERITED_PREFIXES: [&str; 7] = ["CEREBRO_", "XDG_", "LC_", "SSL_", "ORT_", "SURREAL_", "DYLD_"];

/// The exit code if the settings are invalid. Another attempt would fail, too.
pub const MISCONFIGURED: u8 = 4;

/// Why no daemon was started.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// The home is missing and cannot be created.
    #[error(transparent)]
    Home(#[from] HomeError),
    #[error("cannot write the daemon's log {path}: {source}")]
    Log { path: PathBuf, source: io::Error },
    #[error("cannot start the daemon ({program}): {source}; if cerebro was moved, install it again")]
    Program { program: PathBuf, source: io::Error },
    /// The program cannot execute itself again.
    #[error("cannot restart with the daemon's environment: {source}; start it with {settings}")]
    Restart { settings: String, source: io::Error },
}

/// Starts `cerebro daemon run --detached --home ROOT`, with the log as its standard error. The child only starts the
/// daemon and ends: see [`orphan`]. The runtime reaps it when it is dropped.
pub fn spawn(home: &Home) -> Result<Child, SpawnError> {
    // A person who wants to start from nothing may have removed it meanwhile.
    Home::open(Some(home.root()))?;
    let log = log::open(home).map_err(|source| SpawnError::Log { path: home.log_file(), source })?;
    let program = platform::own_program()
        .map_err(|source| SpawnError::Program { program: "cerebro".into(), source })?;
    Command::new(&program)
        .args(["daemon", "run", "--detached", "--home"])
        .arg(home.root())
        .args(on_database(home))
        // The present working folder may be unmounted or removed while the daemon runs.
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .envs(missing_settings())
        .spawn()
        .map_err(|source| SpawnError::Program { program, source })
}

/// Starts the daemon itself, in a process that ends right after that, so that the daemon is no descendant of an agent.
/// Some agents kill all descendants of a server that they started, but the daemon serves other agents, too. It inherits
/// the variables in [`INHERITED`] and those `named` by the settings.
pub fn orphan(home: &Home, named: &[&str]) -> Result<(), SpawnError> {
    let program = platform::own_program()
        .map_err(|source| SpawnError::Program { program: "cerebro".into(), source })?;
    std::process::Command::new(&program)
        .args(["daemon", "run", "--detached", "--orphan", "--home"])
        .arg(home.root())
        .args(on_database(home))
        .env_clear()
        .envs(std::env::vars_os().filter(|(name, _)| is_inherited(name, named)))
        .spawn()
        .map(drop)
        .map_err(|source| SpawnError::Program { program, source })
}

/// Whether a daemon inherits a variable.
fn is_inherited(name: &OsStr, named: &[&str]) -> bool {
    let Some(name) = name.to_str() else { return false };
    INHERITED.contains(&name)
        || named.contains(&name)
        || INHERITED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// The option that names a database on a server, if one was requested.
fn on_database(home: &Home) -> impl Iterator<Item = &str> {
    home.database().into_iter().flat_map(|url| ["--db", url])
}

/// Makes sure that this process has the [`SETTINGS`], which libraries read from the environment only. If one is
/// missing, the program executes itself again with all of them. This is for processes that [`spawn`] did not start: a
/// daemon that a person, a container or a service manager started, and a command that runs a model itself. A process in
/// which this failed is in an undefined state and must end.
pub fn with_settings() -> Result<(), SpawnError> {
    let missing: Vec<_> = missing_settings().collect();
    if missing.is_empty() {
        return Ok(());
    }
    let settings =
        missing.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ");
    let arguments = std::env::args_os().skip(1);
    let begun = platform::own_program()
        .map(|program| std::process::Command::new(program).args(arguments).envs(missing).exec());
    let (Ok(source) | Err(source)) = begun;
    Err(SpawnError::Restart { settings, source })
}

/// Whether a value that the user has set takes precedence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Precedence {
    /// The user's value counts: it concerns memory and speed.
    Users,
    /// The program's value counts: users rely on it.
    Ours,
}

/// Settings that the engine, the allocator and ONNX Runtime read from the environment only.
const SETTINGS: [(&str, &str, Precedence); 5] = [
    // These save memory in a daemon that is mostly idle: fewer threads for blocking work, and one arena that returns
    // free pages to the system at once.
    ("SURREAL_KVS_THREADPOOL_SIZE", "4", Precedence::Users),
    ("MALLOC_CONF", "narenas:1,dirty_decay_ms:200,muzzy_decay_ms:0,lg_tcache_max:13", Precedence::Users),
    // Bounds messages on the live endpoint, because the engine reads them before the client has signed in.
    ("SURREAL_WEBSOCKET_MAX_MESSAGE_SIZE", "1048576", Precedence::Users),
    ("SURREAL_HTTP_MAX_RPC_BODY_SIZE", "1048576", Precedence::Users),
    // Nothing leaves the machine unless the user configured it.
    (NO_TELEMETRY.0, NO_TELEMETRY.1, Precedence::Ours),
];

/// The settings that this process, and therefore its children, lack.
fn missing_settings() -> impl Iterator<Item = (&'static str, &'static str)> {
    lacking(|name| std::env::var_os(name))
}

fn lacking(
    environment: impl Fn(&str) -> Option<OsString>,
) -> impl Iterator<Item = (&'static str, &'static str)> {
    let lacks = move |(name, value, precedence): &(&str, &str, Precedence)| match environment(name) {
        None => true,
        Some(set) => *precedence == Precedence::Ours && set != *value,
    };
    SETTINGS.into_iter().filter(lacks).map(|(name, value, _)| (name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_user_set_stays_but_for_what_the_program_promises() {
        assert_eq!(lacking(|_| None).count(), SETTINGS.len());
        let all = |name: &str| SETTINGS.iter().find(|it| it.0 == name).map(|it| OsString::from(it.1));
        assert_eq!(lacking(all).count(), 0, "begun again once and no more");
        let other = lacking(|_| Some("0".into())).collect::<Vec<_>>();
        assert_eq!(other, [NO_TELEMETRY]);
    }

    #[test]
    fn only_what_a_daemon_needs_is_kept_of_the_environment() {
        let named = ["MY_KEY"];
        for name in
            ["HOME", "PATH", "MY_KEY", "CEREBRO_DB_PASSWORD", "XDG_RUNTIME_DIR", "LC_CTYPE", "no_proxy"]
        {
            assert!(is_inherited(OsStr::new(name), &named), "{name}");
        }
        for name in ["GITHUB_TOKEN", "MY_KEY_2", "AWS_SECRET_ACCESS_KEY", "PIP_INDEX_URL", "OLDPWD", "HOMES"]
        {
            assert!(!is_inherited(OsStr::new(name), &named), "{name}");
        }
    }
}
