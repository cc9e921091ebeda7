//! Commands that are worth finding again, and the commits that they made.

use cerebro_core::domain::COMMAND_CUT;
use serde::{Deserialize, Serialize};

use super::shell::{self, Part};
use super::{Commit, error};
use crate::clip::{first_line, start, whole_start};
use crate::limits::NAME_BYTES_MAX;
use crate::turn::{Call, Outcome};

/// A command that was run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// The command, without what stood before it in the line and without filters of its output. Of one that is long, or that a
    /// text of several lines belongs to, the beginning and `…` ([`COMMAND_CUT`]).
    pub line: String,
    /// Whether it succeeded. If the exit status may belong to another command of the line, such as a filter, the output
    /// decides for the last one. `None` if neither shows it, and for a command that goes on in the background.
    pub ok: Option<bool>,
}

/// First words of commands that build, test, run, deliver or look into running things.
const FAMILIES: [&str; 112] = [
    "alembic", "ansible", "ansible-playbook", "apt", "apt-get", "aws", "az", "bazel", "brew", "buf", "bun",
    "bundle", "cabal", "cargo", "clang", "cmake", "composer", "curl", "cypress", "dart", "deno", "docker",
    "docker-compose", "dotnet", "dune", "elixir", "eslint", "flutter", "fly", "gcc", "gcloud", "gh", "ghc",
    "git", "glab", "go", "gofmt", "golangci-lint", "gotestsum", "gradle", "gradlew", "helm", "heroku", "iex",
    "java", "javac", "jest", "journalctl", "julia", "just", "kubectl", "make", "maturin", "meson", "mise",
    "mix", "mvn", "mypy", "mysql", "netlify", "ninja", "nix", "node", "npm", "npx", "nx", "opam", "php",
    "phpunit", "pip", "pip3", "playwright", "pnpm", "podman", "poetry", "pre-commit", "prettier", "prisma",
    "protoc", "psql", "pytest", "python", "python3", "rails", "rake", "redis-cli", "rspec", "ruby", "ruff",
    "rustc", "rustup", "sbt", "sqlite3", "stack", "supabase", "swift", "systemctl", "task", "terraform",
    "tofu", "tox", "tsc", "tsx", "turbo", "uv", "vercel", "vite", "vitest", "wrangler", "xcodebuild", "yarn",
    "zig",
];
/// Git's commands that only look.
const LOOKING: [&str; 13] = [
    "status", "diff", "log", "show", "branch", "blame", "rev-parse", "ls-files", "remote", "config", "grep",
    "cat-file", "describe",
];
/// Commands whose output is what others wrote: an error in it is not theirs.
const SHOWING: [&str; 14] = [
    "aws", "az", "curl", "gcloud", "gh", "git", "glab", "journalctl", "kubectl", "mysql", "psql",
    "redis-cli", "sqlite3", "systemctl",
];
/// Commands that only prepare others, or only say something.
const PREPARING: [&str; 5] = ["cd", "echo", "export", "set", "source"];
/// Of a longer command, only the beginning tells it from others.
const LINE_BYTES_MAX: usize = 240;

/// The commands of a line that are worth keeping. None if it is not known to have been run.
pub(super) fn notable(line: &str, call: &Call) -> Vec<Command> {
    if !matches!(call.outcome, Outcome::Done | Outcome::Failed) {
        return Vec::new();
    }
    let command = |(part, ok): (Part<'_>, _)| Some(Command { line: kept(&part)?, ok });
    outcomes(line, call).into_iter().filter_map(command).collect()
}

/// Whether the last command of a line succeeded, as far as is known.
pub(super) fn succeeded(line: &str, call: &Call) -> bool {
    outcomes(line, call).last().is_some_and(|(_, ok)| *ok == Some(true))
}

/// The commands of a line that would be kept, as they are kept.
pub(super) fn recorded(line: &str) -> Vec<String> {
    commands(line).iter().filter_map(kept).collect()
}

/// The commands of a line, without those that only prepare others.
fn commands(line: &str) -> Vec<Part<'_>> {
    let mut parts = shell::parts(line);
    parts.retain(|part| words(part.text).next().is_some() && !is_any(part, &PREPARING));
    parts
}

fn is_any(part: &Part<'_>, names: &[&str]) -> bool {
    words(part.text).next().is_some_and(|first| names.contains(&first))
}

/// Whether the output of a command says that it goes on in the background, so that its outcome is not known yet.
pub fn goes_on(output: &str) -> bool {
    const BEGINNINGS: [&str; 3] = [
        "Command running in background with ID: ",
        "Command was manually backgrounded by user with ID: ",
        "Command moved to background (PID: ",
    ];
    // Codex says it below its chunk and its time, before what the command printed.
    let mut head = output.lines().take_while(|line| *line != "Output:").take(3);
    BEGINNINGS.iter().any(|words| output.starts_with(words))
        || head.any(|line| line.starts_with("Process running with session ID "))
}

