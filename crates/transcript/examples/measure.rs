//! Reads a folder of transcripts and prints what was found, and how fast: `measure FOLDER [--misses |
//! --show]`. `--show` prints the exchanges instead, a line of JSON for each.
//!
//! Where the folder has a `facts.jsonl` (a line for each session: `session`, `prompts` separated by `---`,
//! `files_touched`), what was found is compared with it.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a table is what this program is for")]
#![expect(clippy::disallowed_methods, reason = "it reads a folder and measures how long that takes")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Instant;

use cerebro_transcript::{Agent, Batch, State, cursor, facts, gemini_cli, read, read_to_end};
use serde::Deserialize;

/// What another program recorded about a session.
#[derive(Deserialize)]
struct Noted {
    session: String,
    prompts: Option<String>,
    files_touched: Option<Vec<String>>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let Some(folder) = arguments.next().map(PathBuf::from) else {
        return Err("usage: measure FOLDER [--misses]".into());
    };
    let option = arguments.next().unwrap_or_default();
    let misses = option == "--misses";
    let mut paths = Vec::new();
    walk(&folder, &mut paths)?;
    paths.sort();
    let facts = folder.join("facts.jsonl");
    paths.retain(|path| *path != facts);
    let sources: Vec<(PathBuf, Vec<u8>)> = paths
        .into_iter()
        .map(|path| std::fs::read(&path).map(|bytes| (path, bytes)))
        .collect::<Result<_, _>>()?;
    let batches: Vec<(&Path, Batch)> =
        sources.iter().filter_map(|(path, bytes)| Some((path.as_path(), read_one(path, bytes)?))).collect();
    if option == "--show" {
        for (path, batch) in &batches {
            println!("{}: {}", path.display(), serde_json::to_string(&batch.session)?);
            for exchange in &batch.exchanges {
                println!("{}", serde_json::to_string(exchange)?);
            }
        }
        return Ok(());
    }
    overview(&batches);
    gleaned(&batches);
    in_pieces(&sources);
    if facts.exists() {
        let noted = std::fs::read_to_string(&facts)?;
        let noted: Vec<Noted> = noted.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
        let expanded: BTreeSet<String> = sources.iter().flat_map(|(_, bytes)| expansions(bytes)).collect();
        compare(&noted, &batches, &expanded, misses);
    }
    speed(&sources);
    Ok(())
}

fn walk(folder: &Path, paths: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            walk(&path, paths)?;
        } else if path.extension().is_some_and(|extension| extension == "jsonl" || extension == "json") {
            paths.push(path);
        }
    }
    Ok(())
}

/// The agent, by the names of the folders; for Gemini's documents, by how they begin. Other files are not read.
fn agent(path: &Path, bytes: &[u8]) -> Option<Agent> {
    let text = path.to_string_lossy();
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or("");
    let known = [
        ("/codex", Agent::Codex),
        ("/copilot", Agent::Copilot),
        ("/cursor", Agent::Cursor),
        ("/gemini", Agent::GeminiCli),
        ("/qwen", Agent::Qwen),
    ];
    let foreign = ["/registry/", "/pi_", "manifest.json"];
    match known.into_iter().find(|(part, _)| text.contains(part)) {
        _ if text.ends_with("manifest.json") => None,
        Some((_, agent)) => Some(agent),
        None if bytes.starts_with(b"{\n  \"sessionId\"") => Some(Agent::GeminiCli),
        None if text.contains("/claude") => Some(Agent::ClaudeCode),
        None => (extension == "jsonl" && !foreign.iter().any(|part| text.contains(part)))
            .then_some(Agent::ClaudeCode),
    }
}

