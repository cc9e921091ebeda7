//! Speed and size through the real server, with references measured in the same minute: `make bench`.
//!
//! `SIZES` (default `1000,20000`) are the numbers of memories, `UPDATES` (default 10,000; 100,000 with
//! `FULL=1`) the revisions of one topic key, `TMPDIR` the file system. Times are those that a client
//! of `cerebro mcp` sees, one call at a time. Linux only: it reads `/proc`.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a report for a person")]

mod harness;

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde_json::json;

use harness::client::{Client, Home};
use harness::corpus::{Corpus, Note};
use harness::process::{processor_ms, resident_bytes};
use harness::reference::{BareLog, FullText};
use harness::stats::{self, mean, median, percentile};
use harness::table::{self, Report, Row, Target};
use harness::{number, stages};

const PROJECT: &str = "bench";
const MB: f64 = 1e6;
/// One bare write per this many saves, so that both meet the same disk.
const SAVES_PER_BARE_WRITE: usize = 10;
const SEARCHES: usize = 500;
const READS: usize = 300;
const TURNS: usize = 200;
const COLD_STARTS: usize = 5;

/// The options of the runs.
struct Options {
    sizes: Vec<usize>,
    updates: usize,
    /// Only measure where calls spend their time.
    stages: bool,
    json: Option<PathBuf>,
}

fn options() -> Result<Options> {
    let sizes = std::env::var("SIZES").unwrap_or_else(|_| "1000,20000".to_owned());
    let sizes = sizes
        .split(',')
        .map(|size| size.trim().parse::<usize>().with_context(|| format!("SIZES has `{size}`")));
    let full = std::env::var("FULL").is_ok_and(|value| value == "1");
    let updates = number("UPDATES", if full { 100_000 } else { 10_000 })?;
    let (mut json, mut stages) = (None, false);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            // Cargo passes this to every benchmark.
            "--bench" => {}
            "--stages" => stages = true,
            "--json" => json = Some(arguments.next().context("--json needs a file")?.into()),
            other => bail!("unknown argument {other}"),
        }
    }
    Ok(Options { sizes: sizes.collect::<Result<_>>()?, updates, stages, json })
}

/// The size of the home on disk: allocated blocks, not lengths.
fn disk_bytes(home: &Home) -> Result<u64> {
    use std::os::unix::fs::MetadataExt;
    let mut folders: Vec<PathBuf> = vec![home.path().to_owned()];
    let mut bytes = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let metadata = entry.metadata()?;
            if metadata.is_dir() {
                folders.push(entry.path());
            } else {
                bytes += metadata.blocks() * 512;
            }
        }
    }
    Ok(bytes)
}

fn save(client: &mut Client, note: &Note) -> Result<(String, f64)> {
    let arguments = json!({ "title": note.title, "content": note.content, "project": PROJECT });
    let (reply, ms) = client.timed("mem_save", &arguments)?;
    let id = reply["id"].as_str().context("a save without id")?;
    Ok((id.to_owned(), ms))
}

fn search_ms(client: &mut Client, query: &str) -> Result<f64> {
    let arguments = json!({ "query": query, "project": PROJECT });
    Ok(client.timed("mem_search", &arguments)?.1)
}

/// Saves the notes one after another; returns their ids.
fn saves(
    client: &mut Client,
    notes: &[Note],
    bare: &mut BareLog,
    report: &mut Report,
) -> Result<Vec<String>> {
    let (mut ids, mut times, mut bare_times) = (Vec::new(), Vec::new(), Vec::new());
    for (i, note) in notes.iter().enumerate() {
        let (id, ms) = save(client, note)?;
        ids.push(id);
        times.push(ms);
        if i % SAVES_PER_BARE_WRITE == 0 {
            bare_times.push(bare.append_ms()?);
        }
        if (i + 1) % 5_000 == 0 {
            eprintln!("saved {} of {}", i + 1, notes.len());
        }
    }
    let disk = median(&bare_times);
    let slow_disk = percentile(&bare_times, 99.0);
    report.add("save p50", median(&times), "ms", Some(("write+fdatasync", disk)), Target::AtMost(disk + 2.0));
    let p99 = percentile(&times, 99.0);
    report.add("save p99", p99, "ms", Some(("write+fdatasync p99", slow_disk)), Target::AtMost(20.0));
    if times.len() > 2_000 {
        let (first, last) = (median(&times[..1_000]), median(&times[times.len() - 1_000..]));
        let flat = Target::AtMost(first * 1.25);
        report.add("save p50, last thousand", last, "ms", Some(("first thousand", first)), flat);
    }
    Ok(ids)
}

