//! Importing sessions while the daemon is killed repeatedly: in the end the store has what a clean import gives.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::client::Home;
use super::operator::Operator;
use super::table::{Row, Target};
use cerebro_core::operation::Operation;

/// How often it is killed.
const KILLS: u64 = 50;
/// Longest wait for an import.
const WAIT: Duration = Duration::from_mins(10);

/// How many lines of an export differ after the kills.
pub fn row(data: &Path, sessions: usize) -> Result<Row> {
    let (clean, home) = (furnished(data, sessions)?, furnished(data, sessions)?);
    import(&clean)?;
    finish(&clean)?;
    let mut kills = 0;
    while kills < KILLS {
        import(&home)?;
        // At another moment each time; once the import is complete, it starts again in an empty home.
        std::thread::sleep(Duration::from_millis(11 * (kills % 23)));
        let pid = home.daemon_pid()?.context("the daemon runs")?;
        let killed = Command::new("kill").args(["-9", &pid.to_string()]).status()?;
        ensure!(killed.success(), "the daemon {pid} could not be killed");
        kills += 1;
    }
    import(&home)?;
    finish(&home)?;
    let (wanted, got) = (exported(&clean)?, exported(&home)?);
    let differing = wanted.iter().filter(|line| got.binary_search(line).is_err()).count()
        + got.iter().filter(|line| wanted.binary_search(line).is_err()).count();
    let name = "lines of an export that differ after 50 times kill -9";
    Ok(Row::new(name, wanted.len(), differing as f64, "", Target::AtMost(0.0)))
}

fn furnished(data: &Path, sessions: usize) -> Result<Home> {
    let home = Home::new()?;
    let folder = home.path().join(".claude/projects/-data");
    fs::create_dir_all(&folder)?;
    let mut files: Vec<_> = fs::read_dir(data)?.flatten().map(|entry| entry.path()).collect();
    files.sort();
    let is_session = |path: &&std::path::PathBuf| {
        path.extension().is_some_and(|ending| ending == "jsonl") && !path.ends_with("facts.jsonl")
    };
    for path in files.iter().filter(is_session).take(sessions) {
        let copy = folder.join(path.file_name().context("a file has a name")?);
        fs::copy(path, &copy)?;
        // As old as the session, because the last turn of a recently written file is left for later.
        fs::File::options().append(true).open(copy)?.set_modified(path.metadata()?.modified()?)?;
    }
    Ok(home)
}

fn import(home: &Home) -> Result<()> {
    home.run(&["history", "import", "--yes", "--since", "0", "--no-wait"])
}

fn finish(home: &Home) -> Result<()> {
    let operator = Operator::connect(home.path())?;
    let begun = Instant::now();
    while begun.elapsed() < WAIT {
        let status: Value = operator.call(Operation::HistoryStatus, json!({}))?;
        if status["state"] == "idle" {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    bail!("the import did not end within {WAIT:?}")
}

/// The lines of an export about sessions, in order.
fn exported(home: &Home) -> Result<Vec<String>> {
    let file = home.path().join("all.jsonl");
    home.run(&["export", &file.to_string_lossy()])?;
    let text = fs::read_to_string(file)?;
    let mut lines: Vec<String> = text.lines().skip(1).map(str::to_owned).collect();
    lines.sort();
    Ok(lines)
}