fn read_one(path: &Path, bytes: &[u8]) -> Option<Batch> {
    let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or("");
    Some(match agent(path, bytes)? {
        Agent::GeminiCli => gemini_cli::read(bytes, ""),
        Agent::Cursor if path.extension().is_some_and(|extension| extension == "txt") => {
            cursor::read_text(&String::from_utf8_lossy(bytes), &State::new(Agent::Cursor, name))
        }
        agent => read_to_end(bytes, &State::new(agent, "")),
    })
}

fn overview(batches: &[(&Path, Batch)]) {
    let mut rows: BTreeMap<Agent, [u64; 8]> = BTreeMap::new();
    let mut unknown: BTreeMap<String, u64> = BTreeMap::new();
    for (_, batch) in batches {
        let row = rows.entry(batch.session.agent).or_default();
        let calls = batch.exchanges.iter().flat_map(cerebro_transcript::Exchange::calls).count();
        let prompts = batch.exchanges.iter().filter(|exchange| exchange.prompt.is_some()).count();
        let counts = &batch.counts;
        let figures = [1, counts.records, prompts as u64, batch.exchanges.len() as u64, calls as u64];
        let odd = [counts.malformed, counts.copies, counts.unknown.values().sum()];
        for (sum, value) in row.iter_mut().zip(figures.into_iter().chain(odd)) {
            *sum += value;
        }
        for (name, count) in &counts.unknown {
            *unknown.entry(format!("{:?} {name}", batch.session.agent)).or_default() += count;
        }
    }
    println!("| agent | sources | records | prompts | exchanges | calls | malformed | copies | unknown |");
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (agent, row) in rows {
        let cells: Vec<String> = row.iter().map(u64::to_string).collect();
        println!("| {agent:?} | {} |", cells.join(" | "));
    }
    for (name, count) in unknown {
        println!("unknown: {name} {count}");
    }
}

fn gleaned(batches: &[(&Path, Batch)]) {
    let all: Vec<Vec<facts::Facts>> = batches.iter().map(|(_, batch)| facts::of(&batch.exchanges)).collect();
    let count = |of: fn(&facts::Facts) -> usize| all.iter().flatten().map(of).sum::<usize>();
    let fixed = |facts: &facts::Facts| facts.failures.iter().filter(|failure| failure.fix.is_some()).count();
    let same = |facts: &facts::Facts| {
        facts.failures.iter().filter(|failure| failure.fix.as_ref().is_some_and(|fix| fix.same)).count()
    };
    println!("\n| fact | count |\n|---|---:|");
    for (name, number) in [
        ("files edited", count(|facts| facts.edited.len())),
        ("files read", count(|facts| facts.read.len())),
        ("commands", count(|facts| facts.commands.len())),
        ("failures", count(|facts| facts.failures.len())),
        ("failures with a fix", count(fixed)),
        ("… the same command", count(same)),
        ("refusals", count(|facts| facts.refusals.len())),
        ("interruptions", count(|facts| usize::from(facts.interrupted))),
        ("commits", count(|facts| facts.commits.len())),
        ("pull requests", count(|facts| facts.pull_requests.len())),
        ("plans", count(|facts| facts.plans.len())),
        ("answers", count(|facts| facts.answers.len())),
        ("summaries", count(|facts| usize::from(facts.summary.is_some()))),
        (
            "sessions with last words",
            all.iter().filter(|facts| facts.last().is_some_and(|last| last.reply.is_some())).count(),
        ),
        ("changes of lists of things to do", count(|facts| usize::from(facts.to_do.is_some()))),
    ] {
        println!("| {name} | {number} |");
    }
}

