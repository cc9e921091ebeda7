//! How fast the journal is: in a process of its own on a real store, and through the real client and real hooks, compared
//! with a bare write and fdatasync of the same minute.
//!
//! `make work` runs it; `EVENTS` (default 100,000) is how many events the journal holds when it is large. With fewer, such
//! as `EVENTS=5000`, long pieces of work are shorter too: a trial run, whose figures are not those of the table.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a report for a person")]

mod harness;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use harness::client::{Client, Home};
use harness::journal::{Journal, Size};
use harness::number;
use harness::reference::BareLog;
use harness::stats::{median, percentile};
use harness::table::{self, Report, Target};

/// The program's heap: what is measured in this process must cost what it costs there.
#[global_allocator]
static HEAP: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// How many events are recorded one by one through a client, each together with a bare write.
const NOTES: usize = 500;
/// How many hooks are run.
const HOOKS: usize = 200;
/// Saves in one series, with or without concurrent events, and the number of series of each. There is a pause between
/// two saves, so that a series lasts for seconds.
const SAVES: usize = 100;
const STRETCHES: usize = 3;
const SAVE_PAUSE: Duration = Duration::from_millis(20);
/// Five events a second.
const EVENT_PAUSE: Duration = Duration::from_millis(200);
/// Cold starts, of which the median is reported.
const STARTS: usize = 5;

fn main() -> Result<()> {
    // As in the program: where nothing reads spans, the database puts the text of each key into them all the same.
    let shown = tracing_subscriber::filter::LevelFilter::WARN;
    tracing_subscriber::fmt().with_max_level(shown).with_writer(std::io::stderr).init();
    let events = number("EVENTS", 100_000)?;
    let mut report = Report::default();
    let home = Home::new()?;
    home.configure("[work]\ntools = true\n")?;
    let bare = notes(&mut report, &home, 0, None)?;
    hooks(&mut report, &home)?;
    saves(&mut report, &home)?;
    let empty = starts(&home)?;
    home.stop()?;

    alone(&mut report, &home, Size::of(events))?;

    let full = starts(&home)?;
    let reference = Some(("of an empty journal", empty));
    report.at(events).add(
        "first answer after a start, p50",
        full,
        "ms",
        reference,
        Target::AtMost(empty * 1.1),
    );
    notes(&mut report, &home, events, Some(bare))?;
    home.stop()?;
    table::print(&report.rows, "events");
    Ok(())
}

/// One event through the client, and a bare write. `before` is what one took while the journal was empty.
fn notes(report: &mut Report, home: &Home, size: usize, before: Option<f64>) -> Result<f64> {
    let mut bare = BareLog::create(home.path())?;
    let mut client = home.connect()?;
    let begun = client.call("work_begin", &json!({ "title": "a piece of work", "project": "bench" }))?;
    let work = begun["work"].as_str().context("no work")?.to_owned();
    let (mut events, mut writes) = (Vec::new(), Vec::new());
    for n in 0..NOTES {
        writes.push(bare.append_ms()?);
        let note = json!({ "event": "note", "text": format!("part {n} does what it should"), "work": work });
        events.push(client.timed("work_note", &note)?.1);
    }
    let (p50, least) = (median(&events), median(&writes));
    let reference = Some(("write and fdatasync", least));
    report.at(size).add("one event, p50", p50, "ms", reference, Target::AtMost(least + 2.0));
    let (p99, most) = (percentile(&events, 99.0), percentile(&writes, 99.0));
    let reference = Some(("write and fdatasync", most));
    report.add("one event, p99", p99, "ms", reference, Target::AtMost(20.0));
    if let Some(before) = before {
        let reference = Some(("while the journal was empty", before));
        report.add("one event, p50: flat", p50, "ms", reference, Target::AtMost(before * 1.25));
    }
    Ok(p50)
}

/// What a hook reports of a command.
fn ran(home: &Home, n: usize) -> Value {
    json!({
        "session_id": "bench", "cwd": home.path(), "hook_event_name": "PostToolUse", "tool_name": "Bash",
        "tool_use_id": format!("call-{n}"), "tool_input": { "command": format!("cargo test -p part{}", n % 7) },
        "tool_response": { "stdout": "test result: ok. 3 passed; 0 failed", "interrupted": false },
    })
}

fn hooks(report: &mut Report, home: &Home) -> Result<()> {
    let _served = home.connect()?;
    let took = (0..HOOKS)
        .map(|n| home.hook("PostToolUse", &ran(home, n)).map(|(_, ms)| ms))
        .collect::<Result<Vec<_>>>()?;
    report.at(0).add("hook process, p50", median(&took), "ms", None, Target::AtMost(25.0));
    report.add("hook process, p99", percentile(&took, 99.0), "ms", None, Target::AtMost(100.0));
    Ok(())
}

