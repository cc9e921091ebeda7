//! Everything that depends on the operating system (Linux and macOS): users, modes, sessions, signals, the program's
//! own file. To port the program to another system, begin here.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::future::Future;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use rustix::fs::{Access, Mode, OFlags};
use tokio::net::UnixStream;
use tokio::signal::unix::{SignalKind, signal};

/// The reason given by [`privacy_fault`] for a folder with bits for group or others.
pub const OPEN_TO_OTHERS: &str = "other users can enter it";

pub fn user_id() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Whether a process of this user with that id is running.
pub fn is_alive(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok())
}

/// The parent of this process and, if known, the grandparent: a shell may be between an agent and what it runs.
pub fn ancestors() -> Vec<u32> {
    let parent = std::os::unix::process::parent_id();
    let stat = std::fs::read_to_string(format!("/proc/{parent}/stat")).unwrap_or_default();
    // The name in brackets may contain anything; state and parent follow it.
    let grandparent =
        stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse().ok());
    // Process 1 adopts orphans, so it does not identify an agent.
    [Some(parent), grandparent].into_iter().flatten().filter(|pid| *pid > 1).collect()
}

/// How long ago this process started, including the time that the machine slept. It is at most a few hundredths of a
/// second too low and never too high. `None` if the system does not report it.
pub fn own_age() -> Option<Duration> {
    // Linux reports start times in hundredths of a second, whatever the kernel's own tick rate.
    const TICK_MS: u64 = 10;
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The name in brackets may contain anything. 19 fields come between it and the time of the start.
    let ticks: u64 = stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()?;
    let uptime = fs::read_to_string("/proc/uptime").ok()?;
    let now = Duration::try_from_secs_f64(uptime.split_whitespace().next()?.parse().ok()?).ok()?;
    now.checked_sub(Duration::from_millis((ticks + 1) * TICK_MS))
}

/// Makes files that this process and its children create from now on accessible only to this user, unless a file sets
/// another mode.
pub fn keep_private() {
    rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
}

/// Creates a folder and its missing parents, each with mode 0700.
pub fn create_private_dir_all(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// Removes the permissions of group and others.
pub fn close_to_others(path: &Path) -> io::Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(0o700))
}

/// Removes the permissions of group and others from a file, or from a socket.
pub fn close_file_to_others(path: &Path) -> io::Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))
}

/// Why `dir` is not private; `None` if it is a real folder, belongs to this user, and gives no permissions to others.
pub fn privacy_fault(dir: &Path) -> io::Result<Option<&'static str>> {
    let found = fs::symlink_metadata(dir)?;
    Ok(if found.file_type().is_symlink() {
        Some("it is a symbolic link")
    } else if !found.is_dir() {
        Some("it is not a folder")
    } else if found.uid() != user_id() {
        Some("it belongs to another user")
    } else if found.mode() & 0o077 != 0 {
        Some(OPEN_TO_OTHERS)
    } else {
        None
    })
}

/// The system's folder for this user's sockets, if there is one and it is private: `$XDG_RUNTIME_DIR` or its usual
/// path.
pub fn runtime_dir() -> Option<PathBuf> {
    let named = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|dir| dir.is_absolute());
    let usual = PathBuf::from(format!("/run/user/{}", user_id()));
    let is_fit = |dir: &PathBuf| dir.to_str().is_some() && matches!(privacy_fault(dir), Ok(None));
    named.into_iter().chain([usual]).find(is_fit)
}

/// Whether files can be created in `dir`. Detects a read-only file system, too, even for root. The error says why not.
pub fn check_writable(dir: &Path) -> io::Result<()> {
    Ok(rustix::fs::access(dir, Access::WRITE_OK | Access::EXEC_OK)?)
}

/// Opens a file for reading and writing that only this user may access, creating it if it is missing.
pub fn open_private_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

/// Opens a file for reading without blocking. Without this, a named pipe would block the thread until a process writes
/// to it.
pub fn open_without_waiting(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

/// The bytes of a regular file, at most `bytes_max`. Does not block.
pub fn read_file(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    Ok(read_bounded(&open_without_waiting(path)?, bytes_max)?.0)
}

/// The bytes of an open regular file, at most `bytes_max`, and its metadata before they were read. Fails with
/// `InvalidInput` if it is not a regular file, and with `FileTooLarge` if it has more bytes.
pub fn read_bounded(file: &File, bytes_max: u64) -> io::Result<(Vec<u8>, Metadata)> {
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file"));
    }
    let mut bytes = Vec::new();
    // A file may grow while it is read.
    if found.len() <= bytes_max {
        file.take(bytes_max + 1).read_to_end(&mut bytes)?;
    }
    if found.len() > bytes_max || bytes.len() as u64 > bytes_max {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is too large"));
    }
    Ok((bytes, found))
}

