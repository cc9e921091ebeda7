//! Commands that are worth finding again, and the commits that they made.

use serde::{Deserialize, Serialize};

use super::{Commit, error};
use crate::clip::{first_line, start};
use crate::turn::{Call, Outcome};

/// A command that was run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// The command, without what stood before it in the line and without filters of its output.
    pub line: String,
    /// Whether it succeeded. If the exit status belongs to another command of the line, such as a filter, the output
    /// decides. `None` if neither shows it.
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
const LOOKING: [&str; 14] = [
    "status", "diff", "log", "show", "branch", "blame", "rev-parse", "ls-files", "remote", "config", "grep",
    "cat-file", "describe", "-C",
];
/// A longer command is a script, and no one types it again.
const LINE_BYTES_MAX: usize = 240;

/// The commands of a line that are worth keeping.
pub(super) fn notable(line: &str, call: &Call) -> Vec<Command> {
    if line.contains('\n') {
        return Vec::new();
    }
    let commands: Vec<(&str, bool)> = commands(line).collect();
    let count = commands.len();
    let commands = commands.into_iter().enumerate().filter_map(|(index, (command, piped))| {
        let ok = match call.outcome {
            Outcome::Done | Outcome::Failed if piped && index + 1 == count => error::outcome_of(&call.output),
            _ if piped => None,
            Outcome::Done => Some(true),
            // In a chain only the whole is known to have failed, unless it is one command.
            Outcome::Failed if count == 1 => Some(false),
            Outcome::Failed if index + 1 == count => None,
            _ => return None,
        };
        is_recorded(command).then(|| Command { line: command.to_owned(), ok })
    });
    commands.collect()
}

/// Whether the last command of a line succeeded, as far as is known.
pub(super) fn succeeded(line: &str, call: &Call) -> bool {
    let is_filtered = commands(first_line(line)).last().is_some_and(|(_, piped)| piped);
    call.outcome == Outcome::Done && (!is_filtered || error::outcome_of(&call.output) == Some(true))
}

/// The commands of a line that would be kept, as they are kept.
pub(super) fn recorded(line: &str) -> Vec<&str> {
    if line.contains('\n') {
        return Vec::new();
    }
    commands(line).map(|(command, _)| command).filter(|command| is_recorded(command)).collect()
}

/// The commands of a line without filters of their output, and whether there was one.
fn commands(line: &str) -> impl Iterator<Item = (&str, bool)> {
    segments(line).into_iter().map(|segment| {
        let (command, piped) = without_filter(segment);
        (command.trim(), piped)
    })
}

fn is_recorded(command: &str) -> bool {
    command.len() <= LINE_BYTES_MAX && is_known(command)
}

/// The parts of a line between `&&`, outside of quotes.
fn segments(line: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut quote = None;
    let mut from = 0;
    let bytes = line.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match (bytes[at], quote) {
            (b'\\', _) => at += 1,
            (mark @ (b'"' | b'\''), None) => quote = Some(mark),
            (mark, Some(open)) if mark == open => quote = None,
            (b'&', None) if bytes.get(at + 1) == Some(&b'&') => {
                parts.push(line[from..at].trim());
                from = at + 2;
                at += 1;
            }
            _ => {}
        }
        at += 1;
    }
    parts.push(line[from.min(line.len())..].trim());
    parts
}

/// The command before `| tail` and the like, and whether there was such a thing: then the status is not the
/// command's.
fn without_filter(segment: &str) -> (&str, bool) {
    match segment.find(" | ").or_else(|| segment.find("||")).or_else(|| segment.find("; ")) {
        Some(at) => (segment[..at].trim_end_matches("2>&1").trim_end(), true),
        None => (segment.trim_end_matches("2>&1").trim_end(), false),
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
    command.split_whitespace().skip_while(skipped)
}

fn is_known(command: &str) -> bool {
    let mut words = words(command);
    let Some(first) = words.next() else { return false };
    if first == "git" {
        return words.next().is_some_and(|second| !LOOKING.contains(&second));
    }
    let name = first.rsplit('/').next().unwrap_or(first);
    let script = first.starts_with("./") || first.starts_with("scripts/") || first.starts_with("bin/");
    script || name.rsplit('.').next() == Some("sh") || FAMILIES.binary_search(&name).is_ok()
}

/// The two words that name what a line is about: of the last command in it, without folders that were entered
/// before.
pub(super) fn head(line: &str) -> Option<String> {
    let line = first_line(line);
    let about =
        segments(line).into_iter().rev().map(|segment| without_filter(segment).0).find(|segment| {
            words(segment).next().is_some_and(|first| !matches!(first, "cd" | "echo" | "export" | "source"))
        })?;
    let mut words = words(about);
    let first = words.next()?;
    let second = words.find(|word| !word.starts_with('-')).unwrap_or("");
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
