//! How much memory the patterns of secrets and the rules for suspicious text take, after they have seen a file:
//! `cargo run --release -p cerebro-core --example resident -- FILE`
//!
//! Each paragraph of the file is looked at alone, as a memory is: by one thread, and then by [`THREADS`] at once. The
//! figures are the growth of the process's own memory, in kB, as Linux counts it.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "it reads, measures and prints; the rules do not"
)]

use cerebro_core::domain::Origin;
use cerebro_core::{redact::redact_text, taint};

type BoxError = Box<dyn std::error::Error>;

/// As many threads as serve calls on a machine of four processors.
const THREADS: usize = 4;

/// The process's own memory, in kB.
fn own() -> Result<u64, BoxError> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).ok_or("no RssAnon")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

fn grown(what: &str, work: impl FnOnce()) -> Result<(), BoxError> {
    let before = own()?;
    work();
    println!("{what:32} {:>6} kB", own()?.saturating_sub(before));
    Ok(())
}

fn main() -> Result<(), BoxError> {
    let file = std::env::args().nth(1).ok_or("name a file")?;
    let text = std::fs::read_to_string(file)?;
    let screen = || text.split("\n\n").for_each(|part| drop(taint::of("", part, Origin::Agent)));
    grown("patterns of secrets", || text.split("\n\n").for_each(|part| drop(redact_text(part))))?;
    grown("rules for suspicious text", screen)?;
    grown(&format!("the same in {THREADS} threads"), || {
        std::thread::scope(|scope| (0..THREADS).for_each(|_| drop(scope.spawn(screen))));
    })
}