/// The commands of a line, and whether each succeeded, as far as is known.
fn outcomes<'a>(line: &'a str, call: &Call) -> Vec<(Part<'a>, Option<bool>)> {
    let parts = commands(line);
    let last = parts.len().saturating_sub(1);
    let is_alone = parts.iter().filter(|part| !part.is_followed).count() == 1;
    let ok = |(index, part): (usize, Part<'a>)| {
        let is_hidden = part.is_filtered || part.is_followed;
        let ok = match call.outcome {
            Outcome::Done if goes_on(&call.output) => None,
            Outcome::Done | Outcome::Failed if is_hidden && index == last && !is_any(&part, &SHOWING) => {
                error::outcome_of(&call.output)
            }
            _ if is_hidden => None,
            Outcome::Done => Some(true),
            // Of a chain, only the whole is known to have failed.
            Outcome::Failed => is_alone.then_some(false),
            _ => None,
        };
        (part, ok)
    };
    parts.into_iter().enumerate().map(ok).collect()
}

/// A command as it is kept: in one line, and if it is long, its beginning. `None` if it is not worth keeping.
fn kept(part: &Part<'_>) -> Option<String> {
    let line = one_line(part);
    is_known(&line).then_some(line)
}

fn one_line(part: &Part<'_>) -> String {
    let joined = part.text.split("\\\n").map(str::trim).collect::<Vec<_>>().join(" ");
    let line = joined.trim();
    if line.len() <= LINE_BYTES_MAX && !part.is_cut {
        return line.to_owned();
    }
    format!("{}{COMMAND_CUT}", whole_start(line, LINE_BYTES_MAX - COMMAND_CUT.len()))
}

/// A line as facts show it: of several lines, the command that they are about.
pub(super) fn shown(line: &str) -> String {
    let line = line.trim();
    match commands(line).last() {
        Some(about) if line.contains('\n') => one_line(about),
        _ => start(first_line(line), NAME_BYTES_MAX).to_owned(),
    }
}

/// The words of a command after assignments and words that only start others.
fn words(command: &str) -> impl Iterator<Item = &str> {
    let skipped = |word: &&str| {
        let assignment = word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty()
                && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_' || byte.is_ascii_digit())
        });
        assignment
            || matches!(*word, "sudo" | "time" | "env" | "exec" | "command" | "nice" | "timeout")
            || word.bytes().all(|byte| byte.is_ascii_digit())
    };
    // A backslash alone only continues the line.
    command.split_whitespace().filter(|word| *word != "\\").skip_while(skipped)
}

fn is_known(command: &str) -> bool {
    let mut words = words(command);
    let Some(first) = words.next() else { return false };
    if first == "git" {
        return subject(first, words).is_some_and(|second| !LOOKING.contains(&second));
    }
    let name = first.rsplit('/').next().unwrap_or(first);
    let script = first.starts_with("./") || first.starts_with("scripts/") || first.starts_with("bin/");
    script || name.rsplit('.').next() == Some("sh") || FAMILIES.binary_search(&name).is_ok()
}

/// The word after the first one that is no option, nor the value of one of Git's.
fn subject<'a>(first: &str, mut words: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    while let Some(word) = words.next() {
        if first == "git" && matches!(word, "-C" | "-c") {
            words.next();
        } else if !word.starts_with('-') {
            return Some(word);
        }
    }
    None
}

/// The two words that name what a line is about: its last command.
pub(super) fn head(line: &str) -> Option<String> {
    let parts = commands(line);
    let mut words = words(parts.last()?.text);
    let first = words.next()?;
    let second = subject(first, words).unwrap_or("");
    Some(format!("{first} {second}").trim_end().to_owned())
}

/// The commits that a line made, from what Git printed; else from the message that it was given.
pub(super) fn commits(line: &str, output: &str) -> Vec<Commit> {
    if !line.contains("git commit") && !line.contains(" commit -") {
        return Vec::new();
    }
    let printed: Vec<Commit> = output.lines().filter_map(printed).collect();
    if !printed.is_empty() {
        return printed;
    }
    message(line).map(|subject| vec![Commit { id: None, subject }]).unwrap_or_default()
}

/// `[branch 1a2b3c4] Subject`.
fn printed(line: &str) -> Option<Commit> {
    let (inside, subject) = line.trim().strip_prefix('[')?.split_once("] ")?;
    let id = inside.split_whitespace().next_back()?;
    let is_id = (7..=40).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_id && inside.contains(' '))
        .then(|| Commit { id: Some(id.to_owned()), subject: subject.trim().to_owned() })
}

fn message(line: &str) -> Option<String> {
    let (_, after) = line.split_once(" -m ").or_else(|| line.split_once(" -am "))?;
    let after = after.trim_start();
    let text = match after.split_once("<<") {
        // "$(cat <<'EOF'" and the message below it.
        Some((before, document)) if before.starts_with("\"$(cat") => document.split_once('\n')?.1,
        _ => {
            let quote = after.chars().next().filter(|mark| matches!(mark, '"' | '\''))?;
            after[1..].split(quote).next()?
        }
    };
    let subject = start(first_line(text), LINE_BYTES_MAX);
    (!subject.is_empty()).then(|| subject.to_owned())
}

#[cfg(test)]
pub(super) fn families_are_sorted() -> bool {
    FAMILIES.is_sorted()
}
