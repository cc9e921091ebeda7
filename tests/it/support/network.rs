//! The internet sockets of processes, by `/proc`. Unix sockets are not among them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use super::{Home, wait_for};

/// The tables of sockets that could lead off the machine.
const TABLES: [&str; 6] = ["tcp", "tcp6", "udp", "udp6", "raw", "raw6"];
/// The pause between two checks: looking up a name takes longer, above all where no server answers.
const CHECK_EVERY: Duration = Duration::from_millis(2);

/// The sockets of the internet that a process has open: kind, own address and the other side's, as the kernel writes
/// them. None for a process that is gone.
pub fn internet_sockets(pid: u32) -> BTreeSet<String> {
    let own: BTreeSet<String> = fs::read_dir(format!("/proc/{pid}/fd"))
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| fs::read_link(entry.path()).ok())
        .filter_map(|target| Some(target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned()))
        .collect();
    if own.is_empty() {
        return BTreeSet::new();
    }
    let mut known = BTreeMap::new();
    for table in TABLES {
        let text = fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap_or_default();
        for line in text.lines().skip(1) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            if let (Some(near), Some(far), Some(inode)) = (fields.get(1), fields.get(2), fields.get(9)) {
                known.insert((*inode).to_owned(), format!("{table} {near} {far}"));
            }
        }
    }
    own.iter().filter_map(|inode| known.get(inode).cloned()).collect()
}

/// Watches the processes of a home until the result is asked for.
pub struct Watch {
    stop: Arc<AtomicBool>,
    checks: Arc<AtomicUsize>,
    thread: JoinHandle<BTreeSet<String>>,
}

impl Watch {
    /// Begins to watch.
    pub fn begin(home: &Arc<Home>) -> Self {
        let (stop, checks) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let (home, ended, counted) = (Arc::clone(home), Arc::clone(&stop), Arc::clone(&checks));
        let thread = std::thread::spawn(move || {
            let mut seen = BTreeSet::new();
            while !ended.load(Ordering::SeqCst) {
                let processes = home.processes();
                for pid in &processes {
                    seen.extend(internet_sockets(*pid));
                }
                counted.fetch_add(processes.len(), Ordering::SeqCst);
                std::thread::sleep(CHECK_EVERY);
            }
            seen
        });
        Self { stop, checks, thread }
    }

    /// Ends after a hundred more checks of the processes that run now; returns the sockets that were seen.
    pub fn end(self) -> BTreeSet<String> {
        let before = self.checks.load(Ordering::SeqCst);
        wait_for("the processes to be looked at", || {
            (self.checks.load(Ordering::SeqCst) >= before + 100).then_some(())
        });
        self.stop.store(true, Ordering::SeqCst);
        self.thread.join().unwrap()
    }
}