/// Saves alone and with five concurrent events a second, in turns.
fn saves(report: &mut Report, home: &Home) -> Result<()> {
    let mut client = home.connect()?;
    let (mut alone, mut beside) = (Vec::new(), Vec::new());
    let mut recorded = HOOKS;
    for stretch in 0..STRETCHES {
        alone.extend(stretch_of_saves(&mut client, 2 * stretch)?);
        let is_over = AtomicBool::new(false);
        let from = recorded;
        recorded = std::thread::scope(|scope| -> Result<usize> {
            let recording = scope.spawn(|| record_events(home, from, &is_over));
            let took = stretch_of_saves(&mut client, 2 * stretch + 1);
            is_over.store(true, Ordering::Relaxed);
            beside.extend(took?);
            recording.join().map_err(|_| anyhow::anyhow!("telling events panicked"))?
        })?;
    }
    let reference = Some(("without events", median(&alone)));
    let target = Target::AtMost(median(&alone) * 1.1);
    let name = "mem_save with five events a second, p50";
    report.at(recorded - HOOKS).add(name, median(&beside), "ms", reference, target);
    Ok(())
}

fn stretch_of_saves(client: &mut Client, stretch: usize) -> Result<Vec<f64>> {
    let mut took = Vec::new();
    for n in 0..SAVES {
        let note = json!({
            "title": format!("Decision {stretch}-{n} on the crane"), "project": "bench",
            "content": format!("**What**: crane {stretch} lifts load {n} twice, since the quay is narrow there."),
        });
        took.push(client.timed("mem_save", &note)?.1);
        std::thread::sleep(SAVE_PAUSE);
    }
    Ok(took)
}

/// Reports events by hooks until it is over; returns the number of the next one.
fn record_events(home: &Home, from: usize, is_over: &AtomicBool) -> Result<usize> {
    let mut n = from;
    while !is_over.load(Ordering::Relaxed) {
        let next = Instant::now() + EVENT_PAUSE;
        home.hook("PostToolUse", &ran(home, n))?;
        n += 1;
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    Ok(n)
}

/// The time from a start until the first search is answered, in milliseconds.
fn starts(home: &Home) -> Result<f64> {
    let mut took = Vec::new();
    for _ in 0..STARTS {
        home.stop()?;
        let start = Instant::now();
        let mut client = home.connect()?;
        client.call("mem_search", &json!({ "query": "crane", "project": "bench" }))?;
        took.push(start.elapsed().as_secs_f64() * 1e3);
    }
    Ok(median(&took))
}

/// What is measured in this process, on the same home's store; in the end it holds so many events.
fn alone(report: &mut Report, home: &Home, scale: Size) -> Result<()> {
    // The database needs deeper stacks than a thread has by default.
    let runtime =
        tokio::runtime::Builder::new_multi_thread().thread_stack_size(16 << 20).enable_all().build()?;
    runtime.block_on(Box::pin(async {
        let journal = Journal::open(&home.path().join(".cerebro")).await?;
        let (one, many) = journal.batches().await?;
        let target = Target::AtMost(2.0 * one);
        report.at(64).add("64 events in one commit, p50", many, "ms", Some(("one", one)), target);
        for (size, name, most) in [
            (scale.short, "hint, state in memory, p99", 10.0),
            (scale.long, "hint over a long piece, state in memory, p99", 25.0),
        ] {
            report.at(size).add(name, journal.hint(size).await?, "ms", None, Target::AtMost(most));
        }
        let filled = journal.fill_up(scale).await?;
        journal.close().await?;

        let journal = Journal::open(&home.path().join(".cerebro")).await?;
        let swept = journal.sweep().await?;
        report.at(swept.0).add("sweep of open pieces at start", swept.1, "ms", None, Target::AtMost(150.0));
        let short = journal.cold(&filled.short).await?;
        report.at(scale.short).add("hint, folded anew, worst", short, "ms", None, Target::AtMost(10.0));
        let (name, long) = ("hint over a long piece, folded anew, worst", journal.cold(&filled.long).await?);
        report.at(scale.long).add(name, long, "ms", None, Target::AtMost(25.0));
        let (size, seconds) = journal.verify().await?;
        let most = 5.0 * size as f64 / 100_000.0;
        report.at(size).add("verify", seconds, "s", None, Target::AtMost(most));
        let (bytes, ms) = journal.proof(&filled.short).await?;
        report.add("a proof", bytes, "bytes", None, Target::AtMost(1_024.0));
        report.add("a proof, p50", ms, "ms", None, Target::AtMost(1.0));
        journal.close().await
    }))
}