/// Reads every source of lines again in pieces of 100 kB, each from where the last reading ended, and
/// compares.
fn in_pieces(sources: &[(PathBuf, Vec<u8>)]) {
    const PIECE_BYTES: usize = 100_000;
    let (mut same, mut all, mut again) = (0, 0, 0_u64);
    for (path, bytes) in sources {
        let Some(agent) = agent(path, bytes).filter(|agent| *agent != Agent::GeminiCli) else { continue };
        let whole = read(bytes, &State::new(agent, ""));
        let mut state = State::new(agent, "");
        let mut by_seq = BTreeMap::new();
        let mut withdrawn = BTreeSet::new();
        for cut in (PIECE_BYTES..bytes.len()).step_by(PIECE_BYTES).chain([bytes.len()]) {
            let from = usize::try_from(state.offset).unwrap_or(usize::MAX).min(cut);
            again += (cut - from) as u64;
            let batch = read(&bytes[from..cut], &state);
            by_seq.extend(batch.exchanges.into_iter().map(|exchange| (exchange.seq, exchange)));
            withdrawn.extend(batch.withdrawn);
            state = batch.state;
        }
        all += 1;
        let exchanges = by_seq.into_values().eq(whole.exchanges);
        same += usize::from(exchanges && withdrawn.into_iter().eq(whole.withdrawn) && state == whole.state);
    }
    let read: u64 = sources.iter().map(|(_, bytes)| bytes.len() as u64).sum();
    let times = again as f64 / read.max(1) as f64;
    println!(
        "\nthe same in pieces of {PIECE_BYTES} bytes: {same} of {all} sources, {times:.1} times the bytes read"
    );
}

/// Whether a text begins as hosts' injections do: separate from the crate's own rules on purpose.
fn is_injected(text: &str) -> bool {
    const STARTS: [&str; 11] = [
        "<",
        "[Request interrupted",
        "This session is being continued",
        "Base directory for this skill",
        "Caveat: The messages",
        "Stop hook feedback",
        "# AGENTS.md",
        "Continue from where you left off.",
        "Tool loaded.",
        "Unknown skill:",
        "[Image: source:",
    ];
    STARTS.iter().any(|start| text.starts_with(start))
}

fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[derive(Default)]
struct Tally {
    prompts: usize,
    found: usize,
    given: usize,
    injected: usize,
    foreign: usize,
    right: usize,
    wrong: usize,
    missed: usize,
}

/// Texts that the host wrote into the user's turn when a slash command or a skill was called. The other
/// program notes them as prompts; the person typed the command.
fn expansions(bytes: &[u8]) -> Vec<String> {
    #[derive(Deserialize)]
    struct Line {
        #[serde(default, rename = "isMeta")]
        is_meta: bool,
        message: Option<serde_json::Value>,
    }
    let lines =
        bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Line>(line).ok());
    let mut texts = Vec::new();
    for message in lines.filter(|line| line.is_meta).filter_map(|line| line.message) {
        match &message["content"] {
            serde_json::Value::String(text) => texts.push(plain(text)),
            serde_json::Value::Array(parts) => {
                texts.extend(parts.iter().filter_map(|part| part["text"].as_str()).map(plain));
            }
            _ => {}
        }
    }
    texts
}

fn compare(noted: &[Noted], batches: &[(&Path, Batch)], expanded: &BTreeSet<String>, misses: bool) {
    let mut tally = Tally::default();
    for noted in noted {
        let of = |path: &Path| {
            path.file_stem().is_some_and(|name| name.to_string_lossy().ends_with(&noted.session))
        };
        // Of several recordings, the newest.
        let Some((_, batch)) = batches.iter().rev().find(|(path, _)| of(path)) else { continue };
        prompts(&mut tally, noted, batch, expanded, misses);
        files(&mut tally, noted, batch, misses);
    }
    let percent = |part: usize, whole: usize| 100.0 * part as f64 / whole.max(1) as f64;
    println!("\n| measure | count | share | bar |\n|---|---:|---:|---|");
    println!(
        "| real prompts found | {} of {} | {:.2} % | >= 99.5 % |",
        tally.found,
        tally.prompts,
        percent(tally.found, tally.prompts)
    );
    println!(
        "| injected text taken for a prompt | {} of {} | {:.2} % | <= 0.1 % |",
        tally.injected,
        tally.given,
        percent(tally.injected, tally.given)
    );
    println!(
        "| prompts that nobody else noted | {} of {} | {:.2} % | |",
        tally.foreign,
        tally.given,
        percent(tally.foreign, tally.given)
    );
    let (right, wrong, missed) = (tally.right, tally.wrong, tally.missed);
    println!(
        "| edited files, precision | {right} of {} | {:.2} % | >= 95 % |",
        right + wrong,
        percent(right, right + wrong)
    );
    println!(
        "| edited files, recall | {right} of {} | {:.2} % | >= 85 % |",
        right + missed,
        percent(right, right + missed)
    );
}

