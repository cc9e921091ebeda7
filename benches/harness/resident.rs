//! What the daemon takes of the machine's memory.

use anyhow::{Context, Result};

use super::client::Home;

/// Resident memory of the daemon, in bytes. Linux only.
pub fn resident_bytes(home: &Home) -> Result<u64> {
    let pid = home.daemon_pid()?.context("no daemon runs")?;
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).context("no VmRSS line")?;
    let kib: u64 = line.split_whitespace().nth(1).context("VmRSS without a number")?.parse()?;
    Ok(kib * 1_024)
}