/// Searches alone, then the same queries in SQLite.
fn searches(client: &mut Client, notes: &[Note], report: &mut Report) -> Result<()> {
    let step = (notes.len() / SEARCHES).max(1);
    let queries: Vec<&str> = notes.iter().step_by(step).take(SEARCHES).map(|n| n.query.as_str()).collect();
    for query in queries.iter().rev().take(50) {
        search_ms(client, query)?;
    }
    let times = queries.iter().map(|query| search_ms(client, query)).collect::<Result<Vec<_>>>()?;
    let full_text = FullText::build(notes)?;
    for query in queries.iter().rev().take(50) {
        full_text.search_ms(query)?;
    }
    let theirs = queries.iter().map(|query| full_text.search_ms(query)).collect::<Result<Vec<_>>>()?;
    let sqlite = median(&theirs);
    // With few notes, no call to another process can be faster than an index in this one.
    let most_ms = if notes.len() < 20_000 { 2.0 } else { sqlite.min(2.0) };
    report.add("search p50", median(&times), "ms", Some(("SQLite FTS5", sqlite)), Target::AtMost(most_ms));
    let slow = Some(("SQLite FTS5 p99", percentile(&theirs, 99.0)));
    report.add("search p99", percentile(&times, 99.0), "ms", slow, Target::None);
    Ok(())
}

/// One agent saves and another searches, in turn: each search must see the save before it. Returns
/// the bytes of text that were saved.
fn turns(home: &Home, writer: &mut Client, corpus: &mut Corpus, report: &mut Report) -> Result<u64> {
    let mut reader = home.connect()?;
    let mut times = Vec::new();
    let (mut unseen, mut bytes) = (0, 0);
    for turn in 0..TURNS {
        let mut note = corpus.note();
        let word = format!("turn{turn}word");
        note.content = format!("{} {word}", note.content);
        bytes += note.len_bytes();
        let (id, _) = save(writer, &note)?;
        let arguments = json!({ "query": format!("{word} {}", note.query), "project": PROJECT });
        let (reply, ms) = reader.timed("mem_search", &arguments)?;
        times.push(ms);
        let seen = reply["hits"].as_array().is_some_and(|hits| hits.iter().any(|hit| hit["id"] == json!(id)));
        unseen += usize::from(!seen);
    }
    report.add("search p50 after another's save", median(&times), "ms", None, Target::AtMost(10.0));
    report.add("search p99 after another's save", percentile(&times, 99.0), "ms", None, Target::None);
    report.add("saves that the next search missed", unseen as f64, "", None, Target::AtMost(0.0));
    Ok(bytes)
}

/// Get, timeline and context, compared with a bare `ping`.
fn reads(client: &mut Client, ids: &[String], report: &mut Report) -> Result<()> {
    let mut pings = Vec::new();
    for _ in 0..READS {
        let start = Instant::now();
        client.request("ping", &json!({}))?;
        pings.push(start.elapsed().as_secs_f64() * 1e3);
    }
    let ping = Some(("ping", median(&pings)));
    let step = (ids.len() / READS).max(1);
    for (name, tool, most_ms) in [
        ("get p50", "mem_get_observation", 1.5),
        ("timeline p50", "mem_timeline", 4.0),
        ("context p50", "mem_context", 8.0),
    ] {
        let mut times = Vec::new();
        for id in ids.iter().step_by(step).take(READS) {
            let arguments =
                if tool == "mem_context" { json!({ "project": PROJECT }) } else { json!({ "id": id }) };
            times.push(client.timed(tool, &arguments)?.1);
        }
        report.add(name, median(&times), "ms", ping, Target::AtMost(most_ms));
    }
    Ok(())
}

/// From nothing running: the time until the tools are listed, and until the first search answers.
fn cold_starts(home: &Home, notes: &[Note], report: &mut Report) -> Result<()> {
    let (mut lists, mut firsts) = (Vec::new(), Vec::new());
    for turn in 0..COLD_STARTS {
        home.stop()?;
        let start = Instant::now();
        let mut client = home.connect()?;
        client.request("tools/list", &json!({}))?;
        lists.push(start.elapsed().as_secs_f64() * 1e3);
        drop(client);

        // The daemon may still be opening; the next one starts from nothing again.
        home.stop()?;
        let start = Instant::now();
        let mut client = home.connect()?;
        search_ms(&mut client, &notes[turn % notes.len()].query)?;
        firsts.push(start.elapsed().as_secs_f64() * 1e3);
    }
    let worst = |times: &[f64]| percentile(times, 100.0);
    report.add("tools/list after a cold start, worst of 5", worst(&lists), "ms", None, Target::AtMost(300.0));
    report.add(
        "first search after a cold start, worst of 5",
        worst(&firsts),
        "ms",
        None,
        Target::AtMost(1_500.0),
    );
    Ok(())
}