fn prompts(tally: &mut Tally, noted: &Noted, batch: &Batch, expanded: &BTreeSet<String>, misses: bool) {
    let given: Vec<String> = batch
        .exchanges
        .iter()
        .filter_map(|exchange| exchange.prompt.as_ref())
        .map(|prompt| plain(&prompt.text))
        .collect();
    let all = given.join("\n");
    let whole = plain(noted.prompts.as_deref().unwrap_or(""));
    let parts = noted.prompts.as_deref().unwrap_or("").split("\n\n---\n\n").map(str::trim);
    for part in parts.filter(|part| !part.is_empty() && !is_injected(part)) {
        let part = plain(part);
        const PART_BYTES_MIN: usize = 40;
        if part.len() >= PART_BYTES_MIN && expanded.iter().any(|text| text.contains(&part)) {
            continue;
        }
        tally.prompts += 1;
        // A long prompt keeps its head and its tail.
        let head: String = part.chars().take(2000).collect();
        if all.contains(&head) {
            tally.found += 1;
        } else if misses {
            println!("missed prompt {}: {:.150}", noted.session, part);
        }
    }
    for prompt in &given {
        tally.given += 1;
        if is_injected(prompt) {
            tally.injected += 1;
            println!("injected {}: {:.150}", noted.session, prompt);
        }
        let head: String = prompt.chars().take(200).collect();
        if !whole.contains(&head) && !head.starts_with('/') {
            tally.foreign += 1;
            if misses {
                println!("foreign prompt {}: {:.150}", noted.session, prompt);
            }
        }
    }
}

fn files(tally: &mut Tally, noted: &Noted, batch: &Batch, misses: bool) {
    let base = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let touched: BTreeSet<String> = noted.files_touched.iter().flatten().map(|path| base(path)).collect();
    let edited: BTreeSet<String> =
        facts::of(&batch.exchanges).iter().flat_map(|facts| &facts.edited).map(|path| base(path)).collect();
    tally.right += edited.intersection(&touched).count();
    tally.wrong += edited.difference(&touched).count();
    tally.missed += touched.difference(&edited).count();
    if misses {
        for path in edited.difference(&touched) {
            println!("file not noted {}: {path}", noted.session);
        }
        for path in touched.difference(&edited) {
            println!("file missed {}: {path}", noted.session);
        }
    }
}

fn speed(sources: &[(PathBuf, Vec<u8>)]) {
    const ROUNDS: u32 = 3;
    let mut best = f64::INFINITY;
    let mut bytes = 0;
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        bytes = 0;
        for (path, source) in sources {
            if let Some(batch) = read_one(path, source) {
                bytes += source.len();
                std::hint::black_box(batch);
            }
        }
        best = best.min(begun.elapsed().as_secs_f64());
    }
    let mib = bytes as f64 / f64::from(1 << 20);
    eprintln!("\nread {mib:.1} MiB in {:.3} s: {:.0} MiB/s on one core", best, mib / best);
    let begun = Instant::now();
    let facts: usize = sources
        .iter()
        .filter_map(|(path, source)| read_one(path, source))
        .map(|batch| facts::of(&batch.exchanges).len())
        .sum();
    eprintln!("with facts of {facts} exchanges: {:.0} MiB/s", mib / begun.elapsed().as_secs_f64());
}
