//! Replays a repository's history and holds every verdict against the bytes:
//! `cargo run --release --example replay -- REPOSITORY [SAMPLES]`.
//!
//! Of each of some commits, every symbol of every source file is anchored, and judged by the files of the next of them.
//! What is right is found without a parser: an anchor is fresh (or moved) if its bytes still stand in the file, behind
//! the same beginning of a line, and stale if they do not. Prints how often the two differ, what share is stale, and what share of the files changed.
#![expect(clippy::print_stdout, reason = "a table is what this program is for")]
#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "it runs git and measures")]

use std::collections::BTreeMap;
use std::error::Error;
use std::process::Command;
use std::time::{Duration, Instant};

use cerebro_anchors::{Anchor, Digest, Language, Pinned, Verdict, symbols};

type Done<T> = Result<T, Box<dyn Error>>;

fn git(repository: &str, arguments: &[&str]) -> Done<Vec<u8>> {
    let output = Command::new("git").arg("-C").arg(repository).args(arguments).output()?;
    if output.status.success() {
        Ok(output.stdout)
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into())
    }
}

/// The source files of a commit.
fn files(repository: &str, commit: &str) -> Done<BTreeMap<String, Vec<u8>>> {
    let listed = String::from_utf8(git(repository, &["ls-tree", "-r", "--name-only", commit])?)?;
    let sources = listed.lines().filter(|path| Language::of_path(path).is_some());
    sources
        .map(|path| Ok((path.to_owned(), git(repository, &["show", &format!("{commit}:{path}")])?)))
        .collect()
}

/// What stands on a line before a place in it, without blanks.
fn line_before(text: &[u8], at: usize) -> &[u8] {
    let line = text[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    text[line..at].trim_ascii()
}

/// Whether a text has these bytes somewhere behind this beginning of a line.
fn stands(text: &[u8], before: &[u8], span: &[u8]) -> bool {
    let places = text.windows(span.len()).enumerate().filter(|(_, window)| *window == span);
    places.into_iter().any(|(at, _)| line_before(text, at) == before)
}

#[derive(Default)]
struct Tally {
    judged: u32,
    stale: u32,
    stale_by_file: u32,
    differ: u32,
    moved: u32,
}

fn main() -> Done<()> {
    let mut arguments = std::env::args().skip(1);
    let repository = arguments.next().ok_or("which repository?")?;
    let samples: usize = arguments.next().map_or(Ok(8), |text| text.parse())?;
    let log = String::from_utf8(git(&repository, &["rev-list", "--first-parent", "--reverse", "HEAD"])?)?;
    let commits: Vec<&str> = log.lines().collect();
    let step = (commits.len() / samples.max(1)).max(1);
    let picked: Vec<&str> = commits.iter().step_by(step).copied().collect();
    let (mut by_language, mut parsing, mut parsed) = (BTreeMap::<String, Tally>::new(), Duration::ZERO, 0);
    for two in picked.windows(2) {
        let (then, now) = (files(&repository, two[0])?, files(&repository, two[1])?);
        for (path, bytes) in &then {
            let Some(language) = Language::of_path(path) else { continue };
            let begun = Instant::now();
            let Some(found) = symbols(language, bytes, &mut || true) else { continue };
            parsing += begun.elapsed();
            parsed += bytes.len();
            let tally = by_language.entry(format!("{language:?}")).or_default();
            let present = now.get(path).map(Vec::as_slice);
            // A name in several places has the bytes of all of them, which do not stand in one.
            let alone = |name: &str| found.iter().filter(|symbol| symbol.name == name).count() == 1;
            for symbol in found.iter().filter(|symbol| alone(&symbol.name)) {
                let span = &bytes[symbol.span.clone()];
                let pinned =
                    Pinned { name: symbol.name.clone(), bytes: span.len(), digest: Digest::of(span) };
                let anchor = Anchor { path: path.clone(), file: Digest::of(bytes), symbol: Some(pinned) };
                let verdict = anchor.verdict(present, &mut || true);
                let stands =
                    present.is_some_and(|text| stands(text, line_before(bytes, symbol.span.start), span));
                tally.judged += 1;
                tally.stale += u32::from(verdict.is_stale());
                tally.stale_by_file += u32::from(present != Some(bytes.as_slice()));
                tally.moved += u32::from(verdict == Verdict::Moved);
                if verdict.is_stale() == stands {
                    tally.differ += 1;
                    println!("differs: {verdict} {anchor} ({}..{})", two[0], two[1]);
                }
            }
        }
    }
    for (language, Tally { judged, stale, stale_by_file, differ, moved }) in &by_language {
        let share = |count: u32| 100.0 * f64::from(count) / f64::from(*judged);
        println!(
            "{language}: {judged} judged over {step} commits each, {differ} differ; stale {:.1} %, by file {:.1} %, moved {moved}",
            share(*stale),
            share(*stale_by_file)
        );
    }
    let kilobytes = parsed as f64 / 1_024.0;
    println!("parsed {kilobytes:.0} KB, {:.0} us a KB", parsing.as_secs_f64() * 1e6 / kilobytes);
    Ok(())
}
