//! Errors of commands, and what made them go away.

use serde::{Deserialize, Serialize};

use super::command;
use crate::clip::start;
use crate::limits::FIX_COMMANDS_MAX;
use crate::turn::{Action, Call, Exchange, Outcome};

/// A command that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The command line. Of several lines, the last command.
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
        let (command, key) = (command::shown(line), key(error));
        all.push((*index, Failure { command, key, error: error.to_owned(), exit: call.exit, fix }));
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
                if command::succeeded(next, call) && command::head(next).as_ref() == Some(&head) {
                    let same = next.trim() == line.trim();
                    return Some(Fix { command: command::shown(next), same, edited });
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

/// The line that names the error best: the first one that says what went wrong, such as `error[E0502]: cannot borrow`.
/// Otherwise the first one that says that something failed, such as `test a ... FAILED`; otherwise the first one that sums
/// up; otherwise the first line.
pub fn error_line(output: &str) -> &str {
    const LINE_BYTES: usize = 400;
    let is_report = output.starts_with("Command: ");
    let said = |line| if is_report { of_report(line) } else { line };
    let lines = output.lines().map(str::trim).map(said).filter(|line| !line.is_empty());
    let ranked = lines.filter_map(|line| Some((rank(start(line, LINE_BYTES))?, line)));
    // `min_by_key` returns the first of several equal ones.
    let named = ranked.min_by_key(|(rank, _)| *rank).map(|(_, line)| line);
    let any = || output.lines().map(str::trim).map(said).find(|line| !line.is_empty()).unwrap_or("");
    start(named.unwrap_or_else(any), LINE_BYTES)
}

/// The output of the command in a line of Gemini CLI's report. Empty for the other fields of the report, and where a field
/// says that there is no output.
fn of_report(line: &str) -> &str {
    const OUTPUTS: [&str; 4] = ["Output: ", "Stdout: ", "Stderr: ", "Error: "];
    const OTHERS: [&str; 6] =
        ["Command: ", "Directory: ", "Exit Code: ", "Signal: ", "Background PIDs: ", "Process Group PGID: "];
    if OTHERS.iter().any(|field| line.starts_with(field)) {
        return "";
    }
    let text = OUTPUTS.iter().find_map(|field| line.strip_prefix(field)).unwrap_or(line).trim();
    if matches!(text, "(none)" | "(empty)") { "" } else { text }
}

/// How well a line names an error, 0 the best; `None` if it names none.
fn rank(line: &str) -> Option<u8> {
    const CAUSES: [&str; 17] = [
        "error:", "error[", "fatal:", "exception:", "panicked at", "panic:", "assertion", "cannot", "can't",
        "not found", "undefined", "denied", "no such", "unknown", "expected", "unresolved", "refused",
    ];
    const WORDS: [&str; 5] = ["error", "fatal", "panic", "exception", "fail"];
    const SUMS: [&str; 9] = [
        "test failed, to rerun", "could not compile", "aborting due to", "previous error", "targets failed",
        "recipe for target", "process completed with", "exited with", "test result:",
    ];
    let line = line.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| line.contains(word));
    if fails(&line) == Some(false) {
        None
    } else if has(&SUMS) || line.starts_with("make") && line.contains("***") {
        Some(2)
    } else if has(&CAUSES) {
        Some(0)
    } else {
        has(&WORDS).then_some(1)
    }
}

/// Whether a line, in small letters, says that something failed, or that nothing did (`0 failed`, `no errors`); `None` if it
/// has no such word.
fn fails(line: &str) -> Option<bool> {
    const WORDS: [&str; 9] =
        ["failed", "fail", "failure", "failures", "error", "errors", "fatal", "panicked", "traceback"];
    let words: Vec<&str> = line
        .split(|c: char| c.is_whitespace() || "[]():;,=".contains(c))
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
        .filter(|word| !word.is_empty())
        .collect();
    let is_none = |at: usize, word: &str| {
        let before = at.checked_sub(1).is_some_and(|at| matches!(words[at], "0" | "no" | "without"));
        before || [": 0", "=0"].iter().any(|zero| line.contains(&format!("{word}{zero}")))
    };
    let said = words.iter().enumerate().filter(|(_, word)| WORDS.contains(word));
    said.map(|(at, word)| !is_none(at, word)).reduce(|any, one| any || one)
}

/// Whether a command succeeded, by what build and test tools print at their end; `None` if the output does not show it.
pub(super) fn outcome_of(output: &str) -> Option<bool> {
    const PASSED: [&str; 12] = [
        "test result: ok", " passed", "0 failed", "0 failures", "0 errors", "no errors", "build success",
        "finished `", "finished dev", "finished release", "compiled successfully", "no issues found",
    ];
    let mut passed = None;
    for line in output.lines().map(|line| line.trim().to_lowercase()) {
        // The name of a test that passed may contain such a word.
        let is_passed_test = line.ends_with(" ok") || line.starts_with(['✓', '✔', '√']);
        if fails(&line) == Some(true) && !is_passed_test {
            return Some(false);
        }
        // Go's tool prints `ok`, the package and the time.
        let is_go = line.starts_with("ok ") && line.contains('\t');
        let says_so =
            PASSED.iter().any(|sign| line.contains(sign)) || line == "pass" || line == "ok" || is_go;
        passed = passed.or(says_so.then_some(true));
    }
    passed
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
