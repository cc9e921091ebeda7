//! How fast the journal is, in this process and on a real store, beside a bare write and fdatasync on the same disk.
//!
//! `make work` runs it; `EVENTS` is how many events are verified in the end.

#![expect(clippy::print_stdout, reason = "a report for a person")]

use std::{
    fs::File,
    io::Write,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::Context;
use cerebro_core::domain::{Project, SessionId, Timestamp, WorkId};
use cerebro_ledger::{Step, World, limits};
use cerebro_service::{
    Embedding, Service, Settings, agent_name,
    work::{Actor, BeginWork, Happening, LOCAL_OWNER, Target},
};

/// How many events are appended one by one.
const SINGLE: usize = 500;
/// How many times 64 are appended at once.
const BATCHES: usize = 50;
/// How many pieces of work are open when the journal is swept.
const OPEN: usize = 1_000;
/// How often a hint is asked for.
const HINTS: usize = 100;

fn main() -> anyhow::Result<()> {
    let events = std::env::var("EVENTS").map_or(Ok(100_000), |text| text.parse())?;
    // The database needs deeper stacks than a thread has by default.
    let runtime =
        tokio::runtime::Builder::new_multi_thread().thread_stack_size(16 << 20).enable_all().build()?;
    runtime.block_on(Box::pin(measure(events)))
}

async fn measure(events: usize) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let service = open(folder.path()).await?;
    let work = begin(&service).await?;

    let bare = percentiles(bare_writes(folder.path())?);
    let mut single = Vec::new();
    for i in 0..SINGLE {
        single.push(timed(append(&service, &work, i, 1)).await?);
    }
    let single = percentiles(single);
    let batch = begin(&service).await?;
    let mut batches = Vec::new();
    for i in 0..BATCHES {
        batches.push(timed(append(&service, &batch, i, limits::BATCH_MAX)).await?);
    }
    let batches = percentiles(batches);
    print("write + fdatasync of 1 KB", &bare);
    print("one event", &single);
    print("64 events at once", &batches);
    println!(
        "one event beside a bare write: {:+.2} ms at p50; 64 beside one: {:.2} times",
        millis(single.0) - millis(bare.0),
        millis(batches.0) / millis(single.0)
    );

    for events in [200, 10_000_usize] {
        let work = begin(&service).await?;
        fill(&service, &work, events - 200).await?;
        let mut took = Vec::new();
        for _ in 0..HINTS {
            took.push(timed(hint(&service, &work)).await?);
        }
        print(&format!("a hint over {events} events, at hand"), &percentiles(took));
    }
    let whole = begin(&service).await?;
    fill(&service, &whole, 9_700).await?;
    let mut made = 9_900;
    while made < events {
        let work = begin(&service).await?;
        fill(&service, &work, 9_700.min(events - made)).await?;
        made += 9_701;
    }
    for _ in 0..OPEN {
        begin(&service).await?;
    }
    service.close().await?;

    let service = open(folder.path()).await?;
    let begun = Instant::now();
    let swept = service.work_sweep().await?;
    println!("a sweep of {} open pieces: {:.1} ms", swept.open, millis(begun.elapsed()));
    println!("a hint over 9,700 events, folded anew: {:.1} ms", millis(timed(hint(&service, &whole)).await?));
    let begun = Instant::now();
    let verified = service.work_verify(&[]).await?;
    println!("verify {} events: {:.2} s", verified.events, begun.elapsed().as_secs_f64());
    anyhow::ensure!(verified.findings.is_empty(), "{:?}", verified.findings);
    service.work_head().await?;
    let begun = Instant::now();
    let proof = service.work_prove(&actor(), &whole).await?.context("no proof")?;
    let took = begun.elapsed();
    println!("a proof: {} bytes of hashes, {:.2} ms", 32 * proof.path.len(), millis(took));
    service.close().await?;
    Ok(())
}

async fn open(folder: &Path) -> anyhow::Result<Service> {
    let (store, index) = (folder.join("store"), folder.join("index"));
    Ok(Service::open(&store, &index, Settings::default(), Embedding::none(), Timestamp::now).await?)
}

fn actor() -> Actor {
    Actor {
        owner: LOCAL_OWNER.to_owned(),
        agent: agent_name("bench"),
        session: SessionId::parse("bench").ok(),
        project: Project::parse("bench").unwrap_or_else(Project::none),
        directory: None,
    }
}

async fn begin(service: &Service) -> anyhow::Result<WorkId> {
    let begin = BeginWork { title: "a piece of work".to_owned(), ..BeginWork::default() };
    Ok(service.work_begin(&actor(), begin).await?.0.id)
}

fn happening(i: usize) -> Happening {
    let tail = format!("line {i} of what it printed; ").repeat(20);
    Step::Ran {
        call: None,
        command: format!("cargo test -p part{}", i % 7),
        ending: cerebro_ledger::Ending::Passed,
        exit: Some(0),
        ms: Some(1_200),
        tests: None,
        tail,
    }
    .into()
}

async fn append(service: &Service, work: &WorkId, i: usize, count: usize) -> anyhow::Result<()> {
    let happenings = (0..count).map(|j| happening(i * count + j)).collect();
    let appended = service.work_append(&actor(), Target::Work(*work), happenings).await?;
    anyhow::ensure!(appended.recorded == count, "{appended:?}");
    Ok(())
}

async fn fill(service: &Service, work: &WorkId, events: usize) -> anyhow::Result<()> {
    for i in 0..events.div_ceil(limits::BATCH_MAX) {
        append(service, work, i, limits::BATCH_MAX).await?;
    }
    Ok(())
}

async fn hint(service: &Service, work: &WorkId) -> anyhow::Result<()> {
    let world = World::at(Timestamp::now());
    let resumed = service.work_resume(&actor(), Some(work), &world, limits::HINT_BYTES).await?;
    anyhow::ensure!(resumed.is_some_and(|resumed| !resumed.text.is_empty()), "no hint");
    Ok(())
}

async fn timed(task: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<Duration> {
    let begun = Instant::now();
    Box::pin(task).await?;
    Ok(begun.elapsed())
}

/// As many bare writes on the same disk.
fn bare_writes(folder: &Path) -> anyhow::Result<Vec<Duration>> {
    let mut file = File::create(folder.join("bare"))?;
    let bytes = [7_u8; 1_024];
    let mut took = Vec::new();
    for _ in 0..SINGLE {
        let begun = Instant::now();
        file.write_all(&bytes)?;
        file.sync_data()?;
        took.push(begun.elapsed());
    }
    Ok(took)
}

/// The 50th and the 99th in a hundred.
fn percentiles(mut took: Vec<Duration>) -> (Duration, Duration) {
    took.sort();
    (took[took.len() / 2], took[took.len() * 99 / 100])
}

fn millis(took: Duration) -> f64 {
    took.as_secs_f64() * 1_000.0
}

fn print(what: &str, (p50, p99): &(Duration, Duration)) {
    println!("{what}: p50 {:.2} ms, p99 {:.2} ms", millis(*p50), millis(*p99));
}
