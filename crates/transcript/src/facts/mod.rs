//! What exchanges prove, by rules and without a model: files, commands and their outcomes, errors and their fixes,
//! what the person refused or decided.
//!
//! Each rule was measured and is right most of the time. Guessing standing instructions, corrections and
//! decisions from the wording of prompts was mostly wrong, so it is left out.

mod command;
mod error;
mod shell;

use cerebro_core::text;
use serde::{Deserialize, Serialize};

pub use command::{Command, goes_on};
pub use error::{Failure, Fix, error_line};

use crate::limits::ITEMS_MAX;
use crate::tool::headline;
use crate::turn::{Action, Call, Exchange, Outcome, Question, Stop, Todo, Turn};

/// The facts of one exchange. Everything but numbers is text from the transcript, as redacted as the exchange was.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Facts {
    /// Files that were changed, relative to the working directory where they are below it. Plans and other
    /// files of the host, and temporary ones, are not among them.
    pub edited: Vec<String>,
    /// Files that were read.
    pub read: Vec<String>,
    /// Commands of families that are worth finding again.
    pub commands: Vec<Command>,
    /// Commands that failed, and their fixes.
    pub failures: Vec<Failure>,
    /// What the person refused.
    pub refusals: Vec<Refusal>,
    /// The person interrupted.
    pub interrupted: bool,
    /// Commits that were made.
    pub commits: Vec<Commit>,
    /// Addresses of pull requests.
    pub pull_requests: Vec<String>,
    /// Plans that were proposed.
    pub plans: Vec<Plan>,
    /// Questions that the person answered.
    pub answers: Vec<Answer>,
    /// Changes of the to-do list.
    pub to_do: Option<ToDo>,
    /// The agent's last words, if they are long enough to say what was done.
    pub reply: Option<String>,
    /// The last summary of a compaction.
    pub summary: Option<String>,
}

/// A call that the person refused: a strong sign, whose reason comes with it or in the next prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    pub tool: String,
    /// What it was to do, in a line.
    pub what: String,
    /// What the person said.
    pub said: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commit {
    /// Its short id, where Git printed it.
    pub id: Option<String>,
    /// The first line of its message.
    pub subject: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The plan.
    pub text: String,
    /// Whether the person accepted it; `None` if the transcript does not record it.
    pub accepted: Option<bool>,
}

/// What the person answered to questions with offered answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// What was asked.
    pub questions: Vec<Question>,
    /// The answer, in the host's words.
    pub answer: String,
}

/// The facts of each exchange of a session, in order. The fix of an error may be in a later exchange.
pub fn of(exchanges: &[Exchange]) -> Vec<Facts> {
    let mut all: Vec<Facts> = exchanges.iter().map(one).collect();
    for (index, failure) in error::failures(exchanges) {
        if let Some(facts) = all.get_mut(index) {
            push(&mut facts.failures, failure);
        }
    }
    all
}

/// The changes that an exchange made to the to-do list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToDo {
    /// The whole list, and not only items that changed.
    pub whole: bool,
    /// The items; with a status only where an earlier exchange has the text.
    pub items: Vec<Todo>,
}

fn to_do(exchange: &Exchange) -> Option<ToDo> {
    let mut changed: Option<ToDo> = None;
    for call in exchange.calls() {
        let Action::Todo { items } = &call.action else { continue };
        let is_of_one = call.is_of_one_task();
        // Without an id, no later call could be joined with it.
        if is_of_one && items.iter().all(|item| item.id.is_empty()) {
            continue;
        }
        let known = changed.get_or_insert_with(|| ToDo { whole: false, items: Vec::new() });
        match items.as_slice() {
            // A change of one item, or a new one.
            [one] if is_of_one => match known.items.iter_mut().find(|item| item.id == one.id) {
                Some(item) => {
                    if !one.status.is_empty() {
                        item.status.clone_from(&one.status);
                    }
                }
                None => push(&mut known.items, one.clone()),
            },
            list => *known = ToDo { whole: true, items: list.to_vec() },
        }
    }
    changed
}

/// The two words that say what a command line is about, such as `cargo test`. Later commands of the same kind have
/// the same two words.
pub fn about(line: &str) -> Option<String> {
    command::head(line)
}

