//! The daemon's use of memory and processor. Linux only.

use anyhow::{Context, Result};

use super::client::Home;

/// Ticks of the clock in a second, in which Linux gives processor time to programs, on every processor.
const TICKS: f64 = 100.0;

fn read_proc(home: &Home, file: &str) -> Result<String> {
    let pid = home.daemon_pid()?.context("no daemon runs")?;
    let path = format!("/proc/{pid}/{file}");
    std::fs::read_to_string(&path).with_context(|| format!("read {path}"))
}

/// Resident memory of the daemon, in bytes.
pub fn resident_bytes(home: &Home) -> Result<u64> {
    let status = read_proc(home, "status")?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).context("no VmRSS line")?;
    let kib: u64 = line.split_whitespace().nth(1).context("VmRSS without a number")?.parse()?;
    Ok(kib * 1_024)
}

/// Processor time that the daemon has taken since its start, in milliseconds.
pub fn processor_ms(home: &Home) -> Result<f64> {
    let stat = read_proc(home, "stat")?;
    // The 12th and 13th field after the name in parentheses, which may contain anything.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
    let ticks = fields.map(|field| Ok(field.parse::<f64>()?)).collect::<Result<Vec<_>>>()?;
    Ok(ticks.iter().sum::<f64>() * 1_000.0 / TICKS)
}
