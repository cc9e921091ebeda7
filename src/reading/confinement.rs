//! Confines the process that reads documents: it can only compute, within bounds, and use its standard streams.

use rustix::process::{Resource, Rlimit, setrlimit};

use super::{CPU_MAX, MEMORY_MAX};

/// Number of a process's open streams: input, output and errors.
const STREAMS: u64 = 3;

/// Confines this process for the rest of its life. Returns whether the kernel refuses it everything but computing and its
/// streams, which not every system can do. Otherwise only the bounds that the system has and the caller's timeout hold.
pub(super) fn confine() -> bool {
    bound();
    refuse_calls().inspect_err(|error| tracing::debug!(%error, "cannot confine the reader")).is_ok()
}

fn bound() {
    let limit = |most: u64| Rlimit { current: Some(most), maximum: Some(most) };
    // On Linux, `Data` counts private memory that the process can write to. On other systems it leaves out mapped
    // memory, so the address space is bounded instead.
    let memory = if cfg!(target_os = "linux") { Resource::Data } else { Resource::As };
    let bounds = [
        (memory, MEMORY_MAX),
        (Resource::Cpu, CPU_MAX.as_secs()),
        (Resource::Core, 0),
        // Its streams are open already. With this bound it can open neither a file nor a socket.
        (Resource::Nofile, STREAMS),
    ];
    for (resource, most) in bounds {
        if let Err(error) = setrlimit(resource, limit(most)) {
            tracing::debug!(%error, "cannot set a bound of the reader");
        }
    }
}

/// Makes the kernel refuse every system call except those that a computation needs. Even if a malicious file takes over the
/// code that reads it, that code cannot open, change, rename or remove a file, reach the network, or start, stop or see a
/// process.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
fn refuse_calls() -> Result<(), seccompiler::Error> {
    use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter_all_threads};
    // A list of allowed calls stays right when the kernel gets new ones.
    const ALLOWED: [libc::c_long; 22] = [
        // The streams.
        libc::SYS_read,
        libc::SYS_readv,
        libc::SYS_write,
        libc::SYS_writev,
        libc::SYS_close,
        // Memory.
        libc::SYS_brk,
        libc::SYS_madvise,
        libc::SYS_mmap,
        libc::SYS_mprotect,
        libc::SYS_mremap,
        libc::SYS_munmap,
        // Locks and waits.
        libc::SYS_futex,
        libc::SYS_restart_syscall,
        libc::SYS_sched_yield,
        // The clock, and seeds of hash tables.
        libc::SYS_clock_gettime,
        libc::SYS_getrandom,
        // Its own end, also after a stack overflow.
        libc::SYS_exit,
        libc::SYS_exit_group,
        libc::SYS_rt_sigaction,
        libc::SYS_rt_sigprocmask,
        libc::SYS_rt_sigreturn,
        libc::SYS_sigaltstack,
    ];
    let rules = ALLOWED.into_iter().map(|call| (call, Vec::new())).collect();
    let refusal = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let machine = std::env::consts::ARCH.try_into()?;
    let filter: BpfProgram = SeccompFilter::new(rules, refusal, SeccompAction::Allow, machine)?.try_into()?;
    apply_filter_all_threads(&filter)
}

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
fn refuse_calls() -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs::{self, File};
    use std::io::{ErrorKind, Result};
    use std::net::TcpListener;
    use std::net::TcpStream;
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::os::unix::process::CommandExt as _;
    use std::path::{Path, PathBuf};
    use std::process::Command;

    use rustix::process::{Pid, Signal, kill_process};

    use super::*;

    /// The variable that names the folder in which the confined process tries forbidden calls.
    const FOLDER: &str = "CEREBRO_TEST_CONFINED_IN";
    const PORT: &str = "CEREBRO_TEST_CONFINED_PORT";

    /// What code that a file has taken over might try, each with its result.
    fn deeds(folder: &Path, port: u16, parent: Pid) -> Vec<(&'static str, Result<()>)> {
        let (kept, new) = (folder.join("kept"), folder.join("new"));
        vec![
            ("open", File::open(&kept).map(drop)),
            ("create", File::create(&new).map(drop)),
            ("remove", fs::remove_file(&kept)),
            ("rename", fs::rename(&kept, &new)),
            ("link", fs::hard_link(&kept, &new)),
            ("symlink", symlink(&kept, &new)),
            ("mode", fs::set_permissions(&kept, fs::Permissions::from_mode(0o777))),
            ("folder", fs::create_dir(&new)),
            ("list", fs::read_dir(folder).map(drop)),
            ("look", fs::metadata(&kept).map(drop)),
            ("enter", std::env::set_current_dir(folder)),
            ("socket", UnixStream::connect(folder.join("socket")).map(drop)),
            ("network", TcpStream::connect(("127.0.0.1", port)).map(drop)),
            ("thread", std::thread::Builder::new().spawn(|| ()).map(drop)),
            ("process", Command::new("true").status().map(drop)),
            ("signal", kill_process(parent, Signal::CONT).map_err(Into::into)),
            // This one returns only if it fails.
            ("exec", Err(Command::new("true").exec())),
        ]
    }

    #[test]
    #[ignore = "confines its process; the test below starts it in one of its own"]
    fn in_a_confined_process() {
        let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
        let port = std::env::var(PORT).unwrap().parse().unwrap();
        let parent = rustix::process::getppid().unwrap();
        println!("confined: {}", confine());
        println!("small: {}", Vec::<u8>::new().try_reserve_exact(64 << 20).is_ok());
        println!("large: {}", Vec::<u8>::new().try_reserve_exact(513 << 20).is_ok());
        for (deed, outcome) in deeds(&folder, port, parent) {
            println!("{deed}: {:?}", outcome.map_err(|error| error.kind()));
        }
    }

    #[test]
    fn a_confined_process_only_computes() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("kept"), "kept").unwrap();
        let _socket = UnixListener::bind(folder.path().join("socket")).unwrap();
        let network = TcpListener::bind("127.0.0.1:0").unwrap();
        let inside = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "reading::confinement::tests::in_a_confined_process"])
            .args(["--ignored", "--nocapture"])
            .env(FOLDER, folder.path())
            .env(PORT, network.local_addr().unwrap().port().to_string())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&inside.stdout);
        let said = |deed: &str| text.lines().find_map(|line| line.strip_prefix(&format!("{deed}: ")));
        assert_eq!(said("confined"), Some("true"), "{inside:?}");
        assert_eq!((said("small"), said("large")), (Some("true"), Some("false")), "{inside:?}");
        let refused = format!("Err({:?})", ErrorKind::PermissionDenied);
        for deed in [
            "open", "create", "remove", "rename", "link", "symlink", "mode", "folder", "list", "look",
            "enter", "socket", "network", "thread", "process", "signal", "exec",
        ] {
            assert_eq!(said(deed), Some(refused.as_str()), "{deed}: {inside:?}");
        }
        let files = fs::read_dir(folder.path()).unwrap().count();
        assert_eq!((files, fs::read(folder.path().join("kept")).unwrap()), (2, b"kept".to_vec()));
    }
}
