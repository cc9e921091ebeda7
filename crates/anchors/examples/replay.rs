//! Replays a history and compares every verdict with the bytes:
//!
//!     cargo run --release --example replay -- REPOSITORY [SAMPLES]           some commits, each beside the next of them
//!     cargo run --release --example replay -- REPOSITORY --days 30           commits, each beside the last one within that many days
//!     cargo run --release --example replay -- --versions FOLDER FOLDER …     unpacked versions of a package, in their order
//!
//! Every symbol of every source file is anchored in one state and judged by the files of a later one. The right verdict is
//! found without a parser: an anchor is fresh (or moved) if its bytes are still in the file, after the same beginning of
//! a line, and stale otherwise. Prints for each language how often the two agree, what share is stale, and what share of
//! the symbols lies in files that changed: of all files, and of hot ones, which had changed since the state before.
//!
//! Exits with 1 if a language is below its bar: 100 % of Python's verdicts, 98 % of any other's.
#![expect(clippy::print_stdout, reason = "a table is what this program is for")]
#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "it runs git and measures")]

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use cerebro_anchors::{Anchor, Digest, FILE_BYTES_MAX, Language, Pinned, Source, Verdict, symbols};

type Done<T> = Result<T, Box<dyn Error>>;

/// The source files of one state, by their paths.
type Files = BTreeMap<String, Vec<u8>>;

/// Share of verdicts that must agree with the bytes, in per cent.
const BAR: f64 = 98.0;
const BAR_OF_PYTHON: f64 = 100.0;
/// How many verdicts that disagree are shown.
const SHOWN: u32 = 20;
const SECONDS_PER_DAY: i64 = 86_400;

fn git(repository: &str, arguments: &[&str]) -> Done<Vec<u8>> {
    let output = Command::new("git").arg("-C").arg(repository).args(arguments).output()?;
    if output.status.success() {
        Ok(output.stdout)
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into())
    }
}

/// The source files of a commit.
fn of_commit(repository: &str, commit: &str) -> Done<Files> {
    let listed = String::from_utf8(git(repository, &["ls-tree", "-r", "--name-only", commit])?)?;
    let sources = listed.lines().filter(|path| Language::of_path(path).is_some());
    sources
        .map(|path| Ok((path.to_owned(), git(repository, &["show", &format!("{commit}:{path}")])?)))
        .collect()
}

/// The source files below a folder.
fn of_folder(root: &Path, folder: &Path, files: &mut Files) -> Done<()> {
    for entry in std::fs::read_dir(folder)? {
        let (path, kind) = entry.and_then(|entry| Ok((entry.path(), entry.file_type()?)))?;
        if kind.is_dir() {
            of_folder(root, &path, files)?;
        } else if kind.is_file() && path.metadata()?.len() <= FILE_BYTES_MAX as u64 {
            let below = path.strip_prefix(root)?.to_string_lossy().into_owned();
            if Language::of_path(&below).is_some() {
                files.insert(below, std::fs::read(&path)?);
            }
        }
    }
    Ok(())
}

/// Commits that are a number of days apart, or `samples` of all.
fn picked(repository: &str, samples: usize, days: Option<i64>) -> Done<Vec<String>> {
    let log = git(repository, &["log", "--first-parent", "--reverse", "--format=%H %ct", "HEAD"])?;
    let log = String::from_utf8(log)?;
    let commits: Vec<(&str, i64)> = log
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(id, at)| Some((id, at.parse().ok()?)))
        .collect();
    let Some(days) = days else {
        let step = (commits.len() / samples.max(1)).max(1);
        return Ok(commits.iter().step_by(step).map(|(id, _)| (*id).to_owned()).collect());
    };
    let mut picked: Vec<(&str, i64)> = Vec::new();
    for commit in commits {
        let is_far = picked.last().is_none_or(|last| commit.1 - last.1 >= days * SECONDS_PER_DAY);
        if is_far {
            picked.push(commit);
        }
    }
    Ok(picked.into_iter().map(|(id, _)| id.to_owned()).collect())
}

