//! Errors of commands, and what made them go away.

use serde::{Deserialize, Serialize};

use super::command;
use crate::clip::{first_line, start};
use crate::limits::FIX_COMMANDS_MAX;
use crate::turn::{Action, Call, Exchange, Outcome};

/// A command that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The command line, its first line.
    pub command: String,
    /// The line of its output that names the error.
    pub error: String,
    /// The error without its variable parts, by which repetitions are recognised.
    pub key: String,
    /// The exit status, where the transcript has it.
    pub exit: Option<i32>,
    /// What fixed it, if that happened soon.
    pub fix: Option<Fix>,
}

/// A command of the same kind that succeeded afterwards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fix {
    /// The command.
    pub command: String,
    /// Whether it is the same command: the fix lies in the edits between.
    pub same: bool,
    /// Files that were edited between the two.
    pub edited: Vec<String>,
}

/// The failures of each exchange, by its index.
pub(super) fn failures(exchanges: &[Exchange]) -> Vec<(usize, Failure)> {
    let calls: Vec<(usize, &str, &Call)> = exchanges
        .iter()
        .enumerate()
        .flat_map(|(index, exchange)| {
            let cwd = exchange.cwd.as_deref().unwrap_or("");
            exchange.calls().map(move |call| (index, cwd, call))
        })
        .collect();
    let mut all = Vec::new();
    for (at, (index, _, call)) in calls.iter().enumerate() {
        let Action::Command { line } = &call.action else { continue };
        if call.outcome != Outcome::Failed || is_an_answer(line, call) {
            continue;
        }
        let error = error_line(&call.output);
        let fix = fix(line, &calls[at + 1..]);
        let command = start(first_line(line), crate::limits::NAME_BYTES_MAX).to_owned();
        all.push((
            *index,
            Failure { command, key: key(error), error: error.to_owned(), exit: call.exit, fix },
        ));
    }
    all
}

/// Searches and comparisons answer by their status: 1 is no error.
fn is_an_answer(line: &str, call: &Call) -> bool {
    const ASKING: [&str; 8] = ["grep", "rg", "test", "[", "diff", "cmp", "which", "pgrep"];
    let head = command::head(line).unwrap_or_default();
    let asking = head.split_whitespace().next().is_some_and(|first| ASKING.contains(&first));
    let quiet = call.output.trim().is_empty();
    call.exit.is_none_or(|exit| exit == 1) && (asking || quiet)
}

fn fix(line: &str, later: &[(usize, &str, &Call)]) -> Option<Fix> {
    let head = command::head(line)?;
    let mut edited = Vec::new();
    let mut commands = 0;
    for (_, cwd, call) in later {
        match &call.action {
            Action::Edit { paths, .. } if call.outcome == Outcome::Done => {
                super::add_files(&mut edited, paths, cwd);
            }
            Action::Command { line: next } => {
                commands += 1;
                if call.outcome == Outcome::Done && command::head(next).as_ref() == Some(&head) {
                    let command = start(first_line(next), crate::limits::NAME_BYTES_MAX).to_owned();
                    return Some(Fix { command, same: next.trim() == line.trim(), edited });
                }
            }
            _ => {}
        }
        if commands >= FIX_COMMANDS_MAX {
            return None;
        }
    }
    None
}

/// The line that names the error: the first with a word of failure, else the first line with any text.
fn error_line(output: &str) -> &str {
    const WORDS: [&str; 12] = [
        "error", "fatal", "panic", "exception", "failed", "failure", "cannot", "not found", "undefined",
        "denied", "no such", "unknown",
    ];
    const LINE_BYTES: usize = 400;
    let has_failure_word = |line: &&str| {
        let line = start(line, LINE_BYTES).to_lowercase();
        WORDS.iter().any(|word| line.contains(word))
    };
    let line = output.lines().map(str::trim).filter(|line| !line.is_empty()).find(has_failure_word);
    start(line.unwrap_or_else(|| first_line(output)), LINE_BYTES)
}

/// Numbers, ids and folders differ from one time to the next; the rest of an error does not.
fn key(line: &str) -> String {
    let plain = |word: &str| -> String {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '/' && c != '.');
        let hex = bare.len() >= 7 && bare.bytes().all(|byte| byte.is_ascii_hexdigit());
        if hex && bare.bytes().any(|byte| byte.is_ascii_digit()) {
            return word.replace(bare, "#");
        }
        let word = if bare.starts_with('/') { word.rsplit('/').next().unwrap_or(word) } else { word };
        let mut out = String::with_capacity(word.len());
        for c in word.chars() {
            if !c.is_ascii_digit() {
                out.push(c);
            } else if !out.ends_with('#') {
                out.push('#');
            }
        }
        out
    };
    line.split_whitespace().map(plain).collect::<Vec<_>>().join(" ")
}