/// The commands of a line that are recorded where it was run, in the words in which they are ([`Command::line`]). Empty for
/// a line of which nothing is recorded.
pub fn recorded(line: &str) -> Vec<String> {
    command::recorded(line)
}

fn push<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if list.len() < ITEMS_MAX && !list.contains(&item) {
        list.push(item);
    }
}

fn one(exchange: &Exchange) -> Facts {
    let mut facts = Facts::default();
    let cwd = exchange.cwd.as_deref().unwrap_or("");
    for turn in &exchange.turns {
        match turn {
            Turn::Call(call) => of_call(&mut facts, call, cwd),
            Turn::Compaction { summary, .. } if !summary.is_empty() => facts.summary = Some(summary.clone()),
            Turn::Stopped { by: Stop::Person, .. } => facts.interrupted = true,
            Turn::PullRequest { url, .. } => push(&mut facts.pull_requests, url.clone()),
            _ => {}
        }
    }
    add_files(&mut facts.edited, &exchange.touched, cwd);
    facts.to_do = to_do(exchange);
    facts.reply = last_words(exchange);
    facts
}

fn of_call(facts: &mut Facts, call: &Call, cwd: &str) {
    if let Outcome::Rejected { said } = &call.outcome {
        let refusal = Refusal { tool: call.tool.clone(), what: headline(call), said: said.clone() };
        push(&mut facts.refusals, refusal);
    }
    let done = call.outcome == Outcome::Done;
    match &call.action {
        Action::Edit { paths, .. } if done => add_files(&mut facts.edited, paths, cwd),
        Action::Read { paths } if done => add_files(&mut facts.read, paths, cwd),
        Action::Command { line } => {
            for command in command::notable(line, call) {
                push(&mut facts.commands, command);
            }
            let commits = if done { command::commits(line, &call.output) } else { Vec::new() };
            for commit in commits {
                push(&mut facts.commits, commit);
            }
        }
        Action::Plan { text } if !text.is_empty() => {
            let accepted = match call.outcome {
                Outcome::Done => Some(true),
                Outcome::Rejected { .. } => Some(false),
                _ => None,
            };
            push(&mut facts.plans, Plan { text: text.clone(), accepted });
        }
        Action::Ask { questions } if done => {
            push(&mut facts.answers, Answer { questions: questions.clone(), answer: call.output.clone() });
        }
        _ => {}
    }
}

fn add_files(files: &mut Vec<String>, paths: &[String], cwd: &str) {
    for path in paths.iter().filter_map(|path| project_file(path, cwd)) {
        push(files, path);
    }
}

/// The path of a file of the project, below the working directory where it is. `None` for the host's own
/// files and for temporary ones.
fn project_file(path: &str, cwd: &str) -> Option<String> {
    const HOSTS: [&str; 7] = [
        "/.claude/plans/", "/.claude/projects/", "/.claude/todos/", "/.codex/memories/", "/.gemini/tmp/",
        "/.cursor/plans/", "/.git/",
    ];
    const TEMPORARY: [&str; 5] = ["/tmp/", "/private/tmp/", "/var/tmp/", "/var/folders/", "/dev/"];
    let slashed = path.replace('\\', "/");
    let is_hosts = HOSTS.into_iter().any(|at| slashed.contains(at) || slashed.starts_with(&at[1..]));
    if slashed.is_empty() || is_hosts {
        return None;
    }
    if let Some(below) = text::below(&cwd.replace('\\', "/"), &slashed) {
        return Some(below.to_owned());
    }
    let temporary = TEMPORARY.iter().any(|folder| slashed.starts_with(folder))
        || slashed.contains("/AppData/Local/Temp/");
    (!temporary).then_some(slashed)
}

/// The last reply, unless it is short, the service failed after it, or work was still going on.
fn last_words(exchange: &Exchange) -> Option<String> {
    const CHARS_MIN: usize = 200;
    for turn in exchange.turns.iter().rev() {
        match turn {
            Turn::Reply { text, .. } => return (text.chars().count() > CHARS_MIN).then(|| text.clone()),
            Turn::Stopped { by: Stop::Service, .. } => return None,
            Turn::Call(call) if call.outcome == Outcome::Pending => return None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests;
