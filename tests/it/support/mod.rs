//! Helpers around the real program: homes, agents, replies, repositories.
//!
//! Everything that waits has a deadline, and a test that misses it says what it waited for.

mod agent;
mod browser;
mod disk;
mod faulty_disk;
mod faulty_provider;
mod home;
pub mod http;
mod import;
mod model;
mod network;
mod provider;
mod reply;
mod repository;
mod running;
mod screens;
mod store;
pub mod surreal;
pub mod transcripts;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

pub use agent::{Agent, Pump};
pub use browser::Browser;
pub use disk::Disk;
pub use faulty_disk::FaultyDisk;
pub use faulty_provider::{Behavior, FaultyProvider};
pub use home::{Finished, Home, finish, kill, tree, write};
pub use import::memory_line;
pub use model::{library, model_files, model_folder, model_home};
pub use network::{Watch, internet_sockets};
pub use provider::{Provider, Scene};
pub use reply::{Reply, assert_keys};
pub use repository::Repository;
pub use running::Running;
pub use screens::Screens;
pub use serde_json::{Value, json};
pub use store::alter;
pub use surreal::Surreal;

/// The program under test.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_cerebro");

/// Longest wait for one answer: long, because a machine may be busy with other tests.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// The pause between two checks of a condition that is waited for.
pub const POLL_EVERY: Duration = Duration::from_millis(10);

/// Settings that let agents purge, which by default only people may. Goes before every `[table]`.
pub const AGENTS_MAY_PURGE: &str = "agent_hard_delete = true\n";

/// The published tools, in the order of the contract: those of the golden list.
pub static TOOLS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    static GOLDEN: LazyLock<Value> =
        LazyLock::new(|| serde_json::from_str(include_str!("../../golden/tools.json")).unwrap());
    let tools = GOLDEN.as_array().unwrap();
    tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect()
});

/// Waits until `condition` gives a value.
///
/// # Panics
/// After [`DEADLINE`], naming `what`.
pub fn wait_for<T>(what: &str, condition: impl FnMut() -> Option<T>) -> T {
    wait_within(DEADLINE, what, condition)
}

/// As [`wait_for`], for what takes the program itself so long.
pub fn wait_within<T>(deadline: Duration, what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(value) = condition() {
            return value;
        }
        assert!(start.elapsed() < deadline, "waited {deadline:?} in vain for: {what}");
        std::thread::sleep(POLL_EVERY);
    }
}

/// The size of a heavy test: `full` is what the issue names; `CEREBRO_TEST_SCALE` multiplies it.
pub fn scaled(full: usize) -> usize {
    let scale = std::env::var("CEREBRO_TEST_SCALE").ok().and_then(|text| text.parse::<f64>().ok());
    let scaled = full as f64 * scale.unwrap_or(1.0);
    (scaled.round() as usize).max(1)
}

/// Says why this test, or the rest of it, cannot run on this machine. Under `CI` that is a failure: there,
/// what a test needs has to be installed.
///
/// # Panics
/// Where the variable `CI` is set to anything but `false` or `0`.
#[track_caller]
pub fn skip(reason: &str) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    let in_ci = std::env::var("CI").is_ok_and(|value| !matches!(value.as_str(), "" | "0" | "false"));
    assert!(!in_ci, "{test} was skipped under CI: {reason}");
    // Printed straight to the terminal, because the output of a passing test is not shown.
    let _ = writeln!(std::io::stderr(), "skipped: {test}: {reason}");
}

/// All files below `folder`.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

/// Copies a folder with everything in it.
pub fn copy(from: &Path, into: &Path) {
    std::fs::create_dir_all(into).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        let target = into.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// `n` different words that look like prose to an index: letters only.
pub fn word(n: usize) -> String {
    let mut n = n + 26 * 26;
    let mut out = String::new();
    while n > 0 {
        out.push(char::from(b'a' + (n % 26) as u8));
        n /= 26;
    }
    // The last letter is one that no stemmer removes.
    format!("w{out}q")
}