/// What is on a line before an offset in it, without blanks.
fn line_before(text: &[u8], at: usize) -> &[u8] {
    let line = text[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    text[line..at].trim_ascii()
}

/// Whether a text has these bytes somewhere after this beginning of a line.
fn is_present(text: &[u8], before: &[u8], span: &[u8]) -> bool {
    let windows = text.windows(span.len()).enumerate().filter(|(_, window)| *window == span);
    windows.into_iter().any(|(at, _)| line_before(text, at) == before)
}

/// How often something was judged stale, by symbols and by whole files.
#[derive(Default)]
struct Share {
    judged: u32,
    stale: u32,
    stale_by_file: u32,
}

impl Share {
    fn as_text(&self) -> String {
        let share = |count: u32| 100.0 * f64::from(count) / f64::from(self.judged.max(1));
        let (stale, by_file) = (share(self.stale), share(self.stale_by_file));
        format!("{stale:.1} % stale (by file {by_file:.1} %) of {}", self.judged)
    }
}

#[derive(Default)]
struct Tally {
    all: Share,
    hot: Share,
    differ: u32,
    moved: u32,
}

#[derive(Default)]
struct Replay {
    by_language: BTreeMap<String, Tally>,
    parsing: Duration,
    parsed: usize,
}

impl Replay {
    /// Judges each symbol of `then` by `now`; `before` is the state before `then`, if there is one.
    fn judge(&mut self, before: Option<&Files>, then: &Files, now: &Files) {
        for (path, bytes) in then {
            let Some(language) = Language::of_path(path) else { continue };
            let begun = Instant::now();
            let Some(found) = symbols(language, bytes, &mut || true) else { continue };
            self.parsing += begun.elapsed();
            self.parsed += bytes.len();
            let tally = self.by_language.entry(format!("{language:?}")).or_default();
            let present = now.get(path).map(Vec::as_slice);
            let mut source = present.map(|bytes| Source::new(path, bytes.to_owned()));
            let is_hot = before.is_some_and(|before| before.get(path) != Some(bytes));
            // A name in several places has the bytes of all of them, which are not in one.
            let alone = |name: &str| found.iter().filter(|symbol| symbol.name == name).count() == 1;
            for symbol in found.iter().filter(|symbol| alone(&symbol.name)) {
                let span = &bytes[symbol.span.clone()];
                let pinned =
                    Pinned { name: symbol.name.clone(), bytes: span.len(), digest: Digest::of(span) };
                let anchor = Anchor { path: path.clone(), file: Digest::of(bytes), symbol: Some(pinned) };
                let verdict = anchor.verdict(source.as_mut(), &mut || true);
                let is_unchanged =
                    present.is_some_and(|text| is_present(text, line_before(bytes, symbol.span.start), span));
                for share in [Some(&mut tally.all), is_hot.then_some(&mut tally.hot)].into_iter().flatten() {
                    share.judged += 1;
                    share.stale += u32::from(verdict.is_stale());
                    share.stale_by_file += u32::from(present != Some(bytes.as_slice()));
                }
                tally.moved += u32::from(verdict == Verdict::Moved);
                if verdict.is_stale() == is_unchanged {
                    tally.differ += 1;
                    if tally.differ <= SHOWN {
                        println!("differs: {verdict} {anchor}");
                    }
                }
            }
        }
    }

    /// Prints the table; says whether each language is at its bar.
    fn print(&self) -> bool {
        let mut is_held = true;
        for (language, Tally { all, hot, differ, moved }) in &self.by_language {
            let right = 100.0 - 100.0 * f64::from(*differ) / f64::from(all.judged.max(1));
            let bar = if language == "Python" { BAR_OF_PYTHON } else { BAR };
            let word = if right >= bar { "" } else { ", below its bar" };
            is_held &= right >= bar;
            println!(
                "{language}: {right:.3} % agree ({differ} differ{word}), {moved} moved; {}",
                all.as_text()
            );
            println!("{language}: hot files: {}", hot.as_text());
        }
        let kilobytes = self.parsed as f64 / 1_024.0;
        println!("parsed {kilobytes:.0} KB, {:.0} us a KB", self.parsing.as_secs_f64() * 1e6 / kilobytes);
        is_held
    }
}

fn main() -> Done<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let first = arguments.first().ok_or("which repository, or --versions and which folders?")?;
    let mut replay = Replay::default();
    // Only three states are held: the one before the last, the last, and the current one.
    let mut held: (Option<Files>, Option<Files>) = (None, None);
    let mut next = |replay: &mut Replay, now: Files| {
        if let Some(then) = &held.1 {
            replay.judge(held.0.as_ref(), then, &now);
        }
        held = (held.1.take(), Some(now));
    };
    if first == "--versions" {
        for folder in &arguments[1..] {
            let mut files = Files::new();
            of_folder(Path::new(folder), Path::new(folder), &mut files)?;
            next(&mut replay, files);
        }
    } else {
        let number = |at: usize| arguments.get(at).map(|text| text.parse::<i64>()).transpose();
        let days = if arguments.get(1).is_some_and(|word| word == "--days") { number(2)? } else { None };
        let samples = if days.is_some() { 0 } else { number(1)?.unwrap_or(8) };
        for commit in picked(first, usize::try_from(samples)?, days)? {
            next(&mut replay, of_commit(first, &commit)?);
        }
    }
    Ok(if replay.print() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
