//! Starting a daemon that outlives its starter.

use std::io;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::process::{Child, Command};

use crate::home::Home;
use crate::platform;

/// Size from which the log is set aside as `daemon.log.old`, in place of the one before.
const LOG_BYTES_MAX: u64 = 5 * 1024 * 1024;
/// How much of the log's end is looked at for its last line.
const LOG_TAIL_BYTES: u64 = 4 * 1024;

/// The exit code of a starter that cannot use the settings: the next one could not either.
pub const MISCONFIGURED: u8 = 4;

/// Why no daemon was started.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// The log cannot be written.
    #[error("cannot write the daemon's log {path}: {source}")]
    Log { path: PathBuf, source: io::Error },
    /// The program cannot be run.
    #[error("cannot start the daemon ({program}): {source}; was cerebro moved? install it again")]
    Program { program: PathBuf, source: io::Error },
    /// The program cannot begin anew.
    #[error("cannot begin anew with the daemon's settings: {source}; start it with them: {settings}")]
    Anew { settings: String, source: io::Error },
}

/// Starts `cerebro daemon run --detached --home ROOT`, with its standard error in the log. The child only
/// starts the daemon and ends, see [`orphan`]; the runtime reaps it when it is dropped.
///
/// # Errors
/// [`SpawnError`], which names the file at fault.
pub fn spawn(home: &Home) -> Result<Child, SpawnError> {
    let path = home.log_file();
    let log = open_log(&path).map_err(|source| SpawnError::Log { path, source })?;
    let program = platform::own_program()
        .map_err(|source| SpawnError::Program { program: "cerebro".into(), source })?;
    Command::new(&program)
        .args(["daemon", "run", "--detached", "--home"])
        .arg(home.root())
        .args(on_database(home))
        // The starter's folder may be unmounted or removed while the daemon lives.
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .envs(lean_memory())
        .spawn()
        .map_err(|source| SpawnError::Program { program, source })
}

/// Starts the daemon proper, for a process that then ends: the daemon is nobody's child. Some agents
/// end the whole family of a server they started, and the daemon serves others too.
///
/// # Errors
/// [`SpawnError::Program`]
pub fn orphan(home: &Home) -> Result<(), SpawnError> {
    let program = platform::own_program()
        .map_err(|source| SpawnError::Program { program: "cerebro".into(), source })?;
    std::process::Command::new(&program)
        .args(["daemon", "run", "--detached", "--orphan", "--home"])
        .arg(home.root())
        .args(on_database(home))
        .spawn()
        .map(drop)
        .map_err(|source| SpawnError::Program { program, source })
}

/// The option that names a database elsewhere, if one was asked for.
fn on_database(home: &Home) -> impl Iterator<Item = &str> {
    home.database().into_iter().flat_map(|url| ["--db", url])
}

/// Sees to the settings of a daemon that was not started by [`spawn`] but by a person, a container or a service
/// manager: where one is missing, the program begins anew in this process, with all of them.
///
/// # Errors
/// [`SpawnError::Anew`]. A process in which that failed is not what it was, and has to end.
pub fn with_lean_memory() -> Result<(), SpawnError> {
    let missing: Vec<_> = lean_memory().collect();
    if missing.is_empty() {
        return Ok(());
    }
    let settings =
        missing.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ");
    let arguments = std::env::args_os().skip(1);
    let begun = platform::own_program()
        .map(|program| std::process::Command::new(program).args(arguments).envs(missing).exec());
    let (Ok(source) | Err(source)) = begun;
    Err(SpawnError::Anew { settings, source })
}

/// Settings that the engine and the heap read from the environment only, and that keep a daemon which
/// is mostly idle small: fewer threads for blocking work, one arena, from which free pages go back to the system at
/// once, and short messages on the live endpoint, which are read before anybody has
/// signed in. What the user has set stays.
fn lean_memory() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lean = [
        ("SURREAL_KVS_THREADPOOL_SIZE", "4"),
        ("MALLOC_CONF", "narenas:1,dirty_decay_ms:200,muzzy_decay_ms:0,lg_tcache_max:13"),
        ("SURREAL_WEBSOCKET_MAX_MESSAGE_SIZE", "1048576"),
        ("SURREAL_HTTP_MAX_RPC_BODY_SIZE", "1048576"),
    ];
    lean.into_iter().filter(|(name, _)| std::env::var_os(name).is_none())
}

fn open_log(path: &Path) -> io::Result<std::fs::File> {
    let size = std::fs::metadata(path).map_or(0, |found| found.len());
    if size >= LOG_BYTES_MAX {
        std::fs::rename(path, path.with_extension("log.old"))?;
    }
    platform::append_private_file(path)
}

/// The last line of the daemon's log, for error messages; empty when there is none.
pub fn last_log_line(home: &Home) -> String {
    let tail = || -> io::Result<String> {
        let mut file = std::fs::File::open(home.log_file())?;
        let size = file.metadata()?.len();
        file.seek(SeekFrom::Start(size.saturating_sub(LOG_TAIL_BYTES)))?;
        let mut bytes = Vec::new();
        file.take(LOG_TAIL_BYTES).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    let tail = tail().unwrap_or_default();
    tail.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_log_is_set_aside() {
        let temp = tempfile::tempdir().unwrap();
        let home = Home::open(Some(&temp.path().join("h"))).unwrap();
        assert_eq!(last_log_line(&home), "");
        let path = home.log_file();
        let full = vec![b'x'; usize::try_from(LOG_BYTES_MAX).unwrap()];
        std::fs::write(&path, &full[1..]).unwrap();
        drop(open_log(&path).unwrap());
        assert!(!home.root().join("daemon.log.old").exists());
        std::fs::write(&path, &full).unwrap();
        drop(open_log(&path).unwrap());
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 0);
        assert_eq!(std::fs::metadata(home.root().join("daemon.log.old")).unwrap().len(), LOG_BYTES_MAX);
        std::fs::write(&path, "one\ntwo \n\n").unwrap();
        assert_eq!(last_log_line(&home), "two");
    }
}