/// Opens a file below a folder for reading, one part of the path after the other. Does not follow symbolic links and
/// does not block. Fails on a symbolic link in the path.
pub fn open_below(folder: &Path, way: &[Component<'_>]) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
    let mut place: OwnedFd = File::open(folder)?.into();
    for (at, part) in way.iter().enumerate() {
        let is_last = at + 1 == way.len();
        let more = if is_last { OFlags::NONBLOCK | OFlags::NOCTTY } else { OFlags::DIRECTORY };
        place = rustix::fs::openat(&place, part.as_os_str(), flags | more, Mode::empty())?;
    }
    Ok(place.into())
}

/// A name that identifies a folder among all others on this machine, even if it is moved on its disk: device, inode and
/// time of creation. `None` if the file system does not record the time, because inodes are reused.
pub fn lasting_name(found: &Metadata) -> Option<String> {
    let made = found.created().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(format!("folder {}-{}-{}", found.dev(), found.ino(), made.as_nanos()))
}

/// Opens a file for appending that only this user may access, creating it if it is missing.
pub fn append_private_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

/// What was done with a file; `None` if the file is missing, which is not an error here.
pub fn if_there<T>(done: io::Result<T>) -> io::Result<Option<T>> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        done => done.map(Some),
    }
}

/// Removes a file. A missing file is not an error.
pub fn remove_file_if_there(path: &Path) -> io::Result<()> {
    if_there(fs::remove_file(path)).map(drop)
}

/// The device and inode of a file, which identify it as long as it exists.
pub type FileIdentity = (u64, u64);

/// The identity of the file at `path`; `None` if there is none.
pub fn file_identity(path: &Path) -> Option<FileIdentity> {
    fs::symlink_metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

/// The identity of an open file, which may no longer be the file at its path.
pub fn open_file_identity(file: &File) -> io::Result<FileIdentity> {
    file.metadata().map(|found| (found.dev(), found.ino()))
}

/// The user at the other end of a connection.
pub fn peer_user_id(stream: &UnixStream) -> io::Result<u32> {
    Ok(stream.peer_cred()?.uid())
}

/// Leaves the terminal and process group of the process that started this one, so that a signal to them does not end
/// the daemon. Does nothing if this process already leads a group.
pub fn detach() {
    if let Err(error) = rustix::process::setsid() {
        tracing::debug!(%error, "cannot start a session of its own");
    }
}

/// The file of the running program. If it was replaced after the start, Linux marks the path with a suffix. Then this
/// is the replacement.
pub fn own_program() -> io::Result<PathBuf> {
    let program = std::env::current_exe()?;
    Ok(without_deleted_mark(program))
}

fn without_deleted_mark(program: PathBuf) -> PathBuf {
    if program.exists() {
        return program;
    }
    let stripped = program.to_str().and_then(|text| text.strip_suffix(" (deleted)"));
    stripped.map(PathBuf::from).unwrap_or(program)
}

/// Completes when the process is asked to end by SIGTERM, SIGINT or SIGHUP.
pub fn termination() -> io::Result<impl Future<Output = ()> + Send> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hangup = signal(SignalKind::hangup())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            _ = hangup.recv() => {}
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replaced_program_is_the_one_in_its_place() {
        let temp = tempfile::tempdir().unwrap();
        let program = temp.path().join("cerebro");
        let marked = temp.path().join("cerebro (deleted)");
        assert_eq!(without_deleted_mark(program.clone()), program);
        assert_eq!(without_deleted_mark(marked.clone()), program);
        fs::write(&marked, "").unwrap();
        assert_eq!(without_deleted_mark(marked.clone()), marked);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_knows_its_age() {
        // The exact age is unknown, but it is less than the machine's uptime.
        let age = own_age().unwrap_or_default();
        let uptime = fs::read_to_string("/proc/uptime").unwrap();
        assert!(age.as_secs_f64() < uptime.split(' ').next().unwrap().parse().unwrap());
    }

    #[test]
    fn living_processes_are_seen() {
        assert!(is_alive(std::process::id()));
        assert!(!is_alive(0) && !is_alive(u32::MAX));
    }
}