/// Everything at one number of memories.
fn at_size(size: usize) -> Result<Vec<Row>> {
    eprintln!("\n{size} memories");
    let home = Home::new()?;
    let mut bare = BareLog::create(home.path())?;
    let mut corpus = Corpus::new(size as u64);
    let notes: Vec<Note> = (0..size).map(|_| corpus.note()).collect();
    let mut report = Report::default();
    report.at(size);
    let mut client = home.connect()?;
    let ids = saves(&mut client, &notes, &mut bare, &mut report)?;
    drop(bare);
    fs::remove_file(home.path().join("bare.log"))?;

    searches(&mut client, &notes, &mut report)?;
    let more = turns(&home, &mut client, &mut corpus, &mut report)?;
    reads(&mut client, &ids, &mut report)?;
    let most_resident = if size <= 1_000 { 150.0 } else { 300.0 };
    let resident = resident_bytes(&home)? as f64 / MB;
    report.add("resident memory of the daemon", resident, "MB", None, Target::AtMost(most_resident));
    drop(client);
    home.stop()?;

    let text = (notes.iter().map(Note::len_bytes).sum::<u64>() + more) as f64 / MB;
    let disk = disk_bytes(&home)? as f64 / MB;
    report.add("disk", disk, "MB", Some(("text", text)), Target::AtMost(8.0 * text + 32.0));
    cold_starts(&home, &notes, &mut report)?;
    Ok(report.rows)
}

/// Revisions of one topic key: what one costs on disk must not grow with their number.
fn updates(count: usize) -> Result<Vec<Row>> {
    eprintln!("\n{count} updates of one topic key");
    let home = Home::new()?;
    let mut corpus = Corpus::new(1);
    let mut report = Report::default();
    report.at(count);
    home.connect()?.call("mem_stats", &json!({}))?;
    home.stop()?;

    let mut disk = vec![disk_bytes(&home)? as f64];
    let (mut times, mut text, mut work) = (Vec::new(), Vec::new(), Vec::new());
    for _half in 0..2 {
        let mut client = home.connect()?;
        for _ in 0..count / 2 {
            let note = corpus.note();
            text.push(note.len_bytes() as f64);
            let arguments = json!({
                "title": note.title, "content": note.content, "project": PROJECT, "topic_key": "bench/updates",
            });
            times.push(client.timed("mem_save", &arguments)?.1);
        }
        work.push(processor_ms(&home)? / (count / 2) as f64);
        drop(client);
        home.stop()?;
        disk.push(disk_bytes(&home)? as f64);
    }
    let per_update = |from: usize| (disk[from + 1] - disk[from]) / (count / 2) as f64;
    let (first, second) = (per_update(0), per_update(1));
    let all = (disk[2] - disk[0]) / count as f64;
    report.add("disk per update", all, "B", Some(("text", mean(&text))), Target::None);
    let flat = Target::AtMost(first * 1.25);
    report.add("disk per update, second half", second, "B", Some(("first half", first)), flat);
    let window = times.len().min(1_000);
    let (early, late) = (median(&times[..window]), median(&times[times.len() - window..]));
    report.add(
        "update p50, last thousand",
        late,
        "ms",
        Some(("first thousand", early)),
        Target::AtMost(early * 1.25),
    );
    // Minutes lie between the two, in which the load of the machine may change; the work of an update does not.
    let (first, second) = (work[0], work[1]);
    let flat = Target::AtMost(first * 1.25);
    report.add("processor time per update, second half", second, "ms", Some(("first half", first)), flat);
    Ok(report.rows)
}

/// Prints where saves and searches spend their time, from the log of a daemon that logs its stages because
/// `CEREBRO_LOG` says so: `make profile`.
fn profile(size: usize) -> Result<()> {
    let home = Home::new()?;
    let mut corpus = Corpus::new(size as u64);
    let mut client = home.connect()?;
    let saves = (0..size).map(|_| Ok(save(&mut client, &corpus.note())?.1)).collect::<Result<Vec<_>>>()?;
    let mut search = || search_ms(&mut client, &corpus.note().query);
    let searches = (0..SEARCHES).map(|_| search()).collect::<Result<Vec<_>>>()?;
    drop(client);
    home.stop()?;
    let log = fs::read_to_string(home.path().join(".cerebro/daemon.log")).context("read the daemon's log")?;
    println!("{size} saves and {SEARCHES} searches, while the daemon logs their stages:\n");
    println!("{}", stages::table(&log, stages::SAVE, median(&saves)));
    println!("{}", stages::table(&log, stages::SEARCH, median(&searches)));
    Ok(())
}

fn main() -> Result<()> {
    stats::self_check();
    let options = options()?;
    if options.stages {
        return options.sizes.iter().try_for_each(|size| profile((*size).max(1)));
    }
    let mut rows = Vec::new();
    for size in &options.sizes {
        rows.extend(at_size((*size).max(1))?);
    }
    if options.updates > 1 {
        rows.extend(updates(options.updates)?);
    }
    println!();
    table::print(&rows, "memories");
    println!("\nThrough the stdio client, one call at a time; SQLite in memory and in process.");
    if let Some(path) = options.json {
        let rows: Vec<_> = rows.iter().map(Row::json).collect();
        fs::write(&path, serde_json::to_vec_pretty(&rows)?)
            .with_context(|| format!("write {}", path.display()))?;
    }
    Ok(())
}
