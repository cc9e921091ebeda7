//! What a caller notices of the worker: searches and saves while a long queue drains, compared with the same while
//! the worker is paused. `make bench-worker`; `JOBS` (default 10,000) is the length of the queue. With `WHOLE=1` it
//! waits until the queue is empty (some 0.04 s a memory on two cores), and measures searches among all those
//! vectors.
//!
//! It runs the real model of `make model`. Calls are a tenth of a second apart, so that the worker does work
//! between them, and then back to back. Linux only.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a report for a person")]

mod harness;

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::json;

use harness::client::{Client, Home};
use harness::corpus::Corpus;
use harness::number;
use harness::process::resident_bytes;
use harness::stats::{self, median, percentile};
use harness::table::{self, Row, Target};

const JOBS: usize = 10_000;
const SEARCHES: usize = 200;
const SAVES: usize = 100;
const APART: Duration = Duration::from_millis(100);
/// The bounds with vectors, at 20,000 memories: milliseconds, and megabytes with the model loaded.
const VECTORS_P50_MAX: f64 = 8.0;
const VECTORS_P99_MAX: f64 = 30.0;
const VECTORS_RESIDENT_MAX: f64 = 450.0;
/// How much slower the slowest of a hundred searches may be with the queue draining.
const SLOWER_MAX: f64 = 2.0;

fn searches(client: &mut Client, corpus: &mut Corpus, apart: Duration) -> Result<Vec<f64>> {
    let mut times = Vec::with_capacity(SEARCHES);
    for _ in 0..SEARCHES {
        times.push(client.timed("mem_search", &json!({ "query": corpus.note().query }))?.1);
        std::thread::sleep(apart);
    }
    Ok(times)
}

fn saves(client: &mut Client, corpus: &mut Corpus, count: usize) -> Result<Vec<f64>> {
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        let note = corpus.note();
        times.push(client.timed("mem_save", &json!({ "title": note.title, "content": note.content }))?.1);
    }
    Ok(times)
}

/// Times of searches and saves in the present state.
struct Times {
    paced: Vec<f64>,
    dense: Vec<f64>,
    saves: Vec<f64>,
}

fn measure(client: &mut Client, corpus: &mut Corpus) -> Result<Times> {
    Ok(Times {
        paced: searches(client, corpus, APART)?,
        dense: searches(client, corpus, Duration::ZERO)?,
        saves: saves(client, corpus, SAVES)?,
    })
}

fn queue(client: &mut Client) -> Result<u64> {
    let stats = client.call("mem_stats", &json!({}))?;
    stats["worker"]["queue_depth"].as_u64().context("no queue in mem_stats")
}

/// Searches among the vectors of all memories, compared with those among nearly none.
fn with_vectors(
    home: &Home,
    client: &mut Client,
    corpus: &mut Corpus,
    jobs: usize,
    before: &Times,
) -> Result<Vec<Row>> {
    // The first ones read the vectors into memory.
    searches(client, corpus, Duration::ZERO)?;
    let times = searches(client, corpus, Duration::ZERO)?;
    let paced = searches(client, corpus, APART)?;
    let resident = resident_bytes(home)? as f64 / 1e6;
    let few = |value: f64| ("few vectors", value);
    Ok(vec![
        row(
            "search p50, all have vectors",
            jobs,
            median(&times),
            few(median(&before.dense)),
            Target::AtMost(VECTORS_P50_MAX),
        ),
        row(
            "search p99, all have vectors",
            jobs,
            percentile(&times, 99.0),
            few(percentile(&before.dense, 99.0)),
            Target::AtMost(VECTORS_P99_MAX),
        ),
        row(
            "search p50, the same 100 ms apart",
            jobs,
            median(&paced),
            few(median(&before.paced)),
            Target::None,
        ),
        Row::new("resident memory of the daemon", jobs, resident, "MB", Target::AtMost(VECTORS_RESIDENT_MAX)),
    ])
}

fn row(
    name: &'static str,
    size: usize,
    measured: f64,
    reference: (&'static str, f64),
    target: Target,
) -> Row {
    Row { reference: Some(reference), ..Row::new(name, size, measured, "ms", target) }
}

fn main() -> Result<()> {
    stats::self_check();
    let jobs = number("JOBS", JOBS)?;
    let home = Home::new()?;
    home.give_model()?;
    let mut client = home.connect()?;
    let mut corpus = Corpus::for_model(1);
    // The model is chosen by the first vector; the searches of both measurements then embed their queries.
    saves(&mut client, &mut corpus, 1)?;
    while queue(&mut client)? > 0 {
        std::thread::sleep(APART);
    }
    home.run(&["worker", "pause"])?;
    eprintln!("saving {jobs} memories with the worker paused");
    saves(&mut client, &mut corpus, jobs)?;
    searches(&mut client, &mut corpus, Duration::ZERO)?;
    let idle = measure(&mut client, &mut corpus)?;
    home.run(&["worker", "resume"])?;
    let (before, begun) = (queue(&mut client)?, Instant::now());
    let busy = measure(&mut client, &mut corpus)?;
    let (after, took) = (queue(&mut client)?, begun.elapsed());

    let p99 = |times: &[f64]| percentile(times, 99.0);
    let bound = |idle: f64| Target::AtMost(idle * SLOWER_MAX);
    let beside = |name, busy: f64, idle: f64, target| row(name, jobs, busy, ("paused", idle), target);
    let mut rows = vec![
        beside("search p50, 100 ms apart", median(&busy.paced), median(&idle.paced), Target::None),
        beside("search p99, 100 ms apart", p99(&busy.paced), p99(&idle.paced), bound(p99(&idle.paced))),
        beside("search p50, back to back", median(&busy.dense), median(&idle.dense), Target::None),
        beside("search p99, back to back", p99(&busy.dense), p99(&idle.dense), bound(p99(&idle.dense))),
        beside("save p50", median(&busy.saves), median(&idle.saves), Target::None),
        beside("save p99", p99(&busy.saves), p99(&idle.saves), bound(p99(&idle.saves))),
    ];
    let whole = std::env::var("WHOLE").is_ok_and(|value| value == "1");
    if whole {
        client.drain()?;
        rows.extend(with_vectors(&home, &mut client, &mut corpus, jobs, &idle)?);
    }
    println!();
    table::print(&rows, "memories");
    let drained = (before + SAVES as u64).saturating_sub(after);
    println!(
        "\n{drained} memories were embedded meanwhile, in {:.0} s; {after} still waited.",
        took.as_secs_f64()
    );
    Ok(())
}
